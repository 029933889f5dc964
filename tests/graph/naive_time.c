/* The naive matcher's clock: what is free, and what is touched, in the window that is asked for. */
#include "naive_int.h"

static bool counts(const struct question *q, const struct hold *h) {
    if (q->when == ANYTIME)
        return false;
    if (q->when == PRESENT && job_of(q->n, h->job)->state == SL_JOB_ALLOCATED)
        return true;
    return h->from < q->to && q->from < h->to;
}

/* What jobs hold of a vertex at one moment of the window. */
static int64_t held_at(const struct question *q, sl_vtx v, int64_t t) {
    const struct holds *at = &q->n->at.v[v];
    int64_t held = 0;
    for (uint32_t i = 0; i < at->list.n; i++) {
        const struct hold *h = &at->list.v[i];
        bool always = q->when == PRESENT && job_of(q->n, h->job)->state == SL_JOB_ALLOCATED;
        if (h->exclusive && counts(q, h) && (always || (h->from <= t && t < h->to)))
            held += h->amount;
    }
    for (uint32_t i = 0; i < q->chosen.n; i++)
        if (q->chosen.v[i].v == v && q->chosen.v[i].exclusive)
            held += q->chosen.v[i].amount;
    return held;
}

int64_t free_of(const struct question *q, sl_vtx v) {
    const struct holds *at = &q->n->at.v[v];
    int64_t size = vertex_of(q->n, v)->size, most = held_at(q, v, q->from);
    /* what is held rises only where a job begins */
    for (uint32_t i = 0; i < at->list.n; i++) {
        int64_t t = at->list.v[i].from;
        int64_t held = t > q->from && t < q->to ? held_at(q, v, t) : 0;
        if (held > most)
            most = held;
    }
    if (!is_divisible(q->n, v)) {
        for (uint32_t i = 0; i < at->list.n; i++)
            if (at->list.v[i].exclusive && counts(q, &at->list.v[i]))
                return 0;
        return most > 0 ? 0 : size;
    }
    return most < size ? size - most : 0;
}

bool is_touched(const struct question *q, sl_vtx v) {
    const struct holds *at = &q->n->at.v[v];
    for (uint32_t i = 0; i < at->list.n; i++)
        if (counts(q, &at->list.v[i]))
            return true;
    for (uint32_t i = 0; i < q->chosen.n; i++)
        if (q->chosen.v[i].v == v)
            return true;
    for (uint32_t i = 0; i < vertex_of(q->n, v)->n_kids; i++)
        if (is_touched(q, kid_of(q->n, v, i)))
            return true;
    return false;
}
