/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as texts. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "notation.h"

static const struct {
    const char *word;
    enum sl_req_kind kind;
} slots[] = {{"slot", SL_REQ_SLOT}, {"xor_slot", SL_REQ_XOR_SLOT}, {"or_slot", SL_REQ_OR_SLOT}};

static const struct {
    const char *word;
    enum sl_constraint_kind kind;
} terms[] = {{"and", SL_CONSTRAINT_AND},     {"or", SL_CONSTRAINT_OR},
             {"not", SL_CONSTRAINT_NOT},     {"has", SL_CONSTRAINT_PROPERTIES},
             {"hosts", SL_CONSTRAINT_HOSTS}, {"ranks", SL_CONSTRAINT_RANKS}};

/* ---- reading ---- */

static struct sl_req_count read_count(struct sl_arena *mem, const char **s) {
    struct sl_req_count c = {.op = '+', .operand = 1};
    if (!skip_char(s, '(')) {
        c.min = c.max = (uint32_t)read_number(s);
        return c;
    }
    c.min = (uint32_t)read_number(s);
    if (skip_char(s, '-')) {
        c.max = (uint32_t)read_number(s);
        if (**s && strchr("+*^", **s)) {
            c.op = *(*s)++;
            c.operand = (uint32_t)read_number(s);
        }
    } else if (skip_char(s, '+')) {
        c.max = SL_REQ_COUNT_MAX;
    } else {
        uint32_t *set = sl_arena_alloc(mem, 64 * sizeof(*set));
        set[c.n_set++] = c.min;
        while (skip_char(s, ',') && c.n_set < 64)
            set[c.n_set++] = (uint32_t)read_number(s);
        c.max = set[c.n_set - 1];
        c.set = set;
    }
    if (!skip_char(s, ')'))
        cannot_read("')' after a count", *s);
    return c;
}

static uint32_t read_list(struct sl_arena *mem, const char **s, const struct sl_req_spec **ret);

static struct sl_req_spec read_resource(struct sl_arena *mem, const char **s) {
    struct sl_req_spec r = {0};
    size_t n = 0;
    while (isalpha((unsigned char)(*s)[n]) || (*s)[n] == '_')
        n++;
    char *type = sl_arena_strndup(mem, *s, n);
    *s += n;
    r.type = type;
    for (size_t i = 0; i < SL_LEN(slots); i++) {
        if (strcmp(type, slots[i].word) != 0)
            continue;
        r.kind = slots[i].kind;
        r.type = NULL;
        r.label = "task";
    }
    r.count = read_count(mem, s);
    if (skip_char(s, ':')) {
        r.exclusive = **s == 'x' ? SL_TRUE : SL_FALSE;
        ++*s;
    }
    if (skip_char(s, '{')) {
        r.n_with = read_list(mem, s, &r.with);
        if (!skip_char(s, '}'))
            cannot_read("'}'", *s);
    }
    return r;
}

static uint32_t read_list(struct sl_arena *mem, const char **s, const struct sl_req_spec **ret) {
    struct sl_req_spec list[64];
    uint32_t n = 0;
    skip_blanks(s);
    while (**s && **s != '}' && strncmp(*s, "for ", 4) != 0 && strncmp(*s, "where ", 6) != 0) {
        sl_assert(n < SL_LEN(list));
        list[n++] = read_resource(mem, s);
        skip_blanks(s);
    }
    struct sl_req_spec *copy = sl_arena_alloc(mem, (n + 1) * sizeof(*copy));
    if (n > 0)
        memcpy(copy, list, n * sizeof(*copy));
    *ret = copy;
    return n;
}

static struct sl_constraint read_term(struct sl_arena *mem, const char **s) {
    struct sl_constraint t = {0}, inside[16];
    const char *word = read_word(mem, s), *names[16];
    struct sl_constraint_ranks ranks[16];
    for (size_t i = 0; i < SL_LEN(terms); i++)
        if (strcmp(word, terms[i].word) == 0)
            t.kind = terms[i].kind;
    if (t.kind == SL_CONSTRAINT_ALL || !skip_char(s, '('))
        cannot_read("and, or, not, has, hosts, ranks", word);
    while (!skip_char(s, ')')) {
        sl_assert(t.n_terms + t.n_names + t.n_ranks < 16);
        if (t.kind == SL_CONSTRAINT_RANKS) {
            int64_t first = read_number(s);
            ranks[t.n_ranks++] =
                (struct sl_constraint_ranks){first, skip_char(s, '-') ? read_number(s) : first};
        } else if (t.kind == SL_CONSTRAINT_PROPERTIES || t.kind == SL_CONSTRAINT_HOSTS) {
            const char *absent = skip_char(s, '^') ? "^" : "";
            names[t.n_names++] = sl_arena_printf(mem, "%s%s", absent, read_word(mem, s));
        } else {
            inside[t.n_terms++] = read_term(mem, s);
        }
        skip_char(s, ',');
        skip_blanks(s);
    }
    struct sl_constraint *terms_copy = sl_arena_alloc(mem, 16 * sizeof(*terms_copy));
    const char **names_copy = sl_arena_alloc(mem, 16 * sizeof(*names_copy));
    struct sl_constraint_ranks *ranks_copy = sl_arena_alloc(mem, 16 * sizeof(*ranks_copy));
    memcpy(terms_copy, inside, t.n_terms * sizeof(*inside));
    memcpy(names_copy, names, t.n_names * sizeof(*names));
    memcpy(ranks_copy, ranks, t.n_ranks * sizeof(*ranks));
    t.terms = terms_copy;
    t.names = names_copy;
    t.ranks = ranks_copy;
    return t;
}

struct sl_jobspec *request_read(const char *text) {
    struct sl_jobspec *j = sl_alloc0(1, sizeof(*j));
    const char *s = text;
    sl_arena_init(&j->arena, 1 << 20);
    j->version = 1;
    j->n_resources = read_list(&j->arena, &s, &j->resources);
    if (strncmp(s, "for ", 4) == 0) {
        s += 4;
        j->duration = read_number(&s);
        skip_blanks(&s);
    }
    if (strncmp(s, "where ", 6) == 0) {
        s += 6;
        j->constraint = read_term(&j->arena, &s);
        skip_blanks(&s);
    }
    if (*s)
        cannot_read("a request", s);
    return j;
}

/* ---- printing ---- */

static void print_count(const struct sl_req_count *c, struct sl_buf *out) {
    for (uint32_t i = 0; c->set && i < c->n_set; i++)
        sl_buf_printf(out, "%c%u", i == 0 ? '(' : ',', c->set[i]);
    if (c->set)
        sl_buf_putc(out, ')');
    else if (c->min == c->max)
        sl_buf_printf(out, "%u", c->min);
    else if (c->max == SL_REQ_COUNT_MAX)
        sl_buf_printf(out, "(%u+)", c->min);
    else if (c->op == '+' && c->operand == 1)
        sl_buf_printf(out, "(%u-%u)", c->min, c->max);
    else
        sl_buf_printf(out, "(%u-%u%c%u)", c->min, c->max, c->op, c->operand);
}

static void print_list(const struct sl_req_spec *v, uint32_t n, struct sl_buf *out) {
    for (uint32_t i = 0; i < n; i++) {
        const char *word = v[i].type;
        for (size_t k = 0; k < SL_LEN(slots); k++)
            if (v[i].kind == slots[k].kind)
                word = slots[k].word;
        sl_buf_printf(out, "%s%s", i > 0 ? " " : "", word);
        print_count(&v[i].count, out);
        if (v[i].exclusive != SL_UNSET)
            sl_buf_puts(out, v[i].exclusive == SL_TRUE ? ":x" : ":s");
        if (v[i].n_with > 0) {
            sl_buf_putc(out, '{');
            print_list(v[i].with, v[i].n_with, out);
            sl_buf_putc(out, '}');
        }
    }
}

static void print_term(const struct sl_constraint *t, struct sl_buf *out) {
    for (size_t i = 0; i < SL_LEN(terms); i++)
        if (t->kind == terms[i].kind)
            sl_buf_printf(out, "%s(", terms[i].word);
    for (uint32_t i = 0; i < t->n_terms; i++) {
        sl_buf_puts(out, i > 0 ? " " : "");
        print_term(&t->terms[i], out);
    }
    for (uint32_t i = 0; i < t->n_names; i++)
        sl_buf_printf(out, "%s%s", i > 0 ? "," : "", t->names[i]);
    for (uint32_t i = 0; i < t->n_ranks; i++)
        sl_buf_printf(out, "%s%lld-%lld", i > 0 ? "," : "", (long long)t->ranks[i].first,
                      (long long)t->ranks[i].last);
    sl_buf_putc(out, ')');
}

void request_print(const struct sl_jobspec *j, struct sl_buf *out) {
    print_list(j->resources, j->n_resources, out);
    if (j->duration != 0)
        sl_buf_printf(out, " for %lld", (long long)j->duration);
    if (j->constraint.kind != SL_CONSTRAINT_ALL) {
        sl_buf_puts(out, " where ");
        print_term(&j->constraint, out);
    }
}
