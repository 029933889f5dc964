/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes and their leases; simulated nodes and what runs on them.
 */
#include <sched.h>

#include "kubelet_fixture.h"

#define NODES "/api/v1/nodes"
#define LEASE "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/machine"

static void wait_ready(struct world *w) {
    const sl_time until = real_now() + 10 * SL_SEC;

    while (!sl_kubelet_ready(w->rt)) {
        assert_true(real_now() < until);
        turn(w);
    }
}

static const char *ready_of(yyjson_val *node) {
    yyjson_val *list = sl_json_at(node, "status.conditions"), *c;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, c) {
        if (strcmp(sl_json_str(c, "type"), "Ready") == 0)
            return sl_json_str(c, "status");
    }
    return "";
}

static void this_machine(void **state) {
    struct world w;
    cpu_set_t cpus;
    char first[40];
    (void)state;

    begin(&w, 0);
    wait_ready(&w);
    yyjson_val *n = fakeapi_get(w.api, NODES "/machine");
    assert_string_equal(ready_of(n), "True");
    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    assert_int_equal(strtol(sl_json_str(n, "status.capacity.cpu"), NULL, 10), CPU_COUNT(&cpus));
    assert_true(strtoll(sl_json_str(n, "status.capacity.memory"), NULL, 10) >
                strtoll(sl_json_str(n, "status.allocatable.memory"), NULL, 10));
    assert_string_equal(sl_json_str(n, "status.allocatable.pods"), "110");
    assert_string_equal(sl_json_label(n, "kubernetes.io/hostname"), "machine");
    assert_string_equal(sl_json_label(n, "kubernetes.io/os"), "linux");
    assert_true(*sl_json_label(n, "kubernetes.io/arch"));
    assert_int_equal(yyjson_arr_size(sl_json_at(n, "spec.taints")), 0);
    assert_true(*sl_json_str(n, "status.nodeInfo.kernelVersion"));
    while (!fakeapi_get(w.api, LEASE))
        turn(&w);
    assert_string_equal(sl_json_str(fakeapi_get(w.api, LEASE), "spec.holderIdentity"), "machine");
    (void)snprintf(first, sizeof first, "%s",
                   sl_json_str(fakeapi_get(w.api, LEASE), "spec.renewTime"));
    leap(&w, 11 * SL_SEC);
    turns(&w, 50);
    assert_true(strcmp(sl_json_str(fakeapi_get(w.api, LEASE), "spec.renewTime"), first) > 0);
    end(&w);
}

/* What an administrator set stays; nodes that are no longer wanted go, with what ran on them. */
static void again_with_others(void **state) {
    struct world w;
    (void)state;

    begin(&w, 3);
    wait_ready(&w);
    assert_string_equal(
        sl_json_str(
            yyjson_arr_get(sl_json_at(fakeapi_get(w.api, NODES "/machine"), "spec.taints"), 0),
            "key"),
        LOCAL_TAINT);
    make_pod(&w, "p0", "\"annotations\":{\"sluice.dev/run-for\":\"1h\"}",
             "\"nodeName\":\"sim-0000\",\"containers\":[{\"name\":\"main\"}]");
    make_pod(&w, "p2", "\"annotations\":{\"sluice.dev/run-for\":\"1h\"}",
             "\"nodeName\":\"sim-0002\",\"containers\":[{\"name\":\"main\"}]");
    wait_phase(&w, "p0", "Running");
    wait_phase(&w, "p2", "Running");
    stop(&w, 0);
    assert_int_equal(fakeapi_do(w.api, SL_PATCH, NODES "/machine", SL_MERGE_PATCH,
                                "{\"metadata\":{\"labels\":{\"own\":\"yes\"}},\"spec\":{"
                                "\"unschedulable\":true,\"taints\":[{\"key\":\"mine\","
                                "\"effect\":\"NoSchedule\"},{\"key\":\"" LOCAL_TAINT
                                "\",\"effect\":\"NoSchedule\"}]}}",
                                NULL),
                     200);
    start_kubelet(&w, 2);
    wait_ready(&w);
    turns(&w, 30);
    assert_null(fakeapi_get(w.api, NODES "/sim-0002"));
    assert_non_null(fakeapi_get(w.api, NODES "/sim-0001"));
    yyjson_val *n = fakeapi_get(w.api, NODES "/machine");
    assert_string_equal(sl_json_label(n, "own"), "yes");
    assert_true(sl_json_bool(n, "spec.unschedulable", false));
    assert_int_equal(yyjson_arr_size(sl_json_at(n, "spec.taints")), 2);
    wait_phase(&w, "p2", "Failed");
    assert_string_equal(sl_json_str(pod_now(&w, "p2"), "status.reason"), "NodeLost");
    assert_string_equal(phase_of(&w, "p0"), "Running");
    leap(&w, SL_HOUR);
    wait_phase(&w, "p0", "Succeeded"); /* from where it was */
    stop(&w, 0);
    start_kubelet(&w, 0);
    wait_ready(&w);
    turns(&w, 30);
    assert_int_equal(
        yyjson_arr_size(sl_json_at(fakeapi_get(w.api, NODES "/machine"), "spec.taints")), 1);
    assert_null(fakeapi_get(w.api, NODES "/sim-0000"));
    end(&w);
}

static void how_long(void **state) {
    static const struct {
        const char *pod;
        sl_span span;
    } cases[] = {
        {"{\"metadata\":{\"annotations\":{\"sluice.dev/run-for\":\"1m30s\"}}}", 90 * SL_SEC},
        {"{\"metadata\":{\"annotations\":{\"sluice.dev/"
         "run-for\":\"0s\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
         "\"command\":[\"sleep\",\"9\"]}]}}",
         0},
        {"{\"metadata\":{\"annotations\":{\"sluice.dev/"
         "run-for\":\"soon\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{}]}}",
         0},
        {"{\"metadata\":{\"annotations\":{\"sluice.dev/"
         "run-for\":\"-5s\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{}]}}",
         0},
        {"{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"command\":[\"sleep\",\"30\"]}]}"
         "}",
         30 * SL_SEC},
        {"{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"command\":[\"/bin/"
         "sleep\",\"1m\",\"1.5\"]}]}}",
         61500 * SL_MSEC},
        {"{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"command\":[\"sleep\",\"2d\"]}]}"
         "}",
         48 * SL_HOUR},
        {"{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"command\":[\"sleep\","
         "\"infinity\"]}]}}",
         SL_TIME_NEVER},
        {"{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"command\":[\"sleep\","
         "\"99999999999999999999d\"]}]}}",
         0},
        {"{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"image\":\"g.example/x/"
         "sleep:v0.1.0\",\"args\":[\"20s\"]}]}}",
         20 * SL_SEC},
        {"{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"command\":[\"sh\",\"-c\","
         "\"echo hi; sleep 5 && sleep 2;\"]}]}}",
         7 * SL_SEC},
        {"{\"spec\":{\"restartPolicy\":\"OnFailure\",\"containers\":[{\"command\":[\"bash\"],"
         "\"args\":[\"-c\",\"/bin/sleep 4\"]},{\"command\":["
         "\"sleep\",\"3\"]}],\"initContainers\":[{\"command\":[\"sleep\",\"1\"]},{"
         "\"restartPolicy\":\"Always\",\"command\":[\"sleep\",\"50\"]}]}}",
         5 * SL_SEC},
        {"{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"command\":[\"python\",\"train."
         "py\"]}]}}",
         0},
        {"{\"spec\":{\"restartPolicy\":\"Always\",\"containers\":[{\"command\":[\"sleep\",\"3\"]}]}"
         "}",
         SL_TIME_NEVER},
        {"{\"spec\":{\"containers\":[{\"command\":[\"sleep\",\"3\"]}]}}", SL_TIME_NEVER},
        {"{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"command\":[7,null],\"args\":"
         "\"x\"}]}}",
         0},
        {"{\"spec\":7}", SL_TIME_NEVER},
    };
    (void)state;

    for (size_t i = 0; i < SL_LEN(cases); i++) {
        yyjson_doc *d = yyjson_read(cases[i].pod, strlen(cases[i].pod), 0);
        assert_non_null(d);
        if (klet_sim_span(yyjson_doc_get_root(d)) != cases[i].span)
            fail_msg("%s: %lld", cases[i].pod, (long long)klet_sim_span(yyjson_doc_get_root(d)));
        yyjson_doc_free(d);
    }
}

static void simulated_pods(void **state) {
    struct world w;
    (void)state;

    begin(&w, 2);
    wait_ready(&w);
    make_pod(&w, "good", "\"annotations\":{\"sluice.dev/run-for\":\"90s\"}",
             "\"nodeName\":\"sim-0001\",\"restartPolicy\":\"Never\",\"initContainers\":[{\"name\":"
             "\"i\"}],\"containers\":[{\"name\":\"main\"}]");
    make_pod(&w, "bad",
             "\"annotations\":{\"sluice.dev/run-for\":\"1s\",\"sluice.dev/exit-code\":\"3\"}",
             "\"nodeName\":\"sim-0001\",\"restartPolicy\":\"Never\",\"containers\":[{\"name\":"
             "\"main\"}]");
    make_pod(&w, "served", "", "\"nodeName\":\"sim-0000\",\"containers\":[{\"name\":\"main\"}]");
    make_pod(&w, "at-once", "",
             "\"nodeName\":\"sim-0000\",\"restartPolicy\":\"Never\",\"containers\":[{\"name\":"
             "\"main\"}]");
    wait_phase(&w, "good", "Running");
    wait_phase(&w, "served", "Running");
    wait_phase(&w, "at-once", "Succeeded");
    assert_string_equal(condition_of(&w, "good", "Ready", "status"), "True");
    leap(&w, 60 * SL_SEC);
    wait_phase(&w, "bad", "Failed");
    assert_int_equal(sl_json_int(status_of(&w, "bad", "main"), "state.terminated.exitCode", -1), 3);
    assert_string_equal(phase_of(&w, "good"), "Running");
    leap(&w, 31 * SL_SEC);
    wait_phase(&w, "good", "Succeeded");
    assert_string_equal(sl_json_str(status_of(&w, "good", "main"), "state.terminated.reason"),
                        "Completed");
    assert_string_equal(phase_of(&w, "served"), "Running");
    delete_pod(&w, "served", 30);
    wait_phase(&w, "served", "gone");
    struct sl_buf b;
    bool over;
    sl_buf_init(&b, 1000);
    make_pod(&w, "quiet", "", "\"nodeName\":\"sim-0000\",\"containers\":[{\"name\":\"main\"}]");
    wait_phase(&w, "quiet", "Running");
    assert_false(read_log(&w, "quiet", "main", false, true, &b, &over));
    assert_true(strstr(sl_buf_str(&b), "simulated node"));
    sl_buf_clear(&b);
    assert_false(read_log(&w, "good", "main", false, true, &b, &over)); /* which has ended */
    assert_true(strstr(sl_buf_str(&b), "simulated nodes"));
    sl_buf_done(&b);
    end(&w);
}

static void wait_node_ready(struct world *w, const char *path) {
    const sl_time until = real_now() + 10 * SL_SEC;

    while (strcmp(ready_of(fakeapi_get(w->api, path)), "True") != 0) {
        assert_true(real_now() < until);
        turn(w);
    }
}

/* A Node created by a client with the label: kept ready, its pods simulated, also those that were
 * bound to it before; its own fields stay. Without the label it is not ours. */
static void foreign_nodes(void **state) {
    struct world w;
    (void)state;

    begin(&w, 1);
    wait_ready(&w);
    make_pod(&w, "early", "", "\"nodeName\":\"spare\",\"containers\":[{\"name\":\"main\"}]");
    make_pod(&w, "other", "", "\"nodeName\":\"theirs\",\"containers\":[{\"name\":\"main\"}]");
    turns(&w, 30);
    make_object(&w, NODES,
                "{\"metadata\":{\"name\":\"spare\"},\"status\":{\"capacity\":{\"cpu\":\"7\"}}}");
    (void)fakeapi_do(w.api, SL_PATCH, NODES "/spare/status", SL_MERGE_PATCH,
                     "{\"status\":{\"capacity\":{\"cpu\":\"7\"}}}", NULL);
    turns(&w, 30);
    assert_string_equal(ready_of(fakeapi_get(w.api, NODES "/spare")), "");
    (void)fakeapi_do(w.api, SL_PATCH, NODES "/spare", SL_MERGE_PATCH,
                     "{\"metadata\":{\"labels\":{\"" SIM_LABEL "\":\"true\"}}}", NULL);
    make_object(&w, NODES, "{\"metadata\":{\"name\":\"theirs\"}}");
    make_object(&w, NODES,
                "{\"metadata\":{\"name\":\"sim-0009\",\"labels\":{\"" SIM_LABEL "\":\"true\"}}}");
    wait_node_ready(&w, NODES "/spare");
    wait_node_ready(&w, NODES "/sim-0009"); /* as ours are called, but beyond them */
    assert_string_equal(sl_json_str(fakeapi_get(w.api, NODES "/spare"), "status.capacity.cpu"),
                        "7");
    assert_string_equal(sl_json_str(fakeapi_get(w.api, NODES "/sim-0009"), "status.capacity.cpu"),
                        "32");
    wait_phase(&w, "early", "Running");
    make_pod(&w, "late", "", "\"nodeName\":\"spare\",\"containers\":[{\"name\":\"main\"}]");
    wait_phase(&w, "late", "Running");
    assert_string_equal(ready_of(fakeapi_get(w.api, NODES "/theirs")), "");
    assert_string_not_equal(phase_of(&w, "other"), "Running");
    assert_int_equal(fakeapi_do(w.api, SL_PATCH, NODES "/spare/status", SL_MERGE_PATCH,
                                "{\"status\":{\"conditions\":[]}}", NULL),
                     200);
    wait_node_ready(&w, NODES "/spare");
    stop(&w, 0);
    start_kubelet(&w, 1);
    wait_ready(&w);
    turns(&w, 30);
    assert_non_null(fakeapi_get(w.api, NODES "/spare"));
    assert_string_equal(phase_of(&w, "late"), "Running");
    assert_int_equal(fakeapi_do(w.api, SL_DELETE, NODES "/spare", NULL, NULL, NULL), 200);
    turns(&w, 30);
    assert_int_equal(klet_node_owner_of(w.rt, "spare"), NODE_OWNER_OTHER);
    assert_null(fakeapi_get(w.api, NODES "/spare"));
    end(&w);
}

/* ---- virtual nodes ---- */

static void start_virtual(struct world *w, const char *const *names, uint32_t sims) {
    const struct sl_kubelet_spec spec = {.loop = &w->loop,
                                         .client = fakeapi_port(w->api, 0),
                                         .dir = w->dir,
                                         .node = "machine",
                                         .files = FILES,
                                         .sim = {.count = sims, .virtual_nodes = names}};

    assert_int_equal(sl_kubelet_new(&spec, &w->rt, NULL), 0);
    wait_ready(w);
}

#define TO_POOL "{\"key\":\"pool.vk.io\",\"value\":\"p\",\"effect\":\"NoSchedule\"}"

static void make_remote(struct world *w, const char *name, const char *node,
                        const char *tolerations) {
    char spec[400];

    (void)snprintf(spec, sizeof spec,
                   "\"nodeName\":\"%s\",\"restartPolicy\":\"Never\",\"tolerations\":[%s],"
                   "\"containers\":[{\"name\":\"main\"}]",
                   node, tolerations);
    make_pod(w, name, "\"annotations\":{\"sluice.dev/run-for\":\"1h\"}", spec);
}

/* As interLink makes it; and the node of the machine stays open. */
static void virtual_node(void **state) {
    static const char *const names[] = {"interlink", "site-b", NULL};
    static const char *const amounts[][2] = {{"status.capacity.cpu", "10000"},
                                             {"status.capacity.memory", "2Ei"},
                                             {"status.allocatable.pods", "10000"}};
    struct world w;
    (void)state;

    begin(&w, 0);
    wait_ready(&w);
    stop(&w, 0);
    start_virtual(&w, names, 0);
    yyjson_val *n = fakeapi_get(w.api, NODES "/interlink");
    assert_string_equal(ready_of(n), "True");
    assert_string_equal(sl_json_label(n, "kubernetes.io/hostname"), "interlink");
    assert_string_equal(sl_json_label(n, "virtual-node.interlink/type"), "virtual-kubelet");
    assert_string_equal(sl_json_label(n, SIM_LABEL), "true");
    for (size_t i = 0; i < SL_LEN(amounts); i++)
        assert_string_equal(sl_json_str(n, amounts[i][0]), amounts[i][1]);
    assert_string_equal(
        sl_json_text(yyjson_obj_get(sl_json_at(n, "status.capacity"), "nvidia.com/gpu")), "10000");
    yyjson_val *taint = yyjson_arr_get_first(sl_json_at(n, "spec.taints"));
    assert_string_equal(sl_json_str(taint, "key"), "virtual-node.interlink/no-schedule");
    assert_string_equal(sl_json_str(taint, "value"), "true");
    assert_string_equal(sl_json_str(taint, "effect"), "NoSchedule");
    assert_int_equal(
        yyjson_arr_size(sl_json_at(fakeapi_get(w.api, NODES "/machine"), "spec.taints")), 0);
    assert_non_null(fakeapi_get(w.api, NODES "/site-b"));
    end(&w);
}

/* What another client added stays; one that is no longer configured goes, with what ran there; a
 * node of that name which another client then creates is a guest. */
static void virtual_node_again(void **state) {
    static const char *const both[] = {"interlink", "site-b", NULL},
                             *const one[] = {"site-b", NULL}, *const none[] = {NULL};
    struct world w;
    (void)state;

    begin(&w, 0);
    stop(&w, 0);
    start_virtual(&w, both, 1);
    make_remote(&w, "a", "interlink", TO_POOL);
    make_remote(&w, "b", "site-b", TO_POOL);
    wait_phase(&w, "a", "Running");
    wait_phase(&w, "b", "Running");
    stop(&w, 0);
    assert_int_equal(fakeapi_do(w.api, SL_PATCH, NODES "/site-b", SL_MERGE_PATCH,
                                "{\"spec\":{\"taints\":[{\"key\":\"mine\",\"effect\":"
                                "\"NoSchedule\"},{\"key\":\"virtual-node.interlink/"
                                "no-schedule\",\"value\":\"true\",\"effect\":\"NoSchedule\"}"
                                "]}}",
                                NULL),
                     200);
    start_virtual(&w, one, 1);
    wait_phase(&w, "a", "Failed");
    assert_string_equal(sl_json_str(pod_now(&w, "a"), "status.reason"), "NodeLost");
    WAIT(&w, !fakeapi_get(w.api, NODES "/interlink"));
    assert_int_equal(
        yyjson_arr_size(sl_json_at(fakeapi_get(w.api, NODES "/site-b"), "spec.taints")), 2);
    assert_string_equal(phase_of(&w, "b"), "Running");
    make_object(&w, NODES,
                "{\"metadata\":{\"name\":\"interlink\",\"labels\":{\"" SIM_LABEL "\":\"true\"}}}");
    wait_node_ready(&w, NODES "/interlink");
    assert_string_equal(sl_json_str(fakeapi_get(w.api, NODES "/interlink"), "status.capacity.cpu"),
                        "32");
    make_remote(&w, "c", "interlink", ""); /* a simulated node, and not a virtual one */
    wait_phase(&w, "c", "Running");
    stop(&w, 0);
    start_virtual(&w, none, 0);
    wait_phase(&w, "b", "Failed");
    WAIT(&w, !fakeapi_get(w.api, NODES "/site-b"));
    assert_non_null(fakeapi_get(w.api, NODES "/interlink"));
    assert_string_equal(phase_of(&w, "c"), "Running");
    end(&w);
}

/* As interLink's plugin: one pool, by a toleration. A pod that had begun is not asked again. */
static void virtual_node_pools(void **state) {
    static const char *const names[] = {"interlink", NULL};
    static const struct {
        const char *pod, *tolerations, *message;
    } refused[] = {
        {"none", "{\"operator\":\"Exists\"},{\"key\":\"other\",\"operator\":\"Exists\"}",
         "no toleration has the key pool.vk.io, whose value is the pool that is to run the pod"},
        {"two", TO_POOL "," TO_POOL,
         "more than one toleration has the key pool.vk.io: a pod runs in one pool"},
    };
    struct world w;
    (void)state;

    begin(&w, 0);
    stop(&w, 0);
    start_virtual(&w, names, 0);
    make_remote(&w, "good", "interlink", "{\"operator\":\"Exists\"}," TO_POOL);
    for (size_t i = 0; i < SL_LEN(refused); i++) {
        make_remote(&w, refused[i].pod, "interlink", refused[i].tolerations);
        wait_phase(&w, refused[i].pod, "Failed");
        yyjson_val *p = pod_now(&w, refused[i].pod);
        assert_string_equal(sl_json_str(p, "status.reason"), "ProviderFailed");
        assert_string_equal(sl_json_str(p, "status.message"), refused[i].message);
        assert_null(sl_json_at(status_of(&w, refused[i].pod, "main"), "state.terminated"));
    }
    delete_pod(&w, "two", 30);
    wait_phase(&w, "two", "gone");
    wait_phase(&w, "good", "Running");
    stop(&w, 0);
    assert_int_equal(fakeapi_do(w.api, SL_PATCH, PODS "/good", SL_MERGE_PATCH,
                                "{\"spec\":{\"tolerations\":[{\"operator\":\"Exists\"}," TO_POOL
                                ",{\"key\":\"pool.vk.io\",\"operator\":\"Exists\"}]}}",
                                NULL),
                     200);
    start_virtual(&w, names, 0);
    turns(&w, 30);
    leap(&w, SL_HOUR);
    wait_phase(&w, "good", "Succeeded");
    end(&w);
}

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

/* As the API server does it: the time becomes now. */
static int renew(void *ctx, const char *node, struct sl_err *err) {
    struct world *w = ctx;
    char path[200], body[200];
    struct sl_buf out;

    (void)snprintf(path, sizeof path, LEASES "/%s", node);
    (void)snprintf(body, sizeof body, "{\"spec\":{\"renewTime\":\"%lld\"}}",
                   (long long)(w->skipped / SL_SEC));
    sl_buf_init(&out, 1u << 20);
    int status = fakeapi_do(w->api, SL_PATCH, path, SL_MERGE_PATCH, body, &out);
    sl_buf_done(&out);
    return status == 404 ? sl_err_set(err, SL_ENOENT, "none") : 0;
}

/* How long ago it was renewed, in seconds; -1: it is not there. */
static long long age(struct world *w, const char *node) {
    char path[200];

    (void)snprintf(path, sizeof path, LEASES "/%s", node);
    yyjson_val *o = fakeapi_get(w->api, path);
    const char *at = o ? sl_json_str(o, "spec.renewTime") : "";
    return !o ? -1 : strchr(at, 'T') ? 0 : w->skipped / SL_SEC - strtoll(at, NULL, 10);
}

static void seconds(struct world *w, int n) {
    for (int i = 0; i < n; i++) {
        leap(w, SL_SEC);
        turns(w, 2);
    }
}

/* Each is renewed within the 40 s after which it would be taken for dead; one that is deleted comes
 * back, unless its node is gone. */
static void leases_of_simulated_nodes(void **state) {
    const uint32_t n = 60;
    char name[20];
    struct world w;
    (void)state;

    begin(&w, 0);
    stop(&w, 0);
    sl_kubelet_free(w.rt);
    w.renew = renew;
    start_kubelet(&w, n);
    wait_ready(&w);
    make_object(
        &w, NODES,
        "{\"metadata\":{\"name\":\"guest\",\"labels\":{\"sluice.dev/simulated\":\"true\"}}}");
    seconds(&w, 10);
    assert_int_equal(fakeapi_each(w.api, LEASES, NULL, NULL), n + 2);
    assert_string_equal(
        sl_json_str(yyjson_arr_get_first(sl_json_at(fakeapi_get(w.api, LEASES "/sim-0007"),
                                                    "metadata.ownerReferences")),
                    "uid"),
        sl_json_str(fakeapi_get(w.api, NODES "/sim-0007"), "metadata.uid"));
    seconds(&w, 60);
    for (int k = 0; k < 3; k++) {
        for (uint32_t i = 0; i < n; i++) {
            (void)snprintf(name, sizeof name, "sim-%04u", i);
            assert_in_range(age(&w, name), 0, 35);
        }
        assert_in_range(age(&w, "guest"), 0, 35);
        seconds(&w, 17);
    }
    assert_int_equal(fakeapi_do(w.api, SL_DELETE, LEASES "/sim-0001", NULL, NULL, NULL), 200);
    assert_int_equal(fakeapi_do(w.api, SL_DELETE, NODES "/sim-0002", NULL, NULL, NULL), 200);
    assert_int_equal(fakeapi_do(w.api, SL_DELETE, LEASES "/sim-0002", NULL, NULL, NULL), 200);
    assert_int_equal(fakeapi_do(w.api, SL_DELETE, NODES "/guest", NULL, NULL, NULL), 200);
    assert_int_equal(fakeapi_do(w.api, SL_DELETE, LEASES "/guest", NULL, NULL, NULL), 200);
    seconds(&w, 60);
    assert_in_range(age(&w, "sim-0001"), 0, 35);
    assert_int_equal(age(&w, "sim-0002"), -1);
    assert_int_equal(age(&w, "guest"), -1);
    end(&w);
}

static void virtual_node_names(void **state) {
    static const char *const bad[] = {
        "",          "A",
        "a_b",       "-a",
        "machine",   "sim-0000",
        "sim-12345", "a-name-of-sixty-four-characters-is-one-longer-than-labels-may-be"};
    static const char *const good[] = {"interlink", "sim", "sim-1", "a.b", NULL}, *const twice[] = {
                                                                                      "a", "b", "a",
                                                                                      NULL};
    const char *many[SL_MAX_VIRTUAL_NODES + 2] = {NULL};
    char texts[SL_MAX_VIRTUAL_NODES + 1][8];
    struct sl_err err;
    (void)state;

    assert_int_equal(sl_kubelet_virtual_nodes_check(NULL, "machine", &err), 0);
    assert_int_equal(sl_kubelet_virtual_nodes_check(good, "machine", &err), 0);
    for (size_t i = 0; i < SL_LEN(bad); i++) {
        const char *const names[] = {"a", bad[i], NULL};
        assert_int_equal(sl_kubelet_virtual_nodes_check(names, "machine", &err), SL_EINVAL);
        assert_non_null(strstr(err.text, "virtual node '"));
    }
    assert_int_equal(sl_kubelet_virtual_nodes_check(twice, "machine", &err), SL_EINVAL);
    assert_non_null(strstr(err.text, "twice"));
    for (uint32_t i = 0; i <= SL_MAX_VIRTUAL_NODES; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "n%u", i);
        many[i] = texts[i];
    }
    assert_int_equal(sl_kubelet_virtual_nodes_check(many, "machine", &err), SL_ELIMIT);
    many[SL_MAX_VIRTUAL_NODES] = NULL;
    assert_int_equal(sl_kubelet_virtual_nodes_check(many, "machine", &err), 0);
}

/* A thousand nodes, ten thousand pods, two writes each. */
static void many(void **state) {
    struct world w;
    sl_time from = real_now();
    char name[20], spec[200];
    uint32_t done = 0;
    (void)state;

    begin(&w, 1000);
    wait_ready(&w);
    print_message("1000 nodes: %lld ms\n", (long long)((real_now() - from) / SL_MSEC));
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        (void)snprintf(spec, sizeof spec,
                       "\"nodeName\":\"sim-%04d\",\"restartPolicy\":\"Never\",\"containers\":[{"
                       "\"name\":\"main\"}]",
                       i % 1000);
        make_pod(&w, name, "\"annotations\":{\"sluice.dev/run-for\":\"1h\"}", spec);
    }
    w.writes = 0;
    from = real_now();
    while (w.writes < 10000 && real_now() < from + 2 * PATIENCE)
        leap(&w, 50 * SL_MSEC); /* the streams of this API take their time */
    print_message("10000 pods run: %lld ms\n", (long long)((real_now() - from) / SL_MSEC));
    from = real_now();
    leap(&w, SL_HOUR);
    while (w.writes < 20000 && real_now() < from + 2 * PATIENCE)
        leap(&w, 50 * SL_MSEC);
    print_message("10000 pods done: %lld ms\n", (long long)((real_now() - from) / SL_MSEC));
    turns(&w, 50);
    assert_int_equal(w.writes, 20000);
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        done += strcmp(phase_of(&w, name), "Succeeded") == 0;
    }
    assert_int_equal(done, 10000);
    assert_int_equal(w.rt->by_name.n, 0); /* nothing is kept of what has ended but its hash */
    end(&w);
}

/* Every fault that the API has; in the end all is as without. */
static void with_faults(void **state) {
    struct world w;
    struct fakeapi_faults faults = {.lose_request = 40,
                                    .lose_reply = 40,
                                    .late_reply = 20,
                                    .delay = 20,
                                    .too_many = 50,
                                    .server_error = 30,
                                    .conflict = 10,
                                    .cut_watch = 50,
                                    .garble = 100,
                                    .compact = 200};
    char name[20], spec[200];
    (void)state;

    begin(&w, 3);
    fakeapi_set_faults(w.api, &faults);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        (void)snprintf(spec, sizeof spec,
                       "\"nodeName\":\"sim-%04d\",\"restartPolicy\":\"Never\",\"containers\":[{"
                       "\"name\":\"main\"}]",
                       i % 3);
        make_pod(&w, name, i % 2 ? "" : "\"annotations\":{\"sluice.dev/run-for\":\"20s\"}", spec);
        leap(&w, 300 * SL_MSEC);
    }
    for (int i = 0; i < 300; i++)
        leap(&w, SL_SEC);
    fakeapi_set_faults(w.api, NULL);
    for (int i = 0; i < 60; i++)
        leap(&w, SL_SEC);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        assert_string_equal(phase_of(&w, name), "Succeeded");
    }
    assert_true(sl_kubelet_ready(w.rt));
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_machine),       cmocka_unit_test(again_with_others),
        cmocka_unit_test(how_long),           cmocka_unit_test(simulated_pods),
        cmocka_unit_test(foreign_nodes),      cmocka_unit_test(many),
        cmocka_unit_test(with_faults),        cmocka_unit_test(virtual_node),
        cmocka_unit_test(virtual_node_again), cmocka_unit_test(virtual_node_pools),
        cmocka_unit_test(virtual_node_names), cmocka_unit_test(leases_of_simulated_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
