/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/tables.h"

#include <stdlib.h>
#include <string.h>

#include "apiserver/ceilings.h"
#include "apiserver/cells.h"
#include "apiserver/crd.h"
#include "apiserver/jsonpath.h"
#include "json/json.h"

/* ---- time ---- */

void sl_age_print(sl_span age, struct sl_buf *out) {
    long long sec = age / SL_SEC, min = age / SL_MINUTE, hour = age / SL_HOUR, day = hour / 24;

    if (sec < -1)
        sl_buf_puts(out, "<invalid>");
    else if (sec < 0)
        sl_buf_puts(out, "0s");
    else if (sec < 120)
        sl_buf_printf(out, "%llds", sec);
    else if (min < 10 && sec % 60 != 0)
        sl_buf_printf(out, "%lldm%llds", min, sec % 60);
    else if (min < 180)
        sl_buf_printf(out, "%lldm", min);
    else if (hour < 8 && min % 60 != 0)
        sl_buf_printf(out, "%lldh%lldm", hour, min % 60);
    else if (hour < 48)
        sl_buf_printf(out, "%lldh", hour);
    else if (hour < 192 && hour % 24 != 0)
        sl_buf_printf(out, "%lldd%lldh", day, hour % 24);
    else if (day < 730)
        sl_buf_printf(out, "%lldd", day);
    else if (day < 365LL * 8 && day % 365 != 0)
        sl_buf_printf(out, "%lldy%lldd", day / 365, day % 365);
    else
        sl_buf_printf(out, "%lldy", day / 365);
}

void sl_cell_age(yyjson_val *stamp, sl_time now, struct sl_buf *out) {
    sl_time at;

    sl_buf_putc(out, '"');
    if (sl_json_view(stamp).n == 0)
        sl_buf_puts(out, "<unknown>");
    else if (!sl_stamp_parse(sl_json_text(stamp), &at))
        sl_buf_puts(out, "<invalid>");
    else
        sl_age_print(now - at, out);
    sl_buf_putc(out, '"');
}

/* ---- columns without functions of their own ---- */

static void cell_created(yyjson_val *object, sl_time now, struct sl_buf *out) {
    (void)now;
    sl_buf_json(out, sl_json_str(object, "metadata.creationTimestamp"));
}

const struct sl_column sl_columns_plain[2] = {
    SL_COLUMN_NAME,
    {"Created At", "date", "", "When it was created.", 0, NULL, cell_created},
};
const struct sl_column sl_columns_crd[2] = {
    SL_COLUMN_NAME,
    {"Age", "date", "", "How long ago it was created.", 0, ".metadata.creationTimestamp", NULL},
};

static void write_json(yyjson_val *v, struct sl_buf *out) {
    size_t len = 0;
    char *s = yyjson_val_write(v, 0, &len);

    if (s)
        sl_buf_add(out, s, len);
    else
        sl_buf_puts(out, "null");
    free(s);
}

/* Numbers that no int64 is near have no meaning as one. */
static int64_t whole(double d) {
    return d >= -0x1p63 && d < 0x1p63 ? (int64_t)d : d < 0 ? INT64_MIN : INT64_MAX;
}

/* A value under the path as the type of the column wants it; null where it is something else. */
static void write_value(const struct sl_column *c, yyjson_val *v, sl_time now, struct sl_buf *out) {
    if (strcmp(c->type, "string") == 0) {
        if (yyjson_is_str(v)) {
            sl_buf_json_n(out, sl_json_view(v).s, sl_json_view(v).n);
        } else {
            char *s = yyjson_val_write(v, 0, NULL);
            sl_buf_json(out, s ? s : "");
            free(s);
        }
    } else if (strcmp(c->type, "date") == 0 && yyjson_is_str(v)) {
        sl_cell_age(v, now, out);
    } else if (strcmp(c->type, "integer") == 0 && yyjson_is_num(v)) {
        sl_buf_printf(
            out, "%lld",
            (long long)(yyjson_is_int(v) ? yyjson_get_sint(v) : whole(yyjson_get_real(v))));
    } else if ((strcmp(c->type, "number") == 0 && yyjson_is_num(v)) ||
               (strcmp(c->type, "boolean") == 0 && yyjson_is_bool(v))) {
        write_json(v, out);
    } else {
        sl_buf_puts(out, "null");
    }
}

static void write_cell(const struct sl_column *c, yyjson_val *object, sl_time now, uint64_t *steps,
                       struct sl_buf *out) {
    yyjson_val *v;

    if (c->cell) {
        c->cell(object, now, out);
        return;
    }
    v = sl_jsonpath_within(object, c->path, steps);
    size_t before = out->len;
    if (v && *steps)
        write_value(c, v, now, out);
    else if (!*steps && strcmp(c->type, "string") == 0)
        sl_buf_puts(out, "\"<too costly>\"");
    else
        sl_buf_puts(out, "null");
    /* Every column may show all of the object. */
    uint64_t shown = (out->len - before) / API_ROW_BYTES_PER_STEP;
    *steps = *steps > shown ? *steps - shown : 0;
}

/* ---- tables ---- */

bool sl_include_parse(const char *word, enum sl_include *ret) {
    static const char *const words[] = {"Metadata", "None", "Object"};

    *ret = SL_INCLUDE_METADATA;
    if (*word == '\0')
        return true;
    for (uint32_t i = 0; i < SL_LEN(words); i++) {
        if (strcmp(word, words[i]) == 0) {
            *ret = (enum sl_include)i;
            return true;
        }
    }
    return false;
}

void sl_table_columns(const struct sl_kind *k, const struct sl_kind_version *v,
                      struct sl_buf *out) {
    (void)k;
    sl_buf_putc(out, '[');
    for (uint32_t i = 0; i < v->n_columns; i++) {
        const struct sl_column *c = &v->columns[i];
        sl_buf_puts(out, i ? ",{\"name\":" : "{\"name\":");
        sl_buf_json(out, c->name);
        sl_buf_puts(out, ",\"type\":");
        sl_buf_json(out, c->type);
        sl_buf_puts(out, ",\"format\":");
        sl_buf_json(out, c->format);
        sl_buf_puts(out, ",\"description\":");
        sl_buf_json(out, c->doc);
        sl_buf_printf(out, ",\"priority\":%d}", c->priority);
    }
    sl_buf_putc(out, ']');
}

void sl_table_partial(yyjson_val *object, struct sl_buf *out) {
    yyjson_val *meta = yyjson_obj_get(object, "metadata");

    sl_buf_puts(
        out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
    if (meta)
        write_json(meta, out);
    else
        sl_buf_puts(out, "{}");
    sl_buf_putc(out, '}');
}

void sl_table_row(const struct sl_kind *k, const struct sl_kind_version *v, yyjson_val *object,
                  enum sl_include include, sl_time now, struct sl_buf *out) {
    _cleanup_(sl_json_docp) yyjson_doc *home = NULL;
    yyjson_val *shown = object;
    uint64_t steps = API_ROW_STEPS + sl_json_count(object);

    if (k->shares) { /* cells are made of the form that is stored */
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *made;
        if (sl_kind_convert(k, object, k->shares->versions[k->shares->storage].name, doc, &made,
                            NULL) == 0)
            home = yyjson_mut_val_imut_copy(made, NULL);
        yyjson_mut_doc_free(doc);
        shown = home ? yyjson_doc_get_root(home) : object;
    }
    sl_buf_puts(out, "{\"cells\":[");
    for (uint32_t i = 0; i < v->n_columns; i++) {
        if (i)
            sl_buf_putc(out, ',');
        write_cell(&v->columns[i], shown, now, &steps, out);
    }
    sl_buf_putc(out, ']');
    if (!k->crd && strcmp(k->kind, "Pod") == 0)
        sl_cells_pod_conditions(object, out);
    if (include != SL_INCLUDE_NONE)
        sl_buf_puts(out, ",\"object\":");
    if (include == SL_INCLUDE_METADATA)
        sl_table_partial(object, out);
    else if (include == SL_INCLUDE_OBJECT)
        write_json(object, out);
    else
        sl_buf_puts(out, ",\"object\":null");
    sl_buf_putc(out, '}');
}
