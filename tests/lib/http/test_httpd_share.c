/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floods: connections that say nothing or half of something, bodies that never end, streams that
 * nobody reads. Others are served in spite of them, and memory stays bounded.
 */
#include "http_fixture.h"

#define FLOOD (MAX_CONNECTIONS + 40)

static const char ASK[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/* A newcomer from there gets an answer, if it tries again when it is sent away. The server has no
 * deadlines here, so that nobody else would ever go to make room for it. */
static void served(uint8_t from) {
    double t0 = seconds();
    int status = 0;

    while (status != 200 && seconds() - t0 < LONG_S) {
        int fd = dial_from(from);
        send_bytes(fd, ASK, strlen(ASK));
        status = receive_echo(fd);
        (void)close(fd);
    }
    assert_int_equal(status, 200);
}

static void open_many(int *fds, uint8_t from, const char *words) {
    for (size_t i = 0; i < FLOOD; i++) {
        fds[i] = dial_from(from);
        send_bytes(fds[i], words, strlen(words));
    }
}

static void drain(const int *fds) {
    for (size_t i = 0; i < FLOOD; i++)
        (void)close(fds[i]);
}

static void test_half_requests(void **state) {
    static const char *const words[] = {
        "",
        "GET / HT",
        "GET / HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX-Test: ",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n1234",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n123",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n", /* and idle then */
    };
    int fds[FLOOD];

    (void)state;
    start_without_deadlines(false);
    for (size_t i = 0; i < SL_LEN(words); i++) {
        int known = dial_from(3); /* has been here before, and is idle */
        send_bytes(known, ASK, strlen(ASK));
        assert_int_equal(receive_echo(known), 200);
        open_many(fds, 1, words[i]);
        served(2);
        served(1);                           /* also on the same address */
        send_bytes(known, ASK, strlen(ASK)); /* it was not the one that had to go */
        assert_int_equal(receive_echo(known), 200);
        (void)close(known);
        drain(fds);
    }
}

/* Handshakes that never end: nothing at all, and the beginning of one. */
static void test_half_handshakes(void **state) {
    static const char *const words[] = {"", "\x16\x03\x01\x02"};
    int fds[FLOOD];

    (void)state;
    start_without_deadlines(true);
    for (size_t i = 0; i < SL_LEN(words); i++) {
        open_many(fds, 1, words[i]);
        CURL *c = client(sv.ca.cert_pem);
        curl_easy_setopt(c, CURLOPT_INTERFACE, "127.0.0.2");
        double t0 = seconds();
        while (fetch(c, "/") != 200)
            assert_true(seconds() - t0 < LONG_S);
        curl_easy_cleanup(c);
        drain(fds);
    }
}

/* A flood that comes from many addresses, each with a few. */
static void test_many_addresses(void **state) {
    int fds[FLOOD];

    (void)state;
    start_without_deadlines(false);
    for (size_t i = 0; i < FLOOD; i++)
        fds[i] = dial_from((uint8_t)(10 + i / 2));
    served(2); /* as many as there is room for go in a second */
    drain(fds);
}

/* One address with many requests is no flood: none of them is ended. */
static void test_one_busy_address(void **state) {
    int fds[MAX_CONNECTIONS];

    (void)state;
    start_without_deadlines(false);
    on_loop(job_hold);
    for (size_t i = 0; i < SL_LEN(fds); i++) {
        fds[i] = dial();
        SAY(fds[i], "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    while (__atomic_load_n(&sv.asked, __ATOMIC_SEQ_CST) < SL_LEN(fds))
        (void)usleep(1000);
    served(2); /* in one of the places that are left for when all are busy */
    on_loop(job_release);
    for (size_t i = 0; i < SL_LEN(fds); i++) {
        assert_int_equal(receive_echo(fds[i]), 200);
        (void)close(fds[i]);
    }
}

/* The time until headers are here is short, and that of bodies, whatever trickles. By its rate the
 * body could take minutes: so much of it comes at once. */
static void test_short_deadlines(void **state) {
    static char much_at_once[8 << 20];

    (void)state;
    start_without_deadlines(false);
    on_loop(job_stop);
    sv.spec.large_body = 2 * sizeof much_at_once;
    sv.spec.header_ms = 500;
    sv.spec.body_ms = 700;
    on_loop(job_start);
    assert_int_equal(sv.result, 0);
    int half = dial(), slow = dial();
    double t0 = seconds();
    SAY(half, "GET / HTTP/1.1\r\n");
    SAY(slow, "POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: 16000000\r\n\r\n");
    memset(much_at_once, 'x', sizeof much_at_once);
    send_bytes(slow, much_at_once, sizeof much_at_once);
    struct pollfd p[] = {{.fd = half, .events = POLLIN}, {.fd = slow, .events = POLLIN}};
    while (seconds() - t0 < LONG_S && poll(p, 2, 20) < 2) {
        SAY(half, "X");
        SAY(slow, "x");
    }
    assert_int_equal(poll(p, 2, 0), 2);
    (void)close(half);
    (void)close(slow);
}

/* As many as there is room for, and more, that announce as much as is allowed and stop a byte
 * short. They are so large that by their rate they could take a minute. */
static void test_bodies_that_never_end(void **state) {
    static char body[2 << 20];
    char head[128];
    int fds[12], status;

    (void)state;
    start_without_deadlines(false);
    on_loop(job_stop);
    sv.spec.large_body = sizeof body;
    on_loop(job_start);
    assert_int_equal(sv.result, 0);
    memset(body, 'x', sizeof body);
    (void)snprintf(head, sizeof head,
                   "POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", sizeof body);
    for (size_t i = 0; i < SL_LEN(fds); i++) {
        fds[i] = dial();
        send_bytes(fds[i], head, strlen(head));
        send_bytes(fds[i], body, sizeof body - 1);
    }
    until_bodies(2 * sizeof body);
    for (uint8_t from = 1; from <= 2; from++) { /* small ones are served at once */
        int fd = dial_from(from);
        SAY(fd, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
        assert_int_equal(receive_echo(fd), 200);
        (void)close(fd);
    }
    int other = dial_from(2); /* who has less comes before who has more, */
    send_bytes(other, head, strlen(head));
    send_bytes(other, body, sizeof body);
    (void)receive_text(other, "\r\n\r\n");
    assert_int_equal(status_of(got), 200);
    (void)close(other);
    for (size_t i = SL_LEN(fds) - 4; i < SL_LEN(fds); i++) { /* the room that it left is taken, */
        (void)close(fds[i]);
        fds[i] = dial();
        send_bytes(fds[i], head, strlen(head));
        send_bytes(fds[i], body, sizeof body - 1);
    }
    until_bodies(2 * sizeof body + 1);
    double t0 = seconds();
    do { /* and who goes on before who has stopped, once that has been seen */
        assert_true(seconds() - t0 < LONG_S);
        int same = dial();
        send_bytes(same, head, strlen(head));
        send_bytes(same, body, sizeof body);
        status = receive_status(same, "\r\n\r\n"); /* 0: it has not been read any more */
        (void)close(same);
    } while (status != 200 && usleep(50000) == 0);
    for (size_t i = 0; i < SL_LEN(fds); i++)
        (void)close(fds[i]);
}

static bool unknown(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    (void)ctx;
    assert_int_equal(rq->len, 0);
    if (rq->header(rq, "Authorization"))
        return false;
    a->status = 401;
    sl_buf_puts(&a->body, "who are you?");
    return true;
}

/* Who is not known is refused before the body is read, and nothing of it is taken for a request. */
static void test_early(void **state) {
    bool closed;

    (void)state;
    start_server(false);
    on_loop(job_stop);
    sv.spec.early = unknown;
    on_loop(job_start);
    assert_int_equal(sv.result, 0);
    static const char *const heads[] = {
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9000\r\n\r\n",
    };
    for (size_t i = 0; i < SL_LEN(heads); i++) {
        int fd = dial();
        send_bytes(fd, heads[i], strlen(heads[i]));
        (void)receive(fd, LONG_MS, &closed);
        assert_int_equal(status_of(got), 401);
        assert_non_null(strstr(got, "who are you?"));
        assert_true(closed);
        (void)close(fd);
    }
    int fd = dial();
    SAY(fd, "POST /a HTTP/1.1\r\nHost: a\r\nAuthorization: me\r\nContent-Length: 3\r\n\r\nabc");
    assert_int_equal(receive_echo(fd), 200);
    SAY(fd, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"); /* has no body: for the handler */
    assert_int_equal(receive_echo(fd), 200);
    (void)close(fd);
}

/* ---- what is not read ---- */

static struct {
    struct sl_http_call *v[64]; /* NULL: gone */
    uint32_t n, which;
    const char *piece;
    size_t len;
    bool taken;
} calls;

static void on_gone(void *ctx) {
    *(struct sl_http_call **)ctx = NULL;
}

static void hold(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    (void)ctx;
    if (strcmp(rq->path, "/hold") != 0) {
        sl_buf_puts(&a->body, "body=");
        return;
    }
    assert_true(calls.n < SL_LEN(calls.v));
    calls.v[calls.n] = sl_http_hold(rq, on_gone, &calls.v[calls.n]);
    __atomic_fetch_add(&calls.n, 1, __ATOMIC_SEQ_CST);
}

static void job_begin(void) {
    sl_http_begin(calls.v[calls.which], "text/stream");
}

static void job_piece(void) {
    struct sl_http_call *c = calls.v[calls.which];

    calls.taken = c && sl_http_piece(c, calls.piece, calls.len);
    if (c && !calls.taken) {
        calls.v[calls.which] = NULL;
        sl_http_end(c);
    }
}

static void job_reply(void) {
    struct sl_http_call *c = calls.v[calls.which];

    calls.v[calls.which] = NULL;
    sl_http_reply(c, 200, "text/x", NULL, calls.piece, calls.len);
}

static void begin_holding(void) {
    memset(&calls, 0, sizeof calls);
    start_without_deadlines(false);
    on_loop(job_stop);
    sv.spec.handler = hold;
    sv.spec.max_connections = SL_LEN(calls.v) + 2;
    on_loop(job_start);
    assert_int_equal(sv.result, 0);
}

static int request_held(void) {
    int fd = dial();
    uint32_t n = calls.n;

    SAY(fd, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    while (__atomic_load_n(&calls.n, __ATOMIC_SEQ_CST) == n)
        (void)usleep(500);
    calls.which = n;
    return fd;
}

static bool piece(uint32_t which, const char *bytes, size_t len) {
    calls.which = which;
    calls.piece = bytes;
    calls.len = len;
    on_loop(job_piece);
    return calls.taken;
}

static uint32_t n_open(void) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < calls.n; i++)
        n += calls.v[i] != NULL;
    return n;
}

enum { MEGABYTE = 1 << 20, UNREAD = 30, EACH = 40 };
static char much[MEGABYTE];

/* Streams that are opened and never read: they cost no more than what may wait in all, and who
 * reads or has nothing to read keeps its stream. */
static void test_unread_streams(void **state) {
    int fds[UNREAD];

    (void)state;
    begin_holding();
    memset(much, 'x', sizeof much);
    int idle = request_held(), reads = request_held();
    for (uint32_t i = 0; i < 2; i++) {
        calls.which = i;
        on_loop(job_begin);
    }
    (void)receive_text(reads, "\r\n\r\n");
    size_t waits = 0;
    for (uint32_t i = 0; i < UNREAD; i++) {
        fds[i] = request_held();
        uint32_t which = calls.which;
        on_loop(job_begin);
        for (uint32_t k = 0; k < EACH && piece(which, much, sizeof much); k++) {
        }
        assert_true(piece(1, "line\n", 5));
        (void)receive_text(reads, "line");
    }
    /* Those that had to give way go in the next turns of the loop. */
    for (uint32_t turns = 0; turns < 100 && (waits = n_open() - 2) * EACH > 192 + EACH; turns++) {
        on_loop(job_nothing);
        (void)usleep(1000);
    }
    assert_true(waits * EACH <= 192 + EACH);
    /* Those that are left take nothing either, and are ended in a while. */
    for (double t0 = seconds(); seconds() - t0 < LONG_S && n_open() > 2;)
        (void)usleep(20000);
    assert_int_equal(n_open(), 2);
    assert_true(piece(0, "end\n", 4));
    (void)receive_text(idle, "end");
    for (uint32_t i = 0; i < UNREAD; i++)
        (void)close(fds[i]);
    /* One piece is never too much. */
    static char object[20 * MEGABYTE];
    memset(object, 'y', sizeof object);
    assert_true(piece(0, object, sizeof object));
    (void)close(idle);
    (void)close(reads);
}

/* The same with answers that are not read. */
static void test_unread_answers(void **state) {
    static char list[EACH * MEGABYTE];
    int fds[UNREAD];
    uint32_t refused = 0;

    (void)state;
    begin_holding();
    memset(list, 'x', sizeof list);
    for (uint32_t i = 0; i < UNREAD; i++) {
        fds[i] = request_held();
        calls.piece = list;
        calls.len = sizeof list;
        on_loop(job_reply);
        if (i >= 6) {
            (void)receive_text(fds[i], "\r\n\r\n");
            refused += status_of(got) == 429;
            assert_non_null(strstr(got, "Retry-After: 1\r\n"));
        }
    }
    assert_int_equal(refused, UNREAD - 6);
    int fd = request_held(); /* what is small always goes */
    calls.len = MEGABYTE;
    on_loop(job_reply);
    (void)receive_text(fd, "\r\n\r\n");
    assert_int_equal(status_of(got), 200);
    (void)close(fd);
    for (uint32_t i = 0; i < UNREAD; i++)
        (void)close(fds[i]);
}

/* One answer has a ceiling too, and less where others have not read theirs. */
static void test_large_answers(void **state) {
    (void)state;
    start_without_deadlines(false);
    on_loop(job_stop);
    sv.spec.max_answer = sv.spec.all_answers = 48 * MEGABYTE;
    on_loop(job_start);
    int first = dial(), second = dial();
    SAY(first, "GET /huge HTTP/1.1\r\nHost: a\r\n\r\n"); /* 32 MiB, which are not read */
    (void)receive_text(first, "HTTP/1.1 200");
    SAY(second, "GET /huge HTTP/1.1\r\nHost: a\r\n\r\n");
    (void)receive_text(second, "too many responses are unread");
    assert_int_equal(status_of(got), 503);
    (void)close(first);
    (void)close(second);
    on_loop(job_stop);
    sv.spec.max_answer = MEGABYTE;
    on_loop(job_start);
    first = dial();
    SAY(first, "GET /huge HTTP/1.1\r\nHost: a\r\n\r\n");
    (void)receive_text(first, "the answer is larger than 1048576 bytes");
    assert_int_equal(status_of(got), 500);
    SAY(first, "GET /small HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(receive_echo(first), 200);
    (void)close(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_half_requests),   TEST(test_half_handshakes),
        TEST(test_many_addresses),  TEST(test_one_busy_address),
        TEST(test_short_deadlines), TEST(test_bodies_that_never_end),
        TEST(test_early),           TEST(test_unread_streams),
        TEST(test_unread_answers),  TEST(test_large_answers),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
