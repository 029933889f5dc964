/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of jobs that a row describes, over the in-memory API: one kind with podsets in a list,
 * one in a map, one inside other objects, one with a template that nobody wrote, one of Spark. The
 * test plays users and the controllers of the kinds.
 */
#include "flow_fixture.h"

struct kind {
    struct fakeapi_kind api;
    enum sl_framework framework;
    const char *collection, *object;
};

#define KIND(g, v, names, name, fw)                                                                \
    {                                                                                              \
        {g, v, names, name, FAKEAPI_NAMESPACED | FAKEAPI_STATUS, NULL}, fw,                        \
            "/apis/" g "/" v "/namespaces/ns/" names,                                              \
            "/apis/" g "/" v "/namespaces/ns/" names "/j"                                          \
    }
static const struct kind jobset =
    KIND("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", SL_FW_JOBSET);
static const struct kind mpijob =
    KIND("kubeflow.org", "v2beta1", "mpijobs", "MPIJob", SL_FW_MPIJOB);
static const struct kind rayjob = KIND("ray.io", "v1", "rayjobs", "RayJob", SL_FW_RAYJOB);
static const struct kind wrapper =
    KIND("workload.codeflare.dev", "v1beta2", "appwrappers", "AppWrapper", SL_FW_APPWRAPPER);
static const struct kind spark = KIND("sparkoperator.k8s.io", "v1beta2", "sparkapplications",
                                      "SparkApplication", SL_FW_SPARKAPPLICATION);

static const struct kind trainjob =
    KIND("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob", SL_FW_TRAINJOB);
static const struct fakeapi_kind runtimes = {
    "trainer.kubeflow.org",   "v1alpha1", "clustertrainingruntimes",
    "ClusterTrainingRuntime", 0,          NULL};

/* ---- looking ---- */

static char *json_at(struct world *w, const char *path, const char *pointer) {
    static char text[8192];
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(sizeof text);
    yyjson_val *v = yyjson_ptr_get(fakeapi_get(w->api, path), pointer);
    if (v)
        sl_json_put(&b, v);
    (void)snprintf(text, sizeof text, "%s", v ? sl_buf_str(&b) : "(absent)");
    for (char *c = text; *c; c++)
        *c = *c == '"' ? '\'' : *c;
    return text;
}

#define IS(w, path, pointer, want) assert_string_equal(json_at(w, path, pointer), want)

struct found {
    char path[512];
    uint32_t n;
};

static void note_path(void *ctx, yyjson_val *o) {
    struct found *f = ctx;
    (void)snprintf(f->path, sizeof f->path, WORKLOADS "/%s", sl_json_str(o, "metadata.name"));
    f->n++;
}

static const char *workload(struct world *w) {
    static struct found f;
    f = (struct found){0};
    (void)fakeapi_each(w->api, WORKLOADS, note_path, &f);
    assert_int_equal(f.n, 1);
    return f.path;
}

static bool is_true(struct world *w, const char *type) {
    return strcmp(sl_json_str(condition_of(w, workload(w), type), "status"), "True") == 0;
}

/* ---- the world ---- */

static void begin_with(struct world *w, const struct kind *k, const char *config) {
    struct sl_manager_parts parts = {.core = true, .scheduler = true};
    parts.framework[k->framework] = true;
    open_world(w, 1, config, parts);
    fakeapi_register(w->api, &k->api);
    create(w, "/api/v1/namespaces",
           "{'metadata':{'name':'ns','labels':{'kubernetes.io/metadata.name':'ns'}}}");
    create(w, KUEUE "/resourceflavors",
           "{'metadata':{'name':'spot'},'spec':{'nodeLabels':{'type':'spot'},'tolerations':[{'key':"
           "'spot','operator':'Exists'}]}}");
    create(w, KUEUE "/clusterqueues",
           "{'metadata':{'name':'cq'},'spec':{'namespaceSelector':{},'queueingStrategy':'"
           "BestEffortFIFO','resourceGroups':[{'coveredResources':['cpu','memory'],'flavors':[{"
           "'name':'spot','resources':[{'name':'cpu','nominalQuota':'8'},{'name':'memory',"
           "'nominalQuota':'64Gi'}]}]}]}}");
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q'},'spec':{'clusterQueue':'cq'}}");
}

#define INTEGRATIONS(name) CONFIG "integrations:\n  frameworks: [" name "]\n"

static void begin(struct world *w, const struct kind *k) {
    char config[512];
    (void)snprintf(config, sizeof config, INTEGRATIONS("\"%s\"") "%s",
                   sl_framework_name(k->framework),
                   k->framework == SL_FW_SPARKAPPLICATION
                       ? "featureGates: {SparkApplicationIntegration: true}\n"
                       : "");
    begin_with(w, k, config);
}

static void stop_queue(struct world *w, bool on) {
    patch(w, KUEUE "/clusterqueues/cq",
          on ? "{'spec':{'stopPolicy':'HoldAndDrain'}}" : "{'spec':{'stopPolicy':'None'}}");
    run(w, SETTLE);
}

#define META "'metadata':{'name':'j','labels':{'" Q "queue-name':'q'}}"
#define CONTAINERS(cpu)                                                                            \
    "'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'" cpu "'}}}]"
#define POD(cpu) "{'spec':{" CONTAINERS(cpu) "}}"
#define TOLERATION "{'key':'spot','operator':'Exists'}"
#define NAMES(podset)                                                                              \
    "'" Q "podset':'" podset "','" Q "local-queue-name':'q','" Q "cluster-queue-name':'cq'"

/* ---- a list ---- */

#define RJOB "/spec/replicatedJobs/0/template/spec/template"
#define RJOB1 "/spec/replicatedJobs/1/template/spec/template"
#define NEW_JOBSET(more)                                                                           \
    "{" META ",'spec':{'suspend':true," more "'replicatedJobs':[{'name':'Driver','replicas':1,"    \
    "'template':{'spec':{'template':{'metadata':{'labels':{'a/b':'c'}},'spec':{'nodeSelector':{"   \
    "'mine':'yes'}," CONTAINERS("1") "}}}}},{'name':'workers','replicas':2,'template':{'spec':{"   \
                                     "'parallelism':3,'completions':3,'template':" POD(            \
                                         "1") "}}}]}}"

static void jobset_runs(struct world *w) {
    run(w, SETTLE);
    assert_true(is_true(w, "Admitted"));
    IS(w, jobset.object, "/spec/suspend", "false");
    IS(w, jobset.object, RJOB "/spec/nodeSelector", "{'mine':'yes','type':'spot'}");
    IS(w, jobset.object, RJOB "/spec/tolerations", "[" TOLERATION "]");
    IS(w, jobset.object, RJOB "/metadata/labels", "{'a/b':'c'," NAMES("driver") "}");
    IS(w, jobset.object, RJOB1 "/metadata/labels", "{" NAMES("workers") "}");
    IS(w, jobset.object, RJOB1 "/spec/nodeSelector", "{'type':'spot'}");
}

static void jobset_is_restored(struct world *w) {
    IS(w, jobset.object, "/spec/suspend", "true");
    IS(w, jobset.object, RJOB "/spec/nodeSelector", "{'mine':'yes'}");
    IS(w, jobset.object, RJOB "/spec/tolerations", "(absent)");
    IS(w, jobset.object, RJOB "/metadata/labels", "{'a/b':'c'}");
    IS(w, jobset.object, RJOB "/metadata/annotations", "(absent)");
    IS(w, jobset.object, RJOB1 "/metadata/labels", "{}");
    IS(w, jobset.object, RJOB1 "/spec/nodeSelector", "(absent)");
}

static void test_list(void **state) {
    (void)state;
    struct world w;
    begin(&w, &jobset);
    create(&w, jobset.collection, NEW_JOBSET(""));
    jobset_runs(&w);
    assert_memory_equal(strrchr(workload(&w), '/'), "/jobset-j-", 10);
    IS(&w, workload(&w), "/spec/podSets/0/name", "'driver'");
    IS(&w, workload(&w), "/spec/podSets/1/count", "6");
    IS(&w, workload(&w), "/spec/podSets/1/topologyRequest",
       "{'podIndexLabel':'batch.kubernetes.io/job-completion-index','subGroupIndexLabel':"
       "'jobset.sigs.k8s.io/job-index','subGroupCount':2}");
    IS(&w, workload(&w), "/metadata/ownerReferences/0/kind", "'JobSet'");
    assert_int_equal(
        events(&w, (struct told){.reason = "CreatedWorkload", .kind = "JobSet", .name = "j"}), 1);
    assert_int_equal(events(&w, (struct told){.reason = "Started",
                                              .kind = "JobSet",
                                              .note = "Admitted by clusterQueue cq"}),
                     1);

    stop_queue(&w, true);
    jobset_is_restored(&w);
    assert_int_equal(events(&w, (struct told){.reason = "Stopped", .kind = "JobSet"}), 1);
    assert_false(is_true(&w, "QuotaReserved"));
    stop_queue(&w, false);
    jobset_runs(&w);

    patch(&w, "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/j/status",
          "{'status':{'replicatedJobsStatus':[{'name':'Driver','ready':1},{'name':'workers',"
          "'ready':1,'succeeded':1}]}}");
    run(&w, SETTLE);
    assert_true(is_true(&w, "PodsReady"));
    IS(&w, workload(&w), "/status/reclaimablePods", "[{'name':'workers','count':3}]");
    stop_queue(&w, true); /* what has ended needs no quota when it comes back */
    jobset_is_restored(&w);
    stop_queue(&w, false);
    jobset_runs(&w);
    IS(&w, workload(&w), "/status/admission/podSetAssignments/1/count", "3");
    IS(&w, workload(&w), "/status/admission/podSetAssignments/0/count", "1");
    patch(&w, "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/j/status",
          "{'status':{'replicatedJobsStatus':[{'name':'Driver','succeeded':1},{'name':'workers',"
          "'ready':1,'succeeded':1}]}}");
    run(&w, SETTLE);
    stop_queue(&w, true);
    stop_queue(&w, false);
    jobset_runs(&w);
    IS(&w, workload(&w), "/status/admission/podSetAssignments/0/count", "0");
    patch(&w, "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/j/status",
          "{'status':{'conditions':[{'type':'Completed','status':'True','message':'all done'}]}}");
    run(&w, SETTLE);
    assert_true(is_true(&w, "Finished"));
    IS(&w, workload(&w), "/metadata/finalizers", "[]");
    assert_string_equal(sl_json_str(condition_of(&w, workload(&w), "Finished"), "reason"),
                        "Succeeded");
    assert_string_equal(sl_json_str(condition_of(&w, workload(&w), "Finished"), "message"),
                        "all done");
    end(&w);
}

/* It waits as long as it is active. */
static void test_active(void **state) {
    (void)state;
    struct world w;
    begin(&w, &jobset);
    create(&w, jobset.collection, NEW_JOBSET(""));
    jobset_runs(&w);
    patch(&w, "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/j/status",
          "{'status':{'replicatedJobsStatus':[{'name':'Driver','active':1}]}}");
    stop_queue(&w, true);
    jobset_is_restored(&w);
    assert_true(is_true(&w, "QuotaReserved"));
    patch(&w, "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/j/status",
          "{'status':{'replicatedJobsStatus':[{'name':'Driver','active':0}]}}");
    run(&w, SETTLE);
    assert_false(is_true(&w, "QuotaReserved"));
    end(&w);
}

/* The spec of a suspended one may change; one that runs is stopped when it is no longer what was
 * admitted. */
static void test_changes(void **state) {
    (void)state;
    struct world w;
    begin(&w, &jobset);
    patch(&w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'Hold'}}");
    create(&w, jobset.collection, NEW_JOBSET(""));
    run(&w, SETTLE);
    IS(&w, workload(&w), "/spec/podSets/1/count", "6");
    request(&w, SL_PATCH, jobset.object, SL_JSON_PATCH,
            "[{'op':'replace','path':'/spec/replicatedJobs/1/replicas','value':1}]");
    run(&w, SETTLE);
    IS(&w, workload(&w), "/spec/podSets/1/count", "3");
    assert_int_equal(events(&w, (struct told){.reason = "UpdatedWorkload", .kind = "JobSet"}), 1);
    stop_queue(&w, false);
    jobset_runs(&w);
    request(&w, SL_PATCH, jobset.object, SL_JSON_PATCH,
            "[{'op':'replace','path':'/spec/replicatedJobs/1/replicas','value':2}]");
    run(&w, SETTLE);
    jobset_runs(&w); /* with a new Workload */
    IS(&w, workload(&w), "/spec/podSets/1/count", "6");
    end(&w);
}

/* ---- a map, a parent that is not there ---- */

static void test_map(void **state) {
    (void)state;
    struct world w;
    begin(&w, &mpijob);
    create(&w, mpijob.collection,
           "{" META ",'spec':{'mpiReplicaSpecs':{'Worker':{'replicas':2,'template':" POD(
               "1") "},'Launcher':{'template':{'spec':{'containers':[{'name':'c','ports':[{'"
                    "containerPort':"
                    "22}],'resources':{'requests':{'cpu':'2'}}}]}}}}}}");
    run(&w, SETTLE); /* it ran before it was queued: nothing is known to restore from */
    IS(&w, mpijob.object, "/spec/runPolicy", "{'suspend':false}");
    assert_int_equal(events(&w, (struct told){.reason = "Stopped",
                                              .note = "Missing Workload; unable to restore pod "
                                                      "templates"}),
                     1);
    IS(&w, workload(&w), "/spec/podSets/0/name", "'launcher'");
    IS(&w, workload(&w), "/spec/podSets/1/name", "'worker'");
    char name[512];
    (void)snprintf(name, sizeof name, "%s", workload(&w));
    request(&w, SL_PATCH, name, SL_JSON_PATCH,
            "[{'op':'add','path':'/spec/podSets/0/template/spec/containers/0/ports/0/protocol',"
            "'value':'TCP'}]"); /* as the schema has it */
    run(&w, SETTLE);
    assert_string_equal(workload(&w), name);
    IS(&w, mpijob.object, "/spec/runPolicy", "{'suspend':false}");
    IS(&w, mpijob.object, "/spec/mpiReplicaSpecs/Worker/template/spec/nodeSelector",
       "{'type':'spot'}");
    stop_queue(&w, true);
    IS(&w, mpijob.object, "/spec/runPolicy", "{'suspend':true}");
    IS(&w, mpijob.object, "/spec/mpiReplicaSpecs/Worker/template/spec/nodeSelector", "(absent)");
    end(&w);
}

/* ---- a template that stands nowhere ---- */

static void test_made_template(void **state) {
    (void)state;
    struct world w;
    begin(&w, &rayjob);
    create(&w, rayjob.collection,
           "{" META ",'spec':{'suspend':true,'submissionMode':'K8sJobMode','rayClusterSpec':{"
           "'headGroupSpec':{'template':" POD("1") "}}}}");
    run(&w, SETTLE);
    IS(&w, rayjob.object, "/spec/suspend", "false");
    IS(&w, workload(&w), "/spec/podSets/1/name", "'submitter'");
    IS(&w, rayjob.object, "/spec/submitterPodTemplate/spec/restartPolicy", "'Never'");
    IS(&w, rayjob.object, "/spec/submitterPodTemplate/spec/nodeSelector", "{'type':'spot'}");
    patch(&w, "/apis/ray.io/v1/namespaces/ns/rayjobs/j/status",
          "{'status':{'jobDeploymentStatus':'Running','rayClusterStatus':{'state':'ready'}}}");
    run(&w, SETTLE);
    assert_true(is_true(&w, "PodsReady"));
    assert_true(is_true(&w, "Admitted")); /* it is the same one still */
    stop_queue(&w, true);
    IS(&w, rayjob.object, "/spec/submitterPodTemplate/spec/nodeSelector", "(absent)");
    assert_true(is_true(&w, "QuotaReserved"));
    patch(&w, "/apis/ray.io/v1/namespaces/ns/rayjobs/j/status",
          "{'status':{'jobDeploymentStatus':'Suspended'}}");
    run(&w, SETTLE);
    assert_false(is_true(&w, "QuotaReserved"));
    end(&w);
}

/* One that uses a cluster of somebody else's is none of ours. */
static void test_skipped(void **state) {
    (void)state;
    struct world w;
    struct found f = {.n = 0};
    begin(&w, &rayjob);
    create(&w, rayjob.collection, "{" META ",'spec':{'clusterSelector':{'ray.io/cluster':'c'}}}");
    run(&w, SETTLE);
    (void)fakeapi_each(w.api, WORKLOADS, note_path, &f);
    assert_int_equal(f.n, 0);
    IS(&w, rayjob.object, "/spec/suspend", "(absent)");
    end(&w);
}

/* ---- inside other objects ---- */

static void test_inside(void **state) {
    (void)state;
    struct world w;
    begin(&w, &wrapper);
    create(&w, wrapper.collection,
           "{" META ",'spec':{'suspend':true,'components':[{'template':{'apiVersion':'v1','kind':"
           "'Service'}},{'declaredPodSets':[{'replicas':2,'path':'template.a'},{'path':'template.b'"
           "}],'template':{'a':" POD("1") ",'b':{'spec':{'tolerations':[{'key':'x'}]," CONTAINERS(
               "1") "}}}}]}}");
    run(&w, SETTLE);
    IS(&w, wrapper.object, "/spec/suspend", "false");
    IS(&w, wrapper.object, "/spec/components/1/podSetInfos/0/nodeSelector", "{'type':'spot'}");
    IS(&w, wrapper.object, "/spec/components/1/podSetInfos/1/labels", "{" NAMES("j-1") "}");
    IS(&w, wrapper.object, "/spec/components/1/podSetInfos/1/tolerations", "[" TOLERATION "]");
    IS(&w, wrapper.object, "/spec/components/0/podSetInfos", "(absent)");
    IS(&w, workload(&w), "/spec/podSets/0/count", "2");
    stop_queue(&w, true);
    IS(&w, wrapper.object, "/spec/suspend", "true");
    IS(&w, wrapper.object, "/spec/components/1/podSetInfos", "(absent)");
    stop_queue(&w, false);
    IS(&w, wrapper.object, "/spec/components/1/podSetInfos/0/nodeSelector", "{'type':'spot'}");
    end(&w);
}

/* ---- Spark ---- */

static void test_spark(void **state) {
    (void)state;
    struct world w;
    begin(&w, &spark);
    create(&w, spark.collection,
           "{" META ",'spec':{'suspend':true,'nodeSelector':{'all':'y'},'driver':{'coreRequest':'1'"
           ",'memory':'1g'},'executor':{'instances':2,'coreRequest':'1','labels':{'e':'x'}}}}");
    run(&w, SETTLE);
    IS(&w, spark.object, "/spec/suspend", "false");
    IS(&w, spark.object, "/spec/nodeSelector", "(absent)");
    IS(&w, spark.object, "/spec/driver/nodeSelector", "{'all':'y','type':'spot'}");
    IS(&w, spark.object, "/spec/executor/labels", "{'e':'x'," NAMES("executor") "}");
    assert_true(is_true(&w, "Admitted"));
    stop_queue(&w, true);
    IS(&w, spark.object, "/spec/executor/labels", "{'e':'x'}");
    IS(&w, spark.object, "/spec/driver/nodeSelector", "{'all':'y'}");
    IS(&w, spark.object, "/spec/driver/tolerations", "(absent)");
    end(&w);
}

/* ---- TrainJob ---- */

#define PATCHES "/spec/runtimePatches"
#define OUR_JOBS PATCHES "/1/trainingRuntimeSpec/template/spec/replicatedJobs"

static void test_train(void **state) {
    (void)state;
    struct world w;
    begin(&w, &trainjob);
    fakeapi_register(w.api, &runtimes);
    create(&w, trainjob.collection,
           "{" META
           ",'spec':{'suspend':true,'runtimeRef':{'name':'torch'},'trainer':{'numNodes':3},"
           "'runtimePatches':[{'manager':'other'},{'manager':'" Q "manager'}]}}");
    run(&w, SETTLE);
    assert_int_equal(
        events(&w, (struct told){.reason = "ErrWorkloadCompose",
                                 .note = "spec.runtimeRef: there is no runtime \"torch\""}),
        1);
    create(&w, "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes",
           "{'metadata':{'name':'torch'},'spec':{'mlPolicy':{'numNodes':1},'template':{'spec':{"
           "'replicatedJobs':[{'name':'node','template':{'metadata':{'labels':{"
           "'trainer.kubeflow.org/trainjob-ancestor-step':'trainer'}},'spec':{'template':{'spec':{"
           "'tolerations':[{'key':'x'}]," CONTAINERS("1") "}}}}}]}}}}");
    run(&w, SETTLE);
    IS(&w, workload(&w), "/spec/podSets/0/count", "3");
    IS(&w, trainjob.object, "/spec/suspend", "false");
    IS(&w, trainjob.object, OUR_JOBS "/0/name", "'node'");
    IS(&w, trainjob.object, OUR_JOBS "/0/template/spec/template/metadata/labels",
       "{" NAMES("node") "}");
    IS(&w, trainjob.object, OUR_JOBS "/0/template/spec/template/spec",
       "{'nodeSelector':{'type':'spot'},'tolerations':[{'key':'x'}," TOLERATION "]}");
    assert_true(is_true(&w, "Admitted"));

    patch(&w, "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/j/status",
          "{'status':{'jobsStatus':[{'name':'node','active':1}]}}");
    stop_queue(&w, true);
    IS(&w, trainjob.object, "/spec/suspend", "true");
    IS(&w, trainjob.object, OUR_JOBS "/0/name", "'node'"); /* not as long as it is active */
    assert_true(is_true(&w, "QuotaReserved"));
    patch(&w, "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/j/status",
          "{'status':{'jobsStatus':[{'name':'node','active':0}]}}");
    run(&w, SETTLE);
    IS(&w, trainjob.object, OUR_JOBS, "(absent)");
    assert_false(is_true(&w, "QuotaReserved"));
    stop_queue(&w, false);
    IS(&w, trainjob.object, "/spec/suspend", "false");
    IS(&w, trainjob.object, OUR_JOBS "/0/name", "'node'");
    end(&w);
}

/* Its webhook was not called: there is no patch of ours yet. */
static void test_train_without_patch(void **state) {
    (void)state;
    struct world w;
    begin(&w, &trainjob);
    fakeapi_register(w.api, &runtimes);
    create(&w, "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes",
           "{'metadata':{'name':'torch'},'spec':{'template':{'spec':{'replicatedJobs':[{'name':'"
           "node','template':{'spec':{'template':" POD("1") "}}}]}}}}");
    create(&w, trainjob.collection,
           "{" META ",'spec':{'suspend':true,'runtimeRef':{'name':'torch'}}}");
    run(&w, SETTLE);
    IS(&w, trainjob.object, "/spec/suspend", "false");
    IS(&w, trainjob.object, PATCHES "/0/manager", "'" Q "manager'");
    end(&w);
}

/* ---- owners ---- */

/* A Job that a JobSet owns has no Workload, and stands still while that is not admitted. */
static void test_children(void **state) {
    (void)state;
    struct world w;
    char job[1024];
    begin_with(&w, &jobset, INTEGRATIONS("\"jobset.x-k8s.io/jobset\", \"batch/job\""));
    w.parts.framework[SL_FW_JOB] = true;
    sl_manager_configure(w.m, w.settings, &w.parts);
    patch(&w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'Hold'}}");
    create(&w, jobset.collection, NEW_JOBSET(""));
    (void)snprintf(job, sizeof job,
                   "{'metadata':{'name':'child','ownerReferences':[{'apiVersion':'jobset.x-k8s.io/"
                   "v1alpha2','kind':'JobSet','name':'j','uid':'%s','controller':true}]},'spec':{"
                   "'suspend':false,'template':" POD("1") "}}",
                   yyjson_get_str(at(&w, jobset.object, "metadata.uid")));
    create(&w, "/apis/batch/v1/namespaces/ns/jobs", job);
    run(&w, SETTLE);
    IS(&w, "/apis/batch/v1/namespaces/ns/jobs/child", "/spec/suspend", "true");
    (void)workload(&w);
    assert_int_equal(events(&w, (struct told){.reason = "Suspended",
                                              .name = "child",
                                              .note = "Kueue managed child job suspended"}),
                     1);
    end(&w);
}

/* The owner's own kind need not be managed: what it belongs to may be. */
static void test_unmanaged_between(void **state) {
    (void)state;
    struct world w;
    char text[1024];
    begin_with(&w, &mpijob, INTEGRATIONS("\"kubeflow.org/mpijob\", \"batch/job\""));
    fakeapi_register(w.api, &jobset.api);
    w.parts.framework[SL_FW_JOB] = true;
    sl_manager_configure(w.m, w.settings, &w.parts);
    patch(&w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'Hold'}}");
    create(&w, mpijob.collection,
           "{" META
           ",'spec':{'runPolicy':{'suspend':true},'mpiReplicaSpecs':{'Worker':{'template':" POD(
               "1") "}}}}");
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'between','ownerReferences':[{'apiVersion':'kubeflow.org/"
                   "v2beta1','kind':'MPIJob','name':'j','uid':'%s','controller':true}]},'spec':{}}",
                   yyjson_get_str(at(&w, mpijob.object, "metadata.uid")));
    create(&w, jobset.collection, text);
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'child','ownerReferences':[{'apiVersion':'jobset.x-k8s.io/"
                   "v1alpha2','kind':'JobSet','name':'between','uid':'%s','controller':true}]},"
                   "'spec':{'suspend':false,'template':" POD("1") "}}",
                   yyjson_get_str(at(&w,
                                     "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/"
                                     "between",
                                     "metadata.uid")));
    create(&w, "/apis/batch/v1/namespaces/ns/jobs", text);
    run(&w, SETTLE);
    IS(&w, "/apis/batch/v1/namespaces/ns/jobs/child", "/spec/suspend", "true");
    IS(&w, "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/between", "/spec/suspend",
       "(absent)"); /* its controller does not run */
    (void)workload(&w);
    end(&w);
}

/* ---- what comes, goes, or cannot be read ---- */

static void test_api_later(void **state) {
    (void)state;
    struct world w;
    begin(&w, &jobset);
    fakeapi_install(w.api, "jobset.x-k8s.io", "jobsets", false);
    run(&w, SETTLE);
    fakeapi_install(w.api, "jobset.x-k8s.io", "jobsets", true);
    create(&w, jobset.collection, NEW_JOBSET(""));
    jobset_runs(&w);
    end(&w);
}

static void test_restart(void **state) {
    (void)state;
    struct world w;
    begin(&w, &jobset);
    create(&w, jobset.collection, NEW_JOBSET(""));
    jobset_runs(&w);
    restart(&w, 1);
    jobset_runs(&w);
    request(&w, SL_DELETE, jobset.object, NULL, NULL);
    run(&w, SETTLE);
    assert_null(fakeapi_get(w.api, jobset.object));
    struct found f = {.n = 0};
    (void)fakeapi_each(w.api, WORKLOADS, note_path, &f);
    assert_int_equal(f.n, 0);
    end(&w);
}

static void test_unreadable(void **state) {
    (void)state;
    struct world w;
    begin(&w, &jobset);
    create(&w, jobset.collection,
           "{'metadata':{'name':'bad','labels':{'" Q "queue-name':'q'}},'spec':{'suspend':true,"
           "'replicatedJobs':'none'}}");
    create(&w, jobset.collection, NEW_JOBSET(""));
    jobset_runs(&w);
    assert_int_equal(events(&w, (struct told){.reason = "ErrWorkloadCompose",
                                              .name = "bad",
                                              .note = "spec.replicatedJobs: expected a list"}),
                     1);
    end(&w);
}

static void test_prebuilt(void **state) {
    (void)state;
    struct world w;
    begin(&w, &mpijob);
    create(&w, WORKLOADS,
           "{'metadata':{'name':'pre','finalizers':['" Q
           "resource-in-use']},'spec':{'queueName':'q'"
           ",'podSets':[{'name':'worker','count':2,'template':" POD("1") "}]}}");
    create(&w, mpijob.collection,
           "{'metadata':{'name':'j','labels':{'" Q "queue-name':'q','" Q
           "prebuilt-workload-name':'pre'}},'spec':{'runPolicy':{'suspend':true},'mpiReplicaSpecs':"
           "{'Worker':{'replicas':2,'template':" POD("1") "}}}}");
    run(&w, SETTLE);
    IS(&w, mpijob.object, "/spec/runPolicy/suspend", "false");
    IS(&w, WORKLOADS "/pre", "/metadata/ownerReferences/0/kind", "'MPIJob'");
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),          cmocka_unit_test(test_active),
        cmocka_unit_test(test_changes),       cmocka_unit_test(test_map),
        cmocka_unit_test(test_made_template), cmocka_unit_test(test_skipped),
        cmocka_unit_test(test_inside),        cmocka_unit_test(test_spark),
        cmocka_unit_test(test_children),      cmocka_unit_test(test_unmanaged_between),
        cmocka_unit_test(test_api_later),     cmocka_unit_test(test_restart),
        cmocka_unit_test(test_unreadable),    cmocka_unit_test(test_prebuilt),
        cmocka_unit_test(test_train),         cmocka_unit_test(test_train_without_patch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
