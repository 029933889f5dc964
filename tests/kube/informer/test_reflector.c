/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reflector over a scripted port, step by step.
 */
#include "reflector_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include "core/base/buf.h"
#include "kube/client/limits.h"

#define JOBS "/apis/batch/v1/jobs"

/* ---- a port that is told what to answer ---- */

struct script {
    struct sl_kube_client client;
    uint64_t calls;
    char path[4096]; /* of the call in flight; "" for none */
    const char *accept;
    bool watching;
    sl_kube_reply_fn done;
    sl_kube_line_fn line;
    void *ctx;
};

static sl_kube_call script_start(struct script *s, const char *path, bool watching,
                                 sl_kube_line_fn line, sl_kube_reply_fn done, void *ctx) {
    assert_string_equal(s->path, "");
    (void)snprintf(s->path, sizeof s->path, "%s", path);
    s->watching = watching;
    s->line = line;
    s->done = done;
    s->ctx = ctx;
    return (sl_kube_call){++s->calls};
}

static sl_kube_call script_request(struct sl_kube_client *p, const struct sl_kube_request *rq,
                                   sl_kube_reply_fn done, void *ctx) {
    assert_int_equal(rq->method, SL_GET);
    ((struct script *)p)->accept = rq->accept;
    return script_start((struct script *)p, rq->path, false, NULL, done, ctx);
}

static sl_kube_call script_watch(struct sl_kube_client *p, const struct sl_kube_request *rq,
                                 sl_kube_line_fn line, sl_kube_reply_fn done, void *ctx) {
    ((struct script *)p)->accept = rq->accept;
    return script_start((struct script *)p, rq->path, true, line, done, ctx);
}

static void script_cancel(struct sl_kube_client *p, sl_kube_call c) {
    struct script *s = SL_CONTAINER_OF(p, struct script, client);

    if (c.v == s->calls)
        s->path[0] = '\0';
}

static const struct sl_kube_client_ops script_ops = {script_request, script_watch, script_cancel};

static void send_reply(struct script *s, int status, const char *body, sl_span retry_after) {
    struct sl_kube_reply r = {.status = status,
                              .body = body,
                              .len = strlen(body),
                              .retry_after = retry_after,
                              .text = ""};

    assert_string_not_equal(s->path, "");
    s->path[0] = '\0';
    s->done(s->ctx, &r);
}

static void too_long(struct script *s) {
    struct sl_kube_reply r = {.body = "", .text = "too long", .too_long = true};

    s->path[0] = '\0';
    s->done(s->ctx, &r);
}

static void feed(struct script *s, const char *line) {
    size_t n = strlen(line);
    char *exact = malloc(n); /* lines have no terminator */

    assert_true(s->watching && s->path[0]);
    for (size_t i = 0; i < n; i++)
        exact[i] = line[i];
    s->line(s->ctx, exact, n);
    free(exact);
}

struct stage {
    struct script s;
    struct table t;
    struct sl_reflector *r;
};

static void stage_open(struct stage *g, const char *query) {
    memset(g, 0, sizeof *g);
    g->s.client.ops = &script_ops;
    struct sl_reflector_owner o = owner_of(&g->t);
    g->r = sl_reflector_new(&g->s.client, JOBS, query, &o, 1);
    sl_reflector_tick(g->r);
}

static void stage_close(struct stage *g) {
    sl_reflector_free(g->r);
    assert_string_equal(g->s.path, ""); /* cancelled */
    sl_vec_free(&g->t.rows);
}

/* Ticks at once; something must be in flight then. */
static void now(struct stage *g, const char *path) {
    sl_reflector_tick(g->r);
    if (strncmp(g->s.path, path, strlen(path)) != 0)
        fail_msg("%s is asked for, not %s", g->s.path, path);
}

/* Nothing happens before the pause has passed; it is between min and max. */
static void after(struct stage *g, sl_span min, sl_span max, const char *path) {
    sl_reflector_tick(g->r); /* ends a stream that is to be cut */
    sl_time next = sl_reflector_next(g->r), was = g->s.client.mono;

    if (next < was + min || next > was + max)
        fail_msg("pause of %lld ns", (long long)(next - was));
    if (next > was) {
        g->s.client.mono = next - 1;
        sl_reflector_tick(g->r);
        assert_string_equal(g->s.path, "");
    }
    g->s.client.mono = next;
    now(g, path);
}

#define OBJ(name, rv)                                                                              \
    "{\"metadata\":{\"namespace\":\"a\",\"name\":\"" name "\",\"resourceVersion\":\"" rv "\"}}"
#define LIST(rv, items) "{\"metadata\":{\"resourceVersion\":\"" rv "\"},\"items\":" items "}"
#define EVENT(type, name, rv) "{\"type\":\"" type "\",\"object\":" OBJ(name, rv) "}"
#define WATCH(rv) JOBS "?watch=1&allowWatchBookmarks=true&resourceVersion=" rv "&timeoutSeconds=2"
#define FIRST JOBS "?limit=500"

static void synced_at(struct stage *g, const char *query) {
    stage_open(g, query);
    send_reply(&g->s, 200, LIST("5", "[" OBJ("x", "3") "]"), 0);
    sl_reflector_tick(g->r);
}

static void test_metadata_only(void **state) {
    struct sl_reflector_owner o;
    struct stage g;

    (void)state;
    memset(&g, 0, sizeof g);
    g.s.client.ops = &script_ops;
    o = owner_of(&g.t);
    g.r = sl_reflector_new(&g.s.client, JOBS, "", &o, 1);
    sl_reflector_metadata_only(g.r);
    now(&g, FIRST);
    assert_string_equal(g.s.accept, SL_AS_METADATA_LIST);
    send_reply(&g.s, 200, LIST("5", "[" OBJ("x", "3") "]"), 0);
    now(&g, WATCH("5"));
    assert_string_equal(g.s.accept, SL_AS_METADATA);
    stage_close(&g);
    synced_at(&g, "");
    assert_null(g.s.accept);
    stage_close(&g);
}

static void test_pages(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, "labelSelector=a%3Db");
    assert_string_equal(g.s.path, JOBS "?labelSelector=a%3Db&limit=500");
    assert_int_equal(sl_reflector_next(g.r), SL_TIME_NEVER);
    send_reply(&g.s, 200,
               "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"t/+=&\"},\"items\":[" OBJ(
                   "x", "1") "]}",
               0);
    assert_int_equal(g.t.begins, 1);
    assert_int_equal(g.t.syncs, 0);
    assert_false(sl_reflector_synced(g.r));
    now(&g, JOBS "?labelSelector=a%3Db&limit=500&continue=t%2F%2B%3D%26");
    send_reply(&g.s, 200,
               "{\"metadata\":{\"resourceVersion\":\"8\",\"continue\":\"\"},\"items\":[" OBJ(
                   "y", "2") "]}",
               0);
    assert_int_equal(g.t.begins, 1);
    assert_int_equal(g.t.syncs, 1);
    assert_int_equal(g.t.rows.n, 2);
    assert_true(sl_reflector_synced(g.r));
    /* the first page's version: nothing can be missed */
    now(&g, JOBS
        "?labelSelector=a%3Db&watch=1&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=2");
    stage_close(&g);
}

/* A page is too long: half of it is asked for, down to one object; and one that is too long by
 * itself is passed over, with its metadata for its place in the list. */
static void test_too_long(void **state) {
    static const char *const limits[] = {"500", "250", "125", "63", "32", "16", "8", "4", "2", "1"};
    struct stage g;
    char path[128];

    (void)state;
    stage_open(&g, "");
    for (size_t i = 0; i < SL_LEN(limits); i++) {
        (void)snprintf(path, sizeof path, JOBS "?limit=%s", limits[i]);
        now(&g, path);
        assert_string_equal(g.s.path, path);
        assert_null(g.s.accept);
        too_long(&g.s);
    }
    now(&g, JOBS "?limit=1");
    assert_string_equal(g.s.accept, SL_AS_METADATA_LIST);
    send_reply(&g.s, 200,
               "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"t\"},\"items\":[" OBJ(
                   "x", "1") "]}",
               0);
    now(&g, JOBS "?limit=2&continue=t");
    assert_null(g.s.accept);
    send_reply(&g.s, 200,
               "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"u\"},\"items\":[" OBJ(
                   "y", "1") "]}",
               0);
    now(&g, JOBS "?limit=4&continue=u");
    too_long(&g.s); /* the page again, not the list */
    now(&g, JOBS "?limit=2&continue=u");
    send_reply(&g.s, 200, LIST("8", "[" OBJ("z", "2") "]"), 0);
    assert_int_equal(g.t.begins, 1);
    assert_int_equal(g.t.syncs, 1);
    assert_int_equal(g.t.rows.n, 2); /* all but the one */
    assert_string_equal(g.t.rows.v[0].key, "a/y");
    now(&g, WATCH("7"));
    too_long(&g.s); /* the same event would come again: the list passes it over */
    after(&g, 50 * SL_MSEC, 100 * SL_MSEC, JOBS "?limit=4");
    stage_close(&g);
}

/* The same where an object has more values than are read, however short it is. */
static void test_too_many_values(void **state) {
    struct sl_buf b = SL_BUF((size_t)16 << 20);
    struct stage g;

    (void)state;
    stage_open(&g, "");
    now(&g, JOBS "?limit=500");
    sl_buf_puts(&b, "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"metadata\":{\"name\":"
                    "\"x\"},\"spec\":[0");
    for (size_t i = 0; i < SL_OBJECT_MAX_VALUES; i++)
        sl_buf_puts(&b, ",0");
    sl_buf_puts(&b, "]}]}");
    send_reply(&g.s, 200, sl_buf_str(&b), 0);
    now(&g, JOBS "?limit=250");
    send_reply(&g.s, 200, LIST("8", "[" OBJ("z", "2") "]"), 0);
    assert_int_equal(g.t.rows.n, 1);
    now(&g, WATCH("8"));
    sl_buf_clear(&b);
    sl_buf_puts(&b, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"x\","
                    "\"resourceVersion\":\"9\"},\"spec\":[0");
    for (size_t i = 0; i < SL_OBJECT_MAX_VALUES; i++)
        sl_buf_puts(&b, ",0");
    sl_buf_puts(&b, "]}}");
    feed(&g.s, sl_buf_str(&b));
    after(&g, 50 * SL_MSEC, 100 * SL_MSEC, JOBS "?limit=500");
    sl_buf_done(&b);
    stage_close(&g);
}

static void test_bad_lists(void **state) {
    static const char *const bad[] = {
        "",
        "[]",
        "{",
        "null",
        "{}",
        "{\"metadata\":{},\"items\":[]}",
        "{\"metadata\":{\"resourceVersion\":5},\"items\":[]}",
        "{\"metadata\":{\"resourceVersion\":\"\"},\"items\":[]}",
        LIST("5", "{}"),
        LIST("5", "1"),
        /* from here on only a part of it is bad */
        LIST("5", "[1]"),
        LIST("5", "[" OBJ("x", "1") ",null]"),
        LIST("5", "[" OBJ("x", "1") ",]"),
        LIST("5", "[" OBJ("x", "1") " " OBJ("y", "1") "]"),
        LIST("5", "[" OBJ("x", "1") "]}"),
        LIST("5", "[" OBJ("x", "1") "],"),
        "{\"items\":[" OBJ("x", "1") "],\"metadata\":{}}",
    };
    struct stage g;

    (void)state;
    for (size_t i = 0; i < SL_LEN(bad); i++) {
        stage_open(&g, "");
        send_reply(&g.s, 200, bad[i], 0);
        assert_true(g.t.begins == 0 || strstr(bad[i], "items\":["));
        assert_int_equal(g.t.syncs, 0);
        after(&g, 50 * SL_MSEC, 100 * SL_MSEC, FIRST);
        send_reply(&g.s, 200, LIST("5", "null"), 0);
        assert_int_equal(g.t.syncs, 1);
        assert_int_equal(g.t.rows.n, 0);
        stage_close(&g);
    }
}

/* Members in any order, spaces anywhere, and objects of any size: they are read one by one. */
static void test_shapes_of_lists(void **state) {
    struct stage g;
    struct sl_buf b;

    (void)state;
    stage_open(&g, "");
    sl_buf_init(&b, (size_t)4 << 20);
    sl_buf_puts(&b, " {\n\"apiVersion\" : \"v1\" ,\"items\": [ ");
    for (int i = 0; i < 60; i++) {
        sl_buf_printf(&b, "%s{\"data\":\"", i ? " ,\t" : "");
        for (int k = i == 30 ? 500000 : i * 700; k > 0; k--)
            sl_buf_putc(&b, 'x');
        sl_buf_printf(&b,
                      "\",\"metadata\":{\"namespace\":\"a\",\"name\":\"n%d\","
                      "\"resourceVersion\":\"1\"}}",
                      i);
    }
    sl_buf_puts(&b, "\n],\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"9\"}\r\n}\n");
    assert_false(sl_buf_full(&b));
    send_reply(&g.s, 200, sl_buf_str(&b), 0);
    sl_buf_done(&b);
    assert_int_equal(g.t.rows.n, 60);
    assert_int_equal(g.t.syncs, 1);
    now(&g, WATCH("9"));
    stage_close(&g);
}

static void test_list_errors(void **state) {
    static const int codes[] = {0, 500, 403, 401, 429, 400};
    struct stage g;

    (void)state;
    for (size_t i = 0; i < SL_LEN(codes); i++) {
        stage_open(&g, "");
        sl_span max = 100 * SL_MSEC;
        for (int n = 0; n < 15; n++) {
            send_reply(&g.s, codes[i], "", 0);
            after(&g, max / 2, max, FIRST);
            max = max * 2 > 2 * SL_SEC ? 2 * SL_SEC : max * 2;
        }
        send_reply(&g.s, codes[i], "", 100 * SL_SEC);
        after(&g, 100 * SL_SEC, 100 * SL_SEC, FIRST);
        assert_int_equal(g.t.begins, 0);
        stage_close(&g);
    }
}

/* An expired page: from the beginning, and all at once, so that it comes to an end. */
static void test_expired_page(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, "");
    send_reply(&g.s, 200,
               "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"t\"},\"items\":[" OBJ(
                   "x", "1") "]}",
               0);
    now(&g, FIRST "&continue=t");
    send_reply(&g.s, 410, "", 0);
    assert_string_equal(sl_reflector_error(g.r), "list: 410: ");
    after(&g, 50 * SL_MSEC, 100 * SL_MSEC, JOBS);
    assert_string_equal(g.s.path, JOBS);
    send_reply(&g.s, 200, LIST("9", "[" OBJ("y", "8") "]"), 0);
    assert_int_equal(g.t.begins, 2);
    assert_int_equal(g.t.rows.n, 1);
    now(&g, WATCH("9"));
    stage_close(&g);
}

static void test_missing(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, "");
    send_reply(&g.s, 404, "", 0);
    assert_true(sl_reflector_synced(g.r));
    assert_false(g.t.exists);
    for (int i = 0; i < 5; i++) {
        sl_span pause = SL_SEC << (i < 3 ? i : 3);
        after(&g, pause, pause * 3 / 2, FIRST);
        send_reply(&g.s, 404, "", 0);
    }
    assert_int_equal(g.t.syncs, 1); /* nothing new */
    after(&g, 8 * SL_SEC, 12 * SL_SEC, FIRST);
    send_reply(&g.s, 200, LIST("5", "[" OBJ("x", "3") "]"), 0);
    assert_true(g.t.exists);
    now(&g, WATCH("5"));
    send_reply(&g.s, 404, "", 0); /* uninstalled */
    after(&g, 50 * SL_MSEC, 100 * SL_MSEC, FIRST);
    send_reply(&g.s, 404, "", 0);
    assert_false(g.t.exists);
    assert_int_equal(g.t.rows.n, 0);
    stage_close(&g);
}

static void test_events(void **state) {
    struct stage g;
    struct sl_reflector_stats st;

    (void)state;
    synced_at(&g, "");
    now(&g, WATCH("5"));
    feed(&g.s, EVENT("ADDED", "y", "6"));
    feed(&g.s, EVENT("MODIFIED", "x", "7"));
    assert_int_equal(g.t.rows.n, 2);
    feed(&g.s, EVENT("DELETED", "y", "8"));
    assert_int_equal(g.t.rows.n, 1);
    send_reply(&g.s, 200, "", 0);
    now(&g, WATCH("8"));
    feed(&g.s, "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"20\"}}}");
    send_reply(&g.s, 200, "", 0);
    now(&g, WATCH("20")); /* at once: it had brought something */
    send_reply(&g.s, 200, "", 0);
    after(&g, 50 * SL_MSEC, 100 * SL_MSEC, WATCH("20"));
    send_reply(&g.s, 0, "", 0);
    after(&g, 100 * SL_MSEC, 200 * SL_MSEC, WATCH("20"));
    g.s.client.mono += 5 * SL_SEC;
    send_reply(&g.s, 200, "", 0);
    now(&g, WATCH("20")); /* it lived long enough */
    send_reply(&g.s, 429, "", 3 * SL_SEC);
    after(&g, 3 * SL_SEC, 3 * SL_SEC, WATCH("20"));
    sl_reflector_stats(g.r, &st);
    assert_int_equal(st.lists, 1);
    assert_int_equal(st.watches, 7);
    assert_int_equal(st.events, 3);
    assert_int_equal(st.errors, 2);
    stage_close(&g);
}

static void test_trouble(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, "");
    assert_string_equal(sl_reflector_error(g.r), "");
    send_reply(&g.s, 403, "{\"kind\":\"Status\",\"message\":\"jobs is forbidden\"}", 0);
    assert_string_equal(sl_reflector_error(g.r), "list: 403: jobs is forbidden");
    after(&g, 50 * SL_MSEC, 100 * SL_MSEC, FIRST);
    send_reply(&g.s, 0, "", 0);
    assert_string_equal(sl_reflector_error(g.r), "list: no answer: ");
    after(&g, 100 * SL_MSEC, 200 * SL_MSEC, FIRST);
    send_reply(&g.s, 200, "[]", 0);
    assert_string_equal(sl_reflector_error(g.r), "list: the answer is not a list");
    after(&g, 200 * SL_MSEC, 400 * SL_MSEC, FIRST);
    send_reply(&g.s, 200, LIST("5", "[]"), 0);
    assert_string_equal(sl_reflector_error(g.r), "");
    now(&g, WATCH("5"));
    feed(&g.s, "x");
    assert_string_equal(sl_reflector_error(g.r), "watch: an event cannot be read");
    after(&g, 400 * SL_MSEC, 800 * SL_MSEC, WATCH("5"));
    send_reply(&g.s, 200, "", 0);
    assert_string_equal(sl_reflector_error(g.r), "");
    stage_close(&g);
}

static void test_gone(void **state) {
    struct stage g;

    (void)state;
    synced_at(&g, "");
    send_reply(&g.s, 410, "", 0);
    after(&g, 50 * SL_MSEC, 100 * SL_MSEC, FIRST); /* a list is not free */
    send_reply(&g.s, 200, LIST("9", "[]"), 0);
    assert_int_equal(g.t.rows.n, 0);
    now(&g, WATCH("9"));
    feed(&g.s, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}");
    feed(&g.s, EVENT("ADDED", "late", "10")); /* not listened to any more */
    assert_int_equal(g.t.rows.n, 0);
    send_reply(&g.s, 200, "", 0);
    after(&g, 100 * SL_MSEC, 200 * SL_MSEC, FIRST);
    send_reply(&g.s, 200, LIST("12", "[]"), 0);
    now(&g, WATCH("12"));
    feed(&g.s, "{\"type\":\"ERROR\",\"object\":{\"code\":500}}");
    after(&g, 200 * SL_MSEC, 400 * SL_MSEC,
          WATCH("12")); /* the stream was cut without waiting for its end */
    stage_close(&g);
}

static void test_broken_lines(void **state) {
    static const char *const bad[] = {
        "x",
        "{\"type\":\"ADDED\"}",
        "{\"type\":\"ADDED\",\"object\":null}",
        "{\"type\":\"ADDED\",\"object\":[]}",
        "{\"type\":\"ADDED\",\"object\":{}}",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":6}}}",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"\"}}}",
        "{\"type\":\"WHAT\",\"object\":{\"metadata\":{\"resourceVersion\":\"6\"}}}",
        "{\"object\":{\"metadata\":{\"resourceVersion\":\"6\"}}}",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"6\"}}",
        "[]",
    };
    struct stage g;

    (void)state;
    for (size_t i = 0; i < SL_LEN(bad); i++) {
        synced_at(&g, "");
        now(&g, WATCH("5"));
        feed(&g.s, EVENT("ADDED", "y", "6"));
        feed(&g.s, bad[i]);
        feed(&g.s, EVENT("ADDED", "z", "7"));
        assert_int_equal(g.t.rows.n, 2);
        /* From the last good one; the same poison again and again ends in a list. */
        now(&g, WATCH("6"));
        feed(&g.s, bad[i]);
        after(&g, 50 * SL_MSEC, 100 * SL_MSEC, WATCH("6"));
        feed(&g.s, bad[i]);
        after(&g, 100 * SL_MSEC, 200 * SL_MSEC, WATCH("6"));
        feed(&g.s, bad[i]);
        after(&g, 200 * SL_MSEC, 400 * SL_MSEC, WATCH("6"));
        feed(&g.s, bad[i]);
        after(&g, 400 * SL_MSEC, 800 * SL_MSEC, FIRST);
        stage_close(&g);
    }
}

static void test_silence(void **state) {
    struct stage g;

    (void)state;
    synced_at(&g, "");
    now(&g, WATCH("5"));
    uint64_t call = g.s.calls;
    sl_time give_up = sl_reflector_next(g.r);
    assert_true(give_up >= 270 * SL_SEC && give_up <= 330 * SL_SEC);
    g.s.client.mono = give_up;
    sl_reflector_tick(g.r);
    assert_int_equal(g.s.calls, call + 1);
    now(&g, WATCH("5"));
    stage_close(&g);
}

/* A line that does not fit the pool, and one of very many small values. */
static void test_long_lines(void **state) {
    struct stage g;
    struct sl_buf b;

    (void)state;
    sl_buf_init(&b, 64u << 20);
    synced_at(&g, "");
    for (size_t n = 10; n < 2000000; n *= 5) {
        sl_buf_clear(&b);
        sl_buf_puts(&b, "{\"type\":\"ADDED\",\"object\":{\"l\":[");
        for (size_t i = 0; i < n; i++)
            sl_buf_puts(&b, "1,");
        sl_buf_printf(
            &b,
            "1],\"metadata\":{\"namespace\":\"a\",\"name\":\"%zu\",\"resourceVersion\":\"%zu\"}}}",
            n, n);
        feed(&g.s, sl_buf_str(&b));
    }
    assert_int_equal(g.t.rows.n, 9);
    for (size_t n = 0; n < 33000; n++)
        sl_buf_printf(&b, "%1024s", "");
    feed(&g.s, sl_buf_str(&b)); /* above the ceiling */
    now(&g, JOBS "?watch=1&allowWatchBookmarks=true&resourceVersion=781250&");
    sl_buf_done(&b);
    stage_close(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metadata_only), cmocka_unit_test(test_pages),
        cmocka_unit_test(test_too_long),      cmocka_unit_test(test_too_many_values),
        cmocka_unit_test(test_bad_lists),     cmocka_unit_test(test_shapes_of_lists),
        cmocka_unit_test(test_list_errors),   cmocka_unit_test(test_expired_page),
        cmocka_unit_test(test_missing),       cmocka_unit_test(test_events),
        cmocka_unit_test(test_trouble),       cmocka_unit_test(test_gone),
        cmocka_unit_test(test_broken_lines),  cmocka_unit_test(test_silence),
        cmocka_unit_test(test_long_lines),
    };
    return cmocka_run_group_tests_name("reflector", tests, NULL, NULL);
}
