/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patches one by one, with the answers that the API server gave to the same ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/merge/merge.h"
#include "cluster/schema/types.h"

static struct sl_schemas *types;

static int setup(void **state) {
    struct sl_err err = {0};
    (void)state;
    return sl_schemas_builtin(&types, &err);
}

static int teardown(void **state) {
    (void)state;
    sl_schemas_free(types);
    return 0;
}

#define UNFIT "the server rejected our request due to an error in our request"

/* One patch: 'want' is the object that comes out, or the words of the failure. */
struct patch_case {
    const char *patch, *want;
    int status; /* 0: it goes well */
    const char *reason;
};

typedef int (*patch_fn)(yyjson_mut_doc *doc, yyjson_val *object, yyjson_val *patch,
                        yyjson_mut_val **ret, struct sl_patch_err *err);

static void run(const char *object, patch_fn fn, const struct patch_case *c) {
    yyjson_doc *old = yyjson_read(object, strlen(object), 0);
    yyjson_doc *patch = yyjson_read(c->patch, strlen(c->patch), 0);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct sl_patch_err err = {0};
    yyjson_mut_val *v = NULL;
    char *text = NULL;

    assert_non_null(old);
    if (!patch)
        fail_msg("%s is no JSON", c->patch);
    sl_buf_init(&err.text, (size_t)1 << 16);
    int r = fn(doc, yyjson_doc_get_root(old), yyjson_doc_get_root(patch), &v, &err);
    if (r == 0)
        text = yyjson_mut_val_write(v, 0, NULL);
    const char *got = r == 0 ? text : sl_buf_str(&err.text);
    if (strcmp(got, c->want) != 0 || (r == 0) != (c->status == 0) ||
        (r < 0 && (err.status != c->status || strcmp(err.reason, c->reason) != 0)))
        fail_msg("%s\n  want %d %s\n  got  %d %s %s", c->patch, c->status, c->want, err.status,
                 err.reason ? err.reason : "", got);
    free(text);
    sl_buf_done(&err.text);
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(patch);
    yyjson_doc_free(old);
}

static void test_json(void **state) {
    static const char object[] = "{\"data\":{\"a\":\"1\"},\"l\":[1,2,3]}";
    static const struct patch_case cases[] = {
        {"[]", "{\"data\":{\"a\":\"1\"},\"l\":[1,2,3]}", 0, ""},
        {"[{\"op\":\"replace\",\"path\":\"/data/z\",\"value\":\"q\"}]",
         "{\"data\":{\"a\":\"1\",\"z\":\"q\"},\"l\":[1,2,3]}", 0, ""},
        {"[{\"op\":\"replace\",\"path\":\"/l/-1\",\"value\":9}]",
         "{\"data\":{\"a\":\"1\"},\"l\":[1,2,9]}", 0, ""},
        {"[{\"op\":\"add\",\"path\":\"/l/-1\",\"value\":9}]",
         "{\"data\":{\"a\":\"1\"},\"l\":[1,2,3,9]}", 0, ""},
        {"[{\"op\":\"add\",\"path\":\"/l/-\",\"value\":9},{\"op\":\"add\",\"path\":\"/l/"
         "0\",\"value\":0},{\"op\":\"remove\",\"path\":\"/l/1\"}]",
         "{\"data\":{\"a\":\"1\"},\"l\":[0,2,3,9]}", 0, ""},
        {"[{\"op\":\"add\",\"path\":\"/l/4\",\"value\":9}]", UNFIT, 422, "Invalid"},
        {"[{\"op\":\"add\",\"path\":\"/l/x\",\"value\":9}]", UNFIT, 422, "Invalid"},
        {"[{\"op\":\"remove\",\"path\":\"/data/nope\"}]", UNFIT, 422, "Invalid"},
        {"[{\"op\":\"test\",\"path\":\"/data/nope\",\"value\":null}]",
         "{\"data\":{\"a\":\"1\"},\"l\":[1,2,3]}", 0, ""},
        {"[{\"op\":\"test\",\"path\":\"/data/nope\"}]", "{\"data\":{\"a\":\"1\"},\"l\":[1,2,3]}", 0,
         ""},
        {"[{\"op\":\"test\",\"path\":\"/data/a\",\"value\":\"2\"}]", UNFIT, 422, "Invalid"},
        {"[{\"op\":\"test\",\"path\":\"\",\"value\":{\"l\":[1,2,3],\"data\":{\"a\":\"1\"}}}]",
         "{\"data\":{\"a\":\"1\"},\"l\":[1,2,3]}", 0, ""},
        {"[{\"op\":\"add\",\"path\":\"/data/x~1y~0z\",\"value\":\"s\"}]",
         "{\"data\":{\"a\":\"1\",\"x/y~z\":\"s\"},\"l\":[1,2,3]}", 0, ""},
        {"[{\"op\":\"add\",\"path\":\"/nope/x\",\"value\":\"s\"}]", UNFIT, 422, "Invalid"},
        {"[{\"op\":\"add\",\"path\":\"data/x\",\"value\":\"s\"}]",
         "{\"data\":{\"a\":\"1\"},\"l\":[1,2,3],\"x\":\"s\"}", 0, ""},
        {"[{\"op\":\"add\",\"path\":\"\",\"value\":{}}]", UNFIT, 422, "Invalid"},
        {"[{\"op\":\"add\",\"path\":\"/data/q\"}]",
         "{\"data\":{\"a\":\"1\",\"q\":null},\"l\":[1,2,3]}", 0, ""},
        {"[{\"op\":\"bogus\",\"path\":\"/data\"}]", UNFIT, 422, "Invalid"},
        {"[{\"path\":\"/data\"}]", UNFIT, 422, "Invalid"},
        {"[{\"op\":\"add\",\"value\":1}]", UNFIT, 422, "Invalid"},
        {"[null]", UNFIT, 422, "Invalid"},
        {"[{\"op\":5,\"path\":\"/data\"}]",
         "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op "
         "of type string",
         400, "BadRequest"},
        {"[5]",
         "error decoding patch: json: cannot unmarshal number into Go value of type "
         "handlers.jsonPatchOp",
         400, "BadRequest"},
        {"{\"a\":1}",
         "error decoding patch: json: cannot unmarshal object into Go value of type "
         "[]handlers.jsonPatchOp",
         400, "BadRequest"},
        {"[{\"op\":\"copy\",\"from\":\"/data/a\",\"path\":\"/data/"
         "b\"},{\"op\":\"move\",\"from\":\"/"
         "data/a\",\"path\":\"/data/c\"}]",
         "{\"data\":{\"b\":\"1\",\"c\":\"1\"},\"l\":[1,2,3]}", 0, ""},
        {"[{\"op\":\"copy\",\"from\":\"/data/nope\",\"path\":\"/data/b\"}]",
         "{\"data\":{\"a\":\"1\",\"b\":null},\"l\":[1,2,3]}", 0, ""},
        {"[{\"op\":\"move\",\"from\":\"/data/nope\",\"path\":\"/data/b\"}]", UNFIT, 422, "Invalid"},
        {"[{\"op\":\"move\",\"from\":\"/data\",\"path\":\"/data/b\"}]", UNFIT, 422, "Invalid"},
        {"[{\"op\":\"replace\",\"path\":\"\",\"value\":{\"a\":1}}]", "{\"a\":1}", 0, ""},
        {"[{\"op\":\"replace\",\"path\":\"\",\"value\":5}]", UNFIT, 422, "Invalid"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        run(object, sl_patch_json, &cases[i]);
}

/* The same operation many times over. */
static void run_many(const char *op, unsigned n, int status, const char *want) {
    struct sl_buf b;
    sl_buf_init(&b, (size_t)4 << 20);
    for (unsigned i = 0; i < n; i++)
        sl_buf_printf(&b, "%c%s", i ? ',' : '[', op);
    sl_buf_putc(&b, ']');
    run("{\"data\":{\"a\":\"1\"},\"l\":[1]}", sl_patch_json,
        &(struct patch_case){b.s, want, status,
                             status == 413 ? "RequestEntityTooLarge" : "Invalid"});
    sl_buf_done(&b);
}

static void test_json_ceilings(void **state) {
    (void)state;
    run_many("{\"op\":\"test\",\"path\":\"/data/a\",\"value\":\"1\"}", 10000, 0,
             "{\"data\":{\"a\":\"1\"},\"l\":[1]}");
    run_many("{\"op\":\"test\",\"path\":\"/data/a\",\"value\":\"1\"}", 10001, 413,
             "Request entity too large: The allowed maximum operations in a JSON patch is 10000, "
             "got 10001");
    /* Each copy is twice as large as the one before. */
    run_many("{\"op\":\"copy\",\"from\":\"/l\",\"path\":\"/l/-\"}", 40, 422, UNFIT);
    /* Each is one level deeper. */
    run_many("{\"op\":\"copy\",\"from\":\"/data\",\"path\":\"/data/a\"}", 200, 422, UNFIT);
}

static void test_merge(void **state) {
    static const char object[] = "{\"data\":{\"a\":\"1\"},\"l\":[1]}";
    static const struct patch_case cases[] = {
        {"{\"data\":{\"a\":null,\"b\":\"2\",\"c\":null}}", "{\"data\":{\"b\":\"2\"},\"l\":[1]}", 0,
         ""},
        {"{\"data\":null}", "{\"l\":[1]}", 0, ""},
        {"{\"l\":[2,{\"a\":null}],\"n\":{\"x\":{\"y\":null,\"z\":1}}}",
         "{\"data\":{\"a\":\"1\"},\"l\":[2,{}],\"n\":{\"x\":{\"z\":1}}}", 0, ""},
        {"{\"l\":{\"a\":1}}", "{\"data\":{\"a\":\"1\"},\"l\":{\"a\":1}}", 0, ""},
        {"[]",
         "error decoding patch: json: cannot unmarshal array into Go value of type "
         "map[string]interface {}",
         400, "BadRequest"},
        {"\"x\"",
         "error decoding patch: json: cannot unmarshal string into Go value of type "
         "map[string]interface {}",
         400, "BadRequest"},
        {"null", "Invalid JSON Patch", 400, "BadRequest"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        run(object, sl_patch_merge, &cases[i]);
}

static int strategic(yyjson_mut_doc *doc, yyjson_val *object, yyjson_val *patch,
                     yyjson_mut_val **ret, struct sl_patch_err *err) {
    return sl_patch_strategic(sl_schemas_find(types, "io.k8s.api.core.v1.Pod"), doc, object, patch,
                              ret, err);
}

static void test_strategic(void **state) {
    static const char object[] =
        "{\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":\"a\"},{\"name\":\"b\"}]},{"
        "\"name\":\"d\"}],\"tolerations\":[{\"key\":\"t\"}]}}";
#define C "{\"name\":\"c\",\"env\":[{\"name\":\"a\"},{\"name\":\"b\"}]}"
#define T "\"tolerations\":[{\"key\":\"t\"}]"
    static const struct patch_case cases[] = {
        {"{\"spec\":{\"containers\":[{\"name\":\"d\",\"image\":\"x\"},{\"name\":\"e\"}]}}",
         "{\"spec\":{\"containers\":[" C ",{\"name\":\"d\",\"image\":\"x\"},{\"name\":\"e\"}]," T
         "}}",
         0, ""},
        {"{\"spec\":{\"containers\":[{\"name\":\"c\",\"$patch\":\"delete\"}],\"tolerations\":[]}}",
         "{\"spec\":{\"containers\":[{\"name\":\"d\"}],\"tolerations\":[]}}", 0, ""},
        {"{\"spec\":{\"containers\":[{\"$patch\":\"replace\"},{\"name\":\"z\"}]}}",
         "{\"spec\":{\"containers\":[{\"name\":\"z\"}]," T "}}", 0, ""},
        {"{\"spec\":{\"$patch\":\"replace\",\"hostname\":\"h\"}}",
         "{\"spec\":{\"hostname\":\"h\"}}", 0, ""},
        {"{\"spec\":{\"$patch\":\"delete\"}}", "{\"spec\":{}}", 0, ""},
        {"{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"d\"},{\"name\":\"c\"}]}}",
         "{\"spec\":{\"containers\":[{\"name\":\"d\"}," C "]," T "}}", 0, ""},
        {"{\"spec\":{\"containers\":[{\"name\":\"c\",\"$setElementOrder/"
         "env\":[{\"name\":\"b\"},{\"name\":\"a\"}]}]}}",
         "{\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":\"b\"},{\"name\":\"a\"}]},{"
         "\"name\":\"d\"}]," T "}}",
         0, ""},
        {"{\"spec\":{\"$retainKeys\":[\"containers\"]}}",
         "{\"spec\":{\"containers\":[" C ",{\"name\":\"d\"}]}}", 0, ""},
        {"{\"spec\":{\"hostname\":\"x\",\"foo\":{\"a\":1,\"n\":null}}}",
         "{\"spec\":{\"containers\":[" C ",{\"name\":\"d\"}]," T
         ",\"hostname\":\"x\",\"foo\":{\"a\":1}}}",
         0, ""},
        {"{\"metadata\":{\"finalizers\":[\"a\"],\"labels\":{\"$patch\":\"delete\"}}}",
         "{\"spec\":{\"containers\":[" C ",{\"name\":\"d\"}]," T
         "},\"metadata\":{\"finalizers\":[\"a\"]}}",
         0, ""},
        {"{\"spec\":{\"containers\":[{\"image\":\"x\"}]}}",
         "map: map[image:x] does not contain declared merge key: name", 500, ""},
        {"{\"spec\":{\"containers\":[{\"x\":1.5,\"y\":null,\"z\":[true,\"a\"],\"w\":{\"b\":1}}]}}",
         "map: map[w:map[b:1] x:1.5 y:<nil> z:[true a]] does not contain declared merge key: name",
         500, ""},
        {"{\"spec\":{\"containers\":[\"x\"]}}",
         "list element types are not identical: [[map[env:[map[name:a] map[name:b]] name:c] "
         "map[name:d]] [x]]",
         500, ""},
        {"{\"spec\":{\"containers\":[{\"name\":\"c\",\"$patch\":\"bogus\"}]}}",
         "unknown patch type: bogus in map: map[$patch:bogus name:c]", 500, ""},
        {"{\"spec\":{\"containers\":[{\"name\":\"c\",\"$patch\":\"merge\"}]}}",
         "merging lists cannot yet be specified in the patch", 500, ""},
        {"{\"spec\":{\"containers\":[{\"$patch\":\"delete\"}]}}",
         "map: map[$patch:delete] does not contain declared merge key: name", 500, ""},
        {"{\"spec\":{\"$patch\":\"bogus\"}}", "unknown patch type: bogus in map: map[$patch:bogus]",
         500, ""},
        {"{\"spec\":{\"$setElementOrder/"
         "containers\":[{\"name\":\"z\"}],\"containers\":[{\"name\":\"c\",\"image\":\"k\"}]}}",
         "The order in patch list:\n[map[image:k name:c]]\n doesn't match $setElementOrder "
         "list:\n[map[name:z]]\n",
         500, ""},
        {"{\"spec\":{\"$setElementOrder/containers\":\"x\"}}",
         "expected a []interface {}, but received a string", 500, ""},
        {"{\"spec\":{\"$setElementOrder\":[]}}", "invalid patch format of setElementOrder list",
         400, "BadRequest"},
        {"{\"spec\":{\"$setElementOrder/nope\":[]}}",
         "unable to find api field in struct PodSpec for the json field \"nope\"", 500, ""},
        {"{\"spec\":{\"$setElementOrder/containers\":[\"x\"]}}", "value for key 0 is not a map",
         500, ""},
        {"{\"spec\":{\"$setElementOrder/containers\":[{\"noname\":\"b\"}]}}",
         "map: map[noname:b] does not contain declared merge key: name", 500, ""},
        {"{\"spec\":{\"$deleteFromPrimitiveList\":[1]}}", "invalid patch format of primitive list",
         400, "BadRequest"},
        {"{\"spec\":{\"$retainKeys\":\"x\"}}", "invalid patch format of retainKeys", 400,
         "BadRequest"},
        {"{\"spec\":{\"$retainKeys\":[\"containers\"],\"hostname\":\"x\"}}",
         "invalid patch format of retainKeys", 400, "BadRequest"},
        {"[]", "json: cannot unmarshal array into Go value of type map[string]interface {}", 400,
         "BadRequest"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        run(object, strategic, &cases[i]);
}

static void test_strategic_values(void **state) {
    static const char object[] = "{\"metadata\":{\"finalizers\":[\"a\",\"b\",\"c\"]}}";
    static const struct patch_case cases[] = {
        {"{\"metadata\":{\"finalizers\":[\"z\",\"b\"]}}",
         "{\"metadata\":{\"finalizers\":[\"z\",\"a\",\"b\",\"c\"]}}", 0, ""},
        {"{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a\",\"c\",\"x\"]}}",
         "{\"metadata\":{\"finalizers\":[\"b\"]}}", 0, ""},
        {"{\"metadata\":{\"$setElementOrder/finalizers\":[\"c\",\"b\",\"a\"]}}",
         "{\"metadata\":{\"finalizers\":[\"c\",\"b\",\"a\"]}}", 0, ""},
        {"{\"metadata\":{\"finalizers\":[[1]]}}",
         "list element types are not identical: [[a b c] [[1]]]", 500, ""},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        run(object, strategic, &cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_ceilings),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_strategic),
        cmocka_unit_test(test_strategic_values),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
