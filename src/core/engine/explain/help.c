/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would help. Every suggestion is tried on the live state before it is made: the change is put
 * in, the same assignment that decides is run, and the change is taken out again. A suggestion that
 * does not admit the workload is not made.
 */
#include "core/engine/explain/explain.h"

#include <stdlib.h>

#define MAX_HELP 24
#define MAX_TOGETHER 8   /* changes that help only together */
#define MAX_WAIT_FOR 512 /* workloads considered as "wait for these" */

struct helper {
    struct sl_engine *e;
    const struct eng_entry *x;
    struct sl_verdict *v;
    struct sl_help *help;
    uint32_t n;
};

/* What one flavor lacks: the pairs and how much must be there. */
struct option {
    const char *flavor;
    struct eng_lack lacks[MAX_TOGETHER];
    uint32_t n;
};

static bool admits(struct helper *h) {
    struct eng_entry y;
    eng_round_clear(&h->e->round);
    eng_explain_evaluate(h->e, &y, h->x->wl, h->x->class, h->x->cq);
    return y.mode == MODE_FIT;
}

static struct sl_help *suggest(struct helper *h, enum sl_help_kind kind) {
    if (h->n == MAX_HELP)
        return NULL;
    struct sl_help *s = &h->help[h->n++];
    *s = (struct sl_help){.kind = kind, .node = "", .flavor = "", .resource = ""};
    return s;
}

/* ---- other workloads end ---- */

static sl_amount amount_held(const struct sl_engine *e, uint32_t wl, uint32_t fr) {
    const struct eng_admission *a = e->wls.v[wl].admission;
    for (uint32_t i = 0; i < a->n_uses; i++)
        if (a->uses[i].fr == fr)
            return a->uses[i].amount;
    return 0;
}

struct held_by {
    uint32_t wl;
    sl_amount amount;
};

static int cmp_held(const void *a, const void *b) {
    const struct held_by *x = a, *y = b;
    if (x->amount != y->amount)
        return x->amount > y->amount ? -1 : 1;
    return x->wl < y->wl ? -1 : x->wl > y->wl;
}

static bool enough(const struct sl_engine *e, const struct eng_cq *q, const struct option *o) {
    for (uint32_t i = 0; i < o->n; i++)
        if (sl_amount_max(0, eng_tree_available(e, q->node, o->lacks[i].fr)) < o->lacks[i].need)
            return false;
    return true;
}

static void suggest_waiting(struct helper *h, const struct option *o) {
    struct sl_engine *e = h->e;
    const struct eng_cq *q = &e->cqs.v[h->x->cq];
    const struct eng_tree *t = eng_cq_tree(e, q);
    uint32_t fr = t->frs[o->lacks[0].fr];
    SL_VEC(struct held_by) holders = {0};
    uint32_t one = ENG_NONE; /* the smallest that suffices alone */
    sl_amount one_amount = SL_AMOUNT_UNLIMITED;
    for (uint32_t i = 0; i < t->cqs.n; i++) {
        const struct eng_cq *from = &e->cqs.v[t->cqs.v[i]];
        for (uint32_t k = 0; k < from->reserved.n; k++) {
            uint32_t wl = from->reserved.v[k];
            sl_amount a = amount_held(e, wl, fr);
            if (a <= 0 || wl == h->x->slice)
                continue;
            if (a < one_amount) {
                eng_wl_charge(e, wl, -1);
                if (enough(e, q, o)) {
                    one = wl;
                    one_amount = a;
                }
                eng_wl_charge(e, wl, 1);
            }
            if (holders.n < MAX_WAIT_FOR)
                *sl_vec_push(&holders) = (struct held_by){wl, a};
        }
    }
    SL_VEC(uint32_t) gone = {0};
    if (one != ENG_NONE) {
        *sl_vec_push(&gone) = one;
        eng_wl_charge(e, one, -1);
    } else if (holders.n) {
        qsort(holders.v, holders.n, sizeof(*holders.v), cmp_held);
        for (uint32_t i = 0; i < holders.n && !enough(e, q, o); i++) {
            *sl_vec_push(&gone) = holders.v[i].wl;
            eng_wl_charge(e, holders.v[i].wl, -1);
        }
        for (uint32_t i = gone.n; i-- > 0;) { /* puts back those that are not needed */
            eng_wl_charge(e, gone.v[i], 1);
            if (enough(e, q, o)) {
                gone.v[i] = gone.v[gone.n - 1];
                gone.n--;
            } else {
                eng_wl_charge(e, gone.v[i], -1);
            }
        }
    }
    bool ok = gone.n && admits(h);
    for (uint32_t i = 0; i < gone.n; i++)
        eng_wl_charge(e, gone.v[i], 1);
    struct sl_help *s = ok ? suggest(h, SL_HELP_WAIT_FOR) : NULL;
    if (s) {
        sl_wl_id *ids = sl_arena_alloc0(&h->v->arena, gone.n, sizeof(*ids));
        for (uint32_t i = 0; i < gone.n; i++)
            ids[i] = eng_wl_id(e, gone.v[i]);
        s->wls = ids;
        s->n_wls = gone.n;
        s->flavor = o->flavor;
    }
    sl_vec_free(&holders);
    sl_vec_free(&gone);
}

/* ---- more quota ---- */

struct change {
    uint32_t node, fr;
    sl_amount before, after;
    bool borrow;
};

static void apply_change(struct sl_engine *e, const struct change *c, bool in) {
    struct eng_cell *x = eng_cell_at(e, c->node, c->fr);
    *(c->borrow ? &x->borrow : &x->nominal) = in ? c->after : c->before;
    struct eng_tree *t = &e->trees.v[e->nodes.v[c->node].tree];
    eng_tree_compute(e, t, c->fr);
    eng_tree_lendable(e, t);
}

static bool change_admits(struct helper *h, const struct change *c, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        apply_change(h->e, &c[i], true);
    bool ok = admits(h);
    for (uint32_t i = n; i-- > 0;)
        apply_change(h->e, &c[i], false);
    return ok;
}

/* What one podset lacks may be more than is needed if another one goes elsewhere: one step less
 * must not be enough. */
static void change_least(struct helper *h, struct change *c) {
    struct change less = *c;
    less.after--;
    if (!change_admits(h, &less, 1))
        return;
    sl_amount no = c->before; /* as things are it is refused */
    c->after--;
    while (c->after - no > 1) {
        less.after = no + (c->after - no) / 2;
        if (change_admits(h, &less, 1))
            c->after = less.after;
        else
            no = less.after;
    }
}

/* Tries all changes at once and suggests them if they admit the workload. */
static void suggest_changes(struct helper *h, const struct option *o, struct change *c,
                            uint32_t n) {
    struct sl_engine *e = h->e;
    if (!n || h->n + n > MAX_HELP || !change_admits(h, c, n))
        return;
    if (n == 1)
        change_least(h, c);
    for (uint32_t i = 0; i < n; i++) {
        const struct eng_node *node = &e->nodes.v[c[i].node];
        struct sl_help *s = suggest(h, c[i].borrow ? SL_HELP_RAISE_BORROW : SL_HELP_RAISE_QUOTA);
        s->node = eng_str(e, node->name);
        s->cohort = node->cohort;
        s->flavor = o->flavor;
        s->resource = eng_str(e, e->frs.v[e->trees.v[node->tree].frs[c[i].fr]].resource);
        s->to = c[i].after;
        s->and_next = i + 1 < n;
    }
}

static void suggest_quota(struct helper *h, const struct option *o) {
    struct sl_engine *e = h->e;
    const struct eng_cq *q = &e->cqs.v[h->x->cq];
    struct change nominal[MAX_TOGETHER], borrow[MAX_TOGETHER];
    uint32_t n_borrow = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        uint32_t fr = o->lacks[i].fr;
        const struct eng_cell *c = eng_cell_at(e, q->node, fr);
        sl_amount more = sl_amount_sub(o->lacks[i].need, eng_tree_available(e, q->node, fr));
        nominal[i] =
            (struct change){q->node, fr, c->nominal, sl_amount_add(c->nominal, more), false};
        if (c->borrow != SL_AMOUNT_NONE)
            borrow[n_borrow++] =
                (struct change){q->node, fr, c->borrow, sl_amount_add(c->borrow, more), true};
    }
    suggest_changes(h, o, nominal, o->n);
    suggest_changes(h, o, borrow, n_borrow);
}

/* ---- lower requests, or higher weight ---- */

static void suggest_shrinking(struct helper *h) {
    struct sl_engine *e = h->e;
    const struct eng_shape *s = &e->shapes.v[e->classes.v[h->x->class].shape];
    for (uint32_t p = 0; p < s->n; p++) {
        struct eng_podset *ps = &s->podsets[p];
        int32_t count = ps->count, min = ps->min_count, lo = 0, hi = count - 1;
        while (lo <
               hi) { /* the largest count that fits; the others may shrink where they allow it */
            int32_t mid = lo + (hi - lo + 1) / 2;
            ps->count = mid;
            ps->min_count = min < mid ? min : mid;
            if (admits(h))
                lo = mid;
            else
                hi = mid - 1;
        }
        ps->count = count;
        ps->min_count = min;
        if (lo < 1)
            continue;
        struct sl_help *f = suggest(h, SL_HELP_SHRINK);
        if (f) {
            f->podset = p;
            f->to = lo;
        }
    }
}

static int cmp_i64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static bool preempts_at(struct helper *h, int64_t priority) {
    struct sl_engine *e = h->e;
    struct eng_wl *w = &e->wls.v[h->x->wl];
    int64_t base = priority - (eng_wl_priority(e, w) - w->priority);
    if (base > INT32_MAX || base < INT32_MIN)
        return false;
    int32_t before = w->priority;
    w->priority = (int32_t)base;
    struct eng_entry y;
    eng_round_clear(&e->round);
    eng_explain_evaluate(e, &y, h->x->wl, h->x->class, h->x->cq);
    w->priority = before;
    return y.mode == MODE_PREEMPT && y.targets.n;
}

/* Do two podsets choose among the same flavors? With the victims gone the first may then prefer
 * what the second was to have, and the victims went for nothing. */
static bool podsets_compete(const struct eng_plan *p) {
    for (uint32_t i = 0; i < p->steps.n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (p->steps.v[i].group == p->steps.v[k].group)
                return true;
    return false;
}

static void suggest_priority(struct helper *h) {
    struct sl_engine *e = h->e;
    if (podsets_compete(&e->classes.v[h->x->class].plan) || e->wls.v[h->x->wl].spares)
        return;
    const struct eng_cq *own = &e->cqs.v[h->x->cq];
    const struct eng_tree *t = eng_cq_tree(e, own);
    bool others = own->reclaim == SL_RECLAIM_LOWER ||
                  (own->reclaim != SL_RECLAIM_NEVER && own->borrow_within != SL_BORROW_NEVER);
    if (own->within == SL_WITHIN_NEVER && !others)
        return;
    struct eng_wl *w = &e->wls.v[h->x->wl];
    SL_VEC(int64_t) steps = {0};
    for (uint32_t i = 0; i < t->cqs.n; i++) {
        const struct eng_cq *q = &e->cqs.v[t->cqs.v[i]];
        for (uint32_t k = 0; (q == own || others) && k < q->prios.n; k++)
            for (int64_t p = q->prios.v[k].priority; p <= q->prios.v[k].priority + 1; p++)
                if (p > eng_wl_priority(e, w)) /* the same priority may do against newer ones */
                    *sl_vec_push(&steps) = p;
    }
    if (steps.n) {
        qsort(steps.v, steps.n, sizeof(int64_t), cmp_i64);
        uint32_t lo = 0, hi = steps.n; /* the first step that does */
        while (lo < hi) {
            uint32_t mid = (lo + hi) / 2;
            if (preempts_at(h, steps.v[mid]))
                hi = mid;
            else
                lo = mid + 1;
        }
        struct sl_help *s = lo < steps.n ? suggest(h, SL_HELP_PRIORITY) : NULL;
        if (s)
            s->to = steps.v[lo];
    }
    sl_vec_free(&steps);
}

/* ---- together ---- */

static void add_lack(struct option *o, uint32_t fr, sl_amount need) {
    for (uint32_t i = 0; i < o->n && i < MAX_TOGETHER; i++)
        if (o->lacks[i].fr == fr) { /* two podsets lack it */
            o->lacks[i].need = sl_amount_max(o->lacks[i].need, need);
            return;
        }
    if (o->n < MAX_TOGETHER)
        o->lacks[o->n] = (struct eng_lack){fr, need};
    o->n++;
}

void eng_explain_help_quota(struct sl_engine *e, const struct eng_entry *x, struct sl_verdict *v) {
    struct helper h = {.e = e, .x = x, .v = v};
    h.help = sl_arena_alloc0(&v->arena, MAX_HELP, sizeof(*h.help));
    /* One option per flavor that only lacks quota; blockers are grouped by flavor already. */
    struct option options[SL_MAX_GROUP_FLAVORS];
    uint32_t n = 0;
    const struct eng_cq *q = &e->cqs.v[x->cq];
    const struct eng_tree *t = eng_cq_tree(e, q);
    for (uint32_t i = 0; i < v->n_blockers; i++) {
        const struct sl_blocker *b = &v->blockers[i];
        if (b->kind != SL_WHY_NEEDS_MORE && b->kind != SL_WHY_EXCEEDS_MAX)
            continue;
        uint32_t k = 0;
        while (k < n && options[k].flavor != b->flavor)
            k++;
        if (k == SL_MAX_GROUP_FLAVORS)
            break;
        if (k == n)
            options[n++] = (struct option){.flavor = b->flavor};
        sl_sym f = sl_sym_find(&e->syms, b->flavor), r = sl_sym_find(&e->syms, b->resource);
        add_lack(&options[k], eng_tree_fr(t, eng_fr_get(e, f, r)), b->need);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (options[i].n > MAX_TOGETHER)
            continue;
        suggest_waiting(&h, &options[i]);
        suggest_quota(&h, &options[i]);
    }
    suggest_shrinking(&h);
    suggest_priority(&h);
    v->help = h.help;
    v->n_help = h.n;
}

/* ---- not in any queue ---- */

const char *eng_wl_obstacle_text(const struct sl_engine *e, uint32_t wl, struct sl_arena *a) {
    const struct eng_wl *w = &e->wls.v[wl];
    switch (eng_wl_obstacle(e, wl, &e->cqs.v[e->lqs.v[w->lq].cq])) {
    case SL_PENDING_FAILED_CHECKS:
        return "an admission check said Retry or Rejected";
    case SL_PENDING_NS_MISSING:
        return sl_arena_printf(a, "its namespace %s does not exist", eng_str(e, w->ns));
    case SL_PENDING_NS_MISMATCH:
        return sl_arena_printf(a, "its ClusterQueue does not take workloads of namespace %s",
                               eng_str(e, w->ns));
    case SL_PENDING_INVALID:
        return sl_arena_strdup(a, w->extra->invalid);
    default:
        return NULL;
    }
}

bool eng_explain_blocked(struct sl_engine *e, uint32_t wl, struct sl_verdict *v) {
    const struct eng_wl *w = &e->wls.v[wl];
    const struct eng_lq *l = &e->lqs.v[w->lq];
    struct sl_help *s = sl_arena_alloc0(&v->arena, 1, sizeof(*s));
    *s = (struct sl_help){.kind = SL_HELP_ACTIVATE, .node = "", .flavor = "", .resource = ""};
    v->kind = SL_VERDICT_BLOCKED;
    if (w->inactive) {
        v->text = "it is deactivated (spec.active is false)";
    } else if (w->gated) {
        v->text = sl_arena_printf(&v->arena, "admission is gated by: %s",
                                  w->extra->gate ? w->extra->gate : "");
    } else if (w->on_hold) {
        v->text = "its integration holds it back";
    } else if (!l->exists) {
        v->text = sl_arena_printf(&v->arena, "LocalQueue %s/%s does not exist", eng_str(e, l->ns),
                                  eng_str(e, l->name));
        return true;
    } else if (l->stop != SL_STOP_NONE) {
        v->text = sl_arena_printf(&v->arena, "LocalQueue %s/%s is stopped", eng_str(e, l->ns),
                                  eng_str(e, l->name));
        s->kind = SL_HELP_START_QUEUE;
        s->local_queue = true;
        s->node = eng_str(e, l->name);
    } else if (l->cq == ENG_NONE) {
        v->text =
            sl_arena_printf(&v->arena, "ClusterQueue %s does not exist", eng_str(e, l->cq_name));
        return true;
    } else if (!e->cqs.v[l->cq].active) {
        const struct eng_cq *q = &e->cqs.v[l->cq];
        v->text = sl_arena_printf(&v->arena, "ClusterQueue %s is not active: %s",
                                  eng_str(e, l->cq_name), q->message ? q->message : "");
        if (q->stop == SL_STOP_NONE || q->inactive_reason != SL_INACTIVE_STOPPED)
            return true;
        s->kind = SL_HELP_START_QUEUE;
        s->node = eng_str(e, l->cq_name);
    } else {
        return false;
    }
    v->help = s;
    v->n_help = 1;
    return true;
}
