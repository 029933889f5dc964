/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text form of a selector, as kubectl -l and labelSelector= take it. The grammar and its
 * corners are those of apimachinery's labels.Parse:
 *
 *     selector    = [ requirement { "," requirement } ]
 *     requirement = [ "!" ] key | key ( "=" | "==" | "!=" | "<" | ">" ) [ value ]
 *                 | key ( "in" | "notin" ) "(" [ value ] { "," [ value ] } ")"
 *
 * Keys and values must be legal label keys and values. The text need not end in a NUL. Refused:
 * more than SL_SELECTOR_MAX_RULES rules, or SL_SELECTOR_MAX_VALUES values in one.
 */
#include "core/model/labels.h"

#include <string.h>

#include "core/base/collection/vec.h"
#include "core/model/names.h"

enum token { T_END, T_WORD, T_COMMA, T_OPEN, T_CLOSE, T_NOT, T_EQ, T_NEQ, T_GT, T_LT };

struct lexer {
    const char *at, *end;
    struct sl_arena *arena;
    struct sl_err *err;
    enum token kind; /* the present token */
    const char *word;
    size_t len;
};

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_symbol(char c) {
    return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<';
}

static void next(struct lexer *x) {
    while (x->at < x->end && is_space(*x->at))
        x->at++;
    x->word = x->at;
    x->len = 0;
    if (x->at == x->end) {
        x->kind = T_END;
        return;
    }
    char c = *x->at;
    bool eq_follows = x->end - x->at > 1 && x->at[1] == '=';
    if (!is_symbol(c)) {
        while (x->at < x->end && !is_space(*x->at) && !is_symbol(*x->at))
            x->at++;
        x->len = (size_t)(x->at - x->word);
        x->kind = T_WORD;
        return;
    }
    x->len = (c == '=' || c == '!') && eq_follows ? 2 : 1;
    x->at += x->len;
    switch (c) {
    case '=':
        x->kind = T_EQ;
        break;
    case '!':
        x->kind = x->len == 2 ? T_NEQ : T_NOT;
        break;
    case '(':
        x->kind = T_OPEN;
        break;
    case ')':
        x->kind = T_CLOSE;
        break;
    case ',':
        x->kind = T_COMMA;
        break;
    case '>':
        x->kind = T_GT;
        break;
    default:
        x->kind = T_LT;
        break;
    }
}

static int expected(const struct lexer *x, const char *what) {
    int len = x->len > 60 ? 60 : (int)x->len;
    if (x->kind == T_END)
        return sl_err_set(x->err, SL_EINVAL, "selector: expected %s at its end", what);
    return sl_err_set(x->err, SL_EINVAL, "selector: expected %s, got \"%.*s\"", what, len, x->word);
}

static bool word_is(const struct lexer *x, const char *w) {
    return x->kind == T_WORD && x->len == strlen(w) && memcmp(x->word, w, x->len) == 0;
}

/* The present word, checked as a label value, kept in the arena. */
static int take_value(struct lexer *x, const char **ret) {
    if (x->len > SL_LABEL_MAX || !model_name_is_qualified(x->word, x->len))
        return expected(x, "a label value (at most 63 letters, digits, '-', '_', '.')");
    *ret = sl_arena_strndup(x->arena, x->word, x->len);
    next(x);
    return 0;
}

/* The part between the parentheses. An absent value between commas is the empty value. */
static int take_values(struct lexer *x, struct sl_label_rule *rule) {
    _cleanup_(sl_freep) const char **list = NULL;
    uint32_t n = 0, cap = 0;

    if (x->kind != T_OPEN)
        return expected(x, "'('");
    next(x);
    if (x->kind == T_CLOSE)
        return expected(x, "at least one value");
    for (;;) {
        if (n == SL_SELECTOR_MAX_VALUES)
            return sl_err_set(x->err, SL_ELIMIT, "selector: more than %d values for \"%.80s\"",
                              SL_SELECTOR_MAX_VALUES, rule->key);
        const char *value = "";
        if (x->kind == T_WORD) {
            int r = take_value(x, &value);
            if (r < 0)
                return r;
        }
        if (n == cap)
            list = sl_vec_grow(list, n + 1, &cap, sizeof *list);
        list[n++] = value;
        if (x->kind == T_CLOSE)
            break;
        if (x->kind != T_COMMA)
            return expected(x, "',' or ')'");
        next(x);
    }
    next(x);
    const char **kept = sl_arena_alloc(x->arena, n * sizeof *kept);
    memcpy(kept, list, n * sizeof *kept);
    rule->values = kept;
    rule->n_values = n;
    return 0;
}

static bool is_whole_number(const char *s) {
    size_t n;
    if (*s == '-' || *s == '+')
        s++;
    n = strspn(s, "0123456789");
    return n > 0 && n <= 19 && !s[n];
}

static int take_rule(struct lexer *x, struct sl_label_rule *ret) {
    struct sl_label_rule rule = {.op = SL_OP_EXISTS};
    const char *value = "";
    int r;

    if (x->kind == T_NOT) {
        rule.op = SL_OP_NOT_EXISTS;
        next(x);
    }
    if (x->kind != T_WORD || word_is(x, "in") || word_is(x, "notin") ||
        !model_name_is_label_key(x->word, x->len))
        return expected(x, "a label key");
    rule.key = sl_arena_strndup(x->arena, x->word, x->len);
    next(x);
    if (rule.op == SL_OP_NOT_EXISTS || x->kind == T_COMMA || x->kind == T_END) {
        *ret = rule;
        return 0;
    }
    if (word_is(x, "in") || word_is(x, "notin")) {
        rule.op = x->len == 2 ? SL_OP_IN : SL_OP_NOT_IN;
        next(x);
        r = take_values(x, &rule);
        if (r < 0)
            return r;
        *ret = rule;
        return 0;
    }
    switch (x->kind) {
    case T_EQ:
        rule.op = SL_OP_IN;
        break;
    case T_NEQ:
        rule.op = SL_OP_NOT_IN;
        break;
    case T_GT:
        rule.op = SL_OP_GT;
        break;
    case T_LT:
        rule.op = SL_OP_LT;
        break;
    default:
        return expected(x, "one of = == != > < in notin");
    }
    next(x);
    if (x->kind == T_WORD) {
        r = take_value(x, &value);
        if (r < 0)
            return r;
    } else if (x->kind != T_COMMA && x->kind != T_END) {
        return expected(x, "a value");
    }
    if ((rule.op == SL_OP_GT || rule.op == SL_OP_LT) && !is_whole_number(value))
        return sl_err_set(x->err, SL_EINVAL,
                          "selector: expected a whole number after %c, got \"%s\"",
                          rule.op == SL_OP_GT ? '>' : '<', value);
    const char **one = sl_arena_alloc(x->arena, sizeof *one);
    *one = value;
    rule.values = one;
    rule.n_values = 1;
    *ret = rule;
    return 0;
}

int sl_selector_parse(const char *text, size_t len, struct sl_arena *a, struct sl_selector *ret,
                      struct sl_err *err) {
    struct lexer x = {.at = text, .end = text + len, .arena = a, .err = err};
    _cleanup_(sl_freep) struct sl_label_rule *rules = NULL;
    uint32_t n = 0, cap = 0;
    int r;

    next(&x);
    while (x.kind != T_END) {
        if (n == SL_SELECTOR_MAX_RULES)
            return sl_err_set(err, SL_ELIMIT, "selector: more than %d rules",
                              SL_SELECTOR_MAX_RULES);
        if (n == cap)
            rules = sl_vec_grow(rules, n + 1, &cap, sizeof *rules);
        r = take_rule(&x, &rules[n]);
        if (r < 0)
            return r;
        n++;
        if (x.kind == T_END)
            break;
        if (x.kind != T_COMMA)
            return expected(&x, "','");
        next(&x);
        if (x.kind != T_WORD && x.kind != T_NOT)
            return expected(&x, "a label key after ','");
    }
    struct sl_label_rule *kept = NULL;
    if (n > 0) {
        kept = sl_arena_alloc(a, n * sizeof *kept);
        memcpy(kept, rules, n * sizeof *kept);
    }
    *ret = (struct sl_selector){.v = kept, .n = n};
    return 0;
}
