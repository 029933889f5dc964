/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a FluxJob. Its places count from the moment they are decided; what it wraps starts
 * when they are in the API; they are given back pod by pod, and all of them when it ends.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "core/base/stamp.h"
#include "manager/fluxqueue/fq_int.h"

bool fq_job_is_over(const struct fq_job *j) {
    return j->state == FQ_COMPLETED || j->state == FQ_FAILED || j->state == FQ_CANCELLED;
}

/* ---- decoding ---- */

/* Of a time that no sl_time can hold: long ago, or never. */
static int64_t begin_of(yyjson_val *spec) {
    const char *text = sl_json_str(spec, "beginTime");
    sl_time at;
    if (!*text || sl_stamp_parse(text, &at))
        return sl_json_time(spec, "beginTime") / SL_SEC;
    return strcmp(text, "1970") < 0 ? 0 : FQ_MAX_SECONDS;
}

bool fq_job_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_fluxqueue *q = ctx;
    struct fq_job *j = fq_job_of(r);
    yyjson_val *spec = sl_json_get(o, "spec"), *status = sl_json_get(o, "status");
    uint64_t hash = sl_json_hash(5, spec) | 1, seen = sl_json_hash(7, status);

    if (hash != j->spec) {
        int64_t type = sl_json_int(spec, "type", 0);
        j->spec = hash;
        j->type = type >= 0 && type < SL_FLUX_TYPES ? (enum sl_flux_type)type : SL_FLUX_TYPES;
        j->priority = fq_priority(spec, "priority");
        fq_set_text(&j->jobspec, sl_json_str(spec, "jobspec"));
        fq_set_text(&j->object, sl_json_str(spec, "name"));
        fq_set_text(&j->asked_queue, sl_json_str(spec, "queue"));
        j->begin = begin_of(spec);
        int64_t seconds = sl_json_int(spec, "duration", 0), before = j->seconds;
        j->seconds = seconds > 0 ? seconds : 0;
        if (j->held && j->seconds != before && !q->rebuild)
            fq_graph_hold(q, j); /* it has its places for so long */
    }
    if (j->adopted && q->leads && j->generation != r->generation)
        fq_job_touch(j); /* its generation is shown */
    j->generation = r->generation;
    /* The status is what this process decides, unless it has not decided anything yet. */
    if (!j->adopted || ((!q->leads || !q->decides) && seen != j->status)) {
        j->adopted = true;
        fq_status_decode(q, j, status);
        j->our_status = seen;
        j->written = j->places_version = j->version;
    } else if (seen != j->status && seen != j->our_status && !sl_rec_busy(r)) {
        fq_job_touch(j); /* somebody else wrote into it */
    }
    j->status = seen;
    return true;
}

void fq_job_free(struct sl_rec *r) {
    struct fq_job *j = fq_job_of(r);
    for (uint32_t i = 0; i < j->n_slot; i++)
        sl_freep(&j->slot[i].type);
    sl_freep(&j->slot);
    fq_kinds_free(j);
    sl_freep(&j->jobspec);
    sl_freep(&j->object);
    sl_freep(&j->asked_queue);
    sl_freep(&j->queue);
    sl_freep(&j->message);
    sl_freep(&j->ran_on);
    sl_freep(&j->unbound);
    sl_vec_free(&j->places);
    sl_vec_free(&j->left);
}

void fq_job_hold(struct sl_syms *t, struct sl_rec *r) {
    struct fq_job *j = fq_job_of(r);
    for (uint32_t i = 0; i < j->places.n; i++)
        sl_sym_hold(t, j->places.v[i].node);
    for (uint32_t i = 0; i < j->left.n; i++)
        sl_sym_hold(t, j->left.v[i].node);
    fq_unbound_hold(t, j->unbound);
}

uint32_t fq_job_lane(const struct sl_rec *r) {
    const struct fq_job *j = SL_CONTAINER_OF(r, const struct fq_job, rec);
    return !r->create_planned && !r->deleting && !j->held && !fq_job_is_over(j);
}

/* ---- what it wraps ---- */

/* Whatever has its name now. */
static struct sl_rec *find_object(const struct sl_fluxqueue *q, const struct fq_job *j) {
    static const uint8_t kinds[SL_FLUX_TYPES] = {
        [SL_FLUX_POD] = FQ_POD,
        [SL_FLUX_JOB] = FQ_JOB,
        [SL_FLUX_DEPLOYMENT] = FQ_DEPLOYMENT,
        [SL_FLUX_REPLICASET] = FQ_REPLICASET,
        [SL_FLUX_STATEFULSET] = FQ_STATEFULSET,
        [SL_FLUX_POD_GROUP] = FQ_GROUP,
    };
    return j->type == SL_FLUX_TYPES ? NULL
                                    : sl_inf_find_sym(q->inf, kinds[j->type], j->rec.ns, j->object);
}

struct sl_rec *fq_job_object(const struct sl_fluxqueue *q, const struct fq_job *j) {
    struct sl_rec *r = find_object(q, j);
    /* One that came later with the same name has a FluxJob of its own, when this one is gone. */
    if (r && j->rec.owner && j->rec.owner != sl_rec_uid(r->uid))
        return NULL;
    return r;
}

static struct sl_rec *next_pod_of(struct sl_rec *r) {
    while (r && r->kind != FQ_POD)
        r = r->next;
    return r;
}

struct fq_pod *fq_job_next_pod(const struct sl_fluxqueue *q, const struct fq_job *j,
                               struct fq_pods_of *at) {
    if (!at->begun) {
        struct sl_rec *o = fq_job_object(q, j);
        at->begun = true;
        if (!o)
            return NULL;
        if (o->kind == FQ_POD)
            return fq_pod_of(o);
        at->member = o->kind == FQ_GROUP ? fq_group_of(o)->first : NULL;
        struct sl_rec *kids = sl_inf_children(q->inf, sl_rec_uid(o->uid), NULL);
        if (o->kind == FQ_DEPLOYMENT)
            at->set = kids;
        else
            at->pod = next_pod_of(kids);
    }
    if (at->member) {
        struct fq_pod *p = at->member;
        at->member = p->group_next;
        return p;
    }
    while (!at->pod && at->set) {
        struct sl_rec *set = at->set;
        at->set = set->next;
        if (set->kind == FQ_REPLICASET)
            at->pod = next_pod_of(sl_inf_children(q->inf, sl_rec_uid(set->uid), NULL));
    }
    if (!at->pod)
        return NULL;
    struct fq_pod *p = fq_pod_of(at->pod);
    at->pod = next_pod_of(at->pod->next);
    return p;
}

/* ---- changes ---- */

void fq_job_touch(struct fq_job *j) {
    j->version++;
    sl_rec_write(&j->rec);
}

void fq_job_set_state(struct fq_job *j, enum fq_state s, const char *reason, const char *fmt, ...) {
    char text[FQ_MAX_MESSAGE];
    va_list ap;
    va_start(ap, fmt);
    sl_vfmt_short(text, sizeof text, fmt, ap);
    va_end(ap);
    if (j->state == s && j->reason && strcmp(j->reason, reason) == 0 && j->message &&
        strcmp(j->message, text) == 0)
        return;
    j->state = s;
    j->reason = reason;
    fq_set_text(&j->message, text);
    fq_job_touch(j);
}

/* ---- reconciling ---- */

/* Also one whose binding was sent: it may come to take of its node. */
static bool has_live_pods(const struct sl_fluxqueue *q, const struct fq_job *j) {
    struct fq_pods_of at = {0};
    for (struct fq_pod *p; (p = fq_job_next_pod(q, j, &at));)
        if (!p->ended && !p->rec.gone && fq_pod_at(p))
            return true;
    return false;
}

void fq_job_finish(struct sl_fluxqueue *q, struct fq_job *j, enum fq_state s, const char *reason,
                   const char *message) {
    fq_graph_release(q, j);
    j->finished = q->client->wall > j->started ? q->client->wall : j->started;
    j->estimate = 0;
    j->position = 0;
    j->bound_pods = 0; /* its pods have ended, or are gone */
    fq_job_set_state(j, s, reason, "%s", message);
}

static void count_ended(const struct sl_fluxqueue *q, struct fq_job *j) {
    struct fq_pods_of at = {0};
    uint32_t n = 0;
    for (struct fq_pod *p; (p = fq_job_next_pod(q, j, &at));)
        n += p->ended;
    if (n == j->ended_pods)
        return;
    j->ended_pods = n;
    fq_job_touch(j);
}

/* What it wraps has ended, or is gone? Then it gives back all it has. */
static bool ended(struct sl_fluxqueue *q, struct fq_job *j, struct sl_rec *o) {
    bool over = false, failed = false;
    if (fq_job_is_over(j))
        return true;
    count_ended(q, j);
    if (o && !o->gone) {
        over = o->kind == FQ_POD ? fq_pod_of(o)->ended : fq_obj_of(o)->finished;
        failed = o->kind == FQ_POD ? fq_pod_of(o)->failed : fq_obj_of(o)->failed;
    } else if (j->rec.owner) {
        over = j->rec.deleting; /* else the list of what it wraps may be older than its own */
    }
    if (!over || has_live_pods(q, j))
        return false;
    if (!o || o->gone)
        fq_job_finish(q, j, FQ_CANCELLED, "ObjectDeleted", "What it wraps has been deleted");
    else if (failed)
        fq_job_finish(q, j, FQ_FAILED, "Failed", "What it wraps has failed");
    else
        fq_job_finish(q, j, FQ_COMPLETED, "Completed", "What it wraps has ended");
    return true;
}

/* The place in the queue: at first, and then with those of all others (fluxqueue.c). */
static void show_position(struct sl_fluxqueue *q, struct fq_job *j) {
    struct sl_queue_waiting w;
    uint32_t position = 0;
    if (!j->queued && (q->rebuild || q->taints_changed))
        return; /* it is submitted again when that is done */
    if (j->queued && sl_queues_waiting(q->queues, j->jobid, &w) && w.place < FQ_MAX_POSITION)
        position = w.place + 1;
    if (position == j->position || (position && j->position && !q->showing))
        return;
    j->position = position;
    fq_job_touch(j);
}

void fq_tell_delay(struct fq_job *j, sl_time now) {
    char before[SL_STAMP_TEXT], after[SL_STAMP_TEXT];
    sl_rec_event(&j->rec, FQ_CONTROLLER, true, "StartDelayed",
                 "Resources were reserved from %s on, and are from %s on",
                 sl_stamp(j->estimate, before), sl_stamp(now, after));
}

void fq_show_estimate(struct sl_fluxqueue *q, struct fq_job *j) {
    char text[SL_STAMP_TEXT];
    if (j->state == FQ_RESERVED && j->estimate != j->reserved &&
        (!q->showing || q->estimated_at != q->client->mono)) {
        q->reordered = true;
        return;
    }
    if (j->estimate && j->reserved > j->estimate)
        fq_tell_delay(j, j->reserved);
    j->estimate = j->reserved;
    fq_job_set_state(j, FQ_RESERVED, "Reserved", "Resources are reserved from %s on",
                     sl_stamp(j->estimate, text));
}

bool fq_job_follows(const struct fq_job *j, const struct sl_rec *o) {
    return o->kind == FQ_GROUP ? j->rec.finalizer : j->rec.owner == sl_rec_uid(o->uid);
}

/* While it waits, the FluxJob that was made here follows what it wraps. */
static bool follows(const struct fq_job *j, const struct sl_rec *o) {
    const char *now = fq_object_jobspec(o);
    return !now || !fq_job_follows(j, o) || strcmp(now, j->jobspec) == 0;
}

/* It has nothing, and waits for nothing. */
static void set_empty(struct fq_job *j, const char *reason, const char *message) {
    if (j->expected || j->bound_pods || j->position || j->estimate) {
        j->expected = j->bound_pods = j->position = 0;
        j->estimate = 0;
        fq_job_touch(j);
    }
    fq_job_set_state(j, FQ_PENDING, reason, "%s", message);
}

/* Some of its pods are on nodes of the graph, though it has no places: they are of a FluxJob of
 * before, or of a Deployment that was deleted without them. */
static bool runs_already(const struct sl_fluxqueue *q, const struct fq_job *j,
                         const struct sl_rec *o) {
    struct fq_pods_of at = {0};
    if (o->kind == FQ_POD || o->kind == FQ_GROUP || !q->match || q->rebuild || q->taints_changed ||
        SL_CONTAINER_OF(o, const struct fq_obj, rec)->suspended)
        return false;
    for (struct fq_pod *p; (p = fq_job_next_pod(q, j, &at));)
        if (fq_pod_settled(q, p))
            return true;
    return false;
}

static void run(struct sl_fluxqueue *q, struct fq_job *j, struct sl_rec *o);

static void wait(struct sl_fluxqueue *q, struct fq_job *j, struct sl_rec *o) {
    uint32_t pods = o->kind == FQ_POD ? 1 : fq_obj_of(o)->pods;
    if (o->kind == FQ_GROUP && fq_group_waits(q, j, o))
        return;
    if (pods == 0) {
        fq_graph_release(q, j);
        set_empty(j, "ScaledToZero", "It has no pods");
        return;
    }
    if (runs_already(q, j, o)) {
        fq_adopt(q, j);
        run(q, j, o);
        return;
    }
    if (o->kind == FQ_POD)
        fq_plain_drop(q, fq_pod_of(o)); /* somebody has made it a job */
    (void)fq_obj_follow_pods(q, j, o);
    if (!follows(j, o)) {
        sl_rec_write(&j->rec); /* submitted when it says what is wanted now */
        return;
    }
    if (j->expected != pods) {
        j->expected = pods;
        fq_job_touch(j);
    }
    const char *refused = fq_object_refused(o);
    if (refused && !*j->jobspec && fq_job_follows(j, o)) {
        fq_job_set_state(j, FQ_REJECTED, "InvalidJobspec", "%s", refused);
        return;
    }
    fq_submit(q, j);
    show_position(q, j);
    if (j->queued && j->state == FQ_RESERVED)
        fq_show_estimate(q, j);
}

/* A Job that has not started, and has lost a place or wants more of them, could only start in part:
 * it waits again. Returns whether it is such a Job. */
static bool wait_again(struct sl_fluxqueue *q, struct fq_job *j, struct sl_rec *o) {
    if (o->kind != FQ_JOB || !fq_obj_of(o)->suspended || fq_obj_of(o)->finished ||
        j->places.n >= fq_obj_of(o)->pods)
        return false;
    if (sl_rec_busy(o))
        return true; /* its start may be on its way */
    sl_rec_event(&j->rec, FQ_CONTROLLER, true, "Requeued",
                 "%u of %u places are left, and it has not started", j->places.n,
                 fq_obj_of(o)->pods);
    fq_graph_release(q, j);
    j->started = 0;
    j->bound_pods = 0;
    wait(q, j, o);
    return true;
}

/* A Job whose pods request more than its template does would start in part, or hold what none of
 * them can have: it waits again for what they request. Returns whether it is such a Job. */
static bool wait_for_pods(struct sl_fluxqueue *q, struct fq_job *j, struct sl_rec *o) {
    if (!fq_obj_follow_pods(q, j, o) || o->kind != FQ_JOB || follows(j, o))
        return false;
    sl_rec_event(&j->rec, FQ_CONTROLLER, true, "Requeued",
                 "Its pods request more than its template, and none has started");
    fq_graph_release(q, j);
    j->started = 0;
    j->bound_pods = 0;
    fq_job_set_state(j, FQ_WAITING, "PodsChanged", "Its pods request more than its template");
    wait(q, j, o);
    return true;
}

static void run(struct sl_fluxqueue *q, struct fq_job *j, struct sl_rec *o) {
    if (wait_for_pods(q, j, o))
        return;
    fq_places_sync(q, j);
    if (wait_again(q, j, o))
        return;
    if (j->places.n == 0 && j->missing == 0 && j->expected == 0) {
        fq_graph_release(q, j); /* scaled to zero: a shrink to nothing is a cancel */
        set_empty(j, "ScaledToZero", "It has no pods");
        return;
    }
    bool refused = fq_kube_sync(q, j, o);
    if (j->missing)
        fq_grow(q, j);
    else if (!refused)
        fq_job_set_state(j, FQ_RUNNING, "Allocated", "All of its pods have places");
    if (fq_job_committed(j))
        sl_rec_write(o);
}

/* What it wraps is not there. One of two things is about to be seen: the object, or that this is
 * deleted, too. If neither comes, somebody has taken off the label by which the object is read: its
 * pods count as others', and this may not have the same nodes once more. */
static void miss_object(struct sl_fluxqueue *q, struct fq_job *j) {
    if (!j->missed)
        j->missed = q->client->mono;
    sl_span left = j->missed + FQ_OWNER_LATE - q->client->mono;
    if (left > 0) {
        sl_rec_reconcile_at(&j->rec, sl_time_add(q->client->wall, left));
        return;
    }
    fq_graph_release(q, j);
    set_empty(j, "ObjectUnmarked", "There is no such object with the label " SL_FLUX_SEEN);
}

/* Nobody says whose it is. One that was made here has lost its owner, which was deleted without
 * what belongs to it; one that somebody else made may wait for its object. */
static void lack_object(struct sl_fluxqueue *q, struct fq_job *j) {
    fq_graph_release(q, j);
    set_empty(j, "ObjectNotFound", "There is no such object");
    if (!j->rec.finalizer)
        return;
    if (!j->missed)
        j->missed = q->client->mono;
    sl_span left = j->missed + FQ_OWNER_LATE - q->client->mono;
    if (left > 0)
        sl_rec_reconcile_at(&j->rec, sl_time_add(q->client->wall, left));
    else
        sl_rec_plan_delete(&j->rec);
}

void fq_job_reconcile(void *ctx, struct sl_rec *r) {
    struct sl_fluxqueue *q = ctx;
    struct fq_job *j = fq_job_of(r);
    struct sl_rec *o = fq_job_object(q, j);
    char name[SL_REC_NAME];

    if (o)
        j->missed = 0;

    if (!q->leads) {
        fq_places_observe(q, j);
        return;
    }
    if (j->version == j->written)
        fq_history_sync(q, j);
    if (r->deleting && !has_live_pods(q, j)) {
        if (!ended(q, j, o))
            fq_job_finish(q, j, FQ_CANCELLED, "Deleted", "It has been deleted");
        sl_rec_write(r); /* the finalizer */
        return;
    }
    if (j->type == SL_FLUX_TYPES) {
        fq_job_set_state(j, FQ_REJECTED, "InvalidType", "spec.type: expected 0 to 5");
        return;
    }
    if (*j->object && strcmp(r->name, fq_job_name(j->type, j->object, name)) != 0) {
        fq_graph_release(q, j); /* an object has one FluxJob, which is found by its name */
        fq_job_set_state(j, FQ_REJECTED, "WrongName", "The FluxJob of %s has to be called %s",
                         j->object, name);
        return;
    }
    if (j->type == SL_FLUX_POD_GROUP && fq_group_over(q, j, o))
        return;
    if (j->type == SL_FLUX_POD && o && fq_pod_of(o)->group && !j->held && fq_job_follows(j, o)) {
        fq_graph_release(q, j); /* it has come to belong to a group */
        sl_rec_plan_delete(r);
        return;
    }
    if (ended(q, j, o))
        return;
    if (!o && j->rec.owner) {
        miss_object(q, j);
        return;
    }
    if (!o) {
        lack_object(q, j);
        return;
    }
    if (j->held)
        run(q, j, o);
    else if (!r->deleting)
        wait(q, j, o);
    if (o->kind == FQ_GROUP)
        fq_group_mark(j, o);
    else if ((j->state == FQ_REJECTED) !=
             (o->kind == FQ_POD ? fq_pod_of(o)->never : fq_obj_of(o)->told))
        sl_rec_write(o);
}

void fq_job_deleted(void *ctx, struct sl_rec *r) {
    struct sl_fluxqueue *q = ctx;
    struct fq_job *j = fq_job_of(r);
    if (q->leads)
        fq_history_deleted(q, j);
    (void)fq_ids_covers(q, j->jobid); /* one that somebody has made had no finalizer */
    fq_graph_release(q, j);
    fq_graph_free_left(q, j);
    fq_name_job(q, j, 0);
    struct sl_rec *o = find_object(q, j); /* also of a name that was cut */
    if (o)
        sl_rec_enqueue(o);
    fq_object_name_freed(q, r);
}
