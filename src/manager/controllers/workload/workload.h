/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workload records: the observed state ('seen'), pending changes ('want': only what differs), and
 * the exchange with the engine.
 *
 * Controllers and effects put changes into 'want'; the write queue writes seen plus want in one
 * patch that carries the resourceVersion (optimistic concurrency). While it is in flight the
 * changes are in 'sent'; on a conflict they return to 'want' and are applied on top of the newly
 * observed state: nothing is lost, nothing of others is overwritten.
 */
#ifndef SL_MANAGER_CONTROLLERS_WORKLOAD_WORKLOAD_H
#define SL_MANAGER_CONTROLLERS_WORKLOAD_WORKLOAD_H

#include "manager/controllers/core/records.h"

enum cond_status { COND_NONE, COND_FALSE, COND_TRUE, COND_UNKNOWN };

struct cond {
    sl_sym type, reason;
    enum cond_status status;
    int64_t generation; /* observedGeneration */
    sl_time at;
    char *message;
};

struct wl_assigned {
    sl_sym resource, flavor; /* flavor 0: only usage is given */
    sl_amount usage;
    bool unsaid; /* others gave the flavor without a usage: written as they did */
};

struct wl_podset_admission {
    sl_sym name;
    int32_t count;
    uint32_t n;
    struct wl_assigned *v;
    char *topology; /* topologyAssignment and delayedTopologyRequest: an object of JSON; NULL:
                       neither */
};

struct wl_admission {
    sl_sym cq;
    uint32_t n;
    struct wl_podset_admission *v;
};

struct wl_check {
    sl_sym name;
    enum sl_check_state state;
    sl_time at;
    char *message;
    char *updates;           /* podSetUpdates as JSON, NULL without */
    bool ours;               /* in changes: this entry replaces the observed one */
    int64_t requeue_after_s; /* -1: absent */
    int32_t retries;         /* -1: absent */
};

struct wl_eviction {
    sl_sym reason, cause;
    int64_t count;
};

/* Preemption gates: as the spec names them, or with their positions as in the status. */
struct wl_gates {
    uint32_t n;
    struct wl_gate {
        sl_sym name;
        bool open;
        sl_time at;
    } v[];
};

struct wl_status {
    SL_VEC(struct cond) conds;
    SL_VEC(struct wl_check) checks;
    SL_VEC(struct wl_eviction) evictions; /* schedulingStats */
    struct wl_admission *admission;
    int32_t requeues;
    sl_time requeue_at;
    int64_t past_exec_s;    /* -1: it never ran */
    int32_t *reclaimable;   /* one per podset; NULL: none */
    struct wl_gates *gates; /* preemptionGates; NULL: none */
    bool names;             /* clusterName, nominatedClusterNames or unhealthyNodes are set */
    bool requests;          /* resourceRequests are set */
};

/* The fields of a status besides conditions. */
enum wl_field {
    WL_ADMISSION = 1 << 0,
    WL_REQUEUE = 1 << 1,
    WL_CHECKS = 1 << 2,
    WL_EVICTIONS = 1 << 3,
    WL_PAST = 1 << 4,
    WL_RECLAIMABLE = 1 << 5,
    WL_NAMES = 1 << 6,     /* to be cleared */
    WL_POSITIONS = 1 << 7, /* of the preemption gates */
};

/* Changes: conditions by type (status NONE: to be removed) and the fields named in 'fields'. */
struct wl_changes {
    uint32_t fields;
    bool told;    /* has the reason why it is pending: an event goes with it */
    bool vacates; /* the admission takes the place of one that was given back, and not yet written
                     so */
    bool waiting; /* only the reason why it is pending: may change soon, so it is delayed */
    struct wl_status s;
};

/* Of a topologyRequest: struct wl_podset, unread. */
#define WL_UNREAD                                                                                  \
    "the topologyRequest of a podset has more than 3 layers of slices, one without a level or "    \
    "size, or is longer than 64 KiB"

struct wl_podset {
    sl_sym name, group;       /* group: podSetGroupName of its topologyRequest, 0 */
    int32_t count, min_count; /* min_count 0: none */
    bool topology;            /* its topologyRequest explicitly requests an assignment */
    sl_sym request;           /* the topologyRequest as JSON, where places are given; 0: none */
    bool unread;              /* that is more than can be read: it is never admitted */
    struct template *template;
};

enum wl_wish {                         /* what to do to the object besides its status */
               WL_INACTIVE = 1 << 0,   /* spec.active = false */
               WL_PRIORITY = 1 << 1,   /* spec.priority (and class) as in 'wish_*' */
               WL_QUEUE = 1 << 2,      /* spec.queueName */
               WL_GATE = 1 << 3,       /* annotation admission-gated-by */
               WL_UNFINALIZE = 1 << 4, /* our finalizer goes */
               WL_DELETE = 1 << 5,     /* after the finalizer */
               WL_ADOPT = 1 << 6,      /* ownerReference and job-uid label, as JSON in wish_owner */
               WL_SPEC = 1 << 7,       /* the whole spec, as JSON in wish_spec */
               WL_ASK_OWNER = 1 << 8,  /* does what controls it exist? It is unknown here */
               WL_SUCCEEDED = 1 << 9,  /* annotation succeeded-pods, as in wish_succeeded */
};

struct rec_wl {
    struct sl_rec rec;
    sl_wl_id id; /* the engine's; SL_WL_NONE before it was told */
    sl_sym queue, class_kind, class_name;
    sl_sym owner_kind, owner_group, owner_api; /* of the controller; 0: none. api: apiVersion */
    char *owner_name, *owner_uid;
    char *job_uid;    /* label kueue.x-k8s.io/job-uid, NULL */
    char *gate;       /* annotation admission-gated-by, NULL */
    char *slice_of;   /* annotation workload-slice-replacement-for, NULL */
    char *slice_name; /* annotation workload-slice-name, NULL */
    int32_t priority, boost;
    bool active, has_owner, elastic, bad; /* bad: the engine refused it */
    bool group;                           /* of a group of pods, by annotation */
    bool serving;                         /* made for a set (serving/serving.h) */
    bool forsaken;                        /* its deletion was observed */
    int32_t component;                    /* annotation component-workload-index; -1: absent */
    SL_VEC(uint64_t) pods; /* that own it without controlling it: hashes of their uids, sorted */
    char *owners;          /* others that own it without controlling it, an array of JSON; NULL */
    char *succeeded;       /* annotation succeeded-pods, NULL */
    int64_t max_exec_s;
    uint32_t n_podsets;
    struct wl_podset *podsets;
    struct wl_gates *gates; /* spec.preemptionGates; NULL: none */
    sl_shape_id shape;
    uint64_t spec_hash; /* of all that is passed to the engine about it */
    struct wl_status seen;
    struct wl_changes *want, *sent; /* NULL: none */
    bool outdated;                  /* 'sent' was decided before we acquired leadership again */
    bool unsure;                    /* whether 'sent' arrived: the object is read first */
    uint64_t checks_told;           /* hash of the checks in the engine */
    uint64_t reclaimable_hash;
    bool ready_told, reclaimable_told, past_told;
    bool placed;     /* its pods have places in the topology */
    uint64_t places; /* hash of those that are held */
    sl_wl_id by;     /* the preemptor, while the eviction is being written */
    bool releasing;  /* counted in n_releasing */
    bool moving;     /* counted in n_moving */
    bool stubborn;   /* the API server rejected the release of its reservation: not waited for */
    int64_t spec_generation; /* of the podsets below */
    uint32_t wishes;
    sl_sym wish_queue, wish_class_kind, wish_class_name;
    int32_t wish_priority;
    char *wish_owner, *wish_spec, *wish_gate, *wish_succeeded;
    uint32_t wish_owners; /* how many owners wish_owner adds: reported in an event */
    char *parameters;     /* of its ProvisioningRequests, from annotations, as JSON; NULL: none */
    struct prov_draft *draft; /* a ProvisioningRequest that is being made; NULL: none */
};

static inline struct rec_wl *wl_of(struct sl_rec *r) {
    return (struct rec_wl *)(void *)r;
}

/* ---- reading ---- */
struct rec_wl *wl_find(const struct sl_manager *m, const char *ns, const char *name);
/* Every workload whose controller has this uid; NULL ends. *cursor starts at 0. */
struct rec_wl *wl_owned(const struct sl_manager *m, const char *uid, uint32_t *cursor);
/* Every workload with this label job-uid; NULL ends. *cursor starts at 0. */
struct rec_wl *wl_for_job(const struct sl_manager *m, const char *uid, uint32_t *cursor);
/* Was a made before b? Names end every tie. */
bool wl_older(const struct rec_wl *a, const struct rec_wl *b);
/* As observed in the API. NULL: absent. */
const struct cond *wl_cond(const struct sl_manager *m, const struct rec_wl *w, const char *type);
bool wl_is(const struct sl_manager *m, const struct rec_wl *w,
           const char *type); /* is the condition True? */
/* As it will be once pending changes are written. */
const struct cond *wl_next_cond(const struct sl_manager *m, const struct rec_wl *w,
                                const char *type);
bool wl_will(const struct sl_manager *m, const struct rec_wl *w, const char *type);
const struct wl_status *
wl_next(const struct rec_wl *w,
        enum wl_field field); /* the status that is authoritative for a field */
/* Is a change of this field on its way? */
bool wl_changing(const struct rec_wl *w, uint32_t fields);

/* Of its writes: 0 if there is more to write than why it waits. */
uint32_t wl_lane(const struct sl_rec *r);

/* ---- changes; each is idempotent ---- */
/* lastTransitionTime moves only when the status flips; observedGeneration is the object's. */
void wl_set_cond(struct sl_manager *m, struct rec_wl *w, const char *type, bool status,
                 const char *reason, const char *message);
void wl_drop_cond(struct sl_manager *m, struct rec_wl *w, const char *type);
/* Finished=True, once; counted. */
void wl_finish(struct sl_manager *m, struct rec_wl *w, const char *reason, const char *message);
void wl_set_reclaimable(struct rec_wl *w, const int32_t *counts);
/* Evicted, and nothing of its job runs any more: the quota may go to others. Writes what Kueue
 * writes then (QuotaReserved=False, Requeued, Admitted=False, no admission) through the engine. */
void wl_stopped(struct sl_manager *m, struct rec_wl *w);
/* The changes, to be added to; the patch queue will ask for them. */
struct wl_changes *wl_change(struct rec_wl *w);
void wl_set_admission(struct sl_manager *m, struct rec_wl *w, const char *cq,
                      const struct sl_podset_assignment *v, uint32_t n);
/* The admission in the API, with the domains that are held now. */
void wl_set_places(struct sl_manager *m, struct rec_wl *w);
void wl_clear_admission(struct sl_manager *m, struct rec_wl *w);
void wl_wish(struct rec_wl *w, uint32_t wishes);
/* The symbols in hashes of what was told of it may get other names: all is told anew. */
void wl_untold(struct rec_wl *w);
/* Leadership was acquired again: earlier decisions and pending changes are dropped, only the API is
 * authoritative. What was sent may still arrive, so the engine accounts for it until the reply is
 * known. */
void wl_forget(struct sl_manager *m, struct rec_wl *w);
void wl_wish_queue(struct sl_manager *m, struct rec_wl *w, const char *queue);
void wl_wish_gate(struct rec_wl *w, const char *gate); /* "" removes it */
void wl_wish_priority(struct sl_manager *m, struct rec_wl *w, const struct priority *p);
void wl_wish_owner(struct rec_wl *w, const char *owner_reference_json, const char *job_uid);
/* All owners as an array of JSON: 'added' of them are new. */
void wl_wish_owners(struct rec_wl *w, const char *references_json, uint32_t added);
/* Does this pod own it, without controlling it? */
bool wl_has_pod(const struct rec_wl *w, const char *uid);
void wl_wish_succeeded(struct rec_wl *w, const char *text);
void wl_wish_spec(struct rec_wl *w, const char *spec_json);
/* A patch of the count of its first podset alone: nobody here has the rest of the podset. A version
 * that is not the newest is a conflict. */
void wl_build_count(const struct rec_wl *w, int32_t count, struct sl_write *out);

/* "job-name-ef3a1": kind and name of the owner with a hash of its group and uid. extra: "" or the
 * generation of an elastic job. */
void wl_name(struct sl_buf *out, const char *kind, const char *group, const char *name,
             const char *uid, const char *extra, bool shorter);

#endif
