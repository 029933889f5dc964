/* SPDX-License-Identifier: Apache-2.0 */
/* Pods over the in-memory API: those that wait for an elastic Workload's grant, and what is kept of
 * them all. The test plays users, Job controller and kubelet. */
#include "core/base/prng.h"
#include "flow_fixture.h"
#include "manager/controllers/pod/pods.h"

#define PODS "/api/v1/namespaces/ns/pods"
#define QUOTA 10

/* ---- acting ---- */

static void begin_parts(struct world *w, uint64_t seed, const char *config,
                        struct sl_manager_parts parts) {
    open_world(w, seed, config, parts);
    create(w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    create(w, KUEUE "/resourceflavors", "{'metadata':{'name':'f'},'spec':{}}");
    create(w, KUEUE "/clusterqueues",
           "{'metadata':{'name':'cq'},'spec':{'namespaceSelector':{},'resourceGroups':[{"
           "'coveredResources':['cpu'],'flavors':[{'name':'f','resources':[{'name':'cpu',"
           "'nominalQuota':'10'}]}]}]}}");
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q'},'spec':{'clusterQueue':'cq'}}");
}

static void begin(struct world *w) {
    begin_parts(w, 1, CONFIG,
                (struct sl_manager_parts){.core = true, .scheduler = true, .elasticjobs = true});
}

/* A podset of this many pods; 'more': further ones. */
static void put_podsets(struct sl_buf *b, int count, const char *more) {
    sl_buf_printf(b,
                  "'podSets':[{'name':'main','count':%d,'template':{'spec':{'containers':[{"
                  "'name':'c','resources':{'requests':{'cpu':'1'}}}]}}}%s]",
                  count, more);
}

/* A slice of the chain "one"; of: the one that it replaces, "". */
static void slice(struct world *w, const char *name, const char *of, int count, const char *more) {
    struct sl_buf b;
    sl_buf_init(&b, 8192);
    sl_buf_printf(&b,
                  "{'metadata':{'name':'%s','ownerReferences':[{'apiVersion':'x/v1','kind':'X',"
                  "'name':'x','uid':'u'}],'annotations':{'" Q "elastic-job':'true','" Q
                  "workload-slice-name':'one'",
                  name);
    if (*of)
        sl_buf_printf(&b, ",'" Q "workload-slice-replacement-for':'ns/%s'", of);
    sl_buf_puts(&b, "}},'spec':{'active':true,'queueName':'q',");
    put_podsets(&b, count, more);
    sl_buf_puts(&b, "}}");
    create(w, WORKLOADS, sl_buf_str(&b));
    sl_buf_done(&b);
}

static void resize(struct world *w, const char *path, int count) {
    struct sl_buf b;
    sl_buf_init(&b, 8192);
    sl_buf_puts(&b, "{'spec':{");
    put_podsets(&b, count, "");
    sl_buf_puts(&b, "}}");
    patch(w, path, sl_buf_str(&b));
    sl_buf_done(&b);
}

/* Gated, and made for the first slice whatever slice there is now, as a running Job makes them. */
static void pod_of_set(struct world *w, const char *name, const char *podset, const char *gates) {
    struct sl_buf b;
    sl_buf_init(&b, 8192);
    sl_buf_printf(&b,
                  "{'metadata':{'name':'%s','labels':{'" Q "podset':'%s'},'annotations':{'" Q
                  "workload':'one','" Q "workload-slice-name':'one'}},'spec':{'schedulingGates':["
                  "{'name':'" Q "elastic-job'}%s],'containers':[{'name':'c'}]}}",
                  name, podset, gates);
    create(w, PODS, sl_buf_str(&b));
    sl_buf_done(&b);
}

static void pod(struct world *w, const char *name) {
    pod_of_set(w, name, "main", "");
}

static void set_phase(struct world *w, const char *name, const char *phase) {
    char path[128], body[128];
    (void)snprintf(path, sizeof path, PODS "/%s/status", name);
    (void)snprintf(body, sizeof body, "{'status':{'phase':'%s'}}", phase);
    patch(w, path, body);
}

/* ---- looking ---- */

static bool has_gate(yyjson_val *o, const char *gate) {
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach (sl_json_at(o, "spec.schedulingGates"), i, n, v)
        if (strcmp(sl_json_str(v, "name"), gate) == 0)
            return true;
    return false;
}

static void put_free(void *ctx, yyjson_val *o) {
    struct sl_buf *b = ctx;
    if (!has_gate(o, Q "elastic-job"))
        sl_buf_printf(b, "%s%s", b->len ? " " : "", sl_json_str(o, "metadata.name"));
}

/* These, by name, have lost the gate, and no others. */
static void are_free(struct world *w, const char *names) {
    struct sl_buf b;
    sl_buf_init(&b, 8192);
    (void)fakeapi_each(w->api, PODS, put_free, &b);
    assert_string_equal(sl_buf_str(&b), names);
    sl_buf_done(&b);
}

/* ---- grants ---- */

static void test_no_more_than_granted(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    pod(&w, "c"); /* the oldest, though its name comes last */
    run(&w, SETTLE);
    pod(&w, "b");
    pod(&w, "a");
    run(&w, SETTLE);
    are_free(&w, "");
    slice(&w, "one", "", 2, "");
    run(&w, SETTLE);
    are_free(&w, "a c");
    assert_null(at(&w, PODS "/a", "spec.schedulingGates"));

    set_phase(&w, "c", "Running");
    run(&w, SETTLE);
    are_free(&w, "a c");
    set_phase(&w, "c", "Succeeded");
    run(&w, SETTLE);
    are_free(&w, "a b c");
    pod(&w, "d");
    run(&w, SETTLE);
    are_free(&w, "a b c");
    patch(&w, PODS "/a", "{'spec':{'nodeName':'n'}}");
    request(&w, SL_DELETE, PODS "/a", SL_JSON, "{}"); /* its node has not let it go yet */
    run(&w, SETTLE);
    assert_non_null(at(&w, PODS "/a", "metadata.deletionTimestamp"));
    are_free(&w, "a b c");
    set_phase(&w, "a", "Failed");
    run(&w, SETTLE);
    are_free(&w, "a b c d");
    end(&w);
}

static void test_podsets_apart(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    slice(&w, "one", "", 1,
          ",{'name':'head','count':2,'template':{'spec':{'containers':[{'name':'c'}]}}}");
    const char *const names[] = {"h0", "h1", "h2", "m0", "m1", "x0"};
    for (size_t i = 0; i < SL_LEN(names); i++)
        pod_of_set(&w, names[i],
                   names[i][0] == 'h'   ? "head"
                   : names[i][0] == 'm' ? "main"
                                        : "unknown",
                   "");
    run(&w, SETTLE);
    are_free(&w, "h0 h1 m0");
    end(&w);
}

static void test_up_and_down(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    slice(&w, "one", "", 1, "");
    pod(&w, "a");
    run(&w, SETTLE);
    are_free(&w, "a");
    pod(&w, "b"); /* before its slice */
    run(&w, SETTLE);
    are_free(&w, "a");
    slice(&w, "two", "one", 3, "");
    run(&w, SETTLE);
    assert_string_equal(sl_json_str(condition_of(&w, WORKLOADS "/one", "Finished"), "status"),
                        "True");
    are_free(&w, "a b");
    pod(&w, "c"); /* after it, with the name of the finished one */
    pod(&w, "d");
    run(&w, SETTLE);
    are_free(&w, "a b c");
    request(&w, SL_DELETE, WORKLOADS "/one", SL_JSON, "{}"); /* whose name the chain has */
    resize(&w, WORKLOADS "/two", 2); /* what it was granted stays as it was */
    run(&w, SETTLE);
    set_phase(&w, "a", "Failed");
    run(&w, SETTLE);
    are_free(&w, "a b c");
    set_phase(&w, "b", "Failed");
    run(&w, SETTLE);
    are_free(&w, "a b c d");

    restart(&w, 1);
    pod(&w, "e");
    run(&w, SETTLE);
    are_free(&w, "a b c d");
    set_phase(&w, "c", "Succeeded");
    run(&w, SETTLE);
    are_free(&w, "a b c d e");
    end(&w);
}

/* A workload that is not admitted, or not any more, has no grant. */
static void test_no_grant(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    slice(&w, "one", "", QUOTA + 1, "");
    pod(&w, "a");
    run(&w, SETTLE);
    are_free(&w, "");
    resize(&w, WORKLOADS "/one", 2);
    run(&w, SETTLE);
    are_free(&w, "a");
    patch(&w, WORKLOADS "/one", "{'spec':{'active':false}}");
    run(&w, SETTLE);
    pod(&w, "b");
    run(&w, SETTLE);
    are_free(&w, "a");
    end(&w);
}

static void test_switched_off(void **state) {
    (void)state;
    static const struct {
        const char *config;
        bool part;
    } cases[] = {{CONFIG, false},
                 {CONFIG "featureGates: {ElasticJobsViaWorkloadSlices: false}\n", true}};
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct world w;
        begin_parts(
            &w, 1, cases[i].config,
            (struct sl_manager_parts){
                .core = true, .scheduler = true, .elasticjobs = cases[i].part, .tas = true});
        slice(&w, "one", "", 2, "");
        pod(&w, "a");
        run(&w, SETTLE);
        assert_string_equal(sl_json_str(condition_of(&w, WORKLOADS "/one", "Admitted"), "status"),
                            "True");
        are_free(&w, "");
        end(&w);
    }
}

static void test_gates_of_others(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    pod_of_set(&w, "a", "main", ",{'name':'example.com/hold'},{'name':'" Q "topology'}");
    run(&w, SETTLE);
    slice(&w, "one", "", 1, "");
    /* Another gate was removed while the watch was down. */
    fakeapi_partition(w.api, 0, fakeapi_now(w.api) + SL_SEC);
    patch(&w, PODS "/a",
          "{'spec':{'schedulingGates':[{'name':'" Q "elastic-job'},{'name':'example.com/hold'}]}}");
    run(&w, SETTLE);
    yyjson_val *gates = at(&w, PODS "/a", "spec.schedulingGates");
    assert_int_equal(yyjson_arr_size(gates), 1);
    assert_string_equal(sl_json_str(yyjson_arr_get_first(gates), "name"), "example.com/hold");
    pod(&w, "b"); /* the other one is not held by us */
    run(&w, SETTLE);
    are_free(&w, "a");
    end(&w);
}

static void test_counted(void **state) {
    (void)state;
    struct world w;
    struct sl_buf b;
    begin(&w);
    sl_buf_init(&b, 1u << 20);
    slice(&w, "one", "", 2, "");
    pod(&w, "a");
    pod(&w, "b");
    run(&w, SETTLE);
    sl_metrics_print(w.metrics, &b);
    assert_non_null(strstr(sl_buf_str(&b),
                           "\nkueue_pod_scheduling_gate_removal_seconds_count{name=\"" Q
                           "elastic-job\",cluster_queue=\"cq\",is_group=\"false\"} 2\n"));
    sl_buf_done(&b);
    end(&w);
}

/* ---- whatever the network does ---- */

struct watch {
    uint64_t seed;
    int granted; /* the most that any slice requested so far */
    int free;    /* pods without the gate that have not ended */
};

static bool is_free(yyjson_val *o) {
    const char *phase = sl_json_str(o, "status.phase");
    return o && !has_gate(o, Q "elastic-job") && strcmp(phase, "Succeeded") != 0 &&
           strcmp(phase, "Failed") != 0;
}

static void count_free(void *ctx, const struct fakeapi_change *c) {
    struct watch *x = ctx;
    if (strcmp(c->kind->plural, "pods") != 0)
        return;
    x->free += is_free(c->now) - is_free(c->before);
    if (x->free > x->granted)
        fail_msg("seed %llu: %d pods are free, %d were granted", (unsigned long long)x->seed,
                 x->free, x->granted);
}

static void note_free(void *ctx, yyjson_val *o) {
    if (is_free(o))
        (void)snprintf(ctx, 16, "%s", sl_json_str(o, "metadata.name"));
}

static void test_bad_weather(void **state) {
    (void)state;
    const char *seeds = getenv("SL_SEEDS");
    uint64_t n = seeds ? strtoull(seeds, NULL, 10) / 50 + 1 : 100;
    for (uint64_t seed = 1; seed <= n; seed++) {
        struct world w;
        struct sl_prng p;
        struct fakeapi_faults faults;
        struct watch x = {.seed = seed, .granted = 3};
        char name[16];
        int made = 0, ended = 0;
        /* Clocks jump by an hour at times: waitForPodsReady is off here. */
        begin_parts(
            &w, seed, CONFIG "featureGates: {DisableWaitForPodsReady: true}\n",
            (struct sl_manager_parts){.core = true, .scheduler = true, .elasticjobs = true});
        sl_prng_init(&p, seed);
        fakeapi_some_faults(&p, 4, &faults);
        fakeapi_set_faults(w.api, &faults);
        fakeapi_on_change(w.api, count_free, &x);
        slice(&w, "one", "", x.granted, "");
        for (int step = 0; step < 40; step++) {
            if (step == 20) {
                x.granted = 6;
                slice(&w, "two", "one", x.granted, "");
            }
            if (sl_prng_range(&p, 0, 1)) { /* of those of one second the first may come late */
                (void)snprintf(name, sizeof name, "%c%02d", (int)sl_prng_range(&p, 'a', 'z'),
                               made++);
                pod(&w, name);
            } else if (x.free > 0) {
                (void)fakeapi_each(w.api, PODS, note_free, name);
                set_phase(&w, name, "Succeeded");
                ended++;
            }
            run(&w, sl_prng_range(&p, 0, 3) ? 20 * SL_MSEC : 5 * SL_SEC);
        }
        fakeapi_set_faults(w.api, NULL);
        run(&w, 10 * SL_MINUTE);
        int left = made - ended;
        assert_int_equal(x.free, left < x.granted ? left : x.granted);
        end(&w);
    }
}

/* ---- what is kept ---- */

#define ON_NODE(name, requests)                                                                    \
    "{'metadata':{'name':'" name "'},'spec':{'nodeName':'n','initContainers':[{'name':'i',"        \
    "'resources':{'requests':{'memory':'2Gi'}}}],'containers':[{'name':'c','resources':{"          \
    "'requests':{" requests "}}},{'name':'d','resources':{'limits':{'cpu':'500m'}}}]}}"

static struct mgr_rec_pod *kept(struct world *w, const char *name) {
    struct sl_rec *r = sl_inf_find(w->m->inf, REC_POD, "ns", name);
    return r ? mgr_pod_of(r) : NULL;
}

static void test_what_is_kept(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    pod(&w, "gated");
    create(&w, PODS, ON_NODE("a", "'cpu':'1','memory':'1Gi'"));
    create(&w, PODS, ON_NODE("b", "'cpu':'1','memory':'1Gi'"));
    create(&w, PODS, ON_NODE("c", "'cpu':'3'"));
    create(&w, PODS, "{'metadata':{'name':'nowhere'},'spec':{}}");
    run(&w, SETTLE);
    assert_non_null(kept(&w, "gated"));
    assert_int_equal(w.m->inf->tables[REC_POD].n, 1);

    mgr_pods_watch_nodes(w.m);
    run(&w, SETTLE);
    assert_int_equal(w.m->inf->tables[REC_POD].n, 4);
    struct mgr_rec_pod *a = kept(&w, "a"), *b = kept(&w, "b"), *c = kept(&w, "c");
    assert_string_equal(sl_sym_str(w.m->syms, a->node), "n");
    assert_ptr_equal(a->shape, b->shape);
    assert_ptr_not_equal(a->shape, c->shape);
    assert_null(kept(&w, "gated")->shape);
    assert_int_equal(a->shape->n, 2);
    assert_string_equal(a->shape->v[0].resource, "cpu");
    assert_true(a->shape->v[0].q == (sl_quantity)1500 * SL_NANO / 1000);
    assert_string_equal(a->shape->v[1].resource, "memory");
    assert_true(a->shape->v[1].q == ((sl_quantity)2 << 30) * SL_NANO);

    set_phase(&w, "a", "Succeeded");
    set_phase(&w, "gated", "Failed");
    request(&w, SL_DELETE, PODS "/c?gracePeriodSeconds=0", SL_JSON, "{}");
    run(&w, SETTLE);
    assert_int_equal(w.m->inf->tables[REC_POD].n, 1);
    assert_int_equal(kept(&w, "b")->shape->refs, 1);
    assert_int_equal(w.m->pods->by_name.n, 0);
    end(&w);
}

/* Whatever stands in a pod, it is taken for what can be understood of it. */
static void test_odd_pods(void **state) {
    (void)state;
    static const char *const specs[] = {
        "{}",
        "null",
        "[]",
        "{'schedulingGates':5,'nodeName':{},'containers':'x'}",
        "{'schedulingGates':[5,null,{},{'name':7}],'nodeName':'n','containers':[1,{'resources':2}]"
        "}",
        "{'nodeName':'n','nodeSelector':['x'],'overhead':[],'resources':{'requests':'x'},"
        "'containers':[{'restartPolicy':{},'resources':{'requests':{'cpu':'much'},'limits':[]}}]}",
    };
    struct world w;
    char body[1024];
    begin(&w);
    mgr_pods_watch_nodes(w.m);
    for (size_t i = 0; i < SL_LEN(specs); i++) {
        (void)snprintf(body, sizeof body,
                       "{'metadata':{'name':'p%zu','labels':{'" Q "podset':3},'annotations':{'" Q
                       "workload':'one','" Q "workload-slice-name':[]}},'spec':%s}",
                       i, specs[i]);
        create(&w, PODS, body);
    }
    slice(&w, "one", "", 2, "");
    run(&w, SETTLE);
    assert_int_equal(w.m->inf->tables[REC_POD].n, SL_LEN(specs));
    assert_int_equal(kept(&w, "p5")->shape->n, 0);
    pod(&w, "good");
    run(&w, SETTLE);
    assert_false(has_gate(fakeapi_get(w.api, PODS "/good"), Q "elastic-job"));
    end(&w);
}

/* A pod that ends while its release is on its way leaves nothing behind. */
static void test_gone_in_flight(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    slice(&w, "one", "", 1, "");
    run(&w, SETTLE);
    uint32_t before = w.m->inf->recs.n - w.m->inf->free_ids.n;
    pod(&w, "a");
    while (!kept(&w, "a") || !mgr_pod_sent(kept(&w, "a"), POD_GATE_ELASTIC))
        run(&w, SL_MSEC / 10);
    set_phase(&w, "a", "Failed");
    run(&w, SETTLE);
    assert_null(kept(&w, "a"));
    assert_int_equal(w.m->inf->recs.n - w.m->inf->free_ids.n, before);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_more_than_granted),
        cmocka_unit_test(test_podsets_apart),
        cmocka_unit_test(test_up_and_down),
        cmocka_unit_test(test_no_grant),
        cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_gates_of_others),
        cmocka_unit_test(test_counted),
        cmocka_unit_test(test_bad_weather),
        cmocka_unit_test(test_what_is_kept),
        cmocka_unit_test(test_odd_pods),
        cmocka_unit_test(test_gone_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
