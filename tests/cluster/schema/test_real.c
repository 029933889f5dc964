/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a real kube-apiserver (1.36) said to these objects and schemas, line by line: the same
 * words, the same values. Defaults that depend on other fields are left out of what it answered.
 */
#include <stdio.h>

#include "cluster/schema/crd/crd.h"
#include "schema_fixture.h"

static yyjson_doc *doc; /* of the line */
static struct sl_arena arena;

/* Calls 'look' for each line of a file. */
static void each_line(const char *file, void (*look)(yyjson_val *line, uint32_t at)) {
    const char *root = getenv("SL_SOURCE_ROOT");
    char path[4096];
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    uint32_t at = 0;

    snprintf(path, sizeof(path), "%s/tests/cluster/schema/%s", root ? root : ".", file);
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("%s cannot be read", path);
    while ((n = getline(&line, &cap, f)) > 0) {
        sl_arena_init(&arena, (size_t)64 << 20);
        doc = yyjson_read(line, (size_t)n, 0);
        assert_non_null(doc);
        look(yyjson_doc_get_root(doc), ++at);
        yyjson_doc_free(doc);
        sl_arena_done(&arena);
    }
    free(line);
    fclose(f);
    assert_true(at > 10);
}

static int by_text(const void *a, const void *b) {
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* The same texts? In any order: a real API server has none. */
static void same_texts(const char **texts, uint32_t n, yyjson_val *want, uint32_t at) {
    if (n > 0)
        qsort(texts, n, sizeof(*texts), by_text);
    for (uint32_t i = 0; i < n || i < yyjson_arr_size(want); i++) {
        const char *got = i < n ? texts[i] : "(nothing)";
        const char *real = yyjson_get_str(yyjson_arr_get(want, i));
        if (!real || strcmp(got, real) != 0)
            fail_msg("line %u: %s\nreally: %s", at, got, real ? real : "(nothing)");
    }
}

static void same_object(yyjson_mut_val *got, yyjson_val *want, uint32_t at) {
    yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *real = yyjson_val_mut_copy(m, want);

    if (!yyjson_mut_equals(got, real)) {
        char *a = yyjson_mut_val_write(got, 0, NULL), *b = yyjson_val_write(want, 0, NULL);
        fail_msg("line %u: %s\nreally: %s", at, a, b);
    }
    yyjson_mut_doc_free(m);
}

/* ---- kinds of Kubernetes ---- */

static void look_at_decoding(yyjson_val *line, uint32_t at) {
    const struct sl_schema *pod = fx_kind("io.k8s.api.core.v1.Pod");
    yyjson_val *object = yyjson_obj_get(line, "object");
    const char *says = yyjson_get_str(yyjson_obj_get(line, "says"));
    struct sl_strict st = {.arena = &arena};
    struct sl_err err = {0};
    struct sl_buf text;

    sl_buf_init(&text, 4096);
    if (sl_schema_decodes(pod, object, &err) < 0) {
        sl_buf_puts(&text, err.text);
    } else {
        (void)sl_strict_duplicates(&st, pod, object);
        for (uint32_t i = 0; i < st.n; i++)
            sl_buf_printf(&text, "%s%s", i == 0 ? "strict decoding error: " : ", ", st.text[i]);
    }
    if (strcmp(sl_buf_str(&text), says) != 0)
        fail_msg("line %u: %s\nreally: %s", at, sl_buf_str(&text), says);
    sl_buf_done(&text);
}

static void what_cannot_be_read_is_reported(void **state) {
    (void)state;
    each_line("decode.jsonl", look_at_decoding);
}

static void look_at_native(yyjson_val *line, uint32_t at) {
    const struct sl_schema *s = fx_kind(yyjson_get_str(yyjson_obj_get(line, "type")));
    yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_val_mut_copy(m, yyjson_obj_get(line, "object"));
    yyjson_mut_val *meta = yyjson_mut_obj_get(object, "metadata");

    sl_schema_prune(s, m, object, NULL);
    sl_schema_default(s, m, object);
    yyjson_mut_obj_remove_str(meta, "namespace");
    same_object(object, yyjson_obj_get(line, "becomes"), at);
    sl_schema_prune(s, m, object, NULL);
    sl_schema_default(s, m, object);
    same_object(object, yyjson_obj_get(line, "becomes"), at);
    yyjson_mut_doc_free(m);
}

static void objects_become_what_is_stored(void **state) {
    (void)state;
    each_line("native.jsonl", look_at_native);
}

/* ---- custom resources ---- */

static const struct sl_schema *meta(void) {
    return fx_kind("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
}

static void look_at_schema(yyjson_val *line, uint32_t at) {
    struct sl_field_errs errs = {.arena = &arena};
    yyjson_val *want = yyjson_obj_get(line, "errors");
    struct sl_crd_schema *c = NULL;

    sl_crd_schema_new(yyjson_obj_get(line, "schema"), SL_PATH(NULL, "openAPIV3Schema"), meta(),
                      &errs, &c);
    assert_true((c != NULL) == (errs.n == 0));
    sl_crd_schema_free(c);
    /* Regular expressions are read by another library, which has words of its own. */
    static const char broken[] = "must be a valid regular expression, but isn't: ";
    const char *real = yyjson_get_str(yyjson_arr_get(want, 0));
    if (real && strstr(real, broken)) {
        assert_int_equal(errs.n, yyjson_arr_size(want));
        size_t len = (size_t)(strstr(real, broken) - real) + strlen(broken);
        assert_int_equal(strncmp(errs.text[0], real, len), 0);
        return;
    }
    same_texts(errs.text, errs.n, want, at);
}

static void schemas_are_refused_for_the_same_reasons(void **state) {
    (void)state;
    each_line("crd_schemas.jsonl", look_at_schema);
}

static struct sl_crd_schema *toy;

static void look_at_value(yyjson_val *line, uint32_t at) {
    struct sl_field_errs errs = {.arena = &arena};
    struct sl_strict st = {.arena = &arena};
    yyjson_val *object = yyjson_obj_get(line, "object"), *decode = yyjson_obj_get(line, "decode");
    struct sl_err err;

    if (at == 1) {
        sl_crd_schema_new(yyjson_obj_get(line, "schema"), SL_PATH(NULL, "s"), meta(), &errs, &toy);
        assert_non_null(toy);
        return;
    }
    const struct sl_schema *s = sl_crd_schema_root(toy);
    bool read = sl_schema_decodes(s, object, &err) == 0;
    if (!read || decode) {
        assert_string_equal(read ? "(nothing)" : err.text,
                            decode ? yyjson_get_str(decode) : "(nothing)");
        return;
    }
    yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *made = yyjson_val_mut_copy(m, object);
    yyjson_mut_doc_set_root(m, made);
    sl_schema_prune(s, m, made, &st);
    sl_schema_default(s, m, made);
    yyjson_doc *now = yyjson_mut_doc_imut_copy(m, NULL);
    sl_schema_check(s, yyjson_doc_get_root(now), NULL, &errs);
    same_texts(st.text, st.n, yyjson_obj_get(line, "unknown"), at);
    same_texts(errs.text, errs.n, yyjson_obj_get(line, "errors"), at);
    if (errs.n == 0)
        same_object(made, yyjson_obj_get(line, "becomes"), at);
    /* What was wrong before may stay so. */
    uint32_t before = errs.n;
    sl_schema_check_update(s, yyjson_doc_get_root(now), yyjson_doc_get_root(now), NULL, &errs);
    for (uint32_t i = before; i < errs.n; i++)
        assert_non_null(strstr(errs.text[i], "Duplicate value"));
    yyjson_doc_free(now);
    yyjson_mut_doc_free(m);
}

static void values_are_held_against_schemas(void **state) {
    (void)state;
    each_line("crd_values.jsonl", look_at_value);
    sl_crd_schema_free(toy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_read_is_reported),
        cmocka_unit_test(objects_become_what_is_stored),
        cmocka_unit_test(schemas_are_refused_for_the_same_reasons),
        cmocka_unit_test(values_are_held_against_schemas),
    };
    return cmocka_run_group_tests(tests, fx_setup, fx_teardown);
}
