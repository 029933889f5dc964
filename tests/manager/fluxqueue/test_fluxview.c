/* SPDX-License-Identifier: Apache-2.0 */
/* What people see of the graph: nodes with what is taken of them, and where jobs are. */
#include "fqtest.h"

#include "kube/informer/informer.h"
#include "lib/log/log.h"
#include "manager/fluxqueue/view.h"

static void other_pod(struct world *w, const char *name, const char *node, const char *cpu) {
    char body[1000];
    sl_fmt(body, sizeof body,
           "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"nodeName\":\"%s\",\"containers\":"
           "[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"%s\",\"memory\":\"1Gi\"}}}]}}",
           name, node, cpu);
    assert_int_equal(post(w, PODS, body), 201);
}

/* One that reads nodes also where nothing is queued. */
static struct sl_fluxqueue *reader(struct world *w) {
    stop(w, 0);
    w->q[1] = sl_fluxqueue_new(&(struct sl_fluxqueue_spec){.client = fakeapi_port(w->api, 1),
                                                           .settings = w->settings,
                                                           .instance = "test",
                                                           .seed = 1,
                                                           .standby = true,
                                                           .eager = true});
    return w->q[1];
}

static const struct sl_fluxqueue_node_view *node_named(const struct sl_fluxqueue_view *v,
                                                       const char *name) {
    for (uint32_t i = 0; i < v->nodes.n; i++)
        if (strcmp(v->nodes.v[i].name, name) == 0)
            return &v->nodes.v[i];
    fail_msg("no node %s", name);
    return NULL;
}

static void assert_use(const struct sl_fluxqueue_view *v, const char *node, const char *resource,
                       int64_t total, int64_t jobs, int64_t others) {
    const struct sl_fluxqueue_node_view *n = node_named(v, node);
    for (uint32_t i = n->uses; i < n->uses + n->n_uses; i++)
        if (strcmp(v->uses.v[i].resource, resource) == 0) {
            assert_int_equal(v->uses.v[i].total, total);
            assert_int_equal(v->uses.v[i].jobs, jobs);
            assert_int_equal(v->uses.v[i].others, others);
            return;
        }
    fail_msg("no %s of %s", resource, node);
}

static const struct sl_fluxqueue_job_view *job_named(const struct sl_fluxqueue_view *v,
                                                     const char *name) {
    for (uint32_t i = 0; i < v->jobs.n; i++)
        if (strcmp(v->jobs.v[i].name, name) == 0)
            return &v->jobs.v[i];
    return NULL;
}

static int64_t taken(const struct sl_fluxqueue_view *v, const struct sl_fluxqueue_place_view *p,
                     const char *resource) {
    for (uint32_t i = p->takes; i < p->takes + p->n_takes; i++)
        if (strcmp(v->takes.v[i].resource, resource) == 0)
            return v->takes.v[i].amount;
    return -1;
}

/* Two nodes, a Job of three pods over both, a pod of others. */
static void fill(struct world *w) {
    node(w, "n0", "2");
    node(w, "n1", "4");
    job(w, "job", 3, "1", "");
    run(w, SL_SEC);
    other_pod(w, "other", "n1", "1500m");
    child(w, "Job", "job", 0);
    child(w, "Job", "job", 1);
    child(w, "Job", "job", 2);
    run(w, SL_SEC);
}

static void check_filled(const struct sl_fluxqueue *q) {
    struct sl_fluxqueue_view v = {0};
    sl_fluxqueue_view_init(q, &v);
    assert_true(v.served);
    assert_int_equal(v.nodes.n, 2);
    assert_string_equal(v.nodes.v[0].name, "n0");
    assert_true(v.nodes.v[0].up && !v.nodes.v[0].cordoned && v.nodes.v[0].vertex != SL_VTX_NONE);
    assert_use(&v, "n0", "cpu", 2000, 2000, 0);
    assert_use(&v, "n0", "pods", 10, 2, 0);
    assert_use(&v, "n0", "memory", 8 << 20, 128 << 10, 0);
    assert_use(&v, "n1", "cpu", 4000, 1000, 1500);
    assert_use(&v, "n1", "memory", 8 << 20, 64 << 10, 1 << 20);
    assert_use(&v, "n1", "pods", 10, 1, 1);
    assert_int_equal(v.jobs.n, 1);
    const struct sl_fluxqueue_job_view *j = job_named(&v, "job-job");
    assert_non_null(j);
    assert_string_equal(j->ns, "default");
    assert_string_equal(j->object, "job");
    assert_int_equal(j->type, SL_FLUX_JOB);
    assert_int_equal(j->jobid, 1);
    assert_int_equal(j->n_places, 2);
    const struct sl_fluxqueue_place_view *p = &v.places.v[j->places];
    assert_string_equal(v.nodes.v[p[0].node].name, "n0");
    assert_int_equal(p[0].pods, 2);
    assert_int_equal(taken(&v, &p[0], "cpu"), 2000);
    assert_int_equal(taken(&v, &p[0], "pods"), 2);
    assert_string_equal(v.nodes.v[p[1].node].name, "n1");
    assert_int_equal(p[1].pods, 1);
    assert_int_equal(taken(&v, &p[1], "memory"), 64 << 10);
    assert_false(p[1].whole);
    sl_fluxqueue_view_done(&v);
}

static void test_taken(void **state) {
    struct world *w = *state;
    fill(w);
    check_filled(w->q[0]);
}

/* One that only reads shows the same, whether it was there before or comes later. */
static void test_standby(void **state) {
    struct world *w = *state;
    start(w, 1, true);
    fill(w);
    check_filled(w->q[1]);
    stop(w, 1);
    start(w, 1, true);
    run(w, SL_SEC);
    check_filled(w->q[1]);
}

/* What a job gives back is free again, also for one that only reads. */
static void test_given_back(void **state) {
    struct world *w = *state;
    struct sl_fluxqueue_view v = {0};
    start(w, 1, true);
    fill(w);
    for (int i = 0; i < 3; i++) {
        char name[20];
        sl_fmt(name, sizeof name, "job-%d", i);
        phase(w, name, "Succeeded");
    }
    patch(w, JOBS "/job/status", SL_JSON_CONST({
              "status" :
                  {"succeeded" : 3, "conditions" : [ {"type" : "Complete", "status" : "True"} ]}
          }));
    run(w, 5 * SL_SEC);
    sl_fluxqueue_view_init(w->q[1], &v);
    assert_int_equal(v.jobs.n, 0);
    assert_use(&v, "n0", "cpu", 2000, 0, 0);
    assert_use(&v, "n1", "cpu", 4000, 0, 1500);
    sl_fluxqueue_view_done(&v);
}

static void test_whole_nodes(void **state) {
    struct world *w = *state;
    struct sl_fluxqueue_view v = {0};
    node(w, "n0", "2");
    pod(w, "a", "1", "'fluxqueue/whole-nodes':'true'", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    start(w, 1, true);
    run(w, SL_SEC);
    for (uint32_t i = 0; i < 2; i++) {
        sl_fluxqueue_view_init(w->q[i], &v);
        assert_int_equal(v.places.n, 1);
        assert_true(v.places.v[0].whole);
        assert_use(&v, "n0", "cpu", 2000, 2000, 0);
        assert_use(&v, "n0", "memory", 8 << 20, 8 << 20, 0);
        sl_fluxqueue_view_done(&v);
        memset(&v, 0, sizeof v);
    }
}

/* A pod without a FluxJob takes its part of the node, too. */
static void test_plain(void **state) {
    struct world *w = *state;
    struct sl_fluxqueue_view v = {0};
    node(w, "n0", "2");
    plain(w, "a", "1", "");
    run(w, SL_SEC);
    start(w, 1, true);
    run(w, SL_SEC);
    for (uint32_t i = 0; i < 2; i++) {
        sl_fluxqueue_view_init(w->q[i], &v);
        assert_int_equal(v.jobs.n, 0);
        assert_use(&v, "n0", "cpu", 2000, 1000, 0);
        assert_use(&v, "n0", "pods", 10, 1, 0);
        sl_fluxqueue_view_done(&v);
        memset(&v, 0, sizeof v);
    }
}

static void test_states_of_nodes(void **state) {
    struct world *w = *state;
    struct sl_fluxqueue_view v = {0};
    node(w, "up", "1");
    node(w, "cordoned", "1");
    node(w, "down", "1");
    node(w, "tainted", "1");
    patch(w, NODES "/cordoned", SL_JSON_CONST({"spec" : {"unschedulable" : true}}));
    patch(w, NODES "/tainted",
          SL_JSON_CONST(
              {"spec" : {"taints" : [ {"key" : "a", "value" : "b", "effect" : "NoSchedule"} ]}}));
    patch(
        w, NODES "/down/status",
        SL_JSON_CONST({"status" : {"conditions" : [ {"type" : "Ready", "status" : "Unknown"} ]}}));
    struct sl_fluxqueue *q = reader(w);
    run(w, SL_SEC);
    sl_fluxqueue_view_init(q, &v);
    assert_true(node_named(&v, "up")->up);
    assert_int_equal(node_named(&v, "up")->n_taints, 0);
    assert_true(node_named(&v, "cordoned")->cordoned && node_named(&v, "cordoned")->up);
    assert_false(node_named(&v, "down")->up || node_named(&v, "down")->cordoned);
    const struct sl_fluxqueue_node_view *n = node_named(&v, "tainted");
    assert_true(n->up && !n->cordoned && n->n_taints == 1);
    assert_string_equal(v.taints.v[n->taints], "a=b:NoSchedule");
    sl_fluxqueue_view_done(&v);
}

static void test_nothing(void **state) {
    struct world *w = *state;
    struct sl_fluxqueue_view v = {0};
    struct sl_inf_reading r;
    struct sl_fluxqueue *q = reader(w);
    sl_fluxqueue_reading(q, &r);
    assert_true(r.kinds > 0 && r.synced == 0 && !r.failed);
    fakeapi_install(w->api, "jobs.converged-computing.org", "fluxjobs", false);
    run(w, SL_SEC);
    assert_true(sl_fluxqueue_ready(q));
    sl_fluxqueue_reading(q, &r);
    assert_int_equal(r.synced, r.kinds);
    assert_string_equal(r.error, "");
    sl_fluxqueue_view_init(q, &v);
    assert_false(v.served);
    assert_int_equal(v.nodes.n + v.jobs.n, 0);
    sl_fluxqueue_view_done(&v);
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_taken), TEST(test_standby),         TEST(test_given_back), TEST(test_whole_nodes),
        TEST(test_plain), TEST(test_states_of_nodes), TEST(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
