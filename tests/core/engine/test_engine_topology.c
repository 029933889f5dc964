/* SPDX-License-Identifier: Apache-2.0 */
/* Flavors with topologies: who may use them, what is said of those that may not, and queues whose
 * topology is missing. Where pods go is the placer's business (src/core/topo); here it always says
 * yes.
 */
#include "engine_fixture.h"

#include "core/base/buf.h"

static bool place(void *ctx, sl_wl_id id, const struct sl_podset_assignment *ps, uint32_t n,
                  uint32_t *ret_refused, char *why, size_t why_len) {
    (void)ctx, (void)id, (void)ps, (void)n;
    *ret_refused = 0;
    (void)snprintf(why, why_len, "never");
    return true;
}

static void undo(void *ctx, sl_wl_id id) {
    (void)ctx, (void)id;
}

static const struct sl_placer yes = {.place = place, .undo = undo};
static const char *const levels[] = {"block", "rack"};

static void flavor_on(struct fx *x, const char *name, const char *topology, uint32_t n_levels) {
    apply_fact(x, (struct sl_fact){.kind = SL_FACT_FLAVOR,
                                   .flavor = {.name = name,
                                              .topology = topology,
                                              .levels = levels,
                                              .n_levels = n_levels}});
}

/* A queue with 10 gpus of each of these flavors, and LocalQueue l. */
static void queue(struct fx *x, const char *const *flavors, uint32_t n) {
    static const struct sl_quota ten = {10, SL_AMOUNT_NONE, SL_AMOUNT_NONE};
    struct sl_flavor_quotas v[4];
    const char *resource = "gpu";
    struct sl_group_spec g = {&resource, 1, v, n};
    for (uint32_t i = 0; i < n; i++)
        v[i] = (struct sl_flavor_quotas){flavors[i], &ten};
    cq_apply(x, (struct sl_cq_spec){.name = "q",
                                    .cohort = "",
                                    .groups = {&g, 1},
                                    .when_can_borrow = SL_TRY_NEXT_FLAVOR,
                                    .weight_nano = SL_WEIGHT_ONE});
    lq(x, "l", "q");
}

/* level: NULL for a workload that asks for no topology. */
static sl_wl_id wl_with_topology(struct fx *x, const char *name, const char *level) {
    struct sl_request r = {"gpu", UNITS(1)};
    struct sl_podset_spec p = {.name = "main",
                               .count = 1,
                               .requests = &r,
                               .n_requests = 1,
                               .topology = level ? level : "",
                               .levels = &level,
                               .n_levels = level ? 1 : 0,
                               .wants_place = level};
    struct sl_workload_spec s = wl_spec(name, 0);
    if (sl_engine_shape(x->e, &p, 1, &s.shape, &x->err) < 0)
        fail_msg("%s", x->err.text);
    sl_wl_id id = apply_fact(x, (struct sl_fact){.kind = SL_FACT_WORKLOAD, .workload = s});
    sl_engine_shape_release(x->e, s.shape);
    return id;
}

static const char *flavor_of(struct fx *x, sl_wl_id id, struct sl_arena *a) {
    const struct sl_podset_assignment *ps;
    return sl_engine_assignment(x->e, id, a, &ps) && ps[0].n ? ps[0].v[0].flavor : "";
}

/* Does the condition of the only one who waits contain these words? */
static void waits(struct fx *x, const char *words) {
    struct sl_condition v[SL_EFFECT_MAX_CONDITIONS];
    struct sl_buf b;
    bool found = false;
    sl_buf_init(&b, 65536);
    for (uint32_t i = 0; i < x->out.v.n; i++)
        if (x->out.v.v[i].kind == SL_EFFECT_PENDING &&
            sl_effect_conditions(&x->out.v.v[i], &b, v) && strstr(v[0].message, words))
            found = true;
    if (!found)
        fail_msg("nobody was told '%s', but: %s", words, sl_buf_str(&b));
    sl_buf_done(&b);
}

static void test_each_to_its_own(void **state) {
    (void)state;
    struct fx x;
    struct sl_arena a;
    sl_arena_init(&a, 65536);
    start_engine(&x, &yes);
    flavor_on(&x, "racks", "t", 2);
    flavor(&x, "plain");
    queue(&x, (const char *const[]){"racks", "plain"}, 2);
    sl_wl_id placed = wl_with_topology(&x, "a", "rack"), free = wl_with_topology(&x, "b", NULL),
             lost = wl_with_topology(&x, "c", "zone");
    (void)cycle(&x, SL_SEC);
    assert_string_equal(flavor_of(&x, placed, &a), "racks");
    assert_string_equal(flavor_of(&x, free, &a), "plain");
    assert_int_equal(phase(&x, lost), SL_PHASE_ASLEEP);
    waits(&x, "couldn't assign flavors to pod set main: Flavor \"plain\" does not support "
              "TopologyAwareScheduling, Flavor \"racks\" does not contain the requested level");
    stop_engine(&x);
    sl_arena_done(&a);
}

static void test_everybody_gets_a_place(void **state) {
    (void)state;
    struct fx x;
    struct sl_arena a;
    sl_arena_init(&a, 65536);
    start_engine(&x, &yes);
    flavor_on(&x, "racks", "t", 2);
    queue(&x, (const char *const[]){"racks"}, 1);
    sl_wl_id free = wl_with_topology(&x, "a", NULL);
    (void)cycle(&x, SL_SEC);
    assert_string_equal(flavor_of(&x, free, &a), "racks");

    flavor(&x,
           "plain"); /* no longer: who asks for nothing goes where there is nothing to ask for */
    queue(&x, (const char *const[]){"racks", "plain"}, 2);
    sl_wl_id v[11];
    char name[16];
    for (int i = 0; i < 11; i++) {
        (void)snprintf(name, sizeof name, "n%02d", i);
        v[i] = wl_with_topology(&x, name, NULL);
    }
    (void)cycle(&x, 2 * SL_SEC);
    assert_string_equal(flavor_of(&x, v[0], &a), "plain");
    assert_int_equal(phase(&x, v[10]), SL_PHASE_ASLEEP);
    waits(&x, "Flavor \"racks\" supports only TopologyAwareScheduling");
    stop_engine(&x);
    sl_arena_done(&a);
}

static void test_no_topology(void **state) {
    (void)state;
    struct fx x;
    struct sl_engine_cq_view q;
    start_engine(&x, &yes);
    flavor_on(&x, "racks", "t", 0);
    queue(&x, (const char *const[]){"racks"}, 1);
    sl_wl_id a = wl_with_topology(&x, "a", "rack");
    (void)cycle(&x, SL_SEC);
    assert_true(sl_engine_cq(x.e, "q", &q));
    assert_false(q.active);
    assert_int_equal(q.reason, SL_INACTIVE_TOPOLOGY_NOT_FOUND);
    assert_string_equal(q.message, "Can't admit new workloads: there is no Topology \"t\" for TAS "
                                   "flavor \"racks\".");
    assert_string_equal(sl_word(SL_VOCAB_INACTIVE, (int)q.reason), "TopologyNotFound");

    flavor_on(&x, "racks", "t", 2);
    (void)cycle(&x, 2 * SL_SEC);
    assert_true(sl_engine_cq(x.e, "q", &q));
    assert_true(q.active);
    assert_int_equal(phase(&x, a), SL_PHASE_ADMITTED);

    flavor_on(&x, "racks", "t", 0); /* who has a place keeps it */
    (void)cycle(&x, 3 * SL_SEC);
    assert_true(sl_engine_cq(x.e, "q", &q));
    assert_false(q.active);
    assert_int_equal(phase(&x, a), SL_PHASE_ADMITTED);
    stop_engine(&x);
}

/* ---- places that are contested ---- */

/* A placer with this many places; each workload takes as many as it has pods. */
struct room {
    int32_t free;
    int32_t leaving; /* not free yet */
    struct seat {
        sl_wl_id id;
        int32_t n;
        bool aside;
    } v[16];
    uint32_t n;
};

static struct seat *seat_of(struct room *r, sl_wl_id id) {
    for (uint32_t i = 0; i < r->n; i++)
        if (r->v[i].id.v == id.v)
            return &r->v[i];
    return NULL;
}

static bool has_seats(void *ctx, sl_wl_id id, const struct sl_podset_assignment *ps, uint32_t n) {
    const struct room *r = ctx;
    (void)id, (void)n;
    return ps[0].count <= r->free + r->leaving;
}

static bool waits_for_leaving(void *ctx, sl_wl_id id, const struct sl_podset_assignment *ps,
                              uint32_t n) {
    return ((struct room *)ctx)->leaving && has_seats(ctx, id, ps, n);
}

static bool sit(void *ctx, sl_wl_id id, const struct sl_podset_assignment *ps, uint32_t n,
                uint32_t *ret_refused, char *why, size_t why_len) {
    struct room *r = ctx;
    *ret_refused = 0;
    (void)snprintf(why, why_len, "the room is full");
    (void)n;
    if (ps[0].count > r->free)
        return false;
    assert_true(r->n < SL_LEN(r->v));
    r->v[r->n++] = (struct seat){.id = id, .n = ps[0].count};
    r->free -= ps[0].count;
    return true;
}

static void rise(void *ctx, sl_wl_id id) {
    struct room *r = ctx;
    struct seat *s = seat_of(r, id);
    assert_non_null(s);
    assert_false(s->aside); /* nobody is left aside after a search */
    r->free += s->n;
    *s = r->v[--r->n];
}

static void step_aside(void *ctx, sl_wl_id id, bool aside) {
    struct room *r = ctx;
    struct seat *s = seat_of(r, id);
    assert_non_null(s);
    assert_int_not_equal(s->aside, aside);
    s->aside = aside;
    r->free += aside ? s->n : -s->n;
}

static sl_wl_id wl_of_pods(struct fx *x, const char *name, const char *queue, int32_t priority,
                           int32_t pods) {
    struct sl_workload_spec s = wl_spec(name, priority);
    s.queue = queue;
    return wl_apply(x, s, pods, "gpu", UNITS(1));
}

static bool evicting(const struct fx *x, sl_wl_id id) {
    struct sl_engine_wl_view v;
    return sl_engine_workload(x->e, id, &v) && v.evicting;
}

/* Quota is plenty, seats are few: the least important leave, as many as needed. So it is where the
 * flavor has a topology, and where the queue wants places without one. */
static void contest(bool fair, bool exact) {
    struct room room = {.free = 6};
    struct sl_placer seam = {
        .ctx = &room, .place = sit, .undo = rise, .set_aside = step_aside, .could = has_seats};
    struct sl_config c = sl_config_default;
    struct simple s;
    struct fx x;
    start_engine(&x, &seam);
    c.fair_sharing = fair;
    c.fair[0] = SL_FAIR_FINAL_SHARE;
    c.n_fair = 1;
    config(&x, c);
    flavor_on(&x, "f", exact ? "" : "t", exact ? 0 : 2);
    struct sl_cq_spec queue = cq_spec(&s, "q", "", "f", "gpu", 100);
    queue.exact_nodes = exact;
    cq_apply(&x, queue);
    lq(&x, "l", "q");
    sl_wl_id low = wl_of_pods(&x, "low", "l", 1, 2), mid = wl_of_pods(&x, "mid", "l", 2, 2),
             top = wl_of_pods(&x, "top", "l", 9, 2);
    (void)cycle(&x, SL_SEC);
    assert_int_equal(room.free, 0);

    sl_wl_id giant = wl_of_pods(&x, "giant", "l", 5, 5); /* 4 seats at most */
    (void)cycle(&x, 2 * SL_SEC);
    assert_int_equal(phase(&x, giant), SL_PHASE_ASLEEP);
    assert_int_equal(count_effects(&x, SL_EFFECT_EVICT), 0);
    apply_wl_fact(&x, SL_FACT_WORKLOAD_GONE, giant);

    sl_wl_id high = wl_of_pods(&x, "high", "l", 5, 2);
    (void)cycle(&x, 3 * SL_SEC);
    assert_int_equal(count_effects(&x, SL_EFFECT_EVICT), 1);
    assert_true(evicting(&x, low));
    assert_false(evicting(&x, mid));
    waits(&x, "the room is full");
    (void)cycle(&x, 4 * SL_SEC); /* counts on him: nobody else has to go */
    sl_engine_places_changed(x.e);
    (void)cycle(&x, 5 * SL_SEC);
    assert_int_equal(count_effects(&x, SL_EFFECT_EVICT), 0);
    apply_wl_fact(&x, SL_FACT_RELEASED, low);
    (void)cycle(&x, 6 * SL_SEC);
    assert_int_equal(phase(&x, high), SL_PHASE_ADMITTED);
    assert_int_equal(phase(&x, mid), SL_PHASE_ADMITTED);
    assert_int_equal(phase(&x, top), SL_PHASE_ADMITTED);
    assert_int_equal(room.free, 0);
    (void)cycle(&x, 7 * SL_SEC); /* and the one who left does not come back for it */
    assert_int_equal(count_effects(&x, SL_EFFECT_EVICT), 0);
    apply_wl_fact(&x, SL_FACT_FINISHED, top);
    (void)cycle(&x, 8 * SL_SEC);
    assert_int_equal(phase(&x, low), SL_PHASE_ADMITTED);
    stop_engine(&x);
}

static void test_contest(void **state) {
    (void)state;
    contest(false, false);
    contest(false, true);
}

static void test_fair_contest(void **state) {
    (void)state;
    contest(true, false);
    contest(true, true);
}

/* Seats of those that were evicted are not free at once: who waits for them evicts nobody else. */
static void test_leaving(void **state) {
    (void)state;
    struct room room = {.free = 4};
    struct sl_placer seam = {.ctx = &room,
                             .place = sit,
                             .undo = rise,
                             .set_aside = step_aside,
                             .could = has_seats,
                             .soon = waits_for_leaving};
    struct simple s;
    struct fx x;
    start_engine(&x, &seam);
    flavor_on(&x, "f", "", 0);
    struct sl_cq_spec queue = cq_spec(&s, "q", "", "f", "gpu", 100);
    queue.exact_nodes = true;
    cq_apply(&x, queue);
    lq(&x, "l", "q");
    sl_wl_id low = wl_of_pods(&x, "low", "l", 1, 2), mid = wl_of_pods(&x, "mid", "l", 2, 2);
    (void)cycle(&x, SL_SEC);
    sl_wl_id high = wl_of_pods(&x, "high", "l", 5, 2);
    (void)cycle(&x, 2 * SL_SEC);
    assert_true(evicting(&x, low));
    apply_wl_fact(&x, SL_FACT_RELEASED, low);
    apply_wl_fact(&x, SL_FACT_WORKLOAD_GONE, low);
    room.free -= 2; /* they are given up, and still taken */
    room.leaving = 2;
    (void)cycle(&x, 3 * SL_SEC);
    sl_engine_places_changed(x.e);
    (void)cycle(&x, 4 * SL_SEC);
    assert_int_equal(count_effects(&x, SL_EFFECT_EVICT), 0);
    assert_false(evicting(&x, mid));
    assert_int_not_equal(phase(&x, high), SL_PHASE_ADMITTED);
    room.free += 2;
    room.leaving = 0;
    sl_engine_places_changed(x.e);
    (void)cycle(&x, 5 * SL_SEC);
    assert_int_equal(phase(&x, high), SL_PHASE_ADMITTED);
    assert_int_equal(phase(&x, mid), SL_PHASE_ADMITTED);
    stop_engine(&x);
}

/* Quota has to be won as well: who goes must leave both, and a winner without a seat evicts nobody.
 */
static void test_quota_and_places(void **state) {
    (void)state;
    struct room room = {.free = 8};
    struct sl_placer seam = {
        .ctx = &room, .place = sit, .undo = rise, .set_aside = step_aside, .could = has_seats};
    struct simple s;
    struct fx x;
    start_engine(&x, &seam);
    flavor_on(&x, "f", "t", 2);
    cq_apply(&x, cq_spec(&s, "q", "", "f", "gpu", 10));
    lq(&x, "l", "q");
    sl_wl_id low = wl_of_pods(&x, "low", "l", 1, 4), mid = wl_of_pods(&x, "mid", "l", 2, 4);
    (void)cycle(&x, SL_SEC);
    room.free -= 3; /* places of others: now there are fewer than are in use */
    sl_wl_id high = wl_of_pods(&x, "high", "l", 5, 6);
    (void)cycle(&x, 2 * SL_SEC);
    assert_int_equal(count_effects(&x, SL_EFFECT_EVICT), 0);
    assert_int_equal(phase(&x, high), SL_PHASE_ASLEEP);
    room.free += 3;
    sl_engine_places_changed(x.e);
    (void)cycle(&x, 3 * SL_SEC);
    assert_true(evicting(&x, low));
    assert_true(evicting(&x, mid)); /* 4 seats of one are not enough, although the quota would be */
    stop_engine(&x);
}

/* So many pods, and no fewer than the least. */
static sl_wl_id wl_may_shrink(struct fx *x, const char *name, int32_t priority, int32_t pods,
                              int32_t least) {
    struct sl_request r = {"gpu", UNITS(1)};
    struct sl_podset_spec p = {
        .name = "main", .count = pods, .min_count = least, .requests = &r, .n_requests = 1};
    struct sl_workload_spec s = wl_spec(name, priority);
    s.queue = "l";
    if (sl_engine_shape(x->e, &p, 1, &s.shape, &x->err) < 0)
        fail_msg("%s", x->err.text);
    sl_wl_id id = apply_fact(x, (struct sl_fact){.kind = SL_FACT_WORKLOAD, .workload = s});
    sl_engine_shape_release(x->e, s.shape);
    return id;
}

static int32_t pods_of(struct fx *x, sl_wl_id id, struct sl_arena *a) {
    const struct sl_podset_assignment *ps;
    return sl_engine_assignment(x->e, id, a, &ps) ? ps[0].count : 0;
}

/* Who may have fewer pods has as many as there are seats for, of those that it has quota for; not
 * where evicting others, or waiting for those that leave, gives it all. */
static void test_fewer(void **state) {
    (void)state;
    struct room room = {.free = 7};
    struct sl_placer seam = {.ctx = &room,
                             .place = sit,
                             .undo = rise,
                             .set_aside = step_aside,
                             .could = has_seats,
                             .soon = waits_for_leaving};
    struct sl_arena a;
    struct simple s;
    struct fx x;
    sl_arena_init(&a, 65536);
    start_engine(&x, &seam);
    flavor_on(&x, "f", "", 0);
    struct sl_cq_spec queue = cq_spec(&s, "q", "", "f", "gpu", 12);
    queue.exact_nodes = true;
    cq_apply(&x, queue);
    lq(&x, "l", "q");

    sl_wl_id big = wl_may_shrink(&x, "big", 5, 10, 2); /* has quota for all, seats for 7 */
    (void)cycle(&x, SL_SEC);
    assert_int_equal(phase(&x, big), SL_PHASE_ADMITTED);
    assert_int_equal(pods_of(&x, big, &a), 7);
    assert_int_equal(room.free, 0);
    assert_int_equal(cell(&x, "q", "f", "gpu").usage, 7);

    sl_wl_id least = wl_may_shrink(&x, "least", 5, 4, 3);
    room.free = 2;
    (void)cycle(&x, 2 * SL_SEC);
    assert_int_equal(phase(&x, least), SL_PHASE_ASLEEP);
    waits(&x, "the room is full");
    assert_int_equal(room.free, 2); /* what it cannot use is not held */
    room.leaving = 2;
    sl_engine_places_changed(x.e);
    (void)cycle(&x, 3 * SL_SEC);
    assert_int_not_equal(phase(&x, least), SL_PHASE_ADMITTED);
    room.free = 3;
    room.leaving = 1;
    sl_engine_places_changed(x.e);
    (void)cycle(&x, 4 * SL_SEC); /* soon there are seats for all of it */
    assert_int_not_equal(phase(&x, least), SL_PHASE_ADMITTED);
    room.leaving = 0;
    sl_engine_places_changed(x.e);
    (void)cycle(&x, 5 * SL_SEC);
    assert_int_equal(pods_of(&x, least, &a), 3);

    sl_wl_id high = wl_may_shrink(&x, "high", 9, 5, 1); /* evicts rather than shrinks */
    room.free = 1;
    (void)cycle(&x, 6 * SL_SEC);
    assert_int_equal(phase(&x, high) == SL_PHASE_ADMITTED, false);
    assert_true(evicting(&x, big) || evicting(&x, least));
    stop_engine(&x);
    sl_arena_done(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_to_its_own), cmocka_unit_test(test_everybody_gets_a_place),
        cmocka_unit_test(test_no_topology),     cmocka_unit_test(test_contest),
        cmocka_unit_test(test_fair_contest),    cmocka_unit_test(test_quota_and_places),
        cmocka_unit_test(test_leaving),         cmocka_unit_test(test_fewer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
