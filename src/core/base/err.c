/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error messages. Texts are built in a scratch buffer first, so that an argument may point into the
 * very error that is being written.
 */
#include "core/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The text has been cut at its end: do not leave half a UTF-8 character there. */
static void trim_utf8(char *s, size_t len) {
    size_t i = len;

    while (i > 0 && len - i < 3 && ((unsigned char)s[i - 1] & 0xc0u) == 0x80u)
        i--;
    if (i == 0)
        return;
    unsigned char lead = (unsigned char)s[i - 1];
    size_t want = lead >= 0xf0u ? 4 : lead >= 0xe0u ? 3 : lead >= 0xc0u ? 2 : 1;
    if (want > 1 && len - (i - 1) < want)
        s[i - 1] = '\0';
}

static void set_text(struct sl_err *err, const char *text, size_t len) {
    size_t n = len < sizeof err->text ? len : sizeof err->text - 1;

    memcpy(err->text, text, n);
    err->text[n] = '\0';
    if (n < len)
        trim_utf8(err->text, n);
}

int sl_err_set(struct sl_err *err, int code, const char *fmt, ...) {
    char tmp[sizeof err->text + 1];
    va_list ap;

    if (!err)
        return code;
    va_start(ap, fmt);
    int n = vsnprintf(tmp, sizeof tmp, fmt, ap);
    va_end(ap);
    if (n < 0)
        tmp[0] = '\0';
    err->code = code;
    set_text(err, tmp, strlen(tmp));
    return code;
}

int sl_err_wrap(struct sl_err *err, int r, const char *fmt, ...) {
    char tmp[2 * sizeof err->text + 2];
    va_list ap;

    if (!err)
        return r;
    va_start(ap, fmt);
    int n = vsnprintf(tmp, sizeof err->text, fmt, ap);
    va_end(ap);
    if (n < 0)
        tmp[0] = '\0';
    size_t len = strlen(tmp), old = strnlen(err->text, sizeof err->text - 1);
    memcpy(tmp + len, ": ", 2);
    len += 2;
    memcpy(tmp + len, err->text, old);
    len += old;
    set_text(err, tmp, len);
    return r;
}

const char *sl_code_name(int code) {
    switch (code) {
    case SL_OK:
        return "ok";
    case SL_EINVAL:
        return "invalid input";
    case SL_ENOENT:
        return "not found";
    case SL_EEXIST:
        return "already exists";
    case SL_ELIMIT:
        return "limit reached";
    case SL_EIO:
        return "input/output error";
    case SL_ESTALE:
        return "stale";
    case SL_EMISMATCH:
        return "mismatch";
    default:
        return "unknown error";
    }
}
