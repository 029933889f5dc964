/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <malloc.h>
#include <stdarg.h>
#include <time.h>

#include "../../seed_key.h"
#include "core/engine/engine.h"

#define MAX_IDLE 20000u          /* turns in which the clock does not move */
#define EXCUSED_ONE_IN 500       /* histories may have a late write that matters, and one more */
#define ENOUGH_SLOW 50           /* slow histories to meet with one */
#define CHECK_TURNS 4u           /* a quarter of the time goes into looking through all records */
#define OBSERVER 7u              /* the client that starts from nothing at the end */
#define TURN_CPU (500 * SL_MSEC) /* of one turn of a manager: usually far below a millisecond */
#define HISTORY_BYTES ((size_t)256 << 20)
#define MAX_REBUILD 2000u /* turns until a manager that starts from the API has observed it */
#define EVERY 64u
#define ENOUGH_STRUCK 300u /* histories to meet with every kind of fault */

static const char *const flavors[FLAVORS] = {"f", "g"};
static const char *const resources[RESOURCES] = {"cpu", "memory"};
static const int64_t units[RESOURCES] = {1000, INT64_C(1) << 30}; /* of the engine */

void world_fail(struct world *w, const char *fmt, ...) {
    va_list ap;
    if (w->failed)
        return;
    w->failed = true;
    va_start(ap, fmt);
    (void)vsnprintf(w->why, sizeof w->why, fmt, ap);
    va_end(ap);
    if (w->verbose)
        (void)printf("********* %s\n", w->why);
}

void world_tell(const struct world *w, const char *fmt, ...) {
    va_list ap;
    if (!w->verbose)
        return;
    (void)printf("%9.3f ", (double)fakeapi_now(w->api) / 1e9);
    va_start(ap, fmt);
    (void)vprintf(fmt, ap);
    va_end(ap);
    (void)putchar('\n');
}

int world_send(struct world *w, enum sl_kube_method method, const char *path, const char *fmt,
               ...) {
    char body[4096];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(body, sizeof body, fmt, ap);
    va_end(ap);
    w->reviewed = w->test->webhooks;
    int status =
        fakeapi_do(w->api, method, path, method == SL_PATCH ? SL_MERGE_PATCH : SL_JSON, body, NULL);
    w->reviewed = false;
    return status;
}

/* ---- the state in the API ---- */

const char *world_condition(yyjson_val *o, const char *type) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (sl_json_at(o, "status.conditions"), i, n, v)
        if (strcmp(sl_json_str(v, "type"), type) == 0)
            return sl_json_str(v, "status");
    return "";
}

bool world_holds(yyjson_val *o) {
    return o && sl_json_at(o, "status.admission") && world_is(o, "QuotaReserved") &&
           !world_is(o, "Finished");
}

static yyjson_val *named(yyjson_val *list, const char *name) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (list, i, n, v)
        if (strcmp(sl_json_str(v, "name"), name) == 0)
            return v;
    return NULL;
}

static int64_t quantity(const char *text, uint32_t resource) {
    struct sl_err err;
    sl_quantity q = 0;
    if (!*text || sl_quantity_parse(text, strlen(text), &q, &err) < 0)
        return 0;
    return (int64_t)(q / SL_NANO / (resource == CPU ? 1 : units[resource]));
}

/* What an admission has; of pods that have ended and need their quota no longer only if 'all'. */
static struct amounts amounts_of(yyjson_val *o, bool all) {
    struct amounts sum = {0};
    size_t i, n;
    yyjson_val *a;
    yyjson_arr_foreach (sl_json_at(o, "status.admission.podSetAssignments"), i, n, a) {
        const char *name = sl_json_str(a, "name");
        int64_t count = sl_json_int(a, "count", 1),
                left =
                    sl_json_int(named(sl_json_at(o, "spec.podSets"), name), "count", count) -
                    sl_json_int(named(sl_json_at(o, "status.reclaimablePods"), name), "count", 0);
        for (uint32_t r = 0; r < RESOURCES && count > 0; r++) {
            const char *flavor = sl_json_str(sl_json_at(a, "flavors"), resources[r]);
            int64_t used = quantity(sl_json_str(sl_json_at(a, "resourceUsage"), resources[r]), r) /
                           count * (all || left > count ? count : left);
            for (uint32_t f = 0; f < FLAVORS; f++)
                sum.n[f][r] += strcmp(flavor, flavors[f]) == 0 ? used : 0;
        }
    }
    return sum;
}

sl_time world_knowing(const struct world *w, const struct fakeapi_change *c) {
    sl_span slack = w->slow ? KNOWN_SLACK_SLOW : KNOWN_SLACK;
    bool disturbed = fakeapi_now(w->api) < w->disturbed + slack;
    return known_before(&w->replicas[c->client].known, c->sent - (disturbed ? slack : 0));
}

bool world_is_late(const struct world *w, const struct fakeapi_change *c) {
    return c->client != FAKEAPI_NOBODY && (c->client != w->leader || c->sent < w->leads_since);
}

/* ---- what must hold after every event ---- */

static void lease_changed(struct world *w, const struct fakeapi_change *c) {
    const char *was = c->before ? sl_json_str(c->before, "spec.holderIdentity") : "",
               *is = c->now ? sl_json_str(c->now, "spec.holderIdentity") : "";
    if (strcmp(was, is) == 0)
        return;
    world_tell(w, "lease: from %s to %s", was, is);
    if (!fakeapi_number(is, "r", &w->leader, NULL))
        w->leader = FAKEAPI_NOBODY;
    w->leads_since = fakeapi_now(w->api);
}

static void hold(struct world *w, const struct fakeapi_change *c) {
    struct holding h = {0};
    unsigned q = 0;
    for (uint32_t i = 0; i < w->holdings.n; i++)
        if (strcmp(w->holdings.v[i].key, c->key) == 0) {
            h = w->holdings.v[i];
            w->holdings.v[i--] = sl_vec_pop(&w->holdings);
        }
    if (!world_holds(c->now))
        return;
    if (!world_holds(c->before) && world_is_late(w, c)) {
        h.late = true;
        world_tell(w, "%s: reserved by one who leads no longer", c->key);
    }
    (void)snprintf(h.key, sizeof h.key, "%s", c->key);
    (void)fakeapi_number(sl_json_str(c->now, "status.admission.clusterQueue"), "cq-", &q, NULL);
    h.queue = q;
    h.has = amounts_of(c->now, false);
    h.cpu = 0;
    for (uint32_t f = 0; f < FLAVORS; f++)
        h.cpu += h.has.n[f][CPU];
    *sl_vec_push(&w->holdings) = h;
}

static void check_quota_of(struct world *w, uint32_t f, uint32_t r) {
    int64_t sum = 0, late = 0, most = w->all.n[f][r];
    for (uint32_t i = 0; i < w->holdings.n; i++) {
        sum += w->holdings.v[i].has.n[f][r];
        late += w->holdings.v[i].late ? w->holdings.v[i].has.n[f][r] : 0;
    }
    if (sum <= most)
        return;
    for (uint32_t i = 0; i < w->holdings.n; i++) {
        struct holding *h = &w->holdings.v[i];
        world_tell(w, "    %s holds %lld of cq-%u%s", h->key, (long long)h->has.n[f][r], h->queue,
                   h->late ? ", late" : "");
        w->excused += h->late && !h->excused;
        h->excused |= h->late;
    }
    if (sum - late > most)
        world_fail(w, "%lld %s of %s are reserved, %lld of them late, the cohort has %lld",
                   (long long)sum, resources[r], flavors[f], (long long)late, (long long)most);
}

/* No queue has more than it may borrow. */
static void check_limit(struct world *w, uint32_t q) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < w->holdings.n; i++)
        sum += w->holdings.v[i].queue == q && !w->holdings.v[i].late
                   ? w->holdings.v[i].has.n[0][CPU]
                   : 0;
    w->limited += w->limit[q] && sum == w->limit[q];
    if (w->limit[q] && sum > w->limit[q])
        world_fail(w, "cq-%u has %lld cpu of f, %lld are the most", q, (long long)sum,
                   (long long)w->limit[q]);
}

static void check_quota(struct world *w) {
    for (uint32_t q = 0; q < w->n_queues; q++)
        check_limit(w, q);
    for (uint32_t f = 0; f < FLAVORS; f++)
        for (uint32_t r = 0; r < RESOURCES; r++)
            check_quota_of(w, f, r);
}

/* No workload is evicted again and again. */
static void count_eviction(struct world *w, const struct fakeapi_change *c) {
    if (!c->now || !world_is(c->now, "Evicted") || (c->before && world_is(c->before, "Evicted")))
        return;
    struct evicted *e = NULL;
    for (uint32_t i = 0; i < w->evicted.n && !e; i++)
        if (strcmp(w->evicted.v[i].key, c->key) == 0)
            e = &w->evicted.v[i];
    if (!e) {
        e = sl_vec_push(&w->evicted);
        *e = (struct evicted){0};
        (void)snprintf(e->key, sizeof e->key, "%s", c->key);
    }
    if (++e->n > MAX_EVICTIONS)
        world_fail(w, "%s was evicted %u times", c->key, e->n);
    w->evictions = e->n > w->evictions ? e->n : w->evictions;
}

/* A pod stands where it was put. */
static void pod_moved(struct world *w, const struct fakeapi_change *c) {
    const char *was = c->before ? sl_json_str(c->before, "spec.nodeName") : "";
    if (*was && c->now && strcmp(was, sl_json_str(c->now, "spec.nodeName")) != 0)
        world_fail(w, "pod %s went from %s to %s", c->key, was,
                   sl_json_str(c->now, "spec.nodeName"));
}

static void workload_changed(struct world *w, const struct fakeapi_change *c) {
    struct amounts was = amounts_of(c->before, true), is = amounts_of(c->now, true);
    if (world_holds(c->before) && world_holds(c->now) &&
        (strcmp(sl_json_str(c->before, "status.admission.clusterQueue"),
                sl_json_str(c->now, "status.admission.clusterQueue")) != 0 ||
         memcmp(&was, &is, sizeof was) != 0))
        world_fail(w, "%s: its admission was replaced by another", c->key);
    count_eviction(w, c);
    w->late += world_is_late(w, c);
    hold(w, c);
    check_quota(w);
    world_tell(w, "workload %s: holds %d admitted %s evicted %s finished %s", c->key,
               world_holds(c->now), c->now ? world_condition(c->now, "Admitted") : "gone",
               c->now ? world_condition(c->now, "Evicted") : "",
               c->now ? world_condition(c->now, "Finished") : "");
}

static void on_change(void *ctx, const struct fakeapi_change *c) {
    struct world *w = ctx;
    if (strcmp(c->kind->plural, "leases") == 0)
        lease_changed(w, c);
    if (strcmp(c->kind->plural, "workloads") == 0)
        workload_changed(w, c);
    if (strcmp(c->kind->plural, "pods") == 0)
        pod_moved(w, c);
    w->test->changed(w, c);
}

/* ---- replicas ---- */

/* A manager, and what it gets exact nodes from: one process. */
struct process {
    struct sl_manager *manager;
    struct sl_fluxqueue *nodes;
};

static struct process new_process(struct world *w, struct fakeapi *api, uint32_t client,
                                  uint64_t seed, bool standby) {
    struct sl_manager_spec spec = {.client = fakeapi_port(api, client),
                                   .settings = w->settings,
                                   .parts = w->test->parts,
                                   .instance = "test",
                                   .seed = seed,
                                   .standby = standby};
    struct process p = {.manager = sl_manager_new(&spec)};
    if (!spec.parts.fluxqueue)
        return p;
    p.nodes = sl_fluxqueue_new(&(struct sl_fluxqueue_spec){.client = spec.client,
                                                           .settings = w->settings,
                                                           .instance = "test",
                                                           .seed = seed,
                                                           .standby = standby,
                                                           .eager = true});
    sl_manager_nodes(p.manager, p.nodes);
    return p;
}

static void free_process(struct process p) {
    sl_manager_nodes(p.manager, NULL);
    sl_fluxqueue_free(p.nodes);
    sl_manager_free(p.manager);
}

static void tick(struct process p) {
    if (p.nodes)
        sl_fluxqueue_tick(p.nodes);
    sl_manager_tick(p.manager);
}

static sl_time next_of(struct process p) {
    sl_time at = sl_manager_next(p.manager);
    return p.nodes ? sl_time_min(at, sl_fluxqueue_next(p.nodes)) : at;
}

static bool is_ready(struct process p) {
    return sl_manager_ready(p.manager) && (!p.nodes || sl_fluxqueue_ready(p.nodes));
}

static struct process process_of(const struct replica *r) {
    return (struct process){r->manager, r->nodes};
}

void world_start(struct world *w, uint32_t i) {
    struct replica *r = &w->replicas[i];
    char name[16];
    (void)snprintf(name, sizeof name, "r%u-%u", i, world_below(w, 1000000));
    struct sl_lease_spec l = {"kueue-system", "lease", name, 4 * SL_SEC, 3 * SL_SEC, SL_SEC};
    r->client = i;
    r->lease = sl_lease_new(fakeapi_port(w->api, i), &l, sl_prng_next(&w->prng));
    struct process p = new_process(w, w->api, i, sl_prng_next(&w->prng), true);
    r->manager = p.manager;
    r->nodes = p.nodes;
    memcpy(sl_manager_view(r->manager)->webhook, w->test->parts.framework,
           sizeof w->test->parts.framework);
    world_tell(w, "replica %u starts", i);
}

void world_kill(struct world *w, uint32_t i) {
    struct replica *r = &w->replicas[i];
    world_tell(w, "replica %u dies", i);
    fakeapi_kill(w->api, i); /* what is on its way still arrives */
    free_process(process_of(r));
    sl_lease_free(r->lease);
    *r = (struct replica){.known = r->known}; /* a write of it may be on its way */
}

void world_start_all(struct world *w) {
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++)
        if (!w->replicas[i].manager)
            world_start(w, i);
}

struct sl_manager *world_leader(struct world *w) {
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++)
        if (w->replicas[i].manager && sl_lease_held(w->replicas[i].lease))
            return w->replicas[i].manager;
    return NULL;
}

bool world_idle(struct world *w) {
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++)
        if (w->replicas[i].manager && sl_lease_held(w->replicas[i].lease))
            return sl_manager_idle(w->replicas[i].manager) &&
                   (!w->replicas[i].nodes || sl_fluxqueue_idle(w->replicas[i].nodes));
    return false;
}

bool world_due_within(struct world *w, sl_span span) {
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++)
        if (w->replicas[i].manager && sl_lease_held(w->replicas[i].lease))
            return next_of(process_of(&w->replicas[i])) < fakeapi_now(w->api) + span;
    return false;
}

static sl_time cpu_now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (sl_time)t.tv_sec * SL_SEC + t.tv_nsec;
}

/* ---- the state of a replica ---- */

/* A standby works out which queues are active when its state is read, as for its metrics. */
static void dump_of(struct sl_manager *m, struct sl_buf *out) {
    struct sl_effects effects;
    sl_effects_init(&effects);
    sl_engine_refresh(sl_manager_engine(m), &effects);
    sl_effects_done(&effects);
    sl_buf_init(out, (size_t)16 << 20);
    sl_manager_dump(m, out);
}

static void compare_dumps(struct world *w, const char *whose, struct sl_manager *lived,
                          struct sl_manager *fresh) {
    struct sl_buf a, b;
    dump_of(lived, &a);
    dump_of(fresh, &b);
    if (strcmp(sl_buf_str(&a), sl_buf_str(&b)) != 0) {
        world_fail(w, "the state of %s is another than the one rebuilt from the API", whose);
        if (w->verbose)
            (void)printf("--- lived:\n%s\n--- rebuilt:\n%s\n", sl_buf_str(&a), sl_buf_str(&b));
    }
    sl_buf_done(&a);
    sl_buf_done(&b);
}

/* In the middle of everything: one that reads a copy of the API, with the same clock and without
 * disturbing anybody. It writes nothing, and decides nothing. */
static void rebuild(struct world *w, uint32_t i, bool leads) {
    struct fakeapi *copy = fakeapi_copy(w->api);
    struct process fresh = new_process(w, copy, i, w->seed, true);
    struct replica *r = &w->replicas[i];
    uint32_t streams = 0;
    for (uint32_t n = 0; n < MAX_REBUILD && !streams; n++) {
        tick(fresh);
        (void)fakeapi_step(copy, sl_time_min(fakeapi_next(copy), next_of(fresh)));
        if (is_ready(fresh) && sl_manager_idle(fresh.manager))
            streams = fakeapi_streams(copy, i);
    }
    if (!streams)
        world_fail(w, "a manager that starts from the API comes to no rest");
    if (r->streams >= streams) {
        compare_dumps(w, leads ? "the leader" : "the one that waits", r->manager, fresh.manager);
        w->rebuilt[leads ? 0 : 1]++;
    } else { /* one of them was never open */
        r->streams = streams;
    }
    free_process(fresh);
    fakeapi_free(copy);
}

/* Has it observed and applied all changes? */
static bool knows_all(struct world *w, uint32_t i) {
    struct replica *r = &w->replicas[i];
    uint32_t n = r->manager ? fakeapi_streams(w->api, i) : 0;
    r->streams = n > r->streams ? n : r->streams;
    bool known = n && n == r->streams && is_ready(process_of(r));
    if (known)
        known_note(&r->known, fakeapi_now(w->api));
    return known && sl_manager_idle(r->manager) &&
           (!r->nodes || !sl_lease_held(r->lease) || sl_fluxqueue_idle(r->nodes));
}

/* When the leader has nothing to do and knows all that there is, its usage is that of the API: not
 * only at the end. And what it knows is what anybody would who started now; so is what another
 * knows who never led, whatever the leader is about to do. */
static void check_settled(struct world *w) {
    for (uint32_t i = 0; i < SL_LEN(w->replicas) && !w->failed; i++) {
        struct replica *r = &w->replicas[i];
        if (!knows_all(w, i))
            continue;
        bool leads = world_leader(w) == r->manager;
        if (leads) {
            world_compare_usage(w);
            w->settled++;
            if (w->test->settled)
                w->test->settled(w);
        }
        if ((!leads && r->led) || r->rebuilt == fakeapi_version(w->api))
            continue;
        r->rebuilt = fakeapi_version(w->api);
        if (w->known++ % w->every == 0)
            rebuild(w, i, leads);
    }
}

static void turn(struct world *w) {
    struct sl_err err;
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++) {
        struct replica *r = &w->replicas[i];
        if (!r->manager)
            continue;
        sl_lease_tick(r->lease);
        sl_manager_lead(r->manager, sl_lease_held(r->lease));
        if (r->nodes)
            sl_fluxqueue_lead(r->nodes, sl_lease_held(r->lease));
        r->led |= sl_lease_held(r->lease);
        sl_time began = cpu_now();
        tick(process_of(r));
        if (cpu_now() - began > TURN_CPU)
            world_fail(w, "replica %u: a turn took %lld ms", i,
                       (long long)((cpu_now() - began) / SL_MSEC));
        if (w->turns % CHECK_TURNS == 0 && sl_manager_check(r->manager, &err) < 0)
            world_fail(w, "replica %u: %s", i, err.text);
    }
    check_settled(w);
    if (w->turns % 1024 == 0 && mallinfo2().uordblks > HISTORY_BYTES)
        world_fail(w, "%zu bytes are allocated", mallinfo2().uordblks);
    w->turns++;
}

static sl_time next_due(const struct world *w) {
    sl_time at = fakeapi_next(w->api);
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++) {
        const struct replica *r = &w->replicas[i];
        if (!r->manager)
            continue;
        at = sl_time_min(at, sl_time_min(next_of(process_of(r)), sl_lease_next(r->lease)));
    }
    return at;
}

void world_run_until(struct world *w, sl_time until) {
    sl_time last = -1;
    for (uint32_t idle = 0; !w->failed; idle++) {
        sl_time at = next_due(w);
        if (at > until)
            break;
        if (at > last) {
            last = at;
            idle = 0;
        }
        if (idle > MAX_IDLE)
            world_fail(w, "nothing moves and nothing rests");
        (void)fakeapi_step(w->api, at > fakeapi_now(w->api) ? at : fakeapi_now(w->api));
        turn(w);
    }
    fakeapi_advance(w->api, until);
}

void world_disturb(struct world *w, bool on) {
    struct fakeapi_faults faults;
    w->disturbed = on ? SL_TIME_NEVER - KNOWN_SLACK_SLOW : fakeapi_now(w->api);
    if (!on) {
        world_tell(w, "the network is whole again");
        fakeapi_set_faults(w->api, NULL);
        return;
    }
    fakeapi_some_faults(&w->prng, 20, &faults);
    if (w->slow) {
        faults.delay = faults.late_reply = 8;
        faults.longest = 20 * SL_SEC;
    }
    fakeapi_set_faults(w->api, &faults);
}

void world_wake(struct world *w) {
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++)
        fakeapi_cut(w->api, i);
}

/* ---- the state at rest ---- */

void world_compare(struct world *w) {
    struct sl_manager *leader = world_leader(w);
    if (!leader)
        return;
    sl_time clock = fakeapi_port(w->api, w->leader)->wall;
    fakeapi_step_clock(w->api, OBSERVER, clock - fakeapi_port(w->api, OBSERVER)->wall);
    struct process fresh = new_process(w, w->api, OBSERVER, sl_prng_next(&w->prng), false);
    for (uint32_t i = 0; i < 2000 && !(is_ready(fresh) && sl_manager_idle(fresh.manager)); i++) {
        tick(fresh);
        (void)fakeapi_step(w->api, sl_time_min(next_due(w), next_of(fresh)));
        turn(w);
    }
    compare_dumps(w, "the leader at rest", leader, fresh.manager);
    free_process(fresh);
}

static void compare_usage_of(struct world *w, uint32_t q, uint32_t f, uint32_t r) {
    struct sl_engine_cell_view cell = {0};
    char name[16];
    int64_t sum = 0;
    (void)snprintf(name, sizeof name, "cq-%u", q);
    for (uint32_t i = 0; i < w->holdings.n; i++)
        sum += w->holdings.v[i].queue == q ? w->holdings.v[i].has.n[f][r] : 0;
    (void)sl_engine_cell(sl_manager_engine(world_leader(w)), false, name, flavors[f], resources[r],
                         &cell);
    if (cell.usage != (sl_amount)sum * units[r])
        world_fail(w, "%s: %lld %s of %s are held, %lld are counted", name,
                   (long long)(sum * units[r]), resources[r], flavors[f], (long long)cell.usage);
}

void world_compare_usage(struct world *w) {
    for (uint32_t q = 0; world_leader(w) && q < w->n_queues; q++)
        for (uint32_t f = 0; f < FLAVORS; f++)
            for (uint32_t r = 0; r < RESOURCES; r++)
                compare_usage_of(w, q, f, r);
}

/* ---- the cluster ---- */

void world_queue(struct world *w, uint32_t i, bool update, const char *stop) {
    char path[160], limit[64] = "";
    if (w->limit[i])
        (void)snprintf(limit, sizeof limit, ",\"borrowingLimit\":\"%lld\"",
                       (long long)(w->limit[i] - w->nominal[i].n[0][CPU]));
    (void)snprintf(path, sizeof path, KUEUE "/clusterqueues");
    if (update)
        (void)snprintf(path, sizeof path, KUEUE "/clusterqueues/cq-%u", i);
    (void)world_send(
        w, update ? SL_PATCH : SL_POST, path,
        "{\"apiVersion\":\"kueue.x-k8s.io/"
        "v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq-%u\"},"
        "\"spec\":{\"cohortName\":\"all\",\"namespaceSelector\":{},\"stopPolicy\":\"%s\","
        "\"queueingStrategy\":\"%s\","
        "\"preemption\":{\"withinClusterQueue\":\"LowerPriority\",\"reclaimWithinCohort\":\"Any\"},"
        "\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"memory\"],\"flavors\":["
        "{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"%lld\"%s},"
        "{\"name\":\"memory\",\"nominalQuota\":\"%lldGi\"}]},"
        "{\"name\":\"g\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"%lld\"},"
        "{\"name\":\"memory\",\"nominalQuota\":\"%lldGi\"}]}]}]%s}}",
        i, stop, i % 2 ? "StrictFIFO" : "BestEffortFIFO", (long long)w->nominal[i].n[0][CPU], limit,
        (long long)w->nominal[i].n[0][MEMORY], (long long)w->nominal[i].n[1][CPU],
        (long long)w->nominal[i].n[1][MEMORY], w->more[i] ? w->more[i] : "");
}

void world_queues(struct world *w) {
    w->n_queues = 1 + world_below(w, MAX_QUEUES);
    for (uint32_t i = 0; i < w->n_queues; i++) {
        int64_t cpu = 3 + (int64_t)sl_prng_below(&w->prng, 4), more = (int64_t)(w->seed % 3);
        w->nominal[i] = (struct amounts){.n = {{cpu, 2 * cpu}, {more, more}}};
        for (uint32_t f = 0; f < FLAVORS; f++)
            for (uint32_t r = 0; r < RESOURCES; r++)
                w->all.n[f][r] += w->nominal[i].n[f][r];
        w->most += cpu + more;
        if (w->test->limits && world_odds(w, 2))
            w->limit[i] = cpu + world_below(w, 4);
        world_queue(w, i, false, "None");
        (void)world_send(w, SL_POST, KUEUE "/namespaces/default/localqueues",
                         "{\"metadata\":{\"name\":\"lq-%u\"},\"spec\":{\"clusterQueue\":\"cq-%u\","
                         "\"stopPolicy\":\"None\"}}",
                         i, i);
    }
    w->largest = w->all.n[0][CPU]; /* f may be the only flavor in use */
    for (uint32_t i = 0; i < w->n_queues; i++)
        if (w->limit[i] && w->limit[i] < w->largest)
            w->largest = w->limit[i];
}

static const struct fakeapi_kind flux_job = {.group = "jobs.converged-computing.org",
                                             .version = "v1alpha1",
                                             .plural = "fluxjobs",
                                             .kind = "FluxJob",
                                             .flags = FAKEAPI_NAMESPACED | FAKEAPI_STATUS};

static void begin(struct world *w) {
    struct sl_warnings warnings;
    struct sl_err err;

    sl_prng_init(&w->prng, w->seed);
    sl_warnings_init(&warnings);
    if (sl_settings_parse("test", w->test->config, strlen(w->test->config), "kueue-system", NULL,
                          &w->settings, &warnings, &err) < 0)
        abort();
    sl_warnings_done(&warnings);
    w->api = fakeapi_new(w->seed);
    if (w->test->parts.fluxqueue)
        fakeapi_register(w->api, &flux_job);
    fakeapi_on_change(w->api, on_change, w);
    if (w->test->webhooks)
        fakeapi_on_write(w->api, world_review, w);
    (void)world_send(w, SL_POST, "/api/v1/namespaces",
                     "{\"metadata\":{\"name\":\"default\",\"labels\":{}}}");
    for (uint32_t f = 0; f < FLAVORS; f++)
        (void)world_send(w, SL_POST, KUEUE "/resourceflavors",
                         "{\"metadata\":{\"name\":\"%s\"},\"spec\":{}}", flavors[f]);
    for (uint32_t i = 0; i < 3; i++)
        (void)world_send(w, SL_POST, KUEUE "/workloadpriorityclasses",
                         "{\"metadata\":{\"name\":\"p%u\"},\"value\":%u}", i, i * 100);
}

static void end(struct world *w, uint64_t struck[FAKEAPI_FAULTS]) {
    struct fakeapi_stats stats;
    fakeapi_stats(w->api, &stats);
    for (uint32_t i = 0; i < FAKEAPI_FAULTS; i++)
        struck[i] += stats.struck[i];
    if (stats.invalid)
        world_fail(w, "%llu writes were invalid", (unsigned long long)stats.invalid);
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++)
        if (w->replicas[i].manager)
            world_kill(w, i);
    fakeapi_free(w->api);
    sl_settings_free(w->settings);
    sl_vec_free(&w->holdings);
    sl_vec_free(&w->evicted);
}

/* ---- all histories ---- */

struct sums {
    uint64_t passed, failed, late, excused, settled, rebuilt[2];
    uint64_t struck[FAKEAPI_FAULTS];
    uint32_t evictions;
};

/* The faults were there, and so was what is compared. */
static void check_sums(struct sums *sum, uint64_t seeds) {
    (void)printf(
        "usage was compared %llu times; the state was rebuilt %llu times beside the leader, %llu "
        "beside one that waits; one workload was evicted %u times at most; faults:",
        (unsigned long long)sum->settled, (unsigned long long)sum->rebuilt[0],
        (unsigned long long)sum->rebuilt[1], sum->evictions);
    for (uint32_t i = 0; i < FAKEAPI_FAULTS; i++)
        (void)printf(" %s %llu", fakeapi_fault_names[i], (unsigned long long)sum->struck[i]);
    (void)putchar('\n');
    for (uint32_t i = 0; i < FAKEAPI_FAULTS && seeds >= ENOUGH_STRUCK; i++)
        if (!sum->struck[i]) {
            (void)printf("%s never struck\n", fakeapi_fault_names[i]);
            sum->failed++;
        }
    if (seeds >= ENOUGH_STRUCK &&
        (sum->settled < seeds || sum->rebuilt[0] < seeds / 2 || sum->rebuilt[1] < seeds / 4)) {
        (void)printf("usage or the state was hardly ever compared\n");
        sum->failed++;
    }
}

struct how {
    uint64_t every;
    bool slow, verbose;
};

static void run_all(struct sums *sum, const struct world_test *test, uint64_t first, uint64_t seeds,
                    struct how how) {
    if (!seeds)
        return;
    for (uint64_t s = first; s < first + seeds; s++) {
        struct world w = {.test = test,
                          .seed = s,
                          .every = how.every,
                          .verbose = how.verbose,
                          .slow = how.slow,
                          .leader = FAKEAPI_NOBODY};
        seed_key(s);
        begin(&w);
        test->run(&w);
        end(&w, sum->struck);
        sum->settled += w.settled;
        sum->rebuilt[0] += w.rebuilt[0];
        sum->rebuilt[1] += w.rebuilt[1];
        sum->evictions = w.evictions > sum->evictions ? w.evictions : sum->evictions;
        sum->late += w.late;
        sum->excused += w.excused;
        sum->passed += !w.failed;
        if (w.failed && sum->failed++ < 20)
            (void)printf("seed %llu: %s\n    again: %s --first %llu --%s 1 --verbose\n",
                         (unsigned long long)s, w.why, test->name, (unsigned long long)s,
                         how.slow ? "seeds 0 --slow" : "seeds");
        (void)fflush(stdout);
    }
    (void)printf("%llu %shistories: %llu writes came late, %llu of them did harm\n",
                 (unsigned long long)seeds, how.slow ? "slow " : "", (unsigned long long)sum->late,
                 (unsigned long long)sum->excused);
    check_sums(sum, seeds);
}

int world_main(int argc, char **argv, const struct world_test *test) {
    const char *many = getenv("SL_SEEDS");
    uint64_t first = 1, seeds = many ? strtoull(many, NULL, 10) : 2000, slow = 0;
    struct how how = {.every = EVERY};
    struct sums usual = {0}, slowly = {0};
    sl_log_set(SL_LOG_ERROR);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0)
            how.verbose = true;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            run_all(&usual, test, strtoull(argv[++i], NULL, 10), 1, how);
            seeds = 0;
        } else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
            seeds = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--first") == 0 && i + 1 < argc)
            first = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--slow") == 0 && i + 1 < argc)
            slow = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--every") == 0 && i + 1 < argc)
            how.every = strtoull(argv[++i], NULL, 10);
    }
    if (how.verbose)
        sl_log_set(SL_LOG_INFO);
    run_all(&usual, test, first, seeds, how);
    if (usual.excused > 1 + seeds / EXCUSED_ONE_IN) {
        (void)printf("that is too often\n");
        usual.failed++;
    }
    how.slow = true;
    run_all(&slowly, test, first, slow, how);
    if (slow >= ENOUGH_SLOW && !slowly.late) {
        (void)printf("late writes are not recognised\n");
        slowly.failed++;
    }
    if (test->ended && !test->ended()) {
        (void)printf("something never happened\n");
        usual.failed++;
    }
    usual.passed += slowly.passed;
    usual.failed += slowly.failed;
    (void)printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)usual.passed,
                 (unsigned long long)usual.failed);
    return usual.failed ? 1 : 0;
}
