/* SPDX-License-Identifier: Apache-2.0 */
/* The text that a Job's Workload is made of: its pod template, cleaned, and what is copied of its
 * labels and annotations. */
#include "manager/controllers/job/draft.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/collection/wordset.h"
#include "lib/json/json.h"
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/job/job.h"

#define TOPOLOGY "kueue.x-k8s.io/podset-"
#define INDEX_LABEL "batch.kubernetes.io/job-completion-index"
#define PROVREQ_PREFIX "provreq.kueue.x-k8s.io/"
#define MAX_TEXT ((size_t)16 << 20) /* twice the longest event of a watch */

/* Labels that the API server gives to every Job's pods; batch.kubernetes.io/job-name stays. */
static bool is_managed(const char *key, bool label) {
    static const char *const labels[] = {"job-name", "controller-uid",
                                         "batch.kubernetes.io/controller-uid"};
    for (size_t i = 0; i < SL_LEN(labels); i++)
        if (label && strcmp(key, labels[i]) == 0)
            return true;
    return false;
}

/* ---- the template ---- */

static const char *env_name(yyjson_mut_val *env) {
    return sl_json_mut_text(yyjson_mut_obj_get(env, "name"));
}

/* Of variables with one name the last counts, at the place of the first. */
static void unify_env(yyjson_mut_doc *doc, yyjson_mut_val *container) {
    yyjson_mut_val *old = yyjson_mut_obj_get(container, "env"), *var;
    struct sl_wordset names = {0};
    SL_VEC(yyjson_mut_val *) last = {0};
    size_t i, n;
    if (yyjson_mut_arr_size(old) < 2)
        return;
    yyjson_mut_arr_foreach (old, i, n, var) {
        if (sl_wordset_add(&names, env_name(var)))
            *sl_vec_push(&last) = var;
        else
            last.v[sl_wordset_find(&names, env_name(var))] = var;
    }
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    for (uint32_t k = 0; k < last.n; k++)
        (void)yyjson_mut_arr_append(list, yyjson_mut_val_mut_copy(doc, last.v[k]));
    (void)yyjson_mut_obj_put(container, yyjson_mut_str(doc, "env"), list);
    sl_vec_free(&last);
    sl_wordset_done(&names);
}

static void drop_keys(yyjson_mut_val *meta, bool labels, mgr_draft_drop_fn drop) {
    yyjson_mut_obj_iter it;
    yyjson_mut_obj_iter_init(yyjson_mut_obj_get(meta, labels ? "labels" : "annotations"), &it);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&it));)
        if (drop(sl_json_mut_text(key), labels))
            (void)yyjson_mut_obj_iter_remove(&it);
}

void mgr_draft_put_template(yyjson_val *template, mgr_draft_drop_fn drop, struct sl_jw *out) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *t = drop ? yyjson_val_mut_copy(doc, template) : yyjson_mut_obj(doc), *c;
    if (!drop)
        (void)yyjson_mut_obj_add_val(doc, t, "spec",
                                     yyjson_val_mut_copy(doc, yyjson_obj_get(template, "spec")));
    yyjson_mut_val *meta = yyjson_mut_obj_get(t, "metadata");
    yyjson_mut_val *spec = yyjson_mut_obj_get(t, "spec");
    static const char *const lists[] = {"initContainers", "containers"};
    size_t i, n;

    (void)yyjson_mut_obj_remove_key(meta, "creationTimestamp");
    if (drop) {
        drop_keys(meta, true, drop);
        drop_keys(meta, false, drop);
    }
    for (size_t k = 0; k < SL_LEN(lists); k++) {
        yyjson_mut_val *list = yyjson_mut_obj_get(spec, lists[k]);
        yyjson_mut_arr_foreach (list, i, n, c)
            unify_env(doc, c);
    }
    sl_jw_mut_val(out, "template", t);
    yyjson_mut_doc_free(doc);
}

/* ---- topology ---- */

/* What does not parse is left out: admission has refused it, or the webhook was not called. */
static void put_slices(const struct sl_manager *m, yyjson_val *annotations, struct sl_jw *out) {
    const char *level =
        sl_json_opt(yyjson_obj_get(annotations, TOPOLOGY "slice-required-topology"));
    const char *size = sl_json_opt(yyjson_obj_get(annotations, TOPOLOGY "slice-size"));
    const char *layers =
        sl_json_opt(yyjson_obj_get(annotations, TOPOLOGY "slice-required-topology-constraints"));
    if (layers && m->settings->gates[SL_G_TAS_MULTI_LAYER_TOPOLOGY]) {
        yyjson_doc *d = yyjson_read(layers, strlen(layers), 0);
        yyjson_val *list = yyjson_doc_get_root(d);
        if (yyjson_arr_size(list) >= 1) /* too many are the Workload's to be refused for */
            sl_jw_val(out, "podsetSliceRequiredTopologyConstraints", list);
        yyjson_doc_free(d);
    } else if (level && size && *size && strlen(size) < 10 &&
               strspn(size, "0123456789") == strlen(size)) {
        sl_jw_str(out, "podSetSliceRequiredTopology", level);
        sl_jw_int(out, "podSetSliceSize", strtol(size, NULL, 10));
    }
}

void mgr_draft_put_topology(const struct sl_manager *m, yyjson_val *annotations,
                            const char *index_label, struct sl_jw *out) {
    mgr_draft_put_topology_of(m, annotations, index_label, (struct mgr_draft_subgroup){NULL, -1},
                              out);
}

void mgr_draft_put_topology_of(const struct sl_manager *m, yyjson_val *annotations,
                               const char *index_label, struct mgr_draft_subgroup sub,
                               struct sl_jw *out) {
    const char *required = sl_json_opt(yyjson_obj_get(annotations, TOPOLOGY "required-topology"));
    const char *preferred = sl_json_opt(yyjson_obj_get(annotations, TOPOLOGY "preferred-topology"));
    const char *unconstrained =
        sl_json_opt(yyjson_obj_get(annotations, TOPOLOGY "unconstrained-topology"));
    const char *group = sl_json_opt(yyjson_obj_get(annotations, TOPOLOGY "group-name"));

    if (!m->settings->gates[SL_G_TOPOLOGY_AWARE_SCHEDULING])
        return;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TEXT);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    if (index_label)
        sl_jw_str(&j, "podIndexLabel", index_label);
    if (sub.label)
        sl_jw_str(&j, "subGroupIndexLabel", sub.label);
    if (sub.count >= 0)
        sl_jw_int(&j, "subGroupCount", sub.count);
    if (required)
        sl_jw_str(&j, "required", required);
    else if (preferred)
        sl_jw_str(&j, "preferred", preferred);
    else if (unconstrained)
        sl_jw_bool(&j, "unconstrained", mgr_parse_go_bool(unconstrained));
    put_slices(m, annotations, &j);
    if (group && (required || preferred))
        sl_jw_str(&j, "podSetGroupName", group);
    sl_jw_end(&j);
    if (!mgr_draft_none(sl_buf_str(&b)))
        sl_jw_raw(out, "topologyRequest", sl_buf_str(&b));
}

/* ---- besides podsets ---- */

static void put_absent(struct sl_jw *out, const char *key, bool replace) {
    if (replace)
        sl_jw_null(out, key);
}

void mgr_draft_put_terms(const struct sl_manager *m, const struct mgr_priority *p, sl_sym queue,
                         int32_t max_exec_s, bool replace, struct sl_jw *out) {
    sl_jw_int(out, "priority", p->value);
    if (*p->name) {
        sl_jw_object(out, "priorityClassRef");
        sl_jw_str(out, "group", p->group);
        sl_jw_str(out, "kind", p->kind);
        sl_jw_str(out, "name", p->name);
        sl_jw_end(out);
    } else {
        put_absent(out, "priorityClassRef", replace);
    }
    if (queue)
        sl_jw_str(out, "queueName", mgr_str(m, queue));
    else
        put_absent(out, "queueName", replace);
    if (max_exec_s > 0)
        sl_jw_int(out, "maximumExecutionTimeSeconds", max_exec_s);
    else
        put_absent(out, "maximumExecutionTimeSeconds", replace);
}

/* ---- labels and annotations ---- */

void mgr_draft_put_chosen(yyjson_val *map, const struct sl_strs *keys, struct sl_jw *out) {
    for (uint32_t i = 0; i < keys->n; i++) {
        const char *value = sl_json_opt(yyjson_obj_get(map, keys->v[i]));
        if (value)
            sl_jw_str(out, keys->v[i], value);
    }
}

void mgr_draft_put_provreq(yyjson_val *map, struct sl_jw *out) {
    size_t i, n;
    yyjson_val *k, *v;
    sl_obj_foreach (map, i, n, k, v)
        if (strncmp(sl_json_text(k), PROVREQ_PREFIX, strlen(PROVREQ_PREFIX)) == 0 &&
            yyjson_is_str(v))
            sl_jw_str(out, sl_json_text(k), sl_json_text(v));
}

void mgr_draft_put_annotations(const struct sl_manager *m, yyjson_val *map, struct sl_jw *out) {
    mgr_draft_put_provreq(map, out);
    if (m->settings->gates[SL_G_CUSTOM_METRIC_LABELS])
        mgr_draft_put_chosen(map, &m->spec.annotations_to_copy, out);
}

/* ---- the whole ---- */

/* Returns the object that was written, and clears the buffer for the next. */
static char *take_json(struct sl_jw *j) {
    sl_jw_end(j);
    char *s = sl_strdup(sl_buf_str(j->b));
    sl_buf_clear(j->b);
    return s;
}

static void keep_metadata(const struct sl_manager *m, struct mgr_rec_job *j, yyjson_val *o,
                          struct sl_jw *out) {
    sl_jw_object(out, NULL);
    mgr_draft_put_chosen(sl_json_at(o, "metadata.labels"), &m->settings->label_keys_to_copy, out);
    j->draft->labels = take_json(out);
    sl_jw_object(out, NULL);
    mgr_draft_put_annotations(m, sl_json_at(o, "metadata.annotations"), out);
    j->draft->annotations = take_json(out);
}

void mgr_job_draft_keep(const struct sl_manager *m, struct mgr_rec_job *j, yyjson_val *o) {
    yyjson_val *template = sl_json_at(o, "spec.template");

    mgr_job_draft_drop(j);
    j->draft = sl_alloc0(1, sizeof *j->draft);
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TEXT);
    struct sl_jw out = SL_JW(&b);
    sl_jw_object(&out, NULL);
    mgr_draft_put_template(template, is_managed, &out);
    mgr_draft_put_topology(m, sl_json_at(template, "metadata.annotations"), INDEX_LABEL, &out);
    j->draft->podset = take_json(&out);
    keep_metadata(m, j, o, &out);
}

static bool keep_all(const char *key, bool label) {
    (void)key, (void)label;
    return false;
}

void mgr_job_draft_keep_row(const struct sl_manager *m, struct mgr_rec_job *j, yyjson_val *o,
                            const struct sl_jobkind_podsets *p) {
    mgr_job_draft_drop(j);
    j->draft = sl_alloc0(1, sizeof *j->draft);
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TEXT);
    struct sl_jw out = SL_JW(&b);
    sl_jw_array(&out, NULL);
    for (uint32_t i = 0; i < p->n; i++) {
        const struct sl_jobkind_pods *q = &p->v[i];
        sl_jw_object(&out, NULL);
        sl_jw_str(&out, "name", q->name);
        sl_jw_int(&out, "count", q->count);
        mgr_draft_put_template(q->template, keep_all, &out);
        mgr_draft_put_topology_of(m, sl_json_at(q->template, "metadata.annotations"), q->rank_label,
                                  (struct mgr_draft_subgroup){q->sub_label, q->sub_count}, &out);
        sl_jw_end(&out);
    }
    j->draft->podset = take_json(&out);
    keep_metadata(m, j, o, &out);
}

void mgr_job_draft_drop(struct mgr_rec_job *j) {
    if (!j->draft)
        return;
    sl_freep(&j->draft->podset);
    sl_freep(&j->draft->labels);
    sl_freep(&j->draft->annotations);
    sl_freep(&j->draft);
}
