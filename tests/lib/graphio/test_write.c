/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers, byte for byte, in every format; and pictures of whole graphs.
 */
#include "graphio_fixture.h"
#include "lib/graphio/write/match.h"

#define N(id, meta, path)                                                                          \
    "{\"id\": \"" id "\", \"metadata\": {" meta ", \"paths\": {\"containment\": \"" path "\"}}},"
#define E(a, b) "{\"source\": \"" a "\", \"target\": \"" b "\"},"

/* tiny0 of rack0 of node0 and node1, each with two cores and a gpu; memory in the first, ssd in
 * none. */
static struct sl_graph *tiny(void) {
    return fx_graph(
        SL_GRAPHIO_JGF,
        "{\"graph\": {\"nodes\": [" N(
            "0", "\"type\": \"cluster\", \"basename\": \"tiny\", \"id\": 0",
            "/tiny0") N("1", "\"type\": \"rack\", \"id\": 0",
                        "/tiny0/rack0") N("2",
                                          "\"type\": \"node\", \"id\": 0, \"rank\": 0, "
                                          "\"properties\": {\"ssd\": \"\", "
                                          "\"arm\": \"v8\"}",
                                          "/tiny0/rack0/node0") N("3",
                                                                  "\"type\": \"node\", \"id\": 1, "
                                                                  "\"rank\": 1, \"properties\": "
                                                                  "{\"ssd\": \"\"}",
                                                                  "/tiny0/rack0/node1")
            N("4", "\"type\": \"core\", \"id\": 0, \"rank\": 0", "/tiny0/rack0/node0/core0") N(
                "5", "\"type\": \"core\", \"id\": 1, \"rank\": 0",
                "/tiny0/rack0/node0/core1") N("6", "\"type\": \"core\", \"id\": 0, \"rank\": 1",
                                              "/tiny0/rack0/node1/core0")
                N("7", "\"type\": \"core\", \"id\": 1, \"rank\": 1", "/tiny0/rack0/node1/core1") N(
                    "8", "\"type\": \"gpu\", \"id\": -1, \"name\": \"gpu\", \"rank\": 1",
                    "/tiny0/rack0/node1/gpu")
                    N("9", "\"type\": \"memory\", \"id\": 0, \"size\": 8, \"unit\": \"GB\"",
                      "/tiny0/rack0/node0/memory0") "{\"id\": \"10\", \"metadata\": {\"type\": "
                                                    "\"pdu\", \"id\": 0, \"paths\": {\"power\": "
                                                    "\"/pdu0\"}}}], \"edges\": [" E("0", "1") E(
                                                        "1", "2") E("1", "3") E("2", "4") E("2",
                                                                                            "5")
                                                        E("3", "6") E("3", "7") E("3", "8") E(
                                                            "2",
                                                            "9") "{\"source\": \"10\", \"target\": "
                                                                 "\"2\", \"metadata\": "
                                                                 "{\"subsystem\": \"power\"}}]}}");
}

static const char *const some[] = {"/tiny0",
                                   "/tiny0/rack0",
                                   "/tiny0/rack0/node0",
                                   "x/tiny0/rack0/node0/core0",
                                   "x/tiny0/rack0/node0/memory0",
                                   "x/tiny0/rack0/node1",
                                   "x/tiny0/rack0/node1/core0",
                                   "x/tiny0/rack0/node1/core1",
                                   "x/tiny0/rack0/node1/gpu",
                                   NULL};

static void writes_with(struct sl_graphio_match_writer *w, const char *const *paths,
                        const char *want) {
    struct sl_graph *g = tiny();
    struct sl_grant gr;
    struct sl_buf b;
    struct sl_err err;

    sl_buf_init(&b, 100000);
    fx_grant(g, paths, &gr);
    gr.n_slots = 2;
    if (sl_graphio_match_write(w, g, &gr, &b, &err) < 0) {
        assert_int_equal(b.len, 0);
        sl_buf_puts(&b, err.text);
    }
    assert_string_equal(sl_buf_str(&b), want);
    sl_buf_done(&b);
    sl_grant_done(&gr);
    sl_graph_free(g);
}

static void writes(enum sl_graphio_match_format f, const char *const *paths, const char *want) {
    struct sl_graphio_match_writer w = {.format = f};
    writes_with(&w, paths, want);
}

static void rule_3_10_simple(void **state) {
    (void)state;
    writes(SL_GRAPHIO_MATCH_SIMPLE, some,
           "      ------------core0[1:x]\n"
           "      ------------memory0[8:x]\n"
           "      ---------node0[1:s]\n"
           "      ------------core0[1:x]\n"
           "      ------------core1[1:x]\n"
           "      ------------gpu[1:x]\n"
           "      ---------node1[1:x]\n"
           "      ------rack0[1:s]\n"
           "      ---tiny0[1:s]\n");
}

static void rule_3_14_pretty_simple_is_the_reverse(void **state) {
    (void)state;
    writes(SL_GRAPHIO_MATCH_PRETTY_SIMPLE, some,
           "      ---tiny0[1:shared]\n"
           "      ------rack0[1:shared]\n"
           "      ---------node1[1:exclusive]\n"
           "      ------------gpu[1:exclusive]\n"
           "      ------------core1[1:exclusive]\n"
           "      ------------core0[1:exclusive]\n"
           "      ---------node0[1:shared]\n"
           "      ------------memory0[8:exclusive]\n"
           "      ------------core0[1:exclusive]\n");
}

#define J_CORE00                                                                                   \
    "{\"id\": \"4\", \"metadata\": {\"type\": \"core\", \"id\": 0, \"rank\": 0, \"exclusive\": "   \
    "true, \"paths\": {\"containment\": \"/tiny0/rack0/node0/core0\"}}}"
#define J_MEMORY                                                                                   \
    "{\"id\": \"9\", \"metadata\": {\"type\": \"memory\", \"id\": 0, \"rank\": -1, \"unit\": "     \
    "\"GB\", \"exclusive\": true, \"size\": 8, \"paths\": {\"containment\": "                      \
    "\"/tiny0/rack0/node0/memory0\"}}}"
#define J_NODE0                                                                                    \
    "{\"id\": \"2\", \"metadata\": {\"type\": \"node\", \"id\": 0, \"rank\": 0, \"properties\": "  \
    "{\"arm\": \"v8\", \"ssd\": \"\"}, \"paths\": {\"containment\": \"/tiny0/rack0/node0\"}}}"
#define J_BELOW_NODE1                                                                              \
    "{\"id\": \"6\", \"metadata\": {\"type\": \"core\", \"id\": 0, \"rank\": 1, \"exclusive\": "   \
    "true, \"paths\": {\"containment\": \"/tiny0/rack0/node1/core0\"}}}, "                         \
    "{\"id\": \"7\", \"metadata\": {\"type\": \"core\", \"id\": 1, \"rank\": 1, \"exclusive\": "   \
    "true, \"paths\": {\"containment\": \"/tiny0/rack0/node1/core1\"}}}, "                         \
    "{\"id\": \"8\", \"metadata\": {\"type\": \"gpu\", \"name\": \"gpu\", \"id\": -1, \"rank\": "  \
    "1, \"exclusive\": true, \"paths\": {\"containment\": \"/tiny0/rack0/node1/gpu\"}}}, "
#define J_NODE1                                                                                    \
    "{\"id\": \"3\", \"metadata\": {\"type\": \"node\", \"id\": 1, \"rank\": 1, \"properties\": "  \
    "{\"ssd\": \"\"}, \"exclusive\": true, \"paths\": {\"containment\": "                          \
    "\"/tiny0/rack0/node1\"}}}"
#define J_TOP                                                                                      \
    "{\"id\": \"1\", \"metadata\": {\"type\": \"rack\", \"id\": 0, \"rank\": -1, \"paths\": "      \
    "{\"containment\": \"/tiny0/rack0\"}}}, "                                                      \
    "{\"id\": \"0\", \"metadata\": {\"type\": \"cluster\", \"basename\": \"tiny\", \"id\": 0, "    \
    "\"rank\": -1, \"paths\": {\"containment\": \"/tiny0\"}}}"
#define J_EDGE(a, b) "{\"source\": \"" a "\", \"target\": \"" b "\"}"
#define J_ALL                                                                                      \
    "{\"graph\": {\"nodes\": [" J_CORE00 ", " J_MEMORY ", " J_NODE0 ", " J_BELOW_NODE1 J_NODE1     \
    ", " J_TOP                                                                                     \
    "], \"edges\": [" J_EDGE("2", "4") ", " J_EDGE("2", "9") ", " J_EDGE("1", "2") ", " J_EDGE(    \
        "3", "6") ", " J_EDGE("3", "7") ", " J_EDGE("3",                                           \
                                                    "8") ", " J_EDGE("1",                          \
                                                                     "3") ", " J_EDGE("0",         \
                                                                                      "1") "]}}"
#define J_SHORT                                                                                    \
    "{\"graph\": {\"nodes\": [" J_CORE00 ", " J_MEMORY ", " J_NODE0 ", " J_NODE1 ", " J_TOP        \
    "], \"edges\": [" J_EDGE("2", "4") ", " J_EDGE("2", "9") ", " J_EDGE("1", "2") ", " J_EDGE(    \
        "1", "3") ", " J_EDGE("0", "1") "]}, \"writer\": \"fluxion:jgf_shorthand\"}"

static void rule_3_14_jgf(void **state) {
    static const char *const alone[] = {"x/tiny0/rack0/node0/memory0", NULL};
    static const char *const none[] = {NULL};
    (void)state;
    writes(SL_GRAPHIO_MATCH_JGF, some, J_ALL "\n");
    /* without edges there are the vertices */
    writes(SL_GRAPHIO_MATCH_JGF, alone,
           "{\"graph\": {\"nodes\": [" J_MEMORY "], \"edges\": []}}\n");
    writes(SL_GRAPHIO_MATCH_JGF, none, "");
    writes(SL_GRAPHIO_MATCH_SIMPLE, none, "");
}

static void rule_3_14_jgf_outside_containment(void **state) {
    struct sl_graph *g = tiny();
    struct sl_graphio_match_writer w = {.format = SL_GRAPHIO_MATCH_JGF};
    struct sl_grant gr = {0};
    struct sl_buf b;
    (void)state;
    sl_buf_init(&b, 10000);
    *sl_vec_push(&gr.picks) = (struct sl_pick){fx_at(g, "/tiny0/rack0/node0"), 1, false};
    *sl_vec_push(&gr.picks) = (struct sl_pick){fx_at(g, "/pdu0"), 1, true};
    assert_int_equal(sl_graphio_match_write(&w, g, &gr, &b, NULL), 0);
    assert_string_equal(sl_buf_str(&b),
                        "{\"graph\": {\"nodes\": [{\"id\": \"10\", \"metadata\": {\"type\": "
                        "\"pdu\", \"id\": 0, \"rank\": -1, \"exclusive\": true, \"paths\": "
                        "{\"power\": \"/pdu0\"}}}, " J_NODE0 "], \"edges\": [{\"source\": \"10\", "
                        "\"target\": \"2\", \"metadata\": {\"subsystem\": \"power\"}}]}}\n");
    sl_buf_done(&b);
    sl_grant_done(&gr);
    sl_graph_free(g);
}

/* From the first omission on, every shorthand of a session says that it is one. */
static void rule_3_14_jgf_shorthand(void **state) {
    static const char *const alone[] = {"x/tiny0/rack0/node0/memory0", NULL};
    struct sl_graphio_match_writer w = {.format = SL_GRAPHIO_MATCH_JGF_SHORTHAND};
    (void)state;
    writes_with(&w, alone, "{\"graph\": {\"nodes\": [" J_MEMORY "], \"edges\": []}}\n");
    writes_with(&w, some, J_SHORT "\n");
    writes_with(&w, alone,
                "{\"graph\": {\"nodes\": [" J_MEMORY
                "], \"edges\": []}, \"writer\": \"fluxion:jgf_shorthand\"}\n");
}

static uint32_t sums(const void *ctx, sl_vtx v, struct sl_match_filter_sum *ret, uint32_t max) {
    const struct sl_graph *g = ctx;
    const struct sl_syms *syms = sl_graph_syms(g);
    if (v != sl_graph_root(g) && v != fx_at(g, "/tiny0/rack0/node0"))
        return 0;
    assert_true(max >= 3);
    ret[0] = (struct sl_match_filter_sum){sl_sym_find(syms, "node"), 1, 2};
    ret[1] = (struct sl_match_filter_sum){sl_sym_find(syms, "core"), 3, 4};
    ret[2] = (struct sl_match_filter_sum){sl_sym_find(syms, "memory"), 8, 8};
    return 3;
}

static void rule_3_14_agfilter(void **state) {
    struct sl_graph *g = tiny();
    struct sl_graphio_match_writer w = {
        .format = SL_GRAPHIO_MATCH_JGF, .sums = sums, .sums_ctx = g};
    static const char *const paths[] = {"x/tiny0/rack0/node0", "/tiny0", "/tiny0/rack0", NULL};
    struct sl_grant gr;
    struct sl_buf b;
    (void)state;
    sl_buf_init(&b, 10000);
    fx_grant(g, paths, &gr);
    gr.picks.n = 1;
    assert_int_equal(sl_graphio_match_write(&w, g, &gr, &b, NULL), 0);
    /* by name, and not of its own type */
    assert_non_null(strstr(sl_buf_str(&b),
                           "\"paths\": {\"containment\": \"/tiny0/rack0/node0\"}, \"agfilter\": "
                           "{\"core\": \"used:3, total:4\", \"memory\": \"used:8, total:8\"}}}]"));
    sl_buf_clear(&b);
    gr.picks.v[0] = gr.picks.v[1];
    assert_int_equal(sl_graphio_match_write(&w, g, &gr, &b, NULL), 0);
    assert_non_null(strstr(sl_buf_str(&b),
                           "\"agfilter\": {\"core\": \"used:3, total:4\", \"memory\": \"used:8, "
                           "total:8\", \"node\": \"used:1, total:2\"}"));
    sl_buf_clear(&b);
    gr.picks.v[0] = gr.picks.v[2];
    assert_int_equal(sl_graphio_match_write(&w, g, &gr, &b, NULL), 0);
    assert_null(strstr(sl_buf_str(&b), "agfilter"));
    sl_buf_done(&b);
    sl_grant_done(&gr);
    sl_graph_free(g);
}

#define LITE                                                                                       \
    "[{\"rank\": \"0\", \"children\": {\"core\": \"0\"}}, "                                        \
    "{\"rank\": \"1\", \"children\": {\"core\": \"0-1\", \"gpu\": \"-1\"}}]"
#define EXECUTION                                                                                  \
    "{\"version\": 1, \"execution\": {\"R_lite\": " LITE                                           \
    ", \"nodelist\": [\"node[0-1]\"], \"properties\": {\"arm=v8\": \"0\", \"ssd\": \"0-1\"}, "     \
    "\"starttime\": 0, \"expiration\": 3600"

static void rule_3_10_rlite_and_rv1(void **state) {
    struct sl_graphio_match_writer w = {
        .format = SL_GRAPHIO_MATCH_RV1, .queue = "batch", .nslots = true};
    (void)state;
    writes(SL_GRAPHIO_MATCH_RLITE, some, LITE "\n");
    writes(SL_GRAPHIO_MATCH_RV1_NOSCHED, some, EXECUTION "}}\n");
    writes(SL_GRAPHIO_MATCH_RV1, some, EXECUTION "}, \"scheduling\": " J_ALL "}\n");
    writes(SL_GRAPHIO_MATCH_RV1_SHORTHAND, some, EXECUTION "}, \"scheduling\": " J_SHORT "}\n");
    writes_with(&w, some,
                EXECUTION ", \"nslots\": 2}, \"scheduling\": " J_ALL
                          ", \"attributes\": {\"system\": {\"scheduler\": {\"queue\": "
                          "\"batch\"}}}}\n");
}

static void rule_3_14_nothing_to_write(void **state) {
    static const char *const paths[] = {"/tiny0", "/tiny0/rack0", "/tiny0/rack0/node0",
                                        "x/tiny0/rack0/node0/memory0", NULL};
    (void)state;
    writes(SL_GRAPHIO_MATCH_RLITE, paths, "nothing to write: rlite has cores and gpus of nodes");
    writes(SL_GRAPHIO_MATCH_RV1, paths, "");
    writes(SL_GRAPHIO_MATCH_RV1_NOSCHED, paths, "");
    writes(SL_GRAPHIO_MATCH_RV1_SHORTHAND, paths, "");
}

/* Children with the same text share an entry; ranks and hosts are in the order of ranks. */
static void rule_3_14_ranks_are_grouped(void **state) {
    struct sl_graph *g = fx_graph(
        SL_GRAPHIO_RV1EXEC, "{\"version\": 1, \"execution\": {\"R_lite\": [{\"rank\": \"0-11\", "
                            "\"children\": {\"core\": \"0-3\", \"gpu\": \"0\"}}], \"nodelist\": "
                            "[\"b[9-14],a[5,4],login,c[7-9]\"]}}");
    struct sl_graphio_match_writer w = {.format = SL_GRAPHIO_MATCH_RV1_NOSCHED};
    struct sl_grant gr = {.at = 5, .duration = 10};
    struct sl_buf b;
    (void)state;

    sl_buf_init(&b, 10000);
    for (uint32_t pos = 0; pos < sl_graph_live(g); pos++) {
        sl_vtx v = sl_graph_at(g, pos);
        const struct sl_vertex *x = sl_graph_vertex(g, v);
        bool core = x->type == sl_sym_find(sl_graph_syms(g), "core");
        bool gpu = x->type == sl_sym_find(sl_graph_syms(g), "gpu");
        /* cores 0 and 2 of even ranks, all of odd ones, and the gpu of rank 3 */
        if ((core && x->rank % 2 == 0 && x->id % 2 == 1) || (gpu && x->rank != 3))
            continue;
        *sl_vec_push(&gr.picks) = (struct sl_pick){v, 1, core || gpu};
    }
    assert_int_equal(sl_graphio_match_write(&w, g, &gr, &b, NULL), 0);
    assert_string_equal(
        sl_buf_str(&b),
        "{\"version\": 1, \"execution\": {\"R_lite\": [{\"rank\": \"0,2,4,6,8,10\", \"children\": "
        "{\"core\": \"0,2\"}}, {\"rank\": \"3\", \"children\": {\"core\": \"0-3\", \"gpu\": "
        "\"0\"}}, "
        "{\"rank\": \"1,5,7,9,11\", \"children\": {\"core\": \"0-3\"}}], \"nodelist\": "
        "[\"b[9-14],a[5,4],login,c[7-9]\"], \"starttime\": 5, \"expiration\": 15}}\n");
    sl_buf_done(&b);
    sl_grant_done(&gr);
    sl_graph_free(g);
}

/* Cores of two sockets may have the same ids: RFC 20 wants sets. Nodes without a rank are listed
 * one by one. */
static void ids_that_come_twice(void **state) {
    struct sl_graph *g = fx_graph(
        SL_GRAPHIO_JGF,
        "{\"graph\": {\"nodes\": [" N("0", "\"type\": \"cluster\", \"id\": 0", "/cluster0") N(
            "1", "\"type\": \"node\", \"id\": 0",
            "/cluster0/node0") N("2", "\"type\": \"node\", \"id\": 1", "/cluster0/node1")
            N("3", "\"type\": \"socket\", \"id\": 0", "/cluster0/node0/socket0") N(
                "4", "\"type\": \"socket\", \"id\": 1",
                "/cluster0/node0/socket1") N("5", "\"type\": \"core\", \"id\": 0",
                                             "/cluster0/node0/socket0/core0")
                N("6", "\"type\": \"core\", \"id\": 0",
                  "/cluster0/node0/socket1/core0") "{\"id\": \"7\", \"metadata\": {\"type\": "
                                                   "\"core\", \"id\": 0, \"paths\": "
                                                   "{\"containment\": "
                                                   "\"/cluster0/node1/core0\"}}}], \"edges\": [" E(
                                                       "0", "1") E("0", "2") E("1", "3") E("1", "4")
                                                       E("3", "5")
                                                           E("4", "6") "{\"source\": \"2\", "
                                                                       "\"target\": \"7\"}]}}");
    struct sl_graphio_match_writer w = {.format = SL_GRAPHIO_MATCH_RLITE};
    struct sl_grant gr = {0};
    struct sl_buf b;
    (void)state;
    sl_buf_init(&b, 10000);
    for (uint32_t pos = 0; pos < sl_graph_live(g); pos++)
        *sl_vec_push(&gr.picks) = (struct sl_pick){sl_graph_at(g, pos), 1, true};
    assert_int_equal(sl_graphio_match_write(&w, g, &gr, &b, NULL), 0);
    assert_string_equal(sl_buf_str(&b),
                        "[{\"rank\": \"-1,-1\", \"children\": {\"core\": \"0\"}}]\n");
    sl_buf_done(&b);
    sl_grant_done(&gr);
    sl_graph_free(g);
}

static void format_names(void **state) {
    static const char *const all[] = {"simple", "pretty_simple", "jgf",         "jgf_shorthand",
                                      "rlite",  "rv1",           "rv1_nosched", "rv1_shorthand"};
    enum sl_graphio_match_format f;
    enum sl_graphio_picture_format p;
    (void)state;
    for (size_t i = 0; i < SL_LEN(all); i++)
        assert_true(sl_graphio_match_format_parse(all[i], &f) && (size_t)f == i);
    assert_false(sl_graphio_match_format_parse("xml", &f));
    assert_true(sl_graphio_picture_format_parse("DOT", &p) && p == SL_GRAPHIO_PICTURE_DOT);
    assert_true(sl_graphio_picture_format_parse("graphml", &p) && p == SL_GRAPHIO_PICTURE_GRAPHML);
    assert_false(sl_graphio_picture_format_parse("png", &p));
}

static void pictures(void **state) {
    struct sl_graph *g = fx_graph(
        SL_GRAPHIO_JGF,
        "{\"graph\": {\"nodes\": [" N("0", "\"type\": \"cluster\", \"id\": 0", "/cluster0")
            N("1",
              "\"type\": \"node\", \"id\": 0, \"rank\": 0, \"name\": \"a\\\"<b>\", \"properties\": "
              "{\"p\": \"1\", \"a\": \"&\"}",
              "/cluster0/a\\\"<b>") "{\"id\": \"2\", \"metadata\": {\"type\": \"pdu\", \"id\": 0, "
                                    "\"unit\": \"W\", \"paths\": "
                                    "{\"power\": \"/pdu0\"}}}], \"edges\": [" E(
                                        "0", "1") "{\"source\": \"2\", \"target\": \"1\", "
                                                  "\"metadata\": {\"subsystem\": \"power\"}}]}}");
    struct sl_buf b;
    (void)state;
    sl_buf_init(&b, 10000);
    sl_graphio_picture_write(g, SL_GRAPHIO_PICTURE_DOT, &b);
    assert_string_equal(sl_buf_str(&b), "digraph G {\n"
                                        "0[label=\"cluster0\"];\n"
                                        "1[label=\"a\\\"<b>\"];\n"
                                        "2[label=\"pdu0\"];\n"
                                        "0->1 [label=\"containment\"];\n"
                                        "2->1 [label=\"power\"];\n"
                                        "}\n");
    sl_buf_clear(&b);
    sl_graphio_picture_write(g, SL_GRAPHIO_PICTURE_GRAPHML, &b);
    assert_non_null(strstr(sl_buf_str(&b), "    <node id=\"n1\">\n"
                                           "      <data key=\"type\">node</data>\n"
                                           "      <data key=\"basename\">node</data>\n"
                                           "      <data key=\"name\">a&quot;&lt;b&gt;</data>\n"
                                           "      <data key=\"id\">0</data>\n"
                                           "      <data key=\"uniq_id\">1</data>\n"
                                           "      <data key=\"rank\">0</data>\n"
                                           "      <data key=\"size\">1</data>\n"
                                           "      <data key=\"paths\">containment=/cluster0/"
                                           "a&quot;&lt;b&gt;</data>\n"
                                           "      <data key=\"props\">a=&amp;,p=1</data>\n"
                                           "    </node>\n"));
    assert_non_null(strstr(sl_buf_str(&b), "    <edge id=\"e1\" source=\"n2\" target=\"n1\">\n"
                                           "      <data key=\"member_of\">power</data>\n"
                                           "    </edge>\n"
                                           "  </graph>\n"
                                           "</graphml>\n"));
    sl_buf_done(&b);
    sl_graph_free(g);
}

/* A buffer that is too small cuts the text and says so. */
static void ceilings_are_the_callers(void **state) {
    (void)state;
    for (int f = 0; f <= (int)SL_GRAPHIO_MATCH_RV1_SHORTHAND; f++) {
        struct sl_graph *g = tiny();
        struct sl_graphio_match_writer w = {.format = (enum sl_graphio_match_format)f};
        struct sl_grant gr;
        struct sl_buf b;
        fx_grant(g, some, &gr);
        sl_buf_init(&b, 40);
        assert_int_equal(sl_graphio_match_write(&w, g, &gr, &b, NULL), 0);
        assert_true(sl_buf_full(&b) && b.len == 40);
        sl_buf_done(&b);
        sl_grant_done(&gr);
        sl_graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_3_10_simple),
        cmocka_unit_test(rule_3_14_pretty_simple_is_the_reverse),
        cmocka_unit_test(rule_3_14_jgf),
        cmocka_unit_test(rule_3_14_jgf_outside_containment),
        cmocka_unit_test(rule_3_14_jgf_shorthand),
        cmocka_unit_test(rule_3_14_agfilter),
        cmocka_unit_test(rule_3_10_rlite_and_rv1),
        cmocka_unit_test(rule_3_14_nothing_to_write),
        cmocka_unit_test(rule_3_14_ranks_are_grouped),
        cmocka_unit_test(ids_that_come_twice),
        cmocka_unit_test(format_names),
        cmocka_unit_test(pictures),
        cmocka_unit_test(ceilings_are_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
