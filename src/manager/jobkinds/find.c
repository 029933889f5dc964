/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by their names. */
#include <string.h>

#include "core/base/mem.h"
#include "manager/jobkinds/rows.h"

const struct sl_jobkinds *sl_jobkinds_built_in(void) {
    static struct sl_jobkinds *rows; /* as constant as the text that they are made of */
    struct sl_err err = {0};
    if (!rows) {
        const struct sl_embedded *t = &jobkind_texts[0];
        int r = sl_jobkinds_parse(t->name, t->text, t->len, true, &rows, &err);
        sl_assert(r >= 0); /* the text is ours, and a test reads it */
    }
    return rows;
}

const struct sl_jobkind *sl_jobkind_by_framework(const struct sl_jobkinds *k, const char *name) {
    for (uint32_t i = 0; i < k->n; i++)
        if (strcmp(k->v[i].framework, name) == 0)
            return &k->v[i];
    return NULL;
}

const struct sl_jobkind *sl_jobkind_by_gvk(const struct sl_jobkinds *k, const char *api_version,
                                           const char *kind) {
    for (uint32_t i = 0; i < k->n; i++)
        if (strcmp(k->v[i].kind, kind) == 0 && strcmp(k->v[i].api_version, api_version) == 0)
            return &k->v[i];
    return NULL;
}
