/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-side apply. The applied configuration is merged into the object; what the manager applied
 * last time and does not apply now is removed, unless another manager owns it; a change of a field
 * that another manager owns is a conflict.
 */
#include <string.h>

#include "cluster/merge/ceilings.h"
#include "cluster/merge/gotext.h"
#include "cluster/merge/manage.h"
#include "cluster/merge/typed.h"
#include "lib/json/json.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

struct apply {
    struct sl_arena a;
    const struct sl_schema *s;
    const struct sl_manage_id *by;
    yyjson_mut_doc *doc;
    yyjson_val *old; /* NULL: there is none */
    yyjson_mut_val *now, *applied;
    struct merge_managers m;
    struct merge_fields *last, *applied_fields; /* what the manager applied before, and does now */
    struct sl_patch_err *err;
};

static bool is_kubectl(const struct apply *p) {
    return p->by->name && strcmp(p->by->name, "kubectl") == 0;
}

static int apply_error(struct apply *p, int status, const char *reason) {
    p->err->status = status;
    p->err->reason = reason;
    return SL_EINVAL;
}

static const char *text_at(yyjson_mut_val *v, const char *key) {
    return sl_json_mut_text(yyjson_mut_obj_get(v, key));
}

/* ---- is it to be applied at all? ---- */

/* "apps/v1, Kind=Deployment" */
static void print_kind(struct sl_buf *out, yyjson_mut_val *v) {
    const char *version = text_at(v, "apiVersion");
    sl_buf_printf(out, "%s%s, Kind=%s", strchr(version, '/') ? "" : "/", version,
                  text_at(v, "kind"));
}

static int check_applied(struct apply *p) {
    struct sl_buf *text = &p->err->text;
    yyjson_mut_val *meta = yyjson_mut_obj_get(p->applied, "metadata");

    if (!yyjson_mut_is_obj(p->applied) && !yyjson_mut_is_null(p->applied)) {
        sl_buf_printf(text,
                      "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: "
                      "cannot unmarshal %s into Go value of type map[string]interface {}",
                      sl_go_word((yyjson_val *)p->applied));
        return apply_error(p, 400, "BadRequest");
    }
    if (strcmp(text_at(p->applied, "apiVersion"), p->by->api_version) != 0 ||
        (p->by->kind && strcmp(text_at(p->applied, "kind"), p->by->kind) != 0)) {
        sl_buf_puts(text, "invalid object type: ");
        print_kind(text, p->applied);
        return apply_error(p, 400, "BadRequest");
    }
    if (yyjson_mut_is_arr(yyjson_mut_obj_get(meta, "managedFields"))) {
        sl_buf_puts(text, "metadata.managedFields must be nil");
        return apply_error(p, 400, "BadRequest");
    }
    struct sl_buf faults;
    sl_buf_init(&faults, MERGE_TEXT);
    sl_buf_short(&faults);
    bool good = merge_typed_check(&p->a, p->s, p->applied, &faults);
    if (!good) {
        sl_buf_printf(text, "failed to create typed patch object (%s/%s; ",
                      text_at(meta, "namespace"), text_at(meta, "name"));
        print_kind(text, p->applied);
        sl_buf_printf(text, "): %s", sl_buf_str(&faults));
    }
    sl_buf_done(&faults);
    return good ? 0 : apply_error(p, 500, "");
}

/* ---- what goes ---- */

static struct merge_fields *named_fields(struct apply *p, yyjson_mut_val *v) {
    struct merge_fields *f = merge_typed_fields(&p->a, p->s, v);
    merge_fields_name(f, p->s);
    return f;
}

/*
 * Removes from the merged object what was applied last time, is not now, and no manager owns. An
 * item or map is removed only if this manager owned it as a whole: fields of others, or without an
 * owner, keep it.
 */
static void prune(struct apply *p) {
    struct merge_fields *gone = merge_fields_copy(&p->a, p->last);
    (void)merge_fields_subtract(&gone, p->applied_fields, SL_F_ALL);
    if (!gone)
        return; /* it still applies all that it applied: the usual case */

    struct merge_fields *all = named_fields(p, p->now),
                        *owned = merge_fields_copy(&p->a, p->applied_fields);
    struct merge_fields **each =
        sl_arena_alloc(&p->a, (p->m.n + 1) * sizeof(struct merge_fields *));
    for (uint32_t i = 0; i < p->m.n; i++)
        each[i] = merge_fields_copy(&p->a, p->m.v[i].fields);
    owned = merge_fields_unite(merge_fields_unite_all(each, p->m.n), owned);
    merge_fields_name(owned, p->s);
    struct merge_fields *last = merge_fields_copy(&p->a, p->last);
    merge_fields_name(last, p->s);

    /* Without what was applied last, but with what a manager owns. */
    yyjson_mut_val *rest = yyjson_mut_val_mut_copy(p->doc, p->now);
    merge_typed_remove(&p->a, p->s, rest, last);
    owned = merge_fields_unite(owned, named_fields(p, rest));
    gone = merge_fields_copy(&p->a, all);
    (void)merge_fields_subtract(&gone, owned, SL_F_ALL);
    rest = yyjson_mut_val_mut_copy(p->doc, p->now);
    merge_typed_remove(&p->a, p->s, rest, gone);

    /* Of what is missing now, only what this manager had applied. */
    gone = all;
    (void)merge_fields_subtract(&gone, named_fields(p, rest), SL_F_ALL);
    merge_typed_remove(&p->a, p->s, p->now, merge_fields_intersect(&p->a, gone, last, SL_F_ALL));
}

/* ---- conflicts ---- */

/* What the manager would take from this one. */
struct conflict {
    const struct merge_manager *with;
    struct merge_fields *fields;
};

struct conflicts {
    struct apply *p;
    struct conflict *v;
    uint32_t n, paths, reported;
    const struct merge_manager *with; /* the manager whose paths are being reported */
    const char *only;                 /* the first path */
    struct sl_buf list, heading;
};

/* Each with its whole path, and a long key may stand at the beginning of all: those that are too
 * much are only counted. */
static void report_conflict(void *ctx, const char *path) {
    struct conflicts *c = ctx;
    yyjson_mut_doc *doc = c->p->doc;

    if (c->paths++ == 0)
        c->only = sl_arena_strdup(&c->p->a, path);
    if (c->list.len > MERGE_CONFLICTS)
        return;
    c->reported++;
    yyjson_mut_val *cause = yyjson_mut_obj(doc);
    sl_buf_printf(&c->list, "\n- %s", path);
    (void)yyjson_mut_obj_add_str(doc, cause, "reason", "FieldManagerConflict");
    (void)yyjson_mut_obj_add_val(doc, cause, "message",
                                 yyjson_mut_strcpy(doc, sl_buf_str(&c->heading)));
    (void)yyjson_mut_obj_add_strcpy(doc, cause, "field", path);
    (void)yyjson_mut_arr_append(c->p->err->causes, cause);
}

static int report_conflicts(struct apply *p, struct conflicts *c) {
    struct sl_buf path, *text = &p->err->text;

    sl_buf_init(&path, MERGE_TEXT);
    sl_buf_short(&path); /* of the keys of a list, a letter may take six */
    sl_buf_init(&c->list, MERGE_TEXT);
    sl_buf_short(&c->list);
    sl_buf_init(&c->heading, MERGE_TEXT);
    sl_buf_short(&c->heading);
    p->err->causes = yyjson_mut_arr(p->doc);
    for (uint32_t i = 0; i < c->n; i++) {
        sl_buf_clear(&c->heading);
        sl_buf_puts(&c->heading, "conflict with ");
        merge_manager_print(c->v[i].with, &c->heading);
        sl_buf_printf(&c->list, "%sconflicts%s:", i ? "\n" : "", sl_buf_str(&c->heading) + 8);
        merge_fields_each(c->v[i].fields, &path, report_conflict, c);
    }
    if (c->reported < c->paths)
        sl_buf_printf(&c->list, "\n- and %u more", c->paths - c->reported);
    if (c->paths == 1)
        sl_buf_printf(text, "Apply failed with 1 conflict: %s: %s", sl_buf_str(&c->heading),
                      c->only);
    else
        sl_buf_printf(text, "Apply failed with %u conflicts: %s", c->paths, sl_buf_str(&c->list));
    sl_buf_done(&path);
    sl_buf_done(&c->list);
    sl_buf_done(&c->heading);
    return apply_error(p, 409, "Conflict");
}

/* Fields that kubectl applied from its side and that are still as it left them. */
static struct merge_fields *applied_by_client(struct apply *p) {
    yyjson_val *notes = yyjson_obj_get(yyjson_obj_get(p->old, "metadata"), "annotations");
    struct sl_text text = sl_json_view(yyjson_obj_get(notes, LAST_APPLIED));
    /* Any client may write it, and it is copied and compared by recursion. */
    bool fit = text.n > 0 && !sl_json_too_deep(text.s, text.n);
    yyjson_doc *doc = fit ? yyjson_read(text.s, text.n, 0) : NULL;
    yyjson_val *v = yyjson_doc_get_root(doc);
    struct merge_fields *f = NULL;
    struct sl_buf faults;

    sl_buf_init(&faults, MERGE_TEXT);
    sl_buf_short(&faults);
    if (yyjson_equals_str(yyjson_obj_get(v, "apiVersion"), p->by->api_version)) {
        yyjson_mut_val *copy = yyjson_val_mut_copy(p->doc, v);
        if (merge_typed_check(&p->a, p->s, copy, &faults)) {
            f = merge_typed_fields(&p->a, p->s, copy);
            yyjson_mut_val *live = yyjson_val_mut_copy(p->doc, p->old);
            (void)merge_fields_subtract(&f, merge_typed_diff(&p->a, p->s, v, live, NULL), SL_F_ALL);
        }
    }
    sl_buf_done(&faults);
    yyjson_doc_free(doc);
    return f;
}

static void drop_allowed(struct conflicts *c, const struct merge_fields *allowed) {
    uint32_t to = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        (void)merge_fields_subtract(&c->v[i].fields, allowed, SL_F_ALL);
        if (c->v[i].fields)
            c->v[to++] = c->v[i];
    }
    c->n = to;
}

static int check_conflicts(struct apply *p, const struct merge_manager *me,
                           const struct merge_fields *diff) {
    struct conflicts c = {.p = p};

    c.v = sl_arena_alloc(&p->a, (p->m.n + 1) * sizeof *c.v);
    for (uint32_t i = 0; i < p->m.n; i++) {
        struct merge_manager *x = &p->m.v[i];
        struct merge_fields *f =
            x == me ? NULL : merge_fields_intersect(&p->a, x->fields, diff, SL_F_NOW);
        uint32_t at = c.n;
        if (!f)
            continue;
        for (; at > 0 && merge_manager_cmp(c.v[at - 1].with, x) > 0; at--)
            c.v[at] = c.v[at - 1];
        c.v[at] = (struct conflict){x, f};
        c.n++;
    }
    if (c.n && is_kubectl(p))
        drop_allowed(&c, applied_by_client(p));
    return c.n ? report_conflicts(p, &c) : 0;
}

/* ---- the account ---- */

/* The fields of an object that had no manager so far belong to "before-first-apply". */
static void own_before(struct apply *p) {
    struct sl_manage_id before = *p->by;

    before.name = "before-first-apply";
    sl_manage_account(&p->m, &before, sl_manage_diff(&p->a, p->s, &before, merge_absent(), p->now));
}

static int account(struct apply *p, bool force) {
    struct merge_manager *me = merge_managers_find(&p->m, p->by, true);
    struct merge_fields *diff = p->old ? sl_manage_diff(&p->a, p->s, p->by, p->old, p->now) : NULL;
    bool changed = !p->old || diff || !merge_typed_equal(&p->a, p->old, p->now);

    if (!force) {
        int r = check_conflicts(p, me, diff);
        if (r < 0)
            return r;
    }
    me = me ? me : merge_managers_add(&p->m, p->by, true);
    for (uint32_t i = 0; i < p->m.n; i++) {
        struct merge_manager *x = &p->m.v[i];
        if (x != me)
            x->touched |= merge_fields_subtract(&x->fields, diff, SL_F_ALL);
    }
    sl_manage_strip(&p->applied_fields);
    me->fields = p->applied_fields;
    me->version = p->by->api_version;
    me->touched = true;
    if (changed)
        me->time = sl_manage_now(&p->a, p->by->now);
    merge_managers_limit(&p->m, me);
    merge_managers_sweep(&p->m);
    return 0;
}

/* ---- kubectl's annotation ---- */

static size_t annotations_size(yyjson_mut_val *notes) {
    yyjson_mut_val *key, *value;
    size_t i, max, n = 0;
    yyjson_mut_obj_foreach (notes, i, max, key, value)
        n += sl_json_mut_view(key).n + sl_json_mut_view(value).n;
    return n;
}

/* Where kubectl used client-side apply before, the annotation is set to what is applied now. */
static void update_annotation(struct apply *p) {
    yyjson_mut_val *notes = yyjson_mut_obj_get(sl_manage_meta(p->now), "annotations");
    struct sl_buf text;

    if (!is_kubectl(p) || !*text_at(notes, LAST_APPLIED))
        return;
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(p->doc, p->applied);
    yyjson_mut_val *annotations = yyjson_mut_obj_get(sl_manage_meta(copy), "annotations");
    (void)yyjson_mut_obj_remove_key(annotations, LAST_APPLIED);
    sl_buf_init(&text, MERGE_TEXT);
    sl_go_json(&p->a, &text, copy);
    sl_buf_putc(&text, '\n');
    (void)yyjson_mut_obj_remove_key(notes, LAST_APPLIED);
    (void)yyjson_mut_obj_add_val(p->doc, notes, LAST_APPLIED,
                                 yyjson_mut_strncpy(p->doc, sl_buf_str(&text), text.len));
    if (sl_buf_full(&text) || annotations_size(notes) > MERGE_ANNOTATIONS)
        (void)yyjson_mut_obj_remove_key(notes, LAST_APPLIED);
    sl_buf_done(&text);
}

/* ---- all of it ---- */

static int apply(struct apply *p, bool force) {
    yyjson_val *list = yyjson_obj_get(yyjson_obj_get(p->old, "metadata"), "managedFields");

    int r = check_applied(p);
    if (r < 0)
        return r;
    /* managedFields that cannot be decoded count as empty. The API server would refuse every apply
     * from then on, until a client clears them. */
    if (!merge_managers_read(&p->a, list ? yyjson_val_mut_copy(p->doc, list) : NULL, &p->m))
        (void)merge_managers_read(&p->a, NULL, &p->m);
    p->now = p->old ? yyjson_val_mut_copy(p->doc, p->old) : yyjson_mut_obj(p->doc);
    if (p->m.n == 0 && p->old)
        own_before(p);
    for (uint32_t i = 0; i < p->m.n; i++)
        p->m.v[i].touched |= merge_fields_reconcile(p->m.v[i].fields, p->s);

    merge_typed_merge(&p->a, p->s, p->doc, p->now, p->applied);
    p->applied_fields = merge_typed_fields(&p->a, p->s, p->applied);
    sl_manage_masked(p->by, &p->applied_fields);
    struct merge_manager *me = merge_managers_find(&p->m, p->by, true);
    if (me) {
        p->last = me->fields;
        me->fields = p->applied_fields;
        prune(p);
    }
    r = account(p, force);
    if (r < 0)
        return r;
    sl_manage_put(p->doc, p->now, merge_managers_write(&p->m, p->doc));
    update_annotation(p);
    return 0;
}

int sl_manage_apply(const struct sl_schema *s, const struct sl_manage_id *by, bool force,
                    yyjson_mut_doc *doc, yyjson_val *old, yyjson_val *applied, yyjson_mut_val **ret,
                    struct sl_patch_err *err) {
    struct apply p = {.s = s, .by = by, .doc = doc, .old = old, .err = err};

    sl_arena_init(&p.a, SL_MANAGE_ARENA_BYTES);
    p.applied = yyjson_val_mut_copy(doc, applied);
    int r = apply(&p, force);
    if (r == 0 && sl_arena_full(&p.a))
        r = sl_patch_too_large(err);
    if (r == 0)
        *ret = p.now;
    sl_arena_done(&p.a);
    return r;
}
