/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the client share. All of it belongs to the thread of the loop. */
#ifndef SL_LIB_NATS_CLIENT_INT_H
#define SL_LIB_NATS_CLIENT_INT_H

#include <sys/queue.h>
#include <uv.h>

#include "core/base/collection/vec.h"
#include "core/base/prng.h"
#include "lib/nats/client.h"
#include "lib/nats/identity.h"
#include "lib/nats/lookup.h"
#include "lib/nats/mailbox.h"
#include "lib/nats/parser.h"
#include "lib/nats/servers.h"
#include "lib/nats/socket.h"

#define NATSC_TEXT 512 /* of an event */
#define NATSC_MAX_ERRORS 4u

struct natsc_note {
    enum sl_nats_event_kind kind;
    char text[NATSC_TEXT];
};

/* A subject that is subscribed to; its number is the server's name for it. */
struct natsc_subscription {
    char *subject;
    uint32_t id;
    bool asked; /* the present server has been asked for it */
};

/* A message that no server has confirmed. */
struct natsc_sending {
    TAILQ_ENTRY(natsc_sending) next;
    uint64_t ping; /* the one behind it; 0: it is not sent to the present server */
    size_t len;
    char *data; /* behind the subject */
    char subject[];
};

TAILQ_HEAD(natsc_sendings, natsc_sending);

/* What a connection waits for. */
enum natsc_state {
    NATSC_PAUSE,     /* the next attempt */
    NATSC_LOOKUP,    /* addresses of the server */
    NATSC_DIAL,      /* TCP */
    NATSC_GREETING,  /* INFO */
    NATSC_HANDSHAKE, /* TLS */
    NATSC_LOGIN,     /* the PONG behind CONNECT */
    NATSC_UP,
};

/* One connection of the port. */
struct natsc_conn {
    TAILQ_ENTRY(natsc_conn) next;
    struct sl_nats_client *client;
    uint32_t id;
    enum natsc_state state;
    bool closing; /* no event of it follows; it sends what it has to */
    struct sl_nats_pace pace;
    struct natsc_identity who;
    struct natsc_servers servers;
    struct sl_prng prng;
    uv_timer_t timer;    /* of the state */
    uv_timer_t throttle; /* until it may read again */
    uint32_t n_handles;
    /* ---- an attempt, or the connection ---- */
    uint32_t tried;            /* servers, since the last pause */
    uint32_t dialled;          /* addresses of the server */
    char failure[NATSC_TEXT];  /* of the attempt, to be handled soon; "": none */
    char why[NATSC_TEXT];      /* what the round failed for, with the server */
    enum natsc_state farthest; /* where that was */
    struct natsc_lookup *lookup;
    const struct addrinfo *address; /* the lookup's */
    struct natsc_socket *socket;
    struct natsc_parser parser;
    char nonce[NATSC_MAX_NONCE + 1];
    uint64_t pings, pongs;
    size_t unfinished;          /* bytes, since the last ping */
    uint32_t silent;            /* pings, since anything came from the server */
    int64_t max_payload;        /* of the server; 0: it did not say */
    int64_t budget;             /* bytes that might be read, at 'counted' */
    uint64_t counted, up_since; /* by the clock of the loop */
    uint32_t failures;
    /* ---- what the loop asks for ---- */
    SL_VEC(struct natsc_subscription) subscriptions;
    uint32_t last_sid;
    struct natsc_sendings sending;
    uint32_t n_sending;
    /* ---- what it is told ---- */
    struct natsc_note note[2], errors[NATSC_MAX_ERRORS];
    uint32_t n_note, n_errors;
    char down[NATSC_TEXT]; /* reported last; "": it is up */
};

TAILQ_HEAD(natsc_conns, natsc_conn);

struct sl_nats_client {
    struct sl_nats_port port;
    uv_loop_t *loop;
    uv_async_t wake;
    struct natsc_mailbox box;
    struct natsc_conns conns, leaving; /* leaving: closed by the port */
    uint32_t n_conns, last_id;
    uint32_t n_notes; /* events besides messages, of all connections */
    uint32_t refs;    /* of handles that the loop has to close, and of who made it */
    struct sl_nats_pace pace;
    struct natsc_trust *system;  /* the authorities of the system; NULL: not needed yet */
    struct natsc_message *shown; /* lent to the reader */
    char text[NATSC_TEXT];
    char buffer[NATSC_READ];
};

/* ---- client.c ---- */
void natsc_client_unref(struct sl_nats_client *c);
/* An event of a connection; the same again is none. */
void natsc_note(struct natsc_conn *c, enum sl_nats_event_kind kind, const char *text);

/* ---- conn.c: attempts, and the life of a connection ---- */
int natsc_conn_new(struct sl_nats_client *client, const struct sl_nats_connector *from,
                   const struct sl_nats_credentials *with, struct natsc_conn **ret,
                   struct sl_err *err) _must_check_;
/* The attempt has failed, or the connection is lost. */
void natsc_conn_lose(struct natsc_conn *c, const char *why);
/* The server asks for it: without a word to the loop as long as another one can be reached. */
void natsc_conn_move(struct natsc_conn *c, const char *why);
/* The server knows who it is: the attempt has succeeded. */
void natsc_conn_up(struct natsc_conn *c);
/* Sends what it has to, if it can do so at once; then it ends. */
void natsc_conn_close(struct natsc_conn *c);
void natsc_conn_end(struct natsc_conn *c);

/* ---- protocol.c: the protocol over a connection ---- */
void natsc_protocol_data(struct natsc_conn *c, struct sl_text in);
/* CONNECT, once the connection is as safe as it has to be. */
void natsc_protocol_login(struct natsc_conn *c);
void natsc_protocol_ping(struct natsc_conn *c);
/* Sends what the loop asks for, as far as there is a connection. */
void natsc_protocol_pump(struct natsc_conn *c);
void natsc_protocol_unsubscribe(struct natsc_conn *c, uint32_t sid);

/* ---- reason.c ---- */
/* A text of a server in one printable line, or ours for it. */
void natsc_reason(struct sl_text text, char out[NATSC_TEXT]);
/* An error after which the server leaves the connection open. */
bool natsc_is_refusal(struct sl_text text);

#endif
