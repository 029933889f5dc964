/* SPDX-License-Identifier: Apache-2.0 */
/* What runs is changed, and restarts between. */
#include "fqtest.h"

#include "lib/log/log.h"

#define MARK "/api/v1/namespaces/kueue-system/configmaps/sluice-fluxqueue"

static void restart(struct world *w) {
    stop(w, 0);
    start(w, 0, false);
    run(w, 10 * SL_SEC);
}

/* ---- job ids ---- */

static void test_ids_are_used_once(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/b-pod", "status.jobid"), 2);
    drop(w, PODS "/b");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "(absent)");
    assert_string_equal(sl_json_str(sl_json_get(fakeapi_get(w->api, MARK), "data"), "lastJobid"),
                        "2");
    restart(w);
    pod(w, "c", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/c-pod", "status.jobid"), 3);
    /* One that goes and is not the last needs no write. */
    drop(w, PODS "/a");
    run(w, SL_SEC);
    assert_string_equal(sl_json_str(sl_json_get(fakeapi_get(w->api, MARK), "data"), "lastJobid"),
                        "2");
    drop(w, PODS "/c");
    run(w, SL_SEC);
    restart(w);
    pod(w, "d", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/d-pod", "status.jobid"), 4);
    assert_true(sl_fluxqueue_idle(w->q[0]));
}

/* Two replicas in turns: the other one has not seen what this one gave. */
static void test_ids_of_two(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    start(w, 1, true);
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    sl_fluxqueue_lead(w->q[0], false);
    sl_fluxqueue_lead(w->q[1], true);
    run(w, SL_SEC);
    stop(w, 0);
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    drop(w, PODS "/b");
    drop(w, PODS "/a");
    run(w, SL_SEC);
    start(w, 0, true);
    run(w, SL_SEC);
    sl_fluxqueue_lead(w->q[1], false);
    sl_fluxqueue_lead(w->q[0], true);
    run(w, SL_SEC);
    pod(w, "c", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/c-pod", "status.jobid"), 3);
}

static int refuse_maps(void *ctx, const struct fakeapi_write *x, struct sl_buf *why) {
    (void)ctx;
    sl_buf_puts(why, "no");
    return strcmp(x->kind->plural, "configmaps") == 0 ? 403 : 0;
}

/* Where it may not be recorded, nobody waits for it. */
static void test_ids_without_right(void **state) {
    struct world *w = *state;
    fakeapi_on_write(w->api, refuse_maps, w);
    node(w, "n0", "4");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    drop(w, PODS "/a");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "(absent)");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/b-pod", "status.jobid"), 2);
    assert_true(sl_fluxqueue_idle(w->q[0]));
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_ids_are_used_once),
        TEST(test_ids_of_two),
        TEST(test_ids_without_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
