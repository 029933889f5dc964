/* SPDX-License-Identifier: Apache-2.0 */
/* What a server sends, in any pieces; and what no server should. Signatures of .creds files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "creds.h"
#include "lib/json/json.h"
#include "lib/nats/nkey.h"
#include "lib/nats/parser.h"
#include "lib/nats/port.h"
#include "lib/nats/servers.h"

#define MAX_TEXT ((size_t)1 << 20)

/* Operations, one a line, up to the first error. */
static void read_in_pieces(const char *in, size_t len, size_t piece, struct sl_buf *out) {
    static const char *const names[] = {"info", "msg", "ping", "pong", "ok", "err"};
    struct natsc_parser w;
    struct natsc_frame frame;
    struct sl_err err;
    int r = 0;

    natsc_parser_init(&w);
    for (size_t at = 0; at < len && r >= 0; at += piece) {
        struct sl_text part = {in + at, len - at < piece ? len - at : piece};
        while ((r = natsc_parser_read(&w, &part, &frame, &err)) > 0) {
            sl_buf_printf(out, "%s", names[frame.op]);
            if (frame.op == NATSC_MSG) {
                sl_buf_printf(out, " %.*s %llu %zu ", (int)frame.subject.n, frame.subject.s,
                              (unsigned long long)frame.sid, frame.len);
                sl_buf_add(out, frame.data ? frame.data : "too long", frame.data ? frame.len : 8);
            } else if (frame.op == NATSC_INFO || frame.op == NATSC_ERR) {
                sl_buf_printf(out, " %.*s", (int)frame.text.n, frame.text.s);
            }
            sl_buf_putc(out, '\n');
        }
        assert_true(r < 0 || part.n == 0);
    }
    if (r < 0)
        sl_buf_printf(out, "%s\n", err.text);
    natsc_parser_done(&w);
}

static void assert_reads(const char *in, size_t len, const char *expected) {
    for (size_t piece = 1; piece <= len; piece++) {
        struct sl_buf out = SL_BUF(MAX_TEXT);
        read_in_pieces(in, len, piece, &out);
        assert_false(sl_buf_full(&out));
        assert_string_equal(sl_buf_str(&out), expected);
        sl_buf_done(&out);
    }
}

#define ASSERT_READS(in, expected) assert_reads((in), sizeof(in) - 1, (expected))

static void operations(void **state) {
    (void)state;
    ASSERT_READS("INFO {\"a\":1} \r\nPING\r\nPONG\r\n+OK\r\n-ERR 'Stale Connection'\r\n",
                 "info {\"a\":1}\nping\npong\nok\nerr Stale Connection\n");
    /* As old servers write them. */
    ASSERT_READS("info\t{}\nping \r\n-err  no quotes\r\n", "info {}\nping\nerr no quotes\n");
    ASSERT_READS("MSG a.b 7 5\r\nhe\r\no\r\nMSG a.b 8 reply.to 0\r\n\r\nPING\r\n",
                 "msg a.b 7 5 he\r\no\nmsg a.b 8 0 \nping\n");
    ASSERT_READS("MSG  a \t 4294967295   1 \r\nx\r\n", "msg a 4294967295 1 x\n");
}

static void nonsense(void **state) {
    static const char *const wrong[] = {
        "\r\n",
        "HELLO\r\n",
        "HTTP/1.1 400 Bad Request\r\n",
        "MSG\r\n",
        "MSG a\r\n",
        "MSG a 1\r\n",
        "MSG a 1 b 2 3\r\n",
        "MSG a x 1\r\n",
        "MSG a 1 x\r\n",
        "MSG a 1 -1\r\n",
        "MSG a 4294967296 1\r\n",
        "MSG a -1 1\r\n",
        "MSG a 1 2147483647\r\n",
        "MSG a 1 18446744073709551616\r\n",
        "MSG a 1 1\r\nxy\r\n",
        "MSG a 1 2\r\nxy\n\nPING\r\n",
        "HMSG a 1 2 3\r\n",
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(wrong); i++)
        for (size_t piece = 1; piece < 8; piece++) {
            struct sl_buf out = SL_BUF(MAX_TEXT);
            read_in_pieces(wrong[i], strlen(wrong[i]), piece, &out);
            if (strncmp(sl_buf_str(&out), "this is no NATS server: ", 24) != 0)
                fail_msg("%s: %s", wrong[i], sl_buf_str(&out));
            sl_buf_done(&out);
        }
    ASSERT_READS("MSG a\0b 1 1\r\nx\r\n", "this is no NATS server: a malformed message\n");
}

/* Lines and messages at their ceilings, and beyond. */
static void ceilings(void **state) {
    char *text = calloc(1, 2 * MAX_TEXT);
    struct natsc_parser w;
    struct natsc_frame frame;
    struct sl_err err;

    (void)state;
    natsc_parser_init(&w);
    memset(text, 'x', NATSC_MAX_LINE + 1);
    memcpy(text, "-ERR ", 5);
    struct sl_text in = {text, NATSC_MAX_LINE};
    assert_int_equal(natsc_parser_read(&w, &in, &frame, &err), 0);
    in = SL_TEXT("\n");
    assert_int_equal(natsc_parser_read(&w, &in, &frame, &err), 1);
    assert_int_equal(frame.text.n, NATSC_MAX_LINE - 5);
    in = (struct sl_text){text, NATSC_MAX_LINE + 1};
    assert_int_equal(natsc_parser_read(&w, &in, &frame, &err), SL_ELIMIT);
    natsc_parser_done(&w);
    natsc_parser_init(&w);
    for (size_t len = SL_NATS_MAX_MESSAGE; len <= SL_NATS_MAX_MESSAGE + 1; len++) {
        int n = snprintf(text, 64, "MSG a 1 %zu\r\n", len);
        memset(text + n, 'y', len);
        memcpy(text + n + len, "\r\n", 2);
        in = (struct sl_text){text, (size_t)n + len + 2};
        assert_int_equal(natsc_parser_read(&w, &in, &frame, &err), 1);
        assert_int_equal(frame.len, len);
        assert_int_equal(frame.data != NULL, len == SL_NATS_MAX_MESSAGE);
    }
    /* The longest that may be announced takes no memory. */
    in = SL_TEXT("MSG a 1 1073741824\r\n");
    assert_int_equal(natsc_parser_read(&w, &in, &frame, &err), 0);
    for (int i = 0; i < 1024; i++) {
        in = (struct sl_text){text, (size_t)1 << 20};
        assert_int_equal(natsc_parser_read(&w, &in, &frame, &err), 0);
    }
    assert_in_range(w.line.cap + w.body.cap, 1, 2 * (NATSC_MAX_LINE + SL_NATS_MAX_MESSAGE));
    in = SL_TEXT("\r\n");
    assert_int_equal(natsc_parser_read(&w, &in, &frame, &err), 1);
    assert_int_equal(frame.len, (size_t)1 << 30);
    assert_null(frame.data);
    natsc_parser_done(&w);
    free(text);
}

/* Ed25519 has one signature for a key and a text: this one was made with another program. */
static void signatures(void **state) {
    const char *creds = "---JWT---\n" TEST_USER "\n---\n---SEED---\n" TEST_SEED "\n---\n";
    uint8_t seed[NATSC_SEED];
    struct sl_buf out = SL_BUF(1024);
    struct sl_err err;
    char *jwt = NULL, wrong[1024];

    (void)state;
    assert_int_equal(natsc_creds_read(creds, &jwt, seed, &err), 0);
    assert_string_equal(jwt, TEST_USER);
    assert_true(natsc_seed_sign(seed, SL_TEXT("PXoWU7zWAMt75FY"), &out));
    assert_string_equal(sl_buf_str(&out), "QTLwWAi8MoiPoyf3pjw_b5nWw93Vy5pfnKtJ5ILZP0gr"
                                          "dlhlWIK_KpgZ-h35a7tki-ebxk5HbuFGptT9lJTlCw");
    sl_buf_done(&out);
    sl_freep(&jwt);
    /* Each letter counts. */
    for (size_t i = 0; i < strlen(TEST_SEED); i++) {
        (void)snprintf(wrong, sizeof wrong, "---J---\nx\n---\n---S---\n%s\n---\n", TEST_SEED);
        char *c = strstr(wrong, TEST_SEED) + i;
        *c = *c == 'B' ? 'C' : 'B';
        assert_int_equal(natsc_creds_read(wrong, &jwt, seed, &err), SL_EINVAL);
    }
    assert_null(jwt);
}

/* Who may be connected to, of those that a server at 'from' announces. */
static void announced(void **state) {
    static const struct {
        const char *from, *urls;
        bool believed;
        const char *expected; /* host:port/whose certificate, besides the first */
    } cases[] = {
        {"a", "[\"b:1\",\"10.0.0.1:2\",\"[::1]:3\"]", true, "b:1/ 10.0.0.1:2/a [::1]:3/a "},
        {"a", "[\"b:1\",\"10.0.0.1:2\"]", false, "10.0.0.1:2/a "},
        {"10.0.0.9", "[\"b:1\",\"10.0.0.1:2\"]", true, "b:1/ 10.0.0.1:2/ "},
        {"10.0.0.9", "[\"b:1\",\"10.0.0.1:2\"]", false, ""},
        {"a", "[\"a:4222\",\"b\",\"b:4222\"]", true, "b:4222/ "},
        {"a", "[1,null,\"\",\"a b\",\":0\",\"x:99999\",\"[::1\",{},[],\"x,y\"]", true, ""},
        {"a", "\"x\"", true, "b:1/ "}, /* as before */
        {"a", "[]", true, "b:1/ "},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_arena a = SL_ARENA(4096);
        struct sl_buf out = SL_BUF(4096);
        struct natsc_servers s = {0};
        struct sl_nats_connector c;
        struct sl_prng p;
        yyjson_doc *first = sl_json_doc("[\"b:1\"]", 7);
        yyjson_doc *doc = sl_json_doc(cases[i].urls, strlen(cases[i].urls));

        sl_prng_init(&p, 1);
        assert_int_equal(
            sl_nats_connector_parse(cases[i].from, strlen(cases[i].from), &a, &c, NULL), 0);
        natsc_servers_init(&s, &c, &p);
        natsc_servers_announce(&s, yyjson_doc_get_root(first), true);
        natsc_servers_announce(&s, yyjson_doc_get_root(doc), cases[i].believed);
        for (uint32_t k = 1; k < s.n; k++) {
            char name[300];
            natsc_server_name(&s.v[k], name, sizeof name);
            sl_buf_printf(&out, "%s/%s ", name, s.v[k].tls_name);
        }
        assert_string_equal(sl_buf_str(&out), cases[i].expected);
        assert_string_equal(natsc_servers_at(&s)->host, cases[i].from);
        yyjson_doc_free(first);
        yyjson_doc_free(doc);
        sl_buf_done(&out);
        sl_arena_done(&a);
    }
}

/* Those of the connector come first in each round, and each comes once. */
static void rounds(void **state) {
    struct sl_arena a = SL_ARENA(4096);
    struct natsc_servers s = {0};
    struct sl_nats_connector c;
    struct sl_prng p;
    yyjson_doc *doc = sl_json_doc("[\"c:1\",\"d:1\",\"e:1\"]", 19);

    (void)state;
    sl_prng_init(&p, 1);
    assert_int_equal(sl_nats_connector_parse("a,b", 3, &a, &c, NULL), 0);
    natsc_servers_init(&s, &c, &p);
    natsc_servers_announce(&s, yyjson_doc_get_root(doc), true);
    assert_int_equal(s.n, 5);
    for (int round = 0; round < 10; round++) {
        uint32_t seen = 0, before = s.at;
        for (uint32_t i = 0; i < s.n; i++) {
            natsc_servers_next(&s, i);
            assert_int_equal(s.at < s.n_named, i < s.n_named);
            assert_true(before >= s.n_named || i != 0 || s.at != before);
            seen |= 1u << s.at;
        }
        assert_int_equal(seen, 31);
    }
    yyjson_doc_free(doc);
    sl_arena_done(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations), cmocka_unit_test(nonsense),  cmocka_unit_test(ceilings),
        cmocka_unit_test(signatures), cmocka_unit_test(announced), cmocka_unit_test(rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
