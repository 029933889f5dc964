/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine costs, one JSON line per case:
 *
 *     {"bench":"engine/flat","value":612345.6,"unit":"admissions/s","ratio":3.21}
 *
 * Every case runs five times and prints the median. 'ratio' is the time per operation over the time
 * per operation of a calibration loop of the same run: push and pop as many random keys on the
 * engine's own kind of waiting line (core/base/collection/ordset.h), and nothing else. So it holds
 * on a noisy machine. engine/memory compares bytes instead of time, engine/depth compares the two
 * depths.
 *
 *     bench_engine              all cases
 *     bench_engine flat depth   those whose name contains one of the words
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/collection/ordset.h"
#include "core/base/prng.h"
#include "core/engine/engine.h"

#define RUNS 5
#define NOW0 (INT64_C(1000000) * SL_SEC)

struct sample {
    double value, ratio;
};

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double bytes_in_use(void) {
    struct mallinfo2 m = mallinfo2();
    return (double)m.uordblks + (double)m.hblkhd;
}

/* ---- calibration ---- */

static int tie_by_id(const void *ctx, uint32_t a, uint32_t b) {
    (void)ctx;
    return (a > b) - (a < b);
}

/* Seconds per key for n pushes and n pops. */
static double calibrate(uint32_t n, uint64_t seed) {
    struct sl_ordset s = {0};
    struct sl_prng p;
    sl_prng_init(&p, seed);
    uint32_t repeat = n >= 100000 ? 1 : 100000 / n;
    double total = 0;
    for (uint32_t r = 0; r < repeat; r++) {
        double t0 = seconds();
        for (uint32_t i = 0; i < n; i++) {
            struct sl_ordkey k = {.at = (int64_t)(sl_prng_next(&p) >> 1), .id = i};
            sl_ordset_add(&s, &k, tie_by_id, NULL);
        }
        int64_t last = INT64_MIN;
        for (uint32_t i = 0; i < n; i++) {
            struct sl_ordkey k = sl_ordset_pop(&s);
            sl_assert(k.at >= last);
            last = k.at;
        }
        total += seconds() - t0;
    }
    sl_ordset_done(&s);
    return total / repeat / n;
}

/* Bytes per key of a line of n keys. */
static double calibrate_bytes(uint32_t n, uint64_t seed) {
    struct sl_ordset s = {0};
    struct sl_prng p;
    sl_prng_init(&p, seed);
    double before = bytes_in_use();
    for (uint32_t i = 0; i < n; i++) {
        struct sl_ordkey k = {.at = (int64_t)(sl_prng_next(&p) >> 1), .id = i};
        sl_ordset_add(&s, &k, tie_by_id, NULL);
    }
    double bytes = (bytes_in_use() - before) / n;
    sl_ordset_done(&s);
    return bytes;
}

/* ---- building ---- */

static sl_wl_id must_apply(struct sl_engine *e, const struct sl_fact *f) {
    struct sl_err err = {0};
    sl_wl_id id = f->wl;
    if (sl_engine_apply(e, f, &id, &err) < 0) {
        fprintf(stderr, "bench_engine: %s: %s\n", sl_fact_name(f->kind), err.text);
        exit(1);
    }
    return id;
}

static void add_config(struct sl_engine *e, bool fair) {
    struct sl_fact f = {.kind = SL_FACT_CONFIG, .at = NOW0};
    f.config = sl_config_default;
    f.config.fair_sharing = fair;
    must_apply(e, &f);
    f = (struct sl_fact){.kind = SL_FACT_FLAVOR, .at = NOW0};
    f.flavor.name = "default";
    must_apply(e, &f);
    f = (struct sl_fact){.kind = SL_FACT_NAMESPACE, .at = NOW0};
    f.ns.name = "ns";
    must_apply(e, &f);
}

static void add_cohort(struct sl_engine *e, const char *name, const char *parent) {
    struct sl_fact f = {.kind = SL_FACT_COHORT, .at = NOW0};
    f.cohort.name = name;
    f.cohort.parent = parent;
    f.cohort.weight_nano = SL_WEIGHT_ONE;
    must_apply(e, &f);
}

/* A ClusterQueue with so many cores, and the LocalQueue ns/name. */
static void add_queue(struct sl_engine *e, const char *name, const char *cohort, int64_t cores,
                      bool preempts) {
    static const char *const resources[] = {"cpu"};
    struct sl_quota quota = {cores * 1000, SL_AMOUNT_NONE, SL_AMOUNT_NONE};
    struct sl_flavor_quotas flavor = {"default", &quota};
    struct sl_group_spec group = {resources, 1, &flavor, 1};
    struct sl_fact f = {.kind = SL_FACT_CLUSTER_QUEUE, .at = NOW0};
    f.cq = (struct sl_cq_spec){
        .name = name,
        .cohort = cohort,
        .groups = {&group, 1},
        .within = preempts ? SL_WITHIN_LOWER : SL_WITHIN_NEVER,
        .reclaim = preempts ? SL_RECLAIM_ANY : SL_RECLAIM_NEVER,
        .when_can_preempt = SL_TRY_NEXT_FLAVOR,
        .weight_nano = SL_WEIGHT_ONE,
    };
    must_apply(e, &f);
    f = (struct sl_fact){.kind = SL_FACT_LOCAL_QUEUE, .at = NOW0};
    f.lq = (struct sl_lq_spec){"ns", name, name, SL_STOP_NONE, SL_WEIGHT_ONE};
    must_apply(e, &f);
}

static sl_shape_id make_shape(struct sl_engine *e, int64_t cores) {
    struct sl_err err = {0};
    struct sl_request request = {"cpu", (sl_quantity)cores * SL_NANO};
    struct sl_podset_spec podset = {
        .name = "main", .count = 1, .requests = &request, .n_requests = 1, .group = ""};
    sl_shape_id id;
    if (sl_engine_shape(e, &podset, 1, &id, &err) < 0) {
        fprintf(stderr, "bench_engine: shape: %s\n", err.text);
        exit(1);
    }
    return id;
}

static sl_wl_id add_workload(struct sl_engine *e, uint32_t number, const char *queue,
                             sl_shape_id shape, int32_t priority, sl_time created) {
    char name[24], uid[24];
    (void)snprintf(name, sizeof(name), "job-%u", number);
    (void)snprintf(uid, sizeof(uid), "%08x", number * UINT32_C(2654435761));
    struct sl_fact f = {.kind = SL_FACT_WORKLOAD, .at = NOW0};
    f.workload = (struct sl_workload_spec){
        .ns = "ns",
        .name = name,
        .uid = uid,
        .queue = queue,
        .shape = shape,
        .priority = priority,
        .created = created,
        .gated_by = "",
    };
    return must_apply(e, &f);
}

/* One queue with 'slots' cores and n workloads of a core each, in shuffled order of creation. */
static struct sl_engine *flat_engine(uint32_t n, int64_t slots, uint64_t seed) {
    struct sl_engine *e = sl_engine_new(NULL);
    add_config(e, false);
    add_queue(e, "cq", "", slots, false);
    sl_shape_id shape = make_shape(e, 1);
    struct sl_prng p;
    sl_prng_init(&p, seed);
    for (uint32_t i = 0; i < n; i++) {
        sl_time created = NOW0 - sl_prng_range(&p, 0, 1000 * SL_SEC);
        add_workload(e, i, "cq", shape, (int32_t)sl_prng_below(&p, 4) * 100, created);
    }
    sl_engine_shape_release(e, shape);
    return e;
}

/* Admits and finishes until nobody is left; returns seconds. */
static double drain(struct sl_engine *e, uint32_t expected) {
    struct sl_effects fx;
    sl_effects_init(&fx);
    sl_time now = NOW0;
    uint32_t admitted = 0;
    double t0 = seconds();
    for (;;) {
        now += SL_MSEC;
        sl_effects_clear(&fx);
        sl_engine_cycle(e, now, &fx);
        uint32_t before = admitted;
        for (uint32_t i = 0; i < fx.v.n; i++) {
            const struct sl_effect *x = &fx.v.v[i];
            if (x->kind != SL_EFFECT_RESERVE || !x->reserve.admitted)
                continue;
            struct sl_fact f = {.kind = SL_FACT_FINISHED, .at = now, .wl = x->wl};
            must_apply(e, &f);
            admitted++;
        }
        if (admitted == before)
            break;
    }
    double t = seconds() - t0;
    sl_effects_done(&fx);
    if (admitted != expected) {
        fprintf(stderr, "bench_engine: %u admitted, expected %u\n", admitted, expected);
        exit(1);
    }
    return t;
}

/* ---- cases ---- */

static struct sample flat(uint64_t seed) {
    const uint32_t n = 1000000;
    double key = calibrate(n, seed);
    struct sl_engine *e = flat_engine(n, 1000, seed);
    double t = drain(e, n);
    sl_engine_free(e);
    return (struct sample){n / t, t / n / key};
}

/* 1,000 queues under 100 cohorts under 10 under one; every fourth queue has no quota of its own. */
static struct sample tree_fair(uint64_t seed) {
    const uint32_t queues = 1000, each = 100;
    double key = calibrate(queues * each, seed);
    struct sl_engine *e = sl_engine_new(NULL);
    struct sl_prng p;
    sl_prng_init(&p, seed);
    add_config(e, true);
    add_cohort(e, "root", "");
    char name[32], parent[32];
    for (uint32_t i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof(name), "mid-%u", i);
        add_cohort(e, name, "root");
    }
    for (uint32_t i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof(name), "low-%u", i);
        (void)snprintf(parent, sizeof(parent), "mid-%u", i / 10);
        add_cohort(e, name, parent);
    }
    sl_shape_id shape = make_shape(e, 1);
    for (uint32_t q = 0; q < queues; q++) {
        (void)snprintf(name, sizeof(name), "cq-%u", q);
        (void)snprintf(parent, sizeof(parent), "low-%u", q / 10);
        add_queue(e, name, parent, (int64_t)(q % 4) * 2, false);
        for (uint32_t i = 0; i < each; i++)
            add_workload(e, q * each + i, name, shape, 0,
                         NOW0 - sl_prng_range(&p, 0, 1000 * SL_SEC));
    }
    double t = drain(e, queues * each);
    sl_engine_shape_release(e, shape);
    sl_engine_free(e);
    uint32_t n = queues * each;
    return (struct sample){n / t, t / n / key};
}

static struct sample depth(uint64_t seed) {
    const uint32_t deep = 1000000, shallow = 1000, repeat = 200;
    double key_deep = calibrate(deep, seed), key_shallow = calibrate(shallow, seed);
    struct sl_engine *e = flat_engine(deep, 1000, seed);
    double t_deep = drain(e, deep) / deep;
    sl_engine_free(e);
    double t_shallow = 0;
    for (uint32_t i = 0; i < repeat; i++) {
        e = flat_engine(shallow, 1000, seed + i);
        t_shallow += drain(e, shallow) / shallow;
        sl_engine_free(e);
    }
    double x = t_deep / (t_shallow / repeat);
    return (struct sample){x, x / (key_deep / key_shallow)};
}

/* 20 queues run 100 workloads each and borrow 10 of them from one that now wants its 200 back. */
static struct sample preempt(uint64_t seed) {
    const uint32_t queues = 20, each = 100, victims = 200;
    double key = calibrate(queues * each, seed);
    struct sl_engine *e = sl_engine_new(NULL);
    struct sl_prng p;
    sl_prng_init(&p, seed);
    add_config(e, false);
    add_queue(e, "owner", "cohort", victims, true);
    sl_shape_id small = make_shape(e, 1), big = make_shape(e, victims);
    for (uint32_t q = 0; q < queues; q++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "cq-%u", q);
        add_queue(e, name, "cohort", each - victims / queues, true);
        for (uint32_t i = 0; i < each; i++)
            add_workload(e, q * each + i, name, small, (int32_t)sl_prng_below(&p, 100),
                         NOW0 - sl_prng_range(&p, 0, 1000 * SL_SEC));
    }
    struct sl_effects fx;
    sl_effects_init(&fx);
    sl_engine_cycle(e, NOW0, &fx);
    struct sl_engine_stats stats;
    sl_engine_stats(e, &stats);
    sl_assert(stats.reserved == queues * each);
    sl_effects_clear(&fx);

    double t0 = seconds();
    add_workload(e, queues * each, "owner", big, 0, NOW0);
    sl_engine_cycle(e, NOW0 + SL_SEC, &fx);
    double t = seconds() - t0;

    uint32_t evicted = 0;
    for (uint32_t i = 0; i < fx.v.n; i++)
        evicted += fx.v.v[i].kind == SL_EFFECT_EVICT;
    if (evicted != victims) {
        fprintf(stderr, "bench_engine: preempt: %u victims, expected %u\n", evicted, victims);
        exit(1);
    }
    sl_effects_done(&fx);
    sl_engine_shape_release(e, small);
    sl_engine_shape_release(e, big);
    sl_engine_free(e);
    return (struct sample){t * 1e3, t / (queues * each) / key};
}

static struct sample memory(uint64_t seed) {
    const uint32_t n = 1000000;
    double key = calibrate_bytes(n, seed);
    struct sl_engine *e = flat_engine(1, 1000, seed);
    double before = bytes_in_use();
    sl_shape_id shape = make_shape(e, 1);
    struct sl_prng p;
    sl_prng_init(&p, seed);
    for (uint32_t i = 1; i <= n; i++) {
        sl_time created = NOW0 - sl_prng_range(&p, 0, 1000 * SL_SEC);
        add_workload(e, i, "cq", shape, (int32_t)sl_prng_below(&p, 4) * 100, created);
    }
    double bytes = (bytes_in_use() - before) / n;
    sl_engine_shape_release(e, shape);
    sl_engine_free(e);
    return (struct sample){bytes, bytes / key};
}

/* 10 queues of a full cohort with 10,000 waiting in each. */
static struct sample explain(uint64_t seed) {
    const uint32_t queues = 10, each = 10000, asked = 200;
    double key = calibrate(queues * each, seed);
    struct sl_engine *e = sl_engine_new(NULL);
    struct sl_prng p;
    sl_prng_init(&p, seed);
    add_config(e, false);
    sl_shape_id shapes[4];
    for (uint32_t i = 0; i < 4; i++)
        shapes[i] = make_shape(e, 1 + i);
    const uint32_t all = queues * each;
    sl_wl_id *ids = sl_alloc0(all, sizeof(*ids));
    for (uint32_t q = 0; q < queues; q++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "cq-%u", q);
        add_queue(e, name, "cohort", 20, true);
        for (uint32_t i = 0; i < each; i++)
            ids[q * each + i] = add_workload(e, q * each + i, name, shapes[sl_prng_below(&p, 4)],
                                             (int32_t)sl_prng_below(&p, 4) * 100,
                                             NOW0 - sl_prng_range(&p, 0, 1000 * SL_SEC));
    }
    struct sl_effects fx;
    sl_effects_init(&fx);
    sl_engine_cycle(e, NOW0, &fx);
    sl_effects_done(&fx);
    struct sl_verdict v;
    struct sl_err err;
    sl_verdict_init(&v);
    double t = 0;
    for (uint32_t i = 0; i < asked; i++) {
        sl_wl_id id = ids[sl_prng_below(&p, all)];
        double t0 = seconds();
        sl_verdict_clear(&v);
        if (sl_engine_explain(e, NOW0 + SL_SEC, id, &v, &err) < 0) {
            fprintf(stderr, "bench_engine: explain: %s\n", err.text);
            exit(1);
        }
        t += seconds() - t0;
    }
    sl_verdict_done(&v);
    for (uint32_t i = 0; i < 4; i++)
        sl_engine_shape_release(e, shapes[i]);
    sl_freep(&ids);
    sl_engine_free(e);
    return (struct sample){t / asked * 1e6, t / asked / key};
}

/* What the statuses of a queue with 10,000 running workloads are written from. */
static struct sample status(uint64_t seed) {
    const uint32_t n = 10000, asked = 1000;
    double key = calibrate(n, seed);
    struct sl_engine *e = flat_engine(n, n, seed);
    struct sl_effects fx;
    sl_effects_init(&fx);
    sl_engine_cycle(e, NOW0, &fx);
    sl_effects_done(&fx);
    double t0 = seconds();
    for (uint32_t i = 0; i < asked; i++) {
        struct sl_engine_lq_view lq;
        struct sl_engine_cell_view cell;
        sl_amount reserved, admitted;
        (void)sl_engine_lq(e, "ns", "cq", &lq);
        sl_engine_lq_usage(e, "ns", "cq", "default", "cpu", &reserved, &admitted);
        (void)sl_engine_cell(e, false, "cq", "default", "cpu", &cell);
        sl_assert(lq.admitted == n && admitted == reserved && cell.admitted_usage == admitted);
    }
    double t = (seconds() - t0) / asked;
    sl_engine_free(e);
    return (struct sample){t * 1e6, t / key};
}

/* ---- the table ---- */

static const struct {
    const char *name, *unit;
    struct sample (*run)(uint64_t seed);
} cases[] = {
    {"engine/flat", "admissions/s", flat}, {"engine/tree-fair", "admissions/s", tree_fair},
    {"engine/depth", "x", depth},          {"engine/preempt", "ms", preempt},
    {"engine/memory", "bytes", memory},    {"engine/explain", "us", explain},
    {"engine/status", "us", status},
};

static int by_value(const void *a, const void *b) {
    const struct sample *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

static int by_ratio(const void *a, const void *b) {
    const struct sample *x = a, *y = b;
    return (x->ratio > y->ratio) - (x->ratio < y->ratio);
}

int main(int argc, char **argv) {
    for (size_t c = 0; c < SL_LEN(cases); c++) {
        bool wanted = argc < 2;
        for (int i = 1; i < argc; i++)
            wanted |= strstr(cases[c].name, argv[i]) != NULL;
        if (!wanted)
            continue;
        struct sample runs[RUNS];
        for (uint64_t i = 0; i < RUNS; i++)
            runs[i] = cases[c].run(i + 1);
        qsort(runs, RUNS, sizeof(runs[0]), by_value);
        double value = runs[RUNS / 2].value;
        qsort(runs, RUNS, sizeof(runs[0]), by_ratio);
        printf("{\"bench\":\"%s\",\"value\":%.3f,\"unit\":\"%s\",\"ratio\":%.3f}\n", cases[c].name,
               value, cases[c].unit, runs[RUNS / 2].ratio);
        fflush(stdout);
    }
    return 0;
}
