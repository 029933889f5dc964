/* SPDX-License-Identifier: Apache-2.0 */
/* From text to tree. */
#include <stdarg.h>
#include <string.h>

#include "cluster/apiserver/cel/tree.h"
#include "core/base/fmt.h"

/* Levels of a tree: those of parentheses, and those of long chains of operators. */
#define TREE_MAX 500u
#define ARGS_MAX 64u /* of a function; of lists: as many as there is text for */

struct reader {
    const char *p;
    const struct api_cel_env *env;
    struct api_cel_trouble *t;
    uint32_t depth;
    bool *uses;
    /* variables, innermost last */
    const char *vars[SL_CEL_VARS];
    uint32_t n_vars, n_inputs;
};

void api_cel_trouble(struct api_cel_trouble *t, uint32_t pos, const char *fmt, ...) {
    char what[400];
    uint32_t line = 1, from = 0;
    va_list ap;

    if (t->why)
        return;
    va_start(ap, fmt);
    sl_vfmt_short(what, sizeof(what), fmt, ap);
    va_end(ap);
    for (uint32_t i = 0; i < pos && t->text[i]; i++)
        if (t->text[i] == '\n') {
            line++;
            from = i + 1;
        }
    char *dots = sl_arena_alloc(t->arena, pos - from + 1);
    memset(dots, '.', pos - from);
    dots[pos - from] = '\0';
    t->why =
        sl_arena_printf(t->arena, "ERROR: <input>:%u:%u: %s\n | %.*s\n | %s^", line, pos - from + 1,
                        what, (int)strcspn(t->text + from, "\n"), t->text + from, dots);
}

static struct api_cel_node *parse_error(struct reader *r, const char *what) {
    api_cel_trouble(r->t, (uint32_t)(r->p - r->t->text), "Syntax error: %s", what);
    return NULL;
}

static bool failed(const struct reader *r) {
    return r->t->why;
}

static struct api_cel_node *new_node(struct reader *r, enum api_cel_op op, const char *at,
                                     struct api_cel_node *a, struct api_cel_node *b) {
    struct api_cel_node *n = sl_arena_alloc0(r->t->arena, 1, sizeof(*n));

    n->op = op;
    n->pos = (uint32_t)(at - r->t->text);
    n->a = a;
    n->b = b;
    n->depth = 1 + (a && a->depth > (b ? b->depth : 0) ? a->depth : b ? b->depth : 0);
    if (n->depth > TREE_MAX)
        (void)parse_error(r, "expression too deep");
    return n;
}

static void blank(struct reader *r) {
    for (;;) {
        r->p += strspn(r->p, " \t\r\n\f");
        if (r->p[0] != '/' || r->p[1] != '/')
            return;
        r->p += strcspn(r->p, "\n");
    }
}

/* Takes the symbol if it is next. */
static bool accept_symbol(struct reader *r, const char *symbol) {
    blank(r);
    if (strncmp(r->p, symbol, strlen(symbol)) != 0)
        return false;
    r->p += strlen(symbol);
    return true;
}

static bool expect(struct reader *r, const char *symbol) {
    if (failed(r))
        return false;
    if (accept_symbol(r, symbol))
        return true;
    (void)parse_error(r, sl_arena_printf(r->t->arena, "expected '%s'", symbol));
    return false;
}

static bool is_identifier_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static const char *read_identifier(struct reader *r) {
    size_t n = 0;

    blank(r);
    while (is_identifier_char(r->p[n]) && (n > 0 || r->p[0] < '0' || r->p[0] > '9'))
        n++;
    const char *s = sl_arena_strndup(r->t->arena, r->p, n);
    if (n == 0)
        (void)parse_error(r, "expected a name");
    r->p += n;
    return s;
}

static struct api_cel_node *read_expr(struct reader *r);

/* ---- lists, maps, arguments ---- */

static struct api_cel_node *read_items(struct reader *r, struct api_cel_node *to, const char *end,
                                       bool map) {
    struct api_cel_node *last = NULL;

    while (!failed(r) && !accept_symbol(r, end)) {
        const bool maybe = accept_symbol(r, "?");
        const char *at = r->p;
        struct api_cel_node *key = read_expr(r), *value = NULL;
        if (map && expect(r, ":"))
            value = read_expr(r);
        if (failed(r))
            return to;
        struct api_cel_node *item = new_node(r, OP_ENTRY, at, key, value);
        item->maybe = maybe;
        if (last)
            last->next = item;
        else
            to->a = item;
        last = item;
        to->depth = to->depth > item->depth ? to->depth : item->depth + 1;
        to->n_args++;
        blank(r);
        if (!accept_symbol(r, ",") && strncmp(r->p, end, strlen(end)) != 0)
            return parse_error(r, sl_arena_printf(r->t->arena, "expected ',' or '%s'", end));
    }
    return to;
}

static struct api_cel_node *read_call(struct reader *r, const char *name, const char *at,
                                      struct api_cel_node *self) {
    struct api_cel_node *n = new_node(r, OP_CALL, at, NULL, NULL), *last = self;

    n->s = name;
    n->member = self != NULL;
    n->a = self;
    n->n_args = self != NULL;
    n->depth = self ? self->depth + 1 : 1;
    while (!failed(r) && !accept_symbol(r, ")")) {
        struct api_cel_node *arg = read_expr(r);
        if (failed(r))
            return n;
        if (last)
            last->next = arg;
        else
            n->a = arg;
        last = arg;
        n->depth = n->depth > arg->depth ? n->depth : arg->depth + 1;
        if (++n->n_args > ARGS_MAX)
            return parse_error(r, "too many arguments");
        if (!accept_symbol(r, ",") && *r->p != ')')
            return parse_error(r, "expected ',' or ')'");
    }
    n->first = api_cel_function_next(name, n->member, NULL);
    if (!n->first && !failed(r))
        api_cel_trouble(r->t, n->pos, "undeclared reference to '%s' (in container '')", name);
    return n;
}

/* ---- macros ---- */

static const struct macro {
    const char *name;
    uint32_t args; /* in all */
    uint32_t vars;
    bool filter; /* a filter stands before the last argument */
    enum api_cel_fold fold;
} macros[] = {
    {"all", 2, 1, false, FOLD_ALL},
    {"all", 3, 2, false, FOLD_ALL},
    {"exists", 2, 1, false, FOLD_EXISTS},
    {"exists", 3, 2, false, FOLD_EXISTS},
    {"exists_one", 2, 1, false, FOLD_ONE},
    {"exists_one", 3, 2, false, FOLD_ONE},
    {"existsOne", 2, 1, false, FOLD_ONE},
    {"existsOne", 3, 2, false, FOLD_ONE},
    {"filter", 2, 1, false, FOLD_FILTER},
    {"map", 2, 1, false, FOLD_MAP},
    {"map", 3, 1, true, FOLD_MAP},
    {"transformList", 3, 2, false, FOLD_MAP},
    {"transformList", 4, 2, true, FOLD_MAP},
    {"transformMap", 3, 2, false, FOLD_TO_MAP},
    {"transformMap", 4, 2, true, FOLD_TO_MAP},
    {"transformMapEntry", 3, 2, false, FOLD_ENTRIES},
    {"transformMapEntry", 4, 2, true, FOLD_ENTRIES},
    {"sortBy", 2, 1, false, FOLD_SORT},
    {"optMap", 2, 1, false, FOLD_OPT_MAP},
    {"optFlatMap", 2, 1, false, FOLD_OPT_FLAT},
};

/* Arguments up to the closing parenthesis, without reading them. */
static uint32_t count_args(const char *p) {
    const char *from = p;
    uint32_t depth = 0, n = 1;
    char quote = 0;
    bool raw = false;

    for (; *p; p++) {
        if (quote) {
            if (*p == '\\' && p[1] && !raw)
                p++;
            else if (*p == quote)
                quote = 0;
        } else if (*p == '"' || *p == '\'') {
            quote = *p;
            raw = p > from && (p[-1] == 'r' || p[-1] == 'R');
        } else if (strchr("([{", *p)) {
            depth++;
        } else if (strchr(")]}", *p)) {
            if (depth-- == 0)
                return n;
        } else {
            n += *p == ',' && depth == 0;
        }
    }
    return n;
}

static const struct macro *macro_of(const char *name, const char *args) {
    const uint32_t n = count_args(args);

    for (size_t i = 0; i < SL_LEN(macros); i++)
        if (macros[i].args == n && strcmp(macros[i].name, name) == 0)
            return &macros[i];
    return NULL;
}

/* a.all(x, expr) and its kin: the opening parenthesis is behind us. */
static struct api_cel_node *read_macro(struct reader *r, const struct macro *m, const char *at,
                                       struct api_cel_node *of) {
    struct api_cel_node *n = new_node(r, OP_FOLD, at, of, NULL);

    n->fold = m->fold;
    n->two = m->vars == 2;
    n->at = r->n_vars;
    for (uint32_t i = 0; i < m->vars; i++) {
        const char *name = read_identifier(r);
        if (!expect(r, ","))
            return n;
        if (r->n_vars == SL_CEL_VARS)
            return parse_error(r, "expression too deep");
        r->vars[r->n_vars++] = name;
    }
    if (n->two && strcmp(r->vars[n->at], r->vars[n->at + 1]) == 0)
        return parse_error(r, "duplicate variable name");
    if (m->filter) {
        n->b = read_expr(r);
        if (!expect(r, ","))
            return n;
    }
    n->c = read_expr(r);
    r->n_vars = n->at;
    if (!expect(r, ")"))
        return n;
    for (const struct api_cel_node *below = n->b ? n->b : n->c;; below = n->c) {
        n->depth = n->depth > below->depth ? n->depth : below->depth + 1;
        if (below == n->c)
            return n;
    }
}

/* ---- names ---- */

static bool is_reserved(const char *name) {
    static const char *const words[] = {
        "as",  "break", "const",   "continue",  "else",   "for", "function", "if",    "import",
        "let", "loop",  "package", "namespace", "return", "var", "void",     "while", "in",
    };

    for (size_t i = 0; i < SL_LEN(words); i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

/* int, google.protobuf.Duration: names of types are values. */
static bool type_of_name(const char *name, struct api_value *ret) {
    if (strcmp(name, "dyn") == 0 || strcmp(name, "error") == 0)
        return false;
    for (int k = T_NULL; k < T_KINDS; k++) {
        if (k == T_OBJECT || strcmp(api_cel_kind_name((enum api_cel_kind)k), name) != 0)
            continue;
        *ret = (struct api_value){.kind = V_TYPE, .num = k};
        return true;
    }
    return false;
}

static struct api_cel_node *name_node(struct reader *r, const char *name, const char *at) {
    struct api_cel_node *n = new_node(r, OP_NAME, at, NULL, NULL);

    n->s = name;
    if (type_of_name(name, &n->value))
        n->op = OP_CONST;
    return n;
}

static struct api_cel_node *read_name(struct reader *r) {
    const char *at = r->p, *name = read_identifier(r);
    struct api_cel_node *n;

    if (failed(r))
        return NULL;
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0 || strcmp(name, "null") == 0) {
        n = new_node(r, OP_CONST, at, NULL, NULL);
        n->value = *name == 'n' ? (struct api_value){.kind = V_NULL} : api_cel_bool(*name == 't');
        return n;
    }
    if (is_reserved(name)) {
        api_cel_trouble(r->t, (uint32_t)(at - r->t->text), "reserved identifier: %s", name);
        return NULL;
    }
    blank(r);
    const char *open = r->p;
    if (accept_symbol(r, "(")) {
        if (strcmp(name, "has") != 0 || count_args(r->p) != 1)
            return read_call(r, name, open, NULL);
        n = read_expr(r);
        if (expect(r, ")") && (n->op != OP_FIELD || n->maybe))
            api_cel_trouble(r->t, n->pos, "invalid argument to has() macro");
        if (n)
            n->op = OP_HAS;
        return n;
    }
    for (uint32_t i = r->n_vars; i > 0; i--) {
        if (strcmp(r->vars[i - 1], name) != 0)
            continue;
        n = new_node(r, OP_VAR, at, NULL, NULL);
        n->at = i - 1;
        n->s = name;
        if (n->at < r->n_inputs)
            r->uses[n->at] = true;
        return n;
    }
    return name_node(r, name, at);
}

/* ---- expressions ---- */

static struct api_cel_node *read_primary(struct reader *r) {
    struct api_cel_node *n;

    blank(r);
    const char *at = r->p;
    n = api_cel_read_literal(&r->p, r->t);
    if (n || failed(r)) {
        if (n && is_identifier_char(*r->p))
            return parse_error(r, "extraneous input");
        if (n)
            n->depth = 1;
        return n;
    }
    if (accept_symbol(r, "["))
        return read_items(r, new_node(r, OP_LIST, at, NULL, NULL), "]", false);
    if (accept_symbol(r, "{"))
        return read_items(r, new_node(r, OP_MAP, at, NULL, NULL), "}", true);
    if (accept_symbol(r, "(")) {
        n = read_expr(r);
        (void)expect(r, ")");
        return n;
    }
    (void)accept_symbol(r, "."); /* a name of the outermost container: there is only one */
    return read_name(r);
}

static struct api_cel_node *read_selected(struct reader *r, struct api_cel_node *n,
                                          const char *at) {
    const bool maybe = accept_symbol(r, "?");
    const char *name = read_identifier(r);

    if (failed(r))
        return NULL;
    blank(r);
    const char *open = r->p;
    if (!maybe && accept_symbol(r, "(")) {
        const struct macro *m = n->op != OP_NAME ? macro_of(name, r->p) : NULL;
        if (n->op == OP_NAME) {
            const char *full = sl_arena_printf(r->t->arena, "%s.%s", n->s, name);
            if (api_cel_function_next(full, false, NULL))
                return read_call(r, full, open, NULL);
            api_cel_trouble(r->t, n->pos, "undeclared reference to '%s' (in container '')", n->s);
            return NULL;
        }
        return m ? read_macro(r, m, open, n) : read_call(r, name, open, n);
    }
    if (n->op == OP_NAME && !maybe)
        return name_node(r, sl_arena_printf(r->t->arena, "%s.%s", n->s, name), r->t->text + n->pos);
    struct api_cel_node *field = new_node(r, OP_FIELD, at, n, NULL);
    field->s = name;
    field->len = strlen(name);
    field->maybe = maybe;
    return field;
}

static struct api_cel_node *read_member(struct reader *r) {
    struct api_cel_node *n = read_primary(r);

    while (!failed(r)) {
        blank(r);
        const char *at = r->p;
        if (accept_symbol(r, "[")) {
            const bool maybe = accept_symbol(r, "?");
            struct api_cel_node *index = read_expr(r);
            if (!expect(r, "]"))
                return n;
            n = new_node(r, OP_INDEX, at, n, index);
            n->maybe = maybe;
        } else if (*at == '.' && accept_symbol(r, ".")) {
            n = read_selected(r, n, at);
        } else {
            break;
        }
    }
    return n;
}

static struct api_cel_node *read_unary(struct reader *r) {
    struct api_cel_node *n;

    blank(r);
    const char *at = r->p;
    if (++r->depth > SL_CEL_MAX_DEPTH)
        return parse_error(r, "expression too deep");
    if (*at == '!' && at[1] != '=') {
        r->p++;
        n = new_node(r, OP_NOT, at, read_unary(r), NULL);
    } else if (*at == '-' && !(at[1] >= '0' && at[1] <= '9')) {
        r->p++;
        n = new_node(r, OP_NEGATE, at, read_unary(r), NULL);
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

static struct api_cel_node *read_level(struct reader *r, int level) {
    struct api_cel_node *n = level == LEVELS ? read_unary(r) : read_level(r, level + 1);

    for (size_t i = 0; !failed(r) && level < LEVELS && i < SL_LEN(operators);) {
        size_t len = strlen(operators[i].symbol);
        blank(r);
        if (operators[i].level != level || strncmp(r->p, operators[i].symbol, len) != 0 ||
            (operators[i].op == OP_IN && is_identifier_char(r->p[2]))) {
            i++;
            continue;
        }
        const char *at = r->p;
        r->p += len;
        struct api_cel_node *b = read_level(r, level + 1);
        if (failed(r))
            return n;
        n = new_node(r, operators[i].op, at, n, b);
        i = 0;
    }
    return n;
}

static struct api_cel_node *read_expr(struct reader *r) {
    struct api_cel_node *n;

    if (++r->depth > SL_CEL_MAX_DEPTH)
        return parse_error(r, "expression too deep");
    n = read_level(r, 0);
    blank(r);
    const char *at = r->p;
    if (!failed(r) && accept_symbol(r, "?")) {
        struct api_cel_node *yes = read_level(r, 0), *no = expect(r, ":") ? read_expr(r) : NULL;
        if (failed(r))
            return n;
        n = new_node(r, OP_IF, at, n, yes);
        n->c = no;
        n->depth = n->depth > no->depth ? n->depth : no->depth + 1;
    }
    r->depth--;
    return n;
}

struct api_cel_node *api_cel_read(const char *text, const struct api_cel_env *env,
                                  struct api_cel_trouble *trouble, bool uses[SL_CEL_INPUTS]) {
    struct reader r = {.p = text, .env = env, .t = trouble, .uses = uses};

    for (; r.n_vars < SL_CEL_INPUTS && env->names[r.n_vars]; r.n_vars++)
        r.vars[r.n_vars] = env->names[r.n_vars];
    r.n_inputs = r.n_vars;
    struct api_cel_node *root = read_expr(&r);
    blank(&r);
    if (!trouble->why && *r.p)
        (void)parse_error(&r, sl_arena_printf(trouble->arena, "extraneous input '%.20s'", r.p));
    return trouble->why ? NULL : root;
}
