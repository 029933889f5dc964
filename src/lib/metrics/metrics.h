/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prometheus metrics. Every metric is declared in one table (table.h) with its name, type, labels,
 * buckets and help; docs/metrics.md is written from it. A series appears with its first value.
 *
 * Finding a series is O(1). A metric holds at most SL_METRIC_SERIES series, a histogram
 * SL_METRIC_HISTOGRAMS; a value for one more is dropped and counted in
 * sluice_metrics_dropped_total. A label value is cut at SL_METRIC_VALUE
 * bytes. Not thread-safe: all calls on the loop's thread. A NULL registry takes and ignores
 * everything.
 */
#ifndef SL_LIB_METRICS_METRICS_H
#define SL_LIB_METRICS_METRICS_H

#include "core/base/buf.h"
#include "lib/metrics/names.h"

#define SL_METRIC_SERIES UINT32_C(100000)
#define SL_METRIC_HISTOGRAMS UINT32_C(20000) /* each is some 17 lines of text */
#define SL_METRIC_VALUE ((size_t)320)        /* a qualified resource name has at most 317 */

struct sl_metrics;

struct sl_metrics *sl_metrics_new(void);
void sl_metrics_free(struct sl_metrics *m);
/* Sets kueue_build_info. */
void sl_metrics_build_info(struct sl_metrics *m);
/* "standalone" (at first), "leader" or "follower": the value of replica_role from now on. A change
 * drops the gauges of the old role; its counters and histograms stay as they are. */
void sl_metrics_role(struct sl_metrics *m, const char *role);

/* Label values in the order of the table, as many as the metric has; NULL counts as "". */
#define sl_metric_set(m, id, value, ...)                                                           \
    sl_metric_set_((m), (id), (value), SL_METRIC_VALUES_(__VA_ARGS__))
#define sl_metric_add(m, id, value, ...)                                                           \
    sl_metric_add_((m), (id), (value), SL_METRIC_VALUES_(__VA_ARGS__))
#define sl_metric_observe(m, id, value, ...)                                                       \
    sl_metric_observe_((m), (id), (value), SL_METRIC_VALUES_(__VA_ARGS__))
/* Removes the series with these values, of whatever role; a NULL value matches any. Quick if the
 * values name the object (table.h, index), else one walk over the metric's series. */
#define sl_metric_drop(m, id, ...) sl_metric_drop_((m), (id), SL_METRIC_VALUES_(__VA_ARGS__))

/* The label values of the call and their number: a wrong number is a programming error. */
struct sl_metric_values {
    const char *const *v;
    size_t n;
};
#define SL_METRIC_VALUES_(...)                                                                     \
    ((struct sl_metric_values){(const char *const[]){"", ##__VA_ARGS__} + 1,                       \
                               sizeof((const char *const[]){"", ##__VA_ARGS__}) / sizeof(char *) - \
                                   1})
void sl_metric_set_(struct sl_metrics *m, enum sl_metric id, double value,
                    struct sl_metric_values labels);
void sl_metric_add_(struct sl_metrics *m, enum sl_metric id, double value,
                    struct sl_metric_values labels);
void sl_metric_observe_(struct sl_metrics *m, enum sl_metric id, double value,
                        struct sl_metric_values labels);
void sl_metric_drop_(struct sl_metrics *m, enum sl_metric id, struct sl_metric_values labels);

/* The text exposition (version 0.0.4): metrics in the order of the table, series in the order of
 * their creation. */
void sl_metrics_print(const struct sl_metrics *m, struct sl_buf *out);

#endif
