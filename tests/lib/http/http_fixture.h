/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server to ask and clients to ask it with. The server's loop runs in a thread of its own; what
 * changes the server is done there (on_loop). All state is in sv, got and n_got.
 */
#ifndef SL_TESTS_LIB_HTTP_HTTP_FIXTURE_H
#define SL_TESTS_LIB_HTTP_HTTP_FIXTURE_H

#include "lib/http/server.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <dirent.h>
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

#include "lib/http/cert.h"
#include "lib/http/server_int.h"

#define MAX_BODY ((size_t)100000)
#define MAX_CONNECTIONS 16
/* For what has to come: a machine that others use may be slow, and only a fault takes so long. */
#define LONG_MS 60000
#define LONG_S (LONG_MS / 1000.0)
/* For deadlines of the server that shall not come while a test runs. */
#define NEVER_MS 3600000u

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
    size_t bodies; /* bytes of large ones in the server's memory, asked for by job_bodies */
    double cpu;    /* seconds of the server's thread, asked for by job_cpu */
    uint16_t port;
    bool hold;      /* requests for /later wait */
    uint32_t asked; /* how often the handler was asked for /later */
} sv;

static inline void echo(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
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
    } else if (strcmp(rq->path, "/huge") == 0) { /* more than sockets hold */
        for (int i = 0; i < 4 << 20; i++)
            sl_buf_puts(&a->body, "01234567");
    } else if (strcmp(rq->path, "/later") == 0 &&
               (__atomic_add_fetch(&sv.asked, 1, __ATOMIC_SEQ_CST), sv.hold)) {
        sl_buf_puts(&a->body, "dropped");
        sl_http_defer(rq);
    } else if (strcmp(rq->path, "/too-big") == 0) {
        sl_buf_fail(&a->body);
    } else if (strcmp(rq->path, "/len") == 0 || strcmp(rq->path, "/large") == 0) {
        sl_assert(strlen(rq->body) == rq->len);
        sl_buf_printf(&a->body, "%zu", rq->len);
    } else {
        sl_buf_printf(&a->body, "%s %s q=%s h=%s body=%s", rq->method, rq->path, q ? q : "-",
                      h ? h : "-", rq->body);
    }
}

static inline void on_wake(uv_async_t *a) {
    (void)a;
    sv.job();
    uv_sem_post(&sv.done);
}

static inline void on_loop(void (*job)(void)) {
    sv.job = job;
    uv_async_send(&sv.wake);
    uv_sem_wait(&sv.done);
}

static inline void run_loop(void *arg) {
    (void)arg;
    (void)uv_run(&sv.loop, UV_RUN_DEFAULT);
}

static inline void job_start(void) {
    sv.result = sl_httpd_start(&sv.loop, &sv.spec, &sv.h, &sv.err);
    if (sv.result == 0)
        sv.port = sl_httpd_port(sv.h);
}

static inline void job_stop(void) {
    sl_httpd_stop(sv.h);
    sv.h = NULL;
}

static inline void job_certificate(void) {
    sv.result =
        sl_httpd_certificate(sv.h, sv.cert.cert_pem, sv.cert.key_pem, sv.spec.client_cas, &sv.err);
}

static inline void job_hold(void) {
    sv.hold = true;
    sv.asked = 0;
}

static inline void job_wake(void) {
    sl_httpd_wake(sv.h);
}

static inline void job_release(void) {
    sv.hold = false;
    sl_httpd_wake(sv.h);
}

static inline void job_nothing(void) {
}

static inline void job_bodies(void) {
    sv.bodies = sv.h->large_bodies;
}

static inline void job_cpu(void) {
    struct rusage ru;
    assert_int_equal(getrusage(RUSAGE_THREAD, &ru), 0);
    sv.cpu = (double)ru.ru_utime.tv_sec + (double)ru.ru_utime.tv_usec / 1e6 +
             (double)ru.ru_stime.tv_sec + (double)ru.ru_stime.tv_usec / 1e6;
}

static inline void job_end(void) {
    sl_httpd_stop(sv.h);
    sv.h = NULL;
    uv_close((uv_handle_t *)&sv.wake, NULL);
}

static inline sl_time now(void) {
    return (sl_time)time(NULL) * SL_SEC;
}

static inline void new_cert(void) {
    static const char *const names[] = {"localhost", "127.0.0.1"};

    sl_cert_done(&sv.ca);
    sl_cert_done(&sv.cert);
    assert_int_equal(sl_cert_ca("test-ca", now(), SL_HOUR, &sv.ca, NULL), 0);
    assert_int_equal(sl_cert_serving(&sv.ca, names, 2, now(), SL_HOUR, &sv.cert, NULL), 0);
}

static inline void start_server(bool tls) {
    sv.spec = (struct sl_httpd_spec){
        .host = "127.0.0.1",
        .max_body = MAX_BODY,
        .large_path = "/large",
        .large_body = 2 * MAX_BODY,
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

/* No deadline helps: what has to give way does so for another reason. */
static inline void start_without_deadlines(bool tls) {
    start_server(tls);
    on_loop(job_stop);
    sv.spec.header_ms = sv.spec.body_ms = NEVER_MS;
    sv.spec.request_ms = sv.spec.idle_ms = NEVER_MS;
    on_loop(job_start);
    assert_int_equal(sv.result, 0);
}

static inline int setup(void **state) {
    (void)state;
    memset(&sv, 0, sizeof sv);
    assert_int_equal(uv_loop_init(&sv.loop), 0);
    assert_int_equal(uv_async_init(&sv.loop, &sv.wake, on_wake), 0);
    assert_int_equal(uv_sem_init(&sv.done, 0), 0);
    assert_int_equal(uv_thread_create(&sv.thread, run_loop, NULL), 0);
    return 0;
}

static inline int teardown(void **state) {
    (void)state;
    on_loop(job_end);
    uv_thread_join(&sv.thread);
    assert_int_equal(uv_loop_close(&sv.loop), 0); /* every handle is gone */
    uv_sem_destroy(&sv.done);
    sl_cert_done(&sv.ca);
    sl_cert_done(&sv.cert);
    return 0;
}

static inline uint32_t open_files(void) {
    DIR *d = opendir("/proc/self/fd");
    uint32_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    (void)closedir(d);
    return n;
}

static inline double seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- libcurl ---- */

static char got[8 << 20];
static size_t n_got;

static inline size_t on_data(char *data, size_t size, size_t n, void *ctx) {
    (void)ctx;
    assert_true(n_got + size * n < sizeof got);
    memcpy(got + n_got, data, size * n);
    n_got += size * n;
    got[n_got] = '\0';
    return size * n;
}

/* Keep the result for the life of the test: its connection stays open. */
static inline CURL *client(char *ca_pem) {
    CURL *c = curl_easy_init();

    assert_non_null(c);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(c, CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    if (ca_pem) {
        struct curl_blob b = {ca_pem, strlen(ca_pem), CURL_BLOB_COPY};
        assert_int_equal(curl_easy_setopt(c, CURLOPT_CAINFO_BLOB, &b), CURLE_OK);
    }
    return c;
}

/* The status, or the negated CURLcode; the body is in got. */
static inline long fetch(CURL *c, const char *path) {
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

static inline void post(CURL *c, const char *body, size_t len) {
    curl_easy_setopt(c, CURLOPT_POST, 1L);
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)len);
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
}

static inline long connects(CURL *c) {
    long n = -1;
    curl_easy_getinfo(c, CURLINFO_NUM_CONNECTS, &n);
    return n;
}

/* ---- raw sockets ---- */

/* Waits until so much of large bodies is there. */
static inline void until_bodies(size_t bytes) {
    double t0 = seconds();

    for (on_loop(job_bodies); sv.bodies < bytes; on_loop(job_bodies)) {
        assert_true(seconds() - t0 < LONG_S);
        (void)usleep(1000);
    }
}

/* From another address of this machine than others: 127.0.0.n. */
static inline int dial_from(uint8_t n) {
    const struct sockaddr_in self = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(0x7f000000u | n),
    };
    const struct sockaddr_in a = {
        .sin_family = AF_INET,
        .sin_port = htons(sv.port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    if (n != 1)
        assert_int_equal(bind(fd, (const struct sockaddr *)&self, sizeof self), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static inline int dial(void) {
    return dial_from(1);
}

static inline void send_bytes(int fd, const char *s, size_t n) {
    while (n > 0) {
        ssize_t r = send(fd, s, n, MSG_NOSIGNAL);
        if (r <= 0)
            return; /* the server has had enough */
        s += r;
        n -= (size_t)r;
    }
}

#define SAY(fd, literal) send_bytes((fd), (literal), sizeof(literal) - 1)

/* What comes until the server closes or is silent for so long; *ret_closed says which. */
static inline const char *receive(int fd, int silent_ms, bool *ret_closed) {
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

/* Reads until the words are there; how long it took. */
static inline double receive_text(int fd, const char *words) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    double t0 = seconds();

    n_got = 0;
    got[0] = '\0';
    while (!strstr(got, words)) {
        assert_true(poll(&p, 1, LONG_MS) > 0);
        ssize_t r = recv(fd, got + n_got, sizeof got - 1 - n_got, 0);
        assert_true(r > 0);
        n_got += (size_t)r;
        got[n_got] = '\0';
    }
    return seconds() - t0;
}

static inline int status_of(const char *answer) {
    return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? (int)strtol(answer + 9, NULL, 10) : 0;
}

/* Waits until these words of an answer are there; 0 if the connection is gone before. */
static inline int receive_status(int fd, const char *words) {
    struct pollfd p = {.fd = fd, .events = POLLIN};

    n_got = 0;
    got[0] = '\0';
    while (!strstr(got, words) && poll(&p, 1, LONG_MS) > 0) {
        ssize_t r = recv(fd, got + n_got, sizeof got - 1 - n_got, 0);
        if (r <= 0)
            break;
        n_got += (size_t)r;
        got[n_got] = '\0';
    }
    return status_of(got);
}

/* The same with an answer of echo(). */
static inline int receive_echo(int fd) {
    return receive_status(fd, "body=");
}

#endif
