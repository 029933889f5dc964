/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of a small cluster with queues, beside a second scheduler that knows nothing but
 * the rule: in each pass it tries every job, in order, on a matcher of its own. Starts, rejections,
 * estimates and the vertices themselves must be the same after every turn, and what was told must
 * add up to it.
 *
 * Some worlds are calm: one priority, no job overruns, nothing breaks. There nobody may start later
 * than it was told, under any policy of the queues. With the matcher's policies under which a
 * retained reservation may differ from a new one there is nothing to compare with, and one queue.
 *
 * prop_queue [--seed N]; SL_SEEDS says how much to try.
 */
#include <stdlib.h>
#include <string.h>

#include "../../seed_key.h"
#include "core/base/collection/hash.h"
#include "core/base/prng.h"
#include "queue_fixture.h"

#define DIGEST_SEEDS 100
#define STEPS 60
#define LINES 3u
#define MAX_JOBS 400u
#define MAX_NODES 5u

enum life { WAITS, RUNS, GONE };

struct njob {
    int64_t id, priority, submitted;
    uint32_t line;
    struct sl_match_request *r;
    enum life life;
    bool reserved, tried, placed;
    int64_t at;
    bool told; /* by the queues */
    int64_t told_at;
};

struct nline {
    enum sl_queue_policy policy;
    uint32_t depth, reserve;
    uint64_t had, least;
    uint64_t kept[MAX_JOBS];
    uint32_t n_kept, looked, reserved, keep;
    bool over;
};

struct world {
    struct sl_prng rnd;
    bool aloud;       /* one seed: say what happens */
    bool calm, alone; /* alone: there is nothing to compare with */
    bool anew, again; /* of the naive one: anything may be different; something was given back */
    uint64_t asked;
    struct sl_match *m, *n; /* of the queues, of the naive one */
    struct sl_queues *q;
    sl_vtx nodes[MAX_NODES], pools[MAX_NODES];
    bool pooled; /* the cores of a node are one pool, and there may be more or less of them */
    bool down[MAX_NODES], removed[MAX_NODES];
    uint32_t n_nodes, n_cores, n_removed;
    struct nline lines[LINES];
    uint32_t n_lines;
    struct njob jobs[MAX_JOBS];
    uint32_t n_jobs;
    int64_t now;
    sl_decisions naive;
    uint64_t digest;
    const char *wrong;
};

static const char *const names[] = {"a", "b", "c", "virtual"};
/* Those from 'first' on only alone. */
static const char *const policies[] = {"low",     "high",      "lonode", "hinode",     "lonodex",
                                       "hinodex", "variation", "first",  "firstnodex", "locality"};
#define EXACT 7u

static uint32_t below(struct world *w, uint32_t n) {
    return (uint32_t)sl_prng_below(&w->rnd, n);
}

static void expect(struct world *w, bool ok, const char *what) {
    if (!ok && !w->wrong)
        w->wrong = what;
}

/* ---- the naive one ---- */

static bool stands_before(const struct njob *a, const struct njob *b) {
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->submitted != b->submitted)
        return a->submitted < b->submitted;
    return a < b; /* in the order of arrival */
}

static uint32_t naive_place(const struct world *w, const struct njob *j) {
    uint32_t place = 0;

    for (uint32_t i = 0; i < w->n_jobs; i++)
        place +=
            w->jobs[i].life == WAITS && w->jobs[i].line == j->line && stands_before(&w->jobs[i], j);
    return place;
}

static struct njob *naive_at(struct world *w, uint32_t line, uint32_t place) {
    for (uint32_t i = 0; i < w->n_jobs; i++)
        if (w->jobs[i].life == WAITS && w->jobs[i].line == line &&
            naive_place(w, &w->jobs[i]) == place)
            return &w->jobs[i];
    return NULL;
}

static void naive_decide(struct world *w, enum sl_decision_kind kind, const struct njob *j,
                         enum sl_selection s) {
    *sl_vec_push(&w->naive) =
        (struct sl_decision){.kind = kind, .jobid = j->id, .at = w->now, .selection = s};
}

static void naive_leave_turn(struct nline *l, uint32_t place) {
    if (place >= l->n_kept)
        return;
    l->n_kept--;
    memmove(&l->kept[place], &l->kept[place + 1], (l->n_kept - place) * sizeof *l->kept);
}

static uint64_t naive_next(const struct nline *l) {
    uint64_t next = l->looked < l->n_kept ? l->kept[l->looked] : l->had + l->looked;

    return next > l->least ? next : l->least;
}

static void naive_cancel(struct world *w, struct njob *j) {
    int r = sl_match_cancel(w->n, j->id);

    /* A shrinking graph may have taken all it had; in calm worlds there is nothing. */
    expect(w, r == 0 || r == SL_ENOENT, "cancelling");
    w->anew = w->anew || (j->life == RUNS && r == SL_ENOENT);
    w->again = w->again || j->reserved;
    j->reserved = false;
}

static int naive_match(struct world *w, struct njob *j, bool entitled, enum sl_match_verdict *v,
                       struct sl_grant *g) {
    enum sl_match_op op = entitled ? SL_MATCH_ALLOCATE_OR_RESERVE : SL_MATCH_ALLOCATE_SATISFIABLE;

    w->asked++;
    return sl_match_run(w->n, j->r, op, j->id, w->now, v, g, NULL);
}

/* Those that were not tried: of a line those of lower priority, or all. */
static void naive_lift(struct world *w, uint32_t line, int64_t priority) {
    for (uint32_t i = 0; i < w->n_jobs; i++) {
        struct njob *j = &w->jobs[i];
        if (j->reserved && !j->tried &&
            (line == LINES || (j->line == line && j->priority < priority)))
            naive_cancel(w, j);
    }
}

static bool same_grant(const struct sl_grant *a, const struct sl_grant *b) {
    bool same = a->state == b->state && a->at == b->at && a->duration == b->duration &&
                a->picks.n == b->picks.n;

    for (uint32_t i = 0; i < a->picks.n && same; i++)
        same = a->picks.v[i].v == b->picks.v[i].v && a->picks.v[i].needs == b->picks.v[i].needs;
    return same;
}

/* It had this: later it never becomes, unless what it had is lost. */
static int naive_rematch(struct world *w, struct njob *j, bool lost, enum sl_match_verdict *v,
                         struct sl_grant *g) {
    struct sl_match *before = lost ? NULL : sl_match_clone(w->n);
    struct sl_grant had = {0};
    bool again = w->again, was = sl_match_grant(w->n, j->id, &had) == 0;
    int64_t soon = j->at <= w->now && lost ? w->now + 1 : j->at;

    naive_cancel(w, j);
    int r = naive_match(w, j, true, v, g);
    bool matched = r == 0 && *v == SL_MATCHED;
    if (lost && (!matched || g->at > soon)) {
        if (matched)
            naive_cancel(w, j);
        naive_lift(w, LINES, 0);
        sl_grant_done(g);
        *g = (struct sl_grant){0};
        r = naive_match(w, j, true, v, g);
    } else {
        if (!lost && (!matched || g->at > soon)) {
            sl_match_free(w->n);
            w->n = TAKE_PTR(before);
            *v = SL_MATCHED;
            r = 0;
        }
        sl_grant_done(g);
        *g = (struct sl_grant){0};
        if (sl_match_grant(w->n, j->id, g) == 0 && was && same_grant(&had, g))
            w->again = again;
    }
    sl_match_free(before);
    sl_grant_done(&had);
    return r;
}

static int naive_get(struct world *w, struct njob *j, enum sl_match_verdict *v,
                     struct sl_grant *g) {
    if (!j->reserved) {
        if (!j->placed)
            naive_lift(w, j->line, j->priority);
        return naive_match(w, j, w->lines[j->line].reserved < w->lines[j->line].reserve, v, g);
    }
    if (!w->anew && j->at == w->now && sl_match_begin(w->n, j->id) == 0) {
        *v = SL_MATCHED;
        return sl_match_grant(w->n, j->id, g);
    }
    return naive_rematch(w, j, w->anew || j->at <= w->now, v, g);
}

static void naive_try(struct world *w, uint32_t line) {
    struct nline *l = &w->lines[line];
    struct njob *j = naive_at(w, line, l->looked);
    uint64_t turn = naive_next(l);
    enum sl_match_verdict v = SL_NEVER;
    struct sl_grant g = {0};

    if (!j || l->looked >= l->depth || (l->policy == SL_QUEUE_FCFS && l->looked > 0)) {
        l->over = true;
        return;
    }
    int r = naive_get(w, j, &v, &g);
    l->least = turn + 1;
    j->tried = j->placed = true;
    j->reserved = false;
    if (r == 0 && v == SL_MATCHED && g.state == SL_JOB_ALLOCATED) {
        naive_decide(w, SL_DECIDED_START, j,
                     l->looked == 0 ? SL_SELECT_IMMEDIATE : SL_SELECT_BACKFILL);
        j->life = RUNS;
        l->had++;
        naive_leave_turn(l, l->looked);
    } else if (r < 0 || (v != SL_MATCHED && v != SL_BUSY)) {
        naive_decide(w, SL_DECIDED_REJECT, j, SL_SELECT_IMMEDIATE);
        j->life = GONE;
        l->least = turn;
        naive_leave_turn(l, l->looked);
    } else {
        l->kept[l->looked++] = turn;
        if (l->n_kept < l->looked)
            l->n_kept = l->looked;
        if (v == SL_MATCHED) {
            j->reserved = true;
            j->at = g.at;
            l->reserved++;
        }
        if (v == SL_MATCHED || l->looked <= SL_QUEUE_CREDIT)
            l->keep = l->looked;
    }
    sl_grant_done(&g);
}

static bool naive_active(const struct world *w, uint32_t line) {
    for (uint32_t i = 0; i < w->n_jobs; i++)
        if (w->jobs[i].life == WAITS && w->jobs[i].line == line)
            return true;
    return false;
}

static void naive_pass(struct world *w) {
    uint64_t most = 0;

    w->again = false;
    for (uint32_t i = 0; i < w->n_jobs; i++)
        w->jobs[i].tried = false;
    for (uint32_t i = 0; i < w->n_lines; i++)
        if (naive_active(w, i) && w->lines[i].had > most)
            most = w->lines[i].had;
    for (uint32_t i = 0; i < w->n_lines; i++) {
        struct nline *l = &w->lines[i];
        l->looked = l->reserved = l->keep = 0;
        l->least = 0;
        l->over = !naive_active(w, i);
        if (!l->over && l->had + SL_QUEUE_CREDIT < most)
            l->had = most - SL_QUEUE_CREDIT;
    }
    for (;;) {
        uint32_t best = LINES;
        for (uint32_t i = 0; i < w->n_lines; i++)
            if (!w->lines[i].over &&
                (best == LINES || naive_next(&w->lines[i]) < naive_next(&w->lines[best])))
                best = i;
        if (best == LINES)
            break;
        naive_try(w, best);
    }
    naive_lift(w, LINES, 0); /* they stand too far behind */
    for (uint32_t i = 0; i < w->n_lines; i++)
        w->lines[i].n_kept = w->lines[i].keep;
    w->anew = false;
}

static void naive_turn(struct world *w) {
    uint32_t passes = 0;

    sl_vec_clear(&w->naive);
    do
        naive_pass(w);
    while (w->again && ++passes < SL_QUEUE_PASSES);
}

/* ---- what happens ---- */

static void submit(struct world *w) {
    if (w->n_jobs == MAX_JOBS)
        return;
    struct njob *j = &w->jobs[w->n_jobs];
    struct want want = {.nodes = 1 + below(w, w->n_nodes), .duration = 1 + below(w, 15)};
    uint32_t name = below(w, w->n_lines + 1);

    if (below(w, 3) > 0) {
        want.nodes = 1 + below(w, want.nodes);
        want.cores = 1 + below(w, w->n_cores);
    }
    if (sl_prng_one_in(&w->rnd, 30))
        want.nodes = w->n_nodes + 1;
    if (sl_prng_one_in(&w->rnd, 20))
        want.duration = 0;
    *j = (struct njob){.id = 1000 + w->n_jobs,
                       .priority = w->calm || below(w, 6) > 0 ? 0 : (int64_t)below(w, 3) - 1,
                       .submitted = w->now + (!w->calm && sl_prng_one_in(&w->rnd, 10) ? -3 : 0),
                       .line = name < w->n_lines ? name : 0, /* the virtual one is that of a */
                       .r = fx_want(w->n, &want)};
    if (!naive_active(w, j->line)) {
        uint64_t least = UINT64_MAX;
        for (uint32_t i = 0; i < w->n_lines; i++)
            if (naive_active(w, i) && w->lines[i].had < least)
                least = w->lines[i].had;
        if (least != UINT64_MAX && least > w->lines[j->line].had)
            w->lines[j->line].had = least;
    }
    w->n_jobs++;
    j->life = WAITS;
    if (w->aloud)
        printf("%lld arrives in %s: %u nodes, %u cores, %lld s, priority %lld\n", (long long)j->id,
               names[j->line], want.nodes, want.cores, (long long)want.duration,
               (long long)j->priority);
    expect(w,
           sl_queues_submit(w->q, name < w->n_lines ? names[name] : names[3], j->id, j->priority,
                            j->submitted, fx_want(w->m, &want), NULL) == 0,
           "submitting");
}

static void end_job(struct world *w, struct njob *j) {
    if (w->aloud)
        printf("%lld ends%s\n", (long long)j->id, j->life == RUNS ? "" : " waiting");
    if (j->life == WAITS)
        naive_leave_turn(&w->lines[j->line], naive_place(w, j));
    if (j->life == RUNS || j->reserved)
        naive_cancel(w, j);
    j->life = GONE;
    j->reserved = j->told = false;
    expect(w, sl_queues_remove(w->q, j->id) == 0, "removing");
}

static void ends(struct world *w) {
    for (uint32_t i = 0; i < w->n_jobs; i++) {
        struct njob *j = &w->jobs[i];
        struct sl_match_job_info info;
        if (j->life == GONE)
            continue;
        if (j->life == WAITS) {
            if (sl_prng_one_in(&w->rnd, 40))
                end_job(w, j);
            continue;
        }
        /* What a shrinking graph left nothing of is gone from the matcher. */
        int64_t end = sl_match_job(w->m, j->id, &info) ? info.at + info.duration : w->now;
        uint32_t chance = end > w->now ? 2 : end == w->now ? 24 : 12; /* of 27 */
        if (below(w, 27) < chance || (w->calm && end <= w->now))
            end_job(w, j);
    }
}

static int64_t next_end(const struct world *w) {
    int64_t to = SL_QUEUE_NEVER;

    for (uint32_t i = 0; i < w->n_jobs; i++) {
        struct sl_match_job_info info;
        if (w->jobs[i].life == RUNS && sl_match_job(w->m, w->jobs[i].id, &info) &&
            info.at + info.duration > w->now && info.at + info.duration < to)
            to = info.at + info.duration;
    }
    return to;
}

static void pass_time(struct world *w) {
    int64_t to = w->now;

    switch (below(w, 6)) {
    case 0:
        break;
    case 1:
    case 2:
        to = sl_queues_next(w->q);
        break;
    case 3:
        to = next_end(w);
        break;
    default:
        to = w->now + 1 + below(w, 5);
    }
    if (w->calm && to > next_end(w)) /* and never too late */
        to = next_end(w);
    if (w->calm && to > sl_queues_next(w->q))
        to = sl_queues_next(w->q);
    if (to > w->now && to < w->now + 1000)
        w->now = to;
}

static void graph_changes(struct world *w) {
    uint32_t i = below(w, w->n_nodes);

    if (w->removed[i])
        return;
    if (sl_prng_one_in(&w->rnd, 12) && w->n_removed + 1 < w->n_nodes) { /* one stays */
        w->removed[i] = true;
        w->n_removed++;
        if (w->aloud)
            printf("node %u goes\n", i);
        w->anew = true;
        expect(w,
               sl_match_shrink(w->m, &w->nodes[i], 1, NULL) == 0 &&
                   sl_match_shrink(w->n, &w->nodes[i], 1, NULL) == 0,
               "shrinking");
        return;
    }
    if (w->pooled && below(w, 3) > 0) {
        int64_t size = below(w, w->n_cores + 3);
        if (size != sl_graph_vertex(sl_match_graph(w->n), w->pools[i])->size)
            w->anew = true;
        if (w->aloud)
            printf("node %u has %lld cores\n", i, (long long)size);
        expect(w,
               sl_match_resize(w->m, w->pools[i], size, NULL) == 0 &&
                   sl_match_resize(w->n, w->pools[i], size, NULL) == 0,
               "resizing");
        return;
    }
    w->down[i] = !w->down[i];
    w->anew = true;
    if (w->aloud)
        printf("node %u is %s\n", i, w->down[i] ? "down" : "up");
    sl_match_set_down(w->m, w->nodes[i], w->down[i]);
    sl_match_set_down(w->n, w->nodes[i], w->down[i]);
}

static void reprioritize(struct world *w) {
    struct njob *j = w->n_jobs > 0 ? &w->jobs[below(w, w->n_jobs)] : NULL;
    int64_t priority = (int64_t)below(w, 5) - 2;

    if (!j)
        return;
    int r = sl_queues_reprioritize(w->q, j->id, priority);
    expect(w, (r == 0) == (j->life == WAITS), "reprioritizing");
    if (r == 0 && j->priority != priority) {
        if (j->reserved)
            naive_cancel(w, j);
        j->placed = false;
        j->priority = priority;
    }
    if (w->aloud && r == 0)
        printf("%lld has priority %lld\n", (long long)j->id, (long long)priority);
}

/* ---- comparing ---- */

static struct njob *find_job(struct world *w, int64_t id) {
    return &w->jobs[id - 1000];
}

/* Starts and rejections are the same one by one; the others are news, and are noted. */
static void compare_decisions(struct world *w, const sl_decisions *d) {
    uint32_t k = 0;

    for (uint32_t i = 0; i < d->n; i++) {
        const struct sl_decision *x = &d->v[i];
        struct njob *j = find_job(w, x->jobid);
        if (x->kind == SL_DECIDED_RESERVE) {
            expect(w, !j->told || j->told_at != x->at, "no news");
            expect(w, x->selection == SL_SELECT_RESERVED, "how it was selected");
            j->told = true;
            j->told_at = x->at;
        } else if (x->kind == SL_DECIDED_UNRESERVE) {
            expect(w, j->told, "had none");
            j->told = false;
        } else {
            const struct sl_decision *y = k < w->naive.n ? &w->naive.v[k++] : NULL;
            expect(w,
                   y && x->kind == y->kind && x->jobid == y->jobid && x->at == y->at &&
                       x->selection == y->selection,
                   "a start or a rejection");
            j->told = false;
        }
        w->digest = sl_digest_u64(w->digest, (uint64_t)x->kind << 56 ^ (uint64_t)x->jobid << 24 ^
                                                 (uint64_t)x->at);
    }
    expect(w, k == w->naive.n, "more was to be decided");
}

static void compare_grants(struct world *w, int64_t id) {
    struct sl_grant a = {0}, b = {0};
    int x = sl_match_grant(w->m, id, &a), y = sl_match_grant(w->n, id, &b);

    expect(w, x == y && a.state == b.state && a.at == b.at && a.duration == b.duration,
           "the times of a grant");
    expect(w, a.picks.n == b.picks.n, "the size of a grant");
    for (uint32_t i = 0; i < a.picks.n && i < b.picks.n; i++)
        expect(w, a.picks.v[i].v == b.picks.v[i].v && a.picks.v[i].needs == b.picks.v[i].needs,
               "the vertices of a grant");
    sl_grant_done(&a);
    sl_grant_done(&b);
}

static void compare_jobs(struct world *w) {
    int64_t next = SL_QUEUE_NEVER;

    for (uint32_t i = 0; i < w->n_jobs; i++) {
        struct njob *j = &w->jobs[i];
        struct sl_queue_waiting at;
        bool waits = sl_queues_waiting(w->q, j->id, &at);
        expect(w, waits == (j->life == WAITS), "who waits");
        if (j->life != GONE)
            compare_grants(w, j->id);
        if (!waits)
            continue;
        expect(w, at.place == naive_place(w, j), "the place in line");
        expect(w, at.reserved == j->reserved && j->told == j->reserved, "who has a reservation");
        expect(w, !j->reserved || (at.estimate == j->at && j->told_at == j->at), "an estimate");
        if (j->reserved && j->at < next)
            next = j->at;
    }
    expect(w, sl_queues_next(w->q) == next, "the next turn");
}

static void print_decisions(const char *who, const sl_decisions *d) {
    struct sl_buf b;

    sl_buf_init(&b, 1 << 20);
    sl_buf_puts(&b, who);
    for (uint32_t i = 0; i < d->n; i++) {
        sl_buf_puts(&b, i > 0 ? ", " : " ");
        fx_print(&d->v[i], &b);
    }
    puts(sl_buf_str(&b));
    sl_buf_done(&b);
}

/* Nothing to compare with: keep the books by what was decided. */
static void note_decisions(struct world *w, const sl_decisions *d) {
    for (uint32_t i = 0; i < d->n; i++) {
        struct njob *j = find_job(w, d->v[i].jobid);
        if (d->v[i].kind == SL_DECIDED_START)
            j->life = RUNS;
        else if (d->v[i].kind == SL_DECIDED_REJECT)
            j->life = GONE;
        j->told = d->v[i].kind == SL_DECIDED_RESERVE;
        j->told_at = d->v[i].at;
    }
}

static void check_promises(struct world *w, const sl_decisions *d) {
    for (uint32_t i = 0; i < d->n; i++) {
        const struct njob *j = find_job(w, d->v[i].jobid);
        if (!j->told)
            continue;
        expect(w, d->v[i].kind != SL_DECIDED_UNRESERVE, "a reservation was dropped");
        expect(w, d->v[i].at <= j->told_at, "later than promised");
    }
}

static uint64_t count_matches(const struct sl_match *m) {
    struct sl_match_stats s;

    sl_match_stats(m, &s);
    return s.matches + s.failures;
}

static void turn(struct world *w) {
    sl_decisions d = {0};

    if (!w->alone)
        naive_turn(w);
    sl_queues_run(w->q, w->now, &d);
    if (w->aloud) {
        printf("at %lld\n", (long long)w->now);
        print_decisions("  naive: ", &w->naive);
        print_decisions("  queues:", &d);
    }
    if (w->calm)
        check_promises(w, &d);
    if (w->alone) {
        note_decisions(w, &d);
    } else {
        compare_decisions(w, &d);
        compare_jobs(w);
        expect(w, count_matches(w->m) <= w->asked, "more was asked than the rule asks");
    }
    sl_vec_free(&d);
}

static void add_lines(struct world *w) {
    for (uint32_t i = 0; i < w->n_lines; i++) {
        struct nline *l = &w->lines[i];
        struct sl_queue_spec s = {
            .name = names[i],
            .policy = (enum sl_queue_policy)below(w, 4),
            .depth = (uint32_t[]){0, 100, 1 + below(w, 6)}[below(w, 3)],
            .reserve = sl_prng_one_in(&w->rnd, 4) ? 0 : 1 + below(w, 4),
        };
        l->policy = s.policy;
        l->depth = s.depth ? s.depth : SL_QUEUE_DEPTH;
        l->reserve = s.policy == SL_QUEUE_FCFS     ? 0
                     : s.policy == SL_QUEUE_EASY   ? 1
                     : s.policy == SL_QUEUE_HYBRID ? (s.reserve ? s.reserve : SL_QUEUE_RESERVE)
                                                   : SL_QUEUE_MAX_RESERVE;
        expect(w, sl_queues_add(w->q, &s, NULL) == 0, "adding a queue");
    }
    struct sl_queue_spec v = {.name = names[3], .parent = names[0]};
    expect(w, sl_queues_add(w->q, &v, NULL) == 0, "adding a virtual queue");
}

static bool check(struct world *w, uint64_t seed, bool aloud, uint64_t *digest) {
    memset(w, 0, sizeof *w);
    w->aloud = aloud;
    w->digest = *digest;
    seed_key(seed);
    sl_prng_init(&w->rnd, seed);
    w->n_nodes = 1 + below(w, MAX_NODES);
    w->n_cores = 1 + below(w, 4);
    w->calm = sl_prng_one_in(&w->rnd, 3);
    w->alone = w->calm && sl_prng_one_in(&w->rnd, 2);
    w->n_lines = w->alone ? 1 : 1 + below(w, LINES);
    const char *policy = policies[below(w, w->alone ? SL_LEN(policies) : EXACT)];
    w->pooled = sl_prng_one_in(&w->rnd, 3);
    w->m = fx_match_pools(w->n_nodes, w->n_cores, policy, w->nodes, w->pooled ? w->pools : NULL);
    w->n = fx_match_pools(w->n_nodes, w->n_cores, policy, w->nodes, w->pooled ? w->pools : NULL);
    w->q = sl_queues_new(w->m);
    add_lines(w);
    uint32_t step = 0, load = 2 + below(w, sl_prng_one_in(&w->rnd, 10) ? 8 : 3),
             odd = 4 + below(w, 20);
    for (; step < STEPS && !w->wrong; step++) {
        pass_time(w);
        ends(w);
        for (uint32_t k = below(w, load); k > 0; k--)
            submit(w);
        if (!w->calm && below(w, odd) == 0)
            reprioritize(w);
        if (!w->calm && below(w, odd) == 0)
            graph_changes(w);
        if (below(w, odd) == 0 && !w->alone) {
            sl_queues_changed(w->q);
            w->anew = true;
        }
        turn(w);
    }
    if (w->wrong)
        printf("seed %llu fails in step %u, at %lld: %s; again with: prop_queue --seed %llu\n",
               (unsigned long long)seed, step, (long long)w->now, w->wrong,
               (unsigned long long)seed);
    for (uint32_t i = 0; i < w->n_jobs; i++)
        sl_match_request_free(w->jobs[i].r);
    sl_queues_free(w->q);
    sl_match_free(w->m);
    sl_match_free(w->n);
    sl_vec_free(&w->naive);
    *digest = w->digest;
    return !w->wrong;
}

int main(int argc, char **argv) {
    const char *env = getenv("SL_SEEDS");
    uint64_t seeds = env ? strtoull(env, NULL, 10) / 2 : 500, first = 0, digest = 0, failed = 0;
    bool one = argc == 3 && strcmp(argv[1], "--seed") == 0;
    static struct world w;

    if (argc > 1 && !one) {
        fprintf(stderr, "usage: %s [--seed N]\n", argv[0]);
        return 2;
    }
    if (one) {
        first = strtoull(argv[2], NULL, 10);
        seeds = 1;
    }
    for (uint64_t s = first; s < first + seeds; s++) {
        failed += !check(&w, s, one, &digest);
        if (!one && s + 1 == DIGEST_SEEDS)
            printf("digest queue %016llx\n", (unsigned long long)digest);
    }
    printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)(seeds - failed),
           (unsigned long long)failed);
    return failed != 0;
}
