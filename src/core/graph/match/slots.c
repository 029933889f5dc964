/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots: what was found at a vertex, type by type in the order of the policy, is cut into bundles,
 * and the i-th bundles of all types are the i-th slot.
 */
#include <stdlib.h>
#include <string.h>

#include "core/graph/match/match_int.h"

#define MIXES_MAX 100000u /* of or_slots that are tried at one vertex */
#define ALTERNATIVES_MAX 64u

/* Where cutting stands in the list of one type of one alternative. */
struct cursor {
    struct graph_group **v;
    uint32_t n, i;
    int64_t given; /* of v[i], if there is only one alternative */
};

/* One slot: where the lists of its types begin, and how large its bundles are. */
struct shape {
    uint32_t first, n;
    int64_t *per;
};

/* Where cutting stands in all. Several alternatives cut from the same vertices: then what was given
 * is counted by vertex (struct graph_group.item), for all of them. */
struct state {
    struct cursor *at;
    int64_t *given; /* NULL: there is only one */
};

/* Cuts one bundle; with a slot, puts it there. False if not enough is left. */
static bool cut_bundle(struct graph_walk *w, struct state *s, uint32_t list, int64_t per,
                       struct graph_group *slot) {
    struct cursor *c = &s->at[list];
    for (int64_t left = per; left > 0;) {
        if (c->i == c->n)
            return false;
        const struct graph_group *g = c->v[c->i];
        int64_t *given = s->given ? &s->given[g->item] : &c->given;
        int64_t have = g->count - *given, take = g->divisible && have > left ? left : have;
        if (slot && take > 0) {
            if (slot->pos == GRAPH_NONE)
                slot->pos = g->pos;
            graph_chain_group(w, &slot->chain, g, take);
            slot->score += g->score;
            if (w->aux)
                slot->parts[slot->n_parts++] = (struct graph_part){g, take};
        }
        left -= take;
        *given += take;
        if (*given == g->count) {
            c->i++;
            c->given = 0;
        }
    }
    return true;
}

static bool cut_slot(struct graph_walk *w, struct state *s, const struct shape *shape,
                     struct graph_group *slot) {
    for (uint32_t i = 0; i < shape->n; i++)
        if (!cut_bundle(w, s, shape->first + i, shape->per[i], slot))
            return false;
    return true;
}

static void push_slots(struct graph_walk *w, uint32_t inner, struct state *s,
                       const struct shape *shape, uint32_t n, struct graph_list *ret) {
    uint32_t capacity = 0, place = w->m->inners.v[inner].pos;
    for (uint32_t i = 0; i < shape->n && w->aux; i++)
        capacity += s->at[shape->first + i].n;
    for (uint32_t i = 0; i < n; i++) {
        struct graph_group *slot = sl_arena_alloc(&w->m->scratch, sizeof(*slot));
        *slot = (struct graph_group){
            .pos = GRAPH_NONE, .place = place, .score = 1, .count = 1, .chain = {.n_slots = 1}};
        if (w->aux)
            slot->parts = sl_arena_alloc(&w->m->scratch, (capacity + 1) * sizeof(*slot->parts));
        sl_assert(cut_slot(w, s, shape, slot));
        graph_list_push(ret, slot);
    }
}

/* ---- several alternatives ---- */

struct mix {
    struct graph_walk *w;
    const struct shape *shapes;
    uint32_t n_shapes, n_lists, n_items;
    uint32_t want, tried;
    bool cut_short;
    uint32_t now[ALTERNATIVES_MAX], best[ALTERNATIVES_MAX], most;
};

static struct state copy_state(const struct mix *x, const struct state *from) {
    struct state s = {sl_alloc(x->n_lists * sizeof(*s.at)),
                      sl_alloc((x->n_items + 1) * sizeof(*s.given))};
    memcpy(s.at, from->at, x->n_lists * sizeof(*s.at));
    memcpy(s.given, from->given, x->n_items * sizeof(*s.given));
    return s;
}

static void free_state(struct state *s) {
    sl_freep(&s->at);
    sl_freep(&s->given);
}

/* All mixes from the i-th alternative on, those with more of the earlier ones first, so that the
 * first that gives the most is the one to take. */
static void try_mixes(struct mix *x, uint32_t i, const struct state *from, uint32_t so_far) {
    if (i == x->n_shapes || so_far == x->want) {
        memset(&x->now[i], 0, (x->n_shapes - i) * sizeof(x->now[0]));
        if (so_far > x->most) {
            x->most = so_far;
            memcpy(x->best, x->now, x->n_shapes * sizeof(x->now[0]));
        }
        x->tried++;
        return;
    }
    SL_VEC(struct state) after = {0}; /* 0, 1, 2 … slots of this one */
    *sl_vec_push(&after) = copy_state(x, from);
    while (so_far + after.n - 1 < x->want) {
        struct state next = copy_state(x, &sl_vec_last(&after));
        if (!cut_slot(x->w, &next, &x->shapes[i], NULL)) {
            free_state(&next);
            break;
        }
        *sl_vec_push(&after) = next;
    }
    for (uint32_t k = after.n; k-- > 0;) {
        x->now[i] = k;
        x->cut_short = x->cut_short || (x->most < x->want && x->tried == MIXES_MAX);
        if (x->most < x->want && !x->cut_short)
            try_mixes(x, i + 1, &after.v[k], so_far + k);
        free_state(&after.v[k]);
    }
    sl_vec_free(&after);
}

int graph_slots_cut_short(const struct sl_match *m, struct sl_err *err) {
    return m->cut_short ? sl_err_set(err, SL_ELIMIT,
                                     "or_slot: more than %u mixes at one vertex, and none of those "
                                     "that were tried is enough",
                                     MIXES_MAX)
                        : 0;
}

static int by_pos(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The same vertex gets the same number in all lists. */
static uint32_t number_items(struct graph_walk *w, struct cursor *at, uint32_t n_lists) {
    uint32_t n = 0, kept = 0;
    for (uint32_t i = 0; i < n_lists; i++)
        n += at[i].n;
    uint32_t *pos = sl_arena_alloc(&w->m->scratch, (n + 1) * sizeof(*pos));
    n = 0;
    for (uint32_t i = 0; i < n_lists; i++)
        for (uint32_t k = 0; k < at[i].n; k++)
            pos[n++] = at[i].v[k]->pos;
    qsort(pos, n, sizeof(*pos), by_pos);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || pos[i] != pos[i - 1])
            pos[kept++] = pos[i];
    for (uint32_t i = 0; i < n_lists; i++)
        for (uint32_t k = 0; k < at[i].n; k++) {
            const uint32_t *p = bsearch(&at[i].v[k]->pos, pos, kept, sizeof(*pos), by_pos);
            at[i].v[k]->item = (uint32_t)(p - pos);
        }
    return kept;
}

/* ---- both ---- */

/* What is there for one slot, put at at[]; false if it cannot be met even once. */
static bool find_shape(struct graph_walk *w, uint32_t inner, const struct graph_req *slot,
                       uint32_t most, struct cursor *at, struct shape *ret) {
    struct graph_wants t = {slot->with, slot->n_with, REQ_NONE};
    struct graph_list *lists = graph_walk_lists(w, t.n);
    bool limited = slot->kind == SL_REQ_SLOT && most < UINT32_MAX && !w->aux && !w->in_full;
    for (uint32_t i = 0; i < t.n && limited; i++)
        limited = graph_req_is_fixed(&w->r->reqs.v[t.first + i]);
    for (uint32_t i = 0; i < t.n && limited; i++)
        lists[i].per = w->r->reqs.v[t.first + i].most;
    graph_walk_explore(w, inner, &t, false, true, lists, limited ? most : slot->most, limited);
    ret->n = t.n;
    ret->per = sl_arena_alloc(&w->m->scratch, t.n * sizeof(*ret->per));
    uint32_t noted = w->noted.n;
    bool good = true;
    for (uint32_t i = 0; i < t.n; i++) {
        at[i] = (struct cursor){.v = graph_walk_order(w, &lists[i], false), .n = lists[i].n};
        if (w->aux) {
            at[i].n = graph_aux_beside(w, at[i].v, at[i].n);
            lists[i].total = 0;
            for (uint32_t k = 0; k < at[i].n; k++)
                lists[i].total += at[i].v[k]->count;
        }
        ret->per[i] = sl_req_count_take(&w->r->reqs.v[t.first + i].count, (uint64_t)lists[i].total);
        good = good && ret->per[i] > 0;
    }
    w->noted.n = noted;
    return good;
}

static void make_one(struct graph_walk *w, uint32_t inner, const struct graph_req *slot,
                     uint32_t most, struct graph_list *ret) {
    struct shape shape = {0};
    size_t bytes = slot->n_with * sizeof(struct cursor);
    struct state s = {.at = sl_arena_alloc(&w->m->scratch, bytes)};
    struct state probe = {.at = sl_arena_alloc(&w->m->scratch, bytes)};
    uint32_t n = 0;
    if (!find_shape(w, inner, slot, most, s.at, &shape))
        return;
    memcpy(probe.at, s.at, bytes);
    while (n < most && cut_slot(w, &probe, &shape, NULL))
        n++;
    push_slots(w, inner, &s, &shape, n, ret);
}

/* Bundles of equal vertices, or of one pool, have equally many, and the first ones are the best. Of
 * one pool they are so among those of other places as well ("pools": nothing else will do). */
static bool first_are_best(const struct graph_walk *w, uint32_t inner, const struct graph_req *slot,
                           bool pools) {
    const struct graph_inner *in = &w->m->inners.v[inner];
    for (uint32_t i = 0; i < slot->n_with; i++)
        for (uint32_t k = in->runs; k < in->runs + in->n_runs; k++) {
            const struct graph_run *run = &w->m->runs.v[k];
            bool pool = run->n == 1 && !run->uniform;
            if (run->type == w->types[slot->with + i] && !pool && (pools || !run->uniform))
                return false;
        }
    return true;
}

void graph_slots_make(struct graph_walk *w, uint32_t inner, const struct graph_wants *of,
                      uint32_t slot, bool chosen, struct graph_list *ret) {
    const struct graph_req *one = &w->r->reqs.v[slot];
    /* No more than these are chosen from all places, and a pool has room for any number. */
    bool first = (chosen || (!w->aux && !w->in_full)) && first_are_best(w, inner, one, !chosen);
    uint32_t most = first ? one->most : UINT32_MAX;
    if (one->kind == SL_REQ_SLOT) {
        make_one(w, inner, one, most, ret);
        return;
    }
    struct shape shapes[ALTERNATIVES_MAX];
    uint32_t n = 0, n_lists = 0;
    for (uint32_t i = of->first; i < of->first + of->n; i++)
        n_lists += w->r->reqs.v[i].kind == SL_REQ_OR_SLOT ? w->r->reqs.v[i].n_with : 0;
    struct state s = {.at = sl_arena_alloc0(&w->m->scratch, n_lists, sizeof(*s.at))};
    n_lists = 0;
    for (uint32_t i = of->first; i < of->first + of->n && n < ALTERNATIVES_MAX; i++) {
        const struct graph_req *q = &w->r->reqs.v[i];
        if (q->kind != SL_REQ_OR_SLOT || !graph_walk_shape_one(w, q, inner))
            continue;
        shapes[n].first = n_lists;
        if (find_shape(w, inner, q, most, &s.at[n_lists], &shapes[n]))
            n_lists += shapes[n++].n;
    }
    struct mix x = {.w = w,
                    .shapes = shapes,
                    .n_shapes = n,
                    .n_lists = n_lists,
                    .n_items = number_items(w, s.at, n_lists),
                    .want = w->r->reqs.v[slot].most};
    s.given = sl_arena_alloc0(&w->m->scratch, x.n_items + 1, sizeof(*s.given));
    try_mixes(&x, 0, &s, 0);
    w->m->cut_short = w->m->cut_short || x.cut_short;
    for (uint32_t i = 0; i < n; i++)
        push_slots(w, inner, &s, &shapes[i], x.best[i], ret);
}
