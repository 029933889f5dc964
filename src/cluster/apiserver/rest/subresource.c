/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/rest/subresource.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/kinds/words.h"
#include "cluster/apiserver/table/cells.h"
#include "cluster/apiserver/token.h"
#include "core/base/fmt.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"
#include "lib/json/mutable.h"
#include "lib/json/seek.h"

static void refuse_call(struct api_sub_call *c, int status, const char *reason, const char *text) {
    if (!c->no.status)
        c->no = (struct api_refusal){.status = status, .reason = reason, .text = text};
}

/* ---- scale ---- */

static yyjson_mut_val *meta_of(yyjson_val *object, yyjson_mut_doc *doc) {
    static const char *const kept[] = {"name", "namespace", "uid", "resourceVersion",
                                       "creationTimestamp"};
    yyjson_mut_val *meta = yyjson_mut_obj(doc);

    for (size_t i = 0; i < SL_LEN(kept); i++)
        if (sl_json_get(sl_json_get(object, "metadata"), kept[i]))
            sl_json_mut_keep(doc, meta, kept[i], sl_json_get(object, "metadata"));
    return meta;
}

/* A selector as text; what is a text already stays it. The values of one that is a plain map (of a
 * ReplicationController) are texts, those of others never are. */
static void put_selector(yyjson_mut_doc *doc, yyjson_mut_val *status, yyjson_val *selector) {
    /* More than what an object's selector can become: a selector that is cut chooses more. */
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(8 * SL_API_MAX_BODY);

    if (yyjson_is_str(selector)) {
        sl_json_mut_set_str(doc, status, "selector", sl_json_text(selector));
        return;
    }
    if (yyjson_is_str(sl_json_size(selector) ? unsafe_yyjson_get_first(selector) + 1 : NULL))
        api_labels_print(selector, &text);
    else
        api_selector_print(selector, &text);
    if (text.len && !sl_buf_full(&text))
        sl_json_mut_set_str(doc, status, "selector", sl_buf_str(&text));
}

/* ".spec.replicas": a path of fields. */
static yyjson_val *at_fields(yyjson_val *object, const char *path) {
    return sl_json_at(object, path + (*path == '.'));
}

static const char *scale_lacks(const struct api_kind_version *v, yyjson_val *object) {
    return at_fields(object, v->spec_replicas) ? NULL : v->spec_replicas;
}

static yyjson_mut_val *scale_show(const struct api_kind_version *v, yyjson_val *object,
                                  yyjson_mut_doc *doc) {
    yyjson_mut_val *scale = yyjson_mut_obj(doc), *spec, *status;
    int64_t want = sl_json_int(at_fields(object, v->spec_replicas), "", 0);

    yyjson_mut_obj_add_str(doc, scale, "kind", "Scale");
    yyjson_mut_obj_add_str(doc, scale, "apiVersion", "autoscaling/v1");
    yyjson_mut_obj_add_val(doc, scale, "metadata", meta_of(object, doc));
    spec = yyjson_mut_obj_add_obj(doc, scale, "spec");
    if (want)
        yyjson_mut_obj_add_int(doc, spec, "replicas", want);
    status = yyjson_mut_obj_add_obj(doc, scale, "status");
    yyjson_mut_obj_add_int(doc, status, "replicas",
                           sl_json_int(at_fields(object, v->status_replicas), "", 0));
    if (v->label_selector)
        put_selector(doc, status, at_fields(object, v->label_selector));
    return scale;
}

/* ".spec.replicas": everything before the last dot, then the last name. */
static void set_at(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *path, int64_t n) {
    char up[SL_SCALE_PATH_MAX + 1];
    const char *last;

    path += *path == '.';
    last = strrchr(path, '.');
    sl_fmt(up, sizeof(up), "%.*s", last ? (int)(last - path) : 0, path);
    sl_json_mut_set_int(doc, sl_json_mut_obj(doc, object, up), last ? last + 1 : path, n);
}

static void scale_put(struct api_change *c, const struct api_kind_version *v, yyjson_val *view) {
    const char *version = sl_json_str(view, "metadata.resourceVersion"),
               *uid = sl_json_str(view, "metadata.uid");
    yyjson_mut_val *meta = sl_json_mut_obj(c->doc, c->object, "metadata");
    int64_t n = sl_json_int(view, "spec.replicas", 0);

    if (n < 0 && !c->kind->crd) /* of those the whole object is checked */
        sl_field_invalid(c->errs, SL_PATH(SL_PATH(NULL, "spec"), "replicas"), sl_field_value_int(n),
                         SL_NOT_NEGATIVE);
    if (n > INT32_MAX)
        sl_field_invalid(c->errs, SL_PATH(SL_PATH(NULL, "spec"), "replicas"), sl_field_value_int(n),
                         "must fit into 32 bits");
    if (*version)
        sl_json_mut_set_str(c->doc, meta, "resourceVersion", version);
    if (*uid)
        sl_json_mut_set_str(c->doc, meta, "uid", uid);
    set_at(c->doc, c->object, v->spec_replicas, n);
}

/* ---- pods/binding ---- */

const char *api_binding_pod(yyjson_val *binding) {
    return sl_json_str(binding, "metadata.name");
}

static void merge_map(struct api_sub_call *c, const char *name) {
    yyjson_val *old = sl_json_get(sl_json_get(c->object, "metadata"), name),
               *from = sl_json_get(sl_json_get(c->body, "metadata"), name);
    yyjson_mut_val *to =
        yyjson_is_obj(old) ? yyjson_val_mut_copy(c->doc, old) : yyjson_mut_obj(c->doc);

    if (!sl_json_size(from))
        return;
    sl_json_mut_fill(c->doc, to, yyjson_val_mut_copy(c->doc, from), true);
    sl_json_mut_set(c->doc, sl_json_mut_obj(c->doc, c->changed, "metadata"), name, to);
}

/* Errors of a binding have no reason. */
static void bind_check(struct api_sub_call *c) {
    const char *node = sl_json_str(c->body, "target.name"),
               *kind = sl_json_str(c->body, "target.kind");
    bool other = *kind && strcmp(kind, "Node") != 0;
    const char *what = "target.name: Required value",
               *which = sl_arena_printf(c->arena,
                                        "target.kind: Unsupported value: \"%s\": supported "
                                        "values: \"Node\", \"<empty>\"",
                                        kind);

    if (strcmp(sl_json_str(c->body, "metadata.name"), c->name) != 0)
        refuse_call(c, 400, "BadRequest", "name in URL does not match name in Binding object");
    else if (other && !*node)
        refuse_call(c, 500, "", sl_arena_printf(c->arena, "[%s, %s]", which, what));
    else if (other || !*node)
        refuse_call(c, 500, "", other ? which : what);
    else if (!*c->name)
        refuse_call(c, 400, "BadRequest", "Name parameter required.");
}

static void bind(struct api_sub_call *c) {
    const char *node = sl_json_str(c->body, "target.name");
    const char *uid = sl_json_str(c->body, "metadata.uid"), *why = NULL;

    if (*uid && strcmp(uid, sl_json_str(c->object, "metadata.uid")) != 0)
        why = sl_arena_printf(
            c->arena, "Precondition failed: UID in precondition: %s, UID in object meta: %s", uid,
            sl_json_str(c->object, "metadata.uid"));
    else if (sl_json_at(c->object, "metadata.deletionTimestamp"))
        why = sl_arena_printf(c->arena, "pod %s is being deleted, cannot be assigned to a host",
                              c->name);
    else if (*sl_json_str(c->object, "spec.nodeName"))
        why = sl_arena_printf(c->arena, "pod %s is already assigned to node \"%s\"", c->name,
                              sl_json_str(c->object, "spec.nodeName"));
    else if (sl_json_size(sl_json_at(c->object, "spec.schedulingGates")) > 0)
        why = sl_arena_printf(c->arena, "pod %s has non-empty .spec.schedulingGates", c->name);
    if (why) {
        refuse_call(c, 409, "Conflict",
                    sl_arena_printf(c->arena,
                                    "Operation cannot be fulfilled on pods/binding \"%s\": %s",
                                    c->name, why));
        c->no.details_kind = "pods/binding";
        return;
    }
    c->changed = yyjson_val_mut_copy(c->doc, c->object);
    sl_json_mut_set_str(c->doc, sl_json_mut_obj(c->doc, c->changed, "spec"), "nodeName", node);
    merge_map(c, "annotations");
    merge_map(c, "labels");
}

/* ---- pods/eviction ---- */

static void evict_check(struct api_sub_call *c) {
    if (strcmp(sl_json_str(c->body, "metadata.name"), c->name) != 0)
        refuse_call(c, 400, "BadRequest", "name in URL does not match name in Eviction object");
}

/* What is to be seen of it before it goes. */
static void record_eviction(struct api_sub_call *c) {
    yyjson_mut_val *status, *list, *o = NULL, *at;
    char now[SL_STAMP_TEXT];
    bool was = false;
    size_t i, n;

    c->changed = yyjson_val_mut_copy(c->doc, c->object);
    status = sl_json_mut_obj(c->doc, c->changed, "status");
    list = sl_json_mut_get(status, "conditions");
    if (!list) {
        list = yyjson_mut_arr(c->doc);
        sl_json_mut_set(c->doc, status, "conditions", list);
    }
    yyjson_mut_arr_foreach (list, i, n, at) {
        if (strcmp(sl_json_mut_str(at, "type"), "DisruptionTarget") == 0)
            o = at;
    }
    if (!o) {
        o = yyjson_mut_arr_add_obj(c->doc, list);
        yyjson_mut_obj_add_str(c->doc, o, "type", "DisruptionTarget");
        yyjson_mut_obj_add_null(c->doc, o, "lastProbeTime");
    }
    was = strcmp(sl_json_mut_str(o, "status"), "True") == 0;
    sl_json_mut_set_str(c->doc, o, "status", "True");
    if (!was)
        sl_json_mut_set_str(c->doc, o, "lastTransitionTime", sl_stamp(c->now, now));
    sl_json_mut_set_str(c->doc, o, "reason", "EvictionByEvictionAPI");
    sl_json_mut_set_str(c->doc, o, "message", "Eviction API: evicting");
}

static void evict(struct api_sub_call *c) {
    record_eviction(c);
    c->remove = true;
    c->delete_options = sl_json_get(c->body, "deleteOptions");
}

/* ---- serviceaccounts/token ---- */

#define TOKEN_MIN_SECONDS 600
#define TOKEN_MAX_SECONDS (INT64_C(1) << 32)
#define POD_TOKEN_SECONDS 3607 /* what admission puts into pods */
#define POD_TOKEN_LIFE (INT64_C(365) * 24 * SL_HOUR)

static void token_check(struct api_sub_call *c) {
    const char *name = sl_json_str(c->body, "metadata.name");

    if (*name && strcmp(name, c->name) != 0)
        sl_field_invalid(c->errs, SL_PATH(SL_PATH(NULL, "metadata"), "name"),
                         sl_field_value_str(name),
                         "must match the service account name if specified");
}

/* False: it is not the one that is meant, and that was answered. */
static bool take_bound(struct api_sub_call *c, yyjson_val *ref, const char *kind, yyjson_val *o,
                       struct sl_api_token *t) {
    const char *uid = sl_json_str(o, "metadata.uid"), *wanted = sl_json_str(ref, "uid"),
               *account = sl_json_str(o, "spec.serviceAccountName"),
               *node = sl_json_str(o, "spec.nodeName");

    if (*wanted && strcmp(wanted, uid) != 0) {
        refuse_call(c, 409, "Conflict",
                    sl_arena_printf(c->arena,
                                    "the UID in the bound object reference (%s) does not match the "
                                    "UID in record. The object might have been deleted and then "
                                    "recreated",
                                    wanted));
        return false;
    }
    if (strcmp(kind, "Pod") == 0 && *account && strcmp(account, c->name) != 0) {
        refuse_call(c, 400, "BadRequest",
                    sl_arena_printf(c->arena,
                                    "cannot bind token for serviceaccount \"%s\" to pod running "
                                    "with different serviceaccount name.",
                                    c->name));
        return false;
    }
    t->bound_kind = kind;
    t->bound_name = sl_arena_strdup(c->arena, sl_json_str(o, "metadata.name"));
    t->bound_uid = sl_arena_strdup(c->arena, uid);
    if (*node && strcmp(kind, "Pod") == 0) {
        _cleanup_(sl_json_docp) yyjson_doc *d =
            api_kind_read(c->server, api_kind_find(c->server, "", "nodes"), "", node);
        t->node_name = sl_arena_strdup(c->arena, node);
        t->node_uid =
            sl_arena_strdup(c->arena, d ? sl_json_str(yyjson_doc_get_root(d), "metadata.uid") : "");
    }
    return true;
}

/* A token may be bound to an object: then that has to be there. */
static bool find_bound(struct api_sub_call *c, yyjson_val *ref, struct sl_api_token *t) {
    static const char *const kinds[][2] = {
        {"Pod", "pods"}, {"Secret", "secrets"}, {"Node", "nodes"}};
    const char *version = sl_json_str(ref, "apiVersion"), *kind = sl_json_str(ref, "kind"),
               *name = sl_json_str(ref, "name");

    if (!ref)
        return true;
    for (size_t i = 0; i < SL_LEN(kinds); i++) {
        if (strcmp(version, "v1") != 0 || strcmp(kind, kinds[i][0]) != 0)
            continue;
        const struct api_kind *k = api_kind_find(c->server, "", kinds[i][1]);
        _cleanup_(sl_json_docp) yyjson_doc *there =
            api_kind_read(c->server, k, k->namespaced ? c->ns : "", name);
        bool found = there && take_bound(c, ref, kinds[i][0], yyjson_doc_get_root(there), t);
        if (!there) {
            refuse_call(c, 404, "NotFound",
                        sl_arena_printf(c->arena, "%s \"%s\" not found", kinds[i][1], name));
            c->no.details_kind = kinds[i][1];
            c->no.details_name = sl_arena_strdup(c->arena, name);
        }
        return found;
    }
    const char *slash = strchr(version, '/');
    refuse_call(c, 400, "BadRequest",
                sl_arena_printf(c->arena, "cannot bind token to object of type %s%s, Kind=%s",
                                slash ? "" : "/", version, kind));
    return false;
}

static bool is_own(yyjson_val *audiences) {
    return sl_json_size(audiences) == 0 ||
           (sl_json_size(audiences) == 1 &&
            strcmp(sl_json_text(yyjson_arr_get_first(audiences)), SL_API_ISSUER) == 0);
}

static void give_token(struct api_sub_call *c) {
    int64_t seconds = sl_json_int(c->body, "spec.expirationSeconds", 3600);
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *audiences = sl_json_at(c->body, "spec.audiences");
    yyjson_mut_val *spec, *status, *list;
    char stamp[SL_STAMP_TEXT];
    sl_time until;
    struct sl_api_token token = {.ns = c->ns,
                                 .name = c->name,
                                 .uid = sl_json_str(c->object, "metadata.uid"),
                                 .audiences = audiences,
                                 .now = c->now};

    if (seconds < TOKEN_MIN_SECONDS)
        sl_field_invalid(c->errs, SL_PATH(at, "expirationSeconds"), sl_field_value_int(seconds),
                         "may not specify a duration less than 10 minutes");
    if (seconds > TOKEN_MAX_SECONDS)
        sl_field_invalid(c->errs, SL_PATH(at, "expirationSeconds"), sl_field_value_int(seconds),
                         "may not specify a duration larger than 2^32 seconds");
    if (c->errs->n || !find_bound(c, sl_json_at(c->body, "spec.boundObjectRef"), &token))
        return;
    until = token.until = sl_time_add(c->now, seconds * SL_SEC);
    if (seconds == POD_TOKEN_SECONDS && token.bound_kind && token.node_name && is_own(audiences)) {
        /* As on a cluster: for clients that read the file only once. */
        token.warn_after = until;
        token.until = sl_time_add(c->now, POD_TOKEN_LIFE);
    }
    const char *text = sl_api_token_new(c->server, c->arena, &token);
    if (!*text) {
        refuse_call(c, 400, "BadRequest", "the audiences are too long for a token");
        return;
    }
    c->answer = yyjson_mut_obj(c->doc);
    yyjson_mut_obj_add_str(c->doc, c->answer, "kind", "TokenRequest");
    yyjson_mut_obj_add_str(c->doc, c->answer, "apiVersion", "authentication.k8s.io/v1");
    yyjson_mut_val *meta = yyjson_mut_obj_add_obj(c->doc, c->answer, "metadata");
    yyjson_mut_obj_add_strcpy(c->doc, meta, "name", c->name);
    yyjson_mut_obj_add_strcpy(c->doc, meta, "namespace", c->ns);
    sl_json_mut_keep(c->doc, meta, "uid", sl_json_get(c->object, "metadata"));
    yyjson_mut_obj_add_strcpy(c->doc, meta, "creationTimestamp", sl_stamp(c->now, stamp));
    spec = yyjson_mut_obj_add_obj(c->doc, c->answer, "spec");
    if (sl_json_size(audiences)) {
        yyjson_mut_obj_add_val(c->doc, spec, "audiences", yyjson_val_mut_copy(c->doc, audiences));
    } else {
        list = yyjson_mut_obj_add_arr(c->doc, spec, "audiences");
        yyjson_mut_arr_add_str(c->doc, list, SL_API_ISSUER);
    }
    yyjson_mut_obj_add_int(c->doc, spec, "expirationSeconds", seconds);
    yyjson_val *bound = sl_json_at(c->body, "spec.boundObjectRef");
    yyjson_mut_obj_add_val(c->doc, spec, "boundObjectRef",
                           bound ? yyjson_val_mut_copy(c->doc, bound) : yyjson_mut_null(c->doc));
    status = yyjson_mut_obj_add_obj(c->doc, c->answer, "status");
    yyjson_mut_obj_add_strcpy(c->doc, status, "token", text);
    yyjson_mut_obj_add_strcpy(c->doc, status, "expirationTimestamp", sl_stamp(until, stamp));
}

/* ---- which kind has which ---- */

#define CHANGES ((enum api_verbs)(SL_V_GET | SL_V_UPDATE | SL_V_PATCH))
#define STREAMS ((enum api_verbs)(SL_V_GET | SL_V_CREATE))

static const struct api_sub sub_status = {.name = "status", .verbs = CHANGES, .of_status = true};
static const struct api_sub sub_scale = {.name = "scale",
                                         .verbs = CHANGES,
                                         .group = "autoscaling",
                                         .version = "v1",
                                         .kind = "Scale",
                                         .show = scale_show,
                                         .lacks = scale_lacks,
                                         .columns = api_columns_scale,
                                         .put = scale_put};

/* By name within a kind. */
static const struct {
    const char *plural;
    struct api_sub sub;
} named[] = {
    {"certificatesigningrequests", {.name = "approval", .verbs = CHANGES, .of_status = true}},
    {"namespaces", {.name = "finalize", .verbs = SL_V_UPDATE}},
    {"pods",
     {.name = "attach",
      .verbs = STREAMS,
      .version = "v1",
      .kind = "PodAttachOptions",
      .upgrade = SL_SUB_ATTACH}},
    {"pods",
     {.name = "binding",
      .verbs = SL_V_CREATE,
      .version = "v1",
      .kind = "Binding",
      .check = bind_check,
      .act = bind}},
    {"pods",
     {.name = "ephemeralcontainers",
      .verbs = CHANGES,
      .refused = "pods/ephemeralcontainers is not offered: containers of a pod "
                 "that runs cannot be added to"}},
    {"pods",
     {.name = "eviction",
      .verbs = SL_V_CREATE,
      .group = "policy",
      .version = "v1",
      .kind = "Eviction",
      .also = "policy/v1beta1",
      .check = evict_check,
      .act = evict}},
    {"pods",
     {.name = "exec",
      .verbs = STREAMS,
      .version = "v1",
      .kind = "PodExecOptions",
      .upgrade = SL_SUB_EXEC}},
    {"pods", {.name = "log", .verbs = SL_V_GET, .stream = true}},
    {"pods",
     {.name = "portforward",
      .verbs = STREAMS,
      .version = "v1",
      .kind = "PodPortForwardOptions",
      .upgrade = SL_SUB_FORWARD}},
    {"pods",
     {.name = "resize",
      .verbs = CHANGES,
      .refused = "pods/resize is not offered: limits of a pod that runs stay"}},
    {"serviceaccounts",
     {.name = "token",
      .verbs = SL_V_CREATE,
      .group = "authentication.k8s.io",
      .version = "v1",
      .kind = "TokenRequest",
      .check = token_check,
      .act = give_token}},
};

const struct api_sub *api_sub_each(const struct api_kind *k, const struct api_kind_version *v,
                                   uint32_t *at) {
    for (; *at < SL_LEN(named); (*at)++) {
        uint32_t i = *at;
        if (!k->crd && strcmp(named[i].plural, k->plural) == 0) {
            (*at)++;
            return &named[i].sub;
        }
    }
    for (; *at < SL_LEN(named) + 2; (*at)++) {
        bool scale = *at == SL_LEN(named);
        if (scale ? v->has_scale : v->has_status) {
            (*at)++;
            return scale ? &sub_scale : &sub_status;
        }
    }
    return NULL;
}

const struct api_sub *api_sub_find(const struct api_kind *k, const struct api_kind_version *v,
                                   const char *name) {
    const struct api_sub *u;

    for (uint32_t i = 0; (u = api_sub_each(k, v, &i));)
        if (strcmp(u->name, name) == 0)
            return u;
    return NULL;
}
