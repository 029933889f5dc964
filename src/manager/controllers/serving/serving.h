/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serving workloads: StatefulSets and LeaderWorkerSets. They are queued by their pods, which
 * admission gates on creation; here they get their Workloads, and each pod is assigned to one of
 * them. From then on the pods of one Workload are a group like any other (pod/group.h).
 *
 * A set has slots: the ordinals of a StatefulSet, the groups of a LeaderWorkerSet. Each Workload is
 * for a range of them, beginning at 'first'. A LeaderWorkerSet has one for each slot. A StatefulSet
 * has one for all, but its size may change while the pods run:
 *
 *   - larger: existing Workloads stay, and the new slots get a Workload of their own, which
 *     waits for its quota while the others run;
 *   - smaller: the pods of the last slots are deleted; after that, the last Workload shrinks to
 *     what is left, or is deleted if nothing is;
 *   - while the last Workload holds no quota, its size simply follows the set's;
 *   - zero: the first Workload is put on hold, the others are deleted.
 *
 * Invariant: no pod runs without a Workload that holds quota for it. So a pod is assigned only
 * where its slot is in the range of a Workload that the API server has stored, a range is never
 * taken from a slot that still has a pod, and a pod without an assignment keeps its gates.
 *
 * Level-triggered as Jobs are (job/job.h): mgr_serving_plan computes the next write of a set, from
 * the current records.
 */
#ifndef SL_MANAGER_CONTROLLERS_SERVING_SERVING_H
#define SL_MANAGER_CONTROLLERS_SERVING_SERVING_H

#include "manager/controllers/pod/pod.h"
#include "manager/controllers/workload/workload.h"

#define SERVING_MAX_SLOTS 100000 /* more of one set are left alone */

struct mgr_serving_pod;

/* Is it being deleted, or about to be? There is no way back. */
static inline bool mgr_serving_is_going(const struct mgr_rec_wl *w) {
    return w->rec.deleting || (w->pending & WL_DELETE);
}

/* What is written for a set, one at a time. */
enum mgr_serving_step {
    SERVING_REST,
    SERVING_CREATE, /* POST of a Workload */
    SERVING_ADOPT,  /* a Workload with its name that does not know it */
    SERVING_RESIZE, /* the count of a Workload */
};

struct mgr_serving_plan {
    enum mgr_serving_step step;
    struct mgr_rec_wl *wl; /* ADOPT, RESIZE */
    int32_t first;         /* CREATE */
    int32_t count;         /* CREATE, RESIZE: slots */
};

/* A Workload and the slots that it is for. */
struct mgr_serving_part {
    struct mgr_rec_wl *wl;
    int32_t first, end;
    int32_t top;  /* behind the last slot that has a pod; 'first': none has */
    bool running; /* a pod has lost its gate and not ended */
    bool unlike;  /* its podsets are not the set's */
};
struct mgr_serving_parts {
    SL_VEC(struct mgr_serving_part) v; /* by 'first' */
};

struct mgr_rec_set {
    struct sl_rec rec;
    sl_sym queue, priority_class;
    sl_sym owner_api, owner_kind; /* of the controller; 0: none */
    char *owner_name, *owner_uid;
    char *gate;      /* annotation admission-gated-by, NULL */
    char *origin;    /* uid of the set that it is a copy of, in another cluster; NULL: none */
    char *pod_class; /* priority class of the pods, NULL */
    char *podsets;   /* what the podsets are made of, by the kind; NULL: it is not ours */
    char *labels, *annotations; /* JSON members with commas that a Workload gets */
    char *note;                 /* of the event when the write in flight is done */
    uint64_t digest;            /* of what was decoded */
    sl_time pause;              /* mono: nothing is written before */
    int32_t replicas, start, size;
    bool leader;     /* LeaderWorkerSet: has pods of two kinds */
    bool foreign;    /* its pods are another framework's */
    bool remote;     /* a copy: its Workload is made elsewhere */
    bool over_limit; /* the excess of slots was reported */
    bool known;      /* in the manager's index */
    uint8_t step;    /* in flight, enum mgr_serving_step */
    /* A Workload whose size reduction is in flight. */
    struct {
        uint32_t obj;
        uint64_t rv; /* 0: none */
        int32_t count;
    } shrink;
};

static inline struct mgr_rec_set *mgr_set_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mgr_rec_set, rec);
}

/* What differs between the kinds. */
struct mgr_serving_kind {
    enum mgr_rec_kind kind;
    enum sl_framework fw;
    const char *controller; /* as events name it */
    const char *parent;     /* annotation kueue.x-k8s.io/pod-suspending-parent of its pods */
    /* The spec; what podsets are made of only if it is 'ours'. */
    void (*read)(struct sl_manager *m, struct mgr_rec_set *s, yyjson_val *o, bool ours);
    /* The set, owner and slot of a pod. False: it belongs to no set. */
    bool (*read_pod)(struct sl_manager *m, struct mgr_serving_pod *p, yyjson_val *o);
    /* How many slots a Workload is for. */
    int32_t (*slots)(const struct sl_manager *m, const struct mgr_rec_wl *w);
    /* Whether a Workload does not match the set any more. Then it is created again. */
    bool (*unlike)(const struct sl_manager *m, const struct mgr_rec_set *s,
                   const struct mgr_rec_wl *w);
    /* A Workload that is the set's by its name only; NULL: there is no such thing. */
    struct mgr_rec_wl *(*find_unowned)(const struct sl_manager *m, const struct mgr_rec_set *s);
    struct mgr_serving_plan (*plan)(const struct sl_manager *m, const struct mgr_rec_set *s,
                                    const struct mgr_serving_parts *parts);
    void (*put_podsets)(const struct mgr_rec_set *s, int32_t count, struct sl_jw *out);
    /* The name of the Workload for the slots from 'first' on. */
    void (*put_name)(const struct sl_manager *m, const struct mgr_rec_set *s, int32_t first,
                     struct sl_buf *out);
    /* Annotations of a pod besides those of all, as JSON members. */
    void (*put_entry)(const struct mgr_rec_set *s, const struct mgr_serving_pod *p,
                      struct sl_jw *out);
    /* How many pods there are in the group of a Workload. */
    int32_t (*total)(const struct mgr_rec_set *s, const struct mgr_serving_part *part);
};
extern const struct mgr_serving_kind mgr_serving_statefulset, mgr_serving_lws;

/* ---- serving.c: the kind, and its Workloads ---- */
bool mgr_serving_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void mgr_serving_changed(void *ctx, struct sl_rec *r);
void mgr_serving_gone(void *ctx, struct sl_rec *r);
void mgr_serving_done(struct sl_rec *r);
void mgr_serving_hold_names(struct sl_syms *t, struct sl_rec *r);
bool mgr_serving_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void mgr_serving_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                         const struct sl_kube_reply *reply);
/* A Workload is new, changed, or gone: reconciles its set, and drops the finalizer if that is
 * gone. */
void mgr_serving_workload_changed(struct sl_manager *m, struct mgr_rec_wl *w, bool gone);
/* Whether the set is managed: in a queue, and no ancestor is. */
bool mgr_serving_managed(const struct sl_manager *m, const struct mgr_rec_set *s);
/* To be freed with sl_vec_free(&ret->v). */
void mgr_serving_parts(const struct sl_manager *m, const struct mgr_rec_set *s,
                       struct mgr_serving_parts *ret);
/* The one for this slot, if pods may be entered into it; NULL: none. */
const struct mgr_serving_part *mgr_serving_covers(const struct mgr_rec_set *s,
                                                  const struct mgr_serving_parts *parts,
                                                  int32_t slot);

/* ---- pod.c: the pods of sets ---- */

/* Cached state of a pod of a set, besides its record. */
struct mgr_serving_pod {
    sl_sym set;      /* its name */
    sl_sym entry;    /* the Workload that it was entered into; 0: none */
    sl_sym queue;    /* label */
    uint64_t owner;  /* hash of the set's uid; 0: the name is enough */
    int32_t slot;    /* -1: not known yet */
    int32_t total;   /* annotation pod-group-total-count; -1 */
    uint8_t kind;    /* of the set, enum mgr_rec_kind */
    bool worker;     /* of a LeaderWorkerSet, and not the leader */
    uint64_t digest; /* of all inputs of its set */
};
void mgr_serving_new(struct sl_manager *m);
void mgr_serving_end(struct sl_manager *m);
/* Is it a pod of a set that is looked after here? */
bool mgr_serving_pod_wanted(const struct sl_manager *m, yyjson_val *o);
void mgr_serving_pod_take(struct sl_manager *m, struct mgr_rec_pod *p, yyjson_val *o);
void mgr_serving_pod_gone(struct sl_manager *m, struct mgr_rec_pod *p);
/* Is something of the entry to be written? Then it comes before all else. */
bool mgr_serving_pod_build(struct sl_manager *m, struct mgr_rec_pod *p, struct sl_write *w);
/* Every pod of the set that has not ended; NULL ends. *cursor starts at 0. */
struct mgr_rec_pod *mgr_serving_pods(const struct sl_manager *m, const struct mgr_rec_set *s,
                                     uint32_t *cursor);
/* Its slot, as the set counts; -1: none. */
int32_t mgr_serving_slot(const struct mgr_rec_set *s, const struct mgr_serving_pod *p);
/* Does anything of the entry differ from what it should be? */
bool mgr_serving_pod_due(const struct sl_manager *m, const struct mgr_rec_set *s,
                         const struct mgr_rec_pod *p, const struct mgr_serving_parts *parts);

#endif
