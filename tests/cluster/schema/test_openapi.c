/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenAPI documents: what clients look for in them is there, and nothing refers to what is not.
 */
#include <stdio.h>

#include "cluster/schema/crd/crd.h"
#include "cluster/schema/openapi/openapi.h"
#include "lib/json/json.h"
#include "schema_fixture.h"

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

static struct sl_openapi_kind kinds[4];
static struct sl_openapi_api api = {.kinds = kinds, .n = SL_LEN(kinds), .release = "v1.36.0"};
static struct sl_crd_schema *toy;

static int setup(void **state) {
    static const char schema[] =
        "{'type':'object','description':'A "
        "toy.','properties':{'spec':{'type':'object','required':['a'],"
        "'properties':{'a':{'type':'string','description':'An a.','default':'x'},"
        "'n':{'type':'string','nullable':true},'any':{'x-kubernetes-preserve-unknown-fields':true},"
        "'q':{'x-kubernetes-int-or-string':true},"
        "'l':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['k'],"
        "'items':{'type':'object','required':['k'],'properties':{'k':{'type':'string'}}}}}}}}";
    struct sl_arena arena;
    struct sl_field_errs errs = {.arena = &arena};

    if (fx_setup(state) < 0)
        return -1;
    sl_arena_init(&arena, 1 << 20);
    yyjson_doc *doc = fx_json(schema);
    sl_crd_schema_new(yyjson_doc_get_root(doc), SL_PATH(NULL, "s"), fx_kind(META "ObjectMeta"),
                      &errs, &toy);
    yyjson_doc_free(doc);
    if (!toy)
        print_error("%s\n", errs.text[0]);
    sl_arena_done(&arena);
    if (!toy)
        return -1;
    api.list_meta = fx_kind(META "ListMeta");
    kinds[0] = (struct sl_openapi_kind){.group = "",
                                        .version = "v1",
                                        .kind = "Node",
                                        .plural = "nodes",
                                        .has_status = true,
                                        .verbs = 255,
                                        .schema = fx_kind("io.k8s.api.core.v1.Node")};
    kinds[1] = (struct sl_openapi_kind){.group = "batch",
                                        .version = "v1",
                                        .kind = "Job",
                                        .plural = "jobs",
                                        .namespaced = true,
                                        .has_status = true,
                                        .has_scale = true,
                                        .verbs = 255,
                                        .schema = fx_kind("io.k8s.api.batch.v1.Job")};
    kinds[2] = (struct sl_openapi_kind){
        .group = "authorization.k8s.io",
        .version = "v1",
        .kind = "SelfSubjectAccessReview",
        .plural = "selfsubjectaccessreviews",
        .verbs = SL_OPENAPI_CREATE,
        .schema = fx_kind("io.k8s.api.authorization.v1.SelfSubjectAccessReview")};
    kinds[3] = (struct sl_openapi_kind){.group = "example.org",
                                        .version = "v2",
                                        .kind = "Toy",
                                        .plural = "toys",
                                        .namespaced = true,
                                        .verbs = 255,
                                        .schema = sl_crd_schema_root(toy)};
    return 0;
}

static int teardown(void **state) {
    sl_crd_schema_free(toy);
    return fx_teardown(state);
}

static yyjson_doc *parse(struct sl_buf *b) {
    yyjson_doc *doc = yyjson_read(b->s, b->len, 0);

    assert_false(sl_buf_full(b));
    if (!doc)
        fail_msg("not JSON: %s", b->s);
    return doc;
}

static yyjson_doc *v2(void) {
    struct sl_buf b;

    sl_buf_init(&b, SL_OPENAPI_MAX_BYTES);
    sl_openapi_v2(&api, &b);
    yyjson_doc *doc = parse(&b);
    sl_buf_done(&b);
    return doc;
}

static yyjson_doc *v3(const char *group, const char *version) {
    struct sl_buf b;

    sl_buf_init(&b, SL_OPENAPI_MAX_BYTES);
    assert_true(sl_openapi_v3(&api, group, version, &b));
    yyjson_doc *doc = parse(&b);
    sl_buf_done(&b);
    return doc;
}

static yyjson_val *pointer_get(yyjson_doc *doc, const char *pointer) {
    yyjson_val *v = yyjson_doc_ptr_get(doc, pointer);
    if (!v)
        fail_msg("nothing at %s", pointer);
    return v;
}

static uint32_t follow(yyjson_doc *doc, yyjson_val *v) {
    yyjson_val *ref = yyjson_obj_get(v, "$ref"), *key, *item;
    size_t i, max;
    uint32_t n = 0;

    if (yyjson_is_str(ref)) {
        pointer_get(doc, yyjson_get_str(ref) + 1);
        n++;
    }
    yyjson_arr_foreach (v, i, max, item) {
        n += follow(doc, item);
    }
    sl_obj_foreach (v, i, max, key, item) {
        n += follow(doc, item);
    }
    return n;
}

static void every_reference_leads_somewhere(void **state) {
    static const char *const groups[] = {"batch", "authorization.k8s.io"};
    yyjson_doc *doc = v2();

    (void)state;
    assert_true(follow(doc, yyjson_doc_get_root(doc)) > 100);
    yyjson_doc_free(doc);
    for (size_t i = 0; i < SL_LEN(groups); i++) {
        doc = v3(groups[i], "v1");
        assert_true(follow(doc, yyjson_doc_get_root(doc)) > 10);
        yyjson_doc_free(doc);
    }
}

static void a_kind_is_found_by_its_path(void **state) {
    yyjson_doc *doc = v3("batch", "v1");

    (void)state;
    assert_string_equal(yyjson_get_str(pointer_get(doc, "/paths/~1apis~1batch~1v1~1jobs/get"
                                                        "/x-kubernetes-group-version-kind/kind")),
                        "Job");
    yyjson_val *params = pointer_get(
        doc, "/paths/~1apis~1batch~1v1~1namespaces~1{namespace}~1jobs~1{name}/patch/parameters");
    assert_non_null(sl_json_find(params, "name", "fieldValidation"));
    assert_non_null(sl_json_find(params, "name", "dryRun"));
    pointer_get(doc, "/paths/~1apis~1batch~1v1~1namespaces~1{namespace}~1jobs~1{name}~1status/put");
    assert_string_equal(
        yyjson_get_str(pointer_get(
            doc, "/paths/~1apis~1batch~1v1~1namespaces~1{namespace}~1jobs~1{name}~1scale/get"
                 "/x-kubernetes-group-version-kind/kind")),
        "Scale");
    assert_string_equal(
        yyjson_get_str(pointer_get(doc, "/components/schemas/io.k8s.api.batch.v1.Job"
                                        "/x-kubernetes-group-version-kind/0/group")),
        "batch");
    pointer_get(doc, "/components/schemas/io.k8s.api.batch.v1.JobList");
    yyjson_doc_free(doc);

    doc = v3("", "v1");
    pointer_get(doc, "/paths/~1api~1v1~1nodes~1{name}/delete");
    assert_null(yyjson_doc_ptr_get(doc, "/components/schemas/io.k8s.api.batch.v1.Job"));
    yyjson_doc_free(doc);

    doc = v3("authorization.k8s.io", "v1");
    yyjson_val *paths = pointer_get(doc, "/paths");
    assert_int_equal(yyjson_obj_size(paths), 1);
    assert_int_equal(yyjson_obj_size(yyjson_obj_get(
                         paths, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")),
                     1);
    yyjson_doc_free(doc);

    struct sl_buf b;
    sl_buf_init(&b, 100);
    assert_false(sl_openapi_v3(&api, "nobody", "v1", &b));
    sl_buf_done(&b);
}

/* Of a definition and its fields. */
static uint32_t count_descriptions(const char *name, yyjson_val *of) {
    yyjson_val *key, *item;
    size_t i, max;
    uint32_t n = 0;

    if (!*sl_json_str(of, "description"))
        fail_msg("%s has no words", name);
    sl_obj_foreach (yyjson_obj_get(of, "properties"), i, max, key, item) {
        if (!*sl_json_str(item, "description"))
            fail_msg("%s.%s has no words", name, yyjson_get_str(key));
        n++;
    }
    return n;
}

static void all_that_is_built_in_is_explained(void **state) {
    static const struct {
        const char *group, *version, *at;
    } docs[] = {{NULL, NULL, "/definitions"},
                {"", "v1", "/components/schemas"},
                {"batch", "v1", "/components/schemas"}};
    yyjson_val *key, *item;
    size_t at_key, max;

    (void)state;
    for (size_t i = 0; i < SL_LEN(docs); i++) {
        yyjson_doc *doc = docs[i].group ? v3(docs[i].group, docs[i].version) : v2();
        uint32_t n = 0;
        sl_obj_foreach (pointer_get(doc, docs[i].at), at_key, max, key, item) {
            if (strncmp(yyjson_get_str(key), "io.k8s.", 7) == 0)
                n += count_descriptions(yyjson_get_str(key), item);
        }
        assert_true(n > 100);
        yyjson_doc_free(doc);
    }
}

static void merging_and_patching_are_described(void **state) {
    yyjson_doc *doc = v2();
    yyjson_val *c =
        pointer_get(doc, "/definitions/io.k8s.api.core.v1.PodSpec/properties/containers");

    (void)state;
    assert_string_equal(sl_json_str(c, "x-kubernetes-patch-merge-key"), "name");
    assert_string_equal(sl_json_str(c, "x-kubernetes-patch-strategy"), "merge");
    assert_string_equal(sl_json_str(c, "x-kubernetes-list-type"), "map");
    c = pointer_get(doc, "/definitions/io.k8s.api.core.v1.PodSpec/properties/volumes");
    assert_string_equal(sl_json_str(c, "x-kubernetes-patch-strategy"), "merge,retainKeys");
    c = pointer_get(doc, "/definitions/io.k8s.api.core.v1.PodSpec/properties/nodeSelector");
    assert_string_equal(sl_json_str(c, "x-kubernetes-map-type"), "atomic");
    yyjson_doc_free(doc);
}

static void custom_resources_are_there(void **state) {
    yyjson_doc *doc = v2();
    yyjson_val *s = pointer_get(doc, "/definitions/org.example.v2.Toy");
    yyjson_val *spec = sl_json_at(s, "properties.spec.properties");

    (void)state;
    assert_string_equal(sl_json_str(s, "description"), "A toy.");
    assert_string_equal(sl_json_str(spec, "a.description"), "An a.");
    assert_string_equal(sl_json_str(spec, "a.type"), "string");
    assert_string_equal(sl_json_str(spec, "n.type"), ""); /* may be null */
    assert_string_equal(sl_json_str(spec, "q.type"), "");
    assert_true(sl_json_bool(spec, "any.x-kubernetes-preserve-unknown-fields", false));
    assert_string_equal(sl_json_str(s, "properties.metadata.$ref"),
                        "#/definitions/" META "ObjectMeta");
    assert_string_equal(sl_json_str(s, "properties.kind.description"), SL_DOC_KIND);
    assert_string_equal(sl_json_str(s, "properties.metadata.description"), SL_DOC_METADATA);
    s = pointer_get(doc, "/definitions/org.example.v2.ToyList/properties");
    assert_string_equal(sl_json_str(s, "items.description"), "The toys.");
    assert_string_equal(sl_json_str(s, "metadata.$ref"), "#/definitions/" META "ListMeta");
    yyjson_doc_free(doc);

    doc = v3("example.org", "v2");
    spec = pointer_get(doc, "/components/schemas/org.example.v2.Toy/properties/spec/properties");
    assert_string_equal(sl_json_str(spec, "n.type"), "string");
    assert_true(sl_json_bool(spec, "n.nullable", false));
    assert_string_equal(sl_json_str(spec, "a.default"), "x");
    yyjson_doc_free(doc);
}

static void the_index_changes_with_what_it_names(void **state) {
    struct sl_buf a, b, c;

    (void)state;
    sl_buf_init(&a, 1 << 20);
    sl_buf_init(&b, 1 << 20);
    sl_buf_init(&c, 1 << 20);
    sl_openapi_v3_index(&api, &a);
    sl_openapi_v3_index(&api, &b);
    assert_string_equal(a.s, b.s);
    kinds[1].has_scale = false;
    sl_openapi_v3_index(&api, &c);
    kinds[1].has_scale = true;
    yyjson_doc *x = parse(&a), *y = parse(&c);
    static const char batch[] = "/paths/apis~1batch~1v1/serverRelativeURL",
                      core[] = "/paths/api~1v1/serverRelativeURL";
    assert_true(
        strncmp(yyjson_get_str(pointer_get(x, batch)), "/openapi/v3/apis/batch/v1?hash=", 31) == 0);
    assert_string_not_equal(yyjson_get_str(pointer_get(x, batch)),
                            yyjson_get_str(pointer_get(y, batch)));
    assert_string_equal(yyjson_get_str(pointer_get(x, core)), yyjson_get_str(pointer_get(y, core)));
    yyjson_doc_free(x);
    yyjson_doc_free(y);
    sl_buf_done(&a);
    sl_buf_done(&b);
    sl_buf_done(&c);
}

/* ---- protobuf ---- */

struct wire {
    const unsigned char *p, *end;
};

static uint64_t varint(struct wire *w) {
    uint64_t v = 0;

    for (unsigned shift = 0;; shift += 7) {
        assert_true(w->p < w->end && shift < 64);
        v |= (uint64_t)(*w->p & 0x7f) << shift;
        if (!(*w->p++ & 0x80))
            return v;
    }
}

/* The n-th field of this number, as bytes. */
static bool get(struct wire w, uint64_t number, uint32_t n, struct wire *ret) {
    while (w.p < w.end) {
        uint64_t tag = varint(&w);
        if ((tag & 7) == 0) {
            (void)varint(&w);
            continue;
        }
        assert_int_equal(tag & 7, 2);
        uint64_t len = varint(&w);
        assert_true(len <= (uint64_t)(w.end - w.p));
        if (tag >> 3 == number && n-- == 0) {
            *ret = (struct wire){w.p, w.p + len};
            return true;
        }
        w.p += len;
    }
    return false;
}

static bool is_text(struct wire w, const char *text) {
    return (size_t)(w.end - w.p) == strlen(text) && memcmp(w.p, text, strlen(text)) == 0;
}

static void old_clients_get_it_as_protobuf(void **state) {
    struct sl_buf json, out;
    struct sl_err err;
    struct wire w = {0}, list = {0}, pair = {0}, name = {0}, value = {0}, more = {0};

    (void)state;
    sl_buf_init(&json, SL_OPENAPI_MAX_BYTES);
    sl_buf_init(&out, SL_OPENAPI_MAX_BYTES);
    sl_openapi_v2(&api, &json);
    assert_int_equal(sl_openapi_v2_protobuf(json.s, json.len, &out, &err), 0);
    const struct wire doc = {(unsigned char *)out.s, (unsigned char *)out.s + out.len};
    assert_true(get(doc, 1, 0, &w) && is_text(w, "2.0"));
    assert_true(get(doc, 9, 0, &list));
    bool found = false;
    for (uint32_t i = 0; get(list, 1, i, &pair); i++) {
        assert_true(get(pair, 1, 0, &name) && get(pair, 2, 0, &value));
        if (!is_text(name, "io.k8s.api.batch.v1.Job"))
            continue;
        found = true;
        assert_true(get(value, 31, 0, &w) && get(w, 1, 0, &name) && get(w, 2, 0, &more));
        assert_true(is_text(name, "x-kubernetes-group-version-kind"));
        assert_true(get(more, 2, 0, &w));
        assert_true(is_text(w, "[{\"group\":\"batch\",\"kind\":\"Job\",\"version\":\"v1\"}]"));
    }
    assert_true(found);
    assert_int_equal(sl_openapi_v2_protobuf("{", 1, &out, &err), SL_EINVAL);
    sl_buf_done(&out);
    sl_buf_init(&out, 100);
    assert_int_equal(sl_openapi_v2_protobuf(json.s, json.len, &out, &err), SL_ELIMIT);
    sl_buf_done(&json);
    sl_buf_done(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reference_leads_somewhere),
        cmocka_unit_test(a_kind_is_found_by_its_path),
        cmocka_unit_test(all_that_is_built_in_is_explained),
        cmocka_unit_test(merging_and_patching_are_described),
        cmocka_unit_test(custom_resources_are_there),
        cmocka_unit_test(the_index_changes_with_what_it_names),
        cmocka_unit_test(old_clients_get_it_as_protobuf),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
