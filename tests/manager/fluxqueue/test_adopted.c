/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that run without a place of their job: their node was away, or their FluxJob is another one
 * than they were started by. The job has its places where they are, and asks for no others. */
#include "fqtest.h"

#define SET FLUXJOBS "/s-statefulset"

/* A set of two pods that run on n0, and another node. */
static void begin(struct world *w, const char *cpu) {
    node(w, "n0", "2");
    set(w, "s", 2, "1");
    run(w, SL_SEC);
    for (int i = 0; i < 2; i++)
        (void)child(w, "StatefulSet", "s", i);
    run(w, SL_SEC);
    phase(w, "s-0", "Running");
    phase(w, "s-1", "Running");
    node(w, "n1", cpu);
    run(w, SL_SEC);
    assert_field(w, SET, "status.nodeList", "n0");
    assert_int_equal(number(w, SET, "status.pods.bound"), 2);
}

/* What they have is not counted twice, nor is anything else: all of n1 is free. */
static void check(struct world *w, const char *cpu) {
    assert_field(w, SET, "status.state", "Running");
    assert_field(w, SET, "status.nodeList", "n0");
    assert_int_equal(number(w, SET, "status.pods.bound"), 2);
    plain(w, "all", cpu, "");
    plain(w, "more", "100m", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/all", "spec.nodeName", "n1");
    assert_field(w, PODS "/more", "spec.nodeName", "");
}

/* As a machine that registers again: its pods are still there. */
static void test_node_again(void **state) {
    struct world *w = *state;
    begin(w, "4");
    drop(w, NODES "/n0");
    run(w, 5 * SL_SEC);
    node(w, "n0", "2");
    run(w, 5 * SL_SEC);
    check(w, "4");
}

/* It has less than its pods. */
static void test_node_again_smaller(void **state) {
    struct world *w = *state;
    begin(w, "4");
    drop(w, NODES "/n0");
    run(w, 5 * SL_SEC);
    node(w, "n0", "1");
    run(w, 5 * SL_SEC);
    check(w, "4");
}

/* Somebody has taken off its finalizer and deleted it. */
static void lose_fluxjob(struct world *w) {
    patch(w, SET, "{\"metadata\":{\"finalizers\":null}}");
    drop(w, SET);
    run(w, 5 * SL_SEC);
}

static void test_fluxjob_again(void **state) {
    struct world *w = *state;
    begin(w, "4");
    lose_fluxjob(w);
    check(w, "4");
}

/* There is no room for its pods once more. */
static void test_fluxjob_again_full(void **state) {
    struct world *w = *state;
    begin(w, "1");
    lose_fluxjob(w);
    check(w, "1");
}

/* One of them has to be there to be found; the other gets a place as any pod that comes later. */
static void test_in_part(void **state) {
    struct world *w = *state;
    begin(w, "4");
    drop(w, PODS "/s-1");
    patch(w, SET, "{\"metadata\":{\"finalizers\":null}}");
    drop(w, SET);
    run(w, 5 * SL_SEC);
    (void)child(w, "StatefulSet", "s", 1);
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/s-1", "spec.nodeName", "n0");
    check(w, "4");
}

/* What was deleted without what belongs to it leaves a FluxJob without an owner. */
static void test_orphan(void **state) {
    struct world *w = *state;
    begin(w, "4");
    patch(w, SET, "{\"metadata\":{\"ownerReferences\":null}}");
    drop(w, SETS "/s");
    run(w, SL_SEC);
    assert_field(w, SET, "status.reason", "ObjectNotFound");
    run(w, SL_MINUTE);
    assert_field(w, SET, "metadata.name", "(absent)");
}

/* One that somebody has made waits for its object. */
static void test_by_hand(void **state) {
    struct world *w = *state;
    create(w, FLUXJOBS, "{'metadata':{'name':'h-job'},'spec':{'type':1,'name':'h'}}");
    run(w, SL_HOUR);
    assert_field(w, FLUXJOBS "/h-job", "status.reason", "ObjectNotFound");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_node_again),    TEST(test_node_again_smaller),
        TEST(test_fluxjob_again), TEST(test_fluxjob_again_full),
        TEST(test_in_part),       TEST(test_orphan),
        TEST(test_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
