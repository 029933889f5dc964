/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations for a later time: who gets one and for when, who may pass it and who may not, what
 * is reported, and that they follow from the present state alone. The placer is a room with seats
 * that are taken for a time.
 */
#include "engine_fixture.h"

#include "core/base/buf.h"
#include "core/base/prng.h"

#define MAX_SPANS 64u
#define AT(seconds) ((sl_time)(seconds)*SL_SEC)

/* ---- the room ---- */

struct span {
    sl_wl_id id;
    int32_t n;
    sl_time from, to;
    bool later, aside;
};

struct room {
    int32_t seats;
    sl_time now;
    struct span v[MAX_SPANS];
    uint32_t n;
    struct {
        sl_wl_id id;
        int64_t seconds;
    } lengths[MAX_SPANS];
    uint32_t n_lengths;
};

static sl_time end_of(const struct room *r, sl_wl_id id, sl_time from) {
    for (uint32_t i = 0; i < r->n_lengths; i++)
        if (r->lengths[i].id.v == id.v && r->lengths[i].seconds)
            return from + AT(r->lengths[i].seconds);
    return SL_TIME_NEVER;
}

static struct span *span_of(struct room *r, sl_wl_id id, bool later) {
    for (uint32_t i = 0; i < r->n; i++)
        if (r->v[i].id.v == id.v && r->v[i].later == later)
            return &r->v[i];
    return NULL;
}

static int32_t taken_at(const struct room *r, sl_time at) {
    int32_t n = 0;
    for (uint32_t i = 0; i < r->n; i++)
        if (!r->v[i].aside && r->v[i].from <= at && at < r->v[i].to)
            n += r->v[i].n;
    return n;
}

/* Of what is there now the ends do not count: it is there until it has gone. */
static bool has_room(const struct room *r, sl_time from, sl_time to, int32_t n, bool now) {
    int32_t most = taken_at(r, from);
    for (uint32_t i = 0; i < r->n; i++)
        if (r->v[i].from > from && r->v[i].from < to && taken_at(r, r->v[i].from) > most)
            most = taken_at(r, r->v[i].from);
    for (uint32_t i = 0; i < r->n && now; i++)
        most += !r->v[i].aside && !r->v[i].later && r->v[i].to <= from ? r->v[i].n : 0;
    return n <= r->seats - most;
}

static void take(struct room *r, sl_wl_id id, int32_t n, sl_time from, bool later) {
    assert_true(r->n < MAX_SPANS);
    r->v[r->n++] =
        (struct span){.id = id, .n = n, .from = from, .to = end_of(r, id, from), .later = later};
}

static void leave(struct room *r, struct span *s) {
    if (s)
        *s = r->v[--r->n];
}

static bool could(void *ctx, sl_wl_id id, const struct sl_podset_assignment *ps, uint32_t n) {
    const struct room *r = ctx;
    (void)n;
    return has_room(r, r->now, end_of(r, id, r->now), ps[0].count, true);
}

static bool place(void *ctx, sl_wl_id id, const struct sl_podset_assignment *ps, uint32_t n,
                  uint32_t *ret_refused, char *why, size_t why_len) {
    struct room *r = ctx;
    *ret_refused = 0;
    (void)snprintf(why, why_len, "the room is full");
    if (!could(r, id, ps, n))
        return false;
    leave(r, span_of(r, id, true));
    take(r, id, ps[0].count, r->now, false);
    return true;
}

static void undo(void *ctx, sl_wl_id id) {
    leave(ctx, span_of(ctx, id, false));
}

static void set_aside(void *ctx, sl_wl_id id, bool aside) {
    for (int later = 0; later < 2; later++) {
        struct span *s = span_of(ctx, id, later);
        if (s)
            s->aside = aside;
    }
}

static void forgo(void *ctx, sl_wl_id id) {
    leave(ctx, span_of(ctx, id, true));
}

static bool later(void *ctx, sl_wl_id id, const struct sl_podset_assignment *ps, uint32_t n,
                  sl_time from, sl_time *ret_at) {
    struct room *r = ctx;
    (void)n;
    forgo(r, id);
    assert_int_equal(from % SL_SEC, 0);
    assert_true(from > r->now);
    for (sl_time at = from; at != SL_TIME_NEVER;) {
        if (has_room(r, at, end_of(r, id, at), ps[0].count, false)) {
            take(r, id, ps[0].count, at, true);
            *ret_at = at;
            return true;
        }
        sl_time next = SL_TIME_NEVER;
        for (uint32_t i = 0; i < r->n; i++)
            if (r->v[i].to > at && r->v[i].to < next)
                next = r->v[i].to;
        at = next;
    }
    return false;
}

/* ---- the world ---- */

struct hall {
    struct room room;
    struct sl_placer seam;
    struct fx x;
};

/* Seats are for all queues; each has this quota, a cohort or "", and a LocalQueue of its name. */
static void open_hall(struct hall *h, int32_t seats) {
    *h = (struct hall){.room = {.seats = seats}};
    h->seam = (struct sl_placer){.ctx = &h->room,
                                 .place = place,
                                 .undo = undo,
                                 .set_aside = set_aside,
                                 .could = could,
                                 .later = later,
                                 .forgo = forgo};
    start_engine(&h->x, &h->seam);
    flavor(&h->x, "f");
}

static void queue_of(struct hall *h, const char *name, const char *in, sl_amount quota,
                     enum sl_strategy strategy) {
    struct simple s;
    struct sl_cq_spec q = cq_spec(&s, name, in, "f", "gpu", quota);
    q.exact_nodes = true;
    q.strategy = strategy;
    cq_apply(&h->x, q);
    lq(&h->x, name, name);
}

static sl_wl_id add(struct hall *h, const char *name, const char *queue, int32_t priority,
                    int32_t pods, int64_t seconds) {
    struct sl_workload_spec s = wl_spec(name, priority);
    s.queue = queue;
    s.max_exec_s = seconds;
    s.created = h->room.now;
    sl_wl_id id = wl_apply(&h->x, s, pods, "gpu", UNITS(1));
    h->room.lengths[h->room.n_lengths].id = id;
    h->room.lengths[h->room.n_lengths++].seconds = seconds;
    return id;
}

static void at(struct hall *h, int64_t seconds) {
    h->room.now = AT(seconds);
    (void)cycle(&h->x, AT(seconds));
}

static void finish(struct hall *h, sl_wl_id id) {
    apply_wl_fact(&h->x, SL_FACT_FINISHED, id);
    sl_engine_places_changed(h->x.e);
}

static bool runs(const struct hall *h, sl_wl_id id) {
    return phase(&h->x, id) == SL_PHASE_ADMITTED;
}

/* From when on seats are held for it; 0: none are. */
static int64_t held_from(struct hall *h, sl_wl_id id) {
    const struct span *s = span_of(&h->room, id, true);
    if (s)
        assert_false(s->aside);
    return s ? s->from / SL_SEC : 0;
}

/* The last that was reported of it in this cycle; NULL: nothing. */
static const struct sl_effect *reported(const struct hall *h, sl_wl_id id) {
    const struct sl_effect *last = NULL;
    for (uint32_t i = 0; i < h->x.out.v.n; i++)
        if (h->x.out.v.v[i].kind == SL_EFFECT_PENDING && h->x.out.v.v[i].wl.v == id.v)
            last = &h->x.out.v.v[i];
    return last;
}

static void says(const struct hall *h, sl_wl_id id, const char *words) {
    struct sl_condition v[SL_EFFECT_MAX_CONDITIONS];
    struct sl_buf b;
    sl_buf_init(&b, 65536);
    const struct sl_effect *f = reported(h, id);
    assert_non_null(f);
    assert_true(sl_effect_conditions(f, &b, v) > 0);
    if (!strstr(v[0].message, words))
        fail_msg("expected '%s', got '%s'", words, v[0].message);
    sl_buf_done(&b);
}

/* ---- nodes ---- */

/* A stream of small ones never delays the large one: those that end before it starts pass. */
static void test_backfill(void **state) {
    (void)state;
    struct hall h;
    open_hall(&h, 10);
    queue_of(&h, "q", "", 100, SL_BEST_EFFORT_FIFO);
    at(&h, 1);
    sl_wl_id first = add(&h, "first", "q", 0, 6, 100);
    at(&h, 2);
    assert_true(runs(&h, first));
    sl_wl_id big = add(&h, "big", "q", 0, 9, 50);
    at(&h, 3);
    assert_int_equal(held_from(&h, big), 102);
    says(&h, big,
         "the room is full; nodes and quota are reserved for it from "
         "1970-01-01T00:01:42Z on");
    sl_wl_id endless = add(&h, "endless", "q", 0, 4, 0), one = add(&h, "one", "q", 0, 1, 0),
             slow = add(&h, "slow", "q", 0, 2, 99), fast = add(&h, "fast", "q", 0, 2, 98);
    at(&h, 4);
    assert_false(runs(&h, endless));
    assert_true(runs(&h, one)); /* beside it there is one seat for ever */
    assert_false(runs(&h, slow));
    assert_true(runs(&h, fast)); /* until 102 */
    assert_int_equal(held_from(&h, big), 102);
    assert_int_equal(sl_engine_next(h.x.e), AT(102)); /* when the first may run no longer */
    finish(&h, fast);
    for (int64_t t = 50; t < 102; t += 10) {
        char name[16];
        (void)snprintf(name, sizeof name, "s%d", (int)t);
        sl_wl_id small = add(&h, name, "q", 0, 2, 9);
        at(&h, t);
        assert_int_equal(runs(&h, small), t + 9 <= 102);
        if (runs(&h, small))
            finish(&h, small);
    }
    finish(&h, first);
    at(&h, 102);
    assert_true(runs(&h, big));
    assert_int_equal(held_from(&h, big), 0);
    assert_false(runs(&h, endless)); /* no seat is left */
    stop_engine(&h.x);
}

/* What ends earlier makes it start earlier, and nothing is held for those that can never be
 * promised anything. */
static void test_no_known_time(void **state) {
    (void)state;
    struct hall h;
    open_hall(&h, 10);
    queue_of(&h, "q", "", 100, SL_BEST_EFFORT_FIFO);
    at(&h, 1);
    sl_wl_id endless = add(&h, "endless", "q", 0, 6, 0);
    at(&h, 2);
    sl_wl_id big = add(&h, "big", "q", 0, 8, 50);
    at(&h, 3);
    assert_int_equal(held_from(&h, big), 0);
    says(&h, big, "the room is full");
    sl_wl_id small = add(&h, "small", "q", 0, 4, 0);
    at(&h, 4);
    assert_true(runs(&h, small));
    finish(&h, endless);
    finish(&h, small);
    at(&h, 5);
    assert_true(runs(&h, big));
    /* Of two that wait the first gets none, so the second has it. */
    sl_wl_id huge = add(&h, "huge", "q", 0, 11, 5), next = add(&h, "next", "q", 0, 9, 5);
    at(&h, 6);
    assert_int_equal(held_from(&h, huge), 0);
    assert_int_equal(held_from(&h, next), 55);
    finish(&h, big);
    at(&h, 20);
    assert_true(runs(&h, next));
    stop_engine(&h.x);
}

/* In a queue by its order, and only the first: whoever comes before the holder takes its place. */
static void test_order(void **state) {
    (void)state;
    struct hall h;
    open_hall(&h, 10);
    queue_of(&h, "q", "", 100, SL_BEST_EFFORT_FIFO);
    at(&h, 1);
    sl_wl_id first = add(&h, "first", "q", 9, 6, 100);
    at(&h, 2);
    sl_wl_id big = add(&h, "big", "q", 0, 8, 50), other = add(&h, "other", "q", 0, 7, 50);
    at(&h, 3);
    assert_int_equal(held_from(&h, big), 102);
    assert_int_equal(held_from(&h, other), 0);
    sl_wl_id high = add(&h, "high", "q", 5, 9, 1000);
    at(&h, 4);
    assert_int_equal(held_from(&h, high), 102);
    assert_int_equal(held_from(&h, big), 0);
    says(&h, big, "the room is full");
    assert_int_equal(reported(&h, big)->pending.put_off, AT(102));
    assert_int_equal(reported(&h, big)->pending.reserved, 0);
    at(&h, 5);
    assert_null(reported(&h, big));                  /* once */
    sl_wl_id quick = add(&h, "quick", "q", 9, 4, 0); /* passes them all */
    at(&h, 6);
    assert_true(runs(&h, quick));
    assert_int_equal(held_from(&h, high), 0); /* with that one there are never nine seats */
    assert_int_equal(held_from(&h, big), 0);
    finish(&h, quick);
    at(&h, 7);
    assert_int_equal(held_from(&h, high), 102);
    apply_wl_fact(&h.x, SL_FACT_WORKLOAD_GONE, high);
    at(&h, 8);
    assert_int_equal(held_from(&h, big), 102);
    finish(&h, first);
    at(&h, 9);
    assert_true(runs(&h, big));
    assert_int_equal(held_from(&h, other), 59);
    stop_engine(&h.x);
}

/* The head of a strict queue is passed by nobody in it; others find its seats reserved. */
static void test_strict(void **state) {
    (void)state;
    struct hall h;
    open_hall(&h, 10);
    queue_of(&h, "q", "", 100, SL_STRICT_FIFO);
    queue_of(&h, "p", "", 100, SL_BEST_EFFORT_FIFO);
    at(&h, 1);
    sl_wl_id first = add(&h, "first", "q", 0, 6, 100);
    at(&h, 2);
    sl_wl_id big = add(&h, "big", "q", 0, 8, 50), small = add(&h, "small", "q", 0, 1, 5);
    at(&h, 3);
    assert_int_equal(held_from(&h, big), 102);
    sl_wl_id endless = add(&h, "endless", "p", 0, 4, 0), fast = add(&h, "fast", "p", 0, 4, 50);
    at(&h, 4);
    assert_false(runs(&h, small));
    assert_false(runs(&h, endless));
    assert_true(runs(&h, fast));
    finish(&h, first);
    finish(&h, fast);
    at(&h, 102);
    assert_true(runs(&h, big));
    assert_true(runs(&h, small));
    stop_engine(&h.x);
}

/* Those that should have ended have not: after a while that is called a delay, and its seats stay
 * reserved. */
static void test_overdue(void **state) {
    (void)state;
    struct hall h;
    open_hall(&h, 10);
    queue_of(&h, "q", "", 100, SL_BEST_EFFORT_FIFO);
    at(&h, 1);
    sl_wl_id first = add(&h, "first", "q", 0, 6, 100);
    at(&h, 2);
    sl_wl_id big = add(&h, "big", "q", 0, 8, 5);
    at(&h, 3);
    assert_int_equal(held_from(&h, big), 102);
    at(&h, 102);
    assert_int_equal(count_effects(&h.x, SL_EFFECT_EVICT), 1); /* it still stops */
    assert_null(reported(&h, big));
    sl_engine_places_changed(h.x.e);
    at(&h, 110);
    assert_null(reported(&h, big));
    assert_true(sl_engine_next(h.x.e) <= AT(141));
    at(&h, 145);
    says(&h, big, "nodes and quota are reserved for it, and not all of them are free yet");
    assert_int_equal(reported(&h, big)->pending.put_off, AT(102));
    sl_wl_id small = add(&h, "small", "q", 0, 4, 30);
    at(&h, 146);
    assert_false(runs(&h, small));
    at(&h, 180);
    assert_null(reported(&h, big));
    apply_wl_fact(&h.x, SL_FACT_RELEASED, first);
    sl_engine_places_changed(h.x.e);
    at(&h, 181);
    assert_true(runs(&h, big));
    stop_engine(&h.x);
}

/* ---- quota ---- */

/* Seats are plenty. Quota that is given back in time, or that is not needed then, may be used. */
static void test_quota(void **state) {
    (void)state;
    struct hall h;
    open_hall(&h, 100);
    queue_of(&h, "q", "", 12, SL_BEST_EFFORT_FIFO);
    at(&h, 1);
    sl_wl_id first = add(&h, "first", "q", 0, 4, 100), second = add(&h, "second", "q", 0, 4, 200);
    at(&h, 2);
    sl_wl_id big = add(&h, "big", "q", 0, 9, 50);
    at(&h, 3);
    assert_int_equal(held_from(&h, big), 202);
    says(&h, big, "5 more needed; nodes and quota are reserved for it from 1970-01-01T00:03:22Z");
    sl_wl_id four = add(&h, "four", "q", 0, 4, 0), three = add(&h, "three", "q", 0, 3, 0);
    at(&h, 4);
    assert_false(runs(&h, four));
    says(&h, four, "it would delay a workload that has quota reserved for a later time");
    assert_true(runs(&h, three)); /* 9 + 3 */
    sl_wl_id slow = add(&h, "slow", "q", 0, 1, 198), fast = add(&h, "fast", "q", 0, 1, 197);
    at(&h, 5);
    assert_false(runs(&h, slow));
    assert_true(runs(&h, fast));
    assert_int_equal(held_from(&h, big), 202);
    finish(&h, second); /* earlier than it had to, but first is still there */
    at(&h, 50);
    assert_int_equal(held_from(&h, big), 202); /* fast has one until then */
    finish(&h, fast);
    at(&h, 51);
    assert_int_equal(held_from(&h, big), 102);
    says(&h, big, "from 1970-01-01T00:01:42Z on");
    assert_int_equal(reported(&h, big)->pending.put_off, 0);
    finish(&h, first);
    at(&h, 102);
    assert_true(runs(&h, big));
    stop_engine(&h.x);
}

/* Two queues of a cohort: what is lent is for the reservation, what a queue owns is its own. */
static void test_cohort(void **state) {
    (void)state;
    struct hall h;
    open_hall(&h, 100);
    queue_of(&h, "a", "all", 4, SL_BEST_EFFORT_FIFO);
    queue_of(&h, "b", "all", 4, SL_BEST_EFFORT_FIFO);
    queue_of(&h, "c", "all", 2, SL_BEST_EFFORT_FIFO);
    at(&h, 1);
    sl_wl_id first = add(&h, "first", "a", 0, 4, 100);
    at(&h, 2);
    sl_wl_id big = add(&h, "big", "a", 0, 8, 50); /* 4 of its own, 4 of the others */
    at(&h, 3);
    assert_int_equal(held_from(&h, big), 102);
    sl_wl_id borrows = add(&h, "borrows", "c", 0, 3, 0), fast = add(&h, "fast", "c", 0, 3, 50);
    at(&h, 4);
    assert_false(runs(&h, borrows));
    assert_true(runs(&h, fast));
    finish(&h, fast);
    sl_wl_id two = add(&h, "two", "c", 0, 2, 0); /* 8 + 2 */
    at(&h, 5);
    assert_true(runs(&h, two));
    assert_int_equal(held_from(&h, big), 102);
    /* It owns what it asks for: the reservation moves, or is gone if there is no end in sight. */
    sl_wl_id own = add(&h, "own", "b", 0, 4, 300);
    at(&h, 6);
    assert_true(runs(&h, own));
    assert_int_equal(held_from(&h, big), 306);
    assert_int_equal(reported(&h, big)->pending.put_off, AT(102));
    finish(&h, own);
    finish(&h, first);
    at(&h, 7);
    assert_true(runs(&h, big));
    stop_engine(&h.x);
}

/* ---- preemption ---- */

static bool evicting(const struct hall *h, sl_wl_id id) {
    struct sl_engine_wl_view v;
    return sl_engine_workload(h->x.e, id, &v) && v.evicting;
}

/* Who lacks only what is reserved waits, and evicts nobody. */
static void test_nobody_evicted(void **state) {
    (void)state;
    struct hall h;
    open_hall(&h, 10);
    queue_of(&h, "q", "", 100, SL_BEST_EFFORT_FIFO);
    at(&h, 1);
    sl_wl_id first = add(&h, "first", "q", 5, 6, 100);
    at(&h, 2);
    sl_wl_id big = add(&h, "big", "q", 5, 8, 50), low = add(&h, "low", "q", 0, 1, 50);
    at(&h, 3);
    assert_int_equal(held_from(&h, big), 102);
    assert_true(runs(&h, low));
    sl_wl_id mid = add(&h, "mid", "q", 3, 3, 0);
    at(&h, 4);
    assert_false(runs(&h, mid));
    assert_false(evicting(&h, low));
    finish(&h, first);
    at(&h, 5);
    assert_true(runs(&h, big));
    stop_engine(&h.x);
}

/* Who may preempt does so, whatever is reserved for others, and gets what it won. */
static void test_preemption(void **state) {
    (void)state;
    struct hall h;
    open_hall(&h, 10);
    queue_of(&h, "q", "", 100, SL_BEST_EFFORT_FIFO);
    queue_of(&h, "p", "", 100, SL_BEST_EFFORT_FIFO);
    at(&h, 1);
    (void)add(&h, "first", "q", 5, 5, 100);
    sl_wl_id low = add(&h, "low", "p", 0, 4, 100);
    at(&h, 2);
    sl_wl_id big = add(&h, "big", "q", 5, 8, 50);
    at(&h, 3);
    assert_int_equal(held_from(&h, big), 102);
    sl_wl_id mid = add(&h, "mid", "p", 3, 3, 0);
    at(&h, 4);
    assert_true(evicting(&h, low));
    apply_wl_fact(&h.x, SL_FACT_RELEASED, low);
    sl_engine_places_changed(h.x.e);
    at(&h, 5);
    assert_true(runs(&h, mid));
    assert_int_equal(held_from(&h, big), 0); /* never, beside that one */
    assert_int_equal(reported(&h, big)->pending.put_off, AT(102));
    stop_engine(&h.x);
}

/* ---- the same from the same facts ---- */

static void begin_two(struct hall *h) {
    open_hall(h, 10);
    queue_of(h, "a", "all", 20, SL_BEST_EFFORT_FIFO);
    queue_of(h, "b", "all", 1, SL_BEST_EFFORT_FIFO);
}

/* Found running, with its seats. */
static void found_running(struct hall *h, sl_wl_id id, const char *cq, sl_amount usage,
                          int32_t pods, sl_time since) {
    const char *resource = "gpu", *fl = "f";
    struct sl_podset_admission p = {pods, &resource, &fl, &usage, 1};
    struct sl_fact f = {.kind = SL_FACT_ADMISSION, .wl = id, .at = h->room.now};
    f.admission.cq = cq;
    f.admission.podsets = &p;
    f.admission.n = 1;
    f.admission.reserved_at = f.admission.admitted_at = since;
    apply_fact(&h->x, f);
    take(&h->room, id, pods, since, false);
}

/* A workload that borrows is evaluated after one that does not; its reservation counts all the
 * same, also in the first cycle of a new process. */
static void test_restart(void **state) {
    (void)state;
    struct hall h;
    begin_two(&h);
    at(&h, 1);
    (void)add(&h, "first", "a", 0, 6, 100);
    at(&h, 2);
    sl_wl_id big = add(&h, "big", "b", 0, 8, 50);
    at(&h, 3);
    sl_wl_id small = add(&h, "small", "a", 0, 3, 0), wide = add(&h, "wide", "a", 0, 9, 40);
    at(&h, 4);
    assert_int_equal(held_from(&h, big), 102);
    assert_false(runs(&h, small));
    int64_t then = held_from(&h, small) + held_from(&h, wide);
    assert_true(then > 102);
    stop_engine(&h.x);

    begin_two(&h);
    h.room.now = AT(1);
    sl_wl_id first = add(&h, "first", "a", 0, 6, 100);
    h.room.now = AT(2);
    big = add(&h, "big", "b", 0, 8, 50);
    h.room.now = AT(3);
    small = add(&h, "small", "a", 0, 3, 0);
    wide = add(&h, "wide", "a", 0, 9, 40);
    h.room.now = AT(5);
    found_running(&h, first, "a", 6, 6, AT(2));
    at(&h, 5);
    assert_int_equal(held_from(&h, big), 102);
    assert_false(runs(&h, small));
    assert_int_equal(held_from(&h, small) + held_from(&h, wide), then);
    stop_engine(&h.x);
}

/* ---- random histories ---- */

#define NAMES 10u
#define STEPS 60u
#define GRACE AT(30)

struct member {
    sl_wl_id id; /* none: not there */
    sl_time created, started, promised;
    int32_t priority, pods;
    int64_t seconds;
    uint32_t queue;
};

struct play {
    struct hall h;
    struct sl_prng p;
    struct member v[NAMES];
    uint32_t reserved, passed; /* cycles with reservations; starts while there are some */
};

static const char *const queues[] = {"a", "b", "c"};

static uint32_t below(struct play *g, uint32_t n) {
    return (uint32_t)sl_prng_below(&g->p, n);
}

/* Quota is as scarce as seats, and borrowed. */
static void open_play(struct hall *h) {
    open_hall(h, 12);
    for (uint32_t i = 0; i < SL_LEN(queues); i++) {
        struct simple s;
        struct sl_cq_spec q = cq_spec(&s, queues[i], "all", "f", "gpu", i == 2 ? 8 : 4);
        q.exact_nodes = true;
        q.strategy = i == 1 ? SL_STRICT_FIFO : SL_BEST_EFFORT_FIFO;
        q.within = SL_WITHIN_NEVER;
        cq_apply(&h->x, q);
        lq(&h->x, queues[i], queues[i]);
    }
}

static sl_wl_id add_member(struct hall *h, const struct member *m, uint32_t i) {
    char name[8];
    sl_time now = h->room.now;
    (void)snprintf(name, sizeof name, "w%u", i);
    h->room.now = m->created;
    sl_wl_id id = add(h, name, queues[m->queue], m->priority, m->pods, m->seconds);
    h->room.now = now;
    return id;
}

static void remove_member(struct play *g, struct member *m) {
    struct room *r = &g->h.room;
    apply_wl_fact(&g->h.x, SL_FACT_WORKLOAD_GONE, m->id);
    sl_engine_places_changed(g->h.x.e);
    for (uint32_t i = 0; i < r->n_lengths; i++)
        if (r->lengths[i].id.v == m->id.v) {
            r->lengths[i] = r->lengths[--r->n_lengths];
            break;
        }
    *m = (struct member){0};
}

/* No promise is broken without a word. */
static void check_promises(struct play *g, uint64_t seed) {
    for (uint32_t i = 0; i < g->h.x.out.v.n; i++) {
        const struct sl_effect *f = &g->h.x.out.v.v[i];
        for (uint32_t k = 0; k < NAMES; k++) {
            struct member *m = &g->v[k];
            if (!m->id.v || m->id.v != f->wl.v)
                continue;
            if (f->kind == SL_EFFECT_RESERVE) {
                if (m->promised && g->h.room.now > m->promised + GRACE)
                    fail_msg("seed %u: started later than promised", (unsigned)seed);
                m->started = g->h.room.now;
                m->promised = 0;
            }
            if (f->kind != SL_EFFECT_PENDING)
                continue;
            sl_time now = f->pending.reserved == SL_TIME_NEVER ? 0 : f->pending.reserved;
            if (m->promised && !f->pending.put_off && (!now || now > m->promised + GRACE))
                fail_msg("seed %u: put off without a word", (unsigned)seed);
            if (!m->promised || f->pending.put_off || now < m->promised)
                m->promised = now;
        }
    }
}

static void check_room(const struct play *g, uint64_t seed) {
    const struct room *r = &g->h.room;
    int32_t taken = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        assert_false(r->v[i].aside);
        taken += r->v[i].later ? 0 : r->v[i].n;
        if (taken_at(r, r->v[i].from) > r->seats && r->v[i].from >= r->now)
            fail_msg("seed %u: seats are reserved twice", (unsigned)seed);
    }
    if (taken > r->seats)
        fail_msg("seed %u: seats are taken twice", (unsigned)seed);
}

static void cycle_at(struct play *g, sl_time now, uint64_t seed) {
    struct room *r = &g->h.room;
    uint32_t later = 0;
    r->now = now;
    (void)cycle(&g->h.x, now);
    if (sl_engine_check(g->h.x.e, &g->h.x.err) < 0)
        fail_msg("seed %u: %s", (unsigned)seed, g->h.x.err.text);
    check_promises(g, seed);
    check_room(g, seed);
    for (uint32_t i = 0; i < r->n; i++)
        later += r->v[i].later;
    g->reserved += later > 0;
    g->passed += later > 0 && count_effects(&g->h.x, SL_EFFECT_RESERVE) > 0;
}

/* Those that were told to stop do; all of them at once. */
static bool stop_evicted(struct play *g) {
    bool any = false;
    for (uint32_t i = 0; i < NAMES; i++) {
        struct sl_engine_wl_view v;
        struct member *m = &g->v[i];
        if (!m->id.v || !sl_engine_workload(g->h.x.e, m->id, &v) || !v.evicting)
            continue;
        remove_member(g, m);
        any = true;
    }
    return any;
}

/* An engine that knows nothing but the facts comes to the same. */
static void compare(struct play *g, uint64_t seed) {
    struct hall h;
    sl_time now = g->h.room.now;
    open_play(&h);
    for (uint32_t i = 0; i < NAMES; i++) {
        struct member *m = &g->v[i];
        if (!m->id.v)
            continue;
        sl_wl_id id = add_member(&h, m, i);
        h.room.now = now;
        if (runs(&g->h, m->id))
            found_running(&h, id, queues[m->queue], m->pods, m->pods, m->started);
    }
    h.room.now = now;
    (void)cycle(&h.x, now);
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[8];
        struct member *m = &g->v[i];
        (void)snprintf(name, sizeof name, "w%u", i);
        sl_wl_id id = sl_engine_find(h.x.e, "ns", name);
        if (m->id.v &&
            (runs(&h, id) != runs(&g->h, m->id) || held_from(&h, id) != held_from(&g->h, m->id)))
            fail_msg("seed %u: %s is %d from %d on, and was %d from %d on", (unsigned)seed, name,
                     runs(&h, id), (int)held_from(&h, id), runs(&g->h, m->id),
                     (int)held_from(&g->h, m->id));
    }
    stop_engine(&h.x);
}

static void act(struct play *g) {
    static const int64_t seconds[] = {0, 20, 40, 100, 300};
    struct member *m = &g->v[below(g, NAMES)];
    if (m->id.v) {
        if (runs(&g->h, m->id) || below(g, 4) == 0)
            remove_member(g, m);
        return;
    }
    *m = (struct member){.created = g->h.room.now,
                         .priority = (int32_t)below(g, 2),
                         .pods = 1 + (int32_t)below(g, 9),
                         .seconds = seconds[below(g, SL_LEN(seconds))],
                         .queue = below(g, SL_LEN(queues))};
    m->id = add_member(&g->h, m, (uint32_t)(m - g->v));
}

static void play(struct play *g, uint64_t seed) {
    open_play(&g->h);
    sl_prng_init(&g->p, seed);
    memset(g->v, 0, sizeof g->v);
    g->h.room.now = AT(1000);
    for (uint32_t i = 0; i < STEPS; i++) {
        sl_time until = g->h.room.now + AT(1 + below(g, 15));
        act(g);
        for (sl_time next; (next = sl_engine_next(g->h.x.e)) <= until;) {
            cycle_at(g, next > g->h.room.now ? next : g->h.room.now, seed);
            if (below(g, 2))
                (void)stop_evicted(g);
        }
        cycle_at(g, until, seed);
        if (below(g, 4))
            continue;
        while (stop_evicted(g))
            cycle_at(g, until, seed);
        compare(g, seed);
    }
    stop_engine(&g->h.x);
}

static void test_histories(void **state) {
    (void)state;
    const char *more = getenv("SL_SEEDS");
    unsigned long n = more ? strtoul(more, NULL, 10) : 0;
    struct play g = {0};
    for (uint64_t seed = 1; seed <= (n > 200 ? n : 200); seed++)
        play(&g, seed);
    assert_true(g.reserved > 100 && g.passed > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backfill),   cmocka_unit_test(test_no_known_time),
        cmocka_unit_test(test_order),      cmocka_unit_test(test_strict),
        cmocka_unit_test(test_overdue),    cmocka_unit_test(test_quota),
        cmocka_unit_test(test_cohort),     cmocka_unit_test(test_nobody_evicted),
        cmocka_unit_test(test_preemption), cmocka_unit_test(test_restart),
        cmocka_unit_test(test_histories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
