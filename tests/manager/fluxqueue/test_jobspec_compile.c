/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobspecs as requests for a live graph: units, types, taints, comparisons of labels, and what is
 * known of a job besides. What a request has is shown by where it can be: the names of the nodes on
 * which one slot of it fits, found by trying them one by one.
 */
#include "jobspec_fixture.h"
#include "manager/fluxqueue/jobspec/jobspec_int.h"

static const struct fx_node three[] = {
    {.name = "n0",
     .rack = "r0",
     .props = "gen gen=3 disk=ssd disk",
     .core = 4000,
     .memory_mi = 1024},
    {.name = "n1",
     .rack = "r0",
     .props = "gen=11 taint:dedicated=a:NoSchedule",
     .core = 4000,
     .memory_mi = 1024},
    {.name = "n2",
     .rack = "r1",
     .props = "gen=x taint:dedicated=b:NoExecute taint:gpu=:NoSchedule",
     .core = 4000,
     .memory_mi = 1024,
     .gpus = 2},
};

#define HEAD "version: 1\ntasks: []\nresources:\n"
#define ATTRIBUTES "attributes: {system: {duration: 5}}\n"
#define SYSTEM(list) "attributes: {system: {" list "}}\n"

struct row {
    const char *resources, *attributes; /* NULL: none but a duration */
    const char *want;                   /* nodes, or the message */
    int code;
    uint32_t pods; /* 0: one */
};

/* Nodes on which it fits while all others are down. */
static void nodes_of(struct sl_match *m, const struct sl_match_request *q, struct sl_buf *out) {
    const struct sl_graph *g = sl_match_graph(m);
    const struct fx_node *n = three;
    enum sl_match_verdict verdict;
    char text[SL_VERTEX_NAME];
    struct sl_err err;

    for (size_t i = 0; i < SL_LEN(three); i++) {
        for (sl_vtx v = 0; v < sl_graph_count(g); v++) {
            const char *type = sl_sym_str(sl_graph_syms(g), sl_graph_vertex(g, v)->type);
            if (strcmp(type, "node") == 0)
                sl_match_set_down(m, v, strcmp(sl_vertex_name(g, v, text), n[i].name) != 0);
        }
        if (sl_match_run(m, q, SL_MATCH_WITHOUT, 1, 0, &verdict, NULL, &err) < 0)
            fail_msg("%s", err.text);
        if (verdict == SL_MATCHED)
            sl_buf_printf(out, "%s%s", out->len > 0 ? " " : "", n[i].name);
    }
}

static struct sl_match *matcher(struct sl_graph *g) {
    struct sl_match_options o = {0};
    struct sl_match *m = NULL;
    struct sl_err err;

    assert_true(sl_match_policy_parse("lonode", &o.policy, &err) >= 0);
    if (sl_match_new(g, &o, &m, &err) < 0)
        fail_msg("%s", err.text);
    return m;
}

static void check(const struct row *r) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(FQ_MAX_JOBSPEC), got = SL_BUF(10000);
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(100000);
    struct sl_match *m = matcher(fx_graph(three, SL_LEN(three)));
    struct fq_jobspec_info info = {.pods = 99};
    struct sl_match_request *q = NULL;
    struct sl_err err = {0};

    sl_buf_printf(&text, HEAD "%s\n%s", r->resources, r->attributes ? r->attributes : ATTRIBUTES);
    int code =
        fq_jobspec_compile(sl_match_graph(m), NULL, text.s, text.len, 0, &a, &info, &q, &err);
    if (code < 0) {
        sl_buf_puts(&got, err.text);
        assert_int_equal(err.code, code);
        assert_null(q);
        assert_int_equal(info.pods, 99);
    } else {
        assert_int_equal(info.pods, r->pods ? r->pods : 1);
        nodes_of(m, q, &got);
    }
    if (strcmp(sl_buf_str(&got), r->want) != 0)
        print_error("%s\n", sl_buf_str(&text));
    assert_string_equal(sl_buf_str(&got), r->want);
    assert_int_equal(code, r->code);
    sl_match_request_free(q);
    sl_match_free(m);
}

#define CHECK_ALL(rows)                                                                            \
    for (size_t i_ = 0; i_ < SL_LEN(rows); i_++)                                                   \
    check(&(rows)[i_])

#define SLOT(with) "- {type: slot, count: 1, label: a, with: [" with "]}"
#define POOL(type, count) "{type: " type ", count: " count "}"
#define IN(type, count, unit) "{type: " type ", count: " count ", unit: " unit "}"

/* n0 alone has no taints. */
static void units(void **state) {
    static const struct row rows[] = {
        {.resources = SLOT(POOL("core", "4")), .want = "n0"},
        {.resources = SLOT(POOL("core", "5")), .want = ""},
        {.resources = SLOT(IN("core", "4000", "m")), .want = "n0"},
        {.resources = SLOT(IN("core", "4001", "milli")), .want = ""},
        {.resources = SLOT(IN("core", "4", "cores")), .want = "n0"},
        {.resources = SLOT(IN("core", "4", "KB")),
         .want = "core: expected no unit, cores, m or milli, got \"KB\"",
         .code = SL_EINVAL},
        {.resources = SLOT(POOL("core", "{min: 2}")), .want = "n0"},
        {.resources = SLOT(POOL("core", "{min: 5}")), .want = ""},
        {.resources = SLOT(POOL("core", "'3,5'")), .want = "n0"},
        {.resources = SLOT(POOL("core", "'5,7'")), .want = ""},
        {.resources = SLOT(POOL("core", "{min: 2, max: 8, operator: '*', operand: 2}")),
         .want = "core: expected a number, a set or the operator + for what has a unit, got the "
                 "operator *",
         .code = SL_EINVAL},
        {.resources = SLOT(POOL("core", "4294968")),
         .want = "core: more than 4294967295 thousandths of a core",
         .code = SL_EINVAL},
        {.resources = SLOT(POOL("memory", "1024")), .want = "n0"},
        {.resources = SLOT(POOL("memory", "1025")), .want = ""},
        {.resources = SLOT(IN("memory", "1048576", "Ki")), .want = "n0"},
        {.resources = SLOT(IN("memory", "1048577", "KiB")), .want = ""},
        {.resources = SLOT(IN("memory", "1", "Gi")), .want = "n0"},
        {.resources = SLOT(IN("memory", "1", "Ti")), .want = ""},
        {.resources = SLOT(IN("memory", "1", "GB")), .want = "n0"},
        {.resources = SLOT(IN("memory", "2", "GB")), .want = ""},
        {.resources = SLOT(IN("memory", "1073741824", "bytes")), .want = "n0"},
        {.resources = SLOT(IN("memory", "1073741825", "B")), .want = ""},
        {.resources = SLOT(IN("memory", "1073", "MB")), .want = "n0"},
        {.resources = SLOT(IN("memory", "1074", "MB")), .want = ""},
        {.resources = SLOT(IN("memory", "1048576", "KB")), .want = "n0"},
        {.resources = SLOT(IN("memory", "5", "Ti")),
         .want = "memory: more than 4294967295 KiB",
         .code = SL_EINVAL},
        {.resources = SLOT(IN("memory", "1", "parsec")),
         .want = "memory: expected no unit (MiB), Ki, Mi, Gi, Ti, KB, MB, GB, TB or bytes, got "
                 "\"parsec\"",
         .code = SL_EINVAL},
    };
    (void)state;
    CHECK_ALL(rows);
}

#define EVERYWHERE SYSTEM("tolerations: [{operator: Exists}]")

static void types(void **state) {
    static const struct row rows[] = {
        {.resources = SLOT(POOL("gpu", "2")), .attributes = EVERYWHERE, .want = "n2"},
        {.resources = SLOT(POOL("nvidia.com/gpu", "2")), .attributes = EVERYWHERE, .want = "n2"},
        {.resources = SLOT(POOL("nvidia.com/gpu", "3")), .attributes = EVERYWHERE, .want = ""},
        {.resources = SLOT(POOL("amd.com/gpu", "1")),
         .want = "no node has amd.com/gpu",
         .code = SL_ENOENT},
        {.resources = SLOT(POOL("socket", "1")), .want = "no node has socket", .code = SL_ENOENT},
        {.resources = "- {type: zone, count: 1, with: [" POOL("node", "1") "]}",
         .want = "no node has zone",
         .code = SL_ENOENT},
        {.resources = SLOT(POOL("core", "1") ", " POOL("pods", "1")), .want = "n0"},
        {.resources = SLOT(POOL("core", "1") ", " POOL("pods", "2")),
         .want = "pods: expected 1 in a slot, which is one pod",
         .code = SL_EINVAL},
        {.resources = "- {type: slot, count: 10, label: a, with: [" IN("core", "1", "m") "]}",
         .want = "n0",
         .pods = 10},
        {.resources = "- {type: slot, count: 11, label: a, with: [" IN("core", "1", "m") "]}",
         .want = "",
         .pods = 11},
        {.resources = SLOT("{type: node, count: 1}"), .want = "n0"},
        {.resources = SLOT("{type: node, count: 1, with: [" POOL("core", "1") "]}"), .want = "n0"},
        {.resources = SLOT("{type: node, count: 2}"),
         .want = "node: expected 1 of it and nothing beside it in a slot: a pod runs on one node",
         .code = SL_EINVAL},
        {.resources = "- {type: node, count: 1}",
         .want = "expected a slot in the jobspec: a pod is one",
         .code = SL_EINVAL},
        {.resources = "- {type: rack, count: 1, with: [{type: node, count: 1, with: [{type: slot, "
                      "count: 3, label: a, with: [" POOL("core", "1") "]}]}]}",
         .want = "n0",
         .pods = 3},
        {.resources = "- {type: node, count: 100, with: [{type: slot, count: 1001, label: a, with: "
                      "[" POOL("core", "1") "]}]}",
         .want = "expected at most 100000 slots",
         .code = SL_EINVAL},
        {.resources = "- {type: slot, count: {min: 2}, label: a, with: [" POOL("core", "1") "]}",
         .want = "n0",
         .pods = 2},
        {.resources = "- {type: xor_slot, count: 2, label: a, with: [" POOL(
             "core", "9") "]}\n"
                          "- {type: xor_slot, count: 3, label: b, with: [" POOL("core", "1") "]}",
         .want = "n0",
         .pods = 2},
        {.resources = "- {type: or_slot, count: 2, label: a, with: [" POOL(
             "core", "9") "]}\n"
                          "- {type: or_slot, count: 2, label: b, with: [" POOL("core", "1") "]}",
         .want = "n0",
         .pods = 2},
    };
    (void)state;
    CHECK_ALL(rows);
}

/* Two types of GPUs: which one is meant? */
static void an_ambiguous_gpu(void **state) {
    static const struct fx_node nodes[] = {
        {.name = "n0", .core = 1000, .gpus = 1},
        {.name = "n1", .core = 1000, .gpus = 1, .gpu = "amd.com/gpu"},
    };
    static const char text[] = HEAD SLOT(POOL("gpu", "1")) "\n" ATTRIBUTES;
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(100000);
    struct sl_graph *g = fx_graph(nodes, SL_LEN(nodes));
    struct sl_match_request *q = NULL;
    struct fq_jobspec_info info;
    struct fq_universe u;
    struct sl_err err;
    (void)state;
    assert_int_equal(fq_universe_init(&u, g, &err), 0);
    assert_int_equal(u.n_gpus, 2);
    assert_int_equal(fq_jobspec_compile(g, &u, text, strlen(text), 0, &a, &info, &q, &err),
                     SL_EINVAL);
    assert_string_equal(
        err.text, "gpu: expected one of amd.com/gpu, nvidia.com/gpu, since nodes have all of them");
    fq_universe_done(&u);
    sl_graph_free(g);
}

#define TOLERATE(list) SYSTEM("tolerations: [" list "]")
#define ANY SLOT(POOL("core", "1"))

static void taints(void **state) {
    static const struct row rows[] = {
        {.resources = ANY, .want = "n0"},
        {.resources = ANY, .attributes = TOLERATE(""), .want = "n0"},
        {.resources = ANY, .attributes = SYSTEM("tolerations: null"), .want = "n0"},
        {.resources = ANY, .attributes = TOLERATE("{operator: Exists}"), .want = "n0 n1 n2"},
        {.resources = ANY,
         .attributes = TOLERATE("{key: dedicated, operator: Exists}"),
         .want = "n0 n1"},
        {.resources = ANY, .attributes = TOLERATE("{key: dedicated, value: a}"), .want = "n0 n1"},
        {.resources = ANY, .attributes = TOLERATE("{key: dedicated, value: c}"), .want = "n0"},
        {.resources = ANY,
         .attributes = TOLERATE("{key: dedicated, value: a, operator: Equal, effect: NoExecute}"),
         .want = "n0"},
        {.resources = ANY,
         .attributes = TOLERATE("{operator: Exists, effect: NoSchedule}"),
         .want = "n0 n1"},
        {.resources = ANY,
         .attributes = TOLERATE("{key: dedicated, value: b, effect: NoExecute, tolerationSeconds: "
                                "5}, {key: gpu}"),
         .want = "n0 n2"},
        {.resources = ANY, .attributes = TOLERATE("{key: dedicated, value: b}"), .want = "n0"},
        {.resources = ANY,
         .attributes = TOLERATE("{value: a}"),
         .want = "jobspec:5: operator must be Exists when 'key' is empty, which means 'match all "
                 "values and all keys'",
         .code = SL_EINVAL},
        {.resources = ANY,
         .attributes = SYSTEM("tolerations: 5"),
         .want = "jobspec:5: tolerations: expected a list, got 5",
         .code = SL_EINVAL},
        {.resources = ANY,
         .attributes = SYSTEM("tolerations: [{operator: Exists}], constraints: {not: [{hostlist: "
                              "[n1]}]}"),
         .want = "n0 n2"},
    };
    (void)state;
    CHECK_ALL(rows);
}

#define WHERE(term) SYSTEM("tolerations: [{operator: Exists}], constraints: " term)

static void comparisons(void **state) {
    static const struct row rows[] = {
        {.resources = ANY, .attributes = WHERE("{properties: ['gen>3']}"), .want = "n1"},
        {.resources = ANY, .attributes = WHERE("{properties: ['gen>2']}"), .want = "n0 n1"},
        {.resources = ANY, .attributes = WHERE("{properties: ['gen<4']}"), .want = "n0"},
        {.resources = ANY, .attributes = WHERE("{properties: ['gen<-4']}"), .want = ""},
        {.resources = ANY, .attributes = WHERE("{properties: ['none>1']}"), .want = ""},
        {.resources = ANY, .attributes = WHERE("{properties: ['^gen>3']}"), .want = "n0 n2"},
        {.resources = ANY,
         .attributes = WHERE("{properties: ['gen>2', 'disk=ssd']}"),
         .want = "n0"},
        {.resources = ANY, .attributes = WHERE("{properties: ['gen>2', '^disk']}"), .want = "n1"},
        {.resources = ANY,
         .attributes = WHERE("{or: [{properties: ['gen>10']}, {properties: ['gen<4']}]}"),
         .want = "n0 n1"},
        {.resources = ANY,
         .attributes = WHERE("{properties: ['gen>x']}"),
         .want = "properties: expected a comparison such as \"KEY>5\", got \"gen>x\"",
         .code = SL_EINVAL},
        {.resources = ANY,
         .attributes = WHERE("{properties: ['>5']}"),
         .want = "properties: expected a comparison such as \"KEY>5\", got \">5\"",
         .code = SL_EINVAL},
        {.resources = ANY,
         .attributes = WHERE("{properties: ['a>9999999999999999999']}"),
         .want =
             "properties: expected a comparison such as \"KEY>5\", got \"a>9999999999999999999\"",
         .code = SL_EINVAL},
    };
    (void)state;
    CHECK_ALL(rows);
}

static void malformed(void **state) {
    static const struct row rows[] = {
        {.resources = ANY,
         .attributes = SYSTEM("duration: -5"),
         .want = "duration: expected a number from 0 to 9000000000",
         .code = SL_EINVAL},
        {.resources = ANY,
         .attributes = SYSTEM("dependencies: [{scheme: afterok, value: 1}]"),
         .want = "jobspec:5: dependencies: expected the scheme begin-time, got \"afterok\"",
         .code = SL_EINVAL},
        {.resources = ANY,
         .attributes = SYSTEM("dependencies: [5]"),
         .want = "jobspec:5: dependencies: expected the scheme begin-time, got \"\"",
         .code = SL_EINVAL},
        {.resources = ANY,
         .attributes = SYSTEM("dependencies: {}"),
         .want = "jobspec:5: dependencies: expected a list of at most 64",
         .code = SL_EINVAL},
        {.resources = ANY,
         .attributes = SYSTEM("dependencies: [{scheme: begin-time, value: 1e300}]"),
         .want = "jobspec:5: begin-time: expected seconds since 1970",
         .code = SL_EINVAL},
        {.resources = ANY,
         .attributes = SYSTEM("dependencies: [{scheme: begin-time, value: nan}]"),
         .want = "jobspec:5: begin-time: expected seconds since 1970",
         .code = SL_EINVAL},
        {.resources = "  []",
         .want = "jobspec:4: resources: expected at least one resource",
         .code = SL_EINVAL},
    };
    (void)state;
    CHECK_ALL(rows);
}

static void what_is_known_besides(void **state) {
    static const char text[] =
        HEAD "- {type: node, count: 2, exclusive: true, with: [{type: slot, count: 3, label: a, "
             "with: [{type: core, count: 1}, {type: memory, count: 2, unit: Gi}]}]}\n" SYSTEM(
                 "duration: 1.5, queue: gold, dependencies: [{scheme: begin-time, value: '99.5'}, "
                 "{scheme: begin-time, value: 7}]");
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(100000);
    struct sl_graph *g = fx_graph(three, SL_LEN(three));
    struct sl_match_request *q = NULL;
    struct fq_jobspec_info info;
    struct sl_err err;
    (void)state;
    if (fq_jobspec_compile(g, NULL, text, strlen(text), 0, &a, &info, &q, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(info.pods, 6);
    assert_int_equal(info.duration, 2);
    assert_int_equal(info.begin, 100);
    assert_string_equal(info.queue, "gold");
    assert_true(info.whole_nodes);
    assert_int_equal(info.n_slot, 3);
    assert_string_equal(info.slot[0].type, "core");
    assert_int_equal(info.slot[0].amount, 1000);
    assert_string_equal(info.slot[1].type, "memory");
    assert_int_equal(info.slot[1].amount, 2 << 20);
    assert_string_equal(info.slot[2].type, "pods");
    assert_int_equal(info.slot[2].amount, 1);
    assert_int_equal(info.n_tiers, 1);
    assert_string_equal(info.tiers[0].type, "node");
    assert_int_equal(info.tiers[0].count, 2);
    assert_int_equal(info.tiers[0].each, 3);
    assert_true(info.tiers[0].exclusive);
    sl_match_request_free(q);
    sl_graph_free(g);
}

/* ---- jobs that grow ---- */

static void grown_in(const char *resources, uint32_t pods, const struct fq_jobspec_tier *tiers,
                     uint32_t n_tiers, const char *want) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(FQ_MAX_JOBSPEC), got = SL_BUF(10000);
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(100000);
    struct sl_match *m = matcher(fx_graph(three, SL_LEN(three)));
    const struct sl_graph *g = sl_match_graph(m);
    struct sl_match_request *q = NULL;
    struct sl_grant grant = {0};
    struct fq_jobspec_info info;
    enum sl_match_verdict verdict;
    char name[SL_VERTEX_NAME];
    struct sl_err err;

    sl_buf_printf(&text, HEAD "%s\n" EVERYWHERE, resources);
    const struct fq_jobspec_ask ask = {
        .pods = pods, .kind = FQ_ANY_KIND, .tiers = tiers, .n_tiers = n_tiers};
    if (fq_jobspec_compile_ask(g, NULL, text.s, text.len, &ask, &a, &info, &q, &err) < 0) {
        assert_string_equal(err.text, want);
        sl_match_free(m);
        return;
    }
    assert_int_equal(info.pods, pods);
    assert_int_equal(sl_match_run(m, q, SL_MATCH_ALLOCATE, 1, 0, &verdict, &grant, &err), 0);
    if (verdict != SL_MATCHED)
        sl_buf_puts(&got, "busy");
    for (uint32_t i = 0; i < grant.picks.n; i++) {
        const struct sl_vertex *x = sl_graph_vertex(g, grant.picks.v[i].v);
        const char *type = sl_sym_str(sl_graph_syms(g), x->type);
        if (strcmp(type, "node") == 0)
            sl_buf_printf(&got, "%s%s%s", got.len > 0 ? " " : "",
                          sl_vertex_name(g, grant.picks.v[i].v, name),
                          grant.picks.v[i].exclusive ? "!" : "");
        if (strcmp(type, "core") == 0)
            sl_buf_printf(&got, ":%" PRId64, grant.picks.v[i].needs);
    }
    assert_string_equal(sl_buf_str(&got), want);
    sl_grant_done(&grant);
    sl_match_request_free(q);
    sl_match_free(m);
}

static void grown(const char *resources, uint32_t pods, const char *want) {
    grown_in(resources, pods, NULL, 0, want);
}

/* What is around their slots is said, whatever is around those of the jobspec. */
static void jobs_that_grow_in_tiers(void **state) {
    static const char spread[] = "- {type: node, count: 9, with: [{type: slot, count: 1, label: a, "
                                 "with: [{type: core, count: 1}]}]}",
                      anywhere[] = "- {type: slot, count: 9, label: a, with: [{type: core, count: "
                                   "1}]}";
    const struct fq_jobspec_tier one[] = {{.type = "node", .each = 1}},
                                 two[] = {{.type = "node", .each = 2}},
                                 whole[] = {{.type = "node", .each = 1, .exclusive = true}},
                                 racks[] = {{.type = "rack", .each = 2},
                                            {.type = "node", .each = 1}};
    (void)state;
    grown_in(spread, 2, one, 1, "n0:1000 n1:1000");
    grown_in(spread, 2, two, 1, "n0:2000");
    grown_in(spread, 2, whole, 1, "n0!:4000 n1!:4000");
    grown_in(anywhere, 3, one, 1, "n0:1000 n1:1000 n2:1000");
    grown_in(anywhere, 2, racks, 2, "n0:1000 n1:1000");
    grown_in(anywhere, 4, racks, 2, "busy"); /* the other rack has one node */
}

static void jobs_that_grow(void **state) {
    (void)state;
    grown("- {type: slot, count: 9, label: a, with: [{type: core, count: 1}]}", 2, "n0:2000");
    grown("- {type: rack, count: 1, with: [{type: node, count: 3, with: [{type: slot, count: 3, "
          "label: a, with: [{type: core, count: 1}]}]}]}",
          5, "n0:4000 n1:1000");
    grown("- {type: node, count: 9, exclusive: true, with: [{type: slot, count: 2, label: a, with: "
          "[{type: core, count: 1}]}]}",
          3, "n0!:4000 n1!:4000");
    grown("- {type: node, count: 9, exclusive: true, with: [{type: slot, count: 2, label: a, with: "
          "[{type: core, count: 1}]}]}",
          1, "n0!:4000");
    grown("- {type: slot, count: 9, label: a, with: [{type: node, count: 1}]}", 2, "n0! n1!");
    grown("- {type: xor_slot, count: 9, label: a, with: [{type: core, count: 9}]}\n"
          "- {type: xor_slot, count: 9, label: b, with: [{type: core, count: 3}]}",
          2, "n0:3000 n1:3000");
    grown("- {type: node, count: 1, with: [{type: slot, count: 2, label: a, with: [{type: core, "
          "count: 1}]}]}\n"
          "- {type: rack, count: 1, with: [{type: slot, count: 2, label: b, with: [{type: core, "
          "count: 1}]}]}",
          1, "a job with several kinds of slots cannot grow");
}

/* ---- the index ---- */

static void the_index(void **state) {
    struct sl_graph *g = fx_graph(three, SL_LEN(three));
    struct fq_universe u;
    struct sl_err err;
    (void)state;
    assert_int_equal(fq_universe_init(&u, g, &err), 0);
    assert_int_equal(u.n_taints, 3);
    assert_string_equal(u.taints[0].absent, "^taint:dedicated=a:NoSchedule");
    assert_string_equal(u.taints[1].taint.value, "b");
    assert_int_equal(u.taints[1].taint.effect, SL_TAINT_NO_EXECUTE);
    assert_string_equal(u.taints[2].taint.key, "gpu");
    assert_string_equal(u.taints[2].taint.value, "");
    assert_int_equal(u.n_gpus, 1);
    assert_string_equal(u.gpus[0], "nvidia.com/gpu");
    fq_universe_done(&u);
    sl_graph_free(g);
}

/* Values of a label are found without a walk over the nodes: those of this key alone, and those
 * that a node got after the index was made. */
static void compared_values(void **state) {
    static const struct fx_node nodes[] = {
        {.name = "n0", .props = "gen gen=3 ge=4 gen-x=5 gens=6 taint:gen=7:NoSchedule", .core = 1},
        {.name = "n1", .props = "gen=11 gen=", .core = 1},
    };
    struct sl_graph *g = fx_graph(nodes, SL_LEN(nodes));
    const char *const *v;
    struct fq_universe u;
    struct sl_err err;
    (void)state;
    assert_int_equal(fq_universe_init(&u, g, &err), 0);
    assert_int_equal(fq_universe_values(&u, g, "none", &v), 0);
    assert_int_equal(fq_universe_values(&u, g, "gen", &v), 3);
    assert_string_equal(v[0], "gen=");
    assert_string_equal(v[1], "gen=11");
    assert_string_equal(v[2], "gen=3");
    assert_int_equal(sl_vertex_set_prop(g, 1, "gen=2", "", &err), 0);
    assert_int_equal(sl_vertex_set_prop(g, 1, "a=2", "", &err), 0);
    assert_int_equal(fq_universe_values(&u, g, "gen", &v), 4);
    assert_string_equal(v[2], "gen=2");
    assert_int_equal(fq_universe_values(&u, g, "a", &v), 1);
    assert_int_equal(fq_universe_values(&u, g, "gens", &v), 1);
    fq_universe_done(&u);
    sl_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units),
        cmocka_unit_test(types),
        cmocka_unit_test(an_ambiguous_gpu),
        cmocka_unit_test(taints),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(malformed),
        cmocka_unit_test(what_is_known_besides),
        cmocka_unit_test(jobs_that_grow),
        cmocka_unit_test(jobs_that_grow_in_tiers),
        cmocka_unit_test(the_index),
        cmocka_unit_test(compared_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
