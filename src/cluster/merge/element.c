/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/merge/fields.h"
#include "cluster/merge/gotext.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

/* ---- the text of a value: JSON in the form of Go's encoder, without blanks ---- */

static size_t escaped(unsigned char c, char out[8]) {
    switch (c) {
    case '"':
    case '\\':
        out[0] = '\\';
        out[1] = (char)c;
        return 2;
    case '\n':
    case '\r':
    case '\t':
        out[0] = '\\';
        out[1] = (char)(c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        return 2;
    default:
        if (c >= 0x20 && c != '<' && c != '>' && c != '&') {
            out[0] = (char)c;
            return 1;
        }
        return (size_t)snprintf(out, 8, "\\u%04x", c);
    }
}

/* U+2028 and U+2029 are escaped too; their last bytes are 0xa8 and 0xa9. */
static bool is_separator(const char *s, size_t left) {
    return left >= 3 && memcmp(s, "\xe2\x80", 2) == 0 && (s[2] == '\xa8' || s[2] == '\xa9');
}

/* How many bytes from here on stand for themselves. All keys of all managers go through here. */
static size_t plain(const char *s, size_t len) {
    static const bool special[256] = {
        [0 ... 0x1f] = true, ['"'] = true, ['\\'] = true, ['<'] = true,
        ['>'] = true,        ['&'] = true, [0xe2] = true,
    };
    size_t n = 0;

    while (n < len && !special[(unsigned char)s[n]])
        n++;
    return n;
}

size_t sl_go_string(char *out, const char *s, size_t len) {
    size_t n = 1, run;
    char e[8];

    if (out)
        out[0] = '"';
    for (size_t i = 0; i < len; i++) {
        run = plain(s + i, len - i);
        if (out)
            memcpy(out + n, s + i, run);
        n += run;
        i += run;
        if (i == len)
            break;
        if (is_separator(s + i, len - i)) {
            run = (size_t)snprintf(e, sizeof e, "\\u202%c", s[i + 2] == '\xa8' ? '8' : '9');
            i += 2;
        } else {
            run = escaped((unsigned char)s[i], e);
        }
        if (out)
            memcpy(out + n, e, run);
        n += run;
    }
    if (out)
        out[n] = '"';
    return n + 1;
}

#define NUMBER_TEXT 40

/* Lists of numbers are long, and printf is slow. */
static size_t whole_text(uint64_t n, bool minus, char out[NUMBER_TEXT]) {
    char digits[24];
    size_t len = 0, at = 0;

    do
        digits[len++] = (char)('0' + n % 10);
    while (n /= 10);
    if (minus)
        out[at++] = '-';
    while (len > 0)
        out[at++] = digits[--len];
    out[at] = '\0';
    return at;
}

/* The fewest digits that identify the number; an exponent only below 1e-6 and from 1e21 on. A
 * number of up to 15 digits is printed with 15, without the zeros at their end; subnormal ones are
 * less exact. */
static size_t real_text(double d, char out[NUMBER_TEXT]) {
    char digits[32], *exponent, *last;
    int n = fabs(d) < DBL_MIN ? 0 : 14, power; /* digits after the point */

    for (; n < 17; n++) {
        sl_fmt(digits, sizeof digits, "%.*e", n, d);
        if (strtod(digits, NULL) == d)
            break;
    }
    exponent = strchr(digits, 'e');
    power = (int)strtol(exponent + 1, NULL, 10);
    for (last = exponent; n > 0 && last[-1] == '0'; n--)
        last--;
    last -= last[-1] == '.'; /* no digits behind it */
    memmove(last, exponent, strlen(exponent) + 1);
    exponent = last;
    if (power < -6 || power >= 21)
        return (size_t)snprintf(out, NUMBER_TEXT, "%s", digits);
    if (power <= n) /* no zeros but the digits' own */
        return (size_t)snprintf(out, NUMBER_TEXT, "%.*f", n - power, d);
    *exponent = '\0';
    size_t len = strspn(digits, "-"), at = len;
    memcpy(out, digits, len);
    for (const char *c = digits + len; *c; c++) {
        if (*c != '.')
            out[at++] = *c;
    }
    for (; n < power; n++)
        out[at++] = '0';
    out[at] = '\0';
    return at;
}

/* A whole number has no fraction and no exponent, whatever it was written with. */
static size_t number_text(yyjson_val *v, char out[NUMBER_TEXT]) {
    if (yyjson_is_uint(v))
        return whole_text(yyjson_get_uint(v), false, out);
    if (yyjson_is_sint(v)) {
        int64_t n = yyjson_get_sint(v);
        return whole_text(n < 0 ? 0 - (uint64_t)n : (uint64_t)n, n < 0, out);
    }
    double d = yyjson_get_real(v);
    if (d > -1e15 && d < 1e15 && d == (double)(int64_t)d)
        return (size_t)snprintf(out, NUMBER_TEXT, "%lld", (long long)d);
    return real_text(d, out);
}

static size_t put_scalar(char *out, yyjson_val *v) {
    _unset_ char number[NUMBER_TEXT];
    const char *word = number;
    size_t n;

    if (yyjson_is_str(v)) {
        struct sl_text t = sl_json_view(v);
        return sl_go_string(out, t.s, t.n);
    }
    if (yyjson_is_num(v)) {
        n = number_text(v, number);
    } else {
        word = yyjson_is_true(v) ? "true" : yyjson_is_false(v) ? "false" : "null";
        n = strlen(word);
    }
    if (out)
        memcpy(out, word, n);
    return n;
}

static bool is_scalar(yyjson_val *v) {
    return yyjson_is_str(v) || yyjson_is_num(v) || yyjson_is_bool(v);
}

/* ---- elements ---- */

#define MAX_KEYS SL_SCHEMA_KEYS_MAX
#define ELEMENT_DEPTH 128u /* of values in elements; the API server reads 10,000 levels */

struct key {
    const char *name;
    size_t len;
    yyjson_val *value;
    uint32_t at; /* of those with one name the first was before the others */
};

struct merge_element merge_element_field(struct sl_arena *a, const char *name, size_t len) {
    char *s = sl_arena_alloc(a, len + 3);
    s[0] = 'f';
    s[1] = ':';
    memcpy(s + 2, name, len);
    s[len + 2] = '\0';
    return (struct merge_element){s, (uint32_t)len + 2};
}

static struct merge_element element_value(struct sl_arena *a, yyjson_val *v) {
    size_t n = put_scalar(NULL, v);
    char *s = sl_arena_alloc(a, n + 3);
    s[0] = 'v';
    s[1] = ':';
    (void)put_scalar(s + 2, v);
    s[n + 2] = '\0';
    return (struct merge_element){s, (uint32_t)n + 2};
}

static size_t put_keys(char *out, const struct key *keys, uint32_t n) {
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (out)
            out[at] = i ? ',' : '{';
        at++;
        at += sl_go_string(out ? out + at : NULL, keys[i].name, keys[i].len);
        if (out)
            out[at] = ':';
        at++;
        at += put_scalar(out ? out + at : NULL, keys[i].value);
    }
    if (out)
        out[at] = '}';
    return at + 1;
}

static int by_name(const void *px, const void *py) {
    const struct key *x = px, *y = py;
    int r = memcmp(x->name, y->name, x->len < y->len ? x->len : y->len);
    if (r == 0)
        r = (x->len > y->len) - (x->len < y->len);
    return r != 0 ? r : (x->at > y->at) - (x->at < y->at);
}

static void sort_keys(struct key *keys, uint32_t n) {
    if (n > MAX_KEYS) {
        qsort(keys, n, sizeof *keys, by_name);
        return;
    }
    for (uint32_t i = 1; i < n; i++) { /* few */
        struct key k = keys[i];
        uint32_t j = i;
        for (; j > 0 && by_name(&keys[j - 1], &k) > 0; j--)
            keys[j] = keys[j - 1];
        keys[j] = k;
    }
}

static struct merge_element element_keys(struct sl_arena *a, struct key *keys, uint32_t n) {
    sort_keys(keys, n);
    size_t len = put_keys(NULL, keys, n);
    char *s = sl_arena_alloc(a, len + 3);
    s[0] = 'k';
    s[1] = ':';
    (void)put_keys(s + 2, keys, n);
    s[len + 2] = '\0';
    return (struct merge_element){s, (uint32_t)len + 2};
}

/* An item of a list, whichever kind of document it is in: scalars are the same in both. */
struct item {
    yyjson_val *v;
    yyjson_mut_val *m;
};

static yyjson_val *item_get(const struct item *it, const char *name) {
    return it->m ? (yyjson_val *)yyjson_mut_obj_get(it->m, name) : yyjson_obj_get(it->v, name);
}

/* The value of a key that is absent: its default, or the zero value where a struct always has it;
 * NULL if it is not part of the name then. */
static yyjson_val *key_default(const struct sl_schema *item, const char *key) {
    static yyjson_val text = {.tag = YYJSON_TYPE_STR, .uni.str = ""},
                      number = {.tag = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT};
    const struct sl_schema_field *f =
        item && item->type == SL_T_OBJECT ? sl_schema_field(item, key, strlen(key)) : NULL;

    if (!f || is_scalar(f->deflt))
        return f ? f->deflt : NULL;
    if (!f->always || f->pointer)
        return NULL;
    return f->schema->type == SL_T_STRING ? &text : f->schema->type == SL_T_INT ? &number : NULL;
}

static struct merge_element element_keyed(struct sl_arena *a, const struct sl_schema *list,
                                          const struct item *it, const char **ret_why) {
    _unset_ struct key keys[MAX_KEYS];
    uint32_t n = 0;

    if (it->m ? !yyjson_mut_is_obj(it->m) : !yyjson_is_obj(it->v)) {
        *ret_why = (it->m ? yyjson_mut_is_null(it->m) : yyjson_is_null(it->v))
                       ? "associative list with keys may not have a null element"
                       : "associative list with keys may not have non-map elements";
        return (struct merge_element){0};
    }
    for (uint32_t i = 0; i < list->n_keys && n < MAX_KEYS; i++) {
        yyjson_val *v = item_get(it, list->keys[i]);
        if (!v)
            v = key_default(list->items, list->keys[i]);
        if (v)
            keys[n++] = (struct key){list->keys[i], strlen(list->keys[i]), v, i};
    }
    *ret_why = NULL;
    return n ? element_keys(a, keys, n) : (struct merge_element){0};
}

static struct merge_element element_item(struct sl_arena *a, const struct sl_schema *list,
                                         const struct item *it, const char **ret_why) {
    if (list->merge == SL_MERGE_KEYED)
        return element_keyed(a, list, it, ret_why);
    yyjson_val *v = it->m ? (yyjson_val *)it->m : it->v;
    if (is_scalar(v))
        return element_value(a, v);
    *ret_why = yyjson_is_obj(v) ? "associative list without keys has an element that's a map type"
               : yyjson_is_arr(v)
                   ? "not supported: associative list with lists as elements"
                   : "associative list without keys has an element that's an explicit null";
    return (struct merge_element){0};
}

struct merge_element merge_element_item(struct sl_arena *a, const struct sl_schema *list,
                                        yyjson_val *item, const char **ret_why) {
    return element_item(a, list, &(struct item){.v = item}, ret_why);
}

struct merge_element merge_element_item_mut(struct sl_arena *a, const struct sl_schema *list,
                                            yyjson_mut_val *item, const char **ret_why) {
    return element_item(a, list, &(struct item){.m = item}, ret_why);
}

/* ---- elements that others wrote ---- */

static bool is_plain(yyjson_val *v) {
    return is_scalar(v) || yyjson_is_null(v);
}

/* The keys of an object in order. */
static struct key *keys_of(struct sl_arena *a, yyjson_val *v, uint32_t *ret_n) {
    struct key *keys = sl_arena_alloc(a, (yyjson_obj_size(v) + 1) * sizeof *keys);
    yyjson_val *key, *value;
    size_t i, max;

    sl_obj_foreach (v, i, max, key, value) {
        struct sl_text name = sl_json_view(key);
        keys[i] = (struct key){name.s, name.n, value, (uint32_t)i};
    }
    *ret_n = (uint32_t)max;
    sort_keys(keys, *ret_n);
    return keys;
}

static void put_string(struct sl_arena *a, struct sl_buf *out, const char *s, size_t len) {
    size_t n = sl_go_string(NULL, s, len);
    char *quoted = sl_arena_alloc(a, n);
    (void)sl_go_string(quoted, s, len);
    sl_buf_add(out, quoted, n);
}

/* Any value in its one form. Of a key that stands there twice the last counts; a key of an element
 * counts each time ('both'). False: it is nested too deeply. */
static bool put_value(struct sl_arena *a, struct sl_buf *out, yyjson_val *v, bool both,
                      unsigned depth) {
    _unset_ char number[NUMBER_TEXT];
    yyjson_val *item;
    struct key *keys;
    size_t i, max;
    uint32_t n;
    bool good = true, first = true;

    if (depth > ELEMENT_DEPTH)
        return false;
    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_OBJ:
        keys = keys_of(a, v, &n);
        sl_buf_putc(out, '{');
        for (uint32_t k = 0; k < n && good; k++) {
            if (!both && k + 1 < n && keys[k].len == keys[k + 1].len &&
                memcmp(keys[k].name, keys[k + 1].name, keys[k].len) == 0)
                continue;
            sl_buf_puts(out, first ? "" : ",");
            first = false;
            put_string(a, out, keys[k].name, keys[k].len);
            sl_buf_putc(out, ':');
            good = put_value(a, out, keys[k].value, false, depth + 1);
        }
        sl_buf_putc(out, '}');
        return good;
    case YYJSON_TYPE_ARR:
        sl_buf_putc(out, '[');
        yyjson_arr_foreach (v, i, max, item) {
            sl_buf_puts(out, i ? "," : "");
            if (!put_value(a, out, item, false, depth + 1))
                return false;
        }
        sl_buf_putc(out, ']');
        return true;
    case YYJSON_TYPE_STR:
        put_string(a, out, sl_json_view(v).s, sl_json_view(v).n);
        return true;
    default:
        sl_buf_add(out, number, put_scalar(number, v));
        return true;
    }
}

/* Of values that no list of ours has: nested ones, and keys without end. */
static bool element_read_nested(struct sl_arena *a, char kind, yyjson_val *v,
                                struct merge_element *ret) {
    struct sl_buf b;
    sl_buf_init(&b, SL_MANAGE_ARENA_BYTES);
    sl_buf_putc(&b, kind);
    sl_buf_putc(&b, ':');
    bool good = put_value(a, &b, v, kind == 'k', 0);
    if (sl_buf_full(&b))
        good = false;
    if (good) {
        char *s = sl_arena_alloc(a, b.len + 1);
        memcpy(s, b.s, b.len + 1);
        *ret = (struct merge_element){s, (uint32_t)b.len};
    }
    sl_buf_done(&b);
    return good;
}

static bool element_read(struct sl_arena *a, char kind, yyjson_val *v, struct merge_element *ret) {
    _unset_ struct key keys[MAX_KEYS];
    yyjson_val *key, *value;
    size_t i, max;
    uint32_t n = 0;

    if (kind == 'v' && is_plain(v)) {
        *ret = element_value(a, v);
        return true;
    }
    if (kind == 'k' && !yyjson_is_obj(v)) { /* to the API server null is the one without keys */
        *ret = (struct merge_element){"k:{}", 4};
        return yyjson_is_null(v);
    }
    if (kind == 'v' || yyjson_obj_size(v) == 0 || yyjson_obj_size(v) > MAX_KEYS)
        return element_read_nested(a, kind, v, ret);
    sl_obj_foreach (v, i, max, key, value) {
        struct sl_text name = sl_json_view(key);
        if (!is_plain(value))
            return element_read_nested(a, kind, v, ret);
        keys[n++] = (struct key){name.s, name.n, value, (uint32_t)i};
    }
    *ret = element_keys(a, keys, n);
    return true;
}

/* Keys and values, from JSON; the document is on the stack unless it is unusually long. What
 * follows the value is ignored, as by the API server. */
static bool read_json(struct sl_arena *a, const char *s, size_t len, struct merge_element *ret) {
    _unset_ char pool[2048];
    yyjson_alc alc;
    yyjson_doc *doc = NULL;

    if (yyjson_alc_pool_init(&alc, pool, sizeof pool))
        doc = yyjson_read_opts((char *)(s + 2), len - 2, YYJSON_READ_STOP_WHEN_DONE, &alc, NULL);
    if (!doc)
        doc = yyjson_read(s + 2, len - 2, YYJSON_READ_STOP_WHEN_DONE);
    bool good = doc && element_read(a, s[0], yyjson_doc_get_root(doc), ret);
    yyjson_doc_free(doc);
    return good;
}

/* ---- in the one form already ---- */

/* A string of characters that stand for themselves in every encoder; where it ends, or NULL. */
static const char *usual_string(const char *s, const char *end, struct sl_text *ret) {
    static const bool usual[256] = {
        [' ' ... '!'] = true, ['#' ... '%'] = true, ['\'' ... ';'] = true,
        ['='] = true,         ['?' ... '['] = true, [']' ... '~'] = true,
    };
    const char *from = s + 1;

    if (s == end || *s != '"')
        return NULL;
    for (s = from; s < end && usual[(unsigned char)*s];)
        s++;
    *ret = (struct sl_text){from, (size_t)(s - from)};
    return s < end && *s == '"' ? s + 1 : NULL;
}

/* The same of a scalar: such a string, or a whole number of few digits. */
static const char *usual_scalar(const char *s, const char *end) {
    const char *from = s;
    struct sl_text t;

    if (s < end && *s == '"')
        return usual_string(s, end, &t);
    while (s < end && *s >= '0' && *s <= '9')
        s++;
    bool good = s > from && s - from <= 15 && (*from != '0' || s - from == 1);
    return good ? s : NULL;
}

/* Is this key or value surely in the form in which it would be written? Then it need not be read,
 * which most of the time of an account would go into. */
static bool is_usual(const char *s, size_t len) {
    const char *end = s + len;
    struct sl_text name, last;
    bool first = true;

    if (s[0] == 'v')
        return usual_scalar(s + 2, end) == end;
    if (len < 3 || s[2] != '{')
        return false;
    for (s += 3;; s++, last = name, first = false) {
        s = usual_string(s, end, &name);
        if (!s || s == end || *s != ':' || (!first && sl_text_cmp(last, name) >= 0))
            return false;
        s = usual_scalar(s + 1, end);
        if (!s || s == end)
            return false;
        if (*s == '}')
            return s + 1 == end;
        if (*s != ',')
            return false;
    }
}

/* ---- all kinds ---- */

/* By its place in a list. */
static bool read_index(struct sl_arena *a, const char *s, size_t len, struct merge_element *ret) {
    size_t at = 2, n;
    uint64_t v = 0;
    bool minus = len > 2 && s[2] == '-';
    char text[NUMBER_TEXT];

    at += len > 2 && (minus || s[2] == '+');
    if (at == len)
        return false;
    for (; at < len; at++) {
        if (s[at] < '0' || s[at] > '9' || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s[at] - '0'), &v))
            return false;
    }
    if (v > (uint64_t)INT64_MAX + minus)
        return false;
    n = whole_text(v, minus && v != 0, text);
    char *to = sl_arena_alloc(a, n + 3);
    to[0] = 'i';
    to[1] = ':';
    memcpy(to + 2, text, n + 1);
    *ret = (struct merge_element){to, (uint32_t)n + 2};
    return true;
}

bool merge_element_read(struct sl_arena *a, const char *s, size_t len, struct merge_element *ret) {
    *ret = (struct merge_element){0};
    if (len < 2 || s[1] != ':')
        return false;
    switch (s[0]) {
    case 'f':
        *ret = (struct merge_element){s, (uint32_t)len};
        return true;
    case 'k':
    case 'v':
        if (!is_usual(s, len))
            return read_json(a, s, len, ret);
        *ret = (struct merge_element){s, (uint32_t)len};
        return true;
    case 'i':
        return read_index(a, s, len, ret);
    default:
        return true;
    }
}

/* ---- order ---- */

/* Where reading stands in the JSON of a key or value, which ends with a NUL. */
struct at {
    const char *s;
};

static int unhex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
}

/* The next character of a string, -1 at its end. Bytes above 0x7f order as the characters do. */
static int next_char(struct at *at) {
    unsigned char c = (unsigned char)*at->s;
    if (c == '"' || c == '\0')
        return -1;
    at->s++;
    if (c != '\\')
        return c;
    c = (unsigned char)*at->s;
    if (c == '\0')
        return -1;
    at->s++;
    if (c != 'u')
        return c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
    int v = 0;
    for (int i = 0; i < 4 && *at->s; i++)
        v = v * 16 + unhex(*at->s++);
    return v > 0xff ? 0xe2 : v; /* U+2028 begins with this byte */
}

static int cmp_string(struct at *x, struct at *y) {
    x->s++;
    y->s++;
    for (;;) {
        int c = next_char(x), d = next_char(y);
        if (c != d)
            return c < d ? -1 : 1;
        if (c < 0)
            break;
    }
    x->s += *x->s == '"';
    y->s += *y->s == '"';
    return 0;
}

static int rank(char c) {
    switch (c) {
    case '"':
        return 1;
    case 't':
    case 'f':
        return 2;
    case '[':
        return 3;
    case '{':
        return 4;
    case 'n':
        return 5;
    default:
        return 0;
    }
}

/* A whole number that surely fits. */
static bool read_whole(struct at *at, int64_t *ret) {
    const char *s = at->s;
    bool minus = *s == '-';
    int64_t n = 0;
    int digits = 0;

    for (s += minus; *s >= '0' && *s <= '9' && digits < 18; s++, digits++)
        n = n * 10 + (*s - '0');
    if (digits == 0 || (*s >= '0' && *s <= '9') || *s == '.' || *s == 'e' || *s == 'E')
        return false;
    *ret = minus ? -n : n;
    at->s = s;
    return true;
}

static int cmp_number(struct at *x, struct at *y) {
    struct at from[2] = {*x, *y};
    int64_t a, b;
    char *x_end, *y_end;

    if (read_whole(x, &a) && read_whole(y, &b))
        return (a > b) - (a < b);
    *x = from[0];
    *y = from[1];
    long long i = strtoll(x->s, &x_end, 10), j = strtoll(y->s, &y_end, 10);
    if (strchr(".eE", *x_end) || strchr(".eE", *y_end)) { /* the end of the text counts as one */
        double d = strtod(x->s, &x_end), e = strtod(y->s, &y_end);
        if (d != e)
            return d < e ? -1 : 1;
    } else if (i != j) {
        return i < j ? -1 : 1;
    }
    x->s = x_end;
    y->s = y_end;
    return 0;
}

static int cmp_value(struct at *x, struct at *y);

/* Lists item by item, objects key by key: they have the same order in both. */
static int cmp_nested(struct at *x, struct at *y) {
    char end = *x->s == '[' ? ']' : '}';

    x->s++;
    y->s++;
    while (*x->s != end && *y->s != end && *x->s && *y->s) {
        int r = end == '}' ? cmp_string(x, y) : 0;
        x->s += *x->s == ':';
        y->s += *y->s == ':';
        if (r == 0)
            r = cmp_value(x, y);
        if (r != 0)
            return r;
        if (*x->s != *y->s) /* one ends here, and is before the other */
            return *x->s == end ? -1 : 1;
        x->s += *x->s == ',';
        y->s += *y->s == ',';
    }
    if (*x->s != *y->s)
        return *x->s == end ? -1 : 1;
    x->s += *x->s == end;
    y->s += *y->s == end;
    return 0;
}

static int cmp_value(struct at *x, struct at *y) {
    int r = rank(*x->s), q = rank(*y->s);
    if (r != q)
        return r < q ? -1 : 1;
    if (r == 0)
        return cmp_number(x, y);
    if (r == 1)
        return cmp_string(x, y);
    if (r == 3 || r == 4)
        return cmp_nested(x, y);
    if (*x->s != *y->s) /* false is before true */
        return *x->s < *y->s ? -1 : 1;
    size_t n = strspn(x->s, "abcdefghijklmnopqrstuvwxyz");
    x->s += n;
    y->s += n;
    return 0;
}

int merge_element_cmp(const char *x, size_t x_len, const char *y, size_t y_len) {
    static const char kinds[] = "fkvi";

    if (x[0] != y[0])
        return strchr(kinds, x[0]) < strchr(kinds, y[0]) ? -1 : 1;
    int r = memcmp(x, y, x_len < y_len ? x_len : y_len);
    if (r == 0)
        r = (x_len > y_len) - (x_len < y_len);
    if (r == 0 || x[0] == 'f')
        return r;
    int s = cmp_value(&(struct at){x + 2}, &(struct at){y + 2});
    return s != 0 ? s : r; /* as numbers the same: still an order */
}

/* ---- messages ---- */

/* As Go's %q. */
static void print_quoted(struct sl_buf *out, const char *s, size_t len) {
    sl_buf_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            sl_buf_printf(out, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            sl_buf_puts(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
        else if (c < 0x20 || c == 0x7f)
            sl_buf_printf(out, "\\x%02x", c);
        else
            sl_buf_putc(out, (char)c);
    }
    sl_buf_putc(out, '"');
}

/* Keys and values; those of a nested object have nothing between them. */
static void print_keys(struct sl_buf *out, yyjson_val *v, const char *between);

static void print_value(struct sl_buf *out, yyjson_val *v) {
    char number[NUMBER_TEXT];
    struct sl_text t = sl_json_view(v);
    yyjson_val *item;
    size_t i, max;

    if (yyjson_is_str(v)) {
        print_quoted(out, t.s, t.n);
    } else if (yyjson_is_num(v)) {
        sl_buf_add(out, number, number_text(v, number));
    } else if (yyjson_is_obj(v)) {
        print_keys(out, v, "");
    } else if (yyjson_is_arr(v)) {
        sl_buf_putc(out, '[');
        yyjson_arr_foreach (v, i, max, item) {
            sl_buf_puts(out, i ? "," : "");
            print_value(out, item);
        }
        sl_buf_putc(out, ']');
    } else {
        sl_buf_puts(out, yyjson_is_true(v) ? "true" : yyjson_is_false(v) ? "false" : "null");
    }
}

static void print_keys(struct sl_buf *out, yyjson_val *v, const char *between) {
    yyjson_val *key, *value;
    size_t i, max;

    sl_obj_foreach (v, i, max, key, value) {
        sl_buf_puts(out, i ? between : "");
        sl_buf_text(out, sl_json_view(key));
        sl_buf_putc(out, '=');
        print_value(out, value);
    }
}

void merge_element_print(struct sl_buf *out, const char *text, size_t len) {
    if (text[0] == 'f') {
        sl_buf_putc(out, '.');
        sl_buf_add(out, text + 2, len - 2);
        return;
    }
    sl_buf_putc(out, '[');
    if (text[0] == 'i') {
        sl_buf_add(out, text + 2, len - 2);
    } else {
        yyjson_doc *doc = yyjson_read(text + 2, len - 2, 0);
        yyjson_val *v = yyjson_doc_get_root(doc);
        if (text[0] == 'v') {
            sl_buf_putc(out, '=');
            print_value(out, v);
        } else {
            print_keys(out, v, ",");
        }
        yyjson_doc_free(doc);
    }
    sl_buf_putc(out, ']');
}
