/* SPDX-License-Identifier: Apache-2.0 */
/* From text to nodes. The text is taken as the inside of {}: a brace may close it early. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/table/jsonpath_int.h"

struct reader {
    const char *p, *end; /* end: where the closing brace was added */
    struct sl_arena *arena;
    struct sl_err *err;
    uint32_t depth;
};

struct steps {
    struct api_jp_node *first, *last;
};

static int wrong(struct reader *r, const char *what) {
    return sl_err_set(r->err, SL_EINVAL, "%s at \"%.*s\"", what,
                      (int)(r->end > r->p ? r->end - r->p : 0), r->p);
}

static struct api_jp_node *add(struct reader *r, struct steps *to, enum api_jp_kind kind) {
    struct api_jp_node *n = sl_arena_alloc0(r->arena, 1, sizeof(*n));

    n->kind = kind;
    if (to->last)
        to->last->next = n;
    else
        to->first = n;
    to->last = n;
    return n;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* A letter of any script. */
static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool ends_name(const struct reader *r, const char *p) {
    return p >= r->end || strchr(" \t\r\n.,[]$@{}", *p);
}

static int read_inside(struct reader *r, struct steps *to);

/* The steps of a text of its own. */
static int read_path(struct reader *r, const char *text, size_t len, struct api_jp_node **ret) {
    struct reader in = {
        .p = text, .end = text + len, .arena = r->arena, .err = r->err, .depth = r->depth + 1};
    struct steps steps = {0};

    if (in.depth > SL_JSONPATH_DEPTH)
        return wrong(r, "too deep");
    int k = read_inside(&in, &steps);
    *ret = steps.first;
    return k;
}

/* A name up to a sign; a backslash before a sign makes it part of the name. */
static int read_field(struct reader *r, struct steps *to) {
    char *out = sl_arena_alloc(r->arena, (size_t)(r->end - r->p) + 1);
    size_t len = 0;
    bool plain = true;

    while (!ends_name(r, r->p)) {
        if (*r->p == '\\') {
            plain = false;
            if (++r->p >= r->end)
                return wrong(r, "unclosed action");
            if (*r->p == '\\') { /* both go */
                r->p++;
                continue;
            }
        }
        out[len++] = *r->p++;
    }
    struct api_jp_node *n = add(r, to, plain && len == 1 && *out == '*' ? JP_ALL : JP_FIELD);
    n->s = out;
    n->len = len;
    return 0;
}

static int read_word(struct reader *r, struct steps *to) {
    const char *from = r->p;

    while (!ends_name(r, r->p))
        r->p++;
    size_t len = (size_t)(r->p - from);
    bool yes = len == 4 && memcmp(from, "true", 4) == 0;
    bool no = len == 5 && memcmp(from, "false", 5) == 0;
    struct api_jp_node *n = add(r, to, yes || no ? JP_VALUE : JP_WORD);
    if (yes || no)
        n->value.tag = YYJSON_TYPE_BOOL | (yes ? YYJSON_SUBTYPE_TRUE : YYJSON_SUBTYPE_FALSE);
    return 0;
}

static int read_number(struct reader *r, struct steps *to) {
    const char *from = r->p;
    char *end;

    if (*r->p == '+' || *r->p == '-')
        r->p++;
    while (r->p < r->end && (is_digit(*r->p) || *r->p == '.'))
        r->p++;
    const char *text = sl_arena_strndup(r->arena, from, (size_t)(r->p - from));
    if (!strpbrk(text, "0123456789"))
        return wrong(r, "cannot parse number");
    struct api_jp_node *n = add(r, to, JP_VALUE);
    errno = 0;
    n->value.uni.i64 = strtoll(text, &end, 10);
    n->value.tag = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT;
    if (!*end && !errno)
        return 0;
    n->value.uni.f64 = strtod(text, &end);
    n->value.tag = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL;
    return *end ? wrong(r, "cannot parse number") : 0;
}

/* What stands between quotes, with the escapes of Go's literals. */
static int read_quoted(struct reader *r, struct steps *to) {
    static const char from[] = "abfnrtv\\", into[] = "\a\b\f\n\r\t\v\\";
    const char quote = *r->p, *p = r->p + 1, *end = p;

    while (end < r->end && *end != '\n' && (*end != quote || end[-1] == '\\'))
        end++;
    if (end >= r->end || *end == '\n')
        return wrong(r, "unterminated quoted string");
    char *out = sl_arena_alloc(r->arena, (size_t)(end - p) + 1), *last = out;
    while (p < end) {
        const char *at;
        if (*p != '\\') {
            *last++ = *p++;
        } else if (p + 1 < end && (p[1] == quote || (at = strchr(from, p[1])))) {
            *last++ = p[1] == quote ? quote : into[at - from];
            p += 2;
        } else {
            return wrong(r, "unquote string: unknown escape");
        }
    }
    struct api_jp_node *n = add(r, to, JP_VALUE);
    n->value.tag = ((uint64_t)(last - out) << YYJSON_TAG_BIT) | YYJSON_TYPE_STR;
    *last = '\0';
    n->value.uni.str = out;
    r->p = end + 1;
    return 0;
}

/* [-]digits, which may be none; false: too large. */
static bool read_index(const char **p, struct api_jp_bound *b, bool *ret_any) {
    bool minus = **p == '-';
    const char *from = *p += minus;
    char *end;

    *ret_any = minus;
    if (!is_digit(**p))
        return !minus;
    *ret_any = true;
    errno = 0;
    b->n = strtoll(from, &end, 10);
    *p = end;
    b->known = true;
    if (minus)
        b->n = -b->n;
    return errno == 0;
}

/* a, a:b, a:b:c, each of which may be missing. */
static int read_slice(struct reader *r, struct steps *to, const char *text) {
    struct api_jp_bound b[3] = {0};
    bool any, valid = read_index(&text, &b[0], &any);

    if (valid && *text == ':') {
        text++;
        valid = read_index(&text, &b[1], &any);
        if (valid && *text == ':') {
            text++;
            valid = read_index(&text, &b[2], &any);
        }
    } else if (valid) {
        b[1] = (struct api_jp_bound){
            .known = true, .derived = true, .n = (int64_t)((uint64_t)b[0].n + 1)};
    }
    if (!valid || *text)
        return wrong(r, "invalid array index");
    memcpy(add(r, to, JP_SLICE)->bounds, b, sizeof(b));
    return 0;
}

static int read_union(struct reader *r, struct steps *to, const char *text, uint32_t commas) {
    struct api_jp_node *u = add(r, to, JP_UNION);

    u->paths = sl_arena_alloc0(r->arena, commas + 1, sizeof(struct api_jp_node *));
    for (const char *p = text;; p++) {
        size_t len = strcspn(p, ","), from = strspn(p, " "), upto = len;
        while (upto > from && p[upto - 1] == ' ')
            upto--;
        from = from < upto ? from : upto;
        const char *one = sl_arena_printf(r->arena, "[%.*s]", (int)(upto - from), p + from);
        int k = read_path(r, one, strlen(one), &u->paths[u->n_paths++]);
        if (k < 0)
            return k;
        p += len;
        if (!*p)
            return 0;
    }
}

static int read_bracket(struct reader *r, struct steps *to) {
    const char *from = r->p + 1, *end = from;
    uint32_t commas = 0;

    while (end < r->end && *end != ']' && *end != '\n')
        commas += *end++ == ',';
    if (end >= r->end || *end == '\n')
        return wrong(r, "unterminated array");
    size_t len = (size_t)(end - from);
    const char *text = sl_arena_strndup(r->arena, from, len);
    int k;
    if (commas) {
        k = read_union(r, to, text, commas);
    } else if (len >= 2 && *text == '\'' && strchr(text + 1, '\'') == text + len - 1) {
        /* A key is a path, too: ['a.b'] is .a.b. */
        const char *path = sl_arena_printf(r->arena, ".%.*s", (int)(len - 2), text + 1);
        struct api_jp_node *steps = NULL;
        k = read_path(r, path, strlen(path), &steps);
        for (; steps; steps = steps->next) {
            if (to->last)
                to->last->next = steps;
            else
                to->first = steps;
            to->last = steps;
        }
    } else {
        k = read_slice(r, to, strcmp(text, "*") == 0 ? ":" : text);
    }
    r->p = end + 1;
    return k;
}

static enum api_jp_compare comparison(const char *s, size_t len) {
    static const char *const words[] = {"exists", "==", "!=", "<", "<=", ">", ">="};

    for (uint32_t i = JP_EQ; i < SL_LEN(words); i++)
        if (strlen(words[i]) == len && strncmp(words[i], s, len) == 0)
            return (enum api_jp_compare)i;
    return JP_UNKNOWN;
}

/* [?(@.a=="x")]: up to the first parenthesis that is not in a quoted text. */
static int read_filter(struct reader *r, struct steps *to) {
    const char *from = r->p + 3, *p = from;
    bool begun = false, ended = false;
    char pair = 0;

    for (; p < r->end && *p != '\n' && (*p != ')' || begun != ended); p++) {
        if (*p != '"' && *p != '\'')
            continue;
        if (!begun) {
            begun = true;
            pair = *p;
        } else if (p[-1] != '\\' && *p == pair) {
            ended = true;
        }
    }
    if (p >= r->end || *p == '\n')
        return wrong(r, "unterminated filter");
    if (p + 1 >= r->end || p[1] != ']')
        return wrong(r, "unclosed array expect ]");
    size_t len = (size_t)(p - from), left = 0, op = 0;
    const char *text = sl_arena_strndup(r->arena, from, len);
    struct api_jp_node *f = add(r, to, JP_FILTER);
    r->p = p + 2;
    f->paths = sl_arena_alloc0(r->arena, 2, sizeof(struct api_jp_node *));
    f->n_paths = 2;
    left = strcspn(text, "!<>=");
    op = strspn(text + left, "!<>=");
    if (left + op == len && op > 1) /* the last of many signs is what is compared with */
        op--;
    if (left == 0 || op == 0 || left + op >= len)
        return read_path(r, text, len, &f->paths[0]);
    f->op = comparison(text + left, op);
    int k = read_path(r, text, left, &f->paths[0]);
    return k < 0 ? k : read_path(r, text + left + op, len - left - op, &f->paths[1]);
}

static int read_descent(struct reader *r, struct steps *to) {
    if (to->last && to->last->kind == JP_DESCENT)
        return wrong(r, "invalid multiple recursive descent");
    r->p += 2;
    (void)add(r, to, JP_DESCENT);
    return r->p < r->end && is_word(*r->p) ? read_field(r, to) : 0;
}

static int read_step(struct reader *r, struct steps *to) {
    const char c = *r->p;

    if (strncmp(r->p, "[?(", 3) == 0)
        return read_filter(r, to);
    if (strncmp(r->p, "..", 2) == 0)
        return read_descent(r, to);
    switch (c) {
    case ' ':
    case '@':
    case '$': /* the current value */
        r->p++;
        return 0;
    case '[':
        return read_bracket(r, to);
    case '"':
    case '\'':
        return read_quoted(r, to);
    case '.':
        r->p++;
        return read_field(r, to);
    case '\n':
    case '\r':
        return wrong(r, "unclosed action");
    default:
        if (c == '+' || c == '-' || is_digit(c))
            return read_number(r, to);
        return is_word(c) ? read_word(r, to) : wrong(r, "unrecognized character in action");
    }
}

static int read_inside(struct reader *r, struct steps *to) {
    int k = 0;

    while (k >= 0 && r->p < r->end && *r->p != '}')
        k = read_step(r, to);
    return k;
}

int api_jsonpath_new(const char *path, struct sl_arena *arena, const struct api_jsonpath **ret,
                     struct sl_err *err) {
    size_t len = strlen(path);
    struct reader r = {.p = path, .end = path + len, .arena = arena, .err = err};
    struct steps steps = {0};

    if (len > SL_JSONPATH_MAX)
        return sl_err_set(err, SL_EINVAL, "longer than %u bytes", SL_JSONPATH_MAX);
    int k = read_inside(&r, &steps);
    if (k < 0)
        return k;
    struct api_jsonpath *p = sl_arena_alloc0(arena, 1, sizeof(*p));
    p->first = steps.first;
    p->fields = true;
    for (const struct api_jp_node *n = p->first; n; n = n->next)
        p->fields = p->fields && n->kind == JP_FIELD;
    *ret = p;
    return 0;
}
