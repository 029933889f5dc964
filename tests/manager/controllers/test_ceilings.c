/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects as large as the API allows, and larger: each is counted whole or refused visibly, and
 * the manager goes on with all others.
 */
#include "group_fixture.h"

#include <malloc.h>

#include "manager/controllers/core/sweep.h"
#include "manager/controllers/workload/workload.h"

/* ---- the usage of an admission with many podsets and resources ---- */

#define PODSETS 18
#define RESOURCES 12

static void put_large_queue(struct world *w) {
    struct sl_buf b = SL_BUF(65536);
    sl_buf_puts(&b, "{'metadata':{'name':'large'},'spec':{'namespaceSelector':{},"
                    "'resourceGroups':[{'coveredResources':[");
    for (int i = 0; i < RESOURCES; i++)
        sl_buf_printf(&b, "%s'example.com/r%d'", i ? "," : "", i);
    sl_buf_puts(&b, "],'flavors':[{'name':'f','resources':[");
    for (int i = 0; i < RESOURCES; i++)
        sl_buf_printf(&b, "%s{'name':'example.com/r%d','nominalQuota':'100'}", i ? "," : "", i);
    sl_buf_puts(&b, "]}]}]}}");
    create(w, KUEUE "/clusterqueues", sl_buf_str(&b));
    sl_buf_done(&b);
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'large'},'spec':{'clusterQueue':'large'}}");
}

static void put_large_workload(struct world *w) {
    struct sl_buf b = SL_BUF(262144);
    sl_buf_puts(&b, "{'metadata':{'name':'wl'},'spec':{'active':true,'queueName':'large',"
                    "'podSets':[");
    for (int p = 0; p < PODSETS; p++) {
        sl_buf_printf(&b,
                      "%s{'name':'p%d','count':1,'template':{'spec':{'containers':[{'name':'c',"
                      "'resources':{'requests':{",
                      p ? "," : "", p);
        for (int i = 0; i < RESOURCES; i++)
            sl_buf_printf(&b, "%s'example.com/r%d':'1'", i ? "," : "", i);
        sl_buf_puts(&b, "}}}]}}}");
    }
    sl_buf_puts(&b, "]}}");
    create(w, WORKLOADS, sl_buf_str(&b));
    sl_buf_done(&b);
}

/* What is reserved of each resource, according to the status of the queue. */
static void check_reserved(struct world *w) {
    yyjson_val *flavor =
        yyjson_arr_get(at(w, KUEUE "/clusterqueues/large", "status.flavorsReservation"), 0);
    yyjson_val *list = yyjson_obj_get(flavor, "resources"), *r;
    size_t i, n, seen = 0;
    yyjson_arr_foreach (list, i, n, r) {
        assert_string_equal(sl_json_str(r, "total"), "18");
        seen++;
    }
    assert_int_equal(seen, RESOURCES);
}

static void test_usage_after_restart(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    put_large_queue(&w);
    put_large_workload(&w);
    run(&w, SETTLE);
    assert_true(is(&w, "wl", "Admitted"));
    check_reserved(&w);
    restart(&w, 1);
    run(&w, SETTLE);
    assert_true(is(&w, "wl", "Admitted"));
    check_reserved(&w);
    end(&w);
}

/* ---- a pod that requests more than is counted ---- */

/* 1,025 containers of one cpu each in a queue of 10 cpu. */
static void test_many_containers(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    sl_buf_puts(&b, "{'metadata':{'name':'many'},'spec':{'active':true,'queueName':'q','podSets':[{"
                    "'name':'main','count':1,'template':{'spec':{'containers':[");
    for (int i = 0; i < 1025; i++)
        sl_buf_printf(&b, "%s{'name':'c%d','resources':{'requests':{'cpu':'1'}}}", i ? "," : "", i);
    sl_buf_puts(&b, "]}}}]}}");
    create(&w, WORKLOADS, sl_buf_str(&b));
    run(&w, SETTLE);
    assert_false(is(&w, "many", "QuotaReserved"));
    yyjson_val *c = condition_of(&w, WORKLOADS "/many", "QuotaReserved");
    assert_non_null(
        strstr(sl_json_str(c, "message"), "more containers or resources than can be counted"));
    sl_buf_done(&b);
    end(&w);
}

/* ---- queues that the API server should not have let through ---- */

static const char *const half_queues[] = {
    "{'namespaceSelector':{},'resourceGroups':[{'flavors':[{'name':'f','resources':[]}]}]}",
    "{'namespaceSelector':{},'resourceGroups':[{'coveredResources':['cpu','memory'],'flavors':[{"
    "'name':'f','resources':[{'name':'cpu','nominalQuota':'10'}]}]}]}",
    "{'namespaceSelector':{},'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{'name':'f',"
    "'resources':[{'name':'cpu','nominalQuota':'10'},{'name':'memory','nominalQuota':'10'}]}]}]}",
    "{'namespaceSelector':{},'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{'name':'f',"
    "'resources':[{'name':'cpu','nominalQuota':[1]}]}]}]}",
    "{'namespaceSelector':{},'resourceGroups':[{'coveredResources':['cpu'],'flavors':[7]}]}",
    "{'namespaceSelector':{},'resourceGroups':[{'coveredResources':[['cpu']],'flavors':[{'name':"
    "'f'}]}]}",
    "{'namespaceSelector':{},'resourceGroups':[7]}",
};

static void test_half_queues(void **state) {
    struct world w;
    char text[1024], name[32];
    (void)state;
    begin(&w);
    for (size_t i = 0; i < SL_LEN(half_queues); i++) {
        (void)snprintf(text, sizeof text, "{'metadata':{'name':'half-%zu'},'spec':%s}", i,
                       half_queues[i]);
        create(&w, KUEUE "/clusterqueues", text);
        (void)snprintf(text, sizeof text,
                       "{'metadata':{'name':'half-%zu'},'spec':{'clusterQueue':'half-%zu'}}", i, i);
        create(&w, KUEUE "/namespaces/ns/localqueues", text);
        (void)snprintf(name, sizeof name, "half-%zu", i);
        make_pod(&w, name, (struct pod_text){.queue = name});
    }
    plain(&w, "good");
    run(&w, SETTLE);
    assert_false(gated(&w, "good"));
    for (size_t i = 0; i < SL_LEN(half_queues); i++) {
        (void)snprintf(name, sizeof name, "half-%zu", i);
        assert_true(gated(&w, name));
    }
    /* One that was good and is no longer gives nothing any more, as after a restart. */
    patch(&w, KUEUE "/clusterqueues/cq",
          "{'spec':{'resourceGroups':[{'coveredResources':['cpu','memory'],'flavors':[{'name':'f',"
          "'resources':[{'name':'cpu','nominalQuota':'10'}]}]}]}}");
    run(&w, SETTLE);
    plain(&w, "late");
    run(&w, SETTLE);
    assert_true(gated(&w, "late"));
    end(&w);
}

/* ---- a group whose Workload is larger than any request ---- */

static void make_large(struct world *w, const char *name, const char *group) {
    struct sl_buf b = SL_BUF((size_t)4 << 20);
    sl_buf_printf(&b,
                  "{'metadata':{'name':'%s','finalizers':['" MANAGED "'],'labels':{'" MANAGED
                  "':'true','" Q "queue-name':'q','" Q "pod-group-name':'%s'},'annotations':{'" Q
                  "pod-group-total-count':'6','" Q
                  "role-hash':'role-%s'}},'spec':{'schedulingGates':[{'name':'" Q
                  "admission'}],'containers':[{'name':'c','resources':{'requests':{'cpu':'%dm'}},"
                  "'args':['",
                  name, group, name, 100 + *name);
    for (int i = 0; i < 1400; i++)
        for (int k = 0; k < 10; k++)
            sl_buf_puts(&b, "0123456789012345678901234567890123456789012345678901234567890123456789"
                            "012345678901234567890123456789");
    sl_buf_puts(&b, "']}]}}");
    assert_false(sl_buf_full(&b));
    request(w, SL_POST, PODS, SL_JSON, sl_buf_str(&b));
    sl_buf_done(&b);
}

static void test_large_group(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    for (int i = 0; i < 6; i++)
        make_large(&w, (char[]){(char)('a' + i), '\0'}, "large");
    plain(&w, "small");
    run(&w, SETTLE);
    assert_false(gated(&w, "small"));
    assert_true(all_gated(&w, "abcdef"));
    assert_string_equal(workload_of(&w, "a"), "");
    assert_true(events(&w, (struct told){.reason = "RequestTooLarge", .kind = "Pod"}) > 0);
    restart(&w, 1);
    run(&w, SETTLE);
    plain(&w, "next");
    run(&w, SETTLE);
    assert_false(gated(&w, "next"));
    end(&w);
}

/* ---- lists that are too long ---- */

/* Many large Jobs, which nobody asked to be queued, and one that no answer has room for. */
static void test_large_lists(void **state) {
    struct world w;
    struct sl_manager_parts parts = {.core = true, .scheduler = true};
    (void)state;
    parts.framework[SL_FW_POD] = parts.framework[SL_FW_JOB] = true;
    begin_with(&w, 1, CONFIG, parts);
    fakeapi_set_ceiling(w.api, (size_t)256 << 10);
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    for (int i = 0; i < 30; i++) {
        sl_buf_clear(&b);
        sl_buf_printf(&b,
                      "{'metadata':{'name':'large-%d'},'spec':{'suspend':true,'template':{'spec':{"
                      "'containers':[{'name':'c','args':['",
                      i);
        for (int k = 0; k < (i == 7 ? 8000 : 2000); k++)
            sl_buf_puts(&b, "01234567890123456789012345678901234567890123456789");
        sl_buf_puts(&b, "']}]}}}}");
        request(&w, SL_POST, "/apis/batch/v1/namespaces/ns/jobs", SL_JSON, sl_buf_str(&b));
    }
    sl_buf_done(&b);
    plain(&w, "small");
    run(&w, SETTLE);
    assert_true(sl_manager_ready(w.m));
    assert_false(gated(&w, "small"));
    restart(&w, 1);
    plain(&w, "next");
    run(&w, SETTLE);
    assert_true(sl_manager_ready(w.m));
    assert_false(gated(&w, "next"));
    end(&w);
}

/* ---- texts of strangers ---- */

static size_t in_use(void) {
    struct mallinfo2 x = mallinfo2();
    return x.uordblks + x.hblkhd;
}

/* A text of so many letters; the serial makes it a new one. */
static const char *long_text(int serial, size_t n) {
    static char text[300001];
    memset(text, 'a' + serial % 26, n);
    text[n] = '\0';
    (void)snprintf(text, 16, "%08d", serial);
    text[8] = 'x';
    return text;
}

/* Strings of a pod that is gone, or of a request by an unknown caller, are not retained. */
static void test_long_texts(void **state) {
    struct world w;
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    (void)state;
    begin(&w);
    member(&w, "a", "g", 2);
    run(&w, SETTLE);
    fakeapi_compact(w.api);
    size_t before = in_use();
    for (int i = 0; i < 100; i++) {
        sl_buf_clear(&b);
        sl_buf_printf(&b,
                      "{'metadata':{'annotations':{'" Q "role-hash':'%s'},'finalizers':['" MANAGED
                      "','%s']}}",
                      long_text(i, 100000), "example.com/f");
        patch(&w, pod_path("a", ""), sl_buf_str(&b));
        run(&w, SL_SEC);
        (void)sl_manager_view(w.m)->ns_managed(sl_manager_view(w.m)->ctx, long_text(i, 300000));
    }
    patch(&w, pod_path("a", ""), "{'metadata':{'annotations':{'" Q "role-hash':'r'}}}");
    run(&w, SETTLE);
    fakeapi_compact(w.api);
    if (in_use() > before + ((size_t)4 << 20))
        fail_msg("%zu bytes are kept", in_use() - before);
    sl_buf_done(&b);
    end(&w);
}

/* Foreign finalizers are written back whole, however many there are. */
static void test_many_finalizers(void **state) {
    struct world w;
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    size_t i, n, kept = 0;
    yyjson_val *v;
    (void)state;
    begin(&w);
    sl_buf_puts(&b, "{'metadata':{'name':'many','finalizers':[");
    for (int k = 0; k < 2000; k++)
        sl_buf_printf(&b, "%s'example.com/finalizer-number-%d-of-very-many'", k ? "," : "", k);
    sl_buf_puts(&b, "]},'spec':{'namespaceSelector':{}}}");
    create(&w, KUEUE "/clusterqueues", sl_buf_str(&b));
    run(&w, SETTLE);
    bool ours = false;
    yyjson_arr_foreach (at(&w, KUEUE "/clusterqueues/many", "metadata.finalizers"), i, n, v) {
        kept += yyjson_is_str(v);
        ours |= yyjson_equals_str(v, Q "resource-in-use");
    }
    assert_true(ours);
    assert_int_equal(kept, 2001);
    sl_buf_done(&b);
    end(&w);
}

/* ---- conditions and checks of a status ---- */

/* It has finished; that stands behind more conditions of others than anybody writes. */
static void test_many_conditions(void **state) {
    struct world w;
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    size_t seen = 0;
    (void)state;
    begin(&w);
    create(&w, WORKLOADS,
           "{'metadata':{'name':'done'},'spec':{'active':false,'queueName':'q','podSets':[{"
           "'name':'main','count':1,'template':{'spec':{'containers':[{'name':'c','resources':{"
           "'requests':{'cpu':'1'}}}]}}}]}}");
    run(&w, SETTLE);
    sl_buf_puts(&b, "{'status':{'conditions':[");
    for (int i = 0; i < 100; i++)
        sl_buf_printf(&b,
                      "{'type':'example.com/c%d','status':'True','reason':'r','message':'m',"
                      "'lastTransitionTime':'2026-01-01T00:00:00Z'},",
                      i);
    sl_buf_puts(&b, "{'type':'Finished','status':'True','reason':'Succeeded','message':'m',"
                    "'lastTransitionTime':'2026-01-01T00:00:00Z'}]}}");
    patch(&w, WORKLOADS "/done/status", sl_buf_str(&b));
    patch(&w, WORKLOADS "/done", "{'spec':{'active':true}}");
    run(&w, SETTLE);
    restart(&w, 1);
    run(&w, SETTLE);
    assert_false(is(&w, "done", "QuotaReserved"));
    for (int i = 0; i < 100; i++) {
        char type[64];
        (void)snprintf(type, sizeof type, "example.com/c%d", i);
        seen += is(&w, "done", type);
    }
    assert_int_equal(seen, 100);
    sl_buf_done(&b);
    end(&w);
}

/* What others counted is written back whole with what is counted anew. */
static void test_many_evictions(void **state) {
    struct world w;
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    (void)state;
    begin(&w);
    create(&w, WORKLOADS,
           "{'metadata':{'name':'wl'},'spec':{'active':true,'queueName':'q','podSets':[{"
           "'name':'main','count':1,'template':{'spec':{'containers':[{'name':'c','resources':{"
           "'requests':{'cpu':'1'}}}]}}}]}}");
    run(&w, SETTLE);
    sl_buf_puts(&b, "{'status':{'schedulingStats':{'evictions':[");
    for (int i = 0; i < 100; i++)
        sl_buf_printf(&b, "%s{'reason':'r%d','underlyingCause':'','count':1}", i ? "," : "", i);
    sl_buf_puts(&b, "]}}}");
    patch(&w, WORKLOADS "/wl/status", sl_buf_str(&b));
    run(&w, SETTLE);
    patch(&w, WORKLOADS "/wl", "{'spec':{'active':false}}");
    run(&w, SETTLE);
    assert_true(is(&w, "wl", "Evicted"));
    assert_int_equal(yyjson_arr_size(at(&w, WORKLOADS "/wl", "status.schedulingStats.evictions")),
                     101);
    sl_buf_done(&b);
    end(&w);
}

/* The one that counts stands behind more assignments than a Workload has podsets. */
static void test_many_assignments(void **state) {
    struct world w;
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    (void)state;
    begin(&w);
    create(&w, WORKLOADS,
           "{'metadata':{'name':'wl'},'spec':{'active':true,'queueName':'q','podSets':[{"
           "'name':'main','count':1,'template':{'spec':{'containers':[{'name':'c','resources':{"
           "'requests':{'cpu':'1'}}}]}}}]}}");
    run(&w, SETTLE);
    assert_true(is(&w, "wl", "Admitted"));
    sl_buf_puts(&b, "{'status':{'admission':{'clusterQueue':'cq','podSetAssignments':[");
    for (int i = 0; i < 30; i++)
        sl_buf_printf(&b, "{'name':'p%d','count':1},", i);
    sl_buf_puts(&b, "{'name':'main','count':1,'flavors':{'cpu':'f'},'resourceUsage':{'cpu':'1'}}"
                    "]}}}");
    patch(&w, WORKLOADS "/wl/status", sl_buf_str(&b));
    run(&w, SETTLE);
    restart(&w, 1);
    run(&w, SETTLE);
    yyjson_val *flavor =
        yyjson_arr_get(at(&w, KUEUE "/clusterqueues/cq", "status.flavorsReservation"), 0);
    assert_string_equal(
        sl_json_str(yyjson_arr_get_first(yyjson_obj_get(flavor, "resources")), "total"), "1");
    sl_buf_done(&b);
    end(&w);
}

/* ---- messages of others that are passed on ---- */

#define LETTERS40 "abcdefghijabcdefghijabcdefghijabcdefghij"

/* A pod with many other gates, a check with a long message, and a long reason. */
static void test_long_words(void **state) {
    struct world w;
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    (void)state;
    begin(&w);
    sl_buf_puts(&b, "{'metadata':{'name':'held','finalizers':['" MANAGED "'],'labels':{'" MANAGED
                    "':'true','" Q "queue-name':'q'}},'spec':{'schedulingGates':[{'name':'" Q
                    "admission'}");
    for (int i = 0; i < 40; i++)
        sl_buf_printf(&b, ",{'name':'example.com/" LETTERS40 "%d'}", i);
    sl_buf_puts(&b, "],'containers':[{'name':'c','resources':{'requests':{'cpu':'1'}}}]}}");
    create(&w, PODS, sl_buf_str(&b));
    run(&w, SETTLE);
    assert_true(is(&w, workload_of(&w, "held"), "Admitted"));
    assert_true(events(&w, (struct told){.reason = "Started", .kind = "Pod", .name = "held"}) > 0);

    create(&w, KUEUE "/admissionchecks",
           "{'metadata':{'name':'ac'},'spec':{'controllerName':'example.com/c'}}");
    patch(&w, KUEUE "/admissionchecks/ac/status",
          "{'status':{'conditions':[{'type':'Active','status':'True','reason':'r','message':'m',"
          "'lastTransitionTime':'2026-01-01T00:00:00Z'}]}}");
    patch(&w, KUEUE "/clusterqueues/cq",
          "{'spec':{'admissionChecksStrategy':{'admissionChecks':[{'name':'ac'}]}}}");
    run(&w, SETTLE);
    plain(&w, "checked");
    run(&w, SETTLE);
    sl_buf_clear(&b);
    sl_buf_puts(&b, "{'status':{'admissionChecks':[{'name':'ac','state':'Pending',"
                    "'lastTransitionTime':'2026-01-01T00:00:00Z','message':'");
    for (int i = 0; i < 200; i++)
        sl_buf_puts(&b, LETTERS40);
    sl_buf_puts(&b, "'}]}}");
    char path[400];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s/status", workload_of(&w, "checked"));
    patch(&w, path, sl_buf_str(&b));
    run(&w, SETTLE);
    assert_true(events(&w, (struct told){.reason = "UpdatedAdmissionCheck", .kind = "Pod"}) > 0);
    assert_true(gated(&w, "checked"));
    sl_buf_done(&b);
    end(&w);
}

/* A reason is contained whole in another. */
static void test_long_reason(void **state) {
    struct world w;
    struct sl_buf b = SL_BUF(65536);
    char path[400];
    (void)state;
    begin(&w);
    plain(&w, "a");
    run(&w, SETTLE);
    set_pod(&w, "a", "n1", "Running");
    run(&w, SETTLE);
    (void)snprintf(path, sizeof path, WORKLOADS "/%s/status", workload_of(&w, "a"));
    sl_buf_puts(&b, "{'status':{'conditions':[{'type':'QuotaReserved','status':'True','reason':"
                    "'QuotaReserved','message':'m','lastTransitionTime':'2026-01-01T00:00:00Z'},{"
                    "'type':'Admitted','status':'True','reason':'Admitted','message':'m',"
                    "'lastTransitionTime':'2026-01-01T00:00:00Z'},{'type':'Evicted','status':"
                    "'True','message':'m','lastTransitionTime':'2026-01-01T00:00:00Z','reason':'");
    for (int i = 0; i < 25; i++)
        sl_buf_puts(&b, LETTERS40);
    sl_buf_puts(&b, "'}]}}");
    patch(&w, path, sl_buf_str(&b));
    run(&w, SETTLE);
    yyjson_val *c = condition_of(&w, pod_path("a", ""), "TerminationTarget");
    if (c) /* unless it is gone */
        assert_int_equal(strlen(sl_json_str(c, "reason")), strlen("WorkloadEvictedDueTo") + 1000);
    sl_buf_done(&b);
    end(&w);
}

/* ---- names while a record is always in the work queue ---- */

static void put_names(struct sl_manager *m, int from, int n) {
    char name[64];
    for (int i = from; i < from + n; i++) {
        (void)snprintf(name, sizeof name, "name-%d", i);
        (void)sl_sym_put(m->syms, name);
    }
}

static void test_names_of_the_restless(void **state) {
    struct world w;
    struct sl_engine_wl_view v;
    (void)state;
    begin(&w);
    create(&w, WORKLOADS,
           "{'metadata':{'name':'wl'},'spec':{'active':true,'queueName':'nowhere','podSets':[{"
           "'name':'main','count':1,'template':{'spec':{'containers':[{'name':'c','resources':{"
           "'requests':{'cpu':'1'}}}]}}}]}}");
    run(&w, SETTLE);
    struct mgr_rec_wl *wl = mgr_wl_of(sl_inf_find(w.m->inf, REC_WORKLOAD, "ns", "wl"));
    sl_sym before = wl->queue;
    assert_true(sl_engine_workload(sl_manager_engine(w.m), wl->id, &v));
    assert_string_equal(v.queue, "nowhere");

    /* It is always enqueued; meanwhile names come and go. */
    wl->queue = sl_sym_put(w.m->syms, "between");
    for (int i = 0; i < 100; i++) {
        sl_rec_enqueue(&wl->rec);
        put_names(w.m, 1000 * i, 1000);
        mgr_sweep_symbols(w.m);
        assert_true(w.m->syms->n < 20000);
    }
    assert_string_equal(sl_sym_str(w.m->syms, wl->queue), "between");

    /* Then its queue has a name that got the number of the first: that is another queue. */
    if (!SL_SYMS_STRICT) {
        assert_null(w.m->syms->names.v[before]);
        for (int i = 0; !w.m->syms->names.v[before]; i++)
            put_names(w.m, 1000000 + i, 1);
        wl->queue = before;
    }
    char *last = sl_strdup(sl_sym_str(w.m->syms, wl->queue));
    sl_manager_tick(w.m);
    assert_true(sl_engine_workload(sl_manager_engine(w.m), wl->id, &v));
    assert_string_equal(v.queue, last);
    sl_freep(&last);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_containers),
        cmocka_unit_test(test_half_queues),
        cmocka_unit_test(test_large_group),
        cmocka_unit_test(test_large_lists),
        cmocka_unit_test(test_usage_after_restart),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_many_finalizers),
        cmocka_unit_test(test_many_conditions),
        cmocka_unit_test(test_many_evictions),
        cmocka_unit_test(test_many_assignments),
        cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_long_reason),
        cmocka_unit_test(test_names_of_the_restless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
