/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of core/v1 but pods. */
#include <string.h>

#include <openssl/evp.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

#define MAX_DATA_BYTES ((size_t)1 << 20)

/* ---- namespaces ---- */

#define NS_LABEL "kubernetes.io/metadata.name"

static void namespace_prepare(struct api_change *c) {
    yyjson_mut_val *spec, *list, *v;
    bool there = false;
    size_t i, n;

    if (api_change_is_create(c)) {
        spec = sl_json_mut_obj(c->doc, c->object, "spec");
        list = sl_json_mut_get(spec, "finalizers");
        yyjson_mut_arr_foreach (list, i, n, v) {
            there = there || yyjson_mut_equals_str(v, "kubernetes");
        }
        if (!list) {
            list = yyjson_mut_arr(c->doc);
            sl_json_mut_set(c->doc, spec, "finalizers", list);
        }
        if (!there)
            yyjson_mut_arr_add_str(c->doc, list, "kubernetes");
        sl_json_mut_set_str(c->doc, sl_json_mut_obj(c->doc, c->object, "status"), "phase",
                            "Active");
    } else if (strcmp(c->subresource, "finalize") != 0) {
        sl_json_mut_keep(c->doc, c->object, "spec",
                         c->old); /* finalizers go through /finalize alone */
    }
    /* A name that was made up is known only now. */
    sl_json_mut_default_str(c->doc, sl_json_mut_obj(c->doc, c->object, "metadata.labels"), NS_LABEL,
                            sl_json_mut_str(c->object, "metadata.name"));
}

static void namespace_defaults(struct api_change *c) {
    if (*c->name)
        sl_json_mut_set_str(c->doc, sl_json_mut_obj(c->doc, c->object, "metadata.labels"), NS_LABEL,
                            c->name);
}

static void namespace_deleting(struct api_change *c) {
    sl_json_mut_set_str(c->doc, sl_json_mut_obj(c->doc, c->object, "status"), "phase",
                        "Terminating");
    sl_json_mut_set(c->doc, sl_json_mut_get(c->object, "metadata"), "deletionGracePeriodSeconds",
                    NULL);
}

static bool namespace_holds(yyjson_val *object) {
    /* The first deletion only marks it, with or without finalizers. */
    return sl_json_size(sl_json_at(object, "spec.finalizers")) > 0 ||
           !sl_json_at(object, "metadata.deletionTimestamp");
}

static void namespace_may_delete(struct api_change *c) {
    static const char *const kept[] = {"default", "kube-system", "kube-public"};
    const char *name = sl_json_str(c->old, "metadata.name");

    for (size_t i = 0; i < SL_LEN(kept); i++)
        if (strcmp(name, kept[i]) == 0)
            api_change_refuse(c, 403, "Forbidden",
                              "namespaces \"%s\" is forbidden: this namespace may not be deleted",
                              name);
}

static const struct api_strategy namespace_strategy = {
    .prepare = namespace_prepare,
    .defaults = namespace_defaults,
    .no_generation = true,
    .name = sl_syntax_dns_label,
    .deleting = namespace_deleting,
    .holds = namespace_holds,
    .may_delete = namespace_may_delete,
    .returns_deleted = true,
};

/* ---- config maps and secrets ---- */

static void data_keys(struct sl_field_errs *e, yyjson_val *object, const char *field,
                      yyjson_val *other, size_t *bytes) {
    yyjson_val *data = sl_json_get(object, field), *key, *v;
    size_t i, n;

    if (!data)
        return;
    sl_obj_foreach (data, i, n, key, v) {
        const char *name = sl_json_text(key);
        const struct sl_path *at = SL_PATH_KEY(SL_PATH(NULL, field), name);
        api_word_check_of(e, at, key, api_word_data_key);
        if (sl_json_get(other, name))
            sl_field_invalid(e, at, sl_field_value_str(name), "duplicate of key present in %s",
                             strcmp(field, "data") == 0 ? "binaryData" : "data");
        *bytes += sl_json_view(v).n;
    }
}

/* Nothing of an immutable one changes, and it stays immutable. */
static void data_update(struct sl_field_errs *e, yyjson_val *old, yyjson_val *object,
                        const char *const *fields) {
    if (!sl_json_bool(old, "immutable", false))
        return;
    if (!sl_json_bool(object, "immutable", false))
        sl_field_forbidden(e, SL_PATH(NULL, "immutable"),
                           "field is immutable when `immutable` is set");
    for (; *fields; fields++)
        if (!sl_json_same(sl_json_get(old, *fields), sl_json_get(object, *fields)))
            sl_field_forbidden(e, SL_PATH(NULL, *fields),
                               "field is immutable when `immutable` is set");
}

static void config_validate(struct api_change *c, yyjson_val *object) {
    static const char *const fields[] = {"data", "binaryData", NULL};
    size_t bytes = 0;

    if (c->old) {
        api_meta_check(c, object, true);
        data_update(c->errs, c->old, object, fields);
    }
    api_meta_check(c, object, false);
    data_keys(c->errs, object, "data", sl_json_get(object, "binaryData"), &bytes);
    data_keys(c->errs, object, "binaryData", NULL, &bytes);
    if (bytes > MAX_DATA_BYTES)
        sl_field_too_long(c->errs, SL_PATH(NULL, ""), MAX_DATA_BYTES);
}
static const struct api_strategy config_strategy = {
    .validate = config_validate, .meta = SL_META_SELF, .no_generation = true};

/* stringData is for writing only: it becomes data. */
static void secret_defaults(struct api_change *c) {
    yyjson_mut_val *texts = sl_json_mut_get(c->object, "stringData"), *data, *key, *v;
    size_t i, n;

    if (yyjson_mut_is_obj(texts) && yyjson_mut_obj_size(texts) > 0) {
        yyjson_mut_val *coded = yyjson_mut_obj(c->doc);
        data = sl_json_mut_obj(c->doc, c->object, "data");
        yyjson_mut_obj_foreach (texts, i, n, key, v) {
            struct sl_text t = sl_json_mut_view(v);
            if (!yyjson_mut_is_str(v) || t.n > SL_API_MAX_BODY)
                continue;
            unsigned char *out = sl_arena_alloc(c->arena, t.n / 3 * 4 + 5);
            EVP_EncodeBlock(out, (const unsigned char *)t.s, (int)t.n);
            (void)yyjson_mut_obj_add(coded, yyjson_mut_strcpy(c->doc, sl_json_mut_text(key)),
                                     yyjson_mut_strcpy(c->doc, (const char *)out));
        }
        sl_json_mut_fill(c->doc, data, coded, true);
    }
    sl_json_mut_set(c->doc, c->object, "stringData", NULL);
}

/* What a secret of a type cannot do without. */
static const struct {
    const char *type, *keys[2];
} secret_needs[] = {
    {"kubernetes.io/dockerconfigjson", {".dockerconfigjson", NULL}},
    {"kubernetes.io/dockercfg", {".dockercfg", NULL}},
    {"kubernetes.io/tls", {"tls.crt", "tls.key"}},
    {"kubernetes.io/ssh-auth", {"ssh-privatekey", NULL}},
};

static void secret_validate(struct api_change *c, yyjson_val *object) {
    static const char *const fields[] = {"data", NULL};
    const char *type = sl_json_str(object, "type");
    yyjson_val *data = sl_json_get(object, "data");
    size_t bytes = 0;

    if (c->old) {
        api_meta_check(c, object, true);
        sl_field_immutable(c->errs, SL_PATH(NULL, "type"), sl_json_get(object, "type"),
                           sl_json_get(c->old, "type"));
        data_update(c->errs, c->old, object, fields);
    }
    api_meta_check(c, object, false);
    data_keys(c->errs, object, "data", NULL, &bytes);
    if (bytes / 4 * 3 > MAX_DATA_BYTES)
        sl_field_too_long(c->errs, SL_PATH(NULL, "data"), MAX_DATA_BYTES);
    for (size_t i = 0; i < SL_LEN(secret_needs); i++)
        for (size_t k = 0;
             k < 2 && secret_needs[i].keys[k] && strcmp(type, secret_needs[i].type) == 0; k++)
            if (!sl_json_get(data, secret_needs[i].keys[k]))
                sl_field_required(c->errs,
                                  SL_PATH_KEY(SL_PATH(NULL, "data"), secret_needs[i].keys[k]), "");
    if (strcmp(type, "kubernetes.io/basic-auth") == 0 && !sl_json_get(data, "username") &&
        !sl_json_get(data, "password")) {
        sl_field_required(c->errs, SL_PATH_KEY(SL_PATH(NULL, "data"), "username"), "");
        sl_field_required(c->errs, SL_PATH_KEY(SL_PATH(NULL, "data"), "password"), "");
    }
    if (strcmp(type, "kubernetes.io/service-account-token") == 0 &&
        !sl_json_annotation_opt(object, "kubernetes.io/service-account.name"))
        sl_field_required(c->errs,
                          SL_PATH_KEY(SL_PATH(NULL, "metadata.annotations"),
                                      "kubernetes.io/service-account.name"),
                          "");
}

static void secret_prepare(struct api_change *c) {
    /* Without a type, the stored one is kept. */
    if (c->old && strcmp(sl_json_mut_str(c->object, "type"), "Opaque") == 0 &&
        *sl_json_str(c->old, "type") == '\0')
        sl_json_mut_keep(c->doc, c->object, "type", c->old);
}
static const struct api_strategy secret_strategy = {.prepare = secret_prepare,
                                                    .defaults = secret_defaults,
                                                    .validate = secret_validate,
                                                    .meta = SL_META_SELF,
                                                    .no_generation = true};

/* ---- limit ranges ---- */

static void limit_defaults(struct api_change *c) {
    size_t i, n;
    yyjson_mut_val *item;

    yyjson_mut_arr_foreach (sl_json_mut_at(c->object, "spec.limits"), i, n, item) {
        yyjson_mut_val *limit, *request;
        if (strcmp(sl_json_mut_str(item, "type"), "Container") != 0)
            continue;
        limit = sl_json_mut_obj(c->doc, item, "default");
        request = sl_json_mut_obj(c->doc, item, "defaultRequest");
        sl_json_mut_fill(c->doc, limit, sl_json_mut_get(item, "max"), false);
        sl_json_mut_fill(c->doc, request, limit, false);
        sl_json_mut_fill(c->doc, request, sl_json_mut_get(item, "min"), false);
        if (yyjson_mut_obj_size(limit) == 0)
            sl_json_mut_set(c->doc, item, "default", NULL);
        if (yyjson_mut_obj_size(request) == 0)
            sl_json_mut_set(c->doc, item, "defaultRequest", NULL);
    }
}

/* Of two amounts of an item the first may not exceed the second; 'at' is the path of the error,
 * which has the second amount or the first. */
static const struct {
    const char *low, *low_text, *high, *high_text, *at;
    bool report_high;
} limit_rules[] = {
    {"min", "min value", "max", "max value", "min", false},
    {"min", "min value", "defaultRequest", "default request value", "defaultRequest", true},
    {"defaultRequest", "default request value", "max", "max value", "defaultRequest", false},
    {"defaultRequest", "default request value", "default", "default limit value", "defaultRequest",
     false},
    {"min", "min value", "default", "default value", "default", false},
    {"default", "default value", "max", "max value", "default", true},
};

static void limit_pair(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *item,
                       size_t rule) {
    yyjson_val *low = sl_json_get(item, limit_rules[rule].low),
               *high = sl_json_get(item, limit_rules[rule].high), *key, *v;
    _cleanup_(sl_json_fields_done) struct sl_json_fields in_high = sl_json_fields_of(high);
    size_t i, n;

    if (!low)
        return;
    sl_obj_foreach (low, i, n, key, v) {
        const char *name = sl_json_text(key);
        yyjson_val *top = sl_json_field(&in_high, sl_json_view(key));
        sl_quantity a, b;
        if (top && sl_json_quantity(v, &a) && sl_json_quantity(top, &b) && a > b)
            sl_field_invalid(
                e, SL_PATH_KEY(SL_PATH(at, limit_rules[rule].at), name),
                sl_field_value_str(sl_json_text(limit_rules[rule].report_high ? top : v)),
                "%s %s is greater than %s %s", limit_rules[rule].low_text, sl_json_text(v),
                limit_rules[rule].high_text, sl_json_text(top));
    }
}

static void limit_type(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *limits,
                       yyjson_val *item) {
    static const char *const standard[] = {"Pod", "Container", "PersistentVolumeClaim"};
    const char *type = sl_json_str(item, "type");
    struct sl_syntax_errors f = sl_syntax_label_key(type, strlen(type));
    bool known = strchr(type, '/');

    for (uint32_t i = 0; i < f.n; i++)
        sl_field_invalid(e, at, sl_field_value_str(type), "%s", f.v[i]);
    for (size_t i = 0; i < SL_LEN(standard); i++)
        known = known || strcmp(type, standard[i]) == 0;
    if (!f.n && !known)
        sl_field_invalid(e, at, sl_field_value_str(type),
                         "must be a standard limit type or fully qualified");
    if (sl_json_find(limits, "type", type) != item)
        sl_field_duplicate(e, at, sl_field_value_str(type), "");
}

static void limit_validate(struct api_change *c, yyjson_val *object) {
    yyjson_val *limits = sl_json_at(object, "spec.limits"), *item;
    size_t i, n;

    yyjson_arr_foreach (limits, i, n, item) {
        const struct sl_path *at = SL_PATH_AT(SL_PATH(SL_PATH(NULL, "spec"), "limits"), i);
        limit_type(c->errs, SL_PATH(at, "type"), limits, item);
        for (size_t r = 0; r < SL_LEN(limit_rules); r++)
            limit_pair(c->errs, at, item, r);
    }
}
static const struct api_strategy limit_strategy = {.defaults = limit_defaults,
                                                   .validate = limit_validate,
                                                   .meta = SL_META_PLAIN,
                                                   .makes_name = true,
                                                   .no_generation = true,
                                                   .put_creates = true};

/* ---- templates, and what has no rules of its own ---- */

static void pod_template_defaults(struct api_change *c) {
    api_template_defaults(c->doc, sl_json_mut_at(c->object, "template.spec"));
}
static void pod_template_validate(struct api_change *c, yyjson_val *object) {
    api_template_check(c->errs, SL_PATH(NULL, "template"), sl_json_get(object, "template"),
                       SL_IN_TEMPLATE, NULL);
    api_pod_warn(c, object, "template.spec");
}
static const struct api_strategy template_strategy = {
    .defaults = pod_template_defaults, .validate = pod_template_validate, .returns_deleted = true};
static const struct api_strategy plain_returned = {.no_generation = true, .returns_deleted = true};
static const struct api_strategy endpoints_strategy = {
    .no_generation = true, .put_creates = true, .meta = SL_META_BOTH};
static const struct api_strategy account_strategy = {
    .no_generation = true, .returns_deleted = true, .meta = SL_META_BOTH};

static const char *const pod_fields[] = {"spec.nodeName",
                                         "spec.restartPolicy",
                                         "spec.schedulerName",
                                         "spec.serviceAccountName",
                                         "spec.hostNetwork?",
                                         "status.phase",
                                         "status.podIP",
                                         "status.podIPs", /* known, and never filled in */
                                         "spec.host=spec.nodeName",
                                         "status.nominatedNodeName",
                                         NULL};
static const char *const node_fields[] = {"spec.unschedulable?", NULL};
static const char *const controller_fields[] = {"status.replicas", NULL};
static const char *const namespace_fields[] = {"status.phase", NULL};
static const char *const secret_fields[] = {"type", NULL};
static const char *const service_fields[] = {"spec.clusterIP", "spec.type", NULL};
static const char *const event_fields[] = {"involvedObject.kind",
                                           "involvedObject.namespace",
                                           "involvedObject.name",
                                           "involvedObject.uid",
                                           "involvedObject.apiVersion",
                                           "involvedObject.resourceVersion",
                                           "involvedObject.fieldPath",
                                           "reason",
                                           "reportingComponent",
                                           "type",
                                           NULL};

const struct api_builtin api_builtin_core[] = {
    {.version = "v1",
     .kind = "Namespace",
     .plural = "namespaces",
     .shorts = "ns",
     .status = true,
     .verbs = SL_V_ALL & ~SL_V_DELETE_ALL,
     .strategy = &namespace_strategy,
     .selectable = namespace_fields},
    {.version = "v1",
     .kind = "Pod",
     .plural = "pods",
     .shorts = "po",
     .categories = "all",
     .namespaced = true,
     .status = true,
     .strategy = &api_pod_strategy,
     .selectable = pod_fields},
    {.version = "v1",
     .kind = "PodTemplate",
     .plural = "podtemplates",
     .namespaced = true,
     .strategy = &template_strategy},
    {.version = "v1",
     .kind = "ReplicationController",
     .plural = "replicationcontrollers",
     .shorts = "rc",
     .categories = "all",
     .namespaced = true,
     .status = true,
     .scale = true,
     .strategy = &api_controller_strategy,
     .selectable = controller_fields},
    {.version = "v1",
     .kind = "Node",
     .plural = "nodes",
     .shorts = "no",
     .status = true,
     .strategy = &api_node_strategy,
     .selectable = node_fields},
    {.version = "v1",
     .kind = "Service",
     .plural = "services",
     .shorts = "svc",
     .categories = "all",
     .namespaced = true,
     .status = true,
     .strategy = &api_service_strategy,
     .selectable = service_fields},
    {.version = "v1",
     .kind = "Endpoints",
     .plural = "endpoints",
     .shorts = "ep",
     .namespaced = true,
     .deprecation = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
     .strategy = &endpoints_strategy},
    {.version = "v1",
     .kind = "ConfigMap",
     .plural = "configmaps",
     .shorts = "cm",
     .namespaced = true,
     .strategy = &config_strategy},
    {.version = "v1",
     .kind = "Secret",
     .plural = "secrets",
     .namespaced = true,
     .strategy = &secret_strategy,
     .selectable = secret_fields},
    {.version = "v1",
     .kind = "ServiceAccount",
     .plural = "serviceaccounts",
     .shorts = "sa",
     .namespaced = true,
     .strategy = &account_strategy},
    {.version = "v1",
     .kind = "Event",
     .plural = "events",
     .shorts = "ev",
     .namespaced = true,
     .strategy = &api_event_strategy,
     .selectable = event_fields},
    {.version = "v1",
     .kind = "LimitRange",
     .plural = "limitranges",
     .shorts = "limits",
     .namespaced = true,
     .strategy = &limit_strategy},
    {.version = "v1",
     .kind = "ResourceQuota",
     .plural = "resourcequotas",
     .shorts = "quota",
     .namespaced = true,
     .status = true,
     .strategy = &api_quota_strategy},
    {.version = "v1",
     .kind = "PersistentVolumeClaim",
     .plural = "persistentvolumeclaims",
     .shorts = "pvc",
     .namespaced = true,
     .status = true,
     .strategy = &api_claim_strategy},
    {.version = "v1",
     .kind = "PersistentVolume",
     .plural = "persistentvolumes",
     .shorts = "pv",
     .status = true,
     .strategy = &plain_returned},
    {0},
};
