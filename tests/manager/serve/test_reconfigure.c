/* SPDX-License-Identifier: Apache-2.0 */
/* Other integrations than at the start: what an administrator changes in the configuration while
 * the manager runs. */
#include "../controllers/flow_fixture.h"
#include "manager/controllers/core/parts.h"

#define JOBS "/apis/batch/v1/namespaces/ns/jobs"
#define PODS "/api/v1/namespaces/ns/pods"
#define FRAMEWORKS(list) CONFIG "integrations: {frameworks: [" list "]}\n"

/* What `serve` does when the file has changed. */
static void configure(struct world *w, const char *config) {
    struct sl_settings *fresh = NULL;
    struct sl_err err;
    assert_int_equal(sl_settings_parse("test", config, strlen(config), "sluice-system", NULL,
                                       &fresh, NULL, &err),
                     0);
    struct sl_manager_parts parts = sl_manager_parts_parse(NULL, fresh);
    sl_manager_configure(w->m, fresh, &parts);
    sl_settings_free(w->settings);
    w->settings = fresh;
    w->parts = parts;
}

static void begin(struct world *w, const char *config) {
    open_world(w, 1, config, (struct sl_manager_parts){.core = true, .scheduler = true});
    create(w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    create(w, KUEUE "/resourceflavors", "{'metadata':{'name':'f'},'spec':{}}");
    create(w, KUEUE "/clusterqueues",
           "{'metadata':{'name':'cq'},'spec':{'namespaceSelector':{},'resourceGroups':[{"
           "'coveredResources':['cpu'],'flavors':[{'name':'f','resources':[{'name':'cpu',"
           "'nominalQuota':'10'}]}]}]}}");
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q'},'spec':{'clusterQueue':'cq'}}");
    configure(w, config);
}

static void job(struct world *w, const char *name) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','labels':{'" Q "queue-name':'q'}},'spec':{"
                   "'suspend':true,'parallelism':1,'template':{'spec':{'containers':[{'name':'c',"
                   "'resources':{'requests':{'cpu':'1'}}}]}}}}",
                   name);
    create(w, JOBS, text);
}

static bool started(struct world *w, const char *path) {
    return !sl_json_bool(fakeapi_get(w->api, path), "spec.suspend", false);
}

static void count(void *ctx, yyjson_val *o) {
    (void)o;
    ++*(uint32_t *)ctx;
}

static uint32_t workloads(struct world *w) {
    uint32_t n = 0;
    (void)fakeapi_each(w->api, WORKLOADS, count, &n);
    return n;
}

static void count_finished(void *ctx, yyjson_val *o) {
    yyjson_val *list = sl_json_at(o, "status.conditions"), *c;
    size_t i, n;
    yyjson_arr_foreach (list, i, n, c)
        *(uint32_t *)ctx += strcmp(sl_json_str(c, "type"), "Finished") == 0;
}

static void test_jobs_on_and_off(void **state) {
    (void)state;
    struct world w;
    uint32_t finished = 0;
    begin(&w, FRAMEWORKS("pod"));
    job(&w, "one");
    run(&w, SETTLE);
    assert_false(started(&w, JOBS "/one"));
    assert_int_equal(workloads(&w), 0);

    configure(&w, FRAMEWORKS("pod, batch/job"));
    run(&w, SETTLE);
    assert_true(started(&w, JOBS "/one"));
    assert_int_equal(workloads(&w), 1);

    configure(&w, FRAMEWORKS("pod")); /* what runs stays as it is, what comes is let alone */
    job(&w, "two");
    run(&w, SETTLE);
    patch(&w, JOBS "/one", "{'metadata':{'labels':{'x':'y'}}}");
    run(&w, SETTLE);
    assert_true(started(&w, JOBS "/one"));
    assert_false(started(&w, JOBS "/two"));
    assert_int_equal(workloads(&w), 1);
    (void)fakeapi_each(w.api, WORKLOADS, count_finished, &finished);
    assert_int_equal(finished, 0);

    configure(&w, FRAMEWORKS("pod, batch/job, pod"));
    run(&w, SETTLE);
    assert_true(started(&w, JOBS "/two"));
    assert_int_equal(workloads(&w), 2);
    end(&w);
}

/* A plain pod as the webhook leaves it. */
static void pod(struct world *w, const char *name) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','labels':{'" Q "queue-name':'q','" Q
                   "managed':'true'},'finalizers':['" Q "managed']},'spec':{'schedulingGates':["
                   "{'name':'" Q "admission'}],'containers':[{'name':'c','resources':{'requests':{"
                   "'cpu':'1'}}}]},'status':{'phase':'Pending'}}",
                   name);
    create(w, PODS, text);
}

static bool gated(struct world *w, const char *path) {
    return yyjson_arr_size(at(w, path, "spec.schedulingGates")) > 0;
}

/* Pods are read already, for elastic jobs and topologies; those that were not needed have no
 * record. */
static void test_pods_on_and_off(void **state) {
    (void)state;
    struct world w;
    begin(&w, FRAMEWORKS("batch/job"));
    pod(&w, "one");
    run(&w, SETTLE);
    assert_true(gated(&w, PODS "/one"));
    assert_int_equal(workloads(&w), 0);

    configure(&w, FRAMEWORKS("batch/job, pod"));
    run(&w, SETTLE);
    assert_false(gated(&w, PODS "/one"));
    assert_int_equal(workloads(&w), 1);

    configure(&w, FRAMEWORKS("batch/job"));
    pod(&w, "two");
    patch(&w, PODS "/one/status", "{'status':{'phase':'Running'}}");
    run(&w, SETTLE);
    assert_true(gated(&w, PODS "/two"));
    assert_int_equal(workloads(&w), 1);

    configure(&w, FRAMEWORKS("batch/job, pod, pod"));
    run(&w, SETTLE);
    assert_false(gated(&w, PODS "/two"));
    assert_int_equal(workloads(&w), 2);
    end(&w);
}

/* What the command line names does not follow the file. */
static void test_words(void **state) {
    (void)state;
    static const struct {
        const char *config, *controllers, *webhooks;
        bool job, pod, job_hook, pod_hook;
    } cases[] = {
        {CONFIG, NULL, NULL, true, false, true, false},
        {FRAMEWORKS("batch/job, pod"), NULL, NULL, true, true, true, true},
        {FRAMEWORKS("pod"), NULL, NULL, false, true, false, true},
        {FRAMEWORKS("pod, pod"), NULL, NULL, false, true, false, true},
        {FRAMEWORKS("pod"), "core,batch/job", NULL, true, false, false, true},
        {FRAMEWORKS("pod"), NULL, "batch/job", false, true, true, false},
        {FRAMEWORKS("pod"), "", "", false, false, false, false},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_settings *s = NULL;
        struct sl_err err;
        bool hooks[SL_FW_COUNT];
        assert_int_equal(sl_settings_parse("test", cases[i].config, strlen(cases[i].config), NULL,
                                           NULL, &s, NULL, &err),
                         0);
        struct sl_manager_parts parts = sl_manager_parts_parse(cases[i].controllers, s);
        sl_manager_webhooks_parse(cases[i].webhooks, s, hooks);
        assert_int_equal(parts.framework[SL_FW_JOB], cases[i].job);
        assert_int_equal(parts.framework[SL_FW_POD], cases[i].pod);
        assert_int_equal(hooks[SL_FW_JOB], cases[i].job_hook);
        assert_int_equal(hooks[SL_FW_POD], cases[i].pod_hook);
        sl_settings_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_on_and_off),
        cmocka_unit_test(test_pods_on_and_off),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
