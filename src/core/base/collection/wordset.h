/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An insertion-ordered set of strings, for detecting duplicates. The strings are not copied.
 */
#ifndef SL_CORE_BASE_COLLECTION_WORDSET_H
#define SL_CORE_BASE_COLLECTION_WORDSET_H

#include "core/base/collection/map.h"
#include "core/base/collection/vec.h"

struct sl_wordset {
    SL_VEC(const char *) words;
    struct sl_map by_hash;
};

void sl_wordset_done(struct sl_wordset *s);
/* Its place, or SL_MAP_NONE. */
uint32_t sl_wordset_find(const struct sl_wordset *s, const char *word);
/* False: it was there before. */
bool sl_wordset_add(struct sl_wordset *s, const char *word);

static inline bool sl_wordset_has(const struct sl_wordset *s, const char *word) {
    return sl_wordset_find(s, word) != SL_MAP_NONE;
}

#endif
