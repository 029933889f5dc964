/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact nodes while the API misbehaves: Workloads and jobs of the queue on the graph come and go,
 * nodes join and fail, requests are lost, late or refused, streams end, and all is killed and
 * starts anew. Some Workloads have host ports, may have fewer pods, or are followed by a larger
 * slice; those of some have to be on nodes of their own. Whatever the API says at any moment, no
 * node and no port is given twice, a Workload has nodes for all of its pods or for none, and those
 * that have to be apart are; and in the end whoever starts from the API knows the same.
 */
#include "core/base/prng.h"
#include "exact_fixture.h"
#include "lib/log/log.h"

#define STEPS 60u
#define NAMES 12u
#define JOBS 6u
#define CPUS 4
#define MAX_NODES 16u
#define FIRST_PORT 8080
#define PORTS 2

/* ---- what the API says ---- */

struct tally {
    struct world *w;
    int cpus[MAX_NODES]; /* by the number of the node */
    int64_t ports[MAX_NODES][PORTS];
    int64_t crowded;                /* the most pods with one port on one node */
    int64_t here[MAX_NODES], close; /* of one Workload; the most where one may be */
    uint32_t fewer, slices, apart;
    int worst;
    uint32_t admitted, jobs;
    bool half; /* one has nodes for some of its pods */
};

static size_t number(const char *name) {
    return strtoul(name + 1, NULL, 10) % MAX_NODES; /* "n3" */
}

static void add(struct tally *t, const char *node, int cpus) {
    int *used = &t->cpus[number(node)];
    *used += cpus;
    t->worst = *used > t->worst ? *used : t->worst;
}

static void add_port(struct tally *t, const char *node, int64_t port, int64_t pods) {
    if (port < FIRST_PORT || port >= FIRST_PORT + PORTS)
        return;
    int64_t *used = &t->ports[number(node)][port - FIRST_PORT];
    *used += pods;
    t->crowded = *used > t->crowded ? *used : t->crowded;
}

/* One slice with one level: the hostname. Returns how many pods it is for. */
static int64_t count_slice(struct tally *t, yyjson_val *slice, int cpus, int64_t port) {
    yyjson_val *level = yyjson_arr_get_first(yyjson_obj_get(slice, "valuesPerLevel"));
    yyjson_val *roots = sl_json_at(level, "individual.roots"),
               *each = sl_json_at(slice, "podCounts.individual");
    int64_t n = sl_json_int(slice, "domainCount", 0), sum = 0,
            same = sl_json_int(slice, "podCounts.universal", 0);
    for (int64_t i = 0; i < n; i++) {
        char name[64];
        const char *root = yyjson_get_str(yyjson_arr_get(roots, (size_t)i));
        (void)snprintf(name, sizeof name, "%s%s%s", sl_json_str(level, "individual.prefix"),
                       root ? root : sl_json_str(level, "universal"),
                       sl_json_str(level, "individual.suffix"));
        int64_t pods = each ? yyjson_get_sint(yyjson_arr_get(each, (size_t)i)) : same;
        add(t, name, (int)pods * cpus);
        add_port(t, name, port, pods);
        t->here[number(name)] += pods;
        sum += pods;
    }
    return sum;
}

/* "w3" has handed its nodes over to "s3", though it may not say so yet. */
static bool is_replaced(struct tally *t, const char *name) {
    char path[200];
    sl_fmt(path, sizeof path, WORKLOADS "/s%s", name + 1);
    return *name == 'w' && sl_json_at(fakeapi_get(t->w->api, path), "status.admission");
}

static void count_workload(void *ctx, yyjson_val *o) {
    struct tally *t = ctx;
    yyjson_val *p = yyjson_arr_get_first(sl_json_at(o, "status.admission.podSetAssignments")),
               *slice;
    yyjson_val *pod = yyjson_arr_get_first(sl_json_at(
        yyjson_arr_get_first(sl_json_at(o, "spec.podSets")), "template.spec.containers"));
    int cpus = (int)strtol(sl_json_str(pod, "resources.requests.cpu"), NULL, 10);
    int64_t pods = 0,
            port = sl_json_int(yyjson_arr_get_first(yyjson_obj_get(pod, "ports")), "hostPort", 0);
    size_t i, n;
    if (!p || is_replaced(t, sl_json_str(o, "metadata.name")))
        return;
    memset(t->here, 0, sizeof t->here);
    yyjson_arr_foreach (sl_json_at(p, "topologyAssignment.slices"), i, n, slice)
        pods += count_slice(t, slice, cpus, port);
    bool apart = sl_json_at(yyjson_arr_get_first(sl_json_at(o, "spec.podSets")),
                            "template.spec.affinity") != NULL;
    for (uint32_t k = 0; k < MAX_NODES && apart; k++)
        t->close = t->here[k] > t->close ? t->here[k] : t->close;
    t->apart += apart && pods > 1;
    t->half |= pods != sl_json_int(p, "count", 0);
    t->fewer += pods < sl_json_int(yyjson_arr_get_first(sl_json_at(o, "spec.podSets")), "count", 0);
    t->slices += *sl_json_str(o, "metadata.name") == 's';
    t->admitted++;
}

static void count_job(void *ctx, yyjson_val *o) {
    const char *node = sl_json_str(o, "spec.nodeName"), *phase = sl_json_str(o, "status.phase");
    if (!*node || strcmp(phase, "Succeeded") == 0)
        return;
    add(ctx, node, 2);
    ((struct tally *)ctx)->jobs++;
}

static struct {
    int worst;
    uint32_t evicted, admitted, jobs, killed, together, ports, fewer, slices, reserved, apart;
} seen; /* in all histories: they are about something */

static void check(struct world *w, uint64_t seed) {
    struct tally t = {.w = w};
    (void)fakeapi_each(w->api, WORKLOADS, count_workload, &t);
    (void)fakeapi_each(w->api, PODS, count_job, &t);
    if (t.worst > CPUS)
        fail_msg("seed %llu: a node has %d cpus in use", (unsigned long long)seed, t.worst);
    if (t.crowded > 1)
        fail_msg("seed %llu: a host port is given to %d pods of a node", (unsigned long long)seed,
                 (int)t.crowded);
    if (t.close > 1)
        fail_msg("seed %llu: %d pods that have to be apart are on one node",
                 (unsigned long long)seed, (int)t.close);
    if (t.half)
        fail_msg("seed %llu: a workload has some of its nodes", (unsigned long long)seed);
    seen.worst = t.worst > seen.worst ? t.worst : seen.worst;
    seen.admitted += t.admitted;
    seen.jobs += t.jobs;
    seen.together += t.admitted && t.jobs;
    seen.ports += t.crowded > 0;
    seen.fewer += t.fewer;
    seen.slices += t.slices;
    seen.apart += t.apart;
}

/* ---- what happens ---- */

struct history {
    struct sl_prng p;
    bool alive[NAMES], sliced[NAMES];
    struct {
        int pods, cpu, port, seconds;
    } of[NAMES];
    bool job[JOBS], job_ended[JOBS];
    uint32_t nodes, client;
    uint32_t failed; /* the number of a node that is not ready; 0: none */
};

static uint32_t below(struct history *h, uint32_t n) {
    return (uint32_t)sl_prng_below(&h->p, n);
}

static void flux_pod(struct world *w, const char *name) {
    char text[1024];
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes'}},'spec':{'schedulingGates':["
           "{'name':'fluxqueue'}],'schedulerName':'FluxionScheduler','containers':[{'name':'c',"
           "'resources':{'requests':{'cpu':'2'}}}]}}",
           name);
    create(w, PODS, text);
}

static void act_job(struct world *w, struct history *h, uint32_t i) {
    char name[16];
    sl_fmt(name, sizeof name, "f%u", i);
    if (!h->job[i]) {
        flux_pod(w, name);
        h->job[i] = true;
    } else if (!h->job_ended[i] && *node_of(w, name)) {
        pod_phase(w, name, "Succeeded");
        h->job_ended[i] = true;
    }
}

static void act_node(struct world *w, struct history *h) {
    char name[16];
    if (h->failed) {
        sl_fmt(name, sizeof name, "n%u", h->failed);
        set_ready(w, name, true);
        h->failed = 0;
    } else if (h->nodes < 6 && below(h, 2)) {
        sl_fmt(name, sizeof name, "n%u", ++h->nodes);
        node(w, name, "r1");
    } else {
        h->failed = 1 + below(h, h->nodes);
        sl_fmt(name, sizeof name, "n%u", h->failed);
        set_ready(w, name, false);
    }
}

#define APART                                                                                      \
    "'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"           \
    "'labelSelector':{'matchLabels':{'app':'a'}},'topologyKey':'kubernetes.io/hostname'}]}},"

/* "w3", or the slice "s3" that follows it. */
static void make(struct world *w, const struct history *h, char kind, uint32_t i, int more,
                 int least, int priority) {
    char text[2048], follows[100] = "", min[32] = "", port[32] = "", most[64] = "";
    if (kind == 's')
        sl_fmt(follows, sizeof follows, ",'kueue.x-k8s.io/workload-slice-replacement-for':'ns/w%u'",
               i);
    if (least)
        sl_fmt(min, sizeof min, "'minCount':%d,", least);
    if (h->of[i].port)
        sl_fmt(port, sizeof port, "{'hostPort':%d}", h->of[i].port);
    if (h->of[i].seconds)
        sl_fmt(most, sizeof most, "'maximumExecutionTimeSeconds':%d,", h->of[i].seconds);
    sl_fmt(
        text, sizeof text,
        "{'metadata':{'name':'%c%u','annotations':{'kueue.x-k8s.io/workload-slice-name':'w%u'%s}"
        ",'labels':{'kueue.x-k8s.io/job-uid':'u'},'ownerReferences':[{'apiVersion':'x/v1',"
        "'kind':'X','name':'x','uid':'u'}]},'spec':{'active':true,%s'queueName':'q','priority':%d,"
        "'podSets':[{'name':'main','count':%d,%s'template':{'metadata':{'labels':{'app':'a'}},'"
        "spec':"
        "{%s'containers':[{'name':'c',"
        "'ports':[%s],'resources':{'requests':{'cpu':'%d'}}}]}}}]}}",
        kind, i, i, follows, most, priority, h->of[i].pods + more, min, i % 3 == 1 ? APART : "",
        port, h->of[i].cpu);
    create(w, WORKLOADS, text);
}

/* It ends, with the slice that follows it. */
static void end_workload(struct world *w, struct history *h, uint32_t i) {
    char name[16];
    sl_fmt(name, sizeof name, "s%u", i);
    if (h->sliced[i])
        finish(w, name);
    *name = 'w';
    finish(w, name);
    h->alive[i] = h->sliced[i] = false;
}

static void act_workload(struct world *w, struct history *h, uint32_t i) {
    static const int cpus[] = {1, 2, 4};
    static const int seconds[] = {0, 0, 5, 30, 10000, 20000};
    char name[16];
    sl_fmt(name, sizeof name, "w%u", i);
    if (h->alive[i] && !h->sliced[i] && !h->of[i].port && below(h, 3) == 0 &&
        is(w, name, "Admitted")) {
        make(w, h, 's', i, 1 + (int)below(h, 2), 0, 2);
        h->sliced[i] = true;
        return;
    }
    if (h->alive[i]) {
        end_workload(w, h, i);
        return;
    }
    h->of[i].pods = 1 + (int)below(h, 4);
    h->of[i].cpu = cpus[below(h, SL_LEN(cpus))];
    h->of[i].seconds = seconds[below(h, SL_LEN(seconds))];
    h->of[i].port = below(h, 3) == 0 ? FIRST_PORT + (int)below(h, PORTS) : 0;
    make(w, h, 'w', i, 0, below(h, 3) == 0 ? 1 : 0, (int)below(h, 3));
    h->alive[i] = true;
}

static void act(struct world *w, struct history *h) {
    if (below(h, 10) == 0)
        act_node(w, h);
    else if (below(h, 3) == 0)
        act_job(w, h, below(h, JOBS));
    else
        act_workload(w, h, below(h, NAMES));
    if (below(h, 25) == 0 && h->client < 2) { /* killed in the middle of everything */
        stop_graph(w, h->client++);
        restart(w, h->client);
        start_graph(w, h->client);
        seen.killed++;
    }
}

/* Evicted workloads stop. */
static bool leave(struct world *w, struct history *h) {
    bool any = false;
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[16], next[16];
        sl_fmt(name, sizeof name, "w%u", i);
        sl_fmt(next, sizeof next, "s%u", i);
        if (!h->alive[i] || !(is(w, name, "Evicted") || (h->sliced[i] && is(w, next, "Evicted"))))
            continue;
        end_workload(w, h, i);
        seen.evicted++;
        any = true;
    }
    return any;
}

static sl_time turn(struct world *w) {
    sl_fluxqueue_tick(w->q);
    sl_manager_tick(w->m);
    return sl_time_min(sl_time_min(fakeapi_next(w->api), sl_manager_next(w->m)),
                       sl_fluxqueue_next(w->q));
}

/* What is reserved for those that wait, a line for each. */
static void put_reserved(struct world *w, const struct history *h, struct sl_buf *out) {
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[16];
        sl_fmt(name, sizeof name, "w%u", i);
        const char *text = h->alive[i] && !is(w, name, "QuotaReserved")
                               ? strstr(why(w, name), "; nodes and quota are reserved")
                               : NULL;
        if (text)
            sl_buf_printf(out, "%s%s\n", name, text);
        seen.reserved += text != NULL;
    }
}

static void history(uint64_t seed) {
    struct world w;
    struct history h = {.nodes = 0};
    struct fakeapi_faults faults = {0};

    sl_prng_init(&h.p, seed);
    begin_empty(&w, "");
    create(&w, KUEUE "/resourceflavors", "{'metadata':{'name':'f'},'spec':{}}");
    cluster_queue(&w, "cq", EXACT, seed % 2 ? BY_PRIORITY : "");
    for (uint32_t i = 1; i <= 4; i++) {
        char name[16];
        sl_fmt(name, sizeof name, "n%u", ++h.nodes);
        node(&w, name, "r1");
    }
    fakeapi_some_faults(&h.p, 30, &faults);
    faults.clock_step = 0; /* or everybody has waited too long for his pods */
    fakeapi_set_faults(w.api, &faults);
    for (uint32_t i = 0; i < STEPS; i++) {
        act(&w, &h);
        if (sl_prng_one_in(&h.p, 3))
            (void)leave(&w, &h);
        sl_time until = fakeapi_now(w.api) + (sl_span)below(&h, 3000) * SL_MSEC;
        for (sl_time next; (next = turn(&w)) <= until;) {
            (void)fakeapi_step(w.api, next);
            check(&w, seed);
        }
        fakeapi_advance(w.api, until);
    }
    fakeapi_set_faults(w.api, NULL);
    for (uint32_t i = 0; i <= h.client; i++) { /* a stream that hangs is noticed late */
        fakeapi_cut(w.api, i);
        fakeapi_cut(w.api, FIRST_GRAPH + i);
    }
    do
        run(&w, 2 * SETTLE);
    while (leave(&w, &h));
    check(&w, seed);
    _cleanup_(sl_buf_done) struct sl_buf before = SL_BUF_SHORT(65536), after = SL_BUF_SHORT(65536);
    put_reserved(&w, &h, &before);
    restart_both(&w, h.client + 1);
    check(&w, seed);
    put_reserved(&w, &h, &after);
    if (strcmp(sl_buf_str(&before), sl_buf_str(&after)) != 0)
        fail_msg("seed %llu: before a restart\n%safter it\n%s", (unsigned long long)seed,
                 sl_buf_str(&before), sl_buf_str(&after));
    end_exact(&w);
}

static void test_histories(void **state) {
    (void)state;
    const char *more = getenv("SL_SEEDS");
    sl_log_set(SL_LOG_ERROR);
    unsigned long n = more ? strtoul(more, NULL, 10) / 10 : 0;
    for (uint64_t seed = 1; seed <= (n > 20 ? n : 20); seed++)
        history(seed);
    assert_int_equal(seen.worst, CPUS);
    assert_true(seen.evicted > 0 && seen.admitted > 0 && seen.jobs > 0 && seen.killed > 0 &&
                seen.together > 0 && seen.ports > 0 && seen.fewer > 0 && seen.slices > 0 &&
                seen.reserved > 0 && seen.apart > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_histories)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
