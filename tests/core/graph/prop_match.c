/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of a small graph through both matchers: jobs are matched, reserved, cancelled in
 * whole and in part, grow and are found again after a restart; vertices go down, come up, come and
 * go; properties change; time goes on. After each step both have to give the same answer, and to
 * know the same about every job. A history that shows a difference is made smaller as long as it
 * shows one, and printed as a script (script.h).
 *
 * prop_match [--seed N]; SL_SEEDS says how much to try.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../seed_key.h"
#include "core/base/collection/hash.h"
#include "gen.h"

#define DIGEST_SEEDS 200
#define DEFAULT_SEEDS 4000
#define MAX_VERTICES 512
#define MAX_FAILED 10 /* then it stops */

/* What is left out of a trial to make it smaller. */
struct cuts {
    bool keep_vertex[MAX_VERTICES], keep_step[GEN_STEPS];
};

#define MAX_JOBS (2 * GEN_STEPS)

struct world {
    const struct trial *t;
    struct draft d;
    struct side fast, slow;
    struct answer a, b; /* theirs to the last act */
    struct sl_match_request *compiled[GEN_SPECS];
    int64_t now, next_job;
    uint32_t last_spec;
    uint8_t spec_of[MAX_JOBS]; /* what it was asked for by, and whether by the other policy */
    bool by_other[MAX_JOBS];
    uint64_t digest;
    bool differs;
    struct sl_buf *log; /* NULL: none is kept */
};

/* ---- acts ---- */

static void add_to_digest(struct world *w, const struct answer *a) {
    w->digest = sl_digest_u64(w->digest, (uint64_t)(int64_t)a->r);
    if (a->r < 0)
        return;
    w->digest = sl_digest_u64(w->digest, a->has_verdict ? (uint64_t)a->verdict : 99);
    if (!a->has_grant)
        return;
    w->digest = sl_digest_u64(w->digest, (uint64_t)a->grant.at);
    w->digest = sl_digest_u64(w->digest, (uint64_t)a->grant.duration);
    for (uint32_t i = 0; i < a->grant.picks.n; i++) {
        const struct sl_pick *p = &a->grant.picks.v[i];
        w->digest = sl_digest_u64(w->digest, p->v);
        w->digest = sl_digest_u64(w->digest, (uint64_t)p->needs * 2 + p->exclusive);
    }
    for (uint32_t i = 0; i < a->grant.ways.n; i++)
        w->digest = sl_digest_u64(w->digest, a->grant.ways.v[i].parent);
}

static void print_difference(struct world *w) {
    sl_buf_puts(w->log, "\n  the matcher says ");
    answer_print(&w->fast, &w->a, w->log);
    sl_buf_puts(w->log, "\n  the naive one    ");
    answer_print(&w->slow, &w->b, w->log);
}

static void act(struct world *w, struct act *a) {
    if (w->differs)
        return;
    a->now = w->now;
    if (w->log) {
        sl_buf_puts(w->log, "\n");
        act_print(&w->d, a, w->log);
    }
    side_do(&w->fast, a, &w->a);
    side_do(&w->slow, a, &w->b);
    add_to_digest(w, &w->a);
    if (!answers_agree(&w->fast, &w->a, &w->slow, &w->b)) {
        w->differs = true;
        if (w->log)
            print_difference(w);
        return;
    }
    if (w->log) {
        sl_buf_puts(w->log, "\n= ");
        answer_print(&w->slow, &w->b, w->log);
    }
    struct sl_buf why;
    sl_buf_init(&why, 1 << 16);
    if (sides_differ(&w->fast, &w->slow, w->now, &why)) {
        w->differs = true;
        if (w->log)
            sl_buf_printf(w->log, "\n  and then in the matcher %s", sl_buf_str(&why));
    }
    sl_buf_done(&why);
}

static sl_vtx any_vertex(struct world *w, uint32_t r) {
    const struct sl_graph *g = side_graph(&w->slow);
    return sl_graph_at(g, r % sl_graph_live(g));
}

/* Of a job that is there, if any is and not once in a while. */
static int64_t any_job(struct world *w, uint32_t r) {
    uint32_t n = naive_n_jobs(w->slow.slow);
    return n == 0 || r % 41 == 0 ? 9999 : naive_nth_job(w->slow.slow, r % n).id;
}

/* Mostly of one in that state. */
static int64_t any_job_that_is(struct world *w, enum sl_match_job_state state, uint32_t r) {
    uint32_t n = naive_n_jobs(w->slow.slow);
    for (uint32_t i = 0; i < n && r % 8; i++) {
        struct sl_match_job_info j = naive_nth_job(w->slow.slow, (r / 8 + i) % n);
        if (j.state == state)
            return j.id;
    }
    return any_job(w, r);
}

static void forget_compiled(struct world *w) {
    for (uint32_t i = 0; i < GEN_SPECS; i++)
        sl_match_request_freep(&w->compiled[i]);
}

static const struct sl_match_request *compiled(struct world *w, uint32_t i, uint32_t r) {
    struct sl_err err;
    if (r % 2)
        return NULL;
    if (!w->compiled[i] && sl_match_request_new(sl_match_graph(w->fast.fast), w->t->specs[i],
                                                &w->compiled[i], &err) < 0)
        return NULL;
    return w->compiled[i];
}

/* ---- steps ---- */

static void step_run(struct world *w, const uint32_t *r) {
    static const enum sl_match_op ops[] = {
        SL_MATCH_ALLOCATE,
        SL_MATCH_ALLOCATE,
        SL_MATCH_ALLOCATE,
        SL_MATCH_ALLOCATE_SATISFIABLE,
        SL_MATCH_ALLOCATE_OR_RESERVE,
        SL_MATCH_ALLOCATE_OR_RESERVE,
        SL_MATCH_ALLOCATE_OR_RESERVE,
        SL_MATCH_SATISFIABILITY,
        SL_MATCH_WITHOUT,
        SL_MATCH_WITHOUT_FUTURE,
    };
    uint32_t spec = r[6] % 3 == 0 ? w->last_spec : r[1] % GEN_SPECS;
    struct sl_match_job_info before;
    struct act a = {.kind = r[4] % 40 == 0 ? ACT_CHECK : ACT_RUN,
                    .op = ops[r[0] % SL_LEN(ops)],
                    .by = w->t->also && r[0] / 64 % 2,
                    .spec = w->t->specs[spec],
                    .job = r[2] % 40 == 0 ? any_job(w, r[3]) : w->next_job++};
    w->last_spec = spec;
    if (a.kind == ACT_RUN && a.job < MAX_JOBS && !naive_job(w->slow.slow, a.job, &before)) {
        w->spec_of[a.job] = (uint8_t)spec;
        w->by_other[a.job] = a.by > 0;
    }
    if (a.kind == ACT_RUN)
        a.compiled = compiled(w, spec, r[5]);
    act(w, &a);
}

static void step_cancel(struct world *w, const uint32_t *r) {
    act(w, &(struct act){.kind = ACT_CANCEL, .job = any_job(w, r[0])});
}

static void step_part(struct world *w, const uint32_t *r) {
    struct act a = {.kind = ACT_PART, .job = any_job_that_is(w, SL_JOB_ALLOCATED, r[0])};
    struct sl_grant has = {0};
    if (naive_grant(w->slow.slow, a.job, &has) < 0)
        has.picks.n = 0;
    for (uint32_t i = 0; i <= r[1] % 3; i++) {
        sl_vtx v = has.picks.n == 0 || r[2 + i] % 20 == 0
                       ? any_vertex(w, r[2 + i] / 20)
                       : has.picks.v[has.picks.n - 1 - r[2 + i] / 20 % has.picks.n].v;
        *sl_vec_push(&a.picks) = (struct sl_pick){.v = v};
    }
    act(w, &a);
    sl_grant_done(&has);
    sl_vec_free(&a.picks);
}

static void step_update(struct world *w, const uint32_t *r) {
    struct act a = {.kind = ACT_UPDATE,
                    .job = r[0] % 20 == 0 ? any_job(w, r[1]) : w->next_job++,
                    .at = w->now + (r[0] / 20 % 3 == 0 ? r[1] % 30 : 0),
                    .duration = r[1] / 30 % 40 == 0 ? 0 : 1 + r[1] / 1200 % 40};
    for (uint32_t i = 0; i <= r[2] % 3; i++) {
        sl_vtx v = any_vertex(w, r[3 + i] / 64);
        int64_t has = sl_graph_vertex(side_graph(&w->slow), v)->size, size = has > 0 ? has : 1;
        *sl_vec_push(&a.picks) =
            (struct sl_pick){v, 1 + r[3 + i] / 4 % (size + (r[2] % 32 == 0)), r[3 + i] % 4 > 0};
    }
    act(w, &a);
    sl_vec_free(&a.picks);
}

static void step_restart(struct world *w, const uint32_t *r) {
    struct sl_match_job_info info;
    struct sl_grant has = {0};
    struct act a = {.kind = ACT_UPDATE, .job = any_job(w, r[0])};
    if (!naive_job(w->slow.slow, a.job, &info))
        return;
    if (naive_grant(w->slow.slow, a.job, &has) < 0)
        return;
    a.at = info.at;
    a.duration = info.duration;
    for (uint32_t i = 0; i < has.picks.n; i++)
        *sl_vec_push(&a.picks) = has.picks.v[i];
    act(w, &(struct act){.kind = ACT_CANCEL, .job = a.job});
    act(w, &a);
    sl_grant_done(&has);
    sl_vec_free(&a.picks);
}

static void step_status(struct world *w, const uint32_t *r) {
    act(w, &(struct act){.kind = r[0] % 2 ? ACT_DOWN : ACT_UP, .v = any_vertex(w, r[1])});
}

/* Mostly of a divisible pool, and about what it was. */
static void step_resize(struct world *w, const uint32_t *r) {
    const struct sl_graph *g = side_graph(&w->slow);
    sl_vtx v = any_vertex(w, r[0]);
    for (uint32_t i = 0; i < sl_graph_live(g) && r[1] % 16; i++) {
        sl_vtx u = sl_graph_at(g, (r[0] + i) % sl_graph_live(g));
        if (sl_graph_vertex(g, u)->n_kids > 0 || !sl_vertex_prop(g, u, SL_GRAPH_DIVISIBLE))
            continue;
        v = u;
        break;
    }
    int64_t size = r[2] % 64 == 0 ? -1 : (int64_t)(r[2] / 64 % 12);
    act(w, &(struct act){.kind = ACT_RESIZE, .v = v, .at = size});
}

static void step_prop(struct world *w, const uint32_t *r) {
    static const char *const values[] = {"", "1", "4", "9999", "10000", "much"};
    struct act a = {.kind = r[0] % 3 ? ACT_PROP : ACT_NOPROP,
                    .v = any_vertex(w, r[1]),
                    .key = gen_properties[r[2] % GEN_PROPERTIES]};
    a.value = a.kind == ACT_PROP ? values[r[3] % SL_LEN(values)] : NULL;
    act(w, &a);
}

static void step_shrink(struct world *w, const uint32_t *r) {
    struct act a = {.kind = ACT_SHRINK};
    for (uint32_t i = 0; i <= r[0] % 2; i++) {
        sl_vtx v = any_vertex(w, r[1 + i]);
        if (sl_graph_vertex(side_graph(&w->slow), v)->parent != SL_VTX_NONE)
            *sl_vec_push(&a.picks) = (struct sl_pick){.v = v};
    }
    if (a.picks.n > 0)
        act(w, &a);
    sl_vec_free(&a.picks);
}

static void step_add(struct world *w, const uint32_t *r) {
    static const char *const kinds[] = {"core", "gpu", "memory", "ssd"};
    sl_vtx parent = any_vertex(w, r[0]);
    const struct sl_graph *g = side_graph(&w->slow);
    struct act a = {.kind = ACT_ADD, .v = parent, .first = w->d.v.n, .draft = &w->d};
    const char *type = sl_sym_str(sl_graph_syms(g), sl_graph_vertex(g, parent)->type);
    bool node = strcmp(type, "rack") == 0 || strcmp(type, "cluster") == 0;
    if (w->d.v.n + 4 > MAX_VERTICES)
        return;
    if (sl_graph_vertex(g, parent)->parent == SL_VTX_NONE && parent != sl_graph_root(g))
        return; /* it would be a second tree */
    uint32_t top = w->d.v.n;
    draft_add(&w->d, parent, node ? "node" : kinds[r[1] % SL_LEN(kinds)], 100 + top);
    for (uint32_t i = 0; node && i < r[2] % 4; i++)
        draft_add(&w->d, top, kinds[r[3 + i] % SL_LEN(kinds)], i)->size = 1 + r[3 + i] / 64 % 3;
    act(w, &a);
    if (w->b.r < 0)
        w->d.v.n = top;
}

static void step_begin(struct world *w, const uint32_t *r) {
    act(w, &(struct act){.kind = ACT_BEGIN, .job = any_job_that_is(w, SL_JOB_RESERVED, r[0])});
}

static void step_again(struct world *w, const uint32_t *r) {
    struct act a = {.kind = ACT_AGAIN, .job = any_job_that_is(w, SL_JOB_RESERVED, r[0])};
    if (a.job >= MAX_JOBS)
        return;
    a.spec = w->t->specs[w->spec_of[a.job]];
    a.by = w->by_other[a.job];
    a.compiled = compiled(w, w->spec_of[a.job], r[1]);
    act(w, &a);
}

static void step_more(struct world *w, const uint32_t *r) {
    uint32_t spec = r[1] % GEN_SPECS;
    act(w, &(struct act){.kind = ACT_GROW_JOB,
                         .job = any_job_that_is(w, SL_JOB_ALLOCATED, r[0]),
                         .spec = w->t->specs[spec]});
}

/* Goes on with copies, or tries something on copies that are then thrown away. */
static void step_clone(struct world *w, const uint32_t *r) {
    if (r[0] % 2) {
        act(w, &(struct act){.kind = ACT_CLONE});
        return;
    }
    struct side fast = w->fast, slow = w->slow;
    if (w->log)
        sl_buf_puts(w->log, "\n(on a copy");
    w->fast = (struct side){.fast = sl_match_clone(fast.fast), .also = fast.also};
    w->slow = (struct side){.slow = naive_clone(slow.slow)};
    step_run(w, r);
    step_cancel(w, r + 1);
    side_done(&w->fast);
    side_done(&w->slow);
    w->fast = fast;
    w->slow = slow;
    if (w->log)
        sl_buf_puts(w->log, ")");
    act(w, &(struct act){.kind = ACT_JOBS});
}

static void step_time(struct world *w, const uint32_t *r) {
    w->now += 1 + r[0] % (r[1] % 4 == 0 ? 60 : 15);
    if (w->log)
        sl_buf_printf(w->log, "\nnow %lld", (long long)w->now);
}

static void (*const steps[STEP_KINDS])(struct world *w, const uint32_t *r) = {
    [STEP_RUN] = step_run,       [STEP_CANCEL] = step_cancel,   [STEP_PART] = step_part,
    [STEP_UPDATE] = step_update, [STEP_RESTART] = step_restart, [STEP_STATUS] = step_status,
    [STEP_RESIZE] = step_resize, [STEP_PROP] = step_prop,       [STEP_SHRINK] = step_shrink,
    [STEP_ADD] = step_add,       [STEP_BEGIN] = step_begin,     [STEP_MORE] = step_more,
    [STEP_CLONE] = step_clone,   [STEP_TIME] = step_time,       [STEP_AGAIN] = step_again,
};

/* ---- trials ---- */

static bool has_power(const struct draft *d) {
    for (uint32_t i = 0; i < d->edges.n; i++)
        if (strcmp(d->edges.v[i].subsystem, "power") == 0)
            return true;
    return false;
}

static void log_settings(struct world *w) {
    sl_buf_printf(w->log, "policy %s\ntime %lld %lld\nnow %lld", w->t->policy,
                  (long long)w->t->o.start, (long long)w->t->o.end, (long long)w->t->o.start);
    if (w->t->also)
        sl_buf_printf(w->log, "\nalso %s", w->t->also);
    if (w->t->o.fluxion)
        sl_buf_puts(w->log, "\nverdicts fluxion");
    if (w->t->o.filters)
        sl_buf_printf(w->log, "\nfilters %s", w->t->o.filters);
    if (w->t->o.n_subsystems && has_power(&w->d))
        sl_buf_puts(w->log, "\nsubsystems power");
    sl_buf_puts(w->log, "\ngraph ");
    draft_print(&w->d, w->log);
    for (uint32_t i = 0; i < w->d.edges.n; i++) {
        sl_buf_printf(w->log, "\nedge %s ", w->d.edges.v[i].subsystem);
        draft_path(&w->d, w->d.edges.v[i].from, w->log);
        sl_buf_putc(w->log, ' ');
        draft_path(&w->d, w->d.edges.v[i].to, w->log);
    }
}

/* Whether the two differ. */
static bool run(const struct trial *t, const struct cuts *c, uint64_t *digest, struct sl_buf *log) {
    struct world w = {
        .t = t, .next_job = 1, .now = t->o.start, .digest = digest ? *digest : 0, .log = log};
    draft_copy(&w.d, &t->d, c->keep_vertex);
    struct sl_graph *g = draft_build(&w.d);
    struct sl_match_options o = t->o;
    if (!has_power(&w.d))
        o.n_subsystems = 0;
    side_init(&w.fast, true, g, &o, t->also ? &t->also_policy : NULL);
    side_init(&w.slow, false, g, &o, t->also ? &t->also_policy : NULL);
    sl_graph_free(g);
    if (log)
        log_settings(&w);
    for (uint32_t i = 0; i < GEN_STEPS && !w.differs; i++)
        if (c->keep_step[i])
            steps[t->steps[i].kind](&w, t->steps[i].r);
    if (digest)
        *digest = w.digest;
    forget_compiled(&w);
    answer_done(&w.a);
    answer_done(&w.b);
    side_done(&w.fast);
    side_done(&w.slow);
    draft_done(&w.d);
    return w.differs;
}

static bool try_without(const struct trial *t, struct cuts *c, bool *keep) {
    if (!*keep)
        return false;
    *keep = false;
    if (run(t, c, NULL, NULL))
        return true;
    *keep = true;
    return false;
}

static void make_smaller(const struct trial *t, struct cuts *c) {
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = GEN_STEPS; i-- > 0;)
            again |= try_without(t, c, &c->keep_step[i]);
        for (uint32_t i = t->d.v.n; i-- > 2;)
            again |= try_without(t, c, &c->keep_vertex[i]);
    }
}

static bool check(uint64_t seed, uint64_t *digest, bool tell_all) {
    struct trial t;
    struct cuts c;
    struct sl_buf log;
    seed_key(seed);
    trial_init(&t, seed);
    sl_assert(t.d.v.n <= MAX_VERTICES);
    memset(&c, true, sizeof(c));
    bool differs = run(&t, &c, digest, NULL);
    if (differs || tell_all) {
        sl_buf_init(&log, 1 << 22);
        if (differs)
            make_smaller(&t, &c);
        (void)run(&t, &c, NULL, &log);
        if (differs)
            printf("seed %llu: they differ; again with: prop_match --seed %llu\n",
                   (unsigned long long)seed, (unsigned long long)seed);
        printf("%s\n\n", sl_buf_str(&log));
        sl_buf_done(&log);
    }
    trial_done(&t);
    return !differs;
}

int main(int argc, char **argv) {
    const char *env = getenv("SL_SEEDS");
    uint64_t seeds = env ? strtoull(env, NULL, 10) : DEFAULT_SEEDS, first = 0, digest = 0;
    uint64_t failed = 0;
    bool one = argc == 3 && strcmp(argv[1], "--seed") == 0;
    if (argc > 1 && !one) {
        fprintf(stderr, "usage: %s [--seed N]\n", argv[0]);
        return 2;
    }
    if (one) {
        first = strtoull(argv[2], NULL, 10);
        seeds = 1;
    }
    for (uint64_t s = first; s < first + seeds && failed < MAX_FAILED; s++) {
        failed += !check(s, &digest, one);
        if (!one && s + 1 == DIGEST_SEEDS)
            printf("digest match %016llx\n", (unsigned long long)digest);
    }
    printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)(seeds - failed),
           (unsigned long long)failed);
    return failed != 0;
}
