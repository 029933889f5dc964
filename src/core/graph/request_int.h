/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled request, as the matcher walks it. */
#ifndef SL_CORE_GRAPH_REQUEST_INT_H
#define SL_CORE_GRAPH_REQUEST_INT_H

#include "core/graph/request.h"

#define REQ_NONE UINT32_MAX

struct graph_req {
    sl_sym type;           /* of a resource; 0: a slot */
    enum sl_req_kind kind; /* no XOR_SLOT is left */
    enum sl_req_tristate exclusive;
    struct sl_req_count count;
    uint32_t most;         /* the greatest allowed count */
    uint32_t with, n_with; /* required inside: siblings are adjacent */
    uint32_t slot;         /* the first slot among them, or REQ_NONE */
    bool several;          /* of kind SLOT, among them */
};

/* Will only one number do? */
static inline bool graph_req_is_fixed(const struct graph_req *r) {
    return r->count.set ? r->count.n_set == 1 : r->count.min == r->most;
}
/* The smallest number that will. */
static inline uint32_t graph_req_least(const struct graph_req *r) {
    return r->count.set ? r->count.set[0] : r->count.min;
}

/* What one walk looks for: the top requests, or one slot of several. */
struct graph_variant {
    uint32_t top, n_top;
    uint32_t slot; /* the first slot among the top ones, or REQ_NONE */
};

/* One of the alternatives that several xor_slots give; usually the only one. Its variants, mostly
 * one, are matched one after the other. */
struct graph_alternative {
    uint32_t first, n;
};

struct sl_match_request {
    struct sl_arena arena;
    uint32_t refs; /* besides the first */
    SL_VEC(struct graph_req) reqs;
    SL_VEC(struct graph_variant) variants;
    SL_VEC(struct graph_alternative) alternatives;
    SL_VEC(const char *) types; /* names of types, to detect requests of another graph */
    SL_VEC(sl_sym) type_syms;
    struct sl_constraint constraint;
    int64_t duration;
    const char *key; /* all that matters, as bytes: equal keys, equal results */
    uint32_t key_len;
    uint32_t constraint_at; /* where the constraint begins in the key */
    uint64_t class;
};

/* Sets the bits of those of n vertices that a constraint holds for. Returns how many steps that
 * took. */
uint64_t sl_constraint_eval(const struct sl_constraint *t, const struct sl_graph *g,
                            const sl_vtx *v, uint32_t n, uint64_t *ret);

#endif
