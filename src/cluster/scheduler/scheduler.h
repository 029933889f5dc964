/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler, for whoever starts the controllers (struct sl_cluster_spec). */
#ifndef SL_CLUSTER_SCHEDULER_SCHEDULER_H
#define SL_CLUSTER_SCHEDULER_SCHEDULER_H

struct cl_scheduler;

extern const struct cl_scheduler sl_scheduler;

#endif
