/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain pods: they name our scheduler and nothing else of ours, so they are no FluxJobs. Each is a
 * job of the queue by itself, with its priority, the time of its creation and no known end. Nothing
 * of that is written but its binding, which is all that has to be known after a restart: a bound
 * one holds what it requests on its node, and one that is not bound has been promised nothing. One
 * that waits is told why by its condition PodScheduled, as kube-scheduler does.
 *
 * They come from few manifests: what equal ones ask for is compiled once.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/admission/flux/group.h"
#include "manager/fluxqueue/fq_int.h"

#define PREFIX "fluxqueue/"
#define TAG_CONDITION 3u

/* ---- which ---- */

/* Left out of a namespace that opted in. */
static bool opts_out(yyjson_val *key, yyjson_val *val) {
    return strcmp(sl_json_text(key), SL_FLUX_MANAGED) == 0 &&
           strcmp(sl_json_text(val), "false") == 0;
}

static bool has_ours(yyjson_val *map) {
    size_t i, n;
    yyjson_val *key, *val;
    sl_obj_foreach (map, i, n, key, val)
        if (strncmp(sl_json_text(key), PREFIX, strlen(PREFIX)) == 0 && !opts_out(key, val))
            return true;
    return false;
}

static bool is_gated_by_us(yyjson_val *gates) {
    return sl_json_find(gates, "name", SL_FLUX_GATE) != NULL;
}

static bool has_claims(yyjson_val *spec) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (sl_json_get(spec, "volumes"), i, n, v)
        if (sl_json_get(v, "persistentVolumeClaim") || sl_json_get(v, "ephemeral"))
            return true;
    return false;
}

/* A known end, a time to begin, a queue, a group, claims of volumes: these are of jobs. */
bool fq_plain_is(yyjson_val *o) {
    yyjson_val *spec = sl_json_get(o, "spec");
    struct sl_flux_group group;
    return fq_names_us(spec) && !sl_json_label_opt(o, SL_FLUX_SEEN) && !has_claims(spec) &&
           !sl_json_get(spec, "activeDeadlineSeconds") &&
           !is_gated_by_us(sl_json_get(spec, "schedulingGates")) &&
           !has_ours(sl_json_at(o, "metadata.labels")) &&
           !has_ours(sl_json_at(o, "metadata.annotations")) && !sl_flux_group_read(o, &group);
}

/* ---- requests ---- */

static void forget_compiled(struct fq_request *r) {
    sl_match_request_freep(&r->compiled);
    sl_freep(&r->refused);
}

void fq_plain_forget_requests(struct sl_fluxqueue *q) {
    for (uint32_t i = 0; i < q->requests.n; i++)
        if (q->requests.v[i])
            forget_compiled(q->requests.v[i]);
    fq_exact_forget_requests(q);
}

static struct fq_request *request_get(struct sl_fluxqueue *q, const char *text, size_t len) {
    uint64_t h = sl_hash_bytes(1, text, len);
    sl_map_foreach (i, &q->requests_by_hash, h)
        if (strcmp(q->requests.v[i]->text, text) == 0) {
            q->requests.v[i]->refs++;
            return q->requests.v[i];
        }
    struct fq_request *r = sl_alloc0(1, sizeof *r);
    *r = (struct fq_request){.hash = h, .refs = 1, .text = sl_strdup(text)};
    r->id = q->free_requests.n ? sl_vec_pop(&q->free_requests) : q->requests.n;
    if (r->id == q->requests.n)
        (void)sl_vec_push(&q->requests);
    q->requests.v[r->id] = r;
    sl_map_add(&q->requests_by_hash, h, r->id);
    return r;
}

void fq_plain_unref(struct sl_fluxqueue *q, struct fq_pod *p) {
    struct fq_request *r = TAKE_PTR(p->request);
    p->rejected = false; /* that is tried again by its request */
    if (!r || --r->refs)
        return;
    (void)sl_map_del(&q->requests_by_hash, r->hash, r->id);
    q->requests.v[r->id] = NULL;
    *sl_vec_push(&q->free_requests) = r->id;
    forget_compiled(r);
    sl_freep(&r->text);
    sl_freep(&r);
}

void fq_plain_done(struct sl_fluxqueue *q) {
    for (uint32_t i = 0; i < q->requests.n; i++)
        if (q->requests.v[i]) {
            forget_compiled(q->requests.v[i]);
            sl_freep(&q->requests.v[i]->text);
            sl_freep(&q->requests.v[i]);
        }
    sl_vec_free(&q->requests);
    sl_vec_free(&q->free_requests);
    sl_map_done(&q->requests_by_hash);
    sl_vec_free(&q->rejected);
}

/* False: it cannot be asked of this graph, r->refused says why. */
static bool compile(struct sl_fluxqueue *q, struct fq_request *r) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    struct fq_jobspec_info info = {0};
    struct sl_err err = {0};
    if (r->compiled || r->refused)
        return r->compiled;
    int code = fq_jobspec_compile(sl_match_graph(q->match), &q->universe, r->text, strlen(r->text),
                                  0, &arena, &info, &r->compiled, &err);
    if (code >= 0 && sl_arena_full(&arena)) {
        sl_match_request_freep(&r->compiled);
        code = sl_err_set(&err, SL_ELIMIT, "its jobspec is too large");
    }
    if (code < 0)
        r->refused = sl_strdup(err.text);
    return r->compiled;
}

/* ---- decoding ---- */

static void read_request(struct sl_fluxqueue *q, struct fq_pod *p, yyjson_val *o) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(FQ_MAX_JOBSPEC);
    struct fq_jobspec_options options = q->options;
    struct sl_err err = {0};
    options.name = "pod";
    options.duration = 0; /* it runs until it ends, also after a restart */
    int r = fq_jobspec_write(SL_FLUX_POD, o, 1, &options, &b, &err);
    if (r >= 0 && p->needs_others)
        r = sl_err_set(&err, SL_EINVAL, FQ_NEEDS_OTHERS);
    if (r >= 0 && !sl_buf_full(&b))
        p->request = request_get(q, sl_buf_str(&b), b.len);
    else
        fq_set_text(&p->refused, r < 0 ? err.text : "its jobspec would be too long");
}

/* A gated pod may still get another node selector. */
void fq_plain_decode(struct sl_fluxqueue *q, struct fq_pod *p, yyjson_val *o) {
    yyjson_val *c = sl_json_find(sl_json_at(o, "status.conditions"), "type", "PodScheduled");
    bool waits = !p->node && !p->ended;
    p->told = waits && strcmp(sl_json_str(c, "reason"), "Unschedulable") == 0
                  ? sl_hash_str(1, sl_json_str(c, "message")) | 1
                  : 0;
    if ((p->resized || p->edition != q->edition) && waits && !p->held) {
        fq_plain_drop(q, p);
        fq_plain_unref(q, p);
        fq_set_text(&p->refused, NULL);
        p->resized = false;
    }
    if (!waits)
        fq_plain_unref(q, p);
    else if (p->plain && !p->gates && !p->request && !p->refused)
        read_request(q, p, o);
}

/* ---- in the queue and in the matcher ---- */

static int64_t id_of(const struct fq_pod *p) {
    return FQ_PLAIN_ID + p->rec.id;
}

/* Of those of one second the same one is first after a restart: numbers of records are not the same
 * then. */
static int64_t order_of(const struct fq_pod *p) {
    return fq_order(p->rec.created, sl_digest_str(1, p->rec.uid));
}

static struct fq_pod *pod_by_id(const struct sl_fluxqueue *q, int64_t id) {
    uint64_t n = (uint64_t)(id - FQ_PLAIN_ID);
    struct sl_rec *r = n < q->inf->recs.n ? q->inf->recs.v[n] : NULL;
    return r && r->kind == FQ_POD && fq_pod_of(r)->queued ? fq_pod_of(r) : NULL;
}

void fq_plain_drop(struct sl_fluxqueue *q, struct fq_pod *p) {
    p->rejected = false;
    p->why = FQ_WHY_NOTHING;
    if (!p->queued && !p->held)
        return;
    q->freed += p->held;
    if (q->match && sl_queues_remove(q->queues, id_of(p)) < 0) {
        fq_graph_cancel(q, id_of(p));
        sl_queues_changed(q->queues);
    }
    p->queued = p->held = false;
    fq_pod_target(q, p, 0);
    q->moved = q->reordered = true;
}

/* What it requests is its own on this node. */
static void hold(struct sl_fluxqueue *q, struct fq_pod *p, sl_sym at) {
    struct fq_node *n = fq_node_find(q, at);
    struct sl_grant g = {0};
    struct sl_err err = {0};
    p->held = true;
    p->resized = false;
    fq_pod_target(q, p, at);
    for (uint32_t i = 0; n && p->usage && i < p->usage->n; i++) {
        const struct fq_pool *pool = fq_pool_find(n, p->usage->v[i].resource);
        if (pool && pool->v != SL_VTX_NONE && p->usage->v[i].amount > 0)
            *sl_vec_push(&g.picks) = (struct sl_pick){pool->v, p->usage->v[i].amount, true};
    }
    if (g.picks.n && fq_graph_put(q, id_of(p), &g, 0, FQ_END, false, &err) < 0)
        q->rebuild |= !q->restoring;
    sl_queues_changed(q->queues);
    sl_grant_done(&g);
    q->moved = true;
}

/* Its own, if there are nodes that refused it. */
static struct sl_match_request *request_of(struct sl_fluxqueue *q, struct fq_pod *p) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    struct sl_match_request *own = NULL;
    struct fq_jobspec_info info = {0};
    struct sl_constraint also = {0};
    struct sl_err err = {0};
    p->avoids = fq_unbound_where(q, NULL, p, &arena, &also);
    if (!p->avoids)
        return sl_match_request_ref(p->request->compiled);
    const struct fq_jobspec_ask ask = {.kind = FQ_ANY_KIND, .also = &also};
    if (fq_jobspec_compile_ask(sl_match_graph(q->match), &q->universe, p->request->text,
                               strlen(p->request->text), &ask, &arena, &info, &own, &err) < 0)
        return NULL;
    return own;
}

/* Is there no set of nodes for it, whoever ends? Found out once for all that ask for the same. */
static enum fq_why never(struct sl_fluxqueue *q, struct fq_request *r) {
    uint32_t policy = 0;
    if (r->judged == fq_supply(q))
        return r->never;
    (void)sl_queues_match(q->queues, NULL, &policy);
    r->judged = fq_supply(q);
    r->never = !fq_impossible(q, r->compiled, policy) ? FQ_WHY_NOTHING
               : fq_graph_could(q, r->compiled)       ? FQ_WHY_USED
                                                      : FQ_WHY_NEVER;
    return r->never;
}

/* It waits beside the queue until capacity rises. */
static void reject(struct sl_fluxqueue *q, struct fq_pod *p, enum fq_why why) {
    p->rejected = true;
    p->request->rejected = q->capacity;
    *sl_vec_push(&q->rejected) = p->rec.id;
    p->why = (uint8_t)why;
}

static void submit(struct sl_fluxqueue *q, struct fq_pod *p) {
    struct sl_err err = {0};
    if (!q->match) {
        p->why = FQ_WHY_NO_NODES;
        return;
    }
    if (q->rebuild || q->taints_changed)
        return; /* all are enqueued when that is done */
    struct sl_match_request *request = NULL;
    if (!p->request || !compile(q, p->request) || !(request = request_of(q, p))) {
        p->why = FQ_WHY_REFUSED;
        return;
    }
    enum fq_why why = p->avoids ? FQ_WHY_NOTHING : never(q, p->request);
    if (why != FQ_WHY_NOTHING) { /* told so at once, whoever waits before it */
        sl_match_request_free(request);
        reject(q, p, why);
        return;
    }
    int r = sl_queues_submit(q->queues, NULL, id_of(p), p->priority, order_of(p), request, &err);
    if (r < 0) {
        fq_set_text(&p->refused, err.text);
        p->why = FQ_WHY_REFUSED;
        return;
    }
    p->why = p->avoids ? FQ_WHY_UNBOUND : FQ_WHY_BUSY;
    p->queued = q->moved = q->reordered = true;
}

void fq_plain_apply(struct sl_fluxqueue *q, const struct sl_decision *d) {
    struct fq_pod *p = pod_by_id(q, d->jobid);
    struct sl_grant g = {0};
    if (!p || d->kind == SL_DECIDED_RESERVE || d->kind == SL_DECIDED_UNRESERVE)
        return;
    p->queued = false;
    q->reordered = true; /* those behind it */
    if (d->kind == SL_DECIDED_REJECT) {
        /* What it was compiled to may be forgotten: a node has changed since. */
        bool could =
            !p->avoids && compile(q, p->request) && fq_graph_could(q, p->request->compiled);
        reject(q, p, p->avoids ? FQ_WHY_UNBOUND : could ? FQ_WHY_USED : FQ_WHY_NEVER);
        sl_rec_enqueue(&p->rec);
        return;
    }
    p->held = true;
    p->why = FQ_WHY_NOTHING;
    if (sl_match_grant(q->match, d->jobid, &g) >= 0)
        for (uint32_t i = 0; i < g.picks.n && !p->target; i++)
            fq_pod_target(q, p, fq_node_at(q, g.picks.v[i].v));
    sl_grant_done(&g);
    sl_rec_reconcile_at(&p->rec, 0);
    sl_rec_write(&p->rec);
}

/* NULL: it is not rejected any more. */
static struct fq_pod *rejected_pod(const struct sl_fluxqueue *q, uint32_t i) {
    struct sl_rec *r = q->inf->recs.v[q->rejected.v[i]];
    return r && r->kind == FQ_POD && fq_pod_of(r)->rejected ? fq_pod_of(r) : NULL;
}

/* Those with this property, at most so many, are to be submitted again; the others stay. */
static uint32_t release(struct sl_fluxqueue *q, uint32_t most,
                        bool (*is)(struct sl_fluxqueue *, const struct fq_pod *)) {
    uint32_t kept = 0, n = 0;
    for (uint32_t i = 0; i < q->rejected.n; i++) {
        struct fq_pod *p = rejected_pod(q, i);
        if (!p)
            continue;
        if (n < most && is(q, p)) {
            n++;
            p->rejected = false;
            sl_rec_enqueue(&p->rec);
        } else {
            q->rejected.v[kept++] = q->rejected.v[i];
        }
    }
    q->rejected.n = kept;
    return n;
}

static bool is_first(struct sl_fluxqueue *q, const struct fq_pod *p) {
    bool first = p->request->first == p && p->request->tried != q->capacity;
    if (first)
        p->request->tried = q->capacity;
    return first;
}

static bool is_possible(struct sl_fluxqueue *q, const struct fq_pod *p) {
    return p->request->tried == q->capacity && p->request->rejected != q->capacity;
}

static bool comes_before(const struct fq_pod *a, const struct fq_pod *b) {
    return a->priority != b->priority ? a->priority > b->priority : order_of(a) < order_of(b);
}

/* Those that are rejected again stand behind those that were not tried. */
bool fq_plain_retry(struct sl_fluxqueue *q, uint32_t most) {
    for (uint32_t i = 0; i < q->rejected.n; i++) {
        struct fq_pod *p = rejected_pod(q, i);
        if (p)
            p->request->first = NULL;
    }
    for (uint32_t i = 0; i < q->rejected.n; i++) {
        const struct fq_pod *p = rejected_pod(q, i);
        if (p && (!p->request->first || comes_before(p, p->request->first)))
            p->request->first = p;
    }
    q->retrying = true;
    return release(q, most, is_first) < most;
}

void fq_plain_retried(struct sl_fluxqueue *q) {
    if (q->retrying)
        (void)release(q, UINT32_MAX, is_possible);
    q->retrying = false;
}

void fq_plain_judge(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_POD, &at));) {
        struct fq_pod *p = fq_pod_of(r);
        enum fq_why why = FQ_WHY_NOTHING;
        if (!p->queued || p->avoids || !p->request || !compile(q, p->request))
            continue;
        why = never(q, p->request);
        if (why == FQ_WHY_NOTHING)
            continue;
        fq_plain_drop(q, p);
        reject(q, p, why);
        sl_rec_enqueue(r);
    }
}

/* Where it is on a graph that was made anew; 0: nowhere. A binding that is on its way may arrive.
 */
static sl_sym place_of(const struct sl_fluxqueue *q, const struct fq_pod *p) {
    sl_sym at = p->node                                                 ? p->node
                : p->held && !p->rec.deleting && (p->bound || q->leads) ? p->target
                                                                        : 0;
    const struct fq_node *n = q->match && !p->ended ? fq_node_find(q, at) : NULL;
    return n && n->v != SL_VTX_NONE && !fq_job_for(q, &p->rec) ? at : 0;
}

void fq_plain_restore(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_POD, &at));) {
        struct fq_pod *p = fq_pod_of(r);
        if (!p->plain)
            continue;
        sl_sym at_node = fq_exact_has(q, p) ? 0 : place_of(q, p);
        if (p->held || p->queued)
            fq_pod_target(q, p, 0);
        p->held = p->queued = false;
        if (at_node || !q->match)
            p->rejected = false; /* else it is tried again like the others (fq_plain_retry) */
        if (at_node)
            hold(q, p, at_node);
        sl_rec_enqueue(r);
    }
}

/* ---- reconciling ---- */

static const char *message_of(const struct fq_pod *p) {
    static const char *const texts[FQ_WHYS] = {
        [FQ_WHY_NO_NODES] = "The cluster has no nodes",
        [FQ_WHY_BUSY] = "Waits in the queue: what it requests is in use",
        [FQ_WHY_USED] = "Pods of other schedulers use what it requests",
        [FQ_WHY_NEVER] = "No node has what it requests, " FQ_EVEN_IF_FREE,
        [FQ_WHY_VOLUME] = "The volume of a claim cannot be used on the node of its place",
    };
    const char *refused = p->refused                          ? p->refused
                          : p->request && p->request->refused ? p->request->refused
                                                              : "";
    const char *unbound = fq_unbound_text(p);
    return p->why == FQ_WHY_REFUSED   ? refused
           : p->why == FQ_WHY_UNBOUND ? (unbound ? unbound : "Its binding was refused")
                                      : texts[p->why];
}

static uint64_t message_hash(const struct fq_pod *p) {
    return sl_hash_str(1, message_of(p)) | 1;
}

static void tell(struct sl_fluxqueue *q, struct fq_pod *p) {
    sl_time at = sl_time_add(p->rec.created, FQ_TELL_AFTER);
    if (p->why == FQ_WHY_NOTHING)
        return;
    if (q->client->wall < at)
        sl_rec_reconcile_at(&p->rec, at);
    else if (p->told != message_hash(p))
        sl_rec_write(&p->rec);
}

void fq_plain_sync(struct sl_fluxqueue *q, struct fq_pod *p) {
    if (fq_exact_has(q, p)) { /* its Workload has its place */
        fq_plain_drop(q, p);
        fq_exact_plain_sync(q, p);
        tell(q, p);
        return;
    }
    fq_pod_charge(q, p, 0);
    if (p->ended || (p->rec.deleting && !p->node)) {
        fq_plain_drop(q, p);
        return;
    }
    if (p->node) {
        if (p->held && p->target == p->node && !p->resized)
            return;
        fq_plain_drop(q, p);
        if (q->match && !q->rebuild) /* else held when there is a graph */
            hold(q, p, p->node);
        return;
    }
    sl_time until;
    if (p->held || p->gates || p->sent || !q->leads)
        return;
    if (fq_unbound_pauses(q, p, &until)) {
        p->why = FQ_WHY_UNBOUND;
        tell(q, p);
        sl_rec_reconcile_at(&p->rec, until);
        return;
    }
    if (p->avoids && (p->queued || p->rejected) && !fq_unbound_until(q, p))
        fq_plain_drop(q, p); /* they are as good as others again */
    if (!p->queued && !p->rejected)
        submit(q, p);
    tell(q, p);
    if (p->avoids && !p->rec.reconcile_at)
        sl_rec_reconcile_at(&p->rec, fq_unbound_until(q, p));
}

/* ---- writes ---- */

static void build_condition(const struct sl_fluxqueue *q, const struct fq_pod *p,
                            struct sl_write *w) {
    w->tag = TAG_CONDITION;
    sl_rec_build_apply(&p->rec, "status", SL_FLUX_SCHEDULER, w); /* other conditions are others' */
    sl_jw_object(&w->json, "status");
    sl_jw_array(&w->json, "conditions");
    sl_jw_object(&w->json, NULL);
    sl_jw_str(&w->json, "type", "PodScheduled");
    sl_jw_str(&w->json, "status", "False");
    sl_jw_str(&w->json, "reason", "Unschedulable");
    sl_jw_time(&w->json, "lastTransitionTime", q->client->wall);
    sl_jw_str(&w->json, "message", message_of(p));
}

bool fq_plain_build(struct sl_fluxqueue *q, struct fq_pod *p, struct sl_write *w) {
    if (!q->leads || p->node || p->bound || p->ended || p->rec.deleting || p->gates)
        return false;
    if ((p->held || fq_exact_has(q, p)) && p->target) {
        if (p->held && fq_exact_puts_off(q))
            return false;
        if (!fq_volumes_ready(q, p, NULL))
            return false;
        fq_build_binding(q, p, w);
        return true;
    }
    if (p->why == FQ_WHY_NOTHING || p->told == message_hash(p))
        return false;
    sl_rec_event(&p->rec, SL_FLUX_SCHEDULER, true, "FailedScheduling", "%s", message_of(p));
    build_condition(q, p, w);
    return true;
}
