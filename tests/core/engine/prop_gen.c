/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generator: a small random tree and what happens in it. Numbers are small so that things
 * collide: equal shapes, equal times, quotas just reached.
 */
#include <stdio.h>
#include <string.h>

#include "properties.h"

/* ---- the world ---- */

static sl_amount unit(int res) {
    return res == 0 ? 1000 : 1; /* cores, pieces */
}

static void random_limits(struct run *r, struct orc_quota *q, int res, bool has_parent) {
    q->borrow = q->lend = SL_AMOUNT_NONE;
    if (!prop_has(r, PROP_LIMITS) || !has_parent)
        return;
    if (prop_one_in(r, 4))
        q->borrow = prop_pick(r, 0, 4) * unit(res);
    if (prop_one_in(r, 4) && q->nominal != SL_AMOUNT_UNLIMITED)
        q->lend = prop_pick(r, 0, (int)(q->nominal / unit(res))) * unit(res);
}

static void random_quota(struct run *r, struct orc_quota *q, int res, bool has_parent, int most) {
    q->listed = true;
    q->nominal = (prop_one_in(r, 5) ? 0 : prop_pick(r, 1, most)) * unit(res);
    if (res == ORC_PODS)
        q->nominal += 2;
    if (prop_has(r, PROP_UNLIMITED) && prop_one_in(r, 12))
        q->nominal = SL_AMOUNT_UNLIMITED;
    random_limits(r, q, res, has_parent);
}

/* All quotas of the groups a node already has. */
static void random_quotas(struct run *r, struct orc_node *n, int most) {
    memset(n->q, 0, sizeof n->q);
    for (int g = 0; g < n->n_groups; g++)
        for (int f = 0; f < n->group[g].n_flavors; f++)
            for (int k = 0; k < n->group[g].n_res; k++) {
                int res = n->group[g].res[k];
                random_quota(r, &n->q[orc_fr(n->group[g].flavor[f], res)], res, n->parent >= 0,
                             most);
            }
}

static void shuffle(struct run *r, int *v, int n) {
    for (int i = n - 1; i > 0; i--) {
        int j = prop_pick(r, 0, i), x = v[i];
        v[i] = v[j];
        v[j] = x;
    }
}

static void random_groups(struct run *r, struct orc_node *n) {
    int flavor[ORC_FLAVORS], n_fl = r->n_flavors;
    bool two = prop_has(r, PROP_GROUPS) && r->n_res > 1 && n_fl > 1 && prop_one_in(r, 2);

    memset(n->group, 0, sizeof n->group);
    for (int i = 0; i < n_fl; i++)
        flavor[i] = i;
    shuffle(r, flavor, n_fl);
    if (n_fl > 1 && prop_one_in(r, 3) && !(two && n_fl == 2))
        n_fl--;
    n->n_groups = two ? 2 : 1;
    for (int i = 0; i < n_fl; i++) {
        struct orc_group *g = &n->group[two && i >= (n_fl + 1) / 2];
        g->flavor[g->n_flavors++] = flavor[i];
    }
    for (int res = 0; res < r->n_res; res++) {
        struct orc_group *g = &n->group[two && res == 1];
        g->res[g->n_res++] = res;
    }
    if (prop_has(r, PROP_PODS) && prop_one_in(r, 2)) {
        struct orc_group *g = &n->group[prop_pick(r, 0, n->n_groups - 1)];
        g->res[g->n_res++] = ORC_PODS;
    }
    for (int g = 0; g < n->n_groups; g++)
        shuffle(r, n->group[g].res, n->group[g].n_res);
}

static int64_t random_weight(struct run *r) {
    static const int64_t weight[] = {1000000000, 1000000000, 2000000000, 500000000, 0, 333333333};
    return prop_has(r, PROP_WEIGHTS) ? weight[prop_pick(r, 0, 5)] : 1000000000;
}

static struct orc_node random_node(struct run *r, int parent, int most) {
    struct orc_node n = {.parent = parent, .weight_nano = random_weight(r)};

    random_groups(r, &n);
    random_quotas(r, &n, most);
    return n;
}

static void random_fungibility(struct run *r, struct orc_cq *p) {
    p->when_borrow = SL_MAY_STOP_SEARCH;
    p->when_preempt = SL_TRY_NEXT_FLAVOR;
    p->preference = SL_BORROWING_OVER_PREEMPTION;
    if (!prop_has(r, PROP_FUNGIBILITY))
        return;
    p->when_borrow = prop_one_in(r, 2) ? SL_TRY_NEXT_FLAVOR : SL_MAY_STOP_SEARCH;
    p->when_preempt = prop_one_in(r, 2) ? SL_TRY_NEXT_FLAVOR : SL_MAY_STOP_SEARCH;
    if (p->when_borrow == SL_TRY_NEXT_FLAVOR && p->when_preempt == SL_TRY_NEXT_FLAVOR &&
        prop_one_in(r, 2))
        p->preference = SL_PREEMPTION_OVER_BORROWING;
}

static void random_preemption(struct run *r, struct orc_cq *p) {
    p->within = SL_WITHIN_NEVER;
    p->reclaim = SL_RECLAIM_NEVER;
    p->borrow_within = SL_BORROW_NEVER;
    p->has_threshold = false;
    p->threshold = 0;
    if (!prop_has(r, PROP_PREEMPT))
        return;
    if (!prop_one_in(r, 4))
        p->within = (enum sl_within)prop_pick(r, 1, 2);
    if (!prop_one_in(r, 4))
        p->reclaim = (enum sl_reclaim)prop_pick(r, 1, 2);
    if (p->reclaim != SL_RECLAIM_NEVER && prop_has(r, PROP_BORROW_WITHIN) && !prop_one_in(r, 4)) {
        p->borrow_within = SL_BORROW_LOWER;
        p->has_threshold = prop_one_in(r, 2);
        p->threshold = p->has_threshold ? prop_pick(r, 0, 3) : 0;
    }
}

static struct orc_cq random_policy(struct run *r) {
    struct orc_cq p = {0};

    p.strategy = SL_BEST_EFFORT_FIFO;
    if (!prop_has(r, PROP_BEST_EFFORT) || (prop_has(r, PROP_STRICT) && prop_one_in(r, 3)))
        p.strategy = SL_STRICT_FIFO;
    random_preemption(r, &p);
    random_fungibility(r, &p);
    if (prop_has(r, PROP_NAMESPACE) && prop_one_in(r, 3)) {
        p.selects = prop_one_in(r, 8) ? ORC_NS_NOTHING : ORC_NS_TEAM;
        p.team = prop_pick(r, 0, 1);
    }
    return p;
}

static struct orc_flavor random_flavor(struct run *r) {
    struct orc_flavor f = {0};

    for (int k = 0; k < ORC_KEYS && prop_has(r, PROP_TAINTS); k++) {
        f.label[k] = prop_one_in(r, 2) ? prop_pick(r, 1, 2) : 0;
        if (prop_one_in(r, 8)) {
            int t = prop_pick(r, 1, 3);
            f.taint[k] = t == 1   ? ORC_TAINT_NO_SCHEDULE
                         : t == 2 ? ORC_TAINT_PREFER
                                  : ORC_TAINT_NO_EXECUTE;
        }
        f.tolerates[k] = prop_one_in(r, 12);
    }
    return f;
}

static int random_parent(struct run *r, int below) {
    return below > 0 && !prop_one_in(r, 8) ? ORC_CQS + prop_pick(r, 0, below - 1) : -1;
}

static void new_cq(struct run *r, int cq) {
    struct orc_node n = random_node(r, random_parent(r, r->n_cohorts), 7);
    struct orc_cq p = random_policy(r);

    prop_cq(r, cq, &n, &p);
}

static struct orc_config random_config(struct run *r) {
    struct orc_config c = {.gates = SL_GATES_DEFAULT, .n_strategy = 2};

    c.fair = prop_has(r, PROP_FAIR);
    c.strategy[0] = SL_FAIR_FINAL_SHARE;
    c.strategy[1] = SL_FAIR_INITIAL_SHARE;
    if (prop_one_in(r, 4)) {
        c.n_strategy = 1;
        c.strategy[0] = prop_one_in(r, 2) ? SL_FAIR_FINAL_SHARE : SL_FAIR_INITIAL_SHARE;
    }
    if (prop_has(r, PROP_GATES)) {
        static const enum sl_gate may[] = {
            SL_GATE_PRIORITY_BOOST, SL_GATE_PRIORITY_SORTING_WITHIN_COHORT,
            SL_GATE_SCHEDULING_EQUIVALENCE_HASHING, SL_GATE_FAIR_SHARING_PREEMPT_WITHIN_NOMINAL,
            SL_GATE_FAIR_SHARING_PRIORITIZE_NON_BORROWING};
        for (size_t i = 0; i < SL_LEN(may); i++)
            if (prop_one_in(r, 3))
                c.gates ^= UINT32_C(1) << may[i];
    }
    c.ignore_undeclared = prop_has(r, PROP_UNCOVERED) && prop_one_in(r, 4);
    return c;
}

void prop_world(struct run *r) {
    struct orc_config c;

    sl_prng_init(&r->rng, r->seed * 1000003);
    /* Each history has some of the features: small mixtures find more than everything at once. */
    r->on = 0;
    for (int f = 0; f < PROP_N_FEATURES; f++)
        if (prop_one_in(r, 2))
            r->on |= UINT64_C(1) << f;
    if (!prop_one_in(r, 5))
        r->on |=
            UINT64_C(1) << PROP_COHORT | UINT64_C(1) << PROP_PREEMPT | UINT64_C(1) << PROP_PRIORITY;
    if (prop_one_in(r, 4))
        r->on &= ~(UINT64_C(1) << PROP_FAIR);
    if (!prop_one_in(r, 8))
        r->on |= UINT64_C(1) << PROP_BEST_EFFORT;
    r->on &= ~r->off;
    r->n_steps = prop_pick(r, 30, PROP_STEPS);
    r->n_cqs = prop_one_in(r, 4) ? prop_pick(r, 1, 8) : prop_pick(r, 2, 4);
    r->n_cohorts = !prop_has(r, PROP_COHORT) ? 0
                   : prop_has(r, PROP_DEEP)  ? prop_pick(r, 1, 4)
                                             : prop_pick(r, 1, 2);
    r->n_flavors = prop_has(r, PROP_FLAVORS) ? prop_pick(r, 2, 3) : 1;
    r->n_res = prop_has(r, PROP_MEMORY) ? 2 : 1;
    r->n_lqs = r->n_cqs + (prop_has(r, PROP_LQ) ? prop_pick(r, 0, 3) : 0);
    r->now = 1000 * SL_SEC;

    c = random_config(r);
    r->o->config = c;
    prop_config(r);
    for (int ns = 0; ns < ORC_NSS; ns++)
        prop_ns(r, ns, prop_pick(r, 0, 1));
    for (int f = 0; f < r->n_flavors; f++) {
        struct orc_flavor fl = random_flavor(r);
        prop_flavor(r, f, &fl);
    }
    for (int k = 0; k < r->n_cohorts && prop_has(r, PROP_DEEP); k++) {
        struct orc_node n = {.parent = random_parent(r, k), .weight_nano = random_weight(r)};
        if (n.parent < 0 && prop_one_in(r, 3))
            continue; /* implicit */
        if (prop_one_in(r, 2)) {
            random_groups(r, &n);
            random_quotas(r, &n, 3);
        }
        prop_cohort(r, ORC_CQS + k, &n);
    }
    for (int q = 0; q < r->n_cqs; q++)
        if (!prop_has(r, PROP_LATE) || !prop_one_in(r, 8))
            new_cq(r, q);
    for (int l = 0; l < r->n_lqs; l++) {
        struct orc_lq lq = {.ns = prop_pick(r, 0, ORC_NSS - 1),
                            .cq = l < r->n_cqs ? l : prop_pick(r, 0, r->n_cqs - 1)};
        prop_lq(r, l, &lq);
    }
}

/* ---- workloads ---- */

static void random_placement(struct run *r, struct orc_podset *ps) {
    for (int k = 0; k < ORC_KEYS; k++) {
        if (prop_one_in(r, 8))
            ps->selector[k] = prop_pick(r, 1, 2);
        if (prop_one_in(r, 2)) {
            int t = prop_pick(r, 1, 5);
            ps->tol[k] = t == 1   ? ORC_TOL_WRONG_VALUE
                         : t == 2 ? ORC_TOL_NO_SCHEDULE
                                  : ORC_TOL_EXISTS;
        }
    }
    if (!prop_one_in(r, 10))
        return;
    ps->n_terms = prop_pick(r, 1, ORC_TERMS);
    for (int t = 0; t < ps->n_terms; t++) {
        ps->term[t].n = prop_pick(r, 1, ORC_KEYS);
        for (int i = 0; i < ps->term[t].n; i++)
            ps->term[t].rule[i] = (struct orc_rule){
                i, (enum orc_op)prop_pick(r, 0, ORC_OP_NOT_EXISTS), prop_pick(r, 1, 2)};
    }
}

static struct orc_podset random_podset(struct run *r) {
    struct orc_podset ps = {.count = prop_one_in(r, 4) ? prop_pick(r, 2, 4) : 1};

    ps.asks[0] = true;
    /* One throw of the dice a statement: compilers differ in the order of arguments. */
    int most = prop_one_in(r, 4) ? 4 : 2, least = prop_one_in(r, 12) ? 0 : 1;
    ps.each[0] = prop_pick(r, least, most) * INT64_C(1000);
    if (prop_has(r, PROP_MEMORY) && !prop_one_in(r, 3)) {
        ps.asks[1] = true;
        ps.each[1] = prop_pick(r, 0, prop_one_in(r, 4) ? 4 : 2);
    }
    if (prop_has(r, PROP_UNCOVERED) && prop_one_in(r, 10)) {
        ps.asks[2] = true;
        ps.each[2] = prop_pick(r, 0, 1);
    }
    if (prop_has(r, PROP_TAINTS))
        random_placement(r, &ps);
    return ps;
}

struct orc_wl_spec prop_random_workload(struct run *r) {
    struct orc_wl_spec s = {.lq = prop_pick(r, 0, r->n_lqs - 1), .n = 1};

    /* The serial number in the middle keeps uids apart while their order is random. */
    (void)snprintf(s.uid, sizeof s.uid, "%02x-%02d", prop_pick(r, 0, 255), r->created++);
    if (prop_has(r, PROP_PRIORITY))
        s.priority = prop_one_in(r, 3) ? 0 : prop_pick(r, -1, 3);
    if (prop_has(r, PROP_GATES) && prop_one_in(r, 4))
        s.boost = prop_pick(r, -2, 2);
    s.created = r->now - prop_pick(r, 0, 3) * SL_SEC;
    if (prop_has(r, PROP_PODSETS) && prop_one_in(r, 2))
        s.n = prop_pick(r, 2, ORC_PODSETS);
    for (int p = 0; p < s.n; p++)
        s.ps[p] = random_podset(r);
    if (s.n > 1 && prop_has(r, PROP_TOGETHER) && prop_one_in(r, 2)) {
        int at = prop_pick(r, 0, s.n - 2);
        s.ps[at].group = s.ps[at + 1].group = 1;
    }
    if (prop_has(r, PROP_PARTIAL) && prop_one_in(r, 3)) {
        struct orc_podset *ps = &s.ps[prop_pick(r, 0, s.n - 1)];
        ps->count = prop_pick(r, 2, 5);
        ps->min_count = prop_pick(r, 1, ps->count - 1);
    }
    if (prop_has(r, PROP_INACTIVE)) {
        s.gated = prop_one_in(r, 12);
        s.on_hold = prop_one_in(r, 20);
        s.inactive = prop_one_in(r, 20);
        s.invalid = prop_one_in(r, 25);
    }
    return s;
}

/* ---- what happens ---- */

/* A random workload in this state (evicting or not); -1: none. */
static int some(struct run *r, enum orc_state state, int evicting) {
    int list[ORC_WLS], n = 0;

    for (int w = 0; w < r->o->n_wls; w++)
        if (r->o->wl[w].state == state && (evicting < 0 || r->o->wl[w].evicting == evicting))
            list[n++] = w;
    return n ? list[prop_pick(r, 0, n - 1)] : -1;
}

static bool same_podsets(const struct orc_wl_spec *a, const struct orc_wl_spec *b) {
    bool same = a->n == b->n;

    for (int p = 0; p < a->n && same; p++)
        for (int k = 0; k < ORC_RES; k++)
            same &= a->ps[p].asks[k] == b->ps[p].asks[k] && a->ps[p].each[k] == b->ps[p].each[k];
    return same;
}

static void step_create(struct run *r) {
    struct orc_wl_spec s;
    int burst = prop_one_in(r, 6) ? prop_pick(r, 2, 5) : 1;

    if (r->o->n_wls >= PROP_JOBS)
        return;
    s = prop_random_workload(r);
    /* Often a copy of one that is there: classes of equals. */
    if (r->o->n_wls > 0 && prop_one_in(r, 2)) {
        const struct orc_wl_spec *old = &r->o->wl[prop_pick(r, 0, r->o->n_wls - 1)].spec;
        s.lq = old->lq;
        s.priority = old->priority;
        s.boost = old->boost;
        s.n = old->n;
        memcpy(s.ps, old->ps, sizeof s.ps);
    }
    /* Being well formed goes with the shape, as the scheduling hash takes it (rule 1.3.15). */
    for (int w = 0; w < r->o->n_wls; w++)
        if (same_podsets(&s, &r->o->wl[w].spec))
            s.invalid = r->o->wl[w].spec.invalid;
    for (; burst > 0 && r->o->n_wls < PROP_JOBS; burst--) {
        prop_create(r, &s);
        (void)snprintf(s.uid, sizeof s.uid, "%02x-%02d", prop_pick(r, 0, 255), r->created++);
    }
}

static void step_finish(struct run *r) {
    int w = some(r, ORC_RESERVED, prop_one_in(r, 8) ? -1 : 0);

    if (w < 0)
        step_create(r);
    else
        prop_finish(r, w);
}

static void step_release(struct run *r) {
    int n = prop_one_in(r, 2) ? 1 : 8, w;

    if (some(r, ORC_RESERVED, 1) < 0)
        step_create(r);
    while (n-- > 0 && (w = some(r, ORC_RESERVED, 1)) >= 0)
        prop_release(r, w);
}

static void step_delete(struct run *r) {
    int w = some(r, prop_one_in(r, 2) ? ORC_PENDING : ORC_RESERVED, -1);

    if (w >= 0)
        prop_delete(r, w);
}

static void step_edit_cq(struct run *r) {
    int cq = prop_pick(r, 0, r->n_cqs - 1);
    struct orc_node n = r->o->node[cq];
    struct orc_cq p = r->o->cq[cq];

    if (!n.exists)
        return;
    if (prop_one_in(r, 5)) {
        random_preemption(r, &p);
    } else if (prop_one_in(r, 5)) {
        random_fungibility(r, &p);
    } else if (prop_one_in(r, 8)) {
        random_groups(r, &n);
        random_quotas(r, &n, 7);
    } else if (prop_one_in(r, 8)) {
        n.weight_nano = random_weight(r);
    } else {
        struct orc_group *g = &n.group[prop_pick(r, 0, n.n_groups - 1)];
        int res = g->res[prop_pick(r, 0, g->n_res - 1)];
        int fr = orc_fr(g->flavor[prop_pick(r, 0, g->n_flavors - 1)], res);
        random_quota(r, &n.q[fr], res, n.parent >= 0, 8);
    }
    r->lowered = true;
    prop_cq(r, cq, &n, &p);
}

static void step_edit_cohort(struct run *r) {
    int node = ORC_CQS + prop_pick(r, 0, r->n_cohorts > 0 ? r->n_cohorts - 1 : 0);
    struct orc_node n = r->o->node[node];

    if (!prop_has(r, PROP_DEEP) || r->n_cohorts == 0)
        return;
    r->lowered = true;
    if (n.exists && prop_has(r, PROP_MOVE) && prop_one_in(r, 8)) {
        prop_cohort_gone(r, node);
        return;
    }
    if (!n.exists)
        n = (struct orc_node){.parent = -1, .weight_nano = 1000000000};
    if (prop_has(r, PROP_MOVE) && prop_one_in(r, 3))
        n.parent = random_parent(r, node - ORC_CQS);
    if (n.n_groups == 0)
        random_groups(r, &n);
    random_quotas(r, &n, 4);
    prop_cohort(r, node, &n);
}

static void step_move(struct run *r) {
    int cq = prop_pick(r, 0, r->n_cqs - 1);
    struct orc_node n = r->o->node[cq];

    if (!n.exists || r->n_cohorts == 0)
        return;
    n.parent = random_parent(r, r->n_cohorts);
    for (int fr = 0; fr < ORC_FRS; fr++)
        if (n.q[fr].listed && n.parent < 0)
            n.q[fr].borrow = n.q[fr].lend = SL_AMOUNT_NONE;
    r->lowered = true;
    prop_cq(r, cq, &n, &r->o->cq[cq]);
}

static void step_stop(struct run *r) {
    int cq = prop_pick(r, 0, r->n_cqs - 1);
    struct orc_cq p = r->o->cq[cq];
    struct orc_node n = r->o->node[cq];

    if (!n.exists)
        return;
    p.stop = p.stop != SL_STOP_NONE ? SL_STOP_NONE
             : prop_one_in(r, 2)    ? SL_STOP_HOLD
                                    : SL_STOP_HOLD_AND_DRAIN;
    prop_cq(r, cq, &n, &p);
    prop_cycle(r); /* a drain is seen before it is taken back */
}

static void step_lq(struct run *r) {
    int l = prop_pick(r, 0, r->n_lqs - 1);
    struct orc_lq lq = r->o->lq[l];

    if (!lq.exists) {
        prop_lq(r, l, &lq);
    } else if (prop_one_in(r, 4)) {
        prop_lq_gone(r, l);
    } else if (prop_one_in(r, 4)) {
        lq.cq = prop_pick(r, 0, r->n_cqs - 1);
        if (lq.cq != r->o->lq[l].cq)
            prop_lq(r, l, &lq);
    } else if (prop_has(r, PROP_STOP)) {
        lq.stop = lq.stop != SL_STOP_NONE ? SL_STOP_NONE
                  : prop_one_in(r, 2)     ? SL_STOP_HOLD
                                          : SL_STOP_HOLD_AND_DRAIN;
        prop_lq(r, l, &lq);
    }
    prop_cycle(r);
}

static void step_requeue_elsewhere(struct run *r) {
    int w = some(r, ORC_PENDING, -1), l = prop_pick(r, 0, r->n_lqs - 1);
    struct orc_wl_spec s;

    if (w < 0 || r->o->lq[l].ns != r->o->lq[r->o->wl[w].spec.lq].ns)
        return;
    s = r->o->wl[w].spec;
    if (s.lq == l || s.inactive)
        return;
    s.lq = l;
    prop_update(r, w, &s);
}

static void step_priority(struct run *r) {
    int w = some(r, prop_one_in(r, 2) ? ORC_PENDING : ORC_RESERVED, -1);
    struct orc_wl_spec s;

    if (w < 0)
        return;
    s = r->o->wl[w].spec;
    s.priority += prop_one_in(r, 2) ? 1 : -1;
    prop_update(r, w, &s);
}

static void step_reclaimable(struct run *r) {
    int w = some(r, prop_one_in(r, 4) ? ORC_PENDING : ORC_RESERVED, -1), c[ORC_PODSETS] = {0};
    bool more = false;

    if (w < 0)
        return;
    for (int p = 0; p < r->o->wl[w].spec.n; p++) {
        const struct orc_podset *ps = &r->o->wl[w].spec.ps[p];
        if (ps->min_count)
            return; /* the count to reclaim from would be another one */
        c[p] = prop_pick(r, r->o->wl[w].reclaimed[p], ps->count);
        more |= c[p] != r->o->wl[w].reclaimed[p];
    }
    if (more)
        prop_reclaimable(r, w, c);
}

static void step_inactive(struct run *r) {
    int w = some(r, prop_one_in(r, 3) ? ORC_RESERVED : ORC_PENDING, 0);
    struct orc_wl_spec s;

    if (w < 0)
        return;
    s = r->o->wl[w].spec;
    if (s.gated || s.on_hold)
        s.gated = s.on_hold = false;
    else
        s.inactive = !s.inactive;
    prop_update(r, w, &s);
    prop_cycle(r);
}

static void step_flavor(struct run *r) {
    int f = prop_pick(r, 0, r->n_flavors - 1);
    struct orc_flavor fl = r->o->flavor[f];

    if (fl.exists)
        prop_flavor_gone(r, f);
    else
        prop_flavor(r, f, &fl);
}

static void step_late(struct run *r) {
    int q = prop_pick(r, 0, r->n_cqs - 1);

    if (!r->o->node[q].exists) {
        new_cq(r, q);
        return;
    }
    for (int w = 0; w < r->o->n_wls; w++)
        if (r->o->wl[w].state == ORC_RESERVED && r->o->wl[w].cq == q)
            return; /* its finalizer would keep it */
    r->lowered = true;
    prop_cq_gone(r, q);
}

void prop_step(struct run *r) {
    static const struct {
        int weight;
        int needs; /* feature, -1: none */
        void (*what)(struct run *);
    } op[] = {
        {34, -1, step_create},
        {12, -1, step_finish},
        {16, -1, step_release},
        {4, -1, step_delete},
        {7, PROP_EDIT, step_edit_cq},
        {5, PROP_EDIT, step_edit_cohort},
        {2, PROP_MOVE, step_move},
        {3, PROP_STOP, step_stop},
        {3, PROP_LQ, step_lq},
        {2, PROP_LQ, step_requeue_elsewhere},
        {4, PROP_REPRIO, step_priority},
        {5, PROP_RECLAIM, step_reclaimable},
        {4, PROP_INACTIVE, step_inactive},
        {2, PROP_FLAVOR_OPS, step_flavor},
        {3, PROP_LATE, step_late},
    };
    int total = 0, at;

    for (size_t i = 0; i < SL_LEN(op); i++)
        if (op[i].needs < 0 || prop_has(r, (enum prop_feature)op[i].needs))
            total += op[i].weight;
    at = prop_pick(r, 0, total - 1);
    for (size_t i = 0; i < SL_LEN(op); i++) {
        if (op[i].needs >= 0 && !prop_has(r, (enum prop_feature)op[i].needs))
            continue;
        if (at < op[i].weight) {
            op[i].what(r);
            break;
        }
        at -= op[i].weight;
    }
    if (prop_has(r, PROP_NAMESPACE) && prop_one_in(r, 25)) {
        int team = prop_pick(r, 0, 1);
        prop_ns(r, prop_pick(r, 0, ORC_NSS - 1), team);
    }
}
