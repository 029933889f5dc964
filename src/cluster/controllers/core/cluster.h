/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kube-controller-manager and kube-scheduler are to a cluster, as far as `sluice up` needs it:
 * Jobs, CronJobs, Deployments, ReplicaSets, StatefulSets, garbage collection, namespaces, service
 * accounts, and binding pods to nodes. Level-triggered functions over reflectors and one patch
 * queue, through the port: no I/O, no clock but the port's, one thread.
 *
 * Each part keeps small records of what it needs and shares the reflectors' streams
 * (cluster_int.h).
 */
#ifndef SL_CLUSTER_CONTROLLERS_CORE_CLUSTER_H
#define SL_CLUSTER_CONTROLLERS_CORE_CLUSTER_H

#include "kube/client/port.h"

struct sl_cluster;
struct cl_scheduler;

struct sl_cluster_spec {
    struct sl_kube_client *client;
    const struct cl_scheduler *scheduler; /* &sl_scheduler (cluster/scheduler/scheduler.h) */
    uint64_t seed;                        /* for names and jitter */
    const char *ca; /* PEM of the API server's CA, for pods; must stay; NULL: none */
};

struct sl_cluster *sl_cluster_new(const struct sl_cluster_spec *spec);
void sl_cluster_free(struct sl_cluster *c);
/* After callbacks of the API client, and at sl_cluster_next. */
void sl_cluster_tick(struct sl_cluster *c);
sl_time sl_cluster_next(const struct sl_cluster *c);
/* The first lists are in. */
bool sl_cluster_ready(const struct sl_cluster *c);

#endif
