/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation that never returns NULL: out of memory ends the process (state is rebuilt from the API
 * server). Callers bound the size; sizes are overflow-checked here.
 */
#ifndef SL_CORE_BASE_MEM_H
#define SL_CORE_BASE_MEM_H

#include "core/base/macros.h"

void *sl_alloc(size_t bytes) __attribute__((malloc, returns_nonnull));
void *sl_alloc0(size_t n, size_t bytes) __attribute__((malloc, returns_nonnull));
/* Array resize: n elements of the given size. n == 0 frees and returns NULL. */
void *sl_realloc(void *p, size_t n, size_t bytes);
char *sl_strdup(const char *s) __attribute__((malloc, returns_nonnull));
/* Frees what *p points at and clears it; for _cleanup_(sl_freep). */
void sl_freep(void *p);

#endif
