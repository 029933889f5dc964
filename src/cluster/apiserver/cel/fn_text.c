/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of texts. Positions are those of characters. */
#include <string.h>

#include "cluster/apiserver/cel/tree.h"

/* ---- parts ---- */

/* Where a character begins; len: behind the last; SIZE_MAX: there are fewer. */
static size_t place_of(const struct api_value *v, int64_t character) {
    int64_t n = -1;

    for (size_t i = 0; i < v->len; i++)
        if ((v->s[i] & 0xc0) != 0x80 && ++n == character)
            return i;
    return n + 1 == character ? v->len : SIZE_MAX;
}

static bool charge_text(struct api_cel_call *c) {
    size_t len = 0;

    for (uint32_t i = 0; i < c->n; i++)
        len += c->args[i].kind == V_STR ? c->args[i].len : 0;
    return api_cel_charge(c->run, len / 4);
}

static struct api_value out_of_range(struct api_cel_call *c, int64_t n) {
    return api_cel_error(c->run, "index out of range: %lld", (long long)n);
}

static struct api_value part(struct api_cel_call *c, size_t from, size_t to) {
    return api_cel_text_copy(c->run, c->args[0].s + from, to - from);
}

enum { IS_IN, IS_FIRST, IS_LAST };

static struct api_value is_part(struct api_cel_call *c) {
    const struct api_value *a = &c->args[0], *b = &c->args[1];

    if (!api_cel_charge(c->run, c->how == IS_IN ? (a->len + b->len) / 4 : b->len / 16))
        return api_cel_too_costly(c->run);
    if (b->len == 0 || b->len > a->len)
        return api_cel_bool(b->len == 0);
    return api_cel_bool(c->how == IS_IN      ? memmem(a->s, a->len, b->s, b->len) != NULL
                        : c->how == IS_FIRST ? memcmp(a->s, b->s, b->len) == 0
                                             : memcmp(a->s + a->len - b->len, b->s, b->len) == 0);
}

static struct api_value char_at(struct api_cel_call *c) {
    const int64_t at = c->args[1].num;

    if (!charge_text(c))
        return api_cel_too_costly(c->run);
    size_t from = at < 0 ? SIZE_MAX : place_of(&c->args[0], at);
    if (from == SIZE_MAX)
        return out_of_range(c, at);
    return from == c->args[0].len ? api_cel_text("", 0)
                                  : part(c, from, place_of(&c->args[0], at + 1));
}

static struct api_value substring(struct api_cel_call *c) {
    const int64_t from = c->args[1].num;
    const bool open = c->n == 2;

    if (!charge_text(c))
        return api_cel_too_costly(c->run);
    const int64_t to =
        open ? (int64_t)api_cel_characters(c->args[0].s, c->args[0].len) : c->args[2].num;
    if (!open && from > to)
        return api_cel_error(c->run, "invalid substring range. start: %lld, end: %lld",
                             (long long)from, (long long)to);
    size_t begin = from < 0 ? SIZE_MAX : place_of(&c->args[0], from),
           end = to < 0 ? SIZE_MAX : place_of(&c->args[0], to);
    if (begin == SIZE_MAX || end == SIZE_MAX)
        return out_of_range(c, begin == SIZE_MAX ? from : to);
    return part(c, begin, end);
}

static struct api_value index_of(struct api_cel_call *c) {
    const struct api_value *a = &c->args[0], *b = &c->args[1];
    const int64_t from = c->n > 2 ? c->args[2].num : 0;

    if (!charge_text(c))
        return api_cel_too_costly(c->run);
    if (b->len == 0)
        return api_cel_int(from);
    if (from < 0)
        return out_of_range(c, from);
    size_t begin = place_of(a, from);
    if (begin == SIZE_MAX)
        return api_cel_int(-1);
    const char *at = memmem(a->s + begin, a->len - begin, b->s, b->len);
    return api_cel_int(at ? (int64_t)api_cel_characters(a->s, (size_t)(at - a->s)) : -1);
}

static struct api_value last_index_of(struct api_cel_call *c) {
    const struct api_value *a = &c->args[0], *b = &c->args[1];

    if (!charge_text(c))
        return api_cel_too_costly(c->run);
    const int64_t n = (int64_t)api_cel_characters(a->s, a->len);
    const int64_t from = c->n > 2 ? c->args[2].num : b->len ? n - 1 : n;
    if (b->len == 0)
        return api_cel_int(from);
    if (c->n > 2 && from < 0)
        return out_of_range(c, from);
    if (a->len < b->len || from >= n)
        return api_cel_int(-1);
    size_t at = place_of(a, from);
    at = at > a->len - b->len ? a->len - b->len : at;
    if (!api_cel_charge(c->run, at * b->len / 8))
        return api_cel_too_costly(c->run);
    for (;; at--) {
        if (memcmp(a->s + at, b->s, b->len) == 0)
            return api_cel_int((int64_t)api_cel_characters(a->s, at));
        if (at == 0)
            return api_cel_int(-1);
    }
}

/* ---- other texts ---- */

enum { LOWER, UPPER };

static struct api_value change_case(struct api_cel_call *c) {
    const char first = c->how == LOWER ? 'A' : 'a', last = c->how == LOWER ? 'Z' : 'z';
    struct api_value v = api_cel_text_copy(c->run, c->args[0].s, c->args[0].len);

    for (size_t i = 0; v.kind == V_STR && i < v.len; i++)
        if (v.s[i] >= first && v.s[i] <= last)
            ((char *)v.s)[i] = (char)(v.s[i] ^ 0x20);
    return v;
}

/* Bytes of white space in the beginning; backwards: in the end. */
static size_t white(const char *s, size_t len, bool backwards) {
    static const char *const spaces[] = {" ",
                                         "\t",
                                         "\n",
                                         "\v",
                                         "\f",
                                         "\r",
                                         "\xc2\x85",
                                         "\xc2\xa0",
                                         "\xe1\x9a\x80",
                                         "\xe2\x80\x80",
                                         "\xe2\x80\x81",
                                         "\xe2\x80\x82",
                                         "\xe2\x80\x83",
                                         "\xe2\x80\x84",
                                         "\xe2\x80\x85",
                                         "\xe2\x80\x86",
                                         "\xe2\x80\x87",
                                         "\xe2\x80\x88",
                                         "\xe2\x80\x89",
                                         "\xe2\x80\x8a",
                                         "\xe2\x80\xa8",
                                         "\xe2\x80\xa9",
                                         "\xe2\x80\xaf",
                                         "\xe2\x81\x9f",
                                         "\xe3\x80\x80"};

    for (size_t i = 0; i < SL_LEN(spaces); i++) {
        size_t n = strlen(spaces[i]);
        if (n <= len && memcmp(backwards ? s + len - n : s, spaces[i], n) == 0)
            return n;
    }
    return 0;
}

static struct api_value trim(struct api_cel_call *c) {
    const char *s = c->args[0].s;
    size_t len = c->args[0].len, n;

    if (!charge_text(c))
        return api_cel_too_costly(c->run);
    while (len && (n = white(s, len, false))) {
        s += n;
        len -= n;
    }
    while (len && (n = white(s, len, true)))
        len -= n;
    return api_cel_text_copy(c->run, s, len);
}

/* The bytes of the character there. */
static size_t letter(const char *s, size_t len) {
    size_t n = 1;

    while (n < len && (s[n] & 0xc0) == 0x80)
        n++;
    return n;
}

/* Where the next 'old' is; an empty one is before each character and at the end. */
static const char *next_old(const char *s, size_t len, const struct api_value *old, bool first) {
    if (old->len)
        return memmem(s, len, old->s, old->len);
    return first ? s : len ? s + letter(s, len) : NULL;
}

static struct api_value replace(struct api_cel_call *c) {
    const struct api_value *a = &c->args[0], *old = &c->args[1], *new = &c->args[2];
    const int64_t most = c->n > 3 && c->args[3].num >= 0 ? c->args[3].num : INT64_MAX;
    const char *end = a->s + a->len, *at = a->s, *next;
    size_t n = 0, len = a->len;

    for (const char *p = a->s;
         (int64_t)n < most && (next = next_old(p, (size_t)(end - p), old, n == 0)); n++) {
        if (!api_cel_charge(c->run, (uint64_t)(next - p) / 8 + 1))
            return api_cel_too_costly(c->run);
        p = next + old->len;
    }
    if (new->len > old->len && n > SIZE_MAX / 2 / (new->len - old->len))
        return api_cel_too_costly(c->run);
    len = len + n * new->len - n * old->len;
    char *out = api_cel_make(c->run, len + 1), *to = out;
    if (!out)
        return api_cel_too_costly(c->run);
    for (size_t i = 0; i < n; i++) {
        next = next_old(at, (size_t)(end - at), old, i == 0);
        memcpy(to, at, (size_t)(next - at));
        to += next - at;
        memcpy(to, new->s, new->len);
        to += new->len;
        at = next + old->len;
    }
    memcpy(to, at, (size_t)(end - at));
    out[len] = '\0';
    return api_cel_text(out, len);
}

static struct api_value split(struct api_cel_call *c) {
    const struct api_value *a = &c->args[0], *by = &c->args[1];
    const int64_t most = c->n > 2 && c->args[2].num >= 0 ? c->args[2].num : INT64_MAX;
    const char *at = a->s, *end = a->s + a->len, *next;
    size_t room = 1, n = 0;

    if (!charge_text(c))
        return api_cel_too_costly(c->run);
    if (by->len)
        for (const char *p = a->s; (next = memmem(p, (size_t)(end - p), by->s, by->len)); room++)
            p = next + by->len;
    else
        room = api_cel_characters(a->s, a->len);
    struct api_value *items = api_cel_make(c->run, room * sizeof(*items));
    if (!items)
        return api_cel_too_costly(c->run);
    while (n < room && (int64_t)n < most) {
        next = by->len ? memmem(at, (size_t)(end - at), by->s, by->len)
                       : at + letter(at, (size_t)(end - at));
        if (!next || (int64_t)n + 1 == most || n + 1 == room)
            next = end;
        items[n] = api_cel_text_copy(c->run, at, (size_t)(next - at));
        if (items[n++].kind == V_ERROR)
            return items[n - 1];
        at = next < end ? next + by->len : end;
    }
    return api_cel_list(items, n);
}

static struct api_value join(struct api_cel_call *c) {
    const struct api_value by = c->n > 1 ? c->args[1] : api_cel_text("", 0);
    struct api_value key, v;
    struct api_walk w;
    size_t len = 0;

    (void)api_cel_walk_begin(&w, &c->args[0]);
    while (api_cel_walk_next(c->run, &w, &key, &v)) {
        if (v.kind != V_STR)
            return v.kind == V_ERROR ? v : api_cel_error(c->run, "join: invalid input");
        len += v.len + by.len;
    }
    char *out = api_cel_make(c->run, len + 1), *to = out;
    if (!out)
        return api_cel_too_costly(c->run);
    (void)api_cel_walk_begin(&w, &c->args[0]);
    while (api_cel_walk_next(c->run, &w, &key, &v)) {
        if (key.num > 0) {
            memcpy(to, by.s, by.len);
            to += by.len;
        }
        memcpy(to, v.s, v.len);
        to += v.len;
    }
    *to = '\0';
    return api_cel_text(out, (size_t)(to - out));
}

static struct api_value quote(struct api_cel_call *c) {
    static const char from[] = "\a\b\f\n\r\t\v\\\"", into[] = "abfnrtv\\\"";
    const struct api_value *a = &c->args[0];
    char *out = api_cel_make(c->run, 2 * a->len + 3), *to = out;

    if (!out)
        return api_cel_too_costly(c->run);
    *to++ = '"';
    for (size_t i = 0; i < a->len; i++) {
        const char *at = a->s[i] ? strchr(from, a->s[i]) : NULL;
        if (at)
            *to++ = '\\';
        *to++ = at ? into[at - from] : a->s[i];
    }
    *to++ = '"';
    *to = '\0';
    return api_cel_text(out, (size_t)(to - out));
}

/* ---- patterns ---- */

#define PATTERN_STEPS 1000u /* of making one, and as many for some letters of it */

const struct sl_pattern *api_cel_pattern(struct api_cel_call *c, const struct api_value *text,
                                         struct sl_pattern **ret_own) {
    *ret_own = NULL;
    if (c->node->pattern)
        return c->node->pattern;
    if (!api_cel_charge(c->run, PATTERN_STEPS + text->len * PATTERN_STEPS / 16)) {
        (void)api_cel_too_costly(c->run);
        return NULL;
    }
    if (memchr(text->s, '\0', text->len)) {
        (void)api_cel_error(c->run, "error parsing regexp: NUL");
        return NULL;
    }
    if (sl_pattern_new(text->s, ret_own, c->run->err) < 0)
        return NULL;
    return *ret_own;
}

/* The next match from there on; false: there is none, or the budget is spent. */
static bool next_match(struct api_cel_call *c, const struct sl_pattern *p, size_t from,
                       size_t *begin, size_t *end) {
    struct api_run *x = c->run;
    const struct api_value *a = &c->args[0];
    uint64_t left = x->max - x->steps + 1, before = left;
    bool found = sl_pattern_find(p, a->s, a->len, from, begin, end, &left);

    return api_cel_charge(x, before - left + (a->len - from) / 2 + 8) && found;
}

enum { RE_MATCHES, RE_FIND, RE_ALL };

static struct api_value all_matches(struct api_cel_call *c, const struct sl_pattern *p) {
    const int64_t most = c->n > 2 && c->args[2].num >= 0 ? c->args[2].num : INT64_MAX;
    struct api_value *items = NULL;
    size_t n = 0, room = 0, from = 0, last = SIZE_MAX, begin, end;

    while ((int64_t)n < most && from <= c->args[0].len && next_match(c, p, from, &begin, &end)) {
        from = end > begin ? end : end + letter(c->args[0].s + end, c->args[0].len - end);
        if (begin == end && begin == last) /* right behind another: Go leaves it out */
            continue;
        last = end;
        if (n == room) {
            room = room ? 2 * room : 8;
            struct api_value *more = api_cel_make(c->run, room * sizeof(*more));
            if (!more)
                return api_cel_too_costly(c->run);
            if (n)
                memcpy(more, items, n * sizeof(*more));
            items = more;
        }
        items[n] = part(c, begin, end);
        if (items[n++].kind == V_ERROR)
            return items[n - 1];
    }
    return c->run->steps > c->run->max ? api_cel_too_costly(c->run) : api_cel_list(items, n);
}

static struct api_value match(struct api_cel_call *c) {
    struct sl_pattern *own;
    const struct sl_pattern *p = api_cel_pattern(c, &c->args[1], &own);
    struct api_value ret;
    size_t begin, end;

    if (!p)
        return (struct api_value){.kind = V_ERROR};
    if (c->how == RE_ALL) {
        ret = all_matches(c, p);
    } else {
        bool found = next_match(c, p, 0, &begin, &end);
        ret = c->run->steps > c->run->max ? api_cel_too_costly(c->run)
              : c->how == RE_MATCHES      ? api_cel_bool(found)
              : found                     ? part(c, begin, end)
                                          : api_cel_text("", 0);
    }
    sl_pattern_free(own);
    return ret;
}

const struct api_cel_function api_cel_functions_text[] = {
    {"contains", true, "ss", 'b', is_part, IS_IN},
    {"startsWith", true, "ss", 'b', is_part, IS_FIRST},
    {"endsWith", true, "ss", 'b', is_part, IS_LAST},
    {"matches", true, "ss", 'b', match, RE_MATCHES},
    {"matches", false, "ss", 'b', match, RE_MATCHES},
    {"find", true, "ss", 's', match, RE_FIND},
    {"findAll", true, "ss", 'L', match, RE_ALL},
    {"findAll", true, "ssi", 'L', match, RE_ALL},
    {"charAt", true, "si", 's', char_at, 0},
    {"indexOf", true, "ss", 'i', index_of, 0},
    {"indexOf", true, "ssi", 'i', index_of, 0},
    {"lastIndexOf", true, "ss", 'i', last_index_of, 0},
    {"lastIndexOf", true, "ssi", 'i', last_index_of, 0},
    {"lowerAscii", true, "s", 's', change_case, LOWER},
    {"upperAscii", true, "s", 's', change_case, UPPER},
    {"replace", true, "sss", 's', replace, 0},
    {"replace", true, "sssi", 's', replace, 0},
    {"split", true, "ss", 'L', split, 0},
    {"split", true, "ssi", 'L', split, 0},
    {"substring", true, "si", 's', substring, 0},
    {"substring", true, "sii", 's', substring, 0},
    {"trim", true, "s", 's', trim, 0},
    {"join", true, "l", 's', join, 0},
    {"join", true, "ls", 's', join, 0},
    {"format", true, "sl", 's', api_cel_format, 0},
    {"strings.quote", false, "s", 's', quote, 0},
    {0},
};
