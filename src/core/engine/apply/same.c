/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detection of repeated facts about configuration. A hash of the whole content is stored with each
 * object; the same hash again means that nothing changed, and nothing is woken for it.
 */
#include "core/engine/apply/apply.h"

static uint64_t labels(uint64_t h, const struct sl_labels *l) {
    h = sl_hash_u64(h, l->n);
    for (uint32_t i = 0; i < l->n; i++)
        h = sl_hash_str(sl_hash_str(h, l->v[i].key), l->v[i].value);
    return h;
}

static uint64_t selector(uint64_t h, const struct sl_selector *s) {
    h = sl_hash_u64(h, (uint64_t)s->n << 1 | s->nothing);
    for (uint32_t i = 0; i < s->n; i++) {
        h = sl_hash_u64(sl_hash_str(h, s->v[i].key), (uint64_t)s->v[i].op << 32 | s->v[i].n_values);
        for (uint32_t k = 0; k < s->v[i].n_values; k++)
            h = sl_hash_str(h, s->v[i].values[k]);
    }
    return h;
}

static uint64_t groups(uint64_t h, const struct sl_groups *g) {
    h = sl_hash_u64(h, g->n);
    for (uint32_t i = 0; i < g->n; i++) {
        const struct sl_group_spec *s = &g->v[i];
        h = sl_hash_u64(h, (uint64_t)s->n_flavors << 32 | s->n_resources);
        for (uint32_t r = 0; r < s->n_resources; r++)
            h = sl_hash_str(h, s->resources[r]);
        for (uint32_t f = 0; f < s->n_flavors; f++) {
            h = sl_hash_str(h, s->flavors[f].flavor);
            for (uint32_t r = 0; r < s->n_resources; r++) {
                const struct sl_quota *q = &s->flavors[f].quotas[r];
                h = sl_hash_u64(h, (uint64_t)q->nominal);
                h = sl_hash_u64(h, (uint64_t)q->borrow_limit);
                h = sl_hash_u64(h, (uint64_t)q->lend_limit);
            }
        }
    }
    return h;
}

uint64_t eng_spec_digest_cohort(const struct sl_cohort_spec *s) {
    uint64_t h = sl_hash_u64(sl_hash_str(1, s->parent), (uint64_t)s->weight_nano);
    return groups(h, &s->groups);
}

uint64_t eng_spec_digest_cq(const struct sl_cq_spec *s) {
    const uint64_t numbers[] = {
        s->strategy,
        s->within,
        s->reclaim,
        s->borrow_within,
        s->has_borrow_threshold,
        (uint64_t)s->borrow_threshold,
        s->when_can_borrow,
        s->when_can_preempt,
        s->preference,
        s->stop,
        s->terminating,
        s->usage_based,
        s->exact_nodes,
        s->n_checks,
        (uint64_t)s->weight_nano,
    };
    uint64_t h = sl_hash_str(2, s->cohort);
    for (uint32_t i = 0; i < SL_LEN(numbers); i++)
        h = sl_hash_u64(h, numbers[i]);
    for (uint32_t i = 0; i < s->n_checks; i++) {
        h = sl_hash_u64(sl_hash_str(h, s->checks[i].name), s->checks[i].n_flavors);
        for (uint32_t k = 0; k < s->checks[i].n_flavors; k++)
            h = sl_hash_str(h, s->checks[i].flavors[k]);
    }
    return groups(selector(h, &s->namespaces), &s->groups);
}

uint64_t eng_spec_digest_lq(const struct sl_lq_spec *s) {
    return sl_hash_u64(sl_hash_u64(sl_hash_str(3, s->cq), s->stop), (uint64_t)s->weight_nano);
}

uint64_t eng_spec_digest_flavor(const struct sl_flavor_spec *s) {
    uint64_t h = labels(4, &s->labels);
    h = sl_hash_u64(h, (uint64_t)s->n_taints << 32 | s->n_tolerations);
    for (uint32_t i = 0; i < s->n_taints; i++)
        h = sl_hash_u64(sl_hash_str(sl_hash_str(h, s->taints[i].key), s->taints[i].value),
                        s->taints[i].effect);
    for (uint32_t i = 0; i < s->n_tolerations; i++) {
        const struct sl_toleration *t = &s->tolerations[i];
        h = sl_hash_str(sl_hash_str(h, t->key), t->value);
        h = sl_hash_u64(h, (uint64_t)t->effect << 1 | t->exists);
    }
    h = sl_hash_u64(sl_hash_str(h, s->topology), s->n_levels);
    for (uint32_t i = 0; i < s->n_levels; i++)
        h = sl_hash_str(h, s->levels[i]);
    return h;
}

uint64_t eng_spec_digest_ns(const struct sl_ns_spec *s) {
    return labels(5, &s->labels);
}

uint64_t eng_spec_digest_check(const struct sl_check_spec *s) {
    return sl_hash_u64(6, s->active);
}
