/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery and OpenAPI of the visibility API, which the API server puts together with those of all
 * other groups for its clients.
 */
#include "manager/visibility/api.h"

#include <string.h>

#include "core/base/fmt.h"
#include "lib/json/writer.h"

const char *const sl_visibility_versions[] = {"v1beta2", "v1beta1", NULL};

/* The two kinds of queues. */
static const struct {
    const char *plural, *singular, *kind, *scope, *path;
    bool namespaced;
} queues[] = {
    {"clusterqueues", "clusterqueue", "ClusterQueue", "Cluster", "clusterqueues/{name}", false},
    {"localqueues", "localqueue", "LocalQueue", "Namespaced",
     "namespaces/{namespace}/localqueues/{name}", true},
};

static void put_empty(struct sl_jw *w, const char *key) {
    sl_jw_array(w, key);
    sl_jw_end(w);
}

static void put_word(struct sl_jw *w, const char *key, const char *word) {
    sl_jw_array(w, key);
    sl_jw_str(w, NULL, word);
    sl_jw_end(w);
}

/* ---- discovery ---- */

static void put_version(struct sl_jw *w, const char *key, const char *version) {
    sl_jw_object(w, key);
    sl_jw_strf(w, "groupVersion", VISIBILITY_GROUP "/%s", version);
    sl_jw_str(w, "version", version);
    sl_jw_end(w);
}

static void put_group(struct sl_jw *w) {
    sl_jw_str(w, "name", VISIBILITY_GROUP);
    sl_jw_array(w, "versions");
    for (const char *const *v = sl_visibility_versions; *v; v++)
        put_version(w, NULL, *v);
    sl_jw_end(w);
    put_version(w, "preferredVersion", sl_visibility_versions[0]);
}

static void put_resource(struct sl_jw *w, const char *name, const char *singular, bool namespaced) {
    sl_jw_object(w, NULL);
    sl_jw_str(w, "name", name);
    sl_jw_str(w, "singularName", singular);
    sl_jw_bool(w, "namespaced", namespaced);
    sl_jw_str(w, "kind", "PendingWorkloadsSummary");
}

static void put_resources(struct sl_jw *w, const char *version) {
    sl_jw_object(w, NULL);
    sl_jw_str(w, "kind", "APIResourceList");
    sl_jw_str(w, "apiVersion", "v1");
    sl_jw_strf(w, "groupVersion", VISIBILITY_GROUP "/%s", version);
    sl_jw_array(w, "resources");
    for (size_t i = 0; i < SL_LEN(queues); i++) {
        char sub[64];
        put_resource(w, queues[i].plural, queues[i].singular, queues[i].namespaced);
        put_empty(w, "verbs");
        sl_jw_end(w);
        sl_fmt(sub, sizeof(sub), "%s/pendingworkloads", queues[i].plural);
        put_resource(w, sub, "", queues[i].namespaced);
        put_word(w, "verbs", "get");
        sl_jw_end(w);
    }
    sl_jw_end_to(w, 0);
}

static void put_kind(struct sl_jw *w, const char *key, const char *version) {
    sl_jw_object(w, key);
    sl_jw_str(w, "group", VISIBILITY_GROUP);
    sl_jw_str(w, "version", version);
    sl_jw_str(w, "kind", "PendingWorkloadsSummary");
    sl_jw_end(w);
}

static void put_found(struct sl_jw *w, const char *version, size_t i) {
    sl_jw_object(w, NULL);
    sl_jw_str(w, "resource", queues[i].plural);
    sl_jw_str(w, "singularResource", queues[i].singular);
    sl_jw_str(w, "scope", queues[i].scope);
    put_empty(w, "verbs");
    put_kind(w, "responseKind", version);
    sl_jw_array(w, "subresources");
    sl_jw_object(w, NULL);
    sl_jw_str(w, "subresource", "pendingworkloads");
    put_word(w, "verbs", "get");
    put_kind(w, "responseKind", version);
    sl_jw_end(w);
    sl_jw_end(w);
    sl_jw_end(w);
}

/* All in one document, as the API server requests it. */
static void put_aggregated(struct sl_jw *w, const char *form) {
    sl_jw_object(w, NULL);
    sl_jw_str(w, "kind", "APIGroupDiscoveryList");
    sl_jw_strf(w, "apiVersion", "apidiscovery.k8s.io/%s", form);
    sl_jw_raw(w, "metadata", "{}");
    sl_jw_array(w, "items");
    sl_jw_object(w, NULL);
    sl_jw_object(w, "metadata");
    sl_jw_str(w, "name", VISIBILITY_GROUP);
    sl_jw_end(w);
    sl_jw_array(w, "versions");
    for (const char *const *v = sl_visibility_versions; *v; v++) {
        sl_jw_object(w, NULL);
        sl_jw_str(w, "version", *v);
        sl_jw_str(w, "freshness", "Current");
        sl_jw_array(w, "resources");
        for (size_t i = 0; i < SL_LEN(queues); i++)
            put_found(w, *v, i);
        sl_jw_end(w);
        sl_jw_end(w);
    }
    sl_jw_end_to(w, 0);
}

static void put_groups(const char *accept, struct sl_http_answer *a) {
    static const char *const forms[][3] = {
        {"v2", "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
         "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
        {"v2beta1", "g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
         "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"},
    };
    struct sl_jw *w = &SL_JW(&a->body);

    for (size_t i = 0; accept && i < SL_LEN(forms); i++)
        if (strstr(accept, forms[i][1])) {
            a->content_type = forms[i][2];
            put_aggregated(w, forms[i][0]);
            return;
        }
    sl_jw_object(w, NULL);
    sl_jw_str(w, "kind", "APIGroupList");
    sl_jw_str(w, "apiVersion", "v1");
    sl_jw_array(w, "groups");
    sl_jw_object(w, NULL);
    put_group(w);
    sl_jw_end_to(w, 0);
}

/* ---- OpenAPI ---- */

#define SCHEMA_NAME "io.x-k8s.kueue.visibility.%s.PendingWorkloadsSummary"

/* text and format may be NULL. */
static void put_property(struct sl_jw *w, const char *name, const char *text, const char *type,
                         const char *format) {
    sl_jw_object(w, name);
    if (text)
        sl_jw_str(w, "description", text);
    sl_jw_str(w, "type", type);
    if (format)
        sl_jw_str(w, "format", format);
    sl_jw_end(w);
}

/* Of an answer. Without references, so that it is the same in both versions of OpenAPI. */
static void put_schema(struct sl_jw *w, const char *version) {
    static const struct {
        const char *name, *type, *format, *text;
    } fields[] = {
        {"priority", "integer", "int32", "priority of the workload"},
        {"localQueueName", "string", NULL, "the LocalQueue it waits in"},
        {"positionInClusterQueue", "integer", "int32", "place in the ClusterQueue, from 0"},
        {"positionInLocalQueue", "integer", "int32", "place in the LocalQueue, from 0"},
        {"reason", "string", NULL, "why it waits, in a word: the reason of its condition"},
        {"message", "string", NULL, "why it waits, in a sentence: the message of its condition"},
        {"expectedStartTime", "string", "date-time",
         "it does not start before; given only where that is known"},
    };
    static const char *const required[] = {"priority", "localQueueName", "positionInClusterQueue",
                                           "positionInLocalQueue"};
    uint32_t depth = w->depth;
    char name[96];

    sl_fmt(name, sizeof(name), SCHEMA_NAME, version);
    sl_jw_object(w, name);
    sl_jw_str(w, "description", "Who waits in a queue, in the order in which they are taken.");
    sl_jw_str(w, "type", "object");
    put_word(w, "required", "items");
    sl_jw_object(w, "properties");
    put_property(w, "apiVersion", NULL, "string", NULL);
    put_property(w, "kind", NULL, "string", NULL);
    put_property(w, "metadata", NULL, "object", NULL);
    sl_jw_object(w, "items");
    sl_jw_str(w, "type", "array");
    sl_jw_object(w, "items");
    sl_jw_str(w, "type", "object");
    sl_jw_array(w, "required");
    for (size_t i = 0; i < SL_LEN(required); i++)
        sl_jw_str(w, NULL, required[i]);
    sl_jw_end(w);
    sl_jw_object(w, "properties");
    put_property(w, "metadata", "name, namespace, creationTimestamp, ownerReferences", "object",
                 NULL);
    for (size_t i = 0; i < SL_LEN(fields); i++)
        put_property(w, fields[i].name, fields[i].text, fields[i].type, fields[i].format);
    sl_jw_end_to(w, depth + 1);
    sl_jw_array(w, "x-kubernetes-group-version-kind");
    put_kind(w, NULL, version);
    sl_jw_end_to(w, depth);
}

static void put_parameter(struct sl_jw *w, bool v3, const char *name, const char *in,
                          const char *type) {
    sl_jw_object(w, NULL);
    sl_jw_str(w, "name", name);
    sl_jw_str(w, "in", in);
    if (v3)
        sl_jw_object(w, "schema");
    sl_jw_str(w, "type", type);
    if (v3)
        sl_jw_end(w);
    if (strcmp(in, "path") == 0)
        sl_jw_bool(w, "required", true);
    sl_jw_end(w);
}

static void put_answer(struct sl_jw *w, bool v3, const char *version) {
    uint32_t depth = w->depth;

    sl_jw_object(w, "responses");
    sl_jw_object(w, "200");
    sl_jw_str(w, "description", "OK");
    if (v3) {
        sl_jw_object(w, "content");
        sl_jw_object(w, "application/json");
    }
    sl_jw_object(w, "schema");
    sl_jw_strf(w, "$ref", "#/%s/" SCHEMA_NAME, v3 ? "components/schemas" : "definitions", version);
    sl_jw_end_to(w, depth);
}

static void put_path(struct sl_jw *w, bool v3, const char *version, size_t i) {
    uint32_t depth = w->depth;
    char path[256];

    sl_fmt(path, sizeof(path), "/apis/" VISIBILITY_GROUP "/%s/%s/pendingworkloads", version,
           queues[i].path);
    sl_jw_object(w, path);
    sl_jw_object(w, "get");
    sl_jw_strf(w, "description", "who waits in this %s", queues[i].kind);
    sl_jw_strf(w, "operationId", "readVisibilityKueue_%s_%sPendingworkloads", version,
               queues[i].kind);
    put_word(w, "tags", "visibility");
    sl_jw_array(w, "parameters");
    put_parameter(w, v3, "name", "path", "string");
    if (queues[i].namespaced)
        put_parameter(w, v3, "namespace", "path", "string");
    put_parameter(w, v3, "limit", "query", "integer");
    put_parameter(w, v3, "offset", "query", "integer");
    sl_jw_end(w);
    if (!v3)
        put_word(w, "produces", "application/json");
    put_answer(w, v3, version);
    sl_jw_str(w, "x-kubernetes-action", "get");
    put_kind(w, "x-kubernetes-group-version-kind", version);
    sl_jw_end_to(w, depth);
}

/* only: the version of an OpenAPI 3 request; NULL: OpenAPI 2, which has all. */
static void put_openapi(struct sl_jw *w, const char *only) {
    bool v3 = only;

    sl_jw_object(w, NULL);
    sl_jw_str(w, v3 ? "openapi" : "swagger", v3 ? "3.0.0" : "2.0");
    sl_jw_object(w, "info");
    sl_jw_str(w, "title", "Sluice visibility");
    sl_jw_str(w, "version", SL_VERSION);
    sl_jw_end(w);
    sl_jw_object(w, "paths");
    for (const char *const *v = sl_visibility_versions; *v; v++)
        for (size_t i = 0; i < SL_LEN(queues) && (!v3 || strcmp(*v, only) == 0); i++)
            put_path(w, v3, *v, i);
    sl_jw_end(w);
    if (v3)
        sl_jw_object(w, "components");
    sl_jw_object(w, v3 ? "schemas" : "definitions");
    for (const char *const *v = sl_visibility_versions; *v; v++)
        if (!v3 || strcmp(*v, only) == 0)
            put_schema(w, *v);
    sl_jw_end_to(w, 0);
}

static void put_openapi_list(struct sl_jw *w) {
    sl_jw_object(w, NULL);
    sl_jw_object(w, "paths");
    for (const char *const *v = sl_visibility_versions; *v; v++) {
        char path[96];
        sl_fmt(path, sizeof(path), "apis/" VISIBILITY_GROUP "/%s", *v);
        sl_jw_object(w, path);
        sl_jw_strf(w, "serverRelativeURL",
                   "/openapi/v3/apis/" VISIBILITY_GROUP "/%s?hash=" SL_VERSION, *v);
        sl_jw_end(w);
    }
    sl_jw_end_to(w, 0);
}

void sl_visibility_document(const struct sl_visibility_target *t, const char *accept,
                            struct sl_http_answer *a) {
    struct sl_jw *w = &SL_JW(&a->body);

    switch (t->what) {
    case VISIBILITY_GROUPS:
        put_groups(accept, a);
        break;
    case VISIBILITY_ONE_GROUP:
        sl_jw_object(w, NULL);
        sl_jw_str(w, "kind", "APIGroup");
        sl_jw_str(w, "apiVersion", "v1");
        put_group(w);
        sl_jw_end(w);
        break;
    case VISIBILITY_RESOURCES:
        put_resources(w, t->version);
        break;
    case VISIBILITY_OPENAPI_2:
        put_openapi(w, NULL);
        break;
    case VISIBILITY_OPENAPI_3:
        put_openapi_list(w);
        break;
    case VISIBILITY_OPENAPI_3_VERSION:
        put_openapi(w, t->version);
        break;
    case VISIBILITY_NOTHING:
    case VISIBILITY_QUEUES:
    case VISIBILITY_PENDING:
        break;
    }
    sl_buf_putc(&a->body, '\n');
}
