/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of all pods and groups of pods besides their records. Private. */
#ifndef SL_MANAGER_CONTROLLERS_POD_PODS_H
#define SL_MANAGER_CONTROLLERS_POD_PODS_H

#include "manager/controllers/pod/group.h"

struct mgr_pods {
    struct sl_map by_name;                /* hash(ns, name of the workload) -> place in 'v' */
    SL_VEC(struct mgr_workload_pods *) v; /* NULL: free */
    SL_VEC(uint32_t) free_ids;
    struct sl_map shapes_by_hash;
    SL_VEC(struct mgr_pod_shape *) shapes; /* NULL: free */
    SL_VEC(uint32_t) free_shapes;
    struct sl_map chains; /* hash(ns, name of the chain) -> elastic workloads */
    bool on_nodes;        /* all pods on nodes are relevant */
};

struct mgr_groups {
    struct sl_map by_name;
    SL_VEC(struct mgr_pod_group *) v; /* NULL: free */
    SL_VEC(uint32_t) free_ids;
};

#endif
