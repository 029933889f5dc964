/* SPDX-License-Identifier: Apache-2.0 */
/* Objects and changes that once made the queue spin, lose a decision or miss one. */
#include "fqtest.h"

#include <stdio.h>

#include "manager/fluxqueue/fq_int.h"

#define JOBSPEC(resources)                                                                         \
    "'fluxqueue/jobspec':'{version: 1, resources: [" resources "], attributes: {system: "          \
    "{duration: 60}}, tasks: [{command: [a], slot: a, count: {per_slot: 1}}]}'"
#define SLOT(name, count)                                                                          \
    "{type: slot, count: " count ", label: " name ", with: [{type: core, count: 1}]}"
#define NODE(name, count) "{type: node, count: 1, exclusive: true, with: [" SLOT(name, count) "]}"

/* A Job whose jobspec has fewer slots than it has pods could only start in part: it is refused, and
 * not tried again in every turn. */
static void test_too_few_slots(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    node(w, "n1", "4");
    job(w, "a", 2, "1", JOBSPEC(SLOT("a", "1")));
    job(w, "b", 2, "1", JOBSPEC(SLOT("a", "{min: 1, max: 4, operator: +, operand: 1}")));
    run(w, SL_SEC);
    uint32_t writes = w->writes;
    run(w, 10 * SL_SEC);
    assert_int_equal(w->writes, writes);
    assert_field(w, FLUXJOBS "/a-job", "status.reason", "InvalidJobspec");
    assert_field(w, FLUXJOBS "/a-job", "status.message",
                 "the jobspec has 1 slots, and the Job 2 pods");
    assert_field(w, FLUXJOBS "/b-job", "status.reason", "InvalidJobspec");
    job(w, "c", 2, "1", JOBSPEC(SLOT("a", "2")));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/c-job", "status.state", "Running");
}

/* Enough slots, but on whole nodes these are shared out evenly. */
static void test_too_few_places(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    node(w, "n1", "4");
    patch(w, NODES "/n0", SL_JSON_CONST({"metadata" : {"labels" : {"example.com/rack" : "r0"}}}));
    job(w, "a", 3, "1",
        JOBSPEC("{type: rack, count: 1, with: [" NODE("a", "1") "]}, " NODE("b", "2")));
    run(w, SL_SEC);
    uint32_t writes = w->writes;
    run(w, 10 * SL_SEC);
    assert_int_equal(w->writes, writes);
    assert_field(w, FLUXJOBS "/a-job", "status.reason", "TooFewPlaces");
    assert_field(w, FLUXJOBS "/a-job", "status.message",
                 "The jobspec gives the Job 2 places for 3 pods");
    pod(w, "b", "4", "", ""); /* it has nothing */
    pod(w, "c", "4", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "Running");
    assert_field(w, FLUXJOBS "/c-pod", "status.state", "Running");
}

/* Kubernetes says that a Job has ended in several steps: what it has stays as it was until the
 * last, and is shown after it. */
static void test_job_ends(void **state) {
    static const char *const steps[] = {
        /* a Job of two completions */
        "{'succeeded':0,'active':0,'uncountedTerminatedPods':{'succeeded':['x','y']}}",
        "{'succeeded':2}",
        "{'succeeded':2,'conditions':[{'type':'SuccessCriteriaMet','status':'True'}]}",
        "{'succeeded':2,'conditions':[{'type':'Complete','status':'True'}]}",
        /* one without a number */
        "{'succeeded':1,'active':0}",
        "{'succeeded':2,'active':0,'conditions':[{'type':'Complete','status':'True'}]}",
        /* and one that fails */
        "{'failed':1,'conditions':[{'type':'FailureTarget','status':'True'}]}",
        "{'failed':1,'conditions':[{'type':'Failed','status':'True'}]}",
    };
    static const struct {
        uint32_t from, over, n; /* of the steps, from which on it is over */
        const char *phase, *state;
    } cases[] = {
        {0, 2, 4, "Succeeded", "Completed"},
        {4, 1, 2, "Succeeded", "Completed"},
        {6, 0, 2, "Failed", "Failed"},
    };
    struct world *w = *state;
    node(w, "n0", "4");
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        job(w, "a", 2, "1", "");
        if (i == 1)
            patch(w, JOBS "/a", SL_JSON_CONST({"spec" : {"completions" : null}}));
        run(w, SL_SEC);
        child(w, "Job", "a", 0);
        child(w, "Job", "a", 1);
        run(w, SL_SEC);
        phase(w, "a-0", cases[i].phase);
        phase(w, "a-1", cases[i].phase);
        for (uint32_t k = 0; k < cases[i].n; k++) {
            char body[300];
            sl_fmt(body, sizeof body, "{\"status\":%s}", steps[cases[i].from + k]);
            for (char *c = body; *c; c++)
                *c = *c == '\'' ? '"' : *c;
            patch(w, JOBS "/a/status", body);
            run(w, SL_SEC);
            assert_field(w, FLUXJOBS "/a-job", "status.state",
                         k < cases[i].over ? "Running" : cases[i].state);
            assert_field(w, FLUXJOBS "/a-job", "status.nodeList", "n0");
            assert_int_equal(number(w, FLUXJOBS "/a-job", "status.pods.expected"), 2);
        }
        drop(w, JOBS "/a");
        drop(w, PODS "/a-0");
        drop(w, PODS "/a-1");
        drop(w, FLUXJOBS "/a-job");
        run(w, 15 * SL_SEC);
    }
}

/* The first claim of a volume makes the queue read more kinds. What it has decided meanwhile stays:
 * the answer to a write of before is not newer. */
static void test_first_claim(void **state) {
    struct world *w = *state;
    struct fakeapi_faults slow = {.delay = 1, .longest = 100 * SL_MSEC};
    node(w, "n0", "1");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    pod(w, "a", "1", "", "");
    run(w, 10 * SL_SEC);
    int64_t jobid = number(w, FLUXJOBS "/a-pod", "status.jobid");
    fakeapi_set_faults(w->api, &slow);
    patch(w, FLUXJOBS "/a-pod", SL_JSON_CONST({"spec" : {"priority" : 5}}));
    run(w, SL_MSEC); /* its status is on the way */
    phase(w, "b", "Succeeded");
    run(w, SL_MSEC); /* it has the place of the other one */
    slow.longest = 5 * SL_SEC;
    fakeapi_set_faults(w->api, &slow);
    pod(w, "c", "1", "", "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'v'}}]");
    run(w, SL_MSEC);
    fakeapi_set_faults(w->api, NULL);
    run(w, 20 * SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/a-pod", "status.jobid"), jobid);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
}

static void configure(struct world *w, const char *queues) {
    struct sl_settings *settings = NULL;
    struct sl_err err = {0};
    char text[500];
    sl_fmt(text, sizeof text,
           "apiVersion: config.kueue.x-k8s.io/v1beta2\n"
           "kind: Configuration\n"
           "fluxqueue: {queues: [%s]}\n",
           queues);
    assert_true(
        sl_settings_parse("config", text, strlen(text), NULL, NULL, &settings, NULL, &err) >= 0);
    sl_fluxqueue_configure(w->q[0], settings);
    sl_settings_free(w->settings);
    w->settings = settings;
}

/* The queue of a job is shown whoever says it: its annotation, its jobspec or its FluxJob. */
static void test_queue_is_shown(void **state) {
    struct world *w = *state;
    configure(w, "{name: default}, {name: batch}, {name: other}");
    node(w, "n0", "1");
    pod(w, "a", "1", "'fluxqueue/queue':'batch'", "");
    run(w, SL_SEC);
    pod(w, "b", "1", "'fluxqueue/queue':'batch'", "");
    pod(w, "c", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.queue", "batch");
    assert_field(w, FLUXJOBS "/b-pod", "status.queue", "batch");
    assert_field(w, FLUXJOBS "/c-pod", "status.queue", "default");
    patch(w, FLUXJOBS "/b-pod", SL_JSON_CONST({"spec" : {"queue" : "other"}}));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.queue", "other");
    stop(w, 0);
    start(w, 0, false);
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.queue", "batch");
    assert_field(w, FLUXJOBS "/b-pod", "status.queue", "other");
    phase(w, "a", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Completed");
    assert_field(w, FLUXJOBS "/a-pod", "status.queue", "batch");
}

/* Pods that have ended are counted. */
static void test_ended_pods(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    job(w, "a", 2, "1", "");
    run(w, SL_SEC);
    (void)child(w, "Job", "a", 0);
    (void)child(w, "Job", "a", 1);
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/a-job", "status.pods.finished"), 0);
    phase(w, "a-0", "Succeeded");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/a-job", "status.pods.finished"), 1);
    phase(w, "a-1", "Succeeded");
    patch(
        w, JOBS "/a/status",
        SL_JSON_CONST({"status" : {"conditions" : [ {"type" : "Complete", "status" : "True"} ]}}));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-job", "status.state", "Completed");
    assert_int_equal(number(w, FLUXJOBS "/a-job", "status.pods.finished"), 2);
}

static uint32_t rejected(const struct sl_fluxqueue *q) {
    uint32_t at = 0, n = 0;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_FLUXJOB, &at));)
        n += fq_job_of(r)->state == FQ_REJECTED;
    return n;
}

/* Rejected jobs are tried again some at a time, and all of them. */
static void test_many_rejected(void **state) {
    struct world *w = *state;
    const uint32_t jobs = 3 * FQ_MAX_RETRIES;
    char name[32];
    node(w, "n0", "1");
    for (uint32_t i = 0; i < jobs; i++) {
        sl_fmt(name, sizeof name, "p%u", i);
        pod(w, name, "2", "", "");
    }
    run(w, 10 * SL_SEC);
    assert_int_equal(rejected(w->q[0]), jobs);
    patch(w, NODES "/n0/status", SL_JSON_CONST({"status" : {"allocatable" : {"cpu" : "2"}}}));
    run(w, FQ_RETRY_PAUSE / 2);
    assert_int_equal(rejected(w->q[0]), jobs - FQ_MAX_RETRIES);
    run(w, SL_SEC);
    assert_int_equal(rejected(w->q[0]), 0);
}

/* A graph that takes long to make is made the more seldom. */
static void test_slow_graph(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    node(w, "n1", "4");
    while (w->q[0]->rebuilt_at != fakeapi_now(w->api)) {
        fakeapi_advance(w->api, fakeapi_now(w->api) + SL_MSEC);
        sl_fluxqueue_tick(w->q[0]);
    }
    assert_int_equal(sl_fluxqueue_next(w->q[0]), fakeapi_now(w->api));
    fakeapi_advance(w->api, fakeapi_now(w->api) + 300 * SL_MSEC); /* it took so long */
    node(w, "n2", "8");
    pod(w, "b", "8", "", "");
    run(w, 800 * SL_MSEC);
    assert_field(w, PODS "/b", "spec.nodeName", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n2");
    node(w, "n3", "16"); /* this one was quick */
    pod(w, "c", "16", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n3");
}

/* Another duration of a job that runs makes no new graph. */
static void test_longer(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "a", "3", "", "");
    run(w, SL_SEC);
    sl_time rebuilt = w->q[0]->rebuilt_at;
    patch(w, FLUXJOBS "/a-pod", SL_JSON_CONST({"spec" : {"duration" : 1000}}));
    run(w, SL_SEC);
    pod(w, "b", "4", "", "");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.estimatedStart", "2026-01-01T00:16:40Z");
    assert_int_equal(w->q[0]->rebuilt_at, rebuilt);
}

/* A job in the queue sees a node whose label has come to be large enough. */
static void test_compared_label(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    node(w, "n1", "4");
    patch(w, NODES "/n0", SL_JSON_CONST({"metadata" : {"labels" : {"cores" : "8"}}}));
    patch(w, NODES "/n1", SL_JSON_CONST({"metadata" : {"labels" : {"cores" : "64"}}}));
    pod(w, "a", "4", "", "'nodeSelector':{'cores':'64'}");
    run(w, SL_SEC);
    pod(w, "b", "4", "",
        "'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':"
        "{'nodeSelectorTerms':[{'matchExpressions':[{'key':'cores','operator':'Gt',"
        "'values':['32']}]}]}}}");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.reason", "Submitted");
    sl_time rebuilt = w->q[0]->rebuilt_at;
    patch(w, NODES "/n0", SL_JSON_CONST({"metadata" : {"labels" : {"zone" : "a"}}}));
    run(w, SL_SEC);
    assert_int_equal(w->q[0]->rebuilt_at, rebuilt);
    patch(w, NODES "/n0", SL_JSON_CONST({"metadata" : {"labels" : {"cores" : "128"}}}));
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* A begin time that is set while the job waits in the queue is kept. */
static void test_later_begin(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    patch(w, FLUXJOBS "/b-pod", SL_JSON_CONST({"spec" : {"beginTime" : "2026-01-01T00:10:00Z"}}));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.reason", "BeginTime");
    phase(w, "a", "Succeeded");
    run(w, SL_MINUTE);
    assert_field(w, PODS "/b", "spec.nodeName", "");
    run(w, 10 * SL_MINUTE);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* A node that is being deleted gets nothing more. */
static void test_node_going(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    patch(w, NODES "/n0", SL_JSON_CONST({"metadata" : {"finalizers" : ["example.com/a"]}}));
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    drop(w, NODES "/n0");
    run(w, SL_SEC);
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "metadata.name", "b-pod");
    assert_field(w, PODS "/b", "spec.nodeName", "");
}

/* To suspend a Job that runs is not to stop it; to take its pods away is. */
static void test_suspended_by_hand(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    job(w, "a", 1, "1", "");
    run(w, SL_SEC);
    assert_false(sl_json_bool(fakeapi_get(w->api, JOBS "/a"), "spec.suspend", true));
    patch(w, JOBS "/a", SL_JSON_CONST({"spec" : {"suspend" : true}}));
    run(w, SL_SEC);
    assert_false(sl_json_bool(fakeapi_get(w->api, JOBS "/a"), "spec.suspend", true));
    patch(w, JOBS "/a", SL_JSON_CONST({"spec" : {"parallelism" : 0}}));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-job", "status.reason", "ScaledToZero");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* A queue that is not there is said to be so, whether or not there are nodes for the job. */
static void test_no_such_queue(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "a", "2", "'fluxqueue/queue':'none'", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.reason", "NoSuchQueue");
    patch(w, NODES "/n0/status", SL_JSON_CONST({"status" : {"allocatable" : {"cpu" : "1"}}}));
    run(w, SL_SEC);
    stop(w, 0);
    start(w, 0, false);
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.reason", "NoSuchQueue");
}

/* What is submitted anew, since it asks for something else, keeps no reservation of before. */
static void test_reservation_of_before(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "a", "2", "'fluxqueue/duration':'100s'", "");
    pod(w, "b", "2", "", "");
    run(w, SL_SEC);
    set(w, "set", 1, "2");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.state", "Reserved");
    patch(w, SETS "/set", SL_JSON_CONST({"spec" : {"replicas" : 2}})); /* 'b' has no known end */
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.state", "Waiting");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.estimatedStart", "");
    stop(w, 0);
    start(w, 0, false);
    uint32_t writes = w->writes;
    run(w, 10 * SL_SEC);
    assert_int_equal(w->writes, writes);
}

static void others(struct world *w, const char *name, const char *node) {
    char body[300];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s'},'spec':{'nodeName':'%s','containers':[{'name':'main',"
           "'resources':{'requests':{'cpu':'1'}}}]}}",
           name, node);
    create(w, PODS, body);
}

static const char *condition(struct world *w, const char *path) {
    yyjson_val *all = sl_json_at(fakeapi_get(w->api, path), "status.conditions");
    return sl_json_str(sl_json_find(all, "type", "PodScheduled"), "message");
}

/* What has become impossible leaves the queue, also behind one that waits, where no pass tries it;
 * and comes back. */
static void test_impossible_meanwhile(void **state) {
    static const char waits[] = "Waits in the queue: what it requests is in use";
    struct world *w = *state;
    configure(w, "{name: default, policy: fcfs}");
    node(w, "n0", "4");
    node(w, "n1", "4");
    pod(w, "a", "2", "", "");
    pod(w, "b", "3", "", "");
    run(w, SL_SEC);
    pod(w, "first", "3", "", "");
    run(w, SL_SEC);
    pod(w, "c", "4", "", "");
    plain(w, "d", "4", "");
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/c-pod", "status.reason", "Submitted");
    assert_string_equal(condition(w, PODS "/d"), waits);
    others(w, "o0", "n0");
    others(w, "o1", "n1");
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/first-pod", "status.reason", "Submitted");
    assert_field(w, FLUXJOBS "/c-pod", "status.reason", "Busy");
    assert_string_equal(condition(w, PODS "/d"), "Pods of other schedulers use what it requests");
    assert_true(sl_fluxqueue_idle(w->q[0]));
    drop(w, PODS "/o1");
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/c-pod", "status.reason", "Submitted");
    assert_string_equal(condition(w, PODS "/d"), waits);
}

static uint32_t busy(const struct sl_fluxqueue *q) {
    uint32_t at = 0, n = 0;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_FLUXJOB, &at));)
        n += fq_job_of(r)->reason && strcmp(fq_job_of(r)->reason, "Busy") == 0;
    return n;
}

/* The same of many: some at a time, and all of them. */
static void test_many_impossible(void **state) {
    struct world *w = *state;
    const uint32_t jobs = 2 * FQ_MAX_JUDGED + 1;
    char name[32];
    configure(w, "{name: default, policy: fcfs}");
    node(w, "n0", "4");
    pod(w, "a", "2", "", "");
    run(w, SL_SEC);
    pod(w, "first", "3", "", "");
    run(w, SL_SEC);
    for (uint32_t i = 0; i < jobs; i++) {
        sl_fmt(name, sizeof name, "p%u", i);
        pod(w, name, "4", "", "");
    }
    run(w, 5 * SL_SEC);
    assert_int_equal(busy(w->q[0]), 0);
    others(w, "o0", "n0");
    run(w, FQ_RETRY_PAUSE / 2);
    assert_int_equal(busy(w->q[0]), FQ_MAX_JUDGED - 1); /* 'first' can run */
    run(w, SL_SEC);
    assert_int_equal(busy(w->q[0]), jobs);
    assert_field(w, FLUXJOBS "/first-pod", "status.reason", "Submitted");
}

static struct fq_usage *usage_of(struct sl_fluxqueue *q, const char *cpu) {
    char text[200];
    sl_fmt(text, sizeof text,
           "{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}",
           cpu);
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(text, strlen(text), 0);
    return fq_usage_get(q, yyjson_doc_get_root(d));
}

/* Requests whose hashes are equal by chance are told apart; the same amounts have the same size. */
static void test_equal_hashes(void **state) {
    struct world *w = *state;
    struct sl_fluxqueue *q = w->q[0];
    struct fq_usage *a = usage_of(q, "1"), *b = usage_of(q, "2"), *c = usage_of(q, "1000m");
    uint64_t hash = b->hash, size = b->size;
    assert_int_equal(a->size, c->size);
    assert_ptr_not_equal(a, c);
    fq_usage_unref(q, c);
    fq_usage_unref(q, b);
    assert_null(fq_usage_of_size(q, size));
    (void)sl_map_del(&q->usages_by_hash, a->hash, a->id);
    (void)sl_map_del(&q->usages_by_size, a->size, a->id);
    a->hash = hash;
    a->size = size;
    sl_map_add(&q->usages_by_hash, hash, a->id);
    sl_map_add(&q->usages_by_size, size, a->id);
    b = usage_of(q, "2");
    assert_ptr_not_equal(a, b);
    assert_int_not_equal(a->size, b->size);
    assert_ptr_equal(fq_usage_of_size(q, b->size), b);
    fq_usage_unref(q, a);
    fq_usage_unref(q, b);
}

/* An index that failed for good needs no place any more. */
static void test_failed_index(void **state) {
    struct world *w = *state;
    node(w, "n0", "3");
    job(w, "job", 3, "1", "");
    run(w, SL_SEC);
    for (int i = 0; i < 3; i++)
        child(w, "Job", "job", i);
    run(w, SL_SEC);
    phase(w, "job-0", "Failed");
    phase(w, "job-1", "Failed");
    patch(w, JOBS "/job/status",
          SL_JSON_CONST({"status" : {"failed" : 2, "failedIndexes" : "0-1", "active" : 1}}));
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/job-job", "status.pods.expected"), 1);
    pod(w, "next", "2", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/next", "spec.nodeName", "n0");
    assert_field(w, PODS "/job-2", "spec.nodeName", "n0");
}

/* What cannot run while its only node is cordoned is told that such nodes do not count. */
static void test_cordoned_only(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "runs", "4", "'fluxqueue/duration':'3600s'", "");
    run(w, SL_SEC);
    pod(w, "waits", "4", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/waits-pod", "status.state", "Reserved");
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : true}}));
    run(w, SL_MINUTE);
    assert_field(w, FLUXJOBS "/waits-pod", "status.state", "Rejected");
    assert_non_null(strstr(at(w, FLUXJOBS "/waits-pod", "status.message"), "are cordoned"));
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : null}}));
    run(w, SL_MINUTE);
    assert_field(w, FLUXJOBS "/waits-pod", "status.state", "Reserved");
}

/* A resize that no kubelet will do takes nothing of the node; one that it does, does. */
static void test_infeasible(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    patch(w, PODS "/a", SL_JSON_CONST({
              "spec" : {
                  "containers" : [ {
                      "name" : "main",
                      "image" : "busybox",
                      "resources" : {"requests" : {"cpu" : "1000", "memory" : "64Mi"}}
                  } ]
              }
          }));
    patch(w, PODS "/a/status", SL_JSON_CONST({
              "status" : {
                  "conditions" :
                      [ {"type" : "PodResizePending", "status" : "True", "reason" : "Infeasible"} ],
                  "containerStatuses" :
                      [ {"name" : "main", "allocatedResources" : {"cpu" : "1", "memory" : "64Mi"}} ]
              }
          }));
    run(w, SL_SEC);
    pod(w, "b", "2", "", "");
    run(w, SL_MINUTE);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    patch(w, PODS "/a", SL_JSON_CONST({
              "spec" : {
                  "containers" : [ {
                      "name" : "main",
                      "image" : "busybox",
                      "resources" : {"requests" : {"cpu" : "2", "memory" : "64Mi"}}
                  } ]
              }
          }));
    patch(w, PODS "/a/status", SL_JSON_CONST({"status" : {"conditions" : []}}));
    run(w, SL_SEC);
    pod(w, "c", "1", "", "");
    run(w, SL_MINUTE);
    assert_field(w, PODS "/c", "spec.nodeName", "");
}

/* ---- rejected jobs are tried again some at a time, also on a new graph ---- */

static uint32_t rejected_jobs(struct world *w, uint32_t n) {
    char path[256];
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        sl_fmt(path, sizeof path, FLUXJOBS "/j%u-job", i);
        found += strcmp(at(w, path, "status.state"), "Rejected") == 0;
    }
    return found;
}

static void test_retried_in_turns(void **state) {
    struct world *w = *state;
    const uint32_t n = 100;
    char name[16];
    node(w, "n0", "8");
    for (uint32_t i = 0; i < n; i++) {
        sl_fmt(name, sizeof name, "j%u", i);
        job(w, name, 1, "16", "");
    }
    run(w, 10 * SL_SEC);
    assert_int_equal(rejected_jobs(w, n), n);
    node(w, "n1", "16");
    run(w, 99 * SL_MSEC);
    assert_true(rejected_jobs(w, n) >= n - 64);
    run(w, SL_SEC);
    assert_int_equal(rejected_jobs(w, n), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* One that was rejected is tried again, and then waits for something else: when that is there it is
 * submitted, and not with the next change of a node. */
static void test_rejected_before(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    pod(w, "a", "2", "'fluxqueue/begin-time':'2026-01-01T00:00:10Z'", "");
    run(w, SL_MINUTE);
    assert_field(w, FLUXJOBS "/a-pod", "status.reason", "Unsatisfiable");
    fakeapi_step_clock(w->api, 0, -SL_MINUTE);
    node(w, "n1", "2");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.reason", "BeginTime");
    run(w, SL_MINUTE);
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_too_few_slots),
        TEST(test_too_few_places),
        TEST(test_job_ends),
        TEST(test_first_claim),
        TEST(test_queue_is_shown),
        TEST(test_ended_pods),
        TEST(test_many_rejected),
        TEST(test_slow_graph),
        TEST(test_longer),
        TEST(test_compared_label),
        TEST(test_later_begin),
        TEST(test_node_going),
        TEST(test_suspended_by_hand),
        TEST(test_no_such_queue),
        TEST(test_reservation_of_before),
        TEST(test_impossible_meanwhile),
        TEST(test_many_impossible),
        TEST(test_equal_hashes),
        TEST(test_failed_index),
        TEST(test_cordoned_only),
        TEST(test_infeasible),
        TEST(test_retried_in_turns),
        TEST(test_rejected_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
