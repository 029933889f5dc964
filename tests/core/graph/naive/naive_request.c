/* SPDX-License-Identifier: Apache-2.0 */
/* The naive matcher's requests: checks, counts, constraints, and the form that the walk uses. */
#include <string.h>

#include "naive_int.h"

uint32_t naive_take(const struct sl_req_count *c, uint64_t q) {
    uint32_t best = 0;
    if (c->set) {
        for (uint32_t i = 0; i < c->n_set; i++)
            if (c->set[i] <= q && c->set[i] > best)
                best = c->set[i];
        return best;
    }
    uint64_t most = q < c->max ? q : c->max;
    if (c->min > most)
        return 0;
    if (c->op == '+')
        return (uint32_t)(c->min + (most - c->min) / c->operand * c->operand);
    for (uint64_t k = c->min; k <= most;) {
        uint64_t next = 1;
        best = (uint32_t)k;
        if (c->op == '*')
            next = k * c->operand;
        for (uint32_t i = 0; c->op == '^' && i < c->operand && next <= most; i++)
            next *= k;
        if (next <= k)
            break;
        k = next;
    }
    return best;
}

/* ---- what is an error ---- */

static bool graph_has(const struct naive *n, const char *type) {
    for (uint32_t i = 0; i < sl_graph_live(n->g); i++)
        if (strcmp(type_of(n, sl_graph_at(n->g, i)), type) == 0)
            return true;
    return false;
}

/* Types that a request may have although the graph does not. */
static bool is_usual(const char *type) {
    static const char *const usual[] = {"cluster", "rack", "node",         "socket",
                                        "core",    "gpu",  "storage_node", "ssd"};
    for (size_t i = 0; i < SL_LEN(usual); i++)
        if (strcmp(usual[i], type) == 0)
            return true;
    return false;
}

static bool same_count(const struct sl_req_count *a, const struct sl_req_count *b) {
    if (a->n_set != b->n_set || (a->set != NULL) != (b->set != NULL))
        return false;
    if (a->set)
        return memcmp(a->set, b->set, a->n_set * sizeof(*a->set)) == 0;
    return a->min == b->min && a->max == b->max && a->op == b->op && a->operand == b->operand;
}

static bool wants_type(const struct sl_req_spec *v, uint32_t n, const char *type) {
    for (uint32_t i = 0; i < n; i++)
        if (v[i].kind == SL_REQ_RESOURCE && strcmp(v[i].type, type) == 0)
            return true;
    return false;
}

static bool list_is_good(const struct naive *n, const struct sl_req_spec *v, uint32_t n_v,
                         bool exclusive) {
    const struct sl_req_spec *slot = NULL;
    for (uint32_t i = 0; i < n_v; i++) {
        const struct sl_req_spec *r = &v[i];
        if (r->kind == SL_REQ_RESOURCE) {
            bool below = exclusive || r->exclusive == SL_TRUE;
            if ((!graph_has(n, r->type) && !is_usual(r->type)) || wants_type(v, i, r->type))
                return false;
            if (exclusive && r->exclusive == SL_FALSE)
                return false;
            if (!list_is_good(n, r->with, r->n_with, below))
                return false;
            continue;
        }
        if (r->n_with == 0)
            return false;
        if (slot && slot->kind != r->kind)
            return false;
        if (slot && r->kind == SL_REQ_OR_SLOT && !same_count(&slot->count, &r->count))
            return false;
        slot = r;
        for (uint32_t k = 0; k < r->n_with; k++)
            if (r->with[k].kind == SL_REQ_RESOURCE && wants_type(v, n_v, r->with[k].type))
                return false;
        if (!list_is_good(n, r->with, r->n_with, true))
            return false;
    }
    return true;
}

int naive_check(const struct naive *n, const struct sl_jobspec *j) {
    if (j->n_resources == 0 || !list_is_good(n, j->resources, j->n_resources, false))
        return SL_EINVAL;
    return alternatives(j) > SL_REQ_ALTERNATIVES_MAX ? SL_ELIMIT : 0;
}

static uint64_t list_nodes(const struct sl_req_spec *v, uint32_t n) {
    uint64_t sum = 0, one_of = UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        bool node = v[i].kind == SL_REQ_RESOURCE && strcmp(v[i].type, "node") == 0;
        uint64_t inside = list_nodes(v[i].with, v[i].n_with) + node;
        uint64_t all = inside * (v[i].count.set ? v[i].count.set[0] : v[i].count.min);
        if (v[i].kind != SL_REQ_OR_SLOT && v[i].kind != SL_REQ_XOR_SLOT)
            sum += all;
        else if (all < one_of)
            one_of = all;
    }
    return one_of == UINT64_MAX ? sum : sum + one_of;
}

uint64_t nodes_needed(const struct sl_jobspec *j) {
    return list_nodes(j->resources, j->n_resources);
}

/* ---- the form for walking ---- */

static uint32_t ways(const struct sl_req_spec *v, uint32_t n);

/* In how many ways a list can be read if it has that one of its xor_slots, from the i-th on. */
static uint32_t ways_with(const struct sl_req_spec *v, uint32_t n, uint32_t choice, uint32_t i) {
    uint32_t xor_seen = 0, product = 1;
    for (uint32_t k = 0; k < n; k++) {
        bool left_out = v[k].kind == SL_REQ_XOR_SLOT && xor_seen++ != choice;
        if (k >= i && !left_out)
            product *= ways(v[k].with, v[k].n_with);
    }
    return product;
}

static uint32_t ways(const struct sl_req_spec *v, uint32_t n) {
    uint32_t n_xor = 0, sum = 0;
    for (uint32_t i = 0; i < n; i++)
        n_xor += v[i].kind == SL_REQ_XOR_SLOT;
    for (uint32_t choice = 0; choice == 0 || choice < n_xor; choice++)
        sum += ways_with(v, n, choice, 0);
    return sum;
}

uint32_t alternatives(const struct sl_jobspec *j) {
    return ways(j->resources, j->n_resources);
}

/* All readings with the first xor_slot of a list come first; then those with the first reading of
 * what is in its first member, and so on. */
static struct wants list_of(const struct sl_req_spec *v, uint32_t n, uint32_t alternative,
                            struct sl_arena *mem) {
    struct wants list = {sl_arena_alloc0(mem, n + 1, sizeof(struct want *)), 0};
    struct want *slot = NULL;
    uint32_t xor_seen = 0, choice = 0;
    for (; alternative >= ways_with(v, n, choice, 0); choice++)
        alternative -= ways_with(v, n, choice, 0);
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].kind == SL_REQ_XOR_SLOT && xor_seen++ != choice)
            continue;
        uint32_t later = ways_with(v, n, choice, i + 1);
        struct wants inside = list_of(v[i].with, v[i].n_with, alternative / later, mem);
        alternative %= later;
        if (v[i].kind == SL_REQ_OR_SLOT && slot) { /* more of the same */
            slot->shapes[slot->n_shapes++] = inside;
            continue;
        }
        struct want *w = sl_arena_alloc0(mem, 1, sizeof(*w));
        w->count = v[i].count;
        if (v[i].kind == SL_REQ_RESOURCE) {
            w->type = v[i].type;
            w->exclusive = v[i].exclusive;
            w->inside = inside;
        } else {
            w->shapes = sl_arena_alloc0(mem, n, sizeof(*w->shapes));
            w->shapes[w->n_shapes++] = inside;
            w->mixed = v[i].kind == SL_REQ_OR_SLOT;
            slot = w->mixed ? w : NULL;
        }
        list.v[list.n++] = w;
    }
    return list;
}

struct wants wants_of(const struct sl_jobspec *j, uint32_t alternative, struct sl_arena *mem) {
    return list_of(j->resources, j->n_resources, alternative, mem);
}

/* ---- constraints ---- */

static bool has_properties(const struct naive *n, const struct sl_constraint *t, sl_vtx v) {
    for (uint32_t i = 0; i < t->n_names; i++) {
        bool absent = t->names[i][0] == '^';
        if ((sl_vertex_prop(n->g, v, t->names[i] + absent) != NULL) == absent)
            return false;
    }
    return true;
}

bool constraint_allows(const struct naive *n, const struct sl_constraint *t, sl_vtx v) {
    char name[SL_VERTEX_NAME];
    switch (t->kind) {
    case SL_CONSTRAINT_ALL:
        return true;
    case SL_CONSTRAINT_AND:
        for (uint32_t i = 0; i < t->n_terms; i++)
            if (!constraint_allows(n, &t->terms[i], v))
                return false;
        return true;
    case SL_CONSTRAINT_OR:
        for (uint32_t i = 0; i < t->n_terms; i++)
            if (constraint_allows(n, &t->terms[i], v))
                return true;
        return t->n_terms == 0;
    case SL_CONSTRAINT_NOT:
        for (uint32_t i = 0; i < t->n_terms; i++)
            if (!constraint_allows(n, &t->terms[i], v))
                return true;
        return false;
    case SL_CONSTRAINT_PROPERTIES:
        return has_properties(n, t, v);
    case SL_CONSTRAINT_HOSTS:
        for (uint32_t i = 0; i < t->n_names; i++)
            if (strcmp(t->names[i], sl_vertex_name(n->g, v, name)) == 0)
                return true;
        return false;
    case SL_CONSTRAINT_RANKS:
        for (uint32_t i = 0; i < t->n_ranks; i++)
            if (t->ranks[i].first <= vertex_of(n, v)->rank &&
                vertex_of(n, v)->rank <= t->ranks[i].last)
                return true;
        return false;
    }
    return false;
}
