/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects all the way to places: written as a jobspec, compiled, matched on a small cluster. A
 * result is the pods on each node, "n0:2 n1:1", with ! for a node that is taken whole.
 */
#include "jobspec_fixture.h"

static const struct fx_node cluster[] = {
    {.name = "n0", .rack = "r0", .props = "disk disk=hdd gen=1", .core = 4000, .memory_mi = 4096},
    {.name = "n1", .rack = "r0", .props = "disk disk=ssd gen=2", .core = 4000, .memory_mi = 4096},
    {.name = "n2", .rack = "r1", .props = "disk disk=ssd gen=3", .core = 4000, .memory_mi = 4096},
    {.name = "n3",
     .rack = "r1",
     .props = "gen=4 taint:accelerator=:NoSchedule",
     .core = 8000,
     .memory_mi = 4096,
     .gpus = 4},
};

struct row {
    const char *meta; /* labels and annotations, with a comma in front, or "" */
    const char *spec, *want;
    uint32_t pods;
    const char *taken; /* a node on which another job has 3 cores; NULL: none */
};

static void allocate(struct sl_match *m, const char *text, size_t len, int64_t id,
                     struct sl_buf *out) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(100000);
    const struct sl_graph *g = sl_match_graph(m);
    struct sl_match_request *q = NULL;
    struct sl_grant grant = {0};
    struct fq_jobspec_info info;
    enum sl_match_verdict verdict;
    char name[SL_VERTEX_NAME];
    struct sl_err err;

    int r = fq_jobspec_compile(g, NULL, text, len, 0, &a, &info, &q, &err);
    if (r >= 0)
        r = sl_match_run(m, q, SL_MATCH_ALLOCATE_SATISFIABLE, id, 0, &verdict, &grant, &err);
    if (r < 0)
        sl_buf_puts(out, err.text);
    else if (verdict != SL_MATCHED)
        sl_buf_puts(out, verdict == SL_BUSY ? "busy" : "never");
    for (uint32_t i = 0; i < grant.picks.n; i++) {
        const struct sl_pick *p = &grant.picks.v[i];
        const char *type = sl_sym_str(sl_graph_syms(g), sl_graph_vertex(g, p->v)->type);
        if (strcmp(type, "node") == 0)
            sl_buf_printf(out, "%s%s%s", out->len > 0 ? " " : "", sl_vertex_name(g, p->v, name),
                          p->exclusive ? "!" : "");
        if (strcmp(type, "pods") == 0)
            sl_buf_printf(out, ":%" PRId64, p->needs);
    }
    sl_grant_done(&grant);
    sl_match_request_free(q);
}

static void take(struct sl_match *m, const char *node) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(1000), out = SL_BUF(1000);
    sl_buf_printf(&text,
                  "{version: 1, tasks: [], resources: [{type: slot, count: 1, label: a, with: "
                  "[{type: core, count: 3}]}], attributes: {system: {constraints: {hostlist: "
                  "[%s]}}}}",
                  node);
    allocate(m, text.s, text.len, 77, &out);
    assert_int_equal(strncmp(sl_buf_str(&out), node, 2), 0);
}

static void check(const struct row *r) {
    _cleanup_(sl_buf_done) struct sl_buf object = SL_BUF(10000), text = SL_BUF(FQ_MAX_JOBSPEC),
                                         got = SL_BUF(10000);
    struct sl_match_options o = {0};
    struct sl_match *m = NULL;
    struct sl_err err;

    assert_true(sl_match_policy_parse("lonode", &o.policy, &err) >= 0);
    if (sl_match_new(fx_graph(cluster, SL_LEN(cluster)), &o, &m, &err) < 0)
        fail_msg("%s", err.text);
    if (r->taken)
        take(m, r->taken);
    sl_buf_printf(&object,
                  "{'metadata':{'name':'a','namespace':'ns'%s},'spec':{'template':{'metadata':"
                  "{'labels':{'app':'a'}},'spec':{%s}}}}",
                  r->meta, r->spec);
    yyjson_doc *d = fx_json(sl_buf_str(&object));
    if (fq_jobspec_write(SL_FLUX_JOB, yyjson_doc_get_root(d), r->pods, &fx_rack, &text, &err) < 0)
        fail_msg("%s", err.text);
    allocate(m, text.s, text.len, 1, &got);
    if (strcmp(sl_buf_str(&got), r->want) != 0)
        print_error("%s\n%s", sl_buf_str(&object), sl_buf_str(&text));
    assert_string_equal(sl_buf_str(&got), r->want);
    yyjson_doc_free(d);
    sl_match_free(m);
}

#define CHECK_ALL(rows)                                                                            \
    for (size_t i_ = 0; i_ < SL_LEN(rows); i_++)                                                   \
    check(&(rows)[i_])

#define CPU(n) "'containers':[{'resources':{'requests':{'cpu':'" n "'}}}]"
#define TOLERANT "'tolerations':[{'operator':'Exists'}],"

static void requests(void **state) {
    static const struct row rows[] = {
        {.meta = "", .spec = CPU("2"), .pods = 3, .want = "n0:2 n1:1"},
        {.meta = "", .spec = CPU("1500m"), .pods = 3, .want = "n0:2 n1:1"},
        {.meta = "", .spec = CPU("2"), .pods = 6, .want = "n0:2 n1:2 n2:2"},
        {.meta = "", .spec = CPU("2"), .pods = 7, .want = "never"}, /* n3 is not tolerated */
        {.meta = "", .spec = TOLERANT CPU("2"), .pods = 7, .want = "n0:2 n1:2 n2:2 n3:1"},
        {.meta = "", .spec = CPU("2"), .pods = 2, .taken = "n0", .want = "n1:2"},
        {.meta = "", .spec = CPU("2"), .pods = 6, .taken = "n0", .want = "busy"},
        {.meta = "", .spec = "'containers':[{}]", .pods = 12, .want = "n0:10 n1:2"},
        {.meta = "",
         .spec = "'containers':[{'resources':{'requests':{'memory':'3Gi'}}}]",
         .pods = 2,
         .want = "n0:1 n1:1"},
        {.meta = "",
         .spec = TOLERANT "'containers':[{'resources':{'limits':{'nvidia.com/gpu':2}}}]",
         .pods = 2,
         .want = "n3:2"},
        {.meta = "",
         .spec = TOLERANT "'containers':[{'resources':{'limits':{'nvidia.com/gpu':2}}}]",
         .pods = 3,
         .want = "never"},
        {.meta = "",
         .spec = "'containers':[{'resources':{'limits':{'amd.com/gpu':2}}}]",
         .pods = 1,
         .want = "no node has amd.com/gpu"},
    };
    (void)state;
    CHECK_ALL(rows);
}

#define NOTE(list) ",'annotations':{" list "}"

static void annotations(void **state) {
    static const struct row rows[] = {
        {.meta = NOTE("'fluxqueue/tasks-per-node':'1'"),
         .spec = CPU("1"),
         .pods = 3,
         .want = "n0:1 n1:1 n2:1"},
        {.meta = NOTE("'fluxqueue/tasks-per-node':'3'"),
         .spec = CPU("1"),
         .pods = 6,
         .taken = "n0",
         .want = "n1:3 n2:3"},
        {.meta = NOTE("'fluxqueue/within':'rack'"),
         .spec = CPU("2"),
         .pods = 4,
         .want = "n0:2 n1:2"},
        {.meta = NOTE("'fluxqueue/within':'rack'"), .spec = CPU("2"), .pods = 5, .want = "never"},
        {.meta = NOTE("'fluxqueue/within':'rack'"),
         .spec = TOLERANT CPU("2"),
         .pods = 5,
         .want = "n2:2 n3:3"},
        {.meta = NOTE("'fluxqueue/within':'node'"),
         .spec = CPU("1"),
         .pods = 4,
         .taken = "n0",
         .want = "n1:4"},
        {.meta = NOTE("'fluxqueue/within':'rack','fluxqueue/tasks-per-node':'1'"),
         .spec = TOLERANT CPU("1"),
         .pods = 2,
         .taken = "n0",
         .want = "n0:1 n1:1"},
        {.meta = NOTE("'fluxqueue/whole-nodes':'true'"),
         .spec = CPU("1"),
         .pods = 2,
         .want = "n0!:10 n1!:10"},
        {.meta = NOTE("'fluxqueue/whole-nodes':'true','fluxqueue/tasks-per-node':'2'"),
         .spec = CPU("1"),
         .pods = 4,
         .taken = "n1",
         .want = "n0!:10 n2!:10"},
    };
    (void)state;
    CHECK_ALL(rows);
}

#define TERMS(list)                                                                                \
    "'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"               \
    "'nodeSelectorTerms':[" list "]}}}," CPU("1")
#define EXPR(list) "{'matchExpressions':[" list "]}"

static void nodes(void **state) {
    static const struct row rows[] = {
        {.meta = "", .spec = "'nodeSelector':{'disk':'ssd'}," CPU("1"), .pods = 1, .want = "n1:1"},
        {.meta = "",
         .spec = "'nodeSelector':{'disk':'tape'}," CPU("1"),
         .pods = 1,
         .want = "never"},
        {.meta = "",
         .spec = TERMS(EXPR("{'key':'disk','operator':'NotIn','values':['hdd']}")),
         .pods = 8,
         .want = "n1:4 n2:4"},
        {.meta = "",
         .spec = TOLERANT TERMS(EXPR("{'key':'disk','operator':'DoesNotExist'}")),
         .pods = 1,
         .want = "n3:1"},
        {.meta = "",
         .spec = TERMS(EXPR("{'key':'gen','operator':'Gt','values':['2']}")),
         .pods = 1,
         .want = "n2:1"},
        {.meta = "",
         .spec = TERMS(EXPR("{'key':'gen','operator':'Gt','values':['1']},{'key':'gen',"
                            "'operator':'Lt','values':['3']}")),
         .pods = 1,
         .want = "n1:1"},
        {.meta = "",
         .spec =
             TERMS(EXPR("{'key':'gen','operator':'In','values':['3']}") ","
                                                                        "{'matchFields':[{'key':'"
                                                                        "metadata.name','operator':"
                                                                        "'In','values':['n0']}]}"),
         .pods = 8,
         .want = "n0:4 n2:4"},
        {.meta = "",
         .spec = TERMS("{'matchFields':[{'key':'metadata.name','operator':'NotIn','values':"
                       "['n0']}]}"),
         .pods = 1,
         .want = "n1:1"},
        {.meta = "", .spec = "'nodeName':'n2'," CPU("1"), .pods = 1, .want = "n2:1"},
        {.meta = "",
         .spec = "'tolerations':[{'key':'accelerator','operator':'Exists'}],'nodeSelector':"
                 "{'gen':'4'}," CPU("1"),
         .pods = 1,
         .want = "n3:1"},
        {.meta = "",
         .spec = "'tolerations':[{'key':'other','operator':'Exists'}],'nodeSelector':"
                 "{'gen':'4'}," CPU("1"),
         .pods = 1,
         .want = "never"},
    };
    (void)state;
    CHECK_ALL(rows);
}

#define SELF "'labelSelector':{'matchLabels':{'app':'a'}}"
#define HOST "'topologyKey':'kubernetes.io/hostname'"
#define RACK "'topologyKey':'example.com/rack'"
#define BETWEEN(kind, term)                                                                        \
    "'affinity':{'" kind "':{'requiredDuringSchedulingIgnoredDuringExecution':[{" term             \
    "}]}}," CPU("1")
#define SPREAD(term)                                                                               \
    "'topologySpreadConstraints':[{'whenUnsatisfiable':'DoNotSchedule'," SELF "," term             \
    "}]," CPU("1")

static void spread(void **state) {
    static const struct row rows[] = {
        {.meta = "",
         .spec = BETWEEN("podAntiAffinity", HOST "," SELF),
         .pods = 3,
         .want = "n0:1 n1:1 n2:1"},
        {.meta = "", .spec = BETWEEN("podAntiAffinity", HOST "," SELF), .pods = 4, .want = "never"},
        {.meta = "",
         .spec = BETWEEN("podAntiAffinity", RACK "," SELF),
         .pods = 2,
         .want = "n0:1 n2:1"},
        {.meta = "",
         .spec = BETWEEN("podAffinity", HOST "," SELF),
         .pods = 4,
         .taken = "n0",
         .want = "n1:4"},
        {.meta = "",
         .spec = BETWEEN("podAffinity", RACK "," SELF),
         .pods = 6,
         .taken = "n0",
         .want = "busy"},
        {.meta = "", .spec = SPREAD("'maxSkew':1," HOST), .pods = 2, .want = "n0:1 n1:1"},
        {.meta = "", .spec = SPREAD("'maxSkew':2," HOST), .pods = 4, .want = "n0:2 n1:2"},
        {.meta = "", .spec = SPREAD("'maxSkew':2," RACK), .pods = 4, .want = "n0:2 n2:2"},
    };
    (void)state;
    CHECK_ALL(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests),
        cmocka_unit_test(annotations),
        cmocka_unit_test(nodes),
        cmocka_unit_test(spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
