/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SO_REUSEADDR lets the next process bind the port at once, although connections of the last one
 * are still in TIME_WAIT. SO_REUSEPORT is not used on purpose: two processes on one port would each
 * get half of the requests, without an error.
 */
#include "lib/http/listen.h"
#include "core/base/fmt.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 512

static int listen_on(const struct addrinfo *ai) {
    static const int on = 1, off = 0;
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (ai->ai_family == AF_INET6) /* :: is meant to take IPv4 too */
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int why = errno;
    (void)close(fd);
    errno = why;
    return -1;
}

static uint16_t port_of(int fd) {
    union {
        struct sockaddr sa;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } a = {0};
    socklen_t len = sizeof a;

    sl_assert(getsockname(fd, &a.sa, &len) == 0);
    return ntohs(a.sa.sa_family == AF_INET6 ? a.in6.sin6_port : a.in.sin_port);
}

/* Tries all addresses of the host in one family; -1 and errno if none can be had. */
static int listen_family(const char *host, const char *port, int family, int *ret_gai) {
    const struct addrinfo hints = {
        .ai_family = family,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
    };
    struct addrinfo *list;
    int fd = -1;

    *ret_gai = getaddrinfo(host, port, &hints, &list);
    if (*ret_gai != 0)
        return -1;
    for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next)
        fd = listen_on(ai);
    int why = errno;
    freeaddrinfo(list);
    errno = why;
    return fd;
}

int http_listen(const char *host, uint16_t port, int *ret_fd, uint16_t *ret_port,
                struct sl_err *err) {
    bool any = !host || !host[0];
    char number[8];
    int gai, fd;

    sl_fmt(number, sizeof number, "%u", port);
    fd = listen_family(any ? NULL : host, number, any ? AF_INET6 : AF_UNSPEC, &gai);
    if (any && fd < 0 && (gai != 0 || errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL))
        fd = listen_family(NULL, number, AF_INET, &gai); /* a machine without IPv6 */
    if (fd < 0)
        return sl_err_set(err, SL_EIO, "cannot listen on %s port %u: %s",
                          any ? "any address" : host, port,
                          gai != 0 ? gai_strerror(gai) : strerror(errno));
    *ret_fd = fd;
    *ret_port = port_of(fd);
    return SL_OK;
}
