/*
 * Interned names: text in an arena, numbers in order of first appearance, found through a hash map.
 */
#include "base/sym.h"

#include <string.h>

#include "base/hash.h"

void sl_syms_init(struct sl_syms *t) {
    *t = (struct sl_syms){0};
    sl_arena_init(&t->text, SIZE_MAX / 4);
    *sl_vec_push(&t->names) = "";
}

void sl_syms_done(struct sl_syms *t) {
    sl_vec_free(&t->names);
    sl_map_done(&t->by_hash);
    sl_arena_done(&t->text);
}

static sl_sym find(const struct sl_syms *t, uint64_t h, const char *s) {
    uint32_t c;

    for (uint32_t y = sl_map_first(&t->by_hash, h, &c); y != SL_MAP_NONE;
         y = sl_map_next(&t->by_hash, h, &c))
        if (strcmp(t->names.v[y], s) == 0)
            return y;
    return SL_MAP_NONE;
}

sl_sym sl_sym_put(struct sl_syms *t, const char *s) {
    if (!s || !*s)
        return 0;
    uint64_t h = sl_hash_str(0, s);
    sl_sym y = find(t, h, s);
    if (y != SL_MAP_NONE)
        return y;
    sl_assert(t->names.n < SL_SYM_MAX);
    y = t->names.n;
    *sl_vec_push(&t->names) = sl_arena_strdup(&t->text, s);
    sl_map_add(&t->by_hash, h, y);
    return y;
}

sl_sym sl_sym_find(const struct sl_syms *t, const char *s) {
    return !s || !*s ? 0 : find(t, sl_hash_str(0, s), s);
}

void sl_syms_copy(struct sl_syms *to, const struct sl_syms *from) {
    sl_syms_init(to);
    for (uint32_t i = 1; i < from->names.n; i++)
        (void)sl_sym_put(to, from->names.v[i]);
}
