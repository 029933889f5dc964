/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame has a header of eight bytes. Control frames are read completely, data is passed on as it
 * arrives. Header blocks are one compressed stream over the lifetime of the connection, so each of
 * them has to be decompressed, also that of a stream which is refused.
 */
#include "lib/stream/spdy.h"

#include <string.h>
#include <strings.h>
#define ZLIB_CONST
#include <zlib.h>

#include "core/base/collection/vec.h"
#include "core/base/mem.h"

#define HEAD 8u
#define VERSION 3u
#define CONTROL 0x80000000u
#define ID_MASK 0x7fffffffu
#define FLAG_FIN 0x01u
#define FLAG_ONE_WAY 0x02u
#define PIECE ((size_t)64 << 10) /* of data in a frame of ours */
#define PAIRS 64u                /* headers of a stream */

enum type {
    SYN_STREAM = 1,
    SYN_REPLY = 2,
    RST_STREAM = 3,
    SETTINGS = 4,
    PING = 6,
    GOAWAY = 7,
    HEADERS = 8,
    WINDOW_UPDATE = 9,
};
enum reset { RESET_PROTOCOL = 1, RESET_INVALID = 2, RESET_REFUSED = 3, RESET_CANCEL = 5 };
enum goaway { GOAWAY_OK = 0, GOAWAY_PROTOCOL = 1 };

struct stream {
    uint32_t id;
    bool we_ended, they_ended;
};

struct sl_spdy {
    struct sl_buf *out;
    const struct sl_streams_events *ev;
    void *ctx;
    SL_VEC(struct stream) streams; /* by id: they only grow */
    uint32_t last;                 /* that the client has opened */
    bool closed;                   /* nothing is sent any more */
    bool going;                    /* the client has announced that it opens no more (GOAWAY) */

    uint8_t head[HEAD];
    uint32_t n_head;
    uint32_t left;       /* of the frame */
    struct sl_buf frame; /* a control frame's rest */
    z_stream unpack, pack;
    char headers[SL_SPDY_HEADERS];
};

static uint32_t get32(const void *p) {
    const uint8_t *b = p;

    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void put32(struct sl_buf *b, uint32_t v) {
    const char s[4] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};

    sl_buf_add(b, s, sizeof s);
}

struct sl_spdy *sl_spdy_new(struct sl_buf *out, const struct sl_streams_events *ev, void *ctx) {
    struct sl_spdy *s = sl_alloc0(1, sizeof *s);
    struct sl_buf words;

    s->out = out;
    s->ev = ev;
    s->ctx = ctx;
    sl_buf_init(&s->frame, SL_SPDY_CONTROL);
    sl_buf_init(&words, SL_SPDY_WORDS + 1);
    sl_spdy_words(&words);
    sl_assert(inflateInit(&s->unpack) == Z_OK && deflateInit(&s->pack, 9) == Z_OK);
    sl_assert(deflateSetDictionary(&s->pack, (const Bytef *)words.s, (uInt)words.len) == Z_OK);
    sl_buf_done(&words);
    return s;
}

void sl_spdy_free(struct sl_spdy *s) {
    if (!s)
        return;
    (void)inflateEnd(&s->unpack);
    (void)deflateEnd(&s->pack);
    sl_buf_done(&s->frame);
    sl_vec_free(&s->streams);
    sl_freep(&s);
}

static struct stream *find_stream(struct sl_spdy *s, uint32_t id) {
    uint32_t low = 0, high = s->streams.n;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (s->streams.v[mid].id == id)
            return &s->streams.v[mid];
        if (s->streams.v[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static void forget_stream(struct sl_spdy *s, struct stream *st) {
    uint32_t at = (uint32_t)(st - s->streams.v);

    memmove(st, st + 1, (s->streams.n - at - 1) * sizeof *st);
    s->streams.n--;
}

static void forget_if_done(struct sl_spdy *s, uint32_t id) {
    struct stream *st = find_stream(s, id);

    if (st && st->we_ended && st->they_ended)
        forget_stream(s, st);
}

/* ---- out ---- */

static void put_control(struct sl_spdy *s, enum type type, uint32_t size) {
    put32(s->out, CONTROL | VERSION << 16 | (uint32_t)type);
    put32(s->out, size);
}

static void put_reset(struct sl_spdy *s, uint32_t id, enum reset why) {
    if (s->closed)
        return;
    put_control(s, RST_STREAM, 8);
    put32(s->out, id);
    put32(s->out, (uint32_t)why);
}

static void put_goaway(struct sl_spdy *s, enum goaway why) {
    if (s->closed)
        return;
    put_control(s, GOAWAY, 8);
    put32(s->out, s->last);
    put32(s->out, (uint32_t)why);
    s->closed = true;
}

/* No headers: a count of zero, packed. */
static void put_reply(struct sl_spdy *s, uint32_t id) {
    static const Bytef none[4] = {0};
    Bytef packed[64];

    if (s->closed)
        return;
    s->pack.next_in = none;
    s->pack.avail_in = sizeof none;
    s->pack.next_out = packed;
    s->pack.avail_out = sizeof packed;
    sl_assert(deflate(&s->pack, Z_SYNC_FLUSH) == Z_OK && s->pack.avail_out > 0);
    uint32_t n = (uint32_t)sizeof packed - s->pack.avail_out;
    put_control(s, SYN_REPLY, 4 + n);
    put32(s->out, id);
    sl_buf_add(s->out, (const char *)packed, n);
}

static void put_data(struct sl_spdy *s, uint32_t id, uint32_t flags, const char *bytes,
                     size_t len) {
    put32(s->out, id);
    put32(s->out, flags << 24 | (uint32_t)len);
    sl_buf_add(s->out, bytes, len);
}

void sl_spdy_send(struct sl_spdy *s, uint32_t id, const char *bytes, size_t len) {
    struct stream *st = find_stream(s, id);

    if (!st || st->we_ended || s->closed)
        return;
    while (len > 0) {
        size_t n = len < PIECE ? len : PIECE;
        put_data(s, id, 0, bytes, n);
        bytes += n;
        len -= n;
    }
}

void sl_spdy_end(struct sl_spdy *s, uint32_t id) {
    struct stream *st = find_stream(s, id);

    if (!st || st->we_ended || s->closed)
        return;
    put_data(s, id, FLAG_FIN, "", 0);
    st->we_ended = true;
    forget_if_done(s, id);
}

void sl_spdy_reset(struct sl_spdy *s, uint32_t id) {
    struct stream *st = find_stream(s, id);

    if (!st)
        return;
    put_reset(s, id, RESET_CANCEL);
    forget_stream(s, st);
}

void sl_spdy_close(struct sl_spdy *s) {
    put_goaway(s, GOAWAY_OK);
}

/* ---- in ---- */

static bool protocol_error(struct sl_spdy *s) {
    put_goaway(s, GOAWAY_PROTOCOL);
    return false;
}

/* Into s->headers; false: it is malformed, or too large. */
static bool unpack(struct sl_spdy *s, const char *block, size_t len, size_t *ret_len) {
    z_stream *z = &s->unpack;

    z->next_in = (const Bytef *)block;
    z->avail_in = (uInt)len;
    z->next_out = (Bytef *)s->headers;
    z->avail_out = sizeof s->headers;
    int r = inflate(z, Z_SYNC_FLUSH);
    if (r == Z_NEED_DICT) {
        struct sl_buf words;
        sl_buf_init(&words, SL_SPDY_WORDS + 1);
        sl_spdy_words(&words);
        r = inflateSetDictionary(z, (const Bytef *)words.s, (uInt)words.len);
        sl_buf_done(&words);
        if (r == Z_OK)
            r = inflate(z, Z_SYNC_FLUSH);
    }
    *ret_len = sizeof s->headers - z->avail_out;
    return (r == Z_OK || r == Z_BUF_ERROR) && z->avail_in == 0 && z->avail_out > 0;
}

struct text {
    const char *s;
    size_t len;
};

static bool next_text(const char **at, const char *end, struct text *ret) {
    if (end - *at < 4)
        return false;
    uint32_t n = get32(*at);
    *at += 4;
    if (n > (size_t)(end - *at))
        return false;
    *ret = (struct text){*at, n};
    *at += n;
    return true;
}

/* The few headers that are used, with a zero at their end. */
struct wanted {
    const char *name;
    char value[64];
};

static bool read_headers(struct sl_spdy *s, size_t len, struct wanted *w, size_t n_wanted) {
    const char *at = s->headers, *end = at + len;
    struct text name, value;

    if (len < 4)
        return false;
    uint32_t n = get32(at);
    at += 4;
    if (n > PAIRS)
        return false;
    for (; n > 0; n--) {
        if (!next_text(&at, end, &name) || !next_text(&at, end, &value))
            return false;
        for (size_t i = 0; i < n_wanted; i++)
            if (name.len == strlen(w[i].name) && strncasecmp(name.s, w[i].name, name.len) == 0 &&
                value.len < sizeof w[i].value) {
                memcpy(w[i].value, value.s, value.len);
                w[i].value[value.len] = '\0';
            }
    }
    return at == end;
}

static void they_end(struct sl_spdy *s, uint32_t id) {
    struct stream *st = find_stream(s, id);

    if (!st || st->they_ended)
        return;
    st->they_ended = true;
    s->ev->ended(s->ctx, id, false);
    forget_if_done(s, id);
}

static bool on_syn_stream(struct sl_spdy *s, uint32_t flags, const char *p, size_t len) {
    struct wanted w[] = {{.name = "streamtype"}, {.name = "port"}, {.name = "requestid"}};
    size_t n;

    if (len < 10)
        return protocol_error(s);
    uint32_t id = get32(p) & ID_MASK;
    if (!unpack(s, p + 10, len - 10, &n) || !read_headers(s, n, w, SL_LEN(w)))
        return protocol_error(s);
    if (id % 2 == 0 || id <= s->last)
        return protocol_error(s);
    s->last = id;
    if (s->streams.n >= SL_SPDY_STREAMS || s->going) {
        put_reset(s, id, RESET_REFUSED);
        return true;
    }
    *sl_vec_push(&s->streams) = (struct stream){.id = id, .we_ended = flags & FLAG_ONE_WAY};
    put_reply(s, id);
    s->ev->opened(
        s->ctx, id,
        &(struct sl_streams_head){.type = w[0].value, .port = w[1].value, .request = w[2].value});
    if (flags & FLAG_FIN)
        they_end(s, id);
    return true;
}

static bool on_headers(struct sl_spdy *s, uint32_t flags, const char *p, size_t len) {
    size_t n;

    if (len < 4 || !unpack(s, p + 4, len - 4, &n) || !read_headers(s, n, NULL, 0))
        return protocol_error(s);
    if (flags & FLAG_FIN)
        they_end(s, get32(p) & ID_MASK);
    return true;
}

static bool on_reset(struct sl_spdy *s, uint32_t flags, const char *p, size_t len) {
    (void)flags;
    if (len != 8)
        return protocol_error(s);
    uint32_t id = get32(p) & ID_MASK;
    struct stream *st = find_stream(s, id);
    if (!st)
        return true;
    forget_stream(s, st);
    s->ev->ended(s->ctx, id, true);
    return true;
}

static bool on_ping(struct sl_spdy *s, uint32_t flags, const char *p, size_t len) {
    (void)flags;
    if (len != 4)
        return protocol_error(s);
    if (get32(p) % 2 == 0 || s->closed) /* those would be answers to ours */
        return true;
    put_control(s, PING, 4);
    sl_buf_add(s->out, p, 4);
    return true;
}

static bool on_goaway(struct sl_spdy *s, uint32_t flags, const char *p, size_t len) {
    (void)flags, (void)p;
    if (len != 8)
        return protocol_error(s);
    s->going = true;
    return true;
}

static bool on_settings(struct sl_spdy *s, uint32_t flags, const char *p, size_t len) {
    (void)flags;
    if (len < 4 || (len - 4) / 8 != get32(p) || (len - 4) % 8 != 0)
        return protocol_error(s);
    return true;
}

static bool on_window(struct sl_spdy *s, uint32_t flags, const char *p, size_t len) {
    (void)flags, (void)p;
    return len == 8 ? true : protocol_error(s);
}

static bool on_control(struct sl_spdy *s) {
    static const struct {
        enum type type;
        bool (*fn)(struct sl_spdy *s, uint32_t flags, const char *p, size_t len);
    } table[] = {
        {SYN_STREAM, on_syn_stream},
        {SYN_REPLY, on_headers},
        {RST_STREAM, on_reset},
        {SETTINGS, on_settings},
        {PING, on_ping},
        {GOAWAY, on_goaway},
        {HEADERS, on_headers},
        {WINDOW_UPDATE, on_window},
    };
    uint32_t word = get32(s->head);

    if ((word >> 16 & 0x7fffu) != VERSION)
        return protocol_error(s);
    for (size_t i = 0; i < SL_LEN(table); i++)
        if ((word & 0xffffu) == (uint32_t)table[i].type)
            return table[i].fn(s, s->head[4], sl_buf_str(&s->frame), s->frame.len);
    return true; /* unknown frames are skipped */
}

static bool is_control(const struct sl_spdy *s) {
    return s->head[0] & 0x80u;
}

/* The header is whole. */
static bool begin_frame(struct sl_spdy *s) {
    s->left = get32(s->head + 4) & 0xffffffu;
    sl_buf_clear(&s->frame);
    if (is_control(s) && s->left >= SL_SPDY_CONTROL)
        return protocol_error(s);
    uint32_t id = get32(s->head);
    if (!is_control(s) && !find_stream(s, id) && (id > s->last || id == 0))
        put_reset(s, id, RESET_INVALID);
    return true;
}

static void take_data(struct sl_spdy *s, const char *bytes, size_t n) {
    uint32_t id = get32(s->head);
    struct stream *st = find_stream(s, id);

    if (st && !st->they_ended && n > 0)
        s->ev->data(s->ctx, id, bytes, n);
}

/* All of the frame is there. */
static bool end_frame(struct sl_spdy *s) {
    s->n_head = 0;
    if (is_control(s))
        return on_control(s);
    if (s->head[4] & FLAG_FIN)
        they_end(s, get32(s->head));
    return true;
}

bool sl_spdy_take(struct sl_spdy *s, const char *bytes, size_t len) {
    while (len > 0) {
        if (s->n_head < HEAD) {
            s->head[s->n_head++] = (uint8_t)*bytes++;
            len--;
            if (s->n_head == HEAD && !begin_frame(s))
                return false;
        } else {
            size_t n = len < s->left ? len : s->left;
            s->left -= (uint32_t)n;
            if (is_control(s))
                sl_buf_add(&s->frame, bytes, n);
            else
                take_data(s, bytes, n);
            bytes += n;
            len -= n;
        }
        if (s->n_head == HEAD && s->left == 0 && !end_frame(s))
            return false;
    }
    return true;
}
