/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle against examples worked out by hand from docs/rules.md. No engine needed.
 */
#include <stdio.h>
#include <string.h>

#include "oracle.h"

static int passed, failed;
static const char *title;

#define CHECK(x)                                                                                   \
    ((x) ? (void)passed++                                                                          \
         : (void)(failed++,                                                                        \
                  printf("oracle_test: %s: %s:%d: %s\n", title, __FILE__, __LINE__, #x)))

enum { CO = ORC_CQS };

static struct orc *world(bool fair) {
    struct orc_config c = {.fair = fair,
                           .strategy = {SL_FAIR_FINAL_SHARE, SL_FAIR_INITIAL_SHARE},
                           .n_strategy = 2,
                           .gates = SL_GATES_DEFAULT};
    struct orc *o = orc_new(&c);
    struct orc_flavor f = {0};

    for (int i = 0; i < ORC_FLAVORS; i++)
        orc_set_flavor(o, i, &f);
    return o;
}

static struct orc_quota quota(sl_amount nominal) {
    return (struct orc_quota){true, nominal, SL_AMOUNT_NONE, SL_AMOUNT_NONE};
}

/* A node with one group {cpu} over n flavors, the same nominal everywhere. */
static struct orc_node node(int parent, int n_flavors, sl_amount nominal) {
    struct orc_node n = {.parent = parent, .weight_nano = 1000000000, .n_groups = 1};

    n.group[0] = (struct orc_group){.n_res = 1, .res = {0}, .n_flavors = n_flavors};
    for (int i = 0; i < n_flavors; i++) {
        n.group[0].flavor[i] = i;
        n.q[orc_fr(i, 0)] = quota(nominal);
    }
    return n;
}

static void queue(struct orc *o, int cq, struct orc_node n, struct orc_cq p) {
    struct orc_lq lq = {.cq = cq};

    orc_set_cq(o, cq, &n, &p);
    if (!o->lq[cq].exists)
        orc_set_lq(o, cq, &lq);
}

static struct orc_wl_spec one_podset(int cq, int prio, int at, int count, sl_amount each) {
    static int serial;
    struct orc_wl_spec s = {.lq = cq, .priority = prio, .created = at * SL_SEC, .n = 1};

    (void)snprintf(s.uid, sizeof s.uid, "u%05d", serial++);
    s.ps[0].count = count;
    s.ps[0].asks[0] = true;
    s.ps[0].each[0] = each;
    return s;
}

static int job(struct orc *o, int cq, int prio, int at, sl_amount cpu) {
    struct orc_wl_spec s = one_podset(cq, prio, at, 1, cpu);
    return orc_create(o, &s);
}

static bool runs(const struct orc *o, int w) {
    return o->wl[w].state == ORC_RESERVED && !o->wl[w].evicting;
}

static bool waits(const struct orc *o, int w, enum orc_place at) {
    return o->wl[w].state == ORC_PENDING && o->wl[w].place == at;
}

/* Rule 3.2: lending limits keep a part at home, borrowing limits cap what comes from above. */
static void formulas(void) {
    struct orc *o = world(false);
    struct orc_node a = node(CO, 1, 10), b = node(CO, 1, 6), root = node(-1, 1, 4);
    struct orc_snap s;

    title = "formulas";
    a.q[0].lend = 3;
    b.q[0].borrow = 5;
    queue(o, 0, a, (struct orc_cq){0});
    queue(o, 1, b, (struct orc_cq){0});
    orc_set_cohort(o, CO, &root);
    orc_snapshot(o, &s);
    CHECK(s.local[0][0] == 7 && s.local[1][0] == 0);
    CHECK(s.subtree[CO][0] == 4 + 3 + 6);
    CHECK(orc_available(&s, 0, 0) == 7 + 13 && orc_available(&s, 1, 0) == 6 + 5);
    CHECK(orc_potential(&s, 0, 0) == 20 && orc_potential(&s, 1, 0) == 11);
    job(o, 0, 0, 1, 9);
    orc_cycle(o, 2 * SL_SEC);
    orc_snapshot(o, &s);
    CHECK(orc_usage(&s, 0, 0) == 9 && orc_usage(&s, CO, 0) == 2);
    CHECK(orc_available(&s, 1, 0) == 11 && orc_available(&s, 0, 0) == 11);
    job(o, 1, 0, 1, 11);
    orc_cycle(o, 3 * SL_SEC);
    orc_snapshot(o, &s);
    CHECK(orc_available_raw(&s, 1, 0) == 0 && orc_available(&s, 0, 0) == 0);
    orc_free(o);
}

/* Rule 1.3: BestEffortFIFO goes on behind a head that does not fit, StrictFIFO does not; equals
 * sleep with the one that was looked at. */
static void queues(void) {
    struct orc *o = world(false);
    int big, big2, small, s_big, s_small;

    title = "queues";
    queue(o, 0, node(-1, 1, 4), (struct orc_cq){.strategy = SL_BEST_EFFORT_FIFO});
    queue(o, 1, node(-1, 1, 4), (struct orc_cq){.strategy = SL_STRICT_FIFO});
    job(o, 0, 0, 0, 2);
    job(o, 1, 0, 0, 2);
    big = job(o, 0, 0, 1, 3);
    big2 = job(o, 0, 0, 2, 3);
    small = job(o, 0, 0, 3, 1);
    s_big = job(o, 1, 0, 1, 3);
    s_small = job(o, 1, 0, 3, 1);
    orc_cycle(o, 4 * SL_SEC);
    CHECK(waits(o, big, ORC_ASLEEP) && waits(o, big2, ORC_ASLEEP) && runs(o, small));
    CHECK(waits(o, s_big, ORC_HEAP) && waits(o, s_small, ORC_HEAP));
    int late = job(o, 0, 0, 5, 3);
    CHECK(waits(o, late, ORC_ASLEEP)); /* its hash was moved in bulk */
    orc_finish(o, 0);
    orc_cycle(o, 6 * SL_SEC);
    CHECK(runs(o, big) && waits(o, big2, ORC_ASLEEP) && waits(o, late, ORC_ASLEEP));
    orc_free(o);
}

/* Rule 4.3: own quota is reclaimed from borrowers, newest of lowest priority first, and who can
 * stay after all is filled back. */
static void reclaim(void) {
    struct orc *o = world(false);
    int v[3], p;

    title = "reclaim";
    queue(o, 0, node(CO, 1, 4), (struct orc_cq){.reclaim = SL_RECLAIM_ANY});
    queue(o, 1, node(CO, 1, 2), (struct orc_cq){0});
    v[0] = job(o, 1, 0, 1, 1);
    v[1] = job(o, 1, 1, 1, 3);
    v[2] = job(o, 1, 2, 1, 2);
    orc_cycle(o, 2 * SL_SEC);
    CHECK(runs(o, v[0]) && runs(o, v[1]) && runs(o, v[2]));
    p = job(o, 0, -5, 3, 3);
    orc_cycle(o, 4 * SL_SEC);
    /* v0 (1) is taken first, v1 (3) makes it fit, v0 is given back. */
    CHECK(o->n_events == 1 && o->event[0].kind == ORC_EV_EVICT && o->event[0].wl == v[1]);
    CHECK(o->event[0].cause == SL_CAUSE_IN_COHORT_RECLAMATION && o->event[0].by == p);
    CHECK(waits(o, p, ORC_HEAP) && o->queue[0].sticky == p);
    orc_cycle(o, 5 * SL_SEC);
    CHECK(o->n_events == 0);
    orc_release(o, v[1]);
    orc_cycle(o, 6 * SL_SEC);
    CHECK(runs(o, p) && waits(o, v[1], ORC_ASLEEP) && o->queue[0].sticky == -1);
    orc_free(o);
}

/* Rule 4.3: borrowWithinCohort up to its threshold. */
static void borrow_within(void) {
    struct orc *o = world(false);
    struct orc_cq p = {.reclaim = SL_RECLAIM_LOWER,
                       .borrow_within = SL_BORROW_LOWER,
                       .has_threshold = true,
                       .threshold = 1};
    int low, mid, w;

    title = "borrow within cohort";
    queue(o, 0, node(CO, 1, 1), p);
    queue(o, 1, node(CO, 1, 1), (struct orc_cq){0});
    struct orc_node root = node(-1, 1, 4);
    orc_set_cohort(o, CO, &root);
    mid = job(o, 1, 2, 1, 2);
    low = job(o, 1, 1, 1, 4);
    orc_cycle(o, 2 * SL_SEC);
    CHECK(runs(o, mid) && runs(o, low));
    w = job(o, 0, 5, 3, 3);
    orc_cycle(o, 4 * SL_SEC);
    CHECK(o->n_events == 1 && o->event[0].wl == low &&
          o->event[0].cause == SL_CAUSE_IN_COHORT_RECLAIM_WHILE_BORROWING);
    orc_release(o, low);
    orc_cycle(o, 5 * SL_SEC);
    CHECK(runs(o, w) && runs(o, mid));
    orc_free(o);
}

/* Rules 2.5, 2.6: the second flavor is better than borrowing in the first if the queue says so. */
static void fungibility(void) {
    struct orc *o = world(false);
    int w;

    title = "fungibility";
    queue(o, 0, node(CO, 2, 2), (struct orc_cq){.when_borrow = SL_TRY_NEXT_FLAVOR});
    queue(o, 1, node(CO, 2, 2), (struct orc_cq){.when_borrow = SL_MAY_STOP_SEARCH});
    job(o, 0, 0, 1, 2);
    job(o, 1, 0, 1, 1);
    orc_cycle(o, 2 * SL_SEC);
    w = job(o, 0, 0, 3, 1);
    orc_cycle(o, 3 * SL_SEC);
    CHECK(runs(o, w) && o->wl[w].got.flavor[0][0] == 1 && o->wl[w].got.borrow == 0);
    orc_finish(o, 0);
    orc_finish(o, w);
    w = job(o, 1, 0, 4, 2);
    orc_cycle(o, 4 * SL_SEC);
    CHECK(runs(o, w) && o->wl[w].got.flavor[0][0] == 0 && o->wl[w].got.borrow == 1);
    orc_free(o);
}

/* Rule 2.6: podset 0 fits in flavor 0, podset 1 nowhere then; the next look starts podset 0 at 1.
 */
static void resume(void) {
    struct orc *o = world(false);
    struct orc_wl_spec s = one_podset(0, 0, 1, 1, 1);
    int w;

    title = "resume";
    struct orc_node n = node(-1, 2, 2);
    n.q[orc_fr(1, 0)] = quota(1);
    queue(o, 0, n, (struct orc_cq){0});
    s.n = 2;
    s.ps[1] = s.ps[0];
    s.ps[1].each[0] = 2; /* only flavor 0 could hold it */
    w = orc_create(o, &s);
    orc_cycle(o, 2 * SL_SEC);
    CHECK(runs(o, w) && o->wl[w].got.flavor[0][0] == 1 && o->wl[w].got.flavor[1][0] == 0);
    CHECK(o->rounds == 2);
    orc_free(o);
}

/* Rule 2.8. */
static void partial(void) {
    struct orc *o = world(false);
    struct orc_wl_spec s = one_podset(0, 0, 1, 10, 1);
    int w;

    title = "partial admission";
    queue(o, 0, node(-1, 1, 7), (struct orc_cq){0});
    s.ps[0].min_count = 4;
    w = orc_create(o, &s);
    orc_cycle(o, 2 * SL_SEC);
    CHECK(runs(o, w) && o->wl[w].got.count[0] == 7 && o->wl[w].got.usage[0] == 7);
    orc_reclaimable(o, w, (int[]){5, 0, 0});
    CHECK(o->wl[w].got.usage[0] == 5);
    orc_free(o);
}

/* Rules 3.6, 3.7: who has less goes first; zero weight goes last. */
static void fair_order(void) {
    struct orc *o = world(true);
    struct orc_node zero = node(CO, 1, 0);
    struct orc_snap s;
    int a, b, c;

    title = "fair order";
    struct orc_node root = node(-1, 1, 10);
    orc_set_cohort(o, CO, &root);
    queue(o, 0, node(CO, 1, 0), (struct orc_cq){0});
    queue(o, 1, node(CO, 1, 0), (struct orc_cq){0});
    zero.weight_nano = 0;
    queue(o, 2, zero, (struct orc_cq){0});
    job(o, 0, 0, 1, 4);
    job(o, 1, 0, 1, 2);
    job(o, 2, 0, 1, 1);
    orc_cycle(o, 1 * SL_SEC);
    orc_snapshot(o, &s);
    struct orc_share share = orc_share_of(&s, 0);
    CHECK(share.over * 1000 / share.lendable == 400 && share.weight == INT64_C(1000000000));
    CHECK(orc_share_of(&s, 2).infinite && !orc_share_of(&s, 1).infinite);
    a = job(o, 0, 9, 2, 2);
    b = job(o, 1, 0, 3, 3);
    c = job(o, 2, 9, 1, 1);
    orc_cycle(o, 4 * SL_SEC);
    /* left: 3. b ends at 5/10, a at 6/10, c is infinite. */
    CHECK(runs(o, b) && !runs(o, a) && !runs(o, c));
    orc_free(o);
}

/* Rule 4.4: an idle queue takes from the one that has most, as long as shares stay in order. */
static void fair_preemption(void) {
    struct orc *o = world(true);
    struct orc_cq p = {.reclaim = SL_RECLAIM_ANY};
    int v[4], w;

    title = "fair preemption";
    struct orc_node root = node(-1, 1, 4);
    orc_set_cohort(o, CO, &root);
    queue(o, 0, node(CO, 1, 0), p);
    queue(o, 1, node(CO, 1, 0), p);
    for (int i = 0; i < 4; i++)
        v[i] = job(o, 0, 0, i, 1);
    orc_cycle(o, 5 * SL_SEC);
    CHECK(runs(o, v[3]));
    w = job(o, 1, -3, 6, 2);
    orc_cycle(o, 7 * SL_SEC);
    CHECK(o->n_events == 2 && o->event[0].cause == SL_CAUSE_IN_COHORT_FAIR_SHARING);
    orc_release(o, o->event[0].wl);
    int other = o->event[1].wl;
    orc_cycle(o, 8 * SL_SEC);
    CHECK(o->n_events == 0);
    orc_release(o, other);
    orc_cycle(o, 9 * SL_SEC);
    CHECK(runs(o, w));
    /* 2:2 is fair: nobody takes anything any more. */
    w = job(o, 1, 5, 9, 1);
    orc_cycle(o, 10 * SL_SEC);
    CHECK(o->n_events == 0 && waits(o, w, ORC_ASLEEP));
    orc_free(o);
}

/* Rule 1.7.3: who may not preempt still keeps the room it waits for. */
static void reserved_capacity(void) {
    struct orc *o = world(false);
    int x, y;

    title = "kept room";
    queue(o, 0, node(CO, 1, 4), (struct orc_cq){.strategy = SL_STRICT_FIFO});
    queue(o, 1, node(CO, 1, 4), (struct orc_cq){0});
    job(o, 1, 0, 0, 6);
    orc_cycle(o, 1 * SL_SEC);
    x = job(o, 0, 0, 1, 3); /* its nominal is there, but lent: no candidates */
    y = job(o, 1, 0, 2, 2); /* would fit, borrowing */
    orc_cycle(o, 3 * SL_SEC);
    CHECK(waits(o, x, ORC_HEAP) && waits(o, y, ORC_HEAP));
    orc_free(o);
}

/* Ours: a victim does not take back what its preemptor took, in one epoch. */
static void no_way_back(void) {
    struct orc *o = world(false);
    struct orc_cq p = {.within = SL_WITHIN_LOWER_OR_NEWER, .reclaim = SL_RECLAIM_ANY};
    int v, w;

    title = "finite";
    queue(o, 0, node(CO, 1, 2), p);
    queue(o, 1, node(CO, 1, 2), p);
    v = job(o, 1, 0, 1, 4);
    orc_cycle(o, 1 * SL_SEC);
    w = job(o, 0, 0, 2, 2);
    orc_cycle(o, 2 * SL_SEC);
    CHECK(o->edge[w][v] && orc_forbidden(o, v, w) && !orc_forbidden(o, w, v));
    orc_release(o, v);
    CHECK(orc_forbidden(o, w, v));
    orc_cycle(o, 3 * SL_SEC);
    CHECK(runs(o, w) && waits(o, v, ORC_ASLEEP));
    job(o, 0, 0, 3, 1);
    CHECK(!o->edge[w][v]);
    CHECK(orc_check(o) == NULL);
    orc_free(o);
}

int main(void) {
    formulas();
    queues();
    reclaim();
    borrow_within();
    fungibility();
    resume();
    partial();
    fair_order();
    fair_preemption();
    reserved_capacity();
    no_way_back();
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed != 0;
}
