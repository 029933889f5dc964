/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of pods by topology domain, for one pod that is to be scheduled. Nothing of it is cached:
 * the scheduled pods are scanned once, and counted for each term of the pod by domain (value of its
 * topology key); a node is then evaluated by its domain. Which terms match a pod is computed once
 * for all with the same labels.
 */
#include <string.h>

#include "cluster/scheduler/ceilings.h"
#include "cluster/scheduler/scheduler_int.h"

struct sched_affinity {
    struct sl_arena arena;
    const struct sched *s;
    const struct sched_class *k;
    const struct sched_key *keys[SCHED_MAX_TERMS];
    int32_t *counts[SCHED_MAX_TERMS]; /* by domain; SPREAD, SOFT_SPREAD: -1 where no node counts */
    int32_t least[SCHED_MAX_TERMS];   /* SPREAD: of its domains */
    uint8_t **kept; /* by key, then by domain: a pod there repels it. NULL: none */
    uint64_t self;  /* terms that mean the pod itself */
    bool alone;     /* no pod matches its affinity anywhere, and it matches itself */
};

static const struct sched_refusal unlabelled = {
    "node(s) didn't match pod topology spread constraints (missing required label)", true};
static const struct sched_refusal uneven = {"node(s) didn't match pod topology spread constraints",
                                            false};
static const struct sched_refusal lonely = {"node(s) didn't match pod affinity rules", true};
static const struct sched_refusal crowded = {"node(s) didn't match pod anti-affinity rules", false};
static const struct sched_refusal unwelcome = {
    "node(s) didn't satisfy existing pods anti-affinity rules", false};

static const struct sched_refusal uncounted = {
    "node(s) have more topology domains than can be counted", false};

static uint32_t next_bit(uint64_t *bits) {
    uint32_t i = (uint32_t)__builtin_ctzll(*bits);
    *bits &= *bits - 1;
    return i;
}

/* ---- whose pods count for a spread ---- */

static bool has_all(struct sched *s, const struct sched_class *k, uint64_t terms, uint32_t place) {
    while (terms)
        if (sched_key(s, k->pod_terms->terms[next_bit(&terms)].key)->of.v[place] == SCHED_NO_DOMAIN)
            return false;
    return true;
}

void sched_affinity_count_nodes(struct sched *s, struct sched_class *k) {
    static const enum sched_term_kind hows[] = {TERM_SPREAD, TERM_SOFT_SPREAD};
    const struct sched_pod_terms *w = k->pod_terms;
    sl_vec_clear(&k->counted);
    if (!(w->by[TERM_SPREAD] | w->by[TERM_SOFT_SPREAD]))
        return;
    for (uint32_t i = 0; i < s->places.n; i++) {
        const struct sched_node *n = s->places.v[i].node;
        uint64_t counted = 0;
        for (size_t h = 0; n && h < SL_LEN(hows); h++) {
            uint64_t terms = w->by[hows[h]];
            if (!terms || !has_all(s, k, terms, i)) /* a node is in all of its domains, or none */
                continue;
            bool affine = sched_node_matches(k, n), repelled = sched_taint_reason(k, n);
            while (terms) {
                uint32_t t = next_bit(&terms);
                if ((affine || w->terms[t].ignore_node_affinity) &&
                    !(repelled && w->terms[t].honor_taints))
                    counted |= UINT64_C(1) << t;
            }
        }
        *sl_vec_push(&k->counted) = counted;
    }
}

static bool counts_at(const struct sched_class *k, uint32_t term, uint32_t place) {
    return place < k->counted.n && k->counted.v[place] >> term & 1;
}

/* ---- counting ---- */

static uint64_t matching_terms(struct sched *s, const struct sched_class *k,
                               struct sched_label_group *group) {
    if (group->serial != s->serial) {
        group->serial = s->serial;
        group->terms = 0;
        for (uint32_t i = 0; i < k->pod_terms->n_terms; i++)
            if (sched_term_matches(s, k, &k->pod_terms->terms[i], group))
                group->terms |= UINT64_C(1) << i;
    }
    return group->terms;
}

static void count_pod(struct sched_affinity *near, uint64_t terms, const struct cl_pod *q) {
    uint64_t together = near->k->pod_terms->by[TERM_AFFINITY];
    uint32_t place = q->sched->at;
    if ((terms & together) != together)
        terms &= ~together; /* pods count only if they match all of these terms */
    while (terms) {
        uint32_t t = next_bit(&terms), domain = near->keys[t]->of.v[place];
        enum sched_term_kind how = near->k->pod_terms->terms[t].kind;
        if (domain == SCHED_NO_DOMAIN)
            continue;
        if ((how == TERM_SPREAD || how == TERM_SOFT_SPREAD) &&
            (q->rec.deleting || !counts_at(near->k, t, place)))
            continue;
        near->counts[t][domain]++;
        near->alone &= how != TERM_AFFINITY;
    }
}

/* Those that stand there keep the pod away from their domains. */
static void keep_away(struct sched *s, struct sched_affinity *near, const struct cl_pod *q,
                      const struct sched_label_group *mine) {
    struct sched_class *k = q->sched->class;
    uint64_t terms = k->pod_terms->by[TERM_ANTI_AFFINITY];
    if (k->serial != s->serial) {
        k->serial = s->serial;
        k->terms = 0;
        while (terms) {
            uint32_t t = next_bit(&terms);
            if (sched_term_matches(s, k, &k->pod_terms->terms[t], mine))
                k->terms |= UINT64_C(1) << t;
        }
    }
    for (terms = k->terms; terms;) {
        uint32_t key = k->pod_terms->terms[next_bit(&terms)].key;
        const struct sched_key *of = sched_key(s, key);
        if (sl_arena_full(&near->arena))
            return;
        if (!near->kept)
            near->kept = sl_arena_alloc0(&near->arena, s->keys.n, sizeof *near->kept);
        if (!near->kept[key])
            near->kept[key] = sl_arena_alloc0(&near->arena, of->n + 1, 1);
        if (of->of.v[q->sched->at] != SCHED_NO_DOMAIN)
            near->kept[key][of->of.v[q->sched->at]] = 1;
    }
}

static void begin_term(struct sched *s, struct sched_affinity *near, uint32_t t) {
    const struct sched_class *k = near->k;
    const struct sched_key *key = near->keys[t] = sched_key(s, k->pod_terms->terms[t].key);
    enum sched_term_kind how = k->pod_terms->terms[t].kind;
    int32_t *counts = near->counts[t] = sl_arena_alloc0(&near->arena, key->n + 1, sizeof *counts);
    if (how != TERM_SPREAD && how != TERM_SOFT_SPREAD)
        return;
    for (uint32_t i = 0; i < key->n; i++)
        counts[i] = -1;
    for (uint32_t i = 0; i < s->places.n; i++)
        if (key->of.v[i] != SCHED_NO_DOMAIN && counts_at(k, t, i))
            counts[key->of.v[i]] = 0;
}

static void find_least(struct sched_affinity *near, uint32_t t) {
    const struct sched_term *term = &near->k->pod_terms->terms[t];
    int32_t least = INT32_MAX, domains = 0;
    for (uint32_t i = 0; i < near->keys[t]->n; i++) {
        int32_t n = near->counts[t][i];
        domains += n >= 0;
        least = n >= 0 && n < least ? n : least;
    }
    near->least[t] = domains && domains >= term->min_domains ? least : 0;
}

struct sched_affinity *sched_affinity_new(struct sched *s, struct sched_class *k,
                                          const struct cl_pod *p) {
    struct sched_affinity *near = sl_alloc0(1, sizeof *near);
    struct sched_label_group *mine = sched_label_group_of(s, p);
    uint32_t n_terms = k->pod_terms ? k->pod_terms->n_terms : 0, at = 0;
    sl_arena_init(&near->arena, SCHED_MAX_AFFINITY);
    near->s = s;
    near->k = k;
    s->serial++;
    for (uint32_t i = 0; i < n_terms; i++) {
        begin_term(s, near, i);
        if (sl_selector_matches(&k->pod_terms->terms[i].selector, &mine->labels) &&
            (k->pod_terms->terms[i].kind == TERM_SPREAD ||
             sched_term_matches(s, k, &k->pod_terms->terms[i], mine)))
            near->self |= UINT64_C(1) << i;
    }
    uint64_t together = n_terms ? k->pod_terms->by[TERM_AFFINITY] : 0;
    near->alone = (near->self & together) == together;
    for (struct sl_rec *r; (r = sl_inf_each(s->c->inf, K_POD, &at));) {
        const struct cl_pod *q = cl_pod_of(r);
        if (r->create_planned || q == p || !q->sched || !q->sched->on ||
            !s->places.v[q->sched->at].node)
            continue;
        if (n_terms)
            count_pod(near, matching_terms(s, k, sched_label_group_of(s, q)), q);
        if (q->sched->class->pod_terms && q->sched->class->pod_terms->by[TERM_ANTI_AFFINITY])
            keep_away(s, near, q, mine);
    }
    for (uint32_t i = 0; i < n_terms; i++)
        if (k->pod_terms->terms[i].kind == TERM_SPREAD)
            find_least(near, i);
    return near;
}

/* ---- evaluating ---- */

uint32_t sched_affinity_domain(const struct sched_affinity *n, uint32_t term, uint32_t place) {
    return n->keys[term]->of.v[place];
}

uint32_t sched_affinity_domains(const struct sched_affinity *n, uint32_t term) {
    return n->keys[term]->n;
}

int32_t sched_affinity_count(const struct sched_affinity *n, uint32_t term, uint32_t place) {
    uint32_t domain = sched_affinity_domain(n, term, place);
    return domain == SCHED_NO_DOMAIN ? -1 : n->counts[term][domain];
}

static const struct sched_refusal *refuses(const struct sched_affinity *n, uint32_t t,
                                           uint32_t place) {
    const struct sched_term *term = &n->k->pod_terms->terms[t];
    uint32_t domain = sched_affinity_domain(n, t, place);
    int32_t count = sched_affinity_count(n, t, place);
    switch (term->kind) {
    case TERM_SPREAD:
        if (domain == SCHED_NO_DOMAIN)
            return &unlabelled;
        count = (count > 0 ? count : 0) + (int32_t)(n->self >> t & 1) - n->least[t];
        return count > term->weight ? &uneven : NULL;
    case TERM_AFFINITY:
        return domain == SCHED_NO_DOMAIN || (count <= 0 && !n->alone) ? &lonely : NULL;
    case TERM_ANTI_AFFINITY:
        return count > 0 ? &crowded : NULL;
    default:
        return NULL;
    }
}

const struct sched_refusal *sched_affinity_refuses(const struct sched_affinity *n, uint32_t place) {
    const struct sched_pod_terms *w = n->k->pod_terms;
    const struct sched_refusal *why = NULL;
    if (sl_arena_full(&n->arena))
        return &uncounted;
    for (uint64_t must = w ? w->by[TERM_SPREAD] | w->by[TERM_AFFINITY] | w->by[TERM_ANTI_AFFINITY]
                           : 0;
         must;)
        if ((why = refuses(n, next_bit(&must), place)))
            return why;
    for (uint32_t i = 0; n->kept && i < n->s->keys.n; i++) {
        uint32_t domain = n->kept[i] ? n->s->keys.v[i].of.v[place] : SCHED_NO_DOMAIN;
        if (domain != SCHED_NO_DOMAIN && n->kept[i][domain])
            return &unwelcome;
    }
    return NULL;
}

bool sched_affinity_may_help(struct sched *s, const struct sched_class *k, const struct cl_pod *p) {
    const struct sched_label_group *group = sched_label_group_of(s, p);
    for (uint64_t terms = k->pod_terms->by[TERM_SPREAD] | k->pod_terms->by[TERM_AFFINITY]; terms;)
        if (sched_term_matches(s, k, &k->pod_terms->terms[next_bit(&terms)], group))
            return true;
    return false;
}

void sched_affinity_free(struct sched_affinity *n) {
    if (!n)
        return;
    sl_arena_done(&n->arena);
    sl_freep(&n);
}
