/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits, part by part: in random worlds every part of a line is the part of the whole, and the
 * line of a LocalQueue is what the ClusterQueue's has of it. And what a page of a long line costs.
 */
#include "engine_fixture.h"

#include <time.h>

#include "core/base/mem.h"
#include "core/base/prng.h"

#define MANY 400u
static const char *const queues[] = {"l", "m", "n", "o"};

struct line {
    struct sl_engine_waiting v[MANY];
    uint32_t n;
};

static void random_workload(struct fx *x, struct sl_prng *p, uint32_t i) {
    char name[24];
    (void)snprintf(name, sizeof name, "w%04u", (unsigned)sl_prng_below(p, 10000));
    struct sl_workload_spec s = wl_spec(name, (int32_t)sl_prng_below(p, 3));
    s.queue = queues[sl_prng_below(p, SL_LEN(queues))];
    s.created = (1 + (sl_time)sl_prng_below(p, 20)) * SL_SEC;
    sl_wl_id id = wl_apply(x, s, 1 + (int32_t)sl_prng_below(p, 6), "gpu", UNITS(1));
    if (i % 16 == 3 && phase(x, id) != SL_PHASE_RESERVED && phase(x, id) != SL_PHASE_ADMITTED) {
        struct sl_fact f = {.kind = SL_FACT_PAST, .wl = id, .at = 50 * SL_SEC};
        f.past.requeues = 1;
        f.past.requeue_at = 1000 * SL_SEC;
        apply_fact(x, f);
    }
}

/* Some hold quota, some wait, some are parked; one may wait for its victims. */
static void random_world(struct fx *x, struct sl_prng *p) {
    struct simple s;
    struct sl_cq_spec q = cq_spec(&s, "q", "", "f", "gpu", 8);
    struct sl_resource_weight weight = {"gpu", SL_WEIGHT_ONE};
    bool afs = sl_prng_one_in(p, 2);
    start_engine(x, NULL);
    config(x, (struct sl_config){.gates = UINT32_MAX,
                                 .afs = afs,
                                 .afs_half_life = SL_HOUR,
                                 .afs_sampling = SL_SEC,
                                 .afs_weights = &weight,
                                 .n_afs_weights = 1});
    flavor(x, "f");
    q.usage_based = afs;
    q.strategy = sl_prng_one_in(p, 3) ? SL_STRICT_FIFO : SL_BEST_EFFORT_FIFO;
    cq_apply(x, q);
    for (size_t i = 0; i < SL_LEN(queues); i++)
        lq(x, queues[i], "q");
    uint32_t n = 20 + (uint32_t)sl_prng_below(p, 200);
    for (uint32_t i = 0; i < n; i++) {
        random_workload(x, p, i);
        if (sl_prng_one_in(p, 8))
            (void)cycle(x, (60 + i) * SL_SEC);
    }
    (void)cycle(x, 400 * SL_SEC);
}

static void check_whole(struct fx *x, const struct line *all) {
    struct sl_engine_cq_view c;
    uint32_t seen[SL_LEN(queues)] = {0};
    assert_true(sl_engine_cq(x->e, "q", &c));
    assert_int_equal(all->n, c.heap + c.asleep);
    for (uint32_t i = 0; i < all->n; i++) {
        struct sl_engine_wl_view v;
        size_t k = 0;
        assert_true(sl_engine_workload(x->e, all->v[i].wl, &v));
        assert_true(v.phase == SL_PHASE_HEAP || v.phase == SL_PHASE_ASLEEP);
        while (strcmp(queues[k], v.queue) != 0)
            k++;
        assert_int_equal(all->v[i].in_cq, i);
        assert_int_equal(all->v[i].in_lq, seen[k]++);
        for (uint32_t j = 0; j < i; j++)
            assert_true(all->v[j].wl.v != all->v[i].wl.v);
    }
}

static void check_parts(struct fx *x, const char *queue, const struct line *all,
                        struct sl_prng *p) {
    static struct line part;
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t from = (uint32_t)sl_prng_below(p, all->n + 3);
        uint32_t most = 1 + (uint32_t)sl_prng_below(p, all->n + 3);
        uint32_t left = from < all->n ? all->n - from : 0;
        part.n = sl_engine_queue_order(x->e, queue ? "ns" : NULL, queue ? queue : "q", from, part.v,
                                       most);
        assert_int_equal(part.n, most < left ? most : left);
        if (part.n)
            assert_memory_equal(part.v, all->v + from, part.n * sizeof *part.v);
    }
}

static void test_parts(void **state) {
    static struct line all, mine, part;
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct fx x;
        struct sl_prng p;
        sl_prng_init(&p, seed);
        random_world(&x, &p);
        all.n = sl_engine_queue_order(x.e, NULL, "q", 0, all.v, MANY);
        check_whole(&x, &all);
        check_parts(&x, NULL, &all, &p);
        for (size_t k = 0; k < SL_LEN(queues); k++) {
            mine.n = 0;
            for (uint32_t i = 0; i < all.n; i++) {
                struct sl_engine_wl_view v;
                assert_true(sl_engine_workload(x.e, all.v[i].wl, &v));
                if (strcmp(v.queue, queues[k]) == 0)
                    mine.v[mine.n++] = all.v[i];
            }
            part.n = sl_engine_queue_order(x.e, "ns", queues[k], 0, part.v, MANY);
            assert_int_equal(part.n, mine.n);
            if (mine.n)
                assert_memory_equal(part.v, mine.v, mine.n * sizeof *mine.v);
            check_parts(&x, queues[k], &mine, &p);
        }
        stop_engine(&x);
    }
}

/* Whoever was refused speaks for all that are alike, in whichever LocalQueue. */
static void test_alike(void **state) {
    struct sl_engine_waiting v[8];
    struct fx x;
    (void)state;
    small(&x, NULL);
    config(&x, (struct sl_config){.gates = UINT32_MAX});
    lq(&x, "m", "q");
    (void)wl(&x, "0", 8); /* holds what the others want */
    sl_wl_id first = wl(&x, "b", 4);
    (void)cycle(&x, 10 * SL_SEC);
    (void)wl(&x, "c", 4);
    struct sl_workload_spec s = wl_spec("a", 0); /* stands before b, and was never looked at */
    s.queue = "m";
    sl_wl_id before = wl_apply(&x, s, 4, "gpu", UNITS(1));
    (void)wl(&x, "d", 5);
    assert_int_equal(sl_engine_queue_order(x.e, NULL, "q", 0, v, 8), 4);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(v[i].refused_wl.v, first.v);
        assert_int_equal(v[i].first_alike.v, before.v);
    }
    assert_int_equal(v[3].refused_wl.v, 0);
    assert_int_equal(v[3].first_alike.v, v[3].wl.v);
    stop_engine(&x);
}

static void test_nowhere(void **state) {
    struct sl_engine_waiting v[2];
    struct fx x;
    (void)state;
    small(&x, NULL);
    (void)wl(&x, "a", 11);
    assert_int_equal(sl_engine_queue_order(x.e, NULL, "nowhere", 0, v, 2), 0);
    assert_int_equal(sl_engine_queue_order(x.e, "ns", "nowhere", 0, v, 2), 0);
    assert_int_equal(sl_engine_queue_order(x.e, "other", "l", 0, v, 2), 0);
    assert_int_equal(sl_engine_queue_order(x.e, "ns", "l", UINT32_MAX, v, 2), 0);
    assert_int_equal(sl_engine_queue_order(x.e, "ns", "l", 0, v, 0), 0);
    assert_int_equal(sl_engine_queue_order(x.e, "ns", "l", 0, v, 2), 1);
    stop_engine(&x);
}

/* ---- cost ---- */

static double millis(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* A page of 1000 of 100,000 that wait, of few kinds or all of their own. The bound is far above
 * what it takes (docs/visibility.md): it is there to catch whatever walks or sorts it all. */
static void test_cost(void **state) {
    enum { N = 100000, PAGE = 1000 };
    static struct sl_engine_waiting v[PAGE];
    static const uint32_t kinds[] = {4, 1000, N};
    (void)state;
    for (size_t k = 0; k < SL_LEN(kinds); k++) {
        struct fx x;
        small(&x, NULL);
        config(&x, (struct sl_config){.gates = UINT32_MAX});
        lq(&x, "m", "q");
        for (uint32_t i = 0; i < N; i++) {
            char name[24];
            (void)snprintf(name, sizeof name, "w%u", i * 7919 % N);
            struct sl_workload_spec s = wl_spec(name, (int32_t)(i % 3));
            s.queue = i % 2 ? "l" : "m";
            s.created = (sl_time)(i % 5000) * SL_SEC;
            (void)wl_apply(&x, s, (int32_t)(11 + i % kinds[k]), "gpu", UNITS(1));
        }
        double worst = 0, sum = 0;
        uint32_t n = 0;
        for (uint32_t lqs = 0; lqs < 2; lqs++)
            for (uint32_t from = 0; from + PAGE <= N / 2; from += N / 10, n++) {
                double t0 = millis();
                assert_int_equal(
                    sl_engine_queue_order(x.e, lqs ? "ns" : NULL, lqs ? "l" : "q", from, v, PAGE),
                    PAGE);
                double took = millis() - t0;
                sum += took;
                worst = took > worst ? took : worst;
            }
        printf("# %u kinds of work: %.2f ms a page, %.2f ms the worst\n", kinds[k], sum / n, worst);
        assert_true(worst < 1000);
        sl_effects_done(&x.out);
        sl_engine_freep(&x.e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_alike),
        cmocka_unit_test(test_nowhere),
        cmocka_unit_test(test_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
