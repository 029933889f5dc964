/* SPDX-License-Identifier: Apache-2.0 */
/* Why a Workload has no nodes: for how many of its pods there are some, as nodes come and go. */
#include "fqtest.h"

#include "manager/fluxqueue/exact.h"

#define NODES_THERE 12

static char why[300];

static bool place(struct world *w, uint64_t key, uint32_t count, const char *annotations) {
    char pod[400];
    uint32_t refused;
    sl_fmt(pod, sizeof pod,
           "{\"metadata\":{\"annotations\":{%s}},\"spec\":{\"containers\":[{\"name\":\"c\","
           "\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}",
           annotations);
    const struct sl_exact_owner o = {.key = key, .ns = "default", .name = "w", .since = SL_SEC};
    const struct sl_exact_podset p = {.ns = "default", .name = "main", .pod = pod, .count = count};
    why[0] = '\0';
    return sl_exact_place(w->q[0], &o, &p, 1, &refused, why, sizeof why);
}

static void expect(struct world *w, uint32_t count, const char *annotations, uint32_t most) {
    char text[100];
    assert_false(place(w, 1, count, annotations));
    sl_fmt(text, sizeof text, "no set of nodes has room for %u pod(s), only for %u of them", count,
           most);
    assert_string_equal(why, text);
}

/* Nodes of two pods each. */
static void nodes(struct world *w) {
    char name[16], path[64], body[120];
    for (int i = 0; i < NODES_THERE; i++) {
        sl_fmt(name, sizeof name, "n%02d", i);
        node(w, name, "4");
        sl_fmt(path, sizeof path, NODES "/%s", name);
        sl_fmt(body, sizeof body, "{\"metadata\":{\"labels\":{\"kubernetes.io/hostname\":\"%s\"}}}",
               name);
        patch(w, path, body);
    }
    sl_exact_use(w->q[0]);
    run(w, SL_SEC);
    sl_exact_observed(w->q[0], true);
    run(w, SL_SEC);
}

/* What was the answer last time is tried first, and is not believed. */
static void test_as_room_changes(void **state) {
    struct world *w = *state;
    nodes(w);
    assert_true(place(w, 10, 8, "") && place(w, 11, 1, "") && place(w, 12, 7, ""));
    expect(w, 20, "", 8);
    expect(w, 20, "", 8);
    sl_exact_release(w->q[0], 11);
    expect(w, 20, "", 9);
    sl_exact_release(w->q[0], 12);
    expect(w, 20, "", 16);
    assert_true(place(w, 12, 15, ""));
    expect(w, 20, "", 1);
    assert_true(place(w, 13, 1, ""));
    expect(w, 20, "", 0);
    sl_exact_release(w->q[0], 12);
    expect(w, 20, "", 15);
    expect(w, 16, "", 15);
    sl_exact_release(w->q[0], 13);
    assert_true(place(w, 1, 16, ""));
}

/* Where pods stand in pairs, an odd number has no nodes. */
static void test_in_pairs(void **state) {
    static const char *const pairs = "\"fluxqueue/tasks-per-node\":\"2\"";
    struct world *w = *state;
    nodes(w);
    assert_true(place(w, 10, 8, pairs) && place(w, 11, 8, pairs));
    expect(w, 20, pairs, 8);
    sl_exact_release(w->q[0], 11);
    expect(w, 20, pairs, 16);
    assert_true(place(w, 11, 14, pairs));
    expect(w, 20, pairs, 2);
}

/* The nodes of its RuntimeClass are asked for, too. */
static void test_runtime_class(void **state) {
    struct world *w = *state;
    const struct sl_exact_owner o = {.key = 1, .ns = "default", .name = "w", .since = SL_SEC};
    const struct sl_exact_podset p = {
        .ns = "default",
        .name = "main",
        .pod = "{\"spec\":{\"runtimeClassName\":\"kata\",\"containers\":[{\"name\":\"c\"}]}}",
        .count = 1};
    struct sl_arena a = SL_ARENA(10000);
    const struct sl_exact_place *places;
    uint32_t refused;
    nodes(w);
    create(w, "/apis/node.k8s.io/v1/runtimeclasses",
           "{'metadata':{'name':'kata'},'handler':'kata','scheduling':{'nodeSelector':{"
           "'kubernetes.io/hostname':'n07'}}}");
    run(w, SL_SEC);
    assert_true(sl_exact_place(w->q[0], &o, &p, 1, &refused, why, sizeof why));
    assert_int_equal(sl_exact_held(w->q[0], 1, &a, &places), 1);
    assert_string_equal(places[0].v[0].hostname, "n07");
    sl_arena_done(&a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_as_room_changes), TEST(test_in_pairs),
                                       TEST(test_runtime_class)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
