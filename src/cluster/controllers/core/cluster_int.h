/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base that all parts of src/cluster/controllers stand on: one informer
 * (kube/informer/informer.h), whose records they share, and what they do besides. Private to the
 * folder.
 */
#ifndef SL_CLUSTER_CONTROLLERS_CORE_CLUSTER_INT_H
#define SL_CLUSTER_CONTROLLERS_CORE_CLUSTER_INT_H

#include "cluster/controllers/core/ceilings.h"
#include "cluster/controllers/core/cluster.h"
#include "kube/informer/informer.h"

/* In the order in which changes are reconciled. */
enum cl_kind {
    K_NAMESPACE,
    K_SERVICE_ACCOUNT,
    K_CONFIG_MAP,
    K_NODE,
    K_CLAIM,    /* PersistentVolumeClaim */
    K_REVISION, /* ControllerRevision */
    K_POD,
    K_CRONJOB,
    K_JOB,
    K_DEPLOYMENT,
    K_REPLICASET,
    K_STATEFULSET,
    K_DAEMONSET,
    K_REPLICATION_CONTROLLER,
    K_SERVICE,
    K_ENDPOINTS,
    K_SLICE, /* EndpointSlice */
    K_COUNT,
};
extern const struct sl_rec_kind cl_kinds[K_COUNT];

struct sl_cluster;

/* What a component does besides reconciling records; each may be NULL. */
struct cl_part {
    void (*start)(struct sl_cluster *c);
    void (*turn)(struct sl_cluster *c); /* after the records were reconciled; may enqueue any */
    sl_time (*next)(const struct sl_cluster *c); /* mono: when it needs to run without an event */
    bool (*ready)(const struct sl_cluster *c);   /* its own first lists are in */
    void (*stop)(struct sl_cluster *c);          /* frees what it keeps; records still exist */
};

struct sched;         /* cluster/scheduler/scheduler.c */
struct cl_gc;         /* gc/gc.c */
struct cl_background; /* background/background.c */

/* The scheduler, the gc, the background tasks. */
#define CL_N_PARTS 3u

struct sl_cluster {
    struct sl_cluster_spec spec;
    struct sl_rec_kind kinds[K_COUNT]; /* cl_kinds, with nodes as the scheduler reads them */
    const struct cl_part *parts[CL_N_PARTS];
    struct sl_kube_client *client;
    struct sl_informer *inf;
    struct sl_syms *syms;                /* the informer's: namespaces and nodes */
    uint32_t turns;                      /* names.c */
    SL_VEC(uint32_t) jobs_with_selector; /* Jobs with selectors of their own (job/pods.c): ids */
    struct sl_map service_pairs;         /* Services by a pair of their selector: ids */
    struct sched *schedule;
    struct cl_gc *gc;
    struct cl_background *background;
};

static inline bool cl_on(const struct sl_cluster *c, enum cl_controller k) {
    return !(c->spec.off & CL_OFF(k));
}

static inline const char *cl_str(const struct sl_cluster *c, sl_sym y) {
    return sl_sym_str(c->syms, y);
}

/* ---- write.c ---- */

/* `{"type":…,"status":"True",…}` of metav1.Condition's shape; times 0: left out. */
void cl_write_condition(struct sl_jw *j, const char *type, bool status, const char *reason,
                        const char *message, sl_time probed, sl_time changed);
/* A copy of the value as JSON text, NULL if absent. To be freed. */
char *cl_text_of(yyjson_val *v);

#endif
