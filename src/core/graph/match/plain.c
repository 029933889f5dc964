/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common case: a slot of so many cores and gpus. Where these are plain children of a vertex,
 * the allocation is found by masks alone; so much of one divisible pool is as simple.
 */
#include "core/base/collection/bits.h"
#include "core/graph/match/match_int.h"

bool graph_plain_slot(const struct graph_walk *w, uint32_t req, struct graph_plain *ret) {
    const struct graph_req *slot = &w->r->reqs.v[req];
    if (slot->kind != SL_REQ_SLOT || slot->n_with > TYPES_MAX)
        return false;
    ret->n = slot->n_with;
    ret->least = graph_req_least(slot);
    for (uint32_t i = 0; i < slot->n_with; i++) {
        const struct graph_req *q = &w->r->reqs.v[slot->with + i];
        if (q->n_with > 0 || !graph_req_is_fixed(q) || w->types[slot->with + i] == UINT16_MAX)
            return false;
        ret->of[i].type = w->types[slot->with + i];
        ret->of[i].per = q->most;
    }
    return true;
}

const struct graph_run *graph_plain_run(const struct sl_match *m, uint32_t inner, uint16_t type) {
    const struct graph_inner *in = &m->inners.v[inner];
    for (uint32_t i = 0; i < in->n_runs; i++)
        if (m->runs.v[in->runs + i].type == type)
            return &m->runs.v[in->runs + i];
    return NULL;
}

void graph_plain_free(const struct graph_walk *w, uint32_t inner, const struct graph_run *run,
                      const uint64_t *x, const uint64_t *s, uint64_t *ret) {
    const struct sl_match *m = w->m;
    const struct graph_inner *in = &m->inners.v[inner];
    const struct graph_block *b = &m->blocks.v[m->spots[in->pos].block];
    for (uint32_t k = 0; k < graph_block_words(b); k++)
        ret[k] = m->masks.v[run->mask + k] & ~(x[k] | s[k]);
    for (uint32_t i = 0; i < run->n && in->some_down && !w->w.any_status; i++)
        if (graph_vertex_at(m, m->kids[run->at + i])->down)
            sl_bits_clear(ret, m->kids[run->at + i] - b->pos);
}

uint32_t graph_plain_slots(const struct graph_walk *w, uint32_t inner, const uint64_t *x,
                           const uint64_t *s) {
    const struct sl_match *m = w->m;
    const struct graph_plain *p = &w->plain;
    const struct graph_block *b = &m->blocks.v[m->spots[m->inners.v[inner].pos].block];
    uint32_t slots = UINT32_MAX;
    uint64_t have[BLOCK_WORDS] _unset_;
    if (b->n == 1)
        return GRAPH_NONE;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct graph_run *run = graph_plain_run(m, inner, p->of[i].type);
        if (!run || run->way == 0)
            return GRAPH_NONE;
        uint32_t count = 0;
        graph_plain_free(w, inner, run, x, s, have);
        for (uint32_t k = 0; k < graph_block_words(b); k++)
            count += sl_bits_count(have[k]);
        count /= graph_plain_per(run, p->of[i].per);
        slots = count < slots ? count : slots;
    }
    return slots;
}

/* The first or last so many bits. */
static void take_bits(const uint64_t *have, uint32_t n, uint32_t count, int way, uint64_t *ret) {
    for (uint32_t i = 0; i < n && count > 0; i++) {
        uint32_t w = way > 0 ? i : n - 1 - i, in_word = sl_bits_count(have[w]);
        uint64_t left = have[w];
        if (in_word <= count) {
            ret[w] |= left;
            count -= in_word;
            continue;
        }
        for (; count > 0; count--) {
            uint64_t bit =
                way > 0 ? left & -left : UINT64_C(1) << (63 - (uint32_t)__builtin_clzll(left));
            ret[w] |= bit;
            left &= ~bit;
        }
    }
}

void graph_plain_take(struct graph_walk *w, uint32_t inner, uint32_t slots,
                      struct graph_chain *ret) {
    const struct sl_match *m = w->m;
    const struct graph_plain *p = &w->plain;
    const struct graph_inner *in = &m->inners.v[inner];
    uint32_t block = m->spots[in->pos].block, n = graph_block_words(&m->blocks.v[block]);
    uint64_t have[BLOCK_WORDS] _unset_;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct graph_run *run = graph_plain_run(m, inner, p->of[i].type);
        if (run->pool) {
            struct graph_group g = {.pos = m->pools.v[run->pool - 1].pos,
                                    .whole = true,
                                    .divisible = true,
                                    .exclusive = true};
            graph_chain_group(w, ret, &g, (int64_t)slots * p->of[i].per);
            continue;
        }
        struct graph_claim *c = graph_chain_claim(w, ret, block);
        graph_plain_free(w, inner, run, w->x, w->s, have);
        take_bits(have, n, slots * graph_plain_per(run, p->of[i].per), run->way, c->bits);
    }
    ret->n_slots += slots;
}
