/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of credentials; see the header. */
#include "kube/client/secret.h"

#include <string.h>

const char *sl_pem_problem(const char *s, size_t len) {
    static const char begin[] = "-----BEGIN ", end[] = "-----END ";
    const char *last = NULL, *p = s;

    if (len > SL_PEM_MAX_BYTES)
        return "more than 1 MiB";
    if (!memmem(s, len, begin, sizeof begin - 1))
        return "expected PEM, which begins with -----BEGIN";
    while ((p = memmem(p, len - (size_t)(p - s), end, sizeof end - 1)))
        last = p += sizeof end - 1;
    if (!last || !memmem(last, len - (size_t)(last - s), "-----", 5))
        return "PEM without its end";
    /* OpenSSL would prompt for the passphrase on the terminal, and block the loop. */
    if (memmem(s, len, "ENCRYPTED", 9))
        return "the key is encrypted; decrypt it with openssl pkey";
    return NULL;
}

const char *sl_token_problem(const char *s, size_t len) {
    if (len == 0)
        return "the token is empty";
    if (len > SL_TOKEN_MAX_BYTES)
        return "the token is longer than 64 KiB";
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)s[i] <= ' ' || (unsigned char)s[i] >= 0x7f)
            return "the token has a character that cannot stand in a header";
    return NULL;
}

bool sl_header_safe(const char *s) {
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f)
            return false;
    return true;
}
