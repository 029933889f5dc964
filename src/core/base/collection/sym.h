/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned names: equal strings have equal numbers.
 *
 * Names come from outside, ever new ones. So a table is garbage collected (mark and sweep): its
 * owner marks every number that it still holds, and the sweep drops all others and reuses their
 * numbers.
 *
 *     if (sl_syms_due(&t)) {          when it has doubled since the last time
 *         sl_syms_begin(&t);
 *         sl_sym_hold(&t, y);         for each y in any record, whatever its state
 *         sl_syms_sweep(&t);
 *     }
 *
 * An owner that overlooks a holder would read another name under the same number. Therefore, with
 * SL_SYMS_STRICT (in sanitised builds), a sweep is always due, a number is never reused, and to use
 * a dropped one ends the process: every test that runs there finds such holders. A string that
 * sl_sym_str returned is valid as long as its number.
 *
 * A table whose owner never sweeps retains every name; then names must be few.
 */
#ifndef SL_CORE_BASE_COLLECTION_SYM_H
#define SL_CORE_BASE_COLLECTION_SYM_H

#include "core/base/collection/map.h"
#include "core/base/collection/vec.h"

#ifndef SL_SYMS_STRICT
#define SL_SYMS_STRICT SL_SANITISED
#endif

typedef uint32_t sl_sym; /* 0 is the empty string */
#define SL_SYM_MAX (UINT32_C(1) << 24)

struct sl_syms {
    struct sl_map by_hash;
    SL_VEC(char *) names; /* NULL: dropped */
    SL_VEC(sl_sym) spare; /* numbers of those */
    uint8_t *held;        /* one each, between begin and sweep */
    uint32_t n;           /* names that are known */
    size_t bytes;         /* of these */
    uint32_t due;         /* a sweep is, at so many names or bytes */
    size_t due_bytes;
};

void sl_syms_init(struct sl_syms *t);
void sl_syms_done(struct sl_syms *t);
/* A table with the same names under the same numbers; 'to' is not initialised before. Not of one
 * that has been swept. */
void sl_syms_copy(struct sl_syms *to, const struct sl_syms *from);
/* NULL and "" give 0. */
sl_sym sl_sym_put(struct sl_syms *t, const char *s);
/* The symbol of s, or SL_MAP_NONE if there is none. */
sl_sym sl_sym_find(const struct sl_syms *t, const char *s);
static inline const char *sl_sym_str(const struct sl_syms *t, sl_sym y) {
#if SL_SYMS_STRICT
    sl_assert(t->names.v[y]);
#endif
    return t->names.v[y];
}

/* ---- forgetting ---- */
static inline bool sl_syms_due(const struct sl_syms *t) {
    return SL_SYMS_STRICT || t->n >= t->due || t->bytes >= t->due_bytes;
}
/* Twice as many: an owner that waits for a better moment waits no longer. */
static inline bool sl_syms_overdue(const struct sl_syms *t) {
    return SL_SYMS_STRICT || t->n / 2 >= t->due || t->bytes / 2 >= t->due_bytes;
}
void sl_syms_begin(struct sl_syms *t);
static inline void sl_sym_hold(struct sl_syms *t, sl_sym y) {
#if SL_SYMS_STRICT
    sl_assert(t->names.v[y]);
#endif
    t->held[y] = 1;
}
static inline bool sl_sym_is_held(const struct sl_syms *t, sl_sym y) {
    return t->held[y];
}
void sl_syms_sweep(struct sl_syms *t);

#endif
