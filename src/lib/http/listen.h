/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening sockets.
 */
#ifndef SL_LIB_HTTP_LISTEN_H
#define SL_LIB_HTTP_LISTEN_H

#include "core/base/err.h"

/* A socket that listens on host and port: non-blocking, closed on exec. NULL or "" is every
 * address, of IPv6 and IPv4 both where the machine has both. Port 0 takes a free one. */
int http_listen(const char *host, uint16_t port, int *ret_fd, uint16_t *ret_port,
                struct sl_err *err) _must_check_;

#endif
