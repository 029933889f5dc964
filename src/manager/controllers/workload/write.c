/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a Workload, from its record and pending changes to the body of a patch. */
#include <string.h>

#include "manager/controllers/core/ceilings.h"
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/workload/workload_int.h"

#define APART "WaitingForReplacementPods"

/* The status that a field is written from: the pending one if the field changes, else the observed
 * one. */
static const struct mgr_wl_status *effective(const struct mgr_rec_wl *w, enum mgr_wl_field field) {
    return w->desired->fields & field ? &w->desired->s : &w->seen;
}

static void put_cond_json(const struct sl_manager *m, const struct mgr_cond *c, struct sl_jw *j) {
    static const char *const words[] = {"", "False", "True", "Unknown"};
    sl_jw_object(j, NULL);
    sl_jw_str(j, "type", mgr_str(m, c->type));
    sl_jw_str(j, "status", words[c->status]);
    sl_jw_str(j, "reason", mgr_str(m, c->reason));
    sl_jw_str(j, "message", c->message);
    sl_jw_time(j, "lastTransitionTime", c->at);
    if (c->generation)
        sl_jw_int(j, "observedGeneration", c->generation);
    sl_jw_end(j);
}

static bool same_cond(const struct mgr_cond *a, const struct mgr_cond *b) {
    if (!a || a->status == COND_NONE)
        return !b || b->status == COND_NONE;
    return b && a->status == b->status && a->reason == b->reason &&
           strcmp(a->message, b->message) == 0;
}

/* The conditions that we own; those of others stay as they are. */
static bool is_ours(const struct sl_manager *m, sl_sym type) {
    static const char *const types[] = {"QuotaReserved",
                                        "Admitted",
                                        "Evicted",
                                        "Preempted",
                                        "Requeued",
                                        "PodsReady",
                                        "Finished",
                                        "DeactivationTarget",
                                        "BlockedOnPreemptionGates",
                                        APART};
    for (size_t i = 0; i < SL_LEN(types); i++)
        if (strcmp(mgr_str(m, type), types[i]) == 0)
            return true;
    return false;
}

bool mgr_wl_apart(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    sl_sym type = sl_sym_find(m->syms, APART);
    const struct mgr_cond *x = mgr_wl_find_cond(&w->desired->s, type);
    return x && !same_cond(x, mgr_wl_find_cond(&w->seen, type));
}

void mgr_wl_put_apart(const struct sl_manager *m, const struct mgr_rec_wl *w, struct sl_jw *j) {
    sl_sym type = sl_sym_find(m->syms, APART);
    const struct mgr_cond *x = mgr_wl_find_cond(&w->desired->s, type),
                          *now = mgr_wl_find_cond(&w->seen, type);
    sl_jw_array(j, "conditions");
    for (uint32_t i = 0; i < w->seen.conds.n; i++)
        if (&w->seen.conds.v[i] != now)
            put_cond_json(m, &w->seen.conds.v[i], j);
    if (x->status != COND_NONE)
        put_cond_json(m, x, j);
    sl_jw_end(j);
}

static bool conds_differ(const struct mgr_rec_wl *w) {
    const struct mgr_wl_changes *c = w->desired;
    for (uint32_t i = 0; i < c->s.conds.n; i++)
        if (!same_cond(&c->s.conds.v[i], mgr_wl_find_cond(&w->seen, c->s.conds.v[i].type)))
            return true;
    return false;
}

static void put_conds(const struct sl_manager *m, const struct mgr_rec_wl *w, struct sl_jw *j) {
    const struct mgr_wl_changes *c = w->desired;
    sl_jw_array(j, "conditions");
    for (uint32_t i = 0; i < w->seen.conds.n; i++) {
        const struct mgr_cond *x = mgr_wl_find_cond(&c->s, w->seen.conds.v[i].type);
        if (is_ours(m, w->seen.conds.v[i].type) && (!x || x->status != COND_NONE))
            put_cond_json(m, x ? x : &w->seen.conds.v[i], j);
    }
    for (uint32_t i = 0; i < c->s.conds.n; i++)
        if (c->s.conds.v[i].status != COND_NONE &&
            !mgr_wl_find_cond(&w->seen, c->s.conds.v[i].type))
            put_cond_json(m, &c->s.conds.v[i], j);
    sl_jw_end(j);
}

/* Of whatever order; there may be many. */
static bool same_resources(const struct mgr_wl_podset_admission *p,
                           const struct mgr_wl_podset_admission *q) {
    struct sl_map places = {0};
    bool same = p->n == q->n;
    for (uint32_t i = q->n; same && i-- > 0;)
        sl_map_add(&places, q->v[i].resource, i);
    for (uint32_t i = 0; same && i < p->n; i++) {
        uint32_t j = sl_map_get(&places, p->v[i].resource);
        same =
            j != SL_MAP_NONE && q->v[j].flavor == p->v[i].flavor && q->v[j].usage == p->v[i].usage;
    }
    sl_map_done(&places);
    return same;
}

/* But for the places. */
static bool same_grant(const struct mgr_wl_admission *a, const struct mgr_wl_admission *b) {
    if (!a || !b)
        return !a && !b;
    if (a->cq != b->cq || a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct mgr_wl_podset_admission *p = &a->v[i], *q = &b->v[i];
        if (p->name != q->name || p->count != q->count || !same_resources(p, q))
            return false;
    }
    return true;
}

static bool same_admission(const struct mgr_wl_admission *a, const struct mgr_wl_admission *b) {
    if (!same_grant(a, b))
        return false;
    for (uint32_t i = 0; a && i < a->n; i++)
        if (mgr_tas_hash(a->v[i].topology) != mgr_tas_hash(b->v[i].topology))
            return false;
    return true;
}

bool mgr_wl_takes_another(const struct mgr_rec_wl *w) {
    const struct mgr_wl_admission *next = w->desired ? w->desired->s.admission : NULL,
                                  *sent = w->sent ? w->sent->s.admission : NULL;
    return next && w->desired->vacates &&
           ((w->seen.admission && !same_admission(w->seen.admission, next)) ||
            (sent && !same_admission(sent, next)));
}

bool mgr_wl_moves(const struct mgr_rec_wl *w) {
    const struct mgr_wl_admission *next = mgr_wl_next(w, WL_ADMISSION)->admission;
    return next && w->seen.admission && !same_admission(w->seen.admission, next);
}

static void put_podset_admission(const struct sl_manager *m,
                                 const struct mgr_wl_podset_admission *p, struct sl_jw *j) {
    char text[SL_QUANTITY_TEXT];
    bool any = false;
    sl_jw_object(j, NULL);
    sl_jw_str(j, "name", mgr_str(m, p->name));
    sl_jw_int(j, "count", p->count);
    sl_jw_object(j, "flavors");
    for (uint32_t k = 0; k < p->n; k++)
        if (p->v[k].flavor)
            sl_jw_str(j, mgr_str(m, p->v[k].resource), mgr_str(m, p->v[k].flavor));
    sl_jw_end(j);
    for (uint32_t k = 0; k < p->n; k++) {
        const char *resource = mgr_str(m, p->v[k].resource);
        if (p->v[k].no_usage)
            continue;
        if (!any)
            sl_jw_object(j, "resourceUsage");
        any = true;
        sl_jw_str(j, resource, sl_amount_format(resource, p->v[k].usage, text));
    }
    if (any)
        sl_jw_end(j);
    if (p->topology)
        sl_jw_fields(j, p->topology);
    sl_jw_end(j);
}

static void put_admission(const struct sl_manager *m, const struct mgr_wl_admission *a,
                          struct sl_jw *j) {
    if (!a)
        return;
    sl_jw_object(j, "admission");
    sl_jw_str(j, "clusterQueue", mgr_str(m, a->cq));
    sl_jw_array(j, "podSetAssignments");
    for (uint32_t i = 0; i < a->n; i++)
        put_podset_admission(m, &a->v[i], j);
    sl_jw_end(j);
    sl_jw_end(j);
}

static void put_checks(const struct sl_manager *m, const struct mgr_rec_wl *w, struct sl_jw *j) {
    const struct mgr_wl_status *s = effective(w, WL_CHECKS);
    if (!s->checks.n)
        return;
    sl_jw_array(j, "admissionChecks");
    for (uint32_t i = 0; i < s->checks.n; i++) {
        const struct mgr_wl_check *c = &s->checks.v[i], *now = mgr_wl_find_check(&w->seen, c->name);
        if (!c->ours && now)
            c = now; /* its controller may have changed it meanwhile */
        sl_jw_object(j, NULL);
        sl_jw_str(j, "name", mgr_str(m, c->name));
        sl_jw_str(j, "state", sl_word(SL_VOCAB_CHECK_STATE, (int)c->state));
        sl_jw_str(j, "message", c->message);
        sl_jw_time(j, "lastTransitionTime", c->at);
        if (c->requeue_after_s >= 0)
            sl_jw_int(j, "requeueAfterSeconds", c->requeue_after_s);
        if (c->retries >= 0)
            sl_jw_int(j, "retryCount", c->retries);
        if (c->updates)
            sl_jw_raw(j, "podSetUpdates", c->updates);
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

static bool same_checks(const struct mgr_wl_status *a, const struct mgr_wl_status *b) {
    if (a->checks.n != b->checks.n)
        return false;
    for (uint32_t i = 0; i < a->checks.n; i++) {
        const struct mgr_wl_check *x = &a->checks.v[i], *y = &b->checks.v[i];
        if (x->name != y->name ||
            (x->ours && (x->state != y->state || strcmp(x->message, y->message) != 0)))
            return false;
    }
    return true;
}

static void put_requeue(const struct mgr_wl_status *s, struct sl_jw *j) {
    if (!s->requeues && !s->requeue_at)
        return;
    sl_jw_object(j, "requeueState");
    if (s->requeues)
        sl_jw_int(j, "count", s->requeues);
    if (s->requeue_at)
        sl_jw_time(j, "requeueAt", s->requeue_at);
    sl_jw_end(j);
}

static void put_evictions(const struct sl_manager *m, const struct mgr_wl_status *s,
                          struct sl_jw *j) {
    if (!s->evictions.n)
        return;
    sl_jw_object(j, "schedulingStats");
    sl_jw_array(j, "evictions");
    for (uint32_t i = 0; i < s->evictions.n; i++) {
        const struct mgr_wl_eviction *x = &s->evictions.v[i];
        sl_jw_object(j, NULL);
        sl_jw_str(j, "reason", mgr_str(m, x->reason));
        sl_jw_str(j, "underlyingCause", mgr_str(m, x->cause));
        sl_jw_int(j, "count", x->count);
        sl_jw_end(j);
    }
    sl_jw_end(j);
    sl_jw_end(j);
}

static void put_reclaimable(const struct sl_manager *m, const struct mgr_rec_wl *w,
                            struct sl_jw *j) {
    const int32_t *counts = effective(w, WL_RECLAIMABLE)->reclaimable;
    if (!counts)
        return;
    sl_jw_array(j, "reclaimablePods");
    for (uint32_t i = 0; i < w->n_podsets; i++) {
        if (!counts[i])
            continue;
        sl_jw_object(j, NULL);
        sl_jw_str(j, "name", mgr_str(m, w->podsets[i].name));
        sl_jw_int(j, "count", counts[i]);
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

/* What it would take, while it waits. */
static void put_requests(const struct sl_manager *m, const struct mgr_rec_wl *w, struct sl_jw *j) {
    const struct sl_podset_assignment *ps;
    char text[SL_QUANTITY_TEXT];
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(CEILING_ASSIGNED);
    uint32_t n = sl_engine_requests(m->engine, w->id, &arena, &ps);
    if (n)
        sl_jw_array(j, "resourceRequests");
    for (uint32_t i = 0; i < n; i++) {
        sl_jw_object(j, NULL);
        sl_jw_str(j, "name", ps[i].name);
        sl_jw_object(j, "resources");
        for (uint32_t k = 0; k < ps[i].n; k++)
            sl_jw_str(j, ps[i].v[k].resource,
                      sl_amount_format(ps[i].v[k].resource, ps[i].v[k].usage, text));
        sl_jw_end(j);
        sl_jw_end(j);
    }
    if (n)
        sl_jw_end(j);
}

static bool same_counts(const struct mgr_rec_wl *w, const int32_t *a, const int32_t *b) {
    for (uint32_t i = 0; i < w->n_podsets; i++)
        if ((a ? a[i] : 0) != (b ? b[i] : 0))
            return false;
    return true;
}

static bool same_evictions(const struct mgr_wl_status *a, const struct mgr_wl_status *b) {
    if (a->evictions.n != b->evictions.n)
        return false;
    for (uint32_t i = 0; i < a->evictions.n; i++) {
        const struct mgr_wl_eviction *x = &a->evictions.v[i], *y = &b->evictions.v[i];
        if (x->reason != y->reason || x->cause != y->cause || x->count != y->count)
            return false;
    }
    return true;
}

bool mgr_wl_differs(const struct mgr_rec_wl *w) {
    const struct mgr_wl_changes *c = w->desired;
    const struct mgr_wl_status *seen = &w->seen;
    return conds_differ(w) ||
           ((c->fields & WL_ADMISSION) && !same_admission(c->s.admission, seen->admission)) ||
           ((c->fields & WL_REQUEUE) && (c->s.requeues != seen->requeues ||
                                         c->s.requeue_at / SL_SEC != seen->requeue_at / SL_SEC)) ||
           ((c->fields & WL_CHECKS) && !same_checks(&c->s, seen)) ||
           ((c->fields & WL_PAST) && c->s.past_exec_s != seen->past_exec_s) ||
           ((c->fields & WL_EVICTIONS) && !same_evictions(&c->s, seen)) ||
           ((c->fields & WL_RECLAIMABLE) && !same_counts(w, c->s.reclaimable, seen->reclaimable)) ||
           ((c->fields & WL_POSITIONS) && !mgr_wl_gates_same(c->s.gates, seen->gates));
}

/* A forced apply removes fields that it no longer contains, so it contains all that we own. */
void mgr_wl_put_status(const struct sl_manager *m, const struct mgr_rec_wl *w, struct sl_jw *j) {
    const struct mgr_wl_admission *a = effective(w, WL_ADMISSION)->admission;
    sl_jw_object(j, "status");
    put_conds(m, w, j);
    put_admission(m, a, j);
    put_requeue(effective(w, WL_REQUEUE), j);
    put_checks(m, w, j);
    put_evictions(m, effective(w, WL_EVICTIONS), j);
    put_reclaimable(m, w, j);
    mgr_wl_gates_put(m, effective(w, WL_POSITIONS)->gates, j);
    if (effective(w, WL_PAST)->past_exec_s >= 0)
        sl_jw_int(j, "accumulatedPastExecutionTimeSeconds", effective(w, WL_PAST)->past_exec_s);
    if (!a && !mgr_wl_condition_will_be_true(m, w, "Finished"))
        put_requests(m, w, j);
    sl_jw_end(j);
}
