/* SPDX-License-Identifier: Apache-2.0 */
/* From text to tree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/cel/tree.h"

struct reader {
    const char *start, *p;
    struct sl_arena *arena;
    struct sl_err *err;
    uint32_t depth;
    bool failed, uses_old;
    /* variables of the macros around, innermost last */
    const char *vars[SL_CEL_MAX_DEPTH];
    uint32_t n_vars;
};

static struct api_cel_node *parse_error(struct reader *r, const char *what) {
    if (!r->failed)
        (void)sl_err_set(r->err, SL_EINVAL, "%s at character %zu", what,
                         (size_t)(r->p - r->start) + 1);
    r->failed = true;
    return NULL;
}

static struct api_cel_node *new_node(struct reader *r, enum api_cel_op op,
                                     const struct api_cel_node *a, const struct api_cel_node *b) {
    struct api_cel_node *n = sl_arena_alloc0(r->arena, 1, sizeof(*n));
    n->op = op;
    n->a = a;
    n->b = b;
    return n;
}

static void blank(struct reader *r) {
    r->p += strspn(r->p, " \t\r\n");
}

/* Takes the symbol if it is next. */
static bool accept_symbol(struct reader *r, const char *symbol) {
    blank(r);
    if (strncmp(r->p, symbol, strlen(symbol)) != 0)
        return false;
    r->p += strlen(symbol);
    return true;
}

static bool is_identifier_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t identifier_len(const char *p) {
    size_t n = 0;

    if (*p >= '0' && *p <= '9')
        return 0;
    while (is_identifier_char(p[n]))
        n++;
    return n;
}

static const struct api_cel_node *read_expr(struct reader *r);

static const struct api_cel_node *read_string(struct reader *r) {
    char quote = *r->p++;
    char *out = sl_arena_alloc(r->arena, strlen(r->p) + 1);
    struct api_cel_node *n = new_node(r, OP_STR, NULL, NULL);
    size_t len = 0;

    for (; *r->p && *r->p != quote; r->p++) {
        static const char from[] = "nrt\\'\"`/", to[] = "\n\r\t\\'\"`/";
        const char *at;
        if (*r->p != '\\') {
            out[len++] = *r->p;
            continue;
        }
        r->p++;
        at = *r->p ? strchr(from, *r->p) : NULL;
        if (!at)
            return parse_error(r, "unknown escape");
        out[len++] = to[at - from];
    }
    if (*r->p != quote)
        return parse_error(r, "a text without an end");
    r->p++;
    out[len] = '\0';
    n->s = out;
    n->len = len;
    return n;
}

static const struct api_cel_node *read_number(struct reader *r) {
    size_t len = strspn(r->p, "0123456789.eE");
    struct api_cel_node *n = new_node(r, OP_INT, NULL, NULL);
    char *end;

    errno = 0;
    if (memchr(r->p, '.', len)) {
        n->op = OP_REAL;
        n->real = strtod(r->p, &end);
    } else {
        n->num = strtoll(r->p, &end, 10);
    }
    if (errno || end == r->p || is_identifier_char(*end))
        return parse_error(r, "a number that is none");
    r->p = end;
    return n;
}

static const struct api_cel_node *read_list(struct reader *r) {
    struct api_cel_node *list = new_node(r, OP_LIST, NULL, NULL), *last = NULL, *item;

    while (!r->failed && !accept_symbol(r, "]")) {
        const struct api_cel_node *e = read_expr(r);
        if (r->failed)
            return NULL;
        item = new_node(r, OP_LIST, e, NULL);
        if (last)
            last->next = item;
        else
            list->next = item;
        last = item;
        if (!accept_symbol(r, ",") && *r->p != ']')
            return parse_error(r, "expected , or ]");
    }
    return list;
}

static const char *read_identifier(struct reader *r) {
    blank(r);
    size_t len = identifier_len(r->p);
    const char *s = sl_arena_strndup(r->arena, r->p, len);

    if (len == 0)
        (void)parse_error(r, "expected a name");
    r->p += len;
    return s;
}

/* a.all(x, expr) and its kin: the opening parenthesis is behind us. */
static const struct api_cel_node *read_macro(struct reader *r, enum api_cel_op op,
                                             const struct api_cel_node *list) {
    struct api_cel_node *n = new_node(r, op, list, NULL);

    n->s = read_identifier(r);
    if (r->failed || !accept_symbol(r, ","))
        return parse_error(r, "expected a variable and ,");
    if (r->n_vars == SL_CEL_MAX_DEPTH)
        return parse_error(r, "too deep");
    r->vars[r->n_vars++] = n->s;
    n->b = read_expr(r);
    r->n_vars--;
    if (!r->failed && !accept_symbol(r, ")"))
        return parse_error(r, "expected )");
    return n;
}

static const struct {
    const char *name;
    enum api_cel_op op;
    int args; /* -1: a macro */
} methods[] = {
    {"all", OP_ALL, -1},          {"exists", OP_EXISTS, -1},    {"exists_one", OP_ONE, -1},
    {"map", OP_MAP, -1},          {"filter", OP_FILTER, -1},    {"size", OP_SIZE, 0},
    {"contains", OP_CONTAINS, 1}, {"startsWith", OP_STARTS, 1}, {"endsWith", OP_ENDS, 1},
    {"matches", OP_MATCHES, 1},
};
static const struct {
    const char *name;
    enum api_cel_op op;
} functions[] = {{"size", OP_SIZE}, {"string", OP_STRING}, {"int", OP_INTEGER}, {"has", OP_HAS}};

static const struct api_cel_node *read_method(struct reader *r, const struct api_cel_node *of,
                                              const char *name) {
    for (size_t i = 0; i < SL_LEN(methods); i++) {
        const struct api_cel_node *arg = NULL;
        if (strcmp(name, methods[i].name) != 0)
            continue;
        if (methods[i].args < 0)
            return read_macro(r, methods[i].op, of);
        if (methods[i].args > 0)
            arg = read_expr(r);
        if (!r->failed && !accept_symbol(r, ")"))
            return parse_error(r, "expected )");
        struct api_cel_node *n = new_node(r, methods[i].op, of, arg);
        if (n && n->op == OP_MATCHES && arg && arg->op == OP_STR) {
            struct sl_err err = {0};
            if (sl_pattern_new_in(r->arena, arg->s, &n->pattern, &err) < 0)
                return parse_error(r, sl_arena_strdup(r->arena, err.text));
        }
        return n;
    }
    return parse_error(r,
                       sl_arena_printf(r->arena, "the function %.60s is not supported here", name));
}

/* Fields named like keywords of the language are escaped: __namespace__. */
static const char *unescape(const char *name, struct sl_arena *arena) {
    static const char *const pairs[][2] = {
        {"__dot__", "."}, {"__dash__", "-"}, {"__slash__", "/"}, {"__underscores__", "__"}};
    size_t len = strlen(name), n = 0;
    char *out;

    if (!strstr(name, "__"))
        return name;
    out = sl_arena_alloc(arena, len + 1);
    for (size_t i = 0; i < len;) {
        size_t k = 0;
        while (k < SL_LEN(pairs) && strncmp(name + i, pairs[k][0], strlen(pairs[k][0])) != 0)
            k++;
        if (k < SL_LEN(pairs)) {
            memcpy(out + n, pairs[k][1], strlen(pairs[k][1]));
            n += strlen(pairs[k][1]);
            i += strlen(pairs[k][0]);
        } else {
            out[n++] = name[i++];
        }
    }
    out[n] = '\0';
    if (n > 4 && strncmp(out, "__", 2) == 0 && strcmp(out + n - 2, "__") == 0) {
        out[n - 2] = '\0';
        return out + 2;
    }
    return out;
}

static const struct api_cel_node *read_name(struct reader *r) {
    const char *name = read_identifier(r);
    struct api_cel_node *n;

    if (r->failed)
        return NULL;
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0) {
        n = new_node(r, OP_BOOL, NULL, NULL);
        n->num = *name == 't';
        return n;
    }
    if (strcmp(name, "null") == 0)
        return new_node(r, OP_NULL, NULL, NULL);
    for (size_t i = 0; i < SL_LEN(functions); i++) {
        const struct api_cel_node *arg;
        if (strcmp(name, functions[i].name) != 0 || !accept_symbol(r, "("))
            continue;
        arg = read_expr(r);
        if (r->failed || !accept_symbol(r, ")"))
            return parse_error(r, "expected )");
        if (functions[i].op == OP_HAS && arg->op != OP_FIELD)
            return parse_error(r, "has() wants a field");
        return new_node(r, functions[i].op, arg, NULL);
    }
    n = new_node(r, OP_NAME, NULL, NULL);
    n->s = name;
    n->num = -1;
    for (uint32_t i = 0; i < r->n_vars; i++)
        if (strcmp(r->vars[i], name) == 0)
            n->num = i;
    if (n->num < 0 && strcmp(name, "self") == 0)
        n->num = -2;
    else if (n->num < 0 && strcmp(name, "oldSelf") == 0) {
        n->num = -3;
        r->uses_old = true;
    } else if (n->num < 0) {
        return parse_error(r, sl_arena_printf(r->arena, "%.60s is not known here", name));
    }
    return n;
}

static const struct api_cel_node *read_primary(struct reader *r) {
    const struct api_cel_node *n;

    blank(r);
    if (*r->p == '\'' || *r->p == '"')
        return read_string(r);
    if (*r->p >= '0' && *r->p <= '9')
        return read_number(r);
    if (accept_symbol(r, "["))
        return read_list(r);
    if (accept_symbol(r, "(")) {
        n = read_expr(r);
        if (!r->failed && !accept_symbol(r, ")"))
            return parse_error(r, "expected )");
        return n;
    }
    return read_name(r);
}

static const struct api_cel_node *read_member(struct reader *r) {
    const struct api_cel_node *n = read_primary(r);

    while (!r->failed) {
        if (accept_symbol(r, "[")) {
            n = new_node(r, OP_INDEX, n, read_expr(r));
            if (!r->failed && !accept_symbol(r, "]"))
                return parse_error(r, "expected ]");
        } else if (accept_symbol(r, ".")) {
            const char *name = read_identifier(r);
            if (!r->failed && accept_symbol(r, "(")) {
                n = read_method(r, n, name);
            } else {
                struct api_cel_node *field = new_node(r, OP_FIELD, n, NULL);
                field->s = unescape(name, r->arena);
                n = field;
            }
        } else {
            break;
        }
    }
    return n;
}

static const struct api_cel_node *read_unary(struct reader *r) {
    const struct api_cel_node *n;

    blank(r);
    if (++r->depth > SL_CEL_MAX_DEPTH)
        return parse_error(r, "too deep");
    if (*r->p == '!' && r->p[1] != '=') {
        r->p++;
        n = new_node(r, OP_NOT, read_unary(r), NULL);
    } else if (*r->p == '-') {
        r->p++;
        n = new_node(r, OP_NEGATE, read_unary(r), NULL);
    } else {
        n = read_member(r);
    }
    r->depth--;
    return n;
}

/* Two-sided operators, the loosest first; longer ones before their beginnings. */
static const struct {
    const char *symbol;
    enum api_cel_op op;
    int level;
} operators[] = {
    {"||", OP_OR, 0}, {"&&", OP_AND, 1}, {"==", OP_EQ, 2}, {"!=", OP_NE, 2}, {"<=", OP_LE, 2},
    {">=", OP_GE, 2}, {"<", OP_LT, 2},   {">", OP_GT, 2},  {"in", OP_IN, 2}, {"+", OP_ADD, 3},
    {"-", OP_SUB, 3}, {"*", OP_MUL, 4},  {"/", OP_DIV, 4}, {"%", OP_MOD, 4},
};
#define LEVELS 5

static const struct api_cel_node *read_level(struct reader *r, int level) {
    const struct api_cel_node *n = level == LEVELS ? read_unary(r) : read_level(r, level + 1);

    for (size_t i = 0; !r->failed && level < LEVELS && i < SL_LEN(operators);) {
        size_t len = strlen(operators[i].symbol);
        blank(r);
        if (operators[i].level != level || strncmp(r->p, operators[i].symbol, len) != 0 ||
            (operators[i].op == OP_IN && is_identifier_char(r->p[2]))) {
            i++;
            continue;
        }
        r->p += len;
        n = new_node(r, operators[i].op, n, read_level(r, level + 1));
        i = 0;
    }
    return n;
}

static const struct api_cel_node *read_expr(struct reader *r) {
    const struct api_cel_node *n;
    struct api_cel_node *choice;

    if (++r->depth > SL_CEL_MAX_DEPTH)
        return parse_error(r, "too deep");
    n = read_level(r, 0);
    if (!r->failed && accept_symbol(r, "?")) {
        choice = new_node(r, OP_IF, n, read_expr(r));
        if (r->failed || !accept_symbol(r, ":"))
            return parse_error(r, "expected :");
        choice->c = read_expr(r);
        n = choice;
    }
    r->depth--;
    return n;
}

int api_cel_compile(const char *text, struct sl_arena *arena, struct api_cel **ret,
                    struct sl_err *err) {
    struct reader r = {.start = text, .p = text, .arena = arena, .err = err};
    const struct api_cel_node *root;

    if (strlen(text) > SL_CEL_MAX_BYTES)
        return sl_err_set(err, SL_ELIMIT, "longer than %u bytes", SL_CEL_MAX_BYTES);
    root = read_expr(&r);
    blank(&r);
    if (!r.failed && *r.p)
        (void)parse_error(&r, "unexpected text");
    if (r.failed)
        return SL_EINVAL;
    *ret = sl_arena_alloc0(arena, 1, sizeof(**ret));
    (*ret)->root = root;
    (*ret)->uses_old = r.uses_old;
    return 0;
}

bool api_cel_uses_old(const struct api_cel *c) {
    return c->uses_old;
}
