/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission of all kinds of jobs but batch/v1's: what is entered on creation, and each rule with
 * its path and text. JSON is written in single quotes.
 */
#include "review_fixture.h"

#define JOBSET "jobset-x-k8s-io-v1alpha2-jobset"
#define MPIJOB "kubeflow-org-v2beta1-mpijob"
#define PYTORCHJOB "kubeflow-org-v1-pytorchjob"
#define TFJOB "kubeflow-org-v1-tfjob"
#define JAXJOB "kubeflow-org-v1-jaxjob"
#define TRAINJOB "trainer-kubeflow-org-v1alpha1-trainjob"
#define RAYCLUSTER "ray-io-v1-raycluster"
#define RAYJOB "ray-io-v1-rayjob"
#define RAYSERVICE "ray-io-v1-rayservice"
#define APPWRAPPER "workload-codeflare-dev-v1beta2-appwrapper"
#define SPARK "sparkoperator-k8s-io-v1beta2-sparkapplication"

/* With double quotes for single ones. To be freed. */
static char *json(const char *s) {
    char *copy = s ? strdup(s) : NULL;

    for (char *p = copy; p && *p; p++)
        *p = *p == '\'' ? '"' : *p;
    return copy;
}

struct kind_case {
    const char *kind, *object, *old, *wanted;
    enum sl_feature_gate flipped;
};

#define QN "'" Q "queue-name':'q'"
#define ELASTIC "'" Q "elastic-job':'true'"
#define META(labels, notes)                                                                        \
    "'metadata':{'name':'j','labels':{" labels "},'annotations':{" notes "}},"
#define OBJ(labels, notes, spec) "{" META(labels, notes) "'spec':{" spec "}}"
/* The metadata of a template with these annotations. */
#define POD(notes) "{'metadata':{'annotations':{" notes "}},'spec':{'containers':[{'name':'c'}]}}"
#define NOTE(k, v) "'" Q k "':'" v "'"
#define TWO NOTE("podset-required-topology", "a/b") "," NOTE("podset-preferred-topology", "a/b")
#define MORE_THAN_ONE                                                                              \
    ": Invalid value: must not contain more than one topology annotation: [\"" Q                   \
    "podset-required-topology\", \"" Q "podset-preferred-topology\", \"" Q                         \
    "podset-unconstrained-topology\"]"
#define GROUP(g, kind, level)                                                                      \
    NOTE("podset-group-name", g) "," NOTE("podset-" kind "-topology", level)
#define SLICES(n) NOTE("podset-slice-required-topology", "a/b") "," NOTE("podset-slice-size", n)
#define SIZE(at, n, count)                                                                         \
    at "[" Q "podset-slice-size]: Invalid value: \"" n                                             \
       "\": must not be greater than pod set count " count
#define CONSISTENT(at, group)                                                                      \
    ": Invalid value: must specify '" Q "podset-required-topology' or '" Q                         \
    "podset-preferred-topology' topology consistent with '" at "' in group '" group "'"
#define TOGETHER GROUP("g", "required", "a/b")
#define EXACTLY_2(at, n)                                                                           \
    at "[" Q "podset-group-name]: Invalid value: \"g\": can only define groups of exactly 2 pod "  \
       "sets, got: " n " pod set(s)"
#define ONE_SINGLE(at, a, b)                                                                       \
    at "[" Q                                                                                       \
       "podset-group-name]: Invalid value: \"g\": can only define groups where at least one "      \
       "pod set has only 1 replica, got: " a " replica(s) and " b " replica(s) in the group"
#define BAD_QUEUE "metadata.labels[" Q "queue-name]: Invalid value: \"Q\": " SUBDOMAIN
#define FROZEN_QUEUE(v)                                                                            \
    "metadata.labels[" Q "queue-name]: Invalid value: \"" v "\": field is immutable"
#define QUEUE_NAME(v) "'" Q "queue-name':'" v "'"

/* ---- the rules of all, for each kind by its paths ---- */

/* A spec that is suspended, or runs, and has what the rules of the kind ask for. */
static const struct {
    const char *kind, *gvk, *spec;
    bool elastic, prebuilt, syntax_on_update;
} all[] = {
    {JOBSET, "jobset.x-k8s.io/v1alpha2, Kind=JobSet", "'suspend':%s", false, true, true},
    {MPIJOB, "kubeflow.org/v2beta1, Kind=MPIJob", "'runPolicy':{'suspend':%s}", false, true, true},
    {PYTORCHJOB, "kubeflow.org/v1, Kind=PyTorchJob", "'runPolicy':{'suspend':%s}", false, true,
     false},
    {TFJOB, "kubeflow.org/v1, Kind=TFJob", "'runPolicy':{'suspend':%s}", false, true, false},
    {"kubeflow-org-v1-paddlejob", "kubeflow.org/v1, Kind=PaddleJob", "'runPolicy':{'suspend':%s}",
     false, true, false},
    {"kubeflow-org-v1-xgboostjob", "kubeflow.org/v1, Kind=XGBoostJob", "'runPolicy':{'suspend':%s}",
     false, true, false},
    {JAXJOB, "kubeflow.org/v1, Kind=JAXJob", "'runPolicy':{'suspend':%s}", false, false, false},
    {TRAINJOB, "trainer.kubeflow.org/v1alpha1, Kind=TrainJob", "'suspend':%s", false, true, true},
    {RAYCLUSTER, "ray.io/v1, Kind=RayCluster",
     "'suspend':%s,'headGroupSpec':{'template':{'spec':{'schedulingGates':[{'name':'" Q
     "elastic-job'}]}}}",
     true, true, true},
    {RAYJOB, "ray.io/v1, Kind=RayJob",
     "'suspend':%s,'shutdownAfterJobFinishes':true,'rayClusterSpec':{}", true, true, true},
    {RAYSERVICE, "ray.io/v1, Kind=RayService", "'rayClusterConfig':{'suspend':%s}", true, true,
     true},
    {APPWRAPPER, "workload.codeflare.dev/v1beta2, Kind=AppWrapper", "'suspend':%s", false, true,
     false},
    {SPARK, "sparkoperator.k8s.io/v1beta2, Kind=SparkApplication",
     "'suspend':%s,'mode':'cluster','driver':{},'executor':{}", false, false, true},
};

static void check(const char *kind, const char *object, const char *old, const char *wanted,
                  enum sl_feature_gate flipped) {
    struct fixture f = {.kind = kind, .cluster = {.default_queue = true}};
    char *now = json(object), *before = json(old);
    struct sl_buf text = SL_BUF(1 << 16);

    begin(&f, now, before, flipped);
    if (adm_kind_validate(&f.call) == 0)
        sl_field_errs_print(&f.call.errs, &text);
    else
        sl_buf_printf(&text, "%d %s", f.call.refused_code, f.call.refused);
    if (strcmp(sl_buf_str(&text), wanted) != 0)
        print_error("%s: %s\n", kind, now);
    assert_string_equal(sl_buf_str(&text), wanted);
    sl_buf_done(&text);
    end(&f);
    free(now);
    free(before);
}

/* The object of all[i]. To be freed. */
static char *made(size_t i, const char *labels, const char *notes, bool suspended) {
    char *spec = NULL, *object = NULL;
    const char *hole = strstr(all[i].spec, "%s");

    assert_true(asprintf(&spec, "%.*s%s%s", (int)(hole - all[i].spec), all[i].spec,
                         suspended ? "true" : "false", hole + 2) > 0);
    assert_true(asprintf(&object,
                         "{'metadata':{'name':'j','labels':{%s},'annotations':{%s}},'spec':{%s}}",
                         labels, notes, spec) > 0);
    free(spec);
    return object;
}

static void expect(size_t i, const char *labels, const char *notes, bool suspended,
                   const char *wanted) {
    char *object = made(i, labels, notes, suspended);

    check(all[i].kind, object, NULL, wanted, NO_GATE);
    free(object);
}

struct half {
    const char *labels, *notes;
    bool suspended;
};

static void expect_update(size_t i, struct half now, struct half old, const char *wanted) {
    char *a = made(i, now.labels, now.notes, now.suspended);
    char *b = made(i, old.labels, old.notes, old.suspended);

    check(all[i].kind, a, b, wanted, NO_GATE);
    free(a);
    free(b);
}

static void test_created(void **state) {
    char text[1024];

    (void)state;
    for (size_t i = 0; i < SL_LEN(all); i++) {
        expect(i, "", "", false, "");
        expect(i, QN, "", true, "");
        expect(i, QUEUE_NAME("Q"), "", true, BAD_QUEUE);
        expect(i, QN "," NOTE("max-exec-time-seconds", "0"), "", true,
               "metadata.labels[" Q
               "max-exec-time-seconds]: Invalid value: 0: should be greater than 0");
        snprintf(text, sizeof(text), "metadata.labels[%s]: Forbidden: Is not supported for \"%s\"",
                 Q "prebuilt-workload-name", all[i].gvk);
        expect(i, QN "," NOTE("prebuilt-workload-name", "w"), "", true,
               all[i].prebuilt ? "" : text);
        snprintf(text, sizeof(text),
                 "metadata.annotations[%s]: Forbidden: elastic job is not supported for \"%s\"",
                 Q "elastic-job", all[i].gvk);
        expect(i, QN, ELASTIC, true, all[i].elastic ? "" : text);
        expect(
            i, QN, NOTE("admission-gated-by", "a.io/x,a.io/x"), true,
            "metadata.annotations[" Q
            "admission-gated-by]: Invalid value: \"a.io/x,a.io/x\": duplicate gate name: a.io/x");
    }
}

static void test_updated(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(all); i++) {
        bool syntax = all[i].syntax_on_update;
        expect_update(i, (struct half){QUEUE_NAME("b"), "", true},
                      (struct half){QUEUE_NAME("a"), "", true}, "");
        expect_update(i, (struct half){QUEUE_NAME("b"), "", false},
                      (struct half){QUEUE_NAME("a"), "", true}, FROZEN_QUEUE("b"));
        expect_update(i, (struct half){QUEUE_NAME("Q"), "", true},
                      (struct half){QUEUE_NAME("a"), "", true}, syntax ? BAD_QUEUE : "");
        expect_update(i, (struct half){QN "," NOTE("max-exec-time-seconds", "1"), "", false},
                      (struct half){QN "," NOTE("max-exec-time-seconds", "2"), "", false},
                      "metadata.labels[" Q
                      "max-exec-time-seconds]: Invalid value: \"1\": field is immutable");
        expect_update(i, (struct half){QN, "", true},
                      (struct half){QN "," NOTE("priority-class", "p"), "", true},
                      "metadata.labels[" Q
                      "priority-class]: Invalid value: \"\": WorkloadPriorityClass cannot be "
                      "removed from a workload");
        expect_update(
            i, (struct half){QN "," NOTE("priority-class", "p"), "", false},
            (struct half){QN, "", false},
            "metadata.labels[" Q
            "priority-class]: Invalid value: \"p\": WorkloadPriorityClass cannot be added "
            "to a non-suspended workload");
        expect_update(i, (struct half){QN, NOTE("admission-gated-by", "a.io/x"), true},
                      (struct half){QN, "", true},
                      "metadata.annotations[" Q
                      "admission-gated-by]: Forbidden: cannot add admission gate after creation");
        if (all[i].prebuilt)
            expect_update(i, (struct half){QN "," NOTE("prebuilt-workload-name", "b"), "", false},
                          (struct half){QN "," NOTE("prebuilt-workload-name", "a"), "", false},
                          "metadata.labels[" Q
                          "prebuilt-workload-name]: Invalid value: \"b\": field is immutable");
        if (all[i].elastic)
            expect_update(i, (struct half){QN, ELASTIC, true}, (struct half){QN, "", true},
                          "metadata.annotations[" Q
                          "elastic-job]: Invalid value: true: field is immutable");
    }
}

/* ---- rules of single kinds, and paths ---- */

#define REPLICATED(i) "spec.replicatedJobs[" i "].template.spec.template.metadata.annotations"
#define RJOB(name, n, notes)                                                                       \
    "{'name':'" name "','replicas':" n                                                             \
    ",'template':{'spec':{'parallelism':2,'template':" POD(notes) "}}}"
#define JOBS(list) OBJ(QN, "", "'suspend':true,'replicatedJobs':[" list "]")

#define MPI(more, launcher, worker)                                                                \
    OBJ(QN, "",                                                                                    \
        more "'mpiReplicaSpecs':{'Launcher':{'template':" POD(launcher) "},'Worker':{'replicas':"  \
                                                                        "4,'template':" POD(       \
                                                                            worker) "}}")
#define MPI_AT(type) "spec.mpiReplicaSpecs[" type "].template.metadata.annotations"

#define HEAD(notes) "'headGroupSpec':{'template':" POD(notes) "}"
#define WORKERS(list) ",'workerGroupSpecs':[" list "]"
#define WORKER(name, n, notes)                                                                     \
    "{'groupName':'" name "','replicas':" n ",'numOfHosts':2,'template':" POD(notes) "}"
#define RAY_WORKER "workerGroupSpecs[0].template.metadata.annotations"
#define RAY_HEAD "headGroupSpec.template.metadata.annotations"
#define CLUSTER(more) OBJ(QN, "", "'suspend':true," more HEAD("") WORKERS(WORKER("w", "1", "")))
#define JOB(more, cluster) OBJ(QN, "", "'suspend':true," more "'rayClusterSpec':{" cluster "}")
#define ENDS "'shutdownAfterJobFinishes':true,"
#define NINE                                                                                       \
    WORKER("a", "1", "")                                                                           \
    "," WORKER("b", "1", "") "," WORKER("c", "1", "") "," WORKER("d", "1", "") "," WORKER(         \
        "e", "1", "") "," WORKER("f", "1", "") "," WORKER("g", "1",                                \
                                                          "") "," WORKER("h", "1",                 \
                                                                         "") "," WORKER("i", "1",  \
                                                                                        "")
#define SERVICE(cluster) OBJ(QN, "", "'rayClusterConfig':{'suspend':true," cluster "}")
#define SPARKS(more) OBJ(QN, "", "'suspend':true,'mode':'cluster'," more)

static const struct kind_case cases[] = {
    /* JobSet */
    {JOBSET, JOBS(RJOB("a", "1", "") "," RJOB("b", "1", TWO)), NULL, REPLICATED("1") MORE_THAN_ONE,
     NO_GATE},
    {JOBSET, JOBS(RJOB("a", "1", "") "," RJOB("b", "1", TWO)), NULL, "",
     SL_G_TOPOLOGY_AWARE_SCHEDULING},
    {JOBSET, JOBS(RJOB("a", "3", SLICES("6"))), NULL, "", NO_GATE},
    {JOBSET, JOBS(RJOB("a", "3", SLICES("7"))), NULL, SIZE(REPLICATED("0"), "7", "6"), NO_GATE},
    {JOBSET, JOBS(RJOB("a", "1", "") "," RJOB("b", "1", TWO)),
     JOBS(RJOB("a", "1", "") "," RJOB("b", "1", "")), REPLICATED("1") MORE_THAN_ONE, NO_GATE},
    {JOBSET,
     JOBS(RJOB("a", "1", TOGETHER) "," RJOB("b", "1", TOGETHER) "," RJOB("c", "1", TOGETHER)), NULL,
     "[" EXACTLY_2(REPLICATED("0"), "3") ", " EXACTLY_2(REPLICATED("1"), "3") ", " EXACTLY_2(
         REPLICATED("2"), "3") "]",
     NO_GATE},
    {JOBSET, JOBS(RJOB("a", "1", TOGETHER) "," RJOB("b", "2", TOGETHER)), NULL,
     "[" ONE_SINGLE(REPLICATED("0"), "2", "4") ", " ONE_SINGLE(REPLICATED("1"), "2", "4") "]",
     NO_GATE},
    /* MPIJob */
    {MPIJOB, MPI("", GROUP("g", "required", "a/b"), GROUP("g", "required", "a/b")), NULL, "",
     NO_GATE},
    {MPIJOB, MPI("", GROUP("g", "required", "a/b"), GROUP("g", "preferred", "a/b")), NULL,
     "[" MPI_AT("Launcher") CONSISTENT(MPI_AT("Worker"), "g") ", " MPI_AT("Worker")
         CONSISTENT(MPI_AT("Launcher"), "g") "]",
     NO_GATE},
    {MPIJOB, MPI("", "", SLICES("5")), NULL, SIZE(MPI_AT("Worker"), "5", "4"), NO_GATE},
    /* sorted by field when created */
    {MPIJOB,
     OBJ(QUEUE_NAME("Q"), ELASTIC, "'mpiReplicaSpecs':{'Worker':{'template':" POD(TWO) "}}"), NULL,
     "[metadata.annotations[" Q "elastic-job]: Forbidden: elastic job is not supported for "
     "\"kubeflow.org/v2beta1, Kind=MPIJob\", " BAD_QUEUE ", " MPI_AT("Worker") MORE_THAN_ONE "]",
     NO_GATE},
    /* the kinds of the training operator */
    {PYTORCHJOB, OBJ(QN, "", "'pytorchReplicaSpecs':{'Worker':{'template':" POD(TWO) "}}"), NULL,
     "spec.pytorchReplicaSpecs[Worker].template.metadata.annotations" MORE_THAN_ONE, NO_GATE},
    {PYTORCHJOB, OBJ(QN, "", "'pytorchReplicaSpecs':{'Worker':{'template':" POD(TWO) "}}"),
     OBJ(QN, "", ""),
     "spec.pytorchReplicaSpecs[Worker].template.metadata.annotations" MORE_THAN_ONE, NO_GATE},
    {TFJOB, OBJ(QN, "", "'tfReplicaSpecs':{'PS':{'replicas':2,'template':" POD(SLICES("3")) "}}"),
     NULL, SIZE("spec.tfReplicaSpecs[PS].template.metadata.annotations", "3", "2"), NO_GATE},
    {PYTORCHJOB, /* groups are not looked at */
     OBJ(QN, "",
         "'pytorchReplicaSpecs':{'Worker':{'template':" POD(GROUP("g", "required", "a/b")) "}}"),
     NULL, "", NO_GATE},
    /* RayCluster */
    {RAYCLUSTER, CLUSTER(""), NULL, "", NO_GATE},
    {RAYCLUSTER, CLUSTER("'enableInTreeAutoscaling':true,"), NULL,
     "spec.enableInTreeAutoscaling: Invalid value: true: a kueue managed job can use autoscaling "
     "only when the ElasticJobsViaWorkloadSlices feature gate is on and the job is an elastic job",
     NO_GATE},
    {RAYCLUSTER, OBJ("", "", "'enableInTreeAutoscaling':true," HEAD("")), NULL, "", NO_GATE},
    {RAYCLUSTER, OBJ(QN, ELASTIC, HEAD("") WORKERS(WORKER("w", "1", ""))), NULL,
     "[spec.workerGroupSpecs[0].template.spec.schedulingGates: Invalid value: null: an elastic job "
     "must have the ElasticJobSchedulingGate, spec.headGroupSpec.template.spec.schedulingGates: "
     "Invalid value: null: an elastic job must have the ElasticJobSchedulingGate]",
     NO_GATE},
    {RAYCLUSTER, OBJ(QN, "", HEAD("") WORKERS(NINE "," NINE)), NULL,
     "spec.workerGroupSpecs: Too many: 19: must have at most 18 items", NO_GATE},
    {RAYCLUSTER, OBJ(QN, "", HEAD("") WORKERS(WORKER("head", "1", ""))), NULL,
     "spec.workerGroupSpecs[0].groupName: Forbidden: \"head\" is reserved for the head group",
     NO_GATE},
    {RAYCLUSTER, OBJ(QN, "", HEAD(TWO) WORKERS(WORKER("w", "2", SLICES("5")))), NULL,
     "[spec." RAY_HEAD MORE_THAN_ONE ", " SIZE("spec." RAY_WORKER, "5", "4") "]", NO_GATE},
    {RAYCLUSTER, OBJ("", "", HEAD(TWO)), OBJ(QN, "", HEAD("")), "", NO_GATE},
    /* RayJob */
    {RAYJOB, JOB(ENDS, HEAD("") WORKERS(WORKER("w", "1", ""))), NULL, "", NO_GATE},
    {RAYJOB, JOB("", HEAD("")), NULL,
     "spec.shutdownAfterJobFinishes: Invalid value: false: a kueue managed job should delete the "
     "cluster after finishing",
     NO_GATE},
    {RAYJOB, JOB(ENDS "'clusterSelector':{'k1':'v1'},", HEAD("")), NULL,
     "spec.clusterSelector: Invalid value: {\"k1\":\"v1\"}: a kueue managed job should not use an "
     "existing cluster",
     NO_GATE},
    {RAYJOB, OBJ(QUEUE_NAME("Q"), "", "'clusterSelector':{'k1':'v1'}"), NULL, "", NO_GATE},
    {RAYJOB, OBJ(QN, "", "'suspend':true"), NULL,
     "spec.rayClusterSpec: Required value: rayClusterSpec is required for Kueue-managed jobs that "
     "don't use clusterSelector",
     NO_GATE},
    {RAYJOB, OBJ("", "", "'suspend':true"), NULL, "", NO_GATE},
    {RAYJOB, JOB(ENDS, "'enableInTreeAutoscaling':true," HEAD("")), NULL,
     "spec.rayClusterSpec.enableInTreeAutoscaling: Invalid value: true: a kueue managed job should "
     "only use autoscaling when workload slicing is enabled",
     NO_GATE},
    {RAYJOB,
     OBJ(QN, ELASTIC, ENDS "'rayClusterSpec':{'enableInTreeAutoscaling':true," HEAD("") "}"), NULL,
     "", NO_GATE},
    {RAYJOB, JOB(ENDS, HEAD("") WORKERS(NINE "," NINE)), NULL,
     "spec.rayClusterSpec.workerGroupSpecs: Too many: 19: must have at most 18 items", NO_GATE},
    {RAYJOB, JOB(ENDS, HEAD("") WORKERS(WORKER("head", "1", ""))), NULL,
     "spec.rayClusterSpec.workerGroupSpecs[0].groupName: Forbidden: \"head\" is reserved for the "
     "head group",
     NO_GATE},
    {RAYJOB,
     JOB(ENDS, HEAD(GROUP("g", "required", "a/b"))
                   WORKERS(WORKER("w", "1", GROUP("g", "required", "a/c")))),
     NULL,
     "[spec.rayClusterSpec." RAY_HEAD CONSISTENT(
         "spec.rayClusterSpec." RAY_WORKER,
         "g") ", spec.rayClusterSpec." RAY_WORKER CONSISTENT("spec.rayClusterSpec." RAY_HEAD,
                                                             "g") "]",
     NO_GATE},
    {RAYJOB, JOB("", HEAD("")), JOB(ENDS, HEAD("")),
     "spec.shutdownAfterJobFinishes: Invalid value: false: a kueue managed job should delete the "
     "cluster after finishing",
     NO_GATE},
    /* RayService: messages have Kueue's path, not the one of the field */
    {RAYSERVICE, SERVICE(HEAD("") WORKERS(WORKER("w", "1", ""))), NULL, "", NO_GATE},
    {RAYSERVICE, SERVICE("'enableInTreeAutoscaling':true," HEAD("")), NULL,
     "spec.rayClusterSpec.enableInTreeAutoscaling: Invalid value: true: a kueue managed job should "
     "only use autoscaling when workload slicing is enabled",
     NO_GATE},
    {RAYSERVICE, SERVICE(HEAD("") WORKERS(WORKER("head", "1", TWO))), NULL,
     "[spec.rayClusterSpec.workerGroupSpecs[0].groupName: Forbidden: \"head\" is reserved for the "
     "head group, spec.rayClusterSpec." RAY_WORKER MORE_THAN_ONE "]",
     NO_GATE},
    /* SparkApplication */
    {SPARK, SPARKS("'driver':{},'executor':{'instances':2}"), NULL, "", NO_GATE},
    {SPARK, OBJ(QN, "", "'mode':'client','driver':{},'executor':{}"), NULL,
     "spec.mode: Invalid value: \"client\": only Cluster mode is supported for a kueue managed job",
     NO_GATE},
    {SPARK, OBJ("", "", "'mode':'client'"), NULL, "", NO_GATE},
    {SPARK, SPARKS("'driver':{},'executor':{},'dynamicAllocation':{'enabled':true}"), NULL,
     "spec.dynamicAllocation.enabled: Invalid value: true: a kueue managed job can use "
     "dynamicAllocation only when the ElasticJobsViaWorkloadSlices feature gate is on and the job "
     "is an elastic job",
     NO_GATE},
    {SPARK,
     SPARKS("'driver':{'annotations':{" TWO
            "}},'executor':{'instances':2,'annotations':{" SLICES("3") "}}"),
     NULL,
     "[spec.driver.annotations" MORE_THAN_ONE ", " SIZE("spec.executor.annotations", "3", "2") "]",
     NO_GATE},
    /* AppWrapper: topology annotations inside are not looked at */
    {APPWRAPPER,
     OBJ(QN, "", "'components':[{'template':{'kind':'Pod','metadata':{'annotations':{" TWO "}}}}]"),
     NULL, "", NO_GATE},
};

static void test_kinds(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        check(cases[i].kind, cases[i].object, cases[i].old, cases[i].wanted, cases[i].flipped);
}

/* More podsets than a Workload has: it could wait for ever. */
static void test_too_many_podsets(void **state) {
#define SIX                                                                                        \
    RJOB("a", "1", "")                                                                             \
    "," RJOB("b", "1", "") "," RJOB("c", "1", "") "," RJOB("d", "1", "") "," RJOB(                 \
        "e", "1", "") "," RJOB("f", "1", "")
    (void)state;
    check(JOBSET, JOBS(SIX "," SIX "," SIX), NULL, "", NO_GATE);
    check(JOBSET, JOBS(SIX "," SIX "," SIX "," RJOB("g", "1", "")), NULL,
          "403 more than 18 podsets: a Workload has no more", NO_GATE);
    check(JOBSET, OBJ("", "", "'replicatedJobs':[" SIX "," SIX "," SIX "," SIX "]"), NULL, "",
          NO_GATE);
}

/* What a runtime says is checked with its TrainJob, and named after the job that is made of it. */
static void test_trainjob_runtime(void **state) {
    static const char runtime[] =
        "{'spec':{'template':{'spec':{'replicatedJobs':[{'name':'node','replicas':1,'template':{"
        "'spec':{'template':" POD(TWO) "}}}]}}}}";
    static const char bad[] =
        "job[node].annotations" MORE_THAN_ONE
        ". Adjust either the \"TrainJob.spec.runtimePatches\" "
        "or the \"TrainingRuntime.Template\" annotations for the corresponding Job";
    static const struct {
        const char *ref, *wanted;
    } refs[] = {
        {"'name':'tr','kind':'TrainingRuntime','apiGroup':'trainer.kubeflow.org'", bad},
        {"'name':'other','kind':'TrainingRuntime'", ""}, /* not there yet */
        {"'name':'tr'", ""},                             /* one of the cluster */
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(refs); i++) {
        struct fixture f = {.kind = TRAINJOB};
        struct sl_buf text = SL_BUF(1 << 12);
        char *object = NULL, *quoted, *there = json(runtime);
        assert_true(asprintf(&object, OBJ(QN, "", "'runtimeRef':{%s}"), refs[i].ref) > 0);
        quoted = json(object);
        f.cluster.runtime = there;
        begin(&f, quoted, NULL, NO_GATE);
        assert_int_equal(adm_kind_validate(&f.call), 0);
        sl_field_errs_print(&f.call.errs, &text);
        assert_string_equal(sl_buf_str(&text), refs[i].wanted);
        sl_buf_done(&text);
        end(&f);
        free(object);
        free(quoted);
        free(there);
    }
}

static void test_spark_amounts(void **state) {
    (void)state;
    struct fixture f = {.kind = SPARK};
    char *object = json(SPARKS("'driver':{'memory':'many'},'executor':{}"));

    begin(&f, object, NULL, NO_GATE);
    assert_int_equal(adm_kind_validate(&f.call), 403);
    assert_string_equal(f.call.refused, "spec.driver: memory: \"many\" is no amount");
    end(&f);
    free(object);
}

/* ---- creation ---- */

/* What is wanted is the whole edited object, NULL: it is not touched; or what it is refused with.
 */
struct edit_case {
    const char *kind, *object, *wanted, *refused;
    struct cluster cluster;
    enum sl_feature_gate flipped;
};

#define OWNED(api, kind)                                                                           \
    "{'metadata':{'ownerReferences':[{'apiVersion':'" api "','kind':'" kind                        \
    "','name':'o','uid':'u','controller':true}]},'spec':{'suspend':false}}"
#define L(labels) "{'metadata':{'labels':{" labels "}},'spec':"
#define PATCH "{'manager':'" Q "manager','trainingRuntimeSpec':{'template':{'spec':{}}}}"
#define GATE "'spec':{'schedulingGates':[{'name':'" Q "elastic-job'}]}"
#define A(notes) "{'metadata':{'annotations':{" notes "}},'spec':"
#define LAUNCHER(notes) "'Launcher':{'template':{'metadata':{'annotations':{" notes "}}}}"
#define MPI_SPEC(launcher, worker)                                                                 \
    "{'runLauncherAsWorker':true,'mpiReplicaSpecs':{" launcher ",'Worker':{'template':{" worker    \
    "}}}}"

static const struct edit_case edits[] = {
    /* suspended by the path of the kind */
    {JOBSET, "{'metadata':{},'spec':{}}", NULL, NULL, {0}, NO_GATE},
    {JOBSET, L(QN) "{'suspend':false}}", L(QN) "{'suspend':true}}", NULL, {0}, NO_GATE},
    {JOBSET, L(QN) "{'suspend':true}}", NULL, NULL, {0}, NO_GATE},
    {JOBSET, L(QN) "{'suspend':null}}", L(QN) "{'suspend':true}}", NULL, {0}, NO_GATE},
    {PYTORCHJOB, L(QN) "{}}", L(QN) "{'runPolicy':{'suspend':true}}}", NULL, {0}, NO_GATE},
    {RAYSERVICE,
     L(QN) "{'rayClusterConfig':{'a':1}}}",
     L(QN) "{'rayClusterConfig':{'a':1,'suspend':true}}}",
     NULL,
     {0},
     NO_GATE},
    {JOBSET,
     "{'metadata':{},'spec':{}}",
     "{'metadata':{'labels':{" QUEUE_NAME("default") "}},'spec':{'suspend':true}}",
     NULL,
     {.default_queue = true},
     NO_GATE},
    {JOBSET,
     "{'metadata':{},'spec':{}}",
     "{'metadata':{'labels':{" NOTE("priority-class", "default") "}},'spec':{}}",
     NULL,
     {.default_class = true},
     SL_G_WORKLOAD_PRIORITY_CLASS_DEFAULTING},
    /* children of what is managed are left to it */
    {RAYCLUSTER, OWNED("ray.io/v1", "RayJob"), NULL, NULL, {.managed_owner = true}, NO_GATE},
    /* the wrong type is not written over */
    {JOBSET, L(QN) "[1]}", NULL, "spec: expected an object", {0}, NO_GATE},
    {JOBSET, L(QN) "{'suspend':'yes'}}", NULL, "spec.suspend: expected a boolean", {0}, NO_GATE},
    {PYTORCHJOB,
     L(QN) "{'runPolicy':7}}",
     NULL,
     "spec.runPolicy: expected an object",
     {0},
     NO_GATE},
    {TRAINJOB,
     L(QN) "{'runtimePatches':{}}}",
     NULL,
     "spec.runtimePatches: expected a list",
     {0},
     NO_GATE},
    {RAYCLUSTER,
     A(ELASTIC) "{'headGroupSpec':{'template':[]}}}",
     NULL,
     "spec.headGroupSpec.template: expected an object",
     {0},
     NO_GATE},
    {RAYCLUSTER,
     A(ELASTIC) "{'workerGroupSpecs':'x'}}",
     NULL,
     "spec.workerGroupSpecs: expected a list",
     {0},
     NO_GATE},
    {RAYCLUSTER,
     A(ELASTIC) "{'workerGroupSpecs':[{},3]}}",
     NULL,
     "spec.workerGroupSpecs[1]: expected an object",
     {0},
     NO_GATE},
    {RAYCLUSTER,
     A(ELASTIC) "{'workerGroupSpecs':[{'template':{'spec':{'schedulingGates':1}}}]}}",
     NULL,
     "spec.workerGroupSpecs[0].template.spec.schedulingGates: expected a list",
     {0},
     NO_GATE},
    /* other clusters */
    {JOBSET,
     L(QN) "{'suspend':true}}",
     L(QN) "{'suspend':true,'managedBy':'" Q "multikueue'}}",
     NULL,
     {.dispatcher = "q"},
     NO_GATE},
    {JOBSET,
     L(QN) "{'suspend':true,'managedBy':'jobset.sigs.k8s.io/jobset-controller'}}",
     L(QN) "{'suspend':true,'managedBy':'" Q "multikueue'}}",
     NULL,
     {.dispatcher = "q"},
     NO_GATE},
    {JOBSET, L(QN) "{'suspend':true,'managedBy':'me'}}", NULL, NULL, {.dispatcher = "q"}, NO_GATE},
    {JOBSET, L(QN) "{'suspend':true}}", NULL, NULL, {.dispatcher = "q"}, SL_G_MULTI_KUEUE},
    {JOBSET, L(QN) "{'suspend':true}}", NULL, NULL, {.dispatcher = "other"}, NO_GATE},
    {MPIJOB,
     L(QN) "{'runPolicy':{'suspend':true}}}",
     L(QN) "{'runPolicy':{'suspend':true,'managedBy':'" Q "multikueue'}}}",
     NULL,
     {.dispatcher = "q"},
     NO_GATE},
    {JOBSET,
     "{'metadata':{},'spec':{'suspend':true}}",
     "{'metadata':{'labels':{" QUEUE_NAME("default") "}},'spec':{'suspend':true,'managedBy':'" Q
                                                     "multikueue'}}",
     NULL,
     {.default_queue = true, .dispatcher = "default"},
     NO_GATE},
    {SPARK, L(QN) "{'suspend':true}}", NULL, NULL, {.dispatcher = "q"}, NO_GATE},
    /* TrainJob: the entry is there from the beginning, with a queue or without */
    {TRAINJOB,
     "{'metadata':{},'spec':{}}",
     "{'metadata':{},'spec':{'runtimePatches':[" PATCH "]}}",
     NULL,
     {0},
     NO_GATE},
    {TRAINJOB,
     L(QN) "{'runtimePatches':[{'manager':'me'}]}}",
     L(QN) "{'runtimePatches':[{'manager':'me'}," PATCH "],'suspend':true}}",
     NULL,
     {0},
     NO_GATE},
    {TRAINJOB, "{'metadata':{},'spec':{'runtimePatches':[" PATCH "]}}", NULL, NULL, {0}, NO_GATE},
    /* elastic clusters */
    {RAYCLUSTER,
     A(ELASTIC) "{'workerGroupSpecs':[{'groupName':'w'}]}}",
     A(ELASTIC) "{'workerGroupSpecs':[{'groupName':'w','template':{" GATE
                "}}],'headGroupSpec':{'template':{" GATE "}}}}",
     NULL,
     {0},
     NO_GATE},
    {RAYCLUSTER, A(ELASTIC) "{}}", NULL, NULL, {0}, SL_G_ELASTIC_JOBS_VIA_WORKLOAD_SLICES},
    {RAYSERVICE,
     A(ELASTIC) "{}}",
     A(ELASTIC) "{'rayClusterConfig':{'headGroupSpec':{'template':{" GATE "}}}}}",
     NULL,
     {0},
     NO_GATE},
    {RAYJOB, A(ELASTIC) "{'rayClusterSpec':{}}}", NULL, NULL, {0}, NO_GATE},
    /* a launcher that works */
    {MPIJOB,
     L("") MPI_SPEC(LAUNCHER(""), "") "}",
     L("") MPI_SPEC(LAUNCHER(""),
                    "'metadata':{'annotations':{" NOTE("pod-index-offset", "1") "}}") "}",
     NULL,
     {0},
     NO_GATE},
    {MPIJOB, L("") MPI_SPEC(LAUNCHER(""), "") "}", NULL, NULL, {0}, SL_G_TOPOLOGY_AWARE_SCHEDULING},
    {MPIJOB,
     L("") MPI_SPEC(LAUNCHER(NOTE("podset-group-name", "g")), "") "}",
     NULL,
     NULL,
     {0},
     NO_GATE},
    {MPIJOB,
     L("") "{'runLauncherAsWorker':true,'mpiReplicaSpecs':{'Worker':{}}}}",
     NULL,
     NULL,
     {0},
     NO_GATE},
};

static void check_edit(const struct edit_case *e) {
    struct fixture f = {.kind = e->kind, .cluster = e->cluster};
    char *object = json(e->object), *wanted = json(e->wanted ? e->wanted : e->object);
    yyjson_doc *want = yyjson_read(wanted, strlen(wanted), 0);

    assert_non_null(want);
    begin(&f, object, NULL, e->flipped);
    int r = adm_kind_mutate(&f.call);
    assert_int_equal(r, e->refused ? 400 : 0);
    if (e->refused)
        assert_string_equal(f.call.refused, e->refused);
    yyjson_doc *have = f.call.edit && r == 0 ? yyjson_mut_doc_imut_copy(f.call.edit, NULL) : NULL;
    if (have && !yyjson_equals(yyjson_doc_get_root(have), yyjson_doc_get_root(want))) {
        char *text = yyjson_write(have, 0, NULL);
        fail_msg("%s\nhave   %s\nwanted %s", e->kind, text, wanted);
    }
    if (!have && r == 0 && e->wanted)
        fail_msg("%s: untouched\nwanted %s", e->kind, wanted);
    yyjson_doc_free(have);
    yyjson_doc_free(want);
    end(&f);
    free(object);
    free(wanted);
}

static void test_edits(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(edits); i++)
        check_edit(&edits[i]);
}

/* Of each kind that is enabled an object is an owner that brings its own queue. */
static void test_owners(void **state) {
    static const struct {
        const char *api, *kind;
        enum sl_framework framework;
    } owners[] = {
        {"v1", "Pod", SL_FW_POD},
        {"apps/v1", "StatefulSet", SL_FW_STATEFULSET},
        {"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", SL_FW_LEADERWORKERSET},
        {"jobset.x-k8s.io/v1alpha2", "JobSet", SL_FW_JOBSET},
        {"kubeflow.org/v2beta1", "MPIJob", SL_FW_MPIJOB},
        {"trainer.kubeflow.org/v1alpha1", "TrainJob", SL_FW_TRAINJOB},
        {"ray.io/v1", "RayJob", SL_FW_RAYJOB},
        {"workload.codeflare.dev/v1beta2", "AppWrapper", SL_FW_APPWRAPPER},
    };
    char text[512];

    (void)state;
    for (size_t i = 0; i < 2 * SL_LEN(owners); i++) {
        bool on = i % 2;
        struct fixture f = {.kind = JOBSET, .cluster = {.default_queue = true}};
        snprintf(text, sizeof(text),
                 "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\","
                 "\"name\":\"o\",\"controller\":true}]},\"spec\":{}}",
                 owners[i / 2].api, owners[i / 2].kind);
        f.settings.framework[owners[i / 2].framework] = on;
        begin(&f, text, NULL, NO_GATE);
        assert_int_equal(adm_job_owner_enabled(&f.call), on);
        assert_int_equal(adm_kind_mutate(&f.call), 0);
        assert_int_equal(f.call.edit != NULL, !on);
        end(&f);
    }
}

/* ---- paths ---- */

static void test_paths(void **state) {
    const struct sl_jobkind *row;
    const struct adm_kind *rules;

    (void)state;
    for (size_t i = 0; i < SL_LEN(all); i++)
        assert_true(adm_kind_find(NULL, all[i].kind, &row, &rules));
    assert_true(adm_kind_find(NULL, "batch-v1-job", &row, &rules));
    assert_false(adm_kind_find(NULL, "batch-v1-jobs", &row, &rules));
    assert_false(adm_kind_find(NULL, "batch-v1", &row, &rules));
    assert_false(adm_kind_find(NULL, "", &row, &rules));
    assert_false(adm_kind_find(NULL, "example-com-v1-mykind", &row, &rules));
}

/* A kind of somebody else's has a path as soon as there is its row. */
static void test_further_kind(void **state) {
    static const char row_text[] = "framework: example.com/mykind\ngroup: example.com\n"
                                   "version: v1\nkind: MyKind\nplural: mykinds\n"
                                   "suspend: spec.hold\n"
                                   "podSets:\n- {list: spec.parts, name: id, template: pod}\n";
    struct sl_jobkinds *kinds = NULL;
    struct sl_err err;
    struct fixture f = {.kind = "example-com-v1-mykind"};

    (void)state;
    assert_int_equal(sl_jobkinds_parse("rows", row_text, strlen(row_text), false, &kinds, &err), 0);
    f.view.kinds = kinds;
    char *object = json(OBJ(QN, "", "'parts':[{'id':'a','pod':" POD(TWO) "}]"));
    begin(&f, object, NULL, NO_GATE);
    assert_int_equal(adm_kind_mutate(&f.call), 0);
    char *text = edited(&f);
    assert_non_null(strstr(text, "\"hold\":true"));
    assert_int_equal(adm_kind_validate(&f.call), 0);
    assert_int_equal(f.call.errs.n, 1);
    assert_string_equal(f.call.errs.text[0],
                        "spec.parts[0].pod.metadata.annotations" MORE_THAN_ONE);
    free(text);
    free(object);
    end(&f);
    sl_jobkinds_free(kinds);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_created),       cmocka_unit_test(test_updated),
        cmocka_unit_test(test_kinds),         cmocka_unit_test(test_too_many_podsets),
        cmocka_unit_test(test_spark_amounts), cmocka_unit_test(test_trainjob_runtime),
        cmocka_unit_test(test_edits),         cmocka_unit_test(test_owners),
        cmocka_unit_test(test_paths),         cmocka_unit_test(test_further_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
