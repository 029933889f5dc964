/*
 * Interned names: equal strings have equal numbers. For names of configuration objects (queues,
 * flavors, resources, namespaces), which are few; a table never forgets a name, so job names do not
 * belong here. The table refuses to grow beyond SL_SYM_MAX names.
 */
#ifndef SL_BASE_SYM_H
#define SL_BASE_SYM_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

typedef uint32_t sl_sym; /* 0 is the empty string */
#define SL_SYM_MAX (UINT32_C(1) << 24)

struct sl_syms {
    struct sl_arena text;
    struct sl_map by_hash;
    SL_VEC(const char *) names;
};

void sl_syms_init(struct sl_syms *t);
void sl_syms_done(struct sl_syms *t);
/* A table with the same names under the same numbers; 'to' is not initialised before. */
void sl_syms_copy(struct sl_syms *to, const struct sl_syms *from);
/* NULL and "" give 0. */
sl_sym sl_sym_put(struct sl_syms *t, const char *s);
/* The symbol of s, or SL_MAP_NONE if it was never put. */
sl_sym sl_sym_find(const struct sl_syms *t, const char *s);
static inline const char *sl_sym_str(const struct sl_syms *t, sl_sym y) {
    return t->names.v[y];
}

#endif
