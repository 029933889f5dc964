/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only place that calls malloc and related functions; see mem.h for why a failure ends the
 * process.
 */
#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

void *sl_alloc(size_t bytes) {
    void *p = malloc(bytes > 0 ? bytes : 1);

    sl_assert(p != NULL);
    return p;
}

void *sl_alloc0(size_t n, size_t bytes) {
    /* calloc checks the product itself. */
    void *p = n > 0 && bytes > 0 ? calloc(n, bytes) : calloc(1, 1);

    sl_assert(p != NULL);
    return p;
}

void *sl_realloc(void *p, size_t n, size_t bytes) {
    size_t total;

    if (n == 0) {
        free(p);
        return NULL;
    }
    sl_assert(bytes > 0 && !__builtin_mul_overflow(n, bytes, &total));
    p = realloc(p, total);
    sl_assert(p != NULL);
    return p;
}

char *sl_strdup(const char *s) {
    size_t n = strlen(s) + 1;
    char *p = sl_alloc(n);

    memcpy(p, s, n);
    return p;
}

void sl_freep(void *p) {
    void *q;

    /* p is the address of a pointer of any type; memcpy keeps that within the aliasing rules. */
    memcpy(&q, p, sizeof q);
    free(q);
    q = NULL;
    memcpy(p, &q, sizeof q);
}
