/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients with certificates: whose name is believed, and whose is not; header lines that come
 * several times; and answers in pieces.
 */
#include "http_fixture.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "core/base/mem.h"

static void put_header(void *ctx, const char *name, const char *value) {
    if (strncasecmp(name, "x-", 2) == 0)
        sl_buf_printf(ctx, " %s=%s", name, value);
}

static void put_peer(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    char peer[8] = "";
    sl_assert(ctx == &sv);
    sl_buf_printf(&a->body, "%s", rq->peer(rq, peer, sizeof peer) ? peer : "nobody");
    rq->headers(rq, put_header, &a->body);
}

static void serve(const char *client_cas) {
    new_cert();
    sv.spec = (struct sl_httpd_spec){.host = "127.0.0.1",
                                     .cert_pem = sv.cert.cert_pem,
                                     .key_pem = sv.cert.key_pem,
                                     .client_cas = client_cas,
                                     .max_body = MAX_BODY,
                                     .max_connections = MAX_CONNECTIONS,
                                     .handler = put_peer,
                                     .ctx = &sv};
    on_loop(job_start);
}

/* ---- certificates of clients ---- */

static char *text_of(BIO *b) {
    char *data, *s;
    long n = BIO_get_mem_data(b, &data);
    s = sl_alloc0((size_t)n + 1, 1);
    memcpy(s, data, (size_t)n);
    BIO_free(b);
    return s;
}

static void add(X509 *x, int nid, const char *value) {
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    assert_non_null(e);
    assert_int_equal(X509_add_ext(x, e, -1), 1);
    X509_EXTENSION_free(e);
}

/* purpose NULL: for any. */
static struct sl_cert client_cert(const struct sl_cert *ca, const char *cn, int cn_len,
                                  const char *purpose, long from_s, long to_s) {
    BIO *c = BIO_new_mem_buf(ca->cert_pem, -1), *k = BIO_new_mem_buf(ca->key_pem, -1);
    X509 *issuer = PEM_read_bio_X509(c, NULL, NULL, NULL), *x = X509_new();
    EVP_PKEY *ca_key = PEM_read_bio_PrivateKey(k, NULL, NULL, NULL), *key = EVP_EC_gen("P-256");
    BIO_free(c);
    BIO_free(k);
    assert_true(issuer && ca_key && key && x);
    assert_int_equal(X509_set_version(x, X509_VERSION_3), 1);
    (void)ASN1_INTEGER_set(X509_get_serialNumber(x), 7);
    (void)X509_gmtime_adj(X509_getm_notBefore(x), from_s);
    (void)X509_gmtime_adj(X509_getm_notAfter(x), to_s);
    assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
                                                (const unsigned char *)cn, cn_len, -1, 0),
                     1);
    (void)X509_set_issuer_name(x, X509_get_subject_name(issuer));
    (void)X509_set_pubkey(x, key);
    add(x, NID_basic_constraints, "critical,CA:FALSE");
    if (purpose)
        add(x, NID_ext_key_usage, purpose);
    assert_true(X509_sign(x, ca_key, EVP_sha256()) > 0);
    c = BIO_new(BIO_s_mem());
    k = BIO_new(BIO_s_mem());
    (void)PEM_write_bio_X509(c, x);
    (void)PEM_write_bio_PKCS8PrivateKey(k, key, NULL, NULL, 0, NULL, NULL);
    X509_free(issuer);
    X509_free(x);
    EVP_PKEY_free(ca_key);
    EVP_PKEY_free(key);
    return (struct sl_cert){text_of(c), text_of(k)};
}

/* Who the server thinks it is. */
static const char *seen_as(const struct sl_cert *cert) {
    CURL *c = client(sv.ca.cert_pem);
    if (cert) {
        struct curl_blob b = {cert->cert_pem, strlen(cert->cert_pem), CURL_BLOB_COPY};
        struct curl_blob k = {cert->key_pem, strlen(cert->key_pem), CURL_BLOB_COPY};
        assert_int_equal(curl_easy_setopt(c, CURLOPT_SSLCERT_BLOB, &b), CURLE_OK);
        assert_int_equal(curl_easy_setopt(c, CURLOPT_SSLKEY_BLOB, &k), CURLE_OK);
    }
    assert_int_equal(fetch(c, "/"), 200);
    curl_easy_cleanup(c);
    return got;
}

static void test_names(void **state) {
    struct sl_cert ours = {0}, theirs = {0};
    (void)state;
    assert_int_equal(sl_cert_ca("clients", now(), SL_HOUR, &ours, NULL), 0);
    assert_int_equal(sl_cert_ca("clients", now(), SL_HOUR, &theirs, NULL), 0);
    serve(ours.cert_pem);
    assert_int_equal(sv.result, 0);
    const struct {
        const struct sl_cert *ca;
        const char *cn;
        int cn_len;
        const char *purpose;
        long from_s, to_s;
        const char *seen;
    } cases[] = {
        {&ours, "front", -1, "clientAuth", -60, 60, "front"},
        {&ours, "front", -1, NULL, -60, 60, "front"},
        {&ours, "front", -1, "serverAuth", -60, 60, "nobody"},
        {&ours, "front", -1, "clientAuth", -60, -30, "nobody"},
        {&ours, "front", -1, "clientAuth", 30, 60, "nobody"},
        {&theirs, "front", -1, "clientAuth", -60, 60, "nobody"}, /* an authority of that name */
        {&ours, "fr\0nt", 5, "clientAuth", -60, 60, "nobody"},
        {&ours, "much too long", -1, "clientAuth", -60, 60, "nobody"},
    };
    assert_string_equal(seen_as(NULL), "nobody");
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_cert c = client_cert(cases[i].ca, cases[i].cn, cases[i].cn_len, cases[i].purpose,
                                       cases[i].from_s, cases[i].to_s);
        if (strcmp(seen_as(&c), cases[i].seen) != 0)
            fail_msg("case %zu: seen as %s", i, got);
        sl_cert_done(&c);
    }
    /* Others are trusted from now on; a text that is none changes nothing. */
    struct sl_cert c = client_cert(&theirs, "front", -1, "clientAuth", -60, 60);
    sv.spec.client_cas = "nonsense";
    on_loop(job_certificate);
    assert_true(sv.result < 0);
    assert_string_equal(seen_as(&c), "nobody");
    sv.spec.client_cas = theirs.cert_pem;
    on_loop(job_certificate);
    assert_int_equal(sv.result, 0);
    assert_string_equal(seen_as(&c), "front");
    sv.spec.client_cas = NULL;
    on_loop(job_certificate);
    assert_int_equal(sv.result, 0);
    assert_string_equal(seen_as(&c), "nobody");
    sl_cert_done(&c);
    sl_cert_done(&ours);
    sl_cert_done(&theirs);
}

static void test_headers(void **state) {
    struct curl_slist *headers = NULL;
    (void)state;
    start_server(false);
    on_loop(job_stop);
    sv.spec.handler = put_peer;
    on_loop(job_start);
    assert_int_equal(sv.result, 0);
    CURL *c = client(NULL);
    for (const char *const *h = (const char *const[]){"X-A: 1", "x-b;", "X-A: 2", NULL}; *h; h++)
        headers = curl_slist_append(headers, *h);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    assert_int_equal(fetch(c, "/"), 200);
    assert_string_equal(got, "nobody X-A=1 x-b= X-A=2");
    curl_slist_free_all(headers);
    curl_easy_cleanup(c);
}

/* ---- long answers ---- */

static struct { uint32_t left, begun, ended; } pieces;

static bool next_piece(void *ctx, struct sl_buf *piece) {
    sl_assert(ctx == &pieces);
    for (uint32_t i = 0; pieces.left % 3 && i < 1000; i++) /* some are empty */
        sl_buf_printf(piece, "%u,", pieces.left);
    return --pieces.left > 0;
}

static void last_piece(void *ctx) {
    sl_assert(ctx == &pieces);
    pieces.ended++;
}

static void in_pieces(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    sl_assert(ctx == &sv);
    if (sv.hold)
        sl_http_defer(rq);
    pieces.left = 300;
    pieces.begun++;
    sl_buf_puts(&a->body, "first ");
    if (strcmp(rq->path, "/too-big") == 0)
        sl_buf_fail(&a->body);
    a->more = next_piece;
    a->drop = last_piece;
    a->ctx = &pieces;
}

static void test_pieces(void **state) {
    (void)state;
    for (int tls = 0; tls < 2; tls++) {
        memset(&pieces, 0, sizeof pieces);
        start_server(tls);
        on_loop(job_stop);
        sv.spec.handler = in_pieces;
        on_loop(job_start);
        CURL *c = client(tls ? sv.ca.cert_pem : NULL);
        assert_int_equal(fetch(c, "/"), 200);
        assert_int_equal(strncmp(got, "first 299,299,", 14), 0);
        assert_string_equal(got + n_got - 5, ",1,1,");
        assert_int_equal(fetch(c, "/"), 200); /* on the same connection */
        assert_int_equal(connects(c), 0);
        curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
        assert_int_equal(fetch(c, "/"), 200);
        assert_int_equal(n_got, 0);
        curl_easy_setopt(c, CURLOPT_NOBODY, 0L);
        assert_int_equal(fetch(c, "/too-big"), 500);
        on_loop(job_hold);
        curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, 1500L);
        assert_int_equal(fetch(c, "/"), -CURLE_OPERATION_TIMEDOUT);
        sv.hold = false;
        curl_easy_cleanup(c);
        on_loop(job_stop);
        assert_int_equal(pieces.begun, 5);
        assert_int_equal(pieces.ended, 5); /* each is let go of, however it ends */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_headers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pieces, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
