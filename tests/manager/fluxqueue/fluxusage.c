/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold whenever the leader has been told everything and has nothing to do, which is after
 * most events, also in a storm:
 *
 *   - What the graph has in use on each node is what the API's objects say: the requests of all
 *     pods there, and a pod of the template for each place that no pod has.
 *
 * And while there are no faults:
 *
 *   - A pod that has a place, and a Job that has its places, do not wait for longer than BOUND.
 */
#include "fluxworld.h"

#include "manager/fluxqueue/fq_int.h"
#include "manager/fluxqueue/view.h"

#define BOUND (30 * SL_SEC)
#define CALM                                                                                       \
    (2 * SL_MINUTE) /* after a storm: back-offs, and watches that have to be found dead            \
                     */
#define MAX_PATHS 512u

struct sums {
    struct world *w;
    struct amounts used[MAX_NODES];
    bool whole[MAX_NODES]; /* a job has all of it */
    struct {
        char path[120], flux[96];
        uint32_t node; /* MAX_NODES: none */
        bool over, waits;
    } pods[MAX_PATHS];
    char fluxes[MAX_PATHS][120];
    uint32_t n_pods, n_fluxes;
    bool unclear; /* a FluxJob is there whose object is going */
};

static void list_pod(void *ctx, yyjson_val *o) {
    struct sums *s = ctx;
    if (s->n_pods < MAX_PATHS)
        (void)snprintf(s->pods[s->n_pods++].path, sizeof s->pods[0].path, PODS "/%s",
                       sl_json_str(o, "metadata.name"));
}

static void list_flux(void *ctx, yyjson_val *o) {
    struct sums *s = ctx;
    if (s->n_fluxes < MAX_PATHS)
        (void)snprintf(s->fluxes[s->n_fluxes++], sizeof s->fluxes[0], FLUXJOBS "/%s",
                       sl_json_str(o, "metadata.name"));
}

static void add(struct amounts *to, const struct amounts *a, int64_t times) {
    for (uint32_t r = 0; r < RESOURCES; r++)
        to->n[r] += a->n[r] * times;
}

/* ---- the API's objects ---- */

struct own {
    const char *flux;
    uint32_t bound[MAX_NODES], waiting;
};

static void count_own(const struct sums *s, struct own *x) {
    for (uint32_t i = 0; i < s->n_pods; i++) {
        if (s->pods[i].over || strcmp(s->pods[i].flux, x->flux) != 0)
            continue;
        if (s->pods[i].node < MAX_NODES)
            x->bound[s->pods[i].node]++;
        else
            x->waiting += s->pods[i].waits;
    }
}

static void read_pod(struct sums *s, uint32_t i) {
    yyjson_val *pod = fakeapi_get(s->w->api, s->pods[i].path);
    s->pods[i].over = !pod || view_terminal(pod);
    if (s->pods[i].over)
        return;
    uint32_t n = view_node(sl_json_str(pod, "spec.nodeName"));
    struct amounts a = view_requests(sl_json_at(pod, "spec"));
    s->pods[i].node = n;
    s->pods[i].waits = !sl_json_at(pod, "metadata.deletionTimestamp") && !view_other_gates(pod);
    if (n < MAX_NODES)
        add(&s->used[n], &a, 1);
    view_flux_of(s->w, pod, s->pods[i].flux);
}

static void add_flux(struct sums *s, const char *path) {
    struct world *w = s->w;
    yyjson_val *f = fakeapi_get(w->api, path);
    if (!f || strcmp(sl_json_str(f, "status.state"), "Running") != 0)
        return;
    struct flux *seen = view_flux(w, sl_json_str(f, "metadata.name"));
    struct own own = {.flux = seen ? seen->name : ""};
    yyjson_val *o = view_object(w, f);
    if (!o || !seen) {
        s->unclear = true;
        return;
    }
    count_own(s, &own);
    uint32_t running = 0;
    for (uint32_t n = 0; n < MAX_NODES; n++)
        running += own.bound[n];
    if (sl_json_at(f, "metadata.deletionTimestamp") && !running)
        return; /* it has given back everything */
    bool whole = *sl_json_annotation(o, "fluxqueue/whole-nodes") != '\0';
    struct amounts need = view_requests(view_pod_spec(o));
    for (uint32_t n = 0; n < MAX_NODES; n++) {
        if (seen->listed[n] > own.bound[n])
            add(&s->used[n], &need, seen->listed[n] - own.bound[n]);
        s->whole[n] |= whole && seen->listed[n];
    }
}

static struct sums *sums_of(struct world *w) {
    struct sums *s = sl_alloc0(1, sizeof *s);
    s->w = w;
    (void)fakeapi_each(w->api, PODS, list_pod, s);
    (void)fakeapi_each(w->api, FLUXJOBS, list_flux, s);
    for (uint32_t i = 0; i < s->n_pods; i++)
        read_pod(s, i);
    for (uint32_t i = 0; i < s->n_fluxes; i++)
        add_flux(s, s->fluxes[i]);
    return s;
}

/* ---- against the graph ---- */

static void compare_node(struct world *w, const struct sums *s, const struct sl_fluxqueue_view *v,
                         const struct sl_fluxqueue_node_view *node) {
    static const char *const names[RESOURCES] = {"cpu", "memory", "example.com/gpu", "pods"};
    uint32_t n = view_node(node->name);
    if (n == MAX_NODES || s->whole[n] || node->vertex == SL_VTX_NONE)
        return;
    for (uint32_t i = node->uses; i < node->uses + node->n_uses; i++)
        for (uint32_t r = 0; r < RESOURCES; r++) {
            const struct sl_fluxqueue_use *u = &v->uses.v[i];
            if (strcmp(u->resource, names[r]) != 0 || u->total == 0)
                continue; /* what a node has not is not on the graph */
            w->usages++;
            if (u->jobs + u->others != s->used[n].n[r])
                world_fail(w,
                           "%s of %s: %lld of jobs and %lld of others on the graph, %lld in the "
                           "API",
                           u->resource, node->name, (long long)u->jobs, (long long)u->others,
                           (long long)s->used[n].n[r]);
        }
}

void usage_check(struct world *w, const struct sl_fluxqueue *q) {
    struct sl_fluxqueue_view v = {0};
    if (w->failed || w->compared == fakeapi_version(w->api) || !sl_fluxqueue_idle(q) ||
        !sl_fluxqueue_match(q))
        return;
    w->compared = fakeapi_version(w->api);
    struct sums *s = sums_of(w);
    sl_fluxqueue_view_init(q, &v);
    for (uint32_t i = 0; i < v.nodes.n && !s->unclear; i++)
        compare_node(w, s, &v, &v.nodes.v[i]);
    sl_fluxqueue_view_done(&v);
    sl_freep(&s);
}

/* ---- whole, or gone ---- */

static bool is_held_up(struct world *w, const struct sums *s, const struct flux *f) {
    char path[200];
    (void)snprintf(path, sizeof path, FLUXJOBS "/%s", f->name);
    yyjson_val *o = fakeapi_get(w->api, path);
    struct own own = {.flux = f->name};
    if (!o || strcmp(sl_json_str(o, "status.state"), "Running") != 0 ||
        strcmp(sl_json_str(o, "status.reason"), "Growing") == 0 ||
        sl_json_at(o, "metadata.deletionTimestamp"))
        return false;
    o = view_object(w, o);
    if (!o || sl_json_at(o, "metadata.deletionTimestamp"))
        return false;
    if (sl_json_bool(o, "spec.suspend", false) && view_wanted(o) > 0)
        return true;
    count_own(s, &own);
    return own.waiting > 0;
}

void bound_check(struct world *w) {
    sl_time now = fakeapi_now(w->api);
    if (w->failed || now < w->disturbed + CALM || now < w->bound_at + SL_SEC)
        return;
    w->bound_at = now;
    struct sums *s = sums_of(w);
    for (uint32_t i = 0; i < w->fluxes.n; i++) {
        struct flux *f = &w->fluxes.v[i];
        if (f->gone)
            continue;
        if (!is_held_up(w, s, f))
            f->waits_since = 0;
        else if (!f->waits_since)
            f->waits_since = now;
        else if (now > f->waits_since + BOUND)
            world_fail(w, "%s has its places, and pods of it wait for %lld s", f->name,
                       (long long)((now - f->waits_since) / SL_SEC));
    }
    sl_freep(&s);
}
