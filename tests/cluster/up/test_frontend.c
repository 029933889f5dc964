/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTPS in front of the API server, with a server that only notes what it is asked: these
 * definitions stand in the place of src/cluster/apiserver.
 */
#include "../../lib/http/http_fixture.h"

#include <yyjson.h>

#include "cluster/apiserver/token.h"
#include "cluster/up/frontend.h"
#include "core/base/arena.h"

#define TOKEN "0123456789abcdef"

static struct {
    char asked[4096]; /* of the last call */
    struct sl_api_sink sink;
    uint32_t calls, cancelled;
    const char *unready;
    struct up_frontend *door;
} fake;

sl_api_call sl_apiserver_call(struct sl_apiserver *s, const struct sl_api_request *in,
                              const struct sl_api_sink *sink) {
    size_t n = 0;

    assert_ptr_equal(s, &fake);
    n += (size_t)snprintf(fake.asked, sizeof fake.asked, "%s %s?%s %s %s %s %s [", in->method,
                          in->path, in->query, in->accept, in->content_type, in->user_agent,
                          in->user);
    for (uint32_t i = 0; in->groups[i]; i++)
        n += (size_t)snprintf(fake.asked + n, sizeof fake.asked - n, "%s%s", i ? "," : "",
                              in->groups[i]);
    n += (size_t)snprintf(fake.asked + n, sizeof fake.asked - n, "] %.*s", (int)in->len, in->body);
    if (in->upgrade)
        (void)snprintf(fake.asked + n, sizeof fake.asked - n, "|%s|%s|%s|%s|%s|", in->upgrade->to,
                       in->upgrade->key, in->upgrade->version, in->upgrade->protocols,
                       in->upgrade->streams);
    fake.sink = *sink;
    __atomic_fetch_add(&fake.calls, 1, __ATOMIC_SEQ_CST);
    return (sl_api_call){fake.calls};
}

void sl_apiserver_cancel(struct sl_apiserver *s, sl_api_call c) {
    assert_ptr_equal(s, &fake);
    assert_int_equal(c.v, fake.calls);
    __atomic_fetch_add(&fake.cancelled, 1, __ATOMIC_SEQ_CST);
}

bool sl_api_token_read(struct sl_apiserver *s, struct sl_arena *arena, const char *token,
                       const char *const *audiences, sl_time now, struct sl_api_bearer *ret) {
    (void)s;
    assert_true(now > SL_HOUR && !audiences);
    *ret = (struct sl_api_bearer){.user = sl_arena_strdup(arena, "system:serviceaccount:ns:robot")};
    return strcmp(token, "robot") == 0;
}

static const char *unready(void *ctx) {
    assert_ptr_equal(ctx, &fake);
    return fake.unready;
}

static bool other(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    (void)ctx;
    if (strcmp(rq->path, "/metrics") != 0)
        return false;
    sl_buf_puts(&a->body, "counted");
    return true;
}

static void job_open(void) {
    const struct up_frontend_spec spec = {.loop = &sv.loop,
                                          .host = "127.0.0.1",
                                          .max_connections = 100,
                                          .cert = &sv.cert,
                                          .token = TOKEN,
                                          .ctx = &fake,
                                          .unready = unready,
                                          .other = other};
    sv.result = up_frontend_open(&spec, &fake.door, &sv.err);
    sv.port = sv.result < 0 ? 0 : up_frontend_port(fake.door);
}

static void job_serve(void) {
    up_frontend_serve(fake.door, (struct sl_apiserver *)(void *)&fake);
}

static void job_close(void) {
    up_frontend_close(fake.door);
    fake.door = NULL;
}

static int begin(void **state) {
    (void)setup(state);
    memset(&fake, 0, sizeof fake);
    new_cert();
    sv.spec.cert_pem = sv.cert.cert_pem; /* for fetch */
    on_loop(job_open);
    return sv.result;
}

static int finish(void **state) {
    on_loop(job_close);
    return teardown(state);
}

static struct curl_slist *headers;

static CURL *new_client(const char *const *lines) {
    CURL *c = client(sv.ca.cert_pem);

    curl_slist_free_all(headers);
    headers = curl_slist_append(NULL, "User-Agent: tester");
    for (; lines && *lines; lines++)
        headers = curl_slist_append(headers, *lines);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    return c;
}

static void done(CURL *c) {
    curl_easy_cleanup(c);
    curl_slist_free_all(headers);
    headers = NULL;
}

static void test_health_and_tokens(void **state) {
    static const char *const none[] = {NULL},
                             *const wrong[] = {"Authorization: Bearer 0123456789abcdeX", NULL},
                             *const shorter[] = {"Authorization: Bearer 0123", NULL},
                             *const basic[] = {"Authorization: Basic " TOKEN, NULL},
                             *const right[] = {"Authorization: Bearer " TOKEN, NULL};
    static const char *const *const refused[] = {none, wrong, shorter, basic};

    (void)state;
    fake.unready = "not yet";
    CURL *c = new_client(NULL);
    assert_int_equal(fetch(c, "/livez"), 200);
    assert_string_equal(got, "ok");
    assert_int_equal(fetch(c, "/healthz"), 200);
    assert_int_equal(fetch(c, "/readyz"), 503);
    assert_string_equal(got, "not yet");
    fake.unready = NULL;
    assert_int_equal(fetch(c, "/readyz?verbose"), 200);
    done(c);
    for (size_t i = 0; i < SL_LEN(refused); i++) {
        c = new_client(refused[i]);
        assert_int_equal(fetch(c, "/api/v1/pods"), 401);
        assert_string_equal(
            got,
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
            "\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}\n");
        done(c);
    }
    c = new_client(right);
    assert_int_equal(fetch(c, "/api"), 503); /* there is no API server yet */
    on_loop(job_serve);
    assert_int_equal(fetch(c, "/metrics"), 200);
    assert_string_equal(got, "counted");
    static char large[SL_API_MAX_BODY + 1];
    memset(large, 'x', sizeof large);
    post(c, large, sizeof large);
    assert_int_equal(fetch(c, "/api"), 413);
    assert_non_null(strstr(got,
                           "\"message\":\"Request entity too large: limit is 3145728\",\"reason\":"
                           "\"RequestEntityTooLarge\",\"code\":413}"));
    assert_int_equal(fake.calls, 0);
    done(c);
}

struct background {
    uv_thread_t thread;
    CURL *c;
    const char *path;
    long status;
};

static void run_fetch(void *arg) {
    struct background *b = arg;

    b->status = fetch(b->c, b->path);
}

static void start_request(struct background *b, CURL *c, const char *path) {
    uint32_t calls = fake.calls;
    double t0 = seconds();

    *b = (struct background){.c = c, .path = path};
    assert_int_equal(uv_thread_create(&b->thread, run_fetch, b), 0);
    while (__atomic_load_n(&fake.calls, __ATOMIC_SEQ_CST) == calls) {
        assert_true(seconds() - t0 < 60);
        (void)usleep(500);
    }
}

static void job_answer(void) {
    static const char *const warnings[] = {"old \"thing\"", "line\nbreak", NULL};

    fake.sink.answer(fake.sink.ctx, &(struct sl_api_answer){.status = 201,
                                                            .content_type = "text/x",
                                                            .body = "hi",
                                                            .len = 2,
                                                            .warnings = warnings,
                                                            .retry_after = 3});
}

static size_t on_header(char *line, size_t size, size_t n, void *ctx) {
    struct sl_buf *b = ctx;

    sl_buf_add(b, line, size * n);
    return size * n;
}

static void test_passing_on(void **state) {
    static const struct {
        const char *lines[8];
        const char *asked;
    } table[] = {
        {{"Authorization: Bearer " TOKEN, "Accept: a/b", "Content-Type: c/d"},
         "POST /x y?a=%2f&b a/b c/d tester admin [system:masters,system:authenticated] body"},
        {{("Authorization: Bearer " TOKEN), "Impersonate-User: eve", "Impersonate-Group: g1",
          "Impersonate-Group: g2", "Accept:", "Content-Type:"},
         "POST /x y?a=%2f&b   tester eve [g1,g2,system:authenticated] body"},
        {{"Authorization: bearer robot", "Accept:", "Content-Type:", "Impersonate-User: eve"},
         "POST /x y?a=%2f&b   tester system:serviceaccount:ns:robot "
         "[system:serviceaccounts,system:serviceaccounts:ns,system:authenticated] body"},
    };
    struct background b;

    (void)state;
    on_loop(job_serve);
    for (size_t i = 0; i < SL_LEN(table); i++) {
        CURL *c = new_client(table[i].lines);
        struct sl_buf lines;
        sl_buf_init(&lines, 65536);
        curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
        curl_easy_setopt(c, CURLOPT_HEADERDATA, &lines);
        post(c, "body", 4);
        start_request(&b, c, "/x%20y?a=%2f&b");
        on_loop(job_answer);
        uv_thread_join(&b.thread);
        assert_int_equal(b.status, 201);
        assert_string_equal(got, "hi");
        assert_string_equal(fake.asked, table[i].asked);
        assert_non_null(strstr(sl_buf_str(&lines), "Warning: 299 - \"old \\\"thing\\\"\"\r\n"));
        assert_non_null(strstr(sl_buf_str(&lines), "Warning: 299 - \"line break\"\r\n"));
        assert_non_null(strstr(sl_buf_str(&lines), "Retry-After: 3\r\n"));
        assert_non_null(strstr(sl_buf_str(&lines), "Cache-Control: no-cache, private\r\n"));
        sl_buf_done(&lines);
        done(c);
    }
    assert_int_equal(fake.cancelled, 0);
}

static void job_warn_long(void) {
    static char text[64][4001];
    const char *warnings[65] = {NULL};

    for (size_t i = 0; i < 64; i++) {
        memset(text[i], '"', sizeof text[i] - 1);
        text[i][0] = (char)('0' + i);
        text[i][255] = (char)0xc3; /* half of it would be cut off */
        text[i][256] = (char)0xa9;
        warnings[i] = text[i];
    }
    fake.sink.answer(
        fake.sink.ctx,
        &(struct sl_api_answer){
            .status = 201, .content_type = "text/x", .body = "hi", .len = 2, .warnings = warnings});
}

/* What is done is answered, however much there is to be warned of. */
static void test_long_warnings(void **state) {
    static const char *const token[] = {"Authorization: Bearer " TOKEN, NULL};
    struct sl_buf lines = SL_BUF((size_t)1 << 20);
    struct background b;
    size_t n = 0;

    (void)state;
    on_loop(job_serve);
    CURL *c = new_client(token);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, &lines);
    post(c, "body", 4);
    start_request(&b, c, "/x");
    on_loop(job_warn_long);
    uv_thread_join(&b.thread);
    assert_int_equal(b.status, 201);
    assert_string_equal(got, "hi");
    for (const char *p = sl_buf_str(&lines); (p = strstr(p, "Warning: 299 - \"")); n++) {
        p += strlen("Warning: 299 - \"");
        assert_int_equal(strcspn(p, "\r"), 1 + 2 * 254 + 1); /* whole letters of 256 bytes */
    }
    assert_int_equal(n, 17); /* 255 bytes each, until there are 4,096 */
    sl_buf_done(&lines);
    done(c);
}

static void job_stream(void) {
    fake.sink.begin(fake.sink.ctx, "text/lines");
    assert_true(fake.sink.piece(fake.sink.ctx, "one\n", 4));
}

static void job_stream_end(void) {
    assert_true(fake.sink.piece(fake.sink.ctx, "two\n", 4));
    fake.sink.end(fake.sink.ctx);
}

static int stop_after(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    (void)ctx, (void)a, (void)b, (void)c, (void)d;
    return n_got > 0;
}

static void test_streams(void **state) {
    static const char *const right[] = {"Authorization: Bearer " TOKEN, NULL};
    struct background b;

    (void)state;
    on_loop(job_serve);
    CURL *c = new_client(right);
    start_request(&b, c, "/watch");
    on_loop(job_stream);
    on_loop(job_stream_end);
    uv_thread_join(&b.thread);
    assert_int_equal(b.status, 200);
    assert_string_equal(got, "one\ntwo\n");
    assert_int_equal(fake.cancelled, 0);

    uint32_t files = open_files(); /* with both ends of the connection, which is kept */
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, stop_after);
    start_request(&b, c, "/watch"); /* a disconnect is reported */
    on_loop(job_stream);
    uv_thread_join(&b.thread);
    double t0 = seconds();
    while (!__atomic_load_n(&fake.cancelled, __ATOMIC_SEQ_CST)) {
        assert_true(seconds() - t0 < 60);
        (void)usleep(500);
    }
    for (uint32_t i = 0; i < 60000 && open_files() > files - 2; i++)
        (void)usleep(1000);
    assert_true(open_files() <= files - 2); /* and nothing of it stays open */
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 1L);
    start_request(&b, c, "/held"); /* and all of them when the front end closes */
    on_loop(job_close);
    uv_thread_join(&b.thread);
    assert_true(b.status < 0);
    assert_int_equal(fake.cancelled, 2);
    done(c);
}

static char wired[100];

static void on_wire(void *ctx, const char *bytes, size_t len) {
    assert_ptr_equal(ctx, wired);
    (void)snprintf(wired, sizeof wired, "%.*s", (int)len, bytes);
    assert_int_equal(fake.sink.waiting(fake.sink.ctx), 0);
    assert_true(fake.sink.piece(fake.sink.ctx, "heard", 5));
    assert_int_equal(fake.sink.waiting(fake.sink.ctx), 5);
    fake.sink.end(fake.sink.ctx);
}

static void on_upgraded_writable(void *ctx) {
    assert_ptr_equal(ctx, wired);
}

static void job_wire(void) {
    static const char *const lines[] = {"Upgrade", "x", NULL};
    static const struct sl_api_upgrade_events wire = {on_wire, on_upgraded_writable};

    fake.sink.upgrade(fake.sink.ctx, lines, &wire, wired);
}

/* A client that requests an upgrade gets it, byte by byte. */
static void test_wire(void **state) {
    static const char text[] =
        "GET /wire?a=b HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " TOKEN "\r\n"
        "Connection: keep-alive, Upgrade\r\nUpgrade: x\r\nSec-WebSocket-Key: k\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: p, q\r\n"
        "X-Stream-Protocol-Version: v4\r\nX-Stream-Protocol-Version: v3\r\n\r\n";
    CURL *c = client(sv.ca.cert_pem);
    char url[100];
    size_t n;

    (void)state;
    on_loop(job_serve);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", sv.port);
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_CONNECT_ONLY, 1L);
    assert_int_equal(curl_easy_perform(c), CURLE_OK);
    assert_int_equal(curl_easy_send(c, text, sizeof text - 1, &n), CURLE_OK);
    double t0 = seconds();
    while (__atomic_load_n(&fake.calls, __ATOMIC_SEQ_CST) == 0)
        assert_true(seconds() - t0 < 10);
    assert_non_null(strstr(fake.asked, "GET /wire?a=b "));
    assert_non_null(strstr(fake.asked, "|x|k|13|p, q|v4,v3|"));
    on_loop(job_wire);
    assert_int_equal(curl_easy_send(c, "hello", 5, &n), CURLE_OK);
    n_got = 0;
    got[0] = '\0';
    for (bool closed = false; !closed; got[n_got] = '\0') {
        CURLcode r = curl_easy_recv(c, got + n_got, sizeof got - 1 - n_got, &n);
        assert_true(seconds() - t0 < 10);
        if (r == CURLE_AGAIN)
            continue;
        closed = r != CURLE_OK || n == 0;
        n_got += closed ? 0 : n;
    }
    assert_string_equal(got, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nheard");
    assert_string_equal(wired, "hello");
    assert_int_equal(fake.cancelled, 0);
    curl_easy_cleanup(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_health_and_tokens, begin, finish),
        cmocka_unit_test_setup_teardown(test_wire, begin, finish),
        cmocka_unit_test_setup_teardown(test_passing_on, begin, finish),
        cmocka_unit_test_setup_teardown(test_long_warnings, begin, finish),
        cmocka_unit_test_setup_teardown(test_streams, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
