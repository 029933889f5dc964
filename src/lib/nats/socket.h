/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One TCP connection on the loop, with TLS or without: bytes in clear go in and come out. It lives
 * until the loop has closed it, which may be after its owner has gone.
 */
#ifndef SL_LIB_NATS_SOCKET_H
#define SL_LIB_NATS_SOCKET_H

#include <uv.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "lib/nats/tls.h"

/* What is put at a time, before it is flushed: the longest message and some. */
#define NATSC_MAX_OUT ((size_t)112 << 10)
/* Of what is not sent, with what TLS adds: a peer that does not read is lost. */
#define NATSC_MAX_UNSENT_BYTES ((size_t)128 << 10)
/* What is read at a time; one buffer for all sockets of a client. */
#define NATSC_READ ((size_t)64 << 10)

struct natsc_socket;

/* From the loop; in each of them the socket may be closed. */
struct natsc_socket_events {
    void (*connected)(void *arg);
    void (*secured)(void *arg);
    void (*received)(void *arg, size_t n); /* bytes of the network */
    void (*data)(void *arg, struct sl_text in);
    void (*sent)(void *arg); /* all that was put */
    void (*lost)(void *arg, const char *why);
};

struct natsc_socket *natsc_socket_new(uv_loop_t *loop, char *buffer,
                                      const struct natsc_socket_events *on, void *arg);
/* Once, first. */
int natsc_socket_connect(struct natsc_socket *s, const struct sockaddr *to,
                         struct sl_err *err) _must_check_;
/* Begins TLS as a client; from then on nothing is put before 'secured'. */
int natsc_socket_secure(struct natsc_socket *s, struct natsc_trust *trust, const char *host,
                        struct sl_err *err) _must_check_;
/* What is appended to it is sent by the next flush. */
struct sl_buf *natsc_socket_out(struct natsc_socket *s);
size_t natsc_socket_unsent(const struct natsc_socket *s);
int natsc_socket_flush(struct natsc_socket *s, struct sl_err *err) _must_check_;
void natsc_socket_stop_reading(struct natsc_socket *s);
int natsc_socket_read(struct natsc_socket *s, struct sl_err *err) _must_check_;
/* No event follows. */
void natsc_socket_close(struct natsc_socket *s);

#endif
