/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port of port.h: a NATS client on the loop, with TLS of OpenSSL.
 *
 * It speaks the part of the protocol that is needed here: subscribe and publish, with all ways to
 * say who one is. It has no thread but those that look up names, and nothing of it waits. It is not
 * libnats, which this was built on first (Debian's 3.4): a server could end the process with one
 * line ("MSG s 1 2147483647"), a message was collected in memory however long it was, a TLS
 * handshake that hung held its thread for ever, and closing a subscription under load crashed.
 */
#ifndef SL_LIB_NATS_CLIENT_H
#define SL_LIB_NATS_CLIENT_H

#include "lib/nats/port.h"

struct uv_loop_s;
struct sl_nats_client;

/* Connections at a time. */
#define SL_NATS_MAX_CONNECTIONS 64u
/* Subjects of a connection. */
#define SL_NATS_MAX_SUBJECTS 256
/* Messages of a connection that are not confirmed to be sent; of a subject only the newest is. */
#define SL_NATS_MAX_UNSENT 64u

/* How long what takes, in milliseconds. */
struct sl_nats_pace {
    uint32_t connect; /* an attempt to connect to an address, with all that belongs to it */
    uint32_t ping;    /* between pings; a peer that leaves two unanswered has gone */
    uint32_t retry;   /* the first pause between attempts; it doubles */
    uint32_t longest; /* the longest pause */
};
#define SL_NATS_PACE ((struct sl_nats_pace){5000, 5000, 250, 30000})

/* Events are there to be taken after a turn of the loop. From then on the process ignores
 * SIGPIPE. */
int sl_nats_client_new(struct uv_loop_s *loop, struct sl_nats_client **ret,
                       struct sl_err *err) _must_check_;
struct sl_nats_port *sl_nats_client_port(struct sl_nats_client *c);
/* Ends all connections at once. The loop has to run once more. */
void sl_nats_client_free(struct sl_nats_client *c);
void sl_nats_client_freep(struct sl_nats_client **c);
/* For connections that are opened from now on; tests have less time. */
void sl_nats_client_set_pace(struct sl_nats_client *c, const struct sl_nats_pace *pace);

/* Sends it as soon as the connection is up. The server has confirmed all when none is unsent. */
int sl_nats_client_publish(struct sl_nats_client *c, sl_nats_conn conn, const char *subject,
                           const char *data, size_t len, struct sl_err *err) _must_check_;
uint32_t sl_nats_client_unsent(struct sl_nats_client *c, sl_nats_conn conn);

#endif
