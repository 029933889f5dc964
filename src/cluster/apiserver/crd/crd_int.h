/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by crd.c and check.c. */
#ifndef SL_CLUSTER_APISERVER_CRD_CRD_INT_H
#define SL_CLUSTER_APISERVER_CRD_CRD_INT_H

#include "cluster/apiserver/crd/crd.h"
#include "cluster/apiserver/crd/rules.h"
#include "cluster/schema/crd/crd.h"
#include "core/base/embedded.h"

struct api_crd {
    struct api_kind kind;
    struct sl_arena arena; /* of all texts, rules and columns */
    const char *name;
    struct sl_crd_schema *schemas[SL_KIND_VERSIONS];
    const struct api_rules *rules[SL_KIND_VERSIONS];
    struct api_crd *next_retired;
    bool referenced; /* no longer served, and a request still refers to it */
};

/* Never NULL; of use only if there are no errors. */
struct api_crd *api_crd_new(struct sl_apiserver *s, yyjson_val *def, struct sl_field_errs *errs);
void api_crd_after(struct sl_apiserver *s, struct api_kind *crds, yyjson_val *old, yyjson_val *now);
/* Nothing of the kind is left: the definition may go. */
void api_crd_finish(struct sl_apiserver *s, const char *name);

/* The definitions of our own kinds, one JSON object per line (api/generate --json). */
extern const struct sl_embedded api_builtin_crds[];
extern const size_t api_builtin_crds_n;

#endif
