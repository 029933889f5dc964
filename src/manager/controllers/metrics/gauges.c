/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gauges, read out of the engine when the metrics are scraped: one walk over the workloads, then
 * the queues and cohorts.
 *
 * The set of series follows from the texts of queues and cohorts and a few settings. While these
 * stay, values are overwritten in place; when they change, the families whose labels may have
 * changed are dropped and rebuilt.
 */
#include <math.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/log/log.h"
#include "manager/controllers/core/bridge.h"
#include "manager/controllers/core/ceilings.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/metrics/metrics.h"
#include "manager/controllers/metrics/state.h"
#include "manager/controllers/workload/workloads.h"

/* ---- which series there are ---- */

/* Where an object stands in a tree, its flavors and resources are labels here. */
static const enum sl_metric reshaped[] = {
    SL_M_CLUSTER_QUEUE_INFO,
    SL_M_CLUSTER_QUEUE_RESOURCE_PENDING,
    SL_M_CLUSTER_QUEUE_RESOURCE_RESERVATION,
    SL_M_CLUSTER_QUEUE_RESOURCE_USAGE,
    SL_M_CLUSTER_QUEUE_NOMINAL_QUOTA,
    SL_M_CLUSTER_QUEUE_BORROWING_LIMIT,
    SL_M_CLUSTER_QUEUE_LENDING_LIMIT,
    SL_M_CLUSTER_QUEUE_WEIGHTED_SHARE,
    SL_M_LOCAL_QUEUE_RESOURCE_RESERVATION,
    SL_M_LOCAL_QUEUE_RESOURCE_USAGE,
    SL_M_LOCAL_QUEUE_ADMISSION_FAIR_SHARING_USAGE,
    SL_M_LOCAL_QUEUE_RESERVING_ACTIVE_WORKLOADS,
    SL_M_LOCAL_QUEUE_ADMITTED_ACTIVE_WORKLOADS,
    SL_M_COHORT_INFO,
    SL_M_COHORT_WEIGHTED_SHARE,
    SL_M_COHORT_SUBTREE_QUOTA,
    SL_M_COHORT_SUBTREE_RESOURCE_RESERVATIONS,
    SL_M_COHORT_SUBTREE_ADMITTED_ACTIVE_WORKLOADS,
};

static void drop_family(struct sl_manager *m, enum sl_metric id) {
    const char *any[SL_METRIC_LABELS] = {0};
    sl_metric_drop_(m->spec.metrics, id,
                    (struct sl_metric_values){any, sl_metric_def(id)->n_labels});
}

static void reshape(struct sl_manager *m) {
    static const enum mgr_rec_kind shaping[] = {REC_COHORT, REC_CLUSTER_QUEUE, REC_LOCAL_QUEUE};
    const struct sl_settings *s = m->settings;
    uint64_t h = (uint64_t)s->queue_resources | (uint64_t)s->engine.fair_sharing << 1 |
                 (uint64_t)s->engine.afs << 2 | (uint64_t)s->gates[SL_G_METRICS_FOR_COHORTS] << 3;
    for (size_t i = 0; i < SL_LEN(shaping); i++) {
        uint32_t at = 0;
        for (struct sl_rec *r; (r = sl_inf_each(m->inf, shaping[i], &at));)
            h = sl_hash_u64(sl_hash_u64(h, mgr_conf_of(r)->hash), mgr_conf_of(r)->chosen);
    }
    if (h == m->metrics->series)
        return;
    m->metrics->series = h;
    for (size_t i = 0; i < SL_LEN(reshaped); i++)
        drop_family(m, reshaped[i]);
}

/* ---- workloads ---- */

static void tally(struct sl_manager *m, const struct mgr_rec_wl *w, sl_sym finished) {
    struct sl_rec *lq =
        sl_inf_find(m->inf, REC_LOCAL_QUEUE, mgr_str(m, w->rec.ns), mgr_str(m, w->queue));
    struct sl_engine_wl_view v;
    if (!lq)
        return;
    struct mgr_rec_conf *c = mgr_conf_of(lq);
    for (uint32_t i = 0; i < w->seen.conds.n; i++)
        if (w->seen.conds.v[i].type == finished && w->seen.conds.v[i].status == COND_TRUE)
            c->tally.finished++;
    if (w->id.v && sl_engine_workload(m->engine, w->id, &v) &&
        (v.phase == SL_PHASE_HEAP || v.phase == SL_PHASE_ASLEEP) &&
        (!c->tally.oldest || v.order_at < c->tally.oldest))
        c->tally.oldest = v.order_at;
}

/* By the reason of Admitted=False and, below that, of QuotaReserved=False. */
static void unadmitted(struct sl_manager *m, const struct mgr_rec_wl *w) {
    const struct mgr_cond *admitted = mgr_wl_cond(m, w, "Admitted");
    const struct mgr_cond *reserved = mgr_wl_cond(m, w, "QuotaReserved");
    const char *ns = mgr_str(m, w->rec.ns);
    struct sl_rec *lq = sl_inf_find(m->inf, REC_LOCAL_QUEUE, ns, mgr_str(m, w->queue));
    if (!lq || w->rec.deleting || mgr_wl_condition_is_true(m, w, "Admitted") ||
        mgr_wl_condition_is_true(m, w, "Finished"))
        return;
    const char *cq = mgr_str(m, mgr_conf_of(lq)->refers);
    const char *reason = admitted ? mgr_str(m, admitted->reason) : "NoReservation";
    const char *cause = !reserved                        ? "PendingEvaluation"
                        : reserved->status == COND_FALSE ? mgr_str(m, reserved->reason)
                                                         : "";
    sl_metric_add(m->spec.metrics, SL_M_UNADMITTED_WORKLOADS, 1, cq, reason, cause);
    if (mgr_conf_of(lq)->chosen)
        sl_metric_add(m->spec.metrics, SL_M_LOCAL_QUEUE_UNADMITTED_WORKLOADS, 1, lq->name, ns, cq,
                      reason, cause);
}

/* Leaves sums in the records of LocalQueues, where nothing was before. */
static void count_workloads(struct sl_manager *m) {
    bool explained = m->settings->gates[SL_G_UNADMITTED_WORKLOADS_OBSERVABILITY];
    sl_sym finished = sl_sym_find(m->syms, "Finished");
    uint32_t at = 0;
    drop_family(m, SL_M_UNADMITTED_WORKLOADS);
    drop_family(m, SL_M_LOCAL_QUEUE_UNADMITTED_WORKLOADS);
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_WORKLOAD, &at));) {
        tally(m, mgr_wl_of(r), finished);
        if (explained)
            unadmitted(m, mgr_wl_of(r));
    }
}

/* Adds the tally of a LocalQueue to its ClusterQueue's. */
static void carry(struct sl_manager *m, const struct mgr_rec_conf *l) {
    struct sl_rec *r = sl_inf_find(m->inf, REC_CLUSTER_QUEUE, "", mgr_str(m, l->refers));
    if (!r)
        return;
    struct mgr_rec_conf *q = mgr_conf_of(r);
    q->tally.finished += l->tally.finished;
    if (l->tally.oldest && (!q->tally.oldest || l->tally.oldest < q->tally.oldest))
        q->tally.oldest = l->tally.oldest;
}

/* ---- values ---- */

/* CPU in cores, all else in units. */
static double units(const char *resource, sl_amount a) {
    return (double)a / (sl_quantity_is_milli(resource) ? 1000 : 1);
}

static double limit(const char *resource, sl_amount a) {
    return a == SL_AMOUNT_NONE ? (double)INFINITY : units(resource, a);
}

/* In thousandths, as Kueue counts shares; a borrower of weight zero has an infinite one. */
static double weighted(const struct sl_engine_share_view *s) {
    if (!s->over)
        return 0;
    double share = (double)s->over * 1000.0 / (double)s->lendable;
    return s->weight_nano ? share / ((double)s->weight_nano / (double)SL_WEIGHT_ONE)
                          : (double)INFINITY;
}

/* ---- ClusterQueues ---- */

static void cq_status(struct sl_manager *m, const struct sl_rec *r,
                      const struct sl_engine_cq_view *v) {
    static const char *const words[] = {"pending", "active", "terminating"};
    size_t now = r->deleting ? 2 : v->active;
    for (size_t i = 0; i < SL_LEN(words); i++)
        sl_metric_set(m->spec.metrics, SL_M_CLUSTER_QUEUE_STATUS, i == now, r->name, words[i]);
}

/* What the queue covers has a series whatever its workloads request. */
static void add_covered(struct sl_engine_total *totals, uint32_t *n, const char *resource) {
    for (uint32_t i = 0; i < *n; i++)
        if (strcmp(totals[i].resource, resource) == 0)
            return;
    if (*n < CEILING_PENDING_SERIES)
        totals[(*n)++] = (struct sl_engine_total){.resource = resource};
}

static void cq_resources(struct sl_manager *m, const struct sl_rec *r, const char *cohort) {
    struct sl_metrics *to = m->spec.metrics;
    struct sl_engine_total asked[CEILING_PENDING_SERIES];
    const char *f, *res;
    uint32_t at = 0, n = 0;

    sl_metric_drop(to, SL_M_CLUSTER_QUEUE_RESOURCE_PENDING, r->name, NULL);
    while (sl_engine_next_flavor_resource(m->engine, false, r->name, &at, &f, &res)) {
        struct sl_engine_cell_view c;
        sl_amount borrow, lend;
        if (!sl_engine_cell(m->engine, false, r->name, f, res, &c))
            continue;
        sl_engine_limits(m->engine, r->name, f, res, &borrow, &lend);
        const struct {
            enum sl_metric id;
            double value;
        } v[] = {
            {SL_M_CLUSTER_QUEUE_NOMINAL_QUOTA, units(res, c.nominal)},
            {SL_M_CLUSTER_QUEUE_BORROWING_LIMIT, limit(res, borrow)},
            {SL_M_CLUSTER_QUEUE_LENDING_LIMIT, limit(res, lend)},
            {SL_M_CLUSTER_QUEUE_RESOURCE_RESERVATION, units(res, c.usage)},
            {SL_M_CLUSTER_QUEUE_RESOURCE_USAGE, units(res, c.admitted_usage)},
        };
        for (size_t i = 0; i < SL_LEN(v); i++)
            sl_metric_set(to, v[i].id, v[i].value, cohort, r->name, f, res);
        add_covered(asked, &n, res);
    }
    if (!sl_engine_pending_requests(m->engine, r->name, asked, &n, SL_LEN(asked)))
        sl_log(SL_LOG_DEBUG, "pending resources beyond the limit of series not reported",
               SL_S("cluster_queue", r->name), SL_I("limit", (int64_t)SL_LEN(asked)));
    for (uint32_t i = 0; i < n; i++)
        sl_metric_set(to, SL_M_CLUSTER_QUEUE_RESOURCE_PENDING,
                      units(asked[i].resource, asked[i].amount), r->name, asked[i].resource);
    struct sl_engine_share_view share;
    if (!m->settings->engine.fair_sharing || !sl_engine_share(m->engine, false, r->name, &share))
        return;
    double w = weighted(&share);
    sl_metric_set(to, SL_M_CLUSTER_QUEUE_WEIGHTED_SHARE, isinf(w) ? (double)NAN : w, r->name,
                  cohort);
}

static void cq_gauges(struct sl_manager *m, struct sl_rec *r) {
    struct sl_metrics *to = m->spec.metrics;
    struct mgr_rec_conf *c = mgr_conf_of(r);
    const char *parent, *root;
    struct sl_engine_cq_view v;

    if (!sl_engine_cq(m->engine, r->name, &v))
        return;
    (void)sl_engine_parents(m->engine, false, r->name, &parent, &root);
    sl_metric_set(to, SL_M_PENDING_WORKLOADS, v.heap, r->name, "active");
    sl_metric_set(to, SL_M_PENDING_WORKLOADS, v.asleep, r->name, "inadmissible");
    sl_metric_set(to, SL_M_FINISHED_WORKLOADS, c->tally.finished, r->name);
    sl_metric_set(to, SL_M_OLDEST_PENDING_AGE_SECONDS,
                  c->tally.oldest ? mgr_seconds_since(m, c->tally.oldest) : 0, r->name);
    c->had_reserving |= v.reserving > 0;
    c->had_admitted |= v.admitted > 0;
    if (c->had_reserving)
        sl_metric_set(to, SL_M_RESERVING_ACTIVE_WORKLOADS, v.reserving, r->name);
    if (c->had_admitted)
        sl_metric_set(to, SL_M_ADMITTED_ACTIVE_WORKLOADS, v.admitted, r->name);
    cq_status(m, r, &v);
    if (m->settings->gates[SL_G_METRICS_FOR_COHORTS])
        sl_metric_set(to, SL_M_CLUSTER_QUEUE_INFO, 1, r->name, parent, root);
    if (m->settings->queue_resources)
        cq_resources(m, r, parent);
}

/* ---- LocalQueues ---- */

static void lq_status(struct sl_manager *m, struct sl_rec *r) {
    static const char *const words[] = {"True", "False", "Unknown"};
    const struct mgr_rec_conf *c = mgr_conf_of(r);
    size_t now = c->active ? 0 : 1;
    for (size_t i = 0; c->has_active && i < SL_LEN(words); i++)
        sl_metric_set(m->spec.metrics, SL_M_LOCAL_QUEUE_STATUS, i == now, r->name,
                      mgr_str(m, r->ns), words[i]);
}

static void lq_resources(struct sl_manager *m, const struct sl_rec *r, const char *cq) {
    struct sl_metrics *to = m->spec.metrics;
    const char *ns = mgr_str(m, r->ns), *f, *res;
    uint32_t at = 0;
    while (sl_engine_next_flavor_resource(m->engine, false, cq, &at, &f, &res)) {
        sl_amount reserved, admitted;
        sl_engine_lq_usage(m->engine, ns, r->name, f, res, &reserved, &admitted);
        sl_metric_set(to, SL_M_LOCAL_QUEUE_RESOURCE_RESERVATION, units(res, reserved), r->name, ns,
                      f, res);
        sl_metric_set(to, SL_M_LOCAL_QUEUE_RESOURCE_USAGE, units(res, admitted), r->name, ns, f,
                      res);
    }
}

static void lq_gauges(struct sl_manager *m, struct sl_rec *r) {
    struct sl_metrics *to = m->spec.metrics;
    const struct mgr_rec_conf *c = mgr_conf_of(r);
    const char *ns = mgr_str(m, r->ns), *cq = mgr_str(m, c->refers);
    struct sl_engine_lq_view v;
    uint64_t micro;

    if (!c->chosen || !sl_engine_lq(m->engine, ns, r->name, &v))
        return;
    lq_status(m, r);
    if (!c->stopped) {
        sl_metric_set(to, SL_M_LOCAL_QUEUE_PENDING_WORKLOADS, v.heap, r->name, ns, "active");
        sl_metric_set(to, SL_M_LOCAL_QUEUE_PENDING_WORKLOADS, v.asleep, r->name, ns,
                      "inadmissible");
        sl_metric_set(to, SL_M_LOCAL_QUEUE_FINISHED_WORKLOADS, c->tally.finished, r->name, ns);
    }
    if (!sl_inf_find(m->inf, REC_CLUSTER_QUEUE, "", cq))
        return;
    sl_metric_set(to, SL_M_LOCAL_QUEUE_RESERVING_ACTIVE_WORKLOADS, v.reserving, r->name, ns);
    sl_metric_set(to, SL_M_LOCAL_QUEUE_ADMITTED_ACTIVE_WORKLOADS, v.admitted, r->name, ns);
    lq_resources(m, r, cq);
    if (!c->stopped && sl_engine_lq_history(m->engine, ns, r->name, &micro))
        sl_metric_set(to, SL_M_LOCAL_QUEUE_ADMISSION_FAIR_SHARING_USAGE,
                      micro == UINT64_MAX ? (double)INFINITY : (double)micro / 1e6, r->name, ns,
                      cq);
}

/* ---- cohorts ---- */

/* A series of nothing is no series. */
static void set_or_drop(struct sl_manager *m, enum sl_metric id, sl_amount a, const char *cohort,
                        const char *flavor, const char *resource) {
    if (a > 0)
        sl_metric_set(m->spec.metrics, id, units(resource, a), cohort, flavor, resource);
    else
        sl_metric_drop(m->spec.metrics, id, cohort, flavor, resource);
}

/* With its object all series of a cohort go, as Kueue has it; if others still name it, they come
 * back with the next change there. */
static bool is_orphaned(const struct sl_manager *m, const char *name) {
    for (uint32_t i = 0; i < m->metrics->orphaned.n; i++)
        if (strcmp(mgr_str(m, m->metrics->orphaned.v[i]), name) == 0)
            return true;
    return false;
}

static void cohort_gauges(struct sl_manager *m, const char *name) {
    struct sl_metrics *to = m->spec.metrics;
    const char *parent, *root, *f, *res;
    struct sl_engine_share_view share;
    struct sl_engine_cell_view c;
    uint32_t at = 0;

    if (is_orphaned(m, name) || !sl_engine_parents(m->engine, true, name, &parent, &root))
        return;
    sl_metric_set(to, SL_M_COHORT_SUBTREE_ADMITTED_ACTIVE_WORKLOADS,
                  sl_engine_cohort_admitted(m->engine, name), name);
    if (m->settings->engine.fair_sharing && sl_inf_find(m->inf, REC_COHORT, "", name) &&
        sl_engine_share(m->engine, true, name, &share))
        sl_metric_set(to, SL_M_COHORT_WEIGHTED_SHARE, weighted(&share), name);
    if (!m->settings->gates[SL_G_METRICS_FOR_COHORTS])
        return;
    sl_metric_set(to, SL_M_COHORT_INFO, 1, name, parent, root);
    while (sl_engine_next_flavor_resource(m->engine, true, name, &at, &f, &res)) {
        if (sl_engine_cell(m->engine, true, name, f, res, &c))
            set_or_drop(m, SL_M_COHORT_SUBTREE_QUOTA, c.subtree, name, f, res);
        set_or_drop(m, SL_M_COHORT_SUBTREE_RESOURCE_RESERVATIONS,
                    sl_engine_cohort_reserved(m->engine, name, f, res), name, f, res);
    }
}

/* ---- all ---- */

void sl_manager_refresh_metrics(struct sl_manager *m) {
    struct sl_metrics *to = m->spec.metrics;
    struct sl_writer_stats w;
    uint32_t at = 0;

    if (!to || !m->inf->ready)
        return;
    mgr_refresh_engine(m); /* a standby does not decide, but exports the same state */
    reshape(m);
    count_workloads(m);
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_LOCAL_QUEUE, &at));) {
        carry(m, mgr_conf_of(r));
        lq_gauges(m, r);
        memset(&mgr_conf_of(r)->tally, 0, sizeof mgr_conf_of(r)->tally);
    }
    at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_CLUSTER_QUEUE, &at));) {
        cq_gauges(m, r);
        memset(&mgr_conf_of(r)->tally, 0, sizeof mgr_conf_of(r)->tally);
    }
    at = 0;
    for (const char *name; (name = sl_engine_cohort_name(m->engine, &at));)
        cohort_gauges(m, name);
    sl_writer_stats(m->inf->writer, &w);
    sl_metric_set(to, SL_M_API_WRITES_IN_FLIGHT, w.in_flight);
    sl_metric_set(to, SL_M_WORKLOADS_IN_MEMORY, m->workloads->by_id.n);
}
