/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cluster/schema/builtin.h"
#include "cluster/schema/ceilings.h"
#include "cluster/schema/types_int.h"

struct sl_schemas *sl_schemas_new(void) {
    struct sl_schemas *set = sl_alloc0(1, sizeof(*set));
    sl_arena_init(&set->arena, SCHEMA_SET_ARENA);
    return set;
}

void sl_schemas_free(struct sl_schemas *set) {
    if (!set)
        return;
    for (uint32_t i = 0; i < set->values.n; i++)
        yyjson_doc_free(set->values.v[i]);
    sl_vec_free(&set->values);
    sl_vec_free(&set->entries);
    sl_vec_free(&set->by_name);
    sl_map_done(&set->by_key);
    sl_arena_done(&set->arena);
    free(set);
}

static int by_name(const void *a, const void *b) {
    const struct sl_schema *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* ---- types that would be filled without end ---- */

enum { UNSEEN, ON_THE_WAY, SEEN };

static uint32_t number_of(const struct sl_schemas *set, const struct sl_schema *s) {
    const struct sl_schema **found =
        bsearch(&s, set->by_name.v, set->by_name.n, sizeof(void *), by_name);
    return (uint32_t)(found - (const struct sl_schema **)set->by_name.v);
}

/* Is there something in it whenever it is absent, and in that again? */
static bool is_endless(const struct sl_schemas *set, const struct sl_schema *s, char *states) {
    uint32_t n = number_of(set, s);

    if (states[n] != UNSEEN)
        return states[n] == ON_THE_WAY;
    states[n] = ON_THE_WAY;
    for (uint32_t i = 0; i < s->n_fields; i++) {
        const struct sl_schema_field *f = &s->fields[i];
        const struct sl_schema *of = f->schema;
        bool filled =
            yyjson_is_ctn(f->deflt) || (f->always && !f->pointer && of->type == SL_T_OBJECT);
        while (of->items)
            of = of->items;
        if (filled && of->name && is_endless(set, of, states))
            return true;
    }
    states[n] = SEEN;
    return false;
}

static int check_endless(const struct sl_schemas *set, struct sl_err *err) {
    char *states = sl_alloc0(set->by_name.n + 1, 1);
    int r = 0;

    for (uint32_t i = 0; i < set->by_name.n && r >= 0; i++)
        if (is_endless(set, set->by_name.v[i], states))
            r = sl_err_set(err, SL_EINVAL, "%s would be filled without end",
                           set->by_name.v[i]->name);
    sl_freep(&states);
    return r;
}

int sl_schemas_close(struct sl_schemas *set, struct sl_err *err) {
    sl_vec_clear(&set->by_name);
    for (uint32_t i = 0; i < set->entries.n; i++) {
        const struct schema_types_entry *e = &set->entries.v[i];
        if (!e->defined)
            return schema_types_error(err, SL_ENOENT, e->from, e->line, "there is no type %.100s",
                                      e->key);
        if (e->schema->name)
            *sl_vec_push(&set->by_name) = e->schema;
    }
    if (set->by_name.n > 0)
        qsort(set->by_name.v, set->by_name.n, sizeof(void *), by_name);
    return check_endless(set, err);
}

const struct sl_schema *sl_schemas_find(const struct sl_schemas *set, const char *name) {
    const struct sl_schema key = {.name = name}, *p = &key;
    const struct sl_schema **found =
        set->by_name.n == 0 ? NULL
                            : bsearch(&p, set->by_name.v, set->by_name.n, sizeof(void *), by_name);
    return found ? *found : NULL;
}

const struct sl_schema *sl_schemas_each(const struct sl_schemas *set, uint32_t *at) {
    return *at < set->by_name.n ? set->by_name.v[(*at)++] : NULL;
}

int sl_schemas_builtin(struct sl_schemas **ret, struct sl_err *err) {
    struct sl_schemas *set = sl_schemas_new();
    int e = 0;

    for (size_t i = 0; i < schema_builtin_types_n && e >= 0; i++)
        e = sl_schemas_read(set, schema_builtin_types[i].text, schema_builtin_types[i].len,
                            schema_builtin_types[i].name, err);
    if (e >= 0)
        e = sl_schemas_close(set, err);
    if (e < 0)
        sl_schemas_free(set);
    else
        *ret = set;
    return e;
}
