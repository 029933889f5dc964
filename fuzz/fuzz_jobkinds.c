/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as rows of kinds of jobs (up to the first NUL), as an object of such a kind (up to the
 * second) and as another that it refers to: a row or an error with its reason, and whatever a row
 * says of an object keeps to its limits. Without rows the object goes through all that are built
 * in.
 */
#include <string.h>

#include "core/base/mem.h"
#include "lib/json/json.h"
#include "manager/jobkinds/jobkinds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_podsets(const struct sl_jobkind *k, yyjson_val *o,
                          const struct sl_jobkind_podsets *p) {
    int32_t ret[SL_JOBKIND_MAX_PODSETS];
    sl_assert(p->n >= 1 && p->n <= SL_JOBKIND_MAX_PODSETS);
    for (uint32_t i = 0; i < p->n; i++) {
        const struct sl_jobkind_pods *q = &p->v[i];
        sl_assert(q->count >= 0 && q->units >= 0 && q->sub_count >= -1);
        sl_assert(q->template && q->path && q->pointer && *q->name);
        sl_assert(strlen(q->name) <= 2 * SL_JOBKIND_MAX_WORD);
    }
    if (sl_jobkind_reclaimable(k, o, p, ret))
        for (uint32_t i = 0; i < p->n; i++)
            sl_assert(ret[i] >= 0 && ret[i] <= p->v[i].count);
    (void)sl_jobkind_ready(k, o, p);
    sl_assert(sl_jobkind_priority(k, o, p) != NULL);
}

static void check_object(const struct sl_jobkind *k, yyjson_val *o, yyjson_val *other) {
    struct sl_jobkind_podsets p;
    struct sl_jobkind_need need;
    struct sl_err err = {0};
    int r = sl_jobkind_podsets_with(k, o, other, &p, &err);
    if (r < 0)
        sl_assert(err.text[0] != '\0');
    else
        check_podsets(k, o, &p);
    sl_jobkind_podsets_done(&p);
    struct sl_jobkind_finish f = sl_jobkind_finished(k, o);
    sl_assert(!f.finished || f.message);
    (void)sl_jobkind_suspended(k, o);
    (void)sl_jobkind_skipped(k, o);
    (void)sl_jobkind_active(k, o);
    (void)sl_jobkind_managed_by(k, o);
    (void)sl_jobkind_needs(k, o, &need);
}

static size_t part(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
    return end ? (size_t)(end - data) : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t rows = part(data, size), at = rows < size ? rows + 1 : size;
    size_t object = part(data + at, size - at), after = at + object < size ? at + object + 1 : size;
    _cleanup_(sl_json_docp) yyjson_doc *o = sl_json_doc((const char *)data + at, object);
    _cleanup_(sl_json_docp) yyjson_doc *e = sl_json_doc((const char *)data + after, size - after);
    _cleanup_(sl_jobkinds_freep) struct sl_jobkinds *k = NULL;
    struct sl_err err = {0};
    if (rows && sl_jobkinds_parse("rows", (const char *)data, rows, false, &k, &err) < 0)
        sl_assert(err.text[0] != '\0');
    const struct sl_jobkinds *use = rows ? k : sl_jobkinds_built_in();
    for (uint32_t i = 0; use && i < use->n; i++)
        check_object(&use->v[i], yyjson_doc_get_root(o), yyjson_doc_get_root(e));
    return 0;
}
