/* SPDX-License-Identifier: Apache-2.0 */
/* StatefulSets, LeaderWorkerSets and Deployments over the in-memory API: their Workloads, and their
 * pods in them. */
#include "serving_fixture.h"

/* ---- StatefulSets ---- */

static void test_workload(void **state) {
    struct stage s;
    (void)state;
    open_stage(&s, 1, "web", 10);
    s.deaf = true;
    make_set(&s, 3, "");
    create(&s.w, SETS, "{'metadata':{'name':'free'},'spec':{'replicas':3," TEMPLATE "}}");
    create(&s.w, SETS,
           "{'metadata':{'name':'others','labels':{'" Q
           "queue-name':'q'}},'spec':{'template':{'metadata':{'annotations':{'" Q
           "pod-suspending-parent':'x'}},'spec':{'containers':[{'name':'c'}]}}}}");
    run(&s.w, SETTLE);
    struct sizes z = workloads(&s);
    assert_int_equal(z.n, 1);
    assert_int_equal(z.v[0], 3);
    char path[512];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", z.names[0]);
    yyjson_val *w = fakeapi_get(s.w.api, path), *set = fakeapi_get(s.w.api, SETS "/web");
    yyjson_val *ref = yyjson_arr_get_first(sl_json_at(w, "metadata.ownerReferences"));
    assert_memory_equal(z.names[0], "statefulset-web-", 16);
    assert_string_equal(sl_json_str(ref, "kind"), "StatefulSet");
    assert_string_equal(sl_json_str(ref, "uid"), sl_json_str(set, "metadata.uid"));
    assert_null(sl_json_at(ref, "controller"));
    assert_string_equal(sl_json_label(w, Q "job-uid"), sl_json_str(set, "metadata.uid"));
    assert_string_equal(sl_json_annotation(w, Q "is-group-workload"), "true");
    assert_string_equal(sl_json_annotation(w, Q "job-owner-gvk"), "apps/v1, Kind=StatefulSet");
    assert_string_equal(sl_json_annotation(w, Q "job-owner-name"), "web");
    assert_string_equal(sl_json_str(w, "spec.queueName"), "q");
    yyjson_val *podset = yyjson_arr_get_first(sl_json_at(w, "spec.podSets"));
    assert_string_equal(sl_json_str(podset, "name"), "main");
    assert_null(sl_json_at(podset, "template.metadata"));
    assert_string_equal(sl_json_str(podset, "topologyRequest.podIndexLabel"),
                        "apps.kubernetes.io/pod-index");
    assert_int_equal(events(&s.w, (struct told){.reason = "CreatedWorkload", .name = "web"}), 1);
    end(&s.w);
}

static void test_entry(void **state) {
    struct stage s;
    (void)state;
    open_stage(&s, 1, "web", 10);
    make_set(&s, 2, ",'annotations':{'x':'y'}");
    run(&s.w, SETTLE);
    assert_int_equal(running(&s), 2);
    struct sizes z = workloads(&s);
    yyjson_val *p = fakeapi_get(s.w.api, PODS "/web-1");
    static const struct {
        const char *key, *value;
    } notes[] = {{"pod-group-total-count", "2"},
                 {"pod-group-fast-admission", "true"},
                 {"pod-group-serving", "true"},
                 {"pod-group-pod-index-label", "apps.kubernetes.io/pod-index"},
                 {"role-hash", "main"},
                 {"pod-suspending-parent", "statefulset"}};
    for (size_t i = 0; i < SL_LEN(notes); i++) {
        char key[128];
        (void)snprintf(key, sizeof key, Q "%s", notes[i].key);
        assert_string_equal(sl_json_annotation(p, key), notes[i].value);
    }
    assert_string_equal(sl_json_annotation(p, Q "pod-group-name"), z.names[0]);
    assert_string_equal(sl_json_annotation(p, Q "prebuilt-workload-name"), z.names[0]);
    assert_string_equal(sl_json_label(p, Q "managed"), "true");
    assert_string_equal(sl_json_label(p, Q "queue-name"), "q");
    uint64_t before = fakeapi_version(s.w.api);
    run(&s.w, SETTLE);
    assert_int_equal(fakeapi_version(s.w.api), before); /* at rest */
    end(&s.w);
}

/* The queue of a set whose pods wait may be changed. */
static void test_queue(void **state) {
    struct stage s;
    (void)state;
    open_stage(&s, 1, "web", 1);
    create(&s.w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'other'},'spec':{'clusterQueue':'cq'}}");
    make_set(&s, 2, "");
    run(&s.w, SETTLE);
    assert_int_equal(running(&s), 0);
    patch(&s.w, SETS "/web", "{'metadata':{'labels':{'" Q "queue-name':'other'}}}");
    run(&s.w, SETTLE);
    char path[512];
    struct sizes z = workloads(&s);
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", z.names[0]);
    assert_string_equal(sl_json_str(fakeapi_get(s.w.api, path), "spec.queueName"), "other");
    assert_string_equal(sl_json_label(fakeapi_get(s.w.api, PODS "/web-0"), Q "queue-name"),
                        "other");
    end(&s.w);
}

/* The set's labels count, not those that its pods got when they were made. */
static void test_class(void **state) {
    struct stage s;
    (void)state;
    open_stage(&s, 1, "web", 10);
    for (int i = 1; i < 3; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "{'metadata':{'name':'c%d'},'value':%d}", i, i);
        create(&s.w, KUEUE "/workloadpriorityclasses", text);
    }
    make_set(&s, 2, ",'annotations':{'" Q "admission-gated-by':'a/b'}");
    patch(&s.w, SETS "/web", "{'metadata':{'labels':{'" Q "priority-class':'c1'}}}");
    run(&s.w, SETTLE);
    assert_int_equal(running(&s), 0); /* not before the gate is open */
    char path[512];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", workloads(&s).names[0]);
    assert_string_equal(sl_json_annotation(fakeapi_get(s.w.api, path), Q "admission-gated-by"),
                        "a/b");
    patch(&s.w, SETS "/web",
          "{'metadata':{'labels':{'" Q "priority-class':'c2'},'annotations':{'" Q
          "admission-gated-by':null}}}");
    run(&s.w, SETTLE);
    assert_int_equal(running(&s), 2);
    assert_int_equal(sl_json_int(fakeapi_get(s.w.api, path), "spec.priority", 0), 2);
    uint64_t before = fakeapi_version(s.w.api);
    run(&s.w, SETTLE);
    assert_int_equal(fakeapi_version(s.w.api), before); /* nobody disagrees */
    end(&s.w);
}

static void test_legacy_name(void **state) {
    struct stage s;
    (void)state;
    open_stage(&s, 1, "test-sts", 10);
    struct sl_buf name;
    sl_buf_init(&name, 512);
    mgr_wl_name(&name, "StatefulSet", "apps", "test-sts", "", "", false);
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s'},'spec':{'active':true,'queueName':'q','podSets':[{"
                   "'name':'main','count':1,'template':{'spec':{'containers':[{'name':'c'}]}}}]}}",
                   sl_buf_str(&name));
    create(&s.w, WORKLOADS, text);
    make_set(&s, 2, "");
    run(&s.w, SETTLE);
    char path[512];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", sl_buf_str(&name));
    yyjson_val *ref = yyjson_arr_get_first(at(&s.w, path, "metadata.ownerReferences"));
    assert_string_equal(sl_json_str(ref, "name"), "test-sts");
    assert_int_equal(running(&s), 2);
    sl_buf_done(&name);
    end(&s.w);
}

/* 3 -> 5 -> 1 -> 0 -> 2 with room for 4. */
static void test_scaling(void **state) {
    (void)state;
    for (int ordered = 0; ordered < 2; ordered++) {
        struct stage s;
        open_stage(&s, 1, "web", 4);
        s.ordered = ordered;
        make_set(&s, 3, "");
        run(&s.w, SETTLE);
        assert_int_equal(running(&s), 3);
        scale(&s, 5);
        run(&s.w, SETTLE);
        assert_int_equal(running(&s), 3);
        assert_int_equal(used(&s), 3);
        struct sizes z = workloads(&s);
        assert_int_equal(z.n, 2);
        assert_int_equal(z.v[0] + z.v[1], 5);
        scale(&s, 4); /* what waits is made smaller, and fits */
        run(&s.w, SETTLE);
        assert_int_equal(running(&s), 4);
        assert_int_equal(workloads(&s).n, 2);
        scale(&s, 1);
        run(&s.w, SETTLE);
        assert_int_equal(running(&s), 1);
        assert_int_equal(used(&s), 1);
        z = workloads(&s);
        assert_int_equal(z.n, 1);
        assert_int_equal(z.v[0], 1);
        scale(&s, 0);
        run(&s.w, SETTLE);
        assert_int_equal(pods(&s), 0);
        assert_int_equal(used(&s), 0);
        assert_string_equal(reason_of(&s, z.names[0], "QuotaReserved"), "OnHold");
        assert_string_equal(reason_of(&s, z.names[0], "Admitted"), "NoReservation");
        scale(&s, 2);
        run(&s.w, SETTLE);
        assert_int_equal(running(&s), 2);
        assert_int_equal(used(&s), 2);
        assert_int_equal(workloads(&s).n, 1);
        assert_int_equal(workloads(&s).v[0], 2);
        end(&s.w);
    }
}

/* Nothing holds quota yet: one Workload that follows. */
static void test_resized_while_pending(void **state) {
    struct stage s;
    (void)state;
    open_stage(&s, 1, "web", 4);
    make_set(&s, 6, "");
    run(&s.w, SETTLE);
    assert_int_equal(running(&s), 0);
    scale(&s, 8);
    run(&s.w, SETTLE);
    assert_int_equal(workloads(&s).n, 1);
    assert_int_equal(workloads(&s).v[0], 8);
    scale(&s, 4);
    run(&s.w, SETTLE);
    assert_int_equal(workloads(&s).n, 1);
    assert_int_equal(running(&s), 4);
    end(&s.w);
}

/* A set of no replicas has no Workload; one that waits is put on hold, too. */
static void test_zero(void **state) {
    struct stage s;
    (void)state;
    open_stage(&s, 1, "web", 1);
    make_set(&s, 0, "");
    run(&s.w, SETTLE);
    assert_int_equal(workloads(&s).n, 0);
    scale(&s, 2);
    run(&s.w, SETTLE);
    assert_int_equal(workloads(&s).n, 1);
    scale(&s, 0);
    run(&s.w, SETTLE);
    struct sizes z = workloads(&s);
    assert_string_equal(reason_of(&s, z.names[0], "QuotaReserved"), "OnHold");
    patch(&s.w, KUEUE "/clusterqueues/cq",
          "{'spec':{'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{'name':'f',"
          "'resources':[{'name':'cpu','nominalQuota':'9'}]}]}]}}");
    run(&s.w, SETTLE);
    assert_string_equal(reason_of(&s, z.names[0], "QuotaReserved"), "OnHold");
    scale(&s, 1);
    run(&s.w, SETTLE);
    assert_int_equal(running(&s), 1);
    end(&s.w);
}

/* Quota is held until the pods are gone, not only until they are being deleted. */
static void test_held_while_terminating(void **state) {
    struct stage s;
    (void)state;
    open_stage(&s, 1, "web", 3);
    make_set(&s, 3, "");
    run(&s.w, SETTLE);
    assert_int_equal(running(&s), 3);
    s.deaf = true;
    for (int n = 1; n >= 0; n--) {
        scale(&s, n);
        run(&s.w, SETTLE);
        assert_int_equal(used(&s), 3);
    }
    s.deaf = false;
    run(&s.w, SETTLE);
    assert_int_equal(used(&s), 0);
    end(&s.w);
}

static void test_ordinals(void **state) {
    struct stage s;
    (void)state;
    open_stage(&s, 1, "web", 3);
    make_set(&s, 3, "");
    run(&s.w, SETTLE);
    assert_int_equal(running(&s), 3);
    patch(&s.w, SETS "/web", "{'spec':{'ordinals':{'start':2}}}");
    s.strict = false;
    run(&s.w, 2 * SETTLE);
    assert_int_equal(running(&s), 3);
    assert_int_equal(pods(&s), 3);
    end(&s.w);
}

/* With its owner gone the Workload is collected; nothing of it stays, also after a restart
 * meanwhile. */
static void test_deleted(void **state) {
    (void)state;
    for (int away = 0; away < 2; away++) {
        struct stage s;
        open_stage(&s, 1, "web", 4);
        make_set(&s, 2, "");
        run(&s.w, SETTLE);
        scale(&s, 5);
        run(&s.w, SETTLE);
        assert_int_equal(workloads(&s).n, 2);
        s.strict = false;
        request(&s.w, SL_DELETE, SETS "/web", SL_JSON, NULL);
        if (away) {
            fakeapi_advance(s.w.api, fakeapi_now(s.w.api) + 60 * SL_SEC);
            restart(&s.w, 1);
        }
        run(&s.w, 2 * SETTLE);
        assert_int_equal(pods(&s), 0);
        assert_int_equal(workloads(&s).n, 0);
        assert_int_equal(used(&s), 0);
        end(&s.w);
    }
}

/* Deleting the Workload stops the pods; then all begins anew. */
static void test_workload_deleted(void **state) {
    struct stage s;
    (void)state;
    open_stage(&s, 1, "web", 4);
    make_set(&s, 2, "");
    run(&s.w, SETTLE);
    struct sizes z = workloads(&s);
    char path[512];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", z.names[0]);
    char *uid = sl_strdup(sl_json_str(fakeapi_get(s.w.api, path), "metadata.uid"));
    s.strict = false;
    request(&s.w, SL_DELETE, path, SL_JSON, NULL);
    run(&s.w, 2 * SETTLE);
    assert_int_equal(workloads(&s).n, 1);
    assert_string_not_equal(sl_json_str(fakeapi_get(s.w.api, path), "metadata.uid"), uid);
    assert_int_equal(running(&s), 2);
    sl_freep(&uid);
    end(&s.w);
}

/* Somebody more important comes and goes: its pods are stopped, made anew, and wait. In between it
 * may be made smaller, or nothing at all. */
static void test_preempted(void **state) {
    static const int then[] = {4, 1, 0};
    (void)state;
    for (size_t i = 0; i < SL_LEN(then); i++) {
        struct stage s;
        open_stage(&s, 1, "web", 4);
        s.strict = false;
        patch(&s.w, KUEUE "/clusterqueues/cq",
              "{'spec':{'preemption':{'withinClusterQueue':'LowerPriority'}}}");
        make_set(&s, 3, "");
        run(&s.w, SETTLE);
        scale(&s, 4);
        run(&s.w, SETTLE);
        assert_int_equal(running(&s), 4);
        assert_int_equal(workloads(&s).n, 2);
        create(&s.w, WORKLOADS,
               "{'metadata':{'name':'a'},'spec':{'active':true,'queueName':'q','priority':9,"
               "'podSets':[{'name':'main','count':4,'template':{'spec':{'containers':[{'name':'c',"
               "'resources':{'requests':{'cpu':'1'}}}]}}}]}}");
        run(&s.w, 100 * SL_MSEC); /* the pods are being deleted, and not yet made anew */
        scale(&s, then[i]);
        run(&s.w, 2 * SETTLE);
        assert_int_equal(running(&s), 0);
        assert_int_equal(used(&s), 4);
        assert_string_equal(reason_of(&s, "a", "QuotaReserved"), "QuotaReserved");
        request(&s.w, SL_DELETE, WORKLOADS "/a", SL_JSON, NULL);
        run(&s.w, 2 * SETTLE);
        assert_int_equal(running(&s), then[i]);
        assert_int_equal(pods(&s), then[i]);
        assert_int_equal(used(&s), then[i]);
        end(&s.w);
    }
}

/* ---- LeaderWorkerSets ---- */

static void test_lws(void **state) {
    (void)state;
    for (int leader = 0; leader < 2; leader++) {
        struct stage s;
        open_lws(&s, 7);
        make_lws(&s, 2, 3, leader);
        run(&s.w, SETTLE);
        assert_int_equal(running(&s), 6);
        struct sizes z = workloads(&s);
        assert_int_equal(z.n, 2);
        struct sl_buf name;
        sl_buf_init(&name, 512);
        mgr_wl_name(&name, "LeaderWorkerSet", "leaderworkerset.x-k8s.io", "llm-1",
                    sl_json_str(fakeapi_get(s.w.api, LWSETS "/llm"), "metadata.uid"), "", false);
        char path[512];
        (void)snprintf(path, sizeof path, WORKLOADS "/%s", sl_buf_str(&name));
        sl_buf_done(&name);
        yyjson_val *w = fakeapi_get(s.w.api, path), *sets = sl_json_at(w, "spec.podSets");
        assert_non_null(w);
        assert_string_equal(sl_json_annotation(w, Q "component-workload-index"), "1");
        assert_int_equal(yyjson_arr_size(sets), leader ? 2 : 1);
        yyjson_val *first = yyjson_arr_get(sets, 0), *last = yyjson_arr_get_last(sets);
        assert_string_equal(sl_json_str(first, "name"), leader ? "leader" : "main");
        assert_int_equal(sl_json_int(first, "count", 0), leader ? 1 : 3);
        assert_int_equal(sl_json_int(last, "count", 0), leader ? 2 : 3);
        assert_non_null(yyjson_obj_get(sl_json_at(last, "template.metadata.labels"), LWS "name"));
        assert_null(yyjson_obj_get(sl_json_at(last, "template.metadata.labels"), LWS "x"));
        yyjson_val *p = fakeapi_get(s.w.api, PODS "/llm-1-2");
        assert_string_equal(sl_json_annotation(p, Q "role-hash"), leader ? "worker" : "main");
        assert_string_equal(sl_json_annotation(p, Q "pod-group-total-count"), "3");

        scale_lws(&s, 3); /* there is no room for a third one */
        run(&s.w, SETTLE);
        assert_int_equal(workloads(&s).n, 3);
        assert_int_equal(running(&s), 6);
        scale_lws(&s, 1);
        run(&s.w, SETTLE);
        assert_int_equal(workloads(&s).n, 1);
        assert_int_equal(running(&s), 3);
        assert_int_equal(used(&s), 3);
        s.strict = false;
        request(&s.w, SL_DELETE, LWSETS "/llm", SL_JSON, NULL);
        run(&s.w, SETTLE);
        assert_int_equal(workloads(&s).n, 0);
        assert_int_equal(pods(&s), 0);
        end(&s.w);
    }
}

/* Another size is another Workload, made when nothing of the old one runs. */
static void test_lws_resized(void **state) {
    struct stage s;
    (void)state;
    open_lws(&s, 7);
    s.strict = false;
    make_lws(&s, 1, 2, true);
    run(&s.w, SETTLE);
    assert_int_equal(running(&s), 2);
    request(&s.w, SL_DELETE, PODS "/llm-0?gracePeriodSeconds=0", SL_JSON, NULL);
    request(&s.w, SL_DELETE, PODS "/llm-0-1?gracePeriodSeconds=0", SL_JSON, NULL);
    patch(&s.w, LWSETS "/llm", "{'spec':{'leaderWorkerTemplate':{'size':4}}}");
    run(&s.w, 2 * SETTLE);
    assert_int_equal(running(&s), 4);
    assert_int_equal(used(&s), 4);
    end(&s.w);
}

/* The API is not there at first. */
static void test_lws_comes_later(void **state) {
    struct stage s;
    (void)state;
    open_lws(&s, 7);
    make_set(&s, 1, "");
    fakeapi_install(s.w.api, "leaderworkerset.x-k8s.io", "leaderworkersets", false);
    restart(&s.w, 1);
    run(&s.w, SETTLE);
    assert_int_equal(running(&s), 1);
    fakeapi_install(s.w.api, "leaderworkerset.x-k8s.io", "leaderworkersets", true);
    make_lws(&s, 1, 2, true);
    run(&s.w, SETTLE);
    assert_int_equal(running(&s), 3);
    end(&s.w);
}

/* ---- Deployments: each pod by itself ---- */

static void make_replica(struct stage *s, int i) {
    char text[1024];
    const char *uid = sl_json_str(fakeapi_get(s->w.api, REPLICAS "/app"), "metadata.uid");
    (void)snprintf(
        text, sizeof text,
        "{'metadata':{'name':'app-%d','labels':{'" Q "managed':'true','" Q
        "queue-name':'q'},'annotations':{'" Q
        "pod-suspending-parent':'deployment'},'ownerReferences':[{'apiVersion':'apps/v1',"
        "'kind':'ReplicaSet','name':'app','uid':'%s','controller':true}]},'spec':{"
        "'schedulingGates':[{'name':'" Q
        "admission'}],'containers':[{'name':'c','resources':{'requests':{'cpu':'1'}}}]}}",
        i, uid);
    create(&s->w, PODS, text);
}

static void test_deployment(void **state) {
    struct stage s;
    (void)state;
    open_stage(&s, 1, "none", 4);
    create(&s.w, REPLICAS, "{'metadata':{'name':'app'}}");
    for (int i = 0; i < 5; i++)
        make_replica(&s, i);
    run(&s.w, SETTLE);
    assert_int_equal(running(&s), 4);
    assert_int_equal(workloads(&s).n, 5);
    assert_null(at(&s.w, PODS "/app-0", "metadata.finalizers"));
    request(&s.w, SL_DELETE, PODS "/app-0", SL_JSON, NULL); /* one fewer: the fifth starts */
    run(&s.w, SETTLE);
    assert_int_equal(running(&s), 4);
    assert_int_equal(workloads(&s).n, 4);
    char path[64];
    for (int i = 1; i < 5; i++) {
        (void)snprintf(path, sizeof path, PODS "/app-%d", i);
        request(&s.w, SL_DELETE, path, SL_JSON, NULL);
    }
    run(&s.w, SETTLE);
    assert_int_equal(pods(&s), 0);
    assert_int_equal(workloads(&s).n, 0);
    assert_int_equal(used(&s), 0);
    end(&s.w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workload),
        cmocka_unit_test(test_entry),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_class),
        cmocka_unit_test(test_legacy_name),
        cmocka_unit_test(test_scaling),
        cmocka_unit_test(test_resized_while_pending),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_held_while_terminating),
        cmocka_unit_test(test_ordinals),
        cmocka_unit_test(test_deleted),
        cmocka_unit_test(test_workload_deleted),
        cmocka_unit_test(test_preempted),
        cmocka_unit_test(test_lws),
        cmocka_unit_test(test_lws_resized),
        cmocka_unit_test(test_lws_comes_later),
        cmocka_unit_test(test_deployment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
