/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies of queues by their rules, on a few nodes. prop_queue.c compares them with a
 * scheduler that decides everything anew in each turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "queue_fixture.h"

#define CEILING 100000

struct world {
    struct sl_match *m;
    struct sl_queues *q;
    sl_vtx nodes[16];
    int64_t arrived;
    char said[2000];
};

static struct world *world_new(uint32_t nodes, uint32_t cores) {
    struct world *w = calloc(1, sizeof *w);

    w->m = fx_match(nodes, cores, "low", w->nodes);
    w->q = sl_queues_new(w->m);
    return w;
}

static void world_free(struct world *w) {
    sl_queues_free(w->q);
    sl_match_free(w->m);
    free(w);
}

static void queue(struct world *w, const char *name, enum sl_queue_policy policy, uint32_t depth,
                  uint32_t reserve) {
    struct sl_queue_spec s = {.name = name, .policy = policy, .depth = depth, .reserve = reserve};

    assert_int_equal(sl_queues_add(w->q, &s, NULL), 0);
}

/* The usual: one queue. */
static struct world *one_queue(uint32_t nodes, enum sl_queue_policy policy) {
    struct world *w = world_new(nodes, 4);

    queue(w, "q", policy, 0, 0);
    return w;
}

static void submit_to(struct world *w, const char *name, int64_t id, int64_t priority,
                      uint32_t nodes, int64_t duration) {
    struct want want = {.nodes = nodes, .duration = duration};
    struct sl_err err;

    assert_int_equal(
        sl_queues_submit(w->q, name, id, priority, w->arrived++, fx_want(w->m, &want), &err), 0);
}

static void submit(struct world *w, int64_t id, uint32_t nodes, int64_t duration) {
    submit_to(w, NULL, id, 0, nodes, duration);
}

static void done(struct world *w, int64_t id) {
    assert_int_equal(sl_queues_remove(w->q, id), 0);
}

static const char *turn(struct world *w, int64_t now) {
    sl_decisions d = {0};
    struct sl_buf b;

    sl_queues_run(w->q, now, &d);
    sl_buf_init(&b, CEILING);
    for (uint32_t i = 0; i < d.n; i++) {
        sl_buf_puts(&b, i > 0 ? ", " : "");
        fx_print(&d.v[i], &b);
    }
    (void)snprintf(w->said, sizeof w->said, "%s", sl_buf_str(&b));
    sl_buf_done(&b);
    sl_vec_free(&d);
    return w->said;
}

#define says(w, now, text) assert_string_equal(turn(w, now), text)

/* How often the matcher was called. */
static uint64_t count_matches(const struct world *w) {
    struct sl_match_stats s;

    sl_match_stats(w->m, &s);
    return s.matches + s.failures;
}

/* ---- rule 1: the order of a line ---- */

static void test_3_12_1_order(void **state) {
    struct world *w = one_queue(1, SL_QUEUE_FCFS);
    static const struct {
        int64_t id, priority, submitted;
    } jobs[] = {{1, 5, 30},         {2, 5, 20},  {3, 7, 40},        {4, 5, 20},
                {5, INT64_MIN, -5}, {6, -1, -9}, {7, INT64_MAX, 50}};
    static const int64_t want[] = {7, 3, 2, 4, 1, 6, 5};

    (void)state;
    for (size_t i = 0; i < SL_LEN(jobs); i++)
        assert_int_equal(sl_queues_submit(w->q, "q", jobs[i].id, jobs[i].priority,
                                          jobs[i].submitted,
                                          fx_want(w->m, &(struct want){1, 0, 10}), NULL),
                         0);
    for (size_t i = 0; i < SL_LEN(want); i++) {
        struct sl_queue_waiting at;
        assert_true(sl_queues_waiting(w->q, want[i], &at));
        assert_int_equal(at.place, i);
        assert_false(at.reserved);
    }
    for (size_t i = 0; i < SL_LEN(want); i++) {
        char text[60];
        (void)snprintf(text, sizeof text, "start %lld@%d immediate", (long long)want[i],
                       (int)(10 * i));
        says(w, (int64_t)(10 * i), text);
        done(w, want[i]);
    }
    world_free(w);
}

static void test_3_12_1_reprioritize(void **state) {
    struct world *w = one_queue(1, SL_QUEUE_FCFS);

    (void)state;
    submit(w, 1, 1, 10);
    submit(w, 2, 1, 10);
    submit(w, 3, 1, 10);
    says(w, 0, "start 1@0 immediate");
    assert_int_equal(sl_queues_reprioritize(w->q, 3, 1), 0);
    assert_int_equal(sl_queues_reprioritize(w->q, 1, 1), SL_ENOENT); /* it runs */
    assert_int_equal(sl_queues_reprioritize(w->q, 9, 1), SL_ENOENT);
    says(w, 1, "");
    done(w, 1);
    says(w, 2, "start 3@2 immediate");
    world_free(w);
}

/* ---- rule 2: fcfs ---- */

static void test_3_12_2_fcfs_stops_at_the_first_busy(void **state) {
    struct world *w = one_queue(4, SL_QUEUE_FCFS);
    struct sl_queue_waiting at;

    (void)state;
    submit(w, 1, 3, 10);
    submit(w, 2, 2, 10);
    submit(w, 3, 1, 10);
    says(w, 0, "start 1@0 immediate");
    assert_true(sl_queues_waiting(w->q, 3, &at));
    assert_int_equal(at.place, 1);
    assert_false(at.reserved);
    assert_false(sl_queues_waiting(w->q, 1, &at));
    assert_true(sl_queues_next(w->q) == SL_QUEUE_NEVER);
    done(w, 1);
    says(w, 4, "start 2@4 immediate, start 3@4 immediate");
    world_free(w);
}

static void test_3_12_2_what_can_never_run_is_rejected(void **state) {
    static const enum sl_queue_policy policies[] = {SL_QUEUE_FCFS, SL_QUEUE_EASY,
                                                    SL_QUEUE_CONSERVATIVE};
    (void)state;
    for (size_t i = 0; i < SL_LEN(policies); i++) {
        struct world *w = one_queue(2, policies[i]);
        submit(w, 1, 3, 10);
        submit(w, 2, 1, -1);
        submit(w, 3, 2, 10);
        says(w, 0, "reject 1, reject 2, start 3@0 immediate");
        assert_int_equal(sl_queues_remove(w->q, 1), SL_ENOENT);
        submit(w, 1, 1, 10); /* the number is free again */
        world_free(w);
    }
}

/* ---- rule 3: backfill ---- */

/* Three of four nodes are taken until 10; 2 wants all of them. Who may pass? */
static void backfill_scenario(struct world *w) {
    submit(w, 1, 3, 10);
    submit(w, 2, 4, 10);
    submit(w, 3, 1, 11); /* would delay 2 */
    submit(w, 4, 1, 10);
    submit(w, 5, 1, 5);
}

static void test_3_12_3_easy(void **state) {
    struct world *w = one_queue(4, SL_QUEUE_EASY);
    struct sl_queue_waiting at;

    (void)state;
    backfill_scenario(w);
    says(w, 0, "start 1@0 immediate, reserve 2@10, start 4@0 backfill");
    assert_true(sl_queues_waiting(w->q, 2, &at));
    assert_true(at.reserved && at.estimate == 10);
    assert_true(sl_queues_waiting(w->q, 3, &at));
    assert_false(at.reserved);
    assert_int_equal(sl_queues_next(w->q), 10);
    done(w, 1);
    done(w, 4);
    says(w, 10, "start 2@10 immediate, reserve 3@20");
    world_free(w);
}

static void test_3_12_3_hybrid(void **state) {
    struct world *w = world_new(4, 4);

    (void)state;
    queue(w, "q", SL_QUEUE_HYBRID, 0, 2);
    backfill_scenario(w);
    says(w, 0, "start 1@0 immediate, reserve 2@10, reserve 3@20, start 4@0 backfill");
    submit(w, 6, 4, 1); /* the third busy one gets none, and 5 none before it */
    submit(w, 7, 1, 1);
    says(w, 1, "");
    world_free(w);
}

static void test_3_12_3_conservative(void **state) {
    struct world *w = one_queue(4, SL_QUEUE_CONSERVATIVE);

    (void)state;
    backfill_scenario(w);
    submit(w, 6, 4, 1);
    says(w, 0,
         "start 1@0 immediate, reserve 2@10, reserve 3@20, start 4@0 backfill, reserve 5@20, "
         "reserve 6@31");
    assert_int_equal(sl_queues_next(w->q), 10);
    world_free(w);
}

/* What it needs is down: it waits without a reservation, and the next one gets it, and keeps it. */
static void test_3_12_3_blocked(void **state) {
    struct world *w = one_queue(4, SL_QUEUE_EASY);

    (void)state;
    sl_match_set_down(w->m, w->nodes[3], true);
    submit(w, 1, 2, 10);
    submit(w, 2, 4, 10);
    submit(w, 3, 3, 10);
    submit(w, 4, 1, 100);
    says(w, 0, "start 1@0 immediate, reserve 3@10");
    sl_match_set_down(w->m, w->nodes[3], false);
    says(w, 1, "reserve 2@20");
    done(w, 1);
    says(w, 2, "start 3@2 backfill, reserve 2@12");
    world_free(w);
}

static void test_3_12_3_depth(void **state) {
    struct world *w = world_new(4, 4);

    (void)state;
    queue(w, "q", SL_QUEUE_CONSERVATIVE, 2, 0);
    submit(w, 1, 4, 10);
    submit(w, 2, 4, 10);
    submit(w, 3, 4, 10);
    submit(w, 4, 4, 10);
    /* Who starts does not count; two that wait are looked at. */
    says(w, 0, "start 1@0 immediate, reserve 2@10, reserve 3@20");
    submit_to(w, "q", 5, 9, 4, 10);
    says(w, 1, "reserve 5@10, reserve 2@20, unreserve 3");
    done(w, 5);
    says(w, 2, "reserve 2@10, reserve 3@20");
    world_free(w);
}

/* ---- reservations from turn to turn ---- */

static void test_early_end_moves_all(void **state) {
    struct world *w = one_queue(4, SL_QUEUE_CONSERVATIVE);

    (void)state;
    submit(w, 1, 4, 100);
    submit(w, 2, 4, 10);
    submit(w, 3, 4, 10);
    submit(w, 4, 4, 10);
    says(w, 0, "start 1@0 immediate, reserve 2@100, reserve 3@110, reserve 4@120");
    done(w, 1);
    says(w, 7, "start 2@7 immediate, reserve 3@17, reserve 4@27");
    world_free(w);
}

/* Who moves forward takes the place of nobody, and what it leaves is offered to those before it. */
static void test_promises_are_kept(void **state) {
    struct world *w = one_queue(4, SL_QUEUE_CONSERVATIVE);

    (void)state;
    submit(w, 1, 2, 100);
    submit(w, 2, 2, 20);
    submit(w, 3, 4, 10);
    submit(w, 4, 2, 50);
    submit(w, 5, 2, 80);
    says(w, 0,
         "start 1@0 immediate, start 2@0 immediate, reserve 3@100, reserve 4@20, reserve 5@110");
    /* In order and without the others 3 would be at 20, and 4 at 30. */
    done(w, 1);
    says(w, 1, "reserve 3@70, start 4@1 backfill, reserve 5@80, reserve 3@51, reserve 5@61");
    world_free(w);
}

static void test_nothing_happens_nothing_is_asked(void **state) {
    struct world *w = one_queue(4, SL_QUEUE_CONSERVATIVE);

    (void)state;
    submit(w, 1, 4, 100);
    submit(w, 2, 4, 10);
    submit(w, 3, 3, 10);
    submit(w, 4, 4, 10);
    (void)turn(w, 0);
    uint64_t before = count_matches(w);
    says(w, 1, "");
    sl_queues_changed(w->q);
    says(w, 2, ""); /* all anew, and the same */
    assert_int_equal(count_matches(w), before + 3);
    /* One more behind: it alone is tried. */
    before = count_matches(w);
    submit(w, 5, 1, 10);
    says(w, 3, "reserve 5@110");
    assert_int_equal(count_matches(w), before + 1);
    /* An end as planned and a begin as reserved: nothing is tried. */
    before = count_matches(w);
    done(w, 1);
    says(w, 100, "start 2@100 immediate");
    assert_int_equal(count_matches(w), before);
    says(w, 105, "");
    done(w, 2);
    says(w, 110, "start 3@110 immediate, start 5@110 backfill");
    assert_int_equal(count_matches(w), before);
    world_free(w);
}

/* A reservation is given up: those that end before it begins are not asked again. */
static void test_removed_reservation(void **state) {
    struct world *w = one_queue(4, SL_QUEUE_CONSERVATIVE);

    (void)state;
    submit(w, 1, 3, 10);
    submit(w, 2, 2, 10); /* from 10 to 20 */
    submit(w, 3, 4, 10); /* from 20 to 30 */
    submit(w, 4, 2, 10); /* from 10 to 20, behind 3 in line and before it in time */
    submit(w, 5, 4, 10);
    says(w, 0, "start 1@0 immediate, reserve 2@10, reserve 3@20, reserve 4@10, reserve 5@30");
    uint64_t before = count_matches(w);
    done(w, 3);
    says(w, 1, "reserve 5@20");
    assert_int_equal(count_matches(w), before + 1);
    world_free(w);
}

static void test_higher_priority_remakes_those_behind(void **state) {
    struct world *w = one_queue(4, SL_QUEUE_CONSERVATIVE);

    (void)state;
    submit(w, 1, 4, 10);
    submit_to(w, "q", 2, 5, 4, 10);
    submit(w, 3, 4, 10);
    submit(w, 4, 4, 10);
    says(w, 0, "start 2@0 immediate, reserve 1@10, reserve 3@20, reserve 4@30");
    submit_to(w, "q", 5, 1, 4, 10);
    says(w, 1, "reserve 5@10, reserve 1@20, reserve 3@30, reserve 4@40");
    assert_int_equal(sl_queues_reprioritize(w->q, 4, 9), 0);
    says(w, 2, "reserve 4@10, reserve 5@20, reserve 1@30, reserve 3@40");
    assert_int_equal(sl_queues_reprioritize(w->q, 4, 9), 0); /* no news */
    assert_int_equal(sl_queues_reprioritize(w->q, 4, -9), 0);
    says(w, 3, "reserve 5@10, reserve 1@20, reserve 3@30, reserve 4@40");
    world_free(w);
}

/* It gives up its reservation and then stands too far behind to be looked at. */
static void test_moved_beyond_depth(void **state) {
    struct world *w = world_new(1, 1);

    (void)state;
    queue(w, "q", SL_QUEUE_CONSERVATIVE, 1, 0);
    submit(w, 1, 1, 10);
    submit(w, 2, 1, 10);
    submit(w, 3, 1, 10);
    says(w, 0, "start 1@0 immediate, reserve 2@10");
    assert_int_equal(sl_queues_reprioritize(w->q, 2, -1), 0);
    says(w, 1, "reserve 3@10, unreserve 2");
    says(w, 2, "");
    world_free(w);
}

static void test_overrun_delays(void **state) {
    struct world *w = one_queue(2, SL_QUEUE_EASY);

    (void)state;
    submit(w, 1, 1, 10);
    submit(w, 2, 2, 5);
    submit(w, 3, 1, 100); /* would delay 2, now and at every turn */
    says(w, 0, "start 1@0 immediate, reserve 2@10");
    says(w, 10, "reserve 2@11");
    says(w, 11, "reserve 2@12");
    assert_int_equal(sl_queues_next(w->q), 12);
    done(w, 1);
    says(w, 11, "start 2@11 immediate, reserve 3@16");
    world_free(w);
}

/* It was reserved on what somebody overruns, and there is something else. */
static void test_overrun_elsewhere(void **state) {
    struct world *w = one_queue(2, SL_QUEUE_CONSERVATIVE);

    (void)state;
    submit(w, 1, 1, 10);
    submit(w, 2, 1, 20);
    submit(w, 3, 1, 5);
    says(w, 0, "start 1@0 immediate, start 2@0 immediate, reserve 3@10");
    done(w, 2);
    submit(w, 4, 1, 30);
    says(w, 10, "start 3@10 immediate, reserve 4@11");
    world_free(w);
}

/* Nobody called when the time had come. */
static void test_late_turn(void **state) {
    struct world *w = one_queue(1, SL_QUEUE_CONSERVATIVE);
    struct sl_match_job_info info;

    (void)state;
    submit(w, 1, 1, 10);
    submit(w, 2, 1, 10);
    submit(w, 3, 1, 10);
    says(w, 0, "start 1@0 immediate, reserve 2@10, reserve 3@20");
    done(w, 1);
    says(w, 14, "start 2@14 immediate, reserve 3@24");
    assert_true(sl_match_job(w->m, 2, &info));
    assert_int_equal(info.at, 14);
    done(w, 2);
    says(w, 3, "start 3@14 immediate"); /* time does not go back */
    world_free(w);
}

/* A pool that grows lets waiting jobs start, and one that shrinks moves reservations. */
static void test_resizing(void **state) {
    sl_vtx nodes[2], pools[2];
    struct sl_match *m = fx_match_pools(2, 4, "low", nodes, pools);
    struct sl_queues *q = sl_queues_new(m);
    struct sl_queue_spec s = {.name = "q", .policy = SL_QUEUE_CONSERVATIVE};
    struct want want = {.nodes = 2, .cores = 4, .duration = 10};
    struct sl_queue_waiting at;
    sl_decisions d = {0};

    (void)state;
    assert_int_equal(sl_queues_add(q, &s, NULL), 0);
    for (int64_t id = 1; id <= 3; id++)
        assert_int_equal(sl_queues_submit(q, "q", id, 0, 0, fx_want(m, &want), NULL), 0);
    sl_queues_run(q, 0, &d);
    assert_true(sl_queues_waiting(q, 3, &at) && at.reserved);
    assert_int_equal(at.estimate, 20);
    /* room for two at once */
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(sl_match_resize(m, pools[i], 8, NULL), 0);
    sl_queues_run(q, 1, &d);
    assert_false(sl_queues_waiting(q, 2, &at));
    assert_true(sl_queues_waiting(q, 3, &at) && at.reserved);
    assert_int_equal(at.estimate, 10);
    /* for none: what runs goes on */
    assert_int_equal(sl_match_resize(m, pools[1], 3, NULL), 0);
    sl_queues_run(q, 2, &d);
    assert_int_equal(sl_match_n_jobs(m), 2);
    assert_false(sl_queues_waiting(q, 3, &at)); /* it can never be */
    sl_vec_free(&d);
    sl_queues_free(q);
    sl_match_free(m);
}

static void test_shrinking(void **state) {
    struct world *w = one_queue(4, SL_QUEUE_CONSERVATIVE);

    (void)state;
    submit(w, 1, 2, 10);
    submit(w, 2, 3, 10);
    submit(w, 3, 4, 10);
    says(w, 0, "start 1@0 immediate, reserve 2@10, reserve 3@20");
    assert_int_equal(sl_match_shrink(w->m, &w->nodes[3], 1, NULL), 0);
    says(w, 1, "reject 3");
    assert_int_equal(sl_match_shrink(w->m, &w->nodes[2], 1, NULL), 0);
    says(w, 2, "reject 2");
    world_free(w);
}

/* ---- rule 4: several queues ---- */

/* One node, two queues, and the first is always full: they take turns. With queues that are asked
 * in the order of their names, the second would wait for ever. */
static void fair_between(enum sl_queue_policy policy) {
    struct world *w = world_new(1, 1);
    int64_t id = 0;
    int started[2] = {0};

    queue(w, "a", policy, 0, 0);
    queue(w, "b", policy, 0, 0);
    for (int i = 0; i < 40; i++)
        submit_to(w, "a", 2 * ++id, 100, 1, 10);
    for (int i = 0; i < 10; i++)
        submit_to(w, "b", 2 * ++id + 1, 0, 1, 10);
    for (int64_t now = 0; now < 200; now += 10) {
        sl_decisions d = {0};
        submit_to(w, "a", 2 * ++id, 100, 1, 10);
        sl_queues_run(w->q, now, &d);
        for (uint32_t i = 0; i < d.n; i++)
            if (d.v[i].kind == SL_DECIDED_START) {
                started[d.v[i].jobid % 2]++;
                done(w, d.v[i].jobid);
            }
        sl_vec_free(&d);
    }
    assert_int_equal(started[0], 10);
    assert_int_equal(started[1], 10);
    world_free(w);
}

static void test_3_12_4_a_full_queue_starves_no_other(void **state) {
    (void)state;
    for (int p = SL_QUEUE_FCFS; p <= SL_QUEUE_CONSERVATIVE; p++)
        fair_between((enum sl_queue_policy)p);
}

/* Small jobs that pass count as well: those of both queues pass in turn. */
static void test_3_12_4_backfill_takes_turns(void **state) {
    struct world *w = world_new(2, 1);

    (void)state;
    queue(w, "a", SL_QUEUE_EASY, 0, 0);
    queue(w, "b", SL_QUEUE_EASY, 0, 0);
    submit_to(w, "a", 1, 0, 1, 1000);
    submit_to(w, "a", 2, 0, 2, 10);
    submit_to(w, "b", 3, 0, 2, 10);
    for (int64_t i = 10; i < 20; i++)
        submit_to(w, i % 2 ? "b" : "a", i, 0, 1, 5);
    says(w, 0, "start 1@0 immediate, reserve 3@1000, reserve 2@1010, start 11@0 backfill");
    done(w, 11);
    says(w, 5, "start 10@5 backfill");
    done(w, 10);
    says(w, 10, "start 13@10 backfill");
    done(w, 13);
    says(w, 15, "start 12@15 backfill");
    world_free(w);
}

/* Who had nothing to do cannot ask for it afterwards. */
static void test_3_12_4_idle_time_is_no_credit(void **state) {
    struct world *w = world_new(1, 1);
    int64_t now = 0, id = 100;

    (void)state;
    queue(w, "a", SL_QUEUE_FCFS, 0, 0);
    queue(w, "b", SL_QUEUE_FCFS, 0, 0);
    for (int i = 0; i < 50; i++)
        submit_to(w, "a", id++, 0, 1, 1);
    for (int i = 0; i < 40; i++) {
        (void)turn(w, now++);
        done(w, 100 + i);
    }
    submit_to(w, "b", 1, 0, 1, 1);
    submit_to(w, "b", 2, 0, 1, 1);
    says(w, now++, "start 140@40 immediate");
    done(w, 140);
    says(w, now++, "start 1@41 immediate");
    done(w, 1);
    says(w, now++, "start 141@42 immediate");
    done(w, 141);
    says(w, now++, "start 2@43 immediate");
    world_free(w);
}

/* Nor can who could not run for long: not for more than so many jobs. */
static void test_3_12_4_credit_is_limited(void **state) {
    struct world *w = world_new(2, 1);
    int64_t now = 0;
    char text[60];

    (void)state;
    queue(w, "a", SL_QUEUE_FCFS, 0, 0);
    queue(w, "b", SL_QUEUE_FCFS, 0, 0);
    submit_to(w, "a", 1, 0, 1, 100000);
    submit_to(w, "b", 2, 0, 2, 1);
    for (int i = 0; i < 300; i++) {
        submit_to(w, "a", 1000 + i, 0, 1, 1);
        submit_to(w, "b", 2000 + i, 0, 1, 1);
    }
    says(w, now++, "start 1@0 immediate, start 1000@0 immediate");
    for (int i = 0; i < 100; i++) {
        done(w, 1000 + i);
        (void)snprintf(text, sizeof text, "start %d@%d immediate", 1001 + i, (int)now);
        says(w, now++, text);
    }
    done(w, 2); /* now those behind it may */
    done(w, 1100);
    for (int i = 0; i < (int)SL_QUEUE_CREDIT; i++) {
        (void)snprintf(text, sizeof text, "start %d@%d immediate", 2000 + i, (int)now);
        says(w, now++, text);
        done(w, 2000 + i);
    }
    says(w, now, "start 1101@133 immediate");
    world_free(w);
}

static void test_3_12_4_virtual_queues(void **state) {
    struct world *w = world_new(1, 1);
    struct sl_queue_spec v = {.name = "v", .policy = SL_QUEUE_CONSERVATIVE, .parent = "q"};
    struct sl_queue_spec u = {.name = "u", .parent = "v"};
    struct sl_queue_waiting at;

    (void)state;
    queue(w, "q", SL_QUEUE_EASY, 0, 0);
    assert_int_equal(sl_queues_add(w->q, &v, NULL), 0);
    assert_int_equal(sl_queues_add(w->q, &u, NULL), 0);
    submit_to(w, "q", 1, 0, 1, 10);
    submit_to(w, "v", 2, 1, 1, 10);
    submit_to(w, "u", 3, 0, 1, 10);
    submit_to(w, "q", 4, 0, 1, 10);
    says(w, 0, "start 2@0 immediate, reserve 1@10"); /* easy, and one line */
    assert_true(sl_queues_waiting(w->q, 4, &at));
    assert_int_equal(at.place, 2);
    world_free(w);
}

/* The first node of a job. */
static sl_vtx node_of(struct world *w, int64_t id) {
    struct sl_grant g = {0};
    sl_vtx v = SL_VTX_NONE;

    assert_int_equal(sl_match_grant(w->m, id, &g), 0);
    for (uint32_t i = 0; i < g.picks.n && v == SL_VTX_NONE; i++)
        if (sl_graph_vertex(sl_match_graph(w->m), g.picks.v[i].v)->depth == 1)
            v = g.picks.v[i].v;
    sl_grant_done(&g);
    return v;
}

/* Each queue places its jobs by its own policy; reservations and backfill know all of them. */
static void test_match_policy_of_a_queue(void **state) {
    struct world *w = world_new(4, 1);
    const struct sl_graph *g = sl_match_graph(w->m);
    struct sl_match_policy high, low;
    struct sl_queue_spec s = {.name = "high", .policy = SL_QUEUE_EASY};
    uint32_t match = 0;

    (void)state;
    assert_int_equal(sl_match_policy_parse("hinode", &high, NULL), 0);
    assert_int_equal(sl_match_policy_parse("lonode", &low, NULL), 0);
    assert_int_equal(sl_match_add_policy(w->m, &high, &s.match, NULL), 0);
    assert_int_equal(sl_match_add_policy(w->m, &low, &match, NULL), 0);
    assert_int_not_equal(s.match, match);
    queue(w, "low", SL_QUEUE_EASY, 0, 0);
    assert_int_equal(sl_queues_add(w->q, &s, NULL), 0);
    assert_true(sl_queues_match(w->q, "high", &match));
    assert_int_equal(match, s.match);
    assert_true(sl_queues_match(w->q, NULL, &match));
    assert_int_equal(match, 0);
    assert_false(sl_queues_match(w->q, "none", &match));
    submit_to(w, "low", 1, 0, 1, 10);
    submit_to(w, "high", 2, 0, 1, 10);
    submit_to(w, "low", 3, 0, 1, 20);
    says(w, 0, "start 1@0 immediate, start 2@0 immediate, start 3@0 immediate");
    assert_int_equal(sl_graph_vertex(g, node_of(w, 1))->id, 0);
    assert_int_equal(sl_graph_vertex(g, node_of(w, 2))->id, 3);
    assert_int_equal(sl_graph_vertex(g, node_of(w, 3))->id, 1);
    submit_to(w, "high", 4, 0, 3, 10);
    submit_to(w, "high", 5, 0, 1, 10);
    submit_to(w, "low", 6, 0, 1, 20);
    says(w, 0, "reserve 4@10, reserve 6@20, start 5@0 backfill");
    world_free(w);
}

static void test_most_match_policies(void **state) {
    struct world *w = world_new(1, 1);
    struct sl_err err;
    uint32_t at;
    int r = 0;

    (void)state;
    for (uint32_t i = 0; i < 64 && r >= 0; i++) {
        struct sl_match_policy p = {i & 1, i & 2, i & 4, i & 8, i & 16, i & 32};
        r = sl_match_add_policy(w->m, &p, &at, &err);
        assert_true(r < 0 || at < SL_MATCH_MAX_POLICIES);
    }
    assert_int_equal(r, SL_ELIMIT);
    assert_string_equal(err.text, "more than 32 match policies");
    assert_int_equal(sl_match_n_policies(w->m), SL_MATCH_MAX_POLICIES);
    world_free(w);
}

/* ---- what is refused ---- */

static void test_errors(void **state) {
    struct world *w = one_queue(1, SL_QUEUE_EASY);
    struct want one = {1, 0, 10};
    struct sl_err err;
    static const struct {
        struct sl_queue_spec s;
        int want;
        const char *text;
    } bad[] = {
        {{.name = "q"}, SL_EEXIST, "there is a queue 'q' already"},
        {{.name = "a", .parent = "b"}, SL_ENOENT, "queue 'a': there is no queue 'b' above it"},
        {{.name = "a", .depth = SL_QUEUE_MAX_DEPTH + 1},
         SL_ELIMIT,
         "queue 'a': a depth of 1000001: expected at most 1000000"},
        {{.name = "a", .reserve = SL_QUEUE_MAX_RESERVE + 1},
         SL_ELIMIT,
         "queue 'a': 100001 reservations: expected at most 100000"},
        {{.name = "a", .policy = (enum sl_queue_policy)4}, SL_EINVAL, "queue 'a': no such policy"},
        {{.name = "a", .match = 1}, SL_EINVAL, "queue 'a': no such match policy"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(bad); i++) {
        assert_int_equal(sl_queues_add(w->q, &bad[i].s, &err), bad[i].want);
        assert_string_equal(err.text, bad[i].text);
    }
    assert_int_equal(sl_queues_submit(w->q, "no", 1, 0, 0, fx_want(w->m, &one), &err), SL_ENOENT);
    assert_string_equal(err.text, "there is no queue 'no'");
    submit(w, 1, 1, 10);
    assert_int_equal(sl_queues_submit(w->q, "q", 1, 0, 0, fx_want(w->m, &one), &err), SL_EEXIST);
    assert_string_equal(err.text, "there is a job 1 already");
    assert_int_equal(sl_queues_remove(w->q, 2), SL_ENOENT);
    struct sl_queues *none = sl_queues_new(w->m);
    assert_int_equal(sl_queues_submit(none, NULL, 7, 0, 0, fx_want(w->m, &one), &err), SL_ENOENT);
    assert_string_equal(err.text, "there is no queue");
    sl_queues_freep(&none);
    assert_null(none);
    sl_queues_free(NULL);
    world_free(w);
}

/* A job of others in the matcher: it is left alone, and its end is told. */
static void test_jobs_of_others(void **state) {
    struct world *w = one_queue(1, SL_QUEUE_EASY);
    struct want one = {1, 0, 10};
    struct sl_match_request *r = fx_want(w->m, &one);
    enum sl_match_verdict v;

    (void)state;
    assert_int_equal(sl_match_run(w->m, r, SL_MATCH_ALLOCATE, 77, 0, &v, NULL, NULL), 0);
    assert_int_equal(v, SL_MATCHED);
    assert_int_equal(sl_queues_submit(w->q, "q", 77, 0, 0, fx_want(w->m, &one), NULL), SL_EEXIST);
    assert_int_equal(sl_queues_remove(w->q, 77), SL_ENOENT);
    submit(w, 1, 1, 10);
    says(w, 0, "reserve 1@10");
    assert_int_equal(sl_match_cancel(w->m, 77), 0);
    says(w, 1, "");
    sl_queues_changed(w->q);
    says(w, 1, "start 1@1 immediate");
    assert_int_equal(sl_match_cancel(w->m, 1), 0); /* behind the back */
    submit(w, 2, 1, 10);
    done(w, 1);
    says(w, 2, "start 2@2 immediate");
    sl_match_request_free(r);
    world_free(w);
}

/* As many slots of a pool are formed as are requested, not as many as it has room for. */
static void test_slots_of_a_large_pool(void **state) {
    sl_vtx nodes[2], pools[2];
    struct sl_match *m = fx_match_pools(2, UINT32_MAX, "low", nodes, pools);
    struct sl_req_spec core = {.type = "core", .count = fx_count(1)};
    struct sl_req_spec slot = {
        .kind = SL_REQ_SLOT, .label = "task", .count = fx_count(3), .with = &core, .n_with = 1};
    struct sl_req_spec all = {.type = "cluster", .count = fx_count(1), .with = &slot, .n_with = 1};
    struct sl_jobspec j = {.version = 1, .resources = &all, .n_resources = 1, .duration = 10};
    struct sl_match_request *r;
    enum sl_match_verdict verdict = SL_NEVER;
    struct sl_grant g = {0};
    (void)state;
    assert_int_equal(sl_match_request_new(sl_match_graph(m), &j, &r, NULL), 0);
    assert_int_equal(sl_match_run(m, r, SL_MATCH_ALLOCATE, 1, 0, &verdict, &g, NULL), 0);
    assert_int_equal(verdict, SL_MATCHED);
    sl_grant_done(&g);
    sl_match_request_free(r);
    sl_match_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_3_12_1_order),
        cmocka_unit_test(test_3_12_1_reprioritize),
        cmocka_unit_test(test_3_12_2_fcfs_stops_at_the_first_busy),
        cmocka_unit_test(test_3_12_2_what_can_never_run_is_rejected),
        cmocka_unit_test(test_3_12_3_easy),
        cmocka_unit_test(test_3_12_3_hybrid),
        cmocka_unit_test(test_3_12_3_conservative),
        cmocka_unit_test(test_3_12_3_blocked),
        cmocka_unit_test(test_3_12_3_depth),
        cmocka_unit_test(test_early_end_moves_all),
        cmocka_unit_test(test_promises_are_kept),
        cmocka_unit_test(test_nothing_happens_nothing_is_asked),
        cmocka_unit_test(test_removed_reservation),
        cmocka_unit_test(test_higher_priority_remakes_those_behind),
        cmocka_unit_test(test_moved_beyond_depth),
        cmocka_unit_test(test_overrun_delays),
        cmocka_unit_test(test_overrun_elsewhere),
        cmocka_unit_test(test_late_turn),
        cmocka_unit_test(test_resizing),
        cmocka_unit_test(test_shrinking),
        cmocka_unit_test(test_3_12_4_a_full_queue_starves_no_other),
        cmocka_unit_test(test_3_12_4_backfill_takes_turns),
        cmocka_unit_test(test_3_12_4_idle_time_is_no_credit),
        cmocka_unit_test(test_3_12_4_credit_is_limited),
        cmocka_unit_test(test_3_12_4_virtual_queues),
        cmocka_unit_test(test_match_policy_of_a_queue),
        cmocka_unit_test(test_most_match_policies),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_jobs_of_others),
        cmocka_unit_test(test_slots_of_a_large_pool),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
