/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of all jobs besides their records. Private. */
#ifndef SL_MANAGER_CONTROLLERS_JOB_JOBS_H
#define SL_MANAGER_CONTROLLERS_JOB_JOBS_H

#include "manager/controllers/core/records.h"
#include "manager/jobkinds/jobkinds.h"

#define JOBS_MAX_ROWS 32u /* kinds of jobs besides those of batch/v1 */

struct mgr_jobs {
    struct sl_map children; /* hash(uid of the controller) -> jobs */
    struct sl_map prebuilt; /* hash(ns, name of the prebuilt workload) -> jobs, pods among them */
    /* Those of records.h, then the rows. */
    struct sl_rec_kind kinds[REC_KINDS + JOBS_MAX_ROWS];
    struct mgr_job_row {
        const struct sl_jobkind *row;
        enum sl_framework framework;
    } rows[JOBS_MAX_ROWS];
    uint32_t n_rows;
};

#endif
