/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which nodes a pod may be: its node selector, its required node affinity and its nodeName, as a
 * constraint of RFC 31 over the properties of nodes. Terms are joined by or, expressions by and.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "core/base/collection/vec.h"
#include "kube/types/syntax.h"
#include "manager/fluxqueue/jobspec/jobspec_int.h"

#define TERMS                                                                                      \
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
#define MAX_FIELDS 64u /* of one term */

/* What must all hold. */
struct all {
    SL_VEC(const char *) names; /* of properties */
    SL_VEC(struct sl_constraint) terms;
};

static void all_done(struct all *a) {
    sl_vec_free(&a->names);
    sl_vec_free(&a->terms);
}

static struct sl_constraint properties(struct sl_arena *a, const char *const *names, uint32_t n) {
    const char **v = sl_arena_alloc(a, (n + 1) * sizeof(*v));

    memcpy(v, names, n * sizeof(*v));
    return (struct sl_constraint){.kind = SL_CONSTRAINT_PROPERTIES, .names = v, .n_names = n};
}

static struct sl_constraint joined(struct sl_arena *a, enum sl_constraint_kind kind,
                                   const struct sl_constraint *terms, uint32_t n) {
    struct sl_constraint *v = sl_arena_alloc(a, (n + 1) * sizeof(*v));

    memcpy(v, terms, n * sizeof(*v));
    return (struct sl_constraint){.kind = kind, .terms = v, .n_terms = n};
}

static struct sl_constraint all_of(struct sl_arena *a, struct all *all) {
    if (all->names.n > 0) {
        *sl_vec_push(&all->terms) = properties(a, all->names.v, all->names.n);
        struct sl_constraint last = sl_vec_last(&all->terms); /* properties first: read at once */
        memmove(all->terms.v + 1, all->terms.v, (all->terms.n - 1) * sizeof(last));
        all->terms.v[0] = last;
    }
    if (all->terms.n == 0)
        return (struct sl_constraint){.kind = SL_CONSTRAINT_ALL};
    return all->terms.n == 1 ? all->terms.v[0]
                             : joined(a, SL_CONSTRAINT_AND, all->terms.v, all->terms.n);
}

/* ---- labels ---- */

static int check_value(const char *key, const char *value, struct sl_err *err) {
    if (sl_syntax_label_value(value, strlen(value)).n == 0)
        return 0;
    return sl_err_set(err, SL_EINVAL, "%.80s: expected the value of a label, got \"%.80s\"", key,
                      value);
}

/* An integer as Kubernetes compares labels with. */
static bool is_integer(const char *s) {
    size_t n;

    s += *s == '-';
    n = strspn(s, "0123456789");
    return n >= 1 && n <= 18 && s[n] == '\0';
}

static int read_rule(const struct sl_label_rule *r, struct sl_arena *a, struct all *all,
                     struct sl_err *err) {
    _cleanup_(all_done) struct all any = {0};
    int code = 0;

    for (uint32_t i = 0; i < r->n_values && code >= 0; i++)
        if (r->op == SL_OP_IN || r->op == SL_OP_NOT_IN)
            code = check_value(r->key, r->values[i], err);
    if (code < 0)
        return code;
    switch (r->op) {
    case SL_OP_IN:
        for (uint32_t i = 0; i < r->n_values; i++) {
            const char *name = sl_arena_printf(a, "%s=%s", r->key, r->values[i]);
            if (r->n_values == 1)
                *sl_vec_push(&all->names) = name;
            else
                *sl_vec_push(&any.terms) = properties(a, &name, 1);
        }
        if (any.terms.n > 0)
            *sl_vec_push(&all->terms) = joined(a, SL_CONSTRAINT_OR, any.terms.v, any.terms.n);
        return 0;
    case SL_OP_NOT_IN:
        for (uint32_t i = 0; i < r->n_values; i++)
            *sl_vec_push(&all->names) = sl_arena_printf(a, "^%s=%s", r->key, r->values[i]);
        return 0;
    case SL_OP_EXISTS:
        *sl_vec_push(&all->names) = sl_arena_strdup(a, r->key);
        return 0;
    case SL_OP_NOT_EXISTS:
        *sl_vec_push(&all->names) = sl_arena_printf(a, "^%s", r->key);
        return 0;
    case SL_OP_GT:
    case SL_OP_LT:
        if (!is_integer(r->values[0]))
            return sl_err_set(err, SL_EINVAL,
                              "%.80s: expected an integer to compare with, got \"%.60s\"", r->key,
                              r->values[0]);
        *sl_vec_push(&all->names) =
            sl_arena_printf(a, "%s%c%s", r->key, r->op == SL_OP_GT ? '>' : '<', r->values[0]);
        return 0;
    case SL_OP_COUNT:
        break;
    }
    return sl_err_set(err, SL_EINVAL, "%.80s: expected an operator", r->key);
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct sl_label *)a)->key, ((const struct sl_label *)b)->key);
}

/* A map: in the order of its keys, whatever the order of the text. */
static int read_selector(const struct sl_labels *l, struct sl_arena *a, struct all *all,
                         struct sl_err *err) {
    struct sl_label *v = sl_arena_alloc(a, (l->n + 1) * sizeof(*v));
    int r = 0;

    if (l->n > 0)
        memcpy(v, l->v, l->n * sizeof(*v));
    qsort(v, l->n, sizeof(*v), by_key);
    for (uint32_t i = 0; i < l->n && r >= 0; i++) {
        r = check_value(v[i].key, v[i].value, err);
        *sl_vec_push(&all->names) = sl_arena_printf(a, "%s=%s", v[i].key, v[i].value);
    }
    return r;
}

/* ---- names of nodes ---- */

static int add_host(struct sl_text name, bool in, struct sl_arena *a, struct all *all,
                    struct sl_err *err) {
    if (sl_syntax_subdomain(name.s, name.n).n > 0)
        return sl_err_set(err, SL_EINVAL,
                          "metadata.name: expected the name of a node, got \"%.*s\"",
                          name.n > 80 ? 80 : (int)name.n, name.s);
    const char **host = sl_arena_alloc(a, sizeof(*host));
    *host = sl_arena_strndup(a, name.s, name.n);
    struct sl_constraint c = {.kind = SL_CONSTRAINT_HOSTS, .names = host, .n_names = 1};
    *sl_vec_push(&all->terms) = in ? c : joined(a, SL_CONSTRAINT_NOT, &c, 1);
    return 0;
}

static int read_fields(yyjson_val *fields, struct sl_arena *a, struct all *all,
                       struct sl_err *err) {
    yyjson_val *f;
    size_t i, n;
    int r;

    if (yyjson_arr_size(fields) > MAX_FIELDS)
        return sl_err_set(err, SL_ELIMIT, "matchFields: more than %u of them", MAX_FIELDS);
    yyjson_arr_foreach (fields, i, n, f) {
        enum sl_label_op op = sl_label_op_parse(sl_json_str(f, "operator"));
        yyjson_val *values = sl_json_get(f, "values");
        if (strcmp(sl_json_str(f, "key"), "metadata.name") != 0 || yyjson_arr_size(values) != 1 ||
            (op != SL_OP_IN && op != SL_OP_NOT_IN))
            return sl_err_set(err, SL_EINVAL,
                              "matchFields: expected the key metadata.name, the operator In or "
                              "NotIn and one value");
        r = add_host(sl_json_view(yyjson_arr_get_first(values)), op == SL_OP_IN, a, all, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the whole ---- */

static int read_term(const struct sl_selector *s, yyjson_val *fields, struct sl_arena *a,
                     struct all *all, struct sl_err *err) {
    int r = 0;

    for (uint32_t i = 0; i < s->n && r >= 0; i++)
        r = read_rule(&s->v[i], a, all, err);
    return r < 0 ? r : read_fields(fields, a, all, err);
}

/* An empty term selects no node; so it is left out, and one has to remain. */
static int read_affinity(yyjson_val *spec, const struct sl_affinity *f, struct sl_arena *a,
                         struct all *all, struct sl_err *err) {
    _cleanup_(all_done) struct all any = {0};
    yyjson_val *terms = sl_json_at(spec, TERMS), *term;
    uint32_t used = 0;
    size_t i, n;
    int r;

    if (f->n == 0)
        return 0;
    sl_assert(yyjson_arr_size(terms) == f->n);
    yyjson_arr_foreach (terms, i, n, term)
        used += f->terms[i].n > 0 || yyjson_arr_size(sl_json_get(term, "matchFields")) > 0;
    if (used == 0)
        return sl_err_set(err, SL_EINVAL,
                          "nodeAffinity: expected a term with matchExpressions or matchFields; an "
                          "empty one selects no node");
    yyjson_arr_foreach (terms, i, n, term) {
        _cleanup_(all_done) struct all one = {0};
        yyjson_val *fields = sl_json_get(term, "matchFields");
        if (f->terms[i].n == 0 && yyjson_arr_size(fields) == 0)
            continue;
        r = read_term(&f->terms[i], fields, a, used == 1 ? all : &one, err);
        if (r < 0)
            return r;
        if (used > 1)
            *sl_vec_push(&any.terms) = all_of(a, &one);
    }
    if (used > 1)
        *sl_vec_push(&all->terms) = joined(a, SL_CONSTRAINT_OR, any.terms.v, any.terms.n);
    return 0;
}

int fq_where_read(yyjson_val *spec, const struct sl_podset_spec *p, struct sl_arena *a,
                  struct sl_constraint *ret, struct sl_err *err) {
    _cleanup_(all_done) struct all all = {0};
    struct sl_text node = sl_json_view(sl_json_get(spec, "nodeName"));
    int r = read_selector(&p->node_selector, a, &all, err);

    if (r >= 0)
        r = read_affinity(spec, &p->affinity, a, &all, err);
    if (r >= 0 && node.n > 0)
        r = add_host(node, true, a, &all, err);
    if (r < 0)
        return r;
    *ret = all_of(a, &all);
    return 0;
}
