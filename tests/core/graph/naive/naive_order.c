/* SPDX-License-Identifier: Apache-2.0 */
/* The naive matcher's scores, filters, sums and weights. */
#include <stdlib.h>
#include <string.h>

#include "naive_int.h"

/* ---- scores ---- */

static int64_t perf_class(const struct naive *n, sl_vtx v) {
    const char *text = sl_vertex_prop(n->g, v, "perf_class");
    size_t digits = text ? strspn(text, "0123456789") : 0;
    if (digits == 0 || digits > 4 || text[digits] != '\0')
        return 9999;
    return strtol(text, NULL, 10);
}

int64_t score_of(const struct naive *n, sl_vtx v) {
    int64_t score = 2 + vertex_of(n, v)->id;
    if (n->policy.variation)
        return 1 + perf_class(n, v);
    while (n->policy.node_centric && (v = vertex_of(n, v)->parent) != SL_VTX_NONE)
        if (strcmp(type_of(n, v), "node") == 0)
            score +=
                (vertex_of(n, v)->id + 2) * 10000 + llabs(vertex_of(n, v)->uniq_id % 10000 - 1);
    return score;
}

/* ---- filters ---- */

#define MAX_TYPES 128

static bool known(const char *const *v, uint32_t n, const char *type) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(v[i], type) == 0)
            return true;
    return false;
}

/* The types that the filter of a vertex has, in order. */
static uint32_t filter_types(const struct naive *n, sl_vtx v, const char *ret[MAX_TYPES]) {
    const char *named[2 * MAX_TYPES], *own = type_of(n, v);
    uint32_t n_types = 0, n_named = 0;
    if (count_kids(n, v) == 0)
        return 0;
    for (uint32_t i = 0; i < n->filters.n; i++) {
        const struct filter *f = &n->filters.v[i];
        named[n_named++] = f->low;
        if (f->high && strcmp(f->high, own) == 0 && !known(ret, n_types, f->low))
            ret[n_types++] = f->low;
    }
    for (uint32_t i = 0; i < sl_graph_live(n->g); i++) {
        sl_vtx leaf = sl_graph_at(n->g, i);
        if (count_kids(n, leaf) > 0 || !is_below(n, leaf, sl_graph_root(n->g)) ||
            known(named, n_named, type_of(n, leaf)))
            continue;
        named[n_named++] = type_of(n, leaf);
        if (strcmp(own, "cluster") == 0)
            ret[n_types++] = type_of(n, leaf);
    }
    for (uint32_t i = 0; i < n->filters.n; i++) {
        const struct filter *f = &n->filters.v[i];
        if (!f->high && strcmp(f->low, own) != 0 && !known(ret, n_types, f->low))
            ret[n_types++] = f->low;
    }
    return n_types;
}

int64_t total_below(const struct naive *n, sl_vtx v, const char *type) {
    int64_t total = 0;
    for (uint32_t i = 0; i < vertex_of(n, v)->n_kids; i++) {
        sl_vtx kid = kid_of(n, v, i);
        if (strcmp(type_of(n, kid), type) == 0)
            total += vertex_of(n, kid)->size;
        total += total_below(n, kid, type);
    }
    return total;
}

/* What is held exclusively below a vertex: by whom and when is the caller's question. */
static int64_t held_below(const struct naive *n, sl_vtx v, const char *type, int64_t at,
                          int64_t jobid, bool allocated) {
    int64_t held = 0;
    for (uint32_t i = 0; i < vertex_of(n, v)->n_kids; i++) {
        sl_vtx kid = kid_of(n, v, i);
        bool counts = strcmp(type_of(n, kid), type) == 0;
        for (uint32_t k = 0; k < n->at.v[kid].list.n && counts; k++) {
            const struct hold *h = &n->at.v[kid].list.v[k];
            bool meant = allocated    ? job_of(n, h->job)->state == SL_JOB_ALLOCATED
                         : jobid >= 0 ? jobid == h->job
                                      : h->from <= at && at < h->to;
            if (h->exclusive && meant)
                held += h->amount;
        }
        held += held_below(n, kid, type, at, jobid, allocated);
    }
    return held;
}

int64_t weight_of(const struct question *q, sl_vtx v) {
    const struct naive *n = q->n;
    const char *types[MAX_TYPES];
    uint32_t n_types = filter_types(n, v, types);
    if (q->when == ANYTIME || n_types == 0 || !n->visited.v[v])
        return INT64_MAX;
    const char *last = types[n_types - 1];
    int64_t held = held_below(n, v, last, 0, -1, true);
    for (uint32_t i = 0; i < q->given && q->when == PRESENT; i++) {
        const struct taken *t = &q->chosen.v[i];
        if (t->exclusive && t->v != v && is_below(n, t->v, v) &&
            strcmp(type_of(n, t->v), last) == 0)
            held += t->amount;
    }
    return total_below(n, v, last) - held;
}

static bool has_exclusive_below(const struct naive *n, const struct sl_grant *g, sl_vtx v) {
    for (uint32_t i = 0; i < g->picks.n; i++)
        for (sl_vtx u = g->picks.v[i].v; g->picks.v[i].exclusive && u != SL_VTX_NONE;) {
            u = sl_grant_parent(n->g, g, u);
            if (u == v)
                return true;
        }
    return false;
}

void note_visited(struct naive *n, const struct sl_grant *g, bool kept) {
    const char *types[MAX_TYPES];
    for (uint32_t i = 0; i < g->picks.n; i++) {
        sl_vtx v = g->picks.v[i].v;
        uint32_t n_types = filter_types(n, v, types);
        if (n_types == 0 ||
            (total_below(n, v, types[n_types - 1]) == 0 && !(kept && has_exclusive_below(n, g, v))))
            continue;
        n->visited.v[v] = true;
    }
}

uint32_t naive_sums(const struct naive *n, sl_vtx v, int64_t at, int64_t jobid,
                    struct sl_match_filter_sum *ret, uint32_t max) {
    const char *types[MAX_TYPES];
    uint32_t n_sums = 0, n_types = filter_types(n, v, types);
    for (uint32_t i = 0; i < n_types; i++) {
        int64_t total = total_below(n, v, types[i]);
        if (n_sums < max)
            ret[n_sums] =
                (struct sl_match_filter_sum){sl_sym_find(sl_graph_syms(n->g), types[i]),
                                             held_below(n, v, types[i], at, jobid, false), total};
        n_sums++;
    }
    return n_sums;
}
