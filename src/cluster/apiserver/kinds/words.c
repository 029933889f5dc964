/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/kinds/words.h"

#include <string.h>

#include "lib/json/json.h"

#define LABEL_1035                                                                                 \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "   \
    "alphabetic character, "                                                                       \
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "       \
    "validation is "                                                                               \
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
#define DATA_KEY                                                                                   \
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "           \
    "'key.name',  or 'KEY_NAME',  "                                                                \
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
#define ENV                                                                                        \
    "a valid environment variable name must consist only of printable ASCII characters other "     \
    "than '='"
#define HEADER                                                                                     \
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "   \
    "regex used for validation is '[-A-Za-z0-9]+')"
#define MAX_63 "must be no more than 63 characters"

static bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static void add_syntax_error(struct sl_syntax_errors *f, const char *text) {
    f->v[f->n++] = text;
}

static bool is_label_1035(const char *s, size_t len) {
    if (len == 0 || !is_lower(s[0]) || s[len - 1] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_lower(s[i]) && !is_digit(s[i]) && s[i] != '-')
            return false;
    return true;
}

struct sl_syntax_errors api_word_label_1035(const char *s, size_t len) {
    struct sl_syntax_errors f = {0};

    if (len > 63)
        add_syntax_error(&f, MAX_63);
    if (!is_label_1035(s, len))
        add_syntax_error(&f, LABEL_1035);
    return f;
}

struct sl_syntax_errors api_word_segment(const char *s, size_t len) {
    struct sl_syntax_errors f = {0};

    if (len == 1 && s[0] == '.') {
        add_syntax_error(&f, "may not be '.'");
        return f;
    }
    if (len == 2 && memcmp(s, "..", 2) == 0) {
        add_syntax_error(&f, "may not be '..'");
        return f;
    }
    if (memchr(s, '/', len))
        add_syntax_error(&f, "may not contain '/'");
    if (memchr(s, '%', len))
        add_syntax_error(&f, "may not contain '%'");
    return f;
}

struct sl_syntax_errors api_word_port(const char *s, size_t len) {
    struct sl_syntax_errors f = {0};
    bool letter = false, twice = false, other = len == 0;

    for (size_t i = 0; i < len; i++) {
        letter = letter || is_lower(s[i]);
        twice = twice || (s[i] == '-' && i > 0 && s[i - 1] == '-');
        other = other || !(is_lower(s[i]) || is_digit(s[i]) || s[i] == '-');
    }
    if (len > 15)
        add_syntax_error(&f, "must be no more than 15 characters");
    if (other)
        add_syntax_error(&f,
                         "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    if (!letter)
        add_syntax_error(&f, "must contain at least one letter (a-z)");
    if (twice)
        add_syntax_error(&f, "must not contain consecutive hyphens");
    else if (len > 0 && (s[0] == '-' || s[len - 1] == '-') && f.n < SL_LEN(f.v))
        add_syntax_error(&f, "must not begin or end with a hyphen");
    return f;
}

struct sl_syntax_errors api_word_env(const char *s, size_t len) {
    struct sl_syntax_errors f = {0};

    for (size_t i = 0; i < len && f.n == 0; i++)
        if (s[i] < ' ' || s[i] > '~' || s[i] == '=')
            add_syntax_error(&f, ENV);
    if (len == 0)
        add_syntax_error(&f, "environment variable name must be non-empty");
    return f;
}

struct sl_syntax_errors api_word_header(const char *s, size_t len) {
    struct sl_syntax_errors f = {0};
    bool good = len > 0;

    for (size_t i = 0; i < len; i++)
        good = good &&
               (is_lower(s[i]) || is_digit(s[i]) || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '-');
    if (!good)
        add_syntax_error(&f, HEADER);
    return f;
}

struct sl_syntax_errors api_word_data_key(const char *s, size_t len) {
    struct sl_syntax_errors f = {0};
    bool good = len > 0;

    for (size_t i = 0; i < len; i++)
        good = good &&
               (is_lower(s[i]) || is_digit(s[i]) || (s[i] >= 'A' && s[i] <= 'Z') ||
                strchr("-._", s[i])) &&
               s[i];
    if (len > 253)
        add_syntax_error(&f, "must be no more than 253 characters");
    if (!good)
        add_syntax_error(&f, DATA_KEY);
    if (len == 1 && s[0] == '.')
        add_syntax_error(&f, "must not be '.'");
    else if (len == 2 && memcmp(s, "..", 2) == 0)
        add_syntax_error(&f, "must not be '..'");
    else if (len > 2 && memcmp(s, "..", 2) == 0)
        add_syntax_error(&f, "must not start with '..'");
    return f;
}

void api_word_check(struct sl_field_errs *e, const struct sl_path *at, const char *s, size_t len,
                    struct sl_syntax_errors (*rule)(const char *s, size_t len)) {
    struct sl_syntax_errors f = rule(s, len);

    for (uint32_t i = 0; i < f.n; i++)
        sl_field_invalid(e, at, sl_field_value_strn(s, len), "%s", f.v[i]);
}

void api_word_check_of(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *word,
                       struct sl_syntax_errors (*rule)(const char *s, size_t len)) {
    struct sl_text t = sl_json_view(word);
    api_word_check(e, at, t.s, t.n, rule);
}

void api_word_check_at(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *object,
                       const char *field,
                       struct sl_syntax_errors (*rule)(const char *s, size_t len), bool required) {
    yyjson_val *v = sl_json_get(object, field);

    if (sl_json_view(v).n > 0)
        api_word_check_of(e, SL_PATH(up, field), v, rule);
    else if (required)
        sl_field_required(e, SL_PATH(up, field), "");
}

void api_check_not_negative(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *object,
                            const char *field) {
    int64_t n = sl_json_int(object, field, 0);

    if (n < 0)
        sl_field_invalid(e, SL_PATH(up, field), sl_field_value_int(n), SL_NOT_NEGATIVE);
}

void api_check_one_of(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *object,
                      const char *field, const char *const *words, bool required) {
    const char *s = sl_json_str(object, field);
    size_t n = 0;

    /* "" is only there where it is not the same as nothing. */
    if (!sl_json_get(object, field) || (required && *s == '\0')) {
        if (required)
            sl_field_required(e, SL_PATH(up, field), "");
        return;
    }
    for (; words[n]; n++)
        if (strcmp(words[n], s) == 0)
            return;
    sl_field_unsupported(e, SL_PATH(up, field), sl_field_value_str(s), words, n);
}
