/* SPDX-License-Identifier: Apache-2.0 */
/* ValidatingAdmissionPolicies and their bindings: stored and validated but for the types of their
 * expressions; nothing evaluates them, which the creation of a binding warns of. */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/collection/wordset.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

#define MAX_CONDITIONS 64u
#define MAX_ANNOTATIONS 20u
#define MAX_VALUE 5120u

static bool blank(const char *s) {
    return s[strspn(s, " \t\r\n")] == '\0';
}

static void kind_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *kind) {
    const char *version = sl_json_str(kind, "apiVersion"), *slash = strchr(version, '/'),
               *name = sl_json_str(kind, "kind"), *v = slash ? slash + 1 : version;
    const struct sl_path *version_at = SL_PATH(at, "apiVersion");
    struct sl_syntax_errors f;
    char lower[300];

    if (!*version) {
        sl_field_required(e, version_at, "");
    } else if (slash && strchr(slash + 1, '/')) {
        sl_field_invalid(e, version_at, sl_field_value_str(version),
                         "unexpected GroupVersion string: %s", version);
    } else {
        if (slash > version)
            sl_syntax_check_subdomain(
                e, version_at, sl_arena_strndup(e->arena, version, (size_t)(slash - version)), ",");
        f = api_word_label_1035(v, strlen(v));
        if (!*v)
            sl_field_invalid(e, version_at, sl_field_value_str(version),
                             "version must be specified");
        else if (f.n)
            sl_field_invalid(e, version_at, sl_field_value_str(v), "%s%s%s", f.v[0],
                             f.n > 1 ? "," : "", f.n > 1 ? f.v[1] : "");
    }
    if (!*name) {
        sl_field_required(e, SL_PATH(at, "kind"), "");
        return;
    }
    sl_fmt_short(lower, sizeof lower, "%s", name);
    for (char *p = lower; *p; p++)
        *p = (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p);
    f = api_word_label_1035(lower, strlen(lower));
    if (f.n)
        sl_field_invalid(e, SL_PATH(at, "kind"), sl_field_value_str(name),
                         "may have mixed case, but should otherwise match: %s%s%s", f.v[0],
                         f.n > 1 ? "," : "", f.n > 1 ? f.v[1] : "");
}

/* ---- which requests ---- */

static bool has_word(yyjson_val *list, const char *word) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v) {
        if (strcmp(sl_json_text(v), word) == 0)
            return true;
    }
    return false;
}

/* A list that is not empty, and has "*" alone or other words. */
static void words_check(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *rule,
                        const char *field, const char *what) {
    yyjson_val *list = sl_json_get(rule, field);

    if (sl_json_size(list) == 0)
        sl_field_required(e, SL_PATH(up, field), "");
    else if (sl_json_size(list) > 1 && has_word(list, "*"))
        sl_field_invalid(e, SL_PATH(up, field), sl_field_value_json(list),
                         "if '*' is present, must not specify other %s", what);
}

/* "a/b", with one of the two as "*": is that in front of item 'end'? */
static bool covered(yyjson_val *list, size_t end, const char *resource, const char *sub) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v) {
        const char *s = sl_json_text(v), *slash = strchr(s, '/');
        if (i < end && slash && strcmp(slash + 1, sub) == 0 &&
            strlen(resource) == (size_t)(slash - s) &&
            memcmp(s, resource, (size_t)(slash - s)) == 0)
            return true;
    }
    return false;
}

static void resources_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    bool plain = false;
    size_t i, n;
    yyjson_val *v;

    if (sl_json_size(list) == 0)
        sl_field_required(e, at, "");
    yyjson_arr_foreach (list, i, n, v) {
        const char *s = sl_json_text(v), *slash = strchr(s, '/');
        if (!*s)
            sl_field_required(e, SL_PATH_AT(at, i), "");
        if (!*s || !slash) {
            plain = *s ? strcmp(s, "*") != 0 : plain;
            continue;
        }
        const char *resource = sl_arena_strndup(e->arena, s, (size_t)(slash - s));
        if (covered(list, i, resource, "*"))
            sl_field_invalid(e, SL_PATH_AT(at, i), sl_field_value_str(s),
                             "if '%s/*' is present, must not specify %s", resource, s);
        if (covered(list, i, "*", slash + 1))
            sl_field_invalid(e, SL_PATH_AT(at, i), sl_field_value_str(s),
                             "if '*/%s' is present, must not specify %s", slash + 1, s);
    }
    if (sl_json_size(list) > 1 && has_word(list, "*/*"))
        sl_field_invalid(e, at, sl_field_value_json(list),
                         "if '*/*' is present, must not specify other resources");
    if (plain && has_word(list, "*"))
        sl_field_invalid(e, at, sl_field_value_json(list),
                         "if '*' is present, must not specify other resources without "
                         "subresources");
}

static void rule_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *rule) {
    static const char *const operations[] = {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"},
                             *const scopes[] = {"*", "Cluster", "Namespaced", NULL};
    _cleanup_(sl_wordset_done) struct sl_wordset names = {0};
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (sl_json_get(rule, "resourceNames"), i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(SL_PATH(at, "resourceNames"), i);
        api_word_check_of(e, v_at, v, api_word_segment);
        if (!sl_wordset_add(&names, sl_json_text(v)))
            sl_field_duplicate(e, v_at, sl_field_value_str(sl_json_text(v)), "");
    }
    words_check(e, at, rule, "operations", "operations");
    yyjson_arr_foreach (sl_json_get(rule, "operations"), i, n, v) {
        bool known = false;
        for (size_t k = 0; k < SL_LEN(operations); k++)
            known = known || strcmp(operations[k], sl_json_text(v)) == 0;
        if (!known)
            sl_field_unsupported(e, SL_PATH_AT(SL_PATH(at, "operations"), i),
                                 sl_field_value_str(sl_json_text(v)), operations,
                                 SL_LEN(operations));
    }
    words_check(e, at, rule, "apiGroups", "API groups");
    words_check(e, at, rule, "apiVersions", "API versions");
    yyjson_arr_foreach (sl_json_get(rule, "apiVersions"), i, n, v) {
        if (sl_json_view(v).n == 0)
            sl_field_required(e, SL_PATH_AT(SL_PATH(at, "apiVersions"), i), "");
    }
    resources_check(e, SL_PATH(at, "resources"), sl_json_get(rule, "resources"));
    api_check_one_of(e, at, rule, "scope", scopes, false);
}

static void match_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *match) {
    static const char *const policies[] = {"Equivalent", "Exact", NULL},
                             *const lists[] = {"resourceRules", "excludeResourceRules"},
                             *const selectors[] = {"namespaceSelector", "objectSelector"};
    size_t i, n;
    yyjson_val *v;

    if (!match)
        return;
    api_check_one_of(e, at, match, "matchPolicy", policies, false);
    for (size_t s = 0; s < SL_LEN(selectors); s++)
        sl_syntax_check_selector(e, SL_PATH(at, selectors[s]), sl_json_get(match, selectors[s]));
    for (size_t l = 0; l < SL_LEN(lists); l++)
        yyjson_arr_foreach (sl_json_get(match, lists[l]), i, n, v) {
            rule_check(e, SL_PATH_AT(SL_PATH(at, lists[l]), i), v);
        }
}

/* ---- policies ---- */

static void conditions_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    _cleanup_(sl_wordset_done) struct sl_wordset names = {0};
    size_t i, n;
    yyjson_val *v;

    if (sl_json_size(list) > MAX_CONDITIONS)
        sl_field_too_many(e, at, sl_json_size(list), MAX_CONDITIONS);
    yyjson_arr_foreach (list, i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(at, i);
        const char *name = sl_json_str(v, "name");
        if (blank(sl_json_str(v, "expression")))
            sl_field_required(e, SL_PATH(v_at, "expression"), "");
        api_word_check_at(e, v_at, v, "name", sl_syntax_label_key, true);
        if (*name && !sl_wordset_add(&names, name))
            sl_field_duplicate(e, SL_PATH(v_at, "name"), sl_field_value_str(name), "");
    }
}

static bool is_identifier(const char *s) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char *const reserved[] = {
        "true",     "false",   "null",      "in",       "as",  "break",  "const",
        "continue", "else",    "for",       "function", "if",  "import", "let",
        "loop",     "package", "namespace", "return",   "var", "void",   "while"};

    for (size_t i = 0; i < SL_LEN(reserved); i++)
        if (strcmp(reserved[i], s) == 0)
            return false;
    return *s && strchr(letters, *s) &&
           s[strspn(s, "0123456789abcdefghijklmnopqrstuvwxyz"
                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")] == '\0';
}

static void variable_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    const char *name = sl_json_str(v, "name");

    if (blank(name))
        sl_field_required(e, SL_PATH(at, "name"), "name is not specified");
    else if (!is_identifier(name))
        sl_field_invalid(e, SL_PATH(at, "name"), sl_field_value_str(name),
                         "must be a valid CEL identifier");
    if (blank(sl_json_str(v, "expression")))
        sl_field_required(e, SL_PATH(at, "expression"), "expression is not specified");
}

static void validation_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    static const char *const reasons[] = {"Forbidden", "Invalid", "RequestEntityTooLarge", NULL};
    const char *message = sl_json_str(v, "message"), *made = sl_json_str(v, "messageExpression"),
               *begin = message + strspn(message, " \t\r\n"), *line = strpbrk(begin, "\r\n");

    if (blank(sl_json_str(v, "expression")))
        sl_field_required(e, SL_PATH(at, "expression"), "expression is not specified");
    if (*made && blank(made))
        sl_field_invalid(e, SL_PATH(at, "messageExpression"), sl_field_value_str(made),
                         "must be non-empty if specified");
    if (*message && blank(message))
        sl_field_invalid(e, SL_PATH(at, "message"), sl_field_value_str(message),
                         "must be non-empty if specified");
    else if (line && !blank(line))
        sl_field_invalid(e, SL_PATH(at, "message"), sl_field_value_str(message),
                         "must not contain line breaks");
    api_check_one_of(e, at, v, "reason", reasons, false);
}

static void annotations_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list,
                              const char *name) {
    _cleanup_(sl_wordset_done) struct sl_wordset keys = {0};
    size_t i, n;
    yyjson_val *v;

    if (sl_json_size(list) > MAX_ANNOTATIONS)
        sl_field_invalid(e, at, sl_field_value_json(list),
                         "must not have more than %u auditAnnotations", MAX_ANNOTATIONS);
    yyjson_arr_foreach (list, i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(at, i);
        const char *key = sl_json_str(v, "key"), *value = sl_json_str(v, "valueExpression");
        const char *full = sl_arena_printf(e->arena, "%s/%s", name, key);
        api_word_check(e, SL_PATH(v_at, "key"), full, strlen(full), sl_syntax_label_key);
        if (blank(value))
            sl_field_required(e, SL_PATH(v_at, "valueExpression"),
                              "valueExpression is not specified");
        else if (strlen(value) > MAX_VALUE)
            sl_field_required(e, SL_PATH(v_at, "valueExpression"),
                              "must not exceed 5120 bytes in length");
        if (!sl_wordset_add(&keys, key))
            sl_field_duplicate(e, SL_PATH(v_at, "key"), sl_field_value_str(key), "");
    }
}

static void policy_validate(struct api_change *c, yyjson_val *object) {
    static const char *const failures[] = {"Fail", "Ignore", NULL};
    static const char none[] = "validations or auditAnnotations must contain at least one item";
    const struct sl_path *at = SL_PATH(NULL, "spec"), *match_at = SL_PATH(at, "matchConstraints"),
                         *notes_at = SL_PATH(at, "auditAnnotations");
    yyjson_val *spec = sl_json_get(object, "spec"), *match = sl_json_get(spec, "matchConstraints"),
               *kind = sl_json_get(spec, "paramKind"), *rules = sl_json_get(spec, "validations"),
               *notes = sl_json_get(spec, "auditAnnotations"), *v;
    struct sl_field_errs *e = c->errs;
    size_t i, n;

    if (!api_change_is_object(c)) {
        sl_syntax_check_conditions(e, SL_PATH(SL_PATH(NULL, "status"), "conditions"),
                                   sl_json_at(object, "status.conditions"));
        return;
    }
    api_check_one_of(e, at, spec, "failurePolicy", failures, false);
    if (kind)
        kind_check(e, SL_PATH(at, "paramKind"), kind);
    if (!match)
        sl_field_required(e, match_at, "");
    match_check(e, match_at, match);
    if (match && sl_json_size(sl_json_get(match, "resourceRules")) == 0)
        sl_field_required(e, SL_PATH(match_at, "resourceRules"), "");
    conditions_check(e, SL_PATH(at, "matchConditions"), sl_json_get(spec, "matchConditions"));
    yyjson_arr_foreach (sl_json_get(spec, "variables"), i, n, v) {
        variable_check(e, SL_PATH_AT(SL_PATH(at, "variables"), i), v);
    }
    if (sl_json_size(rules) + sl_json_size(notes) == 0) {
        sl_field_required(e, SL_PATH(at, "validations"), none);
        sl_field_required(e, notes_at, none);
    }
    yyjson_arr_foreach (rules, i, n, v) {
        validation_check(e, SL_PATH_AT(SL_PATH(at, "validations"), i), v);
    }
    annotations_check(e, notes_at, notes, sl_json_str(object, "metadata.name"));
}
static const struct api_strategy policy_strategy = {.prepare = api_status_keeps_meta,
                                                    .validate = policy_validate,
                                                    .meta = SL_META_PLAIN,
                                                    .needs_version = true};

/* ---- bindings ---- */

static void param_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref) {
    static const char *const actions[] = {"Deny", "Allow", NULL};
    static const char both[] = "name and selector are mutually exclusive";
    yyjson_val *name = sl_json_get(ref, "name"), *selector = sl_json_get(ref, "selector");
    bool named = sl_json_view(name).n > 0;

    if (!ref)
        return;
    if (named)
        api_word_check_of(e, SL_PATH(at, "name"), name, api_word_segment);
    if (named && selector)
        sl_field_forbidden(e, SL_PATH(at, "name"), both);
    sl_syntax_check_selector(e, SL_PATH(at, "selector"), selector);
    if (named && selector)
        sl_field_forbidden(e, SL_PATH(at, "selector"), both);
    if (!named && !selector)
        sl_field_required(e, at, "one of name or selector must be specified");
    api_check_one_of(e, at, ref, "parameterNotFoundAction", actions, true);
}

static void actions_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    static const char *const actions[] = {"Audit", "Deny", "Warn"};
    _cleanup_(sl_wordset_done) struct sl_wordset seen = {0};
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v) {
        const char *action = sl_json_text(v);
        bool known = false;
        for (size_t a = 0; a < SL_LEN(actions); a++)
            known = known || strcmp(action, actions[a]) == 0;
        if (!known)
            sl_field_unsupported(e, SL_PATH_AT(at, i), sl_field_value_str(action), actions,
                                 SL_LEN(actions));
        if (!sl_wordset_add(&seen, action))
            sl_field_duplicate(e, SL_PATH_AT(at, i), sl_field_value_str(action), "");
    }
    if (has_word(list, "Deny") && has_word(list, "Warn"))
        sl_field_invalid(e, at, sl_field_value_json(list),
                         "must not contain both Deny and Warn (repeating the same validation "
                         "failure information in the API response and headers serves no purpose)");
    if (sl_json_size(list) == 0)
        sl_field_required(e, at, "at least one validation action is required");
}

static void binding_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(object, "spec");

    api_word_check_at(c->errs, at, spec, "policyName", sl_syntax_subdomain, true);
    param_check(c->errs, SL_PATH(at, "paramRef"), sl_json_get(spec, "paramRef"));
    match_check(c->errs, SL_PATH(at, "matchResources"), sl_json_get(spec, "matchResources"));
    actions_check(c->errs, SL_PATH(at, "validationActions"),
                  sl_json_get(spec, "validationActions"));
    if (!c->errs->n)
        api_change_warn(c, "spec.policyName: sluice up ignores ValidatingAdmissionPolicies: no "
                           "request is checked by their rules");
}
static const struct api_strategy binding_strategy = {
    .validate = binding_validate, .meta = SL_META_PLAIN, .needs_version = true};

#define ADMISSION .group = "admissionregistration.k8s.io", .version = "v1"

const struct api_builtin api_builtin_policies[] = {
    {ADMISSION, .kind = "ValidatingAdmissionPolicy", .plural = "validatingadmissionpolicies",
     .categories = "api-extensions", .status = true, .strategy = &policy_strategy},
    {ADMISSION, .kind = "ValidatingAdmissionPolicyBinding",
     .plural = "validatingadmissionpolicybindings", .categories = "api-extensions",
     .strategy = &binding_strategy},
    {0},
};
