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

int64_t graph_window_free(const struct sl_match *m, const struct graph_window *w,
                          const struct graph_pool *p) {
    if (w->when == WHEN_EMPTY)
        return sl_plan_total(p->plan);
    int64_t free_amount = sl_plan_free_during(p->plan, w->from, w->to - w->from);
    for (uint32_t i = p->shares; i && w->when == WHEN_PRESENT; i = m->shares.v[i].next) {
        const struct graph_share *s = &m->shares.v[i];
        if (s->allocated && !meets(w, s->from, s->to))
            free_amount -= s->amount;
    }
    return free_amount;
}
