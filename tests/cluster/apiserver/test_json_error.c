/* SPDX-License-Identifier: Apache-2.0 */
/* Malformed JSON: the errors are those of kube-apiserver; and no text at all leads the walk
 * astray. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/server.h"

static const struct {
    const char *text, *fault;
} known[] = {
    {"", "unexpected end of JSON input"},
    {"{", "unexpected end of JSON input"},
    {"\"abc", "unexpected end of JSON input"},
    {"x", "invalid character 'x' looking for beginning of value"},
    {"\xc3\xa9", "invalid character '\xc3\x83' looking for beginning of value"},
    {"\x9e", "invalid character '\\u009e' looking for beginning of value"},
    {"{\x01", "invalid character '\\x01' looking for beginning of object key string"},
    {"{'a':1}", "invalid character '\\'' looking for beginning of object key string"},
    {"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"},
    {"[1,]", "invalid character ']' looking for beginning of value"},
    {"{\"a\" 1}", "invalid character '1' after object key"},
    {"{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"},
    {"[1 2]", "invalid character '2' after array element"},
    {"{} x", "invalid character 'x' after top-level value"},
    {"01", "invalid character '1' after top-level value"},
    {"{\"a\":tru", "invalid character ' ' in literal true (expecting 'e')"},
    {"{\"a\":-", "invalid character ' ' in numeric literal"},
    {"{\"a\":\"b", "unexpected end of JSON input"},
    {"{\"a\":tru}", "invalid character '}' in literal true (expecting 'e')"},
    {"{\"a\":\"\x01\"}", "invalid character '\\x01' in string literal"},
};

static void errors_are_those_of_go(void **state) {
    struct sl_arena arena;
    (void)state;

    sl_arena_init(&arena, (size_t)1 << 20);
    for (size_t i = 0; i < SL_LEN(known); i++)
        assert_string_equal(api_json_fault(&arena, known[i].text, strlen(known[i].text)),
                            known[i].fault);
    assert_string_equal(api_json_fault(&arena, "", 1),
                        "invalid character '\\x00' looking for beginning of value");
    sl_arena_done(&arena);
}

/* Every text that can be made of these bytes, up to a length; and one that is too deep. Each is in
 * memory of its own, so that a look beyond its end is seen. */
static void takes_any_text(void **state) {
    static const char bytes[] = "{}[],:\"\\u0-.e1tn x";
    size_t base = sizeof bytes, all = base * base * base * base;
    struct sl_arena arena;
    char *deep = malloc(1000);
    (void)state;

    for (size_t n = 0; n < all; n++) {
        size_t left = n;
        char *text = malloc(4);
        sl_arena_init(&arena, (size_t)1 << 16);
        for (int i = 0; i < 4; i++, left /= base)
            text[i] = bytes[left % base];
        assert_non_null(api_json_fault(&arena, text, 4));
        sl_arena_done(&arena);
        free(text);
    }
    memset(deep, '[', 1000);
    sl_arena_init(&arena, (size_t)1 << 16);
    assert_string_equal(api_json_fault(&arena, deep, 1000), "exceeded max depth");
    sl_arena_done(&arena);
    free(deep);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_those_of_go),
        cmocka_unit_test(takes_any_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
