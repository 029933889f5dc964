/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a namespace makes of a pod: defaults and bounds of its LimitRanges, the overhead of its
 * RuntimeClass. Private.
 */
#ifndef SL_MANAGER_CONTROLLERS_QUEUE_LIMIT_RANGE_H
#define SL_MANAGER_CONTROLLERS_QUEUE_LIMIT_RANGE_H

#include "manager/controllers/core/records.h"

void mgr_limits_new(struct sl_manager *m);
void mgr_limits_end(struct sl_manager *m);
/* A LimitRange is there, is gone. */
void mgr_limits_add(struct sl_manager *m, const struct sl_rec *range);
void mgr_limits_drop(struct sl_manager *m, const struct sl_rec *range);
/* Could the same pod count differently in this namespace than in another? */
bool mgr_limits_matter(const struct sl_manager *m, sl_sym ns);
/*
 * Appends the effective pod spec (JSON) in the namespace. Violations of LimitRanges are written to
 * invalid, as the message of a Workload's condition; 'podset' is its index there.
 */
void mgr_limits_put_pod(struct sl_manager *m, sl_sym ns, const char *pod, uint32_t podset,
                        struct sl_buf *out, struct sl_buf *invalid);

#endif
