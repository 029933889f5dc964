/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: what they mean, what is refused, and that all rules of our own kinds are understood. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cluster/apiserver/cel/cel.h"
#include "cluster/apiserver/crd/crd.h"
#include "cluster/apiserver/crd/rules.h"
#include "cluster/apiserver/table/jsonpath.h"
#include "lib/json/json.h"

enum { NO, YES, ERROR };

static const struct {
    const char *rule, *self, *old;
    int is;
} meanings[] = {
    {"true", "{}", NULL, YES},
    {"!true || false", "{}", NULL, NO},
    {"1 + 2 * 3 == 7", "{}", NULL, YES},
    {"7 / 2 == 3 && 7 % 2 == 1 && -7 + 7 == 0", "{}", NULL, YES},
    {"1 / 0 == 1", "{}", NULL, ERROR},
    {"9223372036854775807 + 1 > 0", "{}", NULL, ERROR},
    {"'a' + \"b\" == 'ab'", "{}", NULL, YES},
    {"'it\\'s' == \"it's\"", "{}", NULL, YES},
    {"size('h\xc3\xa4') == 2", "{}", NULL, YES},
    {"self.a == 1", "{\"a\":1}", NULL, YES},
    {"self.a == 1.0", "{\"a\":1}", NULL, YES},
    {"self.b == 1", "{\"a\":1}", NULL, ERROR},
    {"has(self.b)", "{\"a\":1}", NULL, NO},
    {"has(self.a.b)", "{\"a\":{\"b\":false}}", NULL, YES},
    {"!has(self.b) || self.b == 1", "{}", NULL, YES},
    {"self.b == 1 || true", "{}", NULL, YES},
    {"false && self.b == 1", "{}", NULL, NO},
    {"self.b == 1 && false", "{}", NULL, NO},
    {"has(self.a) ? self.a > 1 : true", "{\"a\":1}", NULL, NO},
    {"has(self.a) ? self.a > 1 : true", "{}", NULL, YES},
    {"self.all(x, x > 1)", "[2,3]", NULL, YES},
    {"self.all(x, x > 2)", "[2,3]", NULL, NO},
    {"self.all(x, x > 2)", "[]", NULL, YES},
    {"self.exists(x, x == 3)", "[2,3]", NULL, YES},
    {"self.exists_one(x, x > 1)", "[2,3]", NULL, NO},
    {"self.all(a, self.exists_one(b, b == a))", "[\"x\",\"y\"]", NULL, YES},
    {"self.all(a, self.exists_one(b, b == a))", "[\"x\",\"x\"]", NULL, NO},
    {"self.map(x, x * 2).all(y, y > 3)", "[2,3]", NULL, YES},
    {"size(self.filter(x, x > 2)) == 1", "[2,3]", NULL, YES},
    {"self[size(self) - 1] == 'b'", "[\"a\",\"b\"]", NULL, YES},
    {"self[2] == 'b'", "[\"a\",\"b\"]", NULL, ERROR},
    {"self['k'] == 'v'", "{\"k\":\"v\"}", NULL, YES},
    {"self.all(k, self[k] != '')", "{\"k\":\"v\"}", NULL, YES},
    {"'k' in self && !('z' in self)", "{\"k\":\"v\"}", NULL, YES},
    {"self.e in ['A', 'B']", "{\"e\":\"B\"}", NULL, YES},
    {"self in [1, 2]", "3", NULL, NO},
    {"self.startsWith('a') && self.endsWith('c') && self.contains('b')", "\"abc\"", NULL, YES},
    {"self.matches('^a[0-9]+$')", "\"a12\"", NULL, YES},
    {"self.matches('^a[0-9]+$')", "\"b12\"", NULL, NO},
    {"self.size() == 2", "[1,2]", NULL, YES},
    {"self < 'b'", "\"a\"", NULL, YES},
    {"int(self) == 12 && string(3) == '3'", "\"12\"", NULL, YES},
    {"self == oldSelf", "{\"a\":[1,{\"b\":2}]}", "{\"a\":[1,{\"b\":2}]}", YES},
    {"self == oldSelf", "{\"a\":[1]}", "{\"a\":[2]}", NO},
    {"self.n >= oldSelf.n", "{\"n\":1}", "{\"n\":2}", NO},
    {"has(self.__namespace__) || has(self.a__dash__b)", "{\"namespace\":\"x\",\"a-b\":1}", NULL,
     NO}, /* only schemas have such names */
    {"self.a.b == 1", "{\"a\":\"text\"}", NULL, ERROR},
    {"self == null", "null", NULL, YES},
    {"dyn(1)", "{}", NULL, ERROR},
    /* literals */
    {"r'\\d' == '\\\\d' && r\"\"\"a\"b\"\"\" == 'a\"b' && \'\'\'x\ny\'\'\' == 'x\\ny'", "{}", NULL,
     YES},
    {"b'\\x00\\377' == b'\\000\\xff' && size(b'\xc3\xa4') == 2 && bytes('a') == b'a'", "{}", NULL,
     YES},
    {"'\\u00e4\\U0001F600\\101\\x41' == '\xc3\xa4\xf0\x9f\x98\x80"
     "AA'",
     "{}", NULL, YES},
    {"0x10 == 16 && 1e3 == 1000.0 && 5u == 5u && .5 < 1 && -9223372036854775808 < 0 // so", "{}",
     NULL, YES},
    {"{'a': [1], 'b': [2]}.b[0] == 2 && {1: 'x'}[1] == 'x' && {}.size() == 0", "{}", NULL, YES},
    {"{'a': 1, 'a': 2} == {'a': 2}", "{}", NULL, YES},
    {"type(1) == int && type('') == string && type(duration('1s')) == google.protobuf.Duration",
     "{}", NULL, YES},
    /* macros */
    {"self.map(x, x > 1, x * 2) == [4, 6] && {'a': 1}.all(k, v, v == 1)", "[1,2,3]", NULL, YES},
    {"self.transformList(i, v, i > 0, i + v) == [3, 5] && self.exists(i, v, i == 2 && v == 3)",
     "[1,2,3]", NULL, YES},
    {"{'a': 1}.transformMap(k, v, v + 1) == {'a': 2} && ['x'].transformMapEntry(i, v, {v: i}) == "
     "{'x': 0}",
     "{}", NULL, YES},
    {"['b', 'a'].sortBy(x, x) == ['a', 'b'] && [3, 1, 2].sortBy(x, -x) == [3, 2, 1]", "{}", NULL,
     YES},
    {"self.?a.?b.orValue('x') == 'x' && self.?n.hasValue() && self[?'n'].value() == 1", "{\"n\":1}",
     NULL, YES},
    {"[?self.?none, ?self.?n] == [1] && {?'k': self.?none}.size() == 0", "{\"n\":1}", NULL, YES},
    {"optional.of(1).optMap(x, x + 1).value() == 2 && !optional.none().hasValue()", "{}", NULL,
     YES},
    {"optional.ofNonZeroValue('').or(optional.of('b')).value() == 'b'", "{}", NULL, YES},
    {"optional.none().value() == 1", "{}", NULL, ERROR},
};

static const struct api_cel_env env = {.names = {"self", "oldSelf"}};

static void rules_mean(void **state) {
    uint32_t wrong = 0;

    (void)state;
    for (size_t i = 0; i < SL_LEN(meanings); i++) {
        yyjson_doc *self = yyjson_read(meanings[i].self, strlen(meanings[i].self), 0);
        yyjson_doc *old =
            meanings[i].old ? yyjson_read(meanings[i].old, strlen(meanings[i].old), 0) : NULL;
        struct api_cel *c = NULL;
        struct sl_err err = {0};
        struct sl_arena arena;
        bool holds = false;
        int r;

        sl_arena_init(&arena, (size_t)1 << 20);
        const char *why = "";
        r = api_cel_compile(meanings[i].rule, &env, &arena, &c, &why);
        if (r < 0) {
            print_error("%s: %s\n", meanings[i].rule, why);
            wrong++;
            goto next;
        }
        assert_int_equal(api_cel_uses(c, 1), meanings[i].old != NULL);
        const struct api_cel_input in = {
            .v = {yyjson_doc_get_root(self), yyjson_doc_get_root(old)}};
        r = api_cel_holds(c, &in, &(uint64_t){SL_CEL_ALL_STEPS}, &holds, &err);
        if ((r < 0 ? ERROR : holds ? YES : NO) != meanings[i].is) {
            wrong++;
            print_error("%s of %s: %s\n", meanings[i].rule, meanings[i].self,
                        r < 0   ? err.text
                        : holds ? "yes"
                                : "no");
        }
    next:
        sl_arena_done(&arena);
        yyjson_doc_free(self);
        yyjson_doc_free(old);
    }
    assert_int_equal(wrong, 0);
}

static void others_are_refused(void **state) {
    static const char *const bad[] = {
        "",
        "self.",
        "self.a >",
        "(self",
        "self)",
        "foo",
        "self.foo(1)",
        "'open",
        "'\\q'",
        "[1, 2",
        "self[1",
        "a.all(x)",
        "self.all(1, true)",
        "has(self)",
        "1 = 1",
        "self.all(x, y)",
        "self ? 1",
        "99999999999999999999 > 1",
        "12ab",
        "r'open",
        "b'\\u0041'",
        "'''open''",
        "{'a' 1}",
        "{'a': 1",
        "self.map(x)",
        "self.all(x, x, x, x)",
        "self.transformList(i, i, i)",
        "optional.nothing()",
        "google.protobuf.Any",
        "namespace",
        "1u + 1",
        "'a' + 1",
        "size(1)",
        "'a'.matches('(')",
        "[1].all(x, 1)",
        "1.all(x, true)",
        "quantity('1') > 1",
        "[1, 'a'] == []",
        "int('x') == 1",
        "duration('x') == duration('1s')",
        "'%d'.format(['a']) == ''",
        "'%s'.format([]) == ''",
        "-",
    };
    char deep[1024];
    struct api_cel *c;
    const char *why;
    struct sl_arena arena;

    (void)state;
    memset(deep, '(', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    sl_arena_init(&arena, (size_t)1 << 20);
    for (size_t i = 0; i < SL_LEN(bad); i++) {
        if (api_cel_compile(bad[i], &env, &arena, &c, &why) == 0)
            print_error("was understood: %s\n", bad[i]);
        assert_true(api_cel_compile(bad[i], &env, &arena, &c, &why) < 0);
    }
    assert_true(api_cel_compile(deep, &env, &arena, &c, &why) < 0);
    memset(deep, '!', sizeof(deep) - 1);
    assert_true(api_cel_compile(deep, &env, &arena, &c, &why) < 0);
    for (size_t i = 0; i + 2 < sizeof(deep); i += 2)
        memcpy(deep + i, "1+", 2);
    deep[sizeof(deep) - 2] = '1';
    assert_true(api_cel_compile(deep, &env, &arena, &c, &why) < 0);
    sl_arena_done(&arena);
}

/* Of a list of 400: stopped, not run. */
static const char *const costly[] = {
    "self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d >= 0))))",
    "self.map(a, self.map(b, self.map(c, c))).size() > 0",
    "self.map(a, self.map(b, 'x'.replace('', 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy'))) == []",
    "lists.range(1000000000) == []",
    "lists.range(100000).map(x, string(x)).join(',').split('').size() > 0 && "
    "lists.range(100000).sort() == lists.range(100000).reverse().sort()",
    "self.map(a, self).flatten().distinct() == self.map(a, self).flatten().map(x, [x]).flatten()"
    ".map(x, x + 400).distinct()",
    "self.all(a, self.map(b, string(b)).join('').findAll('[0-9]').size() > 0)",
    "self.all(a, '%s'.format([self.map(b, self)]).size() > 0)",
    "self.transformMap(i, v, self.transformMap(j, w, i + j)).size() > 0 && self.all(a, "
    "self.transformMap(i, v, self).size() > 0)",
};
static void what_costs_too_much_ends(void **state) {
    const char *why;
    struct sl_buf list;
    struct api_cel *c;
    struct sl_err err;
    struct sl_arena arena;
    yyjson_doc *self;
    bool holds;

    (void)state;
    sl_buf_init(&list, (size_t)1 << 20);
    for (int i = 0; i < 400; i++)
        sl_buf_printf(&list, "%c%d", i ? ',' : '[', i);
    sl_buf_putc(&list, ']');
    self = yyjson_read(sl_buf_str(&list), list.len, 0);
    sl_arena_init(&arena, (size_t)1 << 20);
    for (size_t i = 0; i < SL_LEN(costly); i++) {
        const struct api_cel_input in = {.v = {yyjson_doc_get_root(self)}};
        uint64_t budget = SL_CEL_ALL_STEPS;
        assert_int_equal(api_cel_compile(costly[i], &env, &arena, &c, &why), 0);
        assert_true(api_cel_holds(c, &in, &budget, &holds, &err) < 0);
        if (budget)
            print_error("%s: %s\n", costly[i], err.text);
        assert_int_equal(budget, 0);
    }
    sl_arena_done(&arena);
    yyjson_doc_free(self);
    sl_buf_done(&list);
}

/* Beyond each ceiling: too long, too deep, too many operators in a row; and just within. */
static void ceilings_hold(void **state) {
    struct sl_arena arena = SL_ARENA((size_t)16 << 20);
    struct sl_buf text = SL_BUF((size_t)1 << 20);
    struct api_cel *c;
    const char *why;

    (void)state;
    for (uint32_t n = 400; n <= 600; n += 200) {
        sl_buf_clear(&text);
        for (uint32_t i = 0; i < n; i++)
            sl_buf_puts(&text, "true || ");
        sl_buf_puts(&text, "true");
        assert_int_equal(api_cel_compile(sl_buf_str(&text), &env, &arena, &c, &why) == 0, n == 400);
    }
    for (uint32_t n = 30; n <= 33; n += 3) {
        sl_buf_clear(&text);
        for (uint32_t i = 0; i < n; i++)
            sl_buf_puts(&text, "[");
        for (uint32_t i = 0; i < n; i++)
            sl_buf_puts(&text, "]");
        sl_buf_puts(&text, " == []");
        assert_int_equal(api_cel_compile(sl_buf_str(&text), &env, &arena, &c, &why) == 0, n == 30);
    }
    for (uint32_t n = SL_CEL_MAX_BYTES - 4; n <= SL_CEL_MAX_BYTES; n += 4) {
        sl_buf_clear(&text);
        for (uint32_t i = 0; i < n - 4; i++)
            sl_buf_putc(&text, ' ');
        sl_buf_puts(&text, n == SL_CEL_MAX_BYTES ? "true " : "true");
        assert_int_equal(api_cel_compile(sl_buf_str(&text), &env, &arena, &c, &why) == 0,
                         n < SL_CEL_MAX_BYTES);
    }
    sl_buf_done(&text);
    sl_arena_done(&arena);
}

static void paths_have_ceilings(void **state) {
    struct sl_arena arena = SL_ARENA((size_t)64 << 20);
    struct sl_buf text = SL_BUF((size_t)1 << 20);
    const struct api_jsonpath *path = NULL;
    struct sl_err err;
    uint64_t steps;

    (void)state;
    for (uint32_t n = SL_JSONPATH_MAX; n <= SL_JSONPATH_MAX + 1; n++) {
        sl_buf_clear(&text);
        sl_buf_putc(&text, '.');
        while (text.len < n)
            sl_buf_putc(&text, 'a');
        assert_int_equal(api_jsonpath_new(sl_buf_str(&text), &arena, &path, &err) == 0,
                         n == SL_JSONPATH_MAX);
    }
    for (uint32_t n = SL_JSONPATH_DESCENT - 1; n <= SL_JSONPATH_DESCENT + 1; n += 2) {
        sl_buf_clear(&text);
        for (uint32_t i = 0; i < n; i++)
            sl_buf_puts(&text, "{\"a\":");
        sl_buf_puts(&text, "{\"z\":1}");
        for (uint32_t i = 0; i < n; i++)
            sl_buf_putc(&text, '}');
        yyjson_doc *doc = yyjson_read(sl_buf_str(&text), text.len, 0);
        steps = 100000;
        assert_int_equal(api_jsonpath_new("..z", &arena, &path, &err), 0);
        assert_int_equal(api_jsonpath_first(path, yyjson_doc_get_root(doc), &arena, &steps) != NULL,
                         n < SL_JSONPATH_DESCENT);
        steps = 20; /* a budget that is spent: none is left */
        (void)api_jsonpath_first(path, yyjson_doc_get_root(doc), &arena, &steps);
        assert_int_equal(steps, 0);
        yyjson_doc_free(doc);
    }
    sl_buf_done(&text);
    sl_arena_done(&arena);
}

static void our_rules_are_understood(void **state) {
    uint32_t definitions = 0, with_rules = 0;
    const char *text;
    size_t len, i, n;
    yyjson_val *v;

    (void)state;
    for (; (text = api_crd_builtin(definitions, &len)); definitions++) {
        yyjson_doc *doc = yyjson_read(text, len, 0);
        yyjson_arr_foreach (sl_json_at(yyjson_doc_get_root(doc), "spec.versions"), i, n, v) {
            struct sl_arena arena;
            struct sl_field_errs errs = {.arena = &arena};
            sl_arena_init(&arena, (size_t)16 << 20);
            with_rules += api_rules_new(sl_json_at(v, "schema.openAPIV3Schema"),
                                        SL_PATH(NULL, "schema"), &arena, &errs) != NULL;
            for (uint32_t e = 0; e < errs.n; e++)
                print_error("%s\n", errs.text[e]);
            assert_int_equal(errs.n, 0);
            sl_arena_done(&arena);
        }
        yyjson_doc_free(doc);
    }
    assert_int_equal(definitions, 15);
    assert_true(with_rules >= 14);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_mean),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(what_costs_too_much_ends),
        cmocka_unit_test(ceilings_hold),
        cmocka_unit_test(paths_have_ceilings),
        cmocka_unit_test(our_rules_are_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
