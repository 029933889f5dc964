/* SPDX-License-Identifier: Apache-2.0 */
/* resource.k8s.io: claims, classes and templates. Nothing here allocates devices, and the types of
 * CEL expressions are not checked; slices are in resource_slice.c. */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "cluster/apiserver/kinds/resource.h"
#include "core/base/collection/wordset.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"

#define MAX_ITEMS 32u /* requests, constraints, configurations, selectors, results */
#define MAX_ALTERNATIVES 8u
#define MAX_TOLERATIONS 16u
#define MAX_RESERVED 256u
#define MAX_EXPRESSION ((size_t)10 << 10)
#define MAX_PARAMETERS ((size_t)10 << 10)
#define REF_FAULT                                                                                  \
    "must be the name of a request in the claim or the name of a request and a subrequest "        \
    "separated by '/'"

bool api_device_list_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list,
                           size_t max) {
    if (sl_json_size(list) <= max)
        return true;
    sl_field_too_many(e, at, sl_json_size(list), max);
    return false;
}

void api_device_label_check(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *object,
                            const char *field) {
    api_word_check_of(e, SL_PATH(up, field), sl_json_get(object, field), sl_syntax_dns_label);
}

static const char *const effects[] = {"NoExecute", "NoSchedule", "None"};

bool api_device_effect_known(const char *effect) {
    for (size_t i = 0; i < SL_LEN(effects); i++)
        if (strcmp(effects[i], effect) == 0)
            return true;
    return false;
}

void api_device_effect_check(struct sl_field_errs *e, const struct sl_path *at,
                             const char *effect) {
    if (!api_device_effect_known(effect))
        sl_field_unsupported(e, at, sl_field_value_str(effect), effects, SL_LEN(effects));
}

/* ---- what is requested ---- */

/* A list whose items have names, each once. */
static void names_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    _cleanup_(sl_wordset_done) struct sl_wordset names = {0};
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v) {
        const char *name = yyjson_is_str(v) ? sl_json_text(v) : sl_json_str(v, "name");
        if (!sl_wordset_add(&names, name))
            sl_field_duplicate(e, SL_PATH_AT(at, i), sl_field_value_str(name), "");
    }
}

static void selectors_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;

    if (!api_device_list_check(e, at, list, MAX_ITEMS))
        return;
    yyjson_arr_foreach (list, i, n, v) {
        const struct sl_path *cel_at = SL_PATH(SL_PATH_AT(at, i), "cel");
        if (!sl_json_get(v, "cel"))
            sl_field_required(e, cel_at, "");
        else if (sl_json_view(sl_json_at(v, "cel.expression")).n > MAX_EXPRESSION)
            sl_field_too_long(e, SL_PATH(cel_at, "expression"), MAX_EXPRESSION);
        else if (sl_json_view(sl_json_at(v, "cel.expression")).n == 0)
            sl_field_required(e, SL_PATH(cel_at, "expression"), "");
    }
}

static void toleration_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *t) {
    static const char *const operators[] = {"Equal", "Exists"};
    yyjson_val *value = sl_json_get(t, "value"), *key = sl_json_get(t, "key");
    const char *operator= sl_json_str(t, "operator"), *effect = sl_json_str(t, "effect");

    if (sl_json_view(key).n)
        sl_syntax_check_key_of(e, SL_PATH(at, "key"), key);
    if (strcmp(operator, "Exists") == 0) {
        if (sl_json_view(value).n)
            sl_field_invalid(e, SL_PATH(at, "value"), sl_field_value_text(sl_json_view(value)),
                             "must be empty for operator `Exists`");
    } else if (strcmp(operator, "Equal") == 0) {
        api_word_check_of(e, SL_PATH(at, "value"), value, sl_syntax_label_value);
    } else {
        sl_field_unsupported(e, SL_PATH(at, "operator"), sl_field_value_str(operator), operators,
                             SL_LEN(operators));
    }
    if (*effect)
        api_device_effect_check(e, SL_PATH(at, "effect"), effect);
}

/* A request of one class: "exactly", or an alternative. */
static void wanted_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *r) {
    static const char *const modes[] = {"All", "ExactCount"};
    const struct sl_path *count_at = SL_PATH(at, "count"),
                         *tolerations_at = SL_PATH(at, "tolerations");
    yyjson_val *tolerations = sl_json_get(r, "tolerations"), *v;
    const char *mode = sl_json_str(r, "allocationMode");
    int64_t count = sl_json_int(r, "count", 0);
    size_t i, n;

    api_word_check_at(e, at, r, "deviceClassName", sl_syntax_subdomain, true);
    selectors_check(e, SL_PATH(at, "selectors"), sl_json_get(r, "selectors"));
    if (strcmp(mode, modes[0]) == 0) {
        if (count)
            sl_field_invalid(e, count_at, sl_field_value_int(count),
                             "must not be specified when allocationMode is 'All'");
    } else if (strcmp(mode, modes[1]) == 0) {
        if (count <= 0)
            sl_field_invalid(e, count_at, sl_field_value_int(count), "must be greater than zero");
    } else {
        sl_field_unsupported(e, SL_PATH(at, "allocationMode"), sl_field_value_str(mode), modes,
                             SL_LEN(modes));
    }
    if (!api_device_list_check(e, tolerations_at, tolerations, MAX_TOLERATIONS))
        return;
    yyjson_arr_foreach (tolerations, i, n, v) {
        toleration_check(e, SL_PATH_AT(tolerations_at, i), v);
    }
}

static void request_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *r) {
    yyjson_val *exactly = sl_json_get(r, "exactly"), *first = sl_json_get(r, "firstAvailable"), *v;
    const struct sl_path *first_at = SL_PATH(at, "firstAvailable");
    bool several = sl_json_size(first) > 0;
    size_t i, n;

    api_device_label_check(e, at, r, "name");
    if (!exactly && !several) {
        sl_field_required(e, at, "exactly one of `exactly` or `firstAvailable` is required");
    } else if (exactly && several) {
        sl_field_invalid(e, at, sl_field_value_json(NULL),
                         "exactly one of `exactly` or `firstAvailable` is required, but multiple "
                         "fields are set");
    } else if (exactly) {
        wanted_check(e, SL_PATH(at, "exactly"), exactly);
    } else if (api_device_list_check(e, first_at, first, MAX_ALTERNATIVES)) {
        yyjson_arr_foreach (first, i, n, v) {
            api_device_label_check(e, SL_PATH_AT(first_at, i), v, "name");
            wanted_check(e, SL_PATH_AT(first_at, i), v);
        }
        names_check(e, first_at, first);
    }
}

/* "request", or "request/alternative". */
static bool is_request(yyjson_val *requests, const char *name) {
    const char *slash = strchr(name, '/');
    size_t len = slash ? (size_t)(slash - name) : strlen(name), i, n;
    yyjson_val *v;

    yyjson_arr_foreach (requests, i, n, v) {
        struct sl_text t = sl_json_view(sl_json_get(v, "name"));
        if (t.n == len && memcmp(t.s, name, len) == 0)
            return !slash || sl_json_find(sl_json_get(v, "firstAvailable"), "name", slash + 1);
    }
    return false;
}

static void ref_check(struct sl_field_errs *e, const struct sl_path *at, const char *name,
                      yyjson_val *requests) {
    const char *slash = strchr(name, '/');

    if (slash && strchr(slash + 1, '/')) {
        sl_field_invalid(e, at, sl_field_value_str(name), REF_FAULT);
        return;
    }
    api_word_check(e, at, name, slash ? (size_t)(slash - name) : strlen(name), sl_syntax_dns_label);
    if (slash)
        api_word_check(e, at, slash + 1, strlen(slash + 1), sl_syntax_dns_label);
    if (!is_request(requests, name))
        sl_field_invalid(e, at, sl_field_value_str(name), REF_FAULT);
}

static void refs_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list,
                       yyjson_val *requests) {
    size_t i, n;
    yyjson_val *v;

    if (!api_device_list_check(e, at, list, MAX_ITEMS))
        return;
    yyjson_arr_foreach (list, i, n, v) {
        ref_check(e, SL_PATH_AT(at, i), sl_json_text(v), requests);
    }
    names_check(e, at, list);
}

/* Parameters for a driver. */
static void opaque_check(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *config) {
    const struct sl_path *at = SL_PATH(up, "opaque"), *for_at = SL_PATH(at, "parameters");
    yyjson_val *opaque = sl_json_get(config, "opaque"),
               *parameters = sl_json_get(opaque, "parameters");

    if (!opaque) {
        sl_field_required(e, at, "");
        return;
    }
    api_driver_name_check(e, at, opaque, "driver");
    if (!parameters)
        sl_field_required(e, for_at, "");
    else if (sl_json_bytes(parameters) > MAX_PARAMETERS)
        sl_field_too_long(e, for_at, MAX_PARAMETERS);
    else if (!yyjson_is_obj(parameters))
        sl_field_invalid(e, for_at, sl_field_value_str("<value omitted>"),
                         "must be a valid JSON object");
}

static void constraint_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *c,
                             yyjson_val *requests) {
    static const char *const fields[] = {"matchAttribute", "distinctAttribute"};

    refs_check(e, SL_PATH(at, "requests"), sl_json_get(c, "requests"), requests);
    for (size_t i = 0; i < SL_LEN(fields); i++) {
        yyjson_val *v = sl_json_get(c, fields[i]);
        if (!v)
            continue;
        api_device_attribute_check(e, SL_PATH(at, fields[i]), sl_json_text(v), true);
        return;
    }
    sl_field_required(e, at,
                      "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but "
                      "multiple fields are set");
}

static void claim_check(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *spec) {
    const struct sl_path *at = SL_PATH(up, "devices"), *requests_at = SL_PATH(at, "requests"),
                         *constraints_at = SL_PATH(at, "constraints"),
                         *config_at = SL_PATH(at, "config");
    yyjson_val *devices = sl_json_get(spec, "devices"),
               *requests = sl_json_get(devices, "requests"),
               *constraints = sl_json_get(devices, "constraints"),
               *config = sl_json_get(devices, "config"), *v;
    size_t i, n;

    if (api_device_list_check(e, requests_at, requests, MAX_ITEMS)) {
        yyjson_arr_foreach (requests, i, n, v) {
            request_check(e, SL_PATH_AT(requests_at, i), v);
        }
        names_check(e, requests_at, requests);
    }
    if (api_device_list_check(e, constraints_at, constraints, MAX_ITEMS))
        yyjson_arr_foreach (constraints, i, n, v) {
            constraint_check(e, SL_PATH_AT(constraints_at, i), v, requests);
        }
    if (api_device_list_check(e, config_at, config, MAX_ITEMS))
        yyjson_arr_foreach (config, i, n, v) {
            refs_check(e, SL_PATH(SL_PATH_AT(config_at, i), "requests"), sl_json_get(v, "requests"),
                       requests);
            opaque_check(e, SL_PATH_AT(config_at, i), v);
        }
}

static void wanted_defaults(struct api_change *c, yyjson_mut_val *r) {
    if (!r)
        return;
    sl_json_mut_default_str(c->doc, r, "allocationMode", "ExactCount");
    if (strcmp(sl_json_mut_str(r, "allocationMode"), "ExactCount") == 0 &&
        sl_json_mut_int(r, "count", 0) == 0)
        sl_json_mut_set_int(c->doc, r, "count", 1);
}

static void spec_defaults(struct api_change *c, const char *path) {
    yyjson_mut_val *v, *w;
    size_t i, n, j, m;

    yyjson_mut_arr_foreach (sl_json_mut_at(c->object, path), i, n, v) {
        wanted_defaults(c, sl_json_mut_get(v, "exactly"));
        yyjson_mut_arr_foreach (sl_json_mut_get(v, "firstAvailable"), j, m, w) {
            wanted_defaults(c, w);
        }
    }
}

/* ---- claims ---- */

static void claim_defaults(struct api_change *c) {
    spec_defaults(c, "spec.devices.requests");
}

static void result_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *r,
                         yyjson_val *requests) {
    ref_check(e, SL_PATH(at, "request"), sl_json_str(r, "request"), requests);
    api_driver_name_check(e, at, r, "driver");
    api_device_pool_check(e, SL_PATH(at, "pool"), sl_json_str(r, "pool"));
    api_device_label_check(e, at, r, "device");
    api_device_binding_check(e, at, r);
}

static void allocation_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *is,
                             yyjson_val *requests) {
    static const char *const from[] = {"FromClaim", "FromClass", NULL};
    const struct sl_path *devices_at = SL_PATH(at, "devices"),
                         *results_at = SL_PATH(devices_at, "results"),
                         *config_at = SL_PATH(devices_at, "config");
    yyjson_val *results = sl_json_at(is, "devices.results"),
               *config = sl_json_at(is, "devices.config"), *nodes = sl_json_get(is, "nodeSelector"),
               *v;
    size_t i, n;

    if (api_device_list_check(e, results_at, results, MAX_ITEMS))
        yyjson_arr_foreach (results, i, n, v) {
            result_check(e, SL_PATH_AT(results_at, i), v, requests);
        }
    if (api_device_list_check(e, config_at, config, 2 * (size_t)MAX_ITEMS))
        yyjson_arr_foreach (config, i, n, v) {
            const struct sl_path *v_at = SL_PATH_AT(config_at, i);
            api_check_one_of(e, v_at, v, "source", from, true);
            refs_check(e, SL_PATH(v_at, "requests"), sl_json_get(v, "requests"), requests);
            opaque_check(e, v_at, v);
        }
    if (nodes)
        api_node_selector_check(e, SL_PATH(at, "nodeSelector"), nodes);
}

static void claim_status(struct api_change *c, yyjson_val *object) {
    static const char *const needed[] = {"resource", "name", "uid"};
    const struct sl_path *at = SL_PATH(NULL, "status"), *users_at = SL_PATH(at, "reservedFor"),
                         *allocation_at = SL_PATH(at, "allocation");
    yyjson_val *status = sl_json_get(object, "status"), *users = sl_json_get(status, "reservedFor"),
               *is = sl_json_get(status, "allocation"),
               *was = sl_json_at(c->old, "status.allocation"), *v;
    _cleanup_(sl_wordset_done) struct sl_wordset uids = {0};
    struct sl_field_errs *e = c->errs;
    size_t i, n;

    if (api_device_list_check(e, users_at, users, MAX_RESERVED)) {
        yyjson_arr_foreach (users, i, n, v) {
            for (size_t f = 0; f < SL_LEN(needed); f++)
                if (!*sl_json_str(v, needed[f]))
                    sl_field_required(e, SL_PATH(SL_PATH_AT(users_at, i), needed[f]), "");
        }
        yyjson_arr_foreach (users, i, n, v) {
            if (!sl_wordset_add(&uids, sl_json_str(v, "uid")))
                sl_field_duplicate(e, SL_PATH_AT(users_at, i),
                                   sl_field_value_str(sl_json_str(v, "uid")), "");
        }
    }
    if (sl_json_size(users) && !is)
        sl_field_forbidden(e, users_at, "may not be specified when `allocated` is not set");
    if (is && was)
        sl_field_immutable(e, allocation_at, is, was);
    else if (is)
        allocation_check(e, allocation_at, is, sl_json_at(object, "spec.devices.requests"));
}

static void claim_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(object, "spec");

    if (!api_change_is_object(c))
        claim_status(c, object);
    else if (c->old)
        sl_field_immutable(c->errs, at, spec, sl_json_get(c->old, "spec"));
    else
        claim_check(c->errs, at, spec);
}
static const struct api_strategy claim_strategy = {.prepare = api_status_keeps_meta,
                                                   .defaults = claim_defaults,
                                                   .validate = claim_validate,
                                                   .no_generation = true,
                                                   .returns_deleted = true,
                                                   .meta = SL_META_BOTH};

static void template_defaults(struct api_change *c) {
    spec_defaults(c, "spec.spec.devices.requests");
}
static void template_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec"), *meta_at = SL_PATH(at, "metadata");
    yyjson_val *spec = sl_json_get(object, "spec");

    if (c->old) {
        sl_field_immutable(c->errs, at, spec, sl_json_get(c->old, "spec"));
        return;
    }
    sl_syntax_check_annotations(c->errs, SL_PATH(meta_at, "annotations"),
                                sl_json_at(spec, "metadata.annotations"));
    sl_syntax_check_labels(c->errs, SL_PATH(meta_at, "labels"),
                           sl_json_at(spec, "metadata.labels"));
    claim_check(c->errs, SL_PATH(at, "spec"), sl_json_get(spec, "spec"));
}
static const struct api_strategy template_strategy = {.defaults = template_defaults,
                                                      .validate = template_validate,
                                                      .no_generation = true,
                                                      .returns_deleted = true};

/* ---- classes ---- */

static void class_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec"), *config_at = SL_PATH(at, "config"),
                         *extended_at = SL_PATH(at, "extendedResourceName");
    yyjson_val *spec = sl_json_get(object, "spec"), *config = sl_json_get(spec, "config"),
               *extended = sl_json_get(spec, "extendedResourceName"), *v;
    const char *name = sl_json_text(extended);
    size_t i, n;

    selectors_check(c->errs, SL_PATH(at, "selectors"), sl_json_get(spec, "selectors"));
    if (api_device_list_check(c->errs, config_at, config, MAX_ITEMS))
        yyjson_arr_foreach (config, i, n, v) {
            opaque_check(c->errs, SL_PATH_AT(config_at, i), v);
        }
    if (extended &&
        (!strchr(name, '/') || strstr(name, "kubernetes.io/") ||
         strncmp(name, "requests.", 9) == 0 || sl_syntax_label_key(name, strlen(name)).n))
        sl_field_invalid(c->errs, extended_at, sl_field_value_str(name),
                         "must be a valid extended resource name");
}

static struct sl_syntax_errors class_name(const char *s, size_t len) {
    struct sl_syntax_errors f = sl_syntax_subdomain(s, len);

    if (len > 253 && f.n)
        f.v[0] = "must be no more than 253 bytes";
    return f;
}
static const struct api_strategy class_strategy = {
    .validate = class_validate, .returns_deleted = true, .name = class_name, .meta = SL_META_BOTH};

static const char *const slice_fields[] = {"spec.nodeName", "spec.driver", NULL};

#define RESOURCE .group = "resource.k8s.io", .version = "v1"

const struct api_builtin api_builtin_resource[] = {
    {RESOURCE, .kind = "DeviceClass", .plural = "deviceclasses", .strategy = &class_strategy},
    {RESOURCE, .kind = "ResourceClaim", .plural = "resourceclaims", .namespaced = true,
     .status = true, .strategy = &claim_strategy},
    {RESOURCE, .kind = "ResourceClaimTemplate", .plural = "resourceclaimtemplates",
     .namespaced = true, .strategy = &template_strategy},
    {RESOURCE, .kind = "ResourceSlice", .plural = "resourceslices",
     .strategy = &api_device_slice_strategy, .selectable = slice_fields},
    {0},
};
