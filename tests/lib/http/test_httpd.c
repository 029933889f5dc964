/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server: requests, what is too much, certificates, restarts, and its speed.
 */
#include "http_fixture.h"

#include "lib/log/log.h"

static void check_requests(CURL *c) {
    char *type;
    struct curl_slist *headers = curl_slist_append(NULL, "X-Test: yes");
    static char body[MAX_BODY];

    assert_int_equal(fetch(c, "/a/b?q=x%20y%26z&r="), 200);
    assert_string_equal(got, "GET /a/b q=x y&z h=- body=");
    curl_easy_getinfo(c, CURLINFO_CONTENT_TYPE, &type);
    assert_string_equal(type, "application/json");
    assert_int_equal(connects(c), 1);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    assert_int_equal(fetch(c, "/a%2fb%20%C3%A9?q"), 200);
    assert_string_equal(got, "GET /a/b \xc3\xa9 q= h=yes body=");
    assert_int_equal(connects(c), 0); /* the connection is kept */
    assert_int_equal(fetch(c, "/missing"), 404);
    assert_string_equal(got, "no such thing");
    curl_easy_getinfo(c, CURLINFO_CONTENT_TYPE, &type);
    assert_string_equal(type, "text/plain");
    assert_int_equal(fetch(c, "/missing%00/more"), 200); /* another path, not a shorter one */
    assert_string_equal(got, "GET /missing?/more q=- h=yes body=");
    assert_int_equal(fetch(c, "/post-only"), 405);
    assert_string_equal(got, "");
    assert_int_equal(fetch(c, "/big"), 200);
    assert_int_equal(n_got, 3000000);
    assert_int_equal(fetch(c, "/too-big"), 500);
    curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
    assert_int_equal(fetch(c, "/big"), 200);
    assert_int_equal(n_got, 0);
    curl_easy_setopt(c, CURLOPT_NOBODY, 0L);
    post(c, "{\"a\":1}", 7);
    assert_int_equal(fetch(c, "/post-only"), 200);
    assert_string_equal(got, "POST /post-only q=- h=yes body={\"a\":1}");
    post(c, "", 0);
    assert_int_equal(fetch(c, "/len"), 200);
    assert_string_equal(got, "0");
    memset(body, 'x', sizeof body);
    post(c, body, sizeof body); /* just what is allowed */
    assert_int_equal(fetch(c, "/len"), 200);
    assert_string_equal(got, "100000");
    curl_slist_free_all(headers);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, NULL);
}

/* One path may take more; all bodies together are bounded, and their room is given back. */
static void test_large_bodies(void **state) {
    (void)state;
    static char body[2 * MAX_BODY + 1];
    char head[128];
    int fds[4];

    start_without_deadlines(false);
    on_loop(job_stop);
    sv.spec.still_ms = NEVER_MS; /* those that wait are as good as on their way */
    on_loop(job_start);
    memset(body, 'x', sizeof body);
    CURL *c = client(NULL);
    post(c, body, 2 * MAX_BODY);
    assert_int_equal(fetch(c, "/large"), 200);
    assert_int_equal(fetch(c, "/len"), 413);
    post(c, body, 2 * MAX_BODY + 1);
    assert_int_equal(fetch(c, "/large"), 413);
    (void)snprintf(head, sizeof head,
                   "POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n",
                   (size_t)2 * MAX_BODY);
    for (size_t i = 0; i < 3; i++) { /* they fill the room for large ones, but for a byte each */
        fds[i] = dial();
        send_bytes(fds[i], head, strlen(head));
        send_bytes(fds[i], body, (size_t)2 * MAX_BODY - 1);
    }
    until_bodies(3 * ((size_t)2 * MAX_BODY - 1));
    fds[3] = dial(); /* nothing is left for one more while they go on */
    send_bytes(fds[3], head, strlen(head));
    for (size_t at = 0; at < (size_t)2 * MAX_BODY; at += 20000) {
        send_bytes(fds[3], body, 20000);
        (void)usleep(1000);
    }
    (void)receive_text(fds[3], "\r\n\r\n");
    assert_int_equal(status_of(got), 503);
    close(fds[3]);
    post(c, body, 10); /* small ones have room of their own */
    assert_int_equal(fetch(c, "/len"), 200);
    for (size_t i = 0; i < 3; i++)
        send_bytes(fds[i], "x", 1);
    for (size_t i = 0; i < 3; i++) {
        (void)receive_text(fds[i], "\r\n\r\n200000");
        assert_int_equal(status_of(got), 200);
        close(fds[i]);
    }
    post(c, body, 2 * MAX_BODY);
    assert_int_equal(fetch(c, "/large"), 200);
    post(c, body, 10);
    assert_int_equal(fetch(c, "/len"), 200);
    curl_easy_cleanup(c);
}

static void test_plain(void **state) {
    (void)state;
    start_server(false);
    CURL *c = client(NULL);
    check_requests(c);
    curl_easy_cleanup(c);
}

static void test_tls(void **state) {
    (void)state;
    start_server(true);
    CURL *c = client(sv.ca.cert_pem);
    check_requests(c);
    curl_easy_cleanup(c);
    /* Without the CA the certificate is not trusted; TLS 1.2 is still spoken, 1.1 is not. */
    c = client(NULL);
    assert_int_equal(fetch(c, "/"), -CURLE_PEER_FAILED_VERIFICATION);
    curl_easy_cleanup(c);
    c = client(sv.ca.cert_pem);
    curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_MAX_TLSv1_2);
    assert_int_equal(fetch(c, "/"), 200);
    curl_easy_cleanup(c);
    c = client(sv.ca.cert_pem);
    curl_easy_setopt(c, CURLOPT_SSLVERSION,
                     (long)CURL_SSLVERSION_TLSv1_0 | (long)CURL_SSLVERSION_MAX_TLSv1_1);
    curl_easy_setopt(c, CURLOPT_SSL_CIPHER_LIST, "DEFAULT@SECLEVEL=0");
    assert_int_equal(fetch(c, "/"), -CURLE_SSL_CONNECT_ERROR);
    curl_easy_cleanup(c);
    /* Plain HTTP on the TLS port ends the connection and nothing else. */
    int fd = dial();
    bool closed;
    SAY(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(status_of(receive(fd, LONG_MS, &closed)), 0);
    assert_true(closed);
    close(fd);
    c = client(sv.ca.cert_pem);
    assert_int_equal(fetch(c, "/"), 200);
    curl_easy_cleanup(c);
}

static void test_oversize(void **state) {
    static char body[4 * MAX_BODY];
    char head[128];
    bool closed;

    (void)state;
    start_server(false);
    memset(body, 'x', sizeof body);
    /* By its announced length, before any of it is sent. */
    int fd = dial();
    (void)snprintf(head, sizeof head,
                   "POST /len HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", MAX_BODY + 1);
    send_bytes(fd, head, strlen(head));
    assert_int_equal(status_of(receive(fd, LONG_MS, &closed)), 413);
    assert_true(closed);
    close(fd);
    /* A number that no type holds. */
    fd = dial();
    SAY(fd, "POST /len HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n");
    int status = status_of(receive(fd, LONG_MS, &closed));
    assert_true(status == 413 || status == 400);
    assert_true(closed);
    close(fd);
    /* curl asks first (Expect: 100-continue) if we tell it to. */
    CURL *c = client(NULL);
    struct curl_slist *expect = curl_slist_append(NULL, "Expect: 100-continue");
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, expect);
    post(c, body, MAX_BODY + 1);
    assert_int_equal(fetch(c, "/len"), 413);
    assert_string_equal(got, "the body is too large\n");
    post(c, body, MAX_BODY);
    assert_int_equal(fetch(c, "/len"), 200);
    curl_slist_free_all(expect);
    /* Without an announced length: a bit too much is swallowed and answered, */
    struct curl_slist *chunked = curl_slist_append(NULL, "Transfer-Encoding: chunked");
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, chunked);
    post(c, body, MAX_BODY);
    assert_int_equal(fetch(c, "/len"), 200);
    assert_string_equal(got, "100000");
    post(c, body, MAX_BODY + 1);
    assert_int_equal(fetch(c, "/len"), 413);
    curl_slist_free_all(chunked);
    curl_easy_cleanup(c);
    /* far too much ends the connection. */
    fd = dial();
    SAY(fd, "POST /len HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 100; i++) {
        SAY(fd, "2710\r\n");
        send_bytes(fd, body, 10000);
        SAY(fd, "\r\n");
    }
    assert_int_equal(status_of(receive(fd, LONG_MS, &closed)), 0);
    assert_true(closed);
    close(fd);
    /* Headers without end. */
    fd = dial();
    SAY(fd, "GET / HTTP/1.1\r\nHost: a\r\nX-Test: ");
    send_bytes(fd, body, MAX_BODY);
    status = status_of(receive(fd, LONG_MS, &closed));
    assert_true(status == 431 || status == 0); /* 0: reset before we could read it */
    assert_true(closed);
    close(fd);
}

/* As many arguments as fit into the line are taken, and an answer comes at once. */
static void test_many_arguments(void **state) {
    bool closed;

    (void)state;
    start_server(false);
    for (int n = 1; n <= 6000; n = n < 64 ? n + 21 : n * 2) {
        struct sl_buf line;
        sl_buf_init(&line, (size_t)32 << 10);
        sl_buf_puts(&line, "GET /a?");
        for (int i = 0; i < n; i++)
            sl_buf_puts(&line, "a=b&");
        sl_buf_puts(&line, " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert_false(sl_buf_full(&line));
        int fd = dial();
        send_bytes(fd, sl_buf_str(&line), line.len);
        int status = status_of(receive(fd, LONG_MS, &closed));
        if (status != 200 || !closed)
            fail_msg("%d arguments: status %d", n, status);
        close(fd);
        sl_buf_done(&line);
    }
}

static void test_malformed(void **state) {
    static const struct {
        const char *s;
        size_t n;
    } t[] = {
#define T(x) {x, sizeof(x) - 1}
        T("\r\n\r\n\r\n"),
        T("\0\0\0\0\r\n\r\n"),
        T("GET\r\n\r\n"),
        T("GET /\r\n\r\n"),
        T("GET / HTTP/9.9\r\n\r\n"),
        T("GET / HTTP/1.1\r\n\r\n"), /* no Host */
        T("GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n"),
        T("GET / HTTP/1.1\r\nHost: a\r\n: empty\r\n\r\n"),
        T("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"),
        T("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ten\r\n\r\n"),
        T("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
        T("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"),
        T("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
          "ffffffffffffffffff\r\n"),
        T("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: rot13\r\n\r\nx"),
        T("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcdefgh\r\n"),
        T("GET /%zz%1 HTTP/1.1\r\nHost: a\r\n\r\n"),
        T("GET /a?%zz=&&=&=x HTTP/1.1\r\nHost: a\r\n\r\n"),
        T("GET http://[::1/%%% HTTP/1.1\r\nHost: a\r\n\r\n"),
        T("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        T("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello, TLS\r\n\r\n"),
#undef T
    };
    bool closed;

    (void)state;
    start_server(false);
    for (size_t i = 0; i < SL_LEN(t); i++) {
        /* In one piece and byte by byte; an answer of 200 is possible, a crash is not. */
        for (size_t step = t[i].n; step > 0; step = step == 1 ? 0 : 1) {
            int fd = dial();
            for (size_t k = 0; k < t[i].n; k += step)
                send_bytes(fd, t[i].s + k, step);
            int status = status_of(receive(fd, 50, &closed));
            if (status != 0 && status != 200 && !(status >= 400 && status < 600))
                fail_msg("case %zu: status %d", i, status);
            close(fd);
        }
    }
    CURL *c = client(NULL);
    assert_int_equal(fetch(c, "/alive"), 200);
    curl_easy_cleanup(c);
}

/* What a proxy before us may read otherwise: the bytes behind are nobody's second request. */
static void test_framing(void **state) {
#define NEXT "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
#define LINES(x)                                                                                   \
    {                                                                                              \
        "POST / HTTP/1.1\r\nHost: a\r\n" x "\r\n" NEXT,                                            \
            sizeof("POST / HTTP/1.1\r\nHost: a\r\n" x "\r\n" NEXT) - 1                             \
    }
#define BLOCK(x)                                                                                   \
    { x NEXT, sizeof(x NEXT) - 1 }
    static const struct {
        const char *s;
        size_t n;
    } t[] = {
        LINES("Content-Length: 0\r\nContent-Length: 40\r\n"),
        LINES("Content-Length: 40\r\nContent-Length: 0\r\n"),
        LINES("content-length: 0\r\nCONTENT-LENGTH: 0\r\n"),
        LINES("Content-Length: 0, 40\r\n"),
        LINES("Content-Length: 0,0\r\n"),
        LINES("Content-Length: +0\r\n"),
        LINES("Content-Length: 0x0\r\n"),
        LINES("Content-Length:\r\n"),
        LINES("Content-Length : 0\r\n"),
        LINES("Content-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"),
        LINES("Transfer-Encoding: chunked\r\nContent-Length: 40\r\n\r\n0\r\n"),
        LINES("Transfer-Encoding: identity\r\nContent-Length: 0\r\n"),
        LINES("Transfer-Encoding: identity\r\n"),
        LINES("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n"),
        LINES("Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n"),
        LINES("Transfer-Encoding: xchunked\r\n\r\n0\r\n"),
        LINES("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n"),
        LINES("Transfer-Encoding : chunked\r\n\r\n0\r\n"),
        LINES("Transfer-Encoding: \vchunked\r\n\r\n0\r\n"),
        LINES("Host: b\r\nContent-Length: 0\r\n"),
        LINES("Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"),
        LINES("X-A: b\r\n Content-Length: 40\r\n"),
        LINES("X-A: b\r\n\tfolded\r\nContent-Length: 0\r\n"),
        LINES("X-A:\r\n folded\r\n"),
        LINES("X-A: b\rContent-Length: 40\r\n"),
        LINES("X-A: b\r\r\nContent-Length: 0\r\n"),
        LINES("X-A: b\nContent-Length: 0\r\n"),
        LINES("Content-Length: 0\n"),
        LINES("X-A: b\0c\r\nContent-Length: 0\r\n"),
        LINES("X-A: b\0\r\nContent-Length: 0\r\n"),
        LINES("Content-Length: 0\0\r\n"),
        LINES("Content-Length: 0\00040\r\n"),
        LINES("X\0A: b\r\n"),
        LINES("X A: b\r\n"),
        LINES("X(A): b\r\n"),
        LINES("X-A: b\x7f\r\n"),
        LINES("\r: b\r\n"),
        BLOCK("POST / HTTP/1.1\r\n Host: a\r\nHost: a\r\n\r\n"),
        BLOCK("POST / HTTP/1.1\nHost: a\r\n\r\n"),
        BLOCK("POST / HTTP/1.1\r\nHost: a\n\n"),
        BLOCK("POST /\0x HTTP/1.1\r\nHost: a\r\n\r\n"),
        BLOCK("POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n"
              "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    };
    static const char chunks[] = "POST /len HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
                                 "\r\n3\r\nabc\r\n0\r\n\r\n" NEXT;
    static const char good[] = "POST /len HTTP/1.1\r\nHost:a\r\nX-Empty:\r\nX-B: \t c d\t\r\n"
                               "Content-Length:  3\r\n\r\nabc" NEXT;
    bool closed;

    (void)state;
    start_server(false);
    for (size_t i = 0; i < SL_LEN(t); i++) {
        for (size_t step = t[i].n; step > 0; step = step == 1 ? 0 : 1) {
            int fd = dial();
            for (size_t k = 0; k < t[i].n; k += step)
                send_bytes(fd, t[i].s + k, step);
            const char *answer = receive(fd, LONG_MS, &closed);
            if (status_of(answer) != 400 || !closed || strstr(answer, "smuggled"))
                fail_msg("case %zu: %s, %s", i, answer, closed ? "closed" : "open");
            close(fd);
        }
    }
    int fd = dial(); /* these can be meant in one way only, but are hard to read */
    send_bytes(fd, chunks, sizeof chunks - 1);
    assert_int_equal(status_of(receive(fd, LONG_MS, &closed)), 200);
    assert_non_null(strstr(got, "\r\n\r\n3"));
    assert_null(strstr(got, "smuggled"));
    assert_true(closed);
    close(fd);
    fd = dial();
    for (size_t i = 0; i < 2; i++) { /* and what is good stays good, on one connection */
        send_bytes(fd, good, sizeof good - 1);
        (void)receive_text(fd, "GET /smuggled");
        assert_int_equal(status_of(got), 200);
    }
    close(fd);
#undef LINES
#undef BLOCK
#undef NEXT
}

static void test_pipelined(void **state) {
    static const char two[] = "POST /len HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
                              "GET /second HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    bool closed;

    (void)state;
    start_server(false);
    int fd = dial();
    send_bytes(fd, two, sizeof two - 1);
    const char *s = receive(fd, LONG_MS, &closed);
    assert_int_equal(status_of(s), 200);
    assert_non_null(strstr(s, "\r\n\r\n3HTTP/1.1 200"));
    assert_non_null(strstr(s, "\r\n\r\nGET /second q=-"));
    assert_true(closed);
    close(fd);
}

static void until_requests(uint32_t n) {
    for (int tries = 0; __atomic_load_n(&sv.asked, __ATOMIC_SEQ_CST) < n; tries++) {
        assert_true(tries < 6000);
        (void)usleep(10000);
    }
}

static void test_connection_limit(void **state) {
    int fds[MAX_CONNECTIONS + 2];
    bool closed;

    (void)state;
    start_server(false);
    for (int i = 0; i < MAX_CONNECTIONS; i++) {
        fds[i] = dial();
        SAY(fds[i], "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_int_equal(receive_echo(fds[i]), 200);
    }
    /* All are idle: the first, which has answered again since, stays, and the second has to go. */
    SAY(fds[0], "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(receive_echo(fds[0]), 200);
    fds[MAX_CONNECTIONS] = dial();
    SAY(fds[MAX_CONNECTIONS], "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(receive_echo(fds[MAX_CONNECTIONS]), 200);
    assert_string_equal(receive(fds[1], LONG_MS, &closed), "");
    assert_true(closed);
    close(fds[1]);
    fds[1] = fds[MAX_CONNECTIONS];
    for (int i = 0; i < MAX_CONNECTIONS; i++) {
        SAY(fds[i], "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_int_equal(receive_echo(fds[i]), 200);
    }
    /* All are busy: a few more are let in, then the kernel takes one more, but it has to wait. */
    on_loop(job_hold);
    for (int i = 0; i < MAX_CONNECTIONS; i++)
        SAY(fds[i], "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
    int more[MAX_CONNECTIONS / 8 + 1];
    for (size_t i = 0; i < SL_LEN(more); i++) {
        more[i] = dial();
        SAY(more[i], "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    until_requests(MAX_CONNECTIONS + SL_LEN(more));
    fds[MAX_CONNECTIONS] = dial();
    SAY(fds[MAX_CONNECTIONS], "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_string_equal(receive(fds[MAX_CONNECTIONS], 300, &closed), "");
    assert_false(closed);
    on_loop(job_release);
    assert_int_equal(receive_echo(fds[MAX_CONNECTIONS]), 200);
    for (int i = 0; i <= MAX_CONNECTIONS; i++)
        close(fds[i]);
    for (size_t i = 0; i < SL_LEN(more); i++)
        close(more[i]);
}

static void test_deadlines(void **state) {
    bool closed;

    (void)state;
    start_server(false);
    on_loop(job_stop);
    sv.spec.request_ms = 1000;
    sv.spec.idle_ms = 1500;
    on_loop(job_start);
    assert_int_equal(sv.result, 0);

    double from = seconds();
    int silent = dial(), drip = dial(), slow_body = dial(), idle = dial();
    SAY(drip, "GET / HTTP/1.1\r\n");
    SAY(slow_body, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n");
    SAY(idle, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    /* A byte now and then does not help. */
    struct pollfd p[] = {{.fd = drip, .events = POLLIN}, {.fd = slow_body, .events = POLLIN}};
    while (seconds() - from < 40 && poll(p, 2, 50) < 2) {
        SAY(drip, "X");
        SAY(slow_body, "x");
    }
    assert_true(seconds() - from < 30);
    assert_string_equal(receive(silent, LONG_MS, &closed), "");
    assert_true(closed);
    assert_int_equal(status_of(receive(idle, LONG_MS, &closed)), 200);
    assert_true(closed);
    close(silent);
    close(drip);
    close(slow_body);
    close(idle);
    CURL *c = client(NULL);
    assert_int_equal(fetch(c, "/alive"), 200);
    curl_easy_cleanup(c);
}

/* Requests that wait: for being woken, for their deadline, for the end of the server. */
static void test_deferred(void **state) {
    bool closed;

    (void)state;
    start_server(false);
    on_loop(job_stop);
    sv.spec.request_ms = 5000;
    on_loop(job_start);
    assert_int_equal(sv.result, 0);
    on_loop(job_hold);
    on_loop(job_wake); /* nobody waits */
    int one = dial(), two = dial();
    SAY(one, "POST /later?q=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz");
    SAY(two, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
    until_requests(2);
    assert_string_equal(receive(one, 200, &closed), "");
    assert_false(closed);
    on_loop(job_wake); /* asked again, and they go on waiting */
    assert_string_equal(receive(two, 200, &closed), "");
    assert_false(closed);
    until_requests(4);
    assert_int_equal(sv.asked, 4);
    CURL *c = client(NULL);
    assert_int_equal(fetch(c, "/others"), 200); /* do not wait */
    on_loop(job_release);
    assert_int_equal(receive_echo(one), 200);
    assert_non_null(strstr(got, "POST /later q=1 h=- body=xyz"));
    assert_null(strstr(got, "dropped"));
    assert_int_equal(receive_echo(two), 200);
    SAY(two, "GET /again HTTP/1.1\r\nHost: a\r\n\r\n"); /* the connection is as good as before */
    assert_int_equal(receive_echo(two), 200);
    on_loop(job_hold);
    SAY(one, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_string_equal(receive(one, LONG_MS, &closed), "");
    assert_true(closed);
    SAY(two, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_string_equal(receive(two, 200, &closed), "");
    assert_false(closed);
    on_loop(job_stop);
    assert_string_equal(receive(two, LONG_MS, &closed), "");
    assert_true(closed);
    on_loop(job_start);
    close(one);
    close(two);
    curl_easy_cleanup(c);
}

static void test_certificate_swap(void **state) {
    struct sl_cert keep;

    (void)state;
    start_server(true);
    char *old_ca = strdup(sv.ca.cert_pem);
    CURL *old = client(old_ca);
    assert_int_equal(fetch(old, "/"), 200);
    sv.spec.cert_pem = ""; /* only its presence counts from here on */

    /* One that cannot be used changes nothing. */
    keep = sv.cert;
    sv.cert.key_pem = sv.ca.key_pem;
    on_loop(job_certificate);
    assert_int_equal(sv.result, SL_EINVAL);
    assert_string_equal(sv.err.text, "the key does not belong to the certificate");
    sv.cert = (struct sl_cert){(char *)"x", (char *)"y"};
    on_loop(job_certificate);
    assert_int_equal(sv.result, SL_EINVAL);
    assert_string_equal(sv.err.text, "cannot read the certificate: no start line");
    sv.cert = keep;
    assert_int_equal(fetch(old, "/"), 200);
    assert_int_equal(connects(old), 0);

    new_cert();
    on_loop(job_certificate);
    assert_int_equal(sv.result, 0);
    CURL *fresh = client(sv.ca.cert_pem);
    assert_int_equal(fetch(fresh, "/"), 200);
    /* The old connection gets one more answer; then the client has to come again, and sees. */
    assert_int_equal(fetch(old, "/"), 200);
    assert_int_equal(connects(old), 0);
    assert_int_equal(fetch(old, "/"), -CURLE_PEER_FAILED_VERIFICATION);

    /* Several in a row: the oldest connections are cut off, the present ones go on. */
    for (int i = 0; i < 5; i++) {
        new_cert();
        on_loop(job_certificate);
        assert_int_equal(sv.result, 0);
    }
    CURL *last = client(sv.ca.cert_pem);
    assert_int_equal(fetch(last, "/"), 200);
    assert_true(fetch(fresh, "/") < 0);
    curl_easy_cleanup(old);
    curl_easy_cleanup(fresh);
    curl_easy_cleanup(last);
    free(old_ca);
}

static void test_restart(void **state) {
    (void)state;
    start_server(true);
    /* A port below those that the kernel gives to clients, or one of them may take it meanwhile. */
    on_loop(job_stop);
    for (int i = 0; !sv.h; i++) {
        assert_true(i < 100);
        sv.spec.port = (uint16_t)(20000 + (getpid() + i * 97) % 10000);
        on_loop(job_start);
    }
    uint32_t files = open_files();
    double from = seconds();
    for (int i = 0; i < 50; i++) {
        /* A connection that we still hold, and the server closes. */
        CURL *c = client(sv.ca.cert_pem);
        assert_int_equal(fetch(c, "/"), 200);
        int fd = dial();
        on_loop(job_stop);
        on_loop(job_start);
        if (sv.result < 0)
            fail_msg("start %d: %s", i, sv.err.text);
        curl_easy_cleanup(c);
        close(fd);
    }
    print_message("# 50 restarts on one port: %.0f ms\n", (seconds() - from) * 1e3);
    assert_int_equal(open_files(), files);
    /* The port is ours, and nobody else's. */
    struct sl_httpd *first = sv.h;
    on_loop(job_start);
    assert_int_equal(sv.result, SL_EIO);
    assert_non_null(strstr(sv.err.text, "Address already in use"));
    sv.h = first;
}

static void test_addresses(void **state) {
    (void)state;
    start_server(false);
    on_loop(job_stop);
    sv.spec.host = "a..b"; /* no name server is asked about that */
    on_loop(job_start);
    assert_int_equal(sv.result, SL_EIO);
    assert_non_null(strstr(sv.err.text, "cannot listen on a..b port 0: "));
    sv.spec.host = "192.0.2.1"; /* not ours */
    on_loop(job_start);
    assert_int_equal(sv.result, SL_EIO);
    sv.spec.host = "";
    on_loop(job_start);
    assert_int_equal(sv.result, 0);
    CURL *c = client(NULL);
    assert_int_equal(fetch(c, "/"), 200);
    curl_easy_cleanup(c);
}

/* No descriptor left to accept with: the connection waits, and is served when there is one. */
static void test_starved(void **state) {
    int many[256] = {0};
    size_t n = 0;
    struct rlimit saved, low;
    bool closed;

    (void)state;
    start_server(false);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
    low = saved;
    low.rlim_cur = 128;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    while (n < SL_LEN(many) && (many[n] = dup(0)) >= 0)
        n++;
    assert_true(n > 0 && n < SL_LEN(many));
    close(many[--n]);
    int fd = dial(); /* takes the last one */
    SAY(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_string_equal(receive(fd, 300, &closed), "");
    assert_false(closed);
    while (n > 0)
        close(many[--n]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
    assert_int_equal(receive_echo(fd), 200);
    close(fd);
}

#define CLIENTS 8

/* Every client asks at least once, and again and again for so long. The number of requests. */
static uint32_t pump(CURLM *m, CURL *const *clients, double for_seconds, uint32_t *connected) {
    uint32_t started = 0, n = 0;
    double from = seconds();
    int running, left;

    for (; started < CLIENTS; started++)
        curl_multi_add_handle(m, clients[started]);
    while (n < started) {
        n_got = 0;
        assert_int_equal(curl_multi_perform(m, &running), CURLM_OK);
        bool more = seconds() - from < for_seconds;
        for (CURLMsg *msg; (msg = curl_multi_info_read(m, &left)); n++) {
            CURL *c = msg->easy_handle;
            long status;
            assert_int_equal(msg->data.result, CURLE_OK);
            curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
            assert_int_equal(status, 200);
            *connected += (uint32_t)connects(c);
            curl_multi_remove_handle(m, c);
            if (more) {
                curl_multi_add_handle(m, c);
                started++;
            }
        }
        if (running > 0)
            (void)curl_multi_poll(m, NULL, 0, 100, NULL);
    }
    return n;
}

/* Many requests on kept connections. The figure is printed, not judged. */
static void load(const char *what, double for_seconds) {
    static char body[5000];
    CURL *clients[CLIENTS];
    CURLM *m = curl_multi_init();
    char url[64];
    uint32_t connected = 0;

    curl_multi_setopt(m, CURLMOPT_MAXCONNECTS, (long)CLIENTS); /* keep them all */
    memset(body, 'x', sizeof body);
    (void)snprintf(url, sizeof url, "%s://127.0.0.1:%u/len", sv.spec.cert_pem ? "https" : "http",
                   sv.port);
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = client(sv.ca.cert_pem);
        curl_easy_setopt(clients[i], CURLOPT_URL, url);
        post(clients[i], body, sizeof body);
    }
    (void)pump(m, clients, 0, &connected); /* connects */
    on_loop(job_cpu);
    double cpu = sv.cpu, from = seconds();
    uint32_t n = pump(m, clients, for_seconds, &connected);
    double took = seconds() - from;
    on_loop(job_cpu);
    cpu = sv.cpu - cpu;
    print_message(
        "# %s, %d connections, POST of 5 kB: %.0f requests/s, %.1f us of the server's CPU "
        "each (%.0f/s on a full core)\n",
        what, CLIENTS, n / took, cpu / n * 1e6, n / cpu);
    assert_int_equal(connected, CLIENTS);
    for (size_t i = 0; i < CLIENTS; i++)
        curl_easy_cleanup(clients[i]);
    curl_multi_cleanup(m);
}

static double load_seconds(void) {
    const char *s = getenv("SL_LOAD_SECONDS");
    return s ? strtod(s, NULL) : 0.3;
}

static void test_load_plain(void **state) {
    (void)state;
    start_server(false);
    load("plain", load_seconds());
}

static void test_load_tls(void **state) {
    (void)state;
    start_server(true);
    load("TLS", load_seconds());
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_large_bodies),     TEST(test_plain),          TEST(test_tls),
        TEST(test_oversize),         TEST(test_many_arguments), TEST(test_malformed),
        TEST(test_framing),          TEST(test_pipelined),      TEST(test_connection_limit),
        TEST(test_deadlines),        TEST(test_deferred),       TEST(test_restart),
        TEST(test_certificate_swap), TEST(test_addresses),      TEST(test_starved),
        TEST(test_load_plain),       TEST(test_load_tls),
    };
    sl_log_set(SL_LOG_ERROR);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int r = cmocka_run_group_tests_name("httpd", tests, NULL, NULL);
    curl_global_cleanup();
    return r;
}
