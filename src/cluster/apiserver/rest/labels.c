/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label selectors of a query, parsed as by kube-apiserver, with its error messages.
 * (core/model/labels.h has the same notation for our own files, with our own messages.)
 *
 *     a=b, a==b, a!=b, a in (b,c), a notin (b), a, !a, a>1, a<1
 */
#include <string.h>

#include "cluster/apiserver/server.h"
#include "kube/types/syntax.h"

#define VALUES 256u

enum token {
    T_END,
    T_WORD,
    T_COMMA,
    T_NOT,
    T_OPEN,
    T_CLOSE,
    T_EQ,
    T_NE,
    T_GT,
    T_LT,
    T_IN,
    T_NOTIN
};

struct reader {
    struct api_rq *rq;
    const char *at, *fault; /* NULL: none */
    /* the next token; the caller distinguishes identifiers from operators */
    enum token kind;
    const char *text;
};

static void next(struct reader *r) {
    static const struct {
        const char *text;
        enum token kind;
    } signs[] = {{",", T_COMMA}, {"(", T_OPEN}, {")", T_CLOSE}, {"==", T_EQ}, {"!=", T_NE},
                 {"=", T_EQ},    {"!", T_NOT},  {">", T_GT},    {"<", T_LT}};

    r->at += strspn(r->at, " \t\r\n");
    r->kind = T_END;
    r->text = "";
    if (!*r->at)
        return;
    for (size_t i = 0; i < SL_LEN(signs); i++)
        if (strncmp(r->at, signs[i].text, strlen(signs[i].text)) == 0) {
            r->kind = signs[i].kind;
            r->text = signs[i].text;
            r->at += strlen(r->text);
            return;
        }
    size_t n = strcspn(r->at, ",()=!<> \t\r\n");
    r->text = sl_arena_strndup(&r->rq->arena, r->at, n);
    r->kind = strcmp(r->text, "in") == 0 ? T_IN : strcmp(r->text, "notin") == 0 ? T_NOTIN : T_WORD;
    r->at += n;
}

/* Where values are expected, "in" is one. */
static bool is_identifier(const struct reader *r) {
    return r->kind == T_WORD || r->kind == T_IN || r->kind == T_NOTIN;
}

static bool selector_expected(struct reader *r, const char *expected) {
    r->fault = sl_arena_printf(&r->rq->arena, "found '%s'%s expected: %s", r->text,
                               *expected == '\'' && expected[1] == '(' ? "" : ",", expected);
    return false;
}

static bool selector_invalid(struct reader *r, const char *where, const char *value,
                             const char *why) {
    r->fault = sl_arena_printf(&r->rq->arena, "%s: Invalid value: \"%s\": %s", where, value, why);
    return false;
}

static bool read_key(struct reader *r, struct sl_label_rule *rule) {
    struct sl_syntax_errors f;

    rule->op = SL_OP_EXISTS;
    if (r->kind == T_NOT) {
        rule->op = SL_OP_NOT_EXISTS;
        next(r);
    }
    if (!is_identifier(r))
        return selector_expected(r, "identifier");
    rule->key = r->text;
    f = sl_syntax_label_key(rule->key, strlen(rule->key));
    if (f.n)
        return selector_invalid(r, "<nil>", rule->key, f.v[0]);
    next(r);
    return true;
}

/* "(a,b)"; nothing between commas is the empty value. */
static bool read_values(struct reader *r, const char **values, uint32_t *n) {
    if (r->kind != T_OPEN)
        return selector_expected(r, "'('");
    next(r);
    if (r->kind != T_CLOSE && r->kind != T_COMMA && !is_identifier(r))
        return selector_expected(r, "',', ')' or identifier");
    for (bool word = false;; next(r)) {
        if (*n + 1 >= VALUES)
            return selector_expected(r, "fewer values");
        if (is_identifier(r)) {
            if (word)
                return selector_expected(r, "',' or ')'");
            values[(*n)++] = r->text;
            word = true;
        } else if (r->kind == T_COMMA || r->kind == T_CLOSE) {
            if (!word)
                values[(*n)++] = "";
            word = false;
            if (r->kind == T_CLOSE)
                break;
        } else {
            return selector_expected(r, "',' or ')'");
        }
    }
    next(r);
    return true;
}

static bool read_value(struct reader *r, const char **values, uint32_t *n) {
    values[(*n)++] = "";
    if (r->kind == T_END || r->kind == T_COMMA)
        return true;
    if (!is_identifier(r))
        return selector_expected(r, "identifier");
    values[0] = r->text;
    next(r);
    return true;
}

static bool check_values(struct reader *r, const struct sl_label_rule *rule) {
    for (uint32_t i = 0; i < rule->n_values; i++) {
        const char *v = rule->values[i];
        size_t digits = strspn(v + (*v == '-'), "0123456789");
        bool whole = digits && digits < 19 && !v[digits + (*v == '-')];
        if ((rule->op == SL_OP_GT || rule->op == SL_OP_LT) && !whole)
            return selector_invalid(r, "values[0]", v,
                                    "for 'Gt', 'Lt' operators, the value must be an integer");
        struct sl_syntax_errors f = sl_syntax_label_value(v, strlen(v));
        if (f.n)
            return selector_invalid(
                r, sl_arena_printf(&r->rq->arena, "values[%u][%s]", i, rule->key), v, f.v[0]);
    }
    return true;
}

static bool read_rule(struct reader *r, struct sl_label_rule *rule) {
    static const enum sl_label_op ops[] = {
        [T_EQ] = SL_OP_IN, [T_NE] = SL_OP_NOT_IN, [T_GT] = SL_OP_GT,
        [T_LT] = SL_OP_LT, [T_IN] = SL_OP_IN,     [T_NOTIN] = SL_OP_NOT_IN};
    const char **values;
    enum token op;

    *rule = (struct sl_label_rule){.n_values = 0};
    if (!read_key(r, rule))
        return false;
    if (rule->op == SL_OP_NOT_EXISTS || r->kind == T_END || r->kind == T_COMMA)
        return true;
    if (r->kind < T_EQ)
        return selector_expected(r, "in, notin, =, ==, !=, gt, lt");
    op = r->kind;
    rule->op = ops[op];
    next(r);
    rule->values = values = sl_arena_alloc0(&r->rq->arena, VALUES, sizeof *values);
    if (op == T_IN || op == T_NOTIN ? !read_values(r, values, &rule->n_values)
                                    : !read_value(r, values, &rule->n_values))
        return false;
    return check_values(r, rule);
}

bool api_labels_read(struct api_rq *rq, const char *text, struct sl_selector *ret) {
    struct reader r = {.rq = rq, .at = text};
    struct sl_label_rule *rules = sl_arena_alloc0(&rq->arena, SL_SELECTOR_MAX_RULES, sizeof *rules);
    uint32_t n = 0;

    next(&r);
    while (r.kind != T_END && !r.fault) {
        if (!is_identifier(&r) && r.kind != T_NOT) {
            (void)selector_expected(&r, n ? "identifier after ','"
                                          : "!, identifier, or 'end of string'");
            break;
        }
        if (!read_rule(&r, &rules[n++])) {
            r.fault = sl_arena_printf(&rq->arena, "unable to parse requirement: %s", r.fault);
            break;
        }
        if (r.kind != T_END && (r.kind != T_COMMA || n == SL_SELECTOR_MAX_RULES)) {
            (void)selector_expected(&r, "',' or 'end of string'");
            break;
        }
        bool comma = r.kind == T_COMMA;
        if (comma)
            next(&r);
        if (comma && r.kind == T_END)
            (void)selector_expected(&r, "identifier after ','");
    }
    if (r.fault) {
        api_rq_bad(rq, "%s", r.fault);
        return false;
    }
    *ret = (struct sl_selector){.v = rules, .n = n};
    return true;
}
