/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes from a peer: whole and in small pieces they must mean the same, what is held must stay
 * within its ceilings, and streams that are not there must be nobody's.
 */
#ifndef SL_FUZZ_STREAMS_FZ_H
#define SL_FUZZ_STREAMS_FZ_H

#include <string.h>

#include "lib/stream/stream.h"

struct run {
    struct sl_streams *s;
    struct sl_buf log; /* what happened, but not where data was cut */
    uint32_t data_id, turns;
};

static inline void on_opened(void *ctx, uint32_t id, const struct sl_streams_head *h) {
    struct run *r = ctx;

    sl_buf_printf(&r->log, "[open %u %s %s %s]", id, h->type, h->port, h->request);
    r->data_id = UINT32_MAX;
    if (strcmp(h->type, "x") == 0)
        sl_streams_reset(r->s, id);
    else
        sl_streams_send(r->s, id, "hello", 5);
}

static inline void on_data(void *ctx, uint32_t id, const char *bytes, size_t len) {
    struct run *r = ctx;

    sl_assert(len > 0);
    if (r->data_id != id)
        sl_buf_printf(&r->log, "[data %u]", id);
    r->data_id = id;
    sl_buf_add(&r->log, bytes, len);
}

static inline void on_ended(void *ctx, uint32_t id, bool reset) {
    struct run *r = ctx;

    sl_buf_printf(&r->log, "[%s %u]", reset ? "reset" : "end", id);
    r->data_id = UINT32_MAX;
    if (id % 4 == 1)
        sl_streams_end(r->s, id);
    else if (id % 4 == 3)
        sl_streams_reset(r->s, id);
}

static inline bool run(struct run *r, enum sl_streams_kind kind, const uint8_t *data, size_t size,
                       size_t step) {
    static const struct sl_streams_events events = {on_opened, on_data, on_ended};
    bool ok = true;

    *r = (struct run){.data_id = UINT32_MAX};
    sl_buf_init(&r->log, (size_t)8 << 20);
    r->s = sl_streams_new(kind, &events, r);
    for (size_t at = 0, n; ok && at < size; at += n) {
        n = size - at < step ? size - at : step;
        ok = sl_streams_take(r->s, (const char *)data + at, n);
        (void)sl_streams_out(r->s);
    }
    sl_streams_send(r->s, 1, "one", 3);
    sl_streams_send(r->s, 4711, "nobody", 6);
    sl_streams_end(r->s, 1);
    sl_streams_close(r->s);
    sl_assert(sl_streams_out(r->s)->len <= SL_STREAMS_OUT);
    return ok;
}

static inline void both(enum sl_streams_kind kind, const uint8_t *data, size_t size) {
    struct run a, b;
    bool whole = run(&a, kind, data, size, size ? size : 1), parts = run(&b, kind, data, size, 3);

    sl_assert(whole == parts);
    sl_assert(strcmp(sl_buf_str(&a.log), sl_buf_str(&b.log)) == 0);
    struct sl_buf *out_a = sl_streams_out(a.s), *out_b = sl_streams_out(b.s);
    if (kind != SL_STREAMS_TUNNEL) { /* there messages begin where they are asked for */
        sl_assert(out_a->len == out_b->len);
        sl_assert(out_a->len == 0 || memcmp(out_a->s, out_b->s, out_a->len) == 0);
    }
    sl_streams_free(a.s);
    sl_streams_free(b.s);
    sl_buf_done(&a.log);
    sl_buf_done(&b.log);
}

#endif
