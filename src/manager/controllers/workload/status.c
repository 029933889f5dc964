/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a Workload as a record: observed state and pending changes.
 */
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/workload/workload_int.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"

/* Most of those that are told to wait are admitted soon after: saying so costs the API server as
 * much as admitting. */
#define LEISURE SL_SEC

/* ---- memory ---- */

static void admission_free(struct wl_admission *a) {
    for (uint32_t i = 0; a && i < a->n; i++) {
        sl_freep(&a->v[i].v);
        sl_freep(&a->v[i].topology);
    }
    if (a)
        sl_freep(&a->v);
    sl_freep(&a);
}

static void checks_clear(struct wl_status *s) {
    for (uint32_t i = 0; i < s->checks.n; i++) {
        sl_freep(&s->checks.v[i].message);
        sl_freep(&s->checks.v[i].updates);
    }
    sl_vec_clear(&s->checks);
}

void wl_status_done(struct wl_status *s) {
    for (uint32_t i = 0; i < s->conds.n; i++)
        sl_freep(&s->conds.v[i].message);
    sl_vec_free(&s->conds);
    checks_clear(s);
    sl_vec_free(&s->checks);
    sl_vec_free(&s->evictions);
    admission_free(s->admission);
    sl_freep(&s->reclaimable);
    sl_freep(&s->gates);
    *s = (struct wl_status){0};
}

void wl_changes_free(struct wl_changes **c) {
    if (*c)
        wl_status_done(&(*c)->s);
    sl_freep(c);
}

/* ---- looking ---- */

struct cond *wl_find_cond(const struct wl_status *s, sl_sym type) {
    for (uint32_t i = 0; i < s->conds.n; i++)
        if (s->conds.v[i].type == type)
            return &s->conds.v[i];
    return NULL;
}

const struct cond *wl_cond(const struct sl_manager *m, const struct rec_wl *w, const char *type) {
    return wl_find_cond(&w->seen, sl_sym_find(m->syms, type));
}

bool wl_is(const struct sl_manager *m, const struct rec_wl *w, const char *type) {
    const struct cond *c = wl_cond(m, w, type);
    return c && c->status == COND_TRUE;
}

const struct cond *wl_next_cond(const struct sl_manager *m, const struct rec_wl *w,
                                const char *type) {
    sl_sym y = sl_sym_find(m->syms, type);
    const struct cond *c = w->want ? wl_find_cond(&w->want->s, y) : NULL;
    if (!c && w->sent)
        c = wl_find_cond(&w->sent->s, y);
    if (!c)
        c = wl_find_cond(&w->seen, y);
    return c && c->status != COND_NONE ? c : NULL;
}

bool wl_will(const struct sl_manager *m, const struct rec_wl *w, const char *type) {
    const struct cond *c = wl_next_cond(m, w, type);
    return c && c->status == COND_TRUE;
}

const struct wl_status *wl_next(const struct rec_wl *w, enum wl_field field) {
    if (w->want && (w->want->fields & field))
        return &w->want->s;
    if (w->sent && (w->sent->fields & field))
        return &w->sent->s;
    return &w->seen;
}

bool wl_changing(const struct rec_wl *w, uint32_t fields) {
    return (w->want && (w->want->fields & fields)) || (w->sent && (w->sent->fields & fields));
}

/* ---- changing ---- */

uint32_t wl_lane(const struct sl_rec *r) {
    const struct rec_wl *w = (const struct rec_wl *)(const void *)r;
    return w->wishes || !w->want || !w->want->waiting ? 0 : 1;
}

struct wl_changes *wl_change(struct rec_wl *w) {
    if (!w->want)
        w->want = sl_alloc0(1, sizeof *w->want);
    w->want->waiting = false;
    sl_rec_write(&w->rec);
    return w->want;
}

void wl_change_at_leisure(struct sl_manager *m, struct rec_wl *w) {
    bool already = w->want && !w->want->waiting;
    if (!w->want)
        w->want = sl_alloc0(1, sizeof *w->want);
    w->want->waiting = !already;
    if (already)
        sl_rec_write(&w->rec);
    else
        sl_rec_write_at(&w->rec, m->spec.port->mono + LEISURE);
}

static void put_cond(struct wl_changes *c, struct cond x) {
    struct cond *old = wl_find_cond(&c->s, x.type);
    if (old) {
        sl_freep(&old->message);
        *old = x;
    } else {
        *sl_vec_push(&c->s.conds) = x;
    }
}

static bool set_cond(struct sl_manager *m, struct rec_wl *w, const char *type, bool status,
                     const char *reason, const char *message, bool at_leisure) {
    const struct cond *now = wl_next_cond(m, w, type);
    enum cond_status s = status ? COND_TRUE : COND_FALSE;
    sl_sym y = sl_sym_put(m->syms, reason);
    if (now && now->status == s && now->reason == y && strcmp(now->message, message) == 0)
        return false;
    struct cond x = {.type = sl_sym_put(m->syms, type),
                     .reason = y,
                     .status = s,
                     .generation = w->rec.generation,
                     .at = now && now->status == s ? now->at : m->spec.port->wall,
                     .message = sl_strdup(message)};
    if (at_leisure)
        wl_change_at_leisure(m, w);
    put_cond(at_leisure ? w->want : wl_change(w), x);
    return true;
}

void wl_set_waiting(struct sl_manager *m, struct rec_wl *w, const char *reason,
                    const char *message) {
    if (set_cond(m, w, "QuotaReserved", false, reason, message, true))
        w->want->told = true;
}

void wl_set_cond(struct sl_manager *m, struct rec_wl *w, const char *type, bool status,
                 const char *reason, const char *message) {
    (void)set_cond(m, w, type, status, reason, message, false);
}

void wl_drop_cond(struct sl_manager *m, struct rec_wl *w, const char *type) {
    if (wl_next_cond(m, w, type))
        put_cond(wl_change(w),
                 (struct cond){.type = sl_sym_put(m->syms, type), .status = COND_NONE});
}

void wl_set_admission(struct sl_manager *m, struct rec_wl *w, const char *cq,
                      const struct sl_podset_assignment *v, uint32_t n) {
    bool vacates = !wl_next(w, WL_ADMISSION)->admission &&
                   (w->seen.admission || (w->sent && w->sent->s.admission));
    struct wl_changes *c = wl_change(w);
    admission_free(c->s.admission);
    struct wl_admission *a = c->s.admission = sl_alloc0(1, sizeof *a);
    c->fields |= WL_ADMISSION;
    c->vacates |= vacates;
    a->cq = sl_sym_put(m->syms, cq);
    a->n = n;
    a->v = sl_alloc0(n + 1, sizeof *a->v);
    for (uint32_t i = 0; i < n; i++) {
        struct wl_podset_admission *p = &a->v[i];
        p->name = sl_sym_put(m->syms, v[i].name);
        p->count = v[i].count;
        p->n = v[i].n;
        p->v = sl_alloc0(p->n + 1, sizeof *p->v);
        for (uint32_t k = 0; k < p->n; k++)
            p->v[k] =
                (struct wl_assigned){sl_sym_put(m->syms, v[i].v[k].resource),
                                     sl_sym_put(m->syms, v[i].v[k].flavor), v[i].v[k].usage, false};
    }
    tas_put_places(m, w, a);
    wl_note_release(m, w);
}

void wl_set_places(struct sl_manager *m, struct rec_wl *w) {
    const struct wl_admission *old = w->seen.admission;
    struct wl_changes *c = wl_change(w);
    admission_free(c->s.admission);
    struct wl_admission *a = c->s.admission = sl_alloc0(1, sizeof *a);
    *a = (struct wl_admission){old->cq, old->n, sl_alloc0(old->n + 1, sizeof *a->v)};
    c->fields |= WL_ADMISSION;
    for (uint32_t i = 0; i < old->n; i++) {
        a->v[i] = old->v[i];
        a->v[i].topology = NULL;
        a->v[i].v = sl_alloc0(old->v[i].n + 1, sizeof *a->v[i].v);
        memcpy(a->v[i].v, old->v[i].v, old->v[i].n * sizeof *a->v[i].v);
    }
    tas_put_places(m, w, a);
    wl_note_release(m, w);
}

void wl_clear_admission(struct sl_manager *m, struct rec_wl *w) {
    if (!wl_next(w, WL_ADMISSION)->admission)
        return;
    struct wl_changes *c = wl_change(w);
    admission_free(c->s.admission);
    c->s.admission = NULL;
    c->fields |= WL_ADMISSION;
    w->stubborn = false;
    wl_note_release(m, w);
}

void wl_set_requeue(struct rec_wl *w, int32_t count, sl_time at) {
    const struct wl_status *now = wl_next(w, WL_REQUEUE);
    if (now->requeues == count && now->requeue_at / SL_SEC == at / SL_SEC)
        return;
    struct wl_changes *c = wl_change(w);
    c->fields |= WL_REQUEUE;
    c->s.requeues = count;
    c->s.requeue_at = at;
}

void wl_set_reclaimable(struct rec_wl *w, const int32_t *counts) {
    const int32_t *now = wl_next(w, WL_RECLAIMABLE)->reclaimable;
    bool same = true;
    for (uint32_t i = 0; i < w->n_podsets; i++)
        same &= counts[i] == (now ? now[i] : 0);
    if (same || !w->n_podsets)
        return;
    struct wl_changes *c = wl_change(w);
    c->fields |= WL_RECLAIMABLE;
    sl_freep(&c->s.reclaimable);
    c->s.reclaimable = sl_alloc0(w->n_podsets, sizeof *counts);
    memcpy(c->s.reclaimable, counts, w->n_podsets * sizeof *counts);
}

void wl_add_past(struct rec_wl *w, int64_t seconds) {
    int64_t now = wl_next(w, WL_PAST)->past_exec_s;
    struct wl_changes *c = wl_change(w);
    c->fields |= WL_PAST;
    c->s.past_exec_s = (now > 0 ? now : 0) + (seconds > 0 ? seconds : 0);
}

void wl_reset_past(struct rec_wl *w) {
    if (wl_next(w, WL_PAST)->past_exec_s <= 0)
        return;
    struct wl_changes *c = wl_change(w);
    c->fields |= WL_PAST;
    c->s.past_exec_s = 0;
}

void wl_clear_names(struct rec_wl *w) {
    if (w->seen.names)
        wl_change(w)->fields |= WL_NAMES;
}

void wl_count_eviction(struct sl_manager *m, struct rec_wl *w, const char *reason,
                       const char *cause) {
    const struct wl_status *now = wl_next(w, WL_EVICTIONS);
    sl_sym r = sl_sym_put(m->syms, reason), k = sl_sym_put(m->syms, cause);
    struct wl_changes *c = wl_change(w);
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
    *sl_vec_push(&c->s.evictions) = (struct wl_eviction){r, k, 1};
}

const struct wl_check *wl_find_check(const struct wl_status *s, sl_sym name) {
    for (uint32_t i = 0; i < s->checks.n; i++)
        if (s->checks.v[i].name == name)
            return &s->checks.v[i];
    return NULL;
}

/* Counted where it is kept, in the API: each eviction for a retry is one more. */
static int32_t retries_of(const struct wl_check *old, enum sl_check_state state) {
    if (!old)
        return -1;
    if (old->state != SL_CHECK_RETRY || state != SL_CHECK_PENDING)
        return old->retries;
    return old->retries > 0 ? old->retries + 1 : 1;
}

static void put_checks(struct rec_wl *w, struct wl_changes *fresh) {
    struct wl_changes *c = wl_change(w);
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

static void drop_wanted(struct sl_manager *m, struct wl_changes *c, const char *type) {
    sl_sym y = sl_sym_find(m->syms, type);
    for (uint32_t i = 0; i < c->s.conds.n; i++)
        if (c->s.conds.v[i].type == y) {
            sl_freep(&c->s.conds.v[i].message);
            c->s.conds.v[i] = sl_vec_pop(&c->s.conds);
            return;
        }
}

bool wl_set_check(struct sl_manager *m, struct rec_wl *w, const struct wl_check *to) {
    const struct wl_status *now = wl_next(w, WL_CHECKS);
    const struct wl_check *is = wl_find_check(now, to->name);
    struct wl_changes fresh = {0};
    if (!is || (is->state == to->state && same_text(is->message, to->message) &&
                same_text(is->updates, to->updates) && is->requeue_after_s == to->requeue_after_s))
        return false;
    for (uint32_t i = 0; i < now->checks.n; i++) {
        const struct wl_check *old = &now->checks.v[i];
        bool said = old == is;
        struct wl_check x = said ? *to : *old;
        x.ours = said || old->ours;
        x.at = said && old->state != to->state ? m->spec.port->wall : old->at;
        x.message = sl_strdup(x.message);
        x.updates = x.updates ? sl_strdup(x.updates) : NULL;
        *sl_vec_push(&fresh.s.checks) = x;
    }
    put_checks(w, &fresh);
    return true;
}

void wl_set_checks(struct sl_manager *m, struct rec_wl *w, const struct sl_check_status *v,
                   uint32_t n) {
    struct wl_changes fresh = {0};
    for (uint32_t i = 0; i < n; i++) {
        sl_sym name = sl_sym_put(m->syms, v[i].name);
        const struct wl_check *old = wl_find_check(wl_next(w, WL_CHECKS), name);
        bool same = old && old->state == v[i].state;
        *sl_vec_push(&fresh.s.checks) = (struct wl_check){
            .name = name,
            .state = v[i].state,
            .at = same ? old->at : m->spec.port->wall,
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
}

/* The reservation that was to be given back after an eviction is there no more: somebody made
 * another, and has said so of the eviction. */
static bool drop_release(struct sl_manager *m, struct rec_wl *w) {
    const struct cond *evicted = wl_cond(m, w, "Evicted");
    if (!(w->want->fields & WL_ADMISSION) || w->want->s.admission ||
        !wl_is(m, w, "QuotaReserved") ||
        !wl_find_cond(&w->want->s, sl_sym_find(m->syms, "Requeued")) || !evicted ||
        evicted->status != COND_FALSE || strcmp(str(m, evicted->reason), "QuotaReserved") != 0)
        return false;
    static const char *const types[] = {"QuotaReserved", "Admitted", "Requeued"};
    for (size_t i = 0; i < SL_LEN(types); i++)
        drop_wanted(m, w->want, types[i]);
    w->want->fields &= ~(uint32_t)(WL_ADMISSION | WL_PAST);
    return true;
}

void wl_reset_checks(struct sl_manager *m, struct rec_wl *w) {
    const struct cond *evicted = wl_find_cond(&w->want->s, sl_sym_find(m->syms, "Evicted"));
    const struct wl_status *now = wl_next(w, WL_CHECKS);
    uint32_t n = now->checks.n;
    bool any = false;
    if (!evicted || evicted->status != COND_TRUE || wl_is(m, w, "Evicted") || !n)
        return;
    struct sl_check_status *v = sl_alloc0(n, sizeof *v);
    struct sl_buf *texts = sl_alloc0(n, sizeof *texts);
    for (uint32_t i = 0; i < n; i++) {
        const struct wl_check *c = &now->checks.v[i];
        sl_buf_init(&texts[i], 256);
        sl_buf_short(&texts[i]);
        sl_buf_printf(&texts[i], "Reset to Pending after eviction. Previously: %s",
                      sl_word(SL_VOCAB_CHECK_STATE, (int)c->state));
        v[i].name = str(m, c->name);
        v[i].state = SL_CHECK_PENDING;
        v[i].message = sl_buf_str(&texts[i]);
        any |= c->state != SL_CHECK_PENDING;
    }
    if (any)
        wl_set_checks(m, w, v, n);
    for (uint32_t i = 0; i < n; i++)
        sl_buf_done(&texts[i]);
    sl_freep(&texts);
    sl_freep(&v);
}

bool wl_drop_unready(struct sl_manager *m, struct rec_wl *w) {
    const struct cond *c = wl_find_cond(&w->want->s, sl_sym_find(m->syms, "Admitted"));
    const struct wl_status *now = wl_next(w, WL_CHECKS);
    bool ready = true;
    for (uint32_t i = 0; i < now->checks.n; i++)
        ready &= now->checks.v[i].state == SL_CHECK_READY;
    if (ready || !c || c->status != COND_TRUE || wl_is(m, w, "Admitted"))
        return false;
    drop_wanted(m, w->want, "Admitted");
    return true;
}

void wl_drop_outdated(struct sl_manager *m, struct rec_wl *w) {
    if (w->want && w->seen.admission && drop_release(m, w))
        return;
    if (!w->want || !w->seen.admission || (w->want->fields & WL_ADMISSION) ||
        !wl_is(m, w, "QuotaReserved"))
        return;
    sl_sym type = sl_sym_find(m->syms, "QuotaReserved");
    for (uint32_t i = 0; i < w->want->s.conds.n; i++) {
        struct cond *c = &w->want->s.conds.v[i];
        if (c->type != type || c->status != COND_FALSE)
            continue;
        sl_freep(&c->message);
        *c = sl_vec_pop(&w->want->s.conds);
        w->want->told = false;
        return;
    }
}

/* ---- what was sent and not taken returns under what was wanted since ---- */

void wl_changes_return(struct rec_wl *w) {
    struct wl_changes *old = w->sent, *new = w->want;
    w->sent = NULL;
    if (!old)
        return;
    if (!new) {
        w->want = old;
        return;
    }
    for (uint32_t i = 0; i < old->s.conds.n; i++) {
        struct cond *c = &old->s.conds.v[i];
        if (wl_find_cond(&new->s, c->type))
            continue;
        *sl_vec_push(&new->s.conds) = *c;
        c->message = NULL;
    }
    new->waiting &= old->waiting;
    new->told |= old->told;
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
    wl_changes_free(&old);
}
