/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several streams multiplexed over one connection, for exec, attach and port-forward sessions. Two
 * protocols are supported:
 *
 *   channels   WebSocket messages whose first byte is the channel (v5.channel.k8s.io and before);
 *              all channels exist from the beginning
 *   SPDY/3.1   streams that the client opens and names in their headers; directly, or inside
 *              WebSocket messages
 *
 * No sockets: received bytes go in, and bytes to send are in a buffer. What a peer can make this
 * hold is bounded: streams, headers, control frames, bytes to be sent. SPDY's windows are not
 * counted, as its peers here do not either: flow control is done by pausing reads from the peer
 * (backpressure).
 */
#ifndef SL_LIB_STREAM_STREAM_H
#define SL_LIB_STREAM_STREAM_H

#include "core/base/buf.h"

enum sl_streams_kind { SL_STREAMS_CHANNELS, SL_STREAMS_SPDY, SL_STREAMS_TUNNEL };

#define SL_STREAMS_OUT ((size_t)16 << 20)
#define SL_STREAMS_CHANNELS_MAX 32u

/* "" where the client sends none; borrowed for the call. */
struct sl_streams_head {
    const char *type, *port, *request;
};

/* They come inside sl_streams_take. Streams may be written, ended and reset from there. */
struct sl_streams_events {
    void (*opened)(void *ctx, uint32_t id, const struct sl_streams_head *h); /* SPDY only */
    void (*data)(void *ctx, uint32_t id, const char *bytes, size_t len);
    /* End of stream from the peer; 'reset': nothing is accepted either. */
    void (*ended)(void *ctx, uint32_t id, bool reset);
};

struct sl_streams;
struct sl_streams *sl_streams_new(enum sl_streams_kind kind, const struct sl_streams_events *ev,
                                  void *ctx);
void sl_streams_free(struct sl_streams *s); /* NULL is allowed */

/* False: it is over, because the peer has closed or does not keep to the protocol; what is in
 * sl_streams_out should still be sent. */
bool sl_streams_take(struct sl_streams *s, const char *bytes, size_t len);
/* Bytes to send; the sender clears it. 'overflow': too much was written. */
struct sl_buf *sl_streams_out(struct sl_streams *s);

/* Of streams that are not there, or ended, these do nothing. */
void sl_streams_send(struct sl_streams *s, uint32_t id, const char *bytes, size_t len);
void sl_streams_end(struct sl_streams *s, uint32_t id); /* our half; channels have no such thing */
void sl_streams_reset(struct sl_streams *s, uint32_t id);
/* A farewell; nothing is sent after it. */
void sl_streams_close(struct sl_streams *s);

#endif
