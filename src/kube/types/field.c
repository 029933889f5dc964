/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/types/field.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "lib/json/json.h"

/* One error: a path, a value and a detail, each of which a user may have made long. */
#define ERROR_MAX_BYTES (2 * SL_FIELD_VALUE_MAX_BYTES)

/* No more of it is considered than fits: one long key may be in the paths of all fields of an
 * object. */
static void put_part(struct sl_buf *out, const char *before, const char *part, const char *after) {
    sl_buf_puts(out, before);
    sl_buf_add(out, part, strnlen(part, out->ceiling - out->len + 1));
    sl_buf_puts(out, after);
}

void sl_path_print(const struct sl_path *p, struct sl_buf *out) {
    if (p->up)
        sl_path_print(p->up, out);
    if (p->name)
        put_part(out, p->up ? "." : "", p->name, "");
    else if (p->key)
        put_part(out, "[", p->key, "]");
    else
        sl_buf_printf(out, "[%llu]", (unsigned long long)p->index);
}

/* ---- values ---- */

struct sl_field_value sl_field_value_str(const char *s) {
    return sl_field_value_strn(s, strlen(s));
}

/* Go's quoting, for texts that are valid UTF-8. */
static void print_quoted(struct sl_buf *out, const char *s, size_t len) {
    static const char from[] = "\a\b\f\n\r\t\v\\\"", to[] = "abfnrtv\\\"";

    sl_buf_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        const char *escaped = c ? strchr(from, c) : NULL;
        if (escaped)
            sl_buf_printf(out, "\\%c", to[escaped - from]);
        else if (c < 0x20 || c == 0x7f)
            sl_buf_printf(out, "\\x%02x", c);
        else
            sl_buf_putc(out, (char)c);
    }
    sl_buf_putc(out, '"');
}

/* The first bytes of a text, cut where a character begins. */
static size_t utf8_prefix(const char *s, size_t len) {
    if (len <= SL_FIELD_VALUE_MAX_BYTES)
        return len;
    for (len = SL_FIELD_VALUE_MAX_BYTES; len > 0 && (s[len] & 0xc0) == 0x80;)
        len--;
    return len;
}

/* As yyjson_val_write, but no further than the buffer takes. */
static void write_json(struct sl_buf *out, yyjson_val *v) {
    bool list = yyjson_is_arr(v);
    size_t i, n;
    yyjson_val *key, *val;

    if (!yyjson_is_ctn(v)) {
        char *s = yyjson_val_write(v, 0, NULL);
        sl_buf_puts(out, s ? s : "null");
        free(s); /* yyjson's */
        return;
    }
    sl_buf_putc(out, list ? '[' : '{');
    yyjson_arr_foreach (v, i, n, val) {
        if (i > 0)
            sl_buf_putc(out, ',');
        if (sl_buf_full(out))
            return;
        write_json(out, val);
    }
    sl_obj_foreach (v, i, n, key, val) {
        if (i > 0)
            sl_buf_putc(out, ',');
        if (sl_buf_full(out))
            return;
        write_json(out, key);
        sl_buf_putc(out, ':');
        write_json(out, val);
    }
    sl_buf_putc(out, list ? ']' : '}');
}

static void print_json(struct sl_buf *out, yyjson_val *v) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_FIELD_VALUE_MAX_BYTES + 1);

    if (v)
        write_json(&text, v);
    else
        sl_buf_puts(&text, "null");
    sl_buf_add(out, sl_buf_str(&text), utf8_prefix(sl_buf_str(&text), text.len));
}

static void print_bad(struct sl_buf *out, struct sl_field_value bad) {
    switch (bad.kind) {
    case SL_FIELD_VALUE_NONE:
        return;
    case SL_FIELD_VALUE_STR:
        sl_buf_puts(out, ": ");
        print_quoted(out, bad.s, utf8_prefix(bad.s, bad.len));
        return;
    case SL_FIELD_VALUE_INT:
        sl_buf_printf(out, ": %lld", (long long)bad.num);
        return;
    case SL_FIELD_VALUE_BOOL:
        sl_buf_puts(out, bad.num ? ": true" : ": false");
        return;
    case SL_FIELD_VALUE_JSON:
        sl_buf_puts(out, ": ");
        print_json(out, bad.json);
        return;
    }
}

/* ---- errors ---- */

static void keep_error(struct sl_field_errs *e, const struct sl_buf *text) {
    const char *s = sl_buf_str(text);

    for (uint32_t i = 0; !e->repeats && i < e->n; i++)
        if (strcmp(e->text[i], s) == 0)
            return;
    e->text[e->n++] = sl_arena_strdup(e->arena, s);
}

/* What will not be kept is not formatted: there may be as many as the object has fields. */
static bool is_full(struct sl_field_errs *e) {
    if (e->n < SL_FIELD_ERRS_MAX && !e->silent)
        return false;
    e->dropped++;
    return true;
}

static void vadd(struct sl_field_errs *e, const char *kind, const struct sl_path *at,
                 struct sl_field_value bad, const char *fmt, va_list ap) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(ERROR_MAX_BYTES);
    char detail[1024];

    if (is_full(e))
        return;
    sl_path_print(at, &text);
    sl_buf_printf(&text, ": %s", kind);
    print_bad(&text, bad);
    sl_vfmt_short(detail, sizeof(detail), fmt, ap);
    if (*detail || e->advice)
        sl_buf_printf(&text, ": %s%s", detail, e->advice ? e->advice : "");
    keep_error(e, &text);
}

static void _printf_(5, 6)
    add_error(struct sl_field_errs *e, const char *kind, const struct sl_path *at,
              struct sl_field_value bad, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vadd(e, kind, at, bad, fmt, ap);
    va_end(ap);
}

void sl_field_invalid(struct sl_field_errs *e, const struct sl_path *at, struct sl_field_value bad,
                      const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vadd(e, "Invalid value", at, bad, fmt, ap);
    va_end(ap);
}

void sl_field_forbidden(struct sl_field_errs *e, const struct sl_path *at, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vadd(e, "Forbidden", at, sl_field_value_none(), fmt, ap);
    va_end(ap);
}

void sl_field_duplicate(struct sl_field_errs *e, const struct sl_path *at,
                        struct sl_field_value bad, const char *detail) {
    add_error(e, "Duplicate value", at, bad, "%s", detail);
}

void sl_field_not_found(struct sl_field_errs *e, const struct sl_path *at,
                        struct sl_field_value bad) {
    add_error(e, "Not found", at, bad, "%s", "");
}

void sl_field_not_found_in(struct sl_field_errs *e, const struct sl_path *at,
                           struct sl_field_value bad, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vadd(e, "Not found", at, bad, fmt, ap);
    va_end(ap);
}

void sl_field_internal(struct sl_field_errs *e, const struct sl_path *at, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vadd(e, "Internal error", at, sl_field_value_none(), fmt, ap);
    va_end(ap);
}

void sl_field_required(struct sl_field_errs *e, const struct sl_path *at, const char *detail) {
    add_error(e, "Required value", at, sl_field_value_none(), "%s", detail);
}

void sl_field_too_long(struct sl_field_errs *e, const struct sl_path *at, size_t max_bytes) {
    add_error(e, "Too long", at, sl_field_value_none(), "may not be more than %zu byte%s",
              max_bytes, max_bytes == 1 ? "" : "s");
}

void sl_field_too_many(struct sl_field_errs *e, const struct sl_path *at, size_t n, size_t max) {
    add_error(e, "Too many", at, sl_field_value_int((int64_t)n), "must have at most %zu item%s",
              max, max == 1 ? "" : "s");
}

void sl_field_unsupported(struct sl_field_errs *e, const struct sl_path *at,
                          struct sl_field_value bad, const char *const *words, size_t n) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(ERROR_MAX_BYTES);

    if (is_full(e))
        return;
    sl_path_print(at, &text);
    sl_buf_puts(&text, ": Unsupported value");
    print_bad(&text, bad);
    for (size_t i = 0; i < n && !sl_buf_full(&text); i++) {
        sl_buf_puts(&text, i == 0 ? ": supported values: " : ", ");
        print_quoted(&text, words[i], utf8_prefix(words[i], strlen(words[i])));
    }
    keep_error(e, &text);
}

void sl_field_immutable(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *now,
                        yyjson_val *old) {
    if (!sl_json_same(now, old))
        sl_field_invalid(e, at, sl_field_value_json(now), "%s", SL_FIELD_IMMUTABLE);
}

/* Of one error, the field with the colon after it. */
static int by_field(const char *a, const char *b) {
    size_t an = (size_t)(strstr(a, ": ") - a), bn = (size_t)(strstr(b, ": ") - b);
    int order = memcmp(a, b, an < bn ? an : bn);

    return order ? order : (an > bn) - (an < bn);
}

void sl_field_errs_sort(struct sl_field_errs *e) {
    for (uint32_t i = 1; i < e->n; i++) {
        const char *text = e->text[i];
        uint32_t k = i;
        for (; k > 0 && by_field(e->text[k - 1], text) > 0; k--)
            e->text[k] = e->text[k - 1];
        e->text[k] = text;
    }
}

/* Duplicates are printed once. */
static bool is_first(const struct sl_field_errs *e, uint32_t i) {
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(e->text[k], e->text[i]) == 0)
            return false;
    return true;
}

void sl_field_errs_print(const struct sl_field_errs *e, struct sl_buf *out) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->n; i++)
        n += is_first(e, i);
    if (n == 1 && e->dropped == 0) {
        sl_buf_puts(out, e->text[0]);
        return;
    }
    for (uint32_t i = 0; i < e->n; i++)
        if (is_first(e, i))
            sl_buf_printf(out, "%s%s", i == 0 ? "[" : ", ", e->text[i]);
    if (e->dropped > 0)
        sl_buf_printf(out, ", and %u more", e->dropped);
    if (e->n > 0)
        sl_buf_putc(out, ']');
}
