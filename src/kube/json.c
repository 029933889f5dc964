/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/json.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/stamp.h"
#include "json/json.h"

/* Depth is bounded by what the parser let through: objects of the API server are at most a few
 * dozen levels deep, and anything deeper than this counts as a constant. */
#define MAX_DEPTH 128u

yyjson_val *jat(yyjson_val *o, const char *path) {
    while (o && *path) {
        const char *dot = strchr(path, '.');
        size_t n = dot ? (size_t)(dot - path) : strlen(path);
        o = yyjson_obj_getn(o, path, n);
        path += n + (dot != NULL);
    }
    return yyjson_is_null(o) ? NULL : o;
}

const char *jstr(yyjson_val *o, const char *path) {
    return sl_json_text(jat(o, path));
}

int64_t jint(yyjson_val *o, const char *path, int64_t otherwise) {
    yyjson_val *v = jat(o, path);
    return yyjson_is_int(v) ? yyjson_get_sint(v) : otherwise;
}

bool jbool(yyjson_val *o, const char *path, bool otherwise) {
    yyjson_val *v = jat(o, path);
    return yyjson_is_bool(v) ? yyjson_get_bool(v) : otherwise;
}

static const char *in_metadata(yyjson_val *o, const char *map, const char *key) {
    return sl_json_text(yyjson_obj_get(yyjson_obj_get(yyjson_obj_get(o, "metadata"), map), key));
}

const char *jlabel(yyjson_val *o, const char *key) {
    return in_metadata(o, "labels", key);
}

const char *jannotation(yyjson_val *o, const char *key) {
    return in_metadata(o, "annotations", key);
}

/* ---- time ---- */

sl_time jtime(yyjson_val *o, const char *path) {
    sl_time t;

    return sl_stamp_parse(jstr(o, path), &t) ? t : 0;
}

void jput_text(struct sl_buf *b, const char *lead, const char *text) {
    sl_buf_puts(b, lead);
    sl_buf_json(b, text);
}

void jput_time(struct sl_buf *b, sl_time t) {
    char text[SL_STAMP_TEXT];

    sl_buf_printf(b, "\"%s\"", sl_stamp(t, text));
}

void jput_micro_time(struct sl_buf *b, sl_time t) {
    char text[SL_STAMP_TEXT];

    sl_buf_printf(b, "\"%s\"", sl_stamp_micro(t, text));
}

/* ---- meaning ---- */

static bool empty(yyjson_val *v) {
    return !v || yyjson_is_null(v) || (yyjson_is_ctn(v) && sl_json_size(v) == 0);
}

static uint64_t mix(bool keyed, uint64_t seed, uint64_t v) {
    return keyed ? sl_hash_u64(seed, v) : sl_digest_u64(seed, v);
}

static uint64_t hash_text(bool keyed, uint64_t seed, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);
    return keyed ? sl_hash_bytes(seed, t.s, t.n) : sl_digest_bytes(seed, t.s, t.n);
}

static uint64_t hash_at(bool keyed, uint64_t seed, yyjson_val *v, uint32_t depth) {
    if (empty(v) || depth > MAX_DEPTH)
        return seed;
    size_t i, n;
    yyjson_val *key, *val;
    uint64_t sum = 0;

    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_STR:
        return hash_text(keyed, mix(keyed, seed, 1), v);
    case YYJSON_TYPE_BOOL:
        return mix(keyed, mix(keyed, seed, 2), yyjson_get_bool(v));
    case YYJSON_TYPE_NUM:
        if (yyjson_is_real(v)) {
            double d = yyjson_get_real(v);
            uint64_t bits;
            memcpy(&bits, &d, sizeof bits);
            return mix(keyed, mix(keyed, seed, 3), bits);
        }
        return mix(keyed, mix(keyed, seed, 4), yyjson_get_uint(v));
    case YYJSON_TYPE_ARR:
        seed = mix(keyed, seed, 5);
        if (keyed) /* where it ends; digests stay as they are */
            seed = mix(keyed, seed, sl_json_size(v));
        yyjson_arr_foreach (v, i, n, val)
            seed = hash_at(keyed, mix(keyed, seed, i), val, depth + 1);
        return seed;
    case YYJSON_TYPE_OBJ:
        /* A sum does not depend on the order of the keys. */
        sl_obj_foreach (v, i, n, key, val) {
            if (!empty(val))
                sum += hash_at(keyed, hash_text(keyed, 7, key), val, depth + 1);
        }
        return mix(keyed, mix(keyed, seed, 6), sum);
    default:
        return seed;
    }
}

uint64_t jhash(uint64_t seed, yyjson_val *v) {
    return hash_at(true, seed, v, 0);
}

uint64_t jdigest(uint64_t seed, yyjson_val *v) {
    return hash_at(false, seed, v, 0);
}

void jput(struct sl_buf *b, yyjson_val *v) {
    size_t n;
    char *s = yyjson_val_write(v, 0, &n);
    if (s)
        sl_buf_add(b, s, n);
    else
        sl_buf_puts(b, "null");
    free(s);
}
