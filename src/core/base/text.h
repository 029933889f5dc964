/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A string as one value: pointer and length, from one call. It may contain NUL bytes and need not
 * end in one; what must be a C string is requested as such and then has none inside.
 */
#ifndef SL_CORE_BASE_TEXT_H
#define SL_CORE_BASE_TEXT_H

#include <string.h>

#include "core/base/macros.h"

struct sl_text {
    const char *s; /* never NULL */
    size_t n;
};

#define SL_TEXT(literal) ((struct sl_text){"" literal, sizeof(literal) - 1})

static inline struct sl_text sl_text_of(const char *s) {
    return s ? (struct sl_text){s, strlen(s)} : SL_TEXT("");
}

static inline bool sl_text_eq(struct sl_text a, struct sl_text b) {
    return a.n == b.n && memcmp(a.s, b.s, a.n) == 0;
}

static inline bool sl_text_is(struct sl_text a, const char *s) {
    return sl_text_eq(a, sl_text_of(s));
}

/* By bytes, as memcmp orders; what the other begins with comes first. */
static inline int sl_text_cmp(struct sl_text a, struct sl_text b) {
    int r = memcmp(a.s, b.s, a.n < b.n ? a.n : b.n);
    return r ? r : (a.n > b.n) - (a.n < b.n);
}

/* A NUL inside: no name, key, path or label has one. */
static inline bool sl_text_has_nul(struct sl_text t) {
    return memchr(t.s, '\0', t.n) != NULL;
}

#endif
