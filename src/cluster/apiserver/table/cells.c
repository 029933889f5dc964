/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/table/cells.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/model/labels.h"
#include "lib/json/json.h"

void api_cell_created_age(yyjson_val *object, sl_time now, struct sl_jw *out) {
    api_cell_age(sl_json_at(object, "metadata.creationTimestamp"), now, out);
}

void api_cell_str(yyjson_val *object, const char *path, const char *fallback, struct sl_jw *out) {
    const char *s = sl_json_str(object, path);
    sl_jw_str(out, NULL, *s ? s : fallback);
}

void api_cell_int(yyjson_val *object, const char *path, struct sl_jw *out) {
    sl_jw_int(out, NULL, sl_json_int(object, path, 0));
}

void api_cell_containers(yyjson_val *pod_spec, const char *what, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    size_t i, n;
    yyjson_val *c;

    yyjson_arr_foreach (sl_json_get(pod_spec, "containers"), i, n, c) {
        sl_buf_printf(&text, "%s%s", i ? "," : "", sl_json_str(c, what));
    }
    sl_jw_str(out, NULL, sl_buf_str(&text));
}

/* ---- selectors ---- */

/* A requirement: a pair of matchLabels, or an item of matchExpressions. */
struct term {
    const char *key;
    yyjson_val *value, *expr;
    uint32_t at; /* the place in the object ends ties */
};

static int by_key(const void *a, const void *b) {
    const struct term *x = a, *y = b;
    int r = strcmp(x->key, y->key);

    return r ? r : (x->at > y->at) - (x->at < y->at);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_values(yyjson_val *values, struct sl_buf *out) {
    const char **words = sl_alloc0(yyjson_arr_size(values) + 1, sizeof *words);
    uint32_t count = 0;
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (values, i, n, v)
        words[count++] = sl_json_text(v);
    qsort(words, count, sizeof(*words), by_text);
    sl_buf_putc(out, '(');
    for (i = 0; i < count; i++)
        sl_buf_printf(out, "%s%s", i ? "," : "", words[i]);
    sl_buf_putc(out, ')');
    sl_freep(&words);
}

static void print_term(const struct term *t, struct sl_buf *out) {
    enum sl_label_op op = sl_label_op_parse(sl_json_str(t->expr, "operator"));

    if (!t->expr) {
        sl_buf_printf(out, "%s=%s", t->key, sl_json_text(t->value));
    } else if (op == SL_OP_EXISTS) {
        sl_buf_puts(out, t->key);
    } else if (op == SL_OP_NOT_EXISTS) {
        sl_buf_printf(out, "!%s", t->key);
    } else {
        sl_buf_printf(out, "%s %s ", t->key, op == SL_OP_IN ? "in" : "notin");
        print_values(sl_json_get(t->expr, "values"), out);
    }
}

static void print_terms(yyjson_val *map, yyjson_val *exprs, struct sl_buf *out) {
    size_t i, n, capacity = yyjson_obj_size(map) + yyjson_arr_size(exprs);
    struct term *terms = sl_alloc0(capacity + 1, sizeof *terms);
    uint32_t count = 0;
    yyjson_val *key, *v;

    sl_obj_foreach (map, i, n, key, v)
        terms[count] = (struct term){sl_json_text(key), v, NULL, count}, count++;
    yyjson_arr_foreach (exprs, i, n, v)
        terms[count] = (struct term){sl_json_str(v, "key"), NULL, v, count}, count++;
    qsort(terms, count, sizeof(*terms), by_key);
    for (i = 0; i < count; i++) {
        if (i)
            sl_buf_putc(out, ',');
        print_term(&terms[i], out);
    }
    sl_freep(&terms);
}

void api_selector_print(yyjson_val *selector, struct sl_buf *out) {
    print_terms(sl_json_get(selector, "matchLabels"), sl_json_get(selector, "matchExpressions"),
                out);
}

void api_labels_print(yyjson_val *map, struct sl_buf *out) {
    print_terms(map, NULL, out);
}

void api_cell_selector(yyjson_val *selector, const char *empty, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);

    api_selector_print(selector, &text);
    sl_jw_str(out, NULL, text.len ? sl_buf_str(&text) : empty);
}

void api_cell_labels(yyjson_val *map, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);

    print_terms(map, NULL, &text);
    sl_jw_str(out, NULL, text.len ? sl_buf_str(&text) : "<none>");
}

void api_cell_access_modes(yyjson_val *modes, struct sl_jw *out) {
    static const char *const words[][2] = {{"ReadWriteOnce", "RWO"},
                                           {"ReadOnlyMany", "ROX"},
                                           {"ReadWriteMany", "RWX"},
                                           {"ReadWriteOncePod", "RWOP"}};
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    size_t i, n;
    yyjson_val *v;

    for (size_t w = 0; w < SL_LEN(words); w++) {
        bool has = false;
        yyjson_arr_foreach (modes, i, n, v) {
            has = has || yyjson_equals_str(v, words[w][0]);
        }
        if (has)
            sl_buf_printf(&text, "%s%s", text.len ? "," : "", words[w][1]);
    }
    sl_jw_str(out, NULL, sl_buf_str(&text));
}

/* ---- scale ---- */

SL_INT_CELL(scale_desired, "spec.replicas")
/* Of custom resources a column is what the Scale has in JSON, where none is nothing. */
static void scale_written(yyjson_val *o, sl_time now, struct sl_jw *out) {
    if (sl_json_at(o, "spec.replicas"))
        scale_desired(o, now, out);
    else
        sl_jw_null(out, NULL);
}
SL_INT_CELL(scale_available, "status.replicas")
#define SCALE_COLUMNS(desired_)                                                                    \
    SL_COLUMN("Desired", "integer", "Replicas that there should be.", desired_),                   \
        SL_COLUMN("Available", "integer", "Replicas that there are.", scale_available)
static const struct api_column scale_builtin[] = {
    SL_COLUMN("Name", "string", "The name, unique among its kind and namespace.", api_cell_name),
    SCALE_COLUMNS(scale_desired), SL_COLUMN_AGE};
static const struct api_column scale_custom[] = {
    SL_COLUMN_NAME, SCALE_COLUMNS(scale_written),
    SL_COLUMN("Age", "date", "How long ago it was created.", api_cell_created_age)};
const struct api_columns api_columns_scale[2] = {{scale_builtin, SL_LEN(scale_builtin)},
                                                 {scale_custom, SL_LEN(scale_custom)}};

/* ---- which kind has which ---- */

struct api_columns api_columns_of(const char *kind) {
    const struct api_kind_columns *const tables[] = {api_columns_core, api_columns_work,
                                                     api_columns_misc, api_columns_groups,
                                                     api_columns_scaling};

    for (size_t t = 0; t < SL_LEN(tables); t++)
        for (const struct api_kind_columns *c = tables[t]; c->kind; c++)
            if (strcmp(c->kind, kind) == 0)
                return c->columns;
    return (struct api_columns){api_columns_plain, SL_LEN(api_columns_plain)};
}
