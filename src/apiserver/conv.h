/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations over a wire: pods/exec, pods/attach (talk.c) and pods/portforward (forward.c). What
 * they share is here: which protocol the client wants, the upgrade, the way of bytes, and the end.
 *
 * Whatever happens to a conversation comes from the loop: the client's bytes, the runtime's events,
 * sockets. Who handled it calls sl_conv_turn last, which sends what there is to send and ends what
 * is over.
 */
#ifndef SL_APISERVER_CONV_H
#define SL_APISERVER_CONV_H

#include "apiserver/server.h"
#include "streams/streams.h"

/* So much waits for a client: others are asked to wait. */
#define SL_CONV_HIGH ((size_t)256 << 10)

struct sl_conv_ops {
    struct sl_streams_events events;    /* with the conversation as their ctx */
    void (*begin)(struct sl_conv *c);   /* the wire stands */
    void (*room)(struct sl_conv *c);    /* the client takes again what it is sent */
    void (*release)(struct sl_conv *c); /* frees 'own', and is told nothing after that */
};

struct sl_conv {
    struct sl_rq *rq;
    const struct sl_conv_ops *ops;
    struct sl_streams *streams;
    enum sl_streams_kind kind;
    uint32_t version;        /* of the channels: 1 to 5 */
    const char *headers[10]; /* of the answer */
    bool over;               /* all is said */
    void *own;
};

/* ---- conv.c ---- */
/* The client asks for an upgrade that this can be: a conversation. NULL: it was answered. */
struct sl_conv *sl_conv_new(struct sl_rq *rq, const struct sl_conv_ops *ops, void *own);
/* The answer is a wire, once the store has kept what it tells. */
void sl_conv_go(struct sl_conv *c);
/* The conversation may be gone afterwards. */
void sl_conv_turn(struct sl_conv *c);
void sl_conv_hold(struct sl_conv *c, bool hold); /* of what the client sends */
bool sl_conv_full(const struct sl_conv *c);      /* more than the mark waits for the client */
/* A farewell; it ends with the next turn. */
void sl_conv_over(struct sl_conv *c);
/* A parameter of the query that says yes. */
bool sl_conv_yes(const char *value);

/* ---- talk.c, forward.c ---- */
void sl_talk_ask(struct sl_rq *rq, yyjson_val *pod);
void sl_forward_ask(struct sl_rq *rq, yyjson_val *pod);

#endif
