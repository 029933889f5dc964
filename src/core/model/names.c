/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/names.h"

#include <string.h>

static bool is_lower(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c) {
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

bool model_name_is_domain(const char *s, size_t n) {
    char before = '.';

    for (size_t i = 0; i < n; i++) {
        bool edge = before == '.' || i + 1 == n || s[i + 1] == '.';
        if (s[i] == '.' ? before == '.' : !(is_lower(s[i]) || (s[i] == '-' && !edge)))
            return false;
        before = s[i];
    }
    return before != '.';
}

bool model_name_is_subdomain(const char *s, size_t n) {
    return n <= SL_SUBDOMAIN_MAX && model_name_is_domain(s, n);
}

bool model_name_is_qualified(const char *s, size_t n) {
    if (n == 0 || !is_alnum(s[0]) || !is_alnum(s[n - 1]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_alnum(s[i]) && s[i] != '-' && s[i] != '_' && s[i] != '.')
            return false;
    return true;
}

bool model_name_is_label_key(const char *s, size_t n) {
    const char *slash = memchr(s, '/', n), *name = slash ? slash + 1 : s;
    size_t n_name = (size_t)(s + n - name);

    return (!slash || model_name_is_subdomain(s, (size_t)(slash - s))) && n_name <= SL_LABEL_MAX &&
           model_name_is_qualified(name, n_name);
}
