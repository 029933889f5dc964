/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs, requests and histories. */
#include "gen.h"

#include <stdio.h>
#include <string.h>

const char *const gen_properties[GEN_PROPERTIES] = {"fast", "old", "perf_class",
                                                    SL_GRAPH_DIVISIBLE};

static const char *const policies[] = {
    "high",
    "low",
    "hinode",
    "lonode",
    "hinodex",
    "lonodex",
    "first",
    "first",
    "firstnodex",
    "locality",
    "variation",
    "policy=low node_centric=true node_exclusive=false stop_on_1_matches=true",
    "policy=low node_centric=false node_exclusive=true stop_on_1_matches=true",
};

static const char *const filters[] = {
    NULL,       NULL,
    "ALL:core", "ALL:core,ALL:gpu",
    "ALL:node", "node:core,rack:node,ALL:memory",
    "rack:ssd", "ALL:core,node:gpu,cluster:node",
};

static uint32_t below(struct sl_prng *p, uint32_t n) {
    return (uint32_t)sl_prng_below(p, n);
}

static bool one_in(struct sl_prng *p, uint32_t n) {
    return sl_prng_one_in(p, n);
}

/* ---- graphs ---- */

/* So many cores that the vertices of a node do not fit into one word of bits, or into two. */
#define MANY_CORES 140
#define MANY_KINDS 80

struct grower {
    struct sl_prng *p;
    struct draft *d;
    uint32_t room;
    uint32_t id_mode; /* 0: from 0 on in each parent, 1: in the whole graph, 2: any */
    int64_t next_id;
    bool even; /* all nodes are alike */
    bool pools, divisible, racks, many;
    int64_t next_rank;
};

static int64_t next_id(struct grower *g, uint32_t parent, const char *type) {
    int64_t id = 0;
    if (g->id_mode == 1)
        return g->next_id++;
    if (g->id_mode == 2)
        id = below(g->p, 12);
    for (uint32_t i = 0; i < g->d->v.n; i++) {
        const struct draft_vertex *v = &g->d->v.v[i];
        if (v->parent == parent && v->id == id && strcmp(v->type, type) == 0) {
            id++;
            i = UINT32_MAX; /* from the start: all siblings must differ */
        }
    }
    return id;
}

/* SL_VTX_NONE if the graph is large enough. */
static uint32_t grow(struct grower *g, uint32_t parent, const char *type) {
    if (g->d->v.n >= g->room)
        return SL_VTX_NONE;
    struct draft_vertex *v = draft_add(g->d, parent, type, next_id(g, parent, type));
    v->down = one_in(g->p, 16);
    if (one_in(g->p, 4))
        draft_prop(g->d, v, gen_properties[0], one_in(g->p, 2) ? "" : "very");
    if (one_in(g->p, 6))
        draft_prop(g->d, v, gen_properties[1], "");
    if (one_in(g->p, 4)) {
        char class[16];
        (void)snprintf(class, sizeof(class), "%u", below(g->p, 5));
        draft_prop(g->d, v, gen_properties[2], class);
    }
    return g->d->v.n - 1;
}

static void grow_leaves(struct grower *g, uint32_t parent, const char *type, uint32_t n,
                        uint32_t size) {
    for (uint32_t i = 0; i < n && parent != SL_VTX_NONE; i++) {
        uint32_t v = grow(g, parent, type);
        if (v == SL_VTX_NONE)
            return;
        g->d->v.v[v].size = 1 + below(g->p, size);
        if (g->divisible && size > 1 && one_in(g->p, 2) && g->d->v.v[v].n_props < DRAFT_PROPS)
            draft_prop(g->d, &g->d->v.v[v], SL_GRAPH_DIVISIBLE, "");
    }
}

static void grow_node(struct grower *g, uint32_t parent, uint32_t cores, uint32_t sockets,
                      uint32_t gpus) {
    uint32_t node = grow(g, parent, "node");
    if (node == SL_VTX_NONE)
        return;
    if (!one_in(g->p, 5))
        g->d->v.v[node].rank = g->next_rank++;
    for (uint32_t i = 0; i < sockets; i++) {
        uint32_t socket = grow(g, node, "socket");
        grow_leaves(g, socket, "core", cores, g->pools && one_in(g->p, 3) ? 3 : 1);
        grow_leaves(g, socket, "gpu", gpus, 1);
        if (g->pools && one_in(g->p, 3))
            grow_leaves(g, socket, "memory", 1, 8);
    }
    if (sockets == 0 || one_in(g->p, 6)) {
        grow_leaves(g, node, "core", cores, g->pools && one_in(g->p, 3) ? 3 : 1);
        grow_leaves(g, node, "gpu", gpus, 1);
    }
    if (g->pools)
        grow_leaves(g, node, "memory", below(g->p, 3), 8);
    if (one_in(g->p, 6))
        grow_leaves(g, node, "ssd", 1, 4);
}

/* One of many types that nothing else has. */
static void grow_kinds(struct grower *g, uint32_t parent) {
    char kind[16];
    for (uint32_t i = 0; i < MANY_KINDS; i++) {
        (void)snprintf(kind, sizeof(kind), "kind_%c%c", 'a' + i / 26, 'a' + i % 26);
        grow_leaves(g, parent, kind, 1, 2);
    }
}

static void grow_nodes(struct grower *g, uint32_t parent, uint32_t n) {
    uint32_t cores = 1 + below(g->p, 4), sockets = one_in(g->p, 3) ? 1 + below(g->p, 2) : 0;
    uint32_t gpus = below(g->p, 3);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = g->d->v.n;
        grow_node(g, parent, g->many ? cores + below(g->p, MANY_CORES) : cores, sockets, gpus);
        if (at < g->d->v.n && one_in(g->p, 40))
            grow_node(g, at, 1 + below(g->p, 2), 0, 1); /* a node in a node */
        if (g->even)
            continue;
        cores = 1 + below(g->p, 4);
        sockets = one_in(g->p, 3) ? 1 + below(g->p, 2) : 0;
        gpus = below(g->p, 3);
    }
}

static void grow_rack(struct grower *g, uint32_t parent) {
    uint32_t rack = grow(g, parent, "rack");
    if (rack == SL_VTX_NONE)
        return;
    grow_nodes(g, rack, 1 + below(g->p, 3));
    if (one_in(g->p, 3))
        grow_leaves(g, rack, "ssd", 1 + below(g->p, 2), g->pools ? 6 : 1);
    if (one_in(g->p, 4)) {
        uint32_t store = grow(g, rack, "storage_node");
        if (store != SL_VTX_NONE)
            g->d->v.v[store].rank = one_in(g->p, 2) ? g->next_rank++ : -1;
        grow_leaves(g, store, "ssd", 1 + below(g->p, 2), g->pools ? 6 : 1);
    }
}

/* Panels that power nodes, and the supply of panels; in the tree or beside it. */
static void grow_power(struct grower *g) {
    uint32_t n = g->d->v.n, panels = 1 + below(g->p, 3), first = n;
    uint32_t parent = one_in(g->p, 2) ? 0 : SL_VTX_NONE;
    g->room += 6;
    for (uint32_t i = 0; i < panels; i++)
        (void)grow(g, parent, "panel");
    uint32_t supply = one_in(g->p, 2) ? grow(g, parent, "supply") : SL_VTX_NONE;
    for (uint32_t i = first; i < g->d->v.n; i++) {
        struct draft_vertex *v = &g->d->v.v[i];
        v->size = 1 + below(g->p, 6);
        if (v->n_props < DRAFT_PROPS && one_in(g->p, 2))
            draft_prop(g->d, v, SL_GRAPH_DIVISIBLE, "");
    }
    for (uint32_t i = 0; i < panels; i++) {
        bool used = supply != SL_VTX_NONE;
        if (used)
            *sl_vec_push(&g->d->edges) = (struct draft_edge){"power", supply, first + i};
        for (uint32_t v = 1; v < n; v++) {
            bool node = strcmp(g->d->v.v[v].type, "node") == 0;
            if (!node || (used && one_in(g->p, 2)))
                continue;
            *sl_vec_push(&g->d->edges) = (struct draft_edge){"power", first + i, v};
            used = true;
        }
        if (!used)
            *sl_vec_push(&g->d->edges) = (struct draft_edge){"power", first + i, 0};
    }
}

/* Further parents: of anything, by vertices that contain something, mostly. Edges go from lower
 * numbers to higher ones, as those of the tree do. */
static void grow_ways(struct grower *g) {
    uint32_t n = g->d->v.n, wanted = 1 + below(g->p, 6);
    bool *contains = sl_alloc0(n + 1, sizeof(*contains));
    for (uint32_t v = 1; v < n; v++)
        if (g->d->v.v[v].parent != SL_VTX_NONE)
            contains[g->d->v.v[v].parent] = true;
    for (uint32_t tries = 0; tries < 60 && wanted > 0; tries++) {
        uint32_t from = below(g->p, n), to = below(g->p, n);
        bool any = one_in(g->p, 12);
        if (from >= to || g->d->v.v[to].parent == from || g->d->v.v[to].parent == SL_VTX_NONE ||
            (from > 0 && g->d->v.v[from].parent == SL_VTX_NONE) || !(contains[from] || any))
            continue;
        *sl_vec_push(&g->d->edges) = (struct draft_edge){SL_GRAPH_CONTAINMENT, from, to};
        wanted--;
    }
    sl_freep(&contains);
}

static void shuffle_uniq_ids(struct grower *g) {
    uint32_t n = g->d->v.n, mode = below(g->p, 3);
    if (mode == 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        g->d->v.v[i].uniq_id = mode == 1 ? i : (int64_t)i * (1 + below(g->p, 2000) / 1999 + 313);
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = below(g->p, i);
        int64_t swap = g->d->v.v[i - 1].uniq_id;
        g->d->v.v[i - 1].uniq_id = g->d->v.v[k].uniq_id;
        g->d->v.v[k].uniq_id = swap;
    }
}

static void random_graph(struct sl_prng *p, struct draft *d, uint32_t size, bool power) {
    static const uint32_t rooms[] = {8, 16, 30, 60, 220};
    /* one statement each: the order of numbers must not be the compiler's */
    struct grower g = {.p = p, .d = d, .room = rooms[size], .many = size == 4};
    g.id_mode = below(p, 3);
    g.even = one_in(p, 2);
    g.pools = one_in(p, 2);
    g.divisible = one_in(p, 2);
    g.racks = one_in(p, 2);
    d->v.n = 0;
    uint32_t root = grow(&g, SL_VTX_NONE, one_in(p, 10) ? "site" : "cluster");
    d->v.v[root].down = one_in(p, 60);
    for (uint32_t i = 0; g.racks && i <= below(p, 4); i++)
        grow_rack(&g, root);
    if (!g.racks || one_in(p, 5))
        grow_nodes(&g, root, 1 + below(p, 6));
    if (one_in(p, 8))
        grow_leaves(&g, root, one_in(p, 2) ? "ssd" : "core", 2, 1);
    if (d->v.n == 1)
        grow_nodes(&g, root, 1);
    if (g.many && one_in(p, 2))
        grow_kinds(&g, below(p, d->v.n < 8 ? d->v.n : 8));
    if (power)
        grow_power(&g);
    if (one_in(p, 5))
        grow_ways(&g);
    shuffle_uniq_ids(&g);
}

/* ---- requests ---- */

struct asker {
    struct sl_prng *p;
    struct sl_arena *mem;
    const struct draft *d;
    uint32_t depth; /* of slots */
};

static uint32_t add_slots(struct asker *a, struct sl_req_spec *list, uint32_t most);

static struct sl_req_count random_count(struct asker *a, uint32_t most) {
    struct sl_prng *p = a->p;
    uint32_t n = 1 + below(p, most);
    struct sl_req_count c = {.min = n, .max = n, .op = '+', .operand = 1};
    if (!one_in(p, 4))
        return c;
    c.max = c.min + below(p, 6);
    switch (below(p, 6)) {
    case 0:
        c.operand = 1 + below(p, 3);
        break;
    case 1:
        c.op = '*';
        c.operand = 2 + below(p, 2);
        break;
    case 2:
        c.op = '^';
        c.min = 2 + below(p, 2);
        c.max = c.min + below(p, 8);
        c.operand = 2;
        break;
    case 3:
        c.max = SL_REQ_COUNT_MAX;
        break;
    case 4: {
        uint32_t *set = sl_arena_alloc(a->mem, 3 * sizeof(*set));
        c.n_set = 1 + below(p, 3);
        for (uint32_t i = 0, at = 0; i < c.n_set; i++)
            set[i] = at += 1 + below(p, 3);
        c.set = set;
        c.min = set[0];
        c.max = set[c.n_set - 1];
        break;
    }
    default:
        break;
    }
    return c;
}

static struct sl_req_spec random_request(struct asker *a, const char *type, uint32_t most) {
    return (struct sl_req_spec){.type = type, .count = random_count(a, most)};
}

static struct sl_req_spec *some(struct asker *a, uint32_t n) {
    return sl_arena_alloc0(a->mem, n + 1, sizeof(struct sl_req_spec));
}

/* What a slot is made of. */
static void fill_slot(struct asker *a, struct sl_req_spec *slot) {
    struct sl_prng *p = a->p;
    struct sl_req_spec *with = some(a, 5);
    uint32_t n = 0;
    switch (below(p, 12)) {
    case 0:
        with[n++] = random_request(a, "gpu", 2);
        break;
    case 1:
        with[n++] = random_request(a, "memory", 6);
        break;
    case 2:
        with[n++] = random_request(a, "ssd", 3);
        break;
    case 3:
        with[n++] = random_request(a, "node", 2);
        if (one_in(p, 2)) {
            struct sl_req_spec *in = some(a, 4);
            in[0] = random_request(a, "core", 3);
            with[0].with = in;
            with[0].n_with = a->depth < 3 && one_in(p, 2) ? add_slots(a, in, 2) : 1;
        } else if (one_in(p, 20)) {
            n = a->depth < 3 ? add_slots(a, with, 2) : n; /* it takes shape nowhere */
        }
        break;
    case 4:
        with[n++] = random_request(a, "socket", 2);
        if (one_in(p, 2)) {
            struct sl_req_spec *in = some(a, 2);
            in[0] = random_request(a, "core", 2);
            in[1] = random_request(a, "gpu", 1);
            with[0].with = in;
            with[0].n_with = 1 + below(p, 2);
        }
        break;
    default:
        with[n++] = random_request(a, "core", 3);
        if (one_in(p, 20))
            with[n++] = random_request(a, a->d->v.v[a->d->v.n - 1].type, 1);
        if (one_in(p, 3))
            with[n++] = random_request(a, "gpu", 1);
        if (one_in(p, 4))
            with[n++] = random_request(a, "memory", 5);
        break;
    }
    if (n > 1 && one_in(p, 3)) {
        struct sl_req_spec swap = with[0];
        with[0] = with[n - 1];
        with[n - 1] = swap;
    }
    slot->with = with;
    slot->n_with = n;
}

/* One slot, or several of the kinds that are alternatives. */
static uint32_t add_slots(struct asker *a, struct sl_req_spec *list, uint32_t most) {
    enum sl_req_kind kind = SL_REQ_SLOT;
    uint32_t n = one_in(a->p, 6) ? 2 + below(a->p, 2) : 1;
    a->depth++;
    if (one_in(a->p, 5)) {
        kind = one_in(a->p, 2) ? SL_REQ_XOR_SLOT : SL_REQ_OR_SLOT;
        n = 1 + below(a->p, 3);
    }
    for (uint32_t i = 0; i < n; i++) {
        list[i] = (struct sl_req_spec){.kind = kind, .label = "task"};
        list[i].count = i > 0 && kind == SL_REQ_OR_SLOT && !one_in(a->p, 40)
                            ? list[0].count
                            : random_count(a, most);
        fill_slot(a, &list[i]);
    }
    a->depth--;
    return n;
}

static const char *const beside[] = {"gpu", "memory", "ssd", "panel", "supply", "socket"};

/* Slots and perhaps other things, as what is wanted in a node. */
static struct sl_req_spec *add_inside(struct asker *a, uint32_t *ret_n) {
    struct sl_req_spec *in = some(a, 6);
    uint32_t n = add_slots(a, in, 3);
    if (one_in(a->p, 4)) {
        in[n] = random_request(a, beside[below(a->p, SL_LEN(beside))], 3);
        in[n++].exclusive = (enum sl_req_tristate)below(a->p, 3);
        if (one_in(a->p, 3)) {
            struct sl_req_spec swap = in[0];
            in[0] = in[n - 1];
            in[n - 1] = swap;
        }
    }
    *ret_n = n;
    return in;
}

static enum sl_req_tristate random_exclusive(struct asker *a) {
    return one_in(a->p, 3) ? (enum sl_req_tristate)below(a->p, 3) : SL_UNSET;
}

/* Nodes in one of the usual ways; NULL n: how many levels above are said is up to chance. */
static struct sl_req_spec random_node(struct asker *a) {
    struct sl_req_spec node = random_request(a, "node", 3);
    struct sl_req_spec *in;
    node.exclusive = random_exclusive(a);
    switch (below(a->p, 8)) {
    case 0:
        break;
    case 1:
    case 2: /* shared, or below an exclusive node */
        in = some(a, 2);
        in[0] = random_request(a, "core", 3);
        in[0].exclusive = random_exclusive(a);
        in[1] = random_request(a, beside[below(a->p, SL_LEN(beside))], 4);
        in[1].exclusive = random_exclusive(a);
        node.with = in;
        node.n_with = 1 + below(a->p, 2);
        break;
    case 3: {
        struct sl_req_spec *socket = some(a, 1);
        socket[0] = random_request(a, "socket", 2);
        socket[0].exclusive = random_exclusive(a);
        socket[0].with = add_inside(a, &socket[0].n_with);
        node.with = socket;
        node.n_with = 1;
        break;
    }
    default:
        node.with = add_inside(a, &node.n_with);
        break;
    }
    return node;
}

static void random_resources(struct asker *a, struct sl_jobspec *j) {
    static const char *const leaves[] = {"core", "gpu", "memory", "ssd", "storage_node"};
    struct sl_req_spec *top = some(a, 6);
    struct sl_req_spec *in = some(a, 2);
    uint32_t n = 1;
    switch (below(a->p, 12)) {
    case 0:
    case 1:
    case 2:
        n = add_slots(a, top, 5);
        break;
    case 3:
        top[0] = random_request(a, "rack", 2);
        top[0].exclusive = random_exclusive(a);
        in[0] = random_node(a);
        in[1] = random_request(a, one_in(a->p, 2) ? "ssd" : "storage_node", 2);
        in[1].exclusive = random_exclusive(a);
        top[0].with = in;
        top[0].n_with = 1 + below(a->p, 2);
        break;
    case 4:
        top[0] = random_request(a, one_in(a->p, 2) ? "rack" : "cluster", 2);
        top[0].exclusive = random_exclusive(a);
        top[0].with = add_inside(a, &top[0].n_with);
        break;
    case 5:
        top[0] = random_request(a, leaves[below(a->p, SL_LEN(leaves))], 4);
        if (one_in(a->p, 8))
            top[0].type = a->d->v.v[below(a->p, a->d->v.n)].type;
        top[0].exclusive = random_exclusive(a);
        break;
    case 6:
        top[0] = random_node(a);
        top[1] = random_request(a, leaves[below(a->p, SL_LEN(leaves))], 3);
        top[1].exclusive = random_exclusive(a);
        n = 2;
        break;
    case 7:
        top[0] = random_request(a, "storage_node", 2);
        top[0].exclusive = random_exclusive(a);
        in[0] = random_request(a, "ssd", 4);
        in[0].exclusive = random_exclusive(a);
        top[0].with = in;
        top[0].n_with = 1;
        break;
    default:
        top[0] = random_node(a);
        break;
    }
    if (one_in(a->p, 100))
        top[n++] = random_request(a, "unicorn", 1);
    j->resources = top;
    j->n_resources = n;
}

static struct sl_constraint random_term(struct asker *a, uint32_t depth) {
    struct sl_constraint t = {.kind = (enum sl_constraint_kind)(1 + below(a->p, 6))};
    uint32_t n = below(a->p, 3);
    if (depth > 1 && t.kind < SL_CONSTRAINT_PROPERTIES)
        t.kind = SL_CONSTRAINT_PROPERTIES;
    if (t.kind < SL_CONSTRAINT_PROPERTIES) {
        struct sl_constraint *in = sl_arena_alloc0(a->mem, 3, sizeof(*in));
        for (t.n_terms = 0; t.n_terms < n; t.n_terms++)
            in[t.n_terms] = random_term(a, depth + 1);
        t.terms = in;
    } else if (t.kind == SL_CONSTRAINT_RANKS) {
        struct sl_constraint_ranks *in = sl_arena_alloc0(a->mem, 3, sizeof(*in));
        for (t.n_ranks = 0; t.n_ranks <= n; t.n_ranks++) {
            in[t.n_ranks].first = below(a->p, 6);
            in[t.n_ranks].last = in[t.n_ranks].first + below(a->p, 4);
        }
        t.ranks = in;
    } else {
        const char **in = sl_arena_alloc0(a->mem, 3, sizeof(*in));
        for (t.n_names = 0; t.n_names <= n; t.n_names++) {
            const char *absent = t.kind == SL_CONSTRAINT_PROPERTIES && one_in(a->p, 3) ? "^" : "";
            uint32_t which = below(a->p, 8);
            in[t.n_names] =
                t.kind == SL_CONSTRAINT_HOSTS
                    ? sl_arena_printf(a->mem, "node%u", which)
                    : sl_arena_printf(a->mem, "%s%s", absent, gen_properties[which % 2]);
        }
        t.names = in;
    }
    return t;
}

/* Types that the graph does not have are rare: such a request is only an error. */
static bool all_there(const struct draft *d, const struct sl_req_spec *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        bool there = v[i].kind != SL_REQ_RESOURCE;
        for (uint32_t k = 0; k < d->v.n && !there; k++)
            there = strcmp(d->v.v[k].type, v[i].type) == 0;
        if (!there || !all_there(d, v[i].with, v[i].n_with))
            return false;
    }
    return true;
}

static struct sl_jobspec *any_spec(struct sl_prng *p, const struct draft *d) {
    static const int64_t odd[] = {-1, GEN_END + 1, GEN_END, GEN_END - 1};
    struct sl_jobspec *j = sl_alloc0(1, sizeof(*j));
    struct asker a = {.p = p, .mem = &j->arena, .d = d};
    sl_arena_init(&j->arena, 1 << 22);
    j->version = 1;
    for (uint32_t tries = 0; tries < 20; tries++) {
        random_resources(&a, j);
        if (one_in(p, 50) || all_there(d, j->resources, j->n_resources))
            break;
    }
    j->duration = one_in(p, 8) ? 0 : 1 + below(p, 40);
    if (one_in(p, 40))
        j->duration = odd[below(p, SL_LEN(odd))];
    if (one_in(p, 6))
        j->constraint = random_term(&a, 0);
    return j;
}

/* Mostly one that the empty graph can meet: the others are all the same, after a while. */
static struct sl_jobspec *random_spec(struct sl_prng *p, const struct draft *d, struct naive *n) {
    struct sl_jobspec *j = NULL;
    enum sl_match_verdict verdict = SL_NEVER;
    for (uint32_t tries = 0; tries < 10 && verdict != SL_SATISFIABLE; tries++) {
        sl_jobspec_free(j);
        j = any_spec(p, d);
        if (one_in(p, 8))
            break;
        if (naive_check(n, j) < 0 ||
            naive_run(n, j, SL_MATCH_SATISFIABILITY, 0, 0, &verdict, NULL) < 0)
            verdict = SL_NEVER;
    }
    return j;
}

/* ---- histories ---- */

static const uint32_t chances[STEP_KINDS] = {
    [STEP_RUN] = 50,   [STEP_CANCEL] = 12, [STEP_PART] = 6,   [STEP_UPDATE] = 5, [STEP_RESTART] = 3,
    [STEP_STATUS] = 6, [STEP_PROP] = 4,    [STEP_SHRINK] = 2, [STEP_ADD] = 2,    [STEP_BEGIN] = 3,
    [STEP_RESIZE] = 5, [STEP_MORE] = 3,    [STEP_CLONE] = 2,  [STEP_TIME] = 8,   [STEP_AGAIN] = 6,
};

static enum step_kind random_kind(struct sl_prng *p) {
    uint32_t sum = 0, at, kind = 0;
    for (uint32_t i = 0; i < STEP_KINDS; i++)
        sum += chances[i];
    for (at = below(p, sum); at >= chances[kind]; kind++)
        at -= chances[kind];
    return (enum step_kind)kind;
}

void trial_init(struct trial *t, uint64_t seed) {
    struct sl_prng p;
    struct sl_err err;
    bool power;
    *t = (struct trial){0};
    sl_prng_init(&p, seed);
    draft_init(&t->d);
    power = one_in(&p, 10);
    random_graph(&p, &t->d, seed % 32 == 31 ? 4 : (uint32_t)(seed % 4), power);
    t->policy = policies[below(&p, SL_LEN(policies))];
    if (sl_match_policy_parse(t->policy, &t->o.policy, &err) < 0)
        cannot_read("a policy", t->policy);
    t->o.filters = filters[below(&p, SL_LEN(filters))];
    t->o.start = one_in(&p, 4) ? 1 + below(&p, 50) : 0;
    t->o.end = one_in(&p, 8) ? 0 : t->o.start + GEN_END;
    t->subsystems[0] = "power";
    t->o.subsystems = t->subsystems;
    t->o.n_subsystems = power && !one_in(&p, 4);
    t->o.fluxion = one_in(&p, 3);
    if (one_in(&p, 4))
        t->also = policies[below(&p, SL_LEN(policies))];
    if (t->also && sl_match_policy_parse(t->also, &t->also_policy, &err) < 0)
        cannot_read("a policy", t->also);
    struct sl_graph *g = draft_build(&t->d);
    struct naive *n = naive_new(g, &t->o);
    for (uint32_t i = 0; i < GEN_SPECS; i++)
        t->specs[i] = random_spec(&p, &t->d, n);
    naive_free(n);
    sl_graph_free(g);
    for (uint32_t i = 0; i < GEN_STEPS; i++) {
        t->steps[i].kind = random_kind(&p);
        for (size_t k = 0; k < SL_LEN(t->steps[i].r); k++)
            t->steps[i].r[k] = (uint32_t)(sl_prng_next(&p) >> 32);
    }
}

void trial_done(struct trial *t) {
    for (uint32_t i = 0; i < GEN_SPECS; i++)
        sl_jobspec_free(t->specs[i]);
    draft_done(&t->d);
}
