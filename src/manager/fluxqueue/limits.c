/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API server adds to pods of a template: defaults of the LimitRanges of their namespace,
 * the overhead of their RuntimeClass. These kinds are read before what is wrapped; what changes
 * later counts for objects that are created or change after it.
 */
#include <stdlib.h>
#include <string.h>

#include "kube/types/kueue/limits.h"
#include "manager/fluxqueue/fq_int.h"

static struct fq_limits *limits_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_limits, rec);
}

bool fq_limits_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_fluxqueue *q = ctx;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(FQ_MAX_LIMITS);
    struct sl_jw w = SL_JW(&b);
    sl_jw_object(&w, NULL);
    const char *key = r->kind == FQ_LIMITS ? "spec" : "overhead";
    if (sl_json_get(o, key))
        sl_jw_val(&w, key, sl_json_get(o, key));
    sl_jw_end(&w);
    if (r->kind == FQ_LIMITS && !limits_of(r)->known)
        sl_map_add(&q->limits_by_ns, r->ns, r->id);
    limits_of(r)->known = true;
    fq_set_text(&limits_of(r)->text, sl_buf_full(&b) ? NULL : sl_buf_str(&b));
    q->limits++;
    return false;
}

void fq_limits_deleted(void *ctx, struct sl_rec *r) {
    struct sl_fluxqueue *q = ctx;
    if (r->kind == FQ_LIMITS)
        (void)sl_map_del(&q->limits_by_ns, r->ns, r->id);
    q->limits++;
}

void fq_limits_free(struct sl_rec *r) {
    sl_freep(&limits_of(r)->text);
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(struct sl_rec *const *)a)->name, (*(struct sl_rec *const *)b)->name);
}

yyjson_doc *fq_limits_apply(const struct sl_fluxqueue *q, sl_sym ns, yyjson_val *spec) {
    _cleanup_(sl_buf_done) struct sl_buf out = SL_BUF(FQ_MAX_LIMITS),
                                         invalid = SL_BUF(FQ_MAX_MESSAGE);
    const char *class = sl_json_str(spec, "runtimeClassName");
    struct sl_rec *runtime = *class ? sl_inf_find(q->inf, FQ_RUNTIME, "", class) : NULL;
    SL_VEC(struct sl_rec *) ranges = {0};
    SL_VEC(const char *) texts = {0};
    yyjson_doc *d = NULL;
    sl_map_foreach (i, &q->limits_by_ns, ns) {
        struct sl_rec *r = q->inf->recs.v[i];
        if (r->ns == ns && limits_of(r)->text)
            *sl_vec_push(&ranges) = r; /* NOLINT(bugprone-sizeof-expression): pointers */
    }
    if (ranges.n)
        qsort(ranges.v, ranges.n, sizeof(struct sl_rec *), by_name);
    for (uint32_t i = 0; i < ranges.n; i++)
        *sl_vec_push(&texts) = limits_of(ranges.v[i])->text;
    const struct kueue_limits l = {texts.v, texts.n, runtime ? limits_of(runtime)->text : NULL};
    char *text = l.n_ranges || l.runtime_class ? yyjson_val_write(spec, 0, NULL) : NULL;
    if (text)
        kueue_limits_put_pod(&l, text, 0, &out,
                             &invalid); /* the API server refuses what is invalid */
    if (text && !sl_buf_full(&out))
        d = yyjson_read(sl_buf_str(&out), out.len, 0);
    free(text);
    sl_vec_free(&texts);
    sl_vec_free(&ranges);
    return d;
}
