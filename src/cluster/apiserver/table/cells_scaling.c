/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of HorizontalPodAutoscalers. */
#include <string.h>

#include "cluster/apiserver/table/cells.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

#define SHOWN 2u /* metrics; then the number of further ones */
#define UNKNOWN "<unknown>"

static void reference(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *to = sl_json_at(o, "spec.scaleTargetRef");

    (void)now;
    sl_jw_strf(out, NULL, "%s/%s", sl_json_str(to, "kind"), sl_json_str(to, "name"));
}

/* By type: the field of the source, and the value that is compared if there is no average. */
static const struct {
    const char *type, *field, *value;
    bool named; /* by the resource */
} metrics[] = {
    {"External", "external", "value", false},
    {"Object", "object", "value", false},
    {"Pods", "pods", NULL, false},
    {"Resource", "resource", "averageUtilization", true},
    {"ContainerResource", "containerResource", "averageUtilization", true},
};

static const char *amount(yyjson_val *of, const char *field, char number[24]) {
    yyjson_val *v = sl_json_get(of, field);

    if (yyjson_is_int(v)) {
        sl_fmt(number, 24, "%lld%%", (long long)yyjson_get_sint(v));
        return number;
    }
    return *sl_json_text(v) ? sl_json_text(v) : NULL;
}

static void put_metric(yyjson_val *spec, yyjson_val *status, size_t type, struct sl_buf *out) {
    yyjson_val *source = sl_json_get(spec, metrics[type].field),
               *target = sl_json_get(source, "target"),
               *is = sl_json_get(sl_json_get(status, metrics[type].field), "current");
    char want_number[24], is_number[24];
    bool average = sl_json_get(target, "averageValue") || !metrics[type].value;
    const char *field = average ? "averageValue" : metrics[type].value;
    const char *want = amount(target, field, want_number), *now = amount(is, field, is_number);

    if (metrics[type].named)
        sl_buf_printf(out, "%s: ", sl_json_str(source, "name"));
    sl_buf_printf(out, "%s/%s%s", now ? now : UNKNOWN, want ? want : "<auto>",
                  average && metrics[type].value && !metrics[type].named ? " (avg)" : "");
}

static void targets(yyjson_val *o, sl_time now, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    yyjson_val *list = sl_json_at(o, "spec.metrics"),
               *current = sl_json_at(o, "status.currentMetrics"), *m;
    size_t i, n;

    (void)now;
    yyjson_arr_foreach (list, i, n, m) {
        size_t type = 0;
        while (type < SL_LEN(metrics) && strcmp(sl_json_str(m, "type"), metrics[type].type) != 0)
            type++;
        if (i >= SHOWN)
            break;
        sl_buf_puts(&text, i ? ", " : "");
        if (type == SL_LEN(metrics))
            sl_buf_puts(&text, "<unknown type>");
        else
            put_metric(m, yyjson_arr_get(current, i), type, &text);
    }
    if (sl_json_size(list) > SHOWN)
        sl_buf_printf(&text, " + %zu more...", sl_json_size(list) - SHOWN);
    sl_jw_str(out, NULL, text.len ? sl_buf_str(&text) : "<none>");
}

static void least(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    if (sl_json_at(o, "spec.minReplicas"))
        sl_jw_strf(out, NULL, "%lld", (long long)sl_json_int(o, "spec.minReplicas", 0));
    else
        sl_jw_str(out, NULL, "<unset>");
}
SL_INT_CELL(most, "spec.maxReplicas")
SL_INT_CELL(replicas, "status.currentReplicas")

static const struct api_column scalers[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Reference", "string", "The scaled object.", reference),
    SL_COLUMN("Targets", "string", "Current and desired values of the metrics.", targets),
    SL_COLUMN("MinPods", "string", "Smallest number of replicas.", least),
    SL_COLUMN("MaxPods", "string", "Largest number of replicas.", most),
    SL_COLUMN("Replicas", "string", "Observed number of replicas.", replicas),
    SL_COLUMN_AGE,
};

const struct api_kind_columns api_columns_scaling[] = {
    SL_COLUMNS("HorizontalPodAutoscaler", scalers),
    {NULL, {NULL, 0}},
};
