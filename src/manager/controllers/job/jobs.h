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
        const struct sl_jobkind *row;   /* NULL: free */
        enum sl_framework framework;    /* SL_FW_COUNT: a user's */
        uint64_t text;                  /* a user's: hash of the text that it stands in */
        bool left;                      /* its records may still be on their way out */
    } rows[JOBS_MAX_ROWS];              /* first those that are built in */
    uint32_t n_rows;                    /* that are, or were, in use */
    SL_VEC(struct sl_jobkinds *) texts; /* that users' rows stand in */
    bool stale;                         /* these have changed */
    char *place;                        /* of ConfigMaps with them: "/api/v1/namespaces/NS" */
};

/* Ready for a row. */
void mgr_job_init_slot(struct mgr_jobs *jobs, uint32_t slot);
void mgr_job_rows_free(struct mgr_jobs *jobs);

#endif
