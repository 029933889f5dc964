/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors and controllers: see adopt.h. */
#include "cluster/controllers/core/adopt.h"

#include <string.h>

#include "cluster/controllers/core/ceilings.h"
#include "kube/types/selector.h"
#include "lib/json/json.h"

/* ---- selectors ---- */

void cl_selector_init(struct cl_selector *s) {
    sl_arena_init(&s->arena, CL_MAX_SELECTOR);
}

void cl_selector_done(struct cl_selector *s) {
    sl_arena_done(&s->arena);
}

bool cl_rules_read(struct sl_arena *a, yyjson_val *labels, yyjson_val *expressions,
                   struct sl_selector *ret) {
    *ret = (struct sl_selector){0};
    return yyjson_obj_size(labels) + yyjson_arr_size(expressions) <= SL_SELECTOR_MAX_RULES &&
           sl_label_selector_read_rules(a, labels, expressions, ret);
}

void cl_labels_read(struct sl_arena *a, yyjson_val *map, struct sl_labels *ret) {
    struct sl_label *v = sl_arena_alloc(a, (yyjson_obj_size(map) + 1) * sizeof *v);
    size_t i, n;
    yyjson_val *key, *value;
    *ret = (struct sl_labels){v, 0};
    sl_obj_foreach (map, i, n, key, value)
        if (yyjson_is_str(value))
            v[ret->n++] = (struct sl_label){sl_arena_strdup(a, sl_json_text(key)),
                                            sl_arena_strdup(a, sl_json_text(value))};
}

void cl_selector_read(struct cl_selector *s, yyjson_val *selector) {
    sl_arena_clear(&s->arena);
    s->some = cl_rules_read(&s->arena, yyjson_obj_get(selector, "matchLabels"),
                            yyjson_obj_get(selector, "matchExpressions"), &s->rules) &&
              s->rules.n > 0 && !sl_arena_full(&s->arena);
}

void cl_selector_read_map(struct cl_selector *s, yyjson_val *labels) {
    sl_arena_clear(&s->arena);
    s->some = cl_rules_read(&s->arena, labels, NULL, &s->rules) && s->rules.n > 0 &&
              !sl_arena_full(&s->arena);
}

bool cl_selector_matches(const struct cl_selector *s, const char *labels) {
    _cleanup_(sl_json_docp) yyjson_doc *d = labels ? yyjson_read(labels, strlen(labels), 0) : NULL;

    return s->some && sl_label_selector_matches(&s->rules, yyjson_doc_get_root(d));
}

/* ---- controllers ---- */

void cl_adoption_decode(struct cl_adoption *a, yyjson_val *o) {
    _cleanup_(sl_buf_done) struct sl_buf others = SL_BUF(CL_MAX_COPY);
    bool controlled = false;
    size_t i, n;
    yyjson_val *ref;

    struct sl_jw j = SL_JW(&others);
    yyjson_arr_foreach (sl_json_at(o, "metadata.ownerReferences"), i, n, ref) {
        if (sl_json_bool(ref, "controller", false)) {
            controlled = true;
            continue;
        }
        if (j.depth == 0)
            sl_jw_array(&j, NULL);
        sl_jw_val(&j, NULL, ref);
    }
    sl_jw_end_to(&j, 0);
    sl_freep(&a->others);
    a->others = others.len ? sl_strdup(sl_buf_str(&others)) : NULL;
    if (controlled)
        a->by = 0;
    else
        a->release = false;
    a->checked = false; /* what was read is about an earlier state */
}

void cl_adoption_done(struct cl_adoption *a) {
    sl_freep(&a->others);
}

void cl_adopt(struct sl_rec *r, struct cl_adoption *a, const struct sl_rec *by) {
    if (a->by || r->owner || r->create_planned || r->deleting)
        return;
    a->by = sl_rec_uid(by->uid);
    a->checked = false;
    sl_rec_write(r);
}

void cl_release(struct sl_rec *r, struct cl_adoption *a) {
    if (a->release || r->create_planned || r->deleting)
        return;
    a->release = true;
    sl_rec_write(r);
}

bool cl_adoption_build(struct sl_cluster *c, struct sl_rec *r, struct cl_adoption *a,
                       struct sl_write *w) {
    const struct sl_rec *by = sl_inf_by_uid(c->inf, a->by);

    if (!by || by->deleting || r->owner)
        a->by = 0;
    if (r->deleting || (!a->release && !a->by))
        return false;
    if (!a->release && !a->checked) {
        sl_inf_build_read(c->inf, by->kind, sl_rec_ns(by), by->name, w);
        return true;
    }
    sl_rec_build_guarded(r, NULL, w);
    sl_jw_array(&w->json, "ownerReferences");
    if (a->others)
        sl_jw_items(&w->json, a->others);
    if (!a->release)
        sl_rec_put_owner(&w->json, by);
    sl_jw_end(&w->json);
    return true;
}

void cl_adoption_written(struct sl_rec *r, struct cl_adoption *a, const struct sl_write *w,
                         enum sl_written how, const struct sl_kube_reply *reply) {
    if (w->method != SL_GET || !a->by)
        return;
    _cleanup_(sl_json_docp) yyjson_doc *d =
        how == SL_WRITTEN ? yyjson_read(reply->body, reply->len, 0) : NULL;
    yyjson_val *meta = yyjson_obj_get(yyjson_doc_get_root(d), "metadata");
    if (d && sl_rec_uid(sl_json_str(meta, "uid")) == a->by &&
        !sl_json_at(meta, "deletionTimestamp")) {
        a->checked = true;
        sl_rec_write(r);
    } else if (how == SL_WRITTEN || how == SL_WRITE_GONE) {
        a->by = 0;
    }
}
