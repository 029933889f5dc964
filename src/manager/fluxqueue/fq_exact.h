/* SPDX-License-Identifier: Apache-2.0 */
/* Private to src/manager/fluxqueue: what the rest of it asks of Workloads (exact.h). */
#ifndef SL_MANAGER_FLUXQUEUE_FQ_EXACT_H
#define SL_MANAGER_FLUXQUEUE_FQ_EXACT_H

#include "kube/informer/informer.h"
#include "manager/fluxqueue/exact.h"

struct fq_pod;
struct fq_usage;
struct sl_fluxqueue;

void fq_exact_pod_decode(struct sl_fluxqueue *q, struct fq_pod *p, yyjson_val *o);
void fq_exact_pod_deleted(struct sl_fluxqueue *q, struct fq_pod *p);
/* Is it in a place of its Workload? Then it is not one of others. */
bool fq_exact_seat(struct sl_fluxqueue *q, struct fq_pod *p);
/* It counts as others' and is going to end, or not any more. */
void fq_exact_note_leaving(struct sl_fluxqueue *q, struct fq_pod *p);
/* Has its Workload places? */
bool fq_exact_has(const struct sl_fluxqueue *q, const struct fq_pod *p);
/* Its Workload has places, or may get some: nothing else gives it one. */
bool fq_exact_may(const struct sl_fluxqueue *q, const struct fq_pod *p);
/* Of one whose Workload has places and that names our scheduler: bound to the node that was
 * selected for it. */
void fq_exact_plain_sync(struct sl_fluxqueue *q, struct fq_pod *p);
/* Does a write that takes places have to wait for releases of Workloads? It is made when these are
 * written. */
bool fq_exact_puts_off(struct sl_fluxqueue *q);
/* Host ports of what Workloads have. */
void fq_exact_each_usage(struct sl_fluxqueue *q,
                         void (*f)(struct sl_fluxqueue *, const struct fq_usage *, void *),
                         void *ctx);
/* There is a new graph: what Workloads have there. */
void fq_exact_restore(struct sl_fluxqueue *q);
void fq_exact_forget_requests(struct sl_fluxqueue *q);
void fq_exact_hold_names(struct sl_fluxqueue *q, struct sl_syms *t);
void fq_exact_done(struct sl_fluxqueue *q);

#endif
