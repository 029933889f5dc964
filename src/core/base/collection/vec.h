/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed growing arrays as macros over { T *v; uint32_t n, cap; }.
 *
 *     SL_VEC(struct item) items = {0};
 *     *sl_vec_push(&items) = (struct item){ ... };
 *     sl_vec_free(&items);
 *
 * Growth doubles. More than SL_VEC_MAX elements is a programming error: every caller has a ceiling
 * of its own below it.
 */
#ifndef SL_CORE_BASE_COLLECTION_VEC_H
#define SL_CORE_BASE_COLLECTION_VEC_H

#include "core/base/mem.h"

#define SL_VEC_MAX (UINT32_C(1) << 30)

#define SL_VEC(T)                                                                                  \
    struct {                                                                                       \
        T *v;                                                                                      \
        uint32_t n, cap;                                                                           \
    }

/* Reserves space for want elements in all; returns the (possibly moved) storage. */
void *sl_vec_grow(void *v, uint32_t want, uint32_t *cap, size_t bytes);

#define sl_vec_reserve(vec, want)                                                                  \
    ((vec)->cap >= (want) ? (void)0                                                                \
                          : (void)((vec)->v = sl_vec_grow((vec)->v, (want), &(vec)->cap,           \
                                                          sizeof(__typeof__((vec)->v[0])))))
/* Adds one element, returns its address. The element is not zeroed. */
#define sl_vec_push(vec) (sl_vec_reserve((vec), (vec)->n + 1), &(vec)->v[(vec)->n++])
/* Gives back what is not in use. */
#define sl_vec_fit(vec)                                                                            \
    ((void)((vec)->v = sl_realloc((vec)->v, (vec)->n, sizeof(__typeof__((vec)->v[0])))),           \
     (void)((vec)->cap = (vec)->n))
#define sl_vec_pop(vec) ((vec)->v[--(vec)->n])
#define sl_vec_last(vec) ((vec)->v[(vec)->n - 1])
#define sl_vec_clear(vec) ((void)((vec)->n = 0))
#define sl_vec_free(vec) (sl_freep(&(vec)->v), (void)((vec)->n = 0), (void)((vec)->cap = 0))

#endif
