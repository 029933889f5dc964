/* SPDX-License-Identifier: Apache-2.0 */
/* More specific reasons (gate UnadmittedWorkloadsObservability). Private. */
#ifndef SL_MANAGER_CONTROLLERS_WORKLOAD_REASONS_H
#define SL_MANAGER_CONTROLLERS_WORKLOAD_REASONS_H

#include "manager/controllers/workload/workload.h"

/* The reason of a condition that this effect writes. */
const char *mgr_observed_reason(const struct sl_effect *x, const struct sl_condition *c);
/* With gate UnadmittedWorkloadsExplicitStatus every pending Workload has a condition. After the
 * engine's cycle. */
void mgr_explicit_status(struct sl_manager *m, struct mgr_rec_wl *w);

#endif
