/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes wrong with pods in a queue elsewhere, and must not here: a finished Workload that is
 * taken for the new pods' own, finalizers that stick, quota that is given away twice, stops that
 * are half done, Workloads and pods that forget each other; and what people get wrong.
 */
#include <malloc.h>

#include "group_fixture.h"

#define UNRETRIABLE ",'" Q "retriable-in-group':'false'"

static void unretriable(struct world *w, const char *name, const char *group, int total) {
    member_with(w, name, group, total, (struct pod_text){.annotations = UNRETRIABLE});
}

/* ---- the group that came before ---- */

/* The same names, the same group, within seconds: as a managed job of SkyPilot is recovered. */
static void test_finished_workload_is_not_reused(void **state) {
    (void)state;
    struct world w;
    char uid[64];
    begin(&w);
    unretriable(&w, "a", "g", 2);
    unretriable(&w, "b", "g", 2);
    run(&w, SETTLE);
    set_pods(&w, "ab", "Running");
    set_pods(&w, "ab", "Failed");
    run(&w, SETTLE);
    assert_true(is(&w, "g", "Finished"));
    assert_string_equal(sl_json_str(condition_of(&w, WORKLOADS "/g", "Finished"), "message"),
                        "Pods succeeded: 0/2.");
    (void)snprintf(uid, sizeof uid, "%s",
                   sl_json_str(fakeapi_get(w.api, WORKLOADS "/g"), "metadata.uid"));
    drop_pod(&w, "a", 0);
    unretriable(&w, "a", "g", 2); /* b is still there, and has ended */
    unretriable(&w, "c", "g", 2);
    run(&w, SETTLE);
    assert_true(has_pod(&w, "b"));
    assert_true(is(&w, "g", "Admitted") && !is(&w, "g", "Finished"));
    assert_string_not_equal(uid, sl_json_str(fakeapi_get(w.api, WORKLOADS "/g"), "metadata.uid"));
    assert_true(all_free(&w, "ac"));
    end(&w);
}

/* Succeeded pods of the one before are not counted for the next, nor taken for its excess. */
static void test_succeeded_pods_of_the_one_before(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    member(&w, "a", "g", 2);
    member(&w, "b", "g", 2);
    run(&w, SETTLE);
    set_pods(&w, "ab", "Succeeded");
    run(&w, SETTLE);
    assert_true(is(&w, "g", "Finished"));
    member(&w, "c", "g", 2);
    run(&w, SETTLE);
    assert_true(gated(&w, "c"));
    member(&w, "d", "g", 2);
    run(&w, SETTLE);
    assert_true(is(&w, "g", "Admitted") && !is(&w, "g", "Finished"));
    assert_true(all_free(&w, "cd") && has_pod(&w, "a") && has_pod(&w, "b"));
    end(&w);
}

/* Its Workload is being deleted; pods that came after it are not. */
static void test_workload_deleted(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    member(&w, "a", "g", 2);
    member(&w, "b", "g", 2);
    run(&w, SETTLE);
    set_pods(&w, "ab", "Running");
    run(&w, SL_SEC);
    request(&w, SL_DELETE, WORKLOADS "/g", SL_JSON, "{}");
    run(&w, 2 * SL_SEC);
    assert_true(deleting(&w, "a") && deleting(&w, "b"));
    assert_true(finalized(&w, "a") && finalized(&w, "b"));
    assert_string_equal(reason_of(&w, pod_path("a", ""), "TerminationTarget"), "WorkloadDeleted");
    assert_true(there(&w, WORKLOADS "/g")); /* as long as they may run: it holds their quota */
    member(&w, "c", "g", 2);
    member(&w, "d", "g", 2);
    run(&w, 10 * SL_SEC);
    assert_true(has_pod(&w, "c") && has_pod(&w, "d") && all_gated(&w, "cd"));
    drop_pod(&w, "a", 0);
    drop_pod(&w, "b", 0);
    run(&w, SETTLE);
    assert_true(is(&w, "g", "Admitted") && all_free(&w, "cd"));
    end(&w);
}

/* ---- finalizers ---- */

static void test_no_finalizer_sticks(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    make_pod(&w, "x", (struct pod_text){.cpu = "8"});
    run(&w, SETTLE);
    for (const char *p = "abc"; *p; p++)
        member(&w, (char[]){*p, '\0'}, "g", 3);
    run(&w, SETTLE);
    drop_pod(&w, "a", -1); /* gated */
    run(&w, SL_SEC);
    assert_false(has_pod(&w, "a"));
    assert_true(is(&w, "g", "WaitingForReplacementPods"));
    member(&w, "d", "g", 3);
    set_pod(&w, "x", "n1", "Succeeded");
    run(&w, SETTLE);
    assert_true(all_free(&w, "bcd"));

    drop_pod(&w, "b", -1); /* not on a node yet */
    run(&w, SL_SEC);
    assert_false(has_pod(&w, "b"));
    set_pods(&w, "cd", "Running");
    set_pods(&w, "c", "Failed");
    run(&w, SETTLE);
    assert_false(finalized(&w, "c")); /* to be replaced */
    drop_pod(&w, "c", 0);             /* but a delete need not wait for that */
    run(&w, SL_SEC);
    assert_false(has_pod(&w, "c"));
    drop_pod(&w, "d", 30); /* runs on, and its node is silent */
    run(&w, 20 * SL_SEC);
    assert_false(finalized(&w, "d"));
    run(&w, 20 * SL_SEC);
    assert_true(finalized(&w, "d"));
    end(&w);
}

/* A pod that was stopped before it had a node stays visible for a moment, so that clients can read
 * why. */
static void test_stopped_pod_is_seen(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    member_with(&w, "a", "g", 1, (struct pod_text){.cpu = "10"});
    run(&w, SETTLE);
    make_pod(&w, "high", (struct pod_text){.labels = ",'" Q "priority-class':'high'"});
    run(&w, SL_SEC);
    assert_true(deleting(&w, "a"));
    assert_string_equal(reason_of(&w, pod_path("a", ""), "TerminationTarget"),
                        "WorkloadEvictedDueToPreempted");
    assert_false(gated(&w, "high")); /* it holds nothing, though */
    run(&w, 5 * SL_SEC);
    assert_false(has_pod(&w, "a"));
    end(&w);
}

/* A pod that succeeded counts, though it was deleted before the others were done. */
static void test_deleted_pod_has_succeeded(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    for (const char *p = "abc"; *p; p++)
        member(&w, (char[]){*p, '\0'}, "g", 3);
    run(&w, SETTLE);
    set_pods(&w, "abc", "Running");
    set_pods(&w, "ab", "Succeeded");
    drop_pod(&w, "a", 0);
    drop_pod(&w, "b", 0);
    run(&w, 2 * SL_SEC);
    assert_false(has_pod(&w, "a") || has_pod(&w, "b"));
    assert_false(is(&w, "g", "WaitingForReplacementPods") || is(&w, "g", "Finished"));
    assert_int_equal(reclaimable(&w, "g"), 2);
    restart(&w, 1);
    run(&w, SETTLE);
    assert_false(is(&w, "g", "WaitingForReplacementPods"));
    set_pods(&w, "c", "Succeeded");
    run(&w, SETTLE);
    assert_string_equal(sl_json_str(condition_of(&w, WORKLOADS "/g", "Finished"), "message"),
                        "Pods succeeded: 3/3.");
    end(&w);
}

/* ---- groups that are not retried ---- */

static void test_one_failure_does_not_end_the_others(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    unretriable(&w, "a", "g", 2);
    unretriable(&w, "b", "g", 2);
    run(&w, SETTLE);
    set_pods(&w, "ab", "Running");
    set_pods(&w, "a", "Failed");
    run(&w, SETTLE);
    assert_false(is(&w, "g", "Finished"));
    set_pods(&w, "b", "Succeeded");
    run(&w, SETTLE);
    assert_true(is(&w, "g", "Finished"));
    assert_true(finalized(&w, "a") && finalized(&w, "b"));
    end(&w);
}

/* `sky down`: all pods are deleted with no grace. */
static void test_deleted_group_frees_its_quota(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    for (const char *p = "ab"; *p; p++)
        member_with(&w, (char[]){*p, '\0'}, "g", 2,
                    (struct pod_text){.annotations = UNRETRIABLE, .cpu = "5"});
    run(&w, SETTLE);
    set_pods(&w, "ab", "Running");
    make_pod(&w, "next", (struct pod_text){.cpu = "10"});
    run(&w, SETTLE);
    assert_true(gated(&w, "next"));
    drop_pod(&w, "a", 0);
    drop_pod(&w, "b", 0);
    run(&w, 2 * SL_SEC);
    assert_false(has_pod(&w, "a") || has_pod(&w, "b"));
    assert_false(gated(&w, "next"));
    run(&w, SETTLE);
    assert_false(there(&w, WORKLOADS "/g"));
    end(&w);
}

/* ---- half done ---- */

/* Killed between the condition and the deletion, whatever becomes of the cause. */
static void test_begun_stop_is_ended(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    member(&w, "a", "g", 2);
    member(&w, "b", "g", 2);
    plain(&w, "c");
    run(&w, SETTLE);
    set_pods(&w, "abc", "Running");
    for (const char *p = "ac"; *p; p++)
        patch(&w, pod_path((char[]){*p, '\0'}, "/status"),
              "{'status':{'conditions':[{'type':'TerminationTarget','status':'True','reason':"
              "'WorkloadEvictedDueToPreempted','message':'x'}]}}");
    restart(&w, 1);
    run(&w, SETTLE);
    assert_true(deleting(&w, "a") && deleting(&w, "c") && !deleting(&w, "b"));
    end(&w);
}

/* Pods and Workload went while no manager was running. */
static void test_gone_meanwhile(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    plain(&w, "a");
    member_with(&w, "b", "g", 1, (struct pod_text){.bare = true});
    run(&w, SETTLE);
    sl_manager_free(w.m);
    fakeapi_kill(w.api, 0);
    for (const char *p = "ab"; *p; p++) {
        patch(&w, pod_path((char[]){*p, '\0'}, ""), "{'metadata':{'finalizers':null}}");
        drop_pod(&w, (char[]){*p, '\0'}, 0);
    }
    start(&w, 1, 1);
    run(&w, SETTLE);
    assert_string_equal(workload_of(&w, "a"), "");
    assert_false(there(&w, WORKLOADS "/g"));
    end(&w);
}

/* A running pod whose Workload is gone does not run on. */
static void test_no_pod_runs_without_a_workload(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    plain(&w, "a");
    run(&w, SETTLE);
    set_pods(&w, "a", "Running");
    char path[512];
    (void)snprintf(path, sizeof path, "%s", workload_path(&w, "a"));
    sl_manager_free(w.m);
    fakeapi_kill(w.api, 0);
    patch(&w, path, "{'metadata':{'finalizers':null}}");
    request(&w, SL_DELETE, path, SL_JSON, "{}");
    start(&w, 1, 1);
    run(&w, 2 * SL_SEC);
    assert_true(deleting(&w, "a"));
    assert_string_equal(reason_of(&w, pod_path("a", ""), "TerminationTarget"),
                        "NoMatchingWorkload");
    end(&w);
}

/* ---- errors of users ---- */

static void test_contradictions(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    member(&w, "a", "g", 2);
    member(&w, "b", "g", 3); /* another total */
    member(&w, "c", "h", 2);
    member_with(&w, "d", "h", 2, (struct pod_text){.queue = "other"});
    make_pod(&w, "e", (struct pod_text){.labels = ",'" Q "pod-group-name':'i'"}); /* no total */
    member_with(&w, "f", "j", 1, (struct pod_text){.labels = ",'" Q "pod-group-pod-index':'1'"});
    plain(&w, "ok");
    run(&w, SETTLE);
    assert_false(gated(&w, "ok")); /* no other pod is affected */
    assert_true(all_gated(&w, "abcdef"));
    for (const char *p = "acef"; *p; p++)
        assert_int_equal(events(&w, (struct told){.reason = "ErrWorkloadCompose",
                                                  .kind = "Pod",
                                                  .name = (char[]){*p, '\0'}}),
                         1);
    drop_pod(&w, "b", -1);
    member(&w, "z", "g", 2);
    run(&w, SETTLE);
    assert_true(all_free(&w, "az"));
    end(&w);
}

/* A large pod that calls itself by the role of a small one is charged for what it is. */
static void test_borrowed_role(void **state) {
    (void)state;
    static const char role[] = ",'" Q "role-hash':'same'";
    static const char parent[] = ",'" Q "role-hash':'same','" Q "pod-suspending-parent':'none'";
    struct world w;
    begin(&w);
    member_with(&w, "a", "g", 2, (struct pod_text){.annotations = role, .cpu = "1"});
    member_with(&w, "b", "g", 2, (struct pod_text){.annotations = role, .cpu = "9500m"});
    member_with(&w, "c", "h", 2, (struct pod_text){.annotations = parent, .cpu = "1"});
    member_with(&w, "d", "h", 2, (struct pod_text){.annotations = parent, .cpu = "9500m"});
    run(&w, SETTLE);
    assert_true(all_gated(&w, "abcd")); /* 10500m of 10 */
    assert_int_equal(yyjson_arr_size(at(&w, WORKLOADS "/g", "spec.podSets")), 2);
    assert_false(there(&w, WORKLOADS "/h"));
    member_with(&w, "e", "i", 2, (struct pod_text){.annotations = role, .cpu = "1"});
    member_with(&w, "f", "i", 2, (struct pod_text){.annotations = role, .cpu = "2"});
    run(&w, SETTLE);
    assert_true(all_free(&w, "ef")); /* what fits runs, and is charged in full */
    set_pods(&w, "ef", "Succeeded");
    run(&w, SETTLE);
    assert_true(is(&w, "i", "Finished"));
    end(&w);
}

/* Nothing that the owner of a pod may edit frees what it holds while it runs, or lets another run
 * that does not fit beside it. */
static void test_edits_while_running(void **state) {
    (void)state;
    static const char *const edits[] = {
        "{'metadata':{'finalizers':null}}",
        "{'metadata':{'finalizers':['example.com/mine']}}",
        "{'metadata':{'labels':{'" Q "queue-name':'elsewhere'}}}",
        "{'metadata':{'labels':{'" Q "queue-name':null}}}",
        "{'metadata':{'labels':{'" Q "priority-class':'high'}}}",
        "{'metadata':{'annotations':{'" Q "role-hash':'other'}}}",
        "{'metadata':{'annotations':{'" Q "pod-group-total-count':'1'}}}",
        "{'metadata':{'annotations':{'" Q "pod-group-fast-admission':'true'}}}",
        "{'metadata':{'annotations':{'" Q "pod-group-serving':'true'}}}",
    };
    for (size_t i = 0; i < SL_LEN(edits); i++) {
        struct world w;
        begin(&w);
        member_with(&w, "a", "g", 2, (struct pod_text){.cpu = "5"});
        member_with(&w, "b", "g", 2, (struct pod_text){.cpu = "4"});
        run(&w, SETTLE);
        set_pods(&w, "ab", "Running");
        member_with(&w, "c", "h", 1, (struct pod_text){.cpu = "5"});
        make_pod(&w, "d", (struct pod_text){.cpu = "2"});
        run(&w, SETTLE);
        assert_true(all_gated(&w, "cd"));
        patch(&w, pod_path("a", ""), edits[i]);
        run(&w, SETTLE);
        bool runs = there(&w, pod_path("a", "")) && !deleting(&w, "a");
        if (runs && !(all_gated(&w, "c") && all_gated(&w, "d")))
            fail_msg("edit %zu frees quota that is in use: %s", i, edits[i]);
        end(&w);
    }
}

/* Gates that are not ours neither start a pod nor keep its quota from being counted. */
static void test_foreign_gates(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    create(&w, PODS,
           "{'metadata':{'name':'a','finalizers':['" MANAGED "'],'labels':{'" MANAGED "':'true','" Q
           "queue-name':'q'}},'spec':{'schedulingGates':[{'name':'" Q
           "admission'},{'name':'example.com/mine'}],'containers':[{'name':'c','resources':{"
           "'requests':{'cpu':'9'}}}]}}");
    make_pod(&w, "b", (struct pod_text){.cpu = "9"});
    run(&w, SETTLE);
    assert_int_equal(gated(&w, "a") + gated(&w, "b"), 1); /* one of the two, not both */
    end(&w);
}

static void test_too_many_roles(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    for (int i = 0; i < 19; i++) {
        char name[16], cpu[16];
        (void)snprintf(name, sizeof name, "p%d", i);
        (void)snprintf(cpu, sizeof cpu, "%dm", i + 1);
        member_with(&w, name, "g", 19, (struct pod_text){.cpu = cpu});
    }
    run(&w, SETTLE);
    assert_false(there(&w, WORKLOADS "/g"));
    assert_int_equal(events(&w, (struct told){.reason = "ErrWorkloadCompose"}), 1);
    end(&w);
}

static void test_name_is_taken(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    create(&w, WORKLOADS,
           "{'metadata':{'name':'g','ownerReferences':[{'apiVersion':'x/v1','kind':'X','name':'x',"
           "'uid':'u','controller':true}]},'spec':{'active':true,'queueName':'q','podSets':[{"
           "'name':'main','count':1,'template':{'spec':{'containers':[{'name':'c'}]}}}]}}");
    member(&w, "a", "g", 1);
    run(&w, SETTLE);
    assert_true(gated(&w, "a"));
    assert_int_equal(
        events(&w, (struct told){.reason = "WorkloadNameConflict", .kind = "Pod", .name = "a"}), 1);
    drop_pod(&w, "a", -1);
    run(&w, SL_SEC);
    assert_false(has_pod(&w, "a"));
    end(&w);
}

/* A pod whose node selector contradicts the flavor's can never run. */
static void test_conflict_fails_to_start(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    make_pod(&w, "a", (struct pod_text){.labels = ",'" Q "podset':'mine'"});
    run(&w, SETTLE);
    assert_string_equal(reason_of(&w, workload_path(&w, "a"), "Finished"), "FailedToStart");
    assert_true(gated(&w, "a"));
    end(&w);
}

/* ---- which pods are managed ---- */

static void test_parents_imply_pods(void **state) {
    (void)state;
    struct world w;
    struct sl_manager_parts parts = {.core = true, .scheduler = true};
    parts.framework[SL_FW_DEPLOYMENT] = true;
    begin_with(&w, 1, CONFIG, parts);
    plain(&w, "a");
    make_pod(&w, "b",
             (struct pod_text){.annotations = ",'" Q "pod-suspending-parent':'deployment'",
                               .bare = true});
    run(&w, SETTLE);
    assert_true(gated(&w, "a"));
    assert_string_equal(workload_of(&w, "a"), "");
    assert_false(gated(&w, "b"));
    assert_string_not_equal(workload_of(&w, "b"), "");
    drop_pod(&w, "b", 0);
    run(&w, SETTLE);
    assert_string_equal(workload_of(&w, "b"), "");

    /* Pods of their own are switched on while it runs. */
    parts.framework[SL_FW_POD] = true;
    sl_manager_configure(w.m, w.settings, &parts);
    run(&w, SETTLE);
    assert_false(gated(&w, "a"));
    end(&w);
}

static void test_two_managers_agree(void **state) {
    (void)state;
    struct world w;
    struct sl_buf a, b;
    begin(&w);
    for (const char *p = "abcd"; *p; p++)
        member(&w, (char[]){*p, '\0'}, *p < 'c' ? "g" : "h", 2);
    plain(&w, "e");
    run(&w, SETTLE);
    set_pods(&w, "ab", "Running");
    set_pods(&w, "b", "Failed");
    set_pods(&w, "c", "Succeeded");
    run(&w, SETTLE);
    sl_buf_init(&a, 1u << 20);
    sl_buf_init(&b, 1u << 20);
    sl_manager_dump(w.m, &a);
    restart(&w, 1);
    run(&w, SETTLE);
    sl_manager_dump(w.m, &b);
    assert_string_equal(sl_buf_str(&a), sl_buf_str(&b));
    sl_buf_done(&a);
    sl_buf_done(&b);
    end(&w);
}

/* ---- many ---- */

/* Bytes that a manager has when it has read everything. */
static size_t bytes_of(struct world *w, bool with_pods, uint32_t client) {
    sl_manager_free(w->m);
    fakeapi_kill(w->api, client - 1);
    w->parts.framework[SL_FW_POD] = with_pods;
    w->parts.elasticjobs = true; /* pods are read in any case */
    size_t before = mallinfo2().uordblks;
    start(w, client, 1);
    run(w, SETTLE);
    return mallinfo2().uordblks - before;
}

/* As many as end and wait in a large queue may not cost more than about a kilobyte each. */
static void test_pods_are_cheap(void **state) {
    (void)state;
    struct world w;
    enum { PODS_OF_EACH = 1000 };
    begin(&w);
    for (int i = 0; i < PODS_OF_EACH; i++) {
        char name[48];
        (void)snprintf(name, sizeof name, "a-long-name-of-some-pod-%d", i);
        make_pod(&w, name, (struct pod_text){.bare = true}); /* ends, and is kept by its owner */
        patch(&w, pod_path(name, "/status"), "{'status':{'phase':'Succeeded'}}");
        (void)snprintf(name, sizeof name, "b-long-name-of-some-pod-%d", i);
        plain(&w, name);
    }
    run(&w, 10 * SETTLE);
    size_t without = bytes_of(&w, false, 1), with = bytes_of(&w, true, 2);
    size_t each = (with - without) / ((size_t)2 * PODS_OF_EACH);
    print_message("%zu bytes for each pod\n", each);
#if SL_SANITISED
    assert_true(each == 0 || each < 4096); /* their allocators count otherwise */
#else
    assert_true(each > 100 && each < 1024);
#endif
    end(&w);
}

/* An eviction resets the check, and its controller says "ready" again, in the same words, before
 * the reply to that has arrived: the reset is never observed, and the next reservation counts on
 * what the controller said. */
static void test_check_is_ready_again_at_once(void **state) {
    static const char ready[] =
        "{'status':{'admissionChecks':[{'name':'ac','state':'Ready','message':'yes',"
        "'lastTransitionTime':'2026-01-01T00:00:00Z'}]}}";
    (void)state;
    struct world w;
    begin(&w);
    create(&w, KUEUE "/admissionchecks",
           "{'metadata':{'name':'ac'},'spec':{'controllerName':'x'}}");
    patch(&w, KUEUE "/admissionchecks/ac/status",
          "{'status':{'conditions':[{'type':'Active','status':'True','reason':'Active',"
          "'message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}");
    patch(&w, KUEUE "/clusterqueues/cq",
          "{'spec':{'admissionChecksStrategy':{'admissionChecks':[{'name':'ac'}]}}}");
    member(&w, "a", "g", 1);
    run(&w, SETTLE);
    patch(&w, WORKLOADS "/g/status", ready);
    run(&w, SETTLE);
    assert_true(is(&w, "g", "Admitted") && all_free(&w, "a"));
    set_pods(&w, "a", "Running");
    run(&w, SETTLE);
    fakeapi_set_faults(w.api, &(struct fakeapi_faults){.late_reply = 1});
    patch(&w, WORKLOADS "/g", "{'spec':{'active':false}}");
    for (uint32_t i = 0; i < 1000 && !is(&w, "g", "Evicted"); i++)
        run(&w, SL_MSEC);
    assert_string_equal(
        sl_json_str(yyjson_arr_get_first(at(&w, WORKLOADS "/g", "status.admissionChecks")),
                    "state"),
        "Pending");
    patch(&w, WORKLOADS "/g/status", ready);
    run(&w, SETTLE);
    fakeapi_set_faults(w.api, NULL);
    assert_true(deleting(&w, "a"));
    member(&w, "b", "g", 1);
    set_pods(&w, "a", "Failed");
    run(&w, SETTLE);
    assert_false(is(&w, "g", "QuotaReserved"));
    patch(&w, WORKLOADS "/g", "{'spec':{'active':true}}");
    run(&w, SETTLE);
    assert_true(is(&w, "g", "Admitted") && all_free(&w, "b"));
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finished_workload_is_not_reused),
        cmocka_unit_test(test_succeeded_pods_of_the_one_before),
        cmocka_unit_test(test_workload_deleted),
        cmocka_unit_test(test_no_finalizer_sticks),
        cmocka_unit_test(test_stopped_pod_is_seen),
        cmocka_unit_test(test_deleted_pod_has_succeeded),
        cmocka_unit_test(test_one_failure_does_not_end_the_others),
        cmocka_unit_test(test_deleted_group_frees_its_quota),
        cmocka_unit_test(test_begun_stop_is_ended),
        cmocka_unit_test(test_gone_meanwhile),
        cmocka_unit_test(test_no_pod_runs_without_a_workload),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_borrowed_role),
        cmocka_unit_test(test_edits_while_running),
        cmocka_unit_test(test_foreign_gates),
        cmocka_unit_test(test_too_many_roles),
        cmocka_unit_test(test_name_is_taken),
        cmocka_unit_test(test_conflict_fails_to_start),
        cmocka_unit_test(test_parents_imply_pods),
        cmocka_unit_test(test_two_managers_agree),
        cmocka_unit_test(test_check_is_ready_again_at_once),
        cmocka_unit_test(test_pods_are_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
