/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Oracle, section 3: the tree, its formulas and the dominant resource share. Written as the
 * formulas stand in rules 3.2 and 3.6; quotas are laid out once per snapshot because they do not
 * change within one.
 */
#include <string.h>

#include "oracle.h"

static bool is_cq(int n) {
    return n < ORC_CQS;
}

/* Rule 3.1: walks parents with a seen-set. */
bool orc_in_cycle(const struct orc *o, int n) {
    bool seen[ORC_NODES] = {false};

    for (; n >= 0; n = o->node[n].parent) {
        if (seen[n])
            return true;
        seen[n] = true;
    }
    return false;
}

/* Rule 3.4, without checks and topology. */
bool orc_active(const struct orc *o, int cq) {
    const struct orc_node *n = &o->node[cq];

    if (!n->exists || o->cq[cq].stop != SL_STOP_NONE || orc_in_cycle(o, cq))
        return false;
    for (int g = 0; g < n->n_groups; g++)
        for (int i = 0; i < n->group[g].n_flavors; i++)
            if (!o->flavor[n->group[g].flavor[i]].exists)
                return false;
    return true;
}

int orc_root(const struct orc *o, int n) {
    if (orc_in_cycle(o, n))
        return n;
    while (o->node[n].parent >= 0)
        n = o->node[n].parent;
    return n;
}

/* A child is a queue that exists or a cohort that names its parent; only objects name a parent. */
static bool is_child(const struct orc *o, int n, int parent) {
    return o->node[n].exists && o->node[n].parent == parent;
}

static void lay_out(struct orc_snap *s, int n, int fr) {
    const struct orc *o = s->o;
    const struct orc_quota *q = &o->node[n].q[fr];
    sl_amount sub = o->node[n].exists && q->listed ? q->nominal : 0;
    bool listed = o->node[n].exists && q->listed;

    for (int c = 0; c < ORC_NODES && !is_cq(n); c++) {
        if (!is_child(o, c, n))
            continue;
        lay_out(s, c, fr);
        sub = sl_amount_add(sub, sl_amount_sub(s->subtree[c][fr], s->local[c][fr]));
        listed |= s->listed[c][fr];
    }
    s->subtree[n][fr] = sub;
    s->listed[n][fr] = listed;
    s->local[n][fr] = 0;
    if (o->node[n].exists && q->listed && q->lend != SL_AMOUNT_NONE)
        s->local[n][fr] = sl_amount_max(0, sl_amount_sub(sub, q->lend));
}

void orc_snapshot(const struct orc *o, struct orc_snap *s) {
    memset(s, 0, sizeof *s);
    s->o = o;
    for (int n = 0; n < ORC_NODES; n++)
        for (int fr = 0; fr < ORC_FRS && o->node[n].parent < 0; fr++)
            lay_out(s, n, fr);
    for (int c = 0; c < ORC_CQS; c++)
        s->active[c] = orc_active(o, c);
    for (int w = 0; w < o->n_wls; w++)
        if (o->wl[w].state == ORC_RESERVED)
            orc_add(s, o->wl[w].cq, o->wl[w].got.usage, +1);
}

void orc_add(struct orc_snap *s, int cq, const sl_amount *usage, int sign) {
    for (int fr = 0; fr < ORC_FRS; fr++)
        s->usage[cq][fr] = sign > 0 ? sl_amount_add(s->usage[cq][fr], usage[fr])
                                    : sl_amount_sub(s->usage[cq][fr], usage[fr]);
}

void orc_take_out(struct orc_snap *s, int w) {
    sl_assert(!s->gone[w] && s->o->wl[w].state == ORC_RESERVED);
    s->gone[w] = true;
    orc_add(s, s->o->wl[w].cq, s->o->wl[w].got.usage, -1);
}

void orc_put_back(struct orc_snap *s, int w) {
    sl_assert(s->gone[w]);
    s->gone[w] = false;
    orc_add(s, s->o->wl[w].cq, s->o->wl[w].got.usage, +1);
}

/* ---- 3.2 ---- */

sl_amount orc_usage(const struct orc_snap *s, int n, int fr) {
    sl_amount sum = 0;

    if (is_cq(n))
        return s->usage[n][fr];
    for (int c = 0; c < ORC_NODES; c++)
        if (is_child(s->o, c, n))
            sum = sl_amount_add(
                sum, sl_amount_max(0, sl_amount_sub(orc_usage(s, c, fr), s->local[c][fr])));
    return sum;
}

sl_amount orc_local_available(const struct orc_snap *s, int n, int fr) {
    return sl_amount_max(0, sl_amount_sub(s->local[n][fr], orc_usage(s, n, fr)));
}

static sl_amount borrow_limit(const struct orc_snap *s, int n, int fr) {
    const struct orc_node *node = &s->o->node[n];
    return node->exists && node->q[fr].listed ? node->q[fr].borrow : SL_AMOUNT_NONE;
}

sl_amount orc_available_raw(const struct orc_snap *s, int n, int fr) {
    int parent = s->o->node[n].parent;
    sl_amount from_parent, limit = borrow_limit(s, n, fr), usage = orc_usage(s, n, fr);

    if (parent < 0)
        return sl_amount_sub(s->subtree[n][fr], usage);
    from_parent = orc_available_raw(s, parent, fr);
    if (limit != SL_AMOUNT_NONE) {
        sl_amount stored = sl_amount_sub(s->subtree[n][fr], s->local[n][fr]);
        sl_amount used = sl_amount_max(0, sl_amount_sub(usage, s->local[n][fr]));
        sl_amount most = sl_amount_add(sl_amount_sub(stored, used), limit);
        from_parent = sl_amount_min(from_parent, most);
    }
    return sl_amount_add(orc_local_available(s, n, fr), from_parent);
}

sl_amount orc_available(const struct orc_snap *s, int cq, int fr) {
    return sl_amount_max(0, orc_available_raw(s, cq, fr));
}

sl_amount orc_potential(const struct orc_snap *s, int n, int fr) {
    int parent = s->o->node[n].parent;
    sl_amount p, limit = borrow_limit(s, n, fr);

    if (parent < 0)
        return s->subtree[n][fr];
    p = sl_amount_add(s->local[n][fr], orc_potential(s, parent, fr));
    if (limit != SL_AMOUNT_NONE)
        p = sl_amount_min(p, sl_amount_add(s->subtree[n][fr], limit));
    return p;
}

bool orc_fits(const struct orc_snap *s, int cq, const sl_amount *usage) {
    for (int fr = 0; fr < ORC_FRS; fr++)
        if (usage[fr] > orc_available(s, cq, fr))
            return false;
    return true;
}

/* ---- 2.4: how far up it borrows ---- */

/* Queues that are not active are absent as nodes (rule 1.4.9). */
int orc_height(const struct orc_snap *s, int n) {
    int h = 0;

    if (is_cq(n))
        return 0;
    for (int c = 0; c < ORC_NODES; c++) {
        if (!is_child(s->o, c, n) || (is_cq(c) && !s->active[c]))
            continue;
        int below = orc_height(s, c) + 1;
        h = below > h ? below : h;
    }
    return h;
}

int orc_borrow_level(const struct orc_snap *s, int cq, int fr, sl_amount val, bool *may_reclaim) {
    const struct orc *o = s->o;
    int c = o->node[cq].parent, root = cq;
    sl_amount remaining;

    if (c < 0 || s->subtree[cq][fr] >= sl_amount_add(orc_usage(s, cq, fr), val)) {
        *may_reclaim = c >= 0;
        return 0;
    }
    remaining = sl_amount_sub(val, orc_local_available(s, cq, fr));
    for (; c >= 0; c = o->node[c].parent) {
        root = c;
        if (s->subtree[c][fr] >= sl_amount_add(orc_usage(s, c, fr), remaining)) {
            *may_reclaim = o->node[c].parent >= 0;
            return orc_height(s, c);
        }
        remaining = sl_amount_sub(remaining, orc_local_available(s, c, fr));
    }
    *may_reclaim = false;
    return orc_height(s, root);
}

/* ---- 3.6: dominant resource share, as an exact fraction ---- */

struct orc_share orc_share_of(const struct orc_snap *s, int n) {
    const struct orc *o = s->o;
    struct orc_share sh = {.lendable = 1};
    sl_amount over[ORC_RES] = {0}, lendable[ORC_RES] = {0};
    int64_t weight = o->node[n].exists ? o->node[n].weight_nano : INT64_C(1000000000);
    int parent = o->node[n].parent, root = n;

    sh.weight = weight;
    if (parent < 0)
        return sh;
    while (o->node[root].parent >= 0)
        root = o->node[root].parent;
    for (int fr = 0; fr < ORC_FRS; fr++) {
        sl_amount b = sl_amount_sub(orc_usage(s, n, fr), s->subtree[n][fr]);
        if (s->listed[n][fr] && b > 0) {
            over[fr % ORC_RES] = sl_amount_add(over[fr % ORC_RES], b);
            sh.on[fr] = sh.borrowing = true;
        }
        if (s->listed[root][fr])
            lendable[fr % ORC_RES] =
                sl_amount_add(lendable[fr % ORC_RES], orc_potential(s, parent, fr));
    }
    if (!sh.borrowing)
        return sh;
    sh.over = 0;
    sh.lendable = 1;
    for (int r = 0; r < ORC_RES; r++)
        if (over[r] > 0 && lendable[r] > 0 &&
            (__int128)over[r] * sh.lendable > (__int128)sh.over * lendable[r]) {
            sh.over = over[r];
            sh.lendable = lendable[r];
        }
    sh.infinite = weight == 0;
    return sh;
}

/* Exact fractions; amounts here are small enough for 128 bits. */
int orc_share_cmp(const struct orc_share *a, const struct orc_share *b) {
    __int128 x = (__int128)a->over * b->lendable, y = (__int128)b->over * a->lendable;

    if (a->infinite != b->infinite)
        return a->infinite ? 1 : -1;
    if (!a->infinite && x && y) {
        x *= b->weight;
        y *= a->weight;
    }
    return x < y ? -1 : x > y;
}
