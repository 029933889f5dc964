/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "sluice.NAMESPACE.NAME.EXPIRY.MAC": names have no dots that matter, since the parts are found
 * from both ends. The key is of this process: after a restart clients ask anew, as they do when a
 * token has run out.
 */
#include "cluster/apiserver/token.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "core/base/fmt.h"

#define PREFIX "sluice."
#define KEY_BYTES 32
#define MAC_BYTES 32
#define MAX_BYTES 1024u

static const unsigned char *key_of_process(void) {
    static unsigned char key[KEY_BYTES];
    static bool made;

    if (!made) {
        sl_assert(RAND_bytes(key, sizeof(key)) == 1);
        made = true;
    }
    return key;
}

static void put_mac(const char *text, size_t len, char out[2 * MAC_BYTES + 1]) {
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    sl_assert(HMAC(EVP_sha256(), key_of_process(), KEY_BYTES, (const unsigned char *)text, len, mac,
                   &n) &&
              n == MAC_BYTES);
    for (unsigned i = 0; i < n; i++)
        sl_fmt(out + (size_t)2 * i, 3, "%02x", mac[i]);
}

const char *sl_api_token_new(struct sl_arena *arena, const char *ns, const char *name,
                             sl_time until) {
    char mac[2 * MAC_BYTES + 1];
    const char *text =
        sl_arena_printf(arena, PREFIX "%s.%s.%lld", ns, name, (long long)(until / SL_SEC));

    put_mac(text, strlen(text), mac);
    return sl_arena_printf(arena, "%s.%s", text, mac);
}

const char *sl_api_token_user(struct sl_arena *arena, const char *token, sl_time now) {
    char mac[2 * MAC_BYTES + 1];
    const char *last = strrchr(token, '.'), *name, *expiry, *p;
    size_t body;

    if (strncmp(token, PREFIX, strlen(PREFIX)) != 0 || strlen(token) > MAX_BYTES)
        return NULL;
    body = (size_t)(last - token);
    put_mac(token, body, mac);
    if (strlen(last + 1) != strlen(mac) || CRYPTO_memcmp(last + 1, mac, strlen(mac)) != 0)
        return NULL;
    /* It is ours, so it has all its parts. */
    p = token + strlen(PREFIX);
    name = strchr(p, '.') + 1;
    for (expiry = last - 1; *expiry != '.'; expiry--)
        ;
    if (strtoll(expiry + 1, NULL, 10) < now / SL_SEC)
        return NULL;
    return sl_arena_printf(arena, "system:serviceaccount:%.*s:%.*s", (int)(name - 1 - p), p,
                           (int)(expiry - name), name);
}
