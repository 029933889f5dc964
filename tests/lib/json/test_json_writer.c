/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: what it writes, and that it ends a program that would write something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/json/json.h"
#include "lib/json/writer.h"

static void json_nests(void **state) {
    (void)state;
    struct sl_buf b;
    sl_buf_init(&b, 4096);
    struct sl_jw w = SL_JW(&b);
    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "a", "x\"y\n");
    sl_jw_array(&w, "l");
    sl_jw_int(&w, NULL, -1);
    sl_jw_object(&w, NULL);
    sl_jw_end(&w);
    sl_jw_bool(&w, NULL, true);
    sl_jw_end(&w);
    sl_jw_null(&w, "n");
    sl_jw_uint(&w, "u", UINT64_MAX);
    sl_jw_hex(&w, "h", 0xab);
    sl_jw_number(&w, "d", 0.5, 3);
    sl_jw_number(&w, "nan", NAN, 3);
    sl_jw_end(&w);
    assert_string_equal(
        sl_buf_str(&b),
        "{\"a\":\"x\\\"y\\n\",\"l\":[-1,{},true],\"n\":null,\"u\":18446744073709551615,"
        "\"h\":\"00000000000000ab\",\"d\":0.500,\"nan\":null}");
    sl_buf_done(&b);
}

static void json_seconds(void **state) {
    (void)state;
    static const struct {
        sl_span d;
        const char *text;
    } cases[] = {
        {0, "0"},
        {SL_SEC, "1"},
        {1500 * SL_MSEC, "1.5"},
        {1, "0.000000001"},
        {-250 * SL_MSEC, "-0.25"},
        {INT64_MAX, "9223372036.854775807"},
        {INT64_MIN, "-9223372036.854775808"},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_buf b;
        sl_buf_init(&b, 100);
        struct sl_jw w = SL_JW(&b);
        sl_jw_seconds(&w, NULL, cases[i].d);
        assert_string_equal(sl_buf_str(&b), cases[i].text);
        sl_buf_done(&b);
    }
}

/* Whatever stands in a key or a text, it comes back from the reader. */
static void keys_and_texts_are_escaped(void **state) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF((size_t)1 << 16);
    struct sl_jw w = SL_JW(&b);
    yyjson_doc *doc = NULL;
    char all[0x80], key[200];

    (void)state;
    for (int c = 1; c < 0x80; c++)
        all[c - 1] = (char)c;
    all[0x7f] = '\0';
    memset(key, 'k', sizeof(key));
    sl_jw_object(&w, NULL);
    sl_jw_str(&w, all, all);
    sl_jw_text(&w, "nul", (struct sl_text){"a\0b", 3});
    sl_jw_strf(&w, "f", "%s=\"%d\"", "n", 7);
    for (size_t n = 55; n <= 70; n++) { /* where short keys end */
        key[n] = '\0';
        sl_jw_strf(&w, key, "%s", key);
        key[n] = 'k';
    }
    sl_jw_strf(&w, "long", "%3000d", 1);
    sl_buf_puts(sl_jw_begin_str(&w, "begun"), "a\nb");
    sl_buf_puts(w.b, "\"c\xff");
    sl_jw_end_str(&w);
    sl_jw_end(&w);
    assert_false(sl_buf_full(&b));
    assert_int_equal(sl_json_read(b.s, b.len, &doc, NULL), 0);
    yyjson_val *v = yyjson_doc_get_root(doc);
    assert_string_equal(sl_json_text(yyjson_obj_get(v, all)), all);
    assert_int_equal(sl_json_view(sl_json_get(v, "nul")).n, 3);
    assert_string_equal(sl_json_str(v, "f"), "n=\"7\"");
    assert_int_equal(sl_json_view(sl_json_get(v, "long")).n, 3000);
    assert_string_equal(sl_json_str(v, "begun"), "a\nb\"c\xef\xbf\xbd");
    for (size_t n = 55; n <= 70; n++) {
        key[n] = '\0';
        assert_string_equal(sl_json_str(v, key), key);
        key[n] = 'k';
    }
    assert_int_equal(sl_json_size(v), 5 + 16);
    yyjson_doc_free(doc);
}

static void values_and_times_go_in(void **state) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(1000);
    struct sl_jw w = SL_JW(&b);
    const char *text = "{\"a\":[1,\"x\"]}";
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    yyjson_mut_doc *mut = yyjson_doc_mut_copy(doc, NULL);

    (void)state;
    sl_jw_object(&w, NULL);
    sl_jw_val(&w, "v", yyjson_doc_get_root(doc));
    sl_jw_mut_val(&w, "m", yyjson_mut_doc_get_root(mut));
    sl_jw_val(&w, "none", NULL);
    sl_jw_raw(&w, "raw", "[]");
    sl_buf_puts(sl_jw_value(&w, "own"), "17");
    sl_jw_fields(&w, "{}");
    sl_jw_fields(&w, "{\"x\":1,\"y\":2}");
    sl_jw_time(&w, "t", 1500 * SL_MSEC);
    sl_jw_micro_time(&w, "mt", 1500 * SL_MSEC);
    sl_jw_array(&w, "deep");
    sl_jw_items(&w, "[]");
    sl_jw_items(&w, "[7,8]");
    sl_jw_object(&w, NULL);
    sl_jw_object(&w, "x");
    sl_jw_end_to(&w, 0);
    assert_string_equal(sl_buf_str(&b),
                        "{\"v\":{\"a\":[1,\"x\"]},\"m\":{\"a\":[1,\"x\"]},\"none\":null,\"raw\":[],"
                        "\"own\":17,\"x\":1,\"y\":2,\"t\":\"1970-01-01T00:00:01Z\","
                        "\"mt\":\"1970-01-01T00:00:01.500000Z\",\"deep\":[7,8,{\"x\":{}}]}");
    yyjson_doc_free(doc);
    yyjson_mut_doc_free(mut);
    sl_buf_clear(&b);
    sl_jw_array(&w, NULL);
    sl_jw_items(&w, "[7,8");
    assert_true(sl_buf_full(&b));
}

static void blanks_may_follow(void **state) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(1000);
    struct sl_jw w = SL_JW_SPACED(&b);

    (void)state;
    sl_jw_object(&w, NULL);
    sl_jw_int(&w, "a", 1);
    sl_jw_array(&w, "l");
    sl_jw_int(&w, NULL, INT64_MIN);
    sl_jw_int(&w, NULL, 0);
    sl_jw_end(&w);
    sl_jw_fields(&w, "{\"x\": 1}");
    sl_jw_end(&w);
    assert_string_equal(sl_buf_str(&b), "{\"a\": 1, \"l\": [-9223372036854775808, 0], \"x\": 1}");
}

/* ---- misuse ---- */

static void value_in_a_string(struct sl_jw *w) {
    sl_jw_array(w, NULL);
    (void)sl_jw_begin_str(w, NULL);
    sl_jw_int(w, NULL, 1);
}

static void key_in_array(struct sl_jw *w) {
    sl_jw_array(w, NULL);
    sl_jw_int(w, "k", 1);
}

static void no_key_in_object(struct sl_jw *w) {
    sl_jw_object(w, NULL);
    sl_jw_int(w, NULL, 1);
}

static void key_at_the_root(struct sl_jw *w) {
    sl_jw_object(w, "k");
}

static void end_of_nothing(struct sl_jw *w) {
    sl_jw_end(w);
}

static void no_raw_value(struct sl_jw *w) {
    sl_jw_raw(w, NULL, "");
}

static void too_deep(struct sl_jw *w) {
    for (uint32_t i = 0; i <= SL_JW_MAX_DEPTH; i++)
        sl_jw_array(w, NULL);
}

static void misuse_ends_the_program(void **state) {
    static void (*const cases[])(struct sl_jw *) = {
        key_in_array, no_key_in_object, key_at_the_root,  end_of_nothing,
        no_raw_value, too_deep,         value_in_a_string};

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct rlimit none = {0, 0};
            struct sl_buf b = SL_BUF(1000);
            struct sl_jw w = SL_JW(&b);
            setrlimit(RLIMIT_CORE, &none);
            signal(SIGABRT, SIG_DFL);
            if (!freopen("/dev/null", "w", stderr))
                _exit(1);
            cases[i](&w);
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
            fail_msg("case %zu ended with %d", i, status);
    }
}

static void as_deep_as_is_read(void **state) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(1000);
    struct sl_jw w = SL_JW(&b);
    yyjson_doc *doc = NULL;

    (void)state;
    for (uint32_t i = 0; i < SL_JSON_MAX_DEPTH; i++) {
        if (i % 2)
            sl_jw_object(&w, NULL);
        else
            sl_jw_array(&w, i == 0 ? NULL : "k");
    }
    sl_jw_end_to(&w, 0);
    assert_int_equal(sl_json_read(b.s, b.len, &doc, NULL), 0);
    yyjson_doc_free(doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_nests),
        cmocka_unit_test(json_seconds),
        cmocka_unit_test(keys_and_texts_are_escaped),
        cmocka_unit_test(values_and_times_go_in),
        cmocka_unit_test(blanks_may_follow),
        cmocka_unit_test(misuse_ends_the_program),
        cmocka_unit_test(as_deep_as_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
