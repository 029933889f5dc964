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

#include "core/base/err.h"
#include "kube/client/port.h"

struct sl_cluster;
struct cl_scheduler;

/* What can be switched off, where another component does the same; in the order of the table of
 * names (controllers.c). */
enum cl_controller {
    CL_CRON_JOBS,
    CL_DAEMON_SETS,
    CL_DEPLOYMENTS,
    CL_ENDPOINTS,
    CL_ENDPOINT_SLICES,
    CL_ENDPOINT_MIRRORS,
    CL_GARBAGE,
    CL_JOBS,
    CL_SCHEDULER,
    CL_NAMESPACES,
    CL_CLAIM_PROTECTION,
    CL_POD_GARBAGE,
    CL_REPLICA_SETS,
    CL_REPLICATION_CONTROLLERS,
    CL_ROOT_CA,
    CL_SERVICE_ACCOUNTS,
    CL_STATEFUL_SETS,
    CL_JOB_TTL,
    CL_CONTROLLERS,
};
#define CL_OFF(controller) (UINT32_C(1) << (controller))

struct sl_cluster_spec {
    struct sl_kube_client *client;
    const struct cl_scheduler *scheduler; /* &sl_scheduler (cluster/scheduler/scheduler.h) */
    uint64_t seed;                        /* for names and jitter */
    const char *ca; /* PEM of the API server's CA, for pods; must stay; NULL: none */
    uint32_t off;   /* CL_OFF of each that is switched off */
};

/* From a list as that of kube-controller-manager: "*", "-name", "name", with commas. */
int sl_cluster_controllers_parse(const char *list, uint32_t *ret_off,
                                 struct sl_err *err) _must_check_;
/* The name of a controller: for (i = 0; (name = sl_cluster_controller_name(i)); i++). */
const char *sl_cluster_controller_name(uint32_t i);

struct sl_cluster *sl_cluster_new(const struct sl_cluster_spec *spec);
void sl_cluster_free(struct sl_cluster *c);
/* After callbacks of the API client, and at sl_cluster_next. */
void sl_cluster_tick(struct sl_cluster *c);
sl_time sl_cluster_next(const struct sl_cluster *c);
/* The first lists are in. */
bool sl_cluster_ready(const struct sl_cluster *c);

#endif
