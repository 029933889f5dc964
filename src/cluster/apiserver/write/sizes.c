/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits on the length of lists of Kubernetes' own kinds. Many of their rules compare each item
 * with each other (unique names, mounts that need a volume), so the time of a validation grows with
 * the square of its lists; no other request is served meanwhile. Lists of strings (arguments, names
 * of nodes) have no such rules and may be as long as the request.
 */
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/kinds/words.h"
#include "lib/json/json.h"

/* Maps of amounts, which are filled from each other and compared. */
static bool has_amounts(const char *field) {
    static const char *const fields[] = {"limits",   "requests",    "hard",   "used",
                                         "capacity", "allocatable", "default"};

    for (size_t i = 0; i < SL_LEN(fields); i++)
        if (strcmp(field, fields[i]) == 0)
            return true;
    return false;
}

/* Depth is bounded by what a body may have. */
static bool fits(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    size_t i, n, size = sl_json_size(v);
    yyjson_val *key, *in;

    if (yyjson_is_arr(v)) {
        if (size > API_LIST_ITEMS && yyjson_is_obj(yyjson_arr_get_first(v))) {
            sl_field_too_many(e, at, size, API_LIST_ITEMS);
            return false;
        }
        yyjson_arr_foreach (v, i, n, in) {
            if (yyjson_is_ctn(in) && !fits(e, SL_PATH_AT(at, i), in))
                return false;
        }
    } else if (yyjson_is_obj(v)) {
        sl_obj_foreach (v, i, n, key, in) {
            const char *name = sl_json_text(key);
            if (yyjson_is_obj(in) && sl_json_size(in) > API_AMOUNTS && has_amounts(name)) {
                sl_field_too_many(e, SL_PATH(at, name), sl_json_size(in), API_AMOUNTS);
                return false;
            }
            if (yyjson_is_ctn(in) && !fits(e, SL_PATH(at, name), in))
                return false;
        }
    }
    return true;
}

bool api_sizes_check(struct sl_field_errs *e, yyjson_val *object) {
    return fits(e, NULL, object);
}
