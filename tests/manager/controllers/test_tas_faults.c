/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topologies while the API misbehaves: workloads come and go, nodes join, pods of others stand
 * around, requests are lost, late or refused, streams end. Whatever the API says at any moment, no
 * node holds more than it has; and in the end whoever starts from the API knows the same.
 */
#include "core/base/prng.h"
#include "lib/log/log.h"
#include "topology_fixture.h"

#define STEPS 60u
#define NAMES 12u
#define CPUS 4

/* ---- no node holds more than it has ---- */

struct tally {
    int cpus[16]; /* by the number of the node */
    int worst;
};

/* "n3": the number of a node. */
static uint32_t node_number(const char *node) {
    return (uint32_t)strtoul(node + 1, NULL, 10) % 16;
}

/* One slice with one level: the hostname. */
static void count_slice(struct tally *t, yyjson_val *slice, int cpus) {
    yyjson_val *level = yyjson_arr_get_first(yyjson_obj_get(slice, "valuesPerLevel"));
    yyjson_val *roots = sl_json_at(level, "individual.roots"),
               *each = sl_json_at(slice, "podCounts.individual");
    int64_t n = sl_json_int(slice, "domainCount", 0),
            same = sl_json_int(slice, "podCounts.universal", 0);
    for (int64_t i = 0; i < n; i++) {
        char name[64];
        const char *root = yyjson_get_str(yyjson_arr_get(roots, (size_t)i));
        (void)snprintf(name, sizeof name, "%s%s%s", sl_json_str(level, "individual.prefix"),
                       root ? root : sl_json_str(level, "universal"),
                       sl_json_str(level, "individual.suffix"));
        int64_t pods = each ? yyjson_get_sint(yyjson_arr_get(each, (size_t)i)) : same;
        int *used = &t->cpus[node_number(name)];
        *used += (int)pods * cpus;
        t->worst = *used > t->worst ? *used : t->worst;
    }
}

static void count_workload(void *ctx, yyjson_val *o) {
    yyjson_val *p = yyjson_arr_get_first(sl_json_at(o, "status.admission.podSetAssignments")),
               *slice;
    yyjson_val *pod = yyjson_arr_get_first(sl_json_at(
        yyjson_arr_get_first(sl_json_at(o, "spec.podSets")), "template.spec.containers"));
    int cpus = (int)strtol(sl_json_str(pod, "resources.requests.cpu"), NULL, 10);
    size_t i, n;
    yyjson_arr_foreach (sl_json_at(p, "topologyAssignment.slices"), i, n, slice)
        count_slice(ctx, slice, cpus);
}

static struct {
    int worst;
    uint32_t evicted;
} seen; /* in all histories: they are about something */

static void check(struct world *w, uint64_t seed) {
    struct tally t = {{0}, 0};
    (void)fakeapi_each(w->api, WORKLOADS, count_workload, &t);
    if (t.worst > CPUS)
        fail_msg("seed %llu: a node has %d cpus in use", (unsigned long long)seed, t.worst);
    seen.worst = t.worst > seen.worst ? t.worst : seen.worst;
}

/* ---- what happens ---- */

static void act(struct world *w, struct sl_prng *p, bool alive[NAMES], uint32_t *nodes) {
    static const char *const asks[] = {RACK, ANYWHERE, ",'preferred':'rack'", ""};
    static const char *const cpus[] = {"1", "2", "4"};
    uint32_t i = (uint32_t)sl_prng_below(p, NAMES);
    char name[16], rack[16];
    (void)snprintf(name, sizeof name, "w%u", i);
    if (sl_prng_below(p, 20) == 0 && *nodes < 8) {
        (void)snprintf(name, sizeof name, "n%u", ++*nodes);
        (void)snprintf(rack, sizeof rack, "r%u", *nodes % 3);
        node(w, name, rack);
    } else if (alive[i]) {
        finish(w, name);
        alive[i] = false;
    } else {
        workload(w, name, 1 + (int)sl_prng_below(p, 4), cpus[sl_prng_below(p, SL_LEN(cpus))],
                 asks[sl_prng_below(p, SL_LEN(asks))], "");
        set_priority(w, name, (int)sl_prng_below(p, 3));
        alive[i] = true;
    }
}

/* Evicted workloads stop. */
static bool leave(struct world *w, bool alive[NAMES]) {
    bool any = false;
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "w%u", i);
        if (!alive[i] || !is(w, name, "Evicted"))
            continue;
        finish(w, name);
        seen.evicted++;
        alive[i] = false;
        any = true;
    }
    return any;
}

static void history(uint64_t seed) {
    struct world w;
    struct sl_prng p;
    struct fakeapi_faults faults = {0};
    bool alive[NAMES] = {0};
    uint32_t nodes = 4;

    sl_prng_init(&p, seed);
    begin(&w, seed);
    topology(&w);
    if (seed % 2)
        patch(&w, KUEUE "/clusterqueues/cq",
              "{'spec':{'preemption':{'withinClusterQueue':'LowerPriority'}}}");
    fakeapi_some_faults(&p, 30, &faults);
    faults.clock_step = 0; /* or everybody has waited too long for his pods */
    fakeapi_set_faults(w.api, &faults);
    for (uint32_t i = 0; i < STEPS; i++) {
        act(&w, &p, alive, &nodes);
        if (sl_prng_one_in(&p, 3))
            (void)leave(&w, alive);
        sl_time until = fakeapi_now(w.api) + (sl_span)sl_prng_below(&p, 3000) * SL_MSEC;
        for (;;) {
            sl_manager_tick(w.m);
            sl_time a = fakeapi_next(w.api), b = sl_manager_next(w.m), next = a < b ? a : b;
            if (next > until)
                break;
            (void)fakeapi_step(w.api, next);
            check(&w, seed);
        }
        fakeapi_advance(w.api, until);
    }
    fakeapi_set_faults(w.api, NULL);
    fakeapi_cut(w.api, 0); /* a stream that hangs is noticed late */
    do
        run(&w, 2 * SETTLE);
    while (leave(&w, alive));
    check(&w, seed);
    restart_alike(&w, 1);
    end(&w);
}

static void test_histories(void **state) {
    (void)state;
    const char *more = getenv("SL_SEEDS");
    sl_log_set(SL_LOG_ERROR);
    unsigned long n = more ? strtoul(more, NULL, 10) / 10 : 0;
    for (uint64_t seed = 1; seed <= (n > 20 ? n : 20); seed++)
        history(seed);
    assert_int_equal(seen.worst, CPUS);
    assert_true(seen.evicted > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_histories)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
