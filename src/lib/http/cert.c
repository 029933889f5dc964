/* SPDX-License-Identifier: Apache-2.0 */
/*
 * X.509 with OpenSSL 3. Names are put into certificates as they are, never through OpenSSL's
 * configuration language, in which a comma would begin another name. Error queues do not outlive a
 * call, and a password is never prompted for.
 */
#include "lib/http/cert.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/mem.h"

#define EARLIER SL_HOUR
#define SERIAL_BITS 127
#define DNS_NAME ((size_t)253)

#define FREEP(type, release)                                                                       \
    static void type##_freep(type **p) {                                                           \
        release(*p);                                                                               \
    }
FREEP(BIO, BIO_free_all)
FREEP(BIGNUM, BN_free)
FREEP(EVP_PKEY, EVP_PKEY_free)
FREEP(EVP_PKEY_CTX, EVP_PKEY_CTX_free)
FREEP(X509, X509_free)
FREEP(GENERAL_NAME, GENERAL_NAME_free)
FREEP(GENERAL_NAMES, GENERAL_NAMES_free)

void sl_cert_done(struct sl_cert *c) {
    if (c->key_pem)
        OPENSSL_cleanse(c->key_pem, strlen(c->key_pem));
    sl_freep(&c->cert_pem);
    sl_freep(&c->key_pem);
}

/* OpenSSL's error, after ours. */
static int openssl_error(struct sl_err *err, const char *what) {
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    int r = sl_err_set(err, SL_EINVAL, "%s: %s", what, why ? why : "empty or too long");

    ERR_clear_error();
    return r;
}

/* ---- PEM ---- */

static BIO *open_pem(const char *pem) {
    size_t len = pem ? strnlen(pem, SL_CERT_PEM + 1) : 0;

    return len == 0 || len > SL_CERT_PEM ? NULL : BIO_new_mem_buf(pem, (int)len);
}

static int no_password(char *buf, int size, int writing, void *ctx) {
    if (size > 0)
        buf[0] = '\0';
    (void)writing;
    (void)ctx;
    return -1;
}

/* The first certificate of the text, or NULL. */
static X509 *read_cert(const char *pem) {
    _cleanup_(BIO_freep) BIO *b = open_pem(pem);

    return b ? PEM_read_bio_X509(b, NULL, no_password, NULL) : NULL;
}

static EVP_PKEY *read_key(const char *pem) {
    _cleanup_(BIO_freep) BIO *b = open_pem(pem);

    return b ? PEM_read_bio_PrivateKey(b, NULL, no_password, NULL) : NULL;
}

/* A key holds its public half too, which alone is compared with the certificate: in a damaged one
 * it may be right where the secret is not, and no signature could be verified. */
static bool key_matches(X509 *x, EVP_PKEY *key) {
    _cleanup_(EVP_PKEY_CTX_freep) EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);

    return X509_check_private_key(x, key) == 1 && ctx && EVP_PKEY_pairwise_check(ctx) == 1;
}

static char *text_of(BIO *b) {
    char *data;
    size_t n = (size_t)BIO_get_mem_data(b, &data);
    char *s = sl_alloc(n + 1);

    memcpy(s, data, n);
    s[n] = '\0';
    return s;
}

static int write_pem(X509 *x, EVP_PKEY *key, struct sl_cert *ret, struct sl_err *err) {
    _cleanup_(BIO_freep) BIO *c = BIO_new(BIO_s_mem());
    _cleanup_(BIO_freep) BIO *k = BIO_new(BIO_s_secmem());

    if (!c || !k || PEM_write_bio_X509(c, x) != 1 ||
        PEM_write_bio_PKCS8PrivateKey(k, key, NULL, NULL, 0, NULL, NULL) != 1)
        return openssl_error(err, "cannot write the certificate");
    *ret = (struct sl_cert){.cert_pem = text_of(c), .key_pem = text_of(k)};
    return SL_OK;
}

int sl_cert_key(char **ret_pem, struct sl_err *err) {
    _cleanup_(EVP_PKEY_freep) EVP_PKEY *key = EVP_EC_gen("P-256");
    _cleanup_(BIO_freep) BIO *k = BIO_new(BIO_s_secmem());

    if (!key || !k || PEM_write_bio_PKCS8PrivateKey(k, key, NULL, NULL, 0, NULL, NULL) != 1)
        return openssl_error(err, "cannot make a key");
    *ret_pem = text_of(k);
    return SL_OK;
}

/* ---- making ---- */

static bool set_serial(X509 *x) {
    _cleanup_(BIGNUM_freep) BIGNUM *n = BN_new();

    return n && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
           BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));
}

static bool set_life(X509 *x, sl_time now, sl_span life) {
    time_t from = (time_t)(sl_time_add(now, -EARLIER) / SL_SEC);
    time_t to = (time_t)(sl_time_add(now, life) / SL_SEC);

    return ASN1_TIME_set(X509_getm_notBefore(x), from) && ASN1_TIME_set(X509_getm_notAfter(x), to);
}

static bool set_subject(X509 *x, const char *common_name) {
    const unsigned char *cn = (const unsigned char *)common_name;

    return X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8, cn, -1, -1,
                                      0) == 1;
}

static bool add_extension(X509 *x, X509 *issuer, int nid, const char *value) {
    X509V3_CTX ctx;

    X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = e && X509_add_ext(x, e, -1) == 1;
    X509_EXTENSION_free(e);
    return ok;
}

static GENERAL_NAME *make_name(const char *name) {
    _cleanup_(GENERAL_NAME_freep) GENERAL_NAME *g = GENERAL_NAME_new();

    if (!g)
        return NULL;
    ASN1_OCTET_STRING *ip = a2i_IPADDRESS(name);
    if (ip) {
        GENERAL_NAME_set0_value(g, GEN_IPADD, ip);
        return TAKE_PTR(g);
    }
    ERR_clear_error(); /* it is no address, then */
    ASN1_IA5STRING *dns = ASN1_IA5STRING_new();
    if (!dns || ASN1_STRING_set(dns, name, -1) != 1) {
        ASN1_IA5STRING_free(dns);
        return NULL;
    }
    GENERAL_NAME_set0_value(g, GEN_DNS, dns);
    return TAKE_PTR(g);
}

static bool add_names(X509 *x, const char *const *names, uint32_t n) {
    _cleanup_(GENERAL_NAMES_freep) GENERAL_NAMES *all = GENERAL_NAMES_new();

    if (!all)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        _cleanup_(GENERAL_NAME_freep) GENERAL_NAME *g = make_name(names[i]);
        if (!g || sk_GENERAL_NAME_push(all, g) <= 0)
            return false;
        g = NULL; /* it is in the list */
    }
    return X509_add1_ext_i2d(x, NID_subject_alt_name, all, 0, X509V3_ADD_DEFAULT) == 1;
}

/* What all certificates have. An issuer of NULL is the certificate itself. */
static X509 *new_cert(EVP_PKEY *key, const char *common_name, X509 *issuer, sl_time now,
                      sl_span life) {
    _cleanup_(X509_freep) X509 *x = X509_new();

    if (!x || X509_set_version(x, X509_VERSION_3) != 1 || !set_serial(x) ||
        !set_life(x, now, life) || !set_subject(x, common_name) ||
        X509_set_issuer_name(x, X509_get_subject_name(issuer ? issuer : x)) != 1 ||
        X509_set_pubkey(x, key) != 1 || !add_extension(x, x, NID_subject_key_identifier, "hash"))
        return NULL;
    return TAKE_PTR(x);
}

int sl_cert_ca(const char *common_name, sl_time now, sl_span life, struct sl_cert *ret,
               struct sl_err *err) {
    _cleanup_(EVP_PKEY_freep) EVP_PKEY *key = EVP_EC_gen("P-256");
    _cleanup_(X509_freep) X509 *x = key ? new_cert(key, common_name, NULL, now, life) : NULL;

    if (!x || !add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
        !add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") ||
        X509_sign(x, key, EVP_sha256()) <= 0)
        return openssl_error(err, "cannot make a CA");
    return write_pem(x, key, ret, err);
}

int sl_cert_serving(const struct sl_cert *ca, const char *const *names, uint32_t n, sl_time now,
                    sl_span life, struct sl_cert *ret, struct sl_err *err) {
    _cleanup_(X509_freep) X509 *issuer = read_cert(ca->cert_pem);
    _cleanup_(EVP_PKEY_freep) EVP_PKEY *issuer_key = read_key(ca->key_pem);

    if (!issuer || !issuer_key || !key_matches(issuer, issuer_key))
        return openssl_error(err, "the CA cannot be used");
    if (n == 0)
        return sl_err_set(err, SL_EINVAL, "a serving certificate needs a name");
    for (uint32_t i = 0; i < n; i++)
        if (!names[i][0] || strnlen(names[i], DNS_NAME + 1) > DNS_NAME)
            return sl_err_set(err, SL_EINVAL, "name %u of the certificate: 1 to %zu characters",
                              i + 1, DNS_NAME);
    _cleanup_(EVP_PKEY_freep) EVP_PKEY *key = EVP_EC_gen("P-256");
    _cleanup_(X509_freep) X509 *x = key ? new_cert(key, "sluice", issuer, now, life) : NULL;
    if (!x || !add_extension(x, issuer, NID_authority_key_identifier, "keyid:always") ||
        !add_extension(x, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
        !add_extension(x, issuer, NID_key_usage, "critical,digitalSignature") ||
        !add_extension(x, issuer, NID_ext_key_usage, "serverAuth") || !add_names(x, names, n) ||
        X509_sign(x, issuer_key, EVP_sha256()) <= 0)
        return openssl_error(err, "cannot make a serving certificate");
    return write_pem(x, key, ret, err);
}

/* ---- queries ---- */

int sl_cert_pair(const char *cert_pem, const char *key_pem, struct sl_err *err) {
    _cleanup_(X509_freep) X509 *x = read_cert(cert_pem);

    if (!x)
        return openssl_error(err, "cannot read the certificate");
    _cleanup_(EVP_PKEY_freep) EVP_PKEY *key = read_key(key_pem);
    if (!key)
        return openssl_error(err, "cannot read the key");
    if (!key_matches(x, key)) {
        ERR_clear_error();
        return sl_err_set(err, SL_EINVAL, "the key does not belong to the certificate");
    }
    return SL_OK;
}

int sl_cert_expiry(const char *cert_pem, sl_time *ret, struct sl_err *err) {
    _cleanup_(X509_freep) X509 *x = read_cert(cert_pem);
    struct tm tm;

    if (!x || ASN1_TIME_to_tm(X509_get0_notAfter(x), &tm) != 1)
        return openssl_error(err, "cannot read the certificate");
    time_t t = timegm(&tm);
    *ret = t >= SL_TIME_NEVER / SL_SEC ? SL_TIME_NEVER : (sl_time)t * SL_SEC;
    return SL_OK;
}

static bool signed_by(X509 *x, const char *ca_pem) {
    _cleanup_(BIO_freep) BIO *b = open_pem(ca_pem);

    for (;;) {
        _cleanup_(X509_freep) X509 *ca = b ? PEM_read_bio_X509(b, NULL, no_password, NULL) : NULL;
        if (!ca)
            return false;
        if (X509_check_issued(ca, x) == X509_V_OK && X509_verify(x, X509_get0_pubkey(ca)) == 1)
            return true;
    }
}

bool sl_cert_fits(const struct sl_cert *c, const char *ca_pem, const char *name) {
    _cleanup_(X509_freep) X509 *x = read_cert(c->cert_pem);
    _cleanup_(EVP_PKEY_freep) EVP_PKEY *key = read_key(c->key_pem);
    bool fits = x && key && key_matches(x, key) && signed_by(x, ca_pem) &&
                (X509_check_host(x, name, 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL) == 1 ||
                 X509_check_ip_asc(x, name, 0) == 1);

    ERR_clear_error();
    return fits;
}
