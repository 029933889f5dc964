/* SPDX-License-Identifier: Apache-2.0 */
/* Pods: from the object to the record, the sets of pods of a Workload, and the patch that removes
 * gates. */
#include "manager/controllers/pod/pod.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/metrics/metrics.h"
#include "manager/controllers/pod/group.h"
#include "manager/controllers/pod/pods.h"
#include "manager/controllers/provisioning/capacity.h"
#include "manager/controllers/serving/serving.h"
#include "manager/controllers/topology/topology.h"

#define Q "kueue.x-k8s.io/"
#define MAX_TEXT ((size_t)16 << 20) /* twice the longest event of a watch */
#define MAX_INDEX 9u                /* digits */

static const struct {
    const char *name;
    enum mgr_pod_gate gate;
} our_gates[] = {
    {Q "admission", POD_GATE_ADMISSION},
    {Q "topology", POD_GATE_TOPOLOGY},
    {JOB_ELASTIC, POD_GATE_ELASTIC},
};

/* ---- pods of a Workload ---- */

static uint64_t workload_pods_key(sl_sym ns, const char *name) {
    return sl_hash_str(ns, name);
}

struct mgr_workload_pods *mgr_workload_pods_find(const struct sl_manager *m, sl_sym ns,
                                                 const char *name) {
    uint64_t key = workload_pods_key(ns, name);
    sl_map_foreach (i, &m->pods->by_name, key)
        if (m->pods->v.v[i]->ns == ns && strcmp(m->pods->v.v[i]->name, name) == 0)
            return m->pods->v.v[i];
    return NULL;
}

void mgr_workload_pods_touch(struct mgr_workload_pods *c) {
    if (!c)
        return;
    c->dirty = true;
    sl_rec_enqueue(&c->pods->rec);
}

static struct mgr_workload_pods *workload_pods_get(struct sl_manager *m, sl_sym ns,
                                                   const char *name) {
    struct mgr_workload_pods *c = mgr_workload_pods_find(m, ns, name);
    if (c)
        return c;
    size_t len = strlen(name);
    c = sl_alloc0(1, sizeof *c + len + 1);
    memcpy(c->name, name, len);
    c->ns = ns;
    c->id = m->pods->free_ids.n ? sl_vec_pop(&m->pods->free_ids) : m->pods->v.n;
    if (c->id == m->pods->v.n)
        (void)sl_vec_push(&m->pods->v);
    m->pods->v.v[c->id] = c;
    sl_map_add(&m->pods->by_name, workload_pods_key(ns, name), c->id);
    return c;
}

static void join(struct sl_manager *m, struct mgr_rec_pod *p, const char *name) {
    struct mgr_workload_pods *c = *name ? workload_pods_get(m, p->rec.ns, name) : NULL;
    p->siblings = c;
    if (!c)
        return;
    p->next = c->pods;
    if (p->next)
        p->next->prev = p;
    c->pods = p;
}

static void leave(struct sl_manager *m, struct mgr_rec_pod *p) {
    struct mgr_workload_pods *c = TAKE_PTR(p->siblings);
    if (!c)
        return;
    c->n_gated -= p->gates != 0;
    *(p->prev ? &p->prev->next : &c->pods) = p->next;
    if (p->next)
        p->next->prev = p->prev;
    p->prev = p->next = NULL;
    mgr_tas_pod_left(m); /* its node may be free of pods of its Workload now */
    if (c->pods) {
        mgr_workload_pods_touch(c); /* there may be room for another */
        return;
    }
    (void)sl_map_del(&m->pods->by_name, workload_pods_key(c->ns, c->name), c->id);
    m->pods->v.v[c->id] = NULL;
    *sl_vec_push(&m->pods->free_ids) = c->id;
    sl_freep(&c);
}

void mgr_pods_new(struct sl_manager *m) {
    m->pods = sl_alloc0(1, sizeof *m->pods);
}

void mgr_pods_end(struct sl_manager *m) {
    for (uint32_t i = 0; i < m->pods->v.n; i++)
        sl_freep(&m->pods->v.v[i]);
    for (uint32_t i = 0; i < m->pods->shapes.n; i++)
        sl_freep(&m->pods->shapes.v[i]);
    sl_vec_free(&m->pods->v);
    sl_vec_free(&m->pods->free_ids);
    sl_vec_free(&m->pods->shapes);
    sl_vec_free(&m->pods->free_shapes);
    sl_map_done(&m->pods->by_name);
    sl_map_done(&m->pods->shapes_by_hash);
    sl_map_done(&m->pods->chains);
    sl_freep(&m->pods);
}

/* ---- taking in ---- */

/* The Workload, or chain of slices, that the pod belongs to; "": none. */
static const char *workload_name_of(yyjson_val *o) {
    const char *slice = sl_json_annotation(o, JOB_SLICE_MARK);
    return *slice ? slice : sl_json_annotation(o, JOB_WORKLOAD_MARK);
}

static enum mgr_pod_phase phase_of(yyjson_val *o) {
    static const char *const words[] = {
        [MGR_POD_PENDING] = "Pending",
        [MGR_POD_RUNNING] = "Running",
        [MGR_POD_SUCCEEDED] = "Succeeded",
        [MGR_POD_FAILED] = "Failed",
    };
    const char *phase = sl_json_str(o, "status.phase");
    for (size_t i = 0; i < SL_LEN(words); i++)
        if (strcmp(phase, words[i]) == 0)
            return (enum mgr_pod_phase)i;
    return MGR_POD_UNKNOWN;
}

bool mgr_pod_wanted(void *ctx, yyjson_val *o) {
    const struct sl_manager *m = ctx;
    enum mgr_pod_phase phase = phase_of(o);
    if (mgr_pod_is_managed(m, o))
        return true;
    if (phase == MGR_POD_SUCCEEDED || phase == MGR_POD_FAILED)
        return false;
    return *workload_name_of(o) || (m->pods->on_nodes && *sl_json_str(o, "spec.nodeName")) ||
           mgr_serving_pod_wanted(m, o);
}

void mgr_pods_relist(struct sl_manager *m) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_POD, &at));)
        r->reread = true;
    mgr_rec_relist(m, REC_POD);
}

void mgr_pods_watch_nodes(struct sl_manager *m) {
    if (m->pods->on_nodes)
        return;
    m->pods->on_nodes = true;
    mgr_pods_relist(m);
}

static void take_gates(struct sl_manager *m, struct mgr_rec_pod *p, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;

    _cleanup_(sl_buf_done) struct sl_buf others = SL_BUF(MAX_TEXT);
    struct sl_jw j = SL_JW(&others);
    p->gates = 0;
    yyjson_arr_foreach (list, i, n, v) {
        const char *name = sl_json_str(v, "name");
        uint8_t ours = 0;
        for (size_t k = 0; k < SL_LEN(our_gates); k++)
            if (strcmp(our_gates[k].name, name) == 0)
                ours = (uint8_t)our_gates[k].gate;
        p->gates |= ours;
        if (ours)
            continue;
        if (j.depth == 0)
            sl_jw_array(&j, NULL);
        sl_jw_object(&j, NULL);
        sl_jw_str(&j, "name", name);
        sl_jw_end(&j);
    }
    sl_jw_end_to(&j, 0);
    p->others = sl_sym_put(m->syms, sl_buf_str(&others));
}

/* The first of these labels that is there, as a number; -1: none is. */
static int32_t rank_of(yyjson_val *o, const char *const *labels, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *s = sl_json_label(o, labels[i]);
        size_t digits = strspn(s, "0123456789");
        int32_t v = 0;
        if (!digits || s[digits] || digits > MAX_INDEX)
            continue;
        for (; *s; s++)
            v = v * 10 + (*s - '0');
        return v;
    }
    return -1;
}

static void take_place(struct sl_manager *m, struct mgr_rec_pod *p, yyjson_val *o) {
    static const char *const indexes[] = {
        "batch.kubernetes.io/job-completion-index",
        (Q "pod-group-pod-index"),
        "apps.kubernetes.io/pod-index",
        "training.kubeflow.org/replica-index",
        "leaderworkerset.sigs.k8s.io/worker-index",
    };
    static const char *const subgroups[] = {"jobset.sigs.k8s.io/job-index"};
    static const char *const asks[] = {
        Q "podset-required-topology",
        Q "podset-preferred-topology",
        Q "podset-unconstrained-topology",
        Q "podset-slice-required-topology",
        Q "podset-slice-required-topology-constraints",
    };

    p->index = rank_of(o, indexes, SL_LEN(indexes));
    p->subgroup = rank_of(o, subgroups, SL_LEN(subgroups));
    p->topology = false;
    for (size_t i = 0; i < SL_LEN(asks); i++)
        p->topology |= yyjson_obj_get(sl_json_at(o, "metadata.annotations"), asks[i]) != NULL;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TEXT);
    if (p->siblings && m->spec.parts.tas && sl_json_at(o, "spec.nodeSelector"))
        sl_json_put(&b, sl_json_at(o, "spec.nodeSelector"));
    p->selector = sl_sym_put(m->syms, sl_buf_str(&b));
}

static void take_shape(struct sl_manager *m, struct mgr_rec_pod *p, yyjson_val *o) {
    struct mgr_pod_shape *old = p->shape;
    bool stands = m->pods->on_nodes && p->node && !mgr_pod_ended(p);
    p->shape = stands ? mgr_pod_shape_get(m, yyjson_obj_get(o, "spec")) : NULL;
    mgr_pod_shape_unref(m, old); /* after the new one, so that an equal one stays */
}

static bool same(const struct mgr_rec_pod *a, const struct mgr_rec_pod *b) {
    return a->shape == b->shape && a->node == b->node && a->podset == b->podset &&
           a->selector == b->selector && a->others == b->others && a->index == b->index &&
           a->subgroup == b->subgroup && a->phase == b->phase && a->gates == b->gates &&
           a->topology == b->topology && a->ending == b->ending;
}

bool mgr_pod_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_manager *m = ctx;
    struct mgr_rec_pod *p = mgr_pod_of(r), was = *p;
    p->phase = (uint8_t)phase_of(o);
    const char *name =
        mgr_pod_ended(p) ? "" : workload_name_of(o); /* ended pods hold no resources */
    bool moved = strcmp(p->siblings ? p->siblings->name : "", name) != 0;
    if (moved) {
        leave(m, p);
        join(m, p, name);
        was.gates = 0; /* not counted in the new set yet */
    }
    p->ending = r->deleting;
    p->node = sl_sym_put(m->syms, sl_json_str(o, "spec.nodeName"));
    p->podset = sl_sym_put(m->syms, sl_json_label(o, Q "podset"));
    take_gates(m, p, sl_json_at(o, "spec.schedulingGates"));
    take_place(m, p, o);
    take_shape(m, p, o);
    mgr_serving_pod_take(m, p, o);
    const char *consumes =
        sl_json_annotation(o, "autoscaling.x-k8s.io/consume-provisioning-request");
    if (*consumes && !p->consumes)
        p->consumes = sl_strdup(consumes);
    if (p->siblings)
        p->siblings->n_gated += (uint32_t)(p->gates != 0) - (uint32_t)(was.gates != 0);
    if (!(p->gates & POD_GATE_TOPOLOGY))
        sl_freep(&p->select);
    bool queued = mgr_pod_job_take(m, p, o);
    if (!moved && same(p, &was))
        return queued;
    mgr_workload_pods_touch(p->siblings);
    return true;
}

void mgr_pod_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_pod *p = mgr_pod_of(r);
    struct mgr_workload_pods *c = p->siblings;
    struct mgr_pod_group *g = p->job ? p->job->group : NULL;
    if (g && (g->dirty || (g->reconcile_at && g->reconcile_at <= m->spec.client->wall)))
        mgr_group_pass(m, g);
    if (c && c->dirty) {
        c->dirty = false;
        mgr_elastic_plan(m, c);
        mgr_tas_plan(m, c);
    }
    mgr_tas_pod_changed(m, p);
    mgr_capacity_pod(m, p);
    if (p->release & p->gates)
        sl_rec_write(r);
}

void mgr_pod_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_pod *p = mgr_pod_of(r);
    mgr_tas_pod_gone(m, p);
    mgr_capacity_pod_gone(m, p);
    mgr_serving_pod_gone(m, p);
    mgr_pod_job_gone(m, p);
    leave(m, p);
    mgr_pod_shape_unref(m, TAKE_PTR(p->shape));
}

void mgr_pod_done(struct sl_rec *r) {
    sl_freep(&mgr_pod_of(r)->select);
    sl_freep(&mgr_pod_of(r)->consumes);
    sl_freep(&mgr_pod_of(r)->serving);
    mgr_pod_job_free(TAKE_PTR(mgr_pod_of(r)->job));
}

/* ---- gates ---- */

void mgr_pod_put_gates(const struct sl_manager *m, const struct mgr_rec_pod *p, uint8_t stay,
                       struct sl_jw *j) {
    if (!stay && !p->others) {
        sl_jw_null(j, "schedulingGates");
        return;
    }
    sl_jw_array(j, "schedulingGates");
    for (size_t i = 0; i < SL_LEN(our_gates); i++) {
        if (!(stay & our_gates[i].gate))
            continue;
        sl_jw_object(j, NULL);
        sl_jw_str(j, "name", our_gates[i].name);
        sl_jw_end(j);
    }
    if (p->others)
        sl_jw_items(j, mgr_str(m, p->others));
    sl_jw_end(j);
}

bool mgr_pod_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_manager *m = ctx;
    struct mgr_rec_pod *p = mgr_pod_of(r);
    uint8_t go = p->release & p->gates;
    if (mgr_serving_pod_build(m, p, w))
        return true;
    if (p->job && mgr_group_build(m, p, w))
        return true;
    if (!go || r->deleting)
        return false;
    sl_rec_build_guarded(r, NULL, w);
    sl_jw_end(&w->json);
    sl_jw_object(&w->json, "spec");
    mgr_pod_put_gates(m, p, (uint8_t)(p->gates & ~go), &w->json);
    if ((go & POD_GATE_TOPOLOGY) && p->select)
        sl_jw_raw(&w->json, "nodeSelector", p->select);
    p->sent = go;
    p->sent_rv = r->rv;
    return true;
}

void mgr_pod_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                     const struct sl_kube_reply *reply) {
    struct sl_manager *m = ctx;
    struct mgr_rec_pod *p = mgr_pod_of(r);
    (void)w, (void)reply;
    if (p->job && mgr_group_written(m, p, how))
        return;
    if (how == SL_WRITE_FAILED)
        return; /* it may have arrived all the same */
    const struct mgr_rec_wl *by =
        p->siblings && (p->sent & POD_GATE_ELASTIC) ? mgr_chain_active(m, p->siblings) : NULL;
    if (how == SL_WRITTEN && by)
        mgr_count_ungated(m, by, JOB_ELASTIC, false);
    if (how == SL_WRITTEN && (p->sent & POD_GATE_TOPOLOGY))
        mgr_tas_ungated(m, p);
    p->sent = 0;
}
