/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods and pod groups under seeded faults (world.h), while users create, replace, delete and move
 * them, queues are stopped, check controllers change their minds and nodes go silent (pods.h).
 *
 * After every event: no quota is exceeded in what the API says; a pod loses its gate only while its
 * Workload is admitted; no more pods of a role go free than were admitted, and none is left free
 * when a reservation is given back; no group is half for long; who is stopped is told why before it
 * is deleted; pods that were never gated are not touched.
 *
 * In the middle, when nobody but the manager acts: what was admitted is free, whole groups have a
 * Workload, no pod that is over hangs on a finalizer, usage is the sum of what is held, and a
 * manager that starts from nothing but the API has the same state. Then, when people make good what
 * was lost and nothing fails any more, all pods come to their end. At last all are deleted, and
 * nothing is left of them.
 *
 * With --places there are nodes in a topology (pod_places.c), with --exact those of the resource
 * graph (pod_exact.c), with --timed also times (pod_promises.c).
 */
#include "pods.h"

#define CONFIG                                                                                     \
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"                             \
    "integrations: {frameworks: [\"batch/job\", \"pod\"]}\n"                                       \
    "waitForPodsReady: {timeout: 10h}\n"
#define ENOUGH 100u /* histories to meet with everything */
#define STORM (100 * SL_SEC)
#define REST (60 * SL_SEC)
#define MOST_DUE (5 * SL_SEC) /* that what is due at a moment takes to be in the API */
/* Who backs off does so until a time by the clock of the leader that said so, which may have been
 * set forward by an hour, and again. */
#define PATIENCE (4 * 3600 * SL_SEC)
/* That it takes at most to compare the state at rest, and the second that a stamp cuts off: by so
 * much earlier is a Workload at its end for a manager that starts now. */
#define LOOK (1100 * SL_MSEC)
#define LINGER (3 * SL_SEC)      /* that one which was stopped before it had a node is kept */
#define MOST_HALF (330 * SL_SEC) /* a silent stream is given up after five minutes */
#define MOST_HALF_IDLE (5 * SL_SEC)

/* In all histories: they are about something. */
enum { FREED, STOPPED, FAILED, FINISHED, EVICTED, UNTOUCHED, KINDS };
static struct {
    uint64_t histories, n[KINDS];
    sl_time half;      /* the longest that a group was half */
    sl_span half_idle; /* while the leader knew all and did nothing */
    uint64_t placed, provided, full_nodes;
    uint64_t whole, chosen, unknown, beside, started, refused, limited, kept, put_off;
} seen;
static bool places; /* nodes, a topology, requests for machines (pod_places.c) */
static bool exact;  /* nodes of the graph (pod_exact.c) */
static bool timed;  /* most say how long they run (pod_promises.c) */
static const char *const kinds[KINDS] = {
    "pods set free",      "stopped",           "failed",
    "workloads finished", "workloads evicted", "pods that were left alone"};

/* ---- whose pod it is ---- */

struct find {
    const char *uid;
    char path[192];
};

static void find_owned(void *ctx, yyjson_val *wl) {
    struct find *f = ctx;
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach (sl_json_at(wl, "metadata.ownerReferences"), i, n, ref)
        if (strcmp(sl_json_str(ref, "uid"), f->uid) == 0)
            (void)snprintf(f->path, sizeof f->path, WORKLOADS "/%s",
                           sl_json_str(wl, "metadata.name"));
}

yyjson_val *pod_workload(struct world *w, yyjson_val *pod) {
    const char *group = sl_json_label(pod, Q "pod-group-name");
    struct find f = {.uid = sl_json_str(pod, "metadata.uid")};
    if (*group)
        (void)snprintf(f.path, sizeof f.path, WORKLOADS "/%s", group);
    else
        (void)fakeapi_each(w->api, WORKLOADS, find_owned, &f);
    return *f.path ? fakeapi_get(w->api, f.path) : NULL;
}

static bool managed(yyjson_val *pod) {
    return *sl_json_label(pod, Q "managed");
}

/* ---- after every event ---- */

/* Pods of the same Workload that go free, by role; and how many may. */
static void check_free(struct world *w, uint32_t unit) {
    const struct pods *p = pods_of(w);
    for (uint32_t n = 0; n < MAX_NAMES; n++) {
        yyjson_val *pod = pod_get(w, unit, n);
        uint32_t free = 0;
        int64_t may = 0;
        size_t i, k;
        yyjson_val *set;
        if (!pod_live(pod) || !managed(pod) || pod_gated(pod) || p->excused[unit][n])
            continue;
        const char *role = sl_json_annotation(pod, Q "role-hash");
        yyjson_val *wl = pod_workload(w, pod);
        for (uint32_t other = 0; other < MAX_NAMES; other++) {
            yyjson_val *x = pod_get(w, unit, other);
            free += pod_live(x) && !pod_gated(x) && !p->excused[unit][other] &&
                    strcmp(sl_json_annotation(x, Q "role-hash"), role) == 0;
        }
        yyjson_arr_foreach (sl_json_at(wl, "status.admission.podSetAssignments"), i, k, set)
            if (strcmp(sl_json_str(set, "name"), role) == 0 ||
                strcmp(sl_json_str(set, "name"), "main") == 0)
                may += sl_json_int(set, "count", 0);
        if (!world_holds(wl))
            world_fail(w, "u%u-p%u runs, its workload %s", unit, n,
                       !wl                        ? "is not there"
                       : world_is(wl, "Finished") ? "is finished"
                                                  : "has no reservation");
        else if (free > (uint64_t)may)
            world_fail(w, "u%u-p%u: %u pods of the role run, %lld were admitted", unit, n, free,
                       (long long)may);
    }
}

bool pod_runs(const struct world *w, yyjson_val *pod) {
    if (!pod || !managed(pod) || pod_gated(pod) || pod_terminal(pod))
        return false;
    return !pod_deleting(pod) ||
           (*sl_json_str(pod, "spec.nodeName") &&
            FAKEAPI_EPOCH + fakeapi_now(w->api) < sl_json_time(pod, "metadata.deletionTimestamp"));
}

/* No workload runs on resources that another still uses. */
static void check_load(struct world *w) {
    const struct pods *p = pods_of(w);
    int64_t load = 0, late = 0;
    for (uint32_t i = 0; i < w->holdings.n; i++)
        late += w->holdings.v[i].late ? w->holdings.v[i].cpu : 0;
    for (uint32_t unit = 0; unit < p->n_units; unit++)
        for (uint32_t n = 0; n < MAX_NAMES; n++) {
            yyjson_val *pod = pod_get(w, unit, n);
            load += pod_runs(w, pod) && !p->excused[unit][n] ? pod_cpus(pod_role(pod)) : 0;
        }
    if (load > w->most + late)
        world_fail(w, "pods run on %lld cpu, the cohort has %lld", (long long)load,
                   (long long)w->most);
}

/* Do some of the group run while others, which were admitted with them, are still held back? */
static bool is_half(struct world *w, uint32_t unit) {
    uint32_t held = 0, free = 0;
    for (uint32_t n = 0; n < MAX_NAMES; n++) {
        yyjson_val *pod = pod_get(w, unit, n);
        if (!pod_live(pod) || !managed(pod))
            continue;
        bool waits = pod_gated(pod) || pod_unplaced(pod);
        yyjson_val *wl = waits ? pod_workload(w, pod) : NULL;
        free += !waits;
        held += wl && world_holds(wl) && world_is(wl, "Admitted") && !world_is(wl, "Evicted");
    }
    return held && free;
}

/* Not for longer than it takes to notice a stream that went silent, and to act. */
static void check_half(struct world *w, uint32_t unit) {
    struct pods *p = pods_of(w);
    sl_time now = fakeapi_now(w->api);
    if (!is_half(w, unit)) {
        p->half_since[unit] = p->half_idle[unit] = 0;
        return;
    }
    if (!p->half_since[unit])
        p->half_since[unit] = now;
    seen.half = now - p->half_since[unit] > seen.half ? now - p->half_since[unit] : seen.half;
    if (now - p->half_since[unit] > MOST_HALF)
        world_fail(w, "u%u: half of it runs for %lld s", unit,
                   (long long)((now - p->half_since[unit]) / SL_SEC));
}

/* Is one of them on its way out? Another waits for it. */
static bool makes_room(struct world *w, uint32_t unit) {
    for (uint32_t n = 0; n < MAX_NAMES; n++) {
        yyjson_val *pod = pod_get(w, unit, n);
        if (pod && managed(pod) && pod_deleting(pod) && !pod_terminal(pod))
            return true;
    }
    return false;
}

/* And while the leader has observed everything and does nothing, hardly at all. */
static void settled(struct world *w) {
    struct pods *p = pods_of(w);
    sl_time now = fakeapi_now(w->api);
    sl_span idle = p->settled_turn + 1 == w->turns ? now - p->settled_at : 0;
    p->settled_turn = w->turns;
    p->settled_at = now;
    for (uint32_t unit = 0; idle && unit < p->n_units; unit++) {
        if (!is_half(w, unit) || makes_room(w, unit)) {
            p->half_idle[unit] = 0;
            continue;
        }
        p->half_idle[unit] += idle;
        seen.half_idle = p->half_idle[unit] > seen.half_idle ? p->half_idle[unit] : seen.half_idle;
        if (p->half_idle[unit] > MOST_HALF_IDLE)
            world_fail(w, "u%u: half of it runs, and the leader did nothing for %lld s", unit,
                       (long long)(p->half_idle[unit] / SL_SEC));
    }
}

static bool has_stop_reason(yyjson_val *pod) {
    return world_is(pod, "TerminationTarget");
}

static void check_pod_change(struct world *w, const struct fakeapi_change *c, uint32_t unit,
                             uint32_t n) {
    struct pods *p = pods_of(w);
    bool ours = c->client != FAKEAPI_NOBODY;
    p->made[unit][n] = c->now != NULL;
    if (!c->before || !c->now) {
        p->excused[unit][n] = false;
        if (c->now && managed(c->now) && !pod_gated(c->now))
            world_fail(w, "u%u-p%u is made without a gate", unit, n);
        return;
    }
    if (ours && !managed(c->before))
        world_fail(w, "u%u-p%u is not ours, and is written to", unit, n);
    if (pod_gated(c->before) && !pod_gated(c->now) && pod_live(c->now)) {
        yyjson_val *wl = pod_workload(w, c->now);
        if (world_holds(wl) && world_is(wl, "Admitted"))
            return;
        if (world_is_late(w, c)) {
            p->excused[unit][n] = true;
            w->excused++;
        } else {
            world_fail(w, "u%u-p%u loses its gate and is not admitted", unit, n);
        }
    }
    if (ours && pod_live(c->before) && pod_deleting(c->now) && !pod_gated(c->before) &&
        !has_stop_reason(c->now))
        world_fail(w, "u%u-p%u is stopped and not told why", unit, n);
}

static void count(const struct fakeapi_change *c, bool pod) {
    if (!c->before || !c->now)
        return;
    if (pod) {
        seen.n[FREED] += pod_gated(c->before) && !pod_gated(c->now);
        seen.n[STOPPED] +=
            has_stop_reason(c->now) && pod_deleting(c->now) && !pod_deleting(c->before);
        seen.n[FAILED] +=
            strcmp(sl_json_str(c->now, "status.phase"), "Failed") == 0 && !pod_deleting(c->now);
        seen.n[UNTOUCHED] += !managed(c->now);
    } else {
        seen.n[FINISHED] += world_is(c->now, "Finished") && !world_is(c->before, "Finished");
        seen.n[EVICTED] += world_is(c->now, "Evicted") && !world_is(c->before, "Evicted");
    }
}

static void changed(struct world *w, const struct fakeapi_change *c) {
    bool pod = strcmp(c->kind->plural, "pods") == 0;
    unsigned unit, n;
    exact_noticed(w, c);
    promises_noticed(w, c);
    if (pod) {
        world_tell(w, "pod %s: %s%s%s%s%s%s by %d", c->key,
                   c->now ? sl_json_str(c->now, "status.phase") : "gone",
                   c->now && pod_gated(c->now) ? " gated" : "",
                   c->now && *sl_json_str(c->now, "spec.nodeName") ? " bound" : "",
                   c->now && pod_deleting(c->now) ? " deleting" : "",
                   c->now && pod_held(c->now) ? " held" : "",
                   c->now && has_stop_reason(c->now) ? " told" : "",
                   c->client == FAKEAPI_NOBODY ? -1 : (int)c->client);
        if (!pod_numbers(strchr(c->key, '/') + 1, &unit, &n))
            return;
        count(c, true);
        check_pod_change(w, c, unit, n);
        check_free(w, unit);
        check_load(w);
        places_noticed(w, c);
        kubelet_noticed(w, c);
        user_noticed(w, c);
    } else if (strcmp(c->kind->plural, "workloads") == 0) {
        count(c, false);
        for (unit = 0; unit < pods_of(w)->n_units; unit++)
            check_free(w, unit);
        places_noticed(w, c);
        check_noticed(w, c);
        user_noticed(w, c);
    } else if (strcmp(c->kind->plural, "leases") == 0) { /* about once in a second */
        for (unit = 0; unit < pods_of(w)->n_units; unit++)
            check_half(w, unit);
    } else {
        places_noticed(w, c);
    }
}

/* ---- at rest ---- */

/* Could a Workload be made of the group? All agree, and there are enough of them. */
static bool whole(struct world *w, uint32_t unit) {
    const struct unit *u = &pods_of(w)->units[unit];
    const char *queue = NULL;
    uint32_t active = 0;
    if (!(u->flags & UNIT_GROUP))
        return true;
    for (uint32_t n = 0; n < MAX_NAMES; n++) {
        yyjson_val *pod = pod_get(w, unit, n);
        if (!pod || strcmp(sl_json_str(pod, "status.phase"), "Failed") == 0)
            continue;
        if (queue && strcmp(queue, sl_json_label(pod, Q "queue-name")) != 0)
            return false;
        queue = sl_json_label(pod, Q "queue-name");
        active += !pod_deleting(pod) && (!pod_terminal(pod) || pod_held(pod));
    }
    return !(u->flags & UNIT_WRONG) && (active >= u->total || (u->flags & UNIT_FAST && active));
}

/* One that was told to stop before it had a node: it is to be seen for a while (group_plan.c). */
static bool lingers(const struct world *w, yyjson_val *pod) {
    return has_stop_reason(pod) && !pod_gated(pod) && !*sl_json_str(pod, "spec.nodeName") &&
           FAKEAPI_EPOCH + fakeapi_now(w->api) <
               sl_json_time(pod, "metadata.deletionTimestamp") + SL_SEC + LINGER;
}

static void rest_of_pod(struct world *w, uint32_t unit, uint32_t n) {
    yyjson_val *pod = pod_get(w, unit, n);
    if (!pod || !managed(pod))
        return;
    yyjson_val *wl = pod_workload(w, pod);
    bool bound = *sl_json_str(pod, "spec.nodeName"),
         over = !bound || pod_terminal(pod) ||
                sl_json_int(pod, "metadata.deletionGracePeriodSeconds", 0) == 0;
    if (pod_deleting(pod) && pod_held(pod) && over && !lingers(w, pod))
        world_fail(w, "u%u-p%u is to go and hangs on its finalizer", unit, n);
    if (pod_terminal(pod) && pod_held(pod) && world_is(wl, "Finished"))
        world_fail(w, "u%u-p%u is over, as its workload is, and keeps its finalizer", unit, n);
    if (!pod_live(pod) || !pod_gated(pod))
        return;
    if (!wl && whole(w, unit))
        world_fail(w, "u%u-p%u is gated and has no workload", unit, n);
    if (world_is(wl, "Finished"))
        world_fail(w, "u%u-p%u is gated and its workload finished", unit, n);
    if (world_holds(wl) && world_is(wl, "Admitted") && !world_is(wl, "Evicted"))
        world_fail(w, "u%u-p%u is gated and was admitted", unit, n);
}

static void rest_of_workload(void *ctx, yyjson_val *wl) {
    struct world *w = ctx;
    size_t i, n, alive = 0;
    uint32_t unit, k;
    yyjson_val *ref;
    yyjson_arr_foreach (sl_json_at(wl, "metadata.ownerReferences"), i, n, ref) {
        const char *name = sl_json_str(ref, "name");
        yyjson_val *pod = pod_numbers(name, &unit, &k) ? pod_get(w, unit, k) : NULL;
        alive += pod && strcmp(sl_json_str(pod, "metadata.uid"), sl_json_str(ref, "uid")) == 0;
    }
    if (!alive)
        world_fail(w, "workload %s has no pods", sl_json_str(wl, "metadata.name"));
    if (pod_deleting(wl))
        world_fail(w, "workload %s is to go and does not", sl_json_str(wl, "metadata.name"));
}

/* The moment of the check may be that of a timer: a reservation that is looked at again, or a
 * back-off that is over. What is due then is done and written soon after, and nothing follows,
 * since nobody else acts. Nor is anything to become due while the state is compared with that of
 * another manager: that one would act as well. */
static void finish_what_is_due(struct world *w) {
    sl_time until = fakeapi_now(w->api) + MOST_DUE;
    /* While a job overruns something is due each second. */
    while (!w->failed && fakeapi_now(w->api) < until + MOST_DUE &&
           (!world_idle(w) || (fakeapi_now(w->api) < until && world_due_within(w, LOOK))))
        world_run_until(w, fakeapi_now(w->api) + 100 * SL_MSEC);
}

static void check_settled(struct world *w) {
    finish_what_is_due(w);
    if (!world_idle(w))
        world_fail(w, "the manager finds no rest");
    for (uint32_t unit = 0; unit < pods_of(w)->n_units; unit++)
        for (uint32_t n = 0; n < MAX_NAMES; n++)
            rest_of_pod(w, unit, n);
    (void)fakeapi_each(w->api, WORKLOADS, rest_of_workload, w);
    world_compare_usage(w);
    if (!w->failed)
        world_compare(w);
}

/* ---- the end ---- */

static void print_object(struct world *w, yyjson_val *o) {
    char *text = o && w->verbose ? yyjson_val_write(o, 0, NULL) : NULL;
    world_tell(w, "%s", text ? text : "");
    free(text); /* yyjson's */
}

static void report_live(void *ctx, yyjson_val *pod) {
    struct world *w = ctx;
    yyjson_val *wl = pod_workload(w, pod);
    if (!pod_terminal(pod)) {
        print_object(w, pod);
        print_object(w, wl);
    }
    if (!pod_terminal(pod))
        world_fail(w, "%s never ended: %s%s%s, workload %s holds %d admitted %s active %d",
                   sl_json_str(pod, "metadata.name"), sl_json_str(pod, "status.phase"),
                   pod_gated(pod) ? " gated" : "", pod_deleting(pod) ? " deleting" : "",
                   wl ? sl_json_str(wl, "metadata.name") : "absent", world_holds(wl),
                   wl ? world_condition(wl, "Admitted") : "",
                   wl ? sl_json_bool(wl, "spec.active", true) : 0);
}

static void count_live(void *ctx, yyjson_val *pod) {
    *(uint32_t *)ctx += !pod_terminal(pod);
}

struct names {
    SL_VEC(char *) v;
};

static void add_inactive(void *ctx, yyjson_val *wl) {
    struct names *s = ctx;
    if (!sl_json_bool(wl, "spec.active", true))
        *sl_vec_push(&s->v) = sl_strdup(sl_json_str(wl, "metadata.name"));
}

/* What operators do so that all goes on. */
static void make_good(struct world *w) {
    struct pods *p = pods_of(w);
    struct names inactive = {0};
    char path[192];
    (void)fakeapi_each(w->api, WORKLOADS, add_inactive, &inactive);
    for (uint32_t i = 0; i < inactive.v.n; i++) {
        (void)snprintf(path, sizeof path, WORKLOADS "/%s", inactive.v.v[i]);
        (void)world_send(w, SL_PATCH, path, "{\"spec\":{\"active\":true}}");
        sl_freep(&inactive.v.v[i]);
    }
    sl_vec_free(&inactive.v);
    check_all(w);
    for (uint32_t i = 0; i < p->n_units; i++)
        user_turn(w, i);
}

static bool all_ended(struct world *w) {
    uint32_t live = 0;
    (void)fakeapi_each(w->api, PODS, count_live, &live);
    for (uint32_t i = 0; i < pods_of(w)->n_units; i++)
        live += pods_of(w)->units[i].due;
    return !live && world_idle(w);
}

static void report_left(void *ctx, yyjson_val *o) {
    world_fail(ctx, "%s %s is left over%s", sl_json_str(o, "kind"), sl_json_str(o, "metadata.name"),
               yyjson_arr_size(sl_json_at(o, "metadata.finalizers")) ? ", with a finalizer" : "");
}

static void open_queues(struct world *w) {
    for (uint32_t i = 0; i < w->n_queues; i++) {
        char path[96];
        world_queue(w, i, true, "None");
        (void)snprintf(path, sizeof path, KUEUE "/namespaces/default/localqueues/lq-%u", i);
        (void)world_send(w, SL_PATCH, path, "{\"spec\":{\"stopPolicy\":\"None\"}}");
    }
}

static void storm(struct world *w) {
    struct pods *p = pods_of(w);
    check_begin(w);
    prov_begin(w);
    world_queues(w);
    places_begin(w);
    exact_begin(w);
    world_start_all(w);
    world_run_until(w, 5 * SL_SEC);
    world_disturb(w, true);
    p->n_units = 2 + world_below(w, MAX_UNITS - 1);
    for (uint32_t i = 0; i < p->n_units; i++) {
        user_draw(w, &p->units[i]);
        places_draw(w, &p->units[i]);
        fakeapi_at(w->api, (sl_time)(5 + world_below(w, 50)) * SL_SEC, user_turn, w, i);
    }
    for (uint32_t i = 0, n = world_below(w, 14); i < n; i++)
        fakeapi_at(w->api, (sl_time)(8 + world_below(w, 85)) * SL_SEC, user_meddle, w, i);
    world_run_until(w, STORM);
}

static void calm(struct world *w) {
    struct pods *p = pods_of(w);
    world_disturb(w, false);
    world_start_all(w);
    world_wake(w);
    places_calm(w);
    exact_calm(w);
    p->frozen = STORM + 2 * REST; /* also while the state is being compared */
    world_run_until(w, STORM + REST);
    if (!w->failed)
        check_settled(w);
    p->calm = true;
    world_run_until(w, p->frozen);
    open_queues(w);
    do {
        make_good(w);
        world_run_until(w, fakeapi_now(w->api) + 10 * SL_SEC);
    } while (!w->failed && !all_ended(w) && fakeapi_now(w->api) < p->frozen + PATIENCE);
    (void)fakeapi_each(w->api, PODS, report_live, w);
    if (!w->failed)
        check_settled(w);
}

static void clean_up(struct world *w) {
    struct pods *p = pods_of(w);
    for (uint32_t i = 0; i < p->n_units; i++) {
        p->units[i].abandoned = true;
        user_turn(w, i);
    }
    exact_end(w);
    world_run_until(w, fakeapi_now(w->api) + REST);
    (void)fakeapi_each(w->api, PODS, report_left, w);
    (void)fakeapi_each(w->api, WORKLOADS, report_left, w);
    (void)fakeapi_each(w->api, "/apis/autoscaling.x-k8s.io/v1/provisioningrequests", report_left,
                       w);
    (void)fakeapi_each(w->api, "/api/v1/podtemplates", report_left, w);
    world_compare_usage(w);
}

static void run(struct world *w) {
    struct pods p = {.places = places || exact, .exact = exact, .timed = timed};
    w->own = &p;
    seen.histories++;
    storm(w);
    if (!w->failed)
        calm(w);
    if (!w->failed)
        clean_up(w);
    check_end(w);
    seen.placed += p.placed;
    seen.provided += p.provided;
    seen.full_nodes += p.full_nodes;
    seen.whole += p.whole;
    seen.chosen += p.chosen;
    seen.unknown += p.unknown;
    seen.beside += p.beside;
    seen.started += p.started;
    seen.refused += p.refused;
    seen.limited += w->limited;
    seen.kept += p.kept;
    seen.put_off += p.put_off;
}

static bool print_seen(void) {
    bool all = true;
    for (size_t i = 0; i < KINDS; i++) {
        (void)printf("%s%llu %s", i ? ", " : "", (unsigned long long)seen.n[i], kinds[i]);
        all &= seen.n[i] > 0;
    }
    (void)printf("; a group was half for %lld s at most, %lld s of it with an idle leader\n",
                 (long long)(seen.half / SL_SEC), (long long)(seen.half_idle / SL_SEC));
    if (places)
        (void)printf("%llu pods went to their places, %llu workloads to machines that were asked "
                     "for, nodes were full %llu times\n",
                     (unsigned long long)seen.placed, (unsigned long long)seen.provided,
                     (unsigned long long)seen.full_nodes);
    if (exact)
        (void)printf(
            "%llu workloads had nodes for all of their pods, each of %llu nodes let them "
            "in, %llu had just changed; %llu pods went to them, and %llu of the queue on "
            "the graph, both were there %llu times; nodes were full %llu times, queues had "
            "all that they may borrow %llu times; %llu bindings were refused\n",
            (unsigned long long)seen.whole, (unsigned long long)seen.chosen,
            (unsigned long long)seen.unknown, (unsigned long long)seen.placed,
            (unsigned long long)seen.started, (unsigned long long)seen.beside,
            (unsigned long long)seen.full_nodes, (unsigned long long)seen.limited,
            (unsigned long long)seen.refused);
    if (timed)
        (void)printf("%llu promised starts were kept, %llu were delayed and that was told\n",
                     (unsigned long long)seen.kept, (unsigned long long)seen.put_off);
    all &= !timed || (seen.kept && seen.put_off);
    all &= !exact || (seen.whole && seen.chosen && seen.placed && seen.started && seen.beside &&
                      seen.full_nodes && seen.limited);
    all &= !places || (seen.placed && seen.provided && seen.full_nodes);
    return all || seen.histories < ENOUGH;
}

int main(int argc, char **argv) {
    static struct world_test test = {
        .name = "podfaults",
        .config = CONFIG,
        .parts = {.core = true, .scheduler = true, .tas = true, .framework[SL_FW_POD] = true},
        .webhooks = true,
        .run = run,
        .settled = settled,
        .changed = changed,
        .ended = print_seen,
    };
    if (argc > 1 && strcmp(argv[1], "--places") == 0) {
        places = test.parts.provisioning = true;
        test.name = "podfaults --places";
        argv[1] = argv[0];
        argc--;
        argv++;
    } else if (argc > 1 && (strcmp(argv[1], "--exact") == 0 || strcmp(argv[1], "--timed") == 0)) {
        exact = test.parts.fluxqueue = test.limits = true;
        test.refuses = exact_refuses;
        timed = strcmp(argv[1], "--timed") == 0;
        test.name = timed ? "podfaults --timed" : "podfaults --exact";
        test.config = CONFIG "fluxqueue: {exactNodes: true, levels: [{type: rack, nodeLabel: "
                             "rack}]}\n";
        argv[1] = argv[0];
        argc--;
        argv++;
    }
    return world_main(argc, argv, &test);
}
