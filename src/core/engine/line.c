/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pending workloads in queue order: any range of a ClusterQueue, or of one LocalQueue, with the
 * positions in both.
 *
 * Each class is an ordered set of its own; workloads that are parked, or wait for their victims,
 * are alone. These sets are merged by a heap. Outside of the requested range nothing is sorted or
 * walked: its begin and end are found as in quickselect, with one rank per set in the place of a
 * partition, in some 2 ln n rounds.
 */
#include "core/engine/state.h"

#include "core/base/prng.h"

#define MAX_KIN 64u

/* The position of a workload: compared by the queue's usage, 'first', priority, key. */
struct spot {
    uint32_t lq;
    bool first; /* waits for its victims, and goes before the others */
    int64_t priority;
    struct sl_ordkey key;
};

struct line {
    uint32_t class;    /* NONE: one workload by itself */
    bool single;       /* there is only one, and its key is head.key */
    uint32_t slot;     /* which of the LocalQueues it belongs to */
    uint32_t from, to; /* what is left of the class's line */
    uint32_t lo, hi;   /* while a boundary is looked for: it lies between */
    uint32_t cut;
    uint32_t place;              /* in the heap */
    const struct sl_ordkey *run; /* the first of those left, n_run of them side by side */
    uint32_t n_run;
    uint32_t like;    /* the first of those that are alike; NONE: not looked for yet */
    struct spot head; /* the first of those left */
};

struct merge {
    const struct sl_engine *e;
    const struct eng_cq *q;
    bool by_usage;
    uint32_t sticky; /* the sticky workload, which waits for its victims, NONE */
    SL_VEC(struct line) lines;
    struct sl_heap heap;
};

/* ---- order ---- */

static int level_cmp(const struct merge *m, const struct spot *a, const struct spot *b) {
    if (m->by_usage && a->lq != b->lq) {
        unsigned __int128 x = m->e->lqs.v[a->lq].afs_usage, y = m->e->lqs.v[b->lq].afs_usage;
        if (x != y)
            return x < y ? -1 : 1;
    }
    if (a->first != b->first)
        return a->first ? -1 : 1;
    return a->priority > b->priority ? -1 : a->priority < b->priority;
}

static int spot_cmp(const struct merge *m, const struct spot *a, const struct spot *b) {
    int r = level_cmp(m, a, b);
    return r ? r : sl_ordkey_cmp(&a->key, &b->key, eng_wl_tie, m->e);
}

static bool line_less(const void *ctx, uint32_t a, uint32_t b) {
    const struct merge *m = ctx;
    return spot_cmp(m, &m->lines.v[a].head, &m->lines.v[b].head) < 0;
}

static uint32_t *line_place(void *ctx, uint32_t i) {
    return &((struct merge *)ctx)->lines.v[i].place;
}

/* ---- lines ---- */

static const struct sl_ordset *keys_of(const struct merge *m, const struct line *l) {
    return &m->e->classes.v[l->class].line;
}

/* The i-th of the class's line. */
static struct spot spot_at(const struct merge *m, const struct line *l, uint32_t i) {
    struct spot s = l->head;
    if (!l->single)
        s.key = *sl_ordset_at(keys_of(m, l), i);
    return s;
}

/* Where the spot would stand in the line, within [from, to]. */
static uint32_t line_rank(const struct merge *m, const struct line *l, uint32_t from, uint32_t to,
                          const struct spot *s) {
    int r = level_cmp(m, &l->head, s);
    if (!r && l->single)
        r = sl_ordkey_cmp(&l->head.key, &s->key, eng_wl_tie, m->e) < 0 ? -1 : 1;
    if (r)
        return r < 0 ? to : from;
    uint32_t at = sl_ordset_rank(keys_of(m, l), &s->key, eng_wl_tie, m->e);
    return at < from ? from : at > to ? to : at;
}

/* Makes the first of the rest its head; false: none is left. */
static bool line_head(const struct merge *m, struct line *l) {
    if (l->from == l->to)
        return false;
    if (l->single)
        return true;
    if (!l->n_run)
        l->run = sl_ordset_run(keys_of(m, l), l->from, &l->n_run);
    l->head.key = *l->run;
    return true;
}

static void line_next(struct line *l) {
    l->from++;
    if (l->n_run) {
        l->run++;
        l->n_run--;
    }
}

static void add_one(struct merge *m, uint32_t wl, uint32_t slot) {
    const struct eng_wl *w = &m->e->wls.v[wl];
    *sl_vec_push(&m->lines) = (struct line){
        .class = ENG_NONE,
        .single = true,
        .slot = slot,
        .to = 1,
        .head = {w->lq, wl == m->sticky, eng_wl_priority(m->e, w), eng_wl_key(m->e, wl)},
    };
}

static void add_class(struct merge *m, uint32_t class, uint32_t slot, uint32_t from, uint32_t to) {
    const struct eng_class *c = &m->e->classes.v[class];
    if (from >= to)
        return;
    struct line *l = sl_vec_push(&m->lines);
    *l = (struct line){
        .class = class,
        .single = to - from == 1,
        .slot = slot,
        .from = from,
        .to = to,
        .like = ENG_NONE,
        .head = {.lq = c->lq, .priority = c->priority},
    };
    if (l->single) /* many are: their keys need not be fetched again and again */
        l->head.key = *sl_ordset_at(&c->line, from);
}

static void add_queue(struct merge *m, uint32_t lq, uint32_t slot) {
    const struct eng_lq *l = &m->e->lqs.v[lq];
    for (uint32_t i = 0; i < l->classes.n; i++) {
        uint32_t c = l->classes.v[i], n = m->e->classes.v[c].line.n;
        if (m->sticky == ENG_NONE || m->e->wls.v[m->sticky].class != c) {
            add_class(m, c, slot, 0, n);
            continue;
        }
        struct sl_ordkey k = eng_wl_key(m->e, m->sticky);
        uint32_t at = sl_ordset_rank(&m->e->classes.v[c].line, &k, eng_wl_tie, m->e);
        add_class(m, c, slot, 0, at);
        add_class(m, c, slot, at + 1, n);
        add_one(m, m->sticky, slot);
    }
    for (uint32_t i = 0; i < l->parked.n; i++)
        add_one(m, l->parked.v[i], slot);
}

static void merge_init(struct merge *m, const struct sl_engine *e, const struct eng_cq *q) {
    bool waits = q->sticky != ENG_NONE && e->wls.v[q->sticky].phase == WL_WAITING;
    *m = (struct merge){
        .e = e, .q = q, .by_usage = eng_afs_orders(e, q), .sticky = waits ? q->sticky : ENG_NONE};
    sl_heap_init(&m->heap, line_less, line_place, m);
}

static void merge_done(struct merge *m) {
    sl_heap_done(&m->heap);
    sl_vec_free(&m->lines);
}

/* ---- boundaries ---- */

/* Leaves out lines in which it is found; returns how many are between in the others. */
static uint64_t close_ranks(struct merge *m, uint32_t *v, uint32_t *n) {
    uint64_t total = 0;
    uint32_t k = 0;
    for (uint32_t i = 0; i < *n; i++) {
        const struct line *l = &m->lines.v[v[i]];
        if (l->lo < l->hi)
            v[k++] = v[i];
        total += l->hi - l->lo;
    }
    *n = k;
    return total;
}

/* One of those between is the pivot: all before it, and it, stand before the boundary; or all from
 * it on stand behind. */
static void halve(struct merge *m, const uint32_t *v, uint32_t n, uint64_t pick, uint64_t *left) {
    uint64_t before = 0;
    uint32_t at = 0;
    for (; pick >= m->lines.v[v[at]].hi - m->lines.v[v[at]].lo; at++)
        pick -= m->lines.v[v[at]].hi - m->lines.v[v[at]].lo;
    struct spot pivot = spot_at(m, &m->lines.v[v[at]], m->lines.v[v[at]].lo + (uint32_t)pick);
    for (uint32_t i = 0; i < n; i++) {
        struct line *l = &m->lines.v[v[i]];
        l->cut = line_rank(m, l, l->lo, l->hi, &pivot);
        before += l->cut - l->lo;
    }
    bool past = before < *left;
    for (uint32_t i = 0; i < n; i++) {
        struct line *l = &m->lines.v[v[i]];
        *(past ? &l->lo : &l->hi) = l->cut;
    }
    if (past) {
        m->lines.v[v[at]].lo++;
        *left -= before + 1;
    }
}

/* The first n of all stand before 'lo' of their lines. */
static void split_lines(struct merge *m, uint64_t n) {
    uint32_t n_lines = m->lines.n, *v = sl_alloc0((size_t)n_lines + 1, sizeof *v);
    uint64_t total;
    struct sl_prng prng; /* what comes out does not depend on it */
    sl_prng_init(&prng, n);
    for (uint32_t i = 0; i < n_lines; i++) {
        v[i] = i;
        m->lines.v[i].lo = m->lines.v[i].from;
        m->lines.v[i].hi = m->lines.v[i].to;
    }
    while (n && (total = close_ranks(m, v, &n_lines)) > n)
        halve(m, v, n_lines, sl_prng_below(&prng, total), &n);
    for (uint32_t i = 0; n && i < n_lines; i++)
        m->lines.v[v[i]].lo = m->lines.v[v[i]].hi;
    sl_freep(&v);
}

/* Leaves [from, from + n) of all in the lines. Counts those before it ('taken', by slot). */
static void narrow(struct merge *m, uint32_t from, uint32_t n, uint32_t *taken) {
    uint32_t k = 0;
    split_lines(m, (uint64_t)from + n);
    for (uint32_t i = 0; i < m->lines.n; i++) {
        struct line *l = &m->lines.v[i];
        l->to = l->lo;
        if (l->from < l->to)
            m->lines.v[k++] = *l;
    }
    m->lines.n = k;
    split_lines(m, from);
    for (uint32_t i = 0; i < m->lines.n; i++) {
        struct line *l = &m->lines.v[i];
        taken[l->slot] += l->lo - l->from;
        l->from = l->lo;
    }
}

/* ---- taking ---- */

/* The first of those that get the same answers: of its own class, and of the classes of other
 * LocalQueues that are alike. Of very many of them some will do. */
static uint32_t first_alike(const struct merge *m, struct line *l) {
    if (l->class == ENG_NONE)
        return l->head.key.id;
    if (l->like != ENG_NONE)
        return l->like;
    const struct eng_class *v = m->e->classes.v;
    const struct sl_ordkey *best = sl_ordset_first(&v[l->class].line);
    uint32_t left = MAX_KIN;
    for (uint32_t k = v[l->class].next_equivalent; k != l->class && left--;
         k = v[k].next_equivalent) {
        const struct sl_ordkey *x = sl_ordset_first(&v[k].line);
        if (sl_ordkey_cmp(x, best, eng_wl_tie, m->e) < 0)
            best = x;
    }
    return l->like = best->id;
}

/* Takes the next n; each position in the LocalQueue follows from how many of it were taken or left
 * out before ('taken', by slot). spots: their positions; NULL: not needed. */
static uint32_t take_from_lines(struct merge *m, struct sl_engine_waiting *ret, uint32_t n,
                                uint32_t *taken, struct spot *spots) {
    for (uint32_t i = 0; i < m->lines.n; i++)
        if (line_head(m, &m->lines.v[i])) {
            m->lines.v[i].place = m->heap.items.n;
            *sl_vec_push(&m->heap.items) = i;
        }
    sl_heap_rebuild(&m->heap);
    uint32_t got = 0;
    for (; got < n && !sl_heap_empty(&m->heap); got++) {
        uint32_t top = sl_heap_top(&m->heap);
        struct line *l = &m->lines.v[top];
        ret[got] = (struct sl_engine_waiting){
            .wl = eng_wl_id(m->e, l->head.key.id),
            .first_alike = eng_wl_id(m->e, first_alike(m, l)),
            .refused_wl = l->class == ENG_NONE ? SL_WL_NONE : m->e->classes.v[l->class].refused_wl,
            .in_lq = taken[l->slot]++};
        if (spots)
            spots[got] = l->head;
        line_next(l);
        if (line_head(m, l))
            sl_heap_fix(&m->heap, top);
        else
            (void)sl_heap_pop(&m->heap);
    }
    return got;
}

/* How many of the line stand before each of the spots: added to before[i] for those from i on, or
 * to just[i] for that one alone. */
static void count_line(const struct merge *m, struct line *l, const struct spot *v, uint32_t n,
                       uint32_t *before, uint32_t *just) {
    uint32_t first = line_rank(m, l, l->from, l->to, &v[0]);
    uint32_t last = line_rank(m, l, first, l->to, &v[n - 1]);
    before[0] += first - l->from;
    if (last - first >= n) {
        for (uint32_t i = 1; i < n; i++)
            just[i] += line_rank(m, l, first, last, &v[i]) - first;
        return;
    }
    for (l->from = first; l->from < last && line_head(m, l); line_next(l)) {
        uint32_t lo = 0, hi = n;
        while (lo < hi) {
            uint32_t mid = lo + (hi - lo) / 2;
            if (spot_cmp(m, &v[mid], &l->head) <= 0)
                lo = mid + 1;
            else
                hi = mid;
        }
        before[lo]++;
    }
}

/* Places in the ClusterQueue of those that were taken from one of its LocalQueues. */
static void place_in_cq(const struct sl_engine *e, const struct eng_cq *q, const struct spot *v,
                        struct sl_engine_waiting *ret, uint32_t n) {
    struct merge all;
    uint32_t *before = sl_alloc0(2 * ((size_t)n + 1), sizeof *before), *just = before + n + 1;
    merge_init(&all, e, q);
    for (uint32_t i = 0; i < q->lqs.n; i++)
        add_queue(&all, q->lqs.v[i], i);
    for (uint32_t i = 0; i < all.lines.n; i++)
        count_line(&all, &all.lines.v[i], v, n, before, just);
    for (uint32_t i = 0, sum = 0; i < n; i++) {
        sum += before[i];
        ret[i].in_cq = sum + just[i];
    }
    merge_done(&all);
    sl_freep(&before);
}

uint32_t sl_engine_queue_order(const struct sl_engine *e, const char *ns, const char *queue,
                               uint32_t from, struct sl_engine_waiting *ret, uint32_t n) {
    uint32_t lq = ns ? eng_lq_named(e, ns, queue) : ENG_NONE, got;
    bool live = lq != ENG_NONE && e->lqs.v[lq].live;
    const struct eng_cq *q = !ns    ? eng_cq_named(e, queue)
                             : live ? &e->cqs.v[e->lqs.v[lq].cq]
                                    : NULL;
    struct merge m;
    if (!q || !n)
        return 0;
    merge_init(&m, e, q);
    for (uint32_t i = 0; !ns && i < q->lqs.n; i++)
        add_queue(&m, q->lqs.v[i], i);
    if (ns)
        add_queue(&m, lq, 0);
    uint32_t *taken = sl_alloc0((size_t)q->lqs.n + 1, sizeof *taken);
    narrow(&m, from, n, taken);
    struct spot *spots = ns ? sl_alloc0(n, sizeof *spots) : NULL;
    got = take_from_lines(&m, ret, n, taken, spots);
    for (uint32_t i = 0; i < got; i++)
        ret[i].in_cq = from + i;
    if (ns && got)
        place_in_cq(e, q, spots, ret, got);
    sl_freep(&spots);
    sl_freep(&taken);
    merge_done(&m);
    return got;
}

uint32_t sl_engine_pending(const struct sl_engine *e, const char *cq, uint32_t from, sl_wl_id *ret,
                           uint32_t n) {
    struct sl_engine_waiting *v = sl_alloc0((size_t)n + 1, sizeof *v);
    uint32_t got = sl_engine_queue_order(e, NULL, cq, from, v, n);
    for (uint32_t i = 0; i < got; i++)
        ret[i] = v[i].wl;
    sl_freep(&v);
    return got;
}
