/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be done where. Clients look here for the kind that belongs to a path, and whether a
 * patch may be tried out ('dryRun') and checked ('fieldValidation').
 */
#include <string.h>

#include "cluster/schema/openapi/openapi_int.h"

enum shape { ONE, MANY, SCALE }; /* what comes back */

struct operation {
    const char *method, *action, *words;
    uint32_t verb;
    enum shape shape;
    const char *const *parameters; /* NULL-terminated */
};

static const char *const reading[] = {"pretty", NULL};
static const char *const listing[] = {"continue",       "fieldSelector",   "labelSelector",
                                      "limit",          "resourceVersion", "resourceVersionMatch",
                                      "timeoutSeconds", "watch",           NULL};
static const char *const writing[] = {"dryRun", "fieldManager", "fieldValidation", "pretty", NULL};
static const char *const patching[] = {"dryRun", "fieldManager", "fieldValidation",
                                       "force",  "pretty",       NULL};
static const char *const deleting[] = {"dryRun", "gracePeriodSeconds", "propagationPolicy", NULL};

static const struct operation on_many[] = {
    {"get", "list", "list", SL_OPENAPI_LIST, MANY, listing},
    {"post", "post", "create", SL_OPENAPI_CREATE, ONE, writing},
    {"delete", "deletecollection", "deleteCollection", SL_OPENAPI_DELETE_ALL, MANY, deleting},
};
static const struct operation on_one[] = {
    {"get", "get", "read", SL_OPENAPI_GET, ONE, reading},
    {"put", "put", "replace", SL_OPENAPI_UPDATE, ONE, writing},
    {"patch", "patch", "patch", SL_OPENAPI_PATCH, ONE, patching},
    {"delete", "delete", "delete", SL_OPENAPI_DELETE, ONE, deleting},
};

static void parameter(struct sl_openapi *w, const char *name, const char *in) {
    static const char *const numbers[] = {"limit", "timeoutSeconds", "gracePeriodSeconds"};
    static const char *const truths[] = {"watch", "force"};
    const char *type = "string";

    for (size_t i = 0; i < SL_LEN(numbers); i++)
        type = strcmp(name, numbers[i]) == 0 ? "integer" : type;
    for (size_t i = 0; i < SL_LEN(truths); i++)
        type = strcmp(name, truths[i]) == 0 ? "boolean" : type;
    sl_jw_object(&w->j, NULL);
    sl_jw_str(&w->j, "name", name);
    sl_jw_str(&w->j, "in", in);
    if (strcmp(in, "path") == 0)
        sl_jw_bool(&w->j, "required", true);
    if (w->v3)
        sl_jw_object(&w->j, "schema");
    sl_jw_str(&w->j, "type", type);
    if (w->v3)
        sl_jw_end(&w->j);
    sl_jw_end(&w->j);
}

/* "readNamespacedJob_batch_v1_status", each once in a document. */
static void operation_id(struct sl_openapi *w, const struct sl_openapi_kind *k,
                         const struct operation *o, bool all, const char *below) {
    sl_jw_strf(&w->j, "operationId", "%s%s%s%s_%s_%s%s%s", o->words,
               k->namespaced && !all ? "Namespaced" : "", k->kind, all ? "ForAllNamespaces" : "",
               *k->group ? k->group : "core", k->version, *below ? "_" : "", below);
}

static void put_responses(struct sl_openapi *w, const struct sl_openapi_kind *k, enum shape shape) {
    uint32_t depth = w->j.depth;

    sl_jw_object(&w->j, "responses");
    sl_jw_object(&w->j, "200");
    sl_jw_str(&w->j, "description", "OK");
    if (shape != SCALE && w->v3) {
        sl_jw_object(&w->j, "content");
        sl_jw_object(&w->j, "application/json");
    }
    if (shape != SCALE)
        sl_openapi_ref(w, "schema", k, shape == MANY ? "List" : "");
    sl_jw_end_to(&w->j, depth);
}

static void operation(struct sl_openapi *w, const struct sl_openapi_kind *k,
                      const struct operation *o, bool all, const char *below) {
    bool scale = strcmp(below, "scale") == 0;

    sl_jw_object(&w->j, o->method);
    operation_id(w, k, o, all, below);
    sl_jw_array(&w->j, "parameters");
    for (const char *const *p = o->parameters; *p; p++)
        parameter(w, *p, "query");
    sl_jw_end(&w->j);
    put_responses(w, k, scale ? SCALE : o->shape);
    sl_jw_str(&w->j, "x-kubernetes-action", o->action);
    if (scale)
        sl_openapi_gvk(w, "autoscaling", "v1", "Scale", "", false);
    else
        sl_openapi_gvk(w, k->group, k->version, k->kind, "", false);
    sl_jw_end(&w->j);
}

/* One path. 'all': of all namespaces, which can only be read. */
static void path(struct sl_openapi *w, const struct sl_openapi_kind *k, const struct operation *ops,
                 size_t n, bool all, const char *below) {
    bool one = ops == on_one, inside = k->namespaced && !all;
    uint32_t verbs = all ? k->verbs & SL_OPENAPI_LIST : k->verbs, used = 0;
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(2048);

    for (size_t i = 0; i < n; i++)
        used |= ops[i].verb & verbs;
    if (*below)
        used &= ~(uint32_t)SL_OPENAPI_DELETE;
    if (!used)
        return;
    sl_buf_printf(&text, "%s%s/%s/%s%s%s%s%s", *k->group ? "/apis/" : "/api", k->group, k->version,
                  inside ? "namespaces/{namespace}/" : "", k->plural, one ? "/{name}" : "",
                  *below ? "/" : "", below);
    sl_jw_object(&w->j, sl_buf_str(&text));
    for (size_t i = 0; i < n; i++)
        if (ops[i].verb & used)
            operation(w, k, &ops[i], all, below);
    if (one || inside) {
        sl_jw_array(&w->j, "parameters");
        if (one)
            parameter(w, "name", "path");
        if (inside)
            parameter(w, "namespace", "path");
        sl_jw_end(&w->j);
    }
    sl_jw_end(&w->j);
}

void sl_openapi_paths(struct sl_openapi *w, const struct sl_openapi_kind *k) {
    if (k->namespaced)
        path(w, k, on_many, SL_LEN(on_many), true, "");
    path(w, k, on_many, SL_LEN(on_many), false, "");
    path(w, k, on_one, SL_LEN(on_one), false, "");
    if (k->has_status)
        path(w, k, on_one, SL_LEN(on_one), false, "status");
    if (k->has_scale)
        path(w, k, on_one, SL_LEN(on_one), false, "scale");
}
