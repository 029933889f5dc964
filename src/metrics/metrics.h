/*
 * Prometheus metrics. Every metric is declared in one table (metrics.c) with its name, type, labels,
 * buckets and help; the table also writes docs/metrics.md. A series appears with its first value.
 */
#ifndef SL_METRICS_METRICS_H
#define SL_METRICS_METRICS_H

#include "base/buf.h"
#include "metrics/names.h"

#define SL_METRIC_LABELS 6 /* the most that one metric has, besides replica_role */

struct sl_metrics;

struct sl_metrics *sl_metrics_new(void);
void sl_metrics_free(struct sl_metrics *m);
/* "standalone", "leader" or "follower": the value of replica_role. A change drops the gauges of the old role. */
void sl_metrics_role(struct sl_metrics *m, const char *role);

/* Label values in the order of the table, as many as the metric has. */
#define sl_metric_set(m, id, value, ...) \
    sl_metric_set_((m), (id), (value), (const char *const[]){"", ##__VA_ARGS__} + 1)
#define sl_metric_add(m, id, value, ...) \
    sl_metric_add_((m), (id), (value), (const char *const[]){"", ##__VA_ARGS__} + 1)
#define sl_metric_observe(m, id, value, ...) \
    sl_metric_observe_((m), (id), (value), (const char *const[]){"", ##__VA_ARGS__} + 1)
#define sl_metric_drop(m, id, ...) sl_metric_drop_((m), (id), (const char *const[]){"", ##__VA_ARGS__} + 1)
void sl_metric_set_(struct sl_metrics *m, enum sl_metric id, double value, const char *const *labels);
void sl_metric_add_(struct sl_metrics *m, enum sl_metric id, double value, const char *const *labels);
void sl_metric_observe_(struct sl_metrics *m, enum sl_metric id, double value, const char *const *labels);
/* Removes the series with exactly these values; a NULL value matches any. */
void sl_metric_drop_(struct sl_metrics *m, enum sl_metric id, const char *const *labels);

/* The text exposition, sorted by metric as in the table, series in order of creation. */
void sl_metrics_print(const struct sl_metrics *m, struct sl_buf *out);

#endif
