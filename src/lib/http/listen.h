/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening sockets.
 */
#ifndef SL_LIB_HTTP_LISTEN_H
#define SL_LIB_HTTP_LISTEN_H

#include <sys/types.h>

#include "core/base/err.h"

/* A socket that listens on host and port: non-blocking, closed on exec. NULL or "" is every
 * address, of IPv6 and IPv4 both where the machine has both. Port 0 takes a free one. */
int http_listen(const char *host, uint16_t port, int *ret_fd, uint16_t *ret_port,
                struct sl_err *err) _must_check_;

/* A Unix domain socket, only for its user (mode 0600), as a file that goes with http_unlink_unix. A
 * socket that nobody listens on any more is replaced; a link, another file, a socket of another
 * user or one in use is SL_EEXIST. The umask of the process is changed for a moment. */
#define HTTP_UNIX_PREFIX "unix:"
#define HTTP_UNIX_PATH ((size_t)108) /* with its NUL */
struct http_unix {
    char path[HTTP_UNIX_PATH]; /* "": none */
    dev_t dev;
    ino_t ino;
};
int http_listen_unix(const char *path, struct http_unix *ret, int *ret_fd,
                     struct sl_err *err) _must_check_;
/* Removes the file, if it is still this one. */
void http_unlink_unix(const struct http_unix *u);

#endif
