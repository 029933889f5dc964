/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people may see of the queue on the resource graph: each node with what is taken of it, by
 * jobs of the queue and by pods of others, and where each job is. A copy of the numbers at one
 * moment; texts are the controller's, and good until it is ticked or freed.
 */
#ifndef SL_MANAGER_FLUXQUEUE_VIEW_H
#define SL_MANAGER_FLUXQUEUE_VIEW_H

#include "core/base/collection/vec.h"
#include "manager/admission/fluxqueue.h"
#include "manager/fluxqueue/fluxqueue.h"

/* A resource of a node. Amounts are in the units of the graph: cpu in thousandths, bytes in KiB,
 * all else in ones. What jobs and others have together may be more than the total. */
struct sl_fluxqueue_use {
    const char *resource; /* "cpu" */
    int64_t total, jobs, others;
};

struct sl_fluxqueue_node_view {
    const char *name;
    sl_vtx vertex; /* SL_VTX_NONE: it could not be taken into the graph */
    bool up, cordoned;
    uint32_t uses, n_uses;     /* of the vector 'uses', by name */
    uint32_t taints, n_taints; /* of the vector 'taints' */
};

/* A job on a node. */
struct sl_fluxqueue_place_view {
    uint32_t job, node;      /* of the vectors */
    uint32_t pods;           /* that it has places for */
    bool whole;              /* it has all of the node */
    uint32_t takes, n_takes; /* of the vector 'takes' */
};
struct sl_fluxqueue_take {
    const char *resource;
    int64_t amount;
};

/* A job that has places. */
struct sl_fluxqueue_job_view {
    const char *ns, *name, *object, *queue; /* queue "": the default one */
    enum sl_flux_type type;
    int64_t jobid;
    uint32_t places, n_places; /* of the vector 'places' */
};

struct sl_fluxqueue_view {
    bool served;                                 /* the API server has FluxJobs */
    SL_VEC(struct sl_fluxqueue_node_view) nodes; /* in the order of the graph */
    SL_VEC(struct sl_fluxqueue_use) uses;
    SL_VEC(const char *) taints;               /* "KEY=VALUE:EFFECT", a cordon included */
    SL_VEC(struct sl_fluxqueue_job_view) jobs; /* by namespace and name */
    SL_VEC(struct sl_fluxqueue_place_view) places;
    SL_VEC(struct sl_fluxqueue_take) takes;
};

/* ret is zeroed; freed with sl_fluxqueue_view_done. */
void sl_fluxqueue_view_init(const struct sl_fluxqueue *q, struct sl_fluxqueue_view *ret);
void sl_fluxqueue_view_done(struct sl_fluxqueue_view *v);

#endif
