/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SPDY/3.1, the server's side: the client opens streams, both write to them. Private to
 * src/lib/stream.
 */
#ifndef SL_LIB_STREAM_SPDY_H
#define SL_LIB_STREAM_SPDY_H

#include "core/base/buf.h"
#include "lib/stream/stream.h"

#define SL_SPDY_STREAMS 2048u                /* at once; more are refused */
#define SL_SPDY_CONTROL ((uint32_t)64 << 10) /* bytes of a control frame */
#define SL_SPDY_HEADERS ((size_t)16 << 10)   /* of one stream, unpacked */

struct sl_spdy;
struct sl_spdy *sl_spdy_new(struct sl_buf *out, const struct sl_streams_events *ev, void *ctx);
void sl_spdy_free(struct sl_spdy *s);
bool sl_spdy_take(struct sl_spdy *s, const char *bytes, size_t len);
void sl_spdy_send(struct sl_spdy *s, uint32_t id, const char *bytes, size_t len);
void sl_spdy_end(struct sl_spdy *s, uint32_t id);
void sl_spdy_reset(struct sl_spdy *s, uint32_t id);
void sl_spdy_close(struct sl_spdy *s);

/* The preset dictionary of both compressors. */
void sl_spdy_words(struct sl_buf *out);
#define SL_SPDY_WORDS 1423u

#endif
