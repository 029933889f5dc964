/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods that kube-scheduler binds (binder: KubeScheduler). Each gets its node together with the end
 * of its gate, as required node affinity to the name of the node, which every node has. From then
 * on nobody can change that: the pod is bound there or nowhere, and its place is the one on that
 * node.
 *
 * What kube-scheduler says of a pod that it cannot bind is shown in the FluxJob. It may be behind,
 * so it gets some time. Then a pod whose controller makes another one is deleted, the node is
 * avoided for a while, and the new pod, which has the gate again, gets a place elsewhere. Any other
 * pod stays as it is: nobody would make it again.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "manager/fluxqueue/fq_int.h"

#define AFFINITY "affinity"
#define NODE_AFFINITY "nodeAffinity"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define TERMS "nodeSelectorTerms"
#define MAX_TERMS ((size_t)64 << 10) /* bytes of a pod's terms */
#define MAX_TEXT 400u                /* of what kube-scheduler says */
#define TAG_RETURN 4u

struct fq_kube {
    char *terms;   /* of its node affinity, while it is gated: an array of JSON; NULL: none */
    bool too_long; /* these are */
    char *text;    /* why it is not bound; NULL: that is not known, or it is not to be yet */
    sl_time since; /* mono: of the text */
    sl_time due;   /* mono: until when that may be; 0: not known yet */
    bool returns;  /* it is to be deleted */
};

void fq_kube_free(struct fq_pod *p) {
    if (!p->kube)
        return;
    sl_freep(&p->kube->terms);
    sl_freep(&p->kube->text);
    sl_freep(&p->kube);
}

/* ---- decoding ---- */

static void read_terms(struct fq_kube *k, yyjson_val *terms) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TERMS);
    struct sl_jw w = SL_JW(&b);
    if (sl_json_size(terms) > 0)
        sl_jw_val(&w, NULL, terms);
    k->too_long = sl_buf_full(&b);
    fq_set_text(&k->terms, b.len && !k->too_long ? sl_buf_str(&b) : NULL);
}

static void read_text(const struct sl_fluxqueue *q, struct fq_kube *k, const char *message) {
    char text[MAX_TEXT];
    sl_fmt_short(text, sizeof text, "%s", message);
    if (!k->text) {
        k->since = q->client->mono;
        k->due = 0;
    }
    fq_set_text(&k->text, text);
}

/* It says that it cannot be bound, and nobody is evicted to make that possible. */
static bool is_refused(yyjson_val *o, yyjson_val *condition) {
    return strcmp(sl_json_str(condition, "status"), "False") == 0 &&
           strcmp(sl_json_str(condition, "reason"), "Unschedulable") == 0 &&
           !*sl_json_str(o, "status.nominatedNodeName");
}

void fq_kube_decode(const struct sl_fluxqueue *q, struct fq_pod *p, yyjson_val *o) {
    yyjson_val *c = sl_json_find(sl_json_at(o, "status.conditions"), "type", "PodScheduled");
    yyjson_val *terms = sl_json_at(o, "spec." AFFINITY "." NODE_AFFINITY "." REQUIRED "." TERMS);
    bool waits = p->ours && !p->binds && !p->node && !p->ended;
    bool narrows = waits && p->gated && sl_json_size(terms) > 0,
         refused = waits && fq_kube_place(p) && !p->gates && is_refused(o, c);
    if (!narrows && !refused) {
        fq_kube_free(p);
        return;
    }
    if (!p->kube)
        p->kube = sl_alloc0(1, sizeof *p->kube);
    read_terms(p->kube, narrows ? terms : NULL);
    if (refused)
        read_text(q, p->kube, sl_json_str(c, "message"));
}

/* ---- its node ---- */

bool fq_kube_may_go(const struct fq_pod *p) {
    if (!p->kube || !p->kube->too_long)
        return true;
    sl_rec_event(&p->rec, SL_FLUX_SCHEDULER, true, "FailedScheduling",
                 "Its node affinity is too long to add a node to it");
    return false;
}

static void put_name(const struct sl_fluxqueue *q, sl_sym node, struct sl_jw *w) {
    sl_jw_object(w, NULL);
    sl_jw_str(w, "key", "metadata.name");
    sl_jw_str(w, "operator", "In");
    sl_jw_array(w, "values");
    sl_jw_str(w, NULL, fq_str(q, node));
    sl_jw_end(w);
    sl_jw_end(w);
}

/* Terms are joined by or: each gets the node, but for an empty one, which selects none. The API
 * server takes what is added behind the requirements that there are. */
static void put_term(const struct sl_fluxqueue *q, yyjson_val *term, sl_sym node, struct sl_jw *w) {
    yyjson_val *expressions = sl_json_get(term, "matchExpressions"),
               *fields = sl_json_get(term, "matchFields"), *f;
    size_t i, n;
    if (term && sl_json_size(expressions) + sl_json_size(fields) == 0) {
        sl_jw_val(w, NULL, term);
        return;
    }
    sl_jw_object(w, NULL);
    if (expressions)
        sl_jw_val(w, "matchExpressions", expressions);
    sl_jw_array(w, "matchFields");
    yyjson_arr_foreach (fields, i, n, f)
        sl_jw_val(w, NULL, f);
    put_name(q, node, w);
    sl_jw_end(w);
    sl_jw_end(w);
}

void fq_kube_put_node(const struct sl_fluxqueue *q, const struct fq_pod *p, struct sl_jw *w) {
    const char *text = p->kube && p->kube->terms ? p->kube->terms : "[]";
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(text, strlen(text), 0);
    yyjson_val *terms = yyjson_doc_get_root(d), *term;
    size_t i, n;
    sl_jw_object(w, AFFINITY);
    sl_jw_object(w, NODE_AFFINITY);
    sl_jw_object(w, REQUIRED);
    sl_jw_array(w, TERMS);
    yyjson_arr_foreach (terms, i, n, term)
        put_term(q, term, p->target, w);
    if (yyjson_arr_size(terms) == 0)
        put_term(q, NULL, p->target, w);
    for (int level = 0; level < 4; level++)
        sl_jw_end(w);
}

/* ---- and back ---- */

static bool is_made_again(const struct sl_rec *o) {
    return o->kind == FQ_JOB || o->kind == FQ_DEPLOYMENT || o->kind == FQ_REPLICASET ||
           o->kind == FQ_STATEFULSET;
}

static void send_back(struct sl_fluxqueue *q, struct fq_job *j, struct fq_pod *p) {
    sl_sym node = fq_kube_place(p);
    char text[MAX_TEXT];
    sl_fmt_short(text, sizeof text, "kube-scheduler does not bind %.80s to %.80s: %s", p->rec.name,
                 fq_str(q, node), p->kube->text);
    fq_unbound_job(q, j, node, p->kube->since, text);
    sl_rec_event(&j->rec, FQ_CONTROLLER, true, "FailedBinding", "%s", text);
    p->kube->returns = true;
}

bool fq_kube_sync(struct sl_fluxqueue *q, struct fq_job *j, const struct sl_rec *o) {
    sl_time now = q->client->mono, due = SL_TIME_NEVER;
    const struct fq_pod *first = NULL;
    struct fq_pods_of at = {0};
    for (struct fq_pod *p; (p = fq_job_next_pod(q, j, &at));) {
        if (!p->kube || !p->kube->text || p->rec.gone || p->rec.deleting)
            continue;
        first = first ? first : p;
        if (!is_made_again(o))
            continue;
        if (!p->kube->due)
            p->kube->due = sl_time_add(p->kube->since, fq_unbound_patience(q, j));
        if (!p->kube->returns && now >= p->kube->due)
            send_back(q, j, p);
        if (p->kube->returns)
            sl_rec_write(&p->rec);
        else
            due = sl_time_min(due, p->kube->due);
    }
    if (due != SL_TIME_NEVER)
        sl_rec_reconcile_at(&j->rec, sl_time_add(q->client->wall, due - now));
    if (!first || j->missing)
        return false;
    fq_job_set_state(j, FQ_RUNNING, "Unschedulable",
                     "kube-scheduler does not bind %.80s to %.80s: %s", first->rec.name,
                     fq_str(q, fq_kube_place(first)), first->kube->text);
    return true;
}

/* Not if it was bound meanwhile. */
bool fq_kube_build(const struct fq_pod *p, struct sl_write *w) {
    if (!p->kube || !p->kube->returns || p->rec.deleting)
        return false;
    w->tag = TAG_RETURN;
    sl_rec_build_delete(&p->rec, NULL, -1, w);
    sl_jw_strf(&w->json, "resourceVersion", "%llu", (unsigned long long)p->rec.rv);
    return true;
}

void fq_kube_written(const struct sl_fluxqueue *q, struct fq_pod *p, const struct sl_write *w,
                     enum sl_written how, const struct sl_kube_reply *reply) {
    if (w->tag != TAG_RETURN || how != SL_WRITE_REFUSED || !p->kube)
        return;
    p->kube->returns = false; /* tried again as if it were refused now */
    p->kube->since = q->client->mono;
    p->kube->due = 0;
    sl_rec_enqueue(&p->rec);
    sl_rec_event(&p->rec, SL_FLUX_SCHEDULER, true, "FailedScheduling",
                 "The API server refused to delete the pod, so that it would come again (%d)",
                 reply->status);
}
