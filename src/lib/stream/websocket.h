/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSocket (RFC 6455), server side after the handshake: frames in, parts of messages out, as they
 * arrive; only control frames are buffered. Private to src/lib/stream, except for the handshake.
 */
#ifndef SL_LIB_STREAM_WEBSOCKET_H
#define SL_LIB_STREAM_WEBSOCKET_H

#include "core/base/buf.h"

#define SL_WS_ACCEPT 29                    /* with its NUL */
#define SL_WS_MESSAGE ((uint64_t)64 << 20) /* of a client's; 1009 beyond */
#define SL_WS_CONTROL 125u

/* The response to the client's Sec-WebSocket-Key. False: the key is invalid. */
bool sl_ws_accept(const char *key, char out[SL_WS_ACCEPT]);

enum sl_ws_code { SL_WS_NORMAL = 1000, SL_WS_PROTOCOL = 1002, SL_WS_TOO_BIG = 1009 };

struct sl_ws {
    uint8_t head[14]; /* of the frame that is being read */
    uint32_t n_head;
    uint64_t left;  /* of its payload */
    uint64_t total; /* of the message */
    uint32_t turn;  /* of the mask */
    bool in_frame, in_message, begun;
    char control[SL_WS_CONTROL];
    uint32_t n_control;
    bool closed; /* nothing is sent from now on */
    struct sl_buf *out;
};

void sl_ws_init(struct sl_ws *w, struct sl_buf *out);
/* 'part' gets the bytes of a message; 'first': it begins here, and may be empty. False: the peer
 * has closed, or violated the protocol; the response to that is in 'out'. */
bool sl_ws_take(struct sl_ws *w, const char *bytes, size_t len,
                void (*part)(void *ctx, const char *s, size_t n, bool first, bool last), void *ctx);
/* One binary message; 'head' >= 0: this byte precedes the others. */
void sl_ws_send(struct sl_ws *w, int head, const char *bytes, size_t len);
void sl_ws_close(struct sl_ws *w, enum sl_ws_code code);

#endif
