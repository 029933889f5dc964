/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files about workloads. Private. */
#ifndef SL_MANAGER_CONTROLLERS_WORKLOAD_WORKLOAD_INT_H
#define SL_MANAGER_CONTROLLERS_WORKLOAD_WORKLOAD_INT_H

#include "manager/controllers/workload/workload.h"

/* No hash of what was reported to the engine: what is observed next is reported anew. 0 is that of
 * nothing. */
#define WL_UNREPORTED UINT64_C(1)

/* Of exactly this status; NULL: absent. */
struct mgr_cond *mgr_wl_find_cond(const struct mgr_wl_status *s, sl_sym type);
const struct mgr_wl_check *mgr_wl_find_check(const struct mgr_wl_status *s, sl_sym name);

void mgr_wl_status_done(struct mgr_wl_status *s);
void mgr_wl_status_read(struct sl_manager *m, struct mgr_rec_wl *w, yyjson_val *o);
void mgr_wl_changes_free(struct mgr_wl_changes **c);
void mgr_wl_changes_return(struct mgr_rec_wl *w);
/* It got quota by another writer meanwhile: the reason why it was pending is dropped. */
void mgr_wl_drop_outdated(struct sl_manager *m, struct mgr_rec_wl *w);
/* With an eviction every check starts over, also one that became ready or was rejected while it was
 * decided: the engine knew that not yet. */
void mgr_wl_reset_checks(struct sl_manager *m, struct mgr_rec_wl *w);
/* It was to be admitted because all its checks were ready; one of them is not any more, and what
 * has not been written is dropped. Returns whether that was so. */
bool mgr_wl_drop_unready(struct sl_manager *m, struct mgr_rec_wl *w);
/* To be called after any change of what is pending, sent or observed. */
void mgr_wl_note_release(struct sl_manager *m, struct mgr_rec_wl *w);
/* Whether a pending reservation differs from the one in the API. */
bool mgr_wl_takes_another(const struct mgr_rec_wl *w);
/* Whether its assignment is to change while it keeps its quota. */
bool mgr_wl_moves(const struct mgr_rec_wl *w);
/* Whether any pending change differs from the observed state. */
bool mgr_wl_differs(const struct mgr_rec_wl *w);
/* Whether the condition changes that Kueue does not write together with the others. Then all
 * conditions are written as a list, with this one changed: applying those without it would remove
 * it. */
bool mgr_wl_apart(const struct sl_manager *m, const struct mgr_rec_wl *w);
void mgr_wl_put_apart(const struct sl_manager *m, const struct mgr_rec_wl *w, struct sl_jw *j);
/* The whole status that we own, as desired. */
void mgr_wl_put_status(const struct sl_manager *m, const struct mgr_rec_wl *w, struct sl_jw *j);

/* QuotaReserved=False with the reason why it waits, in no hurry; the event Pending follows when it
 * is written. */
void mgr_wl_set_waiting(struct sl_manager *m, struct mgr_rec_wl *w, const char *reason,
                        const char *message);
void mgr_wl_change_later(struct sl_manager *m, struct mgr_rec_wl *w);
void mgr_wl_set_requeue(struct mgr_rec_wl *w, int32_t count, sl_time at);
void mgr_wl_add_past(struct mgr_rec_wl *w, int64_t seconds);
void mgr_wl_reset_past(struct mgr_rec_wl *w);
void mgr_wl_clear_names(struct mgr_rec_wl *w);
void mgr_wl_count_eviction(struct sl_manager *m, struct mgr_rec_wl *w, const char *reason,
                           const char *cause);
void mgr_wl_set_checks(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_check_status *v,
                       uint32_t n);
/* One of the checks that it has is to be so: state, message, updates and when to try again.
 * Returns whether that is anything new. */
bool mgr_wl_set_check(struct sl_manager *m, struct mgr_rec_wl *w, const struct mgr_wl_check *to);

/* ---- pending_change.c ---- */
/* Drops pending changes that have been observed. */
void mgr_wl_settle_pending(const struct sl_manager *m, struct mgr_rec_wl *w);
/* The object itself: metadata and spec in one patch. False: no pending change. */
bool mgr_wl_build_object(struct sl_manager *m, struct mgr_rec_wl *w, struct sl_write *out);

/* ---- gates.c: preemption gates ---- */
struct mgr_wl_gates *mgr_wl_gates_read(struct sl_manager *m, yyjson_val *list);
bool mgr_wl_gates_same(const struct mgr_wl_gates *a, const struct mgr_wl_gates *b);
/* Does one of them keep it from preempting? */
bool mgr_wl_gates_closed(const struct sl_manager *m, const struct mgr_rec_wl *w);
/* Positions for the gates that the spec names, and no others. */
void mgr_wl_gates_sync(struct sl_manager *m, struct mgr_rec_wl *w);
void mgr_wl_gates_close(struct sl_manager *m, struct mgr_rec_wl *w);
void mgr_wl_gates_put(const struct sl_manager *m, const struct mgr_wl_gates *g, struct sl_jw *j);

#endif
