/* SPDX-License-Identifier: Apache-2.0 */
/* DaemonSets and ReplicationControllers. */
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

static bool is_status(const struct api_change *c) {
    return strcmp(c->subresource, "status") == 0;
}

/* ---- daemon sets ---- */

/* How often the template changed. It was a field of older versions and is an annotation in this
 * one, without which an object comes as the number 0. */
#define TEMPLATE_GENERATION "deprecated.daemonset.template.generation"

/* "0" is a number, and so is "+7"; one that is none is refused before anything else. */
static bool read_number(const char *s, long long *ret) {
    char *end;

    *ret = strtoll(s, &end, 10);
    return end != s && *end == '\0' && strchr("+-0123456789", *s);
}

static void set_template_generation(struct api_change *c, long long n) {
    char text[24];

    sl_fmt(text, sizeof text, "%lld", n);
    sl_json_mut_set_str(c->doc, sl_json_mut_obj(c->doc, c->object, "metadata.annotations"),
                        TEMPLATE_GENERATION, text);
}

static void daemon_defaults(struct api_change *c) {
    yyjson_mut_val *update = sl_json_mut_obj(c->doc, c->object, "spec.updateStrategy"), *rolling,
                   *mark = sl_json_mut_get(sl_json_mut_at(c->object, "metadata.annotations"),
                                           TEMPLATE_GENERATION);
    long long n;

    if (!mark)
        set_template_generation(c, 0);
    else if (!read_number(sl_json_mut_text(mark), &n))
        api_change_refuse(c, 400, "BadRequest",
                          "DaemonSet in version \"v1\" cannot be handled as a DaemonSet: "
                          "strconv.ParseInt: parsing \"%s\": invalid syntax",
                          sl_json_mut_text(mark));
    if (!api_change_is_object(c) || !update)
        return;
    sl_json_mut_default_str(c->doc, update, "type", "RollingUpdate");
    bool by_steps = strcmp(sl_json_mut_str(update, "type"), "RollingUpdate") == 0;
    if (by_steps)
        (void)sl_json_mut_obj(c->doc, update, "rollingUpdate");
    rolling = sl_json_mut_get(update, "rollingUpdate");
    sl_json_mut_default_int(c->doc, rolling, "maxUnavailable", by_steps);
    sl_json_mut_default_int(c->doc, rolling, "maxSurge", 0);
    api_template_defaults(c->doc, sl_json_mut_at(c->object, "spec.template.spec"));
}

static void daemon_prepare(struct api_change *c) {
    yyjson_mut_val *template = sl_json_mut_at(c->object, "spec.template"), *status;
    yyjson_val *was = sl_json_at(c->old, "spec.template");
    long long n = 0;

    if (api_change_is_create(c)) {
        status = sl_json_mut_obj(c->doc, c->object, "status");
        sl_json_mut_set_int(c->doc, status, "currentNumberScheduled", 0);
        sl_json_mut_set_int(c->doc, status, "desiredNumberScheduled", 0);
        sl_json_mut_set_int(c->doc, status, "numberMisscheduled", 0);
        sl_json_mut_set_int(c->doc, status, "numberReady", 0);
        (void)read_number(
            sl_json_mut_text(sl_json_mut_get(sl_json_mut_at(c->object, "metadata.annotations"),
                                             TEMPLATE_GENERATION)),
            &n);
        if (n < 1)
            set_template_generation(c, 1);
        return;
    }
    (void)read_number(sl_json_annotation(c->old, TEMPLATE_GENERATION), &n);
    if (api_change_is_object(c)) {
        _cleanup_(sl_json_docp) yyjson_doc *is =
            template ? yyjson_mut_val_imut_copy(template, NULL) : NULL;
        n += !sl_json_same(was, is ? yyjson_doc_get_root(is) : NULL);
    }
    set_template_generation(c, n);
}

/* Exactly one of the two may be above 0. */
static void daemon_rolling(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *rolling) {
    const struct sl_path *down_at = SL_PATH(at, "maxUnavailable"), *up_at = SL_PATH(at, "maxSurge");
    yyjson_val *down = sl_json_get(rolling, "maxUnavailable"),
               *up = sl_json_get(rolling, "maxSurge");
    bool down_percent, up_percent;
    int64_t n_down = api_count_or_percent(e, down_at, down, &down_percent),
            n_up = api_count_or_percent(e, up_at, up, &up_percent);

    if (down_percent && n_down > 100)
        sl_field_invalid(e, down_at, sl_field_value_json(down), "must not be greater than 100%%");
    if (up_percent && n_up > 100)
        sl_field_invalid(e, up_at, sl_field_value_json(up), "must not be greater than 100%%");
    /* A text that is no percentage counts as 0. */
    n_down = down_percent && n_down < 0 ? 0 : n_down;
    n_up = up_percent && n_up < 0 ? 0 : n_up;
    if (n_down && n_up)
        sl_field_invalid(e, up_at, sl_field_value_json(up),
                         "may not be set when maxUnavailable is non-zero");
    else if (!n_down && !n_up)
        sl_field_required(e, down_at, "cannot be 0 when maxSurge is 0");
}

static void daemon_update(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *update) {
    static const char *const types[] = {"RollingUpdate", "OnDelete"};
    const char *type = sl_json_str(update, "type");
    yyjson_val *rolling = sl_json_get(update, "rollingUpdate");

    if (strcmp(type, "OnDelete") == 0)
        return;
    if (strcmp(type, "RollingUpdate") != 0)
        sl_field_unsupported(e, at, sl_field_value_json(update), types, SL_LEN(types));
    else if (!rolling)
        sl_field_required(e, SL_PATH(at, "rollingUpdate"), "");
    else
        daemon_rolling(e, SL_PATH(at, "rollingUpdate"), rolling);
}

static void daemon_status(struct api_change *c, yyjson_val *object) {
    static const char *const numbers[] = {"currentNumberScheduled", "numberMisscheduled",
                                          "desiredNumberScheduled", "numberReady",
                                          "observedGeneration",     "updatedNumberScheduled",
                                          "numberAvailable",        "numberUnavailable",
                                          "collisionCount"};
    const struct sl_path *at = SL_PATH(NULL, "status");
    int64_t n = sl_json_int(object, "status.collisionCount", 0);

    for (size_t i = 0; i < SL_LEN(numbers); i++)
        api_check_not_negative(c->errs, at, sl_json_get(object, "status"), numbers[i]);
    if (sl_json_int(c->old, "status.collisionCount", -1) > n ||
        (sl_json_at(c->old, "status.collisionCount") &&
         !sl_json_at(object, "status.collisionCount")))
        sl_field_invalid(c->errs, SL_PATH(at, "collisionCount"), sl_field_value_int(n),
                         "cannot be decremented");
}

static void daemon_selector(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    yyjson_val *selector = sl_json_get(spec, "selector"),
               *labels = sl_json_at(spec, "template.metadata.labels");
    bool empty = sl_json_size(sl_json_get(selector, "matchLabels")) +
                     sl_json_size(sl_json_get(selector, "matchExpressions")) ==
                 0;
    uint32_t before = e->n;

    sl_syntax_check_selector(e, SL_PATH(at, "selector"), selector);
    if (e->n == before && (!selector || (!empty && !api_selector_takes(selector, labels))))
        sl_field_invalid(e, SL_PATH(at, "template.metadata.labels"), sl_field_value_json(labels),
                         "`selector` does not match template `labels`");
    if (selector && empty)
        sl_field_invalid(e, SL_PATH(at, "selector"), sl_field_value_json(selector),
                         "empty selector is invalid for daemonset");
}

static void daemon_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(object, "spec");
    struct sl_field_errs *e = c->errs;

    if (is_status(c)) {
        daemon_status(c, object);
        return;
    }
    if (c->old)
        sl_field_immutable(e, SL_PATH(at, "selector"), sl_json_get(spec, "selector"),
                           sl_json_at(c->old, "spec.selector"));
    daemon_selector(e, at, spec);
    api_template_check(e, SL_PATH(at, "template"), sl_json_get(spec, "template"), SL_IN_TEMPLATE,
                       NULL);
    api_lasting_check(e, at, spec, "DaemonSet");
    api_check_not_negative(e, at, spec, "minReadySeconds");
    daemon_update(e, SL_PATH(at, "updateStrategy"), sl_json_get(spec, "updateStrategy"));
    api_check_not_negative(e, at, spec, "revisionHistoryLimit");
    api_pod_warn(c, object, "spec.template.spec");
}
const struct api_strategy api_daemon_strategy = {
    .prepare = daemon_prepare, .defaults = daemon_defaults, .validate = daemon_validate};

/* ---- replication controllers ---- */

/* Selector and labels are those of the template, where there are none. */
static void controller_defaults(struct api_change *c) {
    yyjson_mut_val *labels = sl_json_mut_at(c->object, "spec.template.metadata.labels");

    if (labels && !sl_json_mut_size(sl_json_mut_at(c->object, "spec.selector")))
        sl_json_mut_set(c->doc, sl_json_mut_obj(c->doc, c->object, "spec"), "selector",
                        yyjson_mut_val_mut_copy(c->doc, labels));
    if (labels && !sl_json_mut_size(sl_json_mut_at(c->object, "metadata.labels")))
        sl_json_mut_set(c->doc, sl_json_mut_obj(c->doc, c->object, "metadata"), "labels",
                        yyjson_mut_val_mut_copy(c->doc, labels));
    if (api_change_is_object(c))
        api_template_defaults(c->doc, sl_json_mut_at(c->object, "spec.template.spec"));
}

static void controller_prepare(struct api_change *c) {
    if (api_change_is_create(c))
        sl_json_mut_set_int(c->doc, sl_json_mut_obj(c->doc, c->object, "status"), "replicas", 0);
}

static void controller_status(struct sl_field_errs *e, yyjson_val *status) {
    static const char *const numbers[] = {"replicas", "fullyLabeledReplicas", "readyReplicas",
                                          "availableReplicas", "observedGeneration"};
    const struct sl_path *at = SL_PATH(NULL, "status");
    int64_t all = sl_json_int(status, "replicas", 0);

    for (size_t i = 0; i < SL_LEN(numbers); i++)
        api_check_not_negative(e, at, status, numbers[i]);
    for (size_t i = 1; i < 4; i++)
        if (sl_json_int(status, numbers[i], 0) > all)
            sl_field_invalid(e, SL_PATH(at, numbers[i]),
                             sl_field_value_int(sl_json_int(status, numbers[i], 0)),
                             "cannot be greater than status.replicas");
    if (sl_json_int(status, "availableReplicas", 0) > sl_json_int(status, "readyReplicas", 0))
        sl_field_invalid(e, SL_PATH(at, "availableReplicas"),
                         sl_field_value_int(sl_json_int(status, "availableReplicas", 0)),
                         "cannot be greater than readyReplicas");
}

/* The labels of a selector that is a plain map; an empty one takes all. */
static bool map_takes(yyjson_val *selector, yyjson_val *labels) {
    size_t i, n;
    yyjson_val *key, *v;

    sl_obj_foreach (selector, i, n, key, v) {
        yyjson_val *has = sl_json_same_key(labels, key);
        if (!has || !sl_text_eq(sl_json_view(has), sl_json_view(v)))
            return false;
    }
    return true;
}

static void controller_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(object, "spec"), *selector = sl_json_get(spec, "selector"),
               *labels = sl_json_at(spec, "template.metadata.labels");
    const char *name = sl_json_str(object, "metadata.name");
    struct sl_field_errs *e = c->errs;
    struct sl_syntax_errors label = sl_syntax_dns_label(name, strlen(name));

    if (is_status(c)) {
        controller_status(e, sl_json_get(object, "status"));
        return;
    }
    api_check_not_negative(e, at, spec, "minReadySeconds");
    if (sl_json_size(selector) == 0)
        sl_field_required(e, SL_PATH(at, "selector"), "");
    api_check_not_negative(e, at, spec, "replicas");
    if (!sl_json_get(spec, "template")) {
        sl_field_required(e, SL_PATH(at, "template"), "");
        return;
    }
    if (!map_takes(selector, labels))
        sl_field_invalid(e, SL_PATH(at, "template.metadata.labels"), sl_field_value_json(labels),
                         "`selector` does not match template `labels`");
    api_template_check(e, SL_PATH(at, "template"), sl_json_get(spec, "template"), SL_IN_TEMPLATE,
                       NULL);
    api_lasting_check(e, at, spec, "ReplicationController");
    if (!c->old && label.n && !e->n)
        api_change_warn(c,
                        "metadata.name: this is used in Pod names and hostnames, which can result "
                        "in surprising behavior; a DNS label is recommended: [%s]",
                        label.v[0]);
    api_pod_warn(c, object, "spec.template.spec");
}

/* As of other kinds, but the length is in bytes. */
static struct sl_syntax_errors controller_name(const char *s, size_t len) {
    struct sl_syntax_errors f = sl_syntax_subdomain(s, len);

    if (len > 253 && f.n)
        f.v[0] = "must be no more than 253 bytes";
    return f;
}
const struct api_strategy api_controller_strategy = {.name = controller_name,
                                                     .prepare = controller_prepare,
                                                     .defaults = controller_defaults,
                                                     .validate = controller_validate,
                                                     .orphans = true};
