/* SPDX-License-Identifier: Apache-2.0 */
/* What a FluxJob shows of a job that cannot be one, of its queue, and of its end. */
#include "fqtest.h"

/* An annotation that cannot be read: an event alone is gone after an hour, and no list shows it. */
static void test_invalid_annotation(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    job(w, "a", 1, "1", "'fluxqueue/duration':'soon'");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-job", "status.state", "Rejected");
    assert_field(w, FLUXJOBS "/a-job", "status.reason", "InvalidJobspec");
    assert_non_null(strstr(at(w, FLUXJOBS "/a-job", "status.message"), "fluxqueue/duration"));
    assert_string_equal(sl_json_label(fakeapi_get(w->api, JOBS "/a"), "fluxqueue/unschedulable"),
                        "yes");
    assert_int_equal(events(w, "InvalidJobspec", "a"), 1);
    uint32_t writes = w->writes;
    node(w, "n1", "4"); /* what can never run is tried again */
    run(w, SL_MINUTE);
    assert_int_equal(w->writes, writes);
    stop(w, 0);
    start(w, 0, false);
    run(w, SL_MINUTE);
    assert_int_equal(w->writes, writes);
}

static void test_annotation_is_mended(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    job(w, "a", 1, "1", "'fluxqueue/duration':'soon'");
    run(w, SL_SEC);
    patch(w, JOBS "/a",
          SL_JSON_CONST({"metadata" : {"annotations" : {"fluxqueue/duration" : "5m"}}}));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-job", "status.state", "Running");
    assert_non_null(strstr(at(w, FLUXJOBS "/a-job", "spec.jobspec"), "duration: 300"));
    assert_string_equal(sl_json_label(fakeapi_get(w->api, JOBS "/a"), "fluxqueue/unschedulable"),
                        "");
    assert_false(sl_json_bool(fakeapi_get(w->api, JOBS "/a"), "spec.suspend", true));
}

/* The same of a pod, and of one that waits: the process that comes next would read it, too. */
static void test_annotation_of_a_pod(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    pod(w, "a", "1", "'fluxqueue/duration':'soon'", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Rejected");
    patch(w, PODS "/a",
          SL_JSON_CONST({"metadata" : {"annotations" : {"fluxqueue/duration" : "5m"}}}));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Running");
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    pod(w, "b", "1", "'fluxqueue/duration':'60'", "");
    run(w, SL_SEC);
    patch(w, PODS "/b",
          SL_JSON_CONST({"metadata" : {"annotations" : {"fluxqueue/duration" : "90"}}}));
    run(w, SL_SEC);
    assert_non_null(strstr(at(w, FLUXJOBS "/b-pod", "spec.jobspec"), "duration: 90"));
}

/* Affinity to pods of others, by a pod that is a job by itself. */
static void test_needs_others(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "a", "1", "",
        "'affinity':{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':["
        "{'topologyKey':'kubernetes.io/hostname','labelSelector':{'matchLabels':{'x':'y'}}}]}}");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Rejected");
    assert_field(w, FLUXJOBS "/a-pod", "status.reason", "InvalidJobspec");
    assert_field(w, PODS "/a", "spec.nodeName", "");
    drop(w, PODS "/a");
    run(w, SL_SEC);
    assert_int_equal(fakeapi_each(w->api, FLUXJOBS, NULL, NULL), 0);
}

/* Pods that have ended are bound to no node any more, whatever was seen last while it ran. */
static void test_end(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/a-pod", "status.pods.bound"), 1);
    phase(w, "a", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Completed");
    assert_int_equal(number(w, FLUXJOBS "/a-pod", "status.pods.bound"), 0);
    assert_int_equal(number(w, FLUXJOBS "/a-pod", "status.pods.finished"), 1);
}

/* One that names no queue is in the default one, and says so. */
static void test_default_queue(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "a", "1", "", "");
    pod(w, "b", "9", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.queue", "default");
    assert_field(w, FLUXJOBS "/b-pod", "status.queue", "default");
    uint32_t writes = w->writes;
    stop(w, 0);
    start(w, 0, false);
    run(w, SL_MINUTE);
    assert_int_equal(w->writes, writes);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_invalid_annotation),
        TEST(test_annotation_is_mended),
        TEST(test_annotation_of_a_pod),
        TEST(test_needs_others),
        TEST(test_end),
        TEST(test_default_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
