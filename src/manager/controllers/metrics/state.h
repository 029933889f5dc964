/* SPDX-License-Identifier: Apache-2.0 */
/* What the metrics keep between two decisions. Private to the folder and core/sweep.c. */
#ifndef SL_MANAGER_CONTROLLERS_METRICS_STATE_H
#define SL_MANAGER_CONTROLLERS_METRICS_STATE_H

#include "manager/controllers/core/records.h"

struct mgr_metrics {
    struct {
        sl_time began;
        uint64_t looks;
    } cycle;                 /* before the one that runs */
    SL_VEC(sl_sym) cohorts;  /* that may have series */
    SL_VEC(sl_sym) orphaned; /* cohorts without their object since the last change below them */
    bool trees_changed;      /* since 'cohorts' was looked through */
    uint64_t series;         /* hash of what decides which gauges there are */
};

#endif
