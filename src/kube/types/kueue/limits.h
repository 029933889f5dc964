/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effective pod spec in its namespace: the overhead of its RuntimeClass, defaults of
 * LimitRanges, and violations of their bounds.
 */
#ifndef SL_KUBE_TYPES_KUEUE_LIMITS_H
#define SL_KUBE_TYPES_KUEUE_LIMITS_H

#include <stdint.h>

#include "core/base/buf.h"

struct kueue_limits {
    const char *const *ranges; /* LimitRanges of the namespace (JSON), by name */
    uint32_t n_ranges;
    const char *runtime_class; /* that of the pod (JSON); NULL: none */
};

/*
 * Appends the effective pod spec (JSON). Violations of LimitRanges are written to invalid, as the
 * message of a Workload's condition; 'podset' is its index there.
 */
void kueue_limits_put_pod(const struct kueue_limits *l, const char *pod, uint32_t podset,
                          struct sl_buf *out, struct sl_buf *invalid);

#endif
