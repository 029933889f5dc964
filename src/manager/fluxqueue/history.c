/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ledger gets to know: what the status of a FluxJob says, after the API server has
 * accepted it, or when it is read at the start. Events are numbered by what the status says, so
 * that those of before a restart are recognised, and nothing is recorded that was not so.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/graph/hostlist.h"
#include "lib/json/writer.h"
#include "manager/fluxqueue/fq_int.h"

#define MAX_RESOURCES ((size_t)16 << 10)

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

/* What one pod takes. */
static void put_resources(const struct fq_job *j, struct sl_buf *out) {
    struct sl_jw w = SL_JW(out);
    sl_jw_object(&w, NULL);
    for (uint32_t i = 0; i < j->n_slot; i++)
        sl_jw_int(&w, j->slot[i].type, j->slot[i].amount);
    sl_jw_end(&w);
}

static void append(struct sl_fluxqueue *q, const struct fq_job *j, enum sl_ledger_kind kind,
                   int64_t number, sl_time at) {
    _cleanup_(sl_buf_done) struct sl_buf nodes = SL_BUF(FQ_MAX_NODE),
                                         resources = SL_BUF(MAX_RESOURCES);
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
        .queue = sl_text_of(j->queue),
        .given = SL_LEDGER_JOBID | SL_LEDGER_PRIORITY | SL_LEDGER_SIZE | SL_LEDGER_DURATION |
                 (j->estimate ? SL_LEDGER_ESTIMATE : 0),
        .jobid = j->jobid,
        .priority = j->priority,
        .size = j->expected,
        .duration = sl_span_seconds(j->duration),
        .estimate = j->estimate,
        .nodes = sl_text_of(sl_buf_str(&nodes)),
        .resources = sl_text_of(j->n_slot ? sl_buf_str(&resources) : ""),
        .reason = sl_text_of(j->reason),
        .message = sl_text_of(j->message),
    };
    (void)sl_ledger_append(q->spec.ledger, &e); /* what is dropped is counted there */
}

/* Records each thing once: what was recorded last is remembered by its number. */
static void record(struct sl_fluxqueue *q, struct fq_job *j, enum sl_ledger_kind kind,
                   int64_t number, sl_time at, int64_t *last) {
    if (*last == number)
        return;
    *last = number;
    append(q, j, kind, number, at);
}

void fq_history_sync(struct sl_fluxqueue *q, struct fq_job *j) {
    struct fq_recorded *was = &j->recorded;
    if (!q->spec.ledger || !j->submitted)
        return;
    record(q, j, SL_LEDGER_SUBMIT, 1, j->submitted, &was->submit);
    if (j->state == FQ_RESERVED)
        record(q, j, SL_LEDGER_RESERVE, j->estimate / SL_SEC, q->client->wall, &was->reserve);
    else if (was->reserve && j->state == FQ_WAITING)
        record(q, j, SL_LEDGER_UNRESERVE, was->reserve, q->client->wall, &was->unreserve);
    if (j->started)
        record(q, j, SL_LEDGER_START, j->started / SL_SEC,
               j->started > j->submitted ? j->started : j->submitted, &was->start);
    if (j->state == FQ_RUNNING && was->size && was->size != j->places.n)
        append(q, j, SL_LEDGER_RESIZE, (int64_t)j->rec.rv, q->client->wall);
    was->size = j->state == FQ_RUNNING ? j->places.n : 0;
    if (j->state == FQ_COMPLETED || j->state == FQ_FAILED)
        record(q, j, SL_LEDGER_END, j->finished / SL_SEC, j->finished, &was->end);
    else if (j->state == FQ_CANCELLED)
        record(q, j, SL_LEDGER_CANCEL, j->finished / SL_SEC, j->finished, &was->end);
    else if (j->state == FQ_REJECTED)
        record(q, j, SL_LEDGER_REJECT, j->rec.generation, q->client->wall, &was->reject);
}

/* It is gone before its last status could be written. */
void fq_history_deleted(struct sl_fluxqueue *q, struct fq_job *j) {
    bool over = j->state == FQ_COMPLETED || j->state == FQ_FAILED;
    sl_time at = j->finished ? j->finished : q->client->wall;
    if (q->spec.ledger && j->submitted)
        record(q, j, over ? SL_LEDGER_END : SL_LEDGER_CANCEL, at / SL_SEC, at, &j->recorded.end);
}

void fq_history_bound(struct sl_fluxqueue *q, const struct fq_job *j, const struct fq_pod *p) {
    if (!q->spec.ledger)
        return;
    struct sl_ledger_event e = {
        .uid = sl_text_of(j->rec.uid),
        .kind = SL_LEDGER_POD_BIND,
        .number = (int64_t)(sl_digest_str(13, p->rec.uid) >> 1),
        .at = q->client->wall,
        .ns = sl_text_of(sl_rec_ns(&j->rec)),
        .name = sl_text_of(p->rec.name),
        .nodes = sl_text_of(fq_str(q, p->target)),
    };
    (void)sl_ledger_append(q->spec.ledger, &e);
}
