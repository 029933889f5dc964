/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission fair sharing: within one ClusterQueue, LocalQueues with less recent usage go first.
 * Each LocalQueue has its consumption per resource, decaying with a half-life; an admission adds a
 * penalty at once, so that a burst does not slip through between two samples. All in integers:
 * thousandths of units, and 2^-x by a table of square roots.
 */
#include "core/engine/state.h"

#define WIDE_MAX (~(unsigned __int128)0)
#define ONE (UINT64_C(1) << 63)

/* 2^-(1/2), 2^-(1/4), ... with 63 fraction bits. */
static const uint64_t roots[32] = {
    UINT64_C(0x5a827999fcef3242), UINT64_C(0x6ba27e656b4eb57a), UINT64_C(0x75606373ee921c97),
    UINT64_C(0x7a92be8a92436616), UINT64_C(0x7d41d96db915019d), UINT64_C(0x7e9f06067a4360ba),
    UINT64_C(0x7f4f08ae3dc7c425), UINT64_C(0x7fa765aca88f6452), UINT64_C(0x7fd3ab290e46d768),
    UINT64_C(0x7fe9d3a8e07bf085), UINT64_C(0x7ff4e9597bed93aa), UINT64_C(0x7ffa748dff8dc61e),
    UINT64_C(0x7ffd3a3f50020332), UINT64_C(0x7ffe9d1dbc0a75a9), UINT64_C(0x7fff4e8e6306ed58),
    UINT64_C(0x7fffa74712c3cdfd), UINT64_C(0x7fffd3a381b1fa28), UINT64_C(0x7fffe9d1beed0189),
    UINT64_C(0x7ffff4e8defb81d7), UINT64_C(0x7ffffa746f5f012f), UINT64_C(0x7ffffd3a37a7d0a8),
    UINT64_C(0x7ffffe9d1bd1fc58), UINT64_C(0x7fffff4e8de8832d), UINT64_C(0x7fffffa746f422d6),
    UINT64_C(0x7fffffd3a37a09bb), UINT64_C(0x7fffffe9d1bd02f1), UINT64_C(0x7ffffff4e8de80fd),
    UINT64_C(0x7ffffffa746f4060), UINT64_C(0x7ffffffd3a37a028), UINT64_C(0x7ffffffe9d1bd012),
    UINT64_C(0x7fffffff4e8de808), UINT64_C(0x7fffffffa746f404),
};

/* 2^-(t / half_life) with 63 fraction bits. */
static uint64_t decay(sl_span t, sl_span half_life) {
    if (t <= 0)
        return ONE;
    if (half_life <= 0)
        return 0;
    uint64_t whole = (uint64_t)t / (uint64_t)half_life;
    if (whole > 62)
        return 0;
    uint64_t part = (uint64_t)(((unsigned __int128)((uint64_t)t % (uint64_t)half_life) << 32) /
                               (uint64_t)half_life);
    uint64_t r = ONE;
    for (uint32_t i = 0; i < 32; i++)
        if (part >> (31 - i) & 1)
            r = (uint64_t)(((unsigned __int128)r * roots[i]) >> 63);
    return r >> whole;
}

static int64_t scale(int64_t milli, uint64_t factor) {
    return (int64_t)(((unsigned __int128)milli * factor) >> 63);
}

static int64_t to_milli(const struct sl_engine *e, sl_sym resource, sl_amount a) {
    if (sl_quantity_is_milli(eng_str(e, resource)))
        return a;
    return sl_amount_min(sl_amount_mul(a, 1000), INT64_MAX - 1);
}

bool eng_afs_orders(const struct sl_engine *e, const struct eng_cq *q) {
    return e->config.afs && q->afs_scope;
}

static struct eng_afs_item *item_of(struct eng_lq *l, sl_sym resource) {
    for (uint32_t i = 0; i < l->afs.n; i++)
        if (l->afs.v[i].resource == resource)
            return &l->afs.v[i];
    *sl_vec_push(&l->afs) = (struct eng_afs_item){.resource = resource};
    return &sl_vec_last(&l->afs);
}

static int64_t weight_of(const struct sl_engine *e, sl_sym resource) {
    for (uint32_t i = 0; i < e->config.n_afs_weights; i++)
        if (sl_sym_find(&e->syms, e->config.afs_weights[i].resource) == resource)
            return e->config.afs_weights[i].weight_nano;
    return SL_WEIGHT_ONE;
}

/* Works out the queue's usage value and where its classes now stand. */
void eng_afs_weigh(struct sl_engine *e, uint32_t lq) {
    struct eng_lq *l = &e->lqs.v[lq];
    unsigned __int128 sum = 0;
    for (uint32_t i = 0; i < l->afs.n; i++) {
        int64_t used_milli = sl_amount_add(l->afs.v[i].consumed_milli, l->afs.v[i].penalty_milli);
        int64_t w = weight_of(e, l->afs.v[i].resource);
        if (used_milli > 0 && w > 0)
            sum += (unsigned __int128)used_milli * (uint64_t)w;
    }
    if (sum > WIDE_MAX >> 20)
        sum = WIDE_MAX >> 20;
    l->afs_usage = l->weight_nano > 0 ? (sum << 20) / (unsigned __int128)l->weight_nano : WIDE_MAX;
    if (l->live && eng_afs_orders(e, &e->cqs.v[l->cq])) {
        sl_heap_rebuild(&e->cqs.v[l->cq].heap);
        eng_cq_mark_dirty(e, &e->cqs.v[l->cq]);
    }
}

void eng_afs_penalty(struct sl_engine *e, uint32_t lq, const struct eng_admission *a, int sign) {
    struct eng_lq *l = &e->lqs.v[lq];
    if (!eng_afs_orders(e, &e->cqs.v[a->cq]))
        return;
    uint64_t alpha = ONE - decay(e->config.afs_sampling, e->config.afs_half_life);
    if (e->config.afs_half_life <= 0)
        alpha = 0;
    for (uint32_t i = 0; i < a->n_assigned; i++) {
        sl_sym r = a->assigned[i].resource;
        int64_t p = scale(to_milli(e, r, a->assigned[i].amount), alpha);
        struct eng_afs_item *it = item_of(l, r);
        it->penalty_milli = sl_amount_add(it->penalty_milli, sign > 0 ? p : -p);
        if (sign == 0)
            it->consumed_milli = sl_amount_add(it->consumed_milli, p);
    }
    eng_afs_weigh(e, lq);
}

static void sample_queue(struct sl_engine *e, uint32_t lq) {
    struct eng_lq *l = &e->lqs.v[lq];
    const struct eng_cq *q = &e->cqs.v[l->cq];
    sl_span elapsed = l->sampled ? e->now - l->sampled_at : 0;
    uint64_t keep = decay(elapsed, e->config.afs_half_life);
    for (uint32_t i = 0; i < l->afs.n; i++)
        l->afs.v[i].consumed_milli = scale(l->afs.v[i].consumed_milli, keep);
    uint64_t alpha = e->config.afs_half_life > 0 ? ONE - keep : 0;
    for (uint32_t i = 0; i < q->reserved.n; i++) {
        const struct eng_wl *w = &e->wls.v[q->reserved.v[i]];
        if (w->lq != lq || w->phase != WL_ADMITTED)
            continue;
        for (uint32_t k = 0; k < w->admission->n_assigned; k++) {
            const struct eng_assigned *a = &w->admission->assigned[k];
            struct eng_afs_item *it = item_of(l, a->resource);
            it->consumed_milli = sl_amount_add(it->consumed_milli,
                                               scale(to_milli(e, a->resource, a->amount), alpha));
        }
    }
    l->sampled = true;
    l->sampled_at = e->now;
    eng_afs_weigh(e, lq);
}

/* Samples every live queue when its time has come. */
void eng_afs_sample(struct sl_engine *e) {
    if (!e->config.afs) {
        e->afs_next = SL_TIME_NEVER;
        return;
    }
    e->afs_next = SL_TIME_NEVER;
    for (uint32_t i = 0; i < e->lqs.n; i++) {
        struct eng_lq *l = &e->lqs.v[i];
        if (!l->live || !e->cqs.v[l->cq].active)
            continue;
        if (!l->sampled || sl_time_add(l->sampled_at, e->config.afs_sampling) <= e->now)
            sample_queue(e, i);
        sl_time next = sl_time_add(l->sampled_at, e->config.afs_sampling);
        if (next < e->afs_next)
            e->afs_next = next;
    }
}
