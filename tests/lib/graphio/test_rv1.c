/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R (RFC 20) as a graph: ranks and hosts, children, properties, times, the "scheduling" key, and
 * what is said of a wrong one.
 */
#include "graphio_fixture.h"

#define R(exec) "{\"version\": 1, \"execution\": {" exec "}}"
#define LITE(ranks, children)                                                                      \
    "\"R_lite\": [{\"rank\": \"" ranks "\", \"children\": {" children "}}]"
#define HOSTS(list) ", \"nodelist\": [" list "]"

static void expect(const char *text, const char *want) {
    fx_expect(SL_GRAPHIO_RV1EXEC, text, want);
}

static void refused(const char *text, const char *want) {
    fx_refused(SL_GRAPHIO_RV1EXEC, text, want);
}

static void rule_3_2_ranks_hosts_and_children(void **state) {
    (void)state;
    expect(R(LITE("0-1", "\"core\": \"0-1\", \"gpu\": \"0\"") HOSTS("\"node[7-8]\"")),
           "/cluster0 cluster 0\n"
           "/cluster0/node7 node 7 rank=0\n"
           "/cluster0/node7/core0 core 0 rank=0\n"
           "/cluster0/node7/core1 core 1 rank=0\n"
           "/cluster0/node7/gpu0 gpu 0 rank=0\n"
           "/cluster0/node8 node 8 rank=1\n"
           "/cluster0/node8/core0 core 0 rank=1\n"
           "/cluster0/node8/core1 core 1 rank=1\n"
           "/cluster0/node8/gpu0 gpu 0 rank=1\n");
}

/* Hosts go to ranks in the order of the ranks; vertices are made in the order of R_lite. */
static void rule_3_14_hosts_go_by_rank(void **state) {
    (void)state;
    expect(R("\"R_lite\": [{\"rank\": \"5\", \"children\": {\"core\": \"0\"}}, {\"rank\": \"2,9\", "
             "\"children\": {\"core\": \"1\"}}]" HOSTS("\"a\", \"b[1-2]\"")),
           "/cluster0 cluster 0\n"
           "/cluster0/b1 node 1 basename=b rank=5\n"
           "/cluster0/b1/core0 core 0 rank=5\n"
           "/cluster0/a node -1 basename=a rank=2\n"
           "/cluster0/a/core1 core 1 rank=2\n"
           "/cluster0/b2 node 2 basename=b rank=9\n"
           "/cluster0/b2/core1 core 1 rank=9\n");
}

static void rule_3_14_names_and_numbers_of_hosts(void **state) {
    (void)state;
    expect(R(LITE("0-3", "") HOSTS("\"login\", \"n007\", \"12\", \"x1y\"")),
           "/cluster0 cluster 0\n"
           "/cluster0/login node -1 basename=login rank=0\n"
           "/cluster0/n007 node 7 basename=n rank=1\n"
           "/cluster0/12 node 12 basename=12 rank=2\n"
           "/cluster0/x1y node -1 basename=x1y rank=3\n");
}

static void rule_3_2_properties(void **state) {
    (void)state;
    expect(R(LITE("0-1", "\"core\": \"0\", \"gpu\": \"0\"") HOSTS(
               "\"n[0-1]\"") ", \"properties\": {\"ssd\": \"1\", \"perf_class=3\": \"0-1\", "
                             "\"fast@gpu\": \"0\"}"),
           "/cluster0 cluster 0\n"
           "/cluster0/n0 node 0 basename=n rank=0 {perf_class=3} {fast@gpu=}\n"
           "/cluster0/n0/core0 core 0 rank=0\n"
           "/cluster0/n0/gpu0 gpu 0 rank=0 {fast=}\n"
           "/cluster0/n1 node 1 basename=n rank=1 {ssd=} {perf_class=3}\n"
           "/cluster0/n1/core0 core 0 rank=1\n"
           "/cluster0/n1/gpu0 gpu 0 rank=1\n");
}

static void a_rank_in_two_entries_is_one_node(void **state) {
    (void)state;
    expect(R("\"R_lite\": [{\"rank\": \"0\", \"children\": {\"core\": \"0\"}}, {\"rank\": \"0\", "
             "\"children\": {\"core\": \"1\"}}]" HOSTS("\"n0\"")),
           "/cluster0 cluster 0\n/cluster0/n0 node 0 basename=n rank=0\n"
           "/cluster0/n0/core0 core 0 rank=0\n/cluster0/n0/core1 core 1 rank=0\n");
    refused(R("\"R_lite\": [{\"rank\": \"0\", \"children\": {\"core\": \"0-3\"}}, {\"rank\": "
              "\"0\", \"children\": {\"core\": \"3\"}}]" HOSTS("\"n0\"")),
            "f:1: core3 of rank 0 is given twice");
}

static void times(void **state) {
    static const struct {
        const char *text;
        int64_t start, end;
    } cases[] = {
        {R(LITE("0", "") HOSTS("\"a\"")), -1, -1},
        {R(LITE("0", "") HOSTS("\"a\"") ", \"starttime\": 0, \"expiration\": 0.0"), -1, -1},
        {R(LITE("0", "") HOSTS("\"a\"") ", \"starttime\": 10.9, \"expiration\": 20.9"), 10, 20},
        {R(LITE("0", "") HOSTS("\"a\"") ", \"expiration\": 3153600000"), -1, 3153600000},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_graph *g;
        struct sl_graphio_time t;
        struct sl_err err;
        assert_int_equal(fx_read(SL_GRAPHIO_RV1EXEC, cases[i].text, NULL, &g, &t, &err), 0);
        assert_int_equal(t.start, cases[i].start);
        assert_int_equal(t.end, cases[i].end);
        sl_graph_free(g);
    }
    refused(R(LITE("0", "") HOSTS("\"a\"") ", \"starttime\": 10, \"expiration\": 10"),
            "f:1: expiration: expected a time after starttime");
    refused(R(LITE("0", "") HOSTS("\"a\"") ", \"starttime\": \"x\""),
            "f:1: starttime: expected seconds since 1970");
    refused(R(LITE("0", "") HOSTS("\"a\"") ", \"starttime\": -5"),
            "f:1: starttime: expected seconds since 1970");
}

#define SCHED(s)                                                                                   \
    "{\"version\": 1, \"execution\": {" LITE("0", "\"core\": \"0\"")                               \
        HOSTS("\"a\"") "}, \"scheduling\": " s "}"
#define JGF                                                                                        \
    "\"graph\": {\"nodes\": [{\"id\": \"0\", \"metadata\": {\"type\": \"tiny\", \"paths\": "       \
    "{\"containment\": \"/tiny0\"}}}], \"edges\": []}"

static void rule_3_2_the_scheduling_key(void **state) {
    static const char *const plain = "/cluster0 cluster 0\n/cluster0/a node -1 basename=a rank=0\n"
                                     "/cluster0/a/core0 core 0 rank=0\n";
    (void)state;
    expect(SCHED("{" JGF "}"), "/tiny0 tiny 0\n");
    expect(SCHED("{" JGF ", \"writer\": \"fluxion:jgf\"}"), "/tiny0 tiny 0\n");
    expect(SCHED("null"), plain);
    /* too little to make a graph of */
    expect(SCHED("{" JGF ", \"writer\": \"fluxion:jgf_shorthand\"}"), plain);
    refused(SCHED("{" JGF ", \"writer\": \"other\"}"),
            "f:1: scheduling: expected fluxion:jgf or fluxion:jgf_shorthand as writer, got "
            "\"other\"");
    refused(SCHED("\"nonsense\""), "f:1: scheduling: expected an object with \"graph\"");
    refused(SCHED("{}"), "f:1: expected the key \"graph\", an object");
    /* unless one insists */
    fx_expect(SL_GRAPHIO_RV1EXEC_FORCE, SCHED("\"nonsense\""), plain);
    fx_expect(SL_GRAPHIO_RV1EXEC_FORCE, SCHED("{" JGF "}"), plain);
}

static void errors(void **state) {
    (void)state;
    refused("5", "f:1: expected R (an object)");
    refused("{\"execution\": {}}", "f:1: expected the key \"version\", 1");
    refused("{\"version\": 2}", "f:1: version: expected a whole number from 1 to 1");
    refused("{\"version\": 1}", "f:1: expected the key \"execution\", an object");
    refused(R(""), "f:1: expected the key \"R_lite\", an array");
    refused(R("\"R_lite\": [5]"), "f:1: R_lite: expected objects");
    refused(R("\"R_lite\": [{}]"), "f:1: expected the key \"rank\", a string");
    refused(R("\n" LITE("x", "") HOSTS("\"a\"")),
            "f:2: rank: expected ids such as \"0-3,7\", got \"x\"");
    refused(R(LITE("0", "\"core\": \"1-\"") HOSTS("\"a\"")),
            "f:1: core: expected ids such as \"0-3,7\", got \"1-\"");
    refused(R(LITE("0", "\"core\": 1") HOSTS("\"a\"")), "f:1: core: expected a string");
    refused(R(LITE("0", "")), "f:1: expected the key \"nodelist\", an array");
    refused(R(LITE("0-1", "") HOSTS("\"a\"")),
            "f:1: nodelist: expected a host for each of 2 ranks, got 1");
    refused(
        R(LITE("0", "") HOSTS("\"a[\"")),
        "f:1: nodelist: expected host names such as \"node[0-3,7]\", got \"a[\": a bracket that "
        "is never closed");
    refused(R(LITE("0", "") HOSTS("5")), "f:1: nodelist: expected a string");
    refused(R(LITE("0", "") HOSTS("\"a\"") ", \"properties\": {\"a|b\": \"0\"}"),
            "f:1: properties: expected a name without !&'\"^`|(), got \"a|b\"");
    refused(R(LITE("0", "") HOSTS("\"a\"") ", \"properties\": {\"a\": 1}"),
            "f:1: a: expected a string");
    expect(R("\"R_lite\": []"), "/cluster0 cluster 0\n");
}

static void what_would_explode_is_refused(void **state) {
    (void)state;
    refused(R(LITE("0", "\"core\": \"0-999999999\"") HOSTS("\"a\"")),
            "f:1: more than 100000 vertices");
    refused(R(LITE("0-999", "\"core\": \"0-99\"") HOSTS("\"a[0-999]\"")),
            "f:1: more than 100000 vertices");
    refused(R(LITE("0-4294967294", "") HOSTS("\"a\"")), "f:1: more than 100000 vertices");
}

static void allowlist(void **state) {
    struct sl_graph *g;
    struct sl_err err;
    (void)state;
    assert_int_equal(fx_read(SL_GRAPHIO_RV1EXEC,
                             R(LITE("0", "\"core\": \"0\", \"gpu\": \"0\"") HOSTS("\"n0\"")),
                             "node,gpu", &g, NULL, &err),
                     0);
    fx_expect_dump(g, "/cluster0 cluster 0\n/cluster0/n0 node 0 basename=n rank=0\n"
                      "/cluster0/n0/gpu0 gpu 0 rank=0\n");
    sl_graph_free(g);
}

static void format_names(void **state) {
    enum sl_graphio_format f;
    (void)state;
    assert_true(sl_graphio_format_parse("rv1exec_force", &f) && f == SL_GRAPHIO_RV1EXEC_FORCE);
    assert_true(sl_graphio_format_parse("grug", &f) && f == SL_GRAPHIO_GRUG);
    assert_true(sl_graphio_format_parse("hwloc", &f) && f == SL_GRAPHIO_HWLOC);
    assert_false(sl_graphio_format_parse("JGF", &f));
    assert_false(sl_graphio_format_parse("", &f));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_3_2_ranks_hosts_and_children),
        cmocka_unit_test(rule_3_14_hosts_go_by_rank),
        cmocka_unit_test(rule_3_14_names_and_numbers_of_hosts),
        cmocka_unit_test(rule_3_2_properties),
        cmocka_unit_test(a_rank_in_two_entries_is_one_node),
        cmocka_unit_test(times),
        cmocka_unit_test(rule_3_2_the_scheduling_key),
        cmocka_unit_test(errors),
        cmocka_unit_test(what_would_explode_is_refused),
        cmocka_unit_test(allowlist),
        cmocka_unit_test(format_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
