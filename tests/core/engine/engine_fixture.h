/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the engine's interface: an engine with its effects and last error, and short words
 * for the facts they need. Everything is inline, so that each test takes what it wants.
 */
#ifndef SL_TESTS_CORE_ENGINE_ENGINE_FIXTURE_H
#define SL_TESTS_CORE_ENGINE_ENGINE_FIXTURE_H

#include "core/engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UNITS(n) ((sl_quantity)(n)*SL_NANO)

struct fx {
    struct sl_engine *e;
    struct sl_effects out;
    struct sl_err err;
};

/* ---- applying facts ---- */

static inline void start_engine(struct fx *x, const struct sl_placer *placer) {
    *x = (struct fx){.e = sl_engine_new(placer)};
    sl_effects_init(&x->out);
}

static inline void stop_engine(struct fx *x) {
    if (sl_engine_check(x->e, &x->err) < 0)
        fail_msg("%s", x->err.text);
    sl_effects_done(&x->out);
    sl_engine_freep(&x->e);
    assert_null(x->e);
}

static inline sl_wl_id apply_fact(struct fx *x, struct sl_fact f) {
    sl_wl_id id = SL_WL_NONE;
    if (sl_engine_apply(x->e, &f, &id, &x->err) < 0)
        fail_msg("%s refused: %s", sl_fact_name(f.kind), x->err.text);
    return id;
}

static inline void refuse(struct fx *x, struct sl_fact f, int code, const char *words) {
    sl_wl_id id = {77};
    assert_int_equal(sl_engine_apply(x->e, &f, &id, &x->err), code);
    if (!strstr(x->err.text, words))
        fail_msg("expected '%s', got '%s'", words, x->err.text);
    assert_int_equal(x->err.code, code);
    assert_int_equal(id.v, 77);
}

static inline void apply_wl_fact(struct fx *x, enum sl_fact_kind kind, sl_wl_id wl) {
    apply_fact(x, (struct sl_fact){.kind = kind, .wl = wl});
}

static inline void config(struct fx *x, struct sl_config c) {
    apply_fact(x, (struct sl_fact){.kind = SL_FACT_CONFIG, .config = c});
}

static inline void flavor(struct fx *x, const char *name) {
    apply_fact(x, (struct sl_fact){.kind = SL_FACT_FLAVOR, .flavor = {.name = name}});
}

static inline void cohort(struct fx *x, const char *name, const char *parent) {
    apply_fact(
        x, (struct sl_fact){.kind = SL_FACT_COHORT, .cohort = {name, parent, {0}, SL_WEIGHT_ONE}});
}

/* One group with one flavor and one resource. */
struct simple {
    struct sl_quota quota;
    struct sl_flavor_quotas flavor;
    const char *resource;
    struct sl_group_spec group;
};

static inline struct sl_cq_spec cq_spec(struct simple *s, const char *name, const char *in,
                                        const char *fl, const char *resource, sl_amount nominal) {
    s->quota = (struct sl_quota){nominal, SL_AMOUNT_NONE, SL_AMOUNT_NONE};
    s->flavor = (struct sl_flavor_quotas){fl, &s->quota};
    s->resource = resource;
    s->group = (struct sl_group_spec){&s->resource, 1, &s->flavor, 1};
    return (struct sl_cq_spec){.name = name,
                               .cohort = in,
                               .groups = {&s->group, 1},
                               .within = SL_WITHIN_LOWER,
                               .weight_nano = SL_WEIGHT_ONE};
}

static inline void cq_apply(struct fx *x, struct sl_cq_spec s) {
    apply_fact(x, (struct sl_fact){.kind = SL_FACT_CLUSTER_QUEUE, .cq = s});
}

static inline void cq(struct fx *x, const char *name, const char *in, const char *resource,
                      sl_amount nominal) {
    struct simple s;
    cq_apply(x, cq_spec(&s, name, in, "f", resource, nominal));
}

static inline void lq(struct fx *x, const char *name, const char *to) {
    apply_fact(x, (struct sl_fact){.kind = SL_FACT_LOCAL_QUEUE,
                                   .lq = {"ns", name, to, SL_STOP_NONE, SL_WEIGHT_ONE}});
}

static inline sl_shape_id shape(struct fx *x, int32_t count, const char *resource,
                                sl_quantity each) {
    struct sl_request r = {resource, each};
    struct sl_podset_spec p = {.name = "main", .count = count, .requests = &r, .n_requests = 1};
    sl_shape_id id;
    if (sl_engine_shape(x->e, &p, 1, &id, &x->err) < 0)
        fail_msg("%s", x->err.text);
    return id;
}

static inline struct sl_workload_spec wl_spec(const char *name, int32_t priority) {
    return (struct sl_workload_spec){.ns = "ns",
                                     .name = name,
                                     .uid = name,
                                     .queue = "l",
                                     .priority = priority,
                                     .created = SL_SEC};
}

static inline sl_wl_id wl_apply(struct fx *x, struct sl_workload_spec s, int32_t count,
                                const char *resource, sl_quantity each) {
    s.shape = shape(x, count, resource, each);
    sl_wl_id id = apply_fact(x, (struct sl_fact){.kind = SL_FACT_WORKLOAD, .workload = s});
    sl_engine_shape_release(x->e, s.shape);
    return id;
}

/* 'count' pods of one gpu each in queue l. */
static inline sl_wl_id wl(struct fx *x, const char *name, int32_t count) {
    return wl_apply(x, wl_spec(name, 0), count, "gpu", UNITS(1));
}

static inline uint64_t cycle(struct fx *x, sl_time now) {
    sl_effects_clear(&x->out);
    sl_engine_cycle(x->e, now, &x->out);
    return sl_effects_digest(0, &x->out);
}

static inline uint32_t count_effects(const struct fx *x, enum sl_effect_kind kind) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->out.v.n; i++)
        n += x->out.v.v[i].kind == kind;
    return n;
}

static inline enum sl_engine_phase phase(const struct fx *x, sl_wl_id id) {
    struct sl_engine_wl_view v;
    (void)sl_engine_workload(x->e, id, &v);
    return v.phase;
}

static inline struct sl_engine_cell_view cell(const struct fx *x, const char *node, const char *fl,
                                              const char *resource) {
    struct sl_engine_cell_view c;
    assert_true(sl_engine_cell(x->e, false, node, fl, resource, &c));
    return c;
}

/* Flavor f, queue q with 10 gpus, LocalQueue l. */
static inline void small(struct fx *x, const struct sl_placer *placer) {
    start_engine(x, placer);
    flavor(x, "f");
    cq(x, "q", "", "gpu", 10);
    lq(x, "l", "q");
    (void)cycle(x, SL_SEC);
}

/* Found on restart: it holds this much of the flavor in q, for 4 pods. Applied twice. */
static inline void hold(struct fx *x, sl_wl_id id, const char *fl, sl_amount usage,
                        sl_time admitted_at, enum sl_evict evicted) {
    const char *resource = "gpu";
    struct sl_podset_admission p = {4, &resource, &fl, &usage, 1};
    struct sl_fact f = {.kind = SL_FACT_ADMISSION, .wl = id, .at = 5 * SL_SEC};
    f.admission.cq = "q";
    f.admission.podsets = &p;
    f.admission.n = 1;
    f.admission.reserved_at = 2 * SL_SEC;
    f.admission.admitted_at = admitted_at;
    f.admission.evicted = evicted != SL_EVICT_NONE;
    f.admission.reason = evicted;
    apply_fact(x, f);
    apply_fact(x, f);
}

#endif
