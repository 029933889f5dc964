/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues over the matcher. 1,000 nodes of 16 cores; 2,000 jobs of 1 to 64 nodes, half of them with
 * all cores, arrive two at a time; every second one ends before it was planned to. Told is the time
 * of one turn, of which there is one per arrival and per end, and how often the matcher is asked in
 * it.
 *
 * {"bench":"graph/queue-easy","value":35.0,"unit":"us"}
 * {"bench":"graph/queue-easy-asked","value":2.1,"unit":"tries"}
 */
#include <time.h>

#include "../tests/core/graph/queue_fixture.h"
#include "core/base/collection/heap.h"
#include "core/base/prng.h"

#define JOBS 2000u

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct world {
    struct sl_match *m;
    struct sl_queues *q;
    int64_t ends[JOBS];
    uint32_t places[JOBS], lasts[JOBS]; /* how long jobs run */
    struct sl_heap running;
    int64_t ns, turns;
};

static bool ends_first(const void *ctx, uint32_t a, uint32_t b) {
    const struct world *w = ctx;
    return w->ends[a] != w->ends[b] ? w->ends[a] < w->ends[b] : a < b;
}

static uint32_t *place(void *ctx, uint32_t i) {
    struct world *w = ctx;
    return &w->places[i];
}

static void turn(struct world *w, int64_t now) {
    sl_decisions d = {0};
    int64_t t0 = now_ns();

    sl_queues_run(w->q, now, &d);
    w->ns += now_ns() - t0;
    w->turns++;
    for (uint32_t i = 0; i < d.n; i++)
        if (d.v[i].kind == SL_DECIDED_START) {
            uint32_t j = (uint32_t)d.v[i].jobid;
            w->ends[j] = now + w->lasts[j];
            sl_heap_fix(&w->running, j);
        }
    sl_vec_free(&d);
}

static void arrive(struct world *w, struct sl_prng *r, uint32_t id, int64_t now) {
    struct want want = {.nodes = 1 + (uint32_t)sl_prng_below(r, 8), .duration = 0};

    if (sl_prng_one_in(r, 8))
        want.nodes *= 8;
    want.cores = sl_prng_one_in(r, 2) ? 16 : 4 * (1 + (uint32_t)sl_prng_below(r, 4));
    want.duration = sl_prng_range(r, 60, 3600);
    w->places[id] = SL_HEAP_OUT;
    w->lasts[id] = (uint32_t)(sl_prng_one_in(r, 2) ? want.duration
                                                   : 1 + sl_prng_range(r, 0, want.duration - 1));
    sl_assert(sl_queues_submit(w->q, "q", id, 0, now, fx_want(w->m, &want), NULL) == 0);
}

static void bench(const char *name, enum sl_queue_policy policy, uint32_t depth) {
    static struct world w;
    struct sl_queue_spec s = {.name = "q", .policy = policy, .depth = depth};
    struct sl_match_stats asked;
    struct sl_prng r;
    uint32_t id = 0;

    w = (struct world){.m = fx_match(1000, 16, "lonode", NULL)};
    w.q = sl_queues_new(w.m);
    sl_heap_init(&w.running, ends_first, place, &w);
    sl_assert(sl_queues_add(w.q, &s, NULL) == 0);
    sl_prng_init(&r, 1);
    for (int64_t now = 0; id < JOBS || !sl_heap_empty(&w.running);) {
        int64_t end = sl_heap_empty(&w.running) ? SL_QUEUE_NEVER : w.ends[sl_heap_top(&w.running)];
        if (id < JOBS && end > now + 8) {
            now += 8;
            arrive(&w, &r, id++, now);
            arrive(&w, &r, id++, now);
        } else {
            now = end;
            while (!sl_heap_empty(&w.running) && w.ends[sl_heap_top(&w.running)] == now)
                sl_assert(sl_queues_remove(w.q, sl_heap_pop(&w.running)) == 0);
        }
        turn(&w, now);
    }
    sl_match_stats(w.m, &asked);
    printf("{\"bench\":\"graph/queue-%s\",\"value\":%.1f,\"unit\":\"us\"}\n", name,
           (double)w.ns / 1000.0 / (double)w.turns);
    printf("{\"bench\":\"graph/queue-%s-asked\",\"value\":%.2f,\"unit\":\"tries\"}\n", name,
           (double)(asked.matches + asked.failures) / (double)w.turns);
    (void)fflush(stdout);
    sl_heap_done(&w.running);
    sl_queues_free(w.q);
    sl_match_free(w.m);
}

int main(void) {
    bench("fcfs", SL_QUEUE_FCFS, 0);
    bench("easy", SL_QUEUE_EASY, 0);
    bench("hybrid", SL_QUEUE_HYBRID, 0);
    bench("conservative", SL_QUEUE_CONSERVATIVE, 0);
    return 0;
}
