/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workload records: the observed state ('seen'), pending changes ('desired': only what differs),
 * and the exchange with the engine.
 *
 * Controllers and effects put changes into 'desired'; the write queue writes 'seen' and 'desired'
 * in one patch that carries the resourceVersion (optimistic concurrency). While it is in flight the
 * changes are in 'sent'; on a conflict they return to 'desired' and are applied on top of the newly
 * observed state: nothing is lost, nothing of others is overwritten.
 */
#ifndef SL_MANAGER_CONTROLLERS_WORKLOAD_WORKLOAD_H
#define SL_MANAGER_CONTROLLERS_WORKLOAD_WORKLOAD_H

#include "manager/controllers/core/records.h"

struct mgr_priority;
struct mgr_template;

enum mgr_cond_status { COND_NONE, COND_FALSE, COND_TRUE, COND_UNKNOWN };

struct mgr_cond {
    sl_sym type, reason;
    enum mgr_cond_status status;
    int64_t generation; /* observedGeneration */
    sl_time at;
    char *message;
};

struct mgr_wl_assigned {
    sl_sym resource, flavor; /* flavor 0: only usage is given */
    sl_amount usage;
    bool no_usage; /* others gave the flavor without a usage: written as they did */
};

struct mgr_wl_podset_admission {
    sl_sym name;
    int32_t count;
    uint32_t n;
    struct mgr_wl_assigned *v;
    char *topology; /* topologyAssignment and delayedTopologyRequest: an object of JSON; NULL:
                       neither */
};

struct mgr_wl_admission {
    sl_sym cq;
    uint32_t n;
    struct mgr_wl_podset_admission *v;
};

struct mgr_wl_check {
    sl_sym name;
    enum sl_check_state state;
    sl_time at;
    char *message;
    char *updates;           /* podSetUpdates as JSON, NULL without */
    bool ours;               /* in changes: this entry replaces the observed one */
    int64_t requeue_after_s; /* -1: absent */
    int32_t retries;         /* -1: absent */
};

struct mgr_wl_eviction {
    sl_sym reason, cause;
    int64_t count;
};

/* Preemption gates: as the spec names them, or with their positions as in the status. */
struct mgr_wl_gates {
    uint32_t n;
    struct mgr_wl_gate {
        sl_sym name;
        bool open;
        sl_time at;
    } v[];
};

struct mgr_wl_status {
    SL_VEC(struct mgr_cond) conds;
    SL_VEC(struct mgr_wl_check) checks;
    SL_VEC(struct mgr_wl_eviction) evictions; /* schedulingStats */
    struct mgr_wl_admission *admission;
    int32_t requeues;
    sl_time requeue_at;
    int64_t past_exec_s;        /* -1: it never ran */
    int32_t *reclaimable;       /* one per podset; NULL: none */
    struct mgr_wl_gates *gates; /* preemptionGates; NULL: none */
    bool names;                 /* clusterName, nominatedClusterNames or unhealthyNodes are set */
    bool requests;              /* resourceRequests are set */
};

/* The fields of a status besides conditions. */
enum mgr_wl_field {
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
struct mgr_wl_changes {
    uint32_t fields;
    bool with_event; /* has the reason why it is pending: an event goes with it */
    bool vacates; /* the admission takes the place of one that was given back, and not yet written
                     so */
    bool waiting; /* only the reason why it is pending: may change soon, so it is delayed */
    struct mgr_wl_status s;
};

/* Of a topologyRequest: struct mgr_wl_podset, unread. */
#define WL_UNREAD                                                                                  \
    "the topologyRequest of a podset has more than 3 layers of slices, one without a level or "    \
    "size, or is longer than 64 KiB"

struct mgr_wl_podset {
    sl_sym name, group;       /* group: podSetGroupName of its topologyRequest, 0 */
    int32_t count, min_count; /* min_count 0: none */
    bool topology;            /* its topologyRequest explicitly requests an assignment */
    sl_sym request;           /* the topologyRequest as JSON, where places are given; 0: none */
    bool unread;              /* that is more than can be read: it is never admitted */
    struct mgr_template *template;
};

enum mgr_wl_pending {                         /* what to do to the object besides its status */
                      WL_INACTIVE = 1 << 0,   /* spec.active = false */
                      WL_PRIORITY = 1 << 1,   /* spec.priority (and class) as in 'pending_*' */
                      WL_QUEUE = 1 << 2,      /* spec.queueName */
                      WL_GATE = 1 << 3,       /* annotation admission-gated-by */
                      WL_UNFINALIZE = 1 << 4, /* our finalizer goes */
                      WL_DELETE = 1 << 5,     /* after the finalizer */
                      WL_ADOPT =
                          1 << 6, /* ownerReference and job-uid label, as JSON in pending_owner */
                      WL_SPEC = 1 << 7,       /* the whole spec, as JSON in pending_spec */
                      WL_READ_OWNER = 1 << 8, /* does what controls it exist? It is unknown here */
                      WL_SUCCEEDED = 1
                                     << 9, /* annotation succeeded-pods, as in pending_succeeded */
};

struct mgr_rec_wl {
    struct sl_rec rec;
    sl_wl_id id; /* the engine's; SL_WL_NONE before it was reported */
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
    bool owner_gone;                      /* its deletion was observed */
    int32_t component;                    /* annotation component-workload-index; -1: absent */
    SL_VEC(uint64_t) pods; /* that own it without controlling it: hashes of their uids, sorted */
    char *owners;          /* others that own it without controlling it, an array of JSON; NULL */
    char *succeeded;       /* annotation succeeded-pods, NULL */
    int64_t max_exec_s;
    uint32_t n_podsets;
    struct mgr_wl_podset *podsets;
    struct mgr_wl_gates *gates; /* spec.preemptionGates; NULL: none */
    sl_shape_id shape;
    uint64_t spec_hash; /* of all that is passed to the engine about it */
    struct mgr_wl_status seen;
    struct mgr_wl_changes *desired, *sent; /* NULL: none */
    bool outdated;           /* 'sent' was decided before we acquired leadership again */
    bool unsure;             /* whether 'sent' arrived: the object is read first */
    uint64_t checks_applied; /* hash of the checks in the engine */
    uint64_t reclaimable_hash;
    bool ready_applied, reclaimable_applied, past_applied;
    bool placed;          /* its pods have places in the topology */
    bool exact;           /* on the graph of nodes */
    bool late;            /* a check waits for such places */
    uint64_t places;      /* hash of those that are held */
    sl_wl_id by;          /* the preemptor, while the eviction is being written */
    bool releasing;       /* counted in n_releasing */
    bool moving;          /* counted in n_moving */
    bool release_refused; /* the API server rejected the release of its reservation: not waited for
                           */
    int64_t spec_generation; /* of the podsets below */
    uint32_t pending;
    sl_sym pending_queue, pending_class_kind, pending_class_name;
    int32_t pending_priority;
    char *pending_owner, *pending_spec, *pending_gate, *pending_succeeded;
    uint32_t pending_owners; /* how many owners pending_owner adds: reported in an event */
    char *parameters; /* of its ProvisioningRequests, from annotations, as JSON; NULL: none */
    struct mgr_prov_draft *draft; /* a ProvisioningRequest that is being made; NULL: none */
};

static inline struct mgr_rec_wl *mgr_wl_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mgr_rec_wl, rec);
}

/* ---- reading ---- */
void mgr_workloads_new(struct sl_manager *m);
void mgr_workloads_end(struct sl_manager *m);
/* Of a number of the engine; NULL: unknown. */
struct mgr_rec_wl *mgr_wl_by_id(const struct sl_manager *m, sl_wl_id id);
/* The engine does not know it any more. */
void mgr_wl_drop_id(struct sl_manager *m, struct mgr_rec_wl *w);
struct mgr_rec_wl *mgr_wl_find(const struct sl_manager *m, const char *ns, const char *name);
/* Every workload whose controller has this uid; NULL ends. *cursor starts at 0. */
struct mgr_rec_wl *mgr_wl_owned(const struct sl_manager *m, const char *uid, uint32_t *cursor);
/* Every workload with this label job-uid; NULL ends. *cursor starts at 0. */
struct mgr_rec_wl *mgr_wl_for_job(const struct sl_manager *m, const char *uid, uint32_t *cursor);
/* Was a made before b? Names end every tie. */
bool mgr_wl_older(const struct mgr_rec_wl *a, const struct mgr_rec_wl *b);
/* As observed in the API. NULL: absent. */
const struct mgr_cond *mgr_wl_cond(const struct sl_manager *m, const struct mgr_rec_wl *w,
                                   const char *type);
bool mgr_wl_condition_is_true(const struct sl_manager *m, const struct mgr_rec_wl *w,
                              const char *type); /* is the condition True? */
/* As it will be once pending changes are written. */
const struct mgr_cond *mgr_wl_next_cond(const struct sl_manager *m, const struct mgr_rec_wl *w,
                                        const char *type);
bool mgr_wl_condition_will_be_true(const struct sl_manager *m, const struct mgr_rec_wl *w,
                                   const char *type);
const struct mgr_wl_status *
mgr_wl_next(const struct mgr_rec_wl *w,
            enum mgr_wl_field field); /* the status that is authoritative for a field */
/* Is a change of this field on its way? */
bool mgr_wl_changing(const struct mgr_rec_wl *w, uint32_t fields);

/* Of its writes: 0 if there is more to write than why it waits. */
uint32_t mgr_wl_lane(const struct sl_rec *r);

/* ---- changes; each is idempotent ---- */
/* lastTransitionTime moves only when the status flips; observedGeneration is the object's. */
void mgr_wl_set_cond(struct sl_manager *m, struct mgr_rec_wl *w, const char *type, bool status,
                     const char *reason, const char *message);
void mgr_wl_drop_cond(struct sl_manager *m, struct mgr_rec_wl *w, const char *type);
/* Finished=True, once; counted. */
void mgr_wl_finish(struct sl_manager *m, struct mgr_rec_wl *w, const char *reason,
                   const char *message);
void mgr_wl_set_reclaimable(struct mgr_rec_wl *w, const int32_t *counts);
/* Evicted, and nothing of its job runs any more: the quota may go to others. Writes what Kueue
 * writes then (QuotaReserved=False, Requeued, Admitted=False, no admission) through the engine. */
void mgr_wl_stopped(struct sl_manager *m, struct mgr_rec_wl *w);
/* The changes, to be added to; the write queue will request them. */
struct mgr_wl_changes *mgr_wl_change(struct mgr_rec_wl *w);
void mgr_wl_set_admission(struct sl_manager *m, struct mgr_rec_wl *w, const char *cq,
                          const struct sl_podset_assignment *v, uint32_t n);
/* The admission in the API, with the domains that are held now. */
void mgr_wl_set_places(struct sl_manager *m, struct mgr_rec_wl *w);
void mgr_wl_clear_admission(struct sl_manager *m, struct mgr_rec_wl *w);
void mgr_wl_set_pending(struct mgr_rec_wl *w, uint32_t pending);
/* The symbols in hashes of what was reported may get other names: all is reported again. */
void mgr_wl_clear_reported(struct mgr_rec_wl *w);
/* Leadership was acquired again: earlier decisions and pending changes are dropped, only the API is
 * authoritative. What was sent may still arrive, so the engine accounts for it until the reply is
 * known. */
void mgr_wl_forget(struct sl_manager *m, struct mgr_rec_wl *w);
void mgr_wl_set_pending_queue(struct sl_manager *m, struct mgr_rec_wl *w, const char *queue);
void mgr_wl_set_pending_gate(struct mgr_rec_wl *w, const char *gate); /* "" removes it */
void mgr_wl_set_pending_priority(struct sl_manager *m, struct mgr_rec_wl *w,
                                 const struct mgr_priority *p);
void mgr_wl_set_pending_owner(struct mgr_rec_wl *w, const char *owner_reference_json,
                              const char *job_uid);
/* All owners as an array of JSON: 'added' of them are new. */
void mgr_wl_set_pending_owners(struct mgr_rec_wl *w, const char *references_json, uint32_t added);
/* Does this pod own it, without controlling it? */
bool mgr_wl_has_pod(const struct mgr_rec_wl *w, const char *uid);
void mgr_wl_set_pending_succeeded(struct mgr_rec_wl *w, const char *text);
void mgr_wl_set_pending_spec(struct mgr_rec_wl *w, const char *spec_json);
/* A patch of the count of its first podset alone: the rest of the podset is not cached. A version
 * that is not the newest is a conflict. */
void mgr_wl_build_count(const struct mgr_rec_wl *w, int32_t count, struct sl_write *out);

/* "job-name-ef3a1": kind and name of the owner with a hash of its group and uid. extra: "" or the
 * generation of an elastic job. */
void mgr_wl_name(struct sl_buf *out, const char *kind, const char *group, const char *name,
                 const char *uid, const char *extra, bool shorter);

#endif
