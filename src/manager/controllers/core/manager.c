/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The turn of the manager.
 *
 * The engine gets no facts before the first lists of all kinds are complete: then queues come
 * before workloads and workloads before jobs, whatever order the lists arrived in. From then on
 * every turn reconciles what is queued, kind by kind, lets the engine decide, and goes on until
 * nothing is left; then the informer writes.
 */
#include "manager/controllers/core/records.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/log/log.h"
#include "manager/controllers/core/bridge.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/core/sweep.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/metrics/metrics.h"
#include "manager/controllers/pod/group.h"
#include "manager/controllers/pod/pod.h"
#include "manager/controllers/pod/pods.h"
#include "manager/controllers/provisioning/capacity.h"
#include "manager/controllers/provisioning/provisioning.h"
#include "manager/controllers/queue/limit_range.h"
#include "manager/controllers/serving/serving.h"
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/workload/workload.h"
#include "manager/controllers/workload/workloads.h"

#define MAX_IN_FLIGHT 64u
#define MAX_EVENTS 16384u    /* to be written, or may become a series */
#define MAX_LAG (5 * SL_SEC) /* of the stream of workloads behind what was read */

struct sl_rec *mgr_rec_by_uid(const struct sl_manager *m, const char *uid) {
    uint64_t h = sl_hash_str(0, uid);
    sl_map_foreach (i, &m->by_uid, h)
        if (strcmp(m->inf->recs.v[i]->uid, uid) == 0)
            return m->inf->recs.v[i];
    return NULL;
}

/* ---- streams ---- */

static bool watched(const struct sl_manager *m, uint32_t k) {
    if (k == REC_TOPOLOGY)
        return mgr_tas_runs(m);
    const struct sl_manager_parts *parts = &m->spec.parts;
    if (k == REC_NODE)
        return mgr_tas_runs(m) || parts->provisioning;
    if (k == REC_PROV_CONFIG || k == REC_PROV_REQUEST)
        return parts->provisioning;
    if (k == REC_POD)
        return parts->elasticjobs || parts->tas || parts->provisioning ||
               mgr_group_frameworks(m->reads);
    if (k == REC_STATEFULSET || k == REC_LWS)
        return m->reads[k == REC_LWS ? SL_FW_LEADERWORKERSET : SL_FW_STATEFULSET];
    if (k == REC_JOB_KINDS)
        return parts->jobkinds;
    if (k == REC_TRAINING_RUNTIME || k == REC_CLUSTER_TRAINING_RUNTIME)
        return m->reads[SL_FW_TRAINJOB];
    if (k == REC_JOB || k >= REC_KINDS)
        return mgr_job_is_read(m, k);
    return true;
}

static uint32_t kinds_of(const struct sl_manager *m) {
    uint32_t n;
    (void)mgr_job_kinds(m, &n);
    return n;
}

void mgr_rec_relist(struct sl_manager *m, uint32_t k) {
    if (sl_inf_watches(m->inf, k))
        sl_inf_watch(m->inf, k);
}

/* Those that are needed and do not run yet. */
static void start_watches(struct sl_manager *m) {
    for (uint32_t k = 0; k < kinds_of(m); k++)
        if (k != REC_POD && !sl_inf_watches(m->inf, k) && watched(m, k))
            sl_inf_watch(m->inf, k);
}

/* Pods are many: whether those on nodes matter is known before the list, or there would be two.
 * Returns whether there is nothing to wait for any more. */
static bool start_pods(struct sl_manager *m) {
    if (sl_inf_watches(m->inf, REC_POD) || !watched(m, REC_POD))
        return true;
    if (!sl_inf_synced(m->inf, REC_FLAVOR) ||
        (sl_inf_watches(m->inf, REC_PROV_REQUEST) && !sl_inf_synced(m->inf, REC_PROV_REQUEST)))
        return false;
    m->pods->on_nodes |= mgr_tas_is_used(m) || mgr_capacity_is_requested(m);
    sl_inf_watch(m->inf, REC_POD);
    return true;
}

/* ---- writing ---- */

/* Only its user can correct it: the object stays as it is, and all others are processed. */
static void report_too_large(const struct sl_rec *r) {
    if (r->table->kind != &sl_inf_event_kind && !r->gone)
        sl_rec_event(r, "kueue-admission", true, "RequestTooLarge",
                     "What has to be written for this object is larger than the API server takes: "
                     "make its pod templates smaller, or use fewer different ones");
}

static void on_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                       const struct sl_kube_reply *reply) {
    mgr_count_write(ctx, r, how);
    if (how != SL_WRITE_REFUSED)
        return;
    sl_log(SL_LOG_WARN, "write rejected by the API server", SL_S("path", sl_buf_str(&w->path)),
           SL_I("status", reply->status));
    if (reply->status == SL_WRITER_TOO_LARGE)
        report_too_large(r);
}

/* What was done is what happened, but for these. */
static const char *action_of(const char *reason) {
    static const char *const words[][2] = {{"WorkloadSliceReplaced", "Replaced"},
                                           {"ProvisioningRequestCreated", "Created"}};
    for (size_t i = 0; i < SL_LEN(words); i++)
        if (strcmp(words[i][0], reason) == 0)
            return words[i][1];
    return reason;
}

static void on_dropped_event(void *ctx) {
    const struct sl_manager *m = ctx;
    sl_metric_add(m->spec.metrics, SL_M_EVENT_QUEUE_DROPS_TOTAL, 1);
}

void mgr_set_event_note(char **note, const char *fmt, ...) {
    va_list args;
    char *text = NULL;
    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    sl_freep(note);
    *note = n < 0 ? NULL : text;
}

/* ---- life ---- */

static void set_leads(struct sl_manager *m, bool leads) {
    m->leads = m->inf->writes = leads;
}

void mgr_features_new(struct sl_manager *m) {
    mgr_templates_new(m);
    mgr_groups_new(m);
    mgr_pods_new(m);
    mgr_provs_new(m);
    mgr_workloads_new(m);
    mgr_jobs_new(m);
    mgr_serving_new(m);
    mgr_limits_new(m);
    mgr_metrics_new(m);
    mgr_tas_new(m);
}

void mgr_features_end(struct sl_manager *m) {
    mgr_templates_end(m);
    mgr_groups_end(m);
    mgr_pods_end(m);
    mgr_provs_end(m);
    mgr_workloads_end(m);
    mgr_jobs_end(m);
    mgr_serving_end(m);
    mgr_limits_end(m);
    mgr_metrics_end(m);
    sl_engine_free(m->engine); /* which has references to places */
    mgr_tas_end(m);
}

struct sl_manager *sl_manager_new(const struct sl_manager_spec *spec) {
    struct sl_manager *m = sl_alloc0(1, sizeof *m);
    m->spec = *spec;
    mgr_features_new(m);
    uint32_t n_kinds;
    mgr_job_rows_in(m, spec->settings->ns);
    const struct sl_rec_kind *kinds = mgr_job_kinds(m, &n_kinds);
    m->inf = sl_inf_new(&(struct sl_inf_spec){
        .client = spec->client,
        .kinds = kinds,
        .n_kinds = n_kinds,
        .ctx = m,
        .field_manager = "kueue",
        .max_in_flight = MAX_IN_FLIGHT,
        .seed = spec->seed,
        .hold = mgr_manager_hold_names,
        .written = on_written,
        .events = {.instance = spec->instance && *spec->instance ? spec->instance : "sluice",
                   .by_version = true,
                   .max_known = MAX_EVENTS,
                   .action = action_of,
                   .dropped = on_dropped_event},
    });
    m->syms = &m->inf->syms;
    m->elected = !spec->standby;
    set_leads(m, m->elected);
    sl_effects_init(&m->effects);
    m->settings = spec->settings;
    m->engine = mgr_tas_engine(m);
    mgr_view_init(m);
    sl_manager_configure(m, spec->settings, &spec->parts);
    return m;
}

void sl_manager_free(struct sl_manager *m) {
    if (!m)
        return;
    sl_inf_free(m->inf);
    mgr_features_end(m);
    sl_map_done(&m->by_uid);
    sl_effects_done(&m->effects);
    sl_freep(&m);
}

void sl_manager_configure(struct sl_manager *m, const struct sl_settings *settings,
                          const struct sl_manager_parts *parts) {
    bool exact = m->settings->flux.exact_nodes != settings->flux.exact_nodes;
    m->settings = settings;
    m->view.settings = settings;
    m->spec.parts = *parts;
    m->view.flux = parts->fluxqueue;
    struct sl_fact f = {
        .kind = SL_FACT_CONFIG, .at = m->spec.client->wall, .config = settings->engine};
    f.config.no_admission = !m->spec.parts.scheduler;
    f.config.no_lifecycle = !m->spec.parts.core;
    struct sl_err err;
    if (sl_engine_apply(m->engine, &f, NULL, &err) < 0)
        sl_log(SL_LOG_ERROR, "configuration rejected by the scheduling engine",
               SL_S("error", err.text));
    m->facts = true;
    /* Namespace selectors, retention and copied labels may have changed. */
    for (uint32_t i = 0; i < m->inf->recs.n; i++) {
        struct sl_rec *r = m->inf->recs.v[i];
        if (r && exact && r->kind == REC_CLUSTER_QUEUE)
            mgr_conf_resync(r);
        else if (r)
            sl_rec_enqueue(r);
    }
    mgr_groups_touch(m);
    bool fresh[SL_FW_COUNT];
    for (uint32_t i = 0; i < SL_FW_COUNT; i++) {
        fresh[i] = parts->framework[i] && !m->reads[i];
        m->reads[i] |= fresh[i];
    }
    start_watches(m);
    if (mgr_group_frameworks(fresh))
        mgr_pods_relist(m);
}

/* Writes of the last leader may not have been observed yet, by a watch or a list in flight: work
 * that it started would look stopped, and its quota free. We lead from lists that were requested
 * since. */
static bool last_leader_wrote(uint32_t k) {
    return k == REC_WORKLOAD || k == REC_JOB || k == REC_POD || k >= REC_KINDS;
}

void sl_manager_lead(struct sl_manager *m, bool lead) {
    if (m->elected == lead)
        return;
    m->elected = lead;
    set_leads(m, false);
    mgr_exact_observed(m);
    for (uint32_t k = 0; lead && k < kinds_of(m); k++)
        if (last_leader_wrote(k) && (k != REC_POD || mgr_group_frameworks(m->spec.parts.framework)))
            mgr_rec_relist(m, k);
}

static bool knows_what_last_leader_wrote(const struct sl_manager *m) {
    for (uint32_t k = 0; k < kinds_of(m); k++)
        if (last_leader_wrote(k) && sl_inf_watches(m->inf, k) && !sl_inf_synced(m->inf, k) &&
            !m->inf->tables[k].kind->optional)
            return false;
    return true;
}

static void take_over(struct sl_manager *m) {
    set_leads(m, true);
    m->facts = true;
    sl_vec_clear(&m->workloads->held);
    for (uint32_t i = 0; i < m->inf->recs.n; i++) {
        struct sl_rec *r = m->inf->recs.v[i];
        if (!r || r->gone)
            continue;
        if (r->kind == REC_WORKLOAD)
            mgr_wl_forget(m, mgr_wl_of(r));
        sl_rec_enqueue(r);
        sl_rec_write(r);
    }
    mgr_groups_touch(m);
}

/* ---- the turn ---- */

/*
 * A conflict shows that another client wrote, and that our watch of workloads has not delivered it
 * yet. Other changes that it has not delivered may hold quota, so nothing is decided before it has
 * caught up; a watch that does not is started again.
 */
static bool stream_is_behind(struct sl_manager *m) {
    struct sl_rec_table *t = &m->inf->tables[REC_WORKLOAD];
    if (t->ahead_rv <= t->stream_rv)
        return false;
    if (m->spec.client->mono - t->ahead_since > MAX_LAG) {
        t->ahead_since = m->spec.client->mono;
        sl_inf_watch(m->inf, REC_WORKLOAD);
    }
    return true;
}

void sl_manager_tick(struct sl_manager *m) {
    bool whole = start_pods(m);
    whole &= sl_inf_poll(m->inf);
    if (!whole && !m->inf->ready) {
        mgr_sweep_symbols(
            m); /* a list may never come in, and what others show changes all the time */
        return;
    }
    if (m->elected && !m->leads && knows_what_last_leader_wrote(m))
        take_over(m);
    if (sl_inf_wake(m->inf))
        mgr_groups_touch(m);
    bool sees = whole && m->leads && !stream_is_behind(m);
    for (uint32_t pass = 0;; pass++) {
        if (pass == SL_INF_MAX_PASSES) { /* others are not to wait for it for ever */
            sl_log(SL_LOG_ERROR, "reconciliation did not converge",
                   SL_I("passes", SL_INF_MAX_PASSES));
            break;
        }
        bool any = sl_inf_pass(m->inf);
        any |= mgr_job_rows_turn(m);
        mgr_exact_turn(m);
        mgr_tas_requeue_refused(m);
        mgr_tas_nodes_failed(m);
        mgr_capacity_turn(m);
        /* A turn may find that it has to see more (mgr_pods_watch_nodes). */
        bool due = sees && sl_inf_all_synced(m->inf) &&
                   (m->facts || sl_engine_next(m->engine) <= m->spec.client->wall);
        if (due)
            mgr_run_cycle(m);
        if (!any && !due)
            break;
    }
    m->inf->ready = true;
    mgr_exact_observed(m);
    mgr_sweep_symbols(m);
    sl_inf_flush(m->inf);
}

/* A wall time as a point of the monotonic clock. */
static sl_time on_mono(const struct sl_manager *m, sl_time wall) {
    const struct sl_kube_client *p = m->spec.client;
    return wall == SL_TIME_NEVER ? wall : sl_time_add(p->mono, wall > p->wall ? wall - p->wall : 0);
}

sl_time sl_manager_next(const struct sl_manager *m) {
    sl_time at = sl_inf_next(m->inf);
    if (!m->inf->ready || !sl_inf_all_synced(m->inf))
        return at;
    const struct sl_rec_table *t = &m->inf->tables[REC_WORKLOAD];
    if (m->leads && t->ahead_rv > t->stream_rv)
        at = sl_time_min(at, t->ahead_since + MAX_LAG + 1);
    else if (m->leads)
        at = sl_time_min(at,
                         m->facts ? m->spec.client->mono : on_mono(m, sl_engine_next(m->engine)));
    return sl_time_min(sl_time_min(at, sl_inf_next_timer(m->inf)), mgr_capacity_next(m));
}

bool sl_manager_ready(const struct sl_manager *m) {
    return m->inf->ready;
}

bool sl_manager_idle(const struct sl_manager *m) {
    return sl_inf_idle(m->inf) && !(m->facts && m->leads);
}

struct sl_engine *sl_manager_engine(struct sl_manager *m) {
    return m->engine;
}
