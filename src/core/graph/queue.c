/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass tries jobs while the reservations of all others are in the matcher, so that none can take
 * the place of another. What a job would get can only become better when something is given back;
 * so a pass asks again only those that this may concern. It is known by the earliest time from
 * which anything was given back: 'since' in this pass, before the job that comes now, and
 * 'last_given' in the one before, after the job was tried.
 *
 * 'walk' has the jobs that were tried and wait. What the next pass does not try of them has come to
 * stand too far behind, and loses its reservation.
 */
#include "core/graph/queue.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/collection/heap.h"
#include "core/base/collection/map.h"
#include "core/base/collection/ordset.h"

#define NONE UINT32_MAX
#define NEVER SL_QUEUE_NEVER

struct job {
    int64_t id, priority, submitted;
    uint64_t arrival;
    struct sl_match_request *r; /* NULL: it runs */
    uint32_t line;
    uint32_t walked;      /* its place in the walk, NONE: not in it */
    uint32_t due;         /* its place in the heap of reservations */
    int64_t at, end;      /* of its reservation */
    int64_t reported_at;  /* the estimate that was reported last; NEVER: none */
    uint32_t seen;        /* of what was given up in the last turn: so many before its try */
    uint64_t satisfiable; /* the change of the graph after which it was found to be */
    bool entitled;        /* when it was tried last it could have got a reservation */
    bool placed;          /* it was tried since it came to stand where it is in its line */
    bool lifted;          /* it lost its reservation in this turn and has not been tried since */
};

struct line {
    enum sl_queue_policy policy;
    uint32_t depth, reserve;
    uint32_t match; /* policy */
    struct sl_ordset waiting;
    uint64_t had;  /* jobs that started, or what counts as such */
    uint32_t turn; /* its place in the heap of lines */
    /* When it is whose turn: the line's first jobs had these turns last, as far as they were looked
     * at. They are the line's, not the jobs'. */
    SL_VEC(uint64_t) kept;
    /* in this turn */
    uint32_t n_tried;  /* that many of the first in line wait */
    uint32_t reserved; /* of these have reservations */
    uint32_t keep;     /* how many of 'kept' to keep */
    uint64_t next;     /* when its next job has its turn */
};

struct name {
    char *text;
    uint32_t line;
};

struct sl_queues {
    struct sl_match *m;
    SL_VEC(struct job) jobs;
    SL_VEC(uint32_t) idle;
    struct sl_map by_id;
    SL_VEC(struct name) names;
    struct sl_map by_name;
    SL_VEC(struct line) lines;
    struct sl_heap turns; /* lines with jobs, the one that has had the least first */
    struct sl_heap due;   /* jobs with reservations, the earliest first */
    uint64_t arrivals;
    int64_t now;
    int64_t turned;              /* when something was decided last */
    uint64_t generation;         /* of the graph */
    uint64_t changes;            /* of the graph, as far as they were seen */
    SL_VEC(uint32_t) walk, last; /* NONE: it is there no more */
    /* since the last turn */
    SL_VEC(int64_t) moved;           /* jobs that gave up a reservation to stand elsewhere */
    bool stirred;                    /* something happened */
    bool changed;                    /* anything may be different */
    bool freed;                      /* running jobs were removed, and they were planned to */
    int64_t freed_first, freed_last; /* end then */
    /* Since the last turn began, these gave up reservations: from when on. In the turn that follows
     * each is the least of itself and those behind it. */
    SL_VEC(int64_t) given, last_given;
    /* in this turn */
    bool anew;           /* anything may be different */
    int64_t since;       /* before this time nothing has changed for the jobs that come now */
    bool capacity_freed; /* something was given back */
    sl_decisions *out;
};

/* ---- orders ---- */

static int by_arrival(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_queues *q = ctx;
    uint64_t x = q->jobs.v[a].arrival, y = q->jobs.v[b].arrival;

    return x < y ? -1 : x > y;
}

static struct sl_ordkey line_key(const struct sl_queues *q, uint32_t i) {
    const struct job *j = &q->jobs.v[i];

    /* The complement turns high into low without overflow; so does the flipped sign for unsigned.
     */
    return (struct sl_ordkey){
        .at = ~j->priority, .tie = (uint64_t)j->submitted ^ (UINT64_C(1) << 63), .id = i};
}

static bool least_first(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_queues *q = ctx;
    uint64_t x = q->lines.v[a].next, y = q->lines.v[b].next;

    return x != y ? x < y : a < b;
}

static uint32_t *turn_place(void *ctx, uint32_t i) {
    struct sl_queues *q = ctx;
    return &q->lines.v[i].turn;
}

static bool earliest_first(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_queues *q = ctx;
    const struct job *x = &q->jobs.v[a], *y = &q->jobs.v[b];

    return x->at != y->at ? x->at < y->at : a < b;
}

static uint32_t *due_place(void *ctx, uint32_t i) {
    struct sl_queues *q = ctx;
    return &q->jobs.v[i].due;
}

/* ---- the whole ---- */

struct sl_queues *sl_queues_new(struct sl_match *m) {
    struct sl_queues *q = sl_alloc0(1, sizeof *q);

    q->m = m;
    q->now = q->turned = INT64_MIN;
    q->changes = 1;
    q->generation = sl_graph_generation(sl_match_graph(m));
    sl_heap_init(&q->turns, least_first, turn_place, q);
    sl_heap_init(&q->due, earliest_first, due_place, q);
    return q;
}

void sl_queues_free(struct sl_queues *q) {
    if (!q)
        return;
    for (uint32_t i = 0; i < q->jobs.n; i++)
        sl_match_request_free(q->jobs.v[i].r);
    for (uint32_t i = 0; i < q->lines.n; i++) {
        sl_ordset_done(&q->lines.v[i].waiting);
        sl_vec_free(&q->lines.v[i].kept);
    }
    for (uint32_t i = 0; i < q->names.n; i++)
        sl_freep(&q->names.v[i].text);
    sl_vec_free(&q->jobs);
    sl_vec_free(&q->idle);
    sl_vec_free(&q->names);
    sl_vec_free(&q->lines);
    sl_vec_free(&q->walk);
    sl_vec_free(&q->last);
    sl_vec_free(&q->moved);
    sl_vec_free(&q->given);
    sl_vec_free(&q->last_given);
    sl_map_done(&q->by_id);
    sl_map_done(&q->by_name);
    sl_heap_done(&q->turns);
    sl_heap_done(&q->due);
    sl_freep(&q);
}

void sl_queues_freep(struct sl_queues **q) {
    sl_queues_free(*q);
    *q = NULL;
}

/* ---- queues ---- */

/* The line of a queue, NONE if there is no such queue. */
static uint32_t find_line(const struct sl_queues *q, const char *name) {
    uint32_t c;

    for (uint32_t i = sl_map_first(&q->by_name, sl_hash_str(0, name), &c); i != SL_MAP_NONE;
         i = sl_map_next(&q->by_name, sl_hash_str(0, name), &c))
        if (strcmp(q->names.v[i].text, name) == 0)
            return q->names.v[i].line;
    return NONE;
}

static uint32_t add_line(struct sl_queues *q, const struct sl_queue_spec *s) {
    static const uint32_t reserves[] = {[SL_QUEUE_FCFS] = 0,
                                        [SL_QUEUE_EASY] = 1,
                                        [SL_QUEUE_HYBRID] = SL_QUEUE_RESERVE,
                                        [SL_QUEUE_CONSERVATIVE] = SL_QUEUE_MAX_RESERVE};
    struct line l = {.policy = s->policy, .match = s->match, .turn = SL_HEAP_OUT};

    l.depth = s->depth ? s->depth : SL_QUEUE_DEPTH;
    l.reserve = s->policy == SL_QUEUE_HYBRID && s->reserve ? s->reserve : reserves[s->policy];
    *sl_vec_push(&q->lines) = l;
    return q->lines.n - 1;
}

int sl_queues_add(struct sl_queues *q, const struct sl_queue_spec *s, struct sl_err *err) {
    uint32_t line;

    if (find_line(q, s->name) != NONE)
        return sl_err_set(err, SL_EEXIST, "there is a queue '%s' already", s->name);
    if (q->names.n >= SL_QUEUE_MAX_QUEUES)
        return sl_err_set(err, SL_ELIMIT, "more than %u queues", SL_QUEUE_MAX_QUEUES);
    if (s->depth > SL_QUEUE_MAX_DEPTH)
        return sl_err_set(err, SL_ELIMIT, "queue '%s': a depth of %u: expected at most %u", s->name,
                          s->depth, SL_QUEUE_MAX_DEPTH);
    if (s->reserve > SL_QUEUE_MAX_RESERVE)
        return sl_err_set(err, SL_ELIMIT, "queue '%s': %u reservations: expected at most %u",
                          s->name, s->reserve, SL_QUEUE_MAX_RESERVE);
    if (s->policy < SL_QUEUE_FCFS || s->policy > SL_QUEUE_CONSERVATIVE)
        return sl_err_set(err, SL_EINVAL, "queue '%s': no such policy", s->name);
    if (s->match >= sl_match_n_policies(q->m))
        return sl_err_set(err, SL_EINVAL, "queue '%s': no such match policy", s->name);
    if (s->parent) {
        line = find_line(q, s->parent);
        if (line == NONE)
            return sl_err_set(err, SL_ENOENT, "queue '%s': there is no queue '%s' above it",
                              s->name, s->parent);
    } else {
        line = add_line(q, s);
    }
    sl_map_add(&q->by_name, sl_hash_str(0, s->name), q->names.n);
    *sl_vec_push(&q->names) = (struct name){sl_strdup(s->name), line};
    return 0;
}

bool sl_queues_match(const struct sl_queues *q, const char *queue, uint32_t *ret) {
    uint32_t line = queue ? find_line(q, queue) : q->names.n > 0 ? q->names.v[0].line : NONE;

    if (line != NONE)
        *ret = q->lines.v[line].match;
    return line != NONE;
}

/* ---- jobs ---- */

static uint64_t id_hash(int64_t id) {
    return (uint64_t)id;
}

static uint32_t find_job(const struct sl_queues *q, int64_t id) {
    uint32_t c;

    for (uint32_t i = sl_map_first(&q->by_id, id_hash(id), &c); i != SL_MAP_NONE;
         i = sl_map_next(&q->by_id, id_hash(id), &c))
        if (q->jobs.v[i].id == id)
            return i;
    return NONE;
}

static bool has_reservation(const struct job *j) {
    return j->due != SL_HEAP_OUT;
}

/* One of the first jobs of the line left it, and its turn goes with it. */
static void leave_turn(struct line *l, uint32_t place) {
    if (place >= l->kept.n)
        return;
    l->kept.n--;
    memmove(&l->kept.v[place], &l->kept.v[place + 1], (l->kept.n - place) * sizeof *l->kept.v);
}

static void join_line(struct sl_queues *q, uint32_t i) {
    uint32_t l = q->jobs.v[i].line;
    struct line *line = &q->lines.v[l];
    struct sl_ordkey k = line_key(q, i);

    if (line->waiting.n == 0) {
        if (!sl_heap_empty(&q->turns)) {
            uint64_t least = q->lines.v[sl_heap_top(&q->turns)].had;
            line->had = line->had > least ? line->had : least;
        }
        line->next = line->had;
        sl_heap_fix(&q->turns, l);
    }
    sl_ordset_add(&line->waiting, &k, by_arrival, q);
}

static void leave_line(struct sl_queues *q, uint32_t i) {
    uint32_t l = q->jobs.v[i].line;
    struct sl_ordkey k = line_key(q, i);
    bool there = sl_ordset_del(&q->lines.v[l].waiting, &k, by_arrival, q);

    sl_assert(there);
    if (q->lines.v[l].waiting.n == 0)
        sl_heap_remove(&q->turns, l);
}

/* Something is free again from this time on. */
static void note_release(struct sl_queues *q, int64_t at) {
    *sl_vec_push(&q->given) = at;
    q->since = at < q->since ? at : q->since;
    q->capacity_freed = true;
}

/* Its reservation is given up. */
static void cancel(struct sl_queues *q, uint32_t i) {
    int r = sl_match_cancel(q->m, q->jobs.v[i].id);

    sl_assert(r == 0 || r == SL_ENOENT); /* a shrinking graph may have taken all it had */
    sl_heap_remove(&q->due, i);
    note_release(q, q->jobs.v[i].at);
}

/* Between turns: the job does not stand any more where the walk found it. */
static void leave_walk(struct sl_queues *q, uint32_t i) {
    struct job *j = &q->jobs.v[i];

    if (has_reservation(j))
        cancel(q, i);
    if (j->walked != NONE)
        q->walk.v[j->walked] = NONE;
    j->walked = NONE;
    j->placed = false;
}

static void forget_job(struct sl_queues *q, uint32_t i) {
    struct job *j = &q->jobs.v[i];

    sl_map_del(&q->by_id, id_hash(j->id), i);
    sl_match_request_freep(&j->r);
    *sl_vec_push(&q->idle) = i;
}

int sl_queues_submit(struct sl_queues *q, const char *queue, int64_t jobid, int64_t priority,
                     int64_t submitted, struct sl_match_request *r, struct sl_err *err) {
    _cleanup_(sl_match_request_freep) struct sl_match_request *own = r;
    struct sl_match_job_info info;
    uint32_t line = queue ? find_line(q, queue) : q->names.n > 0 ? q->names.v[0].line : NONE, i;

    if (line == NONE)
        return queue ? sl_err_set(err, SL_ENOENT, "there is no queue '%s'", queue)
                     : sl_err_set(err, SL_ENOENT, "there is no queue");
    if (find_job(q, jobid) != NONE || sl_match_job(q->m, jobid, &info))
        return sl_err_set(err, SL_EEXIST, "there is a job %lld already", (long long)jobid);
    if (q->jobs.n - q->idle.n >= SL_QUEUE_MAX_JOBS)
        return sl_err_set(err, SL_ELIMIT, "more than %u jobs", SL_QUEUE_MAX_JOBS);
    if (q->idle.n > 0) {
        i = sl_vec_pop(&q->idle);
    } else {
        i = q->jobs.n;
        (void)sl_vec_push(&q->jobs);
    }
    q->jobs.v[i] = (struct job){.id = jobid,
                                .priority = priority,
                                .submitted = submitted,
                                .arrival = q->arrivals++,
                                .r = TAKE_PTR(own),
                                .line = line,
                                .walked = NONE,
                                .due = SL_HEAP_OUT,
                                .reported_at = NEVER};
    sl_map_add(&q->by_id, id_hash(jobid), i);
    join_line(q, i);
    q->stirred = true;
    return 0;
}

int sl_queues_reprioritize(struct sl_queues *q, int64_t jobid, int64_t priority) {
    uint32_t i = find_job(q, jobid);

    if (i == NONE || !q->jobs.v[i].r)
        return SL_ENOENT;
    if (q->jobs.v[i].priority == priority)
        return 0;
    if (has_reservation(&q->jobs.v[i]))
        *sl_vec_push(&q->moved) = jobid;
    leave_walk(q, i);
    /* Not through leave_line: the line must not be empty in between, or it would lose its credit.
     */
    struct sl_ordset *waiting = &q->lines.v[q->jobs.v[i].line].waiting;
    struct sl_ordkey k = line_key(q, i);
    bool there = sl_ordset_del(waiting, &k, by_arrival, q);
    sl_assert(there);
    q->jobs.v[i].priority = priority;
    k = line_key(q, i);
    sl_ordset_add(waiting, &k, by_arrival, q);
    q->stirred = true;
    return 0;
}

/* When it is planned to end. */
static int64_t end_of(const struct sl_match_job_info *info) {
    return info->duration > 0 && info->at <= NEVER - info->duration ? info->at + info->duration
                                                                    : NEVER;
}

static void end_running(struct sl_queues *q, uint32_t i) {
    struct sl_match_job_info info;

    if (!sl_match_job(q->m, q->jobs.v[i].id, &info)) { /* it was ended by another */
        q->changed = true;
        return;
    }
    int64_t end = end_of(&info);
    q->freed_first = !q->freed || end < q->freed_first ? end : q->freed_first;
    q->freed_last = !q->freed || end > q->freed_last ? end : q->freed_last;
    q->freed = true;
    int r = sl_match_cancel(q->m, info.id);
    sl_assert(r == 0);
}

int sl_queues_remove(struct sl_queues *q, int64_t jobid) {
    uint32_t i = find_job(q, jobid);

    if (i == NONE)
        return SL_ENOENT;
    if (q->jobs.v[i].r) {
        struct line *line = &q->lines.v[q->jobs.v[i].line];
        struct sl_ordkey k = line_key(q, i);
        leave_turn(line, sl_ordset_rank(&line->waiting, &k, by_arrival, q));
        leave_walk(q, i);
        leave_line(q, i);
    } else {
        end_running(q, i);
    }
    forget_job(q, i);
    q->stirred = true;
    return 0;
}

void sl_queues_changed(struct sl_queues *q) {
    q->changed = q->stirred = true;
}

bool sl_queues_waiting(const struct sl_queues *q, int64_t jobid, struct sl_queue_waiting *ret) {
    uint32_t i = find_job(q, jobid);

    if (i == NONE || !q->jobs.v[i].r)
        return false;
    const struct job *j = &q->jobs.v[i];
    struct sl_ordkey k = line_key(q, i);
    *ret = (struct sl_queue_waiting){
        .place = sl_ordset_rank(&q->lines.v[j->line].waiting, &k, by_arrival, q),
        .reserved = has_reservation(j),
        .estimate = has_reservation(j) ? j->at : 0};
    return true;
}

int64_t sl_queues_next(const struct sl_queues *q) {
    return sl_heap_empty(&q->due) ? NEVER : q->jobs.v[sl_heap_top(&q->due)].at;
}

/* ---- a turn ---- */

static void report_decision(struct sl_queues *q, enum sl_decision_kind kind, const struct job *j,
                            int64_t at, enum sl_selection selection) {
    *sl_vec_push(q->out) =
        (struct sl_decision){.kind = kind, .jobid = j->id, .at = at, .selection = selection};
}

/* Reservations of jobs that were not tried yet in this turn: of a line those of lower priority, or
 * all (NONE). Such a job is tried as one that has none. */
static void lift(struct sl_queues *q, uint32_t line, int64_t priority) {
    for (uint32_t k = 0; k < q->last.n; k++) {
        uint32_t i = q->last.v[k];
        struct job *j = i == NONE ? NULL : &q->jobs.v[i];
        if (!j || !has_reservation(j) ||
            (line != NONE && (j->line != line || j->priority >= priority)))
            continue;
        cancel(q, i);
        j->lifted = true;
    }
}

static void unreserved(struct sl_queues *q, struct job *j) {
    if (j->reported_at != NEVER)
        report_decision(q, SL_DECIDED_UNRESERVE, j, q->now, SL_SELECT_RESERVED);
    j->reported_at = NEVER;
}

static void start_job(struct sl_queues *q, uint32_t i) {
    struct job *j = &q->jobs.v[i];
    struct line *line = &q->lines.v[j->line];

    report_decision(q, SL_DECIDED_START, j, q->now,
                    line->n_tried == 0 ? SL_SELECT_IMMEDIATE : SL_SELECT_BACKFILL);
    line->had++;
    q->stirred = true; /* the order of those behind may be another now */
    leave_turn(line, line->n_tried);
    sl_heap_remove(&q->due, i);
    leave_line(q, i);
    sl_match_request_freep(&j->r);
    j->walked = NONE;
}

/* It was tried and waits. */
static void wait(struct sl_queues *q, uint32_t i) {
    struct job *j = &q->jobs.v[i];
    struct line *line = &q->lines.v[j->line];

    if (has_reservation(j)) {
        line->reserved++;
        if (j->reported_at != j->at)
            report_decision(q, SL_DECIDED_RESERVE, j, j->at, SL_SELECT_RESERVED);
        j->reported_at = j->at;
    } else {
        unreserved(q, j);
    }
    j->walked = q->walk.n;
    j->seen = q->given.n;
    *sl_vec_push(&q->walk) = i;
    if (line->n_tried == line->kept.n)
        (void)sl_vec_push(&line->kept);
    line->kept.v[line->n_tried++] = line->next;
    if (has_reservation(j) || line->n_tried <= SL_QUEUE_CREDIT)
        line->keep = line->n_tried;
}

static int match_job(struct sl_queues *q, uint32_t i, enum sl_match_verdict *ret) {
    const struct job *j = &q->jobs.v[i];
    enum sl_match_op op = j->entitled                    ? SL_MATCH_ALLOCATE_OR_RESERVE
                          : j->satisfiable == q->changes ? SL_MATCH_ALLOCATE
                                                         : SL_MATCH_ALLOCATE_SATISFIABLE;
    int r =
        sl_match_run_by(q->m, q->lines.v[j->line].match, j->r, op, j->id, q->now, ret, NULL, NULL);
    /* It can be, but now it was not seen how. */
    if (r == SL_ELIMIT && op == SL_MATCH_ALLOCATE) {
        *ret = SL_BUSY;
        r = 0;
    }
    return r;
}

/* The matcher has it: it starts, or has this reservation. */
static void settle(struct sl_queues *q, uint32_t i) {
    struct job *j = &q->jobs.v[i];
    struct sl_match_job_info info;
    bool there = sl_match_job(q->m, j->id, &info);

    sl_assert(there);
    if (info.state == SL_JOB_ALLOCATED) {
        start_job(q, i);
        return;
    }
    j->at = info.at;
    j->end = end_of(&info);
    sl_heap_fix(&q->due, i);
    j->satisfiable = q->changes;
    wait(q, i);
}

/* False: it was rejected. */
static bool conclude(struct sl_queues *q, uint32_t i, int r, enum sl_match_verdict verdict) {
    struct job *j = &q->jobs.v[i];
    struct line *line = &q->lines.v[j->line];

    if (r == 0 && verdict == SL_MATCHED) {
        settle(q, i);
    } else if (r < 0 || verdict != SL_BUSY) {
        report_decision(q, SL_DECIDED_REJECT, j, q->now, SL_SELECT_IMMEDIATE);
        leave_turn(line, line->n_tried);
        leave_line(q, i);
        forget_job(q, i);
        return false;
    } else {
        j->satisfiable = q->changes;
        wait(q, i);
    }
    return true;
}

static bool try_job(struct sl_queues *q, uint32_t i) {
    enum sl_match_verdict verdict = SL_NEVER;
    int r = match_job(q, i, &verdict);

    return conclude(q, i, r, verdict);
}

static bool has_still(const struct sl_queues *q, int64_t id, const struct sl_grant *had) {
    struct sl_grant has = {0};
    bool same = sl_match_grant(q->m, id, &has) == 0 && has.state == had->state &&
                has.at == had->at && has.duration == had->duration && has.picks.n == had->picks.n;

    for (uint32_t k = 0; same && k < has.picks.n; k++)
        same =
            has.picks.v[k].v == had->picks.v[k].v && has.picks.v[k].needs == had->picks.v[k].needs;
    sl_grant_done(&has);
    return same;
}

/* What it is reserved on may be lost: to a job that overruns, or because something is down. If it
 * would be late, those behind give way to it. */
static bool remake(struct sl_queues *q, uint32_t i) {
    const struct job *j = &q->jobs.v[i];
    int64_t id = j->id, soon = j->at > q->now ? j->at : q->now + 1;
    uint32_t given = q->given.n;
    enum sl_match_verdict verdict = SL_NEVER;
    struct sl_match_job_info info;
    struct sl_grant had = {0};
    int was = sl_match_grant(q->m, id, &had);

    cancel(q, i);
    int r = match_job(q, i, &verdict);
    bool matched = r == 0 && verdict == SL_MATCHED && sl_match_job(q->m, id, &info);
    if (!matched || info.at > soon) {
        if (matched)
            sl_assert(sl_match_cancel(q->m, id) == 0);
        lift(q, NONE, 0);
        r = match_job(q, i, &verdict);
    } else if (was == 0 && has_still(q, id, &had)) {
        q->given.n = given; /* nothing was given back */
    }
    sl_grant_done(&had);
    return conclude(q, i, r, verdict);
}

/* To where it may begin now, which is not later. */
static void advance(struct sl_queues *q, uint32_t i) {
    const struct job *j = &q->jobs.v[i];
    bool moved;

    sl_assert(sl_match_again(q->m, q->lines.v[j->line].match, j->r, j->id, q->now, &moved) == 0);
    if (moved)
        note_release(q, j->at);
    settle(q, i);
}

/* False: it was rejected, and did not take its turn. */
static bool step_job(struct sl_queues *q, uint32_t i) {
    struct job *j = &q->jobs.v[i];
    const struct line *line = &q->lines.v[j->line];
    bool could = j->entitled, walked = j->walked != NONE, given = j->seen < q->last_given.n;
    int64_t since =
        given && q->last_given.v[j->seen] < q->since ? q->last_given.v[j->seen] : q->since;

    if (walked)
        q->last.v[j->walked] = NONE;
    j->walked = NONE;
    j->entitled = has_reservation(j) || line->reserved < line->reserve;
    if (!has_reservation(j)) {
        if (!j->placed)
            lift(q, j->line, j->priority);
        bool asked =
            walked && !j->lifted && !q->capacity_freed && !given && (could || !j->entitled);
        j->placed = true;
        j->lifted = false;
        if (!asked)
            return try_job(q, i);
        wait(q, i);
        return true;
    }
    if (q->anew || j->at < q->now)
        return remake(q, i);
    if (j->at == q->now) {
        if (sl_match_begin(q->m, j->id) < 0)
            return remake(q, i);
        start_job(q, i);
    } else if (since < j->end) {
        advance(q, i);
    } else {
        wait(q, i);
    }
    return true;
}

/* When the next job has its turn: when it had it, or after all that the line has had; but not
 * before the one that was tried last. */
static void set_next(struct line *l, uint64_t least) {
    uint64_t next = l->n_tried < l->kept.n ? l->kept.v[l->n_tried] : l->had + l->n_tried;

    l->next = next > least ? next : least;
}

static bool turn_over(const struct line *l) {
    return l->n_tried >= l->waiting.n || l->n_tried >= l->depth ||
           (l->policy == SL_QUEUE_FCFS && l->n_tried > 0);
}

static void begin_turn(struct sl_queues *q) {
    uint64_t generation = sl_graph_generation(sl_match_graph(q->m)), most = 0;

    if (generation != q->generation) {
        q->generation = generation;
        q->changed = true;
    }
    q->changes += q->changed;
    q->anew = q->changed;
    if (sl_queues_next(q) < q->now) /* one could not begin, and its time goes by */
        note_release(q, q->now);
    q->capacity_freed = q->changed || q->freed;
    /* Unless there was a turn at this time already, and they were still there. */
    bool in_time =
        !q->freed || (q->freed_first == q->now && q->freed_last == q->now && q->turned < q->now);
    q->since = q->changed || !in_time ? q->now : NEVER;
    q->turned = q->now;
    __typeof__(q->given) given = q->last_given;
    q->last_given = q->given;
    q->given = given;
    sl_vec_clear(&q->given);
    for (uint32_t k = q->last_given.n; k-- > 1;)
        if (q->last_given.v[k] < q->last_given.v[k - 1])
            q->last_given.v[k - 1] = q->last_given.v[k];
    q->stirred = q->changed = q->freed = false;
    __typeof__(q->last) old = q->last;
    q->last = q->walk;
    q->walk = old;
    sl_vec_clear(&q->walk);
    for (uint32_t k = 0; k < q->turns.items.n; k++) {
        const struct line *l = &q->lines.v[q->turns.items.v[k]];
        most = l->had > most ? l->had : most;
    }
    for (uint32_t k = 0; k < q->turns.items.n; k++) {
        struct line *l = &q->lines.v[q->turns.items.v[k]];
        l->n_tried = l->reserved = l->keep = 0;
        if (most - l->had > SL_QUEUE_CREDIT)
            l->had = most - SL_QUEUE_CREDIT;
        set_next(l, 0);
    }
    sl_heap_rebuild(&q->turns);
}

/* Those that the last turn tried and this one did not. */
static void drop_rest(struct sl_queues *q) {
    for (uint32_t k = 0; k < q->last.n; k++) {
        uint32_t i = q->last.v[k];
        if (i == NONE)
            continue;
        struct job *j = &q->jobs.v[i];
        if (has_reservation(j))
            cancel(q, i);
        unreserved(q, j);
        j->walked = NONE;
        j->lifted = false;
    }
    for (uint32_t k = 0; k < q->moved.n; k++) {
        uint32_t i = find_job(q, q->moved.v[k]);
        if (i != NONE && q->jobs.v[i].r && !has_reservation(&q->jobs.v[i]))
            unreserved(q, &q->jobs.v[i]);
    }
    sl_vec_clear(&q->moved);
}

static void end_turn(struct sl_queues *q) {
    for (uint32_t l = 0; l < q->lines.n; l++) {
        struct line *line = &q->lines.v[l];
        if (line->waiting.n == 0) {
            sl_vec_free(&line->kept);
            continue;
        }
        line->kept.n = line->keep;
        line->next = line->had;
        sl_heap_fix(&q->turns, l);
    }
}

static void take_turn(struct sl_queues *q) {
    begin_turn(q);
    while (!sl_heap_empty(&q->turns)) {
        uint32_t l = sl_heap_top(&q->turns);
        if (turn_over(&q->lines.v[l])) {
            sl_heap_remove(&q->turns, l);
            continue;
        }
        uint64_t turn = q->lines.v[l].next;
        bool rejected =
            !step_job(q, sl_ordset_at(&q->lines.v[l].waiting, q->lines.v[l].n_tried)->id);
        if (q->lines.v[l].turn != SL_HEAP_OUT) {
            set_next(&q->lines.v[l], turn + !rejected);
            sl_heap_fix(&q->turns, l);
        }
    }
    drop_rest(q);
    end_turn(q);
}

void sl_queues_run(struct sl_queues *q, int64_t now, sl_decisions *ret) {
    q->now = now > q->now ? now : q->now;
    if (!q->stirred && sl_queues_next(q) > q->now &&
        q->generation == sl_graph_generation(sl_match_graph(q->m)))
        return;
    q->out = ret;
    /* What a job gives up may be of use to one that came before it. */
    uint32_t n = 0;
    do
        take_turn(q);
    while (q->given.n > 0 && ++n < SL_QUEUE_PASSES);
    q->stirred = q->stirred || q->given.n > 0;
    q->out = NULL;
}
