/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine as a whole: creation, destruction, and the cycle.
 */
#include "core/engine/state.h"

struct sl_engine *sl_engine_new(const struct sl_placer *placer) {
    struct sl_engine *e = sl_alloc0(1, sizeof(*e));
    if (placer) {
        e->placer = *placer;
        e->has_placer = true;
    }
    e->config = sl_config_default;
    sl_arena_init(&e->config_arena, UINT64_C(16) << 20);
    sl_syms_init(&e->syms);
    eng_round_init(&e->round);
    sl_heap_init(&e->timers, eng_timer_less, eng_timer_place, e);
    e->sym_pods = sl_sym_put(&e->syms, "pods");
    e->afs_next = SL_TIME_NEVER;
    e->now = INT64_MIN;
    e->later_cold = true;
    return e;
}

static void cq_free(struct eng_cq *q) {
    for (uint32_t i = 0; i < q->checks.n; i++)
        sl_vec_free(&q->checks.v[i].flavors);
    sl_vec_free(&q->checks);
    sl_vec_free(&q->asleep);
    sl_vec_free(&q->reserved);
    sl_vec_free(&q->lqs);
    sl_vec_free(&q->prios);
    sl_vec_free(&q->held);
    sl_vec_free(&q->later.uses);
    sl_heap_done(&q->heap);
    sl_freep(&q->message);
    sl_arena_done(&q->arena);
}

void eng_cq_init(struct sl_engine *e, struct eng_cq *q, uint32_t node) {
    *q = (struct eng_cq){.node = node,
                         .sticky = ENG_NONE,
                         .seen_head = ENG_NONE,
                         .entry = ENG_NONE,
                         .later.wl = ENG_NONE};
    sl_heap_init(&q->heap, eng_class_less, eng_class_place, e);
    sl_arena_init(&q->arena, UINT64_C(16) << 20);
}

void eng_cq_reset(struct sl_engine *e, uint32_t cq) {
    uint32_t node = e->cqs.v[cq].node;
    cq_free(&e->cqs.v[cq]);
    eng_cq_init(e, &e->cqs.v[cq], node);
}

void sl_engine_free(struct sl_engine *e) {
    if (!e)
        return;
    if (e->structure_dirty)
        eng_trees_rebuild(e);
    e->has_placer = false;
    for (uint32_t i = 0; i < e->wls.n; i++)
        eng_wl_destroy(e, i);
    for (uint32_t i = 0; i < e->shapes.n; i++)
        while (e->shapes.v[i].used)
            eng_shape_unref(e, i);
    for (uint32_t i = 0; i < e->lqs.n; i++) {
        sl_vec_free(&e->lqs.v[i].classes);
        sl_vec_free(&e->lqs.v[i].parked);
        sl_vec_free(&e->lqs.v[i].afs);
        sl_vec_free(&e->lqs.v[i].held);
    }
    eng_trees_free(e);
    for (uint32_t i = 0; i < e->nodes.n; i++)
        eng_node_free(&e->nodes.v[i]);
    for (uint32_t i = 0; i < e->cqs.n; i++)
        cq_free(&e->cqs.v[i]);
    for (uint32_t i = 0; i < e->flavors.n; i++)
        sl_arena_done(&e->flavors.v[i].arena);
    for (uint32_t i = 0; i < e->namespaces.n; i++)
        sl_arena_done(&e->namespaces.v[i].arena);
    sl_heap_done(&e->timers);
    eng_round_done(&e->round);
    struct sl_map *maps[] = {&e->fr_map,         &e->node_map, &e->lq_map,    &e->flavor_map,
                             &e->check_map,      &e->ns_map,   &e->shape_map, &e->class_map,
                             &e->equivalent_map, &e->wl_map};
    for (uint32_t i = 0; i < SL_LEN(maps); i++)
        sl_map_done(maps[i]);
    sl_vec_free(&e->frs);
    sl_vec_free(&e->free_frs);
    sl_vec_free(&e->free_cohorts);
    sl_vec_free(&e->free_queues);
    sl_vec_free(&e->extra_frs);
    sl_vec_free(&e->nodes);
    sl_vec_free(&e->trees);
    sl_vec_free(&e->cqs);
    sl_vec_free(&e->lqs);
    sl_vec_free(&e->flavors);
    sl_vec_free(&e->checks);
    sl_vec_free(&e->namespaces);
    sl_vec_free(&e->shapes);
    sl_vec_free(&e->free_shapes);
    sl_vec_free(&e->classes);
    sl_vec_free(&e->free_classes);
    sl_vec_free(&e->wls);
    sl_vec_free(&e->free_wls);
    sl_vec_free(&e->free_lqs);
    sl_vec_free(&e->dirty_trees);
    sl_vec_free(&e->evaluated_trees);
    sl_vec_free(&e->lost);
    sl_vec_free(&e->due);
    sl_syms_done(&e->syms);
    sl_arena_done(&e->config_arena);
    sl_freep(&e);
}

void sl_engine_freep(struct sl_engine **e) {
    sl_engine_free(*e);
    *e = NULL;
}

int sl_engine_shape(struct sl_engine *e, const struct sl_podset_spec *v, uint32_t n,
                    sl_shape_id *ret, struct sl_err *err) {
    uint32_t s;
    int r = eng_shape_intern(e, v, n, &s, err);
    if (r < 0)
        return r;
    *ret = (sl_shape_id){s + 1};
    return SL_OK;
}

void sl_engine_shape_release(struct sl_engine *e, sl_shape_id id) {
    if (id.v && id.v <= e->shapes.n && e->shapes.v[id.v - 1].used)
        eng_shape_unref(e, id.v - 1);
}

/* Everything that must be up to date before trees or queues are read. */
void eng_refresh(struct sl_engine *e) {
    if (e->structure_dirty)
        eng_trees_rebuild(e);
}

void sl_engine_refresh(struct sl_engine *e, struct sl_effects *out) {
    e->out = out;
    eng_refresh(e);
    if (e->status_dirty)
        eng_cq_status_update(e);
    e->out = NULL;
}

/* Rounds until nothing is left to decide; reservations for later are made before the first round
 * that they concern. */
static void decide(struct sl_engine *e) {
    uint32_t plans = 0;
    e->later_stale |= eng_later_due(e);
    while (!e->blocked_by_ready && !e->config.no_admission) {
        if (e->later_stale && plans++ < LATER_PLANS)
            eng_later_plan(e);
        if (!e->dirty_trees.n)
            return;
        eng_round_run(e);
    }
}

void sl_engine_cycle(struct sl_engine *e, sl_time now, struct sl_effects *out) {
    if (now > e->now)
        e->now = now;
    e->out = out;
    e->stats.cycles++;
    eng_refresh(e);
    if (e->status_dirty)
        eng_cq_status_update(e);
    eng_due_run(e);
    if (!e->config.no_lifecycle)
        eng_timers_run(e);
    if (e->config.afs && (e->afs_next <= e->now || e->afs_next == SL_TIME_NEVER))
        eng_afs_sample(e);
    e->blocked_by_ready =
        e->blocked_by_ready && e->n_not_ready && e->config.pods_ready && e->config.block_admission;
    decide(e);
    eng_waiting_at_rest(e);
    e->out = NULL;
}

sl_time sl_engine_next(const struct sl_engine *e) {
    sl_time at = sl_heap_empty(&e->timers) ? SL_TIME_NEVER
                                           : e->wls.v[sl_heap_top(&e->timers)].extra->deadline;
    if (e->config.no_lifecycle)
        at = SL_TIME_NEVER;
    at = sl_time_min(at, eng_later_next(e));
    return e->config.afs && e->afs_next < at ? e->afs_next : at;
}
