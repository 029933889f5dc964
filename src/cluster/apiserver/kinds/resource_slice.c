/* SPDX-License-Identifier: Apache-2.0 */
/* Slices: what drivers publish of their devices. */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "cluster/apiserver/kinds/resource.h"
#include "core/base/collection/wordset.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"

#define MAX_DEVICES 128u
#define MAX_DEVICES_WITH_MORE 64u /* taints, or counters */
#define MAX_SETS 8u
#define MAX_COUNTERS 32u
#define MAX_CONSUMED 2u
#define MAX_PROPERTIES 32u
#define MAX_TAINTS 16u
#define MAX_CONDITIONS 4u
#define MAX_POOL 253u
#define MAX_ID 32u
#define MAX_VALUE 64u

/* ---- names ---- */

#define IDENTIFIER                                                                                 \
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "   \
    "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for " \
    "validation is '[A-Za-z_][A-Za-z0-9_]*')"

static void identifier_check(struct sl_field_errs *e, const struct sl_path *at, const char *s) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    if (strlen(s) > MAX_ID)
        sl_field_too_long(e, at, MAX_ID);
    if (!*s || (*s >= '0' && *s <= '9') || s[strspn(s, letters)])
        sl_field_invalid(e, at, sl_field_value_str(s), IDENTIFIER);
}

static struct sl_syntax_errors domain_syntax(const char *s, size_t len) {
    char lower[300];
    size_t n = len < sizeof lower ? len : sizeof lower;

    for (size_t i = 0; i < n; i++)
        lower[i] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] - 'A' + 'a' : s[i]);
    return sl_syntax_subdomain(lower, n);
}

void api_device_attribute_check(struct sl_field_errs *e, const struct sl_path *at, const char *name,
                                bool whole) {
    const char *slash = strchr(name, '/');
    size_t domain = slash ? (size_t)(slash - name) : 0;

    if (!slash) {
        identifier_check(e, at, name);
        if (whole)
            sl_field_invalid(e, at, sl_field_value_str(name),
                             "a fully qualified name must be a domain and a name separated by a "
                             "slash");
        return;
    }
    if (strchr(slash + 1, '/')) /* kube-apiserver does not look at these */
        return;
    if (domain == 0) {
        sl_field_invalid(e, at, sl_field_value_str(""), "the domain must not be empty");
    } else {
        if (domain > 63)
            sl_field_too_long(e, at, 63);
        api_word_check(e, at, name, domain, domain_syntax);
    }
    if (!slash[1])
        sl_field_invalid(e, at, sl_field_value_str(""), "the name must not be empty");
    else
        identifier_check(e, at, slash + 1);
}

void api_device_pool_check(struct sl_field_errs *e, const struct sl_path *at, const char *name) {
    if (!*name) {
        sl_field_required(e, at, "");
        return;
    }
    if (strlen(name) > MAX_POOL)
        sl_field_too_long(e, at, MAX_POOL);
    for (const char *p = name;;) {
        const char *slash = strchr(p, '/');
        api_word_check(e, at, p, slash ? (size_t)(slash - p) : strlen(p), sl_syntax_subdomain);
        if (!slash)
            return;
        p = slash + 1;
    }
}

void api_device_binding_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *of) {
    static const char *const fields[] = {"bindingConditions", "bindingFailureConditions"};
    _cleanup_(sl_wordset_done) struct sl_wordset seen = {0};
    size_t i, n;
    yyjson_val *v;

    for (size_t f = 0; f < SL_LEN(fields); f++) {
        yyjson_val *list = sl_json_get(of, fields[f]);
        const struct sl_path *list_at = SL_PATH(at, fields[f]);
        if (!api_device_list_check(e, list_at, list, MAX_CONDITIONS))
            continue;
        yyjson_arr_foreach (list, i, n, v) {
            sl_syntax_check_key_of(e, SL_PATH_AT(list_at, i), v);
        }
    }
    for (size_t f = 0; f < SL_LEN(fields); f++) {
        _cleanup_(sl_wordset_done) struct sl_wordset own = {0};
        yyjson_arr_foreach (sl_json_get(of, fields[f]), i, n, v) {
            const struct sl_path *v_at = SL_PATH_AT(SL_PATH(at, fields[f]), i);
            bool first = sl_wordset_add(&own, sl_json_text(v));
            if (!first)
                sl_field_duplicate(e, v_at, sl_field_value_str(sl_json_text(v)), "");
            if (first && !sl_wordset_add(&seen, sl_json_text(v)) && f)
                sl_field_invalid(e, v_at, sl_field_value_str(sl_json_text(v)),
                                 "bindingFailureConditions must not overlap with "
                                 "bindingConditions");
        }
    }
    for (size_t f = 0; f < SL_LEN(fields); f++)
        if (sl_json_size(sl_json_get(of, fields[f])) == 0 &&
            sl_json_size(sl_json_get(of, fields[!f])) > 0)
            sl_field_invalid(e, SL_PATH(at, fields[f]), sl_field_value_json(NULL),
                             "%s are required to use %s", fields[f], fields[!f]);
}

/* ---- devices ---- */

/* A semantic version: three numbers, and what may follow. */
static bool is_version(const char *s) {
    static const char digits[] = "0123456789", others[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ-";

    for (int part = 0; part < 3; part++) {
        size_t n = strspn(s, digits);
        if (n == 0 || (*s == '0' && n > 1))
            return false;
        s += n;
        if (part < 2 && *s++ != '.')
            return false;
    }
    for (const char *mark = "-+"; *mark; mark++) {
        if (*s != *mark)
            continue;
        do {
            size_t n = strspn(++s, others);
            bool number = strspn(s, digits) == n;
            if (n == 0 || (*mark == '-' && number && n > 1 && *s == '0'))
                return false;
            s += n;
        } while (*s == '.');
    }
    return *s == '\0';
}

static void attribute_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *a) {
    static const char *const lists[] = {"bools", "ints", "strings", "versions"}, *const values[] = {
                                                                                     "bool", "int",
                                                                                     "string",
                                                                                     "version"};
    yyjson_val *text = sl_json_get(a, "string"), *version = sl_json_get(a, "version");
    size_t there = 0;

    for (size_t i = 0; i < SL_LEN(values); i++)
        there += (size_t) !!sl_json_get(a, values[i]) + (size_t) !!sl_json_get(a, lists[i]);
    if (sl_json_view(text).n > MAX_VALUE)
        sl_field_too_long(e, SL_PATH(at, "string"), MAX_VALUE);
    if (version && !is_version(sl_json_text(version)))
        sl_field_invalid(e, SL_PATH(at, "version"), sl_field_value_text(sl_json_view(version)),
                         "must be a string compatible with semver.org spec 2.0.0");
    if (sl_json_view(version).n > MAX_VALUE)
        sl_field_too_long(e, SL_PATH(at, "version"), MAX_VALUE);
    if (there == 0)
        sl_field_invalid(e, at, sl_field_value_str(""), "exactly one value must be specified");
    else if (there > 1)
        sl_field_invalid(e, at, sl_field_value_json(a), "exactly one value must be specified");
}

static void taints_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    size_t i, n;
    yyjson_val *t;

    if (!api_device_list_check(e, at, list, MAX_TAINTS))
        return;
    yyjson_arr_foreach (list, i, n, t) {
        const struct sl_path *t_at = SL_PATH_AT(at, i), *effect_at = SL_PATH(t_at, "effect");
        const char *effect = sl_json_str(t, "effect");
        sl_syntax_check_key_of(e, SL_PATH(t_at, "key"), sl_json_get(t, "key"));
        api_word_check_at(e, t_at, t, "value", sl_syntax_label_value, false);
        if (*effect)
            api_device_effect_check(e, effect_at, effect);
        else
            sl_field_required(e, effect_at, "");
    }
}

static void counters_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *map) {
    size_t i, n;
    yyjson_val *key, *v;

    if (sl_json_size(map) == 0)
        sl_field_required(e, at, "");
    if (!api_device_list_check(e, at, map, MAX_COUNTERS))
        return;
    sl_obj_foreach (map, i, n, key, v)
        api_word_check_of(e, at, key, sl_syntax_dns_label);
}

/* Sets of counters, or what a device takes of them: each set once. */
static void sets_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list,
                       const char *name, size_t max) {
    _cleanup_(sl_wordset_done) struct sl_wordset names = {0};
    size_t i, n;
    yyjson_val *v;

    if (!api_device_list_check(e, at, list, max))
        return;
    yyjson_arr_foreach (list, i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(at, i);
        api_word_check_at(e, v_at, v, name, sl_syntax_dns_label, true);
        counters_check(e, SL_PATH(v_at, "counters"), sl_json_get(v, "counters"));
    }
    yyjson_arr_foreach (list, i, n, v) {
        if (!sl_wordset_add(&names, sl_json_str(v, name)))
            sl_field_duplicate(e, SL_PATH_AT(at, i), sl_field_value_str(sl_json_str(v, name)), "");
    }
}

static void properties_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *d) {
    const struct sl_path *attributes_at = SL_PATH(at, "attributes"),
                         *capacity_at = SL_PATH(at, "capacity");
    yyjson_val *attributes = sl_json_get(d, "attributes"), *capacity = sl_json_get(d, "capacity"),
               *key, *v;
    size_t all = sl_json_size(attributes) + sl_json_size(capacity), i, n;

    if (all > MAX_PROPERTIES)
        sl_field_invalid(e, at, sl_field_value_int((int64_t)all),
                         "the total number of attributes and capacities must not exceed %u",
                         MAX_PROPERTIES);
    sl_obj_foreach (attributes, i, n, key, v) {
        api_device_attribute_check(e, attributes_at, sl_json_text(key), false);
        attribute_check(e, SL_PATH_KEY(attributes_at, sl_json_text(key)), v);
    }
    sl_obj_foreach (capacity, i, n, key, v) {
        api_device_attribute_check(e, capacity_at, sl_json_text(key), false);
        if (sl_json_get(v, "requestPolicy") && !sl_json_bool(d, "allowMultipleAllocations", false))
            sl_field_forbidden(
                e, SL_PATH(SL_PATH_KEY(capacity_at, sl_json_text(key)), "requestPolicy"),
                "allowMultipleAllocations must be true");
    }
}

/* ---- which nodes reach them ---- */

/* How many of the ways are given; a false or empty one is an error. */
static size_t ways_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *of,
                         bool device, struct sl_buf *set) {
    yyjson_val *node = sl_json_get(of, "nodeName"), *nodes = sl_json_get(of, "nodeSelector");
    static const char *const truths[] = {"allNodes", "perDeviceNodeSelection"};
    size_t n = 0;

    if (node && sl_json_view(node).n == 0)
        sl_field_invalid(e, SL_PATH(at, "nodeName"), sl_field_value_str(""),
                         device ? "must not be empty"
                                : "must be either unset or set to a non-empty string");
    else if (node)
        api_word_check_of(e, SL_PATH(at, "nodeName"), node, sl_syntax_subdomain);
    if (sl_json_view(node).n)
        sl_buf_printf(set, "%s`nodeName`", n++ ? ", " : "");
    if (nodes) {
        yyjson_val *terms = sl_json_get(nodes, "nodeSelectorTerms");
        const struct sl_path *nodes_at = SL_PATH(at, "nodeSelector");
        sl_buf_printf(set, "%s`nodeSelector`", n++ ? ", " : "");
        api_node_selector_check(e, nodes_at, nodes);
        if (!device && sl_json_size(terms) != 1)
            sl_field_invalid(e, SL_PATH(nodes_at, "nodeSelectorTerms"), sl_field_value_json(terms),
                             "must have exactly one node selector term");
    }
    for (size_t i = 0; i < SL_LEN(truths) - device; i++) {
        yyjson_val *v = sl_json_get(of, truths[i]);
        if (v && yyjson_get_bool(v))
            sl_buf_printf(set, "%s`%s`", n++ ? ", " : "", truths[i]);
        else if (v)
            sl_field_invalid(e, SL_PATH(at, truths[i]), sl_field_value_json(v),
                             "must be either unset or set to true");
    }
    return n;
}

static void nodes_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *of,
                        bool device) {
    static const char of_device[] =
        "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
        "`perDeviceNodeSelection` is set to true in the ResourceSlice spec",
                      of_slice[] = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
                                   "`perDeviceNodeSelection` is required";
    _cleanup_(sl_buf_done) struct sl_buf set = SL_BUF_SHORT((size_t)256),
                                         text = SL_BUF_SHORT((size_t)300);
    size_t n = ways_check(e, at, of, device, &set);

    sl_buf_printf(&text, "{%s}", sl_buf_str(&set));
    if (n == 0)
        sl_field_required(e, at, device ? of_device : of_slice);
    else if (n > 1)
        sl_field_invalid(e, at, sl_field_value_str(sl_buf_str(&text)), "%s%s",
                         device ? of_device : of_slice,
                         device ? "" : ", but multiple fields are set");
}

static void device_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *d,
                         bool each) {
    api_device_label_check(e, at, d, "name");
    properties_check(e, at, d);
    taints_check(e, SL_PATH(at, "taints"), sl_json_get(d, "taints"));
    sets_check(e, SL_PATH(at, "consumesCounters"), sl_json_get(d, "consumesCounters"), "counterSet",
               MAX_CONSUMED);
    if (each)
        nodes_check(e, at, d, true);
    else if (sl_json_get(d, "nodeName") || sl_json_get(d, "nodeSelector") ||
             sl_json_get(d, "allNodes"))
        sl_field_invalid(e, at, sl_field_value_json(NULL),
                         "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
                         "`perDeviceNodeSelection` is set to true in the ResourceSlice spec");
    api_device_binding_check(e, at, d);
}

/* ---- slices ---- */

static void pool_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *pool) {
    int64_t slices = sl_json_int(pool, "resourceSliceCount", 0),
            generation = sl_json_int(pool, "generation", 0);

    api_device_pool_check(e, SL_PATH(at, "name"), sl_json_str(pool, "name"));
    if (slices <= 0)
        sl_field_invalid(e, SL_PATH(at, "resourceSliceCount"), sl_field_value_int(slices),
                         "must be greater than zero");
    if (generation < 0)
        sl_field_invalid(e, SL_PATH(at, "generation"), sl_field_value_int(generation),
                         "must be greater than or equal to zero");
}

static void devices_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    yyjson_val *list = sl_json_get(spec, "devices"), *d;
    _cleanup_(sl_wordset_done) struct sl_wordset names = {0};
    bool each = sl_json_bool(spec, "perDeviceNodeSelection", false), more = false;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, d) {
        more = more || sl_json_size(sl_json_get(d, "taints")) ||
               sl_json_size(sl_json_get(d, "consumesCounters"));
    }
    if (!api_device_list_check(e, at, list, more ? MAX_DEVICES_WITH_MORE : MAX_DEVICES))
        return;
    yyjson_arr_foreach (list, i, n, d) {
        device_check(e, SL_PATH_AT(at, i), d, each);
    }
    yyjson_arr_foreach (list, i, n, d) {
        if (!sl_wordset_add(&names, sl_json_str(d, "name")))
            sl_field_duplicate(e, SL_PATH_AT(at, i), sl_field_value_str(sl_json_str(d, "name")),
                               "");
    }
}

static void slice_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec"), *pool_at = SL_PATH(at, "pool");
    yyjson_val *spec = sl_json_get(object, "spec"), *was = sl_json_get(c->old, "spec");
    static const char *const fixed[] = {"driver", "nodeName"};
    struct sl_field_errs *e = c->errs;

    api_driver_name_check(e, at, spec, "driver");
    pool_check(e, pool_at, sl_json_get(spec, "pool"));
    if (c->old)
        sl_field_immutable(e, SL_PATH(pool_at, "name"), sl_json_at(spec, "pool.name"),
                           sl_json_at(was, "pool.name"));
    for (size_t i = 0; c->old && i < SL_LEN(fixed); i++)
        sl_field_immutable(e, SL_PATH(at, fixed[i]), sl_json_get(spec, fixed[i]),
                           sl_json_get(was, fixed[i]));
    nodes_check(e, at, spec, false);
    if (sl_json_size(sl_json_get(spec, "sharedCounters")) &&
        sl_json_size(sl_json_get(spec, "devices")))
        sl_field_invalid(e, at, sl_field_value_str(""),
                         "only one of `sharedCounters` or `devices` is allowed");
    devices_check(e, SL_PATH(at, "devices"), spec);
    sets_check(e, SL_PATH(at, "sharedCounters"), sl_json_get(spec, "sharedCounters"), "name",
               MAX_SETS);
}

/* Taints have the time at which they came. */
static void slice_defaults(struct api_change *c) {
    yyjson_mut_val *d, *t;
    char now[SL_STAMP_TEXT];
    size_t i, n, j, m;

    (void)sl_stamp(c->now, now);
    yyjson_mut_arr_foreach (sl_json_mut_at(c->object, "spec.devices"), i, n, d) {
        yyjson_mut_arr_foreach (sl_json_mut_get(d, "taints"), j, m, t) {
            sl_json_mut_default_str(c->doc, t, "timeAdded", now);
        }
    }
}
const struct api_strategy api_device_slice_strategy = {
    .defaults = slice_defaults, .validate = slice_validate, .returns_deleted = true};
