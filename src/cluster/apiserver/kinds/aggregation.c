/* SPDX-License-Identifier: Apache-2.0 */
/* APIServices. Those of this server are local; requests are not passed on to services, which their
 * condition says. */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"

static void service_prepare(struct api_change *c) {
    bool local = !sl_json_mut_at(c->object, "spec.service");
    yyjson_mut_val *status, *list, *v;
    char now[SL_STAMP_TEXT];

    api_status_keeps_meta(c);
    if (!api_change_is_create(c))
        return;
    status = sl_json_mut_obj(c->doc, c->object, "status");
    list = yyjson_mut_arr(c->doc);
    v = yyjson_mut_arr_add_obj(c->doc, list);
    sl_json_mut_set_str(c->doc, v, "type", "Available");
    sl_json_mut_set_str(c->doc, v, "status", local ? "True" : "False");
    sl_json_mut_set_str(c->doc, v, "lastTransitionTime", sl_stamp(c->now, now));
    sl_json_mut_set_str(c->doc, v, "reason", local ? "Local" : "NotProxied");
    sl_json_mut_set_str(c->doc, v, "message",
                        local ? "Local APIServices are always available"
                              : "sluice up does not pass requests on to services");
    sl_json_mut_set(c->doc, status, "conditions", list);
}

static void service_status(struct sl_field_errs *e, yyjson_val *object) {
    static const char *const states[] = {"True", "False", "Unknown"};
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "status"), "conditions");
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (sl_json_at(object, "status.conditions"), i, n, v) {
        const char *s = sl_json_str(v, "status");
        if (strcmp(s, states[0]) != 0 && strcmp(s, states[1]) != 0 && strcmp(s, states[2]) != 0)
            sl_field_unsupported(e, SL_PATH(SL_PATH_AT(at, i), "status"), sl_field_value_str(s),
                                 states, SL_LEN(states));
    }
}

/* The server that it names. */
static void server_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    const struct sl_path *to_at = SL_PATH(at, "service");
    yyjson_val *to = sl_json_get(spec, "service"),
               *skip = sl_json_get(spec, "insecureSkipTLSVerify");
    size_t ca = sl_json_view(sl_json_get(spec, "caBundle")).n;
    int64_t port = sl_json_int(to, "port", 443);
    bool insecure = sl_json_bool(spec, "insecureSkipTLSVerify", false);

    if (!to) {
        if (ca)
            sl_field_invalid(e, SL_PATH(at, "caBundle"),
                             sl_field_value_str(sl_arena_printf(e->arena, "%zu bytes", ca / 4 * 3)),
                             "local APIServices may not have a caBundle");
        if (insecure)
            sl_field_invalid(e, SL_PATH(at, "insecureSkipTLSVerify"), sl_field_value_json(skip),
                             "local APIServices may not have insecureSkipTLSVerify");
        return;
    }
    if (!*sl_json_str(to, "namespace"))
        sl_field_required(e, SL_PATH(to_at, "namespace"), "");
    if (!*sl_json_str(to, "name"))
        sl_field_required(e, SL_PATH(to_at, "name"), "");
    if (port < 1 || port > 65535)
        sl_field_invalid(e, SL_PATH(to_at, "port"), sl_field_value_int(port),
                         "port is not valid: " SL_PORT_RANGE);
    if (insecure && ca)
        sl_field_invalid(e, SL_PATH(at, "insecureSkipTLSVerify"), sl_field_value_json(skip),
                         "may not be true if caBundle is present");
}

static void service_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(object, "spec");
    const char *name = sl_json_str(object, "metadata.name"), *group = sl_json_str(spec, "group"),
               *version = sl_json_str(spec, "version");
    const char *full = sl_arena_printf(c->arena, "%s.%s", version, group);
    int64_t first = sl_json_int(spec, "groupPriorityMinimum", 0),
            second = sl_json_int(spec, "versionPriority", 0);
    struct sl_field_errs *e = c->errs;

    if (!api_change_is_object(c)) {
        service_status(e, object);
        return;
    }
    if (*name && strcmp(name, full) != 0 && api_word_segment(name, strlen(name)).n == 0)
        sl_field_invalid(e, SL_PATH(NULL, "metadata.name"), sl_field_value_str(name),
                         "must be `spec.version+\".\"+spec.group`: \"%s\"", full);
    if (!*group && strcmp(version, "v1") != 0)
        sl_field_required(e, SL_PATH(at, "group"),
                          "only v1 may have an empty group and it better be legacy kube");
    api_word_check_at(e, at, spec, "group", sl_syntax_subdomain, false);
    api_word_check_of(e, SL_PATH(at, "version"), sl_json_get(spec, "version"), api_word_label_1035);
    if (first <= 0 || first > 20000)
        sl_field_invalid(e, SL_PATH(at, "groupPriorityMinimum"), sl_field_value_int(first),
                         "must be positive and less than 20000");
    if (second <= 0 || second > 1000)
        sl_field_invalid(e, SL_PATH(at, "versionPriority"), sl_field_value_int(second),
                         "must be positive and less than 1000");
    server_check(e, at, spec);
}
static const struct api_strategy service_strategy = {.prepare = service_prepare,
                                                     .validate = service_validate,
                                                     .name = api_word_segment,
                                                     .no_generation = true,
                                                     .meta = SL_META_BOTH,
                                                     .needs_version = true};

const struct api_builtin api_builtin_aggregation[] = {
    {.group = "apiregistration.k8s.io",
     .version = "v1",
     .kind = "APIService",
     .plural = "apiservices",
     .categories = "api-extensions",
     .status = true,
     .strategy = &service_strategy},
    {0},
};
