/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of all Workloads besides their records. Private. */
#ifndef SL_MANAGER_CONTROLLERS_WORKLOAD_WORKLOADS_H
#define SL_MANAGER_CONTROLLERS_WORKLOAD_WORKLOADS_H

#include "manager/controllers/core/records.h"

struct mgr_workloads {
    struct sl_map by_owner; /* hash(uid of the controller) -> id */
    struct sl_map by_id;    /* engine id -> id */
    struct sl_map by_job;   /* hash(label job-uid) -> id */
    SL_VEC(uint32_t) fresh; /* reported to the engine since its last cycle */
    uint32_t n_releasing;   /* whose reservation is being taken back */
    uint32_t n_moving;      /* and those that are given other places */
    SL_VEC(uint32_t) held;  /* whose new reservation waits for that */
};

#endif
