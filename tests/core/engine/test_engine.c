/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's interface itself: what is refused and leaves no trace, what may be said twice, what
 * outlives a restart, who is asked and told at the seams. What is decided is the scenarios' matter.
 */
#include "engine_fixture.h"

#include "core/base/mem.h"

/* ---- refused, and nothing has changed ---- */

static char too_long[SL_MAX_NAME + 2];

static void refuse_config(struct fx *x) {
    struct sl_fact f = {.kind = SL_FACT_FLAVOR};
    refuse(x, f, SL_EINVAL, "a ResourceFlavor needs a name");
    f.flavor.name = too_long;
    refuse(x, f, SL_EINVAL, "at most 253 characters");
    f = (struct sl_fact){.kind = SL_FACT_COHORT, .cohort = {.name = ""}};
    refuse(x, f, SL_EINVAL, "a Cohort needs a name");
    f.cohort = (struct sl_cohort_spec){.name = "c", .weight_nano = -1};
    refuse(x, f, SL_EINVAL, "Cohort c: weight must not be negative");
    f = (struct sl_fact){.kind = SL_FACT_LOCAL_QUEUE, .lq = {.ns = "ns", .name = ""}};
    refuse(x, f, SL_EINVAL, "a LocalQueue needs a name");
    f.lq = (struct sl_lq_spec){"ns", "n", "q", SL_STOP_NONE, -1};
    refuse(x, f, SL_EINVAL, "LocalQueue n: weight must not be negative");
    f = (struct sl_fact){.kind = SL_FACT_NAMESPACE, .ns = {.name = too_long}};
    refuse(x, f, SL_EINVAL, "Namespace: a name has at most 253");
    f = (struct sl_fact){.kind = SL_FACT_CHECK, .check = {.name = ""}};
    refuse(x, f, SL_EINVAL, "AdmissionCheck needs a name");
    f = (struct sl_fact){.kind = SL_FACT_CONFIG, .config = sl_config_default};
    f.config.fair_sharing = true;
    f.config.n_fair = 0;
    refuse(x, f, SL_EINVAL, "one or two preemption strategies");
    f.config = sl_config_default;
    f.config.backoff_base_s = -1;
    refuse(x, f, SL_EINVAL, "back-off must not be negative");
    f.kind = (enum sl_fact_kind)SL_FACT_COUNT;
    refuse(x, f, SL_EINVAL, "unknown fact");
    f.kind = (enum sl_fact_kind)1000;
    refuse(x, f, SL_EINVAL, "unknown fact");
}

/* Texts of 45 MiB, in each place where an entry keeps some: none is kept, and nothing ends. */
static void refuse_large(struct fx *x) {
    size_t n = (size_t)45 << 20;
    char *large = sl_alloc(n + 1);
    memset(large, 'a', n);
    large[n] = '\0';
    const char *value = large;
    struct sl_label label = {"k", large};
    struct sl_taint taint = {"k", large, SL_TAINT_NO_SCHEDULE};
    struct sl_label_rule rule = {.key = "k", .op = SL_OP_IN, .values = &value, .n_values = 1};
    struct simple s;
    struct sl_fact f = {.kind = SL_FACT_NAMESPACE, .ns = {.name = "n", .labels = {&label, 1}}};
    refuse(x, f, SL_ELIMIT, "Namespace n: labels and the like");
    f = (struct sl_fact){.kind = SL_FACT_FLAVOR,
                         .flavor = {.name = "f", .taints = &taint, .n_taints = 1}};
    refuse(x, f, SL_ELIMIT, "ResourceFlavor f: labels and the like");
    f = (struct sl_fact){.kind = SL_FACT_CLUSTER_QUEUE};
    f.cq = cq_spec(&s, "q", "", "f", "gpu", 3);
    f.cq.namespaces = (struct sl_selector){.v = &rule, .n = 1};
    refuse(x, f, SL_ELIMIT, "ClusterQueue q: labels and the like");
    sl_freep(&large);
}

static void refuse_queues(struct fx *x) {
    struct simple s;
    struct sl_fact f = {.kind = SL_FACT_CLUSTER_QUEUE};
    f.cq = cq_spec(&s, "q", "", "f", "gpu", 3);
    f.cq.name = "";
    refuse(x, f, SL_EINVAL, "a ClusterQueue needs a name");
    f.cq.name = "q";
    s.quota.nominal = -1;
    refuse(x, f, SL_EINVAL, "q: quotas must not be negative");
    s.quota = (struct sl_quota){1, -1, SL_AMOUNT_NONE};
    refuse(x, f, SL_EINVAL, "quotas must not be negative");
    s.quota = (struct sl_quota){1, SL_AMOUNT_NONE, -5};
    refuse(x, f, SL_EINVAL, "quotas must not be negative");
    s.quota.lend_limit = SL_AMOUNT_NONE;
    f.cq.weight_nano = -1;
    refuse(x, f, SL_EINVAL, "weight must not be negative");
    f.cq.weight_nano = 0;
    f.cq.n_checks = SL_MAX_QUEUE_CHECKS + 1;
    refuse(x, f, SL_ELIMIT, "at most 64 admission checks");
    f.cq.n_checks = 0;
    s.group.n_flavors = 0;
    refuse(x, f, SL_ELIMIT, "1 to 64 flavors and 1 to 64 resources");
    s.group.n_flavors = 1;
    const char *cpu = "cpu";
    struct sl_group_spec two[2] = {s.group, s.group};
    f.cq.groups = (struct sl_groups){two, 2};
    refuse(x, f, SL_EINVAL, "resource gpu is in two resource groups");
    two[1].resources = &cpu;
    refuse(x, f, SL_EINVAL, "flavor f is in two resource groups");
    f.cq.groups.n = SL_MAX_GROUPS + 1;
    refuse(x, f, SL_ELIMIT, "at most 16 resource groups, got 17");
}

static void refuse_workloads(struct fx *x, sl_wl_id a) {
    struct sl_fact f = {.kind = SL_FACT_WORKLOAD, .workload = wl_spec("b", 0)};
    refuse(x, f, SL_EINVAL, "workload b: unknown shape");
    f.workload.shape.v = 1000;
    refuse(x, f, SL_EINVAL, "workload b: unknown shape");
    f.workload.shape = shape(x, 1, "gpu", UNITS(1));
    f.workload.name = too_long;
    refuse(x, f, SL_EINVAL, "at most 253 characters");
    f.workload.name = "";
    refuse(x, f, SL_EINVAL, "a workload needs a name");
    f.workload = (struct sl_workload_spec){.ns = "", .name = "b", .shape = f.workload.shape};
    refuse(x, f, SL_EINVAL, "namespace needs a name");
    f.workload.ns = "ns";
    f.workload.queue = too_long;
    refuse(x, f, SL_EINVAL, "queue name too long");
    f.workload.queue = "l";
    f.workload.uid = too_long;
    refuse(x, f, SL_EINVAL, "uid too long");
    f.workload.uid = "";
    f.workload.job_uid = too_long;
    refuse(x, f, SL_EINVAL, "uid too long");
    f.workload.job_uid = NULL;
    f.workload.max_exec_s = -1;
    refuse(x, f, SL_EINVAL, "execution time must not be negative");
    f.workload.max_exec_s = 0;
    f.workload.name = "a";
    f.workload.uid = "another";
    refuse(x, f, SL_ESTALE, "workload ns/a exists with another uid");
    sl_engine_shape_release(x->e, f.workload.shape);
    for (int k = SL_FACT_WORKLOAD_GONE; k < SL_FACT_COUNT; k++) {
        const uint64_t wrong[] = {0, 1000, a.v + (UINT64_C(1) << 32), UINT64_MAX};
        for (size_t i = 0; i < SL_LEN(wrong); i++)
            refuse(x, (struct sl_fact){.kind = (enum sl_fact_kind)k, .wl = {wrong[i]}}, SL_ENOENT,
                   "no such workload");
    }
    f = (struct sl_fact){.kind = SL_FACT_ADMISSION, .wl = a, .admission = {.cq = "nowhere"}};
    refuse(x, f, SL_ENOENT, "workload a holds quota of unknown ClusterQueue nowhere");
    f.admission.cq = "q";
    refuse(x, f, SL_EINVAL, "workload a has 1 podsets, its admission 0");
    const int32_t counts[2] = {1, 1};
    f = (struct sl_fact){.kind = SL_FACT_RECLAIMABLE, .wl = a, .reclaimable = {counts, 2}};
    refuse(x, f, SL_EINVAL, "workload a has 1 podsets, got counts for 2");
    f = (struct sl_fact){.kind = SL_FACT_CHECK_STATE, .wl = a, .check_state = {.name = ""}};
    refuse(x, f, SL_EINVAL, "AdmissionCheck needs a name");
}

static void test_refused(void **state) {
    (void)state;
    memset(too_long, 'x', SL_MAX_NAME + 1);
    struct fx x, twin; /* the copy gets nothing of it */
    small(&x, NULL);
    small(&twin, NULL);
    sl_wl_id a = wl(&x, "a", 11);
    (void)wl(&twin, "a", 11);
    for (int again = 0; again < 2; again++) { /* before and after a cycle */
        refuse_config(&x);
        refuse_large(&x);
        refuse_queues(&x);
        refuse_workloads(&x, a);
        assert_true(cycle(&x, 2 * SL_SEC) == cycle(&twin, 2 * SL_SEC));
    }
    struct sl_engine_stats s, t;
    sl_engine_stats(x.e, &s);
    sl_engine_stats(twin.e, &t);
    assert_memory_equal(&s, &t, sizeof(s));
    cq(&x, "q", "", "gpu", 11);
    cq(&twin, "q", "", "gpu", 11);
    assert_true(cycle(&x, 3 * SL_SEC) == cycle(&twin, 3 * SL_SEC));
    assert_int_equal(phase(&x, a), SL_PHASE_ADMITTED);
    stop_engine(&x);
    stop_engine(&twin);
}

/* A fact that is refused does not move the clock either. */
static void test_refused_time(void **state) {
    (void)state;
    struct fx x;
    small(&x, NULL);
    struct sl_workload_spec s = wl_spec("a", 0);
    s.max_exec_s = 100;
    sl_wl_id a = wl_apply(&x, s, 1, "gpu", UNITS(1));
    (void)cycle(&x, 2 * SL_SEC);
    struct sl_fact f = {.kind = SL_FACT_FLAVOR, .at = 1000 * SL_SEC};
    refuse(&x, f, SL_EINVAL, "needs a name");
    f = (struct sl_fact){.kind = SL_FACT_FINISHED, .at = 1000 * SL_SEC};
    refuse(&x, f, SL_ENOENT, "no such workload");
    (void)cycle(&x, 3 * SL_SEC);
    assert_int_equal(x.out.v.n, 0);
    assert_int_equal(phase(&x, a), SL_PHASE_ADMITTED);
    stop_engine(&x);
}

static void test_refused_shapes(void **state) {
    (void)state;
    struct fx x;
    start_engine(&x, NULL);
    struct sl_request many[SL_MAX_PODSET_RESOURCES + 1] = {0};
    for (size_t i = 0; i < SL_LEN(many); i++)
        many[i].resource = "gpu";
    const struct sl_request negative = {"gpu", -1};
    struct sl_podset_spec v[SL_MAX_PODSETS + 1] = {0};
    const struct {
        struct sl_podset_spec podset;
        uint32_t n;
        int code;
        const char *words;
    } table[] = {
        {{.name = "p"}, 0, SL_ELIMIT, "1 to 18 podsets, got 0"},
        {{.name = "p"}, SL_MAX_PODSETS + 1, SL_ELIMIT, "1 to 18 podsets, got 19"},
        {{.name = ""}, 1, SL_EINVAL, "a podset needs a name"},
        {{.name = NULL}, 1, SL_EINVAL, "a podset needs a name"},
        {{.name = "p", .count = -1}, 1, SL_EINVAL, "podset p: count must not be negative, got -1"},
        {{.name = "p", .count = 2, .min_count = 3}, 1, SL_EINVAL, "minCount must be between 1 and"},
        {{.name = "p", .count = 2, .min_count = -1}, 1, SL_EINVAL, "minCount must be between 1"},
        {{.name = "p", .requests = many, .n_requests = SL_LEN(many)},
         1,
         SL_ELIMIT,
         "at most 64 resources, got 65"},
        {{.name = "p", .requests = &negative, .n_requests = 1},
         1,
         SL_EINVAL,
         "podset p: request of gpu must not be negative"},
    };
    for (size_t i = 0; i < SL_LEN(table); i++) {
        sl_shape_id id = {77};
        for (size_t k = 0; k < SL_LEN(v); k++)
            v[k] = table[i].podset;
        assert_int_equal(sl_engine_shape(x.e, v, table[i].n, &id, &x.err), table[i].code);
        if (!strstr(x.err.text, table[i].words))
            fail_msg("expected '%s', got '%s'", table[i].words, x.err.text);
        assert_int_equal(id.v, 77);
    }
    struct sl_engine_stats s;
    sl_engine_stats(x.e, &s);
    assert_int_equal(s.shapes, 0);
    sl_shape_id a = shape(&x, 1, "gpu", UNITS(1)), b = shape(&x, 1, "gpu", UNITS(1));
    assert_int_equal(a.v, b.v);
    sl_engine_shape_release(x.e, a);
    sl_engine_shape_release(x.e, b);
    sl_engine_shape_release(x.e, b); /* once too often, and ids that never were */
    sl_engine_shape_release(x.e, SL_SHAPE_NONE);
    sl_engine_shape_release(x.e, (sl_shape_id){99});
    sl_engine_stats(x.e, &s);
    assert_int_equal(s.shapes, 0);
    stop_engine(&x);
}

/* ---- applied twice ---- */

static void apply_all(struct fx *x, int times) {
    static const struct sl_label label = {"team", "a"};
    static const struct sl_taint taint = {"t", "v", SL_TAINT_PREFER_NO_SCHEDULE};
    for (int i = 0; i < times; i++) {
        config(x, sl_config_default);
        apply_fact(
            x,
            (struct sl_fact){
                .kind = SL_FACT_FLAVOR,
                .flavor = {.name = "f", .labels = {&label, 1}, .taints = &taint, .n_taints = 1}});
        apply_fact(x, (struct sl_fact){.kind = SL_FACT_NAMESPACE, .ns = {"ns", {&label, 1}}});
        apply_fact(x, (struct sl_fact){.kind = SL_FACT_CHECK, .check = {"check", "c", true}});
        cohort(x, "top", "");
        cohort(x, "mid", "top");
        cq(x, "q", "mid", "gpu", 10);
        lq(x, "l", "q");
        for (int k = 0; k < 5; k++) {
            char name[24];
            (void)snprintf(name, sizeof name, "w%d", k);
            (void)wl(x, name, 4);
        }
    }
}

static void test_repeated(void **state) {
    (void)state;
    struct fx once, twice;
    start_engine(&once, NULL);
    start_engine(&twice, NULL);
    apply_all(&once, 1);
    apply_all(&twice, 2);
    assert_true(cycle(&once, SL_SEC) == cycle(&twice, SL_SEC));
    assert_int_equal(count_effects(&twice, SL_EFFECT_RESERVE), 2);
    apply_all(&twice, 1);
    (void)cycle(&twice, 2 * SL_SEC);
    assert_int_equal(twice.out.v.n, 0);
    sl_wl_id w = sl_engine_find(twice.e, "ns", "w0");
    for (int i = 0; i < 2; i++) {
        apply_wl_fact(&once, SL_FACT_FINISHED, sl_engine_find(once.e, "ns", "w0"));
        apply_wl_fact(&twice, SL_FACT_FINISHED, w);
        apply_wl_fact(&twice, SL_FACT_FINISHED, w);
        apply_wl_fact(&twice, SL_FACT_RELEASED, w); /* holds nothing any more: nothing to report */
        apply_wl_fact(&twice, SL_FACT_ADMIT_FAILED, w);
        assert_true(cycle(&once, 3 * SL_SEC) == cycle(&twice, 3 * SL_SEC));
        assert_int_equal(count_effects(&twice, SL_EFFECT_RESERVE), i == 0);
    }
    for (int i = 0; i < 2; i++) { /* what is not there can go, again and again */
        apply_fact(&twice, (struct sl_fact){.kind = SL_FACT_FLAVOR_GONE, .gone = {"", "other"}});
        apply_fact(&twice, (struct sl_fact){.kind = SL_FACT_COHORT_GONE, .gone = {"", "other"}});
        apply_fact(&twice,
                   (struct sl_fact){.kind = SL_FACT_CLUSTER_QUEUE_GONE, .gone = {"", "other"}});
        apply_fact(&twice,
                   (struct sl_fact){.kind = SL_FACT_LOCAL_QUEUE_GONE, .gone = {"ns", "other"}});
        apply_fact(&twice, (struct sl_fact){.kind = SL_FACT_NAMESPACE_GONE, .gone = {"", "other"}});
        apply_fact(&twice, (struct sl_fact){.kind = SL_FACT_CHECK_GONE, .gone = {"", "other"}});
    }
    (void)cycle(&twice, 4 * SL_SEC);
    assert_int_equal(twice.out.v.n, 0);
    stop_engine(&once);
    stop_engine(&twice);
}

/* ---- ids ---- */

static void test_stale_ids(void **state) {
    (void)state;
    struct fx x;
    small(&x, NULL);
    sl_wl_id a = wl(&x, "a", 4);
    (void)cycle(&x, SL_SEC);
    assert_int_equal(phase(&x, a), SL_PHASE_ADMITTED);
    apply_wl_fact(&x, SL_FACT_WORKLOAD_GONE, a);
    assert_int_equal(cell(&x, "q", "f", "gpu").usage, 0);
    struct sl_engine_wl_view v;
    struct sl_verdict why;
    assert_false(sl_engine_workload(x.e, a, &v));
    assert_int_equal(v.phase, SL_PHASE_GONE);
    assert_int_equal(sl_engine_find(x.e, "ns", "a").v, 0);
    assert_int_equal(sl_engine_find(x.e, "other", "a").v, 0);
    sl_verdict_init(&why);
    assert_int_equal(sl_engine_explain(x.e, SL_SEC, a, &why, &x.err), SL_ENOENT);
    refuse(&x, (struct sl_fact){.kind = SL_FACT_WORKLOAD_GONE, .wl = a}, SL_ENOENT, "no such work");
    struct sl_workload_spec s = wl_spec("a", 0);
    s.uid = "second";
    sl_wl_id b = wl_apply(&x, s, 4, "gpu", UNITS(1)); /* the same slot, another life */
    assert_true(b.v != a.v);
    assert_int_equal((uint32_t)b.v, (uint32_t)a.v);
    refuse(&x, (struct sl_fact){.kind = SL_FACT_FINISHED, .wl = a}, SL_ENOENT, "no such workload");
    assert_int_equal(sl_engine_explain(x.e, SL_SEC, b, &why, &x.err), SL_OK);
    assert_int_equal(why.kind, SL_VERDICT_FITS);
    s.uid = ""; /* nobody knows: taken as the same */
    assert_int_equal(wl_apply(&x, s, 4, "gpu", UNITS(1)).v, b.v);
    sl_verdict_done(&why);
    stop_engine(&x);
}

/* ---- found after a restart ---- */

static void test_restart(void **state) {
    (void)state;
    struct fx x;
    struct sl_engine_wl_view v;
    struct simple s;
    start_engine(&x, NULL);
    flavor(&x, "f");
    apply_fact(&x, (struct sl_fact){.kind = SL_FACT_CHECK, .check = {"check", "c", true}});
    struct sl_check_ref check = {.name = "check"};
    struct sl_cq_spec q = cq_spec(&s, "q", "", "f", "gpu", 10);
    q.checks = &check;
    q.n_checks = 1;
    cq_apply(&x, q);
    lq(&x, "l", "q");
    sl_wl_id reserved = wl(&x, "reserved", 4), admitted = wl(&x, "admitted", 4),
             evicted = wl(&x, "evicted", 4), gone = wl(&x, "gone", 4), odd = wl(&x, "odd", 4);
    hold(&x, reserved, "f", 4, 0, SL_EVICT_NONE);
    hold(&x, admitted, "f", 4, 3 * SL_SEC, SL_EVICT_NONE);
    hold(&x, evicted, "f", 4, 3 * SL_SEC, SL_EVICT_PREEMPTED);
    hold(&x, gone, "unlisted", 7, 3 * SL_SEC, SL_EVICT_NONE);
    hold(&x, odd, "f", -7, 3 * SL_SEC, SL_EVICT_NONE); /* less than nothing counts as nothing */
    for (int i = 0; i < 2; i++) {                      /* as told, and after a cycle */
        assert_int_equal(cell(&x, "q", "f", "gpu").usage, 12); /* more than the quota: it is so */
        assert_int_equal(cell(&x, "q", "f", "gpu").available, 0);
        assert_int_equal(cell(&x, "q", "f", "gpu").admitted_usage, 8);
        assert_int_equal(cell(&x, "q", "unlisted", "gpu").usage, 7);
        assert_int_equal(phase(&x, reserved), SL_PHASE_RESERVED);
        assert_int_equal(phase(&x, gone), SL_PHASE_ADMITTED);
        assert_true(sl_engine_workload(x.e, admitted, &v));
        assert_int_equal(v.phase, SL_PHASE_ADMITTED);
        assert_int_equal(v.reserved_at, 2 * SL_SEC);
        assert_int_equal(v.admitted_at, 3 * SL_SEC);
        assert_true(sl_engine_workload(x.e, evicted, &v) && v.evicting);
        (void)cycle(&x, 6 * SL_SEC);
        assert_int_equal(count_effects(&x, SL_EFFECT_RESERVE) + count_effects(&x, SL_EFFECT_EVICT),
                         0);
    }
    struct sl_arena a;
    const struct sl_podset_assignment *ps;
    sl_arena_init(&a, 1 << 16);
    assert_int_equal(sl_engine_assignment(x.e, gone, &a, &ps), 1);
    assert_int_equal(ps[0].count, 4);
    assert_string_equal(ps[0].v[0].flavor, "unlisted");
    assert_int_equal(ps[0].v[0].usage, 7);
    assert_int_equal(sl_engine_assignment(x.e, SL_WL_NONE, &a, &ps), 0);
    sl_arena_done(&a);
    flavor(&x, "other"); /* trees are built anew: what is held stays held */
    (void)cycle(&x, 7 * SL_SEC);
    assert_int_equal(cell(&x, "q", "unlisted", "gpu").usage, 7);
    apply_wl_fact(&x, SL_FACT_FINISHED, gone);
    assert_int_equal(cell(&x, "q", "unlisted", "gpu").usage, 0);
    apply_wl_fact(&x, SL_FACT_RELEASED, evicted);
    (void)cycle(&x, 8 * SL_SEC);
    assert_int_equal(count_effects(&x, SL_EFFECT_RELEASE), 1);
    assert_int_equal(cell(&x, "q", "f", "gpu").usage, 8);
    stop_engine(&x);
}

/* ---- looking in ---- */

static void test_pending_pages(void **state) {
    (void)state;
    struct fx x;
    small(&x, NULL);
    lq(&x, "m", "q");
    for (int i = 0; i < 25; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "w%02d", i);
        struct sl_workload_spec s = wl_spec(name, i % 3);
        s.queue = i % 2 ? "l" : "m";
        s.created = (1 + i % 5) * SL_SEC;
        (void)wl_apply(&x, s, 11 + i % 2, "gpu", UNITS(1));
    }
    (void)cycle(&x, 10 * SL_SEC);
    sl_wl_id all[64], page[64];
    assert_int_equal(sl_engine_pending(x.e, "q", 0, all, 64), 25);
    for (uint32_t i = 1; i < 25; i++) {
        struct sl_engine_wl_view a, b;
        assert_true(sl_engine_workload(x.e, all[i - 1], &a) && sl_engine_workload(x.e, all[i], &b));
        assert_true(
            a.priority > b.priority ||
            (a.priority == b.priority &&
             (a.created < b.created || (a.created == b.created && strcmp(a.uid, b.uid) < 0))));
    }
    for (uint32_t size = 1; size < 30; size += 4)
        for (uint32_t from = 0; from < 30; from++) {
            uint32_t n = sl_engine_pending(x.e, "q", from, page, size);
            assert_int_equal(n, from >= 25 ? 0 : size < 25 - from ? size : 25 - from);
            for (uint32_t i = 0; i < n; i++)
                assert_int_equal(page[i].v, all[from + i].v);
        }
    assert_int_equal(sl_engine_pending(x.e, "q", 0, page, 0), 0);
    assert_int_equal(sl_engine_pending(x.e, "nowhere", 0, page, 64), 0);
    struct sl_engine_cq_view c;
    assert_true(sl_engine_cq(x.e, "q", &c));
    assert_int_equal(c.heap + c.asleep, 25);
    assert_false(sl_engine_cq(x.e, "nowhere", &c));
    struct sl_engine_cell_view v;
    assert_false(sl_engine_cell(x.e, false, "nowhere", "f", "gpu", &v));
    assert_true(sl_engine_cell(x.e, false, "q", "nothing", "gpu", &v));
    assert_int_equal(v.nominal, 0);
    assert_string_equal(sl_engine_cq_name(x.e, 0), "q");
    assert_null(sl_engine_cq_name(x.e, 1));
    stop_engine(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_refused_time),
        cmocka_unit_test(test_refused_shapes), cmocka_unit_test(test_repeated),
        cmocka_unit_test(test_stale_ids),      cmocka_unit_test(test_restart),
        cmocka_unit_test(test_pending_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
