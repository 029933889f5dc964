/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: the facts and cycles of a journal, again. Every cycle must decide as recorded in the
 * journal; the first line that disagrees is reported.
 */
#include "cmd/sim/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PROGRESS_EVERY 256

void sl_replay_shapes_done(struct sl_replay_shapes *s, struct sl_engine *e) {
    for (uint32_t i = 0; i < s->v.n; i++) {
        if (s->v.v[i].v != 0)
            sl_engine_shape_release(e, s->v.v[i]);
    }
    sl_vec_free(&s->v);
}

static int shape_of(struct sl_engine *e, struct sl_replay_shapes *s,
                    const struct sl_journal_record *rec, sl_shape_id *ret, struct sl_err *err) {
    while (s->v.n < rec->shape)
        *sl_vec_push(&s->v) = SL_SHAPE_NONE;
    sl_shape_id *known = &s->v.v[rec->shape - 1];
    if (known->v == 0) {
        int r = sl_engine_shape(e, rec->podsets, rec->n_podsets, known, err);
        if (r < 0)
            return r;
    }
    *ret = *known;
    return 0;
}

int sl_replay_prepare(struct sl_world *w, struct sl_replay_shapes *shapes,
                      struct sl_journal_record *rec, struct sl_sim_wl_note *note, bool *ret_known,
                      struct sl_err *err) {
    struct sl_fact *f = &rec->fact;
    *ret_known = true;
    *note = (struct sl_sim_wl_note){.local_queue = SL_METER_NONE};
    if (!rec->name)
        return 0;
    f->wl = sl_engine_find(w->engine, rec->ns, rec->name);
    *ret_known = f->wl.v != 0;
    if (f->kind != SL_FACT_WORKLOAD)
        return 0;
    note->class_name = rec->class_name ? rec->class_name : f->workload.queue;
    note->klass = sl_meter_class(w->meter, note->class_name);
    note->podsets = rec->podsets;
    note->n_podsets = rec->n_podsets;
    return shape_of(w->engine, shapes, rec, &f->workload.shape, err);
}

/* ---- lessons ---- */

static void learn_reported(struct sl_replay_trace *l, bool known, sl_wl_id id, uint32_t klass) {
    uint32_t slot = (uint32_t)id.v - 1;
    while (l->numbers.n <= slot)
        *sl_vec_push(&l->numbers) = 0;
    if (!known) {
        l->numbers.v[slot] = l->runtimes.n;
        *sl_vec_push(&l->runtimes) = -1;
        *sl_vec_push(&l->classes) = klass;
    }
    *sl_vec_push(&l->known) = l->numbers.v[slot];
}

static void learn_finish(struct sl_replay_trace *l, const struct sl_world *w,
                         const struct sl_fact *f) {
    sl_time began = sl_meter_started(w->meter, f->wl);
    uint32_t slot = (uint32_t)f->wl.v - 1;
    if (began != 0 && slot < l->numbers.n)
        l->runtimes.v[l->numbers.v[slot]] = f->at - began;
}

static void learn_gone(struct sl_replay_trace *l, const struct sl_fact *f) {
    uint32_t slot = (uint32_t)f->wl.v - 1;
    *sl_vec_push(&l->gone) = slot < l->numbers.n && l->runtimes.v[l->numbers.v[slot]] >= 0;
}

/* ---- records ---- */

struct replay {
    struct sl_world *w;
    const char *file;
    sl_time origin, now;
    bool began;
    /* the cycle in hand */
    uint32_t next_effect; /* that a line must follow for */
    uint64_t promised;    /* effects according to the journal */
    bool differs;         /* another digest than the journal's: its effects show where */
    uint32_t cycle_line;
    struct sl_replay_shapes shapes;
    struct sl_buf text;
};

static int replay_fact(struct replay *p, struct sl_journal_record *rec,
                       struct sl_replay_trace *lesson, struct sl_err *err) {
    struct sl_world *w = p->w;
    struct sl_sim_wl_note note;
    bool known;
    int r = sl_replay_prepare(w, &p->shapes, rec, &note, &known, err);
    if (r < 0)
        return r;
    struct sl_fact *f = &rec->fact;
    if (!known && f->kind != SL_FACT_WORKLOAD)
        return sl_err_set(err, SL_EINVAL, "there is no workload %.80s/%.80s", rec->ns, rec->name);
    if (lesson && f->kind == SL_FACT_FINISHED)
        learn_finish(lesson, w, f);
    else if (lesson && f->kind == SL_FACT_WORKLOAD_GONE)
        learn_gone(lesson, f);
    sl_wl_id id;
    r = sl_world_apply(w, f, &note, &id, err);
    if (r >= 0 && lesson && f->kind == SL_FACT_WORKLOAD)
        learn_reported(lesson, known, id, note.klass);
    return r;
}

static int differ(struct sl_err *err, const struct replay *p, uint32_t line, const char *there,
                  const char *here) {
    char at[SL_SPAN_TEXT];
    return sl_err_set(err, SL_EMISMATCH,
                      "%s:%u: at %s the decisions differ: journal %.75s, replay "
                      "%.75s",
                      p->file, line, sl_span_format(p->now - p->origin, at), there, here);
}

static int replay_cycle(struct replay *p, const struct sl_journal_record *rec, struct sl_err *err) {
    int r = sl_world_cycle(p->w, rec->at, err);
    if (r < 0)
        return r;
    p->promised = rec->n;
    p->next_effect = 0;
    p->cycle_line = rec->line;
    p->differs = rec->digest != p->w->digest;
    return 0;
}

static int replay_effect(struct replay *p, const struct sl_journal_record *rec,
                         struct sl_err *err) {
    if (p->next_effect >= p->promised)
        return sl_err_set(err, SL_EINVAL, "%s:%u: this effect belongs to no cycle", p->file,
                          rec->line);
    uint32_t i = p->next_effect++;
    if (i >= p->w->effects.v.n)
        return differ(err, p, rec->line, rec->text, "nothing");
    sl_buf_clear(&p->text);
    sl_journal_effect(&p->text, &p->w->effects.v.v[i]);
    if (strcmp(sl_buf_str(&p->text), rec->text) != 0)
        return differ(err, p, rec->line, rec->text, sl_buf_str(&p->text));
    return 0;
}

/* All lines of the effects of a cycle have been seen, or must have been. */
static int end_of_effects(struct replay *p, uint32_t line, struct sl_err *err) {
    if (p->next_effect < p->promised)
        return sl_err_set(err, SL_EINVAL,
                          "%s:%u: expected %" PRIu64 " more effects of the cycle of line %u",
                          p->file, line, p->promised - p->next_effect, p->cycle_line);
    if (p->promised < p->w->effects.v.n && p->cycle_line > 0) {
        sl_buf_clear(&p->text);
        sl_journal_effect(&p->text, &p->w->effects.v.v[p->promised]);
        return differ(err, p, p->cycle_line, "nothing", sl_buf_str(&p->text));
    }
    if (p->differs)
        return differ(err, p, p->cycle_line, "another digest", "in words or numbers");
    return 0;
}

static int replay_end(struct replay *p, const struct sl_journal_record *rec, struct sl_err *err) {
    if (rec->digest != p->w->digest)
        return sl_err_set(err, SL_EMISMATCH,
                          "%s:%u: the journal ended in digest %016" PRIx64
                          ", the replay in %016" PRIx64,
                          p->file, rec->line, rec->digest, p->w->digest);
    if (rec->n != p->w->facts || rec->cycles != p->w->cycles)
        return sl_err_set(err, SL_EINVAL,
                          "%s:%u: expected %" PRIu64 " facts and %" PRIu64 " cycles, found %" PRIu64
                          " and %" PRIu64,
                          p->file, rec->line, rec->n, rec->cycles, p->w->facts, p->w->cycles);
    return 0;
}

static int replay_record(struct replay *p, struct sl_journal_record *rec,
                         struct sl_replay_trace *lesson, struct sl_err *err) {
    int r;
    if (rec->kind == SL_JOURNAL_RECORD_EFFECT)
        return replay_effect(p, rec, err);
    r = end_of_effects(p, rec->line, err);
    if (r < 0)
        return r;
    sl_time at = rec->kind == SL_JOURNAL_RECORD_FACT ? rec->fact.at : rec->at;
    if (rec->kind != SL_JOURNAL_RECORD_END) {
        if (at < 0) /* the length between any two others is a span */
            return sl_err_set(err, SL_EINVAL, "%s:%u: a time before 0", p->file, rec->line);
        if (!p->began)
            p->origin = p->now = at;
        p->began = true;
        if (at < p->now)
            return sl_err_set(err, SL_EINVAL, "%s:%u: time goes back", p->file, rec->line);
        p->now = at;
    }
    switch (rec->kind) {
    case SL_JOURNAL_RECORD_FACT:
        r = replay_fact(p, rec, lesson, err);
        return r < 0 ? sl_err_wrap(err, r, "%s:%u", p->file, rec->line) : 0;
    case SL_JOURNAL_RECORD_CYCLE:
        return replay_cycle(p, rec, err);
    default:
        return replay_end(p, rec, err);
    }
}

int sl_replay_run(const struct sl_sim_request *q, struct sl_report *ret,
                  struct sl_replay_trace *lesson, struct sl_err *err) {
    _cleanup_(sl_journal_reader_freep) struct sl_journal_reader *in = NULL;
    _cleanup_(sl_journal_freep) struct sl_journal *out = NULL;
    struct sl_journal_head head;
    struct replay p = {.w = &ret->world, .file = q->file};
    int r = sl_journal_open(q->file, &in, &head, err);
    if (r < 0)
        return r;
    if (q->journal) {
        r = sl_journal_create(q->journal, &head, &out, err);
        if (r < 0)
            return r;
        ret->world.journal = out;
    }
    for (uint32_t i = 0; i < head.n_classes; i++)
        (void)sl_meter_class(ret->world.meter, head.classes[i]);
    sl_buf_init(&p.text, SL_JOURNAL_MAX_LINE);
    for (uint64_t n = 0;; n++) {
        struct sl_journal_record rec;
        r = sl_journal_next(in, &rec, err);
        if (r == 0)
            break;
        if (r > 0)
            r = replay_record(&p, &rec, lesson, err);
        if (r < 0)
            break;
        if (q->progress && n % PROGRESS_EVERY == 0) {
            uint64_t done, total;
            sl_journal_position(in, &done, &total);
            q->progress(q->progress_ctx, done, total, p.now - p.origin);
        }
    }
    sl_buf_done(&p.text);
    sl_replay_shapes_done(&p.shapes, ret->world.engine);
    ret->world.journal = NULL;
    if (r < 0)
        return r;
    sl_report_end(ret, p.now);
    const struct sl_world *w = &ret->world;
    return out ? sl_journal_close(out, w->facts, w->cycles, w->digest, err) : 0;
}

int sl_sim_run_replay(const struct sl_sim_request *q, struct sl_report *ret, struct sl_err *err) {
    sl_report_init(ret, q->file, q->timeline);
    ret->world.check = q->check;
    return sl_replay_run(q, ret, NULL, err);
}
