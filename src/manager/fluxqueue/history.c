/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ledger gets to know: what the status of a FluxJob says, after the API server has
 * accepted it, or when it is read at the start. Events are numbered by what the status says, so
 * that those of before a restart are recognised, and nothing is recorded that was not so.
 *
 * Nothing of it is lost by a crash: what the API shows is reported again by the process that comes
 * next. For that a FluxJob goes only when its last status is in the API, and all that was recorded
 * of it in the ledger's file. A ledger that does not write (a full disk) is not waited for.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/graph/hostlist.h"
#include "lib/json/writer.h"
#include "lib/ledger/ceilings.h"
#include "manager/fluxqueue/fq_int.h"

/* More than the ledger takes: that it was cut is seen there. */
#define MAX_RESOURCES FQ_MAX_NODE

static const char *const type_names[SL_FLUX_TYPES + 1] = {
    [SL_FLUX_POD] = "Pod",
    [SL_FLUX_JOB] = "Job",
    [SL_FLUX_DEPLOYMENT] = "Deployment",
    [SL_FLUX_REPLICASET] = "ReplicaSet",
    [SL_FLUX_STATEFULSET] = "StatefulSet",
    [SL_FLUX_POD_GROUP] = "PodGroup",
    [SL_FLUX_TYPES] = "",
};

void fq_put_node_list(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_buf *out) {
    const char **names = sl_alloc0(j->places.n + 1, sizeof *names);
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->places.n; i++)
        if (i == 0 || j->places.v[i].node != j->places.v[i - 1].node)
            names[n++] = fq_str(q, j->places.v[i].node);
    sl_hostlist_write(names, n, out);
    sl_freep(&names);
}

static void put_amounts(const struct fq_slot_amount *v, uint32_t n, const char *key,
                        struct sl_jw *w) {
    sl_jw_object(w, key);
    for (uint32_t i = 0; i < n; i++)
        sl_jw_int(w, v[i].type, v[i].amount);
    sl_jw_end(w);
}

/* What one pod takes; of several kinds a list, with how many there are of each. */
static void put_resources(const struct fq_job *j, struct sl_buf *out) {
    struct sl_jw w = SL_JW(out);
    if (j->n_kinds) {
        sl_jw_array(&w, NULL);
        for (uint32_t k = 0; k < j->n_kinds; k++) {
            sl_jw_object(&w, NULL);
            sl_jw_int(&w, "count", j->kinds[k].count);
            put_amounts(j->kinds[k].v, j->kinds[k].n, "slot", &w);
            sl_jw_end(&w);
        }
        sl_jw_end(&w);
    } else if (j->n_slot) {
        put_amounts(j->slot, j->n_slot, NULL, &w);
    }
}

/* That of a job which names none is known when it is submitted. */
static const char *queue_of(const struct sl_fluxqueue *q, const struct fq_job *j) {
    return *j->queue || !j->submitted ? j->queue : q->spec.settings->flux.queues[0].name;
}

/* Pods that have places, or are to get them. */
static uint32_t size_of(const struct fq_job *j) {
    return j->held ? j->places.n : fq_job_is_over(j) && j->ran ? j->ran : j->expected;
}

/* Of a job each is later than the one before, also if the clock is not: a start may be ahead of it
 * (queue.c), and it may be set back. */
static void send(struct sl_fluxqueue *q, struct fq_recorded *was, struct sl_ledger_event *e) {
    struct sl_ledger_stats s;
    if (e->at < was->at)
        e->at = was->at;
    was->at = e->at;
    (void)sl_ledger_append(q->spec.ledger, e); /* what is dropped is counted there */
    sl_ledger_stats(q->spec.ledger, &s);
    was->mark = s.appended;
}

static bool is_waiting(const struct fq_job *j) {
    return j->state == FQ_PENDING || j->state == FQ_WAITING || j->state == FQ_RESERVED;
}

static void append(struct sl_fluxqueue *q, struct fq_job *j, enum sl_ledger_kind kind,
                   int64_t number, sl_time at) {
    _cleanup_(sl_buf_done) struct sl_buf nodes = SL_BUF_SHORT(FQ_MAX_NODE),
                                         resources = SL_BUF_SHORT(MAX_RESOURCES);
    const bool over = kind == SL_LEDGER_END || kind == SL_LEDGER_CANCEL; /* it has no pods then */
    /* As it is: the reason may be that of an event which was recorded. */
    const bool again = kind == SL_LEDGER_QUEUE && j->recorded.resumed;
    /* What became of it since is said by the events that follow. */
    const bool arrived = kind == SL_LEDGER_SUBMIT || kind == SL_LEDGER_GATHER;
    const bool mute = again || (arrived && !is_waiting(j));
    if (kind == SL_LEDGER_START && j->ran_on)
        sl_buf_puts(&nodes, j->ran_on);
    else if (!arrived)
        fq_put_node_list(q, j, &nodes);
    put_resources(j, &resources);
    struct sl_ledger_event e = {
        .uid = sl_text_of(j->rec.uid),
        .kind = kind,
        .number = number,
        .at = at,
        .ns = sl_text_of(sl_rec_ns(&j->rec)),
        .name = sl_text_of(j->object),
        .type = sl_text_of(type_names[j->type]),
        .flux_job = sl_text_of(j->rec.name),
        .queue = sl_text_of(queue_of(q, j)),
        .group = sl_text_of(j->type == SL_FLUX_POD_GROUP ? j->object : ""),
        .given = (j->jobid ? SL_LEDGER_JOBID : 0) | SL_LEDGER_PRIORITY |
                 (over ? 0 : SL_LEDGER_SIZE) | (j->slot_hash ? SL_LEDGER_DURATION : 0) |
                 (j->estimate ? SL_LEDGER_ESTIMATE : 0),
        .jobid = j->jobid,
        .priority = j->priority,
        .size = size_of(j),
        .duration = sl_span_seconds(j->duration),
        .estimate = j->estimate,
        .nodes = sl_text_of(sl_buf_str(&nodes)),
        .resources = sl_text_of(sl_buf_str(&resources)),
        .reason = sl_text_of(mute ? "" : j->reason),
        .message = sl_text_of(mute ? "" : j->message),
    };
    send(q, &j->recorded, &e);
}

/* Half of what may wait is left to what no object shows any more. */
static bool has_room(struct sl_fluxqueue *q) {
    struct sl_ledger_stats s;
    sl_ledger_stats(q->spec.ledger, &s);
    bool room =
        s.queued < SL_LEDGER_MAX_QUEUED / 2 && s.queued_bytes < SL_LEDGER_MAX_QUEUED_BYTES / 2;
    q->unrecorded |= !room;
    return room;
}

/* Records each thing once: what was recorded last is remembered by its number. Returns whether it
 * was another. */
static bool record(struct sl_fluxqueue *q, struct fq_job *j, enum sl_ledger_kind kind,
                   int64_t number, sl_time at, int64_t *last) {
    if (*last == number)
        return false;
    *last = number;
    append(q, j, kind, number, at);
    return true;
}

/* One that is rejected for what it says was never submitted. */
static sl_time submitted(const struct fq_job *j) {
    return j->submitted || j->state != FQ_REJECTED ? j->submitted : j->rec.created;
}

/* A group of ours, whose size is known. */
static bool is_group(const struct fq_job *j) {
    return j->type == SL_FLUX_POD_GROUP && j->rec.finalizer && j->expected;
}

/* A group is recorded from its first member on, others when they are submitted. */
static bool is_known(const struct fq_job *j) {
    return submitted(j) || j->recorded.gather || is_group(j);
}

static void sync_arrival(struct sl_fluxqueue *q, struct fq_job *j) {
    struct fq_recorded *was = &j->recorded;
    sl_time created = j->rec.created < q->client->wall ? j->rec.created : q->client->wall;
    bool is_new = is_group(j) && record(q, j, SL_LEDGER_GATHER, 1, created, &was->gather);
    if (submitted(j))
        is_new |= record(q, j, SL_LEDGER_SUBMIT, 1, submitted(j), &was->submit);
    if (!is_new)
        return;
    was->waits = true;
    was->size = size_of(j);
}

static void sync_start(struct sl_fluxqueue *q, struct fq_job *j) {
    struct fq_recorded *was = &j->recorded;
    sl_time at = j->started > j->submitted ? j->started : j->submitted;
    if (!record(q, j, SL_LEDGER_START, j->started / SL_SEC, at, &was->start))
        return;
    was->waits = false;
    was->reserve = 0;
    was->size = size_of(j);
}

/* It waits, perhaps after it had places, or was rejected; and has a reservation, or none any more.
 * All that may be so several times, and the status does not say how often: hence the version. */
static void sync_waiting(struct sl_fluxqueue *q, struct fq_job *j) {
    struct fq_recorded *was = &j->recorded;
    const int64_t reserve = j->state == FQ_RESERVED ? j->estimate / SL_SEC : 0,
                  number = -(int64_t)j->rec.rv;
    if (was->resumed || !was->waits || (j->submitted && was->size != size_of(j)))
        append(q, j, SL_LEDGER_QUEUE, number, q->client->wall);
    if (was->resumed || was->reserve != reserve)
        append(q, j, reserve ? SL_LEDGER_RESERVE : SL_LEDGER_UNRESERVE, number, q->client->wall);
    was->waits = true;
    was->reserve = reserve;
    was->size = size_of(j);
}

static void sync_running(struct sl_fluxqueue *q, struct fq_job *j) {
    struct fq_recorded *was = &j->recorded;
    if (was->resumed || was->size != size_of(j))
        append(q, j, SL_LEDGER_RESIZE, (int64_t)j->rec.rv, q->client->wall);
    was->size = size_of(j);
}

void fq_history_sync(struct sl_fluxqueue *q, struct fq_job *j) {
    struct fq_recorded *was = &j->recorded;
    if (!q->spec.ledger || !is_known(j) || !has_room(q))
        return;
    sync_arrival(q, j);
    if (j->started)
        sync_start(q, j);
    sl_freep(&j->ran_on);
    if (is_waiting(j))
        sync_waiting(q, j);
    else if (j->state == FQ_RUNNING)
        sync_running(q, j);
    else if (j->state == FQ_COMPLETED || j->state == FQ_FAILED)
        (void)record(q, j, SL_LEDGER_END, j->finished / SL_SEC, j->finished, &was->end);
    else if (j->state == FQ_CANCELLED)
        (void)record(q, j, SL_LEDGER_CANCEL, j->finished / SL_SEC, j->finished, &was->end);
    else if (!was->rejected)
        append(q, j, SL_LEDGER_REJECT, (int64_t)j->rec.rv, q->client->wall);
    was->rejected = j->state == FQ_REJECTED;
    if (was->rejected) {
        was->waits = false;
        was->reserve = 0;
    }
    was->resumed = false;
}

/* It is gone before its last status could be written. */
void fq_history_deleted(struct sl_fluxqueue *q, struct fq_job *j) {
    bool over = j->state == FQ_COMPLETED || j->state == FQ_FAILED;
    sl_time at = j->finished ? j->finished : q->client->wall;
    if (q->spec.ledger && is_known(j))
        (void)record(q, j, over ? SL_LEDGER_END : SL_LEDGER_CANCEL, at / SL_SEC, at,
                     &j->recorded.end);
}

bool fq_history_needs_status(const struct sl_fluxqueue *q, const struct fq_job *j) {
    return q->spec.ledger && is_known(j) && fq_job_is_over(j) && j->version != j->written &&
           !j->recorded.unwritten;
}

bool fq_history_settled(struct sl_fluxqueue *q, struct fq_job *j) {
    struct sl_ledger_stats s;
    sl_time now = q->client->mono;
    if (!q->spec.ledger || !is_known(j))
        return true;
    if (j->version == j->written)
        fq_history_sync(q, j);
    sl_ledger_stats(q->spec.ledger, &s);
    if (!j->recorded.until)
        j->recorded.until = now + FQ_LEDGER_PATIENCE;
    if ((s.written >= j->recorded.mark && !q->unrecorded) || now >= j->recorded.until)
        return true;
    sl_rec_write_at(&j->rec, now + FQ_LEDGER_PAUSE);
    return false;
}

/* When it was bound by a process of before is not known: not before it was there, and had a place.
 * A FluxJob that was made anew for what had ended was never submitted: nothing is said of it. */
void fq_history_bound(struct sl_fluxqueue *q, struct fq_job *j, struct fq_pod *p) {
    sl_time before = j->started > p->rec.created ? j->started : p->rec.created;
    if (!q->spec.ledger || p->recorded || !is_known(j) || (!p->bound && !has_room(q)))
        return;
    if (j->version == j->written)
        fq_history_sync(q, j); /* its start comes first */
    p->recorded = true;
    struct sl_ledger_event e = {
        .uid = sl_text_of(j->rec.uid),
        .kind = SL_LEDGER_POD_BIND,
        .number = (int64_t)(sl_digest_str(13, p->rec.uid) >> 1),
        .at = p->bound ? q->client->wall : before,
        .ns = sl_text_of(sl_rec_ns(&j->rec)),
        .name = sl_text_of(j->object),
        .message = sl_text_of(p->rec.name),
        .nodes = sl_text_of(fq_str(q, fq_pod_at(p))),
    };
    send(q, &j->recorded, &e);
}

void fq_history_tick(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    if (!q->unrecorded)
        return;
    q->unrecorded = false;
    if (!q->leads || !has_room(q))
        return;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_FLUXJOB, &at));)
        sl_rec_enqueue(r);
    at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_POD, &at));)
        if (fq_pod_of(r)->node && !fq_pod_of(r)->recorded)
            sl_rec_enqueue(r);
}
