/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the verbs of sluice match, one after the other to one service: each line is a path
 * without its slash, a blank and the body. Every answer is one JSON object with a status that its
 * path has; no job is ever there twice, and when all are cancelled, another graph is let in.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/match/verbs.h"
#include "lib/json/json.h"

#define REQUESTS 64u
#define OUT_BYTES ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t now;
/* Each look is half a minute later, so that reservations begin. */
static int64_t seconds(void) {
    return now += 30;
}
static int64_t ticks(void) {
    return 0;
}

static struct sl_verbs *open_service(void) {
    const struct sl_verbs_options o = {
        .session = {.words = {[SL_SESSION_LOAD_FORMAT] = "jgf",
                              [SL_SESSION_SUBSYSTEMS] = "CA",
                              [SL_SESSION_POLICY] = "first",
                              [SL_SESSION_TRAVERSER] = "simple",
                              [SL_SESSION_FORMAT] = "jgf",
                              [SL_SESSION_GRAPH_FORMAT] = "dot"},
                    .results = stderr,
                    .out = stderr,
                    .err = stderr,
                    .ticks_ns = ticks},
        .now = seconds,
        .max_jobs = 16,
        .max_vertices = 2000,
    };
    struct sl_verbs *v = NULL;

    now = 1700000000;
    int r = sl_verbs_new(&o, &v);
    sl_assert(r >= 0);
    return v;
}

static void check_status(const char *path, int http, const char *word) {
    static const char *const words[] = {
        "INIT_SUCCESS", "INIT_ERROR",    "INIT_DENIED", "MATCH_SUCCESS",  "MATCH_ERROR",
        "MATCH_DENIED", "INFO_SUCCESS",  "INFO_ERROR",  "CANCEL_SUCCESS", "CANCEL_REQUEST_ERROR",
        "CANCEL_ERROR", "CANCEL_DENIED", "ok"};
    size_t i = 0;

    if (http == 404 && !*word)
        return;
    while (i < SL_LEN(words) && strcmp(words[i], word) != 0)
        i++;
    sl_assert(i < SL_LEN(words));
    bool good = strstr(word, "SUCCESS") || strcmp(word, "MATCH_DENIED") == 0 ||
                strcmp(path, "/healthz") == 0;
    sl_assert(good == (http == 200));
}

/* The parsed answer; freed by the caller. */
static yyjson_doc *ask(struct sl_verbs *v, const char *method, const char *path, const char *body,
                       size_t len, int *ret_http) {
    const struct sl_verbs_request rq = {.method = method, .path = path, .body = body, .len = len};
    struct sl_buf out;
    const char *allow;

    sl_buf_init(&out, OUT_BYTES);
    *ret_http = sl_verbs_answer(v, &rq, &out, &allow);
    sl_assert(!sl_buf_full(&out));
    yyjson_doc *doc = sl_json_doc(sl_buf_str(&out), out.len);
    sl_assert(doc && yyjson_is_obj(yyjson_doc_get_root(doc)));
    yyjson_val *root = yyjson_doc_get_root(doc);
    check_status(path, *ret_http, sl_json_str(root, "status"));
    sl_assert(*ret_http == 200 || *sl_json_str(root, "error"));
    sl_buf_done(&out);
    return doc;
}

/* Ids ascend, and those that are not cancelled are so few. */
static void check_jobs(struct sl_verbs *v, bool end) {
    int http;
    yyjson_doc *doc = ask(v, "GET", "/v1/info", "", 0, &http);
    yyjson_val *jobs = sl_json_get(yyjson_doc_get_root(doc), "jobs"), *job;
    int64_t last = 0;
    size_t i, max, live = 0;

    yyjson_arr_foreach (jobs, i, max, job) {
        int64_t id = sl_json_int(job, "jobid", -1);
        char body[64];
        sl_assert(id > last);
        last = id;
        live += strcmp(sl_json_str(job, "state"), "CANCELED") != 0;
        if (!end)
            continue;
        int n = snprintf(body, sizeof(body), "{\"jobID\":%lld}", (long long)id);
        sl_assert(n > 0 && (size_t)n < sizeof(body));
        yyjson_doc_free(ask(v, "POST", "/v1/cancel", body, (size_t)n, &http));
        sl_assert(http == 200);
    }
    sl_assert(live <= 16);
    yyjson_doc_free(doc);
}

static void run_line(struct sl_verbs *v, const char *line, size_t len) {
    const char *blank = memchr(line, ' ', len);
    size_t n = blank ? (size_t)(blank - line) : len;
    char path[32] = "/";
    int http;

    if (n == 0 || n + 2 > sizeof(path) || memchr(line, '\0', n))
        return;
    memcpy(path + 1, line, n);
    path[n + 1] = '\0';
    const char *body = blank ? blank + 1 : "";
    size_t body_len = blank ? len - n - 1 : 0;
    yyjson_doc_free(ask(v, blank ? "POST" : "GET", path, body, body_len, &http));
}

/* A path with another method has no status word. */
static bool is_route(const char *line, size_t len) {
    static const char *const posts[] = {"v1/init ",   "v1/match ",          "v1/satisfy ",
                                        "v1/cancel ", "v1/partial-cancel ", "v1/info "};

    for (size_t i = 0; i < SL_LEN(posts); i++)
        if (len >= strlen(posts[i]) && memcmp(line, posts[i], strlen(posts[i])) == 0)
            return true;
    return (len == 7 && memcmp(line, "v1/info", 7) == 0) ||
           (len == 7 && memcmp(line, "healthz", 7) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char none[] = "{\"jgf\":\"\"}"; /* refused, but not for the sake of jobs */
    struct sl_verbs *v = open_service();
    const char *p = (const char *)data, *end = p + size;

    for (uint32_t i = 0; i < REQUESTS && p < end; i++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
        if (is_route(p, (size_t)(stop - p))) {
            run_line(v, p, (size_t)(stop - p));
            check_jobs(v, false);
        }
        p = nl ? nl + 1 : end;
    }
    check_jobs(v, true);
    int http;
    yyjson_doc *doc = ask(v, "POST", "/v1/init", none, sizeof(none) - 1, &http);
    sl_assert(strcmp(sl_json_str(yyjson_doc_get_root(doc), "status"), "INIT_ERROR") == 0);
    yyjson_doc_free(doc);
    sl_verbs_free(v);
    return 0;
}
