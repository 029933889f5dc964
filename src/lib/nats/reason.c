/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why there is no connection. The library reports "no server available" for a refused connection, a
 * name that does not exist and a network without a route; the system tells them apart.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/fmt.h"
#include "lib/nats/client_int.h"

static const struct {
    natsStatus status;
    const char *text;
} reasons[] = {
    {NATS_CONNECTION_AUTH_FAILED, "authorization failed: the server refuses these credentials"},
    {NATS_SECURE_CONNECTION_WANTED, "the server offers no TLS, which tls:// demands"},
    {NATS_SECURE_CONNECTION_REQUIRED, "the server demands TLS"},
    {NATS_STALE_CONNECTION, "the server does not answer pings"},
    {NATS_CONNECTION_CLOSED, "the server closed the connection"},
    {NATS_IO_ERROR, "the connection was lost"},
    {NATS_TIMEOUT, "no answer in time"},
    {NATS_NO_SERVER, "no answer"},
    {NATS_SLOW_CONSUMER, "messages were dropped: they come faster than they are read"},
};

/* A text of the server or the library in one printable line. A server that sends back what it was
 * told would make it show credentials: they are in braces. */
static void print_clean(char out[NATSC_TEXT], const char *text) {
    size_t n = 0;

    for (; *text && *text != '{' && n < NATSC_TEXT - 1; text++, n++) {
        out[n] = *text;
        if ((unsigned char)*text < ' ' || (unsigned char)*text >= 0x7f)
            out[n] = '?';
    }
    out[n] = '\0';
}

void natsc_reason(natsStatus s, const char *text, char out[NATSC_TEXT]) {
    for (size_t i = 0; i < SL_LEN(reasons); i++) {
        if (reasons[i].status != s)
            continue;
        sl_fmt(out, NATSC_TEXT, "%s", reasons[i].text);
        return;
    }
    print_clean(out, text && *text ? text : natsStatus_GetText(s));
}

void natsc_server_name(const struct natsc_server *s, char *out, size_t size) {
    bool ipv6 = strchr(s->host, ':') != NULL;

    sl_fmt_short(out, size, "%s%s%s:%u", ipv6 ? "[" : "", s->host, ipv6 ? "]" : "", s->port);
}

/* 0, or why the address cannot be reached. */
static int try_address(const struct addrinfo *a, uint32_t ms) {
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int why = fd < 0 ? errno : 0;

    if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0)
        why = errno;
    if (why == EINPROGRESS) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        socklen_t len = sizeof why;
        if (poll(&p, 1, (int)ms) <= 0)
            why = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) < 0)
            why = errno;
    }
    if (fd >= 0)
        (void)close(fd);
    return why;
}

void natsc_reason_of_host(const struct natsc_server *s, uint32_t ms, char out[NATSC_TEXT]) {
    struct addrinfo want = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    char port[8];
    int why = 0;

    sl_fmt(port, sizeof port, "%u", s->port);
    int r = getaddrinfo(s->host, port, &want, &found);
    if (r != 0) {
        print_clean(out, gai_strerror(r));
        return;
    }
    for (const struct addrinfo *a = found; a; a = a->ai_next) {
        why = try_address(a, ms);
        if (why == 0)
            break;
    }
    freeaddrinfo(found);
    if (why == 0) /* it answers now, or does so too late */
        natsc_reason(NATS_TIMEOUT, NULL, out);
    else
        print_clean(out, strerror(why));
}
