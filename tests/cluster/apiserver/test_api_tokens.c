/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of service accounts: for whom and how long they are valid, and pods that get them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "cluster/apiserver/token.h"
#include "lib/http/cert.h"
#include "lib/json/json.h"

#define NS "/api/v1/namespaces/default"
#define ACCOUNT "{\"metadata\":{\"name\":\"s\"}}"
#define REQUEST(spec)                                                                              \
    "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"spec\":{" spec "}}"
#define POD(more)                                                                                  \
    "{\"metadata\":{\"name\":\"p\"},\"spec\":{" more                                               \
    "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}],\"initContainers\":[{\"name\":\"d\","       \
    "\"image\":\"i\",\"volumeMounts\":[{\"name\":\"own\",\"mountPath\":\"" MOUNT "\"}]}],"         \
    "\"volumes\":[{\"name\":\"own\",\"emptyDir\":{}}]}}"
#define MOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

static sl_time now(void) {
    return (sl_time)time(NULL) * SL_SEC;
}

/* To be freed. */
static char *token(struct api *a, const char *spec) {
    char body[2000];

    (void)snprintf(body, sizeof body, REQUEST("%s"), spec);
    assert_int_equal(api_post(a, NS "/serviceaccounts/s/token", body), 201);
    return strdup(api_at(a, "status.token"));
}

static bool valid(struct api *a, const char *text, const char *const *audiences, sl_time at) {
    struct sl_arena arena = SL_ARENA(65536);
    struct sl_api_bearer b;
    bool is = sl_api_token_read(a->server, &arena, text, audiences, at, &b);

    if (is)
        assert_string_equal(b.user, "system:serviceaccount:default:s");
    sl_arena_done(&arena);
    return is;
}

static bool is_valid(struct api *a, const char *text) {
    return valid(a, text, NULL, now());
}

static void until_when_and_for_whom(void **state) {
    static const char *const two[] = {"x", "y", NULL}, *const other[] = {"z", NULL};
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, NS "/serviceaccounts", ACCOUNT), 201);
    char *plain = token(&a, ""), *named = token(&a, "\"audiences\":[\"y\",\"q\"]"),
         *brief = token(&a, "\"expirationSeconds\":600");
    assert_true(is_valid(&a, plain));
    assert_true(valid(&a, plain, NULL, now() + 3590 * SL_SEC));
    assert_false(valid(&a, plain, NULL, now() + 3610 * SL_SEC));
    assert_false(valid(&a, plain, NULL, now() - 3600 * SL_SEC)); /* before it was given out */
    assert_false(valid(&a, brief, NULL, now() + 610 * SL_SEC));
    assert_false(valid(&a, plain, two, now()));
    assert_false(is_valid(&a, named));
    assert_true(valid(&a, named, two, now()));
    assert_false(valid(&a, named, other, now()));
    free(plain);
    free(named);
    free(brief);
    api_done(&a);
}

static void what_is_none(void **state) {
    static const char *const none[] = {
        "", ".", "..", "...", "a.b.c", "sluice.default.s.9.00", "eyJhbGciOiJub25lIn0.e30."};
    struct api a, b;

    (void)state;
    api_init(&a);
    api_init(&b); /* with a key of its own */
    assert_int_equal(api_post(&a, NS "/serviceaccounts", ACCOUNT), 201);
    char *text = token(&a, "");
    for (size_t i = 0; i < SL_LEN(none); i++)
        assert_false(is_valid(&a, none[i]));
    for (size_t i = 0, n = strlen(text) - 1; i < n; i += 7) { /* any of its bytes */
        char was = text[i];
        text[i] = was == 'A' ? 'B' : 'A';
        assert_false(is_valid(&a, text));
        text[i] = was;
    }
    assert_true(is_valid(&a, text));
    assert_int_equal(api_post(&b, NS "/serviceaccounts", ACCOUNT), 201);
    assert_false(is_valid(&b, text));
    char *much = malloc(100001);
    memset(much, 'a', 100000);
    memcpy(much, "a.b", 3);
    much[99999] = '.';
    much[100000] = '\0';
    assert_false(is_valid(&a, much));
    free(much);
    free(text);
    api_done(&b);
    api_done(&a);
}

static void too_long(void **state) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(1u << 20);
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, NS "/serviceaccounts", ACCOUNT), 201);
    sl_buf_puts(&b, "{\"spec\":{\"audiences\":[\"x\"");
    for (int i = 0; i < 1000; i++)
        sl_buf_printf(&b, ",\"an-audience-with-a-name-%d\"", i);
    sl_buf_puts(&b, "]}}");
    assert_int_equal(api_post(&a, NS "/serviceaccounts/s/token", sl_buf_str(&b)), 400);
    assert_string_equal(api_at(&a, "message"), "the audiences are too long for a token");
    /* Of a question only so many are compared. */
    char *text = token(&a, "\"audiences\":[\"last\"]");
    const char *asked[SL_API_AUDIENCES + 2] = {NULL};
    for (uint32_t i = 0; i < SL_API_AUDIENCES; i++)
        asked[i] = "other";
    asked[SL_API_AUDIENCES - 1] = "last";
    assert_true(valid(&a, text, asked, now()));
    free(text);
    api_done(&a);
}

/* Of what was deleted none is valid, also if there is another of its name. */
static void bound(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, NS "/serviceaccounts", ACCOUNT), 201);
    assert_int_equal(api_post(&a, NS "/secrets", "{\"metadata\":{\"name\":\"x\"}}"), 201);
#define BOUND "\"boundObjectRef\":{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"name\":\"x\""
    char *plain = token(&a, ""), *secret = token(&a, BOUND "}");
    assert_int_equal(
        api_post(&a, NS "/serviceaccounts/s/token", REQUEST(BOUND ",\"uid\":\"other\"}")), 409);
    assert_true(is_valid(&a, secret));
    assert_int_equal(api_delete(&a, NS "/secrets/x", NULL), 200);
    assert_false(is_valid(&a, secret));
    assert_int_equal(api_post(&a, NS "/secrets", "{\"metadata\":{\"name\":\"x\"}}"), 201);
    assert_false(is_valid(&a, secret));
    assert_true(is_valid(&a, plain));
    assert_int_equal(api_delete(&a, NS "/serviceaccounts/s", NULL), 200);
    assert_int_equal(api_post(&a, NS "/serviceaccounts", ACCOUNT), 201);
    assert_false(is_valid(&a, plain));
    free(plain);
    free(secret);
    api_done(&a);
}

static void the_key_stays(void **state) {
    struct sl_err err;
    char *pem = NULL, *text;
    struct api a;

    (void)state;
    assert_int_equal(sl_cert_key(&pem, &err), 0);
    api_init_spec(&a, (struct sl_apiserver_spec){.token_key = pem});
    assert_int_equal(api_get(&a, "/openid/v1/jwks"), 200);
    char *id = strdup(api_at(&a, "keys.0.kid"));
    assert_int_equal(api_post(&a, NS "/serviceaccounts", ACCOUNT), 201);
    text = token(&a, "");
    assert_true(strchr(text, '.') != strrchr(text, '.'));
    api_done(&a);
    api_init_spec(&a, (struct sl_apiserver_spec){.token_key = pem});
    assert_int_equal(api_get(&a, "/openid/v1/jwks"), 200);
    assert_string_equal(api_at(&a, "keys.0.kid"), id);
    assert_int_equal(api_get(&a, "/.well-known/openid-configuration"), 200);
    assert_string_equal(api_at(&a, "issuer"), SL_API_ISSUER);
    free(id);
    free(text);
    api_done(&a);
    free(pem);
}

static void wrong_key(void **state) {
    struct sl_apiserver *s = NULL;
    struct sl_err err;
    uv_loop_t loop;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_true(
        sl_apiserver_new(
            &(struct sl_apiserver_spec){.loop = &loop, .version = "v1.36.0", .token_key = "no key"},
            &s, &err) < 0);
    assert_non_null(strstr(err.text, "sa.key"));
    while (uv_run(&loop, UV_RUN_NOWAIT))
        ;
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void pods_get_a_volume(void **state) {
    struct api a;

    (void)state;
    api_init_spec(&a, (struct sl_apiserver_spec){.service_accounts = true});
    assert_int_equal(api_post(&a, NS "/pods", POD("\"serviceAccountName\":\"s\",")), 403);
    assert_string_equal(api_at(&a, "message"),
                        "pods \"p\" is forbidden: error looking up service account default/s: "
                        "serviceaccount \"s\" not found");
    /* The account "default" is made if it is not there yet. */
    assert_int_equal(api_post(&a, NS "/pods", POD("")), 201);
    assert_string_equal(api_at(&a, "spec.containers.0.volumeMounts.0.mountPath"), MOUNT);
    assert_string_equal(api_at(&a, "spec.initContainers.0.volumeMounts.0.name"), "own");
    assert_string_equal(api_at(&a, "spec.initContainers.0.volumeMounts.1"), "");
    assert_int_equal(strncmp(api_at(&a, "spec.volumes.1.name"), "kube-api-access-", 16), 0);
    assert_string_equal(api_at(&a, "spec.volumes.1.projected.sources.0.serviceAccountToken.path"),
                        "token");
    assert_int_equal(api_get(&a, NS "/serviceaccounts/default"), 200);
    assert_int_equal(api_delete(&a, NS "/pods/p", NULL), 200);
    assert_int_equal(api_post(&a, NS "/pods", POD("\"automountServiceAccountToken\":false,")), 201);
    assert_string_equal(api_at(&a, "spec.volumes.1.name"), "");
    assert_int_equal(api_delete(&a, NS "/pods/p", NULL), 200);
    assert_int_equal(
        api_post(&a, NS "/serviceaccounts",
                 "{\"metadata\":{\"name\":\"s\"},\"automountServiceAccountToken\":false,"
                 "\"imagePullSecrets\":[{\"name\":\"r\"}]}"),
        201);
    assert_int_equal(api_post(&a, NS "/pods", POD("\"serviceAccountName\":\"s\",")), 201);
    assert_string_equal(api_at(&a, "spec.volumes.1.name"), "");
    assert_string_equal(api_at(&a, "spec.imagePullSecrets.0.name"), "r");
    api_done(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(until_when_and_for_whom),
        cmocka_unit_test(what_is_none),
        cmocka_unit_test(bound),
        cmocka_unit_test(the_key_stays),
        cmocka_unit_test(wrong_key),
        cmocka_unit_test(too_long),
        cmocka_unit_test(pods_get_a_volume),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
