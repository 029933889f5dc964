/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables: what kubectl prints. The parts of a Table that follow from the kind; the caller writes
 * the rest:
 *
 *     {"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{...},
 *      "columnDefinitions":[...],"rows":[ROW,...]}
 */
#ifndef SL_CLUSTER_APISERVER_TABLE_TABLES_H
#define SL_CLUSTER_APISERVER_TABLE_TABLES_H

#include "cluster/apiserver/kinds/kind.h"
#include "core/base/stamp.h"

enum api_include { SL_INCLUDE_METADATA, SL_INCLUDE_NONE, SL_INCLUDE_OBJECT };
/* includeObject of the query ("" is Metadata). False: invalid value. */
bool api_include_parse(const char *word, enum api_include *ret);

struct api_columns {
    const struct api_column *v;
    uint32_t n;
};

/* The array of columnDefinitions. */
void api_table_columns(struct api_columns columns, struct sl_buf *out);
/* {"cells":[...],"object":{...}}; api_version is of the PartialObjectMetadata ("meta.k8s.io/v1").
 * The object is in the version that the columns are of. */
void api_table_row(const struct api_kind *k, struct api_columns columns, yyjson_val *object,
                   enum api_include include, sl_time now, struct sl_buf *out);
/* PartialObjectMetadata of an object. */
void api_table_partial(yyjson_val *object, struct sl_buf *out);

/* ---- shared by table/cells_*.c ---- */
/* "5m", "3d4h": durations as kubectl formats them. Returns out. */
#define SL_AGE_TEXT 48
const char *api_age(sl_span age, char out[SL_AGE_TEXT]);
/* The age cell of a timestamp field; "<unknown>" if it is absent. */
void api_cell_age(yyjson_val *stamp, sl_time now, struct sl_jw *out);

/* The columns of a kind that has none of its own: Name and Created At (kinds), or Name and Age
 * (CRDs). */
extern const struct api_column api_columns_plain[2], api_columns_crd[2];

#endif
