/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the client share. Unless said otherwise a field is guarded by the client's
 * lock, which is never held during a call of the library: callbacks of the library take it.
 */
#ifndef SL_LIB_NATS_CLIENT_INT_H
#define SL_LIB_NATS_CLIENT_INT_H

#include <nats/nats.h>
#include <pthread.h>
#include <uv.h>

#include "core/base/prng.h"
#include "core/base/time.h"
#include "lib/nats/client.h"
#include "lib/nats/mailbox.h"

#define NATSC_TEXT 200 /* of an event */
#define NATSC_MAX_ERRORS 4u
#define NATSC_MAX_DISCOVERED 32u

/* Who connects, by copies of its own that are wiped. */
struct natsc_identity {
    char *user, *password, *token; /* as they stand in JSON, without the quotes */
    char *jwt, *seed;
    char *ca, *certificate, *key;
    bool tls;
};

struct natsc_server {
    char host[256];
    uint16_t port;
    char tls_name[256]; /* whose certificate it has, if not the host's; "": the host's */
};

struct natsc_note {
    enum sl_nats_event_kind kind;
    char text[NATSC_TEXT];
};

/* A subject, as the loop asks for it and as the thread has it. Only the thread removes it. */
struct natsc_want {
    char *subject;
    uint32_t id;
    bool wanted, refused;
    natsSubscription *sub; /* of the present connection; the thread's */
};

struct natsc_sending {
    TAILQ_ENTRY(natsc_sending) next;
    size_t len;
    char *data; /* behind the subject */
    char subject[];
};

TAILQ_HEAD(natsc_sendings, natsc_sending);

/* A subscription of a link. */
struct natsc_tap {
    LIST_ENTRY(natsc_tap) next;
    struct natsc_link *link;
    uint32_t want;
    int64_t sub;     /* the library's number of it */
    int64_t dropped; /* by the library, as far as it is counted */
};

/* One connection of the library, as its callbacks know it. It lives until the last of them has
 * come, which may be after the connection has become another one. */
struct natsc_link {
    LIST_ENTRY(natsc_link) next;
    LIST_HEAD(natsc_taps, natsc_tap) taps;
    struct sl_nats_client *client;
    struct natsc_conn *conn; /* NULL: it is over */
    uint32_t refs;
    bool lost;  /* the library has closed it */
    bool moved; /* there are other servers */
    char why[NATSC_TEXT];
};

/* One connection of the port. */
struct natsc_conn {
    TAILQ_ENTRY(natsc_conn) next;
    struct sl_nats_client *client;
    uint32_t id;
    pthread_t thread;
    pthread_cond_t wake;
    struct sl_nats_pace pace;
    struct natsc_identity who;
    bool closing; /* no event of it follows */
    bool connecting;
    struct natsc_note state[2], errors[NATSC_MAX_ERRORS];
    uint32_t n_state, n_errors;
    char down[NATSC_TEXT]; /* reported last; "": it is up */
    SL_VEC(struct natsc_want) wants;
    uint32_t last_want;
    struct natsc_sendings sending;
    uint32_t n_sending;
    struct natsc_link *link;
    /* ---- of the thread alone ---- */
    natsConnection *nc;
    struct natsc_server servers[SL_NATS_MAX_SERVERS + NATSC_MAX_DISCOVERED];
    uint32_t n_servers, n_named; /* those of the connector come first */
    uint32_t at;                 /* the server of the last attempt */
    uint32_t failures;
    sl_time up_since;
    struct sl_prng dice;
};

TAILQ_HEAD(natsc_conns, natsc_conn);

struct sl_nats_client {
    struct sl_nats_port port;
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a thread or a link has */
    uv_async_t *wake;     /* NULL: nobody listens any more */
    struct natsc_mailbox box;
    struct natsc_conns conns;
    uint32_t n_conns, last_id;
    uint32_t n_notes; /* events besides messages, of all connections */
    LIST_HEAD(natsc_links, natsc_link) links;
    uint32_t n_threads; /* the last thread or link frees it, if the loop has done so before */
    bool freed;
    struct sl_nats_pace pace;
    /* ---- of the loop alone ---- */
    struct natsc_message *shown; /* lent to the reader */
    char text[NATSC_TEXT];
};

/* ---- client.c ---- */
/* Starts the library, if this client did not yet. */
int natsc_library_use(struct sl_err *err) _must_check_;
/* One that waits by the monotonic clock. */
bool natsc_cond_init(pthread_cond_t *cond);
void natsc_wake(struct sl_nats_client *c);
struct natsc_link *natsc_link_new(struct natsc_conn *c, uint32_t refs);
/* Called with the lock, which is released. */
void natsc_link_unref(struct natsc_link *l, uint32_t n);
/* The thread of a connection is at its end. */
void natsc_conn_ended(struct natsc_conn *c);

/* ---- port.c ---- */
extern const struct sl_nats_ops natsc_ops;
/* An event of a connection; the same again is none. */
void natsc_note(struct natsc_conn *c, enum sl_nats_event_kind kind, const char *text);
/* With the lock. From now on the connection is its thread's alone. */
void natsc_conn_close(struct natsc_conn *c);
void natsc_conn_free(struct natsc_conn *c);

/* ---- conn.c ---- */
void *natsc_conn_main(void *conn);

/* ---- options.c ---- */
int natsc_identity_init(struct natsc_identity *id, const struct sl_nats_connector *c,
                        const struct sl_nats_credentials *with, struct sl_err *err) _must_check_;
void natsc_identity_done(struct natsc_identity *id);
/* For one attempt. The library would lose the CA of options that it has used before. */
int natsc_options_new(const struct natsc_identity *id, const struct natsc_server *s,
                      const struct sl_nats_pace *pace, struct natsc_link *link, natsOptions **ret,
                      struct sl_err *err) _must_check_;

/* ---- link.c: callbacks of the library ---- */
void natsc_on_closed(natsConnection *nc, void *link);
void natsc_on_discovered(natsConnection *nc, void *link);
void natsc_on_error(natsConnection *nc, natsSubscription *sub, natsStatus s, void *link);
int natsc_link_subscribe(struct natsc_link *l, natsConnection *nc, const char *subject,
                         uint32_t want, natsSubscription **ret, struct sl_err *err) _must_check_;

/* ---- reason.c ---- */
/* What a status means, in the words of operators; text: the library's, may be NULL. */
void natsc_reason(natsStatus s, const char *text, char out[NATSC_TEXT]);
/* Why nothing answers there, as the system sees it. */
void natsc_reason_of_host(const struct natsc_server *s, uint32_t ms, char out[NATSC_TEXT]);
void natsc_server_name(const struct natsc_server *s, char *out, size_t size);

/* ---- guard.c ---- */
/* Once, before threads are started: false if the system has no signal to spare. */
bool natsc_guard_setup(void);
/* Lets only the signal of the guard through to the calling thread and those that it starts. */
void natsc_guard_mask(sigset_t *ret_before);
/* From ms on, blocking calls of the calling thread are interrupted until the guard ends. */
bool natsc_guard_begin(uint32_t ms, timer_t *ret);
void natsc_guard_end(timer_t t);
void natsc_guard_interrupt(pthread_t thread);

#endif
