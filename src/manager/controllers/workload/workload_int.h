/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files about workloads. Private. */
#ifndef SL_MANAGER_CONTROLLERS_WORKLOAD_WORKLOAD_INT_H
#define SL_MANAGER_CONTROLLERS_WORKLOAD_WORKLOAD_INT_H

#include "manager/controllers/workload/workload.h"

/* Of exactly this status; NULL: absent. */
struct cond *wl_find_cond(const struct wl_status *s, sl_sym type);
const struct wl_check *wl_find_check(const struct wl_status *s, sl_sym name);

void wl_status_done(struct wl_status *s);
void wl_status_read(struct sl_manager *m, struct rec_wl *w, yyjson_val *o);
void wl_changes_free(struct wl_changes **c);
void wl_changes_return(struct rec_wl *w);
/* It got quota by another writer meanwhile: the reason why it was pending is dropped. */
void wl_drop_outdated(struct sl_manager *m, struct rec_wl *w);
/* With an eviction every check starts over, also one that became ready or was rejected while it was
 * decided: the engine knew that not yet. */
void wl_reset_checks(struct sl_manager *m, struct rec_wl *w);
/* It was to be admitted because all its checks were ready; one of them is not any more, and what
 * has not been written is dropped. Returns whether that was so. */
bool wl_drop_unready(struct sl_manager *m, struct rec_wl *w);
/* To be called after any change of what is pending, sent or observed. */
void wl_note_release(struct sl_manager *m, struct rec_wl *w);
/* Whether a pending reservation differs from the one in the API. */
bool wl_takes_another(const struct rec_wl *w);
/* Whether its assignment is to change while it keeps its quota. */
bool wl_moves(const struct rec_wl *w);
/* Whether any pending change differs from the observed state. */
bool wl_differs(const struct rec_wl *w);
/* Whether the condition changes that Kueue does not write together with the others. Then all
 * conditions are written as a list, with this one changed: applying those without it would remove
 * it. */
bool wl_apart(const struct sl_manager *m, const struct rec_wl *w);
void wl_put_apart(const struct sl_manager *m, const struct rec_wl *w, struct sl_jw *j);
/* The whole status that we own, as desired. */
void wl_put_status(const struct sl_manager *m, const struct rec_wl *w, struct sl_jw *j);

/* QuotaReserved=False with the reason why it waits, in no hurry; the event Pending follows when it
 * is written. */
void wl_set_waiting(struct sl_manager *m, struct rec_wl *w, const char *reason,
                    const char *message);
void wl_change_at_leisure(struct sl_manager *m, struct rec_wl *w);
void wl_set_requeue(struct rec_wl *w, int32_t count, sl_time at);
void wl_add_past(struct rec_wl *w, int64_t seconds);
void wl_reset_past(struct rec_wl *w);
void wl_clear_names(struct rec_wl *w);
void wl_count_eviction(struct sl_manager *m, struct rec_wl *w, const char *reason,
                       const char *cause);
void wl_set_checks(struct sl_manager *m, struct rec_wl *w, const struct sl_check_status *v,
                   uint32_t n);
/* One of the checks that it has is to be so: state, message, updates and when to try again.
 * Returns whether that is anything new. */
bool wl_set_check(struct sl_manager *m, struct rec_wl *w, const struct wl_check *to);

/* ---- pending_change.c ---- */
/* Drops pending changes that have been observed. */
void wl_settle_wishes(const struct sl_manager *m, struct rec_wl *w);
/* The object itself: metadata and spec in one patch. False: no pending change. */
bool wl_build_object(struct sl_manager *m, struct rec_wl *w, struct sl_write *out);

/* ---- gates.c: preemption gates ---- */
struct wl_gates *wl_gates_read(struct sl_manager *m, yyjson_val *list);
bool wl_gates_same(const struct wl_gates *a, const struct wl_gates *b);
/* Does one of them keep it from preempting? */
bool wl_gates_closed(const struct sl_manager *m, const struct rec_wl *w);
/* Positions for the gates that the spec names, and no others. */
void wl_gates_sync(struct sl_manager *m, struct rec_wl *w);
void wl_gates_close(struct sl_manager *m, struct rec_wl *w);
void wl_gates_put(const struct sl_manager *m, const struct wl_gates *g, struct sl_jw *j);

#endif
