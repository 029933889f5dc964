/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of what a value means. What is deeper than SL_JSON_MAX_DEPTH counts as a constant.
 */
#include "core/base/collection/hash.h"

#include <string.h>

#include "lib/json/json.h"

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
    if (empty(v) || depth > SL_JSON_MAX_DEPTH)
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

uint64_t sl_json_hash(uint64_t seed, yyjson_val *v) {
    return hash_at(true, seed, v, 0);
}

uint64_t sl_json_digest(uint64_t seed, yyjson_val *v) {
    return hash_at(false, seed, v, 0);
}
