/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of plain pods: one FluxJob, started together, bound one by one (T13). */
#include "fqtest.h"

#include "lib/log/log.h"

#define GROUP FLUXJOBS "/g-group"

/* As admission makes it: labels and annotations of the group, and its requests. */
static void member_of(struct world *w, const char *name, const char *labels,
                      const char *annotations, const char *cpu, const char *more) {
    char body[4096];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes'%s%s},'annotations':{%s}},"
           "'spec':{'containers':[{'name':'main','resources':{'requests':{'cpu':'%s',"
           "'memory':'64Mi'}}}],'schedulerName':'FluxionScheduler',"
           "'schedulingGates':[{'name':'fluxqueue'}]%s%s}}",
           name, *labels ? "," : "", labels, annotations, cpu, *more ? "," : "", more);
    create(w, PODS, body);
}

static void member(struct world *w, const char *name, int size, const char *cpu) {
    char annotations[64];
    sl_fmt(annotations, sizeof annotations, "'fluxqueue/group-size':'%d'", size);
    member_of(w, name, "'fluxqueue/group-name':'g'", annotations, cpu, "");
}

static bool gated(struct world *w, const char *name) {
    char path[200];
    sl_fmt(path, sizeof path, PODS "/%s", name);
    return sl_json_size(sl_json_at(fakeapi_get(w->api, path), "spec.schedulingGates")) > 0;
}

static const char *node_of(struct world *w, const char *name) {
    char path[200];
    sl_fmt(path, sizeof path, PODS "/%s", name);
    return at(w, path, "spec.nodeName");
}

/* ---- the life of one ---- */

static void test_all_or_nothing(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    member(w, "a", 2, "1");
    run(w, 5 * SL_SEC);
    assert_field(w, GROUP, "status.state", "Pending");
    assert_field(w, GROUP, "status.reason", "WaitingForMembers");
    assert_field(w, GROUP, "status.message", "1 of 2 pods are there");
    assert_int_equal(number(w, GROUP, "spec.type"), 5);
    assert_field(w, GROUP, "spec.name", "g");
    assert_true(gated(w, "a"));
    member(w, "b", 2, "1");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.state", "Running");
    assert_field(w, GROUP, "status.nodeList", "n[0-1]");
    assert_string_equal(node_of(w, "a"), "n0");
    assert_string_equal(node_of(w, "b"), "n1");
    assert_int_equal(fakeapi_each(w->api, FLUXJOBS, NULL, NULL), 1);
    assert_string_equal(sl_json_label(fakeapi_get(w->api, PODS "/b"), "fluxqueue/jobid"), "1");
    /* One has ended: its part is free, the other's is not. */
    pod(w, "next", "1", "", "");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "next"), "");
    phase(w, "a", "Succeeded");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "next"), "n0");
    assert_field(w, GROUP, "status.state", "Running");
    assert_field(w, GROUP, "status.nodeList", "n1");
    phase(w, "b", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.state", "Completed");
    drop(w, PODS "/a");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.state", "Completed");
    drop(w, PODS "/b");
    run(w, 5 * SL_SEC);
    assert_field(w, GROUP, "status.state", "(absent)");
    assert_true(sl_fluxqueue_idle(w->q[0]));
}

/* Room for one is no room for the group. */
static void test_waits_as_a_whole(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    pod(w, "first", "1", "", "");
    run(w, SL_SEC);
    member(w, "a", 2, "1");
    member(w, "b", 2, "1");
    run(w, 10 * SL_SEC);
    assert_field(w, GROUP, "status.state", "Waiting");
    assert_int_equal(number(w, GROUP, "status.queuePosition"), 1);
    assert_true(gated(w, "a") && gated(w, "b"));
    phase(w, "first", "Succeeded");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "a"), "n0");
    assert_string_equal(node_of(w, "b"), "n1");
    phase(w, "a", "Failed");
    phase(w, "b", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.state", "Failed");
}

static void test_never(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    member(w, "a", 2, "1");
    member(w, "b", 2, "1");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.reason", "Unsatisfiable");
    assert_string_equal(sl_json_label(fakeapi_get(w->api, PODS "/a"), "fluxqueue/unschedulable"),
                        "yes");
    assert_string_equal(sl_json_label(fakeapi_get(w->api, PODS "/b"), "fluxqueue/unschedulable"),
                        "yes");
    node(w, "n1", "1");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.state", "Running");
    assert_null(sl_json_label_opt(fakeapi_get(w->api, PODS "/a"), "fluxqueue/unschedulable"));
    assert_string_equal(node_of(w, "b"), "n1");
}

/* ---- members that go and come ---- */

/* What was reserved for them is not any more. */
static void test_loses_its_reservation(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    pod(w, "first", "2", "'fluxqueue/duration':'600'", "");
    run(w, SL_SEC);
    member(w, "a", 2, "1");
    member(w, "b", 2, "1");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.state", "Reserved");
    drop(w, PODS "/a");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.reason", "WaitingForMembers");
    assert_field(w, GROUP, "status.estimatedStart", "");
    assert_int_equal(events(w, "StartDelayed", "g-group"), 1);
}

static void test_a_member_comes_again(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    member(w, "a", 2, "1");
    member(w, "b", 2, "1");
    run(w, SL_SEC);
    pod(w, "next", "1", "", "");
    drop(w, PODS "/a");
    run(w, 10 * SL_SEC);
    assert_string_equal(node_of(w, "next"), "");
    member(w, "a", 2, "1");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "a"), "n0");
    /* Its node is gone: it gets another place as soon as there is one. */
    drop(w, PODS "/a");
    drop(w, NODES "/n0");
    run(w, SL_SEC);
    member(w, "a", 2, "1");
    run(w, 10 * SL_SEC);
    assert_string_equal(node_of(w, "a"), "");
    assert_field(w, GROUP, "status.reason", "Growing");
    drop(w, PODS "/next");
    node(w, "n2", "1");
    run(w, 10 * SL_SEC);
    assert_string_equal(node_of(w, "a"), "n2");
}

static void test_a_member_goes_while_all_wait(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    pod(w, "first", "2", "", "");
    run(w, SL_SEC);
    member(w, "a", 2, "1");
    member(w, "b", 2, "1");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.state", "Waiting");
    int64_t jobid = number(w, GROUP, "status.jobid");
    drop(w, PODS "/b");
    phase(w, "first", "Succeeded");
    run(w, 5 * SL_SEC);
    assert_field(w, GROUP, "status.reason", "WaitingForMembers");
    assert_true(gated(w, "a"));
    member(w, "c", 2, "1"); /* under another name */
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.state", "Running");
    assert_int_equal(number(w, GROUP, "status.jobid"), jobid);
    assert_string_equal(node_of(w, "c"), "n0");
}

/* None is left: what it had is free, and a new one of this name is a new job. */
static void test_all_are_deleted(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    member(w, "a", 2, "1");
    member(w, "b", 2, "1");
    run(w, SL_SEC);
    drop(w, PODS "/a");
    drop(w, PODS "/b");
    pod(w, "next", "2", "", "");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "next"), "n0");
    phase(w, "next", "Succeeded");
    run(w, 5 * SL_SEC);
    assert_field(w, GROUP, "status.state", "(absent)");
    member(w, "a", 2, "1");
    member(w, "b", 2, "1");
    run(w, 5 * SL_SEC);
    assert_field(w, GROUP, "status.state", "Running");
    assert_int_equal(number(w, GROUP, "status.jobid"), 3);
    /* At once, too. */
    phase(w, "a", "Succeeded");
    phase(w, "b", "Succeeded");
    run(w, SL_SEC);
    drop(w, PODS "/a");
    member(w, "a", 2, "1");
    run(w, SL_SEC);
    assert_int_equal(events(w, "GroupHasEnded", "a"), 1);
    drop(w, PODS "/b");
    member(w, "b", 2, "1");
    run(w, 5 * SL_SEC);
    assert_string_equal(node_of(w, "a"), "n0");
    assert_string_equal(node_of(w, "b"), "n0");
}

/* ---- sizes and members that do not agree ---- */

static void test_too_many(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    member(w, "a", 2, "1");
    member(w, "b", 2, "1");
    run(w, SL_SEC);
    member(w, "c", 2, "1");
    run(w, 5 * SL_SEC);
    assert_string_equal(node_of(w, "b"), "n0");
    assert_true(gated(w, "c"));
    assert_int_equal(events(w, "GroupIsFull", "c"), 1);
    assert_field(w, GROUP, "status.reason", "Allocated");
    drop(w, PODS "/a");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "c"), "n0");
}

static void test_sizes_disagree(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    member(w, "a", 2, "1");
    member(w, "b", 3, "1");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.state", "Rejected");
    assert_field(w, GROUP, "status.reason", "InvalidGroup");
    assert_non_null(strstr(at(w, GROUP, "status.message"), "disagree about its size"));
    assert_int_equal(events(w, "InvalidGroup", "a"), 1);
    assert_true(gated(w, "a") && gated(w, "b"));
    drop(w, PODS "/b");
    member(w, "b", 2, "1");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.state", "Running");
    assert_string_equal(node_of(w, "b"), "n0");
}

/* The size is an annotation, so it can be mended. */
static void test_size_is_mended(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    member_of(w, "a", "'fluxqueue/group-name':'g'", "", "1", "");
    run(w, SL_SEC);
    assert_int_equal(events(w, "InvalidJobspec", "a"), 1);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Rejected");
    patch(w, PODS "/a",
          SL_JSON_CONST({"metadata" : {"annotations" : {"fluxqueue/group-size" : "1"}}}));
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "a"), "n0");
    assert_int_equal(fakeapi_each(w->api, FLUXJOBS, NULL, NULL), 1); /* the group's alone */
}

static void test_constraints_disagree(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    member(w, "a", 2, "1");
    member_of(w, "b", "'fluxqueue/group-name':'g'", "'fluxqueue/group-size':'2'", "1",
              "'nodeSelector':{'kubernetes.io/hostname':'n0'}");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.reason", "InvalidGroup");
    assert_non_null(strstr(at(w, GROUP, "status.message"), "differ in nothing but their requests"));
    drop(w, PODS "/a");
    member_of(w, "a", "'fluxqueue/group-name':'g'", "'fluxqueue/group-size':'2'", "1",
              "'nodeSelector':{'kubernetes.io/hostname':'n0'}");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "a"), "n0");
    assert_string_equal(node_of(w, "b"), "n0");
}

/* ---- different requests ---- */

static uint32_t places(struct world *w, const char *name, int64_t slot) {
    yyjson_val *list = sl_json_at(fakeapi_get(w->api, GROUP), "status.nodes"), *x;
    size_t i, n;
    uint32_t found = 0;
    yyjson_arr_foreach (list, i, n, x)
        if (strcmp(sl_json_str(x, "name"), name) == 0 && sl_json_int(x, "slot", -1) == slot)
            found += (uint32_t)sl_json_int(x, "pods", 0);
    return found;
}

static void test_different_requests(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    node(w, "n1", "4");
    member(w, "driver", 4, "3");
    member(w, "w1", 4, "1");
    member(w, "w2", 4, "1");
    member(w, "w3", 4, "1");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.state", "Running");
    assert_non_null(strstr(at(w, GROUP, "spec.jobspec"), "label: \"g-1\""));
    assert_non_null(strstr(at(w, GROUP, "spec.jobspec"), "slot: \"g-1\""));
    assert_string_equal(node_of(w, "driver"), "n1");
    assert_int_equal(places(w, "n1", 0), 1);
    assert_int_equal(places(w, "n0", 1) + places(w, "n1", 1), 3);
    for (int i = 1; i <= 3; i++) {
        char name[8];
        sl_fmt(name, sizeof name, "w%d", i);
        assert_string_not_equal(node_of(w, name), "");
    }
    /* What is full is full. */
    pod(w, "next", "1", "", "");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "next"), "");
    /* The place of a worker that has ended is given back, that of the driver is kept for it. */
    drop(w, PODS "/driver");
    phase(w, "w1", "Succeeded");
    run(w, SL_SEC);
    assert_string_not_equal(node_of(w, "next"), "");
    assert_int_equal(places(w, "n1", 0), 1);
    /* After a restart as well. */
    stop(w, 0);
    start(w, 0, false);
    run(w, 5 * SL_SEC);
    assert_int_equal(places(w, "n1", 0), 1);
    member(w, "other", 4, "2");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "other"), "");
    assert_int_equal(events(w, "NotOfTheGroup", "other"), 1);
    drop(w, PODS "/other");
    member(w, "driver", 4, "3");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "driver"), "n1");
}

/* A place of a kind that was lost is looked for again. */
static void test_a_kind_grows(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "3");
    member(w, "small", 2, "1");
    member(w, "large", 2, "3");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "small"), "n0");
    assert_string_equal(node_of(w, "large"), "n1");
    drop(w, PODS "/large");
    drop(w, NODES "/n1");
    run(w, SL_SEC);
    member(w, "large", 2, "3");
    node(w, "n2", "2");
    run(w, 10 * SL_SEC);
    assert_field(w, GROUP, "status.reason", "Growing");
    node(w, "n3", "4");
    run(w, 10 * SL_SEC);
    assert_string_equal(node_of(w, "large"), "n3");
    assert_int_equal(places(w, "n3", 0), 1);
}

static void test_different_and_spread(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    for (int i = 0; i < 2; i++)
        member_of(w, i ? "b" : "a", "'fluxqueue/group-name':'g'",
                  "'fluxqueue/group-size':'2','fluxqueue/whole-nodes':'true'", i ? "1" : "2", "");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.reason", "InvalidGroup");
    assert_non_null(strstr(at(w, GROUP, "status.message"), "equal requests"));
}

/* More kinds than a jobspec may have; and as many as it may. */
static void test_many_kinds(void **state) {
    struct world *w = *state;
    char name[8], cpu[8];
    node(w, "n0", "40");
    patch(w, NODES "/n0/status",
          SL_JSON_CONST({"status" : {"allocatable" : {"pods" : "100", "memory" : "64Gi"}}}));
    for (uint32_t i = 0; i < FQ_MAX_KINDS + 1; i++) {
        sl_fmt(name, sizeof name, "p%u", i);
        sl_fmt(cpu, sizeof cpu, "%um", 100 + i);
        member(w, name, FQ_MAX_KINDS + 1, cpu);
    }
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.reason", "InvalidGroup");
    assert_non_null(strstr(at(w, GROUP, "status.message"), "at most 16 kinds"));
    drop(w, PODS "/p0");
    member(w, "p0", FQ_MAX_KINDS + 1, "101m");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.state", "Running");
    for (uint32_t i = 0; i < FQ_MAX_KINDS + 1; i++) {
        sl_fmt(name, sizeof name, "p%u", i);
        assert_string_equal(node_of(w, name), "n0");
    }
}

/* A jobspec of its owner with several kinds, for a Job: its pods go to any of the places, in their
 * order, and what it has is held as it was, also after a restart. */
static void test_kinds_of_users(void **state) {
    struct world *w = *state;
    char path[64];
    node(w, "n0", "3");
    node(w, "n1", "2");
    job(w, "job", 3, "1",
        "'fluxqueue/jobspec':'{version: 1, resources: [{type: slot, count: 1, label: a, with: "
        "[{type: core, count: 3}]}, {type: slot, count: 2, label: b, with: [{type: core, count: 1}]"
        "}], tasks: [{command: [a], slot: a, count: {per_slot: 1}}], attributes: {}}'");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.nodeList", "n[0-1]");
    for (int i = 0; i < 3; i++)
        (void)child(w, "Job", "job", i);
    pod(w, "next", "1", "", "");
    for (int restart = 0; restart < 2; restart++) {
        run(w, 5 * SL_SEC);
        for (int i = 0; i < 3; i++) {
            sl_fmt(path, sizeof path, PODS "/job-%d", i);
            assert_field(w, path, "spec.nodeName", i == 0 ? "n0" : "n1");
        }
        assert_field(w, FLUXJOBS "/next-pod", "status.state", "Waiting");
        stop(w, 0);
        start(w, 0, false);
    }
}

/* ---- by which labels ---- */

static void test_labels_of_others(void **state) {
    struct world *w = *state;
    static const char *const cases[][2] = {
        {"'scheduling.x-k8s.io/pod-group':'g','fluence.group-size':'2'", ""},
        {"'scheduling.x-k8s.io/pod-group':'g'", "'fluxqueue/group-size':'2'"},
        {"'kueue.x-k8s.io/pod-group-name':'g'", "'kueue.x-k8s.io/pod-group-total-count':'2'"},
        {"'fluxqueue/group-name':'g','fluxqueue/group-size':'2'", ""},
        {"'fluxqueue/group-name':'g','scheduling.x-k8s.io/pod-group':'other'",
         "'fluxqueue/group-size':'2','kueue.x-k8s.io/pod-group-total-count':'7'"},
    };
    node(w, "n0", "2");
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        member_of(w, "a", cases[i][0], cases[i][1], "1", "");
        run(w, 2 * SL_SEC);
        assert_string_equal(node_of(w, "a"), "");
        member_of(w, "b", cases[i][0], cases[i][1], "1", "");
        run(w, 2 * SL_SEC);
        assert_string_equal(node_of(w, "a"), "n0");
        drop(w, PODS "/a");
        drop(w, PODS "/b");
        run(w, 5 * SL_SEC);
        assert_field(w, GROUP, "status.state", "(absent)");
    }
}

/* What Kueue queues is Kueue's: the pod is bound as one that only names the scheduler. */
static void test_groups_of_kueue(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    create(w, PODS,
           "{'metadata':{'name':'a','labels':{'kueue.x-k8s.io/queue-name':'q',"
           "'kueue.x-k8s.io/managed':'true','kueue.x-k8s.io/pod-group-name':'g'},'annotations':{"
           "'kueue.x-k8s.io/pod-group-total-count':'2'}},'spec':{'containers':[{'name':'a'}],"
           "'schedulerName':'FluxionScheduler'}}");
    run(w, 2 * SL_SEC);
    assert_string_equal(node_of(w, "a"), "n0");
    assert_int_equal(fakeapi_each(w->api, FLUXJOBS, NULL, NULL), 0);
}

/* One that was not intercepted and names our scheduler: it has no gate, and starts with the others.
 */
static void test_without_gates(void **state) {
    struct world *w = *state;
    static const char text[] =
        "{'metadata':{'name':'%s','labels':{'scheduling.x-k8s.io/pod-group':'g',"
        "'fluence.group-size':'2'}},'spec':{'schedulerName':'FluxionScheduler','containers':[{"
        "'name':'a','resources':{'requests':{'cpu':'1'}}}]}}";
    char body[1024];
    node(w, "n0", "2");
    sl_fmt(body, sizeof body, text, "a");
    create(w, PODS, body);
    run(w, 5 * SL_SEC);
    assert_string_equal(node_of(w, "a"), "");
    sl_fmt(body, sizeof body, text, "b");
    create(w, PODS, body);
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "a"), "n0");
    assert_string_equal(node_of(w, "b"), "n0");
}

/* A pod that waited by itself comes to a group. */
static void test_relabelled(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    pod(w, "first", "2", "", "");
    run(w, SL_SEC);
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    patch(w, PODS "/a", SL_JSON_CONST({
              "metadata" : {
                  "labels" : {"fluxqueue/group-name" : "g"},
                  "annotations" : {"fluxqueue/group-size" : "2"}
              }
          }));
    phase(w, "first", "Succeeded");
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "(absent)");
    assert_string_equal(node_of(w, "a"), "");
    member(w, "b", 2, "1");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "a"), "n0");
    assert_string_equal(node_of(w, "b"), "n0");
}

/* A FluxJob that somebody made is theirs: its jobspec counts, and it stays. */
static void test_written_by_hand(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    create(w, FLUXJOBS,
           "{'metadata':{'name':'g-group'},'spec':{'type':5,'name':'g','jobspec':'{version: 1, "
           "resources: [{type: slot, count: 2, label: a, with: [{type: core, count: 2}]}], "
           "tasks: [{command: [a], slot: a, count: {per_slot: 1}}], attributes: {}}'}}");
    run(w, SL_SEC);
    assert_field(w, GROUP, "status.reason", "ObjectNotFound");
    member(w, "a", 2, "1");
    member(w, "b", 2, "1");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "a"), "n0");
    pod(w, "next", "1", "", "");
    run(w, SL_SEC);
    assert_string_equal(node_of(w, "next"), "");
    drop(w, PODS "/a");
    drop(w, PODS "/b");
    run(w, 5 * SL_SEC);
    assert_string_equal(node_of(w, "next"), "n0");
    assert_field(w, GROUP, "status.reason", "ObjectNotFound");
}

/* ---- restarts and faults ---- */

static void test_restart(void **state) {
    struct world *w = *state;
    _cleanup_(sl_buf_done) struct sl_buf before = SL_BUF(1 << 20);
    _cleanup_(sl_buf_done) struct sl_buf after = SL_BUF(1 << 20);
    node(w, "n0", "2");
    node(w, "n1", "2");
    member(w, "a", 3, "1");
    member(w, "b", 3, "2");
    member(w, "c", 3, "1");
    run(w, SL_SEC);
    start(w, 1, true);
    run(w, 10 * SL_SEC);
    uint32_t writes = w->writes;
    sl_fluxqueue_dump(w->q[0], &before);
    sl_fluxqueue_dump(w->q[1], &after);
    assert_string_equal(sl_buf_str(&before), sl_buf_str(&after));
    sl_buf_clear(&after);
    stop(w, 0);
    stop(w, 1);
    start(w, 0, false);
    run(w, 10 * SL_SEC);
    sl_fluxqueue_dump(w->q[0], &after);
    assert_string_equal(sl_buf_str(&before), sl_buf_str(&after));
    assert_int_equal(w->writes, writes);
    phase(w, "b", "Succeeded");
    pod(w, "next", "2", "", "");
    run(w, SL_SEC);
    assert_string_not_equal(node_of(w, "next"), "");
}

/* Replies and watches are lost, conflicts come, the process dies: whole or not at all. */
static void test_faults(void **state) {
    struct world *w = *state;
    const struct fakeapi_faults faults = {
        .lose_reply = 10, .conflict = 5, .server_error = 10, .cut_watch = 5, .late_reply = 10};
    char name[16], labels[64];
    node(w, "n0", "4");
    node(w, "n1", "4");
    fakeapi_set_faults(w->api, &faults);
    for (int i = 0; i < 12; i++) {
        sl_fmt(name, sizeof name, "p%d", i);
        sl_fmt(labels, sizeof labels, "'fluxqueue/group-name':'g%d'", i / 3);
        member_of(w, name, labels, "'fluxqueue/group-size':'3'", i % 3 ? "1" : "2", "");
        run(w, SL_SEC);
        if (i == 5 || i == 9) {
            stop(w, 0);
            start(w, 0, false);
        }
    }
    run(w, 5 * SL_MINUTE);
    uint32_t bound = 0;
    for (int i = 0; i < 12; i += 3) {
        uint32_t of = 0;
        for (int k = i; k < i + 3; k++) {
            sl_fmt(name, sizeof name, "p%d", k);
            of += *node_of(w, name) != 0;
        }
        assert_true(of == 0 || of == 3);
        bound += of;
    }
    assert_int_equal(bound, 6);
    fakeapi_set_faults(w->api, NULL);
    for (int i = 0; i < 12; i++) {
        char path[64];
        sl_fmt(path, sizeof path, PODS "/p%d", i);
        drop(w, path);
    }
    run(w, SL_MINUTE);
    assert_int_equal(fakeapi_each(w->api, FLUXJOBS, NULL, NULL), 0);
}

/* The pod and its FluxJob: the next one of the same name waits for the name, and then gets its own.
 */
static void test_a_pod_of_the_same_name(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    drop(w, PODS "/a");
    pod(w, "a", "2", "", "");
    run(w, 10 * SL_SEC);
    assert_string_equal(node_of(w, "a"), "n0");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_all_or_nothing),
        TEST(test_waits_as_a_whole),
        TEST(test_never),
        TEST(test_loses_its_reservation),
        TEST(test_a_member_comes_again),
        TEST(test_a_member_goes_while_all_wait),
        TEST(test_all_are_deleted),
        TEST(test_too_many),
        TEST(test_sizes_disagree),
        TEST(test_size_is_mended),
        TEST(test_constraints_disagree),
        TEST(test_different_requests),
        TEST(test_a_kind_grows),
        TEST(test_different_and_spread),
        TEST(test_many_kinds),
        TEST(test_kinds_of_users),
        TEST(test_labels_of_others),
        TEST(test_groups_of_kueue),
        TEST(test_without_gates),
        TEST(test_relabelled),
        TEST(test_written_by_hand),
        TEST(test_restart),
        TEST(test_faults),
        TEST(test_a_pod_of_the_same_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
