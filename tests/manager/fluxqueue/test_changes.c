/* SPDX-License-Identifier: Apache-2.0 */
/* What runs is changed: templates, nodes, FluxJobs that somebody wrote, and restarts between. */
#include "fqtest.h"

#include <stdio.h>

#include "lib/log/log.h"
#include "manager/fluxqueue/fq_int.h"

#define TEXT 2048
#define CLAIMS "/api/v1/namespaces/default/persistentvolumeclaims"
#define MARK "/api/v1/namespaces/kueue-system/configmaps/sluice-fluxqueue"

/* ---- templates ---- */

/* Pods of the new template take what they request, on the graph, too. */
static void test_larger_template(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    set(w, "set", 2, "1");
    (void)child_of(w, "StatefulSet", "set", 0, "1");
    (void)child_of(w, "StatefulSet", "set", 1, "1");
    run(w, SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
    roll(w, SETS "/set", "2");
    run(w, SL_SEC);
    drop(w, PODS "/set-1");
    run(w, SL_SEC);
    (void)child_of(w, "StatefulSet", "set", 1, "2");
    run(w, SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
    /* One and two of four are in use. */
    pod(w, "a", "2", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    restart(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    pod(w, "b", "1", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    /* The other one has no room there any more, and waits for another node. */
    drop(w, PODS "/set-0");
    run(w, SL_SEC);
    (void)child_of(w, "StatefulSet", "set", 0, "2");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Growing");
    drop(w, PODS "/a");
    node(w, "n1", "2");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n1");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.nodeList", "n[0-1]");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Allocated");
}

static void test_smaller_template(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    set(w, "set", 2, "2");
    (void)child_of(w, "StatefulSet", "set", 0, "2");
    (void)child_of(w, "StatefulSet", "set", 1, "2");
    run(w, SL_SEC);
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    roll(w, SETS "/set", "1");
    drop(w, PODS "/set-1");
    run(w, SL_SEC);
    (void)child_of(w, "StatefulSet", "set", 1, "1");
    run(w, SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "Waiting");
}

/* A set with a partition makes pods of its old template, too. */
static void test_two_templates(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    set(w, "set", 2, "1");
    (void)child_of(w, "StatefulSet", "set", 0, "1");
    (void)child_of(w, "StatefulSet", "set", 1, "1");
    run(w, SL_SEC);
    roll(w, SETS "/set", "3");
    drop(w, PODS "/set-0");
    drop(w, PODS "/set-1");
    run(w, SL_SEC);
    (void)child_of(w, "StatefulSet", "set", 1, "3");
    (void)child_of(w, "StatefulSet", "set", 0, "1");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0");
    pod(w, "a", "1", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    restart(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    drop(w, PODS "/a");
    run(w, SL_SEC);
    /* An old one is replaced by an old one. */
    drop(w, PODS "/set-0");
    run(w, SL_SEC);
    (void)child_of(w, "StatefulSet", "set", 0, "1");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0");
}

/* Below the partition the place of a pod that is replaced keeps its size: what the new template
 * does without is nobody else's. */
static void test_partition(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    set(w, "set", 2, "2");
    patch(w, SETS "/set",
          SL_JSON_CONST({"spec" : {"updateStrategy" : {"rollingUpdate" : {"partition" : 1}}}}));
    (void)child_of(w, "StatefulSet", "set", 0, "2");
    (void)child_of(w, "StatefulSet", "set", 1, "2");
    run(w, SL_SEC);
    pod(w, "a", "1", "", "");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    roll(w, SETS "/set", "1");
    drop(w, PODS "/set-1");
    run(w, SL_SEC);
    (void)child_of(w, "StatefulSet", "set", 1, "1");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    drop(w, PODS "/set-0");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "");
    (void)child_of(w, "StatefulSet", "set", 0, "2");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0");
    /* Without it, the next one is of the new template. */
    patch(w, SETS "/set",
          SL_JSON_CONST({"spec" : {"updateStrategy" : {"rollingUpdate" : {"partition" : 0}}}}));
    drop(w, PODS "/set-0");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* ---- pods that are gated ---- */

#define SELECTS_N1 SL_JSON_CONST({"spec" : {"nodeSelector" : {"kubernetes.io/hostname" : "n1"}}})

/* It is bound by the node selector that it has when it starts. */
static void test_narrowed(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    node(w, "n1", "4");
    pod(w, "large", "4", "", "");
    run(w, SL_SEC);
    pod(w, "a", "4", "", "");
    pod(w, "b", "4", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "Waiting");
    patch(w, PODS "/b", SELECTS_N1);
    run(w, SL_SEC);
    assert_non_null(strstr(at(w, FLUXJOBS "/b-pod", "spec.jobspec"), "n1"));
    phase(w, "large", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "Waiting");
    phase(w, "a", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n1");
}

#define TWO_GATES(name)                                                                            \
    "{'metadata':{'name':'" name "','labels':{'fluxqueue.seen':'yes'}},'spec':{'containers':[{"    \
    "'name':'main','image':'busybox','resources':{'requests':{'cpu':'4','memory':'64Mi'}}}],"      \
    "'schedulerName':'FluxionScheduler','schedulingGates':[{'name':'fluxqueue'},{'name':"          \
    "'example.com/b'}]}}"

/* The same when it has its place, and waits for others to remove their gate. */
static void test_narrowed_late(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    node(w, "n1", "4");
    create(w, PODS, TWO_GATES("a"));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.nodeList", "n0");
    patch(w, PODS "/a", SELECTS_N1);
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.nodeList", "n1");
    uint32_t writes = w->writes;
    run(w, SL_MINUTE);
    assert_int_equal(w->writes, writes);
    patch(w, PODS "/a", SL_JSON_CONST({"spec" : {"schedulingGates" : null}}));
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
    phase(w, "a", "Succeeded");
    /* Both at once. */
    create(w, PODS, TWO_GATES("b"));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.nodeList", "n0");
    patch(w, PODS "/b", SL_JSON_CONST({
              "spec" :
                  {"schedulingGates" : null, "nodeSelector" : {"kubernetes.io/hostname" : "n1"}}
          }));
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n1");
    pod(w, "c", "4", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
}

/* ---- pods that are resized in place ---- */

/* The node has 4: while the pod has 1 another of 3 fits, and while it has 2 none does. */
static void check_resized(struct world *w, const char *path) {
    resize(w, path, "2");
    run(w, SL_SEC);
    plain(w, "other", "3", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/other", "spec.nodeName", "");
    resize(w, path, "1");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/other", "spec.nodeName", "n0");
    drop(w, PODS "/other");
    run(w, SL_SEC);
}

static void test_resized(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    create(w, PODS,
           "{'metadata':{'name':'foreign'},'spec':{'nodeName':'n0','containers':[{'name':'main',"
           "'image':'busybox','resources':{'requests':{'cpu':'1','memory':'64Mi'}}}]}}");
    run(w, SL_SEC);
    check_resized(w, PODS "/foreign");
    drop(w, PODS "/foreign");
    plain(w, "plain", "1", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/plain", "spec.nodeName", "n0");
    check_resized(w, PODS "/plain");
    drop(w, PODS "/plain");
    set(w, "set", 1, "1");
    (void)child_of(w, "StatefulSet", "set", 0, "1");
    run(w, SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0");
    check_resized(w, PODS "/set-0");
    /* One that waits for a node asks for what it requests now. */
    plain(w, "large", "4", "");
    run(w, SL_SEC);
    resize(w, PODS "/large", "3");
    run(w, SL_SEC);
    assert_field(w, PODS "/large", "spec.nodeName", "n0");
}

/* A pod that is being deleted, and has never started, is kept by a finalizer: the one that comes in
 * its place gets its node. */
static void test_lingers(void **state) {
    struct world *w = *state;
    char body[TEXT];
    node(w, "n0", "1");
    create(w, REPLICASETS,
           "{'metadata':{'name':'r','labels':{'fluxqueue.seen':'yes'}},'spec':{'replicas':1,"
           "'template':{'metadata':{'labels':{'fluxqueue.seen':'yes'}},'spec':{'containers':[{"
           "'name':'main','image':'busybox','resources':{'requests':{'cpu':'1','memory':'64Mi'}}}],"
           "'schedulerName':'FluxionScheduler','schedulingGates':[{'name':'fluxqueue'}]}}}}");
    run(w, SL_SEC);
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'r-0','labels':{'fluxqueue.seen':'yes'},'finalizers':['a/b'],"
           "'ownerReferences':[{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'r','uid':'%s',"
           "'controller':true}]},'spec':{'containers':[{'name':'main','image':'busybox',"
           "'resources':{'requests':{'cpu':'1','memory':'64Mi'}}}],'schedulerName':"
           "'FluxionScheduler','schedulingGates':[{'name':'fluxqueue'},{'name':'theirs'}]}}",
           at(w, REPLICASETS "/r", "metadata.uid"));
    create(w, PODS, body);
    run(w, SL_SEC);
    drop(w, PODS "/r-0");
    (void)child_of(w, "ReplicaSet", "r", 1, "1");
    run(w, 10 * SL_SEC);
    assert_field(w, PODS "/r-0", "spec.nodeName", "");
    assert_field(w, PODS "/r-1", "spec.nodeName", "n0");
}

/* ---- nodes ---- */

static void test_cordoned(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    node(w, "n1", "2");
    set(w, "set", 2, "1");
    (void)child_of(w, "StatefulSet", "set", 0, "1");
    (void)child_of(w, "StatefulSet", "set", 1, "1");
    run(w, SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : true}}));
    run(w, SL_SEC);
    drop(w, PODS "/set-1");
    run(w, SL_SEC);
    (void)child_of(w, "StatefulSet", "set", 1, "1");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n1");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.nodeList", "n[0-1]");
    /* One that is there may stay; what is free of the node is not held. */
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0");
    pod(w, "a", "1", "", "'tolerations':[{'operator':'Exists'}]");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    /* With the cordon in the same moment, and after a restart. */
    stop(w, 0);
    patch(w, NODES "/n1", SL_JSON_CONST({"spec" : {"unschedulable" : true}}));
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : null}}));
    drop(w, PODS "/a");
    drop(w, PODS "/set-1");
    (void)child_of(w, "StatefulSet", "set", 1, "1");
    start(w, 0, false);
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
}

/* A place that is in use when its node is cordoned is none for the next pod. */
static void test_cordoned_in_use(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    node(w, "n1", "2");
    set(w, "set", 2, "1");
    (void)child_of(w, "StatefulSet", "set", 0, "1");
    (void)child_of(w, "StatefulSet", "set", 1, "1");
    run(w, SL_SEC);
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : true}}));
    for (int i = 2; i-- > 0;) {
        drop(w, i ? PODS "/set-1" : PODS "/set-0");
        run(w, SL_SEC);
        (void)child_of(w, "StatefulSet", "set", (int)i, "1");
        run(w, 5 * SL_SEC);
        assert_field(w, i ? PODS "/set-1" : PODS "/set-0", "spec.nodeName", "n1");
    }
    assert_field(w, FLUXJOBS "/set-statefulset", "status.nodeList", "n1");
}

/* Nothing of it is there yet when its node is cordoned. */
static void test_cordoned_before(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    node(w, "n1", "2");
    job(w, "job", 2, "1", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.nodeList", "n0");
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : true}}));
    run(w, SL_SEC);
    child(w, "Job", "job", 0);
    child(w, "Job", "job", 1);
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/job-0", "spec.nodeName", "n1");
    assert_field(w, PODS "/job-1", "spec.nodeName", "n1");
    assert_field(w, FLUXJOBS "/job-job", "status.nodeList", "n1");
}

/* A node that is not ready for a moment is none that a set loses. */
static void test_not_ready(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    set(w, "set", 2, "1");
    (void)child_of(w, "StatefulSet", "set", 0, "1");
    run(w, SL_SEC);
    patch(w, NODES "/n0/status",
          SL_JSON_CONST({"status" : {"conditions" : [ {"type" : "Ready", "status" : "False"} ]}}));
    run(w, SL_SEC);
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    patch(w, NODES "/n0/status",
          SL_JSON_CONST({"status" : {"conditions" : [ {"type" : "Ready", "status" : "True"} ]}}));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    (void)child_of(w, "StatefulSet", "set", 1, "1");
    run(w, SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
}

/* ---- more than there may be ---- */

static struct fq_node *node_record(struct world *w, const char *name) {
    return fq_node_of(sl_inf_find(w->q[0]->inf, FQ_NODE, "", name));
}

/* What pods of others say that they request is no pool of a node that has none of it. */
static void test_foreign_resources(void **state) {
    struct world *w = *state;
    char body[TEXT];
    node(w, "n0", "4");
    plain(w, "a", "1", "");
    for (int i = 0; i < 20; i++) {
        sl_fmt(body, sizeof body,
               "{'metadata':{'name':'f%d'},'spec':{'nodeName':'n0','containers':[{'name':'a',"
               "'ports':[{'hostPort':%d}],'resources':{'requests':{'example.com/x%d':'2'}}}]}}",
               i, 8000 + i, i);
        create(w, PODS, body);
    }
    run(w, SL_SEC);
    assert_int_equal(node_record(w, "n0")->pools.n, 3);
    /* When the node has it, it counts. */
    patch(w, NODES "/n0/status",
          SL_JSON_CONST({"status" : {"allocatable" : {"example.com/x7" : "3"}}}));
    run(w, SL_SEC);
    struct fq_pool *p =
        fq_pool_find(node_record(w, "n0"), sl_sym_find(&w->q[0]->inf->syms, "example.com/x7"));
    assert_non_null(p);
    assert_int_equal(p->foreign, 2);
    assert_int_equal(p->standing, 2);
    patch(w, NODES "/n0/status",
          SL_JSON_CONST({"status" : {"allocatable" : {"example.com/x7" : null}}}));
    run(w, SL_SEC);
    assert_int_equal(node_record(w, "n0")->pools.n, 3);
}

static bool is_interned(struct world *w, const char *text) {
    return sl_sym_find(&w->q[0]->inf->syms, text) != SL_MAP_NONE;
}

/* A name is no longer than names are: others' texts are not kept. */
static void test_long_names(void **state) {
    static const char *const keys[] = {"fluxqueue/fluxion-nodes", "kueue.x-k8s.io/workload",
                                       "volume.kubernetes.io/selected-node"};
    struct world *w = *state;
    char name[FQ_MAX_NAME + 2], body[TEXT];
    node(w, "n0", "4");
    pod(w, "a", "1", "", "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'c'}}]");
    run(w, SL_SEC);
    for (uint32_t i = 0; i < SL_LEN(keys); i++)
        for (uint32_t len = FQ_MAX_NAME; len <= FQ_MAX_NAME + 1; len++) {
            memset(name, 'a' + (int)i, len);
            name[len] = '\0';
            sl_fmt(body, sizeof body,
                   "{'metadata':{'name':'x%u-%u','annotations':{'%s':'%s'}},'spec':{'nodeName':"
                   "'n0','containers':[]}}",
                   i, len, keys[i], name);
            create(w, i == 2 ? CLAIMS : PODS, body);
            run(w, SL_SEC);
            assert_int_equal(is_interned(w, name), len <= FQ_MAX_NAME);
        }
}

static void taint(struct world *w, const char *name, int first, int n) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(1 << 16);
    char path[64];
    sl_buf_puts(&b, "{\"spec\":{\"taints\":[");
    for (int i = first; i < first + n; i++)
        sl_buf_printf(&b, "%s{\"key\":\"k%d\",\"effect\":\"NoSchedule\"}", i > first ? "," : "", i);
    sl_buf_puts(&b, "]}}");
    sl_fmt(path, sizeof path, NODES "/%s", name);
    patch(w, path, sl_buf_str(&b));
}

/* Nodes with more taints, or types of GPUs, than can be told apart do not stop the others. */
static void test_too_different(void **state) {
    struct world *w = *state;
    char name[16], path[64], body[200];
    node(w, "n0", "4");
    pod(w, "large", "8", "", "'tolerations':[{'operator':'Exists'}]");
    run(w, SL_SEC);
    for (int i = 1; i <= (int)(FQ_MAX_TAINTS / FQ_MAX_NODE_TAINTS) + 1; i++) {
        sl_fmt(name, sizeof name, "n%d", i);
        node(w, name, "1");
        taint(w, name, i * 64, 64);
    }
    run(w, SL_SEC);
    pod(w, "a", "1", "", "");
    node(w, "last", "8");
    taint(w, "last", 0, 1);
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    assert_field(w, PODS "/large", "spec.nodeName", "");
    /* There is room for it when others have fewer. */
    taint(w, "n1", 0, 1);
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/large", "spec.nodeName", "last");
    for (uint32_t i = 1; i <= FQ_MAX_GPU_TYPES + 1; i++) {
        sl_fmt(path, sizeof path, NODES "/n%u/status", i);
        sl_fmt(body, sizeof body, "{\"status\":{\"allocatable\":{\"v%u.com/gpu\":\"1\"}}}", i);
        patch(w, path, body);
    }
    run(w, SL_SEC);
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* ---- job ids ---- */

static void test_ids_are_used_once(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/b-pod", "status.jobid"), 2);
    drop(w, PODS "/b");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "(absent)");
    assert_string_equal(sl_json_str(sl_json_get(fakeapi_get(w->api, MARK), "data"), "lastJobid"),
                        "2");
    restart(w, 10 * SL_SEC);
    pod(w, "c", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/c-pod", "status.jobid"), 3);
    /* One that goes and is not the last needs no write. */
    drop(w, PODS "/a");
    run(w, SL_SEC);
    assert_string_equal(sl_json_str(sl_json_get(fakeapi_get(w->api, MARK), "data"), "lastJobid"),
                        "2");
    drop(w, PODS "/c");
    run(w, SL_SEC);
    restart(w, 10 * SL_SEC);
    pod(w, "d", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/d-pod", "status.jobid"), 4);
    assert_true(sl_fluxqueue_idle(w->q[0]));
}

/* Two replicas in turns: the other one has not seen what this one gave. */
static void test_ids_of_two(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    start(w, 1, true);
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    sl_fluxqueue_lead(w->q[0], false);
    sl_fluxqueue_lead(w->q[1], true);
    run(w, SL_SEC);
    stop(w, 0);
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    drop(w, PODS "/b");
    drop(w, PODS "/a");
    run(w, SL_SEC);
    start(w, 0, true);
    run(w, SL_SEC);
    sl_fluxqueue_lead(w->q[1], false);
    sl_fluxqueue_lead(w->q[0], true);
    run(w, SL_SEC);
    pod(w, "c", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/c-pod", "status.jobid"), 3);
}

static int refuse_maps(void *ctx, const struct fakeapi_write *x, struct sl_buf *why) {
    (void)ctx;
    sl_buf_puts(why, "no");
    return strcmp(x->kind->plural, "configmaps") == 0 ? 403 : 0;
}

/* Where it may not be recorded, nobody waits for it. */
static void test_ids_without_right(void **state) {
    struct world *w = *state;
    fakeapi_on_write(w->api, refuse_maps, w);
    node(w, "n0", "4");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    drop(w, PODS "/a");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "(absent)");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/b-pod", "status.jobid"), 2);
    assert_true(sl_fluxqueue_idle(w->q[0]));
}

/* ---- leaders in turns ---- */

/* What it knew when it led before is not what the status says now. */
static void test_leads_again(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    set(w, "set", 1, "1");
    (void)child_of(w, "StatefulSet", "set", 0, "1");
    start(w, 1, true);
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/set-statefulset", "status.pods.bound"), 1);
    sl_fluxqueue_lead(w->q[0], false);
    sl_fluxqueue_lead(w->q[1], true);
    run(w, SL_SEC);
    drop(w, PODS "/set-0");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/set-statefulset", "status.pods.bound"), 0);
    (void)child_of(w, "StatefulSet", "set", 0, "2");
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Growing");
    drop(w, PODS "/set-0");
    sl_fluxqueue_lead(w->q[1], false);
    (void)child_of(w, "StatefulSet", "set", 0, "1");
    patch(w, PODS "/set-0", SL_JSON_CONST({"spec" : {"schedulingGates" : null}}));
    patch(w, PODS "/set-0", SL_JSON_CONST({"spec" : {"nodeName" : "n0"}}));
    sl_fluxqueue_lead(w->q[0], true);
    run(w, 5 * SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/set-statefulset", "status.pods.bound"), 1);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Allocated");
}

/* What it decided when it led before, and could not write, is in nobody's way when it leads again.
 */
static void test_decided_in_vain(void **state) {
    struct world *w = *state;
    struct fakeapi_faults lost = {.lose_request = 1};
    node(w, "n0", "1");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    pod(w, "c", "1", "", "");
    run(w, SL_SEC);
    fakeapi_set_faults(w->api, &lost);
    phase(w, "a", "Succeeded");
    run(w, SL_SEC); /* 'b' has the place, which nobody gets to know */
    sl_fluxqueue_lead(w->q[0], false);
    fakeapi_set_faults(w->api, NULL);
    run(w, SL_MINUTE);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "Waiting");
    patch(w, FLUXJOBS "/c-pod", SL_JSON_CONST({"spec" : {"priority" : 10}}));
    sl_fluxqueue_lead(w->q[0], true);
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "Waiting");
    assert_field(w, FLUXJOBS "/c-pod", "status.state", "Running");
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
}

/* It gave back a place in vain, since its node has a taint: when it leads again that is known of
 * the place that is read. */
static void test_given_back_in_vain(void **state) {
    struct world *w = *state;
    struct fakeapi_faults lost = {.lose_request = 1};
    node(w, "n0", "1");
    set(w, "set", 1, "1");
    (void)child_of(w, "StatefulSet", "set", 0, "1");
    run(w, SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0");
    patch(w, NODES "/n0",
          SL_JSON_CONST({"spec" : {"taints" : [ {"key" : "a", "effect" : "NoSchedule"} ]}}));
    run(w, SL_SEC);
    fakeapi_set_faults(w->api, &lost);
    drop(w, PODS "/set-0");
    run(w, SL_SEC);
    sl_fluxqueue_lead(w->q[0], false);
    fakeapi_set_faults(w->api, NULL);
    run(w, SL_MINUTE);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.nodeList", "n0");
    (void)child_of(w, "StatefulSet", "set", 0, "1");
    sl_fluxqueue_lead(w->q[0], true);
    run(w, 10 * SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "");
    node(w, "n1", "1");
    run(w, 10 * SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n1");
}

/* It leads again while the id that it gave is on its way to the API: that one counts. */
static void test_leads_too_soon(void **state) {
    struct world *w = *state;
    struct fakeapi_faults slow = {.delay = 1};
    node(w, "n0", "2");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    pod(w, "b", "1", "", "");
    while (number(w, FLUXJOBS "/b-pod", "spec.type") < 0)
        run(w, SL_MSEC);
    fakeapi_set_faults(w->api, &slow);
    run(w, 10 * SL_MSEC);
    fakeapi_set_faults(w->api, NULL);
    sl_fluxqueue_lead(w->q[0], false);
    sl_fluxqueue_lead(w->q[0], true);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "");
    assert_false(sl_fluxqueue_idle(w->q[0]));
    run(w, 10 * SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/b-pod", "status.jobid"), 2);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* ---- FluxJobs that somebody wrote ---- */

#define BY_HAND(name, more)                                                                        \
    "{'metadata':{'name':'" name "-pod'},'spec':{'type':0,'name':'" name "'" more                  \
    ",'jobspec':'{version: 1, resources: [{type: slot, count: 1, label: a, with: [{type: core, "   \
    "count: 3}]}], tasks: [{command: [a], slot: a, count: {per_slot: 1}}], attributes: {%s}}'}}"

static void by_hand(struct world *w, const char *format, const char *attributes) {
    char body[TEXT];
    const char *mark = strstr(format, "%s");
    sl_fmt(body, sizeof body, "%.*s%s%s", (int)(mark - format), format, attributes, mark + 2);
    create(w, FLUXJOBS, body);
}

/* How long it runs is known by spec.duration, unless its jobspec says so itself. */
static void test_duration(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    by_hand(w, BY_HAND("long", ",'duration':1000"), "");
    pod(w, "long", "3", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/long", "spec.nodeName", "n0");
    pod(w, "large", "4", "", "");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/large-pod", "status.state", "Reserved");
    assert_field(w, FLUXJOBS "/large-pod", "status.estimatedStart", "2026-01-01T00:16:40Z");
    restart(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/large-pod", "status.estimatedStart", "2026-01-01T00:16:40Z");
    /* It is told that it may run for longer. */
    patch(w, FLUXJOBS "/long-pod", SL_JSON_CONST({"spec" : {"duration" : 2000}}));
    run(w, 2 * SL_MINUTE);
    assert_field(w, FLUXJOBS "/large-pod", "status.estimatedStart", "2026-01-01T00:33:20Z");
}

static void test_duration_of_jobspec(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    by_hand(w, BY_HAND("long", ",'duration':1000"), "system: {duration: 500}");
    pod(w, "long", "3", "", "");
    run(w, SL_SEC);
    pod(w, "large", "4", "", "");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/large-pod", "status.estimatedStart", "2026-01-01T00:08:20Z");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_larger_template), TEST(test_smaller_template),
        TEST(test_two_templates),   TEST(test_partition),
        TEST(test_narrowed),        TEST(test_narrowed_late),
        TEST(test_resized),         TEST(test_foreign_resources),
        TEST(test_long_names),      TEST(test_too_different),
        TEST(test_lingers),         TEST(test_cordoned),
        TEST(test_cordoned_in_use), TEST(test_cordoned_before),
        TEST(test_not_ready),       TEST(test_ids_are_used_once),
        TEST(test_ids_of_two),      TEST(test_ids_without_right),
        TEST(test_leads_again),     TEST(test_decided_in_vain),
        TEST(test_duration),        TEST(test_duration_of_jobspec),
        TEST(test_leads_too_soon),  TEST(test_given_back_in_vain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
