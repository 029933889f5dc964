/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/base64.h"

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
