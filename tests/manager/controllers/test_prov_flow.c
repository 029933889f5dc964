/* SPDX-License-Identifier: Apache-2.0 */
/* ProvisioningRequests over the in-memory API: the check, and the controller of check-capacity. The
 * test plays users, autoscalers, nodes and the scheduler. */
#include "core/base/prng.h"
#include "core/base/stamp.h"
#include "flow_fixture.h"

#define REQUESTS "/apis/autoscaling.x-k8s.io/v1/namespaces/ns/provisioningrequests"
#define TEMPLATES "/api/v1/namespaces/ns/podtemplates"
#define PODS "/api/v1/namespaces/ns/pods"
#define CHECKS KUEUE "/admissionchecks"
#define CONFIGS KUEUE "/provisioningrequestconfigs"
#define CAPACITY "check-capacity.autoscaling.x-k8s.io"
#define BRIEFLY (2 * SL_SEC)

/* ---- acting ---- */

static void config(struct world *w, const char *class, const char *more) {
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'conf'},'spec':{'provisioningClassName':'%s'%s}}", class,
                   more);
    create(w, CONFIGS, text);
}

static void check(struct world *w, const char *name) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s'},'spec':{'controllerName':'" Q
                   "provisioning-request','parameters':{'apiGroup':'kueue.x-k8s.io','kind':"
                   "'ProvisioningRequestConfig','name':'conf'}}}",
                   name);
    create(w, CHECKS, text);
}

/* Queue q with the check "prov", and whatever other checks. */
static void begin(struct world *w, uint64_t seed, const char *class, const char *more) {
    open_world(w, seed, CONFIG,
               (struct sl_manager_parts){.core = true, .scheduler = true, .provisioning = true});
    create(w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    create(w, KUEUE "/resourceflavors",
           "{'metadata':{'name':'f'},'spec':{'nodeLabels':{'pool':'p'},'tolerations':[{'key':'t',"
           "'operator':'Exists'}]}}");
    config(w, class, more);
    check(w, "prov");
    create(w, KUEUE "/clusterqueues",
           "{'metadata':{'name':'cq'},'spec':{'namespaceSelector':{},'admissionChecksStrategy':"
           "{'admissionChecks':[{'name':'prov'}]},'resourceGroups':[{'coveredResources':['cpu',"
           "'memory'],'flavors':[{'name':'f','resources':[{'name':'cpu','nominalQuota':'100'},"
           "{'name':'memory','nominalQuota':'100Gi'}]}]}]}}");
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q'},'spec':{'clusterQueue':'cq'}}");
}

static void workload_of(struct world *w, const char *name, int count, const char *annotations,
                        const char *more) {
    struct sl_buf b;
    sl_buf_init(&b, 8192);
    sl_buf_printf(
        &b,
        "{'metadata':{'name':'%s','annotations':{%s},'ownerReferences':[{'apiVersion':"
        "'x/v1','kind':'X','name':'x','uid':'u'}]},'spec':{'active':true,'queueName':'q',"
        "'podSets':[{'name':'main','count':%d,'template':{'metadata':{'labels':{'a':'b'}},"
        "'spec':{'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':"
        "'1'},'limits':{'cpu':'2','memory':'1Gi'}}}]}}}%s]}}",
        name, annotations, count, more);
    create(w, WORKLOADS, sl_buf_str(&b));
    sl_buf_done(&b);
}

static void workload(struct world *w, const char *name, int count) {
    workload_of(w, name, count, "", "");
}

/* As an autoscaler reports it: one condition more. */
static void set_condition(struct world *w, const char *request, const char *type,
                          const char *status, const char *message) {
    char path[1024];
    struct sl_buf b;
    (void)snprintf(path, sizeof path, REQUESTS "/%s", request);
    yyjson_val *list = at(w, path, "status.conditions"), *c;
    size_t i, n;
    sl_buf_init(&b, 8192);
    sl_buf_puts(&b, "{\"status\":{\"conditions\":[");
    yyjson_arr_foreach (list, i, n, c) {
        if (strcmp(sl_json_str(c, "type"), type) == 0)
            continue;
        sl_json_put(&b, c);
        sl_buf_putc(&b, ',');
    }
    sl_buf_printf(&b,
                  "{\"type\":\"%s\",\"status\":\"%s\",\"reason\":\"R\",\"message\":\"%s\","
                  "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}",
                  type, status, message);
    (void)snprintf(path, sizeof path, REQUESTS "/%s/status", request);
    patch(w, path, sl_buf_str(&b));
    sl_buf_done(&b);
}

static void node(struct world *w, const char *name, const char *cpu) {
    char text[1024], path[1024];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','labels':{'pool':'p'}},'spec':{},'status':{"
                   "'allocatable':{'cpu':'%s','memory':'64Gi','pods':'10'},'conditions':[{'type':"
                   "'Ready','status':'True'}]}}",
                   name, cpu);
    create(w, "/api/v1/nodes", text);
    (void)snprintf(path, sizeof path, "/api/v1/nodes/%s/status", name);
    patch(w, path, text);
}

static void pod(struct world *w, const char *name, const char *on, const char *of) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','labels':{'" Q "podset':'main'},'annotations':{"
                   "'autoscaling.x-k8s.io/consume-provisioning-request':'%s'}},'spec':{'nodeName':"
                   "'%s','containers':[{'name':'c','resources':{'requests':{'cpu':'1'}}}]}}",
                   name, of, on);
    create(w, PODS, text);
}

static void put_condition(struct world *w, const char *name, const char *type, const char *status) {
    char path[1024], text[512];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s/status", name);
    (void)snprintf(text, sizeof text,
                   "{'status':{'conditions':[{'type':'%s','status':'%s','reason':'Test','message':"
                   "'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}",
                   type, status);
    patch(w, path, text);
}

/* ---- looking ---- */

static yyjson_val *of_workload(struct world *w, const char *name, const char *field) {
    char path[1024];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", name);
    return at(w, path, field);
}

static yyjson_val *of_request(struct world *w, const char *name, const char *field) {
    char path[1024];
    (void)snprintf(path, sizeof path, REQUESTS "/%s", name);
    return at(w, path, field);
}

static bool exists(struct world *w, const char *name) {
    return of_request(w, name, "metadata") != NULL;
}

static yyjson_val *state_of(struct world *w, const char *name, const char *check) {
    yyjson_val *list = of_workload(w, name, "status.admissionChecks"), *c;
    size_t i, n;
    yyjson_arr_foreach (list, i, n, c)
        if (strcmp(sl_json_str(c, "name"), check) == 0)
            return c;
    return NULL;
}

static void is_state(struct world *w, const char *name, const char *state, const char *message) {
    yyjson_val *c = state_of(w, name, "prov");
    assert_string_equal(sl_json_str(c, "state"), state);
    if (message)
        assert_string_equal(sl_json_str(c, "message"), message);
}

static yyjson_val *condition(struct world *w, const char *name, const char *type) {
    char path[1024];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", name);
    return condition_of(w, path, type);
}

static bool is(struct world *w, const char *name, const char *type) {
    return strcmp(sl_json_str(condition(w, name, type), "status"), "True") == 0;
}

static yyjson_val *said(struct world *w, const char *request, const char *type) {
    char path[1024];
    (void)snprintf(path, sizeof path, REQUESTS "/%s", request);
    return condition_of(w, path, type);
}

static bool says(struct world *w, const char *request, const char *type, const char *status) {
    return strcmp(sl_json_str(said(w, request, type), "status"), status) == 0;
}

static const char *show(struct world *w, yyjson_val *v) {
    struct sl_buf b;
    sl_buf_init(&b, sizeof w->text);
    if (v)
        sl_json_put(&b, v);
    (void)snprintf(w->text, sizeof w->text, "%s", sl_buf_str(&b));
    for (char *at; (at = strchr(w->text, '"'));)
        *at = '\'';
    sl_buf_done(&b);
    return w->text;
}

/* ---- the check ---- */

static const char *active(struct world *w, const char *field) {
    return sl_json_str(condition_of(w, CHECKS "/prov", "Active"), field);
}

static void test_active(void **state) {
    (void)state;
    struct world w;
    begin(&w, 1, "x.example.com", "");
    fakeapi_install(w.api, "autoscaling.x-k8s.io", "provisioningrequests", false);
    run(&w, SETTLE);
    assert_string_equal(active(&w, "status"), "False");
    assert_string_equal(active(&w, "reason"), "APINotInstalled");
    assert_non_null(strstr(active(&w, "message"), "provisioningrequest-crd.yaml"));
    assert_string_equal(
        sl_json_str(condition_of(&w, KUEUE "/clusterqueues/cq", "Active"), "status"), "False");
    fakeapi_install(w.api, "autoscaling.x-k8s.io", "provisioningrequests", true);
    run(&w, SETTLE);
    assert_string_equal(active(&w, "reason"), "Active");
    assert_string_equal(active(&w, "message"), "The admission check is active");
    assert_string_equal(
        sl_json_str(condition_of(&w, KUEUE "/clusterqueues/cq", "Active"), "status"), "True");
    request(&w, SL_DELETE, CONFIGS "/conf", SL_JSON, "{}");
    run(&w, SETTLE);
    assert_string_equal(active(&w, "reason"), "BadParametersRef");
    assert_string_equal(active(&w, "message"),
                        "ProvisioningRequestConfig.kueue.x-k8s.io \"conf\" not found");
    config(&w, "x.example.com", "");
    run(&w, SETTLE);
    assert_string_equal(active(&w, "status"), "True");
    patch(&w, CHECKS "/prov", "{'spec':{'parameters':{'kind':'Other'}}}");
    run(&w, SETTLE);
    assert_string_equal(active(&w, "message"), "wrong kind \"Other\", expecting "
                                               "\"ProvisioningRequestConfig\": bad parameters "
                                               "reference");
    patch(&w, CHECKS "/prov", "{'spec':{'parameters':null}}");
    run(&w, SETTLE);
    assert_string_equal(active(&w, "message"), "missing parameters reference");
    create(&w, CHECKS, "{'metadata':{'name':'others'},'spec':{'controllerName':'x.y/z'}}");
    run(&w, SETTLE);
    assert_null(at(&w, CHECKS "/others", "status"));
    end(&w);
}

static void test_request(void **state) {
    (void)state;
    struct world w;
    begin(&w, 2, "x.example.com", ",'parameters':{'a':'1','b':'2'}");
    run(&w, SETTLE);
    workload_of(&w, "a", 3, "'provreq.kueue.x-k8s.io/b':'3','provreq.kueue.x-k8s.io/c':'4'", "");
    run(&w, BRIEFLY);
    assert_string_equal(
        show(&w, of_request(&w, "a-prov-1", "spec")),
        "{'provisioningClassName':'x.example.com','parameters':{'a':'1','b':'3','c':"
        "'4'},'podSets':[{'podTemplateRef':{'name':'ppt-a-prov-1-main'},'count':"
        "3}]}");
    assert_string_equal(show(&w, of_request(&w, "a-prov-1", "metadata.labels")),
                        "{'kueue.x-k8s.io/managed':'true'}");
    yyjson_val *owner =
        yyjson_arr_get_first(of_request(&w, "a-prov-1", "metadata.ownerReferences"));
    assert_string_equal(sl_json_str(owner, "kind"), "Workload");
    assert_string_equal(
        show(&w, at(&w, TEMPLATES "/ppt-a-prov-1-main", "template")),
        "{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'i','resources'"
        ":"
        "{'requests':{'cpu':'1','memory':'1Gi'},'limits':{'cpu':'2','memory':'1Gi'}}}],"
        "'nodeSelector':{'pool':'p'},'tolerations':[{'key':'t','operator':'Exists'}]}}");
    owner =
        yyjson_arr_get_first(at(&w, TEMPLATES "/ppt-a-prov-1-main", "metadata.ownerReferences"));
    assert_string_equal(sl_json_str(owner, "kind"), "ProvisioningRequest");
    assert_int_equal(events(&w, (struct told){.reason = "ProvisioningRequestCreated",
                                              .action = "Created",
                                              .note = "Created ProvisioningRequest: \"a-prov-1\""}),
                     1);
    is_state(&w, "a", "Pending", "");

    set_condition(&w, "a-prov-1", "Accepted", "True", "");
    run(&w, BRIEFLY);
    is_state(&w, "a", "Pending", "");
    set_condition(&w, "a-prov-1", "Provisioned", "False", "in an hour");
    run(&w, BRIEFLY);
    is_state(&w, "a", "Pending", "in an hour");
    assert_false(is(&w, "a", "Admitted"));
    set_condition(&w, "a-prov-1", "Provisioned", "True", "it is there");
    run(&w, BRIEFLY);
    is_state(&w, "a", "Ready", "it is there");
    assert_true(is(&w, "a", "Admitted"));
    assert_string_equal(
        show(&w, sl_json_at(state_of(&w, "a", "prov"), "podSetUpdates")),
        "[{'name':'main','annotations':{'autoscaling.x-k8s.io/consume-provisioning-request':"
        "'a-prov-1','autoscaling.x-k8s.io/provisioning-class-name':'x.example.com'}}]");
    assert_int_equal(
        events(&w, (struct told){.reason = "AdmissionCheckUpdated",
                                 .note = "Admission check prov updated state from Pending to Ready "
                                         "with message: it is there"}),
        1);
    restart(&w, 1);
    run(&w, SETTLE);
    is_state(&w, "a", "Ready", "it is there");
    set_condition(&w, "a-prov-1", "BookingExpired", "True", ""); /* it runs: no matter */
    run(&w, BRIEFLY);
    is_state(&w, "a", "Ready", NULL);
    request(&w, SL_DELETE, REQUESTS "/a-prov-1", SL_JSON, "{}");
    run(&w, BRIEFLY);
    assert_false(exists(&w, "a-prov-1"));
    is_state(&w, "a", "Ready", NULL);
    end(&w);
}

static void test_not_needed(void **state) {
    (void)state;
    struct world w;
    begin(&w, 3, "x.example.com", ",'managedResources':['nvidia.com/gpu']");
    run(&w, SETTLE);
    workload(&w, "a", 1);
    run(&w, BRIEFLY);
    is_state(&w, "a", "Ready", "the provisioning request is not needed");
    assert_true(is(&w, "a", "Admitted"));
    workload_of(
        &w, "b", 1, "",
        ",{'name':'gpu','count':2,'template':{'spec':{'containers':[{'name':'c','resources':"
        "{'limits':{'nvidia.com/gpu':'1'}}}]}}}");
    patch(&w, KUEUE "/clusterqueues/cq",
          "{'spec':{'resourceGroups':[{'coveredResources':['cpu','memory','nvidia.com/gpu'],"
          "'flavors':[{'name':'f','resources':[{'name':'cpu','nominalQuota':'100'},{'name':"
          "'memory','nominalQuota':'100Gi'},{'name':'nvidia.com/gpu','nominalQuota':'9'}]}]}]}}");
    run(&w, SETTLE);
    assert_string_equal(show(&w, of_request(&w, "b-prov-1", "spec.podSets")),
                        "[{'podTemplateRef':{'name':'ppt-b-prov-1-gpu'},'count':2}]");
    set_condition(&w, "b-prov-1", "Provisioned", "True", "");
    run(&w, BRIEFLY);
    assert_int_equal(yyjson_arr_size(sl_json_at(state_of(&w, "b", "prov"), "podSetUpdates")), 1);
    end(&w);
}

static void test_merge(void **state) {
    (void)state;
    static const char *const other =
        ",{'name':'w','count':2,'template':{'spec':{'containers':[{'name':'other','image':'j',"
        "'resources':{'requests':{'cpu':'1'}}}]}}}";
    struct world w;
    begin(&w, 4, "x.example.com", ",'podSetMergePolicy':'IdenticalWorkloadSchedulingRequirements'");
    run(&w, SETTLE);
    workload_of(&w, "a", 1, "", other);
    run(&w, BRIEFLY);
    assert_string_equal(show(&w, of_request(&w, "a-prov-1", "spec.podSets")),
                        "[{'podTemplateRef':{'name':'ppt-a-prov-1-main'},'count':3}]");
    set_condition(&w, "a-prov-1", "Provisioned", "True", "");
    run(&w, BRIEFLY);
    /* Pods of both have to name the request whose capacity they take. */
    assert_int_equal(yyjson_arr_size(sl_json_at(state_of(&w, "a", "prov"), "podSetUpdates")), 2);
    patch(&w, CONFIGS "/conf", "{'spec':{'podSetMergePolicy':'IdenticalPodTemplates'}}");
    run(&w, BRIEFLY);
    workload_of(&w, "b", 1, "", other);
    run(&w, BRIEFLY);
    assert_int_equal(yyjson_arr_size(of_request(&w, "b-prov-1", "spec.podSets")), 2);
    end(&w);
}

static void test_selectors(void **state) {
    (void)state;
    struct world w;
    begin(&w, 5, "x.example.com",
          ",'podSetUpdates':{'nodeSelector':[{'key':'k','valueFromProvisioningClassDetail':'d'},"
          "{'key':'l','valueFromProvisioningClassDetail':'missing'}]}");
    run(&w, SETTLE);
    workload(&w, "a", 1);
    run(&w, BRIEFLY);
    patch(&w, REQUESTS "/a-prov-1/status", "{'status':{'provisioningClassDetails':{'d':'v'}}}");
    set_condition(&w, "a-prov-1", "Provisioned", "True", "");
    run(&w, BRIEFLY);
    yyjson_val *u = yyjson_arr_get_first(sl_json_at(state_of(&w, "a", "prov"), "podSetUpdates"));
    assert_string_equal(show(&w, sl_json_at(u, "nodeSelector")), "{'k':'v'}");
    end(&w);
}

/* Evicted and let go, as its job would do it. */
static void let_go(struct world *w, const char *name) {
    char path[1024];
    struct sl_buf b;
    yyjson_val *list = of_workload(w, name, "status.conditions"), *c;
    size_t i, n;
    (void)snprintf(path, sizeof path, WORKLOADS "/%s/status", name);
    sl_buf_init(&b, 16384);
    sl_buf_puts(&b, "{\"status\":{\"admission\":null,\"conditions\":[");
    yyjson_arr_foreach (list, i, n, c) {
        const char *type = sl_json_str(c, "type");
        if (strcmp(type, "QuotaReserved") == 0 || strcmp(type, "Admitted") == 0 ||
            strcmp(type, "Requeued") == 0)
            continue;
        sl_json_put(&b, c);
        sl_buf_putc(&b, ',');
    }
    sl_buf_puts(&b, "{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":\"Pending\","
                    "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},"
                    "{\"type\":\"Requeued\",\"status\":\"False\",\"reason\":\"AdmissionCheck\","
                    "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    patch(w, path, sl_buf_str(&b));
    sl_buf_done(&b);
}

static void test_retries(void **state) {
    (void)state;
    struct world w;
    begin(
        &w, 6, "x.example.com",
        ",'retryStrategy':{'backoffLimitCount':2,'backoffBaseSeconds':60,'backoffMaxSeconds':100}");
    run(&w, SETTLE);
    workload(&w, "a", 1);
    run(&w, BRIEFLY);
    for (int attempt = 1; attempt <= 2; attempt++) {
        char name[32];
        (void)snprintf(name, sizeof name, "a-prov-%d", attempt);
        assert_true(exists(&w, name));
        set_condition(&w, name, "Failed", "True", "no machines");
        run(&w, BRIEFLY);
        assert_string_equal(sl_json_str(condition(&w, "a", "Evicted"), "reason"), "AdmissionCheck");
        assert_non_null(strstr(sl_json_str(condition(&w, "a", "Evicted"), "message"),
                               "Retrying after failure: no machines"));
        is_state(&w, "a", "Pending", "Reset to Pending after eviction. Previously: Retry");
        assert_int_equal(sl_json_int(state_of(&w, "a", "prov"), "retryCount", 0), attempt);
        assert_int_equal(sl_json_int(state_of(&w, "a", "prov"), "requeueAfterSeconds", 0),
                         attempt == 1 ? 60 : 100);
        assert_false(exists(&w, name));
        assert_null(fakeapi_get(w.api, TEMPLATES "/ppt-a-prov-1-main"));
        let_go(&w, "a");
        restart(&w, (uint32_t)attempt); /* the count is in the API */
        run(&w, 50 * SL_SEC);
        assert_false(is(&w, "a", "QuotaReserved"));
        run(&w, 60 * SL_SEC);
        assert_true(is(&w, "a", "QuotaReserved"));
    }
    assert_true(exists(&w, "a-prov-3"));
    set_condition(&w, "a-prov-3", "Failed", "True", "never");
    run(&w, BRIEFLY);
    is_state(&w, "a", "Pending", "Reset to Pending after eviction. Previously: Rejected");
    assert_false(yyjson_get_bool(of_workload(&w, "a", "spec.active")));
    assert_string_equal(sl_json_str(condition(&w, "a", "Evicted"), "reason"),
                        "DeactivatedDueToAdmissionCheck");
    assert_false(exists(&w, "a-prov-3"));
    end(&w);
}

static void test_revoked(void **state) {
    (void)state;
    struct world w;
    begin(&w, 7, "x.example.com", "");
    run(&w, SETTLE);
    workload(&w, "a", 1);
    run(&w, BRIEFLY);
    set_condition(&w, "a-prov-1", "Provisioned", "True", "");
    run(&w, BRIEFLY);
    assert_true(is(&w, "a", "Admitted"));
    set_condition(&w, "a-prov-1", "CapacityRevoked", "True", "taken away");
    run(&w, BRIEFLY);
    assert_string_equal(sl_json_str(condition(&w, "a", "Evicted"), "reason"),
                        "DeactivatedDueToAdmissionCheck");
    assert_false(exists(&w, "a-prov-1"));
    end(&w);
}

/* A request matches its configuration, or it is replaced. Parameters from annotations are no
 * mismatch. */
static void test_follows_its_configuration(void **state) {
    (void)state;
    struct world w;
    struct fakeapi_stats before, after;
    begin(&w, 8, "x.example.com", ",'parameters':{'a':'1'}");
    run(&w, SETTLE);
    workload_of(&w, "a", 1, "'provreq.kueue.x-k8s.io/a':'2'", "");
    run(&w, SETTLE);
    assert_string_equal(sl_json_str(of_request(&w, "a-prov-1", "spec.parameters"), "a"), "2");
    run(&w, SETTLE);
    fakeapi_stats(w.api, &before);
    run(&w, SETTLE);
    fakeapi_stats(w.api, &after);
    assert_int_equal(after.changes, before.changes);
    patch(&w, CONFIGS "/conf", "{'spec':{'provisioningClassName':'y.example.com'}}");
    run(&w, BRIEFLY);
    assert_string_equal(sl_json_str(of_request(&w, "a-prov-1", "spec"), "provisioningClassName"),
                        "y.example.com");
    request(&w, SL_DELETE, CONFIGS "/conf", SL_JSON, "{}");
    run(&w, BRIEFLY);
    assert_false(exists(&w, "a-prov-1"));
    is_state(&w, "a", "Pending", "the check is not active");
    config(&w, "y.example.com", "");
    run(&w, BRIEFLY);
    assert_true(exists(&w, "a-prov-1"));
    end(&w);
}

static void test_nobody_answers(void **state) {
    (void)state;
    struct world w;
    begin(&w, 9, "x.example.com", "");
    run(&w, SETTLE);
    workload(&w, "a", 1);
    run(&w, 20 * SL_SEC);
    is_state(&w, "a", "Pending", "");
    run(&w, 20 * SL_SEC);
    is_state(&w, "a", "Pending",
             "no controller answers ProvisioningRequests of class x.example.com");
    assert_null(of_request(&w, "a-prov-1", "status.conditions"));
    set_condition(&w, "a-prov-1", "Accepted", "True", "");
    set_condition(&w, "a-prov-1", "Provisioned", "False", "soon");
    run(&w, BRIEFLY);
    is_state(&w, "a", "Pending", "soon");
    end(&w);
}

/* Names with another owner, and names that are too long. */
static void test_names(void **state) {
    (void)state;
    struct world w;
    char name[241], path[512];
    begin(&w, 10, "x.example.com", "");
    create(&w, REQUESTS,
           "{'metadata':{'name':'a-prov-1'},'spec':{'provisioningClassName':'z',"
           "'podSets':[]}}");
    create(&w, TEMPLATES, "{'metadata':{'name':'ppt-b-prov-1-main','labels':{'old':'1'}}}");
    run(&w, SETTLE);
    workload(&w, "a", 1);
    workload(&w, "b", 1);
    memset(name, 'x', 240);
    name[240] = '\0';
    workload(&w, name, 1);
    run(&w, BRIEFLY);
    assert_non_null(strstr(sl_json_str(state_of(&w, "a", "prov"), "message"),
                           "Error creating ProvisioningRequest \"a-prov-1\": "));
    assert_int_equal(events(&w, (struct told){.reason = "FailedCreate", .name = "a"}) > 0, 1);
    assert_true(exists(&w, "b-prov-1"));
    assert_null(at(&w, TEMPLATES "/ppt-b-prov-1-main", "metadata.labels.old"));
    assert_string_equal(
        sl_json_str(at(&w, TEMPLATES "/ppt-b-prov-1-main", "template.metadata"), "labels.a"), "b");
    (void)snprintf(path, sizeof path, "%s-prov-1", name);
    assert_true(exists(&w, path)); /* 247 characters are enough */
    set_condition(&w, path, "Provisioned", "True", "");
    run(&w, BRIEFLY);
    is_state(&w, name, "Ready", NULL);
    request(&w, SL_DELETE, REQUESTS "/a-prov-1", SL_JSON, "{}");
    run(&w, SETTLE);
    assert_true(exists(&w, "a-prov-1"));
    yyjson_val *owner =
        yyjson_arr_get_first(of_request(&w, "a-prov-1", "metadata.ownerReferences"));
    assert_string_equal(sl_json_str(owner, "name"), "a");
    end(&w);
}

/* ---- check-capacity ---- */

static void test_capacity_waits_for_a_node(void **state) {
    (void)state;
    struct world w;
    begin(&w, 11, CAPACITY, "");
    node(&w, "n1", "2");
    run(&w, SETTLE);
    workload(&w, "a", 4);
    run(&w, SETTLE);
    assert_true(says(&w, "a-prov-1", "Accepted", "True"));
    assert_true(says(&w, "a-prov-1", "Provisioned", "False"));
    assert_string_equal(sl_json_str(said(&w, "a-prov-1", "Provisioned"), "reason"),
                        "CapacityIsNotFound");
    assert_string_equal(
        sl_json_str(of_request(&w, "a-prov-1", "status.provisioningClassDetails"), "answeredBy"),
        "sluice");
    is_state(&w, "a", "Pending",
             "Capacity is not found: 2 of 4 pods of ppt-a-prov-1-main find no place; of 1 node 1 "
             "lacks cpu");
    assert_true(is(&w, "a", "QuotaReserved"));
    node(&w, "n2", "2");
    run(&w, BRIEFLY);
    assert_true(says(&w, "a-prov-1", "Provisioned", "True"));
    assert_string_equal(sl_json_str(said(&w, "a-prov-1", "Provisioned"), "reason"),
                        "CapacityIsFound");
    is_state(&w, "a", "Ready", "Capacity is found in the cluster");
    assert_true(is(&w, "a", "Admitted"));
    run(&w, 11 * SL_MINUTE);
    assert_true(says(&w, "a-prov-1", "BookingExpired", "True"));
    assert_true(is(&w, "a", "Admitted"));
    is_state(&w, "a", "Ready", NULL);
    end(&w);
}

/* What one was promised the next does not get; as its pods are bound they take what was theirs. */
static void test_capacity_is_booked(void **state) {
    (void)state;
    struct world w;
    begin(&w, 12, CAPACITY, "");
    node(&w, "n1", "4");
    run(&w, SETTLE);
    workload(&w, "a", 3);
    run(&w, BRIEFLY);
    workload(&w, "b", 1);
    run(&w, BRIEFLY);
    assert_true(is(&w, "a", "Admitted"));
    assert_true(is(&w, "b", "Admitted"));
    workload(&w, "c", 1);
    run(&w, BRIEFLY);
    assert_false(is(&w, "c", "Admitted"));
    pod(&w, "a0", "n1", "a-prov-1");
    pod(&w, "a1", "n1", "a-prov-1");
    run(&w, SETTLE);
    assert_false(is(&w, "c", "Admitted")); /* another of a is to come */
    assert_true(says(&w, "c-prov-1", "Provisioned", "False"));
    restart(&w, 1); /* bookings are in the API */
    run(&w, SETTLE);
    assert_false(is(&w, "c", "Admitted"));
    node(&w, "n2", "1");
    run(&w, BRIEFLY);
    assert_true(is(&w, "c", "Admitted"));
    workload(&w, "d", 1);
    run(&w, BRIEFLY);
    assert_false(is(&w, "d", "Admitted"));
    put_condition(&w, "b", "Finished", "True"); /* its request goes, and with it the booking */
    run(&w, BRIEFLY);
    assert_false(exists(&w, "b-prov-1"));
    assert_true(is(&w, "d", "Admitted"));
    workload(&w, "e", 1);
    run(&w, BRIEFLY);
    assert_false(is(&w, "e", "Admitted"));
    request(&w, SL_DELETE, WORKLOADS "/d", SL_JSON, "{}");
    run(&w, BRIEFLY);
    assert_true(is(&w, "e", "Admitted"));
    end(&w);
}

static void test_capacity_pods_of_others(void **state) {
    (void)state;
    struct world w;
    begin(&w, 13, CAPACITY, "");
    node(&w, "n1", "2");
    pod(&w, "x", "n1", "");
    run(&w, SETTLE);
    workload(&w, "a", 2);
    run(&w, BRIEFLY);
    assert_true(says(&w, "a-prov-1", "Provisioned", "False"));
    patch(&w, PODS "/x/status", "{'status':{'phase':'Succeeded'}}");
    run(&w, BRIEFLY);
    assert_true(is(&w, "a", "Admitted"));
    patch(&w, "/api/v1/nodes/n1", "{'spec':{'unschedulable':true}}");
    run(&w, BRIEFLY);
    assert_true(says(&w, "a-prov-1", "Provisioned", "True")); /* promised is promised */
    workload(&w, "b", 1);
    run(&w, BRIEFLY);
    is_state(
        &w, "b", "Pending",
        "Capacity is not found: 1 of 1 pods of ppt-b-prov-1-main find no place; of 1 node 1 is "
        "not ready or closed");
    end(&w);
}

static void test_capacity_fails(void **state) {
    (void)state;
    struct world w;
    begin(&w, 14, CAPACITY,
          ",'parameters':{'noRetry':'true'},'retryStrategy':{'backoffLimitCount':0,"
          "'backoffBaseSeconds':1,'backoffMaxSeconds':1}");
    run(&w, SETTLE);
    workload(&w, "a", 1);
    run(&w, SETTLE);
    assert_false(yyjson_get_bool(of_workload(&w, "a", "spec.active")));
    patch(&w, CONFIGS "/conf",
          "{'spec':{'parameters':{'noRetry':null,'ValidUntilSeconds':'60'},'retryStrategy':{"
          "'backoffLimitCount':3}}}");
    run(&w, SETTLE);
    workload(&w, "b", 1);
    run(&w, SETTLE);
    assert_true(says(&w, "b-prov-1", "Provisioned", "False"));
    assert_null(said(&w, "b-prov-1", "Failed"));
    run(&w, SL_MINUTE); /* the quota is not held for ever */
    assert_string_equal(sl_json_str(condition(&w, "b", "Evicted"), "reason"), "AdmissionCheck");
    end(&w);
}

static void lease(struct world *w, sl_span ago) {
    char text[512], stamp[SL_STAMP_TEXT];
    (void)snprintf(text, sizeof text,
                   "{\"metadata\":{\"name\":\"cluster-autoscaler\"},\"spec\":{\"holderIdentity\":"
                   "\"ca\",\"renewTime\":\"%s\"}}",
                   sl_stamp_micro(FAKEAPI_EPOCH + fakeapi_now(w->api) - ago, stamp));
    create(w, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", text);
}

/* A real autoscaler goes first. */
static void test_capacity_yields(void **state) {
    (void)state;
    struct world w;
    begin(&w, 15, CAPACITY, "");
    node(&w, "n1", "8");
    run(&w, SETTLE);
    lease(&w, 0);
    workload(&w, "a", 1);
    workload(&w, "b", 1);
    run(&w, SETTLE);
    assert_null(of_request(&w, "a-prov-1", "status.conditions"));
    set_condition(&w, "a-prov-1", "Accepted", "True", "");
    run(&w, 40 * SL_SEC);
    assert_null(said(&w, "a-prov-1", "Provisioned")); /* it has taken it on */
    assert_true(is(&w, "b", "Admitted"));             /* but does not know the class, it seems */
    request(&w, SL_DELETE,
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/"
            "cluster-autoscaler",
            SL_JSON, "{}");
    lease(&w, 5 * SL_MINUTE); /* long dead */
    run(&w, SETTLE);
    workload(&w, "c", 1);
    run(&w, BRIEFLY);
    assert_true(is(&w, "c", "Admitted"));
    patch(&w, CONFIGS "/conf", "{'spec':{'parameters':{'processorInstance':'mine'}}}");
    run(&w, BRIEFLY);
    workload(&w, "d", 1);
    run(&w, 2 * SL_MINUTE);
    assert_null(of_request(&w, "d-prov-1", "status.conditions"));
    is_state(&w, "d", "Pending", "no controller answers ProvisioningRequests of class " CAPACITY);
    end(&w);
}

/* Requests that others made are answered as well. */
static void test_capacity_requests_of_others(void **state) {
    (void)state;
    struct world w;
    begin(&w, 16, CAPACITY, "");
    node(&w, "n1", "8");
    run(&w, SETTLE);
    create(&w, REQUESTS,
           "{'metadata':{'name':'r'},'spec':{'provisioningClassName':'" CAPACITY "','podSets':[{"
           "'podTemplateRef':{'name':'t'},'count':2}]}}");
    run(&w, BRIEFLY);
    assert_string_equal(sl_json_str(said(&w, "r", "Provisioned"), "message"),
                        "Capacity is not found: there is no PodTemplate t");
    create(&w, TEMPLATES,
           "{'metadata':{'name':'t'},'template':{'spec':{'containers':[{'name':'c','resources':{"
           "'requests':{'cpu':'4'}}}]}}}");
    run(&w, 10 * SL_SEC);
    assert_true(says(&w, "r", "Provisioned", "True"));
    end(&w);
}

/* ---- under faults ---- */

#define WORKLOADS_AT_ONCE 6
#define CPUS 8

struct sum {
    int promised, ready, requests;
};

static void add_request(void *ctx, yyjson_val *o) {
    struct sum *s = ctx;
    yyjson_val *list = sl_json_at(o, "status.conditions"), *c;
    size_t i, n;
    s->requests++;
    yyjson_arr_foreach (list, i, n, c)
        if (strcmp(sl_json_str(c, "type"), "Provisioned") == 0 &&
            strcmp(sl_json_str(c, "status"), "True") == 0)
            s->promised +=
                (int)sl_json_int(yyjson_arr_get_first(sl_json_at(o, "spec.podSets")), "count", 0);
}

/* The next one comes when nothing of the last is on its way any more: against that the API knows no
 * fence. */
static void die(struct world *w, uint32_t client) {
    sl_manager_free(w->m);
    fakeapi_kill(w->api, client - 1);
    fakeapi_advance(w->api, fakeapi_now(w->api) + 10 * SL_SEC);
    start(w, client, client);
}

/* Never more is promised than there is; and when faults end, everybody who fits starts. */
static void history(uint64_t seed) {
    struct world w;
    struct fakeapi_faults faults;
    struct sl_prng p;
    char name[16];
    int left = 0;
    uint32_t client = 0;
    begin(&w, seed, CAPACITY, "");
    node(&w, "n1", "8");
    run(&w, SETTLE);
    sl_prng_init(&p, seed);
    fakeapi_some_faults(&p, 8, &faults);
    faults.clock_step = 0; /* bookings are times of the wall clock */
    faults.hang_watch = 0; /* is noticed after longer than this test lasts */
    fakeapi_set_faults(w.api, &faults);
    for (int i = 0; i < WORKLOADS_AT_ONCE; i++) {
        int size = 1 + (int)sl_prng_below(&p, 4);
        (void)snprintf(name, sizeof name, "w%d", i);
        workload(&w, name, size);
        left += size;
        run(&w, (sl_span)sl_prng_below(&p, 5 * SL_SEC));
        if (sl_prng_one_in(&p, 4))
            die(&w, ++client);
        struct sum s = {0};
        (void)fakeapi_each(w.api, REQUESTS, add_request, &s);
        assert_true(s.promised <= CPUS);
    }
    fakeapi_set_faults(w.api, NULL);
    run(&w, 3 * SL_MINUTE);
    struct sum s = {0};
    (void)fakeapi_each(w.api, REQUESTS, add_request, &s);
    if (s.requests != WORKLOADS_AT_ONCE)
        fail_msg("seed %llu: %d requests", (unsigned long long)seed, s.requests);
    if (s.promised > CPUS || (left <= CPUS ? s.promised != left : s.promised <= CPUS - 4))
        fail_msg("seed %llu: %d of %d were promised", (unsigned long long)seed, s.promised, left);
    end(&w);
}

/* ---- an autoscaler that reports anything ---- */

struct names {
    char v[64][64];
    uint32_t n;
};

static void add_name(void *ctx, yyjson_val *o) {
    struct names *s = ctx;
    if (s->n < SL_LEN(s->v))
        (void)snprintf(s->v[s->n++], sizeof s->v[0], "%s", sl_json_str(o, "metadata.name"));
}

static void act(struct world *w, struct sl_prng *p) {
    static const struct {
        const char *type, *status;
    } words[] = {{"Accepted", "True"}, {"Provisioned", "False"},   {"Provisioned", "True"},
                 {"Failed", "True"},   {"BookingExpired", "True"}, {"CapacityRevoked", "True"}};
    struct names requests = {0};
    char name[16], path[1024];
    (void)fakeapi_each(w->api, REQUESTS, add_name, &requests);
    (void)snprintf(name, sizeof name, "w%d", (int)sl_prng_below(p, WORKLOADS_AT_ONCE));
    size_t k = sl_prng_below(p, SL_LEN(words) + 4);
    if (k < SL_LEN(words)) {
        if (requests.n)
            set_condition(w, requests.v[sl_prng_below(p, requests.n)], words[k].type,
                          words[k].status, "said");
    } else if (k == SL_LEN(words) && requests.n) {
        (void)snprintf(path, sizeof path, REQUESTS "/%s", requests.v[sl_prng_below(p, requests.n)]);
        request(w, SL_DELETE, path, SL_JSON, "{}");
    } else if (k == SL_LEN(words) + 1) {
        patch(w, CONFIGS "/conf",
              sl_prng_one_in(p, 2) ? "{'spec':{'provisioningClassName':'y.example.com'}}"
                                   : "{'spec':{'provisioningClassName':'x.example.com'}}");
    } else if (is(w, name, "Evicted") && is(w, name, "QuotaReserved")) {
        let_go(w, name);
    } else {
        (void)snprintf(path, sizeof path, WORKLOADS "/%s", name);
        patch(w, path, "{'spec':{'active':true}}");
    }
}

/* Every workload that has quota and waits has one request that matches the configuration; one that
 * has lost its quota has none; and the state of a check follows the conditions of its request. */
static void is_settled(struct world *w, uint64_t seed) {
    struct names requests = {0};
    char name[16];
    uint32_t needed = 0;
    (void)fakeapi_each(w->api, REQUESTS, add_name, &requests);
    for (int i = 0; i < WORKLOADS_AT_ONCE; i++) {
        (void)snprintf(name, sizeof name, "w%d", i);
        uint32_t own = 0;
        const char *request = "", *state = sl_json_str(state_of(w, name, "prov"), "state");
        for (uint32_t k = 0; k < requests.n; k++)
            if (strncmp(requests.v[k], name, strlen(name)) == 0) {
                own++;
                request = requests.v[k];
            }
        bool evicted = is(w, name, "Evicted"), reserved = is(w, name, "QuotaReserved");
        bool waits = reserved && !evicted && strcmp(state, "Pending") == 0;
        bool right = own <= 1 && !(evicted && own) && !(waits && !own);
        right = right && strcmp(state, "Retry") != 0 && strcmp(state, "Rejected") != 0;
        right = right && !(waits && says(w, request, "Provisioned", "True"));
        right =
            right &&
            !(waits &&
              strcmp(sl_json_str(of_request(w, request, "spec"), "provisioningClassName"),
                     sl_json_str(at(w, CONFIGS "/conf", "spec"), "provisioningClassName")) != 0);
        if (!right)
            fail_msg("seed %llu: %s is %s with %u requests (%s)", (unsigned long long)seed, name,
                     state, own, request);
        needed += own;
    }
    assert_int_equal(needed, requests.n);
}

static void moody(uint64_t seed) {
    struct world w;
    struct fakeapi_faults faults;
    struct sl_prng p;
    char name[16];
    uint32_t client = 0;
    begin(&w, seed, "x.example.com",
          ",'retryStrategy':{'backoffLimitCount':2,'backoffBaseSeconds':1,'backoffMaxSeconds':3}");
    run(&w, SETTLE);
    sl_prng_init(&p, seed);
    fakeapi_some_faults(&p, 8, &faults);
    faults.hang_watch = 0;
    for (int i = 0; i < WORKLOADS_AT_ONCE; i++) {
        (void)snprintf(name, sizeof name, "w%d", i);
        workload(&w, name, 1);
    }
    fakeapi_set_faults(w.api, &faults);
    for (int i = 0; i < 40; i++) {
        run(&w, (sl_span)sl_prng_below(&p, 2 * SL_SEC));
        act(&w, &p);
        if (client < FAKEAPI_CLIENTS - 1 && sl_prng_one_in(&p, 10))
            die(&w, ++client);
    }
    fakeapi_set_faults(w.api, NULL);
    run(&w, 3 * SL_MINUTE);
    is_settled(&w, seed);
    end(&w);
}

static void test_moody(void **state) {
    (void)state;
    const char *seeds = getenv("SL_SEEDS");
    uint64_t n = seeds ? strtoull(seeds, NULL, 10) / 100 : 60;
    for (uint64_t seed = 1; seed <= n; seed++)
        moody(seed);
}

static void test_faults(void **state) {
    (void)state;
    const char *seeds = getenv("SL_SEEDS");
    uint64_t n = seeds ? strtoull(seeds, NULL, 10) / 100 : 60;
    for (uint64_t seed = 1; seed <= n; seed++)
        history(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_active),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_not_needed),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_selectors),
        cmocka_unit_test(test_retries),
        cmocka_unit_test(test_revoked),
        cmocka_unit_test(test_follows_its_configuration),
        cmocka_unit_test(test_nobody_answers),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_capacity_waits_for_a_node),
        cmocka_unit_test(test_capacity_is_booked),
        cmocka_unit_test(test_capacity_pods_of_others),
        cmocka_unit_test(test_capacity_fails),
        cmocka_unit_test(test_capacity_yields),
        cmocka_unit_test(test_capacity_requests_of_others),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_moody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
