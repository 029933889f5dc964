/* SPDX-License-Identifier: Apache-2.0 */
/* Between the parts of OpenAPI documents. Private to src/cluster/schema. */
#ifndef SL_CLUSTER_SCHEMA_OPENAPI_OPENAPI_INT_H
#define SL_CLUSTER_SCHEMA_OPENAPI_OPENAPI_INT_H

#include "cluster/schema/openapi/openapi.h"
#include "lib/json/writer.h"

struct sl_openapi {
    struct sl_jw j;
    bool v3;
};

/* "description":"...", unless it is empty. */
void sl_openapi_doc(struct sl_openapi *w, const char *doc, size_t len);
/* {"$ref":"..."} to the definition of a kind, or of a list of them. */
void sl_openapi_ref(struct sl_openapi *w, const char *key, const struct sl_openapi_kind *k,
                    const char *suffix);
/* "x-kubernetes-group-version-kind":{...} */
void sl_openapi_gvk(struct sl_openapi *w, const char *group, const char *version, const char *kind,
                    const char *suffix, bool in_list);

/* Definitions of all kinds and what they consist of: an object. */
void sl_openapi_definitions(struct sl_openapi *w, const char *key,
                            const struct sl_openapi_api *api);
/* What can be done with a kind: members of an object of paths. */
void sl_openapi_paths(struct sl_openapi *w, const struct sl_openapi_kind *k);

#endif
