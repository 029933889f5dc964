/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why is this workload pending? The same assignment that decides is run on the live state, without
 * storing its result, and reported in numbers: which limit binds where, which workloads hold what
 * is missing, and what would help (help.c).
 */
#include "core/engine/explain/explain.h"

#include <stdlib.h>
#include <string.h>

void sl_verdict_init(struct sl_verdict *v) {
    *v = (struct sl_verdict){0};
    sl_arena_init(&v->arena, UINT64_C(64) << 20);
}

void sl_verdict_done(struct sl_verdict *v) {
    sl_arena_done(&v->arena);
}

void sl_verdict_clear(struct sl_verdict *v) {
    struct sl_arena a = v->arena;
    sl_arena_clear(&a);
    *v = (struct sl_verdict){.arena = a};
}

/* ---- looking ---- */

void eng_explain_evaluate(struct sl_engine *e, struct eng_entry *x, uint32_t wl, uint32_t class,
                          uint32_t cq) {
    struct eng_wl *w = &e->wls.v[wl];
    struct eng_wl_extra *kept = w->extra, scan = kept ? *kept : (struct eng_wl_extra){0};
    memset(&scan.resume, 0, sizeof(scan.resume));
    scan.resume_gen = e->cqs.v[cq].alloc_gen;
    const struct eng_node *n = eng_cq_node(e, &e->cqs.v[cq]);
    uint32_t evaluations = 2;
    for (uint32_t i = 0; i < n->n_groups; i++)
        evaluations += n->groups[i].n_flavors;
    w->extra = &scan; /* where the scan stands is noted in a copy */
    eng_entry_init(e, x, wl, class, cq);
    x->from_start = true;
    eng_assign_flavors(e, x);
    struct eng_entry y = *x;
    while (y.mode != MODE_FIT && !y.targets.n && y.has_resume && evaluations--) {
        sl_vec_clear(&scan.resume);
        for (uint32_t i = 0; i < y.tried.n; i++)
            *sl_vec_push(&scan.resume) = e->round.tried.v[y.tried.from + i];
        eng_entry_init(e, &y, wl, class, cq);
        eng_assign_flavors(e, &y);
    }
    if (y.mode == MODE_FIT || y.targets.n)
        *x = y;
    w->extra = kept;
    sl_vec_free(&scan.resume);
}

/* ---- constraints ---- */

/* The node whose limit gives the available amount, and whether that is its borrowing limit. */
static uint32_t binding_node(const struct sl_engine *e, uint32_t node, uint32_t fr, bool *borrow) {
    uint32_t at = node;
    *borrow = false;
    for (uint32_t i = node; e->nodes.v[i].parent != ENG_NONE; i = e->nodes.v[i].parent) {
        const struct eng_cell *c = eng_cell_at(e, i, fr);
        sl_amount above = eng_tree_available(e, e->nodes.v[i].parent, fr);
        if (c->borrow != SL_AMOUNT_NONE) {
            sl_amount lent = sl_amount_sub(c->subtree, c->local);
            sl_amount taken = sl_amount_max(0, sl_amount_sub(eng_cell_used(c), c->local));
            if (sl_amount_add(sl_amount_sub(lent, taken), c->borrow) < above) {
                *borrow = true;
                return i;
            }
        }
        at = e->nodes.v[i].parent;
    }
    return at;
}

static uint32_t local_fr(const struct sl_engine *e, const struct eng_cq *q, const char *flavor,
                         const char *resource) {
    sl_sym f = sl_sym_find(&e->syms, flavor), r = sl_sym_find(&e->syms, resource);
    uint32_t g = sl_map_get(&e->fr_map, (uint64_t)f << 32 | r);
    return g == SL_MAP_NONE ? ENG_NONE : eng_tree_fr(eng_cq_tree(e, q), g);
}

/* Fills in the numbers of a blocker that is about quota. */
static void measure(const struct sl_engine *e, const struct eng_cq *q, uint32_t fr,
                    struct sl_blocker *b) {
    b->available = sl_amount_max(0, eng_tree_available(e, q->node, fr));
    b->potential = eng_cell_at(e, q->node, fr)->potential;
    uint32_t n = binding_node(e, q->node, fr, &b->borrow_limit);
    b->node = eng_str(e, e->nodes.v[n].name);
    b->cohort = e->nodes.v[n].cohort;
}

static bool is_listed(const struct sl_verdict *v, const char *flavor, const char *resource) {
    for (uint32_t i = 0; i < v->n_blockers; i++)
        if (strcmp(v->blockers[i].flavor, flavor) == 0 &&
            strcmp(v->blockers[i].resource, resource) == 0)
            return true;
    return false;
}

static void list_blockers(struct sl_engine *e, const struct eng_entry *x, struct sl_verdict *v) {
    const struct eng_cq *q = &e->cqs.v[x->cq];
    struct sl_blocker *b = sl_arena_alloc0(&v->arena, x->whys.n + x->picks.n + 1, sizeof(*b));
    v->blockers = b;
    for (uint32_t i = 0; i < x->whys.n; i++) {
        const struct sl_why *w = &e->round.whys.v[x->whys.from + i];
        b[i] = (struct sl_blocker){.podset = w->podset,
                                   .flavor = w->flavor ? w->flavor : "",
                                   .resource = w->resource ? w->resource : "",
                                   .kind = w->kind,
                                   .node = eng_str(e, eng_cq_node(e, q)->name)};
        if (w->kind != SL_WHY_NEEDS_MORE && w->kind != SL_WHY_EXCEEDS_MAX)
            continue;
        b[i].need =
            w->kind == SL_WHY_EXCEEDS_MAX ? sl_amount_add(w->before, w->request) : w->request;
        measure(e, q, local_fr(e, q, w->flavor, w->resource), &b[i]);
    }
    v->n_blockers = x->whys.n;
    /* Kueue's reasons are silent about a resource behind another one that decides for the flavor.
     */
    for (uint32_t i = 0; i < x->picks.n; i++) {
        const struct eng_pick *p = &e->round.picks.v[x->picks.from + i];
        const char *flavor = eng_str(e, p->flavor), *resource = eng_str(e, p->resource);
        if (p->mode == MODE_FIT || !p->amount || is_listed(v, flavor, resource))
            continue;
        struct sl_blocker *n = &b[v->n_blockers++];
        *n = (struct sl_blocker){
            .podset = p->podset, .flavor = flavor, .resource = resource, .kind = SL_WHY_NEEDS_MORE};
        for (uint32_t k = 0; k < x->uses.n; k++)
            if (e->round.uses.v[x->uses.from + k].fr == p->fr)
                n->need = e->round.uses.v[x->uses.from + k].amount;
        measure(e, q, p->fr, n);
    }
}

/* ---- holders ---- */

static int cmp_holders(const void *a, const void *b) {
    const struct sl_holder *x = a, *y = b;
    if (x->amount != y->amount)
        return x->amount > y->amount ? -1 : 1;
    return x->wl.v < y->wl.v ? -1 : x->wl.v > y->wl.v;
}

static bool is_lacking(const struct sl_engine *e, const struct sl_verdict *v,
                       const struct eng_fr *fr) {
    for (uint32_t i = 0; i < v->n_blockers; i++)
        if (v->blockers[i].kind == SL_WHY_NEEDS_MORE &&
            strcmp(v->blockers[i].flavor, eng_str(e, fr->flavor)) == 0 &&
            strcmp(v->blockers[i].resource, eng_str(e, fr->resource)) == 0)
            return true;
    return false;
}

/* The largest holders of what is lacking, in the whole tree. */
static void list_holders(struct sl_engine *e, const struct eng_entry *x, struct sl_verdict *v) {
    const struct eng_tree *t = eng_cq_tree(e, &e->cqs.v[x->cq]);
    struct sl_holder *top = sl_arena_alloc0(&v->arena, SL_VERDICT_MAX_HOLDERS + 1, sizeof(*top));
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->cqs.n; i++) {
        const struct eng_cq *q = &e->cqs.v[t->cqs.v[i]];
        for (uint32_t k = 0; k < q->reserved.n; k++) {
            const struct eng_wl *w = &e->wls.v[q->reserved.v[k]];
            if (q->reserved.v[k] == x->slice)
                continue; /* it takes that one's place */
            for (uint32_t u = 0; u < w->admission->n_uses; u++) {
                const struct eng_fr *fr = &e->frs.v[w->admission->uses[u].fr];
                if ((n == SL_VERDICT_MAX_HOLDERS &&
                     w->admission->uses[u].amount <= top[n - 1].amount) ||
                    !is_lacking(e, v, fr))
                    continue;
                top[n < SL_VERDICT_MAX_HOLDERS ? n++ : n - 1] =
                    (struct sl_holder){.wl = eng_wl_id(e, q->reserved.v[k]),
                                       .ns = eng_str(e, w->ns),
                                       .name = eng_wl_name(w),
                                       .cq = eng_str(e, eng_cq_node(e, q)->name),
                                       .flavor = eng_str(e, fr->flavor),
                                       .resource = eng_str(e, fr->resource),
                                       .amount = w->admission->uses[u].amount,
                                       .priority = w->priority};
                if (n == SL_VERDICT_MAX_HOLDERS)
                    qsort(top, n, sizeof(*top), cmp_holders);
            }
        }
    }
    if (n > 1)
        qsort(top, n, sizeof(*top), cmp_holders);
    for (uint32_t i = 0; i < n; i++)
        top[i].name = sl_arena_strdup(&v->arena, top[i].name);
    v->holders = top;
    v->n_holders = n;
}

/* ---- the verdict ---- */

/* Min over flavors of how hopeless it is, as Kueue ranks it: quota, maximum, no match. */
static enum sl_verdict_kind verdict_of_refusal(const struct sl_engine *e,
                                               const struct eng_entry *x) {
    bool quota = false, max = false;
    for (uint32_t i = 0; i < x->whys.n; i++) {
        const struct sl_why *w = &e->round.whys.v[x->whys.from + i];
        /* What earlier podsets took here they might take elsewhere another time. */
        bool never = w->kind == SL_WHY_EXCEEDS_MAX && w->before == 0;
        max |= never;
        quota |= !never && (w->kind == SL_WHY_EXCEEDS_MAX || w->kind == SL_WHY_NEEDS_MORE ||
                            w->kind == SL_WHY_PLACE);
    }
    return quota ? SL_VERDICT_NO_QUOTA : max ? SL_VERDICT_NEVER_FITS : SL_VERDICT_NO_FLAVOR;
}

static void report_quota(struct sl_verdict *v, const char *lead) {
    const struct sl_blocker *b = NULL;
    for (uint32_t i = 0; i < v->n_blockers && !b; i++)
        if (v->blockers[i].kind == SL_WHY_NEEDS_MORE || v->blockers[i].kind == SL_WHY_EXCEEDS_MAX)
            b = &v->blockers[i];
    if (!b) {
        v->text = sl_arena_strdup(&v->arena, lead);
        return;
    }
    char need[SL_QUANTITY_TEXT], have[SL_QUANTITY_TEXT];
    bool max = b->kind == SL_WHY_EXCEEDS_MAX;
    v->text =
        sl_arena_printf(&v->arena, "%s: needs %s of %s in flavor %s, %s %s%s (limit at %s %s)",
                        lead, sl_amount_format(b->resource, b->need, need), b->resource, b->flavor,
                        max ? "could have at most" : "has",
                        sl_amount_format(b->resource, max ? b->potential : b->available, have),
                        max ? "" : " available", b->cohort ? "Cohort" : "ClusterQueue", b->node);
}

/* It fits as things stand: is anything still in its way? */
static void explain_fit(struct sl_engine *e, uint32_t wl, uint32_t cq, struct sl_verdict *v) {
    const struct eng_cq *q = &e->cqs.v[cq];
    const struct eng_tree *t = eng_cq_tree(e, q);
    uint32_t head = eng_cq_head(e, cq);
    v->kind = SL_VERDICT_BEHIND;
    if (head != ENG_NONE && head != wl) {
        v->text =
            sl_arena_printf(&v->arena, "fits, but %s stands before it in queue %s",
                            eng_wl_name(&e->wls.v[head]), eng_str(e, eng_cq_node(e, q)->name));
    } else if (head == wl && q->seen_head == wl && q->seen_version == t->version && !t->freed) {
        v->text = "fits, but the room is kept for another workload that waits for preemption";
    } else if (e->blocked_by_ready) {
        v->text = "fits, but all admitted workloads must be ready first";
    } else if (e->wls.v[wl].phase == WL_WAITING && e->classes.v[e->wls.v[wl].class].asleep &&
               !t->freed && !t->wake_all) {
        v->text = "fits, and is looked at with the next change in its queue or cohort";
    } else {
        v->kind = SL_VERDICT_FITS;
        v->text = "fits: the next cycle admits it";
    }
}

/* With the fewest pods it would take: what is missing then is what is missing at all. */
static void retry_with_least(struct sl_engine *e, struct eng_entry *x) {
    const struct eng_shape *s = &e->shapes.v[e->classes.v[x->class].shape];
    if (!s->partial || !eng_gate_on(e, SL_GATE_PARTIAL_ADMISSION))
        return;
    int32_t counts[SL_MAX_PODSETS];
    for (uint32_t i = 0; i < s->n; i++)
        counts[i] = s->podsets[i].min_count ? s->podsets[i].min_count : s->podsets[i].count;
    eng_assign_counts(e, x, counts, NULL);
}

static void explain_queue(struct sl_engine *e, uint32_t wl, struct sl_verdict *v, uint32_t class) {
    struct eng_wl *w = &e->wls.v[wl];
    uint32_t cq = e->lqs.v[w->lq].cq;
    eng_round_clear(&e->round);
    struct eng_entry evaluated, *x = &evaluated;
    eng_explain_evaluate(e, x, wl, class, cq);
    struct sl_arena *a = &v->arena;
    if (x->mode == MODE_FIT) {
        explain_fit(e, wl, cq, v);
        return;
    }
    bool preempts = x->mode == MODE_PREEMPT && x->targets.n;
    if (preempts) {
        v->kind = w->spares ? SL_VERDICT_BLOCKED : SL_VERDICT_PREEMPTS;
        v->text = sl_arena_printf(a, "fits after preempting %u workload%s%s", x->targets.n,
                                  x->targets.n > 1 ? "s" : "",
                                  w->spares ? ", but a preemption gate is closed" : "");
    } else {
        retry_with_least(e, x);
    }
    list_blockers(e, x, v);
    list_holders(e, x, v);
    if (preempts)
        return;
    v->kind = x->mode == MODE_PREEMPT ? SL_VERDICT_NO_QUOTA : verdict_of_refusal(e, x);
    if (v->kind == SL_VERDICT_NO_FLAVOR)
        v->text = "no flavor of its ClusterQueue matches what it asks for";
    else
        report_quota(v, v->kind == SL_VERDICT_NO_QUOTA ? "quota is in use" : "asks for too much");
    eng_explain_help_quota(e, x, v);
}

/* A line of its own for a workload that stands in none. */
static uint32_t borrow_class(struct sl_engine *e, const struct eng_wl *w) {
    uint32_t c = e->classes.n;
    *sl_vec_push(&e->classes) = (struct eng_class){.lq = w->lq,
                                                   .shape = w->shape,
                                                   .priority = eng_wl_priority(e, w),
                                                   .only = ENG_NONE,
                                                   .place = SL_HEAP_OUT};
    return c;
}

static void explain_waiting(struct sl_engine *e, uint32_t wl, struct sl_verdict *v) {
    struct eng_wl *w = &e->wls.v[wl];
    const struct eng_wl_extra *m = w->extra;
    struct sl_arena *a = &v->arena;
    if (m && m->requeue_at > e->now) {
        v->kind = SL_VERDICT_BACKOFF;
        v->not_before = m->requeue_at;
        v->text = "waits for its back-off to be over";
        return;
    }
    const char *obstacle = eng_wl_obstacle_text(e, wl, a);
    if (obstacle || (m && m->held_back)) {
        v->kind = SL_VERDICT_BLOCKED;
        v->text = obstacle ? obstacle : "waits for its queue to be restarted";
        return;
    }
    if (w->phase == WL_WAITING) {
        explain_queue(e, wl, v, w->class);
        return;
    }
    uint32_t c = borrow_class(e, w);
    explain_queue(e, wl, v, c);
    eng_plan_free(&e->classes.v[c].plan);
    e->classes.n--;
}

int sl_engine_explain(struct sl_engine *e, sl_time now, sl_wl_id id, struct sl_verdict *v,
                      struct sl_err *err) {
    uint32_t wl = eng_wl_resolve(e, id);
    if (wl == ENG_NONE)
        return sl_err_set(err, SL_ENOENT, "no such workload");
    sl_verdict_clear(v);
    eng_refresh(e);
    if (now > e->now)
        e->now = now;
    const struct eng_wl *w = &e->wls.v[wl];
    struct sl_engine_stats before = e->stats;
    eng_waiting_positions(e, wl, &v->position_cq, &v->position_lq, &v->waiting_cq, &v->waiting_lq);
    if (w->evicting) {
        v->kind = SL_VERDICT_EVICTING;
        v->text = sl_arena_printf(&v->arena, "evicted (%s), waits to be stopped",
                                  sl_word(SL_VOCAB_EVICT, (int)w->extra->evict));
    } else if (w->phase == WL_ADMITTED) {
        v->kind = SL_VERDICT_RUNNING;
        v->text = "admitted";
    } else if (w->phase == WL_RESERVED) {
        v->kind = SL_VERDICT_RESERVED;
        v->text = "quota is reserved, admission checks are not all ready";
    } else if (w->phase == WL_FINISHED) {
        v->kind = SL_VERDICT_FINISHED;
        v->text = "finished";
    } else if (!eng_explain_blocked(e, wl, v)) {
        explain_waiting(e, wl, v);
    }
    e->stats = before;
    return SL_OK;
}
