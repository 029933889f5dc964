/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching of labels, selectors and taints, with the semantics of Kubernetes (apimachinery
 * labels.Requirement, corev1 Toleration.ToleratesTaint). Nothing here fails: a requirement that
 * cannot be evaluated (a Gt over a word) does not match. The text form is parsed in selector.c.
 */
#include "core/model/labels.h"

#include <string.h>

static bool same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

const char *const sl_label_op_words[SL_OP_COUNT + 1] = {"In", "NotIn", "Exists", "DoesNotExist",
                                                        "Gt", "Lt",    NULL};
const char *const sl_selector_op_words[SL_OP_GT + 1] = {"In", "NotIn", "Exists", "DoesNotExist",
                                                        NULL};

enum sl_label_op sl_label_op_parse(const char *word) {
    int op = 0;

    while (op < SL_OP_COUNT && strcmp(word, sl_label_op_words[op]) != 0)
        op++;
    return (enum sl_label_op)op;
}

const char *sl_label_op_fault(enum sl_label_op op, size_t n_values) {
    switch (op) {
    case SL_OP_IN:
    case SL_OP_NOT_IN:
        return n_values > 0 ? NULL : "must be specified when `operator` is 'In' or 'NotIn'";
    case SL_OP_EXISTS:
    case SL_OP_NOT_EXISTS:
        return n_values == 0 ? NULL
                             : "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    case SL_OP_GT:
    case SL_OP_LT:
        return n_values == 1 ? NULL
                             : "must be specified single value when `operator` is 'Lt' or 'Gt'";
    case SL_OP_COUNT:
        break;
    }
    return NULL;
}

const char *sl_labels_get(const struct sl_labels *l, const char *key) {
    for (uint32_t i = 0; i < l->n; i++)
        if (same_text(l->v[i].key, key))
            return l->v[i].value ? l->v[i].value : "";
    return NULL;
}

/* Go's ParseInt(s, 10, 64): a sign, digits, nothing else. */
static bool whole_number(const char *s, int64_t *ret) {
    bool negative = *s == '-';
    int64_t v = 0;

    if (*s == '-' || *s == '+')
        s++;
    if (!*s)
        return false;
    for (; *s; s++) {
        if (*s < '0' || *s > '9')
            return false;
        int d = *s - '0';
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, negative ? -d : d, &v))
            return false;
    }
    *ret = v;
    return true;
}

static bool listed(const struct sl_label_rule *r, const char *value) {
    for (uint32_t i = 0; i < r->n_values; i++)
        if (same_text(r->values[i], value))
            return true;
    return false;
}

bool sl_label_rule_matches(const struct sl_label_rule *r, const struct sl_labels *l) {
    const char *have = sl_labels_get(l, r->key);
    int64_t left, right;

    switch (r->op) {
    case SL_OP_IN:
        return have && listed(r, have);
    case SL_OP_NOT_IN:
        return !have || !listed(r, have);
    case SL_OP_EXISTS:
        return have != NULL;
    case SL_OP_NOT_EXISTS:
        return have == NULL;
    case SL_OP_GT:
    case SL_OP_LT:
        if (!have || r->n_values != 1 || !r->values[0] || !whole_number(have, &left) ||
            !whole_number(r->values[0], &right))
            return false;
        return r->op == SL_OP_GT ? left > right : left < right;
    case SL_OP_COUNT:
        break;
    }
    return false;
}

bool sl_selector_matches(const struct sl_selector *s, const struct sl_labels *l) {
    if (s->nothing)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (!sl_label_rule_matches(&s->v[i], l))
            return false;
    return true;
}

static bool tolerates(const struct sl_toleration *o, const struct sl_taint *t) {
    if (o->effect != SL_TAINT_ANY && o->effect != t->effect)
        return false;
    if (o->key && *o->key && !same_text(o->key, t->key))
        return false;
    return o->exists || same_text(o->value, t->value);
}

bool sl_taint_tolerated(const struct sl_taint *t, const struct sl_toleration *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (tolerates(&v[i], t))
            return true;
    return false;
}

static const char *const effect_names[] = {
    [SL_TAINT_ANY] = "",
    [SL_TAINT_NO_SCHEDULE] = "NoSchedule",
    [SL_TAINT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
    [SL_TAINT_NO_EXECUTE] = "NoExecute",
};

const char *sl_taint_effect_name(enum sl_taint_effect e) {
    return (size_t)e < SL_LEN(effect_names) ? effect_names[e] : "?";
}

int sl_taint_effect_parse(const char *s, enum sl_taint_effect *ret, struct sl_err *err) {
    for (size_t i = 0; i < SL_LEN(effect_names); i++)
        if (same_text(s, effect_names[i])) {
            *ret = (enum sl_taint_effect)i;
            return 0;
        }
    return sl_err_set(err, SL_EINVAL,
                      "expected NoSchedule, PreferNoSchedule or NoExecute, got \"%.60s\"", s);
}
