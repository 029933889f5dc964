/* SPDX-License-Identifier: Apache-2.0 */
/* The life of plain pods and groups of pods over the in-memory API. What must not go wrong in it is
 * in test_group_traps.c. */
#include "group_fixture.h"

/* ---- plain pods ---- */

static void test_plain_pod(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    plain(&w, "a");
    run(&w, SETTLE);
    const char *name = workload_of(&w, "a");
    assert_true(strncmp(name, "pod-a-", 6) == 0 && strlen(name) == 11);
    assert_true(is(&w, name, "Admitted"));
    assert_null(at(&w, pod_path("a", ""), "spec.schedulingGates"));
    yyjson_val *o = fakeapi_get(w.api, pod_path("a", ""));
    assert_string_equal(sl_json_str(o, "spec.nodeSelector.pool"), "a");
    assert_string_equal(sl_json_label(o, Q "podset"), "main");
    assert_string_equal(sl_json_annotation(o, Q "workload"), name);
    assert_int_equal(yyjson_arr_size(sl_json_at(o, "spec.tolerations")), 1);
    assert_int_equal(events(&w, (struct told){.reason = "Started",
                                              .kind = "Pod",
                                              .name = "a",
                                              .note = "Admitted by clusterQueue cq"}),
                     1);
    assert_false(finalized(&w, "a"));

    set_pod(&w, "a", "n1", "Running");
    run(&w, SETTLE);
    assert_false(is(&w, workload_of(&w, "a"), "Finished"));
    patch(&w, pod_path("a", "/status"), "{'status':{'phase':'Succeeded','message':'well done'}}");
    run(&w, SETTLE);
    const char *path = workload_path(&w, "a");
    yyjson_val *c = condition_of(&w, path, "Finished");
    assert_string_equal(sl_json_str(c, "reason"), "Succeeded");
    assert_string_equal(sl_json_str(c, "message"), "well done");
    assert_true(finalized(&w, "a"));
    assert_int_equal(yyjson_arr_size(at(&w, path, "metadata.finalizers")), 0);
    end(&w);
}

/* A gated pod holds nothing, and goes at once; its Workload goes with it. */
static void test_plain_pod_deleted_while_it_waits(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    make_pod(&w, "big", (struct pod_text){.cpu = "10"});
    run(&w, SETTLE);
    plain(&w, "a");
    run(&w, SETTLE);
    assert_true(gated(&w, "a"));
    drop_pod(&w, "a", -1);
    run(&w, SL_SEC);
    assert_false(has_pod(&w, "a"));
    run(&w, SETTLE);
    assert_string_equal(workload_of(&w, "a"), "");
    end(&w);
}

/* The finalizer goes at once, the quota when the pod has ended. */
static void test_plain_pod_deleted_while_it_runs(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    make_pod(&w, "a", (struct pod_text){.cpu = "10"});
    run(&w, SETTLE);
    set_pod(&w, "a", "n1", "Running");
    plain(&w, "b");
    run(&w, SETTLE);
    drop_pod(&w, "a", 30);
    run(&w, 20 * SL_SEC);
    assert_true(has_pod(&w, "a") && finalized(&w, "a"));
    assert_true(gated(&w, "b")); /* it may still run */
    drop_pod(&w, "a", 0);        /* its node reports that it has ended */
    run(&w, 2 * SL_SEC);
    assert_false(has_pod(&w, "a"));
    assert_false(gated(&w, "b"));

    set_pod(&w, "b", "n1", "Running");
    drop_pod(&w, "b", 30);
    make_pod(&w, "c", (struct pod_text){.cpu = "10"});
    run(&w, 20 * SL_SEC);
    assert_true(gated(&w, "c"));
    run(&w, 20 * SL_SEC); /* its node is silent, but the time it had is over */
    assert_true(has_pod(&w, "b"));
    assert_true(is(&w, workload_of(&w, "b"), "Finished"));
    assert_string_equal(reason_of(&w, workload_path(&w, "b"), "Finished"), "OwnerNotFound");
    assert_false(gated(&w, "c"));
    end(&w);
}

static void test_plain_pod_is_preempted(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    make_pod(&w, "low", (struct pod_text){.cpu = "10"});
    run(&w, SETTLE);
    set_pod(&w, "low", "n1", "Running");
    make_pod(&w, "high", (struct pod_text){.labels = ",'" Q "priority-class':'high'"});
    run(&w, 5 * SL_SEC);
    yyjson_val *c = condition_of(&w, pod_path("low", ""), "TerminationTarget");
    assert_string_equal(sl_json_str(c, "status"), "True");
    assert_string_equal(sl_json_str(c, "reason"), "WorkloadEvictedDueToPreempted");
    assert_non_null(strstr(sl_json_str(c, "message"), "Preempted to accommodate a workload"));
    assert_true(deleting(&w, "low") && finalized(&w, "low"));
    assert_int_equal(events(&w, (struct told){.reason = "Stopped", .kind = "Pod", .name = "low"}),
                     1);
    assert_true(gated(&w, "high")); /* the quota is in use as long as the pod runs */
    assert_true(is(&w, workload_of(&w, "low"), "QuotaReserved"));
    set_pod(&w, "low", NULL, "Failed");
    run(&w, 2 * SL_SEC);
    assert_false(gated(&w, "high"));
    assert_true(is(&w, workload_of(&w, "low"), "Finished"));
    drop_pod(&w, "low", 0);
    run(&w, SETTLE);
    assert_string_equal(workload_of(&w, "low"), "");
    end(&w);
}

/* ---- groups ---- */

static void test_group_is_admitted_whole(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    member(&w, "a", "g", 3);
    member(&w, "b", "g", 3);
    run(&w, 4 * SL_SEC);
    assert_int_equal(events(&w, (struct told){.reason = "ErrWorkloadCompose"}), 0); /* too early */
    run(&w, SETTLE);
    assert_false(there(&w, WORKLOADS "/g"));
    assert_int_equal(
        events(&w, (struct told){.reason = "ErrWorkloadCompose", .kind = "Pod", .name = "a"}), 1);
    member_with(&w, "c", "g", 3, (struct pod_text){.cpu = "2"});
    run(&w, SETTLE);
    assert_true(is(&w, "g", "Admitted"));
    yyjson_val *sets = at(&w, WORKLOADS "/g", "spec.podSets");
    assert_int_equal(yyjson_arr_size(sets), 2);
    assert_true(strcmp(sl_json_str(yyjson_arr_get(sets, 0), "name"),
                       sl_json_str(yyjson_arr_get(sets, 1), "name")) < 0);
    assert_int_equal(yyjson_arr_size(at(&w, WORKLOADS "/g", "metadata.ownerReferences")), 3);
    assert_string_equal(
        sl_json_annotation(fakeapi_get(w.api, WORKLOADS "/g"), Q "is-group-workload"), "true");
    assert_true(all_free(&w, "abc"));
    set_pods(&w, "abc", "Running");
    run(&w, SETTLE);
    set_pods(&w, "ab", "Succeeded");
    run(&w, SETTLE);
    assert_false(is(&w, "g", "Finished"));
    assert_false(finalized(&w, "a"));
    assert_int_equal(reclaimable(&w, "g"), 2);
    set_pods(&w, "c", "Succeeded");
    run(&w, SETTLE);
    assert_string_equal(sl_json_str(condition_of(&w, WORKLOADS "/g", "Finished"), "message"),
                        "Pods succeeded: 3/3.");
    assert_true(finalized(&w, "a") && finalized(&w, "b") && finalized(&w, "c"));
    end(&w);
}

static void test_group_waits_whole(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    make_pod(&w, "x", (struct pod_text){.cpu = "8"});
    run(&w, SETTLE);
    set_pod(&w, "x", "n1", "Running");
    for (const char *p = "abc"; *p; p++)
        member(&w, (char[]){*p, '\0'}, "g", 3);
    run(&w, SETTLE);
    assert_true(all_gated(&w, "abc")); /* two of them would fit */
    set_pod(&w, "x", NULL, "Succeeded");
    run(&w, SETTLE);
    assert_true(all_free(&w, "abc"));
    end(&w);
}

static void test_excess_pods_go(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    member(&w, "b", "g", 2);
    run(&w, 2 * SL_SEC);
    member(&w, "c", "g", 2);
    run(&w, 2 * SL_SEC);
    member(&w, "a", "g", 2); /* the newest */
    run(&w, SETTLE);
    assert_false(has_pod(&w, "a"));
    assert_true(all_free(&w, "bc"));
    assert_int_equal(
        events(&w, (struct told){.reason = "ExcessPodDeleted", .kind = "Pod", .name = "a"}), 1);
    /* Before a Workload is made as well. */
    make_pod(&w, "block", (struct pod_text){.cpu = "8"});
    for (const char *p = "rst"; *p; p++)
        member(&w, (char[]){*p, '\0'}, "h", 2);
    run(&w, SETTLE);
    assert_true(has_pod(&w, "r") && has_pod(&w, "s") && !has_pod(&w, "t"));
    end(&w);
}

/* An excess pod lost its finalizer, and took a place that became free before it was deleted: it is
 * still the first to go when another comes, as with Kueue, though it runs. */
static void test_excess_pod_that_runs_goes(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    member(&w, "a", "g", 2);
    member_with(&w, "b", "g", 2, (struct pod_text){.bare = true});
    run(&w, SETTLE);
    assert_true(all_free(&w, "ab"));
    set_pods(&w, "ab", "Running");
    member(&w, "c", "g", 2);
    run(&w, SETTLE);
    assert_true(has_pod(&w, "a") && !deleting(&w, "a"));
    assert_true(deleting(&w, "b"));
    assert_true(gated(&w, "c")); /* until that one has ended */
    drop_pod(&w, "b", 0);        /* as its kubelet */
    run(&w, SETTLE);
    assert_true(all_free(&w, "ac"));
    end(&w);
}

static void test_replacement(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    member(&w, "a", "g", 2);
    member(&w, "b", "g", 2);
    run(&w, SETTLE);
    set_pods(&w, "ab", "Running");
    run(&w, SETTLE);
    set_pods(&w, "b", "Failed");
    run(&w, SETTLE);
    assert_true(is(&w, "g", "WaitingForReplacementPods"));
    assert_string_equal(reason_of(&w, WORKLOADS "/g", "WaitingForReplacementPods"), "PodsFailed");
    assert_true(is(&w, "g", "Admitted")); /* the others run on */
    assert_false(finalized(&w, "b"));
    member(&w, "c", "g", 2);
    run(&w, SETTLE);
    assert_false(gated(&w, "c"));
    assert_true(finalized(&w, "b"));
    assert_false(is(&w, "g", "WaitingForReplacementPods"));
    assert_int_equal(events(&w, (struct told){.reason = "OwnerReferencesAdded",
                                              .kind = "Workload",
                                              .name = "g",
                                              .note = "Added 1 owner reference(s)"}),
                     1);
    set_pods(&w, "ac", "Succeeded");
    run(&w, SETTLE);
    assert_true(is(&w, "g", "Finished"));
    end(&w);
}

/* A replacement starts when the one before it has ended: both would be too many. */
static void test_replacement_waits_for_the_first(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    member(&w, "a", "g", 2);
    member(&w, "b", "g", 2);
    run(&w, SETTLE);
    set_pods(&w, "ab", "Running");
    drop_pod(&w, "b", 30);
    member(&w, "c", "g", 2);
    run(&w, 10 * SL_SEC);
    assert_true(gated(&w, "c") && has_pod(&w, "b"));
    drop_pod(&w, "b", 0);
    set_pods(&w, "b", "Failed");
    run(&w, 3 * SL_SEC);
    assert_false(gated(&w, "c") || has_pod(&w, "b"));
    end(&w);
}

static void test_eviction_waits_for_pods(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    member_with(&w, "a", "g", 2, (struct pod_text){.cpu = "5"});
    member_with(&w, "b", "g", 2, (struct pod_text){.cpu = "5"});
    run(&w, SETTLE);
    set_pods(&w, "ab", "Running");
    make_pod(&w, "high", (struct pod_text){.labels = ",'" Q "priority-class':'high'"});
    run(&w, 5 * SL_SEC);
    assert_true(deleting(&w, "a") && deleting(&w, "b"));
    assert_true(is(&w, "g", "WaitingForReplacementPods"));
    assert_string_equal(reason_of(&w, WORKLOADS "/g", "WaitingForReplacementPods"), "Preempted");
    drop_pod(&w, "a", 0);
    set_pods(&w, "a", "Failed");
    run(&w, 2 * SL_SEC);
    assert_true(gated(&w, "high")); /* b still holds its half */
    set_pods(&w, "b", "Failed");
    run(&w, 2 * SL_SEC);
    assert_false(gated(&w, "high"));

    /* Not before there are pods again. */
    set_pods(&w, "", "");
    set_pod(&w, "high", "n1", "Succeeded");
    run(&w, SETTLE);
    assert_false(is(&w, "g", "QuotaReserved"));
    member_with(&w, "c", "g", 2, (struct pod_text){.cpu = "5"});
    run(&w, SETTLE);
    assert_false(is(&w, "g", "QuotaReserved"));
    member_with(&w, "d", "g", 2, (struct pod_text){.cpu = "5"});
    run(&w, SETTLE);
    assert_true(is(&w, "g", "Admitted"));
    assert_true(all_free(&w, "cd"));
    end(&w);
}

static void test_fast_admission_and_serving(void **state) {
    (void)state;
    struct world w;
    struct pod_text t = {.annotations = ",'" Q "pod-group-fast-admission':'true','" Q
                                        "pod-group-serving':'true'"};
    begin(&w);
    member_with(&w, "a", "g", 3, t);
    run(&w, SETTLE);
    assert_true(is(&w, "g", "Admitted"));
    assert_int_equal(
        sl_json_int(yyjson_arr_get_first(at(&w, WORKLOADS "/g", "spec.podSets")), "count", 0), 3);
    assert_false(gated(&w, "a"));
    member_with(&w, "b", "g", 3, t);
    member_with(&w, "c", "g", 3, t);
    run(&w, SETTLE);
    assert_true(all_free(&w, "bc"));
    set_pods(&w, "abc", "Succeeded");
    run(&w, SETTLE);
    assert_false(is(&w, "g", "Finished"));
    assert_int_equal(reclaimable(&w, "g"), 0);
    end(&w);
}

/* ---- what a Workload takes over ---- */

static void test_what_is_copied(void **state) {
    (void)state;
    struct world w;
    struct sl_manager_parts parts = {.core = true, .scheduler = true};
    parts.framework[SL_FW_POD] = true;
    begin_with(&w, 1,
               CONFIG "integrations:\n  frameworks: [pod]\n  labelKeysToCopy: [team, tier]\n",
               parts);
    member_with(&w, "a", "g", 2,
                (struct pod_text){.labels = ",'team':'x','" Q "max-exec-time-seconds':'60'",
                                  .annotations = ",'provreq.kueue.x-k8s.io/Foo':'1','bar':'2'"});
    member_with(&w, "b", "g", 2,
                (struct pod_text){.labels = ",'tier':'y','" Q "max-exec-time-seconds':'60'"});
    run(&w, SETTLE);
    yyjson_val *o = fakeapi_get(w.api, WORKLOADS "/g");
    assert_non_null(o);
    assert_string_equal(sl_json_label(o, "team"), "x");
    assert_string_equal(sl_json_label(o, "tier"), "y");
    assert_string_equal(sl_json_annotation(o, "provreq.kueue.x-k8s.io/Foo"), "1");
    assert_string_equal(sl_json_annotation(o, "bar"), "");
    assert_int_equal(sl_json_int(o, "spec.maximumExecutionTimeSeconds", 0), 60);
    assert_null(
        sl_json_at(yyjson_arr_get_first(sl_json_at(o, "spec.podSets")), "template.metadata"));

    member_with(&w, "c", "h", 2, (struct pod_text){.labels = ",'team':'x'"});
    member_with(&w, "d", "h", 2, (struct pod_text){.labels = ",'team':'z'"});
    run(&w, SETTLE);
    assert_false(there(&w, WORKLOADS "/h"));
    assert_int_equal(
        events(&w, (struct told){.reason = "ErrWorkloadCompose", .kind = "Pod", .name = "c"}), 1);
    end(&w);
}

static void test_labels_are_followed(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    create(&w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q2'},'spec':{'clusterQueue':'cq'}}");
    make_pod(&w, "x", (struct pod_text){.cpu = "10"});
    run(&w, SETTLE);
    set_pod(&w, "x", "n1", "Running");
    member(&w, "a", "g", 1);
    plain(&w, "b");
    run(&w, SETTLE);
    for (const char *p = "ab"; *p; p++)
        patch(&w, pod_path((char[]){*p, '\0'}, ""),
              "{'metadata':{'labels':{'" Q "queue-name':'q2'}}}");
    run(&w, SETTLE);
    assert_string_equal(sl_json_str(fakeapi_get(w.api, WORKLOADS "/g"), "spec.queueName"), "q2");
    assert_string_equal(sl_json_str(fakeapi_get(w.api, workload_path(&w, "b")), "spec.queueName"),
                        "q2");
    patch(&w, pod_path("b", ""), "{'metadata':{'labels':{'" Q "priority-class':'high'}}}");
    run(&w, SETTLE);
    assert_int_equal(sl_json_int(fakeapi_get(w.api, workload_path(&w, "b")), "spec.priority", 0),
                     100);
    assert_true(deleting(&w, "x")); /* preempted for it */
    end(&w);
}

static void test_pods_ready(void **state) {
    (void)state;
    struct world w;
    struct sl_manager_parts parts = {.core = true, .scheduler = true};
    parts.framework[SL_FW_POD] = true;
    begin_with(&w, 1,
               CONFIG "waitForPodsReady: {enable: true, timeout: 5m, blockAdmission: false}\n",
               parts);
    member(&w, "a", "g", 2);
    member(&w, "b", "g", 2);
    plain(&w, "c");
    run(&w, SETTLE);
    assert_false(is(&w, "g", "PodsReady") || is(&w, workload_of(&w, "c"), "PodsReady"));
    set_pods(&w, "ac", "Running");
    run(&w, SETTLE);
    assert_false(is(&w, "g", "PodsReady"));
    assert_true(is(&w, workload_of(&w, "c"), "PodsReady"));
    set_pods(&w, "b", "Running");
    run(&w, SETTLE);
    assert_true(is(&w, "g", "PodsReady"));
    end(&w);
}

/* ---- prebuilt Workloads ---- */

static void prebuilt(struct world *w, const char *name, const char *podset, const char *cpu) {
    struct sl_buf b;
    sl_buf_init(&b, 4096);
    sl_buf_printf(
        &b,
        "{'metadata':{'name':'%s'},'spec':{'active':true,'queueName':'q','podSets':[{"
        "'name':'%s','count':1,'template':{'spec':{'containers':[{'name':'c','resources':{"
        "'requests':{'cpu':'%s'}}}]}}}]}}",
        name, podset, cpu);
    create(w, WORKLOADS, sl_buf_str(&b));
    sl_buf_done(&b);
}

static void test_prebuilt(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    make_pod(&w, "a", (struct pod_text){.labels = ",'" Q "prebuilt-workload-name':'one'"});
    run(&w, SETTLE);
    assert_true(gated(&w, "a"));
    assert_string_equal(workload_of(&w, "a"), "");
    prebuilt(&w, "one", "main", "1");
    run(&w, SETTLE);
    assert_string_equal(workload_of(&w, "a"), "one");
    assert_false(gated(&w, "a"));

    prebuilt(&w, "two", "main", "2");
    make_pod(&w, "b", (struct pod_text){.labels = ",'" Q "prebuilt-workload-name':'two'"});
    run(&w, SETTLE);
    assert_string_equal(reason_of(&w, WORKLOADS "/two", "Finished"), "OutOfSync");
    assert_true(gated(&w, "b"));

    prebuilt(&w, "g", "leader", "1");
    member_with(&w, "c", "g", 1,
                (struct pod_text){.labels = ",'" Q "prebuilt-workload-name':'g'",
                                  .annotations = ",'" Q "role-hash':'leader'"});
    run(&w, SETTLE);
    assert_false(gated(&w, "c"));
    assert_string_equal(workload_of(&w, "c"), "g");
    set_pods(&w, "c", "Succeeded");
    run(&w, SETTLE);
    assert_true(is(&w, "g", "Finished"));
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_pod),
        cmocka_unit_test(test_plain_pod_deleted_while_it_waits),
        cmocka_unit_test(test_plain_pod_deleted_while_it_runs),
        cmocka_unit_test(test_plain_pod_is_preempted),
        cmocka_unit_test(test_group_is_admitted_whole),
        cmocka_unit_test(test_group_waits_whole),
        cmocka_unit_test(test_excess_pods_go),
        cmocka_unit_test(test_excess_pod_that_runs_goes),
        cmocka_unit_test(test_replacement),
        cmocka_unit_test(test_replacement_waits_for_the_first),
        cmocka_unit_test(test_eviction_waits_for_pods),
        cmocka_unit_test(test_fast_admission_and_serving),
        cmocka_unit_test(test_what_is_copied),
        cmocka_unit_test(test_labels_are_followed),
        cmocka_unit_test(test_pods_ready),
        cmocka_unit_test(test_prebuilt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
