/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/admission/patch.h"

#include "lib/json/json.h"
#include "lib/json/seek.h"
#include "lib/json/writer.h"

struct diff {
    struct sl_jw out;
    struct sl_buf path; /* JSON Pointer to where we are */
};

/* Goes down one step; the way back is to set the length to what this returns. */
static size_t down_key(struct diff *d, yyjson_val *key) {
    struct sl_text t = sl_json_view(key);
    size_t before = d->path.len;

    sl_buf_putc(&d->path, '/');
    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] == '~' || t.s[i] == '/')
            sl_buf_puts(&d->path, t.s[i] == '~' ? "~0" : "~1");
        else
            sl_buf_putc(&d->path, t.s[i]);
    }
    return before;
}

static size_t down_item(struct diff *d, size_t i) {
    size_t before = d->path.len;

    sl_buf_printf(&d->path, "/%zu", i);
    return before;
}

static void up(struct diff *d, size_t before) {
    d->path.len = before;
    d->path.s[before] = '\0';
}

static void emit(struct diff *d, const char *op, yyjson_val *value) {
    sl_jw_object(&d->out, NULL);
    sl_jw_str(&d->out, "op", op);
    sl_jw_text(&d->out, "path", (struct sl_text){sl_buf_str(&d->path), d->path.len});
    if (value)
        sl_jw_val(&d->out, "value", value);
    sl_jw_end(&d->out);
}

static void walk(struct diff *d, yyjson_val *from, yyjson_val *to);

static void walk_fields(struct diff *d, yyjson_val *from, yyjson_val *to) {
    _cleanup_(sl_json_fields_done) struct sl_json_fields in_to = sl_json_fields_of(to);
    _cleanup_(sl_json_fields_done) struct sl_json_fields in_from = sl_json_fields_of(from);
    size_t i, n;
    yyjson_val *key, *val;

    sl_obj_foreach (from, i, n, key, val) {
        yyjson_val *now = sl_json_field(&in_to, sl_json_view(key));
        size_t before = down_key(d, key);
        if (now)
            walk(d, val, now);
        else
            emit(d, "remove", NULL);
        up(d, before);
    }
    sl_obj_foreach (to, i, n, key, val) {
        if (sl_json_field(&in_from, sl_json_view(key)))
            continue;
        size_t before = down_key(d, key);
        emit(d, "add", val);
        up(d, before);
    }
}

static void walk_items(struct diff *d, yyjson_val *from, yyjson_val *to) {
    size_t n_from = yyjson_arr_size(from), n_to = yyjson_arr_size(to);
    yyjson_arr_iter in_from = yyjson_arr_iter_with(from), in_to = yyjson_arr_iter_with(to);

    for (size_t i = 0; i < n_to; i++) {
        yyjson_val *now = yyjson_arr_iter_next(&in_to);
        size_t before = down_item(d, i);
        if (i < n_from)
            walk(d, yyjson_arr_iter_next(&in_from), now);
        else
            emit(d, "add", now);
        up(d, before);
    }
    /* From the end, so that the places before stay what they are. */
    for (size_t i = n_from; i > n_to; i--) {
        size_t before = down_item(d, i - 1);
        emit(d, "remove", NULL);
        up(d, before);
    }
}

static void walk(struct diff *d, yyjson_val *from, yyjson_val *to) {
    if (yyjson_is_obj(from) && yyjson_is_obj(to))
        walk_fields(d, from, to);
    else if (yyjson_is_arr(from) && yyjson_is_arr(to))
        walk_items(d, from, to);
    else if (!sl_json_equal(from, to, NULL))
        emit(d, "replace", to);
}

void adm_patch_diff(yyjson_val *from, yyjson_val *to, struct sl_buf *out) {
    struct diff d = {.out = SL_JW(out)};

    sl_buf_init(&d.path, out->ceiling);
    sl_buf_puts(&d.path, "");
    sl_jw_array(&d.out, NULL);
    walk(&d, from, to);
    sl_jw_end(&d.out);
    /* A path that was cut would change something else. */
    if (sl_buf_full(&d.path))
        sl_buf_fail(out);
    sl_buf_done(&d.path);
}
