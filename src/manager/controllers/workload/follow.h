/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Workload takes over from its job as long as that goes on: labels, annotations, and how far
 * it is. 'r' is the job, as events name it. Each does nothing if it is so already. Private.
 */
#ifndef SL_MANAGER_CONTROLLERS_WORKLOAD_FOLLOW_H
#define SL_MANAGER_CONTROLLERS_WORKLOAD_FOLLOW_H

#include "manager/controllers/workload/workload.h"

/* Condition PodsReady, where it is configured. */
void mgr_follow_ready(struct sl_manager *m, struct mgr_rec_wl *w, bool ready);
/* Annotation admission-gated-by; NULL: none. */
void mgr_follow_gate(struct sl_manager *m, const struct sl_rec *r, const char *controller,
                     const char *gate, struct mgr_rec_wl *w);
/* The job's WorkloadPriorityClass, else its pods' class. */
void mgr_follow_priority(struct sl_manager *m, const struct sl_rec *r, const char *controller,
                         sl_sym label, const char *pod_class, struct mgr_rec_wl *w);
/* Not while it holds quota: the API would refuse. */
void mgr_follow_queue(struct sl_manager *m, sl_sym queue, struct mgr_rec_wl *w);
/* What is being waited for, once each time it changes. */
void mgr_follow_checks(struct sl_manager *m, const struct sl_rec *r, const char *controller,
                       const struct mgr_rec_wl *w, uint32_t *reported);
/* "Workload 'ns/name' is declared finished". */
void mgr_report_finished(struct sl_manager *m, const struct sl_rec *r, const char *controller,
                         const struct mgr_rec_wl *w);

#endif
