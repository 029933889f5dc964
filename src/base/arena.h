/*
 * Arena: many small allocations, freed whole. Blocks double from 1 KiB up to 256 KiB; the total has
 * a ceiling set at init (reaching it is a programming error of the caller, who must bound its
 * input). Freed and reset memory is poisoned under AddressSanitizer. Not thread-safe.
 */
#ifndef SL_BASE_ARENA_H
#define SL_BASE_ARENA_H

#include "base/macros.h"

struct sl_arena_block;

struct sl_arena {
    struct sl_arena_block *block; /* newest first */
    size_t used, ceiling;         /* bytes handed out, bytes allowed */
};

void sl_arena_init(struct sl_arena *a, size_t ceiling_bytes);
void sl_arena_done(struct sl_arena *a);
/* Forgets everything, keeps one block for reuse. */
void sl_arena_clear(struct sl_arena *a);
/* 16-byte aligned, not zeroed. */
void *sl_arena_alloc(struct sl_arena *a, size_t bytes) __attribute__((returns_nonnull));
void *sl_arena_alloc0(struct sl_arena *a, size_t n, size_t bytes) __attribute__((returns_nonnull));
char *sl_arena_strdup(struct sl_arena *a, const char *s);
char *sl_arena_strndup(struct sl_arena *a, const char *s, size_t n);
char *sl_arena_printf(struct sl_arena *a, const char *fmt, ...) _printf_(2, 3);

#endif
