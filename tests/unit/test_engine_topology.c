/* Flavors with topologies: who may use them, what is said of those that may not, and queues whose
 * topology is missing. Where pods go is the placer's business (src/topo); here it always says yes.
 */
#include "engine_fx.h"

#include "base/buf.h"

static bool place(void *ctx, sl_wl_id id, const struct sl_podset_assignment *ps, uint32_t n,
                  uint32_t *ret_refused, char *why, size_t why_len) {
    (void)ctx, (void)id, (void)ps, (void)n, (void)ret_refused, (void)why, (void)why_len;
    return true;
}

static void undo(void *ctx, sl_wl_id id) {
    (void)ctx, (void)id;
}

static const struct sl_placer yes = {NULL, place, undo};
static const char *const levels[] = {"block", "rack"};

static void flavor_on(struct fx *x, const char *name, const char *topology, uint32_t n_levels) {
    say(x, (struct sl_fact){
               .kind = SL_FACT_FLAVOR,
               .flavor = {
                   .name = name, .topology = topology, .levels = levels, .n_levels = n_levels}});
}

/* A queue with 10 gpus of each of these flavors, and LocalQueue l. */
static void queue(struct fx *x, const char *const *flavors, uint32_t n) {
    static const struct sl_quota ten = {10, SL_AMOUNT_NONE, SL_AMOUNT_NONE};
    struct sl_flavor_quotas v[4];
    const char *resource = "gpu";
    struct sl_group_spec g = {&resource, 1, v, n};
    for (uint32_t i = 0; i < n; i++)
        v[i] = (struct sl_flavor_quotas){flavors[i], &ten};
    cq_tell(x, (struct sl_cq_spec){.name = "q",
                                   .cohort = "",
                                   .groups = {&g, 1},
                                   .when_can_borrow = SL_TRY_NEXT_FLAVOR,
                                   .weight_nano = SL_WEIGHT_ONE});
    lq(x, "l", "q");
}

/* level: NULL for a workload that asks for no topology. */
static sl_wl_id asks(struct fx *x, const char *name, const char *level) {
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
    sl_wl_id id = say(x, (struct sl_fact){.kind = SL_FACT_WORKLOAD, .workload = s});
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
    start(&x, &yes);
    flavor_on(&x, "racks", "t", 2);
    flavor(&x, "plain");
    queue(&x, (const char *const[]){"racks", "plain"}, 2);
    sl_wl_id placed = asks(&x, "a", "rack"), free = asks(&x, "b", NULL),
             lost = asks(&x, "c", "zone");
    (void)cycle(&x, SL_SEC);
    assert_string_equal(flavor_of(&x, placed, &a), "racks");
    assert_string_equal(flavor_of(&x, free, &a), "plain");
    assert_int_equal(phase(&x, lost), SL_PHASE_ASLEEP);
    waits(&x, "couldn't assign flavors to pod set main: Flavor \"plain\" does not support "
              "TopologyAwareScheduling, Flavor \"racks\" does not contain the requested level");
    stop(&x);
    sl_arena_done(&a);
}

static void test_everybody_gets_a_place(void **state) {
    (void)state;
    struct fx x;
    struct sl_arena a;
    sl_arena_init(&a, 65536);
    start(&x, &yes);
    flavor_on(&x, "racks", "t", 2);
    queue(&x, (const char *const[]){"racks"}, 1);
    sl_wl_id free = asks(&x, "a", NULL);
    (void)cycle(&x, SL_SEC);
    assert_string_equal(flavor_of(&x, free, &a), "racks");

    flavor(&x,
           "plain"); /* no longer: who asks for nothing goes where there is nothing to ask for */
    queue(&x, (const char *const[]){"racks", "plain"}, 2);
    sl_wl_id v[11];
    char name[8];
    for (int i = 0; i < 11; i++) {
        (void)snprintf(name, sizeof name, "n%02d", i);
        v[i] = asks(&x, name, NULL);
    }
    (void)cycle(&x, 2 * SL_SEC);
    assert_string_equal(flavor_of(&x, v[0], &a), "plain");
    assert_int_equal(phase(&x, v[10]), SL_PHASE_ASLEEP);
    waits(&x, "Flavor \"racks\" supports only TopologyAwareScheduling");
    stop(&x);
    sl_arena_done(&a);
}

static void test_no_topology(void **state) {
    (void)state;
    struct fx x;
    struct sl_cq_view q;
    start(&x, &yes);
    flavor_on(&x, "racks", "t", 0);
    queue(&x, (const char *const[]){"racks"}, 1);
    sl_wl_id a = asks(&x, "a", "rack");
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
    stop(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_to_its_own),
        cmocka_unit_test(test_everybody_gets_a_place),
        cmocka_unit_test(test_no_topology),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
