/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are answered later: at once, in pieces, or never, because somebody leaves.
 */
#include "http_fixture.h"

#include "core/base/mem.h"

#define CALLS 2000

static struct {
    struct sl_http_call *v[CALLS]; /* NULL: answered, or gone */
    uint32_t n, gone;
    const char *piece;
    size_t len;
    uint32_t which;
    bool taken;
} calls;

static void on_gone(void *ctx) {
    struct sl_http_call **slot = ctx;

    assert_non_null(*slot);
    *slot = NULL;
    __atomic_fetch_add(&calls.gone, 1, __ATOMIC_SEQ_CST);
}

static void hold(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    (void)ctx;
    if (strcmp(rq->path, "/pass") == 0)
        sl_http_reply(TAKE_PTR(calls.v[calls.which]), 200, "text/x", NULL, "passed", 6);
    else if (strcmp(rq->path, "/tell") == 0)
        (void)sl_http_piece(calls.v[calls.which], "told", 4);
    if (strncmp(rq->path, "/hold", 5) != 0) {
        sl_buf_printf(&a->body, "%s?%s body=%s", rq->path, rq->raw_query, rq->body);
        return;
    }
    assert_true(calls.n < CALLS);
    sl_buf_puts(&a->body, "dropped");
    calls.v[calls.n] = sl_http_hold(rq, on_gone, &calls.v[calls.n]);
    __atomic_fetch_add(&calls.n, 1, __ATOMIC_SEQ_CST);
}

static void refusal(void *ctx, int status, const char *words, struct sl_http_answer *a) {
    (void)ctx;
    a->content_type = "application/json";
    sl_buf_printf(&a->body, "{\"code\":%d,\"message\":\"%s\"}", status, words);
}

static void begin(bool tls, uint32_t request_ms) {
    memset(&calls, 0, sizeof calls);
    start_server(tls);
    on_loop(job_stop);
    sv.spec.handler = hold;
    sv.spec.refusal = refusal;
    sv.spec.request_ms = request_ms;
    sv.spec.max_connections = CALLS + 16;
    on_loop(job_start);
    assert_int_equal(sv.result, 0);
}

static void job_reply(void) {
    static const char *const headers[] = {"Warning", "299 - \"old\"", "Retry-After", "7", NULL};

    sl_http_reply(TAKE_PTR(calls.v[calls.which]), 201, "text/x", headers, calls.piece, calls.len);
}

static void job_begin(void) {
    sl_http_begin(calls.v[calls.which], "text/stream");
}

static void job_piece(void) {
    calls.taken = sl_http_piece(calls.v[calls.which], calls.piece, calls.len);
}

static void job_end_stream(void) {
    sl_http_end(TAKE_PTR(calls.v[calls.which]));
}

static void until(const uint32_t *count, uint32_t n) {
    double t0 = seconds();

    while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < n) {
        assert_true(seconds() - t0 < 60);
        (void)usleep(500);
    }
}

static void piece(const char *text) {
    calls.piece = text;
    calls.len = strlen(text);
    on_loop(job_piece);
}

/* Asks, and waits until the server has it. */
static int send_request(const char *text) {
    int fd = dial();
    uint32_t n = calls.n;

    send_bytes(fd, text, strlen(text));
    until(&calls.n, n + 1);
    return fd;
}

static const char HOLD[] = "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n";

static void test_reply(void **state) {
    (void)state;
    begin(false, 0);
    int fd = send_request(HOLD);
    CURL *c = client(NULL);
    assert_int_equal(fetch(c, "/x?a=%2fb&c"), 200); /* others do not wait */
    assert_string_equal(got, "/x?a=%2fb&c body=");
    calls.piece = "later";
    calls.len = 5;
    on_loop(job_reply);
    (void)receive_text(fd, "\r\n\r\nlater");
    assert_int_equal(status_of(got), 201);
    assert_non_null(strstr(got, "\r\nContent-Type: text/x\r\n"));
    assert_non_null(strstr(got, "\r\nWarning: 299 - \"old\"\r\n"));
    assert_non_null(strstr(got, "\r\nRetry-After: 7\r\n"));
    send_bytes(fd, HOLD, strlen(HOLD)); /* the connection goes on */
    until(&calls.n, 2);
    calls.which = 1;
    on_loop(job_reply);
    (void)receive_text(fd, "\r\n\r\nlater");
    (void)close(fd);
    fd = dial();
    SAY(fd, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 999999\r\n\r\n");
    (void)receive_text(fd, "}");
    assert_int_equal(status_of(got), 413);
    assert_non_null(strstr(got, "{\"code\":413,\"message\":\"the body is too large\"}"));
    (void)close(fd);
    assert_int_equal(calls.gone, 0);
    curl_easy_cleanup(c);
}

static void test_stream(void **state) {
    (void)state;
    double quickest = 1;

    begin(false, 1000); /* a deadline that does not hold while there is nothing to take */
    int fd = send_request(HOLD);
    on_loop(job_begin);
    (void)receive_text(fd, "\r\n\r\n"); /* the head comes before there is a body */
    assert_int_equal(status_of(got), 200);
    assert_non_null(strstr(got, "\r\nTransfer-Encoding: chunked\r\n"));
    for (uint32_t i = 0; i < 20; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "line %u\n", i);
        piece(line);
        assert_true(calls.taken);
        double took = receive_text(fd, line);
        quickest = took < quickest ? took : quickest;
        (void)usleep(i == 10 ? 1500000 : 0);
    }
    assert_true(quickest < 0.1); /* each at once, unless others have the processor */
    on_loop(job_end_stream);
    (void)receive_text(fd, "0\r\n\r\n");
    SAY(fd, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    (void)receive_text(fd, "body="); /* and it goes on */
    (void)close(fd);
    assert_int_equal(calls.gone, 0);
}

struct thread_fetch {
    uv_thread_t thread;
    CURL *c;
    long status;
};

static void run_fetch(void *arg) {
    struct thread_fetch *f = arg;

    f->status = fetch(f->c, "/hold");
}

/* More than fits anywhere, through TLS. */
static void test_large_stream(void **state) {
    enum { PIECE = 1000, PIECES = 5000 };
    struct thread_fetch f = {0};
    static char text[PIECE + 1];

    (void)state;
    begin(true, 0);
    f.c = client(sv.ca.cert_pem);
    assert_int_equal(uv_thread_create(&f.thread, run_fetch, &f), 0);
    until(&calls.n, 1);
    on_loop(job_begin);
    for (uint32_t i = 0; i < PIECES; i++) {
        memset(text, 'a' + (int)(i % 26), PIECE);
        piece(text);
    }
    on_loop(job_end_stream);
    uv_thread_join(&f.thread);
    assert_int_equal(f.status, 200);
    assert_int_equal(n_got, PIECE * PIECES);
    for (uint32_t i = 0; i < PIECES; i++)
        assert_int_equal(got[i * PIECE + i % PIECE], 'a' + (int)(i % 26));
    assert_int_equal(calls.gone, 0);
    curl_easy_cleanup(f.c);
}

static const char *eight_megabytes(void) {
    static char much[8 << 20];

    memset(much, 'x', sizeof much - 1);
    return much;
}

/* Who leaves is noticed, while the stream has nothing to say and while it has. */
static void test_leaving(void **state) {
    (void)state;
    begin(false, 1000);
    int quiet = send_request(HOLD);
    on_loop(job_begin);
    (void)receive_text(quiet, "\r\n\r\n");
    piece("one\n");
    (void)receive_text(quiet, "one\n");
    uint32_t files = open_files();
    (void)close(quiet);
    until(&calls.gone, 1);

    int held = send_request(HOLD); /* before there is an answer: at its deadline */
    (void)close(held);
    until(&calls.gone, 2);

    int slow = send_request(HOLD); /* one that takes nothing */
    calls.which = 2;
    on_loop(job_begin);
    piece(eight_megabytes());
    assert_true(calls.taken);
    until(&calls.gone, 3);
    (void)close(slow);

    for (uint32_t i = 0; i < 60000 && open_files() > files - 2; i++)
        (void)usleep(1000);
    assert_int_equal(open_files(), files - 2); /* both ends of all of them are closed */
}

/* More than waits for anybody. */
static void test_endless(void **state) {
    static char rest[1 << 16];

    (void)state;
    begin(false, 0);
    int fd = send_request(HOLD);
    on_loop(job_begin);
    calls.taken = true;
    for (uint32_t i = 0; i < 60 && calls.taken; i++)
        piece(eight_megabytes());
    assert_false(calls.taken);
    on_loop(job_end_stream);
    while (recv(fd, rest, sizeof rest, 0) > 0) {
    }
    (void)close(fd); /* it was cut off, and without a last chunk */
    assert_int_equal(calls.gone, 0);
}

/* Everybody is told when the server stops. */
static void test_stop(void **state) {
    int fds[8];

    (void)state;
    begin(false, 0);
    for (uint32_t i = 0; i < SL_LEN(fds); i++) {
        fds[i] = send_request(HOLD);
        calls.which = i;
        if (i % 2)
            on_loop(job_begin);
    }
    on_loop(job_stop);
    assert_int_equal(calls.gone, SL_LEN(fds));
    for (uint32_t i = 0; i < SL_LEN(fds); i++)
        (void)close(fds[i]);
}

/* Many that sleep do not slow down those that do not. */
static void test_many(void **state) {
    static int fds[CALLS - 1];

    (void)state;
    begin(false, 0);
    for (uint32_t i = 0; i < SL_LEN(fds); i++) {
        fds[i] = send_request(HOLD);
        calls.which = i;
        on_loop(job_begin);
    }
    int fd = send_request(HOLD);
    calls.which = CALLS - 1;
    on_loop(job_begin);
    (void)receive_text(fd, "\r\n\r\n");
    on_loop(job_cpu);
    double cpu = sv.cpu;
    enum { ROUNDS = 1000 };
    for (uint32_t i = 0; i < ROUNDS; i++) {
        piece("tick\n");
        (void)receive_text(fd, "tick");
    }
    on_loop(job_cpu);
    printf("# %u sleep: a piece costs the server %.1f us\n", CALLS - 1,
           (sv.cpu - cpu) * 1e6 / ROUNDS);
    assert_true((sv.cpu - cpu) / ROUNDS < 0.001);
    (void)close(fd);
    for (uint32_t i = 0; i < SL_LEN(fds); i++)
        (void)close(fds[i]);
    until(&calls.gone, CALLS);
}

/* What one client's request does for another's, while the library is at work: nobody else would
 * wake it afterwards. */
static void test_from_a_handler(void **state) {
    (void)state;
    begin(false, 0);
    int waits = send_request(HOLD), fd = dial();
    SAY(fd, "GET /pass HTTP/1.1\r\nHost: a\r\n\r\n");
    (void)receive_text(fd, "/pass? body=");
    (void)receive_text(waits, "passed");
    (void)close(waits);
    waits = send_request(HOLD);
    calls.which = 1;
    on_loop(job_begin);
    (void)receive_text(waits, "\r\n\r\n");
    for (uint32_t i = 0; i < 100; i++) {
        SAY(fd, "GET /tell HTTP/1.1\r\nHost: a\r\n\r\n");
        (void)receive_text(fd, "/tell? body=");
        (void)receive_text(waits, "told");
    }
    (void)close(waits);
    (void)close(fd);
    until(&calls.gone, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reply, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(test_leaving, setup, teardown),
        cmocka_unit_test_setup_teardown(test_endless, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stop, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many, setup, teardown),
        cmocka_unit_test_setup_teardown(test_from_a_handler, setup, teardown),
    };
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max < 2 * CALLS + 100 ? files.rlim_max : 2 * CALLS + 100;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
