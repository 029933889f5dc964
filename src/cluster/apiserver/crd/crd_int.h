/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by crd.c and check.c. */
#ifndef SL_CLUSTER_APISERVER_CRD_CRD_INT_H
#define SL_CLUSTER_APISERVER_CRD_CRD_INT_H

#include "cluster/apiserver/crd/crd.h"
#include "cluster/apiserver/crd/rules.h"
#include "cluster/schema/crd/crd.h"
#include "core/base/embedded.h"

struct sl_crd {
    struct sl_kind kind;
    struct sl_arena arena; /* of all texts, rules and columns */
    const char *name;
    struct sl_crd_schema *schemas[SL_KIND_VERSIONS];
    const struct sl_rules *rules[SL_KIND_VERSIONS];
    struct sl_crd *next_dead;
    bool spoken_of; /* no longer served, and a request still refers to it */
};

/* Never NULL; of use only if there are no errors. */
struct sl_crd *sl_crd_new(struct sl_apiserver *s, yyjson_val *def, struct sl_field_errs *errs);
void sl_crd_after(struct sl_apiserver *s, struct sl_kind *crds, yyjson_val *old, yyjson_val *now);
/* Nothing of the kind is left: the definition may go. */
void sl_crd_finish(struct sl_apiserver *s, const char *name);

/* The definitions of our own kinds, one JSON object per line (api/generate --json). */
extern const struct sl_embedded sl_builtin_crds[];
extern const size_t sl_builtin_crds_n;

#endif
