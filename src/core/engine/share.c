/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dominant resource share: how far a node is above its own quota, relative to what its parent could
 * lend, divided by its weight. A fraction, compared exactly: rounding never decides the order, on
 * any machine.
 */
#include "core/engine/state.h"

typedef unsigned __int128 wide;

/* over / lendable of one resource, the larger of two. */
static bool larger(uint64_t over, uint64_t lendable, const struct eng_share *s) {
    return (wide)over * s->lendable > (wide)s->over * lendable;
}

struct eng_share eng_share_of(const struct sl_engine *e, uint32_t node) {
    const struct eng_node *n = &e->nodes.v[node];
    struct eng_share s = {.over = 0, .lendable = 1, .weight_nano = (uint64_t)n->weight_nano};
    if (n->parent == ENG_NONE)
        return s;
    const struct eng_tree *t = &e->trees.v[n->tree];
    const struct eng_node *p = &e->nodes.v[n->parent];
    const struct eng_cell *row = &t->cells[(size_t)n->row * t->n_fr];
    for (uint32_t r = 0; r < t->n_res; r++) {
        wide over = 0;
        for (uint32_t i = t->res_first[r]; i < t->res_first[r + 1]; i++) {
            const struct eng_cell *c = &row[t->res_frs[i]];
            if (c->listed && c->usage > c->subtree)
                over += (wide)(c->usage - c->subtree);
        }
        if (!over)
            continue;
        s.borrowing = true;
        if (p->lendable[r] <= 0)
            continue;
        if (over > INT64_MAX)
            over = INT64_MAX;
        if (larger((uint64_t)over, (uint64_t)p->lendable[r], &s)) {
            s.over = (uint64_t)over;
            s.lendable = (uint64_t)p->lendable[r];
        }
    }
    return s;
}

/* A borrower of weight zero: infinite, even where nothing could be lent. */
static bool infinite(const struct eng_share *s) {
    return s->borrowing && s->weight_nano == 0;
}

static int cmp_ratio(const struct eng_share *a, const struct eng_share *b) {
    wide x = (wide)a->over * b->lendable, y = (wide)b->over * a->lendable;
    return x < y ? -1 : x > y;
}

/* over * lendable * weight of the two sides, 192 bits in two parts. */
struct product {
    wide high; /* all but the lowest 64 bits */
    uint64_t low;
};

static struct product product(uint64_t over, const struct eng_share *other) {
    wide d = (wide)other->lendable * other->weight_nano;
    wide low = (wide)over * (uint64_t)d;
    return (struct product){(wide)over * (uint64_t)(d >> 64) + (low >> 64), (uint64_t)low};
}

int eng_share_cmp(const struct eng_share *a, const struct eng_share *b) {
    if (infinite(a) || infinite(b))
        return infinite(a) && infinite(b) ? cmp_ratio(a, b) : infinite(a) ? 1 : -1;
    if (a->weight_nano == b->weight_nano || !a->over || !b->over)
        return cmp_ratio(a, b);
    struct product x = product(a->over, b), y = product(b->over, a);
    if (x.high != y.high)
        return x.high < y.high ? -1 : 1;
    return x.low < y.low ? -1 : x.low > y.low;
}

/* What the API shows: thousandths, rounded up, the largest integer for infinite. */
int64_t eng_share_status(const struct eng_share *s) {
    if (infinite(s))
        return INT64_MAX;
    if (!s->over)
        return 0;
    wide over = (wide)s->over * 1000 * SL_WEIGHT_ONE, den = (wide)s->lendable * s->weight_nano;
    wide up = over / den + (over % den != 0);
    return up > INT64_MAX ? INT64_MAX : (int64_t)up;
}
