/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GraphML by expat. Keys are declared (id, name, perhaps a default) and then used by id; their
 * meaning is in one table below. Entities are rejected: they could expand to more memory than the
 * text has.
 */
#include <expat.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "lib/graphio/grug.h"

#define ARENA_BYTES ((size_t)256 << 20)
#define MAX_KEYS 256u
#define MAX_DEPTH 32u

struct key {
    const char *id, *name;
    const char *otherwise; /* the default, NULL: none */
};

struct reader {
    struct graphio_grug *x;
    const char *file;
    struct sl_err *err;
    int code;
    XML_Parser parser;
    SL_VEC(struct key) keys;
    uint32_t depth;
    enum { NOTHING, IN_KEY, IN_NODE, IN_EDGE } in;
    const char *data; /* the key id of the <data> that is open, or "" in <default>; NULL: neither */
    char text[SL_GRUG_MAX_TEXT + 1];
    size_t n_text;
};

static void read_error(struct reader *r, int code, uint32_t line, const char *fmt, ...)
    _printf_(4, 5);

static void read_error(struct reader *r, int code, uint32_t line, const char *fmt, ...) {
    char message[200];
    va_list ap;

    if (r->code < 0)
        return;
    va_start(ap, fmt);
    sl_vfmt_short(message, sizeof(message), fmt, ap);
    va_end(ap);
    r->code = sl_err_set(r->err, code, "%s:%u: %s", r->file, line, message);
    (void)XML_StopParser(r->parser, XML_FALSE);
}

static uint32_t line_of(const struct reader *r) {
    return (uint32_t)XML_GetCurrentLineNumber(r->parser);
}

/* ---- what keys mean ---- */

enum kind { TEXT, NUMBER, TRUTH, METHOD, SKIP };

#define NODE(field) offsetof(struct graphio_grug_node, field)
#define EDGE(field) offsetof(struct graphio_grug_edge, field)

static const struct meaning {
    const char *name;
    bool edge;
    enum kind kind;
    size_t offset;
    int64_t min, max;
} meanings[] = {
    {"root", false, TRUTH, NODE(root), 0, 0},
    {"type", false, TEXT, NODE(type), 0, 0},
    {"basename", false, TEXT, NODE(basename), 0, 0},
    {"size", false, NUMBER, NODE(size), 1, SL_GRAPH_MAX_SIZE},
    {"unit", false, TEXT, NODE(unit), 0, 0},
    {"subsystem", false, TEXT, NODE(subsystem), 0, 0},
    {"e_subsystem", true, TEXT, EDGE(subsystem), 0, 0},
    {"relation", true, SKIP, 0, 0, 0},
    {"rrelation", true, SKIP, 0, 0, 0},
    {"gen_method", true, METHOD, EDGE(method), 0, 0},
    {"multi_scale", true, NUMBER, EDGE(scale), 0, SL_GRAPH_MAX_VERTICES},
    {"id_scope", true, NUMBER, EDGE(id_scope), INT32_MIN, INT32_MAX},
    {"id_start", true, NUMBER, EDGE(id_start), 0, INT32_MAX},
    {"id_stride", true, NUMBER, EDGE(id_stride), 0, INT32_MAX},
    {"as_tgt_subsystem", true, TEXT, EDGE(by_subsystem), 0, 0},
    {"as_tgt_uplvl", true, NUMBER, EDGE(up_target), 0, INT32_MAX},
    {"as_src_uplvl", true, NUMBER, EDGE(up_source), 0, INT32_MAX},
};

static const char *const methods[] = {
    [SL_GRUG_MULTIPLY] = "MULTIPLY",
    [SL_GRUG_ASSOCIATE] = "ASSOCIATE_IN",
    [SL_GRUG_ASSOCIATE_BY_PATH] = "ASSOCIATE_BY_PATH_IN",
};

static bool parse_number(const char *s, int64_t *ret) {
    char *end;
    long long v;

    if (!*s || strlen(s) > 19)
        return false;
    v = strtoll(s, &end, 10);
    *ret = v;
    return *end == '\0';
}

static void set(struct reader *r, const struct meaning *m, char *base, const char *value,
                uint32_t line) {
    int64_t num;
    bool yes = strcmp(value, "1") == 0 || strcmp(value, "true") == 0;

    switch (m->kind) {
    case SKIP:
        return;
    case TEXT:
        *(const char **)(base + m->offset) = sl_arena_strdup(&r->x->arena, value);
        return;
    case TRUTH:
        if (!yes && strcmp(value, "0") != 0 && strcmp(value, "false") != 0)
            read_error(r, SL_EINVAL, line, "%s: expected 1 or 0, got \"%.40s\"", m->name, value);
        *(bool *)(base + m->offset) = yes;
        return;
    case NUMBER:
        if (!parse_number(value, &num) || num < m->min || num > m->max)
            read_error(r, SL_EINVAL, line,
                       "%s: expected a whole number from %" PRId64 " to %" PRId64 ", got \"%.40s\"",
                       m->name, m->min, m->max, value);
        else
            *(int64_t *)(base + m->offset) = num;
        return;
    case METHOD:
        for (size_t i = 0; i < SL_LEN(methods); i++)
            if (strcmp(value, methods[i]) == 0) {
                *(enum graphio_grug_method *)(base + m->offset) = (enum graphio_grug_method)i;
                return;
            }
        read_error(
            r, SL_EINVAL, line,
            "gen_method: expected MULTIPLY, ASSOCIATE_IN or ASSOCIATE_BY_PATH_IN, got \"%.40s\"",
            value);
        return;
    }
}

/* A value for the node or edge that is open. */
static void assign(struct reader *r, const char *name, const char *value, bool must,
                   uint32_t line) {
    bool edge = r->in == IN_EDGE;
    char *base = edge ? (char *)&sl_vec_last(&r->x->edges) : (char *)&sl_vec_last(&r->x->nodes);

    for (size_t i = 0; i < SL_LEN(meanings); i++)
        if (meanings[i].edge == edge && strcmp(meanings[i].name, name) == 0) {
            set(r, &meanings[i], base, value, line);
            return;
        }
    if (must)
        read_error(r, SL_EINVAL, line, "\"%.40s\" is no key of %s", name,
                   edge ? "an edge" : "a node");
}

/* ---- elements ---- */

static const char *attribute(const XML_Char **atts, const char *name) {
    for (; *atts; atts += 2)
        if (strcmp(atts[0], name) == 0)
            return atts[1];
    return NULL;
}

/* A copy of one that must be there. */
static const char *need(struct reader *r, const XML_Char **atts, const char *element,
                        const char *name) {
    const char *s = attribute(atts, name);

    if (!s || !*s || strlen(s) > SL_GRUG_MAX_TEXT) {
        read_error(r, SL_EINVAL, line_of(r), "expected the attribute \"%s\" of <%s>", name,
                   element);
        return "";
    }
    return sl_arena_strdup(&r->x->arena, s);
}

static void use_defaults(struct reader *r) {
    for (uint32_t i = 0; i < r->keys.n; i++)
        if (r->keys.v[i].otherwise)
            assign(r, r->keys.v[i].name, r->keys.v[i].otherwise, false, line_of(r));
}

static void open_key(struct reader *r, const XML_Char **atts) {
    struct key k = {.id = need(r, atts, "key", "id"), .name = need(r, atts, "key", "attr.name")};

    if (r->keys.n >= MAX_KEYS)
        read_error(r, SL_ELIMIT, line_of(r), "more than %u keys", MAX_KEYS);
    for (uint32_t i = 0; i < r->keys.n; i++)
        if (strcmp(r->keys.v[i].id, k.id) == 0)
            read_error(r, SL_EINVAL, line_of(r), "the key \"%.40s\" is given twice", k.id);
    if (r->code < 0)
        return;
    *sl_vec_push(&r->keys) = k;
    r->in = IN_KEY;
}

static void open_node(struct reader *r, const XML_Char **atts) {
    struct graphio_grug_node n = {.line = line_of(r),
                                  .id = need(r, atts, "node", "id"),
                                  .subsystem = SL_GRAPH_CONTAINMENT,
                                  .size = 1};

    if (r->x->nodes.n >= SL_GRUG_MAX_NODES)
        read_error(r, SL_ELIMIT, n.line, "more than %u nodes in a recipe", SL_GRUG_MAX_NODES);
    if (r->code < 0)
        return;
    *sl_vec_push(&r->x->nodes) = n;
    r->in = IN_NODE;
    use_defaults(r);
}

static void open_edge(struct reader *r, const XML_Char **atts) {
    struct graphio_grug_edge e = {.line = line_of(r),
                                  .source = need(r, atts, "edge", "source"),
                                  .target = need(r, atts, "edge", "target"),
                                  .subsystem = SL_GRAPH_CONTAINMENT,
                                  .by_subsystem = SL_GRAPH_CONTAINMENT,
                                  .scale = 1,
                                  .id_stride = 1};

    if (r->x->edges.n >= SL_GRUG_MAX_EDGES)
        read_error(r, SL_ELIMIT, e.line, "more than %u edges in a recipe", SL_GRUG_MAX_EDGES);
    if (r->code < 0)
        return;
    *sl_vec_push(&r->x->edges) = e;
    r->in = IN_EDGE;
    use_defaults(r);
}

static void XMLCALL on_start(void *ctx, const XML_Char *name, const XML_Char **atts) {
    struct reader *r = ctx;

    if (r->code < 0)
        return;
    if (++r->depth > MAX_DEPTH) {
        read_error(r, SL_ELIMIT, line_of(r), "elements nested more than %u deep", MAX_DEPTH);
    } else if (r->depth == 1 && strcmp(name, "graphml") != 0) {
        read_error(r, SL_EINVAL, line_of(r), "expected <graphml>, got <%.40s>", name);
    } else if (r->data) {
        read_error(r, SL_EINVAL, line_of(r), "expected text, got <%.40s>", name);
    } else if (strcmp(name, "data") == 0 && (r->in == IN_NODE || r->in == IN_EDGE)) {
        r->data = need(r, atts, "data", "key");
        r->n_text = 0;
    } else if (strcmp(name, "default") == 0 && r->in == IN_KEY) {
        r->data = "";
        r->n_text = 0;
    } else if (r->in != NOTHING) {
        if (strcmp(name, "desc") != 0)
            read_error(r, SL_EINVAL, line_of(r), "expected <data>, got <%.40s>", name);
    } else if (strcmp(name, "key") == 0) {
        open_key(r, atts);
    } else if (strcmp(name, "node") == 0) {
        open_node(r, atts);
    } else if (strcmp(name, "edge") == 0) {
        open_edge(r, atts);
    }
}

/* Without the blanks around it. */
static const char *trimmed(struct reader *r) {
    char *s = r->text;

    while (r->n_text > 0 && strchr(" \t\r\n", r->text[r->n_text - 1]))
        r->n_text--;
    r->text[r->n_text] = '\0';
    return s + strspn(s, " \t\r\n");
}

static void close_data(struct reader *r) {
    const char *id = r->data, *value = trimmed(r), *name = NULL;

    r->data = NULL;
    if (r->in == IN_KEY) {
        sl_vec_last(&r->keys).otherwise = sl_arena_strdup(&r->x->arena, value);
        return;
    }
    for (uint32_t i = 0; i < r->keys.n && !name; i++)
        if (strcmp(r->keys.v[i].id, id) == 0)
            name = r->keys.v[i].name;
    if (!name)
        read_error(r, SL_EINVAL, line_of(r), "the key \"%.40s\" was not declared", id);
    else
        assign(r, name, value, true, line_of(r));
}

static void XMLCALL on_end(void *ctx, const XML_Char *name) {
    struct reader *r = ctx;

    if (r->code < 0)
        return;
    r->depth--;
    if (r->data)
        close_data(r);
    else if (strcmp(name, "key") == 0 || strcmp(name, "node") == 0 || strcmp(name, "edge") == 0)
        r->in = NOTHING;
}

static void XMLCALL on_text(void *ctx, const XML_Char *s, int n) {
    struct reader *r = ctx;

    if (!r->data || r->code < 0)
        return;
    if ((size_t)n > SL_GRUG_MAX_TEXT - r->n_text) {
        read_error(r, SL_ELIMIT, line_of(r), "a value of more than %u bytes", SL_GRUG_MAX_TEXT);
        return;
    }
    memcpy(r->text + r->n_text, s, (size_t)n);
    r->n_text += (size_t)n;
}

static void XMLCALL on_doctype(void *ctx, const XML_Char *name, const XML_Char *sysid,
                               const XML_Char *pubid, int internal) {
    struct reader *r = ctx;

    (void)name;
    (void)sysid;
    (void)pubid;
    if (internal)
        read_error(r, SL_EINVAL, line_of(r),
                   "declarations of one's own in <!DOCTYPE> are not read");
}

/* ---- the whole ---- */

struct by_id {
    const char *id;
    uint32_t i;
};

static int compare(const void *a, const void *b) {
    const struct by_id *x = a, *y = b;
    int c = strcmp(x->id, y->id);
    return c ? c : x->i < y->i ? -1 : x->i > y->i;
}

static uint32_t lookup(const struct by_id *v, uint32_t n, const char *id) {
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (strcmp(v[mid].id, id) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && strcmp(v[lo].id, id) == 0 ? v[lo].i : UINT32_MAX;
}

/* Ends of edges, and what a node must have. */
static int resolve_edges(struct reader *r) {
    struct graphio_grug *x = r->x;
    struct by_id *v = sl_alloc((x->nodes.n + 1) * sizeof(*v));

    for (uint32_t i = 0; i < x->nodes.n; i++) {
        struct graphio_grug_node *n = &x->nodes.v[i];
        v[i] = (struct by_id){n->id, i};
        if (!n->type || !*n->type)
            read_error(r, SL_EINVAL, n->line, "expected the key \"type\" of node \"%.40s\"", n->id);
        if (!n->basename || !*n->basename)
            n->basename = n->type;
        if (!*n->subsystem)
            n->subsystem = SL_GRAPH_CONTAINMENT;
    }
    qsort(v, x->nodes.n, sizeof(*v), compare);
    for (uint32_t i = 1; i < x->nodes.n; i++)
        if (strcmp(v[i].id, v[i - 1].id) == 0)
            read_error(r, SL_EINVAL, x->nodes.v[v[i].i].line, "the node \"%.40s\" is given twice",
                       v[i].id);
    for (uint32_t i = 0; i < x->edges.n; i++) {
        struct graphio_grug_edge *e = &x->edges.v[i];
        e->from = lookup(v, x->nodes.n, e->source);
        e->to = lookup(v, x->nodes.n, e->target);
        if (e->from == UINT32_MAX || e->to == UINT32_MAX)
            read_error(r, SL_EINVAL, e->line, "there is no node \"%.40s\"",
                       e->from == UINT32_MAX ? e->source : e->target);
        if (!*e->subsystem)
            e->subsystem = SL_GRAPH_CONTAINMENT;
        if (!*e->by_subsystem)
            e->by_subsystem = SL_GRAPH_CONTAINMENT;
    }
    sl_freep(&v);
    return r->code;
}

int graphio_grug_read(struct graphio_grug *x, const struct sl_graphio_text *t, struct sl_err *err) {
    struct reader r = {.x = x, .file = t->file, .err = err};

    *x = (struct graphio_grug){0};
    sl_arena_init(&x->arena, ARENA_BYTES);
    if (t->len > INT32_MAX)
        return sl_err_set(err, SL_ELIMIT, "%s: more than %d bytes", t->file, INT32_MAX);
    r.parser = XML_ParserCreate(NULL);
    sl_assert(r.parser);
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_start, on_end);
    XML_SetCharacterDataHandler(r.parser, on_text);
    XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
    if (XML_Parse(r.parser, t->text ? t->text : "", (int)t->len, XML_TRUE) != XML_STATUS_OK &&
        r.code == 0)
        read_error(&r, SL_EINVAL, line_of(&r), "expected GraphML: %s",
                   XML_ErrorString(XML_GetErrorCode(r.parser)));
    if (r.code == 0)
        (void)resolve_edges(&r);
    XML_ParserFree(r.parser);
    sl_vec_free(&r.keys);
    return r.code;
}

void graphio_grug_done(struct graphio_grug *x) {
    sl_vec_free(&x->nodes);
    sl_vec_free(&x->edges);
    sl_arena_done(&x->arena);
}
