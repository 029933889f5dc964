/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one function behind the SL_VEC macros.
 */
#include "core/base/collection/vec.h"

#define FIRST_CAP 4u

void *sl_vec_grow(void *v, uint32_t want, uint32_t *cap, size_t bytes) {
    uint32_t c = *cap;

    sl_assert(want <= SL_VEC_MAX);
    if (want <= c)
        return v;
    c = c < FIRST_CAP / 2 ? FIRST_CAP : c >= SL_VEC_MAX / 2 ? SL_VEC_MAX : 2 * c;
    if (c < want)
        c = want;
    v = sl_realloc(v, c, bytes);
    *cap = c;
    return v;
}
