/* SPDX-License-Identifier: Apache-2.0 */
/* Pods: from the object to the record, sets of pods of a Workload ("crews"), and the patch that
 * removes gates. */
#include "manager/controllers/pod/pod.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/metrics/metrics.h"
#include "manager/controllers/pod/group.h"
#include "manager/controllers/provisioning/capacity.h"
#include "manager/controllers/serving/serving.h"
#include "manager/controllers/topology/topology.h"

#define Q "kueue.x-k8s.io/"
#define MAX_TEXT ((size_t)16 << 20) /* twice the longest event of a watch */
#define MAX_INDEX 9u                /* digits */

static const struct {
    const char *name;
    enum pod_gate gate;
} our_gates[] = {
    {Q "admission", POD_GATE_ADMISSION},
    {Q "topology", POD_GATE_TOPOLOGY},
    {JOB_ELASTIC, POD_GATE_ELASTIC},
};

/* ---- crews ---- */

static uint64_t crew_key(sl_sym ns, const char *name) {
    return sl_hash_str(ns, name);
}

struct pod_crew *crew_find(const struct sl_manager *m, sl_sym ns, const char *name) {
    uint64_t key = crew_key(ns, name);
    uint32_t c;
    for (uint32_t i = sl_map_first(&m->crews_by_name, key, &c); i != SL_MAP_NONE;
         i = sl_map_next(&m->crews_by_name, key, &c))
        if (m->crews.v[i]->ns == ns && strcmp(m->crews.v[i]->name, name) == 0)
            return m->crews.v[i];
    return NULL;
}

void crew_touch(struct pod_crew *c) {
    if (!c)
        return;
    c->dirty = true;
    sl_rec_enqueue(&c->pods->rec);
}

static struct pod_crew *crew_get(struct sl_manager *m, sl_sym ns, const char *name) {
    struct pod_crew *c = crew_find(m, ns, name);
    if (c)
        return c;
    size_t len = strlen(name);
    c = sl_alloc0(1, sizeof *c + len + 1);
    memcpy(c->name, name, len);
    c->ns = ns;
    c->id = m->free_crews.n ? sl_vec_pop(&m->free_crews) : m->crews.n;
    if (c->id == m->crews.n)
        (void)sl_vec_push(&m->crews);
    m->crews.v[c->id] = c;
    sl_map_add(&m->crews_by_name, crew_key(ns, name), c->id);
    return c;
}

static void join(struct sl_manager *m, struct rec_pod *p, const char *name) {
    struct pod_crew *c = *name ? crew_get(m, p->rec.ns, name) : NULL;
    p->crew = c;
    if (!c)
        return;
    p->next = c->pods;
    if (p->next)
        p->next->prev = p;
    c->pods = p;
}

static void leave(struct sl_manager *m, struct rec_pod *p) {
    struct pod_crew *c = TAKE_PTR(p->crew);
    if (!c)
        return;
    c->n_gated -= p->gates != 0;
    *(p->prev ? &p->prev->next : &c->pods) = p->next;
    if (p->next)
        p->next->prev = p->prev;
    p->prev = p->next = NULL;
    m->sick |= m->sick_left; /* its node may be free of its crew now */
    if (c->pods) {
        crew_touch(c); /* there may be room for another */
        return;
    }
    (void)sl_map_del(&m->crews_by_name, crew_key(c->ns, c->name), c->id);
    m->crews.v[c->id] = NULL;
    *sl_vec_push(&m->free_crews) = c->id;
    sl_freep(&c);
}

void pods_end(struct sl_manager *m) {
    groups_end(m);
    for (uint32_t i = 0; i < m->crews.n; i++)
        sl_freep(&m->crews.v[i]);
    for (uint32_t i = 0; i < m->pod_shapes.n; i++)
        sl_freep(&m->pod_shapes.v[i]);
    sl_vec_free(&m->crews);
    sl_vec_free(&m->free_crews);
    sl_vec_free(&m->pod_shapes);
    sl_vec_free(&m->free_pod_shapes);
    sl_map_done(&m->crews_by_name);
    sl_map_done(&m->pod_shapes_by_hash);
    sl_map_done(&m->chains);
}

/* ---- taking in ---- */

/* Whose pod it is; "": nobody's. */
static const char *crew_name(yyjson_val *o) {
    const char *slice = sl_json_annotation(o, JOB_SLICE_MARK);
    return *slice ? slice : sl_json_annotation(o, JOB_WORKLOAD_MARK);
}

static enum pod_phase phase_of(yyjson_val *o) {
    static const char *const words[] = {
        [POD_PENDING] = "Pending",
        [POD_RUNNING] = "Running",
        [POD_SUCCEEDED] = "Succeeded",
        [POD_FAILED] = "Failed",
    };
    const char *phase = sl_json_str(o, "status.phase");
    for (size_t i = 0; i < SL_LEN(words); i++)
        if (strcmp(phase, words[i]) == 0)
            return (enum pod_phase)i;
    return POD_UNKNOWN;
}

bool pod_wanted(void *ctx, yyjson_val *o) {
    const struct sl_manager *m = ctx;
    enum pod_phase phase = phase_of(o);
    if (pod_is_managed(m, o))
        return true;
    if (phase == POD_SUCCEEDED || phase == POD_FAILED)
        return false;
    return *crew_name(o) || (m->pods_on_nodes && *sl_json_str(o, "spec.nodeName")) ||
           serving_pod_wanted(m, o);
}

void pods_read_again(struct sl_manager *m) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_POD, &at));)
        r->reread = true;
    rec_relist(m, REC_POD);
}

void pods_watch_nodes(struct sl_manager *m) {
    if (m->pods_on_nodes)
        return;
    m->pods_on_nodes = true;
    pods_read_again(m);
}

static void take_gates(struct sl_manager *m, struct rec_pod *p, yyjson_val *list) {
    struct sl_buf others;
    size_t i, n;
    yyjson_val *v;

    sl_buf_init(&others, MAX_TEXT);
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
    sl_buf_done(&others);
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

static void take_place(struct sl_manager *m, struct rec_pod *p, yyjson_val *o) {
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
    struct sl_buf b;

    p->index = rank_of(o, indexes, SL_LEN(indexes));
    p->subgroup = rank_of(o, subgroups, SL_LEN(subgroups));
    p->topology = false;
    for (size_t i = 0; i < SL_LEN(asks); i++)
        p->topology |= yyjson_obj_get(sl_json_at(o, "metadata.annotations"), asks[i]) != NULL;
    sl_buf_init(&b, MAX_TEXT);
    if (p->crew && m->spec.parts.tas && sl_json_at(o, "spec.nodeSelector"))
        sl_json_put(&b, sl_json_at(o, "spec.nodeSelector"));
    p->selector = sl_sym_put(m->syms, sl_buf_str(&b));
    sl_buf_done(&b);
}

static void take_shape(struct sl_manager *m, struct rec_pod *p, yyjson_val *o) {
    struct pod_shape *old = p->shape;
    bool stands = m->pods_on_nodes && p->node && !pod_ended(p);
    p->shape = stands ? pod_shape_get(m, yyjson_obj_get(o, "spec")) : NULL;
    pod_shape_unref(m, old); /* after the new one, so that an equal one stays */
}

static bool same(const struct rec_pod *a, const struct rec_pod *b) {
    return a->shape == b->shape && a->node == b->node && a->podset == b->podset &&
           a->selector == b->selector && a->others == b->others && a->index == b->index &&
           a->subgroup == b->subgroup && a->phase == b->phase && a->gates == b->gates &&
           a->topology == b->topology && a->ending == b->ending;
}

bool pod_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_manager *m = ctx;
    struct rec_pod *p = pod_of(r), was = *p;
    p->phase = (uint8_t)phase_of(o);
    const char *name = pod_ended(p) ? "" : crew_name(o); /* the ended are in nobody's way */
    bool moved = strcmp(p->crew ? p->crew->name : "", name) != 0;
    if (moved) {
        leave(m, p);
        join(m, p, name);
        was.gates = 0; /* as its new crew knows it */
    }
    p->ending = r->deleting;
    p->node = sl_sym_put(m->syms, sl_json_str(o, "spec.nodeName"));
    p->podset = sl_sym_put(m->syms, sl_json_label(o, Q "podset"));
    take_gates(m, p, sl_json_at(o, "spec.schedulingGates"));
    take_place(m, p, o);
    take_shape(m, p, o);
    serving_pod_take(m, p, o);
    const char *consumes =
        sl_json_annotation(o, "autoscaling.x-k8s.io/consume-provisioning-request");
    if (*consumes && !p->consumes)
        p->consumes = sl_strdup(consumes);
    if (p->crew)
        p->crew->n_gated += (uint32_t)(p->gates != 0) - (uint32_t)(was.gates != 0);
    if (!(p->gates & POD_GATE_TOPOLOGY))
        sl_freep(&p->select);
    bool queued = pod_job_take(m, p, o);
    if (!moved && same(p, &was))
        return queued;
    crew_touch(p->crew);
    return true;
}

void pod_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct rec_pod *p = pod_of(r);
    struct pod_crew *c = p->crew;
    struct pod_group *g = p->job ? p->job->group : NULL;
    if (g && (g->dirty || (g->look_at && g->look_at <= m->spec.port->wall)))
        group_pass(m, g);
    if (c && c->dirty) {
        c->dirty = false;
        elastic_plan(m, c);
        tas_plan(m, c);
    }
    tas_pod_changed(m, p);
    capacity_pod(m, p);
    if (p->release & p->gates)
        sl_rec_write(r);
}

void pod_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct rec_pod *p = pod_of(r);
    tas_pod_gone(m, p);
    capacity_pod_gone(m, p);
    serving_pod_gone(m, p);
    pod_job_gone(m, p);
    leave(m, p);
    pod_shape_unref(m, TAKE_PTR(p->shape));
}

void pod_done(struct sl_rec *r) {
    sl_freep(&pod_of(r)->select);
    sl_freep(&pod_of(r)->consumes);
    sl_freep(&pod_of(r)->serving);
    pod_job_free(TAKE_PTR(pod_of(r)->job));
}

/* ---- gates ---- */

void pod_put_gates(const struct sl_manager *m, const struct rec_pod *p, uint8_t stay,
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
        sl_jw_items(j, str(m, p->others));
    sl_jw_end(j);
}

bool pod_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_manager *m = ctx;
    struct rec_pod *p = pod_of(r);
    uint8_t go = p->release & p->gates;
    if (serving_pod_build(m, p, w))
        return true;
    if (p->job && group_build(m, p, w))
        return true;
    if (!go || r->deleting)
        return false;
    sl_rec_build_guarded(r, NULL, w);
    sl_jw_end(&w->json);
    sl_jw_object(&w->json, "spec");
    pod_put_gates(m, p, (uint8_t)(p->gates & ~go), &w->json);
    if ((go & POD_GATE_TOPOLOGY) && p->select)
        sl_jw_raw(&w->json, "nodeSelector", p->select);
    p->sent = go;
    p->sent_rv = r->rv;
    return true;
}

void pod_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                 const struct sl_reply *reply) {
    struct sl_manager *m = ctx;
    struct rec_pod *p = pod_of(r);
    (void)w, (void)reply;
    if (p->job && group_written(m, p, how))
        return;
    if (how == SL_WRITE_FAILED)
        return; /* it may have arrived all the same */
    const struct rec_wl *by =
        p->crew && (p->sent & POD_GATE_ELASTIC) ? chain_active(m, p->crew) : NULL;
    if (how == SL_WRITTEN && by)
        count_ungated(m, by, JOB_ELASTIC, false);
    if (how == SL_WRITTEN && (p->sent & POD_GATE_TOPOLOGY))
        tas_ungated(m, p);
    p->sent = 0;
}
