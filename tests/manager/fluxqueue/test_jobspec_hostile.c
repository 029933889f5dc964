/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects and jobspecs that were made to hurt: they are refused with a reason, in bounded time and
 * memory, and nothing is left behind. Each ceiling is passed by one.
 */
#include "jobspec_fixture.h"

static const struct fx_node one[] = {
    {.name = "n0", .props = "a a=1 taint:x=y:NoSchedule", .core = 4000, .memory_mi = 4096}};

/* The object is refused, and the message begins so; "": it is taken, and compiles. */
static void object(const char *text, size_t len, uint32_t pods, int want, const char *message) {
    _cleanup_(sl_buf_done) struct sl_buf out = SL_BUF(FQ_MAX_JOBSPEC);
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(100000);
    struct sl_graph *g = fx_graph(one, SL_LEN(one));
    struct sl_match_request *q = NULL;
    struct fq_jobspec_info info;
    struct sl_err err = {0};
    yyjson_doc *d = NULL;

    if (sl_json_read(text, len, &d, &err) < 0)
        fail_msg("%s", err.text);
    int r = fq_jobspec_write(SL_FLUX_POD, yyjson_doc_get_root(d), pods, &fx_rack, &out, &err);
    if (r >= 0)
        r = fq_jobspec_compile(g, NULL, out.s, out.len, 0, &a, &info, &q, &err);
    else
        assert_int_equal(out.len, 0);
    if (strncmp(err.text, message, strlen(message)) != 0)
        fail_msg("got \"%s\"\nwant \"%s\"", err.text, message);
    assert_int_equal(r, want);
    sl_match_request_free(q);
    sl_graph_free(g);
    yyjson_doc_free(d);
}

#define BEGIN "{\"metadata\":{\"name\":\"a\"},\"spec\":{"

/* 'item' so many times in a list between two texts. */
static void many(const char *before, const char *item, size_t n, const char *after, int want,
                 const char *message) {
    struct sl_buf b = SL_BUF((size_t)64 << 20);

    sl_buf_puts(&b, before);
    for (size_t i = 0; i < n; i++) {
        sl_buf_puts(&b, i > 0 ? "," : "");
        sl_buf_printf(&b, "%s", item);
    }
    sl_buf_puts(&b, after);
    assert_false(sl_buf_full(&b));
    object(b.s, b.len, 1, want, message);
    sl_buf_done(&b);
}

#define REQUIRED "\"requiredDuringSchedulingIgnoredDuringExecution\""

static void too_many(void **state) {
    (void)state;
    many(BEGIN "\"tolerations\":[", "{\"operator\":\"Exists\"}", 1000, "]}}", 0, "");
    many(BEGIN "\"tolerations\":[", "{\"operator\":\"Exists\"}", 1025, "]}}", SL_EINVAL,
         "tolerations: expected at most 1024");
    many(BEGIN "\"tolerations\":[", "{\"operator\":\"Exists\"}", 100000, "]}}", SL_ELIMIT, "");
    many(BEGIN "\"tolerations\":[",
         "{\"operator\":\"Exists\",\"key\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
         1024, "]}}", SL_ELIMIT, "expected a jobspec of at most 65536 bytes");
    many(BEGIN "\"containers\":[", "{}", 100000, "]}}", SL_ELIMIT, "");
    many(BEGIN "\"affinity\":{\"nodeAffinity\":{" REQUIRED ":{\"nodeSelectorTerms\":[",
         "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}]}", 1025, "]}}}}}",
         SL_EINVAL, "nodeSelectorTerms: expected at most 1024");
    many(BEGIN "\"affinity\":{\"nodeAffinity\":{" REQUIRED ":{\"nodeSelectorTerms\":[{"
               "\"matchFields\":[",
         "{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n0\"]}", 65, "]}]}}}}}",
         SL_ELIMIT, "matchFields: more than 64 of them");
    many(BEGIN "\"affinity\":{\"podAntiAffinity\":{" REQUIRED ":[",
         "{\"topologyKey\":\"kubernetes.io/hostname\",\"labelSelector\":{}}", 65, "]}}}}",
         SL_ELIMIT, "podAntiAffinity: more than 64 terms");
    many(BEGIN "\"affinity\":{\"podAntiAffinity\":{" REQUIRED ":[{\"labelSelector\":{"
               "\"matchExpressions\":[",
         "{}", 100000, "]}}]}}}}", SL_ELIMIT,
         "podAntiAffinity: a selector of more than 4096 values");
    many(BEGIN "\"topologySpreadConstraints\":[", "{}", 65, "]}}", SL_ELIMIT,
         "topologySpreadConstraints: more than 64 of them");
    many(BEGIN "\"affinity\":{\"nodeAffinity\":{" REQUIRED ":{\"nodeSelectorTerms\":[{"
               "\"matchExpressions\":[",
         "{\"key\":\"a\",\"operator\":\"Gt\",\"values\":[\"5\"]}", 17, "]}]}}}}}", SL_ELIMIT,
         "properties: more than 16 comparisons");
    many(BEGIN "\"affinity\":{\"nodeAffinity\":{" REQUIRED ":{\"nodeSelectorTerms\":[{"
               "\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[",
         "\"5\"", 1024, "]}]}]}}}}}", 0, "");
}

static void strange(void **state) {
    static const struct {
        const char *spec;
        int code;
        const char *message;
    } rows[] = {
        {"\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1e30\"}}}]", SL_EINVAL,
         "cpu: expected at most 4294967295m in one pod"},
        {"\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"-1\"}}}]", SL_EINVAL,
         "cpu: must be greater than or equal to 0"},
        {"\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"one\"}}}]", SL_EINVAL, "cpu: "},
        {"\"containers\":[{\"resources\":{\"requests\":{\"cpu\":{}}}}]", SL_EINVAL, "cpu: "},
        {"\"containers\":[{\"resources\":{\"requests\":{\"a/b\":\"1e18\"}}}]", SL_EINVAL,
         "a/b: expected at most 4294967295 in one pod"},
        {"\"containers\":[{\"resources\":{\"requests\":{\"a b\":1}}}]", SL_EINVAL, "requests: "},
        {"\"containers\":[{\"resources\":{\"requests\":{\"pods\":1}}}]", SL_EINVAL,
         "requests[pods]"},
        {"\"containers\":{}", 0, ""}, /* as if absent, as everywhere */
        {"\"nodeSelector\":{\"a\":\"b\\u0000c\"}", SL_EINVAL, ""},
        {"\"nodeSelector\":{\"a\":5}", SL_EINVAL, "a: expected a string"},
        {"\"nodeSelector\":{\"a\":\"\\\"]}\\nx: y\"}", SL_EINVAL,
         "a: expected the value of a label"},
        {"\"nodeSelector\":{\"taint:x=y:NoSchedule\":\"\"}", SL_EINVAL, "nodeSelector: expected"},
        {"\"nodeName\":\"a\\u0000b\"", SL_EINVAL, "metadata.name: expected the name of a node"},
        {"\"affinity\":5,\"tolerations\":\"x\"", SL_EINVAL, "tolerations: expected a list"},
        {"\"affinity\":{\"podAntiAffinity\":{" REQUIRED ":[5,null,[]]}}", 0, ""},
        {"\"affinity\":{\"podAffinity\":{" REQUIRED ":[5]}}", SL_EINVAL, "podAffinity: expected"},
        {"\"topologySpreadConstraints\":[5]", 0, ""},
        {"\"tolerations\":[{\"key\":\"a\\nb\",\"operator\":\"Exists\"}]", SL_EINVAL,
         "key: expected"},
        {"\"tolerations\":[{\"key\":\"a\",\"value\":\"x\\ny: [\\\"\"}]", 0, ""},
        {"\"activeDeadlineSeconds\":\"5\"", SL_EINVAL, "activeDeadlineSeconds: expected"},
        {"\"activeDeadlineSeconds\":9223372036854775807", 0, ""},
    };
    struct sl_buf b = SL_BUF(10000);
    (void)state;
    for (size_t i = 0; i < SL_LEN(rows); i++) {
        sl_buf_clear(&b);
        sl_buf_printf(&b, BEGIN "%s}}", rows[i].spec);
        object(b.s, b.len, 1, rows[i].code, rows[i].message);
    }
    sl_buf_done(&b);
}

/* ---- jobspecs ---- */

static void jobspec(const char *text, size_t len, int want, const char *message) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(100000);
    struct sl_graph *g = fx_graph(one, SL_LEN(one));
    struct fq_jobspec_info info;
    struct sl_match_request *q = NULL;
    struct sl_err err = {0};

    int r = fq_jobspec_compile(g, NULL, text, len, 0, &a, &info, &q, &err);
    if (strncmp(err.text, message, strlen(message)) != 0)
        fail_msg("got \"%s\"\nwant \"%s\"", err.text, message);
    assert_int_equal(r, want);
    sl_match_request_free(q);
    sl_graph_free(g);
}

#define GOOD                                                                                       \
    "version: 1\ntasks: []\nresources: [{type: slot, count: 1, label: a, with: [{type: core, "     \
    "count: 1}]}]\nattributes:\n  system:\n"

static void bad_jobspecs(void **state) {
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    (void)state;
    jobspec("", 0, SL_EINVAL, "jobspec:1: expected one jobspec, got 0 documents");
    jobspec("\0\0\0", 3, SL_EINVAL, "jobspec:");
    jobspec("{", 1, SL_EINVAL, "jobspec:");
    /* aliases that multiply */
    sl_buf_puts(&b, "a: &a [x,x,x,x,x,x,x,x,x,x]\n");
    for (char c = 'b'; c <= 'h'; c++)
        sl_buf_printf(&b, "%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c - 1, c - 1,
                      c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1);
    jobspec(b.s, b.len, SL_ELIMIT, "jobspec:");
    sl_buf_clear(&b);
    sl_buf_puts(&b, GOOD "    duration: 5 #");
    while (b.len <= FQ_MAX_JOBSPEC)
        sl_buf_putc(&b, 'x');
    jobspec(b.s, b.len, SL_ELIMIT, "jobspec: expected at most 65536 bytes, got 65537");
    jobspec(b.s, b.len - 1, 0, "");
    sl_buf_clear(&b);
    sl_buf_puts(&b, GOOD "    tolerations:\n");
    for (uint32_t i = 0; i < 1025; i++)
        sl_buf_puts(&b, "    - {operator: Exists}\n");
    jobspec(b.s, b.len, SL_EINVAL, "jobspec:7: tolerations: expected at most 1024");
    sl_buf_clear(&b);
    sl_buf_puts(&b, GOOD "    constraints: {hostlist: ['n[0-1048575]']}\n");
    jobspec(b.s, b.len, SL_ELIMIT, "");
    sl_buf_clear(&b);
    sl_buf_puts(&b, GOOD "    constraints: ");
    for (uint32_t i = 0; i < 1000; i++)
        sl_buf_puts(&b, "{not: [");
    jobspec(b.s, b.len, SL_ELIMIT, "jobspec:");
    sl_buf_done(&b);
}

static void too_many_taints(void **state) {
    struct sl_graph *g = fx_graph(one, SL_LEN(one));
    struct fq_universe u = {0};
    struct sl_err err;
    char text[64];
    sl_vtx node = sl_graph_by_path(g, "/cluster0/n0");
    (void)state;
    assert_int_not_equal(node, SL_VTX_NONE);
    for (uint32_t i = 1; i < FQ_MAX_TAINTS; i++) {
        int n = snprintf(text, sizeof(text), "taint:k%u=:NoExecute", i);
        assert_true(n > 0 && sl_vertex_set_prop(g, node, text, "", &err) >= 0);
    }
    assert_int_equal(fq_universe_init(&u, g, &err), 0);
    assert_int_equal(u.n_taints, FQ_MAX_TAINTS);
    fq_universe_done(&u);
    assert_true(sl_vertex_set_prop(g, node, "taint:more=:NoExecute", "", &err) >= 0);
    assert_int_equal(fq_universe_init(&u, g, &err), SL_ELIMIT);
    assert_string_equal(err.text, "nodes have more than 1024 different taints");
    assert_true(sl_vertex_del_prop(g, node, "taint:more=:NoExecute"));
    assert_true(sl_vertex_set_prop(g, node, "taint:k1=:NoExecute", "", &err) >= 0);
    assert_true(sl_vertex_del_prop(g, node, "taint:k1=:NoExecute"));
    assert_true(sl_vertex_set_prop(g, node, "taint:k=v:Sometimes", "", &err) >= 0);
    assert_int_equal(fq_universe_init(&u, g, &err), SL_EINVAL);
    sl_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many),
        cmocka_unit_test(strange),
        cmocka_unit_test(bad_jobspecs),
        cmocka_unit_test(too_many_taints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
