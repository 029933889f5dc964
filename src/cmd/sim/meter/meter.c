/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurement of a run. The tree of queues is modelled only as far as capacity needs it: nominal
 * quota per resource summed over flavors, and the parents.
 */
#include "cmd/sim/meter/meter_int.h"

#include <string.h>

/* ---- life ---- */

struct sl_meter *sl_meter_new(bool timeline) {
    struct sl_meter *m = sl_alloc0(1, sizeof(*m));
    sl_syms_init(&m->names);
    m->free_hold = SL_METER_NONE;
    m->has_timeline = timeline;
    return m;
}

void sl_meter_free(struct sl_meter *m) {
    if (!m)
        return;
    for (uint32_t i = 0; i < m->classes.n; i++) {
        sl_vec_free(&m->classes.v[i].last);
        sl_vec_free(&m->classes.v[i].first);
    }
    sl_vec_free(&m->classes);
    sl_vec_free(&m->queues);
    sl_vec_free(&m->cohorts);
    sl_vec_free(&m->queue_of);
    sl_vec_free(&m->cohort_of);
    sl_vec_free(&m->lq_cq);
    sl_vec_free(&m->live);
    sl_vec_free(&m->holds);
    sl_timeline_done(&m->timeline);
    sl_syms_done(&m->names);
    sl_freep(&m);
}

void sl_meter_freep(struct sl_meter **m) {
    sl_meter_free(*m);
    *m = NULL;
}

/* ---- names ---- */

static uint32_t *index_of(struct sl_meter *m, bool cohort, sl_sym name) {
    while (m->queue_of.n <= name) {
        *sl_vec_push(&m->queue_of) = SL_METER_NONE;
        *sl_vec_push(&m->cohort_of) = SL_METER_NONE;
        *sl_vec_push(&m->lq_cq) = SL_METER_NONE;
    }
    return cohort ? &m->cohort_of.v[name] : &m->queue_of.v[name];
}

static uint32_t queue_named(struct sl_meter *m, const char *name) {
    sl_sym y = sl_sym_put(&m->names, name);
    uint32_t *at = index_of(m, false, y);
    if (*at == SL_METER_NONE) {
        *at = m->queues.n;
        *sl_vec_push(&m->queues) = (struct sl_meter_queue){
            .node = {.name = sl_sym_str(&m->names, y), .parent = SL_METER_NONE},
        };
    }
    return *at;
}

static uint32_t cohort_named(struct sl_meter *m, const char *name) {
    if (!name || !*name)
        return SL_METER_NONE;
    sl_sym y = sl_sym_put(&m->names, name);
    uint32_t *at = index_of(m, true, y);
    if (*at == SL_METER_NONE) {
        *at = m->cohorts.n;
        *sl_vec_push(&m->cohorts) =
            (struct sl_meter_node){.name = sl_sym_str(&m->names, y), .parent = SL_METER_NONE};
    }
    return *at;
}

static void local_queue_key(char out[2 * SL_MAX_NAME + 4], const char *ns, const char *name) {
    size_t a = strnlen(ns, SL_MAX_NAME), b = strnlen(name, SL_MAX_NAME);
    memcpy(out, ns, a);
    out[a] = '/';
    memcpy(out + a + 1, name, b);
    out[a + 1 + b] = '\0';
}

uint32_t sl_meter_local_queue(const struct sl_meter *m, const char *ns, const char *name) {
    char key[2 * SL_MAX_NAME + 4];
    local_queue_key(key, ns, name);
    sl_sym y = sl_sym_find(&m->names, key);
    return y == SL_MAP_NONE || y >= m->lq_cq.n ? SL_METER_NONE : m->lq_cq.v[y];
}

uint32_t sl_meter_class(struct sl_meter *m, const char *name) {
    for (uint32_t i = 0; i < m->classes.n; i++) {
        if (strcmp(m->classes.v[i].name, name) == 0)
            return i;
    }
    sl_sym y = sl_sym_put(&m->names, name);
    *sl_vec_push(&m->classes) = (struct sl_meter_class){.name = sl_sym_str(&m->names, y)};
    return m->classes.n - 1;
}

static uint32_t resource_named(struct sl_meter *m, const char *name) {
    for (uint32_t i = 0; i < m->n_resources; i++) {
        if (strcmp(m->resources[i], name) == 0)
            return i;
    }
    if (m->n_resources == SL_METER_MAX_RESOURCES)
        return SL_METER_NONE;
    sl_sym y = sl_sym_put(&m->names, name);
    m->resources[m->n_resources] = sl_sym_str(&m->names, y);
    if (!m->main_fixed && strcmp(name, "cpu") == 0)
        m->main = m->n_resources;
    return m->n_resources++;
}

/* ---- time ---- */

/* Many queues change at one instant; they are summed up once, when time advances. */
static void sum_capacity(struct sl_meter *m) {
    if (!m->capacity_stale)
        return;
    m->capacity_stale = false;
    m->capacity = 0;
    for (uint32_t i = 0; i < m->queues.n; i++)
        m->capacity = sl_amount_add(m->capacity, m->queues.v[i].node.nominal[m->main]);
    for (uint32_t i = 0; i < m->cohorts.n; i++)
        m->capacity = sl_amount_add(m->capacity, m->cohorts.v[i].nominal[m->main]);
    if (m->capacity > m->most)
        m->most = m->capacity;
}

void sl_meter_advance(struct sl_meter *m, sl_time now) {
    if (!m->began || now <= m->since)
        return;
    sum_capacity(m);
    sl_span d = now - m->since;
    m->used_ns += (sl_meter_wide)m->used * d;
    if (m->capacity != SL_AMOUNT_UNLIMITED)
        m->capacity_ns += (sl_meter_wide)m->capacity * d;
    m->since = now;
}

static sl_amount borrowed(const struct sl_meter *m, const struct sl_meter_queue *q) {
    sl_amount over = sl_amount_sub(q->used[m->main], q->node.nominal[m->main]);
    return over > 0 ? over : 0;
}

/* Call before a queue's numbers change. */
void sl_meter_queue_touch(struct sl_meter *m, struct sl_meter_queue *q, sl_time now) {
    if (now > q->since) {
        sl_span d = now - q->since;
        q->used_ns += (sl_meter_wide)q->used[m->main] * d;
        q->over_ns += (sl_meter_wide)borrowed(m, q) * d;
        q->since = now;
    }
}

/* Call after. */
static void queue_draw(struct sl_meter *m, uint32_t i, sl_time now) {
    if (!m->has_timeline || !m->began)
        return;
    const struct sl_meter_queue *q = &m->queues.v[i];
    sl_amount over = borrowed(m, q);
    sl_timeline_set(&m->timeline, i, now, (double)(q->used[m->main] - over), (double)over,
                    q->pending);
}

/* ---- configuration ---- */

static void sum_quotas(struct sl_meter *m, struct sl_meter_node *n,
                       const struct sl_groups *groups) {
    memset(n->nominal, 0, sizeof(n->nominal));
    for (uint32_t g = 0; groups && g < groups->n; g++) {
        const struct sl_group_spec *s = &groups->v[g];
        for (uint32_t r = 0; r < s->n_resources; r++) {
            uint32_t k = resource_named(m, s->resources[r]);
            if (k == SL_METER_NONE)
                continue;
            for (uint32_t f = 0; f < s->n_flavors; f++)
                n->nominal[k] = sl_amount_add(n->nominal[k], s->flavors[f].quotas[r].nominal);
        }
    }
    for (uint32_t k = 0; k < m->n_resources; k++) {
        if (n->nominal[k] > n->most[k])
            n->most[k] = n->nominal[k];
    }
}

static void set_parent(struct sl_meter *m, struct sl_meter_node *n, uint32_t parent) {
    if (n->observed && n->parent != parent)
        m->reparented = true;
    n->parent = parent;
    n->observed = true;
}

void sl_meter_config(struct sl_meter *m, const struct sl_fact *f) {
    uint32_t i, parent;
    char key[2 * SL_MAX_NAME + 4];
    sl_meter_advance(m, f->at);
    switch (f->kind) {
    case SL_FACT_CLUSTER_QUEUE:
        parent = cohort_named(m, f->cq.cohort);
        i = queue_named(m, f->cq.name);
        sl_meter_queue_touch(m, &m->queues.v[i], f->at);
        set_parent(m, &m->queues.v[i].node, parent);
        sum_quotas(m, &m->queues.v[i].node, &f->cq.groups);
        queue_draw(m, i, f->at);
        break;
    case SL_FACT_CLUSTER_QUEUE_GONE:
        i = queue_named(m, f->gone.name);
        sl_meter_queue_touch(m, &m->queues.v[i], f->at);
        sum_quotas(m, &m->queues.v[i].node, NULL);
        queue_draw(m, i, f->at);
        break;
    case SL_FACT_COHORT:
        parent = cohort_named(m, f->cohort.parent);
        i = cohort_named(m, f->cohort.name);
        if (i == SL_METER_NONE)
            return;
        set_parent(m, &m->cohorts.v[i], parent);
        sum_quotas(m, &m->cohorts.v[i], &f->cohort.groups);
        break;
    case SL_FACT_COHORT_GONE:
        i = cohort_named(m, f->gone.name);
        if (i == SL_METER_NONE)
            return;
        set_parent(m, &m->cohorts.v[i], SL_METER_NONE);
        sum_quotas(m, &m->cohorts.v[i], NULL);
        break;
    case SL_FACT_LOCAL_QUEUE:
        i = queue_named(m, f->lq.cq);
        local_queue_key(key, f->lq.ns, f->lq.name);
        {
            sl_sym y = sl_sym_put(&m->names, key);
            (void)index_of(m, false, y); /* extends lq_cq */
            m->lq_cq.v[y] = i;
        }
        return;
    default:
        return;
    }
    m->capacity_stale = true;
}

/* ---- workloads ---- */

static uint32_t slot_of(sl_wl_id id) {
    return (uint32_t)id.v - 1;
}

static struct sl_meter_live *live_of(struct sl_meter *m, sl_wl_id id) {
    uint32_t i = slot_of(id);
    return id.v != 0 && i < m->live.n && m->live.v[i].id == id.v ? &m->live.v[i] : NULL;
}

void sl_meter_arrive(struct sl_meter *m, sl_time now, sl_wl_id id, sl_time created, uint32_t klass,
                     uint32_t queue) {
    if (live_of(m, id))
        return;
    if (!m->began) {
        m->began = true;
        m->main_fixed = m->n_resources > 0;
        m->first_arrival = m->last_finish = m->since = now;
        for (uint32_t i = 0; i < m->queues.n; i++)
            m->queues.v[i].since = now;
        sum_capacity(m);
        sl_timeline_init(&m->timeline, now);
    }
    uint32_t i = slot_of(id);
    if (i >= m->live.n) {
        uint32_t n = m->live.n;
        sl_vec_reserve(&m->live, i + 1);
        memset(m->live.v + n, 0, (size_t)(i + 1 - n) * sizeof(*m->live.v));
        m->live.n = i + 1;
    }
    m->live.v[i] = (struct sl_meter_live){
        .id = id.v,
        .created = created,
        .first = SL_TIME_NEVER,
        .start = SL_TIME_NEVER,
        .klass = klass,
        .queue = queue,
        .hold = SL_METER_NONE,
    };
    m->arrived++;
    m->classes.v[klass].arrived++;
    if (queue != SL_METER_NONE) {
        m->queues.v[queue].arrived++;
        m->queues.v[queue].pending++;
        queue_draw(m, queue, now);
    }
}

/* Gives back what the workload holds, if it holds anything. */
static void release_holding(struct sl_meter *m, struct sl_meter_live *w, sl_time now,
                            bool to_pending) {
    w->start = SL_TIME_NEVER;
    if (w->hold == SL_METER_NONE)
        return;
    sl_meter_advance(m, now);
    struct sl_meter_hold *h = &m->holds.v[w->hold];
    m->used -= h->a[m->main];
    if (w->queue != SL_METER_NONE) {
        struct sl_meter_queue *q = &m->queues.v[w->queue];
        sl_meter_queue_touch(m, q, now);
        for (uint32_t r = 0; r < m->n_resources; r++)
            q->used[r] -= h->a[r];
        q->pending += to_pending;
        queue_draw(m, w->queue, now);
    }
    h->next_free = m->free_hold;
    m->free_hold = w->hold;
    w->hold = SL_METER_NONE;
}

static void reserve(struct sl_meter *m, struct sl_meter_live *w, const struct sl_effect *x,
                    sl_time now) {
    bool was_waiting = w->hold == SL_METER_NONE;
    release_holding(m, w, now, false);
    sl_meter_advance(m, now);
    m->main_fixed = true;
    if (m->free_hold == SL_METER_NONE) {
        m->free_hold = m->holds.n;
        sl_vec_push(&m->holds)->next_free = SL_METER_NONE;
    }
    w->hold = m->free_hold;
    struct sl_meter_hold *h = &m->holds.v[w->hold];
    m->free_hold = h->next_free;
    memset(h->a, 0, sizeof(h->a));
    for (uint32_t p = 0; p < x->reserve.n; p++) {
        const struct sl_podset_assignment *a = &x->reserve.podsets[p];
        for (uint32_t i = 0; i < a->n; i++) {
            uint32_t r = resource_named(m, a->v[i].resource);
            if (r != SL_METER_NONE)
                h->a[r] = sl_amount_add(h->a[r], a->v[i].usage);
        }
    }
    m->used += h->a[m->main];
    if (w->queue != SL_METER_NONE) {
        struct sl_meter_queue *q = &m->queues.v[w->queue];
        sl_meter_queue_touch(m, q, now);
        for (uint32_t r = 0; r < m->n_resources; r++)
            q->used[r] += h->a[r];
        q->pending -= was_waiting && q->pending > 0;
        queue_draw(m, w->queue, now);
    }
}

static void start_workload(struct sl_meter *m, struct sl_meter_live *w, sl_time now) {
    w->start = now;
    if (w->first == SL_TIME_NEVER)
        w->first = now;
    w->admitted = true;
    m->admitted++;
    m->classes.v[w->klass].admitted++;
    if (w->queue != SL_METER_NONE)
        m->queues.v[w->queue].admitted++;
}

/* The waits of a workload that was admitted: last is where its last run began. */
void sl_meter_sample(struct sl_meter *m, const struct sl_meter_live *w, sl_time last) {
    struct sl_meter_class *k = &m->classes.v[w->klass];
    *sl_vec_push(&k->last) = last - w->created;
    *sl_vec_push(&k->first) = w->first - w->created;
    if (w->queue == SL_METER_NONE)
        return;
    struct sl_meter_queue *q = &m->queues.v[w->queue];
    q->wait_sum += last - w->created;
    q->waits++;
    if (last - w->created > q->wait_max)
        q->wait_max = last - w->created;
}

static void finish_workload(struct sl_meter *m, struct sl_meter_live *w, sl_time now) {
    struct sl_meter_queue *q = w->queue == SL_METER_NONE ? NULL : &m->queues.v[w->queue];
    if (w->start != SL_TIME_NEVER) {
        sl_meter_sample(m, w, w->start);
        if (q && w->hold != SL_METER_NONE) {
            for (uint32_t r = 0; r < m->n_resources; r++)
                q->work[r] += (sl_meter_wide)m->holds.v[w->hold].a[r] * (now - w->start);
        }
    } else if (q && w->hold == SL_METER_NONE && q->pending > 0) {
        q->pending--;
        queue_draw(m, w->queue, now);
    }
    release_holding(m, w, now, false);
    sl_meter_advance(m, now);
    m->last_finish = now;
    m->finish_used_ns = m->used_ns;
    m->finish_capacity_ns = m->capacity_ns;
    m->finished++;
    m->classes.v[w->klass].finished++;
    if (q)
        q->finished++;
    w->id = 0;
}

void sl_meter_fact(struct sl_meter *m, const struct sl_fact *f) {
    struct sl_meter_live *w = live_of(m, f->wl);
    if (!w)
        return;
    switch (f->kind) {
    case SL_FACT_FINISHED:
        finish_workload(m, w, f->at);
        break;
    case SL_FACT_RELEASED:
    case SL_FACT_ADMIT_FAILED:
        release_holding(m, w, f->at, true);
        break;
    case SL_FACT_WORKLOAD_GONE:
        if (w->hold == SL_METER_NONE && w->queue != SL_METER_NONE &&
            m->queues.v[w->queue].pending > 0) {
            m->queues.v[w->queue].pending--;
            queue_draw(m, w->queue, f->at);
        }
        release_holding(m, w, f->at, false);
        w->id = 0;
        break;
    default:
        break;
    }
}

void sl_meter_effects(struct sl_meter *m, sl_time now, const struct sl_effects *x, uint32_t from) {
    for (uint32_t i = from; i < x->v.n; i++) {
        const struct sl_effect *e = &x->v.v[i];
        struct sl_meter_live *w = live_of(m, e->wl);
        if (!w)
            continue;
        switch (e->kind) {
        case SL_EFFECT_RESERVE:
            reserve(m, w, e, now);
            if (e->reserve.admitted)
                start_workload(m, w, now);
            break;
        case SL_EFFECT_ADMIT:
            start_workload(m, w, now);
            break;
        case SL_EFFECT_EVICT:
            m->evictions++;
            m->preemptions += e->evict.reason == SL_EVICT_PREEMPTED;
            m->classes.v[w->klass].evictions++;
            if (w->queue != SL_METER_NONE)
                m->queues.v[w->queue].evictions++;
            w->start = SL_TIME_NEVER;
            break;
        case SL_EFFECT_UNRESERVE:
            release_holding(m, w, now, true);
            break;
        case SL_EFFECT_DEACTIVATE:
            m->deactivated++;
            break;
        case SL_EFFECT_PENDING:
            m->refusals++;
            break;
        default:
            break;
        }
    }
}

sl_time sl_meter_started(const struct sl_meter *m, sl_wl_id id) {
    uint32_t i = slot_of(id);
    if (id.v == 0 || i >= m->live.n || m->live.v[i].id != id.v ||
        m->live.v[i].start == SL_TIME_NEVER)
        return 0;
    return m->live.v[i].start;
}

uint64_t sl_meter_finished(const struct sl_meter *m) {
    return m->finished;
}
