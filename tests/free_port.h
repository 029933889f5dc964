/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports for servers of tests.
 *
 * They are below the range that Linux gives to outgoing connections: otherwise one of these could
 * take the port while the server is down, and an attempt to connect could meet itself. Until the
 * server listens another test may look for a port, too: each is claimed by a name in the kernel for
 * as long as this process lives, the same as in tests/e2e/kube/kube.py.
 */
#ifndef SL_TESTS_FREE_PORT_H
#define SL_TESTS_FREE_PORT_H

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/macros.h"

#define FREE_PORT_FIRST 20000
#define FREE_PORTS 12000
#define FREE_PORT_TRIES 1000

/* The claim's socket stays open on purpose. */
static inline bool free_port_claim(int port) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "sluice-tests-port-%d", port);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    sl_assert(fd >= 0 && n > 0);
    if (bind(fd, (struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0)
        return true;
    (void)close(fd);
    return false;
}

static inline int free_port(void) {
    for (int i = 0; i < FREE_PORT_TRIES; i++) {
        unsigned at = 0;
        sl_assert(getrandom(&at, sizeof at, 0) == (ssize_t)sizeof at);
        int port = FREE_PORT_FIRST + (int)(at % FREE_PORTS);
        struct sockaddr_in a = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        if (!free_port_claim(port))
            continue;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sl_assert(fd >= 0);
        bool unused = bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
        (void)close(fd);
        if (unused)
            return port;
    }
    sl_assert(false);
    return 0;
}

#endif
