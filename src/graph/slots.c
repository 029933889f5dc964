/*
 * Slots: what was found at a vertex, type by type in the order of the policy, is cut into bundles,
 * and the i-th bundles of all types are the i-th slot.
 */
#include <string.h>

#include "graph/match_int.h"

#define MIXES_MAX 100000u /* of or_slots that are tried at one vertex */
#define ALTERNATIVES_MAX 64u

/* Where cutting stands in the list of one type. */
struct cursor {
    struct group **v;
    uint32_t n, i;
    int64_t given; /* of v[i], if it is divisible */
};

/* Cuts one bundle; with a chain, puts it there. False if not enough is left. */
static bool cut(struct walk *w, struct cursor *c, int64_t per, struct chain *chain,
                int64_t *score) {
    for (int64_t left = per; left > 0;) {
        if (c->i == c->n)
            return false;
        const struct group *g = c->v[c->i];
        int64_t have = g->count - c->given, take = have;
        if (g->divisible && have > left)
            take = left;
        if (chain) {
            sl_chain_group(w, chain, g, take);
            *score += g->score;
        }
        left -= take;
        c->given += take;
        if (c->given == g->count) {
            c->i++;
            c->given = 0;
        }
    }
    return true;
}

/* The types of one slot in the lists that were found, and how large its bundles are. */
struct shape {
    uint32_t n;
    uint32_t *list;
    int64_t *per;
};

static bool cut_slot(struct walk *w, struct cursor *lists, const struct shape *s,
                     struct group *slot) {
    int64_t score = 1;
    if (slot && lists[s->list[0]].i < lists[s->list[0]].n)
        *slot = (struct group){.pos = lists[s->list[0]].v[lists[s->list[0]].i]->pos};
    for (uint32_t i = 0; i < s->n; i++)
        if (!cut(w, &lists[s->list[i]], s->per[i], slot ? &slot->chain : NULL, &score))
            return false;
    if (slot) {
        slot->score = score;
        slot->uniq = vertex_at(w->m, slot->pos)->uniq_id;
        slot->count = 1;
        slot->chain.n_slots = 1;
    }
    return true;
}

static void push_slots(struct walk *w, struct cursor *lists, const struct shape *s, uint32_t n,
                       struct list *ret) {
    for (uint32_t i = 0; i < n; i++) {
        struct group *slot = sl_arena_alloc(&w->m->scratch, sizeof(*slot));
        sl_assert(cut_slot(w, lists, s, slot));
        sl_list_push(ret, slot);
    }
}

/* ---- several alternatives ---- */

struct mix {
    struct walk *w;
    const struct shape *shapes;
    uint32_t n_shapes, n_lists;
    uint32_t want, tried;
    uint32_t now[ALTERNATIVES_MAX], best[ALTERNATIVES_MAX], most;
};

/* All mixes from the i-th alternative on, those with more of the earlier ones first, so that the
 * first that gives the most is the one to take. */
static void try_mixes(struct mix *x, uint32_t i, const struct cursor *from, uint32_t so_far) {
    if (i == x->n_shapes || so_far == x->want) {
        memset(&x->now[i], 0, (x->n_shapes - i) * sizeof(x->now[0]));
        if (so_far > x->most) {
            x->most = so_far;
            memcpy(x->best, x->now, x->n_shapes * sizeof(x->now[0]));
        }
        x->tried++;
        return;
    }
    /* Where the lists stand after 0, 1, 2 … slots of this one. */
    size_t bytes = x->n_lists * sizeof(*from);
    struct cursor *after = sl_alloc(bytes);
    uint32_t n = 0, cap = 1;
    memcpy(after, from, bytes);
    while (so_far + n < x->want) {
        if (n + 1 == cap)
            after = sl_realloc(after, cap *= 2, bytes);
        memcpy(&after[(size_t)(n + 1) * x->n_lists], &after[(size_t)n * x->n_lists], bytes);
        if (!cut_slot(x->w, &after[(size_t)(n + 1) * x->n_lists], &x->shapes[i], NULL))
            break;
        n++;
    }
    for (uint32_t k = n + 1; k-- > 0 && x->most < x->want && x->tried < MIXES_MAX;) {
        x->now[i] = k;
        try_mixes(x, i + 1, &after[(size_t)k * x->n_lists], so_far + k);
    }
    sl_freep(&after);
}

/* ---- both ---- */

static void find_shape(struct walk *w, const struct req *slot, const struct wants *found,
                       const struct list *lists, struct shape *ret) {
    ret->n = slot->n_with;
    ret->list = sl_arena_alloc(&w->m->scratch, ret->n * sizeof(*ret->list));
    ret->per = sl_arena_alloc(&w->m->scratch, ret->n * sizeof(*ret->per));
    for (uint32_t i = 0; i < ret->n; i++) {
        const struct req *q = &w->r->reqs.v[slot->with + i];
        uint32_t k = 0;
        while (k < found->n && w->types[found->first + k] != w->types[slot->with + i])
            k++;
        /* Nothing of a type that the vertex does not have. */
        uint32_t take = k < found->n ? sl_count_take(&q->count, (uint64_t)lists[k].total) : 0;
        if (take == 0)
            ret->n = 0;
        ret->list[i] = k;
        ret->per[i] = take;
    }
}

static bool all_fixed(const struct walk *w, const struct wants *t) {
    for (uint32_t i = t->first; i < t->first + t->n; i++) {
        const struct req *q = &w->r->reqs.v[i];
        if (q->count.set ? q->count.n_set > 1 : q->count.min != q->most)
            return false;
    }
    return true;
}

void sl_slots_make(struct walk *w, uint32_t inner, const struct wants *of, uint32_t slot,
                   uint32_t most, struct list *ret) {
    const struct req *first = &w->r->reqs.v[slot];
    bool mixed = first->kind == SL_REQ_OR_SLOT;
    struct wants t = {mixed ? first->all : first->with, mixed ? first->n_all : first->n_with,
                      REQ_NONE};
    struct list *lists = sl_walk_lists(w, t.n);
    bool limited = !mixed && most < UINT32_MAX && all_fixed(w, &t);
    for (uint32_t i = 0; i < t.n && limited; i++)
        lists[i].per = w->r->reqs.v[t.first + i].most;
    sl_walk_explore(w, inner, &t, false, true, lists, limited ? most : first->most, limited);
    struct cursor *at = sl_arena_alloc0(&w->m->scratch, t.n, sizeof(*at));
    for (uint32_t i = 0; i < t.n; i++)
        at[i] = (struct cursor){.v = sl_walk_order(w, &lists[i], false), .n = lists[i].n};
    struct shape shapes[ALTERNATIVES_MAX];
    uint32_t n_shapes = 0;
    for (uint32_t i = of->first; i < of->first + of->n && n_shapes < ALTERNATIVES_MAX; i++) {
        const struct req *q = &w->r->reqs.v[i];
        if (q->kind != SL_REQ_RESOURCE)
            find_shape(w, q, &t, lists, &shapes[n_shapes++]);
    }
    /* An alternative that cannot be met is left out. */
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_shapes; i++)
        if (shapes[i].n > 0)
            shapes[n++] = shapes[i];
    if (n == 0)
        return;
    if (!mixed) {
        struct cursor *probe = sl_arena_alloc(&w->m->scratch, t.n * sizeof(*probe));
        memcpy(probe, at, t.n * sizeof(*probe));
        uint32_t count = 0;
        while (count < most && cut_slot(w, probe, &shapes[0], NULL))
            count++;
        push_slots(w, at, &shapes[0], count, ret);
        return;
    }
    struct mix x = {.w = w, .shapes = shapes, .n_shapes = n, .n_lists = t.n, .want = first->most};
    try_mixes(&x, 0, at, 0);
    for (uint32_t i = 0; i < n; i++)
        push_slots(w, at, &shapes[i], x.best[i], ret);
}
