/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes from their records, jobs from theirs and from what the matcher has given them. */
#include "manager/fluxqueue/view.h"

#include <stdlib.h>
#include <string.h>

#include "manager/fluxqueue/fq_int.h"

#define TAINT "taint:"
#define CORDON TAINT "node.kubernetes.io/unschedulable="
#define NONE UINT32_MAX

struct viewing {
    const struct sl_fluxqueue *q;
    struct sl_fluxqueue_view *v;
    uint32_t *node_of;  /* by number of record: place among the nodes */
    uint32_t *place_of; /* by node: place of the job that is looked at */
};

/* ---- nodes ---- */

static int by_age(const void *a, const void *b) {
    const struct sl_rec *x = *(struct sl_rec *const *)a, *y = *(struct sl_rec *const *)b;
    if (x->created != y->created)
        return x->created < y->created ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_resource(const void *a, const void *b) {
    const struct sl_fluxqueue_use *x = a, *y = b;
    return strcmp(x->resource, y->resource);
}

static int by_full_name(const void *a, const void *b) {
    const struct sl_rec *x = *(struct sl_rec *const *)a, *y = *(struct sl_rec *const *)b;
    int r = strcmp(sl_rec_ns(x), sl_rec_ns(y));
    return r ? r : strcmp(x->name, y->name);
}

/* All records of a kind that are not gone, sorted; freed by the caller. */
static struct sl_rec **collect(const struct sl_fluxqueue *q, enum fq_kind k,
                               int (*order)(const void *a, const void *b), uint32_t *ret_n) {
    uint32_t at = 0, n = 0;
    struct sl_rec **v = sl_alloc0(q->inf->tables[k].n + 1, sizeof *v);
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, k, &at));)
        if (!r->gone && !r->create_planned)
            v[n++] = r;
    qsort(v, n, sizeof(struct sl_rec *), order);
    *ret_n = n;
    return v;
}

static void view_node(struct viewing *w, const struct fq_node *n) {
    struct sl_fluxqueue_view *v = w->v;
    struct sl_fluxqueue_node_view x = {.name = n->rec.name,
                                       .vertex = w->q->match ? n->v : SL_VTX_NONE,
                                       .up = n->up,
                                       .uses = v->uses.n,
                                       .taints = v->taints.n};
    for (uint32_t i = 0; i < n->taints.n; i++) {
        const char *text = fq_str(w->q, n->taints.v[i]);
        x.cordoned |= strncmp(text, CORDON, strlen(CORDON)) == 0;
        *sl_vec_push(&v->taints) = text + strlen(TAINT);
    }
    for (uint32_t i = 0; i < n->pools.n; i++) {
        const struct fq_pool *p = &n->pools.v[i];
        bool idle = fq_port_is(fq_str(w->q, p->resource)) && p->allocatable == 0;
        if (!idle && (p->allocatable > 0 || p->foreign > 0))
            *sl_vec_push(&v->uses) =
                (struct sl_fluxqueue_use){.resource = fq_str(w->q, p->resource),
                                          .total = p->allocatable,
                                          .others = p->foreign};
    }
    x.n_taints = v->taints.n - x.taints;
    x.n_uses = v->uses.n - x.uses;
    if (x.n_uses)
        qsort(v->uses.v + x.uses, x.n_uses, sizeof *v->uses.v, by_resource);
    w->node_of[n->rec.id] = v->nodes.n;
    *sl_vec_push(&v->nodes) = x;
}

/* ---- jobs ---- */

static void take(struct viewing *w, uint32_t place, uint32_t node, const char *resource,
                 int64_t amount) {
    struct sl_fluxqueue_view *v = w->v;
    const struct sl_fluxqueue_node_view *n = &v->nodes.v[node];
    for (uint32_t i = n->uses; i < n->uses + n->n_uses; i++)
        if (strcmp(v->uses.v[i].resource, resource) == 0)
            v->uses.v[i].jobs += amount;
    if (place == NONE)
        return;
    struct sl_fluxqueue_place_view *p = &v->places.v[place];
    if (p->n_takes == 0)
        p->takes = v->takes.n;
    *sl_vec_push(&v->takes) = (struct sl_fluxqueue_take){resource, amount};
    p->n_takes++;
}

/* What others leave of a node that a job has for itself. */
static void take_whole(struct viewing *w, uint32_t place) {
    uint32_t node = w->v->places.v[place].node;
    const struct sl_fluxqueue_node_view *n = &w->v->nodes.v[node];
    w->v->places.v[place].whole = true;
    for (uint32_t i = n->uses; i < n->uses + n->n_uses; i++) {
        struct sl_fluxqueue_use u = w->v->uses.v[i];
        if (u.total > u.others)
            take(w, place, node, u.resource, u.total - u.others);
    }
}

/* The picks of a node stand side by side. */
static void view_grant(struct viewing *w, const struct sl_grant *g) {
    for (uint32_t i = 0; i < g->picks.n; i++) {
        const struct sl_pick *k = &g->picks.v[i];
        uint32_t rec = w->q->by_vertex.v[k->v];
        struct sl_rec *r = rec == UINT32_MAX ? NULL : w->q->inf->recs.v[rec];
        uint32_t node = r ? w->node_of[rec] : NONE;
        if (node == NONE)
            continue;
        const struct fq_node *n = fq_node_of(r);
        for (uint32_t p = 0; p < n->pools.n; p++)
            if (n->pools.v[p].v == k->v)
                take(w, w->place_of[node], node, fq_str(w->q, n->pools.v[p].resource), k->needs);
    }
}

static void view_places(struct viewing *w, const struct fq_job *j, uint32_t job) {
    struct sl_fluxqueue_view *v = w->v;
    for (uint32_t i = 0, n; i < j->places.n; i += n) {
        const struct fq_node *node = fq_node_find(w->q, j->places.v[i].node);
        uint32_t at = node ? w->node_of[node->rec.id] : NONE;
        for (n = 1; i + n < j->places.n && j->places.v[i + n].node == j->places.v[i].node;)
            n++;
        if (at == NONE)
            continue;
        w->place_of[at] = v->places.n;
        *sl_vec_push(&v->places) =
            (struct sl_fluxqueue_place_view){.job = job, .node = at, .pods = n};
    }
}

static void view_job(struct viewing *w, const struct fq_job *j) {
    struct sl_fluxqueue_view *v = w->v;
    struct sl_grant g = {0};
    struct sl_fluxqueue_job_view x = {.ns = sl_rec_ns(&j->rec),
                                      .name = j->rec.name,
                                      .object = j->object,
                                      .queue = j->queue,
                                      .type = j->type,
                                      .jobid = j->jobid,
                                      .places = v->places.n};
    view_places(w, j, v->jobs.n);
    x.n_places = v->places.n - x.places;
    if (j->whole_nodes)
        for (uint32_t i = x.places; i < v->places.n; i++)
            take_whole(w, i);
    else if (w->q->match && sl_match_grant(w->q->match, j->jobid, &g) >= 0)
        view_grant(w, &g);
    sl_grant_done(&g);
    for (uint32_t i = x.places; i < v->places.n; i++)
        w->place_of[v->places.v[i].node] = NONE;
    *sl_vec_push(&v->jobs) = x;
}

/* A plain pod is no job that could be shown, but has its part of a node. */
static void view_plain(struct viewing *w) {
    uint32_t at = 0;
    for (struct sl_rec *r; w->q->match && (r = sl_inf_each(w->q->inf, FQ_POD, &at));) {
        struct sl_grant g = {0};
        if (fq_pod_of(r)->held && sl_match_grant(w->q->match, FQ_PLAIN_ID + r->id, &g) >= 0)
            view_grant(w, &g);
        sl_grant_done(&g);
    }
}

/* ---- all ---- */

void sl_fluxqueue_view_init(const struct sl_fluxqueue *q, struct sl_fluxqueue_view *ret) {
    struct viewing w = {.q = q, .v = ret};
    uint32_t n_nodes, n_jobs;
    struct sl_rec **nodes = collect(q, FQ_NODE, by_age, &n_nodes);
    struct sl_rec **jobs = collect(q, FQ_FLUXJOB, by_full_name, &n_jobs);

    ret->served = sl_inf_served(q->inf, FQ_FLUXJOB);
    w.node_of = sl_alloc((q->inf->recs.n + 1) * sizeof *w.node_of);
    w.place_of = sl_alloc((n_nodes + 1) * sizeof *w.place_of);
    memset(w.node_of, 0xff, (q->inf->recs.n + 1) * sizeof *w.node_of);
    memset(w.place_of, 0xff, (n_nodes + 1) * sizeof *w.place_of);
    for (uint32_t i = 0; i < n_nodes; i++)
        view_node(&w, fq_node_of(nodes[i]));
    for (uint32_t i = 0; i < n_jobs; i++)
        if (fq_job_of(jobs[i])->held)
            view_job(&w, fq_job_of(jobs[i]));
    view_plain(&w);
    sl_freep(&w.node_of);
    sl_freep(&w.place_of);
    sl_freep(&nodes);
    sl_freep(&jobs);
}

void sl_fluxqueue_view_done(struct sl_fluxqueue_view *v) {
    sl_vec_free(&v->nodes);
    sl_vec_free(&v->uses);
    sl_vec_free(&v->taints);
    sl_vec_free(&v->jobs);
    sl_vec_free(&v->places);
    sl_vec_free(&v->takes);
}
