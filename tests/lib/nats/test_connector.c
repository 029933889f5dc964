/* SPDX-License-Identifier: Apache-2.0 */
/* Connector strings: every form, and what is wrong without a secret in the message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "lib/nats/connector.h"

#define TEXT(s) (s), sizeof(s) - 1

static struct sl_arena arena;
static struct sl_err err;

static int parse(const char *text, size_t len, struct sl_nats_connector *ret) {
    sl_arena_done(&arena);
    sl_arena_init(&arena, (size_t)64 << 10);
    memset(&err, 0, sizeof err);
    return sl_nats_connector_parse(text, len, &arena, ret, &err);
}

static void assert_text(const char *text, const char *what, const char *found, const char *wanted) {
    if (strcmp(found ? found : "(none)", wanted ? wanted : "(none)") != 0)
        fail_msg("%s: %s is %s", text, what, found ? found : "(none)");
}

static void every_form(void **state) {
    (void)state;
    static const struct {
        const char *text, *printed, *user, *password, *token;
    } cases[] = {
        {"nats://user:password@nats.nats:4222", "nats://nats.nats:4222", "user", "password", NULL},
        {"nats://token@host:4333", "nats://host:4333", NULL, NULL, "token"},
        {"tls://host:4443", "tls://host:4443", NULL, NULL, NULL},
        {"TLS://Host", "tls://Host:4222", NULL, NULL, NULL},
        {"host:65535", "nats://host:65535", NULL, NULL, NULL},
        {"host", "nats://host:4222", NULL, NULL, NULL},
        {"127.0.0.1", "nats://127.0.0.1:4222", NULL, NULL, NULL},
        {"h_1.example.", "nats://h_1.example.:4222", NULL, NULL, NULL},
        /* no port, and nothing is lost */
        {"nats://user:password@host", "nats://host:4222", "user", "password", NULL},
        {"tls://token@host", "tls://host:4222", NULL, NULL, "token"},
        {"nats://host/", "nats://host:4222", NULL, NULL, NULL},
        {"user:password@host", "nats://host:4222", "user", "password", NULL},
        {"token@host:1", "nats://host:1", NULL, NULL, "token"},
        /* addresses */
        {"nats://[::1]:4222", "nats://[::1]:4222", NULL, NULL, NULL},
        {"nats://u:p@[fe80::1]", "nats://[fe80::1]:4222", "u", "p", NULL},
        {"[::ffff:10.0.0.1]:1", "nats://[::ffff:10.0.0.1]:1", NULL, NULL, NULL},
        /* escapes */
        {"nats://us%40er:p%2Fa%3as%25s@host", "nats://host:4222", "us@er", "p/a:s%s", NULL},
        {"nats://u:%22%5C%0a%c3%bc@host", "nats://host:4222", "u", "\"\\\n\xc3\xbc", NULL},
        {"nats://a+b@host", "nats://host:4222", NULL, NULL, "a+b"},
        /* what other programs take without escapes */
        {"nats://user:pa:ss@host", "nats://host:4222", "user", "pa:ss", NULL},
        {"nats://user:p@ss@host", "nats://host:4222", "user", "p@ss", NULL},
        {"nats://user:@host", "nats://host:4222", "user", "", NULL},
        {"nats://user:gr\xc3\xbc\xc3\x9f@host", "nats://host:4222", "user", "gr\xc3\xbc\xc3\x9f",
         NULL},
        /* lists */
        {"nats://a:1,nats://b:2,c", "nats://a:1,b:2,c:4222", NULL, NULL, NULL},
        {"nats://u:p@a,b", "nats://a:4222,b:4222", "u", "p", NULL},
        {"a,u:p@b,nats://u:p@c", "nats://a:4222,b:4222,c:4222", "u", "p", NULL},
        {"a,tls://b", "tls://a:4222,b:4222", NULL, NULL, NULL},
        {"t@a,t@b", "nats://a:4222,b:4222", NULL, NULL, "t"},
        {"u:p%61@a,u:pa@b", "nats://a:4222,b:4222", "u", "pa", NULL},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_nats_connector c;
        const char *text = cases[i].text;
        int r = parse(text, strlen(text), &c);
        if (r < 0)
            fail_msg("%s: %s", text, err.text);
        struct sl_buf b = SL_BUF(4096);
        sl_nats_connector_print(&c, &b);
        assert_text(text, "the connector", sl_buf_str(&b), cases[i].printed);
        sl_buf_done(&b);
        assert_text(text, "the user", c.user, cases[i].user);
        assert_text(text, "the password", c.password, cases[i].password);
        assert_text(text, "the token", c.token, cases[i].token);
    }
}

static uint64_t hash_of(const char *text) {
    struct sl_nats_connector c;

    if (parse(text, strlen(text), &c) < 0)
        fail_msg("%s: %s", text, err.text);
    return sl_nats_connector_hash(&c);
}

/* Those of a row mean the same, and no two rows do. */
static void hashes(void **state) {
    static const char *const rows[][4] = {
        {"a", "nats://a", "nats://A:4222", "a,a:4222"},
        {"a:1,b", "b,a:1", "nats://b,nats://a:1", "b:4222,a:1,b"},
        {"tls://a", "tls://A:4222", "a,tls://a", "tls://a:4222"},
        {"u:p@a", "nats://u:%70@a:4222", "u:p@a,u:p@a", "u:p@A"},
        {"b", "b", "b", "b"},
        {"a:1,b:1", "b:1,a:1", "a:1,b:1", "a:1,b:1"},
        {"u:q@a", "u:q@a", "u:q@a", "u:q@a"},
        {"u@a", "u@a", "u@a:4222", "nats://u@a"},
        {"u:@a", "u:@a", "u:@a", "u:@a"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(rows); i++) {
        for (size_t k = 1; k < SL_LEN(rows[i]); k++)
            assert_int_equal(hash_of(rows[i][0]), hash_of(rows[i][k]));
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(hash_of(rows[i][0]), hash_of(rows[k][0]));
    }
}

static void refuses(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t len;
        int code;
        const char *words;
    } cases[] = {
        {TEXT(""), SL_EINVAL, "expected a server such as nats://host:4222"},
        {TEXT("ws://SECRET@host/path"), SL_EINVAL, "WebSocket"},
        {TEXT("wss://user:SECRET@host/path"), SL_EINVAL, "nats:// or tls:// port"},
        {TEXT("a,wss://host"), SL_EINVAL, "server 2"},
        {TEXT("http://SECRET@host"), SL_EINVAL, "expected nats:// or tls://"},
        {TEXT("://host"), SL_EINVAL, "expected nats:// or tls://"},
        {TEXT("nats://"), SL_EINVAL, "server 1: no host"},
        {TEXT("nats://u:SECRET@"), SL_EINVAL, "server 1: no host"},
        {TEXT("nats://u:SECRET@:4222"), SL_EINVAL, "no host"},
        {TEXT("a,,b"), SL_EINVAL, "server 2: no host"},
        {TEXT("a,"), SL_EINVAL, "server 2: no host"},
        {TEXT(","), SL_EINVAL, "server 1: no host"},
        {TEXT("nats://@host"), SL_EINVAL, "no user before the '@'"},
        {TEXT("nats://:SECRET@host"), SL_EINVAL, "no user before the ':'"},
        {TEXT("nats://host:0"), SL_EINVAL, "a port from 1 to 65535"},
        {TEXT("nats://host:65536"), SL_EINVAL, "a port from 1 to 65535"},
        {TEXT("nats://host:99999999999999999999999"), SL_EINVAL, "a port"},
        {TEXT("nats://host:-1"), SL_EINVAL, "a port"},
        {TEXT("nats://host:"), SL_EINVAL, "a port"},
        {TEXT("nats://user:SECRET"), SL_EINVAL, "a port"}, /* the host was forgotten */
        {TEXT("nats://u:SECRET@::1"), SL_EINVAL, "stands in brackets"},
        {TEXT("fe80::1"), SL_EINVAL, "stands in brackets"},
        {TEXT("[::1"), SL_EINVAL, "brackets"},
        {TEXT("[::1]4222"), SL_EINVAL, "after the ']'"},
        {TEXT("[1.2.3.4]:1"), SL_EINVAL, "no IPv6 address"},
        {TEXT("[]:1"), SL_EINVAL, "no IPv6 address"},
        {TEXT("ho st"), SL_EINVAL, "a space at byte 3"},
        {TEXT("a, b"), SL_EINVAL, "a space at byte 3"},
        {TEXT("u:SE CRET@host"), SL_EINVAL, "a space at byte 5"},
        {TEXT("host\n"), SL_EINVAL, "a control character at byte 5"},
        {TEXT("host\0.example"), SL_EINVAL, "a control character at byte 5"},
        {TEXT("\x7fhost"), SL_EINVAL, "a control character at byte 1"},
        {TEXT("nats://u:SECRET%00@host"), SL_EINVAL, "the password has a NUL byte"},
        {TEXT("nats://u:SECRET%@host"), SL_EINVAL, "written %25"},
        {TEXT("nats://u:SECRET%4@host"), SL_EINVAL, "the password has a '%'"},
        {TEXT("nats://u%zz:SECRET@host"), SL_EINVAL, "the user has a '%'"},
        {TEXT("nats://SECRET%g0@host"), SL_EINVAL, "the token has a '%'"},
        {TEXT("nats://u:SECRET%ff@host"), SL_EINVAL, "the password is no UTF-8"},
        {TEXT("nats://u:SECRET%c0%80@host"), SL_EINVAL, "no UTF-8"},
        {TEXT("nats://u:SEC/RET@host"), SL_EINVAL, "%2F"},
        {TEXT("nats://host/SECRET"), SL_EINVAL, "nothing may follow"},
        {TEXT("nats://host?x"), SL_EINVAL, "nothing may follow"},
        {TEXT("nats://host#"), SL_EINVAL, "nothing may follow"},
        {TEXT("nats://h%6fst"), SL_EINVAL, "at byte 9"},
        {TEXT("nats://a..b"), SL_EINVAL, "an empty part at byte 10"},
        {TEXT(".a"), SL_EINVAL, "an empty part at byte 1"},
        {TEXT("gr\xc3\xbc"), SL_EINVAL, "at byte 3"},
        {TEXT("u:SECRET@a,u:SECRET2@b"), SL_EINVAL, "server 2 has other credentials"},
        {TEXT("SECRET@a,u:SECRET@b"), SL_EINVAL, "server 2 has other credentials"},
        {TEXT("u:@a,u@b"), SL_EINVAL, "server 2 has other credentials"},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_nats_connector c = {.n = 77};
        int r = parse(cases[i].text, cases[i].len, &c);
        if (r != cases[i].code || !strstr(err.text, cases[i].words))
            fail_msg("%s: %d, %s", cases[i].text, r, err.text);
        if (strstr(err.text, "SEC") || strstr(err.text, "RET"))
            fail_msg("%s: a secret in the message: %s", cases[i].text, err.text);
        assert_int_equal(c.n, 77);
    }
}

static void ceilings(void **state) {
    (void)state;
    struct sl_buf b = SL_BUF((size_t)64 << 10);
    struct sl_nats_connector c;

    for (uint32_t i = 0; i < SL_NATS_MAX_SERVERS; i++)
        sl_buf_printf(&b, "%sh%u:%u", i ? "," : "", i, i + 1);
    assert_int_equal(parse(b.s, b.len, &c), 0);
    assert_int_equal(c.n, SL_NATS_MAX_SERVERS);
    assert_int_equal(c.servers[31].port, 32);
    sl_buf_puts(&b, ",more");
    assert_int_equal(parse(b.s, b.len, &c), SL_ELIMIT);

    sl_buf_clear(&b);
    sl_buf_puts(&b, "u:");
    for (uint32_t i = 0; i < SL_NATS_MAX_SECRET; i++)
        sl_buf_puts(&b, "%61");
    size_t secret = b.len;
    sl_buf_puts(&b, "@host");
    assert_int_equal(parse(b.s, b.len, &c), 0);
    assert_int_equal(strlen(c.password), SL_NATS_MAX_SECRET);
    sl_nats_connector_wipe(&c);
    assert_null(c.password);
    sl_buf_truncate(&b, secret);
    sl_buf_puts(&b, "a@host");
    assert_int_equal(parse(b.s, b.len, &c), SL_ELIMIT);
    assert_non_null(strstr(err.text, "the password is longer than 1024"));

    sl_buf_clear(&b);
    while (b.len <= SL_NATS_MAX_CONNECTOR)
        sl_buf_putc(&b, 'a');
    assert_int_equal(parse(b.s, b.len, &c), SL_ELIMIT);
    sl_buf_truncate(&b, 254);
    assert_int_equal(parse(b.s, b.len, &c), SL_ELIMIT);
    sl_buf_truncate(&b, 253);
    assert_int_equal(parse(b.s, b.len, &c), 0);
    sl_buf_done(&b);
}

static int done(void **state) {
    (void)state;
    sl_arena_done(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form),
        cmocka_unit_test(hashes),
        cmocka_unit_test(refuses),
        cmocka_unit_test(ceilings),
    };
    return cmocka_run_group_tests(tests, NULL, done);
}
