/* SPDX-License-Identifier: Apache-2.0 */
/* Flow schemas and priority levels: stored and validated; requests are not classified. */
#include <string.h>

#include "cluster/apiserver/firsts.h"
#include "cluster/apiserver/kinds/kinds.h"
#include "lib/json/json.h"

#define MAX_PRECEDENCE 10000
#define MAX_QUEUES 10000000
#define MAX_HASH_BITS 60

static bool has_word(const char *const *words, size_t n, const char *word) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

static bool has_all(yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v) {
        if (strcmp(sl_json_text(v), "*") == 0)
            return true;
    }
    return false;
}

/* Objects that a cluster cannot do without are what they are; but for the shares of "exempt". */
static void mandatory_check(struct api_change *c, const struct sl_path *at, yyjson_val *spec) {
    static const char *const but[] = {"exempt", NULL}, *const none[] = {NULL};
    bool level = strcmp(c->kind->kind, "PriorityLevelConfiguration") == 0;
    bool exempt = level && strcmp(c->name, "exempt") == 0;

    if (strcmp(c->name, "exempt") != 0 && strcmp(c->name, "catch-all") != 0)
        return;
    _cleanup_(sl_json_docp) yyjson_doc *fixed = api_first_object(c->kind, c->name);
    if (fixed && !sl_json_same_but(spec, sl_json_get(yyjson_doc_get_root(fixed), "spec"),
                                   exempt ? but : none))
        sl_field_invalid(
            c->errs, at, sl_field_value_json(spec),
            exempt ? "spec of '%s' except the 'spec.exempt' field must equal the fixed value"
                   : "spec of '%s' must equal the fixed value",
            c->name);
}

static void conditions_check(struct sl_field_errs *e, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "status"), "conditions");
    yyjson_val *list = sl_json_at(object, "status.conditions"), *v;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, v) {
        const char *type = sl_json_str(v, "type");
        if (sl_json_find(list, "type", type) != v && *type)
            sl_field_duplicate(e, SL_PATH(SL_PATH_AT(at, i), "type"), sl_field_value_str(type), "");
        if (!*type)
            sl_field_required(e, SL_PATH(SL_PATH_AT(at, i), "type"), "");
    }
}

/* ---- flow schemas ---- */

/* Of these three exactly the one that the kind names is there. */
static const struct {
    const char *kind, *field, *needed, *forbidden;
} subjects[] = {
    {"User", "user", "user is required when subject kind is 'User'",
     "user is forbidden when subject kind is not 'User'"},
    {"ServiceAccount", "serviceAccount",
     "serviceAccount is required when subject kind is 'ServiceAccount'",
     "serviceAccount is forbidden when subject kind is not 'ServiceAccount'"},
    {"Group", "group", "group is required when subject kind is 'Group'",
     "group is forbidden when subject kind is not 'Group'"},
};

static void account_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *account) {
    yyjson_val *ns = sl_json_get(account, "namespace");

    if (strcmp(sl_json_str(account, "name"), "*") != 0)
        api_word_check_at(e, at, account, "name", sl_syntax_subdomain, true);
    if (sl_json_view(ns).n)
        api_word_check_of(e, SL_PATH(at, "namespace"), ns, sl_syntax_dns_label);
    else
        sl_field_required(e, SL_PATH(at, "namespace"),
                          "must specify namespace for service account");
}

static void subject_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *subject) {
    static const char *const kinds[] = {"Group", "ServiceAccount", "User"};
    const char *kind = sl_json_str(subject, "kind");

    if (!has_word(kinds, SL_LEN(kinds), kind)) {
        sl_field_unsupported(e, SL_PATH(at, "kind"), sl_field_value_str(kind), kinds,
                             SL_LEN(kinds));
        return;
    }
    for (size_t i = 0; i < SL_LEN(subjects); i++) {
        yyjson_val *is = sl_json_get(subject, subjects[i].field);
        if (strcmp(kind, subjects[i].kind) != 0)
            continue;
        if (!is)
            sl_field_required(e, SL_PATH(at, subjects[i].field), subjects[i].needed);
        else if (strcmp(kind, "ServiceAccount") == 0)
            account_check(e, SL_PATH(at, subjects[i].field), is);
        else if (!*sl_json_str(is, "name"))
            sl_field_required(e, SL_PATH(SL_PATH(at, subjects[i].field), "name"), "");
    }
    /* In another order: the account comes before the user where the kind is Group. */
    for (size_t i = 0; i < SL_LEN(subjects); i++) {
        size_t s = strcmp(kind, "Group") == 0 && i < 2 ? 1 - i : i;
        if (strcmp(kind, subjects[s].kind) != 0 && sl_json_get(subject, subjects[s].field))
            sl_field_forbidden(e, SL_PATH(at, subjects[s].field), "%s", subjects[s].forbidden);
    }
}

static void verbs_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    static const char *const verbs[] = {"create", "delete", "deletecollection", "get",  "list",
                                        "patch",  "proxy",  "update",           "watch"};
    bool known = true;
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v) {
        known = known && has_word(verbs, SL_LEN(verbs), sl_json_text(v));
    }
    if (sl_json_size(list) == 0)
        sl_field_required(e, at, "verbs must contain at least one value");
    else if (has_all(list) && sl_json_size(list) > 1)
        sl_field_invalid(e, at, sl_field_value_json(list),
                         "if '*' is present, must not specify other verbs");
    else if (!has_all(list) && !known)
        sl_field_unsupported(e, at, sl_field_value_json(list), verbs, SL_LEN(verbs));
}

/* Why a path may not be in a rule; NULL: it may. */
static const char *path_fault(const char *path) {
    const char *star = strchr(path, '*');
    size_t len = strlen(path);

    return !*path                   ? "must not be empty"
           : strcmp(path, "/") == 0 ? NULL
           : *path != '/'           ? "must start with slash"
           : strchr(path, ' ')      ? "must not contain white-space"
           : strstr(path, "//")     ? "must not contain double slash"
           : star && (star[1] || strcmp(path + len - 2, "/*") != 0)
               ? "wildcard can only do suffix matching"
               : NULL;
}

static void urls_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;

    if (sl_json_size(list) == 0)
        sl_field_required(e, at, "nonResourceURLs must contain at least one value");
    else if (has_all(list) && sl_json_size(list) > 1)
        sl_field_invalid(e, at, sl_field_value_json(list),
                         "if '*' is present, must not specify other non-resource URLs");
    if (has_all(list))
        return;
    yyjson_arr_foreach (list, i, n, v) {
        const char *fault = path_fault(sl_json_text(v));
        if (fault)
            sl_field_invalid(e, SL_PATH_AT(at, i), sl_field_value_str(sl_json_text(v)), "%s",
                             fault);
    }
}

/* A list that has "*" alone, or other words. */
static void words_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list,
                        const char *missing, const char *others) {
    if (sl_json_size(list) == 0)
        sl_field_required(e, at, missing);
    else if (sl_json_size(list) > 1 && has_all(list))
        sl_field_invalid(e, at, sl_field_value_json(list),
                         "if '*' is present, must not specify other %s", others);
}

static void spaces_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *rule) {
    yyjson_val *list = sl_json_get(rule, "namespaces"), *v;
    size_t i, n;

    if (sl_json_size(list) == 0 && !sl_json_bool(rule, "clusterScope", false)) {
        sl_field_required(e, at,
                          "resource rules that are not cluster scoped must supply at least one "
                          "namespace");
        return;
    }
    if (has_all(list)) {
        words_check(e, at, list, "", "namespaces");
        return;
    }
    yyjson_arr_foreach (list, i, n, v) {
        struct sl_text t = sl_json_view(v);
        struct sl_syntax_errors f = sl_syntax_dns_label(t.s, t.n);
        for (uint32_t k = 0; k < f.n; k++)
            sl_field_invalid(e, SL_PATH_AT(at, i), sl_field_value_text(t),
                             "each member of this list must be '*' or a DNS-1123 label; %s",
                             f.v[k]);
    }
}

static void rule_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *rule) {
    const struct sl_path *resources_at = SL_PATH(at, "resourceRules"),
                         *others_at = SL_PATH(at, "nonResourceRules");
    yyjson_val *who = sl_json_get(rule, "subjects"),
               *resources = sl_json_get(rule, "resourceRules"),
               *others = sl_json_get(rule, "nonResourceRules"), *v;
    size_t i, n;

    if (sl_json_size(who) == 0)
        sl_field_required(e, SL_PATH(at, "subjects"), "subjects must contain at least one value");
    yyjson_arr_foreach (who, i, n, v) {
        subject_check(e, SL_PATH_AT(SL_PATH(at, "subjects"), i), v);
    }
    if (sl_json_size(resources) + sl_json_size(others) == 0)
        sl_field_required(e, at,
                          "at least one of resourceRules and nonResourceRules has to be non-empty");
    yyjson_arr_foreach (resources, i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(resources_at, i);
        verbs_check(e, SL_PATH(v_at, "verbs"), sl_json_get(v, "verbs"));
        words_check(e, SL_PATH(v_at, "apiGroups"), sl_json_get(v, "apiGroups"),
                    "resource rules must supply at least one api group", "api groups");
        words_check(e, SL_PATH(v_at, "resources"), sl_json_get(v, "resources"),
                    "resource rules must supply at least one resource", "resources");
        spaces_check(e, SL_PATH(v_at, "namespaces"), v);
    }
    yyjson_arr_foreach (others, i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(others_at, i);
        verbs_check(e, SL_PATH(v_at, "verbs"), sl_json_get(v, "verbs"));
        urls_check(e, SL_PATH(v_at, "nonResourceURLs"), sl_json_get(v, "nonResourceURLs"));
    }
}

static void flow_validate(struct api_change *c, yyjson_val *object) {
    static const char *const methods[] = {"ByNamespace", "ByUser"};
    const struct sl_path *at = SL_PATH(NULL, "spec"),
                         *level_at = SL_PATH(at, "priorityLevelConfiguration"),
                         *order_at = SL_PATH(at, "matchingPrecedence");
    yyjson_val *spec = sl_json_get(object, "spec"),
               *method = sl_json_get(spec, "distinguisherMethod"),
               *level = sl_json_get(spec, "priorityLevelConfiguration"), *v;
    int64_t order = sl_json_int(spec, "matchingPrecedence", 0);
    struct sl_field_errs *e = c->errs;
    size_t i, n;

    if (!api_change_is_object(c)) {
        conditions_check(e, object);
        return;
    }
    if (order <= 0)
        sl_field_invalid(e, order_at, sl_field_value_int(order), "must be a positive value");
    if (order > MAX_PRECEDENCE)
        sl_field_invalid(e, order_at, sl_field_value_int(order), "must not be greater than %d",
                         MAX_PRECEDENCE);
    if (order == 1 && strcmp(sl_json_str(object, "metadata.name"), "exempt") != 0)
        sl_field_invalid(e, order_at, sl_field_value_int(order),
                         "only the schema named 'exempt' may have matchingPrecedence 1");
    if (method && !has_word(methods, SL_LEN(methods), sl_json_str(method, "type")))
        sl_field_unsupported(e, SL_PATH(SL_PATH(at, "distinguisherMethod"), "type"),
                             sl_field_value_json(method), methods, SL_LEN(methods));
    if (*sl_json_str(level, "name"))
        api_word_check_at(e, level_at, level, "name", sl_syntax_subdomain, true);
    else
        sl_field_required(e, SL_PATH(level_at, "name"), "must reference a priority level");
    yyjson_arr_foreach (sl_json_get(spec, "rules"), i, n, v) {
        rule_check(e, SL_PATH_AT(SL_PATH(at, "rules"), i), v);
    }
    mandatory_check(c, at, spec);
    conditions_check(e, object);
}
static const struct api_strategy flow_strategy = {
    .prepare = api_status_keeps_meta, .validate = flow_validate, .meta = SL_META_PLAIN};

/* ---- priority levels ---- */

/* Choosing so many of so many queues takes more bits than a hash has. */
static bool too_many_bits(int64_t queues, int64_t hand) {
    unsigned __int128 product = 1;

    for (int64_t i = 0; i < hand; i++) {
        product *= (unsigned __int128)(queues - i);
        if (product > (unsigned __int128)1 << MAX_HASH_BITS)
            return true;
    }
    return false;
}

static void queuing_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *queuing) {
    int64_t queues = sl_json_int(queuing, "queues", 0), hand = sl_json_int(queuing, "handSize", 0),
            length = sl_json_int(queuing, "queueLengthLimit", 0);
    const struct sl_path *hand_at = SL_PATH(at, "handSize");

    if (length <= 0)
        sl_field_invalid(e, SL_PATH(at, "queueLengthLimit"), sl_field_value_int(length),
                         "must be positive");
    if (queues <= 0)
        sl_field_invalid(e, SL_PATH(at, "queues"), sl_field_value_int(queues), "must be positive");
    else if (queues > MAX_QUEUES)
        sl_field_invalid(e, SL_PATH(at, "queues"), sl_field_value_int(queues),
                         "must not be greater than %d", MAX_QUEUES);
    if (hand <= 0)
        sl_field_invalid(e, hand_at, sl_field_value_int(hand), "must be positive");
    else if (hand > queues)
        sl_field_invalid(e, hand_at, sl_field_value_int(hand),
                         "should not be greater than queues (%lld)", (long long)queues);
    else if (too_many_bits(queues, hand))
        sl_field_invalid(e, hand_at, sl_field_value_int(hand),
                         "required entropy bits of deckSize %lld and handSize %lld should not be "
                         "greater than %d",
                         (long long)queues, (long long)hand, MAX_HASH_BITS);
}

static void response_check(struct sl_field_errs *e, const struct sl_path *at,
                           yyjson_val *response) {
    static const char *const types[] = {"Queue", "Reject"};
    yyjson_val *queuing = sl_json_get(response, "queuing");
    const char *type = sl_json_str(response, "type");

    if (!*type)
        sl_field_required(e, SL_PATH(at, "type"), "");
    else if (!has_word(types, SL_LEN(types), type))
        sl_field_unsupported(e, SL_PATH(at, "type"), sl_field_value_str(type), types,
                             SL_LEN(types));
    else if (strcmp(type, "Reject") == 0 && queuing)
        sl_field_forbidden(e, SL_PATH(at, "queuing"),
                           "must be nil if limited.limitResponse.type is not Limited");
    else if (strcmp(type, "Queue") == 0 && !queuing)
        sl_field_required(e, SL_PATH(at, "queuing"),
                          "must not be empty if limited.limitResponse.type is Limited");
    else if (queuing)
        queuing_check(e, SL_PATH(at, "queuing"), queuing);
}

/* Of both types. */
static void shares_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *of) {
    int64_t shares = sl_json_int(of, "nominalConcurrencyShares", 0);

    if (shares < 0)
        sl_field_invalid(e, SL_PATH(at, "nominalConcurrencyShares"), sl_field_value_int(shares),
                         "must be a non-negative integer");
}
static void lendable_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *of) {
    int64_t percent = sl_json_int(of, "lendablePercent", 0);

    if (percent < 0 || percent > 100)
        sl_field_invalid(e, SL_PATH(at, "lendablePercent"), sl_field_value_int(percent),
                         "must be between 0 and 100, inclusive");
}

static void limited_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *limited) {
    int64_t borrow = sl_json_int(limited, "borrowingLimitPercent", 0);

    shares_check(e, at, limited);
    response_check(e, SL_PATH(at, "limitResponse"), sl_json_get(limited, "limitResponse"));
    lendable_check(e, at, limited);
    if (borrow < 0)
        sl_field_invalid(e, SL_PATH(at, "borrowingLimitPercent"), sl_field_value_int(borrow),
                         "if specified, must be a non-negative integer");
}

static void level_validate(struct api_change *c, yyjson_val *object) {
    static const char *const types[] = {"Exempt", "Limited"};
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(object, "spec"), *exempt = sl_json_get(spec, "exempt"),
               *limited = sl_json_get(spec, "limited");
    const char *type = sl_json_str(spec, "type");
    bool is_exempt = strcmp(type, "Exempt") == 0,
         named = strcmp(sl_json_str(object, "metadata.name"), "exempt") == 0;
    struct sl_field_errs *e = c->errs;

    if (!api_change_is_object(c)) {
        conditions_check(e, object);
        return;
    }
    if (is_exempt != named)
        sl_field_invalid(e, SL_PATH(at, "type"), sl_field_value_str(type),
                         "must be 'Exempt' if and only if `name` is 'exempt'");
    if (!*type) {
        sl_field_required(e, SL_PATH(at, "type"), "");
    } else if (!has_word(types, SL_LEN(types), type)) {
        sl_field_unsupported(e, SL_PATH(at, "type"), sl_field_value_str(type), types,
                             SL_LEN(types));
    } else if (is_exempt) {
        if (limited)
            sl_field_forbidden(e, SL_PATH(at, "limited"), "must be nil if the type is not Limited");
        shares_check(e, SL_PATH(at, "exempt"), exempt);
        lendable_check(e, SL_PATH(at, "exempt"), exempt);
    } else {
        if (exempt)
            sl_field_forbidden(e, SL_PATH(at, "exempt"), "must be nil if the type is Limited");
        if (limited)
            limited_check(e, SL_PATH(at, "limited"), limited);
        else
            sl_field_required(e, SL_PATH(at, "limited"), "must not be empty when type is Limited");
    }
    mandatory_check(c, at, spec);
    conditions_check(e, object);
}
static const struct api_strategy level_strategy = {
    .prepare = api_status_keeps_meta, .validate = level_validate, .meta = SL_META_PLAIN};

#define FLOW .group = "flowcontrol.apiserver.k8s.io", .version = "v1"

const struct api_builtin api_builtin_flowcontrol[] = {
    {FLOW, .kind = "FlowSchema", .plural = "flowschemas", .status = true,
     .strategy = &flow_strategy},
    {FLOW, .kind = "PriorityLevelConfiguration", .plural = "prioritylevelconfigurations",
     .status = true, .strategy = &level_strategy},
    {0},
};
