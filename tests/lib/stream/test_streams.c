/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels over WebSocket, streams over SPDY, and SPDY inside WebSocket: what a peer sends, whole
 * and byte by byte, and what it gets.
 */
#include "lib/stream/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "lib/stream/spdy.h"
#include "lib/stream/websocket.h"

/* ---- the owner: writes down what happens ---- */

static struct {
    struct sl_streams *s;
    struct sl_buf log;
    uint32_t data_id; /* of the last data: pieces of one stream are one line */
    bool echo;
} o;

static void on_opened(void *ctx, uint32_t id, const struct sl_streams_head *h) {
    assert_ptr_equal(ctx, &o);
    sl_buf_printf(&o.log, "[open %u %s %s %s]", id, h->type, h->port, h->request);
    o.data_id = UINT32_MAX;
    if (strcmp(h->type, "unwanted") == 0)
        sl_streams_reset(o.s, id);
}

static void on_data(void *ctx, uint32_t id, const char *bytes, size_t len) {
    assert_ptr_equal(ctx, &o);
    if (id != o.data_id)
        sl_buf_printf(&o.log, "[data %u]", id);
    o.data_id = id;
    sl_buf_add(&o.log, bytes, len);
    if (o.echo)
        sl_streams_send(o.s, id, bytes, len);
}

static void on_ended(void *ctx, uint32_t id, bool reset) {
    assert_ptr_equal(ctx, &o);
    sl_buf_printf(&o.log, "[%s %u]", reset ? "reset" : "end", id);
    o.data_id = UINT32_MAX;
}

static const struct sl_streams_events events = {on_opened, on_data, on_ended};

static void begin(enum sl_streams_kind kind) {
    memset(&o, 0, sizeof o);
    sl_buf_init(&o.log, (size_t)32 << 20);
    o.data_id = UINT32_MAX;
    o.s = sl_streams_new(kind, &events, &o);
}

static void end(void) {
    sl_streams_free(o.s);
    sl_buf_done(&o.log);
}

/* All at once (step 0), or so many bytes at a time. */
static bool feed(const struct sl_buf *in, size_t step) {
    bool ok = true;

    for (size_t at = 0, n; ok && at < in->len; at += n) {
        n = step && in->len - at > step ? step : in->len - at;
        ok = sl_streams_take(o.s, in->s + at, n);
    }
    return ok;
}

/* ---- a peer that speaks WebSocket ---- */

static void ws_frame(struct sl_buf *b, unsigned first, const char *bytes, size_t len) {
    static const char mask[4] = {0x11, 0x22, 0x77, (char)0x88};

    sl_buf_putc(b, (char)first);
    if (len < 126) {
        sl_buf_putc(b, (char)(0x80 | len));
    } else {
        sl_buf_putc(b, (char)0xff);
        for (int i = 56; i >= 0; i -= 8)
            sl_buf_putc(b, (char)((uint64_t)len >> i));
    }
    sl_buf_add(b, mask, 4);
    for (size_t i = 0; i < len; i++)
        sl_buf_putc(b, (char)(bytes[i] ^ mask[i & 3]));
}
#define WS(b, first, literal) ws_frame(b, first, literal, sizeof(literal) - 1)

static const size_t steps[] = {0, 1, 3, 7};

static void test_accept(void **state) {
    char out[SL_WS_ACCEPT];

    (void)state;
    assert_true(sl_ws_accept("dGhlIHNhbXBsZSBub25jZQ==", out)); /* the example of the RFC */
    assert_string_equal(out, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_false(sl_ws_accept("", out));
    assert_false(sl_ws_accept("dGhlIHNhbXBsZSBub25jZQ", out));
    assert_false(sl_ws_accept("dGhlIHNhbXBsZSBub25jZSE=", out));
    assert_false(sl_ws_accept("!!!!IHNhbXBsZSBub25jZQ==", out));
}

static void test_channels(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(steps); i++) {
        struct sl_buf in;
        begin(SL_STREAMS_CHANNELS);
        sl_buf_init(&in, 4096);
        WS(&in, 0x82, "\0hello");
        WS(&in, 0x81, "\0 text"); /* Python's clients once sent these */
        WS(&in, 0x02, "\0 in");   /* a message in three frames ... */
        WS(&in, 0x89, "p");       /* ... with a ping among them */
        WS(&in, 0x00, "");
        WS(&in, 0x80, " parts");
        WS(&in, 0x8a, "unasked");
        WS(&in, 0x82, ""); /* says nothing, to nobody */
        WS(&in, 0x82, "\4{}");
        WS(&in, 0x82, "\x63-");        /* a channel that nobody has */
        WS(&in, 0x82, "\xff\0\1\1\1"); /* one at a time */
        WS(&in, 0x82, "\xff\0");
        WS(&in, 0x82, "\0ignored");
        assert_true(feed(&in, steps[i]));
        assert_string_equal(o.log.s, "[data 0]hello text in parts[data 4]{}[end 0]");
        struct sl_buf *out = sl_streams_out(o.s);
        assert_int_equal(out->len, 3);
        assert_memory_equal(out->s, "\x8a\x01p", 3);
        sl_buf_clear(out);
        sl_streams_send(o.s, 1, "", 0);
        sl_streams_send(o.s, 1, "out", 3);
        sl_streams_reset(o.s, 2);
        sl_streams_send(o.s, 2, "gone", 4);
        assert_int_equal(out->len, 3 + 6);
        assert_memory_equal(out->s, "\x82\x01\x01\x82\x04\x01out", 9);
        sl_buf_clear(out);
        sl_buf_clear(&in);
        WS(&in, 0x88, "\x03\xe8 bye"); /* the code comes back */
        assert_false(feed(&in, steps[i]));
        assert_int_equal(out->len, 4);
        assert_memory_equal(out->s, "\x88\x02\x03\xe8", 4);
        sl_streams_send(o.s, 1, "late", 4);
        sl_streams_close(o.s);
        assert_int_equal(out->len, 4);
        sl_buf_done(&in);
        end();
    }
}

/* What must not be: the code that we close with. */
static void test_channels_faults(void **state) {
    static const struct {
        const char *bytes;
        size_t len;
        int code;
    } t[] = {
        {"\x82\x01x", 3, 1002},                           /* not masked */
        {"\xc2\x80\0\0\0\0", 6, 1002},                    /* a reserved bit */
        {"\x83\x80\0\0\0\0", 6, 1002},                    /* no such kind of frame */
        {"\x8b\x80\0\0\0\0", 6, 1002},                    /* nor of control frame */
        {"\x80\x80\0\0\0\0", 6, 1002},                    /* continues nothing */
        {"\x02\x80\0\0\0\0\x82\x80\0\0\0\0", 12, 1002},   /* begins inside another */
        {"\x09\x80\0\0\0\0", 6, 1002},                    /* half a ping */
        {"\x89\xfe\0\x7e\0\0\0\0", 8, 1002},              /* a long one */
        {"\x82\xff\0\0\0\0\x05\0\0\0\0\0\0\0", 14, 1009}, /* 80 MiB */
        {"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14, 1009},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++)
        for (size_t j = 0; j < SL_LEN(steps); j++) {
            struct sl_buf in;
            begin(SL_STREAMS_CHANNELS);
            sl_buf_init(&in, 100);
            sl_buf_add(&in, t[i].bytes, t[i].len);
            assert_false(feed(&in, steps[j]));
            struct sl_buf *out = sl_streams_out(o.s);
            assert_int_equal(out->len, 4);
            assert_int_equal((uint8_t)out->s[2] << 8 | (uint8_t)out->s[3], t[i].code);
            sl_buf_done(&in);
            end();
        }
}

static void test_lengths(void **state) {
    static const size_t sizes[] = {124, 125, 126, 65534, 65535, 65536, 200000};

    (void)state;
    char *text = sl_alloc(200000);
    memset(text, 'x', 200000);
    for (size_t i = 0; i < SL_LEN(sizes); i++) {
        struct sl_buf in;
        begin(SL_STREAMS_CHANNELS);
        sl_buf_init(&in, 1 << 20);
        text[0] = 1;
        ws_frame(&in, 0x82, text, sizes[i]);
        assert_true(feed(&in, 1000));
        assert_int_equal(o.log.len, strlen("[data 1]") + sizes[i] - 1);
        struct sl_buf *out = sl_streams_out(o.s);
        sl_streams_send(o.s, 1, text, sizes[i]);
        assert_int_equal(out->s[1], sizes[i] + 1 < 126 ? (int)sizes[i] + 1
                                    : sizes[i] < 65535 ? 126
                                                       : 127);
        sl_buf_done(&in);
        end();
    }
    sl_freep(&text);
}

/* ---- a peer that speaks SPDY ---- */

static z_stream packer, unpacker;

static void peer_begin(void) {
    struct sl_buf words;

    memset(&packer, 0, sizeof packer);
    memset(&unpacker, 0, sizeof unpacker);
    assert_int_equal(deflateInit(&packer, 9), Z_OK);
    assert_int_equal(inflateInit(&unpacker), Z_OK);
    sl_buf_init(&words, 4096);
    sl_spdy_words(&words);
    assert_int_equal(deflateSetDictionary(&packer, (Bytef *)words.s, (uInt)words.len), Z_OK);
    sl_buf_done(&words);
}

static void peer_end(void) {
    (void)deflateEnd(&packer);
    (void)inflateEnd(&unpacker);
}

static void put32(struct sl_buf *b, uint32_t v) {
    for (int i = 24; i >= 0; i -= 8)
        sl_buf_putc(b, (char)(v >> i));
}

static void put_text(struct sl_buf *b, const char *s) {
    put32(b, (uint32_t)strlen(s));
    sl_buf_puts(b, s);
}

static void control(struct sl_buf *b, unsigned type, unsigned flags, const char *bytes,
                    size_t len) {
    put32(b, 0x80030000u | type);
    put32(b, flags << 24 | (uint32_t)len);
    sl_buf_add(b, bytes, len);
}

/* A frame whose rest is 'head', then the packed text. */
static void packed(struct sl_buf *b, unsigned type, unsigned flags, const struct sl_buf *head,
                   const struct sl_buf *plain) {
    struct sl_buf body;
    size_t room = plain->len + 1000;
    Bytef *out = sl_alloc(room);

    packer.next_in = (Bytef *)plain->s;
    packer.avail_in = (uInt)plain->len;
    packer.next_out = out;
    packer.avail_out = (uInt)room;
    assert_int_equal(deflate(&packer, Z_SYNC_FLUSH), Z_OK);
    sl_buf_init(&body, 1 << 20);
    sl_buf_add(&body, head->s, head->len);
    sl_buf_add(&body, (char *)out, room - packer.avail_out);
    control(b, type, flags, body.s, body.len);
    sl_buf_done(&body);
    sl_freep(&out);
}

static void syn(struct sl_buf *b, uint32_t id, unsigned flags, const char *type, const char *port,
                const char *request) {
    struct sl_buf head, plain;

    sl_buf_init(&head, 100);
    sl_buf_init(&plain, 4096);
    put32(&head, id);
    put32(&head, 0);
    sl_buf_add(&head, "\0\0", 2);
    put32(&plain, 1u + (*port != 0) + (*request != 0));
    put_text(&plain, "streamtype");
    put_text(&plain, type);
    if (*port) {
        put_text(&plain, "port");
        put_text(&plain, port);
    }
    if (*request) {
        put_text(&plain, "requestid");
        put_text(&plain, request);
    }
    packed(b, 1, flags, &head, &plain);
    sl_buf_done(&head);
    sl_buf_done(&plain);
}

static void data(struct sl_buf *b, uint32_t id, unsigned flags, const char *text) {
    put32(b, id);
    put32(b, flags << 24 | (uint32_t)strlen(text));
    sl_buf_puts(b, text);
}

static uint32_t get32(const char *p) {
    return (uint32_t)(uint8_t)p[0] << 24 | (uint32_t)(uint8_t)p[1] << 16 |
           (uint32_t)(uint8_t)p[2] << 8 | (uint8_t)p[3];
}

/* What the server said, in words. */
static const char *frames_text(const char *s, size_t len) {
    static char text[1000];
    size_t n = 0;

    text[0] = '\0';
    while (len > 0) {
        assert_true(len >= 8);
        uint32_t word = get32(s), size = get32(s + 4) & 0xffffffu;
        assert_true(len >= 8 + size);
        if (!(word & 0x80000000u)) {
            n += (size_t)snprintf(text + n, sizeof text - n, "data %u%s %.*s;", word,
                                  s[4] ? " fin" : "", (int)size, s + 8);
        } else {
            assert_int_equal(word >> 16, 0x8003);
            n +=
                (size_t)snprintf(text + n, sizeof text - n, "%u %u;", word & 0xffffu, get32(s + 8));
        }
        if (word == 0x80030002u) { /* a reply: no headers */
            char plain[100];
            struct sl_buf words;
            unpacker.next_in = (const Bytef *)s + 12;
            unpacker.avail_in = size - 4;
            unpacker.next_out = (Bytef *)plain;
            unpacker.avail_out = sizeof plain;
            int r = inflate(&unpacker, Z_SYNC_FLUSH);
            if (r == Z_NEED_DICT) {
                assert_int_equal(unpacker.adler, 0xe3c6a7c2u); /* what SPDY/3 prescribes */
                sl_buf_init(&words, 4096);
                sl_spdy_words(&words);
                assert_int_equal(inflateSetDictionary(&unpacker, (Bytef *)words.s, (uInt)words.len),
                                 Z_OK);
                sl_buf_done(&words);
                r = inflate(&unpacker, Z_SYNC_FLUSH);
            }
            assert_int_equal(r, Z_OK);
            assert_int_equal(sizeof plain - unpacker.avail_out, 4);
            assert_int_equal(get32(plain), 0);
        }
        s += 8 + size;
        len -= 8 + size;
    }
    return text;
}

static void test_words(void **state) {
    struct sl_buf b;

    (void)state;
    sl_buf_init(&b, 4096);
    sl_spdy_words(&b);
    assert_int_equal(b.len, SL_SPDY_WORDS);
    assert_int_equal(adler32(adler32(0, NULL, 0), (Bytef *)b.s, (uInt)b.len), 0xe3c6a7c2u);
    sl_buf_done(&b);
}

static void test_spdy(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(steps); i++) {
        struct sl_buf in;
        begin(SL_STREAMS_SPDY);
        peer_begin();
        sl_buf_init(&in, 1 << 20);
        syn(&in, 1, 0, "error", "80", "0");
        syn(&in, 3, 0, "data", "80", "0");
        control(&in, 6, 0, "\0\0\0\1", 4);                  /* a ping, which comes back */
        control(&in, 6, 0, "\0\0\0\2", 4);                  /* an answer to none of ours */
        control(&in, 4, 0, "\0\0\0\1\0\0\0\4\0\0\1\0", 12); /* settings */
        control(&in, 9, 0, "\0\0\0\1\0\1\0\0", 8);          /* a window */
        control(&in, 77, 0, "whatever", 8);
        data(&in, 3, 0, "abc");
        data(&in, 3, 0, "");
        data(&in, 3, 1, "def");
        data(&in, 3, 0, "after the end");
        data(&in, 99, 0, "nobody's");
        syn(&in, 5, 1, "stdin", "", "");
        syn(&in, 7, 0, "unwanted", "", "");
        data(&in, 7, 0, "thrown away");
        control(&in, 3, 0, "\0\0\0\5\0\0\0\5", 8); /* a reset */
        control(&in, 7, 0, "\0\0\0\0\0\0\0\0", 8); /* going away: no more streams */
        syn(&in, 9, 0, "data", "", "");
        assert_true(feed(&in, steps[i]));
        assert_string_equal(o.log.s, "[open 1 error 80 0][open 3 data 80 0][data 3]abcdef[end 3]"
                                     "[open 5 stdin  ][end 5][open 7 unwanted  ][reset 5]");
        struct sl_buf *out = sl_streams_out(o.s);
        assert_string_equal(frames_text(out->s, out->len), "2 1;2 3;6 1;3 99;2 5;2 7;3 7;3 9;");
        sl_buf_clear(out);
        sl_streams_send(o.s, 3, "xyz", 3);
        sl_streams_send(o.s, 3, "", 0);
        sl_streams_end(o.s, 3);
        sl_streams_send(o.s, 3, "late", 4);
        sl_streams_send(o.s, 5, "was reset", 9);
        sl_streams_send(o.s, 1, "e", 1);
        sl_streams_close(o.s);
        sl_streams_send(o.s, 1, "late", 4);
        assert_string_equal(frames_text(out->s, out->len), "data 3 xyz;data 3 fin ;data 1 e;7 9;");
        sl_buf_done(&in);
        peer_end();
        end();
    }
}

static void test_spdy_faults(void **state) {
    (void)state;
    for (int i = 0; i < 12; i++) {
        struct sl_buf in, head, plain;
        begin(SL_STREAMS_SPDY);
        peer_begin();
        sl_buf_init(&in, 1 << 20);
        sl_buf_init(&head, 100);
        sl_buf_init(&plain, 1 << 20);
        sl_buf_add(&head, "\0\0\0\1\0\0\0\0\0\0", 10);
        switch (i) {
        case 0: /* another version */
            sl_buf_add(&in, "\x80\x02\0\x06\0\0\0\4\0\0\0\1", 12);
            break;
        case 1:
            control(&in, 6, 0, "123", 3);
            break;
        case 2: /* more than a control frame may have */
            sl_buf_add(&in, "\x80\x03\0\1\0\1\0\0", 8);
            break;
        case 3:
            control(&in, 1, 0, head.s, 9);
            break;
        case 4:
            control(&in, 1, 0, "\0\0\0\1\0\0\0\0\0\0not packed", 20);
            break;
        case 5: /* the server's numbers are even */
            syn(&in, 2, 0, "x", "", "");
            break;
        case 6:
            syn(&in, 3, 0, "x", "", "");
            syn(&in, 3, 0, "x", "", "");
            break;
        case 7: /* a text that is much longer when it is unpacked */
            put32(&plain, 1);
            put_text(&plain, "a");
            put32(&plain, 500000);
            while (plain.len < 500000)
                sl_buf_puts(&plain, "aaaaaaaaaaaaaaaa");
            packed(&in, 1, 0, &head, &plain);
            break;
        case 8: /* a length beyond the end */
            put32(&plain, 1);
            put_text(&plain, "a");
            put32(&plain, 0xfffffff0u);
            packed(&in, 1, 0, &head, &plain);
            break;
        case 9:
            put32(&plain, 0xffffffffu);
            packed(&in, 1, 0, &head, &plain);
            break;
        case 10: /* something after the last header */
            put32(&plain, 0);
            sl_buf_puts(&plain, "more");
            packed(&in, 1, 0, &head, &plain);
            break;
        case 11:
            control(&in, 4, 0, "\0\0\0\2\0\0\0\4\0\0\1\0", 12);
            break;
        }
        assert_false(feed(&in, 0));
        struct sl_buf *out = sl_streams_out(o.s);
        assert_true(out->len >= 16);
        assert_int_equal(get32(out->s + out->len - 16), 0x80030007u);
        assert_int_equal(get32(out->s + out->len - 4), 1);
        sl_buf_done(&in);
        sl_buf_done(&head);
        sl_buf_done(&plain);
        peer_end();
        end();
    }
}

static void test_spdy_many(void **state) {
    (void)state;
    struct sl_buf in;
    begin(SL_STREAMS_SPDY);
    peer_begin();
    sl_buf_init(&in, 1 << 22);
    for (uint32_t i = 0; i < SL_SPDY_STREAMS + 1; i++)
        syn(&in, 2 * i + 1, 1, "x", "", "");
    assert_true(feed(&in, 0));
    struct sl_buf *out = sl_streams_out(o.s);
    assert_int_equal(get32(out->s + out->len - 16), 0x80030003u); /* the last one is refused */
    assert_int_equal(get32(out->s + out->len - 4), 3);
    for (uint32_t i = 0; i < SL_SPDY_STREAMS; i += 2) /* ended on both sides, it makes room */
        sl_streams_end(o.s, 2 * i + 1);
    sl_buf_clear(&in);
    sl_buf_clear(out);
    syn(&in, 2 * SL_SPDY_STREAMS + 3, 0, "x", "", "");
    assert_true(feed(&in, 0));
    (void)sl_streams_out(o.s);
    assert_int_equal(get32(out->s), 0x80030002u);
    /* What waits is bounded. */
    char *text = sl_alloc0(1, 1 << 20);
    for (int i = 0; i < 20 && !sl_buf_full(out); i++)
        sl_streams_send(o.s, 2 * SL_SPDY_STREAMS + 3, text, 1 << 20);
    assert_true(sl_buf_full(out));
    sl_freep(&text);
    sl_buf_done(&in);
    peer_end();
    end();
}

/* SPDY as bytes in messages, cut anywhere. */
static void test_tunnel(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(steps); i++) {
        struct sl_buf in, wrapped;
        begin(SL_STREAMS_TUNNEL);
        o.echo = true;
        peer_begin();
        sl_buf_init(&in, 1 << 20);
        sl_buf_init(&wrapped, 1 << 20);
        syn(&in, 1, 0, "data", "80", "0");
        data(&in, 1, 1, "there and back");
        for (size_t at = 0, n; at < in.len; at += n) {
            n = in.len - at < 5 ? in.len - at : 5;
            ws_frame(&wrapped, 0x82, in.s + at, n);
        }
        assert_true(feed(&wrapped, steps[i]));
        assert_string_equal(o.log.s, "[open 1 data 80 0][data 1]there and back[end 1]");
        struct sl_buf *out = sl_streams_out(o.s);
        assert_int_equal((uint8_t)out->s[0], 0x82);
        assert_int_equal(out->s[out->len - 1], 'k');
        sl_buf_clear(out);
        sl_streams_close(o.s);
        assert_int_equal(out->len, 2 + 16 + 4);
        assert_string_equal(frames_text(out->s + 2, 16), "7 1;");
        assert_memory_equal(out->s + 18, "\x88\x02\x03\xe8", 4);
        sl_buf_done(&in);
        sl_buf_done(&wrapped);
        peer_end();
        end();
        begin(SL_STREAMS_TUNNEL); /* nonsense inside */
        sl_buf_init(&wrapped, 100);
        WS(&wrapped, 0x82, "\x80\x02\0\x06\0\0\0\4\0\0\0\1");
        assert_false(feed(&wrapped, steps[i]));
        sl_buf_done(&wrapped);
        end();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accept),          cmocka_unit_test(test_channels),
        cmocka_unit_test(test_channels_faults), cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_words),           cmocka_unit_test(test_spdy),
        cmocka_unit_test(test_spdy_faults),     cmocka_unit_test(test_spdy_many),
        cmocka_unit_test(test_tunnel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
