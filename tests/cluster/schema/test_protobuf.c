/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies that Go's typed encoders wrote, beside the JSON of the same objects (wire_cases.jsonl: by
 * hand, and one of each kind with all its fields filled), and bodies that nobody should send.
 */
#include <stdio.h>

#include "cluster/schema/protobuf/protobuf.h"
#include "core/base/base64.h"
#include "core/base/mem.h"
#include "schema_fixture.h"

static struct sl_protobuf *wire;

static int setup(void **state) {
    struct sl_err err;

    return fx_setup(state) < 0 || sl_protobuf_new(&wire, &err) < 0 ? -1 : 0;
}

static int teardown(void **state) {
    sl_protobuf_free(wire);
    return fx_teardown(state);
}

/* Both steps; NULL: the error says why not. */
static yyjson_doc *read_bytes(const char *bytes, size_t len, struct sl_err *err) {
    struct sl_protobuf_body body;
    yyjson_doc *doc = NULL;

    if (sl_protobuf_open(bytes, len, &body, err) < 0 ||
        sl_protobuf_read(wire, fx_set, &body, &doc, err) < 0)
        return NULL;
    return doc;
}

/* ---- what Go wrote ---- */

struct golden {
    const char *name;
    char *bytes;
    size_t len;
    yyjson_val *json;
};

static void each_golden(void (*look)(const struct golden *g)) {
    const char *root = getenv("SL_SOURCE_ROOT");
    char path[4096];
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    uint32_t count = 0;

    (void)snprintf(path, sizeof path, "%s/tests/cluster/schema/wire_cases.jsonl",
                   root ? root : ".");
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("%s cannot be read", path);
    while ((n = getline(&line, &cap, f)) > 0) {
        yyjson_doc *doc = yyjson_read(line, (size_t)n, 0);
        assert_non_null(doc);
        yyjson_val *v = yyjson_doc_get_root(doc), *body = yyjson_obj_get(v, "body");
        struct golden g = {.name = sl_json_str(v, "name"),
                           .bytes = sl_alloc0(1, yyjson_get_len(body) + 1),
                           .json = yyjson_obj_get(v, "json")};
        int64_t len = sl_base64_decode(yyjson_get_str(body), yyjson_get_len(body), g.bytes);
        assert_true(len > 0);
        g.len = (size_t)len;
        look(&g);
        count++;
        sl_freep(&g.bytes);
        yyjson_doc_free(doc);
    }
    free(line);
    (void)fclose(f);
    assert_true(count > 60);
}

static const struct sl_schema *schema_of(yyjson_val *object) {
    const char *api_version = sl_json_str(object, "apiVersion"),
               *kind = sl_json_str(object, "kind");
    const char *slash = strchr(api_version, '/');
    const struct sl_schema *s;

    if (strcmp(kind, "DeleteOptions") == 0)
        return fx_kind("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
    for (uint32_t i = 0; (s = sl_schemas_each(fx_set, &i));) {
        char gv[256];
        if (!s->group)
            continue;
        (void)snprintf(gv, sizeof gv, "%s%s%s", s->group, slash ? "/" : "", s->version);
        if (strcmp(gv, api_version) == 0 && strcmp(strrchr(s->name, '.') + 1, kind) == 0)
            return s;
    }
    fail_msg("no kind %s %s", api_version, kind);
    return NULL;
}

/* What is written of it once it was read into the types of its kind. */
static yyjson_mut_val *settled(yyjson_mut_doc *m, const struct sl_schema *s, yyjson_val *object) {
    struct sl_err err;

    if (sl_schema_decodes(s, object, &err) < 0)
        fail_msg("%s", err.text);
    yyjson_mut_val *v = yyjson_val_mut_copy(m, object);
    sl_schema_prune(s, m, v, NULL);
    assert_true(sl_schema_default(s, m, v));
    return v;
}

static void look_at_golden(const struct golden *g) {
    struct sl_err err;
    yyjson_doc *doc = read_bytes(g->bytes, g->len, &err);
    yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    const struct sl_schema *s = schema_of(g->json);

    if (!doc)
        fail_msg("%s: %s", g->name, err.text);
    yyjson_mut_val *got = settled(m, s, yyjson_doc_get_root(doc)), *want = settled(m, s, g->json);
    if (!yyjson_mut_equals(got, want)) {
        char *a = yyjson_mut_val_write(got, 0, NULL), *b = yyjson_mut_val_write(want, 0, NULL);
        fail_msg("%s: %s\nreally: %s", g->name, a, b);
    }
    yyjson_mut_doc_free(m);
    yyjson_doc_free(doc);
}

static void objects_are_what_go_wrote(void **state) {
    (void)state;
    each_golden(look_at_golden);
}

/* Each beginning of a body either is one, or is refused with words; read from memory that ends
 * there. */
static void look_at_beginnings(const struct golden *g) {
    size_t step = g->len > 600 ? g->len / 300 : 1;

    for (size_t len = 0; len < g->len; len += step) {
        struct sl_err err = {0};
        char *part = sl_alloc0(1, len + 1), *exact = realloc(part, len ? len : 1);
        assert_non_null(exact);
        memcpy(exact, g->bytes, len);
        yyjson_doc *doc = read_bytes(exact, len, &err);
        assert_true(doc || err.text[0]);
        yyjson_doc_free(doc);
        free(exact);
    }
}

static void bodies_that_are_cut_off_are_refused(void **state) {
    (void)state;
    each_golden(look_at_beginnings);
}

/* ---- what nobody should send ---- */

/* Bytes: a body of a ConfigMap unless 'kind' says otherwise; the words that are said of it, NULL:
 * the object. */
#define RAW(text) .raw = text, .len = sizeof(text) - 1

static const struct {
    const char *api_version, *kind, *raw;
    size_t len;
    const char *says, *object;
} bodies[] = {
    {RAW("\x0a\x03"), .says = "unexpected EOF"},
    {RAW("\x0a\x02\x0a\x7f"), .says = "unexpected EOF"},
    {RAW("\x0a\x80\x80\x80\x80\x80\x20"), .says = "unexpected EOF"},
    {RAW("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
     .says = "proto: negative length found during unmarshaling"},
    {RAW("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), .says = "proto: integer overflow"},
    {RAW("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), .says = "proto: integer overflow"},
    {RAW("\x08\x01"), .says = "proto: wrong wireType = 0 for field ObjectMeta"},
    {RAW("\x10\x01"), .says = "proto: wrong wireType = 0 for field Data"},
    {RAW("\x22\x00"), .says = "proto: wrong wireType = 2 for field Immutable"},
    {RAW("\x21\0\0\0\0\0\0\0\0"), .says = "proto: wrong wireType = 1 for field Immutable"},
    {RAW("\x25\0\0\0\0"), .says = "proto: wrong wireType = 5 for field Immutable"},
    {RAW("\0\0"), .says = "proto: ConfigMap: illegal tag 0 (wire type 0)"},
    {RAW("\xf8\xff\xff\xff\x7f\0"), .says = "proto: ConfigMap: illegal tag -1 (wire type 0)"},
    {RAW("\x0c"), .says = "proto: ConfigMap: wiretype end group for non-group"},
    {RAW("\x9e\x06\x01"), .says = "proto: illegal wireType 6"},
    {RAW("\x9b\x06"), .says = "unexpected EOF"},
    {RAW("\x9b\x06\x9e\x06\x9c\x06"), .says = "proto: illegal wireType 6"},
    {RAW("\x12\x03\x08\x01\x01"), .says = "proto: wrong wireType = 0 for field key"},
    {RAW("\x12\x02\x12\x7f"), .says = "unexpected EOF"},
    {RAW("\x12\x04\x12\x02\xff\xfe"), .says = "proto: string field contains invalid UTF-8"},
    {RAW("\x0a\x0c\x4a\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
     .says = "proto: the time is out of range"},
    {.api_version = "v1",
     .kind = "Foo",
     RAW(""),
     .says = "no kind \"Foo\" is registered for version \"v1\""},
    {.api_version = "apps/v1",
     .kind = "Pod",
     RAW(""),
     .says = "no kind \"Pod\" is registered for version \"apps/v1\""},
    {.api_version = "v1",
     .kind = "PodSpec",
     RAW(""),
     .says = "no kind \"PodSpec\" is registered for version \"v1\""},
    {.api_version = "", .kind = "", RAW(""), .says = "no kind \"\" is registered for version \"\""},
    {.api_version = "apiextensions.k8s.io/v1",
     .kind = "CustomResourceDefinition",
     RAW(""),
     .says = "CustomResourceDefinition has no protobuf form here"},
    /* livenessProbe.tcpSocket.port, of a type that is neither of the two */
    {.api_version = "v1",
     .kind = "Pod",
     RAW("\x12\x0e\x12\x0c\x52\x0a\x0a\x08\x1a\x06\x0a\x04\x08\x07\x10\x05"),
     .says = "proto: IntOrString: impossible type"},

    {RAW(""), .object = "{}"},
    {RAW("\x9a\x06\x01x\x9b\x06\x98\x06\x05\x9c\x06\x9d\x06\1\2\3\4\x99\x06\1\2\3\4\5\6\7\x08"),
     .object = "{}"}, /* fields that are not known, in every form */
    {RAW("\x12\x03\x12\x01v"), .object = "{'data':{'':'v'}}"},
    {RAW("\x12\x03\x0a\x01k"), .object = "{'data':{'k':''}}"},
    {RAW("\x12\x06\x0a\x01k\x12\x01\x31\x12\x06\x0a\x01k\x12\x01\x32"),
     .object = "{'data':{'k':'2'}}"},
    {RAW("\x1a\x07\x0a\x01k\x12\x02\0\xff"), .object = "{'binaryData':{'k':'AP8='}}"},
    {RAW("\x0a\x03\x0a\x01w\x0a\x08\x5a\x06\x0a\x01\x61\x12\x01\x62"), /* in two pieces */
     .object = "{'metadata':{'name':'w','labels':{'a':'b'}}}"},
    {RAW("\x0a\x06\x0a\x01v\x0a\x01w"), .object = "{'metadata':{'name':'w'}}"},
    {RAW("\x0a\x05\x0a\x01v\x0a\x00"), .object = "{'metadata':{}}"},
    {RAW("\x20\x02"), .object = "{'immutable':true}"},
    {RAW("\x20\x00"), .object = "{'immutable':false}"},
    {RAW("\x0a\x04\x4a\x02\x10\x05"),
     .object = "{'metadata':{'deletionTimestamp':'1970-01-01T00:00:00Z'}}"},
    {RAW("\x0a\x02\x4a\x00"), .object = "{'metadata':{}}"},
    {.api_version = "v1",
     .kind = "Pod", /* a port that is wider than it may be */
     RAW("\x12\x0a\x12\x08\x32\x06\x18\xd0\x80\x80\x80\x10"),
     .object = "{'spec':{'containers':[{'ports':[{'containerPort':80}]}]}}"},
    {.api_version = "v1",
     .kind = "Pod", /* limits: cpu, without a value */
     RAW("\x12\x0d\x12\x0b\x42\x09\x0a\x07\x0a\x03\x63pu\x12\x00"),
     .object = "{'spec':{'containers':[{'resources':{'limits':{'cpu':'0'}}}]}}"},
    {.api_version = "v1",
     .kind = "Pod", /* supplementalGroups, packed */
     RAW("\x12\x07\x72\x05\x22\x03\x01\x80\x01"),
     .object = "{'spec':{'securityContext':{'supplementalGroups':[1,128]}}}"},
    {.api_version = "v1",
     .kind = "Pod",
     RAW("\x12\x05\x72\x03\x22\x01\x80"),
     .says = "unexpected EOF"},
};

static void odd_bodies_are_read_as_go_does(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(bodies); i++) {
        struct sl_protobuf_body b = {.raw = (const unsigned char *)bodies[i].raw,
                                     .len = bodies[i].len};
        struct sl_err err = {0};
        yyjson_doc *doc = NULL;
        (void)snprintf(b.api_version, sizeof b.api_version, "%s",
                       bodies[i].kind ? bodies[i].api_version : "v1");
        (void)snprintf(b.kind, sizeof b.kind, "%s", bodies[i].kind ? bodies[i].kind : "ConfigMap");
        int e = sl_protobuf_read(wire, fx_set, &b, &doc, &err);
        if (bodies[i].says) {
            assert_true(e < 0 && !doc);
            if (strcmp(err.text, bodies[i].says) != 0)
                fail_msg("body %zu: %s\nreally: %s", i, err.text, bodies[i].says);
            continue;
        }
        if (e < 0)
            fail_msg("body %zu: %s", i, err.text);
        yyjson_mut_doc *m = yyjson_doc_mut_copy(doc, NULL);
        yyjson_mut_val *got = yyjson_mut_doc_get_root(m);
        (void)yyjson_mut_obj_remove_key(got, "kind");
        (void)yyjson_mut_obj_remove_key(got, "apiVersion");
        yyjson_doc *want = fx_json(bodies[i].object);
        yyjson_mut_val *real = yyjson_val_mut_copy(m, yyjson_doc_get_root(want));
        if (!yyjson_mut_equals(got, real))
            fail_msg("body %zu: %s\nreally: %s", i, yyjson_mut_val_write(got, 0, NULL),
                     bodies[i].object);
        yyjson_doc_free(want);
        yyjson_mut_doc_free(m);
        yyjson_doc_free(doc);
    }
}

static void envelopes_are_opened_as_go_does(void **state) {
    static const struct {
        const char *raw;
        size_t len;
        const char *says, *kind;
    } all[] = {
        {RAW(""), .says = "empty data"},
        {RAW("k8s\0"), .says = "empty body"},
        {RAW("k8s"), .says = "provided data does not appear to be a protobuf message, expected "
                             "prefix [107 56 115 0]"},
        {RAW("{}{}"), .says = "provided data does not appear to be a protobuf message, expected "
                              "prefix [107 56 115 0]"},
        {RAW("k8s\0\xff\xff\xff"), .says = "unexpected EOF"},
        {RAW("k8s\0\0"), .says = "proto: Unknown: illegal tag 0 (wire type 0)"},
        {RAW("k8s\0\x08\x05"), .says = "proto: wrong wireType = 0 for field TypeMeta"},
        {RAW("k8s\0\x0c"), .says = "proto: Unknown: wiretype end group for non-group"},
        {RAW("k8s\0\x4e"), .says = "proto: illegal wireType 6"},
        {RAW("k8s\0\x0a\x02\x08\x01"), .says = "proto: wrong wireType = 0 for field APIVersion"},
        {RAW("k8s\0\x0a\x04\x12\x02\0x"),
         .says = "proto: TypeMeta: no apiVersion or kind looks like this"},
        {RAW("k8s\0\x12\x00"), .kind = ""},
        {RAW("k8s\0\x0a\x04\x12\x02Xy"), .kind = "Xy"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(all); i++) {
        struct sl_protobuf_body b;
        struct sl_err err = {0};
        int e = sl_protobuf_open(all[i].raw, all[i].len, &b, &err);
        assert_true((e < 0) == (all[i].says != NULL));
        assert_string_equal(e < 0 ? err.text : b.kind, e < 0 ? all[i].says : all[i].kind);
        assert_true(e < 0 || b.len == 0);
    }
}

/* How a body ends that is 'depth' groups, or brackets in data of a ControllerRevision, deep. */
static int read_deep(const char *kind, const char *open, const char *close, uint32_t depth) {
    struct sl_buf text, raw;
    struct sl_err err;
    yyjson_doc *doc = NULL;

    sl_buf_init(&text, (size_t)4 << 20);
    sl_buf_init(&raw, (size_t)4 << 20);
    for (uint32_t i = 0; i < depth; i++)
        sl_buf_puts(&text, open);
    for (uint32_t i = 0; i < depth; i++)
        sl_buf_puts(&text, close);
    if (*open == '[') { /* data, raw */
        uint32_t n = (uint32_t)text.len, more = n + 3;
        sl_buf_printf(&raw, "\x12%c%c\x0a%c%c", (int)(more & 127) | 128, (int)(more >> 7),
                      (int)(n & 127) | 128, (int)(n >> 7));
    }
    sl_buf_puts(&raw, sl_buf_str(&text));
    struct sl_protobuf_body b = {.raw = (const unsigned char *)sl_buf_str(&raw), .len = raw.len};
    (void)snprintf(b.api_version, sizeof b.api_version, "%s", *open == '[' ? "apps/v1" : "v1");
    (void)snprintf(b.kind, sizeof b.kind, "%s", kind);
    int e = sl_protobuf_read(wire, fx_set, &b, &doc, &err);
    if (e >= 0 && *open == '[') {
        char *json = yyjson_write(doc, 0, NULL);
        yyjson_doc *again = NULL;
        assert_non_null(strstr(json, "[[[["));
        assert_int_equal(sl_json_read(json, strlen(json), &again, &err), 0);
        yyjson_doc_free(again);
        free(json);
    }
    yyjson_doc_free(doc);
    sl_buf_done(&text);
    sl_buf_done(&raw);
    return e;
}

static void depth_has_an_end(void **state) {
    (void)state;
    assert_int_equal(read_deep("ControllerRevision", "[", "]", 100), 0);
    assert_int_equal(read_deep("ControllerRevision", "[", "]", 126), 0);
    assert_int_equal(read_deep("ControllerRevision", "[", "]", 127), SL_ELIMIT);
    assert_int_equal(read_deep("ConfigMap", "\x9b\x06", "\x9c\x06", 100000), 0);
    assert_int_equal(read_deep("ConfigMap", "\x9b\x06", "", 100000), SL_EINVAL);
}

/* A map of very many keys is read in time that grows with their number, not its square. */
static void many_keys_are_no_trouble(void **state) {
    enum { N = 400000 };
    struct sl_buf raw;
    struct sl_err err;
    yyjson_doc *doc = NULL;

    (void)state;
    sl_buf_init(&raw, (size_t)16 << 20);
    for (uint32_t i = 0; i < N; i++)
        sl_buf_printf(&raw, "\x12\x08\x0a\x06%06u", i);
    struct sl_protobuf_body b = {.api_version = "v1",
                                 .kind = "ConfigMap",
                                 .raw = (const unsigned char *)sl_buf_str(&raw),
                                 .len = raw.len};
    assert_int_equal(sl_protobuf_read(wire, fx_set, &b, &doc, &err), 0);
    assert_int_equal(sl_json_size(sl_json_get(yyjson_doc_get_root(doc), "data")), N);
    yyjson_doc_free(doc);
    sl_buf_done(&raw);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_what_go_wrote),
        cmocka_unit_test(bodies_that_are_cut_off_are_refused),
        cmocka_unit_test(odd_bodies_are_read_as_go_does),
        cmocka_unit_test(envelopes_are_opened_as_go_does),
        cmocka_unit_test(depth_has_an_end),
        cmocka_unit_test(many_keys_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
