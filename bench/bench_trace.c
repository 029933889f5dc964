/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job trace through `sluice sim`: 2,000 jobs of 1 to 2,048 processors on 1,000 nodes of 16, half
 * of which end before they were planned to, at a load of some 0.95. Reported is the processor time
 * of the whole run.
 *
 * {"bench":"sim/trace-conservative","value":5.8,"unit":"s"}
 */
#include <stdio.h>

#include "cmd/sim/trace/trace.h"
#include "core/base/prng.h"

#define JOBS 2000u
#define NODES 1000u
#define CPU 16u
#define CEILING ((size_t)4 << 20)

static void make_trace(struct sl_swf *ret) {
    struct sl_buf b = SL_BUF(CEILING);
    struct sl_prng r;
    int64_t at = 0;

    sl_prng_init(&r, 1);
    for (uint32_t i = 1; i <= JOBS; i++) {
        int64_t processors = INT64_C(1) << sl_prng_below(&r, 12), run = sl_prng_range(&r, 60, 7200),
                limit = sl_prng_one_in(&r, 2) ? run : run * sl_prng_range(&r, 2, 5);
        sl_buf_printf(&b, "%u %lld -1 %lld -1 -1 -1 %lld %lld -1 1 -1 -1 -1 1 -1 -1 -1\n", i,
                      (long long)at, (long long)run, (long long)processors, (long long)limit);
        at += sl_prng_range(&r, 0, 160); /* 341 processors for 3,630 s, every 80 s */
    }
    int code = sl_swf_read("trace", sl_buf_str(&b), b.len, JOBS, ret, NULL);
    sl_assert(code == 0);
    sl_buf_done(&b);
}

static void bench(const struct sl_swf *t, const char *policy) {
    struct sl_trace_options o = {.machine = {.nodes = NODES, .cpu = CPU}};
    struct sl_trace_policy p[SL_TRACE_MAX_POLICIES];
    struct sl_trace_result r;
    uint32_t n;

    int code = sl_trace_policies_parse(policy, p, &n, NULL);
    sl_assert(code == 0 && sl_match_policy_parse("lonode", &o.match, NULL) == 0);
    code = sl_trace_run(t, p, &o, &r, NULL);
    sl_assert(code == 0 && r.finished == JOBS);
    printf("{\"bench\":\"sim/trace-%s\",\"value\":%.2f,\"unit\":\"s\"}\n", policy, r.cpu_s);
    (void)fflush(stdout);
    sl_trace_result_done(&r);
}

int main(void) {
    struct sl_swf t;

    make_trace(&t);
    bench(&t, "easy");
    bench(&t, "conservative");
    sl_swf_done(&t);
    return 0;
}
