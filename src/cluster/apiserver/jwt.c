/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/jwt.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "core/base/base64.h"
#include "core/base/collection/hash.h"
#include "core/base/mem.h"
#include "lib/json/json.h"

#define COORDINATE 32 /* bytes of each half of a signature and of a point */

struct api_signer {
    EVP_PKEY *key;
    char x[64], y[64], id[64]; /* in base64 for URLs */
    /* Tokens whose signature was found right: a client sends the same one with each request. */
    char *known[API_JWT_KNOWN];
};

/* ---- base64 for URLs ---- */

static void encode(struct sl_buf *out, const void *bytes, size_t len) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(2 * API_JWT_MAX);

    sl_base64_encode(&b, bytes, len);
    for (size_t i = 0; i < b.len && b.s[i] != '='; i++)
        sl_buf_putc(out, b.s[i] == '+' ? '-' : b.s[i] == '/' ? '_' : b.s[i]);
}

/* Into 'out', which has room for len + 4; negative: it is none. */
static int64_t decode(const char *s, size_t len, char *out) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(API_JWT_MAX + 4);

    for (size_t i = 0; i < len; i++) {
        if (s[i] == '+' || s[i] == '/' || s[i] == '=')
            return -1;
        sl_buf_putc(&b, s[i] == '-' ? '+' : s[i] == '_' ? '/' : s[i]);
    }
    while (b.len % 4)
        sl_buf_putc(&b, '=');
    return sl_buf_full(&b) ? -1 : sl_base64_decode(sl_buf_str(&b), b.len, out);
}

/* ---- the key ---- */

static EVP_PKEY *read_key(const char *pem) {
    BIO *in = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, NULL, NULL) : NULL;

    BIO_free(in);
    return key;
}

static bool put_coordinate(EVP_PKEY *key, const char *which, char out[64]) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(128);
    unsigned char bytes[COORDINATE];
    BIGNUM *n = NULL;
    bool ok = EVP_PKEY_get_bn_param(key, which, &n) == 1 &&
              BN_bn2binpad(n, bytes, COORDINATE) == COORDINATE;

    BN_free(n);
    if (!ok)
        return false;
    encode(&b, bytes, sizeof bytes);
    memcpy(out, sl_buf_str(&b), b.len + 1);
    return true;
}

/* As clusters name keys: a digest of the public half. */
static bool put_id(EVP_PKEY *key, char out[64]) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(128);
    unsigned char *der = NULL, digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    int len = i2d_PUBKEY(key, &der);
    bool ok = len > 0 && EVP_Digest(der, (size_t)len, digest, &n, EVP_sha256(), NULL) == 1;

    OPENSSL_free(der);
    if (!ok)
        return false;
    encode(&b, digest, n);
    memcpy(out, sl_buf_str(&b), b.len + 1);
    return true;
}

int api_signer_new(const char *pem, struct api_signer **ret, struct sl_err *err) {
    struct api_signer *k = sl_alloc0(1, sizeof *k);
    char group[32] = "";

    k->key = pem ? read_key(pem) : EVP_EC_gen("P-256");
    if (!k->key || EVP_PKEY_get_group_name(k->key, group, sizeof group, NULL) != 1 ||
        strcmp(group, "prime256v1") != 0 ||
        !put_coordinate(k->key, OSSL_PKEY_PARAM_EC_PUB_X, k->x) ||
        !put_coordinate(k->key, OSSL_PKEY_PARAM_EC_PUB_Y, k->y) || !put_id(k->key, k->id)) {
        api_signer_free(k);
        return sl_err_set(err, SL_EINVAL,
                          "sa.key, which signs the tokens of service accounts, is no ECDSA key on "
                          "P-256; remove it to have it created again");
    }
    *ret = k;
    return SL_OK;
}

void api_signer_free(struct api_signer *k) {
    if (!k)
        return;
    EVP_PKEY_free(k->key);
    for (uint32_t i = 0; i < API_JWT_KNOWN; i++)
        sl_freep(&k->known[i]);
    sl_freep(&k);
}

void api_jwks_put(const struct api_signer *k, struct sl_jw *w) {
    sl_jw_object(w, NULL);
    sl_jw_array(w, "keys");
    sl_jw_object(w, NULL);
    sl_jw_str(w, "use", "sig");
    sl_jw_str(w, "kty", "EC");
    sl_jw_str(w, "kid", k->id);
    sl_jw_str(w, "crv", "P-256");
    sl_jw_str(w, "alg", "ES256");
    sl_jw_str(w, "x", k->x);
    sl_jw_str(w, "y", k->y);
    sl_jw_end(w);
    sl_jw_end(w);
    sl_jw_end(w);
}

/* ---- signatures: r and s, each as 32 bytes, where OpenSSL has a sequence of numbers ---- */

static void sign(EVP_PKEY *key, const char *text, size_t len, unsigned char out[2 * COORDINATE]) {
    unsigned char der[256];
    size_t n = sizeof der;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    sl_assert(ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
              EVP_DigestSign(ctx, der, &n, (const unsigned char *)text, len) == 1);
    EVP_MD_CTX_free(ctx);
    const unsigned char *at = der;
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &at, (long)n);
    sl_assert(sig && BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, COORDINATE) == COORDINATE &&
              BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + COORDINATE, COORDINATE) == COORDINATE);
    ECDSA_SIG_free(sig);
}

static bool verify(EVP_PKEY *key, const char *text, size_t len,
                   const unsigned char in[2 * COORDINATE]) {
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(in, COORDINATE, NULL), *s = BN_bin2bn(in + COORDINATE, COORDINATE, NULL);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char *der = NULL;

    sl_assert(sig && r && s && ctx && ECDSA_SIG_set0(sig, r, s) == 1);
    int n = i2d_ECDSA_SIG(sig, &der);
    bool right = n > 0 && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
                 EVP_DigestVerify(ctx, der, (size_t)n, (const unsigned char *)text, len) == 1;
    OPENSSL_free(der);
    ECDSA_SIG_free(sig);
    EVP_MD_CTX_free(ctx);
    return right;
}

/* ---- tokens ---- */

const char *api_jwt_sign(struct api_signer *k, struct sl_arena *arena, const char *claims,
                         size_t len) {
    _cleanup_(sl_buf_done) struct sl_buf head = SL_BUF(512), out = SL_BUF(4 * API_JWT_MAX);
    unsigned char signature[2 * COORDINATE];
    struct sl_jw w = SL_JW(&head);

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "alg", "ES256");
    sl_jw_str(&w, "kid", k->id);
    sl_jw_end(&w);
    encode(&out, head.s, head.len);
    sl_buf_putc(&out, '.');
    encode(&out, claims, len);
    sign(k->key, out.s, out.len, signature);
    sl_buf_putc(&out, '.');
    encode(&out, signature, sizeof signature);
    return sl_arena_strdup(arena, sl_buf_str(&out));
}

static bool is_signed(struct api_signer *k, const char *token, const char *last) {
    uint32_t at = (uint32_t)sl_hash_str(1, token) & (API_JWT_KNOWN - 1);
    char signature[2 * COORDINATE + 96];
    size_t len = strlen(last + 1);

    if (k->known[at] && strcmp(k->known[at], token) == 0)
        return true;
    if (len > 2 * COORDINATE * 4 / 3 + 2 || decode(last + 1, len, signature) != 2 * COORDINATE ||
        !verify(k->key, token, (size_t)(last - token), (const unsigned char *)signature))
        return false;
    sl_freep(&k->known[at]);
    k->known[at] = sl_strdup(token);
    return true;
}

yyjson_doc *api_jwt_claims(struct api_signer *k, const char *token) {
    const char *first = strchr(token, '.'), *last = strrchr(token, '.');

    if (!first || first == last || strlen(token) > API_JWT_MAX || !is_signed(k, token, last))
        return NULL;
    _cleanup_(sl_freep) char *text = sl_alloc(API_JWT_MAX + 8);
    int64_t len = decode(first + 1, (size_t)(last - first) - 1, text);
    return len > 0 ? sl_json_doc(text, (size_t)len) : NULL;
}
