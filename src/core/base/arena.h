/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arena: many small allocations, freed together. Blocks double from 1 KiB up to 256 KiB. Freed and
 * reset memory is poisoned under AddressSanitizer. Not thread-safe.
 *
 * The total has a limit. An allocation beyond it still succeeds and makes the arena full: code that
 * fills an arena from input checks sl_arena_full, after each item where items can multiply and at
 * the latest at the end, and rejects the object or ignores it with a log line. Only what exceeds
 * SL_ARENA_MOST, more than one object can require between two such checks, is a programming error.
 */
#ifndef SL_CORE_BASE_ARENA_H
#define SL_CORE_BASE_ARENA_H

#include "core/base/macros.h"

struct sl_arena_block;

struct sl_arena {
    struct sl_arena_block *block; /* newest first */
    size_t used, ceiling;         /* bytes handed out, bytes allowed */
};

/* What an arena may take, all in all: as much again as its ceiling, but no less than this. Sums of
 * memory count with it. */
#define SL_ARENA_GRACE ((size_t)24 << 20)
#define SL_ARENA_MOST(ceiling)                                                                     \
    ((ceiling) + ((ceiling) > SL_ARENA_GRACE ? (ceiling) : SL_ARENA_GRACE))

/* The form of every declaration: a variable with scope cleanup is initialised where it is
 * declared. */
#define SL_ARENA(ceiling_bytes) ((struct sl_arena){.ceiling = (ceiling_bytes)})

void sl_arena_init(struct sl_arena *a, size_t ceiling_bytes);
void sl_arena_done(struct sl_arena *a);
/* Drops everything, keeps one block for reuse. */
void sl_arena_clear(struct sl_arena *a);
/* The limit was exceeded: its content must not be used as if it were complete. */
static inline bool sl_arena_full(const struct sl_arena *a) {
    return a->used > a->ceiling;
}
/* 16-byte aligned, not zeroed. */
void *sl_arena_alloc(struct sl_arena *a, size_t bytes) __attribute__((returns_nonnull));
void *sl_arena_alloc0(struct sl_arena *a, size_t n, size_t bytes) __attribute__((returns_nonnull));
char *sl_arena_strdup(struct sl_arena *a, const char *s);
char *sl_arena_strndup(struct sl_arena *a, const char *s, size_t n);
char *sl_arena_printf(struct sl_arena *a, const char *fmt, ...) _printf_(2, 3);

#endif
