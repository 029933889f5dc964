/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NATS as the layers above see it: connections that are kept up by themselves, subscriptions to
 * subjects, and one queue of events. It is implemented by the client (client.h), and by an
 * in-memory server with seeded faults in the tests.
 *
 * Nothing here waits for the network: a connection is opened at once and reports with events what
 * becomes of it. It is never given up: it reconnects for ever, with back-off and jitter, to any of
 * its servers and to those that they announce. One thread calls; no callback comes inside a call.
 */
#ifndef SL_LIB_NATS_PORT_H
#define SL_LIB_NATS_PORT_H

#include "lib/nats/connector.h"

/* Ceilings of what waits between the network and the reader. Of a subject only the newest message
 * waits: publishers repeat themselves, and one that floods its own subject takes one place. */
#define SL_NATS_MAX_MESSAGE ((size_t)64 << 10) /* a longer one is an event without its data */
#define SL_NATS_MAX_WAITING 16384u             /* messages, of all connections */
#define SL_NATS_MAX_WAITING_BYTES ((size_t)16 << 20)
/* Of all connections, before that: the lines and messages that are read, written and encrypted,
 * half a megabyte each. */
#define SL_NATS_MAX_CONNECTION_BYTES ((size_t)32 << 20)

typedef struct {
    uint32_t v; /* 0: none */
} sl_nats_conn;

enum sl_nats_event_kind {
    SL_NATS_UP,      /* connected, for the first time or again; 'text' is the server */
    SL_NATS_DOWN,    /* not connected, and why; also when the first attempt fails */
    SL_NATS_ERROR,   /* still connected; 'text' says what the server refused */
    SL_NATS_MESSAGE, /* of a subject that is subscribed to */
};

struct sl_nats_event {
    enum sl_nats_event_kind kind;
    sl_nats_conn conn;
    const char *text;    /* without credentials */
    const char *subject; /* MESSAGE */
    const char *data;    /* MESSAGE; NULL if it is longer than SL_NATS_MAX_MESSAGE */
    size_t len;
};

struct sl_nats_port;

struct sl_nats_ops {
    /* Connects in the background. What cannot work at all (a certificate that
     * cannot be read) is an error, and nothing is open. */
    int (*open)(struct sl_nats_port *p, const struct sl_nats_connector *c,
                const struct sl_nats_credentials *with, sl_nats_conn *ret, struct sl_err *err);
    /* Subjects may have wildcards. Each once per connection; holds over reconnects. */
    void (*subscribe)(struct sl_nats_port *p, sl_nats_conn c, const char *subject);
    void (*unsubscribe)(struct sl_nats_port *p, sl_nats_conn c, const char *subject);
    /* Drains it in the background; no event of it follows. */
    void (*close)(struct sl_nats_port *p, sl_nats_conn c);
    /* The next event, borrowed until the next call. False: there is none. */
    bool (*next)(struct sl_nats_port *p, struct sl_nats_event *ret);
};

struct sl_nats_port {
    const struct sl_nats_ops *ops;
    uint64_t dropped; /* messages that found no place, since the start; read after 'next' */
};

#endif
