/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of Jobs over the in-memory API: the whole manager, engine and all, under a virtual
 * clock. The test plays users and the Job controller.
 */
#include "flow_fixture.h"

#define JOBS "/apis/batch/v1/namespaces/ns/jobs"
#define JOB JOBS "/j"

/* ---- looking ---- */

static void text_is(struct world *w, const char *path, const char *field, const char *wanted) {
    const char *s = yyjson_get_str(at(w, path, field));
    if (wanted)
        assert_string_equal(s ? s : "(absent)", wanted);
    else
        assert_null(at(w, path, field));
}

static bool suspended(struct world *w) {
    return yyjson_get_bool(at(w, JOB, "spec.suspend"));
}

struct found {
    char path[512];
    uint32_t n;
};

static void note_path(void *ctx, yyjson_val *o) {
    struct found *f = ctx;
    (void)snprintf(f->path, sizeof f->path, WORKLOADS "/%s", sl_json_str(o, "metadata.name"));
    f->n++;
}

/* The path of the only Workload. */
static const char *workload(struct world *w) {
    static struct found f;
    f = (struct found){0};
    (void)fakeapi_each(w->api, WORKLOADS, note_path, &f);
    assert_int_equal(f.n, 1);
    return f.path;
}

/* The count of its podset. */
static int pods_of(struct world *w) {
    yyjson_val *podset = yyjson_arr_get_first(at(w, workload(w), "spec.podSets"));
    return yyjson_get_int(yyjson_obj_get(podset, "count"));
}

static yyjson_val *condition(struct world *w, const char *type) {
    return condition_of(w, workload(w), type);
}

static bool is_true(struct world *w, const char *type) {
    return strcmp(sl_json_str(condition(w, type), "status"), "True") == 0;
}

/* How many events there were. */
static uint32_t told(struct world *w, const char *reason, const char *note) {
    return events(w, (struct told){.reason = reason, .kind = "Job", .note = note});
}

/* ---- the world ---- */

static void begin_parts(struct world *w, uint64_t seed, const char *config, bool alone) {
    struct sl_manager_parts parts = {.core = !alone, .scheduler = !alone};

    parts.framework[SL_FW_JOB] = true;
    open_world(w, seed, config, parts);
    create(w, "/api/v1/namespaces",
           "{'metadata':{'name':'ns','labels':{'kubernetes.io/metadata.name':'ns'}}}");
    create(w, KUEUE "/resourceflavors",
           "{'metadata':{'name':'spot'},'spec':{'nodeLabels':{'type':'spot'},'tolerations':[{'key':"
           "'spot','operator':'Exists'}]}}");
    create(w, KUEUE "/clusterqueues",
           "{'metadata':{'name':'cq'},'spec':{'namespaceSelector':{},'queueingStrategy':'"
           "BestEffortFIFO','resourceGroups':[{"
           "'coveredResources':['cpu'],'flavors':[{'name':'spot','resources':[{'name':'cpu','"
           "nominalQuota':'4'}]}]}]}}");
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q'},'spec':{'clusterQueue':'cq'}}");
}

static void begin_with(struct world *w, uint64_t seed, const char *config) {
    begin_parts(w, seed, config, false);
}

static void begin(struct world *w) {
    begin_with(w, 1, CONFIG);
}

#define TEMPLATE(cpu)                                                                              \
    "'template':{'metadata':{'labels':{'app':'a','job-name':'j','controller-uid':'u'}},'spec':{'"  \
    "nodeSelector':{'mine':'yes'},"                                                                \
    "'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'" cpu "'}}}]}}"
#define NEW_JOB(suspend, more)                                                                     \
    "{'metadata':{'name':'j','labels':{'" Q "queue-name':'q'}},'spec':{'suspend':" suspend         \
    ",'parallelism':2,'completions':2," more TEMPLATE("1") "}}"

static void runs(struct world *w) {
    run(w, SETTLE);
    assert_true(is_true(w, "Admitted"));
    assert_false(suspended(w));
    text_is(w, JOB, "spec.template.spec.nodeSelector.type", "spot");
    text_is(w, JOB, "spec.template.spec.nodeSelector.mine", "yes");
    assert_int_equal(yyjson_arr_size(at(w, JOB, "spec.template.spec.tolerations")), 1);
    patch(w, JOB "/status", "{'status':{'startTime':'2026-01-01T00:00:00Z','active':2,'ready':2}}");
}

static void is_restored(struct world *w) {
    assert_true(suspended(w));
    assert_null(at(w, JOB, "status.startTime"));
    assert_null(yyjson_obj_get(at(w, JOB, "metadata.annotations"), Q "stopping"));
    text_is(w, JOB, "spec.template.spec.nodeSelector.type", NULL);
    text_is(w, JOB, "spec.template.spec.nodeSelector.mine", "yes");
    text_is(w, JOB, "spec.template.spec.tolerations", NULL);
    text_is(w, JOB, "spec.template.metadata.labels.app", "a");
    text_is(w, JOB, "spec.template.metadata.labels.controller-uid", "u");
    assert_null(yyjson_obj_get(at(w, JOB, "spec.template.metadata.labels"), Q "podset"));
}

/* ---- lives ---- */

static void test_from_start_to_finish(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    create(&w, JOBS, NEW_JOB("true", ""));
    runs(&w);
    text_is(&w, workload(&w), "status.admission.clusterQueue", "cq");
    assert_int_equal(told(&w, "CreatedWorkload", NULL), 1);
    assert_int_equal(told(&w, "Started", "Admitted by clusterQueue cq"), 1);
    run(&w, SETTLE);
    assert_true(is_true(&w, "PodsReady"));

    patch(&w, JOB "/status",
          "{'status':{'active':0,'ready':0,'succeeded':2,'conditions':[{'type':'Complete','status':"
          "'True',"
          "'message':'all is done'}]}}");
    run(&w, SETTLE);
    assert_true(is_true(&w, "Finished"));
    assert_string_equal(sl_json_str(condition(&w, "Finished"), "reason"), "Succeeded");
    assert_string_equal(sl_json_str(condition(&w, "Finished"), "message"), "all is done");
    assert_int_equal(yyjson_arr_size(at(&w, workload(&w), "metadata.finalizers")), 0);
    assert_int_equal(told(&w, "FinishedWorkload", NULL), 1);
    end(&w);
}

static void test_running_without_permission(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    patch(&w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'Hold'}}");
    create(&w, JOBS, NEW_JOB("false", ""));
    run(&w, SETTLE);
    assert_true(suspended(&w));
    assert_int_equal(told(&w, "Stopped", "Missing Workload; unable to restore pod templates"), 1);
    assert_false(is_true(&w, "Admitted"));
    patch(&w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'None'}}");
    runs(&w);
    end(&w);
}

static void test_evicted(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    create(&w, JOBS, NEW_JOB("true", ""));
    runs(&w);
    patch(&w, workload(&w), "{'spec':{'active':false}}");
    run(&w, SETTLE);
    assert_true(suspended(&w));
    assert_true(is_true(&w, "QuotaReserved")); /* its pods are still there */
    text_is(&w, JOB, "spec.template.spec.nodeSelector.type", "spot");
    assert_int_equal(told(&w, "Stopped", "The workload is deactivated"), 1);
    patch(&w, JOB "/status", "{'status':{'active':0,'ready':0}}");
    run(&w, SETTLE);
    is_restored(&w);
    assert_false(is_true(&w, "QuotaReserved"));
    assert_null(at(&w, workload(&w), "status.admission"));
    patch(&w, workload(&w), "{'spec':{'active':true}}");
    runs(&w);
    end(&w);
}

static void test_changed_while_waiting(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    patch(&w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'Hold'}}");
    create(&w, JOBS, NEW_JOB("true", ""));
    run(&w, SETTLE);
    patch(&w, JOB, "{'spec':{'parallelism':1}}");
    run(&w, SETTLE);
    assert_int_equal(pods_of(&w), 1);
    assert_int_equal(told(&w, "UpdatedWorkload", NULL), 1);
    patch(&w, JOB, "{'metadata':{'labels':{'" Q "queue-name':'other'}}}");
    run(&w, SETTLE);
    text_is(&w, workload(&w), "spec.queueName", "other");
    end(&w);
}

static void test_changed_while_running(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    create(&w, JOBS, NEW_JOB("true", ""));
    runs(&w);
    patch(&w, JOB, "{'spec':{'parallelism':1}}");
    run(&w, SETTLE);
    assert_true(suspended(&w));
    assert_int_equal(told(&w, "DeletedWorkload", NULL), 0); /* what is to be restored is in it */
    patch(&w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'Hold'}}");
    patch(&w, JOB "/status", "{'status':{'active':0,'ready':0}}");
    run(&w, SETTLE);
    is_restored(&w);
    assert_int_equal(
        told(&w, "Stopped",
             "No matching Workload; restoring pod templates according to existent Workload"),
        1);
    assert_int_equal(told(&w, "DeletedWorkload", NULL), 1);
    patch(&w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'None'}}");
    runs(&w);
    assert_int_equal(pods_of(&w), 1);
    end(&w);
}

static void test_workload_deleted(void **state) {
    (void)state;
    struct world w;
    char uid[64];
    begin(&w);
    create(&w, JOBS, NEW_JOB("true", ""));
    runs(&w);
    (void)snprintf(uid, sizeof uid, "%s",
                   sl_json_str(fakeapi_get(w.api, workload(&w)), "metadata.uid"));
    request(&w, SL_DELETE, workload(&w), NULL, NULL);
    run(&w, SETTLE);
    assert_true(suspended(&w));
    assert_string_equal(uid, sl_json_str(fakeapi_get(w.api, workload(&w)), "metadata.uid"));
    assert_int_equal(told(&w, "Stopped", "Workload is deleted"), 1);
    patch(&w, JOB "/status", "{'status':{'active':0,'ready':0}}");
    runs(&w);
    assert_string_not_equal(uid, sl_json_str(fakeapi_get(w.api, workload(&w)), "metadata.uid"));
    end(&w);
}

static void test_job_deleted(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    create(&w, JOBS, NEW_JOB("true", ""));
    runs(&w);
    request(&w, SL_DELETE, JOB, SL_JSON, "{'propagationPolicy':'Orphan'}");
    run(&w, SETTLE);
    assert_true(is_true(&w, "Finished"));
    assert_string_equal(sl_json_str(condition(&w, "Finished"), "reason"), "OwnerNotFound");
    assert_int_equal(yyjson_arr_size(at(&w, workload(&w), "metadata.finalizers")), 0);
    end(&w);
}

static void test_deleted_after_deactivation(void **state) {
    (void)state;
    struct world w;
    begin_with(&w, 1,
               "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
               "objectRetentionPolicies: {workloads: {afterDeactivatedByKueue: 10m}}\n");
    create(&w, JOBS,
           "{'metadata':{'name':'j','labels':{'" Q "queue-name':'q','" Q
           "max-exec-time-seconds':'60'}},'spec':{"
           "'suspend':true,'parallelism':2,'completions':2," TEMPLATE("1") "}}");
    runs(&w);
    run(&w, 2 * SL_MINUTE);
    patch(&w, JOB "/status", "{'status':{'active':0,'ready':0}}");
    run(&w, 5 * SL_MINUTE);
    assert_true(suspended(&w));
    assert_true(is_true(&w, "Evicted"));
    run(&w, 6 * SL_MINUTE);
    assert_null(fakeapi_get(w.api, JOB));
    assert_int_equal(told(&w, "Deleted", "Deleted job: deactivation retention period expired"), 1);
    end(&w);
}

static void test_restarted_manager(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    create(&w, JOBS, NEW_JOB("true", ""));
    run(&w, 20 * SL_MSEC); /* somewhere on the way */
    restart(&w, 1);
    runs(&w);
    end(&w);
}

/* Only the integration runs: others reserve, and the queue that they name is not known here. */
static void test_alone(void **state) {
    (void)state;
    struct world w;
    char path[600];
    static const char reserve[] =
        "{'status':{'admission':{'clusterQueue':'x','podSetAssignments':[{'name':'main','count':2,"
        "'flavors':{'cpu':'spot'},'resourceUsage':{'cpu':'2'}}]},'conditions':["
        "{'type':'QuotaReserved','status':'True','reason':'QuotaReserved','message':'m',"
        "'lastTransitionTime':'2026-01-01T00:00:00Z'},{'type':'Admitted','status':'True',"
        "'reason':'Admitted','message':'m','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}";

    begin_parts(&w, 1, CONFIG, true);
    create(&w, JOBS, NEW_JOB("true", ""));
    run(&w, SETTLE);
    (void)snprintf(path, sizeof path, "%s/status", workload(&w));
    patch(&w, path, reserve);
    runs(&w);
    patch(&w, JOB, "{'spec':{'parallelism':1}}");
    run(&w, SETTLE);
    patch(&w, JOB "/status", "{'status':{'active':0,'ready':0}}");
    run(&w, SETTLE);
    is_restored(&w);
    assert_int_equal(told(&w, "DeletedWorkload", NULL), 1);
    assert_int_equal(pods_of(&w), 1);
    assert_null(at(&w, workload(&w), "status.admission"));
    end(&w);
}

/* Whatever the network does, the same comes out. */
static void test_bad_weather(void **state) {
    (void)state;
    const char *seeds = getenv("SL_SEEDS");
    uint64_t n = seeds ? strtoull(seeds, NULL, 10) / 50 + 1 : 20;
    static const struct fakeapi_faults faults = {.lose_request = 12,
                                                 .lose_reply = 12,
                                                 .delay = 8,
                                                 .late_reply = 8,
                                                 .server_error = 10,
                                                 .conflict = 8,
                                                 .cut_watch = 15,
                                                 .lag_watch = 15,
                                                 .compact = 60};
    for (uint64_t seed = 1; seed <= n; seed++) {
        struct world w;
        begin_with(&w, seed, CONFIG);
        fakeapi_set_faults(w.api, &faults);
        create(&w, JOBS, NEW_JOB("false", ""));
        run(&w, 5 * SL_MINUTE);
        runs(&w);
        patch(&w, workload(&w), "{'spec':{'active':false}}");
        run(&w, 5 * SL_MINUTE);
        patch(&w, JOB "/status", "{'status':{'active':0,'ready':0}}");
        run(&w, 5 * SL_MINUTE);
        fakeapi_set_faults(w.api, NULL);
        run(&w, 5 * SL_MINUTE);
        is_restored(&w);
        assert_false(is_true(&w, "QuotaReserved"));
        end(&w);
    }
}

/* ---- ways round the queue ---- */

/* A Job that does not fit is not started by hand, and one that runs does not grow or go on without
 * what it is charged for. */
static void test_ways_round(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    create(&w, JOBS,
           "{'metadata':{'name':'j','labels':{'" Q "queue-name':'q'}},'spec':{'suspend':true,"
           "'parallelism':2,'completions':2," TEMPLATE("3") "}}");
    run(&w, SETTLE);
    static const char *const by_hand[] = {
        "{'spec':{'suspend':false}}",
        "{'metadata':{'labels':{'" Q "priority-class':'none'}},'spec':{'suspend':false}}",
    };
    for (size_t i = 0; i < SL_LEN(by_hand); i++) {
        patch(&w, JOB, by_hand[i]);
        run(&w, SETTLE);
        if (!suspended(&w))
            fail_msg("started by hand: %s", by_hand[i]);
        assert_false(is_true(&w, "QuotaReserved"));
    }
    end(&w);

    begin(&w);
    create(&w, JOBS, NEW_JOB("true", ""));
    runs(&w);
    patch(&w, JOB, "{'spec':{'parallelism':9,'completions':9}}");
    run(&w, SETTLE);
    assert_true(suspended(&w)); /* 9 of 4 cpu */
    end(&w);

    begin(&w);
    create(&w, JOBS, NEW_JOB("true", ""));
    runs(&w);
    char path[512];
    (void)snprintf(path, sizeof path, "%s", workload(&w));
    patch(&w, path, "{'metadata':{'finalizers':null}}");
    request(&w, SL_DELETE, path, SL_JSON, "{}");
    run(&w, SL_SEC / 10);
    patch(&w, JOB "/status", "{'status':{'active':0,'ready':0}}");
    run(&w, SETTLE);
    (void)workload(&w); /* there is one again, and the Job runs only by it */
    assert_true(suspended(&w) || is_true(&w, "Admitted"));
    end(&w);
}

/* Which namespaces opted in to the queue on the resource graph follows their labels and the
 * settings; one that is not known yet was selected by the API server. */
static void test_opted_in_namespaces(void **state) {
    struct sl_manager_parts parts = {.core = true, .fluxqueue = true};
    struct world w;

    (void)state;
    open_world(&w, 1, CONFIG "fluxqueue: {namespaceSelector: {matchLabels: {team: hpc}}}\n", parts);
    create(&w, "/api/v1/namespaces", "{'metadata':{'name':'a','labels':{'team':'hpc'}}}");
    create(&w, "/api/v1/namespaces",
           "{'metadata':{'name':'b','labels':{'fluxqueue/managed':'true'}}}");
    run(&w, SETTLE);
    const struct sl_review_view *view = sl_manager_view(w.m);
    assert_true(view->flux);
    assert_true(view->ns_flux(view->ctx, "a"));
    assert_false(view->ns_flux(view->ctx, "b"));
    assert_true(view->ns_flux(view->ctx, "c"));
    patch(&w, "/api/v1/namespaces/a", "{'metadata':{'labels':{'team':null}}}");
    run(&w, SETTLE);
    assert_false(view->ns_flux(view->ctx, "a"));
    parts.fluxqueue = false;
    sl_manager_configure(w.m, w.settings, &parts);
    assert_false(view->flux);
    end(&w);
}

/* Which queues send work to other clusters: those with a check of MultiKueue behind them. */
static void test_dispatching_queues(void **state) {
    static const char queues[] = "/apis/kueue.x-k8s.io/v1beta2/";
    struct sl_manager_parts parts = {.core = true};
    struct world w;
    char path[256];

    (void)state;
    open_world(&w, 1, CONFIG, parts);
    (void)snprintf(path, sizeof path, "%sadmissionchecks", queues);
    create(&w, path,
           "{'metadata':{'name':'mk'},'spec':{'controllerName':'kueue.x-k8s.io/multikueue'}}");
    create(&w, path, "{'metadata':{'name':'other'},'spec':{'controllerName':'example.com/c'}}");
    (void)snprintf(path, sizeof path, "%sclusterqueues", queues);
    create(&w, path,
           "{'metadata':{'name':'far'},'spec':{'admissionChecksStrategy':{"
           "'admissionChecks':[{'name':'other'},{'name':'mk'}]}}}");
    create(&w, path,
           "{'metadata':{'name':'near'},'spec':{'admissionChecksStrategy':{"
           "'admissionChecks':[{'name':'other'},{'name':'none'}]}}}");
    (void)snprintf(path, sizeof path, "%snamespaces/default/localqueues", queues);
    create(&w, path, "{'metadata':{'name':'a'},'spec':{'clusterQueue':'far'}}");
    create(&w, path, "{'metadata':{'name':'b'},'spec':{'clusterQueue':'near'}}");
    create(&w, path, "{'metadata':{'name':'c'},'spec':{'clusterQueue':'none'}}");
    run(&w, SETTLE);
    const struct sl_review_view *view = sl_manager_view(w.m);
    assert_true(view->queue_dispatches(view->ctx, "default", "a"));
    assert_false(view->queue_dispatches(view->ctx, "default", "b"));
    assert_false(view->queue_dispatches(view->ctx, "default", "c"));
    assert_false(view->queue_dispatches(view->ctx, "default", "d"));
    assert_false(view->queue_dispatches(view->ctx, "elsewhere", "a"));
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_start_to_finish),
        cmocka_unit_test(test_running_without_permission),
        cmocka_unit_test(test_evicted),
        cmocka_unit_test(test_changed_while_waiting),
        cmocka_unit_test(test_changed_while_running),
        cmocka_unit_test(test_workload_deleted),
        cmocka_unit_test(test_job_deleted),
        cmocka_unit_test(test_deleted_after_deactivation),
        cmocka_unit_test(test_restarted_manager),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_bad_weather),
        cmocka_unit_test(test_ways_round),
        cmocka_unit_test(test_opted_in_namespaces),
        cmocka_unit_test(test_dispatching_queues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
