/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that request something else than the template that they are made of. */
#include "fqtest.h"
#include "manager/fluxqueue/fq_int.h"

#define LIMITS "/api/v1/namespaces/default/limitranges"
#define CLASSES "/apis/node.k8s.io/v1/runtimeclasses"

static void nodes(struct world *w, int n) {
    char name[16];
    for (int i = 0; i < n; i++) {
        sl_fmt(name, sizeof name, "n%d", i);
        node(w, name, "4");
    }
}

/* As its controller and admission: pods of an object, each with these cpus. */
static void pods_of(struct world *w, const char *kind, const char *owner, int n, const char *cpu) {
    for (int i = 0; i < n; i++)
        (void)child_of(w, kind, owner, i, cpu);
}

static int bound(struct world *w, const char *owner, int n) {
    char path[300];
    int r = 0;
    for (int i = 0; i < n; i++) {
        sl_fmt(path, sizeof path, PODS "/%s-%d", owner, i);
        r += *at(w, path, "spec.nodeName") != 0;
    }
    return r;
}

static void silent_job(struct world *w, const char *name, int pods, const char *class) {
    char body[1024];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes'}},"
           "'spec':{'suspend':true,'parallelism':%d,'completions':%d,'completionMode':'Indexed',"
           "'template':{'metadata':{'labels':{'fluxqueue.seen':'yes'}},'spec':{%s"
           "'containers':[{'name':'main','image':'busybox'%s}],"
           "'schedulerName':'FluxionScheduler'}}}}",
           name, pods, pods, class, *class ? ",'resources':{'requests':{'cpu':'1'}}" : "");
    create(w, JOBS, body);
}

/* Defaults of a LimitRange are what a pod of the template requests, also after a restart. */
static void test_limit_range(void **state) {
    struct world *w = *state;
    nodes(w, 4);
    create(w, LIMITS,
           "{'metadata':{'name':'l'},'spec':{'limits':[{'type':'Container',"
           "'default':{'cpu':'2'},'defaultRequest':{'cpu':'2'}}]}}");
    run(w, SL_SEC);
    silent_job(w, "job", 12, "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.reason", "Unsatisfiable");
    stop(w, 0);
    start(w, 0, false);
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.reason", "Unsatisfiable");
    assert_non_null(strstr(at(w, FLUXJOBS "/job-job", "spec.jobspec"), "count: 2000"));
    silent_job(w, "small", 8, "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/small-job", "status.state", "Running");
    pods_of(w, "Job", "small", 8, "2");
    run(w, 5 * SL_SEC);
    assert_int_equal(bound(w, "small", 8), 8);
}

/* The overhead of the RuntimeClass counts. */
static void test_overhead(void **state) {
    struct world *w = *state;
    nodes(w, 4);
    create(w, CLASSES,
           "{'metadata':{'name':'kata'},'handler':'kata','overhead':{'podFixed':{'cpu':'250m'}}}");
    run(w, SL_SEC);
    silent_job(w, "job", 16, "'runtimeClassName':'kata',");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.reason", "Unsatisfiable");
    assert_non_null(strstr(at(w, FLUXJOBS "/job-job", "spec.jobspec"), "count: 1250"));
}

/* Its nodes are those that a RuntimeClass says, as the API server has it in each of its pods. */
static void test_runtime_nodes(void **state) {
    struct world *w = *state;
    nodes(w, 4);
    patch(w, NODES "/n2",
          "{\"metadata\":{\"labels\":{\"kata\":\"yes\"}},\"spec\":{\"taints\":[{"
          "\"key\":\"kata\",\"effect\":\"NoSchedule\"}]}}");
    create(w, CLASSES,
           "{'metadata':{'name':'kata'},'handler':'kata','scheduling':{'nodeSelector':{'kata':"
           "'yes'},'tolerations':[{'key':'kata','operator':'Exists'}]}}");
    create(w, CLASSES,
           "{'metadata':{'name':'none'},'handler':'none','scheduling':{'nodeSelector':{'none':"
           "'yes'}}}");
    run(w, SL_SEC);
    silent_job(w, "job", 2, "'runtimeClassName':'kata',");
    silent_job(w, "nowhere", 1, "'runtimeClassName':'none',");
    silent_job(w, "free", 1, "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.nodeList", "n2");
    assert_field(w, FLUXJOBS "/nowhere-job", "status.reason", "Unsatisfiable");
    assert_field(w, FLUXJOBS "/free-job", "status.nodeList", "n0");
}

/* Somebody has added a container to all pods of a Job: it holds nothing that they cannot have. */
static void test_never(void **state) {
    struct world *w = *state;
    nodes(w, 4);
    job(w, "job", 16, "1", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Running");
    pods_of(w, "Job", "job", 16, "1250m");
    run(w, 10 * SL_SEC);
    assert_int_equal(bound(w, "job", 16), 0);
    assert_field(w, FLUXJOBS "/job-job", "status.reason", "Unsatisfiable");
    pod(w, "other", "4", "", "");
    run(w, SL_SEC);
    assert_true(*at(w, PODS "/other", "spec.nodeName") != 0);
}

/* Such a Job waits for what its pods request, and starts as a whole; also after a restart. */
static void test_waits_again(void **state) {
    struct world *w = *state;
    nodes(w, 4);
    pod(w, "other", "1", "", "");
    run(w, SL_SEC);
    job(w, "job", 8, "1", "'fluxqueue/tasks-per-node':'2'");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Running");
    pods_of(w, "Job", "job", 8, "2");
    run(w, 10 * SL_SEC);
    assert_int_equal(bound(w, "job", 8), 0);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Waiting");
    assert_non_null(strstr(at(w, FLUXJOBS "/job-job", "spec.jobspec"), "count: 2000"));
    uint32_t before = w->writes;
    stop(w, 0);
    start(w, 0, false);
    run(w, SL_MINUTE);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Waiting");
    assert_true(w->writes - before < 8);
    phase(w, "other", "Succeeded");
    run(w, 5 * SL_SEC);
    assert_int_equal(bound(w, "job", 8), 8);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Running");
    int64_t id = number(w, FLUXJOBS "/job-job", "status.jobid");
    stop(w, 0);
    start(w, 0, false);
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Running");
    assert_int_equal(number(w, FLUXJOBS "/job-job", "status.jobid"), id);
}

/* The same of a set, whose pods need not start together. */
static void test_set(void **state) {
    struct world *w = *state;
    nodes(w, 2);
    set(w, "set", 8, "1");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.state", "Running");
    pods_of(w, "StatefulSet", "set", 8, "1250m");
    run(w, SL_MINUTE);
    assert_int_equal(bound(w, "set", 8), 6);
}

/* Pods that are left of a template that was changed since say nothing of those that it makes now.
 */
static void test_old_template(void **state) {
    struct world *w = *state;
    nodes(w, 2);
    set(w, "set", 1, "100");
    pods_of(w, "StatefulSet", "set", 1, "100");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Unsatisfiable");
    patch(w, SETS "/set", SL_JSON_CONST({
              "spec" : {
                  "template" : {
                      "spec" : {
                          "containers" : [ {
                              "name" : "main",
                              "image" : "busybox",
                              "resources" : {"requests" : {"cpu" : "1", "memory" : "64Mi"}}
                          } ]
                      }
                  }
              }
          }));
    run(w, SL_MINUTE);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.state", "Running");
    assert_non_null(strstr(at(w, FLUXJOBS "/set-statefulset", "spec.jobspec"), "count: 1000"));
    pod(w, "beside", "4", "", "");
    pod(w, "other", "3", "", "");
    run(w, SL_SEC);
    assert_true(*at(w, PODS "/beside", "spec.nodeName") != 0);
    assert_true(*at(w, PODS "/other", "spec.nodeName") != 0);
}

/* What was injected into its pods is not any more: it asks for what they request now. */
static void test_smaller_again(void **state) {
    struct world *w = *state;
    nodes(w, 1);
    pod(w, "other", "4", "", "");
    run(w, SL_SEC);
    set(w, "set", 2, "1");
    run(w, SL_SEC);
    for (int cpus = 8; cpus > 0; cpus -= 7) {
        pods_of(w, "StatefulSet", "set", 2, cpus == 8 ? "8" : "1");
        run(w, 5 * SL_SEC);
        assert_field(w, FLUXJOBS "/set-statefulset", "status.reason",
                     cpus == 8 ? "Unsatisfiable" : "Submitted");
        drop(w, PODS "/set-0");
        drop(w, PODS "/set-1");
        run(w, SL_SEC);
    }
    pods_of(w, "StatefulSet", "set", 2, "1");
    phase(w, "other", "Succeeded");
    run(w, 5 * SL_SEC);
    assert_int_equal(bound(w, "set", 2), 2);
}

/* Pods of a template that was changed while they waited are not replaced: places that are none for
 * them do not take the room that they need. */
static void test_older_pods_of_a_replicaset(void **state) {
    struct world *w = *state;
    char body[1024];
    nodes(w, 1);
    for (int cpus = 3; cpus >= 2; cpus--) {
        sl_fmt(body, sizeof body,
               "{'metadata':{'name':'r','labels':{'fluxqueue.seen':'yes'}},'spec':{'replicas':2,"
               "'template':{'metadata':{'labels':{'fluxqueue.seen':'yes'}},'spec':{'containers':[{"
               "'name':'main','image':'busybox','resources':{'requests':{'cpu':'%d','memory':"
               "'64Mi'}}}],'schedulerName':'FluxionScheduler','schedulingGates':[{'name':"
               "'fluxqueue'}]}}}}",
               cpus);
        if (cpus == 3) {
            create(w, REPLICASETS, body);
            pods_of(w, "ReplicaSet", "r", 2, "3");
            run(w, SL_SEC);
            assert_field(w, FLUXJOBS "/r-replicaset", "status.reason", "Unsatisfiable");
        } else {
            for (char *c = body; *c; c++)
                *c = *c == '\'' ? '"' : *c;
            patch(w, REPLICASETS "/r", body);
        }
    }
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/r-replicaset", "status.reason", "Growing");
    assert_int_equal(bound(w, "r", 2), 1);
    node(w, "more", "4");
    run(w, 10 * SL_SEC);
    assert_int_equal(bound(w, "r", 2), 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_limit_range),   TEST(test_overhead),
        TEST(test_runtime_nodes), TEST(test_never),
        TEST(test_waits_again),   TEST(test_set),
        TEST(test_old_template),  TEST(test_older_pods_of_a_replicaset),
        TEST(test_smaller_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
