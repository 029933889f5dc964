/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that wait: their requests, the pass over the queue, and what becomes of its decisions. */
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/stamp.h"
#include "manager/fluxqueue/fq_int.h"

/* What of a jobspec is needed when it is not compiled: to hold its places again. */
static void keep_slot(struct fq_job *j, const struct fq_jobspec_info *info) {
    for (uint32_t i = 0; i < j->n_slot; i++)
        sl_freep(&j->slot[i].type);
    j->slot = sl_realloc(j->slot, info->n_slot, sizeof *j->slot);
    j->n_slot = info->n_slot;
    for (uint32_t i = 0; i < info->n_slot; i++)
        j->slot[i] = (struct fq_slot_amount){sl_strdup(info->slot[i].type), info->slot[i].amount};
    j->whole_nodes = info->whole_nodes;
    j->duration = info->duration;
}

int fq_compile(struct sl_fluxqueue *q, struct fq_job *j, uint32_t pods, struct sl_arena *a,
               struct fq_jobspec_info *info, struct sl_match_request **ret, struct sl_err *err) {
    const char *text = j->jobspec ? j->jobspec : "";
    int r = fq_jobspec_compile(sl_match_graph(q->match), &q->universe, text, strlen(text), pods, a,
                               info, ret, err);
    if (r >= 0 && sl_arena_full(a)) {
        sl_match_request_freep(ret);
        r = sl_err_set(err, SL_ELIMIT, "the jobspec is too large");
    }
    if (r >= 0 && pods == 0)
        keep_slot(j, info);
    return r;
}

/* ---- submission ---- */

static uint64_t submission_hash(const struct fq_job *j) {
    uint64_t h = sl_hash_str(sl_hash_str(1, j->jobspec ? j->jobspec : ""), j->queue);
    return sl_hash_u64(h, (uint64_t)(uint32_t)j->priority) | 1;
}

static void refuse(struct fq_job *j, int code, const struct sl_err *err) {
    if (code == SL_ENOENT)
        fq_job_set_state(j, FQ_WAITING, "NoSuchResource", "%s", err->text);
    else
        fq_job_set_state(j, FQ_REJECTED, "InvalidJobspec", "%s", err->text);
}

static bool has_id(const struct sl_fluxqueue *q, int64_t jobid, uint32_t rec) {
    sl_map_foreach (i, &q->by_jobid, (uint64_t)jobid)
        if (i == rec)
            return true;
    return false;
}

void fq_name_job(struct sl_fluxqueue *q, struct fq_job *j, int64_t jobid) {
    if (j->jobid && has_id(q, j->jobid, j->rec.id))
        (void)sl_map_del(&q->by_jobid, (uint64_t)j->jobid, j->rec.id);
    j->jobid = jobid;
    if (jobid)
        sl_map_add(&q->by_jobid, (uint64_t)jobid, j->rec.id);
    if (jobid > q->last_jobid)
        q->last_jobid = jobid;
}

static struct fq_job *job_by_id(const struct sl_fluxqueue *q, int64_t jobid) {
    uint32_t i = sl_map_get(&q->by_jobid, (uint64_t)jobid);
    struct sl_rec *r = i == SL_MAP_NONE ? NULL : q->inf->recs.v[i];
    return r && r->kind == FQ_FLUXJOB && fq_job_of(r)->jobid == jobid ? fq_job_of(r) : NULL;
}

/* Begin times are kept by a timer, not by a place in the queue. */
static bool too_early(struct sl_fluxqueue *q, struct fq_job *j, int64_t begin) {
    char text[SL_STAMP_TEXT];
    if (begin <= fq_now(q))
        return false;
    sl_time at = sl_span_seconds(begin);
    fq_job_set_state(j, FQ_WAITING, "BeginTime", "Not to be started before %s", sl_stamp(at, text));
    sl_rec_reconcile_at(&j->rec, at);
    return true;
}

/* Of those that came in the same second the one with the lower id was first, also when all are
 * submitted again. */
static int64_t submission_order(const struct fq_job *j) {
    return fq_order(j->submitted, (uint64_t)j->jobid);
}

/* The same words after a restart, when it is submitted again. */
static void set_waiting(struct fq_job *j) {
    fq_job_set_state(j, FQ_WAITING, "Submitted", "Waits in the queue");
}

static bool is_impossible(struct sl_fluxqueue *q, const struct sl_match_request *r) {
    enum sl_match_verdict verdict = SL_SATISFIABLE;
    struct sl_err err = {0};
    return sl_match_run(q->match, r, SL_MATCH_SATISFIABILITY, 0, fq_now(q), &verdict, NULL, &err) >=
               0 &&
           verdict == SL_NEVER;
}

static void reject(struct sl_fluxqueue *q, struct fq_job *j) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    _cleanup_(sl_match_request_freep) struct sl_match_request *request = NULL;
    struct fq_jobspec_info info = {0};
    struct sl_err err = {0};
    j->queued = false;
    j->estimate = 0;
    j->rejected = q->capacity;
    if (fq_compile(q, j, 0, &arena, &info, &request, &err) >= 0 && fq_graph_could(q, request)) {
        fq_job_set_state(j, FQ_WAITING, "Busy", "Pods of others use what it requests");
        return;
    }
    fq_job_set_state(j, FQ_REJECTED, "Unsatisfiable",
                     "No set of nodes has what it requests, even if all were free");
    sl_rec_event(&j->rec, FQ_CONTROLLER, true, "Unsatisfiable", "%s", j->message);
}

void fq_submit(struct sl_fluxqueue *q, struct fq_job *j) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    struct fq_jobspec_info info = {0};
    struct sl_match_request *request = NULL;
    struct sl_err err = {0};
    uint64_t hash = submission_hash(j);

    if (j->queued_hash == hash && (j->queued || j->rejected == q->capacity))
        return;
    if (!q->match) {
        fq_job_set_state(j, FQ_WAITING, "NoNodes", "The cluster has no nodes");
        return;
    }
    if (j->queued)
        fq_graph_release(q, j); /* what it asks for has changed */
    int r = fq_compile(q, j, 0, &arena, &info, &request, &err);
    if (r < 0) {
        refuse(j, r, &err);
        return;
    }
    if (too_early(q, j, info.begin > j->begin ? info.begin : j->begin)) {
        sl_match_request_free(request);
        return;
    }
    if (!j->submitted)
        j->submitted = q->client->wall;
    if (!j->jobid)
        fq_name_job(q, j, q->last_jobid + 1);
    if (is_impossible(q, request)) { /* told so at once, whoever waits before it */
        sl_match_request_free(request);
        j->queued_hash = hash;
        reject(q, j);
        return;
    }
    const char *queue = *j->queue ? j->queue : info.queue && *info.queue ? info.queue : NULL;
    r = sl_queues_submit(q->queues, queue, j->jobid, j->priority, submission_order(j), request,
                         &err);
    if (r == SL_EEXIST) { /* somebody has written another's id into its status */
        fq_name_job(q, j, 0);
        sl_rec_enqueue(&j->rec);
        return;
    }
    if (r < 0) {
        fq_job_set_state(j, FQ_REJECTED, r == SL_ENOENT ? "NoSuchQueue" : "NotSubmitted", "%s",
                         err.text);
        return;
    }
    j->queued = true;
    j->queued_hash = hash;
    j->rejected = 0;
    q->moved = true;
    q->reordered = true;
    set_waiting(j);
}

/* ---- decisions ---- */

sl_sym fq_node_at(struct sl_fluxqueue *q, sl_vtx v) {
    uint32_t rec = q->by_vertex.v[v];
    return rec == UINT32_MAX ? 0 : sl_sym_put(&q->inf->syms, q->inf->recs.v[rec]->name);
}

/* The node of each pod: so many of `pods` as were given there. A node that is given whole has all
 * its pods in the grant; its share of the slots counts then. */
static void take_places(struct sl_fluxqueue *q, struct fq_job *j, const struct sl_grant *g) {
    const struct sl_graph *graph = sl_match_graph(q->match);
    sl_sym pods = sl_sym_find(sl_graph_syms(graph), "pods");
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < g->picks.n; i++)
        nodes += sl_graph_vertex(graph, g->picks.v[i].v)->type == pods;
    for (uint32_t i = 0; i < g->picks.n; i++) {
        const struct sl_pick *p = &g->picks.v[i];
        sl_sym node = sl_graph_vertex(graph, p->v)->type == pods ? fq_node_at(q, p->v) : 0;
        if (!node)
            continue;
        int64_t n = j->whole_nodes ? g->n_slots / nodes : p->needs;
        for (int64_t k = 0; k < n && j->places.n < FQ_MAX_PODS; k++)
            *sl_vec_push(&j->places) = (struct fq_place){node, FQ_NO_POD};
    }
}

static uint32_t count_nodes(const struct fq_job *j) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->places.n; i++)
        n += i == 0 || j->places.v[i].node != j->places.v[i - 1].node;
    return n;
}

static void start(struct sl_fluxqueue *q, struct fq_job *j, const struct sl_decision *d) {
    static const char *const how[] = {
        [SL_SELECT_IMMEDIATE] = "Started at once",
        [SL_SELECT_BACKFILL] = "Backfilled before a job with a reservation",
        [SL_SELECT_RESERVED] = "Started as reserved",
    };
    struct sl_grant g = {0};
    if (sl_match_grant(q->match, j->jobid, &g) >= 0)
        take_places(q, j, &g);
    sl_grant_done(&g);
    j->queued = false;
    j->held = true;
    if (count_nodes(j) > FQ_MAX_LISTED) { /* what its status does not list would be forgotten */
        fq_graph_release(q, j);
        j->rejected = q->capacity;
        fq_job_set_state(j, FQ_REJECTED, "TooManyNodes",
                         "%u nodes are the most that a job can have", FQ_MAX_LISTED);
        return;
    }
    j->started = q->client->wall;
    j->estimate = 0;
    j->position = 0;
    j->selection = d->selection;
    fq_job_set_state(j, FQ_RUNNING, "Allocated", "%s", how[d->selection]);
    fq_job_touch(j);
    j->places_version = j->version;
    sl_rec_event(&j->rec, FQ_CONTROLLER, false, "Allocated", "%s on %u places", how[d->selection],
                 j->places.n);
}

void fq_retry_rejected(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    if (q->retried == q->capacity)
        return;
    q->retried = q->capacity;
    fq_plain_retry(q);
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_FLUXJOB, &at));)
        if (fq_job_of(r)->rejected)
            sl_rec_enqueue(r);
}

static void apply(struct sl_fluxqueue *q, const struct sl_decision *d) {
    if (d->jobid >= FQ_PLAIN_ID) {
        fq_plain_apply(q, d);
        return;
    }
    struct fq_job *j = job_by_id(q, d->jobid);
    if (!j)
        return;
    q->reordered = true;
    switch (d->kind) {
    case SL_DECIDED_START:
        start(q, j, d);
        break;
    case SL_DECIDED_RESERVE:
        j->reserved = sl_span_seconds(d->at);
        fq_show_estimate(q, j);
        break;
    case SL_DECIDED_UNRESERVE:
        j->estimate = 0;
        set_waiting(j);
        break;
    case SL_DECIDED_REJECT:
        reject(q, j);
        break;
    }
    sl_rec_enqueue(&j->rec);
}

/* Those that grow come behind those that have a reservation, also after a restart. */
static bool end_of_pass(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    if (!q->unranked)
        return false;
    q->unranked = false;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_FLUXJOB, &at));)
        if (fq_job_of(r)->held && fq_job_of(r)->missing)
            sl_rec_enqueue(r);
    return true;
}

bool fq_run(struct sl_fluxqueue *q) {
    if (!q->queues)
        q->moved = false; /* without nodes there is nothing to decide */
    if (!q->queues || (!q->moved && fq_now(q) < sl_queues_next(q->queues)))
        return false;
    q->moved = false;
    sl_vec_clear(&q->decisions);
    sl_queues_run(q->queues, fq_now(q), &q->decisions);
    for (uint32_t i = 0; i < q->decisions.n; i++)
        apply(q, &q->decisions.v[i]);
    fq_plain_retried(q);
    return end_of_pass(q) || q->decisions.n > 0;
}

/* ---- more of what it has ---- */

/* New places go beside those of the same node. */
static void sort_places(struct fq_job *j) {
    for (uint32_t i = 1; i < j->places.n; i++) {
        struct fq_place p = j->places.v[i];
        uint32_t at = i;
        for (uint32_t k = 0; k < i; k++)
            if (j->places.v[k].node == p.node)
                at = k + 1;
        if (at < i) {
            memmove(&j->places.v[at + 1], &j->places.v[at], (i - at) * sizeof p);
            j->places.v[at] = p;
        }
    }
}

/* So many more, matched as a job of their own. */
static bool match_more(struct sl_fluxqueue *q, struct fq_job *j, uint32_t pods,
                       struct sl_grant *ret) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    _cleanup_(sl_match_request_freep) struct sl_match_request *request = NULL;
    struct fq_jobspec_info info = {0};
    enum sl_match_verdict verdict = SL_BUSY;
    struct sl_err err = {0};
    int r = fq_compile(q, j, pods, &arena, &info, &request, &err);
    if (r >= 0)
        r = sl_match_run(q->match, request, SL_MATCH_ALLOCATE, -j->jobid, fq_now(q), &verdict, ret,
                         &err);
    return r >= 0 && verdict == SL_MATCHED;
}

/* All that are missing, or as many of them as halving finds; then all it has is held as one. */
void fq_grow(struct sl_fluxqueue *q, struct fq_job *j) {
    struct sl_grant g = {0};
    uint32_t n = j->missing;

    sl_rec_reconcile_at(&j->rec, sl_time_add(q->client->wall, FQ_GROW_PAUSE));
    if (!q->match || q->rebuild || q->taints_changed || q->unranked || q->unobserved ||
        q->client->mono < j->grow_at)
        return;
    while (n > 0 && !match_more(q, j, n, &g))
        n /= 2;
    if (n > 0) {
        take_places(q, j, &g);
        sort_places(j);
        fq_graph_cancel(q, -j->jobid);
        fq_graph_hold(q, j);
        fq_job_touch(j);
        j->places_version = j->version;
        sl_rec_enqueue(&j->rec);
    }
    if (n < j->missing)
        fq_job_set_state(j, FQ_RUNNING, "Growing", "%u of its pods wait for nodes", j->missing - n);
    if (n == 0)
        j->grow_at = q->client->mono + FQ_GROW_PAUSE;
    sl_grant_done(&g);
}
