/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler: which node a pod gets, and its condition if it gets none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "apps_world.h"
#include "core/base/mem.h"

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

static void post(struct world *w, enum sl_kube_method method, const char *path, const char *fmt,
                 ...) __attribute__((format(printf, 4, 5)));
static void post(struct world *w, enum sl_kube_method method, const char *path, const char *fmt,
                 ...) {
    char body[16384];
    va_list args;
    va_start(args, fmt);
    assert_true(vsnprintf(body, sizeof body, fmt, args) < (int)sizeof body);
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
    w->c = sl_cluster_new(&(struct sl_cluster_spec){
        .scheduler = &sl_scheduler, .client = fakeapi_port(w->api, 0), .seed = 1});
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
    return sl_json_str(fakeapi_get(w->api, path), "spec.nodeName");
}

static const char *why_not(struct world *w, const char *pod) {
    char path[100];
    size_t i, n;
    yyjson_val *v;
    (void)snprintf(path, sizeof path, PODS "/%s", pod);
    yyjson_arr_foreach (sl_json_at(fakeapi_get(w->api, path), "status.conditions"), i, n, v)
        if (strcmp(sl_json_str(v, "type"), "PodScheduled") == 0 &&
            strcmp(sl_json_str(v, "reason"), "Unschedulable") == 0)
            return sl_json_str(v, "message");
    return "";
}

/* A client that removes the last gate may set the node selector in the same write. */
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

static void free_resources(void **state) {
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

static void affinity_to_pods(void **state) {
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
    *(uint32_t *)ctx += *sl_json_str(pod, "spec.nodeName") != 0;
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

/* ---- terms about other pods, and preferences ---- */

#define ZONE(more) "'maxSkew':1,'topologyKey':'zone'," more
#define WEB "'labelSelector':{'matchLabels':{'app':'web'}}"
#define HARD "'whenUnsatisfiable':'DoNotSchedule'"
#define SOFT "'whenUnsatisfiable':'ScheduleAnyway'"
#define SPREAD(c) "'topologySpreadConstraints':[{" c "}]"
#define PREFERS(kind, list)                                                                        \
    "'affinity':{'" kind "':{'preferredDuringSchedulingIgnoredDuringExecution':[" list "]}}"
#define NODES_WITH(weight, rules) "{'weight':" weight ",'preference':{" rules "}}"
#define PODS_WITH(weight, app, key)                                                                \
    "{'weight':" weight ",'podAffinityTerm':{'topologyKey':'" key                                  \
    "','labelSelector':{'matchLabels':{'app':'" app "'}}}}"

/* Zone x has two web pods, y one, z none and a taint; d is in no zone. */
static void wishes(void **state) {
    static const char uneven[] =
        "0/4 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing "
        "required label), 1 node(s) had untolerated taint(s), 2 node(s) didn't match pod topology "
        "spread constraints. no new claims to deallocate, preemption: 0/4 nodes are available: 2 "
        "No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.";
    static const struct {
        const char *labels, *spec, *nodes, *why; /* nodes: any of these letters */
    } cases[] = {
        {"'app':'web'", SPREAD(ZONE(WEB "," HARD)), "", uneven},
        {"'app':'web'", SPREAD("'maxSkew':2,'topologyKey':'zone'," WEB "," HARD), "b", ""},
        {"'app':'web'", SPREAD("'maxSkew':3,'topologyKey':'zone'," WEB "," HARD), "ab", ""},
        {"'app':'else'", SPREAD(ZONE(WEB "," HARD)), "b", ""}, /* it does not count itself */
        {"'app':'web'", SPREAD(ZONE(WEB "," HARD)) ",'tolerations':[{'operator':'Exists'}]", "c",
         ""},
        {"'app':'web'", SPREAD(ZONE(WEB "," HARD ",'nodeTaintsPolicy':'Honor'")), "b", ""},
        {"'app':'web'", SPREAD(ZONE(WEB "," HARD ",'nodeTaintsPolicy':'Honor','minDomains':2")),
         "b", ""},
        {"'app':'web'", SPREAD(ZONE(WEB "," HARD ",'nodeTaintsPolicy':'Honor','minDomains':3")), "",
         uneven},
        {"'app':'web'", SPREAD(ZONE(WEB "," HARD)) ",'nodeSelector':{'zone':'x'}", "a", ""},
        {"'app':'web'",
         SPREAD(ZONE(WEB "," HARD ",'nodeAffinityPolicy':'Ignore'")) ",'nodeSelector':{'zone':'x'}",
         "", NULL},
        {"'app':'web','rev':'2'", SPREAD(ZONE(WEB "," HARD ",'matchLabelKeys':['rev','none']")),
         "ab", ""},
        {"'app':'web','rev':'1'", SPREAD(ZONE(WEB "," HARD ",'matchLabelKeys':['rev']")), "",
         uneven},
        {"'app':'web'", SPREAD(ZONE("'labelSelector':{}," HARD)), "ab", ""},
        {"'app':'web'", SPREAD(ZONE(HARD)), "ab", ""}, /* matches none */
        /* both have to hold: y by its zone, but b is full of them by its name */
        {"'app':'web'",
         SPREAD("'maxSkew':2,'topologyKey':'zone'," WEB "," HARD
                "},{'maxSkew':1,'topologyKey':'kubernetes.io/hostname'," WEB "," HARD),
         "", NULL},
        {"'app':'web'", SPREAD(ZONE(WEB "," SOFT)), "b", ""},
        {"'app':'web'", SPREAD(ZONE(WEB "," SOFT)) ",'nodeSelector':{'zone':'x'}", "a", ""},
        {"'app':'web'", SPREAD(ZONE(WEB "," SOFT)) ",'tolerations':[{'operator':'Exists'}]", "c",
         ""},
        {"",
         PREFERS("nodeAffinity", NODES_WITH("1", "'matchExpressions':[{'key':'size','operator':"
                                                 "'Gt','values':['4']}]")),
         "a", ""},
        {"",
         PREFERS("nodeAffinity", NODES_WITH("1", "'matchFields':[{'key':'metadata.name',"
                                                 "'operator':'In','values':['d']}]")),
         "d", ""},
        {"",
         PREFERS(
             "nodeAffinity",
             NODES_WITH(
                 "5",
                 "'matchExpressions':[{'key':'zone','operator':'In','values':["
                 "'y']}]") "," NODES_WITH("9",
                                          "'matchExpressions':[{'key':'zone','operator':'In','"
                                          "values':["
                                          "'x','z']}]") "," NODES_WITH("5",
                                                                       "'matchExpressions':[{'key':"
                                                                       "'zone','operator':'NotIn',"
                                                                       "'values':['x']},{'key':'"
                                                                       "zone','operator':'Exists'}"
                                                                       "]")),
         "b", ""},
        {"", PREFERS("nodeAffinity", NODES_WITH("9", "")), "abd", ""}, /* has no effect */
        {"", PREFERS("podAffinity", PODS_WITH("1", "db", "kubernetes.io/hostname")), "b", ""},
        {"", PREFERS("podAffinity", PODS_WITH("1", "nobody", "zone")), "abd", ""},
        {"", PREFERS("podAntiAffinity", PODS_WITH("1", "web", "zone")), "d", ""},
        {"", PREFERS("podAffinity", PODS_WITH("3", "web", "zone") "," PODS_WITH("4", "db", "zone")),
         "b", ""},
        {"", PREFERS("podAffinity", PODS_WITH("3", "web", "zone") "," PODS_WITH("2", "db", "zone")),
         "a", ""},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct world w;
        begin(&w);
        add_node(&w, "a", 8, "'zone':'x','size':'8'", "");
        add_node(&w, "b", 8, "'zone':'y','size':'4'", "");
        add_node(&w, "c", 8, "'zone':'z'", "'taints':[{'key':'k','effect':'NoSchedule'}]");
        add_node(&w, "d", 8, "", "");
        add_pod(&w, "w1", "0", "'app':'web','rev':'1'", "'nodeName':'a'");
        add_pod(&w, "w2", "0", "'app':'web','rev':'1'", "'nodeName':'a'");
        add_pod(&w, "w3", "0", "'app':'web','rev':'1'", "'nodeName':'b'");
        add_pod(&w, "db", "0", "'app':'db'", "'nodeName':'b'");
        run(&w, SL_SEC);
        add_pod(&w, "p", "1", cases[i].labels, cases[i].spec);
        run(&w, 3 * SL_SEC);
        const char *on = node_of(&w, "p");
        if (*cases[i].nodes ? !*on || !strstr(cases[i].nodes, on) : *on != 0)
            fail_msg("case %zu: on '%s', not one of '%s': %s", i, on, cases[i].nodes,
                     why_not(&w, "p"));
        if (cases[i].why)
            assert_string_equal(why_not(&w, "p"), cases[i].why);
        else
            assert_non_null(strstr(why_not(&w, "p"), "didn't match pod topology spread"));
        end(&w);
    }
}

/* Pods that go, or change their labels, or come, let others in at once. */
static void even_again(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    add_node(&w, "a", 8, "'zone':'x'", "");
    add_node(&w, "b", 1, "'zone':'y'", "");
    add_pod(&w, "w1", "0", "'app':'web'", "'nodeName':'a'");
    add_pod(&w, "w2", "0", "'app':'web'", "'nodeName':'a'");
    add_pod(&w, "big", "1", "", "'nodeName':'b'");
    run(&w, SL_SEC);
    add_pod(&w, "p", "1", "'app':'web'", SPREAD(ZONE(WEB "," HARD)));
    run(&w, 3 * SL_SEC);
    assert_string_equal(node_of(&w, "p"), "");
    assert_non_null(strstr(why_not(&w, "p"), "1 Insufficient cpu, 1 node(s) didn't match pod "
                                             "topology spread constraints."));
    post(&w, SL_PATCH, PODS "/w1", "{'metadata':{'labels':{'app':'was-web'}}}");
    run(&w, SL_SEC); /* one in x, none in y: still one too many */
    assert_string_equal(node_of(&w, "p"), "");
    add_pod(&w, "w3", "0", "'app':'web'", "'nodeName':'b'");
    run(&w, SL_SEC);
    assert_string_equal(node_of(&w, "p"), "a");
    /* One that is being deleted no longer counts. */
    add_pod(&w, "q", "1", "'app':'web'", SPREAD(ZONE(WEB "," HARD)));
    run(&w, 3 * SL_SEC);
    assert_string_equal(node_of(&w, "q"), "");
    post(&w, SL_PATCH, PODS "/w2", "{'metadata':{'finalizers':['x.io/stay']}}");
    assert_true(fakeapi_do(w.api, SL_DELETE, PODS "/w2", SL_JSON, "{}", NULL) < 300);
    run(&w, SL_SEC);
    assert_string_equal(node_of(&w, "q"), "a");
    end(&w);
}

static void hard_spread(void **state) {
    struct world w;
    char name[20];
    int in[3] = {0};
    (void)state;
    begin(&w);
    for (int i = 0; i < 6; i++) {
        char zone[30];
        (void)snprintf(name, sizeof name, "n%d", i);
        (void)snprintf(zone, sizeof zone, "'zone':'%d'", i % 3);
        add_node(&w, name, i % 3 ? 64 : 2, zone, ""); /* zone 0 takes four */
    }
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "p%02d", i);
        add_pod(&w, name, "1", "'app':'web'", SPREAD(ZONE(WEB "," HARD)));
    }
    run(&w, 3 * SL_SEC);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "p%02d", i);
        if (*node_of(&w, name))
            in[(node_of(&w, name)[1] - '0') % 3]++;
    }
    assert_int_equal(in[0], 4);
    assert_int_equal(in[1], 5);
    assert_int_equal(in[2], 5);
    end(&w);
}

/* Nodes that are better left alone get what has no other place. */
static void soft_taints(void **state) {
    struct world w;
    char name[20];
    (void)state;
    begin(&w);
    add_node(&w, "shy", 64, "", "'taints':[{'key':'k','effect':'PreferNoSchedule'}]");
    add_node(&w, "n", 2, "", "");
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        add_pod(&w, name, "1", "", "");
        run(&w, SL_SEC);
        assert_string_equal(node_of(&w, name), i < 2 ? "n" : "shy");
    }
    add_node(&w, "m", 8, "", "");
    add_pod(&w, "brave", "1", "", "'tolerations':[{'key':'k','operator':'Exists'}]");
    run(&w, SL_SEC);
    assert_string_equal(node_of(&w, "brave"), "shy"); /* it has more free resources */
    end(&w);
}

#define TERMS(kind, list)                                                                          \
    "'affinity':{'" kind "':{'requiredDuringSchedulingIgnoredDuringExecution':[" list "]}}"
#define ABOUT(key, value, where)                                                                   \
    "{'labelSelector':{'matchLabels':{'" key "':'" value "'}},'topologyKey':'" where "'}"

static void affinity_to_itself(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    add_node(&w, "a", 8, "'zone':'x'", "");
    add_node(&w, "b", 8, "'zone':'y'", "");
    /* The same terms as affinity and anti-affinity are not the same class. */
    add_pod(&w, "first", "1", "'app':'one'", TERM("podAffinity", "one"));
    run(&w, SL_SEC);
    assert_true(*node_of(&w, "first"));
    add_pod(&w, "other", "1", "'app':'one'", TERM("podAntiAffinity", "one"));
    run(&w, SL_SEC);
    assert_true(*node_of(&w, "other"));
    assert_string_not_equal(node_of(&w, "first"), node_of(&w, "other"));
    /* A pod that waits for another is placed when that one is. */
    add_pod(&w, "web", "1", "'app':'web'", TERM("podAffinity", "cache"));
    run(&w, 3 * SL_SEC);
    assert_string_equal(node_of(&w, "web"), "");
    add_pod(&w, "cache", "1", "'app':'cache'", "'nodeSelector':{'zone':'y'}");
    run(&w, SL_SEC);
    assert_string_equal(node_of(&w, "web"), "b");
    /* Company is one pod that all terms mean. */
    add_pod(&w, "red", "0", "'color':'red'", "'nodeName':'a'");
    add_pod(&w, "round", "0", "'form':'round'", "'nodeName':'a'");
    add_pod(&w, "p", "1", "",
            TERMS("podAffinity", ABOUT("color", "red", "zone") "," ABOUT("form", "round", "zone")));
    run(&w, 3 * SL_SEC);
    assert_string_equal(node_of(&w, "p"), "");
    add_pod(&w, "ball", "0", "'color':'red','form':'round'", "'nodeName':'b'");
    run(&w, SL_SEC);
    assert_string_equal(node_of(&w, "p"), "b");
    end(&w);
}

/* ---- names of nodes, and labels of namespaces ---- */

#define FIELD(op, name) "{'key':'metadata.name','operator':'" op "','values':['" name "']}"
#define LABEL(key, value) "{'key':'" key "','operator':'In','values':['" value "']}"
#define MUST(terms)                                                                                \
    "'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"               \
    "'nodeSelectorTerms':[" terms "]}}}"
#define NAMED(list) "{'matchFields':[" list "]}"

static void by_name(void **state) {
    static const struct {
        const char *spec, *nodes, *why; /* nodes: any of these letters */
    } cases[] = {
        {MUST(NAMED(FIELD("In", "c"))), "c", ""},
        {MUST(NAMED(FIELD("NotIn", "a"))), "bc", ""},
        {MUST(NAMED(FIELD("NotIn", "a") "," FIELD("NotIn", "c"))), "b", ""},
        {MUST(NAMED(FIELD("In", "b")) "," NAMED(FIELD("In", "d"))), "b", ""},
        {MUST("{'matchExpressions':[" LABEL("disk", "ssd") "],'matchFields':[" FIELD("NotIn",
                                                                                     "b") "]}"),
         "c", ""},
        {MUST("{'matchExpressions':[" LABEL("disk", "tape") "]}," NAMED(FIELD("In", "a"))), "a",
         ""},
        {MUST("{}," NAMED(FIELD("In", "a"))), "a", ""}, /* a term without rules takes no node */
        {MUST("{}"), "",
         "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 node(s) didn't match "
         "Pod's node affinity/selector. no new claims to deallocate, preemption: 0/4 nodes are "
         "available: 4 Preemption is not helpful for scheduling."},
        {MUST(NAMED(FIELD("In", "d"))), "",
         "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 node(s) didn't satisfy "
         "plugin(s) [NodeAffinity]. no new claims to deallocate, preemption: 0/4 nodes are "
         "available: 4 Preemption is not helpful for scheduling."},
        {MUST("{'matchExpressions':[" LABEL("disk", "ssd") "],'matchFields':[" FIELD("In",
                                                                                     "a") "]}"),
         "",
         "0/4 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 3 node(s) "
         "didn't satisfy plugin(s) [NodeAffinity]. no new claims to deallocate, preemption: 0/4 "
         "nodes are available: 4 Preemption is not helpful for scheduling."},
        {MUST(NAMED(FIELD("In", "a") "," FIELD("In", "b"))), "",
         "0/4 nodes are available: pod affinity terms conflict. no new claims to deallocate, "
         "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."},
        {PREFERS("nodeAffinity", NODES_WITH("1", "'matchFields':[" FIELD("NotIn", "a") "," FIELD(
                                                     "NotIn", "b") "]")),
         "c", ""},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct world w;
        begin(&w);
        add_node(&w, "a", 8, "", "");
        add_node(&w, "b", 8, "'disk':'ssd'", "");
        add_node(&w, "c", 8, "'disk':'ssd'", "");
        add_node(&w, "d", 8, "", "'taints':[{'key':'k','effect':'NoSchedule'}]");
        add_pod(&w, "p", "1", "", cases[i].spec);
        run(&w, 3 * SL_SEC);
        const char *on = node_of(&w, "p");
        if (*cases[i].nodes ? !*on || !strstr(cases[i].nodes, on) : *on != 0)
            fail_msg("case %zu: on '%s', not one of '%s': %s", i, on, cases[i].nodes,
                     why_not(&w, "p"));
        assert_string_equal(why_not(&w, "p"), cases[i].why);
        end(&w);
    }
}

#define DB "'topologyKey':'zone','labelSelector':{'matchLabels':{'app':'db'}}"
#define RED "'namespaceSelector':{'matchLabels':{'team':'red'}}"

static void add_namespace(struct world *w, const char *name, const char *labels) {
    post(w, SL_POST, "/api/v1/namespaces", "{'metadata':{'name':'%s','labels':{%s}}}", name,
         labels);
}

/* A database of team red is in zone x, one of team blue in y, one without a team in z. */
static void begin_homes(struct world *w) {
    static const struct {
        const char *ns, *node;
    } pods[] = {{"red", "a"}, {"blue", "b"}, {"ns", "c"}};
    begin(w);
    add_node(w, "a", 8, "'zone':'x'", "");
    add_node(w, "b", 8, "'zone':'y'", "");
    add_node(w, "c", 8, "'zone':'z'", "");
    add_namespace(w, "red", "'team':'red'");
    add_namespace(w, "blue", "'team':'blue'");
    for (size_t i = 0; i < SL_LEN(pods); i++) {
        char path[100];
        (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods", pods[i].ns);
        post(w, SL_POST, path,
             "{'metadata':{'name':'db','labels':{'app':'db'}},'spec':{'nodeName':'%s',"
             "'containers':[{'name':'main'}]}}",
             pods[i].node);
    }
    run(w, SL_SEC);
}

static void namespaces_of_terms(void **state) {
    static const struct {
        const char *spec, *nodes;
    } cases[] = {
        {TERMS("podAffinity", "{" DB "}"), "c"}, /* no namespaces: its own */
        {TERMS("podAffinity", "{" DB ",'namespaceSelector':null}"), "c"},
        {TERMS("podAffinity", "{" DB ",'namespaces':['blue']}"), "b"},
        {TERMS("podAffinity", "{" DB ",'namespaceSelector':{}}"), "abc"},
        {TERMS("podAffinity", "{" DB "," RED "}"), "a"}, /* and its own no longer */
        {TERMS("podAffinity", "{" DB "," RED ",'namespaces':['blue']}"), "ab"},
        {TERMS("podAffinity", "{" DB ",'namespaceSelector':{},'namespaces':['blue']}"), "abc"},
        {TERMS("podAffinity", "{" DB ",'namespaceSelector':{'matchExpressions':[{'key':'team',"
                              "'operator':'NotIn','values':['red','blue']}]}}"),
         "c"},
        {TERMS("podAffinity", "{" DB ",'namespaceSelector':{'matchLabels':{'team':'green'}}}"), ""},
        {TERMS("podAntiAffinity", "{" DB "," RED ",'namespaces':['blue']}"), "c"},
        {TERMS("podAntiAffinity", "{" DB ",'namespaceSelector':{}}"), ""},
        {TERMS("podAntiAffinity", "{" DB ",'namespaceSelector':{'matchExpressions':[{'key':'team',"
                                  "'operator':'Exists'}]}}"),
         "c"},
        {PREFERS("podAffinity", "{'weight':1,'podAffinityTerm':{" DB "," RED "}}"), "a"},
        {PREFERS("podAntiAffinity",
                 "{'weight':1,'podAffinityTerm':{" DB "," RED ",'namespaces':['ns']}}"),
         "b"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct world w;
        begin_homes(&w);
        add_pod(&w, "p", "1", "", cases[i].spec);
        run(&w, 3 * SL_SEC);
        const char *on = node_of(&w, "p");
        if (*cases[i].nodes ? !*on || !strstr(cases[i].nodes, on) : *on != 0)
            fail_msg("case %zu: on '%s', not one of '%s': %s", i, on, cases[i].nodes,
                     why_not(&w, "p"));
        end(&w);
    }
}

/* Namespaces get other labels: waiting pods are evaluated again, also those that scheduled ones
 * repelled. */
static void homes_change(void **state) {
    struct world w;
    (void)state;
    begin_homes(&w);
    add_pod(&w, "p", "1", "",
            TERMS("podAffinity", "{" DB ",'namespaceSelector':{'matchLabels':{'team':'green'}}}"));
    run(&w, 3 * SL_SEC);
    assert_string_equal(node_of(&w, "p"), "");
    post(&w, SL_PATCH, "/api/v1/namespaces/blue", "{'metadata':{'labels':{'team':'green'}}}");
    run(&w, SL_SEC);
    assert_string_equal(node_of(&w, "p"), "b");

    add_pod(&w, "guard", "1", "",
            "'nodeSelector':{'zone':'x'}," TERMS(
                "podAntiAffinity",
                "{'topologyKey':'zone','labelSelector':{'matchLabels':{'app':'web'}}," RED "}"));
    run(&w, SL_SEC);
    assert_string_equal(node_of(&w, "guard"), "a");
    post(&w, SL_POST, "/api/v1/namespaces/red/pods",
         "{'metadata':{'name':'web','labels':{'app':'web'}},'spec':{'nodeSelector':{'zone':'x'},"
         "'containers':[{'name':'main'}]}}");
    add_pod(&w, "web", "1", "'app':'web'", "'nodeSelector':{'zone':'x'}");
    run(&w, 3 * SL_SEC);
    assert_string_equal(node_of(&w, "web"), "a"); /* its namespace is not meant */
    assert_string_equal(
        sl_json_str(fakeapi_get(w.api, "/api/v1/namespaces/red/pods/web"), "spec.nodeName"), "");
    post(&w, SL_PATCH, "/api/v1/namespaces/red", "{'metadata':{'labels':{'team':null}}}");
    run(&w, SL_SEC);
    assert_string_equal(
        sl_json_str(fakeapi_get(w.api, "/api/v1/namespaces/red/pods/web"), "spec.nodeName"), "a");
    end(&w);
}

struct standing {
    uint32_t zone[10], node[1000];
};

static void count_standing(void *ctx, yyjson_val *pod) {
    struct standing *n = ctx;
    const char *on = sl_json_str(pod, "spec.nodeName");
    uint32_t number = *on ? (uint32_t)strtoul(on + 1, NULL, 10) : 0;
    if (!*on)
        return;
    n->zone[number % 10]++;
    n->node[number]++;
}

static void many_spread(void **state) {
    struct world w;
    struct standing n = {0};
    char name[20], zone[30];
    uint32_t pods = 1000;
    struct timespec a, b;
    (void)state;
    begin(&w);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "n%04d", i);
        (void)snprintf(zone, sizeof zone, "'zone':'%d'", i % 10);
        add_node(&w, name, 10, zone, "");
    }
    run(&w, SL_SEC);
    for (uint32_t i = 0; i < pods; i++) {
        (void)snprintf(name, sizeof name, "p%05u", i);
        add_pod(
            &w, name, "1", "'app':'web'",
            SPREAD(ZONE(WEB "," HARD) "},{'maxSkew':1,'topologyKey':'kubernetes.io/hostname'," WEB
                                      "," SOFT) "," PREFERS("podAntiAffinity",
                                                            PODS_WITH("50", "web",
                                                                      "kubernetes.io/hostname")));
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &a);
    run(&w, 100 * SL_SEC);
    (void)clock_gettime(CLOCK_MONOTONIC, &b);
    (void)fakeapi_each(w.api, PODS, count_standing, &n);
    for (int i = 0; i < 10; i++)
        assert_int_equal(n.zone[i], pods / 10);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(n.node[i], 1);
    double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    print_message("# %u pods with spread and preferences on 1000 nodes in %.2f s, %.0f/s\n", pods,
                  s, pods / s);
    end(&w);
}

/* {'metadata':{'name':NAME,'labels':{'k0':'', ...}}}: within what an object may have, but beyond
 * the limit of the scheduler. */
static void add_labelled(struct world *w, const char *path, const char *name, int n) {
    struct sl_buf b = SL_BUF((size_t)4 << 20);

    sl_buf_printf(&b, "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"first\":\"x\"", name);
    for (int i = 0; i < n; i++)
        sl_buf_printf(&b, ",\"%d\":\"\"", i);
    sl_buf_puts(&b, "}}}");
    int status = fakeapi_do(w->api, SL_POST, path, SL_JSON, sl_buf_str(&b), NULL);
    assert_true(status >= 200 && status < 300);
    sl_buf_done(&b);
}

static void too_many_labels(void **state) {
    struct world w;
    (void)state;

    begin(&w);
    add_labelled(&w, NODES, "odd", 140000);
    add_labelled(&w, "/api/v1/namespaces", "odd", 140000);
    add_pod(&w, "p", "1", "", "");
    run(&w, 60 * SL_SEC);
    assert_string_equal(node_of(&w, "p"), "");
    assert_non_null(strstr(why_not(&w, "p"), "1 node(s) had too many labels and taints"));
    add_node(&w, "good", 4, "", "");
    run(&w, 60 * SL_SEC);
    assert_string_equal(node_of(&w, "p"), "good");
    /* a new scheduler with them in the store does, too */
    sl_cluster_free(w.c);
    w.c = sl_cluster_new(&(struct sl_cluster_spec){
        .scheduler = &sl_scheduler, .client = fakeapi_port(w.api, 0), .seed = 2});
    add_pod(&w, "q", "1", "", "");
    run(&w, 60 * SL_SEC);
    assert_string_equal(node_of(&w, "q"), "good");
    end(&w);
}

static void request_pod(struct world *w, const char *pod, int i) {
    post(w, SL_POST, PODS,
         "{'metadata':{'name':'%s-%d'},'spec':{'containers':[{'name':'main','resources':{'requests'"
         ":{'example.com/r%d':'1'}}}]}}",
         pod, i, i);
}

static bool stands(struct world *w, const char *pod, int i) {
    char name[40];
    (void)snprintf(name, sizeof name, "%s-%d", pod, i);
    return *node_of(w, name);
}

static void delete_it(struct world *w, const char *list, const char *what, int i) {
    char path[100];
    (void)snprintf(path, sizeof path, "%s/%s-%d", list, what, i);
    (void)fakeapi_do(w->api, SL_DELETE, path, SL_JSON, "{\"gracePeriodSeconds\":0}", NULL);
}

/* Names of resources come and go, more of them than there may be at a time: each is counted. */
static void ever_new_resources(void **state) {
    char path[100], name[20];
    struct world w;
    (void)state;

    begin(&w);
    for (int i = 0; i < 600; i++) {
        (void)snprintf(name, sizeof name, "n-%d", i);
        add_node(&w, name, 4, "", "");
        (void)snprintf(path, sizeof path, NODES "/%s/status", name);
        post(&w, SL_PATCH, path, "{'status':{'allocatable':{'example.com/r%d':'1'}}}", i);
        request_pod(&w, "p", i);
        request_pod(&w, "q", i);
        run(&w, 2 * SL_SEC);
        assert_int_equal(stands(&w, "p", i) + stands(&w, "q", i), 1);
        delete_it(&w, PODS, "p", i);
        delete_it(&w, PODS, "q", i);
        delete_it(&w, NODES, "n", i);
        run(&w, SL_SEC);
    }
    end(&w);
}

/* A resource beyond the limit is not one that need not be there. */
static void too_many_resources(void **state) {
    struct world w;
    (void)state;

    begin(&w);
    add_node(&w, "good", 4, "", "");
    for (int i = 0; i < 300; i++)
        request_pod(&w, "p", i);
    run(&w, 60 * SL_SEC);
    for (int i = 0; i < 300; i++)
        assert_false(stands(&w, "p", i));
    end(&w);
}

/* A pod that has failed for more reasons than fit. */
static void too_many_conditions(void **state) {
    struct sl_buf b = SL_BUF((size_t)4 << 20);
    struct world w;
    (void)state;

    begin(&w);
    add_pod(&w, "p", "1", "", "");
    sl_buf_puts(&b, "{\"status\":{\"phase\":\"Failed\",\"conditions\":[");
    for (int i = 0; i < 1000; i++)
        sl_buf_printf(&b, "%s{\"type\":\"%0200d\",\"status\":\"True\"}", i ? "," : "", i);
    sl_buf_puts(&b, "]}}");
    assert_int_equal(
        fakeapi_do(w.api, SL_PATCH, PODS "/p/status", SL_MERGE_PATCH, sl_buf_str(&b), NULL), 200);
    add_node(&w, "good", 4, "", "");
    add_pod(&w, "q", "1", "", "");
    run(&w, 60 * SL_SEC);
    assert_string_equal(node_of(&w, "q"), "good");
    end(&w);
    sl_buf_done(&b);
}

/* One term more than is compared, and it is the one that counts; one host port more. */
static void too_many_terms(void **state) {
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    struct world w;
    (void)state;

    begin(&w);
    add_node(&w, "good", 4, "", "");
    add_pod(&w, "enemy", "1", "'app':'enemy'", "");
    run(&w, 60 * SL_SEC);
    sl_buf_puts(&b, "'affinity':{'podAntiAffinity':{"
                    "'requiredDuringSchedulingIgnoredDuringExecution':[");
    for (int i = 0; i < 64; i++)
        sl_buf_printf(&b,
                      "{'topologyKey':'kubernetes.io/hostname','labelSelector':{'matchLabels':{"
                      "'app':'a%d'}}},",
                      i);
    sl_buf_puts(&b, "{'topologyKey':'kubernetes.io/hostname','labelSelector':{'matchLabels':{"
                    "'app':'enemy'}}}]}}");
    add_pod(&w, "p", "1", "", sl_buf_str(&b));
    sl_buf_clear(&b);
    sl_buf_puts(&b, "'initContainers':[{'name':'i','ports':[");
    for (int i = 0; i < 65; i++)
        sl_buf_printf(&b, "%s{'containerPort':%d,'hostPort':%d}", i ? "," : "", i + 1, i + 1);
    sl_buf_puts(&b, "]}]");
    add_pod(&w, "q", "1", "", sl_buf_str(&b));
    run(&w, 60 * SL_SEC);
    assert_string_equal(node_of(&w, "p"), "");
    assert_non_null(strstr(why_not(&w, "p"), "cannot be compared"));
    assert_string_equal(node_of(&w, "q"), "");
    assert_non_null(strstr(why_not(&w, "q"), "cannot be compared"));
    sl_buf_done(&b);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many_labels),
        cmocka_unit_test(too_many_conditions),
        cmocka_unit_test(too_many_terms),
        cmocka_unit_test(gates_open),
        cmocka_unit_test(one_pod),
        cmocka_unit_test(free_resources),
        cmocka_unit_test(spread),
        cmocka_unit_test(priority),
        cmocka_unit_test(affinity_to_pods),
        cmocka_unit_test(ports),
        cmocka_unit_test(no_nodes),
        cmocka_unit_test(many),
        cmocka_unit_test(wishes),
        cmocka_unit_test(even_again),
        cmocka_unit_test(hard_spread),
        cmocka_unit_test(soft_taints),
        cmocka_unit_test(affinity_to_itself),
        cmocka_unit_test(many_spread),
        cmocka_unit_test(by_name),
        cmocka_unit_test(namespaces_of_terms),
        cmocka_unit_test(ever_new_resources),
        cmocka_unit_test(too_many_resources),
        cmocka_unit_test(homes_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
