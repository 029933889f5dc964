/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods. All that run take of their nodes, so all have a record until they end. Of those with our
 * scheduler's name the gate is removed and the binding is made, once the place of each is in the
 * API (fq_job_committed).
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/log/log.h"
#include "manager/fluxqueue/fq_int.h"

#define TAG_GATE 1u
#define TAG_READ 4u
#define MAX_GATES 4096u /* bytes of others' gates */
#define MAX_INDEX 1000000
#define MAX_STATUSES 1024u /* of containers */

bool fq_names_us(yyjson_val *spec) {
    const char *name = sl_json_str(spec, "schedulerName");
    return strcmp(name, SL_FLUX_SCHEDULER) == 0 || strcmp(name, SL_FLUX_SCHEDULER_SHORT) == 0;
}

bool fq_pod_settled(const struct sl_fluxqueue *q, const struct fq_pod *p) {
    const struct fq_node *n =
        p->node && !p->ended && !p->rec.gone && !p->rec.deleting ? fq_node_find(q, p->node) : NULL;
    return n && n->v != SL_VTX_NONE;
}

static bool is_over(const char *phase) {
    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static bool is_ours(yyjson_val *o) {
    return fq_names_us(sl_json_get(o, "spec")) || sl_json_label_opt(o, SL_FLUX_SEEN);
}

/* One of others matters while it takes of a node. */
bool fq_pod_wanted(void *ctx, yyjson_val *o) {
    yyjson_val *spec = sl_json_get(o, "spec");
    (void)ctx;
    return is_ours(o) ||
           (*sl_json_str(spec, "nodeName") && !is_over(sl_json_str(o, "status.phase")));
}

static bool is_part(yyjson_val *o) {
    static const char *const kinds[] = {"Job", "ReplicaSet", "StatefulSet"};
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach (sl_json_at(o, "metadata.ownerReferences"), i, n, ref)
        for (size_t k = 0; sl_json_bool(ref, "controller", false) && k < SL_LEN(kinds); k++)
            if (strcmp(sl_json_str(ref, "kind"), kinds[k]) == 0)
                return sl_json_label_opt(o, SL_FLUX_SEEN) != NULL;
    return false;
}

static int32_t index_of(yyjson_val *o) {
    const char *text = sl_json_label(o, "batch.kubernetes.io/job-completion-index");
    if (!*text)
        text = sl_json_annotation(o, "batch.kubernetes.io/job-completion-index");
    int32_t n = 0;
    if (!*text)
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || n > MAX_INDEX)
            return -1;
        n = n * 10 + (*text - '0');
    }
    return n;
}

static void read_gates(struct fq_pod *p, yyjson_val *gates) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_GATES);
    struct sl_jw w = SL_JW(&b);
    size_t i, n;
    yyjson_val *g;
    uint32_t others = 0;
    p->gated = p->overgated = false;
    sl_jw_array(&w, NULL);
    yyjson_arr_foreach (gates, i, n, g) {
        if (strcmp(sl_json_str(g, "name"), SL_FLUX_GATE) == 0) {
            p->gated = true;
            continue;
        }
        sl_jw_val(&w, NULL, g);
        others++;
    }
    sl_jw_end(&w);
    p->overgated = others && sl_buf_full(&b);
    fq_set_text(&p->gates, p->overgated ? "" : others ? sl_buf_str(&b) : NULL);
}

/* A pod that is a job by itself needs a jobspec; whose owner is one of ours is part of its job. */
static void read_jobspec(struct sl_fluxqueue *q, struct fq_pod *p, yyjson_val *o) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(FQ_MAX_JOBSPEC);
    struct sl_err err = {0};
    struct fq_jobspec_options options = q->options;
    options.ret_parts = &p->parts;
    if (p->group)
        options.name = p->group->obj.rec.name;
    int r = fq_jobspec_write(p->group ? SL_FLUX_POD_GROUP : SL_FLUX_POD, o,
                             p->group ? p->group_size : 1, &options, &b, &err);
    if (!p->group)
        r = fq_own_read(&p->own_where, o, sl_json_get(o, "spec"), r, &err);
    fq_set_text(&p->jobspec, r < 0 || sl_buf_full(&b) ? NULL : sl_buf_str(&b));
    fq_set_text(&p->refused, p->jobspec ? NULL
                             : r < 0    ? err.text
                                        : "its jobspec would be too long");
}

/* ---- what it requests ---- */

static bool is_infeasible(yyjson_val *status) {
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach (sl_json_get(status, "conditions"), i, n, c)
        if (strcmp(sl_json_str(c, "type"), "PodResizePending") == 0 &&
            strcmp(sl_json_str(c, "status"), "True") == 0)
            return strcmp(sl_json_str(c, "reason"), "Infeasible") == 0;
    return false;
}

/* What its containers have, if they are asked for what their node can never give them; 0: not so */
static uint64_t hash_allocated(const struct fq_pod *p, yyjson_val *status) {
    if (!p->node || !is_infeasible(status))
        return 0;
    return sl_json_hash(sl_json_hash(9, sl_json_get(status, "containerStatuses")),
                        sl_json_get(status, "initContainerStatuses")) |
           1;
}

static void put_allocated(yyjson_mut_doc *d, yyjson_mut_val *containers, yyjson_val *statuses) {
    size_t i, n, k, m;
    yyjson_mut_val *c;
    yyjson_val *s;
    if (yyjson_arr_size(statuses) > MAX_STATUSES)
        return;
    yyjson_mut_arr_foreach (containers, i, n, c) {
        const char *name = sl_json_mut_text(yyjson_mut_obj_get(c, "name"));
        yyjson_mut_val *resources = yyjson_mut_obj_get(c, "resources");
        yyjson_arr_foreach (statuses, k, m, s) {
            yyjson_val *has = sl_json_get(s, "allocatedResources");
            if (!yyjson_is_obj(has) || strcmp(sl_json_str(s, "name"), name) != 0)
                continue;
            (void)yyjson_mut_obj_remove_key(resources, "requests");
            (void)yyjson_mut_obj_add_val(d, resources, "requests", yyjson_val_mut_copy(d, has));
        }
    }
}

/* As kube-scheduler does: a resize that no kubelet will do does not count. */
static struct fq_usage *get_usage(struct sl_fluxqueue *q, const struct fq_pod *p, yyjson_val *spec,
                                  yyjson_val *status) {
    if (!p->allocated)
        return fq_usage_get(q, spec);
    yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *has = yyjson_val_mut_copy(d, spec);
    yyjson_mut_doc_set_root(d, has);
    put_allocated(d, yyjson_mut_obj_get(has, "containers"),
                  sl_json_get(status, "containerStatuses"));
    put_allocated(d, yyjson_mut_obj_get(has, "initContainers"),
                  sl_json_get(status, "initContainerStatuses"));
    _cleanup_(sl_json_docp) yyjson_doc *as_read = yyjson_mut_doc_imut_copy(d, NULL);
    yyjson_mut_doc_free(d);
    return fq_usage_get(q, as_read ? yyjson_doc_get_root(as_read) : spec);
}

/* What it says: its spec, and, while it waits behind a gate, what it is asked for by. */
static uint64_t hash_of(yyjson_val *o, yyjson_val *spec) {
    uint64_t h = sl_json_hash(1, spec);
    if (yyjson_arr_size(sl_json_get(spec, "schedulingGates")) > 0) {
        h = sl_json_hash(h, sl_json_at(o, "metadata.annotations"));
        h = sl_json_hash(h, sl_json_at(o, "metadata.labels"));
    }
    return h | 1;
}

bool fq_pod_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_fluxqueue *q = ctx;
    struct fq_pod *p = fq_pod_of(r);
    yyjson_val *spec = sl_json_get(o, "spec");
    const char *phase = sl_json_str(o, "status.phase");
    bool first = !p->usage && !(p->ended && is_over(phase)), was_gated = p->gated || p->gates;
    uint64_t hash = hash_of(o, spec);
    bool changed = p->spec != hash;

    p->spec = hash;
    p->ours = is_ours(o);
    p->binds = fq_names_us(spec);
    p->part = is_part(o);
    p->alone = strcmp(sl_json_label(o, SL_FLUX_MANAGED), "true") == 0;
    p->node = sl_sym_put(&q->inf->syms, sl_json_str(spec, "nodeName"));
    p->ended = is_over(phase);
    p->failed = strcmp(phase, "Failed") == 0;
    p->index = index_of(o);
    p->priority = fq_priority(spec, "priority");
    p->never = sl_json_label_opt(o, SL_FLUX_UNSCHEDULABLE) != NULL;
    p->labelled = sl_json_label_opt(o, SL_FLUX_JOBID) != NULL;
    p->named = fq_intern(q, sl_json_annotation(o, SL_FLUX_NODES));
    read_gates(p, sl_json_get(spec, "schedulingGates"));
    if (p->node) {
        p->bound = false;
        p->sent = 0;
    }
    uint64_t allocated = hash_allocated(p, sl_json_get(o, "status"));
    bool resized = changed || allocated != p->allocated;
    p->allocated = allocated;
    if (first || (resized && !p->ended)) /* it may be resized in place */
        fq_pod_use(q, p, get_usage(q, p, spec, sl_json_get(o, "status")));
    if (p->ours)
        fq_ports_demand(q, p->usage);
    if (first && p->ours) { /* it is so again where the phase went back from an end */
        sl_freep(&p->claims);
        p->claims = fq_claims_read(q, spec, r->name);
    }
    fq_pod_stand(q, p);
    if (p->ended && p->usage) {
        fq_pod_charge(q, p, 0);
        fq_ports_released(q, p->usage);
        fq_usage_unref(q, p->usage);
        p->usage = NULL;
    }
    fq_group_decode(q, p, o);
    fq_exact_pod_decode(q, p, o);
    p->plain = fq_plain_is(o);
    p->needs_others = fq_jobspec_needs_others(spec) && !*sl_json_annotation(o, SL_FLUX_JOBSPEC);
    if (p->plain || (p->binds && p->workload))
        fq_plain_decode(q, p, o);
    /* While it is gated it may get another node selector, as those of topologies always do, and
     * other annotations. */
    bool stale = (!p->jobspec && !p->refused) ||
                 (((changed && was_gated) || p->edition != q->edition) && !p->misgrouped);
    if (!p->plain && p->ours && !p->node && !p->ended && stale && !(p->workload && p->gates))
        read_jobspec(q, p, o);
    else if (p->node || p->ended)
        fq_set_text(&p->jobspec, NULL);
    p->edition = q->edition;
    fq_kube_decode(q, p, o);
    return true;
}

/* Bound by us without a FluxJob: it only names our scheduler, or its Workload has its place. */
static bool is_plain(const struct sl_fluxqueue *q, const struct fq_pod *p) {
    return p->plain || (p->binds && fq_exact_has(q, p));
}

/* Its place was found for what it asked for before: it waits for another. */
static void requeue_changed(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_job *j) {
    bool waits = !fq_pod_at(p) && !p->ended && (p->gated || p->binds);
    if (!q->leads || !j->held || !waits || p->rec.deleting || sl_rec_busy(&p->rec) || !p->jobspec ||
        !fq_job_follows(j, &p->rec) || strcmp(p->jobspec, j->jobspec) == 0)
        return;
    sl_rec_event(&j->rec, FQ_CONTROLLER, false, "Requeued",
                 "The pod has changed, and has not started");
    fq_graph_release(q, j);
    j->started = 0;
    fq_job_set_state(j, FQ_WAITING, "PodChanged", "Its pod has changed");
}

void fq_pod_reconcile(void *ctx, struct sl_rec *r) {
    struct sl_fluxqueue *q = ctx;
    struct fq_pod *p = fq_pod_of(r);
    struct sl_rec *o = fq_pod_object(q, p);
    struct fq_job *j = o ? fq_job_for(q, o) : NULL;
    if (is_plain(q, p) && !j) {
        fq_plain_sync(q, p);
        if (p->released)
            fq_exact_note_leaving(q, p);
        return;
    }
    fq_plain_drop(q, p);
    if (!j || !j->held) /* it has no place of ours: what it has is taken from others' */
        fq_pod_charge(q, p, fq_exact_seat(q, p) || p->ended ? 0 : fq_pod_at(p));
    fq_exact_note_leaving(q, p);
    if (!o && p->ours && p->alone && !p->node && !p->ended)
        sl_rec_reconcile_at(r, sl_time_add(r->created, FQ_OWNER_LATE));
    fq_group_left(q, p);
    if (j && o == r)
        requeue_changed(q, p, j);
    if (o && o != r)
        sl_rec_enqueue(o);
    else if (o && !fq_exact_may(q, p))
        fq_object_sync(q, r);
    if (j && p->node && q->leads)
        fq_history_bound(q, j, p);
    if (j)
        sl_rec_enqueue(&j->rec);
}

void fq_pod_deleted(void *ctx, struct sl_rec *r) {
    struct sl_fluxqueue *q = ctx;
    struct fq_pod *p = fq_pod_of(r);
    struct sl_rec *o = fq_pod_object(q, p);
    struct fq_job *j = o ? fq_job_for(q, o) : NULL;
    fq_group_left(q, p);
    fq_plain_drop(q, p);
    fq_plain_unref(q, p);
    fq_exact_pod_deleted(q, p);
    fq_pod_charge(q, p, 0);
    p->node = p->sent = 0;
    fq_pod_target(q, p, 0);
    fq_ports_released(q, p->usage);
    if (p->usage)
        fq_usage_unref(q, TAKE_PTR(p->usage));
    fq_group_leave(q, p);
    if (j)
        sl_rec_enqueue(&j->rec);
    q->moved = true;
}

void fq_pod_free(struct sl_rec *r) {
    struct fq_pod *p = fq_pod_of(r);
    sl_freep(&p->over);
    sl_freep(&p->jobspec);
    sl_freep(&p->refused);
    sl_freep(&p->gates);
    sl_freep(&p->claims);
    fq_own_free(&p->own_where);
    fq_unbound_free(p);
    fq_kube_free(p);
}

void fq_pod_hold(struct sl_syms *t, struct sl_rec *r) {
    struct fq_pod *p = fq_pod_of(r);
    for (uint32_t i = 0; p->over && i < p->over->n; i++)
        sl_sym_hold(t, p->over->v[i].resource);
    sl_sym_hold(t, p->node);
    sl_sym_hold(t, p->target);
    sl_sym_hold(t, p->sent);
    sl_sym_hold(t, p->named);
    sl_sym_hold(t, p->charged);
    sl_sym_hold(t, p->stands);
    fq_unbound_hold(t, p->unbound);
    sl_sym_hold(t, p->workload);
    sl_sym_hold(t, p->podset);
    sl_sym_hold(t, p->host);
}

/* ---- writes ---- */

static void put_job_labels(const struct sl_fluxqueue *q, const struct fq_job *j, sl_sym node,
                           struct sl_jw *w) {
    const char *name = fq_str(q, node);
    sl_jw_object(w, "labels");
    sl_jw_strf(w, SL_FLUX_JOBID, "%lld", (long long)j->jobid);
    if (strlen(name) <= 63)
        sl_jw_str(w, SL_FLUX_NODES, name);
    sl_jw_end(w);
    sl_jw_object(w, "annotations");
    sl_jw_str(w, SL_FLUX_NODES, name);
    sl_jw_end(w);
}

static void build_ungate(const struct sl_fluxqueue *q, const struct fq_pod *p,
                         const struct fq_job *j, struct sl_write *w) {
    w->tag = TAG_GATE;
    sl_rec_build_guarded(&p->rec, NULL, w);
    put_job_labels(q, j, p->target, &w->json);
    sl_jw_end(&w->json);
    sl_jw_object(&w->json, "spec");
    if (!p->binds)
        fq_kube_put_node(q, p, &w->json);
    if (p->gates)
        sl_jw_raw(&w->json, "schedulingGates", p->gates);
    else
        sl_jw_null(&w->json, "schedulingGates");
}

void fq_build_binding(struct sl_fluxqueue *q, struct fq_pod *p, struct sl_write *w) {
    fq_pod_send(q, p, p->target);
    w->tag = FQ_TAG_BIND;
    sl_rec_build_post(&p->rec, "binding", w);
    sl_jw_object(&w->json, NULL);
    sl_jw_str(&w->json, "apiVersion", "v1");
    sl_jw_str(&w->json, "kind", "Binding");
    sl_jw_object(&w->json, "metadata");
    sl_jw_str(&w->json, "name", p->rec.name);
    sl_jw_str(&w->json, "namespace", sl_rec_ns(&p->rec));
    sl_jw_str(&w->json, "uid", p->rec.uid);
    sl_jw_end(&w->json);
    sl_jw_object(&w->json, "target");
    sl_jw_str(&w->json, "apiVersion", "v1");
    sl_jw_str(&w->json, "kind", "Node");
    sl_jw_str(&w->json, "name", fq_str(q, p->target));
}

/* Its gate can be removed and its node be given to it; if not, an event says why. */
static bool may_go(const struct fq_pod *p) {
    if (!p->overgated)
        return fq_kube_may_go(p);
    sl_rec_event(&p->rec, SL_FLUX_SCHEDULER, true, "FailedScheduling",
                 "The scheduling gates of others have more than %u bytes: one is removed when they "
                 "have less",
                 MAX_GATES);
    return false;
}

/* Bindings go before the news that there is none, or never will be. */
uint32_t fq_pod_lane(const struct sl_rec *r) {
    const struct fq_pod *p = SL_CONTAINER_OF(r, const struct fq_pod, rec);
    return !p->target;
}

bool fq_pod_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_fluxqueue *q = ctx;
    struct fq_pod *p = fq_pod_of(r);
    struct sl_rec *o = fq_pod_object(q, p);
    struct fq_job *j = o ? fq_job_for(q, o) : NULL;
    if (q->leads && p->sent && !p->bound && !p->ended) { /* there was no answer */
        w->tag = TAG_READ;
        sl_rec_build_read(r, w);
        return true;
    }
    if (is_plain(q, p) && !j)
        return fq_plain_build(q, p, w);
    if ((o == r || p->group) && fq_build_told(j, r, p->never, w))
        return true;
    if (!j || p->node || p->bound || p->ended || r->deleting || !fq_job_committed(j))
        return false;
    if (!p->binds && fq_kube_build(p, w))
        return true;
    if (!p->target || !may_go(p))
        return false;
    if (p->gated || (p->binds && p->named && p->named != p->target)) { /* or it got another place */
        build_ungate(q, p, j, w);
        return true;
    }
    if (p->gates || !p->binds) /* others are not done yet, or it is theirs to bind */
        return false;
    if (!fq_volumes_ready(q, p, j))
        return false;
    fq_build_binding(q, p, w);
    return true;
}

void fq_pod_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply) {
    struct sl_fluxqueue *q = ctx;
    struct fq_pod *p = fq_pod_of(r);
    struct sl_rec *o = fq_pod_object(q, p);
    struct fq_job *j = o ? fq_job_for(q, o) : NULL;
    sl_sym sent = p->sent;
    bool bound = w->tag == FQ_TAG_BIND && how == SL_WRITTEN;
    bool read = w->tag == TAG_READ && how == SL_WRITTEN;
    if (sent && !bound && how != SL_WRITE_FAILED) { /* it is not there, or the object says so */
        fq_pod_send(q, p, 0);
        if (how != SL_WRITE_GONE) /* that is about to be seen */
            sl_rec_enqueue(r);
        if (read)
            sl_rec_write(r);
    }
    if (w->tag == TAG_GATE && how == SL_WRITTEN) {
        sl_rec_write(r);
    } else if (w->tag == TAG_GATE && how == SL_WRITE_REFUSED) {
        sl_rec_event(r, SL_FLUX_SCHEDULER, true, "FailedScheduling",
                     "The API server refused to remove the scheduling gate (%d)", reply->status);
    } else if (bound) {
        p->bound = !p->node;
        p->conflicts = 0;
        fq_unbound_free(p);
        if (j)
            fq_history_bound(q, j, p);
        sl_rec_event(r, SL_FLUX_SCHEDULER, false, "Scheduled", "Successfully assigned %s/%s to %s",
                     sl_rec_ns(r), r->name, fq_str(q, sent ? sent : p->node));
    } else if (w->tag == FQ_TAG_BIND && how == SL_WRITE_REFUSED) {
        fq_unbound_refused(q, p, j, reply);
    } else if (w->tag == FQ_TAG_BIND && how == SL_WRITE_CONFLICT) {
        fq_unbound_conflict(q, p, j, reply);
    }
    fq_kube_written(q, p, w, how, reply);
}
