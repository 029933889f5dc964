/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors and controllers: see adopt.h. */
#include "cluster/adopt.h"

#include <string.h>

#include "cluster/ceilings.h"
#include "json/json.h"

#define FEW_LABELS 64u /* as most have */

/* ---- selectors ---- */

void cl_chooser_init(struct chooser *s) {
    sl_arena_init(&s->arena, CL_MAX_SELECTOR);
}

void cl_chooser_done(struct chooser *s) {
    sl_arena_done(&s->arena);
}

static bool read_expression(struct sl_arena *a, yyjson_val *e, struct sl_label_rule *ret) {
    static const char *const words[] = {
        [SL_OP_IN] = "In",         [SL_OP_NOT_IN] = "NotIn",
        [SL_OP_EXISTS] = "Exists", [SL_OP_NOT_EXISTS] = "DoesNotExist",
        [SL_OP_GT] = "Gt", /* the API lets these two stand only where labels of nodes are meant */
        [SL_OP_LT] = "Lt",
    };
    yyjson_val *values = yyjson_obj_get(e, "values"), *v;
    size_t n = yyjson_arr_size(values), i, k;
    const char **list = sl_arena_alloc(a, (n + 1) * sizeof *list);

    *ret = (struct sl_label_rule){.key = sl_arena_strdup(a, jstr(e, "key")), .values = list};
    yyjson_arr_foreach (values, i, k, v)
        list[ret->n_values++] = sl_arena_strdup(a, sl_json_text(v));
    for (size_t op = 0; op < SL_LEN(words); op++)
        if (strcmp(jstr(e, "operator"), words[op]) == 0) {
            ret->op = (enum sl_label_op)op;
            return true;
        }
    return false;
}

bool cl_rules_read(struct sl_arena *a, yyjson_val *labels, yyjson_val *expressions,
                   struct sl_selector *ret) {
    size_t n = yyjson_obj_size(labels) + yyjson_arr_size(expressions), i, max;
    struct sl_label_rule *rules;
    yyjson_val *k, *v;
    bool good = true;

    *ret = (struct sl_selector){0};
    if (n > SL_SELECTOR_MAX_RULES)
        return false;
    rules = sl_arena_alloc(a, (n + 1) * sizeof *rules);
    sl_obj_foreach (labels, i, max, k, v) {
        const char **one = sl_arena_alloc(a, sizeof *one);
        *one = sl_arena_strdup(a, sl_json_text(v));
        rules[ret->n++] = (struct sl_label_rule){.key = sl_arena_strdup(a, sl_json_text(k)),
                                                 .op = SL_OP_IN,
                                                 .values = one,
                                                 .n_values = 1};
    }
    yyjson_arr_foreach (expressions, i, max, v)
        good &= read_expression(a, v, &rules[ret->n++]);
    ret->v = rules;
    return good;
}

void cl_chooser_read(struct chooser *s, yyjson_val *selector) {
    sl_arena_clear(&s->arena);
    s->some = cl_rules_read(&s->arena, yyjson_obj_get(selector, "matchLabels"),
                            yyjson_obj_get(selector, "matchExpressions"), &s->rules) &&
              s->rules.n > 0 && !sl_arena_full(&s->arena);
}

bool cl_chooses(const struct chooser *s, const char *labels) {
    yyjson_doc *d = labels ? yyjson_read(labels, strlen(labels), 0) : NULL;
    size_t max = yyjson_obj_size(yyjson_doc_get_root(d));
    struct sl_label few[FEW_LABELS], *l = max > FEW_LABELS ? sl_alloc(max * sizeof *l) : few;
    struct sl_labels have = {l, 0};
    yyjson_val *k, *v;
    size_t i, n;

    sl_obj_foreach (yyjson_doc_get_root(d), i, n, k, v)
        if (yyjson_is_str(v))
            l[have.n++] = (struct sl_label){sl_json_text(k), sl_json_text(v)};
    bool yes = s->some && sl_selector_matches(&s->rules, &have);
    if (l != few)
        sl_freep(&l);
    yyjson_doc_free(d);
    return yes;
}

/* ---- controllers ---- */

void cl_adoption_decode(struct adoption *a, yyjson_val *o) {
    struct sl_buf others;
    bool controlled = false;
    size_t i, n;
    yyjson_val *ref;

    sl_buf_init(&others, CL_MAX_COPY);
    yyjson_arr_foreach (jat(o, "metadata.ownerReferences"), i, n, ref) {
        if (jbool(ref, "controller", false)) {
            controlled = true;
            continue;
        }
        sl_buf_puts(&others, others.len ? "," : "");
        jput(&others, ref);
    }
    sl_freep(&a->others);
    a->others = others.len ? sl_strdup(sl_buf_str(&others)) : NULL;
    sl_buf_done(&others);
    if (controlled)
        a->by = 0;
    else
        a->release = false;
    a->checked = false; /* what was read is about an earlier state */
}

void cl_adoption_done(struct adoption *a) {
    sl_freep(&a->others);
}

void cl_adopt(struct sl_rec *r, struct adoption *a, const struct sl_rec *by) {
    if (a->by || r->owner || r->planned || r->deleting)
        return;
    a->by = sl_rec_uid(by->uid);
    a->checked = false;
    sl_rec_write(r);
}

void cl_release(struct sl_rec *r, struct adoption *a) {
    if (a->release || r->planned || r->deleting)
        return;
    a->release = true;
    sl_rec_write(r);
}

bool cl_adoption_build(struct sl_cluster *c, struct sl_rec *r, struct adoption *a, const char *more,
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
    sl_buf_printf(&w->body, ",\"ownerReferences\":[%s", a->others ? a->others : "");
    if (!a->release) {
        sl_buf_puts(&w->body, a->others ? "," : "");
        sl_rec_put_owner(&w->body, by);
    }
    sl_buf_printf(&w->body, "]%s}}", more);
    return true;
}

void cl_adoption_written(struct sl_rec *r, struct adoption *a, const struct sl_write *w,
                         enum sl_written how, const struct sl_reply *reply) {
    if (w->method != SL_GET || !a->by)
        return;
    yyjson_doc *d = how == SL_WRITTEN ? yyjson_read(reply->body, reply->len, 0) : NULL;
    yyjson_val *meta = yyjson_obj_get(yyjson_doc_get_root(d), "metadata");
    if (d && sl_rec_uid(jstr(meta, "uid")) == a->by && !jat(meta, "deletionTimestamp")) {
        a->checked = true;
        sl_rec_write(r);
    } else if (how == SL_WRITTEN || how == SL_WRITE_GONE) {
        a->by = 0;
    }
    yyjson_doc_free(d);
}
