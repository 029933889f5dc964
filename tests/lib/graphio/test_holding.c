/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What R and JGF say that a job has or gives back, against a graph: which vertices, and which texts
 * are refused because they and the graph do not agree.
 */
#include "graphio_fixture.h"
#include "lib/graphio/jobspec_read.h"
#include "lib/graphio/write/match.h"

/* Two nodes of two sockets of two cores, a gpu and divisible memory. */
static struct sl_graph *cluster(void) {
    struct sl_graph *g = fx_graph(
        SL_GRAPHIO_JGF, "{\"graph\": {\"nodes\": ["
#define N(i, r)                                                                                    \
    "{\"id\": \"" i "1\", \"metadata\": {\"type\": \"node\", \"id\": " r ", \"rank\": " r          \
    ", \"paths\": {\"containment\": \"/c0/node" r "\"}}},"                                         \
    "{\"id\": \"" i "2\", \"metadata\": {\"type\": \"socket\", \"id\": 0, "                        \
    "\"paths\": {\"containment\": \"/c0/node" r "/socket0\"}}},"                                   \
    "{\"id\": \"" i "3\", \"metadata\": {\"type\": \"core\", \"id\": 0, "                          \
    "\"paths\": {\"containment\": \"/c0/node" r "/socket0/core0\"}}},"                             \
    "{\"id\": \"" i "4\", \"metadata\": {\"type\": \"core\", \"id\": 1, "                          \
    "\"paths\": {\"containment\": \"/c0/node" r "/socket0/core1\"}}},"                             \
    "{\"id\": \"" i "5\", \"metadata\": {\"type\": \"gpu\", \"id\": 0, "                           \
    "\"paths\": {\"containment\": \"/c0/node" r "/gpu0\"}}},"                                      \
    "{\"id\": \"" i "6\", \"metadata\": {\"type\": \"memory\", \"id\": 0, \"size\": 8, "           \
    "\"properties\": {\"sluice.divisible\": \"\"}, "                                               \
    "\"paths\": {\"containment\": \"/c0/node" r "/memory0\"}}},"
        N("1", "0") N("2", "1")
#undef N
            "{\"id\": \"0\", \"metadata\": {\"type\": \"cluster\", \"basename\": \"c\", \"id\": 0, "
            "\"paths\": {\"containment\": \"/c0\"}}}], \"edges\": ["
#define E(a, b) "{\"source\": \"" a "\", \"target\": \"" b "\"},"
        E("0", "11") E("11", "12") E("12", "13") E("12", "14") E("11", "15") E("11", "16")
            E("0", "21") E("21", "22") E("22", "23") E("22", "24")
                E("21", "25") "{\"source\": \"21\", \"target\": \"26\"}]}}");
    return g;
}

static int hold(const struct sl_graph *g, enum sl_graphio_format f, const char *text,
                struct sl_graphio_holding *h, struct sl_err *err) {
    struct exact e = exact(text);
    struct sl_graphio_text t = {.format = f, .file = "f", .text = e.s, .len = e.n};
    int r = sl_graphio_holding_read(g, &t, h, err);
    free(e.s);
    return r;
}

static void dump(const struct sl_graph *g, const struct sl_pick *v, uint32_t n, struct sl_buf *b) {
    for (uint32_t i = 0; i < n; i++) {
        sl_buf_puts(b, i > 0 ? " " : "");
        sl_vertex_path(g, v[i].v, b);
        sl_buf_puts(b, v[i].exclusive ? "!" : "");
        if (v[i].needs != 1)
            sl_buf_printf(b, "=%" PRId64, v[i].needs);
    }
}

static void holds(enum sl_graphio_format f, const char *text, const char *want) {
    struct sl_graph *g = cluster();
    struct sl_graphio_holding h = {0};
    struct sl_err err;
    struct sl_buf b;

    sl_buf_init(&b, 100000);
    if (hold(g, f, text, &h, &err) < 0)
        sl_buf_puts(&b, err.text);
    else
        dump(g, h.picks.v, h.picks.n, &b);
    assert_string_equal(sl_buf_str(&b), want);
    sl_buf_done(&b);
    sl_graphio_holding_done(&h);
    sl_graph_free(g);
}

#define R(lite, hosts)                                                                             \
    "{\"version\": 1, \"execution\": {\"R_lite\": [" lite "], \"nodelist\": [" hosts "]}}"

static void rule_3_9_r_lists_ids_in_ranks(void **state) {
    (void)state;
    holds(SL_GRAPHIO_RV1EXEC, R("{\"rank\": \"0\", \"children\": {\"core\": \"1\"}}", "\"node0\""),
          "/c0 /c0/node0 /c0/node0/socket0 /c0/node0/socket0/core1!");
    /* a socket all of which is taken is taken, and so would be a node */
    holds(SL_GRAPHIO_RV1EXEC,
          R("{\"rank\": \"1\", \"children\": {\"core\": \"0-1\", \"gpu\": \"0\"}}", "\"node1\""),
          "/c0 /c0/node1 /c0/node1/socket0! /c0/node1/socket0/core0! /c0/node1/socket0/core1! "
          "/c0/node1/gpu0!");
    holds(SL_GRAPHIO_RV1EXEC,
          R("{\"rank\": \"0-1\", \"children\": {\"core\": \"0-1\", \"gpu\": \"0\", \"memory\": "
            "\"0\"}}",
            "\"node[0-1]\""),
          "/c0 /c0/node0! /c0/node0/socket0! /c0/node0/socket0/core0! /c0/node0/socket0/core1! "
          "/c0/node0/gpu0! /c0/node0/memory0!=8 /c0/node1! /c0/node1/socket0! "
          "/c0/node1/socket0/core0! /c0/node1/socket0/core1! /c0/node1/gpu0! /c0/node1/memory0!=8");
    holds(SL_GRAPHIO_RV1EXEC, R("{\"rank\": \"0\", \"children\": {\"core\": \"1\"}}", "\"node1\""),
          "f:1: expected the host node0 of rank 0 as in the graph, got node1");
    holds(SL_GRAPHIO_RV1EXEC, R("{\"rank\": \"7\", \"children\": {\"core\": \"1\"}}", "\"node7\""),
          "f:1: there is no node of rank 7");
    holds(SL_GRAPHIO_RV1EXEC,
          R("{\"rank\": \"0\", \"children\": {\"core\": \"1-3\"}}", "\"node0\""),
          "f:1: expected 3 of type core with these ids in rank 0 of the graph, found 1");
    holds(SL_GRAPHIO_RV1EXEC, R("{\"rank\": \"0\", \"children\": {\"ssd\": \"0\"}}", "\"node0\""),
          "f:1: expected 1 of type ssd with these ids in rank 0 of the graph, found 0");
    holds(SL_GRAPHIO_RV1EXEC,
          R("{\"rank\": \"0\", \"children\": {\"core\": \"1\"}}, {\"rank\": \"0\", \"children\": "
            "{\"core\": \"1\"}}",
            "\"node0\""),
          "f:1: core 1 of rank 0 is given twice");
}

#define V(id, meta, path)                                                                          \
    "{\"id\": \"" id "\", \"metadata\": {" meta ", \"paths\": {\"containment\": \"" path "\"}}}"
#define JGF(nodes) "{\"graph\": {\"nodes\": [" nodes "], \"edges\": []}}"
#define CORE V("1", "\"type\": \"core\", \"id\": 1, \"exclusive\": true", "/c0/node0/socket0/core1")
#define NODE V("2", "\"type\": \"node\", \"id\": 0, \"rank\": 0, \"exclusive\": true", "/c0/node0")

static void rule_3_2_jgf_lists_vertices(void **state) {
    (void)state;
    holds(SL_GRAPHIO_JGF, JGF(CORE), "/c0 /c0/node0 /c0/node0/socket0 /c0/node0/socket0/core1!");
    holds(SL_GRAPHIO_JGF, JGF(CORE "," NODE),
          "/c0 /c0/node0! /c0/node0/socket0 /c0/node0/socket0/core1!");
    /* properties do not matter */
    holds(SL_GRAPHIO_JGF,
          JGF(V("1", "\"type\": \"core\", \"id\": 1, \"properties\": {\"x\": \"\"}",
                "/c0/node0/socket0/core1")),
          "/c0 /c0/node0 /c0/node0/socket0 /c0/node0/socket0/core1");
    /* of memory that can be divided it may be a part */
    holds(SL_GRAPHIO_JGF,
          JGF(V("1", "\"type\": \"memory\", \"id\": 0, \"size\": 3, \"exclusive\": true",
                "/c0/node0/memory0")),
          "/c0 /c0/node0 /c0/node0/memory0!=3");
}

static void rule_3_2_a_shorthand_means_all_below(void **state) {
    (void)state;
    holds(SL_GRAPHIO_JGF_SHORTHAND, JGF(NODE),
          "/c0 /c0/node0! /c0/node0/socket0! /c0/node0/socket0/core0! /c0/node0/socket0/core1! "
          "/c0/node0/gpu0! /c0/node0/memory0!=8");
    holds(SL_GRAPHIO_JGF, JGF(NODE), "/c0 /c0/node0!");
    holds(SL_GRAPHIO_RV1EXEC,
          "{\"version\": 1, \"execution\": {\"R_lite\": []}, \"scheduling\": {\"graph\": "
          "{\"nodes\": [" NODE "], \"edges\": []}, \"writer\": \"fluxion:jgf_shorthand\"}}",
          "/c0 /c0/node0! /c0/node0/socket0! /c0/node0/socket0/core0! /c0/node0/socket0/core1! "
          "/c0/node0/gpu0! /c0/node0/memory0!=8");
    holds(SL_GRAPHIO_RV1EXEC_FORCE,
          "{\"version\": 1, \"execution\": {\"R_lite\": []}, \"scheduling\": 5}", "");
}

static void rule_3_2_free_ranks_are_left_out(void **state) {
    (void)state;
    holds(SL_GRAPHIO_JGF,
          "{\"graph\": {\"nodes\": [" NODE
          "," V("3", "\"type\": \"node\", \"id\": 1, \"rank\": 1, \"exclusive\": true",
                "/c0/node1") "], \"edges\": []}, \"free_ranks\": \"0\"}",
          "/c0 /c0/node1!");
    holds(SL_GRAPHIO_JGF, "{\"graph\": {\"nodes\": [" NODE "], \"edges\": []}, \"free_ranks\": 0}",
          "");
    holds(SL_GRAPHIO_JGF,
          "{\"graph\": {\"nodes\": [" NODE "], \"edges\": []},\n\"free_ranks\": \"x\"}",
          "f:2: free_ranks: expected ids such as \"0-3,7\", got \"x\"");
}

static void rule_3_2_vertices_must_agree(void **state) {
    static const struct {
        const char *meta, *path, *want;
    } cases[] = {
        {"\"type\": \"core\", \"id\": 1", "/c0/node0/core1",
         "f:1: vertex \"1\": there is no /c0/node0/core1 of rank -1 in the graph"},
        {"\"type\": \"core\", \"id\": 1, \"rank\": 0", "/c0/node0/socket0/core1",
         "f:1: vertex \"1\": there is no /c0/node0/socket0/core1 of rank 0 in the graph"},
        {"\"type\": \"gpu\", \"id\": 1, \"basename\": \"core\"", "/c0/node0/socket0/core1",
         "f:1: vertex \"1\": expected the type core as in the graph, got gpu"},
        {"\"type\": \"core\", \"id\": 1, \"basename\": \"x\", \"name\": \"core1\"",
         "/c0/node0/socket0/core1",
         "f:1: vertex \"1\": expected the basename core as in the graph, got x"},
        {"\"type\": \"core\", \"id\": 1, \"size\": 2", "/c0/node0/socket0/core1",
         "f:1: vertex \"1\": expected the size 1 as in the graph, got 2"},
        {"\"type\": \"memory\", \"id\": 0, \"size\": 9", "/c0/node0/memory0",
         "f:1: vertex \"1\": expected the size 8 as in the graph, got 9"},
        {"\"type\": \"core\", \"id\": 2", "/c0/node0/socket0/core1",
         "f:1: vertex \"1\": expected the id 1 as in the graph, got 2"},
        {"\"type\": \"core\", \"id\": 1, \"name\": \"core01\"", "/c0/node0/socket0/core1",
         "f:1: vertex \"1\": expected the name core1 as in the graph, got core01"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        char text[1000];
        (void)snprintf(text, sizeof(text),
                       "{\"graph\": {\"nodes\": [{\"id\": \"1\", \"metadata\": {%s, \"paths\": "
                       "{\"containment\": \"%s\"}}}], \"edges\": []}}",
                       cases[i].meta, cases[i].path);
        holds(SL_GRAPHIO_JGF, text, cases[i].want);
    }
    holds(SL_GRAPHIO_JGF, JGF("{\"id\": \"1\", \"metadata\": {\"type\": \"core\", \"paths\": {}}}"),
          "f:1: vertex \"1\": expected a path");
    holds(SL_GRAPHIO_JGF,
          JGF("{\"id\": \"1\", \"metadata\": {\"type\": \"core\", \"id\": 1, \"paths\": "
              "{\"containment\": \"/c0/node0/socket0/core1\", \"power\": \"/c0\"}}}"),
          "f:1: vertex \"1\": its paths lead to different vertices");
    holds(SL_GRAPHIO_GRUG, "<graphml/>", "f: expected jgf or rv1exec");
}

/* ---- giving back ---- */

static void gives(enum sl_graphio_format f, const char *text, const char *want) {
    static const char *const has[] = {"/c0",
                                      "x/c0/node0",
                                      "x/c0/node0/socket0",
                                      "x/c0/node0/socket0/core0",
                                      "x/c0/node0/socket0/core1",
                                      "x/c0/node0/gpu0",
                                      "x/c0/node0/memory0",
                                      "/c0/node1",
                                      "/c0/node1/socket0",
                                      "x/c0/node1/socket0/core0",
                                      NULL};
    struct sl_graph *g = cluster();
    struct exact e = exact(text);
    struct sl_graphio_text t = {.format = f, .file = "f", .text = e.s, .len = e.n};
    struct sl_grant gr;
    struct sl_err err;
    struct sl_buf b;
    sl_graphio_vertices v = {0};
    int64_t rank;

    sl_buf_init(&b, 100000);
    fx_grant(g, has, &gr);
    if (sl_graphio_release_read(g, &t, &gr, &v, &rank, &err) < 0)
        sl_buf_puts(&b, err.text);
    else
        for (uint32_t i = 0; i < v.n; i++) {
            sl_buf_puts(&b, i > 0 ? " " : "");
            sl_vertex_path(g, v.v[i], &b);
        }
    assert_string_equal(sl_buf_str(&b), want);
    sl_vec_free(&v);
    sl_grant_done(&gr);
    sl_buf_done(&b);
    free(e.s);
    sl_graph_free(g);
}

static void rule_3_9_r_gives_back_whole_ranks(void **state) {
    (void)state;
    gives(SL_GRAPHIO_RV1EXEC, "{\"version\": 1, \"execution\": {\"R_lite\": [{\"rank\": \"0\"}]}}",
          "/c0/node0");
    gives(SL_GRAPHIO_RV1EXEC,
          R("{\"rank\": \"1\", \"children\": {\"core\": \"0-99\"}}", "\"whatever\""),
          "/c0/node1/socket0/core0");
    gives(SL_GRAPHIO_RV1EXEC,
          "{\"version\": 1, \"execution\": {\"R_lite\": [{\"rank\": \"0-1\"}]}}",
          "/c0/node0 /c0/node1/socket0/core0");
    gives(SL_GRAPHIO_RV1EXEC,
          "{\"version\": 1, \"execution\": {\"R_lite\": [{\"rank\": \"0-9\"}]}}",
          "f:1: there is no rank 2 in the graph");
    gives(SL_GRAPHIO_RV1EXEC, "{\"version\": 1, \"execution\": {\"R_lite\": [{\"rank\": \"5\"}]}}",
          "f:1: there is no rank 5 in the graph");
    gives(SL_GRAPHIO_RV1EXEC, "{\"version\": 1}", "f:1: expected the key \"execution\", an object");
}

static void rule_3_9_jgf_gives_back_what_it_lists(void **state) {
    (void)state;
    gives(SL_GRAPHIO_JGF, JGF(CORE), "/c0/node0/socket0/core1");
    /* what is inside of another goes with it; what is shared stays */
    gives(SL_GRAPHIO_JGF,
          JGF(CORE "," NODE
                   "," V("9", "\"type\": \"cluster\", \"basename\": \"c\", \"id\": 0", "/c0")),
          "/c0/node0");
    gives(SL_GRAPHIO_JGF, JGF(V("1", "\"type\": \"gpu\", \"id\": 0", "/c0/node1/gpu0")),
          "f:1: vertex \"1\": the job does not have /c0/node1/gpu0");
    /* edges to what is not listed are of no interest */
    gives(SL_GRAPHIO_JGF,
          "{\"graph\": {\"nodes\": [" CORE "], \"edges\": [{\"source\": \"77\", \"target\": "
          "\"1\"}]}}",
          "/c0/node0/socket0/core1");
}

/* ---- there and back ---- */

/* What is written in any format that lists vertices is read as the same. */
static void what_is_written_is_read(void **state) {
    static const char *const whole[] = {"/c0",
                                        "x/c0/node0",
                                        "x/c0/node0/socket0",
                                        "x/c0/node0/socket0/core0",
                                        "x/c0/node0/socket0/core1",
                                        "x/c0/node0/gpu0",
                                        "x/c0/node0/memory0",
                                        "/c0/node1",
                                        "/c0/node1/socket0",
                                        "x/c0/node1/socket0/core1",
                                        NULL};
    static const struct {
        enum sl_graphio_match_format out;
        enum sl_graphio_format in;
    } ways[] = {
        {SL_GRAPHIO_MATCH_JGF, SL_GRAPHIO_JGF},
        {SL_GRAPHIO_MATCH_JGF_SHORTHAND, SL_GRAPHIO_JGF_SHORTHAND},
        {SL_GRAPHIO_MATCH_RV1, SL_GRAPHIO_RV1EXEC},
        {SL_GRAPHIO_MATCH_RV1_SHORTHAND, SL_GRAPHIO_RV1EXEC},
    };
    struct sl_graph *g = cluster();
    struct sl_grant gr;
    (void)state;

    fx_grant(g, whole, &gr);
    gr.at = 100;
    for (size_t i = 0; i < SL_LEN(ways); i++) {
        struct sl_graphio_match_writer w = {.format = ways[i].out};
        struct sl_graphio_holding h = {0};
        struct sl_buf text, want, got;
        struct sl_err err;
        sl_buf_init(&text, 100000);
        sl_buf_init(&want, 100000);
        sl_buf_init(&got, 100000);
        assert_int_equal(sl_graphio_match_write(&w, g, &gr, &text, &err), 0);
        if (hold(g, ways[i].in, sl_buf_str(&text), &h, &err) < 0)
            fail_msg("%s\n%s", sl_buf_str(&text), err.text);
        dump(g, gr.picks.v, gr.picks.n, &want);
        dump(g, h.picks.v, h.picks.n, &got);
        assert_string_equal(sl_buf_str(&got), sl_buf_str(&want));
        assert_int_equal(h.time.start, ways[i].in == SL_GRAPHIO_RV1EXEC ? 100 : -1);
        assert_int_equal(h.time.end, ways[i].in == SL_GRAPHIO_RV1EXEC ? 3700 : -1);
        sl_graphio_holding_done(&h);
        sl_buf_done(&text);
        sl_buf_done(&want);
        sl_buf_done(&got);
    }
    sl_grant_done(&gr);
    sl_graph_free(g);
}

/* A matcher that is told what another gave out, in each format, has the same job; and what is given
 * back of it can be matched again. */
static void through_the_matcher(void **state) {
    static const char spec[] =
        "version: 1\nresources: [{type: node, count: 1, with: [{type: slot, count: 1, label: a, "
        "with: [{type: socket, count: 1, exclusive: true}, {type: gpu, count: 1}]}]}]\ntasks: []\n"
        "attributes: {system: {duration: 60}}\n";
    static const struct {
        enum sl_graphio_match_format out;
        enum sl_graphio_format in;
    } ways[] = {
        {SL_GRAPHIO_MATCH_JGF, SL_GRAPHIO_JGF},
        {SL_GRAPHIO_MATCH_JGF_SHORTHAND, SL_GRAPHIO_JGF_SHORTHAND},
        {SL_GRAPHIO_MATCH_RV1, SL_GRAPHIO_RV1EXEC},
        {SL_GRAPHIO_MATCH_RV1_SHORTHAND, SL_GRAPHIO_RV1EXEC},
        {SL_GRAPHIO_MATCH_RV1_NOSCHED, SL_GRAPHIO_RV1EXEC},
    };
    (void)state;

    for (size_t i = 0; i < SL_LEN(ways); i++) {
        struct sl_match_options o = {0};
        struct sl_match *first = NULL, *second = NULL;
        struct sl_jobspec *j = NULL;
        struct sl_match_request *r = NULL;
        struct sl_grant gr = {0}, same = {0};
        struct sl_graphio_match_writer w = {.format = ways[i].out};
        struct sl_graphio_holding h = {0};
        struct sl_buf text, want, got;
        enum sl_match_verdict verdict;
        struct sl_err err;
        sl_graphio_vertices v = {0};
        bool all;

        sl_buf_init(&text, 100000);
        sl_buf_init(&want, 100000);
        sl_buf_init(&got, 100000);
        assert_int_equal(sl_match_policy_parse("low", &o.policy, &err), 0);
        assert_int_equal(sl_match_new(cluster(), &o, &first, &err), 0);
        assert_int_equal(sl_match_new(cluster(), &o, &second, &err), 0);
        const struct sl_graph *g = sl_match_graph(second);
        assert_int_equal(sl_graphio_jobspec_read("f", spec, strlen(spec), &j, &err), 0);
        assert_int_equal(sl_match_request_new(g, j, &r, &err), 0);
        assert_int_equal(sl_match_run(first, r, SL_MATCH_ALLOCATE, 7, 100, &verdict, &gr, &err), 0);
        assert_int_equal(verdict, SL_MATCHED);
        assert_int_equal(sl_graphio_match_write(&w, sl_match_graph(first), &gr, &text, &err), 0);
        if (hold(g, ways[i].in, sl_buf_str(&text), &h, &err) < 0)
            fail_msg("%s\n%s", sl_buf_str(&text), err.text);
        if (sl_match_update(second, 7, h.picks.v, h.picks.n, gr.at, gr.duration, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(sl_match_grant(second, 7, &same), 0);
        dump(g, gr.picks.v, gr.picks.n, &want);
        dump(g, same.picks.v, same.picks.n, &got);
        assert_string_equal(sl_buf_str(&got), sl_buf_str(&want));
        assert_int_equal(same.at, 100);
        assert_int_equal(same.duration, 60);
        /* the other node is free, then there is none, then again */
        assert_int_equal(sl_match_run(second, r, SL_MATCH_ALLOCATE, 8, 100, &verdict, NULL, &err),
                         0);
        assert_int_equal(verdict, SL_MATCHED);
        assert_int_equal(sl_match_run(second, r, SL_MATCH_ALLOCATE, 9, 100, &verdict, NULL, &err),
                         0);
        assert_int_equal(verdict, SL_BUSY);
        struct sl_graphio_text t = {
            .format = ways[i].in, .file = "f", .text = sl_buf_str(&text), .len = text.len};
        int64_t rank;
        if (sl_graphio_release_read(g, &t, &same, &v, &rank, &err) < 0)
            fail_msg("%s", err.text);
        if (sl_match_cancel_part(second, 7, v.v, v.n, &all, &err) < 0)
            fail_msg("%s", err.text);
        assert_true(all);
        assert_int_equal(sl_match_run(second, r, SL_MATCH_ALLOCATE, 9, 100, &verdict, NULL, &err),
                         0);
        assert_int_equal(verdict, SL_MATCHED);

        sl_vec_free(&v);
        sl_graphio_holding_done(&h);
        sl_grant_done(&gr);
        sl_grant_done(&same);
        sl_match_request_free(r);
        sl_jobspec_free(j);
        sl_match_free(first);
        sl_match_free(second);
        sl_buf_done(&text);
        sl_buf_done(&want);
        sl_buf_done(&got);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_3_9_r_lists_ids_in_ranks),
        cmocka_unit_test(rule_3_2_jgf_lists_vertices),
        cmocka_unit_test(rule_3_2_a_shorthand_means_all_below),
        cmocka_unit_test(rule_3_2_free_ranks_are_left_out),
        cmocka_unit_test(rule_3_2_vertices_must_agree),
        cmocka_unit_test(rule_3_9_r_gives_back_whole_ranks),
        cmocka_unit_test(rule_3_9_jgf_gives_back_what_it_lists),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(through_the_matcher),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
