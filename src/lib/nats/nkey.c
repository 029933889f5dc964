/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/nats/nkey.h"

#include <ctype.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "core/base/base64.h"
#include "core/base/mem.h"

/* Two bytes of prefix, the seed, two bytes of checksum. */
#define RAW (2 + NATSC_SEED + 2)
#define LETTERS ((RAW * 8 + 4) / 5)
#define PREFIX_SEED (18u << 3) /* S */
#define PREFIX_USER (20u << 3) /* U */
#define SIGNATURE 64u

/* ---- .creds ---- */

static bool is_content(char c) {
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.' || c == '=';
}

/* The line between two lines of dashes, and what follows these; NULL: there is none. */
static const char *next_block(const char *text, struct sl_text *ret) {
    bool inside = false;

    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        size_t n = (size_t)(end - line);
        while (n > 0 && isspace((unsigned char)line[n - 1]))
            n--;
        if (n == 0)
            continue;
        if (n >= 3 && strncmp(line, "---", 3) == 0) {
            inside = !inside;
            continue;
        }
        if (!inside)
            continue;
        *ret = (struct sl_text){line, n};
        line = strchrnul(end, '-');
        return strchrnul(line, '\n');
    }
    return NULL;
}

/* ---- seeds ---- */

static int letter(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= '2' && c <= '7' ? c - '2' + 26 : -1;
}

/* base32 without padding. */
static bool decode(struct sl_text t, uint8_t out[static RAW]) {
    uint32_t bits = 0, n_bits = 0;
    size_t n = 0;

    if (t.n != LETTERS)
        return false;
    for (size_t i = 0; i < t.n; i++) {
        int v = letter(t.s[i]);
        if (v < 0)
            return false;
        bits = (bits << 5 | (uint32_t)v) & 0xfffu;
        n_bits += 5;
        if (n_bits < 8)
            continue;
        n_bits -= 8;
        out[n++] = (uint8_t)(bits >> n_bits);
    }
    return n == RAW;
}

/* CRC-16/XMODEM. */
static uint16_t checksum(const uint8_t *v, size_t n) {
    uint32_t crc = 0;

    for (size_t i = 0; i < n; i++) {
        crc ^= (uint32_t)v[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x8000u ? crc << 1 ^ 0x1021u : crc << 1;
    }
    return (uint16_t)crc;
}

/* The first byte has the prefix of seeds and three bits of what it is a seed of, the second the
 * other five. */
static bool read_seed(struct sl_text t, uint8_t seed[static NATSC_SEED]) {
    uint8_t raw[RAW];
    bool ok = decode(t, raw);

    ok = ok && (raw[0] & 0xf8u) == PREFIX_SEED &&
         ((raw[0] & 7u) << 5 | (raw[1] & 0xf8u) >> 3) == PREFIX_USER &&
         checksum(raw, RAW - 2) == (uint16_t)(raw[RAW - 2] | raw[RAW - 1] << 8);
    if (ok)
        memcpy(seed, raw + 2, NATSC_SEED);
    explicit_bzero(raw, sizeof raw);
    return ok;
}

static bool is_jwt(struct sl_text t) {
    for (size_t i = 0; i < t.n; i++)
        if (!is_content(t.s[i]))
            return false;
    return t.n <= NATSC_MAX_JWT;
}

int natsc_creds_read(const char *text, char **ret_jwt, uint8_t seed[static NATSC_SEED],
                     struct sl_err *err) {
    struct sl_text jwt, own;
    const char *rest = next_block(text, &jwt);

    if (!rest || !next_block(rest, &own))
        return sl_err_set(err, SL_EINVAL,
                          "expected a .creds text with a user JWT and a user nkey seed");
    if (!is_jwt(jwt))
        return sl_err_set(err, SL_EINVAL, "the credentials have no valid user JWT");
    if (!read_seed(own, seed))
        return sl_err_set(err, SL_EINVAL, "the credentials have no valid nkey seed of a user");
    *ret_jwt = sl_alloc(jwt.n + 1);
    memcpy(*ret_jwt, jwt.s, jwt.n);
    (*ret_jwt)[jwt.n] = '\0';
    return SL_OK;
}

/* ---- signatures ---- */

static void to_url(struct sl_buf *b, size_t from) {
    while (b->len > from && b->s[b->len - 1] == '=')
        sl_buf_truncate(b, b->len - 1);
    for (size_t i = from; i < b->len; i++)
        b->s[i] = b->s[i] == '+' ? '-' : b->s[i] == '/' ? '_' : b->s[i];
}

bool natsc_seed_sign(const uint8_t seed[static NATSC_SEED], struct sl_text nonce,
                     struct sl_buf *out) {
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, NATSC_SEED);
    EVP_MD_CTX *ctx = key ? EVP_MD_CTX_new() : NULL;
    unsigned char signature[SIGNATURE];
    size_t n = sizeof signature, from = out->len;

    bool ok = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
              EVP_DigestSign(ctx, signature, &n, (const unsigned char *)nonce.s, nonce.n) == 1 &&
              n == sizeof signature;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    ERR_clear_error();
    if (!ok)
        return false;
    sl_base64_encode(out, (const char *)signature, n);
    if (sl_buf_full(out))
        return false;
    to_url(out, from);
    return true;
}
