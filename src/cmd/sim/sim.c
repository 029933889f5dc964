/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/sim/sim.h"
#include "core/base/fmt.h"

#include <stdio.h>

/* Ranks of what happens at one instant, in the high bits of the order. */
#define RANK_FINISH (UINT64_C(0) << 62)
#define RANK_RELEASE (UINT64_C(1) << 62)
#define RANK_STREAM (UINT64_C(2) << 62)

#define PROGRESS_EVERY 64 /* cycles */

static bool item_less(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_sim *s = ctx;
    const struct sl_sim_item *x = &s->items.v[a], *y = &s->items.v[b];
    return x->at != y->at ? x->at < y->at : x->order < y->order;
}

static uint32_t *item_place(void *ctx, uint32_t item) {
    struct sl_sim *s = ctx;
    return &s->items.v[item].place;
}

static struct sl_sim_item *item_of(struct sl_sim *s, sl_wl_id id, uint32_t *ret_index) {
    uint64_t i = s->source->n_streams + (uint64_t)(uint32_t)id.v - 1;
    if (id.v == 0 || i >= s->items.n || s->items.v[i].id != id.v)
        return NULL;
    *ret_index = (uint32_t)i;
    return &s->items.v[i];
}

static void schedule(struct sl_sim *s, uint32_t i, sl_time at, uint64_t order) {
    s->items.v[i].at = at;
    s->items.v[i].order = order;
    sl_heap_fix(&s->events, i);
}

void sl_sim_init(struct sl_sim *s, struct sl_world *w, const struct sl_sim_source *source,
                 const struct sl_sim_options *o) {
    *s = (struct sl_sim){.world = w, .source = source, .opts = *o, .now = o->origin};
    sl_heap_init(&s->events, item_less, item_place, s);
    for (uint32_t i = 0; i < source->n_streams; i++) {
        *sl_vec_push(&s->items) = (struct sl_sim_item){.place = SL_HEAP_OUT};
        sl_time at = source->first(source->ctx, i);
        if (at != SL_TIME_NEVER)
            schedule(s, i, at, RANK_STREAM | i);
    }
}

void sl_sim_done(struct sl_sim *s) {
    sl_heap_done(&s->events);
    sl_vec_free(&s->items);
}

/* ---- facts ---- */

int sl_sim_arrive(struct sl_sim *s, const struct sl_fact *f, const struct sl_sim_wl_note *note,
                  sl_span runtime, uint64_t ref, struct sl_err *err) {
    if (s->arrived >= SL_SIM_MAX_WORKLOADS)
        return sl_err_set(err, SL_ELIMIT, "more than %llu workloads in one run",
                          (unsigned long long)SL_SIM_MAX_WORKLOADS);
    sl_wl_id id;
    int r = sl_world_apply(s->world, f, note, &id, err);
    if (r < 0)
        return r;
    uint64_t i = s->source->n_streams + (uint64_t)(uint32_t)id.v - 1;
    sl_assert(id.v != 0 && i < SL_VEC_MAX);
    while (s->items.n <= i)
        *sl_vec_push(&s->items) = (struct sl_sim_item){.place = SL_HEAP_OUT};
    struct sl_sim_item *it = &s->items.v[i];
    if (it->id == id.v) { /* reported again, perhaps changed; what runs goes on */
        it->runtime = runtime;
        it->shape = f->workload.shape;
        return 0;
    }
    sl_assert(it->place == SL_HEAP_OUT);
    it->id = id.v;
    it->ref = ref;
    it->runtime = runtime;
    it->shape = f->workload.shape;
    it->evicted = false;
    s->arrived++;
    return 0;
}

int sl_sim_apply(struct sl_sim *s, const struct sl_fact *f, struct sl_err *err) {
    uint32_t i;
    struct sl_sim_item *it = item_of(s, f->wl, &i);
    if (it && (f->kind == SL_FACT_WORKLOAD_GONE || f->kind == SL_FACT_FINISHED)) {
        sl_heap_remove(&s->events, i);
        it->id = 0;
    }
    return sl_world_apply(s->world, f, NULL, NULL, err);
}

/* The event of a workload: it ends, or what it held is free. */
static int fire_workload(struct sl_sim *s, uint32_t i, struct sl_err *err) {
    struct sl_sim_item *it = &s->items.v[i];
    struct sl_fact f = {.at = s->now, .wl = {it->id}};
    if (it->evicted) {
        it->evicted = false;
        f.kind = SL_FACT_RELEASED;
        return sl_world_apply(s->world, &f, NULL, NULL, err);
    }
    it->id = 0;
    f.kind = SL_FACT_FINISHED;
    int r = sl_world_apply(s->world, &f, NULL, NULL, err);
    if (r < 0)
        return r;
    f.kind = SL_FACT_WORKLOAD_GONE;
    return sl_world_apply(s->world, &f, NULL, NULL, err);
}

/* ---- effects ---- */

static int start_workload(struct sl_sim *s, uint32_t i, struct sl_err *err) {
    struct sl_sim_item *it = &s->items.v[i];
    it->evicted = false;
    schedule(s, i, sl_time_add(s->now, it->runtime), RANK_FINISH | s->sequence++);
    if (!s->opts.pods_ready)
        return 0;
    struct sl_fact f = {.kind = SL_FACT_PODS_READY, .at = s->now, .wl = {it->id}, .ready = true};
    s->again = true;
    return sl_world_apply(s->world, &f, NULL, NULL, err);
}

static int pass_checks(struct sl_sim *s, const struct sl_effect *x, struct sl_err *err) {
    for (uint32_t k = 0; k < x->checks.n; k++) {
        if (x->checks.v[k].state != SL_CHECK_PENDING)
            continue;
        struct sl_fact f = {.kind = SL_FACT_CHECK_STATE, .at = s->now, .wl = x->wl};
        f.check_state.name = x->checks.v[k].name;
        f.check_state.state = SL_CHECK_READY;
        f.check_state.message = "";
        int r = sl_world_apply(s->world, &f, NULL, NULL, err);
        if (r < 0)
            return r;
        s->again = true;
    }
    return 0;
}

/* The engine requests spec.active=false: the workload has it from now on. */
static int deactivate(struct sl_sim *s, const struct sl_sim_item *it, struct sl_err *err) {
    struct sl_engine_wl_view v;
    struct sl_sim_wl_note note = {.local_queue = SL_METER_NONE};
    if (!sl_engine_workload(s->world->engine, (sl_wl_id){it->id}, &v))
        return 0;
    char text[4][SL_MAX_NAME + 1]; /* the engine's strings may move while a fact is applied */
    const char *from[4] = {v.ns, v.name, v.uid, v.queue};
    for (size_t i = 0; i < SL_LEN(from); i++)
        sl_fmt_short(text[i], sizeof(text[i]), "%s", from[i] ? from[i] : "");
    struct sl_fact f = {.kind = SL_FACT_WORKLOAD, .at = s->now};
    f.workload = (struct sl_workload_spec){
        .ns = text[0],
        .name = text[1],
        .uid = text[2],
        .queue = text[3],
        .shape = it->shape,
        .priority = v.priority,
        .boost = v.boost,
        .created = v.created,
        .inactive = true,
    };
    s->source->note(s->source->ctx, it->ref, &note);
    s->again = true;
    return sl_world_apply(s->world, &f, &note, NULL, err);
}

static int perform(struct sl_sim *s, struct sl_err *err) {
    const struct sl_effects *fx = &s->world->effects;
    for (uint32_t k = 0; k < fx->v.n; k++) {
        const struct sl_effect *x = &fx->v.v[k];
        uint32_t i;
        struct sl_sim_item *it = item_of(s, x->wl, &i);
        if (!it)
            continue;
        int r = 0;
        switch (x->kind) {
        case SL_EFFECT_RESERVE:
            if (x->reserve.admitted)
                r = start_workload(s, i, err);
            break;
        case SL_EFFECT_ADMIT:
            r = start_workload(s, i, err);
            break;
        case SL_EFFECT_EVICT:
            it->evicted = true;
            schedule(s, i, sl_time_add(s->now, s->opts.eviction_delay),
                     RANK_RELEASE | s->sequence++);
            break;
        case SL_EFFECT_UNRESERVE:
            sl_heap_remove(&s->events, i);
            break;
        case SL_EFFECT_CHECKS:
            r = pass_checks(s, x, err);
            break;
        case SL_EFFECT_DEACTIVATE:
            r = deactivate(s, it, err);
            break;
        default:
            break;
        }
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the loop ---- */

static int fire_all(struct sl_sim *s, struct sl_err *err) {
    while (!sl_heap_empty(&s->events) && s->items.v[sl_heap_top(&s->events)].at <= s->now) {
        uint32_t i = sl_heap_pop(&s->events);
        int r;
        if (i < s->source->n_streams) {
            sl_time next = SL_TIME_NEVER;
            r = s->source->fire(s->source->ctx, s, i, s->now, &next, err);
            if (r >= 0 && next != SL_TIME_NEVER)
                schedule(s, i, next, RANK_STREAM | i);
        } else {
            r = fire_workload(s, i, err);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static sl_time next_instant(const struct sl_sim *s) {
    sl_time t = sl_engine_next(s->world->engine);
    if (!sl_heap_empty(&s->events) && s->items.v[sl_heap_top(&s->events)].at < t)
        t = s->items.v[sl_heap_top(&s->events)].at;
    return t;
}

int sl_sim_run(struct sl_sim *s, struct sl_err *err) {
    uint32_t same = 0;
    for (uint64_t n = 0;; n++) {
        sl_time t = s->again ? s->now : next_instant(s);
        if (t == SL_TIME_NEVER || (s->opts.until > 0 && t - s->opts.origin > s->opts.until))
            break;
        same = t > s->now ? 0 : same + 1;
        if (same > SL_SIM_MAX_SAME_INSTANT) {
            char text[SL_SPAN_TEXT];
            return sl_err_set(err, SL_EMISMATCH, "at %s: %u cycles and the clock does not move",
                              sl_span_format(s->now - s->opts.origin, text), same);
        }
        if (t > s->now)
            s->now = t;
        s->again = false;
        int r = fire_all(s, err);
        if (r >= 0)
            r = sl_world_cycle(s->world, s->now, err);
        if (r >= 0)
            r = perform(s, err);
        if (r < 0)
            return r;
        if (s->opts.progress && n % PROGRESS_EVERY == 0)
            s->opts.progress(s->opts.progress_ctx, sl_meter_finished(s->world->meter),
                             s->source->expected, s->now - s->opts.origin);
    }
    if (s->opts.progress)
        s->opts.progress(s->opts.progress_ctx, s->source->expected, s->source->expected,
                         s->now - s->opts.origin);
    return 0;
}
