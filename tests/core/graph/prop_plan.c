/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of a few planners, single and together, against a naive one that keeps the
 * amount taken for each second in an array. Times are small, so that spans meet, cover and touch
 * each other in all ways; now and then there is a long history, so that the tree grows and shrinks.
 *
 * prop_plan [--seed N]; SL_SEEDS says how much to try.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../seed_key.h"
#include "core/base/collection/hash.h"
#include "core/base/prng.h"
#include "core/graph/plan.h"

#define DIGEST_SEEDS 100
#define TYPES 3u
#define MAX_TIME 400
#define MAX_SPANS 2000u

struct nspan {
    uint32_t id;
    int64_t at, length;
    int64_t amount[TYPES];
};

struct naive {
    int64_t start, end;
    int64_t total[TYPES];
    int64_t taken[TYPES][MAX_TIME]; /* from start on */
};

struct world {
    struct sl_prng rnd;
    struct naive n;
    struct sl_plan *one;  /* knows the first type */
    struct sl_plans *all; /* all types */
    uint32_t types;
    struct nspan spans[MAX_SPANS];
    uint32_t one_ids[MAX_SPANS];
    uint32_t n_spans;
    bool forced; /* then 'all' is not told any more */
    uint64_t digest;
    const char *wrong;
};

static int64_t between(struct world *w, int64_t lo, int64_t hi) {
    return sl_prng_range(&w->rnd, lo, hi);
}

/* ---- the naive one ---- */

static bool naive_within(const struct naive *n, int64_t at, int64_t length) {
    return length > 0 && at >= n->start && at + length <= n->end;
}

static int64_t naive_free(const struct naive *n, uint32_t type, int64_t at, int64_t length) {
    int64_t most = INT64_MIN;

    if (!naive_within(n, at, length))
        return INT64_MIN;
    for (int64_t t = at; t < at + length; t++)
        if (n->taken[type][t - n->start] > most)
            most = n->taken[type][t - n->start];
    return n->total[type] - most;
}

static int64_t naive_earliest(const struct naive *n, uint32_t types, int64_t from, int64_t length,
                              const int64_t *amounts) {
    for (int64_t t = from < n->start ? n->start : from; t < n->end; t++) {
        bool ok = naive_within(n, t, length);
        for (uint32_t i = 0; ok && i < types; i++)
            ok = amounts[i] == 0 || naive_free(n, i, t, length) >= amounts[i];
        if (ok)
            return t;
    }
    return SL_PLAN_NEVER;
}

static void naive_take(struct naive *n, const struct nspan *s, uint32_t type, int64_t amount) {
    for (int64_t t = s->at; t < s->at + s->length; t++)
        n->taken[type][t - n->start] += amount;
}

static uint32_t naive_points(const struct naive *n) {
    uint32_t points = 0;
    int64_t before = 0;

    for (int64_t t = 0; t < n->end - n->start; t++) {
        points += n->taken[0][t] != before;
        before = n->taken[0][t];
    }
    return points;
}

/* ---- steps ---- */

static void expect(struct world *w, bool ok, const char *what) {
    if (!ok && !w->wrong)
        w->wrong = what;
}

static void step_add(struct world *w) {
    struct nspan s = {.at = between(w, w->n.start - 2, w->n.end + 1)};
    bool force = w->forced && sl_prng_one_in(&w->rnd, 2), fits = true, room = true;
    uint32_t id = 0;
    int r;

    if (w->n_spans == MAX_SPANS)
        return;
    s.length = between(w, -1, sl_prng_one_in(&w->rnd, 3) ? w->n.end - w->n.start : 20);
    for (uint32_t i = 0; i < w->types; i++) {
        s.amount[i] = between(w, 0, w->n.total[i] / (int64_t)(1 + sl_prng_below(&w->rnd, 6)));
        fits = fits && naive_within(&w->n, s.at, s.length) &&
               (s.amount[i] == 0 || naive_free(&w->n, i, s.at, s.length) >= s.amount[i]);
        if (i == 0)
            room = fits;
    }
    if (w->forced) {
        bool ok = force ? naive_within(&w->n, s.at, s.length) : room;
        r = force ? sl_plan_force(w->one, s.at, s.length, s.amount[0], &id, NULL)
                  : sl_plan_add(w->one, s.at, s.length, s.amount[0], &id, NULL);
        expect(w, (r == 0) == ok, "adding to one");
        fits = ok;
        w->one_ids[w->n_spans] = id;
    } else {
        r = sl_plans_add(w->all, s.at, s.length, s.amount, &s.id, NULL);
        expect(w, (r == 0) == fits, "adding to all");
        if (r == 0)
            expect(w,
                   sl_plan_add(w->one, s.at, s.length, s.amount[0], &w->one_ids[w->n_spans],
                               NULL) == 0,
                   "adding to one as well");
    }
    if (!fits || w->wrong)
        return;
    for (uint32_t i = 0; i < w->types; i++)
        naive_take(&w->n, &s, i, s.amount[i]);
    w->spans[w->n_spans++] = s;
}

static void step_remove(struct world *w) {
    if (w->n_spans == 0)
        return;
    uint32_t i = (uint32_t)sl_prng_below(&w->rnd, w->n_spans);
    struct nspan *s = &w->spans[i];
    bool part = sl_prng_one_in(&w->rnd, 3), left = false;
    int64_t less[TYPES] = {0};
    for (uint32_t k = 0; k < w->types; k++) {
        less[k] = part ? between(w, 0, s->amount[k]) : s->amount[k];
        left |= less[k] < s->amount[k];
    }
    bool left_one = less[0] < s->amount[0];
    if (!part) {
        expect(w, sl_plan_remove(w->one, w->one_ids[i]), "removing from one");
        expect(w, w->forced || sl_plans_remove(w->all, s->id), "removing from all");
    } else if (left_one == left) { /* else the first has nothing left, and another has */
        expect(w, !sl_plan_reduce(w->one, w->one_ids[i], s->amount[0] + 1), "reducing too much");
        expect(w, sl_plan_reduce(w->one, w->one_ids[i], less[0]), "reducing one");
        expect(w, w->forced || sl_plans_reduce(w->all, s->id, less), "reducing all");
    } else {
        return;
    }
    for (uint32_t k = 0; k < w->types; k++) {
        naive_take(&w->n, s, k, -less[k]);
        s->amount[k] -= less[k];
    }
    if (part && left)
        return;
    *s = w->spans[--w->n_spans];
    w->one_ids[i] = w->one_ids[w->n_spans];
}

static void step_total(struct world *w) {
    uint32_t i = (uint32_t)sl_prng_below(&w->rnd, w->types);

    w->n.total[i] = between(w, 0, 30);
    sl_plans_set_total(w->all, i, w->n.total[i]);
    if (i == 0)
        sl_plan_set_total(w->one, w->n.total[0]);
}

static void step_grow(struct world *w) {
    if (w->types == TYPES || w->forced)
        return;
    w->n.total[w->types] = between(w, 0, 30);
    sl_plans_grow(w->all, w->n.total[w->types]);
    w->types++;
}

static void step_clone(struct world *w) {
    struct sl_plan *one = sl_plan_clone(w->one);
    struct sl_plans *all = sl_plans_clone(w->all);

    sl_plan_free(w->one);
    sl_plans_free(w->all);
    w->one = one;
    w->all = all;
}

static void query_plans(struct world *w) {
    int64_t at = between(w, w->n.start - 2, w->n.end + 1), amounts[TYPES] = {0};
    int64_t length = between(w, 0, sl_prng_one_in(&w->rnd, 2) ? w->n.end - w->n.start : 25);
    bool fit = naive_within(&w->n, at, length);

    for (uint32_t i = 0; i < w->types; i++) {
        amounts[i] = between(w, 0, w->n.total[i] + 1);
        fit = fit && (amounts[i] == 0 || naive_free(&w->n, i, at, length) >= amounts[i]);
    }
    int64_t t = sl_plan_earliest(w->one, at, length, amounts[0]);
    expect(w, t == naive_earliest(&w->n, 1, at, length, amounts), "the earliest time of one");
    expect(w, sl_plan_free_at(w->one, at) == naive_free(&w->n, 0, at, 1), "free at a time");
    expect(w, sl_plan_free_during(w->one, at, length) == naive_free(&w->n, 0, at, length),
           "free in a window");
    expect(w, sl_plan_points(w->one) == naive_points(&w->n), "how many points");
    expect(w, sl_plan_spans(w->one) == w->n_spans, "how many spans");
    w->digest = sl_digest_u64(w->digest, (uint64_t)t);
    if (w->forced)
        return;
    t = sl_plans_earliest(w->all, at, length, amounts);
    expect(w, t == naive_earliest(&w->n, w->types, at, length, amounts), "the earliest of all");
    expect(w, sl_plans_fit(w->all, at, length, amounts) == fit, "does it fit");
    w->digest = sl_digest_u64(w->digest, (uint64_t)t);
}

static bool check(struct world *w, uint64_t seed, uint64_t *digest) {
    memset(w, 0, sizeof *w);
    w->digest = *digest;
    seed_key(seed);
    sl_prng_init(&w->rnd, seed);
    bool wide = sl_prng_one_in(&w->rnd, 4);
    w->n.start = between(w, -20, 20);
    w->n.end = w->n.start + between(w, 1, wide ? MAX_TIME : 60);
    w->types = 1 + (uint32_t)sl_prng_below(&w->rnd, TYPES);
    w->forced = sl_prng_one_in(&w->rnd, 3);
    for (uint32_t i = 0; i < w->types; i++)
        w->n.total[i] = between(w, 0, 30);
    w->one = sl_plan_new(w->n.start, w->n.end, w->n.total[0]);
    w->all = sl_plans_new(w->n.start, w->n.end, w->n.total, w->types);
    int64_t steps = wide ? 600 : 120, step = 0;
    uint64_t fill = 8;
    for (; step < steps && !w->wrong; step++) {
        uint64_t what = sl_prng_below(&w->rnd, 16);
        if (step % 100 == 99) /* fills up, drains, fills up again */
            fill = fill == 8 ? 3 : 8;
        if (what < fill)
            step_add(w);
        else if (what < 13)
            step_remove(w);
        else if (what == 13 && sl_prng_one_in(&w->rnd, 4))
            step_total(w);
        else if (what == 14 && sl_prng_one_in(&w->rnd, 8))
            step_grow(w);
        else if (what == 15 && sl_prng_one_in(&w->rnd, 4))
            step_clone(w);
        query_plans(w);
    }
    if (w->wrong)
        printf("seed %llu fails in step %lld: %s; again with: prop_plan --seed %llu\n",
               (unsigned long long)seed, (long long)step, w->wrong, (unsigned long long)seed);
    sl_plan_free(w->one);
    sl_plans_free(w->all);
    *digest = w->digest;
    return !w->wrong;
}

int main(int argc, char **argv) {
    const char *env = getenv("SL_SEEDS");
    uint64_t seeds = env ? strtoull(env, NULL, 10) : 1000, first = 0, digest = 0, failed = 0;
    bool one = argc == 3 && strcmp(argv[1], "--seed") == 0;
    static struct world w;

    if (argc > 1 && !one) {
        fprintf(stderr, "usage: %s [--seed N]\n", argv[0]);
        return 2;
    }
    if (one) {
        first = strtoull(argv[2], NULL, 10);
        seeds = 1;
    }
    for (uint64_t s = first; s < first + seeds; s++) {
        failed += !check(&w, s, &digest);
        if (!one && s + 1 == DIGEST_SEEDS)
            printf("digest plan %016llx\n", (unsigned long long)digest);
    }
    printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)(seeds - failed),
           (unsigned long long)failed);
    return failed != 0;
}
