/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/sim/world.h"

#include "cmd/sim/journal/journal.h"

void sl_world_init(struct sl_world *w, bool timeline) {
    *w = (struct sl_world){
        .engine = sl_engine_new(NULL),
        .meter = sl_meter_new(timeline),
        .digest = SL_WORLD_SEED,
    };
    sl_effects_init(&w->effects);
}

void sl_world_done(struct sl_world *w) {
    sl_effects_done(&w->effects);
    sl_meter_freep(&w->meter);
    sl_engine_freep(&w->engine);
}

int sl_world_apply(struct sl_world *w, const struct sl_fact *f, const struct sl_sim_wl_note *note,
                   sl_wl_id *ret_wl, struct sl_err *err) {
    sl_wl_id id = f->wl;
    int r;
    /* Some facts name a workload that is dropped with them: they are journalled first. */
    if (w->journal && f->kind != SL_FACT_WORKLOAD) {
        r = sl_journal_fact(w->journal, w->engine, f, NULL, err);
        if (r < 0)
            return r;
    }
    r = sl_engine_apply(w->engine, f, &id, err);
    if (r < 0)
        return r;
    w->facts++;
    switch (f->kind) {
    case SL_FACT_WORKLOAD: {
        sl_assert(note);
        uint32_t queue = note->local_queue;
        if (queue == SL_METER_NONE)
            queue = sl_meter_local_queue(w->meter, f->workload.ns, f->workload.queue);
        sl_meter_arrive(w->meter, f->at, id, f->workload.created, note->klass, queue);
        if (w->journal) {
            r = sl_journal_fact(w->journal, w->engine, f, note, err);
            if (r < 0)
                return r;
        }
        break;
    }
    case SL_FACT_FINISHED:
    case SL_FACT_RELEASED:
    case SL_FACT_ADMIT_FAILED:
    case SL_FACT_WORKLOAD_GONE:
        sl_meter_fact(w->meter, f);
        break;
    default:
        sl_meter_config(w->meter, f);
    }
    if (ret_wl)
        *ret_wl = id;
    return 0;
}

int sl_world_cycle(struct sl_world *w, sl_time now, struct sl_err *err) {
    sl_effects_clear(&w->effects);
    sl_engine_cycle(w->engine, now, &w->effects);
    w->cycles++;
    w->digest = sl_effects_digest(w->digest, &w->effects);
    sl_meter_effects(w->meter, now, &w->effects, 0);
    for (uint32_t i = 0; i < w->effects.v.n; i++) {
        enum sl_effect_kind k = w->effects.v.v[i].kind;
        w->decisions += k == SL_EFFECT_RESERVE || k == SL_EFFECT_PENDING || k == SL_EFFECT_EVICT;
    }
    if (w->check) {
        int r = sl_engine_check(w->engine, err);
        if (r < 0)
            return sl_err_wrap(err, r, "after cycle %llu", (unsigned long long)w->cycles);
    }
    return w->journal ? sl_journal_cycle(w->journal, now, w->digest, &w->effects, err) : 0;
}
