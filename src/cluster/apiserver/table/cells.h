/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of the built-in kinds, and what their functions share.
 */
#ifndef SL_CLUSTER_APISERVER_TABLE_CELLS_H
#define SL_CLUSTER_APISERVER_TABLE_CELLS_H

#include "cluster/apiserver/table/tables.h"

#define SL_COLUMN_NAME                                                                             \
    {                                                                                              \
        "Name", "string", "name", "The name, unique among its kind and namespace.", 0, NULL,       \
            api_cell_name                                                                          \
    }
#define SL_COLUMN_AGE                                                                              \
    { "Age", "string", "", "How long ago it was created.", 0, NULL, api_cell_created_age }
#define SL_COLUMN(name_, type_, doc_, cell_)                                                       \
    { name_, type_, "", doc_, 0, NULL, cell_ }
#define SL_COLUMN_WIDE(name_, type_, doc_, cell_)                                                  \
    { name_, type_, "", doc_, 1, NULL, cell_ }

/* A function that formats the value under one path. */
#define SL_STR_CELL(fn_, path_, fallback_)                                                         \
    static void fn_(yyjson_val *o, sl_time now, struct sl_jw *out) {                               \
        (void)now;                                                                                 \
        api_cell_str(o, path_, fallback_, out);                                                    \
    }
/* The same where "" is not nothing. */
#define SL_TEXT_CELL(fn_, path_, fallback_)                                                        \
    static void fn_(yyjson_val *o, sl_time now, struct sl_jw *out) {                               \
        (void)now;                                                                                 \
        sl_jw_str(out, NULL, sl_json_at(o, path_) ? sl_json_str(o, path_) : (fallback_));          \
    }
#define SL_INT_CELL(fn_, path_)                                                                    \
    static void fn_(yyjson_val *o, sl_time now, struct sl_jw *out) {                               \
        (void)now;                                                                                 \
        api_cell_int(o, path_, out);                                                               \
    }

void api_cell_name(yyjson_val *object, sl_time now, struct sl_jw *out);
void api_cell_created_age(yyjson_val *object, sl_time now, struct sl_jw *out);
/* The text there; 'fallback' if it is empty. */
void api_cell_str(yyjson_val *object, const char *path, const char *fallback, struct sl_jw *out);
void api_cell_int(yyjson_val *object, const char *path, struct sl_jw *out);
/* "a,b": names or images of the containers of a pod spec. */
void api_cell_containers(yyjson_val *pod_spec, const char *what, struct sl_jw *out);
/* A label selector as kubectl takes it: "a=b,c in (d,e)". */
void api_selector_print(yyjson_val *selector, struct sl_buf *out);
/* "a=b,c=d": a selector that is a plain map. */
void api_labels_print(yyjson_val *map, struct sl_buf *out);
void api_cell_selector(yyjson_val *selector, const char *empty, struct sl_jw *out);
/* "a=b,c=d": a map, sorted; "<none>" if it is empty. */
void api_cell_labels(yyjson_val *map, struct sl_jw *out);
/* "RWO,ROX": of a volume or claim. */
void api_cell_access_modes(yyjson_val *modes, struct sl_jw *out);
/* A text that grows, then one JSON string. */
#define SL_CELL_TEXT_MAX ((size_t)64 << 10)

/* The conditions of a pod's row, or nothing. */
void api_cells_pod_conditions(yyjson_val *pod, struct sl_jw *out);

/* By kind ("Pod"); the plain ones if it has none of its own. */
struct api_columns api_columns_of(const char *kind);

/* Columns per kind, ended by one without a kind: cells_core.c, cells_work.c, cells_misc.c,
 * cells_groups.c, cells_scaling.c. */
struct api_kind_columns {
    const char *kind;
    struct api_columns columns;
};
#define SL_COLUMNS(kind_, array_)                                                                  \
    {                                                                                              \
        kind_, {                                                                                   \
            array_, SL_LEN(array_)                                                                 \
        }                                                                                          \
    }
/* Of scale: of built-in kinds, of those of CRDs. */
extern const struct api_columns api_columns_scale[2];
extern const struct api_column api_columns_pod[9]; /* cells_pod.c */
extern const struct api_kind_columns api_columns_core[], api_columns_work[], api_columns_misc[],
    api_columns_groups[], api_columns_scaling[];

#endif
