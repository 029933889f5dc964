/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every row of kinds.yaml over objects as the kinds have them: what each says of its podsets and of
 * its state, in one line, and what becomes of objects that no schema has checked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "lib/json/json.h"
#include "manager/jobkinds/jobkinds.h"

#define POD(cpu)                                                                                   \
    "{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'i',"              \
    "'resources':{'requests':{'cpu':'" cpu "'}}}]}}"

static char *quoted(const char *s) {
    char *t = sl_strdup(s);
    for (char *c = t; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return t;
}

static void put_podsets(struct sl_buf *b, const struct sl_jobkind_podsets *p) {
    for (uint32_t i = 0; i < p->n; i++) {
        const struct sl_jobkind_pods *q = &p->v[i];
        sl_buf_printf(b, "%s%s=%d", i ? "," : "", q->name, q->count);
        if (q->units != 1)
            sl_buf_printf(b, "/%d", q->units);
        if (q->sub_count >= 0)
            sl_buf_printf(b, "@%d", q->sub_count);
    }
}

/* "launcher=1,worker=2 suspended ready active Succeeded(message) reclaimable 0,3". */
static void say(const struct sl_jobkind *k, yyjson_val *o, yyjson_val *other, struct sl_buf *b) {
    struct sl_jobkind_podsets p;
    struct sl_err err = {0};
    int32_t ret[SL_JOBKIND_MAX_PODSETS];
    if (sl_jobkind_podsets_with(k, o, other, &p, &err) < 0) {
        sl_buf_printf(b, "error %d: %s", err.code, err.text);
        sl_jobkind_podsets_done(&p);
        return;
    }
    put_podsets(b, &p);
    if (sl_jobkind_suspended(k, o))
        sl_buf_printf(b, " suspended");
    if (sl_jobkind_skipped(k, o))
        sl_buf_printf(b, " skipped");
    if (sl_jobkind_ready(k, o, &p))
        sl_buf_printf(b, " ready");
    if (sl_jobkind_active(k, o))
        sl_buf_printf(b, " active");
    struct sl_jobkind_finish f = sl_jobkind_finished(k, o);
    if (f.finished)
        sl_buf_printf(b, " %s(%s)", f.succeeded ? "succeeded" : "failed", f.message);
    if (sl_jobkind_reclaimable(k, o, &p, ret))
        for (uint32_t i = 0; i < p.n; i++)
            sl_buf_printf(b, "%s%d", i ? "," : " reclaimable ", ret[i]);
    if (*sl_jobkind_priority(k, o, &p))
        sl_buf_printf(b, " class %s", sl_jobkind_priority(k, o, &p));
    if (sl_jobkind_managed_by(k, o))
        sl_buf_printf(b, " by %s", sl_jobkind_managed_by(k, o));
    sl_jobkind_podsets_done(&p);
}

static void expect_with(const char *framework, const char *json, const char *other,
                        const char *want) {
    char *more = quoted(other);
    _cleanup_(sl_json_docp) yyjson_doc *e = sl_json_doc(more, strlen(more));
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(65536);
    char *text = quoted(json);
    _cleanup_(sl_json_docp) yyjson_doc *d = sl_json_doc(text, strlen(text));
    const struct sl_jobkind *k = sl_jobkind_by_framework(sl_jobkinds_built_in(), framework);
    assert_non_null(k);
    if (!d)
        print_error("no JSON: %s\n", text);
    assert_non_null(d);
    say(k, yyjson_doc_get_root(d), yyjson_doc_get_root(e), &b);
    free(text);
    free(more);
    if (strcmp(sl_buf_str(&b), want) != 0)
        print_error("%s: %s\n", framework, json);
    assert_string_equal(sl_buf_str(&b), want);
}

static void expect(const char *framework, const char *json, const char *want) {
    expect_with(framework, json, "", want);
}

/* ---- the kinds ---- */

#define RJOB(name, replicas, spec)                                                                 \
    "{'name':'" name "','replicas':" replicas ",'template':{'spec':{" spec                         \
    "'template':" POD("1") "}}}"

static void test_jobset(void **state) {
    static const char fw[] = "jobset.x-k8s.io/jobset";
    (void)state;
    expect(fw,
           "{'spec':{'suspend':true,'managedBy':'x/y','replicatedJobs':[" RJOB(
               "Leader", "1", "") "," RJOB("w", "3", "'parallelism':4,'completions':2,") "]}}",
           "leader=1@1,w=6/3@3 suspended by x/y");
    expect(fw,
           "{'spec':{'replicatedJobs':[" RJOB("a", "2", "'parallelism':3,") "," RJOB(
               "b", "1", "") "]},'status':{'replicatedJobsStatus':[{'name':'a','ready':1,'"
                             "succeeded':1,'active':1},"
                             "{'name':'b','ready':1}]}}",
           "a=6/2@2,b=1@1 ready active reclaimable 3,0");
    expect(
        fw,
        "{'spec':{'replicatedJobs':[" RJOB(
            "a", "2",
            "") "]},'status':{'conditions':[{'type':'Completed','status':'True','message':'all is "
                "done'}]}}",
        "a=2/2@2 succeeded(all is done)");
    expect(
        fw,
        "{'spec':{'replicatedJobs':[" RJOB(
            "a", "2",
            "") "]},'status':{'conditions':[{'type':'Completed','status':'False'},{'type':'Failed',"
                "'status':'True','message':'no'}]}}",
        "a=2/2@2 failed(no)");
    /* more have succeeded than there are: none of that is believed */
    expect(fw,
           "{'spec':{'replicatedJobs':[" RJOB(
               "a", "2", "") "]},'status':{'replicatedJobsStatus':[{'name':'a','succeeded':3}]}}",
           "a=2/2@2 reclaimable 0");
}

static void test_mpijob(void **state) {
    static const char fw[] = "kubeflow.org/mpijob";
    (void)state;
    expect(fw,
           "{'spec':{'runPolicy':{'suspend':true,'schedulingPolicy':{'priorityClass':'high'}},"
           "'mpiReplicaSpecs':{'Worker':{'replicas':5,'template':" POD(
               "1") "},'Launcher':{'template':" POD("2") "}}}}",
           "launcher=1,worker=5 suspended class high");
    expect(
        fw,
        "{'spec':{'mpiReplicaSpecs':{'Launcher':{'template':" POD(
            "2") "}}},'status':{'replicaStatuses':{'Launcher':{'active':1}},'conditions':[{'type':"
                 "'Running','status':'True'}]}}",
        "launcher=1 ready active");
    expect(fw,
           "{'spec':{'mpiReplicaSpecs':{'Launcher':{'template':" POD(
               "2") "}}},'status':{'replicaStatuses':{'Launcher':{'succeeded':1}},'conditions':[{'"
                    "type':"
                    "'Succeeded','status':'True','message':'ok'}]}}",
           "launcher=1 succeeded(ok)");
}

static void test_kubeflow(void **state) {
    static const struct {
        const char *framework, *specs, *keys[2], *want;
    } of[] = {
        {"kubeflow.org/pytorchjob",
         "pytorchReplicaSpecs",
         {"Worker", "Master"},
         "master=2,worker=2"},
        {"kubeflow.org/tfjob", "tfReplicaSpecs", {"Evaluator", "PS"}, "ps=2,evaluator=2"},
        {"kubeflow.org/paddlejob", "paddleReplicaSpecs", {"Worker", "Master"}, "master=2,worker=2"},
        {"kubeflow.org/xgboostjob", "xgbReplicaSpecs", {"Worker", "Master"}, "master=2,worker=2"},
        {"kubeflow.org/jaxjob", "jaxReplicaSpecs", {"Worker", "Other"}, "worker=2"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(of); i++) {
        _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(65536), want = SL_BUF(1024);
        sl_buf_printf(&b,
                      "{'spec':{'runPolicy':{'suspend':true,'managedBy':'me'},'%s':{'%s':"
                      "{'replicas':2,'template':" POD("1") "},'%s':{'replicas':2,'template':" POD(
                          "1") "}}},'status':{'conditions':[{'type':'Failed','status':'True',"
                               "'message':'m'}]}}",
                      of[i].specs, of[i].keys[0], of[i].keys[1]);
        sl_buf_printf(&want, "%s suspended failed(m) by me", of[i].want);
        expect(of[i].framework, sl_buf_str(&b), sl_buf_str(&want));
    }
}

#define WORKERS                                                                                    \
    "'workerGroupSpecs':[{'groupName':'Small','replicas':3,'numOfHosts':2,'template':" POD(        \
        "1") "},{'groupName':'big','numOfHosts':0,'template':" POD("4") "}]"
#define HEAD "'headGroupSpec':{'template':" POD("1") "}"

static void test_ray(void **state) {
    (void)state;
    expect("ray.io/raycluster", "{'spec':{'suspend':true," HEAD "," WORKERS "}}",
           "head=1,small=6,big=1 suspended");
    expect("ray.io/raycluster", "{'spec':{" HEAD "},'status':{'state':'ready'}}",
           "head=1 ready active");
    expect("ray.io/raycluster", "{'spec':{" HEAD "},'status':{'state':'failed'}}", "head=1");
    expect("ray.io/rayservice",
           "{'spec':{'rayClusterConfig':{'suspend':true," HEAD "," WORKERS
           "}},'status':{'conditions':[{'type':'Ready','status':'True'}]}}",
           "head=1,small=6,big=1 suspended ready active");
    expect("ray.io/rayjob",
           "{'spec':{'suspend':true,'rayClusterSpec':{" HEAD "," WORKERS "}},'status':{}}",
           "head=1,small=6,big=1,submitter=1 suspended");
    expect(
        "ray.io/rayjob",
        "{'spec':{'submissionMode':'HTTPMode','clusterSelector':{'a':'b'},'rayClusterSpec':{" HEAD
        "}},'status':{'jobDeploymentStatus':'Running','rayClusterStatus':{'state':'ready'}}"
        "}",
        "head=1 skipped ready active");
    expect("ray.io/rayjob",
           "{'spec':{'submissionMode':'SidecarMode','rayClusterSpec':{" HEAD
           "}},'status':{'jobDeploymentStatus':'Complete','jobStatus':'SUCCEEDED','message':'m'}}",
           "head=1 active succeeded(m)");
    expect("ray.io/rayjob",
           "{'spec':{'submissionMode':'SidecarMode','rayClusterSpec':{" HEAD
           "}},'status':{'jobDeploymentStatus':'Complete','jobStatus':'STOPPED','message':'m'}}",
           "head=1 active failed(m)");
}

static void test_appwrapper(void **state) {
    static const char fw[] = "workload.codeflare.dev/appwrapper";
    (void)state;
    expect(fw,
           "{'metadata':{'name':'Aw'},'spec':{'suspend':true,'components':[{'declaredPodSets':[{"
           "'replicas':4,'path':'template.spec.parts[1].pod'},{'path':'template.spec.one'}],"
           "'template':{'spec':{'parts':[0,{'pod':" POD("1") "}],'one':" POD(
               "1") "}}},"
                    "{'template':{'apiVersion':'batch/v1','kind':'Job','spec':{'parallelism':3,"
                    "'completions':2,'template':" POD("1") "}}}]}}",
           "aw-0=4,aw-1=1,aw-2=2 suspended");
    expect(fw,
           "{'metadata':{'name':'aw'},'spec':{'components':[{'template':{'apiVersion':'v1','kind':"
           "'Pod','spec':{'containers':[]}}},{'template':{'apiVersion':'v1','kind':'Service'}},{"
           "'template':{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','spec':{"
           "'replicatedJobs':[" RJOB("x", "2",
                                     "'parallelism':2,") "]}}}]},'status':{'phase':"
                                                         "'Failed','conditions':[{'type':'"
                                                         "QuotaReserved','status':'True'}]}}",
           "aw-0=1,aw-1=4@2 active failed(AppWrapper failed)");
    expect(fw,
           "{'metadata':{'name':'aw'},'spec':{'components':[{'template':" POD(
               "1") ",'declaredPodSets':[{'path':'template'}]}]},'status':{'phase':'Failed','"
                    "conditions':[{"
                    "'type':'ResourcesDeployed','status':'True'}]}}",
           "aw-0=1");
    expect(fw,
           "{'metadata':{'name':'aw'},'spec':{'components':[{'template':{'spec':{}},"
           "'declaredPodSets':[{'path':'template.spec.a[99999999999]'}]}]}}",
           "error -1: spec.components[0]: there is no pod template at "
           "\"template.spec.a[99999999999]\"");
}

static void test_spark(void **state) {
    static const char fw[] = "sparkoperator.k8s.io/sparkapplication";
    (void)state;
    expect(fw,
           "{'spec':{'suspend':true,'driver':{'coreRequest':'500m','memory':'1g',"
           "'priorityClassName':'p'},'executor':{'instances':3,'memory':'512m','coreLimit':'2'}}}",
           "driver=1,executor=3 suspended class p");
    expect(fw,
           "{'spec':{'driver':{},'executor':{'instances':2}},'status':{'applicationState':{'state'"
           ":'RUNNING'},'executorState':{'a':'RUNNING','b':'PENDING'}}}",
           "driver=1,executor=2 active");
    expect(fw,
           "{'spec':{'driver':{},'executor':{'instances':2}},'status':{'applicationState':{'state'"
           ":'RUNNING'},'executorState':{'a':'RUNNING','b':'COMPLETED'}}}",
           "driver=1,executor=2 ready active");
    expect(fw,
           "{'spec':{'driver':{},'executor':{}},'status':{'applicationState':{'state':"
           "'SUBMISSION_FAILED','errorMessage':'e'}}}",
           "driver=1,executor=0 failed(e)");
    expect(fw, "{'spec':{'driver':{'memory':'a lot'},'executor':{}}}",
           "error -1: spec.driver: memory: \"a lot\" is no amount");
}

#define STEP(s) "'metadata':{'labels':{'trainer.kubeflow.org/trainjob-ancestor-step':'" s "'}},"
#define NODE(cpu)                                                                                  \
    "{'spec':{'containers':[{'name':'node','resources':{'requests':{'cpu':'" cpu "','memory':"     \
    "'1Gi'}}}]}}"
#define RUNTIME(policy)                                                                            \
    "{'spec':{'mlPolicy':{" policy "},'template':{'spec':{'replicatedJobs':[{'name':'data',"       \
    "'replicas':3,'template':{" STEP("dataset-initializer") "'spec':{'template':" POD(             \
        "1") "}}},{'name':'node','template':{" STEP("trainer") "'spec':{'template':" NODE("1") "}" \
                                                                                               "}" \
                                                                                               "}" \
                                                                                               "]" \
                                                                                               "}" \
                                                                                               "}" \
                                                                                               "}" \
                                                                                               "}"

static void test_trainjob(void **state) {
    static const char fw[] = "trainer.kubeflow.org/trainjob";
    (void)state;
    expect(fw, "{'spec':{'runtimeRef':{'name':'torch'}}}",
           "error -2: spec.runtimeRef: there is no runtime \"torch\"");
    expect_with(fw, "{'spec':{'suspend':true}}", RUNTIME("'numNodes':4"),
                "data=1@1,node=4@1 suspended");
    expect_with(fw,
                "{'spec':{'trainer':{'numNodes':7}},'status':{'jobsStatus':[{'name':'data',"
                "'succeeded':1},{'name':'node','ready':1,'active':1}]}}",
                RUNTIME("'numNodes':4"), "data=1@1,node=7@1 ready active reclaimable 1,0");
    expect_with(fw, "{'spec':{'trainer':{'numNodes':7}}}",
                RUNTIME("'numNodes':4,'mpi':{'runLauncherAsNode':true}"), "data=1@1,node=6@1");
    expect_with(fw,
                "{'spec':{'runtimePatches':[{'manager':'x','trainingRuntimeSpec':{'template':{"
                "'spec':{'replicatedJobs':[{'name':'data','template':{'spec':{'template':{'spec':{"
                "'priorityClassName':'p'}}}}},{'name':'new','template':{'spec':{'template':{'spec'"
                ":{}}}}}]}}}},{'manager':'kueue.x-k8s.io/manager','trainingRuntimeSpec':{"
                "'template':{'spec':{'replicatedJobs':[{'name':'ours'}]}}}}]},'status':{"
                "'conditions':[{'type':'Complete','status':'True','message':'m'}]}}",
                RUNTIME(""), "data=1@1,node=1@1,new=1@1 succeeded(m) class p");
    expect_with(fw, "{}", "{'spec':{'template':{'spec':{'replicatedJobs':[{'replicas':1}]}}}}",
                "error -1: the runtime's spec.template.spec.replicatedJobs: expected jobs with a "
                "name and a pod template");
}

/* JSON of a list with 'n' times the same. */
static char *repeated(const char *before, const char *item, uint32_t n, const char *after) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF((size_t)4 << 20);
    sl_buf_add(&b, before, strlen(before));
    for (uint32_t i = 0; i < n; i++)
        sl_buf_printf(&b, "%s%s", i ? "," : "", item);
    sl_buf_add(&b, after, strlen(after));
    return sl_strdup(sl_buf_str(&b));
}

/* What would be left out would not be counted against a quota. */
static void test_many(void **state) {
    (void)state;
    char *patches = repeated("{'spec':{'runtimePatches':[", "{'manager':'x'}", 65, "]}}");
    expect_with("trainer.kubeflow.org/trainjob", patches, RUNTIME(""),
                "error -4: spec.runtimePatches: at most 64 are applied");
    free(patches);
}

static void check_sidecars(const struct sl_jobkind_podsets *p) {
    assert_int_equal(yyjson_arr_size(sl_json_at(p->v[0].template, "spec.containers")), 5001);
}

/* ---- templates that are made ---- */

static void container_is(yyjson_val *template, size_t i, const char *path, const char *want) {
    yyjson_val *c = yyjson_arr_get(sl_json_at(template, "spec.containers"), i);
    assert_string_equal(sl_json_str(c, path), want);
}

static void with_podsets_of(const char *framework, const char *json, const char *other,
                            void (*check)(const struct sl_jobkind_podsets *p)) {
    char *text = quoted(json);
    _cleanup_(sl_json_docp) yyjson_doc *d = sl_json_doc(text, strlen(text));
    struct sl_jobkind_podsets p;
    struct sl_err err = {0};
    const struct sl_jobkind *k = sl_jobkind_by_framework(sl_jobkinds_built_in(), framework);
    char *more = quoted(other);
    _cleanup_(sl_json_docp) yyjson_doc *e = sl_json_doc(more, strlen(more));
    assert_int_equal(
        sl_jobkind_podsets_with(k, yyjson_doc_get_root(d), yyjson_doc_get_root(e), &p, &err), 0);
    check(&p);
    sl_jobkind_podsets_done(&p);
    free(text);
    free(more);
}

static void with_podsets(const char *framework, const char *json,
                         void (*check)(const struct sl_jobkind_podsets *p)) {
    with_podsets_of(framework, json, "", check);
}

static void check_node(const struct sl_jobkind_podsets *p) {
    container_is(p->v[1].template, 0, "resources.requests.cpu", "8");
    container_is(p->v[1].template, 0, "resources.requests.memory", "1Gi");
    container_is(p->v[1].template, 0, "image", "mine");
    container_is(p->v[0].template, 0, "resources.requests.cpu", "1");
}

static void check_head(const struct sl_jobkind_podsets *p) {
    yyjson_val *head = p->v[0].template;
    assert_int_equal(yyjson_arr_size(sl_json_at(head, "spec.containers")), 3);
    container_is(head, 0, "resources.requests.cpu", "1");
    container_is(head, 0, "resources.requests.memory", "256Mi");
    container_is(head, 1, "name", "autoscaler");
    container_is(head, 1, "resources.limits.memory", "512Mi");
    container_is(head, 2, "name", "ray-job-submitter");
    container_is(head, 2, "resources.requests.cpu", "500m");
    assert_ptr_not_equal(p->v[0].base, head);
    assert_string_equal(p->v[0].pointer, "/spec/rayClusterSpec/headGroupSpec/template");
    assert_string_equal(p->v[0].path, "spec.rayClusterSpec.headGroupSpec.template");
}

static void check_submitter(const struct sl_jobkind_podsets *p) {
    assert_int_equal(p->n, 2);
    assert_null(p->v[1].base);
    assert_string_equal(p->v[1].pointer, "/spec/submitterPodTemplate");
    container_is(p->v[1].template, 0, "image", "i");
    container_is(p->v[1].template, 0, "resources.limits.memory", "1Gi");
}

static void check_spark(const struct sl_jobkind_podsets *p) {
    yyjson_val *t = p->v[0].template;
    container_is(t, 0, "name", "spark-kubernetes-driver");
    container_is(t, 0, "resources.requests.memory", "1Gi");
    container_is(t, 0, "resources.limits.memory", "1536Mi");
    container_is(t, 1, "name", "log");
    assert_string_equal(sl_json_str(t, "metadata.labels.x"), "y");
    assert_string_equal(sl_json_str(t, "spec.nodeSelector.z"), "1");
    assert_int_equal(yyjson_arr_size(sl_json_at(t, "spec.volumes")), 1);
}

static void check_places(const struct sl_jobkind_podsets *p) {
    assert_string_equal(p->v[0].pointer, "/spec/replicatedJobs/0/template/spec/template");
    assert_string_equal(p->v[1].path, "spec.replicatedJobs[1].template.spec.template");
    assert_string_equal(p->v[0].rank_label, "batch.kubernetes.io/job-completion-index");
    assert_string_equal(p->v[0].sub_label, "jobset.sigs.k8s.io/job-index");
    assert_ptr_equal(p->v[0].base, p->v[0].template);
}

static void test_templates(void **state) {
    (void)state;
    with_podsets_of("trainer.kubeflow.org/trainjob",
                    "{'spec':{'trainer':{'image':'mine','resourcesPerNode':{'requests':{'cpu':'8'}}"
                    "}}}",
                    RUNTIME("'numNodes':1"), check_node);
    with_podsets("jobset.x-k8s.io/jobset",
                 "{'spec':{'replicatedJobs':[" RJOB("a", "1", "") "," RJOB("b", "1", "") "]}}",
                 check_places);
    with_podsets(
        "ray.io/rayjob",
        "{'metadata':{'annotations':{'ray.io/ft-enabled':'True'}},'spec':{"
        "'submissionMode':'SidecarMode','rayClusterSpec':{'enableInTreeAutoscaling':true," HEAD
        "}}}",
        check_head);
    with_podsets("ray.io/rayjob",
                 "{'spec':{'submissionMode':'K8sJobMode','rayClusterSpec':{" HEAD "}}}",
                 check_submitter);
    with_podsets("sparkoperator.k8s.io/sparkapplication",
                 "{'spec':{'volumes':[{'name':'v'},{'name':'w'}],'driver':{'memory':'1gb',"
                 "'memoryLimit':'1536Mi','labels':{'x':'y'},'nodeSelector':{'z':'1'},'sidecars':[{"
                 "'name':'log'}],'volumeMounts':[{'name':'v','mountPath':'/v'},{'name':'v',"
                 "'mountPath':'/u'},{'name':'spark-local-dir-1'}]},'executor':{}}}",
                 check_spark);
}

static void test_many_sidecars(void **state) {
    (void)state;
    char *app =
        repeated("{'spec':{'executor':{},'driver':{'sidecars':[", "{'name':'s'}", 5000, "]}}}");
    with_podsets("sparkoperator.k8s.io/sparkapplication", app, check_sidecars);
    free(app);
}

/* ---- what no schema has checked ---- */

static void test_missing(void **state) {
    (void)state;
    expect("jobset.x-k8s.io/jobset", "{}", "error -1: there is no podset");
    expect("jobset.x-k8s.io/jobset", "{'spec':{'replicatedJobs':{'a':1}}}",
           "error -1: spec.replicatedJobs: expected a list");
    expect("jobset.x-k8s.io/jobset", "{'spec':{'replicatedJobs':[7]}}",
           "error -1: spec.replicatedJobs[0].template.spec.template: expected a pod template");
    expect("jobset.x-k8s.io/jobset",
           "{'spec':{'replicatedJobs':[{'template':{'spec':{'template':" POD("1") "}}}]}}",
           "error -1: spec.replicatedJobs[0]: expected a podset with a name");
    expect("kubeflow.org/mpijob", "{'spec':{'mpiReplicaSpecs':[1]}}",
           "error -1: spec.mpiReplicaSpecs: expected a map");
    expect("kubeflow.org/mpijob", "{'spec':{'mpiReplicaSpecs':{'Worker':{'template':'x'}}}}",
           "error -1: spec.mpiReplicaSpecs[Worker].template: expected a pod template");
    expect("ray.io/raycluster", "{'spec':{'headGroupSpec':[]}}",
           "error -1: spec.headGroupSpec.template: expected a pod template");
    expect("sparkoperator.k8s.io/sparkapplication", "{'spec':{'driver':[],'executor':{}}}",
           "error -1: spec.driver: expected the pod's description");
}

static void test_amounts(void **state) {
    (void)state;
    expect(
        "jobset.x-k8s.io/jobset",
        "{'spec':{'replicatedJobs':[" RJOB("a", "2147483647", "'parallelism':2147483647,") "," RJOB(
            "b", "-4", "") "," RJOB("c", "99999999999999999999", "'parallelism':-1,") "]}}",
        "a=2147483647/2147483647@2147483647,b=0,c=0");
    expect("kubeflow.org/mpijob",
           "{'spec':{'mpiReplicaSpecs':{'Worker':{'replicas':'many','template':" POD("1") "}}}}",
           "worker=1");
}

static void test_too_many(void **state) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF((size_t)1 << 20);
    (void)state;
    sl_buf_printf(&b, "{'spec':{'replicatedJobs':[");
    for (int i = 0; i < 19; i++)
        sl_buf_printf(&b, "%s" RJOB("a", "1", ""), i ? "," : "");
    sl_buf_printf(&b, "]}}");
    expect("jobset.x-k8s.io/jobset", sl_buf_str(&b),
           "error -4: more than 18 podsets: a Workload has no more");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobset),     cmocka_unit_test(test_mpijob),
        cmocka_unit_test(test_kubeflow),   cmocka_unit_test(test_ray),
        cmocka_unit_test(test_appwrapper), cmocka_unit_test(test_spark),
        cmocka_unit_test(test_trainjob),   cmocka_unit_test(test_templates),
        cmocka_unit_test(test_many),       cmocka_unit_test(test_many_sidecars),
        cmocka_unit_test(test_missing),    cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
