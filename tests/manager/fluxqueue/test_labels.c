/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that lose the label by which they are read, though admission refuses that: what they have
 * on their nodes counts once, and what waited for them has nothing. Labels of nodes that change all
 * the time. */
#include "fqtest.h"

#include "lib/log/log.h"
#include "manager/fluxqueue/fq_int.h"

static void unmark(struct world *w, const char *path) {
    patch(w, path, SL_JSON_CONST({"metadata" : {"labels" : {"fluxqueue.seen" : null}}}));
}

static void assert_unmarked(struct world *w, const char *flux) {
    assert_field(w, flux, "status.state", "Pending");
    assert_field(w, flux, "status.reason", "ObjectUnmarked");
    assert_int_equal(sl_json_size(sl_json_at(fakeapi_get(w->api, flux), "status.nodes")), 0);
}

/* A Job that runs: the rest of its node is for others, no more and no less. */
static void test_running(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    job(w, "a", 2, "1", "");
    run(w, SL_SEC);
    child(w, "Job", "a", 0);
    child(w, "Job", "a", 1);
    run(w, SL_SEC);
    assert_field(w, PODS "/a-1", "spec.nodeName", "n0");
    unmark(w, JOBS "/a");
    run(w, 15 * SL_SEC);
    assert_unmarked(w, FLUXJOBS "/a-job");
    pod(w, "b", "2", "", "");
    pod(w, "c", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    assert_field(w, PODS "/c", "spec.nodeName", "");
    stop(w, 0);
    start(w, 0, false);
    run(w, 15 * SL_SEC);
    assert_unmarked(w, FLUXJOBS "/a-job");
    assert_field(w, PODS "/c", "spec.nodeName", "");
    phase(w, "a-0", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
}

/* One that waits leaves the queue, and is back when it has the label again. */
static void test_waiting(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    pod(w, "first", "2", "'fluxqueue/duration':'60'", "");
    run(w, SL_SEC);
    job(w, "a", 2, "1", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-job", "status.state", "Reserved");
    unmark(w, JOBS "/a");
    run(w, 15 * SL_SEC);
    assert_unmarked(w, FLUXJOBS "/a-job");
    phase(w, "first", "Succeeded");
    pod(w, "b", "2", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    patch(w, JOBS "/a", SL_JSON_CONST({"metadata" : {"labels" : {"fluxqueue.seen" : "yes"}}}));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-job", "status.state", "Waiting");
    phase(w, "b", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-job", "status.state", "Running");
    run(w, 15 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-job", "status.state", "Running");
}

/* Such as those with a time, or a load: the graph does not keep what they were. */
static void test_changing(void **state) {
    struct world *w = *state;
    char body[100];
    uint32_t most = 0, made;
    node(w, "n0", "1");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    made = w->q[0]->universe.n_names;
    for (uint32_t i = 0; i < 2 * FQ_MAX_OLD_NAMES; i++) {
        sl_fmt(body, sizeof body, "{\"metadata\":{\"labels\":{\"example.com/at\":\"%u\"}}}", i);
        patch(w, NODES "/n0", body);
        run(w, 10 * SL_MSEC);
        uint32_t n = sl_graph_syms(sl_match_graph(w->q[0]->match))->names.n;
        most = n > most ? n : most;
    }
    assert_in_range(most, FQ_MAX_OLD_NAMES, 2 * made + FQ_MAX_OLD_NAMES + 10);
    assert_int_equal(w->q[0]->universe.n_names, made + 3);
    assert_field(w, FLUXJOBS "/a-pod", "status.nodeList", "n0");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_running),
        TEST(test_waiting),
        TEST(test_changing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
