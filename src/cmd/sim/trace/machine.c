/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine of a trace as a resource graph: a cluster of nodes of cores, and memory as a pool of
 * each node that is given out by the MiB.
 */
#include "cmd/sim/trace/trace.h"

#define KIB_OF_MIB 1024

uint64_t sl_trace_processors(const struct sl_trace_machine *m) {
    return (uint64_t)m->nodes * m->cpu + m->one_more;
}

/* ---- its size ---- */

int sl_trace_machine_complete(const struct sl_swf *t, const char *file,
                              const struct sl_trace_machine *given, struct sl_trace_machine *ret,
                              struct sl_err *err) {
    int64_t nodes = given->nodes, cpu = given->cpu, one_more = 0, over = t->max_nodes;

    if (nodes == 0)
        nodes = t->max_nodes;
    if (nodes < 0 && t->max_processors > 0)
        nodes = cpu > 0 ? (t->max_processors + cpu - 1) / cpu : t->max_processors;
    if (nodes < 0)
        return sl_err_set(err, SL_EINVAL,
                          "%s: the header has neither MaxNodes nor MaxProcs: expected --nodes=N",
                          file);
    if (nodes > SL_TRACE_MAX_NODES)
        return sl_err_set(err, SL_ELIMIT, "%s: %lld nodes: expected at most %u", file,
                          (long long)nodes, SL_TRACE_MAX_NODES);
    if (cpu == 0 && t->max_processors > 0) {
        over = over > 0 ? over : nodes;
        cpu = t->max_processors / over;
        one_more = over == nodes && cpu > 0 ? t->max_processors % over : 0;
    }
    cpu = cpu > 0 ? cpu : 1;
    if (cpu > SL_TRACE_MAX_CPU)
        return sl_err_set(err, SL_ELIMIT, "%s: %lld processors on a node: expected at most %u",
                          file, (long long)cpu, SL_TRACE_MAX_CPU);
    struct sl_trace_machine m = {.nodes = (uint32_t)nodes,
                                 .cpu = (uint32_t)cpu,
                                 .one_more = (uint32_t)one_more,
                                 .memory_mib = given->memory_mib};
    if (1 + 2 * (uint64_t)m.nodes + sl_trace_processors(&m) > SL_GRAPH_MAX_VERTICES)
        return sl_err_set(
            err, SL_ELIMIT, "%s: %u nodes with %llu processors: expected at most %u vertices", file,
            m.nodes, (unsigned long long)sl_trace_processors(&m), SL_GRAPH_MAX_VERTICES);
    *ret = m;
    return 0;
}

/* ---- the graph ---- */

static int add(struct sl_graph *g, sl_vtx parent, const struct sl_vertex_spec *s, sl_vtx *ret,
               struct sl_err *err) {
    int r = sl_graph_add(g, s, ret, err);

    if (r < 0 || parent == SL_VTX_NONE)
        return r;
    return sl_graph_link(g, SL_GRAPH_CONTAINMENT, parent, *ret, err);
}

static int add_node(struct sl_graph *g, sl_vtx root, const struct sl_trace_machine *m, uint32_t i,
                    struct sl_err *err) {
    static const struct sl_graph_prop divisible = {SL_GRAPH_DIVISIBLE, ""};
    struct sl_vertex_spec node = {.type = "node", .id = i, .uniq_id = -1, .rank = i, .size = 1},
                          core = {.type = "core", .uniq_id = -1, .rank = i, .size = 1},
                          memory = {.type = "memory",
                                    .unit = "MiB",
                                    .uniq_id = -1,
                                    .rank = i,
                                    .size = m->memory_mib,
                                    .props = &divisible,
                                    .n_props = 1};
    sl_vtx at, first, next;
    int r = add(g, root, &node, &at, err);

    if (r >= 0)
        r = add(g, at, &core, &first, err);
    for (uint32_t k = 1; r >= 0 && k < m->cpu + (i < m->one_more); k++)
        r = sl_graph_add_like(g, first, k, i, at, &next, err);
    if (r >= 0 && m->memory_mib > 0)
        r = add(g, at, &memory, &next, err);
    return r;
}

int sl_trace_match_new(const struct sl_trace_machine *m, const struct sl_match_policy *p,
                       struct sl_match **ret, struct sl_err *err) {
    _cleanup_(sl_graph_freep) struct sl_graph *g = sl_graph_new();
    struct sl_vertex_spec cluster = {.type = "cluster", .uniq_id = -1, .rank = -1, .size = 1};
    struct sl_match_options o = {.policy = *p};
    sl_vtx root;
    int r = add(g, SL_VTX_NONE, &cluster, &root, err);

    for (uint32_t i = 0; r >= 0 && i < m->nodes; i++)
        r = add_node(g, root, m, i, err);
    if (r >= 0)
        r = sl_graph_seal(g, err);
    return r < 0 ? r : sl_match_new(TAKE_PTR(g), &o, ret, err);
}

/* ---- requests ---- */

/* More than the machine can have is as good as any such number: it never fits. */
static struct sl_req_count count_of(int64_t n) {
    uint32_t v = n < SL_REQ_COUNT_MAX ? (uint32_t)n : SL_REQ_COUNT_MAX;

    return (struct sl_req_count){.min = v, .max = v, .op = '+', .operand = 1};
}

int sl_trace_request_new(const struct sl_match *m, const struct sl_trace_machine *machine,
                         const struct sl_swf_job *j, struct sl_match_request **ret,
                         struct sl_err *err) {
    const bool memory = machine->memory_mib > 0 && j->memory_kib > 0;
    const struct sl_req_spec in[] = {
        {.type = "core", .count = count_of(1)},
        {.type = "memory",
         .count = count_of(memory ? (j->memory_kib + KIB_OF_MIB - 1) / KIB_OF_MIB : 1)},
    };
    const struct sl_req_spec slot = {.kind = SL_REQ_SLOT,
                                     .label = "task",
                                     .count = count_of(j->processors),
                                     .with = in,
                                     .n_with = memory ? 2 : 1};
    const struct sl_jobspec spec = {
        .version = 1, .resources = &slot, .n_resources = 1, .duration = j->limit};

    return sl_match_request_new(sl_match_graph(m), &spec, ret, err);
}
