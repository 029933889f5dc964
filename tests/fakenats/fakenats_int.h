/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to tests/fakenats: connections and servers (fakenats.c), messages (message.c).
 */
#ifndef FAKENATS_INT_H
#define FAKENATS_INT_H

#include "core/base/collection/vec.h"
#include "core/base/mem.h"
#include "fakenats.h"

#define MAX_CONNS 64u /* of a client at a time */
#define NO_SERVER UINT32_MAX
#define TEXT_BYTES 128u

struct server {
    struct fakenats_server s;
    sl_time down_until, silent_until, denied_until;
    uint32_t moved;        /* how often */
    const char *forbidden; /* nobody may subscribe to this subject; NULL: all may to all */
};

/* One that waits for 'next'. */
struct waiting {
    enum sl_nats_event_kind kind;
    uint32_t conn;
    char text[TEXT_BYTES];
    char *subject, *data;
    size_t len;
};

struct subject {
    char *name;
    bool refused; /* by the server, when it was subscribed to */
    bool told;    /* and reported */
};

struct conn {
    uint32_t id;    /* 0: a free slot */
    uint32_t epoch; /* of the connection that is up: what was sent to an earlier one is lost */
    uint32_t server, cluster;
    bool told; /* its state was reported */
    uint32_t tries;
    char why[TEXT_BYTES]; /* it is down */
    /* what it connects with */
    char hosts[SL_NATS_MAX_SERVERS][64];
    uint16_t ports[SL_NATS_MAX_SERVERS];
    uint32_t n;
    bool tls;
    char *user, *password, *token;
    SL_VEC(struct subject) subjects;
};

struct client {
    struct sl_nats_port port; /* first: a port is its client */
    struct fakenats *n;
    struct conn conns[MAX_CONNS];
    SL_VEC(struct waiting) queue;
    uint32_t messages;
    struct waiting last; /* what 'next' gave */
    sl_time cut_until;
    const char *cannot_open; /* why; NULL: it can */
};

/* A message on its way to one connection. */
struct flight {
    uint32_t client, conn, epoch;
    char *subject, *data; /* NULL: a free slot */
    size_t len;
};

struct fakenats {
    struct fakeapi *api;
    struct sl_prng prng;
    struct server servers[FAKENATS_SERVERS];
    uint32_t n_servers, ids;
    struct client clients[FAKENATS_CLIENTS];
    SL_VEC(struct flight) flights;
    SL_VEC(uint32_t) free_flights;
    struct fakenats_faults faults;
    struct fakenats_stats stats;
    fakenats_fn on_event;
    void *on_event_ctx;
    char *poison;
};

struct conn *fn_conn(const struct client *c, uint32_t id);
bool fn_is_silent(const struct fakenats *n, const struct server *s);
bool fn_is_away(const struct fakenats *n, const struct client *c, const struct server *s);
void fn_put(struct client *c, const struct conn *k, enum sl_nats_event_kind kind, const char *text);
void fn_put_message(struct client *c, struct conn *k, const char *subject, const char *data,
                    size_t len);
void fn_waiting_done(struct waiting *w);

#endif
