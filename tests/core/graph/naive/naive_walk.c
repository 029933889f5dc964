/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The naive matcher's walk: the numbered rules of "How a match is found" in docs/graph.md, one
 * after the other. The comments name them.
 */
#include <string.h>

#include "naive_int.h"

/* Something that a request could get: a vertex, or a slot and what it is made of. */
struct cand {
    const struct want *want;
    sl_vtx v; /* of a slot: the first vertex in it */
    int64_t amount, score;
    bool exclusive;       /* the vertex itself */
    bool all;             /* and everything below it */
    bool below_exclusive; /* it was walked as something exclusive's */
    struct part *parts;   /* what was chosen inside, or what the slot is made of */
    uint32_t n_parts;
    const struct way *way; /* to the vertex; of a slot NULL */
};

struct part {
    const struct cand *c;
    int64_t amount;
};

struct cands {
    const struct cand **v;
    uint32_t n, cap;
};

static void push(struct question *q, struct cands *list, const struct cand *c) {
    if (list->n == list->cap) {
        const struct cand **old = list->v;
        list->cap = 2 * list->cap + 4;
        list->v = sl_arena_alloc(q->mem, list->cap * sizeof(struct cand *));
        if (list->n > 0)
            memcpy(list->v, old, list->n * sizeof(struct cand *));
    }
    list->v[list->n++] = c;
}

static bool walk(struct question *q, const struct way *to, const struct wants *list, bool pristine,
                 bool exclusive, struct cands *out);

static const struct way *step_to(struct question *q, sl_vtx v, const struct way *up) {
    struct way *w = sl_arena_alloc(q->mem, sizeof(*w));
    *w = (struct way){v, up};
    return w;
}

/* The way through first parents. */
static const struct way *first_way(struct question *q, sl_vtx v) {
    sl_vtx parent = vertex_of(q->n, v)->parent;
    return step_to(q, v, parent == SL_VTX_NONE ? NULL : first_way(q, parent));
}

/* ---- order ---- */

static bool prefers_low(const struct naive *n) {
    return n->policy.variation || (n->policy.low && !n->policy.locality);
}

static bool has_score(const struct cands *list, int64_t score) {
    for (uint32_t i = 0; i < list->n; i++)
        if (list->v[i]->score == score)
            return true;
    return false;
}

/* Where the interval of consecutive scores begins that this one is in. */
static int64_t interval_of(const struct cands *list, int64_t score) {
    while (has_score(list, score - 1))
        score--;
    return score;
}

struct ranked {
    int64_t key; /* high first */
    uint32_t turn;
    const struct cand *c;
};

static void exchange(struct ranked *v, uint32_t a, uint32_t b) {
    struct ranked c = v[a];
    v[a] = v[b];
    v[b] = c;
}

static void insert_all(struct ranked *v, uint32_t n) {
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && v[k - 1].key < v[k].key; k--)
            exchange(v, k - 1, k);
}

static void order_by_turn(struct ranked *v, uint32_t n) {
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && v[k - 1].turn > v[k].turn; k--)
            exchange(v, k - 1, k);
}

/* Which of three is neither first nor last; of equal ones as the rule says. */
static uint32_t median(const struct ranked *v, uint32_t a, uint32_t b, uint32_t c) {
    bool ab = v[a].key > v[b].key, ac = v[a].key > v[c].key, bc = v[b].key > v[c].key;
    if (ab)
        return bc ? b : ac ? c : a;
    return ac ? a : bc ? c : b;
}

/* Locality as Fluxion has it: parts of more than 16 are divided before all is inserted, which moves
 * equal ones. */
static void divide(struct ranked *v, uint32_t from, uint32_t to, int depth) {
    if (to - from <= 16)
        return;
    if (depth == 0) {
        order_by_turn(v + from, to - from);
        insert_all(v + from, to - from);
        return;
    }
    exchange(v, from, median(v, from + 1, from + (to - from) / 2, to - 1));
    int64_t by = v[from].key;
    uint32_t left = from + 1, right = to - 1;
    for (;; left++, right--) {
        while (v[left].key > by)
            left++;
        while (by > v[right].key)
            right--;
        if (left >= right)
            break;
        exchange(v, left, right);
    }
    divide(v, left, to, depth - 1);
    divide(v, from, left, depth - 1);
}

static int twice_log2(uint32_t n) {
    return n < 2 ? 0 : 2 + twice_log2(n / 2);
}

/* The candidates for one want, best first. Equal ones stay in the order in which they were found,
 * but for locality as Fluxion has it. */
static struct cands ordered(struct question *q, const struct cands *found, const struct want *w,
                            bool top) {
    struct cands list = {0};
    bool locality = q->n->policy.locality;
    for (uint32_t i = 0; i < found->n; i++)
        if (found->v[i]->want == w)
            push(q, &list, found->v[i]);
    if (q->aux && q->n->policy.stop_early)
        return list;
    struct ranked *v = sl_arena_alloc(q->mem, (list.n + 1) * sizeof(*v));
    for (uint32_t i = 0; i < list.n; i++) {
        int64_t score = list.v[i]->score;
        v[i] = (struct ranked){prefers_low(q->n) ? -score : score, i, list.v[i]};
        if (top && locality)
            v[i].key = interval_of(&list, score);
    }
    if (locality && q->n->fluxion)
        divide(v, 0, list.n, twice_log2(list.n));
    insert_all(v, list.n);
    for (uint32_t i = 0; i < list.n; i++)
        list.v[i] = v[i].c;
    return list;
}

/* ---- what is chosen, in requests that ask auxiliary subsystems ---- */

static void note_subtree(struct question *q, sl_vtx v) {
    *sl_vec_push(&q->chosen) = (struct taken){v, vertex_of(q->n, v)->size, true, false, NULL};
    for (uint32_t i = 0; i < count_kids(q->n, v); i++)
        note_subtree(q, any_kid(q->n, v, i));
}

static void note_candidate(struct question *q, const struct cand *c, int64_t amount) {
    if (c->want->type && c->all && !is_divisible(q->n, c->v))
        note_subtree(q, c->v);
    else if (c->want->type)
        *sl_vec_push(&q->chosen) = (struct taken){c->v, amount, c->exclusive, false, NULL};
    for (uint32_t i = 0; i < c->n_parts; i++)
        note_candidate(q, c->parts[i].c, c->parts[i].amount);
}

/* Walks a candidate again, now that others are chosen; NULL if it does not succeed any more. */
static const struct cand *again(struct question *q, const struct cand *c) {
    struct cands found = {0};
    if (c->want->type) {
        const struct want *only = c->want;
        struct wants list = {&only, 1};
        if (!walk(q, c->way, &list, false, c->below_exclusive, &found))
            return NULL;
        return found.v[0];
    }
    struct cand *slot = sl_arena_alloc(q->mem, sizeof(*slot));
    uint32_t before = q->chosen.n;
    *slot = *c;
    slot->parts = sl_arena_alloc(q->mem, (c->n_parts + 1) * sizeof(*slot->parts));
    for (uint32_t i = 0; i < c->n_parts && slot; i++) {
        const struct cand *part = again(q, c->parts[i].c);
        if (part && part->amount >= c->parts[i].amount) {
            slot->parts[i] = (struct part){part, c->parts[i].amount};
            note_candidate(q, part, c->parts[i].amount);
        } else {
            slot = NULL;
        }
    }
    q->chosen.n = before;
    return slot;
}

/* ---- slots (rule 7) ---- */

struct shape_found {
    const struct wants *shape;
    struct cands *by_want; /* best first */
    int64_t *size;         /* of a bundle */
};

/* Takes a bundle of one type from what is left of the vertices; false if there is not enough. */
static bool cut_bundle(struct question *q, const struct cands *list, int64_t size, int64_t *left,
                       struct cand *slot) {
    int64_t got = 0;
    for (uint32_t i = 0; i < list->n && got < size; i++) {
        const struct cand *c = list->v[i];
        int64_t give = left[c->v] < 0 ? c->amount : left[c->v];
        if (give == 0)
            continue;
        left[c->v] = 0;
        if (is_divisible(q->n, c->v) && give > size - got) {
            left[c->v] = give - (size - got);
            give = size - got;
        }
        slot->parts[slot->n_parts++] = (struct part){c, give};
        slot->score += c->score;
        got += give;
    }
    return got >= size;
}

static struct cand *cut_slot(struct question *q, const struct want *w, const struct shape_found *f,
                             int64_t *left) {
    struct cand *slot = sl_arena_alloc0(q->mem, 1, sizeof(*slot));
    uint32_t room = 0;
    for (uint32_t i = 0; i < f->shape->n; i++)
        room += f->by_want[i].n;
    slot->want = w;
    slot->amount = 1;
    slot->score = 1;
    slot->parts = sl_arena_alloc(q->mem, (room + 1) * sizeof(*slot->parts));
    for (uint32_t i = 0; i < f->shape->n; i++)
        if (f->size[i] == 0 || !cut_bundle(q, &f->by_want[i], f->size[i], left, slot))
            return NULL;
    slot->v = slot->parts[0].c->v;
    return slot;
}

/* All mixes of the shapes from the k-th on; the best is the one with the most slots, then with the
 * most of the first shape, and so on. They are tried in that order of the first shapes, so that the
 * first of equally many is the best. */
static void try_mixes(struct question *q, const struct want *w, const struct shape_found *f,
                      uint32_t n, uint32_t k, const int64_t *left, const struct cands *so_far,
                      struct cands *best) {
    uint32_t most = w->mixed ? naive_take(&w->count, SL_REQ_COUNT_MAX) : SL_REQ_COUNT_MAX;
    size_t bytes = (sl_graph_count(q->n->g) + 1) * sizeof(*left);
    if (k == n) {
        if (so_far->n > best->n)
            *best = *so_far;
        return;
    }
    struct cands with = {0};
    int64_t *rest = sl_arena_alloc(q->mem, bytes);
    memcpy(rest, left, bytes);
    for (uint32_t i = 0; i < so_far->n; i++)
        push(q, &with, so_far->v[i]);
    for (struct cand *c; with.n < most && (c = cut_slot(q, w, &f[k], rest));)
        push(q, &with, c);
    for (uint32_t many = with.n + 1; many-- > so_far->n;) {
        struct cands some = {0};
        memcpy(rest, left, bytes);
        for (uint32_t i = 0; i < so_far->n; i++)
            push(q, &some, so_far->v[i]);
        while (some.n < many)
            push(q, &some, cut_slot(q, w, &f[k], rest));
        try_mixes(q, w, f, n, k + 1, rest, &some, best);
        if (n == 1)
            break; /* fewer of the only shape are never better */
    }
}

static bool has_kid_of(const struct naive *n, sl_vtx v, const char *type) {
    for (uint32_t i = 0; i < count_kids(n, v); i++)
        if (strcmp(type_of(n, any_kid(n, v, i)), type) == 0)
            return true;
    return false;
}

static bool shape_fits(const struct naive *n, sl_vtx v, const struct wants *shape) {
    for (uint32_t i = 0; i < shape->n; i++) /* no vertex is a slot */
        if (!shape->v[i]->type || !has_kid_of(n, v, shape->v[i]->type))
            return false;
    return true;
}

static bool takes_shape(const struct naive *n, sl_vtx v, const struct want *slot) {
    for (uint32_t i = 0; i < slot->n_shapes; i++)
        if (shape_fits(n, v, &slot->shapes[i]))
            return true;
    return false;
}

static void walk_kids(struct question *q, const struct way *to, const struct wants *list,
                      uint32_t slots, bool pristine, bool exclusive, struct cands *found);

/* With auxiliary subsystems, those that do not succeed beside the ones before them are left out. */
static struct cands one_after_another(struct question *q, const struct cands *list) {
    struct cands good = {0};
    for (uint32_t i = 0; i < list->n; i++) {
        const struct cand *c = again(q, list->v[i]);
        if (!c)
            continue;
        note_candidate(q, c, c->amount);
        push(q, &good, c);
    }
    return good;
}

static void walk_slot(struct question *q, const struct way *to, const struct want *slot,
                      struct cands *out) {
    sl_vtx v = to->v;
    struct shape_found *f = sl_arena_alloc0(q->mem, slot->n_shapes, sizeof(*f));
    int64_t *left = sl_arena_alloc(q->mem, (sl_graph_count(q->n->g) + 1) * sizeof(*left));
    uint32_t n = 0, wanted = naive_take(&slot->count, SL_REQ_COUNT_MAX);
    struct cands none = {0}, best = {0};
    memset(left, 0xff, (sl_graph_count(q->n->g) + 1) * sizeof(*left));
    for (uint32_t s = 0; s < slot->n_shapes; s++) {
        const struct wants *shape = &slot->shapes[s];
        struct cands found = {0};
        if (!shape_fits(q->n, v, shape))
            continue;
        walk_kids(q, to, shape, wanted, false, true, &found);
        f[n].shape = shape;
        f[n].by_want = sl_arena_alloc0(q->mem, shape->n, sizeof(*f[n].by_want));
        f[n].size = sl_arena_alloc0(q->mem, shape->n, sizeof(*f[n].size));
        uint32_t before = q->chosen.n;
        for (uint32_t i = 0; i < shape->n; i++) {
            int64_t sum = 0;
            f[n].by_want[i] = ordered(q, &found, shape->v[i], false);
            if (q->aux)
                f[n].by_want[i] = one_after_another(q, &f[n].by_want[i]);
            for (uint32_t k = 0; k < f[n].by_want[i].n; k++)
                sum += f[n].by_want[i].v[k]->amount;
            f[n].size[i] = naive_take(&shape->v[i]->count, (uint64_t)sum);
        }
        q->chosen.n = before;
        n++;
    }
    try_mixes(q, slot, f, n, 0, left, &none, &best);
    for (uint32_t i = 0; i < best.n; i++)
        push(q, out, best.v[i]);
}

/* ---- children (rules 5 and 6) ---- */

/* For policies that stop early: is enough found of this want? */
static bool enough(struct question *q, const struct cands *found, const struct want *w,
                   uint32_t slots) {
    int64_t *left = sl_arena_alloc(q->mem, (sl_graph_count(q->n->g) + 1) * sizeof(*left));
    int64_t size = naive_take(&w->count, SL_REQ_COUNT_MAX), sum = 0;
    struct cands mine = {0};
    memset(left, 0xff, (sl_graph_count(q->n->g) + 1) * sizeof(*left));
    for (uint32_t i = 0; i < found->n; i++) {
        if (found->v[i]->want != w)
            continue;
        sum += found->v[i]->amount;
        push(q, &mine, found->v[i]);
    }
    if (slots == 0)
        return sum >= size;
    for (uint32_t i = 0; i < slots; i++) {
        struct cand bundle = {.parts = sl_arena_alloc(q->mem, (mine.n + 1) * sizeof(struct part))};
        if (!cut_bundle(q, &mine, size, left, &bundle))
            return false;
    }
    return true;
}

/* Greatest weight first, then high unique id. */
static sl_vtx *kids_by_weight(struct question *q, sl_vtx v) {
    uint32_t n = count_kids(q->n, v);
    sl_vtx *kids = sl_arena_alloc(q->mem, (n + 1) * sizeof(*kids));
    int64_t *weight = sl_arena_alloc(q->mem, (n + 1) * sizeof(*weight));
    for (uint32_t i = 0; i < n; i++) {
        sl_vtx kid = any_kid(q->n, v, i);
        int64_t x = weight_of(q, kid);
        uint32_t k = i;
        for (; k > 0; k--) {
            if (weight[k - 1] > x || (weight[k - 1] == x && vertex_of(q->n, kids[k - 1])->uniq_id >
                                                                vertex_of(q->n, kid)->uniq_id))
                break;
            weight[k] = weight[k - 1];
            kids[k] = kids[k - 1];
        }
        weight[k] = x;
        kids[k] = kid;
    }
    return kids;
}

static const struct want *want_of_type(const struct wants *list, const char *type) {
    for (uint32_t i = 0; i < list->n; i++)
        if (list->v[i]->type && strcmp(list->v[i]->type, type) == 0)
            return list->v[i];
    return NULL;
}

/* slots: how many slots are wanted, if the list is what a slot wants; else 0. */
static void walk_kids(struct question *q, const struct way *to, const struct wants *list,
                      uint32_t slots, bool pristine, bool exclusive, struct cands *found) {
    sl_vtx v = to->v;
    bool by_weight = q->n->policy.stop_early, stops = by_weight && !q->aux;
    sl_vtx *kids = by_weight ? kids_by_weight(q, v) : NULL;
    for (uint32_t i = 0; i < count_kids(q->n, v); i++) {
        sl_vtx kid = kids ? kids[i] : any_kid(q->n, v, i);
        const struct want *own = want_of_type(list, type_of(q->n, kid));
        bool all = true;
        for (uint32_t k = 0; stops && k < list->n; k++)
            all = all && enough(q, found, list->v[k], slots);
        if (stops && all)
            return;
        if (stops && own && enough(q, found, own, slots))
            continue;
        (void)walk(q, step_to(q, kid, to), list, pristine, exclusive, found);
    }
}

/* ---- choosing (rules 8 and 9) ---- */

/* Takes the best until the count is reached; the last divisible pool gives only what is missing. */
static bool keep_count(struct question *q, const struct want *w, const struct cands *list,
                       struct cand *into) {
    int64_t sum = 0, got = 0, size;
    for (uint32_t i = 0; i < list->n; i++)
        sum += list->v[i]->amount;
    size = naive_take(&w->count, (uint64_t)sum);
    if (size == 0)
        return false;
    struct part *parts = sl_arena_alloc(q->mem, (into->n_parts + list->n + 1) * sizeof(*parts));
    if (into->n_parts > 0)
        memcpy(parts, into->parts, into->n_parts * sizeof(*parts));
    into->parts = parts;
    for (uint32_t i = 0; i < list->n && got < size; i++) {
        int64_t give = list->v[i]->amount;
        if (w->type && is_divisible(q->n, list->v[i]->v) && give > size - got)
            give = size - got;
        into->parts[into->n_parts++] = (struct part){list->v[i], give};
        got += give;
    }
    return true;
}

/* The same where each counts as taken for the next: walks them one after the other until there are
 * as many as could be wanted, then keeps what is. */
static bool keep_in_turn(struct question *q, const struct want *w, const struct cands *list,
                         struct cand *into) {
    int64_t most = naive_take(&w->count, SL_REQ_COUNT_MAX), sum = 0;
    uint32_t before = q->chosen.n, first = into->n_parts;
    struct cands good = {0};
    for (uint32_t i = 0; i < list->n && sum < most; i++) {
        const struct cand *c = again(q, list->v[i]);
        if (!c)
            continue;
        int64_t give = c->amount;
        if (w->type && is_divisible(q->n, c->v) && give > most - sum)
            give = most - sum;
        note_candidate(q, c, give);
        sum += give;
        push(q, &good, c);
    }
    q->chosen.n = before;
    if (!keep_count(q, w, &good, into))
        return false;
    for (uint32_t i = first; i < into->n_parts; i++)
        note_candidate(q, into->parts[i].c, into->parts[i].amount);
    return true;
}

static bool choose(struct question *q, const struct want *w, const struct cands *found, bool top,
                   struct cand *into) {
    struct cands list = ordered(q, found, w, top);
    return q->aux ? keep_in_turn(q, w, &list, into) : keep_count(q, w, &list, into);
}

/* ---- auxiliary subsystems ---- */

static bool is_matched(const struct naive *n, sl_sym subsystem) {
    for (uint32_t i = 0; i < n->subsystems.n; i++)
        if (strcmp(n->subsystems.v[i], sl_sym_str(sl_graph_syms(n->g), subsystem)) == 0)
            return true;
    return false;
}

/* Vertices of a type from which v can be reached, nearest first, then low unique id first. */
static struct cands aux_of(struct question *q, sl_vtx v, const struct want *w, bool exclusive) {
    const struct naive *n = q->n;
    uint32_t n_edges, n_v = sl_graph_count(n->g);
    const struct sl_graph_edge *edges = sl_graph_edges(n->g, &n_edges);
    uint32_t *steps = sl_arena_alloc0(q->mem, n_v, sizeof(*steps));
    struct cands list = {0};
    bool more = true;
    for (uint32_t step = 1; more; step++) {
        more = false;
        for (uint32_t i = 0; i < n_edges; i++) {
            bool from_here = step == 1 ? edges[i].to == v : steps[edges[i].to] == step - 1;
            if (!from_here || steps[edges[i].from] || edges[i].from == v ||
                !is_matched(n, edges[i].subsystem))
                continue;
            steps[edges[i].from] = step;
            more = true;
        }
    }
    for (;;) {
        sl_vtx next = SL_VTX_NONE;
        for (sl_vtx u = 0; u < n_v; u++) {
            if (steps[u] == 0 || strcmp(type_of(n, u), w->type) != 0)
                continue;
            if (next == SL_VTX_NONE || steps[u] < steps[next] ||
                (steps[u] == steps[next] && vertex_of(n, u)->uniq_id < vertex_of(n, next)->uniq_id))
                next = u;
        }
        if (next == SL_VTX_NONE)
            return list;
        struct cand *c = sl_arena_alloc0(q->mem, 1, sizeof(*c));
        *c = (struct cand){
            .want = w, .v = next, .below_exclusive = exclusive, .way = first_way(q, next)};
        push(q, &list, c);
        steps[next] = 0;
    }
}

/* Does the request want, inside a resource, a type that leads to others in such a subsystem? */
static bool uses_aux(const struct naive *n, const struct wants *list, bool inside) {
    uint32_t n_edges;
    const struct sl_graph_edge *edges = sl_graph_edges(n->g, &n_edges);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct want *w = list->v[i];
        for (uint32_t k = 0; w->type && inside && k < n_edges; k++)
            if (is_matched(n, edges[k].subsystem) &&
                strcmp(type_of(n, edges[k].from), w->type) == 0)
                return true;
        if (w->type && uses_aux(n, &w->inside, true))
            return true;
        for (uint32_t s = 0; s < w->n_shapes; s++)
            if (uses_aux(n, &w->shapes[s], false))
                return true;
    }
    return false;
}

/* ---- the walk ---- */

static const struct want *slot_in(const struct wants *list) {
    for (uint32_t i = 0; i < list->n; i++)
        if (!list->v[i]->type)
            return list->v[i];
    return NULL;
}

static uint32_t slots_in(const struct wants *list) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < list->n; i++)
        found += !list->v[i]->type;
    return found;
}

/* Rule 3. */
static bool may_be_used(const struct question *q, sl_vtx v) {
    const char *type = type_of(q->n, v);
    if (vertex_of(q->n, v)->down && q->when != ANYTIME && q->when != AT_END)
        return false;
    if ((strcmp(type, "node") == 0 || strcmp(type, "storage_node") == 0) &&
        !constraint_allows(q->n, q->constraint, v))
        return false;
    return free_of(q, v) > 0;
}

/* Of several parents the first through which something was found counts. */
static bool is_found_elsewhere(const struct question *q, const struct way *to) {
    sl_vtx in = q->found_in[to->v];
    return in != SL_VTX_NONE && to->up && in != to->up->v;
}

static void note_found(struct question *q, const struct way *to) {
    if (to->up)
        q->found_in[to->v] = to->up->v;
}

static bool walk(struct question *q, const struct way *to, const struct wants *list, bool pristine,
                 bool exclusive, struct cands *out) {
    const struct naive *n = q->n;
    sl_vtx v = to->v;
    if (is_found_elsewhere(q, to))
        return false;
    /* 1, 2 */
    const struct want *r = want_of_type(list, type_of(n, v));
    const struct want *slot = slot_in(r ? &r->inside : list);
    bool shaped = slot && takes_shape(n, v, slot);
    bool several = r && slots_in(&r->inside) > 1;
    if (!r && !shaped && !pristine)
        return false;
    for (uint32_t i = 0; several && i < r->inside.n; i++)
        if (!r->inside.v[i]->type && !takes_shape(n, v, r->inside.v[i]))
            return false;
    /* 3 */
    if (!may_be_used(q, v))
        return false;
    /* 4 */
    bool all = (r && r->exclusive == SL_TRUE) ||
               (n->policy.node_exclusive && strcmp(type_of(n, v), "node") == 0);
    exclusive = exclusive || all;
    if (exclusive && !is_divisible(n, v) && is_touched(q, v))
        return false;
    /* 5, 6, 7 */
    struct cands found = {0};
    if (shaped && !several)
        walk_slot(q, to, slot, &found);
    if (r && shaped) {
        struct wants others = {sl_arena_alloc(q->mem, (r->inside.n + 1) * sizeof(struct want *)),
                               0};
        for (uint32_t i = 0; i < r->inside.n; i++)
            if (r->inside.v[i]->type || (!several && r->inside.v[i] != slot))
                others.v[others.n++] = r->inside.v[i];
        walk_kids(q, to, &others, 0, false, exclusive, &found);
    } else if (r) {
        walk_kids(q, to, &r->inside, 0, false, exclusive, &found);
    } else if (!shaped) {
        walk_kids(q, to, list, 0, true, exclusive, &found);
    }
    if (!r) {
        if (found.n > 0)
            note_found(q, to);
        for (uint32_t i = 0; i < found.n; i++)
            push(q, out, found.v[i]);
        return true;
    }
    /* 8 */
    struct cand *c = sl_arena_alloc0(q->mem, 1, sizeof(*c));
    uint32_t before = q->chosen.n;
    bool good = true;
    *c = (struct cand){
        .want = r, .v = v, .amount = free_of(q, v), .score = score_of(n, v), .way = to};
    for (uint32_t i = 0; i < r->inside.n && good; i++) {
        const struct want *w = r->inside.v[i];
        if (q->aux && w->type && !has_kid_of(n, v, w->type)) {
            struct cands far = aux_of(q, v, w, exclusive);
            good = keep_in_turn(q, w, &far, c);
        } else if (several && !w->type) {
            struct cands now = {0};
            uint32_t first = c->n_parts;
            walk_slot(q, to, w, &now);
            good = choose(q, w, &now, false, c);
            for (uint32_t k = first; k < c->n_parts && good && !q->aux; k++)
                note_candidate(q, c->parts[k].c, c->parts[k].amount);
        } else {
            good = choose(q, w, &found, false, c);
        }
    }
    q->chosen.n = before;
    if (!good)
        return false;
    c->below_exclusive = c->exclusive = exclusive;
    c->all = all;
    note_found(q, to);
    push(q, out, c);
    return true;
}

static void collect(struct question *q, const struct part *p, taken_list *ret) {
    const struct cand *c = p->c;
    if (c->want->type)
        *sl_vec_push(ret) = (struct taken){c->v, p->amount, c->exclusive, c->all, c->way};
    else
        q->n_slots++;
    for (uint32_t i = 0; i < c->n_parts; i++)
        collect(q, &c->parts[i], ret);
}

bool find_match(struct question *q, const struct wants *top, taken_list *ret) {
    struct cands found = {0};
    struct cand all = {0};
    bool good;
    q->aux = uses_aux(q->n, top, false);
    q->found_in = sl_arena_alloc(q->mem, (sl_graph_count(q->n->g) + 1) * sizeof(*q->found_in));
    memset(q->found_in, 0xff, (sl_graph_count(q->n->g) + 1) * sizeof(*q->found_in));
    /* 9 */
    good = walk(q, step_to(q, sl_graph_root(q->n->g), NULL), top, true, false, &found);
    for (uint32_t i = 0; i < top->n && good; i++)
        good = choose(q, top->v[i], &found, true, &all);
    for (uint32_t i = 0; i < all.n_parts && good; i++)
        collect(q, &all.parts[i], ret);
    return good;
}
