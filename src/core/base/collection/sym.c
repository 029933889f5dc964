/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned names: numbers in order of first appearance, or reused ones; found through a hash map.
 */
#include "core/base/collection/sym.h"

#include <string.h>

#include "core/base/bytes.h"
#include "core/base/collection/hash.h"
#include "core/base/mem.h"

/* What a table may grow by before a sweep is worth it. */
#define MORE_NAMES 1024u
#define MORE_BYTES ((size_t)256 << 10)

static void set_due(struct sl_syms *t) {
    t->due = 2 * t->n + MORE_NAMES;
    t->due_bytes = 2 * t->bytes + MORE_BYTES;
}

/* Padded with zeros to a whole 64-bit word, for 'name_is'. */
static char *copy_name(const char *s, size_t n) {
    char *p = sl_alloc0(n / sizeof(uint64_t) + 1, sizeof(uint64_t));

    memcpy(p, s, n);
    return p;
}

/* 64-bit word by word: names are short, and strcmp would dominate a search. A stored name ends
 * within the word in which it differs, so nothing is read beyond it. */
static bool name_is(const char *kept, const char *s, size_t n) {
    for (; n >= 8; n -= 8, s += 8, kept += 8)
        if (base_load_le64(kept) != base_load_le64(s))
            return false;
    return base_load_le64(kept) == base_load_tail(s, n);
}

void sl_syms_init(struct sl_syms *t) {
    *t = (struct sl_syms){0};
    *sl_vec_push(&t->names) = copy_name("", 0);
    set_due(t);
}

void sl_syms_done(struct sl_syms *t) {
    for (uint32_t i = 0; i < t->names.n; i++)
        sl_freep(&t->names.v[i]);
    sl_vec_free(&t->names);
    sl_vec_free(&t->spare);
    sl_freep(&t->held);
    sl_map_done(&t->by_hash);
}

static sl_sym find_sym(const struct sl_syms *t, uint64_t h, const char *s, size_t n) {
    uint32_t c;

    for (uint32_t y = sl_map_first(&t->by_hash, h, &c); y != SL_MAP_NONE;
         y = sl_map_next(&t->by_hash, h, &c))
        if (name_is(t->names.v[y], s, n))
            return y;
    return SL_MAP_NONE;
}

sl_sym sl_sym_put(struct sl_syms *t, const char *s) {
    if (!s || !*s)
        return 0;
    size_t n = strlen(s);
    uint64_t h = sl_hash_bytes(0, s, n);
    sl_sym y = find_sym(t, h, s, n);
    if (y != SL_MAP_NONE)
        return y;
    sl_assert(!t->held && t->names.n < SL_SYM_MAX);
    if (t->spare.n) {
        y = sl_vec_pop(&t->spare);
    } else {
        y = t->names.n;
        (void)sl_vec_push(&t->names);
    }
    t->names.v[y] = copy_name(s, n);
    t->n++;
    t->bytes += n + 1;
    sl_map_add(&t->by_hash, h, y);
    return y;
}

sl_sym sl_sym_find(const struct sl_syms *t, const char *s) {
    if (!s || !*s)
        return 0;
    size_t n = strlen(s);
    return find_sym(t, sl_hash_bytes(0, s, n), s, n);
}

void sl_syms_copy(struct sl_syms *to, const struct sl_syms *from) {
    sl_syms_init(to);
    for (uint32_t i = 1; i < from->names.n; i++) {
        sl_assert(from->names.v[i]);
        (void)sl_sym_put(to, from->names.v[i]);
    }
}

/* ---- forgetting ---- */

void sl_syms_begin(struct sl_syms *t) {
    sl_assert(!t->held);
    t->held = sl_alloc0(t->names.n, 1);
    t->held[0] = 1;
}

static void free_sym(struct sl_syms *t, sl_sym y) {
    size_t n = strlen(t->names.v[y]);
    (void)sl_map_del(&t->by_hash, sl_hash_bytes(0, t->names.v[y], n), y);
    t->n--;
    t->bytes -= n + 1;
    sl_freep(&t->names.v[y]);
    if (!SL_SYMS_STRICT)
        *sl_vec_push(&t->spare) = y;
}

void sl_syms_sweep(struct sl_syms *t) {
    for (uint32_t y = 1; y < t->names.n; y++)
        if (t->names.v[y] && !t->held[y])
            free_sym(t, y);
    sl_freep(&t->held);
    set_due(t);
}
