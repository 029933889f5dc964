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
    bool later;           /* it has nothing yet: reserved from then on */
    bool aside;
    SL_VEC(struct part) parts;
    SL_VEC(struct seat) seats;
};

/* A podset as a request for this graph, made of the text and of what its claims say of nodes. */
struct fq_ask {
    uint64_t hash;
    sl_sym ns;
    char *text;
    char *claims;         /* names in lines; NULL: none */
    uint64_t state;       /* of them, when it was made */
    struct fq_kept *kept; /* what it has already */
    uint32_t n_kept, count;
    int64_t duration;
    struct sl_match_request *request; /* NULL: see below */
    char *refused;
    bool whole;
};

/* ---- requests ---- */

static void ask_clear(struct fq_ask *a) {
    sl_match_request_freep(&a->request);
    sl_freep(&a->text);
    sl_freep(&a->claims);
    sl_freep(&a->kept);
    sl_freep(&a->refused);
    *a = (struct fq_ask){0};
}

void fq_exact_forget_requests(struct sl_fluxqueue *q) {
    for (uint32_t i = 0; q->asks && i < FQ_MAX_ASKS; i++)
        ask_clear(&q->asks[i]);
}

static int ask_claims(const struct sl_fluxqueue *q, const struct fq_ask *a, struct sl_arena *arena,
                      struct sl_constraint *ret, struct sl_err *err) {
    char name[SL_REC_NAME];
    const char *why = fq_claims_trouble(q, a->ns, a->claims, name);
    if (a->claims && !sl_inf_watches(q->inf, FQ_CLAIM))
        return sl_err_set(err, SL_ENOENT, "the claims of volumes are being read");
    if (why)
        return sl_err_set(err, SL_ENOENT, "the PersistentVolumeClaim %s %s", name, why);
    fq_claims_where(q, a->ns, a->claims, arena, ret);
    return 0;
}

/* Beside what it has: what holds between all its pods. 'text' is the jobspec of all of them. */
static int compile_more(struct sl_fluxqueue *q, struct fq_ask *a, const struct sl_buf *text,
                        uint32_t together, struct sl_constraint *also, struct sl_arena *arena,
                        struct sl_err *err) {
    struct fq_jobspec_tier tiers[FQ_MAX_LEVELS + 1];
    struct fq_jobspec_ask ask = {.kind = FQ_ANY_KIND, .also = also};
    struct fq_jobspec_info info = {0};
    struct fq_spread spread;
    int r = fq_jobspec_compile_ask(sl_match_graph(q->match), &q->universe, text->s, text->len, &ask,
                                   arena, &info, &a->request, err);
    if (r < 0 || a->n_kept == 0) {
        a->whole = info.whole_nodes;
        return r;
    }
    sl_match_request_freep(&a->request);
    fq_spread_read(q, &info, together, &spread);
    fq_spread_shape(q, &spread, a->count, tiers);
    (void)fq_spread_where(q, &spread, tiers, a->kept, a->n_kept, false, arena, also);
    ask.pods = a->count;
    ask.tiers = tiers;
    ask.n_tiers = spread.n;
    a->whole = info.whole_nodes;
    return fq_jobspec_compile_ask(sl_match_graph(q->match), &q->universe, text->s, text->len, &ask,
                                  arena, &info, &a->request, err);
}

static int compile(struct sl_fluxqueue *q, struct fq_ask *a, struct sl_err *err) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(FQ_MAX_JOBSPEC);
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(a->text, strlen(a->text), 0);
    yyjson_val *pod = yyjson_doc_get_root(d);
    struct fq_usage *usage = fq_usage_get(q, sl_json_get(pod, "spec"));
    struct fq_jobspec_options options = q->options;
    struct sl_constraint also = {0};
    uint32_t together = 0, all = a->count;

    for (uint32_t i = 0; i < a->n_kept; i++)
        all += a->kept[i].pods;
    fq_ports_ask(q, usage);
    fq_usage_unref(q, usage);
    options.name = "pod";
    options.duration = a->duration;
    options.ret_together = &together;
    int r = ask_claims(q, a, &arena, &also, err);
    if (r >= 0)
        r = fq_jobspec_write(SL_FLUX_POD, pod, all, &options, &b, err);
    if (r >= 0)
        r = compile_more(q, a, &b, together, &also, &arena, err);
    if (r >= 0 && sl_arena_full(&arena)) {
        sl_match_request_freep(&a->request);
        r = sl_err_set(err, SL_ELIMIT, "the jobspec is too large");
    }
    return r;
}

static char *read_claims(struct sl_fluxqueue *q, const char *pod) {
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(pod, strlen(pod), 0);
    char *claims = fq_claims_read(q, sl_json_get(yyjson_doc_get_root(d), "spec"), NULL);
    return claims;
}

/* What is known of its claims: it is made anew when that changes. */
static uint64_t claims_state(const struct sl_fluxqueue *q, const struct fq_ask *a) {
    char name[SL_REC_NAME];
    const char *why = fq_claims_trouble(q, a->ns, a->claims, name);
    uint64_t h = sl_hash_u64(fq_claims_hash(q, a->ns, a->claims), sl_inf_watches(q->inf, FQ_CLAIM));
    return why ? sl_hash_str(sl_hash_str(h, name), why) : h;
}

static void make_request(struct sl_fluxqueue *q, struct fq_ask *a, uint64_t state) {
    struct sl_err err = {0};
    sl_match_request_freep(&a->request);
    sl_freep(&a->refused);
    a->state = state;
    if (compile(q, a, &err) < 0)
        a->refused = sl_strdup(err.text);
}

/* What the one has for this podset; NULL: nobody has anything. To be freed. */
static struct fq_kept *kept_of(const struct fq_exact *x, uint32_t podset, uint32_t *ret_n) {
    uint32_t n = 0;
    for (uint32_t i = 0; x && i < x->seats.n; i++)
        n += x->seats.v[i].podset == podset && x->seats.v[i].count > 0;
    struct fq_kept *v = n ? sl_alloc0(n, sizeof *v) : NULL;
    *ret_n = n;
    n = 0;
    for (uint32_t i = 0; v && i < x->seats.n; i++)
        if (x->seats.v[i].podset == podset && x->seats.v[i].count > 0)
            v[n++] = (struct fq_kept){x->seats.v[i].node, x->seats.v[i].count};
    return v;
}

/* Those of before are kept while there is room: a search asks for the same again and again. has:
 * who has places for other pods of this podset; NULL: nobody. */
static struct fq_ask *ask_for(struct sl_fluxqueue *q, const struct sl_exact_podset *p,
                              uint32_t podset, const struct fq_exact *has, uint32_t count,
                              int64_t duration) {
    sl_sym ns = sl_sym_put(&q->inf->syms, p->ns);
    uint64_t h = sl_hash_u64(sl_hash_u64(sl_hash_str(ns, p->pod), count), (uint64_t)duration);
    struct fq_ask *a = NULL;
    uint32_t n_kept;
    struct fq_kept *kept = kept_of(has, podset, &n_kept);
    if (n_kept)
        h = sl_hash_bytes(h, kept, n_kept * sizeof *kept);
    if (!q->asks)
        q->asks = sl_alloc0(FQ_MAX_ASKS, sizeof *q->asks);
    for (uint32_t i = 0; i < FQ_MAX_ASKS && !a; i++) {
        struct fq_ask *x = &q->asks[i];
        if (x->text && x->hash == h && x->ns == ns && x->count == count &&
            x->duration == duration && x->n_kept == n_kept &&
            (n_kept == 0 || memcmp(x->kept, kept, n_kept * sizeof *kept) == 0) &&
            strcmp(x->text, p->pod) == 0)
            a = x;
    }
    if (!a) {
        a = &q->asks[q->next_ask++ % FQ_MAX_ASKS];
        ask_clear(a);
        *a = (struct fq_ask){.hash = h,
                             .ns = ns,
                             .text = sl_strdup(p->pod),
                             .claims = read_claims(q, p->pod),
                             .kept = TAKE_PTR(kept),
                             .n_kept = n_kept,
                             .count = count,
                             .duration = duration};
    }
    sl_freep(&kept);
    uint64_t state = a->claims ? claims_state(q, a) | 1 : 1;
    if (a->state != state)
        make_request(q, a, state);
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

static struct fq_exact *add(struct sl_fluxqueue *q, const struct sl_exact_owner *o, bool later) {
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
    if (!x->later)
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

void fq_exact_each_usage(struct sl_fluxqueue *q,
                         void (*f)(struct sl_fluxqueue *, const struct fq_usage *, void *),
                         void *ctx) {
    for (uint32_t i = 0; i < q->exacts.n; i++)
        for (uint32_t k = 0; q->exacts.v[i] && k < q->exacts.v[i]->parts.n; k++)
            f(q, q->exacts.v[i]->parts.v[k].usage, ctx);
}

void fq_exact_hold_names(struct sl_fluxqueue *q, struct sl_syms *t) {
    for (uint32_t i = 0; q->asks && i < FQ_MAX_ASKS; i++)
        sl_sym_hold(t, q->asks[i].ns);
    for (uint32_t i = 0; q->asks && i < FQ_MAX_ASKS; i++)
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
            *sl_vec_push(&g->picks) = (struct sl_pick){pool->v, fq_times(amount, s->count), true};
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
    __typeof__(sl_match_update) *update = x->later ? sl_match_update_later : sl_match_update;
    /* What has its places has them now, also if the clock was ahead when it got them: beside one
     * that begins later than another ends, both would count as one. */
    int64_t from = x->later ? x->from : 0, length = x->from + x->length - from;
    int r = update(q->match, id_of(x), g->picks.v, g->picks.n, from, length, err);
    if (r >= 0 || q->restoring)
        return r;
    r = resize(q, g, true, err);
    if (r >= 0)
        r = update(q->match, id_of(x), g->picks.v, g->picks.n, from, length, err);
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
        q->rebuild |= !q->restoring && !x->later; /* that is looked for again in any case */
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

/* A pod that requests more than those of its podset (a container was injected, it was resized, or
 * somebody else names the Workload) has no place of it: it counts as one of others. */
static bool fits_seat(const struct part *part, const struct fq_pod *p) {
    return !p->usage || part->whole || fq_usage_is_within(p->usage, part->usage);
}

bool fq_exact_seat(struct sl_fluxqueue *q, struct fq_pod *p) {
    struct fq_exact *x = of_pod(q, p);
    bool there = x && p->node && !p->ended && !p->rec.gone;
    if (p->exact && there && p->exact == x->id + 1 && x->seats.v[p->seat].node == p->node &&
        fits_seat(&x->parts.v[x->seats.v[p->seat].podset], p))
        return true;
    leave_seat(q, p);
    for (uint32_t i = 0; there && i < x->seats.n; i++) {
        struct seat *s = &x->seats.v[i];
        if (s->node != p->node || s->taken >= s->count ||
            (p->podset && x->parts.v[s->podset].name != p->podset) ||
            !fits_seat(&x->parts.v[s->podset], p))
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
    sl_sym workload = fq_intern(q, *slice ? slice : name);
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

/* It has left, or stays. The numbers of records are used again: none may be in the list twice. */
static void unlist_leaving(struct sl_fluxqueue *q, struct fq_pod *p) {
    if (!p->leaving)
        return;
    uint32_t last = sl_vec_pop(&q->leaving), i = p->leaving - 1;
    if (i < q->leaving.n) {
        q->leaving.v[i] = last;
        fq_pod_of(q->inf->recs.v[last])->leaving = p->leaving;
    }
    p->leaving = 0;
}

void fq_exact_pod_deleted(struct sl_fluxqueue *q, struct fq_pod *p) {
    leave_seat(q, p);
    unlist_leaving(q, p);
    if (p->workload)
        (void)sl_map_del(&q->pods_by_workload, name_key(p->rec.ns, p->workload), p->rec.id);
    p->workload = 0;
}

/* One that is not being deleted by then, such as an orphan, may run for ever. */
void fq_exact_note_leaving(struct sl_fluxqueue *q, struct fq_pod *p) {
    bool released = p->released && q->client->mono < p->going;
    bool leaves = p->charged && (p->rec.deleting || released);
    if (leaves && !p->rec.deleting)
        sl_rec_reconcile_at(&p->rec, sl_time_add(q->client->wall, p->going - q->client->mono));
    if (leaves == (p->leaving != 0))
        return;
    q->freed++; /* what waits for it, or does not any more, looks again */
    if (!leaves) {
        unlist_leaving(q, p);
        return;
    }
    *sl_vec_push(&q->leaving) = p->rec.id;
    p->leaving = q->leaving.n;
}

/* Pods that are there and were counted as others' have the places now, or the other way round. */
static void seat_all(struct sl_fluxqueue *q, sl_sym ns, sl_sym workload, bool released) {
    sl_map_foreach (i, &q->pods_by_workload, name_key(ns, workload)) {
        struct fq_pod *p = fq_pod_of(q->inf->recs.v[i]);
        if (p->rec.ns != ns || p->workload != workload)
            continue;
        if (p->binds) {
            fq_plain_drop(q, p);
            fq_pod_target(q, p, 0);
            sl_rec_enqueue(&p->rec);
        }
        bool seated = fq_exact_seat(q, p);
        bool before = p->released;
        p->released = released && !of_pod(q, p); /* or the next slice has its place */
        if (p->released && !before)
            p->going = sl_time_add(q->client->mono, FQ_RELEASED_LATE);
        fq_pod_charge(q, p, seated || p->ended ? 0 : p->node);
        fq_exact_note_leaving(q, p);
    }
}

/* ---- pods that name our scheduler ---- */

bool fq_exact_has(const struct sl_fluxqueue *q, const struct fq_pod *p) {
    return of_pod(q, p) != NULL;
}

/* Places are given while a pod is gated, and are all known once they have been observed. */
bool fq_exact_may(const struct sl_fluxqueue *q, const struct fq_pod *p) {
    return p->workload && (p->gates || p->released || q->unobserved || fq_exact_has(q, p));
}

static sl_sym node_of_host(const struct sl_fluxqueue *q, sl_sym host);

static bool has_seat(const struct fq_exact *x, sl_sym node) {
    for (uint32_t i = 0; i < x->seats.n; i++)
        if (x->seats.v[i].node == node && x->seats.v[i].taken < x->seats.v[i].count)
            return true;
    return false;
}

/* The manager has selected its node; there may still be one before it, or a volume elsewhere. */
static void aim(struct sl_fluxqueue *q, struct fq_pod *p, const struct fq_exact *x) {
    sl_sym node = node_of_host(q, p->host);
    if (!has_seat(x, node))
        return;
    if (!fq_volumes_allow(q, p, node))
        p->why = FQ_WHY_VOLUME;
    else if (fq_node_has_room(q, p, node))
        fq_pod_target(q, p, node);
}

void fq_exact_plain_sync(struct sl_fluxqueue *q, struct fq_pod *p) {
    const struct fq_exact *x = of_pod(q, p);
    sl_time until;
    if (p->ended || p->node || p->rec.deleting || p->gates || !p->host) {
        fq_pod_charge(q, p, fq_exact_seat(q, p) || p->ended ? 0 : p->node);
        if (!p->node)
            fq_pod_target(q, p, 0);
        return;
    }
    if (!q->leads)
        return;
    if (fq_unbound_pauses(q, p, &until)) { /* there is no other node for it */
        p->why = FQ_WHY_UNBOUND;
        sl_rec_reconcile_at(&p->rec, until);
        return;
    }
    if (!p->target)
        aim(q, p, x);
    if (p->target)
        sl_rec_write(&p->rec);
    else
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
                     const struct sl_exact_podset *p, uint32_t podset, const struct fq_exact *has) {
    uint32_t low = 0, high = p->count - 1;
    while (low < high) {
        uint32_t mid = low + (high - low + 1) / 2;
        if (match(q, ask_for(q, p, podset, has, mid, o->duration)->request, FQ_EXACT_TRY, NULL)) {
            fq_graph_cancel(q, FQ_EXACT_TRY);
            low = mid;
        } else {
            high = mid - 1;
        }
    }
    return low;
}

static void explain(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                    const struct sl_exact_podset *v, uint32_t podset, const struct fq_exact *has,
                    char *why, size_t why_len) {
    const struct sl_exact_podset *p = &v[podset];
    const struct fq_ask *a = ask_for(q, p, podset, has, p->count, o->duration);
    const char *not_now = unready(q); /* it asked for host ports that nobody did before */
    char text[MAX_WHY];
    if (not_now) {
        sl_fmt_short(why, why_len, "%s", not_now);
        return;
    }
    if (!a->request) {
        sl_fmt_short(why, why_len, "%s", a->refused);
        return;
    }
    if (!fq_graph_could(q, a->request)) {
        sl_fmt_short(why, why_len, "no set of nodes has what %u pod(s) request, " FQ_EVEN_IF_FREE,
                     p->count);
        return;
    }
    sl_fmt_short(text, sizeof text, "no set of nodes has room for %u pod(s)", p->count);
    if (p->count > 1)
        sl_fmt_short(why, why_len, "%s, only for %u of them", text, most(q, o, p, podset, has));
    else
        sl_fmt_short(why, why_len, "%s", text);
}

/* ---- the interface ---- */

void sl_exact_use(struct sl_fluxqueue *q) {
    q->in_use = true;
}

/* Pods that had to wait for that (fq_exact_may). */
static void enqueue_pods(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_POD, &at));)
        if (fq_pod_of(r)->workload && fq_pod_of(r)->binds && !fq_pod_of(r)->node)
            sl_rec_enqueue(r);
}

void sl_exact_observed(struct sl_fluxqueue *q, bool all) {
    bool now = q->unobserved && all;
    q->unobserved = !all;
    q->moved |= now;
    if (now)
        enqueue_pods(q);
}

bool fq_exact_puts_off(struct sl_fluxqueue *q) {
    q->put_off |= q->releasing;
    return q->releasing;
}

void sl_exact_releasing(struct sl_fluxqueue *q, bool releasing) {
    bool now = q->put_off && !releasing;
    uint32_t job = 0, pod = 0;
    q->releasing = releasing;
    q->put_off &= releasing;
    for (struct sl_rec *r; now && (r = sl_inf_each(q->inf, FQ_FLUXJOB, &job));)
        if (fq_job_of(r)->held && !fq_job_committed(fq_job_of(r)))
            sl_rec_write(r);
    for (struct sl_rec *r; now && (r = sl_inf_each(q->inf, FQ_POD, &pod));)
        if (fq_pod_of(r)->held && !fq_pod_of(r)->node)
            sl_rec_write(r);
}

uint64_t sl_exact_version(struct sl_fluxqueue *q) {
    q->has_workloads = true;
    q->yields = false;
    return q->capacity + q->freed;
}

static void want_all(struct sl_fluxqueue *q, const struct sl_exact_podset *v, uint32_t n,
                     const struct fq_exact *has, int64_t duration, struct want *ret) {
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].count == 0)
            continue;
        const struct fq_ask *a = ask_for(q, &v[i], i, has, v[i].count, duration);
        ret[i] = (struct want){.count = v[i].count, .whole = a->whole};
        ret[i].request = a->request ? sl_match_request_ref(a->request) : NULL;
    }
}

static void want_done(struct want *w, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        sl_match_request_freep(&w[i].request);
}

/* has: who has places for others of these podsets; NULL: nobody. */
static bool find(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                 const struct sl_exact_podset *v, uint32_t n, const struct fq_exact *has,
                 struct found *f, uint32_t *ret_refused) {
    struct want w[SL_EXACT_MAX_PODSETS] = {0};
    want_all(q, v, n, has, o->duration, w);
    bool fine = search(q, w, n, f, ret_refused);
    want_done(w, n);
    return fine;
}

/* ---- at a later time ---- */

/* Reservations of jobs that were made behind one of a Workload: when it starts, a little later than
 * it was meant to, they are not in its way. */
struct behind {
    struct sl_grant g;
    int64_t id;
};
typedef SL_VEC(struct behind) behinds;

static void lift_behind(struct sl_fluxqueue *q, const struct fq_exact *x, behinds *ret) {
    uint32_t n = x && x->later ? sl_match_reservations(q->match, x->from, NULL, 0) : 0;
    int64_t *ids = sl_alloc(((size_t)n + 1) * sizeof *ids);
    (void)sl_match_reservations(q->match, n ? x->from : 0, ids, n);
    for (uint32_t i = 0; i < n; i++) {
        struct behind b = {.id = ids[i]};
        if (b.id >= FQ_EXACT_ID || sl_match_grant(q->match, b.id, &b.g) < 0)
            continue; /* Workloads decide that among themselves */
        *sl_vec_push(ret) = b;
        fq_graph_cancel(q, b.id);
    }
    sl_freep(&ids);
}

/* Those that are in the way after all are made again by the queue. */
static void put_behind(struct sl_fluxqueue *q, behinds *v) {
    for (uint32_t i = 0; i < v->n; i++) {
        struct behind *b = &v->v[i];
        struct sl_err err = {0};
        if (sl_match_update_later(q->match, b->id, b->g.picks.v, b->g.picks.n, b->g.at,
                                  b->g.duration, &err) < 0)
            changed(q);
        sl_grant_done(&b->g);
    }
    sl_vec_free(v);
}

/* Does anything end, as far as is known? Otherwise only what is free now will be. */
static bool something_ends(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < q->exacts.n; i++)
        if (q->exacts.v[i] && q->exacts.v[i]->from + q->exacts.v[i]->length < FQ_END)
            return true;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_FLUXJOB, &at));)
        if (fq_job_of(r)->held && fq_job_of(r)->duration > 0)
            return true;
    return false;
}

/* All of them from *at on; where others of them stand then, a later time is tried: *at. The search
 * begins a second before, so that those that end then have ended; requests are a second longer for
 * it. False: no time is known. */
static bool try_later(struct sl_fluxqueue *q, const struct want *w, uint32_t n, enum sl_match_op op,
                      struct found *f, int64_t *at, bool *ret_all) {
    enum sl_match_verdict verdict = SL_MATCHED;
    struct sl_grant g = {0};
    struct sl_err err = {0};
    uint32_t done = 0, held = 0;
    bool fine = true, all = true;
    sl_vec_clear(&f->seats);
    for (; done < n && fine && all; done++) {
        if (w[done].count == 0)
            continue;
        fine = w[done].request &&
               sl_match_run(q->match, w[done].request, op, FQ_EXACT_TRY + done, *at - 1, &verdict,
                            &g, &err) >= 0 &&
               verdict == SL_MATCHED;
        all = fine && (held == 0 || g.at <= *at);
        if (fine && g.at > *at)
            *at = g.at;
        held += fine;
        fine = fine && take(q, &g, done, w[done].whole, f) == w[done].count;
    }
    for (uint32_t i = 0; i < done; i++)
        if (w[i].count)
            fq_graph_cancel(q, FQ_EXACT_TRY + i);
    sl_grant_done(&g);
    *ret_all = all;
    return fine;
}

static bool find_later(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                       const struct sl_exact_podset *v, uint32_t n, struct found *f, int64_t *at) {
    struct want w[SL_EXACT_MAX_PODSETS] = {0};
    bool fine = true, all = false;
    enum sl_match_op op = something_ends(q) ? SL_MATCH_ALLOCATE_OR_RESERVE : SL_MATCH_ALLOCATE;
    want_all(q, v, n, NULL, o->duration ? o->duration + 1 : 0, w);
    for (uint32_t i = 0; i < FQ_MAX_LATER && fine && !all; i++)
        fine = try_later(q, w, n, op, f, at, &all);
    want_done(w, n);
    return fine && all;
}

/* Pods that are being deleted do not count while a question is answered. */
static void lift_leaving(struct sl_fluxqueue *q, int sign) {
    for (uint32_t i = q->leaving.n; i-- > 0;) {
        struct fq_pod *p = fq_pod_of(q->inf->recs.v[q->leaving.v[i]]);
        if (p->charged)
            fq_pod_shift(q, p, sign);
        else
            unlist_leaving(q, p);
    }
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

/* A node is there once for each podset. */
static void add_seat(struct fq_exact *x, const struct seat *s) {
    for (uint32_t i = 0; i < x->seats.n; i++)
        if (x->seats.v[i].node == s->node && x->seats.v[i].podset == s->podset) {
            x->seats.v[i].count += s->count;
            return;
        }
    *sl_vec_push(&x->seats) = *s;
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
                 const struct sl_exact_podset *v, uint32_t n, struct found *f, bool later) {
    struct fq_exact *x = add(q, o, later);
    add_parts(q, x, v, n);
    for (uint32_t i = 0; i < f->seats.n; i++)
        *sl_vec_push(&x->seats) = f->seats.v[i];
    if (!later)
        seat_all(q, x->ns, x->workload, false);
    into_matcher(q, x);
    changed(q);
}

/* ---- slices ---- */

/* Of what the slice before has for the podset of this name, as much as is needed: first what its
 * pods have taken. Returns for how many pods. */
static uint32_t keep_seats(const struct fq_exact *old, struct fq_exact *x, uint32_t podset,
                           uint32_t count) {
    uint32_t has = 0;
    for (int free = 0; free < 2; free++)
        for (uint32_t i = 0; i < old->seats.n && has < count; i++) {
            struct seat s = old->seats.v[i];
            if (old->parts.v[s.podset].name != x->parts.v[podset].name)
                continue;
            s.count = free ? s.count - s.taken : s.taken;
            s.count = s.count < count - has ? s.count : count - has;
            s.podset = podset;
            s.taken = 0;
            has += s.count;
            if (s.count)
                add_seat(x, &s);
        }
    return has;
}

/* What a slice keeps is held for it, in place of all that the one before has. */
static struct fq_exact *begin_slice(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                                    const struct fq_exact *old, const struct sl_exact_podset *v,
                                    uint32_t n, struct sl_exact_podset *ret_rest) {
    struct fq_exact *x = add(q, o, false);
    add_parts(q, x, v, n);
    for (uint32_t i = 0; i < n; i++) {
        ret_rest[i] = v[i];
        ret_rest[i].count -= keep_seats(old, x, i, v[i].count);
    }
    fq_graph_cancel(q, id_of(old));
    into_matcher(q, x);
    return x;
}

/* With these in addition it has what it needs; NULL: all is as it was before. */
static void end_slice(struct sl_fluxqueue *q, struct fq_exact *x, struct fq_exact *old,
                      const struct found *more) {
    struct fq_exact *stays = more ? x : old;
    fq_graph_cancel(q, id_of(x));
    for (uint32_t i = 0; more && i < more->seats.n; i++)
        add_seat(x, &more->seats.v[i]);
    drop(q, more ? old : x);
    into_matcher(q, stays);
    if (!more)
        return;
    seat_all(q, stays->ns, stays->workload, false);
    changed(q);
}

static struct fq_exact *slice_before(const struct sl_fluxqueue *q, const struct sl_exact_owner *o) {
    return o->before ? by_key(q, o->before) : NULL;
}

static bool place_slice(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                        const struct sl_exact_podset *v, uint32_t n, uint32_t *ret_refused,
                        char *why, size_t why_len) {
    struct sl_exact_podset rest[SL_EXACT_MAX_PODSETS];
    struct fq_exact *old = slice_before(q, o), *x = begin_slice(q, o, old, v, n, rest);
    struct found more = {0};
    bool fine = !unready(q) && find(q, o, rest, n, x, &more, ret_refused);
    if (!fine)
        explain(q, o, rest, *ret_refused, x, why, why_len);
    end_slice(q, x, old, fine ? &more : NULL);
    sl_vec_free(&more.seats);
    return fine;
}

/* A reservation is not free: nobody waits for it to be released. */
static void drop_later(struct sl_fluxqueue *q, struct fq_exact *x) {
    if (q->match)
        fq_graph_cancel(q, id_of(x));
    drop(q, x);
    changed(q);
}

bool sl_exact_place(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                    const struct sl_exact_podset *v, uint32_t n, uint32_t *ret_refused, char *why,
                    size_t why_len) {
    const char *not_now = unready(q);
    struct fq_exact *x = by_key(q, o->key);
    behinds behind = {0};
    struct found f = {0};
    *ret_refused = 0;
    if (not_now || n > SL_EXACT_MAX_PODSETS) {
        sl_fmt_short(why, why_len, "%s", not_now ? not_now : "it has too many podsets");
        return false;
    }
    bool reserved = x && x->later; /* and stays so if there is nothing now */
    lift_behind(q, x, &behind);
    if (reserved)
        sl_exact_set_aside(q, o->key, true);
    else
        sl_exact_release(q, o->key);
    if (slice_before(q, o)) /* which has no reservation */
        return place_slice(q, o, v, n, ret_refused, why, why_len);
    bool fine = find(q, o, v, n, NULL, &f, ret_refused);
    if (!fine)
        explain(q, o, v, *ret_refused, NULL, why, why_len);
    if (reserved && !fine)
        sl_exact_set_aside(q, o->key, false);
    if (reserved && fine)
        drop_later(q, x);
    if (fine)
        hold(q, o, v, n, &f, false);
    put_behind(q, &behind);
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

/* What runs comes before what is only reserved. */
static void lift_reserved(struct sl_fluxqueue *q, bool aside) {
    for (uint32_t i = 0; i < q->exacts.n; i++)
        if (q->exacts.v[i] && q->exacts.v[i]->later)
            sl_exact_set_aside(q, q->exacts.v[i]->key, aside);
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
    lift_reserved(q, true);
    bool fine = !unready(q) && find(q, o, rest, n, x, &more, &refused);
    lift_reserved(q, false);
    fq_graph_cancel(q, id_of(x));
    /* One that it was to leave, and that is not known here to have failed. */
    for (uint32_t i = 0; i < more.seats.n && fine; i++)
        fine = !is_seat(&seats, more.seats.v[i].node) || is_kept(x, more.seats.v[i].node);
    for (uint32_t i = 0; fine && i < more.seats.n; i++)
        add_seat(x, &more.seats.v[i]);
    if (!fine)
        swap_seats(q, x, &seats);
    seat_all(q, x->ns, x->workload, false);
    into_matcher(q, x);
    if (fine) {
        changed(q);
        q->freed++; /* reservations may be in its way now */
    }
    sl_vec_free(&seats.seats);
    sl_vec_free(&more.seats);
    return fine;
}

bool sl_exact_could(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                    const struct sl_exact_podset *v, uint32_t n) {
    struct sl_exact_podset rest[SL_EXACT_MAX_PODSETS];
    struct found f = {0};
    uint32_t refused;
    if (unready(q) || n > SL_EXACT_MAX_PODSETS)
        return false;
    struct fq_exact *old = slice_before(q, o);
    struct fq_exact *x = old ? begin_slice(q, o, old, v, n, rest) : NULL;
    lift_leaving(q, -1);
    bool could = !unready(q) && find(q, o, x ? rest : v, n, x, &f, &refused);
    lift_leaving(q, 1);
    if (x)
        end_slice(q, x, old, NULL);
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
static bool holds(const struct fq_exact *x, bool later, const struct found *f) {
    bool same = x && x->later == later && x->seats.n == f->seats.n;
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
    if (!holds(by_key(q, o->key), false, &f)) {
        sl_exact_release(q, o->key);
        hold(q, o, v, n, &f, false);
    }
    sl_vec_free(&f.seats);
}

bool sl_exact_later(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                    const struct sl_exact_podset *v, uint32_t n, int64_t from, int64_t *ret_at) {
    struct fq_exact *x = by_key(q, o->key);
    struct sl_exact_owner then = *o;
    behinds behind = {0};
    struct found f = {0};
    int64_t at = from > fq_now(q) ? from : fq_now(q) + 1;
    if (unready(q) || n > SL_EXACT_MAX_PODSETS || (x && !x->later))
        return false;
    lift_behind(q, x, &behind);
    sl_exact_set_aside(q, o->key, true);
    lift_leaving(q, -1);
    bool fine = find_later(q, o, v, n, &f, &at);
    lift_leaving(q, 1);
    if (fine && holds(x, true, &f) && x->from == at) {
        sl_exact_set_aside(q, o->key, false);
    } else {
        if (x)
            drop_later(q, x);
        then.since = sl_span_seconds(at);
        if (fine)
            hold(q, &then, v, n, &f, true);
    }
    put_behind(q, &behind);
    *ret_at = at;
    sl_vec_free(&f.seats);
    return fine;
}

void sl_exact_forgo(struct sl_fluxqueue *q, uint64_t key) {
    struct fq_exact *x = by_key(q, key);
    if (x && x->later)
        drop_later(q, x);
}

void sl_exact_release(struct sl_fluxqueue *q, uint64_t key) {
    struct fq_exact *x = by_key(q, key);
    if (!x)
        return;
    if (x->later) {
        drop_later(q, x);
        return;
    }
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
    if (!x || x->later)
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
