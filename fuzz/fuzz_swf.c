/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job traces: what is refused says where and why; what is accepted is within its bounds, and a
 * short one can be simulated, ends, and loses no job.
 */
#include <string.h>

#include "cmd/sim/trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More than this is legal and only slow. */
#define MAX_JOBS 200
#define CEILING 10000

static void simulate(const struct sl_swf *t) {
    static const struct sl_trace_policy policies[] = {
        {.name = "easy", .policy = SL_QUEUE_EASY},
        {.name = "conservative", .policy = SL_QUEUE_CONSERVATIVE},
    };
    struct sl_trace_options o = {.machine = {.nodes = 3, .cpu = 2, .memory_mib = 64}};
    struct sl_err err = {0};
    int code = sl_match_policy_parse("lonode", &o.match, &err);

    sl_assert(code == 0);
    for (size_t k = 0; k < SL_LEN(policies); k++) {
        struct sl_trace_result r;
        struct sl_buf b = SL_BUF(CEILING);
        code = sl_trace_run(t, &policies[k], &o, &r, &err);
        sl_assert(code == 0);
        sl_assert(r.finished + r.never == t->jobs.n && r.running == 0 && r.waiting == 0);
        sl_assert(r.utilisation >= 0 && r.utilisation < 1 + 1e-9);
        const struct sl_trace_report report = {
            .source = "in", .trace = t, .options = &o, .match = "lonode", .results = &r, .n = 1};
        sl_trace_report_json(&report, &b);
        sl_assert(!sl_buf_full(&b));
        sl_buf_done(&b);
        sl_trace_result_done(&r);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sl_swf t;
    struct sl_trace_machine none = {0}, m;
    struct sl_err err = {0};
    int code = sl_swf_read("in", (const char *)data, size, MAX_JOBS, &t, &err);

    if (code < 0) {
        sl_assert(err.code == code && strncmp(err.text, "in:", 3) == 0);
        return 0;
    }
    sl_assert(t.jobs.n > 0 && t.jobs.n <= MAX_JOBS);
    for (uint32_t i = 0; i < t.jobs.n; i++) {
        const struct sl_swf_job *j = &t.jobs.v[i];
        sl_assert(j->run >= 1 && j->run <= j->limit && j->limit <= SL_SWF_MAX_NUMBER);
        sl_assert(j->processors >= 1 && j->submit >= (i > 0 ? t.jobs.v[i - 1].submit : 0));
        sl_assert(j->memory_kib == SL_SWF_UNKNOWN || j->memory_kib > 0);
    }
    code = sl_trace_machine_complete(&t, "in", &none, &m, &err);
    sl_assert(code < 0 ? strncmp(err.text, "in:", 3) == 0 : m.nodes > 0 && m.cpu > 0);
    simulate(&t);
    sl_swf_done(&t);
    return 0;
}
