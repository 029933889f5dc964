/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream sessions over an upgraded connection: pods/exec, pods/attach (exec_session.c) and
 * pods/portforward (port_forward.c). Their common part: protocol negotiation, the upgrade, transfer
 * of bytes with flow control, and termination.
 *
 * All events of a session come from the loop: bytes of the client, events of the runtime, sockets.
 * Each handler calls api_session_turn last, which sends pending bytes and ends the session if it is
 * over.
 */
#ifndef SL_CLUSTER_APISERVER_SESSION_STREAM_SESSION_H
#define SL_CLUSTER_APISERVER_SESSION_STREAM_SESSION_H

#include "cluster/apiserver/server.h"
#include "lib/stream/stream.h"

/* Unsent bytes to a client above which reads from the other side are paused: backpressure. */
#define API_SESSION_HIGH ((size_t)256 << 10)

struct api_session_ops {
    struct sl_streams_events events;         /* with the session as their ctx */
    void (*begin)(struct api_session *c);    /* the connection is upgraded */
    void (*writable)(struct api_session *c); /* the client takes again what it is sent */
    void (*release)(struct api_session *c);  /* frees 'own'; no callbacks follow */
};

struct api_session {
    struct api_rq *rq;
    const struct api_session_ops *ops;
    struct sl_streams *streams;
    enum sl_streams_kind kind;
    uint32_t version;        /* of the channels: 1 to 5 */
    const char *headers[10]; /* of the response */
    bool over;               /* all is sent */
    void *own;
};

/* ---- stream_session.c ---- */
/* The client requests an upgrade that is supported: a session. NULL: the request was answered. */
struct api_session *api_session_new(struct api_rq *rq, const struct api_session_ops *ops,
                                    void *own);
/* Upgrades the connection, once the store has committed what the response reports. */
void api_session_upgrade(struct api_session *c);
/* The session may be freed afterwards. */
void api_session_turn(struct api_session *c);
void api_session_hold(struct api_session *c, bool hold); /* of what the client sends */
bool api_session_full(const struct api_session *c); /* more than the mark waits for the client */
/* Sends a final message; the session ends with the next iteration. */
void api_session_finish(struct api_session *c);
/* A boolean parameter of the query. */
bool api_session_flag(const char *value);

/* ---- exec_session.c, port_forward.c ---- */
void api_exec_start(struct api_rq *rq, yyjson_val *pod);
void api_forward_start(struct api_rq *rq, yyjson_val *pod);

#endif
