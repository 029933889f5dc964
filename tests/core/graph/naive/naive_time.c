/* SPDX-License-Identifier: Apache-2.0 */
/* The naive matcher's clock: what is free, and what is touched, in the window that is asked for. */
#include "naive_int.h"

static bool is_excepted(const struct question *q, const struct hold *h) {
    return q->except && q->except->info.id == h->job;
}

static bool meets(const struct question *q, const struct hold *h) {
    return h->from < q->to && q->from < h->to;
}

static bool counts(const struct question *q, const struct hold *h) {
    if (q->when == ANYTIME || is_excepted(q, h))
        return false;
    if (q->when == PRESENT && job_of(q->n, h->job)->state == SL_JOB_ALLOCATED)
        return true;
    return meets(q, h);
}

/* What is allocated is so now, also if it is to begin later. */
static int64_t begin_of(const struct question *q, const struct hold *h) {
    bool now = q->when == PRESENT && job_of(q->n, h->job)->state == SL_JOB_ALLOCATED;
    return (now && h->from > q->from) || h->from < q->from ? q->from : h->from;
}

/* What jobs hold of a vertex at a moment of the window, by their times that meet it. */
static int64_t held_at(const struct question *q, sl_vtx v, int64_t t) {
    const struct holds *at = &q->n->at.v[v];
    int64_t held = 0;
    for (uint32_t i = 0; i < at->list.n; i++) {
        const struct hold *h = &at->list.v[i];
        bool then = meets(q, h) && begin_of(q, h) <= t && t < h->to;
        if (then && h->exclusive && !is_excepted(q, h))
            held += h->amount;
    }
    return held;
}

/* The most that is held at any moment of the window, and what is held by jobs that count although
 * their time does not meet the window, and by what was chosen before. */
static int64_t most_held(const struct question *q, sl_vtx v) {
    const struct holds *at = &q->n->at.v[v];
    int64_t most = 0, besides = 0;
    /* it rises only where a job begins */
    for (uint32_t i = 0; i < at->list.n && q->when != ANYTIME; i++) {
        const struct hold *h = &at->list.v[i];
        int64_t t = begin_of(q, h);
        if (meets(q, h) && held_at(q, v, t) > most)
            most = held_at(q, v, t);
        if (!meets(q, h) && h->exclusive && counts(q, h))
            besides += h->amount;
    }
    for (uint32_t i = 0; i < q->chosen.n; i++)
        if (q->chosen.v[i].v == v && q->chosen.v[i].exclusive)
            besides += q->chosen.v[i].amount;
    return most + besides;
}

int64_t free_of(const struct question *q, sl_vtx v) {
    int64_t size = vertex_of(q->n, v)->size, held = most_held(q, v);
    if (is_divisible(q->n, v))
        return held < size ? size - held : 0;
    return held > 0 ? 0 : size;
}

bool is_touched(const struct question *q, sl_vtx v) {
    const struct holds *at = &q->n->at.v[v];
    for (uint32_t i = 0; i < at->list.n; i++)
        if (counts(q, &at->list.v[i]))
            return true;
    for (uint32_t i = 0; i < q->chosen.n; i++)
        if (q->chosen.v[i].v == v)
            return true;
    for (uint32_t i = 0; i < count_kids(q->n, v); i++)
        if (is_touched(q, any_kid(q->n, v, i)))
            return true;
    return false;
}
