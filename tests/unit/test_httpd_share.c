/*
 * Floods: connections that say nothing or half of something, bodies that never end, streams that
 * nobody reads. Others are served in spite of them, and memory stays bounded.
 */
#include "httpd_fx.h"

#define FLOOD (MAX_CONNECTIONS + 40)
#define IN_TIME 4.0 /* seconds; much less than any deadline, much more than the patience */

static const char ASK[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/* How long an answer takes for a newcomer from there, trying again when it is sent away. */
static double served(uint8_t from) {
    double t0 = seconds();
    int status = 0;

    while (status != 200 && seconds() - t0 < 60) {
        int fd = dial_from(from);
        say(fd, ASK, strlen(ASK));
        status = hear_echo(fd);
        (void)close(fd);
    }
    assert_int_equal(status, 200);
    return seconds() - t0;
}

static void flood(int *fds, uint8_t from, const char *words) {
    for (size_t i = 0; i < FLOOD; i++) {
        fds[i] = dial_from(from);
        say(fds[i], words, strlen(words));
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
    bool closed;

    (void)state;
    start(false);
    for (size_t i = 0; i < SL_LEN(words); i++) {
        int known = dial_from(3); /* has been here before, and is idle */
        say(known, ASK, strlen(ASK));
        assert_int_equal(hear_echo(known), 200);
        flood(fds, 1, words[i]);
        assert_true(served(2) < IN_TIME);
        assert_true(served(1) < IN_TIME); /* also on the same address */
        say(known, ASK, strlen(ASK));     /* it was not the one that had to go */
        assert_int_equal(hear_echo(known), 200);
        (void)close(known);
        drain(fds);
    }
    (void)hear(fds[0] = dial(), 10, &closed);
    (void)close(fds[0]);
}

/* Handshakes that never end: nothing at all, and the beginning of one. */
static void test_half_handshakes(void **state) {
    static const char *const words[] = {"", "\x16\x03\x01\x02"};
    int fds[FLOOD];

    (void)state;
    start(true);
    for (size_t i = 0; i < SL_LEN(words); i++) {
        flood(fds, 1, words[i]);
        CURL *c = client(sv.ca.cert_pem);
        curl_easy_setopt(c, CURLOPT_INTERFACE, "127.0.0.2");
        double t0 = seconds();
        while (fetch(c, "/") != 200)
            assert_true(seconds() - t0 < 60);
        assert_true(seconds() - t0 < IN_TIME);
        curl_easy_cleanup(c);
        drain(fds);
    }
}

/* A flood that comes from many addresses, each with a few. */
static void test_many_addresses(void **state) {
    int fds[FLOOD];

    (void)state;
    start(false);
    for (size_t i = 0; i < FLOOD; i++)
        fds[i] = dial_from((uint8_t)(10 + i / 2));
    assert_true(served(2) < 2 * IN_TIME); /* as many as there is room for go in a second */
    drain(fds);
}

/* One address with many requests is no flood: none of them is ended. */
static void test_one_busy_address(void **state) {
    int fds[MAX_CONNECTIONS];

    (void)state;
    start(false);
    on_loop(job_hold);
    for (size_t i = 0; i < SL_LEN(fds); i++) {
        fds[i] = dial();
        SAY(fds[i], "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    while (__atomic_load_n(&sv.asked, __ATOMIC_SEQ_CST) < SL_LEN(fds))
        (void)usleep(1000);
    assert_true(served(2) < IN_TIME); /* of those that are left for when all are busy */
    on_loop(job_release);
    for (size_t i = 0; i < SL_LEN(fds); i++) {
        assert_int_equal(hear_echo(fds[i]), 200);
        (void)close(fds[i]);
    }
}

/* The time until headers are here is short, and that of bodies, whatever trickles. */
static void test_short_deadlines(void **state) {
    (void)state;
    start(false);
    on_loop(job_stop);
    sv.spec.header_ms = 500;
    sv.spec.body_ms = 700;
    on_loop(job_start);
    assert_int_equal(sv.result, 0);
    int half = dial(), slow = dial();
    double t0 = seconds();
    SAY(half, "GET / HTTP/1.1\r\n");
    SAY(slow, "POST /len HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n");
    struct pollfd p[] = {{.fd = half, .events = POLLIN}, {.fd = slow, .events = POLLIN}};
    while (seconds() - t0 < 20 && poll(p, 2, 20) < 2) {
        SAY(half, "X");
        SAY(slow, "x");
    }
    assert_true(seconds() - t0 < 5);
    (void)close(half);
    (void)close(slow);
}

/* Four that announce as much as is allowed and stop a byte short. */
static void test_bodies_that_never_end(void **state) {
    static char body[2 * MAX_BODY];
    char head[128];
    int fds[12];

    (void)state;
    start(false);
    memset(body, 'x', sizeof body);
    (void)snprintf(head, sizeof head,
                   "POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n",
                   (size_t)2 * MAX_BODY);
    for (size_t i = 0; i < SL_LEN(fds); i++) {
        fds[i] = dial();
        say(fds[i], head, strlen(head));
        say(fds[i], body, (size_t)2 * MAX_BODY - 1);
    }
    (void)usleep(300000);
    for (uint8_t from = 1; from <= 2; from++) { /* small ones are served at once */
        int fd = dial_from(from);
        SAY(fd, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
        assert_int_equal(hear_echo(fd), 200);
        (void)close(fd);
    }
    int other = dial_from(2); /* who has less comes before who has more, */
    say(other, head, strlen(head));
    say(other, body, (size_t)2 * MAX_BODY);
    (void)hear_words(other, "\r\n\r\n");
    assert_int_equal(status_of(got), 200);
    (void)close(other);
    (void)usleep(1200000);
    int same = dial(); /* and who goes on before who has stopped */
    say(same, head, strlen(head));
    say(same, body, (size_t)2 * MAX_BODY);
    (void)hear_words(same, "\r\n\r\n");
    assert_int_equal(status_of(got), 200);
    (void)close(same);
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
    start(false);
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
        say(fd, heads[i], strlen(heads[i]));
        (void)hear(fd, 5000, &closed);
        assert_int_equal(status_of(got), 401);
        assert_non_null(strstr(got, "who are you?"));
        assert_true(closed);
        (void)close(fd);
    }
    int fd = dial();
    SAY(fd, "POST /a HTTP/1.1\r\nHost: a\r\nAuthorization: me\r\nContent-Length: 3\r\n\r\nabc");
    assert_int_equal(hear_echo(fd), 200);
    SAY(fd, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"); /* has no body: for the handler */
    assert_int_equal(hear_echo(fd), 200);
    (void)close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_half_requests),   TEST(test_half_handshakes),
        TEST(test_many_addresses),  TEST(test_one_busy_address),
        TEST(test_short_deadlines), TEST(test_bodies_that_never_end),
        TEST(test_early),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
