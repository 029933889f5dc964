/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of pods by topology domain, for one pod that is to be scheduled. Nothing of it is cached:
 * the scheduled pods are scanned once, and counted for each term of the pod by domain (value of its
 * topology key); a node is then evaluated by its domain. Which terms match a pod is computed once
 * for all with the same labels.
 */
#include <string.h>

#include "cluster/controllers/core/ceilings.h"
#include "cluster/scheduler/scheduler.h"

struct sched_near {
    struct sl_arena arena;
    const struct schedule *s;
    const struct sched_class *k;
    const struct sched_key *keys[SCHED_MAX_TERMS];
    int32_t *counts[SCHED_MAX_TERMS]; /* by domain; SPREAD, EVEN: -1 where no node counts */
    int32_t least[SCHED_MAX_TERMS];   /* SPREAD: of its domains */
    uint8_t **kept; /* by key, then by domain: somebody there keeps the pod away. NULL: nobody */
    uint64_t self;  /* terms that mean the pod itself */
    bool alone;     /* nobody that it must be near to stands anywhere, and it would do itself */
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

static bool has_all(struct schedule *s, const struct sched_class *k, uint64_t terms,
                    uint32_t place) {
    while (terms)
        if (cl_sched_key(s, k->wants->terms[next_bit(&terms)].key)->of.v[place] == SCHED_NOWHERE)
            return false;
    return true;
}

void cl_near_survey(struct schedule *s, struct sched_class *k) {
    static const enum sched_how hows[] = {TERM_SPREAD, TERM_EVEN};
    const struct sched_wants *w = k->wants;
    sl_vec_clear(&k->counted);
    if (!(w->by[TERM_SPREAD] | w->by[TERM_EVEN]))
        return;
    for (uint32_t i = 0; i < s->places.n; i++) {
        const struct node *n = s->places.v[i].node;
        uint64_t counted = 0;
        for (size_t h = 0; n && h < SL_LEN(hows); h++) {
            uint64_t terms = w->by[hows[h]];
            if (!terms || !has_all(s, k, terms, i)) /* a node is in all of its domains, or none */
                continue;
            bool affine = cl_sched_affine(k, n), repelled = cl_sched_repelled(k, n);
            while (terms) {
                uint32_t t = next_bit(&terms);
                if ((affine || w->terms[t].anywhere) && !(repelled && w->terms[t].heed_taints))
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

static uint64_t about(struct schedule *s, const struct sched_class *k, struct sched_crowd *crowd) {
    if (crowd->asked != s->serial) {
        crowd->asked = s->serial;
        crowd->about = 0;
        for (uint32_t i = 0; i < k->wants->n_terms; i++)
            if (cl_term_means(s, k, &k->wants->terms[i], crowd))
                crowd->about |= UINT64_C(1) << i;
    }
    return crowd->about;
}

static void count_pod(struct sched_near *near, uint64_t terms, const struct pod *q) {
    uint64_t together = near->k->wants->by[TERM_NEAR];
    uint32_t place = q->sched->at;
    if ((terms & together) != together)
        terms &= ~together; /* company is who all of these terms mean */
    while (terms) {
        uint32_t t = next_bit(&terms), domain = near->keys[t]->of.v[place];
        enum sched_how how = near->k->wants->terms[t].how;
        if (domain == SCHED_NOWHERE)
            continue;
        if ((how == TERM_SPREAD || how == TERM_EVEN) &&
            (q->rec.deleting || !counts_at(near->k, t, place)))
            continue;
        near->counts[t][domain]++;
        near->alone &= how != TERM_NEAR;
    }
}

/* Those that stand there keep the pod away from their domains. */
static void keep_away(struct schedule *s, struct sched_near *near, const struct pod *q,
                      const struct sched_crowd *mine) {
    struct sched_class *k = q->sched->class;
    uint64_t terms = k->wants->by[TERM_APART];
    if (k->asked != s->serial) {
        k->asked = s->serial;
        k->about = 0;
        while (terms) {
            uint32_t t = next_bit(&terms);
            if (cl_term_means(s, k, &k->wants->terms[t], mine))
                k->about |= UINT64_C(1) << t;
        }
    }
    for (terms = k->about; terms;) {
        uint32_t key = k->wants->terms[next_bit(&terms)].key;
        const struct sched_key *of = cl_sched_key(s, key);
        if (sl_arena_full(&near->arena))
            return;
        if (!near->kept)
            near->kept = sl_arena_alloc0(&near->arena, s->keys.n, sizeof *near->kept);
        if (!near->kept[key])
            near->kept[key] = sl_arena_alloc0(&near->arena, of->n + 1, 1);
        if (of->of.v[q->sched->at] != SCHED_NOWHERE)
            near->kept[key][of->of.v[q->sched->at]] = 1;
    }
}

static void begin_term(struct schedule *s, struct sched_near *near, uint32_t t) {
    const struct sched_class *k = near->k;
    const struct sched_key *key = near->keys[t] = cl_sched_key(s, k->wants->terms[t].key);
    enum sched_how how = k->wants->terms[t].how;
    int32_t *counts = near->counts[t] = sl_arena_alloc0(&near->arena, key->n + 1, sizeof *counts);
    if (how != TERM_SPREAD && how != TERM_EVEN)
        return;
    for (uint32_t i = 0; i < key->n; i++)
        counts[i] = -1;
    for (uint32_t i = 0; i < s->places.n; i++)
        if (key->of.v[i] != SCHED_NOWHERE && counts_at(k, t, i))
            counts[key->of.v[i]] = 0;
}

static void find_least(struct sched_near *near, uint32_t t) {
    const struct sched_term *term = &near->k->wants->terms[t];
    int32_t least = INT32_MAX, domains = 0;
    for (uint32_t i = 0; i < near->keys[t]->n; i++) {
        int32_t n = near->counts[t][i];
        domains += n >= 0;
        least = n >= 0 && n < least ? n : least;
    }
    near->least[t] = domains && domains >= term->min_domains ? least : 0;
}

struct sched_near *cl_near_new(struct schedule *s, struct sched_class *k, const struct pod *p) {
    struct sched_near *near = sl_alloc0(1, sizeof *near);
    struct sched_crowd *mine = cl_sched_crowd(s, p);
    uint32_t n_terms = k->wants ? k->wants->n_terms : 0, at = 0;
    sl_arena_init(&near->arena, SCHED_MAX_NEAR);
    near->s = s;
    near->k = k;
    s->serial++;
    for (uint32_t i = 0; i < n_terms; i++) {
        begin_term(s, near, i);
        if (sl_selector_matches(&k->wants->terms[i].selector, &mine->labels) &&
            (k->wants->terms[i].how == TERM_SPREAD ||
             cl_term_means(s, k, &k->wants->terms[i], mine)))
            near->self |= UINT64_C(1) << i;
    }
    uint64_t together = n_terms ? k->wants->by[TERM_NEAR] : 0;
    near->alone = (near->self & together) == together;
    for (struct sl_rec *r; (r = sl_inf_each(s->c->inf, K_POD, &at));) {
        const struct pod *q = pod_of(r);
        if (r->planned || q == p || !q->sched || !q->sched->on || !s->places.v[q->sched->at].node)
            continue;
        if (n_terms)
            count_pod(near, about(s, k, cl_sched_crowd(s, q)), q);
        if (q->sched->class->wants && q->sched->class->wants->by[TERM_APART])
            keep_away(s, near, q, mine);
    }
    for (uint32_t i = 0; i < n_terms; i++)
        if (k->wants->terms[i].how == TERM_SPREAD)
            find_least(near, i);
    return near;
}

/* ---- asking ---- */

uint32_t cl_near_domain(const struct sched_near *n, uint32_t term, uint32_t place) {
    return n->keys[term]->of.v[place];
}

uint32_t cl_near_domains(const struct sched_near *n, uint32_t term) {
    return n->keys[term]->n;
}

int32_t cl_near_count(const struct sched_near *n, uint32_t term, uint32_t place) {
    uint32_t domain = cl_near_domain(n, term, place);
    return domain == SCHED_NOWHERE ? -1 : n->counts[term][domain];
}

static const struct sched_refusal *refuses(const struct sched_near *n, uint32_t t, uint32_t place) {
    const struct sched_term *term = &n->k->wants->terms[t];
    uint32_t domain = cl_near_domain(n, t, place);
    int32_t count = cl_near_count(n, t, place);
    switch (term->how) {
    case TERM_SPREAD:
        if (domain == SCHED_NOWHERE)
            return &unlabelled;
        count = (count > 0 ? count : 0) + (int32_t)(n->self >> t & 1) - n->least[t];
        return count > term->weight ? &uneven : NULL;
    case TERM_NEAR:
        return domain == SCHED_NOWHERE || (count <= 0 && !n->alone) ? &lonely : NULL;
    case TERM_APART:
        return count > 0 ? &crowded : NULL;
    default:
        return NULL;
    }
}

const struct sched_refusal *cl_near_refuses(const struct sched_near *n, uint32_t place) {
    const struct sched_wants *w = n->k->wants;
    const struct sched_refusal *why = NULL;
    if (sl_arena_full(&n->arena))
        return &uncounted;
    for (uint64_t must = w ? w->by[TERM_SPREAD] | w->by[TERM_NEAR] | w->by[TERM_APART] : 0; must;)
        if ((why = refuses(n, next_bit(&must), place)))
            return why;
    for (uint32_t i = 0; n->kept && i < n->s->keys.n; i++) {
        uint32_t domain = n->kept[i] ? n->s->keys.v[i].of.v[place] : SCHED_NOWHERE;
        if (domain != SCHED_NOWHERE && n->kept[i][domain])
            return &unwelcome;
    }
    return NULL;
}

bool cl_near_helps(struct schedule *s, const struct sched_class *k, const struct pod *p) {
    const struct sched_crowd *crowd = cl_sched_crowd(s, p);
    for (uint64_t terms = k->wants->by[TERM_SPREAD] | k->wants->by[TERM_NEAR]; terms;)
        if (cl_term_means(s, k, &k->wants->terms[next_bit(&terms)], crowd))
            return true;
    return false;
}

void cl_near_free(struct sched_near *n) {
    if (!n)
        return;
    sl_arena_done(&n->arena);
    sl_freep(&n);
}
