/* SPDX-License-Identifier: Apache-2.0 */
/* What resource pools publish: what is taken, what is left out, and what is refused, and why. */
#include "manager/masterqueue/payload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/base/mem.h"

#define ARENA_BYTES ((size_t)1 << 20)

static void print(const char *data, size_t len, struct sl_buf *out, struct sl_pool_payload *p,
                  struct sl_arena *a) {
    struct sl_err err = {0};

    if (sl_pool_payload_read(data, len, a, p, &err) < 0)
        fail_msg("%s: %s", data, err.text);
    sl_pool_payload_print(p, out);
}

/* What is printed of a payload, and what reads back from that. */
struct taken {
    const char *in, *out;
    uint32_t left_out;
    const char *why; /* how it begins; NULL: nothing is left out */
};

static const struct taken taken[] = {
    {"{\"quotas\":{\"cpu\":\"85\",\"memory\":\"1Ti\",\"pods\":123,\"nvidia.com/gpu\":28},"
     "\"labels\":[\"site=firenze\"],\"taints\":[]}",
     "{\"quotas\":{\"cpu\":\"85\",\"memory\":\"1Ti\",\"nvidia.com/gpu\":28,\"pods\":123},"
     "\"labels\":[\"site=firenze\"],\"taints\":[]}",
     0, NULL},
    {"{\"quotas\":{\"cpu\":\"2000\"},\"labels\":[],\"taints\":[\"slurm=true:NoSchedule\"]}",
     "{\"quotas\":{\"cpu\":\"2000\"},\"labels\":[],\"taints\":[\"slurm=true:NoSchedule\"]}", 0,
     NULL},
    /* nothing is nothing */
    {"{}", "{\"quotas\":{},\"labels\":[],\"taints\":[]}", 0, NULL},
    {"{\"quotas\":null,\"labels\":null,\"taints\":null}",
     "{\"quotas\":{},\"labels\":[],\"taints\":[]}", 0, NULL},
    {"{\"quotas\":{}}", "{\"quotas\":{},\"labels\":[],\"taints\":[]}", 0, NULL},
    /* older providers; not if there are quotas, and only of the four */
    {"{\"pods\":5,\"cpu\":\"1\",\"memory\":\"2Gi\",\"nvidia.com/gpu\":0,\"amd.com/gpu\":3}",
     "{\"quotas\":{\"cpu\":\"1\",\"memory\":\"2Gi\",\"nvidia.com/gpu\":0,\"pods\":5},"
     "\"labels\":[],\"taints\":[]}",
     0, NULL},
    {"{\"cpu\":\"1\",\"quotas\":{\"pods\":1}}",
     "{\"quotas\":{\"pods\":1},\"labels\":[],\"taints\":[]}", 0, NULL},
    {"{\"cpu\":\"1\",\"quotas\":null}", "{\"quotas\":{},\"labels\":[],\"taints\":[]}", 0, NULL},
    /* amounts keep their spelling, and further resources come along */
    {"{\"quotas\":{\"cpu\":1.5,\"memory\":1e9,\"pods\":\"007\",\"ephemeral-storage\":\"20Gi\","
     "\"amd.com/gpu\":9223372036854775807}}",
     "{\"quotas\":{\"amd.com/gpu\":9223372036854775807,\"cpu\":\"1.5\",\"ephemeral-storage\":"
     "\"20Gi\",\"memory\":\"1e9\",\"pods\":\"007\"},\"labels\":[],\"taints\":[]}",
     0, NULL},
    {"{\"quotas\":{\"pods\":-0,\"cpu\":\"+2\"}}",
     "{\"quotas\":{\"cpu\":\"+2\",\"pods\":\"-0\"},\"labels\":[],\"taints\":[]}", 0, NULL},
    /* what is not known does not count, even twice */
    {"{\"x\":[[{}]],\"x\":1,\"version\":true}", "{\"quotas\":{},\"labels\":[],\"taints\":[]}", 0,
     NULL},
    /* labels: with and without value, sorted, as an object */
    {"{\"labels\":[\"b\",\"a=1\",\"example.com/c=\"]}",
     "{\"quotas\":{},\"labels\":[\"a=1\",\"b=\",\"example.com/c=\"],\"taints\":[]}", 0, NULL},
    {"{\"labels\":{\"b\":\"2\",\"a\":\"\"}}",
     "{\"quotas\":{},\"labels\":[\"a=\",\"b=2\"],\"taints\":[]}", 0, NULL},
    {"{\"labels\":[\"\",\"=x\",\"a=b=c\",\"ok=1\",7,null,\"a b=1\"]}",
     "{\"quotas\":{},\"labels\":[\"ok=1\"],\"taints\":[]}", 6,
     "labels[0] \"\": expected key=value"},
    {"{\"labels\":{\"a\":1,\"ok\":\"1\",\"-\":\"\"}}",
     "{\"quotas\":{},\"labels\":[\"ok=1\"],\"taints\":[]}", 2,
     "labels[0] \"a\": expected a string as its value"},
    {"{\"labels\":[\"a=1\",\"a=2\"]}", "{\"quotas\":{},\"labels\":[\"a=1\"],\"taints\":[]}", 1,
     "labels[1] \"a=2\": there is a label"},
    /* taints: in their order, with and without value */
    {"{\"taints\":[\"b=1:NoExecute\",\"a:PreferNoSchedule\",\"c=:NoSchedule\"]}",
     "{\"quotas\":{},\"labels\":[],\"taints\":[\"b=1:NoExecute\",\"a=:PreferNoSchedule\","
     "\"c=:NoSchedule\"]}",
     0, NULL},
    {"{\"taints\":[\"a=b\",\"a=b:\",\"a=b:noschedule\",\":NoSchedule\",\"a b:NoSchedule\","
     "\"a=b c:NoSchedule\",{},\"ok=1:NoSchedule\"]}",
     "{\"quotas\":{},\"labels\":[],\"taints\":[\"ok=1:NoSchedule\"]}", 7,
     "taints[0] \"a=b\": expected the effect"},
    {"{\"taints\":[\"a=1:NoSchedule\",\"a=2:NoSchedule\",\"a=1:NoExecute\"]}",
     "{\"quotas\":{},\"labels\":[],\"taints\":[\"a=1:NoSchedule\",\"a=1:NoExecute\"]}", 1,
     "taints[1] \"a=2:NoSchedule\": there is a taint"},
    /* that of a virtual node is there anyway */
    {"{\"taints\":[\"virtual-node.interlink/no-schedule=true:NoSchedule\",\"a:NoExecute\"]}",
     "{\"quotas\":{},\"labels\":[],\"taints\":[\"a=:NoExecute\"]}", 0, NULL},
    {"{\"taints\":[\"virtual-node.interlink/no-schedule:NoSchedule\","
     "\"virtual-node.interlink/no-schedule:NoExecute\"]}",
     "{\"quotas\":{},\"labels\":[],\"taints\":[\"virtual-node.interlink/no-schedule=:NoExecute\"]}",
     1, "taints[0] \"virtual-node.interlink/no-schedule:NoSch\": there is a taint"},
    {"{\"taints\":[7],\"labels\":[true]}", "{\"quotas\":{},\"labels\":[],\"taints\":[]}", 2,
     "labels[0] \"true\": expected a string"},
};

static void what_is_taken(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(taken); i++) {
        const struct taken *t = &taken[i];
        _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(ARENA_BYTES);
        _cleanup_(sl_buf_done) struct sl_buf out = SL_BUF(SL_POOL_MAX_BYTES);
        _cleanup_(sl_buf_done) struct sl_buf again = SL_BUF(SL_POOL_MAX_BYTES);
        struct sl_pool_payload p, q;

        print(t->in, strlen(t->in), &out, &p, &a);
        assert_string_equal(sl_buf_str(&out), t->out);
        assert_int_equal(p.n_left_out, t->left_out);
        assert_int_equal(p.left_out != NULL, t->why != NULL);
        if (t->why && strncmp(p.left_out, t->why, strlen(t->why)) != 0)
            fail_msg("\"%s\", expected \"%s\"", p.left_out, t->why);
        print(out.s, out.len, &again, &q, &a);
        assert_string_equal(sl_buf_str(&again), t->out);
        assert_true(sl_pool_payload_same(&p, &q) && q.n_left_out == 0);
    }
}

/* Each with what the message has to say. */
static const struct {
    const char *in, *why;
} refused[] = {
    {"", "not well-formed"},
    {"{", "not well-formed"},
    {"cpu=85", "not well-formed"},
    {"{\"quotas\":{\"cpu\":NaN}}", "not well-formed"},
    {"{\"quotas\":{\"cpu\":01}}", "not well-formed"},
    {"{} {}", "not well-formed"},
    {"{\"labels\":[\"\xff\"]}", "not well-formed"},
    {"[]", "expected a JSON object, got array"},
    {"null", "expected a JSON object, got null"},
    {"7", "expected a JSON object, got a number"},
    {"{\"quotas\":[]}", "quotas: expected an object, got array"},
    {"{\"quotas\":\"cpu\"}", "quotas: expected an object, got string"},
    {"{\"quotas\":7}", "quotas: expected an object, got a number"},
    {"{\"quotas\":{\"cpu\":true}}", "quotas.cpu: expected a quantity, got true"},
    {"{\"quotas\":{\"cpu\":null}}", "quotas.cpu: expected a quantity, got null"},
    {"{\"quotas\":{\"cpu\":[1]}}", "quotas.cpu: expected a quantity, got array"},
    {"{\"quotas\":{\"cpu\":{}}}", "quotas.cpu: expected a quantity, got object"},
    {"{\"quotas\":{\"cpu\":\"\"}}", "quotas.cpu: expected a quantity such as"},
    {"{\"quotas\":{\"cpu\":\"many\"}}", "got \"many\""},
    {"{\"quotas\":{\"cpu\":\" 1\"}}", "got \" 1\""},
    {"{\"quotas\":{\"cpu\":\"NaN\"}}", "got \"NaN\""},
    {"{\"quotas\":{\"cpu\":\"0x10\"}}", "got \"0x10\""},
    {"{\"quotas\":{\"pods\":-1}}", "quotas.pods: expected a quantity of 0 or more, got \"-1\""},
    {"{\"quotas\":{\"pods\":\"-1n\"}}", "0 or more"},
    {"{\"quotas\":{\"pods\":1e999}}", "got \"1e999\""},
    {"{\"quotas\":{\"pods\":\"1e-999\"}}", "got \"1e-999\""},
    {"{\"quotas\":{\"pods\":\"1E+100\"}}", "got \"1E+100\""},
    {"{\"quotas\":{\"pods\":1e30}}", "at most 9223372036854775807"},
    {"{\"quotas\":{\"pods\":9223372036854775808}}", "at most 9223372036854775807"},
    {"{\"quotas\":{\"memory\":\"8Ei\"}}", "at most 9223372036854775807"},
    {"{\"quotas\":{\"cpu\":\"00000000000000000000000000000000000000000000000000000000000000001\"}}",
     "got \"0000000000000000000000000000000000000000\""},
    {"{\"quotas\":{\"a b\":1}}", "quotas: \"a b\": expected the name of a resource"},
    {"{\"quotas\":{\"\":1}}", "quotas: \"\": expected the name"},
    {"{\"quotas\":{\"cpu\":1,\"cpu\":1}}", "quotas.cpu: the key is there twice"},
    {"{\"cpu\":1,\"pods\":2,\"cpu\":1}", "cpu: the key is there twice"},
    {"{\"pods\":\"x\"}", "quotas.pods: expected a quantity"},
    {"{\"quotas\":{},\"quotas\":{}}", "quotas: the key is there twice"},
    {"{\"labels\":[],\"labels\":[]}", "labels: the key is there twice"},
    {"{\"taints\":[],\"taints\":[]}", "taints: the key is there twice"},
    {"{\"labels\":{\"a\":\"1\",\"a\":\"1\"}}", "labels.a: the key is there twice"},
    {"{\"labels\":\"a=b\"}", "labels: expected an array, got string"},
    {"{\"taints\":{}}", "taints: expected an array, got object"},
    {"{\"taints\":\"a:NoSchedule\"}", "taints: expected an array, got string"},
    {"{\"x\":\"a\\u0000b\"}", "NUL"},
    {"{\"a\\u0000\":1}", "NUL"},
    {"{\"taints\":[\"a:NoSchedule\",\"b:NoSchedule\",\"c:NoSchedule\",\"d:NoSchedule\","
     "\"e:NoSchedule\",\"f:NoSchedule\",\"g:NoSchedule\",\"h:NoSchedule\"]}",
     "taints: more than 7"},
};

static void refuse(const char *in, size_t len, const char *why) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(ARENA_BYTES);
    struct sl_pool_payload p = {.n_quotas = 12345};
    struct sl_err err = {0};

    if (sl_pool_payload_read(in, len, &a, &p, &err) >= 0)
        fail_msg("taken: %.200s", in);
    if (!strstr(err.text, why))
        fail_msg("%.200s: \"%s\", expected \"%s\"", in, err.text, why);
    assert_true(err.code < 0 && p.n_quotas == 12345 && strlen(err.text) < 200);
}

static void what_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(refused); i++)
        refuse(refused[i].in, strlen(refused[i].in), refused[i].why);
    refuse("{}\0", 3, "not well-formed");
}

/* n times the same, or a number in it. */
static void repeat(struct sl_buf *out, const char *before, const char *fmt, uint32_t n,
                   const char *after) {
    sl_buf_puts(out, before);
    for (uint32_t i = 0; i < n; i++) {
        sl_buf_puts(out, i ? "," : "");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        sl_buf_printf(out, fmt, i);
#pragma GCC diagnostic pop
    }
    sl_buf_puts(out, after);
}

/* Each ceiling: at it, and beyond. */
static void ceilings(void **state) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(ARENA_BYTES);
    _cleanup_(sl_buf_done) struct sl_buf in = SL_BUF(8 * SL_POOL_MAX_BYTES);
    struct sl_pool_payload p;
    struct sl_err err = {0};

    (void)state;
    repeat(&in, "{\"quotas\":{", "\"x.io/r%u\":1", SL_POOL_MAX_RESOURCES, "}}");
    assert_int_equal(sl_pool_payload_read(in.s, in.len, &a, &p, &err), 0);
    assert_int_equal(p.n_quotas, SL_POOL_MAX_RESOURCES);
    sl_buf_clear(&in);
    repeat(&in, "{\"quotas\":{", "\"x.io/r%u\":1", SL_POOL_MAX_RESOURCES + 1, "}}");
    refuse(in.s, in.len, "quotas: more than 32 resources");
    sl_buf_clear(&in);
    repeat(&in, "{\"labels\":[", "\"l%u=1\"", SL_POOL_MAX_LABELS + 3, "]}");
    assert_int_equal(sl_pool_payload_read(in.s, in.len, &a, &p, &err), 0);
    assert_int_equal(p.n_labels, SL_POOL_MAX_LABELS);
    assert_int_equal(p.n_left_out, 3);
    sl_buf_clear(&in);
    repeat(&in, "{\"taints\":[", "\"t%u:NoSchedule\"", SL_POOL_MAX_TAINTS, "]}");
    assert_int_equal(sl_pool_payload_read(in.s, in.len, &a, &p, &err), 0);
    assert_int_equal(p.n_taints, SL_POOL_MAX_TAINTS);
    sl_buf_clear(&in);
    repeat(&in, "{\"x\":[", "%u", 10000, "]}");
    refuse(in.s, in.len, "more than 8192 values");
    sl_buf_clear(&in);
    repeat(&in, "{\"x\":[", "\"some longer text %u\"", 8000, "]}");
    refuse(in.s, in.len, "expected at most 65536");
    sl_buf_clear(&in);
    sl_buf_puts(&in, "{\"x\":");
    for (uint32_t i = 0; i < 1000; i++)
        sl_buf_putc(&in, '[');
    for (uint32_t i = 0; i < 1000; i++)
        sl_buf_putc(&in, ']');
    sl_buf_putc(&in, '}');
    refuse(in.s, in.len, "nested deeper than");
}

/* A message repeats little of what it is about, and no half characters. */
static void excerpts(void **state) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(ARENA_BYTES);
    _cleanup_(sl_buf_done) struct sl_buf in = SL_BUF(SL_POOL_MAX_BYTES);
    struct sl_pool_payload p;
    struct sl_err err = {0};

    (void)state;
    sl_buf_puts(&in, "{\"labels\":[\"x");
    for (uint32_t i = 0; i < 1000; i++)
        sl_buf_puts(&in, "\xc3\xa9");
    sl_buf_puts(&in, "\"]}");
    assert_int_equal(sl_pool_payload_read(in.s, in.len, &a, &p, &err), 0);
    assert_true(strlen(p.left_out) < 120);
    const char *cut = strstr(p.left_out, "\": ");
    assert_true(cut && (unsigned char)cut[-1] == 0xa9 && (unsigned char)cut[-2] == 0xc3);
}

static void sameness(void **state) {
    static const struct {
        const char *a, *b;
        bool same;
    } pairs[] = {
        {"{\"quotas\":{\"cpu\":\"1\"}}", "{\"cpu\":1.0}", true},
        {"{\"quotas\":{\"memory\":\"1Gi\"}}", "{\"quotas\":{\"memory\":\"1024Mi\"}}", true},
        {"{\"quotas\":{\"cpu\":\"1\",\"pods\":1}}", "{\"quotas\":{\"pods\":1,\"cpu\":\"1000m\"}}",
         true},
        {"{\"quotas\":{\"cpu\":\"1\"}}", "{\"quotas\":{\"cpu\":\"2\"}}", false},
        {"{\"quotas\":{\"cpu\":\"0\"}}", "{}", false},
        {"{\"quotas\":{\"cpu\":\"1\"}}", "{\"quotas\":{\"memory\":\"1\"}}", false},
        {"{\"labels\":[\"a=1\",\"b\"]}", "{\"labels\":{\"b\":\"\",\"a\":\"1\"}}", true},
        {"{\"labels\":[\"a=1\"]}", "{\"labels\":[\"a=2\"]}", false},
        {"{\"labels\":[\"a=1\"]}", "{}", false},
        {"{\"taints\":[\"a:NoSchedule\"]}", "{\"taints\":[\"a=:NoSchedule\",\"x\"]}", true},
        {"{\"taints\":[\"a:NoSchedule\"]}", "{\"taints\":[\"a:NoExecute\"]}", false},
        {"{\"taints\":[\"a:NoSchedule\",\"b:NoSchedule\"]}",
         "{\"taints\":[\"b:NoSchedule\",\"a:NoSchedule\"]}", false},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(pairs); i++) {
        _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(ARENA_BYTES);
        struct sl_pool_payload p, q;
        struct sl_err err = {0};

        assert_int_equal(sl_pool_payload_read(pairs[i].a, strlen(pairs[i].a), &a, &p, &err), 0);
        assert_int_equal(sl_pool_payload_read(pairs[i].b, strlen(pairs[i].b), &a, &q, &err), 0);
        if (sl_pool_payload_same(&p, &q) != pairs[i].same)
            fail_msg("%s and %s", pairs[i].a, pairs[i].b);
    }
}

static void lookup(void **state) {
    static const char in[] = "{\"quotas\":{\"cpu\":\"1500m\",\"x.io/y\":3}}";
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(ARENA_BYTES);
    struct sl_pool_payload p;
    struct sl_err err = {0};

    (void)state;
    assert_int_equal(sl_pool_payload_read(in, sizeof in - 1, &a, &p, &err), 0);
    assert_null(sl_pool_payload_quota(&p, "memory"));
    assert_string_equal(sl_pool_payload_quota(&p, "cpu")->text, "1500m");
    assert_true(sl_pool_payload_quota(&p, "x.io/y")->amount == (sl_quantity)3 * SL_NANO);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken), cmocka_unit_test(what_is_refused),
        cmocka_unit_test(ceilings),      cmocka_unit_test(excerpts),
        cmocka_unit_test(sameness),      cmocka_unit_test(lookup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
