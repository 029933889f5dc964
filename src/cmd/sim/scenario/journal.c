/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scenario recorded as a journal, so that it can be replayed like any other run.
 */
#include "cmd/sim/journal/journal.h"
#include "cmd/sim/scenario/scenario.h"

struct writer {
    struct sl_journal *j;
    uint64_t facts, cycles, digest;
    int code; /* of the first failure */
    struct sl_err *err;
};

static void on_fact(void *ctx, const struct sl_fact *f, const char *ns, const char *name,
                    const struct sl_podset_spec *podsets, uint32_t n) {
    struct writer *w = ctx;
    w->facts++;
    if (w->code >= 0)
        w->code = sl_journal_fact_about(w->j, f, ns, name, NULL, podsets, n, w->err);
}

static void on_cycle(void *ctx, sl_time now, const struct sl_effects *x, uint32_t from) {
    struct writer *w = ctx;
    struct sl_effects own = {0}; /* borrows the part of x that is of this cycle */
    if (x->v.n > from) {
        own.v.v = x->v.v + from;
        own.v.n = x->v.n - from;
    }
    w->cycles++;
    w->digest = sl_effects_digest(w->digest, &own);
    if (w->code >= 0)
        w->code = sl_journal_cycle(w->j, now, w->digest, &own, w->err);
}

int sl_scenario_run_journal(const struct sl_scenario *s, bool verbose, struct sl_buf *out,
                            const char *path, enum sl_scenario_end *ret, struct sl_err *err) {
    _cleanup_(sl_journal_freep) struct sl_journal *j = NULL;
    struct sl_journal_head head = {.source = s->file};
    int r = sl_journal_create(path, &head, &j, err);
    if (r < 0)
        return r;
    struct writer w = {.j = j, .digest = SL_WORLD_SEED, .err = err};
    const struct sl_scenario_watch watch = {.ctx = &w, .fact = on_fact, .cycle = on_cycle};
    *ret = sl_scenario_run(s, &watch, verbose, out);
    return w.code < 0 ? w.code : sl_journal_close(j, w.facts, w.cycles, w.digest, err);
}
