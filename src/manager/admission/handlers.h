/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers behind the paths of review.c; see call.h for what a handler is.
 */
#ifndef SL_MANAGER_ADMISSION_HANDLERS_H
#define SL_MANAGER_ADMISSION_HANDLERS_H

#include "manager/admission/call.h"

/* The finalizer of what others may still use. */
#define SL_IN_USE "kueue.x-k8s.io/resource-in-use"

/* ---- queue_review.c ---- */
int sl_review_cluster_queue_mutate(struct sl_review_call *c);
int sl_review_cluster_queue_validate(struct sl_review_call *c);
int sl_review_cohort_validate(struct sl_review_call *c);

/* ---- flavor_review.c ---- */
int sl_review_flavor_mutate(struct sl_review_call *c);
int sl_review_flavor_validate(struct sl_review_call *c);
/* The keys of a list of tolerations. */
void adm_rule_tolerations(struct sl_field_errs *e, const struct sl_path *at,
                          yyjson_val *tolerations);

/* ---- masterqueue_review.c ---- */
int sl_review_masterqueue_validate(struct sl_review_call *c);

/* ---- minicluster_review.c ---- */
int sl_review_minicluster_mutate(struct sl_review_call *c);
int sl_review_minicluster_validate(struct sl_review_call *c);

/* ---- workload_review.c, workload_update.c ---- */
int sl_review_workload_mutate(struct sl_review_call *c);
int sl_review_workload_validate(struct sl_review_call *c);
/* What may change, given the object as it was. */
void adm_rule_workload_update(struct sl_review_call *c);

#endif
