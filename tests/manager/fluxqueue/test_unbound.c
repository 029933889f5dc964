/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that cannot be bound where they were meant: they give back the place, say why, and are bound
 * elsewhere. */
#include "fqtest.h"

#include "lib/log/log.h"

/* A webhook that does not want pods on some node: "*": on any. */
static struct {
    const char *node;
    int status;
    uint32_t asked;
} policy;

static int review(void *ctx, const struct fakeapi_write *write, struct sl_buf *why) {
    (void)ctx;
    yyjson_mut_val *now = yyjson_mut_doc_get_root(write->now);
    const char *to =
        sl_json_mut_text(yyjson_mut_obj_get(yyjson_mut_obj_get(now, "spec"), "nodeName"));
    if (strcmp(write->kind->kind, "Pod") != 0 || write->client == FAKEAPI_NOBODY || !policy.node ||
        !*to || (strcmp(policy.node, "*") != 0 && strcmp(policy.node, to) != 0) ||
        *sl_json_str(write->old, "spec.nodeName"))
        return 0;
    policy.asked++;
    sl_buf_puts(why, "not on this node");
    return policy.status;
}

static void refuse(struct world *w, const char *node, int status) {
    policy.node = node;
    policy.status = status;
    policy.asked = 0;
    fakeapi_on_write(w->api, review, NULL);
}

static const char *message(struct world *w, const char *path) {
    yyjson_val *list = sl_json_at(fakeapi_get(w->api, path), "status.conditions");
    return sl_json_str(sl_json_find(list, "type", "PodScheduled"), "message");
}

/* Another node is found, and the one that refused is free for others. */
static void test_elsewhere(void **state) {
    static const int codes[] = {403, 422, 400, 409};
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    for (size_t i = 0; i < SL_LEN(codes); i++) {
        refuse(w, "n0", codes[i]);
        pod(w, "a", "1", "", "");
        run(w, 10 * SL_SEC);
        assert_field(w, PODS "/a", "spec.nodeName", "n1");
        assert_field(w, FLUXJOBS "/a-pod", "status.nodeList", "n1");
        assert_field(w, FLUXJOBS "/a-pod", "status.reason", "Allocated");
        assert_int_not_equal(events(w, "FailedBinding", "a"), 0);
        refuse(w, NULL, 0);
        pod(w, "b", "1", "", "");
        run(w, SL_SEC);
        assert_field(w, PODS "/b", "spec.nodeName", "n0");
        drop(w, PODS "/a");
        drop(w, PODS "/b");
        run(w, 5 * SL_SEC);
    }
}

/* The same without a FluxJob. */
static void test_plain(void **state) {
    static const int codes[] = {403, 422, 409};
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    for (size_t i = 0; i < SL_LEN(codes); i++) {
        refuse(w, "n0", codes[i]);
        plain(w, "a", "1", "");
        run(w, 10 * SL_SEC);
        assert_field(w, PODS "/a", "spec.nodeName", "n1");
        refuse(w, NULL, 0);
        plain(w, "b", "1", "");
        run(w, SL_SEC);
        assert_field(w, PODS "/b", "spec.nodeName", "n0");
        drop(w, PODS "/a");
        drop(w, PODS "/b");
        run(w, SL_SEC);
    }
}

/* Nobody wants it: it waits, says why, and does not flood the server; what refused is tried again.
 */
static void test_nowhere(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    refuse(w, "*", 403);
    pod(w, "a", "1", "", "");
    plain(w, "b", "1", "");
    run(w, 4 * SL_MINUTE);
    assert_in_range(policy.asked, 2, 20);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Running");
    assert_field(w, FLUXJOBS "/a-pod", "status.reason", "BindingRefused");
    assert_non_null(strstr(at(w, FLUXJOBS "/a-pod", "status.message"), "not on this node"));
    assert_non_null(strstr(message(w, PODS "/b"), "not on this node"));
    /* It has no place meanwhile. */
    assert_int_equal(
        sl_json_size(sl_json_at(fakeapi_get(w->api, FLUXJOBS "/a-pod"), "status.nodes")), 0);
    refuse(w, NULL, 0);
    pod(w, "c", "2", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
    phase(w, "c", "Succeeded");
    run(w, 10 * SL_MINUTE);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* One pod of a job: the others stay where they are. */
static void test_one_of_a_job(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    node(w, "n2", "1");
    set(w, "set", 2, "1");
    run(w, SL_SEC);
    refuse(w, "n1", 422);
    child(w, "StatefulSet", "set", 0);
    child(w, "StatefulSet", "set", 1);
    run(w, 10 * SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0");
    assert_field(w, PODS "/set-1", "spec.nodeName", "n2");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.nodeList", "n[0,2]");
}

/* A node is gone between the decision and the binding, which waits for the gate of somebody. */
static void test_node_is_gone(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    create(w, PODS,
           "{'metadata':{'name':'a','labels':{'fluxqueue.seen':'yes'}},'spec':{'schedulerName':"
           "'FluxionScheduler','schedulingGates':[{'name':'fluxqueue'},{'name':'example.com/x'}],"
           "'containers':[{'name':'a','resources':{'requests':{'cpu':'1'}}}]}}");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.nodeList", "n0");
    drop(w, NODES "/n0");
    run(w, SL_SEC);
    patch(w, PODS "/a", SL_JSON_CONST({"spec" : {"schedulingGates" : null}}));
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "");
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Running");
    node(w, "n1", "1");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
    assert_field(w, FLUXJOBS "/a-pod", "status.nodeList", "n1");
}

/* All of them: nothing is given out, nothing ends, and what runs goes on when nodes are back. */
static void test_all_nodes_are_gone(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    set(w, "set", 2, "1");
    child(w, "StatefulSet", "set", 0);
    child(w, "StatefulSet", "set", 1);
    run(w, SL_SEC);
    drop(w, NODES "/n0");
    run(w, SL_SEC);
    drop(w, PODS "/set-0");
    patch(w, SETS "/set", SL_JSON_CONST({"spec" : {"replicas" : 1}}));
    run(w, SL_SEC);
    drop(w, PODS "/set-1");
    child(w, "StatefulSet", "set", 0);
    run(w, SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "");
    node(w, "n1", "2");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n1");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_elsewhere),    TEST(test_plain),        TEST(test_nowhere),
        TEST(test_one_of_a_job), TEST(test_node_is_gone), TEST(test_all_nodes_are_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
