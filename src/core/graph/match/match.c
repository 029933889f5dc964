/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs: from a request and a time to a verdict, and to jobs that hold what they got.
 */
#include "core/graph/match/match.h"

#include <stdlib.h>
#include <string.h>

#include "core/graph/match/match_int.h"

int sl_match_new(struct sl_graph *g, const struct sl_match_options *o, struct sl_match **ret,
                 struct sl_err *err) {
    struct sl_match *m = sl_alloc0(1, sizeof(*m));
    m->g = g;
    m->policy = o->policy;
    m->start = o->start;
    m->end = o->end ? o->end : INT64_MAX;
    m->fluxion = o->fluxion;
    sl_arena_init(&m->tables, SIZE_MAX / 4);
    sl_arena_init(&m->scratch, SIZE_MAX / 4);
    int r = 0;
    if (m->start < 0 || m->end <= m->start)
        r = sl_err_set(err, SL_EINVAL, "the graph's time ends before it begins");
    for (uint32_t i = 0; i < o->n_subsystems && r >= 0; i++) {
        sl_sym y = sl_sym_find(sl_graph_syms(g), o->subsystems[i]);
        if (y == SL_MAP_NONE || sl_graph_subsystem_root(g, y) == SL_VTX_NONE)
            r = sl_err_set(err, SL_ENOENT, "the graph has no subsystem %.60s", o->subsystems[i]);
        else if (strcmp(o->subsystems[i], SL_GRAPH_CONTAINMENT) != 0)
            *sl_vec_push(&m->subsystems) = y;
    }
    if (r >= 0)
        r = graph_filters_parse(m, o->filters ? o->filters : SL_MATCH_FILTERS, err);
    if (r >= 0)
        r = graph_layout_build(m, err);
    if (r < 0) {
        sl_match_free(m);
        return r;
    }
    *ret = m;
    return 0;
}

void sl_match_free(struct sl_match *m) {
    if (!m)
        return;
    graph_regraph_forget(m);
    sl_vec_free(&m->filters);
    sl_vec_free(&m->subsystems);
    sl_vec_free(&m->visited);
    for (uint32_t i = 0; i < MEMOS; i++)
        sl_freep(&m->memos[i].key);
    sl_vec_free(&m->picks.slots);
    sl_vec_free(&m->picks.in_window);
    sl_arena_done(&m->tables);
    sl_arena_done(&m->scratch);
    sl_match_free(m->empty);
    for (uint32_t i = 0; i < m->peers.n; i++)
        sl_match_free(m->peers.v[i]);
    sl_vec_free(&m->peers);
    if (!m->borrows)
        sl_graph_free(m->g);
    free(m);
}

static bool same_policy(const struct sl_match_policy *a, const struct sl_match_policy *b) {
    return a->low == b->low && a->node_centric == b->node_centric &&
           a->node_exclusive == b->node_exclusive && a->stop_early == b->stop_early &&
           a->locality == b->locality && a->variation == b->variation;
}

int sl_match_add_policy(struct sl_match *m, const struct sl_match_policy *p, uint32_t *ret,
                        struct sl_err *err) {
    for (*ret = 0; *ret <= m->peers.n; (*ret)++)
        if (same_policy(&graph_peer(m, *ret)->policy, p))
            return 0;
    if (*ret >= SL_MATCH_MAX_POLICIES)
        return sl_err_set(err, SL_ELIMIT, "more than %u match policies", SL_MATCH_MAX_POLICIES);
    struct sl_match *peer = graph_regraph_peer(m, p);
    *sl_vec_push(&m->peers) = peer;
    return 0;
}

uint32_t sl_match_n_policies(const struct sl_match *m) {
    return m->peers.n + 1;
}

const struct sl_graph *sl_match_graph(const struct sl_match *m) {
    return m->g;
}

/* ---- what is known of a class of requests ---- */

/* Its memo, made new if there is none; NULL if the request is too long for one. */
static struct graph_memo *memo_of(struct sl_match *m, const struct sl_match_request *r) {
    struct graph_memo *k = &m->memos[r->class % MEMOS];
    if (r->key_len > MEMO_KEY_MAX)
        return NULL;
    if (k->key && k->class == r->class && k->key_len == r->key_len &&
        memcmp(k->key, r->key, r->key_len) == 0)
        return k;
    sl_freep(&k->key);
    *k = (struct graph_memo){
        .class = r->class, .key = sl_alloc(r->key_len + 1), .key_len = r->key_len};
    memcpy(k->key, r->key, r->key_len);
    return k;
}

/* Can taking something only make it worse? Not if counts inside of slots may vary: fewer vertices
 * can be cut into more bundles, of fewer each. Nor if what is found depends on the order of
 * walking, or on what was found for a slot before. */
static bool is_steady(const struct sl_match *m, const struct sl_match_request *r) {
    if (m->subsystems.n > 0 || m->n_more > 0 || r->variants.n > r->alternatives.n)
        return false;
    for (uint32_t i = 0; i < r->reqs.n; i++) {
        const struct graph_req *slot = &r->reqs.v[i];
        if (slot->several)
            return false;
        for (uint32_t k = slot->with; !slot->type && k < slot->with + slot->n_with; k++) {
            const struct graph_req *q = &r->reqs.v[k];
            uint32_t type = m->policy.stop_early ? graph_layout_type(m, q->type) : GRAPH_NONE;
            if (!graph_req_is_fixed(q) || (type != GRAPH_NONE && !m->types.v[type].alike))
                return false;
        }
    }
    return true;
}

static bool known_busy(const struct sl_match *m, const struct graph_memo *k, int64_t now) {
    return k && k->busy && k->generation == m->generation && now >= k->since && now < k->until;
}

/* What was refused is refused until something is given back or a job's time ends. */
static void note_busy(const struct sl_match *m, const struct sl_match_request *r,
                      struct graph_memo *k, int64_t now) {
    if (!k || m->cut_short || !is_steady(m, r))
        return;
    k->busy = true;
    k->generation = m->generation;
    k->since = now;
    k->until = graph_hold_next_end(m, now);
}

static bool satisfiable(struct sl_match *m, const struct sl_match_request *r,
                        struct graph_memo *k) {
    struct graph_window w = {.when = WHEN_EMPTY, .any_status = true};
    struct graph_chain c;
    uint64_t generation = sl_graph_generation(m->g);
    m->cut_short = false;
    if (k && k->satisfiable != SATISFIABLE_UNKNOWN && k->graph_generation == generation)
        return k->satisfiable == SATISFIABLE_YES;
    bool yes = graph_search_at(m, r, &w, &c);
    m->cut_short = m->cut_short && !yes;
    if (k && !m->cut_short) {
        k->satisfiable = yes ? SATISFIABLE_YES : SATISFIABLE_NO;
        k->graph_generation = generation;
    }
    return yes;
}

/* ---- busy or never ---- */

/* The least number of nodes that requests side by side, and those in them, need. */
static uint64_t least_nodes(const struct sl_match *m, const struct sl_match_request *r,
                            uint32_t first, uint32_t n) {
    uint64_t sum = 0, mix = UINT64_MAX;
    for (uint32_t i = first; i < first + n; i++) {
        const struct graph_req *q = &r->reqs.v[i];
        uint64_t one = least_nodes(m, r, q->with, q->n_with) + (q->type && q->type == m->node);
        if (__builtin_mul_overflow(one, graph_req_least(q), &one) || one > UINT32_MAX)
            one = UINT32_MAX;
        if (q->kind == SL_REQ_OR_SLOT)
            mix = one < mix ? one : mix;
        else
            sum += one;
    }
    return mix == UINT64_MAX ? sum : sum + mix;
}

static uint64_t nodes_of(const struct sl_match *m, const struct sl_match_request *r) {
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < r->alternatives.n; i++) {
        const struct graph_alternative *a = &r->alternatives.v[i];
        uint64_t sum = 0;
        for (uint32_t k = a->first; k < a->first + a->n; k++)
            sum += least_nodes(m, r, r->variants.v[k].top, r->variants.v[k].n_top);
        least = sum < least ? sum : least;
    }
    return least;
}

/* Fluxion counts nodes before it searches: those that are up, and with a constraint those that it
 * allows and that are free, for a reservation in the last second. */
bool graph_match_has_nodes(struct sl_match *m, const struct sl_match_request *r,
                           enum sl_match_op op, int64_t now) {
    struct graph_window w = {WHEN_FUTURE, m->end - 1, m->end, op == SL_MATCH_ALLOCATE_SATISFIABLE};
    uint64_t nodes = nodes_of(m, r);
    if (op == SL_MATCH_ALLOCATE)
        (void)graph_search_window(m, r, now, WHEN_FUTURE, &w);
    return nodes <= m->nodes_up &&
           (r->constraint.kind == SL_CONSTRAINT_ALL || nodes <= graph_search_nodes_free(m, r, &w));
}

/* Fluxion's test: at the end of the graph's time, with the jobs that are there then. */
static bool satisfiable_at_end(struct sl_match *m, const struct sl_match_request *r) {
    int64_t longest = m->end - m->start, d = r->duration ? r->duration : longest;
    struct graph_window w = {WHEN_FUTURE, d < longest ? m->end - d - 1 : m->start, 0, true};
    struct graph_chain c;
    w.to = w.from + d;
    return graph_hold_last_end(m) <= w.from || graph_search_at(m, r, &w, &c);
}

/* ---- matching ---- */

static const struct {
    bool keeps;       /* the job has what it got */
    bool later;       /* a later time will do */
    bool tells_never; /* from merely busy */
} ops[] = {
    [SL_MATCH_ALLOCATE] = {.keeps = true},
    [SL_MATCH_ALLOCATE_SATISFIABLE] = {.keeps = true, .tells_never = true},
    [SL_MATCH_ALLOCATE_OR_RESERVE] = {.keeps = true, .later = true, .tells_never = true},
    [SL_MATCH_SATISFIABILITY] = {0},
    [SL_MATCH_WITHOUT] = {0},
    [SL_MATCH_WITHOUT_FUTURE] = {.later = true, .tells_never = true},
};

static int check_graph(const struct sl_match *m, const struct sl_match_request *r,
                       struct sl_err *err) {
    const struct sl_syms *syms = sl_graph_syms(m->g);
    for (uint32_t i = 0; i < r->types.n; i++)
        if (r->type_syms.v[i] >= syms->names.n ||
            strcmp(sl_sym_str(syms, r->type_syms.v[i]), r->types.v[i]) != 0)
            return sl_err_set(err, SL_EINVAL, "the request was made for another graph");
    return 0;
}

static void report_grant(const struct sl_match *m, const struct graph_chain *c,
                         const struct graph_window *w, enum sl_match_job_state state,
                         struct sl_grant *ret) {
    if (!ret)
        return;
    ret->state = state;
    ret->at = w->from;
    ret->duration = w->to - w->from;
    sl_grant_of_chain(m, c, ret);
}

static enum sl_match_verdict search_request(struct sl_match *m, const struct sl_match_request *r,
                                            enum sl_match_op op, int64_t now,
                                            struct graph_window *w, struct graph_chain *c) {
    struct graph_memo *k = memo_of(m, r);
    int64_t longest = m->end - m->start;
    m->cut_short = false;
    if (r->duration < 0 || r->duration > longest)
        return SL_BAD_TIME;
    if (op == SL_MATCH_SATISFIABILITY)
        return satisfiable(m, r, k) ? SL_SATISFIABLE : SL_NEVER;
    if (!graph_search_window(m, r, now, WHEN_PRESENT, w))
        return SL_BUSY;
    bool busy = known_busy(m, k, now);
    m->stats.cached_failures += busy;
    if (!busy && graph_search_at(m, r, w, c))
        return SL_MATCHED;
    if (!busy)
        note_busy(m, r, k, now);
    /* what the empty graph does not give another time may, if taking something can help */
    if (ops[op].later && (!is_steady(m, r) || satisfiable(m, r, k)) &&
        graph_search_later(m, r, now, INT64_MAX, w, c))
        return SL_MATCHED;
    if (m->fluxion && ops[op].keeps && !graph_match_has_nodes(m, r, op, now))
        return op == SL_MATCH_ALLOCATE_SATISFIABLE ? SL_NEVER : SL_BUSY;
    if (!ops[op].tells_never)
        return SL_BUSY;
    return satisfiable(m, r, k) && (!m->fluxion || satisfiable_at_end(m, r)) ? SL_BUSY : SL_NEVER;
}

static enum sl_match_job_state state_at(const struct graph_window *w) {
    return w->when == WHEN_PRESENT ? SL_JOB_ALLOCATED : SL_JOB_RESERVED;
}

static void hold_found(struct sl_match *m, int64_t jobid, const struct graph_window *w,
                       const struct graph_chain *c, bool kept) {
    for (uint32_t i = 0; i <= m->peers.n; i++) {
        struct sl_match *k = graph_peer(m, i);
        if (kept)
            graph_hold_chain(k, graph_hold_new(k, jobid, state_at(w), w->from, w->to), c);
        graph_index_visit(k, c, kept);
    }
}

int sl_match_run_by(struct sl_match *m, uint32_t policy, const struct sl_match_request *r,
                    enum sl_match_op op, int64_t jobid, int64_t now,
                    enum sl_match_verdict *ret_verdict, struct sl_grant *ret, struct sl_err *err) {
    struct graph_window w = {0};
    struct graph_chain c = {0};
    int code = check_graph(m, r, err);
    if (code < 0)
        return code;
    if (policy > m->peers.n)
        return sl_err_set(err, SL_EINVAL, "there is no match policy %u", policy);
    if (ops[op].keeps && graph_hold_job(m, jobid))
        return sl_err_set(err, SL_EEXIST, "job %lld is there already", (long long)jobid);
    struct sl_match *by = graph_peer(m, policy);
    *ret_verdict = search_request(by, r, op, now, &w, &c);
    if (*ret_verdict != SL_MATCHED) {
        m->stats.failures += *ret_verdict != SL_SATISFIABLE;
        return graph_slots_cut_short(by, err);
    }
    m->stats.matches++;
    enum sl_match_job_state state = state_at(&w);
    hold_found(m, jobid, &w, &c, ops[op].keeps);
    report_grant(by, &c, &w, ops[op].keeps ? state : SL_JOB_MATCHED, ret);
    return 0;
}

int sl_match_run(struct sl_match *m, const struct sl_match_request *r, enum sl_match_op op,
                 int64_t jobid, int64_t now, enum sl_match_verdict *ret_verdict,
                 struct sl_grant *ret, struct sl_err *err) {
    return sl_match_run_by(m, 0, r, op, jobid, now, ret_verdict, ret, err);
}

/* ---- jobs ---- */

uint32_t sl_match_n_jobs(const struct sl_match *m) {
    return m->n_jobs;
}

bool sl_match_job(const struct sl_match *m, int64_t jobid, struct sl_match_job_info *ret) {
    const struct graph_job *j = graph_hold_job(m, jobid);
    if (j)
        *ret = (struct sl_match_job_info){j->id, j->from, j->to - j->from, j->state};
    return j != NULL;
}

uint32_t sl_match_reservations(const struct sl_match *m, int64_t from, int64_t *ret, uint32_t max) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->jobs.n; i++) {
        const struct graph_job *j = &m->jobs.v[i];
        if (!j->used || j->state != SL_JOB_RESERVED || j->from < from)
            continue;
        if (n < max)
            ret[n] = j->id;
        n++;
    }
    return n;
}

int sl_match_grant(const struct sl_match *m, int64_t jobid, struct sl_grant *ret) {
    const struct graph_job *j = graph_hold_job(m, jobid);
    if (!j)
        return SL_ENOENT;
    sl_grant_of_job(m, j, ret);
    return 0;
}

int sl_match_cancel(struct sl_match *m, int64_t jobid) {
    if (!graph_hold_job(m, jobid))
        return SL_ENOENT;
    for (uint32_t i = 0; i <= m->peers.n; i++) {
        struct sl_match *k = graph_peer(m, i);
        graph_hold_drop(k, graph_hold_job(k, jobid));
        k->generation++;
    }
    return 0;
}

/* What the request of a reservation would get now, not later than that. */
static bool search_again(struct sl_match *m, const struct sl_match_request *r, int64_t now,
                         int64_t until, struct graph_window *w, struct graph_chain *c) {
    return now <= until && graph_search_window(m, r, now, WHEN_PRESENT, w) &&
           (graph_search_at(m, r, w, c) || graph_search_later(m, r, now, until, w, c));
}

int sl_match_again(struct sl_match *m, uint32_t policy, const struct sl_match_request *r,
                   int64_t jobid, int64_t now, bool *ret_moved) {
    struct sl_match *by = graph_peer(m, policy);
    struct graph_job *j = graph_hold_job(by, jobid);
    struct graph_window w = {0};
    struct graph_chain c = {0};
    if (!j)
        return SL_ENOENT;
    if (j->state != SL_JOB_RESERVED)
        return SL_EINVAL;
    graph_hold_hide(by, j);
    bool found = search_again(by, r, now, j->from, &w, &c);
    j = graph_hold_job(by, jobid); /* a search may hold what it found meanwhile */
    *ret_moved = found && (w.from < j->from || !graph_hold_is(by, j, &c));
    graph_hold_show(by, j);
    m->stats.matches++;
    if (!*ret_moved)
        return 0;
    sl_assert(sl_match_cancel(m, jobid) == 0);
    hold_found(m, jobid, &w, &c, true);
    return 0;
}

int sl_match_begin(struct sl_match *m, int64_t jobid) {
    struct graph_job *j = graph_hold_job(m, jobid);
    if (!j)
        return SL_ENOENT;
    if (j->state != SL_JOB_RESERVED)
        return SL_EINVAL;
    if (!graph_hold_begin(m, j))
        return SL_ESTALE;
    for (uint32_t i = 0; i < m->peers.n; i++)
        sl_assert(graph_hold_begin(m->peers.v[i], graph_hold_job(m->peers.v[i], jobid)));
    return 0;
}

void sl_match_stats(const struct sl_match *m, struct sl_match_stats *ret) {
    *ret = m->stats;
    for (uint32_t i = 0; i < m->peers.n; i++) {
        ret->visited += m->peers.v[i]->stats.visited;
        ret->cached_failures += m->peers.v[i]->stats.cached_failures;
    }
}

size_t sl_match_bytes(const struct sl_match *m) {
    size_t n = sizeof(*m) + sl_graph_bytes(m->g);
    n += (size_t)m->n_spots * (sizeof(*m->spots) + sizeof(*m->kids));
    n += m->kids_by_uniq ? (size_t)m->n_spots * sizeof(*m->kids_by_uniq) : 0;
    n += m->linked ? (size_t)(m->n_spots + m->n_more) * sizeof(*m->linked) : 0;
    n += m->ways.cap * sizeof(*m->ways.v);
    n += m->inners.cap * sizeof(*m->inners.v) + m->runs.cap * sizeof(*m->runs.v);
    n += m->masks.cap * sizeof(*m->masks.v) + m->profiles.cap * sizeof(*m->profiles.v);
    for (uint32_t i = 1; i < m->profiles.n; i++)
        n += (size_t)m->profiles.v[i].cap * 3 * sizeof(int64_t);
    n += (size_t)m->inners.n * m->n_counted * (sizeof(*m->free_amounts) + sizeof(*m->total));
    n += m->blocks.cap * (sizeof(*m->blocks.v) + 4 * sizeof(*m->held));
    n += (size_t)m->index.leaves * 2 * m->n_counted * sizeof(*m->index.most);
    n += m->index.order.cap * sizeof(*m->index.order.v) + m->blocks.n * sizeof(*m->index.rank);
    for (uint32_t i = 0; m->heavy && i < m->inners.n; i++)
        n += sizeof(*m->heavy) + m->heavy[i].n * sizeof(struct sl_ordkey);
    n += m->constrained.cap * sizeof(*m->constrained.v) + m->pools.cap * sizeof(*m->pools.v);
    n += m->spans.cap * sizeof(*m->spans.v) + m->words.cap * sizeof(*m->words.v);
    n += m->shares.cap * sizeof(*m->shares.v) + m->jobs.cap * sizeof(*m->jobs.v);
    for (uint32_t i = 0; i < TOPS; i++) {
        const struct graph_winners *by = &m->tops[i].by;
        n += by->n * sizeof(*by->places) + (size_t)2 * by->leaves * sizeof(*by->best);
    }
    n += m->visited.cap * sizeof(*m->visited.v);
    for (uint32_t i = 0; i < m->peers.n; i++)
        n += sl_match_bytes(m->peers.v[i]) - sl_graph_bytes(m->g);
    return m->empty ? n + sl_match_bytes(m->empty) : n;
}
