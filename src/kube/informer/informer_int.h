/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the informer. */
#ifndef SL_KUBE_INFORMER_INFORMER_INT_H
#define SL_KUBE_INFORMER_INFORMER_INT_H

#include "kube/informer/informer.h"

/* ---- records.c ---- */
struct sl_rec *sl_inf_new_rec(struct sl_rec_table *t, sl_sym ns, const char *name);
struct sl_rec *sl_inf_find_in(const struct sl_rec_table *t, const char *ns, const char *name);
struct sl_rec *sl_inf_take_in(struct sl_rec_table *t, yyjson_val *o);
/* The object of an answer to a request of this record, whichever it is. */
void sl_inf_take_answer(const struct sl_rec *of, const struct sl_kube_reply *reply);
/* The object is gone: notifies its kind. */
void sl_inf_deleted(struct sl_rec *r);
void sl_inf_free_rec(struct sl_rec *r);
/* Frees the tombstones to which nothing refers. */
void sl_inf_reap(struct sl_informer *f);

/* ---- children.c ---- */
uint64_t sl_inf_controller_of(yyjson_val *meta);
void sl_inf_enqueue_owner(const struct sl_rec *r);
void sl_inf_owner_index_add(struct sl_rec *r, uint64_t owner);
void sl_inf_owner_index_remove(struct sl_rec *r);
bool sl_inf_build_planned(struct sl_rec *r, struct sl_write *w);
void sl_inf_planned_written(struct sl_rec *r, struct sl_rec *owner, bool create,
                            enum sl_written how, const struct sl_kube_reply *reply);

#endif
