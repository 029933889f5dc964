/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements of kube-apiserver for the openAPIV3Schema of a CRD. Private to src/cluster/schema.
 */
#ifndef SL_CLUSTER_SCHEMA_CRD_RULES_H
#define SL_CLUSTER_SCHEMA_CRD_RULES_H

#include "kube/types/field.h"

/* The properties of a schema, to be gone through: an object, if need be an empty one. */
static inline yyjson_val *schema_crd_properties(yyjson_val *v) {
    static yyjson_val none[3] = {{.tag = YYJSON_TYPE_OBJ}};
    yyjson_val *p = yyjson_obj_get(v, "properties");
    return yyjson_is_obj(p) ? p : none;
}

/* Is it structural? The errors are sorted. */
void schema_crd_check_structure(yyjson_val *v, const struct sl_path *at,
                                struct sl_field_errs *errs);
/* All else: valid combinations. */
void schema_crd_check_words(yyjson_val *v, const struct sl_path *at, struct sl_field_errs *errs);

#endif
