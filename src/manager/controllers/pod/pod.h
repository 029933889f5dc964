/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods: cached state of the relevant ones, and ungating of those that wait for the grant of an
 * elastic Workload.
 *
 * A cluster has 100,000 pods and most are not relevant. A pod has a record only while it has not
 * ended and either belongs to a Workload (by annotation) or, once topologies are in use, is on a
 * node ('mgr_pod_wanted'). A record has no text of its own but name and uid.
 *
 * Pods of one Workload, or of a chain of slices, form a set ('mgr_workload_pods'): they are found
 * and planned together. A set whose pods or Workloads changed is planned again, once per iteration:
 * planning decides which gates are removed ('release'), mgr_pod_build writes that. Writes in flight
 * count as done.
 */
#ifndef SL_MANAGER_CONTROLLERS_POD_POD_H
#define SL_MANAGER_CONTROLLERS_POD_POD_H

#include "manager/controllers/workload/workload.h"

/* Scheduling gates that are removed here. */
enum mgr_pod_gate {
    POD_GATE_ADMISSION = 1 << 0, /* kueue.x-k8s.io/admission */
    POD_GATE_TOPOLOGY = 1 << 1,  /* kueue.x-k8s.io/topology */
    POD_GATE_ELASTIC = 1 << 2,   /* kueue.x-k8s.io/elastic-job */
};

enum mgr_pod_phase {
    MGR_POD_PENDING,
    MGR_POD_RUNNING,
    MGR_POD_SUCCEEDED,
    MGR_POD_FAILED,
    MGR_POD_UNKNOWN
};

/* Requests of a pod, as the scheduler counts them. Equal pods share one. */
struct mgr_pod_shape {
    uint32_t id, refs;
    uint64_t hash;
    uint32_t n, n_ports;
    uint32_t *ports;       /* host ports (sl_podspec_host_port), behind the requests */
    struct sl_request v[]; /* names are symbols' texts: they stay */
};

struct mgr_pod_job;
struct mgr_serving_pod;

struct mgr_workload_pods {
    uint32_t id;      /* its place in the manager's list */
    uint32_t n_gated; /* pods with a gate of ours */
    sl_sym ns;
    bool dirty;               /* to be planned */
    struct mgr_rec_pod *pods; /* linked by 'next', the newest arrival first */
    char name[];              /* annotation workload-slice-name, without it: workload */
};

struct mgr_rec_pod {
    struct sl_rec rec;
    struct mgr_workload_pods *siblings; /* NULL: of no Workload */
    struct mgr_pod_job *job;            /* of one that is queued itself (group.h); NULL */
    struct mgr_serving_pod *serving;    /* of a set's pod (serving/serving.h); NULL */
    struct mgr_rec_pod *prev, *next;
    struct mgr_pod_shape *shape;   /* a reference; NULL: not on a node, or no topology is in use */
    uint64_t sent_rv;              /* the version that 'sent' was made from */
    struct mgr_pod_shape *counted; /* its usage in the topology as an unrelated pod; a reference */
    struct mgr_pod_shape *packed;  /* its usage in the capacity check; a reference */
    char *consumes; /* annotation consume-provisioning-request: whose booking it uses; NULL: none */
    char *select;   /* what the release adds to spec.nodeSelector, as JSON; NULL: nothing */
    sl_sym node;
    sl_sym podset;           /* label kueue.x-k8s.io/podset */
    sl_sym selector;         /* spec.nodeSelector as JSON, of pods of a Workload */
    sl_sym others;           /* gates of others, an array of JSON; none: 0 */
    int32_t index, subgroup; /* its rank, by labels of its job; -1: absent */
    uint8_t phase;           /* enum mgr_pod_phase */
    uint8_t gates;           /* enum mgr_pod_gate: ours that are on it */
    uint8_t release;         /* those of them that may go */
    uint8_t sent;            /* those whose removal is in flight: see mgr_pod_sent */
    bool topology;           /* annotations request a topology: not an unrelated pod on its node */
    bool ending;             /* being deleted, as recorded in its set */
};

static inline struct mgr_rec_pod *mgr_pod_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mgr_rec_pod, rec);
}
/* Is the removal of the gate on its way? It carries the version that we know: once there is
 * another, it has happened or never will. */
static inline bool mgr_pod_sent(const struct mgr_rec_pod *p, enum mgr_pod_gate gate) {
    return (p->sent & gate) && p->sent_rv == p->rec.rv;
}

/* ---- pod.c: the kind ---- */
bool mgr_pod_wanted(void *ctx, yyjson_val *o);
bool mgr_pod_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void mgr_pod_changed(void *ctx, struct sl_rec *r);
void mgr_pod_gone(void *ctx, struct sl_rec *r);
void mgr_pod_done(struct sl_rec *r);
void mgr_pod_hold_names(struct sl_syms *t, struct sl_rec *r);
bool mgr_pod_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void mgr_pod_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                     const struct sl_kube_reply *reply);
/* "schedulingGates": these of ours and those of others; null: none is left. */
void mgr_pod_put_gates(const struct sl_manager *m, const struct mgr_rec_pod *p, uint8_t stay,
                       struct sl_jw *j);
/* All of them, also those that were not relevant until now. */
void mgr_pods_relist(struct sl_manager *m);
/* From now on pods on nodes are relevant too, with their requests: all are listed again. */
void mgr_pods_watch_nodes(struct sl_manager *m);

/* ---- the pods of a Workload ---- */
/* NULL: no pod names it. */
struct mgr_workload_pods *mgr_workload_pods_find(const struct sl_manager *m, sl_sym ns,
                                                 const char *name);
/* To be planned in this turn. NULL: nothing. */
void mgr_workload_pods_touch(struct mgr_workload_pods *c);
/* What the manager keeps of pods besides their records (pods.h). */
void mgr_pods_new(struct sl_manager *m);
void mgr_pods_end(struct sl_manager *m);

/* ---- shape.c ---- */
/* Returns a reference to the requests of this pod spec. */
struct mgr_pod_shape *mgr_pod_shape_get(struct sl_manager *m, yyjson_val *spec);
void mgr_pod_shape_unref(struct sl_manager *m, struct mgr_pod_shape *s);

/* ---- elastic.c: the grant of an elastic Workload ---- */
/* Into and out of the index of chains; out before its annotations change. */
void mgr_chain_index_add(struct sl_manager *m, struct mgr_rec_wl *w);
void mgr_chain_index_remove(struct sl_manager *m, struct mgr_rec_wl *w);
/* An elastic Workload is new or changed: enqueues its pods. */
void mgr_chain_changed(struct sl_manager *m, const struct mgr_rec_wl *w);
/* The Workload whose counts are the grant of these pods; NULL: there is none now. */
const struct mgr_rec_wl *mgr_chain_active(const struct sl_manager *m,
                                          const struct mgr_workload_pods *c);
/* Decides which pods of the Workload lose the gate. */
void mgr_elastic_plan(struct sl_manager *m, struct mgr_workload_pods *c);

#endif
