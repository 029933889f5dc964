/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors: a negative code is returned, the message is in a caller-owned struct sl_err. Nothing is
 * allocated on the way down; context is prepended on the way up. NULL is allowed for err.
 */
#ifndef SL_CORE_BASE_ERR_H
#define SL_CORE_BASE_ERR_H

#include "core/base/macros.h"

enum sl_code {
    SL_OK = 0,
    SL_EINVAL = -1,    /* invalid input: the message has what was expected */
    SL_ENOENT = -2,    /* a named thing does not exist */
    SL_EEXIST = -3,    /* it exists already */
    SL_ELIMIT = -4,    /* a ceiling was reached */
    SL_EIO = -5,       /* the outside world failed */
    SL_ESTALE = -6,    /* decided on an older generation */
    SL_EMISMATCH = -7, /* two results that must agree do not */
};

struct sl_err {
    int code;
    char text[240];
};

/* Sets code and message, returns code. Too long a message is truncated, never overrun. */
int sl_err_set(struct sl_err *err, int code, const char *fmt, ...) _printf_(3, 4);
/* Prepends "context: " to the present message, keeps the code, returns r. */
int sl_err_wrap(struct sl_err *err, int r, const char *fmt, ...) _printf_(3, 4);
/* "invalid input", "not found" ...; never NULL. */
const char *sl_code_name(int code);

#endif
