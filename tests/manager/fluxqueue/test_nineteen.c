/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nineteen failures of fluxqueue as its users met them, and the list of what its authors still
 * wanted (T1 to T14), each as a test over the in-memory API that fails where it comes back. What
 * admission does about 13 and 14 is in tests/manager/admission/test_flux_review.c; T13, groups of
 * pods, is in test_groups.c; T7, the state of the scheduler by a plugin of kubectl, is in
 * tests/cmd/cli/cluster.sh and in test_plugin of tests/e2e/up/test_clients.py.
 */
#include "fqtest.h"

#include <stdio.h>

#include "lib/log/log.h"

#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define DURATION(n) "'fluxqueue/duration':'" #n "'"

static void send(struct world *w, const char *path, const char *text) {
    char body[4096];
    sl_fmt(body, sizeof body, "%s", text);
    for (char *c = body; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    assert_int_equal(post(w, path, body), 201);
}

static bool gated(struct world *w, const char *path) {
    return sl_json_size(sl_json_at(fakeapi_get(w->api, path), "spec.schedulingGates")) > 0;
}

static bool suspended(struct world *w, const char *path) {
    return sl_json_bool(fakeapi_get(w->api, path), "spec.suspend", true);
}

static void end_job(struct world *w, const char *name) {
    char path[200];
    sl_fmt(path, sizeof path, JOBS "/%s/status", name);
    patch(
        w, path,
        SL_JSON_CONST({"status" : {"conditions" : [ {"type" : "Complete", "status" : "True"} ]}}));
}

/* A node that is full until 'long' ends, and a job that has to wait for it. */
static void fill(struct world *w) {
    node(w, "n0", "4");
    pod(w, "long", "3", DURATION(1000), "");
    run(w, SL_SEC);
    pod(w, "head", "4", DURATION(1000), "");
    run(w, SL_SEC);
}

/* ---- the nineteen ---- */

static void test_01_reservations_happen(void **state) {
    struct world *w = *state;
    fill(w);
    assert_field(w, FLUXJOBS "/head-pod", "status.state", "Reserved");
    assert_true(
        sl_json_bool(fakeapi_get(w->api, FLUXJOBS "/head-pod"), "status.reservation", false));
}

static void test_02_a_reserved_job_is_not_started(void **state) {
    struct world *w = *state;
    fill(w);
    run(w, SL_MINUTE);
    assert_true(gated(w, PODS "/head"));
    assert_field(w, PODS "/head", "spec.nodeName", "");
}

/* Durations count from the start of a job; and one without an end is no reason to wait for ever. */
static void test_03_time_passes(void **state) {
    struct world *w = *state;
    fill(w);
    sl_time begun = sl_json_time(fakeapi_get(w->api, FLUXJOBS "/long-pod"), "status.startedAt");
    assert_int_equal(
        sl_json_time(fakeapi_get(w->api, FLUXJOBS "/head-pod"), "status.estimatedStart"),
        begun + 1000 * SL_SEC);
    run(w, 990 * SL_SEC);
    assert_int_equal(
        sl_json_time(fakeapi_get(w->api, FLUXJOBS "/head-pod"), "status.estimatedStart"),
        begun + 1000 * SL_SEC);
    phase(w, "long", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/head", "spec.nodeName", "n0");
    phase(w, "head", "Succeeded");
    pod(w, "endless", "4", "", "");
    run(w, SL_SEC);
    pod(w, "next", "4", DURATION(10), "");
    run(w, SL_MINUTE);
    assert_field(w, FLUXJOBS "/next-pod", "status.state", "Waiting");
    phase(w, "endless", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/next", "spec.nodeName", "n0");
}

/* A reservation is given up with its job, and the next one gets one. */
static void test_04_reservations_end(void **state) {
    struct world *w = *state;
    fill(w);
    pod(w, "second", "4", DURATION(1000), "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/second-pod", "status.state", "Waiting");
    drop(w, PODS "/head");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/second-pod", "status.state", "Reserved");
}

static void test_05_first_come_first_served(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    pod(w, "first", "1", "", "");
    run(w, SL_SEC);
    pod(w, "second", "1", "", "");
    run(w, 2 * SL_SEC);
    pod(w, "third", "1", "", "");
    run(w, 2 * SL_SEC);
    pod(w, "urgent", "1", "", "'priority':10");
    run(w, 2 * SL_SEC);
    phase(w, "first", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/urgent", "spec.nodeName", "n0");
    phase(w, "urgent", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/second", "spec.nodeName", "n0");
    assert_field(w, PODS "/third", "spec.nodeName", "");
}

/* However long it has waited. */
static void test_06_a_release_moves_the_queue(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    pod(w, "b", "1", "", "");
    run(w, 2 * SL_HOUR);
    phase(w, "a", "Succeeded");
    run(w, 100 * SL_MSEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

static const char *labelled(yyjson_val *o) {
    yyjson_val *labels = sl_json_at(o, "metadata.labels");
    size_t i, n;
    yyjson_val *k, *v;
    yyjson_obj_foreach (labels, i, n, k, v)
        assert_in_range(yyjson_get_len(v), 0, 63);
    v = yyjson_obj_get(labels, "fluxqueue/fluxion-nodes");
    return v ? yyjson_get_str(v) : "";
}

static void test_07_impossible_is_said(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    pod(w, "busy", "2", "", "");
    run(w, SL_SEC);
    pod(w, "waits", "1", "", "");
    set(w, "set", 3, "5");
    child(w, "StatefulSet", "set", 0);
    job(w, "job", 2, "100", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Unsatisfiable");
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Rejected");
    assert_field(w, FLUXJOBS "/waits-pod", "status.state", "Waiting");
    node(w, "n1", "20");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.state", "Running");
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Rejected");
}

/* A label has 63 characters at most. The template of a Job has its nodes as a label alone, and only
 * where they fit; on a pod the node is an annotation, too. */
static void test_08_names_longer_than_labels(void **state) {
    static const char *const names[] = {
        "ip-10-0-0-0.eu-central-1.compute.internal",
        "ip-10-0-0-1.eu-central-1.compute.internal.a-name-of-more-than-63-characters",
    };
    struct world *w = *state;
    for (int i = 0; i < 2; i++)
        node(w, names[i], "3");
    job(w, "fits", 1, "1", "");
    run(w, SL_SEC);
    job(w, "both", 2, "2", "");
    run(w, SL_SEC);
    assert_string_equal(labelled(sl_json_at(fakeapi_get(w->api, JOBS "/fits"), "spec.template")),
                        names[0]);
    assert_false(suspended(w, JOBS "/both"));
    assert_string_equal(labelled(sl_json_at(fakeapi_get(w->api, JOBS "/both"), "spec.template")),
                        "");
    for (int i = 0; i < 2; i++) {
        char path[300];
        sl_fmt(path, sizeof path, "%s", child(w, "Job", "both", i));
        run(w, SL_SEC);
        assert_field(w, path, "spec.nodeName", names[i]);
    }
    pod(w, "long", "2", "", "");
    run(w, SL_SEC);
    yyjson_val *pod = fakeapi_get(w->api, PODS "/long");
    assert_field(w, PODS "/long", "spec.nodeName", names[1]);
    assert_string_equal(sl_json_annotation(pod, "fluxqueue/fluxion-nodes"), names[1]);
    assert_string_equal(labelled(pod), "");
}

/* One place each, and those that come after the first ones get theirs. */
static void test_09_plain_jobs_and_more_completions(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    job(w, "job", 2, "1", "");
    patch(w, JOBS "/job", SL_JSON_CONST({"spec" : {"completions" : 4}}));
    run(w, SL_SEC);
    child(w, "Job", "job", 0);
    child(w, "Job", "job", 1);
    run(w, SL_SEC);
    assert_field(w, PODS "/job-0", "spec.nodeName", "n0");
    assert_field(w, PODS "/job-1", "spec.nodeName", "n1");
    phase(w, "job-0", "Succeeded");
    patch(w, JOBS "/job/status", SL_JSON_CONST({"status" : {"succeeded" : 1, "active" : 1}}));
    child(w, "Job", "job", 3);
    run(w, SL_SEC);
    assert_field(w, PODS "/job-3", "spec.nodeName", "n0");
}

static void test_10_one_pod_is_not_the_job(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    job(w, "job", 2, "1", "");
    run(w, SL_SEC);
    child(w, "Job", "job", 0);
    child(w, "Job", "job", 1);
    run(w, SL_SEC);
    pod(w, "a", "1", "", "");
    drop(w, PODS "/job-0"); /* its controller makes it anew */
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "");
    child(w, "Job", "job", 0);
    run(w, SL_SEC);
    assert_field(w, PODS "/job-0", "spec.nodeName", "n0");
    /* It has ended and is still there: its part is free. */
    phase(w, "job-1", "Succeeded");
    patch(w, JOBS "/job/status", SL_JSON_CONST({"status" : {"succeeded" : 1, "active" : 1}}));
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
}

static void test_11_restart(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    stop(w, 0);
    start(w, 0, false);
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    pod(w, "c", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/a-pod", "status.jobid"), 1);
    assert_int_equal(number(w, FLUXJOBS "/b-pod", "status.jobid"), 2);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    assert_field(w, PODS "/c", "spec.nodeName", "");
    phase(w, "a", "Succeeded"); /* the end of an old job is that of no new one */
    drop(w, PODS "/a");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "Running");
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
}

static void test_12_the_queue_is_not_lost(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    job(w, "job", 1, "1", "");
    run(w, SL_SEC);
    assert_true(suspended(w, JOBS "/job"));
    stop(w, 0);
    phase(w, "a", "Succeeded");
    run(w, SL_MINUTE);
    start(w, 0, false);
    run(w, SL_SEC);
    assert_false(suspended(w, JOBS "/job"));
}

/* Nobody who did not opt in is touched. */
static void test_13_others_are_left_alone(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    send(w, "/api/v1/namespaces/kube-system/pods",
         "{'metadata':{'name':'dns'},'spec':{'containers':[{'name':'a'}]}}");
    send(w, JOBS,
         "{'metadata':{'name':'other'},'spec':{'suspend':true,'template':{'spec':{"
         "'containers':[{'name':'a'}]}}}}");
    pod(w, "ours", "1", "", "");
    run(w, SL_MINUTE);
    assert_field(w, PODS "/ours", "spec.nodeName", "n0");
    assert_true(suspended(w, JOBS "/other"));
    assert_field(w, FLUXJOBS "/other-job", "status.state", "(absent)");
    assert_field(w, "/api/v1/namespaces/kube-system/pods/dns", "spec.nodeName", "");
    assert_false(gated(w, "/api/v1/namespaces/kube-system/pods/dns"));
}

static void test_14_no_orphans(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    job(w, "job", 1, "1", "");
    run(w, SL_SEC);
    yyjson_val *o = fakeapi_get(w->api, FLUXJOBS "/job-job");
    yyjson_val *owner = yyjson_arr_get(sl_json_at(o, "metadata.ownerReferences"), 0);
    assert_string_equal(sl_json_str(owner, "kind"), "Job");
    assert_int_equal(sl_json_size(sl_json_at(o, "metadata.finalizers")), 1);
    assert_int_not_equal(fakeapi_each(w->api, "/apis/events.k8s.io/v1/events", NULL, NULL), 0);
    assert_in_range(fakeapi_do(w->api, SL_DELETE, JOBS "/job", SL_JSON,
                               SL_JSON_CONST({"propagationPolicy" : "Background"}), NULL),
                    200, 202);
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "(absent)");
    pod(w, "next", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/next", "spec.nodeName", "n0");
}

static void test_15_a_pod_and_a_job_of_one_name(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    pod(w, "same", "1", "", "");
    job(w, "same", 1, "1", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/same-pod", "status.state", "Running");
    assert_field(w, FLUXJOBS "/same-job", "status.state", "Running");
    assert_int_not_equal(number(w, FLUXJOBS "/same-pod", "status.jobid"),
                         number(w, FLUXJOBS "/same-job", "status.jobid"));
}

/* The gate of another controller stays, wherever it stands, and is waited for. */
static void test_16_gates_of_others(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    send(w, PODS,
         "{'metadata':{'name':'a','labels':{'fluxqueue.seen':'yes'}},'spec':{'schedulerName':"
         "'FluxionScheduler','schedulingGates':[{'name':'example.com/first'},{'name':'fluxqueue'}],"
         "'containers':[{'name':'a','resources':{'requests':{'cpu':'1'}}}]}}");
    run(w, SL_SEC);
    yyjson_val *gates = sl_json_at(fakeapi_get(w->api, PODS "/a"), "spec.schedulingGates");
    assert_int_equal(sl_json_size(gates), 1);
    assert_non_null(sl_json_find(gates, "name", "example.com/first"));
    assert_field(w, PODS "/a", "spec.nodeName", "");
    patch(w, PODS "/a", SL_JSON_CONST({"spec" : {"schedulingGates" : null}}));
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
}

/* So do more of them than are kept: then ours stays as well, until there are less. */
static void test_16_many_gates_of_others(void **state) {
    static const char long_name[] = "a-gate-with-a-very-long-name.of-some.other-controller";
    struct world *w = *state;
    _cleanup_(sl_buf_done) struct sl_buf body = SL_BUF(65536);
    struct sl_jw j = SL_JW(&body);
    node(w, "n0", "1");
    sl_jw_object(&j, NULL);
    sl_jw_object(&j, "metadata");
    sl_jw_str(&j, "name", "a");
    sl_jw_object(&j, "labels");
    sl_jw_str(&j, "fluxqueue.seen", "yes");
    sl_jw_end_to(&j, 1);
    sl_jw_object(&j, "spec");
    sl_jw_str(&j, "schedulerName", "FluxionScheduler");
    sl_jw_array(&j, "schedulingGates");
    for (int i = 0; i < 100; i++) {
        sl_jw_object(&j, NULL);
        if (i == 50)
            sl_jw_str(&j, "name", "fluxqueue");
        else
            sl_jw_strf(&j, "name", "%s/%d", long_name, i);
        sl_jw_end(&j);
    }
    sl_jw_end_to(&j, 0);
    assert_int_equal(post(w, PODS, sl_buf_str(&body)), 201);
    run(w, 5 * SL_SEC);
    yyjson_val *gates = sl_json_at(fakeapi_get(w->api, PODS "/a"), "spec.schedulingGates");
    assert_int_equal(sl_json_size(gates), 100);
    assert_int_equal(events(w, "FailedScheduling", "a"), 1);
    patch(w, PODS "/a", SL_JSON_CONST({"spec" : {"schedulingGates" : [ {"name" : "fluxqueue"} ]}}));
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
}

/* New pods of a set are not gated for ever, and no two get one place. */
static void test_17_sets_change(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    node(w, "n2", "1");
    set(w, "set", 2, "1");
    child(w, "StatefulSet", "set", 0);
    child(w, "StatefulSet", "set", 1);
    run(w, SL_SEC);
    patch(w, SETS "/set", SL_JSON_CONST({"spec" : {"replicas" : 3}}));
    child(w, "StatefulSet", "set", 2);
    child(w, "StatefulSet", "set", 3); /* one more than it has to have */
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0");
    assert_field(w, PODS "/set-1", "spec.nodeName", "n1");
    assert_field(w, PODS "/set-2", "spec.nodeName", "n2");
    assert_field(w, PODS "/set-3", "spec.nodeName", "");
    drop(w, PODS "/set-1");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-3", "spec.nodeName", "n1");
}

static void test_18_the_cluster_changes(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    pod(w, "first", "1", "", "");
    run(w, SL_SEC);
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    node(w, "n1", "1"); /* one comes */
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    patch(w, NODES "/n1/status", SL_JSON_CONST({"status" : {"allocatable" : {"cpu" : "2"}}}));
    run(w, SL_SEC); /* one is resized */
    assert_field(w, PODS "/b", "spec.nodeName", "n1");
    patch(w, NODES "/n0",
          SL_JSON_CONST(
              {"spec" : {"taints" : [ {"key" : "k", "value" : "v", "effect" : "NoSchedule"} ]}}));
    phase(w, "first", "Succeeded");
    run(w, SL_SEC);
    pod(w, "c", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "");
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"taints" : null}}));
    run(w, SL_SEC); /* one loses its taint */
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
    drop(w, NODES "/n1"); /* one goes */
    run(w, SL_SEC);
    pod(w, "d", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/d", "spec.nodeName", "");
    send(w, PODS,
         "{'metadata':{'name':'other'},'spec':{'nodeName':'n0','containers':[{'name':'a',"
         "'resources':{'requests':{'cpu':'600m'}}}]}}");
    run(w, SL_SEC); /* somebody else binds a pod there */
    phase(w, "c", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/d", "spec.nodeName", "");
    assert_field(w, FLUXJOBS "/d-pod", "status.state", "Waiting");
    phase(w, "other", "Succeeded"); /* and it ends */
    run(w, SL_SEC);
    assert_field(w, PODS "/d", "spec.nodeName", "n0");
}

static void test_19_fractions(void **state) {
    struct world *w = *state;
    char name[16], path[100];
    node(w, "n0", "1");
    for (int i = 0; i < 10; i++) {
        sl_fmt(name, sizeof name, "p%d", i);
        pod(w, name, "100m", "", "");
    }
    run(w, SL_SEC);
    for (int i = 0; i < 10; i++) {
        sl_fmt(path, sizeof path, PODS "/p%d", i);
        assert_field(w, path, "spec.nodeName", "n0");
    }
    pod(w, "more", "100m", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/more", "spec.nodeName", "");
}

/* ---- T1 to T14 ---- */

/* Nothing of a Job is created before it has its places; then each pod goes to its own. */
static void test_T01_pods_are_created_when_they_have_places(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    job(w, "job", 1, "1", "");
    run(w, SL_SEC);
    assert_true(suspended(w, JOBS "/job"));
    phase(w, "a", "Succeeded");
    run(w, SL_SEC);
    assert_false(suspended(w, JOBS "/job"));
    child(w, "Job", "job", 0);
    run(w, SL_SEC);
    assert_field(w, PODS "/job-0", "spec.nodeName", "n0");
}

static void test_T02_shrink(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    set(w, "set", 2, "1");
    child(w, "StatefulSet", "set", 0);
    child(w, "StatefulSet", "set", 1);
    run(w, SL_SEC);
    pod(w, "a", "1", "", "");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    patch(w, SETS "/set", SL_JSON_CONST({"spec" : {"replicas" : 1}}));
    drop(w, PODS "/set-1");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.state", "Running");
    patch(w, SETS "/set", SL_JSON_CONST({"spec" : {"replicas" : 0}}));
    drop(w, PODS "/set-0");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "ScaledToZero");
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* Its pods are deleted one after the other long after it has ended, and nobody else loses a place.
 */
static void test_T03_one_cancel(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    job(w, "job", 2, "1", "");
    run(w, SL_SEC);
    child(w, "Job", "job", 0);
    child(w, "Job", "job", 1);
    run(w, SL_SEC);
    phase(w, "job-0", "Succeeded");
    phase(w, "job-1", "Succeeded");
    end_job(w, "job");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Completed");
    pod(w, "a", "2", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    drop(w, PODS "/job-0");
    drop(w, PODS "/job-1");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Running");
    assert_field(w, PODS "/b", "spec.nodeName", "");
}

/* By a release, by a node, by the clock: each without a new submission. */
static void test_T04_the_queue_moves(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    pod(w, "b", "1", "", "");
    pod(w, "c", "1", "", "");
    pod(w, "late", "100m", "'fluxqueue/begin-time':'2026-01-01T00:10:00Z'", "");
    run(w, SL_SEC);
    phase(w, "a", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    node(w, "n1", "2");
    run(w, SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n1");
    run(w, 10 * SL_MINUTE);
    assert_field(w, PODS "/late", "spec.nodeName", "n1");
}

static void test_T05_schedule_at(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    job(w, "job", 1, "1", "'fluxqueue/begin-time':'2026-01-01T00:30:00Z'");
    run(w, 29 * SL_MINUTE);
    assert_true(suspended(w, JOBS "/job"));
    run(w, 2 * SL_MINUTE);
    assert_false(suspended(w, JOBS "/job"));
}

/* What runs when it starts is accounted for: pods of others, and those of jobs. */
static void test_T06_what_already_runs(void **state) {
    struct world *w = *state;
    stop(w, 0);
    node(w, "n0", "2");
    send(w, "/api/v1/namespaces/kube-system/pods",
         "{'metadata':{'name':'dns'},'spec':{'nodeName':'n0','containers':[{'name':'a','resources':"
         "{'requests':{'cpu':'1500m'}}}]}}");
    start(w, 0, false);
    pod(w, "a", "1", "", "");
    pod(w, "b", "500m", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "");
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
}

/* With an estimate, and for no more jobs than the policy says; a pass replaces what is outdated. */
static void test_T08_reservations(void **state) {
    struct world *w = *state;
    fill(w);
    pod(w, "second", "4", DURATION(10), "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/head-pod", "status.state", "Reserved");
    assert_string_not_equal(at(w, FLUXJOBS "/head-pod", "status.estimatedStart"), "");
    assert_field(w, FLUXJOBS "/second-pod", "status.state", "Waiting");
    node(w, "n1", "4");
    run(w, SL_SEC);
    assert_field(w, PODS "/head", "spec.nodeName", "n1");
    assert_field(w, FLUXJOBS "/head-pod", "status.estimatedStart", "");
    assert_field(w, FLUXJOBS "/second-pod", "status.state", "Reserved");
}

static void test_T09_deadlines_are_durations(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "long", "3", "", "'activeDeadlineSeconds':500");
    run(w, SL_SEC);
    pod(w, "head", "4", "", "");
    run(w, SL_SEC);
    sl_time begun = sl_json_time(fakeapi_get(w->api, FLUXJOBS "/long-pod"), "status.startedAt");
    assert_int_equal(
        sl_json_time(fakeapi_get(w->api, FLUXJOBS "/head-pod"), "status.estimatedStart"),
        begun + 500 * SL_SEC);
}

static void test_T10_all_kinds(void **state) {
    static const char set_body[] =
        "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes'}},'spec':{'replicas':1,"
        "'template':{'metadata':{'labels':{'fluxqueue.seen':'yes'}},'spec':{'schedulerName':"
        "'FluxionScheduler','schedulingGates':[{'name':'fluxqueue'}],'containers':[{'name':'a',"
        "'resources':{'requests':{'cpu':'1'}}}]}}}}";
    struct world *w = *state;
    char body[1000];
    node(w, "n0", "5");
    pod(w, "pod", "1", "", "");
    job(w, "job", 1, "1", "");
    set(w, "set", 1, "1");
    sl_fmt(body, sizeof body, set_body, "rs");
    send(w, REPLICASETS, body);
    sl_fmt(body, sizeof body, set_body, "dep");
    send(w, DEPLOYMENTS, body);
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/pod-pod", "status.state", "Running");
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Running");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.state", "Running");
    assert_field(w, FLUXJOBS "/rs-replicaset", "status.state", "Running");
    assert_field(w, FLUXJOBS "/dep-deployment", "status.state", "Running");
}

static void test_T11_memory_and_gpus(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    node(w, "n1", "8");
    patch(w, NODES "/n1/status",
          SL_JSON_CONST({"status" : {"allocatable" : {"nvidia.com/gpu" : "2"}}}));
    run(w, SL_SEC);
    for (int i = 0; i < 3; i++) {
        char body[600];
        sl_fmt(body, sizeof body,
               "{'metadata':{'name':'g%d','labels':{'fluxqueue.seen':'yes'}},'spec':{"
               "'schedulerName':'FluxionScheduler','containers':[{'name':'a','resources':{"
               "'requests':{'cpu':'1','nvidia.com/gpu':'1'}}}]}}",
               i);
        send(w, PODS, body);
    }
    for (int i = 0; i < 3; i++) {
        char body[600];
        sl_fmt(body, sizeof body,
               "{'metadata':{'name':'m%d','labels':{'fluxqueue.seen':'yes'}},'spec':{"
               "'schedulerName':'FluxionScheduler','containers':[{'name':'a','resources':{"
               "'requests':{'memory':'5Gi'}}}]}}",
               i);
        send(w, PODS, body);
    }
    run(w, SL_SEC);
    uint32_t bound = 0;
    for (int i = 0; i < 3; i++) {
        char path[300];
        sl_fmt(path, sizeof path, PODS "/g%d", i);
        bound += strcmp(at(w, path, "spec.nodeName"), "n1") == 0;
        assert_string_not_equal(at(w, path, "spec.nodeName"), "n0");
    }
    assert_int_equal(bound, 2);
    bound = 0;
    for (int i = 0; i < 3; i++) {
        char path[300];
        sl_fmt(path, sizeof path, PODS "/m%d", i);
        bound += *at(w, path, "spec.nodeName") != '\0';
    }
    assert_int_equal(bound, 2);
}

/* On exactly the node that the graph gave, which its FluxJob and the pod show. */
static void test_T12_exact_nodes(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "4");
    pod(w, "a", "2", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", at(w, FLUXJOBS "/a-pod", "status.nodeList"));
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
    assert_string_equal(
        sl_json_annotation(fakeapi_get(w->api, PODS "/a"), "fluxqueue/fluxion-nodes"), "n1");
}

static void test_T14_grow(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    set(w, "set", 1, "1");
    child(w, "StatefulSet", "set", 0);
    run(w, SL_SEC);
    patch(w, SETS "/set", SL_JSON_CONST({"spec" : {"replicas" : 2}}));
    child(w, "StatefulSet", "set", 1);
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Growing");
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0"); /* what it has it keeps */
    node(w, "n1", "1");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n1");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.nodeList", "n[0-1]");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_01_reservations_happen),
        TEST(test_02_a_reserved_job_is_not_started),
        TEST(test_03_time_passes),
        TEST(test_04_reservations_end),
        TEST(test_05_first_come_first_served),
        TEST(test_06_a_release_moves_the_queue),
        TEST(test_07_impossible_is_said),
        TEST(test_08_names_longer_than_labels),
        TEST(test_09_plain_jobs_and_more_completions),
        TEST(test_10_one_pod_is_not_the_job),
        TEST(test_11_restart),
        TEST(test_12_the_queue_is_not_lost),
        TEST(test_13_others_are_left_alone),
        TEST(test_14_no_orphans),
        TEST(test_15_a_pod_and_a_job_of_one_name),
        TEST(test_16_gates_of_others),
        TEST(test_16_many_gates_of_others),
        TEST(test_17_sets_change),
        TEST(test_18_the_cluster_changes),
        TEST(test_19_fractions),
        TEST(test_T01_pods_are_created_when_they_have_places),
        TEST(test_T02_shrink),
        TEST(test_T03_one_cancel),
        TEST(test_T04_the_queue_moves),
        TEST(test_T05_schedule_at),
        TEST(test_T06_what_already_runs),
        TEST(test_T08_reservations),
        TEST(test_T09_deadlines_are_durations),
        TEST(test_T10_all_kinds),
        TEST(test_T11_memory_and_gpus),
        TEST(test_T12_exact_nodes),
        TEST(test_T14_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
