/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notation: what it says, what it refuses, and what is built in.
 */
#include "schema_fixture.h"

static struct sl_schemas *read_all(const char *const *texts, size_t n, struct sl_err *err) {
    struct sl_schemas *set = sl_schemas_new();
    int r = 0;

    for (size_t i = 0; i < n && r >= 0; i++)
        r = sl_schemas_read(set, texts[i], strlen(texts[i]), "x.types", err);
    if (r >= 0)
        r = sl_schemas_close(set, err);
    if (r >= 0)
        return set;
    sl_schemas_free(set);
    return NULL;
}

/* The longest words that are still read at a glance, in bytes. */
#define MAX_DOC 240u

static void assert_doc(const char *doc, uint32_t len, const char *words) {
    assert_int_equal(len, strlen(words));
    assert_memory_equal(doc, words, len);
}

static const char meta[] = "package meta/v1 meta\n"
                           "type ObjectMeta:\n"
                           "  name: string\n";

static void a_text_becomes_types(void **state) {
    static const char *const texts[] = {
        "package toys.example.org/v2 toys.v2\n"
        "# a comment\n"
        "\n"
        "alias Size: string enum=\"\",small,large\n"
        "kind Box: Where toys are.\n"
        "  toys: [Toy] required merge=name | All of them.\n"
        "  labels: {string} atomic\n"
        "  size: Size default=small\n"
        "  seats: int32? default=4\n"
        "  shapes: {[string]}\n"
        "  where: meta/v1.ObjectMeta? always\n"
        "type Any open:\n"
        "type Toy atomic: One toy.\n"
        "  any: Any\n"
        "  name: string required omitted\n"
        "  ports: [int64] set patch retain\n"
        "  parts: [Toy] keys=a,b patch=a\n",
        meta,
    };
    struct sl_err err;
    struct sl_schemas *set = read_all(texts, 2, &err);

    (void)state;
    if (!set)
        fail_msg("%s", err.text);
    const struct sl_schema *box = sl_schemas_find(set, "toys.v2.Box");
    assert_non_null(box);
    assert_int_equal(box->type, SL_T_OBJECT);
    assert_string_equal(box->group, "toys.example.org");
    assert_string_equal(box->version, "v2");
    assert_string_equal(box->go, "v2.Box");
    assert_doc(box->doc, box->doc_len, "Where toys are.");
    assert_int_equal(box->n_fields, 9);
    assert_string_equal(box->fields[0].name, "apiVersion");

    const struct sl_schema_field *toys = sl_schema_field(box, "toysX", 4);
    assert_non_null(toys);
    assert_true(toys->required && toys->always && toys->patch_merge);
    assert_string_equal(toys->patch_key, "name");
    assert_doc(toys->doc, toys->doc_len, "All of them.");
    assert_true(toys->doc > texts[0] && toys->doc < texts[0] + strlen(texts[0])); /* not copied */
    assert_int_equal(sl_schema_field(box, "labels", 6)->doc_len, 0);
    assert_int_equal(toys->schema->merge, SL_MERGE_KEYED);
    assert_int_equal(toys->schema->n_keys, 1);
    const struct sl_schema *toy = toys->schema->items;
    assert_string_equal(toy->name, "toys.v2.Toy");
    assert_null(toy->group);
    assert_int_equal(toy->merge, SL_MERGE_ATOMIC);

    const struct sl_schema_field *f = sl_schema_field(box, "size", 4);
    assert_string_equal(f->schema->go, "v2.Size");
    assert_int_equal(yyjson_arr_size(f->schema->rules->words), 3);
    assert_string_equal(yyjson_get_str(f->deflt), "small");
    f = sl_schema_field(box, "seats", 5);
    assert_true(f->pointer && !f->always && !f->required);
    assert_int_equal(yyjson_get_int(f->deflt), 4);
    assert_int_equal(sl_schema_field(box, "labels", 6)->schema->merge, SL_MERGE_ATOMIC);
    assert_int_equal(sl_schema_field(box, "shapes", 6)->schema->items->items->type, SL_T_STRING);
    assert_string_equal(sl_schema_field(box, "where", 5)->schema->name, "meta.ObjectMeta");

    f = sl_schema_field(toy, "name", 4);
    assert_true(f->required && !f->always);
    f = sl_schema_field(toy, "ports", 5);
    assert_true(f->patch_merge && f->retain_keys && !f->patch_key);
    assert_int_equal(f->schema->merge, SL_MERGE_SET);
    f = sl_schema_field(toy, "parts", 5);
    assert_int_equal(f->schema->n_keys, 2);
    assert_ptr_equal(f->schema->items, toy);

    assert_null(sl_schema_field(box, "toy", 3));
    assert_null(sl_schema_field(box, "", 0));
    assert_null(sl_schema_field(box, "toys\0", 5));
    assert_ptr_equal(sl_schema_at(box, "toys", 4), toys->schema);
    assert_null(sl_schema_at(box, "other", 5));
    assert_int_equal(sl_schema_at(sl_schema_at(box, "labels", 6), "any", 3)->type, SL_T_STRING);
    assert_int_equal(sl_schema_at(sl_schema_at(toy, "any", 3), "x", 1)->type, SL_T_ANY);

    uint32_t i = 0;
    assert_string_equal(sl_schemas_each(set, &i)->name, "meta.ObjectMeta");
    assert_string_equal(sl_schemas_each(set, &i)->name, "toys.v2.Any");
    assert_string_equal(sl_schemas_each(set, &i)->name, "toys.v2.Box");
    assert_string_equal(sl_schemas_each(set, &i)->name, "toys.v2.Toy");
    assert_null(sl_schemas_each(set, &i));
    assert_null(sl_schemas_find(set, "toys.v2.Size"));
    sl_schemas_free(set);
}

static void errors_have_their_line(void **state) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"type A: x\n", "x.types:1: a text begins with one line 'package'"},
        {"package a/v1 a\npackage b/v1 b\n", "x.types:2: a text begins with one line 'package'"},
        {"package a\n", "x.types:1: expected: package GROUP/VERSION NAME"},
        {"package a/v1\n", "x.types:1: expected: package GROUP/VERSION NAME"},
        {"package a/v1 a\n  x: string\n", "x.types:2: a field belongs to a type or kind"},
        {"package a/v1 a\nhello\n", "x.types:2: 'hello' is not how a line begins"},
        {"package a/v1 a\ntype A\n", "x.types:2: ':' is missing after A"},
        {"package a/v1 a\ntype A big: x\n", "x.types:2: expected: type NAME [atomic|open]: WORDS"},
        {"package a/v1 a\ntype A.b: x\n", "x.types:2: 'A.b' is no name"},
        {"package a/v1 a\ntype A:\n  x string\n", "x.types:3: ':' and a type are missing after x"},
        {"package a/v1 a\ntype A:\n  x: [string\n", "x.types:3: ']' is missing"},
        {"package a/v1 a\ntype A:\n  x: [[[[[string]]]]]\n",
         "x.types:3: lists and maps more than 4 deep"},
        {"package a/v1 a\ntype A:\n  x: st*ng\n", "x.types:3: 'st*ng' is no type"},
        {"package a/v1 a\ntype A:\n  x: B\n", "x.types:3: there is no type a/v1.B"},
        {"package a/v1 a\ntype A:\n  x: b/v1.B\n", "x.types:3: there is no type b/v1.B"},
        {"package a/v1 a\ntype A:\n  x: string big\n", "x.types:3: 'big' is no option"},
        {"package a/v1 a\ntype A:\n  x: string default\n", "x.types:3: 'default' needs a value"},
        {"package a/v1 a\ntype A:\n  x: string required=1\n",
         "x.types:3: 'required' has no such value"},
        {"package a/v1 a\ntype A:\n  x: int32 enum=a\n", "x.types:3: enum is for texts"},
        {"package a/v1 a\ntype A:\n  x: string keys=a\n", "x.types:3: keys are for lists"},
        {"package a/v1 a\ntype A:\n  x: [string] keys=a,,b\n", "x.types:3: '' is no key"},
        {"package a/v1 a\ntype A:\n  x: string patch\n", "x.types:3: patch is for lists"},
        {"package a/v1 a\ntype A:\n  x: [string] atomic\n",
         "x.types:3: atomic is for maps; lists are so already"},
        {"package a/v1 a\ntype A:\n  x: {string} set\n", "x.types:3: set is for lists"},
        {"package a/v1 a\ntype A:\n  x: string\n  x: string\n", "x.types:4: above, x stands twice"},
        {"package a/v1 a\ntype A:\ntype A:\n", "x.types:3: a/v1.A is defined already"},
        {"package a/v1 a\nalias A: B\n", "x.types:2: A may stand for a text, list or map"},
        {"package a/v1 a\nalias A: string required\n", "x.types:2: 'required' is not for aliases"},
        {"package a/v1 a\ntype A:\n  x: B required\ntype B:\n  y: A always\n",
         "a.A would be filled without end"},
        {"package a/v1 a\ntype A:\n  x: [A] default=[{}]\n", "a.A would be filled without end"},
        {"package a/v1 a\nkind A: x\n", "x.types:2: there is no type meta/v1.ObjectMeta"},
    };
    struct sl_err err;

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        if (read_all(&cases[i].text, 1, &err))
            fail_msg("taken: %s", cases[i].text);
        assert_string_equal(err.text, cases[i].words);
    }
    struct sl_schemas *set = sl_schemas_new();
    assert_int_equal(sl_schemas_read(set, "a\0b", 3, "x", &err), SL_EINVAL);
    sl_schemas_free(set);
}

static void there_are_ceilings(void **state) {
    struct sl_buf text;
    struct sl_err err;

    (void)state;
    sl_buf_init(&text, 4 << 20);
    sl_buf_puts(&text, "package a/v1 a\ntype A:\n");
    for (uint32_t i = 0; i <= SL_TYPES_MAX_FIELDS; i++)
        sl_buf_printf(&text, "  f%u: string\n", i);
    assert_null(read_all((const char *const[]){text.s}, 1, &err));
    assert_int_equal(err.code, SL_ELIMIT);
    sl_buf_clear(&text);
    sl_buf_puts(&text, "package a/v1 a\n");
    for (uint32_t i = 0; i <= SL_TYPES_MAX; i++)
        sl_buf_printf(&text, "type T%u:\n", i);
    assert_null(read_all((const char *const[]){text.s}, 1, &err));
    assert_int_equal(err.code, SL_ELIMIT);
    sl_buf_clear(&text);
    while (text.len <= SL_TYPES_MAX_BYTES)
        sl_buf_puts(&text, "# too much\n");
    assert_null(read_all((const char *const[]){text.s}, 1, &err));
    assert_int_equal(err.code, SL_ELIMIT);
    sl_buf_done(&text);
}

/* `kubectl explain` has something to say about it: a sentence, and no more than a few. */
static void explained(const char *type, const char *field, const char *doc, uint32_t len) {
    const char *dot = *field ? "." : "";

    if (len == 0)
        fail_msg("%s%s%s has no words", type, dot, field);
    if (len > MAX_DOC)
        fail_msg("%s%s%s: %u bytes are too many: %.*s", type, dot, field, len, (int)len, doc);
    if (!strchr(".?", doc[len - 1]))
        fail_msg("%s%s%s does not end in a full stop: %.*s", type, dot, field, (int)len, doc);
}

static void what_is_built_in_is_whole(void **state) {
    const struct sl_schema *s;
    uint32_t n = 0, fields = 0;

    (void)state;
    for (uint32_t i = 0; (s = sl_schemas_each(fx_set, &i)); n++) {
        fields += s->n_fields;
        explained(s->name, "", s->doc, s->doc_len);
        for (uint32_t i_field = 0; i_field < s->n_fields; i_field++) {
            const struct sl_schema_field *f = &s->fields[i_field];
            const struct sl_schema *of = f->schema->items ? f->schema->items : f->schema;
            explained(s->name, f->name, f->doc, f->doc_len);
            /* kubectl prints one below the other */
            if (f->doc_len == of->doc_len && memcmp(f->doc, of->doc, f->doc_len) == 0)
                fail_msg("%s.%s says the same as its type", s->name, f->name);
        }
    }
    assert_true(n > 300 && fields > 1500);
    print_message("%u types, %u fields\n", n, fields);
    s = fx_kind("io.k8s.api.core.v1.Pod");
    assert_string_equal(s->group, "");
    assert_string_equal(fx_kind("io.k8s.api.rbac.v1.Role")->group, "rbac.authorization.k8s.io");
    s = fx_kind("io.k8s.api.core.v1.Container");
    const struct sl_schema *ports = sl_schema_at(s, "ports", 5);
    assert_int_equal(ports->n_keys, 2);
    assert_string_equal(sl_schema_field(s, "ports", 5)->patch_key, "containerPort");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_becomes_types),
        cmocka_unit_test(errors_have_their_line),
        cmocka_unit_test(there_are_ceilings),
        cmocka_unit_test(what_is_built_in_is_whole),
    };
    return cmocka_run_group_tests(tests, fx_setup, fx_teardown);
}
