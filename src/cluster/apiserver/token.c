/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "sluice.NAMESPACE.NAME.UID.EXPIRY.MAC": names have no dots that matter, since the parts are found
 * from both ends. The key is of this process: after a restart clients ask anew, as they do when a
 * token has run out.
 */
#include "cluster/apiserver/token.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "cluster/apiserver/kinds/kind.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

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
                             const char *uid, sl_time until) {
    char mac[2 * MAC_BYTES + 1];
    const char *text =
        sl_arena_printf(arena, PREFIX "%s.%s.%s.%lld", ns, name, uid, (long long)(until / SL_SEC));

    put_mac(text, strlen(text), mac);
    return sl_arena_printf(arena, "%s.%s", text, mac);
}

/* The account as it was when the token was made: not deleted, nor created again since. */
static bool account_exists(struct sl_apiserver *s, const char *ns, const char *name,
                           const char *uid) {
    _cleanup_(sl_json_docp) yyjson_doc *d =
        s ? api_kind_read(s, api_kind_find(s, "", "serviceaccounts"), ns, name) : NULL;

    return d && strcmp(sl_json_str(yyjson_doc_get_root(d), "metadata.uid"), uid) == 0;
}

/* The start of the part that ends before 'end'. */
static const char *part_before(const char *end) {
    for (end--; end[-1] != '.'; end--)
        ;
    return end;
}

const char *sl_api_token_user(struct sl_apiserver *s, struct sl_arena *arena, const char *token,
                              sl_time now) {
    char mac[2 * MAC_BYTES + 1];
    const char *last = strrchr(token, '.'), *name, *uid, *expiry, *p;
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
    expiry = part_before(last);
    uid = part_before(expiry - 1);
    if (strtoll(expiry, NULL, 10) < now / SL_SEC)
        return NULL;
    p = sl_arena_strndup(arena, p, (size_t)(name - 1 - p));
    name = sl_arena_strndup(arena, name, (size_t)(uid - 1 - name));
    uid = sl_arena_strndup(arena, uid, (size_t)(expiry - 1 - uid));
    return account_exists(s, p, name, uid)
               ? sl_arena_printf(arena, "system:serviceaccount:%s:%s", p, name)
               : NULL;
}
