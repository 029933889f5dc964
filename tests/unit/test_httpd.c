/*
 * The HTTP server, with libcurl and raw sockets as clients. The server's loop runs in a thread of
 * its own; what changes the server is done there (on_loop).
 */
#include "httpd/httpd.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "httpd/cert.h"
#include "log/log.h"

#define MAX_BODY ((size_t)100000)
#define MAX_CONNECTIONS 16

/* ---- the server's side ---- */

static struct {
    uv_loop_t loop;
    uv_thread_t thread;
    uv_async_t wake;
    uv_sem_t done;
    void (*job)(void);
    struct sl_httpd *h;
    struct sl_httpd_spec spec;
    struct sl_cert ca, cert;
    int result;
    struct sl_err err;
    double cpu; /* seconds of the server's thread, asked for by job_cpu */
    uint16_t port;
} sv;

static void echo(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    sl_assert(ctx == &sv);
    const char *q = rq->query(rq, "q"), *h = rq->header(rq, "x-test");
    if (strcmp(rq->path, "/missing") == 0) {
        a->status = 404;
        a->content_type = "text/plain";
        sl_buf_puts(&a->body, "no such thing");
    } else if (strcmp(rq->path, "/post-only") == 0 && strcmp(rq->method, "POST") != 0) {
        a->status = 405;
    } else if (strcmp(rq->path, "/big") == 0) {
        for (int i = 0; i < 300000; i++)
            sl_buf_puts(&a->body, "0123456789");
    } else if (strcmp(rq->path, "/too-big") == 0) {
        a->body.overflow = true;
    } else if (strcmp(rq->path, "/len") == 0) {
        sl_assert(strlen(rq->body) == rq->len);
        sl_buf_printf(&a->body, "%zu", rq->len);
    } else {
        sl_buf_printf(&a->body, "%s %s q=%s h=%s body=%s", rq->method, rq->path, q ? q : "-",
                      h ? h : "-", rq->body);
    }
}

static void on_wake(uv_async_t *a) {
    (void)a;
    sv.job();
    uv_sem_post(&sv.done);
}

static void on_loop(void (*job)(void)) {
    sv.job = job;
    uv_async_send(&sv.wake);
    uv_sem_wait(&sv.done);
}

static void run_loop(void *arg) {
    (void)arg;
    (void)uv_run(&sv.loop, UV_RUN_DEFAULT);
}

static void job_start(void) {
    sv.result = sl_httpd_start(&sv.loop, &sv.spec, &sv.h, &sv.err);
    if (sv.result == 0)
        sv.port = sl_httpd_port(sv.h);
}

static void job_stop(void) {
    sl_httpd_stop(sv.h);
    sv.h = NULL;
}

static void job_certificate(void) {
    sv.result = sl_httpd_certificate(sv.h, sv.cert.cert_pem, sv.cert.key_pem, &sv.err);
}

static void job_cpu(void) {
    struct rusage ru;
    assert_int_equal(getrusage(RUSAGE_THREAD, &ru), 0);
    sv.cpu = (double)ru.ru_utime.tv_sec + (double)ru.ru_utime.tv_usec / 1e6 +
             (double)ru.ru_stime.tv_sec + (double)ru.ru_stime.tv_usec / 1e6;
}

static void job_end(void) {
    sl_httpd_stop(sv.h);
    sv.h = NULL;
    uv_close((uv_handle_t *)&sv.wake, NULL);
}

static sl_time now(void) {
    return (sl_time)time(NULL) * SL_SEC;
}

static void new_cert(void) {
    static const char *const names[] = {"localhost", "127.0.0.1"};

    sl_cert_done(&sv.ca);
    sl_cert_done(&sv.cert);
    assert_int_equal(sl_cert_ca("test-ca", now(), SL_HOUR, &sv.ca, NULL), 0);
    assert_int_equal(sl_cert_serving(&sv.ca, names, 2, now(), SL_HOUR, &sv.cert, NULL), 0);
}

static void start(bool tls) {
    sv.spec = (struct sl_httpd_spec){
        .host = "127.0.0.1",
        .max_body = MAX_BODY,
        .max_connections = MAX_CONNECTIONS,
        .handler = echo,
        .ctx = &sv,
    };
    if (tls) {
        new_cert();
        sv.spec.cert_pem = sv.cert.cert_pem;
        sv.spec.key_pem = sv.cert.key_pem;
    }
    on_loop(job_start);
    if (sv.result < 0)
        fail_msg("%s", sv.err.text);
}

static int setup(void **state) {
    (void)state;
    memset(&sv, 0, sizeof sv);
    assert_int_equal(uv_loop_init(&sv.loop), 0);
    assert_int_equal(uv_async_init(&sv.loop, &sv.wake, on_wake), 0);
    assert_int_equal(uv_sem_init(&sv.done, 0), 0);
    assert_int_equal(uv_thread_create(&sv.thread, run_loop, NULL), 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    on_loop(job_end);
    uv_thread_join(&sv.thread);
    assert_int_equal(uv_loop_close(&sv.loop), 0); /* every handle is gone */
    uv_sem_destroy(&sv.done);
    sl_cert_done(&sv.ca);
    sl_cert_done(&sv.cert);
    return 0;
}

static uint32_t open_files(void) {
    DIR *d = opendir("/proc/self/fd");
    uint32_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    (void)closedir(d);
    return n;
}

/* ---- libcurl ---- */

static char got[8 << 20];
static size_t n_got;

static size_t on_data(char *data, size_t size, size_t n, void *ctx) {
    (void)ctx;
    assert_true(n_got + size * n < sizeof got);
    memcpy(got + n_got, data, size * n);
    n_got += size * n;
    got[n_got] = '\0';
    return size * n;
}

/* Keep the result for the life of the test: its connection stays open. */
static CURL *client(const char *ca_pem) {
    CURL *c = curl_easy_init();

    assert_non_null(c);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(c, CURLOPT_TIMEOUT, 20L);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    if (ca_pem) {
        struct curl_blob b = {(void *)(uintptr_t)ca_pem, strlen(ca_pem), CURL_BLOB_COPY};
        assert_int_equal(curl_easy_setopt(c, CURLOPT_CAINFO_BLOB, &b), CURLE_OK);
    }
    return c;
}

/* The status, or the negated CURLcode; the body is in got. */
static long fetch(CURL *c, const char *path) {
    char url[1024];
    long status = 0;

    (void)snprintf(url, sizeof url, "%s://127.0.0.1:%u%s", sv.spec.cert_pem ? "https" : "http",
                   sv.port, path);
    curl_easy_setopt(c, CURLOPT_URL, url);
    n_got = 0;
    got[0] = '\0';
    CURLcode r = curl_easy_perform(c);
    if (r != CURLE_OK)
        return -(long)r;
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static void post(CURL *c, const char *body, size_t len) {
    curl_easy_setopt(c, CURLOPT_POST, 1L);
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)len);
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
}

static long connects(CURL *c) {
    long n = -1;
    curl_easy_getinfo(c, CURLINFO_NUM_CONNECTS, &n);
    return n;
}

/* ---- raw sockets ---- */

static int dial(void) {
    const struct sockaddr_in a = {
        .sin_family = AF_INET,
        .sin_port = htons(sv.port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void say(int fd, const char *s, size_t n) {
    while (n > 0) {
        ssize_t r = send(fd, s, n, MSG_NOSIGNAL);
        if (r <= 0)
            return; /* the server has had enough */
        s += r;
        n -= (size_t)r;
    }
}

#define SAY(fd, literal) say((fd), (literal), sizeof(literal) - 1)

/* What comes until the server closes or is silent for so long; *ret_closed says which. */
static const char *hear(int fd, int silent_ms, bool *ret_closed) {
    struct pollfd p = {.fd = fd, .events = POLLIN};

    n_got = 0;
    *ret_closed = false;
    while (poll(&p, 1, silent_ms) > 0) {
        ssize_t r = recv(fd, got + n_got, sizeof got - 1 - n_got, 0);
        if (r <= 0) {
            *ret_closed = true;
            break;
        }
        n_got += (size_t)r;
    }
    got[n_got] = '\0';
    return got;
}

static int status_of(const char *answer) {
    return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? (int)strtol(answer + 9, NULL, 10) : 0;
}

/* Waits until an answer of echo() is there. */
static int hear_echo(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};

    n_got = 0;
    got[0] = '\0';
    while (!strstr(got, "body=") && poll(&p, 1, 20000) > 0) {
        ssize_t r = recv(fd, got + n_got, sizeof got - 1 - n_got, 0);
        if (r <= 0)
            break;
        n_got += (size_t)r;
        got[n_got] = '\0';
    }
    return status_of(got);
}

/* ---- tests ---- */

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

static void test_plain(void **state) {
    (void)state;
    start(false);
    CURL *c = client(NULL);
    check_requests(c);
    curl_easy_cleanup(c);
}

static void test_tls(void **state) {
    (void)state;
    start(true);
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
    assert_int_equal(status_of(hear(fd, 5000, &closed)), 0);
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
    start(false);
    memset(body, 'x', sizeof body);
    /* By its announced length, before any of it is sent. */
    int fd = dial();
    (void)snprintf(head, sizeof head,
                   "POST /len HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", MAX_BODY + 1);
    say(fd, head, strlen(head));
    assert_int_equal(status_of(hear(fd, 5000, &closed)), 413);
    assert_true(closed);
    close(fd);
    /* A number that no type holds. */
    fd = dial();
    SAY(fd, "POST /len HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n");
    int status = status_of(hear(fd, 5000, &closed));
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
        say(fd, body, 10000);
        SAY(fd, "\r\n");
    }
    assert_int_equal(status_of(hear(fd, 5000, &closed)), 0);
    assert_true(closed);
    close(fd);
    /* Headers without end. */
    fd = dial();
    SAY(fd, "GET / HTTP/1.1\r\nHost: a\r\nX-Test: ");
    say(fd, body, MAX_BODY);
    status = status_of(hear(fd, 5000, &closed));
    assert_true(status == 431 || status == 0); /* 0: reset before we could read it */
    assert_true(closed);
    close(fd);
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
    start(false);
    for (size_t i = 0; i < SL_LEN(t); i++) {
        /* In one piece and byte by byte; an answer of 200 is possible, a crash is not. */
        for (size_t step = t[i].n; step > 0; step = step == 1 ? 0 : 1) {
            int fd = dial();
            for (size_t k = 0; k < t[i].n; k += step)
                say(fd, t[i].s + k, step);
            int status = status_of(hear(fd, 50, &closed));
            if (status != 0 && status != 200 && !(status >= 400 && status < 600))
                fail_msg("case %zu: status %d", i, status);
            close(fd);
        }
    }
    CURL *c = client(NULL);
    assert_int_equal(fetch(c, "/alive"), 200);
    curl_easy_cleanup(c);
}

static void test_pipelined(void **state) {
    static const char two[] = "POST /len HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
                              "GET /second HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    bool closed;

    (void)state;
    start(false);
    int fd = dial();
    say(fd, two, sizeof two - 1);
    const char *s = hear(fd, 5000, &closed);
    assert_int_equal(status_of(s), 200);
    assert_non_null(strstr(s, "\r\n\r\n3HTTP/1.1 200"));
    assert_non_null(strstr(s, "\r\n\r\nGET /second q=-"));
    assert_true(closed);
    close(fd);
}

static void test_connection_limit(void **state) {
    int fds[MAX_CONNECTIONS + 1];
    bool closed;

    (void)state;
    start(false);
    for (int i = 0; i <= MAX_CONNECTIONS; i++) {
        fds[i] = dial(); /* the kernel takes one more for us, but we do not accept it */
        SAY(fds[i], "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for (int i = 0; i < MAX_CONNECTIONS; i++)
        assert_int_equal(hear_echo(fds[i]), 200);
    assert_string_equal(hear(fds[MAX_CONNECTIONS], 300, &closed), "");
    assert_false(closed);
    close(fds[3]); /* its place is free at once */
    assert_int_equal(hear_echo(fds[MAX_CONNECTIONS]), 200);
    for (int i = 0; i <= MAX_CONNECTIONS; i++)
        if (i != 3)
            close(fds[i]);
}

static double seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void test_deadlines(void **state) {
    bool closed;

    (void)state;
    start(false);
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
    while (seconds() - from < 15 && poll(p, 2, 50) < 2) {
        SAY(drip, "X");
        SAY(slow_body, "x");
    }
    assert_true(seconds() - from < 10);
    assert_string_equal(hear(silent, 10000, &closed), "");
    assert_true(closed);
    assert_int_equal(status_of(hear(idle, 10000, &closed)), 200);
    assert_true(closed);
    assert_true(seconds() - from < 20);
    close(silent);
    close(drip);
    close(slow_body);
    close(idle);
    CURL *c = client(NULL);
    assert_int_equal(fetch(c, "/alive"), 200);
    curl_easy_cleanup(c);
}

static void test_certificate_swap(void **state) {
    struct sl_cert keep;

    (void)state;
    start(true);
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
    start(true);
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
    print_message("50 restarts on one port: %.0f ms\n", (seconds() - from) * 1e3);
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
    start(false);
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
    int many[256];
    size_t n = 0;
    struct rlimit saved, low;
    bool closed;

    (void)state;
    start(false);
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
    assert_string_equal(hear(fd, 300, &closed), "");
    assert_false(closed);
    while (n > 0)
        close(many[--n]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
    assert_int_equal(hear_echo(fd), 200);
    close(fd);
}

/* Many requests on eight kept connections. The figure is printed, not judged. */
static void load(const char *what, double for_seconds) {
    static char body[5000];
    CURL *c[8];
    CURLM *m = curl_multi_init();
    char url[64];
    uint32_t n = 0, new_connections = 0, started = 0;
    int running;

    memset(body, 'x', sizeof body);
    (void)snprintf(url, sizeof url, "%s://127.0.0.1:%u/len", sv.spec.cert_pem ? "https" : "http",
                   sv.port);
    for (size_t i = 0; i < SL_LEN(c); i++) {
        c[i] = client(sv.ca.cert_pem);
        curl_easy_setopt(c[i], CURLOPT_URL, url);
        post(c[i], body, sizeof body);
        curl_multi_add_handle(m, c[i]);
        started++;
    }
    on_loop(job_cpu);
    double cpu = sv.cpu, from = seconds();
    bool more = true;
    do {
        n_got = 0;
        assert_int_equal(curl_multi_perform(m, &running), CURLM_OK);
        CURLMsg *msg;
        int left;
        more = seconds() - from < for_seconds;
        while ((msg = curl_multi_info_read(m, &left))) {
            long status;
            CURL *e = msg->easy_handle;
            assert_int_equal(msg->data.result, CURLE_OK);
            curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
            assert_int_equal(status, 200);
            new_connections += (uint32_t)connects(e);
            n++;
            curl_multi_remove_handle(m, e);
            if (more) {
                curl_multi_add_handle(m, e);
                started++;
            }
        }
        if (running > 0)
            (void)curl_multi_poll(m, NULL, 0, 100, NULL);
    } while (n < started);
    double took = seconds() - from;
    on_loop(job_cpu);
    cpu = sv.cpu - cpu;
    print_message("%s, 8 connections, POST of 5 kB: %.0f requests/s, %.1f us of the server's CPU "
                  "each (%.0f/s on a full core)\n",
                  what, n / took, cpu / n * 1e6, n / cpu);
    assert_int_equal(new_connections, SL_LEN(c));
    for (size_t i = 0; i < SL_LEN(c); i++)
        curl_easy_cleanup(c[i]);
    curl_multi_cleanup(m);
}

static double load_seconds(void) {
    const char *s = getenv("SL_LOAD_SECONDS");
    return s ? strtod(s, NULL) : 0.3;
}

static void test_load_plain(void **state) {
    (void)state;
    start(false);
    load("plain", load_seconds());
}

static void test_load_tls(void **state) {
    (void)state;
    start(true);
    load("TLS", load_seconds());
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_plain),     TEST(test_tls),       TEST(test_oversize),
        TEST(test_malformed), TEST(test_pipelined), TEST(test_connection_limit),
        TEST(test_deadlines), TEST(test_restart),   TEST(test_certificate_swap),
        TEST(test_addresses), TEST(test_starved),   TEST(test_load_plain),
        TEST(test_load_tls),
    };
    sl_log_set(SL_LOG_ERROR);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int r = cmocka_run_group_tests_name("httpd", tests, NULL, NULL);
    curl_global_cleanup();
    return r;
}
