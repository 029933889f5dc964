/* SPDX-License-Identifier: Apache-2.0 */
/* What Workloads hold, and the same in the matcher (exact.h). */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/log/log.h"
#include "manager/fluxqueue/exact_int.h"

struct fq_exact *fq_exact_by_key(const struct sl_fluxqueue *q, uint64_t key) {
    sl_map_foreach (i, &q->exact_by_key, key)
        if (q->exacts.v[i]->key == key)
            return q->exacts.v[i];
    return NULL;
}

struct fq_exact *fq_exact_of_pod(const struct sl_fluxqueue *q, const struct fq_pod *p) {
    if (!p->workload)
        return NULL;
    sl_map_foreach (i, &q->exact_by_name, fq_exact_name_key(p->rec.ns, p->workload))
        if (q->exacts.v[i]->ns == p->rec.ns && q->exacts.v[i]->workload == p->workload)
            return q->exacts.v[i];
    return NULL;
}

struct fq_exact *fq_exact_add(struct sl_fluxqueue *q, const struct sl_exact_owner *o, bool later) {
    struct fq_exact *x = sl_alloc0(1, sizeof *x);
    int64_t from = o->since / SL_SEC;
    bool ends = o->duration > 0 && o->duration < FQ_END - from;
    x->key = o->key;
    x->later = later;
    x->ns = sl_sym_put(&q->inf->syms, o->ns);
    x->workload = sl_sym_put(&q->inf->syms, o->name);
    x->from = ends || later ? from : 0;
    x->length = ends ? o->duration : FQ_END - x->from;
    if (later && x->length < SL_EXACT_LEAST)
        x->length = SL_EXACT_LEAST;
    x->id = q->free_exacts.n ? sl_vec_pop(&q->free_exacts) : q->exacts.n;
    if (x->id == q->exacts.n)
        (void)sl_vec_push(&q->exacts);
    q->exacts.v[x->id] = x;
    sl_map_add(&q->exact_by_key, x->key, x->id);
    if (!later) /* no pod has a place in it */
        sl_map_add(&q->exact_by_name, fq_exact_name_key(x->ns, x->workload), x->id);
    return x;
}

static void exact_free(struct sl_fluxqueue *q, struct fq_exact *x) {
    for (uint32_t i = 0; i < x->parts.n; i++)
        fq_usage_unref(q, x->parts.v[i].usage);
    sl_vec_free(&x->parts);
    sl_vec_free(&x->seats);
    sl_freep(&x);
}

void fq_exact_drop(struct sl_fluxqueue *q, struct fq_exact *x) {
    (void)sl_map_del(&q->exact_by_key, x->key, x->id);
    if (!x->later)
        (void)sl_map_del(&q->exact_by_name, fq_exact_name_key(x->ns, x->workload), x->id);
    q->exacts.v[x->id] = NULL;
    *sl_vec_push(&q->free_exacts) = x->id;
    exact_free(q, x);
}

void fq_exact_done(struct sl_fluxqueue *q) {
    for (uint32_t i = 0; i < q->exacts.n; i++)
        if (q->exacts.v[i])
            exact_free(q, q->exacts.v[i]);
    fq_exact_forget_requests(q);
    sl_freep(&q->asks);
    sl_vec_free(&q->exacts);
    sl_vec_free(&q->free_exacts);
    sl_vec_free(&q->leaving);
    sl_map_done(&q->exact_by_key);
    sl_map_done(&q->exact_by_name);
    sl_map_done(&q->pods_by_workload);
}

void fq_exact_each_usage(struct sl_fluxqueue *q,
                         void (*f)(struct sl_fluxqueue *, const struct fq_usage *, void *),
                         void *ctx) {
    for (uint32_t i = 0; i < q->exacts.n; i++)
        for (uint32_t k = 0; q->exacts.v[i] && k < q->exacts.v[i]->parts.n; k++)
            f(q, q->exacts.v[i]->parts.v[k].usage, ctx);
}

void fq_exact_hold_names(struct sl_fluxqueue *q, struct sl_syms *t) {
    for (uint32_t i = 0; q->asks && i < FQ_ASKS; i++)
        sl_sym_hold(t, q->asks[i].ns);
    for (uint32_t i = 0; q->asks && i < FQ_ASKS; i++)
        for (uint32_t k = 0; k < q->asks[i].n_kept; k++)
            sl_sym_hold(t, q->asks[i].kept[k].node);
    for (uint32_t i = 0; i < q->exacts.n; i++) {
        const struct fq_exact *x = q->exacts.v[i];
        if (!x)
            continue;
        sl_sym_hold(t, x->ns);
        sl_sym_hold(t, x->workload);
        for (uint32_t k = 0; k < x->parts.n; k++)
            sl_sym_hold(t, x->parts.v[k].name);
        for (uint32_t k = 0; k < x->seats.n; k++)
            sl_sym_hold(t, x->seats.v[k].node);
    }
}

void fq_exact_add_parts(struct sl_fluxqueue *q, struct fq_exact *x, const struct sl_exact_podset *v,
                        uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(v[i].pod, strlen(v[i].pod), 0);
        yyjson_val *pod = yyjson_doc_get_root(d);
        *sl_vec_push(&x->parts) = (struct fq_part){
            .name = sl_sym_put(&q->inf->syms, v[i].name),
            .usage = fq_usage_get(q, sl_json_get(pod, "spec")),
            .whole = strcmp(sl_json_annotation(pod, SL_FLUX_WHOLE_NODES), "true") == 0,
        };
        fq_ports_demand(q, sl_vec_last(&x->parts).usage);
    }
}

/* ---- in the matcher ---- */

static int by_vertex(const void *a, const void *b) {
    const struct sl_pick *x = a, *y = b;
    return x->v < y->v ? -1 : x->v > y->v;
}

/* Each pool once. */
static void merge(struct sl_grant *g) {
    uint32_t n = 0;
    if (g->picks.n)
        qsort(g->picks.v, g->picks.n, sizeof *g->picks.v, by_vertex);
    for (uint32_t i = 0; i < g->picks.n; i++)
        if (n && g->picks.v[n - 1].v == g->picks.v[i].v)
            g->picks.v[n - 1].needs = fq_plus(g->picks.v[n - 1].needs, g->picks.v[i].needs);
        else
            g->picks.v[n++] = g->picks.v[i];
    g->picks.n = n;
}

static void put_picks(const struct fq_part *p, const struct fq_seat *s, struct fq_node *n,
                      struct sl_grant *g) {
    for (uint32_t i = 0; i < n->pools.n && p->whole; i++)
        if (n->pools.v[i].v != SL_VTX_NONE)
            *sl_vec_push(&g->picks) =
                (struct sl_pick){n->pools.v[i].v, n->pools.v[i].allocatable, true};
    for (uint32_t i = 0; i < p->usage->n && !p->whole; i++) {
        const struct fq_pool *pool = fq_pool_find(n, p->usage->v[i].resource);
        int64_t amount = p->usage->v[i].amount;
        if (pool && pool->v != SL_VTX_NONE && amount > 0)
            *sl_vec_push(&g->picks) = (struct sl_pick){pool->v, fq_times(amount, s->count), true};
    }
}

static int hold_all(struct sl_fluxqueue *q, const struct fq_exact *x, const struct sl_grant *g,
                    struct sl_err *err) {
    /* What has its places has them now, also if the clock was ahead when it got them. */
    int64_t from = x->later ? x->from : 0, length = x->from + x->length - from;
    return fq_graph_put(q, fq_exact_id(x), g, from, length, x->later, err);
}

void fq_exact_into_matcher(struct sl_fluxqueue *q, const struct fq_exact *x) {
    struct sl_grant g = {0};
    struct sl_err err = {0};
    if (!q->match || x->aside)
        return;
    for (uint32_t i = 0; i < x->seats.n; i++) {
        const struct fq_seat *s = &x->seats.v[i];
        struct fq_node *n = s->count ? fq_node_find(q, s->node) : NULL;
        if (n && n->v != SL_VTX_NONE)
            put_picks(&x->parts.v[s->podset], s, n, &g);
    }
    merge(&g);
    if (g.picks.n && hold_all(q, x, &g, &err) < 0) {
        sl_log(SL_LOG_ERROR, "allocation of a workload not held",
               SL_S("namespace", fq_str(q, x->ns)), SL_S("workload", fq_str(q, x->workload)),
               SL_S("error", err.text));
        q->rebuild |= !q->restoring && !x->later; /* that is looked for again in any case */
    }
    sl_grant_done(&g);
}

void fq_exact_changed(struct sl_fluxqueue *q) {
    q->moved = true;
    if (q->queues)
        sl_queues_changed(q->queues);
}

/* In the order of their names, so that equal states give equal graphs. */
static int by_name(const void *a, const void *b, void *ctx) {
    const struct sl_fluxqueue *q = ctx;
    const struct fq_exact *x = *(struct fq_exact *const *)a, *y = *(struct fq_exact *const *)b;
    int r = strcmp(fq_str(q, x->ns), fq_str(q, y->ns));
    return r ? r : strcmp(fq_str(q, x->workload), fq_str(q, y->workload));
}

void fq_exact_restore(struct sl_fluxqueue *q) {
    uint32_t n = 0;
    struct fq_exact **v = sl_alloc0(q->exacts.n + 1, sizeof *v);
    for (uint32_t i = 0; i < q->exacts.n; i++)
        if (q->exacts.v[i])
            v[n++] = q->exacts.v[i];
    qsort_r(v, n, sizeof(struct fq_exact *), by_name, q);
    for (uint32_t i = 0; i < n; i++)
        fq_exact_into_matcher(q, v[i]);
    sl_freep(&v);
}
