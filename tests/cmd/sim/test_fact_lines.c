/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the journal: what they look like, and what is said about those that are wrong. That no
 * fact loses anything on the way is tested in test_facts.c.
 */
#include "cmd/sim/facts/facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct reader {
    struct sl_sim_fact_reader shapes;
    struct sl_arena arena;
    struct sl_err err;
    uint32_t line;
};

/* Reads lines until one is a fact. */
static int next_fact(struct reader *r, const char **text_at, struct sl_sim_fact_line *ret) {
    do {
        const char *end = strchr(*text_at, '\n');
        struct sl_doc *d = NULL;
        assert_non_null(end);
        if (sl_doc_json("j", ++r->line, *text_at, (size_t)(end - *text_at), &d, &r->err) < 0)
            fail_msg("%s", r->err.text);
        *text_at = end + 1;
        struct sl_read rd = {.file = "j", .arena = &r->arena, .err = &r->err};
        sl_sim_fact_decode(&r->shapes, &rd, &d->roots[0], ret);
        sl_doc_free(d); /* nothing may point into it any more */
        if (rd.code < 0)
            return rd.code;
    } while (ret->kind != SL_LINE_FACT);
    return 0;
}

static void shapes_are_written_once(void **state) {
    static const struct sl_request cpu = {"cpu", SL_NANO}, half = {"cpu", SL_NANO / 2};
    static const struct sl_podset_spec one = {
        .name = "main", .count = 1, .requests = &cpu, .n_requests = 1};
    static const struct sl_podset_spec two = {
        .name = "main", .count = 1, .requests = &half, .n_requests = 1};
    struct sl_fact f = {.kind = SL_FACT_WORKLOAD,
                        .at = 5,
                        .workload = {.ns = "a", .name = "w", .queue = "q", .priority = 50}};
    struct sl_sim_fact_writer w;
    struct sl_buf out;

    (void)state;
    sl_sim_fact_writer_init(&w);
    sl_buf_init(&out, 1 << 16);
    sl_sim_fact_encode(&w, &f, &(struct sl_sim_fact_note){.podsets = &one, .n_podsets = 1}, &out);
    sl_sim_fact_encode(
        &w, &f, &(struct sl_sim_fact_note){.podsets = &two, .n_podsets = 1, .tag = "t"}, &out);
    sl_sim_fact_encode(&w, &f, &(struct sl_sim_fact_note){.podsets = &one, .n_podsets = 1}, &out);
    f = (struct sl_fact){.kind = SL_FACT_FINISHED, .at = 9};
    sl_sim_fact_encode(&w, &f, &(struct sl_sim_fact_note){.ns = "a", .name = "w"}, &out);
    assert_string_equal(
        out.s,
        "{\"shape\":1,\"podsets\":[{\"name\":\"main\",\"count\":1,\"requests\":[[\"cpu\",\"1\"]]}]}"
        "\n"
        "{\"at\":5,\"fact\":\"workload\",\"ns\":\"a\",\"name\":\"w\",\"queue\":\"q\",\"shape\":1,"
        "\"priority\":50}\n"
        "{\"shape\":2,\"podsets\":[{\"name\":\"main\",\"count\":1,\"requests\":[[\"cpu\",\"500m\"]]"
        "}]}\n"
        "{\"at\":5,\"fact\":\"workload\",\"ns\":\"a\",\"name\":\"w\",\"queue\":\"q\",\"shape\":2,"
        "\"tag\":\"t\",\"priority\":50}\n"
        "{\"at\":5,\"fact\":\"workload\",\"ns\":\"a\",\"name\":\"w\",\"queue\":\"q\",\"shape\":1,"
        "\"priority\":50}\n"
        "{\"at\":9,\"fact\":\"finished\",\"ns\":\"a\",\"name\":\"w\"}\n");
    sl_sim_fact_writer_done(&w);
    sl_buf_done(&out);
}

static void bad_lines(void **state) {
    static const struct {
        const char *line, *want;
    } cases[] = {
        {"{\"fact\":\"workloads\"}", "j:1: fact: expected a kind of fact such as workload, got"},
        {"{\"fact\":7}", "j:1: fact: expected a string (put it in quotes), got 7"},
        {"{\"fact\":\"finished\",\"nmae\":\"x\"}",
         "j:1: unknown field \"nmae\" in finished; did you mean \"name\"?"},
        {"{\"fact\":\"finished\",\"at\":\"x\"}", "j:1: at: expected a whole number, got \"x\""},
        {"{\"fact\":\"workload\",\"shape\":1}",
         "j:1: shape: expected a line with the shape before"},
        {"{\"shape\":2,\"podsets\":[]}", "j:1: shape: expected number 1, got 2"},
        {"{\"shape\":1,\"podsets\":[{\"count\":1e30}]}",
         "j:1: count: expected a whole number from"},
        {"{\"fact\":\"flavor\",\"taints\":[[\"a\"]]}", "j:1: taints: expected 3 items, got 1"},
        {"{\"fact\":\"flavor\",\"taints\":[[\"a\",\"b\",\"c\",\"d\"]]}",
         "j:1: taints: expected at most 3"},
        {"{\"fact\":\"flavor\",\"taints\":[[\"a\",\"b\",\"c\"]]}",
         "j:1: expected NoSchedule, Prefer"},
        {"{\"fact\":\"cohort\",\"groups\":[{\"resources\":[\"a\"],\"flavors\":[[\"f\"]]}]}",
         "j:1: flavors: expected 2 items, got 1"},
        {"{\"fact\":\"reclaimable\",\"counts\":[3000000000]}",
         "j:1: counts: expected a whole number"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct reader r = {.line = 0};
        struct sl_sim_fact_line line;
        struct sl_buf b;
        sl_arena_init(&r.arena, 1 << 20);
        sl_sim_fact_reader_init(&r.shapes);
        sl_buf_init(&b, 1 << 16);
        sl_buf_printf(&b, "%s\n", cases[i].line);
        const char *at = b.s;
        assert_int_equal(next_fact(&r, &at, &line), SL_EINVAL);
        if (strncmp(r.err.text, cases[i].want, strlen(cases[i].want)) != 0)
            fail_msg("%s\nexpected %s\ngot      %s", cases[i].line, cases[i].want, r.err.text);
        assert_int_equal(r.shapes.shapes.n, 0);
        sl_buf_done(&b);
        sl_sim_fact_reader_done(&r.shapes);
        sl_arena_done(&r.arena);
    }
}

static void other_lines_are_left_alone(void **state) {
    struct sl_sim_fact_reader shapes;
    struct sl_sim_fact_line line;
    struct sl_err err;
    struct sl_read rd = {.file = "j", .err = &err};
    struct sl_doc_node list = {.kind = SL_DOC_NODE_LIST, .line = 1};

    (void)state;
    sl_sim_fact_reader_init(&shapes);
    sl_sim_fact_decode(&shapes, &rd, &list, &line);
    assert_int_equal(line.kind, SL_LINE_OTHER);
    assert_int_equal(rd.code, 0);
    sl_sim_fact_reader_done(&shapes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_written_once),
        cmocka_unit_test(bad_lines),
        cmocka_unit_test(other_lines_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
