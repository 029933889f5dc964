/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/admission/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"
#include "kube/types/syntax.h"

#define TEXT_MAX_BYTES 1024

static const char *format(struct sl_review_call *c, const char *fmt, va_list ap) {
    char text[TEXT_MAX_BYTES];

    sl_vfmt_short(text, sizeof(text), fmt, ap);
    return sl_arena_strdup(c->arena, text);
}

void adm_call_warn(struct sl_review_call *c, const char *fmt, ...) {
    va_list ap;

    if (c->n_warnings == SL_CALL_MAX_WARNINGS)
        return;
    va_start(ap, fmt);
    c->warnings[c->n_warnings++] = format(c, fmt, ap);
    va_end(ap);
}

int adm_call_refuse(struct sl_review_call *c, int code, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    c->refused = format(c, fmt, ap);
    va_end(ap);
    c->refused_code = code;
    return code;
}

int adm_call_refuse_type(struct sl_review_call *c, const struct sl_path *at, const char *expected) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(TEXT_MAX_BYTES);

    sl_path_print(at, &text);
    return adm_call_refuse(c, 400, "%s: expected %s", sl_buf_str(&text), expected);
}

/* ---- editing ---- */

yyjson_mut_val *adm_call_edit(struct sl_review_call *c) {
    if (!c->edit) {
        c->edit = yyjson_mut_doc_new(NULL);
        sl_assert(c->edit);
        yyjson_mut_doc_set_root(c->edit, yyjson_val_mut_copy(c->edit, c->object));
    }
    return yyjson_mut_doc_get_root(c->edit);
}

static void put_edit_field(struct sl_review_call *c, yyjson_mut_val *parent, const char *key,
                           yyjson_mut_val *value) {
    bool ok = yyjson_mut_obj_put(parent, yyjson_mut_strcpy(c->edit, key), value);
    sl_assert(ok); /* out of memory is the only reason */
}

yyjson_mut_val *adm_edit_object(struct sl_review_call *c, yyjson_mut_val *parent, const char *key) {
    yyjson_mut_val *v = yyjson_mut_obj_get(parent, key);

    if (!yyjson_mut_is_obj(v)) {
        v = yyjson_mut_obj(c->edit);
        put_edit_field(c, parent, key, v);
    }
    return v;
}

yyjson_mut_val *adm_edit_parent(struct sl_review_call *c, yyjson_mut_val *root,
                                const struct sl_path *at, const char *path, const char **ret_key) {
    const char *step = path;

    for (const char *dot; (dot = strchr(step, '.')); step = dot + 1) {
        const char *key = sl_arena_strndup(c->arena, step, (size_t)(dot - step));
        yyjson_mut_val *next = yyjson_mut_obj_get(root, key);
        if (next && !yyjson_mut_is_obj(next) && !yyjson_mut_is_null(next)) {
            const char *here = sl_arena_strndup(c->arena, path, (size_t)(dot - path));
            (void)adm_call_refuse_type(c, SL_PATH(at, here), "an object");
            return NULL;
        }
        root = adm_edit_object(c, root, key);
    }
    *ret_key = step;
    return root;
}

void adm_edit_str(struct sl_review_call *c, yyjson_mut_val *parent, const char *key,
                  const char *s) {
    put_edit_field(c, parent, key, yyjson_mut_strcpy(c->edit, s));
}

void adm_edit_bool(struct sl_review_call *c, yyjson_mut_val *parent, const char *key, bool b) {
    put_edit_field(c, parent, key, yyjson_mut_bool(c->edit, b));
}

void adm_edit_remove(yyjson_mut_val *parent, const char *key) {
    (void)yyjson_mut_obj_remove_key(parent, key);
}

static void edit_meta(struct sl_review_call *c, const char *map, const char *key,
                      const char *value) {
    yyjson_mut_val *metadata = adm_edit_object(c, adm_call_edit(c), "metadata");
    adm_edit_str(c, adm_edit_object(c, metadata, map), key, value);
}

void adm_edit_label(struct sl_review_call *c, const char *key, const char *value) {
    edit_meta(c, "labels", key, value);
}

void adm_edit_annotation(struct sl_review_call *c, const char *key, const char *value) {
    edit_meta(c, "annotations", key, value);
}

void adm_edit_finalizer(struct sl_review_call *c, const char *finalizer) {
    yyjson_mut_val *metadata = adm_edit_object(c, adm_call_edit(c), "metadata");
    yyjson_mut_val *list = yyjson_mut_obj_get(metadata, "finalizers"), *item;
    size_t i, n;

    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(c->edit);
        put_edit_field(c, metadata, "finalizers", list);
    }
    yyjson_mut_arr_foreach (list, i, n, item) {
        if (yyjson_mut_equals_str(item, finalizer))
            return;
    }
    bool ok = yyjson_mut_arr_add_strcpy(c->edit, list, finalizer);
    sl_assert(ok);
}

void adm_edit_gate(struct sl_review_call *c, yyjson_mut_val *spec, const char *gate) {
    yyjson_mut_val *list = yyjson_mut_obj_get(spec, "schedulingGates"), *item;
    size_t i, n;

    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(c->edit);
        put_edit_field(c, spec, "schedulingGates", list);
    }
    yyjson_mut_arr_foreach (list, i, n, item) {
        if (yyjson_mut_equals_str(yyjson_mut_obj_get(item, "name"), gate))
            return;
    }
    item = yyjson_mut_arr_add_obj(c->edit, list);
    sl_assert(item);
    adm_edit_str(c, item, "name", gate);
}

/* ---- admission-gated-by ---- */

#define GATED_BY "kueue.x-k8s.io/admission-gated-by"
#define GATE_MAX_BYTES 63
#define GATES_MAX 256

struct gates {
    struct {
        const char *s;
        size_t len;
    } v[GATES_MAX];
    size_t n;
    bool more; /* than fit */
};

static bool is_space(char ch) {
    return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

/* "a, b": names between commas, without the spaces around them. All spaces: none. */
static void split(const char *list, struct gates *g) {
    *g = (struct gates){0};
    if (list[strspn(list, " \t\n\v\f\r")] == '\0')
        return;
    for (const char *p = list;; p++) {
        const char *end = strchrnul(p, ','), *last = end;
        while (is_space(*p))
            p++;
        while (last > p && is_space(last[-1]))
            last--;
        if (g->n == GATES_MAX) {
            g->more = true;
            return;
        }
        g->v[g->n].s = p;
        g->v[g->n++].len = (size_t)(last - p);
        if (*end == '\0')
            return;
        p = end;
    }
}

/* Does it stand among the first n? */
static bool has(const struct gates *g, size_t n, const char *s, size_t len) {
    for (size_t i = 0; i < n; i++)
        if (g->v[i].len == len && memcmp(g->v[i].s, s, len) == 0)
            return true;
    return false;
}

static void check_gates(struct sl_field_errs *e, const struct sl_path *at, const char *list,
                        const struct gates *g) {
    if (g->more)
        sl_field_too_many(e, at, GATES_MAX + 1, GATES_MAX);
    for (size_t i = 0; i < g->n; i++) {
        const char *s = g->v[i].s;
        size_t len = g->v[i].len;
        if (len == 0) {
            sl_field_invalid(e, at, sl_field_value_str(list), "cannot contain empty gate names");
            continue;
        }
        if (has(g, i, s, len)) {
            sl_field_invalid(e, at, sl_field_value_str(list), "duplicate gate name: %.*s", (int)len,
                             s);
            continue;
        }
        sl_syntax_check_domain_path(e, at, s, len);
        if (len > GATE_MAX_BYTES)
            sl_field_too_long(e, at, GATE_MAX_BYTES);
    }
}

void adm_rule_admission_gated_by(struct sl_review_call *c) {
    const struct sl_path *at = SL_PATH_KEY(SL_PATH(NULL, "metadata.annotations"), GATED_BY);
    const char *now = sl_json_annotation_opt(c->object, GATED_BY);
    const char *old = c->old ? sl_json_annotation_opt(c->old, GATED_BY) : NULL;
    struct gates gates, before;

    if (!adm_call_gate(c, SL_G_ADMISSION_GATED_BY) || !now || !*now)
        return;
    split(now, &gates);
    check_gates(&c->errs, at, now, &gates);
    if (c->old && (!old || !*old))
        sl_field_forbidden(&c->errs, at, "cannot add admission gate after creation");
    split(old ? old : "", &before);
    for (size_t i = 0; old && *old && i < gates.n; i++) {
        if (!has(&before, before.n, gates.v[i].s, gates.v[i].len)) {
            sl_field_forbidden(&c->errs, at, "can only remove gates, not add new ones");
            return;
        }
    }
}
