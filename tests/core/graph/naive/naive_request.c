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

struct seen {
    uint32_t xor_lists, or_lists;
};

static bool list_is_good(const struct naive *n, const struct sl_req_spec *v, uint32_t n_v,
                         bool in_slot, bool exclusive, struct seen *seen) {
    const struct sl_req_spec *slot = NULL;
    for (uint32_t i = 0; i < n_v; i++) {
        const struct sl_req_spec *r = &v[i];
        if (r->kind == SL_REQ_RESOURCE) {
            bool below = exclusive || r->exclusive == SL_TRUE;
            if (!graph_has(n, r->type) || wants_type(v, i, r->type))
                return false;
            if (exclusive && r->exclusive == SL_FALSE)
                return false;
            if (!list_is_good(n, r->with, r->n_with, in_slot, below, seen))
                return false;
            continue;
        }
        if (in_slot || r->n_with == 0)
            return false;
        if (slot && (slot->kind != r->kind || r->kind == SL_REQ_SLOT))
            return false;
        if (slot && r->kind == SL_REQ_OR_SLOT && !same_count(&slot->count, &r->count))
            return false;
        if (!slot) {
            seen->xor_lists += r->kind == SL_REQ_XOR_SLOT;
            seen->or_lists += r->kind == SL_REQ_OR_SLOT;
        }
        slot = r;
        for (uint32_t k = 0; k < r->n_with; k++)
            if (r->with[k].kind == SL_REQ_RESOURCE && wants_type(v, n_v, r->with[k].type))
                return false;
        if (!list_is_good(n, r->with, r->n_with, true, true, seen))
            return false;
    }
    return true;
}

int naive_check(const struct naive *n, const struct sl_jobspec *j) {
    struct seen seen = {0};
    if (j->n_resources == 0 || !list_is_good(n, j->resources, j->n_resources, false, false, &seen))
        return SL_EINVAL;
    return seen.xor_lists > 1 || seen.or_lists > 1 ? SL_EINVAL : 0;
}

/* ---- the form for walking ---- */

static uint32_t xor_slots(const struct sl_req_spec *v, uint32_t n) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        found += v[i].kind == SL_REQ_XOR_SLOT ? 1 : xor_slots(v[i].with, v[i].n_with);
    return found;
}

uint32_t alternatives(const struct sl_jobspec *j) {
    uint32_t n = xor_slots(j->resources, j->n_resources);
    return n > 0 ? n : 1;
}

static struct wants list_of(const struct sl_req_spec *v, uint32_t n, uint32_t alternative,
                            struct sl_arena *mem) {
    struct wants list = {sl_arena_alloc0(mem, n + 1, sizeof(struct want *)), 0};
    struct want *slot = NULL;
    uint32_t xor_seen = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].kind == SL_REQ_XOR_SLOT && xor_seen++ != alternative)
            continue;
        struct wants inside = list_of(v[i].with, v[i].n_with, alternative, mem);
        if (v[i].kind == SL_REQ_OR_SLOT && slot) {
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
            slot = w;
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
