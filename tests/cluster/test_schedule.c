/* The scheduler: which node a pod gets, and what it is told if it gets none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "apps_world.h"
#include "base/mem.h"

#define NODES "/api/v1/nodes"

struct world {
    struct fakeapi *api;
    struct sl_cluster *c;
};

static void run(struct world *w, sl_span d) {
    sl_time until = fakeapi_now(w->api) + d;
    for (;;) {
        sl_time at = fakeapi_next(w->api), own = sl_cluster_next(w->c);
        at = own < at ? own : at;
        if (at > until)
            break;
        (void)fakeapi_step(w->api, at > fakeapi_now(w->api) ? at : fakeapi_now(w->api));
        sl_cluster_tick(w->c);
    }
    fakeapi_advance(w->api, until);
}

static void post(struct world *w, enum sl_method method, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void post(struct world *w, enum sl_method method, const char *path, const char *fmt, ...) {
    char body[4000];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(body, sizeof body, fmt, args);
    va_end(args);
    for (char *s = body; *s; s++)
        if (*s == '\'')
            *s = '"';
    int status =
        fakeapi_do(w->api, method, path, method == SL_PATCH ? SL_MERGE_PATCH : SL_JSON, body, NULL);
    assert_true(status >= 200 && status < 300);
}

static void begin(struct world *w) {
    w->api = fakeapi_new(1);
    w->c = sl_cluster_new(&(struct sl_cluster_spec){.port = fakeapi_port(w->api, 0), .seed = 1});
}

static void end(struct world *w) {
    sl_cluster_free(w->c);
    fakeapi_free(w->api);
}

static void add_node(struct world *w, const char *name, int cpu, const char *labels,
                     const char *spec) {
    char path[100];
    post(w, SL_POST, NODES,
         "{'metadata':{'name':'%s','labels':{'kubernetes.io/hostname':'%s'%s%s}},"
         "'spec':{%s}}",
         name, name, *labels ? "," : "", labels, spec);
    (void)snprintf(path, sizeof path, NODES "/%s/status", name);
    post(w, SL_PATCH, path, "{'status':{'allocatable':{'cpu':'%d','memory':'8Gi','pods':'110'}}}",
         cpu);
}

static void add_pod(struct world *w, const char *name, const char *cpu, const char *labels,
                    const char *spec) {
    post(
        w, SL_POST, PODS,
        "{'metadata':{'name':'%s','labels':{%s}},'spec':{'containers':[{'name':'main','resources':{"
        "'requests':{'cpu':'%s'}}}]%s%s}}",
        name, labels, cpu, *spec ? "," : "", spec);
}

static const char *node_of(struct world *w, const char *pod) {
    char path[100];
    (void)snprintf(path, sizeof path, PODS "/%s", pod);
    return jstr(fakeapi_get(w->api, path), "spec.nodeName");
}

static const char *why_not(struct world *w, const char *pod) {
    char path[100];
    size_t i, n;
    yyjson_val *v;
    (void)snprintf(path, sizeof path, PODS "/%s", pod);
    yyjson_arr_foreach (jat(fakeapi_get(w->api, path), "status.conditions"), i, n, v)
        if (strcmp(jstr(v, "type"), "PodScheduled") == 0 &&
            strcmp(jstr(v, "reason"), "Unschedulable") == 0)
            return jstr(v, "message");
    return "";
}

/* Whoever opens the last gate may say in the same write where the pods are to stand. */
static void gates_open(void **state) {
    struct world w;
    char name[16], node[16], path[100];
    (void)state;

    begin(&w);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(node, sizeof node, "n%d", i);
        add_node(&w, node, 4, "", "");
        (void)snprintf(name, sizeof name, "p%d", i);
        add_pod(&w, name, "1", "", "'schedulingGates':[{'name':'wait'}]");
    }
    run(&w, SL_SEC);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof path, PODS "/p%d", i);
        post(&w, SL_PATCH, path,
             "{'spec':{'schedulingGates':null,'nodeSelector':{'kubernetes.io/hostname':'n%d'}}}",
             i / 2 + 2);
    }
    run(&w, SL_SEC);
    assert_string_equal(node_of(&w, "p0"), "n2");
    assert_string_equal(node_of(&w, "p1"), "n2");
    assert_string_equal(node_of(&w, "p2"), "n3");
    assert_string_equal(node_of(&w, "p3"), "n3");
    end(&w);
}

static void one_pod(void **state) {
    static const struct {
        const char *spec, *node, *why;
    } cases[] = {
        {"'nodeSelector':{'disk':'ssd'}", "b", ""},
        {"'nodeSelector':{'disk':'tape'}", "",
         "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were "
         "unschedulable, "
         "2 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, "
         "preemption: 0/4 nodes are "
         "available: "
         "4 Preemption is not helpful for scheduling."},
        {"'tolerations':[{'key':'gpu','operator':'Exists'}],'nodeSelector':{'gpu':'yes'}", "c", ""},
        {"'tolerations':[{'key':'gpu','operator':'Equal','value':'b'}],'nodeSelector':{'gpu':'yes'"
         "}",
         "", NULL},
        {"'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"
         "'nodeSelectorTerms':[{'matchExpressions':[{'key':'disk','operator':'NotIn','values':['"
         "ssd'"
         "]}]}]}}}",
         "a", ""},
        {"'nodeName':'c'", "c", ""},
        {"'schedulerName':'mine'", "", ""},
        {"'schedulingGates':[{'name':'wait'}]", "", ""},
        {"'overhead':{'cpu':'9'}", "",
         "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were "
         "unschedulable, "
         "2 Insufficient cpu. no new claims to deallocate, preemption: 0/4 nodes are available: 4 "
         "Preemption is not helpful for scheduling."},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct world w;
        begin(&w);
        add_node(&w, "a", 4, "", "");
        add_node(&w, "b", 4, "'disk':'ssd'", "");
        add_node(&w, "c", 4, "'gpu':'yes'",
                 "'taints':[{'key':'gpu','value':'a','effect':'NoSchedule'}]");
        add_node(&w, "d", 4, "", "'unschedulable':true");
        add_pod(&w, "p", "1", "", cases[i].spec);
        run(&w, 3 * SL_SEC);
        assert_string_equal(node_of(&w, "p"), cases[i].node);
        if (cases[i].why)
            assert_string_equal(why_not(&w, "p"), cases[i].why);
        else
            assert_true(*why_not(&w, "p"));
        end(&w);
    }
}

static void room(void **state) {
    struct world w;
    char name[20];
    (void)state;
    begin(&w);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        add_node(&w, name, 4, "", "");
    }
    for (int i = 0; i < 13; i++) {
        (void)snprintf(name, sizeof name, "p%02d", i);
        add_pod(&w, name, "1", "", "");
        run(&w, SL_SEC);
    }
    run(&w, 5 * SL_SEC);
    assert_string_equal(node_of(&w, "p12"), "");
    assert_string_equal(why_not(&w, "p12"),
                        "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, "
                        "preemption: 0/3 nodes are "
                        "available: 3 No preemption victims found for incoming pod.");
    post(&w, SL_PATCH, PODS "/p05/status", "{'status':{'phase':'Succeeded'}}");
    run(&w, SL_SEC);
    char was[20];
    (void)snprintf(was, sizeof was, "%s", node_of(&w, "p05"));
    assert_string_equal(node_of(&w, "p12"), was);
    end(&w);
}

/* Each node gets as many. */
static void spread(void **state) {
    struct world w;
    char name[20];
    int on[4] = {0};
    (void)state;
    begin(&w);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        add_node(&w, name, 64, "", "");
    }
    for (int i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "p%02d", i);
        add_pod(&w, name, "1", "", "");
    }
    run(&w, 2 * SL_SEC);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "p%02d", i);
        on[node_of(&w, name)[1] - '0']++;
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(on[i], 10);
    end(&w);
}

static void priority(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    add_node(&w, "n", 1, "", "");
    add_pod(&w, "first", "1", "", "");
    run(&w, SL_SEC);
    add_pod(&w, "low", "1", "", "'priority':1");
    run(&w, SL_SEC);
    add_pod(&w, "high", "500m", "", "'priority':5");
    run(&w, SL_SEC);
    post(&w, SL_PATCH, PODS "/first/status", "{'status':{'phase':'Failed'}}");
    run(&w, SL_SEC);
    assert_string_equal(node_of(&w, "high"), "n");
    assert_string_equal(node_of(&w, "low"), "");
    end(&w);
}

#define TERM(kind, app)                                                                            \
    "'affinity':{'" kind "':{'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{" \
    "'matchLabels':{'app':'" app "'}},'topologyKey':'kubernetes.io/hostname'}]}}"

static void company(void **state) {
    struct world w;
    char name[20], db[20];
    (void)state;
    begin(&w);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        add_node(&w, name, 64, "", "");
    }
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "alone%d", i);
        add_pod(&w, name, "1", "'app':'alone'", TERM("podAntiAffinity", "alone"));
    }
    add_pod(&w, "db", "1", "'app':'db'", TERM("podAffinity", "db")); /* the first of its kind */
    run(&w, 3 * SL_SEC);
    assert_string_not_equal(node_of(&w, "alone0"), node_of(&w, "alone1"));
    int bound = 0;
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "alone%d", i);
        bound += *node_of(&w, name) != 0;
        if (!*node_of(&w, name))
            assert_string_equal(why_not(&w, name),
                                "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity "
                                "rules. no new claims to deallocate, preemption: 0/3 nodes are "
                                "available: 3 No preemption victims "
                                "found for incoming pod.");
    }
    assert_int_equal(bound, 3);
    (void)snprintf(db, sizeof db, "%s", node_of(&w, "db"));
    assert_true(*db);
    add_pod(&w, "web", "1", "'app':'web'", TERM("podAffinity", "db"));
    add_pod(&w, "none", "1", "'app':'web'", TERM("podAffinity", "cache"));
    run(&w, 3 * SL_SEC);
    assert_string_equal(node_of(&w, "web"), db);
    assert_string_equal(node_of(&w, "none"), "");
    /* Those that stand there keep others away, too. */
    add_pod(&w, "other", "1", "'app':'alone'", "");
    run(&w, 3 * SL_SEC);
    assert_string_equal(node_of(&w, "other"), "");
    assert_non_null(strstr(why_not(&w, "other"), "3 node(s) didn't satisfy existing pods "
                                                 "anti-affinity rules"));
    end(&w);
}

static void ports(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    add_node(&w, "n", 64, "", "");
    for (int i = 0; i < 2; i++)
        post(&w, SL_POST, PODS,
             "{'metadata':{'name':'p%d'},'spec':{'containers':[{'name':'main','ports':[{'hostPort':"
             "80"
             ",'protocol':'TCP'}]}]}}",
             i);
    run(&w, 3 * SL_SEC);
    assert_string_equal(node_of(&w, "p0"), "n");
    assert_string_equal(node_of(&w, "p1"), "");
    assert_non_null(strstr(why_not(&w, "p1"), "free ports"));
    end(&w);
}

static void no_nodes(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    add_pod(&w, "p", "1", "", "");
    run(&w, 3 * SL_SEC);
    assert_string_equal(why_not(&w, "p"), "no nodes available to schedule pods");
    add_node(&w, "n", 1, "", "");
    run(&w, SL_SEC);
    assert_string_equal(node_of(&w, "p"), "n");
    end(&w);
}

static void count_bound(void *ctx, yyjson_val *pod) {
    *(uint32_t *)ctx += *jstr(pod, "spec.nodeName") != 0;
}

static void many(void **state) {
    struct world w;
    char name[20];
    uint32_t bound = 0, pods = 10000;
    struct timespec a, b;
    (void)state;
    begin(&w);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "n%04d", i);
        add_node(&w, name, 10, "", "");
    }
    run(&w, SL_SEC);
    for (uint32_t i = 0; i < pods; i++) {
        (void)snprintf(name, sizeof name, "p%05u", i);
        add_pod(&w, name, "1", "", "");
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &a);
    run(&w, 100 * SL_SEC);
    (void)clock_gettime(CLOCK_MONOTONIC, &b);
    (void)fakeapi_each(w.api, PODS, count_bound, &bound);
    assert_int_equal(bound, pods); /* and every node is full */
    double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    print_message(
        "# %u pods bound to 1000 nodes in %.2f s, %.0f/s, the API server's work included\n", pods,
        s, pods / s);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates_open), cmocka_unit_test(one_pod),  cmocka_unit_test(room),
        cmocka_unit_test(spread),     cmocka_unit_test(priority), cmocka_unit_test(company),
        cmocka_unit_test(ports),      cmocka_unit_test(no_nodes), cmocka_unit_test(many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
