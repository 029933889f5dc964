/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain pods and groups of pods as jobs. A pod with the label kueue.x-k8s.io/managed=true has,
 * besides its record, a 'struct mgr_pod_job'; all pods of one (namespace, group name) form a group,
 * and a pod without a group name is a group of its own. A group has one Workload, is started while
 * that is admitted, stopped when it is not, and reports its progress to it.
 *
 * As for Jobs, reconciliation is level-triggered: mgr_group_plan computes the phase of the group
 * and the next write of each of its pods, from the current records and nothing else; mgr_group_pass
 * acts on the Workload, mgr_group_build makes the body of the write that is due for a pod. A group
 * whose pods or Workload changed is planned again once per iteration, and no pod of it is written
 * before. Pods are written in parallel, each as its own object; the Workload is created through the
 * record of one of them.
 *
 * Pods cannot be suspended: to stop one is to delete it, and its creator replaces it. So
 *   - a group keeps its Workload while pods are replaced, and is held back meanwhile
 *     (WaitingForReplacementPods);
 *   - a pod that ended counts until its group has ended: its record and its finalizer stay so long.
 *     But a pod that is being deleted never waits for others: it loses the finalizer as soon as it
 *     cannot run any more (group_plan.c: 'is_free'), and if it had succeeded, that is written in
 *     the Workload first;
 *   - the quota of a stopped pod is in use until it has ended, or its grace period is over: only
 *     then it is released;
 *   - pods that are created after a group has finished are another group of that name.
 *
 * Pods that a parent suspends (annotation pod-suspending-parent: Deployment, StatefulSet,
 * LeaderWorkerSet) have no finalizer. Those of the last two have a prebuilt Workload, which their
 * own controller creates and resizes: such a group is never complete, incomplete or of a wrong size
 * here; as many of its pods are started as the Workload was granted, the others keep their gate.
 */
#ifndef SL_MANAGER_CONTROLLERS_POD_GROUP_H
#define SL_MANAGER_CONTROLLERS_POD_GROUP_H

#include "kube/types/role.h"
#include "manager/controllers/pod/pod.h"

#define GROUP_CONTROLLER "pod-kueue-controller"
#define GROUP_MANAGED "kueue.x-k8s.io/managed" /* label and finalizer */
#define GROUP_NAME "kueue.x-k8s.io/pod-group-name"
#define GROUP_TOTAL "kueue.x-k8s.io/pod-group-total-count"
#define GROUP_PARENT "kueue.x-k8s.io/pod-suspending-parent"
#define GROUP_SUCCEEDED "sluice.dev/succeeded-pods"
#define GROUP_MAX_ROLES 18u

/* What is written for a pod, one at a time. */
enum mgr_pod_step {
    POD_REST,
    POD_READ,           /* GET: its text is needed and not cached */
    POD_COMPOSE,        /* POST of the group's Workload */
    POD_START,          /* the gate goes, and what the admission adds comes */
    POD_TARGET,         /* status condition TerminationTarget: why it is going to be deleted */
    POD_STOP,           /* DELETE, after that */
    POD_DROP_FINALIZER, /* our finalizer goes */
    POD_REMOVE,         /* DELETE of an excess pod, or of one after its grace period */
    POD_STEPS,
};

/* Phase of a group. From GROUP_WL_FINISHED on it has its Workload. */
enum mgr_group_phase {
    GROUP_IGNORED,     /* not ours */
    GROUP_OVER,        /* all of its pods have ended, and there is no Workload to report to */
    GROUP_WRONG,       /* its pods are inconsistent: see 'why' */
    GROUP_SHORT,       /* fewer pods than it names */
    GROUP_NO_WORKLOAD, /* no Workload yet, or prebuilt and not there */
    GROUP_NAME_TAKEN,  /* a Workload of its name has another owner */
    GROUP_UNMATCHED,   /* its Workload is for something else, or for pods before these */
    GROUP_OUT_OF_SYNC, /* the same, prebuilt */
    GROUP_LEFT,        /* a plain pod is being deleted and not running any more */
    GROUP_WL_FINISHED, /* the Workload is finished */
    GROUP_WL_DELETING, /* the Workload is being deleted */
    GROUP_FINISHED,    /* the group is finished, its Workload not */
    GROUP_EVICTED,
    GROUP_WAITING, /* not admitted */
    GROUP_RUNNING, /* admitted */
};

/* What few pods have. */
struct mgr_pod_more {
    char *prebuilt, *gate; /* NULL: absent */
    int32_t max_exec_s;    /* -1: absent */
};

/* What a Workload is made of. */
struct mgr_pod_draft {
    char *podset; /* members "template" and "topologyRequest"; NULL: another of its role has it */
    char *annotations;     /* JSON members: parameters of ProvisioningRequests */
    char *labels, *copied; /* likewise: labels and annotations that the configuration names */
};

struct mgr_pod_job {
    struct mgr_pod_group *group;
    struct mgr_rec_pod *prev, *next; /* in the group */
    struct mgr_template *template;   /* of the whole pod, while it has our gate; NULL otherwise */
    struct mgr_pod_draft *draft;     /* until there is a Workload */
    struct mgr_pod_more *more;
    char *message;                    /* status.message, of one that has ended; NULL */
    char *note;                       /* of the event when the write in flight is done */
    uint64_t containers, tolerations; /* hashes, as in struct mgr_template */
    uint64_t digest;                  /* of everything here that was decoded */
    sl_time delete_at;                /* deletionTimestamp, which includes the grace; 0: none */
    sl_time ends; /* mono: end of its grace period, since its deletion was first observed; 0: not
                     deleted. The wall clock may be set */
    sl_time active_at;   /* when a pod that is not active was last observed to be */
    uint64_t started_rv; /* the version whose gate is being removed, until the result is known; 0:
                            none. See mgr_pod_starting */
    sl_sym queue, priority_class, pod_class;
    char shape[SL_ROLE_HASH_SIZE]; /* the hash of its requirements; "" unless it is gated in a group
                                    */
    sl_sym role;                   /* annotation role-hash, or what it would be */
    sl_sym parent;                 /* annotation pod-suspending-parent */
    int32_t total;                 /* annotation pod-group-total-count; 0: absent or wrong */
    uint8_t step;                  /* to be written: enum mgr_pod_step */
    uint8_t doing;                 /* in flight */
    bool unretriable, fast, serving;
    bool ready;     /* condition Ready */
    bool target;    /* condition TerminationTarget */
    bool bad_index; /* label pod-group-pod-index is no number below the total */
};

/* All pods of a group name, or one plain pod. */
struct mgr_pod_group {
    uint32_t id; /* its place in the manager's list */
    uint32_t n;  /* pods */
    sl_sym ns;
    bool single, dirty;
    bool reported_short;      /* the error was reported */
    uint8_t phase;            /* as planned: enum mgr_group_phase */
    uint32_t wl;              /* object number of the Workload as planned; SL_MAP_NONE */
    uint32_t reported;        /* hash of the last note about admission checks */
    sl_time since;            /* wall: it is short, or wrong, since */
    sl_time pause;            /* mono: nothing is composed before */
    sl_time reconcile_at;     /* wall: to be planned again, whatever happens */
    struct mgr_rec_pod *pods; /* linked by 'next', the newest arrival first */
    char name[];              /* "" for a plain pod */
};

/* ---- pod_job.c: from the object to the record ---- */
/* Does a controller here look after this pod? */
bool mgr_pod_is_managed(const struct sl_manager *m, yyjson_val *o);
/* Caches the object, or drops its state. Returns whether anything relevant changed. */
bool mgr_pod_job_take(struct sl_manager *m, struct mgr_rec_pod *p, yyjson_val *o);
void mgr_pod_job_gone(struct sl_manager *m, struct mgr_rec_pod *p);
void mgr_pod_job_free(struct mgr_pod_job *j);
void mgr_pod_draft_drop(struct mgr_pod_job *j);
static inline bool mgr_pod_ended(const struct mgr_rec_pod *p) {
    return p->phase == MGR_POD_SUCCEEDED || p->phase == MGR_POD_FAILED;
}
static inline bool mgr_pod_gated(const struct mgr_rec_pod *p) {
    return p->gates & POD_GATE_ADMISSION;
}
/* Gated, but the start is in flight, or its result is unknown. The write is conditional on the
 * known version: once there is another one, it has happened or never will. */
static inline bool mgr_pod_starting(const struct mgr_rec_pod *p) {
    return mgr_pod_gated(p) && p->job->started_rv == p->rec.rv;
}

/* ---- group.c: groups and their Workloads ---- */
struct mgr_pod_group *mgr_group_find(const struct sl_manager *m, sl_sym ns, const char *name);
/* To be planned in this turn. NULL: nothing. */
void mgr_group_touch(struct mgr_pod_group *g);
/* The same for the group of this pod, and for the Workload of one that is alone. */
void mgr_group_pod_changed(struct sl_manager *m, struct mgr_rec_pod *p);
/* All of them: settings or the leader changed. */
void mgr_groups_touch(struct sl_manager *m);
void mgr_group_join(struct sl_manager *m, struct mgr_rec_pod *p, const char *name);
void mgr_group_leave(struct sl_manager *m, struct mgr_rec_pod *p);
void mgr_groups_new(struct sl_manager *m);
void mgr_groups_end(struct sl_manager *m);
/* Do pods matter to any of these frameworks? */
bool mgr_group_frameworks(const bool framework[SL_FW_COUNT]);
/* A Workload is new, changed, or deleted: enqueues its group, and ends what is left of one whose
 * pods are deleted. */
void mgr_group_workload_changed(struct sl_manager *m, struct mgr_rec_wl *w, bool gone);
/* Of a group's Workload: no pod that counts is left. */
void mgr_group_without_pods(struct sl_manager *m, struct mgr_rec_wl *w);
/* Does one plain pod control it? */
bool mgr_group_owns_one(const struct sl_manager *m, const struct mgr_rec_wl *w);
/* The same, and once evicted it is not put back: its pod does not come again, unless it still
 * waits. */
bool mgr_group_never_requeued(const struct sl_manager *m, const struct mgr_rec_wl *w);

/* ---- group_plan.c: evaluation of the records ---- */
struct mgr_group_member {
    struct mgr_rec_pod *p;
    uint32_t role; /* in the Workload's podsets, or in the plan's roles; GROUP_NO_ROLE */
    uint8_t step;  /* enum mgr_pod_step */
    bool active;   /* runs, can run, or has succeeded */
    bool may_run;  /* has lost the gate, and has not ended for good */
    bool late; /* succeeded while it was being deleted, and the Workload does not record it yet */
};
#define GROUP_NO_ROLE UINT32_MAX

struct mgr_group_plan {
    enum mgr_group_phase phase;
    struct mgr_rec_wl *wl;              /* its Workload, or the one in the way */
    const char *why;                    /* what is wrong with it */
    SL_VEC(struct mgr_group_member) v;  /* those that count, the oldest first */
    SL_VEC(struct mgr_rec_pod *) roles; /* when composing: a pod of each, by name of the role */
    int32_t total;                      /* pods that it should have */
    int32_t succeeded, ready;           /* with those that are gone already */
    int32_t missing;                    /* pods that have to be replaced */
    uint32_t unowned;                   /* members that the Workload does not name as owners */
    int32_t reclaim[SL_MAX_PODSETS];    /* succeeded, per podset of the Workload */
    char *succeeded_text;               /* message of GROUP_SUCCEEDED; NULL: unchanged */
    bool runs;                          /* a pod of it may run, or holds what it ran on */
    sl_time reconcile_at;               /* SL_TIME_NEVER: only when something changes */
    char text[512];
};
/* To be ended with mgr_group_plan_done. */
void mgr_group_plan(const struct sl_manager *m, struct mgr_pod_group *g,
                    struct mgr_group_plan *ret);
void mgr_group_plan_done(struct mgr_group_plan *p);
/* Why pods of a group in this phase are stopped: the message, and the reason of the condition in
 * 'reason'. Borrowed from the records. */
const char *mgr_group_stop_reason(const struct sl_manager *m, const struct mgr_pod_group *g,
                                  struct sl_buf *reason);
/* Whether the Workload matches one pod. The owner is not considered. */
bool mgr_group_fits_one(const struct sl_manager *m, const struct mgr_rec_pod *p,
                        const struct mgr_rec_wl *w);

/* ---- group_reconcile.c: the pass ---- */
void mgr_group_pass(struct sl_manager *m, struct mgr_pod_group *g);

/* ---- group_patch.c: the bodies ---- */
bool mgr_group_build(struct sl_manager *m, struct mgr_rec_pod *p, struct sl_write *w);
/* Was the write that ended one of a group's? */
bool mgr_group_written(struct sl_manager *m, struct mgr_rec_pod *p, enum sl_written how);
/* The whole spec of a plain pod's Workload, from its draft. False: the priority class does not
 * exist.
 */
bool mgr_group_spec(const struct sl_manager *m, const struct mgr_rec_pod *leader,
                    struct mgr_rec_pod *const *roles, const int32_t *counts, uint32_t n,
                    bool replace, const char *key, struct sl_jw *out);
/* One map of what is copied of all of theirs, as fields; out may be NULL.
 * False: they do not agree. */
bool mgr_group_put_copied(const struct mgr_group_plan *p, bool labels, struct sl_jw *out);
/* A reference to the pod as owner. */
void mgr_group_owner_reference(const struct mgr_rec_pod *p, bool controller, struct sl_jw *out);

#endif
