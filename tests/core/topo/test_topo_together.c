/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods that belong together in a topology: slices of a podset, and a leader with its workers.
 */
#include "topo_fixture.h"

#define REQ SL_TOPO_REQUIRED
#define PREF SL_TOPO_PREFERRED
#define FREE SL_TOPO_UNCONSTRAINED

#define SMALL "b1/r1/x1=2 b1/r1/x2=2 b1/r2/x3=4 b2/r1/x4=4 b2/r1/x5=3"

struct layer {
    const char *level;
    int32_t size;
};

static void test_slices(void **state) {
    (void)state;
    static const struct {
        const char *nodes;
        int32_t count;
        enum sl_topo_mode mode;
        const char *level;
        struct layer slices[3];
        const char *want;
    } cases[] = {
        /* slices of three: one per rack of four, two in the rack of seven */
        {SMALL, 6, REQ, BLOCK, {{RACK, 3}}, "x4:3 x5:3"},
        {SMALL, 3, REQ, BLOCK, {{RACK, 3}}, "x5:3"},
        {SMALL,
         9,
         REQ,
         BLOCK,
         {{RACK, 3}},
         "topology \"default\" allows to fit only 2 out of 3 slice(s)"},
        {SMALL, 9, PREF, BLOCK, {{RACK, 3}}, "x1:2 x2:1 x4:3 x5:3"},
        {SMALL, 12, PREF, RACK, {{RACK, 3}}, "x1:2 x2:1 x3:3 x4:3 x5:3"},
        {SMALL,
         15,
         PREF,
         RACK,
         {{RACK, 3}},
         "topology \"default\" allows to fit only 4 out of 5 slice(s)"},
        /* no level beside the slices': from the top, the fullest first */
        {SMALL, 6, FREE, NULL, {{RACK, 3}}, "x4:3 x5:3"},
        {SMALL, 4, SL_TOPO_IMPLIED, NULL, {{HOST, 2}}, "x4:2 x5:2"},
        /* what does not come out even is placed all the same */
        {SMALL, 7, REQ, BLOCK, {{RACK, 4}}, "x1:2 x2:2 x3:3"},
        /* pairs on hosts within slices of four in racks */
        {SMALL, 4, REQ, BLOCK, {{RACK, 4}, {HOST, 2}}, "x4:2 x5:2"},
        {SMALL, 8, REQ, BLOCK, {{RACK, 4}, {HOST, 2}}, "x1:2 x2:2 x3:4"},
        {SMALL,
         12,
         REQ,
         BLOCK,
         {{RACK, 4}, {HOST, 2}},
         "topology \"default\" doesn't allow to fit; 2/3 slice(s) fit on level " RACK
         "; 4/6 slice(s) fit on level " HOST},
        /* what cannot be asked */
        {SMALL, 4, REQ, BLOCK, {{"row", 2}}, "no requested topology level for slices: row"},
        {SMALL,
         4,
         REQ,
         HOST,
         {{RACK, 2}},
         "podset slice topology " RACK " is above the podset topology " HOST},
        {SMALL,
         4,
         REQ,
         BLOCK,
         {{RACK, -1}},
         "slice topology requested, but slice size not provided"},
        {SMALL,
         4,
         REQ,
         BLOCK,
         {{RACK, 4}, {"row", 2}},
         "no requested topology level for additional slice layer: row"},
        {SMALL,
         4,
         REQ,
         BLOCK,
         {{RACK, 4}, {BLOCK, 2}},
         "additional slice layer topology " BLOCK " must be at a lower level than " RACK},
        {SMALL,
         4,
         REQ,
         BLOCK,
         {{RACK, 4}, {HOST, 3}},
         "additional slice layer size 3 must evenly divide parent layer size 4"},
        {SMALL,
         4,
         REQ,
         BLOCK,
         {{RACK, 4}, {HOST, 0}},
         "additional slice layer size 0 must evenly divide parent layer size 4"},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_topo *t = hosts(cases[i].nodes);
        struct sl_topo_podset p = podset(cases[i].count, cases[i].mode, cases[i].level);
        for (uint32_t k = 0; k < 3 && cases[i].slices[k].level; k++) {
            p.request.slices[k].level = cases[i].slices[k].level;
            p.request.slices[k].size = cases[i].slices[k].size;
            p.request.n_slices++;
        }
        assert_string_equal(try_one(t, 1, p), cases[i].want);
        sl_topo_free(t);
    }
}

/* ---- a leader and its workers ---- */

static void test_leader(void **state) {
    (void)state;
    static const struct {
        const char *nodes;
        int32_t workers, leader; /* cpu of the leader */
        enum sl_topo_mode mode;
        const char *level, *where, *leads; /* NULL: nowhere, and why */
    } cases[] = {
        {SMALL, 3, 1, REQ, RACK, "x1:1 x2:2", "x1:1"},
        {SMALL, 3, 2, REQ, RACK, "x4:2 x5:1", "x4:1"},
        {SMALL, 2, 2, REQ, HOST, "x3:2", "x3:1"},
        {SMALL, 4, 1, REQ, HOST, "topology \"default\" allows to fit only 4 out of 4 pod(s)", NULL},
        {SMALL, 4, 1, PREF, HOST, "x4:3 x5:1", "x4:1"},
        {SMALL, 14, 1, PREF, RACK, "x1:2 x2:2 x3:3 x4:4 x5:3", "x3:1"},
        {SMALL, 15, 1, PREF, RACK, "topology \"default\" allows to fit only 14 out of 15 pod(s)",
         NULL},
        {SMALL, 4, 9, PREF, RACK, "topology \"default\" doesn't allow to fit any of 4 pod(s)",
         NULL},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++)
        for (uint32_t swapped = 0; swapped < 2; swapped++) {
            struct sl_topo *t = hosts(cases[i].nodes);
            struct sl_request cpu = {"cpu", UNITS(cases[i].leader)};
            struct sl_topo_podset v[2];
            char both[100];
            v[swapped] = podset(cases[i].workers, cases[i].mode, cases[i].level);
            v[1 - swapped] = podset(1, cases[i].mode, cases[i].level);
            v[1 - swapped].requests = &cpu;
            v[0].group = v[1].group = "g";
            (void)snprintf(both, sizeof both, "%s | %s", swapped ? cases[i].leads : cases[i].where,
                           swapped ? cases[i].where : cases[i].leads);
            assert_string_equal(try_many(t, 1, v, 2), cases[i].leads ? both : cases[i].where);
            sl_topo_free(t);
        }
}

/* Not a leader with workers: each for itself. */
static void test_no_group(void **state) {
    (void)state;
    struct sl_topo *t = hosts("b1/r1/x1=2 b1/r2/x2=2 b1/r3/x3=2");
    struct sl_topo_podset v[3] = {podset(2, REQ, RACK), podset(2, REQ, RACK), podset(1, REQ, RACK)};
    v[0].group = v[1].group = v[2].group = "g";
    assert_string_equal(try_many(t, 1, v, 2), "x1:2 | x2:2");
    assert_string_equal(try_many(t, 1, v, 3), "x1:2 | x2:2 | x3:1");
    v[1].count = 0;
    assert_string_equal(try_many(t, 1, v, 2), "x1:2 |");
    /* another flavor is another group */
    struct sl_flavor_spec f = tas_flavor("e");
    (void)sl_topo_flavor(t, &f, "default");
    v[1].count = 1;
    v[1].flavor = "e";
    assert_string_equal(try_many(t, 1, v, 2), "x2:2 | x1:1");
    sl_topo_free(t);
}

/* A leader with slices below which it stands, and one that stays where it was. */
static void test_leader_more(void **state) {
    (void)state;
    struct sl_topo *t = hosts("b1/r1/x1=2 b1/r1/x2=3 b1/r2/x3=4 b1/r2/x4=2");
    struct sl_topo_podset v[2] = {podset(4, REQ, BLOCK), podset(1, REQ, BLOCK)};
    v[0].group = v[1].group = "g";
    v[0].request.slices[0].level = RACK;
    v[0].request.slices[0].size = 4;
    v[0].request.n_slices = 1;
    assert_string_equal(try_many(t, 1, v, 2), "x1:2 x2:2 | x2:1");
    const char *const host[] = {HOST}, *const x1[] = {"x1"}, *const x4[] = {"x4"};
    struct sl_topo_domain dw = {x1, 2}, dl = {x4, 1};
    v[0] = podset(3, PREF, RACK);
    v[1] = podset(1, PREF, RACK);
    v[0].group = v[1].group = "g";
    v[0].before =
        (struct sl_topo_place){.levels = host, .n_levels = 1, .domains = &dw, .n_domains = 1};
    v[1].before =
        (struct sl_topo_place){.levels = host, .n_levels = 1, .domains = &dl, .n_domains = 1};
    assert_string_equal(try_many(t, 1, v, 2), "x1:2 x2:1 | x4:1");
    v[0].count = 2;
    v[1].before.n_domains = 0;
    assert_string_equal(try_many(t, 1, v, 2), "x1:2 | x2:1");
    sl_topo_free(t);
    /* most workers fit beside it on x1, but then not all of them */
    struct sl_request two = {"cpu", UNITS(2)}, three = {"cpu", UNITS(3)};
    t = hosts("b1/r1/x1=10 b1/r1/x2=5");
    v[0] = podset(6, REQ, RACK);
    v[1] = podset(1, REQ, RACK);
    v[0].requests = &two;
    v[1].requests = &three;
    v[0].group = v[1].group = "g";
    assert_string_equal(try_many(t, 1, v, 2), "x1:5 x2:1 | x2:1");
    sl_topo_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_leader),
        cmocka_unit_test(test_no_group),
        cmocka_unit_test(test_leader_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
