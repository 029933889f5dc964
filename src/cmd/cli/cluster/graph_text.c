/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice graph` as a tree and a table for people, as JSON for scripts, as DOT for pictures. */
#include <string.h>

#include "cmd/cli/cluster/cluster_cmd.h"
#include "cmd/cli/cluster/graph_cmd.h"
#include "core/base/quantity.h"
#include "lib/graphio/write/match.h"
#include "lib/json/writer.h"

#define MAX_LABEL ((size_t)1024)

static const struct cli_graph_sum *sums_of(const struct cli_graph *m,
                                           const struct cli_graph_item *x) {
    return m->sums + (size_t)(x - m->items.v) * m->n_resources;
}

static bool is_job(const struct cli_graph_item *x) {
    return x->place != SL_GRAPH_NONE;
}

/* Does the item have anything of a resource to show? */
static bool has(const struct cli_graph_item *x, const struct cli_graph_sum *s) {
    return is_job(x) ? s->jobs > 0 : s->total > 0 || s->jobs > 0 || s->others > 0;
}

static enum cli_style style_of(const struct cli_graph_item *x) {
    if (is_job(x))
        return SL_STYLE_DIM;
    if (x->node == SL_GRAPH_NONE)
        return SL_STYLE_BOLD;
    return x->down ? SL_STYLE_BAD : SL_STYLE_NONE;
}

static void amount_cell(struct cli_table *t, enum cli_style s, const char *resource, int64_t n) {
    char text[SL_GRAPH_AMOUNT_TEXT];

    cli_table_cell(t, s, "%s", cli_graph_amount(resource, n, text));
}

/* FREE, JOBS, OTHERS, TOTAL; none: in place of those that a job does not have. */
static void amount_cells(struct cli_table *t, const struct cli_graph_item *x, const char *resource,
                         const struct cli_graph_sum *s, const char *none) {
    if (is_job(x)) {
        cli_table_cell(t, SL_STYLE_NONE, "%s", none);
        amount_cell(t, SL_STYLE_NONE, resource, s->jobs);
        cli_table_cell(t, SL_STYLE_NONE, "%s", none);
        cli_table_cell(t, SL_STYLE_NONE, "%s", none);
        return;
    }
    amount_cell(t, s->free > 0 ? SL_STYLE_GOOD : SL_STYLE_NONE, resource, s->free);
    amount_cell(t, SL_STYLE_NONE, resource, s->jobs);
    amount_cell(t, SL_STYLE_NONE, resource, s->others);
    amount_cell(t, SL_STYLE_NONE, resource, s->total);
}

/* ---- a tree ---- */

static const struct cli_column tree_columns[] = {
    {.title = "NAME", .shrink = 20},     {.title = "STATUS", .shrink = 8, .drop = 1},
    {.title = "RESOURCE", .shrink = 10}, {.title = "FREE", .right = true},
    {.title = "JOBS", .right = true},    {.title = "OTHERS", .right = true},
    {.title = "TOTAL", .right = true},
};

/* The lines from above, then the branch to the item; or, beside its further rows, what goes on. */
static void branches(const struct cli_graph *m, const struct cli_graph_item *x, bool first,
                     bool utf8, struct sl_buf *out) {
    uint32_t up[SL_GRAPH_MAX_DEPTH + 2], n = 0;
    bool below = x->end > (uint32_t)(x - m->items.v) + 1;

    for (const struct cli_graph_item *y = x; y->depth > 0; y = &m->items.v[y->parent])
        up[n++] = (uint32_t)(y - m->items.v);
    while (n-- > 0) {
        const struct cli_graph_item *y = &m->items.v[up[n]];
        if (y == x && first)
            sl_buf_puts(out, utf8 ? (y->last ? "└─ " : "├─ ") : (y->last ? "`- " : "|- "));
        else
            sl_buf_puts(out, y->last ? "   " : utf8 ? "│  " : "|  ");
    }
    if (!first && below)
        sl_buf_puts(out, utf8 ? "│" : "|");
}

static void tree_name(const struct cli_graph *m, const struct cli_graph_item *x,
                      const struct cli_term *t, struct sl_buf *out) {
    branches(m, x, true, t->utf8, out);
    if (x->depth == 0) {
        sl_buf_puts(out, cli_graph_type(m, x));
        return;
    }
    if (x->node == SL_GRAPH_NONE)
        sl_buf_printf(out, "%s ", cli_graph_type(m, x));
    cli_graph_name(m, x, out);
}

static void tree_item(const struct cli_graph *m, const struct cli_graph_item *x,
                      const struct cli_term *term, struct cli_table *t) {
    _cleanup_(sl_buf_done) struct sl_buf name = SL_BUF_SHORT(MAX_LABEL);
    _cleanup_(sl_buf_done) struct sl_buf status = SL_BUF_SHORT(MAX_LABEL);
    const struct cli_graph_sum *sums = sums_of(m, x);
    bool first = true;

    tree_name(m, x, term, &name);
    cli_graph_status(m, x, &status);
    for (uint32_t r = 0; r < m->n_resources || first; r++) {
        bool none = r >= m->n_resources;
        if (!none && !has(x, &sums[r]))
            continue;
        if (!first) {
            sl_buf_clear(&name);
            branches(m, x, false, term->utf8, &name);
        }
        cli_table_cell(t, first ? style_of(x) : SL_STYLE_NONE, "%s", sl_buf_str(&name));
        cli_table_cell(t, style_of(x), "%s", first ? sl_buf_str(&status) : "");
        cli_table_cell(t, SL_STYLE_NONE, "%s", none ? "-" : m->resources[r]);
        if (none)
            for (uint32_t i = 0; i < 4; i++)
                cli_table_cell(t, SL_STYLE_NONE, "%s", "");
        else
            amount_cells(t, x, m->resources[r], &sums[r], "");
        first = false;
        if (none)
            break;
    }
}

void cli_graph_tree(const struct cli_graph *m, const struct cli_term *term) {
    struct cli_table t;

    cli_table_init(&t, tree_columns, SL_LEN(tree_columns));
    for (uint32_t i = 0; i < m->items.n; i++)
        tree_item(m, &m->items.v[i], term, &t);
    cli_table_print(&t, term, 0);
    cli_table_done(&t);
}

/* ---- a table: every cell filled, a row for each resource ---- */

static const struct cli_column table_columns[] = {
    {.title = "TYPE"},
    {.title = "NAME", .shrink = 12},
    {.title = "IN", .shrink = 8, .drop = 2},
    {.title = "STATUS", .shrink = 8, .drop = 1},
    {.title = "RESOURCE", .shrink = 10},
    {.title = "FREE", .right = true},
    {.title = "JOBS", .right = true},
    {.title = "OTHERS", .right = true},
    {.title = "TOTAL", .right = true},
};

/* "zone/rack" of a node, the node of a job; "-": the cluster. */
static void put_inside(const struct cli_graph *m, const struct cli_graph_item *x,
                       struct sl_buf *out) {
    uint32_t up[SL_GRAPH_MAX_DEPTH + 2], n = 0;

    if (is_job(x)) {
        cli_graph_name(m, &m->items.v[x->parent], out);
        return;
    }
    for (uint32_t i = x->parent; x->depth && m->items.v[i].depth > 0; i = m->items.v[i].parent)
        up[n++] = i;
    if (n == 0)
        sl_buf_putc(out, '-');
    for (uint32_t i = n; i-- > 0;) {
        cli_graph_name(m, &m->items.v[up[i]], out);
        if (i)
            sl_buf_putc(out, '/');
    }
}

static void table_item(const struct cli_graph *m, const struct cli_graph_item *x,
                       struct cli_table *t) {
    _cleanup_(sl_buf_done) struct sl_buf name = SL_BUF_SHORT(MAX_LABEL);
    _cleanup_(sl_buf_done) struct sl_buf inside = SL_BUF_SHORT(MAX_LABEL);
    _cleanup_(sl_buf_done) struct sl_buf status = SL_BUF_SHORT(MAX_LABEL);
    const struct cli_graph_sum *sums = sums_of(m, x);

    cli_graph_name(m, x, &name);
    put_inside(m, x, &inside);
    cli_graph_status(m, x, &status);
    for (uint32_t r = 0; r < m->n_resources; r++) {
        if (!has(x, &sums[r]))
            continue;
        cli_table_cell(t, style_of(x), "%s", cli_graph_type(m, x));
        cli_table_cell(t, style_of(x), "%s", sl_buf_str(&name));
        cli_table_cell(t, SL_STYLE_NONE, "%s", sl_buf_str(&inside));
        cli_table_cell(t, style_of(x), "%s", sl_buf_str(&status));
        cli_table_cell(t, SL_STYLE_NONE, "%s", m->resources[r]);
        amount_cells(t, x, m->resources[r], &sums[r], "-");
    }
}

void cli_graph_table(const struct cli_graph *m, const struct cli_term *term) {
    struct cli_table t;

    cli_table_init(&t, table_columns, SL_LEN(table_columns));
    for (uint32_t i = 0; i < m->items.n; i++)
        table_item(m, &m->items.v[i], &t);
    cli_table_print(&t, term, 0);
    cli_table_done(&t);
}

/* ---- JSON ---- */

static void put_amount(struct sl_jw *w, const char *key, const char *resource, int64_t units) {
    char text[SL_QUANTITY_TEXT];
    int64_t n = units > 0 ? units : 0;

    if (sl_quantity_is_bytes(resource) && n > INT64_MAX / 1024)
        n = INT64_MAX / 1024;
    sl_jw_str(w, key,
              sl_amount_format(resource, sl_quantity_is_bytes(resource) ? n * 1024 : n, text));
}

static void put_sums(const struct cli_graph *m, const struct cli_graph_item *x, struct sl_jw *w) {
    const struct cli_graph_sum *sums = sums_of(m, x);

    sl_jw_object(w, "resources");
    for (uint32_t r = 0; r < m->n_resources; r++) {
        const char *name = m->resources[r];
        if (!has(x, &sums[r]))
            continue;
        if (is_job(x)) {
            put_amount(w, name, name, sums[r].jobs);
            continue;
        }
        sl_jw_object(w, name);
        put_amount(w, "free", name, sums[r].free);
        put_amount(w, "jobs", name, sums[r].jobs);
        put_amount(w, "others", name, sums[r].others);
        put_amount(w, "unavailable", name, sums[r].unavailable);
        put_amount(w, "total", name, sums[r].total);
        sl_jw_end(w);
    }
    sl_jw_end(w);
}

static void put_node(const struct cli_graph *m, const struct cli_graph_item *x, struct sl_jw *w) {
    const struct sl_fluxqueue_node_view *n = &m->view->nodes.v[x->node];

    sl_jw_bool(w, "up", n->up);
    sl_jw_bool(w, "cordoned", n->cordoned);
    sl_jw_bool(w, "inGraph", n->vertex != SL_VTX_NONE);
    sl_jw_array(w, "taints");
    for (uint32_t i = 0; i < n->n_taints; i++)
        sl_jw_str(w, NULL, m->view->taints.v[n->taints + i]);
    sl_jw_end(w);
}

static void put_job(const struct cli_graph *m, const struct cli_graph_item *x, struct sl_jw *w) {
    const struct sl_fluxqueue_place_view *p = &m->view->places.v[x->place];
    const struct sl_fluxqueue_job_view *j = &m->view->jobs.v[p->job];

    sl_jw_object(w, NULL);
    sl_jw_str(w, "namespace", j->ns);
    sl_jw_str(w, "name", j->name);
    sl_jw_int(w, "jobid", j->jobid);
    sl_jw_object(w, "object");
    sl_jw_str(w, "kind", cli_flux_kind(j->type));
    sl_jw_str(w, "name", j->object);
    sl_jw_end(w);
    sl_jw_uint(w, "pods", p->pods);
    sl_jw_bool(w, "wholeNode", p->whole);
    put_sums(m, x, w);
    sl_jw_end(w);
}

/* The item and all below it. Depth is that of the graph's levels. */
static void put_item(const struct cli_graph *m, const struct cli_graph_item *x, const char *key,
                     struct sl_jw *w) {
    uint32_t at = (uint32_t)(x - m->items.v) + 1;
    _cleanup_(sl_buf_done) struct sl_buf name = SL_BUF_SHORT(MAX_LABEL);

    cli_graph_name(m, x, &name);
    sl_jw_object(w, key);
    sl_jw_str(w, "type", cli_graph_type(m, x));
    sl_jw_str(w, "name", sl_buf_str(&name));
    if (x->node != SL_GRAPH_NONE) {
        put_node(m, x, w);
    } else {
        sl_jw_object(w, "nodes");
        sl_jw_uint(w, "total", x->nodes);
        sl_jw_uint(w, "down", x->down);
        sl_jw_uint(w, "cordoned", x->cordoned);
        sl_jw_end(w);
    }
    put_sums(m, x, w);
    if (at < x->end || x->node == SL_GRAPH_NONE) {
        sl_jw_array(w, x->node == SL_GRAPH_NONE ? "children" : "jobs");
        for (; at < x->end; at = m->items.v[at].end) {
            if (is_job(&m->items.v[at]))
                put_job(m, &m->items.v[at], w);
            else
                put_item(m, &m->items.v[at], NULL, w);
        }
        sl_jw_end(w);
    }
    sl_jw_end(w);
}

void cli_graph_json(const struct cli_graph *m, struct sl_buf *out) {
    struct sl_jw w = SL_JW(out);

    sl_jw_object(&w, NULL);
    sl_jw_bool(&w, "fluxJobsServed", m->view->served);
    sl_jw_uint(&w, "resourcesLeftOut", m->n_left_out);
    if (m->items.n > 0)
        put_item(m, &m->items.v[0], "graph", &w);
    else
        sl_jw_null(&w, "graph"); /* no nodes */
    sl_jw_end_to(&w, 0);
    sl_buf_putc(out, '\n');
}

/* ---- DOT ---- */

struct labels {
    const struct cli_graph *m;
    uint32_t *item_at; /* by vertex */
};

static void put_label(const void *ctx, sl_vtx v, struct sl_buf *out) {
    const struct labels *l = ctx;
    const struct cli_graph *m = l->m;
    char free[SL_GRAPH_AMOUNT_TEXT], total[SL_GRAPH_AMOUNT_TEXT];

    if (l->item_at[v] == SL_GRAPH_NONE)
        return; /* a pool: its numbers are those of its node */
    const struct cli_graph_item *x = &m->items.v[l->item_at[v]];
    const struct cli_graph_sum *sums = sums_of(m, x);
    sl_buf_printf(out, "%s ", cli_graph_type(m, x));
    cli_graph_name(m, x, out);
    sl_buf_putc(out, '\n');
    cli_graph_status(m, x, out);
    for (uint32_t r = 0; r < m->n_resources; r++)
        if (has(x, &sums[r]))
            sl_buf_printf(out, "\n%s: %s of %s free", m->resources[r],
                          cli_graph_amount(m->resources[r], sums[r].free, free),
                          cli_graph_amount(m->resources[r], sums[r].total, total));
}

void cli_graph_dot(const struct cli_graph *m, struct sl_buf *out) {
    struct labels l = {.m = m};

    l.item_at = sl_alloc((sl_graph_count(m->g) + 1) * sizeof *l.item_at);
    memset(l.item_at, 0xff, (sl_graph_count(m->g) + 1) * sizeof *l.item_at);
    for (uint32_t i = 0; i < m->items.n; i++)
        if (m->items.v[i].vertex != SL_VTX_NONE)
            l.item_at[m->items.v[i].vertex] = i;
    sl_graphio_dot_write(m->g, put_label, &l, out);
    sl_freep(&l.item_at);
}
