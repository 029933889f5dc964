/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See json_in.h. yyjson's memory is bounded by the length of the text: what is worth reading has
 * names, so that six times the text is ample; "[1,1,1..." would take more, and is refused.
 */
#include "lib/graphio/json_in.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/json/json.h"

#define MAX_NEAR 64 /* values compared for a string */

int graphio_jin_open(struct graphio_jin *j, const char *file, const char *text, size_t len,
                     struct sl_err *err) {
    struct sl_json_budget m = {.ceiling = 6 * len + 65536};
    yyjson_alc alc = sl_json_budget_alc(&m);
    yyjson_read_err problem;

    *j = (struct graphio_jin){.file = file, .err = err, .original = text, .len = len};
    j->text = sl_alloc(len + YYJSON_PADDING_SIZE);
    if (len > 0)
        memcpy(j->text, text, len);
    memset(j->text + len, 0, YYJSON_PADDING_SIZE);
    j->doc = yyjson_read_opts(j->text, len, YYJSON_READ_INSITU, &alc, &problem);
    if (!j->doc) {
        bool large = problem.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION;
        return sl_err_set(err, large ? SL_ELIMIT : SL_EINVAL, "%s:%u: %s%s", file,
                          sl_json_line(text, len, problem.pos), large ? "" : "expected JSON: ",
                          large ? "too many values for so short a text" : problem.msg);
    }
    j->root = yyjson_doc_get_root(j->doc);
    return 0;
}

void graphio_jin_done(struct graphio_jin *j) {
    yyjson_doc_free(j->doc);
    j->doc = NULL;
    sl_freep(&j->text);
}

/* A string in v or soon behind it: values stand in the order of the text. */
static const char *near_text(const struct graphio_jin *j, yyjson_val *v) {
    for (int i = 0; v && i < MAX_NEAR && (size_t)(v - j->root) < yyjson_doc_get_val_count(j->doc);
         i++, v++)
        if (yyjson_is_str(v))
            return sl_json_view(v).s;
    return NULL;
}

int graphio_jin_fail(const struct graphio_jin *j, yyjson_val *near, int code, const char *fmt,
                     ...) {
    const char *at = near_text(j, near);
    size_t pos = at && at >= j->text && at < j->text + j->len ? (size_t)(at - j->text) : 0;
    char message[200];
    va_list ap;

    va_start(ap, fmt);
    sl_vfmt_short(message, sizeof(message), fmt, ap);
    va_end(ap);
    return sl_err_set(j->err, code, "%s:%u: %s", j->file, sl_json_line(j->original, j->len, pos),
                      message);
}

static bool is_wanted(yyjson_val *v, enum graphio_jin_want want) {
    switch (want) {
    case SL_JIN_ANY:
        return true;
    case SL_JIN_MAP:
        return yyjson_is_obj(v);
    case SL_JIN_LIST:
        return yyjson_is_arr(v);
    case SL_JIN_TEXT:
        return yyjson_is_str(v);
    }
    return false;
}

static const char *const wanted[] = {"a value", "an object", "an array", "a string"};

int graphio_jin_get(const struct graphio_jin *j, yyjson_val *map, const char *key,
                    enum graphio_jin_want want, yyjson_val **ret) {
    yyjson_val *v = yyjson_obj_get(map, key);

    *ret = NULL;
    if (!v || yyjson_is_null(v))
        return 0;
    if (!is_wanted(v, want)) /* the key stands in front of its value */
        return graphio_jin_fail(j, v - 1, SL_EINVAL, "%s: expected %s", key, wanted[want]);
    *ret = v;
    return 0;
}

int graphio_jin_need(const struct graphio_jin *j, yyjson_val *map, const char *key,
                     enum graphio_jin_want want, yyjson_val **ret) {
    int r = graphio_jin_get(j, map, key, want, ret);

    if (r >= 0 && !*ret)
        return graphio_jin_fail(j, map, SL_EINVAL, "expected the key \"%s\", %s", key,
                                wanted[want]);
    return r;
}

int graphio_jin_text(const struct graphio_jin *j, yyjson_val *v, yyjson_val *near, const char *name,
                     const char **ret) {
    if (!yyjson_is_str(v))
        return graphio_jin_fail(j, near, SL_EINVAL, "%s: expected a string", name);
    *ret = sl_json_opt(v);
    if (!*ret)
        return graphio_jin_fail(j, near, SL_EINVAL, "%s: expected text without a NUL character",
                                name);
    return 0;
}

int graphio_jin_str(const struct graphio_jin *j, yyjson_val *map, const char *key,
                    const char **ret) {
    yyjson_val *v;
    int r = graphio_jin_get(j, map, key, SL_JIN_ANY, &v);

    return r < 0 || !v ? r : graphio_jin_text(j, v, v - 1, key, ret);
}

int graphio_jin_int(const struct graphio_jin *j, yyjson_val *map, const char *key, int64_t min,
                    int64_t max, int64_t *ret) {
    yyjson_val *v;
    int r = graphio_jin_get(j, map, key, SL_JIN_ANY, &v);

    if (r < 0 || !v)
        return r;
    bool fits = yyjson_is_sint(v) || (yyjson_is_uint(v) && yyjson_get_uint(v) <= INT64_MAX);
    int64_t num = fits ? yyjson_get_sint(v) : 0;
    if (!fits || num < min || num > max)
        return graphio_jin_fail(j, v - 1, SL_EINVAL,
                                "%s: expected a whole number from %" PRId64 " to %" PRId64, key,
                                min, max);
    *ret = num;
    return 0;
}

int graphio_jin_bool(const struct graphio_jin *j, yyjson_val *map, const char *key, bool *ret) {
    yyjson_val *v;
    int r = graphio_jin_get(j, map, key, SL_JIN_ANY, &v);

    if (r < 0 || !v)
        return r;
    if (yyjson_is_uint(v) && yyjson_get_uint(v) <= 1)
        *ret = yyjson_get_uint(v) == 1;
    else if (yyjson_is_bool(v))
        *ret = yyjson_get_bool(v);
    else
        return graphio_jin_fail(j, v - 1, SL_EINVAL, "%s: expected true or false", key);
    return 0;
}
