/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests on auxiliary subsystems: a node and an amount of the power that feeds it. Two nodes may
 * share the same vertex, so candidates are not independent: what was chosen counts as taken for
 * later ones, and each is walked again when it is tried. Slower than the rest, and only for
 * requests that need it.
 */
#include "core/graph/match/match_int.h"

bool graph_aux_asks(const struct graph_walk *w, const struct graph_wants *t, bool inside) {
    for (uint32_t i = t->first; i < t->first + t->n; i++) {
        const struct graph_req *r = &w->r->reqs.v[i];
        struct graph_wants with = {r->with, r->n_with, r->slot};
        if (inside && w->types[i] != UINT16_MAX && w->m->aux_types[w->types[i]])
            return true;
        if (graph_aux_asks(w, &with, r->kind == SL_REQ_RESOURCE))
            return true;
    }
    return false;
}

/* ---- what was chosen ---- */

bool graph_aux_is_taken(const struct graph_walk *w, uint32_t pos) {
    for (uint32_t i = 0; i < w->noted.n; i++) {
        const struct graph_noted *k = &w->noted.v[i];
        if (k->exclusive && !k->amount && k->from <= pos && pos < k->to)
            return true;
    }
    return false;
}

bool graph_aux_is_touched(const struct graph_walk *w, uint32_t from, uint32_t to) {
    for (uint32_t i = 0; i < w->noted.n; i++)
        if (w->noted.v[i].from < to && from < w->noted.v[i].to)
            return true;
    return false;
}

int64_t graph_aux_given(const struct graph_walk *w, uint32_t pos) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < w->noted.n; i++)
        sum += w->noted.v[i].from == pos ? w->noted.v[i].amount : 0;
    return sum;
}

void graph_aux_note(struct graph_walk *w, const struct graph_group *g, int64_t amount) {
    const struct sl_match *m = w->m;
    if (g->whole && g->all && graph_joint_leads_out(m, g->pos)) {
        struct graph_ranges below = {0};
        graph_joint_below(m, g->pos, &below);
        for (uint32_t i = 0; i < below.n; i++)
            *sl_vec_push(&w->noted) = (struct graph_noted){below.v[i].from, below.v[i].to, 0, true};
        sl_vec_free(&below);
        return;
    }
    if (g->whole) {
        bool part = g->divisible && g->exclusive;
        *sl_vec_push(&w->noted) =
            (struct graph_noted){g->pos, g->all && !part ? graph_end_of(m, g->pos) : g->pos + 1,
                                 part ? amount : 0, g->exclusive};
        return;
    }
    for (const struct graph_claim *c = g->chain.claims; c; c = c->next) {
        if (c->amount) {
            uint32_t pos = m->pools.v[c->block].pos;
            *sl_vec_push(&w->noted) = (struct graph_noted){pos, pos + 1, c->amount, true};
            continue;
        }
        const struct graph_block *b = &m->blocks.v[c->block];
        uint32_t n = graph_block_words(b);
        for (uint32_t k = 0; k < 2 * n; k++)
            for (uint64_t left = c->bits[k]; left; left &= left - 1) {
                uint32_t pos = graph_block_pos(b, k, left);
                *sl_vec_push(&w->noted) = (struct graph_noted){pos, pos + 1, 0, k < n};
            }
    }
}

/* ---- again ---- */

/* Walks a candidate beside what is chosen by now; NULL if it does not succeed any more. */
static struct graph_group *walk_again(struct graph_walk *w, const struct graph_group *g) {
    if (!g->parts) {
        struct graph_wants only = {g->req, 1, REQ_NONE};
        struct graph_list found = {0};
        w->from = g->from;
        bool good = graph_walk_visit(w, g->pos, &only, false, g->inherited, &found);
        if (good)
            found.first->passed = g->passed;
        return good ? found.first : NULL;
    }
    struct graph_group *slot = sl_arena_alloc(&w->m->scratch, sizeof(*slot));
    uint32_t noted = w->noted.n;
    *slot = *g;
    slot->chain = (struct graph_chain){.n_slots = 1};
    slot->parts = sl_arena_alloc(&w->m->scratch, (g->n_parts + 1) * sizeof(*slot->parts));
    for (uint32_t i = 0; i < g->n_parts && slot; i++) {
        struct graph_group *part = walk_again(w, g->parts[i].g);
        if (part && part->count >= g->parts[i].amount) {
            graph_aux_note(w, part, g->parts[i].amount);
            graph_chain_group(w, &slot->chain, part, g->parts[i].amount);
            slot->parts[i] = (struct graph_part){part, g->parts[i].amount};
        } else {
            slot = NULL;
        }
    }
    w->noted.n = noted;
    return slot;
}

uint32_t graph_aux_beside(struct graph_walk *w, struct graph_group **v, uint32_t n) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct graph_group *g = walk_again(w, v[i]);
        if (!g)
            continue;
        graph_aux_note(w, g, g->count);
        v[kept++] = g;
    }
    return kept;
}

static int64_t usable_amount(const struct graph_group *g, int64_t most) {
    return g->divisible && g->count > most ? most : g->count;
}

bool graph_aux_choose(struct graph_walk *w, struct graph_group **v, uint32_t n,
                      const struct graph_req *r, struct graph_chain *ret) {
    struct graph_group **good =
        sl_arena_alloc(&w->m->scratch, (n + 1) * sizeof(struct graph_group *));
    uint32_t noted = w->noted.n, n_good = 0;
    int64_t sum = 0;
    for (uint32_t i = 0; i < n && sum < r->most; i++) {
        struct graph_group *g = walk_again(w, v[i]);
        if (!g)
            continue;
        graph_aux_note(w, g, usable_amount(g, r->most - sum));
        sum += usable_amount(g, r->most - sum);
        good[n_good++] = g;
    }
    w->noted.n = noted;
    sum = 0;
    for (uint32_t i = 0; i < n_good; i++)
        sum += good[i]->count;
    int64_t left = sl_req_count_take(&r->count, (uint64_t)sum);
    if (left == 0)
        return false;
    for (uint32_t i = 0; left > 0; i++) {
        int64_t amount = usable_amount(good[i], left);
        graph_aux_note(w, good[i], amount);
        graph_chain_group(w, ret, good[i], amount);
        left -= amount;
    }
    return true;
}

/* ---- what a vertex hangs on ---- */

struct far {
    uint32_t pos, steps;
};

static bool is_before(const struct sl_match *m, const struct far *a, const struct far *b) {
    if (a->steps != b->steps)
        return a->steps < b->steps;
    int64_t x = graph_vertex_at(m, a->pos)->uniq_id, y = graph_vertex_at(m, b->pos)->uniq_id;
    return x != y ? x < y : a->pos < b->pos;
}

bool graph_aux_inside(struct graph_walk *w, uint32_t pos, uint32_t req, bool exclusive,
                      struct graph_chain *ret) {
    struct sl_match *m = w->m;
    SL_VEC(struct far) reached = {0};
    uint8_t *seen = sl_alloc0((size_t)m->n_spots / 8 + 1, 1);
    struct graph_group *found = NULL, **v = NULL;
    uint32_t n = 0;
    *sl_vec_push(&reached) = (struct far){pos, 0};
    seen[pos / 8] |= (uint8_t)(1 << pos % 8);
    for (uint32_t i = 0; i < reached.n; i++) { /* breadth first */
        struct far at = reached.v[i];
        for (uint32_t k = m->aux_first[at.pos]; k < m->aux_first[at.pos + 1]; k++) {
            uint32_t from = m->aux_from[k];
            if (seen[from / 8] >> from % 8 & 1)
                continue;
            seen[from / 8] |= (uint8_t)(1 << from % 8);
            *sl_vec_push(&reached) = (struct far){from, at.steps + 1};
        }
    }
    /* Those of the type, in order: they are few. */
    for (uint32_t i = 1; i < reached.n; i++) {
        struct far f = reached.v[i];
        if (m->spots[f.pos].type != w->types[req])
            continue;
        uint32_t k = n++;
        for (; k > 0 && is_before(m, &f, &reached.v[k - 1]); k--)
            reached.v[k] = reached.v[k - 1];
        reached.v[k] = f;
    }
    found = sl_arena_alloc0(&m->scratch, n + 1, sizeof(*found));
    v = sl_arena_alloc(&m->scratch, (n + 1) * sizeof(struct graph_group *));
    for (uint32_t i = 0; i < n; i++) {
        found[i] =
            (struct graph_group){.pos = reached.v[i].pos, .req = req, .inherited = exclusive};
        graph_joint_pass_first(w, &found[i], reached.v[i].pos);
        v[i] = &found[i];
    }
    sl_vec_free(&reached);
    sl_freep(&seen);
    return graph_aux_choose(w, v, n, &w->r->reqs.v[req], ret);
}
