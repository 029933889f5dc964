/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pods of Workloads need of exact nodes besides resources: host ports that are free, volumes
 * that can be used there; and who binds them, whatever their template says.
 */
#include "exact_fixture.h"

#define CLAIMS "/api/v1/namespaces/ns/persistentvolumeclaims"
#define VOLUMES "/api/v1/persistentvolumes"
#define CLASSES "/apis/storage.k8s.io/v1/storageclasses"
#define HOST "kubernetes.io/hostname"

/* ---- acting ---- */

static void begin_pods(struct world *w) {
    static const struct fakeapi_kind kinds[] = {
        {.version = "v1",
         .group = "",
         .plural = "persistentvolumes",
         .kind = "PersistentVolume",
         .flags = FAKEAPI_STATUS},
        {.version = "v1",
         .group = "storage.k8s.io",
         .plural = "storageclasses",
         .kind = "StorageClass"},
    };
    begin_exact(w);
    for (size_t i = 0; i < SL_LEN(kinds); i++)
        fakeapi_register(w->api, &kinds[i]);
}

/* One podset of so many pods with one GPU each. */
static void workload_with(struct world *w, const char *name, int count, const char *ports,
                          const char *spec) {
    char podset[2048];
    sl_fmt(podset, sizeof podset,
           "{'name':'main','count':%d,'template':{'spec':{'containers':[{'name':'c','ports':[%s],"
           "'resources':{'requests':{'cpu':'1','" GPU "':'1'}}}]%s}}}",
           count, ports, spec);
    workload_of(w, name, 0, podset);
}

/* A pod of it; 'meta' are further annotations, with a comma in front. */
static void pod_with(struct world *w, const char *name, const char *of, const char *scheduler,
                     const char *meta, const char *spec) {
    char text[2048];
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s','labels':{'kueue.x-k8s.io/podset':'main'},'annotations':{"
           "'kueue.x-k8s.io/workload':'%s'%s}},'spec':{'schedulingGates':[{'name':"
           "'kueue.x-k8s.io/topology'}],'schedulerName':'%s','containers':[{'name':'c',"
           "'resources':{'requests':{'cpu':'1','" GPU "':'1'}}}]%s}}",
           name, of, meta, scheduler, spec);
    create(w, PODS, text);
}

/* A pod of others with a host port. */
static void other_port(struct world *w, const char *name, const char *node, int port) {
    char text[1024];
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s'},'spec':{'nodeName':'%s','containers':[{'name':'c','ports':["
           "{'hostPort':%d}]}]},'status':{'phase':'Running'}}",
           name, node, port);
    create(w, PODS, text);
}

static void class(struct world *w, const char *name, const char *mode, const char *more) {
    char text[1024];
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s'},'provisioner':'example.com/disks','volumeBindingMode':'%s'"
           "%s}",
           name, mode, more);
    create(w, CLASSES, text);
}

static void claim(struct world *w, const char *name, const char *class) {
    char text[512];
    sl_fmt(text, sizeof text, "{'metadata':{'name':'%s'},'spec':{'storageClassName':'%s'}}", name,
           class);
    create(w, CLAIMS, text);
}

/* A volume that can be used on one node, and a claim that is bound to it. */
static void volume(struct world *w, const char *claim, const char *node) {
    char path[200], text[512];
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'of-%s'},'spec':{'nodeAffinity':{'required':{'nodeSelectorTerms':[{"
           "'matchExpressions':[{'key':'" HOST "','operator':'In','values':['%s']}]}]}}}}",
           claim, node);
    create(w, VOLUMES, text);
    sl_fmt(path, sizeof path, CLAIMS "/%s", claim);
    sl_fmt(text, sizeof text, "{'spec':{'volumeName':'of-%s'}}", claim);
    patch(w, path, text);
    sl_fmt(path, sizeof path, CLAIMS "/%s/status", claim);
    patch(w, path, "{'status':{'phase':'Bound'}}");
}

static const char *selected(struct world *w, const char *claim) {
    char path[200];
    sl_fmt(path, sizeof path, CLAIMS "/%s", claim);
    return sl_json_annotation(fakeapi_get(w->api, path), "volume.kubernetes.io/selected-node");
}

/* Why it is not scheduled, by its condition. */
static const char *told(struct world *w, const char *pod) {
    char path[200];
    sl_fmt(path, sizeof path, PODS "/%s", pod);
    return sl_json_str(condition_of(w, path, "PodScheduled"), "message");
}

#define USES(claim) ",'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'" claim "'}}]"

/* ---- host ports ---- */

/* A port is on each node once, for pods of others as well, and is free when its pod has ended. */
static void test_host_ports(void **state) {
    struct world w;
    (void)state;
    begin_pods(&w);
    gpu_node(&w, "n1", 8, "", "");
    gpu_node(&w, "n2", 8, "", "");
    gpu_node(&w, "n3", 8, "", "");
    other_port(&w, "other", "n1", 8080);
    workload_with(&w, "a", 2, "{'hostPort':8080}", "");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "a", 0), "n2:1 n3:1");
    workload_with(&w, "b", 1, "{'hostPort':8080}", "");
    workload_with(&w, "udp", 1, "{'hostPort':8080,'protocol':'UDP'}", "");
    workload_with(&w, "none", 1, "{'containerPort':8080}", "");
    run(&w, SETTLE);
    assert_waits(&w, "b", "no set of nodes has room for 1 pod(s)");
    assert_string_equal(nodes_of(&w, "udp", 0), "n1:1");
    assert_string_equal(nodes_of(&w, "none", 0), "n1:1");
    restart_both(&w, 1);
    assert_waits(&w, "b", "no set of nodes has room for 1 pod(s)");
    pod_phase(&w, "other", "Succeeded");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "b", 0), "n1:1");
    workload_with(&w, "c", 1, "{'hostPort':8080}", "");
    run(&w, SETTLE);
    assert_waits(&w, "c", "no set of nodes has room for 1 pod(s)");
    gpu_node(&w, "n4", 8, "", "");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "c", 0), "n4:1");
    restart_both(&w, 2);
    end_exact(&w);
}

/* More pods with a port than there are nodes: none of them starts, and nobody waits for it. */
static void test_too_few_ports(void **state) {
    struct world w;
    (void)state;
    begin_pods(&w);
    gpu_node(&w, "n1", 8, "", "");
    gpu_node(&w, "n2", 8, "", "");
    workload_with(&w, "a", 3, "{'hostPort':8080}", "");
    run(&w, SETTLE);
    assert_waits(&w, "a", "no set of nodes has what 3 pod(s) request, even if all were free");
    workload_with(&w, "b", 2, "{'hostPort':8080}", "");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "b", 0), "n1:1 n2:1");
    end_exact(&w);
}

/* ---- volumes ---- */

/* Pods with a claim that is bound go where its volume is, or wait for room there. */
static void test_bound_claim(void **state) {
    struct world w;
    (void)state;
    begin_pods(&w);
    gpu_node(&w, "n1", 8, "", "");
    gpu_node(&w, "n2", 1, "", "");
    claim(&w, "data", "any");
    volume(&w, "data", "n2");
    workload_with(&w, "a", 1, "", USES("data"));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "a", 0), "n2:1");
    workload_with(&w, "b", 1, "", USES("data"));
    workload_with(&w, "c", 1, "", "");
    run(&w, SETTLE);
    assert_waits(&w, "b", "no set of nodes has room for 1 pod(s)");
    assert_string_equal(nodes_of(&w, "c", 0), "n1:1");
    restart_both(&w, 1);
    finish(&w, "a");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "b", 0), "n2:1");
    end_exact(&w);
}

/* Claims that do not exist, or are not bound by themselves, are waited for. */
static void test_claim_not_ready(void **state) {
    struct world w;
    (void)state;
    begin_pods(&w);
    gpu_node(&w, "n1", 8, "", "");
    gpu_node(&w, "n2", 8, "", "");
    class(&w, "now", "Immediate", "");
    workload_with(&w, "a", 1, "", USES("data"));
    run(&w, SETTLE);
    assert_waits(&w, "a", "the PersistentVolumeClaim data does not exist");
    claim(&w, "data", "now");
    run(&w, SETTLE);
    assert_waits(&w, "a", "the PersistentVolumeClaim data is not bound");
    assert_string_equal(selected(&w, "data"), "");
    restart_both(&w, 1);
    assert_waits(&w, "a", "the PersistentVolumeClaim data is not bound");
    volume(&w, "data", "n2");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "a", 0), "n2:1");
    end_exact(&w);
}

#define ZONE(z)                                                                                    \
    ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'zone','values':['" z "']}]}]"

/* One that waits for its first consumer is made for the node of the pod: that is said by whoever
 * binds the pod, and the pod is bound when the claim is. */
static void test_first_consumer(void **state) {
    struct world w;
    (void)state;
    begin_pods(&w);
    gpu_node(&w, "n1", 8, ",'zone':'a'", "");
    gpu_node(&w, "n2", 8, ",'zone':'b'", "");
    class(&w, "late", "WaitForFirstConsumer", ZONE("b"));
    claim(&w, "ours", "late");
    claim(&w, "theirs", "late");
    workload_with(&w, "a", 1, "", USES("ours"));
    workload_with(&w, "b", 1, "", USES("theirs"));
    pod_with(&w, "a-0", "a", "FluxionScheduler", "", USES("ours"));
    pod_with(&w, "b-0", "b", "default-scheduler", "", USES("theirs"));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "a", 0), "n2:1");
    assert_string_equal(nodes_of(&w, "b", 0), "n2:1");
    assert_string_equal(selected(&w, "ours"), "n2");
    assert_string_equal(selected(&w, "theirs"), ""); /* kube-scheduler does it */
    assert_string_equal(node_of(&w, "a-0"), "");
    assert_string_equal(host_of(&w, "b-0"), "n2");
    assert_null(fakeapi_get(w.api, FLUXJOBS "/a-0-pod"));
    restart_both(&w, 1);
    assert_string_equal(node_of(&w, "a-0"), "");
    /* Its provisioner gives up: there is no other node for it, and it is asked again. */
    patch(&w, CLAIMS "/ours",
          "{'metadata':{'annotations':{'volume.kubernetes.io/selected-node':null}}}");
    run(&w, SETTLE);
    assert_string_equal(selected(&w, "ours"), "n2");
    volume(&w, "ours", "n2");
    run(&w, SETTLE);
    assert_string_equal(node_of(&w, "a-0"), "n2");
    end_exact(&w);
}

/* Pods that share a claim: the first one says where it is made, and it does not go to and fro. */
static void test_shared_claim(void **state) {
    struct world w;
    (void)state;
    begin_pods(&w);
    gpu_node(&w, "n1", 1, "", "");
    gpu_node(&w, "n2", 1, "", "");
    class(&w, "late", "WaitForFirstConsumer", "");
    claim(&w, "data", "late");
    workload_with(&w, "a", 2, "", USES("data"));
    pod_with(&w, "a-0", "a", "FluxionScheduler", "", USES("data"));
    run(&w, SETTLE);
    assert_string_equal(selected(&w, "data"), "n1");
    pod_with(&w, "a-1", "a", "FluxionScheduler", "", USES("data"));
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "a-1"), "n2");
    assert_string_equal(selected(&w, "data"), "n1");
    end_exact(&w);
}

/* A volume that is made with the pod is made where its class allows. */
static void test_ephemeral(void **state) {
    struct world w;
    (void)state;
    begin_pods(&w);
    gpu_node(&w, "n1", 8, ",'zone':'a'", "");
    gpu_node(&w, "n2", 8, ",'zone':'b'", "");
    class(&w, "late", "WaitForFirstConsumer", ZONE("b"));
    workload_with(&w, "a", 2, "",
                  ",'volumes':[{'name':'v','ephemeral':{'volumeClaimTemplate':{'spec':{"
                  "'storageClassName':'late'}}}}]");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "a", 0), "n2:2");
    end_exact(&w);
}

/* It turned out to be elsewhere: its pod is not bound where it could not use it, and says so. */
static void test_volume_elsewhere(void **state) {
    struct world w;
    (void)state;
    begin_pods(&w);
    gpu_node(&w, "n1", 8, "", "");
    gpu_node(&w, "n2", 8, "", "");
    class(&w, "late", "WaitForFirstConsumer", "");
    claim(&w, "data", "late");
    workload_with(&w, "a", 1, "", USES("data"));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "a", 0), "n1:1");
    volume(&w, "data", "n2");
    pod_with(&w, "a-0", "a", "FluxionScheduler", "", USES("data"));
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "a-0"), "n1");
    assert_string_equal(node_of(&w, "a-0"), "");
    assert_string_equal(told(&w, "a-0"),
                        "The volume of a claim cannot be used on the node of its place");
    end_exact(&w);
}

/* ---- who binds ---- */

/* What makes any other pod a job of the queue does not make one of these: they have their place. */
static void test_no_job_beside(void **state) {
    static const struct {
        const char *name, *meta, *spec;
    } pods[] = {
        {"whole", ",'fluxqueue/whole-nodes':'true'", ""},
        {"ends", "", ",'activeDeadlineSeconds':60"},
    };
    struct world w;
    (void)state;
    begin_pods(&w);
    gpu_node(&w, "n1", 8, "", "");
    gpu_node(&w, "n2", 8, "", "");
    other_pod(&w, "other", "n1", "8");
    for (size_t i = 0; i < SL_LEN(pods); i++) {
        char name[64], path[200];
        workload_with(&w, pods[i].name, 1, "", "");
        sl_fmt(name, sizeof name, "%s-0", pods[i].name);
        pod_with(&w, name, pods[i].name, "FluxionScheduler", pods[i].meta, pods[i].spec);
        run(&w, SETTLE);
        assert_string_equal(node_of(&w, name), "n2");
        sl_fmt(path, sizeof path, FLUXJOBS "/%s-pod", name);
        assert_null(fakeapi_get(w.api, path));
    }
    restart_both(&w, 1);
    end_exact(&w);
}

static bool refusing;
static uint32_t refused;

static int review(void *ctx, const struct fakeapi_write *write, struct sl_buf *why) {
    (void)ctx;
    yyjson_mut_val *now = yyjson_mut_doc_get_root(write->now);
    const char *to =
        sl_json_mut_text(yyjson_mut_obj_get(yyjson_mut_obj_get(now, "spec"), "nodeName"));
    if (!refusing || strcmp(write->kind->kind, "Pod") != 0 || !*to)
        return 0;
    sl_buf_puts(why, "not now");
    refused++;
    return 403;
}

/* A binding that is refused is tried again: the place is that of the pod. */
static void test_refused(void **state) {
    struct world w;
    (void)state;
    begin_pods(&w);
    gpu_node(&w, "n1", 8, "", "");
    workload_with(&w, "a", 1, "", "");
    fakeapi_on_write(w.api, review, NULL);
    refusing = true;
    pod_with(&w, "a-0", "a", "FluxionScheduler", "", "");
    run(&w, SETTLE);
    assert_string_equal(node_of(&w, "a-0"), "");
    assert_in_range(refused, 2, 10); /* at growing distance */
    if (!strstr(told(&w, "a-0"), "The API server refused the binding to n1"))
        fail_msg("%s", told(&w, "a-0"));
    refusing = false;
    run(&w, 2 * SL_MINUTE);
    assert_string_equal(node_of(&w, "a-0"), "n1");
    end_exact(&w);
}

/* ---- fewer pods ---- */

#define FEWER(count, least, gpus)                                                                  \
    "{'name':'main','count':" count ",'minCount':" least                                           \
    ",'template':{'spec':{" REQUESTS(gpus) "}}}"

/* Partial admission: as many pods as there are nodes for, of those that there is quota for. */
static void test_fewer(void **state) {
    struct world w;
    (void)state;
    begin_pods(&w);
    gpu_node(&w, "n1", 7, "", "");
    gpu_node(&w, "n2", 7, "", "");
    gpu_node(&w, "n3", 3, "", "");
    workload_of(&w, "a", 0, FEWER("6", "2", "3")); /* 17 GPUs are free, and nodes for 5 of them */
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "a", 0), "n1:2 n2:2 n3:1");
    yyjson_val *p =
        yyjson_arr_get_first(workload_at(&w, "a", "status.admission.podSetAssignments"));
    assert_int_equal(sl_json_int(p, "count", 0), 5);
    assert_string_equal(sl_json_str(p, "resourceUsage."
                                       "cpu"),
                        "5");
    workload_of(&w, "b", 0, FEWER("3", "3", "1"));
    run(&w, SETTLE);
    assert_waits(&w, "b", "no set of nodes has room for 3 pod(s), only for 2 of them");
    restart_both(&w, 1);
    workload_of(&w, "c", 0, FEWER("3", "1", "1"));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "c", 0), "n1:1 n2:1");
    restart_both(&w, 2);
    end_exact(&w);
}

/* ---- slices ---- */

/* One of the successive Workloads of an elastic job: of: the one that it replaces, "": none. */
static void slice(struct world *w, const char *name, const char *of, const char *podset) {
    char text[2048], before[200] = "";
    if (*of)
        sl_fmt(before, sizeof before, ",'kueue.x-k8s.io/workload-slice-replacement-for':'ns/%s'",
               of);
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s','labels':{'kueue.x-k8s.io/job-uid':'u'},'annotations':{"
           "'kueue.x-k8s.io/workload-slice-name':'chain','kueue.x-k8s.io/elastic-job':'true'%s},"
           "'ownerReferences':[{'apiVersion':'x/v1','kind':'X','name':'x','uid':'u'}]},'spec':{"
           "'active':true,'queueName':'q','podSets':[%s]}}",
           name, before, podset);
    create(w, WORKLOADS, text);
}

static void slice_pod(struct world *w, const char *name, const char *gpus) {
    char text[2048];
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s','labels':{'kueue.x-k8s.io/podset':'main'},'annotations':{"
           "'kueue.x-k8s.io/workload':'one','kueue.x-k8s.io/workload-slice-name':'chain'}},'spec':{"
           "'schedulingGates':[{'name':'kueue.x-k8s.io/topology'}],'containers':[{'name':'c',"
           "'resources':{'requests':{'cpu':'1','" GPU "':'%s'}}}]}}",
           name, gpus);
    create(w, PODS, text);
}

/* A slice has the nodes of the one before it, and others for what it has more; or it waits, and
 * that one keeps all it has. */
static void test_slices(void **state) {
    struct world w;
    (void)state;
    begin_pods(&w);
    gpu_node(&w, "n1", 4, "", "");
    gpu_node(&w, "n2", 4, "", "");
    slice(&w, "one", "", PODSET("main", "2", "3", ""));
    slice_pod(&w, "p0", "3");
    slice_pod(&w, "p1", "3");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "one", 0), "n1:1 n2:1");
    bind(&w, "p0");
    bind(&w, "p1");
    run(&w, SETTLE);
    slice(&w, "two", "one", PODSET("main", "3", "3", ""));
    run(&w, SETTLE);
    assert_waits(&w, "two", "no set of nodes has room for 1 pod(s)");
    assert_true(is(&w, "one", "Admitted"));
    assert_false(is(&w, "one", "Finished"));
    restart_both(&w, 1);
    gpu_node(&w, "n3", 4, "", "");
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "two", 0), "n1:1 n2:1 n3:1");
    assert_true(is(&w, "one", "Finished"));
    slice_pod(&w, "p2", "3");
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "p2"), "n3");
    bind(&w, "p2");
    run(&w, SETTLE);
    /* Each pod is counted once: one GPU is left on each node. */
    workload_of(&w, "rest", 0, PODSET("main", "3", "1", ""));
    workload_of(&w, "none", 0, PODSET("main", "1", "1", ""));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "rest", 0), "n1:1 n2:1 n3:1");
    assert_waits(&w, "none", "no set of nodes has room for 1 pod(s)");
    restart_both(&w, 2);
    end_exact(&w);
}

/* The next one is on nodes that it has already: each of them is named once. */
static void test_slice_on_the_same_node(void **state) {
    struct world w;
    (void)state;
    begin_pods(&w);
    gpu_node(&w, "n1", 8, "", "");
    slice(&w, "one", "", PODSET("main", "2", "1", ""));
    run(&w, SETTLE);
    slice(&w, "two", "one", PODSET("main", "5", "1", ""));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "two", 0), "n1:5");
    finish(&w, "two");
    run(&w, SETTLE);
    workload_of(&w, "all", 0, PODSET("main", "1", "8", ""));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "all", 0), "n1:1");
    end_exact(&w);
}

/* ---- nodes that a check provides ---- */

#define REQUESTED "/apis/autoscaling.x-k8s.io/v1/namespaces/ns/provisioningrequests"

static const char *check_message(struct world *w, const char *name) {
    return sl_json_str(yyjson_arr_get_first(workload_at(w, name, "status.admissionChecks")),
                       "message");
}

/* They are not there when quota is reserved: the check is ready when they are, and the Workload is
 * admitted with all of its nodes. */
static void test_provisioned(void **state) {
    struct world w;
    (void)state;
    begin_parts(
        &w, "",
        (struct sl_manager_parts){
            .core = true, .scheduler = true, .tas = true, .fluxqueue = true, .provisioning = true});
    create(&w, KUEUE "/resourceflavors", "{'metadata':{'name':'f'},'spec':{}}");
    create(&w, KUEUE "/provisioningrequestconfigs",
           "{'metadata':{'name':'conf'},'spec':{'provisioningClassName':'best-effort',"
           "'podSetUpdates':{'nodeSelector':[{'key':'pool','valueFromProvisioningClassDetail':"
           "'pool'}]}}}");
    create(&w, KUEUE "/admissionchecks",
           "{'metadata':{'name':'prov'},'spec':{'controllerName':'kueue.x-k8s.io/"
           "provisioning-request','parameters':{'apiGroup':'kueue.x-k8s.io','kind':"
           "'ProvisioningRequestConfig','name':'conf'}}}");
    cluster_queue(&w, "cq", EXACT,
                  ",'admissionChecksStrategy':{'admissionChecks':[{'name':'prov'}]}");
    gpu_node(&w, "n1", 8, "", "");
    workload_of(&w, "a", 0, PODSET("main", "2", "4", ""));
    run(&w, SETTLE);
    assert_true(is(&w, "a", "QuotaReserved"));
    assert_false(is(&w, "a", "Admitted"));
    assert_string_equal(nodes_of(&w, "a", 0), "");
    assert_non_null(fakeapi_get(w.api, REQUESTED "/a-prov-1"));
    patch(&w, REQUESTED "/a-prov-1/status",
          "{'status':{'provisioningClassDetails':{'pool':'new'},'conditions':[{'type':'Accepted',"
          "'status':'True','reason':'R','message':'','lastTransitionTime':'2026-01-01T00:00:00Z'},"
          "{'type':'Provisioned','status':'True','reason':'R','message':'','lastTransitionTime':"
          "'2026-01-01T00:00:00Z'}]}}");
    run(&w, SETTLE);
    assert_false(is(&w, "a", "Admitted")); /* n1 is not one of those */
    if (!strstr(check_message(&w, "a"), "waits for exact nodes: no set of nodes"))
        fail_msg("%s", check_message(&w, "a"));
    gpu_node(&w, "n2", 4, ",'pool':'new'", "");
    run(&w, SETTLE);
    assert_false(is(&w, "a", "Admitted"));
    restart_both(&w, 1);
    gpu_node(&w, "n3", 4, ",'pool':'new'", "");
    run(&w, SETTLE);
    assert_true(is(&w, "a", "Admitted"));
    assert_string_equal(nodes_of(&w, "a", 0), "n2:1 n3:1");
    restart_both(&w, 2);
    workload_of(&w, "b", 0, PODSET("main", "2", "4", ""));
    run(&w, SETTLE);
    assert_true(is(&w, "b", "QuotaReserved"));
    assert_false(is(&w, "b", "Admitted"));
    end_exact(&w);
}

#define ONE(gpus) PODSET("main", "1", gpus, "")

/* A pod has the place of its Workload only if it requests no more. */
static void test_somebody_else(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 8, "", "");
    workload_of(&w, "small", 0, ONE("1"));
    run(&w, SETTLE);
    assert_true(is(&w, "small", "Admitted"));
    create(&w, PODS,
           "{'metadata':{'name':'large','annotations':{'kueue.x-k8s.io/workload':'small'}},"
           "'spec':{'nodeName':'n1','containers':[{'name':'c','resources':{'requests':{'cpu':'1',"
           "'" GPU "':'7'}}}]},'status':{'phase':'Running'}}");
    run(&w, SETTLE);
    workload_of(&w, "next", 0, ONE("6"));
    run(&w, SETTLE);
    assert_false(is(&w, "next", "Admitted"));
    pod_phase(&w, "large", "Succeeded");
    run(&w, SETTLE);
    assert_true(is(&w, "next", "Admitted"));
    end_exact(&w);
}

/* The same of its own pod, resized in place; and beside a FluxJob, whose place is none then. */
static void test_larger_than_its_podset(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 8, "", "");
    workload_of(&w, "a", 0, ONE("1"));
    gated_pod(&w, "a-0", "a", "1", "default-scheduler");
    run(&w, SETTLE);
    bind(&w, "a-0");
    run(&w, SETTLE);
    patch(&w, PODS "/a-0",
          "{'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':'14','" GPU
          "':'1'}}}]}}");
    run(&w, SETTLE);
    workload_of(&w, "b", 0,
                PODSET("main", "1", "1",
                       ",'initContainers':[{'name':'i','resources':{'requests':{'cpu':'10'}}}]"));
    create(&w, PODS,
           "{'metadata':{'name':'f','labels':{'fluxqueue.seen':'yes'}},'spec':{'schedulerName':"
           "'FluxionScheduler','schedulingGates':[{'name':'fluxqueue'}],'containers':[{'name':'c',"
           "'resources':{'requests':{'cpu':'4'}}}]}}");
    run(&w, SETTLE);
    assert_false(is(&w, "b", "Admitted"));
    assert_string_equal(node_of(&w, "f"), "");
    patch(&w, PODS "/a-0",
          "{'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':'1','" GPU
          "':'1'}}}]}}");
    run(&w, 2 * SL_MINUTE);
    assert_true(is(&w, "b", "Admitted"));
    assert_string_equal(node_of(&w, "f"), "n1");
    end_exact(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_ports),
        cmocka_unit_test(test_too_few_ports),
        cmocka_unit_test(test_bound_claim),
        cmocka_unit_test(test_claim_not_ready),
        cmocka_unit_test(test_first_consumer),
        cmocka_unit_test(test_shared_claim),
        cmocka_unit_test(test_ephemeral),
        cmocka_unit_test(test_volume_elsewhere),
        cmocka_unit_test(test_no_job_beside),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_fewer),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_slice_on_the_same_node),
        cmocka_unit_test(test_provisioned),
        cmocka_unit_test(test_somebody_else),
        cmocka_unit_test(test_larger_than_its_podset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
