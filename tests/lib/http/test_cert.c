/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates: the chain verifies as a TLS client would verify it, names, expiry, what fits what.
 */
#include "lib/http/cert.h"

#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW (INT64_C(1790000000) * SL_SEC) /* September 2026 */
#define YEAR (INT64_C(365) * 24 * SL_HOUR)

static const char *const names[] = {
    "kueue-webhook-service.kueue-system.svc",
    "kueue-webhook-service.kueue-system.svc.cluster.local",
    "*.example.org",
    "127.0.0.1",
    "fd00::1",
};

static struct sl_cert ca, cert;

static int setup(void **state) {
    struct sl_err err;

    (void)state;
    assert_int_equal(sl_cert_ca("kueue-ca", NOW, 10 * YEAR, &ca, &err), 0);
    assert_int_equal(sl_cert_serving(&ca, names, SL_LEN(names), NOW, YEAR, &cert, &err), 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    sl_cert_done(&ca);
    sl_cert_done(&cert);
    assert_null(cert.cert_pem);
    sl_cert_done(&cert); /* an empty one is fine */
    return 0;
}

static X509 *parse(const char *pem) {
    BIO *b = BIO_new_mem_buf(pem, -1);
    X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);

    assert_non_null(x);
    BIO_free(b);
    return x;
}

/* What a TLS client finds: X509_V_OK or the fault. */
static int verify(const char *cert_pem, const char *ca_pem, const char *host, const char *ip,
                  sl_time at) {
    X509 *x = parse(cert_pem), *root = parse(ca_pem);
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();

    assert_int_equal(X509_STORE_add_cert(store, root), 1);
    assert_int_equal(X509_STORE_CTX_init(ctx, store, x, NULL), 1);
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(ctx);
    assert_int_equal(X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER), 1);
    assert_int_equal(X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT), 1);
    X509_VERIFY_PARAM_set_time(param, (time_t)(at / SL_SEC));
    if (host)
        assert_int_equal(X509_VERIFY_PARAM_set1_host(param, host, 0), 1);
    if (ip)
        assert_int_equal(X509_VERIFY_PARAM_set1_ip_asc(param, ip), 1);
    int ok = X509_verify_cert(ctx), fault = X509_STORE_CTX_get_error(ctx);
    assert_int_equal(ok == 1, fault == X509_V_OK);
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
    X509_free(x);
    X509_free(root);
    return fault;
}

static void test_chain(void **state) {
    static const struct {
        const char *host, *ip;
        sl_time at;
        int want;
    } t[] = {
        {"kueue-webhook-service.kueue-system.svc", NULL, NOW, X509_V_OK},
        {"kueue-webhook-service.kueue-system.svc.cluster.local", NULL, NOW, X509_V_OK},
        {"a.example.org", NULL, NOW, X509_V_OK},
        {NULL, "127.0.0.1", NOW, X509_V_OK},
        {NULL, "fd00:0::1", NOW, X509_V_OK},
        {"other.svc", NULL, NOW, X509_V_ERR_HOSTNAME_MISMATCH},
        {"sluice", NULL, NOW, X509_V_ERR_HOSTNAME_MISMATCH}, /* the subject is no name */
        {NULL, "127.0.0.2", NOW, X509_V_ERR_IP_ADDRESS_MISMATCH},
        {NULL, NULL, NOW - SL_HOUR, X509_V_OK},
        {NULL, NULL, NOW - SL_HOUR - SL_SEC, X509_V_ERR_CERT_NOT_YET_VALID},
        {NULL, NULL, NOW + YEAR - SL_SEC, X509_V_OK},
        {NULL, NULL, NOW + YEAR + SL_SEC, X509_V_ERR_CERT_HAS_EXPIRED},
    };
    struct sl_cert other;

    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++)
        assert_int_equal(verify(cert.cert_pem, ca.cert_pem, t[i].host, t[i].ip, t[i].at),
                         t[i].want);
    /* Another CA of the same name is another CA. */
    assert_int_equal(sl_cert_ca("kueue-ca", NOW, YEAR, &other, NULL), 0);
    assert_int_not_equal(verify(cert.cert_pem, other.cert_pem, NULL, NULL, NOW), X509_V_OK);
    sl_cert_done(&other);
}

static void test_content(void **state) {
    X509 *x = parse(cert.cert_pem), *root = parse(ca.cert_pem);
    struct sl_cert again;

    (void)state;
    assert_int_equal(X509_check_ca(root), 1);
    assert_int_equal(X509_check_ca(x), 0);
    assert_int_equal(X509_get_version(x), X509_VERSION_3);
    char cn[64];
    assert_true(
        X509_NAME_get_text_by_NID(X509_get_subject_name(root), NID_commonName, cn, sizeof cn) > 0);
    assert_string_equal(cn, "kueue-ca");
    assert_string_equal(OBJ_nid2sn(X509_get_signature_nid(x)), "ecdsa-with-SHA256");
    assert_non_null(strstr(cert.key_pem, "-----BEGIN PRIVATE KEY-----"));
    /* Serial numbers are positive, long and never the same. */
    assert_int_equal(sl_cert_serving(&ca, names, 1, NOW, YEAR, &again, NULL), 0);
    X509 *y = parse(again.cert_pem);
    assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(x), X509_get0_serialNumber(y)), 0);
    assert_int_equal(ASN1_STRING_length(X509_get0_serialNumber(x)), 16);
    assert_int_equal(ASN1_STRING_type(X509_get0_serialNumber(x)), V_ASN1_INTEGER);
    assert_string_not_equal(cert.key_pem, again.key_pem);
    sl_cert_done(&again);
    X509_free(x);
    X509_free(y);
    X509_free(root);
}

static void test_expiry(void **state) {
    struct sl_cert far;
    struct sl_err err;
    sl_time at = 0;

    (void)state;
    assert_int_equal(sl_cert_expiry(cert.cert_pem, &at, &err), 0);
    assert_int_equal(at, NOW + YEAR);
    assert_int_equal(sl_cert_expiry(ca.cert_pem, &at, &err), 0);
    assert_int_equal(at, NOW + 10 * YEAR);
    /* 2262 is where our time ends. */
    assert_int_equal(sl_cert_ca("far", NOW, INT64_MAX, &far, &err), 0);
    assert_int_equal(sl_cert_expiry(far.cert_pem, &at, &err), 0);
    assert_true(at >= INT64_MAX - SL_SEC);
    sl_cert_done(&far);

    static const char *const bad[] = {
        NULL, "", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"};
    for (size_t i = 0; i < SL_LEN(bad); i++) {
        assert_int_equal(sl_cert_expiry(bad[i], &at, &err), SL_EINVAL);
        assert_non_null(strstr(err.text, "cannot read the certificate: "));
    }
    assert_int_equal(sl_cert_expiry(cert.key_pem, &at, &err), SL_EINVAL);
}

static void test_fits(void **state) {
    struct sl_cert other_ca, other;
    char *both;

    (void)state;
    assert_int_equal(sl_cert_ca("kueue-ca", NOW, YEAR, &other_ca, NULL), 0);
    assert_int_equal(sl_cert_serving(&other_ca, names, 1, NOW, YEAR, &other, NULL), 0);
    assert_true(sl_cert_fits(&cert, ca.cert_pem, names[0]));
    assert_true(sl_cert_fits(&cert, ca.cert_pem, "127.0.0.1"));
    assert_true(sl_cert_fits(&cert, ca.cert_pem, "FD00:0:0::1"));
    assert_false(sl_cert_fits(&cert, ca.cert_pem, "elsewhere"));
    assert_false(sl_cert_fits(&cert, other_ca.cert_pem, names[0]));
    const struct sl_cert mixed = {cert.cert_pem, other.key_pem};
    assert_false(sl_cert_fits(&mixed, ca.cert_pem, names[0]));
    /* A bundle of two, as during a rotation. */
    both = malloc(strlen(ca.cert_pem) + strlen(other_ca.cert_pem) + 1);
    assert_non_null(both);
    memcpy(both, other_ca.cert_pem, strlen(other_ca.cert_pem));
    memcpy(both + strlen(other_ca.cert_pem), ca.cert_pem, strlen(ca.cert_pem) + 1);
    assert_true(sl_cert_fits(&cert, both, names[0]));
    assert_true(sl_cert_fits(&other, both, names[0]));
    free(both);

    const struct sl_cert none = {0}, odd = {(char *)"x", (char *)"y"};
    assert_false(sl_cert_fits(&none, ca.cert_pem, names[0]));
    assert_false(sl_cert_fits(&odd, ca.cert_pem, names[0]));
    assert_false(sl_cert_fits(&cert, NULL, names[0]));
    assert_false(sl_cert_fits(&cert, "", names[0]));
    sl_cert_done(&other);
    sl_cert_done(&other_ca);
}

static void test_pair(void **state) {
    struct sl_err err;

    (void)state;
    assert_int_equal(sl_cert_pair(cert.cert_pem, cert.key_pem, &err), 0);
    assert_int_equal(sl_cert_pair(cert.cert_pem, ca.key_pem, &err), SL_EINVAL);
    assert_string_equal(err.text, "the key does not belong to the certificate");
    assert_int_equal(sl_cert_pair("", cert.key_pem, &err), SL_EINVAL);
    assert_string_equal(err.text, "cannot read the certificate: empty or too long");
    assert_int_equal(sl_cert_pair(cert.cert_pem, "x", &err), SL_EINVAL);
    assert_non_null(strstr(err.text, "cannot read the key: "));
}

static void test_refused(void **state) {
    struct sl_cert out = {0};
    struct sl_err err;
    char longer[300];
    const struct sl_cert swapped = {ca.cert_pem, cert.key_pem}, none = {0};

    (void)state;
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(sl_cert_ca(longer, NOW, YEAR, &out, &err), SL_EINVAL);
    assert_int_equal(sl_cert_serving(&ca, names, 0, NOW, YEAR, &out, &err), SL_EINVAL);
    assert_int_equal(sl_cert_serving(&ca, (const char *[]){""}, 1, NOW, YEAR, &out, &err),
                     SL_EINVAL);
    assert_int_equal(sl_cert_serving(&ca, (const char *[]){longer}, 1, NOW, YEAR, &out, &err),
                     SL_EINVAL);
    assert_int_equal(sl_cert_serving(&swapped, names, 1, NOW, YEAR, &out, &err), SL_EINVAL);
    assert_string_equal(err.text, "the CA cannot be used: key values mismatch");
    assert_int_equal(sl_cert_serving(&none, names, 1, NOW, YEAR, &out, &err), SL_EINVAL);
    assert_null(out.cert_pem);

    /* A comma does not begin another name. */
    assert_int_equal(sl_cert_serving(&ca, (const char *[]){"a,DNS:evil"}, 1, NOW, YEAR, &out, &err),
                     0);
    assert_false(sl_cert_fits(&out, ca.cert_pem, "evil"));
    sl_cert_done(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain), cmocka_unit_test(test_content), cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_fits),  cmocka_unit_test(test_refused), cmocka_unit_test(test_pair),
    };
    return cmocka_run_group_tests_name("cert", tests, setup, teardown);
}
