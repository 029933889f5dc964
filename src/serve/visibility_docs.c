/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery and OpenAPI of the visibility API, which the API server puts together with those of all
 * other groups for its clients.
 */
#include "serve/visibility_api.h"

#include <string.h>

const char *const visibility_versions[] = {"v1beta2", "v1beta1", NULL};

/* The two kinds of queues. */
static const struct {
    const char *plural, *singular, *kind, *scope, *path;
    bool namespaced;
} queues[] = {
    {"clusterqueues", "clusterqueue", "ClusterQueue", "Cluster", "clusterqueues/{name}", false},
    {"localqueues", "localqueue", "LocalQueue", "Namespaced",
     "namespaces/{namespace}/localqueues/{name}", true},
};

static void comma(struct sl_buf *b) {
    if (b->len && !strchr("{[", b->s[b->len - 1]))
        sl_buf_putc(b, ',');
}

/* ---- discovery ---- */

static void put_group(struct sl_buf *b) {
    sl_buf_puts(b, "\"name\":\"" VISIBILITY_GROUP "\",\"versions\":[");
    for (const char *const *v = visibility_versions; *v; v++) {
        comma(b);
        sl_buf_printf(b, "{\"groupVersion\":\"" VISIBILITY_GROUP "/%s\",\"version\":\"%s\"}", *v,
                      *v);
    }
    sl_buf_printf(b,
                  "],\"preferredVersion\":{\"groupVersion\":\"" VISIBILITY_GROUP
                  "/%s\",\"version\":\"%s\"}}",
                  visibility_versions[0], visibility_versions[0]);
}

static void put_resources(struct sl_buf *b, const char *version) {
    sl_buf_printf(b,
                  "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":"
                  "\"" VISIBILITY_GROUP "/%s\",\"resources\":[",
                  version);
    for (size_t i = 0; i < SL_LEN(queues); i++) {
        const char *in = queues[i].namespaced ? "true" : "false";
        comma(b);
        sl_buf_printf(b,
                      "{\"name\":\"%s\",\"singularName\":\"%s\",\"namespaced\":%s,"
                      "\"kind\":\"PendingWorkloadsSummary\",\"verbs\":[]},"
                      "{\"name\":\"%s/pendingworkloads\",\"singularName\":\"\",\"namespaced\":%s,"
                      "\"kind\":\"PendingWorkloadsSummary\",\"verbs\":[\"get\"]}",
                      queues[i].plural, queues[i].singular, in, queues[i].plural, in);
    }
    sl_buf_puts(b, "]}");
}

static void put_kind(struct sl_buf *b, const char *version) {
    sl_buf_printf(b,
                  "\"responseKind\":{\"group\":\"" VISIBILITY_GROUP
                  "\",\"version\":\"%s\",\"kind\":\"PendingWorkloadsSummary\"}",
                  version);
}

/* All in one document, as the API server asks for it. */
static void put_aggregated(struct sl_buf *b, const char *form) {
    sl_buf_printf(b,
                  "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/%s\","
                  "\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"" VISIBILITY_GROUP
                  "\"},\"versions\":[",
                  form);
    for (const char *const *v = visibility_versions; *v; v++) {
        comma(b);
        sl_buf_printf(b, "{\"version\":\"%s\",\"freshness\":\"Current\",\"resources\":[", *v);
        for (size_t i = 0; i < SL_LEN(queues); i++) {
            comma(b);
            sl_buf_printf(b,
                          "{\"resource\":\"%s\",\"singularResource\":\"%s\",\"scope\":\"%s\","
                          "\"verbs\":[],",
                          queues[i].plural, queues[i].singular, queues[i].scope);
            put_kind(b, *v);
            sl_buf_puts(b, ",\"subresources\":[{\"subresource\":\"pendingworkloads\","
                           "\"verbs\":[\"get\"],");
            put_kind(b, *v);
            sl_buf_puts(b, "}]}");
        }
        sl_buf_puts(b, "]}");
    }
    sl_buf_puts(b, "]}]}");
}

static void put_groups(const char *accept, struct sl_http_answer *a) {
    static const char *const forms[][3] = {
        {"v2", "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
         "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
        {"v2beta1", "g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
         "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"},
    };
    for (size_t i = 0; accept && i < SL_LEN(forms); i++)
        if (strstr(accept, forms[i][1])) {
            a->content_type = forms[i][2];
            put_aggregated(&a->body, forms[i][0]);
            return;
        }
    sl_buf_puts(&a->body, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[{");
    put_group(&a->body);
    sl_buf_puts(&a->body, "]}");
}

/* ---- OpenAPI ---- */

#define SCHEMA_NAME "io.x-k8s.kueue.visibility.%s.PendingWorkloadsSummary"

/* Of an answer. Without references, so that it is the same in both versions of OpenAPI. */
static void put_schema(struct sl_buf *b, const char *version) {
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
    sl_buf_printf(b,
                  "\"" SCHEMA_NAME "\":{\"description\":\"Who waits in a queue, in the order in "
                  "which they are taken.\",\"type\":\"object\",\"required\":[\"items\"],",
                  version);
    sl_buf_puts(b, "\"properties\":{\"apiVersion\":{\"type\":\"string\"},"
                   "\"kind\":{\"type\":\"string\"},\"metadata\":{\"type\":\"object\"},"
                   "\"items\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
                   "\"priority\",\"localQueueName\",\"positionInClusterQueue\","
                   "\"positionInLocalQueue\"],\"properties\":{\"metadata\":{\"description\":"
                   "\"name, namespace, creationTimestamp, ownerReferences\","
                   "\"type\":\"object\"}");
    for (size_t i = 0; i < SL_LEN(fields); i++) {
        sl_buf_printf(b, ",\"%s\":{\"description\":\"%s\",\"type\":\"%s\"", fields[i].name,
                      fields[i].text, fields[i].type);
        if (fields[i].format)
            sl_buf_printf(b, ",\"format\":\"%s\"", fields[i].format);
        sl_buf_putc(b, '}');
    }
    sl_buf_printf(b,
                  "}}}},\"x-kubernetes-group-version-kind\":[{\"group\":\"" VISIBILITY_GROUP
                  "\",\"version\":\"%s\",\"kind\":\"PendingWorkloadsSummary\"}]}",
                  version);
}

static void put_parameter(struct sl_buf *b, bool v3, const char *name, const char *in,
                          const char *type) {
    comma(b);
    sl_buf_printf(b, "{\"name\":\"%s\",\"in\":\"%s\",%s\"type\":\"%s\"%s%s}", name, in,
                  v3 ? "\"schema\":{" : "", type, v3 ? "}" : "",
                  strcmp(in, "path") == 0 ? ",\"required\":true" : "");
}

static void put_path(struct sl_buf *b, bool v3, const char *version, size_t i) {
    comma(b);
    sl_buf_printf(b,
                  "\"/apis/" VISIBILITY_GROUP "/%s/%s/pendingworkloads\":{\"get\":{"
                  "\"description\":\"who waits in this %s\",\"operationId\":"
                  "\"readVisibilityKueue_%s_%sPendingworkloads\",\"tags\":[\"visibility\"],"
                  "\"parameters\":[",
                  version, queues[i].path, queues[i].kind, version, queues[i].kind);
    put_parameter(b, v3, "name", "path", "string");
    if (queues[i].namespaced)
        put_parameter(b, v3, "namespace", "path", "string");
    put_parameter(b, v3, "limit", "query", "integer");
    put_parameter(b, v3, "offset", "query", "integer");
    sl_buf_printf(b,
                  "],%s\"responses\":{\"200\":{\"description\":\"OK\",%s"
                  "\"schema\":{\"$ref\":\"#/%s/" SCHEMA_NAME "\"}%s}},"
                  "\"x-kubernetes-action\":\"get\",\"x-kubernetes-group-version-kind\":{"
                  "\"group\":\"" VISIBILITY_GROUP
                  "\",\"version\":\"%s\",\"kind\":\"PendingWorkloadsSummary\"}}}",
                  v3 ? "" : "\"produces\":[\"application/json\"],",
                  v3 ? "\"content\":{\"application/json\":{" : "",
                  v3 ? "components/schemas" : "definitions", version, v3 ? "}}" : "", version);
}

/* only: the version that OpenAPI 3 is asked about; NULL: OpenAPI 2, which has all. */
static void put_openapi(struct sl_buf *b, const char *only) {
    bool v3 = only;
    sl_buf_printf(b,
                  "{\"%s\":\"%s\",\"info\":{\"title\":\"Sluice visibility\",\"version\":\"%s\"},"
                  "\"paths\":{",
                  v3 ? "openapi" : "swagger", v3 ? "3.0.0" : "2.0", SL_VERSION);
    for (const char *const *v = visibility_versions; *v; v++)
        for (size_t i = 0; i < SL_LEN(queues) && (!v3 || strcmp(*v, only) == 0); i++)
            put_path(b, v3, *v, i);
    sl_buf_puts(b, v3 ? "},\"components\":{\"schemas\":{" : "},\"definitions\":{");
    for (const char *const *v = visibility_versions; *v; v++)
        if (!v3 || strcmp(*v, only) == 0) {
            comma(b);
            put_schema(b, *v);
        }
    sl_buf_puts(b, v3 ? "}}}" : "}}");
}

static void put_openapi_list(struct sl_buf *b) {
    sl_buf_puts(b, "{\"paths\":{");
    for (const char *const *v = visibility_versions; *v; v++) {
        comma(b);
        sl_buf_printf(b,
                      "\"apis/" VISIBILITY_GROUP "/%s\":{\"serverRelativeURL\":"
                      "\"/openapi/v3/apis/" VISIBILITY_GROUP "/%s?hash=" SL_VERSION "\"}",
                      *v, *v);
    }
    sl_buf_puts(b, "}}");
}

void visibility_document(const struct visibility_target *t, const char *accept,
                         struct sl_http_answer *a) {
    switch (t->what) {
    case VISIBILITY_GROUPS:
        put_groups(accept, a);
        break;
    case VISIBILITY_ONE_GROUP:
        sl_buf_puts(&a->body, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
        put_group(&a->body);
        break;
    case VISIBILITY_RESOURCES:
        put_resources(&a->body, t->version);
        break;
    case VISIBILITY_OPENAPI_2:
        put_openapi(&a->body, NULL);
        break;
    case VISIBILITY_OPENAPI_3:
        put_openapi_list(&a->body);
        break;
    case VISIBILITY_OPENAPI_3_VERSION:
        put_openapi(&a->body, t->version);
        break;
    case VISIBILITY_NOTHING:
    case VISIBILITY_QUEUES:
    case VISIBILITY_PENDING:
        break;
    }
    sl_buf_putc(&a->body, '\n');
}
