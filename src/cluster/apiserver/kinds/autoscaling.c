/* SPDX-License-Identifier: Apache-2.0 */
/* HorizontalPodAutoscalers, in the form of autoscaling/v2; nothing here scales. */
#include <string.h>

#include "cluster/apiserver/kinds/autoscaling.h"
#include "cluster/apiserver/kinds/kinds.h"
#include "lib/json/json.h"

#define MAX_PERIOD 1800
#define MAX_WINDOW 3600

/* ---- defaults ---- */

static void add_policy(struct api_change *c, yyjson_mut_val *list, const char *type, int64_t n) {
    yyjson_mut_val *p = yyjson_mut_arr_add_obj(c->doc, list);

    yyjson_mut_obj_add_strcpy(c->doc, p, "type", type);
    yyjson_mut_obj_add_int(c->doc, p, "value", n);
    yyjson_mut_obj_add_int(c->doc, p, "periodSeconds", 15);
}

static void rules_defaults(struct api_change *c, yyjson_mut_val *behavior, const char *way) {
    yyjson_mut_val *rules = sl_json_mut_obj(c->doc, behavior, way), *list;
    bool up = strcmp(way, "scaleUp") == 0;

    if (!rules)
        return;
    if (up)
        sl_json_mut_default_int(c->doc, rules, "stabilizationWindowSeconds", 0);
    if (!sl_json_mut_get(rules, "selectPolicy"))
        sl_json_mut_set_str(c->doc, rules, "selectPolicy", "Max");
    if (!sl_json_mut_get(rules, "policies")) {
        list = yyjson_mut_arr(c->doc);
        if (up)
            add_policy(c, list, "Pods", 4);
        add_policy(c, list, "Percent", 100);
        sl_json_mut_set(c->doc, rules, "policies", list);
    }
}

static void scaler_defaults(struct api_change *c) {
    yyjson_mut_val *spec = sl_json_mut_obj(c->doc, c->object, "spec"), *behavior, *list;

    if (!spec)
        return;
    if (!sl_json_mut_size(sl_json_mut_get(spec, "metrics"))) {
        list = yyjson_mut_arr(c->doc);
        api_scaler_cpu_metric(c->doc, list, 80);
        sl_json_mut_set(c->doc, spec, "metrics", list);
    }
    behavior = sl_json_mut_get(spec, "behavior");
    if (behavior) {
        rules_defaults(c, behavior, "scaleUp");
        rules_defaults(c, behavior, "scaleDown");
    }
}

static void scaler_prepare(struct api_change *c) {
    if (!api_change_is_create(c))
        return;
    sl_json_mut_set_int(c->doc, sl_json_mut_obj(c->doc, c->object, "status"), "desiredReplicas", 0);
}

/* ---- validation ---- */

static void segment(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *of,
                    const char *field, const char *missing) {
    yyjson_val *v = sl_json_get(of, field);

    if (sl_json_view(v).n == 0)
        sl_field_required(e, SL_PATH(at, field), missing);
    else
        api_word_check_of(e, SL_PATH(at, field), v, api_word_segment);
}

enum { ANY_VERSION, ANY_GROUP, A_GROUP }; /* what the version has to be */
static void reference(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref,
                      int strict) {
    const char *version = sl_json_str(ref, "apiVersion"), *slash = strchr(version, '/');

    segment(e, at, ref, "kind", "");
    segment(e, at, ref, "name", "");
    if (strict == ANY_VERSION)
        return;
    if (!slash && strict == A_GROUP)
        sl_field_invalid(e, SL_PATH(at, "apiVersion"), sl_field_value_str(version),
                         "apiVersion must specify API group");
    if (slash && strchr(slash + 1, '/'))
        sl_field_invalid(e, SL_PATH(at, "apiVersion"), sl_field_value_str(version),
                         "unexpected GroupVersion string: %s", version);
}

/* An amount has to be above 0. */
static void positive(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    sl_quantity q;

    if (v && sl_json_quantity(v, &q) && q <= 0)
        sl_field_invalid(e, at, sl_field_value_json(v), "must be positive");
}

static void target_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *target) {
    static const char *const types[] = {"Utilization", "Value", "AverageValue"};
    const char *type = sl_json_str(target, "type");
    int64_t used = sl_json_int(target, "averageUtilization", 1);
    bool known = false;

    for (size_t i = 0; i < SL_LEN(types); i++)
        known = known || strcmp(type, types[i]) == 0;
    if (*type == '\0')
        sl_field_required(e, SL_PATH(at, "type"), "must specify a metric target type");
    if (!known)
        sl_field_invalid(e, SL_PATH(at, "type"), sl_field_value_str(type),
                         "must be either Utilization, Value, or AverageValue");
    positive(e, SL_PATH(at, "value"), sl_json_get(target, "value"));
    positive(e, SL_PATH(at, "averageValue"), sl_json_get(target, "averageValue"));
    if (used < 1)
        sl_field_invalid(e, SL_PATH(at, "averageUtilization"), sl_field_value_int(used),
                         "must be greater than 0");
}

/* What the sources of metrics are: in this order the first that is there is checked. */
enum { OBJECT, EXTERNAL, PODS, RESOURCE, CONTAINER, SOURCES };
static const struct {
    const char *field, *type;
    /* Which values of the target are needed, and what is said if there is none, or both. */
    const char *one, *other, *none, *none_at, *both, *both_at;
} sources[SOURCES] = {
    [OBJECT] = {"object", "Object", "value", "averageValue",
                "must set either a target value or averageValue", "averageValue", NULL, NULL},
    [EXTERNAL] = {"external", "External", "value", "averageValue",
                  "must set either a target value for metric or a per-pod target", "averageValue",
                  "may not set both a target value for metric and a per-pod target", "value"},
    [PODS] = {"pods", "Pods", "averageValue", "averageValue",
              "must specify a positive target averageValue", "averageValue", NULL, NULL},
    [RESOURCE] = {"resource", "Resource", "averageUtilization", "averageValue",
                  "must set either a target raw value or a target utilization",
                  "averageUtilization",
                  "may not set both a target raw value and a target utilization", "averageValue"},
    [CONTAINER] = {"containerResource", "ContainerResource", "averageUtilization", "averageValue",
                   "must set either a target raw value or a target utilization",
                   "averageUtilization",
                   "may not set both a target raw value and a target utilization", "averageValue"},
};

static void source_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source,
                         size_t kind) {
    yyjson_val *target = sl_json_get(source, "target"), *name = sl_json_get(source, "name"),
               *in = sl_json_get(source, "container");
    const struct sl_path *target_at = SL_PATH(at, "target");
    bool one, other;

    if (kind == OBJECT)
        reference(e, SL_PATH(at, "describedObject"), sl_json_get(source, "describedObject"),
                  ANY_GROUP);
    if (kind < RESOURCE)
        segment(e, SL_PATH(at, "metric"), sl_json_get(source, "metric"), "name",
                "must specify a metric name");
    else if (sl_json_view(name).n == 0)
        sl_field_required(e, SL_PATH(at, "name"), "must specify a resource name");
    if (kind == CONTAINER && sl_json_view(in).n == 0)
        sl_field_required(e, SL_PATH(at, "container"), "must specify a container");
    else if (kind == CONTAINER)
        api_word_check_of(e, SL_PATH(at, "container"), in, sl_syntax_dns_label);
    target_check(e, target_at, target);
    one = sl_json_get(target, sources[kind].one);
    other = sl_json_get(target, sources[kind].other);
    if (!one && !other)
        sl_field_required(e, SL_PATH(target_at, sources[kind].none_at), sources[kind].none);
    else if (one && other && sources[kind].both)
        sl_field_forbidden(e, SL_PATH(target_at, sources[kind].both_at), "%s", sources[kind].both);
}

static void metric_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *metric) {
    static const char *const types[] = {"ContainerResource", "External", "Object", "Pods",
                                        "Resource"};
    const char *type = sl_json_str(metric, "type");
    size_t there = 0, named = SOURCES;

    for (size_t i = 0; i < SOURCES; i++)
        if (strcmp(type, sources[i].type) == 0)
            named = i;
    if (*type == '\0')
        sl_field_required(e, SL_PATH(at, "type"), "must specify a metric source type");
    if (named == SOURCES)
        sl_field_unsupported(e, SL_PATH(at, "type"), sl_field_value_str(type), types,
                             SL_LEN(types));
    for (size_t i = 0; i < SOURCES; i++) {
        yyjson_val *source = sl_json_get(metric, sources[i].field);
        if (source && there++ == 0)
            source_check(e, SL_PATH(at, sources[i].field), source, i);
    }
    if (named < SOURCES && !sl_json_get(metric, sources[named].field))
        sl_field_required(e, SL_PATH(at, sources[named].field),
                          "must populate information for the given metric source");
    if (named == SOURCES) /* it is told twice there */
        sl_field_unsupported(e, SL_PATH(at, "type"), sl_field_value_str(type), types,
                             SL_LEN(types));
    for (size_t i = 0; there != 1 && i < SOURCES; i++)
        if (i != named && sl_json_get(metric, sources[i].field))
            sl_field_forbidden(e, SL_PATH(at, sources[i].field),
                               "must populate the given metric source only");
}

static void policy_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *policy) {
    static const char *const types[] = {"Percent", "Pods"};
    const char *type = sl_json_str(policy, "type");
    int64_t value = sl_json_int(policy, "value", 0),
            period = sl_json_int(policy, "periodSeconds", 0);

    if (strcmp(type, types[0]) != 0 && strcmp(type, types[1]) != 0)
        sl_field_unsupported(e, SL_PATH(at, "type"), sl_field_value_str(type), types,
                             SL_LEN(types));
    if (value <= 0)
        sl_field_invalid(e, SL_PATH(at, "value"), sl_field_value_int(value),
                         "must be greater than zero");
    if (period <= 0)
        sl_field_invalid(e, SL_PATH(at, "periodSeconds"), sl_field_value_int(period),
                         "must be greater than zero");
    if (period > MAX_PERIOD)
        sl_field_invalid(e, SL_PATH(at, "periodSeconds"), sl_field_value_int(period),
                         "must be less than or equal to %d", MAX_PERIOD);
}

static void rules_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *rules) {
    static const char *const selects[] = {"Disabled", "Max", "Min", NULL};
    int64_t window = sl_json_int(rules, "stabilizationWindowSeconds", 0);
    yyjson_val *policies = sl_json_get(rules, "policies"),
               *tolerance = sl_json_get(rules, "tolerance"), *p;
    const struct sl_path *policies_at = SL_PATH(at, "policies");
    sl_quantity q;
    size_t i, n;

    if (!rules)
        return;
    if (window < 0 || window > MAX_WINDOW)
        sl_field_invalid(e, SL_PATH(at, "stabilizationWindowSeconds"), sl_field_value_int(window),
                         window < 0 ? "must be greater than or equal to zero"
                                    : "must be less than or equal to 3600");
    api_check_one_of(e, at, rules, "selectPolicy", selects, false);
    if (sl_json_size(policies) == 0)
        sl_field_required(e, policies_at, "must specify at least one Policy");
    yyjson_arr_foreach (policies, i, n, p) {
        policy_check(e, SL_PATH_AT(policies_at, i), p);
    }
    if (tolerance)
        (void)api_amount_check(e, SL_PATH(at, "tolerance"), tolerance, &q);
}

/* 0 replicas need a metric that does not come from pods. */
static bool has_outside(yyjson_val *metrics) {
    return sl_json_find(metrics, "type", "Object") || sl_json_find(metrics, "type", "External");
}

static void scaler_validate(struct api_change *c, yyjson_val *object) {
    static const char *const counts[] = {"currentReplicas", "desiredReplicas"};
    const struct sl_path *at = SL_PATH(NULL, "spec"), *behavior_at = SL_PATH(at, "behavior");
    yyjson_val *spec = sl_json_get(object, "spec"), *metrics = sl_json_get(spec, "metrics"),
               *behavior = sl_json_get(spec, "behavior"), *m;
    int64_t least = sl_json_int(spec, "minReplicas", 1), most = sl_json_int(spec, "maxReplicas", 0);
    yyjson_val *target = sl_json_get(spec, "scaleTargetRef"),
               *old = sl_json_at(c->old, "spec.scaleTargetRef");
    const char *kind = sl_json_str(target, "kind");
    bool same_target =
        old && strcmp(sl_json_str(old, "kind"), kind) == 0 &&
        strcmp(sl_json_str(old, "apiVersion"), sl_json_str(target, "apiVersion")) == 0;
    int group = strcmp(kind, "ReplicationController") == 0 ? ANY_GROUP : A_GROUP;
    int64_t lowest = c->old && sl_json_int(c->old, "spec.minReplicas", 1) == 0 ? 0 : 1;
    struct sl_field_errs *e = c->errs;
    size_t i, n;

    if (!api_change_is_object(c)) {
        for (i = 0; i < SL_LEN(counts); i++)
            api_check_not_negative(e, SL_PATH(NULL, "status"), sl_json_get(object, "status"),
                                   counts[i]);
        return;
    }
    if (least < lowest)
        sl_field_invalid(e, SL_PATH(at, "minReplicas"), sl_field_value_int(least),
                         "must be greater than or equal to %d", (int)lowest);
    if (most == 0)
        sl_field_required(e, SL_PATH(at, "maxReplicas"), "must be set and greater than 0");
    else if (most < 0)
        sl_field_invalid(e, SL_PATH(at, "maxReplicas"), sl_field_value_int(most),
                         "must be greater than or equal to 1");
    if (most < least)
        sl_field_invalid(e, SL_PATH(at, "maxReplicas"), sl_field_value_int(most),
                         "must be greater than or equal to `minReplicas`");
    reference(e, SL_PATH(at, "scaleTargetRef"), target, same_target ? ANY_VERSION : group);
    yyjson_arr_foreach (metrics, i, n, m) {
        metric_check(e, SL_PATH_AT(SL_PATH(at, "metrics"), i), m);
    }
    if (least == 0 && !has_outside(metrics))
        sl_field_forbidden(e, SL_PATH(at, "metrics"),
                           "must specify at least one Object or External metric to support "
                           "scaling to zero replicas");
    rules_check(e, SL_PATH(behavior_at, "scaleUp"), sl_json_get(behavior, "scaleUp"));
    rules_check(e, SL_PATH(behavior_at, "scaleDown"), sl_json_get(behavior, "scaleDown"));
}
static const struct api_strategy scaler_strategy = {.prepare = scaler_prepare,
                                                    .defaults = scaler_defaults,
                                                    .validate = scaler_validate,
                                                    .no_generation = true};

const struct api_builtin api_builtin_autoscaling[] = {
    {.group = "autoscaling",
     .version = "v2",
     .older = "v1",
     .convert = api_scaler_convert,
     .kind = "HorizontalPodAutoscaler",
     .plural = "horizontalpodautoscalers",
     .shorts = "hpa",
     .categories = "all",
     .namespaced = true,
     .status = true,
     .strategy = &scaler_strategy},
    {0},
};
