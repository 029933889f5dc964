/* SPDX-License-Identifier: Apache-2.0 */
/* The items of `sluice graph` and their sums. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cluster/graph_cmd.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "core/base/quantity.h"

#define MAX_DEPTH (SL_GRAPH_MAX_DEPTH + 2) /* jobs are below nodes */

/* ---- resources ---- */

static int rank_of(const char *name) {
    static const char *const first[] = {"cpu", "memory", "pods"};
    for (size_t i = 0; i < SL_LEN(first); i++)
        if (strcmp(first[i], name) == 0)
            return (int)i;
    return (int)SL_LEN(first);
}

static int by_rank(const void *a, const void *b) {
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int r = rank_of(x) - rank_of(y);
    return r ? r : strcmp(x, y);
}

static bool is_listed(const char *list, const char *name) {
    size_t len = strlen(name);
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == len && strncmp(list, name, len) == 0)
            return true;
    return false;
}

uint32_t cli_graph_resource(const struct cli_graph *m, const char *name) {
    for (uint32_t i = 0; i < m->n_resources; i++)
        if (strcmp(m->resources[i], name) == 0)
            return i;
    return SL_GRAPH_NONE;
}

bool cli_graph_has(const struct cli_graph *m, const char *name, size_t len) {
    for (uint32_t i = 0; i < m->view->uses.n; i++) {
        const char *has = m->view->uses.v[i].resource;
        if (strlen(has) == len && memcmp(has, name, len) == 0)
            return true;
    }
    return false;
}

/* Of too many the first by their rank, whatever the nodes. */
static void find_resources(struct cli_graph *m, const char *only) {
    SL_VEC(const char *) names = {0};
    for (uint32_t i = 0; i < m->view->uses.n; i++)
        if (!only || is_listed(only, m->view->uses.v[i].resource))
            *sl_vec_push(&names) = m->view->uses.v[i].resource;
    if (names.n)
        qsort(names.v, names.n, sizeof *names.v, by_rank);
    for (uint32_t i = 0; i < names.n; i++) {
        if (i > 0 && strcmp(names.v[i], names.v[i - 1]) == 0)
            continue;
        if (m->n_resources < SL_GRAPH_SHOWN_RESOURCES)
            m->resources[m->n_resources++] = names.v[i];
        else
            m->n_left_out++;
    }
    sl_vec_free(&names);
}

/* ---- items ---- */

struct making {
    struct cli_graph *m;
    uint32_t *node_at;        /* by vertex: place in the view */
    uint32_t *first, *next;   /* places of a node as a list, by node and by place */
    uint32_t open[MAX_DEPTH]; /* the items that the next one may be in, by depth */
};

static uint32_t push(struct making *k, struct cli_graph_item x) {
    struct cli_graph *m = k->m;
    uint32_t at = m->items.n;

    x.parent = x.depth ? k->open[x.depth - 1] : SL_GRAPH_NONE;
    k->open[x.depth] = at;
    *sl_vec_push(&m->items) = x;
    return at;
}

static void push_node(struct making *k, uint32_t node, sl_vtx v, uint32_t depth) {
    const struct sl_fluxqueue_node_view *n = &k->m->view->nodes.v[node];

    (void)push(k, (struct cli_graph_item){.depth = depth,
                                          .vertex = v,
                                          .node = node,
                                          .place = SL_GRAPH_NONE,
                                          .nodes = 1,
                                          .down = !n->up,
                                          .cordoned = n->cordoned});
    for (uint32_t p = k->first ? k->first[node] : SL_GRAPH_NONE; p != SL_GRAPH_NONE; p = k->next[p])
        (void)push(k, (struct cli_graph_item){
                          .depth = depth + 1, .vertex = SL_VTX_NONE, .node = node, .place = p});
}

/* Cluster, levels and nodes in the order of the graph; pools are in the sums. Nodes that are not in
 * the graph are below the cluster. */
static void make_items(struct making *k) {
    struct cli_graph *m = k->m;
    const struct sl_fluxqueue_view *v = m->view;

    for (uint32_t pos = 0; pos < sl_graph_live(m->g); pos++) {
        sl_vtx at = sl_graph_at(m->g, pos);
        const struct sl_vertex *x = sl_graph_vertex(m->g, at);
        if (k->node_at[at] != SL_GRAPH_NONE) {
            push_node(k, k->node_at[at], at, x->depth);
            pos = x->end - 1;
        } else {
            (void)push(k, (struct cli_graph_item){.depth = x->depth,
                                                  .vertex = at,
                                                  .node = SL_GRAPH_NONE,
                                                  .place = SL_GRAPH_NONE});
        }
    }
    for (uint32_t i = 0; i < v->nodes.n; i++)
        if (v->nodes.v[i].vertex == SL_VTX_NONE)
            push_node(k, i, SL_VTX_NONE, 1);
}

static void list_places(struct making *k) {
    const struct sl_fluxqueue_view *v = k->m->view;

    k->first = sl_alloc((v->nodes.n + 1) * sizeof *k->first);
    k->next = sl_alloc((v->places.n + 1) * sizeof *k->next);
    memset(k->first, 0xff, (v->nodes.n + 1) * sizeof *k->first);
    for (uint32_t i = v->places.n; i-- > 0;) { /* so that each list is in their order */
        k->next[i] = k->first[v->places.v[i].node];
        k->first[v->places.v[i].node] = i;
    }
}

/* Ends and last ones, from behind. */
static void close_items(struct cli_graph *m) {
    uint32_t last[MAX_DEPTH]; /* by depth: where the next sibling begins; none: NONE */

    for (uint32_t d = 0; d < MAX_DEPTH; d++)
        last[d] = SL_GRAPH_NONE;
    for (uint32_t i = m->items.n; i-- > 0;) {
        struct cli_graph_item *x = &m->items.v[i];
        uint32_t up = x->depth ? x->parent : SL_GRAPH_NONE;
        x->last = last[x->depth] == SL_GRAPH_NONE || m->items.v[last[x->depth]].parent != up;
        last[x->depth] = i;
        x->end = i + 1;
    }
    for (uint32_t i = m->items.n; i-- > 0;) {
        struct cli_graph_item *x = &m->items.v[i];
        if (x->depth && m->items.v[x->parent].end < x->end)
            m->items.v[x->parent].end = x->end;
    }
}

/* ---- sums ---- */

static void sum_node(struct cli_graph *m, const struct cli_graph_item *x,
                     struct cli_graph_sum *sums) {
    const struct sl_fluxqueue_node_view *n = &m->view->nodes.v[x->node];
    bool open = n->up && !n->cordoned && n->vertex != SL_VTX_NONE;

    for (uint32_t i = n->uses; i < n->uses + n->n_uses; i++) {
        const struct sl_fluxqueue_use *u = &m->view->uses.v[i];
        uint32_t r = cli_graph_resource(m, u->resource);
        if (r == SL_GRAPH_NONE)
            continue;
        int64_t left = u->total - u->jobs - u->others;
        sums[r] = (struct cli_graph_sum){u->total, u->jobs, u->others, open && left > 0 ? left : 0,
                                         !open && left > 0 ? left : 0};
    }
}

static void sum_job(const struct cli_graph *m, const struct cli_graph_item *x,
                    struct cli_graph_sum *sums) {
    const struct sl_fluxqueue_place_view *p = &m->view->places.v[x->place];

    for (uint32_t i = p->takes; i < p->takes + p->n_takes; i++) {
        uint32_t r = cli_graph_resource(m, m->view->takes.v[i].resource);
        if (r != SL_GRAPH_NONE)
            sums[r].jobs += m->view->takes.v[i].amount;
    }
}

static void add_up(struct cli_graph *m, const struct cli_graph_item *x) {
    const struct cli_graph_sum *from = m->sums + (size_t)(x - m->items.v) * m->n_resources;
    struct cli_graph_item *up = &m->items.v[x->parent];
    struct cli_graph_sum *to = m->sums + (size_t)x->parent * m->n_resources;

    up->nodes += x->nodes;
    up->down += x->down;
    up->cordoned += x->cordoned;
    for (uint32_t r = 0; r < m->n_resources; r++) {
        to[r].total += from[r].total;
        to[r].jobs += from[r].jobs;
        to[r].others += from[r].others;
        to[r].free += from[r].free;
        to[r].unavailable += from[r].unavailable;
    }
}

static void make_sums(struct cli_graph *m) {
    m->sums = sl_alloc0((size_t)m->items.n * m->n_resources + 1, sizeof *m->sums);
    for (uint32_t i = m->items.n; i-- > 0;) { /* children come before their parents */
        struct cli_graph_item *x = &m->items.v[i];
        struct cli_graph_sum *sums = m->sums + (size_t)i * m->n_resources;
        if (x->place != SL_GRAPH_NONE)
            sum_job(m, x, sums);
        else if (x->node != SL_GRAPH_NONE)
            sum_node(m, x, sums);
        if (x->place == SL_GRAPH_NONE && x->depth)
            add_up(m, x);
    }
}

void cli_graph_init(struct cli_graph *m, const struct sl_graph *g,
                    const struct sl_fluxqueue_view *view, const char *only, bool jobs) {
    struct making k = {.m = m};

    *m = (struct cli_graph){.g = g, .view = view};
    find_resources(m, only);
    if (!g)
        return;
    k.node_at = sl_alloc((sl_graph_count(g) + 1) * sizeof *k.node_at);
    memset(k.node_at, 0xff, (sl_graph_count(g) + 1) * sizeof *k.node_at);
    for (uint32_t i = 0; i < view->nodes.n; i++)
        if (view->nodes.v[i].vertex != SL_VTX_NONE)
            k.node_at[view->nodes.v[i].vertex] = i;
    if (jobs)
        list_places(&k);
    make_items(&k);
    close_items(m);
    make_sums(m);
    sl_freep(&k.node_at);
    sl_freep(&k.first);
    sl_freep(&k.next);
}

void cli_graph_done(struct cli_graph *m) {
    sl_vec_free(&m->items);
    sl_freep(&m->sums);
}

/* ---- as text ---- */

const char *cli_graph_type(const struct cli_graph *m, const struct cli_graph_item *x) {
    if (x->place != SL_GRAPH_NONE)
        return "job";
    if (x->node != SL_GRAPH_NONE)
        return "node";
    return sl_sym_str(sl_graph_syms(m->g), sl_graph_vertex(m->g, x->vertex)->type);
}

void cli_graph_name(const struct cli_graph *m, const struct cli_graph_item *x, struct sl_buf *out) {
    char space[SL_VERTEX_NAME];

    if (x->place != SL_GRAPH_NONE) {
        const struct sl_fluxqueue_job_view *j = &m->view->jobs.v[m->view->places.v[x->place].job];
        sl_buf_printf(out, "%s/%s", j->ns, j->name);
    } else if (x->node != SL_GRAPH_NONE) {
        sl_buf_puts(out, m->view->nodes.v[x->node].name);
    } else {
        sl_buf_puts(out, sl_vertex_name(m->g, x->vertex, space));
    }
}

static void count(struct sl_buf *out, uint32_t n, const char *one, const char *many) {
    sl_buf_printf(out, "%u %s", n, n == 1 ? one : many);
}

void cli_graph_status(const struct cli_graph *m, const struct cli_graph_item *x,
                      struct sl_buf *out) {
    if (x->place != SL_GRAPH_NONE) {
        count(out, m->view->places.v[x->place].pods, "pod", "pods");
        if (m->view->places.v[x->place].whole)
            sl_buf_puts(out, ", whole node");
        return;
    }
    if (x->node != SL_GRAPH_NONE) {
        const struct sl_fluxqueue_node_view *n = &m->view->nodes.v[x->node];
        sl_buf_puts(out, n->vertex == SL_VTX_NONE ? "not in the graph" : n->up ? "up" : "down");
        if (n->cordoned)
            sl_buf_puts(out, ", cordoned");
        else if (n->n_taints)
            sl_buf_puts(out, ", tainted");
        return;
    }
    count(out, x->nodes, "node", "nodes");
    if (x->down)
        sl_buf_printf(out, ", %u down", x->down);
    if (x->cordoned)
        sl_buf_printf(out, ", %u cordoned", x->cordoned);
}

/* "1.5" of 1500 thousandths. */
static void put_milli(int64_t n, char out[SL_GRAPH_AMOUNT_TEXT]) {
    sl_fmt(out, SL_GRAPH_AMOUNT_TEXT, "%" PRId64 ".%03d", n / 1000, (int)(n % 1000));
    for (char *end = out + strlen(out) - 1; *end == '0' || *end == '.'; end--) {
        bool point = *end == '.';
        *end = '\0';
        if (point)
            return;
    }
}

/* The largest unit of which there is at least one, with a digit behind the point if it is not
 * exact. */
static void put_kib(int64_t n, char out[SL_GRAPH_AMOUNT_TEXT]) {
    static const char *const units[] = {"Ki", "Mi", "Gi", "Ti", "Pi"};
    size_t u = 0;
    int64_t one = 1;

    for (; u + 1 < SL_LEN(units) && n / one >= 1024; u++)
        one *= 1024;
    if (n == 0)
        sl_fmt(out, SL_GRAPH_AMOUNT_TEXT, "0");
    else if (n % one == 0)
        sl_fmt(out, SL_GRAPH_AMOUNT_TEXT, "%" PRId64 "%s", n / one, units[u]);
    else
        sl_fmt(out, SL_GRAPH_AMOUNT_TEXT, "%" PRId64 ".%d%s", n / one, (int)(n % one * 10 / one),
               units[u]);
}

const char *cli_graph_amount(const char *resource, int64_t units, char out[SL_GRAPH_AMOUNT_TEXT]) {
    if (units < 0)
        units = 0;
    if (sl_quantity_is_milli(resource))
        put_milli(units, out);
    else if (sl_quantity_is_bytes(resource))
        put_kib(units, out);
    else
        sl_fmt(out, SL_GRAPH_AMOUNT_TEXT, "%" PRId64, units);
    return out;
}
