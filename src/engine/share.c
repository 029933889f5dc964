/*
 * Dominant resource share: how far a node is above its own quota, relative to what its parent could
 * lend, divided by its weight. Fixed point with 40 fraction bits, in thousandths as Kueue counts;
 * equal rationals give equal numbers, on every machine.
 */
#include "engine/state.h"

#define FRACTION_BITS 40
#define WIDE_MAX (~(unsigned __int128)0)

struct share share_of(const struct sl_engine *e, uint32_t node) {
    const struct node *n = &e->nodes.v[node];
    struct share s = {.zero_weight = n->weight_nano == 0};
    if (n->parent == NONE)
        return s;
    const struct tree *t = &e->trees.v[n->tree];
    const struct node *p = &e->nodes.v[n->parent];
    const struct cell *row = &t->cells[(size_t)n->row * t->n_fr];
    for (uint32_t r = 0; r < t->n_res; r++) {
        unsigned __int128 over = 0;
        for (uint32_t i = t->res_first[r]; i < t->res_first[r + 1]; i++) {
            const struct cell *c = &row[t->res_frs[i]];
            if (c->listed && c->usage > c->subtree)
                over += (unsigned __int128)(c->usage - c->subtree);
        }
        if (!over)
            continue;
        s.borrowing = true;
        if (p->lendable[r] <= 0)
            continue;
        if (over > INT64_MAX)
            over = INT64_MAX;
        unsigned __int128 ratio =
            ((over * 1000) << FRACTION_BITS) / (unsigned __int128)p->lendable[r];
        if (ratio > s.ratio)
            s.ratio = ratio;
    }
    if (s.zero_weight && s.borrowing)
        s.weighted = WIDE_MAX; /* infinite, even where nothing could be lent */
    else if (n->weight_nano == SL_WEIGHT_ONE || !s.ratio)
        s.weighted = s.ratio;
    else if (s.ratio > WIDE_MAX / SL_WEIGHT_ONE)
        s.weighted = WIDE_MAX - 1;
    else
        s.weighted = s.ratio * SL_WEIGHT_ONE / (unsigned __int128)n->weight_nano;
    return s;
}

int share_cmp(const struct share *a, const struct share *b) {
    if (a->weighted == WIDE_MAX && b->weighted == WIDE_MAX)
        return a->ratio < b->ratio ? -1 : a->ratio > b->ratio;
    return a->weighted < b->weighted ? -1 : a->weighted > b->weighted;
}

/* What the API shows: rounded up, the largest integer for infinite. */
int64_t share_status(const struct share *s) {
    if (s->weighted == WIDE_MAX)
        return INT64_MAX;
    unsigned __int128 up = s->weighted >> FRACTION_BITS;
    if (s->weighted & (((unsigned __int128)1 << FRACTION_BITS) - 1))
        up++;
    return up > INT64_MAX ? INT64_MAX : (int64_t)up;
}
