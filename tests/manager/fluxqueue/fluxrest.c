/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold when nothing moves any more: recomputed from the API's objects, as plainly as
 * possible.
 *
 *   - Each object has one FluxJob, which it owns, and no FluxJob is without its object.
 *   - What runs has its places; what has places runs. No pod with a free place waits.
 *   - Nothing waits that could start: of those first in the queue under every policy, of all under
 *     those that backfill when nothing is reserved.
 *   - What was refused as impossible is.
 *   - The controller has as many records as there are objects.
 */
#include "fluxworld.h"

#include "manager/fluxqueue/fq_int.h"

#define MAX_ITEMS 512u
#define MAX_ASKS 8u

struct item { /* a FluxJob */
    char path[200], state[24], reason[32], name[96], uid[64];
    struct amounts need;
    int64_t priority, jobid, wanted;
    sl_time submitted, begin;
    bool plain; /* its pods may stand anywhere */
    bool apart; /* the same, but for nodes that have one */
    bool alone; /* a pod without a FluxJob */
    bool whole; /* and nobody else on its nodes */
    uint32_t bound[MAX_NODES], waiting;
    struct amounts asks[MAX_ASKS]; /* of those that wait: they may be of another template */
};

struct rest {
    struct world *w;
    struct amounts free[MAX_NODES], empty[MAX_NODES]; /* empty: of pods, whoever has places */
    struct item items[MAX_ITEMS];
    uint32_t n;
    bool reserved;
};

struct paths {
    char v[MAX_ITEMS][200];
    const char *of;
    uint32_t n;
};

static void list(void *ctx, yyjson_val *o) {
    struct paths *p = ctx;
    if (p->n < MAX_ITEMS)
        (void)snprintf(p->v[p->n++], sizeof p->v[0], "%s/%s", p->of,
                       sl_json_str(o, "metadata.name"));
}

static struct paths *paths_of(struct world *w, const char *collection) {
    struct paths *p = sl_alloc0(1, sizeof *p);
    p->of = collection;
    (void)fakeapi_each(w->api, collection, list, p);
    return p;
}

static yyjson_val *node_at(struct world *w, uint32_t n) {
    char path[64];
    (void)snprintf(path, sizeof path, NODES "/n%u", n);
    return fakeapi_get(w->api, path);
}

static uint32_t leading(struct world *w) {
    return world_leader(w) == w->replicas[0].q ? 0 : 1;
}

static void use(struct rest *r, uint32_t n, const struct amounts *a, int64_t times) {
    for (uint32_t k = 0; k < RESOURCES; k++)
        r->free[n].n[k] -= a->n[k] * times;
}

static struct item *item_of(struct rest *r, const char *name) {
    for (uint32_t i = 0; i < r->n; i++)
        if (strcmp(r->items[i].name, name) == 0)
            return &r->items[i];
    return NULL;
}

/* ---- reading ---- */

static bool is_plain(yyjson_val *o) {
    struct rule rules[MAX_RULES];
    static const char *const keys[] = {"fluxqueue/within", "fluxqueue/tasks-per-node",
                                       "fluxqueue/whole-nodes", "fluxqueue/jobspec"};
    for (size_t i = 0; i < SL_LEN(keys); i++)
        if (*sl_json_annotation(o, keys[i]))
            return false;
    return view_rules(o, rules) == 0;
}

/* One on each node, and no other rule. */
static bool is_apart(yyjson_val *o) {
    struct rule rules[MAX_RULES];
    return view_rules(o, rules) == 1 && !rules[0].rack && rules[0].most == 1 &&
           !*sl_json_annotation(o, "fluxqueue/whole-nodes");
}

static void read_flux(struct rest *r, const char *path) {
    struct world *w = r->w;
    yyjson_val *f = fakeapi_get(w->api, path), *o = view_object(w, f);
    struct item *x = &r->items[r->n++];
    (void)snprintf(x->path, sizeof x->path, "%s", path);
    (void)snprintf(x->name, sizeof x->name, "%s", sl_json_str(f, "metadata.name"));
    (void)snprintf(x->state, sizeof x->state, "%s", sl_json_str(f, "status.state"));
    (void)snprintf(x->reason, sizeof x->reason, "%s", sl_json_str(f, "status.reason"));
    x->priority = sl_json_int(f, "spec.priority", 0);
    x->jobid = sl_json_int(f, "status.jobid", 0);
    x->submitted = sl_json_time(f, "status.submittedAt") / SL_SEC;
    r->reserved |= strcmp(x->state, "Reserved") == 0;
    if (!o) {
        world_fail(w, "%s is left, and what it wraps is gone", x->name);
        return;
    }
    x->need = view_requests(view_pod_spec(o));
    x->wanted = view_wanted(o);
    x->plain = is_plain(o);
    x->apart = is_apart(o);
    x->whole = *sl_json_annotation(o, "fluxqueue/whole-nodes") != '\0';
    x->begin = sl_json_time(sl_json_at(o, "metadata.annotations"), "fluxqueue/begin-time");
    (void)snprintf(x->uid, sizeof x->uid, "%s", sl_json_str(o, "metadata.uid"));
}

/* A pod without a FluxJob that waits. What the condition says of others than the queue does not
 * stand in it. */
static void read_plain(struct rest *r, const char *path, yyjson_val *pod) {
    struct world *w = r->w;
    yyjson_val *c = sl_json_find(sl_json_at(pod, "status.conditions"), "type", "PodScheduled");
    if (!view_plain(pod) || sl_json_at(pod, "metadata.deletionTimestamp") || r->n == MAX_ITEMS)
        return;
    struct item *x = &r->items[r->n++];
    *x = (struct item){.plain = true, .alone = true, .wanted = 1};
    (void)snprintf(x->path, sizeof x->path, "%s", path);
    (void)snprintf(x->name, sizeof x->name, "%s", sl_json_str(pod, "metadata.name"));
    x->need = view_requests(sl_json_at(pod, "spec"));
    x->priority = sl_json_int(pod, "spec.priority", 0);
    x->submitted = sl_json_time(pod, "metadata.creationTimestamp") / SL_SEC;
    const char *told = sl_json_str(c, "message");
    /* By the leader's clock it may not have been created yet. */
    bool young = x->submitted * SL_SEC + 5 * SL_SEC > fakeapi_port(w->api, leading(w))->wall,
         queued = strncmp(told, "Waits in the queue", 18) == 0 || (!*told && young);
    r->reserved |= queued; /* perhaps: nobody is told */
    if (!*told && !young && !view_other_gates(pod))
        world_fail(w, "%s waits, and is not told why", x->name);
    if (*sl_json_annotation(pod, "test/alone")) { /* refused for ever */
        r->n--;
        return;
    }
    (void)snprintf(x->state, sizeof x->state, "%s", queued ? "Waiting" : "Rejected");
}

static yyjson_val *object_of(struct world *w, const struct item *x) {
    yyjson_val *o = fakeapi_get(w->api, x->path);
    return x->alone || !o ? o : view_object(w, o);
}

static void read_pod(struct rest *r, const char *path) {
    struct world *w = r->w;
    yyjson_val *pod = fakeapi_get(w->api, path);
    uint32_t n = view_node(sl_json_str(pod, "spec.nodeName"));
    struct amounts need = view_requests(sl_json_at(pod, "spec"));
    char name[96];
    if (view_terminal(pod))
        return;
    if (n < MAX_NODES)
        use(r, n, &need, 1);
    else
        read_plain(r, path, pod);
    view_flux_of(w, pod, name);
    struct item *x = *name ? item_of(r, name) : NULL;
    if (!x)
        return;
    if (n < MAX_NODES)
        x->bound[n]++;
    else if (!*sl_json_str(pod, "spec.nodeName") && !view_other_gates(pod) &&
             !sl_json_at(pod, "metadata.deletionTimestamp"))
        x->asks[x->waiting++ % MAX_ASKS] = need;
}

/* ---- checks of one ---- */

/* Pods on a node that went and came again are there without a place. */
static int64_t places_of(struct world *w, const struct item *x) {
    const struct flux *f = view_flux(w, x->name);
    int64_t sum = 0;
    for (uint32_t n = 0; f && n < MAX_NODES; n++)
        sum += f->listed[n] > x->bound[n] ? f->listed[n] : x->bound[n];
    return sum;
}

static int64_t bound_of(const struct item *x) {
    int64_t sum = 0;
    for (uint32_t n = 0; n < MAX_NODES; n++)
        sum += x->bound[n];
    return sum;
}

/* Places that no pod has taken yet are in use as well. */
static void use_places(struct rest *r, const struct item *x) {
    const struct flux *f = view_flux(r->w, x->name);
    for (uint32_t n = 0; f && n < MAX_NODES; n++) {
        if (f->listed[n] > x->bound[n])
            use(r, n, &x->need, f->listed[n] - x->bound[n]);
        if (f->listed[n] && x->whole)
            r->free[n].n[COUNT] = 0;
    }
}

/* How many pods fit beside all others: as many on each node as it has room for. */
static int64_t room_for(struct rest *r, const struct item *x, bool empty) {
    struct world *w = r->w;
    int64_t sum = 0;
    for (uint32_t n = 0; n < MAX_NODES; n++) {
        yyjson_val *o = object_of(w, x), *node = node_at(w, n);
        if (!o || !node || !view_admits(node, view_pod_spec(o)))
            continue;
        struct amounts has = empty ? view_allocatable(node) : r->free[n];
        for (int64_t k = 0; k < x->wanted && view_fits(&x->need, &has); k++, sum++)
            for (uint32_t a = 0; a < RESOURCES; a++)
                has.n[a] -= x->need.n[a];
    }
    return sum;
}

static bool one_fits(const struct item *x, const struct amounts *free) {
    for (uint32_t i = 0; i < x->waiting && i < MAX_ASKS; i++)
        if (view_fits(&x->asks[i], free))
            return true;
    return false;
}

static bool room_for_one(struct rest *r, const struct item *x) {
    struct world *w = r->w;
    const struct flux *f = view_flux(w, x->name);
    for (uint32_t n = 0; n < MAX_NODES; n++) {
        yyjson_val *o = object_of(w, x), *node = node_at(w, n);
        if (x->apart && (!f || f->listed[n]))
            continue;
        if (o && node && view_admits(node, view_pod_spec(o)) && one_fits(x, &r->free[n]))
            return true;
    }
    return false;
}

/* Has it a place that no pod has, on a node that has room for one that waits? */
static bool has_free_place(struct rest *r, const struct item *x) {
    const struct flux *f = view_flux(r->w, x->name);
    for (uint32_t n = 0; f && n < MAX_NODES; n++)
        if (f->listed[n] > x->bound[n] && sl_json_condition(node_at(r->w, n), "Ready") &&
            one_fits(x, &r->empty[n]))
            return true;
    return false;
}

static void check_running(struct rest *r, const struct item *x) {
    struct world *w = r->w;
    yyjson_val *f = fakeapi_get(w->api, x->path), *o = f ? view_object(w, f) : NULL;
    int64_t places = places_of(w, x);
    if (sl_json_bool(o, "spec.suspend", false))
        world_fail(w, "%s runs, and its Job is suspended", x->name);
    else if (x->waiting && has_free_place(r, x))
        world_fail(w, "%s has a free place, and %u pods wait", x->name, x->waiting);
    else if (places < x->wanted && places < bound_of(x) + x->waiting &&
             strcmp(x->reason, "Growing") != 0)
        world_fail(w, "%s has %lld places for %lld pods, and does not grow (%s)", x->name,
                   (long long)places, (long long)x->wanted, x->reason);
    else if (strcmp(x->reason, "Growing") == 0 && (x->plain || x->apart) && !r->reserved &&
             room_for_one(r, x))
        world_fail(w, "%s does not grow, and there is room", x->name);
}

static bool waits(const struct item *x) {
    return strcmp(x->state, "Waiting") == 0 || strcmp(x->state, "Reserved") == 0;
}

static void check_item(struct rest *r, const struct item *x) {
    struct world *w = r->w;
    bool pending = strcmp(x->state, "Pending") == 0;
    if (x->alone) {
        if (strcmp(x->state, "Rejected") == 0 && room_for(r, x, false) > 0)
            world_fail(w, "%s is told that it cannot run, and it could", x->name);
        return;
    }
    if (strcmp(x->state, "Running") == 0)
        check_running(r, x);
    else if (bound_of(x) > 0)
        world_fail(w, "%s is %s, and its pods run", x->name, x->state);
    else if (pending && (x->wanted > 0 || strcmp(x->reason, "ScaledToZero") != 0))
        world_fail(w, "%s is pending: %s", x->name, x->reason);
    else if (!*x->state)
        world_fail(w, "%s has no state", x->name);
    if (strcmp(x->reason, "BeginTime") == 0 && x->begin &&
        x->begin + SL_SEC < fakeapi_port(w->api, leading(w))->wall)
        world_fail(w, "%s waits for a time that is over", x->name);
    if (strcmp(x->reason, "Unsatisfiable") == 0 && x->plain && room_for(r, x, true) >= x->wanted)
        world_fail(w, "%s is refused, and could run on empty nodes", x->name);
}

/* ---- the queue ---- */

static int by_order(const void *a, const void *b) {
    const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (x->submitted != y->submitted)
        return x->submitted < y->submitted ? -1 : 1;
    return x->jobid < y->jobid ? -1 : x->jobid > y->jobid;
}

static void check_queue(struct rest *r) {
    struct world *w = r->w;
    struct item *line[MAX_ITEMS];
    uint32_t n = 0, first = 0, fit = 0;
    for (uint32_t i = 0; i < r->n; i++)
        if (waits(&r->items[i]) && r->items[i].submitted && strcmp(r->items[i].reason, "BeginTime"))
            line[n++] = &r->items[i];
    qsort(line, n, sizeof *line, by_order);
    w->waits += n;
    for (uint32_t i = 0; i < n; i++) {
        bool fits = line[i]->plain && room_for(r, line[i], false) >= line[i]->wanted;
        bool tied = line[i]->priority == line[0]->priority &&
                    line[i]->submitted == line[0]->submitted; /* which came first is not shown */
        first += tied;
        fit += tied && fits;
        w->fits += fits;
        for (uint32_t k = 0; fits && k < MAX_NODES; k++)
            if (node_at(w, k))
                world_tell(w, "    %s: n%u has %lldm %lldKi %lld gpu %lld pods free", line[i]->name,
                           k, (long long)r->free[k].n[CPU], (long long)r->free[k].n[MEMORY],
                           (long long)r->free[k].n[GPU], (long long)r->free[k].n[COUNT]);
        if (fits && !r->reserved && w->policy != SL_QUEUE_FCFS)
            world_fail(w, "%s (%s %s) waits, and nothing is in its way", line[i]->name,
                       line[i]->state, line[i]->reason);
    }
    /* What one behind it has reserved stays so, also where it came before that one later. */
    bool behind = false;
    for (uint32_t i = first; i < n; i++)
        behind |= strcmp(line[i]->state, "Reserved") == 0;
    if (n && fit == first && !behind)
        world_fail(w, "%s (%s %s) is the first in the queue, fits and waits", line[0]->name,
                   line[0]->state, line[0]->reason);
}

/* ---- all ---- */

static void check_objects(struct rest *r, const char *collection, const char *suffix) {
    struct world *w = r->w;
    struct paths *p = paths_of(w, collection);
    for (uint32_t i = 0; i < p->n && !w->failed; i++) {
        yyjson_val *o = fakeapi_get(w->api, p->v[i]);
        char name[300];
        (void)snprintf(name, sizeof name, "%s-%s", sl_json_str(o, "metadata.name"), suffix);
        if (!*sl_json_label(o, "fluxqueue.seen") || *sl_json_annotation(o, "test/bad") ||
            sl_json_size(sl_json_at(o, "metadata.ownerReferences")) || item_of(r, name) ||
            sl_json_at(o, "metadata.deletionTimestamp") || view_wanted(o) <= 0)
            continue;
        world_fail(w, "%s has no FluxJob", p->v[i]);
    }
    sl_freep(&p);
}

/* As many records as objects, and what was interned is of them. */
static void check_memory(struct rest *r) {
    static const char *const collections[FQ_MARKED] = {
        [FQ_CLASS] = "/apis/scheduling.k8s.io/v1/priorityclasses",
        [FQ_NODE] = NODES,
        [FQ_DEPLOYMENT] = APPS "deployments",
        [FQ_REPLICASET] = APPS "replicasets",
        [FQ_STATEFULSET] = APPS "statefulsets",
        [FQ_JOB] = JOBS,
        [FQ_POD] = PODS,
        [FQ_FLUXJOB] = FLUXJOBS,
    };
    struct world *w = r->w;
    const struct sl_fluxqueue *q = world_leader(w);
    uint32_t shapes = 0, users = 0;
    for (uint32_t k = 0; k < FQ_MARKED; k++) {
        uint32_t there =
            collections[k] ? fakeapi_each(w->api, collections[k], NULL, NULL) : 0; /* not read */
        if (q->inf->tables[k].n > there)
            world_fail(w, "%u records of %s, %u objects", q->inf->tables[k].n,
                       collections[k] ? collections[k] : "another kind", there);
    }
    for (uint32_t i = 0; i < q->usages.n; i++)
        shapes += q->usages.v[i] != NULL;
    for (uint32_t k = FQ_DEPLOYMENT; k <= FQ_POD; k++)
        users += q->inf->tables[k].n;
    if (shapes > users)
        world_fail(w, "%u shapes of %u pods and templates", shapes, users);
}

/* What the leader thinks, for whoever reads the history. */
static void tell_records(struct world *w) {
    struct sl_fluxqueue *q = world_leader(w);
    uint32_t at = 0;
    for (struct sl_rec *x; q && (x = sl_inf_each(q->inf, FQ_FLUXJOB, &at));) {
        const struct fq_job *j = fq_job_of(x);
        struct sl_queue_waiting l = {0};
        bool there = q->queues && sl_queues_waiting(q->queues, j->jobid, &l);
        world_tell(w, "    record %s: %s id %lld%s%s%s%s%s, place %d, missing %u", x->name,
                   fq_state_name(j->state), (long long)j->jobid,
                   x->create_planned ? " planned" : "", x->deleting ? " deleting" : "",
                   j->queued ? " queued" : "", j->held ? " held" : "",
                   sl_rec_busy(x) ? " busy" : "", there ? (int)l.place : -1, j->missing);
    }
    at = 0;
    for (struct sl_rec *x; q && (x = sl_inf_each(q->inf, FQ_NODE, &at));)
        for (uint32_t i = 0; i < fq_node_of(x)->pools.n; i++) {
            const struct fq_pool *p = &fq_node_of(x)->pools.v[i];
            world_tell(w, "    node %s%s: %s %lld, others %lld, standing %lld, vertex %d of %lld",
                       x->name, fq_node_of(x)->up ? "" : " (down)", fq_str(q, p->resource),
                       (long long)p->allocatable, (long long)p->foreign, (long long)p->standing,
                       (int)p->v,
                       p->v != SL_VTX_NONE && q->match
                           ? (long long)sl_graph_vertex(sl_match_graph(q->match), p->v)->size
                           : -1);
        }
}

/* A leader that is gone may have taken its events with it. */
static void check_delays(struct world *w) {
    for (uint32_t i = 0; i < w->fluxes.n; i++) {
        const struct flux *f = &w->fluxes.v[i];
        if (!f->gone && f->delayed >= w->leads_since && f->told < f->delayed - SL_MINUTE)
            world_fail(w, "%s is delayed, and no event says so", f->name);
    }
}

void rest_check(struct world *w) {
    struct rest *r = sl_alloc0(1, sizeof *r);
    struct paths *p = paths_of(w, FLUXJOBS);
    r->w = w;
    for (uint32_t n = 0; n < MAX_NODES; n++)
        r->free[n] = view_allocatable(node_at(w, n));
    for (uint32_t i = 0; i < p->n; i++)
        read_flux(r, p->v[i]);
    sl_freep(&p);
    p = paths_of(w, PODS);
    for (uint32_t i = 0; i < p->n; i++)
        read_pod(r, p->v[i]);
    sl_freep(&p);
    memcpy(r->empty, r->free, sizeof r->empty);
    for (uint32_t i = 0; i < r->n; i++)
        if (strcmp(r->items[i].state, "Running") == 0)
            use_places(r, &r->items[i]);
    for (uint32_t i = 0; i < r->n && !w->failed; i++)
        check_item(r, &r->items[i]);
    check_queue(r);
    check_objects(r, PODS, "pod");
    check_objects(r, JOBS, "job");
    check_objects(r, APPS "deployments", "deployment");
    check_objects(r, APPS "replicasets", "replicaset");
    check_objects(r, APPS "statefulsets", "statefulset");
    check_delays(w);
    if (!w->failed)
        check_memory(r);
    if (w->failed && w->verbose)
        tell_records(w);
    sl_freep(&r);
}

void rest_empty(struct world *w) {
    static const char *const collections[] = {
        FLUXJOBS, PODS, JOBS, APPS "deployments", APPS "replicasets", APPS "statefulsets"};
    for (size_t i = 0; i < SL_LEN(collections); i++) {
        uint32_t n = fakeapi_each(w->api, collections[i], NULL, NULL);
        if (n)
            world_fail(w, "%u of %s are left", n, collections[i]);
    }
}
