/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Background tasks beside the informers, one request at a time each: initial objects (bootstrap.c),
 * expired events (event_expiry.c), pods on deleted nodes (orphaned_pods.c). Private to
 * src/cluster/controllers.
 */
#ifndef SL_CLUSTER_CONTROLLERS_BACKGROUND_BACKGROUND_H
#define SL_CLUSTER_CONTROLLERS_BACKGROUND_BACKGROUND_H

#include "cluster/controllers/core/pod.h"

struct cl_bootstrap {
    sl_kube_call call;
    uint32_t at;
    sl_time due; /* mono */
    sl_span pause;
};

/* An event to delete. */
struct cl_stale_event {
    char *path, *uid;
};

struct cl_event_expiry {
    sl_kube_call call;
    sl_time due;        /* mono */
    struct sl_buf next; /* the page to go on with; empty: from the beginning */
    SL_VEC(struct cl_stale_event) stale;
    uint32_t fails;
};

/* A node that pods refer to and that does not exist. */
struct cl_lost_node {
    sl_sym name;
    sl_time since;        /* mono */
    bool requested, gone; /* it was requested, and does not exist */
    bool seen;            /* in this round */
};

struct cl_pod_gc {
    sl_kube_call call;
    sl_time due; /* mono */
    SL_VEC(struct cl_lost_node) lost;
    SL_VEC(uint32_t) pods; /* object numbers; to be ended */
    SL_VEC(uint64_t) uids; /* of these */
    bool failed_written;   /* the first of them has its end in its status */
    sl_sym requested;
};

struct cl_background {
    struct cl_bootstrap bootstrap;
    struct cl_event_expiry event_expiry;
    struct cl_pod_gc pod_gc;
};

void cl_bootstrap_turn(struct sl_cluster *c);
void cl_event_expiry_turn(struct sl_cluster *c);
void cl_event_expiry_stop(struct sl_cluster *c);
void cl_pod_gc_turn(struct sl_cluster *c);
void cl_pod_gc_stop(struct sl_cluster *c);
extern const struct cl_part cl_background_part;

#endif
