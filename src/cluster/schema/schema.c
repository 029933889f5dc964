/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/schema/schema.h"

#include <string.h>

static const struct sl_schema anything = {.type = SL_T_ANY};

void sl_schema_finish(struct sl_schema *s, struct sl_arena *a) {
    uint32_t *filled, n = 0;

    s->n_required = 0;
    for (uint32_t i = 0; i < s->n_fields; i++) {
        n += s->fields[i].deflt || s->fields[i].always;
        s->n_required += s->fields[i].required;
    }
    s->n_filled = n;
    if (n == 0)
        return;
    s->filled = filled = sl_arena_alloc0(a, n, sizeof(*filled));
    n = 0;
    for (uint32_t i = 0; i < s->n_fields; i++)
        if (s->fields[i].deflt || s->fields[i].always)
            filled[n++] = i;
}

/* As strcmp, for a name of this length, which may have a NUL inside. Most names differ in the first
 * letters: a call costs more than it saves. */
static int compare(const char *name, size_t len, const char *with) {
    for (size_t i = 0; i < len; i++) {
        if (name[i] != with[i])
            return (unsigned char)name[i] - (unsigned char)with[i];
        if (with[i] == '\0')
            return 1;
    }
    return with[len] == '\0' ? 0 : -1;
}

const struct sl_schema_field *sl_schema_field(const struct sl_schema *s, const char *name,
                                              size_t len) {
    uint32_t lo = 0, hi = s->n_fields;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int r = compare(name, len, s->fields[mid].name);
        if (r == 0)
            return &s->fields[mid];
        if (r < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

const struct sl_schema *sl_schema_at(const struct sl_schema *s, const char *name, size_t len) {
    if (s->type == SL_T_ANY)
        return s;
    if (s->type == SL_T_MAP)
        return s->items;
    if (s->type != SL_T_OBJECT)
        return NULL;
    const struct sl_schema_field *f = sl_schema_field(s, name, len);
    return f ? f->schema : s->keeps_unknown ? &anything : NULL;
}
