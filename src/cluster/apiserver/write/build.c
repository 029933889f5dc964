/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was sent becomes an object: decoded in the version of the request, without what its schema
 * does not know, with its defaults, then in the version that is stored. Patches are applied to the
 * object in the version of the request.
 */
#include <string.h>
#include <strings.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/crd/crd.h"
#include "cluster/apiserver/kinds/words.h"
#include "cluster/apiserver/write/write.h"

static const char *request_version(struct api_rq *rq) {
    return sl_api_version(&rq->arena, rq->kind->group, rq->version->name);
}

static struct sl_manage_id manager(struct api_write *w);
static void set_head(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *api_version,
                     const char *kind);

/* ---- fieldValidation ---- */

/* Joined as the API server does; "" if there is nothing. */
static const char *strict_text(struct api_write *w) {
    const char *text = "";

    for (uint32_t i = 0; i < w->strict.n; i++)
        text = sl_arena_printf(w->c.arena, "%s%s%s", text, i ? ", " : "", w->strict.text[i]);
    return text;
}

static void drop_orders(yyjson_mut_val *v, uint32_t depth) {
    yyjson_mut_val *key, *value;
    size_t i, n;

    (void)yyjson_mut_obj_remove_key(v, "$patch");
    yyjson_mut_obj_foreach (v, i, n, key, value) {
        if (yyjson_mut_is_obj(value) && depth < SL_API_MAX_DEPTH)
            drop_orders(value, depth + 1);
        yyjson_mut_arr_iter it;
        yyjson_mut_val *item;
        if (!yyjson_mut_arr_iter_init(value, &it))
            continue;
        while ((item = yyjson_mut_arr_iter_next(&it)))
            if (yyjson_mut_equals_str(sl_json_mut_get(item, "$patch"), "delete"))
                (void)yyjson_mut_arr_iter_remove(&it);
    }
}

/* What came out of a patch is no object of this kind. */
static void report_undecoded(struct api_write *w, yyjson_val *object, const char *why) {
    struct sl_field_errs errs = {.arena = w->c.arena};
    size_t len = 0;

    if (w->patch == SL_PATCH_STRATEGIC) { /* which is reported as Go prints it, unordered */
        _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(API_PATCH_TEXT);
        yyjson_mut_val *patch = yyjson_val_mut_copy(w->c.doc, yyjson_doc_get_root(w->body));
        drop_orders(patch, 0);
        sl_go_text(w->c.arena, &b, patch);
        sl_field_invalid(&errs, SL_PATH(NULL, "patch"), sl_field_value_strn(sl_buf_str(&b), b.len),
                         "%s", why);
        api_rq_invalid(w->rq, "", "", "", &errs);
        return;
    }
    char *json = yyjson_val_write(object, 0, &len);

    sl_field_invalid(&errs, SL_PATH(NULL, "patch"), sl_field_value_strn(json ? json : "", len),
                     "%s", why);
    api_rq_invalid(w->rq, "", "", "", &errs);
    sl_freep(&json);
}

/* Unknown and duplicate fields: warnings, or an error. */
static bool strict_check(struct api_write *w, yyjson_val *sent) {
    struct api_rq *rq = w->rq;
    const struct api_sub *u = w->what == SL_WRITE_POST ? rq->sub : NULL;
    const char *kind = u ? u->kind : rq->kind->kind;

    if (!w->strict.n || strcmp(rq->q.validation, "Ignore") == 0)
        return true;
    if (strcmp(rq->q.validation, "Strict") != 0) {
        for (uint32_t i = 0; i < w->strict.n; i++)
            api_rq_warn(rq, w->strict.text[i]);
        return true;
    }
    if (w->what == SL_WRITE_PATCH && w->patch != SL_PATCH_APPLY)
        report_undecoded(w, sent,
                         sl_arena_printf(&rq->arena, "strict decoding error: %s", strict_text(w)));
    else if (w->what == SL_WRITE_PATCH)
        api_rq_bad(rq, "strict decoding error: %s", strict_text(w));
    else
        api_rq_bad(rq, "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %s",
                   kind, u ? u->version : rq->version->name, kind, strict_text(w));
    return false;
}

bool api_post_check_body(struct api_write *w, const struct sl_schema *schema) {
    struct api_rq *rq = w->rq;
    const struct api_sub *u = rq->sub;
    yyjson_val *sent = yyjson_doc_get_root(w->body);
    struct sl_err err;

    if (sl_schema_decodes(schema, sent, &err) < 0) {
        api_rq_bad(rq, "%s in version \"%s\" cannot be handled as a %s: %s", u->kind, u->version,
                   u->kind, err.text);
        return false;
    }
    w->strict = (struct sl_strict){.arena = &rq->arena};
    (void)sl_strict_duplicates(strcmp(rq->q.validation, "Ignore") == 0 ? NULL : &w->strict, schema,
                               sent);
    return strict_check(w, sent);
}

void api_post_track_fields(struct api_write *w, const struct sl_schema *schema,
                           yyjson_mut_val *answer) {
    struct api_rq *rq = w->rq;
    const struct api_sub *u = rq->sub;
    struct sl_manage_id by = manager(w);
    yyjson_mut_val *sent = yyjson_val_mut_copy(w->c.doc, yyjson_doc_get_root(w->body));

    by.api_version = sl_api_version(&rq->arena, u->group ? u->group : "", u->version);
    by.kind = u->kind;
    by.mask = NULL;
    sl_schema_prune(schema, w->c.doc, sent, NULL);
    set_head(w->c.doc, sent, by.api_version, by.kind);
    (void)sl_schema_default(schema, w->c.doc, sent);
    (void)yyjson_mut_obj_remove_key(sent, "status");
    sl_manage_update(schema, &by, w->c.doc, NULL, sent);
    sl_json_mut_set(
        w->c.doc, sl_json_mut_obj(w->c.doc, answer, "metadata"), "managedFields",
        yyjson_mut_val_mut_copy(w->c.doc, sl_json_mut_at(sent, "metadata.managedFields")));
}

/* ---- decoding ---- */

static yyjson_val *freeze(struct api_write *w, yyjson_mut_val *v) {
    return api_write_keep(w, yyjson_mut_val_imut_copy(v, NULL));
}

/* apiVersion and kind, as the first members. */
static void set_head(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *api_version,
                     const char *kind) {
    (void)yyjson_mut_obj_remove_key(object, "apiVersion");
    (void)yyjson_mut_obj_remove_key(object, "kind");
    (void)yyjson_mut_obj_insert(object, yyjson_mut_str(doc, "apiVersion"),
                                yyjson_mut_strcpy(doc, api_version), 0);
    (void)yyjson_mut_obj_insert(object, yyjson_mut_str(doc, "kind"), yyjson_mut_strcpy(doc, kind),
                                1);
}

static bool put_defaults(struct api_write *w, const struct sl_schema *schema) {
    if (sl_schema_default(schema, w->c.doc, w->c.object))
        return true;
    api_rq_fail(w->rq, 413, "RequestEntityTooLarge",
                "Request entity too large: more than %u defaults in one object", SL_DEFAULTS_MAX);
    return false;
}

static bool fields_fit(struct api_write *w, const struct sl_schema *schema, yyjson_val *sent) {
    if (sl_manage_fits(schema, sent))
        return true;
    api_rq_fail(w->rq, 413, "RequestEntityTooLarge",
                "Request entity too large: more than %u fields in one object", SL_MANAGED_MAX);
    return false;
}

/* Into the version that is stored. */
static bool to_stored(struct api_write *w) {
    struct api_rq *rq = w->rq;
    const struct api_kind *k = api_stored_kind(rq->kind);
    const struct api_kind_version *v = api_stored_version(rq->kind);
    const char *api_version = sl_api_version(&rq->arena, k->group, v->name);
    struct sl_err err;

    if (v == rq->version)
        return true;
    if (api_kind_convert(rq->kind, freeze(w, w->c.object), api_version, w->c.doc, &w->c.object,
                         &err) < 0) {
        api_rq_fail(rq, 500, "InternalError",
                    "Internal error occurred: conversion to %s failed: %s", api_version, err.text);
        return false;
    }
    return put_defaults(w, v->schema);
}

/* c.object, as it was sent or came out of a patch ('sent' is the same, read only), becomes one that
 * can be stored. */
static bool decode(struct api_write *w, yyjson_val *sent) {
    struct api_rq *rq = w->rq;
    const struct sl_schema *schema = rq->version->schema;
    const struct api_strategy *strategy = api_strategy_of(rq->kind);
    struct sl_err err;

    bool strategic = w->what == SL_WRITE_PATCH && w->patch == SL_PATCH_STRATEGIC;
    if ((strategic ? sl_schema_converts(schema, sent, &err)
                   : sl_schema_decodes(schema, sent, &err)) < 0) {
        if (w->what == SL_WRITE_PATCH)
            report_undecoded(w, sent, err.text);
        else
            api_rq_bad(rq, "%s in version \"%s\" cannot be handled as a %s: %s", rq->kind->kind,
                       rq->version->name, rq->kind->kind, err.text);
        return false;
    }
    if (!rq->kind->crd && !api_sizes_check(&w->errs, sent)) {
        api_rq_invalid(rq, rq->kind->group, rq->kind->plural, w->name, &w->errs);
        return false;
    }
    if (!fields_fit(w, schema, sent))
        return false;
    w->strict.arena = w->c.arena;
    sl_schema_prune(schema, w->c.doc, w->c.object,
                    strcmp(rq->q.validation, "Ignore") == 0 ? NULL : &w->strict);
    if (!strict_check(w, sent))
        return false;
    set_head(w->c.doc, w->c.object, request_version(rq), rq->kind->kind);
    if (!put_defaults(w, schema) || !to_stored(w))
        return false;
    if (strategy->defaults)
        strategy->defaults(&w->c);
    return !api_write_refused(w);
}

/* ---- the object as a patch sees it ---- */

/* c.old in the version of the request, or what the subresource shows of it. */
static yyjson_val *seen(struct api_write *w) {
    struct api_rq *rq = w->rq;
    yyjson_val *v = w->c.old;
    yyjson_mut_val *m = NULL;
    struct sl_err err;

    if (rq->version != api_stored_version(rq->kind)) {
        if (api_kind_convert(rq->kind, v, request_version(rq), w->c.doc, &m, &err) < 0) {
            api_rq_fail(rq, 500, "InternalError",
                        "Internal error occurred: conversion to %s failed: %s", request_version(rq),
                        err.text);
            return NULL;
        }
        v = freeze(w, m);
    }
    if (rq->sub && rq->sub->show)
        v = freeze(w, rq->sub->show(rq->version, v, w->c.doc));
    return v;
}

bool api_patch_type(struct api_rq *rq, enum api_patch_type *ret) {
    static const struct {
        const char *type;
        enum api_patch_type patch;
    } types[] = {
        {"application/json-patch+json", SL_PATCH_JSON},
        {SL_MERGE_PATCH, SL_PATCH_MERGE},
        {"application/strategic-merge-patch+json", SL_PATCH_STRATEGIC},
        {SL_APPLY_PATCH, SL_PATCH_APPLY},
    };
    size_t n = strcspn(rq->content_type, "; ");

    for (size_t i = 0; i < SL_LEN(types); i++)
        if (strlen(types[i].type) == n && strncasecmp(types[i].type, rq->content_type, n) == 0) {
            *ret = types[i].patch;
            if (*ret != SL_PATCH_STRATEGIC || !rq->kind->crd)
                return true;
        }
    rq->n_warnings = 0; /* this error comes without warnings */
    if (rq->kind->crd)
        api_rq_fail(
            rq, 415, "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/apply-patch+yaml");
    else
        api_rq_status(rq, &(struct api_status){.code = 415,
                                               .reason = "UnsupportedMediaType",
                                               .message = "415: Unsupported Media Type",
                                               .no_details = true});
    return false;
}

static bool report_patch(struct api_write *w, struct sl_patch_err *err) {
    struct api_rq *rq = w->rq;

    api_rq_status(
        rq, &(struct api_status){.code = err->status,
                                 .reason = err->reason,
                                 .message = sl_arena_strdup(&rq->arena, sl_buf_str(&err->text)),
                                 .causes_made = err->causes,
                                 .no_details = err->status == 422 && !err->causes});
    return false;
}

/* The program in a User-Agent, as long as a manager's name may be, and no half character. */
static const char *program(struct api_rq *rq) {
    const char *s = rq->user_agent;
    size_t n = strcspn(s, "/");

    if (n > SL_MANAGER_NAME_MAX)
        for (n = SL_MANAGER_NAME_MAX; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80;)
            n--;
    return sl_arena_strndup(&rq->arena, s, n);
}

static struct sl_manage_id manager(struct api_write *w) {
    struct api_rq *rq = w->rq;
    const struct api_kind *k = api_stored_kind(rq->kind);

    return (struct sl_manage_id){
        .name = *rq->q.manager ? rq->q.manager : program(rq),
        .api_version = sl_api_version(&rq->arena, k->group, api_stored_version(rq->kind)->name),
        .kind = k->kind,
        .subresource = w->c.subresource,
        .mask =
            sl_manage_mask(k->group, k->kind, w->c.subresource, k->crd, rq->version->has_status),
        .now = rq->now,
    };
}

void api_write_track_fields(struct api_write *w) {
    struct sl_manage_id by = manager(w);

    /* A binding or eviction owns no fields. */
    if (!w->applied && (w->what != SL_WRITE_POST || !w->rq->sub))
        sl_manage_update(api_stored_version(w->rq->kind)->schema, &by, w->c.doc, w->c.old,
                         w->c.object);
}

/* ---- apply ---- */

/* The name in an object that is replaced. */
static bool names_match(struct api_write *w, yyjson_val *sent) {
    struct api_rq *rq = w->rq;
    const char *name = sl_json_str(sent, "metadata.name"),
               *ns = sl_json_str(sent, "metadata.namespace");

    if (*rq->ns && *ns && strcmp(ns, rq->ns) != 0)
        api_rq_bad(rq, "the namespace of the provided object does not match the namespace sent on "
                       "the request");
    else if (!*name && !rq->sub)
        api_rq_bad(
            rq,
            "the name of the object (%s based on URL) was undeterminable: name must be provided",
            rq->name);
    else if (*name && strcmp(name, rq->name) != 0)
        api_rq_bad(rq, "the name of the object (%s) does not match the name on the URL (%s)", name,
                   rq->name);
    else
        return true;
    return false;
}

/* What is applied is merged as it came, in the stored version; what comes out is pruned and gets
 * its defaults. */
static bool apply(struct api_write *w) {
    struct api_rq *rq = w->rq;
    const struct api_kind_version *stored = api_stored_version(rq->kind);
    yyjson_val *sent = yyjson_doc_get_root(w->body);
    struct sl_manage_id by = manager(w);
    struct sl_patch_err err = {0};
    int r;

    if (rq->version != stored) { /* apiVersion and kind are gone after that */
        const char *v = sl_json_str(sent, "apiVersion"), *k = sl_json_str(sent, "kind");
        if (strcmp(v, request_version(rq)) != 0 || strcmp(k, rq->kind->kind) != 0) {
            api_rq_bad(rq, "invalid object type: %s%s, Kind=%s", strchr(v, '/') ? "" : "/", v, k);
            return false;
        }
        w->c.object = yyjson_val_mut_copy(w->c.doc, sent);
        if (!to_stored(w))
            return false;
        sent = freeze(w, w->c.object);
    }
    if (!fields_fit(w, stored->schema, sent))
        return false;
    sl_buf_init(&err.text, API_PATCH_TEXT);
    sl_buf_short(&err.text);
    r = sl_manage_apply(stored->schema, &by, rq->q.force == 1, w->c.doc, w->c.old, sent,
                        &w->c.object, &err);
    if (r < 0)
        (void)report_patch(w, &err);
    sl_buf_done(&err.text);
    if (r < 0)
        return false;
    w->applied = true;
    sl_schema_prune(stored->schema, w->c.doc, w->c.object, NULL);
    set_head(w->c.doc, w->c.object, by.api_version, by.kind);
    if (!rq->kind->crd && !api_sizes_check(&w->errs, freeze(w, w->c.object))) {
        api_rq_invalid(rq, rq->kind->group, rq->kind->plural, w->name, &w->errs);
        return false;
    }
    if (!put_defaults(w, stored->schema))
        return false;
    const struct api_strategy *strategy = api_strategy_of(rq->kind);
    if (strategy->defaults)
        strategy->defaults(&w->c);
    return !api_write_refused(w) && names_match(w, freeze(w, w->c.object));
}

/* ---- the three ways ---- */

static const struct sl_schema any = {.type = SL_T_ANY};
static const struct sl_schema_field operation_fields[] = {
    {.name = "from", .schema = &any},
    {.name = "op", .schema = &any},
    {.name = "path", .schema = &any},
    {.name = "value", .schema = &any},
};
static const struct sl_schema operation = {.type = SL_T_OBJECT,
                                           .go = "handlers.jsonPatchOp",
                                           .fields = operation_fields,
                                           .n_fields = SL_LEN(operation_fields)};
static const struct sl_schema operations = {.type = SL_T_LIST, .items = &operation};

/* Of duplicate keys in a patch the last one counts. */
static void patch_faults(struct api_write *w) {
    bool json = w->patch == SL_PATCH_JSON;
    yyjson_val *patch = yyjson_doc_get_root(w->body);

    w->sent = (struct sl_strict){.arena = &w->rq->arena};
    if (!sl_strict_duplicates(&w->sent, json ? &operations : NULL, patch) && !w->sent.n)
        return;
    if (json)
        for (uint32_t i = 0; i < w->sent.n; i++)
            w->sent.text[i] = sl_arena_printf(w->sent.arena, "json patch %s", w->sent.text[i]);
    yyjson_mut_val *last = yyjson_val_mut_copy(w->c.doc, patch);
    sl_strict_keep_last(last);
    yyjson_doc_free(w->body);
    w->body = yyjson_mut_val_imut_copy(last, NULL);
}

/* Each type of patch has a decoder and error messages of its own. */
static bool read_patch(struct api_write *w) {
    struct api_rq *rq = w->rq;
    bool ignore = strcmp(rq->q.validation, "Ignore") == 0;
    const char *fault;
    struct sl_err err;

    if (w->body)
        return true;
    if (w->patch == SL_PATCH_APPLY) {
        if (api_yaml_read(rq->body, rq->len, &w->body, &err) < 0)
            api_rq_bad(rq, "error decoding YAML: %s", err.text);
        return w->body;
    }
    w->body = api_rq_json(rq, &fault);
    if (w->body)
        patch_faults(w);
    else if (ignore && w->patch == SL_PATCH_MERGE)
        api_rq_bad(rq, "Invalid JSON Patch");
    else
        api_rq_bad(rq, "%s%s",
                   ignore || w->patch == SL_PATCH_STRATEGIC ? "" : "error decoding patch: ", fault);
    return w->body && api_rq_texts(rq, yyjson_doc_get_root(w->body));
}

static bool from_patch(struct api_write *w) {
    struct api_rq *rq = w->rq;
    struct sl_patch_err err = {.unread = strcmp(rq->q.validation, "Ignore") == 0};
    int r;

    if (!read_patch(w))
        return false;
    if (w->patch == SL_PATCH_APPLY && !(rq->sub && rq->sub->show))
        return apply(w);
    yyjson_val *patch = yyjson_doc_get_root(w->body), *from = seen(w);
    if (!from)
        return false;
    w->strict = w->sent;
    sl_buf_init(&err.text, API_PATCH_TEXT);
    sl_buf_short(&err.text);
    r = w->patch == SL_PATCH_JSON ? sl_patch_json(w->c.doc, from, patch, &w->c.object, &err)
        : w->patch == SL_PATCH_STRATEGIC && !(rq->sub && rq->sub->show)
            ? sl_patch_strategic(rq->version->schema, w->c.doc, from, patch, &w->c.object, &err)
            : sl_patch_merge(w->c.doc, from, patch, &w->c.object, &err);
    if (r < 0)
        (void)report_patch(w, &err);
    sl_buf_done(&err.text);
    return r >= 0;
}

/* A view of the object was sent, or came out of a patch: it is taken into a copy of the object. */
static bool take_view(struct api_write *w, yyjson_val *view) {
    w->c.object = yyjson_val_mut_copy(w->c.doc, w->c.old);
    w->rq->sub->put(&w->c, w->rq->version, view);
    return !api_write_refused(w);
}

/* apiVersion and kind of a custom resource, if they differ. */
static void record_other_version(struct api_write *w, yyjson_val *sent) {
    struct api_rq *rq = w->rq;
    const char *kind = sl_json_str(sent, "kind"), *v = sl_json_str(sent, "apiVersion");

    if (!rq->kind->crd || rq->sub)
        return;
    if (*kind && strcmp(kind, rq->kind->kind) != 0)
        w->other_kind = kind;
    if (*v && strcmp(v, request_version(rq)) != 0)
        w->other_version = v;
}

/* A patch may change apiVersion and kind; strategic ones are not checked. */
static bool still_is(struct api_write *w, yyjson_val *object) {
    static const char *const head[] = {"apiVersion", "kind"};
    struct api_rq *rq = w->rq;

    for (size_t i = 0; i < SL_LEN(head); i++) {
        if (!sl_text_has_nul(sl_json_view(sl_json_get(object, head[i]))))
            continue;
        report_undecoded(
            w, object, sl_arena_printf(w->c.arena, "%s must not contain a NUL character", head[i]));
        return false;
    }
    if (rq->kind->crd || w->patch == SL_PATCH_STRATEGIC)
        return true;
    for (size_t i = 0; i < SL_LEN(head); i++) {
        yyjson_val *v = sl_json_get(object, head[i]);
        if (!v || yyjson_is_str(v))
            continue;
        report_undecoded(
            w, object,
            sl_arena_printf(w->c.arena,
                            "couldn't get version/kind; json parse error: json: cannot "
                            "unmarshal %s into Go struct field .%s of type string",
                            yyjson_is_num(v) ? "number" : yyjson_get_type_desc(v), head[i]));
        return false;
    }
    const char *v = sl_json_str(object, head[0]), *k = sl_json_str(object, head[1]);
    v = *v ? v : request_version(rq);
    k = *k ? k : rq->kind->kind;
    if (strcmp(v, request_version(rq)) == 0 && strcmp(k, rq->kind->kind) == 0)
        return true;
    report_undecoded(w, object, api_body_mismatch_text(rq, v, k, rq->kind->kind));
    return false;
}

bool api_write_build_object(struct api_write *w) {
    struct api_rq *rq = w->rq;
    yyjson_val *sent = yyjson_doc_get_root(w->body);
    bool view = rq->sub && rq->sub->show;

    if (w->what == SL_WRITE_PATCH) {
        if (!from_patch(w))
            return false;
        if (w->applied)
            return true;
        sent = freeze(w, w->c.object);
        bool ignore = strcmp(rq->q.validation, "Ignore") == 0;
        if (ignore && yyjson_is_arr(sent)) {
            report_undecoded(w, sent,
                             "couldn't get version/kind; json parse error: json: cannot unmarshal "
                             "array into Go value of type struct { APIVersion string "
                             "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                             "\"json:\\\"kind,omitempty\\\"\" }");
            return false;
        }
        if (ignore && !yyjson_is_obj(sent)) {
            api_rq_bad(rq, "Invalid JSON Patch");
            return false;
        }
        if (!yyjson_is_obj(sent)) {
            api_rq_bad(rq,
                       "json: cannot unmarshal %s into Go value of type map[string]interface {}",
                       yyjson_get_type_desc(sent));
            return false;
        }
        record_other_version(w, sent);
        return view ? take_view(w, sent)
                    : still_is(w, sent) && decode(w, sent) && names_match(w, sent);
    }
    if (view)
        return names_match(w, sent) && take_view(w, sent);
    w->strict.arena = w->c.arena;
    bool twice = sl_strict_duplicates(strcmp(rq->q.validation, "Ignore") == 0 ? NULL : &w->strict,
                                      rq->version->schema, sent);
    record_other_version(w, sent);
    w->c.object = yyjson_val_mut_copy(w->c.doc, sent);
    if (twice)
        sl_strict_keep_last(w->c.object);
    if (twice)
        sent = freeze(w, w->c.object);
    return decode(w, sent) && (w->what != SL_WRITE_UPDATE || names_match(w, sent));
}
