/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quota and nodes in one decision: what waits for nodes although there is quota, who is evicted for
 * it and who is not, where pods go, and what remains over a restart.
 */
#include "exact_fixture.h"

/* ---- waiting for nodes ---- */

#define ONE(gpus) PODSET("main", "1", gpus, "")

/* The case of Kueue's issue 5243: eight GPUs are free, two on each of four nodes. A pod of eight
 * waits, whatever its priority is, and nobody is evicted where that would not help. */
static void test_eight_free_in_four_places(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    for (int i = 1; i <= 4; i++) {
        char node[8], pod[8];
        sl_fmt(node, sizeof node, "n%d", i);
        sl_fmt(pod, sizeof pod, "o%d", i);
        gpu_node(&w, node, 8, "", "");
        other_pod(&w, pod, node, "4");
    }
    for (int i = 1; i <= 4; i++) {
        char name[8], podset[512];
        sl_fmt(name, sizeof name, "low%d", i);
        sl_fmt(podset, sizeof podset,
               PODSET("main", "1", "2", ",'nodeSelector':{'kubernetes.io/hostname':'n%d'}"), i);
        workload_of(&w, name, 1, podset);
        run(&w, SETTLE);
        assert_true(is(&w, name, "Admitted"));
    }
    workload_of(&w, "big", 9, ONE("8"));
    run(&w, SETTLE);
    assert_waits(&w, "big",
                 "couldn't assign flavors to pod set main: no set of nodes has room for 1 pod(s)");
    assert_string_equal(condition(&w, "big", "QuotaReserved", "reason"), "Pending");
    for (int i = 1; i <= 4; i++) {
        char name[8];
        sl_fmt(name, sizeof name, "low%d", i);
        assert_false(is(&w, name, "Evicted"));
    }
    /* As soon as the others have left one node, one is in the way, and that one goes. */
    pod_phase(&w, "o3", "Succeeded");
    run(&w, SETTLE);
    assert_waits(&w, "big", "Pending the preemption of 1 workload(s)");
    uint32_t evicted = 0;
    for (int i = 1; i <= 4; i++) {
        char name[8];
        sl_fmt(name, sizeof name, "low%d", i);
        evicted += is(&w, name, "Evicted");
        if (is(&w, name, "Evicted")) {
            assert_string_equal(nodes_of(&w, name, 0), "n3:1");
            release(&w, name);
        }
    }
    assert_int_equal(evicted, 1);
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "big", 0), "n3:1");
    restart_both(&w, 1);
    end_exact(&w);
}

/* No node is large enough, though all together are: told so, and nobody is evicted. */
static void test_never(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    gpu_node(&w, "n2", 4, "", "");
    workload_of(&w, "low", 0, ONE("4"));
    run(&w, SETTLE);
    workload_of(&w, "big", 9, ONE("8"));
    run(&w, SETTLE);
    assert_waits(&w, "big", "no set of nodes has what 1 pod(s) request, even if all were free");
    assert_false(is(&w, "low", "Evicted"));
    gpu_node(&w, "n3", 8, "", "");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "big", 0), "n3:1");
    assert_false(is(&w, "low", "Evicted"));
    end_exact(&w);
}

/* A gang has all of its nodes or none: what it cannot use is not held. */
static void test_gang(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 7, "", "");
    gpu_node(&w, "n2", 7, "", "");
    workload_of(&w, "gang", 0, PODSET("main", "3", "4", ""));
    run(&w, SETTLE);
    assert_waits(&w, "gang", "no set of nodes has what 3 pod(s) request, even if all were free");
    workload_of(&w, "small", 0, PODSET("main", "4", "3", ""));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "small", 0), "n1:2 n2:2");
    restart_both(&w, 1);
    finish(&w, "small");
    gpu_node(&w, "n3", 4, "", "");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "gang", 0), "n1:1 n2:1 n3:1");
    end_exact(&w);
}

/* Several podsets: all or nothing, in whatever order they have to be looked at. */
static void test_podsets(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 8, ",'disk':'fast'", "");
    gpu_node(&w, "n2", 8, "", "");
    workload_of(&w, "both", 0,
                PODSET("main", "1", "8", "") "," PODSET("fast", "1", "8",
                                                        ",'nodeSelector':{'disk':'fast'}"));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "both", 0), "n2:1");
    assert_string_equal(nodes_of(&w, "both", 1), "n1:1");
    restart_both(&w, 1);
    workload_of(&w, "more", 0,
                PODSET("main", "1", "0", "") "," PODSET("fast", "1", "8",
                                                        ",'nodeSelector':{'disk':'fast'}"));
    run(&w, SETTLE);
    assert_waits(&w, "more", "pod set fast: no set of nodes has room for 1 pod(s)");
    finish(&w, "both");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "more", 1), "n1:1");
    end_exact(&w);
}

/* Free GPUs where the pod may not go are none. */
static void test_where(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 8, ",'gpu':'old'", "");
    gpu_node(&w, "n2", 8, ",'gpu':'new'", "{'key':'team','value':'b','effect':'NoSchedule'}");
    workload_of(&w, "selects", 0, PODSET("main", "1", "1", ",'nodeSelector':{'gpu':'new'}"));
    workload_of(&w, "affine", 0,
                PODSET("main", "1", "1",
                       ",'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuring"
                       "Execution':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'gpu',"
                       "'operator':'NotIn','values':['old']}]}]}}}"));
    workload_of(&w, "tolerates", 0,
                PODSET("main", "1", "1",
                       ",'nodeSelector':{'gpu':'new'},'tolerations':[{'key':'team','operator':"
                       "'Exists'}]"));
    run(&w, SETTLE);
    assert_waits(&w, "selects", "even if all were free");
    assert_waits(&w, "affine", "even if all were free");
    assert_string_equal(nodes_of(&w, "tolerates", 0), "n2:1");
    patch(&w, "/api/v1/nodes/n2", "{'spec':{'taints':null}}");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "selects", 0), "n2:1");
    assert_string_equal(nodes_of(&w, "affine", 0), "n2:1");
    restart_both(&w, 1);
    end_exact(&w);
}

/* One pod on each node by anti-affinity, and a node for one alone. */
static void test_spread(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 8, "", "");
    gpu_node(&w, "n2", 8, "", "");
    workload_of(
        &w, "apart", 0,
        "{'name':'main','count':3,'template':{'metadata':{'labels':{'app':'a'}},'spec':{" REQUESTS(
            "1") ",'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':"
                 "[{'labelSelector':{'matchLabels':{'app':'a'}},'topologyKey':"
                 "'kubernetes.io/hostname'}]}}}}}");
    run(&w, SETTLE);
    assert_waits(&w, "apart", "even if all were free");
    gpu_node(&w, "n3", 8, "", "");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "apart", 0), "n1:1 n2:1 n3:1");
    workload_of(&w, "alone", 0,
                "{'name':'main','count':1,'template':{'metadata':{'annotations':{"
                "'fluxqueue/whole-nodes':'true'}},'spec':{" REQUESTS("1") "}}}");
    run(&w, SETTLE);
    workload_of(&w, "like", 0, ONE("1")); /* but for what keeps that one waiting */
    run(&w, SETTLE);
    assert_waits(&w, "alone", "no set of nodes has room for 1 pod(s)");
    assert_true(is(&w, "like", "Admitted"));
    finish(&w, "like");
    gpu_node(&w, "n4", 8, "", "");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "alone", 0), "n4:1");
    workload_of(&w, "beside", 0, PODSET("main", "4", "7", ""));
    run(&w, SETTLE);
    assert_waits(&w, "beside", "only for 3 of them");
    restart_both(&w, 1);
    assert_waits(&w, "beside", "only for 3 of them");
    end_exact(&w);
}

/* ---- what holds between the pods of a podset ---- */

#define APART                                                                                      \
    "'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"           \
    "'labelSelector':{'matchLabels':{'app':'a'}},'topologyKey':'kubernetes.io/hostname'}]}},"
#define SKEW_2                                                                                     \
    "'topologySpreadConstraints':[{'labelSelector':{'matchLabels':{'app':'a'}},'maxSkew':2,"       \
    "'whenUnsatisfiable':'DoNotSchedule','topologyKey':'kubernetes.io/hostname'}],"

/* An elastic one, or the slice that follows another. */
static void elastic(struct world *w, const char *name, const char *before, int pods,
                    const char *annotations, const char *rules) {
    char text[2048], follows[100] = "";
    if (*before)
        sl_fmt(follows, sizeof follows, ",'kueue.x-k8s.io/workload-slice-replacement-for':'ns/%s'",
               before);
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s','annotations':{'kueue.x-k8s.io/workload-slice-name':'first'%s}"
           ",'labels':{'kueue.x-k8s.io/job-uid':'u'},'ownerReferences':[{'apiVersion':'x/v1',"
           "'kind':'X','name':'x','uid':'u'}]},'spec':{'active':true,'queueName':'q','podSets':[{"
           "'name':'main','count':%d,'template':{'metadata':{'labels':{'app':'a'},'annotations':{"
           "%s}},'spec':{%s" REQUESTS("1") "}}}]}}",
           name, follows, pods, annotations, rules);
    create(w, WORKLOADS, text);
    run(w, SETTLE);
}

static void test_apart_failed(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 8, "", "");
    gpu_node(&w, "n2", 8, "", "");
    gpu_node(&w, "n3", 8, "", "");
    elastic(&w, "first", "", 3, "", APART);
    assert_string_equal(nodes_of(&w, "first", 0), "n1:1 n2:1 n3:1");
    set_ready(&w, "n2", false);
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "first", 0), "n1:1 n2:1 n3:1"); /* there is no other */
    gpu_node(&w, "n4", 8, "", "");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "first", 0), "n1:1 n3:1 n4:1");
    restart_both(&w, 1);
    end_exact(&w);
}

static void test_apart_slices(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 8, "", "");
    elastic(&w, "first", "", 1, "", APART);
    assert_string_equal(nodes_of(&w, "first", 0), "n1:1");
    elastic(&w, "second", "first", 2, "", APART);
    assert_waits(&w, "second", "no set of nodes");
    gpu_node(&w, "n2", 8, "", "");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "second", 0), "n1:1 n2:1");
    gpu_node(&w, "n3", 8, "", "");
    gpu_node(&w, "n4", 8, "", "");
    elastic(&w, "third", "second", 4, "", APART);
    assert_string_equal(nodes_of(&w, "third", 0), "n1:1 n2:1 n3:1 n4:1");
    restart_both(&w, 1);
    end_exact(&w);
}

static void test_per_node_slices(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 8, "", "");
    elastic(&w, "first", "", 2, "'fluxqueue/tasks-per-node':'2'", "");
    elastic(&w, "second", "first", 4, "'fluxqueue/tasks-per-node':'2'", "");
    assert_waits(&w, "second", "no set of nodes");
    gpu_node(&w, "n2", 8, "", "");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "second", 0), "n1:2 n2:2");
    end_exact(&w);
}

/* A node that has less than it may have gets more. */
static void test_skew_slices(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 8, "", "");
    gpu_node(&w, "n2", 8, "", "");
    gpu_node(&w, "n3", 8, "", "");
    elastic(&w, "first", "", 3, "", SKEW_2);
    assert_string_equal(nodes_of(&w, "first", 0), "n1:1 n2:1 n3:1");
    elastic(&w, "second", "first", 6, "", SKEW_2);
    assert_string_equal(nodes_of(&w, "second", 0), "n1:2 n2:2 n3:2");
    elastic(&w, "third", "second", 8, "", SKEW_2);
    assert_waits(&w, "third", "no set of nodes");
    end_exact(&w);
}

/* Quota comes first: who has none holds no nodes. */
static void test_quota_first(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    for (int i = 1; i <= 3; i++) {
        char node[8];
        sl_fmt(node, sizeof node, "n%d", i);
        gpu_node(&w, node, 32, "", "");
    }
    workload_of(&w, "first", 0, PODSET("main", "2", "20", ""));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "first", 0), "n1:1 n2:1");
    workload_of(&w, "second", 0, PODSET("main", "1", "30", ""));
    run(&w, SETTLE);
    assert_waits(&w, "second", "insufficient unused quota for " GPU);
    workload_of(&w, "third", 0, PODSET("main", "1", "24", ""));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "third", 0), "n3:1");
    end_exact(&w);
}

/* ---- pods ---- */

/* Each pod goes to one of the nodes, is counted once, and what it leaves behind is free only when
 * it has ended. */
static void test_pods(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    gpu_node(&w, "n2", 4, "", "");
    workload_of(&w, "a", 0, PODSET("main", "2", "3", ""));
    gated_pod(&w, "a-0", "a", "3", "default-scheduler");
    gated_pod(&w, "a-1", "a", "3", "default-scheduler");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "a", 0), "n1:1 n2:1");
    assert_string_equal(host_of(&w, "a-0"), "n1");
    assert_string_equal(host_of(&w, "a-1"), "n2");
    bind(&w, "a-0");
    bind(&w, "a-1");
    run(&w, SETTLE);
    workload_of(&w, "b", 0, PODSET("main", "2", "1", "")); /* one is left on each */
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "b", 0), "n1:1 n2:1");
    restart_both(&w, 1);
    workload_of(&w, "c", 0, PODSET("main", "2", "3", ""));
    run(&w, SETTLE);
    assert_waits(&w, "c", "only for 0 of them");
    delete_pod(&w, "a-0", 60);
    delete_pod(&w, "a-1", 60);
    finish(&w, "a");
    run(&w, SETTLE);
    assert_waits(&w, "c", "only for 0 of them"); /* they still end */
    delete_pod(&w, "a-0", 0);
    delete_pod(&w, "a-1", 0);
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "c", 0), "n1:1 n2:1");
    end_exact(&w);
}

/* Pods that name our scheduler are bound to the node that was selected for them. */
static void test_bound_by_us(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    gpu_node(&w, "n2", 4, "", "");
    workload_of(&w, "a", 0, PODSET("main", "2", "4", ""));
    gated_pod(&w, "a-0", "a", "4", "FluxionScheduler");
    gated_pod(&w, "a-1", "a", "4", "FluxionScheduler");
    run(&w, SETTLE);
    assert_string_equal(node_of(&w, "a-0"), "n1");
    assert_string_equal(node_of(&w, "a-1"), "n2");
    restart_both(&w, 1);
    workload_of(&w, "b", 0, ONE("1"));
    run(&w, SETTLE);
    assert_waits(&w, "b", "no set of nodes has room for 1 pod(s)");
    pod_phase(&w, "a-0", "Succeeded");
    pod_phase(&w, "a-1", "Succeeded");
    finish(&w, "a");
    run(&w, SETTLE);
    assert_true(is(&w, "b", "Admitted"));
    end_exact(&w);
}

/* ---- preemption ---- */

/* Those that stand in the way go and no others, and nobody else while these are ending. */
static void test_preemption(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    gpu_node(&w, "n2", 4, ",'disk':'fast'", "");
    workload_of(&w, "a", 1, PODSET("main", "1", "3", ",'nodeSelector':{'disk':'fast'}"));
    workload_of(&w, "b", 1, ONE("4"));
    gated_pod(&w, "a-0", "a", "3", "default-scheduler");
    gated_pod(&w, "b-0", "b", "4", "default-scheduler");
    run(&w, SETTLE);
    bind(&w, "a-0");
    bind(&w, "b-0");
    assert_string_equal(nodes_of(&w, "a", 0), "n2:1");
    assert_string_equal(nodes_of(&w, "b", 0), "n1:1");

    workload_of(&w, "huge", 9, PODSET("main", "1", "4", ",'nodeSelector':{'disk':'none'}"));
    run(&w, SETTLE);
    assert_waits(&w, "huge", "even if all were free");
    assert_false(is(&w, "a", "Evicted"));
    assert_false(is(&w, "b", "Evicted"));

    workload_of(&w, "high", 5, PODSET("main", "1", "4", ",'nodeSelector':{'disk':'fast'}"));
    run(&w, SETTLE);
    assert_true(is(&w, "a", "Preempted"));
    assert_false(is(&w, "b", "Evicted"));
    assert_waits(&w, "high", "Pending the preemption of 1 workload(s)");
    delete_pod(&w, "a-0", 600); /* its quota is free before its node is */
    release(&w, "a");
    run(&w, SETTLE);
    assert_waits(&w, "high", "no set of nodes has room for 1 pod(s)");
    assert_false(is(&w, "b", "Evicted"));
    restart_both(&w, 1);
    assert_false(is(&w, "b", "Evicted"));
    delete_pod(&w, "a-0", 0);
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "high", 0), "n2:1");
    assert_false(is(&w, "b", "Evicted"));
    end_exact(&w);
}

/* While one is ending, another would do as well: it is not evicted in addition. */
static void test_nobody_twice(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    gpu_node(&w, "n2", 4, "", "");
    workload_of(&w, "a", 1, ONE("4"));
    workload_of(&w, "b", 1, ONE("4"));
    gated_pod(&w, "a-0", "a", "4", "default-scheduler");
    gated_pod(&w, "b-0", "b", "4", "default-scheduler");
    run(&w, SETTLE);
    bind(&w, "a-0");
    bind(&w, "b-0");
    workload_of(&w, "high", 5, ONE("4"));
    run(&w, SETTLE);
    const char *gone = is(&w, "a", "Evicted") ? "a" : "b", *stays = *gone == 'a' ? "b" : "a";
    assert_true(is(&w, gone, "Evicted"));
    assert_false(is(&w, stays, "Evicted"));
    char pod[8];
    sl_fmt(pod, sizeof pod, "%s-0", gone);
    delete_pod(&w, pod, 600);
    release(&w, gone);
    run(&w, SETTLE);
    assert_waits(&w, "high", "no set of nodes has room for 1 pod(s)");
    assert_false(is(&w, stays, "Evicted"));
    restart_both(&w, 1);
    assert_false(is(&w, stays, "Evicted"));
    delete_pod(&w, pod, 0);
    run(&w, SETTLE);
    assert_true(is(&w, "high", "Admitted"));
    assert_false(is(&w, stays, "Evicted"));
    end_exact(&w);
}

/* Quota has to be won as well: those go whose leaving gives both. */
static void test_quota_and_nodes(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 40, "", "");
    gpu_node(&w, "n2", 40, "", "");
    workload_of(&w, "a", 1, ONE("30"));
    run(&w, SETTLE);
    workload_of(&w, "b", 1, ONE("30"));
    run(&w, SETTLE);
    workload_of(&w, "high", 5, ONE("32")); /* 4 of quota are left, 10 on each node */
    run(&w, SETTLE);
    assert_int_equal(is(&w, "a", "Evicted") + is(&w, "b", "Evicted"), 1);
    release(&w, is(&w, "a", "Evicted") ? "a" : "b");
    run(&w, SETTLE);
    assert_true(is(&w, "high", "Admitted"));
    other_pod(&w, "o1", "n1", "5");
    other_pod(&w, "o2", "n2", "5");
    run(&w, SETTLE);
    workload_of(&w, "next", 9, ONE("40")); /* quota could be won, and no node */
    run(&w, SETTLE);
    assert_waits(&w, "next", "");
    assert_int_equal(is(&w, "a", "Evicted") + is(&w, "b", "Evicted") + is(&w, "high", "Evicted"),
                     0);
    end_exact(&w);
}

/* ---- beside the queue on the graph ---- */

static void flux_pod(struct world *w, const char *name, const char *gpus) {
    char text[1024];
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes'}},'spec':{'schedulingGates':["
           "{'name':'fluxqueue'}],'schedulerName':'FluxionScheduler','containers':[{'name':'c',"
           "'resources':{'requests':{'cpu':'1','" GPU "':'%s'}}}]}}",
           name, gpus);
    create(w, PODS, text);
}

/* It is a job of its own, without a FluxJob. */
static void plain_pod(struct world *w, const char *name, const char *gpus) {
    char text[1024];
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s'},'spec':{'schedulerName':'FluxionScheduler','containers':[{"
           "'name':'c','resources':{'requests':{'cpu':'1','" GPU "':'%s'}}}]}}",
           name, gpus);
    create(w, PODS, text);
}

/* Jobs of the queue and Workloads have the same nodes, and no node is given twice. */
static void test_beside_fluxjobs(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    gpu_node(&w, "n2", 4, "", "");
    flux_pod(&w, "f1", "4");
    run(&w, SETTLE);
    assert_string_equal(node_of(&w, "f1"), "n1");
    workload_of(&w, "a", 0, PODSET("main", "1", "4", ""));
    workload_of(&w, "b", 0, PODSET("main", "1", "4", ""));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "a", 0), "n2:1"); /* and no pod of it is there yet */
    assert_waits(&w, "b", "no set of nodes has room for 1 pod(s)");
    flux_pod(&w, "f2", "4");
    run(&w, SETTLE);
    assert_string_equal(node_of(&w, "f2"), "");
    restart_both(&w, 1);
    assert_string_equal(node_of(&w, "f2"), "");
    finish(&w, "b");
    finish(&w, "a");
    run(&w, SETTLE);
    assert_string_equal(node_of(&w, "f2"), "n2");
    workload_of(&w, "c", 0, PODSET("main", "1", "4", ""));
    run(&w, SETTLE);
    assert_waits(&w, "c", "no set of nodes has room for 1 pod(s)");
    pod_phase(&w, "f1", "Succeeded");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "c", 0), "n1:1");
    end_exact(&w);
}

static int refuse_workloads(void *ctx, const struct fakeapi_write *fw, struct sl_buf *why) {
    (void)ctx, (void)why;
    return strcmp(fw->kind->plural, "workloads") == 0 && fw->client != FAKEAPI_NOBODY ? 503 : 0;
}

static bool holds_nothing(struct world *w, const char *name) {
    return !workload_at(w, name, "status.admission");
}

/* The queue is held, and so a Workload that waits for its check gives its node back. Whoever waits
 * for that, a job or a pod without one, has it when the API says that it is free: a leader that
 * died before would leave a node that was given twice. */
static void test_release_is_written_first(void **state) {
    static const char *const pods[] = {"f1", "p1"};
    (void)state;
    for (size_t i = 0; i < SL_LEN(pods); i++) {
        struct world w;
        begin_empty(&w, "");
        create(&w, KUEUE "/resourceflavors", "{'metadata':{'name':'f'},'spec':{}}");
        create(&w, KUEUE "/admissionchecks",
               "{'metadata':{'name':'ac'},'spec':{'controllerName':'x'}}");
        patch(&w, KUEUE "/admissionchecks/ac/status",
              "{'status':{'conditions':[{'type':'Active','status':'True','reason':'Active',"
              "'message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}");
        cluster_queue(&w, "cq", EXACT,
                      ",'admissionChecksStrategy':{'admissionChecks':[{'name':'ac'}]}");
        gpu_node(&w, "n1", 4, "", "");
        workload_of(&w, "a", 0, ONE("4"));
        run(&w, SETTLE);
        assert_string_equal(nodes_of(&w, "a", 0), "n1:1");
        assert_false(is(&w, "a", "Admitted"));
        if (i == 0)
            flux_pod(&w, "f1", "4");
        else
            plain_pod(&w, "p1", "4");
        run(&w, SETTLE);
        fakeapi_on_write(w.api, refuse_workloads, NULL);
        patch(&w, KUEUE "/namespaces/ns/localqueues/q", "{'spec':{'stopPolicy':'Hold'}}");
        run(&w, SETTLE);
        assert_false(holds_nothing(&w, "a"));
        assert_string_equal(node_of(&w, pods[i]), "");
        if (i == 0)
            assert_string_not_equal(sl_json_str(at(&w, FLUXJOBS "/f1-pod", "status"), "state"),
                                    "Running");
        fakeapi_on_write(w.api, NULL, NULL);
        run(&w, 3 * SETTLE);
        assert_true(holds_nothing(&w, "a"));
        assert_string_equal(node_of(&w, pods[i]), "n1");
        end_exact(&w);
    }
}

static void lead(struct world *w, bool leads) {
    sl_manager_lead(w->m, leads);
    sl_fluxqueue_lead(w->q, leads);
}

/* A Workload moved to another node, and the manager lost its lease and had it again before it knew
 * that this was written. It forgets what it had decided, and observes the Workload anew; meanwhile
 * its node is nobody else's. */
static void test_move_is_forgotten(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    workload_of(&w, "a", 0, ONE("4"));
    run(&w, SETTLE);
    gpu_node(&w, "n2", 4, "", "");
    run(&w, SETTLE);
    fakeapi_set_faults(w.api, &(struct fakeapi_faults){.lose_reply = 1});
    set_ready(&w, "n1", false);
    for (uint32_t i = 0; i < 1000 && strcmp(nodes_of(&w, "a", 0), "n2:1") != 0; i++)
        run(&w, SL_MSEC);
    assert_string_equal(nodes_of(&w, "a", 0), "n2:1");
    fakeapi_set_faults(w.api, NULL);
    lead(&w, false);
    lead(&w, true);
    flux_pod(&w, "f1", "4");
    run(&w, 4 * SETTLE);
    assert_string_equal(nodes_of(&w, "a", 0), "n2:1");
    assert_string_equal(node_of(&w, "f1"), "");
    end_exact(&w);
}

/* What was evicted for a Workload is for that one, not for the job that waits as well. */
static void test_preemptor_first(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    workload_of(&w, "low", 1, ONE("4"));
    gated_pod(&w, "low-0", "low", "4", "default-scheduler");
    run(&w, SETTLE);
    bind(&w, "low-0");
    flux_pod(&w, "f1", "4");
    run(&w, SETTLE);
    workload_of(&w, "high", 5, ONE("4"));
    run(&w, SETTLE);
    assert_true(is(&w, "low", "Evicted"));
    delete_pod(&w, "low-0", 600);
    release(&w, "low");
    run(&w, SETTLE);
    assert_waits(&w, "high", "no set of nodes has room for 1 pod(s)");
    delete_pod(&w, "low-0", 0);
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "high", 0), "n1:1");
    assert_string_equal(node_of(&w, "f1"), "");
    finish(&w, "high");
    run(&w, SETTLE);
    assert_string_equal(node_of(&w, "f1"), "n1");
    end_exact(&w);
}

/* What pods that are leaving will leave counts once, also for one that came after another had left.
 */
static void test_leaving_once(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    workload_of(&w, "low", 1, ONE("2"));
    run(&w, SETTLE);
    for (int i = 0; i < 2; i++) { /* the second has the number of the first */
        other_pod(&w, i ? "p1" : "p0", "n1", "2");
        run(&w, SETTLE);
        delete_pod(&w, i ? "p1" : "p0", 600);
        run(&w, SETTLE);
        if (i == 0)
            delete_pod(&w, "p0", 0);
        run(&w, SETTLE);
    }
    workload_of(&w, "high", 5, ONE("4"));
    run(&w, SETTLE);
    assert_true(is(&w, "low", "Evicted"));
    end_exact(&w);
}

/* A pod that goes on after its Workload, an orphan, is not waited for: another one is evicted. */
static void test_orphan(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    gpu_node(&w, "n2", 4, "", "");
    for (int i = 0; i < 2; i++) {
        workload_of(&w, i ? "b" : "a", 1, ONE("4"));
        gated_pod(&w, i ? "b-0" : "a-0", i ? "b" : "a", "4", "default-scheduler");
        run(&w, SETTLE);
        bind(&w, i ? "b-0" : "a-0");
        run(&w, SETTLE);
    }
    finish(&w, "a");
    run(&w, SETTLE);
    workload_of(&w, "high", 9, ONE("4"));
    run(&w, SETTLE);
    assert_false(is(&w, "b", "Evicted")); /* that pod may be deleted soon */
    run(&w, 2 * SL_MINUTE);
    assert_true(is(&w, "b", "Evicted"));
    end_exact(&w);
}

/* ---- nodes ---- */

/* A node that fails is replaced for the pods that were there; the others keep theirs. */
static void test_failed_node(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    gpu_node(&w, "n2", 4, "", "");
    workload_of(&w, "a", 0, PODSET("main", "2", "4", ""));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "a", 0), "n1:1 n2:1");
    set_ready(&w, "n1", false);
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "a", 0), "n1:1 n2:1"); /* there is no other */
    gpu_node(&w, "n3", 4, "", "");
    run(&w, SETTLE);
    assert_true(is(&w, "a", "Admitted"));
    assert_string_equal(nodes_of(&w, "a", 0), "n2:1 n3:1");
    restart_both(&w, 1);
    set_ready(&w, "n1", true);
    workload_of(&w, "b", 0, ONE("4"));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "b", 0), "n1:1");
    end_exact(&w);
}

/* Others have filled a node that a Workload holds: it keeps what it has, and nothing goes round in
 * circles over it. */
static void test_overfull(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    workload_of(&w, "a", 0, ONE("4"));
    run(&w, SETTLE);
    other_pod(&w, "o", "n1", "2");
    run(&w, SETTLE);
    assert_true(is(&w, "a", "Admitted"));
    workload_of(&w, "high", 5, ONE("4"));
    run(&w, SETTLE);
    assert_waits(&w, "high", "no set of nodes has room for 1 pod(s)");
    assert_false(is(&w, "a", "Evicted"));
    uint64_t looks = sl_engine_evaluations(sl_manager_engine(w.m));
    run(&w, SETTLE);
    assert_int_equal(sl_engine_evaluations(sl_manager_engine(w.m)), looks);
    restart_both(&w, 1);
    pod_phase(&w, "o", "Succeeded");
    run(&w, SETTLE);
    assert_true(is(&w, "a", "Evicted")); /* now it would help */
    end_exact(&w);
}

/* Cordoned and absent nodes give nothing; what is there stays. */
static void test_nodes_come_and_go(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    workload_of(&w, "a", 0, ONE("1"));
    run(&w, SETTLE);
    assert_waits(&w, "a", "the cluster has no nodes");
    gpu_node(&w, "n1", 4, "", "");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "a", 0), "n1:1");
    patch(&w, "/api/v1/nodes/n1", "{'spec':{'unschedulable':true}}");
    run(&w, SETTLE);
    workload_of(&w, "b", 0, ONE("1"));
    run(&w, SETTLE);
    assert_waits(&w, "b", "");
    assert_true(is(&w, "a", "Admitted"));
    patch(&w, "/api/v1/nodes/n1", "{'spec':{'unschedulable':null}}");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "b", 0), "n1:1");
    restart_both(&w, 1);
    end_exact(&w);
}

/* ---- which queues ---- */

static void test_which_queues(void **state) {
    struct world w;
    (void)state;
    begin_empty(&w, "fluxqueue: {exactNodes: true}\n");
    create(&w, KUEUE "/resourceflavors", "{'metadata':{'name':'f'},'spec':{}}");
    cluster_queue(&w, "cq", "", "");
    gpu_node(&w, "n1", 4, "", "");
    workload_of(&w, "a", 0, ONE("8"));
    run(&w, SETTLE);
    assert_waits(&w, "a", "even if all were free"); /* all queues, by configuration */
    patch(&w, KUEUE "/clusterqueues/cq",
          "{'metadata':{'annotations':{'sluice.dev/exact-nodes':'false'}}}");
    run(&w, SETTLE);
    assert_true(is(&w, "a", "Admitted")); /* but this one */
    assert_string_equal(nodes_of(&w, "a", 0), "");
    patch(&w, KUEUE "/clusterqueues/cq",
          "{'metadata':{'annotations':{'sluice.dev/exact-nodes':'maybe'}}}");
    run(&w, SETTLE);
    workload_of(&w, "b", 0, ONE("8"));
    run(&w, SETTLE);
    assert_waits(&w, "b", "even if all were free");
    assert_true(is(&w, "a", "Admitted"));
    restart_both(&w, 1);
    end_exact(&w);
}

/* Without the controller that has the nodes nothing is admitted, and the reason says so. */
static void test_no_graph(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    stop_graph(&w, 0);
    workload_of(&w, "a", 0, ONE("1"));
    run(&w, SETTLE);
    assert_waits(&w, "a", "exact nodes are given by the controller fluxqueue, which does not run");
    end_exact(&w);
}

/* Selectors and tolerations of the flavor count: its pods will have them. */
static void test_flavor(void **state) {
    struct world w;
    (void)state;
    begin_empty(&w, "");
    create(&w, KUEUE "/resourceflavors",
           "{'metadata':{'name':'f'},'spec':{'nodeLabels':{'pool':'gpu'},'nodeTaints':[{'key':"
           "'gpu','value':'yes','effect':'NoSchedule'}],'tolerations':[{'key':'gpu','operator':"
           "'Exists'}]}}");
    cluster_queue(&w, "cq", EXACT, "");
    gpu_node(&w, "n1", 4, "", "");
    gpu_node(&w, "n2", 4, ",'pool':'gpu'", "{'key':'gpu','value':'yes','effect':'NoSchedule'}");
    workload_of(&w, "a", 0, ONE("2"));
    workload_of(&w, "b", 0, ONE("2"));
    workload_of(&w, "c", 0, ONE("2"));
    run(&w, SETTLE);
    assert_int_equal(is(&w, "a", "Admitted") + is(&w, "b", "Admitted") + is(&w, "c", "Admitted"),
                     2);
    assert_string_equal(nodes_of(&w, "a", 0), "n2:1");
    restart_both(&w, 1);
    end_exact(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eight_free_in_four_places),
        cmocka_unit_test(test_never),
        cmocka_unit_test(test_gang),
        cmocka_unit_test(test_podsets),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_apart_failed),
        cmocka_unit_test(test_apart_slices),
        cmocka_unit_test(test_per_node_slices),
        cmocka_unit_test(test_skew_slices),
        cmocka_unit_test(test_quota_first),
        cmocka_unit_test(test_pods),
        cmocka_unit_test(test_bound_by_us),
        cmocka_unit_test(test_preemption),
        cmocka_unit_test(test_nobody_twice),
        cmocka_unit_test(test_quota_and_nodes),
        cmocka_unit_test(test_beside_fluxjobs),
        cmocka_unit_test(test_release_is_written_first),
        cmocka_unit_test(test_move_is_forgotten),
        cmocka_unit_test(test_preemptor_first),
        cmocka_unit_test(test_leaving_once),
        cmocka_unit_test(test_orphan),
        cmocka_unit_test(test_failed_node),
        cmocka_unit_test(test_overfull),
        cmocka_unit_test(test_nodes_come_and_go),
        cmocka_unit_test(test_which_queues),
        cmocka_unit_test(test_no_graph),
        cmocka_unit_test(test_flavor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
