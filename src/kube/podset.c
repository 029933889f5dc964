/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/podset.h"

#include "kube/json.h"

static const char *const lists[] = {"initContainers", "containers"};

static void put(struct sl_buf *b, const char *key, yyjson_val *v) {
    if (!v || yyjson_is_null(v))
        return;
    sl_buf_printf(b, "%s\"%s\":", b->s[b->len - 1] == '{' ? "" : ",", key);
    jput(b, v);
}

static void put_resources(struct sl_buf *b, yyjson_val *of) {
    yyjson_val *r = yyjson_obj_get(of, "resources");
    if (!yyjson_is_obj(r))
        return;
    sl_buf_printf(b, "%s\"resources\":{", b->s[b->len - 1] == '{' ? "" : ",");
    put(b, "requests", yyjson_obj_get(r, "requests"));
    put(b, "limits", yyjson_obj_get(r, "limits"));
    sl_buf_putc(b, '}');
}

static void put_where(struct sl_buf *b, yyjson_val *spec) {
    static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
    yyjson_val *affinity = yyjson_obj_get(jat(spec, "affinity.nodeAffinity"), required);
    put(b, "nodeSelector", yyjson_obj_get(spec, "nodeSelector"));
    put(b, "tolerations", yyjson_obj_get(spec, "tolerations"));
    if (!yyjson_is_obj(affinity))
        return;
    sl_buf_puts(b, ",\"affinity\":{\"nodeAffinity\":{");
    put(b, required, affinity);
    sl_buf_puts(b, "}}");
}

void sl_podset_put(struct sl_buf *b, yyjson_val *spec, bool where) {
    size_t i, n;
    yyjson_val *c;
    sl_buf_puts(b, "{\"template\":{\"spec\":{");
    for (size_t k = 0; k < SL_LEN(lists); k++) {
        sl_buf_printf(b, "%s\"%s\":[", k ? "," : "", lists[k]);
        yyjson_arr_foreach (yyjson_obj_get(spec, lists[k]), i, n, c) {
            sl_buf_puts(b, i ? ",{" : "{");
            put(b, "restartPolicy", yyjson_obj_get(c, "restartPolicy"));
            put_resources(b, c);
            sl_buf_putc(b, '}');
        }
        sl_buf_putc(b, ']');
    }
    put_resources(b, spec);
    put(b, "overhead", yyjson_obj_get(spec, "overhead"));
    if (where)
        put_where(b, spec);
    sl_buf_puts(b, "}}}");
}

uint32_t sl_host_ports(yyjson_val *spec, uint32_t *ret, uint32_t max) {
    size_t i, n, j, k;
    yyjson_val *c, *p;
    uint32_t found = 0;
    for (size_t l = 0; l < SL_LEN(lists); l++)
        yyjson_arr_foreach (yyjson_obj_get(spec, lists[l]), i, n, c)
            yyjson_arr_foreach (yyjson_obj_get(c, "ports"), j, k, p)
                if (jint(p, "hostPort", 0) > 0) {
                    if (found < max)
                        ret[found] = sl_host_port(jstr(p, "protocol"), jint(p, "hostPort", 0));
                    found++;
                }
    return found;
}
