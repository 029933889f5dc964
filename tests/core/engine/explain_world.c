/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random world of prop_explain: what is in it, and how an engine is told.
 */
#include "explain_world.h"

#include "core/base/prng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const resources[RES] = {"cpu", "gpu"};
static const char *const zones[] = {"a", "b"};

static int below(struct sl_prng *p, int n) {
    return (int)sl_prng_below(p, (uint64_t)n);
}

static bool one_in(struct sl_prng *p, int n) {
    return below(p, n) == 0;
}

static struct sl_quota some_quota(struct sl_prng *p, int res, int most, bool limits) {
    int64_t unit = res == 0 ? 1000 : 1, odd = res == 0 && one_in(p, 4) ? 500 : 0;
    struct sl_quota q = {below(p, most + 1) * unit + odd, SL_AMOUNT_NONE, SL_AMOUNT_NONE};
    if (limits && one_in(p, 3))
        q.borrow_limit = below(p, 6) * unit;
    if (limits && one_in(p, 4))
        q.lend_limit = below(p, 4) * unit;
    return q;
}

static void some_node(struct sl_prng *p, const struct world *w, struct node_says *n, int most) {
    for (int f = 0; f < w->n_flavors; f++)
        for (int r = 0; r < w->n_res; r++)
            n->q[f][r] = some_quota(p, r, most, n->parent >= 0);
}

static void some_workload(struct sl_prng *p, const struct world *w, struct wl_says *l, int i) {
    bool waiting = i >= w->n_running;
    l->cq = below(p, w->n_cqs);
    l->lq = below(p, LQS_EACH);
    l->priority = below(p, 4);
    l->created = (1 + below(p, 3)) * SL_SEC;
    l->inactive = waiting && one_in(p, 25);
    l->gated = waiting && one_in(p, 25);
    l->on_hold = waiting && one_in(p, 25);
    l->n = one_in(p, 4) ? 2 : 1;
    for (uint32_t k = 0; k < l->n; k++) {
        struct podset_says *s = &l->ps[k];
        s->count = 1 + below(p, one_in(p, 3) ? 6 : 2);
        s->min = waiting && one_in(p, 4) ? 1 + below(p, s->count) : 0;
        s->ask[0] = 1 + below(p, waiting ? 5 : 3);
        s->ask[1] = one_in(p, 2) ? 1 + below(p, 3) : 0;
        s->tolerates = one_in(p, 2);
        s->zone = one_in(p, 4) ? below(p, 2) : -1;
    }
}

void world_make(struct world *w, uint64_t seed) {
    struct sl_prng p;
    sl_prng_init(&p, seed);
    *w = (struct world){.seed = seed, .config = sl_config_default};
    if (one_in(&p, 4)) {
        w->config.fair_sharing = true;
        w->config.n_fair = 1 + (uint32_t)below(&p, 2);
        w->config.fair[0] = one_in(&p, 2) ? SL_FAIR_FINAL_SHARE : SL_FAIR_INITIAL_SHARE;
        w->config.fair[1] =
            w->config.fair[0] == SL_FAIR_FINAL_SHARE ? SL_FAIR_INITIAL_SHARE : SL_FAIR_FINAL_SHARE;
    }
    w->n_cohorts = below(&p, COHORTS + 1);
    w->n_cqs = 1 + below(&p, CQS);
    w->n_flavors = 1 + below(&p, FLAVORS);
    w->n_res = 1 + below(&p, RES);
    w->split = w->n_res == 2 && w->n_flavors > 1 && one_in(&p, 3);
    w->cycled = one_in(&p, 2);
    for (int f = 0; f < w->n_flavors; f++) {
        w->tainted[f] = one_in(&p, 5);
        w->zone[f] = one_in(&p, 3) ? below(&p, 2) : -1;
    }
    for (int i = 0; i < w->n_cohorts;
         i++) { /* the first is the root of the others, or they are many */
        w->cohorts[i].parent = i && !one_in(&p, 4) ? 0 : -1;
        w->cohorts[i].listed = one_in(&p, 2);
        some_node(&p, w, &w->cohorts[i], 4);
    }
    for (int i = 0; i < w->n_cqs; i++) {
        struct cq_says *q = &w->cqs[i];
        q->node.parent = w->n_cohorts && !one_in(&p, 8) ? below(&p, w->n_cohorts) : -1;
        q->node.listed = true;
        some_node(&p, w, &q->node, 8);
        q->policy.strategy = (enum sl_strategy)below(&p, 2);
        q->policy.within = (enum sl_within)below(&p, 3);
        q->policy.reclaim = (enum sl_reclaim)below(&p, 3);
        if (q->policy.reclaim != SL_RECLAIM_NEVER || w->config.fair_sharing)
            q->policy.borrow_within = (enum sl_borrow_within)below(&p, 2);
        q->policy.has_borrow_threshold = q->policy.borrow_within && one_in(&p, 2);
        q->policy.borrow_threshold = below(&p, 4);
        q->policy.when_can_borrow = (enum sl_when)below(&p, 2);
        q->policy.when_can_preempt = (enum sl_when)below(&p, 2);
        q->policy.preference = (enum sl_preference)below(&p, 2);
        q->policy.weight_nano = below(&p, 3) * SL_WEIGHT_ONE;
        q->stop = one_in(&p, 12) ? SL_STOP_HOLD : SL_STOP_NONE;
        for (int k = 0; k < LQS_EACH; k++)
            q->lq_stop[k] = one_in(&p, 12) ? SL_STOP_HOLD : SL_STOP_NONE;
    }
    w->n_running = below(&p, 11);
    w->n_wls = w->n_running + 1 + below(&p, 7);
    for (int i = 0; i < w->n_wls; i++)
        some_workload(&p, w, &w->wls[i], i);
}

/* ---- applying it ---- */

bool verbose;

void must(int r, const struct sl_err *err) {
    if (r < 0) {
        printf("refused: %s\n", err->text);
        abort();
    }
}

static void apply_fact(struct copy *x, struct sl_fact f, sl_wl_id *ret) {
    struct sl_err err = {0};
    f.at = NOW;
    must(sl_engine_apply(x->e, &f, ret, &err), &err);
}

void tell_wl(struct copy *x, enum sl_fact_kind kind, int i) {
    apply_fact(x, (struct sl_fact){.kind = kind, .wl = x->id[i]}, NULL);
}

static char name_of[5][WLS][16];

const char *name(char kind, int i) {
    static const char kinds[] = "cqflw";
    char *at = name_of[strchr(kinds, kind) - kinds][i];
    (void)snprintf(at, sizeof name_of[0][0], "%c%d", kind, i);
    return at;
}

/* Flavors and resources of a node as one group, or as one per resource. */
struct groups {
    struct sl_group_spec g[RES];
    struct sl_flavor_quotas flavors[FLAVORS];
    struct sl_groups all;
};

static void node_groups(const struct world *w, const struct node_says *n, struct groups *g) {
    int cut = w->n_flavors / 2;
    for (int f = 0; f < w->n_flavors; f++)
        g->flavors[f] =
            (struct sl_flavor_quotas){name('f', f), &n->q[f][w->split && f >= cut ? 1 : 0]};
    if (w->split) {
        g->g[0] = (struct sl_group_spec){resources, 1, g->flavors, (uint32_t)cut};
        g->g[1] = (struct sl_group_spec){resources + 1, 1, g->flavors + cut,
                                         (uint32_t)(w->n_flavors - cut)};
    } else {
        g->g[0] = (struct sl_group_spec){resources, (uint32_t)w->n_res, g->flavors,
                                         (uint32_t)w->n_flavors};
    }
    g->all = (struct sl_groups){g->g, !n->listed ? 0 : w->split ? 2 : 1};
}

void tell_cohort(struct copy *x, const struct world *w, int i) {
    struct groups g;
    const struct node_says *n = &w->cohorts[i];
    node_groups(w, n, &g);
    struct sl_fact f = {.kind = SL_FACT_COHORT};
    f.cohort = (struct sl_cohort_spec){name('c', i), n->parent < 0 ? "" : name('c', n->parent),
                                       g.all, SL_WEIGHT_ONE};
    apply_fact(x, f, NULL);
}

void tell_cq(struct copy *x, const struct world *w, int i) {
    struct groups g;
    const struct cq_says *q = &w->cqs[i];
    node_groups(w, &q->node, &g);
    struct sl_fact f = {.kind = SL_FACT_CLUSTER_QUEUE, .cq = q->policy};
    f.cq.name = name('q', i);
    f.cq.cohort = q->node.parent < 0 ? "" : name('c', q->node.parent);
    f.cq.groups = g.all;
    f.cq.stop = x->stops ? q->stop : SL_STOP_NONE;
    apply_fact(x, f, NULL);
}

void tell_lq(struct copy *x, const struct world *w, int cq, int k) {
    struct sl_fact f = {.kind = SL_FACT_LOCAL_QUEUE};
    f.lq = (struct sl_lq_spec){"ns", name('l', cq * LQS_EACH + k), name('q', cq),
                               x->stops ? w->cqs[cq].lq_stop[k] : SL_STOP_NONE, SL_WEIGHT_ONE};
    apply_fact(x, f, NULL);
}

void tell_workload(struct copy *x, const struct world *w, int i) {
    static const struct sl_toleration any = {"t", "", true, SL_TAINT_ANY};
    const struct wl_says *l = &w->wls[i];
    struct sl_label labels[PODSETS];
    struct sl_request asks[PODSETS][RES];
    struct sl_podset_spec ps[PODSETS];
    for (uint32_t k = 0; k < l->n; k++) {
        const struct podset_says *s = &l->ps[k];
        ps[k] = (struct sl_podset_spec){.name = k ? "workers" : "main",
                                        .count = s->count,
                                        .min_count = s->min,
                                        .requests = asks[k],
                                        .group = ""};
        for (int r = 0; r < w->n_res; r++)
            if (s->ask[r])
                asks[k][ps[k].n_requests++] =
                    (struct sl_request){resources[r], (sl_quantity)s->ask[r] * SL_NANO};
        if (s->tolerates) {
            ps[k].tolerations = &any;
            ps[k].n_tolerations = 1;
        }
        if (s->zone >= 0) {
            labels[k] = (struct sl_label){"zone", zones[s->zone]};
            ps[k].node_selector = (struct sl_labels){&labels[k], 1};
        }
    }
    struct sl_err err = {0};
    struct sl_fact f = {.kind = SL_FACT_WORKLOAD};
    f.workload = (struct sl_workload_spec){.ns = "ns",
                                           .name = name('w', i),
                                           .uid = name('w', i),
                                           .queue = name('l', l->cq * LQS_EACH + l->lq),
                                           .priority = l->priority,
                                           .created = l->created,
                                           .inactive = l->inactive,
                                           .gated_by = l->gated ? "somebody" : "",
                                           .on_hold = l->on_hold};
    must(sl_engine_shape(x->e, ps, l->n, &f.workload.shape, &err), &err);
    apply_fact(x, f, &x->id[i]);
    sl_engine_shape_release(x->e, f.workload.shape);
}

struct sl_engine_wl_view look(const struct copy *x, int i) {
    struct sl_engine_wl_view v;
    (void)sl_engine_workload(x->e, x->id[i], &v);
    return v;
}

bool holds(const struct copy *x, int i) {
    struct sl_engine_wl_view v = look(x, i);
    return v.phase == SL_PHASE_ADMITTED || v.phase == SL_PHASE_RESERVED;
}

void cycle(struct copy *x) {
    sl_effects_clear(&x->out);
    sl_engine_cycle(x->e, NOW, &x->out);
    for (uint32_t i = 0; verbose && i < x->out.v.n; i++)
        printf("      %s %s\n", sl_effect_name(x->out.v.v[i].kind), x->out.v.v[i].name);
}

bool evicts(const struct copy *x) {
    for (uint32_t i = 0; i < x->out.v.n; i++)
        if (x->out.v.v[i].kind == SL_EFFECT_EVICT)
            return true;
    return false;
}

bool release(struct copy *x, const struct world *w) {
    bool any = false;
    for (int i = 0; i < w->n_wls; i++)
        if (look(x, i).evicting) {
            tell_wl(x, x->stale[i] ? SL_FACT_WORKLOAD_GONE : SL_FACT_RELEASED, i);
            any = true;
        }
    return any;
}

void build(struct copy *x, const struct world *w) {
    *x = (struct copy){.e = sl_engine_new(NULL)};
    sl_effects_init(&x->out);
    apply_fact(x, (struct sl_fact){.kind = SL_FACT_CONFIG, .config = w->config}, NULL);
    for (int i = 0; i < w->n_flavors; i++) {
        struct sl_taint taint = {"t", "", SL_TAINT_NO_SCHEDULE};
        struct sl_label label = {"zone", w->zone[i] < 0 ? "" : zones[w->zone[i]]};
        struct sl_fact f = {.kind = SL_FACT_FLAVOR};
        f.flavor = (struct sl_flavor_spec){.name = name('f', i),
                                           .labels = {&label, w->zone[i] >= 0},
                                           .taints = &taint,
                                           .n_taints = w->tainted[i]};
        apply_fact(x, f, NULL);
    }
    for (int i = 0; i < w->n_cohorts; i++)
        tell_cohort(x, w, i);
    for (int i = 0; i < w->n_cqs; i++) {
        tell_cq(x, w, i);
        for (int k = 0; k < LQS_EACH; k++)
            tell_lq(x, w, i, k);
    }
    for (int i = 0; i < w->n_running; i++)
        tell_workload(x, w, i);
    cycle(x);
    for (int k = 0; k < ROUNDS && release(x, w); k++)
        cycle(x);
    for (int i = 0; i < w->n_running; i++)
        if (!holds(x, i))
            tell_wl(x, SL_FACT_WORKLOAD_GONE, i);
    x->stops = true;
    for (int i = 0; i < w->n_cqs; i++) {
        tell_cq(x, w, i);
        for (int k = 0; k < LQS_EACH; k++)
            tell_lq(x, w, i, k);
    }
    cycle(x);
    for (int i = w->n_running; i < w->n_wls; i++)
        tell_workload(x, w, i);
    if (w->cycled)
        cycle(x);
}

void copy_done(struct copy *x) {
    sl_effects_done(&x->out);
    sl_engine_freep(&x->e);
}

void build_alone(struct copy *x, const struct world *w, int keep) {
    build(x, w);
    for (int i = 0; i < w->n_wls; i++) {
        x->stale[i] = look(x, i).evicting;
        if (i != keep && look(x, i).phase != SL_PHASE_GONE && !holds(x, i))
            tell_wl(x, SL_FACT_WORKLOAD_GONE, i);
    }
}

bool admitted_in_time(struct copy *x, const struct world *w, int i) {
    for (int k = 0; k < ROUNDS; k++) {
        cycle(x);
        if (holds(x, i))
            return true;
        if (!release(x, w))
            return false;
    }
    return false;
}
