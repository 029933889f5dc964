/* SPDX-License-Identifier: Apache-2.0 */
/* Finding functions, and the language's own: conversions, sizes, optionals. */
#include "cluster/apiserver/cel/functions.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/cel/tree.h"
#include "cluster/merge/gotext.h"
#include "cluster/schema/value.h"
#include "core/base/fmt.h"

/* ---- finding ---- */

const struct api_cel_function *const api_cel_function_tables[] = {
    api_cel_functions_basic,  api_cel_functions_text,
    api_cel_functions_list,   api_cel_functions_time,
    api_cel_functions_net,    api_cel_functions_url,
    api_cel_functions_named,  api_cel_functions_quantity,
    api_cel_functions_semver, NULL,
};

const struct api_cel_function *api_cel_function_next(const char *name, bool member,
                                                     const struct api_cel_function *from) {
    bool seen = !from;

    for (size_t t = 0; api_cel_function_tables[t]; t++)
        for (const struct api_cel_function *f = api_cel_function_tables[t]; f->name; f++) {
            if (seen && f->member == member && strcmp(f->name, name) == 0)
                return f;
            seen = seen || f == from;
        }
    return NULL;
}

bool api_cel_letter_fits(char letter, enum api_cel_kind kind) {
    static const char letters[T_KINDS + 1] = " *nbiudsyDTlmmtoUICQFV";

    return letter == '*' || kind == T_DYN || letters[kind] == letter;
}

/* ---- conversions ---- */

static struct api_value cannot(struct api_cel_call *c, const char *to) {
    return api_cel_error(c->run, "type conversion error from '%s' to '%s'",
                         api_cel_kind_name(api_cel_kind(&c->args[0])), to);
}

/* A text that is not too long for a number, as a C string. */
static bool short_text(const struct api_value *v, char out[64]) {
    if (v->len == 0 || v->len >= 64 || memchr(v->s, '\0', v->len))
        return false;
    memcpy(out, v->s, v->len);
    out[v->len] = '\0';
    return true;
}

static struct api_value to_int(struct api_cel_call *c) {
    const struct api_value *v = &c->args[0];
    char text[64], *end;
    int64_t n;

    switch (v->kind) {
    case V_UINT:
        return v->unum > INT64_MAX ? api_cel_error(c->run, "integer overflow")
                                   : api_cel_int((int64_t)v->unum);
    case V_REAL:
        return v->real > -0x1p63 && v->real < 0x1p63 ? api_cel_int((int64_t)v->real)
                                                     : api_cel_error(c->run, "integer overflow");
    case V_TIME:
        return api_cel_int(v->sec);
    case V_STR:
        errno = 0;
        if (!short_text(v, text) || strspn(text, "+-0123456789") != v->len)
            return cannot(c, "int");
        n = strtoll(text, &end, 10);
        return errno || *end || end == text ? cannot(c, "int") : api_cel_int(n);
    default:
        return *v;
    }
}

static struct api_value to_uint(struct api_cel_call *c) {
    const struct api_value *v = &c->args[0];
    char text[64], *end;
    uint64_t n;

    switch (v->kind) {
    case V_INT:
        return v->num < 0 ? api_cel_error(c->run, "unsigned integer overflow")
                          : api_cel_uint((uint64_t)v->num);
    case V_REAL:
        return v->real >= 0 && v->real < 0x1p64
                   ? api_cel_uint((uint64_t)v->real)
                   : api_cel_error(c->run, "unsigned integer overflow");
    case V_STR:
        errno = 0;
        if (!short_text(v, text) || strspn(text, "0123456789") != v->len)
            return cannot(c, "uint");
        n = strtoull(text, &end, 10);
        return errno || *end ? cannot(c, "uint") : api_cel_uint(n);
    default:
        return *v;
    }
}

static struct api_value to_real(struct api_cel_call *c) {
    const struct api_value *v = &c->args[0];
    char text[64], *end;
    double d;

    switch (v->kind) {
    case V_INT:
        return api_cel_real((double)v->num);
    case V_UINT:
        return api_cel_real((double)v->unum);
    case V_STR:
        if (!short_text(v, text) || strpbrk(text, " \t\n"))
            return cannot(c, "double");
        d = strtod(text, &end);
        return *end ? cannot(c, "double") : api_cel_real(d);
    default:
        return *v;
    }
}

static struct api_value to_bool(struct api_cel_call *c) {
    static const char *const words[][2] = {{"1", "0"},        {"t", "f"},        {"T", "F"},
                                           {"true", "false"}, {"TRUE", "FALSE"}, {"True", "False"}};
    const struct api_value *v = &c->args[0];
    char text[64];

    if (v->kind == V_BOOL)
        return *v;
    for (size_t i = 0; short_text(v, text) && i < 2 * SL_LEN(words); i++)
        if (strcmp(text, words[i / 2][i % 2]) == 0)
            return api_cel_bool(i % 2 == 0);
    return cannot(c, "bool");
}

static bool is_utf8(const char *s, size_t len) {
    for (size_t i = 0; i < len;) {
        const unsigned char c = (unsigned char)s[i];
        const size_t n = c < 0x80                ? 1
                         : c >= 0xc2 && c < 0xe0 ? 2
                         : (c & 0xf0) == 0xe0    ? 3
                         : c >= 0xf0 && c < 0xf5 ? 4
                                                 : 0;
        if (n == 0 || n > len - i)
            return false;
        for (size_t k = 1; k < n; k++)
            if ((s[i + k] & 0xc0) != 0x80)
                return false;
        i += n;
    }
    return true;
}

static struct api_value printed(struct api_run *x, const char *text) {
    return api_cel_text_copy(x, text, strlen(text));
}

struct api_value api_cel_string_of(struct api_run *x, const struct api_value *v) {
    char text[64], real[SL_GO_REAL];

    switch (v->kind) {
    case V_STR:
        return *v;
    case V_BOOL:
        return printed(x, v->yes ? "true" : "false");
    case V_INT:
        sl_fmt(text, sizeof(text), "%" PRId64, v->num);
        return printed(x, text);
    case V_UINT:
        sl_fmt(text, sizeof(text), "%" PRIu64, v->unum);
        return printed(x, text);
    case V_REAL:
        return printed(x, sl_go_real(v->real, false, real));
    case V_TIME:
        api_cel_time_print(v, text);
        return printed(x, text);
    case V_DURATION:
        sl_fmt(text, sizeof(text), "%ss",
               sl_go_real((double)(v->num / SL_SEC) + (double)(v->num % SL_SEC) / 1e9, true, real));
        return printed(x, text);
    default: /* bytes, which are UTF-8 */
        if (!is_utf8(v->s, v->len))
            return api_cel_error(x, "invalid UTF-8 in bytes, cannot convert to string");
        return api_cel_text(v->s, v->len);
    }
}

static struct api_value to_text(struct api_cel_call *c) {
    return api_cel_string_of(c->run, &c->args[0]);
}

static struct api_value to_bytes(struct api_cel_call *c) {
    struct api_value v = c->args[0];

    v.kind = V_BYTES;
    return v;
}

static struct api_value itself(struct api_cel_call *c) {
    return c->args[0];
}

static struct api_value type_of(struct api_cel_call *c) {
    return (struct api_value){.kind = V_TYPE, .num = api_cel_kind(&c->args[0])};
}

bool api_cel_base64(struct api_run *x, const char *s, size_t len, struct api_value *ret) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *out = api_cel_make(x, len + 1);
    size_t n = 0;
    uint32_t bits = 0;

    if (!out || len % 4 || schema_value_base64(s, len) >= 0) {
        if (!out)
            *ret = api_cel_too_costly(x);
        return !out;
    }
    for (size_t i = 0; i < len && s[i] != '='; i++) {
        const char *at = memchr(letters, s[i], 64);
        bits = bits << 6 | (uint32_t)(at ? at - letters : 0);
        if (i % 4)
            out[n++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    out[n] = '\0';
    *ret = api_cel_text(out, n);
    ret->kind = V_BYTES;
    return true;
}

/* ---- sizes ---- */

static struct api_value size_of(struct api_cel_call *c) {
    const struct api_value *v = &c->args[0];

    if (v->kind == V_STR)
        return api_cel_charge(c->run, v->len / 16)
                   ? api_cel_int((int64_t)api_cel_characters(v->s, v->len))
                   : api_cel_too_costly(c->run);
    return api_cel_int((int64_t)(v->kind == V_BYTES ? v->len : api_cel_size(v)));
}

/* ---- optionals ---- */

static bool is_zero(const struct api_value *v) {
    switch (v->kind) {
    case V_NULL:
        return true;
    case V_BOOL:
        return !v->yes;
    case V_INT:
    case V_UINT:
    case V_DURATION:
        return v->num == 0;
    case V_REAL:
        return v->real == 0;
    case V_STR:
    case V_BYTES:
        return v->len == 0;
    case V_LIST:
    case V_MAP:
    case V_JSON:
        return api_cel_size(v) == 0;
    case V_OPTIONAL:
        return !v->some || is_zero(v->some);
    default:
        return false;
    }
}

enum { OPT_OF, OPT_NONZERO, OPT_NONE };

static struct api_value make_optional(struct api_cel_call *c) {
    bool none = c->how == OPT_NONE || (c->how == OPT_NONZERO && is_zero(&c->args[0]));
    return api_cel_optional(c->run, none ? NULL : &c->args[0]);
}

static struct api_value has_value(struct api_cel_call *c) {
    return api_cel_bool(c->args[0].some);
}

static struct api_value value_of(struct api_cel_call *c) {
    return c->args[0].some ? *c->args[0].some
                           : api_cel_error(c->run, "optional.none() dereference");
}

/* Only where its first argument has nothing: see eval_or. */
static struct api_value second(struct api_cel_call *c) {
    return c->args[1];
}

static struct api_value unwrap(struct api_cel_call *c) {
    struct api_value *items = api_cel_make(c->run, api_cel_size(&c->args[0]) * sizeof(*items)), key,
                     v;
    struct api_walk w;
    size_t n = 0;

    if (!items)
        return api_cel_too_costly(c->run);
    (void)api_cel_walk_begin(&w, &c->args[0]);
    while (api_cel_walk_next(c->run, &w, &key, &v)) {
        if (v.kind != V_OPTIONAL)
            return v.kind == V_ERROR ? v : api_cel_no_overload(c->run);
        if (v.some)
            items[n++] = *v.some;
    }
    return api_cel_list(items, n);
}

const struct api_cel_function api_cel_functions_basic[] = {
    {"int", false, "i", 'i', to_int, 0},
    {"int", false, "u", 'i', to_int, 0},
    {"int", false, "d", 'i', to_int, 0},
    {"int", false, "s", 'i', to_int, 0},
    {"int", false, "T", 'i', to_int, 0},
    {"int", false, "D", 'i', itself, 0},
    {"uint", false, "u", 'u', to_uint, 0},
    {"uint", false, "i", 'u', to_uint, 0},
    {"uint", false, "d", 'u', to_uint, 0},
    {"uint", false, "s", 'u', to_uint, 0},
    {"double", false, "d", 'd', to_real, 0},
    {"double", false, "i", 'd', to_real, 0},
    {"double", false, "u", 'd', to_real, 0},
    {"double", false, "s", 'd', to_real, 0},
    {"bool", false, "b", 'b', to_bool, 0},
    {"bool", false, "s", 'b', to_bool, 0},
    {"string", false, "s", 's', to_text, 0},
    {"string", false, "b", 's', to_text, 0},
    {"string", false, "i", 's', to_text, 0},
    {"string", false, "u", 's', to_text, 0},
    {"string", false, "d", 's', to_text, 0},
    {"string", false, "y", 's', to_text, 0},
    {"string", false, "T", 's', to_text, 0},
    {"string", false, "D", 's', to_text, 0},
    {"bytes", false, "y", 'y', itself, 0},
    {"bytes", false, "s", 'y', to_bytes, 0},
    {"dyn", false, "*", '*', itself, 0},
    {"type", false, "*", 't', type_of, 0},
    {"size", false, "s", 'i', size_of, 0},
    {"size", false, "y", 'i', size_of, 0},
    {"size", false, "l", 'i', size_of, 0},
    {"size", false, "m", 'i', size_of, 0},
    {"size", true, "s", 'i', size_of, 0},
    {"size", true, "y", 'i', size_of, 0},
    {"size", true, "l", 'i', size_of, 0},
    {"size", true, "m", 'i', size_of, 0},
    {"optional.of", false, "*", 'O', make_optional, OPT_OF},
    {"optional.ofNonZeroValue", false, "*", 'O', make_optional, OPT_NONZERO},
    {"optional.none", false, "", 'o', make_optional, OPT_NONE},
    {"optional.unwrap", false, "l", 'l', unwrap, 0},
    {"unwrapOpt", true, "l", 'l', unwrap, 0},
    {"hasValue", true, "o", 'b', has_value, 0},
    {"value", true, "o", 'v', value_of, 0},
    {"or", true, "oo", '0', second, 0},
    {"orValue", true, "o*", 'v', second, 0},
    {0},
};
