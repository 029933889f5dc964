/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that hold more of a node than it has: it has shrunk, others have filled it, or their pods
 * have come to request more while nobody looked. They get other places, and the queue rests. */
#include "fqtest.h"

#include "manager/fluxqueue/fq_int.h"

static void shrink(struct world *w, const char *name, const char *cpu) {
    char path[300], body[200];
    sl_fmt(path, sizeof path, NODES "/%s/status", name);
    sl_fmt(body, sizeof body, "{\"status\":{\"allocatable\":{\"cpu\":\"%s\"}}}", cpu);
    patch(w, path, body);
}

/* One pod on each of two nodes, the second of which 'b' fills. */
static void begin(struct world *w) {
    node(w, "n0", "1");
    node(w, "n1", "2");
    set(w, "set", 2, "1");
    run(w, SL_SEC);
    (void)child_of(w, "StatefulSet", "set", 0, "1");
    run(w, SL_SEC);
    (void)child_of(w, "StatefulSet", "set", 1, "1");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0");
    assert_field(w, PODS "/set-1", "spec.nodeName", "n1");
    assert_field(w, PODS "/b", "spec.nodeName", "n1");
}

/* The next pod of the set requests more than its place is, and the node of the other one would not
 * be given to it now. */
static void meanwhile(struct world *w) {
    stop(w, 0);
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : true}}));
    roll(w, SETS "/set", "2");
    drop(w, PODS "/set-1");
    (void)child_of(w, "StatefulSet", "set", 1, "2");
    node(w, "n2", "2");
}

/* A template is changed while nobody leads: the place of the old pod is none for the new one. */
static void test_larger_template(void **state) {
    struct world *w = *state;
    begin(w);
    meanwhile(w);
    start(w, 0, false);
    run(w, 10 * SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n2");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.nodeList", "n[0,2]");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Allocated");
}

/* A node shrinks below a place: while there is no other one, no graph is made in vain. */
static void test_shrunk(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    set(w, "set", 2, "2");
    run(w, SL_SEC);
    (void)child_of(w, "StatefulSet", "set", 0, "2");
    run(w, SL_SEC);
    shrink(w, "n0", "1");
    (void)child_of(w, "StatefulSet", "set", 1, "2");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Growing");
    sl_time rebuilt = w->q[0]->rebuilt_at;
    run(w, SL_MINUTE);
    assert_int_equal(w->q[0]->rebuilt_at, rebuilt);
    assert_true(sl_fluxqueue_idle(w->q[0]));
    node(w, "n1", "2");
    run(w, 10 * SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n1");
    rebuilt = w->q[0]->rebuilt_at;
    drop(w, PODS "/set-1"); /* what it has left is still more than n0 has */
    patch(w, SETS "/set", SL_JSON_CONST({"spec" : {"replicas" : 1}}));
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.nodeList", "n0");
    assert_int_equal(w->q[0]->rebuilt_at, rebuilt);
}

/* After a restart all places in the queue are what they were, whichever is read first. */
static void test_positions(void **state) {
    static const char *const names[] = {"t0", "t1", "t2", "a3", "a4", "a5"};
    struct world *w = *state;
    char path[200];
    begin(w);
    for (size_t i = 0; i < SL_LEN(names); i++) {
        pod(w, names[i], "2", "", "");
        run(w, 2 * SL_SEC);
    }
    meanwhile(w);
    patch(w, NODES "/n2", SL_JSON_CONST({"spec" : {"unschedulable" : true}}));
    start(w, 0, false);
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Growing");
    for (size_t i = 0; i < SL_LEN(names); i++) {
        sl_fmt(path, sizeof path, FLUXJOBS "/%s-pod", names[i]);
        assert_int_equal(number(w, path, "status.queuePosition"), i + 1);
    }
    uint32_t writes = w->writes;
    restart(w, 30 * SL_SEC);
    assert_int_equal(w->writes, writes);
}

#define TEST(f) cmocka_unit_test_setup_teardown((f), setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_larger_template),
        TEST(test_shrunk),
        TEST(test_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
