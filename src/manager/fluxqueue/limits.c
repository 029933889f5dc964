/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API server adds to pods of a template: defaults of the LimitRanges of their namespace,
 * the overhead of their RuntimeClass and where that one is. These kinds are read before what is
 * wrapped; what changes later counts for objects that are created or change after it.
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
    static const char *const keys[] = {"spec", "overhead", "scheduling"}; /* of either kind */
    for (size_t i = 0; i < SL_LEN(keys); i++)
        if (sl_json_get(o, keys[i]))
            sl_jw_val(&w, keys[i], sl_json_get(o, keys[i]));
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

/* Of the pod's own selector stays what there is: pods with another one are refused. */
static void add_scheduling(yyjson_mut_doc *d, yyjson_mut_val *spec, yyjson_val *scheduling) {
    static const char selector[] = "nodeSelector", tolerations[] = "tolerations";
    yyjson_val *from = sl_json_get(scheduling, selector), *key, *val;
    yyjson_mut_val *to = yyjson_mut_obj_get(spec, selector);
    size_t i, n;
    if (!yyjson_mut_is_obj(to)) {
        (void)yyjson_mut_obj_remove_key(spec, selector);
        to = yyjson_mut_obj_add_obj(d, spec, selector);
    }
    sl_obj_foreach (from, i, n, key, val)
        if (!yyjson_mut_obj_get(to, sl_json_text(key)))
            (void)yyjson_mut_obj_add(to, yyjson_val_mut_copy(d, key), yyjson_val_mut_copy(d, val));
    to = yyjson_mut_obj_get(spec, tolerations);
    if (!yyjson_mut_is_arr(to)) {
        (void)yyjson_mut_obj_remove_key(spec, tolerations);
        to = yyjson_mut_obj_add_arr(d, spec, tolerations);
    }
    yyjson_arr_foreach (sl_json_get(scheduling, tolerations), i, n, val)
        (void)yyjson_mut_arr_append(to, yyjson_val_mut_copy(d, val));
}

yyjson_doc *fq_runtime_apply(const struct sl_fluxqueue *q, yyjson_val *spec) {
    const char *class = sl_json_str(spec, "runtimeClassName");
    struct sl_rec *r = *class ? sl_inf_find(q->inf, FQ_RUNTIME, "", class) : NULL;
    const char *text = r && limits_of(r)->text ? limits_of(r)->text : "{}";
    _cleanup_(sl_json_docp) yyjson_doc *known = yyjson_read(text, strlen(text), 0);
    yyjson_val *scheduling = sl_json_get(yyjson_doc_get_root(known), "scheduling");
    if (!scheduling || !yyjson_is_obj(spec))
        return NULL;
    yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *copy = yyjson_val_mut_copy(d, spec);
    yyjson_mut_doc_set_root(d, copy);
    add_scheduling(d, copy, scheduling);
    yyjson_doc *done = yyjson_mut_doc_imut_copy(d, NULL);
    yyjson_mut_doc_free(d);
    return done;
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
    yyjson_doc *placed = fq_runtime_apply(q, d ? yyjson_doc_get_root(d) : spec);
    if (placed)
        sl_json_docp(&d);
    return placed ? placed : d;
}
