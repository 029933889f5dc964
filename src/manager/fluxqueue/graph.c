/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph of the live nodes: cluster > levels > node > pools. It is made anew whenever vertices
 * come or go, from the records alone, and so is the queue over it: what a process makes of the API
 * at its start is what it has at any other time. Amounts, labels, taints and readiness change in
 * place (nodes.c).
 *
 * Nodes stand in the order of their creation, so that a new one changes no answer about the others.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "core/base/quantity.h"
#include "lib/log/log.h"
#include "manager/fluxqueue/fq_int.h"
#include "manager/fluxqueue/jobspec/jobspec_int.h"

#define ROOT "cluster"
#define MAX_PROP 1024u
#define MAX_BASENAME 52u /* of a pool; one of a longer type has a name of its own */

/* A value of a level below its parent. */
struct level {
    sl_vtx parent, v;
    sl_sym value;
};

/* While a graph is made. */
struct making {
    struct sl_fluxqueue *q;
    struct sl_graph *g;
    struct sl_map levels; /* hash(parent, type, value) -> place in 'made' */
    SL_VEC(struct level) made;
    SL_VEC(struct sl_graph_prop) props;
    struct sl_arena arena; /* texts of properties */
    struct sl_err err;
};

static int by_age(const void *a, const void *b) {
    const struct fq_node *x = *(struct fq_node *const *)a, *y = *(struct fq_node *const *)b;
    if (x->rec.created != y->rec.created)
        return x->rec.created < y->rec.created ? -1 : 1;
    return strcmp(x->rec.name, y->rec.name);
}

static int add(struct making *m, sl_vtx parent, const struct sl_vertex_spec *s, sl_vtx *ret) {
    int r = sl_graph_add(m->g, s, ret, &m->err);
    if (r >= 0 && parent != SL_VTX_NONE)
        r = sl_graph_link(m->g, SL_GRAPH_CONTAINMENT, parent, *ret, &m->err);
    return r;
}

/* The vertex of one value of a level; a node without the label is in none. */
static int enter_level(struct making *m, const struct fq_level *l, sl_sym value, sl_vtx *at) {
    uint64_t key = sl_hash_u64(sl_hash_str(*at, l->type), value);
    if (!value)
        return 0;
    sl_map_foreach (i, &m->levels, key)
        if (m->made.v[i].parent == *at && m->made.v[i].value == value) {
            *at = m->made.v[i].v;
            return 0;
        }
    sl_vtx v = SL_VTX_NONE;
    int r = add(m, *at,
                &(struct sl_vertex_spec){.type = l->type,
                                         .name = fq_str(m->q, value),
                                         .id = m->made.n,
                                         .uniq_id = -1,
                                         .rank = -1,
                                         .size = 1},
                &v);
    if (r < 0)
        return r;
    sl_map_add(&m->levels, key, m->made.n);
    *sl_vec_push(&m->made) = (struct level){*at, v, value};
    *at = v;
    return 0;
}

static void add_prop(struct making *m, const char *key, const char *value) {
    *sl_vec_push(&m->props) = (struct sl_graph_prop){key, value};
}

static void put_props(struct making *m, const struct fq_node *n) {
    const struct sl_fluxqueue *q = m->q;
    sl_vec_clear(&m->props);
    sl_arena_clear(&m->arena);
    for (uint32_t i = 0; i < n->labels.n; i++) {
        const char *key = fq_str(q, n->labels.v[i].key), *value = fq_str(q, n->labels.v[i].value);
        add_prop(m, key, value);
        add_prop(m, sl_arena_printf(&m->arena, "%s=%s", key, value), "");
    }
    for (uint32_t i = 0; i < n->taints.n; i++)
        add_prop(m, fq_str(q, n->taints.v[i]), "");
}

static const char *unit_of(const char *type) {
    return strcmp(type, "core") == 0 ? "m" : sl_quantity_is_bytes(type) ? "Ki" : NULL;
}

/* Large enough for now: it gets its size when jobs have what they have of it, which may be more. */
static int add_pool(struct making *m, const struct fq_node *n, struct fq_pool *p) {
    static const struct sl_graph_prop divisible = {SL_GRAPH_DIVISIBLE, ""};
    const char *type = fq_type_of(fq_str(m->q, p->resource));
    bool is_long = strlen(type) > MAX_BASENAME;
    char *base = sl_arena_strdup(&m->arena, is_long ? "resource" : type);
    for (char *c = strchr(base, '/'); c; c = strchr(c, '/'))
        *c = '-';
    return add(m, n->v,
               &(struct sl_vertex_spec){.type = type,
                                        .basename = base,
                                        .id = is_long ? p - n->pools.v : 0,
                                        .uniq_id = -1,
                                        .rank = -1,
                                        .size = SL_GRAPH_MAX_SIZE,
                                        .unit = unit_of(type),
                                        .props = &divisible,
                                        .n_props = 1},
               &p->v);
}

static int add_node(struct making *m, struct fq_node *n, int64_t id, sl_vtx at) {
    const struct fq_jobspec_options *c = &m->q->options;
    int r = 0;
    for (uint32_t l = 0; l < c->n_levels && r >= 0; l++)
        r = enter_level(m, &c->levels[l], fq_node_label(m->q, n, c->levels[l].label), &at);
    put_props(m, n);
    if (r >= 0)
        r = add(m, at,
                &(struct sl_vertex_spec){.type = "node",
                                         .name = n->rec.name,
                                         .id = id,
                                         .uniq_id = -1,
                                         .rank = -1,
                                         .size = 1,
                                         .down = !n->up,
                                         .props = m->props.v,
                                         .n_props = m->props.n},
                &n->v);
    for (uint32_t i = 0; i < n->pools.n && r >= 0; i++)
        if (n->pools.v[i].allocatable > 0)
            r = add_pool(m, n, &n->pools.v[i]);
    return r;
}

/* What requests depend on (struct fq_universe) of the nodes that are in the graph. */
struct seen {
    struct fq_names taints, gpus;
};

/* Adds what the node has; false, and nothing is added, if that is too much. */
static bool admit(const struct sl_fluxqueue *q, const struct fq_node *n, struct seen *seen) {
    struct fq_names taints = {0}, gpus = {0};
    for (uint32_t i = 0; i < n->taints.n; i++)
        if (!fq_names_has(&seen->taints, fq_str(q, n->taints.v[i])))
            (void)fq_names_add(&taints, fq_str(q, n->taints.v[i]));
    for (uint32_t i = 0; i < n->pools.n; i++) {
        const char *type = fq_type_of(fq_str(q, n->pools.v[i].resource));
        if (n->pools.v[i].allocatable > 0 && fq_is_gpu(type) && !fq_names_has(&seen->gpus, type))
            (void)fq_names_add(&gpus, type);
    }
    bool fits = seen->taints.v.n + taints.v.n <= FQ_MAX_TAINTS &&
                seen->gpus.v.n + gpus.v.n <= FQ_MAX_GPU_TYPES;
    for (uint32_t i = 0; i < taints.v.n && fits; i++)
        (void)fq_names_add(&seen->taints, taints.v.v[i]);
    for (uint32_t i = 0; i < gpus.v.n && fits; i++)
        (void)fq_names_add(&seen->gpus, gpus.v.v[i]);
    sl_vec_free(&taints.v);
    sl_vec_free(&gpus.v);
    return fits;
}

/* Some nodes may not stop the queue on all others: the youngest of too many different ones are left
 * out. */
static uint32_t leave_out(struct sl_fluxqueue *q, struct fq_node **v, uint32_t n) {
    struct seen seen = {0};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (admit(q, v[i], &seen))
            v[kept++] = v[i];
    q->left_out = kept < n;
    if (q->left_out)
        sl_log(SL_LOG_WARN, "nodes ignored: too many different taints or types of GPUs",
               SL_I("nodes", n - kept));
    sl_vec_free(&seen.taints.v);
    sl_vec_free(&seen.gpus.v);
    return kept;
}

/* What the node does not have any more. */
static void drop_empty_pools(struct fq_node *node) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < node->pools.n; i++)
        if (node->pools.v[i].allocatable > 0)
            node->pools.v[n++] = node->pools.v[i];
    node->pools.n = n;
}

/* All nodes that can be used, in their order; those of before have no vertices any more. */
static uint32_t collect(struct sl_fluxqueue *q, struct fq_node ***ret) {
    uint32_t at = 0, n = 0;
    struct fq_node **v = sl_alloc0(q->inf->tables[FQ_NODE].n + 1, sizeof *v);
    fq_ports_collect(q);
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_NODE, &at));) {
        struct fq_node *node = fq_node_of(r);
        fq_ports_put(q, node);
        drop_empty_pools(node);
        node->v = SL_VTX_NONE;
        for (uint32_t i = 0; i < node->pools.n; i++) {
            node->pools.v[i].v = SL_VTX_NONE;
            node->pools.v[i].foreign = node->pools.v[i].standing = 0;
        }
        if (node->usable && !r->gone)
            v[n++] = node;
    }
    qsort(v, n, sizeof *v, by_age);
    *ret = v;
    return leave_out(q, v, n);
}

static int make(struct making *m, struct fq_node **nodes, uint32_t n) {
    struct sl_fluxqueue *q = m->q;
    sl_vtx root = SL_VTX_NONE;
    int r =
        add(m, SL_VTX_NONE,
            &(struct sl_vertex_spec){.type = ROOT, .id = 0, .uniq_id = -1, .rank = -1, .size = 1},
            &root);
    for (uint32_t i = 0; i < n && r >= 0; i++)
        r = add_node(m, nodes[i], i, root);
    if (r >= 0)
        r = sl_graph_seal(m->g, &m->err);
    if (r < 0)
        return r;
    sl_vec_reserve(&q->by_vertex, sl_graph_count(m->g));
    q->by_vertex.n = sl_graph_count(m->g);
    memset(q->by_vertex.v, 0xff, q->by_vertex.n * sizeof *q->by_vertex.v);
    for (uint32_t i = 0; i < n; i++) {
        q->by_vertex.v[nodes[i]->v] = nodes[i]->rec.id;
        for (uint32_t k = 0; k < nodes[i]->pools.n; k++)
            if (nodes[i]->pools.v[k].v != SL_VTX_NONE)
                q->by_vertex.v[nodes[i]->pools.v[k].v] = nodes[i]->rec.id;
    }
    return sl_match_new(TAKE_PTR(m->g),
                        &(struct sl_match_options){.policy = q->policy, .end = FQ_END}, &q->match,
                        &m->err);
}

void fq_graph_free(struct sl_fluxqueue *q) {
    sl_queues_freep(&q->queues);
    if (q->match)
        fq_universe_done(&q->universe);
    fq_plain_forget_requests(q);
    sl_match_free(q->match);
    q->match = NULL;
    fq_graph_free_bare(q);
}

void fq_graph_free_bare(struct sl_fluxqueue *q) {
    sl_match_free(q->bare);
    q->bare = NULL;
}

/* Pods of others make pools smaller, and what does not fit into these may fit when they have ended.
 */
bool fq_graph_could(struct sl_fluxqueue *q, const struct sl_match_request *r) {
    enum sl_match_verdict verdict = SL_NEVER;
    struct sl_err err = {0};
    uint32_t at = 0;
    int code = 0;
    if (!q->bare) {
        q->bare = sl_match_clone(q->match);
        for (struct sl_rec *rec; (rec = sl_inf_each(q->inf, FQ_NODE, &at));)
            for (uint32_t i = 0; i < fq_node_of(rec)->pools.n && code >= 0; i++) {
                const struct fq_pool *p = &fq_node_of(rec)->pools.v[i];
                if (p->v != SL_VTX_NONE)
                    code = sl_match_resize(q->bare, p->v, p->allocatable, &err);
            }
    }
    if (code >= 0)
        code =
            sl_match_run(q->bare, r, SL_MATCH_SATISFIABILITY, 0, fq_now(q), &verdict, NULL, &err);
    return code >= 0 && verdict == SL_SATISFIABLE;
}

static int make_queues(struct sl_fluxqueue *q, struct sl_err *err) {
    const struct sl_settings *c = q->spec.settings;
    int r = fq_universe_init(&q->universe, sl_match_graph(q->match), err);
    q->queues = sl_queues_new(q->match);
    for (uint32_t i = 0; i < c->flux.n_queues && r >= 0; i++) {
        struct sl_queue_spec s = {.name = c->flux.queues[i].name,
                                  .policy = c->flux.queues[i].policy,
                                  .depth = c->flux.queues[i].depth,
                                  .reserve = c->flux.queues[i].reserve};
        struct sl_match_policy p;
        r = sl_match_policy_parse(c->flux.queues[i].match_policy, &p, err);
        if (r >= 0)
            r = sl_match_add_policy(q->match, &p, &s.match, err);
        if (r >= 0)
            r = sl_queues_add(q->queues, &s, err);
    }
    return r;
}

/* ---- what jobs have ---- */

/* `gpu` of a jobspec that cannot be compiled any more is what the node has; of several the first by
 * name. */
static const struct fq_pool *pool_of(const struct sl_fluxqueue *q, const struct fq_node *n,
                                     const char *type) {
    const struct fq_pool *gpus = NULL;
    const char *name = NULL;
    for (uint32_t i = 0; i < n->pools.n; i++) {
        const char *has = fq_type_of(fq_str(q, n->pools.v[i].resource));
        if (strcmp(has, type) == 0)
            return &n->pools.v[i];
        if (n->pools.v[i].v == SL_VTX_NONE || !fq_is_gpu(has) || (gpus && strcmp(has, name) > 0))
            continue;
        gpus = &n->pools.v[i];
        name = has;
    }
    return strcmp(type, "gpu") == 0 ? gpus : NULL;
}

static void pick(struct sl_grant *g, uint32_t first, const struct fq_pool *p, int64_t amount) {
    if (!p || p->v == SL_VTX_NONE || amount <= 0)
        return;
    for (uint32_t i = first; i < g->picks.n; i++)
        if (g->picks.v[i].v == p->v) {
            g->picks.v[i].needs = fq_plus(g->picks.v[i].needs, amount);
            return;
        }
    *sl_vec_push(&g->picks) = (struct sl_pick){p->v, amount, true};
}

/* So many pods of the jobspec, or of another size. */
static void pick_pods(const struct sl_fluxqueue *q, const struct fq_job *j, struct fq_node *n,
                      uint32_t first, uint32_t pods, uint32_t kind, uint64_t size,
                      struct sl_grant *g) {
    uint32_t n_amounts = 0;
    const struct fq_slot_amount *amounts = fq_kind_amounts(j, kind, &n_amounts);
    const struct fq_usage *u =
        size && j->slot_size && size != j->slot_size ? fq_usage_of_size(q, size) : NULL;
    for (uint32_t i = 0; u && i < u->n; i++)
        pick(g, first, fq_pool_find(n, u->v[i].resource), fq_times(u->v[i].amount, pods));
    for (uint32_t i = 0; !u && i < n_amounts; i++)
        pick(g, first, pool_of(q, n, amounts[i].type), fq_times(amounts[i].amount, pods));
}

/* The places i to i + pods, all on this node. A whole node is all of its pools: another job may
 * still be listed there, whose place this one got and whose status was not written any more. Both
 * are held then. */
static void put_picks(const struct sl_fluxqueue *q, const struct fq_job *j, struct fq_node *n,
                      uint32_t i, uint32_t pods, struct sl_grant *g) {
    uint32_t first = g->picks.n, end = i + pods;
    for (uint32_t k = 0; k < n->pools.n && j->whole_nodes; k++)
        pick(g, first, &n->pools.v[k], n->pools.v[k].allocatable);
    for (uint32_t same; i < end && !j->whole_nodes; i += same) {
        for (same = 1; i + same < end && j->places.v[i + same].size == j->places.v[i].size &&
                       j->places.v[i + same].kind == j->places.v[i].kind;)
            same++;
        pick_pods(q, j, n, first, same, j->places.v[i].kind, j->places.v[i].size, g);
    }
}

bool fq_graph_holds(const struct sl_fluxqueue *q, const struct fq_job *j) {
    struct sl_match_job_info info;
    return !q->match || sl_match_job(q->match, j->jobid, &info);
}

void fq_graph_cancel(struct sl_fluxqueue *q, int64_t jobid) {
    int r = sl_match_cancel(q->match, jobid);
    sl_assert(r == 0 || r == SL_ENOENT); /* it may have had nothing there */
}

/* Places on nodes that are no more are none. */
static void drop_lost_places(struct sl_fluxqueue *q, struct fq_job *j) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->places.n; i++) {
        const struct fq_node *node = fq_node_find(q, j->places.v[i].node);
        if (node && node->v != SL_VTX_NONE)
            j->places.v[n++] = j->places.v[i];
    }
    if (n == j->places.n)
        return;
    j->places.n = n;
    fq_job_touch(j);
    j->places_version = j->version;
    sl_rec_enqueue(&j->rec);
}

/* What one of its pods takes, where that is not known: the job is of before the start, or its
 * template has changed. What it runs on is its own, also if nothing of it could start now: a level
 * is not configured any more, or no node has a type of resource. */
void fq_graph_know_slot(struct sl_fluxqueue *q, struct fq_job *j) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    struct fq_jobspec_info info = {0};
    struct sl_match_request *request = NULL;
    struct sl_err err = {0};
    uint64_t hash = fq_slot_hash(q, j);
    if (j->slot_hash == hash && (j->n_slot || j->n_kinds || j->whole_nodes))
        return;
    if (fq_compile(q, j, 0, &arena, &info, &request, &err) < 0 && fq_measure(q, j, &err) < 0)
        sl_log(SL_LOG_ERROR, "jobspec of a running job not understood",
               SL_S("namespace", sl_rec_ns(&j->rec)), SL_S("fluxjob", j->rec.name),
               SL_S("error", err.text));
    j->slot_hash = hash;
    sl_match_request_free(request);
}

static void hold_failed(struct sl_fluxqueue *q, const struct fq_job *j, const struct sl_err *err) {
    if (q->restoring)
        sl_log(SL_LOG_ERROR, "allocation not restored", SL_S("namespace", sl_rec_ns(&j->rec)),
               SL_S("fluxjob", j->rec.name), SL_S("error", err->text));
    else
        q->rebuild = true;
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

/* While a graph is made its pools are as large as can be. */
int fq_graph_put(struct sl_fluxqueue *q, int64_t id, const struct sl_grant *g, int64_t from,
                 int64_t length, bool later, struct sl_err *err) {
    __typeof__(sl_match_update) *update = later ? sl_match_update_later : sl_match_update;
    int r = update(q->match, id, g->picks.v, g->picks.n, from, length, err);
    if (r >= 0 || q->restoring)
        return r;
    r = resize(q, g, true, err);
    if (r >= 0)
        r = update(q->match, id, g->picks.v, g->picks.n, from, length, err);
    int back = resize(q, g, false, err);
    return r < 0 ? r : back;
}

/* Puts its places into the matcher, instead of what it had there. */
static int hold(struct sl_fluxqueue *q, struct fq_job *j, struct sl_err *err) {
    struct sl_grant g = {0};
    int64_t from = j->started > 0 ? j->started / SL_SEC : 0, now = fq_now(q);
    int64_t to = j->duration > 0 && j->duration < FQ_END - from ? from + j->duration : FQ_END;
    int r = 0;
    if (from > now)
        from = now; /* a clock was ahead when it started: it has its places now */
    fq_graph_cancel(q, j->jobid);
    q->moved = true;
    /* Places of one node stand side by side. */
    for (uint32_t i = 0, n; i < j->places.n; i += n) {
        struct fq_node *node = fq_node_find(q, j->places.v[i].node);
        for (n = 1; i + n < j->places.n && j->places.v[i + n].node == j->places.v[i].node;)
            n++;
        if (node)
            put_picks(q, j, node, i, n, &g);
    }
    if (g.picks.n)
        r = fq_graph_put(q, j->jobid, &g, from, to - from, false, err);
    sl_queues_changed(q->queues);
    sl_grant_done(&g);
    return r;
}

static void hold_left(struct sl_fluxqueue *q, const struct fq_job *j) {
    struct sl_grant g = {0};
    struct sl_err err = {0};
    if (!q->match || j->left.n == 0)
        return;
    fq_graph_cancel(q, FQ_LEFT_ID + j->rec.id);
    for (uint32_t i = 0; i < j->left.n; i++) {
        const struct fq_place *p = &j->left.v[i];
        struct fq_node *n = fq_node_find(q, p->node);
        for (uint32_t k = 0; n && k < n->pools.n && j->whole_nodes; k++)
            pick(&g, 0, &n->pools.v[k], n->pools.v[k].allocatable);
        if (n && !j->whole_nodes)
            pick_pods(q, j, n, 0, 1, p->kind, p->size, &g);
    }
    if (g.picks.n && fq_graph_put(q, FQ_LEFT_ID + j->rec.id, &g, 0, FQ_END, false, &err) < 0)
        hold_failed(q, j, &err);
    sl_queues_changed(q->queues);
    sl_grant_done(&g);
}

void fq_graph_leave(struct sl_fluxqueue *q, struct fq_job *j, const struct fq_place *place) {
    *sl_vec_push(&j->left) = *place;
    fq_job_touch(j);
    j->left_version = j->version;
    hold_left(q, j);
}

void fq_graph_free_left(struct sl_fluxqueue *q, struct fq_job *j) {
    if (j->left.n == 0)
        return;
    sl_vec_clear(&j->left);
    q->freed++;
    q->moved = true;
    if (!q->match)
        return;
    fq_graph_cancel(q, FQ_LEFT_ID + j->rec.id);
    sl_queues_changed(q->queues);
}

void fq_graph_hold(struct sl_fluxqueue *q, struct fq_job *j) {
    struct sl_err err = {0};
    j->held = true;
    if (!q->match)
        return; /* with the next graph */
    fq_graph_know_slot(q, j);
    if (hold(q, j, &err) < 0)
        hold_failed(q, j, &err);
}

/* Is there room for what a pod of one size takes more than one of another? */
static bool has_more(struct sl_fluxqueue *q, const struct fq_job *j, struct fq_node *n,
                     uint64_t before, uint64_t after) {
    struct sl_grant was = {0}, is = {0};
    struct sl_err err = {0};
    uint32_t more = 0;
    int r = 0;
    pick_pods(q, j, n, 0, 1, 0, before, &was);
    pick_pods(q, j, n, 0, 1, 0, after, &is);
    for (uint32_t i = 0; i < is.picks.n; i++) {
        struct sl_pick p = is.picks.v[i];
        for (uint32_t k = 0; k < was.picks.n; k++)
            p.needs -= was.picks.v[k].v == p.v ? was.picks.v[k].needs : 0;
        if (p.needs > 0)
            is.picks.v[more++] = p;
    }
    if (more) {
        r = sl_match_update(q->match, -j->jobid, is.picks.v, more, fq_now(q), FQ_END - fq_now(q),
                            &err);
        fq_graph_cancel(q, -j->jobid);
    }
    sl_grant_done(&was);
    sl_grant_done(&is);
    return r >= 0;
}

bool fq_graph_resize(struct sl_fluxqueue *q, struct fq_job *j, uint32_t place, uint64_t size) {
    struct fq_node *n = fq_node_find(q, j->places.v[place].node);
    uint64_t before = j->places.v[place].size;
    if (before == size)
        return true;
    if (!q->match || q->rebuild || q->taints_changed || !n)
        return false;
    if (!j->whole_nodes && !has_more(q, j, n, before, size))
        return false;
    j->places.v[place].size = size;
    fq_graph_hold(q, j);
    return true;
}

void fq_graph_release(struct sl_fluxqueue *q, struct fq_job *j) {
    if (!j->queued && !j->held)
        return;
    q->freed += j->held;
    if (q->match && sl_queues_remove(q->queues, j->jobid) < 0) {
        fq_graph_cancel(q, j->jobid);
        sl_queues_changed(q->queues);
    }
    struct fq_pods_of at = {0};
    for (struct fq_pod *p; j->held && (p = fq_job_next_pod(q, j, &at));) {
        fq_pod_charge(q, p, fq_pod_at(p));
        fq_pod_target(q, p, 0);
    }
    j->queued = j->held = false;
    sl_vec_clear(&j->places);
    q->moved = q->reordered = true;
}

/* Jobs in the order of their ids, so that equal states give equal graphs. */
static int by_jobid(const void *a, const void *b) {
    const struct fq_job *x = *(struct fq_job *const *)a, *y = *(struct fq_job *const *)b;
    if (x->jobid != y->jobid)
        return x->jobid < y->jobid ? -1 : 1;
    if (x->rec.created != y->rec.created)
        return x->rec.created < y->rec.created ? -1 : 1;
    return strcmp(x->rec.uid, y->rec.uid);
}

/* Somebody has written the id of another into its status: what each has would be the other's. */
static void rename_job(struct sl_fluxqueue *q, struct fq_job *j) {
    fq_name_job(q, j, fq_next_jobid(q));
    fq_job_touch(j);
}

static void restore_jobs(struct sl_fluxqueue *q) {
    uint32_t at = 0, n = 0;
    struct fq_job **v = sl_alloc0(q->inf->tables[FQ_FLUXJOB].n + 1, sizeof *v);
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_FLUXJOB, &at));)
        if (fq_job_of(r)->held)
            v[n++] = fq_job_of(r);
        else
            fq_job_of(r)->queued = false;
    qsort(v, n, sizeof *v, by_jobid);
    for (uint32_t i = 0, first = 0; i < n; i++) {
        first = v[i]->jobid == v[first]->jobid ? first : i;
        if (first < i)
            rename_job(q, v[i]);
        drop_lost_places(q, v[i]);
        fq_graph_hold(q, v[i]);
    }
    sl_freep(&v);
    at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_FLUXJOB, &at));)
        hold_left(q, fq_job_of(r));
}

/* What pods of others take, and with it the size of each pool. */
static void charge_all(struct sl_fluxqueue *q, struct fq_node **nodes, uint32_t n) {
    uint32_t at = 0;
    struct sl_err err = {0};
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_POD, &at));) {
        struct fq_pod *p = fq_pod_of(r);
        sl_sym on = p->charged;
        p->charged = p->stands = 0;
        fq_pod_charge(q, p, on);
        fq_pod_stand(q, p);
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < nodes[i]->pools.n; k++) {
            const struct fq_pool *p = &nodes[i]->pools.v[k];
            if (p->v != SL_VTX_NONE && sl_match_resize(q->match, p->v, fq_pool_size(p), &err) < 0)
                sl_log(SL_LOG_ERROR, "resource pool not resized", SL_S("node", nodes[i]->rec.name),
                       SL_S("error", err.text));
        }
}

void fq_graph_rebuild(struct sl_fluxqueue *q) {
    struct fq_node **nodes = NULL;
    struct making m = {.q = q, .g = sl_graph_new()};
    uint32_t n = collect(q, &nodes), at = 0;
    struct sl_rec *rec;
    sl_arena_init(&m.arena, FQ_MAX_NODE);
    fq_graph_free(q);
    q->rebuild = q->taints_changed = false;
    q->unranked = true;
    q->rebuilt_at = q->client->mono;
    q->rebuilt = true;
    q->moved = true;
    q->yields |= q->has_workloads; /* what they have reserved is theirs before jobs are tried */
    q->capacity++;
    int r = n ? make(&m, nodes, n) : SL_ENOENT;
    if (r >= 0)
        r = make_queues(q, &m.err);
    if (r >= 0) {
        q->restoring = true;
        restore_jobs(q);
        fq_exact_restore(q);
        fq_plain_restore(q);
        q->restoring = false;
        charge_all(q, nodes, n);
    } else {
        fq_graph_free(q);
        while ((rec = sl_inf_each(q->inf, FQ_FLUXJOB, &at))) {
            fq_job_of(rec)->queued = false;
            if (fq_job_of(rec)->held && !n)
                drop_lost_places(q, fq_job_of(rec));
        }
        at = 0;
        fq_plain_restore(q);
        if (n)
            sl_log(SL_LOG_ERROR, "resource graph not built", SL_S("error", m.err.text));
    }
    sl_graph_free(m.g);
    sl_map_done(&m.levels);
    sl_vec_free(&m.made);
    sl_vec_free(&m.props);
    sl_arena_done(&m.arena);
    sl_freep(&nodes);
    while ((rec = sl_inf_each(q->inf, FQ_FLUXJOB, &at)))
        sl_rec_enqueue(rec);
}
