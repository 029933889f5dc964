/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/types/syntax.h"

#include <string.h>

#include "core/model/labels.h"
#include "core/model/names.h"
#include "lib/json/json.h"

/* ---- messages ---- */

#define ALNUM_ENDS "and must start and end with an alphanumeric character"
#define LABEL_FMT "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define KEY_FMT "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define PATH_FMT "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
#define REASON_FMT "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

#define EMPTY "must be non-empty"
/* Kubernetes counts bytes of labels, and "characters" of names: both are bytes. */
#define MAX_63 "must be no more than 63 bytes"
#define MAX_253 "must be no more than 253 bytes"
#define SUBDOMAIN                                                                                  \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', " ALNUM_ENDS " (e.g. 'example.com', regex used for validation is '" LABEL_FMT            \
    "(\\." LABEL_FMT ")*')"
#define DNS_LABEL                                                                                  \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "            \
    "'-', " ALNUM_ENDS " (e.g. 'my-name',  or '123-abc', regex used for validation is '" LABEL_FMT \
    "')"
#define KEY_NAME                                                                                   \
    "must consist of alphanumeric characters, '-', '_' or '.', " ALNUM_ENDS                        \
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '" KEY_FMT "')"
#define KEY                                                                                        \
    "a valid label key " KEY_NAME                                                                  \
    " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
#define VALUE                                                                                      \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', " ALNUM_ENDS                                                                             \
    " (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(" KEY_FMT       \
    ")?')"
#define REASON                                                                                     \
    "a condition reason must start with alphabetic character, optionally followed by a string of " \
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. "  \
    "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex " \
    "used for validation is '" REASON_FMT "')"

static bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

static char to_lower(char c) {
    if (is_upper(c))
        return (char)(c - 'A' + 'a');
    return c;
}

static bool is_alpha(char c) {
    return is_lower(c) || is_upper(c);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_alnum(char c) {
    return is_alpha(c) || is_digit(c);
}

static bool is_one_of(char c, const char *set) {
    return c != '\0' && strchr(set, c);
}

static bool is_reason(const char *s, size_t len) {
    if (len == 0 || !is_alpha(s[0]) || is_one_of(s[len - 1], ",:"))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_alnum(s[i]) && !is_one_of(s[i], "_,:"))
            return false;
    return true;
}

static void add_syntax_error(struct sl_syntax_errors *f, const char *text) {
    f->v[f->n++] = text;
}

struct sl_syntax_errors sl_syntax_subdomain(const char *s, size_t len) {
    struct sl_syntax_errors f = {0};

    if (len > 253)
        add_syntax_error(&f, "must be no more than 253 characters");
    if (!model_name_is_domain(s, len))
        add_syntax_error(&f, SUBDOMAIN);
    return f;
}

struct sl_syntax_errors sl_syntax_dns_label(const char *s, size_t len) {
    struct sl_syntax_errors f = {0};
    bool dots = memchr(s, '.', len);

    if (len > SL_LABEL_MAX)
        add_syntax_error(&f, "must be no more than 63 characters");
    if (dots || !model_name_is_domain(s, len))
        add_syntax_error(&f, dots && model_name_is_subdomain(s, len) ? "must not contain dots"
                                                                     : DNS_LABEL);
    return f;
}

struct sl_syntax_errors sl_syntax_label_key(const char *s, size_t len) {
    const char *slash = memchr(s, '/', len), *name = slash ? slash + 1 : s;
    size_t n_name = (size_t)(s + len - name);
    struct sl_syntax_errors f = {0};

    if (memchr(name, '/', n_name)) {
        add_syntax_error(&f, KEY);
        return f;
    }
    if (slash == s)
        add_syntax_error(&f, "prefix part " EMPTY);
    if (slash > s) {
        size_t n_prefix = (size_t)(slash - s);
        if (n_prefix > 253)
            add_syntax_error(&f, "prefix part " MAX_253);
        if (!model_name_is_domain(s, n_prefix))
            add_syntax_error(&f, "prefix part " SUBDOMAIN);
    }
    if (n_name == 0)
        add_syntax_error(&f, "name part " EMPTY);
    if (n_name > 63)
        add_syntax_error(&f, "name part " MAX_63);
    if (!model_name_is_qualified(name, n_name))
        add_syntax_error(&f, "name part " KEY_NAME);
    return f;
}

struct sl_syntax_errors sl_syntax_label_value(const char *s, size_t len) {
    struct sl_syntax_errors f = {0};

    if (len > 63)
        add_syntax_error(&f, MAX_63);
    if (len > 0 && !model_name_is_qualified(s, len))
        add_syntax_error(&f, VALUE);
    return f;
}

/* ---- rules on values ---- */

static void report_errors(struct sl_field_errs *e, const struct sl_path *at,
                          struct sl_field_value bad, const struct sl_syntax_errors *f) {
    for (uint32_t i = 0; i < f->n; i++)
        sl_field_invalid(e, at, bad, "%s", f->v[i]);
}

void sl_syntax_check_label_key(struct sl_field_errs *e, const struct sl_path *at, const char *s,
                               size_t len) {
    struct sl_syntax_errors f = sl_syntax_label_key(s, len);
    report_errors(e, at, sl_field_value_strn(s, len), &f);
}

static void check_label_value(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);
    struct sl_syntax_errors f = sl_syntax_label_value(t.s, t.n);
    report_errors(e, at, sl_field_value_text(t), &f);
}

void sl_syntax_check_key_of(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *word) {
    struct sl_text t = sl_json_view(word);
    sl_syntax_check_label_key(e, at, t.s, t.n);
}

void sl_syntax_check_labels(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *labels) {
    size_t i, n;
    yyjson_val *key, *val;

    sl_obj_foreach (labels, i, n, key, val) {
        sl_syntax_check_key_of(e, at, key);
        check_label_value(e, at, val);
    }
}

#define ANNOTATIONS_MAX_BYTES ((size_t)256 << 10)

/* As for labels, but that the case of the key does not matter and any value goes. */
void sl_syntax_check_annotations(struct sl_field_errs *e, const struct sl_path *at,
                                 yyjson_val *annotations) {
    size_t i, n, bytes = 0;
    yyjson_val *key, *val;

    sl_obj_foreach (annotations, i, n, key, val) {
        struct sl_text name = sl_json_view(key);
        char lower[512]; /* a longer key is too long in any case */
        size_t n_lower = name.n < sizeof(lower) ? name.n : sizeof(lower);
        for (size_t k = 0; k < n_lower; k++)
            lower[k] = to_lower(name.s[k]);
        struct sl_syntax_errors f = sl_syntax_label_key(lower, n_lower);
        report_errors(e, at, sl_field_value_text(name), &f);
        bytes += name.n + sl_json_view(val).n;
    }
    if (bytes > ANNOTATIONS_MAX_BYTES)
        sl_field_too_long(e, at, ANNOTATIONS_MAX_BYTES);
}

void sl_syntax_check_requirement(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *r,
                                 bool of_nodes) {
    const char *word = sl_json_str(r, "operator");
    enum sl_label_op op = sl_label_op_parse(word);
    yyjson_val *values = sl_json_get(r, "values"), *value;
    const struct sl_path *values_at = SL_PATH(at, "values");
    const char *fault = sl_label_op_fault(op, sl_json_size(values));
    size_t i, n;

    if (op == SL_OP_COUNT || (!of_nodes && op >= SL_OP_GT))
        sl_field_invalid(e, SL_PATH(at, "operator"), sl_field_value_str(word),
                         "not a valid selector operator");
    else if (fault && (op == SL_OP_EXISTS || op == SL_OP_NOT_EXISTS))
        sl_field_forbidden(e, values_at, "%s", fault);
    else if (fault)
        sl_field_required(e, values_at, fault);
    sl_syntax_check_key_of(e, SL_PATH(at, "key"), sl_json_get(r, "key"));
    if (of_nodes)
        return;
    yyjson_arr_foreach (values, i, n, value) {
        check_label_value(e, SL_PATH_AT(values_at, i), value);
    }
}

void sl_syntax_check_selector(struct sl_field_errs *e, const struct sl_path *at,
                              yyjson_val *selector) {
    const struct sl_path *list_at = SL_PATH(at, "matchExpressions");
    size_t i, n;
    yyjson_val *r;

    sl_syntax_check_labels(e, SL_PATH(at, "matchLabels"), sl_json_get(selector, "matchLabels"));
    yyjson_arr_foreach (sl_json_get(selector, "matchExpressions"), i, n, r) {
        sl_syntax_check_requirement(e, SL_PATH_AT(list_at, i), r, false);
    }
}

#define CONDITIONS_MAX 64u
#define REASON_MAX_BYTES ((size_t)1 << 10)
#define MESSAGE_MAX_BYTES ((size_t)32 << 10)

static void check_reason(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);

    if (t.n == 0) {
        sl_field_required(e, at, "");
        return;
    }
    if (!is_reason(t.s, t.n))
        sl_field_invalid(e, at, sl_field_value_text(t), "%s", REASON);
    if (t.n > REASON_MAX_BYTES)
        sl_field_too_long(e, at, REASON_MAX_BYTES);
}

static void check_condition(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *c) {
    static const char *const statuses[] = {"False", "True", "Unknown"};
    const char *status = sl_json_str(c, "status");
    int64_t generation = sl_json_int(c, "observedGeneration", 0);
    bool known = false;

    sl_syntax_check_key_of(e, SL_PATH(at, "type"), sl_json_get(c, "type"));
    for (size_t i = 0; i < SL_LEN(statuses); i++)
        known = known || strcmp(status, statuses[i]) == 0;
    if (!known)
        sl_field_unsupported(e, SL_PATH(at, "status"), sl_field_value_str(status), statuses,
                             SL_LEN(statuses));
    if (generation < 0)
        sl_field_invalid(e, SL_PATH(at, "observedGeneration"), sl_field_value_int(generation),
                         "must be greater than or equal to zero");
    if (*sl_json_str(c, "lastTransitionTime") == '\0')
        sl_field_required(e, SL_PATH(at, "lastTransitionTime"), "");
    check_reason(e, SL_PATH(at, "reason"), sl_json_get(c, "reason"));
    if (sl_json_view(sl_json_get(c, "message")).n > MESSAGE_MAX_BYTES)
        sl_field_too_long(e, SL_PATH(at, "message"), MESSAGE_MAX_BYTES);
}

void sl_syntax_check_conditions(struct sl_field_errs *e, const struct sl_path *at,
                                yyjson_val *conditions) {
    size_t i, n;
    yyjson_val *c;

    if (!sl_syntax_check_size(e, at, conditions, CONDITIONS_MAX))
        return;
    yyjson_arr_foreach (conditions, i, n, c) {
        const struct sl_path *c_at = SL_PATH_AT(at, i);
        const char *type = sl_json_str(c, "type");
        yyjson_val *first = sl_json_find(conditions, "type", type);
        if (first && first != c)
            sl_field_duplicate(e, SL_PATH(c_at, "type"), sl_field_value_str(type), "");
        check_condition(e, c_at, c);
    }
}

bool sl_syntax_check_size(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list,
                          size_t max) {
    if (sl_json_size(list) <= max)
        return true;
    sl_field_too_many(e, at, sl_json_size(list), max);
    return false;
}

void sl_syntax_check_domain_path(struct sl_field_errs *e, const struct sl_path *at, const char *s,
                                 size_t len) {
    const char *slash = memchr(s, '/', len), *path = slash ? slash + 1 : NULL, *end = s + len;

    if (len == 0) {
        sl_field_required(e, at, "");
        return;
    }
    if (!slash || slash == s || path == end) {
        sl_field_invalid(e, at, sl_field_value_strn(s, len),
                         "must be a domain-prefixed path (such as \"acme.io/foo\")");
        return;
    }
    struct sl_syntax_errors f = sl_syntax_subdomain(s, (size_t)(slash - s));
    report_errors(e, at, sl_field_value_strn(s, (size_t)(slash - s)), &f);
    for (const char *p = path; p < end; p++) {
        if (!is_alnum(*p) && !is_one_of(*p, "/-._~%!$&'()*+,;=:")) {
            sl_field_invalid(e, at, sl_field_value_strn(path, (size_t)(end - path)), "%s",
                             "Invalid path (regex used for validation is '" PATH_FMT "')");
            return;
        }
    }
}

void sl_syntax_check_subdomain(struct sl_field_errs *e, const struct sl_path *at, const char *s,
                               const char *join) {
    struct sl_syntax_errors f = sl_syntax_subdomain(s, strlen(s));

    if (join && f.n == 2)
        sl_field_invalid(e, at, sl_field_value_str(s), "%s%s%s", f.v[0], join, f.v[1]);
    else
        report_errors(e, at, sl_field_value_str(s), &f);
}
