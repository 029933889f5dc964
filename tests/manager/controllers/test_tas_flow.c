/* SPDX-License-Identifier: Apache-2.0 */
/* Topology-aware scheduling: places given, kept over restarts and given back; pods sent there. */
#include "topology_fixture.h"

#include <unistd.h>

/* ---- places ---- */

static void test_racks(void **state) {
    (void)state;
    struct world w;
    begin(&w, 1);
    topology(&w);
    workload(&w, "a", 4, "2", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(places(&w, "a"), TWO_NODES("1", "2", "2"));
    workload(&w, "b", 4, "2", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(places(&w, "b"), TWO_NODES("3", "4", "2"));
    workload(&w, "c", 3, "2", RACK, "");
    run(&w, SETTLE);
    assert_false(is(&w, "c", "QuotaReserved"));
    assert_string_equal(condition(&w, "c", "QuotaReserved", "reason"), "Pending");
    assert_non_null(strstr(condition(&w, "c", "QuotaReserved", "message"),
                           "couldn't assign flavors to pod set main: topology \"default\" doesn't "
                           "allow to fit any of 3 pod(s)"));

    restart_alike(&w, 1); /* what is held is found, and does not fit twice */
    assert_true(is(&w, "a", "Admitted"));
    assert_false(is(&w, "c", "QuotaReserved"));
    assert_string_equal(places(&w, "a"), TWO_NODES("1", "2", "2"));

    finish(&w, "b"); /* and given back */
    run(&w, SETTLE);
    assert_true(is(&w, "c", "Admitted"));
    assert_non_null(strstr(places(&w, "c"), "'individual':[2,1]"));
    restart_alike(&w, 2);
    end(&w);
}

static void test_nodes(void **state) {
    (void)state;
    struct world w;
    struct sl_engine *e;
    begin(&w, 2);
    topology(&w);
    workload(&w, "a", 5, "2", RACK, "");
    run(&w, SETTLE);
    assert_false(is(&w, "a", "QuotaReserved"));
    assert_non_null(strstr(condition(&w, "a", "QuotaReserved", "message"),
                           "allows to fit only 4 out of 5 pod(s)"));
    e = sl_manager_engine(w.m);
    uint64_t looks = sl_engine_evaluations(e);
    patch(&w, "/api/v1/nodes/n1/status",
          "{'status':{'conditions':[{'type':'Ready','status':'True','lastHeartbeatTime':"
          "'2026-01-01T00:10:00Z'}]}}");
    run(&w, SETTLE);
    assert_int_equal(sl_engine_evaluations(e), looks); /* a heartbeat is no news */

    node(&w, "n5", "r2");
    run(&w, SETTLE);
    assert_true(is(&w, "a", "Admitted"));

    patch(&w, "/api/v1/nodes/n1", "{'spec':{'unschedulable':true}}");
    run(&w, SETTLE);
    workload(&w, "b", 1, "4", ANYWHERE, "");
    workload(&w, "c", 1, "4", ANYWHERE, "");
    workload(&w, "d", 1, "4", ANYWHERE, "");
    run(&w, SETTLE);
    assert_int_equal(is(&w, "b", "Admitted") + is(&w, "c", "Admitted") + is(&w, "d", "Admitted"),
                     1); /* n2 is left, and one that has half its room */
    patch(&w, "/api/v1/nodes/n1", "{'spec':{'unschedulable':null}}");
    run(&w, SETTLE);
    assert_int_equal(is(&w, "b", "Admitted") + is(&w, "c", "Admitted") + is(&w, "d", "Admitted"),
                     2);
    restart_alike(&w, 1);
    end(&w);
}

/* More labels than anybody can compare: the node is as if it were not there, and all else goes on,
 * also for who starts with it in the store. */
static void test_labelled_node(void **state) {
    struct world w;
    struct sl_buf b = SL_BUF((size_t)4 << 20);
    (void)state;
    begin(&w, 1);
    topology(&w);
    sl_buf_puts(&b, "{'metadata':{'name':'n5','labels':{'pool':'tas','rack':'r1',"
                    "'kubernetes.io/hostname':'n5'");
    for (int i = 0; i < 140000; i++)
        sl_buf_printf(&b, ",'%d':''", i);
    sl_buf_puts(&b, "}},'spec':{}}");
    assert_false(sl_buf_full(&b));
    create(&w, "/api/v1/nodes", sl_buf_str(&b));
    patch(&w, "/api/v1/nodes/n5/status",
          "{'status':{'allocatable':{'cpu':'4','pods':'10'},"
          "'conditions':[{'type':'Ready','status':'True'}]}}");
    sl_buf_done(&b);
    workload(&w, "a", 3, "4", RACK, "");
    workload(&w, "b", 2, "4", RACK, "");
    run(&w, SETTLE);
    assert_false(is(&w, "a", "QuotaReserved"));
    assert_true(is(&w, "b", "Admitted"));
    restart_alike(&w, 1);
    assert_false(is(&w, "a", "QuotaReserved"));
    finish(&w, "b");
    node(&w, "n6", "r2");
    run(&w, SETTLE);
    assert_true(is(&w, "a", "Admitted"));
    assert_null(strstr(places(&w, "a"), "n5"));
    end(&w);
}

static void test_other_pods(void **state) {
    (void)state;
    struct world w;
    begin(&w, 3);
    create(&w, PODS,
           "{'metadata':{'name':'other'},'spec':{'nodeName':'n1','containers':[{'name':'c',"
           "'resources':{'requests':{'cpu':'3'}}}]},'status':{'phase':'Running'}}");
    topology(&w);
    workload(&w, "a", 4, "2", RACK, "");
    run(&w, SETTLE);
    workload(&w, "b", 4, "2", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(places(&w, "a"), TWO_NODES("3", "4", "2"));
    assert_false(is(&w, "b", "QuotaReserved"));
    restart_alike(&w, 1);
    assert_false(is(&w, "b", "QuotaReserved"));
    patch(&w, PODS "/other/status", "{'status':{'phase':'Succeeded'}}");
    run(&w, SETTLE);
    assert_string_equal(places(&w, "b"), TWO_NODES("1", "2", "2"));
    end(&w);
}

/* A set that was made smaller leaves room where its last pods were. */
static void test_smaller_set(void **state) {
    struct world w;
    (void)state;
    begin(&w, 1);
    topology(&w);
    workload(&w, "set", 16, "1", ANYWHERE, "'" Q "job-owner-gvk':'apps/v1, Kind=StatefulSet'");
    workload(&w, "next", 4, "1", ANYWHERE, "");
    run(&w, SETTLE);
    assert_true(is(&w, "set", "Admitted"));
    assert_false(is(&w, "next", "QuotaReserved"));
    request(&w, SL_PATCH, WORKLOADS "/set", "application/json-patch+json",
            "[{'op':'replace','path':'/spec/podSets/0/count','value':12}]");
    run(&w, SETTLE);
    assert_true(is(&w, "next", "Admitted"));
    end(&w);
}

/* A queue below a cycle of Cohorts reports it, with a reason that an API server accepts. */
static void test_cycle_of_cohorts(void **state) {
    (void)state;
    struct world w;
    begin(&w, 4);
    topology(&w);
    create(&w, KUEUE "/cohorts", "{'metadata':{'name':'a'},'spec':{'parentName':'b'}}");
    create(&w, KUEUE "/cohorts", "{'metadata':{'name':'b'},'spec':{'parentName':'a'}}");
    patch(&w, KUEUE "/clusterqueues/cq", "{'spec':{'cohortName':'a'}}");
    workload(&w, "held", 1, "1", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(active(&w, "status"), "False");
    assert_string_equal(active(&w, "reason"), "Unknown");
    assert_string_equal(active(&w, "message"),
                        "Can't admit new workloads: is below a cycle of Cohorts.");
    assert_false(is(&w, "held", "QuotaReserved"));
    patch(&w, KUEUE "/cohorts/b", "{'spec':{'parentName':null}}");
    run(&w, SETTLE);
    assert_string_equal(active(&w, "reason"), "Ready");
    assert_true(is(&w, "held", "Admitted"));
    patch(&w, KUEUE "/cohorts/b", "{'spec':{'parentName':'b'}}"); /* its own */
    run(&w, SETTLE);
    assert_string_equal(active(&w, "reason"), "Unknown");
    end(&w);
}

static void test_topology_comes_and_goes(void **state) {
    (void)state;
    struct world w;
    begin(&w, 4);
    workload(&w, "a", 1, "1", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(active(&w, "reason"), "TopologyNotFound");
    assert_string_equal(active(&w, "message"),
                        "Can't admit new workloads: there is no Topology \"default\" for TAS "
                        "flavor \"f\".");
    topology(&w);
    run(&w, SETTLE);
    assert_string_equal(active(&w, "reason"), "Ready");
    assert_true(is(&w, "a", "Admitted"));
    assert_string_equal(show(&w, sl_json_at(fakeapi_get(w.api, KUEUE "/topologies/default"),
                                            "metadata.finalizers")),
                        "['kueue.x-k8s.io/resource-in-use']");
    request(&w, SL_DELETE, KUEUE "/topologies/default", SL_JSON, "{}");
    run(&w, SETTLE);
    assert_non_null(fakeapi_get(w.api, KUEUE "/topologies/default")); /* in use */
    finish(&w, "a");
    request(&w, SL_DELETE, KUEUE "/clusterqueues/cq", SL_JSON, "{}");
    request(&w, SL_DELETE, KUEUE "/resourceflavors/f", SL_JSON, "{}");
    run(&w, SETTLE);
    assert_null(fakeapi_get(w.api, KUEUE "/resourceflavors/f"));
    assert_null(fakeapi_get(w.api, KUEUE "/topologies/default"));
    end(&w);
}

/* Another client placed it elsewhere: that is what counts. */
static void test_written_by_others(void **state) {
    (void)state;
    struct world w;
    begin(&w, 5);
    topology(&w);
    workload(&w, "a", 2, "4", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(places(&w, "a"), TWO_NODES("1", "2", "1"));
    patch(&w, WORKLOADS "/a/status",
          "{'status':{'admission':{'clusterQueue':'cq','podSetAssignments':[{'name':'main',"
          "'count':2,'flavors':{'cpu':'f'},'resourceUsage':{'cpu':'8'},'topologyAssignment':"
          "{'levels':['kubernetes.io/hostname'],'slices':[{'domainCount':2,'valuesPerLevel':[{"
          "'individual':{'roots':['n3','n4']}}],'podCounts':{'universal':1}}]}}]}}}");
    run(&w, SETTLE);
    workload(&w, "b", 2, "4", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(places(&w, "b"), TWO_NODES("1", "2", "1"));
    restart_alike(&w, 1);
    end(&w);
}

/* ---- preemption ---- */

/* There is quota, but another workload is in the way: that one is preempted, and no other. One that
 * would have no place all the same preempts nothing. */
static void test_preemption(void **state) {
    (void)state;
    struct world w;
    begin(&w, 10);
    topology(&w);
    patch(&w, KUEUE "/clusterqueues/cq",
          "{'spec':{'preemption':{'withinClusterQueue':'LowerPriority'}}}");
    workload(&w, "a", 2, "3", RACK, "");
    run(&w, SETTLE);
    workload(&w, "b", 2, "4", RACK, "");
    set_priority(&w, "b", 9);
    run(&w, SETTLE);
    assert_string_equal(places(&w, "a"), TWO_NODES("1", "2", "1"));
    assert_string_equal(places(&w, "b"), TWO_NODES("3", "4", "1"));

    workload(&w, "huge", 3, "4", RACK, ""); /* a rack has two nodes */
    set_priority(&w, "huge", 8);
    run(&w, SETTLE);
    assert_false(is(&w, "huge", "QuotaReserved"));
    assert_false(is(&w, "a", "Evicted"));

    workload(&w, "c", 2, "4", RACK, "");
    set_priority(&w, "c", 5);
    run(&w, SETTLE);
    assert_true(is(&w, "a", "Preempted"));
    assert_false(is(&w, "b", "Evicted"));
    assert_false(is(&w, "c", "QuotaReserved")); /* the other one still stands there */
    assert_non_null(strstr(condition(&w, "c", "QuotaReserved", "message"),
                           "Pending the preemption of 1 workload(s)"));
    finish(&w, "a");
    run(&w, SETTLE);
    assert_string_equal(places(&w, "c"), TWO_NODES("1", "2", "1"));
    restart_alike(&w, 1);
    end(&w);
}

/* ---- slices ---- */

#define SECOND                                                                                     \
    "'kueue.x-k8s.io/elastic-job':'true','kueue.x-k8s.io/workload-slice-name':'one',"              \
    "'kueue.x-k8s.io/workload-slice-replacement-for':'ns/one'"

static void test_slices(void **state) {
    (void)state;
    struct world w;
    begin(&w, 6);
    topology(&w);
    workload(&w, "one", 3, "4", ANYWHERE, "'kueue.x-k8s.io/elastic-job':'true'");
    run(&w, SETTLE);
    assert_true(is(&w, "one", "Admitted"));
    workload(&w, "two", 4, "4", ANYWHERE, SECOND);
    run(&w, SETTLE); /* only fits in the place of the first */
    assert_true(is(&w, "two", "Admitted"));
    assert_true(is(&w, "one", "Finished"));
    assert_non_null(strstr(places(&w, "two"), "'domainCount':4"));
    workload(&w, "more", 1, "1", ANYWHERE, "");
    run(&w, SETTLE);
    assert_false(is(&w, "more", "QuotaReserved"));
    restart_alike(&w, 1);
    finish(&w, "two");
    run(&w, SETTLE);
    assert_true(is(&w, "more", "Admitted"));
    end(&w);
}

static bool decided(struct world *w, const char *name) {
    struct sl_engine *e = sl_manager_engine(w->m);
    struct sl_engine_wl_view v;
    return sl_engine_workload(e, sl_engine_find(e, "ns", name), &v) && v.phase == SL_PHASE_ADMITTED;
}

/* The successor is gone before its reservation is written: the first one has its places again. */
static void test_slice_returns(void **state) {
    (void)state;
    struct world w;
    begin(&w, 9);
    topology(&w);
    workload(&w, "one", 3, "4", ANYWHERE, "'kueue.x-k8s.io/elastic-job':'true'");
    run(&w, SETTLE);
    workload(&w, "two", 4, "4", ANYWHERE, SECOND);
    for (int i = 0; i < 1000 && !decided(&w, "two"); i++) {
        (void)fakeapi_step(w.api, fakeapi_now(w.api) + SL_SEC);
        sl_manager_tick(w.m);
    }
    assert_true(decided(&w, "two"));
    assert_false(is(&w, "two", "QuotaReserved"));
    finish(&w, "two");
    run(&w, SETTLE);
    assert_true(is(&w, "one", "Admitted"));
    assert_false(is(&w, "one", "Finished"));
    workload(&w, "more", 2, "4", ANYWHERE, "");
    run(&w, SETTLE);
    assert_false(is(&w, "more", "QuotaReserved"));
    restart_alike(&w, 1);
    finish(&w, "one");
    run(&w, SETTLE);
    assert_true(is(&w, "more", "Admitted"));
    end(&w);
}

/* ---- pods ---- */

static void test_by_rank(void **state) {
    (void)state;
    struct world w;
    begin(&w, 7);
    topology(&w);
    pod(&w, "p3", "a", "3");
    pod(&w, "p0", "a", "0");
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "p0"), "held back"); /* its workload has no place yet */
    workload(&w, "a", 4, "2", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "p0"), "n1");
    assert_string_equal(host_of(&w, "p3"), "n2");
    assert_string_equal(pod_at(&w, "p3", "spec.nodeSelector"),
                        "{'pool':'tas','kubernetes.io/hostname':'n2'}");
    pod(&w, "p2", "a", "2");
    pod(&w, "p1", "a", "1");
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "p1"), "n1");
    assert_string_equal(host_of(&w, "p2"), "n2");
    patch(&w, PODS "/p1/status", "{'status':{'phase':'Failed'}}");
    pod(&w, "q1", "a", "1"); /* the one that takes its place */
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "q1"), "n1");
    end(&w);
}

static void test_as_they_come(void **state) {
    (void)state;
    struct world w;
    begin(&w, 8);
    topology(&w);
    workload(&w, "a", 4, "2", RACK, "");
    pod(&w, "p1", "a", "");
    pod(&w, "p2", "a", "1"); /* not all have ranks: none counts */
    pod(&w, "p3", "a", "");
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "p1"), "n1");
    assert_string_equal(host_of(&w, "p2"), "n1");
    assert_string_equal(host_of(&w, "p3"), "n2");
    pod(&w, "p4", "a", "");
    pod(&w, "p5", "a", "");
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "p4"), "n2");
    assert_string_equal(host_of(&w, "p5"), "held back"); /* more than there are places */
    restart_alike(&w, 1);
    request(&w, SL_DELETE, PODS "/p2?gracePeriodSeconds=0", SL_JSON, "{}");
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "p5"), "n1");
    end(&w);
}

/* ---- pods that are queued themselves ---- */

/* One gate goes with the admission, the other with the place. */
static void test_pod_group_stands_together(void **state) {
    (void)state;
    struct world w;
    struct sl_manager_parts parts;
    char text[1024], path[64];
    begin(&w, 13);
    parts = w.parts;
    parts.framework[SL_FW_POD] = true;
    sl_manager_configure(w.m, w.settings, &parts);
    topology(&w);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text,
                       "{'metadata':{'name':'p%d','finalizers':['" Q "managed'],'labels':{'" Q
                       "managed':'true','" Q "queue-name':'q','" Q "pod-group-name':'g','" Q
                       "pod-group-pod-index':'%d'},'annotations':{'" Q
                       "pod-group-total-count':'2','" Q "podset-required-topology':'rack'}},"
                       "'spec':{'schedulingGates':[{'name':'" Q "admission'},{'name':'" Q
                       "topology'}],'containers':[{'name':'c','resources':{'requests':{"
                       "'cpu':'4'}}}]}}",
                       i, i);
        create(&w, PODS, text);
    }
    run(&w, SETTLE);
    assert_string_equal(places(&w, "g"), TWO_NODES("1", "2", "1"));
    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, PODS "/p%d", i);
        yyjson_val *o = fakeapi_get(w.api, path);
        assert_null(sl_json_at(o, "spec.schedulingGates"));
        assert_string_equal(yyjson_get_str(yyjson_obj_get(sl_json_at(o, "spec.nodeSelector"),
                                                          "kubernetes.io/hostname")),
                            i ? "n2" : "n1");
    }
    end(&w);
}

/* ---- nodes that fail ---- */

static void set_ready(struct world *w, const char *name, const char *status) {
    char path[128], text[256];
    (void)snprintf(path, sizeof path, "/api/v1/nodes/%s/status", name);
    (void)snprintf(text, sizeof text, "{'status':{'conditions':[{'type':'Ready','status':'%s'}]}}",
                   status);
    patch(w, path, text);
}

/* Another place, but not under a pod that may still run. */
static void test_node_fails(void **state) {
    (void)state;
    struct world w;
    begin(&w, 12);
    topology(&w);
    workload(&w, "a", 2, "4", ANYWHERE, "");
    workload(&w, "whole", 2, "4", RACK, "");
    run(&w, SETTLE);
    assert_true(is(&w, "a", "Admitted") && is(&w, "whole", "Admitted"));
    bool first = strstr(places(&w, "a"), "'1'") != NULL;
    const char *sick = first ? "n1" : "n3";
    pod(&w, "p", "a", "0");
    pod(&w, "q", "a", "1");
    run(&w, SETTLE);
    patch(&w, PODS "/p", first ? "{'spec':{'nodeName':'n1'}}" : "{'spec':{'nodeName':'n3'}}");
    patch(&w, PODS "/q", first ? "{'spec':{'nodeName':'n2'}}" : "{'spec':{'nodeName':'n4'}}");
    finish(&w, "whole");
    run(&w, SETTLE);
    set_ready(&w, sick, "False");
    run(&w, SETTLE);
    assert_non_null(strstr(places(&w, "a"), first ? "'1'" : "'3'"));
    patch(&w, PODS "/p/status", "{'status':{'phase':'Failed'}}");
    run(&w, SETTLE);
    assert_null(strstr(places(&w, "a"), first ? "'1'" : "'3'"));
    assert_non_null(strstr(places(&w, "a"), first ? "'2'" : "'4'")); /* the other one stays */
    assert_true(is(&w, "a", "Admitted"));
    restart_alike(&w, 1);
    end(&w);
}

/* ---- more than can be read ---- */

/* A part of its request would be another place: it is refused whole, and others go on. */
static void test_too_many_layers(void **state) {
    (void)state;
    static const char *const layers =
        RACK ",'podsetSliceRequiredTopologyConstraints':[{'topology':'rack','size':4},"
             "{'topology':'kubernetes.io/hostname','size':2},{'topology':'kubernetes.io/hostname',"
             "'size':2},{'topology':'none','size':1}]";
    struct sl_buf text = SL_BUF(262144);
    struct world w;
    begin(&w, 14);
    topology(&w);
    workload(&w, "a", 4, "1", layers, "");
    sl_buf_puts(&text, "{'spec':{'podSets':[{'name':'main','count':4,'topologyRequest':{'required':"
                       "'rack','more':'");
    for (int i = 0; i < 7000; i++)
        sl_buf_puts(&text, "0123456789");
    sl_buf_puts(&text, "'},'template':{'spec':{'containers':[{'name':'c','resources':{'requests':{"
                       "'cpu':'1'}}}]}}}]}}");
    workload(&w, "b", 4, "100", RACK, "");
    run(&w, SETTLE);
    patch(&w, WORKLOADS "/b", sl_buf_str(&text));
    workload(&w, "c", 4, "1", RACK, "");
    run(&w, SETTLE);
    assert_false(is(&w, "a", "QuotaReserved"));
    assert_non_null(
        strstr(condition(&w, "a", "QuotaReserved", "message"), "more than 3 layers of slices"));
    assert_false(is(&w, "b", "QuotaReserved"));
    assert_non_null(strstr(condition(&w, "b", "QuotaReserved", "message"), "longer than 64 KiB"));
    assert_true(is(&w, "c", "Admitted"));
    patch(&w, WORKLOADS "/a",
          "{'spec':{'podSets':[{'name':'main','count':4,'topologyRequest':{"
          "'required':'rack'},'template':{'spec':{'containers':[{'name':'c',"
          "'resources':{'requests':{'cpu':'1'}}}]}}}]}}");
    run(&w, SETTLE);
    assert_true(is(&w, "a", "Admitted"));
    sl_buf_done(&text);
    end(&w);
}

/* The log has the error, once. */
static void test_unread_is_logged(void **state) {
    (void)state;
    FILE *log = tmpfile();
    int kept = dup(STDERR_FILENO);
    uint32_t lines = 0;
    char line[2000];
    struct world w;
    assert_true(log && kept >= 0);
    begin(&w, 14);
    topology(&w);
    assert_true(dup2(fileno(log), STDERR_FILENO) >= 0);
    workload(&w, "a", 4, "1", RACK ",'podsetSliceRequiredTopologyConstraints':[{'size':4}]", "");
    run(&w, SETTLE);
    for (int i = 1; i < 4; i++) {
        (void)snprintf(line, sizeof line, "{'spec':{'priority':%d}}", i);
        patch(&w, WORKLOADS "/a", line);
        run(&w, SETTLE);
    }
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    (void)close(kept);
    rewind(log);
    while (fgets(line, sizeof line, log))
        if (strstr(line, "Workload not queued")) {
            lines++;
            assert_non_null(strstr(line, "one without a level or size"));
        }
    assert_int_equal(lines, 1);
    (void)fclose(log);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_racks),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_labelled_node),
        cmocka_unit_test(test_other_pods),
        cmocka_unit_test(test_smaller_set),
        cmocka_unit_test(test_cycle_of_cohorts),
        cmocka_unit_test(test_topology_comes_and_goes),
        cmocka_unit_test(test_written_by_others),
        cmocka_unit_test(test_preemption),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_slice_returns),
        cmocka_unit_test(test_by_rank),
        cmocka_unit_test(test_as_they_come),
        cmocka_unit_test(test_pod_group_stands_together),
        cmocka_unit_test(test_node_fails),
        cmocka_unit_test(test_too_many_layers),
        cmocka_unit_test(test_unread_is_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
