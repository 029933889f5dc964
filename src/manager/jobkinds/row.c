/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from their text. What is wrong is said with file, line and field, and nothing is taken. */
#include "manager/jobkinds/rows.h"

#include <string.h>

#include "core/base/mem.h"
#include "lib/doc/read.h"

#define MAX_VALUES 16384u /* of a text */
#define MAX_ARENA ((size_t)1 << 20)

/* ---- texts ---- */

static bool is_step(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

const char *jobkind_path_fault(const char *path) {
    uint32_t steps = 1;
    bool empty = true;
    if (strlen(path) > SL_JOBKIND_MAX_PATH)
        return "is longer than 256 bytes";
    for (const char *s = path; *s; s++) {
        if (*s == '.') {
            if (empty)
                return "has a step without a name";
            steps++;
        } else if (!is_step(*s)) {
            return "has a character that is no letter, digit, \"-\" or \"_\" (lists are named in "
                   "\"list\", without brackets)";
        }
        empty = *s == '.';
    }
    if (empty)
        return "has a step without a name";
    return steps > SL_JOBKIND_MAX_STEPS ? "has more than 16 steps" : NULL;
}

/* NULL: absent. */
static const char *take_path(struct sl_doc_fields *f, const char *key) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    if (!n)
        return NULL;
    const char *path = sl_read_str(f->rd, n, key), *fault = jobkind_path_fault(path);
    if (f->rd->code == 0 && fault)
        sl_read_wrong(f->rd, n->line, key, "\"%.60s\" %s", path, fault);
    return path;
}

static const char *need_path(struct sl_doc_fields *f, const char *key) {
    (void)sl_doc_field_need(f, key);
    const char *path = take_path(f, key);
    return path ? path : "";
}

static const char *take_word(struct sl_doc_fields *f, const char *key) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    if (!n)
        return NULL;
    const char *s = sl_read_str(f->rd, n, key);
    if (f->rd->code == 0 && (!*s || strlen(s) > SL_JOBKIND_MAX_WORD))
        sl_read_wrong(f->rd, n->line, key, "expected 1 to %u bytes", SL_JOBKIND_MAX_WORD);
    return s;
}

static const char *need_word(struct sl_doc_fields *f, const char *key) {
    (void)sl_doc_field_need(f, key);
    const char *s = take_word(f, key);
    return s ? s : "";
}

static struct sl_jobkind_words take_words(struct sl_doc_fields *f, const char *key) {
    struct sl_jobkind_words w = {0};
    w.v = sl_doc_field_strs(f, key, SL_JOBKIND_MAX_WORDS, &w.n);
    return w;
}

static struct sl_jobkind_words one_word(struct sl_read *rd, const char *word) {
    const char **v = sl_arena_alloc(rd->arena, sizeof *v);
    v[0] = word;
    return (struct sl_jobkind_words){v, 1};
}

/* ---- tests ---- */

static void read_sum(struct sl_doc_fields *f, struct sl_jobkind_test *t) {
    static const char *const of[] = {"units", NULL};
    t->kind = SL_JOBKIND_SUM;
    t->path = need_path(f, "sum");
    t->words = take_words(f, "fields");
    if (f->rd->code == 0 && t->words.n == 0)
        sl_read_wrong(f->rd, f->line, "fields", "expected the names of at least one number");
    (void)sl_doc_field_choice(f, "equals", of, 0);
}

static void read_value(struct sl_doc_fields *f, struct sl_jobkind_test *t) {
    bool without = sl_doc_field(f, "notIn") != NULL;
    t->kind = SL_JOBKIND_VALUE;
    t->path = need_path(f, "path");
    t->negated = without;
    t->words = take_words(f, without ? "notIn" : "in");
    if (f->rd->code == 0 && t->words.n == 0)
        sl_read_wrong(f->rd, f->line, "in", "expected at least one value, here or in \"notIn\"");
}

static void read_test(struct sl_read *rd, const struct sl_doc_node *n, struct sl_jobkind_test *t) {
    static const char *const kinds[] = {"condition", "path", "set", "any", "sum", "count"};
    struct sl_doc_fields f;
    size_t k = 0;
    sl_doc_fields_open(&f, rd, n, "a test");
    while (k < SL_LEN(kinds) && !sl_doc_node_get(n, kinds[k]))
        k++;
    switch (k) {
    case 0:
        t->kind = SL_JOBKIND_CONDITION;
        t->path = need_word(&f, "condition");
        t->negated = !sl_doc_field_bool(&f, "is", true);
        break;
    case 1:
        read_value(&f, t);
        break;
    case 2:
        t->kind = SL_JOBKIND_SET;
        t->path = need_path(&f, "set");
        break;
    case 3:
        t->kind = SL_JOBKIND_ANY;
        t->path = need_path(&f, "any");
        t->words = one_word(rd, need_path(&f, "field"));
        break;
    case 4:
        read_sum(&f, t);
        break;
    case 5:
        t->kind = SL_JOBKIND_COUNT;
        t->path = need_path(&f, "count");
        t->other = need_path(&f, "atLeast");
        t->words = take_words(&f, "in");
        break;
    default:
        sl_read_fail(rd, n->line,
                     "a test: expected one of condition, path, set, any, sum and count");
    }
    sl_doc_fields_close(&f);
}

static struct sl_jobkind_tests take_tests(struct sl_doc_fields *f, const char *key) {
    struct sl_jobkind_tests t = {0};
    const struct sl_doc_node *items = sl_doc_field_list(f, key, SL_JOBKIND_MAX_TESTS, &t.n);
    struct sl_jobkind_test *v = sl_arena_alloc0(f->rd->arena, t.n + 1, sizeof *v);
    for (uint32_t i = 0; i < t.n; i++)
        read_test(f->rd, &items[i], &v[i]);
    t.v = v;
    return t;
}

/* ---- podsets ---- */

static void read_amount(struct sl_read *rd, const struct sl_doc_node *n,
                        struct sl_jobkind_factor *to) {
    struct sl_doc_fields f;
    uint32_t i = to->n++;
    sl_doc_fields_open(&f, rd, n, "an amount");
    to->v[i].path = need_path(&f, "path");
    to->v[i].fallback = (int32_t)sl_doc_field_int(&f, "default", -1, 0, INT32_MAX);
    to->v[i].at_least = (int32_t)sl_doc_field_int(&f, "atLeast", 0, 0, INT32_MAX);
    sl_doc_fields_close(&f);
}

static void read_factor(struct sl_read *rd, const struct sl_doc_node *n,
                        struct sl_jobkind_factor *to) {
    struct sl_doc_fields f;
    uint32_t k;
    if (!sl_doc_node_get(n, "least")) {
        read_amount(rd, n, to);
        return;
    }
    sl_doc_fields_open(&f, rd, n, "a count");
    const struct sl_doc_node *items = sl_doc_field_list(&f, "least", SL_JOBKIND_MAX_FACTORS, &k);
    for (uint32_t i = 0; i < k; i++)
        read_amount(rd, &items[i], to);
    sl_doc_fields_close(&f);
}

static void read_group(struct sl_read *rd, const struct sl_doc_node *n,
                       struct sl_jobkind_group *g) {
    struct sl_doc_fields f;
    sl_doc_fields_open(&f, rd, n, "a podset");
    g->list = take_path(&f, "list");
    g->map = take_path(&f, "map");
    g->at = take_path(&f, "at");
    if (rd->code == 0 && (g->list != NULL) + (g->map != NULL) + (g->at != NULL) != 1)
        sl_read_fail(rd, n->line, "a podset: expected exactly one of list, map and at");
    if (g->map) {
        g->keys = take_words(&f, "keys");
        if (rd->code == 0 && g->keys.n == 0)
            sl_read_wrong(rd, n->line, "keys", "expected the keys in the order of the podsets");
    } else {
        g->name = g->list ? need_path(&f, "name") : need_word(&f, "name");
    }
    g->optional = g->at && sl_doc_field_bool(&f, "optional", false);
    g->template = need_path(&f, "template");
    g->units = take_path(&f, "units");
    g->rank_label = take_word(&f, "rankLabel");
    g->sub_label = take_word(&f, "subGroupLabel");
    g->sub_count = take_path(&f, "subGroupCount");
    const struct sl_doc_node *items =
        sl_doc_field_list(&f, "count", SL_JOBKIND_MAX_FACTORS, &g->n_factors);
    for (uint32_t i = 0; i < g->n_factors; i++)
        read_factor(rd, &items[i], &g->factors[i]);
    sl_doc_fields_close(&f);
}

/* ---- the row ---- */

static void read_end(struct sl_read *rd, const struct sl_doc_node *n, struct sl_jobkind_end *e) {
    struct sl_doc_fields f;
    sl_doc_fields_open(&f, rd, n, "an end");
    e->when = take_tests(&f, "when");
    if (rd->code == 0 && e->when.n == 0)
        sl_read_wrong(rd, n->line, "when", "expected at least one test");
    e->succeeded = sl_doc_field_bool(&f, "succeeded", false);
    e->message = take_path(&f, "message");
    e->text = take_word(&f, "text");
    sl_doc_fields_close(&f);
}

static void read_lists(struct sl_doc_fields *f, struct sl_jobkind *k) {
    struct sl_read *rd = f->rd;
    const struct sl_doc_node *items =
        sl_doc_field_list(f, "podSets", SL_JOBKIND_MAX_GROUPS, &k->n_groups);
    struct sl_jobkind_group *g = sl_arena_alloc0(rd->arena, k->n_groups + 1, sizeof *g);
    for (uint32_t i = 0; i < k->n_groups; i++)
        read_group(rd, &items[i], &g[i]);
    k->groups = g;
    items = sl_doc_field_list(f, "finished", SL_JOBKIND_MAX_ENDS, &k->n_ends);
    struct sl_jobkind_end *e = sl_arena_alloc0(rd->arena, k->n_ends + 1, sizeof *e);
    for (uint32_t i = 0; i < k->n_ends; i++)
        read_end(rd, &items[i], &e[i]);
    k->ends = e;
    k->skip = take_tests(f, "skip");
    k->ready = take_tests(f, "ready");
    k->active = take_tests(f, "active");
}

static void read_reclaimable(struct sl_doc_fields *top, struct sl_jobkind *k) {
    const struct sl_doc_node *n = sl_doc_field(top, "reclaimable");
    struct sl_doc_fields f;
    if (!n)
        return;
    sl_doc_fields_open(&f, top->rd, n, "reclaimable");
    k->reclaimable.list = need_path(&f, "list");
    k->reclaimable.name = need_path(&f, "name");
    k->reclaimable.done = need_path(&f, "done");
    sl_doc_fields_close(&f);
}

/* Names that become parts of URLs. */
static const char *need_name(struct sl_doc_fields *f, const char *key) {
    const struct sl_doc_node *n = sl_doc_field_need(f, key);
    const char *s = need_word(f, key);
    for (const char *c = s; n && f->rd->code == 0 && *c; c++)
        if (!is_step(*c) && *c != '.' && !(*c == '/' && strcmp(key, "framework") == 0))
            sl_read_wrong(f->rd, n->line, key, "\"%.60s\" has a character that no name has", s);
    return s;
}

static void read_rule(struct sl_doc_fields *f, struct sl_jobkind *k, bool built_in) {
    static const char *const rules[] = {"none",     "ray",   "rayjob", "appwrapper",
                                        "trainjob", "spark", NULL};
    if (built_in)
        k->rule = (enum sl_jobkind_rule)sl_doc_field_choice(f, "rule", rules, SL_JOBKIND_PLAIN);
    else if (sl_doc_field(f, "rule"))
        sl_read_wrong(f->rd, f->line, "rule", "only kinds that are built in have one");
}

static void read_row(struct sl_read *rd, const struct sl_doc_node *n, bool built_in,
                     struct sl_jobkind *k) {
    struct sl_doc_fields f;
    sl_doc_fields_open(&f, rd, n, "a kind of jobs");
    k->framework = need_name(&f, "framework");
    k->group = need_name(&f, "group");
    k->version = need_name(&f, "version");
    k->kind = need_name(&f, "kind");
    k->plural = need_name(&f, "plural");
    k->api_version = sl_arena_printf(rd->arena, "%s/%s", k->group, k->version);
    k->collection = sl_arena_printf(rd->arena, "/apis/%s", k->api_version);
    k->events = sl_arena_printf(rd->arena, "%s-kueue-controller", k->framework);
    read_rule(&f, k, built_in);
    k->suspend = need_path(&f, "suspend");
    k->managed_by = take_path(&f, "managedBy");
    k->controller = take_word(&f, "controller");
    k->priority = take_path(&f, "priorityClass");
    k->clears = take_path(&f, "clears");
    k->elastic = built_in && sl_doc_field_bool(&f, "elastic", false);
    read_lists(&f, k);
    read_reclaimable(&f, k);
    if (rd->code == 0 && k->n_groups == 0 && k->rule == SL_JOBKIND_PLAIN)
        sl_read_wrong(rd, n->line, "podSets", "expected at least one");
    if (rd->code == 0 && strcmp(k->group, "kueue.x-k8s.io") == 0)
        sl_read_wrong(rd, n->line, "group", "objects of the queue are no jobs");
    sl_doc_fields_close(&f);
}

static void check_pair(struct sl_read *rd, uint32_t line, const struct sl_jobkind *a,
                       const struct sl_jobkind *b) {
    if (strcmp(a->framework, b->framework) == 0)
        sl_read_wrong(rd, line, "framework", "\"%.60s\" is there twice", a->framework);
    if (strcmp(a->api_version, b->api_version) == 0 && strcmp(a->kind, b->kind) == 0)
        sl_read_wrong(rd, line, "kind", "%.60s %.60s is there twice", a->api_version, a->kind);
}

/* ---- a text ---- */

void sl_jobkinds_free(struct sl_jobkinds *k) {
    if (!k)
        return;
    sl_doc_free(k->doc);
    sl_arena_done(&k->arena);
    sl_freep(&k);
}

void sl_jobkinds_freep(struct sl_jobkinds **k) {
    sl_jobkinds_free(*k);
    *k = NULL;
}

int sl_jobkinds_parse(const char *file, const char *text, size_t len, bool built_in,
                      struct sl_jobkinds **ret, struct sl_err *err) {
    if (len > SL_JOBKIND_MAX_TEXT)
        return sl_err_set(err, SL_ELIMIT, "%.100s: rows of at most %zu KiB are read", file,
                          SL_JOBKIND_MAX_TEXT >> 10);
    _cleanup_(sl_jobkinds_freep) struct sl_jobkinds *k = sl_alloc0(1, sizeof *k);
    sl_arena_init(&k->arena, MAX_ARENA);
    int r = sl_doc_yaml_within(file, text, len, MAX_VALUES, &k->doc, err);
    if (r < 0)
        return r;
    if (k->doc->n > SL_JOBKIND_MAX_ROWS)
        return sl_err_set(err, SL_ELIMIT, "%.100s: at most %u kinds are read", file,
                          SL_JOBKIND_MAX_ROWS);
    struct sl_read rd = {.file = file, .arena = &k->arena, .err = err};
    k->v = sl_arena_alloc0(&k->arena, k->doc->n + 1, sizeof *k->v);
    for (uint32_t i = 0; i < k->doc->n && rd.code == 0; i++) {
        const struct sl_doc_node *root = &k->doc->roots[i];
        if (root->kind == SL_DOC_NODE_NULL)
            continue;
        read_row(&rd, root, built_in, &k->v[k->n]);
        for (uint32_t j = 0; j < k->n && rd.code == 0; j++)
            check_pair(&rd, root->line, &k->v[j], &k->v[k->n]);
        k->n++;
    }
    if (rd.code == 0 && sl_arena_full(&k->arena))
        return sl_err_set(err, SL_ELIMIT, "%.100s: the rows are too long", file);
    if (rd.code < 0)
        return rd.code;
    *ret = TAKE_PTR(k);
    return 0;
}
