/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's codec: random facts of every kind go out and come back, and nothing is lost. To see
 * that, every field of a fact is written by a second, plain writer here, before and after.
 */
#include "cmd/sim/facts/facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/prng.h"

#define ROUNDS 400

/* ---- random facts ---- */

struct gen {
    struct sl_prng p;
    struct sl_arena *a;
};

static uint32_t below(struct gen *g, uint32_t n) {
    return (uint32_t)sl_prng_below(&g->p, n);
}

static bool coin(struct gen *g) {
    return below(g, 2) == 0;
}

static const char *text(struct gen *g) {
    static const char *const words[] = {"",
                                        "a",
                                        "main",
                                        "team-a/b",
                                        "q\"uote",
                                        "line\nbreak",
                                        "\\",
                                        "\x01",
                                        "gr\xc3\xbc\xc3\x9f",
                                        "{}[],:",
                                        "example.com/gpu",
                                        "true"};
    return coin(g) ? words[below(g, SL_LEN(words))]
                   : sl_arena_printf(g->a, "name-%u", below(g, 1000));
}

static int64_t random_number(struct gen *g) {
    switch (below(g, 6)) {
    case 0:
        return 0;
    case 1:
        return INT64_MAX - below(g, 2);
    case 2:
        return INT64_MIN + below(g, 2);
    case 3:
        return (int64_t)sl_prng_next(&g->p);
    default:
        return sl_prng_range(&g->p, -1000, 1000000);
    }
}

static int32_t number32(struct gen *g) {
    return (int32_t)sl_prng_next(&g->p);
}

static sl_quantity quantity(struct gen *g) {
    sl_quantity q = (sl_quantity)random_number(g) * (coin(g) ? 1 : SL_NANO);
    return q > SL_QUANTITY_MAX ? SL_QUANTITY_MAX : q < -SL_QUANTITY_MAX ? -SL_QUANTITY_MAX : q;
}

#define MANY(g, T, n, v)                                                                           \
    T *v = sl_arena_alloc0((g)->a, (n) + 1, sizeof *v);                                            \
    for (uint32_t i_##v = 0; i_##v < (n); i_##v++)

static const char *const *texts(struct gen *g, uint32_t n) {
    MANY(g, const char *, n, v) v[i_v] = text(g);
    return v;
}

static struct sl_labels some_labels(struct gen *g) {
    uint32_t n = below(g, 4);
    MANY(g, struct sl_label, n, v) v[i_v] = (struct sl_label){text(g), text(g)};
    return (struct sl_labels){v, n};
}

static struct sl_selector selector(struct gen *g) {
    uint32_t n = below(g, 3);
    MANY(g, struct sl_label_rule, n, v) {
        uint32_t k = below(g, 3);
        v[i_v] = (struct sl_label_rule){text(g), (enum sl_label_op)below(g, 6), texts(g, k), k};
    }
    return (struct sl_selector){v, n, coin(g)};
}

static const struct sl_toleration *some_tolerations(struct gen *g, uint32_t *n) {
    *n = below(g, 3);
    MANY(g, struct sl_toleration, *n, v)
    v[i_v] = (struct sl_toleration){text(g), text(g), coin(g), (enum sl_taint_effect)below(g, 4)};
    return v;
}

static sl_amount amount(struct gen *g) {
    return coin(g) ? SL_AMOUNT_NONE : coin(g) ? SL_AMOUNT_UNLIMITED : random_number(g);
}

static struct sl_groups some_groups(struct gen *g) {
    uint32_t n = below(g, 3);
    MANY(g, struct sl_group_spec, n, v) {
        uint32_t r = below(g, 3), f = below(g, 3);
        MANY(g, struct sl_flavor_quotas, f, fl) {
            MANY(g, struct sl_quota, r, q)
            q[i_q] = (struct sl_quota){amount(g), amount(g), amount(g)};
            fl[i_fl] = (struct sl_flavor_quotas){text(g), q};
        }
        v[i_v] = (struct sl_group_spec){texts(g, r), r, fl, f};
    }
    return (struct sl_groups){v, n};
}

static void config(struct gen *g, struct sl_config *c) {
    *c = (struct sl_config){
        .gates = (uint32_t)sl_prng_next(&g->p),
        .fair_sharing = coin(g),
        .n_fair = below(g, 3),
        .afs = coin(g),
        .afs_half_life = random_number(g),
        .afs_sampling = random_number(g),
        .n_afs_weights = below(g, 3),
        .pods_ready = coin(g),
        .block_admission = coin(g),
        .ready_timeout = random_number(g),
        .recovery_timeout = random_number(g),
        .order_by_creation = coin(g),
        .backoff_base_s = random_number(g),
        .backoff_max_s = random_number(g),
        .backoff_limit = number32(g),
        .n_exclude = below(g, 3),
        .n_transforms = below(g, 3),
        .ignore_undeclared = coin(g),
    };
    for (uint32_t i = 0; i < c->n_fair; i++)
        c->fair[i] = (enum sl_fair_strategy)below(g, 2);
    MANY(g, struct sl_resource_weight, c->n_afs_weights, w)
    w[i_w] = (struct sl_resource_weight){text(g), random_number(g)};
    c->afs_weights = w;
    c->exclude_prefixes = texts(g, c->n_exclude);
    MANY(g, struct sl_transform, c->n_transforms, t) {
        uint32_t n = below(g, 3);
        MANY(g, struct sl_transform_output, n, o)
        o[i_o] = (struct sl_transform_output){text(g), quantity(g)};
        t[i_t] = (struct sl_transform){text(g), text(g), coin(g), o, n};
    }
    c->transforms = t;
}

static void cluster_queue(struct gen *g, struct sl_cq_spec *q) {
    *q = (struct sl_cq_spec){
        .name = text(g),
        .cohort = text(g),
        .groups = some_groups(g),
        .strategy = (enum sl_strategy)below(g, 2),
        .within = (enum sl_within)below(g, 3),
        .reclaim = (enum sl_reclaim)below(g, 3),
        .borrow_within = (enum sl_borrow_within)below(g, 2),
        .has_borrow_threshold = coin(g),
        .when_can_borrow = (enum sl_when)below(g, 2),
        .when_can_preempt = (enum sl_when)below(g, 2),
        .preference = (enum sl_preference)below(g, 2),
        .stop = (enum sl_stop)below(g, 3),
        .terminating = coin(g),
        .usage_based = coin(g),
        .exact_nodes = coin(g),
        .namespaces = selector(g),
        .n_checks = below(g, 3),
        .weight_nano = random_number(g),
    };
    if (q->has_borrow_threshold)
        q->borrow_threshold = coin(g) ? 0 : number32(g);
    MANY(g, struct sl_check_ref, q->n_checks, c) {
        uint32_t n = below(g, 3);
        c[i_c] = (struct sl_check_ref){text(g), texts(g, n), n};
    }
    q->checks = c;
}

static void admission(struct gen *g, struct sl_fact *f) {
    uint32_t n = below(g, 3);
    MANY(g, struct sl_podset_admission, n, v) {
        uint32_t k = below(g, 3);
        MANY(g, sl_amount, k, u) u[i_u] = random_number(g);
        v[i_v] = (struct sl_podset_admission){number32(g), texts(g, k), texts(g, k), u, k};
    }
    f->admission.cq = text(g);
    f->admission.podsets = v;
    f->admission.n = n;
    f->admission.reserved_at = random_number(g);
    f->admission.admitted_at = random_number(g);
    f->admission.evicted = coin(g);
    f->admission.reason = (enum sl_evict)below(g, SL_EVICT_COUNT);
}

static void podsets(struct gen *g, struct sl_sim_fact_note *note) {
    note->n_podsets = 1 + below(g, 2);
    MANY(g, struct sl_podset_spec, note->n_podsets, p) {
        uint32_t n = below(g, 3), t = below(g, 3);
        MANY(g, struct sl_request, n, q) q[i_q] = (struct sl_request){text(g), quantity(g)};
        MANY(g, struct sl_selector, t, terms) terms[i_terms] = selector(g);
        p[i_p] = (struct sl_podset_spec){
            .name = text(g),
            .count = number32(g),
            .min_count = number32(g),
            .requests = q,
            .n_requests = n,
            .node_selector = some_labels(g),
            .affinity = {terms, t},
            .group = text(g),
        };
        p[i_p].tolerations = some_tolerations(g, &p[i_p].n_tolerations);
    }
    note->podsets = p;
}

static void random_fact(struct gen *g, enum sl_fact_kind kind, struct sl_fact *f,
                        struct sl_sim_fact_note *note) {
    *f = (struct sl_fact){.kind = kind, .at = random_number(g)};
    *note = (struct sl_sim_fact_note){.ns = text(g), .name = text(g)};
    switch (kind) {
    case SL_FACT_CONFIG:
        config(g, &f->config);
        break;
    case SL_FACT_FLAVOR:
        f->flavor = (struct sl_flavor_spec){
            .name = text(g), .labels = some_labels(g), .n_taints = below(g, 3)};
        MANY(g, struct sl_taint, f->flavor.n_taints, t)
        t[i_t] = (struct sl_taint){text(g), text(g), (enum sl_taint_effect)below(g, 4)};
        f->flavor.taints = t;
        f->flavor.tolerations = some_tolerations(g, &f->flavor.n_tolerations);
        break;
    case SL_FACT_COHORT:
        f->cohort = (struct sl_cohort_spec){text(g), text(g), some_groups(g), random_number(g)};
        break;
    case SL_FACT_CLUSTER_QUEUE:
        cluster_queue(g, &f->cq);
        break;
    case SL_FACT_LOCAL_QUEUE:
        f->lq = (struct sl_lq_spec){text(g), text(g), text(g), (enum sl_stop)below(g, 3),
                                    random_number(g)};
        break;
    case SL_FACT_NAMESPACE:
        f->ns = (struct sl_ns_spec){text(g), some_labels(g)};
        break;
    case SL_FACT_CHECK:
        f->check = (struct sl_check_spec){text(g), text(g), coin(g)};
        break;
    case SL_FACT_WORKLOAD:
        f->workload = (struct sl_workload_spec){
            .ns = note->ns,
            .name = note->name,
            .uid = text(g),
            .job_uid = text(g),
            .queue = text(g),
            .priority = number32(g),
            .boost = number32(g),
            .created = random_number(g),
            .inactive = coin(g),
            .gated_by = coin(g) ? NULL : text(g),
            .preemption_gated = coin(g),
            .replaces = text(g),
            .on_hold = coin(g),
            .max_exec_s = random_number(g),
            .invalid = coin(g) ? NULL : text(g),
        };
        note->tag = coin(g) ? NULL : text(g);
        podsets(g, note);
        break;
    case SL_FACT_ADMISSION:
        admission(g, f);
        break;
    case SL_FACT_PODS_READY:
        f->ready = coin(g);
        break;
    case SL_FACT_CHECK_STATE:
        f->check_state.name = text(g);
        f->check_state.state = (enum sl_check_state)below(g, 4);
        f->check_state.message = text(g);
        f->check_state.requeue_after_s = random_number(g);
        break;
    case SL_FACT_RECLAIMABLE:
        f->reclaimable.n = below(g, 4);
        MANY(g, int32_t, f->reclaimable.n, c) c[i_c] = number32(g);
        f->reclaimable.counts = c;
        break;
    case SL_FACT_FLAVOR_GONE:
    case SL_FACT_COHORT_GONE:
    case SL_FACT_CLUSTER_QUEUE_GONE:
    case SL_FACT_LOCAL_QUEUE_GONE:
    case SL_FACT_NAMESPACE_GONE:
    case SL_FACT_CHECK_GONE:
        f->gone.ns = note->ns;
        f->gone.name = note->name;
        break;
    case SL_FACT_RELEASED:
        f->already_written = coin(g);
        break;
    case SL_FACT_PAST:
        f->past.requeues = (int32_t)below(g, 9);
        f->past.requeue_at = random_number(g);
        f->past.reason = (enum sl_evict)below(g, SL_EVICT_COUNT);
        f->past.cause = (enum sl_cause)below(g, SL_CAUSE_COUNT);
        f->past.evicted_at = random_number(g);
        f->past.text = text(g);
        f->past.held_back = coin(g);
        f->past.past_exec_s = random_number(g);
        break;
    case SL_FACT_WORKLOAD_GONE:
    case SL_FACT_FINISHED:
    case SL_FACT_ADMIT_FAILED:
    case SL_FACT_COUNT:
        break;
    }
}

/* ---- every field in words ---- */

static void s(struct sl_buf *b, const char *v) {
    sl_buf_json(b, v ? v : "");
    sl_buf_putc(b, ' ');
}

static void n(struct sl_buf *b, int64_t v) {
    sl_buf_printf(b, "%lld ", (long long)v);
}

static void q128(struct sl_buf *b, sl_quantity v) {
    n(b, (int64_t)(v >> 64));
    n(b, (int64_t)(uint64_t)v);
}

static void ss(struct sl_buf *b, const char *const *v, uint32_t count) {
    n(b, count);
    for (uint32_t i = 0; i < count; i++)
        s(b, v[i]);
}

static void dump_labels(struct sl_buf *b, const struct sl_labels *l) {
    n(b, l->n);
    for (uint32_t i = 0; i < l->n; i++)
        s(b, l->v[i].key), s(b, l->v[i].value);
}

static void dump_selector(struct sl_buf *b, const struct sl_selector *x) {
    n(b, x->nothing), n(b, x->n);
    for (uint32_t i = 0; i < x->n; i++)
        s(b, x->v[i].key), n(b, x->v[i].op), ss(b, x->v[i].values, x->v[i].n_values);
}

static void dump_tolerations(struct sl_buf *b, const struct sl_toleration *v, uint32_t count) {
    n(b, count);
    for (uint32_t i = 0; i < count; i++)
        s(b, v[i].key), s(b, v[i].value), n(b, v[i].exists), n(b, v[i].effect);
}

static void dump_groups(struct sl_buf *b, const struct sl_groups *x) {
    n(b, x->n);
    for (uint32_t i = 0; i < x->n; i++) {
        const struct sl_group_spec *v = &x->v[i];
        ss(b, v->resources, v->n_resources), n(b, v->n_flavors);
        for (uint32_t f = 0; f < v->n_flavors; f++) {
            s(b, v->flavors[f].flavor);
            for (uint32_t r = 0; r < v->n_resources; r++) {
                const struct sl_quota *q = &v->flavors[f].quotas[r];
                n(b, q->nominal), n(b, q->borrow_limit), n(b, q->lend_limit);
            }
        }
    }
}

static void dump_config(struct sl_buf *b, const struct sl_config *c) {
    n(b, c->gates), n(b, c->fair_sharing), n(b, c->n_fair);
    for (uint32_t i = 0; i < c->n_fair; i++)
        n(b, c->fair[i]);
    n(b, c->afs), n(b, c->afs_half_life), n(b, c->afs_sampling), n(b, c->n_afs_weights);
    for (uint32_t i = 0; i < c->n_afs_weights; i++)
        s(b, c->afs_weights[i].resource), n(b, c->afs_weights[i].weight_nano);
    n(b, c->pods_ready), n(b, c->block_admission), n(b, c->ready_timeout);
    n(b, c->recovery_timeout), n(b, c->order_by_creation), n(b, c->backoff_base_s);
    n(b, c->backoff_max_s), n(b, c->backoff_limit);
    ss(b, c->exclude_prefixes, c->n_exclude), n(b, c->n_transforms);
    for (uint32_t i = 0; i < c->n_transforms; i++) {
        const struct sl_transform *t = &c->transforms[i];
        s(b, t->input), s(b, t->multiply_by), n(b, t->replace), n(b, t->n_outputs);
        for (uint32_t k = 0; k < t->n_outputs; k++)
            s(b, t->outputs[k].resource), q128(b, t->outputs[k].factor);
    }
    n(b, c->ignore_undeclared);
}

static void dump_queue(struct sl_buf *b, const struct sl_cq_spec *q) {
    s(b, q->name), s(b, q->cohort), dump_groups(b, &q->groups);
    n(b, q->strategy), n(b, q->within), n(b, q->reclaim), n(b, q->borrow_within);
    n(b, q->has_borrow_threshold), n(b, q->borrow_threshold), n(b, q->when_can_borrow);
    n(b, q->when_can_preempt), n(b, q->preference), n(b, q->stop), n(b, q->terminating);
    n(b, q->usage_based), n(b, q->exact_nodes), dump_selector(b, &q->namespaces), n(b, q->n_checks);
    for (uint32_t i = 0; i < q->n_checks; i++)
        s(b, q->checks[i].name), ss(b, q->checks[i].flavors, q->checks[i].n_flavors);
    n(b, q->weight_nano);
}

static void dump_podsets(struct sl_buf *b, const struct sl_sim_fact_note *note) {
    n(b, note->n_podsets);
    for (uint32_t i = 0; i < note->n_podsets; i++) {
        const struct sl_podset_spec *p = &note->podsets[i];
        s(b, p->name), n(b, p->count), n(b, p->min_count), n(b, p->n_requests);
        for (uint32_t k = 0; k < p->n_requests; k++)
            s(b, p->requests[k].resource), q128(b, p->requests[k].q);
        dump_labels(b, &p->node_selector), n(b, p->affinity.n);
        for (uint32_t k = 0; k < p->affinity.n; k++)
            dump_selector(b, &p->affinity.terms[k]);
        dump_tolerations(b, p->tolerations, p->n_tolerations), s(b, p->group);
    }
}

static void dump(struct sl_buf *b, const struct sl_fact *f, const struct sl_sim_fact_note *note) {
    n(b, f->kind), n(b, f->at);
    if (f->kind > SL_FACT_WORKLOAD)
        s(b, note->ns), s(b, note->name);
    switch (f->kind) {
    case SL_FACT_CONFIG:
        dump_config(b, &f->config);
        break;
    case SL_FACT_FLAVOR:
        s(b, f->flavor.name), dump_labels(b, &f->flavor.labels), n(b, f->flavor.n_taints);
        for (uint32_t i = 0; i < f->flavor.n_taints; i++)
            s(b, f->flavor.taints[i].key), s(b, f->flavor.taints[i].value),
                n(b, f->flavor.taints[i].effect);
        dump_tolerations(b, f->flavor.tolerations, f->flavor.n_tolerations);
        break;
    case SL_FACT_COHORT:
        s(b, f->cohort.name), s(b, f->cohort.parent), dump_groups(b, &f->cohort.groups);
        n(b, f->cohort.weight_nano);
        break;
    case SL_FACT_CLUSTER_QUEUE:
        dump_queue(b, &f->cq);
        break;
    case SL_FACT_LOCAL_QUEUE:
        s(b, f->lq.ns), s(b, f->lq.name), s(b, f->lq.cq), n(b, f->lq.stop);
        n(b, f->lq.weight_nano);
        break;
    case SL_FACT_NAMESPACE:
        s(b, f->ns.name), dump_labels(b, &f->ns.labels);
        break;
    case SL_FACT_CHECK:
        s(b, f->check.name), s(b, f->check.controller), n(b, f->check.active);
        break;
    case SL_FACT_WORKLOAD: {
        const struct sl_workload_spec *w = &f->workload;
        s(b, w->ns), s(b, w->name), s(b, w->uid), s(b, w->queue), n(b, w->priority);
        n(b, w->boost), n(b, w->created), n(b, w->inactive), s(b, w->gated_by);
        n(b, w->on_hold), n(b, w->max_exec_s), s(b, w->invalid), s(b, note->tag);
        s(b, w->job_uid), n(b, w->preemption_gated), s(b, w->replaces);
        dump_podsets(b, note);
        break;
    }
    case SL_FACT_ADMISSION:
        s(b, f->admission.cq), n(b, f->admission.n);
        for (uint32_t i = 0; i < f->admission.n; i++) {
            const struct sl_podset_admission *p = &f->admission.podsets[i];
            n(b, p->count), ss(b, p->resources, p->n), ss(b, p->flavors, p->n);
            for (uint32_t k = 0; k < p->n; k++)
                n(b, p->usage[k]);
        }
        n(b, f->admission.reserved_at), n(b, f->admission.admitted_at);
        n(b, f->admission.evicted), n(b, f->admission.reason);
        break;
    case SL_FACT_PODS_READY:
        n(b, f->ready);
        break;
    case SL_FACT_CHECK_STATE:
        s(b, f->check_state.name), n(b, f->check_state.state), s(b, f->check_state.message);
        n(b, f->check_state.requeue_after_s);
        break;
    case SL_FACT_RECLAIMABLE:
        n(b, f->reclaimable.n);
        for (uint32_t i = 0; i < f->reclaimable.n; i++)
            n(b, f->reclaimable.counts[i]);
        break;
    case SL_FACT_RELEASED:
        n(b, f->already_written);
        break;
    case SL_FACT_PAST:
        n(b, f->past.requeues), n(b, f->past.requeue_at), n(b, f->past.reason);
        n(b, f->past.cause), n(b, f->past.evicted_at), s(b, f->past.text);
        n(b, f->past.held_back), n(b, f->past.past_exec_s);
        break;
    default: /* the gone ones and those that only name a workload */
        if (f->kind >= SL_FACT_FLAVOR_GONE && f->kind <= SL_FACT_CHECK_GONE)
            s(b, f->gone.ns), s(b, f->gone.name);
        break;
    }
}

/* ---- the tests ---- */

struct reader {
    struct sl_sim_fact_reader shapes;
    struct sl_arena arena;
    struct sl_err err;
    uint32_t line;
};

/* Reads lines until one is a fact. */
static int next_fact(struct reader *r, const char **text_at, struct sl_sim_fact_line *ret) {
    do {
        const char *end = strchr(*text_at, '\n');
        struct sl_doc *d = NULL;
        assert_non_null(end);
        if (sl_doc_json("j", ++r->line, *text_at, (size_t)(end - *text_at), &d, &r->err) < 0)
            fail_msg("%s", r->err.text);
        *text_at = end + 1;
        struct sl_read rd = {.file = "j", .arena = &r->arena, .err = &r->err};
        sl_sim_fact_decode(&r->shapes, &rd, &d->roots[0], ret);
        sl_doc_free(d); /* nothing may point into it any more */
        if (rd.code < 0)
            return rd.code;
    } while (ret->kind != SL_LINE_FACT);
    return 0;
}

static void nothing_is_lost(void **state) {
    struct sl_arena made;
    struct sl_sim_fact_writer w;
    struct sl_buf out, before, after;
    struct reader r = {.line = 0};
    struct gen g = {.a = &made};

    (void)state;
    sl_prng_init(&g.p, 7);
    sl_arena_init(&made, 256 << 20);
    sl_arena_init(&r.arena, 256 << 20);
    sl_sim_fact_reader_init(&r.shapes);
    sl_sim_fact_writer_init(&w);
    sl_buf_init(&out, 16 << 20);
    sl_buf_init(&before, 1 << 20);
    sl_buf_init(&after, 1 << 20);
    for (int i = 0; i < ROUNDS * SL_FACT_COUNT; i++) {
        struct sl_fact f;
        struct sl_sim_fact_note note;
        struct sl_sim_fact_line line;
        random_fact(&g, (enum sl_fact_kind)(i % SL_FACT_COUNT), &f, &note);
        sl_buf_clear(&out);
        sl_sim_fact_encode(&w, &f, &note, &out);
        assert_false(sl_buf_full(&out));
        const char *at = out.s;
        if (next_fact(&r, &at, &line) < 0)
            fail_msg("%s\n%s", r.err.text, out.s);
        assert_string_equal(at, "");
        sl_buf_clear(&before);
        sl_buf_clear(&after);
        dump(&before, &f, &note);
        dump(&after, &line.fact, &line.note);
        if (strcmp(sl_buf_str(&before), sl_buf_str(&after)) != 0)
            fail_msg("%s\n%s\n%s", out.s, sl_buf_str(&before), sl_buf_str(&after));
        sl_arena_clear(&made);
        sl_arena_clear(&r.arena);
    }
    sl_sim_fact_writer_done(&w);
    sl_sim_fact_reader_done(&r.shapes);
    sl_arena_done(&made);
    sl_arena_done(&r.arena);
    sl_buf_done(&out);
    sl_buf_done(&before);
    sl_buf_done(&after);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
