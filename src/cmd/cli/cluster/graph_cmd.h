/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `sluice graph` shows: cluster, levels, nodes and, if wanted, jobs on them, each with sums of
 * every resource. Made once from the views of the controller (manager/fluxqueue/view.h), which it
 * borrows, and printed in one of several formats.
 */
#ifndef SL_CMD_CLI_CLUSTER_GRAPH_CMD_H
#define SL_CMD_CLI_CLUSTER_GRAPH_CMD_H

#include "cmd/cli/cli.h"
#include "core/graph/graph.h"
#include "manager/fluxqueue/view.h"

#define SL_GRAPH_SHOWN_RESOURCES 64u
#define SL_GRAPH_AMOUNT_TEXT 32
#define SL_GRAPH_NONE UINT32_MAX

/* In the units of the graph. free: what a job could get now; of nodes that are down or cordoned
 * nothing, and what is not taken there is unavailable. */
struct cli_graph_sum {
    int64_t total, jobs, others, free, unavailable;
};

struct cli_graph_item {
    uint32_t parent; /* place among the items; SL_GRAPH_NONE: the cluster */
    uint32_t depth;
    uint32_t end;   /* place behind the last below it */
    sl_vtx vertex;  /* of the cluster, a level or a node; SL_VTX_NONE: of none */
    uint32_t node;  /* of the view; SL_GRAPH_NONE: it is none */
    uint32_t place; /* of the view: a job on that node; SL_GRAPH_NONE: it is none */
    uint32_t nodes, down, cordoned;
    bool last; /* among its siblings */
};

struct cli_graph {
    const struct sl_graph *g; /* NULL: no nodes */
    const struct sl_fluxqueue_view *view;
    const char *resources[SL_GRAPH_SHOWN_RESOURCES]; /* cpu, memory, pods, then by name */
    uint32_t n_resources, n_left_out;
    SL_VEC(struct cli_graph_item) items; /* depth-first */
    struct cli_graph_sum *sums;          /* n_resources for each item */
};

/* only: names of resources separated by commas, NULL: all. g may be NULL. */
void cli_graph_init(struct cli_graph *m, const struct sl_graph *g,
                    const struct sl_fluxqueue_view *view, const char *only, bool jobs);
void cli_graph_done(struct cli_graph *m);
/* Has any node this resource, shown or not? */
bool cli_graph_has(const struct cli_graph *m, const char *name, size_t len);
/* Place of a resource; SL_GRAPH_NONE: it is not shown. */
uint32_t cli_graph_resource(const struct cli_graph *m, const char *name);

/* The name and the kind of an item: "cluster", the type of a level, "node", "job". */
const char *cli_graph_type(const struct cli_graph *m, const struct cli_graph_item *x);
void cli_graph_name(const struct cli_graph *m, const struct cli_graph_item *x, struct sl_buf *out);
/* "up", "down, cordoned"; "12 nodes, 1 down"; "3 pods". */
void cli_graph_status(const struct cli_graph *m, const struct cli_graph_item *x,
                      struct sl_buf *out);
/* For people: "1.5", "7.8Gi", "10". Returns out. */
const char *cli_graph_amount(const char *resource, int64_t units, char out[SL_GRAPH_AMOUNT_TEXT]);

/* ---- graph_text.c ---- */
void cli_graph_tree(const struct cli_graph *m, const struct cli_term *t);
void cli_graph_table(const struct cli_graph *m, const struct cli_term *t);
void cli_graph_json(const struct cli_graph *m, struct sl_buf *out);
void cli_graph_dot(const struct cli_graph *m, struct sl_buf *out);

#endif
