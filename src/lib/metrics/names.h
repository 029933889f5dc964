/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of all metrics (SL_M_ADMITTED_WORKLOADS_TOTAL ...) and their descriptions.
 */
#ifndef SL_LIB_METRICS_NAMES_H
#define SL_LIB_METRICS_NAMES_H

#include "core/base/macros.h"

enum sl_metric {
#define METRIC(id, ...) SL_M_##id,
#include "lib/metrics/table.h"
    SL_M_COUNT
};

#define SL_METRIC_LABELS 6 /* the most that one metric has, besides replica_role */

enum sl_metric_type { SL_METRIC_COUNTER, SL_METRIC_GAUGE, SL_METRIC_HISTOGRAM };

struct sl_metric_def {
    const char *name, *help;
    const char *labels[SL_METRIC_LABELS + 1]; /* up to NULL */
    const double *bounds;                     /* of a histogram, rising, without +Inf */
    enum sl_metric_type type;
    uint32_t n_labels, n_bounds;
    uint32_t index; /* bit i: label i is part of the name of the object a series belongs to */
    bool role;      /* carries replica_role after the labels */
};

const struct sl_metric_def *sl_metric_def(enum sl_metric id);
const char *sl_metric_type_name(enum sl_metric_type type);

#endif
