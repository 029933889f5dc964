/*
 * Explanations are true and every suggestion works. A random small world is a plain struct that can be
 * told to any number of engines. Every waiting workload is explained; what the explanation says is
 * then compared with what happens in fresh copies of the world, in which the other waiting workloads
 * are deleted, because a verdict and a suggestion are about this workload alone.
 *
 * prop_explain [--seed N [--verbose]]; SL_SEEDS says how much to try.
 */
#include "base/hash.h"
#include "base/prng.h"
#include "engine/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COHORTS = 3,
    CQS = 5,
    FLAVORS = 3,
    RES = 2,
    PODSETS = 2,
    WLS = 20,
    LQS_EACH = 2,
    ROUNDS = 10,
    DIGEST_WORLDS = 100,
};

static const char *const resources[RES] = {"cpu", "gpu"};
static const char *const zones[] = {"a", "b"};
static const sl_time NOW = 1000 * SL_SEC;

/* ---- a world ---- */

struct node_says {
    int parent; /* cohort, -1: none */
    bool listed;
    struct sl_quota q[FLAVORS][RES];
};

struct cq_says {
    struct node_says node;
    struct sl_cq_spec policy; /* only its numbers */
    enum sl_stop stop, lq_stop[LQS_EACH];
};

struct podset_says {
    int32_t count, min;
    int64_t ask[RES]; /* whole units per pod */
    bool tolerates;
    int zone; /* -1: any */
};

struct wl_says {
    int cq, lq;
    int32_t priority;
    sl_time created;
    bool inactive, gated, on_hold;
    uint32_t n;
    struct podset_says ps[PODSETS];
};

struct world {
    uint64_t seed;
    struct sl_config config;
    int n_cohorts, n_cqs, n_flavors, n_res, n_running, n_wls;
    bool split;  /* each resource has a group and flavors of its own */
    bool cycled; /* one cycle has run since the waiting ones came */
    struct node_says cohorts[COHORTS];
    struct cq_says cqs[CQS];
    bool tainted[FLAVORS];
    int zone[FLAVORS];
    struct wl_says wls[WLS]; /* the first n_running are there to hold quota */
};

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

static void world_make(struct world *w, uint64_t seed) {
    struct sl_prng p;
    sl_prng_init(&p, seed);
    *w = (struct world){.seed = seed, .config = sl_config_default};
    if (one_in(&p, 4)) {
        w->config.fair_sharing = true;
        w->config.n_fair = 1 + (uint32_t)below(&p, 2);
        w->config.fair[0] = one_in(&p, 2) ? SL_FAIR_FINAL_SHARE : SL_FAIR_INITIAL_SHARE;
        w->config.fair[1] = w->config.fair[0] == SL_FAIR_FINAL_SHARE ? SL_FAIR_INITIAL_SHARE
                                                                     : SL_FAIR_FINAL_SHARE;
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
    for (int i = 0; i < w->n_cohorts; i++) { /* the first is the root of the others, or they are many */
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

/* ---- a copy of it in an engine ---- */

struct copy {
    struct sl_engine *e;
    struct sl_effects out;
    sl_wl_id id[WLS];
    bool stops; /* stop policies are told */
    bool stale[WLS]; /* was on its way out before the story of this copy began */
};

static bool verbose;

static void must(int r, const struct sl_err *err) {
    if (r < 0) {
        printf("refused: %s\n", err->text);
        abort();
    }
}

static void tell(struct copy *x, struct sl_fact f, sl_wl_id *ret) {
    struct sl_err err = {0};
    f.at = NOW;
    must(sl_engine_apply(x->e, &f, ret, &err), &err);
}

static void tell_wl(struct copy *x, enum sl_fact_kind kind, int i) {
    tell(x, (struct sl_fact){.kind = kind, .wl = x->id[i]}, NULL);
}

static char name_of[5][WLS][8];

static const char *name(char kind, int i) {
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
        g->flavors[f] = (struct sl_flavor_quotas){
            name('f', f), &n->q[f][w->split && f >= cut ? 1 : 0]};
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

static void tell_cohort(struct copy *x, const struct world *w, int i) {
    struct groups g;
    const struct node_says *n = &w->cohorts[i];
    node_groups(w, n, &g);
    struct sl_fact f = {.kind = SL_FACT_COHORT};
    f.cohort = (struct sl_cohort_spec){name('c', i), n->parent < 0 ? "" : name('c', n->parent),
                                       g.all, SL_WEIGHT_ONE};
    tell(x, f, NULL);
}

static void tell_cq(struct copy *x, const struct world *w, int i) {
    struct groups g;
    const struct cq_says *q = &w->cqs[i];
    node_groups(w, &q->node, &g);
    struct sl_fact f = {.kind = SL_FACT_CLUSTER_QUEUE, .cq = q->policy};
    f.cq.name = name('q', i);
    f.cq.cohort = q->node.parent < 0 ? "" : name('c', q->node.parent);
    f.cq.groups = g.all;
    f.cq.stop = x->stops ? q->stop : SL_STOP_NONE;
    tell(x, f, NULL);
}

static void tell_lq(struct copy *x, const struct world *w, int cq, int k) {
    struct sl_fact f = {.kind = SL_FACT_LOCAL_QUEUE};
    f.lq = (struct sl_lq_spec){"ns", name('l', cq * LQS_EACH + k), name('q', cq),
                               x->stops ? w->cqs[cq].lq_stop[k] : SL_STOP_NONE, SL_WEIGHT_ONE};
    tell(x, f, NULL);
}

static void tell_workload(struct copy *x, const struct world *w, int i) {
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
                asks[k][ps[k].n_requests++] = (struct sl_request){resources[r], s->ask[r] * SL_NANO};
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
    tell(x, f, &x->id[i]);
    sl_engine_shape_release(x->e, f.workload.shape);
}

static struct sl_wl_view look(const struct copy *x, int i) {
    struct sl_wl_view v;
    (void)sl_engine_workload(x->e, x->id[i], &v);
    return v;
}

static bool holds(const struct copy *x, int i) {
    struct sl_wl_view v = look(x, i);
    return v.phase == SL_PHASE_ADMITTED || v.phase == SL_PHASE_RESERVED;
}

static void cycle(struct copy *x) {
    sl_effects_clear(&x->out);
    sl_engine_cycle(x->e, NOW, &x->out);
    for (uint32_t i = 0; verbose && i < x->out.v.n; i++)
        printf("      %s %s\n", sl_effect_name(x->out.v.v[i].kind), x->out.v.v[i].name);
}

static bool evicts(const struct copy *x) {
    for (uint32_t i = 0; i < x->out.v.n; i++)
        if (x->out.v.v[i].kind == SL_EFFECT_EVICT)
            return true;
    return false;
}

/* Stops what is evicted. Returns whether there was anything. */
static bool release(struct copy *x, const struct world *w) {
    bool any = false;
    for (int i = 0; i < w->n_wls; i++)
        if (look(x, i).evicting) {
            tell_wl(x, x->stale[i] ? SL_FACT_WORKLOAD_GONE : SL_FACT_RELEASED, i);
            any = true;
        }
    return any;
}

static void build(struct copy *x, const struct world *w) {
    *x = (struct copy){.e = sl_engine_new(NULL)};
    sl_effects_init(&x->out);
    tell(x, (struct sl_fact){.kind = SL_FACT_CONFIG, .config = w->config}, NULL);
    for (int i = 0; i < w->n_flavors; i++) {
        struct sl_taint taint = {"t", "", SL_TAINT_NO_SCHEDULE};
        struct sl_label label = {"zone", w->zone[i] < 0 ? "" : zones[w->zone[i]]};
        struct sl_fact f = {.kind = SL_FACT_FLAVOR};
        f.flavor = (struct sl_flavor_spec){.name = name('f', i),
                                           .labels = {&label, w->zone[i] >= 0},
                                           .taints = &taint,
                                           .n_taints = w->tainted[i]};
        tell(x, f, NULL);
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

static void copy_done(struct copy *x) {
    sl_effects_done(&x->out);
    sl_engine_freep(&x->e);
}

/* A fresh copy in which nobody else waits. */
static void build_alone(struct copy *x, const struct world *w, int keep) {
    build(x, w);
    for (int i = 0; i < w->n_wls; i++) {
        x->stale[i] = look(x, i).evicting;
        if (i != keep && look(x, i).phase != SL_PHASE_GONE && !holds(x, i))
            tell_wl(x, SL_FACT_WORKLOAD_GONE, i);
    }
}

/* Cycles, with evicted work stopped in between. Is the workload let in? */
static bool admitted_in_time(struct copy *x, const struct world *w, int i) {
    for (int k = 0; k < ROUNDS; k++) {
        cycle(x);
        if (holds(x, i))
            return true;
        if (!release(x, w))
            return false;
    }
    return false;
}

/* ---- what is said against what is so ---- */

struct judge {
    const struct world *w;
    struct copy x;         /* where it was explained */
    const struct sl_verdict *v;
    int wl;
    bool failed;
};

static void _printf_(2, 3) wrong(struct judge *j, const char *fmt, ...) {
    va_list ap;
    char text[400];
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!j->failed)
        printf("seed %llu fails; again with: prop_explain --seed %llu --verbose\n",
               (unsigned long long)j->w->seed, (unsigned long long)j->w->seed);
    printf("  w%d: %s\n  (it was said: %s)\n", j->wl, text, j->v && j->v->text ? j->v->text : "-");
    j->failed = true;
}

static const char *queue_of(const struct judge *j) {
    return name('q', j->w->wls[j->wl].cq);
}

static void check_blockers(struct judge *j) {
    const struct sl_verdict *v = j->v;
    bool quota = v->kind == SL_VERDICT_NO_QUOTA || v->kind == SL_VERDICT_NEVER_FITS;
    bool some = false;
    for (uint32_t i = 0; i < v->n_blockers; i++) {
        const struct sl_blocker *b = &v->blockers[i];
        struct sl_cell_view c;
        if (b->podset >= j->w->wls[j->wl].n)
            wrong(j, "blocker of podset %u", b->podset);
        if (b->kind != SL_WHY_NEEDS_MORE && b->kind != SL_WHY_EXCEEDS_MAX)
            continue;
        some = true;
        (void)sl_engine_cell(j->x.e, false, queue_of(j), b->flavor, b->resource, &c);
        if (b->available != c.available || b->potential != c.potential)
            wrong(j, "%s/%s: available %lld, potential %lld; the cell has %lld, %lld", b->flavor,
                  b->resource, (long long)b->available, (long long)b->potential,
                  (long long)c.available, (long long)c.potential);
        if (b->kind == SL_WHY_NEEDS_MORE ? b->need <= b->available || b->need > b->potential
                                         : b->need <= b->potential)
            wrong(j, "%s/%s: need %lld is no obstacle", b->flavor, b->resource, (long long)b->need);
        if (!sl_engine_cell(j->x.e, b->cohort, b->node, b->flavor, b->resource, &c))
            wrong(j, "the limit is said to be at %s, which is nowhere", b->node);
        if (b->cohort == (strcmp(b->node, queue_of(j)) == 0))
            wrong(j, "the limit is said to be at %s", b->node);
    }
    if (quota && !some)
        wrong(j, "lacks quota, but no number says so");
}

static sl_amount held(const struct copy *x, int i, const char *flavor, const char *resource) {
    struct sl_arena a;
    const struct sl_podset_assignment *ps;
    sl_amount sum = 0;
    sl_arena_init(&a, 1 << 20);
    uint32_t n = sl_engine_assignment(x->e, x->id[i], &a, &ps);
    for (uint32_t p = 0; p < n; p++)
        for (uint32_t k = 0; k < ps[p].n; k++)
            if (strcmp(ps[p].v[k].flavor, flavor) == 0 && strcmp(ps[p].v[k].resource, resource) == 0)
                sum += ps[p].v[k].usage;
    sl_arena_done(&a);
    return sum;
}

static int index_of(const struct judge *j, sl_wl_id id) {
    for (int i = 0; i < j->w->n_wls; i++)
        if (j->x.id[i].v == id.v)
            return i;
    return -1;
}

static bool blocked_by(const struct judge *j, const char *flavor, const char *resource) {
    for (uint32_t i = 0; i < j->v->n_blockers; i++)
        if (strcmp(j->v->blockers[i].flavor, flavor) == 0 &&
            strcmp(j->v->blockers[i].resource, resource) == 0)
            return true;
    return false;
}

static void check_holders(struct judge *j) {
    for (uint32_t k = 0; k < j->v->n_holders; k++) {
        const struct sl_holder *h = &j->v->holders[k];
        int i = index_of(j, h->wl);
        if (i < 0) {
            wrong(j, "holder %s does not exist", h->name);
            continue;
        }
        struct sl_wl_view v = look(&j->x, i);
        sl_amount a = held(&j->x, i, h->flavor, h->resource);
        if (a != h->amount || a <= 0 || h->priority != v.priority || strcmp(h->cq, v.cq) != 0)
            wrong(j, "%s is said to hold %lld of %s/%s, it holds %lld", h->name,
                  (long long)h->amount, h->flavor, h->resource, (long long)a);
        if (!blocked_by(j, h->flavor, h->resource))
            wrong(j, "%s holds %s/%s, which nobody lacks", h->name, h->flavor, h->resource);
        if (k && h[-1].amount < h->amount)
            wrong(j, "holders are not in order");
    }
}

static void check_position(struct judge *j) {
    sl_wl_id line[WLS];
    uint32_t n = sl_engine_pending(j->x.e, queue_of(j), 0, line, WLS), at = 0, at_lq = 0, n_lq = 0;
    const char *queue = look(&j->x, j->wl).queue;
    for (uint32_t i = 0; i < n; i++) {
        bool same = strcmp(look(&j->x, index_of(j, line[i])).queue, queue) == 0;
        n_lq += same;
        if (line[i].v == j->x.id[j->wl].v) {
            at = i + 1;
            at_lq = n_lq;
        }
    }
    const struct sl_verdict *v = j->v;
    if (!at)
        return; /* holds quota, or its queue is stopped */
    if (v->position_cq != at || v->position_lq != at_lq || v->waiting_cq != n ||
        v->waiting_lq != n_lq)
        wrong(j, "said to be %u of %u (%u of %u), is %u of %u (%u of %u)", v->position_cq,
              v->waiting_cq, v->position_lq, v->waiting_lq, at, n, at_lq, n_lq);
}

static uint64_t verdict_digest(uint64_t h, const struct sl_verdict *v) {
    h = sl_hash_str(sl_hash_u64(h, (uint64_t)v->kind), v->text);
    h = sl_hash_u64(sl_hash_u64(h, v->position_cq), v->position_lq);
    h = sl_hash_u64(sl_hash_u64(h, v->waiting_cq), v->waiting_lq);
    for (uint32_t i = 0; i < v->n_blockers; i++) {
        const struct sl_blocker *b = &v->blockers[i];
        h = sl_hash_str(sl_hash_str(sl_hash_str(h, b->flavor), b->resource), b->node);
        h = sl_hash_u64(sl_hash_u64(h, (uint64_t)b->need), (uint64_t)b->available);
        h = sl_hash_u64(sl_hash_u64(h, (uint64_t)b->potential), (uint64_t)b->kind << 1 | b->borrow_limit);
    }
    for (uint32_t i = 0; i < v->n_holders; i++)
        h = sl_hash_str(sl_hash_u64(h, (uint64_t)v->holders[i].amount), v->holders[i].name);
    for (uint32_t i = 0; i < v->n_help; i++) {
        const struct sl_help *s = &v->help[i];
        h = sl_hash_str(sl_hash_str(sl_hash_str(h, s->node), s->flavor), s->resource);
        h = sl_hash_u64(sl_hash_u64(h, (uint64_t)s->kind << 1 | s->and_next), (uint64_t)s->to);
        for (uint32_t k = 0; k < s->n_wls; k++)
            h = sl_hash_u64(h, s->wls[k].v);
    }
    return h;
}

/* With nobody else waiting: does the verdict come true? */
static void check_outcome(struct judge *j) {
    struct copy c;
    build_alone(&c, j->w, j->wl);
    cycle(&c);
    bool in = holds(&c, j->wl);
    switch (j->v->kind) {
    case SL_VERDICT_FITS:
    case SL_VERDICT_BEHIND:
        if (!in)
            wrong(j, "it is not admitted");
        break;
    case SL_VERDICT_PREEMPTS:
        if (in)
            wrong(j, "it is admitted without preempting anybody");
        else if (!release(&c, j->w))
            wrong(j, "nobody is preempted");
        else if (!admitted_in_time(&c, j->w, j->wl))
            wrong(j, "preempts, and is not admitted");
        break;
    default:
        if (in || evicts(&c))
            wrong(j, "it is refused, but %s", in ? "admitted" : "preempts");
        break;
    }
    copy_done(&c);
}

/* ---- what would help ---- */

static int number_of(const char *s) {
    return (int)strtol(s + 1, NULL, 10);
}

/* Puts one change into the world and tells the copy, 'less' steps short of it. */
static void apply_help(struct judge *j, struct world *w, struct copy *c, const struct sl_help *s,
                       int64_t less) {
    struct wl_says *l = &w->wls[j->wl];
    switch (s->kind) {
    case SL_HELP_WAIT_FOR:
        for (uint32_t i = 0; i < s->n_wls; i++)
            tell_wl(c, SL_FACT_FINISHED, index_of(j, s->wls[i]));
        return;
    case SL_HELP_RAISE_QUOTA:
    case SL_HELP_RAISE_BORROW: {
        int n = number_of(s->node), r = strcmp(s->resource, resources[0]) == 0 ? 0 : 1;
        struct node_says *node = s->cohort ? &w->cohorts[n] : &w->cqs[n].node;
        struct sl_quota *q = &node->q[number_of(s->flavor)][r];
        *(s->kind == SL_HELP_RAISE_QUOTA ? &q->nominal : &q->borrow_limit) = s->to - less;
        if (s->cohort)
            tell_cohort(c, w, n);
        else
            tell_cq(c, w, n);
        return;
    }
    case SL_HELP_SHRINK:
        l->ps[s->podset].count = (int32_t)(s->to + less);
        if (l->ps[s->podset].min > l->ps[s->podset].count)
            l->ps[s->podset].min = l->ps[s->podset].count;
        tell_wl(c, SL_FACT_WORKLOAD_GONE, j->wl);
        tell_workload(c, w, j->wl);
        return;
    case SL_HELP_PRIORITY:
        l->priority = (int32_t)(s->to - less);
        tell_workload(c, w, j->wl);
        return;
    case SL_HELP_START_QUEUE:
        if (s->local_queue) {
            int n = number_of(s->node);
            w->cqs[n / LQS_EACH].lq_stop[n % LQS_EACH] = SL_STOP_NONE;
            tell_lq(c, w, n / LQS_EACH, n % LQS_EACH);
        } else {
            w->cqs[number_of(s->node)].stop = SL_STOP_NONE;
            tell_cq(c, w, number_of(s->node));
        }
        return;
    case SL_HELP_ACTIVATE:
        l->inactive = l->gated = l->on_hold = false;
        tell_workload(c, w, j->wl);
        return;
    }
}

static const char *const help_names[] = {"wait for", "raise quota", "raise borrowingLimit", "shrink",
                                         "priority", "start queue", "activate"};

/* An obstacle is out of the way: after as many as there can be, it stands in line or is let in. */
static void check_unblocking(struct judge *j, const struct sl_help *s) {
    struct world w = *j->w;
    struct copy c;
    struct sl_verdict v;
    struct sl_err err = {0};
    build_alone(&c, j->w, j->wl);
    sl_verdict_init(&v);
    for (int k = 0; k < 4 && s; k++) {
        apply_help(j, &w, &c, s, 0);
        cycle(&c);
        must(sl_engine_explain(c.e, NOW, c.id[j->wl], &v, &err), &err);
        s = v.kind == SL_VERDICT_BLOCKED && v.n_help ? &v.help[0] : NULL;
    }
    if (v.kind == SL_VERDICT_BLOCKED)
        wrong(j, "still blocked: %s", v.text);
    sl_verdict_done(&v);
    copy_done(&c);
}

static void check_change(struct judge *j, const struct sl_help *s, uint32_t n) {
    struct world w = *j->w;
    struct copy c;
    build_alone(&c, j->w, j->wl);
    for (uint32_t i = 0; i < n; i++)
        apply_help(j, &w, &c, &s[i], 0);
    cycle(&c);
    bool in = holds(&c, j->wl);
    if (!in && s->kind == SL_HELP_PRIORITY && release(&c, &w))
        in = admitted_in_time(&c, &w, j->wl);
    if (!in)
        wrong(j, "%s %s to %lld (%u changes) does not help", help_names[s->kind], s->node,
              (long long)s->to, n);
    copy_done(&c);
    if (n > 1 || s->kind == SL_HELP_WAIT_FOR)
        return;
    w = *j->w;
    build_alone(&c, j->w, j->wl);
    apply_help(j, &w, &c, s, 1);
    cycle(&c);
    if (holds(&c, j->wl) || (s->kind == SL_HELP_PRIORITY && evicts(&c)))
        wrong(j, "%s %s to %lld is more than is needed", help_names[s->kind], s->node,
              (long long)s->to);
    copy_done(&c);
}

static void check_help(struct judge *j) {
    for (uint32_t i = 0, n; i < j->v->n_help; i += n) {
        const struct sl_help *s = &j->v->help[i];
        for (n = 1; i + n < j->v->n_help && s[n - 1].and_next; n++)
            ;
        if (verbose)
            printf("    %s %s %s/%s podset %u to %lld (%u changes, %u workloads)\n",
                   help_names[s->kind], s->node, s->flavor, s->resource, s->podset,
                   (long long)s->to, n, s->n_wls);
        if (s[n - 1].and_next)
            wrong(j, "the last change wants another one");
        if (s->kind == SL_HELP_START_QUEUE || s->kind == SL_HELP_ACTIVATE)
            check_unblocking(j, s);
        else
            check_change(j, s, n);
    }
}

/* ---- all of it ---- */

static uint64_t n_kinds[SL_VERDICT_COUNT], n_helps[SL_LEN(help_names)];

static bool check_world(uint64_t seed, uint64_t *digest) {
    struct world w;
    struct copy quiet; /* nobody asks here */
    struct sl_verdict v;
    struct sl_err err = {0};
    world_make(&w, seed);
    struct judge j = {.w = &w};
    build(&j.x, &w);
    build(&quiet, &w);
    sl_verdict_init(&v);
    for (j.wl = 0; j.wl < w.n_wls; j.wl++) {
        if (look(&j.x, j.wl).phase == SL_PHASE_GONE)
            continue;
        must(sl_engine_explain(j.x.e, NOW, j.x.id[j.wl], &v, &err), &err);
        uint64_t once = verdict_digest(0, &v);
        must(sl_engine_explain(j.x.e, NOW, j.x.id[j.wl], &v, &err), &err);
        j.v = &v;
        *digest = verdict_digest(*digest, &v);
        n_kinds[v.kind]++;
        for (uint32_t i = 0; i < v.n_help; i++)
            n_helps[v.help[i].kind]++;
        if (verbose)
            printf("  w%d in q%d: %s\n", j.wl, w.wls[j.wl].cq, v.text);
        if (once != verdict_digest(0, &v))
            wrong(&j, "asked twice, answered differently");
        if (holds(&j.x, j.wl)) {
            if (v.kind != (look(&j.x, j.wl).evicting ? SL_VERDICT_EVICTING : SL_VERDICT_RUNNING))
                wrong(&j, "verdict %d of one that holds quota", v.kind);
            continue;
        }
        check_blockers(&j);
        check_holders(&j);
        check_position(&j);
        check_outcome(&j);
        check_help(&j);
    }
    cycle(&j.x);
    cycle(&quiet);
    uint64_t asked = sl_effects_digest(0, &j.x.out), unasked = sl_effects_digest(0, &quiet.out);
    *digest = sl_hash_u64(*digest, asked);
    if (asked != unasked)
        wrong(&j, "asking has changed what was decided next");
    if (sl_engine_check(j.x.e, &err) < 0)
        wrong(&j, "%s", err.text);
    sl_verdict_done(&v);
    copy_done(&j.x);
    copy_done(&quiet);
    return !j.failed;
}

int main(int argc, char **argv) {
    const char *env = getenv("SL_SEEDS");
    uint64_t seeds = env ? strtoull(env, NULL, 10) / 5 : 200, first = 0, digest = 0, failed = 0;
    bool one = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            first = strtoull(argv[++i], NULL, 10);
            seeds = 1;
            one = true;
        } else if (strcmp(argv[i], "--verbose") == 0) {
            verbose = true;
        } else {
            fprintf(stderr, "usage: %s [--seed N] [--verbose]\n", argv[0]);
            return 2;
        }
    }
    for (uint64_t s = first; s < first + seeds; s++) {
        failed += !check_world(s, &digest);
        if (!one && s + 1 == DIGEST_WORLDS)
            printf("digest explain %016llx\n", (unsigned long long)digest);
    }
    if (verbose) {
        for (int i = 0; i < SL_VERDICT_COUNT; i++)
            printf("verdict %d: %llu\n", i, (unsigned long long)n_kinds[i]);
        for (uint32_t i = 0; i < SL_LEN(help_names); i++)
            printf("%s: %llu\n", help_names[i], (unsigned long long)n_helps[i]);
    }
    printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)(seeds - failed),
           (unsigned long long)failed);
    return failed != 0;
}
