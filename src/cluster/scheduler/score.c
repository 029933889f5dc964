/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scoring of nodes, for pods with preferences. Each preference gives a node a score from 0 to 100
 * among the feasible ones, and they add up with kube-scheduler's weights: taints of effect
 * PreferNoSchedule 3, preferred node affinity, soft topology spread and preferred pod
 * (anti-)affinity 2 each, free resources 1. Ties are resolved by the fewest pods, then round robin.
 * Preferences of scheduled pods are not considered. Integers only: the same nodes and pods give the
 * same result.
 */
#include "cluster/scheduler/scheduler_int.h"

#define POINTS 100
#define UNIT 1024 /* of logarithms and soft spread */

struct candidate {
    uint32_t at; /* in k->nodes */
    int64_t full, preference, taint_penalty, uneven, drawn;
    bool outside; /* has no domain for some soft spread */
};

struct range {
    int64_t min, max;
};

/* ---- what depends on nodes alone ---- */

static int32_t preference_for(const struct sched_class *k, const struct sched_node *n) {
    int32_t sum = 0;
    for (uint32_t i = 0; k->pod_terms && i < k->pod_terms->n_preferred; i++) {
        const struct sched_preferred_term *t = &k->pod_terms->preferred[i];
        if (sched_node_term_match(&t->hosts, n))
            sum += t->weight;
    }
    return sum;
}

static int32_t taint_penalty_for(const struct sched_class *k, const struct sched_node *n) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < n->n_soft; i++)
        sum += !sl_taint_tolerated(&n->soft[i], k->tolerations, k->n_tolerations);
    return sum;
}

void sched_score_bias(struct sched *s, struct sched_class *k) {
    bool any = k->pod_terms && k->pod_terms->n_preferred;
    sl_vec_clear(&k->bias);
    for (uint32_t i = 0; i < k->nodes.n && !any; i++)
        any = s->places.v[k->nodes.v[i]].node->n_soft > 0;
    if (!any)
        return;
    any = false;
    for (uint32_t i = 0; i < k->nodes.n; i++) {
        const struct sched_node *n = s->places.v[k->nodes.v[i]].node;
        struct sched_bias b = {preference_for(k, n), taint_penalty_for(k, n)};
        *sl_vec_push(&k->bias) = b;
        any |= b.preference || b.taint_penalty;
    }
    if (!any) /* they are equal */
        sl_vec_clear(&k->bias);
}

/* ---- what depends on pods ---- */

/* The natural logarithm in 1/1024, by straight lines between the powers of two. */
static int64_t logarithm(uint32_t x) {
    int64_t e = 31 - __builtin_clz(x);
    int64_t two = e * UNIT + ((((int64_t)x * UNIT) >> e) - UNIT);
    return two * 710 / UNIT;
}

/* In how many domains of the term the candidates are. */
static uint32_t spread_over(const struct sched_class *k, const struct sched_affinity *near,
                            uint32_t t, const struct candidate *v, uint32_t n) {
    uint8_t *seen = sl_alloc0(sched_affinity_domains(near, t) + 1, 1);
    uint32_t domains = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = sched_affinity_domain(near, t, k->nodes.v[v[i].at]);
        if (v[i].outside || d == SCHED_NO_DOMAIN || seen[d])
            continue;
        seen[d] = 1;
        domains++;
    }
    sl_freep(&seen);
    return domains;
}

/* Pods in its domains; those of a key with many domains weigh more. */
static void add_spread(const struct sched_class *k, const struct sched_affinity *near,
                       struct candidate *v, uint32_t n) {
    const struct sched_pod_terms *w = k->pod_terms;
    for (uint32_t t = 0; t < w->n_terms; t++)
        for (uint32_t i = 0; w->terms[t].kind == TERM_SOFT_SPREAD && i < n; i++)
            v[i].outside |= sched_affinity_count(near, t, k->nodes.v[v[i].at]) < 0;
    for (uint32_t t = 0; t < w->n_terms; t++) {
        if (w->terms[t].kind != TERM_SOFT_SPREAD)
            continue;
        int64_t weight = logarithm(spread_over(k, near, t, v, n) + 2);
        for (uint32_t i = 0; i < n; i++)
            if (!v[i].outside)
                v[i].uneven += sched_affinity_count(near, t, k->nodes.v[v[i].at]) * weight +
                               (w->terms[t].weight - 1) * (int64_t)UNIT;
    }
}

static void add_company(const struct sched_class *k, const struct sched_affinity *near,
                        struct candidate *c) {
    for (uint32_t t = 0; t < k->pod_terms->n_terms; t++) {
        const struct sched_term *term = &k->pod_terms->terms[t];
        int64_t count = sched_affinity_count(near, t, k->nodes.v[c->at]);
        if (count > 0 && term->kind == TERM_PREFERRED_AFFINITY)
            c->drawn += count * term->weight;
        else if (count > 0 && term->kind == TERM_PREFERRED_ANTI_AFFINITY)
            c->drawn -= count * term->weight;
    }
}

/* ---- the sum ---- */

static void widen(struct range *r, int64_t v) {
    r->min = v < r->min ? v : r->min;
    r->max = v > r->max ? v : r->max;
}

static int64_t part(int64_t v, int64_t of) {
    return of ? v * POINTS / of : 0;
}

struct ranges {
    struct range preference, taint_penalty, uneven, drawn;
};

static int64_t points(const struct candidate *c, const struct ranges *r, bool spreads) {
    int64_t avoided = POINTS - part(c->taint_penalty, r->taint_penalty.max);
    int64_t even = c->outside || !spreads ? 0
                   : r->uneven.max ? part(r->uneven.max + r->uneven.min - c->uneven, r->uneven.max)
                                   : POINTS;
    int64_t drawn = part(c->drawn - r->drawn.min, r->drawn.max - r->drawn.min);
    int64_t free_share = POINTS - part(c->full, 1024);
    return 3 * avoided + 2 * part(c->preference, r->preference.max) + 2 * even + 2 * drawn +
           free_share;
}

static uint32_t best_of(const struct sched *s, const struct sched_class *k,
                        const struct candidate *v, uint32_t n) {
    struct ranges r = {.uneven = {INT64_MAX, 0}, .drawn = {INT64_MAX, INT64_MIN}};
    bool spreads = k->pod_terms && k->pod_terms->by[TERM_SOFT_SPREAD];
    uint32_t best = UINT32_MAX;
    int64_t most = 0, best_pods = 0;
    for (uint32_t i = 0; i < n; i++) {
        widen(&r.preference, v[i].preference);
        widen(&r.taint_penalty, v[i].taint_penalty);
        widen(&r.drawn, v[i].drawn);
        if (!v[i].outside)
            widen(&r.uneven, v[i].uneven);
    }
    for (uint32_t i = 0; i < n; i++) {
        int64_t sum = points(&v[i], &r, spreads);
        int64_t pods = s->places.v[k->nodes.v[v[i].at]].n_pods;
        if (best != UINT32_MAX && (sum < most || (sum == most && pods >= best_pods)))
            continue;
        best = v[i].at;
        most = sum;
        best_pods = pods;
    }
    return best;
}

uint32_t sched_score_choose(struct sched *s, struct sched_class *k,
                            const struct sched_affinity *near) {
    struct candidate *v = sl_alloc0(k->nodes.n + 1, sizeof *v);
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->nodes.n; i++) {
        uint32_t at = (k->cursor + i) % k->nodes.n, place = k->nodes.v[at];
        const struct sched_place *p = &s->places.v[place];
        if (!sched_fits(p, k) || (near && sched_affinity_refuses(near, place)))
            continue;
        struct candidate *c = &v[n++];
        *c = (struct candidate){.at = at, .full = sched_fullness(p, k)};
        if (k->bias.n) {
            c->preference = k->bias.v[at].preference;
            c->taint_penalty = k->bias.v[at].taint_penalty;
        }
        if (k->pod_terms && near)
            add_company(k, near, c);
    }
    if (k->pod_terms && near && k->pod_terms->by[TERM_SOFT_SPREAD])
        add_spread(k, near, v, n);
    uint32_t best = best_of(s, k, v, n);
    sl_freep(&v);
    return best;
}
