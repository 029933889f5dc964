/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and answers as texts. */
#include "notation.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAFT_MAX (UINT32_C(1) << 16)

/* ---- reading ---- */

_Noreturn void cannot_read(const char *what, const char *text) {
    fprintf(stderr, "expected %s at: %s\n", what, text);
    exit(2);
}

void skip_blanks(const char **s) {
    while (isspace((unsigned char)**s))
        ++*s;
}

bool skip_char(const char **s, char c) {
    if (**s != c)
        return false;
    ++*s;
    return true;
}

char *read_word(struct sl_arena *mem, const char **s) {
    size_t n = 0;
    while (isalnum((unsigned char)(*s)[n]) || ((*s)[n] && strchr("_./-", (*s)[n])))
        n++;
    if (n == 0)
        cannot_read("a word", *s);
    char *word = sl_arena_strndup(mem, *s, n);
    *s += n;
    return word;
}

int64_t read_number(const char **s) {
    char *end;
    long long n = strtoll(*s, &end, 10);
    if (end == *s)
        cannot_read("a number", *s);
    *s = end;
    return n;
}

static char *read_type(struct sl_arena *mem, const char **s) {
    size_t n = 0;
    while (isalpha((unsigned char)(*s)[n]) || (*s)[n] == '_')
        n++;
    if (n == 0)
        cannot_read("a type", *s);
    char *type = sl_arena_strndup(mem, *s, n);
    *s += n;
    return type;
}

/* ---- drafts ---- */

void draft_init(struct draft *d) {
    *d = (struct draft){0};
    sl_arena_init(&d->mem, 1 << 24);
}

void draft_done(struct draft *d) {
    sl_vec_free(&d->v);
    sl_vec_free(&d->edges);
    sl_arena_done(&d->mem);
}

static bool has_edges(const struct draft *d, uint32_t v, const bool *keep) {
    for (uint32_t i = 0; i < d->edges.n; i++) {
        const struct draft_edge *e = &d->edges.v[i];
        if ((e->from == v || e->to == v) && keep[e->from] && keep[e->to])
            return true;
    }
    return false;
}

void draft_copy(struct draft *to, const struct draft *from, const bool *keep) {
    uint32_t n = from->v.n, *number = sl_alloc0(n + 1, sizeof(*number));
    bool *stays = sl_alloc0(n + 1, sizeof(*stays)), again = true;
    draft_init(to);
    memcpy(stays, keep, n * sizeof(*stays));
    for (uint32_t v = 0; v < n; v++)
        if (from->v.v[v].parent != SL_VTX_NONE && !stays[from->v.v[v].parent])
            stays[v] = false;
    while (again) {
        again = false;
        for (uint32_t v = 1; v < n; v++)
            if (stays[v] && from->v.v[v].parent == SL_VTX_NONE && !has_edges(from, v, stays)) {
                stays[v] = false;
                again = true;
            }
    }
    for (uint32_t v = 0; v < n; v++) {
        struct draft_vertex x = from->v.v[v];
        number[v] = to->v.n;
        if (!stays[v])
            continue;
        if (x.parent != SL_VTX_NONE)
            x.parent = number[x.parent];
        *sl_vec_push(&to->v) = x;
    }
    for (uint32_t i = 0; i < from->edges.n; i++) {
        struct draft_edge e = from->edges.v[i];
        if (stays[e.from] && stays[e.to])
            *sl_vec_push(&to->edges) =
                (struct draft_edge){e.subsystem, number[e.from], number[e.to]};
    }
    free(number);
    free(stays);
}

struct draft_vertex *draft_add(struct draft *d, uint32_t parent, const char *type, int64_t id) {
    sl_assert(d->v.n < DRAFT_MAX);
    struct draft_vertex *v = sl_vec_push(&d->v);
    *v = (struct draft_vertex){.type = sl_arena_strdup(&d->mem, type),
                               .id = id,
                               .uniq_id = -1,
                               .rank = -1,
                               .size = 1,
                               .parent = parent};
    return v;
}

void draft_prop(struct draft *d, struct draft_vertex *v, const char *key, const char *value) {
    sl_assert(v->n_props < DRAFT_PROPS);
    v->props[v->n_props++] =
        (struct sl_graph_prop){sl_arena_strdup(&d->mem, key), sl_arena_strdup(&d->mem, value)};
}

static void read_properties(struct draft *d, struct draft_vertex *v, const char **s) {
    while (!skip_char(s, ')')) {
        const char *key = read_word(&d->mem, s);
        draft_prop(d, v, key, skip_char(s, '=') ? read_word(&d->mem, s) : "");
        skip_blanks(s);
    }
}

/* One vertex, or several that differ in their ids, and what is in each. */
static void read_vertices(struct draft *d, uint32_t parent, const char **s) {
    const char *type = read_type(&d->mem, s), *inside = NULL, *after;
    bool many = false;
    int64_t first = isdigit((unsigned char)**s) ? read_number(s) : -1, last = first;
    uint32_t at = d->v.n, n;
    if (**s == '-' && (many = true) && skip_char(s, '-'))
        last = read_number(s);
    struct draft_vertex like = *draft_add(d, parent, type, first);
    for (bool more = true; more;) {
        if (skip_char(s, '*'))
            like.size = read_number(s);
        else if (skip_char(s, '#'))
            like.uniq_id = read_number(s);
        else if (skip_char(s, '@'))
            like.rank = read_number(s);
        else if (skip_char(s, '!'))
            like.down = true;
        else if (skip_char(s, '%'))
            draft_prop(d, &like, SL_GRAPH_DIVISIBLE, "");
        else if (skip_char(s, '('))
            read_properties(d, &like, s);
        else
            more = false;
    }
    if (many && like.uniq_id >= 0)
        cannot_read("one vertex", *s);
    d->v.v[at] = like;
    inside = **s == '{' ? *s + 1 : NULL;
    after = *s;
    for (n = 0; n <= (uint32_t)(last - first); n++) {
        if (n > 0) {
            at = d->v.n;
            *draft_add(d, parent, type, 0) = like;
        }
        d->v.v[at].id = first < 0 ? -1 : first + n;
        if (inside) {
            after = inside;
            draft_read(d, at, &after);
            if (!skip_char(&after, '}'))
                cannot_read("'}'", after);
        }
    }
    *s = after;
}

void draft_read(struct draft *d, uint32_t parent, const char **s) {
    skip_blanks(s);
    while (**s && **s != '}') {
        skip_char(s, '+');
        read_vertices(d, parent, s);
        skip_blanks(s);
    }
}

void draft_pour(const struct draft *d, uint32_t first, struct sl_graph *g) {
    struct sl_err err;
    int r = 0;
    for (uint32_t i = first; i < d->v.n && r >= 0; i++) {
        const struct draft_vertex *v = &d->v.v[i];
        struct sl_vertex_spec spec = {.type = v->type,
                                      .id = v->id,
                                      .uniq_id = v->uniq_id,
                                      .rank = v->rank,
                                      .size = v->size,
                                      .down = v->down,
                                      .props = v->props,
                                      .n_props = v->n_props};
        sl_vtx at;
        r = sl_graph_add(g, &spec, &at, &err);
        if (r >= 0 && at != i)
            cannot_read("vertices numbered as in the draft", v->type);
        if (r >= 0 && v->parent != SL_VTX_NONE)
            r = sl_graph_link(g, SL_GRAPH_CONTAINMENT, v->parent, at, &err);
    }
    for (uint32_t i = 0; i < d->edges.n && r >= 0; i++) {
        const struct draft_edge *e = &d->edges.v[i];
        if (e->from >= first || e->to >= first)
            r = sl_graph_link(g, e->subsystem, e->from, e->to, &err);
    }
    if (r < 0)
        cannot_read("a good graph", err.text);
}

struct sl_graph *draft_build(const struct draft *d) {
    struct sl_graph *g = sl_graph_new();
    struct sl_err err;
    draft_pour(d, 0, g);
    if (sl_graph_seal(g, &err) < 0)
        cannot_read("a good graph", err.text);
    return g;
}

static void print_name(const struct draft_vertex *v, struct sl_buf *out) {
    sl_buf_puts(out, v->type);
    if (v->id >= 0)
        sl_buf_printf(out, "%lld", (long long)v->id);
}

void draft_print_vertex(const struct draft *d, uint32_t at, struct sl_buf *out) {
    const struct draft_vertex *v = &d->v.v[at];
    bool open = false, props = false;
    print_name(v, out);
    if (v->size != 1)
        sl_buf_printf(out, "*%lld", (long long)v->size);
    if (v->uniq_id >= 0)
        sl_buf_printf(out, "#%lld", (long long)v->uniq_id);
    if (v->rank >= 0)
        sl_buf_printf(out, "@%lld", (long long)v->rank);
    if (v->down)
        sl_buf_putc(out, '!');
    for (uint32_t i = 0; i < v->n_props; i++) {
        if (strcmp(v->props[i].key, SL_GRAPH_DIVISIBLE) == 0) {
            sl_buf_putc(out, '%');
            continue;
        }
        sl_buf_printf(out, "%c%s%s%s", props ? ' ' : '(', v->props[i].key,
                      *v->props[i].value ? "=" : "", v->props[i].value);
        props = true;
    }
    if (props)
        sl_buf_putc(out, ')');
    for (uint32_t kid = at + 1; kid < d->v.n; kid++) {
        if (d->v.v[kid].parent != at)
            continue;
        sl_buf_putc(out, open ? ' ' : '{');
        open = true;
        draft_print_vertex(d, kid, out);
    }
    if (open)
        sl_buf_putc(out, '}');
}

void draft_print(const struct draft *d, struct sl_buf *out) {
    for (uint32_t i = 0; i < d->v.n; i++) {
        if (d->v.v[i].parent != SL_VTX_NONE)
            continue;
        if (i > 0)
            sl_buf_puts(out, " +");
        draft_print_vertex(d, i, out);
    }
}

void draft_path(const struct draft *d, uint32_t v, struct sl_buf *out) {
    if (d->v.v[v].parent != SL_VTX_NONE)
        draft_path(d, d->v.v[v].parent, out);
    sl_buf_putc(out, '/');
    print_name(&d->v.v[v], out);
}

sl_vtx draft_find(const struct draft *d, const char *path) {
    struct sl_buf b;
    sl_vtx found = SL_VTX_NONE;
    sl_buf_init(&b, 4096);
    for (uint32_t i = 0; i < d->v.n && found == SL_VTX_NONE; i++) {
        sl_buf_clear(&b);
        draft_path(d, i, &b);
        if (strcmp(sl_buf_str(&b), path) == 0)
            found = i;
    }
    sl_buf_done(&b);
    if (found == SL_VTX_NONE)
        cannot_read("a vertex", path);
    return found;
}

/* ---- answers ---- */

static bool contains(const struct sl_graph *g, const struct sl_grant *a, sl_vtx top, sl_vtx v) {
    while (v != SL_VTX_NONE && v != top)
        v = sl_grant_parent(g, a, v);
    return v == top;
}

static void picks_print(const struct sl_graph *g, const struct sl_grant *a, struct sl_buf *out) {
    sl_vtx open[SL_GRAPH_MAX_DEPTH];
    const struct sl_pick *v = a->picks.v;
    uint32_t n_open = 0;
    char name[SL_VERTEX_NAME];
    for (uint32_t i = 0; i < a->picks.n; i++) {
        for (; n_open > 0 && !contains(g, a, open[n_open - 1], v[i].v); n_open--)
            if (open[n_open - 1] != v[i - 1].v)
                sl_buf_putc(out, '}');
        if (i > 0)
            sl_buf_putc(out, n_open > 0 && open[n_open - 1] == v[i - 1].v ? '{' : ' ');
        sl_buf_puts(out, sl_vertex_name(g, v[i].v, name));
        if (v[i].needs != 1)
            sl_buf_printf(out, "*%lld", (long long)v[i].needs);
        if (v[i].exclusive)
            sl_buf_puts(out, ":x");
        if (n_open < SL_GRAPH_MAX_DEPTH)
            open[n_open++] = v[i].v;
    }
    for (; n_open > 1; n_open--)
        sl_buf_putc(out, '}');
}

void grant_print(const struct sl_graph *g, const struct sl_grant *a, struct sl_buf *out) {
    static const char *const words[] = {
        [SL_JOB_ALLOCATED] = "", [SL_JOB_RESERVED] = "r ", [SL_JOB_MATCHED] = "m "};
    sl_buf_printf(out, "%s%lld+%lld ", words[a->state], (long long)a->at, (long long)a->duration);
    picks_print(g, a, out);
}
