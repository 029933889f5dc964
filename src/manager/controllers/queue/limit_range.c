/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LimitRanges by namespace, and with them the effective pod spec (kube/types/kueue/limits.h): of
 * two defaults the first applies, in order of names. Kueue uses no defined order.
 */
#include "manager/controllers/queue/limit_range.h"

#include <stdlib.h>
#include <string.h>

#include "kube/types/kueue/limits.h"
#include "lib/json/json.h"
#include "manager/controllers/core/kinds.h"

struct mgr_limits {
    struct sl_map by_ns; /* namespace -> id, one for each LimitRange */
};

void mgr_limits_new(struct sl_manager *m) {
    m->limits = sl_alloc0(1, sizeof *m->limits);
}

void mgr_limits_end(struct sl_manager *m) {
    sl_map_done(&m->limits->by_ns);
    sl_freep(&m->limits);
}

void mgr_limits_add(struct sl_manager *m, const struct sl_rec *range) {
    sl_map_add(&m->limits->by_ns, range->ns, range->id);
}

void mgr_limits_drop(struct sl_manager *m, const struct sl_rec *range) {
    (void)sl_map_del(&m->limits->by_ns, range->ns, range->id);
}

bool mgr_limits_matter(const struct sl_manager *m, sl_sym ns) {
    return sl_map_get(&m->limits->by_ns, ns) != SL_MAP_NONE;
}

static int by_name(const void *a, const void *b) {
    const struct sl_rec *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* The class that the pod names; NULL: none, or it is not known. */
static const char *runtime_class_of(const struct sl_manager *m, const char *pod) {
    if (m->inf->tables[REC_RUNTIME_CLASS].n == 0 || !strstr(pod, "\"runtimeClassName\""))
        return NULL;
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(pod, strlen(pod), 0);
    const char *name = sl_json_str(yyjson_doc_get_root(d), "runtimeClassName");
    struct sl_rec *class = *name ? sl_inf_find(m->inf, REC_RUNTIME_CLASS, "", name) : NULL;
    return class ? mgr_conf_of(class)->text : NULL;
}

void mgr_limits_put_pod(struct sl_manager *m, sl_sym ns, const char *pod, uint32_t podset,
                        struct sl_buf *out, struct sl_buf *invalid) {
    SL_VEC(struct sl_rec *) ranges = {0};
    SL_VEC(const char *) texts = {0};
    sl_map_foreach (i, &m->limits->by_ns, ns)
        *sl_vec_push(&ranges) =
            m->inf->recs.v[i]; /* NOLINT(bugprone-sizeof-expression): pointers */
    if (ranges.n)
        qsort(ranges.v, ranges.n, sizeof(struct sl_rec *), by_name);
    for (uint32_t i = 0; i < ranges.n; i++)
        *sl_vec_push(&texts) = mgr_conf_of(ranges.v[i])->text;
    const struct kueue_limits l = {texts.v, texts.n, runtime_class_of(m, pod)};
    kueue_limits_put_pod(&l, pod, podset, out, invalid);
    sl_vec_free(&texts);
    sl_vec_free(&ranges);
}
