/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of all jobs besides their records. Private. */
#ifndef SL_MANAGER_CONTROLLERS_JOB_JOBS_H
#define SL_MANAGER_CONTROLLERS_JOB_JOBS_H

#include "manager/controllers/core/records.h"

struct mgr_jobs {
    struct sl_map children; /* hash(uid of the controller) -> jobs */
    struct sl_map prebuilt; /* hash(ns, name of the prebuilt workload) -> jobs, pods among them */
};

#endif
