/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a Workload as a record: observed state and pending changes.
 */
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/workload/workload_int.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"

/* Most workloads that have to wait are admitted soon after: writing that they wait costs the API
 * server as much as admitting. */
#define LEISURE SL_SEC

/* ---- memory ---- */

static void admission_free(struct mgr_wl_admission *a) {
    for (uint32_t i = 0; a && i < a->n; i++) {
        sl_freep(&a->v[i].v);
        sl_freep(&a->v[i].topology);
    }
    if (a)
        sl_freep(&a->v);
    sl_freep(&a);
}

static void checks_clear(struct mgr_wl_status *s) {
    for (uint32_t i = 0; i < s->checks.n; i++) {
        sl_freep(&s->checks.v[i].message);
        sl_freep(&s->checks.v[i].updates);
    }
    sl_vec_clear(&s->checks);
}

void mgr_wl_status_done(struct mgr_wl_status *s) {
    for (uint32_t i = 0; i < s->conds.n; i++)
        sl_freep(&s->conds.v[i].message);
    sl_vec_free(&s->conds);
    checks_clear(s);
    sl_vec_free(&s->checks);
    sl_vec_free(&s->evictions);
    admission_free(s->admission);
    sl_freep(&s->reclaimable);
    sl_freep(&s->gates);
    *s = (struct mgr_wl_status){0};
}

void mgr_wl_changes_free(struct mgr_wl_changes **c) {
    if (*c)
        mgr_wl_status_done(&(*c)->s);
    sl_freep(c);
}

/* ---- looking ---- */

struct mgr_cond *mgr_wl_find_cond(const struct mgr_wl_status *s, sl_sym type) {
    for (uint32_t i = 0; i < s->conds.n; i++)
        if (s->conds.v[i].type == type)
            return &s->conds.v[i];
    return NULL;
}

const struct mgr_cond *mgr_wl_cond(const struct sl_manager *m, const struct mgr_rec_wl *w,
                                   const char *type) {
    return mgr_wl_find_cond(&w->seen, sl_sym_find(m->syms, type));
}

bool mgr_wl_condition_is_true(const struct sl_manager *m, const struct mgr_rec_wl *w,
                              const char *type) {
    const struct mgr_cond *c = mgr_wl_cond(m, w, type);
    return c && c->status == COND_TRUE;
}

const struct mgr_cond *mgr_wl_next_cond(const struct sl_manager *m, const struct mgr_rec_wl *w,
                                        const char *type) {
    sl_sym y = sl_sym_find(m->syms, type);
    const struct mgr_cond *c = w->desired ? mgr_wl_find_cond(&w->desired->s, y) : NULL;
    if (!c && w->sent)
        c = mgr_wl_find_cond(&w->sent->s, y);
    if (!c)
        c = mgr_wl_find_cond(&w->seen, y);
    return c && c->status != COND_NONE ? c : NULL;
}

bool mgr_wl_condition_will_be_true(const struct sl_manager *m, const struct mgr_rec_wl *w,
                                   const char *type) {
    const struct mgr_cond *c = mgr_wl_next_cond(m, w, type);
    return c && c->status == COND_TRUE;
}

const struct mgr_wl_status *mgr_wl_next(const struct mgr_rec_wl *w, enum mgr_wl_field field) {
    if (w->desired && (w->desired->fields & field))
        return &w->desired->s;
    if (w->sent && (w->sent->fields & field))
        return &w->sent->s;
    return &w->seen;
}

bool mgr_wl_changing(const struct mgr_rec_wl *w, uint32_t fields) {
    return (w->desired && (w->desired->fields & fields)) || (w->sent && (w->sent->fields & fields));
}

/* ---- changing ---- */

uint32_t mgr_wl_lane(const struct sl_rec *r) {
    const struct mgr_rec_wl *w = SL_CONTAINER_OF(r, const struct mgr_rec_wl, rec);
    return w->pending || !w->desired || !w->desired->waiting ? 0 : 1;
}

struct mgr_wl_changes *mgr_wl_change(struct mgr_rec_wl *w) {
    if (!w->desired)
        w->desired = sl_alloc0(1, sizeof *w->desired);
    w->desired->waiting = false;
    sl_rec_write(&w->rec);
    return w->desired;
}

void mgr_wl_change_later(struct sl_manager *m, struct mgr_rec_wl *w) {
    bool already = w->desired && !w->desired->waiting;
    if (!w->desired)
        w->desired = sl_alloc0(1, sizeof *w->desired);
    w->desired->waiting = !already;
    if (already)
        sl_rec_write(&w->rec);
    else
        sl_rec_write_at(&w->rec, m->spec.client->mono + LEISURE);
}

static void put_cond(struct mgr_wl_changes *c, struct mgr_cond x) {
    struct mgr_cond *old = mgr_wl_find_cond(&c->s, x.type);
    if (old) {
        sl_freep(&old->message);
        *old = x;
    } else {
        *sl_vec_push(&c->s.conds) = x;
    }
}

static bool set_cond(struct sl_manager *m, struct mgr_rec_wl *w, const char *type, bool status,
                     const char *reason, const char *message, bool at_leisure) {
    const struct mgr_cond *now = mgr_wl_next_cond(m, w, type);
    enum mgr_cond_status s = status ? COND_TRUE : COND_FALSE;
    sl_sym y = sl_sym_put(m->syms, reason);
    if (now && now->status == s && now->reason == y && strcmp(now->message, message) == 0)
        return false;
    struct mgr_cond x = {.type = sl_sym_put(m->syms, type),
                         .reason = y,
                         .status = s,
                         .generation = w->rec.generation,
                         .at = now && now->status == s ? now->at : m->spec.client->wall,
                         .message = sl_strdup(message)};
    if (at_leisure)
        mgr_wl_change_later(m, w);
    put_cond(at_leisure ? w->desired : mgr_wl_change(w), x);
    return true;
}

void mgr_wl_set_waiting(struct sl_manager *m, struct mgr_rec_wl *w, const char *reason,
                        const char *message) {
    if (set_cond(m, w, "QuotaReserved", false, reason, message, true))
        w->desired->with_event = true;
}

void mgr_wl_set_cond(struct sl_manager *m, struct mgr_rec_wl *w, const char *type, bool status,
                     const char *reason, const char *message) {
    (void)set_cond(m, w, type, status, reason, message, false);
}

void mgr_wl_drop_cond(struct sl_manager *m, struct mgr_rec_wl *w, const char *type) {
    if (mgr_wl_next_cond(m, w, type))
        put_cond(mgr_wl_change(w),
                 (struct mgr_cond){.type = sl_sym_put(m->syms, type), .status = COND_NONE});
}

void mgr_wl_set_admission(struct sl_manager *m, struct mgr_rec_wl *w, const char *cq,
                          const struct sl_podset_assignment *v, uint32_t n) {
    bool vacates = !mgr_wl_next(w, WL_ADMISSION)->admission &&
                   (w->seen.admission || (w->sent && w->sent->s.admission));
    struct mgr_wl_changes *c = mgr_wl_change(w);
    admission_free(c->s.admission);
    struct mgr_wl_admission *a = c->s.admission = sl_alloc0(1, sizeof *a);
    c->fields |= WL_ADMISSION;
    c->vacates |= vacates;
    a->cq = sl_sym_put(m->syms, cq);
    a->n = n;
    a->v = sl_alloc0(n + 1, sizeof *a->v);
    for (uint32_t i = 0; i < n; i++) {
        struct mgr_wl_podset_admission *p = &a->v[i];
        p->name = sl_sym_put(m->syms, v[i].name);
        p->count = v[i].count;
        p->n = v[i].n;
        p->v = sl_alloc0(p->n + 1, sizeof *p->v);
        for (uint32_t k = 0; k < p->n; k++)
            p->v[k] = (struct mgr_wl_assigned){sl_sym_put(m->syms, v[i].v[k].resource),
                                               sl_sym_put(m->syms, v[i].v[k].flavor),
                                               v[i].v[k].usage, false};
    }
    mgr_tas_put_places(m, w, a);
    mgr_wl_note_release(m, w);
}

void mgr_wl_set_places(struct sl_manager *m, struct mgr_rec_wl *w) {
    const struct mgr_wl_admission *old = w->seen.admission;
    struct mgr_wl_changes *c = mgr_wl_change(w);
    admission_free(c->s.admission);
    struct mgr_wl_admission *a = c->s.admission = sl_alloc0(1, sizeof *a);
    *a = (struct mgr_wl_admission){old->cq, old->n, sl_alloc0(old->n + 1, sizeof *a->v)};
    c->fields |= WL_ADMISSION;
    for (uint32_t i = 0; i < old->n; i++) {
        a->v[i] = old->v[i];
        a->v[i].topology = NULL;
        a->v[i].v = sl_alloc0(old->v[i].n + 1, sizeof *a->v[i].v);
        memcpy(a->v[i].v, old->v[i].v, old->v[i].n * sizeof *a->v[i].v);
    }
    mgr_tas_put_places(m, w, a);
    mgr_wl_note_release(m, w);
}

void mgr_wl_clear_admission(struct sl_manager *m, struct mgr_rec_wl *w) {
    if (!mgr_wl_next(w, WL_ADMISSION)->admission)
        return;
    struct mgr_wl_changes *c = mgr_wl_change(w);
    admission_free(c->s.admission);
    c->s.admission = NULL;
    c->fields |= WL_ADMISSION;
    w->release_refused = false;
    mgr_wl_note_release(m, w);
}

void mgr_wl_set_requeue(struct mgr_rec_wl *w, int32_t count, sl_time at) {
    const struct mgr_wl_status *now = mgr_wl_next(w, WL_REQUEUE);
    if (now->requeues == count && now->requeue_at / SL_SEC == at / SL_SEC)
        return;
    struct mgr_wl_changes *c = mgr_wl_change(w);
    c->fields |= WL_REQUEUE;
    c->s.requeues = count;
    c->s.requeue_at = at;
}

void mgr_wl_set_reclaimable(struct mgr_rec_wl *w, const int32_t *counts) {
    const int32_t *now = mgr_wl_next(w, WL_RECLAIMABLE)->reclaimable;
    bool same = true;
    for (uint32_t i = 0; i < w->n_podsets; i++)
        same &= counts[i] == (now ? now[i] : 0);
    if (same || !w->n_podsets)
        return;
    struct mgr_wl_changes *c = mgr_wl_change(w);
    c->fields |= WL_RECLAIMABLE;
    sl_freep(&c->s.reclaimable);
    c->s.reclaimable = sl_alloc0(w->n_podsets, sizeof *counts);
    memcpy(c->s.reclaimable, counts, w->n_podsets * sizeof *counts);
}

void mgr_wl_add_past(struct mgr_rec_wl *w, int64_t seconds) {
    int64_t now = mgr_wl_next(w, WL_PAST)->past_exec_s;
    struct mgr_wl_changes *c = mgr_wl_change(w);
    c->fields |= WL_PAST;
    c->s.past_exec_s = (now > 0 ? now : 0) + (seconds > 0 ? seconds : 0);
}

void mgr_wl_reset_past(struct mgr_rec_wl *w) {
    if (mgr_wl_next(w, WL_PAST)->past_exec_s <= 0)
        return;
    struct mgr_wl_changes *c = mgr_wl_change(w);
    c->fields |= WL_PAST;
    c->s.past_exec_s = 0;
}

void mgr_wl_clear_names(struct mgr_rec_wl *w) {
    if (w->seen.names)
        mgr_wl_change(w)->fields |= WL_NAMES;
}

void mgr_wl_count_eviction(struct sl_manager *m, struct mgr_rec_wl *w, const char *reason,
                           const char *cause) {
    const struct mgr_wl_status *now = mgr_wl_next(w, WL_EVICTIONS);
    sl_sym r = sl_sym_put(m->syms, reason), k = sl_sym_put(m->syms, cause);
    struct mgr_wl_changes *c = mgr_wl_change(w);
    if (!(c->fields & WL_EVICTIONS)) {
        sl_vec_clear(&c->s.evictions);
        for (uint32_t i = 0; i < now->evictions.n; i++)
            *sl_vec_push(&c->s.evictions) = now->evictions.v[i];
        c->fields |= WL_EVICTIONS;
    }
    for (uint32_t i = 0; i < c->s.evictions.n; i++) {
        if (c->s.evictions.v[i].reason == r && c->s.evictions.v[i].cause == k) {
            c->s.evictions.v[i].count++;
            return;
        }
    }
    *sl_vec_push(&c->s.evictions) = (struct mgr_wl_eviction){r, k, 1};
}

const struct mgr_wl_check *mgr_wl_find_check(const struct mgr_wl_status *s, sl_sym name) {
    for (uint32_t i = 0; i < s->checks.n; i++)
        if (s->checks.v[i].name == name)
            return &s->checks.v[i];
    return NULL;
}

/* Counted where it is kept, in the API: each eviction for a retry is one more. */
static int32_t retries_of(const struct mgr_wl_check *old, enum sl_check_state state) {
    if (!old)
        return -1;
    if (old->state != SL_CHECK_RETRY || state != SL_CHECK_PENDING)
        return old->retries;
    return old->retries > 0 ? old->retries + 1 : 1;
}

static void put_checks(struct mgr_rec_wl *w, struct mgr_wl_changes *fresh) {
    struct mgr_wl_changes *c = mgr_wl_change(w);
    checks_clear(&c->s);
    sl_vec_free(&c->s.checks);
    c->s.checks.v = fresh->s.checks.v;
    c->s.checks.n = fresh->s.checks.n;
    c->s.checks.cap = fresh->s.checks.cap;
    c->fields |= WL_CHECKS;
}

static bool same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static void drop_wanted(struct sl_manager *m, struct mgr_wl_changes *c, const char *type) {
    sl_sym y = sl_sym_find(m->syms, type);
    for (uint32_t i = 0; i < c->s.conds.n; i++)
        if (c->s.conds.v[i].type == y) {
            sl_freep(&c->s.conds.v[i].message);
            c->s.conds.v[i] = sl_vec_pop(&c->s.conds);
            return;
        }
}

bool mgr_wl_set_check(struct sl_manager *m, struct mgr_rec_wl *w, const struct mgr_wl_check *to) {
    const struct mgr_wl_status *now = mgr_wl_next(w, WL_CHECKS);
    const struct mgr_wl_check *is = mgr_wl_find_check(now, to->name);
    struct mgr_wl_changes fresh = {0};
    if (!is || (is->state == to->state && same_text(is->message, to->message) &&
                same_text(is->updates, to->updates) && is->requeue_after_s == to->requeue_after_s))
        return false;
    for (uint32_t i = 0; i < now->checks.n; i++) {
        const struct mgr_wl_check *old = &now->checks.v[i];
        bool target = old == is;
        struct mgr_wl_check x = target ? *to : *old;
        x.ours = target || old->ours;
        x.at = target && old->state != to->state ? m->spec.client->wall : old->at;
        x.message = sl_strdup(x.message);
        x.updates = x.updates ? sl_strdup(x.updates) : NULL;
        *sl_vec_push(&fresh.s.checks) = x;
    }
    put_checks(w, &fresh);
    return true;
}

void mgr_wl_set_checks(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_check_status *v,
                       uint32_t n) {
    struct mgr_wl_changes fresh = {0};
    for (uint32_t i = 0; i < n; i++) {
        sl_sym name = sl_sym_put(m->syms, v[i].name);
        const struct mgr_wl_check *old = mgr_wl_find_check(mgr_wl_next(w, WL_CHECKS), name);
        bool same = old && old->state == v[i].state;
        *sl_vec_push(&fresh.s.checks) = (struct mgr_wl_check){
            .name = name,
            .state = v[i].state,
            .at = same ? old->at : m->spec.client->wall,
            .message = sl_strdup(same           ? old->message
                                 : v[i].message ? v[i].message
                                                : ""),
            .updates = same && old->updates ? sl_strdup(old->updates) : NULL,
            .requeue_after_s = old ? old->requeue_after_s : -1,
            .retries = retries_of(old, v[i].state),
            .ours = same ? old->ours : true,
        };
    }
    put_checks(w, &fresh);
    /* The engine has other states than were observed last. A check that is reset and has its former
     * state again before the reset was ever observed is news to it. */
    w->checks_applied = WL_UNREPORTED;
}

/* The reservation that was to be released after an eviction is gone: another client made a new one,
 * and has set Evicted to false with reason QuotaReserved. */
static bool drop_release(struct sl_manager *m, struct mgr_rec_wl *w) {
    const struct mgr_cond *evicted = mgr_wl_cond(m, w, "Evicted");
    if (!(w->desired->fields & WL_ADMISSION) || w->desired->s.admission ||
        !mgr_wl_condition_is_true(m, w, "QuotaReserved") ||
        !mgr_wl_find_cond(&w->desired->s, sl_sym_find(m->syms, "Requeued")) || !evicted ||
        evicted->status != COND_FALSE || strcmp(mgr_str(m, evicted->reason), "QuotaReserved") != 0)
        return false;
    static const char *const types[] = {"QuotaReserved", "Admitted", "Requeued"};
    for (size_t i = 0; i < SL_LEN(types); i++)
        drop_wanted(m, w->desired, types[i]);
    w->desired->fields &= ~(uint32_t)(WL_ADMISSION | WL_PAST);
    return true;
}

void mgr_wl_reset_checks(struct sl_manager *m, struct mgr_rec_wl *w) {
    const struct mgr_cond *evicted =
        mgr_wl_find_cond(&w->desired->s, sl_sym_find(m->syms, "Evicted"));
    const struct mgr_wl_status *now = mgr_wl_next(w, WL_CHECKS);
    uint32_t n = now->checks.n;
    bool any = false;
    if (!evicted || evicted->status != COND_TRUE || mgr_wl_condition_is_true(m, w, "Evicted") || !n)
        return;
    struct sl_check_status *v = sl_alloc0(n, sizeof *v);
    struct sl_buf *texts = sl_alloc0(n, sizeof *texts);
    for (uint32_t i = 0; i < n; i++) {
        const struct mgr_wl_check *c = &now->checks.v[i];
        sl_buf_init(&texts[i], 256);
        sl_buf_short(&texts[i]);
        sl_buf_printf(&texts[i], "Reset to Pending after eviction. Previously: %s",
                      sl_word(SL_VOCAB_CHECK_STATE, (int)c->state));
        v[i].name = mgr_str(m, c->name);
        v[i].state = SL_CHECK_PENDING;
        v[i].message = sl_buf_str(&texts[i]);
        any |= c->state != SL_CHECK_PENDING;
    }
    if (any)
        mgr_wl_set_checks(m, w, v, n);
    for (uint32_t i = 0; i < n; i++)
        sl_buf_done(&texts[i]);
    sl_freep(&texts);
    sl_freep(&v);
}

bool mgr_wl_drop_unready(struct sl_manager *m, struct mgr_rec_wl *w) {
    const struct mgr_cond *c = mgr_wl_find_cond(&w->desired->s, sl_sym_find(m->syms, "Admitted"));
    const struct mgr_wl_status *now = mgr_wl_next(w, WL_CHECKS);
    bool ready = true;
    for (uint32_t i = 0; i < now->checks.n; i++)
        ready &= now->checks.v[i].state == SL_CHECK_READY;
    if (ready || !c || c->status != COND_TRUE || mgr_wl_condition_is_true(m, w, "Admitted"))
        return false;
    drop_wanted(m, w->desired, "Admitted");
    return true;
}

void mgr_wl_drop_outdated(struct sl_manager *m, struct mgr_rec_wl *w) {
    if (w->desired && w->seen.admission && drop_release(m, w))
        return;
    if (!w->desired || !w->seen.admission || (w->desired->fields & WL_ADMISSION) ||
        !mgr_wl_condition_is_true(m, w, "QuotaReserved"))
        return;
    sl_sym type = sl_sym_find(m->syms, "QuotaReserved");
    for (uint32_t i = 0; i < w->desired->s.conds.n; i++) {
        struct mgr_cond *c = &w->desired->s.conds.v[i];
        if (c->type != type || c->status != COND_FALSE)
            continue;
        sl_freep(&c->message);
        *c = sl_vec_pop(&w->desired->s.conds);
        w->desired->with_event = false;
        return;
    }
}

/* ---- what was sent and not taken returns under what was wanted since ---- */

void mgr_wl_changes_return(struct mgr_rec_wl *w) {
    struct mgr_wl_changes *old = w->sent, *new = w->desired;
    w->sent = NULL;
    if (!old)
        return;
    if (!new) {
        w->desired = old;
        return;
    }
    for (uint32_t i = 0; i < old->s.conds.n; i++) {
        struct mgr_cond *c = &old->s.conds.v[i];
        if (mgr_wl_find_cond(&new->s, c->type))
            continue;
        *sl_vec_push(&new->s.conds) = *c;
        c->message = NULL;
    }
    new->waiting &= old->waiting;
    new->with_event |= old->with_event;
    uint32_t missing = old->fields & ~new->fields;
    new->fields |= missing;
    if (missing & WL_ADMISSION)
        new->s.admission = TAKE_PTR(old->s.admission);
    if (missing & WL_REQUEUE) {
        new->s.requeues = old->s.requeues;
        new->s.requeue_at = old->s.requeue_at;
    }
    if (missing & WL_PAST)
        new->s.past_exec_s = old->s.past_exec_s;
    if (missing & WL_RECLAIMABLE)
        new->s.reclaimable = TAKE_PTR(old->s.reclaimable);
    if (missing & WL_POSITIONS)
        new->s.gates = TAKE_PTR(old->s.gates);
    if (missing & WL_EVICTIONS) {
        sl_vec_clear(&new->s.evictions);
        for (uint32_t i = 0; i < old->s.evictions.n; i++)
            *sl_vec_push(&new->s.evictions) = old->s.evictions.v[i];
    }
    if (missing & WL_CHECKS) {
        checks_clear(&new->s);
        for (uint32_t i = 0; i < old->s.checks.n; i++)
            *sl_vec_push(&new->s.checks) = old->s.checks.v[i];
        sl_vec_clear(&old->s.checks);
    }
    mgr_wl_changes_free(&old);
}
