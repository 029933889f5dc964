/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/table/tables.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/crd/crd.h"
#include "cluster/apiserver/table/cells.h"
#include "cluster/apiserver/table/jsonpath.h"
#include "cluster/merge/gotext.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

/* ---- time ---- */

const char *api_age(sl_span age, char out[SL_AGE_TEXT]) {
    long long sec = age / SL_SEC, min = age / SL_MINUTE, hour = age / SL_HOUR, day = hour / 24;

    if (sec < -1)
        sl_fmt(out, SL_AGE_TEXT, "<invalid>");
    else if (sec < 0)
        sl_fmt(out, SL_AGE_TEXT, "0s");
    else if (sec < 120)
        sl_fmt(out, SL_AGE_TEXT, "%llds", sec);
    else if (min < 10 && sec % 60 != 0)
        sl_fmt(out, SL_AGE_TEXT, "%lldm%llds", min, sec % 60);
    else if (min < 180)
        sl_fmt(out, SL_AGE_TEXT, "%lldm", min);
    else if (hour < 8 && min % 60 != 0)
        sl_fmt(out, SL_AGE_TEXT, "%lldh%lldm", hour, min % 60);
    else if (hour < 48)
        sl_fmt(out, SL_AGE_TEXT, "%lldh", hour);
    else if (hour < 192 && hour % 24 != 0)
        sl_fmt(out, SL_AGE_TEXT, "%lldd%lldh", day, hour % 24);
    else if (day < 730)
        sl_fmt(out, SL_AGE_TEXT, "%lldd", day);
    else if (day < 365LL * 8 && day % 365 != 0)
        sl_fmt(out, SL_AGE_TEXT, "%lldy%lldd", day / 365, day % 365);
    else
        sl_fmt(out, SL_AGE_TEXT, "%lldy", day / 365);
    return out;
}

void api_cell_age(yyjson_val *stamp, sl_time now, struct sl_jw *out) {
    char text[SL_AGE_TEXT];
    sl_time at;

    if (sl_json_view(stamp).n == 0)
        sl_jw_str(out, NULL, "<unknown>");
    else if (!sl_stamp_parse(sl_json_text(stamp), &at))
        sl_jw_str(out, NULL, "<invalid>");
    else
        sl_jw_str(out, NULL, api_age(now - at, text));
}

/* ---- columns without functions of their own ---- */

void api_cell_name(yyjson_val *object, sl_time now, struct sl_jw *out) {
    (void)now;
    sl_jw_str(out, NULL, sl_json_str(object, "metadata.name"));
}

static void cell_created(yyjson_val *object, sl_time now, struct sl_jw *out) {
    (void)now;
    sl_jw_str(out, NULL, sl_json_str(object, "metadata.creationTimestamp"));
}

const struct api_column api_columns_plain[2] = {
    SL_COLUMN_NAME,
    {"Created At", "date", "", "When it was created.", 0, NULL, cell_created},
};
const struct api_column api_columns_crd[2] = {
    SL_COLUMN_NAME,
    {"Age", "date", "", "How long ago it was created.", 0, NULL, api_cell_created_age},
};

/* Numbers that no int64 is near have no meaning as one. */
static int64_t clamp_to_int64(double d) {
    return d >= -0x1p63 && d < 0x1p63 ? (int64_t)d : d < 0 ? INT64_MIN : INT64_MAX;
}

/* Any value as a text: as Go prints it, lists and objects as JSON. */
static void write_text(yyjson_val *v, struct sl_arena *arena, struct sl_jw *out) {
    char real[SL_GO_REAL];

    if (yyjson_is_str(v)) {
        sl_jw_text(out, NULL, sl_json_view(v));
    } else if (yyjson_is_null(v)) {
        sl_jw_str(out, NULL, "<no value>");
    } else if (yyjson_is_bool(v)) {
        sl_jw_str(out, NULL, yyjson_get_bool(v) ? "true" : "false");
    } else if (yyjson_is_real(v)) {
        sl_jw_str(out, NULL, sl_go_real(yyjson_get_real(v), false, real));
    } else if (yyjson_is_num(v)) {
        sl_jw_strf(out, NULL, "%lld", (long long)yyjson_get_sint(v));
    } else if (6 * sl_json_bytes(v) + 8 * sl_json_count(v) > API_ROW_ARENA) {
        sl_jw_str(out, NULL, "<too costly>");
    } else {
        _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(2 * API_ROW_ARENA);
        _cleanup_(sl_json_mut_docp) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        sl_go_json(arena, &text, yyjson_val_mut_copy(doc, v));
        sl_jw_str(out, NULL, sl_buf_str(&text));
    }
}

/* A value under the path as the type of the column; null if it has another type. */
static void write_value(const struct api_column *c, yyjson_val *v, sl_time now,
                        struct sl_arena *arena, struct sl_jw *out) {
    if (strcmp(c->type, "string") == 0) {
        write_text(v, arena, out);
    } else if (strcmp(c->type, "date") == 0 && yyjson_is_str(v)) {
        api_cell_age(v, now, out);
    } else if (strcmp(c->type, "integer") == 0 && yyjson_is_num(v)) {
        sl_jw_int(out, NULL,
                  yyjson_is_int(v) ? yyjson_get_sint(v) : clamp_to_int64(yyjson_get_real(v)));
    } else if ((strcmp(c->type, "number") == 0 && yyjson_is_num(v)) ||
               (strcmp(c->type, "boolean") == 0 && yyjson_is_bool(v))) {
        sl_jw_val(out, NULL, v);
    } else {
        sl_jw_null(out, NULL);
    }
}

static void write_cell(const struct api_column *c, yyjson_val *object, sl_time now, uint64_t *steps,
                       struct sl_jw *out) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(API_ROW_ARENA);
    yyjson_val *v;

    if (c->cell) {
        c->cell(object, now, out);
        return;
    }
    v = api_jsonpath_first(c->path, object, &arena, steps);
    size_t before = out->b->len;
    if (sl_arena_full(&arena))
        *steps = 0;
    if (v && *steps)
        write_value(c, v, now, &arena, out);
    else if (!*steps && strcmp(c->type, "string") == 0)
        sl_jw_str(out, NULL, "<too costly>");
    else
        sl_jw_null(out, NULL);
    /* Every column may show all of the object. */
    uint64_t shown = (out->b->len - before) / API_ROW_BYTES_PER_STEP;
    *steps = *steps > shown ? *steps - shown : 0;
}

#define API_VERSION_TEXT 128u

/* ---- tables ---- */

bool api_include_parse(const char *word, enum api_include *ret) {
    static const char *const words[] = {"Metadata", "None", "Object"};

    *ret = SL_INCLUDE_METADATA;
    if (*word == '\0')
        return true;
    for (uint32_t i = 0; i < SL_LEN(words); i++) {
        if (strcmp(word, words[i]) == 0) {
            *ret = (enum api_include)i;
            return true;
        }
    }
    return false;
}

void api_table_columns(struct api_columns columns, struct sl_buf *out) {
    struct sl_jw *w = &SL_JW(out);

    sl_jw_array(w, NULL);
    for (uint32_t i = 0; i < columns.n; i++) {
        const struct api_column *c = &columns.v[i];
        sl_jw_object(w, NULL);
        sl_jw_str(w, "name", c->name);
        sl_jw_str(w, "type", c->type);
        sl_jw_str(w, "format", c->format);
        sl_jw_str(w, "description", c->doc);
        sl_jw_int(w, "priority", c->priority);
        sl_jw_end(w);
    }
    sl_jw_end(w);
}

void api_table_partial(yyjson_val *object, struct sl_buf *out) {
    yyjson_val *meta = yyjson_obj_get(object, "metadata");
    struct sl_jw *w = &SL_JW(out);

    sl_jw_object(w, NULL);
    sl_jw_str(w, "kind", "PartialObjectMetadata");
    sl_jw_str(w, "apiVersion", "meta.k8s.io/v1");
    if (meta)
        sl_jw_val(w, "metadata", meta);
    else
        sl_jw_raw(w, "metadata", "{}");
    sl_jw_end(w);
}

void api_table_row(const struct api_kind *k, struct api_columns columns, yyjson_val *object,
                   enum api_include include, sl_time now, struct sl_buf *out) {
    _cleanup_(sl_json_docp) yyjson_doc *copy = NULL;
    yyjson_val *shown = object;
    struct sl_jw *w = &SL_JW(out);
    uint64_t steps = API_ROW_STEPS + sl_json_count(object);

    if (k->shares || k->convert) { /* cells are made of the form that is stored */
        const struct api_kind *of = k->shares ? k->shares : k;
        char form[API_VERSION_TEXT];
        sl_fmt(form, sizeof form, "%s%s%s", of->group, *of->group ? "/" : "",
               of->versions[of->storage].name);
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *made;
        if (api_kind_convert(k, object, form, doc, &made, NULL) == 0)
            copy = yyjson_mut_val_imut_copy(made, NULL);
        yyjson_mut_doc_free(doc);
        shown = copy ? yyjson_doc_get_root(copy) : object;
    }
    sl_jw_object(w, NULL);
    sl_jw_array(w, "cells");
    for (uint32_t i = 0; i < columns.n; i++)
        write_cell(&columns.v[i], shown, now, &steps, w);
    sl_jw_end(w);
    if (!k->crd && strcmp(k->kind, "Pod") == 0)
        api_cells_pod_conditions(object, w);
    if (include == SL_INCLUDE_METADATA)
        api_table_partial(object, sl_jw_value(w, "object"));
    else
        sl_jw_val(w, "object", include == SL_INCLUDE_OBJECT ? object : NULL);
    sl_jw_end(w);
}
