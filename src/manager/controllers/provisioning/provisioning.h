/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The admission check kueue.x-k8s.io/provisioning-request: before a Workload with quota starts,
 * capacity is requested by a ProvisioningRequest (autoscaling.x-k8s.io/v1) and one PodTemplate for
 * each kind of its pods.
 *
 *     provisioning.c  the kinds and their references: checks, configurations, requests
 *     state.c         from a Workload and its requests to the state of its checks, and what to
 *                     create
 *     request.c       creating a request: the Workload is read, its templates are written, then the
 *                     request
 *     capacity*.c     answers requests of the class check-capacity where no other controller does
 *
 * Everything follows from what is stored: the newest request of a Workload and a check decides the
 * state of the check; the retries counted there name the next request. Requests are deleted when
 * the Workload is finished or evicted, or when they no longer match the configuration. Nothing here
 * does anything unless the controller `provisioning` is enabled.
 */
#ifndef SL_MANAGER_CONTROLLERS_PROVISIONING_PROVISIONING_H
#define SL_MANAGER_CONTROLLERS_PROVISIONING_PROVISIONING_H

#include "manager/controllers/workload/workload.h"

#define PROV_API "autoscaling.x-k8s.io/v1"
#define PROV_CHECK_CAPACITY "check-capacity.autoscaling.x-k8s.io"
#define PROV_MISSING                                                                               \
    "the API provisioningrequests." PROV_API " is not installed: apply "                           \
    "provisioningrequest-crd.yaml of Sluice, or the definition of the cluster autoscaler"
#define PROV_ANSWER_TIMEOUT (30 * SL_SEC) /* until the absence of an answer is reported */
#define PROV_MAX_PODSETS 32u
#define PROV_MAX_TEXT ((size_t)2 << 20)

/* In w->tag of a write in the name of a Workload: it is about a request of it. */
#define WRITE_PROV 2u

enum mgr_prov_type {
    PROV_ACCEPTED,
    PROV_PROVISIONED,
    PROV_FAILED,
    PROV_BOOKING_EXPIRED,
    PROV_CAPACITY_REVOKED,
    PROV_TYPES,
};
extern const char *const mgr_prov_types[PROV_TYPES];

struct mgr_prov_cond {
    enum mgr_cond_status status; /* NONE: absent */
    sl_sym reason;
    sl_time at;
    char *message; /* NULL: none */
};

struct mgr_prov_podset {
    char *name; /* of its PodTemplate */
    int32_t count;
    /* for the capacity check: */
    int32_t bound;                 /* pods on nodes that refer to this request */
    struct mgr_template *template; /* a reference; NULL: not read yet */
    uint32_t n_ports, *ports;      /* host ports */
};

enum mgr_prov_step {
    PROV_REST,
    PROV_DELETE,
    PROV_HAND_OVER,
    PROV_TEMPLATE,
    PROV_LEASE,
    PROV_ANSWER
};

struct mgr_rec_prov {
    struct sl_rec rec;
    char *owner_name, *owner_uid; /* of the Workload that controls it, NULL */
    int64_t spec_generation;      /* of class, parameters and podsets */
    sl_sym class;
    char *parameters; /* JSON map, NULL */
    char *details;    /* provisioningClassDetails, NULL */
    char *others;     /* further conditions, an array of JSON; NULL: none */
    struct mgr_prov_cond conds[PROV_TYPES];
    uint32_t n_podsets;
    bool over_limit; /* there are more podsets than supported: not provisioned */
    struct mgr_prov_podset *podsets;
    bool drop;       /* no longer needed */
    uint32_t handed; /* templates that belong to it, as far as we know */
    uint8_t step;    /* enum mgr_prov_step: what is on its way */
    uint32_t at;     /* the podset that it is about */
    /* of the capacity check (capacity.c) */
    struct {
        bool requested;     /* the request is of the class, and names no other processor */
        bool ours;          /* the status records that we answer */
        bool free;          /* no other controller answers */
        bool fits;          /* has capacity that was found for it; written, or about to be */
        bool decided;       /* 'fits' and 'why' are valid */
        char *why;          /* it does not fit */
        sl_time since;      /* it fits: since when */
        sl_time written_at; /* mono: the last write */
        sl_time pause;      /* mono: a template was not there */
    } answer;
};

static inline struct mgr_rec_prov *mgr_prov_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mgr_rec_prov, rec);
}
static inline bool mgr_prov_is(const struct mgr_rec_prov *p, enum mgr_prov_type t) {
    return p->conds[t].status == COND_TRUE;
}
static inline const char *mgr_prov_message(const struct mgr_rec_prov *p, enum mgr_prov_type t) {
    return p->conds[t].message ? p->conds[t].message : "";
}

/* ---- provisioning.c ---- */
bool mgr_prov_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void mgr_prov_changed(void *ctx, struct sl_rec *r);
void mgr_prov_gone(void *ctx, struct sl_rec *r);
void mgr_prov_done(struct sl_rec *r);
void mgr_prov_hold_names(struct sl_syms *t, struct sl_rec *r);
bool mgr_prov_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void mgr_prov_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                      const struct sl_kube_reply *reply);
void mgr_prov_config_changed(void *ctx, struct sl_rec *r);
void mgr_prov_config_gone(void *ctx, struct sl_rec *r);
/* Every request whose controller has this uid; NULL ends. *cursor starts at 0. */
struct mgr_rec_prov *mgr_prov_owned(const struct sl_manager *m, const char *uid, uint32_t *cursor);
/* Frees what the manager keeps besides records. */
void mgr_provs_new(struct sl_manager *m);
void mgr_provs_end(struct sl_manager *m);

/* An AdmissionCheck is new, changed or gone. */
void mgr_prov_check_changed(struct sl_manager *m, struct sl_rec *r);
/* Is the check one of ours? Then *ret_active, and reason and message of its condition Active. */
bool mgr_prov_check_active(const struct sl_manager *m, const struct sl_rec *check, bool *ret_active,
                           const char **ret_reason, struct sl_buf *message);
/* The API of requests has come or gone. */
void mgr_prov_api_changed(void *ctx);
bool mgr_prov_api_exists(const struct sl_manager *m);
/* The configuration of a check that is ours; NULL: there is none. To be freed. */
yyjson_doc *mgr_prov_config(const struct sl_manager *m, sl_sym check, bool *ret_ours);

/* Cut to what a name may be, with a hash of the whole. */
void mgr_prov_limit_name(struct sl_buf *b);
void mgr_prov_name(struct sl_buf *b, const char *workload, const char *check, int32_t attempt);
void mgr_prov_template_name(struct sl_buf *b, const char *request, const char *podset);
/* The attempt that a request of this name is; 0: it is none of this Workload and check. */
int32_t mgr_prov_attempt(const char *name, const char *workload, const char *check);

/* ---- state.c ---- */
/* What a parameter of the Workload's annotations is; JSON map, NULL: there are none. */
char *mgr_prov_read_parameters(yyjson_val *workload);
/* The Workload, one of its requests or one of its checks changed. */
/* Is this check one of provisioning, and handled here? */
bool mgr_prov_owns(const struct sl_manager *m, const char *check);
void mgr_prov_workload_changed(struct sl_manager *m, struct mgr_rec_wl *w);
void mgr_prov_workload_gone(struct sl_manager *m, const struct mgr_rec_wl *w);
/* The podsets that need a request: indices into w->podsets, with how many pods each. */
uint32_t mgr_prov_needed(const struct mgr_rec_wl *w, yyjson_val *config,
                         uint32_t ret[SL_MAX_PODSETS], int32_t counts[SL_MAX_PODSETS]);
/* Besides the other state of the check: it could not be created. */
void mgr_prov_set_failed(struct sl_manager *m, struct mgr_rec_wl *w, sl_sym check,
                         const char *message);

/* ---- request.c ---- */
struct mgr_prov_draft;
/* To be made; repeating changes nothing, another replaces the one before. */
void mgr_prov_make(struct mgr_rec_wl *w, sl_sym check, int32_t attempt, uint64_t key);
/* The check for which one is being made; 0: none is. */
sl_sym mgr_prov_making(const struct mgr_rec_wl *w);
void mgr_prov_make_none(struct mgr_rec_wl *w);
bool mgr_prov_make_build(struct sl_manager *m, struct mgr_rec_wl *w, struct sl_write *out);
void mgr_prov_make_written(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_write *out,
                           enum sl_written how, const struct sl_kube_reply *reply);

#endif
