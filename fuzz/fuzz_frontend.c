/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a connection to the front end of `sluice up`, without TLS: request lines, headers, who
 * asks and what he accepts, bodies, queries, upgrades, several requests behind one another. The
 * first byte of an input says in pieces of how many bytes the rest is sent; 0: at once.
 *
 * Whatever comes is answered as HTTP or the connection ends; and the API server sees a request only
 * if the token stands in it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api_fz.h"
#include "cluster/up/frontend.h"

#define TOKEN "0123456789abcdef"
#define INPUTS_PER_SERVER 1000u
#define MAX_GOT ((size_t)1 << 20)
#define MAX_TURNS 64u /* of the loop, that bring nothing new */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct api_fz api;
static struct up_frontend *door;

static const char *unready(void *ctx) {
    (void)ctx;
    return NULL;
}

static bool other(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    (void)ctx;
    (void)a;
    sl_assert(rq->method && rq->path && rq->raw_query && rq->body && !rq->body[rq->len]);
    return false;
}

static void start(void) {
    static const struct sl_cert none;
    struct sl_err err;

    api_fz_start(&api, (struct sl_apiserver_spec){0});
    sl_assert(up_frontend_open(&(struct up_frontend_spec){.loop = &api.loop,
                                                          .host = "127.0.0.1",
                                                          .max_connections = 64,
                                                          .cert = &none,
                                                          .token = TOKEN,
                                                          .unready = unready,
                                                          .other = other},
                               &door, &err) >= 0);
    up_frontend_serve(door, api.s);
}

static void stop(void) {
    up_frontend_close(door);
    api_fz_stop(&api);
}

/* ---- the client ---- */

#define ADDRESSES 250u /* of the loopback interface */

/* A signal, such as libFuzzer's timer, interrupts the call but not what it began. */
static bool is_connected(int fd, const struct sockaddr_in *to) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int error = 0, n;

    if (connect(fd, (const struct sockaddr *)to, sizeof *to) == 0)
        return true;
    if (errno != EINTR)
        return false;
    while ((n = poll(&p, 1, -1)) < 0 && errno == EINTR)
        ;
    sl_assert(n == 1 &&
              getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error}) == 0);
    errno = error;
    return error == 0;
}

/* Ends by a reset, and comes from one of many addresses: thousands of connections that linger, here
 * or where the server closes first, would use up the ports of one. */
static int dial(void) {
    static uint32_t n;
    const struct sockaddr_in from = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK + n++ % ADDRESSES)};
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons(up_frontend_port(door)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct linger at_once = {.l_onoff = 1};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    sl_assert(fd >= 0 && setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) == 0);
    sl_assert(bind(fd, (const struct sockaddr *)&from, sizeof from) == 0);
    if (!is_connected(fd, &to)) {
        perror("connect");
        abort();
    }
    sl_assert(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
    sl_assert(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    return fd;
}

/* What is there; false: the server has closed. */
static bool hear(int fd, struct sl_buf *got) {
    char part[16384];
    ssize_t n;

    while ((n = recv(fd, part, sizeof part, 0)) > 0)
        sl_buf_add(got, part, (size_t)n);
    return n < 0 && errno == EAGAIN;
}

static void talk(int fd, const char *s, size_t size, size_t step, struct sl_buf *got) {
    bool open = true;

    while (open && size > 0) {
        ssize_t n = send(fd, s, size < step ? size : step, MSG_NOSIGNAL);
        if (n > 0) {
            s += n;
            size -= (size_t)n;
        } else if (errno != EAGAIN) {
            break;
        }
        api_fz_turn(&api, 1);
        open = hear(fd, got);
    }
    (void)shutdown(fd, SHUT_WR);
    for (uint32_t still = 0; open && still < MAX_TURNS; still++) {
        size_t before = got->len;
        api_fz_turn(&api, 1);
        open = hear(fd, got);
        if (got->len > before)
            still = 0;
    }
}

/* The first answer, at least, is one: what comes after it may be cut anywhere. */
static void check(const struct sl_buf *got) {
    const char *s = sl_buf_str(got), *end = strstr(s, "\r\n\r\n");

    if (!got->len)
        return;
    sl_assert(strncmp(s, "HTTP/1.", 7) == 0 && end);
    int status = (int)strtol(s + 9, NULL, 10);
    sl_assert(status >= 100 && status < 600);
    for (const char *at = strstr(s, "\r\n"); at < end; at = strstr(at + 2, "\r\n")) {
        size_t line = strcspn(at + 2, "\r\n");
        sl_assert(memchr(at + 2, ':', line)); /* no input began another line */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint32_t inputs;
    struct sl_buf got = SL_BUF(MAX_GOT);
    struct sl_apiserver_stats before, after;

    if (inputs == 0) {
        start();
        (void)atexit(stop);
    }
    if (++inputs % INPUTS_PER_SERVER == 0) {
        stop();
        start();
    }
    if (size == 0)
        return 0;
    sl_apiserver_stats(api.s, &before);
    int fd = dial();
    talk(fd, (const char *)data + 1, size - 1, data[0] ? data[0] : size, &got);
    check(&got);
    (void)close(fd);
    api_fz_turn(&api, 4);
    sl_apiserver_stats(api.s, &after);
    if (!memmem(data, size, TOKEN, strlen(TOKEN)))
        sl_assert(after.requests == before.requests);
    sl_buf_done(&got);
    return 0;
}
