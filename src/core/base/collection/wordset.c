/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/collection/wordset.h"

#include <string.h>

#include "core/base/collection/hash.h"

void sl_wordset_done(struct sl_wordset *s) {
    sl_vec_free(&s->words);
    sl_map_done(&s->by_hash);
    s->by_hash = (struct sl_map){0};
}

static uint32_t find_word(const struct sl_wordset *s, const char *word, uint64_t hash) {
    uint32_t at, i = sl_map_first(&s->by_hash, hash, &at);

    while (i != SL_MAP_NONE && strcmp(s->words.v[i], word) != 0)
        i = sl_map_next(&s->by_hash, hash, &at);
    return i;
}

uint32_t sl_wordset_find(const struct sl_wordset *s, const char *word) {
    return find_word(s, word, sl_hash_str(0, word));
}

bool sl_wordset_add(struct sl_wordset *s, const char *word) {
    uint64_t hash = sl_hash_str(0, word);

    if (find_word(s, word, hash) != SL_MAP_NONE)
        return false;
    sl_map_add(&s->by_hash, hash, s->words.n);
    *sl_vec_push(&s->words) = word;
    return true;
}
