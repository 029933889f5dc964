/* SPDX-License-Identifier: Apache-2.0 */
/* The naive matcher: its state, and the verbs. */
#include "naive.h"

#include <stdlib.h>
#include <string.h>

#include "naive_int.h"

#define MAX_MEMORY ((size_t)1 << 30) /* of one walk */

/* ---- life ---- */

static char *copy_text(const char *s, size_t len) {
    char *t = sl_alloc(len + 1);
    memcpy(t, s, len);
    t[len] = '\0';
    return t;
}

static void read_filters(struct naive *n, const char *text) {
    while (*text) {
        size_t len = strcspn(text, ","), high = strcspn(text, ":");
        struct filter f = {.low = copy_text(text + high + 1, len - high - 1)};
        if (high != 3 || strncmp(text, "ALL", 3) != 0)
            f.high = copy_text(text, high);
        *sl_vec_push(&n->filters) = f;
        text += len + (text[len] == ',');
    }
}

static void reserve_vertices(struct naive *n) {
    while (n->at.n < sl_graph_count(n->g)) {
        *sl_vec_push(&n->at) = (struct holds){0};
        *sl_vec_push(&n->visited) = false;
        *sl_vec_push(&n->whole) = false;
    }
}

struct naive *naive_new(const struct sl_graph *g, const struct sl_match_options *o) {
    struct naive *n = sl_alloc0(1, sizeof(*n));
    n->g = sl_graph_clone(g);
    n->policies[0] = n->policy = o->policy;
    n->start = o->start;
    n->end = o->end ? o->end : INT64_MAX;
    n->fluxion = o->fluxion;
    read_filters(n, o->filters ? o->filters : SL_MATCH_FILTERS);
    for (uint32_t i = 0; i < o->n_subsystems; i++)
        *sl_vec_push(&n->subsystems) = sl_strdup(o->subsystems[i]);
    reserve_vertices(n);
    return n;
}

struct naive *naive_clone(const struct naive *n) {
    struct naive *c = sl_alloc0(1, sizeof(*c));
    c->g = sl_graph_clone(n->g);
    c->policy = n->policy;
    memcpy(c->policies, n->policies, sizeof(c->policies));
    c->start = n->start;
    c->end = n->end;
    c->fluxion = n->fluxion;
    for (uint32_t i = 0; i < n->filters.n; i++) {
        const struct filter *f = &n->filters.v[i];
        *sl_vec_push(&c->filters) =
            (struct filter){f->high ? sl_strdup(f->high) : NULL, sl_strdup(f->low)};
    }
    for (uint32_t i = 0; i < n->subsystems.n; i++)
        *sl_vec_push(&c->subsystems) = sl_strdup(n->subsystems.v[i]);
    for (uint32_t i = 0; i < n->jobs.n; i++)
        *sl_vec_push(&c->jobs) = n->jobs.v[i];
    reserve_vertices(c);
    for (uint32_t v = 0; v < n->at.n; v++)
        for (uint32_t i = 0; i < n->at.v[v].list.n; i++)
            *sl_vec_push(&c->at.v[v].list) = n->at.v[v].list.v[i];
    for (uint32_t v = 0; v < n->at.n; v++)
        c->visited.v[v] = n->visited.v[v];
    return c;
}

void naive_free(struct naive *n) {
    if (!n)
        return;
    for (uint32_t i = 0; i < n->filters.n; i++) {
        sl_freep(&n->filters.v[i].high);
        sl_freep(&n->filters.v[i].low);
    }
    for (uint32_t i = 0; i < n->subsystems.n; i++)
        sl_freep(&n->subsystems.v[i]);
    for (uint32_t v = 0; v < n->at.n; v++)
        sl_vec_free(&n->at.v[v].list);
    sl_vec_free(&n->filters);
    sl_vec_free(&n->subsystems);
    sl_vec_free(&n->jobs);
    sl_vec_free(&n->at);
    sl_vec_free(&n->visited);
    sl_vec_free(&n->whole);
    sl_graph_free(n->g);
    free(n);
}

void naive_also(struct naive *n, const struct sl_match_policy *p) {
    n->policies[1] = *p;
}

void naive_use(struct naive *n, uint32_t policy) {
    n->policy = n->policies[policy];
}

const struct sl_graph *naive_graph(const struct naive *n) {
    return n->g;
}

bool is_divisible(const struct naive *n, sl_vtx v) {
    return count_kids(n, v) == 0 && sl_vertex_prop(n->g, v, SL_GRAPH_DIVISIBLE);
}

bool is_below(const struct naive *n, sl_vtx v, sl_vtx top) {
    for (; v != SL_VTX_NONE; v = vertex_of(n, v)->parent)
        if (v == top)
            return true;
    return false;
}

/* ---- jobs and what they hold ---- */

static struct njob *njob_of(const struct naive *n, int64_t jobid) {
    for (uint32_t i = 0; i < n->jobs.n; i++)
        if (n->jobs.v[i].info.id == jobid)
            return &n->jobs.v[i];
    return NULL;
}

const struct sl_match_job_info *job_of(const struct naive *n, int64_t jobid) {
    const struct njob *j = njob_of(n, jobid);
    return j ? &j->info : NULL;
}

uint32_t naive_n_jobs(const struct naive *n) {
    return n->jobs.n;
}

struct sl_match_job_info naive_nth_job(const struct naive *n, uint32_t i) {
    return n->jobs.v[i].info;
}

bool naive_job(const struct naive *n, int64_t jobid, struct sl_match_job_info *ret) {
    const struct sl_match_job_info *j = job_of(n, jobid);
    if (j)
        *ret = *j;
    return j != NULL;
}

static struct hold *hold_of(const struct naive *n, sl_vtx v, int64_t jobid) {
    for (uint32_t i = 0; i < n->at.v[v].list.n; i++)
        if (n->at.v[v].list.v[i].job == jobid)
            return &n->at.v[v].list.v[i];
    return NULL;
}

static void drop_hold(struct naive *n, sl_vtx v, int64_t jobid) {
    struct holds *at = &n->at.v[v];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < at->list.n; i++)
        if (at->list.v[i].job != jobid)
            at->list.v[kept++] = at->list.v[i];
    at->list.n = kept;
}

static void drop_job(struct naive *n, int64_t jobid) {
    uint32_t kept = 0;
    for (uint32_t v = 0; v < n->at.n; v++)
        drop_hold(n, v, jobid);
    for (uint32_t i = 0; i < n->jobs.n; i++)
        if (n->jobs.v[i].info.id != jobid)
            n->jobs.v[kept++] = n->jobs.v[i];
    n->jobs.n = kept;
}

/* ---- from what was chosen to what is taken ---- */

struct mark {
    bool on, exclusive, all;
    int64_t amount;
    bool whole;   /* it is part of a subtree that is taken */
    bool is_met;  /* by the walk, through this parent: */
    sl_vtx above; /* SL_VTX_NONE: it has none */
};

static void mark_subtree(const struct naive *n, struct mark *m, sl_vtx v) {
    m[v].on = m[v].exclusive = m[v].whole = true;
    m[v].amount = vertex_of(n, v)->size;
    for (uint32_t i = 0; i < count_kids(n, v); i++)
        mark_subtree(n, m, any_kid(n, v, i));
}

static sl_vtx above_of(const struct way *w) {
    return w->up ? w->up->v : SL_VTX_NONE;
}

/* If it was met through another parent before, that one counts. */
static void meet(struct mark *m, const struct way *w) {
    if (!m->is_met)
        m->above = above_of(w);
    m->is_met = true;
}

static void mark_way(const struct naive *n, struct mark *m, const struct way *w) {
    for (; w->up && m[w->v].above == w->up->v; w = w->up) {
        sl_vtx v = w->up->v;
        if (!m[v].on)
            m[v] = (struct mark){.on = true, .amount = vertex_of(n, v)->size};
        meet(&m[v], w->up);
        if (n->policy.node_exclusive && strcmp(type_of(n, v), "node") == 0)
            m[v].exclusive = m[v].all = true;
    }
}

/* What the walk did not meet is part of something that is taken whole: it is among the children of
 * the first of its parents that are exclusive. */
static void find_above(const struct naive *n, struct mark *m) {
    for (sl_vtx v = 0; v < sl_graph_count(n->g); v++) {
        sl_vtx parent, first = vertex_of(n, v)->parent;
        if (!m[v].on || m[v].is_met)
            continue;
        m[v].above = first;
        for (uint32_t i = 0; (parent = any_parent(n, v, i)) != SL_VTX_NONE; i++)
            if (m[parent].on && m[parent].exclusive) {
                m[v].above = parent;
                break;
            }
    }
}

static struct mark *marks_of(const struct naive *n, const taken_list *taken) {
    struct mark *m = sl_alloc0(sl_graph_count(n->g) + 1, sizeof(*m));
    for (uint32_t i = 0; i < taken->n; i++) {
        const struct taken *t = &taken->v[i];
        struct mark *x = &m[t->v];
        bool amount = t->exclusive && is_divisible(n, t->v);
        x->amount = !amount        ? vertex_of(n, t->v)->size
                    : x->exclusive ? x->amount + t->amount
                                   : t->amount;
        x->exclusive |= t->exclusive;
        x->all |= t->all;
        x->on = true;
        meet(x, t->way);
    }
    for (uint32_t i = 0; i < taken->n; i++)
        mark_way(n, m, taken->v[i].way);
    for (uint32_t v = 0; v < sl_graph_count(n->g); v++)
        if (m[v].on && m[v].all && !is_divisible(n, v))
            mark_subtree(n, m, v);
    find_above(n, m);
    return m;
}

/* A vertex and what is among its children, and theirs. */
static void put_picks(const struct naive *n, const struct mark *m, sl_vtx v, struct sl_grant *ret) {
    *sl_vec_push(&ret->picks) = (struct sl_pick){v, m[v].amount, m[v].exclusive};
    for (uint32_t i = 0; i < count_kids(n, v); i++) {
        sl_vtx kid = any_kid(n, v, i);
        if (m[kid].on && m[kid].above == v)
            put_picks(n, m, kid, ret);
    }
}

static void fill_grant(const struct naive *n, const struct mark *m, enum sl_match_job_state state,
                       int64_t at, int64_t duration, struct sl_grant *ret) {
    ret->state = state;
    ret->at = at;
    ret->duration = duration;
    sl_vec_clear(&ret->picks);
    sl_vec_clear(&ret->ways);
    for (uint32_t i = 0; i < sl_graph_live(n->g); i++) {
        sl_vtx v = sl_graph_at(n->g, i);
        if (m[v].on && m[v].above == SL_VTX_NONE)
            put_picks(n, m, v, ret);
    }
    for (sl_vtx v = 0; v < sl_graph_count(n->g); v++)
        if (m[v].on && m[v].above != vertex_of(n, v)->parent)
            *sl_vec_push(&ret->ways) = (struct sl_grant_way){v, m[v].above};
}

int naive_grant(const struct naive *n, int64_t jobid, struct sl_grant *ret) {
    const struct njob *j = njob_of(n, jobid);
    if (!j)
        return SL_ENOENT;
    struct mark *m = sl_alloc0(sl_graph_count(n->g) + 1, sizeof(*m));
    for (sl_vtx v = 0; v < n->at.n; v++) {
        const struct hold *h = hold_of(n, v, jobid);
        if (h)
            m[v] = (struct mark){
                .on = true, .exclusive = h->exclusive, .amount = h->amount, .above = h->above};
    }
    fill_grant(n, m, j->info.state, j->info.at, j->info.duration, ret);
    ret->n_slots = j->n_slots;
    free(m);
    return 0;
}

static void add_holds(struct naive *n, const struct sl_grant *g, int64_t jobid, int64_t from,
                      int64_t to) {
    for (uint32_t i = 0; i < g->picks.n; i++) {
        const struct sl_pick *p = &g->picks.v[i];
        struct hold *h = hold_of(n, p->v, jobid);
        if (!h) {
            *sl_vec_push(&n->at.v[p->v].list) = (struct hold){jobid,
                                                              from,
                                                              to,
                                                              p->needs,
                                                              p->exclusive,
                                                              n->whole.v[p->v],
                                                              sl_grant_parent(n->g, g, p->v)};
            continue;
        }
        h->whole |= n->whole.v[p->v];
        if (is_divisible(n, p->v) && h->exclusive && p->exclusive)
            h->amount += p->needs;
        else if (p->exclusive)
            h->amount = p->needs;
        h->exclusive |= p->exclusive;
    }
}

/* ---- matching ---- */

/* The top of a request, or of several slots there one each: the first beside what is no slot. */
static uint32_t parts_of(const struct wants *top, struct wants parts[SL_REQ_MAX],
                         struct sl_arena *mem) {
    uint32_t n = 1;
    parts[0] = (struct wants){sl_arena_alloc0(mem, top->n + 1, sizeof(struct want *)), 0};
    for (uint32_t i = 0, slots = 0; i < top->n; i++) {
        if (top->v[i]->type || slots++ == 0)
            parts[0].v[parts[0].n++] = top->v[i];
        else
            parts[n++] = (struct wants){&top->v[i], 1};
    }
    return n;
}

#define ORDERS 120

struct trying {
    struct question q;
    const struct wants *parts;
    uint32_t n_parts, tried;
    bool used[SL_REQ_MAX];
};

/* Goes on in all orders, those that keep to the request's as long as possible first. */
static bool try_orders(struct trying *t, uint32_t so_far, taken_list *taken) {
    if (so_far == t->n_parts)
        return true;
    bool good = false;
    for (uint32_t i = 0; i < t->n_parts && !good && t->tried < ORDERS; i++) {
        if (t->used[i])
            continue;
        struct mark *m = marks_of(t->q.n, taken);
        uint32_t before = taken->n, slots = t->q.n_slots;
        t->q.chosen.n = 0;
        for (sl_vtx v = 0; v < t->q.n->at.n && so_far > 0; v++)
            if (m[v].on)
                *sl_vec_push(&t->q.chosen) =
                    (struct taken){v, m[v].amount, m[v].exclusive, false, NULL};
        t->q.given = t->q.chosen.n;
        free(m);
        t->used[i] = true;
        bool found = find_match(&t->q, &t->parts[i], taken);
        good = found && try_orders(t, so_far + 1, taken);
        t->used[i] = false;
        /* all orders that begin so have failed */
        uint32_t orders = 1;
        for (uint32_t k = 2; !found && k < t->n_parts - so_far && orders < ORDERS; k++)
            orders *= k;
        t->tried += found ? so_far + 1 == t->n_parts : orders;
        if (!good) {
            taken->n = before;
            t->q.n_slots = slots;
        }
    }
    return good;
}

/* One walk per alternative of the request, or one per slot. */
static bool attempt(struct naive *n, const struct sl_jobspec *j, enum when when, int64_t from,
                    int64_t to, struct sl_grant *ret) {
    bool good = false;
    for (uint32_t i = 0; i < alternatives(j) && !good; i++) {
        struct sl_arena mem;
        taken_list taken = {0};
        sl_arena_init(&mem, MAX_MEMORY);
        struct wants top = wants_of(j, i, &mem), parts[SL_REQ_MAX];
        struct trying t = {.q = {.n = n,
                                 .when = when,
                                 .from = from,
                                 .to = to,
                                 .constraint = &j->constraint,
                                 .mem = &mem},
                           .parts = parts,
                           .n_parts = parts_of(&top, parts, &mem)};
        good = try_orders(&t, 0, &taken);
        sl_vec_free(&t.q.chosen);
        if (good) {
            struct mark *m = marks_of(n, &taken);
            fill_grant(n, m, SL_JOB_MATCHED, from, to - from, ret);
            ret->n_slots = t.q.n_slots;
            for (sl_vtx v = 0; v < n->at.n; v++)
                n->whole.v[v] = m[v].whole;
            free(m);
        }
        sl_vec_free(&taken);
        sl_arena_done(&mem);
    }
    return good;
}

static bool is_satisfiable(struct naive *n, const struct sl_jobspec *j) {
    struct sl_grant unused = {0};
    bool yes = attempt(n, j, ANYTIME, n->start, n->end, &unused);
    sl_grant_done(&unused);
    return yes;
}

static int64_t window_end(const struct naive *n, int64_t at, int64_t duration) {
    return duration == 0 || duration > n->end - at ? n->end : at + duration;
}

/* The next time after t at which a job ends; the end of the graph's time if there is none. A job
 * that overruns is thought to end in the next second. */
static int64_t next_end(const struct naive *n, int64_t now, int64_t t) {
    int64_t next = n->end;
    for (uint32_t i = 0; i < n->jobs.n; i++) {
        const struct sl_match_job_info *j = &n->jobs.v[i].info;
        int64_t end = j->at + j->duration;
        if (j->state == SL_JOB_ALLOCATED && end <= now)
            end = now + 1;
        if (end > t && end < next)
            next = end;
    }
    return next;
}

/* ---- Fluxion's verdicts ---- */

static bool is_up(const struct naive *n, sl_vtx v) {
    for (; v != SL_VTX_NONE; v = vertex_of(n, v)->parent)
        if (vertex_of(n, v)->down)
            return false;
    return true;
}

/* Nodes that are up or need not be, that the constraint allows, and that are free in a window. */
static uint64_t nodes_there(const struct naive *n, const struct sl_constraint *t, bool up,
                            int64_t from, int64_t to) {
    struct question q = {.n = n, .when = t ? FUTURE : ANYTIME, .from = from, .to = to};
    uint64_t found = 0;
    for (uint32_t i = 0; i < sl_graph_live(n->g); i++) {
        sl_vtx v = sl_graph_at(n->g, i), top = v;
        while (vertex_of(n, top)->parent != SL_VTX_NONE)
            top = vertex_of(n, top)->parent;
        found += strcmp(type_of(n, v), "node") == 0 && top == sl_graph_root(n->g) &&
                 (!up || is_up(n, v)) && (!t || constraint_allows(n, t, v)) && free_of(&q, v) > 0;
    }
    return found;
}

static bool has_nodes(const struct naive *n, const struct sl_jobspec *j, enum sl_match_op op,
                      int64_t now) {
    uint64_t needed = nodes_needed(j);
    bool now_only = op == SL_MATCH_ALLOCATE;
    if (needed > nodes_there(n, NULL, true, 0, 0))
        return false;
    return j->constraint.kind == SL_CONSTRAINT_ALL ||
           needed <= nodes_there(n, &j->constraint, op != SL_MATCH_ALLOCATE_SATISFIABLE,
                                 now_only ? now : n->end - 1,
                                 now_only ? window_end(n, now, j->duration) : n->end);
}

static bool is_satisfiable_at_end(struct naive *n, const struct sl_jobspec *j) {
    int64_t longest = n->end - n->start, d = j->duration ? j->duration : longest;
    int64_t from = d < longest ? n->end - d - 1 : n->start;
    struct sl_grant unused = {0};
    bool busy = false;
    for (uint32_t i = 0; i < n->jobs.n; i++)
        busy = busy || n->jobs.v[i].info.at + n->jobs.v[i].info.duration > from;
    bool yes = !busy || attempt(n, j, AT_END, from, from + d, &unused);
    sl_grant_done(&unused);
    return yes;
}

static const struct {
    bool takes, later, tells_never;
} ops[] = {
    [SL_MATCH_ALLOCATE] = {.takes = true},
    [SL_MATCH_ALLOCATE_SATISFIABLE] = {.takes = true, .tells_never = true},
    [SL_MATCH_ALLOCATE_OR_RESERVE] = {.takes = true, .later = true, .tells_never = true},
    [SL_MATCH_SATISFIABILITY] = {.tells_never = true},
    [SL_MATCH_WITHOUT] = {0},
    [SL_MATCH_WITHOUT_FUTURE] = {.later = true, .tells_never = true},
};

int naive_run(struct naive *n, const struct sl_jobspec *j, enum sl_match_op op, int64_t jobid,
              int64_t now, enum sl_match_verdict *ret_verdict, struct sl_grant *ret) {
    int64_t at = now;
    bool good;
    if (ops[op].takes && job_of(n, jobid))
        return SL_EEXIST;
    if (j->duration < 0 || j->duration > n->end - n->start) {
        *ret_verdict = SL_BAD_TIME;
        return 0;
    }
    if (op == SL_MATCH_SATISFIABILITY) {
        *ret_verdict = is_satisfiable(n, j) ? SL_SATISFIABLE : SL_NEVER;
        return 0;
    }
    *ret_verdict = SL_BUSY;
    if (now >= n->end)
        return 0;
    good = attempt(n, j, PRESENT, now, window_end(n, now, j->duration), ret);
    while (!good && ops[op].later && (at = next_end(n, now, at)) < n->end)
        good = attempt(n, j, FUTURE, at, window_end(n, at, j->duration), ret);
    if (!good && n->fluxion && ops[op].takes && !has_nodes(n, j, op, now)) {
        *ret_verdict = op == SL_MATCH_ALLOCATE_SATISFIABLE ? SL_NEVER : SL_BUSY;
        return 0;
    }
    if (!good && ops[op].tells_never &&
        (!is_satisfiable(n, j) || (n->fluxion && !is_satisfiable_at_end(n, j))))
        *ret_verdict = SL_NEVER;
    if (!good)
        return 0;
    *ret_verdict = SL_MATCHED;
    if (ops[op].takes) {
        ret->state = at > now ? SL_JOB_RESERVED : SL_JOB_ALLOCATED;
        *sl_vec_push(&n->jobs) =
            (struct njob){{jobid, at, ret->duration, ret->state}, ret->n_slots};
        add_holds(n, ret, jobid, at, at + ret->duration);
    }
    note_visited(n, ret, ops[op].takes);
    return 0;
}

int naive_grow_job(struct naive *n, int64_t jobid, const struct sl_jobspec *j, int64_t now,
                   enum sl_match_verdict *ret_verdict, struct sl_grant *ret) {
    const struct sl_match_job_info *job = job_of(n, jobid);
    if (!job)
        return SL_ENOENT;
    if (job->state != SL_JOB_ALLOCATED)
        return SL_EINVAL;
    int64_t end = job->at + job->duration;
    if (now < job->at || now >= end)
        return SL_EINVAL;
    bool good = attempt(n, j, PRESENT, now, end, ret);
    *ret_verdict = good ? SL_MATCHED : SL_BUSY;
    if (good) {
        ret->state = SL_JOB_ALLOCATED;
        add_holds(n, ret, jobid, job->at, end);
        note_visited(n, ret, true);
        njob_of(n, jobid)->n_slots += ret->n_slots;
    }
    return 0;
}

/* ---- giving back ---- */

int naive_cancel(struct naive *n, int64_t jobid) {
    if (!job_of(n, jobid))
        return SL_ENOENT;
    drop_job(n, jobid);
    return 0;
}

/* Does the job have something among the children of a vertex? What it has is complete up to the
 * root. */
static bool has_below(const struct naive *n, sl_vtx v, int64_t jobid) {
    for (sl_vtx u = 0; u < n->at.n; u++)
        if (hold_of(n, u, jobid) && hold_of(n, u, jobid)->above == v)
            return true;
    return false;
}

/* Is a vertex another one, or below it, in what the job has? */
static bool is_part_of(const struct naive *n, int64_t jobid, sl_vtx v, sl_vtx top) {
    while (v != top && v != SL_VTX_NONE)
        v = hold_of(n, v, jobid)->above;
    return v == top;
}

/* Those whose parent was removed are among the children of their first parent from now on. */
static void hang_anew(struct naive *n, int64_t jobid, const bool *gone, bool *led) {
    for (sl_vtx v = 0; v < n->at.n; v++) {
        struct hold *h = hold_of(n, v, jobid);
        if (!h || h->above == SL_VTX_NONE || !gone[h->above])
            continue;
        struct hold way = *h;
        h->above = vertex_of(n, v)->parent;
        for (sl_vtx u = h->above; u != SL_VTX_NONE && !hold_of(n, u, jobid); u = way.above) {
            way.exclusive = way.whole = false;
            way.amount = vertex_of(n, u)->size;
            way.above = vertex_of(n, u)->parent;
            *sl_vec_push(&n->at.v[u].list) = way;
            led[u] = true;
        }
    }
}

/* What a job has at these vertices and, if they are given back, below goes, and shared ones above
 * that lead to nothing any more. Says whether anything is left. */
static bool take_from(struct naive *n, int64_t jobid, const sl_vtx *v, uint32_t n_v,
                      bool given_back) {
    uint32_t n_all = sl_graph_count(n->g);
    bool *led = sl_alloc0(n_all + 1, sizeof(*led)), left = false, again = true;
    bool *gone = sl_alloc0(n_all + 1, sizeof(*gone));
    for (uint32_t u = 0; u < n_all; u++)
        led[u] = !vertex_of(n, u)->removed && has_below(n, u, jobid);
    for (uint32_t u = 0; u < n_all; u++)
        for (uint32_t i = 0; i < n_v; i++)
            gone[u] = gone[u] || u == v[i] ||
                      (given_back && hold_of(n, u, jobid) && is_part_of(n, jobid, u, v[i]));
    /* what is above is not all the job's any more, and so not exclusive */
    for (uint32_t i = 0; i < n_v && given_back; i++)
        for (sl_vtx u = hold_of(n, v[i], jobid)->above; u != SL_VTX_NONE;
             u = hold_of(n, u, jobid)->above)
            hold_of(n, u, jobid)->exclusive = false;
    for (uint32_t u = 0; u < n_all; u++)
        if (gone[u])
            drop_hold(n, u, jobid);
    hang_anew(n, jobid, gone, led);
    free(gone);
    while (again) {
        again = left = false;
        for (uint32_t u = 0; u < n_all; u++) {
            const struct hold *h = hold_of(n, u, jobid);
            if (!h)
                continue;
            left = true;
            if (!h->exclusive && led[u] && !has_below(n, u, jobid)) {
                drop_hold(n, u, jobid);
                again = true;
            }
        }
    }
    free(led);
    return left;
}

int naive_cancel_part(struct naive *n, int64_t jobid, const sl_vtx *v, uint32_t n_v,
                      bool *ret_all) {
    const struct sl_match_job_info *j = job_of(n, jobid);
    if (!j)
        return SL_ENOENT;
    if (j->state != SL_JOB_ALLOCATED)
        return SL_EINVAL;
    for (uint32_t i = 0; i < n_v; i++)
        if (v[i] >= n->at.n || !hold_of(n, v[i], jobid))
            return SL_EINVAL;
    *ret_all = !take_from(n, jobid, v, n_v, true);
    if (*ret_all)
        drop_job(n, jobid);
    return 0;
}

/* ---- update ---- */

static bool pick_is_good(const struct naive *n, const struct sl_pick *p) {
    if (p->v >= sl_graph_count(n->g) || vertex_of(n, p->v)->removed)
        return false;
    return p->needs >= 1 && p->needs <= vertex_of(n, p->v)->size;
}

static bool can_have(const struct question *q, sl_vtx v, const struct mark *m) {
    int64_t is_free = free_of(q, v);
    if (m->exclusive && is_divisible(q->n, v))
        return is_free >= m->amount;
    return is_free > 0 && !(m->exclusive && is_touched(q, v));
}

/* Fails if something of it is still allocated to another job. */
int naive_begin(struct naive *n, int64_t jobid) {
    struct njob *j = njob_of(n, jobid);
    if (!j)
        return SL_ENOENT;
    if (j->info.state != SL_JOB_RESERVED)
        return SL_EINVAL;
    struct question q = {.n = n,
                         .when = PRESENT,
                         .from = j->info.at,
                         .to = j->info.at + j->info.duration,
                         .except = j};
    for (sl_vtx v = 0; v < n->at.n; v++) {
        const struct hold *h = hold_of(n, v, jobid);
        struct mark m = {.on = true};
        if (!h)
            continue;
        m.exclusive = h->exclusive;
        m.amount = h->amount;
        if (!can_have(&q, v, &m))
            return SL_ESTALE;
    }
    j->info.state = SL_JOB_ALLOCATED;
    return 0;
}

int naive_update(struct naive *n, int64_t jobid, enum sl_match_job_state state,
                 const struct sl_pick *v, uint32_t n_v, int64_t at, int64_t duration) {
    struct sl_grant g = {0};
    struct question q = {.n = n, .when = state == SL_JOB_ALLOCATED ? PRESENT : FUTURE, .from = at};
    int r = 0;
    if (job_of(n, jobid))
        return SL_EEXIST;
    if (n_v == 0 || duration < 1 || at < n->start || at >= n->end || duration > n->end - at)
        return SL_EINVAL;
    q.to = at + duration;
    struct mark *m = sl_alloc0(sl_graph_count(n->g) + 1, sizeof(*m));
    for (uint32_t i = 0; i < n_v && r >= 0; i++) {
        if (!pick_is_good(n, &v[i]) || m[v[i].v].on) {
            r = SL_EINVAL;
            break;
        }
        int64_t size = vertex_of(n, v[i].v)->size;
        bool amount = is_divisible(n, v[i].v) && v[i].exclusive;
        m[v[i].v] = (struct mark){
            .on = true, .exclusive = v[i].exclusive, .amount = amount ? v[i].needs : size};
    }
    /* through the first of the parents that are listed, or the first */
    bool *listed = sl_alloc0(sl_graph_count(n->g) + 1, sizeof(*listed));
    for (sl_vtx u = 0; u < sl_graph_count(n->g); u++)
        listed[u] = m[u].on;
    for (uint32_t i = 0; i < n_v && r >= 0; i++)
        for (sl_vtx u = v[i].v; u != SL_VTX_NONE; u = m[u].above) {
            if (!m[u].on)
                m[u] = (struct mark){.on = true, .amount = vertex_of(n, u)->size};
            m[u].above = vertex_of(n, u)->parent;
            sl_vtx parent;
            for (uint32_t k = 0; (parent = any_parent(n, u, k)) != SL_VTX_NONE; k++)
                if (listed[parent]) {
                    m[u].above = parent;
                    break;
                }
        }
    free(listed);
    for (sl_vtx u = 0; u < sl_graph_count(n->g) && r >= 0; u++)
        if (m[u].on && !can_have(&q, u, &m[u]))
            r = SL_EEXIST;
    if (r >= 0) {
        fill_grant(n, m, state, at, q.to - at, &g);
        *sl_vec_push(&n->jobs) = (struct njob){{jobid, at, q.to - at, state}, 0};
        for (sl_vtx u = 0; u < n->at.n; u++)
            n->whole.v[u] = false;
        add_holds(n, &g, jobid, at, q.to);
        note_visited(n, &g, true);
    }
    sl_grant_done(&g);
    free(m);
    return r;
}

/* ---- the graph changes ---- */

int naive_shrink(struct naive *n, const sl_vtx *v, uint32_t n_v) {
    struct sl_graph *g = sl_graph_clone(n->g);
    SL_VEC(sl_vtx) gone = {0};
    int r;
    for (uint32_t i = 0; i < n_v; i++)
        sl_graph_remove(g, v[i]);
    r = sl_graph_seal(g, NULL);
    if (r < 0) {
        sl_graph_free(g);
        return r;
    }
    /* sealing removes what only hung on the removed ones in auxiliary subsystems */
    for (sl_vtx u = 0; u < sl_graph_count(g); u++)
        if (sl_graph_vertex(g, u)->removed && !vertex_of(n, u)->removed)
            *sl_vec_push(&gone) = u;
    for (uint32_t i = n->jobs.n; i-- > 0;) {
        int64_t jobid = n->jobs.v[i].info.id;
        if (!take_from(n, jobid, gone.v, gone.n, false))
            drop_job(n, jobid);
    }
    sl_vec_free(&gone);
    sl_graph_free(n->g);
    n->g = g;
    return 0;
}

struct sl_graph *naive_grow(struct naive *n) {
    n->before = sl_graph_clone(n->g);
    return n->g;
}

static bool was_divisible(struct naive *n, sl_vtx v) {
    return sl_graph_is_leaf(n->before, v) && sl_vertex_prop(n->before, v, SL_GRAPH_DIVISIBLE);
}

/* Nothing may be put into a divisible pool that somebody has. */
int naive_regraph(struct naive *n) {
    int r = sl_graph_seal(n->g, NULL);
    for (sl_vtx v = 0; v < n->at.n && r >= 0; v++)
        if (n->at.v[v].list.n > 0 && was_divisible(n, v) && count_kids(n, v) > 0)
            r = SL_EINVAL;
    /* nor into one of which there is nothing */
    for (sl_vtx v = 0; v < n->at.n && r >= 0; v++)
        if (!vertex_of(n, v)->removed && vertex_of(n, v)->size == 0 && count_kids(n, v) > 0)
            r = SL_EINVAL;
    if (r < 0) {
        struct sl_graph *bad = n->g;
        n->g = n->before;
        n->before = bad;
    }
    sl_graph_freep(&n->before);
    reserve_vertices(n);
    return r;
}

void naive_set_down(struct naive *n, sl_vtx v, bool down) {
    sl_graph_set_down(n->g, v, down);
}

/* Who has it with all that contains it has all of it, whatever the size. */
int naive_resize(struct naive *n, sl_vtx v, int64_t size) {
    if (v >= n->at.n || vertex_of(n, v)->removed || !is_divisible(n, v))
        return SL_EINVAL;
    if (size < 0 || size > SL_GRAPH_MAX_SIZE)
        return SL_EINVAL;
    sl_graph_set_size(n->g, v, size);
    for (uint32_t i = 0; i < n->at.v[v].list.n; i++)
        if (n->at.v[v].list.v[i].whole || !n->at.v[v].list.v[i].exclusive)
            n->at.v[v].list.v[i].amount = size;
    return 0;
}

/* Whether a pool is divisible does not change while somebody has it. */
static bool is_fixed(const struct naive *n, sl_vtx v, const char *key) {
    return strcmp(key, SL_GRAPH_DIVISIBLE) == 0 && count_kids(n, v) == 0 &&
           (n->at.v[v].list.n > 0 || vertex_of(n, v)->size == 0);
}

int naive_set_prop(struct naive *n, sl_vtx v, const char *key, const char *value) {
    return is_fixed(n, v, key) ? SL_EINVAL : sl_vertex_set_prop(n->g, v, key, value, NULL);
}

bool naive_del_prop(struct naive *n, sl_vtx v, const char *key) {
    return !is_fixed(n, v, key) && sl_vertex_del_prop(n->g, v, key);
}
