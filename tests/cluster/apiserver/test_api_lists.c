/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists: selectors, pages, versions, and the forms an answer can have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "api.h"
#include "kube/client/secret.h"

#define CM "/api/v1/namespaces/default/configmaps"
#define TABLE "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

static void fill(struct api *a) {
    char body[200];

    for (int i = 0; i < 10; i++) {
        (void)snprintf(body, sizeof body,
                       "{\"metadata\":{\"name\":\"c%d\",\"labels\":{\"n\":\"%d\"%s}}}", i, i,
                       i % 2 ? ",\"odd\":\"yes\"" : "");
        assert_int_equal(api_post(a, CM, body), 201);
    }
    assert_int_equal(api_post(a, "/api/v1/namespaces/kube-system/configmaps",
                              "{\"metadata\":{\"name\":\"c0\"}}"),
                     201);
}

static void test_selectors(void **state) {
    static const struct {
        const char *query;
        int status, n;
    } rows[] = {
        {"", 200, 10},
        {"?labelSelector=odd", 200, 5},
        {"?labelSelector=!odd", 200, 5},
        {"?labelSelector=odd%3Dyes,n%3D3", 200, 1},
        {"?labelSelector=n%3D%3D3", 200, 1},
        {"?labelSelector=n!%3D3", 200, 9},
        {"?labelSelector=n+in+(1,2,x)", 200, 2},
        {"?labelSelector=n+notin+(1,2)", 200, 8},
        {"?labelSelector=n%3E7", 200, 2},
        {"?labelSelector=n+foo+(1)", 400, -1},
        {"?fieldSelector=metadata.name%3Dc3", 200, 1},
        {"?fieldSelector=metadata.name%3D%3Dc3", 200, 1},
        {"?fieldSelector=metadata.name!%3Dc3", 200, 9},
        {"?fieldSelector=metadata.name!%3Dc3,metadata.name!%3Dc4", 200, 8},
        {"?fieldSelector=metadata.namespace%3Dkube-system", 200, 0},
        {"?fieldSelector=spec.x%3D1", 400, -1},
        {"?fieldSelector=spec", 400, -1},
        {"?limit=abc", 400, -1},
        {"?resourceVersion=abc", 400, -1},
        {"?resourceVersion=999999", 504, -1},
        {"?resourceVersion=0", 200, 10},
        {"?resourceVersionMatch=Exact", 422, -1},
        {"?resourceVersionMatch=Foo&resourceVersion=1", 422, -1},
        {"?resourceVersion=1&resourceVersionMatch=NotOlderThan", 200, 10},
        {"?resourceVersion=1&resourceVersionMatch=Exact", 410, -1},
        {"?continue=abc", 400, -1},
        {"?sendInitialEvents=true", 422, -1},
    };
    struct api a;
    char line[300];

    (void)state;
    api_init(&a);
    fill(&a);
    for (size_t i = 0; i < SL_LEN(rows); i++) {
        (void)snprintf(line, sizeof line, CM "%s", rows[i].query);
        int status = api_get(&a, line);
        if (status != rows[i].status || api_size(&a, "items") != rows[i].n)
            fail_msg("%s: %d %s", rows[i].query, status, a.body);
    }
    assert_int_equal(api_get(&a, "/api/v1/configmaps"), 200);
    assert_int_equal(api_size(&a, "items"), 11 + 2); /* the server's own */
    assert_int_equal(api_get(&a, "/api/v1/configmaps?fieldSelector=metadata.name%3Dc0"), 200);
    assert_int_equal(api_size(&a, "items"), 2);
    api_done(&a);
}

/* Fields that kinds have of their own. */
static void test_fields(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, "/api/v1/namespaces/default/pods",
                              "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n1\","
                              "\"containers\":[{\"name\":\"c\",\"image\":"
                              "\"i\"}]}}"),
                     201);
    assert_int_equal(api_get(&a, "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1"), 200);
    assert_int_equal(api_size(&a, "items"), 1);
    assert_int_equal(api_get(&a, "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2"), 200);
    assert_int_equal(api_size(&a, "items"), 0);
    assert_int_equal(
        api_get(&a, "/api/v1/pods?fieldSelector=status.phase!%3DRunning,status.phase%3DPending"),
        200);
    assert_int_equal(api_size(&a, "items"), 1);
    assert_int_equal(api_get(&a, "/api/v1/pods?fieldSelector=spec.foo%3Dn2"), 400);
    assert_string_equal(api_at(&a, "message"), "field label not supported: spec.foo");
    api_done(&a);
}

/* Pages show one moment, whatever happens between them. */
static void test_pages(void **state) {
    struct api a;
    char line[1000], version[40];
    int seen = 0;

    (void)state;
    api_init(&a);
    fill(&a);
    assert_int_equal(api_get(&a, CM "?limit=4"), 200);
    assert_int_equal(api_size(&a, "items"), 4);
    assert_string_equal(api_at(&a, "metadata.remainingItemCount"), "6");
    (void)snprintf(version, sizeof version, "%s", api_at(&a, "metadata.resourceVersion"));
    while (*api_at(&a, "metadata.continue")) {
        seen += api_size(&a, "items");
        (void)snprintf(line, sizeof line, CM "?limit=4&continue=%s",
                       api_at(&a, "metadata.continue"));
        assert_int_equal(api_delete(&a, seen == 4 ? CM "/c5" : CM "/c9", NULL), 200);
        assert_int_equal(api_get(&a, line), 200);
        assert_string_equal(api_at(&a, "metadata.resourceVersion"), version);
    }
    assert_int_equal(seen + api_size(&a, "items"), 10);
    api_done(&a);
}

/* An expired token is answered so, and the client may go on with a new list. */
static void test_pages_expire(void **state) {
    struct api a;
    char first[1000];

    (void)state;
    api_init(&a);
    fill(&a);
    assert_int_equal(api_get(&a, CM "?limit=8"), 200);
    (void)snprintf(first, sizeof first, CM "?limit=8&continue=%s", api_at(&a, "metadata.continue"));
    for (int i = 0; i < 70; i++)
        assert_int_equal(api_get(&a, CM "?limit=3"), 200);
    assert_int_equal(api_get(&a, first), 410);
    assert_string_equal(api_at(&a, "reason"), "Expired");
    assert_true(*api_at(&a, "metadata.continue"));
    (void)snprintf(first, sizeof first, CM "?limit=8&continue=%s", api_at(&a, "metadata.continue"));
    assert_int_equal(api_get(&a, first), 200);
    assert_int_equal(api_size(&a, "items"), 2);
    api_done(&a);
}

static void test_forms(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    fill(&a);
    assert_int_equal(api_do(&a, "GET " CM, NULL, TABLE, NULL), 200);
    assert_string_equal(api_at(&a, "kind"), "Table");
    assert_string_equal(api_at(&a, "columnDefinitions.0.name"), "Name");
    assert_int_equal(api_size(&a, "rows"), 10);
    assert_string_equal(api_at(&a, "rows.3.cells.0"), "c3");
    assert_string_equal(api_at(&a, "rows.3.object.kind"), "PartialObjectMetadata");
    assert_int_equal(api_do(&a, "GET " CM "/c3", NULL, TABLE, NULL), 200);
    assert_int_equal(api_size(&a, "rows"), 1);
    assert_int_equal(api_do(&a, "GET " CM "?includeObject=Foo", NULL, TABLE, NULL), 422);
    assert_int_equal(
        api_do(&a, "GET " CM, NULL,
               "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
               NULL),
        200);
    assert_string_equal(api_at(&a, "kind"), "PartialObjectMetadataList");
    assert_string_equal(api_at(&a, "items.0.kind"), "PartialObjectMetadata");
    assert_int_equal(api_do(&a, "GET " CM "/c3", NULL,
                            "application/vnd.kubernetes.protobuf,application/json", NULL),
                     200);
    assert_string_equal(a.type, "application/json");
    assert_int_equal(
        api_do(&a, "GET " CM "/c3", NULL, "application/json;q=0.1,application/yaml;q=0.9", NULL),
        200);
    assert_string_equal(a.type, "application/yaml");
    assert_int_equal(api_do(&a, "GET " CM "/c3", NULL, "application/vnd.kubernetes.protobuf", NULL),
                     406);
    assert_int_equal(api_do(&a, "GET " CM "/c3", NULL, "text/html", NULL), 406);
    api_done(&a);
}

/* A token of one's own, with letters that take three times as much when they are written again. */
static void test_strange_token(void **state) {
    static const struct {
        int letters, status;
    } rows[] = {{200, 410}, {1400, 400}}; /* no object has the second name */
    struct sl_buf json = SL_BUF(4096), line = SL_BUF(16384);
    struct api a;

    (void)state;
    api_init(&a);
    for (size_t r = 0; r < SL_LEN(rows); r++) {
        sl_buf_clear(&json);
        sl_buf_puts(&json, "{\"v\":\"meta.k8s.io/v1\",\"rv\":7,\"id\":9,\"start\":\"/");
        for (int i = 0; i < rows[r].letters; i++)
            sl_buf_puts(&json, "\\b");
        sl_buf_puts(&json, "\"}");
        sl_buf_clear(&line);
        sl_buf_puts(&line, "/api/v1/configmaps?limit=1&continue=");
        sl_base64_encode(&line, json.s, json.len);
        assert_int_equal(api_get(&a, sl_buf_str(&line)), rows[r].status);
        if (rows[r].status != 410)
            continue;
        sl_buf_clear(&line); /* it goes on from there */
        sl_buf_printf(&line, "/api/v1/configmaps?limit=1&continue=%s",
                      api_at(&a, "metadata.continue"));
        assert_int_equal(api_get(&a, sl_buf_str(&line)), 200);
    }
    api_done(&a);
    sl_buf_done(&json);
    sl_buf_done(&line);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selectors), cmocka_unit_test(test_fields),
        cmocka_unit_test(test_pages),     cmocka_unit_test(test_pages_expire),
        cmocka_unit_test(test_forms),     cmocka_unit_test(test_strange_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
