/* SPDX-License-Identifier: Apache-2.0 */
/* Traces so small that everything about them can be worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cmd/sim/trace/trace.h"

#define CEILING 100000

static void run(const char *text, const char *policy, struct sl_trace_options *o, struct sl_swf *t,
                struct sl_trace_result *r) {
    struct sl_trace_policy p[SL_TRACE_MAX_POLICIES];
    struct sl_err err = {0};
    uint32_t n = 0;

    if (sl_swf_read("in", text, strlen(text), 1000, t, &err) < 0 ||
        sl_match_policy_parse("lonode", &o->match, &err) < 0 ||
        sl_trace_machine_complete(t, "in", &o->machine, &o->machine, &err) < 0 ||
        sl_trace_policies_parse(policy, p, &n, &err) < 0 || sl_trace_run(t, p, o, r, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(n, 1);
    assert_int_equal(r->arrived, r->finished + r->running + r->waiting + r->never);
}

/* Number, submit time, run time, processors, requested time. */
#define JOB(id, submit, run, p, limit)                                                             \
#id " " #submit " -1 " #run " -1 -1 -1 " #p " " #limit " -1 1 -1 -1 -1 1 -1 -1 -1\n"

/*
 * Four processors. 3 waits for three of them and 4 for all. The free one is enough for 5, which is
 * long: easy starts it, because it does not delay 3, and so delays 4 to 22; conservative does not.
 * 2, 7 and 9 end before they were planned to. 10 does not fit at all.
 */
static const char ten[] = "; MaxProcs: 4\n" JOB(1, 0, 10, 2, 10) JOB(2, 0, 4, 1, 6)
    JOB(3, 1, 5, 3, 5) JOB(4, 1, 2, 4, 2) JOB(5, 2, 20, 1, 20) JOB(6, 3, 3, 1, 3) JOB(7, 5, 4, 2, 8)
        JOB(8, 12, 1, 1, 1) JOB(9, 16, 4, 3, 6) JOB(10, 16, 1, 5, 1);

struct outcome {
    const char *policy;
    int64_t starts[10], promised[10];
    bool backfilled[10];
    int64_t makespan, waits; /* the sum of them */
    int64_t median, p95;
    uint64_t reserved;
};

static const struct outcome outcomes[] = {
    {.policy = "fcfs",
     .starts = {0, 0, 10, 15, 17, 17, 17, 20, 21, -1},
     .promised = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
     .makespan = 37,
     .waits = 77,
     .median = 9,
     .p95 = 15,
     .reserved = 0},
    {.policy = "easy",
     .starts = {0, 0, 10, 22, 2, 4, 24, 15, 16, -1},
     .promised = {-1, -1, 10, 22, -1, -1, 24, -1, -1, -1},
     .backfilled = {[4] = true, [5] = true, [7] = true, [8] = true},
     .makespan = 28,
     .waits = 53,
     .median = 1,
     .p95 = 21,
     .reserved = 3},
    {.policy = "conservative",
     .starts = {0, 0, 10, 15, 17, 3, 17, 12, 21, -1},
     .promised = {-1, -1, 10, 15, 17, -1, 17, -1, 25, -1},
     .backfilled = {[5] = true, [7] = true},
     .makespan = 37,
     .waits = 55,
     .median = 5,
     .p95 = 15,
     .reserved = 5},
    /* One reservation is easy, so many are conservative. */
    {.policy = "hybrid:1",
     .starts = {0, 0, 10, 22, 2, 4, 24, 15, 16, -1},
     .promised = {-1, -1, 10, 22, -1, -1, 24, -1, -1, -1},
     .backfilled = {[4] = true, [5] = true, [7] = true, [8] = true},
     .makespan = 28,
     .waits = 53,
     .median = 1,
     .p95 = 21,
     .reserved = 3},
};

static bool near(double a, double b) {
    return a - b < 1e-9 && b - a < 1e-9;
}

/*
 * Two processors, and steps of ten seconds: 1 starts at 12 and is planned from 10 to 30, 2 is
 * promised 30. 3 would end at 33, but it is planned from 20 to 30 as well, and starts at 23. 1 runs
 * to 32: 2 starts later in the step that it was promised.
 */
static void in_steps(void **state) {
    static const char three[] =
        "; MaxProcs: 2\n" JOB(1, 12, 20, 1, 20) JOB(2, 13, 5, 2, 5) JOB(3, 23, 4, 1, 10);
    static const struct {
        uint32_t resolution;
        int64_t starts[3], promised, late;
    } cases[] = {{1, {12, 32, 37}, 32, 0}, {10, {12, 32, 23}, 30, 0}};
    (void)state;
    for (size_t k = 0; k < SL_LEN(cases); k++) {
        struct sl_trace_options o = {.resolution = cases[k].resolution};
        struct sl_trace_result r;
        struct sl_swf t;
        run(three, "easy", &o, &t, &r);
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(r.jobs[i].start, cases[k].starts[i]);
        assert_int_equal(r.jobs[1].promised, cases[k].promised);
        assert_int_equal(r.latest, cases[k].late);
        sl_trace_result_done(&r);
        sl_swf_done(&t);
    }
}

static void ten_jobs(void **state) {
    (void)state;
    for (size_t k = 0; k < SL_LEN(outcomes); k++) {
        const struct outcome *want = &outcomes[k];
        struct sl_trace_options o = {0};
        struct sl_trace_result r;
        struct sl_swf t;
        uint64_t backfilled = 0;
        run(ten, want->policy, &o, &t, &r);
        for (uint32_t i = 0; i < 10; i++) {
            if (r.jobs[i].start != want->starts[i] || r.jobs[i].promised != want->promised[i] ||
                r.jobs[i].backfilled != want->backfilled[i])
                fail_msg("%s: job %u starts at %lld (%d), promised was %lld", want->policy, i + 1,
                         (long long)r.jobs[i].start, r.jobs[i].backfilled,
                         (long long)r.jobs[i].promised);
            assert_int_equal(r.jobs[i].never, i == 9);
            backfilled += want->backfilled[i];
        }
        assert_int_equal(r.finished, 9);
        assert_int_equal(r.never, 1);
        assert_int_equal(r.backfilled, backfilled);
        assert_int_equal(r.reserved, want->reserved);
        assert_int_equal(r.late, 0);
        assert_int_equal(r.makespan, want->makespan);
        assert_int_equal(r.median_wait, want->median);
        assert_int_equal(r.p95_wait, want->p95);
        assert_true(near(r.mean_wait, (double)want->waits / 9));
        /* 20 + 4 + 15 + 8 + 20 + 3 + 8 + 1 + 12 processor seconds */
        assert_true(near(r.utilisation, 91.0 / (4.0 * (double)want->makespan)));
        sl_trace_result_done(&r);
        sl_swf_done(&t);
    }
}

/* Jobs shorter than 10 s count as if they ran for 10; none is below 1. */
static void slowdown(void **state) {
    struct sl_trace_options o = {0};
    struct sl_trace_result r;
    struct sl_swf t;

    (void)state;
    run("; MaxProcs: 1\n" JOB(1, 0, 40, 1, 40) JOB(2, 0, 2, 1, 2) JOB(3, 100, 1, 1, 1), "fcfs", &o,
        &t, &r);
    assert_true(near(r.slowdown, (1 + (40.0 + 2) / 10 + 1) / 3));
    sl_trace_result_done(&r);
    sl_swf_done(&t);
}

/*
 * When a job ends early a reservation moves forward, but never into the place of another: 3 would
 * fit at 6, where 4 has its own under conservative. Easy has promised nothing to 4.
 */
static void early_ends_delay_nobody(void **state) {
    static const char text[] = "; MaxProcs: 2\n" JOB(1, 0, 5, 1, 10) JOB(2, 0, 6, 1, 6)
        JOB(3, 1, 6, 2, 6) JOB(4, 2, 4, 1, 4);

    (void)state;
    for (int easy = 0; easy < 2; easy++) {
        struct sl_trace_options o = {0};
        struct sl_trace_result r;
        struct sl_swf t;
        run(text, easy ? "easy" : "conservative", &o, &t, &r);
        assert_int_equal(r.jobs[2].promised, 10);
        assert_int_equal(r.jobs[2].start, easy ? 6 : 9);
        assert_int_equal(r.jobs[3].promised, easy ? 12 : 6);
        assert_int_equal(r.jobs[3].start, easy ? 12 : 5);
        assert_int_equal(r.late, 0);
        assert_int_equal(r.latest, 0);
        sl_trace_result_done(&r);
        sl_swf_done(&t);
    }
}

/* Two processors of a node share its memory; what a job does not say does not count. */
static void memory(void **state) {
    static const char text[] = "; MaxNodes: 2\n; MaxProcs: 4\n"
                               "1 0 -1 9 2 -1 -1 2 9 4095 1 -1 -1 -1 1 -1 -1 -1\n"
                               "2 0 -1 9 1 -1 -1 1 9 1024 1 -1 -1 -1 1 -1 -1 -1\n"
                               "3 0 -1 9 2 -1 -1 2 9 -1 1 -1 -1 -1 1 -1 -1 -1\n"
                               "4 0 -1 9 1 -1 -1 1 9 4097 1 -1 -1 -1 1 -1 -1 -1\n";
    static const int64_t with[] = {0, 9, 0, -1}, without[] = {0, 0, 9, 0};

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct sl_trace_options o = {.machine = {.memory_mib = k == 0 ? 4 : 0}};
        struct sl_trace_result r;
        struct sl_swf t;
        run(text, "conservative", &o, &t, &r);
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(r.jobs[i].start, (k == 0 ? with : without)[i]);
        sl_trace_result_done(&r);
        sl_swf_done(&t);
    }
}

/* Each queue has its own order, so the wide job of one does not hold the other up. */
static void several_queues(void **state) {
    static const char text[] = "; MaxProcs: 2\n" JOB(1, 0, 10, 1, 10) JOB(2, 0, 10, 2, 10) /**/
        "3 0 -1 4 1 -1 -1 1 4 -1 1 -1 -1 -1 7 -1 -1 -1\n";

    (void)state;
    for (int one = 0; one < 2; one++) {
        struct sl_trace_options o = {.one_queue = one};
        struct sl_trace_result r;
        struct sl_swf t;
        run(text, "fcfs", &o, &t, &r);
        assert_int_equal(r.jobs[2].start, one ? 20 : 0);
        assert_int_equal(r.backfilled, 0);
        sl_trace_result_done(&r);
        sl_swf_done(&t);
    }
}

static void stopped(void **state) {
    struct sl_trace_options o = {.until = 12};
    struct sl_trace_result r;
    struct sl_swf t;

    (void)state;
    run(ten, "fcfs", &o, &t, &r);
    assert_int_equal(r.arrived, 8);
    assert_int_equal(r.finished, 2);
    assert_int_equal(r.running, 1);
    assert_int_equal(r.waiting, 5);
    assert_int_equal(r.makespan, 12);
    assert_true(near(r.utilisation, (20.0 + 4 + 6) / 48));
    sl_trace_result_done(&r);
    sl_swf_done(&t);
}

/* No more than so many waiting jobs are considered: 5 and 6 are the third and the fourth. */
static void depth(void **state) {
    struct sl_trace_options o = {.depth = 2};
    struct sl_trace_result r;
    struct sl_swf t;

    (void)state;
    run(ten, "easy", &o, &t, &r);
    assert_int_equal(r.jobs[2].start, 10);
    assert_int_equal(r.jobs[3].start, 15);
    assert_int_equal(r.jobs[4].start, 17);
    assert_int_equal(r.jobs[5].start, 17);
    sl_trace_result_done(&r);
    sl_swf_done(&t);
}

static void too_many_queues(void **state) {
    struct sl_buf b = SL_BUF(CEILING * 2);
    struct sl_trace_options o = {.machine = {.nodes = 1, .cpu = 1}};
    struct sl_trace_policy p = {.name = "fcfs"};
    struct sl_trace_result r;
    struct sl_err err = {0};
    struct sl_swf t;

    (void)state;
    for (uint32_t i = 0; i <= SL_QUEUE_MAX_QUEUES; i++)
        sl_buf_printf(&b, "%u 0 -1 4 1 -1 -1 1 4 -1 1 -1 -1 -1 %u -1 -1 -1\n", i, i);
    assert_int_equal(sl_swf_read("in", sl_buf_str(&b), b.len, 2000, &t, &err), 0);
    assert_int_equal(sl_trace_run(&t, &p, &o, &r, &err), SL_ELIMIT);
    assert_string_equal(err.text, "more than 1024 queues");
    o.one_queue = true;
    assert_int_equal(sl_trace_run(&t, &p, &o, &r, &err), 0);
    assert_int_equal(r.finished, t.jobs.n);
    sl_trace_result_done(&r);
    sl_swf_done(&t);
    sl_buf_done(&b);
}

/* ---- options ---- */

static void machines(void **state) {
    static const struct {
        int64_t max_nodes, max_processors;
        uint32_t nodes, cpu; /* given */
        struct sl_trace_machine want;
        const char *wrong;
    } cases[] = {
        {64, 512, 0, 0, {64, 8, 0, 0}, NULL},
        {64, 515, 0, 0, {64, 8, 3, 0}, NULL},
        {64, -1, 0, 0, {64, 1, 0, 0}, NULL},
        {-1, 128, 0, 0, {128, 1, 0, 0}, NULL},
        {-1, 130, 0, 16, {9, 16, 0, 0}, NULL},
        {64, 512, 0, 4, {64, 4, 0, 0}, NULL},
        {64, 515, 32, 0, {32, 8, 0, 0}, NULL},
        {-1, 130, 32, 0, {32, 4, 2, 0}, NULL},
        {64, 60, 0, 0, {64, 1, 0, 0}, NULL},
        {-1, -1, 3, 2, {3, 2, 0, 0}, NULL},
        {-1, -1, 3, 0, {3, 1, 0, 0}, NULL},
        {-1, -1, 0, 2, {0}, "in: the header has neither MaxNodes nor MaxProcs: expected --nodes=N"},
        {-1, 1000001, 0, 0, {0}, "in: 1000001 nodes: expected at most 1000000"},
        {1, 65537, 0, 0, {0}, "in: 65537 processors on a node: expected at most 65536"},
        {1000000, 20000000, 0, 0, {0}, "in: 1000000 nodes with 20000000 processors: expected"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_swf t = {.max_nodes = cases[i].max_nodes,
                           .max_processors = cases[i].max_processors};
        struct sl_trace_machine given = {.nodes = cases[i].nodes, .cpu = cases[i].cpu}, m = {0};
        struct sl_err err = {0};
        int r = sl_trace_machine_complete(&t, "in", &given, &m, &err);
        assert_int_equal(r < 0, cases[i].wrong != NULL);
        if (cases[i].wrong)
            assert_memory_equal(err.text, cases[i].wrong, strlen(cases[i].wrong));
        assert_int_equal(m.nodes, cases[i].want.nodes);
        assert_int_equal(m.cpu, cases[i].want.cpu);
        assert_int_equal(m.one_more, cases[i].want.one_more);
    }
}

static void policies(void **state) {
    struct sl_trace_policy p[SL_TRACE_MAX_POLICIES];
    struct sl_err err = {0};
    uint32_t n = 0;
    static const char *const wrong[] = {
        "",
        "fcfs,",
        ",fcfs",
        "FCFS",
        "fcfs easy",
        "hybrid:",
        "hybrid:0",
        "hybrid:x",
        "easy:3",
        "hybrid:-1",
        "fcf",
        "fcfss",
        "hybrid:100001",
        "fcfs,fcfs",
        "hybrid:1,hybrid:2,hybrid:3,hybrid:4,hybrid:5,hybrid:6,hybrid:7,easy,fcfs",
        "hybrid:00000000000000000000000000000000000000001"};

    (void)state;
    assert_int_equal(sl_trace_policies_parse("conservative,hybrid:100000,fcfs", p, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_int_equal(p[0].policy, SL_QUEUE_CONSERVATIVE);
    assert_int_equal(p[1].policy, SL_QUEUE_HYBRID);
    assert_int_equal(p[1].reserve, 100000);
    assert_string_equal(p[1].name, "hybrid:100000");
    assert_int_equal(p[2].policy, SL_QUEUE_FCFS);
    for (size_t i = 0; i < SL_LEN(wrong); i++)
        if (sl_trace_policies_parse(wrong[i], p, &n, &err) >= 0)
            fail_msg("'%s' was accepted", wrong[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_jobs),
        cmocka_unit_test(in_steps),
        cmocka_unit_test(slowdown),
        cmocka_unit_test(memory),
        cmocka_unit_test(early_ends_delay_nobody),
        cmocka_unit_test(several_queues),
        cmocka_unit_test(stopped),
        cmocka_unit_test(depth),
        cmocka_unit_test(too_many_queues),
        cmocka_unit_test(machines),
        cmocka_unit_test(policies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
