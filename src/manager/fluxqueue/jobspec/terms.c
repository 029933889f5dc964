/* SPDX-License-Identifier: Apache-2.0 */
/* On which nodes something may be that is no pod: a node selector of a volume or of a storage class
 * as a constraint, read as that of a pod is; and whether a node is one of them. */
#include <stdlib.h>

#include "core/base/fmt.h"
#include "kube/types/kueue/objects.h"
#include "kube/types/podset.h"
#include "lib/json/writer.h"
#include "manager/fluxqueue/jobspec/jobspec_int.h"

#define MAX_TERMS_BYTES ((size_t)1 << 20)
#define MAX_TERMS_VALUES (UINT32_C(64) << 10)
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

/* A pod that requires these terms. */
static void put_pod(struct sl_buf *b, yyjson_val *terms) {
    struct sl_jw w = SL_JW(b);
    sl_jw_object(&w, NULL);
    sl_jw_object(&w, "affinity");
    sl_jw_object(&w, "nodeAffinity");
    sl_jw_object(&w, REQUIRED);
    sl_jw_val(&w, "nodeSelectorTerms", terms);
    sl_jw_end_to(&w, 0);
}

int fq_where_pod(yyjson_val *spec, struct sl_arena *a, struct sl_constraint *ret,
                 struct sl_err *err) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(MAX_TERMS_BYTES);
    _cleanup_(sl_doc_freep) struct sl_doc *doc = NULL;
    struct sl_read rd = {.file = "terms", .arena = a, .err = err};
    struct sl_podset_spec decoded = {0};

    sl_podspec_put(&text, spec, true);
    if (sl_buf_full(&text))
        return sl_err_set(err, SL_ELIMIT, "more than %zu bytes of terms", MAX_TERMS_BYTES);
    rd.code = sl_doc_json_within("terms", text.s, text.len, MAX_TERMS_VALUES, &doc, err);
    if (rd.code >= 0)
        sl_decode_podset(&rd, &doc->roots[0], &decoded);
    if (rd.code >= 0)
        rd.code = fq_where_read(spec, &decoded, a, ret, err);
    if (rd.code >= 0 && sl_arena_full(a))
        rd.code = sl_err_set(err, SL_ELIMIT, "too many terms");
    return rd.code;
}

int fq_where_terms(yyjson_val *terms, struct sl_arena *a, struct sl_constraint *ret,
                   struct sl_err *err) {
    _cleanup_(sl_buf_done) struct sl_buf pod = SL_BUF(MAX_TERMS_BYTES);
    _cleanup_(sl_json_docp) yyjson_doc *json = NULL;

    put_pod(&pod, terms);
    json = sl_buf_full(&pod) ? NULL : yyjson_read(pod.s, pod.len, 0);
    if (!json)
        return sl_err_set(err, SL_ELIMIT, "more than %zu bytes of terms", MAX_TERMS_BYTES);
    return fq_where_pod(yyjson_doc_get_root(json), a, ret, err);
}

/* ---- is a node one of them? ---- */

static bool read_int(const char *s, int64_t *ret) {
    char *end;
    *ret = strtoll(s, &end, 10);
    return *s && !*end;
}

/* "KEY>5": both are integers. */
static bool compares(const struct sl_labels *l, const char *name, size_t key, char op) {
    char text[512];
    int64_t has, limit;
    sl_fmt_short(text, sizeof text, "%.*s", (int)key, name);
    const char *value = sl_labels_get(l, text);
    if (!value || !read_int(value, &has) || !read_int(name + key + 1, &limit))
        return false;
    return op == '>' ? has > limit : has < limit;
}

static bool has_property(const struct sl_labels *l, const char *name) {
    size_t key = strcspn(name, "=<>");
    if (name[key] == '>' || name[key] == '<')
        return compares(l, name, key, name[key]);
    for (uint32_t i = 0; i < l->n; i++)
        if (strlen(l->v[i].key) == key && strncmp(l->v[i].key, name, key) == 0)
            return !name[key] || strcmp(l->v[i].value, name + key + 1) == 0;
    return false;
}

bool fq_where_holds(const struct sl_constraint *c, const char *node, const struct sl_labels *l) {
    bool all = true, any = c->n_terms + c->n_names == 0;
    for (uint32_t i = 0; i < c->n_names; i++) {
        bool absent = c->kind == SL_CONSTRAINT_PROPERTIES && c->names[i][0] == '^';
        bool is = c->kind == SL_CONSTRAINT_HOSTS ? strcmp(c->names[i], node) == 0
                                                 : has_property(l, c->names[i] + absent) != absent;
        all &= is;
        any |= is;
    }
    for (uint32_t i = 0; i < c->n_terms; i++) {
        bool is = fq_where_holds(&c->terms[i], node, l);
        all &= is;
        any |= is;
    }
    switch (c->kind) {
    case SL_CONSTRAINT_AND:
    case SL_CONSTRAINT_PROPERTIES:
    case SL_CONSTRAINT_ALL:
        return all;
    case SL_CONSTRAINT_OR:
    case SL_CONSTRAINT_HOSTS:
        return any;
    case SL_CONSTRAINT_NOT:
        return !all;
    case SL_CONSTRAINT_RANKS:
        break; /* of no node here */
    }
    return false;
}
