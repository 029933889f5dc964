/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster of equal nodes with equal cores, and requests for some of them.
 */
#pragma once

#include <stdio.h>

#include "core/graph/queue.h"

struct want {
    uint32_t nodes;
    uint32_t cores;   /* of each node; 0: whole nodes */
    int64_t duration; /* seconds */
};

static inline void fx_add(struct sl_graph *g, sl_vtx parent, const char *type, uint32_t id,
                          sl_vtx *ret) {
    struct sl_vertex_spec s = {.type = type, .id = id, .uniq_id = -1, .rank = -1, .size = 1};
    sl_assert(sl_graph_add(g, &s, ret, NULL) == 0);
    if (parent != SL_VTX_NONE)
        sl_assert(sl_graph_link(g, SL_GRAPH_CONTAINMENT, parent, *ret, NULL) == 0);
}

/* The vertices of the nodes are put into ret_nodes, if that is not NULL. With ret_pools the cores
 * of a node are one divisible pool, which is put there. */
static inline struct sl_match *fx_match_pools(uint32_t nodes, uint32_t cores, const char *policy,
                                              sl_vtx *ret_nodes, sl_vtx *ret_pools) {
    struct sl_graph *g = sl_graph_new();
    struct sl_match_options o = {0};
    struct sl_match *m;
    sl_vtx root, node, core;

    fx_add(g, SL_VTX_NONE, "cluster", 0, &root);
    for (uint32_t i = 0; i < nodes; i++) {
        fx_add(g, root, "node", i, &node);
        if (ret_nodes)
            ret_nodes[i] = node;
        for (uint32_t k = 0; k < (ret_pools ? 1 : cores); k++)
            fx_add(g, node, "core", k, &core);
        if (ret_pools) {
            sl_graph_set_size(g, core, cores);
            sl_assert(sl_vertex_set_prop(g, core, SL_GRAPH_DIVISIBLE, "", NULL) == 0);
            ret_pools[i] = core;
        }
    }
    sl_assert(sl_graph_seal(g, NULL) == 0);
    sl_assert(sl_match_policy_parse(policy, &o.policy, NULL) == 0);
    sl_assert(sl_match_new(g, &o, &m, NULL) == 0);
    return m;
}

static inline struct sl_match *fx_match(uint32_t nodes, uint32_t cores, const char *policy,
                                        sl_vtx *ret_nodes) {
    return fx_match_pools(nodes, cores, policy, ret_nodes, NULL);
}

static inline struct sl_req_count fx_count(uint32_t n) {
    return (struct sl_req_count){.min = n, .max = n, .op = '+', .operand = 1};
}

static inline struct sl_match_request *fx_want(const struct sl_match *m, const struct want *w) {
    struct sl_req_spec core = {.type = "core", .count = fx_count(w->cores)};
    struct sl_req_spec in_node = {
        .kind = SL_REQ_SLOT, .label = "task", .count = fx_count(1), .with = &core, .n_with = 1};
    struct sl_req_spec node = {.type = "node", .count = fx_count(w->nodes)};
    struct sl_req_spec whole = {.kind = SL_REQ_SLOT,
                                .label = "task",
                                .count = fx_count(w->nodes),
                                .with = &node,
                                .n_with = 1};
    struct sl_jobspec j = {.version = 1, .n_resources = 1, .duration = w->duration};
    struct sl_match_request *r;

    if (w->cores > 0) {
        node.with = &in_node;
        node.n_with = 1;
        j.resources = &node;
    } else {
        node.count = fx_count(1);
        j.resources = &whole;
    }
    sl_assert(sl_match_request_new(sl_match_graph(m), &j, &r, NULL) == 0);
    return r;
}

static const char *const fx_selections[] = {[SL_SELECT_IMMEDIATE] = "immediate",
                                            [SL_SELECT_BACKFILL] = "backfill",
                                            [SL_SELECT_RESERVED] = "reserved"};

/* "start 3@0 immediate", "reserve 4@10", "unreserve 4", "reject 5" */
static inline void fx_print(const struct sl_decision *d, struct sl_buf *out) {
    static const char *const kinds[] = {[SL_DECIDED_START] = "start",
                                        [SL_DECIDED_RESERVE] = "reserve",
                                        [SL_DECIDED_UNRESERVE] = "unreserve",
                                        [SL_DECIDED_REJECT] = "reject"};
    char text[100];
    bool starts = d->kind == SL_DECIDED_START;

    (void)snprintf(text, sizeof text, "%s %lld", kinds[d->kind], (long long)d->jobid);
    sl_buf_puts(out, text);
    if (starts || d->kind == SL_DECIDED_RESERVE) {
        (void)snprintf(text, sizeof text, "@%lld%s%s", (long long)d->at, starts ? " " : "",
                       starts ? fx_selections[d->selection] : "");
        sl_buf_puts(out, text);
    }
}
