/*
 * From walks to answers. Requests for nodes, which are nearly all, do not walk: nodes are asked in
 * the order of the policy, and those that cannot have enough are skipped by the tree over their
 * sums. For a later time, each node says from when to when it would do, and one sweep over these
 * stretches finds the first moment at which there are enough of them.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/match_int.h"

bool sl_search_window(const struct sl_match *m, const struct sl_request *r, int64_t at,
                      enum when when, struct window *ret) {
    int64_t to;
    if (at < m->start || at >= m->end)
        return false;
    if (r->duration == 0 || __builtin_add_overflow(at, r->duration, &to) || to > m->end)
        to = m->end;
    *ret = (struct window){when, at, to};
    return true;
}

/* ---- constraints ---- */

/* A bit per position that the constraint allows; NULL if there is none. */
static const uint64_t *allowed(struct sl_match *m, const struct sl_request *r) {
    if (r->constraint.kind == SL_TERM_ALL)
        return NULL;
    const char *key = r->key + r->constraint_at;
    uint32_t len = r->key_len - r->constraint_at;
    if (m->allowed && m->allowed_generation == sl_graph_generation(m->g) && m->allowed_len == len &&
        memcmp(m->allowed_key, key, len) == 0)
        return m->allowed;
    sl_freep(&m->allowed);
    sl_freep(&m->allowed_key);
    m->allowed = sl_alloc0((size_t)m->n_spots / 64 + 1, sizeof(*m->allowed));
    m->allowed_key = sl_alloc(len + 1);
    memcpy(m->allowed_key, key, len);
    m->allowed_len = len;
    m->allowed_generation = sl_graph_generation(m->g);
    for (uint32_t i = 0; i < m->constrained.n; i++) {
        uint32_t pos = m->constrained.v[i];
        if (sl_term_holds(&r->constraint, m->g, m->spots[pos].v))
            m->allowed[pos / 64] |= UINT64_C(1) << pos % 64;
    }
    return m->allowed;
}

/* ---- nodes in order ---- */

static bool wants_nodes(const struct walk *w) {
    const struct variant *v = w->variant;
    const struct req *r = &w->r->reqs.v[v->top];
    return v->n_top == 1 && r->kind == SL_REQ_RESOURCE && w->m->index.order.n > 0 &&
           r->type == w->m->node;
}

static bool is_allowed(const struct walk *w, uint32_t pos) {
    return !w->allowed || (w->allowed[pos / 64] >> pos % 64 & 1);
}

/* Asks nodes in the order of the policy until there are enough. */
static bool ask_nodes(struct walk *w, struct chain *ret) {
    struct sl_match *m = w->m;
    const struct req *r = &w->r->reqs.v[w->variant->top];
    const int64_t *need = &w->need[(size_t)w->variant->top * m->n_counted];
    struct list found = {0};
    bool present = w->w.when == WHEN_PRESENT;
    for (uint32_t i = 0; i < m->index.order.n && found.total < r->most; i++) {
        if (present) {
            i = sl_index_next(m, i, need);
            if (i == NONE)
                break;
        }
        if (is_allowed(w, m->index.order.v[i]))
            (void)sl_walk_one(w, m->index.order.v[i], &found);
    }
    return sl_walk_choose(w, &found, r, true, ret);
}

/* With policies that give out whole nodes, the nodes on the way to what was chosen are taken. */
static void take_whole_nodes(struct walk *w, struct chain *c) {
    const struct sl_match *m = w->m;
    struct chain whole = {.n_slots = c->n_slots};
    for (struct claim *k = c->claims, *next; k; k = next) {
        uint32_t pos = k->amount ? m->pools.v[k->block].pos : m->blocks.v[k->block].pos;
        uint32_t node = NONE;
        for (sl_vtx v = m->spots[pos].v; v != SL_VTX_NONE; v = sl_graph_vertex(m->g, v)->parent)
            if (m->spots[sl_graph_vertex(m->g, v)->pos].is_node)
                node = sl_graph_vertex(m->g, v)->pos;
        next = k->next;
        if (node != NONE) {
            sl_chain_range(w, &whole, node, end_of(m, node), true);
        } else {
            k->next = whole.claims;
            whole.claims = k;
        }
    }
    *c = whole;
}

static bool walk_or_ask(struct walk *w, struct chain *ret) {
    *ret = (struct chain){0};
    sl_arena_clear(&w->m->scratch);
    bool found = wants_nodes(w) && !w->m->policy.stop_early && !w->m->policy.locality
                     ? ask_nodes(w, ret)
                     : sl_walk_run(w, ret);
    if (found && w->m->policy.node_exclusive)
        take_whole_nodes(w, ret);
    return found;
}

bool sl_search_at(struct sl_match *m, const struct sl_request *r, const struct window *win,
                  struct chain *ret) {
    struct walk w;
    sl_arena_clear(&m->tables);
    for (uint32_t i = 0; i < r->variants.n; i++) {
        sl_walk_init(&w, m, r, &r->variants.v[i]);
        w.allowed = allowed(m, r);
        sl_walk_at(&w, win);
        if (walk_or_ask(&w, ret))
            return true;
    }
    return false;
}

/* ---- a later time, for nodes ---- */

struct change {
    int64_t at;
    int64_t more; /* nodes that would do from then on */
};
struct stretch {
    uint32_t block;
    int64_t from, to;
};

static int by_time(const void *a, const void *b) {
    const struct change *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

typedef SL_VEC(struct change) changes;
typedef SL_VEC(struct stretch) stretches;
typedef SL_VEC(int64_t) times;

static bool would_do(struct walk *w, uint32_t pos, int64_t at) {
    struct window win;
    struct list one = {0};
    if (!sl_search_window(w->m, w->r, at, WHEN_FUTURE, &win))
        return false;
    sl_arena_clear(&w->m->scratch);
    sl_walk_at(w, &win);
    return sl_walk_one(w, pos, &one);
}

/* From when to when a node would do. What meets the window changes only when a span ends, or when
 * one begins that the window did not reach before. */
static void ask_node(struct walk *w, uint32_t pos, int64_t after, times *at, changes *ret,
                     stretches *kept) {
    const struct sl_match *m = w->m;
    uint32_t block = m->spots[pos].block;
    int64_t d = w->r->duration;
    sl_vec_clear(at);
    *sl_vec_push(at) = after;
    for (uint32_t i = m->blocks.v[block].spans; i; i = m->spans.v[i].next) {
        const struct span *s = &m->spans.v[i];
        if (s->to > after)
            *sl_vec_push(at) = s->to;
        if (d > 0 && s->from - d + 1 > after)
            *sl_vec_push(at) = s->from - d + 1;
    }
    if (at->n > 1)
        qsort(at->v, at->n, sizeof(*at->v), by_number);
    int64_t since = SL_PLAN_NEVER;
    for (uint32_t i = 0; i <= at->n; i++) {
        if (i > 0 && i < at->n && at->v[i] == at->v[i - 1])
            continue;
        bool does = i < at->n && would_do(w, pos, at->v[i]);
        if (does && since == SL_PLAN_NEVER)
            since = at->v[i];
        if (does || since == SL_PLAN_NEVER)
            continue;
        int64_t to = i < at->n ? at->v[i] : SL_PLAN_NEVER, size = vertex_at(m, pos)->size;
        *sl_vec_push(ret) = (struct change){since, size};
        if (to != SL_PLAN_NEVER)
            *sl_vec_push(ret) = (struct change){to, -size};
        *sl_vec_push(kept) = (struct stretch){block, since, to};
        since = SL_PLAN_NEVER;
    }
}

static bool nodes_later(struct walk *w, int64_t now, int64_t *ret_at) {
    struct sl_match *m = w->m;
    const struct req *r = &w->r->reqs.v[w->variant->top];
    int64_t least = r->count.set ? r->count.set[0] : r->count.min, have = 0;
    changes all = {0};
    stretches kept = {0};
    times at = {0};
    for (uint32_t i = 0; i < m->index.order.n; i++) {
        uint32_t pos = m->index.order.v[i];
        if (!m->spots[pos].down && is_allowed(w, pos))
            ask_node(w, pos, now + 1, &at, &all, &kept);
    }
    qsort(all.v, all.n, sizeof(*all.v), by_time);
    *ret_at = SL_PLAN_NEVER;
    uint32_t i = 0;
    for (int64_t end = sl_hold_first_end(m, now); end != SL_PLAN_NEVER && end < m->end;) {
        for (; i < all.n && all.v[i].at <= end; i++)
            have += all.v[i].more;
        if (have >= least) {
            *ret_at = end;
            break;
        }
        if (i == all.n)
            break;
        /* Nothing changes before the next moment at which a node would do. */
        end = sl_hold_next_end(m, all.v[i].at - 1 > end ? all.v[i].at - 1 : end);
    }
    memset(m->fits, 0, ((size_t)m->blocks.n / 64 + 1) * sizeof(*m->fits));
    for (uint32_t k = 0; k < kept.n && *ret_at != SL_PLAN_NEVER; k++)
        if (kept.v[k].from <= *ret_at && *ret_at < kept.v[k].to)
            m->fits[kept.v[k].block / 64] |= UINT64_C(1) << kept.v[k].block % 64;
    sl_vec_free(&all);
    sl_vec_free(&kept);
    sl_vec_free(&at);
    return *ret_at != SL_PLAN_NEVER;
}

/* Pools of nodes may be shared in time by amounts, which stretches of spans do not show. */
static bool later_by_nodes(const struct walk *w) {
    return wants_nodes(w) && w->m->pools.n == 0;
}

bool sl_search_later(struct sl_match *m, const struct sl_request *r, int64_t now,
                     struct window *ret_w, struct chain *ret) {
    struct walk w;
    sl_arena_clear(&m->tables);
    if (r->variants.n == 1) {
        int64_t at;
        sl_walk_init(&w, m, r, &r->variants.v[0]);
        w.allowed = allowed(m, r);
        if (later_by_nodes(&w)) {
            if (!nodes_later(&w, now, &at) || !sl_search_window(m, r, at, WHEN_FUTURE, ret_w))
                return false;
            w.use_fits = true;
            sl_walk_at(&w, ret_w);
            return walk_or_ask(&w, ret);
        }
    }
    for (int64_t at = sl_hold_first_end(m, now); at < m->end; at = sl_hold_next_end(m, at)) {
        if (!sl_search_window(m, r, at, WHEN_FUTURE, ret_w))
            return false;
        if (sl_search_at(m, r, ret_w, ret))
            return true;
    }
    return false;
}
