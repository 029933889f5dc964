/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of kinds that are stored and not acted on. */
#include <string.h>

#include "cluster/apiserver/table/cells.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

#define SHOWN 3u /* of a list; then the number of further ones */

struct list {
    struct sl_buf text;
    size_t n;
};

static void list_init(struct list *l) {
    sl_buf_init(&l->text, SL_CELL_TEXT_MAX);
    sl_buf_short(&l->text);
    l->n = 0;
}

static void list_add(struct list *l, const char *word, int64_t port) {
    bool six = port >= 0 && strchr(word, ':');

    if (l->n++ >= SHOWN)
        return;
    sl_buf_printf(&l->text, "%s%s%s%s", l->n > 1 ? "," : "", six ? "[" : "", word, six ? "]" : "");
    if (port >= 0)
        sl_buf_printf(&l->text, ":%lld", (long long)port);
}

static void list_end(struct list *l, const char *empty, struct sl_jw *out) {
    if (l->n > SHOWN)
        sl_buf_printf(&l->text, " + %zu more...", l->n - SHOWN);
    sl_jw_str(out, NULL, l->n ? sl_buf_str(&l->text) : empty);
    sl_buf_done(&l->text);
}

/* ---- budgets ---- */

/* A count or a percentage. */
static void count_or_percent(yyjson_val *v, struct sl_jw *out) {
    if (yyjson_is_int(v))
        sl_jw_strf(out, NULL, "%lld", (long long)yyjson_get_sint(v));
    else
        sl_jw_str(out, NULL, v ? sl_json_text(v) : "N/A");
}
static void budget_min(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    count_or_percent(sl_json_at(o, "spec.minAvailable"), out);
}
static void budget_max(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    count_or_percent(sl_json_at(o, "spec.maxUnavailable"), out);
}
SL_INT_CELL(budget_allowed, "status.disruptionsAllowed")
static const struct api_column budgets[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Min Available", "string", "Minimum number of available pods.", budget_min),
    SL_COLUMN("Max Unavailable", "string", "Maximum number of unavailable pods.", budget_max),
    SL_COLUMN("Allowed Disruptions", "integer", "Number of evictions allowed now.", budget_allowed),
    SL_COLUMN_AGE,
};

/* ---- endpoints ---- */

static void endpoints(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *subsets = sl_json_get(o, "subsets"), *s, *p, *a;
    size_t i, n, j, m, k, l;
    struct list list;

    (void)now;
    list_init(&list);
    yyjson_arr_foreach (subsets, i, n, s) {
        yyjson_val *ports = sl_json_get(s, "ports"), *addresses = sl_json_get(s, "addresses");
        if (sl_json_size(ports) == 0) {
            yyjson_arr_foreach (addresses, k, l, a) {
                list_add(&list, sl_json_str(a, "ip"), -1);
            }
        }
        yyjson_arr_foreach (ports, j, m, p) {
            yyjson_arr_foreach (addresses, k, l, a) {
                list_add(&list, sl_json_str(a, "ip"), sl_json_int(p, "port", 0));
            }
        }
    }
    list_end(&list, sl_json_size(subsets) ? "" : "<none>", out);
}
static const struct api_column endpoint_lists[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Endpoints", "string", "Addresses and ports.", endpoints),
    SL_COLUMN_AGE,
};

static void slice_ports(yyjson_val *o, sl_time now, struct sl_jw *out) {
    size_t i, n;
    yyjson_val *p;
    struct list list;

    (void)now;
    list_init(&list);
    yyjson_arr_foreach (sl_json_get(o, "ports"), i, n, p) {
        char number[24] = "*";
        yyjson_val *name = sl_json_get(p, "name");
        if (sl_json_get(p, "port"))
            sl_fmt_short(number, sizeof number, "%lld", (long long)sl_json_int(p, "port", 0));
        list_add(&list, sl_json_get(p, "port") || !name ? number : sl_json_text(name), -1);
    }
    list_end(&list, "<unset>", out);
}
static void slice_endpoints(yyjson_val *o, sl_time now, struct sl_jw *out) {
    size_t i, n, j, m;
    yyjson_val *e, *a;
    struct list list;

    (void)now;
    list_init(&list);
    yyjson_arr_foreach (sl_json_get(o, "endpoints"), i, n, e) {
        yyjson_arr_foreach (sl_json_get(e, "addresses"), j, m, a) {
            list_add(&list, sl_json_text(a), -1);
        }
    }
    list_end(&list, "<unset>", out);
}
SL_STR_CELL(slice_type, "addressType", "")
static const struct api_column slices[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("AddressType", "string", "IPv4, IPv6 or FQDN.", slice_type),
    SL_COLUMN("Ports", "string", "Ports of the endpoints.", slice_ports),
    SL_COLUMN("Endpoints", "string", "Addresses of the endpoints.", slice_endpoints),
    SL_COLUMN_AGE,
};

/* ---- storage ---- */

static void class_name(yyjson_val *o, sl_time now, struct sl_jw *out) {
    static const char *const marks[] = {"storageclass.kubernetes.io/is-default-class",
                                        "storageclass.beta.kubernetes.io/is-default-class"};
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    bool first = false;

    (void)now;
    for (size_t i = 0; i < SL_LEN(marks); i++) {
        const char *mark = sl_json_annotation_opt(o, marks[i]);
        first = first || (mark && strcmp(mark, "true") == 0);
    }
    sl_buf_printf(&text, "%s%s", sl_json_str(o, "metadata.name"), first ? " (default)" : "");
    sl_jw_str(out, NULL, sl_buf_str(&text));
}
SL_STR_CELL(class_provisioner, "provisioner", "")
SL_STR_CELL(class_reclaim, "reclaimPolicy", "Delete")
SL_STR_CELL(class_binding, "volumeBindingMode", "Immediate")
static void class_expansion(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    sl_jw_bool(out, NULL, sl_json_bool(o, "allowVolumeExpansion", false));
}
static const struct api_column classes[] = {
    {"Name", "string", "name", "The name.", 0, NULL, class_name},
    SL_COLUMN("Provisioner", "string", "Provisioner of the volumes.", class_provisioner),
    SL_COLUMN("ReclaimPolicy", "string", "Reclaim policy of the volumes.", class_reclaim),
    SL_COLUMN("VolumeBindingMode", "string", "When volumes are provisioned and bound.",
              class_binding),
    SL_COLUMN("AllowVolumeExpansion", "string", "Whether volumes can be expanded.",
              class_expansion),
    SL_COLUMN_AGE,
};

SL_STR_CELL(volume_capacity, "spec.capacity.storage", "0")
SL_STR_CELL(volume_reclaim, "spec.persistentVolumeReclaimPolicy", "")
static void volume_modes(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    api_cell_access_modes(sl_json_at(o, "spec.accessModes"), out);
}
static void volume_status(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    if (sl_json_at(o, "metadata.deletionTimestamp"))
        sl_jw_str(out, NULL, "Terminating");
    else
        api_cell_str(o, "status.phase", "", out);
}
static void volume_claim(yyjson_val *o, sl_time now, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);

    (void)now;
    if (sl_json_at(o, "spec.claimRef"))
        sl_buf_printf(&text, "%s/%s", sl_json_str(o, "spec.claimRef.namespace"),
                      sl_json_str(o, "spec.claimRef.name"));
    sl_jw_str(out, NULL, sl_buf_str(&text));
}
SL_STR_CELL(volume_class, "spec.storageClassName", "")
SL_TEXT_CELL(volume_attributes, "spec.volumeAttributesClassName", "<unset>")
SL_STR_CELL(volume_reason, "status.reason", "")
SL_STR_CELL(volume_mode, "spec.volumeMode", "<unset>")
static const struct api_column volumes[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Capacity", "string", "Size of the volume.", volume_capacity),
    SL_COLUMN("Access Modes", "string", "Access modes of the volume.", volume_modes),
    SL_COLUMN("Reclaim Policy", "string", "What happens when the claim is deleted.",
              volume_reclaim),
    SL_COLUMN("Status", "string", "Available, Bound, Released or Failed.", volume_status),
    SL_COLUMN("Claim", "string", "The bound claim.", volume_claim),
    SL_COLUMN("StorageClass", "string", "StorageClass of the volume.", volume_class),
    SL_COLUMN("VolumeAttributesClass", "string", "VolumeAttributesClass.", volume_attributes),
    SL_COLUMN("Reason", "string", "Reason of the status.", volume_reason),
    SL_COLUMN_AGE,
    SL_COLUMN_WIDE("VolumeMode", "string", "Filesystem, or Block.", volume_mode),
};

const struct api_kind_columns api_columns_misc[] = {
    SL_COLUMNS("PodDisruptionBudget", budgets), SL_COLUMNS("Endpoints", endpoint_lists),
    SL_COLUMNS("EndpointSlice", slices),        SL_COLUMNS("StorageClass", classes),
    SL_COLUMNS("PersistentVolume", volumes),    {NULL, {NULL, 0}},
};
