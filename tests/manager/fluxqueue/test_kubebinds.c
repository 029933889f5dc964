/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that kube-scheduler binds: how they get their node, and what becomes of those that it does
 * not bind there. */
#include "fqtest.h"

#include "lib/log/log.h"

#define TEXT 2048

/* What admission makes of them where kube-scheduler binds. */
#define SPEC(more)                                                                                 \
    "{'schedulingGates':[{'name':'fluxqueue'}],'containers':[{'name':'a','resources':{'requests':" \
    "{'cpu':'1'}}}]" more "}"
#define POD(name, more)                                                                            \
    "{'metadata':{'name':'" name "','labels':{'fluxqueue.seen':'yes'}},'spec':" SPEC(more) "}"
#define NAMED(node) "{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"" node "\"]}"
#define TERMS                                                                                      \
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"

static void kube_set(struct world *w, const char *kind, int pods) {
    char body[TEXT];
    bool is_job = strcmp(kind, "Job") == 0;
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'set','labels':{'fluxqueue.seen':'yes'}},'spec':{'replicas':%d,"
           "'parallelism':%d,'completions':%d,'suspend':%s,'template':{'metadata':{'labels':"
           "{'fluxqueue.seen':'yes'}},'spec':" SPEC("") "}}}",
           pods, pods, pods, is_job ? "true" : "false");
    create(w, is_job ? JOBS : SETS, body);
}

/* As its controller. */
static void kube_child(struct world *w, const char *kind, const char *name) {
    char body[TEXT];
    bool is_job = strcmp(kind, "Job") == 0;
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes'},'ownerReferences':[{"
           "'apiVersion':'%s','kind':'%s','name':'set','uid':'%s','controller':true}]},"
           "'spec':" SPEC("") "}",
           name, is_job ? "batch/v1" : "apps/v1", kind,
           at(w, is_job ? JOBS "/set" : SETS "/set", "metadata.uid"));
    create(w, PODS, body);
}

/* As kube-scheduler, which finds no node for it. */
static void refuse(struct world *w, const char *name, const char *nominated) {
    char path[200], body[TEXT];
    sl_fmt(path, sizeof path, PODS "/%s/status", name);
    sl_fmt(body, sizeof body,
           "{\"status\":{\"nominatedNodeName\":\"%s\",\"conditions\":[{\"type\":\"PodScheduled\","
           "\"status\":\"False\",\"reason\":\"Unschedulable\",\"message\":\"none of 3 nodes\"}]}}",
           nominated);
    patch(w, path, body);
}

static void bind(struct world *w, const char *name, const char *node) {
    char path[200], body[TEXT];
    sl_fmt(path, sizeof path, PODS "/%s/binding", name);
    sl_fmt(body, sizeof body, "{\"target\":{\"kind\":\"Node\",\"name\":\"%s\"}}", node);
    assert_int_equal(post(w, path, body), 201);
}

static const char *place(struct world *w, const char *name) {
    char path[200];
    sl_fmt(path, sizeof path, PODS "/%s", name);
    yyjson_val *o = fakeapi_get(w->api, path);
    return o ? sl_json_annotation(o, "fluxqueue/fluxion-nodes") : "(absent)";
}

static void assert_terms(struct world *w, const char *path, const char *want) {
    char *got = yyjson_val_write(sl_json_at(fakeapi_get(w->api, path), TERMS), 0, NULL);
    assert_non_null(got);
    assert_string_equal(got, want);
    free(got);
}

/* By its name, which is not the value of a label, beside what the pod asks for. */
static void test_affinity(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    patch(w, NODES "/n0",
          SL_JSON_CONST({"metadata" : {"labels" : {"kubernetes.io/hostname" : null, "a" : "b"}}}));
    create(w, PODS, POD("plain", ""));
    create(w, PODS,
           POD("narrow",
               ",'affinity':{'podAntiAffinity':{},'nodeAffinity':{"
               "'preferredDuringSchedulingIgnoredDuringExecution':[],"
               "'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':["
               "{'matchExpressions':[{'key':'a','operator':'Exists'}]},{},"
               "{'matchFields':[{'key':'metadata.name','operator':'NotIn','values':['x']}]}]}}}"));
    run(w, SL_SEC);
    assert_terms(w, PODS "/plain", "[{\"matchFields\":[" NAMED("n0") "]}]");
    assert_terms(
        w, PODS "/narrow",
        "[{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}],\"matchFields\":[" NAMED(
            "n0") "]},{},{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"NotIn\","
                  "\"values\":[\"x\"]}," NAMED("n0") "]}]");
    yyjson_val *spec = sl_json_at(fakeapi_get(w->api, PODS "/narrow"), "spec");
    assert_null(sl_json_get(spec, "nodeSelector"));
    assert_int_equal(sl_json_size(sl_json_get(spec, "schedulingGates")), 0);
    assert_non_null(sl_json_at(spec, "affinity.podAntiAffinity"));
    run(w, SL_MINUTE);
    assert_field(w, FLUXJOBS "/narrow-pod", "status.reason", "Allocated");
}

/* One of a set: it comes again, and goes elsewhere; where it was meant is free. */
static void comes_again(struct world *w, const char *kind, const char *flux) {
    node(w, "n0", "1");
    node(w, "n1", "1");
    node(w, "n2", "1");
    kube_set(w, kind, 2);
    run(w, SL_SEC);
    kube_child(w, kind, "set-a");
    kube_child(w, kind, "set-b");
    run(w, SL_SEC);
    assert_string_equal(place(w, "set-b"), "n1");
    bind(w, "set-a", "n0");
    refuse(w, "set-b", "");
    run(w, 5 * SL_SEC);
    assert_field(w, flux, "status.state", "Running");
    assert_field(w, flux, "status.reason", "Unschedulable");
    assert_field(w, flux, "status.message",
                 "kube-scheduler does not bind set-b to n1: none of 3 nodes");
    assert_string_equal(place(w, "set-b"), "n1");
    run(w, 10 * SL_SEC);
    assert_string_equal(place(w, "set-b"), "(absent)");
    assert_int_equal(events(w, "FailedBinding", strrchr(flux, '/') + 1), 1);
    kube_child(w, kind, "set-c");
    run(w, 5 * SL_SEC);
    assert_string_equal(place(w, "set-c"), "n2");
    assert_field(w, flux, "status.nodeList", "n[0,2]");
    bind(w, "set-c", "n2");
    run(w, SL_SEC);
    assert_field(w, flux, "status.reason", "Allocated");
    pod(w, "other", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/other", "spec.nodeName", "n1");
}

static void test_set(void **state) {
    comes_again(*state, "StatefulSet", FLUXJOBS "/set-statefulset");
}

static void test_job(void **state) {
    comes_again(*state, "Job", FLUXJOBS "/set-job");
}

/* Several at once count once: the next one is not waited for much longer. */
static void test_together(void **state) {
    struct world *w = *state;
    char name[20];
    for (int i = 0; i < 6; i++) {
        sl_fmt(name, sizeof name, "n%d", i);
        node(w, name, "1");
    }
    kube_set(w, "StatefulSet", 5);
    run(w, SL_SEC);
    for (int i = 0; i < 5; i++) {
        sl_fmt(name, sizeof name, "set-%d", i);
        kube_child(w, "StatefulSet", name);
    }
    run(w, SL_SEC);
    for (int i = 0; i < 5; i++) {
        sl_fmt(name, sizeof name, "set-%d", i);
        refuse(w, name, "");
    }
    run(w, 15 * SL_SEC);
    for (int i = 0; i < 5; i++) {
        sl_fmt(name, sizeof name, "set-%d", i);
        assert_string_equal(place(w, name), "(absent)");
    }
    kube_child(w, "StatefulSet", "next");
    run(w, 5 * SL_SEC);
    assert_string_equal(place(w, "next"), "n5");
    refuse(w, "next", "");
    run(w, 15 * SL_SEC);
    assert_string_equal(place(w, "next"), "n5");
    run(w, 10 * SL_SEC);
    assert_string_equal(place(w, "next"), "(absent)");
}

/* There is no other node: it says why, and the first one is tried again after a while. */
static void test_nowhere(void **state) {
    struct world *w = *state;
    char name[20] = "set-0";
    int made = 1;
    node(w, "n0", "1");
    kube_set(w, "StatefulSet", 1);
    run(w, SL_SEC);
    kube_child(w, "StatefulSet", name);
    run(w, SL_SEC);
    refuse(w, name, "");
    run(w, 15 * SL_SEC);
    for (int seconds = 0; seconds < 1800; seconds += 5) {
        if (strcmp(place(w, name), "(absent)") == 0) {
            sl_fmt(name, sizeof name, "set-%d", made++);
            kube_child(w, "StatefulSet", name);
        } else if (strcmp(place(w, name), "n0") == 0) {
            refuse(w, name, "");
        }
        run(w, 5 * SL_SEC);
        if (seconds == 20) {
            assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "BindingRefused");
            assert_non_null(
                strstr(at(w, FLUXJOBS "/set-statefulset", "status.message"), "none of 3 nodes"));
            assert_string_equal(place(w, name), "");
        }
    }
    assert_in_range(made, 4, 8);
}

/* Nobody would make it again, it is bound after all, or room is being made for it. */
static void test_stays(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    create(w, PODS, POD("alone", ""));
    kube_set(w, "StatefulSet", 2);
    run(w, SL_SEC);
    kube_child(w, "StatefulSet", "set-a");
    kube_child(w, "StatefulSet", "set-b");
    run(w, SL_SEC);
    refuse(w, "alone", "");
    refuse(w, "set-a", "n0");
    refuse(w, "set-b", "");
    run(w, 5 * SL_SEC);
    bind(w, "set-b", "n0");
    run(w, 5 * SL_MINUTE);
    assert_field(w, PODS "/set-b", "spec.nodeName", "n0");
    assert_string_equal(place(w, "set-a"), "n0");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Allocated");
    assert_string_equal(place(w, "alone"), "n0");
    assert_field(w, FLUXJOBS "/alone-pod", "status.reason", "Unschedulable");
    bind(w, "alone", "n0");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/alone-pod", "status.reason", "Allocated");
}

/* A node that goes after the gate did. */
static void test_node_is_gone(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    kube_set(w, "StatefulSet", 1);
    run(w, SL_SEC);
    kube_child(w, "StatefulSet", "set-a");
    run(w, SL_SEC);
    assert_string_equal(place(w, "set-a"), "n0");
    drop(w, NODES "/n0");
    refuse(w, "set-a", "");
    node(w, "n1", "1");
    run(w, 15 * SL_SEC);
    assert_string_equal(place(w, "set-a"), "(absent)");
    kube_child(w, "StatefulSet", "set-b");
    run(w, 5 * SL_SEC);
    assert_string_equal(place(w, "set-b"), "n1");
}

/* What a pod was told is its place, also after a restart. */
static void test_restart(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    kube_set(w, "StatefulSet", 2);
    run(w, SL_SEC);
    kube_child(w, "StatefulSet", "set-a");
    kube_child(w, "StatefulSet", "set-b");
    run(w, SL_SEC);
    assert_string_equal(place(w, "set-b"), "n1");
    drop(w, PODS "/set-a");
    run(w, SL_SEC);
    stop(w, 0);
    start(w, 0, false);
    run(w, SL_SEC);
    patch(w, SETS "/set", SL_JSON_CONST({"spec" : {"replicas" : 1}}));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.nodeList", "n1");
}

#define LONG ((size_t)70 << 10)

/* Affinity that is too long to be kept: it waits, and an event says so. */
static void test_too_long(void **state) {
    struct world *w = *state;
    struct sl_buf b = SL_BUF(2 * LONG);
    node(w, "n0", "1");
    kube_set(w, "StatefulSet", 1);
    run(w, SL_SEC);
    sl_buf_printf(&b,
                  "{\"metadata\":{\"name\":\"set-a\",\"labels\":{\"fluxqueue.seen\":\"yes\"},"
                  "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\","
                  "\"name\":\"set\",\"uid\":\"%s\",\"controller\":true}]},\"spec\":{"
                  "\"schedulingGates\":[{\"name\":\"fluxqueue\"}],\"containers\":[],\"affinity\":{"
                  "\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{"
                  "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"a\"}",
                  at(w, SETS "/set", "metadata.uid"));
    while (b.len < LONG)
        sl_buf_puts(&b, ",{\"key\":\"a\"}");
    sl_buf_puts(&b, "]}]}}}}}");
    assert_int_equal(post(w, PODS, sl_buf_str(&b)), 201);
    sl_buf_done(&b);
    run(w, 5 * SL_SEC);
    assert_string_equal(place(w, "set-a"), "");
    assert_int_equal(events(w, "FailedScheduling", "set-a"), 1);
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_affinity), TEST(test_set),      TEST(test_job),
        TEST(test_nowhere),  TEST(test_stays),    TEST(test_node_is_gone),
        TEST(test_restart),  TEST(test_too_long), TEST(test_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
