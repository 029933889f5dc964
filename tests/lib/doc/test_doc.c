/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading of YAML and JSON: what every spelling means, on which line it stands, and what is said
 * about texts that cannot be read. Trees are compared in a short written form:
 *
 *     null  true  12  f"1.5"  "text"  [a b]  {key:value ...}      with @line where asked for
 */
#include "lib/doc/doc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

static void dump(struct sl_buf *b, const struct sl_doc_node *n, bool lines) {
    switch (n->kind) {
    case SL_DOC_NODE_NULL:
        sl_buf_puts(b, "null");
        break;
    case SL_DOC_NODE_BOOL:
        sl_buf_puts(b, n->truth ? "true" : "false");
        break;
    case SL_DOC_NODE_INT:
        sl_buf_printf(b, "%lld", (long long)n->num);
        break;
    case SL_DOC_NODE_FLOAT:
        assert_int_equal(strlen(n->text), n->n);
        sl_buf_printf(b, "f\"%s\"", n->text);
        break;
    case SL_DOC_NODE_STR:
        assert_int_equal(strlen(n->text), n->n);
        sl_buf_printf(b, "\"%s\"", n->text);
        break;
    case SL_DOC_NODE_LIST:
        sl_buf_putc(b, '[');
        for (uint32_t i = 0; i < n->n; i++) {
            if (i > 0)
                sl_buf_putc(b, ' ');
            dump(b, &n->items[i], lines);
        }
        sl_buf_putc(b, ']');
        break;
    case SL_DOC_NODE_MAP:
        sl_buf_putc(b, '{');
        for (uint32_t i = 0; i < n->n; i++) {
            sl_buf_printf(b, "%s%s", i > 0 ? " " : "", n->pairs[i].key);
            if (lines)
                sl_buf_printf(b, "@%u", n->pairs[i].line);
            sl_buf_putc(b, ':');
            dump(b, &n->pairs[i].value, lines);
        }
        sl_buf_putc(b, '}');
        break;
    }
    if (lines)
        sl_buf_printf(b, "@%u", n->line);
}

static int parse(bool json, const char *text, size_t len, struct sl_doc **d, struct sl_err *err) {
    char *exact = malloc(len > 0 ? len : 1); /* ASan sees a read past its end */
    assert_non_null(exact);
    memcpy(exact, text, len);
    int r = json ? sl_doc_json("f", 1, exact, len, d, err) : sl_doc_yaml("f", exact, len, d, err);
    free(exact);
    return r;
}

static void expect(bool json, const char *text, bool lines, const char *want) {
    struct sl_doc *d = NULL;
    struct sl_err err;
    struct sl_buf b;

    if (parse(json, text, strlen(text), &d, &err) < 0)
        fail_msg("%s\n%s", text, err.text);
    sl_buf_init(&b, 1 << 20);
    for (uint32_t i = 0; i < d->n; i++) {
        if (i > 0)
            sl_buf_puts(&b, " | ");
        dump(&b, &d->roots[i], lines);
    }
    if (strcmp(sl_buf_str(&b), want) != 0)
        fail_msg("%s\nexpected %s\ngot      %s", text, want, sl_buf_str(&b));
    sl_buf_done(&b);
    sl_doc_free(d);
}

static void expect_error(bool json, const char *text, const char *want) {
    struct sl_doc *d = NULL;
    struct sl_err err;

    if (parse(json, text, strlen(text), &d, &err) >= 0)
        fail_msg("was taken: %s", text);
    if (strncmp(err.text, want, strlen(want)) != 0)
        fail_msg("%s\nexpected %s\ngot      %s", text, want, err.text);
    assert_null(d);
}

static void yaml_scalars(void **state) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"[~, null, Null, NULL, nULL, '', \"\"]", "[null null null null \"nULL\" \"\" \"\"]"},
        {"[y, Y, yes, Yes, YES, yEs, on, On, ON, true, True, TRUE]",
         "[true true true true true \"yEs\" true true true true true true]"},
        {"[n, N, no, No, NO, off, Off, OFF, false, False, FALSE]",
         "[false false false false false false false false false false false]"},
        {"['yes', \"no\", 'null', '12']", "[\"yes\" \"no\" \"null\" \"12\"]"},
        {"[0, 12, +12, -12, 1_000, 0x1F, 0b101, 0o17, 0644, -0644, 00]",
         "[0 12 12 -12 1000 31 5 15 420 -420 0]"},
        {"[089, 0x, 0b2, 1__, 0xg, -, +, 1-2]",
         "[89 \"0x\" \"0b2\" 1 \"0xg\" \"-\" \"+\" \"1-2\"]"},
        {"[9223372036854775807, -9223372036854775808, 9223372036854775808, 0xffffffffffffffff]",
         "[9223372036854775807 -9223372036854775808 f\"9223372036854775808\" "
         "f\"18446744073709551615\"]"},
        {"[123456789012345678901234567890]", "[f\"123456789012345678901234567890\"]"},
        {"[1.5, +1.5, .5, -.5, 5., 1e3, 1E+3, 1.25e1, 1e-3, 1e400, 1.5.2, 1e]",
         "[f\"1.5\" f\"+1.5\" f\".5\" f\"-.5\" 5 1000 1000 f\"1.25e1\" f\"1e-3\" f\"1e400\" "
         "\"1.5.2\" \"1e\"]"},
        {"[.inf, -.Inf, .NaN, ., .e3, ..]",
         "[f\".inf\" f\"-.Inf\" f\".NaN\" \".\" \".e3\" \"..\"]"},
        {"[2001-12-14, 12:30, 1h, 100m, 4Gi, 10e]",
         "[\"2001-12-14\" \"12:30\" \"1h\" \"100m\" \"4Gi\" \"10e\"]"},
        {"a: b c\nd: |\n  x\n  y\ne: >-\n  x\n  y\n", "{a:\"b c\" d:\"x\ny\n\" e:\"x y\"}"},
        {"a:\nb: ~\n", "{a:null b:null}"},
        {"!!str 12", "\"12\""},
        {"! 12", "\"12\""},
        {"[!!int '12', !!float 12, !!bool 'yes', !!null '', !!map {}, !!seq []]",
         "[12 12 true null {} []]"},
        {"1: a\ntrue: b\n1.5: c\nno: d\n", "{1:\"a\" true:\"b\" 1.5:\"c\" false:\"d\"}"},
        {"\xef\xbb\xbf"
         "a: 1",
         "{a:1}"},
        {"gr\xc3\xbc\xc3\x9f: \"\\u00e9\"", "{gr\xc3\xbc\xc3\x9f:\"\xc3\xa9\"}"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        expect(false, cases[i].text, false, cases[i].want);
}

static void yaml_documents(void **state) {
    (void)state;
    expect(false, "", false, "");
    expect(false, "# nothing\n", false, "");
    expect(false, "---\n---\na: 1\n---\n...\n---\n- b\n", false, "{a:1} | [\"b\"]");
    expect(false, "a: 1\n---\nb:\n  c: 2\n", true, "{a@1:1@1}@1 | {b@3:{c@4:2@4}@4}@3");
    expect(false, "a:\n- x\n-\n  - v\n- {z: 1,\n   w: 2}\n", true,
           "{a@1:[\"x\"@2 [\"v\"@4]@4 {z@5:1@5 w@6:2@6}@5]@2}@1");
}

static void yaml_aliases(void **state) {
    (void)state;
    expect(false, "a: &x {p: 1}\nb: *x\nc: [*x, *x]\n", false, "{a:{p:1} b:{p:1} c:[{p:1} {p:1}]}");
    expect(false, "a: &x 1\nb: &x 2\nc: *x\n", false, "{a:1 b:2 c:2}");
    expect(false, "&k key: 1\nb: {*k : 2}\n", false, "{key:1 b:{key:2}}");
    expect(false, "a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3, r: 4}\n", false,
           "{a:{p:1 q:2} b:{q:3 r:4 p:1}}");
    expect(false, "a: &x {p: 1}\nc: &y {p: 2, q: 2}\nb: {<<: [*x, *y]}\n", false,
           "{a:{p:1} c:{p:2 q:2} b:{p:1 q:2}}");
    expect(false, "a: {'<<': 1}\n", false, "{a:{<<:1}}");
    expect_error(false, "a: *x\n", "f:1: the anchor \"x\" is not defined");
    expect_error(false, "a: &x [*x]\n", "f:1: the anchor \"x\" is not defined");
    expect_error(false, "a: &x 1\n---\nb: *x\n", "f:3: the anchor \"x\" is not defined");
    expect_error(false, "a: 1\nb: {<<: 3}\n", "f:2: expected a map to merge, got a number");
    expect_error(false, "b: {<<: {}, <<: {}}\n", "f:1: \"<<\" is given twice");
}

static void yaml_errors(void **state) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"a: 1\nb: 2\na: 3\n", "f:3: \"a\" is given twice, first on line 1"},
        {"a: 1\n\tb: 2\n", "f:2: expected YAML: "},
        {"a: [1, 2\nb: 3\n", "f:2: expected YAML: "},
        {"a: 'x\n", "f:2: expected YAML: "},
        {"a: b: c\n", "f:1: expected YAML: "},
        {"x: 1\ny: \"\\0\"\n", "f:2: expected text without a NUL character"},
        {"? [a]\n: b\n", "f:1: expected a field name, got a list"},
        {"{~: b}\n", "f:1: expected a field name, got null"},
        {"a: !foo 1\n", "f:1: the tag !foo is not understood"},
        {"a: !foo {}\n", "f:1: the tag !foo is not understood"},
        {"a: !!binary aGk=\n", "f:1: the tag tag:yaml.org,2002:binary is not understood"},
        {"a: !!int x\n", "f:1: expected a number as the tag says, got \"x\""},
        {"a: 1\nb: \xff\xfe\n", "f:2: expected YAML: "},
        {"%YAML 3.0\n---\na\n", "f:1: expected YAML: "},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        expect_error(false, cases[i].text, cases[i].want);
}

static void json_values(void **state) {
    (void)state;
    expect(true, "{\"a\": [1, -2, 1.5, 1e3, true, false, null, \"x\\n\\u00e9\"], \"b\": {}}", false,
           "{a:[1 -2 f\"1.5\" 1000 true false null \"x\n\xc3\xa9\"] b:{}}");
    expect(true, "[9223372036854775807,-9223372036854775808,18446744073709551616,1E400]", false,
           "[9223372036854775807 -9223372036854775808 f\"18446744073709551616\" f\"1E400\"]");
    expect(true, " \"yes\" ", false, "\"yes\"");
    expect(true, "{\n \"a\":\n  [\n 1,\n[] , {}],\n\"b\\\"c\": \"d\\\\\",\n \"e\":null}\n", true,
           "{a@2:[1@4 []@5 {}@5]@3 b\"c@6:\"d\\\"@6 e@7:null@7}@1");
    expect_error(true, "", "f:1: expected JSON: ");
    expect_error(true, "{\"a\":1,\n\"a\":2}", "f:2: \"a\" is given twice, first on line 1");
    expect_error(true, "{\n\"a\":\n,}", "f:3: expected JSON: ");
    expect_error(true, "{} x", "f:1: expected JSON: ");
    expect_error(true, "[1,]", "f:1: expected JSON: ");
    expect_error(true, "[\n\"\\u0000\"]", "f:2: expected text without a NUL character");
    expect_error(true, "{\"\\u0000\":1}", "f:1: expected text without a NUL character");
    expect_error(true, "[\"\xff\"]", "f:1: expected JSON: ");
}

static void many_keys(void **state) {
    struct sl_buf b;

    (void)state;
    sl_buf_init(&b, 1 << 24);
    sl_buf_puts(&b, "{");
    for (int i = 0; i < 50000; i++)
        sl_buf_printf(&b, "\"k%d\":%d,\n", i, i);
    size_t mark = b.len;
    sl_buf_puts(&b, "\"last\":1}");
    struct sl_doc *d = NULL;
    struct sl_err err;
    assert_int_equal(sl_doc_json("f", 1, b.s, b.len, &d, &err), 0);
    assert_int_equal(sl_doc_node_get(&d->roots[0], "k49999")->num, 49999);
    assert_null(sl_doc_node_get(&d->roots[0], "k50000"));
    assert_null(sl_doc_node_get(sl_doc_node_get(&d->roots[0], "k1"), "x"));
    assert_null(sl_doc_node_get(NULL, "x"));
    sl_doc_freep(&d);
    assert_null(d);
    b.len = mark;
    sl_buf_puts(&b, "\"k30000\":1,\"k7\":1}");
    assert_int_equal(sl_doc_json("f", 1, b.s, b.len, &d, &err), SL_EINVAL);
    assert_string_equal(err.text, "f:50001: \"k30000\" is given twice, first on line 30001");
    sl_buf_done(&b);
}

static void ceilings(void **state) {
    struct sl_buf b;
    struct sl_doc *d = NULL;
    struct sl_err err;

    (void)state;
    sl_buf_init(&b, 1 << 24);
    for (unsigned json = 0; json < 2; json++) {
        for (unsigned deep = SL_DOC_MAX_DEPTH; deep <= SL_DOC_MAX_DEPTH + 1; deep++) {
            sl_buf_clear(&b);
            for (unsigned i = 0; i < deep; i++)
                sl_buf_putc(&b, '[');
            for (unsigned i = 0; i < deep; i++)
                sl_buf_putc(&b, ']');
            int r = parse(json, b.s, b.len, &d, &err);
            assert_int_equal(r, deep > SL_DOC_MAX_DEPTH ? SL_ELIMIT : 0);
            sl_doc_freep(&d);
        }
    }
    /* A small text that stands for a huge tree, and one that stands for a deep one. */
    sl_buf_clear(&b);
    sl_buf_puts(&b, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        sl_buf_printf(&b, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++)
            sl_buf_printf(&b, "%s*a%d", j > 0 ? ", " : "", i - 1);
        sl_buf_puts(&b, "]\n");
    }
    assert_int_equal(parse(false, b.s, b.len, &d, &err), SL_ELIMIT);
    assert_non_null(strstr(err.text, "values in one file"));
    sl_buf_clear(&b);
    sl_buf_puts(&b, "a0: &a0 [x]\n");
    for (int i = 1; i < 70; i++)
        sl_buf_printf(&b, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    assert_int_equal(parse(false, b.s, b.len, &d, &err), SL_ELIMIT);
    assert_non_null(strstr(err.text, "nested more than 64 deep"));

    sl_buf_clear(&b);
    for (int i = 0; i < 5000; i++)
        sl_buf_printf(&b, "- &a%d x\n", i);
    assert_int_equal(parse(false, b.s, b.len, &d, &err), SL_ELIMIT);
    assert_non_null(strstr(err.text, "more than 4096 anchors"));

    sl_buf_clear(&b);
    for (unsigned i = 0; i < SL_DOC_MAX_DOCUMENTS + 1; i++)
        sl_buf_puts(&b, "--- 1\n");
    assert_int_equal(parse(false, b.s, b.len, &d, &err), SL_ELIMIT);
    assert_non_null(strstr(err.text, "documents"));

    sl_buf_clear(&b);
    sl_buf_putc(&b, '[');
    for (unsigned i = 0; i < SL_DOC_MAX_NODES; i++)
        sl_buf_puts(&b, "1,");
    sl_buf_puts(&b, "1]");
    assert_int_equal(parse(true, b.s, b.len, &d, &err), SL_ELIMIT);
    sl_buf_done(&b);

    assert_int_equal(sl_doc_json("f", 1, "", SL_DOC_MAX_BYTES + 1, &d, &err), SL_ELIMIT);
    assert_int_equal(sl_doc_yaml("f", "", SL_DOC_MAX_BYTES + 1, &d, &err), SL_ELIMIT);
    assert_null(d);
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void files(void **state) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"a: 1\n", NULL},
        {"  {\"a\": 1}\n", NULL},
        {"{a: 1}\n", NULL},
        {"[1, x]\n", NULL},
        {"{a: 1\n", "expected YAML: "},
        {"{\"a\": 1, \"a\": 2}\n", "\"a\" is given twice"},
    };
    char path[] = "/tmp/sl-test-doc-XXXXXX";
    struct sl_doc *d = NULL;
    struct sl_err err;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        write_file(path, cases[i].text);
        int r = sl_doc_load(path, &d, &err);
        if (cases[i].want) {
            assert_int_equal(r, SL_EINVAL);
            assert_non_null(strstr(err.text, cases[i].want));
            assert_memory_equal(err.text, path, strlen(path));
        } else if (r < 0) {
            fail_msg("%s", err.text);
        }
        sl_doc_freep(&d);
    }
    char *text = NULL;
    size_t len = 0;
    assert_int_equal(sl_file_read(path, 4, &text, &len, &err), SL_ELIMIT);
    assert_null(text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sl_doc_load(path, &d, &err), SL_ENOENT);
    assert_int_equal(sl_doc_load("/tmp", &d, &err), SL_EIO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml_scalars), cmocka_unit_test(yaml_documents),
        cmocka_unit_test(yaml_aliases), cmocka_unit_test(yaml_errors),
        cmocka_unit_test(json_values),  cmocka_unit_test(many_keys),
        cmocka_unit_test(ceilings),     cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
