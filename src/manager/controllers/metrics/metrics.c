/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters and histograms, updated where decisions are made, and the lifetime of series: they
 * appear with the first event and are dropped with their object.
 */
#include "manager/controllers/metrics/metrics.h"

#include <string.h>

#include "lib/json/json.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/metrics/state.h"

void mgr_metrics_new(struct sl_manager *m) {
    m->metrics = sl_alloc0(1, sizeof *m->metrics);
}

void mgr_metrics_end(struct sl_manager *m) {
    sl_vec_free(&m->metrics->cohorts);
    sl_vec_free(&m->metrics->orphaned);
    sl_freep(&m->metrics);
}

/* ---- writes ---- */

void mgr_count_write(struct sl_manager *m, const struct sl_rec *r, enum sl_written how) {
    static const char *const outcomes[] = {
        [SL_WRITTEN] = "written",     [SL_WRITE_CONFLICT] = "conflict", [SL_WRITE_GONE] = "gone",
        [SL_WRITE_FAILED] = "failed", [SL_WRITE_REFUSED] = "refused",
    };
    sl_metric_add(m->spec.metrics, SL_M_API_WRITES_TOTAL, 1, r->table->kind->kind, outcomes[how]);
}

/* ---- cycles ---- */

static void count_skips(struct sl_manager *m, const struct sl_effects *x) {
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < x->v.n; i++) {
            const struct sl_effect *f = &x->v.v[i];
            if (f->kind != SL_EFFECT_PENDING || f->pending.kind != SL_PENDING_OVERLAP)
                continue;
            if (pass == 0)
                sl_metric_set(m->spec.metrics, SL_M_ADMISSION_CYCLE_PREEMPTION_SKIPS, 0, f->cq);
            else
                sl_metric_add(m->spec.metrics, SL_M_ADMISSION_CYCLE_PREEMPTION_SKIPS, 1, f->cq);
        }
    }
}

void mgr_note_fact(struct sl_manager *m, const struct sl_fact *f) {
    switch (f->kind) {
    case SL_FACT_COHORT_GONE:
        *sl_vec_push(&m->metrics->orphaned) = sl_sym_put(m->syms, f->gone.name);
        m->metrics->trees_changed = true;
        break;
    case SL_FACT_COHORT:
    case SL_FACT_CLUSTER_QUEUE:
    case SL_FACT_CLUSTER_QUEUE_GONE:
        sl_vec_clear(&m->metrics->orphaned);
        m->metrics->trees_changed = true;
        break;
    default:
        break;
    }
}

/* Cohorts that are only named by others go with the last of these. */
static void forget_cohorts(struct sl_manager *m) {
    SL_VEC(sl_sym) left = {0};
    struct sl_map known = {0};
    uint32_t at = 0;
    for (const char *name; (name = sl_engine_cohort_name(m->engine, &at));) {
        sl_sym y = sl_sym_put(m->syms, name);
        *sl_vec_push(&left) = y;
        sl_map_add(&known, y, y);
    }
    for (uint32_t i = 0; i < m->metrics->cohorts.n; i++)
        if (sl_map_get(&known, m->metrics->cohorts.v[i]) == SL_MAP_NONE)
            mgr_drop_cohort_series(m, mgr_str(m, m->metrics->cohorts.v[i]));
    sl_vec_clear(&m->metrics->cohorts);
    for (uint32_t i = 0; i < left.n; i++)
        *sl_vec_push(&m->metrics->cohorts) = left.v[i];
    sl_vec_free(&left);
    sl_map_done(&known);
}

void mgr_count_cycle_begins(struct sl_manager *m) {
    m->metrics->cycle.looks = sl_engine_evaluations(m->engine);
    m->metrics->cycle.began = m->spec.stopwatch ? m->spec.stopwatch() : 0;
}

void mgr_count_cycle(struct sl_manager *m, const struct sl_effects *x) {
    struct sl_metrics *to = m->spec.metrics;
    sl_span took = m->spec.stopwatch ? m->spec.stopwatch() - m->metrics->cycle.began : 0;
    double seconds = (double)took / (double)SL_SEC;
    bool success = false;

    if (m->metrics->trees_changed)
        forget_cohorts(m);
    m->metrics->trees_changed = false;
    if (sl_engine_evaluations(m->engine) == m->metrics->cycle.looks)
        return; /* nothing was evaluated */
    for (uint32_t i = 0; i < x->v.n && !success; i++)
        success = x->v.v[i].kind == SL_EFFECT_RESERVE;
    const char *result = success ? "success" : "inadmissible";
    sl_metric_add(to, SL_M_ADMISSION_ATTEMPTS_TOTAL, 1, result);
    sl_metric_observe(to, SL_M_CYCLE_DECISIONS, x->v.n);
    if (m->spec.stopwatch) {
        sl_metric_observe(to, SL_M_ADMISSION_ATTEMPT_DURATION_SECONDS, seconds, result);
        sl_metric_observe(to, SL_M_CYCLE_DURATION_SECONDS, seconds);
    }
    count_skips(m, x);
}

/* ---- decisions ---- */

/* The queue, class and series that an event is counted for. */
struct subject {
    const char *cq, *class;
    const char *ns, *lq; /* lq NULL: the LocalQueue has no series */
};

/* Labels are names of objects that are there: their series go with them. What is counted for one
 * that is gone, or never was, is counted for none. */
static bool class_known(const struct sl_manager *m, const char *name) {
    return sl_inf_find(m->inf, REC_WORKLOAD_PRIORITY_CLASS, "", name) ||
           sl_inf_find(m->inf, REC_PRIORITY_CLASS, "", name);
}

static struct subject subject_of(const struct sl_manager *m, const struct mgr_rec_wl *w,
                                 const char *cq) {
    const char *class = mgr_str(m, w->class_name);
    struct subject s = {cq && sl_inf_find(m->inf, REC_CLUSTER_QUEUE, "", cq) ? cq : "",
                        class_known(m, class) ? class : "", mgr_str(m, w->rec.ns), NULL};
    struct sl_rec *lq = sl_inf_find(m->inf, REC_LOCAL_QUEUE, s.ns, mgr_str(m, w->queue));
    if (lq && mgr_conf_of(lq)->chosen)
        s.lq = lq->name;
    return s;
}

/* An event of the ClusterQueue, and of the LocalQueue if that has series. */
static void add(struct sl_manager *m, const struct subject *s, enum sl_metric id,
                enum sl_metric lq_id) {
    sl_metric_add(m->spec.metrics, id, 1, s->cq, s->class);
    if (s->lq)
        sl_metric_add(m->spec.metrics, lq_id, 1, s->lq, s->ns, s->class);
}

static void observe(struct sl_manager *m, const struct subject *s, enum sl_metric id,
                    enum sl_metric lq_id, double seconds) {
    sl_metric_observe(m->spec.metrics, id, seconds, s->cq, s->class);
    if (s->lq)
        sl_metric_observe(m->spec.metrics, lq_id, seconds, s->lq, s->ns, s->class);
}

static double since_cond(const struct sl_manager *m, const struct mgr_rec_wl *w, const char *type,
                         sl_time fallback) {
    const struct mgr_cond *c = mgr_wl_next_cond(m, w, type);
    return mgr_seconds_since(m, c ? c->at : fallback);
}

/* Since it was made, or since it was last put back. */
static double waited(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    return since_cond(m, w, "Requeued", w->rec.created);
}

static void count_admitted(struct sl_manager *m, const struct mgr_rec_wl *w,
                           const struct subject *s) {
    const char *parent, *root, *below = s->cq;
    add(m, s, SL_M_ADMITTED_WORKLOADS_TOTAL, SL_M_LOCAL_QUEUE_ADMITTED_WORKLOADS_TOTAL);
    observe(m, s, SL_M_ADMISSION_WAIT_TIME_SECONDS, SL_M_LOCAL_QUEUE_ADMISSION_WAIT_TIME_SECONDS,
            waited(m, w));
    for (bool cohort = false;
         sl_engine_parents(m->engine, cohort, below, &parent, &root) && *parent;
         cohort = true, below = parent)
        sl_metric_add(m->spec.metrics, SL_M_COHORT_SUBTREE_ADMITTED_WORKLOADS_TOTAL, 1, parent,
                      s->class);
}

static void count_checked(struct sl_manager *m, const struct subject *s, double seconds) {
    observe(m, s, SL_M_ADMISSION_CHECKS_WAIT_TIME_SECONDS,
            SL_M_LOCAL_QUEUE_ADMISSION_CHECKS_WAIT_TIME_SECONDS, seconds);
}

static void count_reserved(struct sl_manager *m, const struct mgr_rec_wl *w,
                           const struct sl_effect *x) {
    struct subject s = subject_of(m, w, x->cq);
    add(m, &s, SL_M_QUOTA_RESERVED_WORKLOADS_TOTAL,
        SL_M_LOCAL_QUEUE_QUOTA_RESERVED_WORKLOADS_TOTAL);
    observe(m, &s, SL_M_QUOTA_RESERVED_WAIT_TIME_SECONDS,
            SL_M_LOCAL_QUEUE_QUOTA_RESERVED_WAIT_TIME_SECONDS, waited(m, w));
    struct sl_rec *q = sl_inf_find(m->inf, REC_CLUSTER_QUEUE, "", s.cq);
    if (q)
        mgr_conf_of(q)->had_reserving = true;
    sl_vec_clear(&m->metrics->orphaned);
    if (!x->reserve.admitted)
        return;
    count_admitted(m, w, &s);
    if (mgr_wl_next(w, WL_CHECKS)->checks.n)
        count_checked(m, &s, 0); /* all of them were ready before */
}

static bool evicted_before(const struct sl_manager *m, const struct mgr_rec_wl *w,
                           const char *reason, const char *cause) {
    const struct mgr_wl_status *s = mgr_wl_next(w, WL_EVICTIONS);
    for (uint32_t i = 0; i < s->evictions.n; i++)
        if (strcmp(mgr_str(m, s->evictions.v[i].reason), reason) == 0 &&
            strcmp(mgr_str(m, s->evictions.v[i].cause), cause) == 0)
            return s->evictions.v[i].count > 0;
    return false;
}

static void count_evicted(struct sl_manager *m, const struct mgr_rec_wl *w,
                          const struct sl_effect *x) {
    struct sl_metrics *to = m->spec.metrics;
    struct subject s = subject_of(m, w, x->cq);
    /* As in schedulingStats: the kind of preemption is only reported for the preemptor. */
    bool named =
        x->evict.cause != SL_CAUSE_NONE &&
        (x->evict.reason == SL_EVICT_DEACTIVATED || x->evict.reason == SL_EVICT_PODS_READY_TIMEOUT);
    const char *reason = sl_word(SL_VOCAB_EVICT, (int)x->evict.reason);
    const char *cause = named ? sl_word(SL_VOCAB_CAUSE, (int)x->evict.cause) : "";
    const struct mgr_cond *ready = mgr_wl_next_cond(m, w, "PodsReady");
    struct sl_engine_wl_view by;

    sl_metric_add(to, SL_M_EVICTED_WORKLOADS_TOTAL, 1, s.cq, reason, cause, s.class);
    if (s.lq)
        sl_metric_add(to, SL_M_LOCAL_QUEUE_EVICTED_WORKLOADS_TOTAL, 1, s.lq, s.ns, reason, cause,
                      s.class);
    if (!evicted_before(m, w, reason, cause))
        sl_metric_add(to, SL_M_EVICTED_WORKLOADS_ONCE_TOTAL, 1, s.cq, reason, cause, s.class);
    if (ready && ready->status == COND_TRUE)
        sl_metric_observe(to, SL_M_PODS_READY_TO_EVICTED_TIME_SECONDS,
                          mgr_seconds_since(m, ready->at), s.cq, reason, cause);
    if (x->evict.reason == SL_EVICT_PREEMPTED && sl_engine_workload(m->engine, x->evict.by, &by))
        sl_metric_add(to, SL_M_PREEMPTED_WORKLOADS_TOTAL, 1, by.cq,
                      sl_word(SL_VOCAB_CAUSE, (int)x->evict.cause));
}

static void count_released(struct sl_manager *m, const struct mgr_rec_wl *w,
                           const struct sl_effect *x) {
    const struct mgr_cond *c = mgr_wl_next_cond(m, w, "Evicted");
    if (c && c->status == COND_TRUE)
        sl_metric_observe(m->spec.metrics, SL_M_WORKLOAD_EVICTION_LATENCY_SECONDS,
                          mgr_seconds_since(m, c->at), x->cq, mgr_str(m, c->reason));
}

void mgr_count_effect(struct sl_manager *m, const struct mgr_rec_wl *w, const struct sl_effect *x) {
    struct subject s;
    switch (x->kind) {
    case SL_EFFECT_RESERVE:
        count_reserved(m, w, x);
        break;
    case SL_EFFECT_ADMIT:
        s = subject_of(m, w, x->cq);
        count_admitted(m, w, &s);
        count_checked(m, &s, since_cond(m, w, "QuotaReserved", m->spec.client->wall));
        break;
    case SL_EFFECT_EVICT:
        count_evicted(m, w, x);
        break;
    case SL_EFFECT_RELEASE:
        count_released(m, w, x);
        break;
    default:
        break;
    }
}

/* The ClusterQueue that admitted it; "" if none did. */
static const char *admitted_by(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    const struct mgr_wl_admission *a = mgr_wl_next(w, WL_ADMISSION)->admission;
    return a ? mgr_str(m, a->cq) : "";
}

/* Another slice took its place in the ClusterQueue. */
void mgr_count_replaced(struct sl_manager *m, const struct mgr_rec_wl *w) {
    const struct mgr_wl_admission *a = mgr_wl_next(w, WL_ADMISSION)->admission;
    if (a)
        sl_metric_add(m->spec.metrics, SL_M_REPLACED_WORKLOAD_SLICES_TOTAL, 1, mgr_str(m, a->cq));
}

void mgr_count_finished(struct sl_manager *m, const struct mgr_rec_wl *w) {
    if (!m->leads)
        return; /* the leader counts it */
    struct subject s = subject_of(m, w, admitted_by(m, w));
    add(m, &s, SL_M_FINISHED_WORKLOADS_TOTAL, SL_M_LOCAL_QUEUE_FINISHED_WORKLOADS_TOTAL);
}

void mgr_count_ready(struct sl_manager *m, const struct mgr_rec_wl *w) {
    if (!m->settings->engine.pods_ready || !m->leads)
        return;
    struct subject s = subject_of(m, w, admitted_by(m, w));
    observe(m, &s, SL_M_READY_WAIT_TIME_SECONDS, SL_M_LOCAL_QUEUE_READY_WAIT_TIME_SECONDS,
            waited(m, w));
    observe(m, &s, SL_M_ADMITTED_UNTIL_READY_WAIT_TIME_SECONDS,
            SL_M_LOCAL_QUEUE_ADMITTED_UNTIL_READY_WAIT_TIME_SECONDS,
            since_cond(m, w, "Admitted", m->spec.client->wall));
}

void mgr_count_created(struct sl_manager *m, const struct sl_rec *job) {
    if (job->generation > 1 || !m->settings->gates[SL_G_METRIC_FOR_WORKLOAD_CREATION_LATENCY])
        return; /* it was changed, perhaps to get a queue: since when it waits is unknown */
    sl_metric_observe(m->spec.metrics, SL_M_WORKLOAD_CREATION_LATENCY_SECONDS,
                      mgr_seconds_since(m, job->created), job->table->kind->kind);
}

void mgr_count_ungated(struct sl_manager *m, const struct mgr_rec_wl *w, const char *gate,
                       bool group) {
    sl_metric_observe(m->spec.metrics, SL_M_POD_SCHEDULING_GATE_REMOVAL_SECONDS,
                      since_cond(m, w, "Admitted", m->spec.client->wall), gate, admitted_by(m, w),
                      group ? "true" : "false");
}

/* ---- series of objects that are gone ---- */

/* Drops what is known of an object in every metric whose series are named after such objects: by
 * the label 'first', and 'second' if that is not NULL. */
static void drop_all(struct sl_manager *m, const char *first, const char *value, const char *second,
                     const char *value2, bool (*kept)(enum sl_metric id)) {
    for (uint32_t id = 0; id < SL_M_COUNT; id++) {
        const struct sl_metric_def *d = sl_metric_def((enum sl_metric)id);
        const char *v[SL_METRIC_LABELS] = {0};
        uint32_t named = 0;
        for (uint32_t i = 0; i < d->n_labels; i++) {
            bool is_first = strcmp(d->labels[i], first) == 0;
            if (!is_first && !(second && strcmp(d->labels[i], second) == 0))
                continue;
            v[i] = is_first ? value : value2;
            named |= UINT32_C(1) << i;
        }
        if (named && named == d->index && !(kept && kept((enum sl_metric)id)))
            sl_metric_drop_(m->spec.metrics, (enum sl_metric)id,
                            (struct sl_metric_values){v, d->n_labels});
    }
}

/* Kueue keeps these, so that rates over them go on when a queue is made anew. */
static bool outlives_cq(enum sl_metric id) {
    return id == SL_M_REPLACED_WORKLOAD_SLICES_TOTAL ||
           id == SL_M_MULTIKUEUE_WORKLOADS_DISPATCHED_TOTAL ||
           id == SL_M_MULTIKUEUE_WORKLOADS_ADMITTED_TOTAL;
}

void mgr_drop_cq_series(struct sl_manager *m, const char *cq) {
    drop_all(m, "cluster_queue", cq, NULL, NULL, outlives_cq);
    drop_all(m, "preempting_cluster_queue", cq, NULL, NULL, NULL);
}

/* Those of queues go with the queue; this one has none. */
void mgr_drop_class_series(struct sl_manager *m, const char *class) {
    const struct sl_metric_def *d = sl_metric_def(SL_M_FINISHED_WORKLOADS_TOTAL);
    const char *v[SL_METRIC_LABELS] = {0};
    for (uint32_t i = 0; i < d->n_labels; i++)
        v[i] = strcmp(d->labels[i], "cluster_queue") == 0    ? ""
               : strcmp(d->labels[i], "priority_class") == 0 ? class
                                                             : NULL;
    sl_metric_drop_(m->spec.metrics, SL_M_FINISHED_WORKLOADS_TOTAL,
                    (struct sl_metric_values){v, d->n_labels});
}

void mgr_drop_cohort_series(struct sl_manager *m, const char *cohort) {
    drop_all(m, "cohort", cohort, NULL, NULL, NULL);
}

void mgr_drop_lq_series(struct sl_manager *m, const char *ns, const char *name) {
    drop_all(m, "name", name, "namespace", ns, NULL);
}

/* Series of workloads that hold quota stay while a LocalQueue is stopped. */
static bool outlives_stop(enum sl_metric id) {
    return id == SL_M_LOCAL_QUEUE_RESERVING_ACTIVE_WORKLOADS ||
           id == SL_M_LOCAL_QUEUE_ADMITTED_ACTIVE_WORKLOADS || id == SL_M_LOCAL_QUEUE_STATUS ||
           id == SL_M_LOCAL_QUEUE_RESOURCE_RESERVATION || id == SL_M_LOCAL_QUEUE_RESOURCE_USAGE;
}

static bool selected(const struct sl_manager *m, yyjson_val *labels) {
    SL_VEC(struct sl_label) v = {0};
    size_t i, n;
    yyjson_val *key, *val;
    sl_obj_foreach (labels, i, n, key, val)
        if (yyjson_is_str(val))
            *sl_vec_push(&v) = (struct sl_label){sl_json_text(key), sl_json_text(val)};
    struct sl_labels l = {v.v, v.n};
    bool yes = sl_selector_matches(&m->settings->local_queue_selector, &l);
    sl_vec_free(&v);
    return yes;
}

void mgr_lq_choose(struct sl_manager *m, struct sl_rec *lq, yyjson_val *o) {
    struct mgr_rec_conf *c = mgr_conf_of(lq);
    const char *stop = sl_json_str(o, "spec.stopPolicy"), *ns = mgr_str(m, lq->ns);
    bool chosen = m->settings->local_queue_metrics && selected(m, sl_json_at(o, "metadata.labels"));
    bool stopped = *stop && strcmp(stop, "None") != 0;

    if (c->chosen && !chosen)
        mgr_drop_lq_series(m, ns, lq->name);
    else if (chosen && stopped && !c->stopped)
        drop_all(m, "name", lq->name, "namespace", ns, outlives_stop);
    c->chosen = chosen;
    c->stopped = stopped;
}
