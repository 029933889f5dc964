/* SPDX-License-Identifier: Apache-2.0 */
/* What a FluxJob shows: its status, read at the start and written when something was decided. */
#include <string.h>

#include "core/base/fmt.h"
#include "manager/fluxqueue/fq_int.h"

#define TAG_STATUS 1u
#define TAG_SPEC 2u

static const char *const states[FQ_STATES] = {
    [FQ_PENDING] = "Pending",     [FQ_WAITING] = "Waiting",     [FQ_RESERVED] = "Reserved",
    [FQ_RUNNING] = "Running",     [FQ_COMPLETED] = "Completed", [FQ_FAILED] = "Failed",
    [FQ_CANCELLED] = "Cancelled", [FQ_REJECTED] = "Rejected",
};

/* Of fluxqueue, which had four. */
static const char *const submit_states[FQ_STATES] = {
    [FQ_PENDING] = "statusNew",      [FQ_WAITING] = "statusSubmit",
    [FQ_RESERVED] = "statusSubmit",  [FQ_RUNNING] = "statusSubmit",
    [FQ_COMPLETED] = "statusSubmit", [FQ_FAILED] = "statusError",
    [FQ_CANCELLED] = "statusCancel", [FQ_REJECTED] = "statusError",
};

static const char *const selections[] = {
    [SL_SELECT_IMMEDIATE] = "immediate",
    [SL_SELECT_BACKFILL] = "backfill",
    [SL_SELECT_RESERVED] = "reserved",
};

const char *fq_state_name(enum fq_state s) {
    return states[s];
}

/* ---- reading ---- */

static void read_places(struct sl_fluxqueue *q, struct fq_job *j, yyjson_val *nodes) {
    size_t i, n;
    yyjson_val *x;
    sl_vec_clear(&j->places);
    yyjson_arr_foreach (nodes, i, n, x) {
        sl_sym node = sl_sym_put(&q->inf->syms, sl_json_str(x, "name"));
        int32_t pods = sl_json_int32(x, "pods", 1);
        uint32_t kind = (uint32_t)sl_json_int32(x, "slot", 0);
        for (int32_t k = 0; node && k < pods && j->places.n < FQ_MAX_PODS; k++)
            *sl_vec_push(&j->places) =
                (struct fq_place){node, FQ_NO_POD, kind < FQ_MAX_KINDS ? kind : 0, 0};
    }
    fq_places_sort(j); /* somebody else may have written it */
}

/* What the ledger gets to know of one that has ended, if it did not yet. */
static void read_end(struct sl_fluxqueue *q, struct fq_job *j, yyjson_val *status) {
    static const char *const reasons[] = {"Completed", "Failed", "ObjectDeleted", "Deleted"};
    const char *reason = sl_json_str(status, "reason");
    _cleanup_(sl_buf_done) struct sl_buf nodes = SL_BUF_SHORT(FQ_MAX_NODE);
    for (size_t i = 0; i < SL_LEN(reasons); i++)
        if (strcmp(reasons[i], reason) == 0)
            j->reason = reasons[i];
    fq_set_text(&j->message, sl_json_str(status, "message"));
    if (!q->spec.ledger)
        return;
    fq_put_node_list(q, j, &nodes);
    fq_set_text(&j->ran_on, sl_buf_str(&nodes));
    j->ran = j->places.n;
}

/* What it had decided when it led is not so: its pods go nowhere, and stand on no node. */
static void leave_places(struct sl_fluxqueue *q, struct fq_job *j) {
    struct fq_pods_of at = {0};
    for (struct fq_pod *p; (p = fq_job_next_pod(q, j, &at));) {
        fq_pod_charge(q, p, p->ended ? 0 : fq_pod_at(p));
        fq_pod_target(q, p, 0);
    }
}

void fq_status_decode(struct sl_fluxqueue *q, struct fq_job *j, yyjson_val *status) {
    const char *state = sl_json_str(status, "state"), *how = sl_json_str(status, "selection");
    int64_t jobid = sl_json_int(status, "jobid", 0);
    bool held = j->held;
    j->state = FQ_PENDING;
    j->reason = NULL; /* not that of before, when this process led: another has written since */
    fq_set_text(&j->message, NULL);
    j->expected = (uint32_t)sl_json_int32(status, "pods.expected", 0);
    j->bound_pods = (uint32_t)sl_json_int32(status, "pods.bound", 0);
    j->ended_pods = (uint32_t)sl_json_int32(status, "pods.finished", 0);
    fq_set_text(&j->queue, sl_json_str(status, "queue"));
    for (enum fq_state s = 0; s < FQ_STATES; s++)
        if (strcmp(states[s], state) == 0)
            j->state = s;
    for (enum sl_selection s = 0; s < SL_LEN(selections); s++)
        if (strcmp(selections[s], how) == 0)
            j->selection = s;
    if (jobid != j->jobid)
        fq_name_job(q, j, jobid > 0 && jobid < FQ_MAX_JOBID ? jobid : 0);
    j->submitted = sl_json_time(status, "submittedAt");
    j->started = sl_json_time(status, "startedAt");
    j->finished = sl_json_time(status, "finishedAt");
    j->position = (uint32_t)sl_json_int32(status, "queuePosition", 0);
    j->estimate = sl_json_time(status, "estimatedStart");
    j->recorded.resumed = *state != '\0';
    fq_graph_free_left(q, j);
    read_places(q, j, sl_json_get(status, "nodes"));
    j->admitted = 0; /* of its own places, when this process led, it knew more */
    j->held = j->state == FQ_RUNNING && j->jobid; /* also if its nodes are gone: it grows then */
    if (fq_job_is_over(j))
        read_end(q, j, status);
    if (j->held)
        q->rebuild = true; /* with what it has */
    else
        sl_vec_clear(&j->places);
    if (held && !j->held)
        leave_places(q, j);
    q->moved = true;
}

/* ---- writing ---- */

static void put_nodes(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_jw *w) {
    uint32_t listed = 0;
    sl_jw_array(w, "nodes");
    for (uint32_t i = 0, n; i < j->places.n && listed < FQ_MAX_LISTED; i += n, listed++) {
        for (n = 1; i + n < j->places.n && fq_same_places(&j->places.v[i], &j->places.v[i + n]);)
            n++;
        sl_jw_object(w, NULL);
        sl_jw_str(w, "name", fq_str(q, j->places.v[i].node));
        sl_jw_int(w, "pods", n);
        if (j->n_kinds)
            sl_jw_int(w, "slot", j->places.v[i].kind);
        sl_jw_end(w);
    }
    sl_jw_end(w);
}

/* "node[0-3],login", for the column; what is too long ends in dots. */
static void put_node_list(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_jw *w) {
    char text[FQ_MAX_SHOWN + 1];
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(FQ_MAX_NODE);
    fq_put_node_list(q, j, &b);
    if (b.len > FQ_MAX_SHOWN)
        sl_fmt(text, sizeof text, "%.*s...", (int)(FQ_MAX_SHOWN - 3), sl_buf_str(&b));
    sl_jw_str(w, "nodeList", b.len > FQ_MAX_SHOWN ? text : sl_buf_str(&b));
}

static void put_time(struct sl_jw *w, const char *key, sl_time t) {
    if (t)
        sl_jw_time(w, key, t);
    else
        sl_jw_null(w, key);
}

/* A merge patch: what is not there is null, so that nothing of before stays. */
static void put_status(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_jw *w) {
    sl_jw_object(w, "status");
    sl_jw_str(w, "state", states[j->state]);
    sl_jw_str(w, "submitStatus", submit_states[j->state]);
    if (j->jobid)
        sl_jw_int(w, "jobid", j->jobid);
    if (j->reason) {
        sl_jw_str(w, "reason", j->reason);
        sl_jw_str(w, "message", j->message);
    }
    if (*j->queue)
        sl_jw_str(w, "queue", j->queue);
    else
        sl_jw_null(w, "queue");
    if (j->position)
        sl_jw_int(w, "queuePosition", j->position);
    else
        sl_jw_null(w, "queuePosition");
    put_time(w, "estimatedStart", j->estimate);
    sl_jw_bool(w, "reservation", j->state == FQ_RESERVED);
    put_time(w, "submittedAt", j->submitted);
    put_time(w, "startedAt", j->started);
    put_time(w, "finishedAt", j->finished);
    if (j->held)
        sl_jw_str(w, "selection", selections[j->selection]);
    if (j->held || j->places.n) {
        put_nodes(q, j, w);
        put_node_list(q, j, w);
    } else if (j->state != FQ_COMPLETED && j->state != FQ_FAILED && j->state != FQ_CANCELLED) {
        sl_jw_null(w, "nodes"); /* those of a job that has ended show where it ran */
        sl_jw_null(w, "nodeList");
    }
    sl_jw_object(w, "pods");
    sl_jw_int(w, "expected", j->expected);
    sl_jw_int(w, "bound", j->bound_pods);
    sl_jw_int(w, "finished", j->ended_pods);
    sl_jw_end(w);
    sl_jw_int(w, "observedGeneration", j->rec.generation);
    sl_jw_end(w);
}

/* What its object asks for now. */
static const char *wanted_jobspec(const struct sl_fluxqueue *q, const struct fq_job *j) {
    struct sl_rec *o = fq_job_object(q, j);
    if (!o || j->held || !fq_job_follows(j, o) ||
        (o->kind == FQ_GROUP && !fq_group_of(o)->complete))
        return NULL;
    const char *now = fq_object_jobspec(o);
    return now && strcmp(now, j->jobspec) != 0 ? now : NULL;
}

bool fq_job_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_fluxqueue *q = ctx;
    struct fq_job *j = fq_job_of(r);
    const char *jobspec = wanted_jobspec(q, j);
    if (!q->leads || (j->held && !fq_job_committed(j) && fq_exact_puts_off(q)))
        return false;
    if (r->deleting && !j->held && !fq_history_needs_status(q, j)) {
        if (!r->finalizer || !fq_ids_covers(q, j->jobid) || !fq_history_settled(q, j))
            return false;
        sl_rec_build_finalizer(r, false, w);
        return true;
    }
    /* The status first: admission refuses another jobspec while that says that it runs. */
    if (j->version != j->written) {
        if ((q->unranked || q->resubmitted) && j->queued && j->estimate && j->state == FQ_WAITING)
            return false; /* the next pass says what becomes of its reservation */
        w->tag = TAG_STATUS;
        j->sent = j->version;
        sl_rec_build_guarded(r, "status", w);
        sl_jw_end(&w->json);
        put_status(q, j, &w->json);
        return true;
    }
    if (!jobspec || r->deleting)
        return false;
    w->tag = TAG_SPEC;
    sl_rec_build_guarded(r, NULL, w);
    sl_jw_end(&w->json);
    sl_jw_object(&w->json, "spec");
    sl_jw_str(&w->json, "jobspec", jobspec);
    sl_jw_int(&w->json, "nodes", j->expected);
    return true;
}

void fq_job_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply) {
    struct sl_fluxqueue *q = ctx;
    struct fq_job *j = fq_job_of(r);
    (void)reply;
    if (how == SL_WRITE_REFUSED && w->tag == TAG_STATUS) {
        j->recorded.unwritten = true; /* then it goes without */
        sl_rec_write(r);
    }
    if (how != SL_WRITTEN)
        return;
    if (w->tag == TAG_STATUS) {
        j->recorded.unwritten = false;
        j->written = j->sent;
        j->our_status = j->status;
        if ((int32_t)(j->written - j->left_version) >= 0)
            fq_graph_free_left(q, j);
        if (j->version == j->written)
            fq_history_sync(q, j);
        sl_rec_enqueue(r);
    }
    if (j->version != j->written)
        sl_rec_write(r);
}
