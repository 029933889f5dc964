/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates of the webhooks over the in-memory API. What must hold in every world, after every
 * event: each caller of the webhooks trusts the certificate that each ready replica serves with.
 */
#include "manager/serve/certs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include "core/base/collection/hash.h"
#include "core/base/mem.h"
#include "core/base/prng.h"
#include "fakeapi.h"
#include "kube/client/secret.h"
#include "lib/log/log.h"

#define SECRETS "/api/v1/namespaces/kueue-system/secrets"
#define SECRET SECRETS "/kueue-webhook-server-cert"
#define HOOKS "/apis/admissionregistration.k8s.io/v1/"
#define MUTATING HOOKS "mutatingwebhookconfigurations"
#define VALIDATING HOOKS "validatingwebhookconfigurations"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define NAME "kueue-webhook-service.kueue-system.svc"
#define VISIBILITY "kueue-visibility-server.kueue-system.svc"
#define API_SERVICES "/apis/apiregistration.k8s.io/v1/apiservices"
#define API_SERVICE API_SERVICES "/v1beta1.visibility.kueue.x-k8s.io"
#define DAY (24 * SL_HOUR)

enum { MAX = 3 };

struct world {
    struct fakeapi *a;
    struct sl_settings *settings;
    struct serve_certs *c[MAX]; /* NULL: dead */
    uint64_t seen[MAX];         /* generations that were checked */
    uint32_t n;
    bool changed;
    uint64_t checks;
    uint64_t
        trusted[64]; /* bundles and certificates that were found to fit; reading keys is slow */
};

/* ---- the world ---- */

static void on_change(void *ctx, const struct fakeapi_change *change) {
    struct world *w = ctx;
    (void)change;
    w->changed = true;
}

static void create(struct world *w, const char *path, const char *body) {
    assert_int_equal(fakeapi_do(w->a, SL_POST, path, SL_JSON, body, NULL), 201);
}

static void add_hooks(struct world *w, const char *path, const char *name) {
    char body[1024];
    (void)snprintf(
        body, sizeof body,
        "{\"metadata\":{\"name\":\"%s\"},\"webhooks\":["
        "{\"name\":\"a.kb.io\",\"clientConfig\":{\"service\":{\"name\":\"s\"}},\"rules\":[1]},"
        "{\"name\":\"b.kb.io\",\"clientConfig\":{\"service\":{\"name\":\"s\"},"
        "\"caBundle\":\"b2xk\"}}]}",
        name);
    create(w, path, body);
}

static void add_crd(struct world *w, const char *name, const char *conversion) {
    char body[1024];
    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"name\":\"%s.kueue.x-k8s.io\"},"
                   "\"spec\":{\"group\":\"g\",\"conversion\":%s}}",
                   name, conversion);
    create(w, CRDS, body);
}

static void add_api_service(struct world *w, const char *version, const char *service,
                            const char *more) {
    char body[1024];
    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"name\":\"%s.visibility.kueue.x-k8s.io\"},\"spec\":{"
                   "\"service\":{\"namespace\":\"kueue-system\",\"name\":\"%s\"}%s}}",
                   version, service, more);
    create(w, API_SERVICES, body);
}

static void open_world(struct world *w, uint32_t n, uint64_t seed) {
    static const struct fakeapi_kind api_services = {
        "apiregistration.k8s.io", "v1", "apiservices", "APIService", FAKEAPI_STATUS, NULL};
    struct sl_err err;
    const char *webhook =
        "{\"strategy\":\"Webhook\",\"webhook\":{\"clientConfig\":{\"service\":{}}}}";
    memset(w, 0, sizeof *w);
    w->a = fakeapi_new(seed);
    w->n = n;
    assert_int_equal(sl_settings_load(NULL, NULL, NULL, &w->settings, NULL, &err), 0);
    fakeapi_on_change(w->a, on_change, w);
    add_hooks(w, MUTATING, "kueue-mutating-webhook-configuration");
    add_hooks(w, VALIDATING, "kueue-validating-webhook-configuration");
    add_crd(w, "clusterqueues", webhook);
    add_crd(w, "workloads", webhook);
    add_crd(w, "cohorts", "{\"strategy\":\"None\"}");
    fakeapi_register(w->a, &api_services);
    add_api_service(w, "v1beta1", "kueue-visibility-server", ",\"insecureSkipTLSVerify\":true");
    for (uint32_t i = 0; i < n; i++)
        w->c[i] = serve_certs_new(fakeapi_port(w->a, i), w->settings, seed * MAX + i);
}

static void close_world(struct world *w) {
    for (uint32_t i = 0; i < w->n; i++)
        serve_certs_free(w->c[i]);
    fakeapi_free(w->a);
    sl_settings_free(w->settings);
}

static char *decoded(yyjson_val *v) {
    if (!yyjson_is_str(v))
        return NULL;
    char *out = sl_alloc(yyjson_get_len(v) / 4 * 3 + 1);
    assert_true(sl_base64_decode(yyjson_get_str(v), yyjson_get_len(v), out) >= 0);
    return out;
}

/* Of the Secret; free it. */
static char *part(struct world *w, const char *key) {
    return decoded(yyjson_obj_get(yyjson_obj_get(fakeapi_get(w->a, SECRET), "data"), key));
}

/* ---- what must hold ---- */

typedef void (*bundle_fn)(struct world *w, yyjson_val *bundle);

static void each_hook(struct world *w, const char *path, bundle_fn fn) {
    yyjson_val *hook;
    size_t i, n;
    yyjson_val *list = yyjson_obj_get(fakeapi_get(w->a, path), "webhooks");
    yyjson_arr_foreach (list, i, n, hook)
        fn(w, yyjson_obj_get(yyjson_obj_get(hook, "clientConfig"), "caBundle"));
}

static void each_bundle(struct world *w, bundle_fn fn) {
    static const char *const crds[] = {CRDS "/clusterqueues.kueue.x-k8s.io",
                                       CRDS "/workloads.kueue.x-k8s.io"};
    each_hook(w, MUTATING "/kueue-mutating-webhook-configuration", fn);
    each_hook(w, VALIDATING "/kueue-validating-webhook-configuration", fn);
    for (size_t i = 0; i < SL_LEN(crds); i++)
        fn(w, yyjson_ptr_get(fakeapi_get(w->a, crds[i]),
                             "/spec/conversion/webhook/clientConfig/caBundle"));
    fn(w, yyjson_ptr_get(fakeapi_get(w->a, API_SERVICE), "/spec/caBundle"));
}

static bool trusts(struct world *w, yyjson_val *bundle, const struct sl_cert *c) {
    if (!yyjson_is_str(bundle))
        return false;
    uint64_t key = sl_hash_bytes(1, yyjson_get_str(bundle), yyjson_get_len(bundle));
    key = sl_hash_bytes(key, c->cert_pem, strlen(c->cert_pem));
    if (w->trusted[key % SL_LEN(w->trusted)] == key)
        return true;
    char *pem = decoded(bundle);
    bool fits = sl_cert_fits(c, pem, NAME);
    sl_freep(&pem);
    if (fits)
        w->trusted[key % SL_LEN(w->trusted)] = key;
    return fits;
}

static void is_trusting(struct world *w, yyjson_val *bundle) {
    for (uint32_t i = 0; i < w->n; i++)
        if (w->c[i] && serve_certs_ready(w->c[i]))
            assert_true(trusts(w, bundle, serve_certs_serving(w->c[i])));
}

static void check(struct world *w) {
    for (uint32_t i = 0; i < w->n; i++)
        if (w->c[i] && w->seen[i] != serve_certs_generation(w->c[i])) {
            w->seen[i] = serve_certs_generation(w->c[i]);
            w->changed = true;
        }
    if (!w->changed)
        return;
    w->changed = false;
    w->checks++;
    each_bundle(w, is_trusting);
}

static void is_current(struct world *w, yyjson_val *bundle) {
    yyjson_val *ca = yyjson_obj_get(yyjson_obj_get(fakeapi_get(w->a, SECRET), "data"), "ca.crt");
    assert_true(yyjson_is_str(bundle) && yyjson_is_str(ca));
    assert_string_equal(yyjson_get_str(bundle), yyjson_get_str(ca));
}

/* All callers have what is in the Secret, and that is valid for a while. */
static void is_well(struct world *w) {
    char *ca = part(w, "ca.crt"), *ca_key = part(w, "ca.key"), *tls = part(w, "tls.crt");
    struct sl_err err;
    sl_time end;
    assert_int_equal(sl_cert_pair(ca, ca_key, &err), 0);
    assert_int_equal(sl_cert_expiry(tls, &end, &err), 0);
    assert_true(end > fakeapi_port(w->a, 0)->wall + 121 * DAY);
    for (uint32_t i = 0; i < w->n; i++)
        if (w->c[i]) {
            assert_true(serve_certs_ready(w->c[i]));
            assert_string_equal(serve_certs_serving(w->c[i])->cert_pem, tls);
            assert_true(sl_cert_fits(serve_certs_serving(w->c[i]), ca, NAME));
        }
    each_bundle(w, is_current);
    sl_freep(&ca);
    sl_freep(&ca_key);
    sl_freep(&tls);
}

static void pass(struct world *w, sl_span d) {
    sl_time until = fakeapi_now(w->a) + d;
    for (;;) {
        sl_time t = fakeapi_next(w->a);
        for (uint32_t i = 0; i < w->n; i++)
            if (w->c[i]) {
                serve_certs_tick(w->c[i]);
                sl_time next = serve_certs_next(w->c[i]);
                t = next < t ? next : t;
            }
        check(w);
        t = fakeapi_next(w->a) < t ? fakeapi_next(w->a) : t;
        if (t > until)
            break;
        (void)fakeapi_step(w->a, t);
        check(w);
    }
    (void)fakeapi_step(w->a, until);
}

static void step_clocks(struct world *w, sl_span d) {
    for (uint32_t i = 0; i < w->n; i++)
        fakeapi_step_clock(w->a, i, d);
}

static uint32_t count(const char *pem) {
    uint32_t n = 0;
    for (const char *s = pem; s && (s = strstr(s, "BEGIN CERTIFICATE")); s++)
        n++;
    return n;
}

/* How many CAs there are. */
static uint32_t cas(struct world *w) {
    char *ca = part(w, "ca.crt");
    uint32_t n = count(ca);
    sl_freep(&ca);
    return n;
}

/* ---- tests ---- */

static void test_fresh(void **state) {
    struct world w;
    (void)state;
    open_world(&w, 1, 1);
    assert_false(serve_certs_ready(w.c[0]));
    assert_null(serve_certs_serving(w.c[0]));
    pass(&w, SL_SEC);
    assert_int_equal(serve_certs_generation(w.c[0]), 1);
    assert_int_equal(cas(&w), 1);
    is_well(&w);
    for (const char *const *name = (const char *const[]){NAME, (NAME ".cluster.local"),
                                                         "kueue-webhook-service.kueue-system",
                                                         "kueue-webhook-service", VISIBILITY, NULL};
         *name; name++) {
        char *ca = part(&w, "ca.crt");
        assert_true(sl_cert_fits(serve_certs_serving(w.c[0]), ca, *name));
        sl_freep(&ca);
    }
    /* Nothing else was touched, and nothing more is written. */
    yyjson_val *hooks = yyjson_obj_get(
        fakeapi_get(w.a, MUTATING "/kueue-mutating-webhook-configuration"), "webhooks");
    assert_int_equal(yyjson_arr_size(hooks), 2);
    assert_non_null(yyjson_obj_get(yyjson_arr_get_first(hooks), "rules"));
    assert_null(yyjson_ptr_get(fakeapi_get(w.a, CRDS "/cohorts.kueue.x-k8s.io"),
                               "/spec/conversion/webhook"));
    uint64_t version = fakeapi_version(w.a);
    pass(&w, 10 * SL_MINUTE);
    assert_int_equal(fakeapi_version(w.a), version);
    assert_int_equal(serve_certs_generation(w.c[0]), 1);
    assert_false(yyjson_is_true(
        yyjson_ptr_get(fakeapi_get(w.a, API_SERVICE), "/spec/insecureSkipTLSVerify")));
    /* One that refers to another service is not ours. */
    add_api_service(&w, "v1beta2", "elsewhere", "");
    version = fakeapi_version(w.a);
    pass(&w, SL_MINUTE);
    assert_int_equal(fakeapi_version(w.a), version);
    /* A caller that is added later, or is reset, is patched. */
    add_hooks(&w, MUTATING, "kueue-mutating-webhook-configuration-unlabelled");
    assert_int_equal(fakeapi_do(w.a, SL_PATCH, CRDS "/workloads.kueue.x-k8s.io", SL_MERGE_PATCH,
                                "{\"spec\":{\"conversion\":{\"webhook\":{\"clientConfig\":"
                                "{\"labels\":1}}}}}",
                                NULL),
                     200);
    pass(&w, 31 * SL_SEC);
    each_hook(&w, MUTATING "/kueue-mutating-webhook-configuration-unlabelled", is_current);
    is_well(&w);
    close_world(&w);
}

static void test_race(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct world w;
        open_world(&w, 3, seed);
        pass(&w, 35 * SL_SEC);
        is_well(&w);
        assert_int_equal(cas(&w), 1);
        close_world(&w);
    }
}

/* What is there and fits is used as it is: Kueue's Secret, for one. What does not is replaced. */
static void test_found(void **state) {
    static const char *const others[] = {"", "\"ca.crt\":\"!\",\"tls.key\":\"AAAA\"",
                                         "\"ca.crt\":\"eA==\",\"ca.key\":\"eA==\"", NULL};
    struct sl_cert ca = {0}, tls = {0}, elsewhere = {0};
    struct sl_buf b;
    struct sl_err err;
    const char *const names[] = {NAME, VISIBILITY}; /* without either it is made anew */
    sl_time now = FAKEAPI_EPOCH;
    (void)state;
    assert_int_equal(sl_cert_ca("kueue-ca", now, 3650 * DAY, &ca, &err), 0);
    assert_int_equal(sl_cert_serving(&ca, names, 2, now, 3650 * DAY, &tls, &err), 0);
    assert_int_equal(sl_cert_serving(&ca, names, 1, now, 365 * DAY, &elsewhere, &err), 0);
    for (size_t i = 0; i < SL_LEN(others) + 1; i++) {
        const struct sl_cert *c = i == SL_LEN(others) ? &elsewhere : &tls;
        bool theirs = i + 1 >= SL_LEN(others);
        struct world w;
        open_world(&w, 2, i);
        sl_buf_init(&b, 65536);
        sl_buf_puts(
            &b, "{\"metadata\":{\"name\":\"kueue-webhook-server-cert\",\"labels\":{\"k\":\"v\"}},"
                "\"data\":{");
        if (theirs) {
            sl_buf_puts(&b, "\"ca.crt\":\"");
            sl_base64_encode(&b, ca.cert_pem, strlen(ca.cert_pem));
            sl_buf_puts(&b, "\",\"ca.key\":\"");
            sl_base64_encode(&b, ca.key_pem, strlen(ca.key_pem));
            sl_buf_puts(&b, "\",\"tls.crt\":\"");
            sl_base64_encode(&b, c->cert_pem, strlen(c->cert_pem));
            sl_buf_puts(&b, "\",\"tls.key\":\"");
            sl_base64_encode(&b, c->key_pem, strlen(c->key_pem));
            sl_buf_puts(&b, "\"");
        } else {
            sl_buf_puts(&b, others[i]);
        }
        sl_buf_puts(&b, "}}");
        create(&w, SECRETS, sl_buf_str(&b));
        pass(&w, 35 * SL_SEC);
        is_well(&w);
        assert_int_equal(strcmp(serve_certs_serving(w.c[0])->cert_pem, tls.cert_pem) == 0,
                         c == &tls && theirs);
        char *text = part(&w, "ca.crt");
        assert_int_equal(strcmp(text, ca.cert_pem) == 0, theirs);
        sl_freep(&text);
        assert_non_null(yyjson_ptr_get(fakeapi_get(w.a, SECRET), "/metadata/labels/k"));
        sl_buf_done(&b);
        close_world(&w);
    }
    sl_cert_done(&ca);
    sl_cert_done(&tls);
    sl_cert_done(&elsewhere);
}

/* Eight years: the certificate a dozen times, its CA once, and no call ever fails. */
static void test_rotation(void **state) {
    struct world w;
    uint32_t renewed = 0, new_ca = 0, most = 0;
    (void)state;
    open_world(&w, 2, 1);
    pass(&w, 2 * SL_MINUTE);
    char *tls = part(&w, "tls.crt"), *ca = part(&w, "ca.crt");
    for (sl_span age = 0; age < 2900 * DAY; age += 100 * DAY) {
        step_clocks(&w, 100 * DAY);
        for (int i = 0; i < 4; i++) {
            pass(&w, 40 * SL_SEC);
            char *t = part(&w, "tls.crt"), *c = part(&w, "ca.crt");
            renewed += strcmp(t, tls) != 0;
            new_ca += strncmp(c, ca, 200) != 0;
            most = count(c) > most ? count(c) : most;
            sl_freep(&tls);
            sl_freep(&ca);
            tls = t;
            ca = c;
        }
        is_well(&w);
    }
    assert_in_range(renewed, 8, 14);
    assert_int_equal(new_ca, 1);
    assert_int_equal(most, 2);
    assert_int_equal(cas(&w), 1); /* the old one is gone */
    sl_freep(&tls);
    sl_freep(&ca);
    close_world(&w);
}

static void test_lost(void **state) {
    struct world w;
    (void)state;
    open_world(&w, 2, 1);
    pass(&w, 2 * SL_MINUTE);
    char *before = part(&w, "ca.crt");
    assert_int_equal(fakeapi_do(w.a, SL_DELETE, SECRET, NULL, NULL, NULL), 200);
    pass(&w, 65 * SL_SEC);
    is_well(&w);
    char *after = part(&w, "ca.crt");
    assert_int_equal(count(after), 2); /* another one, and what the other replica served with */
    assert_string_not_equal(before, after);
    assert_non_null(strstr(after, before));
    step_clocks(&w, 2 * SL_HOUR);
    pass(&w, 3 * SL_MINUTE);
    assert_int_equal(cas(&w), 1);
    is_well(&w);
    sl_freep(&before);
    sl_freep(&after);
    close_world(&w);
}

/* Requests fail, hang and cross; replicas are killed; the Secret is deleted. What must hold holds,
 * and when the network has recovered so has all else. */
static void test_faults(void **state) {
    const char *asked = getenv("SL_SEEDS");
    uint64_t seeds = asked ? strtoull(asked, NULL, 10) / 1000 : 2, checks = 0;
    (void)state;
    for (uint64_t seed = 0; seed < seeds + 2; seed++) {
        struct world w;
        struct sl_prng p;
        struct fakeapi_faults f;
        sl_prng_init(&p, seed);
        open_world(&w, MAX, seed);
        fakeapi_some_faults(&p, 4, &f);
        f.clock_step = 0;
        fakeapi_set_faults(w.a, &f);
        for (int i = 0; i < 8; i++) {
            pass(&w, sl_prng_range(&p, SL_SEC, 3 * SL_MINUTE));
            uint32_t k = (uint32_t)sl_prng_below(&p, MAX);
            if (sl_prng_one_in(&p, 4)) {
                fakeapi_kill(w.a, k);
                serve_certs_free(w.c[k]);
                w.c[k] = serve_certs_new(fakeapi_port(w.a, k), w.settings, sl_prng_next(&p));
                w.seen[k] = 0;
            } else if (sl_prng_one_in(&p, 3)) {
                step_clocks(&w, sl_prng_range(&p, 0, 60 * DAY));
            }
        }
        fakeapi_set_faults(w.a, NULL);
        pass(&w, 5 * SL_MINUTE);
        is_well(&w);
        assert_int_equal(fakeapi_do(w.a, SL_DELETE, SECRET, NULL, NULL, NULL), 200);
        pass(&w, 3 * SL_MINUTE);
        is_well(&w);
        checks += w.checks;
        close_world(&w);
    }
    assert_true(checks > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fresh),    cmocka_unit_test(test_race), cmocka_unit_test(test_found),
        cmocka_unit_test(test_rotation), cmocka_unit_test(test_lost), cmocka_unit_test(test_faults),
    };
    sl_log_set(SL_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
