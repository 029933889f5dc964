/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a load: the streams as a source of the simulation. A workload is named by its class and
 * number and created only when its time has come, so a load costs memory for what is live.
 */
#include <string.h>

#include "cmd/sim/journal/journal.h"
#include "cmd/sim/load/load.h"
#include "cmd/sim/run.h"

/* ---- names ---- */

static char *put_number(char *to, uint32_t v) {
    char digits[10];
    int n = 0;
    do {
        digits[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    while (n > 0)
        *to++ = digits[--n];
    return to;
}

static char *put_hex(char *to, uint32_t v) {
    for (int shift = 28; shift >= 0; shift -= 4)
        *to++ = "0123456789abcdef"[v >> shift & 15];
    return to;
}

/* The i-th workload of a stream. Its uid orders by number, then by stream. */
static void describe(struct sl_load *l, uint32_t stream, uint32_t i, struct sl_workload_spec *ret) {
    const struct sl_load_stream *s = &l->streams.v[stream];
    size_t n = strlen(s->klass->name);
    memcpy(l->name, s->klass->name, n);
    l->name[n] = '-';
    *put_number(l->name + n + 1, s->first + i) = '\0';
    *put_hex(put_hex(l->uid, i), stream) = '\0';
    *ret = (struct sl_workload_spec){
        .ns = s->ns,
        .name = l->name,
        .uid = l->uid,
        .queue = s->queue,
        .shape = s->shape,
        .priority = s->klass->priority,
        .created = SL_SIM_EPOCH + s->klass->start + s->klass->interval * i,
    };
}

/* ---- the source ---- */

static sl_time first(void *ctx, uint32_t stream) {
    const struct sl_load *l = ctx;
    return SL_SIM_EPOCH + l->streams.v[stream].klass->start;
}

static int fire(void *ctx, struct sl_sim *sim, uint32_t stream, sl_time now, sl_time *ret_next,
                struct sl_err *err) {
    struct sl_load *l = ctx;
    struct sl_load_stream *s = &l->streams.v[stream];
    struct sl_fact f = {.kind = SL_FACT_WORKLOAD, .at = now};
    describe(l, stream, s->next, &f.workload);
    int r =
        sl_sim_arrive(sim, &f, &s->note, s->klass->runtime, (uint64_t)stream << 32 | s->next, err);
    if (r < 0)
        return sl_err_wrap(err, r, "%s:%u: %s/%s", l->file, s->klass->line, s->ns, l->name);
    s->next++;
    *ret_next = s->next < s->klass->count ? now + s->klass->interval : SL_TIME_NEVER;
    return 0;
}

static void describe_workload(void *ctx, uint64_t ref, struct sl_sim_wl_note *ret) {
    const struct sl_load *l = ctx;
    *ret = l->streams.v[ref >> 32].note;
}

int sl_load_begin(struct sl_load *l, struct sl_world *w, struct sl_sim_source *ret,
                  struct sl_err *err) {
    for (uint32_t i = 0; i < l->facts.n; i++) {
        int r = sl_world_apply(w, &l->facts.v[i], NULL, NULL, err);
        if (r < 0)
            return sl_err_wrap(err, r, "%s: %s", l->file, sl_fact_name(l->facts.v[i].kind));
    }
    for (uint32_t i = 0; i < l->streams.n; i++) {
        struct sl_load_stream *s = &l->streams.v[i];
        const struct sl_load_class *k = s->klass;
        int r = sl_engine_shape(w->engine, k->podsets, k->n_podsets, &s->shape, err);
        if (r < 0)
            return sl_err_wrap(err, r, "%s:%u: class %s", l->file, k->line, k->name);
        s->note = (struct sl_sim_wl_note){
            .klass = sl_meter_class(w->meter, k->name),
            .local_queue = sl_meter_local_queue(w->meter, s->ns, s->queue),
            .class_name = k->name,
            .podsets = k->podsets,
            .n_podsets = k->n_podsets,
        };
    }
    *ret = (struct sl_sim_source){
        .ctx = l,
        .n_streams = l->streams.n,
        .expected = l->total,
        .first = first,
        .fire = fire,
        .note = describe_workload,
    };
    return 0;
}

void sl_load_end(struct sl_load *l, struct sl_world *w) {
    for (uint32_t i = 0; i < l->streams.n; i++) {
        if (l->streams.v[i].shape.v != 0)
            sl_engine_shape_release(w->engine, l->streams.v[i].shape);
        l->streams.v[i].shape = SL_SHAPE_NONE;
    }
}

static int simulate(const struct sl_sim_request *q, struct sl_load *l, struct sl_report *ret,
                    struct sl_err *err) {
    struct sl_sim_source source;
    struct sl_sim sim;
    int r = sl_load_begin(l, &ret->world, &source, err);
    if (r < 0)
        return r;
    struct sl_sim_options o = {
        .origin = SL_SIM_EPOCH,
        .eviction_delay = l->eviction_delay,
        .until = q->until,
        .pods_ready = l->pods_ready,
        .progress = q->progress,
        .progress_ctx = q->progress_ctx,
    };
    sl_sim_init(&sim, &ret->world, &source, &o);
    r = sl_sim_run(&sim, err);
    if (r >= 0)
        sl_report_end(ret, sim.now);
    sl_sim_done(&sim);
    return r;
}

static int create_journal(const char *path, const struct sl_load *l, struct sl_journal **ret,
                          struct sl_err *err) {
    const char *classes[SL_JOURNAL_MAX_CLASSES];
    struct sl_journal_head head = {
        .source = l->file,
        .eviction_delay = l->eviction_delay,
        .pods_ready = l->pods_ready,
        .classes = classes,
    };
    for (uint32_t i = 0; i < l->streams.n && head.n_classes < SL_JOURNAL_MAX_CLASSES; i++) {
        const char *name = l->streams.v[i].klass->name;
        bool known = false;
        for (uint32_t k = 0; k < head.n_classes && !known; k++)
            known = strcmp(classes[k], name) == 0;
        if (!known)
            classes[head.n_classes++] = name;
    }
    return sl_journal_create(path, &head, ret, err);
}

int sl_sim_run_load(const struct sl_sim_request *q, struct sl_report *ret, struct sl_err *err) {
    _cleanup_(sl_load_freep) struct sl_load *l = NULL;
    _cleanup_(sl_journal_freep) struct sl_journal *j = NULL;
    sl_report_init(ret, q->file, q->timeline);
    ret->world.check = q->check;
    int r = sl_load_read(q->file, &l, err);
    if (r < 0)
        return r;
    if (q->journal) {
        r = create_journal(q->journal, l, &j, err);
        if (r < 0)
            return r;
        ret->world.journal = j;
    }
    r = simulate(q, l, ret, err);
    sl_load_end(l, &ret->world);
    ret->world.journal = NULL;
    if (r >= 0 && j)
        r = sl_journal_close(j, ret->world.facts, ret->world.cycles, ret->world.digest, err);
    return r;
}
