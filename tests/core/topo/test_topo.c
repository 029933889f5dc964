/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in a topology, rule by rule: which level, which domains, and why not.
 */
#include "topo_fixture.h"

#define REQ SL_TOPO_REQUIRED
#define PREF SL_TOPO_PREFERRED
#define FREE SL_TOPO_UNCONSTRAINED

/* Two blocks, three racks, five hosts. */
#define SMALL "b1/r1/x1=2 b1/r1/x2=2 b1/r2/x3=4 b2/r1/x4=4 b2/r1/x5=3"

static void test_levels(void **state) {
    (void)state;
    static const struct {
        const char *nodes;
        int32_t count;
        enum sl_topo_mode mode;
        const char *level, *want;
    } cases[] = {
        /* the domain that holds all and has least to spare; the first of equals */
        {SMALL, 2, REQ, HOST, "x1:2"},
        {SMALL, 3, REQ, HOST, "x5:3"},
        {SMALL, 4, REQ, HOST, "x3:4"},
        {SMALL, 4, REQ, RACK, "x1:2 x2:2"},
        {SMALL, 3, REQ, RACK, "x1:2 x2:1"},
        {SMALL, 5, REQ, RACK, "x4:4 x5:1"},
        {SMALL, 7, REQ, BLOCK, "x4:4 x5:3"},
        {SMALL, 8, REQ, BLOCK, "x1:2 x2:2 x3:4"},
        {SMALL, 9, REQ, BLOCK, "topology \"default\" allows to fit only 8 out of 9 pod(s)"},
        {SMALL, 5, REQ, HOST, "topology \"default\" allows to fit only 4 out of 5 pod(s)"},
        /* preferred: up until it fits, then several */
        {SMALL, 4, PREF, HOST, "x3:4"},
        {SMALL, 5, PREF, HOST, "x4:4 x5:1"},
        {SMALL, 8, PREF, HOST, "x1:2 x2:2 x3:4"},
        {SMALL, 9, PREF, RACK, "x1:2 x4:4 x5:3"},
        {SMALL, 15, PREF, RACK, "x1:2 x2:2 x3:4 x4:4 x5:3"},
        {SMALL, 16, PREF, RACK, "topology \"default\" allows to fit only 15 out of 16 pod(s)"},
        /* unconstrained: the fullest host that holds all; else from the fullest up */
        {SMALL, 2, FREE, NULL, "x1:2"},
        {SMALL, 3, FREE, NULL, "x5:3"},
        {SMALL, 5, FREE, NULL, "x1:2 x2:2 x5:1"},
        {SMALL, 3, SL_TOPO_IMPLIED, NULL, "x5:3"},
        {SMALL, 16, FREE, NULL, "topology \"default\" allows to fit only 15 out of 16 pod(s)"},
        /* pods are counted as a resource */
        {"b1/r1/x1=9,2 b1/r1/x2=9,3", 4, REQ, RACK, "x1:1 x2:3"},
        {"b1/r1/x1=9,0", 1, REQ, RACK,
         "topology \"default\" doesn't allow to fit any of 1 pod(s). Total nodes: 1; excluded: "
         "resource \"pods\": 1"},
        {"b1/r1/x1=0,0", 1, REQ, RACK,
         "topology \"default\" doesn't allow to fit any of 1 pod(s). Total nodes: 1; excluded: "
         "resource \"cpu\": 1"},
        /* what cannot be asked */
        {SMALL, 1, REQ, "cloud/row", "no requested topology level: cloud/row"},
        {"", 1, REQ, RACK, "no topology domains at level: " RACK},
        {SMALL, 0, REQ, RACK, ""},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_topo *t = hosts(cases[i].nodes);
        assert_string_equal(try_one(t, 1, podset(cases[i].count, cases[i].mode, cases[i].level)),
                            cases[i].want);
        sl_topo_free(t);
    }
}

/* ---- leaves that are not hosts ---- */

static void test_racks(void **state) {
    (void)state;
    static const char *const levels[] = {BLOCK, RACK};
    struct sl_topo *t = cluster(levels, 2, SMALL);
    struct sl_topo_podset p = podset(3, REQ, RACK);
    struct sl_label selector = {"none", "such"};
    p.node_selector = (struct sl_labels){&selector, 1}; /* nobody looks at single nodes */
    assert_string_equal(try_one(t, 1, p), "b1/r1:3");
    assert_string_equal(try_one(t, 2, podset(8, REQ, BLOCK)),
                        "topology \"default\" allows to fit only 7 out of 8 pod(s)");
    assert_string_equal(try_one(t, 2, podset(11, PREF, RACK)), "b1/r2:4 b2/r1:7");
    /* a rack's nodes come and go, what is held there stays */
    assert_true(apply_node(t, "b1/r1/x6=2"));
    assert_string_equal(try_one(t, 3, podset(3, REQ, RACK)), "b1/r1:3");
    assert_true(sl_topo_node_gone(t, "x6"));
    assert_string_equal(held(t, 1), "b1/r1:3");
    sl_topo_release(t, 3);
    assert_string_equal(try_one(t, 3, podset(2, REQ, RACK)),
                        "topology \"default\" allows to fit only 1 out of 2 pod(s). Total nodes: "
                        "3; excluded: resource \"cpu\": 2");
    sl_topo_free(t);
}

/* ---- nodes that are no good ---- */

static void test_exclusions(void **state) {
    (void)state;
    struct sl_topo *t = hosts("b1/r1/x1=1 b1/r1/x2=0");
    struct told x;
    struct sl_taint taints[] = {{"soft", "", SL_TAINT_PREFER_NO_SCHEDULE},
                                {"key", "value", SL_TAINT_NO_SCHEDULE}};
    struct sl_label disk = {"disk", "ssd"};
    const char *const none[] = {"z9"};
    struct sl_label_rule rule = {.key = RACK, .op = SL_OP_NOT_IN, .values = none, .n_values = 1};
    struct sl_selector term = {.v = &rule, .n = 1};
    struct sl_toleration tolerate = {.key = "key", .exists = true};
    struct sl_topo_podset p = podset(2, REQ, BLOCK);

    read_node("b1/r1/x3=4", &x); /* tainted, with a disk */
    x.n.taints = taints;
    x.n.n_taints = 2;
    x.labels[4] = disk;
    x.n.labels.n = 5;
    assert_true(sl_topo_node(t, &x.n));
    read_node("b1/z9/x4=4", &x); /* in the wrong rack, with a disk */
    x.labels[4] = disk;
    x.n.labels.n = 5;
    assert_true(sl_topo_node(t, &x.n));

    p.node_selector = (struct sl_labels){&disk, 1};
    p.affinity = (struct sl_affinity){.terms = &term, .n = 1};
    assert_string_equal(try_one(t, 1, p),
                        "topology \"default\" doesn't allow to fit any of 2 pod(s). Total nodes: "
                        "4; excluded: affinity: 1, nodeSelector: 2, taint "
                        "\"key=value:NoSchedule\": 1");
    p.tolerations = &tolerate;
    p.n_tolerations = 1;
    assert_string_equal(try_one(t, 1, p), "x3:2");
    /* the flavor may tolerate for all */
    p.n_tolerations = 0;
    struct sl_flavor_spec f = tas_flavor("f");
    f.tolerations = &tolerate;
    f.n_tolerations = 1;
    assert_true(sl_topo_flavor(t, &f, "default"));
    assert_false(sl_topo_flavor(t, &f, "default"));
    assert_string_equal(try_one(t, 1, p), "x3:2");
    p.node_selector.n = 0;
    p.affinity.n = 0;
    p.count = 12;
    assert_string_equal(try_one(t, 2, p),
                        "topology \"default\" allows to fit only 7 out of 12 pod(s). Total nodes: "
                        "4; excluded: resource \"cpu\": 1");
    sl_topo_free(t);
}

/* ---- what else stands there ---- */

static void test_others(void **state) {
    (void)state;
    struct sl_topo *t = sl_topo_new();
    struct sl_flavor_spec f = tas_flavor("f");
    assert_false(sl_topo_add_foreign_pods(t, "x1", &one_cpu, 1, 3)); /* before anything is known */
    apply_nodes(t, "b1/r1/x1=4,5");
    assert_false(sl_topo_has(t, "f"));
    assert_true(sl_topo_flavor(t, &f, "default"));
    assert_true(sl_topo_has(t, "f"));
    assert_false(sl_topo_known(t, "f"));
    assert_string_equal(try_one(t, 1, podset(1, REQ, HOST)),
                        "Flavor \"f\" information missing in TAS cache");
    assert_true(sl_topo_levels(t, "default", host_levels, 3));
    assert_false(sl_topo_levels(t, "default", host_levels, 3));
    assert_true(sl_topo_known(t, "f"));
    assert_string_equal(try_one(t, 1, podset(2, REQ, HOST)),
                        "topology \"default\" allows to fit only 1 out of 2 pod(s)");
    assert_true(sl_topo_add_foreign_pods(t, "x1", &one_cpu, 1, -1));
    assert_string_equal(try_one(t, 1, podset(2, REQ, HOST)), "x1:2");
    /* pods without requests take a pod each */
    assert_false(sl_topo_add_foreign_pods(t, "x1", NULL, 0, 1));
    assert_true(sl_topo_add_foreign_pods(t, "x1", &one_cpu, 1, -5)); /* nobody can owe */
    sl_topo_release(t, 1);
    assert_string_equal(try_one(t, 1, podset(5, REQ, HOST)),
                        "topology \"default\" allows to fit only 4 out of 5 pod(s)");
    assert_false(sl_topo_levels_gone(t, "default"));
    assert_false(sl_topo_known(t, "f"));
    sl_topo_free(t);
}

static void test_node_news(void **state) {
    (void)state;
    struct sl_topo *t = hosts("");
    struct told x;
    assert_true(apply_node(t, "b1/r1/x1=4"));
    assert_false(apply_node(t, "b1/r1/x1=4"));
    assert_false(apply_node(t, "b1/r1/x1=3"));
    assert_true(apply_node(t, "b1/r1/x1=5"));
    read_node("b1/r1/x1=9", &x);
    x.n.usable = false;
    (void)sl_topo_node(t, &x.n);
    assert_string_equal(try_one(t, 1, podset(1, REQ, HOST)), "no topology domains at level: " HOST);
    read_node("b1/r1/x2=9", &x); /* not of this flavor */
    x.labels[0].value = "no";
    assert_false(sl_topo_node(t, &x.n));
    read_node("b1/r1/x3=9", &x); /* without a level */
    x.labels[2].key = "other";
    (void)sl_topo_node(t, &x.n);
    assert_string_equal(try_one(t, 1, podset(1, REQ, HOST)), "no topology domains at level: " HOST);
    assert_false(sl_topo_node_gone(t, "x9"));
    /* nodes that share a hostname are one host, where the first by name is */
    read_node("b2/r2/h=2", &x);
    x.n.name = "m";
    assert_true(sl_topo_node(t, &x.n));
    read_node("b1/r1/h=3", &x);
    x.n.name = "k";
    assert_true(sl_topo_node(t, &x.n));
    assert_string_equal(try_one(t, 1, podset(5, REQ, HOST)), "h:5");
    assert_string_equal(try_one(t, 2, podset(1, REQ, BLOCK)),
                        "topology \"default\" doesn't allow to fit any of 1 pod(s). Total nodes: "
                        "1; excluded: resource \"cpu\": 1");
    sl_topo_free(t);
}

/* ---- what is held ---- */

static void test_hold(void **state) {
    (void)state;
    struct sl_topo *t = sl_topo_new();
    struct sl_flavor_spec f = tas_flavor("f"), g = tas_flavor("g");
    const char *const host[] = {HOST}, *const x1[] = {"x1"}, *const x2[] = {"x2"};
    struct sl_topo_domain d[] = {{x1, 3}, {x2, 1}};
    struct sl_topo_place place = {.levels = host, .n_levels = 1, .domains = d, .n_domains = 2};
    struct sl_topo_podset p = podset(4, REQ, RACK), q = podset(3, REQ, RACK);

    sl_topo_hold(t, 7, &p, &place, 1); /* before the nodes are known */
    sl_topo_hold(t, 7, &p, &place, 1);
    assert_string_equal(held(t, 7), "x1:3 x2:1");
    (void)sl_topo_flavor(t, &f, "default");
    (void)sl_topo_flavor(t, &g, "default");
    (void)sl_topo_levels(t, "default", host_levels, 3);
    apply_nodes(t, "b1/r1/x1=4 b1/r1/x2=2");
    q.flavor = "g"; /* another flavor on the same hosts */
    assert_string_equal(try_one(t, 8, q),
                        "topology \"default\" allows to fit only 2 out of 3 pod(s)");
    assert_int_equal(sl_topo_refused(t), 0);
    assert_string_equal(held(t, 8), "");
    q.count = 2;
    assert_string_equal(try_one(t, 8, q), "x1:1 x2:1");
    (void)sl_topo_node_gone(t, "x1"); /* its place waits for it */
    sl_topo_release(t, 8);
    sl_topo_release(t, 8);
    apply_nodes(t, "b1/r1/x1=4");
    assert_string_equal(try_one(t, 8, q), "x1:1 x2:1");
    sl_topo_release(t, 7);
    assert_string_equal(try_one(t, 9, podset(4, REQ, RACK)), "x1:3 x2:1");
    (void)sl_topo_flavor_gone(t, "g");
    assert_string_equal(held(t, 8), "x1:1 x2:1");
    sl_topo_free(t);
}

static void test_replaces(void **state) {
    (void)state;
    struct sl_topo *t = hosts("b1/r1/x1=4");
    struct sl_topo_podset p = podset(3, REQ, RACK), q = podset(4, REQ, RACK);
    char why[200];
    assert_string_equal(try_one(t, 1, p), "x1:3");
    assert_false(sl_topo_place(t, 2, 0, &q, 1, why, sizeof why));
    assert_true(sl_topo_place(t, 2, 1, &q, 1, why, sizeof why));
    assert_string_equal(held(t, 1), "x1:3"); /* both, until the first one goes */
    assert_string_equal(held(t, 2), "x1:4");
    sl_topo_release(t, 2);
    assert_string_equal(try_one(t, 2, podset(1, REQ, RACK)), "x1:1");
    sl_topo_free(t);
}

static void test_aside(void **state) {
    (void)state;
    struct sl_topo *t = hosts("b1/r1/x1=4");
    assert_string_equal(try_one(t, 1, podset(3, REQ, RACK)), "x1:3");
    sl_topo_set_aside(t, 1, true);
    sl_topo_set_aside(t, 1, true);
    sl_topo_set_aside(t, 9, true);
    assert_string_equal(try_one(t, 2, podset(4, REQ, RACK)), "x1:4");
    assert_string_equal(held(t, 1), "x1:3");
    sl_topo_release(t, 2);
    sl_topo_set_aside(t, 1, false);
    assert_string_equal(try_one(t, 2, podset(2, REQ, RACK)),
                        "topology \"default\" allows to fit only 1 out of 2 pod(s)");
    sl_topo_set_aside(t, 1, true); /* it may go meanwhile */
    sl_topo_release(t, 1);
    assert_string_equal(try_one(t, 2, podset(4, REQ, RACK)), "x1:4");
    sl_topo_free(t);
}

static void test_several_podsets(void **state) {
    (void)state;
    struct sl_topo *t = hosts("b1/r1/x1=4 b1/r2/x2=3");
    struct sl_topo_podset v[] = {podset(2, REQ, RACK), podset(3, REQ, RACK), podset(2, REQ, RACK)};
    char why[200];
    assert_string_equal(try_many(t, 1, v, 2), "x2:2 | x1:3");
    sl_topo_release(t, 1);
    v[2].flavor = ""; /* it needs no place */
    assert_string_equal(try_many(t, 1, v, 3), "x2:2 | x1:3 |");
    v[2].flavor = "f";
    assert_string_equal(try_many(t, 1, v, 3),
                        "topology \"default\" allows to fit only 1 out of 2 pod(s)");
    assert_int_equal(sl_topo_refused(t), 2);
    assert_string_equal(held(t, 1), "");
    v[0].count = 4; /* all was given back */
    assert_string_equal(try_many(t, 1, v, 2), "x1:4 | x2:3");
    /* the name of the flavor says who is first */
    struct sl_flavor_spec e = tas_flavor("e");
    (void)sl_topo_flavor(t, &e, "default");
    v[0] = podset(3, REQ, RACK);
    v[1] = podset(3, REQ, RACK);
    v[1].flavor = "e";
    assert_string_equal(try_many(t, 1, v, 2), "x1:3 | x2:3");
    struct sl_topo_podset many[SL_MAX_PODSETS + 1] = {0};
    assert_false(sl_topo_place(t, 1, 0, many, SL_MAX_PODSETS + 1, why, sizeof why));
    sl_topo_free(t);
}

/* ---- an elastic job's next slice ---- */

static void test_before(void **state) {
    (void)state;
    struct sl_topo *t = hosts("b1/r1/x1=4 b1/r1/x2=4 b1/r1/x3=1");
    const char *const host[] = {HOST}, *const x1[] = {"x1"}, *const x2[] = {"x2"};
    struct sl_topo_domain d[] = {{x1, 1}, {x2, 3}};
    struct sl_topo_podset p = podset(4, FREE, NULL);
    p.before = (struct sl_topo_place){.levels = host, .n_levels = 1, .domains = d, .n_domains = 2};
    assert_string_equal(try_one(t, 1, p), "x1:1 x2:3");
    p.count = 2;
    assert_string_equal(try_one(t, 1, p), "x1:1 x2:1");
    p.count = 5; /* the fullest host that holds the rest */
    assert_string_equal(try_one(t, 1, p), "x1:1 x2:4");
    p.count = 7;
    assert_string_equal(try_one(t, 1, p), "x1:4 x2:3");
    p.count = 8; /* none: from the fullest up */
    assert_string_equal(try_one(t, 1, p), "x1:3 x2:4 x3:1");
    p.count = 10;
    assert_string_equal(try_one(t, 1, p),
                        "topology \"default\" allows to fit only 5 out of 6 pod(s)");
    assert_string_equal(held(t, 1), "");
    /* a domain is no more: afresh */
    (void)sl_topo_node_gone(t, "x2");
    p.count = 4;
    assert_string_equal(try_one(t, 1, p), "x1:4");
    sl_topo_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),          cmocka_unit_test(test_racks),
        cmocka_unit_test(test_exclusions),      cmocka_unit_test(test_others),
        cmocka_unit_test(test_node_news),       cmocka_unit_test(test_hold),
        cmocka_unit_test(test_replaces),        cmocka_unit_test(test_aside),
        cmocka_unit_test(test_several_podsets), cmocka_unit_test(test_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
