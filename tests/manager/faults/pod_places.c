/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines for histories with --places: racks of two nodes in a topology, nodes that go silent and
 * come again, and somebody who answers ProvisioningRequests.
 *
 * After every event: no node has more pods, or more places given out, than it has room for; a pod
 * goes only where its Workload has a place for it, and no more pods than places; and nobody is
 * admitted who waits for machines that were not provisioned.
 */
#include "pods.h"

#define NODE_CPUS 4
#define LEVEL_HOST "kubernetes.io/hostname"
#define REQUESTS "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests"
#define CHECK_CAPACITY "check-capacity.autoscaling.x-k8s.io"
#define OTHER_CLASS "queued.example.com"
#define BESIDE "m" /* a machine beside the topology, with room for all */

/* ---- nodes ---- */

void places_ready(struct world *w, uint32_t node, bool ready) {
    char path[64];
    (void)snprintf(path, sizeof path, "/api/v1/nodes/n%u/status", node);
    (void)world_send(w, SL_PATCH, path,
                     "{\"status\":{\"allocatable\":{\"cpu\":\"%d\",\"memory\":\"64Gi\",\"pods\":"
                     "\"20\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\","
                     "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}",
                     pods_of(w)->cpus[node], ready ? "True" : "False");
}

static void nodes_alike(struct world *w) {
    struct pods *p = pods_of(w);
    uint32_t need = (uint32_t)(w->all.n[0][CPU] + NODE_CPUS - 1) / NODE_CPUS;
    p->n_nodes = need + 1 + world_below(w, 2);
    p->n_nodes = p->n_nodes < RACK_NODES ? RACK_NODES : p->n_nodes;
    if (p->n_nodes > MAX_NODES)
        p->n_nodes = MAX_NODES;
    for (uint32_t i = 0; i < p->n_nodes; i++)
        p->cpus[i] = NODE_CPUS;
}

void places_begin(struct world *w) {
    struct pods *p = pods_of(w);
    if (!p->places)
        return;
    if (p->exact)
        exact_nodes(w);
    else
        nodes_alike(w);
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        (void)world_send(w, SL_POST, "/api/v1/nodes",
                         "{\"metadata\":{\"name\":\"n%u\",\"labels\":{\"pool\":\"tas\",\"rack\":"
                         "\"r%u\",\"" LEVEL_HOST "\":\"n%u\"}},\"spec\":{}}",
                         i, i / RACK_NODES, i);
        places_ready(w, i, true);
    }
    if (p->exact)
        return;
    (void)world_send(w, SL_POST, KUEUE "/topologies",
                     "{\"metadata\":{\"name\":\"default\"},\"spec\":{\"levels\":[{\"nodeLabel\":"
                     "\"rack\"},{\"nodeLabel\":\"" LEVEL_HOST "\"}]}}");
    (void)world_send(w, SL_PATCH, KUEUE "/resourceflavors/f",
                     "{\"spec\":{\"nodeLabels\":{\"pool\":\"tas\"},\"topologyName\":\"default\"}}");
}

static void revive(void *ctx, uint64_t node) {
    struct world *w = ctx;
    struct pods *p = pods_of(w);
    if (!p->dead_until[node] || fakeapi_now(w->api) < p->dead_until[node])
        return;
    p->dead_until[node] = 0;
    world_tell(w, "node n%u is there again", (unsigned)node);
    places_ready(w, (uint32_t)node, true);
}

void places_meddle(struct world *w) {
    struct pods *p = pods_of(w);
    uint32_t node = world_below(w, p->n_nodes);
    world_tell(w, "node n%u goes silent", node);
    p->dead_until[node] = world_soon(w, 60000);
    places_ready(w, node, false);
    fakeapi_at(w->api, p->dead_until[node], revive, w, node);
}

void places_calm(struct world *w) {
    struct pods *p = pods_of(w);
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        p->dead_until[i] = p->dead_until[i] ? fakeapi_now(w->api) : 0;
        revive(w, i);
    }
}

const char *places_host_of(yyjson_val *pod) {
    const char *s =
        yyjson_get_str(yyjson_obj_get(sl_json_at(pod, "spec.nodeSelector"), LEVEL_HOST));
    return s ? s : "";
}

const char *places_node_for(struct world *w, yyjson_val *pod) {
    const char *host = places_host_of(pod);
    if (!pods_of(w)->places)
        return "n";
    return *host ? host : BESIDE;
}

sl_time places_dead_until(struct world *w, const char *node) {
    uint32_t n;
    return fakeapi_number(node, "n", &n, NULL) && n < MAX_NODES ? pods_of(w)->dead_until[n] : 0;
}

/* ---- requests of users ---- */

void places_draw(struct world *w, struct unit *u) {
    const struct pods *p = pods_of(w);
    if (p->exact && u->n_roles == 1 && world_odds(w, 3) &&
        (int)(u->need[0] * pod_cpus(0)) <= p->cpus[0] + p->cpus[1])
        u->place = PLACE_WITHIN;
    if (!p->places || p->exact)
        return;
    /* Where a queue has other flavors as well, only workloads that request a place get one. */
    u->place = 1 + world_below(w, PLACES_IN_TOPOLOGIES - 1);
    for (uint32_t r = 0; r < u->n_roles; r++)
        if (u->need[r] * pod_cpus(r) > RACK_NODES * NODE_CPUS && u->place == PLACE_RACK)
            u->place = PLACE_PREFERRED; /* what can never fit is no history */
}

void places_put(const struct unit *u, struct sl_buf *marks) {
    static const char *const words[PLACES] = {
        [PLACE_RACK] = Q "podset-required-topology\":\"rack\"",
        [PLACE_PREFERRED] = Q "podset-preferred-topology\":\"rack\"",
        [PLACE_ANYWHERE] = Q "podset-unconstrained-topology\":\"true\"",
        [PLACE_WITHIN] = "fluxqueue/within\":\"rack\"",
    };
    if (words[u->place])
        sl_buf_printf(marks, "%s\"%s", marks->len ? "," : "", words[u->place]);
}

/* ---- places that were given out ---- */

struct tally {
    struct world *w;
    const char *node;    /* only this one; NULL: all of them, */
    int cpus[MAX_NODES]; /* by its number */
    int64_t pods;        /* places on the node */
    bool staying;        /* not of those that are evicted */
};

/* The domain of a slice: its last level is the host. */
static uint32_t node_of(struct world *w, yyjson_val *slice, size_t domain) {
    yyjson_val *level = yyjson_arr_get_last(yyjson_obj_get(slice, "valuesPerLevel"));
    const char *root =
        yyjson_get_str(yyjson_arr_get(sl_json_at(level, "individual.roots"), domain));
    char name[64];
    uint32_t node = MAX_NODES;
    (void)snprintf(name, sizeof name, "%s%s%s", sl_json_str(level, "individual.prefix"),
                   root ? root : sl_json_str(level, "universal"),
                   sl_json_str(level, "individual.suffix"));
    if (!fakeapi_number(name, "n", &node, NULL) || node >= MAX_NODES)
        world_fail(w, "a place on %s, which is no node", name);
    return node;
}

int64_t places_read(struct world *w, yyjson_val *podset, int64_t pods[MAX_NODES]) {
    int64_t sum = 0;
    size_t i, n;
    yyjson_val *slice;
    memset(pods, 0, MAX_NODES * sizeof *pods);
    yyjson_arr_foreach (sl_json_at(podset, "topologyAssignment.slices"), i, n, slice) {
        yyjson_val *each = sl_json_at(slice, "podCounts.individual");
        size_t domains = (size_t)sl_json_int(slice, "domainCount", 0);
        for (size_t k = 0; k < domains; k++) {
            uint32_t node = node_of(w, slice, k);
            int64_t here = each ? yyjson_get_sint(yyjson_arr_get(each, k))
                                : sl_json_int(slice, "podCounts.universal", 0);
            sum += here;
            pods[node < MAX_NODES ? node : 0] += here;
        }
    }
    return sum;
}

static void count_podset(struct tally *t, yyjson_val *a) {
    int64_t count = sl_json_int(a, "count", 1), pods[MAX_NODES];
    const char *text = sl_json_str(sl_json_at(a, "resourceUsage"), "cpu");
    int cpus = count > 0 ? (int)(strtol(text, NULL, 10) / count) : 0;
    uint32_t node;
    (void)places_read(t->w, a, pods);
    for (uint32_t i = 0; i < MAX_NODES; i++)
        t->cpus[i] += (int)pods[i] * cpus;
    if (t->node && fakeapi_number(t->node, "n", &node, NULL) && node < MAX_NODES)
        t->pods += pods[node];
}

static void count_workload(void *ctx, yyjson_val *wl) {
    struct tally *t = ctx;
    size_t i, n;
    yyjson_val *a;
    char key[160];
    if (!world_holds(wl) || (t->staying && world_is(wl, "Evicted")))
        return;
    (void)snprintf(key, sizeof key, "default/%s", sl_json_str(wl, "metadata.name"));
    for (uint32_t h = 0; h < t->w->holdings.n; h++)
        if (t->w->holdings.v[h].late && strcmp(t->w->holdings.v[h].key, key) == 0)
            return;
    yyjson_arr_foreach (sl_json_at(wl, "status.admission.podSetAssignments"), i, n, a)
        count_podset(t, a);
}

void places_given(struct world *w, bool staying, int cpus[MAX_NODES]) {
    struct tally t = {.w = w, .staying = staying};
    (void)fakeapi_each(w->api, WORKLOADS, count_workload, &t);
    memcpy(cpus, t.cpus, sizeof t.cpus);
}

static void check_given(struct world *w) {
    struct pods *p = pods_of(w);
    struct tally t = {.w = w};
    places_given(w, false, t.cpus);
    for (uint32_t i = 0; i < MAX_NODES; i++) {
        if (t.cpus[i] > p->cpus[i])
            world_fail(w, "%d cpus of n%u are given out, it has %d", t.cpus[i], i, p->cpus[i]);
        p->full_nodes += t.cpus[i] && t.cpus[i] == p->cpus[i];
    }
}

/* ---- pods on nodes ---- */

static void check_nodes(struct world *w) {
    const struct pods *p = pods_of(w);
    int load[MAX_NODES] = {0};
    for (uint32_t unit = 0; unit < p->n_units; unit++)
        for (uint32_t n = 0; n < MAX_NAMES; n++) {
            yyjson_val *pod = pod_get(w, unit, n);
            uint32_t node;
            if (pod && pod_runs(w, pod) && !p->excused[unit][n] &&
                fakeapi_number(sl_json_str(pod, "spec.nodeName"), "n", &node, NULL) &&
                node < MAX_NODES)
                load[node] += (int)pod_cpus(pod_role(pod));
        }
    for (uint32_t i = 0; i < MAX_NODES; i++)
        if (load[i] > p->cpus[i])
            world_fail(w, "pods run on %d cpus of n%u, it has %d", load[i], i, p->cpus[i]);
}

/* It was assigned to a node: is there a place for it, and not for too many? */
static void check_way(struct world *w, const struct fakeapi_change *c, uint32_t unit) {
    const char *host = places_host_of(c->now), *podset = sl_json_label(c->now, Q "podset");
    yyjson_val *wl = pod_workload(w, c->now), *a;
    struct tally t = {.w = w, .node = host};
    size_t i, n;
    int64_t there = 0;
    if (!pod_unplaced(c->before) || pod_unplaced(c->now) || !pod_live(c->now) || !world_holds(wl) ||
        world_is_late(w, c))
        return;
    bool placed = false;
    yyjson_arr_foreach (sl_json_at(wl, "status.admission.podSetAssignments"), i, n, a)
        if (strcmp(sl_json_str(a, "name"), podset) == 0 && sl_json_at(a, "topologyAssignment")) {
            placed = true;
            count_podset(&t, a);
        }
    for (uint32_t k = 0; k < MAX_NAMES; k++) {
        yyjson_val *x = pod_get(w, unit, k);
        there += pod_live(x) && !pod_unplaced(x) && !pod_gated(x) &&
                 strcmp(places_host_of(x), host) == 0 &&
                 strcmp(sl_json_label(x, Q "podset"), podset) == 0;
    }
    if (placed && (!*host || !t.pods))
        world_fail(w, "%s goes to %s, where its workload has no place", c->key,
                   *host ? host : "any node");
    else if (placed && there > t.pods)
        world_fail(w, "%s: %lld pods go to %s, there are %lld places", c->key, (long long)there,
                   host, (long long)t.pods);
    pods_of(w)->placed += placed;
}

/* ---- the controller of ProvisioningRequests ---- */

void prov_begin(struct world *w) {
    struct pods *p = pods_of(w);
    if (!p->places || p->exact)
        return;
    p->prov = 1 + world_below(w, 3); /* 3: not required */
    if (p->prov == 3)
        p->prov = 0;
    if (!p->prov)
        return;
    (void)world_send(w, SL_POST, KUEUE "/provisioningrequestconfigs",
                     "{\"metadata\":{\"name\":\"conf\"},\"spec\":{\"provisioningClassName\":\"%s\","
                     "\"retryStrategy\":{\"backoffLimitCount\":3,\"backoffBaseSeconds\":2,"
                     "\"backoffMaxSeconds\":8}}}",
                     p->prov == 1 ? OTHER_CLASS : CHECK_CAPACITY);
    (void)world_send(w, SL_POST, KUEUE "/admissionchecks",
                     "{\"metadata\":{\"name\":\"prov\"},\"spec\":{\"controllerName\":\"" Q
                     "provisioning-request\",\"parameters\":{\"apiGroup\":\"kueue.x-k8s.io\","
                     "\"kind\":\"ProvisioningRequestConfig\",\"name\":\"conf\"}}}");
    for (uint32_t i = 0; i < MAX_QUEUES; i++)
        if (!*w->more[i] && world_odds(w, 2))
            w->more[i] = ",\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"prov\"}]}";
}

static void answer(struct world *w, yyjson_val *o, const char *type) {
    char path[256];
    struct sl_buf b;
    size_t i, n;
    yyjson_val *v;
    (void)snprintf(path, sizeof path, REQUESTS "/%s/status", sl_json_str(o, "metadata.name"));
    sl_buf_init(&b, 8192);
    sl_buf_puts(&b, "{\"status\":{\"conditions\":[");
    yyjson_arr_foreach (sl_json_at(o, "status.conditions"), i, n, v) {
        if (strcmp(sl_json_str(v, "type"), type) == 0)
            continue;
        sl_json_put(&b, v);
        sl_buf_putc(&b, ',');
    }
    sl_buf_printf(&b,
                  "{\"type\":\"%s\",\"status\":\"True\",\"reason\":\"R\",\"message\":\"\","
                  "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}",
                  type);
    world_tell(w, "request %s: %s", sl_json_str(o, "metadata.name"), type);
    (void)fakeapi_do(w->api, SL_PATCH, path, SL_MERGE_PATCH, sl_buf_str(&b), NULL);
    sl_buf_done(&b);
}

struct pick {
    uint64_t uid;
    char path[256];
};

static uint64_t uid_of(yyjson_val *o) {
    const char *uid = sl_json_str(o, "metadata.uid");
    size_t len = strlen(uid);
    return strtoull(len > 8 ? uid + len - 8 : uid, NULL, 16);
}

static void pick_request(void *ctx, yyjson_val *o) {
    struct pick *p = ctx;
    if (uid_of(o) == p->uid)
        (void)snprintf(p->path, sizeof p->path, REQUESTS "/%s", sl_json_str(o, "metadata.name"));
}

static void autoscaler_turn(void *ctx, uint64_t uid) {
    struct world *w = ctx;
    const struct pods *p = pods_of(w);
    struct pick at = {.uid = uid};
    if (fakeapi_now(w->api) < p->frozen) {
        fakeapi_at(w->api, p->frozen, autoscaler_turn, w, uid);
        return;
    }
    (void)fakeapi_each(w->api, REQUESTS, pick_request, &at);
    yyjson_val *o = *at.path ? fakeapi_get(w->api, at.path) : NULL;
    if (!o || world_is(o, "Failed") || world_is(o, "CapacityRevoked"))
        return;
    if (!world_is(o, "Accepted"))
        answer(w, o, "Accepted");
    else if (!world_is(o, "Provisioned"))
        answer(w, o, !p->calm && world_odds(w, 5) ? "Failed" : "Provisioned");
    else if (!p->calm && world_odds(w, 3))
        answer(w, o, world_odds(w, 2) ? "BookingExpired" : "CapacityRevoked");
}

/* ---- what was promised ---- */

struct owned {
    const char *uid;
    uint32_t provisioned;
};

static void find_provisioned(void *ctx, yyjson_val *o) {
    struct owned *f = ctx;
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach (sl_json_at(o, "metadata.ownerReferences"), i, n, ref)
        f->provisioned +=
            strcmp(sl_json_str(ref, "uid"), f->uid) == 0 && world_is(o, "Provisioned");
}

/* An admitted workload has been provisioned, unless all its pods have ended already. */
static void check_provided(struct world *w, const struct fakeapi_change *c) {
    size_t i, n;
    yyjson_val *v;
    int64_t pods = 0;
    if (!c->now || !world_is(c->now, "Admitted") || world_is(c->before, "Admitted") ||
        world_is_late(w, c))
        return;
    yyjson_arr_foreach (sl_json_at(c->now, "status.admission.podSetAssignments"), i, n, v)
        pods += sl_json_int(v, "count", 1);
    if (!pods)
        return;
    yyjson_arr_foreach (sl_json_at(c->now, "status.admissionChecks"), i, n, v) {
        struct owned f = {.uid = sl_json_str(c->now, "metadata.uid")};
        if (strcmp(sl_json_str(v, "name"), "prov") != 0)
            continue;
        (void)fakeapi_each(w->api, REQUESTS, find_provisioned, &f);
        if (!f.provisioned || strcmp(sl_json_str(v, "state"), "Ready") != 0)
            world_fail(w, "%s is admitted, its check says %s, %u requests are provisioned", c->key,
                       sl_json_str(v, "state"), f.provisioned);
        pods_of(w)->provided += f.provisioned > 0;
    }
}

static void request_changed(struct world *w, const struct fakeapi_change *c) {
    world_tell(w, "request %s: accepted %s provisioned %s failed %s", c->key,
               c->now ? world_condition(c->now, "Accepted") : "gone",
               c->now ? world_condition(c->now, "Provisioned") : "",
               c->now ? world_condition(c->now, "Failed") : "");
    if (c->now && strcmp(sl_json_str(c->now, "spec.provisioningClassName"), OTHER_CLASS) == 0)
        fakeapi_at(w->api, world_soon(w, world_odds(w, 4) ? 15000 : 1500), autoscaler_turn, w,
                   uid_of(c->now));
}

void places_noticed(struct world *w, const struct fakeapi_change *c) {
    uint32_t unit, n;
    if (!pods_of(w) || !pods_of(w)->places) /* or the history has not begun */
        return;
    if (strcmp(c->kind->plural, "provisioningrequests") == 0)
        request_changed(w, c);
    if (strcmp(c->kind->plural, "workloads") == 0) {
        check_given(w);
        check_provided(w, c);
    }
    if (strcmp(c->kind->plural, "pods") == 0) {
        check_nodes(w);
        if (c->before && c->now && pod_numbers(strchr(c->key, '/') + 1, &unit, &n))
            check_way(w, c, unit);
    }
}
