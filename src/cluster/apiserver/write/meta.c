/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metadata of all objects: fields that the server sets, and validation.
 */
#include <string.h>

#include "cluster/apiserver/write/write.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

#define RANDOM_LEN 5u
#define FINALIZERS_MAX 1024u
#define NEW_FINALIZERS 1024u /* bytes of them in a message, which is bounded */

/* ---- options ---- */

static bool printable(const char *s) {
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 127)
            return false;
    return true;
}

/* ["All"]: as the option is printed in errors. */
static yyjson_doc *dry_list(const struct api_params *q) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF((size_t)64 << 10);

    if (!q->dry_run)
        return NULL;
    sl_buf_putc(&b, '[');
    sl_buf_json(&b, q->dry_run);
    sl_buf_putc(&b, ']');
    return yyjson_read(sl_buf_str(&b), b.len, 0);
}

bool api_options_check(struct api_write *w) {
    static const char *const all[] = {"All"};
    static const char *const words[] = {"", "Ignore", "Strict", "Warn"};
    static const char *const kinds[] = {"CreateOptions", "UpdateOptions", "PatchOptions",
                                        "CreateOptions", "DeleteOptions"};
    struct api_rq *rq = w->rq;
    const struct api_params *q = &rq->q;
    struct sl_field_errs errs = {.arena = &rq->arena};
    const struct sl_path *at = SL_PATH(NULL, "fieldManager");
    _cleanup_(sl_json_docp) yyjson_doc *list = dry_list(q);
    yyjson_val *dry = list ? yyjson_doc_get_root(list) : NULL;

    if (w->what == SL_WRITE_PATCH && w->patch == SL_PATCH_APPLY && !*q->manager)
        sl_field_required(&errs, at, "is required for apply patch");
    if (w->what == SL_WRITE_PATCH && w->patch != SL_PATCH_APPLY && q->force >= 0)
        sl_field_forbidden(&errs, SL_PATH(NULL, "force"),
                           "may not be specified for non-apply patch");
    if (strlen(q->manager) > SL_MANAGER_NAME_MAX)
        sl_field_too_long(&errs, at, SL_MANAGER_NAME_MAX);
    if (!printable(q->manager))
        sl_field_invalid(&errs, at, sl_field_value_str(q->manager), "invalid character");
    if (q->dry_run && strcmp(q->dry_run, "All") != 0)
        sl_field_unsupported(&errs, SL_PATH(NULL, "dryRun"), sl_field_value_json(dry), all, 1);
    if (strcmp(q->validation, "Ignore") != 0 && strcmp(q->validation, "Warn") != 0 &&
        strcmp(q->validation, "Strict") != 0 && *q->validation)
        sl_field_unsupported(&errs, SL_PATH(NULL, "fieldValidation"),
                             sl_field_value_str(q->validation), words, 4);
    w->c.dry_run = q->dry_run;
    if (!errs.n)
        return true;
    api_rq_invalid(rq, "meta.k8s.io", kinds[w->what], "", &errs);
    return false;
}

/* ---- the system's fields ---- */

const char *api_name_generate(struct api_rq *rq, const char *base) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    char end[RANDOM_LEN + 1];

    for (uint32_t i = 0; i < RANDOM_LEN; i++)
        end[i] = letters[sl_prng_below(&rq->s->prng, sizeof letters - 1)];
    end[RANDOM_LEN] = '\0';
    return sl_arena_printf(&rq->arena, "%.*s%s", (int)(63 - RANDOM_LEN), base, end);
}

void api_meta_create(struct api_write *w) {
    static const char *const gone[] = {"deletionTimestamp", "deletionGracePeriodSeconds",
                                       "selfLink", "generation"};
    yyjson_mut_val *meta = sl_json_mut_obj(w->c.doc, w->c.object, "metadata");
    char id[37], stamp[SL_STAMP_TEXT];

    for (size_t i = 0; i < SL_LEN(gone); i++)
        (void)yyjson_mut_obj_remove_key(meta, gone[i]);
    api_uuid(&w->rq->s->prng, id);
    sl_json_mut_set_str(w->c.doc, meta, "uid", id);
    sl_json_mut_set_str(w->c.doc, meta, "creationTimestamp", sl_stamp(w->rq->now, stamp));
    sl_json_mut_set_str(w->c.doc, meta, "name", w->name);
    if (w->rq->kind->namespaced)
        sl_json_mut_set_str(w->c.doc, meta, "namespace", w->rq->ns);
    else
        (void)yyjson_mut_obj_remove_key(meta, "namespace");
    if (!api_strategy_of(w->rq->kind)->no_generation)
        sl_json_mut_set_int(w->c.doc, meta, "generation", 1);
}

void api_meta_update(struct api_write *w) {
    yyjson_mut_val *meta = sl_json_mut_obj(w->c.doc, w->c.object, "metadata");
    yyjson_val *old = sl_json_get(w->c.old, "metadata");

    if (!*sl_json_mut_str(meta, "uid"))
        sl_json_mut_keep(w->c.doc, meta, "uid", old);
    sl_json_mut_keep(w->c.doc, meta, "creationTimestamp", old);
    sl_json_mut_keep(w->c.doc, meta, "generation", old);
    sl_json_mut_keep(w->c.doc, meta, "resourceVersion", old);
    if (sl_json_get(old, "deletionTimestamp"))
        sl_json_mut_keep(w->c.doc, meta, "deletionTimestamp", old);
    if (sl_json_get(old, "deletionGracePeriodSeconds") &&
        !sl_json_mut_get(meta, "deletionGracePeriodSeconds"))
        sl_json_mut_keep(w->c.doc, meta, "deletionGracePeriodSeconds", old);
    (void)yyjson_mut_obj_remove_key(meta, "selfLink");
    if (w->rq->kind->namespaced)
        sl_json_mut_set_str(w->c.doc, meta, "namespace", w->rq->ns);
    else
        (void)yyjson_mut_obj_remove_key(meta, "namespace");
    if (!*sl_json_mut_str(meta, "name"))
        sl_json_mut_set_str(w->c.doc, meta, "name", w->rq->name);
}

/* ---- generation ---- */

/* Custom resources have no types for which absent and null are the same. */
static bool same_custom(yyjson_val *old, yyjson_val *now) {
    static const char *const apart[] = {"metadata", "status"};
    size_t i, n, left = yyjson_obj_size(old), have = yyjson_obj_size(now);
    yyjson_val *key, *v;

    for (i = 0; i < SL_LEN(apart); i++) {
        left -= yyjson_obj_get(old, apart[i]) != NULL;
        have -= yyjson_obj_get(now, apart[i]) != NULL;
    }
    sl_obj_foreach (old, i, n, key, v) {
        const char *name = sl_json_text(key);
        if (strcmp(name, apart[0]) != 0 && strcmp(name, apart[1]) != 0 &&
            !sl_json_equal(v, yyjson_obj_get(now, name), NULL))
            return false;
    }
    return left == have;
}

void api_meta_generation(struct api_write *w) {
    static const char *const apart[] = {"metadata", "status", NULL};
    const struct api_strategy *st = api_strategy_of(w->rq->kind);
    yyjson_val *object = yyjson_doc_get_root(w->made);

    if (st->no_generation || !w->c.old || strcmp(w->c.subresource, "status") == 0)
        return;
    if (st->is_new_generation ? !st->is_new_generation(w->c.old, object)
        : w->rq->kind->crd    ? same_custom(w->c.old, object)
                              : sl_json_same_but(w->c.old, object, apart))
        return;
    int64_t generation = sl_json_int(w->c.old, "metadata.generation", 0);
    sl_json_mut_set_int(w->c.doc, sl_json_mut_get(w->c.object, "metadata"), "generation",
                        generation < INT64_MAX ? generation + 1 : generation);
    api_write_close(w);
}

/* ---- rules ---- */

static void check_name(struct api_change *c, const struct sl_path *at, const char *key,
                       const char *value, bool prefix) {
    const struct api_strategy *st = api_strategy_of(c->kind);
    size_t len = strlen(value);
    const char *text = value;

    if (prefix && len && value[len - 1] == '-') { /* what follows makes the end right */
        text = sl_arena_printf(c->arena, "%.*sa", (int)(len - 1), value);
        len = strlen(text);
    }
    struct sl_syntax_errors f = st->name ? st->name(text, len) : sl_syntax_subdomain(text, len);
    for (uint32_t i = 0; i < f.n; i++)
        sl_field_invalid(c->errs, SL_PATH(at, key), sl_field_value_str(value), "%s", f.v[i]);
}

static void check_owners(struct api_change *c, const struct sl_path *at, yyjson_val *owners) {
    const struct sl_path *list = SL_PATH(at, "ownerReferences");
    const char *controller = NULL;
    yyjson_val *o;
    size_t i, n;

    yyjson_arr_foreach (owners, i, n, o) {
        /* The index is not part of the path, as in kube-apiserver. */
        const char *version = sl_json_str(o, "apiVersion");
        if (!*version || !*(strchr(version, '/') ? strchr(version, '/') + 1 : version))
            sl_field_invalid(c->errs, SL_PATH(list, "apiVersion"), sl_field_value_str(version),
                             "version must not be empty");
        if (!*sl_json_str(o, "kind"))
            sl_field_invalid(c->errs, SL_PATH(list, "kind"), sl_field_value_str(""),
                             "must not be empty");
        if (!*sl_json_str(o, "name"))
            sl_field_invalid(c->errs, SL_PATH(list, "name"), sl_field_value_str(""),
                             "must not be empty");
        if (!*sl_json_str(o, "uid"))
            sl_field_invalid(c->errs, SL_PATH(list, "uid"), sl_field_value_str(""),
                             "must not be empty");
        if (!sl_json_bool(o, "controller", false))
            continue;
        const char *me =
            sl_arena_printf(c->arena, "%s/%s", sl_json_str(o, "kind"), sl_json_str(o, "name"));
        if (controller)
            sl_field_invalid(c->errs, list, sl_field_value_json(owners),
                             "Only one reference can have Controller set to true. Found \"true\" "
                             "in references for %s and %s",
                             controller, me);
        controller = me;
    }
}

static bool list_has(yyjson_val *list, const char *word) {
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, v) {
        if (strcmp(sl_json_text(v), word) == 0)
            return true;
    }
    return false;
}

static bool standard(const char *finalizer) {
    static const char *const names[] = {"kubernetes", "orphan", "foregroundDeletion"};

    for (size_t i = 0; i < SL_LEN(names); i++)
        if (strcmp(finalizer, names[i]) == 0)
            return true;
    return false;
}

static void check_finalizers(struct api_change *c, const struct sl_path *at, yyjson_val *list) {
    const struct sl_path *here = SL_PATH(at, "finalizers");
    yyjson_val *v;
    size_t i, n;

    if (sl_json_size(list) > FINALIZERS_MAX) {
        sl_field_too_many(c->errs, here, sl_json_size(list), FINALIZERS_MAX);
        return;
    }
    yyjson_arr_foreach (list, i, n, v) {
        struct sl_syntax_errors f = sl_syntax_label_key(sl_json_text(v), strlen(sl_json_text(v)));
        for (uint32_t j = 0; j < f.n; j++)
            sl_field_invalid(c->errs, here, sl_field_value_str(sl_json_text(v)), "%s", f.v[j]);
    }
    if (list_has(list, "orphan") && list_has(list, "foregroundDeletion"))
        sl_field_invalid(c->errs, here, sl_field_value_str("[orphan, foregroundDeletion]"),
                         "finalizer orphan and foregroundDeletion cannot be both set");
}

/* Built-in kinds require a domain in finalizers. */
static void check_owned_finalizers(struct api_change *c, const struct sl_path *at,
                                   yyjson_val *list) {
    yyjson_val *v;
    size_t i, n;

    if (c->kind->crd || api_strategy_of(c->kind)->any_finalizer)
        return;
    yyjson_arr_foreach (list, i, n, v) {
        const char *s = sl_json_text(v);
        if (!sl_syntax_label_key(s, strlen(s)).n && !strchr(s, '/') && !standard(s))
            sl_field_invalid(c->errs, SL_PATH_AT(SL_PATH(at, "finalizers"), i),
                             sl_field_value_str(s),
                             "name is neither a standard finalizer name nor is it fully qualified");
    }
}

/* No new finalizers on what is being deleted. */
static void check_new_finalizers(struct api_change *c, const struct sl_path *at, yyjson_val *list) {
    yyjson_val *old = sl_json_at(c->old, "metadata.finalizers"), *v;
    _cleanup_(sl_buf_done) struct sl_buf found = SL_BUF_SHORT(NEW_FINALIZERS);
    size_t i, n;

    if (!sl_json_at(c->old, "metadata.deletionTimestamp") || sl_json_size(list) > FINALIZERS_MAX)
        return; /* the second was reported */
    yyjson_arr_foreach (list, i, n, v) {
        if (!sl_buf_full(&found) && !list_has(old, sl_json_text(v)))
            sl_buf_printf(&found, "%s\"%s\"", found.len ? ", " : "", sl_json_text(v));
    }
    if (found.len)
        sl_field_forbidden(
            c->errs, SL_PATH(at, "finalizers"),
            "no new finalizers can be added if the object is being deleted, found new finalizers "
            "[]string{%s}",
            sl_buf_str(&found));
}

static void check_labels_and_owners(struct api_change *c, const struct sl_path *at,
                                    yyjson_val *meta) {
    sl_syntax_check_labels(c->errs, SL_PATH(at, "labels"), sl_json_get(meta, "labels"));
    sl_syntax_check_annotations(c->errs, SL_PATH(at, "annotations"),
                                sl_json_get(meta, "annotations"));
    check_owners(c, at, sl_json_get(meta, "ownerReferences"));
}

static void plain_rules(struct api_change *c, const struct sl_path *at, yyjson_val *meta) {
    const char *generate = sl_json_str(meta, "generateName");

    if (*generate)
        check_name(c, at, "generateName", generate, true);
    if (!*sl_json_str(meta, "name"))
        sl_field_required(c->errs, SL_PATH(at, "name"), "name or generateName is required");
    else if (!c->old)
        check_name(c, at, "name", sl_json_str(meta, "name"), false);
    check_labels_and_owners(c, at, meta);
    check_finalizers(c, at, sl_json_get(meta, "finalizers"));
}

static void update_rules(struct api_change *c, const struct sl_path *at, yyjson_val *meta) {
    static const char *const fixed[] = {"name",
                                        "namespace",
                                        "uid",
                                        "creationTimestamp",
                                        "deletionTimestamp",
                                        "deletionGracePeriodSeconds"};
    yyjson_val *old = sl_json_get(c->old, "metadata");

    check_new_finalizers(c, at, sl_json_get(meta, "finalizers"));
    for (size_t i = 0; i < SL_LEN(fixed); i++)
        sl_field_immutable(c->errs, SL_PATH(at, fixed[i]), sl_json_get(meta, fixed[i]),
                           sl_json_get(old, fixed[i]));
    check_labels_and_owners(c, at, meta);
}

void api_meta_check(struct api_change *c, yyjson_val *object, bool update) {
    const struct sl_path *at = SL_PATH(NULL, "metadata");
    yyjson_val *meta = sl_json_get(object, "metadata");

    (update ? update_rules : plain_rules)(c, at, meta);
    check_owned_finalizers(c, at, sl_json_get(meta, "finalizers"));
}

/* An update is validated twice, and each pass reports its errors: for all kinds alike, and then by
 * the kind. */
void api_meta_validate(struct api_write *w, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "metadata");
    yyjson_val *meta = sl_json_get(object, "metadata");
    enum api_meta_rules rules = api_strategy_of(w->rq->kind)->meta;

    if (w->c.old) {
        plain_rules(&w->c, at, meta);
        update_rules(&w->c, at, meta);
    }
    if (w->other_kind)
        sl_field_invalid(w->c.errs, SL_PATH(NULL, "kind"), sl_field_value_str(w->other_kind),
                         "must be %s", w->rq->kind->kind);
    if (w->other_version)
        sl_field_invalid(w->c.errs, SL_PATH(NULL, "apiVersion"),
                         sl_field_value_str(w->other_version), "must be %s",
                         sl_api_version(&w->rq->arena, w->rq->kind->group, w->rq->version->name));
    if (w->other_kind || w->other_version) /* which hides what else may be wrong */
        return;
    if (!w->c.old) {
        if (rules != SL_META_SELF)
            api_meta_check(&w->c, object, false);
        return;
    }
    if (*w->c.subresource || rules == SL_META_UPDATE || rules == SL_META_BOTH)
        api_meta_check(&w->c, object, true);
    if (!*w->c.subresource && (rules == SL_META_PLAIN || rules == SL_META_BOTH))
        api_meta_check(&w->c, object, false);
}
