/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate of an instance: a CURVE key pair, which is X25519, in the text form of CZMQ's
 * zcert. All brokers have the same, so whoever has none is not let in.
 */
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "core/base/stamp.h"
#include "manager/minicluster/mc_int.h"

#define KEY_BYTES 32u

void mc_z85(const unsigned char key[32], char ret[MC_KEY_TEXT]) {
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 ".-:+=^!/*?&<>()[]{}@%$#";
    for (uint32_t i = 0; i < KEY_BYTES / 4; i++) {
        uint32_t v = (uint32_t)key[4 * i] << 24 | (uint32_t)key[4 * i + 1] << 16 |
                     (uint32_t)key[4 * i + 2] << 8 | key[4 * i + 3];
        for (uint32_t k = 5; k-- > 0; v /= 85)
            ret[5 * i + k] = digits[v % 85];
    }
    ret[MC_KEY_TEXT - 1] = '\0';
}

static void make_pair(unsigned char public_key[KEY_BYTES], unsigned char secret_key[KEY_BYTES]) {
    size_t n_public = KEY_BYTES, n_secret = KEY_BYTES;
    EVP_PKEY *pair = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
    sl_assert(pair && EVP_PKEY_get_raw_public_key(pair, public_key, &n_public) == 1 &&
              EVP_PKEY_get_raw_private_key(pair, secret_key, &n_secret) == 1);
    EVP_PKEY_free(pair);
}

void mc_curve_put(struct sl_buf *b, const char *host, sl_time now) {
    unsigned char public_key[KEY_BYTES], secret_key[KEY_BYTES];
    char text[MC_KEY_TEXT], at[SL_STAMP_TEXT];
    make_pair(public_key, secret_key);
    sl_buf_printf(b, "#   A CURVE certificate in the form of CZMQ, made at %s.\n",
                  sl_stamp(now, at));
    sl_buf_puts(b, "#   It has a secret key in it: whoever has that can join the instance.\n\n");
    sl_buf_puts(b, "metadata\n    name = \"flux-cert-generator\"\n");
    sl_buf_printf(b, "    keygen.hostname = \"%s\"\ncurve\n", host);
    mc_z85(public_key, text);
    sl_buf_printf(b, "    public-key = \"%s\"\n", text);
    mc_z85(secret_key, text);
    sl_buf_printf(b, "    secret-key = \"%s\"\n", text);
    OPENSSL_cleanse(secret_key, sizeof secret_key);
    OPENSSL_cleanse(text, sizeof text);
}

void mc_random_text(char *ret, size_t size) {
    static const char letters[] = "abcdefghijkmnopqrstuvwxyz23456789";
    unsigned char bytes[64];
    sl_assert(size <= sizeof bytes && RAND_bytes(bytes, (int)size) == 1);
    for (size_t i = 0; i + 1 < size; i++)
        ret[i] = letters[bytes[i] % (sizeof letters - 1)];
    ret[size - 1] = '\0';
}
