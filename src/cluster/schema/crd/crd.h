/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema of a CustomResourceDefinition's version: from openAPIV3Schema, if it is structural. It
 * owns what it is made of and outlives the object it was read from.
 */
#ifndef SL_CLUSTER_SCHEMA_CRD_CRD_H
#define SL_CLUSTER_SCHEMA_CRD_CRD_H

#include "cluster/schema/schema.h"
#include "kube/types/field.h"

struct sl_crd_schema;

/* 'v' is openAPIV3Schema; errors (not structural, invalid defaults, invalid patterns) go to errs
 * with the messages of kube-apiserver, and *ret is NULL then. 'meta' is the schema of
 * ObjectMeta. */
void sl_crd_schema_new(yyjson_val *v, const struct sl_path *at, const struct sl_schema *meta,
                       struct sl_field_errs *errs, struct sl_crd_schema **ret);
void sl_crd_schema_free(struct sl_crd_schema *c);
const struct sl_schema *sl_crd_schema_root(const struct sl_crd_schema *c);

#endif
