/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job ids are given out once. Those of FluxJobs that exist are in their status; that of one that is
 * deleted would be free again for a process that starts later, so the highest id that was ever
 * given is in a ConfigMap before a FluxJob with an id beyond it may go: its finalizer waits for
 * that. One write covers all that were given until then.
 *
 *     READ -> 200, 404: known -> a FluxJob goes that is not covered: WRITE -> done: it goes
 *                                                                          -> 409: READ
 *
 * An API server that refuses (403, no such namespace) is not asked again while this process leads:
 * ids are then as unique as the FluxJobs that are left, and nobody waits.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "lib/log/log.h"
#include "manager/fluxqueue/fq_int.h"

#define NAME "sluice-fluxqueue"
#define KEY "lastJobid"
#define MAX_PATH_BYTES 512u
#define MAX_BODY_BYTES 1024u
#define MAX_REPLY ((size_t)1 << 20)
#define PAUSE SL_SEC          /* between tries */
#define PATIENCE (5 * SL_SEC) /* with one of them */

static const char *namespace_of(const struct sl_fluxqueue *q) {
    return q->spec.ns ? q->spec.ns : q->spec.settings->ns;
}

/* FluxJobs that are to go are looked at again. */
static void enqueue_deleting(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_FLUXJOB, &at));)
        if (r->deleting)
            sl_rec_write(r);
}

static void refuse(struct sl_fluxqueue *q, int status) {
    sl_log(SL_LOG_WARN, "job ids not recorded", SL_S("namespace", namespace_of(q)),
           SL_S("configmap", NAME), SL_I("status", status));
    q->ids.known = q->ids.refused = true;
    enqueue_deleting(q);
}

static void retry(struct sl_fluxqueue *q, const struct sl_kube_reply *r) {
    q->ids.due = q->client->mono + (r->retry_after > PAUSE ? r->retry_after : PAUSE);
}

/* The ConfigMap as it is. */
static void observe(struct sl_fluxqueue *q, const struct sl_kube_reply *r) {
    _cleanup_(sl_json_docp) yyjson_doc *doc =
        r->len <= MAX_REPLY ? sl_json_doc(r->body, r->len) : NULL;
    yyjson_val *o = yyjson_doc_get_root(doc);
    const char *text = sl_json_str(sl_json_get(o, "data"), KEY);
    char *end = NULL;
    long long n = strtoll(text, &end, 10);
    fq_set_text(&q->ids.version, sl_json_str(o, "metadata.resourceVersion"));
    q->ids.known = true;
    q->ids.mark = *text && !*end && n > 0 && n < FQ_MAX_JOBID ? n : 0;
    if (q->ids.mark > q->last_jobid)
        q->last_jobid = q->ids.mark;
    enqueue_deleting(q);
}

static bool is_refusal(int status) {
    return status >= 400 && status < 500 && status != 408 && status != 409 && status != 429;
}

static void on_read(void *ctx, const struct sl_kube_reply *r) {
    struct sl_fluxqueue *q = ctx;
    q->ids.call = (sl_kube_call){0};
    q->ids.due = 0;
    if (r->status == 200) {
        observe(q, r);
    } else if (r->status == 404) {
        fq_set_text(&q->ids.version, NULL);
        q->ids.mark = 0;
        q->ids.known = true;
    } else if (is_refusal(r->status)) {
        refuse(q, r->status);
    } else {
        retry(q, r);
    }
}

static void on_written(void *ctx, const struct sl_kube_reply *r) {
    struct sl_fluxqueue *q = ctx;
    q->ids.call = (sl_kube_call){0};
    q->ids.due = 0;
    if (r->status >= 200 && r->status < 300)
        observe(q, r);
    else if (r->status == 409 || (r->status == 404 && q->ids.version))
        q->ids.stale = true; /* another one was faster */
    else if (is_refusal(r->status))
        refuse(q, r->status);
    else
        retry(q, r);
}

static void put_body(const struct sl_fluxqueue *q, struct sl_buf *b) {
    struct sl_jw w = SL_JW(b);
    sl_jw_object(&w, NULL);
    if (!q->ids.version) {
        sl_jw_str(&w, "apiVersion", "v1");
        sl_jw_str(&w, "kind", "ConfigMap");
    }
    sl_jw_object(&w, "metadata");
    if (q->ids.version)
        sl_jw_str(&w, "resourceVersion", q->ids.version);
    else
        sl_jw_str(&w, "name", NAME);
    sl_jw_end(&w);
    sl_jw_object(&w, "data");
    sl_jw_strf(&w, KEY, "%lld", (long long)q->ids.wanted);
    sl_jw_end_to(&w, 0);
}

static void send(struct sl_fluxqueue *q, bool write) {
    _cleanup_(sl_buf_done) struct sl_buf path = SL_BUF(MAX_PATH_BYTES),
                                         body = SL_BUF(MAX_BODY_BYTES);
    struct sl_kube_request rq = {.method = SL_GET};
    sl_buf_printf(&path, "/api/v1/namespaces/%s/configmaps", namespace_of(q));
    if (!write || q->ids.version)
        sl_buf_puts(&path, "/" NAME);
    if (write) {
        put_body(q, &body);
        rq.method = q->ids.version ? SL_PATCH : SL_POST;
        rq.content_type = q->ids.version ? SL_MERGE_PATCH : SL_JSON;
        rq.body = sl_buf_str(&body);
        rq.len = body.len;
    }
    rq.path = sl_buf_str(&path);
    q->ids.stale = false;
    q->ids.due = q->client->mono + PATIENCE;
    q->ids.call = sl_kube_request(q->client, &rq, write ? on_written : on_read, q);
}

static bool has_to_write(const struct sl_fluxqueue *q) {
    return q->ids.wanted > q->ids.mark && !q->ids.refused;
}

static bool has_to_ask(const struct sl_fluxqueue *q) {
    return q->leads && q->in_use && (!q->ids.known || has_to_write(q));
}

void fq_ids_tick(struct sl_fluxqueue *q) {
    if (!has_to_ask(q) || q->client->mono < q->ids.due)
        return;
    if (q->ids.call.v) { /* no answer */
        sl_kube_cancel(q->client, q->ids.call);
        q->ids.stale |= q->ids.known; /* it may have been carried out */
    }
    send(q, q->ids.known && !q->ids.stale);
}

sl_time fq_ids_next(const struct sl_fluxqueue *q) {
    return has_to_ask(q) ? q->ids.due : SL_TIME_NEVER;
}

bool fq_ids_known(const struct sl_fluxqueue *q) {
    return !q->leads || !q->in_use || q->ids.known;
}

bool fq_ids_idle(const struct sl_fluxqueue *q) {
    return !has_to_ask(q);
}

bool fq_ids_covers(struct sl_fluxqueue *q, int64_t jobid) {
    if (jobid <= q->ids.mark || q->ids.refused)
        return true;
    if (q->ids.wanted < q->last_jobid)
        q->ids.wanted = q->last_jobid;
    return false;
}

void fq_ids_forget(struct sl_fluxqueue *q) {
    sl_kube_cancel(q->client, q->ids.call);
    fq_set_text(&q->ids.version, NULL);
    q->ids = (struct fq_ids){0};
}
