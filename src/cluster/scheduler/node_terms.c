/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Terms of required and preferred node affinity. A term is about labels (matchExpressions), about
 * the node's name (matchFields), or both; then both must match.
 */
#include <string.h>

#include "cluster/controllers/core/adopt.h"
#include "cluster/scheduler/scheduler_int.h"

#define NAME "metadata.name"

/* The only field that is supported, and its two operators. */
static bool are_names(const struct sl_selector *s) {
    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i].key, NAME) != 0 ||
            (s->v[i].op != SL_OP_IN && s->v[i].op != SL_OP_NOT_IN))
            return false;
    return true;
}

bool sched_node_term_read(struct sl_arena *a, yyjson_val *term, struct sched_node_term *ret) {
    bool good = cl_rules_read(a, NULL, sl_json_at(term, "matchExpressions"), &ret->labels);
    good &= cl_rules_read(a, NULL, sl_json_at(term, "matchFields"), &ret->fields);
    good = good && are_names(&ret->fields) && ret->labels.n + ret->fields.n > 0;
    ret->labels.nothing = !good;
    return good;
}

bool sched_node_term_match(const struct sched_node_term *h, const struct sched_node *n) {
    const struct sl_label name = {NAME, n->rec.name};
    const struct sl_labels fields = {&name, 1};
    return sl_selector_matches(&h->labels, &n->labels) && sl_selector_matches(&h->fields, &fields);
}

/* ---- required ---- */

/* Do all rules that list names list this one? */
static bool lists(const struct sl_selector *fields, const char *name) {
    const struct sl_label one = {NAME, name};
    const struct sl_labels as = {&one, 1};
    for (uint32_t i = 0; i < fields->n; i++)
        if (fields->v[i].op == SL_OP_IN && !sl_label_rule_matches(&fields->v[i], &as))
            return false;
    return true;
}

static const struct sl_label_rule *first_list(const struct sl_selector *fields) {
    for (uint32_t i = 0; i < fields->n; i++)
        if (fields->v[i].op == SL_OP_IN)
            return &fields->v[i];
    return NULL;
}

bool sched_required_read(struct sl_arena *a, yyjson_val *terms, struct sched_required *ret) {
    size_t i, n, max = yyjson_arr_size(terms);
    yyjson_val *v;
    *ret = (struct sched_required){.by_name = max > 0 && max <= SCHED_MAX_REQUIRED};
    if (!ret->by_name)
        return max == 0;
    ret->terms = sl_arena_alloc0(a, max, sizeof *ret->terms);
    ret->unsatisfiable = true;
    yyjson_arr_foreach (terms, i, n, v) {
        struct sched_node_term *h = &ret->terms[ret->n++];
        (void)sched_node_term_read(a, v, h);
        const struct sl_label_rule *names = first_list(&h->fields);
        ret->by_name &= names != NULL;
        for (uint32_t k = 0; names && k < names->n_values; k++)
            ret->unsatisfiable &= !lists(&h->fields, names->values[k]);
    }
    ret->unsatisfiable &= ret->by_name;
    return true;
}

bool sched_required_match(const struct sched_required *m, const struct sched_node *n) {
    for (uint32_t i = 0; i < m->n; i++)
        if (sched_node_term_match(&m->terms[i], n))
            return true;
    return m->n == 0;
}

bool sched_required_names(const struct sched_required *m, const struct sched_node *n) {
    for (uint32_t i = 0; m->by_name && i < m->n; i++)
        if (lists(&m->terms[i].fields, n->rec.name))
            return true;
    return !m->by_name;
}
