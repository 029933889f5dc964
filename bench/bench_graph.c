/*
 * The planner of the resource graph, with 100,000 spans in it. plan-add: a span comes and goes;
 * plan-during: the least free amount of a window; plan-earliest: the first time at which a large
 * amount is free, which most stretches before it do not have.
 *
 * {"bench":"graph/plan-add","value":0.42,"unit":"us"}
 */
#include <stdio.h>
#include <time.h>

#include "base/prng.h"
#include "graph/plan.h"

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void report(const char *name, int64_t ns, int64_t n) {
    printf("{\"bench\":\"graph/%s\",\"value\":%.3f,\"unit\":\"us\"}\n", name,
           (double)ns / 1000.0 / (double)n);
}

static void bench_plan(void) {
    enum { SPANS = 100000, TIMES = 200000, DAY = 86400 };
    struct sl_plan *p = sl_plan_new(0, INT64_MAX, 1000);
    struct sl_prng r;
    int64_t t0, sum = 0;
    uint32_t span;

    sl_prng_init(&r, 1);
    for (uint32_t n = 0; n < SPANS;)
        n += sl_plan_add(p, sl_prng_range(&r, 0, 300 * DAY), sl_prng_range(&r, 60, DAY),
                         sl_prng_range(&r, 1, 8), &span, NULL) == 0;
    t0 = now_ns();
    for (int64_t i = 0; i < TIMES; i++) {
        int got = sl_plan_force(p, sl_prng_range(&r, 0, 300 * DAY), sl_prng_range(&r, 60, DAY), 1,
                                &span, NULL);
        sl_assert(got == 0 && sl_plan_remove(p, span));
    }
    report("plan-add", now_ns() - t0, TIMES);
    t0 = now_ns();
    for (int64_t i = 0; i < TIMES; i++)
        sum += sl_plan_free_during(p, sl_prng_range(&r, 0, 300 * DAY), DAY);
    report("plan-during", now_ns() - t0, TIMES);
    t0 = now_ns();
    for (int64_t i = 0; i < TIMES / 100; i++)
        sum += sl_plan_earliest(p, sl_prng_range(&r, 0, 300 * DAY), DAY, 330);
    report("plan-earliest", now_ns() - t0, TIMES / 100);
    sl_assert(sum != 0);
    sl_plan_free(p);
}

int main(void) {
    bench_plan();
    return 0;
}
