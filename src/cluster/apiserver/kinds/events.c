/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events. Those of core/v1 are hardly validated; events.k8s.io requires more fields, and only the
 * series may be updated.
 */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "lib/json/json.h"

#define WORD_MAX_BYTES 128
#define NOTE_MAX_BYTES 1024

static void length(struct sl_field_errs *e, yyjson_val *event, const char *field, size_t max,
                   bool required) {
    size_t len = sl_json_view(sl_json_get(event, field)).n;

    if (required && len == 0)
        sl_field_required(e, SL_PATH(NULL, field), "");
    if (len > max)
        sl_field_invalid(e, SL_PATH(NULL, field), sl_field_value_str(""),
                         "can have at most %zu characters", max);
}

/* Rules for all. Events with eventTime are of the new kind. */
static void common_rules(struct api_change *c, yyjson_val *event) {
    const char *ns = sl_json_str(event, "metadata.namespace"),
               *about = sl_json_str(event, "involvedObject.namespace"),
               *by = sl_json_str(event, "reportingComponent");
    const struct sl_path *by_at =
        SL_PATH(NULL, *c->kind->group ? "reportingController" : "reportingComponent");
    bool new = sl_json_get(event, "eventTime"), free = strcmp(ns, "default") == 0;
    bool wrong =
        *about ? !new &&strcmp(ns, about) != 0 : !free && !(new &&strcmp(ns, "kube-system") == 0);

    if (wrong)
        sl_field_invalid(c->errs, SL_PATH(SL_PATH(NULL, "involvedObject"), "namespace"),
                         sl_field_value_str(about), "does not match event.namespace");
    if (!new)
        return;
    if (!*by)
        sl_field_required(c->errs, by_at, "");
    api_word_check(c->errs, by_at, by, strlen(by), sl_syntax_label_key);
    length(c->errs, event, "reportingInstance", WORD_MAX_BYTES, true);
    length(c->errs, event, "action", WORD_MAX_BYTES, true);
    length(c->errs, event, "reason", WORD_MAX_BYTES, true);
    length(c->errs, event, "message", NOTE_MAX_BYTES, false);
}

static void series_rules(struct sl_field_errs *e, yyjson_val *event) {
    yyjson_val *series = sl_json_get(event, "series");

    if (series && sl_json_int(series, "count", 0) < 2)
        sl_field_invalid(e, SL_PATH(NULL, "series.count"), sl_field_value_str(""),
                         "should be at least 2");
    if (series && !sl_json_get(series, "lastObservedTime"))
        sl_field_required(e, SL_PATH(NULL, "series.lastObservedTime"), "");
}

static void new_rules(struct api_change *c, yyjson_val *event) {
    static const char *const unused[] = {"firstTimestamp", "lastTimestamp", "count", "source"};
    const char *type = sl_json_str(event, "type");

    api_meta_check(c, event, false);
    series_rules(c->errs, event);
    if (!sl_json_get(event, "eventTime"))
        sl_field_required(c->errs, SL_PATH(NULL, "eventTime"), "");
    if (strcmp(type, "Normal") != 0 && strcmp(type, "Warning") != 0)
        sl_field_invalid(c->errs, SL_PATH(NULL, "type"), sl_field_value_str(""),
                         "has invalid value: %s", type);
    for (size_t i = 0; i < SL_LEN(unused); i++)
        if (!sl_json_same(sl_json_get(event, unused[i]), NULL))
            sl_field_invalid(c->errs, SL_PATH(NULL, unused[i]), sl_field_value_str(""),
                             "needs to be unset");
}

/* In this order, with what stands for nothing in each. */
static const struct {
    const char *field, *as;
    enum { NOTHING, EMPTY, ZERO } none;
} fixed[] = {
    {"involvedObject", NULL, NOTHING},
    {"reason", NULL, EMPTY},
    {"message", NULL, EMPTY},
    {"source", NULL, NOTHING},
    {"firstTimestamp", NULL, NOTHING},
    {"lastTimestamp", NULL, NOTHING},
    {"count", NULL, ZERO},
    {"reason", NULL, EMPTY},
    {"type", NULL, EMPTY},
    {"eventTime", NULL, NOTHING},
    {"action", NULL, EMPTY},
    {"related", NULL, NOTHING},
    {"reportingComponent", "reportingController", EMPTY},
    {"reportingInstance", NULL, EMPTY},
};

static void update_rules(struct api_change *c, yyjson_val *event) {
    api_meta_check(c, event, true);
    if (!sl_json_same(sl_json_get(event, "series"), sl_json_get(c->old, "series")))
        series_rules(c->errs, event);
    for (size_t i = 0; i < SL_LEN(fixed); i++) {
        yyjson_val *now = sl_json_get(event, fixed[i].field);
        if (sl_json_same(now, sl_json_get(c->old, fixed[i].field)))
            continue;
        sl_field_invalid(c->errs, SL_PATH(NULL, fixed[i].as ? fixed[i].as : fixed[i].field),
                         now                      ? sl_field_value_json(now)
                         : fixed[i].none == EMPTY ? sl_field_value_str("")
                         : fixed[i].none == ZERO  ? sl_field_value_int(0)
                                                  : sl_field_value_json(NULL),
                         SL_FIELD_IMMUTABLE);
    }
}

static void event_validate(struct api_change *c, yyjson_val *object) {
    bool strict = *c->kind->group;

    common_rules(c, object);
    if (strict && c->old)
        update_rules(c, object);
    else if (strict)
        new_rules(c, object);
    else if (!c->old && !c->errs->n)
        api_meta_check(c, object, false);
}

/* Of core/v1, a name only has to fit into a path. */
const struct api_strategy api_event_strategy = {.validate = event_validate,
                                                .no_generation = true,
                                                .put_creates = true,
                                                .no_garbage = true,
                                                .any_finalizer = true,
                                                .meta = SL_META_SELF,
                                                .name = api_word_segment};
const struct api_strategy api_new_event_strategy = {.validate = event_validate,
                                                    .no_generation = true,
                                                    .put_creates = true,
                                                    .no_garbage = true,
                                                    .meta = SL_META_SELF};
