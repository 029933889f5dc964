/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/kinds/autoscaling.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "lib/json/json.h"

#define PREFIX "autoscaling.alpha.kubernetes.io/"
#define METRICS PREFIX "metrics"
#define CURRENT PREFIX "current-metrics"
#define CONDITIONS PREFIX "conditions"
#define BEHAVIOR PREFIX "behavior"

/* Fields of the sources of metrics: paths in v2 and names in v1, with what v1 calls them of targets
 * and of current values. */
static const struct {
    const char *source, *v2, *target, *current;
} names[] = {
    {"resource", "name", "name", "name"},
    {"resource", "#.averageUtilization", "targetAverageUtilization", "currentAverageUtilization"},
    {"resource", "#.averageValue", "targetAverageValue", "currentAverageValue"},
    {"containerResource", "name", "name", "name"},
    {"containerResource", "#.averageUtilization", "targetAverageUtilization",
     "currentAverageUtilization"},
    {"containerResource", "#.averageValue", "targetAverageValue", "currentAverageValue"},
    {"containerResource", "container", "container", "container"},
    {"pods", "metric.name", "metricName", "metricName"},
    {"pods", "#.averageValue", "targetAverageValue", "currentAverageValue"},
    {"pods", "metric.selector", "selector", "selector"},
    {"object", "describedObject", "target", "target"},
    {"object", "metric.name", "metricName", "metricName"},
    {"object", "#.value", "targetValue", "currentValue"},
    {"object", "metric.selector", "selector", "selector"},
    {"object", "#.averageValue", "averageValue", "averageValue"},
    {"external", "metric.name", "metricName", "metricName"},
    {"external", "metric.selector", "metricSelector", "metricSelector"},
    {"external", "#.value", "targetValue", "currentValue"},
    {"external", "#.averageValue", "targetAverageValue", "currentAverageValue"},
};
static const char *const sources[] = {"object", "pods", "resource", "containerResource",
                                      "external"};

/* The parts of a path of v2: "#" stands for the target or the current value. */
static const char *above(const char *path, bool current) {
    return *path == '#' ? current ? "current" : "target" : strchr(path, '.') ? "metric" : "";
}
static const char *last(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

void api_scaler_cpu_metric(yyjson_mut_doc *doc, yyjson_mut_val *metrics, int64_t percent) {
    yyjson_mut_val *m = yyjson_mut_arr_add_obj(doc, metrics), *source, *target;

    yyjson_mut_obj_add_str(doc, m, "type", "Resource");
    source = yyjson_mut_obj_add_obj(doc, m, "resource");
    yyjson_mut_obj_add_str(doc, source, "name", "cpu");
    target = yyjson_mut_obj_add_obj(doc, source, "target");
    yyjson_mut_obj_add_str(doc, target, "type", "Utilization");
    yyjson_mut_obj_add_int(doc, target, "averageUtilization", percent);
}

/* ---- from v2 to v1 ---- */

static yyjson_mut_val *metric_to_v1(yyjson_mut_doc *doc, yyjson_val *metric, bool current) {
    yyjson_mut_val *out = yyjson_mut_obj(doc);

    sl_json_mut_keep(doc, out, "type", metric);
    for (size_t s = 0; s < SL_LEN(sources); s++) {
        yyjson_val *from = sl_json_get(metric, sources[s]);
        yyjson_mut_val *to = from ? yyjson_mut_obj_add_obj(doc, out, sources[s]) : NULL;
        for (size_t i = 0; from && i < SL_LEN(names); i++) {
            const char *up = above(names[i].v2, current);
            yyjson_val *v = sl_json_get(*up ? sl_json_get(from, up) : from, last(names[i].v2));
            if (v && strcmp(names[i].source, sources[s]) == 0)
                yyjson_mut_obj_add_val(doc, to, current ? names[i].current : names[i].target,
                                       yyjson_val_mut_copy(doc, v));
        }
    }
    return out;
}

static bool is_cpu(yyjson_val *metric) {
    return strcmp(sl_json_str(metric, "type"), "Resource") == 0 &&
           strcmp(sl_json_str(metric, "resource.name"), "cpu") == 0;
}

static void annotate(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                     yyjson_mut_val *value) {
    char *text = yyjson_mut_val_write(value, 0, NULL);

    sl_json_mut_set_str(doc, sl_json_mut_obj(doc, object, "metadata.annotations"), key,
                        text ? text : "");
    free(text);
}

static void metrics_to_v1(yyjson_mut_doc *doc, yyjson_val *object, yyjson_mut_val *out) {
    yyjson_mut_val *others = yyjson_mut_arr(doc), *now = yyjson_mut_arr(doc);
    size_t i, n;
    yyjson_val *m, *v;

    yyjson_arr_foreach (sl_json_at(object, "spec.metrics"), i, n, m) {
        v = is_cpu(m) ? sl_json_at(m, "resource.target.averageUtilization") : NULL;
        if (v)
            sl_json_mut_set_int(doc, sl_json_mut_obj(doc, out, "spec"),
                                "targetCPUUtilizationPercentage", sl_json_int(v, "", 0));
        else
            yyjson_mut_arr_append(others, metric_to_v1(doc, m, false));
    }
    yyjson_arr_foreach (sl_json_at(object, "status.currentMetrics"), i, n, m) {
        v = is_cpu(m) ? sl_json_at(m, "resource.current.averageUtilization") : NULL;
        if (v)
            sl_json_mut_set_int(doc, sl_json_mut_obj(doc, out, "status"),
                                "currentCPUUtilizationPercentage", sl_json_int(v, "", 0));
        yyjson_mut_arr_append(now, metric_to_v1(doc, m, true));
    }
    if (yyjson_mut_arr_size(others))
        annotate(doc, out, METRICS, others);
    if (yyjson_mut_arr_size(now))
        annotate(doc, out, CURRENT, now);
}

static void to_v1(yyjson_mut_doc *doc, yyjson_val *object, yyjson_mut_val *out) {
    yyjson_val *conditions = sl_json_at(object, "status.conditions"),
               *behavior = sl_json_at(object, "spec.behavior");
    yyjson_mut_val *status = sl_json_mut_obj(doc, out, "status"),
                   *spec = sl_json_mut_obj(doc, out, "spec");

    metrics_to_v1(doc, object, out);
    if (sl_json_size(conditions))
        annotate(doc, out, CONDITIONS, yyjson_val_mut_copy(doc, conditions));
    if (behavior)
        annotate(doc, out, BEHAVIOR, yyjson_val_mut_copy(doc, behavior));
    sl_json_mut_set(doc, spec, "metrics", NULL);
    sl_json_mut_set(doc, spec, "behavior", NULL);
    sl_json_mut_set(doc, status, "currentMetrics", NULL);
    sl_json_mut_set(doc, status, "conditions", NULL);
    sl_json_mut_default_int(doc, status, "currentReplicas", 0);
}

/* ---- from v1 to v2 ---- */

static const char *target_type(const char *source, yyjson_val *from) {
    if (strcmp(source, "resource") == 0 || strcmp(source, "containerResource") == 0)
        return sl_json_get(from, "targetAverageUtilization") ? "Utilization" : "AverageValue";
    if (strcmp(source, "external") == 0)
        return sl_json_get(from, "targetValue") ? "Value" : "AverageValue";
    return strcmp(source, "object") == 0 && !sl_json_get(from, "averageValue") ? "Value"
                                                                               : "AverageValue";
}

static yyjson_mut_val *metric_to_v2(yyjson_mut_doc *doc, yyjson_val *metric, bool current) {
    yyjson_mut_val *out = yyjson_mut_obj(doc);

    sl_json_mut_keep(doc, out, "type", metric);
    for (size_t s = 0; s < SL_LEN(sources); s++) {
        yyjson_val *from = sl_json_get(metric, sources[s]);
        yyjson_mut_val *to = from ? yyjson_mut_obj_add_obj(doc, out, sources[s]) : NULL;
        for (size_t i = 0; to && i < SL_LEN(names); i++) {
            yyjson_val *v = sl_json_get(from, current ? names[i].current : names[i].target);
            if (v && strcmp(names[i].source, sources[s]) == 0)
                sl_json_mut_set(doc, sl_json_mut_obj(doc, to, above(names[i].v2, current)),
                                last(names[i].v2), yyjson_val_mut_copy(doc, v));
        }
        if (to && !current)
            sl_json_mut_set_str(doc, sl_json_mut_obj(doc, to, "target"), "type",
                                target_type(sources[s], from));
    }
    return out;
}

/* The JSON of an annotation; NULL if it is none. */
static yyjson_doc *annotated(yyjson_val *object, const char *key) {
    const char *text = sl_json_annotation(object, key);

    return *text ? sl_json_doc(text, strlen(text)) : NULL;
}

static void list_to_v2(yyjson_mut_doc *doc, yyjson_val *object, const char *key, bool current,
                       yyjson_mut_val *into) {
    _cleanup_(sl_json_docp) yyjson_doc *list = annotated(object, key);
    size_t i, n;
    yyjson_val *m;

    yyjson_arr_foreach (list ? yyjson_doc_get_root(list) : NULL, i, n, m) {
        yyjson_mut_arr_append(into, metric_to_v2(doc, m, current));
    }
}

static void copy_to_v2(yyjson_mut_doc *doc, yyjson_val *object, const char *key,
                       yyjson_mut_val *into, const char *field) {
    _cleanup_(sl_json_docp) yyjson_doc *value = annotated(object, key);

    if (value)
        sl_json_mut_set(doc, into, field, yyjson_val_mut_copy(doc, yyjson_doc_get_root(value)));
}

static void to_v2(yyjson_mut_doc *doc, yyjson_val *object, yyjson_mut_val *out) {
    static const char *const keys[] = {METRICS, CURRENT, CONDITIONS, BEHAVIOR};
    yyjson_mut_val *spec = sl_json_mut_obj(doc, out, "spec"), *status,
                   *metrics = yyjson_mut_arr(doc), *now = yyjson_mut_arr(doc),
                   *annotations = sl_json_mut_at(out, "metadata.annotations");
    yyjson_val *percent = sl_json_at(object, "spec.targetCPUUtilizationPercentage");

    list_to_v2(doc, object, METRICS, false, metrics);
    list_to_v2(doc, object, CURRENT, true, now);
    if (percent)
        api_scaler_cpu_metric(doc, metrics, sl_json_int(percent, "", 0));
    sl_json_mut_set(doc, spec, "targetCPUUtilizationPercentage", NULL);
    if (yyjson_mut_arr_size(metrics))
        sl_json_mut_set(doc, spec, "metrics", metrics);
    copy_to_v2(doc, object, BEHAVIOR, spec, "behavior");
    for (size_t i = 0; i < SL_LEN(keys); i++)
        sl_json_mut_set(doc, annotations, keys[i], NULL);
    if (annotations && !yyjson_mut_obj_size(annotations))
        sl_json_mut_set(doc, sl_json_mut_get(out, "metadata"), "annotations", NULL);
    if (!sl_json_get(object, "status"))
        return;
    status = sl_json_mut_obj(doc, out, "status");
    if (yyjson_mut_arr_size(now))
        sl_json_mut_set(doc, status, "currentMetrics", now);
    copy_to_v2(doc, object, CONDITIONS, status, "conditions");
    sl_json_mut_set(doc, status, "currentCPUUtilizationPercentage", NULL);
}

yyjson_mut_val *api_scaler_convert(yyjson_val *object, const char *api_version,
                                   yyjson_mut_doc *doc) {
    yyjson_mut_val *out = yyjson_val_mut_copy(doc, object);

    if (strcmp(api_version, "autoscaling/v1") == 0)
        to_v1(doc, object, out);
    else
        to_v2(doc, object, out);
    return out;
}
