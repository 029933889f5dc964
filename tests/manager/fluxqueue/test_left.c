/* SPDX-License-Identifier: Apache-2.0 */
/* A place that is given back since its binding was refused, which no object says but the FluxJob:
 * nobody gets it before that does. Whoever leads next reads it there. */
#include "fqtest.h"

#include "lib/log/log.h"
#include "manager/fluxqueue/exact.h"

static struct {
    bool unwritten; /* no status of a FluxJob is written */
    bool refuses;   /* n0 does */
} server;

static int review(void *ctx, const struct fakeapi_write *write, struct sl_buf *why) {
    (void)ctx;
    yyjson_mut_val *spec = yyjson_mut_obj_get(yyjson_mut_doc_get_root(write->now), "spec");
    const char *to = sl_json_mut_text(yyjson_mut_obj_get(spec, "nodeName"));
    if (write->client == FAKEAPI_NOBODY)
        return 0;
    sl_buf_puts(why, "not now");
    if (strcmp(write->kind->kind, "FluxJob") == 0 && write->status && server.unwritten)
        return 500;
    return strcmp(write->kind->kind, "Pod") == 0 && server.refuses && strcmp(to, "n0") == 0 &&
                   !*sl_json_str(write->old, "spec.nodeName")
               ? 403
               : 0;
}

/* A Workload of one pod that has all of n0. */
static bool place(struct world *w, uint64_t key) {
    static const struct sl_exact_podset podset = {
        .ns = "default",
        .name = "main",
        .pod = "{\"spec\":{\"nodeSelector\":{\"kubernetes.io/hostname\":\"n0\"},\"containers\":[{"
               "\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
        .count = 1,
    };
    struct sl_exact_owner owner = {.key = key, .ns = "default", .name = "w"};
    uint32_t refused;
    char why[300];
    owner.since = FAKEAPI_EPOCH + fakeapi_now(w->api);
    return sl_exact_place(w->q[0], &owner, &podset, 1, &refused, why, sizeof why);
}

static void begin(struct world *w) {
    server.unwritten = false;
    server.refuses = true;
    fakeapi_on_write(w->api, review, NULL);
    sl_exact_use(w->q[0]);
    sl_exact_observed(w->q[0], true);
    node(w, "n0", "1");
    node(w, "n1", "1");
}

/* From here on its place is not in the API any more. */
static void give_back(struct world *w) {
    const char *path = FLUXJOBS "/a-pod", *key = "status.nodeList";
    for (uint32_t i = 0; i < 10000 && strcmp(at(w, path, key), "n0") != 0; i++)
        run(w, SL_MSEC / 10);
    assert_field(w, FLUXJOBS "/a-pod", "status.nodeList", "n0");
    server.unwritten = true;
    run(w, SL_SEC);
    assert_int_not_equal(events(w, "FailedBinding", "a"), 0);
    assert_field(w, FLUXJOBS "/a-pod", "status.nodeList", "n0");
}

static void test_workload(void **state) {
    struct world *w = *state;
    begin(w);
    pod(w, "a", "1", "", "");
    give_back(w);
    assert_false(place(w, 1));
    node(w, "n2", "1"); /* nor on the next graph */
    run(w, SL_SEC);
    assert_false(place(w, 1));
    uint64_t version = sl_exact_version(w->q[0]);
    server.unwritten = false;
    run(w, 20 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.nodeList", "n1");
    assert_int_not_equal(sl_exact_version(w->q[0]), version);
    assert_true(place(w, 1));
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
}

/* The same of another job. */
static void test_job(void **state) {
    struct world *w = *state;
    begin(w);
    pod(w, "a", "1", "", "");
    give_back(w);
    server.refuses = false;
    plain(w, "b", "1", "");
    run(w, 2 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "");
    server.unwritten = false;
    run(w, 20 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
}

/* Its FluxJob goes: nothing stays held. */
static void test_deleted(void **state) {
    struct world *w = *state;
    begin(w);
    pod(w, "a", "1", "", "");
    give_back(w);
    drop(w, PODS "/a");
    run(w, SL_SEC);
    server.unwritten = false;
    run(w, 20 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "metadata.name", "(absent)");
    assert_true(place(w, 1));
}

/* A plain pod that can never run says, later, that it is of a Workload with places, and ends: it is
 * nobody's to try again. */
static void test_says_so_later(void **state) {
    struct world *w = *state;
    begin(w);
    server.refuses = false;
    run(w, SL_SEC);
    assert_true(place(w, 1));
    plain(w, "b", "2", "");
    run(w, 2 * SL_SEC);
    assert_int_not_equal(events(w, "FailedScheduling", "b"), 0);
    patch(w, PODS "/b",
          SL_JSON_CONST({"metadata" : {"annotations" : {"kueue.x-k8s.io/workload" : "w"}}}));
    run(w, SL_SEC);
    phase(w, "b", "Failed");
    run(w, SL_SEC);
    node(w, "n2", "4");
    run(w, SL_SEC);
    plain(w, "c", "2", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n2");
}

#define TEST(f) cmocka_unit_test_setup_teardown((f), setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_workload),
        TEST(test_job),
        TEST(test_deleted),
        TEST(test_says_so_later),
    };
    sl_log_set(SL_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
