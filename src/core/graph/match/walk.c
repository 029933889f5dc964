/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over the graph at one time, by docs/graph.md. A vertex that matches a request becomes a
 * group in the list of that request; a vertex that is only passed hands its caller's lists on to
 * its children, so that what is found below competes at the top.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/bits.h"
#include "core/graph/match/match_int.h"

void graph_walk_mask(struct graph_walk *w, uint32_t block) {
    if (w->masked == block)
        return;
    graph_window_masks(w->m, &w->w, &w->m->blocks.v[block], w->x, w->s);
    w->masked = block;
}

static bool usable(struct graph_walk *w, uint32_t pos) {
    const struct graph_spot *s = &w->m->spots[pos];
    if (s->constrained && w->allowed && !sl_bits_get(w->allowed, pos))
        return false;
    if (w->w.when == WHEN_EMPTY) {
        graph_walk_mask(w, s->block);
        return !(w->noted.n > 0 && graph_aux_is_taken(w, pos));
    }
    /* ways through several parents are up or down by themselves */
    bool down = w->m->n_more > 0 ? graph_vertex_at(w->m, pos)->down : s->down;
    if ((down && !w->w.any_status) ||
        (w->use_fits && s->is_node && !sl_bits_get(w->m->fits, s->block)))
        return false;
    graph_walk_mask(w, s->block);
    return !sl_bits_get(w->x, pos - w->m->blocks.v[s->block].pos) &&
           !(w->noted.n > 0 && graph_aux_is_taken(w, pos));
}

/* None of these is in use. */
static bool range_untouched(struct graph_walk *w, uint32_t pos, uint32_t end) {
    const struct sl_match *m = w->m;
    if (w->noted.n > 0 && graph_aux_is_touched(w, pos, end))
        return false;
    if (w->w.when == WHEN_EMPTY)
        return true;
    for (uint32_t p = pos; p < end;) {
        uint32_t i = m->spots[p].block;
        const struct graph_block *b = &m->blocks.v[i];
        uint32_t to = b->pos + b->n < end ? b->pos + b->n : end;
        if (b->spans) {
            graph_walk_mask(w, i);
            if (sl_bits_any(w->x, p - b->pos, to - b->pos) ||
                sl_bits_any(w->s, p - b->pos, to - b->pos))
                return false;
        }
        p = to;
    }
    for (uint32_t i = 0; i < m->pools.n; i++) {
        const struct graph_pool *p = &m->pools.v[i];
        if (p->pos >= pos && p->pos < end && p->shares &&
            graph_window_free(m, &w->w, p) < sl_plan_total(p->plan))
            return false;
    }
    return true;
}

/* Neither it nor anything below it is in use. */
static bool untouched(struct graph_walk *w, uint32_t pos) {
    if (!graph_joint_leads_out(w->m, pos))
        return range_untouched(w, pos, graph_end_of(w->m, pos));
    struct graph_ranges below = {0};
    bool good = true;
    graph_joint_below(w->m, pos, &below);
    for (uint32_t i = 0; i < below.n && good; i++)
        good = range_untouched(w, below.v[i].from, below.v[i].to);
    sl_vec_free(&below);
    return good;
}

/* ---- children ---- */

static uint32_t wanted_index(const struct graph_walk *w, const struct graph_wants *t,
                             uint16_t type) {
    for (uint32_t i = 0; i < t->n; i++)
        if (w->types[t->first + i] == type)
            return i;
    return GRAPH_NONE;
}

static bool has_kids_of(const struct sl_match *m, const struct graph_inner *in, uint16_t type) {
    if (!(in->kid_types & graph_type_bit(type)))
        return false;
    if (type < 63)
        return true;
    for (uint32_t i = 0; i < in->n_runs; i++)
        if (m->runs.v[in->runs + i].type == type)
            return true;
    return false;
}

bool graph_walk_shape_one(const struct graph_walk *w, const struct graph_req *slot,
                          uint32_t inner) {
    const struct graph_inner *in = &w->m->inners.v[inner];
    for (uint32_t i = 0; i < slot->n_with; i++)
        if (!has_kids_of(w->m, in, w->types[slot->with + i]))
            return false;
    return true;
}

bool graph_walk_shape(const struct graph_walk *w, const struct graph_wants *t, uint32_t slot,
                      uint32_t inner) {
    if (slot == REQ_NONE || inner == GRAPH_NONE)
        return false;
    for (uint32_t i = t->first; i < t->first + t->n; i++) {
        const struct graph_req *r = &w->r->reqs.v[i];
        if (r->kind != SL_REQ_RESOURCE && graph_walk_shape_one(w, r, inner))
            return true;
    }
    return false;
}

/* May anything that the top requests begin with be below it? */
static bool worth_passing(const struct graph_walk *w, uint32_t pos) {
    uint32_t inner = w->m->spots[pos].inner;
    return inner != GRAPH_NONE && (w->in_full || (w->m->inners.v[inner].below & w->top_types) != 0);
}

struct weighed {
    int64_t weight, uniq;
    uint32_t turn, pos;
};

static int by_weight(const void *a, const void *b) {
    const struct weighed *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    if (x->uniq != y->uniq)
        return x->uniq > y->uniq ? -1 : 1;
    return x->turn > y->turn ? -1 : x->turn < y->turn;
}

/* Where the sets of weights are not kept. */
static uint32_t *weigh_kids(struct graph_walk *w, const struct graph_inner *in) {
    struct sl_match *m = w->m;
    struct weighed *v = sl_arena_alloc(&m->scratch, (in->n_kids + 1) * sizeof(*v));
    uint32_t *kids = sl_arena_alloc(&m->scratch, (in->n_kids + 1) * sizeof(*kids));
    for (uint32_t k = 0; k < in->n_kids; k++) {
        uint32_t pos = m->linked[in->kids + k];
        v[k] = (struct weighed){w->w.when == WHEN_EMPTY ? INT64_MAX : graph_index_weight(m, pos),
                                graph_vertex_at(m, pos)->uniq_id, k, pos};
    }
    qsort(v, in->n_kids, sizeof(*v), by_weight);
    for (uint32_t k = 0; k < in->n_kids; k++)
        kids[k] = v[k].pos;
    return kids;
}

/* Children in the order of linking. */
static uint32_t linked_kid(const struct sl_match *m, const struct graph_inner *in, uint32_t k) {
    if (m->linked)
        return m->linked[in->kids + k];
    return sl_graph_vertex(m->g, sl_graph_kids(m->g)[in->kids + k])->pos;
}

/* In the order of weights, until enough was found of everything. */
static void explore_early(struct graph_walk *w, uint32_t inner, const struct graph_wants *t,
                          bool pristine, bool exclusive, struct graph_list *lists,
                          uint32_t bundles) {
    const struct sl_match *m = w->m;
    const struct graph_inner *in = &m->inners.v[inner];
    static const struct sl_ordset none = {0};
    const struct sl_ordset *heavy = w->w.when == WHEN_EMPTY ? &none : &m->heavy[inner];
    const struct sl_ordkey *keys = NULL;
    const uint32_t *weighed = m->n_more > 0 ? weigh_kids(w, in) : NULL;
    struct graph_list few[4], *tally = t->n <= SL_LEN(few) ? few : graph_walk_lists(w, t->n);
    uint32_t left = t->n, n_keys = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        tally[i] = (struct graph_list){.per = w->r->reqs.v[t->first + i].most};
        if (w->r->reqs.v[t->first + i].kind != SL_REQ_RESOURCE && t->first + i != t->slot) {
            tally[i].bundles = UINT32_MAX; /* a slot that is not looked for here */
            left--;
        }
    }
    for (uint32_t k = 0, next = 0; k < in->n_kids && left > 0; k++) {
        uint32_t pos;
        if (weighed) {
            pos = weighed[k];
        } else if (heavy->n > 0) {
            if (k == next) {
                keys = sl_ordset_run(heavy, k, &n_keys);
                next = k + n_keys;
            }
            pos = keys[k - (next - n_keys)].id;
        } else {
            pos = m->kids_by_uniq[in->kids + k];
        }
        uint32_t own = wanted_index(w, t, m->spots[pos].type);
        if (own == GRAPH_NONE
                ? !(pristine ? worth_passing(w, pos) : t->slot != REQ_NONE) && !w->count
                : tally[own].bundles >= bundles && !w->aux)
            continue;
        for (uint32_t i = 0; i < t->n; i++)
            tally[i].total = lists[i].total;
        w->from = in->pos;
        if (!graph_walk_visit(w, pos, t, pristine, exclusive, lists))
            continue;
        left = 0;
        for (uint32_t i = 0; i < t->n; i++) {
            int64_t more = lists[i].total - tally[i].total;
            if (more > 0)
                graph_list_count(&tally[i], more,
                                 own == i && lists[i].last && lists[i].last->divisible);
            left += tally[i].bundles < bundles || w->aux;
        }
    }
}

void graph_walk_explore(struct graph_walk *w, uint32_t inner, const struct graph_wants *t,
                        bool pristine, bool exclusive, struct graph_list *lists, uint32_t bundles,
                        bool limited) {
    const struct sl_match *m = w->m;
    const struct graph_inner *in = &m->inners.v[inner];
    if (m->policy.stop_early) {
        explore_early(w, inner, t, pristine, exclusive, lists, bundles);
        return;
    }
    if (w->in_full) {
        for (uint32_t k = 0; k < in->n_kids; k++) {
            w->from = in->pos;
            (void)graph_walk_visit(w, linked_kid(m, in, k), t, pristine, exclusive, lists);
        }
        return;
    }
    for (uint32_t i = 0; i < in->n_runs; i++) {
        const struct graph_run *run = &m->runs.v[in->runs + i];
        uint32_t own = wanted_index(w, t, run->type);
        if (own == GRAPH_NONE && !pristine && t->slot == REQ_NONE)
            continue;
        for (uint32_t k = 0; k < run->n; k++) {
            uint32_t pos = m->kids[run->at + k];
            if (own == GRAPH_NONE &&
                (pristine ? !worth_passing(w, pos) : m->spots[pos].inner == GRAPH_NONE))
                continue;
            (void)graph_walk_visit(w, pos, t, pristine, exclusive, lists);
            if (limited && own != GRAPH_NONE && lists[own].bundles >= bundles)
                break; /* they come in order: no later one would be chosen */
        }
    }
}

/* ---- a vertex ---- */

static bool has_capacity(const struct graph_walk *w, uint32_t inner, uint32_t req) {
    uint32_t n = w->m->n_counted;
    const int64_t *free_amounts = &w->m->free_amounts[(size_t)inner * n],
                  *need = &w->need[(size_t)req * n];
    for (uint32_t i = 0; i < n; i++)
        if (free_amounts[i] < need[i] && need[i] > 0) /* pools may be overdrawn */
            return w->in_full;
    return true;
}

/* Children come by weight: if the first has not enough for the one top request, none has. */
static bool all_too_light(const struct graph_walk *w, uint32_t inner) {
    const struct sl_match *m = w->m;
    const struct graph_inner *in = &m->inners.v[inner];
    uint16_t type = w->types[w->variant->top];
    if (!m->policy.stop_early || w->count || w->w.when != WHEN_PRESENT || w->variant->n_top != 1 ||
        in->kids_weigh == WEIGH_NOT || in->n_runs != 1 || m->runs.v[in->runs].type != type)
        return false;
    const struct sl_ordkey *first = sl_ordset_first(&m->heavy[inner]);
    return first && -first->at < w->need[(size_t)w->variant->top * m->n_counted + in->kids_weigh];
}

/* Everything that is wanted inside. */
static bool inside(struct graph_walk *w, uint32_t pos, const struct graph_req *r, bool exclusive,
                   struct graph_chain *ret) {
    uint32_t inner = w->m->spots[pos].inner;
    if (w->is_plain && r == &w->r->reqs.v[w->variant->top]) {
        uint32_t slots = graph_plain_slots(w, inner, w->x, w->s);
        if (slots != GRAPH_NONE) {
            slots = sl_req_count_take(&w->r->reqs.v[r->slot].count, slots);
            if (slots > 0)
                graph_plain_take(w, inner, slots, ret);
            return slots > 0;
        }
    }
    struct graph_wants all = {r->with, r->n_with, r->slot};
    bool shape = graph_walk_shape(w, &all, r->slot, inner);
    for (uint32_t i = r->with; i < r->with + r->n_with && r->several; i++)
        if (w->r->reqs.v[i].kind == SL_REQ_SLOT &&
            (inner == GRAPH_NONE || !graph_walk_shape_one(w, &w->r->reqs.v[i], inner)))
            return false; /* of several slots each has to take shape here */
    struct graph_list *lists = graph_walk_lists(w, r->n_with);
    uint32_t n_slots = 0;
    bool limited = !w->m->policy.stop_early && !w->aux && !w->in_full;
    for (uint32_t i = 0; i < r->n_with; i++) {
        const struct graph_req *q = &w->r->reqs.v[r->with + i];
        n_slots += q->kind != SL_REQ_RESOURCE;
        if (limited && q->kind == SL_REQ_RESOURCE && graph_req_is_fixed(q))
            lists[i].per = q->most;
    }
    if (shape && !r->several) {
        struct graph_list *slots = &lists[r->slot - r->with];
        *slots = (struct graph_list){0};
        graph_slots_make(w, inner, &all, r->slot, true, slots);
    }
    if (inner != GRAPH_NONE && (!shape || n_slots < r->n_with)) {
        struct graph_wants rest = all;
        if (shape)
            rest.slot = REQ_NONE;
        graph_walk_explore(w, inner, &rest, false, exclusive, lists, 1, limited);
    }
    bool or_slot = false;
    for (uint32_t i = 0; i < r->n_with; i++) {
        const struct graph_req *q = &w->r->reqs.v[r->with + i];
        if (q->kind == SL_REQ_OR_SLOT && or_slot)
            continue; /* all of them are found under the first */
        or_slot = or_slot || q->kind == SL_REQ_OR_SLOT;
        bool far = w->aux && q->kind == SL_REQ_RESOURCE &&
                   (inner == GRAPH_NONE ||
                    !has_kids_of(w->m, &w->m->inners.v[inner], w->types[r->with + i]));
        bool turn = r->several && q->kind == SL_REQ_SLOT;
        if (turn) /* each beside those before it */
            graph_slots_make(w, inner, &all, r->with + i, true, &lists[i]);
        w->notes = turn;
        bool chosen = far ? graph_aux_inside(w, pos, r->with + i, exclusive, ret)
                          : graph_walk_choose(w, &lists[i], q, false, ret);
        w->notes = false;
        if (!chosen)
            return false;
    }
    return true;
}

static uint32_t pos_of(const struct graph_walk *w, const struct graph_claim *c) {
    return c->amount ? w->m->pools.v[c->block].pos : w->m->blocks.v[c->block].pos;
}

static bool is_inside(const struct graph_walk *w, const struct graph_claim *c, uint32_t pos) {
    uint32_t at = pos_of(w, c), first = w->m->blocks.v[w->m->spots[pos].block].pos;
    return at >= first && at < graph_end_of(w->m, pos);
}

/* Parts of pools below it go, too, if their first parent is elsewhere. */
static void keep_no_pools(struct graph_walk *w, struct graph_chain *c, uint32_t pos) {
    struct graph_ranges below = {0};
    graph_joint_below(w->m, pos, &below);
    for (struct graph_claim **at = &c->claims; *at;) {
        bool in = false;
        for (uint32_t i = 0; i < below.n && (*at)->amount && !in; i++)
            in = pos_of(w, *at) >= below.v[i].from && pos_of(w, *at) < below.v[i].to;
        if (in)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
    sl_vec_free(&below);
}

/* What was chosen below a vertex goes with it; what it hangs on does not. */
static void keep_outside(struct graph_walk *w, struct graph_chain *c, uint32_t pos) {
    for (struct graph_claim **at = &c->claims; *at;) {
        if (is_inside(w, *at, pos))
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
}

static bool has_inside(const struct graph_walk *w, const struct graph_chain *c, uint32_t pos) {
    for (const struct graph_claim *k = c->claims; k; k = k->next)
        if (is_inside(w, k, pos))
            return true;
    return false;
}

/* What was found below a vertex with several parents was so through one of them. */
static void note_passed(struct graph_walk *w, uint32_t pos, uint32_t from, uint32_t n,
                        struct graph_list *lists, struct graph_group *const *before) {
    for (uint32_t i = 0; i < n; i++)
        for (struct graph_group *g = before[i] ? before[i]->next : lists[i].first; g; g = g->next) {
            w->found_in[pos] = from;
            graph_joint_pass(w, g, pos, from);
        }
}

/* What the filter of a vertex rules out is not walked. A leaf that is only passed succeeds. */
static bool visit_counted(struct graph_walk *w, uint32_t pos, const struct graph_wants *t,
                          bool pristine, bool exclusive, struct graph_list *lists) {
    const struct graph_spot *s = &w->m->spots[pos];
    uint32_t own = wanted_index(w, t, s->type);
    bool found = true;
    w->count->n.entered++;
    for (uint32_t i = t->first; i < t->first + t->n && s->inner != GRAPH_NONE && found; i++)
        if (i == t->first + own || w->r->reqs.v[i].kind != SL_REQ_RESOURCE)
            found = !graph_visits_prune(w, s->inner, i);
    if (found && own == GRAPH_NONE && s->inner == GRAPH_NONE && pristine) {
        found = usable(w, pos);
    } else if (found) {
        w->counted = true;
        found = graph_walk_visit(w, pos, t, pristine, exclusive, lists);
    }
    w->count->n.succeeded += found;
    return found;
}

bool graph_walk_visit(struct graph_walk *w, uint32_t pos, const struct graph_wants *t,
                      bool pristine, bool exclusive, struct graph_list *lists) {
    if (w->count && !w->counted)
        return visit_counted(w, pos, t, pristine, exclusive, lists);
    w->counted = false;
    struct sl_match *m = w->m;
    const struct graph_spot *s = &m->spots[pos];
    uint32_t own = wanted_index(w, t, s->type), from = w->from;
    m->stats.visited++;
    if (s->joint && w->found_in[pos] != GRAPH_NONE && w->found_in[pos] != from)
        return false; /* it was found through another parent */
    bool bounded = own == GRAPH_NONE ? pristine && w->variant->n_top == 1
                                     : w->r->reqs.v[t->first + own].n_with > 0;
    if (s->inner == GRAPH_NONE
            ? own == GRAPH_NONE || bounded
            : bounded && w->w.when == WHEN_PRESENT &&
                  !has_capacity(w, s->inner, own == GRAPH_NONE ? w->variant->top : t->first + own))
        return false;
    if (own == GRAPH_NONE) {
        bool shape = graph_walk_shape(w, t, t->slot, s->inner);
        bool whole = m->policy.node_exclusive && s->is_node;
        if ((!shape && !pristine) || !usable(w, pos) || (whole && !untouched(w, pos)))
            return false;
        exclusive = exclusive || whole;
        struct graph_group **before = NULL;
        if (s->joint) {
            before = sl_arena_alloc(&m->scratch, (t->n + 1) * sizeof(struct graph_group *));
            for (uint32_t i = 0; i < t->n; i++)
                before[i] = lists[i].last;
        }
        if (shape)
            graph_slots_make(w, s->inner, t, t->slot, false, &lists[t->slot - t->first]);
        else if (!all_too_light(w, s->inner))
            graph_walk_explore(w, s->inner, t, true, exclusive, lists, 1, false);
        if (s->joint)
            note_passed(w, pos, from, t->n, lists, before);
        return true;
    }
    const struct graph_req *r = &w->r->reqs.v[t->first + own];
    bool inherited = exclusive;
    bool all = r->exclusive == SL_TRUE || (m->policy.node_exclusive && s->is_node);
    exclusive = exclusive || all;
    struct graph_group g = {.pos = pos,
                            .place = pos,
                            .exclusive = exclusive,
                            .all = all,
                            .whole = true,
                            .req = t->first + own,
                            .from = from,
                            .inherited = inherited};
    if (!usable(w, pos))
        return false;
    g.count = graph_vertex_at(m, pos)->size;
    if (s->divisible && r->n_with == 0) {
        g.divisible = true;
        g.count = graph_window_free(m, &w->w, graph_pool_at(m, pos)) -
                  (w->noted.n > 0 ? graph_aux_given(w, pos) : 0);
        if (g.count <= 0)
            return false;
    } else if (exclusive && !untouched(w, pos)) {
        return false;
    }
    if (r->n_with > 0) {
        uint32_t noted = w->noted.n;
        g.whole = false;
        bool good = inside(w, pos, r, exclusive, &g.chain);
        w->noted.n = noted;
        if (!good)
            return false;
        if (all) {
            keep_outside(w, &g.chain, pos);
            if (graph_joint_leads_out(m, pos))
                keep_no_pools(w, &g.chain, pos);
            graph_chain_subtree(w, &g.chain, pos);
        } else if (exclusive) {
            graph_chain_range(w, &g.chain, pos, pos + 1, true);
        } else if (w->aux && !has_inside(w, &g.chain, pos)) {
            graph_chain_range(w, &g.chain, pos, pos + 1, false);
        }
    }
    g.score = graph_layout_score(m, pos);
    struct graph_group *kept = sl_arena_alloc(&m->scratch, sizeof(*kept));
    *kept = g;
    if (s->joint) {
        w->found_in[pos] = from;
        graph_joint_add(w, &kept->chain, pos, from);
    }
    graph_list_push(&lists[own], kept);
    return true;
}

/* ---- beginning ---- */

/* At least so much of each counted type is needed inside one vertex (or slot) of a request. */
static void find_needs(struct graph_walk *w, uint32_t req) {
    const struct graph_req *r = &w->r->reqs.v[req];
    uint32_t n = w->m->n_counted;
    int64_t *need = &w->need[(size_t)req * n];
    for (uint32_t i = 0; i < r->n_with; i++) {
        uint32_t k = r->with + i;
        const struct graph_req *q = &w->r->reqs.v[k];
        find_needs(w, k);
        if (q->kind == SL_REQ_OR_SLOT)
            continue; /* any one of them will do */
        int64_t least = graph_req_least(q);
        uint8_t t = w->types[k] == UINT16_MAX ? TYPES_MAX : w->m->types.v[w->types[k]].counted;
        for (uint32_t c = 0; c < n; c++) {
            int64_t more;
            if (w->m->pool_types >> c & 1)
                continue; /* sums do not know when parts of it are free */
            if (__builtin_mul_overflow(least, w->need[(size_t)k * n + c] + (c == t), &more) ||
                __builtin_add_overflow(need[c], more, &need[c]))
                need[c] = INT64_MAX / 2;
            if (need[c] > INT64_MAX / 2)
                need[c] = INT64_MAX / 2;
        }
    }
}

void graph_walk_init(struct graph_walk *w, struct sl_match *m, const struct sl_match_request *r,
                     const struct graph_variant *v) {
    w->m = m;
    w->r = r;
    w->variant = v;
    w->allowed = NULL;
    w->use_fits = false;
    w->top_types = 0;
    w->types = sl_arena_alloc(&m->tables, r->reqs.n * sizeof(*w->types));
    w->need = sl_arena_alloc0(&m->tables, (size_t)r->reqs.n * m->n_counted + 1, sizeof(*w->need));
    for (uint32_t i = 0; i < r->reqs.n; i++) {
        uint32_t type = r->reqs.v[i].type ? graph_layout_type(m, r->reqs.v[i].type) : GRAPH_NONE;
        w->types[i] = type == GRAPH_NONE ? UINT16_MAX : (uint16_t)type;
    }
    struct graph_wants top = {v->top, v->n_top, v->slot};
    w->in_full = m->n_more > 0;
    w->count = NULL;
    w->counted = false;
    w->from = GRAPH_NONE;
    w->found_in =
        m->n_more > 0 ? sl_arena_alloc(&m->tables, m->n_spots * sizeof(*w->found_in)) : NULL;
    w->noted.v = NULL;
    w->noted.n = w->noted.cap = 0;
    w->notes = false;
    w->aux = m->subsystems.n > 0 && graph_aux_asks(w, &top, false);
    for (uint32_t i = v->top; i < v->top + v->n_top; i++) {
        const struct graph_req *q = &r->reqs.v[i];
        if (!w->aux) /* else what is wanted inside may be elsewhere */
            find_needs(w, i);
        if (q->kind == SL_REQ_RESOURCE && w->types[i] != UINT16_MAX)
            w->top_types |= graph_type_bit(w->types[i]);
        for (uint32_t k = 0; k < q->n_with && q->kind != SL_REQ_RESOURCE; k++)
            if (w->types[q->with + k] != UINT16_MAX)
                w->top_types |= graph_type_bit(w->types[q->with + k]);
    }
    const struct graph_req *one = &r->reqs.v[v->top];
    w->is_plain = v->n_top == 1 && !w->aux && m->n_more == 0 && one->kind == SL_REQ_RESOURCE &&
                  one->n_with == 1 && one->slot == one->with &&
                  graph_plain_slot(w, one->slot, &w->plain);
}

void graph_walk_done(struct graph_walk *w) {
    sl_vec_free(&w->noted);
}

void graph_walk_at(struct graph_walk *w, const struct graph_window *win) {
    w->w = *win;
    w->masked = GRAPH_NONE;
}

bool graph_walk_run(struct graph_walk *w, struct graph_chain *ret) {
    const struct graph_variant *v = w->variant;
    struct graph_wants top = {v->top, v->n_top, v->slot};
    struct graph_list *lists = graph_walk_lists(w, v->n_top);
    bool or_slot = false;
    if (w->found_in)
        memset(w->found_in, 0xff, w->m->n_spots * sizeof(*w->found_in));
    w->from = GRAPH_NONE;
    if (!graph_walk_visit(w, 0, &top, true, false, lists))
        return false;
    for (uint32_t i = 0; i < v->n_top; i++) {
        const struct graph_req *q = &w->r->reqs.v[v->top + i];
        if (q->kind == SL_REQ_OR_SLOT && or_slot)
            continue;
        or_slot = or_slot || q->kind == SL_REQ_OR_SLOT;
        if (!graph_walk_choose(w, &lists[i], q, true, ret))
            return false;
    }
    return true;
}

bool graph_walk_one(struct graph_walk *w, uint32_t pos, struct graph_list *ret) {
    struct graph_wants t = {w->nodes, 1, REQ_NONE};
    return graph_walk_visit(w, pos, &t, false, w->nodes_in_slot, ret);
}
