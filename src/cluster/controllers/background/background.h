/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Background tasks beside the informers, one request at a time each: initial objects (bootstrap.c),
 * expired events (event_expiry.c), pods on deleted nodes (orphaned_pods.c). Private to
 * src/cluster/controllers.
 */
#ifndef SL_CLUSTER_CONTROLLERS_BACKGROUND_BACKGROUND_H
#define SL_CLUSTER_CONTROLLERS_BACKGROUND_BACKGROUND_H

#include "cluster/controllers/core/pod.h"

struct bootstrap {
    sl_call call;
    uint32_t at;
    sl_time due; /* mono */
    sl_span pause;
};

/* An event to delete. */
struct stale {
    char *path, *uid;
};

struct sweep {
    sl_call call;
    sl_time due;        /* mono */
    struct sl_buf next; /* the page to go on with; empty: from the beginning */
    SL_VEC(struct stale) stale;
    uint32_t fails;
};

/* A node that pods refer to and that does not exist. */
struct lost_node {
    sl_sym name;
    sl_time since;    /* mono */
    bool asked, gone; /* it was requested, and does not exist */
    bool seen;        /* in this round */
};

struct strays {
    sl_call call;
    sl_time due; /* mono */
    SL_VEC(struct lost_node) lost;
    SL_VEC(uint32_t) pods; /* object numbers; to be ended */
    SL_VEC(uint64_t) uids; /* of these */
    bool failed_written;   /* the first of them has its end in its status */
    sl_sym asked;
};

struct errands {
    struct bootstrap bootstrap;
    struct sweep sweep;
    struct strays strays;
};

void cl_bootstrap_turn(struct sl_cluster *c);
void cl_sweep_turn(struct sl_cluster *c);
void cl_sweep_stop(struct sl_cluster *c);
void cl_strays_turn(struct sl_cluster *c);
void cl_strays_stop(struct sl_cluster *c);
extern const struct part cl_errands_part;

#endif
