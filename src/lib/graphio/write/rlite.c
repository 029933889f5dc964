/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R_lite: which cores and gpus of which ranks. Nodes, and storage nodes alike, with the same
 * children share an entry; entries are ordered by the text of their children, ranks and hosts by
 * rank.
 */
#include <stdlib.h>
#include <string.h>

#include "core/graph/hostlist.h"
#include "lib/graphio/idset.h"
#include "lib/graphio/write/write_int.h"
#include "lib/json/writer.h"

/* The resources of an R, in the order of its keys. */
static const char *const kinds[] = {"core", "gpu"};

typedef SL_VEC(int64_t) ids_vec;

struct entry {
    size_t children; /* where its text begins, NUL-terminated */
    int64_t rank;
    sl_vtx node;
    uint32_t turn; /* for a total order: of writing; later the place by children and rank */
};

struct prop_rank {
    size_t text;
    int64_t rank;
};

struct lite {
    const struct sl_graph *g;
    struct sl_buf text; /* of children and properties */
    SL_VEC(struct entry) entries;
    SL_VEC(struct prop_rank) props;
};

static int by_id(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int by_children(const void *a, const void *b, void *text) {
    const struct entry *x = a, *y = b;
    int c = strcmp((const char *)text + x->children, (const char *)text + y->children);
    if (c != 0)
        return c;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->turn < y->turn ? -1 : x->turn > y->turn;
}

static int by_rank(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->turn < y->turn ? -1 : x->turn > y->turn;
}

static int by_property(const void *a, const void *b, void *text) {
    const struct prop_rank *x = a, *y = b;
    int c = strcmp((const char *)text + x->text, (const char *)text + y->text);
    return c != 0 ? c : by_id(&x->rank, &y->rank);
}

/* RFC 20 requires sets: cores of two sockets may have the same ids. */
static void ids_text(ids_vec *ids, struct sl_buf *out) {
    uint32_t n = 0;

    qsort(ids->v, ids->n, sizeof(*ids->v), by_id);
    for (uint32_t i = 0; i < ids->n; i++)
        if (n == 0 || ids->v[i] != ids->v[n - 1])
            ids->v[n++] = ids->v[i];
    sl_idset_write(ids->v, n, out);
}

/* The cores and gpus of the node at picks[from], as {"core": "0-3"}; false if it has none. Those in
 * a node in a node are the inner one's. */
static bool children(struct lite *l, const struct sl_grant *gr, uint32_t from, const sl_sym *types,
                     const sl_sym *nodes, ids_vec *ids) {
    const struct sl_vertex *x = sl_graph_vertex(l->g, gr->picks.v[from].v);
    struct sl_jw j = SL_JW_SPACED(&l->text);
    uint32_t inner_end = 0;

    for (size_t k = 0; k < SL_LEN(kinds); k++)
        ids[k].n = 0;
    /* those that were found through another parent do not come right after it */
    for (uint32_t i = gr->ways.n > 0 ? 0 : from + 1; i < gr->picks.n; i++) {
        const struct sl_vertex *y = sl_graph_vertex(l->g, gr->picks.v[i].v);
        if (!graphio_in_tree(l->g, gr->picks.v[i].v) || y->pos < inner_end || y->pos <= x->pos)
            continue;
        if (y->pos >= x->end && gr->ways.n == 0)
            break;
        if (y->pos >= x->end)
            continue;
        if (y->type == nodes[0] || y->type == nodes[1])
            inner_end = y->end;
        for (size_t k = 0; k < SL_LEN(kinds); k++)
            if (y->type == types[k])
                *sl_vec_push(&ids[k]) = y->id;
    }
    for (size_t k = 0; k < SL_LEN(kinds); k++) {
        if (ids[k].n == 0)
            continue;
        if (j.depth == 0)
            sl_jw_object(&j, NULL);
        ids_text(&ids[k], sl_jw_begin_str(&j, kinds[k]));
        sl_jw_end_str(&j);
    }
    if (j.depth == 0)
        return false;
    sl_jw_end(&j);
    sl_buf_putc(&l->text, '\0');
    return true;
}

static void note_properties(struct lite *l, sl_vtx v, int64_t rank) {
    uint32_t n;
    struct sl_graph_prop *p = sl_graphio_sorted_props(l->g, v, &n);

    for (uint32_t i = 0; i < n; i++) {
        *sl_vec_push(&l->props) = (struct prop_rank){l->text.len, rank};
        sl_buf_puts(&l->text, p[i].key);
        if (*p[i].value)
            sl_buf_printf(&l->text, "=%s", p[i].value);
        sl_buf_add(&l->text, "", 1);
    }
    sl_freep(&p);
}

static void gather_picks(struct lite *l, const struct sl_grant *gr) {
    const struct sl_syms *syms = sl_graph_syms(l->g);
    sl_sym types[SL_LEN(kinds)],
        nodes[] = {sl_sym_find(syms, "node"), sl_sym_find(syms, "storage_node")};
    ids_vec ids[SL_LEN(kinds)] = {{0}};

    for (size_t k = 0; k < SL_LEN(kinds); k++)
        types[k] = sl_sym_find(syms, kinds[k]);
    for (uint32_t i = 0; i < gr->picks.n; i++) {
        sl_vtx v = gr->picks.v[i].v;
        const struct sl_vertex *x = sl_graph_vertex(l->g, v);
        struct entry e = {.children = l->text.len, .rank = x->rank, .node = v, .turn = i};
        if ((x->type != nodes[0] && x->type != nodes[1]) || !graphio_in_tree(l->g, v) ||
            !children(l, gr, i, types, nodes, ids))
            continue;
        *sl_vec_push(&l->entries) = e;
        note_properties(l, v, e.rank);
    }
    for (size_t k = 0; k < SL_LEN(kinds); k++)
        sl_vec_free(&ids[k]);
}

static void write_lite(struct lite *l, struct sl_buf *out) {
    ids_vec ranks = {0};
    const char *text = sl_buf_str(&l->text);

    struct sl_jw j = SL_JW_SPACED(out);
    sl_jw_array(&j, NULL);
    for (uint32_t i = 0; i < l->entries.n;) {
        const char *first = text + l->entries.v[i].children;
        ranks.n = 0;
        for (; i < l->entries.n && strcmp(text + l->entries.v[i].children, first) == 0; i++) {
            *sl_vec_push(&ranks) = l->entries.v[i].rank;
            l->entries.v[i].turn = i;
        }
        sl_jw_object(&j, NULL);
        sl_idset_write(ranks.v, ranks.n, sl_jw_begin_str(&j, "rank"));
        sl_jw_end_str(&j);
        sl_jw_raw(&j, "children", first);
        sl_jw_end(&j);
    }
    sl_jw_end(&j);
    sl_vec_free(&ranks);
}

static void write_props(struct lite *l, struct sl_buf *out) {
    ids_vec ranks = {0};
    const char *text = sl_buf_str(&l->text);

    if (l->props.n == 0)
        return;
    struct sl_jw j = SL_JW_SPACED(out);
    sl_jw_object(&j, NULL);
    for (uint32_t i = 0; i < l->props.n;) {
        const char *first = text + l->props.v[i].text;
        ranks.n = 0;
        for (; i < l->props.n && strcmp(text + l->props.v[i].text, first) == 0; i++)
            *sl_vec_push(&ranks) = l->props.v[i].rank;
        sl_idset_write(ranks.v, ranks.n, sl_jw_begin_str(&j, first));
        sl_jw_end_str(&j);
    }
    sl_jw_end(&j);
    sl_vec_free(&ranks);
}

static void write_hosts(struct lite *l, struct sl_buf *out) {
    const char **names = sl_realloc(NULL, l->entries.n, sizeof(*names));
    SL_VEC(size_t) made = {0}; /* where names that had to be put together are */
    struct sl_buf space;
    char name[SL_VERTEX_NAME];

    sl_buf_init(&space, (size_t)(l->entries.n + 1) * SL_VERTEX_NAME);
    for (uint32_t i = 0; i < l->entries.n; i++) {
        names[i] = sl_vertex_name(l->g, l->entries.v[i].node, name);
        *sl_vec_push(&made) = names[i] == name ? space.len : SIZE_MAX;
        if (names[i] == name)
            sl_buf_add(&space, name, strlen(name) + 1);
    }
    for (uint32_t i = 0; i < l->entries.n; i++)
        if (made.v[i] != SIZE_MAX)
            names[i] = space.s + made.v[i];
    sl_hostlist_write(names, l->entries.n, out);
    sl_buf_done(&space);
    sl_vec_free(&made);
    sl_freep(&names);
}

void graphio_rlite_init(struct graphio_rlite *r, const struct sl_graph *g,
                        const struct sl_grant *gr, size_t ceiling) {
    struct lite l = {.g = g};

    sl_buf_init(&l.text, (size_t)1 << 30);
    sl_buf_init(&r->lite, ceiling);
    sl_buf_init(&r->hosts, ceiling);
    sl_buf_init(&r->props, ceiling);
    gather_picks(&l, gr);
    if (l.entries.n > 0) {
        qsort_r(l.entries.v, l.entries.n, sizeof(*l.entries.v), by_children, l.text.s);
        write_lite(&l, &r->lite);
        qsort(l.entries.v, l.entries.n, sizeof(*l.entries.v), by_rank);
        write_hosts(&l, &r->hosts);
    }
    if (l.props.n > 0) {
        qsort_r(l.props.v, l.props.n, sizeof(*l.props.v), by_property, l.text.s);
        write_props(&l, &r->props);
    }
    sl_buf_done(&l.text);
    sl_vec_free(&l.entries);
    sl_vec_free(&l.props);
}

void graphio_rlite_done(struct graphio_rlite *r) {
    sl_buf_done(&r->lite);
    sl_buf_done(&r->hosts);
    sl_buf_done(&r->props);
}
