/* SPDX-License-Identifier: Apache-2.0 */
/* The time of the runtime is bounded by the size of the pods that it runs, and of what these name:
 * see grown.h. Containers are real processes; their time does not count. */
#include "../cluster/kubelet/kubelet_fixture.h"
#include "grown.h"

#define SHORTLY (300 * SL_MSEC)

#define CONTAINER                                                                                  \
    "{'name':'c','image':'i','command':['true'],'env':[{'name':'a','value':'b'}],'volumeMounts':[" \
    "{'name':'v','mountPath':'/mnt'}]}"

static const struct grown_kind kinds[] = {
    {"", "v1", "pods",
     "{'metadata':{'labels':{'a':'b'},'annotations':{'a':'b'}},'spec':{'nodeName':'machine',"
     "'restartPolicy':'Never','containers':[" CONTAINER "],'volumes':[{'name':'v','emptyDir':{}}]}"
     "}",
     NULL},
    {"", "v1", "configmaps", "{'data':{'a':'b'}}", "config"},
    {"", "v1", "secrets", "{'data':{'a':'Yg=='}}", "secret"},
    {"", "v1", "nodes", "{'metadata':{'labels':{'a':'b'}}}", "guest"},
};

struct runtime {
    struct grown_world w;
    struct world fx;
};

static void one_turn(struct runtime *x) {
    meter_enter(&x->w.meter);
    (void)uv_run(&x->fx.loop, UV_RUN_ONCE);
    meter_leave(&x->w.meter);
    fakeapi_advance(x->w.api, real_now() - x->fx.began);
    meter_enter(&x->w.meter);
    sl_kubelet_tick(x->fx.rt);
    meter_leave(&x->w.meter);
}

/* Nothing more comes of a pod that has ended, or cannot be started. */
static void check_pod(void *ctx, yyjson_val *pod) {
    const char *phase = sl_json_str(pod, "status.phase");
    yyjson_val *first = yyjson_arr_get_first(sl_json_at(pod, "status.containerStatuses"));
    const char *why = sl_json_str(first, "state.waiting.reason");

    if (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0 &&
        (!*why || strcmp(why, "ContainerCreating") == 0))
        *(bool *)ctx = true;
}

static void run(struct grown_world *w) {
    struct runtime *x = w->ctx;
    sl_time until = real_now() + SHORTLY;

    for (bool busy = true; busy && real_now() < until;) {
        for (int i = 0; i < 4; i++)
            one_turn(x);
        busy = false;
        (void)fakeapi_each(w->api, PODS, check_pod, &busy);
    }
}

/* A pod that uses the ConfigMap and the Secret in each way. */
static void probe(struct grown_world *w, bool make) {
    static uint32_t n;
    char path[200], text[2000];

    n += make;
    (void)snprintf(
        text, sizeof text,
        "{'metadata':{'name':'probe%u'},'spec':{'nodeName':'machine','restartPolicy':'Never',"
        "'containers':[{'name':'c','image':'i','command':['true'],'env':[{'name':'x','valueFrom':{"
        "'configMapKeyRef':{'name':'config','key':'a'}}}],'envFrom':[{'configMapRef':{'name':"
        "'config'}},{'secretRef':{'name':'secret'}}]},{'name':'d','image':'i','command':['true'],"
        "'volumeMounts':[{'name':'v','mountPath':'/mnt'}]}],'volumes':[{'name':'v','configMap':{"
        "'name':'config','items':[{'key':'a','path':'a'}]}}]}}",
        n);
    (void)snprintf(path, sizeof path, PODS "/probe%u?gracePeriodSeconds=0", n);
    if (make)
        assert_int_equal(grown_do(w, SL_POST, PODS, text), 201);
    else
        (void)grown_do(w, SL_DELETE, path, NULL);
    run(w);
}

static void open_runtime(struct runtime *x) {
    struct world *fx = &x->fx;

    *x = (struct runtime){
        .w = {.ns = "default", .most = 1024, .any_us = 300000, .run = run, .probe = probe},
        .fx = {.dir = "/tmp/sluice-test-XXXXXX"}};
    if (access("/dev/shm", W_OK | X_OK) == 0) /* what a disk takes is not ours */
        (void)snprintf(fx->dir, sizeof fx->dir, "/dev/shm/sluice-test-XXXXXX");
    x->w.ctx = x;
    x->w.api = fx->api = fakeapi_new(1);
    meter_init(&x->w.meter, fakeapi_port(fx->api, 0));
    assert_non_null(mkdtemp(fx->dir));
    assert_int_equal(chmod(fx->dir, 0755), 0);
    (void)snprintf(fx->marker, sizeof fx->marker, "77%d", (int)getpid());

    assert_int_equal(uv_loop_init(&fx->loop), 0);
    assert_int_equal(uv_timer_init(&fx->loop, &fx->timer), 0);
    assert_int_equal(uv_timer_start(&fx->timer, nothing, 1, 1), 0); /* no turn is longer */
    fx->began = real_now();
    assert_int_equal(sl_kubelet_new(&(struct sl_kubelet_spec){.loop = &fx->loop,
                                                              .client = &x->w.meter.client,
                                                              .dir = fx->dir,
                                                              .node = "machine",
                                                              .files = FILES,
                                                              .sim = {.count = 1}},
                                    &fx->rt, NULL),
                     0);
    assert_int_equal(grown_do(&x->w, SL_POST, "/api/v1/namespaces/default/configmaps",
                              "{'metadata':{'name':'config'},'data':{'a':'b'}}"),
                     201);
    assert_int_equal(grown_do(&x->w, SL_POST, "/api/v1/namespaces/default/secrets",
                              "{'metadata':{'name':'secret'},'data':{'a':'Yg=='}}"),
                     201);
    assert_int_equal(grown_do(&x->w, SL_POST, "/api/v1/nodes", "{'metadata':{'name':'guest'}}"),
                     201);
    for (int i = 0; i < 50; i++)
        one_turn(x);
}

static void every_list_and_map(void **state) {
    struct runtime x;

    (void)state;
    open_runtime(&x);
    probe(&x.w, true); /* what is in use is used */
    assert_string_equal(phase_of(&x.fx, "probe1"), "Succeeded");
    probe(&x.w, false);
    grown_all(&x.w, kinds, SL_LEN(kinds));
    end(&x.fx);
    meter_done(&x.w.meter);
}

static void post(struct grown_world *w, const char *path, const struct sl_buf *body) {
    assert_int_equal(fakeapi_do(w->api, SL_POST, path, SL_JSON, sl_buf_str(body), NULL), 201);
}

#define KEYS 50000

/* Variables that name keys of a large ConfigMap, the last first. */
static void many_references(void **state) {
    struct sl_buf b = SL_BUF((size_t)8 << 20);
    struct runtime x;

    (void)state;
    open_runtime(&x);
    sl_buf_puts(&b, "{\"metadata\":{\"name\":\"large\"},\"data\":{");
    for (int i = 0; i < KEYS; i++)
        sl_buf_printf(&b, "%s\"k%d\":\"v\"", i ? "," : "", i);
    sl_buf_puts(&b, "}}");
    post(&x.w, "/api/v1/namespaces/default/configmaps", &b);
    sl_buf_clear(&b);
    sl_buf_puts(&b, "{\"metadata\":{\"name\":\"refs\"},\"spec\":{\"nodeName\":\"machine\","
                    "\"restartPolicy\":\"Never\",\"containers\":[");
    for (int c = 0; c < 8; c++) {
        sl_buf_printf(&b, "%s{\"name\":\"c%d\",\"command\":[\"true\"],\"env\":[", c ? "," : "", c);
        for (int i = 0; i < 1000; i++)
            sl_buf_printf(&b,
                          "%s{\"name\":\"e%d\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":"
                          "\"large\",\"key\":\"k%d\"}}}",
                          i ? "," : "", i, KEYS - 1 - i);
        sl_buf_puts(&b, "]}");
    }
    sl_buf_puts(&b, "]}}");
    x.w.meter.us = 0;
    x.w.meter.bytes = 0;
    post(&x.w, PODS, &b);
    for (int i = 0; i < 100 && strcmp(phase_of(&x.fx, "refs"), "Succeeded") != 0; i++)
        run(&x.w);
    assert_string_equal(phase_of(&x.fx, "refs"), "Succeeded");
    grown_hold(&x.w, "many references");

    sl_buf_clear(&b);
    sl_buf_puts(&b, "{\"metadata\":{\"name\":\"open\"},\"spec\":{\"nodeName\":\"machine\","
                    "\"containers\":[{\"name\":\"c\",\"command\":[\"true\"],\"env\":[{\"name\":"
                    "\"a\",\"value\":\"");
    for (int i = 0; i < 500000; i++)
        sl_buf_puts(&b, "$(");
    sl_buf_puts(&b, "\"}]}]}}");
    x.w.meter.us = 0;
    x.w.meter.bytes = 0;
    post(&x.w, PODS, &b);
    run(&x.w);
    assert_string_equal(sl_json_str(status_of(&x.fx, "open", "c"), "state.waiting.reason"),
                        "CreateContainerConfigError");
    grown_hold(&x.w, "names that do not end");
    end(&x.fx);
    meter_done(&x.w.meter);
    sl_buf_done(&b);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_references),
                                       cmocka_unit_test(every_list_and_map)};

    grown_args(argc, argv);
    return cmocka_run_group_tests_name("time-runtime", tests, grown_set_up, grown_tear_down);
}
