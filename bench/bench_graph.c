/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resource graph. The graphs are cluster, rack[N/40], node[40], and in each node 16 cores, 4
 * gpus and 8 memory pools of 8; the job n1c4 is one node with a slot of 4 cores, n64 is 64 nodes
 * with 16 cores each. Search time is that of sl_match_run, without parsing; the machine is filled
 * until nothing fits any more, and the average of all matches is told.
 *
 * graph/first-1k …          n1c4 until the machine is full, by policy and number of nodes
 * graph/first-1k-n64 …      the same with n64
 * graph/cancel-1k           giving n1c4 back
 * graph/lonode-1k-s1c4 …    slots at the top: one or 64 of 4 cores, one of a whole node
 * graph/pools-1k …          one slot of four divisible pools (core, memory, pods, gpu) of a node,
 *                           until the machine is full, lonode
 * graph/reserve-mixed-1k    1,000 jobs of 1 to 128 nodes, 1 to 16 cores, 288 durations: all of
 *                           them start or have a reservation; -slots-: of 1 to 128 slots
 * graph/constraint-16k      n1c4 on 16,384 nodes, with a property that every second one has
 * graph/memory-10k          bytes per vertex of graph and matcher
 * graph/load-10k            seconds: making the graph and the matcher
 * graph/plan-*              the planner with 100,000 spans: adding and removing one; the least free
 *                           amount of a window; the first time at which a large amount is free
 *
 * {"bench":"graph/first-1k","value":1.4,"unit":"us"}
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/prng.h"
#include "core/graph/match/match.h"
#include "core/graph/plan.h"

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void tell(const char *name, double value, const char *unit) {
    printf("{\"bench\":\"graph/%s\",\"value\":%.3f,\"unit\":\"%s\"}\n", name, value, unit);
    (void)fflush(stdout);
}

static void report(const char *name, int64_t ns, int64_t n) {
    tell(name, (double)ns / 1000.0 / (double)n, "us");
}

/* ---- graphs and requests ---- */

static sl_vtx add(struct sl_graph *g, sl_vtx parent, const char *type, int64_t id, int64_t size,
                  int64_t rank, const struct sl_graph_prop *prop) {
    struct sl_vertex_spec s = {.type = type,
                               .id = id,
                               .uniq_id = -1,
                               .rank = rank,
                               .size = size,
                               .props = prop,
                               .n_props = prop != NULL};
    sl_vtx v;
    sl_assert(sl_graph_add(g, &s, &v, NULL) == 0);
    if (parent != SL_VTX_NONE)
        sl_assert(sl_graph_link(g, SL_GRAPH_CONTAINMENT, parent, v, NULL) == 0);
    return v;
}

static struct sl_graph *make_graph(int64_t n_nodes, bool with_property) {
    static const struct sl_graph_prop fast = {"fast", ""};
    struct sl_graph *g = sl_graph_new();
    sl_vtx cluster = add(g, SL_VTX_NONE, "cluster", 0, 1, -1, NULL), rack = cluster;
    for (int64_t n = 0; n < n_nodes; n++) {
        if (n % 40 == 0)
            rack = add(g, cluster, "rack", n / 40, 1, -1, NULL);
        sl_vtx node = add(g, rack, "node", n, 1, n, with_property && n % 2 ? &fast : NULL);
        for (int64_t i = 0; i < 16; i++)
            (void)add(g, node, "core", i, 1, -1, NULL);
        for (int64_t i = 0; i < 4; i++)
            (void)add(g, node, "gpu", i, 1, -1, NULL);
        for (int64_t i = 0; i < 8; i++)
            (void)add(g, node, "memory", i, 8, -1, NULL);
    }
    sl_assert(sl_graph_seal(g, NULL) == 0);
    return g;
}

static struct sl_match *make_match(int64_t n_nodes, const char *policy, bool with_property) {
    struct sl_match_options o = {0};
    struct sl_match *m;
    sl_assert(sl_match_policy_parse(policy, &o.policy, NULL) == 0);
    sl_assert(sl_match_new(make_graph(n_nodes, with_property), &o, &m, NULL) == 0);
    return m;
}

static struct sl_req_count exactly(uint32_t n) {
    return (struct sl_req_count){.min = n, .max = n, .op = '+', .operand = 1};
}

/* Node over slot over core, and as most users have it: a slot of cores, or of a whole node. */
enum shape { NODE_SLOT_CORE, SLOT_CORE, SLOT_NODE };

static struct sl_match_request *make_request(const struct sl_match *m, enum shape shape, uint32_t n,
                                             uint32_t cores, int64_t duration,
                                             const char *property) {
    struct sl_req_spec core = {.type = "core", .count = exactly(cores)};
    struct sl_req_spec slot = {.kind = SL_REQ_SLOT, .with = &core, .n_with = 1};
    struct sl_req_spec node = {.type = "node", .count = exactly(shape == SLOT_NODE ? 1 : n)};
    slot.count = exactly(shape == NODE_SLOT_CORE ? 1 : n);
    if (shape == SLOT_NODE)
        slot.with = &node;
    node.with = shape == SLOT_NODE ? &core : &slot;
    node.n_with = 1;
    struct sl_jobspec j = {.resources = shape == NODE_SLOT_CORE ? &node : &slot,
                           .n_resources = 1,
                           .duration = duration};
    struct sl_match_request *r;
    if (property)
        j.constraint = (struct sl_constraint){
            .kind = SL_CONSTRAINT_PROPERTIES, .names = &property, .n_names = 1};
    sl_assert(sl_match_request_new(sl_match_graph(m), &j, &r, NULL) == 0);
    return r;
}

/* ---- filling ---- */

static int64_t fill(struct sl_match *m, const struct sl_match_request *r, int64_t *ret_ns) {
    int64_t n = 0, t0 = now_ns();
    enum sl_match_verdict v;
    do
        sl_assert(sl_match_run(m, r, SL_MATCH_ALLOCATE, n++, 0, &v, NULL, NULL) == 0);
    while (v == SL_MATCHED);
    *ret_ns = now_ns() - t0;
    return n;
}

static void bench_fill(const char *policy, int64_t n_nodes) {
    struct sl_match *m = make_match(n_nodes, policy, false);
    struct sl_match_request *small = make_request(m, NODE_SLOT_CORE, 1, 4, 3600, NULL);
    struct sl_match_request *large = make_request(m, NODE_SLOT_CORE, 64, 16, 3600, NULL);
    char name[64];
    int64_t ns, n = fill(m, small, &ns), t0;
    (void)snprintf(name, sizeof(name), "%s-%lldk", policy, (long long)n_nodes / 1000);
    report(name, ns, n);
    t0 = now_ns();
    for (int64_t i = 0; i < n - 1; i++)
        sl_assert(sl_match_cancel(m, i) == 0);
    if (strcmp(policy, "lonode") == 0) {
        (void)snprintf(name, sizeof(name), "cancel-%lldk", (long long)n_nodes / 1000);
        report(name, now_ns() - t0, n - 1);
    }
    n = fill(m, large, &ns);
    (void)snprintf(name, sizeof(name), "%s-%lldk-n64", policy, (long long)n_nodes / 1000);
    report(name, ns, n);
    sl_match_request_free(small);
    sl_match_request_free(large);
    sl_match_free(m);
}

/* Slots at the top, which may come from anywhere. */
static void bench_slots(const char *policy, int64_t n_nodes) {
    static const struct {
        const char *name;
        enum shape shape;
        uint32_t n, cores;
    } kinds[] = {
        {"s1c4", SLOT_CORE, 1, 4}, {"s64c4", SLOT_CORE, 64, 4}, {"s1node", SLOT_NODE, 1, 1}};
    for (size_t i = 0; i < SL_LEN(kinds); i++) {
        struct sl_match *m = make_match(n_nodes, policy, false);
        struct sl_match_request *r =
            make_request(m, kinds[i].shape, kinds[i].n, kinds[i].cores, 3600, NULL);
        char name[64];
        int64_t ns, n = fill(m, r, &ns);
        (void)snprintf(name, sizeof(name), "%s-%lldk-%s", policy, (long long)n_nodes / 1000,
                       kinds[i].name);
        report(name, ns, n);
        sl_match_request_free(r);
        sl_match_free(m);
    }
}

/* Nodes as Kubernetes has them. */
static void bench_pools(int64_t n_nodes) {
    static const struct {
        const char *type;
        int64_t size;
        uint32_t per;
    } pools[] = {{"core", 64, 4}, {"memory", 256, 16}, {"pods", 110, 1}, {"gpu", 8, 1}};
    static const struct sl_graph_prop divisible = {SL_GRAPH_DIVISIBLE, ""};
    struct sl_graph *g = sl_graph_new();
    struct sl_match_options o = {0};
    struct sl_match *m;
    sl_vtx cluster = add(g, SL_VTX_NONE, "cluster", 0, 1, -1, NULL);
    for (int64_t n = 0; n < n_nodes; n++) {
        sl_vtx node = add(g, cluster, "node", n, 1, n, NULL);
        for (size_t i = 0; i < SL_LEN(pools); i++)
            (void)add(g, node, pools[i].type, 0, pools[i].size, -1, &divisible);
    }
    sl_assert(sl_graph_seal(g, NULL) == 0);
    sl_assert(sl_match_policy_parse("lonode", &o.policy, NULL) == 0);
    sl_assert(sl_match_new(g, &o, &m, NULL) == 0);
    struct sl_req_spec with[SL_LEN(pools)] = {0};
    for (size_t i = 0; i < SL_LEN(pools); i++)
        with[i] = (struct sl_req_spec){.type = pools[i].type, .count = exactly(pools[i].per)};
    struct sl_req_spec slot = {
        .kind = SL_REQ_SLOT, .count = exactly(1), .with = with, .n_with = SL_LEN(pools)};
    struct sl_jobspec j = {.resources = &slot, .n_resources = 1, .duration = 3600};
    struct sl_match_request *r;
    sl_assert(sl_match_request_new(g, &j, &r, NULL) == 0);
    char name[64];
    int64_t ns, n = fill(m, r, &ns);
    (void)snprintf(name, sizeof(name), "pools-%lldk", (long long)n_nodes / 1000);
    report(name, ns, n);
    sl_match_request_free(r);
    sl_match_free(m);
}

static void bench_reserve(const char *policy, enum shape shape, const char *name) {
    enum { JOBS = 1000, DURATIONS = 288 };
    struct sl_match *m = make_match(1000, policy, false);
    struct sl_prng p;
    int64_t ns = 0;
    sl_prng_init(&p, 1);
    for (int64_t i = 0; i < JOBS; i++) {
        uint32_t n = (uint32_t)sl_prng_range(&p, 1, 128),
                 cores = (uint32_t)sl_prng_range(&p, 1, 16);
        struct sl_match_request *r =
            make_request(m, shape, n, cores, 300 * sl_prng_range(&p, 1, DURATIONS), NULL);
        enum sl_match_verdict v;
        int64_t t0 = now_ns();
        sl_assert(sl_match_run(m, r, SL_MATCH_ALLOCATE_OR_RESERVE, i, 0, &v, NULL, NULL) == 0);
        ns += now_ns() - t0;
        sl_assert(v == SL_MATCHED);
        sl_match_request_free(r);
    }
    report(name, ns, JOBS);
    sl_match_free(m);
}

static void bench_constraint(void) {
    struct sl_match *m = make_match(16384, "lonode", true);
    struct sl_match_request *r = make_request(m, NODE_SLOT_CORE, 1, 4, 3600, "fast");
    int64_t ns, n = fill(m, r, &ns);
    report("constraint-16k", ns, n);
    sl_match_request_free(r);
    sl_match_free(m);
}

static void bench_size(void) {
    int64_t t0 = now_ns();
    struct sl_match *m = make_match(10000, "first", false);
    tell("load-10k", (double)(now_ns() - t0) / 1e9, "s");
    tell("memory-10k", (double)sl_match_bytes(m) / sl_graph_live(sl_match_graph(m)), "bytes");
    sl_match_free(m);
}

/* ---- the planner ---- */

static void bench_plan(void) {
    enum { SPANS = 100000, TIMES = 200000, DAY = 86400, HORIZON = 300 * DAY };
    struct sl_plan *p = sl_plan_new(0, INT64_MAX, 1000);
    struct sl_prng r;
    int64_t t0, sum = 0;
    uint32_t span;

    sl_prng_init(&r, 1);
    for (uint32_t n = 0; n < SPANS;)
        n += sl_plan_add(p, sl_prng_range(&r, 0, HORIZON), sl_prng_range(&r, 60, DAY),
                         sl_prng_range(&r, 1, 8), &span, NULL) == 0;
    t0 = now_ns();
    for (int64_t i = 0; i < TIMES; i++) {
        int got = sl_plan_force(p, sl_prng_range(&r, 0, HORIZON), sl_prng_range(&r, 60, DAY), 1,
                                &span, NULL);
        sl_assert(got == 0 && sl_plan_remove(p, span));
    }
    report("plan-add", now_ns() - t0, TIMES);
    t0 = now_ns();
    for (int64_t i = 0; i < TIMES; i++)
        sum += sl_plan_free_during(p, sl_prng_range(&r, 0, HORIZON), DAY);
    report("plan-during", now_ns() - t0, TIMES);
    t0 = now_ns();
    for (int64_t i = 0; i < TIMES / 100; i++)
        sum += sl_plan_earliest(p, sl_prng_range(&r, 0, HORIZON), DAY, 330);
    report("plan-earliest", now_ns() - t0, TIMES / 100);
    sl_assert(sum != 0);
    sl_plan_free(p);
}

int main(void) {
    static const char *const policies[] = {"first", "low", "lonode", "lonodex", "high", "locality"};
    for (size_t i = 0; i < SL_LEN(policies); i++)
        for (int64_t n = 1000; n <= 10000 && strcmp(policies[i], "locality") != 0; n *= 10)
            bench_fill(policies[i], n);
    for (int64_t n = 1000; n <= 10000; n *= 10) {
        bench_slots("first", n);
        bench_slots("low", n);
        bench_slots("lonode", n);
    }
    for (int64_t n = 1000; n <= 10000; n *= 10)
        bench_pools(n);
    bench_reserve("first", NODE_SLOT_CORE, "reserve-mixed-1k");
    bench_reserve("lonode", NODE_SLOT_CORE, "reserve-mixed-1k-lonode");
    bench_reserve("lonode", SLOT_CORE, "reserve-slots-1k-lonode");
    bench_constraint();
    bench_size();
    bench_plan();
    return 0;
}
