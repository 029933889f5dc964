/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run amounted to: the bound beside the makespan, utilisation, and the waits per class and
 * per queue.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/sim/meter/meter_int.h"

#define MAX_DEPTH 1000 /* of cohorts; more is a cycle */

static uint32_t root_of(const struct sl_meter *m, uint32_t cohort) {
    for (uint32_t depth = 0; depth < MAX_DEPTH && m->cohorts.v[cohort].parent != SL_METER_NONE;
         depth++)
        cohort = m->cohorts.v[cohort].parent;
    return cohort;
}

const char *sl_meter_root(const struct sl_meter *m, uint32_t queue) {
    const struct sl_meter_node *n = &m->queues.v[queue].node;
    return n->parent == SL_METER_NONE ? n->name : m->cohorts.v[root_of(m, n->parent)].name;
}

sl_amount sl_meter_root_capacity(const struct sl_meter *m, uint32_t queue) {
    const struct sl_meter_node *n = &m->queues.v[queue].node;
    if (n->parent == SL_METER_NONE)
        return n->nominal[m->main];
    uint32_t root = root_of(m, n->parent);
    sl_amount sum = 0;
    for (uint32_t i = 0; i < m->queues.n; i++) {
        const struct sl_meter_node *q = &m->queues.v[i].node;
        if (q->parent != SL_METER_NONE && root_of(m, q->parent) == root)
            sum = sl_amount_add(sum, q->nominal[m->main]);
    }
    for (uint32_t i = 0; i < m->cohorts.n; i++) {
        if (root_of(m, i) == root)
            sum = sl_amount_add(sum, m->cohorts.v[i].nominal[m->main]);
    }
    return sum;
}

/* The longest time any tree needs for its finished work with all of its capacity, per resource. */
static sl_span work_bound(const struct sl_meter *m) {
    struct tree {
        sl_meter_wide work, capacity;
    };
    uint32_t n = m->cohorts.n + m->queues.n; /* a queue without a cohort is a tree of its own */
    struct tree *trees = sl_alloc0(n + 1, sizeof(*trees));
    sl_meter_wide bound = 0;
    bool short_of_all = false;
    for (uint32_t r = 0; r < m->n_resources; r++) {
        memset(trees, 0, (n + 1) * sizeof(*trees));
        for (uint32_t i = 0; i < n; i++) {
            const struct sl_meter_queue *q =
                i < m->cohorts.n ? NULL : &m->queues.v[i - m->cohorts.n];
            const struct sl_meter_node *node = q ? &q->node : &m->cohorts.v[i];
            uint32_t root = !q                              ? root_of(m, i)
                            : node->parent == SL_METER_NONE ? i
                                                            : root_of(m, node->parent);
            struct tree *t = &trees[m->reparented ? n : root];
            t->capacity += node->most[r];
            t->work += q ? q->work[r] : 0;
        }
        for (uint32_t i = 0; i <= n; i++) {
            if (trees[i].work == 0 || trees[i].capacity >= SL_AMOUNT_UNLIMITED)
                continue;
            if (trees[i].capacity == 0) {
                short_of_all = true;
                continue;
            }
            sl_meter_wide b = (trees[i].work + trees[i].capacity - 1) / trees[i].capacity;
            bound = b > bound ? b : bound;
        }
    }
    sl_freep(&trees);
    if (short_of_all || (m->most == 0 && m->arrived > 0 && m->finished == 0))
        return -1;
    return bound > INT64_MAX ? INT64_MAX : (sl_span)bound;
}

static int compare_spans(const void *a, const void *b) {
    sl_span x = *(const sl_span *)a, y = *(const sl_span *)b;
    return (x > y) - (x < y); /* equal values are the same value */
}

static struct sl_meter_waits summarise(sl_span *v, uint32_t n) {
    struct sl_meter_waits w = {0};
    if (n == 0)
        return w;
    qsort(v, n, sizeof(*v), compare_spans);
    sl_meter_wide sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += v[i];
    w.mean = (sl_span)(sum / n);
    w.p50 = v[(n - 1) / 2];
    w.p99 = v[((uint64_t)n * 99 + 99) / 100 - 1];
    w.max = v[n - 1];
    return w;
}

static void end_queues(struct sl_meter *m, sl_time now, struct sl_meter_result *ret) {
    sl_span d = now - m->first_arrival;
    ret->n_queues = m->queues.n;
    ret->queues = sl_alloc0(m->queues.n + 1, sizeof(*ret->queues));
    for (uint32_t i = 0; i < m->queues.n; i++) {
        struct sl_meter_queue *q = &m->queues.v[i];
        if (m->began)
            sl_meter_queue_touch(m, q, now);
        ret->queues[i] = (struct sl_meter_queue_result){
            .name = q->node.name,
            .cohort = q->node.parent == SL_METER_NONE ? "" : m->cohorts.v[q->node.parent].name,
            .arrived = q->arrived,
            .admitted = q->admitted,
            .finished = q->finished,
            .evictions = q->evictions,
            .mean_wait = q->waits ? (sl_span)(q->wait_sum / (sl_meter_wide)q->waits) : 0,
            .max_wait = q->wait_max,
            .nominal = q->node.nominal[m->main],
            .used = m->began && d > 0 ? (double)q->used_ns / (double)d : 0,
            .borrowed = m->began && d > 0 ? (double)q->over_ns / (double)d : 0,
        };
    }
}

void sl_meter_end(struct sl_meter *m, sl_time now, struct sl_meter_result *ret) {
    sl_meter_advance(m, now);
    *ret = (struct sl_meter_result){
        .resource = m->n_resources ? m->resources[m->main] : "",
        .makespan = m->last_finish - m->first_arrival,
        .capacity = m->most,
        .arrived = m->arrived,
        .admitted = m->admitted,
        .finished = m->finished,
        .evictions = m->evictions,
        .preemptions = m->preemptions,
        .deactivated = m->deactivated,
        .refusals = m->refusals,
    };
    for (uint32_t i = 0; i < m->live.n; i++) {
        const struct sl_meter_live *w = &m->live.v[i];
        if (w->id == 0)
            continue;
        ret->never_admitted += !w->admitted;
        if (w->start != SL_TIME_NEVER) {
            ret->running++;
            sl_meter_sample(m, w, w->start);
        }
    }
    /* Until the last finish, or the whole time if work is left. */
    bool all = ret->finished == ret->arrived;
    sl_meter_wide used = all ? m->finish_used_ns : m->used_ns;
    sl_meter_wide capacity = all ? m->finish_capacity_ns : m->capacity_ns;
    sl_meter_wide work = 0;
    for (uint32_t i = 0; i < m->queues.n; i++)
        work += m->queues.v[i].work[m->main];
    if (capacity > 0) {
        ret->utilisation = (double)used / (double)capacity;
        ret->redone = all && used > work ? (double)(used - work) / (double)capacity : 0;
    }
    ret->work_bound = work_bound(m);
    end_queues(m, all ? m->last_finish : now, ret);
    ret->n_classes = m->classes.n;
    ret->classes = sl_alloc0(m->classes.n + 1, sizeof(*ret->classes));
    for (uint32_t i = 0; i < m->classes.n; i++) {
        struct sl_meter_class *k = &m->classes.v[i];
        ret->classes[i] = (struct sl_meter_class_result){
            .name = k->name,
            .arrived = k->arrived,
            .admitted = k->admitted,
            .finished = k->finished,
            .evictions = k->evictions,
            .last = summarise(k->last.v, k->last.n),
            .first = summarise(k->first.v, k->first.n),
        };
    }
    if (m->has_timeline && m->began)
        sl_timeline_end(&m->timeline, all ? m->last_finish : now);
}

void sl_meter_result_done(struct sl_meter_result *r) {
    sl_freep(&r->classes);
    sl_freep(&r->queues);
}

const struct sl_timeline *sl_meter_timeline(const struct sl_meter *m) {
    return &m->timeline;
}
