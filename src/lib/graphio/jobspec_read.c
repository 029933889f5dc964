/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jobspec is read into a document first, which has the lines. Everything of the result is in the
 * jobspec's own arena; the document is freed at the end.
 */
#include "lib/graphio/jobspec_read.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/vec.h"
#include "core/graph/hostlist.h"
#include "lib/doc/read.h"
#include "lib/graphio/idset.h"

#define ARENA_BYTES ((size_t)1 << 30) /* more than the ceilings below can require */
#define MAX_TASKS 4096u
#define MAX_RANK_RANGES 65536u
#define MORE_VALUES 64u /* than bytes */

struct reader {
    struct sl_read rd;
    uint32_t n_reqs, n_terms;
    struct sl_hostlist hosts; /* of all constraints, so that there is one ceiling for them */
};

/* The text of a scalar as YAML's strings, numbers and truths are written; NULL for what is none. */
static const char *scalar(struct reader *r, const struct sl_doc_node *n, const char *name) {
    switch (n->kind) {
    case SL_DOC_NODE_STR:
    case SL_DOC_NODE_FLOAT:
    case SL_DOC_NODE_BOOL:
        return sl_arena_strdup(r->rd.arena, n->text);
    case SL_DOC_NODE_INT:
        return sl_arena_printf(r->rd.arena, "%" PRId64, n->num);
    case SL_DOC_NODE_NULL:
    case SL_DOC_NODE_LIST:
    case SL_DOC_NODE_MAP:
        break;
    }
    sl_read_wrong(&r->rd, n->line, name, "expected a string, got %s",
                  sl_doc_node_kind_name(n->kind));
    return NULL;
}

/* ---- resources ---- */

static uint32_t positive(struct reader *r, const struct sl_doc_node *n, const char *name) {
    return (uint32_t)sl_read_int(&r->rd, n, name, 1, SL_REQ_COUNT_MAX);
}

/* {min: n} or {min: n, max: n, operator: o, operand: n} */
static struct sl_req_count count_map(struct reader *r, const struct sl_doc_node *n) {
    static const char *const operators[] = {"+", "*", "^", NULL};
    struct sl_req_count c = {.min = 1, .max = SL_REQ_COUNT_MAX, .op = '+', .operand = 1};
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, &r->rd, n, "a count");
    const struct sl_doc_node *min = sl_doc_field_need(&f, "min"), *max = sl_doc_field(&f, "max"),
                             *op = sl_doc_field(&f, "operator"),
                             *operand = sl_doc_field(&f, "operand");
    if (min)
        c.min = positive(r, min, "min");
    if (max && op && operand) {
        c.max = positive(r, max, "max");
        c.op = operators[sl_read_choice(&r->rd, op, "operator", operators)][0];
        c.operand = positive(r, operand, "operand");
    } else if (max || op || operand) {
        sl_read_wrong(&r->rd, n->line, "count",
                      "expected min alone, or with all of max, operator and operand");
    }
    sl_doc_fields_close(&f);
    const char *fault = sl_graphio_count_fault(&c);
    if (*fault)
        sl_read_wrong(&r->rd, n->line, "count", "%s", fault);
    return c;
}

static struct sl_req_count read_count(struct reader *r, const struct sl_doc_node *n) {
    struct sl_req_count c = {.min = 1, .max = 1, .op = '+', .operand = 1};
    struct sl_err err;

    if (n->kind == SL_DOC_NODE_MAP)
        return count_map(r, n);
    if (n->kind == SL_DOC_NODE_STR) {
        if (sl_graphio_count_parse(n->text, r->rd.arena, &c, &err) < 0)
            sl_read_wrong(&r->rd, n->line, "count", "%s", err.text);
        return c;
    }
    c.min = c.max = positive(r, n, "count");
    return c;
}

static enum sl_req_tristate exclusive(struct reader *r, const struct sl_doc_node *n) {
    if (n && (n->kind == SL_DOC_NODE_BOOL || n->kind == SL_DOC_NODE_STR)) {
        if (strcmp(n->text, "true") == 0)
            return SL_TRUE;
        if (strcmp(n->text, "false") == 0)
            return SL_FALSE;
    }
    if (n)
        sl_read_wrong(&r->rd, n->line, "exclusive", "expected true or false");
    return SL_UNSET;
}

static const struct sl_req_spec *resources(struct reader *r, const struct sl_doc_node *list,
                                           const char *name, uint32_t depth, uint32_t *ret_n);

static void resource(struct reader *r, const struct sl_doc_node *n, uint32_t depth,
                     struct sl_req_spec *ret) {
    static const struct {
        const char *type;
        enum sl_req_kind kind;
    } slots[] = {
        {"slot", SL_REQ_SLOT},
        {"xor_slot", SL_REQ_XOR_SLOT},
        {"or_slot", SL_REQ_OR_SLOT},
    };
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, &r->rd, n, "a resource");
    const struct sl_doc_node *type = sl_doc_field_need(&f, "type"),
                             *cnt = sl_doc_field_need(&f, "count"),
                             *unit = sl_doc_field(&f, "unit"), *label = sl_doc_field(&f, "label"),
                             *with = sl_doc_field(&f, "with");
    ret->exclusive = exclusive(r, sl_doc_field(&f, "exclusive"));
    const struct sl_doc_node *id = sl_doc_field(&f, "id");
    sl_doc_fields_close(&f);
    if (r->rd.code < 0)
        return;
    if (id) /* which ones of a type: known to RFC 14, and to no matcher yet */
        (void)scalar(r, id, "id");
    ret->type = scalar(r, type, "type");
    ret->count = read_count(r, cnt);
    ret->unit = unit ? scalar(r, unit, "unit") : NULL;
    ret->label = label ? scalar(r, label, "label") : NULL;
    if (ret->type && !*ret->type)
        sl_read_wrong(&r->rd, type->line, "type", "expected the name of a type");
    for (size_t i = 0; ret->type && i < SL_LEN(slots); i++)
        if (strcmp(ret->type, slots[i].type) == 0)
            ret->kind = slots[i].kind;
    if (ret->kind == SL_REQ_SLOT && !ret->label)
        sl_read_fail(&r->rd, n->line, "expected the field \"label\" in a slot");
    if (with)
        ret->with = resources(r, with, "with", depth + 1, &ret->n_with);
    if (ret->kind != SL_REQ_RESOURCE && ret->n_with == 0)
        sl_read_fail(&r->rd, n->line, "expected resources in \"with\" of a slot");
}

static const struct sl_req_spec *resources(struct reader *r, const struct sl_doc_node *list,
                                           const char *name, uint32_t depth, uint32_t *ret_n) {
    uint32_t n;
    const struct sl_doc_node *items = sl_read_list(&r->rd, list, name, SL_REQ_MAX, &n);

    *ret_n = 0;
    if (n == 0 && r->rd.code == 0 && depth == 1)
        sl_read_wrong(&r->rd, list->line, name, "expected at least one resource");
    if (depth > SL_REQ_MAX_DEPTH)
        sl_read_wrong(&r->rd, list->line, name, "more than %u levels of resources",
                      SL_REQ_MAX_DEPTH);
    if (n > SL_REQ_MAX - r->n_reqs)
        sl_read_wrong(&r->rd, list->line, name, "more than %u resources in one jobspec",
                      SL_REQ_MAX);
    if (r->rd.code < 0 || n == 0)
        return NULL;
    r->n_reqs += n;
    struct sl_req_spec *v = sl_arena_alloc0(r->rd.arena, n, sizeof(*v));
    for (uint32_t i = 0; i < n; i++)
        resource(r, &items[i], depth, &v[i]);
    *ret_n = n;
    return v;
}

/* ---- constraints ---- */

static void constraint(struct reader *r, const struct sl_doc_node *n, uint32_t depth,
                       struct sl_constraint *ret);

static void property_names(struct reader *r, const struct sl_doc_node *items, uint32_t n,
                           struct sl_constraint *ret) {
    const char **v = sl_arena_alloc0(r->rd.arena, n + 1, sizeof(*v));

    for (uint32_t i = 0; i < n; i++) {
        const struct sl_doc_node *p = &items[i];
        v[i] = "";
        if (p->kind != SL_DOC_NODE_STR || !p->quoted) {
            sl_read_wrong(&r->rd, p->line, "properties",
                          "expected the name of a property in quotes");
            continue;
        }
        v[i] = sl_arena_strdup(r->rd.arena, p->text);
        const char *name = v[i] + (v[i][0] == '^');
        if (!*name || strpbrk(name, "!&'\"^`|()"))
            sl_read_wrong(&r->rd, p->line, "properties",
                          "expected the name of a property without !&'\"^`|(), got \"%.60s\"",
                          p->text);
    }
    ret->names = v;
    ret->n_names = n;
}

static void hosts(struct reader *r, const struct sl_doc_node *items, uint32_t n,
                  struct sl_constraint *ret) {
    uint32_t from = r->hosts.names.n;
    struct sl_err err;

    for (uint32_t i = 0; i < n && r->rd.code == 0; i++) {
        const char *text = scalar(r, &items[i], "hostlist");
        if (text && sl_hostlist_add(&r->hosts, r->rd.arena, text, &err) < 0)
            sl_read_wrong(&r->rd, items[i].line, "hostlist", "%s", err.text);
    }
    if (r->rd.code < 0)
        return;
    uint32_t made = r->hosts.names.n - from;
    const char **v = sl_arena_alloc0(r->rd.arena, made + 1, sizeof(*v));
    if (made > 0)
        memcpy(v, &r->hosts.names.v[from], made * sizeof(*v));
    ret->names = v;
    ret->n_names = made;
}

static void ranks(struct reader *r, const struct sl_doc_node *items, uint32_t n,
                  struct sl_constraint *ret) {
    struct sl_idset ids = {0};
    struct sl_err err;

    for (uint32_t i = 0; i < n && r->rd.code == 0; i++) {
        const char *text = scalar(r, &items[i], "ranks");
        if (text && sl_idset_collect(&ids, text, &err) < 0)
            sl_read_wrong(&r->rd, items[i].line, "ranks", "%s", err.text);
        if (ids.ranges.n > MAX_RANK_RANGES)
            sl_read_wrong(&r->rd, items[i].line, "ranks", "more than %u ranges", MAX_RANK_RANGES);
    }
    sl_idset_settle(&ids);
    if (r->rd.code == 0) {
        struct sl_constraint_ranks *v = sl_arena_alloc0(r->rd.arena, ids.ranges.n + 1, sizeof(*v));
        if (ids.ranges.n > 0)
            memcpy(v, ids.ranges.v, ids.ranges.n * sizeof(*v));
        ret->ranks = v;
        ret->n_ranks = ids.ranges.n;
    }
    sl_idset_done(&ids);
}

static void terms(struct reader *r, const struct sl_doc_node *items, uint32_t n, uint32_t depth,
                  struct sl_constraint *ret) {
    struct sl_constraint *v = sl_arena_alloc0(r->rd.arena, n + 1, sizeof(*v));

    for (uint32_t i = 0; i < n; i++)
        constraint(r, &items[i], depth + 1, &v[i]);
    ret->terms = v;
    ret->n_terms = n;
}

static void constraint(struct reader *r, const struct sl_doc_node *n, uint32_t depth,
                       struct sl_constraint *ret) {
    static const struct {
        const char *word;
        enum sl_constraint_kind kind;
    } operators[] = {
        {"properties", SL_CONSTRAINT_PROPERTIES},
        {"hostlist", SL_CONSTRAINT_HOSTS},
        {"ranks", SL_CONSTRAINT_RANKS},
        {"and", SL_CONSTRAINT_AND},
        {"or", SL_CONSTRAINT_OR},
        {"not", SL_CONSTRAINT_NOT},
    };
    uint32_t n_items;
    size_t i = 0;

    *ret = (struct sl_constraint){.kind = SL_CONSTRAINT_ALL};
    if (n->kind != SL_DOC_NODE_MAP || n->n > 1) {
        sl_read_wrong(&r->rd, n->line, "constraints",
                      "expected a map with one operator, such as {properties: [\"ssd\"]}");
        return;
    }
    if (depth > SL_GRAPHIO_JOBSPEC_MAX_TERM_DEPTH || ++r->n_terms > SL_GRAPHIO_JOBSPEC_MAX_TERMS) {
        sl_read_wrong(&r->rd, n->line, "constraints", "more than %u terms, or %u levels of them",
                      SL_GRAPHIO_JOBSPEC_MAX_TERMS, SL_GRAPHIO_JOBSPEC_MAX_TERM_DEPTH);
        return;
    }
    if (n->n == 0)
        return;
    const struct sl_doc_pair *p = &n->pairs[0];
    while (i < SL_LEN(operators) && strcmp(p->key, operators[i].word) != 0)
        i++;
    if (i == SL_LEN(operators)) {
        sl_read_wrong(
            &r->rd, p->line, "constraints",
            "expected properties, hostlist, ranks, and, or, or not as operator, got \"%.60s\"",
            p->key);
        return;
    }
    const struct sl_doc_node *items =
        sl_read_list(&r->rd, &p->value, p->key, SL_GRAPHIO_JOBSPEC_MAX_TERMS, &n_items);
    ret->kind = operators[i].kind;
    if (r->rd.code < 0)
        return;
    switch (ret->kind) {
    case SL_CONSTRAINT_PROPERTIES:
        property_names(r, items, n_items, ret);
        break;
    case SL_CONSTRAINT_HOSTS:
        hosts(r, items, n_items, ret);
        break;
    case SL_CONSTRAINT_RANKS:
        ranks(r, items, n_items, ret);
        break;
    case SL_CONSTRAINT_ALL:
    case SL_CONSTRAINT_AND:
    case SL_CONSTRAINT_OR:
    case SL_CONSTRAINT_NOT:
        terms(r, items, n_items, depth, ret);
        break;
    }
}

/* ---- attributes ---- */

/* Seconds, rounded away from 0: a job gets at least what it requested, and what is negative stays
 * so (the matcher rejects it, as it does what is too long). */
static int64_t duration(struct reader *r, const struct sl_doc_node *n) {
    if (n->kind == SL_DOC_NODE_INT)
        return n->num;
    if (n->kind == SL_DOC_NODE_FLOAT || n->kind == SL_DOC_NODE_STR) {
        char *end;
        double d = strtod(n->text, &end);
        if (*n->text && !*end && d >= -0x1p62 && d <= 0x1p62)
            return (int64_t)(d < 0 ? floor(d) : ceil(d));
    }
    sl_read_wrong(&r->rd, n->line, "duration", "expected a number of seconds");
    return 0;
}

static void system_attributes(struct reader *r, const struct sl_doc_node *n,
                              struct sl_jobspec *ret) {
    const struct sl_doc_node *v;

    if (n->kind != SL_DOC_NODE_MAP) {
        sl_read_wrong(&r->rd, n->line, "system", "expected a map, got %s",
                      sl_doc_node_kind_name(n->kind));
        return;
    }
    if ((v = sl_doc_node_get(n, "duration")))
        ret->duration = duration(r, v);
    if ((v = sl_doc_node_get(n, "queue")) && v->kind != SL_DOC_NODE_NULL)
        ret->queue = scalar(r, v, "queue");
    if ((v = sl_doc_node_get(n, "cwd")) && v->kind != SL_DOC_NODE_NULL)
        (void)scalar(r, v, "cwd");
    if ((v = sl_doc_node_get(n, "environment")) && v->kind != SL_DOC_NODE_MAP &&
        v->kind != SL_DOC_NODE_NULL)
        sl_read_wrong(&r->rd, v->line, "environment", "expected a map, got %s",
                      sl_doc_node_kind_name(v->kind));
    if ((v = sl_doc_node_get(n, "constraints")) && v->kind != SL_DOC_NODE_NULL)
        constraint(r, v, 1, &ret->constraint);
}

static void attributes(struct reader *r, const struct sl_doc_node *n, struct sl_jobspec *ret) {
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, &r->rd, n, "attributes");
    sl_doc_field_skip(&f, "user");
    const struct sl_doc_node *sys = sl_doc_field(&f, "system");
    sl_doc_fields_close(&f);
    if (sys)
        system_attributes(r, sys, ret);
}

/* ---- tasks ---- */

static const char *task(struct reader *r, const struct sl_doc_node *n) {
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, &r->rd, n, "a task");
    const struct sl_doc_node *command = sl_doc_field_need(&f, "command"),
                             *slot = sl_doc_field_need(&f, "slot"),
                             *cnt = sl_doc_field_need(&f, "count"),
                             *dist = sl_doc_field(&f, "distribution"),
                             *attrs = sl_doc_field(&f, "attributes");
    sl_doc_fields_close(&f);
    if (r->rd.code < 0)
        return "";
    if (command->kind != SL_DOC_NODE_LIST || command->n == 0)
        sl_read_wrong(&r->rd, command->line, "command", "expected a list of words");
    for (uint32_t i = 0; command->kind == SL_DOC_NODE_LIST && i < command->n; i++)
        (void)scalar(r, &command->items[i], "command");
    if (cnt->kind != SL_DOC_NODE_MAP || cnt->n != 1)
        sl_read_wrong(&r->rd, cnt->line, "count",
                      "expected a map with one key, such as {per_slot: 1}");
    if (dist)
        (void)scalar(r, dist, "distribution");
    if (attrs && attrs->kind != SL_DOC_NODE_MAP)
        sl_read_wrong(&r->rd, attrs->line, "attributes", "expected a map, got %s",
                      sl_doc_node_kind_name(attrs->kind));
    return scalar(r, slot, "slot");
}

static void tasks(struct reader *r, const struct sl_doc_node *n, struct sl_jobspec *ret) {
    uint32_t n_items;
    const struct sl_doc_node *items = sl_read_list(&r->rd, n, "tasks", MAX_TASKS, &n_items);
    const char **v = sl_arena_alloc0(r->rd.arena, n_items + 1, sizeof(*v));

    for (uint32_t i = 0; i < n_items && r->rd.code == 0; i++)
        v[i] = task(r, &items[i]);
    ret->slots = v;
    ret->n_slots = n_items;
}

/* ---- the whole ---- */

static int jobspec(struct reader *r, const struct sl_doc *d, struct sl_jobspec *ret) {
    struct sl_doc_fields f;

    if (d->n != 1)
        return sl_err_set(r->rd.err, SL_EINVAL, "%s:1: expected one jobspec, got %u documents",
                          d->file, d->n);
    const struct sl_doc_node *top = &d->roots[0];
    sl_doc_fields_open(&f, &r->rd, top, "a jobspec");
    const struct sl_doc_node *version = sl_doc_field_need(&f, "version"),
                             *res = sl_doc_field_need(&f, "resources"),
                             *tsk = sl_doc_field_need(&f, "tasks"),
                             *attrs = sl_doc_field(&f, "attributes");
    if (!sl_doc_node_get(f.map, "attributes")) /* null will do */
        sl_read_fail(&r->rd, f.line, "expected the field \"attributes\" in a jobspec");
    sl_doc_fields_close(&f);
    if (r->rd.code < 0)
        return r->rd.code;
    ret->version = sl_read_int(&r->rd, version, "version", 1, 9999);
    if (attrs)
        attributes(r, attrs, ret);
    ret->resources = resources(r, res, "resources", 1, &ret->n_resources);
    tasks(r, tsk, ret);
    return r->rd.code;
}

static int document(const char *file, const char *text, size_t len, struct sl_doc **ret,
                    struct sl_err *err) {
    size_t at = 0;

    while (at < len && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    if (at < len && text[at] == '{' && sl_doc_json(file, 1, text, len, ret, NULL) >= 0)
        return 0;
    /* A value takes a byte of the text or more, unless it is an alias: those may not make much of a
     * little, since jobspecs come from users. */
    return sl_doc_yaml_within(file, text, len, (uint32_t)len + MORE_VALUES, ret, err);
}

int sl_graphio_jobspec_decode(const struct sl_doc *d, struct sl_jobspec **ret, struct sl_err *err) {
    _cleanup_(sl_jobspec_freep) struct sl_jobspec *j = sl_alloc0(1, sizeof(*j));
    int r;

    sl_arena_init(&j->arena, ARENA_BYTES);
    struct reader reader = {.rd = {.file = d->file, .arena = &j->arena, .err = err}};
    r = jobspec(&reader, d, j);
    sl_hostlist_done(&reader.hosts);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(j);
    return 0;
}

int sl_graphio_jobspec_read(const char *file, const char *text, size_t len, struct sl_jobspec **ret,
                            struct sl_err *err) {
    _cleanup_(sl_doc_freep) struct sl_doc *d = NULL;
    int r;

    if (len > SL_GRAPHIO_JOBSPEC_MAX_BYTES)
        return sl_err_set(err, SL_ELIMIT, "%s: more than %zu bytes", file,
                          SL_GRAPHIO_JOBSPEC_MAX_BYTES);
    r = document(file, text, len, &d, err);
    return r < 0 ? r : sl_graphio_jobspec_decode(d, ret, err);
}

/* ---- slots that may be mixed ---- */

static bool equal_counts(const struct sl_req_count *a, const struct sl_req_count *b) {
    if (a->n_set != b->n_set || (a->set != NULL) != (b->set != NULL))
        return false;
    if (a->set)
        return memcmp(a->set, b->set, a->n_set * sizeof(*a->set)) == 0;
    return a->min == b->min && a->max == b->max && a->op == b->op && a->operand == b->operand;
}

/* Copies, since what was read is constant. The reader has bounded the depth. */
static const struct sl_req_spec *mix_slots(struct sl_arena *a, const struct sl_req_spec *v,
                                           uint32_t n) {
    struct sl_req_spec *copy = sl_arena_alloc0(a, n + 1, sizeof(*copy));
    const struct sl_req_spec *first = NULL;
    uint32_t n_slots = 0;
    bool mixed = true;

    for (uint32_t i = 0; i < n; i++) {
        copy[i] = v[i];
        copy[i].with = mix_slots(a, v[i].with, v[i].n_with);
        if (v[i].kind != SL_REQ_SLOT)
            continue;
        mixed = mixed && (!first || equal_counts(&first->count, &v[i].count));
        first = first ? first : &v[i];
        n_slots++;
    }
    for (uint32_t i = 0; i < n && mixed && n_slots > 1; i++)
        if (copy[i].kind == SL_REQ_SLOT)
            copy[i].kind = SL_REQ_OR_SLOT;
    return copy;
}

void sl_graphio_jobspec_mix_slots(struct sl_jobspec *j) {
    j->resources = mix_slots(&j->arena, j->resources, j->n_resources);
}

int sl_graphio_jobspec_load(const char *path, struct sl_jobspec **ret, struct sl_err *err) {
    _cleanup_(sl_freep) char *text = NULL;
    size_t len;
    int r = sl_file_read(path, SL_GRAPHIO_JOBSPEC_MAX_BYTES, &text, &len, err);

    return r < 0 ? r : sl_graphio_jobspec_read(path, text, len, ret, err);
}
