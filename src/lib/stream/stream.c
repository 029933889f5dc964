/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/stream/stream.h"

#include "core/base/mem.h"
#include "lib/stream/spdy.h"
#include "lib/stream/websocket.h"

#define CLOSES 255     /* not a channel: the next byte is the one that is closed */
#define NO_CHANNEL 256 /* the rest of a message is discarded */
#define PIECE ((size_t)64 << 10)

struct sl_streams {
    enum sl_streams_kind kind;
    const struct sl_streams_events *ev;
    void *ctx;
    struct sl_buf out;
    struct sl_ws ws;
    struct sl_spdy *spdy; /* NULL: channels */
    struct sl_buf tunnel; /* its output, before it is in messages */
    bool spdy_over;       /* inside a tunnel */
    int channel;          /* of the message that is being read; -1: not known yet */
    uint32_t ended;       /* channels that the client has closed */
    uint32_t reset;       /* that we take nothing from, and send nothing to */
};

struct sl_streams *sl_streams_new(enum sl_streams_kind kind, const struct sl_streams_events *ev,
                                  void *ctx) {
    struct sl_streams *s = sl_alloc0(1, sizeof *s);

    s->kind = kind;
    s->ev = ev;
    s->ctx = ctx;
    s->channel = -1;
    sl_buf_init(&s->out, SL_STREAMS_OUT);
    sl_buf_init(&s->tunnel, SL_STREAMS_OUT);
    sl_ws_init(&s->ws, &s->out);
    if (kind != SL_STREAMS_CHANNELS)
        s->spdy = sl_spdy_new(kind == SL_STREAMS_TUNNEL ? &s->tunnel : &s->out, ev, ctx);
    return s;
}

void sl_streams_free(struct sl_streams *s) {
    if (!s)
        return;
    sl_spdy_free(s->spdy);
    sl_buf_done(&s->out);
    sl_buf_done(&s->tunnel);
    sl_freep(&s);
}

/* ---- in ---- */

static void close_channel(struct sl_streams *s, uint8_t channel) {
    if (channel >= SL_STREAMS_CHANNELS_MAX || (s->ended >> channel & 1))
        return;
    s->ended |= 1u << channel;
    s->ev->ended(s->ctx, channel, false);
}

static void on_message(void *ctx, const char *p, size_t n, bool first, bool last) {
    struct sl_streams *s = ctx;

    if (s->kind == SL_STREAMS_TUNNEL) {
        if (!s->spdy_over && n > 0)
            s->spdy_over = !sl_spdy_take(s->spdy, p, n);
        return;
    }
    if (first)
        s->channel = -1;
    if (s->channel < 0 && n > 0) {
        s->channel = (uint8_t)*p++;
        n--;
    }
    if (s->channel == CLOSES && n > 0) {
        close_channel(s, (uint8_t)*p);
        s->channel = NO_CHANNEL;
    } else if (s->channel >= 0 && s->channel < (int)SL_STREAMS_CHANNELS_MAX && n > 0 &&
               !((s->ended | s->reset) >> s->channel & 1)) {
        s->ev->data(s->ctx, (uint32_t)s->channel, p, n);
    }
    if (last)
        s->channel = -1;
}

bool sl_streams_take(struct sl_streams *s, const char *bytes, size_t len) {
    if (s->kind == SL_STREAMS_SPDY)
        return sl_spdy_take(s->spdy, bytes, len);
    return sl_ws_take(&s->ws, bytes, len, on_message, s) && !s->spdy_over;
}

/* ---- out ---- */

struct sl_buf *sl_streams_out(struct sl_streams *s) {
    size_t n;

    for (size_t at = 0; at < s->tunnel.len; at += n) {
        n = s->tunnel.len - at < PIECE ? s->tunnel.len - at : PIECE;
        sl_ws_send(&s->ws, -1, s->tunnel.s + at, n);
    }
    if (sl_buf_full(&s->tunnel))
        sl_buf_fail(&s->out);
    sl_buf_clear(&s->tunnel);
    return &s->out;
}

void sl_streams_send(struct sl_streams *s, uint32_t id, const char *bytes, size_t len) {
    if (s->spdy) {
        sl_spdy_send(s->spdy, id, bytes, len);
        return;
    }
    if (id >= SL_STREAMS_CHANNELS_MAX || (s->reset >> id & 1))
        return;
    do { /* an empty one is a message, too */
        size_t n = len < PIECE ? len : PIECE;
        sl_ws_send(&s->ws, (int)id, bytes, n);
        bytes += n;
        len -= n;
    } while (len > 0);
}

void sl_streams_end(struct sl_streams *s, uint32_t id) {
    if (s->spdy)
        sl_spdy_end(s->spdy, id);
}

void sl_streams_reset(struct sl_streams *s, uint32_t id) {
    if (s->spdy)
        sl_spdy_reset(s->spdy, id);
    else if (id < SL_STREAMS_CHANNELS_MAX)
        s->reset |= 1u << id;
}

void sl_streams_close(struct sl_streams *s) {
    if (s->spdy)
        sl_spdy_close(s->spdy);
    (void)sl_streams_out(s);
    if (s->kind != SL_STREAMS_SPDY)
        sl_ws_close(&s->ws, SL_WS_NORMAL);
}
