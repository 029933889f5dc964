/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The masks of a block over time: moments at which they change, and what is taken from each on. It
 * follows from the spans, so that a window costs what changes in it and not what was ever planned.
 */
#include <string.h>

#include "core/graph/match/match_int.h"

static uint64_t *segment(const struct graph_profile *p, uint32_t i, uint32_t n_words) {
    return &p->bits[(size_t)i * 2 * n_words];
}

uint32_t graph_profile_find(const struct graph_profile *p, int64_t t) {
    uint32_t lo = 0, hi = p->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (p->at[mid] <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo; /* one behind the segment that holds t; 0: before all */
}

/* The segment that begins at t, made if there is none. */
static uint32_t split_segment(struct graph_profile *p, int64_t t, uint32_t n_words) {
    uint32_t i = graph_profile_find(p, t);
    if (i > 0 && p->at[i - 1] == t)
        return i - 1;
    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 4;
        p->at = sl_realloc(p->at, p->cap, sizeof(*p->at));
        p->bits = sl_realloc(p->bits, p->cap, (size_t)2 * n_words * sizeof(*p->bits));
    }
    size_t bytes = (size_t)2 * n_words * sizeof(*p->bits);
    memmove(&p->at[i + 1], &p->at[i], (p->n - i) * sizeof(*p->at));
    memmove(segment(p, i + 1, n_words), segment(p, i, n_words), (p->n - i) * bytes);
    p->at[i] = t;
    if (i > 0)
        memcpy(segment(p, i, n_words), segment(p, i - 1, n_words), bytes);
    else
        memset(segment(p, 0, n_words), 0, bytes);
    p->n++;
    return i;
}

static bool is_zero(const uint64_t *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (v[i])
            return false;
    return true;
}

/* Takes out moments between two segments, both included, at which nothing changes. */
static void merge_segments(struct graph_profile *p, uint32_t from, uint32_t to, uint32_t n_words) {
    uint32_t kept = from;
    size_t bytes = (size_t)2 * n_words * sizeof(*p->bits);
    for (uint32_t i = from; i < p->n; i++) {
        const uint64_t *now = segment(p, i, n_words);
        bool same = i > to      ? false
                    : kept == 0 ? is_zero(now, 2 * n_words)
                                : memcmp(now, segment(p, kept - 1, n_words), bytes) == 0;
        if (same)
            continue;
        if (kept < i) {
            p->at[kept] = p->at[i];
            memmove(segment(p, kept, n_words), now, bytes);
        }
        kept++;
    }
    p->n = kept;
}

struct graph_profile *graph_profile_of(struct sl_match *m, struct graph_block *b) {
    if (b->profile == 0) {
        if (m->profiles.n == 0)
            *sl_vec_push(&m->profiles) = (struct graph_profile){0};
        b->profile = m->profiles.n;
        *sl_vec_push(&m->profiles) = (struct graph_profile){0};
    }
    return &m->profiles.v[b->profile];
}

void graph_profile_add(struct sl_match *m, struct graph_block *b, int64_t from, int64_t to,
                       const uint64_t *bits) {
    struct graph_profile *p = graph_profile_of(m, b);
    uint32_t n = graph_block_words(b), first = split_segment(p, from, n),
             end = split_segment(p, to, n);
    for (uint32_t i = first; i < end; i++)
        for (uint32_t k = 0; k < 2 * n; k++)
            segment(p, i, n)[k] |= bits[k];
    merge_segments(p, first, end, n);
}

void graph_profile_drop(struct sl_match *m, struct graph_block *b, int64_t from, int64_t to,
                        const uint64_t *bits) {
    struct graph_profile *p = graph_profile_of(m, b);
    uint32_t n = graph_block_words(b);
    bool shared = !is_zero(bits + n, n);
    /* Shared bits may be those of other spans too, which begin or end where nothing changed until
     * now. */
    for (uint32_t s = shared ? b->spans : 0; s; s = m->spans.v[s].next) {
        if (from < m->spans.v[s].from && m->spans.v[s].from < to)
            (void)split_segment(p, m->spans.v[s].from, n);
        if (from < m->spans.v[s].to && m->spans.v[s].to < to)
            (void)split_segment(p, m->spans.v[s].to, n);
    }
    uint32_t first = split_segment(p, from, n), end = split_segment(p, to, n);
    for (uint32_t i = first; i < end; i++) {
        uint64_t *v = segment(p, i, n);
        for (uint32_t k = 0; k < 2 * n; k++)
            v[k] &= ~bits[k];
        for (uint32_t s = shared ? b->spans : 0; s; s = m->spans.v[s].next)
            for (uint32_t k = 0; k < n; k++)
                if (m->spans.v[s].from <= p->at[i] && p->at[i] < m->spans.v[s].to)
                    v[n + k] |= m->words.v[m->spans.v[s].bits + n + k];
    }
    merge_segments(p, first, end, n);
}

void graph_profile_or(const struct sl_match *m, const struct graph_block *b, int64_t from,
                      int64_t to, uint64_t *x, uint64_t *s) {
    if (b->profile == 0)
        return;
    const struct graph_profile *p = &m->profiles.v[b->profile];
    uint32_t n = graph_block_words(b), i = graph_profile_find(p, from);
    for (i -= i > 0; i < p->n && p->at[i] < to; i++)
        for (uint32_t k = 0; k < n; k++) {
            x[k] |= segment(p, i, n)[k];
            s[k] |= segment(p, i, n)[n + k];
        }
}

void graph_profiles_free(struct sl_match *m) {
    for (uint32_t i = 0; i < m->profiles.n; i++) {
        sl_freep(&m->profiles.v[i].at);
        sl_freep(&m->profiles.v[i].bits);
    }
    sl_vec_free(&m->profiles);
}
