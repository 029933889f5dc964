/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds, the turn, and what can be seen from outside. */
#include "manager/fluxqueue/fluxqueue.h"

#include <stdlib.h>
#include <string.h>

#include "lib/log/log.h"
#include "manager/fluxqueue/fq_int.h"

#define MAX_IN_FLIGHT 64u
#define MAX_EVENTS 4096u /* to be written, or may become a series */

void fq_set_text(char **to, const char *text) {
    char *copy = text ? sl_strdup(text) : NULL;
    sl_freep(to);
    *to = copy;
}

int32_t fq_priority(yyjson_val *v, const char *path) {
    int64_t n = sl_json_int(v, path, 0);
    return n < INT32_MIN ? INT32_MIN : n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

#define OBJECT(version, names, name)                                                               \
    {                                                                                              \
        SL_REC_API(version, names, name),                                                          \
            .namespaced = true, .owners = true, .size = sizeof(struct fq_obj),                     \
            .query = "labelSelector=" SL_FLUX_SEEN, .wanted = fq_obj_wanted,                       \
            .decode = fq_obj_decode, .reconcile = fq_obj_reconcile, .deleted = fq_obj_deleted,     \
            .free = fq_obj_free, .lane_of = fq_obj_lane, .build = fq_obj_build,                    \
            .child = fq_obj_child, .child_written = fq_obj_child_written                           \
    }

/* While nothing is queued nobody pays for nodes and pods. */
static bool is_marked(void *ctx, yyjson_val *o) {
    struct sl_fluxqueue *q = ctx;
    (void)o;
    q->in_use = true;
    return false;
}

#define MARKED(which)                                                                              \
    {                                                                                              \
        SL_REC_CORE_API("pods", "Pod"), .namespaced = true, .metadata_only = true,                 \
                                        .query = (which), .size = sizeof(struct sl_rec),           \
                                        .wanted = is_marked                                        \
    }

static const struct sl_rec_kind kinds[FQ_KINDS] = {
    [FQ_CLASS] = {SL_REC_API("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass"),
                  .size = sizeof(struct fq_class), .decode = fq_class_decode},
    [FQ_LIMITS] = {SL_REC_CORE_API("limitranges", "LimitRange"), .namespaced = true,
                   .size = sizeof(struct fq_limits), .decode = fq_limits_decode,
                   .deleted = fq_limits_deleted, .free = fq_limits_free},
    [FQ_RUNTIME] = {SL_REC_API("node.k8s.io/v1", "runtimeclasses", "RuntimeClass"),
                    .size = sizeof(struct fq_limits), .decode = fq_limits_decode,
                    .deleted = fq_limits_deleted, .free = fq_limits_free},
    [FQ_NODE] = {SL_REC_CORE_API("nodes", "Node"), .size = sizeof(struct fq_node),
                 .decode = fq_node_decode, .deleted = fq_node_deleted, .free = fq_node_free,
                 .hold = fq_node_hold},
    [FQ_CLAIM] = {SL_REC_CORE_API("persistentvolumeclaims", "PersistentVolumeClaim"),
                  .namespaced = true, .size = sizeof(struct fq_claim), .decode = fq_claim_decode,
                  .deleted = fq_claim_deleted, .free = fq_claim_free, .hold = fq_claim_hold,
                  .build = fq_claim_build},
    [FQ_VOLUME] = {SL_REC_CORE_API("persistentvolumes", "PersistentVolume"),
                   .size = sizeof(struct fq_volume), .decode = fq_volume_decode,
                   .deleted = fq_claim_deleted, .free = fq_volume_free},
    [FQ_STORAGE] = {SL_REC_API("storage.k8s.io/v1", "storageclasses", "StorageClass"),
                    .size = sizeof(struct fq_storage), .decode = fq_storage_decode,
                    .deleted = fq_claim_deleted, .free = fq_storage_free},
    [FQ_DEPLOYMENT] = OBJECT("apps/v1", "deployments", "Deployment"),
    [FQ_REPLICASET] = OBJECT("apps/v1", "replicasets", "ReplicaSet"),
    [FQ_STATEFULSET] = OBJECT("apps/v1", "statefulsets", "StatefulSet"),
    [FQ_JOB] = OBJECT("batch/v1", "jobs", "Job"),
    [FQ_POD] = {SL_REC_CORE_API("pods", "Pod"), .namespaced = true, .owners = true,
                .size = sizeof(struct fq_pod), .wanted = fq_pod_wanted, .decode = fq_pod_decode,
                .reconcile = fq_pod_reconcile, .deleted = fq_pod_deleted, .free = fq_pod_free,
                .lane_of = fq_pod_lane, .hold = fq_pod_hold, .build = fq_pod_build,
                .written = fq_pod_written, .child = fq_obj_child,
                .child_written = fq_obj_child_written},
    [FQ_GROUP] = {SL_REC_CORE_API("pods", "PodGroup"), .namespaced = true,
                  .size = sizeof(struct fq_group), .reconcile = fq_group_reconcile,
                  .free = fq_group_free},
    [FQ_FLUXJOB] = {SL_REC_API(SL_FLUX_API, "fluxjobs", "FluxJob"), .namespaced = true,
                    .owners = true, .finalizer = FQ_FINALIZER, .size = sizeof(struct fq_job),
                    .decode = fq_job_decode, .reconcile = fq_job_reconcile,
                    .deleted = fq_job_deleted, .free = fq_job_free, .hold = fq_job_hold,
                    .lane_of = fq_job_lane, .build = fq_job_build, .written = fq_job_written},
    [FQ_MARKED] = MARKED("labelSelector=" SL_FLUX_SEEN),
    [FQ_NAMED] = MARKED("fieldSelector=spec.schedulerName=" SL_FLUX_SCHEDULER),
    [FQ_NAMED_SHORT] = MARKED("fieldSelector=spec.schedulerName=" SL_FLUX_SCHEDULER_SHORT),
};

/* ---- what is read ---- */

static void on_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                       const struct sl_kube_reply *reply) {
    (void)ctx, (void)r;
    if (how == SL_WRITE_REFUSED)
        sl_log(SL_LOG_WARN, "write rejected by the API server", SL_S("path", sl_buf_str(&w->path)),
               SL_I("status", reply->status));
}

static void hold_usages(void *ctx, struct sl_syms *t) {
    struct sl_fluxqueue *q = ctx;
    for (uint32_t i = 0; i < q->usages.n; i++)
        for (uint32_t k = 0; q->usages.v[i] && k < q->usages.v[i]->n; k++)
            sl_sym_hold(t, q->usages.v[i]->v[k].resource);
    for (uint32_t i = 0; i < q->ports.n; i++)
        sl_sym_hold(t, q->ports.v[i]);
    for (uint32_t i = 0; i < q->asked_ports.n; i++)
        sl_sym_hold(t, q->asked_ports.v[i].port);
    fq_exact_hold_names(q, t);
}

static bool has_objects(const struct sl_fluxqueue *q) {
    for (uint32_t k = FQ_DEPLOYMENT; k <= FQ_FLUXJOB; k++)
        if (q->inf->tables[k].n > 0)
            return true;
    return false;
}

/* What templates depend on is read before them. The first thing to queue: nodes and all pods are
 * read from now on. */
static void start_watches(struct sl_fluxqueue *q) {
    if (!sl_inf_watches(q->inf, FQ_JOB) && sl_inf_synced(q->inf, FQ_LIMITS) &&
        sl_inf_synced(q->inf, FQ_RUNTIME)) {
        for (uint32_t k = FQ_DEPLOYMENT; k <= FQ_FLUXJOB; k++)
            if (k != FQ_POD && k != FQ_GROUP)
                sl_inf_watch(q->inf, k);
        q->inf->ready = false;
    }
    q->in_use |= has_objects(q);
    if (q->uses_claims && !sl_inf_watches(q->inf, FQ_CLAIM)) {
        for (uint32_t k = FQ_CLAIM; k <= FQ_STORAGE; k++)
            sl_inf_watch(q->inf, k);
        q->inf->ready = false;
    }
    if (!q->in_use || sl_inf_watches(q->inf, FQ_NODE))
        return;
    for (uint32_t k = FQ_MARKED; k < FQ_KINDS; k++)
        sl_inf_unwatch(q->inf, k);
    sl_inf_watch(q->inf, FQ_CLASS);
    sl_inf_watch(q->inf, FQ_NODE);
    sl_inf_watch(q->inf, FQ_POD);
    q->inf->ready = false;
}

/* ---- life ---- */

/* Jobspecs are written when an object is read: all are read again. */
static void reread(struct sl_fluxqueue *q) {
    q->edition++;
    fq_nodes_relevel(q);
    for (uint32_t i = 0; i < q->inf->recs.n; i++) {
        struct sl_rec *r = q->inf->recs.v[i];
        if (r && !r->gone && r->kind >= FQ_DEPLOYMENT && r->kind <= FQ_POD)
            r->reread = true;
    }
    for (uint32_t k = FQ_DEPLOYMENT; k <= FQ_POD; k++)
        if (sl_inf_watches(q->inf, k))
            sl_inf_watch(q->inf, k);
}

static bool same_options(const struct fq_jobspec_options *o, const struct sl_settings *s) {
    bool same = o->duration == s->flux.default_duration / SL_SEC && o->n_levels == s->flux.n_levels;
    for (uint32_t i = 0; same && i < o->n_levels; i++)
        same = strcmp(o->levels[i].type, s->flux.levels[i].type) == 0 &&
               strcmp(o->levels[i].label, s->flux.levels[i].label) == 0;
    return same;
}

/* The settings of before are still there. */
void sl_fluxqueue_configure(struct sl_fluxqueue *q, const struct sl_settings *settings) {
    const char *policy = settings->flux.match_policy;
    struct sl_err err = {0};
    bool other = q->inf && !same_options(&q->options, settings);
    sl_assert(settings->flux.n_levels <= FQ_MAX_LEVELS);
    q->spec.settings = settings;
    q->options = (struct fq_jobspec_options){.levels = q->levels,
                                             .duration = settings->flux.default_duration / SL_SEC};
    for (uint32_t i = 0; i < settings->flux.n_levels; i++)
        q->levels[q->options.n_levels++] =
            (struct fq_level){settings->flux.levels[i].type, settings->flux.levels[i].label};
    if (other)
        reread(q);
    if (sl_match_policy_parse(policy, &q->policy, &err) < 0)
        sl_log(SL_LOG_WARN, "match policy not known", SL_S("policy", policy),
               SL_S("error", err.text));
    q->rebuild = true;
}

struct sl_fluxqueue *sl_fluxqueue_new(const struct sl_fluxqueue_spec *spec) {
    struct sl_fluxqueue *q = sl_alloc0(1, sizeof *q);
    q->spec = *spec;
    q->client = spec->client;
    q->elected = q->leads = !spec->standby;
    q->retries = FQ_MAX_RETRIES;
    sl_fluxqueue_configure(q, spec->settings);
    q->inf = sl_inf_new(&(struct sl_inf_spec){
        .client = spec->client,
        .kinds = kinds,
        .n_kinds = FQ_KINDS,
        .ctx = q,
        .field_manager = "sluice-fluxqueue",
        .max_in_flight = MAX_IN_FLIGHT,
        .seed = spec->seed,
        .hold = hold_usages,
        .written = on_written,
        .events = {.instance = spec->instance, .max_known = MAX_EVENTS},
    });
    q->inf->writes = q->leads;
    sl_inf_watch(q->inf, FQ_LIMITS);
    sl_inf_watch(q->inf, FQ_RUNTIME);
    for (uint32_t k = FQ_MARKED; k < FQ_KINDS; k++)
        sl_inf_watch(q->inf, k);
    q->in_use = spec->eager;
    start_watches(q);
    return q;
}

void sl_fluxqueue_free(struct sl_fluxqueue *q) {
    if (!q)
        return;
    fq_graph_free(q);
    fq_ids_forget(q);
    sl_inf_free(q->inf);
    fq_exact_done(q);
    fq_usages_done(q);
    fq_plain_done(q);
    sl_vec_free(&q->ports);
    sl_vec_free(&q->asked_ports);
    sl_vec_free(&q->claimants);
    sl_map_done(&q->limits_by_ns);
    sl_map_done(&q->by_jobid);
    sl_vec_free(&q->by_vertex);
    sl_vec_free(&q->decisions);
    sl_freep(&q);
}

static void set_leads(struct sl_fluxqueue *q, bool leads) {
    q->leads = q->inf->writes = leads;
    q->rebuild = true;
    q->decides = false;
    fq_ids_forget(q);
}

/* A new leader decides from a list that is newer than the last write of the one before, which may
 * have been itself: one that is still on its way would be carried out after that list, and say
 * something else than what is decided then. */
static void take_over(struct sl_fluxqueue *q) {
    struct sl_writer_stats s;
    sl_writer_stats(q->inf->writer, &s);
    if (!q->elected || q->leads || s.in_flight)
        return;
    set_leads(q, true);
    q->inf->ready = false;
    for (uint32_t i = 0; i < q->inf->recs.n; i++) {
        struct sl_rec *r = q->inf->recs.v[i];
        if (!r || r->gone)
            continue;
        /* What it decided when it led before, and did not write any more, is nobody's decision. */
        if (r->kind == FQ_FLUXJOB && !r->create_planned) {
            r->reread = true;
            fq_job_of(r)->adopted = false;
        }
        if (r->kind == FQ_POD && !fq_pod_of(r)->bound)
            fq_pod_send(q, fq_pod_of(r), 0); /* the list is newer */
        sl_rec_enqueue(r);
        sl_rec_write(r);
    }
    for (uint32_t k = 0; k < FQ_KINDS; k++)
        if (sl_inf_watches(q->inf, k))
            sl_inf_watch(q->inf, k);
}

void sl_fluxqueue_lead(struct sl_fluxqueue *q, bool lead) {
    if (q->elected == lead)
        return;
    q->elected = lead;
    if (lead)
        take_over(q);
    else if (q->leads)
        set_leads(q, false);
}

bool sl_fluxqueue_ready(const struct sl_fluxqueue *q) {
    return q->inf->ready;
}

void sl_fluxqueue_reading(const struct sl_fluxqueue *q, struct sl_inf_reading *ret) {
    sl_inf_reading(q->inf, ret);
}

/* ---- the turn ---- */

/* Anybody can ask for a new graph, by a host port for example: it takes a share of the time. */
static sl_time next_rebuild(const struct sl_fluxqueue *q) {
    sl_span pause = sl_time_min(FQ_REBUILD_SHARE * q->rebuild_took, FQ_REBUILD_LONGEST);
    return q->rebuilt_at + (pause > FQ_REBUILD_PAUSE ? pause : FQ_REBUILD_PAUSE);
}

static bool rebuild_due(const struct sl_fluxqueue *q) {
    return (q->rebuild || q->taints_changed) && (!q->match || q->client->mono >= next_rebuild(q));
}

static void settle(struct sl_fluxqueue *q) {
    if (!sl_inf_settle(q->inf))
        sl_log(SL_LOG_ERROR, "reconciliation did not converge", SL_I("passes", SL_INF_MAX_PASSES));
}

/* Decides nothing on a graph that is not that of the nodes. */
static bool decide(struct sl_fluxqueue *q) {
    if (q->leads && fq_retry_wanted(q)) {
        fq_retry_rejected(q);
        settle(q);
    }
    if (rebuild_due(q)) {
        fq_graph_rebuild(q);
        return true;
    }
    if (q->leads && fq_judge_wanted(q) && !q->rebuild && !q->taints_changed) {
        fq_judge_waiting(q);
        settle(q);
    }
    return q->leads && !q->rebuild && !q->taints_changed && !q->unobserved && !q->yields &&
           fq_run(q);
}

/* Places in the queue change for all behind one that leaves it: shown together, now and then. */
static void show_positions(struct sl_fluxqueue *q) {
    sl_time now = q->client->mono;
    uint32_t at = 0;
    if (!q->reordered || !q->leads || (q->shown_at && now < q->shown_at + FQ_POSITION_PAUSE))
        return;
    q->reordered = false;
    q->shown_at = now;
    if (!q->estimated_at || now >= q->estimated_at + FQ_ESTIMATE_PAUSE)
        q->estimated_at = now;
    q->showing = true;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_FLUXJOB, &at));)
        if (fq_job_of(r)->queued)
            sl_rec_enqueue(r);
    settle(q);
    q->showing = false;
}

void sl_fluxqueue_tick(struct sl_fluxqueue *q) {
    if (q->rebuilt)
        q->rebuild_took = sl_time_min(q->client->mono - q->rebuilt_at, FQ_REBUILD_LONGEST);
    q->rebuilt = false;
    fq_retry_timed(q);
    take_over(q);
    start_watches(q);
    bool synced = sl_inf_poll(q->inf), was_ready = q->inf->ready;
    fq_ids_tick(q);
    q->inf->ready |= synced && sl_inf_watches(q->inf, FQ_JOB) && fq_ids_known(q);
    q->decides |= q->inf->ready && q->leads;    /* also while more kinds are read later */
    q->capacity += q->inf->ready && !was_ready; /* whoever was put off meanwhile may ask again */
    start_watches(q);
    if (!q->inf->ready)
        return;
    q->rebuild |= sl_inf_wake(q->inf); /* the clock was set, and the graph has the old time */
    fq_volumes_changed(q);
    fq_history_tick(q);
    if (rebuild_due(q))
        fq_graph_rebuild(q);
    settle(q);
    for (uint32_t i = 0; i < FQ_MAX_RUNS && decide(q); i++)
        settle(q);
    show_positions(q);
    sl_inf_flush(q->inf);
    fq_ids_tick(q);
    if (sl_syms_due(&q->inf->syms))
        sl_inf_sweep(q->inf);
}

sl_time sl_fluxqueue_next(const struct sl_fluxqueue *q) {
    sl_time at = sl_time_min(sl_inf_next(q->inf), sl_inf_next_timer(q->inf));
    at = sl_time_min(at, fq_ids_next(q));
    if ((q->in_use && !sl_inf_watches(q->inf, FQ_NODE)) ||
        (q->uses_claims && !sl_inf_watches(q->inf, FQ_CLAIM)))
        return q->client->mono;
    if (q->rebuilt || q->timed)
        return q->client->mono; /* to know what it took */
    if (!q->inf->ready)
        return at;
    if (q->rebuild || q->taints_changed)
        at = sl_time_min(at, next_rebuild(q));
    else if (q->moved && q->leads && q->queues && !q->unobserved)
        at = q->client->mono;
    if (q->leads && fq_retry_wanted(q))
        at = sl_time_min(at, q->retry_due);
    if (q->leads && fq_judge_wanted(q) && !q->rebuild && !q->taints_changed)
        at = sl_time_min(at, q->judge_due);
    if (q->unrecorded && q->leads)
        at = sl_time_min(at, q->client->mono + FQ_LEDGER_ROOM);
    if (q->reordered && q->leads)
        at = sl_time_min(at, q->shown_at + FQ_POSITION_PAUSE);
    if (q->leads && q->queues && !q->rebuild && !q->taints_changed && !q->unobserved &&
        sl_queues_next(q->queues) != SL_QUEUE_NEVER) {
        sl_time due = sl_span_seconds(sl_queues_next(q->queues));
        at = sl_time_min(at, due > q->client->wall
                                 ? sl_time_add(q->client->mono, due - q->client->wall)
                                 : q->client->mono);
    }
    return at;
}

bool sl_fluxqueue_idle(const struct sl_fluxqueue *q) {
    return q->inf->ready && sl_inf_idle(q->inf) && !q->rebuild && !q->taints_changed && !q->moved &&
           q->leads == q->elected && !(q->leads && (fq_retry_wanted(q) || fq_judge_wanted(q))) &&
           fq_ids_idle(q);
}

/* ---- looking in ---- */

const struct sl_match *sl_fluxqueue_match(const struct sl_fluxqueue *q) {
    return q->match;
}

static int by_name(const void *a, const void *b) {
    const struct sl_rec *x = *(struct sl_rec *const *)a, *y = *(struct sl_rec *const *)b;
    int r = strcmp(sl_rec_ns(x), sl_rec_ns(y));
    return r ? r : strcmp(x->name, y->name);
}

static void dump_job(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_jw *w) {
    sl_jw_object(w, NULL);
    sl_jw_str(w, "namespace", sl_rec_ns(&j->rec));
    sl_jw_str(w, "name", j->rec.name);
    sl_jw_str(w, "state", fq_state_name(j->state));
    sl_jw_int(w, "jobid", j->jobid);
    sl_jw_array(w, "places");
    for (uint32_t i = 0; i < j->places.n; i++)
        sl_jw_str(w, NULL, fq_str(q, j->places.v[i].node));
    sl_jw_end(w);
    sl_jw_end(w);
}

static const char *next_pool(const struct sl_fluxqueue *q, const struct fq_node *n,
                             const char *last) {
    const char *next = NULL;
    for (uint32_t i = 0; i < n->pools.n; i++) {
        const char *name = fq_str(q, n->pools.v[i].resource);
        if (strcmp(name, last) > 0 && (!next || strcmp(name, next) < 0))
            next = name;
    }
    return next;
}

static void dump_node(const struct sl_fluxqueue *q, const struct fq_node *n, struct sl_jw *w) {
    sl_jw_object(w, NULL);
    sl_jw_str(w, "name", n->rec.name);
    /* Pools stand in the order in which they were met: here by name. */
    for (const char *last = "", *next; (next = next_pool(q, n, last)); last = next)
        for (uint32_t i = 0; i < n->pools.n; i++)
            if (n->pools.v[i].foreign && strcmp(fq_str(q, n->pools.v[i].resource), next) == 0)
                sl_jw_int(w, next, n->pools.v[i].foreign);
    sl_jw_end(w);
}

/* Jobs list those that they bind. */
static void dump_pod(const struct sl_fluxqueue *q, const struct fq_pod *p, struct sl_jw *w) {
    if (!p->plain || !p->node || p->ended)
        return;
    sl_jw_object(w, NULL);
    sl_jw_str(w, "namespace", sl_rec_ns(&p->rec));
    sl_jw_str(w, "name", p->rec.name);
    sl_jw_str(w, "node", fq_str(q, p->node));
    sl_jw_end(w);
}

static void dump_kind(const struct sl_fluxqueue *q, enum fq_kind k, struct sl_jw *w) {
    uint32_t at = 0, n = 0;
    struct sl_rec **v = sl_alloc0(q->inf->tables[k].n + 1, sizeof *v);
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, k, &at));)
        v[n++] = r;
    qsort(v, n, sizeof *v, by_name);
    for (uint32_t i = 0; i < n; i++)
        if (k == FQ_FLUXJOB)
            dump_job(q, fq_job_of(v[i]), w);
        else if (k == FQ_POD)
            dump_pod(q, fq_pod_of(v[i]), w);
        else
            dump_node(q, fq_node_of(v[i]), w);
    sl_freep(&v);
}

void sl_fluxqueue_dump(const struct sl_fluxqueue *q, struct sl_buf *out) {
    struct sl_jw w = SL_JW(out);
    sl_jw_object(&w, NULL);
    sl_jw_array(&w, "jobs");
    dump_kind(q, FQ_FLUXJOB, &w);
    sl_jw_end(&w);
    sl_jw_array(&w, "pods");
    dump_kind(q, FQ_POD, &w);
    sl_jw_end(&w);
    sl_jw_array(&w, "nodes");
    dump_kind(q, FQ_NODE, &w);
    sl_jw_end_to(&w, 0);
}
