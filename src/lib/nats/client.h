/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port of port.h on libnats, Debian's NATS library.
 *
 * Each connection has a thread of its own that connects, waits between attempts (back-off with
 * jitter, for ever), subscribes and publishes, because calls of the library wait for the network
 * and for its locks. The library's threads, among them the one that delivers messages, put what
 * they bring into one mailbox and wake the loop; nothing else of the port is theirs. No thread is
 * started before the first connection is opened. All functions are for the thread of the loop.
 *
 * The library does not reconnect by itself here: it would give up after two refusals of the same
 * credentials, and an attempt that hangs in a TLS handshake would never end.
 */
#ifndef SL_LIB_NATS_CLIENT_H
#define SL_LIB_NATS_CLIENT_H

#include "lib/nats/port.h"

struct uv_loop_s;
struct sl_nats_client;

/* Connections at a time, each with two threads. */
#define SL_NATS_MAX_CONNECTIONS 64u
/* Subjects of a connection. */
#define SL_NATS_MAX_SUBJECTS 256u
/* Messages of a connection that are not confirmed to be sent; of a subject only the newest is. */
#define SL_NATS_MAX_UNSENT 64u

/* How long what takes, in milliseconds. */
struct sl_nats_pace {
    uint32_t connect; /* an attempt to connect, with all that belongs to it */
    uint32_t ping;    /* between pings; a peer that leaves two unanswered has gone */
    uint32_t retry;   /* the first pause between attempts; it doubles */
    uint32_t longest; /* the longest pause */
};
#define SL_NATS_PACE ((struct sl_nats_pace){5000, 5000, 250, 30000})

/* The loop is woken whenever there is an event to take. */
int sl_nats_client_new(struct uv_loop_s *loop, struct sl_nats_client **ret,
                       struct sl_err *err) _must_check_;
struct sl_nats_port *sl_nats_client_port(struct sl_nats_client *c);
/* Closes all connections, which takes two seconds at most: a thread that hangs longer is left
 * behind. The loop has to run once more. */
void sl_nats_client_free(struct sl_nats_client *c);
void sl_nats_client_freep(struct sl_nats_client **c);
/* For connections that are opened from now on; tests have less time. */
void sl_nats_client_set_pace(struct sl_nats_client *c, const struct sl_nats_pace *pace);

/* Sends it as soon as the connection is up. The server has confirmed all when none is unsent. */
int sl_nats_client_publish(struct sl_nats_client *c, sl_nats_conn conn, const char *subject,
                           const char *data, size_t len, struct sl_err *err) _must_check_;
uint32_t sl_nats_client_unsent(struct sl_nats_client *c, sl_nats_conn conn);

#endif
