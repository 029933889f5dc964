/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks in a list, the one being filled at the head. A request too large for a regular block gets
 * a block of its own behind the head, so that the head's rest is not wasted. Every allocation is
 * followed by a poisoned gap under AddressSanitizer.
 */
#include "core/base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#if SL_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#define GAP 16u
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#define GAP 0u
#endif

#define ALIGN 16u
#define BLOCK_FIRST ((size_t)256) /* thousands of records have an arena for a few labels */
#define BLOCK_MIN ((size_t)1024)
#define BLOCK_MAX ((size_t)256 * 1024)

struct sl_arena_block {
    struct sl_arena_block *next;
    size_t size, used; /* of data */
    _Alignas(ALIGN) unsigned char data[];
};

void sl_arena_init(struct sl_arena *a, size_t ceiling_bytes) {
    *a = (struct sl_arena){.ceiling = ceiling_bytes};
}

static void block_free(struct sl_arena_block *b) {
    UNPOISON(b->data, b->size);
    free(b);
}

static void free_after(struct sl_arena_block *b) {
    while (b) {
        struct sl_arena_block *next = b->next;
        block_free(b);
        b = next;
    }
}

void sl_arena_done(struct sl_arena *a) {
    free_after(a->block);
    a->block = NULL;
    a->used = 0;
}

void sl_arena_clear(struct sl_arena *a) {
    struct sl_arena_block *keep = a->block;

    a->used = 0;
    if (!keep)
        return;
    free_after(keep->next);
    keep->next = NULL;
    if (keep->size > BLOCK_MAX) { /* one giant request must not be held on to for ever */
        block_free(keep);
        a->block = NULL;
        return;
    }
    keep->used = 0;
    POISON(keep->data, keep->size);
}

/* A block with room for step bytes; not always the head afterwards. */
static struct sl_arena_block *block_for(struct sl_arena *a, size_t step) {
    struct sl_arena_block *head = a->block;
    size_t size = BLOCK_FIRST;

    if (head && head->size - head->used >= step)
        return head;
    if (head && head->size < BLOCK_MIN / 2)
        size = BLOCK_MIN;
    else if (head)
        size = head->size >= BLOCK_MAX / 2 ? BLOCK_MAX : 2 * head->size;
    else if (step > BLOCK_FIRST)
        size = BLOCK_MIN;
    bool alone = step > size;
    if (alone)
        size = step;
    struct sl_arena_block *b = sl_alloc(sizeof *b + size);
    b->size = size;
    b->used = 0;
    POISON(b->data, size);
    if (alone && head) {
        b->next = head->next;
        head->next = b;
    } else {
        b->next = head;
        a->block = b;
    }
    return b;
}

void *sl_arena_alloc(struct sl_arena *a, size_t bytes) {
    sl_assert(bytes <= SIZE_MAX / 4);
    size_t step = bytes > 0 ? (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
    sl_assert(a->used <= SL_ARENA_MOST(a->ceiling));
    sl_assert(step <= SL_ARENA_GRACE || step <= a->ceiling);
    struct sl_arena_block *b = block_for(a, step + GAP);
    void *p = b->data + b->used;
    b->used += step + GAP;
    a->used += step;
    UNPOISON(p, bytes);
    return p;
}

void *sl_arena_alloc0(struct sl_arena *a, size_t n, size_t bytes) {
    size_t total;

    sl_assert(!__builtin_mul_overflow(n, bytes, &total));
    void *p = sl_arena_alloc(a, total);
    memset(p, 0, total);
    return p;
}

char *sl_arena_strndup(struct sl_arena *a, const char *s, size_t n) {
    size_t len = strnlen(s, n);
    char *p = sl_arena_alloc(a, len + 1);

    memcpy(p, s, len);
    p[len] = '\0';
    return p;
}

char *sl_arena_strdup(struct sl_arena *a, const char *s) {
    return sl_arena_strndup(a, s, strlen(s));
}

char *sl_arena_printf(struct sl_arena *a, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    sl_assert(n >= 0);
    char *p = sl_arena_alloc(a, (size_t)n + 1);
    va_start(ap, fmt);
    (void)vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}
