/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenAPI documents, made from schemas, for `kubectl explain`, validation by clients and `kubectl
 * apply`. Version 2 is one document for all that is served, version 3 one for each group and
 * version. They take milliseconds and a megabyte, so the server builds them on the first request
 * and caches them until a kind is added or removed. Pure.
 */
#ifndef SL_CLUSTER_SCHEMA_OPENAPI_OPENAPI_H
#define SL_CLUSTER_SCHEMA_OPENAPI_OPENAPI_H

#include "cluster/schema/ceilings.h"
#include "cluster/schema/schema.h"
#include "core/base/buf.h"
#include "core/base/err.h"

/* What can be done with a kind, one bit each, in this order. */
enum sl_openapi_verbs {
    SL_OPENAPI_GET = 1,
    SL_OPENAPI_LIST = 2,
    SL_OPENAPI_WATCH = 4,
    SL_OPENAPI_CREATE = 8,
    SL_OPENAPI_UPDATE = 16,
    SL_OPENAPI_PATCH = 32,
    SL_OPENAPI_DELETE = 64,
    SL_OPENAPI_DELETE_ALL = 128,
};

/* A version of a kind that is served. The schema of a CRD has no name; it gets one from the group.
 */
struct sl_openapi_kind {
    const char *group, *version, *kind, *plural; /* group "" for core */
    bool namespaced, has_status, has_scale;
    uint32_t verbs; /* enum sl_openapi_verbs */
    const struct sl_schema *schema;
};

/* What documents are made from. */
struct sl_openapi_api {
    const struct sl_openapi_kind *kinds;
    size_t n;
    const char *release;               /* info.version: "v1.36.0" */
    const struct sl_schema *list_meta; /* the metadata of lists */
};

/* 'out' has a ceiling of its own, SL_OPENAPI_MAX_BYTES at best. */
void sl_openapi_v2(const struct sl_openapi_api *api, struct sl_buf *out);
/* The same document, as "application/com.github.proto-openapi.spec.v2@v1.0+protobuf". */
int sl_openapi_v2_protobuf(const char *json, size_t len, struct sl_buf *out,
                           struct sl_err *err) _must_check_;
/* /openapi/v3: where the documents are, with hashes that change when they do. */
void sl_openapi_v3_index(const struct sl_openapi_api *api, struct sl_buf *out);
/* /openapi/v3/apis/GROUP/VERSION. False if nothing of that is served. */
bool sl_openapi_v3(const struct sl_openapi_api *api, const char *group, const char *version,
                   struct sl_buf *out);

#endif
