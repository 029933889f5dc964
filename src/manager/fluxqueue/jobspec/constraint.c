/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constraint of a jobspec on the live graph: comparisons of labels become the values that nodes
 * have, and nodes with taints that are not tolerated are excluded.
 */
#include "manager/fluxqueue/jobspec/jobspec_int.h"

struct compiler {
    const struct sl_graph *g;
    const struct fq_universe *u;
    struct sl_arena *arena;
    uint32_t n_comparisons;
    struct sl_err *err;
};

/* All properties KEY=VALUE of nodes whose value compares so. */
static int find_values(struct compiler *c, const struct sl_label_rule *rule,
                       struct sl_constraint *ret) {
    const char *const *values;
    uint32_t n_values = fq_universe_values(c->u, c->g, rule->key, &values);
    size_t len = strlen(rule->key);
    struct sl_constraint *terms;
    SL_VEC(const char *) found = {0};

    for (uint32_t i = 0; i < n_values && found.n <= FQ_MAX_VALUES; i++) {
        struct sl_label label = {rule->key, values[i] + len + 1};
        if (sl_label_rule_matches(rule, &(struct sl_labels){&label, 1}))
            *sl_vec_push(&found) = values[i];
    }
    uint32_t n = found.n;
    terms = sl_arena_alloc0(c->arena, n + 1, sizeof(*terms));
    for (uint32_t i = 0; i < n; i++) {
        const char **name = sl_arena_alloc(c->arena, sizeof(*name));
        *name = sl_arena_strdup(c->arena, found.v[i]);
        terms[i] =
            (struct sl_constraint){.kind = SL_CONSTRAINT_PROPERTIES, .names = name, .n_names = 1};
    }
    sl_vec_free(&found);
    if (n > FQ_MAX_VALUES)
        return sl_err_set(c->err, SL_ELIMIT, "%.80s: nodes have more than %u values of this label",
                          rule->key, FQ_MAX_VALUES);
    *ret = (struct sl_constraint){.kind = SL_CONSTRAINT_OR, .terms = terms, .n_terms = n};
    if (n == 0) { /* an or of nothing is true; this is not: the one term (zeroed) is ALL */
        ret->kind = SL_CONSTRAINT_NOT;
        ret->n_terms = 1;
    }
    return 0;
}

/* "KEY>5" or "^KEY<5" */
static int compare(struct compiler *c, const char *name, const char *op,
                   struct sl_constraint *ret) {
    bool without = *name == '^';
    const char *key = name + without, *value = op + 1;
    const struct sl_label_rule rule = {
        .key = sl_arena_strndup(c->arena, key, (size_t)(op - key)),
        .op = *op == '>' ? SL_OP_GT : SL_OP_LT,
        .values = &value,
        .n_values = 1,
    };
    size_t digits = strspn(value + (*value == '-'), "0123456789");

    if (op == key || digits == 0 || digits > 18 || value[(*value == '-') + digits])
        return sl_err_set(c->err, SL_EINVAL,
                          "properties: expected a comparison such as \"KEY>5\", got \"%.80s\"",
                          name);
    if (++c->n_comparisons > FQ_MAX_COMPARISONS)
        return sl_err_set(c->err, SL_ELIMIT, "properties: more than %u comparisons",
                          FQ_MAX_COMPARISONS);
    *c->u->compared |= fq_compared_bit(rule.key);
    int r = find_values(c, &rule, ret);
    if (r >= 0 && without) {
        struct sl_constraint *term = sl_arena_alloc(c->arena, sizeof(*term));
        *term = *ret;
        *ret = (struct sl_constraint){.kind = SL_CONSTRAINT_NOT, .terms = term, .n_terms = 1};
    }
    return r;
}

/* Properties with comparisons become an and: of those without, and one term for each. */
static int copy_properties(struct compiler *c, struct sl_constraint *t) {
    uint32_t n = 0, kept = 0, made = 1;
    int r = 0;

    for (uint32_t i = 0; i < t->n_names; i++)
        n += strpbrk(t->names[i], "<>") != NULL;
    if (n == 0)
        return 0;
    if (n > FQ_MAX_COMPARISONS)
        return sl_err_set(c->err, SL_ELIMIT, "properties: more than %u comparisons",
                          FQ_MAX_COMPARISONS);
    const char **names = sl_arena_alloc(c->arena, (t->n_names + 1) * sizeof(*names));
    struct sl_constraint *terms = sl_arena_alloc0(c->arena, n + 1, sizeof(*terms));
    for (uint32_t i = 0; i < t->n_names && r >= 0; i++) {
        const char *op = strpbrk(t->names[i], "<>");
        if (op)
            r = compare(c, t->names[i], op, &terms[made++]);
        else
            names[kept++] = t->names[i];
    }
    terms[0] =
        (struct sl_constraint){.kind = SL_CONSTRAINT_PROPERTIES, .names = names, .n_names = kept};
    *t = (struct sl_constraint){.kind = SL_CONSTRAINT_AND, .terms = terms, .n_terms = made};
    return r;
}

static int copy_constraint(struct compiler *c, struct sl_constraint *t) {
    struct sl_constraint *terms;
    int r = 0;

    if (t->kind == SL_CONSTRAINT_PROPERTIES)
        return copy_properties(c, t);
    if (t->n_terms == 0)
        return 0;
    terms = sl_arena_alloc(c->arena, t->n_terms * sizeof(*terms));
    memcpy(terms, t->terms, t->n_terms * sizeof(*terms));
    for (uint32_t i = 0; i < t->n_terms && r >= 0; i++)
        r = copy_constraint(c, &terms[i]);
    t->terms = terms;
    return r;
}

/* And none of the taints that are not tolerated. */
static void exclude_taints(const struct fq_universe *u, const struct sl_toleration *tolerations,
                           uint32_t n_tolerations, struct sl_arena *a, struct sl_constraint *t) {
    const char **names = sl_arena_alloc(a, (u->n_taints + 1) * sizeof(*names));
    uint32_t n = 0;

    for (uint32_t i = 0; i < u->n_taints; i++) {
        const struct sl_taint *taint = &u->taints[i].taint;
        if (taint->effect != SL_TAINT_PREFER_NO_SCHEDULE &&
            !sl_taint_tolerated(taint, tolerations, n_tolerations))
            names[n++] = u->taints[i].absent;
    }
    if (n == 0)
        return;
    struct sl_constraint *terms = sl_arena_alloc(a, 2 * sizeof(*terms));
    terms[0] = *t;
    terms[1] =
        (struct sl_constraint){.kind = SL_CONSTRAINT_PROPERTIES, .names = names, .n_names = n};
    *t = t->kind == SL_CONSTRAINT_ALL
             ? terms[1]
             : (struct sl_constraint){.kind = SL_CONSTRAINT_AND, .terms = terms, .n_terms = 2};
}

int fq_constraint_compile(const struct sl_graph *g, const struct fq_universe *u,
                          const struct sl_toleration *tolerations, uint32_t n_tolerations,
                          struct sl_arena *a, struct sl_constraint *t, struct sl_err *err) {
    struct compiler c = {.g = g, .u = u, .arena = a, .err = err};
    int r = copy_constraint(&c, t);

    if (r >= 0)
        exclude_taints(u, tolerations, n_tolerations, a, t);
    return r;
}
