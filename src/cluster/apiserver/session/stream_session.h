/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream sessions over an upgraded connection: pods/exec, pods/attach (exec_session.c) and
 * pods/portforward (port_forward.c). Their common part: protocol negotiation, the upgrade, transfer
 * of bytes with flow control, and termination.
 *
 * All events of a session come from the loop: bytes of the client, events of the runtime, sockets.
 * Each handler calls sl_conv_turn last, which sends pending bytes and ends the session if it is
 * over.
 */
#ifndef SL_CLUSTER_APISERVER_SESSION_STREAM_SESSION_H
#define SL_CLUSTER_APISERVER_SESSION_STREAM_SESSION_H

#include "cluster/apiserver/server.h"
#include "lib/stream/stream.h"

/* Unsent bytes to a client above which reads from the other side are paused: backpressure. */
#define SL_CONV_HIGH ((size_t)256 << 10)

struct sl_conv_ops {
    struct sl_streams_events events;    /* with the session as their ctx */
    void (*begin)(struct sl_conv *c);   /* the connection is upgraded */
    void (*room)(struct sl_conv *c);    /* the client takes again what it is sent */
    void (*release)(struct sl_conv *c); /* frees 'own'; no callbacks follow */
};

struct sl_conv {
    struct sl_rq *rq;
    const struct sl_conv_ops *ops;
    struct sl_streams *streams;
    enum sl_streams_kind kind;
    uint32_t version;        /* of the channels: 1 to 5 */
    const char *headers[10]; /* of the response */
    bool over;               /* all is sent */
    void *own;
};

/* ---- stream_session.c ---- */
/* The client requests an upgrade that is supported: a session. NULL: the request was answered. */
struct sl_conv *sl_conv_new(struct sl_rq *rq, const struct sl_conv_ops *ops, void *own);
/* Upgrades the connection, once the store has committed what the response reports. */
void sl_conv_go(struct sl_conv *c);
/* The session may be freed afterwards. */
void sl_conv_turn(struct sl_conv *c);
void sl_conv_hold(struct sl_conv *c, bool hold); /* of what the client sends */
bool sl_conv_full(const struct sl_conv *c);      /* more than the mark waits for the client */
/* Sends a final message; the session ends with the next iteration. */
void sl_conv_over(struct sl_conv *c);
/* A boolean parameter of the query. */
bool sl_conv_yes(const char *value);

/* ---- exec_session.c, port_forward.c ---- */
void sl_talk_ask(struct sl_rq *rq, yyjson_val *pod);
void sl_forward_ask(struct sl_rq *rq, yyjson_val *pod);

#endif
