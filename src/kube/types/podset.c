/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/types/podset.h"

#include "lib/json/json.h"
#include "lib/json/writer.h"

static const char *const lists[] = {"initContainers", "containers"};

static void put_present(struct sl_jw *w, const char *key, yyjson_val *v) {
    if (v && !yyjson_is_null(v))
        sl_jw_val(w, key, v);
}

/* Nothing of a resource is requested: it takes no room among those that are. Where it has a limit,
 * that would count without it. */
static bool is_nothing(yyjson_val *limits, yyjson_val *key, yyjson_val *val) {
    sl_quantity amount = 0;
    return sl_json_quantity(val, &amount) && amount == 0 && !sl_json_same_key(limits, key);
}

static void put_requests(struct sl_jw *w, yyjson_val *requests, yyjson_val *limits) {
    size_t i, n;
    yyjson_val *key, *val;
    if (!yyjson_is_obj(requests)) {
        put_present(w, "requests", requests);
        return;
    }
    sl_jw_object(w, "requests");
    sl_obj_foreach (requests, i, n, key, val)
        if (!is_nothing(limits, key, val))
            sl_jw_val(w, sl_json_text(key), val);
    sl_jw_end(w);
}

static void put_resources(struct sl_jw *w, yyjson_val *of) {
    yyjson_val *r = yyjson_obj_get(of, "resources");
    if (!yyjson_is_obj(r))
        return;
    sl_jw_object(w, "resources");
    put_requests(w, yyjson_obj_get(r, "requests"), yyjson_obj_get(r, "limits"));
    put_present(w, "limits", yyjson_obj_get(r, "limits"));
    sl_jw_end(w);
}

static void put_where(struct sl_jw *w, yyjson_val *spec) {
    static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
    yyjson_val *affinity = yyjson_obj_get(sl_json_at(spec, "affinity.nodeAffinity"), required);
    put_present(w, "nodeSelector", yyjson_obj_get(spec, "nodeSelector"));
    put_present(w, "tolerations", yyjson_obj_get(spec, "tolerations"));
    if (!yyjson_is_obj(affinity))
        return;
    sl_jw_object(w, "affinity");
    sl_jw_object(w, "nodeAffinity");
    put_present(w, required, affinity);
    sl_jw_end(w);
    sl_jw_end(w);
}

void sl_podspec_put(struct sl_buf *b, yyjson_val *spec, bool where) {
    struct sl_jw *w = &SL_JW(b);
    size_t i, n;
    yyjson_val *c;

    sl_jw_object(w, NULL);
    sl_jw_object(w, "template");
    sl_jw_object(w, "spec");
    for (size_t k = 0; k < SL_LEN(lists); k++) {
        sl_jw_array(w, lists[k]);
        yyjson_arr_foreach (yyjson_obj_get(spec, lists[k]), i, n, c) {
            sl_jw_object(w, NULL);
            put_present(w, "restartPolicy", yyjson_obj_get(c, "restartPolicy"));
            put_resources(w, c);
            sl_jw_end(w);
        }
        sl_jw_end(w);
    }
    put_resources(w, spec);
    put_present(w, "overhead", yyjson_obj_get(spec, "overhead"));
    if (where)
        put_where(w, spec);
    sl_jw_end_to(w, 0);
}

uint32_t sl_podspec_host_ports(yyjson_val *spec, uint32_t *ret, uint32_t max) {
    size_t i, n, j, k;
    yyjson_val *c, *p;
    uint32_t found = 0;
    for (size_t l = 0; l < SL_LEN(lists); l++)
        yyjson_arr_foreach (yyjson_obj_get(spec, lists[l]), i, n, c)
            yyjson_arr_foreach (yyjson_obj_get(c, "ports"), j, k, p)
                if (sl_json_int(p, "hostPort", 0) > 0) {
                    if (found < max)
                        ret[found] = sl_podspec_host_port(sl_json_str(p, "protocol"),
                                                          sl_json_int(p, "hostPort", 0));
                    found++;
                }
    return found;
}
