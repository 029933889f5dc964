/* SPDX-License-Identifier: Apache-2.0 */
/* Where in an object what an admission adds to its pods is written. Private to controllers/job. */
#ifndef SL_MANAGER_CONTROLLERS_JOB_PLACE_H
#define SL_MANAGER_CONTROLLERS_JOB_PLACE_H

#include "manager/controllers/job/job.h"

/* Of a part, dotted, from where the podset's pointer leads. */
const char *mgr_place_path(enum sl_jobkind_form form, enum mgr_job_part part);
/* How many steps of a path exist, one after the other, all but the last as objects. */
uint8_t mgr_place_has(yyjson_val *v, const char *path);

#endif
