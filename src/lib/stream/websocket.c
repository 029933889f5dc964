/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/stream/websocket.h"

#include <openssl/evp.h>
#include <string.h>

#include "core/base/base64.h"

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
#define KEY_TEXT 24u /* 16 bytes in base64 */
#define PIECE ((size_t)8 << 10)

enum op { OP_MORE = 0, OP_TEXT = 1, OP_BINARY = 2, OP_CLOSE = 8, OP_PING = 9, OP_PONG = 10 };
#define FIN 0x80u
#define RESERVED 0x70u
#define MASKED 0x80u

bool sl_ws_accept(const char *key, char out[SL_WS_ACCEPT]) {
    char text[KEY_TEXT + sizeof GUID], raw[KEY_TEXT];
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    struct sl_buf b;

    if (strlen(key) != KEY_TEXT || sl_base64_decode(key, KEY_TEXT, raw) != 16)
        return false;
    memcpy(text, key, KEY_TEXT);
    memcpy(text + KEY_TEXT, GUID, sizeof GUID);
    if (EVP_Digest(text, KEY_TEXT + sizeof GUID - 1, sum, &n, EVP_sha1(), NULL) != 1)
        return false;
    sl_buf_init(&b, SL_WS_ACCEPT);
    sl_base64_encode(&b, (const char *)sum, n);
    bool fits = !sl_buf_full(&b) && b.len < SL_WS_ACCEPT;
    if (fits)
        memcpy(out, sl_buf_str(&b), b.len + 1);
    sl_buf_done(&b);
    return fits;
}

void sl_ws_init(struct sl_ws *w, struct sl_buf *out) {
    *w = (struct sl_ws){.out = out};
}

/* ---- out ---- */

static void put_frame(struct sl_ws *w, enum op op, int head, const char *bytes, size_t len) {
    size_t n = len + (head >= 0);
    char h[10];
    size_t n_h = 2;

    h[0] = (char)(FIN | (unsigned)op);
    if (n < 126) {
        h[1] = (char)n;
    } else if (n < 65536) {
        h[1] = 126;
        h[2] = (char)(n >> 8);
        h[3] = (char)n;
        n_h = 4;
    } else {
        h[1] = 127;
        for (int i = 0; i < 8; i++)
            h[2 + i] = (char)((uint64_t)n >> (56 - 8 * i));
        n_h = 10;
    }
    sl_buf_add(w->out, h, n_h);
    if (head >= 0)
        sl_buf_putc(w->out, (char)head);
    sl_buf_add(w->out, bytes, len);
}

void sl_ws_send(struct sl_ws *w, int head, const char *bytes, size_t len) {
    if (!w->closed)
        put_frame(w, OP_BINARY, head, bytes, len);
}

void sl_ws_close(struct sl_ws *w, enum sl_ws_code code) {
    const char text[2] = {(char)((unsigned)code >> 8), (char)code};

    if (!w->closed)
        put_frame(w, OP_CLOSE, -1, text, sizeof text);
    w->closed = true;
}

/* ---- in ---- */

static bool protocol_error(struct sl_ws *w, enum sl_ws_code code) {
    sl_ws_close(w, code);
    return false;
}

/* How long the header is, as far as it is known. */
static uint32_t head_size(const struct sl_ws *w) {
    if (w->n_head < 2)
        return 2;
    uint32_t size = w->head[1] & 0x7fu;
    return 2 + (size == 126 ? 2u : size == 127 ? 8u : 0u) + 4;
}

/* A header is whole. */
static bool begin_frame(struct sl_ws *w) {
    const enum op op = w->head[0] & 0x0fu;
    const bool control = op >= OP_CLOSE, fin = w->head[0] & FIN;
    uint32_t size = w->head[1] & 0x7fu, at = 2;

    w->left = size;
    if (size >= 126) {
        w->left = 0;
        for (uint32_t n = size == 126 ? 2 : 8; n > 0; n--)
            w->left = w->left << 8 | w->head[at++];
    }
    if (!(w->head[1] & MASKED) || (w->head[0] & RESERVED))
        return protocol_error(w, SL_WS_PROTOCOL);
    if (control && (!fin || size > SL_WS_CONTROL || op > OP_PONG))
        return protocol_error(w, SL_WS_PROTOCOL);
    if (!control && (op > OP_BINARY || (op == OP_MORE) != w->in_message))
        return protocol_error(w, SL_WS_PROTOCOL);
    if (!control) {
        if (op != OP_MORE) {
            w->total = 0;
            w->begun = false;
        }
        w->in_message = !fin;
        if (w->left > SL_WS_MESSAGE || (w->total += w->left) > SL_WS_MESSAGE)
            return protocol_error(w, SL_WS_TOO_BIG);
    }
    w->turn = 0;
    w->n_control = 0;
    w->in_frame = true;
    return true;
}

static bool end_control(struct sl_ws *w, enum op op) {
    if (op == OP_PING && !w->closed)
        put_frame(w, OP_PONG, -1, w->control, w->n_control);
    if (op != OP_CLOSE)
        return true;
    if (!w->closed) /* the client's code is echoed */
        put_frame(w, OP_CLOSE, -1, w->control, w->n_control < 2 ? 0 : 2);
    w->closed = true;
    return false;
}

bool sl_ws_take(struct sl_ws *w, const char *bytes, size_t len,
                void (*part)(void *ctx, const char *s, size_t n, bool first, bool last),
                void *ctx) {
    char plain[PIECE];

    while (len > 0 || (w->in_frame && w->left == 0)) {
        if (!w->in_frame) {
            w->head[w->n_head++] = (uint8_t)*bytes++;
            len--;
            if (w->n_head == 2 && !(w->head[1] & MASKED))
                return protocol_error(w, SL_WS_PROTOCOL);
            if (w->n_head == head_size(w) && !begin_frame(w))
                return false;
            continue;
        }
        const enum op op = w->head[0] & 0x0fu;
        const uint8_t *mask = w->head + w->n_head - 4;
        size_t n = len < PIECE ? len : PIECE;
        if (n > w->left)
            n = (size_t)w->left;
        for (size_t i = 0; i < n; i++)
            plain[i] = (char)((uint8_t)bytes[i] ^ mask[w->turn++ & 3]);
        bytes += n;
        len -= n;
        w->left -= n;
        if (op >= OP_CLOSE) {
            memcpy(w->control + w->n_control, plain, n);
            w->n_control += (uint32_t)n;
        } else {
            bool last = w->left == 0 && !w->in_message;
            if (n > 0 || !w->begun || last)
                part(ctx, plain, n, !w->begun, last);
            w->begun = true;
        }
        if (w->left > 0)
            continue;
        w->in_frame = false;
        w->n_head = 0;
        if (op >= OP_CLOSE && !end_control(w, op))
            return false;
    }
    return true;
}
