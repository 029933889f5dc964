/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings that are on their way when the places that they were made for are given back: the node
 * is not given to others before it is known what became of them. */
#include "fqtest.h"

#include "manager/fluxqueue/fq_int.h"

/* The binding of the only pod of a Job is sent, and meets these faults; then the Job is deleted
 * without its pod, and so is its FluxJob. */
static void orphan(struct world *w, const struct fakeapi_faults *faults) {
    node(w, "n0", "1");
    job(w, "a", 1, "1", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-job", "status.state", "Running");
    fakeapi_set_faults(w->api, faults);
    (void)child(w, "Job", "a", 0);
    run(w, 3 * SL_MSEC); /* it arrives, or is delayed */
    fakeapi_set_faults(w->api, NULL);
    assert_field(w, PODS "/a-0", "spec.nodeName", "");
    assert_int_equal(fakeapi_do(w->api, SL_DELETE, JOBS "/a", SL_JSON,
                                SL_JSON_CONST({"propagationPolicy" : "Orphan"}), NULL),
                     200);
    run(w, SL_MSEC);
    (void)fakeapi_do(w->api, SL_DELETE, FLUXJOBS "/a-job", SL_JSON, NULL, NULL);
    plain(w, "b", "1", "");
}

static void test_arrives(void **state) {
    struct world *w = *state;
    orphan(w, &(struct fakeapi_faults){.delay = 1});
    run(w, SL_MINUTE);
    assert_field(w, PODS "/a-0", "spec.nodeName", "n0");
    assert_field(w, PODS "/b", "spec.nodeName", "");
    phase(w, "a-0", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* Then the pod is read, and who comes first gets the node: the orphan is a job by itself. */
static void test_lost(void **state) {
    struct world *w = *state;
    orphan(w, &(struct fakeapi_faults){.lose_request = 1});
    run(w, 100 * SL_MSEC);
    assert_field(w, PODS "/b", "spec.nodeName", "");
    run(w, 2 * SL_MINUTE);
    assert_string_not_equal(at(w, PODS "/a-0", "spec.nodeName"), at(w, PODS "/b", "spec.nodeName"));
    assert_true(sl_fluxqueue_idle(w->q[0]));
}

/* A connection that goes silent is noticed later than one that is reset. */
static int setup_silent(void **state) {
    fq_seed = 2;
    int r = setup(state);
    fq_seed = 1;
    return r;
}

#define TEST(f) cmocka_unit_test_setup_teardown((f), setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_arrives),
        cmocka_unit_test_setup_teardown(test_lost, setup_silent, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
