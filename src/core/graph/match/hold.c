/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs take and give back. A job's part of a block is one span; what is allocated is also in the
 * block's 'held' masks and in the sums.
 */
#include <string.h>

#include "core/base/collection/bits.h"
#include "core/graph/match/match_int.h"

/* ---- jobs ---- */

struct graph_job *graph_hold_job(const struct sl_match *m, int64_t id) {
    uint64_t key = (uint64_t)id;
    uint32_t c;
    for (uint32_t i = sl_map_first(&m->by_id, key, &c); i != SL_MAP_NONE;
         i = sl_map_next(&m->by_id, key, &c))
        if (m->jobs.v[i].id == id)
            return &m->jobs.v[i];
    return NULL;
}

static int no_tie(const void *ctx, uint32_t a, uint32_t b) {
    (void)ctx;
    return a < b ? -1 : a > b;
}

static struct sl_ordkey end_key(const struct sl_match *m, const struct graph_job *j) {
    return (struct sl_ordkey){.at = j->to, .tie = (uint64_t)j->id, .id = (uint32_t)(j - m->jobs.v)};
}

struct graph_job *graph_hold_new(struct sl_match *m, int64_t id, enum sl_match_job_state state,
                                 int64_t from, int64_t to) {
    uint32_t i = m->free_jobs.n > 0 ? sl_vec_pop(&m->free_jobs) : m->jobs.n;
    if (i == m->jobs.n)
        (void)sl_vec_push(&m->jobs);
    struct graph_job *j = &m->jobs.v[i];
    *j = (struct graph_job){.id = id, .from = from, .to = to, .state = state, .used = true};
    sl_map_add(&m->by_id, (uint64_t)id, i);
    struct sl_ordkey end = end_key(m, j);
    sl_ordset_add(&m->ends, &end, no_tie, NULL);
    m->n_jobs++;
    return j;
}

int64_t graph_hold_next_end(const struct sl_match *m, int64_t after) {
    struct sl_ordkey k = {.at = after, .tie = UINT64_MAX, .id = UINT32_MAX};
    const struct sl_ordkey *e = sl_ordset_at(&m->ends, sl_ordset_rank(&m->ends, &k, no_tie, NULL));
    return e ? e->at : SL_PLAN_NEVER;
}

int64_t graph_hold_last_end(const struct sl_match *m) {
    const struct sl_ordkey *e = m->ends.n > 0 ? sl_ordset_at(&m->ends, m->ends.n - 1) : NULL;
    return e ? e->at : INT64_MIN;
}

int64_t graph_hold_first_end(const struct sl_match *m, int64_t now) {
    const struct sl_ordkey *e;
    for (uint32_t i = 0; (e = sl_ordset_at(&m->ends, i)) && e->at <= now; i++)
        if (m->jobs.v[e->id].state == SL_JOB_ALLOCATED)
            return now + 1;
    return graph_hold_next_end(m, now);
}

/* ---- spans ---- */

static uint32_t take_words(struct sl_match *m, uint32_t n) {
    uint32_t at = m->free_words[n];
    if (at) {
        m->free_words[n] = (uint32_t)m->words.v[at];
    } else {
        if (m->words.n == 0)
            *sl_vec_push(&m->words) = 0; /* 0 is nowhere */
        at = m->words.n;
        sl_vec_reserve(&m->words, m->words.n + 2 * n);
        m->words.n += 2 * n;
    }
    memset(&m->words.v[at], 0, (size_t)2 * n * sizeof(m->words.v[0]));
    return at;
}

static void give_words(struct sl_match *m, uint32_t at, uint32_t n) {
    m->words.v[at] = m->free_words[n];
    m->free_words[n] = at;
}

/* Does the block lie on the way to nodes? What is held there is not in their masks. */
static bool is_above(const struct sl_match *m, const struct graph_block *b) {
    const struct graph_spot *s = &m->spots[b->pos];
    return b->n == 1 && s->inner != GRAPH_NONE && b->pos < m->n_tree && !s->is_node;
}

static struct graph_span *span_of(struct sl_match *m, struct graph_job *j, uint32_t block) {
    struct graph_block *b = &m->blocks.v[block];
    uint32_t job = (uint32_t)(j - m->jobs.v), i = b->spans;
    while (i && m->spans.v[i].job != job)
        i = m->spans.v[i].next;
    if (i)
        return &m->spans.v[i];
    if (m->free_span) {
        i = m->free_span;
        m->free_span = m->spans.v[i].next;
    } else {
        if (m->spans.n == 0)
            (void)sl_vec_push(&m->spans);
        i = m->spans.n;
        (void)sl_vec_push(&m->spans);
    }
    m->spans.v[i] = (struct graph_span){
        .job = job,
        .block = block,
        .next = b->spans,
        .next_of_job = j->spans,
        .bits = take_words(m, graph_block_words(b)),
        .allocated = j->state == SL_JOB_ALLOCATED,
        .from = j->from,
        .to = j->to,
    };
    b->spans = j->spans = i;
    m->n_above += is_above(m, b);
    return &m->spans.v[i];
}

/* Into the masks and sums of the present. */
static void hold_block(struct sl_match *m, uint32_t block, const uint64_t *x, const uint64_t *s) {
    const struct graph_block *b = &m->blocks.v[block];
    uint32_t n = graph_block_words(b);
    for (uint32_t k = 0; k < n; k++) {
        m->held[b->held + k] |= x[k];
        m->held[b->held + n + k] |= s[k];
    }
    graph_index_mask(m, b, x, -1);
}

/* Out of them: shared bits may be others' as well, so they are put together anew. */
static void release_block(struct sl_match *m, uint32_t block, const uint64_t *x) {
    const struct graph_block *b = &m->blocks.v[block];
    uint32_t n = graph_block_words(b);
    memset(&m->held[b->held], 0, (size_t)2 * n * sizeof(*m->held));
    for (uint32_t i = b->spans; i; i = m->spans.v[i].next)
        for (uint32_t k = 0; k < 2 * n && m->spans.v[i].allocated; k++)
            m->held[b->held + k] |= m->words.v[m->spans.v[i].bits + k];
    graph_index_mask(m, b, x, 1);
}

/* Several claims of one job may name the same: a whole node because of each of its cores. */
static void hold_bits(struct sl_match *m, struct graph_job *j, const struct graph_claim *c) {
    struct graph_span *s = span_of(m, j, c->block);
    uint32_t n = graph_block_words(&m->blocks.v[c->block]);
    uint64_t *have = &m->words.v[s->bits], fresh[2 * BLOCK_WORDS];
    for (uint32_t k = 0; k < n; k++) {
        fresh[k] = c->bits[k] & ~have[k];
        fresh[n + k] = c->bits[n + k] & ~have[n + k];
        have[k] |= fresh[k];
        have[n + k] |= fresh[n + k];
        m->stats.taken += sl_bits_count(fresh[k]);
    }
    if (s->allocated)
        hold_block(m, c->block, fresh, fresh + n);
    graph_profile_add(m, &m->blocks.v[c->block], s->from, s->to, fresh);
}

/* ---- shares of pools ---- */

static void allocate_share(struct sl_match *m, struct graph_share *s) {
    struct graph_pool *p = &m->pools.v[s->pool];
    s->allocated = true;
    p->held += s->amount;
    m->latest_share = s->from > m->latest_share ? s->from : m->latest_share;
    graph_index_amount(m, p->pos, -s->amount);
}

static void hold_share(struct sl_match *m, struct graph_job *j, uint32_t pool, int64_t amount) {
    struct graph_pool *p = &m->pools.v[pool];
    uint32_t i;
    if (m->free_share) {
        i = m->free_share;
        m->free_share = m->shares.v[i].next;
    } else {
        if (m->shares.n == 0)
            (void)sl_vec_push(&m->shares);
        i = m->shares.n;
        (void)sl_vec_push(&m->shares);
    }
    struct graph_share *s = &m->shares.v[i];
    *s = (struct graph_share){
        .job = (uint32_t)(j - m->jobs.v),
        .pool = pool,
        .next = p->shares,
        .next_of_job = j->shares,
        .allocated = j->state == SL_JOB_ALLOCATED,
        .amount = amount,
        .from = j->from,
        .to = j->to,
    };
    struct sl_err err;
    /* The search saw that it is free, or the caller of an update did. */
    sl_assert(sl_plan_force(p->plan, j->from, j->to - j->from, amount, &s->plan_span, &err) == 0);
    p->shares = j->shares = i;
    if (s->allocated)
        allocate_share(m, s);
    m->stats.taken++;
}

static void unlink_share(uint32_t *head, struct graph_share *v, uint32_t i, bool of_job) {
    while (*head != i)
        head = of_job ? &v[*head].next_of_job : &v[*head].next;
    *head = of_job ? v[i].next_of_job : v[i].next;
}

void graph_hold_share_less(struct sl_match *m, uint32_t i) {
    struct graph_share *s = &m->shares.v[i];
    struct graph_pool *p = &m->pools.v[s->pool];
    sl_assert(sl_plan_remove(p->plan, s->plan_span));
    unlink_share(&p->shares, m->shares.v, i, false);
    unlink_share(&m->jobs.v[s->job].shares, m->shares.v, i, true);
    if (s->allocated) {
        p->held -= s->amount;
        graph_index_amount(m, p->pos, s->amount);
    }
    s->next = m->free_share;
    m->free_share = i;
}

/* ---- all of a job ---- */

void graph_hold_chain(struct sl_match *m, struct graph_job *j, const struct graph_chain *c) {
    for (const struct graph_claim *k = c->claims; k; k = k->next) {
        if (k->amount)
            hold_share(m, j, k->block, k->amount);
        else
            hold_bits(m, j, k);
    }
    j->n_slots += c->n_slots;
    graph_joint_hold(m, j, c);
}

static void unlink_span(uint32_t *head, struct graph_span *v, uint32_t i, bool of_job) {
    while (*head != i)
        head = of_job ? &v[*head].next_of_job : &v[*head].next;
    *head = of_job ? v[i].next_of_job : v[i].next;
}

void graph_hold_less(struct sl_match *m, uint32_t i, const uint64_t *bits) {
    struct graph_span *s = &m->spans.v[i];
    struct graph_block *b = &m->blocks.v[s->block];
    uint32_t n = graph_block_words(b), left = 0;
    uint64_t *have = &m->words.v[s->bits], gone[2 * BLOCK_WORDS];
    for (uint32_t k = 0; k < n; k++) {
        gone[k] = have[k] & bits[k];
        gone[n + k] = have[n + k] & bits[k];
        have[k] &= ~bits[k];
        have[n + k] &= ~bits[k];
        left += (have[k] | have[n + k]) != 0;
    }
    bool allocated = s->allocated;
    uint32_t block = s->block;
    int64_t from = s->from, to = s->to;
    if (left == 0) {
        unlink_span(&b->spans, m->spans.v, i, false);
        unlink_span(&m->jobs.v[s->job].spans, m->spans.v, i, true);
        m->n_above -= is_above(m, b);
        give_words(m, s->bits, n);
        s->next = m->free_span;
        m->free_span = i;
    }
    graph_profile_drop(m, b, from, to, gone);
    if (allocated)
        release_block(m, block, gone);
}

void graph_hold_drop(struct sl_match *m, struct graph_job *j) {
    static const uint64_t all[BLOCK_WORDS] = {[0 ... BLOCK_WORDS - 1] = ~UINT64_C(0)};
    while (j->spans)
        graph_hold_less(m, j->spans, all);
    while (j->shares)
        graph_hold_share_less(m, j->shares);
    graph_joint_drop(m, j);
    struct sl_ordkey end = end_key(m, j);
    sl_assert(sl_ordset_del(&m->ends, &end, no_tie, NULL));
    uint32_t i = (uint32_t)(j - m->jobs.v);
    sl_assert(sl_map_del(&m->by_id, (uint64_t)j->id, i));
    j->used = false;
    m->n_jobs--;
    *sl_vec_push(&m->free_jobs) = i;
}

/* ---- out of sight ---- */

void graph_hold_hide(struct sl_match *m, struct graph_job *j) {
    for (uint32_t i = j->spans; i; i = m->spans.v[i].next_of_job) {
        struct graph_span *s = &m->spans.v[i];
        struct graph_block *b = &m->blocks.v[s->block];
        s->from = s->to = INT64_MIN; /* shared bits are put together from other spans */
        graph_profile_drop(m, b, j->from, j->to, &m->words.v[s->bits]);
        m->n_above -= is_above(m, b);
    }
    for (uint32_t i = j->shares; i; i = m->shares.v[i].next_of_job)
        sl_assert(sl_plan_remove(m->pools.v[m->shares.v[i].pool].plan, m->shares.v[i].plan_span));
}

void graph_hold_show(struct sl_match *m, struct graph_job *j) {
    for (uint32_t i = j->spans; i; i = m->spans.v[i].next_of_job) {
        struct graph_span *s = &m->spans.v[i];
        struct graph_block *b = &m->blocks.v[s->block];
        s->from = j->from;
        s->to = j->to;
        graph_profile_add(m, b, j->from, j->to, &m->words.v[s->bits]);
        m->n_above += is_above(m, b);
    }
    for (uint32_t i = j->shares; i; i = m->shares.v[i].next_of_job) {
        struct graph_share *s = &m->shares.v[i];
        struct sl_err err;
        sl_assert(sl_plan_force(m->pools.v[s->pool].plan, j->from, j->to - j->from, s->amount,
                                &s->plan_span, &err) == 0);
    }
}

static bool has_same_vertices(const struct sl_match *m, const struct graph_job *j,
                              const struct graph_chain *c) {
    struct sl_grant has = {0}, found = {0};
    sl_grant_of_job(m, j, &has);
    sl_grant_of_chain(m, c, &found);
    bool same = has.picks.n == found.picks.n;
    for (uint32_t i = 0; same && i < has.picks.n; i++)
        same = has.picks.v[i].v == found.picks.v[i].v &&
               has.picks.v[i].needs == found.picks.v[i].needs;
    sl_grant_done(&has);
    sl_grant_done(&found);
    return same;
}

static bool is_within(const uint64_t *bits, const uint64_t *of, uint32_t n) {
    uint64_t more = 0;
    for (uint32_t k = 0; k < n; k++)
        more |= bits[k] & ~of[k];
    return more == 0;
}

/* Several claims may be of one block, or of one pool: then their sum counts. So does the way to
 * them, where there are several. */
bool graph_hold_is(struct sl_match *m, const struct graph_job *j, const struct graph_chain *c) {
    uint32_t job = (uint32_t)(j - m->jobs.v), left = 0;
    uint64_t *met = sl_arena_alloc0(&m->scratch, m->spans.n / 64 + 1, sizeof(*met));
    if (m->n_more > 0 || j->shares)
        return has_same_vertices(m, j, c);
    for (uint32_t i = j->spans; i; i = m->spans.v[i].next_of_job)
        left++;
    for (const struct graph_claim *k = c->claims; k; k = k->next) {
        uint32_t i = k->amount ? 0 : m->blocks.v[k->block].spans;
        while (i && m->spans.v[i].job != job)
            i = m->spans.v[i].next;
        if (!i)
            return false;
        const uint64_t *had = &m->words.v[m->spans.v[i].bits];
        uint32_t n = 2 * graph_block_words(&m->blocks.v[k->block]);
        if (!is_within(k->bits, had, n))
            return false;
        if (sl_bits_get(met, i) || !is_within(had, k->bits, n))
            return has_same_vertices(m, j, c);
        sl_bits_set(met, i);
        left--;
    }
    return left == 0;
}

static bool is_held(const struct sl_match *m, uint32_t pos, bool shared_too) {
    const struct graph_block *b = &m->blocks.v[m->spots[pos].block];
    const uint64_t *held = &m->held[b->held];
    return sl_bits_get(held, pos - b->pos) ||
           (shared_too && sl_bits_get(held + graph_block_words(b), pos - b->pos));
}

static bool is_held_above(const struct sl_match *m, uint32_t pos) {
    if (m->n_more > 0)
        return false; /* see is_way_held */
    for (sl_vtx v = m->spots[pos].v; v != SL_VTX_NONE; v = sl_graph_vertex(m->g, v)->parent)
        if (is_held(m, sl_graph_vertex(m->g, v)->pos, false))
            return true;
    return false;
}

/* Is any of these allocated? */
static bool is_range_used(const struct sl_match *m, uint32_t from, uint32_t to) {
    for (uint32_t p = from; p < to; p++) {
        const struct graph_pool *pool = m->spots[p].divisible ? graph_pool_at(m, p) : NULL;
        if (is_held(m, p, true))
            return true;
        for (uint32_t i = pool ? pool->shares : 0; i; i = m->shares.v[i].next)
            if (m->shares.v[i].allocated)
                return true;
    }
    return false;
}

/* Is any of it, or of what is below it, allocated? */
static bool is_used_below(const struct sl_match *m, uint32_t pos) {
    if (!graph_joint_leads_out(m, pos))
        return is_range_used(m, pos, graph_end_of(m, pos));
    struct graph_ranges below = {0};
    bool used = false;
    graph_joint_below(m, pos, &below);
    for (uint32_t i = 0; i < below.n && !used; i++)
        used = is_range_used(m, below.v[i].from, below.v[i].to);
    sl_vec_free(&below);
    return used;
}

/* Is anything that leads to what it has another's alone? Of several parents only one does. */
static bool is_way_held(const struct sl_match *m, const struct graph_job *j) {
    struct sl_grant g = {0};
    bool held = false;
    sl_grant_of_job(m, j, &g);
    for (uint32_t i = 0; i < g.picks.n && !held; i++)
        held = is_held(m, sl_graph_vertex(m->g, g.picks.v[i].v)->pos, false);
    sl_grant_done(&g);
    return held;
}

/* Is what a reservation has still allocated to others, whose time is over? */
static bool overrun(const struct sl_match *m, const struct graph_job *j) {
    if (m->n_more > 0 && is_way_held(m, j))
        return true;
    struct graph_window w = {.when = WHEN_PRESENT, .from = j->from, .to = j->to};
    for (uint32_t i = j->spans; i; i = m->spans.v[i].next_of_job) {
        const struct graph_block *b = &m->blocks.v[m->spans.v[i].block];
        uint32_t n = graph_block_words(b);
        const uint64_t *own = &m->words.v[m->spans.v[i].bits];
        for (uint32_t k = 0; k < 2 * n; k++)
            for (uint64_t left = own[k]; left; left &= left - 1) {
                uint32_t pos = graph_block_pos(b, k, left);
                if (is_held_above(m, pos) || (k < n && is_used_below(m, pos)) ||
                    (k >= n && m->spots[pos].divisible &&
                     graph_window_free(m, &w, graph_pool_at(m, pos)) <= 0))
                    return true;
            }
    }
    for (uint32_t i = j->shares; i; i = m->shares.v[i].next_of_job) {
        const struct graph_pool *p = &m->pools.v[m->shares.v[i].pool];
        if (is_held_above(m, p->pos) || graph_window_free(m, &w, p) < 0)
            return true;
    }
    return false;
}

bool graph_hold_begin(struct sl_match *m, struct graph_job *j) {
    if (overrun(m, j))
        return false;
    j->state = SL_JOB_ALLOCATED;
    for (uint32_t i = j->spans; i; i = m->spans.v[i].next_of_job) {
        struct graph_span *s = &m->spans.v[i];
        uint32_t n = graph_block_words(&m->blocks.v[s->block]);
        s->allocated = true;
        hold_block(m, s->block, &m->words.v[s->bits], &m->words.v[s->bits + n]);
    }
    for (uint32_t i = j->shares; i; i = m->shares.v[i].next_of_job)
        allocate_share(m, &m->shares.v[i]);
    return true;
}
