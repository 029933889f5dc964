/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reviews: requests that are answered and not stored. Everything is allowed here, and the responses
 * report that; validation errors are as on a cluster.
 */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "cluster/apiserver/rest/subresource.h"
#include "cluster/apiserver/token.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"

static void set_status(struct api_change *c, yyjson_mut_val *status) {
    sl_json_mut_set(c->doc, c->object, "status", status);
}

/* ---- the request ---- */

static void selector_check(struct api_change *c, const struct sl_path *at, yyjson_val *selector) {
    bool raw = *sl_json_str(selector, "rawSelector");
    size_t n = sl_json_size(sl_json_get(selector, "requirements"));
    _cleanup_(sl_buf_done) struct sl_buf path = SL_BUF_SHORT(256);

    if (!selector)
        return;
    sl_path_print(at, &path);
    if (raw && n)
        sl_field_invalid(c->errs, SL_PATH(at, "rawSelector"),
                         sl_field_value_str(sl_json_str(selector, "rawSelector")),
                         "may not specified at the same time as requirements");
    if (!raw && !n)
        sl_field_required(c->errs, SL_PATH(at, "requirements"),
                          sl_arena_printf(c->arena,
                                          "when %s is specified, requirements or rawSelector is "
                                          "required",
                                          sl_buf_str(&path)));
}

static void spec_check(struct api_change *c, yyjson_val *spec, bool self) {
    const struct sl_path *at = SL_PATH(NULL, "spec"), *of = SL_PATH(at, "resourceAttributes");
    yyjson_val *resource = sl_json_get(spec, "resourceAttributes"),
               *other = sl_json_get(spec, "nonResourceAttributes");

    if (resource && other)
        sl_field_invalid(c->errs, SL_PATH(at, "nonResourceAttributes"), sl_field_value_json(other),
                         "cannot be specified in combination with resourceAttributes");
    if (!resource && !other)
        sl_field_invalid(c->errs, of, sl_field_value_json(NULL),
                         "exactly one of nonResourceAttributes or resourceAttributes must be "
                         "specified");
    if (!self && !*sl_json_str(spec, "user") && !sl_json_size(sl_json_get(spec, "groups")))
        sl_field_invalid(c->errs, SL_PATH(at, "user"), sl_field_value_str(""),
                         "at least one of user or group must be specified");
    selector_check(c, SL_PATH(of, "fieldSelector"), sl_json_get(resource, "fieldSelector"));
    selector_check(c, SL_PATH(of, "labelSelector"), sl_json_get(resource, "labelSelector"));
}

/* Only managedFields and the namespace. */
static void meta_check(struct api_change *c, yyjson_val *object, bool local) {
    yyjson_val *meta = sl_json_get(object, "metadata"), *key, *v;
    size_t i, n;

    if (!meta)
        return;
    sl_obj_foreach (meta, i, n, key, v) {
        if (yyjson_equals_str(key, "managedFields") ||
            (local && yyjson_equals_str(key, "namespace")))
            continue;
        sl_field_invalid(c->errs, SL_PATH(NULL, "metadata"), sl_field_value_json(meta),
                         "must be empty%s", local ? " except for namespace" : "");
        return;
    }
}

static void local_check(struct api_change *c, yyjson_val *spec) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *resource = sl_json_get(spec, "resourceAttributes"),
               *other = sl_json_get(spec, "nonResourceAttributes");

    if (resource && strcmp(sl_json_str(resource, "namespace"), c->ns) != 0)
        sl_field_invalid(c->errs, SL_PATH(SL_PATH(at, "resourceAttributes"), "namespace"),
                         sl_field_value_str(sl_json_str(resource, "namespace")),
                         "must match metadata.namespace");
    if (other)
        sl_field_invalid(c->errs, SL_PATH(at, "nonResourceAttributes"), sl_field_value_json(other),
                         "disallowed on this kind of request");
}

static void access(struct api_change *c, bool self, bool local) {
    yyjson_doc *request = yyjson_mut_val_imut_copy(c->object, NULL);
    yyjson_val *object = yyjson_doc_get_root(request);
    yyjson_mut_val *status = yyjson_mut_obj(c->doc);

    spec_check(c, sl_json_get(object, "spec"), self);
    meta_check(c, object, local);
    if (local)
        local_check(c, sl_json_get(object, "spec"));
    yyjson_doc_free(request);
    yyjson_mut_obj_add_bool(c->doc, status, "allowed", true);
    set_status(c, status);
}

void api_review_self_access(struct api_change *c) {
    access(c, true, false);
}

void api_review_access(struct api_change *c) {
    access(c, false, false);
}

void api_review_local_access(struct api_change *c) {
    access(c, false, true);
}

/* ---- what one may do ---- */

static void star_rule(yyjson_mut_doc *doc, yyjson_mut_val *rules, const char *const *fields) {
    yyjson_mut_val *rule = yyjson_mut_arr_add_obj(doc, rules);

    for (; *fields; fields++)
        yyjson_mut_arr_add_str(doc, yyjson_mut_obj_add_arr(doc, rule, *fields), "*");
}

void api_review_rules(struct api_change *c) {
    static const char *const resource[] = {"verbs", "apiGroups", "resources", NULL},
                             *const url[] = {"verbs", "nonResourceURLs", NULL};
    yyjson_mut_val *status = yyjson_mut_obj(c->doc);

    if (!*sl_json_mut_str(c->object, "spec.namespace")) {
        api_change_refuse(c, 400, "BadRequest", "no namespace on request");
        return;
    }
    star_rule(c->doc, yyjson_mut_obj_add_arr(c->doc, status, "resourceRules"), resource);
    star_rule(c->doc, yyjson_mut_obj_add_arr(c->doc, status, "nonResourceRules"), url);
    yyjson_mut_obj_add_bool(c->doc, status, "incomplete", false);
    /* The question itself is not repeated. */
    sl_json_mut_set(c->doc, c->object, "metadata", yyjson_mut_obj(c->doc));
    sl_json_mut_set(c->doc, c->object, "spec", yyjson_mut_obj(c->doc));
    set_status(c, status);
}

/* ---- SelfSubjectReview ---- */

static yyjson_mut_val *user_info(struct api_change *c, const char *user,
                                 const char *const *groups) {
    yyjson_mut_val *info = yyjson_mut_obj(c->doc), *list;

    yyjson_mut_obj_add_strcpy(c->doc, info, "username", user);
    list = yyjson_mut_obj_add_arr(c->doc, info, "groups");
    for (; groups && *groups; groups++)
        yyjson_mut_arr_add_strcpy(c->doc, list, *groups);
    return info;
}

void api_review_self(struct api_change *c) {
    yyjson_mut_val *meta = yyjson_mut_obj(c->doc), *status = yyjson_mut_obj(c->doc);
    char now[SL_STAMP_TEXT];

    sl_json_mut_set_str(c->doc, meta, "creationTimestamp", sl_stamp(c->now, now));
    sl_json_mut_set(c->doc, c->object, "metadata", meta);
    sl_json_mut_set(c->doc, status, "userInfo", user_info(c, c->user, c->groups));
    set_status(c, status);
}

static void put_extra(struct api_change *c, yyjson_mut_val *extra, const char *key,
                      const char *value) {
    if (!*value)
        return;
    yyjson_mut_val *list = yyjson_mut_arr(c->doc);
    yyjson_mut_arr_add_strcpy(c->doc, list, value);
    yyjson_mut_obj_add(
        extra,
        yyjson_mut_strcpy(c->doc,
                          sl_arena_printf(c->arena, "authentication.kubernetes.io/%s", key)),
        list);
}

static yyjson_mut_val *bearer_info(struct api_change *c, const struct sl_api_bearer *b) {
    const char *const groups[] = {"system:serviceaccounts",
                                  sl_arena_printf(c->arena, "system:serviceaccounts:%s", b->ns),
                                  NULL};
    yyjson_mut_val *info = user_info(c, b->user, groups);
    yyjson_mut_val *extra = yyjson_mut_obj(c->doc);

    yyjson_mut_obj_add_strcpy(c->doc, info, "uid", b->uid);
    put_extra(c, extra, "credential-id", sl_arena_printf(c->arena, "JTI=%s", b->id));
    put_extra(c, extra, "node-name", b->node);
    put_extra(c, extra, "node-uid", b->node_uid);
    put_extra(c, extra, "pod-name", b->pod);
    put_extra(c, extra, "pod-uid", b->pod_uid);
    yyjson_mut_obj_add_val(c->doc, info, "extra", extra);
    return info;
}

/* NULL-terminated; NULL: none were given. */
static const char *const *asked_audiences(struct api_change *c) {
    yyjson_mut_val *list = sl_json_mut_at(c->object, "spec.audiences"), *v;
    const char **out = sl_arena_alloc0(c->arena, SL_API_AUDIENCES + 1, sizeof *out);
    uint32_t n = 0;
    size_t i, all;

    yyjson_mut_arr_foreach (list, i, all, v)
        if (n < SL_API_AUDIENCES)
            out[n++] = sl_arena_strdup(c->arena, sl_json_mut_text(v));
    return n ? out : NULL;
}

void api_review_token(struct api_change *c) {
    const char *token = sl_json_mut_str(c->object, "spec.token");
    yyjson_mut_val *status = yyjson_mut_obj(c->doc);
    struct sl_api_bearer b;

    if (!*token) {
        api_change_refuse(c, 400, "BadRequest",
                          "token is required for TokenReview in "
                          "authentication");
        return;
    }
    if (sl_api_token_read(c->server, c->arena, token, asked_audiences(c), c->now, &b)) {
        yyjson_mut_obj_add_bool(c->doc, status, "authenticated", true);
        sl_json_mut_set(c->doc, status, "user", bearer_info(c, &b));
        yyjson_mut_val *list = yyjson_mut_obj_add_arr(c->doc, status, "audiences");
        for (const char *const *a = b.audiences; *a; a++)
            yyjson_mut_arr_add_strcpy(c->doc, list, *a);
    } else {
        yyjson_mut_obj_add_str(c->doc, status, "error", "invalid bearer token");
        sl_json_mut_set(c->doc, status, "user", yyjson_mut_obj(c->doc));
    }
    set_status(c, status);
}
