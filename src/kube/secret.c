/* The forms of credentials; see the header. */
#include "kube/secret.h"

#include <string.h>

static int digit(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int64_t sl_base64_decode(const char *s, size_t len, char *out) {
    uint32_t bits = 0;
    size_t n = 0, digits = 0, pads = 0;

    for (size_t i = 0; i < len; i++) {
        if (s[i] == '\n' || s[i] == '\r')
            continue;
        if (s[i] == '=') {
            pads++;
            continue;
        }
        int d = digit(s[i]);
        if (d < 0 || pads > 0)
            return -1;
        bits = bits << 6 | (uint32_t)d;
        if (++digits % 4 == 0) {
            out[n++] = (char)(bits >> 16);
            out[n++] = (char)(bits >> 8);
            out[n++] = (char)bits;
        }
    }
    if (digits % 4 == 1 || pads != (4 - digits % 4) % 4)
        return -1;
    if (digits % 4 == 2) {
        out[n++] = (char)(bits >> 4);
    } else if (digits % 4 == 3) {
        out[n++] = (char)(bits >> 10);
        out[n++] = (char)(bits >> 2);
    }
    out[n] = '\0';
    return (int64_t)n;
}

void sl_base64_encode(struct sl_buf *b, const char *s, size_t len) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < len; i += 3) {
        size_t n = len - i < 3 ? len - i : 3;
        uint32_t bits = 0;
        for (size_t j = 0; j < 3; j++)
            bits = bits << 8 | (j < n ? (unsigned char)s[i + j] : 0u);
        char out[4] = {digits[bits >> 18], digits[bits >> 12 & 63], digits[bits >> 6 & 63],
                       digits[bits & 63]};
        memset(out + 1 + n, '=', 3 - n);
        sl_buf_add(b, out, 4);
    }
}

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
    /* OpenSSL would ask for the passphrase on the terminal, and the loop would stand still. */
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
