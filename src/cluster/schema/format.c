/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of strings. Those that depend on characters alone are masks: '#' is a digit, 'x' a
 * hexadecimal one, '?' before a character that is optional; everything else is literal.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/schema/value.h"
#include "core/base/time.h"

#define MAX_TEXT 4096u /* longer ones are none of these */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool fits(const char *mask, const char *s) {
    for (; *mask; mask++) {
        if (*mask == '?') {
            s += *s == *++mask;
            continue;
        }
        if (*mask == '#' ? !is_digit(*s) : *mask == 'x' ? !is_hex(*s) : *s != *mask)
            return false;
        s++;
    }
    return *s == '\0';
}

static bool is_uuid(const char *s) {
    return fits("xxxxxxxx?-xxxx?-xxxx?-xxxx?-xxxxxxxxxxxx", s);
}
static bool is_uuid3(const char *s) {
    return fits("xxxxxxxx?-xxxx?-3xxx?-xxxx?-xxxxxxxxxxxx", s);
}

/* Versions 4 and 5 have a further digit for their variant. */
static bool is_variant(const char *s) {
    int digits = 0;

    for (; *s; s++)
        if (*s != '-' && ++digits == 17)
            return strchr("89abAB", *s) != NULL;
    return false;
}
static bool is_uuid4(const char *s) {
    return fits("xxxxxxxx?-xxxx?-4xxx?-xxxx?-xxxxxxxxxxxx", s) && is_variant(s);
}
static bool is_uuid5(const char *s) {
    return fits("xxxxxxxx?-xxxx?-5xxx?-xxxx?-xxxxxxxxxxxx", s) && is_variant(s);
}
static bool is_ssn(const char *s) {
    return fits("###-##-####", s) || fits("### ## ####", s) || fits("###-## ####", s) ||
           fits("### ##-####", s);
}
static bool is_color(const char *s) {
    return fits("xxx", s + (*s == '#')) || fits("xxxxxx", s + (*s == '#'));
}

static bool is_mac(const char *s) {
    return fits("xx:xx:xx:xx:xx:xx", s) || fits("xx-xx-xx-xx-xx-xx", s) ||
           fits("xxxx.xxxx.xxxx", s) || fits("xx:xx:xx:xx:xx:xx:xx:xx", s) ||
           fits("xx-xx-xx-xx-xx-xx-xx-xx", s) || fits("xxxx.xxxx.xxxx.xxxx", s);
}

static bool is_date(const char *s) {
    char text[32], out[SL_VALUE_TIME];

    if (!fits("####-##-##", s))
        return false;
    memcpy(text, s, 10);
    memcpy(text + 10, "T00:00:00Z", 11);
    return schema_value_time(text, 20, false, out, NULL) == 0;
}

static bool is_date_time(const char *s) {
    char out[SL_VALUE_TIME];
    return schema_value_time(s, strlen(s), false, out, NULL) == 0;
}

static bool is_duration(const char *s) {
    sl_span d;
    return sl_span_parse(s, strlen(s), &d, NULL) == 0;
}

static bool is_base64(const char *s) {
    return *s && strlen(s) % 4 == 0 && schema_value_base64(s, strlen(s)) < 0;
}

static bool is_ipv4(const char *s) {
    struct in_addr a;
    return inet_pton(AF_INET, s, &a) == 1;
}

static bool is_ipv6(const char *s) {
    struct in6_addr a;
    return inet_pton(AF_INET6, s, &a) == 1;
}

static bool is_cidr(const char *s) {
    const char *slash = strrchr(s, '/');
    char address[INET6_ADDRSTRLEN];
    size_t n = slash ? (size_t)(slash - s) : 0;

    if (n == 0 || n >= sizeof(address) || strlen(slash) < 2 || strlen(slash) > 4 ||
        strspn(slash + 1, "0123456789") != strlen(slash + 1))
        return false;
    memcpy(address, s, n);
    address[n] = '\0';
    long bits = strtol(slash + 1, NULL, 10);
    return is_ipv4(address) ? bits <= 32 : is_ipv6(address) && bits <= 128;
}

/* Labels of letters, digits and, inside, hyphens; letters beyond ASCII count. With more than one
 * label, the last has at least two letters and nothing else. */
static bool is_hostname(const char *s) {
    size_t len = strlen(s), labels = 0;

    if (len == 0 || len > 255)
        return false;
    for (const char *p = s, *end;; p = end + 1, labels++) {
        end = strchrnul(p, '.');
        if (end == p || end - p > 63 || *p == '-' || end[-1] == '-')
            return false;
        bool letters = true;
        for (const char *q = p; q < end; q++) {
            bool letter = ((unsigned char)*q | 0x20) >= 'a' && ((unsigned char)*q | 0x20) <= 'z';
            letter |= (unsigned char)*q >= 0x80;
            if (!letter && !is_digit(*q) && *q != '-')
                return false;
            letters &= letter;
        }
        if (!*end)
            return labels == 0 || (letters && end - p >= 2);
    }
}

static bool is_email(const char *s) {
    const char *at = strrchr(s, '@');
    return at && at > s && at[1] && !strpbrk(s, " \t\r\n<>()[],;:\\\"") && at[1] != '.' &&
           at[-1] != '.' && *s != '.' && !strstr(s, "..") && !memchr(s, '@', (size_t)(at - s));
}

/* A path, or a scheme and more; no signs that have to be escaped. */
static bool is_uri(const char *s) {
    size_t scheme = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

    for (const char *p = s; *p; p++)
        if ((unsigned char)*p <= 0x20 || *p == 0x7f ||
            (*p == '%' && !(is_hex(p[1]) && is_hex(p[2]))))
            return false;
    return *s == '/' || (scheme > 0 && s[scheme] == ':' && !is_digit(*s) && s[scheme + 1]);
}

static bool is_anything(const char *s) {
    (void)s;
    return true;
}

static const struct {
    const char *name;
    bool (*is)(const char *s);
} formats[] = {
    {"byte", is_base64},
    {"cidr", is_cidr},
    {"date", is_date},
    {"date-time", is_date_time},
    {"datetime", is_date_time},
    {"duration", is_duration},
    {"email", is_email},
    {"hexcolor", is_color},
    {"hostname", is_hostname},
    {"ipv4", is_ipv4},
    {"ipv6", is_ipv6},
    {"mac", is_mac},
    {"password", is_anything},
    {"ssn", is_ssn},
    {"uri", is_uri},
    {"uuid", is_uuid},
    {"uuid3", is_uuid3},
    {"uuid4", is_uuid4},
    {"uuid5", is_uuid5},
};

bool schema_value_format_known(const char *format) {
    for (size_t i = 0; i < SL_LEN(formats); i++)
        if (strcmp(formats[i].name, format) == 0)
            return true;
    return false;
}

bool schema_value_format(const char *format, const char *s, size_t len) {
    for (size_t i = 0; i < SL_LEN(formats); i++)
        if (strcmp(formats[i].name, format) == 0)
            return len < MAX_TEXT && !memchr(s, '\0', len) && formats[i].is(s);
    return true;
}
