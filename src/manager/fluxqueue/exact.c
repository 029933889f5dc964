/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Workloads hold on the graph, and the search for it (exact.h).
 *
 * Each Workload is one job of the matcher, FQ_EXACT_ID and its number. Podsets are matched one
 * after the other, each beside those before it; one for which nothing is left comes first in
 * another attempt, since those before it may do with other nodes.
 */
#include "manager/fluxqueue/exact.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/log/log.h"
#include "manager/fluxqueue/fq_int.h"

#define WORKLOAD "kueue.x-k8s.io/workload"
#define SLICE "kueue.x-k8s.io/workload-slice-name"
#define PODSET "kueue.x-k8s.io/podset"
#define MAX_WHY 240u

/* So many pods of a podset on a node. */
struct seat {
    sl_sym node;
    uint32_t podset, count;
    uint32_t taken; /* of them, by pods that are there */
};

struct part {
    sl_sym name;
    struct fq_usage *usage; /* of one pod */
    bool whole;             /* its nodes are its own */
};

struct fq_exact {
    uint64_t key;
    sl_sym ns, workload;
    uint32_t id;
    int64_t from, length; /* seconds, of the graph's time */
    bool aside;
    SL_VEC(struct part) parts;
    SL_VEC(struct seat) seats;
};

/* A podset as a request for this graph, made of the text. */
struct fq_ask {
    uint64_t hash;
    char *text;
    uint32_t count;
    int64_t duration;
    struct sl_match_request *request; /* NULL: see below */
    char *refused;
    bool whole;
};

/* ---- requests ---- */

static void ask_clear(struct fq_ask *a) {
    sl_match_request_freep(&a->request);
    sl_freep(&a->text);
    sl_freep(&a->refused);
    *a = (struct fq_ask){0};
}

void fq_exact_forget_requests(struct sl_fluxqueue *q) {
    for (uint32_t i = 0; q->asks && i < FQ_MAX_ASKS; i++)
        ask_clear(&q->asks[i]);
}

static int compile(struct sl_fluxqueue *q, struct fq_ask *a, struct sl_err *err) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(FQ_MAX_JOBSPEC);
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(a->text, strlen(a->text), 0);
    yyjson_val *pod = yyjson_doc_get_root(d);
    struct fq_jobspec_options options = q->options;
    struct fq_jobspec_info info = {0};

    options.name = "pod";
    options.duration = a->duration;
    int r = fq_jobspec_write(SL_FLUX_POD, pod, a->count, &options, &b, err);
    if (r >= 0)
        r = fq_jobspec_compile(sl_match_graph(q->match), &q->universe, sl_buf_str(&b), b.len, 0,
                               &arena, &info, &a->request, err);
    if (r >= 0 && sl_arena_full(&arena)) {
        sl_match_request_freep(&a->request);
        r = sl_err_set(err, SL_ELIMIT, "the jobspec is too large");
    }
    a->whole = info.whole_nodes;
    return r;
}

/* Those of before are kept while there is room: a search asks for the same again and again. */
static struct fq_ask *ask_for(struct sl_fluxqueue *q, const struct sl_exact_podset *p,
                              uint32_t count, int64_t duration) {
    uint64_t h = sl_hash_u64(sl_hash_u64(sl_hash_str(1, p->pod), count), (uint64_t)duration);
    struct sl_err err = {0};
    if (!q->asks)
        q->asks = sl_alloc0(FQ_MAX_ASKS, sizeof *q->asks);
    for (uint32_t i = 0; i < FQ_MAX_ASKS; i++) {
        struct fq_ask *a = &q->asks[i];
        if (a->text && a->hash == h && a->count == count && a->duration == duration &&
            strcmp(a->text, p->pod) == 0)
            return a;
    }
    struct fq_ask *a = &q->asks[q->next_ask++ % FQ_MAX_ASKS];
    ask_clear(a);
    *a =
        (struct fq_ask){.hash = h, .text = sl_strdup(p->pod), .count = count, .duration = duration};
    if (compile(q, a, &err) < 0)
        a->refused = sl_strdup(err.text);
    return a;
}

/* ---- Workloads ---- */

static uint64_t name_key(sl_sym ns, sl_sym workload) {
    return sl_hash_u64(sl_hash_u64(1, ns), workload);
}

static struct fq_exact *by_key(const struct sl_fluxqueue *q, uint64_t key) {
    sl_map_foreach (i, &q->exact_by_key, key)
        if (q->exacts.v[i]->key == key)
            return q->exacts.v[i];
    return NULL;
}

static struct fq_exact *of_pod(const struct sl_fluxqueue *q, const struct fq_pod *p) {
    if (!p->workload)
        return NULL;
    sl_map_foreach (i, &q->exact_by_name, name_key(p->rec.ns, p->workload))
        if (q->exacts.v[i]->ns == p->rec.ns && q->exacts.v[i]->workload == p->workload)
            return q->exacts.v[i];
    return NULL;
}

static int64_t id_of(const struct fq_exact *x) {
    return FQ_EXACT_ID + x->id;
}

static struct fq_exact *add(struct sl_fluxqueue *q, const struct sl_exact_owner *o) {
    struct fq_exact *x = sl_alloc0(1, sizeof *x);
    int64_t from = o->since / SL_SEC;
    bool ends = o->duration > 0 && o->duration < FQ_END - from;
    x->key = o->key;
    x->ns = sl_sym_put(&q->inf->syms, o->ns);
    x->workload = sl_sym_put(&q->inf->syms, o->name);
    x->from = ends ? from : 0;
    x->length = ends ? o->duration : FQ_END;
    x->id = q->free_exacts.n ? sl_vec_pop(&q->free_exacts) : q->exacts.n;
    if (x->id == q->exacts.n)
        (void)sl_vec_push(&q->exacts);
    q->exacts.v[x->id] = x;
    sl_map_add(&q->exact_by_key, x->key, x->id);
    sl_map_add(&q->exact_by_name, name_key(x->ns, x->workload), x->id);
    return x;
}

static void exact_free(struct sl_fluxqueue *q, struct fq_exact *x) {
    for (uint32_t i = 0; i < x->parts.n; i++)
        fq_usage_unref(q, x->parts.v[i].usage);
    sl_vec_free(&x->parts);
    sl_vec_free(&x->seats);
    sl_freep(&x);
}

static void drop(struct sl_fluxqueue *q, struct fq_exact *x) {
    (void)sl_map_del(&q->exact_by_key, x->key, x->id);
    (void)sl_map_del(&q->exact_by_name, name_key(x->ns, x->workload), x->id);
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

void fq_exact_hold_names(struct sl_fluxqueue *q, struct sl_syms *t) {
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

static void add_parts(struct sl_fluxqueue *q, struct fq_exact *x, const struct sl_exact_podset *v,
                      uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(v[i].pod, strlen(v[i].pod), 0);
        yyjson_val *pod = yyjson_doc_get_root(d);
        *sl_vec_push(&x->parts) = (struct part){
            .name = sl_sym_put(&q->inf->syms, v[i].name),
            .usage = fq_usage_get(q, sl_json_get(pod, "spec")),
            .whole = strcmp(sl_json_annotation(pod, SL_FLUX_WHOLE_NODES), "true") == 0,
        };
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
            g->picks.v[n - 1].needs += g->picks.v[i].needs;
        else
            g->picks.v[n++] = g->picks.v[i];
    g->picks.n = n;
}

static void put_picks(const struct part *p, const struct seat *s, struct fq_node *n,
                      struct sl_grant *g) {
    for (uint32_t i = 0; i < n->pools.n && p->whole; i++)
        if (n->pools.v[i].v != SL_VTX_NONE)
            *sl_vec_push(&g->picks) =
                (struct sl_pick){n->pools.v[i].v, n->pools.v[i].allocatable, true};
    for (uint32_t i = 0; i < p->usage->n && !p->whole; i++) {
        const struct fq_pool *pool = fq_pool_find(n, p->usage->v[i].resource);
        int64_t amount = p->usage->v[i].amount;
        if (pool && pool->v != SL_VTX_NONE && amount > 0)
            *sl_vec_push(&g->picks) = (struct sl_pick){pool->v, amount * s->count, true};
    }
}

/* The size of each pool that is in use: as large as can be, or as it is. */
static int resize(struct sl_fluxqueue *q, const struct sl_grant *g, bool large,
                  struct sl_err *err) {
    int r = 0;
    for (uint32_t i = 0; i < g->picks.n && r >= 0; i++) {
        sl_vtx v = g->picks.v[i].v;
        struct fq_node *n = fq_node_of(q->inf->recs.v[q->by_vertex.v[v]]);
        for (uint32_t k = 0; k < n->pools.n && r >= 0; k++)
            if (n->pools.v[k].v == v)
                r = sl_match_resize(q->match, v,
                                    large ? SL_GRAPH_MAX_SIZE : fq_pool_size(&n->pools.v[k]), err);
    }
    return r;
}

/* Of a node that others have filled, or that has shrunk, more may be held than there is. */
static int hold_all(struct sl_fluxqueue *q, const struct fq_exact *x, const struct sl_grant *g,
                    struct sl_err *err) {
    int r = sl_match_update(q->match, id_of(x), g->picks.v, g->picks.n, x->from, x->length, err);
    if (r >= 0 || q->restoring)
        return r;
    r = resize(q, g, true, err);
    if (r >= 0)
        r = sl_match_update(q->match, id_of(x), g->picks.v, g->picks.n, x->from, x->length, err);
    int back = resize(q, g, false, err);
    return r < 0 ? r : back;
}

static void into_matcher(struct sl_fluxqueue *q, const struct fq_exact *x) {
    struct sl_grant g = {0};
    struct sl_err err = {0};
    if (!q->match || x->aside)
        return;
    for (uint32_t i = 0; i < x->seats.n; i++) {
        const struct seat *s = &x->seats.v[i];
        struct fq_node *n = s->count ? fq_node_find(q, s->node) : NULL;
        if (n && n->v != SL_VTX_NONE)
            put_picks(&x->parts.v[s->podset], s, n, &g);
    }
    merge(&g);
    if (g.picks.n && hold_all(q, x, &g, &err) < 0) {
        sl_log(SL_LOG_ERROR, "allocation of a workload not held",
               SL_S("namespace", fq_str(q, x->ns)), SL_S("workload", fq_str(q, x->workload)),
               SL_S("error", err.text));
        q->rebuild |= !q->restoring;
    }
    sl_grant_done(&g);
}

static void changed(struct sl_fluxqueue *q) {
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
        into_matcher(q, v[i]);
    sl_freep(&v);
}

/* ---- pods ---- */

static void leave_seat(struct sl_fluxqueue *q, struct fq_pod *p) {
    struct fq_exact *x = p->exact ? q->exacts.v[p->exact - 1] : NULL;
    p->exact = 0;
    if (!x)
        return;
    x->seats.v[p->seat].taken--;
    /* One that is there and had none may have it now. */
    sl_map_foreach (i, &q->pods_by_workload, name_key(p->rec.ns, p->workload)) {
        struct sl_rec *r = q->inf->recs.v[i];
        if (fq_pod_of(r)->charged && r != &p->rec)
            sl_rec_enqueue(r);
    }
}

bool fq_exact_seat(struct sl_fluxqueue *q, struct fq_pod *p) {
    struct fq_exact *x = of_pod(q, p);
    bool there = x && p->node && !p->ended && !p->rec.gone;
    if (p->exact && there && p->exact == x->id + 1 && x->seats.v[p->seat].node == p->node)
        return true;
    leave_seat(q, p);
    for (uint32_t i = 0; there && i < x->seats.n; i++) {
        struct seat *s = &x->seats.v[i];
        if (s->node != p->node || s->taken >= s->count ||
            (p->podset && x->parts.v[s->podset].name != p->podset))
            continue;
        s->taken++;
        p->exact = x->id + 1;
        p->seat = i;
        return true;
    }
    return false;
}

void fq_exact_pod_decode(struct sl_fluxqueue *q, struct fq_pod *p, yyjson_val *o) {
    const char *slice = sl_json_annotation(o, SLICE), *name = sl_json_annotation(o, WORKLOAD);
    sl_sym workload = sl_sym_put(&q->inf->syms, *slice ? slice : name);
    if (workload != p->workload) {
        leave_seat(q, p);
        if (p->workload)
            (void)sl_map_del(&q->pods_by_workload, name_key(p->rec.ns, p->workload), p->rec.id);
        p->workload = workload;
        if (workload)
            sl_map_add(&q->pods_by_workload, name_key(p->rec.ns, workload), p->rec.id);
    }
    if (!workload)
        return;
    p->podset = sl_sym_put(&q->inf->syms, sl_json_label(o, PODSET));
    p->host = sl_sym_put(&q->inf->syms, sl_json_text(yyjson_obj_get(
                                            sl_json_at(o, "spec.nodeSelector"), SL_EXACT_LEVEL)));
}

void fq_exact_pod_deleted(struct sl_fluxqueue *q, struct fq_pod *p) {
    leave_seat(q, p);
    if (p->workload)
        (void)sl_map_del(&q->pods_by_workload, name_key(p->rec.ns, p->workload), p->rec.id);
    p->workload = 0;
}

void fq_exact_note_leaving(struct sl_fluxqueue *q, struct fq_pod *p) {
    if (p->leaving || !p->charged || !(p->rec.deleting || p->released))
        return;
    p->leaving = true;
    *sl_vec_push(&q->leaving) = p->rec.id;
    q->freed++;
}

/* Pods that are there and were counted as others' have the places now, or the other way round. */
static void seat_all(struct sl_fluxqueue *q, sl_sym ns, sl_sym workload, bool released) {
    sl_map_foreach (i, &q->pods_by_workload, name_key(ns, workload)) {
        struct fq_pod *p = fq_pod_of(q->inf->recs.v[i]);
        if (p->rec.ns != ns || p->workload != workload)
            continue;
        if (p->plain) {
            fq_plain_drop(q, p);
            fq_pod_target(q, p, 0);
            sl_rec_enqueue(&p->rec);
        }
        bool seated = fq_exact_seat(q, p);
        p->released = released;
        fq_pod_charge(q, p, seated || p->ended ? 0 : p->node);
        fq_exact_note_leaving(q, p);
    }
}

/* ---- pods that name our scheduler ---- */

bool fq_exact_has(const struct sl_fluxqueue *q, const struct fq_pod *p) {
    return of_pod(q, p) != NULL;
}

static sl_sym node_of_host(const struct sl_fluxqueue *q, sl_sym host);

/* The manager has selected its node; there may still be one before it. */
void fq_exact_plain_sync(struct sl_fluxqueue *q, struct fq_pod *p) {
    const struct fq_exact *x = of_pod(q, p);
    if (p->ended || p->node || p->rec.deleting || p->gates || !p->host) {
        fq_pod_charge(q, p, fq_exact_seat(q, p) || p->ended ? 0 : p->node);
        if (!p->node)
            fq_pod_target(q, p, 0);
        return;
    }
    if (!q->leads || p->target)
        return;
    sl_sym node = node_of_host(q, p->host);
    bool has = false;
    for (uint32_t i = 0; i < x->seats.n; i++)
        has |= x->seats.v[i].node == node && x->seats.v[i].taken < x->seats.v[i].count;
    if (has && fq_node_has_room(q, p, node)) {
        fq_pod_target(q, p, node);
        sl_rec_write(&p->rec);
        return;
    }
    sl_rec_reconcile_at(&p->rec, sl_time_add(q->client->wall, FQ_GROW_PAUSE));
}

/* ---- the search ---- */

struct found {
    SL_VEC(struct seat) seats;
};

/* A podset that needs nodes; request NULL: it cannot get any. */
struct want {
    struct sl_match_request *request; /* a reference */
    uint32_t count;                   /* 0: it needs none */
    bool whole;
};

/* As queue.c takes the places of a job. A node that no selector leads to is none. */
static uint32_t take(struct sl_fluxqueue *q, const struct sl_grant *g, uint32_t podset, bool whole,
                     struct found *f) {
    const struct sl_graph *graph = sl_match_graph(q->match);
    sl_sym pods = sl_sym_find(sl_graph_syms(graph), "pods");
    uint32_t nodes = 0, sum = 0;
    for (uint32_t i = 0; i < g->picks.n; i++)
        nodes += sl_graph_vertex(graph, g->picks.v[i].v)->type == pods;
    for (uint32_t i = 0; i < g->picks.n; i++) {
        const struct sl_pick *p = &g->picks.v[i];
        sl_sym node = sl_graph_vertex(graph, p->v)->type == pods ? fq_node_at(q, p->v) : 0;
        uint32_t n = (uint32_t)(whole ? g->n_slots / nodes : p->needs);
        const struct fq_node *there = fq_node_find(q, node);
        if (!there || !fq_hostname(q, there) || !n)
            continue;
        *sl_vec_push(&f->seats) = (struct seat){.node = node, .podset = podset, .count = n};
        sum += n;
    }
    return sum;
}

static bool match(struct sl_fluxqueue *q, const struct sl_match_request *r, int64_t id,
                  struct sl_grant *g) {
    enum sl_match_verdict verdict = SL_BUSY;
    struct sl_err err = {0};
    return r &&
           sl_match_run(q->match, r, SL_MATCH_ALLOCATE, id, fq_now(q), &verdict, g, &err) >= 0 &&
           verdict == SL_MATCHED;
}

/* One after the other in this order. Returns how many found nodes. */
static uint32_t try_order(struct sl_fluxqueue *q, const struct want *w, const uint32_t *order,
                          uint32_t n, struct found *f) {
    uint32_t done = 0;
    struct sl_grant g = {0};
    sl_vec_clear(&f->seats);
    for (; done < n; done++) {
        const struct want *x = &w[order[done]];
        int64_t id = FQ_EXACT_TRY + order[done];
        if (x->count == 0)
            continue;
        if (!match(q, x->request, id, &g))
            break;
        if (take(q, &g, order[done], x->whole, f) != x->count) {
            fq_graph_cancel(q, id);
            break;
        }
    }
    for (uint32_t i = 0; i < done; i++)
        if (w[order[i]].count)
            fq_graph_cancel(q, FQ_EXACT_TRY + order[i]);
    sl_grant_done(&g);
    return done;
}

static bool search(struct sl_fluxqueue *q, const struct want *w, uint32_t n, struct found *f,
                   uint32_t *ret_refused) {
    uint32_t order[SL_EXACT_MAX_PODSETS];
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t attempt = 0; attempt <= n; attempt++) {
        uint32_t done = try_order(q, w, order, n, f);
        if (done == n)
            return true;
        uint32_t refused = *ret_refused = order[done];
        if (done == 0)
            return false;
        memmove(order + 1, order, done * sizeof *order);
        order[0] = refused;
    }
    return false;
}

/* ---- why not ---- */

static const char *unready(const struct sl_fluxqueue *q) {
    if (!q->inf->ready || !q->in_use || q->rebuild || q->taints_changed)
        return "the nodes are being read";
    return q->match ? NULL : "the cluster has no nodes";
}

/* How many of them would get nodes. */
static uint32_t most(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                     const struct sl_exact_podset *p) {
    uint32_t low = 0, high = p->count - 1;
    while (low < high) {
        uint32_t mid = low + (high - low + 1) / 2;
        if (match(q, ask_for(q, p, mid, o->duration)->request, FQ_EXACT_TRY, NULL)) {
            fq_graph_cancel(q, FQ_EXACT_TRY);
            low = mid;
        } else {
            high = mid - 1;
        }
    }
    return low;
}

static void explain(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                    const struct sl_exact_podset *p, char *why, size_t why_len) {
    const struct fq_ask *a = ask_for(q, p, p->count, o->duration);
    char text[MAX_WHY];
    if (!a->request) {
        sl_fmt_short(why, why_len, "%s", a->refused);
        return;
    }
    if (!fq_graph_could(q, a->request)) {
        sl_fmt_short(why, why_len,
                     "no set of nodes has what %u pod(s) request, even if all were free", p->count);
        return;
    }
    sl_fmt_short(text, sizeof text, "no set of nodes has room for %u pod(s)", p->count);
    if (p->count > 1)
        sl_fmt_short(why, why_len, "%s, only for %u of them", text, most(q, o, p));
    else
        sl_fmt_short(why, why_len, "%s", text);
}

/* ---- the interface ---- */

void sl_exact_use(struct sl_fluxqueue *q) {
    q->in_use = true;
}

void sl_exact_observed(struct sl_fluxqueue *q, bool all) {
    if (q->unobserved && all)
        q->moved = true;
    q->unobserved = !all;
}

uint64_t sl_exact_version(struct sl_fluxqueue *q) {
    q->yields = false;
    return q->capacity + q->freed;
}

static bool find(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                 const struct sl_exact_podset *v, uint32_t n, struct found *f,
                 uint32_t *ret_refused) {
    struct want w[SL_EXACT_MAX_PODSETS] = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].count == 0)
            continue;
        const struct fq_ask *a = ask_for(q, &v[i], v[i].count, o->duration);
        w[i] = (struct want){.count = v[i].count, .whole = a->whole};
        w[i].request = a->request ? sl_match_request_ref(a->request) : NULL;
    }
    bool fine = search(q, w, n, f, ret_refused);
    for (uint32_t i = 0; i < n; i++)
        sl_match_request_freep(&w[i].request);
    return fine;
}

/* Pods that are being deleted do not count while a question is answered. */
static void lift_leaving(struct sl_fluxqueue *q, int sign) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->leaving.n; i++) {
        struct sl_rec *r = q->inf->recs.v[q->leaving.v[i]];
        if (!r || r->kind != FQ_POD || !fq_pod_of(r)->leaving)
            continue;
        if (!fq_pod_of(r)->charged) {
            fq_pod_of(r)->leaving = false;
            continue;
        }
        fq_pod_shift(q, fq_pod_of(r), sign);
        q->leaving.v[n++] = q->leaving.v[i];
    }
    q->leaving.n = n;
}

static const struct fq_node *node_by_label(const struct sl_fluxqueue *q, sl_sym host) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_NODE, &at));)
        if (fq_hostname(q, fq_node_of(r)) == host)
            return fq_node_of(r);
    return NULL;
}

/* As good as always it is the name. */
static sl_sym node_of_host(const struct sl_fluxqueue *q, sl_sym host) {
    const struct fq_node *n = fq_node_find(q, host);
    if (n && fq_hostname(q, n) == host)
        return host;
    n = node_by_label(q, host);
    return n ? sl_sym_put(&q->inf->syms, n->rec.name) : host;
}

static void add_seats(struct sl_fluxqueue *q, struct found *f, uint32_t podset,
                      const struct sl_exact_place *p) {
    for (uint32_t i = 0; i < p->n; i++)
        *sl_vec_push(&f->seats) = (struct seat){
            .node = node_of_host(q, sl_sym_put(&q->inf->syms, p->v[i].hostname)),
            .podset = podset,
            .count = p->v[i].count,
        };
}

static void hold(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                 const struct sl_exact_podset *v, uint32_t n, struct found *f) {
    struct fq_exact *x = add(q, o);
    add_parts(q, x, v, n);
    for (uint32_t i = 0; i < f->seats.n; i++)
        *sl_vec_push(&x->seats) = f->seats.v[i];
    seat_all(q, x->ns, x->workload, false);
    into_matcher(q, x);
    changed(q);
}

bool sl_exact_place(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                    const struct sl_exact_podset *v, uint32_t n, uint32_t *ret_refused, char *why,
                    size_t why_len) {
    const char *not_now = unready(q);
    struct found f = {0};
    *ret_refused = 0;
    if (not_now || n > SL_EXACT_MAX_PODSETS) {
        sl_fmt_short(why, why_len, "%s", not_now ? not_now : "it has too many podsets");
        return false;
    }
    sl_exact_release(q, o->key);
    bool fine = find(q, o, v, n, &f, ret_refused);
    if (fine)
        hold(q, o, v, n, &f);
    else
        explain(q, o, &v[*ret_refused], why, why_len);
    sl_vec_free(&f.seats);
    return fine;
}

/* Others than these seats are its own from now on; those of before are in f. */
static void swap_seats(struct sl_fluxqueue *q, struct fq_exact *x, struct found *f) {
    sl_map_foreach (i, &q->pods_by_workload, name_key(x->ns, x->workload)) {
        struct fq_pod *p = fq_pod_of(q->inf->recs.v[i]);
        if (p->exact == x->id + 1)
            p->exact = 0;
    }
    for (uint32_t i = 0; i < x->seats.n; i++)
        x->seats.v[i].taken = 0;
    struct found old = {{x->seats.v, x->seats.n, x->seats.cap}};
    x->seats.v = f->seats.v;
    x->seats.n = f->seats.n;
    x->seats.cap = f->seats.cap;
    f->seats.v = old.seats.v;
    f->seats.n = old.seats.n;
    f->seats.cap = old.seats.cap;
}

static bool is_seat(const struct found *f, sl_sym node) {
    for (uint32_t i = 0; i < f->seats.n; i++)
        if (f->seats.v[i].node == node)
            return true;
    return false;
}

static bool is_kept(const struct fq_exact *x, sl_sym node) {
    for (uint32_t i = 0; i < x->seats.n; i++)
        if (x->seats.v[i].node == node)
            return true;
    return false;
}

bool sl_exact_move(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                   const struct sl_exact_podset *v, const struct sl_exact_place *keep, uint32_t n) {
    struct fq_exact *x = by_key(q, o->key);
    struct sl_exact_podset rest[SL_EXACT_MAX_PODSETS];
    struct found seats = {0}, more = {0};
    uint32_t refused;
    if (!x || unready(q) || n > SL_EXACT_MAX_PODSETS)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t has = 0;
        for (uint32_t k = 0; k < keep[i].n; k++)
            has += keep[i].v[k].count;
        rest[i] = v[i];
        rest[i].count -= has < v[i].count ? has : v[i].count;
        add_seats(q, &seats, i, &keep[i]);
    }
    /* What it keeps stays held while the rest is looked for. */
    fq_graph_cancel(q, id_of(x));
    swap_seats(q, x, &seats);
    into_matcher(q, x);
    bool fine = !unready(q) && find(q, o, rest, n, &more, &refused);
    fq_graph_cancel(q, id_of(x));
    /* One that it was to leave, and that is not known here to have failed. */
    for (uint32_t i = 0; i < more.seats.n && fine; i++)
        fine = !is_seat(&seats, more.seats.v[i].node) || is_kept(x, more.seats.v[i].node);
    for (uint32_t i = 0; fine && i < more.seats.n; i++)
        *sl_vec_push(&x->seats) = more.seats.v[i];
    if (!fine)
        swap_seats(q, x, &seats);
    seat_all(q, x->ns, x->workload, false);
    into_matcher(q, x);
    if (fine)
        changed(q);
    sl_vec_free(&seats.seats);
    sl_vec_free(&more.seats);
    return fine;
}

bool sl_exact_could(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                    const struct sl_exact_podset *v, uint32_t n) {
    struct found f = {0};
    uint32_t refused;
    if (unready(q) || n > SL_EXACT_MAX_PODSETS)
        return false;
    lift_leaving(q, -1);
    bool could = find(q, o, v, n, &f, &refused);
    lift_leaving(q, 1);
    sl_vec_free(&f.seats);
    return could;
}

bool sl_exact_soon(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                   const struct sl_exact_podset *v, uint32_t n) {
    return q->leaving.n > 0 && sl_exact_could(q, o, v, n);
}

void sl_exact_set_aside(struct sl_fluxqueue *q, uint64_t key, bool aside) {
    struct fq_exact *x = by_key(q, key);
    if (!x || x->aside == aside)
        return;
    x->aside = aside;
    if (q->match && aside)
        fq_graph_cancel(q, id_of(x));
    else
        into_matcher(q, x);
}

/* The same as it has: nobody needs to know. */
static bool holds(const struct sl_fluxqueue *q, uint64_t key, const struct found *f) {
    const struct fq_exact *x = by_key(q, key);
    bool same = x && x->seats.n == f->seats.n;
    for (uint32_t i = 0; same && i < f->seats.n; i++) {
        const struct seat *a = &x->seats.v[i], *b = &f->seats.v[i];
        same = a->node == b->node && a->podset == b->podset && a->count == b->count;
    }
    return same;
}

void sl_exact_hold(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                   const struct sl_exact_podset *v, const struct sl_exact_place *places,
                   uint32_t n) {
    struct found f = {0};
    for (uint32_t i = 0; i < n; i++)
        add_seats(q, &f, i, &places[i]);
    if (!holds(q, o->key, &f)) {
        sl_exact_release(q, o->key);
        hold(q, o, v, n, &f);
    }
    sl_vec_free(&f.seats);
}

void sl_exact_release(struct sl_fluxqueue *q, uint64_t key) {
    struct fq_exact *x = by_key(q, key);
    if (!x)
        return;
    sl_sym ns = x->ns, workload = x->workload;
    if (q->match)
        fq_graph_cancel(q, id_of(x));
    drop(q, x);
    seat_all(q, ns, workload, true);
    q->freed++;
    changed(q);
}

uint32_t sl_exact_held(const struct sl_fluxqueue *q, uint64_t key, struct sl_arena *a,
                       const struct sl_exact_place **ret) {
    const struct fq_exact *x = by_key(q, key);
    if (!x)
        return 0;
    struct sl_exact_place *v = sl_arena_alloc0(a, x->parts.n + 1, sizeof *v);
    for (uint32_t i = 0; i < x->parts.n; i++) {
        struct sl_exact_node *nodes = sl_arena_alloc0(a, x->seats.n + 1, sizeof *nodes);
        for (uint32_t k = 0; k < x->seats.n; k++) {
            const struct seat *s = &x->seats.v[k];
            const struct fq_node *n = s->podset == i ? fq_node_find(q, s->node) : NULL;
            sl_sym host = n ? fq_hostname(q, n) : 0;
            if (s->podset == i)
                nodes[v[i].n++] = (struct sl_exact_node){
                    sl_arena_strdup(a, fq_str(q, host ? host : s->node)), s->count};
        }
        v[i].v = nodes;
    }
    *ret = v;
    return x->parts.n;
}
