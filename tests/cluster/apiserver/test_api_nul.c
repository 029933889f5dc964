/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts with a NUL inside, by every way in: names, kinds, keys, labels, paths of patches. Each is
 * refused with a reason; none is stored under what stands before the NUL. And selectors that are
 * longer than a table shows: whoever scales by one gets all of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "core/base/buf.h"

#define CM "/api/v1/namespaces/default/configmaps"
#define NUL "\\u0000"
#define MAP(meta, more)                                                                            \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{" meta "}" more "}"
#define CRD                                                                                        \
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","           \
    "\"metadata\":{\"name\":\"things.example.com\"},\"spec\":{\"group\":\"example.com\","          \
    "\"names\":{\"plural\":\"things\",\"kind\":\"Thing\"},\"scope\":\"Namespaced\",\"versions\":"  \
    "[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{"         \
    "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}"
#define THING(meta, more)                                                                          \
    "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{" meta "}" more "}"

/* Bodies of new objects in the namespace "default". */
static const struct {
    const char *path, *body, *said;
} posts[] = {
    {CM, MAP("\"name\":\"a" NUL "b\"", ""), "metadata.name: Invalid value: \"a\\x00b\""},
    {CM, MAP("\"name\":\"a" NUL "\"", ""), "metadata.name: Invalid value: \"a\\x00\""},
    {CM, MAP("\"name\":\"" NUL "\",\"generateName\":\"g-\"", ""), "metadata.name: Invalid value"},
    {CM, MAP("\"generateName\":\"g-" NUL "\"", ""), "metadata.generateName: Invalid value"},
    {CM, MAP("\"name\":\"a\",\"namespace\":\"default" NUL "x\"", ""),
     "metadata.namespace: Invalid value"},
    {CM, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap" NUL "x\",\"metadata\":{\"name\":\"a\"}}",
     "kind: Invalid value: \"ConfigMap\\x00x\""},
    {CM, "{\"apiVersion\":\"v1" NUL "x\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}",
     "apiVersion: Invalid value: \"v1\\x00x\""},
    {CM, MAP("\"name\":\"a\",\"labels\":{\"k\":\"v" NUL "w\"}", ""), "metadata.labels.k: Invalid"},
    {CM, MAP("\"name\":\"a\",\"labels\":{\"k" NUL "l\":\"v\"}", ""),
     "metadata.labels: Invalid value: \"k\\x00l\": a key must not contain a NUL"},
    {CM, MAP("\"name\":\"a\",\"annotations\":{\"k" NUL "\":\"v\"}", ""), "a key must not"},
    {CM, MAP("\"name\":\"a\",\"finalizers\":[\"x.io/a" NUL "b\"]", ""),
     "metadata.finalizers[0]: Invalid"},
    {CM,
     MAP("\"name\":\"a\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
         "\"name\":\"b\",\"uid\":\"u" NUL "\"}]",
         ""),
     "metadata.ownerReferences[0].uid: Invalid"},
    {CM, MAP("\"name\":\"a\"", ",\"data\":{\"k" NUL "l\":\"v\"}"), "data: Invalid value"},
    {CM, MAP("\"name\":\"a\"", ",\"da" NUL "ta\":{}"), "a key must not contain a NUL"},
    {"/api/v1/namespaces/default/pods",
     "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}],"
     "\"priorityClassName\":\"system-node-critical" NUL "\"}}",
     "spec.priorityClassName: Invalid value"},
    {"/api/v1/namespaces/default/pods",
     "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}],"
     "\"tolerations\":[{\"key\":\"k\",\"value\":\"v" NUL "\"}]}}",
     "spec.tolerations[0].value: Invalid value"},
    {"/api/v1/namespaces/default/pods",
     "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeSelector\":{\"a\":\"b" NUL "c\"},"
     "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
     "spec.nodeSelector.a: Invalid value"},
    {"/apis/example.com/v1/namespaces/default/things", THING("\"name\":\"a" NUL "b\"", ""),
     "metadata.name: Invalid value: \"a\\x00b\""},
    {"/apis/example.com/v1/namespaces/default/things",
     THING("\"name\":\"a\"", ",\"spec\":{\"deep\":[{\"k" NUL "\":1}]}"), "a key must not"},
};

static void begin(struct api *a) {
    api_init(a);
    assert_int_equal(api_post(a, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD),
                     201);
    api_turn(a, 20);
}

static void assert_refused(struct api *a, int status, int wanted, const char *said) {
    const char *message = api_at(a, "message");
    if (status != wanted || !strstr(message, said))
        fail_msg("%d \"%s\" instead of %d \"%s\"", status, message, wanted, said);
}

static void test_bodies(void **state) {
    struct api a;

    (void)state;
    begin(&a);
    for (size_t i = 0; i < SL_LEN(posts); i++) {
        int status = api_post(&a, posts[i].path, posts[i].body);
        assert_refused(&a, status, 400, posts[i].said);
    }
    /* nothing of it is there under a shorter name */
    assert_int_equal(api_get(&a, CM), 200);
    assert_null(strstr(a.body, "\"name\":\"a\""));
    assert_null(strstr(a.body, "\"name\":\"g-"));
    assert_int_equal(api_get(&a, "/apis/example.com/v1/namespaces/default/things"), 200);
    assert_int_equal(api_size(&a, "items"), 0);
    api_done(&a);
}

/* Where a text is its owner's, it may have any character, and comes back as it was. */
static void test_own_texts(void **state) {
    struct api a;

    (void)state;
    begin(&a);
    assert_int_equal(api_post(&a, CM,
                              MAP("\"name\":\"a\",\"annotations\":{\"k\":\"v" NUL "w\"}",
                                  ",\"data\":{\"k\":\"v" NUL "w\"}")),
                     201);
    assert_int_equal(api_get(&a, CM "/a"), 200);
    assert_non_null(strstr(a.body, "\"data\":{\"k\":\"v" NUL "w\"}"));
    assert_non_null(strstr(a.body, "\"annotations\":{\"k\":\"v" NUL "w\"}"));
    assert_int_equal(api_post(&a, "/apis/example.com/v1/namespaces/default/things",
                              THING("\"name\":\"a\"", ",\"spec\":{\"name\":\"v" NUL "w\"}")),
                     201);
    assert_non_null(strstr(a.body, "\"spec\":{\"name\":\"v" NUL "w\"}"));
    api_done(&a);
}

/* The result of a patch is checked alike when all is done. */
static void test_patches(void **state) {
    static const struct {
        const char *kind, *patch;
        int status;
        const char *said;
    } cases[] = {
        {"merge", "{\"metadata\":{\"labels\":{\"k\":\"v" NUL "\"}}}", 400, "metadata.labels.k"},
        {"merge", "{\"data\":{\"k" NUL "\":\"v\"}}", 400, "a key must not contain a NUL"},
        {"strategic", "{\"data\":{\"k" NUL "\":\"v\"}}", 400, "a key must not contain a NUL"},
        {"apply", MAP("\"name\":\"a\"", ",\"data\":{\"k" NUL "\":\"v\"}"), 400, "NUL"},
        {"json", "[{\"op\":\"add\",\"path\":\"/data/k" NUL "\",\"value\":\"v\"}]", 422,
         "rejected our request"},
        {"json", "[{\"op\":\"copy\",\"from\":\"/data" NUL "\",\"path\":\"/data/x\"}]", 422,
         "rejected our request"},
        {"json", "[{\"op\":\"add\",\"path\":\"/data/x\",\"value\":{\"k" NUL "\":1}}]", 400,
         "a key must not contain a NUL"},
        {"json", "[{\"op\":\"add\",\"path\":\"/metadata/labels\",\"value\":{\"k\":\"v" NUL "\"}}]",
         422, "metadata.labels.k: Invalid value"},
        {"json", "[{\"op\":\"replace\",\"path\":\"/kind\",\"value\":\"ConfigMap" NUL "\"}]", 422,
         "kind"},
    };
    struct api a;

    (void)state;
    begin(&a);
    assert_int_equal(api_post(&a, CM, MAP("\"name\":\"a\"", ",\"data\":{\"k\":\"v\"}")), 201);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        int status = api_patch(&a, CM "/a?fieldManager=m", cases[i].kind, cases[i].patch);
        assert_refused(&a, status, cases[i].status, cases[i].said);
    }
    assert_int_equal(api_get(&a, CM "/a"), 200);
    assert_string_equal(api_at(&a, "data.k"), "v");
    assert_null(strstr(a.body, "labels"));
    api_done(&a);
}

/* The end of a path was computed by its length, while its copy ended at the NUL: what lay behind
 * came back in the refusal, and was written to. */
static void test_paths_do_not_reach_beyond(void **state) {
    struct api a;
    char far[3000], patch[3200];

    (void)state;
    begin(&a);
    assert_int_equal(api_post(&a, CM, MAP("\"name\":\"a\"", ",\"data\":{\"k\":\"v\"}")), 201);
    for (size_t n = 40; n < sizeof far; n += 740) {
        memset(far, 'A', n);
        far[n] = '\0';
        sl_assert((size_t)snprintf(patch, sizeof patch,
                                   "[{\"op\":\"add\",\"path\":\"/data/" NUL "%s\",\"value\":"
                                   "\"x\"}]",
                                   far) < sizeof patch);
        assert_int_equal(api_patch(&a, CM "/a", "json", patch), 422);
        assert_true(a.len < 400);
    }
    assert_int_equal(api_get(&a, CM "/a"), 200);
    assert_string_equal(api_at(&a, "data.k"), "v");
    api_done(&a);
}

#define LABELS 300 /* together more than 8 KiB, too */

static void test_selector_of_scale_is_whole(void **state) {
    _cleanup_(sl_buf_done) struct sl_buf labels = SL_BUF(1 << 16), body = SL_BUF(1 << 18);
    struct api a;
    int found = 1;

    (void)state;
    for (int i = 0; i < LABELS; i++)
        sl_buf_printf(&labels, "%s\"example.com/a-long-name-of-a-label-%03d\":\"v%03d\"",
                      i ? "," : "", i, i);
    sl_buf_printf(&body,
                  "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{%s}},"
                  "\"template\":{\"metadata\":{\"labels\":{%s}},\"spec\":{\"containers\":["
                  "{\"name\":\"c\",\"image\":\"i\"}]}}}}",
                  labels.s, labels.s);
    begin(&a);
    assert_int_equal(api_post(&a, "/apis/apps/v1/namespaces/default/deployments", body.s), 201);
    assert_int_equal(api_get(&a, "/apis/apps/v1/namespaces/default/deployments/d/scale"), 200);
    for (const char *s = api_at(&a, "status.selector"); (s = strchr(s, ',')); s++)
        found++;
    assert_int_equal(found, LABELS);
    assert_non_null(strstr(api_at(&a, "status.selector"), "label-299=v299"));
    api_done(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_own_texts),
        cmocka_unit_test(test_patches),
        cmocka_unit_test(test_paths_do_not_reach_beyond),
        cmocka_unit_test(test_selector_of_scale_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
