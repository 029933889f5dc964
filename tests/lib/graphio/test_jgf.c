/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JGF: keys and defaults, roots, edges both ways, growing a graph, and what is said of a wrong
 * text.
 */
#include "graphio_fixture.h"

/* A vertex with its metadata, and a graph of vertices and edges. */
#define V(id, meta) "{\"id\": \"" id "\", \"metadata\": {" meta "}}"
#define P(path) "\"paths\": {\"containment\": \"" path "\"}"
#define E(s, t) "{\"source\": \"" s "\", \"target\": \"" t "\"}"
#define SUB(s, t, y)                                                                               \
    "{\"source\": \"" s "\", \"target\": \"" t "\", \"metadata\": {\"subsystem\": \"" y "\"}}"
#define G(nodes, edges) "{\"graph\": {\"nodes\": [" nodes "], \"edges\": [" edges "]}}"

#define C0 V("0", "\"type\": \"cluster\", \"id\": 0, " P("/cluster0"))
#define N0 V("1", "\"type\": \"node\", \"id\": 0, \"rank\": 0, " P("/cluster0/node0"))
#define O0 V("2", "\"type\": \"core\", \"id\": 0, \"rank\": 0, " P("/cluster0/node0/core0"))

static void expect(const char *text, const char *want) {
    fx_expect(SL_GRAPHIO_JGF, text, want);
}

static void refused(const char *text, const char *want) {
    fx_refused(SL_GRAPHIO_JGF, text, want);
}

static void rule_3_2_all_keys(void **state) {
    (void)state;
    expect(G(C0 "," V("1", "\"type\": \"node\", \"basename\": \"host\", \"name\": \"host7x\", "
                           "\"id\": 7, \"uniq_id\": 70, \"rank\": 3, \"status\": 1, "
                           "\"exclusive\": true, \"unit\": \"u\", \"size\": 4, "
                           "\"paths\": {\"containment\": \"/cluster0/host7x\"}, "
                           "\"properties\": {\"a\": \"\", \"b\": \"2\"}, \"ephemeral\": {}"),
             E("0", "1")),
           "/cluster0 cluster 0\n"
           "/cluster0/host7x node 7 basename=host rank=3 size=4 unit=u down {a=} {b=2}\n");
}

static void rule_3_2_defaults(void **state) {
    struct sl_graph *g;
    (void)state;
    /* uniq_id is the id; id is the uniq_id, of nodes the number in the name */
    g = fx_graph(
        SL_GRAPHIO_JGF,
        G(V("5", "\"type\": \"cluster\", " P("/cluster5")) "," V(
              "9",
              "\"type\": \"node\", \"name\": \"n12\", " P(
                  "/cluster5/n12")) "," V("7",
                                          "\"type\": \"core\", " P(
                                              "/cluster5/n12/core7")) "," V("8",
                                                                            "\"type\": \"node\", "
                                                                            "\"name\": "
                                                                            "\"login\", " P(
                                                                                "/cluster5/login")),
          E("5", "9") "," E("9", "7") "," E("5", "8")));
    fx_expect_dump(g, "/cluster5 cluster 5\n/cluster5/n12 node 12\n/cluster5/n12/core7 core 7\n"
                      "/cluster5/login node 8\n");
    assert_int_equal(sl_graph_vertex(g, fx_at(g, "/cluster5/n12"))->uniq_id, 9);
    sl_graph_free(g);
    /* without an id, the default name has it nevertheless */
    expect(G(C0 "," V("1", "\"type\": \"gpu\", \"id\": -1, " P("/cluster0/gpu-1")), E("0", "1")),
           "/cluster0 cluster 0\n/cluster0/gpu-1 gpu -1\n");
    expect(G(C0 "," V("1",
                      "\"type\": \"gpu\", \"id\": -1, \"name\": \"gpu\", \"properties\": null, " P(
                          "/cluster0/gpu")),
             E("0", "1")),
           "/cluster0 cluster 0\n/cluster0/gpu gpu -1\n");
}

static void paths_need_not_be_those_of_names(void **state) {
    struct sl_graph *g = fx_graph(
        SL_GRAPHIO_JGF,
        G(C0 "," V("1", "\"type\": \"node\", \"id\": 3, \"rank\": 0, " P(
                            "/cluster0/blade/node3")) "," V("2",
                                                            "\"type\": \"core\", \"id\": 0, " P(
                                                                "/cluster0/blade/node3/core0")),
          E("0", "1") "," E("1", "2")));
    (void)state;
    fx_expect_dump(g, "/cluster0 cluster 0\n/cluster0/blade/node3 node 3 rank=0\n"
                      "/cluster0/blade/node3/core0 core 0\n");
    assert_int_equal(sl_graph_by_path(g, "/cluster0/blade/node3"), 1);
    sl_graph_free(g);
}

static void edges_both_ways_make_one_tree(void **state) {
    static const char *const want = "/cluster0 cluster 0\n/cluster0/node0 node 0 rank=0\n"
                                    "/cluster0/node0/core0 core 0 rank=0\n";
    (void)state;
    expect(G(C0 "," N0 "," O0, E("0", "1") "," E("1", "0") "," E("1", "2") "," E("2", "1")), want);
    /* also if those up come first */
    expect(G(C0 "," N0 "," O0, E("1", "0") "," E("2", "1") "," E("1", "2") "," E("0", "1")), want);
    expect(G(O0 "," N0 "," C0, SUB("2", "1", "containment") "," E("0", "1") "," E("1", "2")), want);
}

static void other_subsystems(void **state) {
    (void)state;
    expect(G(C0 "," N0 "," V(
                 "3", "\"type\": \"pdu\", \"id\": 0, \"paths\": {\"power\": "
                      "\"/pdu0\"}") "," V("4", "\"type\": \"node\", \"id\": 1, \"rank\": 1, "
                                               "\"paths\": {\"containment\": "
                                               "\"/cluster0/node1\", \"power\": \"/pdu0/node1\"}"),
             E("0", "1") "," SUB("3", "4", "power") "," SUB("3", "1", "power") "," E("0", "4")),
           "/cluster0 cluster 0\n"
           "/cluster0/node0 node 0 rank=0\n"
           "/cluster0/node1 node 1 rank=1\n"
           "/pdu0 pdu 0\n"
           "power pdu0 -> node1 /pdu0/node1\n"
           "power pdu0 -> node0\n");
}

static void vertices_of_one_path_and_rank_are_one(void **state) {
    (void)state;
    expect(G(C0
             "," N0
             "," V("9", "\"type\": \"node\", \"id\": 0, \"rank\": 0, " P("/cluster0/node0")) "," V(
                 "2", "\"type\": \"core\", \"id\": 0, \"rank\": 0, " P("/cluster0/node0/core0")),
             E("0", "1") "," E("9", "2")),
           "/cluster0 cluster 0\n/cluster0/node0 node 0 rank=0\n"
           "/cluster0/node0/core0 core 0 rank=0\n");
}

static void allowlist(void **state) {
    struct sl_graph *g;
    struct sl_err err;
    (void)state;
    assert_int_equal(
        fx_read(
            SL_GRAPHIO_JGF,
            G(C0 "," V("3", "\"type\": \"rack\", \"id\": 0, " P("/cluster0/rack0")) "," V(
                  "1", "\"type\": \"node\", \"id\": 0, " P(
                           "/cluster0/rack0/node0")) "," V("4",
                                                           "\"type\": \"gpu\", \"id\": "
                                                           "0, " P("/cluster0/rack0/node0/"
                                                                   "gpu0")) "," V("2",
                                                                                  "\"type\": "
                                                                                  "\"core\", "
                                                                                  "\"id\": "
                                                                                  "0, " P("/cluster"
                                                                                          "0/rack0/"
                                                                                          "node0/"
                                                                                          "core0")),
              E("0", "3") "," E("3", "1") "," E("1", "4") "," E("1", "2")),
            "node,core", &g, NULL, &err),
        0);
    fx_expect_dump(g,
                   "/cluster0 cluster 0\n/cluster0/node0 node 0\n/cluster0/node0/core0 core 0\n");
    sl_graph_free(g);
}

static void errors(void **state) {
    (void)state;
    refused("", "f:1: expected JSON: input length is 0");
    refused("{\"graph\":\n", "f:2: expected JSON: unexpected end of data");
    refused("[]", "f:1: expected a graph (an object)");
    refused("{}", "f:1: expected the key \"graph\", an object");
    refused("{\"graph\": []}", "f:1: graph: expected an object");
    refused("{\"graph\": {\"nodes\": []}}", "f:1: expected the key \"edges\", an array");
    refused("{\"graph\": {\"edges\": [],\n\"nodes\": 5}}", "f:2: nodes: expected an array");
    refused(G("", ""), "f: a graph without vertices");
    refused(G("5", ""), "f:1: expected a vertex (an object)");
    refused(G("{\"metadata\": {}}", ""), "f:1: expected the key \"id\", a string");
    refused(G("{\"id\": 5}", ""), "f:1: id: expected a string");
    refused(G("{\"id\": \"5\"}", ""), "f:1: expected the key \"metadata\", an object");
    refused(G(V("0", P("/c")), ""), "f:1: expected the key \"type\" of vertex \"0\"");
    refused(G(V("0", "\"type\": \"c\""), ""), "f:1: expected the key \"paths\", an object");
    refused(G(V("0", "\"type\": 1, " P("/c")), ""), "f:1: type: expected a string");
    refused(G(V("0", "\"type\": \"c\", \"paths\": {\"containment\": 1}"), ""),
            "f:1: paths: expected a string");
    refused(G(V("0", "\"type\": \"c\", " P("c0")), ""),
            "f:1: paths: expected a path such as /cluster0/node1, got \"c0\"");
    refused(G(V("x", "\"type\": \"c\", " P("/c0")), ""),
            "f:1: expected the key \"uniq_id\", as the id \"x\" is no number");
    refused(G(C0 ",\n" V("1", "\"type\": \"a\", \"size\": 0, " P("/cluster0/a1")), E("0", "1")),
            "f:2: size: expected a whole number from 1 to 274877906944");
    refused(G(C0 "," V("1", "\"type\": \"a\", \"rank\": -2, " P("/cluster0/a1")), E("0", "1")),
            "f:1: rank: expected a whole number from -1 to 2147483647");
    refused(G(C0 "," V("1", "\"type\": \"a\", \"status\": 2, " P("/cluster0/a1")), E("0", "1")),
            "f:1: status: expected a whole number from 0 to 1");
    refused(G(C0 "," V("1", "\"type\": \"a\", \"exclusive\": \"x\", " P("/cluster0/a1")), ""),
            "f:1: exclusive: expected true or false");
    refused(G(C0 "," V("1", "\"type\": \"a\", \"properties\": [], " P("/cluster0/a1")), ""),
            "f:1: properties: expected an object");
    refused(G(C0 "," V("1", "\"type\": \"a\", \"properties\": {\"p\": 1}, " P("/cluster0/a1")), ""),
            "f:1: properties: expected a string");
    refused(G(C0 "," C0, ""), "f:1: the id \"0\" is given twice");
    refused(G(C0, "{}"), "f:1: expected the key \"source\", a string");
    refused(G(C0, E("0", "1")), "f:1: target: there is no vertex \"1\"");
    refused(G(C0, E("0", "0")), "f:1: an edge from \"0\" to itself");
    refused(G(C0 "," N0, "{\"source\": \"0\", \"target\": \"1\", \"metadata\": 4}"),
            "f:1: metadata: expected an object");
    refused(G(C0 "," V("1", "\"type\": \"a\", " P("/a1")), ""),
            "f:1: \"/a1\" is a second root; expected one tree");
    refused(G(C0 "," N0, ""), "f: no root: expected a vertex that none contains");
    refused(G(C0 "," N0 "," O0, E("0", "1")), "f: core0 has no edges");
    refused("{\"graph\": {\"nodes\": [\"a\\u0000b\"], \"edges\": []}}",
            "f:1: expected a vertex (an object)");
    refused(G(V("0\\u0000", "\"type\": \"c\", " P("/c0")), ""),
            "f:1: id: expected text without a NUL character");
    /* A ring below no root. */
    refused(G(C0 "," N0 "," V("5", "\"type\": \"a\", \"paths\": {}") "," V(
                  "6", "\"type\": \"a\", \"paths\": {}"),
              E("0", "1") "," E("5", "6") "," E("6", "5")),
            "f: a5 contains itself");
}

static int more(struct sl_graph *g, enum sl_graphio_format f, const char *text,
                struct sl_err *err) {
    struct exact e = exact(text);
    struct sl_graphio_text t = {.format = f, .file = "m", .text = e.s, .len = e.n};
    int r = sl_graphio_read_more(g, &t, err);
    free(e.s);
    return r;
}

static void rule_3_2_growing(void **state) {
    struct sl_graph *g = fx_graph(SL_GRAPHIO_JGF, G(C0 "," N0 "," O0, E("0", "1") "," E("1", "2")));
    struct sl_err err;
    (void)state;

    /* What is there is the same by path and rank, whatever its id here. */
    assert_int_equal(
        more(
            g, SL_GRAPHIO_JGF,
            G(V("10", "\"type\": \"cluster\", \"id\": 0, " P("/cluster0")) "," V(
                  "11",
                  "\"type\": "
                  "\"node\", "
                  "\"id\": 1, "
                  "\"rank\": "
                  "1, " P(
                      "/cl"
                      "ust"
                      "er0"
                      "/no"
                      "de"
                      "1")) "," V("2",
                                  "\"type\": \"core\", \"id\": 0, \"rank\": 1, " P(
                                      "/cluster0/node1/core0")) "," V("13",
                                                                      "\"type\": \"node\", "
                                                                      "\"id\": 0, \"rank\": "
                                                                      "0, " P(
                                                                          "/cluster0/"
                                                                          "node0")) "," V("14",
                                                                                          "\"type\""
                                                                                          ": "
                                                                                          "\"core\""
                                                                                          ", "
                                                                                          "\"id\": "
                                                                                          "1, "
                                                                                          "\"rank\""
                                                                                          ": "
                                                                                          "0, " P(
                                                                                              "/clu"
                                                                                              "ster"
                                                                                              "0/"
                                                                                              "node"
                                                                                              "0/"
                                                                                              "core"
                                                                                              "1")),
              E("10", "11") "," E("11", "2") "," E("10", "13") "," E("13", "14")),
            &err),
        0);
    fx_expect_dump(g, "/cluster0 cluster 0\n"
                      "/cluster0/node0 node 0 rank=0\n"
                      "/cluster0/node0/core0 core 0 rank=0\n"
                      "/cluster0/node0/core1 core 1 rank=0\n"
                      "/cluster0/node1 node 1 rank=1\n"
                      "/cluster0/node1/core0 core 0 rank=1\n");
    /* An id that was taken is not given out twice. */
    int64_t uniq = sl_graph_vertex(g, fx_at(g, "/cluster0/node1/core0"))->uniq_id;
    for (sl_vtx v = 0; v < sl_graph_count(g); v++)
        assert_true(sl_graph_vertex(g, v)->uniq_id != uniq ||
                    v == fx_at(g, "/cluster0/node1/core0"));
    /* The same again adds nothing. */
    uint32_t before = sl_graph_count(g);
    assert_int_equal(
        more(g, SL_GRAPHIO_JGF, G(C0 "," N0 "," O0, E("0", "1") "," E("1", "2")), &err), 0);
    assert_int_equal(sl_graph_count(g), before);
    sl_graph_free(g);
}

static void growing_by_r(void **state) {
    struct sl_graph *g = fx_graph(SL_GRAPHIO_JGF, G(C0 "," N0 "," O0, E("0", "1") "," E("1", "2")));
    struct sl_err err;
    (void)state;
    assert_int_equal(more(g, SL_GRAPHIO_RV1EXEC,
                          "{\"version\": 1, \"execution\": {\"R_lite\": [{\"rank\": \"0-1\", "
                          "\"children\": {\"core\": \"0-1\"}}], \"nodelist\": [\"node[0-1]\"]}}",
                          &err),
                     0);
    fx_expect_dump(g, "/cluster0 cluster 0\n"
                      "/cluster0/node0 node 0 rank=0\n"
                      "/cluster0/node0/core0 core 0 rank=0\n"
                      "/cluster0/node0/core1 core 1 rank=0\n"
                      "/cluster0/node1 node 1 rank=1\n"
                      "/cluster0/node1/core0 core 0 rank=1\n"
                      "/cluster0/node1/core1 core 1 rank=1\n");
    sl_graph_free(g);
}

/* Whatever is wrong with the text, the graph stays as it was. */
static void growing_wrong(void **state) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{", "m:1: expected JSON: unexpected end of data"},
        {G(C0 "," V("7", "\"type\": \"node\", \"id\": 7, " P("/cluster0/node7")), ""),
         "m: node7 has no edges"},
        {G(V("7", "\"type\": \"cluster\", \"id\": 7, " P("/cluster7")), ""),
         "m:1: \"/cluster7\" is a second root; expected one tree"},
        {G(C0 "," V("7", "\"type\": \"a\", \"paths\": {}") "," V("8",
                                                                 "\"type\": \"a\", \"paths\": {}"),
           SUB("7", "8", "power") "," SUB("8", "7", "power")),
         "m: a8 leads to itself in power"},
    };
    struct sl_graph *g = fx_graph(SL_GRAPHIO_JGF, G(C0 "," N0 "," O0, E("0", "1") "," E("1", "2")));
    struct sl_err err;
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        uint64_t generation = sl_graph_generation(g);
        assert_true(more(g, SL_GRAPHIO_JGF, cases[i].text, &err) < 0);
        assert_string_equal(err.text, cases[i].want);
        assert_int_equal(sl_graph_generation(g), generation);
        assert_int_equal(sl_graph_count(g), 3);
        fx_expect_dump(g, "/cluster0 cluster 0\n/cluster0/node0 node 0 rank=0\n"
                          "/cluster0/node0/core0 core 0 rank=0\n");
    }
    assert_int_equal(more(g, SL_GRAPHIO_GRUG, "<graphml/>", &err), SL_EINVAL);
    assert_string_equal(err.text, "m: expected jgf or rv1exec to add to a graph, got grug");
    sl_graph_free(g);
}

/* As Kubernetes queues write it: rank -1 everywhere, edges both ways, subnets without a number. */
static void a_graph_of_kubernetes_nodes(void **state) {
    (void)state;
    expect(
        G(V("0",
            "\"type\": \"cluster\", \"basename\": \"cluster\", \"name\": \"cluster0\", "
            "\"id\": 0, \"uniq_id\": 0, \"rank\": -1, \"exclusive\": false, \"unit\": \"\", "
            "\"size\": 1, " P(
                "/cluster0")) "," V("1",
                                    "\"type\": \"subnet\", \"basename\": \"\", \"name\": \"\", "
                                    "\"id\": 1, "
                                    "\"uniq_id\": 1, \"rank\": -1, \"size\": 1, " P(
                                        "/cluster0/1")) "," V("2",
                                                              "\"type\": \"node\", \"basename\": "
                                                              "\"kind-worker\", \"name\": "
                                                              "\"kind-worker0\", \"id\": 0, "
                                                              "\"uniq_id\": 2, \"rank\": -1, "
                                                              "\"size\": 1, " P(
                                                                  "/cluster0/1/kind-worker0")),
          SUB("0", "1", "containment") "," SUB("1", "0", "containment") "," SUB(
              "1", "2", "containment") "," SUB("2", "1", "containment")),
        "/cluster0 cluster 0\n"
        "/cluster0/1 subnet 1 basename=\n"
        "/cluster0/1/kind-worker0 node 0 basename=kind-worker\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_3_2_all_keys),
        cmocka_unit_test(rule_3_2_defaults),
        cmocka_unit_test(paths_need_not_be_those_of_names),
        cmocka_unit_test(edges_both_ways_make_one_tree),
        cmocka_unit_test(other_subsystems),
        cmocka_unit_test(vertices_of_one_path_and_rank_are_one),
        cmocka_unit_test(allowlist),
        cmocka_unit_test(errors),
        cmocka_unit_test(rule_3_2_growing),
        cmocka_unit_test(growing_by_r),
        cmocka_unit_test(growing_wrong),
        cmocka_unit_test(a_graph_of_kubernetes_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
