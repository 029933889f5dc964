/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is busy when. For the present, what is allocated is busy whatever its time; for the rest
 * only spans that meet the window count.
 */
#include <string.h>

#include "core/graph/match/match_int.h"

static bool meets(const struct graph_window *w, int64_t from, int64_t to) {
    return from < w->to && to > w->from;
}

void graph_window_masks(const struct sl_match *m, const struct graph_window *w,
                        const struct graph_block *b, uint64_t *x, uint64_t *s) {
    uint32_t n = graph_block_words(b);
    if (w->when == WHEN_PRESENT) {
        memcpy(x, &m->held[b->held], n * sizeof(*x));
        memcpy(s, &m->held[b->held + n], n * sizeof(*s));
    } else {
        memset(x, 0, n * sizeof(*x));
        memset(s, 0, n * sizeof(*s));
    }
    if (w->when != WHEN_EMPTY)
        graph_profile_or(m, b, w->from, w->to, x, s);
}

struct graph_pool *graph_pool_at(const struct sl_match *m, uint32_t pos) {
    uint32_t lo = 0, hi = m->pools.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (m->pools.v[mid].pos < pos)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < m->pools.n && m->pools.v[lo].pos == pos ? &m->pools.v[lo] : NULL;
}

/* Of those that are allocated: when the next one after t begins, and what they have all together. A
 * time that does not meet the window is no time to begin. */
static int64_t begins_after(const struct sl_match *m, const struct graph_window *w,
                            const struct graph_pool *p, int64_t t, int64_t *ret_amount) {
    int64_t next = w->to, amount = 0;
    for (uint32_t i = p->shares; i; i = m->shares.v[i].next) {
        const struct graph_share *s = &m->shares.v[i];
        if (!s->allocated || !meets(w, s->from, s->to) || s->from <= t)
            continue;
        amount += s->amount;
        next = s->from < next ? s->from : next;
    }
    *ret_amount = amount;
    return next;
}

/* What is allocated is so now, also if it is to begin later: until then it is not in the plan. */
static int64_t free_of_all(const struct sl_match *m, const struct graph_window *w,
                           const struct graph_pool *p) {
    int64_t least = sl_plan_free_during(p->plan, w->from, w->to - w->from), ahead;
    for (int64_t t = w->from, next; t < w->to && least > INT64_MIN; t = next) {
        next = begins_after(m, w, p, t, &ahead);
        int64_t here = sl_plan_free_during(p->plan, t, next - t) - ahead;
        least = here < least ? here : least;
    }
    return least;
}

int64_t graph_window_free(const struct sl_match *m, const struct graph_window *w,
                          const struct graph_pool *p) {
    if (w->when == WHEN_EMPTY)
        return sl_plan_total(p->plan);
    bool ahead = w->when == WHEN_PRESENT && w->from < m->latest_share;
    int64_t free_amount =
        ahead ? free_of_all(m, w, p) : sl_plan_free_during(p->plan, w->from, w->to - w->from);
    for (uint32_t i = p->shares; i && w->when == WHEN_PRESENT; i = m->shares.v[i].next) {
        const struct graph_share *s = &m->shares.v[i];
        if (s->allocated && !meets(w, s->from, s->to))
            free_amount -= s->amount;
    }
    return free_amount;
}
