/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML by libyaml's events, with Kubernetes' semantics of scalars: kubectl converts YAML to JSON by
 * go-yaml v2, whose rules are YAML 1.1's with a few exceptions of its own.
 *
 *     null ~ (nothing)                      null
 *     y yes on true / n no off false        booleans, in three spellings of case
 *     12 +12 0x1f 0b101 0o17 017 1_000      whole numbers (a leading zero is octal; 089 is 89)
 *     1.5 .5 1e3                            numbers; a whole one counts as such
 *     "12" '12' | >                         strings, as is everything else, dates included
 *
 * Anchors and aliases share nodes; the limits count an alias with its content, so a small text
 * cannot represent a huge tree. "<<" merges maps, written keys win. Tags other than the core ones
 * are rejected, and so are keys that are not scalars.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "core/base/collection/wordset.h"
#include "lib/doc/build.h"

#define MAX_ANCHORS 4096u
#define MAX_MERGED 4096u /* keys of a map with merged ones */
/* Lines that begin with "%", in whole text: libyaml holds each against all before it. */
#define MAX_DIRECTIVES 64u

struct anchor {
    struct sl_doc_node node;
    uint32_t weight; /* nodes it stands for */
    uint32_t height; /* levels it adds */
};

struct reader {
    struct doc_build b;
    yaml_parser_t parser;
    yaml_event_t event; /* the present one */
    const char *text;   /* for counting lines */
    size_t len;
    SL_VEC(struct anchor) anchors;
    struct sl_wordset names; /* of the anchors, in their order */
};

static uint32_t line_of(const struct reader *y) {
    return (uint32_t)y->event.start_mark.line + 1;
}

static int parser_failed(const struct reader *y) {
    const yaml_parser_t *p = &y->parser;
    uint32_t line = (uint32_t)p->problem_mark.line + 1;

    if (p->error == YAML_READER_ERROR) {
        line = 1;
        for (size_t i = 0; i < p->problem_offset && i < y->len; i++)
            line += y->text[i] == '\n';
    }
    return sl_doc_fail(&y->b, SL_EINVAL, line, "expected YAML: %s%s%s",
                       p->problem ? p->problem : "out of memory", p->context ? " " : "",
                       p->context ? p->context : "");
}

/* Reads the next event without consuming it. */
static int next(struct reader *y) {
    yaml_event_delete(&y->event);
    if (!yaml_parser_parse(&y->parser, &y->event))
        return parser_failed(y);
    return 0;
}

/* ---- scalars ---- */

static bool any_of(const char *s, const char *const *words) {
    for (; *words; words++)
        if (strcmp(s, *words) == 0)
            return true;
    return false;
}

/* Go's ParseUint(s, 0, 64): the base by prefix. */
static bool parse_whole(const char *s, uint64_t *ret) {
    unsigned base = 10;
    uint64_t v = 0;

    if (s[0] == '0' && s[1]) {
        char c = s[1];
        base = c == 'x' || c == 'X' ? 16 : c == 'b' || c == 'B' ? 2 : 8;
        s += base != 8 || c == 'o' || c == 'O' ? 2 : 1;
    }
    if (!*s)
        return false;
    for (; *s; s++) {
        unsigned d = *s >= '0' && *s <= '9'   ? (unsigned)(*s - '0')
                     : *s >= 'a' && *s <= 'f' ? (unsigned)(*s - 'a') + 10
                     : *s >= 'A' && *s <= 'F' ? (unsigned)(*s - 'A') + 10
                                              : 99;
        if (d >= base || __builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, d, &v))
            return false;
    }
    *ret = v;
    return true;
}

/* ^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$ */
static bool is_float(const char *s) {
    size_t before, after = 0;

    s += *s == '-' || *s == '+';
    before = strspn(s, "0123456789");
    s += before;
    if (*s == '.') {
        after = strspn(s + 1, "0123456789");
        s += 1 + after;
    }
    if (before + after == 0)
        return false;
    if (*s == 'e' || *s == 'E') {
        s++;
        s += *s == '-' || *s == '+';
        if (!strspn(s, "0123456789"))
            return false;
        s += strspn(s, "0123456789");
    }
    return !*s;
}

/* A number, if the text is one. */
static bool read_number(struct reader *y, const char *text, uint32_t line,
                        struct sl_doc_node *ret) {
    char *plain = sl_arena_strdup(&y->b.doc->arena, text), *to = plain;
    bool minus = text[0] == '-';
    uint64_t v;

    for (const char *from = text; *from; from++)
        if (*from != '_')
            *to++ = *from;
    *to = '\0';
    if (parse_whole(plain + (*plain == '-' || *plain == '+'), &v)) {
        if (v <= INT64_MAX || (minus && v == (uint64_t)INT64_MAX + 1)) {
            int64_t num = minus ? (int64_t)(0 - v) : (int64_t)v;
            *ret = (struct sl_doc_node){.kind = SL_DOC_NODE_INT, .line = line, .num = num};
            return true;
        }
        if (!minus) {
            doc_build_number(sl_arena_printf(&y->b.doc->arena, "%llu", (unsigned long long)v), line,
                             ret);
            return true;
        }
    }
    if (!is_float(plain))
        return false;
    doc_build_number(plain, line, ret);
    return true;
}

static void resolve_scalar(struct reader *y, const char *text, uint32_t line,
                           struct sl_doc_node *ret) {
    static const char *const yes[] = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                      "True", "TRUE", "on",  "On",  "ON",  NULL};
    static const char *const no[] = {"n",     "N",     "no",  "No",  "NO",  "false",
                                     "False", "FALSE", "off", "Off", "OFF", NULL};
    static const char *const null[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const strange[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",
                                          ".INF",  "+.inf", "+.Inf", "+.INF", "-.inf",
                                          "-.Inf", "-.INF", NULL};
    char c = text[0];

    *ret = (struct sl_doc_node){
        .kind = SL_DOC_NODE_STR, .line = line, .n = (uint32_t)strlen(text), .text = text};
    if (any_of(text, null)) {
        *ret = (struct sl_doc_node){.kind = SL_DOC_NODE_NULL, .line = line};
    } else if (any_of(text, yes) || any_of(text, no)) {
        ret->kind = SL_DOC_NODE_BOOL;
        ret->truth = any_of(text, yes);
    } else if (any_of(text, strange)) {
        ret->kind = SL_DOC_NODE_FLOAT;
    } else if ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.') {
        (void)read_number(y, text, line, ret);
    }
}

static int tagged(struct reader *y, const char *tag, struct sl_doc_node *node) {
    static const struct {
        const char *tag;
        enum sl_doc_node_kind kind;
    } core[] = {
        {YAML_INT_TAG, SL_DOC_NODE_INT},
        {YAML_FLOAT_TAG, SL_DOC_NODE_FLOAT},
        {YAML_BOOL_TAG, SL_DOC_NODE_BOOL},
        {YAML_NULL_TAG, SL_DOC_NODE_NULL},
    };
    uint32_t line = node->line;

    if (strcmp(tag, "!") == 0 || strcmp(tag, YAML_STR_TAG) == 0 ||
        strcmp(tag, YAML_TIMESTAMP_TAG) == 0)
        return 0;
    for (size_t i = 0; i < SL_LEN(core); i++) {
        if (strcmp(tag, core[i].tag) != 0)
            continue;
        const char *text = node->text;
        resolve_scalar(y, text, line, node);
        if (node->kind == core[i].kind ||
            (node->kind == SL_DOC_NODE_INT && core[i].kind == SL_DOC_NODE_FLOAT))
            return 0;
        return sl_doc_fail(&y->b, SL_EINVAL, line, "expected %s as the tag says, got \"%.60s\"",
                           sl_doc_node_kind_name(core[i].kind), text);
    }
    return sl_doc_fail(&y->b, SL_EINVAL, line, "the tag %.60s is not understood", tag);
}

static int scalar(struct reader *y, struct sl_doc_node *ret) {
    const char *s = (const char *)y->event.data.scalar.value;
    const char *tag = (const char *)y->event.data.scalar.tag;
    size_t n = y->event.data.scalar.length;
    uint32_t line = line_of(y);

    if (memchr(s, '\0', n))
        return sl_doc_fail(&y->b, SL_EINVAL, line, "expected text without a NUL character");
    const char *text = sl_arena_strndup(&y->b.doc->arena, s, n);
    bool plain = y->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    *ret = (struct sl_doc_node){
        .kind = SL_DOC_NODE_STR, .line = line, .n = (uint32_t)n, .quoted = !plain, .text = text};
    if (tag)
        return tagged(y, tag, ret);
    if (plain)
        resolve_scalar(y, text, line, ret);
    return 0;
}

/* ---- collections ---- */

/* The text of a node as a key: what it would be called in JSON. */
static int key_text(struct reader *y, const struct sl_doc_node *n, const char **ret) {
    switch (n->kind) {
    case SL_DOC_NODE_STR:
    case SL_DOC_NODE_FLOAT:
        *ret = n->text;
        return 0;
    case SL_DOC_NODE_INT:
        *ret = sl_arena_printf(&y->b.doc->arena, "%lld", (long long)n->num);
        return 0;
    case SL_DOC_NODE_BOOL:
        *ret = n->truth ? "true" : "false";
        return 0;
    case SL_DOC_NODE_NULL:
    case SL_DOC_NODE_LIST:
    case SL_DOC_NODE_MAP:
        break;
    }
    return sl_doc_fail(&y->b, SL_EINVAL, n->line, "expected a field name, got %s",
                       sl_doc_node_kind_name(n->kind));
}

static int find_anchor(struct reader *y, uint32_t depth, struct sl_doc_node *ret,
                       uint32_t *ret_height) {
    const char *name = (const char *)y->event.data.alias.anchor;
    uint32_t line = line_of(y), i = sl_wordset_find(&y->names, name);
    int r;

    if (i == SL_MAP_NONE)
        return sl_doc_fail(&y->b, SL_EINVAL, line, "the anchor \"%.60s\" is not defined", name);
    const struct anchor *a = &y->anchors.v[i];
    if (depth + a->height > SL_DOC_MAX_DEPTH)
        return sl_doc_fail(&y->b, SL_ELIMIT, line, "nested more than %u deep", SL_DOC_MAX_DEPTH);
    r = doc_build_count(&y->b, a->weight, line);
    if (r < 0)
        return r;
    *ret = a->node;
    *ret_height = a->height;
    return 0;
}

static int keep_anchor(struct reader *y, const char *name, const struct sl_doc_node *node,
                       uint32_t weight, uint32_t height) {
    struct anchor a = {*node, weight, height};

    if (!name)
        return 0;
    uint32_t i = sl_wordset_find(&y->names, name);
    if (i != SL_MAP_NONE) { /* from here on it means this */
        y->anchors.v[i] = a;
        return 0;
    }
    if (y->anchors.n == MAX_ANCHORS)
        return sl_doc_fail(&y->b, SL_ELIMIT, node->line, "more than %u anchors", MAX_ANCHORS);
    (void)sl_wordset_add(&y->names, name);
    *sl_vec_push(&y->anchors) = a;
    return 0;
}

/* The pairs of a merged map that are not there yet go onto the stack; 'there' is what is. */
static int merge_map(struct reader *y, const struct sl_doc_node *from, uint32_t base,
                     struct sl_wordset *there) {
    if (from->kind != SL_DOC_NODE_MAP)
        return sl_doc_fail(&y->b, SL_EINVAL, from->line, "expected a map to merge, got %s",
                           sl_doc_node_kind_name(from->kind));
    for (uint32_t i = 0; i < from->n; i++) {
        if (!sl_wordset_add(there, from->pairs[i].key))
            continue;
        if (y->b.stack.n - base >= MAX_MERGED)
            return sl_doc_fail(&y->b, SL_ELIMIT, from->line, "more than %u fields with merged ones",
                               MAX_MERGED);
        *sl_vec_push(&y->b.stack) = from->pairs[i];
    }
    return 0;
}

static int merge(struct reader *y, const struct sl_doc_node *from, uint32_t base) {
    _cleanup_(sl_wordset_done) struct sl_wordset there = {0};
    int r = 0;

    if (y->b.stack.n - base > MAX_MERGED)
        return sl_doc_fail(&y->b, SL_ELIMIT, from->line, "more than %u fields with merged ones",
                           MAX_MERGED);
    for (uint32_t i = base; i < y->b.stack.n; i++)
        (void)sl_wordset_add(&there, y->b.stack.v[i].key);
    if (from->kind != SL_DOC_NODE_LIST)
        return merge_map(y, from, base, &there);
    for (uint32_t i = 0; i < from->n && r == 0; i++)
        r = merge_map(y, &from->items[i], base, &there);
    return r;
}

static int node(struct reader *y, uint32_t depth, struct sl_doc_node *ret, uint32_t *ret_height);

/* The present event is the collection's first child or end; its end is not consumed. */
static int list(struct reader *y, uint32_t depth, uint32_t line, struct sl_doc_node *ret,
                uint32_t *height) {
    uint32_t base = y->b.stack.n, h = 0;
    int r;

    while (y->event.type != YAML_SEQUENCE_END_EVENT) {
        struct sl_doc_node item = {0};
        r = node(y, depth + 1, &item, &h);
        if (r < 0)
            return r;
        *sl_vec_push(&y->b.stack) = (struct sl_doc_pair){.value = item};
        *height = h > *height ? h : *height;
        r = next(y);
        if (r < 0)
            return r;
    }
    doc_build_list(&y->b, base, line, ret);
    return 0;
}

static int map(struct reader *y, uint32_t depth, uint32_t line, struct sl_doc_node *ret,
               uint32_t *height) {
    uint32_t base = y->b.stack.n, h = 0;
    struct sl_doc_node key = {0}, merged = {0};
    int r;

    while (y->event.type != YAML_MAPPING_END_EVENT) {
        struct sl_doc_pair pair = {.line = line_of(y)};
        bool is_merge = y->event.type == YAML_SCALAR_EVENT && !y->event.data.scalar.tag &&
                        y->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                        strcmp((const char *)y->event.data.scalar.value, "<<") == 0;
        r = node(y, depth + 1, &key, &h);
        if (r < 0)
            return r;
        r = key_text(y, &key, &pair.key);
        if (r < 0)
            return r;
        r = next(y);
        if (r < 0)
            return r;
        r = node(y, depth + 1, &pair.value, &h);
        if (r < 0)
            return r;
        *height = h > *height ? h : *height;
        if (is_merge && merged.line)
            return sl_doc_fail(&y->b, SL_EINVAL, pair.line, "\"<<\" is given twice");
        if (is_merge)
            merged = pair.value;
        else
            *sl_vec_push(&y->b.stack) = pair;
        r = next(y);
        if (r < 0)
            return r;
    }
    if (merged.line) {
        r = merge(y, &merged, base);
        if (r < 0)
            return r;
    }
    return doc_build_map(&y->b, base, line, ret);
}

/* The node that the present event begins. Its last event is not consumed. */
static int node(struct reader *y, uint32_t depth, struct sl_doc_node *ret, uint32_t *ret_height) {
    uint32_t before = y->b.nodes, height = 0, line = line_of(y);
    const char *anchor = NULL, *tag = NULL;
    bool is_map = y->event.type == YAML_MAPPING_START_EVENT;
    int r;

    if (depth > SL_DOC_MAX_DEPTH)
        return sl_doc_fail(&y->b, SL_ELIMIT, line, "nested more than %u deep", SL_DOC_MAX_DEPTH);
    if (y->event.type == YAML_ALIAS_EVENT)
        return find_anchor(y, depth, ret, ret_height);
    r = doc_build_count(&y->b, 1, line);
    if (r < 0)
        return r;
    switch (y->event.type) {
    case YAML_SCALAR_EVENT:
        anchor = (const char *)y->event.data.scalar.anchor;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = (const char *)y->event.data.sequence_start.anchor;
        tag = (const char *)y->event.data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = (const char *)y->event.data.mapping_start.anchor;
        tag = (const char *)y->event.data.mapping_start.tag;
        break;
    default:
        return sl_doc_fail(&y->b, SL_EINVAL, line, "expected a value");
    }
    if (anchor)
        anchor = sl_arena_strdup(&y->b.doc->arena, anchor);
    if (y->event.type == YAML_SCALAR_EVENT) {
        r = scalar(y, ret);
    } else {
        if (tag && strcmp(tag, is_map ? YAML_MAP_TAG : YAML_SEQ_TAG) != 0)
            return sl_doc_fail(&y->b, SL_EINVAL, line, "the tag %.60s is not understood", tag);
        r = next(y);
        if (r < 0)
            return r;
        r = is_map ? map(y, depth, line, ret, &height) : list(y, depth, line, ret, &height);
        height++;
    }
    if (r < 0)
        return r;
    *ret_height = height;
    return keep_anchor(y, anchor, ret, y->b.nodes - before, height);
}

static int documents(struct reader *y) {
    uint32_t height;
    int r;

    r = next(y); /* the start of the stream */
    for (;;) {
        if (r == 0)
            r = next(y);
        if (r < 0 || y->event.type == YAML_STREAM_END_EVENT)
            return r;
        struct sl_doc_node root = {0};
        sl_vec_clear(&y->anchors);
        sl_wordset_done(&y->names);
        r = next(y); /* past the start of the document */
        if (r == 0)
            r = node(y, 1, &root, &height);
        if (r == 0)
            r = next(y); /* its end */
        if (r < 0)
            return r;
        if (root.kind == SL_DOC_NODE_NULL)
            continue; /* nothing between two "---" */
        if (y->b.stack.n == SL_DOC_MAX_DOCUMENTS)
            return sl_doc_fail(&y->b, SL_ELIMIT, root.line, "more than %u documents",
                               SL_DOC_MAX_DOCUMENTS);
        *sl_vec_push(&y->b.stack) = (struct sl_doc_pair){.value = root};
    }
}

static uint32_t directives(const char *text, size_t len) {
    uint32_t n = 0;

    for (const char *p = text, *end = text + len; p < end; p++) {
        n += *p == '%';
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p)
            break;
    }
    return n;
}

int sl_doc_yaml(const char *file, const char *text, size_t len, struct sl_doc **ret,
                struct sl_err *err) {
    return sl_doc_yaml_within(file, text, len, SL_DOC_MAX_NODES, ret, err);
}

int sl_doc_yaml_within(const char *file, const char *text, size_t len, uint32_t max_nodes,
                       struct sl_doc **ret, struct sl_err *err) {
    _cleanup_(sl_doc_freep) struct sl_doc *d = sl_doc_new(file);
    struct reader y = {
        .b = {.doc = d, .err = err, .max_nodes = max_nodes}, .text = text, .len = len};
    int r;

    if (len > SL_DOC_MAX_BYTES)
        return sl_doc_fail(&y.b, SL_ELIMIT, 1, "more than %zu bytes", SL_DOC_MAX_BYTES);
    if (directives(text, len) > MAX_DIRECTIVES)
        return sl_doc_fail(&y.b, SL_ELIMIT, 1, "more than %u directives", MAX_DIRECTIVES);
    sl_assert(yaml_parser_initialize(&y.parser));
    yaml_parser_set_encoding(&y.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&y.parser, (const unsigned char *)text, len);
    r = documents(&y);
    if (r == 0)
        doc_build_roots(&y.b);
    yaml_event_delete(&y.event);
    yaml_parser_delete(&y.parser);
    sl_vec_free(&y.b.stack);
    sl_vec_free(&y.anchors);
    sl_wordset_done(&y.names);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(d);
    return 0;
}
