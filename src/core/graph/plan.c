/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree is an AVL tree over an array of nodes; node 0 is "none". A node has the change of the
 * taken amount at its time (never 0: such a point is removed), and of its subtree, read from left
 * to right, the sum of the changes and the greatest and least running sum. What is taken at a time
 * is then the sum of all changes up to it, which a descent adds up, and a subtree can be skipped if
 * not even its greatest running sum exceeds a limit.
 *
 * Every running sum from the start of time lies within 0 and SL_PLAN_MAX_AMOUNT, and while a span
 * is half added or removed within twice that; a sum over a subtree is the difference of two of
 * them. So 64 bits hold them all.
 */
#include "core/graph/plan.h"

#include <string.h>

#define NIL 0u
#define OUT (2 * SL_PLAN_MAX_AMOUNT) /* beyond every running sum */
#define NO_SPAN UINT32_MAX
#define UNUSED INT64_C(-1) /* the amount of a span that is none */

struct point {
    int64_t at;
    int64_t change;
    int64_t sum, most, least; /* of the subtree */
    uint32_t kid[2];          /* earlier, later */
    uint8_t height;
};

struct span {
    int64_t at, end;
    int64_t amount; /* UNUSED: 'at' is the next such one */
};

struct sl_plan {
    int64_t start, end, total;
    SL_VEC(struct point) points;
    SL_VEC(struct span) spans;
    uint32_t root;
    uint32_t idle_points; /* head of a list through kid[0] */
    uint32_t idle_spans;
    uint32_t n_points, n_spans;
};

/* ---- the tree ---- */

static const struct point none = {.most = -OUT, .least = OUT};

static const struct point *get(const struct sl_plan *p, uint32_t n) {
    return n == NIL ? &none : &p->points.v[n];
}

static int64_t greater(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* What stands in a node about its subtree, from what stands in its children. */
static void refresh(struct sl_plan *p, uint32_t n) {
    struct point *k = &p->points.v[n];
    const struct point *l = get(p, k->kid[0]), *r = get(p, k->kid[1]);
    int64_t here = l->sum + k->change;

    k->sum = here + r->sum;
    k->most = greater(greater(l->most, here), here + r->most);
    k->least = lesser(lesser(l->least, here), here + r->least);
    k->height = (uint8_t)(1 + (l->height > r->height ? l->height : r->height));
}

/* The child on the given side comes up. */
static uint32_t rotate(struct sl_plan *p, uint32_t n, unsigned side) {
    uint32_t up = p->points.v[n].kid[side];

    p->points.v[n].kid[side] = p->points.v[up].kid[!side];
    p->points.v[up].kid[!side] = n;
    refresh(p, n);
    refresh(p, up);
    return up;
}

static int height_difference(const struct sl_plan *p, uint32_t n) {
    const struct point *k = get(p, n);

    return get(p, k->kid[1])->height - get(p, k->kid[0])->height;
}

static uint32_t balance(struct sl_plan *p, uint32_t n) {
    int by = height_difference(p, n);

    if (by >= -1 && by <= 1) {
        refresh(p, n);
        return n;
    }
    unsigned side = by > 0;
    uint32_t kid = p->points.v[n].kid[side];
    if (by > 0 ? height_difference(p, kid) < 0 : height_difference(p, kid) > 0)
        p->points.v[n].kid[side] = rotate(p, kid, !side);
    return rotate(p, n, side);
}

/* Takes the first point out of a subtree. */
static uint32_t unhook_first(struct sl_plan *p, uint32_t n, uint32_t *ret_first) {
    uint32_t l = p->points.v[n].kid[0];

    if (l == NIL) {
        *ret_first = n;
        return p->points.v[n].kid[1];
    }
    l = unhook_first(p, l, ret_first);
    p->points.v[n].kid[0] = l;
    return balance(p, n);
}

static uint32_t drop_point(struct sl_plan *p, uint32_t n) {
    uint32_t l = p->points.v[n].kid[0], r = p->points.v[n].kid[1], first;

    p->points.v[n].kid[0] = p->idle_points;
    p->idle_points = n;
    p->n_points--;
    if (l == NIL || r == NIL)
        return l == NIL ? r : l;
    r = unhook_first(p, r, &first);
    p->points.v[first].kid[0] = l;
    p->points.v[first].kid[1] = r;
    return balance(p, first);
}

static uint32_t new_point(struct sl_plan *p, int64_t at, int64_t change) {
    uint32_t n = p->idle_points;

    if (n != NIL)
        p->idle_points = p->points.v[n].kid[0];
    else
        n = (uint32_t)(sl_vec_push(&p->points) - p->points.v);
    p->points.v[n] = (struct point){.at = at, .change = change};
    p->n_points++;
    refresh(p, n);
    return n;
}

/* Of the subtree n: from 'at' on that much more is taken. Returns its new root. One more point is
 * reserved, so that nothing moves. */
static uint32_t put_point(struct sl_plan *p, uint32_t n, int64_t at, int64_t change) {
    if (n == NIL)
        return new_point(p, at, change);
    struct point *k = &p->points.v[n];
    if (k->at == at) {
        k->change += change;
        if (k->change == 0)
            return drop_point(p, n);
        refresh(p, n);
        return n;
    }
    unsigned side = at > k->at;
    k->kid[side] = put_point(p, k->kid[side], at, change);
    return balance(p, n);
}

static void change_at(struct sl_plan *p, int64_t at, int64_t change) {
    sl_vec_reserve(&p->points, p->points.n + 2);
    if (p->points.n == 0)
        *sl_vec_push(&p->points) = none;
    p->root = put_point(p, p->root, at, change);
}

static void change_span(struct sl_plan *p, const struct span *s, int64_t change) {
    if (change == 0)
        return;
    change_at(p, s->at, change);
    if (s->end < p->end) /* nothing is queried behind the end */
        change_at(p, s->end, -change);
}

/* ---- questions to the tree ---- */

static int64_t taken_at(const struct sl_plan *p, int64_t at) {
    int64_t sum = 0;

    for (uint32_t n = p->root; n != NIL;) {
        const struct point *k = get(p, n);
        bool past = k->at <= at;
        if (past)
            sum += get(p, k->kid[0])->sum + k->change;
        n = k->kid[past];
    }
    return sum;
}

/* The most that is taken at any moment of [at, end). */
static int64_t most_during(const struct sl_plan *p, int64_t at, int64_t end) {
    const struct point *k;
    int64_t base = 0, most, here;
    uint32_t n = p->root;

    /* Down to the first node within (at, end): it parts the window. */
    while (n != NIL) {
        k = get(p, n);
        if (k->at <= at) {
            base += get(p, k->kid[0])->sum + k->change;
            n = k->kid[1];
        } else if (k->at >= end) {
            n = k->kid[0];
        } else {
            break;
        }
    }
    if (n == NIL)
        return base;
    uint32_t early = k->kid[0], late = k->kid[1];
    most = here = base + get(p, early)->sum + k->change;
    while (early != NIL) { /* what of it lies behind 'at' */
        k = get(p, early);
        int64_t own = base + get(p, k->kid[0])->sum + k->change;
        if (k->at <= at) {
            base = own;
            early = k->kid[1];
        } else {
            most = greater(most, greater(own, own + get(p, k->kid[1])->most));
            early = k->kid[0];
        }
    }
    most = greater(most, base); /* what is taken at 'at' itself */
    while (late != NIL) {       /* what of it lies before 'end' */
        k = get(p, late);
        if (k->at < end) {
            most = greater(most, here + get(p, k->kid[0])->most);
            here += get(p, k->kid[0])->sum + k->change;
            most = greater(most, here);
            late = k->kid[1];
        } else {
            late = k->kid[0];
        }
    }
    return most;
}

/* The first point of subtree n after 'from' from which on more than the limit is taken (over), or
 * at most the limit (!over). base: what is taken before the subtree. */
static int64_t first_point(const struct sl_plan *p, uint32_t n, int64_t base, int64_t from,
                           int64_t limit, bool over) {
    while (n != NIL) {
        const struct point *k = get(p, n);
        if (over ? base + k->most <= limit : base + k->least > limit)
            break;
        int64_t here = base + get(p, k->kid[0])->sum + k->change;
        if (k->at > from) {
            int64_t t = first_point(p, k->kid[0], base, from, limit, over);
            if (t != SL_PLAN_NEVER)
                return t;
            if (over == (here > limit))
                return k->at;
        }
        base = here;
        n = k->kid[1];
    }
    return SL_PLAN_NEVER;
}

/* ---- spans ---- */

struct sl_plan *sl_plan_new(int64_t start, int64_t end, int64_t total) {
    sl_assert(start < end && total >= 0 && total <= SL_PLAN_MAX_AMOUNT);
    struct sl_plan *p = sl_alloc0(1, sizeof *p);
    p->start = start;
    p->end = end;
    p->total = total;
    p->idle_spans = NO_SPAN;
    return p;
}

static void *copy(const void *v, uint32_t n, size_t bytes) {
    if (n == 0)
        return NULL;
    return memcpy(sl_realloc(NULL, n, bytes), v, n * bytes);
}

struct sl_plan *sl_plan_clone(const struct sl_plan *p) {
    struct sl_plan *c = sl_alloc(sizeof *c);

    *c = *p;
    c->points.v = copy(p->points.v, p->points.n, sizeof *p->points.v);
    c->points.cap = p->points.n;
    c->spans.v = copy(p->spans.v, p->spans.n, sizeof *p->spans.v);
    c->spans.cap = p->spans.n;
    return c;
}

void sl_plan_free(struct sl_plan *p) {
    if (!p)
        return;
    sl_vec_free(&p->points);
    sl_vec_free(&p->spans);
    sl_freep(&p);
}

int64_t sl_plan_total(const struct sl_plan *p) {
    return p->total;
}

void sl_plan_set_total(struct sl_plan *p, int64_t total) {
    sl_assert(total >= 0 && total <= SL_PLAN_MAX_AMOUNT);
    p->total = total;
}

/* Is [at, at + length) within the planner's time? Written so that no sum overflows. */
static bool within(const struct sl_plan *p, int64_t at, int64_t length) {
    return length > 0 && at >= p->start && at < p->end &&
           (uint64_t)length <= (uint64_t)p->end - (uint64_t)at;
}

static int check_span(const struct sl_plan *p, int64_t at, int64_t length, int64_t amount,
                      struct sl_err *err) {
    if (!within(p, at, length))
        return sl_err_set(err, SL_EINVAL, "%lld seconds from %lld on are not within [%lld, %lld)",
                          (long long)length, (long long)at, (long long)p->start, (long long)p->end);
    if (amount < 0)
        return sl_err_set(err, SL_EINVAL, "an amount of %lld: expected at least 0",
                          (long long)amount);
    if (p->n_spans >= SL_PLAN_MAX_SPANS)
        return sl_err_set(err, SL_ELIMIT, "more than %u spans", SL_PLAN_MAX_SPANS);
    if (amount > 0 && amount > SL_PLAN_MAX_AMOUNT - most_during(p, at, at + length))
        return sl_err_set(err, SL_ELIMIT, "more than %lld taken at one time",
                          (long long)SL_PLAN_MAX_AMOUNT);
    return 0;
}

static uint32_t add_span(struct sl_plan *p, int64_t at, int64_t length, int64_t amount) {
    struct span s = {at, at + length, amount};
    uint32_t i = p->idle_spans;

    if (i != NO_SPAN) {
        p->idle_spans = (uint32_t)p->spans.v[i].at;
    } else {
        i = p->spans.n;
        (void)sl_vec_push(&p->spans);
    }
    p->spans.v[i] = s;
    p->n_spans++;
    change_span(p, &s, amount);
    return i;
}

static struct span *find_span(struct sl_plan *p, uint32_t span) {
    if (span >= p->spans.n || p->spans.v[span].amount == UNUSED)
        return NULL;
    return &p->spans.v[span];
}

int sl_plan_force(struct sl_plan *p, int64_t at, int64_t length, int64_t amount, uint32_t *ret_span,
                  struct sl_err *err) {
    int r = check_span(p, at, length, amount, err);

    if (r < 0)
        return r;
    *ret_span = add_span(p, at, length, amount);
    return 0;
}

static bool fits(const struct sl_plan *p, int64_t at, int64_t length, int64_t amount) {
    return within(p, at, length) && amount >= 0 &&
           (amount == 0 || amount <= sl_plan_free_during(p, at, length));
}

int sl_plan_add(struct sl_plan *p, int64_t at, int64_t length, int64_t amount, uint32_t *ret_span,
                struct sl_err *err) {
    int r = check_span(p, at, length, amount, err);

    if (r < 0)
        return r;
    if (!fits(p, at, length, amount))
        return sl_err_set(err, SL_ELIMIT, "%lld wanted, %lld free", (long long)amount,
                          (long long)sl_plan_free_during(p, at, length));
    *ret_span = add_span(p, at, length, amount);
    return 0;
}

bool sl_plan_remove(struct sl_plan *p, uint32_t span) {
    struct span *s = find_span(p, span);

    if (!s)
        return false;
    change_span(p, s, -s->amount);
    *s = (struct span){.at = p->idle_spans, .amount = UNUSED};
    p->idle_spans = span;
    p->n_spans--;
    return true;
}

bool sl_plan_reduce(struct sl_plan *p, uint32_t span, int64_t amount) {
    struct span *s = find_span(p, span);

    if (!s || amount < 0 || amount > s->amount)
        return false;
    if (amount == s->amount)
        return sl_plan_remove(p, span);
    change_span(p, s, -amount);
    s->amount -= amount;
    return true;
}

uint32_t sl_plan_spans(const struct sl_plan *p) {
    return p->n_spans;
}

uint32_t sl_plan_points(const struct sl_plan *p) {
    return p->n_points;
}

size_t sl_plan_bytes(const struct sl_plan *p) {
    return sizeof *p + p->points.cap * sizeof *p->points.v + p->spans.cap * sizeof *p->spans.v;
}

/* ---- questions ---- */

int64_t sl_plan_free_at(const struct sl_plan *p, int64_t at) {
    return at >= p->start && at < p->end ? p->total - taken_at(p, at) : INT64_MIN;
}

int64_t sl_plan_free_during(const struct sl_plan *p, int64_t at, int64_t length) {
    return within(p, at, length) ? p->total - most_during(p, at, at + length) : INT64_MIN;
}

int64_t sl_plan_earliest(const struct sl_plan *p, int64_t from, int64_t length, int64_t amount) {
    int64_t t = greater(from, p->start);

    if (amount < 0 || (amount > 0 && amount > p->total))
        return SL_PLAN_NEVER;
    if (amount == 0)
        return within(p, t, length) ? t : SL_PLAN_NEVER;
    int64_t limit = p->total - amount;
    if (within(p, t, length) && taken_at(p, t) > limit)
        t = first_point(p, p->root, 0, t, limit, false);
    /* At t there is enough: is there until t + length? If not, go on where there is enough again.
     */
    while (within(p, t, length)) {
        int64_t blocked = first_point(p, p->root, 0, t, limit, true);
        if (blocked >= t + length)
            return t;
        t = first_point(p, p->root, 0, blocked, limit, false);
    }
    return SL_PLAN_NEVER;
}

/* ---- several ---- */

struct sl_plans {
    SL_VEC(struct sl_plan *) v;
    int64_t start, end;
};

static void grow_plans(struct sl_plans *p, int64_t total) {
    struct sl_plan *q = sl_plan_new(p->start, p->end, total);

    if (p->v.n > 0) { /* the same numbers stand for the same spans */
        const struct sl_plan *o = p->v.v[0];
        q->spans.v = copy(o->spans.v, o->spans.n, sizeof *o->spans.v);
        q->spans.n = q->spans.cap = o->spans.n;
        q->idle_spans = o->idle_spans;
        q->n_spans = o->n_spans;
        for (uint32_t i = 0; i < q->spans.n; i++)
            if (q->spans.v[i].amount != UNUSED)
                q->spans.v[i].amount = 0;
    }
    *sl_vec_push(&p->v) = q;
}

struct sl_plans *sl_plans_new(int64_t start, int64_t end, const int64_t *totals, uint32_t n) {
    struct sl_plans *p = sl_alloc0(1, sizeof *p);

    sl_assert(start < end);
    p->start = start;
    p->end = end;
    for (uint32_t i = 0; i < n; i++)
        grow_plans(p, totals[i]);
    return p;
}

struct sl_plans *sl_plans_clone(const struct sl_plans *p) {
    struct sl_plans *c = sl_plans_new(p->start, p->end, NULL, 0);

    sl_vec_reserve(&c->v, p->v.n);
    for (uint32_t i = 0; i < p->v.n; i++)
        *sl_vec_push(&c->v) = sl_plan_clone(p->v.v[i]);
    return c;
}

void sl_plans_free(struct sl_plans *p) {
    if (!p)
        return;
    for (uint32_t i = 0; i < p->v.n; i++)
        sl_plan_free(p->v.v[i]);
    sl_vec_free(&p->v);
    sl_freep(&p);
}

uint32_t sl_plans_count(const struct sl_plans *p) {
    return p->v.n;
}

const struct sl_plan *sl_plans_get(const struct sl_plans *p, uint32_t i) {
    sl_assert(i < p->v.n);
    return p->v.v[i];
}

void sl_plans_set_total(struct sl_plans *p, uint32_t i, int64_t total) {
    sl_assert(i < p->v.n);
    sl_plan_set_total(p->v.v[i], total);
}

void sl_plans_grow(struct sl_plans *p, int64_t total) {
    grow_plans(p, total);
}

int sl_plans_add(struct sl_plans *p, int64_t at, int64_t length, const int64_t *amounts,
                 uint32_t *ret_span, struct sl_err *err) {
    sl_assert(p->v.n > 0);
    for (uint32_t i = 0; i < p->v.n; i++) {
        int r = check_span(p->v.v[i], at, length, amounts[i], err);
        if (r < 0)
            return r;
        if (!fits(p->v.v[i], at, length, amounts[i]))
            return sl_err_set(err, SL_ELIMIT, "resource %u: %lld wanted, %lld free", i,
                              (long long)amounts[i],
                              (long long)sl_plan_free_during(p->v.v[i], at, length));
    }
    uint32_t span = add_span(p->v.v[0], at, length, amounts[0]);
    for (uint32_t i = 1; i < p->v.n; i++) {
        uint32_t same = add_span(p->v.v[i], at, length, amounts[i]);
        sl_assert(same == span);
    }
    *ret_span = span;
    return 0;
}

bool sl_plans_remove(struct sl_plans *p, uint32_t span) {
    bool there = false;

    for (uint32_t i = 0; i < p->v.n; i++)
        there = sl_plan_remove(p->v.v[i], span);
    return there;
}

bool sl_plans_reduce(struct sl_plans *p, uint32_t span, const int64_t *amounts) {
    bool left = false;

    for (uint32_t i = 0; i < p->v.n; i++) {
        const struct span *s = find_span(p->v.v[i], span);
        if (!s || amounts[i] < 0 || amounts[i] > s->amount)
            return false;
        left |= amounts[i] < s->amount;
    }
    if (!left)
        return sl_plans_remove(p, span);
    for (uint32_t i = 0; i < p->v.n; i++) {
        struct span *s = find_span(p->v.v[i], span);
        change_span(p->v.v[i], s, -amounts[i]);
        s->amount -= amounts[i];
    }
    return true;
}

bool sl_plans_fit(const struct sl_plans *p, int64_t at, int64_t length, const int64_t *amounts) {
    for (uint32_t i = 0; i < p->v.n; i++)
        if (!fits(p->v.v[i], at, length, amounts[i]))
            return false;
    return p->v.n > 0;
}

int64_t sl_plans_earliest(const struct sl_plans *p, int64_t from, int64_t length,
                          const int64_t *amounts) {
    int64_t t = greater(from, p->start);

    /* A plan without enough moves the time on, until all agree on one in a row. */
    for (uint32_t i = 0, agree = 0; agree < p->v.n; i = (i + 1) % p->v.n) {
        int64_t own = sl_plan_earliest(p->v.v[i], t, length, amounts[i]);
        if (own == SL_PLAN_NEVER)
            return SL_PLAN_NEVER;
        agree = own == t ? agree + 1 : 1;
        t = own;
    }
    return p->v.n > 0 ? t : SL_PLAN_NEVER;
}
