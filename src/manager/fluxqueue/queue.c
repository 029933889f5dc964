/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that wait: their requests, the pass over the queue, and what becomes of its decisions. */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/bits.h"
#include "core/base/collection/hash.h"
#include "core/base/stamp.h"
#include "manager/fluxqueue/fq_int.h"

uint64_t fq_template_size(const struct sl_fluxqueue *q, const struct fq_job *j) {
    struct sl_rec *o = fq_job_object(q, j);
    const struct fq_usage *u = !o                  ? NULL
                               : o->kind == FQ_POD ? fq_pod_of(o)->usage
                                                   : fq_obj_of(o)->usage;
    return u ? u->size : 0;
}

const char *fq_job_text(const struct sl_fluxqueue *q, const struct fq_job *j) {
    struct sl_rec *o = j->held ? fq_job_object(q, j) : NULL;
    bool rolls =
        o && j->rec.owner == sl_rec_uid(o->uid) &&
        (o->kind == FQ_DEPLOYMENT || o->kind == FQ_REPLICASET || o->kind == FQ_STATEFULSET);
    return rolls && fq_obj_of(o)->jobspec ? fq_obj_of(o)->jobspec : j->jobspec ? j->jobspec : "";
}

/* Is a slot what such pods request? */
static bool is_slot_of(const struct sl_fluxqueue *q, const struct fq_job *j, uint64_t size) {
    const struct fq_usage *u = size ? fq_usage_of_size(q, size) : NULL;
    uint32_t n = 0, same = 0;
    for (uint32_t i = 0; u && i < u->n; i++) {
        n += u->v[i].amount > 0;
        for (uint32_t k = 0; k < j->n_slot; k++)
            same += u->v[i].amount > 0 && j->slot[k].amount == u->v[i].amount &&
                    strcmp(fq_type_of(fq_str(q, u->v[i].resource)), j->slot[k].type) == 0;
    }
    return n > 0 && same == n && n == j->n_slot;
}

static void set_slot(struct fq_job *j, const struct fq_slot_amount *v, uint32_t n) {
    for (uint32_t i = 0; i < j->n_slot; i++)
        sl_freep(&j->slot[i].type);
    j->slot = sl_realloc(j->slot, n, sizeof *j->slot);
    j->n_slot = n;
    for (uint32_t i = 0; i < n; i++)
        j->slot[i] = (struct fq_slot_amount){sl_strdup(v[i].type), v[i].amount};
}

/* What a pod of the template requests; nothing of a job without one. */
static void set_slot_of_template(const struct sl_fluxqueue *q, struct fq_job *j, uint64_t size) {
    const struct fq_usage *u = size ? fq_usage_of_size(q, size) : NULL;
    struct fq_slot_amount *v = sl_alloc0((u ? u->n : 0) + 1, sizeof *v);
    uint32_t n = 0;
    for (uint32_t i = 0; u && i < u->n; i++)
        if (u->v[i].amount > 0)
            v[n++] =
                (struct fq_slot_amount){fq_type_of(fq_str(q, u->v[i].resource)), u->v[i].amount};
    set_slot(j, v, n);
    sl_freep(&v);
}

/* What of a jobspec is needed when it is not compiled: to hold its places again. Where that is not
 * said in one place, as by alternatives, it is what the template requests. */
static void keep_slot(struct sl_fluxqueue *q, struct fq_job *j,
                      const struct fq_jobspec_info *info) {
    uint64_t size = fq_template_size(q, j);
    if (info->n_slot || info->n_kinds || info->whole_nodes)
        set_slot(j, info->slot, info->n_slot);
    else
        set_slot_of_template(q, j, size);
    fq_kinds_keep(j, info);
    j->slot_hash = fq_slot_hash(q, j);
    j->slot_size = is_slot_of(q, j, size) ? size : 0;
    j->whole_nodes = info->whole_nodes;
    j->duration = info->duration;
}

uint64_t fq_slot_hash(const struct sl_fluxqueue *q, const struct fq_job *j) {
    return sl_hash_u64(sl_hash_str(3, fq_job_text(q, j)), (uint64_t)j->seconds) | 1;
}

static int compile(struct sl_fluxqueue *q, const struct fq_job *j, const char *text,
                   const struct fq_jobspec_ask *ask, struct sl_arena *a,
                   struct fq_jobspec_info *info, struct sl_match_request **ret,
                   struct sl_err *err) {
    struct sl_constraint also = ask->also ? *ask->also : (struct sl_constraint){0};
    struct fq_jobspec_ask with = *ask;
    fq_volumes_where(q, j, a, &also);
    fq_own_where(q, j, a, &also);
    with.also = &also;
    with.duration = j->seconds;
    int r = fq_jobspec_compile_ask(sl_match_graph(q->match), &q->universe, text, strlen(text),
                                   &with, a, info, ret, err);
    if (r >= 0 && sl_arena_full(a)) {
        sl_match_request_freep(ret);
        r = sl_err_set(err, SL_ELIMIT, "the jobspec is too large");
    }
    return r;
}

int fq_compile(struct sl_fluxqueue *q, struct fq_job *j, uint32_t pods, struct sl_arena *a,
               struct fq_jobspec_info *info, struct sl_match_request **ret, struct sl_err *err) {
    const struct fq_jobspec_ask ask = {.pods = pods, .kind = FQ_ANY_KIND};
    return fq_compile_ask(q, j, &ask, a, info, ret, err);
}

int fq_compile_ask(struct sl_fluxqueue *q, struct fq_job *j, const struct fq_jobspec_ask *ask,
                   struct sl_arena *a, struct fq_jobspec_info *info, struct sl_match_request **ret,
                   struct sl_err *err) {
    int r = compile(q, j, fq_job_text(q, j), ask, a, info, ret, err);
    if (r >= 0 && ask->pods == 0)
        keep_slot(q, j, info);
    return r;
}

int fq_measure(struct sl_fluxqueue *q, struct fq_job *j, struct sl_err *err) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    const char *text = fq_job_text(q, j);
    struct fq_jobspec_info info = {0};
    int r = fq_jobspec_measure(text, strlen(text), j->seconds, &arena, &info, err);
    if (r < 0 || sl_arena_full(&arena))
        info = (struct fq_jobspec_info){.duration = j->seconds};
    keep_slot(q, j, &info);
    return r;
}

/* ---- submission ---- */

static uint64_t submission_hash(const struct fq_job *j) {
    uint64_t h = sl_hash_str(sl_hash_str(1, j->jobspec ? j->jobspec : ""), j->asked_queue);
    h = sl_hash_u64(sl_hash_u64(h, (uint64_t)j->seconds), (uint64_t)j->begin);
    return sl_hash_u64(h, (uint64_t)(uint32_t)j->priority) | 1;
}

void fq_drop_estimate(struct fq_job *j) {
    char text[SL_STAMP_TEXT];
    if (!j->estimate)
        return;
    sl_rec_event(&j->rec, FQ_CONTROLLER, true, "StartDelayed",
                 "Resources were reserved from %s on, and are not any more",
                 sl_stamp(j->estimate, text));
    j->estimate = 0;
    fq_job_touch(j);
}

static void refuse(struct fq_job *j, int code, const struct sl_err *err) {
    fq_drop_estimate(j);
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

/* Ids are given in their order. Behind the last one, which somebody must have written into a status
 * or into the ConfigMap, those are left that nobody has now. */
int64_t fq_next_jobid(struct sl_fluxqueue *q) {
    do
        q->last_jobid = q->last_jobid + 1 < FQ_MAX_JOBID ? q->last_jobid + 1 : 1;
    while (sl_map_get(&q->by_jobid, (uint64_t)q->last_jobid) != SL_MAP_NONE);
    return q->last_jobid;
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

static const char *queue_of(const struct sl_fluxqueue *q, const struct fq_job *j,
                            const struct fq_jobspec_info *info) {
    return *j->asked_queue               ? j->asked_queue
           : info->queue && *info->queue ? info->queue
                                         : q->spec.settings->flux.queues[0].name;
}

/* It is shown, and recorded. */
static void keep_queue(struct fq_job *j, const char *queue) {
    if (j->queue && strcmp(j->queue, queue) == 0)
        return;
    fq_set_text(&j->queue, queue);
    fq_job_touch(j);
}

/* The match policy of its queue. */
static uint32_t policy_of(const struct sl_fluxqueue *q, const struct fq_job *j,
                          const struct fq_jobspec_info *info) {
    uint32_t policy = 0;
    (void)sl_queues_match(q->queues, queue_of(q, j, info), &policy);
    return policy;
}

bool fq_impossible(struct sl_fluxqueue *q, const struct sl_match_request *r, uint32_t policy) {
    enum sl_match_verdict verdict = SL_SATISFIABLE;
    struct sl_err err = {0};
    return sl_match_run_by(q->match, policy, r, SL_MATCH_SATISFIABILITY, 0, fq_now(q), &verdict,
                           NULL, &err) >= 0 &&
           verdict == SL_NEVER;
}

static bool has_all(struct fq_node *n, const struct fq_usage *u) {
    for (uint32_t i = 0; i < u->n; i++) {
        const struct fq_pool *pool = fq_pool_find(n, u->v[i].resource);
        if (u->v[i].amount > (pool ? pool->allocatable : 0))
            return false;
    }
    return true;
}

/* Has any node what a pod of the template requests? A jobspec that somebody wrote may leave out
 * what its pods do request: it would start, and none of them ever be bound. */
static bool pods_fit(const struct sl_fluxqueue *q, const struct fq_job *j) {
    const struct fq_usage *u = j->slot_size ? NULL : fq_usage_of_size(q, fq_template_size(q, j));
    uint32_t at = 0;
    bool fit = !u;
    for (struct sl_rec *r; !fit && (r = sl_inf_each(q->inf, FQ_NODE, &at));)
        fit = fq_node_of(r)->usable && !r->gone && has_all(fq_node_of(r), u);
    return fit;
}

/* It can never run. */
static bool is_impossible(struct sl_fluxqueue *q, const struct fq_job *j,
                          const struct sl_match_request *request, uint32_t policy) {
    return !pods_fit(q, j) || fq_impossible(q, request, policy);
}

/* 'request' is what it asks for; NULL: it cannot be made any more. */
static void reject(struct sl_fluxqueue *q, struct fq_job *j,
                   const struct sl_match_request *request) {
    j->queued = false;
    fq_drop_estimate(j);
    j->rejected = q->capacity;
    if (request && pods_fit(q, j) && fq_graph_could(q, request)) {
        fq_job_set_state(j, FQ_WAITING, "Busy", "Pods of others use what it requests");
        return;
    }
    fq_job_set_state(j, FQ_REJECTED, "Unsatisfiable",
                     "No set of nodes has what it requests, " FQ_EVEN_IF_FREE);
    sl_rec_event(&j->rec, FQ_CONTROLLER, true, "Unsatisfiable", "%s", j->message);
}

/* The same of one that the queue has rejected, and freed what it had of it. */
static void reject_queued(struct sl_fluxqueue *q, struct fq_job *j) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    _cleanup_(sl_match_request_freep) struct sl_match_request *request = NULL;
    struct fq_jobspec_info info = {0};
    struct sl_err err = {0};
    if (fq_compile(q, j, 0, &arena, &info, &request, &err) < 0)
        request = NULL;
    reject(q, j, request);
}

void fq_submit(struct sl_fluxqueue *q, struct fq_job *j) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    struct fq_jobspec_info info = {0};
    struct sl_match_request *request = NULL;
    struct sl_err err = {0};
    uint64_t hash = sl_hash_u64(submission_hash(j), fq_volumes_hash(q, j));
    hash = sl_hash_u64(hash, fq_own_hash(q, j)) | 1;

    if (fq_volumes_wait(q, j))
        return;
    bool waits_its_turn = j->rejected == q->capacity || (j->rejected && !j->again);
    if (j->queued_hash == hash && (j->queued || waits_its_turn))
        return; /* fq_retry_rejected */
    if (!q->match) {
        fq_job_set_state(j, FQ_WAITING, "NoNodes", "The cluster has no nodes");
        return;
    }
    if (q->rebuild || q->taints_changed)
        return; /* all are looked at again when that is done */
    j->again = false;
    j->rejected = 0; /* until it is again: what else keeps it waiting ends otherwise */
    if (j->queued)
        fq_graph_release(q, j); /* what it asks for has changed */
    int r = fq_compile(q, j, 0, &arena, &info, &request, &err);
    if (r >= 0 && j->type == SL_FLUX_JOB && info.pods < j->expected) {
        sl_match_request_freep(&request);
        r = sl_err_set(&err, SL_EINVAL, "the jobspec has %u slots, and the Job %u pods", info.pods,
                       j->expected);
    }
    if (r < 0) {
        refuse(j, r, &err);
        return;
    }
    keep_queue(j, queue_of(q, j, &info));
    if (too_early(q, j, info.begin > j->begin ? info.begin : j->begin)) {
        fq_drop_estimate(j);
        sl_match_request_free(request);
        return;
    }
    if (!j->submitted)
        j->submitted = q->client->wall;
    if (!j->jobid)
        fq_name_job(q, j, fq_next_jobid(q));
    /* Before what depends on nodes: one of a queue that is not there is told so, whatever they
     * have. What can never run is told so at once, whoever waits before it. */
    uint32_t policy = 0;
    if (sl_queues_match(q->queues, queue_of(q, j, &info), &policy) &&
        is_impossible(q, j, request, policy)) {
        j->queued_hash = hash;
        reject(q, j, request);
        sl_match_request_free(request);
        return;
    }
    r = sl_queues_submit(q->queues, queue_of(q, j, &info), j->jobid, j->priority,
                         submission_order(j), request, &err);
    if (r == SL_EEXIST) { /* somebody has written another's id into its status */
        fq_name_job(q, j, 0);
        sl_rec_enqueue(&j->rec);
        return;
    }
    if (r == SL_ELIMIT) { /* there is room when others have started */
        fq_drop_estimate(j);
        fq_job_set_state(j, FQ_WAITING, "QueueIsFull", "%s", err.text);
        sl_rec_reconcile_at(&j->rec, sl_time_add(q->client->wall, FQ_FULL_PAUSE));
        return;
    }
    if (r < 0) {
        fq_drop_estimate(j);
        fq_job_set_state(j, FQ_REJECTED, r == SL_ENOENT ? "NoSuchQueue" : "NotSubmitted", "%s",
                         err.text);
        return;
    }
    j->queued = true;
    j->queued_hash = hash;
    j->rejected = 0;
    j->judged = q->shrunk;
    q->moved = true;
    q->reordered = true;
    q->resubmitted |= j->estimate != 0;
    set_waiting(j);
}

/* ---- decisions ---- */

sl_sym fq_node_at(struct sl_fluxqueue *q, sl_vtx v) {
    uint32_t rec = q->by_vertex.v[v];
    return rec == UINT32_MAX ? 0 : sl_sym_put(&q->inf->syms, q->inf->recs.v[rec]->name);
}

/* The node of each pod: so many of `pods` as were given there. A node that is given whole has all
 * its pods in the grant; its share of the slots counts then. */
static void take_places(struct sl_fluxqueue *q, struct fq_job *j, uint32_t kind,
                        const struct sl_grant *g, uint64_t size) {
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
            *sl_vec_push(&j->places) = (struct fq_place){node, FQ_NO_POD, kind, size};
    }
}

#define LISTED 48u /* bytes of a node in a status, besides its name */

/* What its status does not list would be forgotten by a restart. */
bool fq_places_fit(const struct sl_fluxqueue *q, const struct fq_job *j) {
    size_t n = 0, bytes = 0;
    for (uint32_t i = 0; i < j->places.n; i++) {
        if (i > 0 && fq_same_places(&j->places.v[i], &j->places.v[i - 1]))
            continue;
        n++;
        bytes += LISTED + strlen(fq_str(q, j->places.v[i].node));
    }
    return n <= FQ_MAX_LISTED && bytes <= FQ_MAX_LIST;
}

/* It has its resources, but not a place in the API: given back, and not tried again until there is
 * something new. */
static void give_up(struct sl_fluxqueue *q, struct fq_job *j) {
    fq_graph_release(q, j);
    j->rejected = q->capacity;
}

static void set_started(struct sl_fluxqueue *q, struct fq_job *j, const char *how) {
    j->started = q->client->wall;
    if (j->started / SL_SEC <= j->recorded.start) /* a second start in one second is another one */
        j->started = sl_span_seconds(j->recorded.start + 1);
    if (j->estimate && fq_now(q) > j->estimate / SL_SEC)
        fq_tell_delay(j, j->started);
    j->estimate = 0;
    j->position = 0;
    fq_job_set_state(j, FQ_RUNNING, "Allocated", "%s", how);
    fq_job_touch(j);
    j->places_version = j->version;
}

void fq_adopt(struct sl_fluxqueue *q, struct fq_job *j) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    _cleanup_(sl_match_request_freep) struct sl_match_request *request = NULL;
    struct fq_jobspec_info info = {0};
    struct sl_err err = {0};
    fq_graph_release(q, j);
    if (!j->submitted)
        j->submitted = q->client->wall;
    if (!j->jobid)
        fq_name_job(q, j, fq_next_jobid(q));
    if (fq_compile(q, j, 0, &arena, &info, &request, &err) >= 0)
        keep_queue(j, queue_of(q, j, &info));
    j->held = true;
    j->rejected = 0;
    j->selection = SL_SELECT_IMMEDIATE;
    set_started(q, j, "Its pods run already");
    sl_rec_event(&j->rec, FQ_CONTROLLER, false, "Allocated", "%s", j->message);
}

static void start(struct sl_fluxqueue *q, struct fq_job *j, const struct sl_decision *d) {
    static const char *const how[] = {
        [SL_SELECT_IMMEDIATE] = "Started at once",
        [SL_SELECT_BACKFILL] = "Backfilled before a job with a reservation",
        [SL_SELECT_RESERVED] = "Started as reserved",
    };
    struct sl_grant g = {0};
    bool known = sl_match_grant(q->match, j->jobid, &g) >= 0;
    if (known && j->n_kinds)
        known = fq_kinds_take(q, j, &g);
    else if (known)
        take_places(q, j, 0, &g, j->slot_size);
    sl_grant_done(&g);
    j->queued = false;
    j->held = true;
    j->admitted = q->node_changes;
    if (j->n_kinds && !known) {
        give_up(q, j);
        fq_job_set_state(j, FQ_REJECTED, "TooManyKinds",
                         "Which of its pods go to which nodes was not found in %u steps",
                         FQ_MAX_SPLIT);
        return;
    }
    if (j->type == SL_FLUX_JOB && j->places.n < j->expected) { /* it would wait again, for ever */
        uint32_t n = j->places.n;
        give_up(q, j);
        fq_job_set_state(j, FQ_REJECTED, "TooFewPlaces",
                         "The jobspec gives the Job %u places for %u pods", n, j->expected);
        return;
    }
    if (!fq_places_fit(q, j)) {
        give_up(q, j);
        fq_job_set_state(j, FQ_REJECTED, "TooManyNodes",
                         "%u nodes are the most that a job can have, and %zu KiB of their names",
                         FQ_MAX_LISTED, FQ_MAX_LIST >> 10);
        return;
    }
    j->selection = d->selection;
    set_started(q, j, how[d->selection]);
    sl_rec_event(&j->rec, FQ_CONTROLLER, false, "Allocated", "%s on %u place(s)", how[d->selection],
                 j->places.n);
}

/* How long some jobs take is not known before: a constraint may be one of thousands of terms, that
 * are looked at for thousands of nodes. When the next ones are due. */
static sl_time time_next(struct sl_fluxqueue *q) {
    sl_span pause = sl_time_min(FQ_RETRY_SHARE * q->retry_took, FQ_RETRY_LONGEST);
    q->timed = true;
    q->retried_at = q->client->mono;
    return q->client->mono + (pause > FQ_RETRY_PAUSE ? pause : FQ_RETRY_PAUSE);
}

void fq_retry_timed(struct sl_fluxqueue *q) {
    if (!q->timed)
        return;
    q->timed = false;
    q->retry_took = sl_time_min(q->client->mono - q->retried_at, FQ_RETRY_LONGEST);
    if (q->retry_took > FQ_RETRY_TURN)
        q->retries = 1 + (uint32_t)(q->retries * FQ_RETRY_TURN / q->retry_took) / 2;
    else
        q->retries = q->retries < FQ_MAX_RETRIES / 2 ? 2 * q->retries : FQ_MAX_RETRIES;
}

/* A round goes on where it was when more is free meanwhile; then those before that place have had
 * their turn too early, and another round follows. */
void fq_retry_rejected(struct sl_fluxqueue *q) {
    struct sl_rec *r = NULL;
    uint32_t n = 0, plain = q->rejected.n;
    if (q->client->mono < q->retry_due)
        return;
    if (q->plain_retried != q->capacity && fq_plain_retry(q, q->retries))
        q->plain_retried = q->capacity;
    plain -= q->rejected.n;
    if (!q->retry_at)
        q->retried = q->capacity;
    while (n < q->retries && (r = sl_inf_each(q->inf, FQ_FLUXJOB, &q->retry_at)))
        if (fq_job_of(r)->rejected && fq_job_of(r)->rejected != q->capacity) {
            fq_job_of(r)->again = true;
            sl_rec_enqueue(r);
            n++;
        }
    if (!r)
        q->retry_at = 0;
    if (n + plain)
        q->retry_due = time_next(q);
}

/* It waits for what can never be, and is told so, as it would be if it came now. */
static void judge(struct sl_fluxqueue *q, struct fq_job *j) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    _cleanup_(sl_match_request_freep) struct sl_match_request *request = NULL;
    struct fq_jobspec_info info = {0};
    struct sl_err err = {0};
    j->judged = q->shrunk;
    if (fq_compile(q, j, 0, &arena, &info, &request, &err) < 0 ||
        !is_impossible(q, j, request, policy_of(q, j, &info)))
        return;
    fq_graph_release(q, j);
    reject(q, j, request);
    sl_rec_enqueue(&j->rec);
}

void fq_judge_waiting(struct sl_fluxqueue *q) {
    struct sl_rec *r = NULL;
    uint32_t n = 0;
    if (q->client->mono < q->judge_due)
        return;
    if (!q->judge_at) {
        q->judged = q->shrunk;
        if (q->match)
            fq_plain_judge(q);
    }
    while (n < FQ_MAX_JUDGED && n < q->retries &&
           (r = sl_inf_each(q->inf, FQ_FLUXJOB, &q->judge_at)))
        if (fq_job_of(r)->queued && fq_job_of(r)->judged != q->shrunk) {
            judge(q, fq_job_of(r));
            n++;
        }
    if (!r)
        q->judge_at = 0;
    sl_time next = time_next(q);
    q->judge_due = r ? next : q->client->mono + FQ_JUDGE_PAUSE;
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
        fq_drop_estimate(j);
        set_waiting(j);
        break;
    case SL_DECIDED_REJECT:
        reject_queued(q, j);
        break;
    }
    sl_rec_enqueue(&j->rec);
}

/* Those that grow come behind those that have a reservation, also after a restart. What had one
 * before it was submitted has another one now, or none. */
static bool end_of_pass(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    if (!q->unranked && !q->resubmitted)
        return false;
    q->unranked = q->resubmitted = false;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_FLUXJOB, &at));) {
        struct fq_job *j = fq_job_of(r);
        if (j->held && j->missing)
            sl_rec_enqueue(r);
        if (j->queued && j->state != FQ_RESERVED)
            fq_drop_estimate(j);
    }
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

/* A place, and the first one of its node. */
struct ranked {
    struct fq_place place;
    uint32_t first, at;
};

static int by_first(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->place.kind != y->place.kind)
        return x->place.kind < y->place.kind ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

void fq_places_sort(struct fq_job *j) {
    struct ranked *v = sl_alloc0(j->places.n + 1, sizeof *v);
    struct sl_map first = {0}; /* by node */
    for (uint32_t i = 0; i < j->places.n; i++) {
        uint32_t at = sl_map_get(&first, j->places.v[i].node);
        if (at == SL_MAP_NONE)
            sl_map_add(&first, j->places.v[i].node, at = i);
        v[i] = (struct ranked){j->places.v[i], at, i};
    }
    qsort(v, j->places.n, sizeof *v, by_first);
    for (uint32_t i = 0; i < j->places.n; i++)
        j->places.v[i] = v[i].place;
    sl_map_done(&first);
    sl_freep(&v);
}

/* More of the pods of a job. */
struct more {
    const char *text; /* the jobspec that they are of */
    uint32_t kind, pods;
    const struct fq_pod *of; /* the pod that it is for; NULL: any */
    struct fq_spread spread; /* what holds between all pods of the job */
    bool fill;               /* on nodes that have lost some */
};

static void read_spread(struct sl_fluxqueue *q, struct fq_job *j, struct fq_spread *ret) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    _cleanup_(sl_match_request_freep) struct sl_match_request *request = NULL;
    const struct fq_jobspec_ask ask = {.kind = FQ_ANY_KIND};
    struct fq_jobspec_info info = {0};
    struct sl_err err = {0};
    struct sl_rec *o = fq_job_object(q, j);
    bool set = o && o->kind != FQ_POD && o->kind != FQ_GROUP && fq_job_follows(j, o);
    *ret = (struct fq_spread){0};
    if (compile(q, j, fq_job_text(q, j), &ask, &arena, &info, &request, &err) >= 0)
        fq_spread_read(q, &info, set ? fq_obj_of(o)->together : FQ_TOGETHER_UNKNOWN, ret);
}

/* Its places, node by node. */
static struct fq_kept *keep_places(const struct fq_job *j, struct sl_arena *a, uint32_t *ret_n) {
    struct fq_kept *v = sl_arena_alloc0(a, j->places.n + 1, sizeof *v);
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->places.n; i++) {
        if (n == 0 || v[n - 1].node != j->places.v[i].node)
            v[n++].node = j->places.v[i].node;
        v[n - 1].pods++;
    }
    *ret_n = n;
    return v;
}

/* So many more, matched as a job of their own beside what it has. */
static bool match_more(struct sl_fluxqueue *q, struct fq_job *j, const struct more *m,
                       struct sl_grant *ret) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    _cleanup_(sl_match_request_freep) struct sl_match_request *request = NULL;
    struct fq_jobspec_info info = {0};
    enum sl_match_verdict verdict = SL_BUSY;
    struct sl_err err = {0};
    struct sl_constraint also = {0};
    struct fq_jobspec_tier tiers[FQ_MAX_LEVELS + 1];
    const struct fq_jobspec_ask ask = {
        .pods = m->pods, .kind = m->kind, .also = &also, .tiers = tiers, .n_tiers = m->spread.n};
    uint32_t n_kept;
    const struct fq_kept *kept = keep_places(j, &arena, &n_kept);
    if (m->of)
        (void)fq_unbound_where(q, j, m->of, &arena, &also);
    else
        (void)fq_unbound_where_all(q, j, &arena, &also);
    if (m->of)
        fq_volumes_where_pod(q, m->of, &arena, &also);
    fq_spread_shape(q, &m->spread, m->pods, tiers);
    if (!fq_spread_where(q, &m->spread, tiers, kept, n_kept, m->fill, &arena, &also))
        return false;
    int r = compile(q, j, m->text, &ask, &arena, &info, &request, &err);
    if (r >= 0)
        r = sl_match_run_by(q->match, policy_of(q, j, &info), request, SL_MATCH_ALLOCATE, -j->jobid,
                            fq_now(q), &verdict, ret, &err);
    return r >= 0 && verdict == SL_MATCHED;
}

/* What was found is the job's from now on; false: it would be too much to be listed. */
static bool join(struct sl_fluxqueue *q, struct fq_job *j, uint32_t kind, const struct sl_grant *g,
                 uint64_t size) {
    uint32_t n = j->places.n;
    struct fq_place *before = sl_alloc0(n + 1, sizeof *before);
    if (n)
        memcpy(before, j->places.v, n * sizeof *before);
    take_places(q, j, kind == FQ_ANY_KIND ? 0 : kind, g, size);
    fq_places_sort(j);
    bool fits = fq_places_fit(q, j);
    if (!fits) {
        memcpy(j->places.v, before, n * sizeof *before);
        j->places.n = n;
    }
    sl_freep(&before);
    fq_graph_cancel(q, -j->jobid);
    fq_graph_hold(q, j);
    return fits;
}

static bool take_more(struct sl_fluxqueue *q, struct fq_job *j, const struct more *m,
                      uint64_t size) {
    struct sl_grant g = {0};
    bool found = match_more(q, j, m, &g) && join(q, j, m->kind, &g, size);
    sl_grant_done(&g);
    return found;
}

/* First what nodes have lost. Then all that are missing, or as many of them as halving finds; when
 * that is less, the others are tried again. */
static uint32_t grow_by(struct sl_fluxqueue *q, struct fq_job *j, uint32_t kind, uint32_t n,
                        const struct fq_pod *of) {
    struct more m = {.text = fq_job_text(q, j), .kind = kind, .pods = 1, .of = of, .fill = true};
    uint32_t filled = 0;
    if (n == 0)
        return 0;
    read_spread(q, j, &m.spread);
    while (filled < n && filled < FQ_MAX_FILLS && !q->rebuild && take_more(q, j, &m, j->slot_size))
        filled++;
    m.fill = false;
    for (n = q->rebuild ? 0 : n - filled; n > 0; n /= 2) {
        m.pods = n = fq_spread_round(&m.spread, n);
        if (take_more(q, j, &m, j->slot_size))
            break;
    }
    return filled + n;
}

/* Those that a rolling update has not reached yet, or somebody has changed, one by one. */
static uint32_t grow_odd(struct sl_fluxqueue *q, struct fq_job *j) {
    struct more m = {.kind = FQ_ANY_KIND, .pods = 1};
    struct fq_pods_of at = {0};
    uint32_t found = 0;
    sl_time until;
    read_spread(q, j, &m.spread);
    for (struct fq_pod *p; !q->rebuild && (p = fq_job_next_pod(q, j, &at));) {
        if (!fq_pod_is_odd(j, p) || !fq_pod_waits(p) || !p->jobspec ||
            fq_unbound_pauses(q, p, &until))
            continue;
        m.text = p->jobspec;
        m.of = p;
        found += take_more(q, j, &m, p->usage->size);
    }
    return found;
}

static void show_missing(const struct sl_fluxqueue *q, struct fq_job *j, uint32_t n) {
    const char *why = NULL;
    struct fq_pods_of at = {0};
    for (struct fq_pod *p; !why && (p = fq_job_next_pod(q, j, &at));)
        why = p->node || p->target || p->ended ? NULL : fq_unbound_text(p);
    if (!why)
        why = fq_unbound_job_text(q, j);
    if (why)
        fq_job_set_state(j, FQ_RUNNING, "BindingRefused", "%u of its pods wait for nodes. %s", n,
                         why);
    else
        fq_job_set_state(j, FQ_RUNNING, "Growing", "%u of its pods wait for nodes", n);
}

/* A pod without a place that has claims of its own: it is looked for by itself. */
static bool is_special(const struct sl_fluxqueue *q, const struct fq_job *j,
                       const struct fq_pod *p) {
    sl_time until;
    return p->claims && fq_pod_waits(p) && !fq_pod_is_odd(j, p) && !p->excess && !p->stranger &&
           !fq_unbound_pauses(q, p, &until);
}

/* How many of each kind are missing besides the special ones; of a job without kinds it is the
 * first. */
struct others {
    uint32_t missing[FQ_MAX_KINDS];
};

static void leave_out(const struct fq_job *j, const struct fq_pod *p, struct others *o) {
    uint32_t k = p->kind < j->n_kinds ? p->kind : 0;
    while (k + 1 < j->n_kinds && !o->missing[k]) /* it may be for any */
        k++;
    o->missing[k] -= o->missing[k] > 0;
}

/* One by one, as many in a turn as is worth it, and the next time those behind them first: one
 * whose volume is nowhere keeps nobody else of its job waiting. */
static uint32_t grow_special(struct sl_fluxqueue *q, struct fq_job *j, struct others *o) {
    SL_VEC(const struct fq_pod *) v = {0};
    struct fq_pods_of at = {0};
    uint32_t found = 0, tried = 0;
    for (struct fq_pod *p; (p = fq_job_next_pod(q, j, &at));)
        if (is_special(q, j, p)) {
            *sl_vec_push(&v) = p; /* NOLINT(bugprone-sizeof-expression): pointers */
            leave_out(j, p, o);
        }
    for (; tried < v.n && tried < FQ_MAX_SPECIALS && !q->rebuild; tried++) {
        const struct fq_pod *p = v.v[(j->special + tried) % v.n];
        found += grow_by(q, j, j->n_kinds ? p->kind : FQ_ANY_KIND, 1, p);
    }
    j->special = v.n ? (j->special + tried) % v.n : 0;
    sl_vec_free(&v);
    return found;
}

/* Of each kind; then all it has is held as one. */
static uint32_t grow_all(struct sl_fluxqueue *q, struct fq_job *j) {
    struct others o = {{j->missing - j->odd - j->paused}};
    uint32_t n = 0;
    for (uint32_t k = 0; k < j->n_kinds; k++)
        o.missing[k] = j->kinds[k].missing;
    n = grow_special(q, j, &o);
    if (j->n_kinds == 0)
        n += grow_by(q, j, FQ_ANY_KIND, o.missing[0], NULL);
    for (uint32_t k = 0; k < j->n_kinds; k++)
        n += grow_by(q, j, k, o.missing[k], NULL);
    return n + (j->odd ? grow_odd(q, j) : 0);
}

void fq_grow(struct sl_fluxqueue *q, struct fq_job *j) {
    sl_rec_reconcile_at(&j->rec, sl_time_add(q->client->wall, FQ_GROW_PAUSE));
    if (!q->match || q->client->mono < j->grow_at)
        show_missing(q, j, j->missing);
    if (!q->match || q->rebuild || q->taints_changed || q->unranked || q->unobserved ||
        q->client->mono < j->grow_at)
        return;
    uint32_t found = grow_all(q, j);
    if (found > 0) {
        fq_job_touch(j);
        j->places_version = j->version;
        sl_rec_enqueue(&j->rec);
    }
    if (found < j->missing)
        show_missing(q, j, j->missing - found);
    /* What was found before may be of no use to its pods: that shows when it is given out. */
    if (found == 0 || (j->grown && j->missing >= j->grown))
        j->grow_at = q->client->mono + FQ_GROW_PAUSE;
    j->grown = found ? j->missing : 0;
}

/* ---- where its places still are good ---- */

bool fq_places_admitted(struct sl_fluxqueue *q, struct fq_job *j, bool *ret) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    _cleanup_(sl_match_request_freep) struct sl_match_request *request = NULL;
    const struct fq_jobspec_ask ask = {.kind = FQ_ANY_KIND};
    struct fq_jobspec_info info = {0};
    struct sl_err err = {0};
    if (!q->match || q->rebuild || q->taints_changed)
        return false;
    if (compile(q, j, fq_job_text(q, j), &ask, &arena, &info, &request, &err) < 0)
        return false;
    const struct sl_graph *g = sl_match_graph(q->match);
    sl_vtx *v = sl_alloc((j->places.n + 1) * sizeof *v);
    uint64_t *admits = sl_alloc0(j->places.n / 64 + 1, sizeof *admits);
    for (uint32_t i = 0; i < j->places.n; i++) {
        const struct fq_node *n = fq_node_find(q, j->places.v[i].node);
        ret[i] = n && n->v != SL_VTX_NONE;
        v[i] = ret[i] ? n->v : sl_graph_root(g);
    }
    sl_match_request_admits(request, g, v, j->places.n, admits);
    for (uint32_t i = 0; i < j->places.n; i++)
        ret[i] &= sl_bits_get(admits, i);
    sl_freep(&admits);
    sl_freep(&v);
    return true;
}
