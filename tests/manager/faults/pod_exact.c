/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories with --exact: every ClusterQueue asks for exact nodes, and each replica has the queue
 * on the resource graph beside its manager. Some pods wait in that queue, nodes are cordoned,
 * tainted and go silent. From POLICED on some bindings of that queue are refused.
 *
 * After every event, besides what podfaults.c and pod_places.c say (quota, nodes):
 *
 *   - Whole or gone: who has a reservation has a node for each of its pods.
 *   - What is admitted can be bound: each of these nodes is there and lets the pods in, unless it
 *     has changed since the leader last knew everything; and they have room, beside pods that have
 *     not ended yet and beside those of the queue on the graph. At the end all pods have ended, so
 *     all that were admitted have been bound.
 *
 * Faults that were planted, and the first history that found each:
 *
 *     what the cohort uses is not subtracted               6  quota of the cohort
 *     borrowing limits are not looked at                  11  quota of a queue
 *     a node less than was found is written                3  whole or gone
 *     a place is free before its FluxJob gives it back 20017  room
 */
#include "pods.h"

#define FLUX_CPUS 1
#define POLICED 20001u /* histories with smaller numbers stay as they were found */
#define REFUSED_UNTIL SL_MINUTE
#define LATER (40 * SL_SEC) /* pods of the queue on the graph are created until then */

/* ---- nodes ---- */

/* All of f has room, whatever it is used for: pods have one cpu or two. */
void exact_nodes(struct world *w) {
    struct pods *p = pods_of(w);
    int need = (int)w->all.n[0][CPU];
    while (p->n_nodes < RACK_NODES || need > 0) {
        int *cpus = &p->cpus[p->n_nodes++];
        *cpus = 2 * (1 + (int)world_below(w, 3));
        if (p->n_nodes == MAX_NODES && *cpus < need)
            *cpus = need + need % 2;
        need -= *cpus;
    }
}

sl_time exact_shut_until(struct world *w, const char *node) {
    uint32_t n;
    return fakeapi_number(node, "n", &n, NULL) && n < MAX_NODES ? pods_of(w)->shut_until[n] : 0;
}

static void open_node(void *ctx, uint64_t node) {
    struct world *w = ctx;
    struct pods *p = pods_of(w);
    char path[64];
    if (!p->shut_until[node] || fakeapi_now(w->api) < p->shut_until[node])
        return;
    p->shut_until[node] = 0;
    world_tell(w, "node n%u is open again", (unsigned)node);
    (void)snprintf(path, sizeof path, "/api/v1/nodes/n%u", (unsigned)node);
    (void)world_send(w, SL_PATCH, path, "{\"spec\":{\"unschedulable\":null,\"taints\":null}}");
}

static void shut_node(struct world *w, uint32_t node) {
    struct pods *p = pods_of(w);
    bool taint = world_odds(w, 2);
    char path[64];
    world_tell(w, "node n%u is %s", node, taint ? "tainted" : "cordoned");
    p->shut_until[node] = world_soon(w, 60000) + 1;
    (void)snprintf(path, sizeof path, "/api/v1/nodes/n%u", node);
    (void)world_send(w, SL_PATCH, path, "{\"spec\":{%s}}",
                     taint ? "\"taints\":[{\"key\":\"dedicated\",\"effect\":\"NoSchedule\"}]"
                           : "\"unschedulable\":true");
    fakeapi_at(w->api, p->shut_until[node], open_node, w, node);
}

static bool lets_in(yyjson_val *node) {
    return node && world_is(node, "Ready") && !sl_json_bool(node, "spec.unschedulable", false) &&
           !yyjson_arr_size(sl_json_at(node, "spec.taints"));
}

/* ---- pods of the queue on the graph ---- */

static const char *flux_path(uint64_t n, const char *tail, char out[96]) {
    (void)snprintf(out, 96, PODS "/f%u%s", (unsigned)n, tail);
    return out;
}

static void flux_create(void *ctx, uint64_t n) {
    struct world *w = ctx;
    if (pods_of(w)->calm || fakeapi_now(w->api) < pods_of(w)->frozen)
        return;
    world_tell(w, "create f%u", (unsigned)n);
    (void)world_send(
        w, SL_POST, PODS,
        "{\"metadata\":{\"name\":\"f%u\",\"labels\":{\"fluxqueue.seen\":\"yes\"}%s},\"spec\":{"
        "\"schedulingGates\":[{\"name\":\"fluxqueue\"}],\"schedulerName\":\"FluxionScheduler\","
        "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
        "\"cpu\":\"%d\"}}}]}}",
        (unsigned)n, pods_of(w)->timed ? ",\"annotations\":{\"fluxqueue/duration\":\"60\"}" : "",
        FLUX_CPUS);
}

static void flux_delete(struct world *w, uint64_t n) {
    char path[96];
    if (fakeapi_get(w->api, flux_path(n, "", path)))
        (void)fakeapi_do(w->api, SL_DELETE, path, NULL, NULL, NULL);
}

/* Its kubelet: it runs, ends, and goes when it was told to. */
static void flux_turn(void *ctx, uint64_t n) {
    struct world *w = ctx;
    const struct pods *p = pods_of(w);
    char path[96], status[96];
    yyjson_val *pod = fakeapi_get(w->api, flux_path(n, "", path));
    if (!pod || !*sl_json_str(pod, "spec.nodeName"))
        return;
    sl_time dead = places_dead_until(w, sl_json_str(pod, "spec.nodeName")),
            wait = dead > p->frozen ? dead : p->frozen;
    if (fakeapi_now(w->api) < wait) {
        fakeapi_at(w->api, wait, flux_turn, w, n);
        return;
    }
    (void)flux_path(n, "/status", status);
    const char *phase = sl_json_str(pod, "status.phase");
    if (pod_deleting(pod))
        (void)world_send(w, SL_DELETE, path, "{\"gracePeriodSeconds\":0}");
    else if (!pod_terminal(pod))
        (void)world_send(w, SL_PATCH, status, "{\"status\":{\"phase\":\"%s\"}}",
                         strcmp(phase, "Running") == 0 ? "Succeeded" : "Running");
    else if (!p->calm)
        flux_delete(w, n);
}

/* A pod stands where its name says, or is to go where its FluxJob says: MAX_NODES, nowhere. */
static uint32_t flux_node(struct world *w, uint32_t n) {
    char path[160];
    uint32_t at = MAX_NODES;
    yyjson_val *pod = fakeapi_get(w->api, flux_path(n, "", path));
    if (!pod || pod_terminal(pod) || pods_of(w)->flux_late[n])
        return MAX_NODES;
    if (fakeapi_number(sl_json_str(pod, "spec.nodeName"), "n", &at, NULL))
        return at;
    (void)snprintf(
        path, sizeof path,
        "/apis/jobs.converged-computing.org/v1alpha1/namespaces/default/fluxjobs/f%u-pod", n);
    yyjson_val *job = fakeapi_get(w->api, path),
               *owner = yyjson_arr_get_first(sl_json_at(job, "metadata.ownerReferences")),
               *node = yyjson_arr_get_first(sl_json_at(job, "status.nodes"));
    if (!job || pod_deleting(pod) || strcmp(sl_json_str(job, "status.state"), "Running") != 0 ||
        strcmp(sl_json_str(owner, "uid"), sl_json_str(pod, "metadata.uid")) != 0 ||
        !fakeapi_number(sl_json_str(node, "name"), "n", &at, NULL))
        return MAX_NODES;
    return at;
}

int exact_refuses(struct world *w, const struct fakeapi_write *fw, struct sl_buf *why) {
    struct pods *p = pods_of(w);
    uint32_t n;
    yyjson_mut_val *now = yyjson_mut_doc_get_root(fw->now),
                   *meta = yyjson_mut_obj_get(now, "metadata"),
                   *spec = yyjson_mut_obj_get(now, "spec");
    bool binds = strcmp(fw->kind->plural, "pods") == 0 && fw->old && !fw->status &&
                 *sl_json_mut_text(yyjson_mut_obj_get(spec, "nodeName")) &&
                 !*sl_json_str(fw->old, "spec.nodeName");
    if (w->seed < POLICED || !binds || fakeapi_now(w->api) > REFUSED_UNTIL ||
        !fakeapi_number(sl_json_mut_text(yyjson_mut_obj_get(meta, "name")), "f", &n, NULL) ||
        !world_odds(w, 2))
        return 0;
    p->refused++;
    world_tell(w, "the binding of f%u is refused", n);
    sl_buf_puts(why, "not on this node");
    return 403;
}

/* ---- room ---- */

/* A pod that runs, or may be bound at any time, though its Workload has no place for it or is about
 * to give it back: MAX_NODES, nowhere. An evicted one may be without pods for a while until it is
 * written that it has no places; meanwhile others may get them. */
static uint32_t stray_node(struct world *w, uint32_t unit, uint32_t n) {
    yyjson_val *pod = pod_get(w, unit, n);
    uint32_t node = MAX_NODES;
    if (!pod || !pod_runs(w, pod) || pods_of(w)->excused[unit][n])
        return MAX_NODES;
    yyjson_val *wl = pod_workload(w, pod);
    const char *at = sl_json_str(pod, "spec.nodeName");
    if (world_holds(wl) && !world_is(wl, "Evicted"))
        return MAX_NODES;
    (void)fakeapi_number(*at ? at : places_host_of(pod), "n", &node, NULL);
    return node < MAX_NODES ? node : MAX_NODES;
}

/* Places that were given out, pods that have none and did not end yet, and the other queue's. */
static void check_room(struct world *w, const struct fakeapi_change *c) {
    struct pods *p = pods_of(w);
    int cpus[MAX_NODES];
    uint32_t node;
    places_given(w, true, cpus);
    for (uint32_t unit = 0; unit < p->n_units; unit++)
        for (uint32_t n = 0; n < MAX_NAMES; n++) {
            node = stray_node(w, unit, n);
            if (node < MAX_NODES)
                cpus[node] += (int)pod_cpus(pod_role(pod_get(w, unit, n)));
        }
    for (uint32_t i = 0; i < MAX_FLUX; i++) {
        node = flux_node(w, i);
        if (node == MAX_NODES)
            continue;
        p->beside += cpus[node] > 0;
        cpus[node] += FLUX_CPUS;
    }
    for (uint32_t i = 0; i < MAX_NODES; i++)
        if (cpus[i] > p->cpus[i])
            world_fail(w, "%s: %d cpus of n%u are given out or in use, it has %d", c->key, cpus[i],
                       i, p->cpus[i]);
}

/* ---- Workloads ---- */

static void check_podset(struct world *w, const struct fakeapi_change *c, yyjson_val *was,
                         yyjson_val *is) {
    struct pods *p = pods_of(w);
    int64_t before[MAX_NODES], now[MAX_NODES], count = sl_json_int(is, "count", 0);
    (void)places_read(w, was, before);
    int64_t sum = places_read(w, is, now);
    if (sum != count)
        world_fail(w, "%s: %s has nodes for %lld of %lld pods", c->key, sl_json_str(is, "name"),
                   (long long)sum, (long long)count);
    for (uint32_t i = 0; i < MAX_NODES; i++) {
        char path[64];
        if (now[i] <= before[i])
            continue;
        (void)snprintf(path, sizeof path, "/api/v1/nodes/n%u", i);
        p->chosen++;
        world_tell(w, "    %s gets n%u for %lld pods, sent at %.3f", c->key, i, (long long)now[i],
                   (double)c->sent / 1e9);
        if (p->changed[i] >= world_knowing(w, c))
            p->unknown++;
        else if (!lets_in(fakeapi_get(w->api, path)))
            world_fail(w, "%s got n%u, which lets nobody in", c->key, i);
    }
}

static yyjson_val *podset_of(yyjson_val *wl, const char *name) {
    return world_holds(wl)
               ? sl_json_find(sl_json_at(wl, "status.admission.podSetAssignments"), "name", name)
               : NULL;
}

static void workload_changed(struct world *w, const struct fakeapi_change *c) {
    size_t i, n;
    yyjson_val *a;
    if (!world_holds(c->now) || c->client == FAKEAPI_NOBODY || world_is_late(w, c))
        return;
    yyjson_arr_foreach (sl_json_at(c->now, "status.admission.podSetAssignments"), i, n, a)
        check_podset(w, c, podset_of(c->before, sl_json_str(a, "name")), a);
    pods_of(w)->whole += !world_holds(c->before);
}

/* ---- what happens ---- */

static void node_changed(struct world *w, const struct fakeapi_change *c) {
    uint32_t n;
    if (fakeapi_number(c->key, "n", &n, NULL) && n < MAX_NODES &&
        (!c->before || !c->now || lets_in(c->before) != lets_in(c->now)))
        pods_of(w)->changed[n] = fakeapi_now(w->api);
}

static void pod_changed(struct world *w, const struct fakeapi_change *c) {
    struct pods *p = pods_of(w);
    uint32_t n;
    if (!fakeapi_number(strchr(c->key, '/') + 1, "f", &n, NULL) || n >= MAX_FLUX)
        return;
    if (!c->now) {
        p->flux_late[n] = false;
        fakeapi_at(w->api, world_soon(w, 10000), flux_create, w, n);
        return;
    }
    if (*sl_json_str(c->now, "spec.nodeName") && !*sl_json_str(c->before, "spec.nodeName")) {
        p->started++;
        p->flux_late[n] |= world_is_late(w, c);
    }
    fakeapi_at(w->api, world_soon(w, 8000), flux_turn, w, n);
}

static void flux_changed(struct world *w, const struct fakeapi_change *c) {
    uint32_t n;
    if (c->now && fakeapi_number(strchr(c->key, '/') + 1, "f", &n, NULL) && n < MAX_FLUX &&
        strcmp(sl_json_str(c->now, "status.state"), "Running") == 0 &&
        strcmp(sl_json_str(c->before, "status.state"), "Running") != 0)
        pods_of(w)->flux_late[n] = world_is_late(w, c);
}

void exact_noticed(struct world *w, const struct fakeapi_change *c) {
    static const struct {
        const char *plural;
        void (*fn)(struct world *w, const struct fakeapi_change *c);
        bool room;
    } kinds[] = {{"nodes", node_changed, false},
                 {"workloads", workload_changed, true},
                 {"fluxjobs", flux_changed, true},
                 {"pods", pod_changed, true}};
    if (!pods_of(w) || !pods_of(w)->exact) /* or the history has not begun */
        return;
    for (size_t i = 0; i < SL_LEN(kinds); i++) {
        if (strcmp(c->kind->plural, kinds[i].plural) != 0)
            continue;
        kinds[i].fn(w, c);
        if (kinds[i].room)
            check_room(w, c);
    }
}

void exact_meddle(struct world *w) {
    struct pods *p = pods_of(w);
    if (world_odds(w, 3))
        flux_delete(w, world_below(w, MAX_FLUX));
    else
        shut_node(w, world_below(w, p->n_nodes));
}

void exact_begin(struct world *w) {
    if (!pods_of(w)->exact)
        return;
    for (uint32_t i = 0, n = world_below(w, MAX_FLUX + 1); i < n; i++)
        fakeapi_at(w->api, world_soon(w, LATER / SL_MSEC), flux_create, w, i);
}

void exact_calm(struct world *w) {
    struct pods *p = pods_of(w);
    for (uint32_t i = 0; p->exact && i < p->n_nodes; i++) {
        p->shut_until[i] = p->shut_until[i] ? fakeapi_now(w->api) : 0;
        open_node(w, i);
    }
}

void exact_end(struct world *w) {
    for (uint32_t i = 0; pods_of(w)->exact && i < MAX_FLUX; i++)
        flux_delete(w, i);
}
