/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs without a socket, with a clock of our own: their statuses, what they leave unchanged,
 * reservations that begin, and each ceiling that a small graph can reach.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/match/verbs.h"
#include "lib/graphio/jobspec_read.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"

#define OUT_BYTES ((size_t)16 << 20)
#define T0 INT64_C(1700000000)

/* ---- the service and its clock ---- */

static int64_t now_s, now_ns;
static int64_t seconds(void) {
    return now_s;
}
static int64_t ticks(void) {
    return now_ns += 1000000;
}

static struct {
    struct sl_verbs *v;
    struct sl_buf body, out;
    yyjson_doc *doc; /* of the last answer */
    const char *allow;
    size_t out_bytes;
} fx;

static struct sl_verbs_options plain_options(void) {
    return (struct sl_verbs_options){
        .session = {.words = {[SL_SESSION_LOAD_FORMAT] = "jgf",
                              [SL_SESSION_SUBSYSTEMS] = "CA",
                              [SL_SESSION_POLICY] = "first",
                              [SL_SESSION_TRAVERSER] = "simple",
                              [SL_SESSION_FORMAT] = "jgf",
                              [SL_SESSION_GRAPH_FORMAT] = "dot"},
                    .results = stdout,
                    .out = stdout,
                    .err = stderr,
                    .ticks_ns = ticks},
        .now = seconds,
    };
}

static int set_up(void **state) {
    (void)state;
    now_s = T0;
    now_ns = 0;
    fx.out_bytes = OUT_BYTES;
    sl_buf_init(&fx.body, OUT_BYTES);
    sl_buf_init(&fx.out, OUT_BYTES);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    sl_verbs_freep(&fx.v);
    sl_buf_done(&fx.body);
    sl_buf_done(&fx.out);
    sl_json_docp(&fx.doc);
    return 0;
}

static void open_with(uint32_t max_jobs, uint64_t max_vertices) {
    struct sl_verbs_options o = plain_options();
    o.max_jobs = max_jobs;
    o.max_vertices = max_vertices;
    assert_int_equal(sl_verbs_new(&o, &fx.v), 0);
}

/* ---- requests ---- */

/* The status; the answer is in fx.doc, and is always one object. */
static int ask(const char *method, const char *path, const char *job, const char *body,
               size_t len) {
    const struct sl_verbs_request rq = {
        .method = method, .path = path, .job = job, .body = body, .len = len};

    sl_json_docp(&fx.doc);
    sl_buf_done(&fx.out);
    sl_buf_init(&fx.out, fx.out_bytes);
    int status = sl_verbs_answer(fx.v, &rq, &fx.out, &fx.allow);
    if (!sl_buf_full(&fx.out)) {
        fx.doc = sl_json_doc(sl_buf_str(&fx.out), fx.out.len);
        assert_non_null(fx.doc);
        assert_true(yyjson_is_obj(yyjson_doc_get_root(fx.doc)));
    }
    return status;
}

static int post(const char *path, const char *body) {
    return ask("POST", path, NULL, body, strlen(body));
}

static yyjson_val *answer(void) {
    return yyjson_doc_get_root(fx.doc);
}

static void says(const char *status, const char *words) {
    assert_string_equal(sl_json_str(answer(), "status"), status);
    if (!strstr(sl_json_str(answer(), "error"), words))
        fail_msg("expected '%s' in %s", words, sl_buf_str(&fx.out));
}

/* Nodes of one rack, with two cores each. */
static void put_graph(struct sl_buf *out, uint32_t nodes) {
    struct sl_jw w = SL_JW(out);
    uint32_t id = 0;

    sl_jw_object(&w, NULL);
    sl_jw_object(&w, "graph");
    sl_jw_array(&w, "nodes");
    for (uint32_t n = 0; n <= nodes; n++)
        for (uint32_t k = 0; k < (n == 0 ? 1 : 3); k++) {
            sl_jw_object(&w, NULL);
            sl_jw_strf(&w, "id", "%u", id++);
            sl_jw_object(&w, "metadata");
            sl_jw_str(&w, "type", n == 0 ? "cluster" : k == 0 ? "node" : "core");
            sl_jw_int(&w, "id", n == 0 ? 0 : k == 0 ? n - 1 : k - 1);
            sl_jw_int(&w, "rank", n == 0 ? -1 : (int64_t)n - 1);
            sl_jw_object(&w, "paths");
            if (n == 0)
                sl_jw_str(&w, "containment", "/cluster0");
            else if (k == 0)
                sl_jw_strf(&w, "containment", "/cluster0/node%u", n - 1);
            else
                sl_jw_strf(&w, "containment", "/cluster0/node%u/core%u", n - 1, k - 1);
            sl_jw_end_to(&w, 3);
        }
    sl_jw_end(&w);
    sl_jw_array(&w, "edges");
    for (uint32_t n = 1; n <= nodes; n++)
        for (uint32_t k = 0; k < 3; k++) {
            sl_jw_object(&w, NULL);
            sl_jw_strf(&w, "source", "%u", k == 0 ? 0 : 3 * n - 2);
            sl_jw_strf(&w, "target", "%u", 3 * n - 2 + k);
            sl_jw_end(&w);
        }
    sl_jw_end_to(&w, 0);
}

static int init_policy(uint32_t nodes, const char *policy) {
    struct sl_jw w = SL_JW(&fx.body);

    sl_buf_clear(&fx.body);
    sl_jw_object(&w, NULL);
    if (policy)
        sl_jw_str(&w, "policy", policy);
    put_graph(sl_jw_begin_str(&w, "jgf"), nodes);
    sl_jw_end_str(&w);
    sl_jw_end(&w);
    return ask("POST", "/v1/init", NULL, sl_buf_str(&fx.body), fx.body.len);
}

static void init(uint32_t nodes) {
    assert_int_equal(init_policy(nodes, NULL), 200);
    says("INIT_SUCCESS", "");
}

static char spec_text[1024];
/* Whole nodes, so many, for so many seconds. */
static const char *spec_of(uint32_t nodes, int64_t duration) {
    (void)!snprintf(spec_text, sizeof spec_text,
                    "version: 9999\n"
                    "resources:\n"
                    "  - {type: slot, count: %u, label: x, with: [{type: node, count: 1, "
                    "exclusive: true, with: [{type: core, count: 2}]}]}\n"
                    "tasks: [{command: [app], slot: x, count: {per_slot: 1}}]\n"
                    "attributes: {system: {duration: %" PRId64 "}}\n",
                    nodes, duration);
    return spec_text;
}

static int match_as(const char *spec, const char *request, bool reservation) {
    struct sl_jw w = SL_JW(&fx.body);

    sl_buf_clear(&fx.body);
    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "jobspec", spec);
    if (request)
        sl_jw_str(&w, "request", request);
    if (reservation)
        sl_jw_bool(&w, "reservation", true);
    sl_jw_end(&w);
    return ask("POST", "/v1/match", NULL, sl_buf_str(&fx.body), fx.body.len);
}

static int match_nodes(uint32_t nodes, int64_t duration, bool reservation) {
    return match_as(spec_of(nodes, duration), NULL, reservation);
}

static int cancel(int64_t id) {
    char body[64];
    (void)!snprintf(body, sizeof body, "{\"jobID\":%" PRId64 "}", id);
    return post("/v1/cancel", body);
}

static int part(int64_t id, const char *allocation, const char *format) {
    struct sl_jw w = SL_JW(&fx.body);

    sl_buf_clear(&fx.body);
    sl_jw_object(&w, NULL);
    sl_jw_int(&w, "jobID", id);
    sl_jw_str(&w, "allocation", allocation);
    if (format)
        sl_jw_str(&w, "format", format);
    sl_jw_end(&w);
    return ask("POST", "/v1/partial-cancel", NULL, sl_buf_str(&fx.body), fx.body.len);
}

static const char *state_of(const char *id) {
    assert_int_equal(ask("GET", "/v1/info", id, "", 0), 200);
    return sl_json_str(answer(), "state");
}

static size_t n_listed(void) {
    assert_int_equal(ask("GET", "/v1/info", NULL, "", 0), 200);
    return sl_json_size(sl_json_get(answer(), "jobs"));
}

/* ---- tests ---- */

static void test_life(void **state) {
    (void)state;
    open_with(0, 0);
    assert_int_equal(ask("GET", "/healthz", NULL, "", 0), 200);
    assert_false(sl_json_bool(answer(), "initialized", true));
    assert_int_equal(match_nodes(1, 60, false), 409);
    says("MATCH_ERROR", "/v1/init");
    init(2);
    assert_int_equal(ask("HEAD", "/healthz", NULL, "", 0), 200);
    assert_true(sl_json_bool(answer(), "initialized", false));

    assert_int_equal(match_nodes(1, 60, false), 200);
    says("MATCH_SUCCESS", "");
    assert_int_equal(sl_json_int(answer(), "jobid", 0), 1);
    assert_int_equal(sl_json_int(answer(), "at", 0), T0);
    assert_false(sl_json_bool(answer(), "reserved", true));
    const char *text = sl_json_str(answer(), "allocation");
    yyjson_doc *jgf = sl_json_doc(text, strlen(text));
    assert_int_equal(sl_json_size(sl_json_at(yyjson_doc_get_root(jgf), "graph.nodes")), 4);
    yyjson_doc_free(jgf);

    now_s += 10;
    assert_int_equal(match_nodes(2, 60, true), 200);
    assert_int_equal(sl_json_int(answer(), "jobid", 0), 2);
    assert_int_equal(sl_json_int(answer(), "at", 0), T0 + 60);
    assert_true(sl_json_bool(answer(), "reserved", false));
    assert_string_equal(state_of("2"), "RESERVED");
    assert_int_equal(sl_json_int(answer(), "duration", 0), 60);
    assert_true(strstr(sl_json_str(answer(), "allocation"), "node1") != NULL);

    assert_int_equal(init_policy(2, NULL), 409);
    says("INIT_DENIED", "cancel");
    assert_int_equal(cancel(1), 200);
    says("CANCEL_SUCCESS", "");
    assert_int_equal(cancel(2), 200);
    assert_string_equal(state_of("1"), "CANCELED");
    assert_string_equal(sl_json_str(answer(), "allocation"), "");
    assert_int_equal(n_listed(), 2);
    init(3);
    assert_int_equal(n_listed(), 0);
    assert_int_equal(match_nodes(3, 60, false), 200);
    assert_int_equal(sl_json_int(answer(), "jobid", 0), 3); /* ids go on */
}

/* An empty allocation is a denial, and its two reasons differ, whatever the request. */
static void test_denied(void **state) {
    (void)state;
    static const char *const requests[] = {NULL, "allocate", "allocate_with_satisfiability",
                                           "without_allocating"};
    open_with(0, 0);
    init(2);
    assert_int_equal(match_nodes(1, 0, false), 200); /* until the end of the graph's time */
    for (size_t i = 0; i < SL_LEN(requests); i++) {
        assert_int_equal(match_as(spec_of(2, 60), requests[i], false), 200);
        says("MATCH_DENIED", "at present");
        assert_string_equal(sl_json_str(answer(), "reason"), "busy");
        assert_string_equal(sl_json_str(answer(), "allocation"), "");
        assert_int_equal(match_as(spec_of(3, 60), requests[i], false), 200);
        says("MATCH_DENIED", "even if");
        assert_string_equal(sl_json_str(answer(), "reason"), "never");
    }
    assert_int_equal(match_nodes(3, 60, true), 200);
    assert_string_equal(sl_json_str(answer(), "reason"), "never");
    assert_int_equal(match_nodes(1, 60, false), 200);
    assert_int_equal(sl_json_int(answer(), "jobid", 0), 2); /* none was used up */
    /* Looking takes nothing, and has no id. */
    assert_int_equal(cancel(2), 200);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(match_as(spec_of(1, 60), "without_allocating", false), 200);
        says("MATCH_SUCCESS", "");
        assert_int_equal(sl_json_int(answer(), "jobid", -1), 0);
    }
}

static void test_satisfy(void **state) {
    (void)state;
    char body[2048];
    open_with(0, 0);
    init(2);
    assert_int_equal(match_nodes(2, 60, false), 200);
    for (uint32_t n = 2; n <= 3; n++) {
        struct sl_jw w = SL_JW(&fx.body);
        sl_buf_clear(&fx.body);
        sl_jw_object(&w, NULL);
        sl_jw_str(&w, "jobspec", spec_of(n, 60));
        sl_jw_end(&w);
        (void)!snprintf(body, sizeof body, "%s", sl_buf_str(&fx.body));
        assert_int_equal(post("/v1/satisfy", body), 200);
        says(n == 2 ? "MATCH_SUCCESS" : "MATCH_DENIED", "");
    }
    assert_int_equal(n_listed(), 1);
}

/* A reservation begins when its time has come and those before it are gone; not before. */
static void test_reservations_begin(void **state) {
    (void)state;
    open_with(0, 0);
    init(1);
    assert_int_equal(match_nodes(1, 60, false), 200);
    assert_int_equal(match_nodes(1, 60, true), 200);
    assert_int_equal(sl_json_int(answer(), "at", 0), T0 + 60);
    assert_int_equal(match_nodes(1, 60, true), 200);
    assert_int_equal(sl_json_int(answer(), "at", 0), T0 + 120);
    now_s = T0 + 61;
    assert_string_equal(state_of("2"), "RESERVED"); /* the first one overruns */
    assert_int_equal(match_nodes(1, 1, false), 200);
    says("MATCH_DENIED", "");
    assert_int_equal(part(2, "{\"graph\":{\"nodes\":[],\"edges\":[]}}", NULL), 409);
    says("CANCEL_DENIED", "reservation");
    assert_int_equal(cancel(1), 200);
    assert_string_equal(state_of("2"), "ALLOCATED");
    assert_string_equal(state_of("3"), "RESERVED");
    now_s = T0 + 1000; /* both are due: the second overruns, the third waits */
    assert_string_equal(state_of("3"), "RESERVED");
    assert_int_equal(cancel(2), 200);
    assert_string_equal(state_of("3"), "ALLOCATED");
    now_s = T0 - 5000; /* a clock that goes back stands still */
    assert_int_equal(cancel(3), 200);
    assert_int_equal(match_nodes(1, 60, false), 200);
    assert_int_equal(sl_json_int(answer(), "at", 0), T0 + 1000);
}

static void test_partial_cancel(void **state) {
    (void)state;
    static const char node1[] = "{\"graph\":{\"nodes\":["
                                "{\"id\":\"4\",\"metadata\":{\"type\":\"node\",\"id\":1,\"rank\":1,"
                                "\"paths\":{\"containment\":\"/cluster0/node1\"}}}],\"edges\":[]}}";
    static const char rank0[] = "{\"version\":1,\"execution\":{\"R_lite\":[{\"rank\":\"0\","
                                "\"children\":{\"core\":\"0-1\"}}],\"starttime\":0,"
                                "\"expiration\":0,\"nodelist\":[\"node0\"]}}";
    open_with(0, 0);
    init(3);
    assert_int_equal(match_nodes(2, 60, false), 200);
    const char *got = sl_json_str(answer(), "allocation");
    bool has1 = strstr(got, "/cluster0/node1") != NULL;
    assert_true(has1);
    bool has0 = strstr(got, "/cluster0/node0") != NULL;
    assert_int_equal(match_nodes(2, 60, false), 200);
    says("MATCH_DENIED", "");
    assert_int_equal(part(1, "{\"graph\":", NULL), 400);
    says("CANCEL_REQUEST_ERROR", "allocation:1:");
    assert_int_equal(part(1, node1, "grug"), 400);
    assert_int_equal(part(7, node1, NULL), 404);
    says("CANCEL_ERROR", "no job 7");
    assert_int_equal(part(1, node1, "jgf"), 200);
    says("CANCEL_SUCCESS", "");
    assert_false(sl_json_bool(answer(), "full", true));
    assert_int_equal(part(1, node1, NULL), 409); /* it has that no more */
    says("CANCEL_DENIED", "");
    assert_string_equal(state_of("1"), "ALLOCATED");
    assert_int_equal(match_nodes(2, 60, false), 200);
    says("MATCH_SUCCESS", "");
    assert_int_equal(part(has0 ? 1 : 2, rank0, "rv1exec"), 200);
    assert_true(sl_json_bool(answer(), "full", !has0) == has0);
    if (has0)
        assert_string_equal(state_of("1"), "CANCELED");
}

static void test_policy(void **state) {
    (void)state;
    open_with(0, 0);
    assert_int_equal(init_policy(3, "nonsense"), 400);
    says("INIT_ERROR", "can't create matcher");
    assert_int_equal(init_policy(3, "lonode"), 200);
    assert_int_equal(match_nodes(1, 60, false), 200);
    assert_true(strstr(sl_json_str(answer(), "allocation"), "/cluster0/node0") != NULL);
    assert_int_equal(cancel(1), 200);
    assert_int_equal(init_policy(3, "nonsense"), 400); /* the graph before it stays */
    assert_int_equal(match_nodes(3, 60, false), 200);
    says("MATCH_SUCCESS", "");
    assert_int_equal(cancel(2), 200);
    assert_int_equal(init_policy(3, "policy=high node_centric=true"), 200);
    assert_int_equal(match_nodes(1, 60, false), 200);
    assert_true(strstr(sl_json_str(answer(), "allocation"), "/cluster0/node2") != NULL);
}

/* Bodies that are wrong: the status, the word, and what the message says. */
static void test_bad_bodies(void **state) {
    (void)state;
    static const struct {
        const char *path, *body;
        int status;
        const char *word, *message;
    } rows[] = {
        {"/v1/init", "", 400, "INIT_ERROR", "body: "},
        {"/v1/init", "[]", 400, "INIT_ERROR", "expected a JSON object"},
        {"/v1/init", "{}", 400, "INIT_ERROR", "jgf: expected"},
        {"/v1/init", "{\"jgf\":{}}", 400, "INIT_ERROR", "jgf: expected a string"},
        {"/v1/init", "{\"jgf\":\"\"}", 400, "INIT_ERROR", "jgf"},
        {"/v1/init", "{\"jgf\":\"{}\",\"policy\":7}", 400, "INIT_ERROR", "policy: expected a s"},
        {"/v1/init", "{\"jgf\":\"{}\",\"policy\":\"a\\u0000b\"}", 400, "INIT_ERROR", "policy: "},
        {"/v1/init", "{\"jgf\":\"\\u0000\"}", 400, "INIT_ERROR", "jgf:1:"},
        {"/v1/init", "{\"jgf\":\"{}\",\"jgf\":\"{}\"}", 400, "INIT_ERROR", "more than once"},
        {"/v1/match", "{\"jobspec\":", 400, "MATCH_ERROR", "body: "},
        {"/v1/match", "{\"jobspec\":null}", 400, "MATCH_ERROR", "jobspec: expected"},
        {"/v1/match", "{\"jobspec\":[]}", 400, "MATCH_ERROR", "expected a string"},
        {"/v1/match", "{\"jobspec\":\"\"}", 400, "MATCH_ERROR", "jobspec:"},
        {"/v1/match", "{\"jobspec\":\"a\\u0000b\"}", 400, "MATCH_ERROR", "jobspec:"},
        {"/v1/match", "{\"jobSpec\":\"\"}", 400, "MATCH_ERROR", "unknown field 'jobSpec'"},
        {"/v1/match", "{\"jobspec\":\"x\",\"reservation\":1}", 400, "MATCH_ERROR", "true or"},
        {"/v1/match", "{\"jobspec\":\"x\",\"request\":\"steal\"}", 400, "MATCH_ERROR", "allocate,"},
        {"/v1/match", "{\"jobspec\":\"x\",\"request\":\"satisfiability\",\"reservation\":true}",
         400, "MATCH_ERROR", "reservation: "},
        {"/v1/match", "\xff\xfe", 400, "MATCH_ERROR", "body: "},
        {"/v1/satisfy", "{\"jobspec\":\"{\"}", 400, "MATCH_ERROR", "jobspec:"},
        {"/v1/cancel", "{}", 400, "CANCEL_REQUEST_ERROR", "jobID: "},
        {"/v1/cancel", "{\"jobID\":\"1\"}", 400, "CANCEL_REQUEST_ERROR", "jobID: "},
        {"/v1/cancel", "{\"jobID\":-1}", 400, "CANCEL_REQUEST_ERROR", "jobID: "},
        {"/v1/cancel", "{\"jobID\":1.5}", 400, "CANCEL_REQUEST_ERROR", "jobID: "},
        {"/v1/cancel", "{\"jobID\":1e3}", 400, "CANCEL_REQUEST_ERROR", "jobID: "},
        {"/v1/cancel", "{\"jobID\":9223372036854775808}", 400, "CANCEL_REQUEST_ERROR", "jobID: "},
        {"/v1/cancel", "{\"jobID\":99999999999999999999999}", 400, "CANCEL_REQUEST_ERROR", "jobI"},
        {"/v1/cancel", "{\"jobID\":9223372036854775807}", 200, "CANCEL_SUCCESS", ""},
        {"/v1/cancel", "{\"jobID\":5,\"noent_ok\":false}", 404, "CANCEL_ERROR", "no job 5"},
        {"/v1/partial-cancel", "{\"jobID\":1}", 400, "CANCEL_REQUEST_ERROR", "allocation: "},
        {"/v1/info", "{\"jobID\":12}", 404, "INFO_ERROR", "no job 12"},
        {"/v1/info", "{\"jobID\":true}", 400, "INFO_ERROR", "jobID: "},
        {"/v1/info", "[[[[]]]]", 400, "INFO_ERROR", "object"},
        {"/v1/info", "{}", 200, "INFO_SUCCESS", ""},
    };
    open_with(0, 0);
    init(1);
    for (size_t i = 0; i < SL_LEN(rows); i++) {
        int status = post(rows[i].path, rows[i].body);
        if (status != rows[i].status)
            fail_msg("%s %s: %d, %s", rows[i].path, rows[i].body, status, sl_buf_str(&fx.out));
        says(rows[i].word, rows[i].message);
    }
    assert_int_equal(ask("POST", "/v1/cancel", NULL, "{\"jobID\":1}\0", 12), 400);
    assert_int_equal(n_listed(), 0);
    assert_int_equal(match_nodes(1, 60, false), 200); /* nothing was taken, and nothing is broken */
    says("MATCH_SUCCESS", "");
    assert_int_equal(match_nodes(1, -5, false), 400);
    assert_int_equal(match_nodes(1, INT64_C(4000000000), false), 400);
    says("MATCH_ERROR", "duration");
}

static void test_routes(void **state) {
    (void)state;
    static const char *const bad_ids[] = {"", "x", "-1", "1x", " 1", "9999999999999999999"};
    open_with(0, 0);
    assert_int_equal(ask("GET", "/v1/match", NULL, "", 0), 405);
    assert_string_equal(fx.allow, "POST");
    assert_int_equal(ask("DELETE", "/v1/info", NULL, "", 0), 405);
    assert_string_equal(fx.allow, "GET, HEAD, POST");
    assert_int_equal(ask("GE", "/v1/info", NULL, "", 0), 405);
    assert_int_equal(ask("", "/healthz", NULL, "", 0), 405);
    assert_int_equal(ask("GET", "/", NULL, "", 0), 404);
    assert_null(fx.allow);
    assert_int_equal(ask("POST", "/v1/init/", NULL, "{}", 2), 404);
    assert_int_equal(ask("GET", "/v1/info", NULL, "", 0), 200); /* without a graph as well */
    for (size_t i = 0; i < SL_LEN(bad_ids); i++)
        assert_int_equal(ask("GET", "/v1/info", bad_ids[i], "", 0), 400);
    assert_int_equal(ask("GET", "/v1/info", "1", "", 0), 404);
}

/* ---- ceilings ---- */

static void test_many_values(void **state) {
    (void)state;
    open_with(0, 0);
    sl_buf_puts(&fx.body, "{\"jobspec\":[");
    for (uint32_t i = 0; i < SL_VERBS_BODY_VALUES; i++)
        sl_buf_puts(&fx.body, i ? ",0" : "0");
    sl_buf_puts(&fx.body, "]}");
    assert_int_equal(post("/v1/match", sl_buf_str(&fx.body)), 400);
    says("MATCH_ERROR", "values");
    sl_buf_clear(&fx.body);
    for (uint32_t i = 0; i < 100000; i++)
        sl_buf_putc(&fx.body, '[');
    assert_int_equal(post("/v1/match", sl_buf_str(&fx.body)), 400);
    says("MATCH_ERROR", "");
}

static void test_long_texts(void **state) {
    (void)state;
    struct sl_jw w = SL_JW(&fx.body);
    char policy[SL_VERBS_POLICY_BYTES + 2];

    open_with(0, 0);
    init(1);
    sl_buf_clear(&fx.body);
    sl_jw_object(&w, NULL);
    struct sl_buf *text = sl_jw_begin_str(&w, "jobspec");
    for (size_t i = 0; i <= SL_GRAPHIO_JOBSPEC_MAX_BYTES; i++)
        sl_buf_putc(text, '#');
    sl_jw_end_str(&w);
    sl_jw_end(&w);
    assert_int_equal(ask("POST", "/v1/match", NULL, sl_buf_str(&fx.body), fx.body.len), 400);
    says("MATCH_ERROR", "at most 4194304 bytes");
    memset(policy, 'p', sizeof policy - 1);
    policy[sizeof policy - 1] = '\0';
    assert_int_equal(init_policy(1, policy), 400);
    says("INIT_ERROR", "at most 256 bytes");
}

static void test_too_many_jobs(void **state) {
    (void)state;
    open_with(3, 0);
    init(9);
    for (int i = 0; i < 3; i++)
        assert_int_equal(match_nodes(1, 60, false), 200);
    assert_int_equal(match_nodes(1, 60, false), 503);
    says("MATCH_ERROR", "3 jobs");
    assert_int_equal(match_as(spec_of(1, 60), "without_allocating", false), 200);
    assert_int_equal(cancel(2), 200);
    assert_int_equal(match_nodes(1, 60, false), 200);
    says("MATCH_SUCCESS", "");
}

/* What a match beyond the ceiling took is free again. */
static void test_too_many_vertices(void **state) {
    (void)state;
    open_with(0, 10); /* three for a node, and the cluster */
    init(9);
    assert_int_equal(match_nodes(3, 60, false), 200);
    says("MATCH_SUCCESS", "");
    assert_int_equal(match_nodes(1, 60, false), 503);
    says("MATCH_ERROR", "more than 10 vertices");
    assert_int_equal(cancel(1), 200);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(match_nodes(9, 60, false), 503);
        assert_int_equal(match_nodes(2, 60, true), 200);
        assert_false(sl_json_bool(answer(), "reserved", true));
        assert_int_equal(cancel(sl_json_int(answer(), "jobid", 0)), 200);
    }
}

/* A client that cannot have the answer does not have the job. */
static void test_no_room_for_the_answer(void **state) {
    (void)state;
    open_with(0, 0);
    init(2);
    fx.out_bytes = 300;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(match_nodes(2, 60, false), 503);
        says("MATCH_ERROR", "unread");
    }
    fx.out_bytes = OUT_BYTES;
    assert_int_equal(n_listed(), 0);
    assert_int_equal(match_nodes(2, 60, false), 200);
    says("MATCH_SUCCESS", "");
}

static void test_cancelled_jobs_go(void **state) {
    (void)state;
    open_with(0, 0);
    init(2);
    assert_int_equal(match_nodes(1, 0, false), 200);
    for (uint32_t i = 0; i < 3 * SL_VERBS_CANCELED; i++) {
        assert_int_equal(match_nodes(1, 60, false), 200);
        assert_int_equal(sl_json_int(answer(), "jobid", 0), i + 2);
        assert_int_equal(cancel(i + 2), 200);
    }
    size_t n = n_listed();
    assert_true(n > SL_VERBS_CANCELED && n <= 2 * SL_VERBS_CANCELED + 1);
    assert_string_equal(state_of("1"), "ALLOCATED");
    assert_string_equal(state_of("3073"), "CANCELED");
    assert_int_equal(ask("GET", "/v1/info", "2", "", 0), 404);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_life),
        TEST(test_denied),
        TEST(test_satisfy),
        TEST(test_reservations_begin),
        TEST(test_partial_cancel),
        TEST(test_policy),
        TEST(test_bad_bodies),
        TEST(test_routes),
        TEST(test_many_values),
        TEST(test_long_texts),
        TEST(test_too_many_jobs),
        TEST(test_too_many_vertices),
        TEST(test_no_room_for_the_answer),
        TEST(test_cancelled_jobs_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
