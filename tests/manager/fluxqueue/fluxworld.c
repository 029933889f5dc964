/* SPDX-License-Identifier: Apache-2.0 */
#include "fluxworld.h"

#include <stdarg.h>

#include "cluster/scheduler/scheduler.h"
#include "manager/fluxqueue/fq_int.h"

#define MAX_IDLE 20000u       /* turns in which the clock does not move */
#define REBUILD (15 * SL_SEC) /* of one that starts from a copy of the API */
#define BODY 8192

void world_fail(struct world *w, const char *fmt, ...) {
    va_list ap;
    if (w->failed)
        return;
    w->failed = true;
    va_start(ap, fmt);
    (void)vsnprintf(w->why, sizeof w->why, fmt, ap);
    va_end(ap);
    if (w->verbose)
        (void)printf("********* %9.3f %s\n", (double)fakeapi_now(w->api) / 1e9, w->why);
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
    char body[BODY];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(body, sizeof body, fmt, ap);
    va_end(ap);
    for (char *c = body; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return fakeapi_do(w->api, method, path, method == SL_PATCH ? SL_MERGE_PATCH : SL_JSON,
                      *body ? body : NULL, NULL);
}

/* ---- replicas ---- */

static struct sl_fluxqueue *new_queue(struct world *w, struct fakeapi *api, uint32_t client,
                                      uint64_t seed, bool standby, bool eager,
                                      struct sl_ledger *ledger) {
    return sl_fluxqueue_new(&(struct sl_fluxqueue_spec){.client = fakeapi_port(api, client),
                                                        .settings = w->settings,
                                                        .ledger = ledger,
                                                        .instance = "test",
                                                        .seed = seed,
                                                        .standby = standby,
                                                        .eager = eager});
}

void world_start(struct world *w, uint32_t i) {
    struct replica *r = &w->replicas[i];
    char name[16];
    if (r->q)
        return;
    (void)snprintf(name, sizeof name, "r%u-%u", i, world_below(w, 1000000));
    *r = (struct replica){0};
    r->lease = sl_lease_new(
        fakeapi_port(w->api, i),
        &(struct sl_lease_spec){"sluice-system", "lease", name, 4 * SL_SEC, 3 * SL_SEC, SL_SEC},
        sl_prng_next(&w->prng));
    r->q = new_queue(w, w->api, i, sl_prng_next(&w->prng), true, false, ledger_of_next(w));
    world_tell(w, "replica %u starts", i);
}

void world_kill(struct world *w, uint32_t i) {
    struct replica *r = &w->replicas[i];
    if (!r->q)
        return;
    world_tell(w, "replica %u dies", i);
    fakeapi_kill(w->api, i); /* what is on its way still arrives */
    sl_fluxqueue_free(r->q);
    sl_lease_free(r->lease);
    r->q = NULL; /* what it knew stays: a write of it may be on its way */
    r->lease = NULL;
}

struct sl_fluxqueue *world_leader(struct world *w) {
    for (uint32_t i = 0; i < REPLICAS; i++)
        if (w->replicas[i].q && sl_lease_held(w->replicas[i].lease))
            return w->replicas[i].q;
    return NULL;
}

/* Kinds that it reads: not those that nobody uses here, such as volumes. */
static uint32_t count_watched(const struct sl_fluxqueue *q) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < FQ_MARKED; k++)
        n += sl_inf_watches(q->inf, k);
    return n;
}

/* It has every stream open, and nothing is on its way. */
static void note_known(struct world *w, uint32_t i) {
    struct replica *r = &w->replicas[i];
    if (!sl_inf_watches(r->q->inf, FQ_NODE) || fakeapi_streams(w->api, i) < count_watched(r->q) ||
        !sl_fluxqueue_ready(r->q))
        return;
    if (world_leader(w) == r->q)
        usage_check(w, r->q);
    known_note(&r->known, fakeapi_now(w->api));
}

static void turn(struct world *w) {
    for (uint32_t i = 0; i < REPLICAS; i++) {
        struct replica *r = &w->replicas[i];
        if (!r->q)
            continue;
        sl_lease_tick(r->lease);
        sl_fluxqueue_lead(r->q, sl_lease_held(r->lease));
        sl_fluxqueue_tick(r->q);
        note_known(w, i);
    }
    ledger_flush(w);
    sl_cluster_tick(w->cluster);
    bound_check(w);
    w->turns++;
}

static sl_time next_due(const struct world *w) {
    sl_time at = sl_time_min(fakeapi_next(w->api), sl_cluster_next(w->cluster));
    for (uint32_t i = 0; i < REPLICAS; i++) {
        const struct replica *r = &w->replicas[i];
        if (r->q)
            at = sl_time_min(at, sl_time_min(sl_fluxqueue_next(r->q), sl_lease_next(r->lease)));
    }
    return at;
}

static void fail_busy(struct world *w, const struct sl_fluxqueue *q) {
    world_fail(w, "nothing moves and nothing rests");
    world_tell(w, "now %lld: next of the API %lld, of the cluster %lld",
               (long long)fakeapi_now(w->api), (long long)fakeapi_next(w->api),
               (long long)sl_cluster_next(w->cluster));
    if (q)
        world_tell(
            w,
            "ready %d leads %d rebuild %d taints %d moved %d reordered %d, next %lld: informer "
            "%lld timer %lld now %lld queue %lld wall %lld",
            q->inf->ready, q->leads, q->rebuild, q->taints_changed, q->moved, q->reordered,
            (long long)sl_fluxqueue_next(q), (long long)sl_inf_next(q->inf),
            (long long)sl_inf_next_timer(q->inf), (long long)q->client->mono,
            q->queues ? (long long)sl_queues_next(q->queues) : -1, (long long)q->client->wall);
}

void world_run(struct world *w, sl_span span) {
    sl_time last = -1, until = fakeapi_now(w->api) + span;
    for (uint32_t idle = 0; !w->failed; idle++) {
        sl_time at = next_due(w);
        if (at > until)
            break;
        if (at > last) {
            last = at;
            idle = 0;
        }
        if (idle > MAX_IDLE)
            for (uint32_t i = 0; i < REPLICAS; i++)
                fail_busy(w, w->replicas[i].q);
        (void)fakeapi_step(w->api, at > fakeapi_now(w->api) ? at : fakeapi_now(w->api));
        turn(w);
    }
    if (!w->failed)
        fakeapi_advance(w->api, until);
}

bool world_rest(struct world *w, sl_span longest) {
    uint64_t writes = 0;
    uint32_t calm = 0;
    for (sl_span t = 0; t < longest && calm < 15 && !w->failed; t += SL_SEC) {
        world_run(w, SL_SEC);
        struct sl_fluxqueue *q = world_leader(w); /* something may begin in this very moment */
        calm = q && sl_fluxqueue_idle(q) && w->writes == writes ? calm + 1 : 0;
        writes = w->writes;
    }
    return calm >= 15;
}

/* ---- from nothing but the API ---- */

struct watched {
    const struct world *w;
    uint32_t writes;
};

static void count_write(void *ctx, const struct fakeapi_change *c) {
    struct watched *x = ctx;
    const char *state = sl_json_str(c->now, "status.state");
    if (c->client != OBSERVER || strcmp(c->kind->plural, "events") == 0)
        return;
    /* The start of one that waits for a job that overruns moves on with the clock. */
    if (strcmp(state, "Reserved") == 0 &&
        strcmp(sl_json_str(c->before, "status.state"), state) == 0)
        return;
    x->writes++;
    if (!x->w->verbose)
        return;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(1 << 20);
    sl_json_put(&b, sl_json_at(c->before, "status"));
    sl_buf_puts(&b, "\n    ");
    sl_json_put(&b, sl_json_at(c->now, "status"));
    world_tell(x->w, "the new one writes %s %s:\n    %s", c->kind->plural, c->key, sl_buf_str(&b));
}

/* Is there one that waits for a time? It may come meanwhile. */
static void wait_for_time(void *ctx, yyjson_val *o) {
    bool *found = ctx;
    *found |= strstr(sl_json_str(o, "spec.jobspec"), "begin-time") &&
              strcmp(sl_json_str(o, "status.state"), "Waiting") == 0;
}

static void find_ours(void *ctx, yyjson_val *pod) {
    bool *found = ctx;
    *found |= view_ours(pod);
}

/* One that finds nothing to queue reads no nodes, unless it is told to: as the leader does, where
 * that has had some. */
static bool has_work(struct world *w) {
    static const char *const collections[] = {FLUXJOBS, JOBS, APPS "deployments",
                                              APPS "replicasets", APPS "statefulsets"};
    bool found = false;
    (void)fakeapi_each(w->api, PODS, find_ours, &found);
    for (size_t i = 0; i < SL_LEN(collections); i++)
        found |= fakeapi_each(w->api, collections[i], NULL, NULL) > 0;
    return found;
}

/* Has one a reservation that is not the first of its queue? */
static void find_reserved_behind(void *ctx, yyjson_val *o) {
    bool *found = ctx;
    *found |= strcmp(sl_json_str(o, "status.state"), "Reserved") == 0 &&
              sl_json_int(o, "status.queuePosition", 0) > 1;
}

static yyjson_val *named(yyjson_val *list, yyjson_val *like) {
    size_t i, n;
    yyjson_val *x;
    yyjson_arr_foreach (list, i, n, x)
        if (strcmp(sl_json_str(x, "namespace"), sl_json_str(like, "namespace")) == 0 &&
            strcmp(sl_json_str(x, "name"), sl_json_str(like, "name")) == 0)
            return x;
    return NULL;
}

static bool may_start(const char *state) {
    return strcmp(state, "Waiting") == 0 || strcmp(state, "Reserved") == 0;
}

static uint32_t count_places(yyjson_val *job, yyjson_val *node) {
    uint32_t sum = 0;
    size_t i, n;
    yyjson_val *x;
    yyjson_arr_foreach (sl_json_get(job, "places"), i, n, x)
        sum += yyjson_equals(x, node);
    return sum;
}

/* It has what it had; one that wants more may have found some. */
static bool keeps_places(yyjson_val *was, yyjson_val *is) {
    bool more = sl_json_size(sl_json_get(is, "places")) > sl_json_size(sl_json_get(was, "places"));
    bool kept = sl_json_int(was, "jobid", 0) == sl_json_int(is, "jobid", 0) &&
                strcmp(sl_json_str(was, "state"), sl_json_str(is, "state")) == 0;
    size_t i, n;
    yyjson_val *x;
    yyjson_arr_foreach (sl_json_get(was, "places"), i, n, x)
        kept &= count_places(was, x) <= count_places(is, x);
    return kept && (!more || strcmp(sl_json_str(was, "state"), "Running") == 0);
}

/* A reservation stays where it was made, whatever comes before it or ends early, and is not in the
 * API: one that starts anew makes all of them in the order of the queue. Unless the only one is
 * that of the first, that may be another plan, and others start or grow; whatever has its places
 * keeps them. */
static bool is_another_plan(struct world *w, const struct sl_buf *leader,
                            const struct sl_buf *fresh) {
    bool behind = false;
    (void)fakeapi_each(w->api, FLUXJOBS, find_reserved_behind, &behind);
    if (!behind)
        return false;
    _cleanup_(sl_json_docp) yyjson_doc *a = yyjson_read(leader->s, leader->len, 0),
                                       *b = yyjson_read(fresh->s, fresh->len, 0);
    yyjson_val *was = yyjson_doc_get_root(a), *is = yyjson_doc_get_root(b), *x, *y;
    bool same =
        a && b && sl_json_size(sl_json_at(was, "jobs")) == sl_json_size(sl_json_at(is, "jobs"));
    size_t i, n;
    yyjson_arr_foreach (sl_json_at(was, "jobs"), i, n, x) {
        y = named(sl_json_at(is, "jobs"), x);
        const char *state = sl_json_str(y, "state");
        same &= may_start(sl_json_str(x, "state"))
                    ? may_start(state) || strcmp(state, "Running") == 0
                    : y && keeps_places(x, y);
    }
    yyjson_arr_foreach (sl_json_at(was, "pods"), i, n, x) {
        y = named(sl_json_at(is, "pods"), x);
        same &= y && yyjson_equals(x, y);
    }
    same &= yyjson_equals(sl_json_at(was, "nodes"), sl_json_at(is, "nodes"));
    w->replanned += same;
    return same;
}

void world_compare(struct world *w) {
    bool timed = false;
    _cleanup_(sl_buf_done) struct sl_buf a = SL_BUF(1 << 22), b = SL_BUF(1 << 22);
    struct sl_fluxqueue *leader = world_leader(w);
    (void)fakeapi_each(w->api, FLUXJOBS, wait_for_time, &timed);
    if (w->failed || !leader || timed)
        return;
    struct fakeapi *copy = fakeapi_copy(w->api);
    struct watched watched = {.w = w};
    uint32_t leads = leader == w->replicas[0].q ? 0 : 1;
    sl_span off = (fakeapi_port(w->api, leads)->wall - fakeapi_port(w->api, leads)->mono) -
                  (fakeapi_port(copy, OBSERVER)->wall - fakeapi_port(copy, OBSERVER)->mono);
    fakeapi_step_clock(copy, OBSERVER, off); /* it goes on where the leader is */
    fakeapi_on_change(copy, count_write, &watched);
    bool eager = sl_inf_watches(leader->inf, FQ_NODE) && !has_work(w);
    struct sl_fluxqueue *fresh = new_queue(w, copy, OBSERVER, w->seed, false, eager, NULL);
    /* Whoever waits for a job that overruns is looked at each second: between them it rests. */
    sl_time until = fakeapi_now(copy) + REBUILD, rested = 0;
    for (uint32_t i = 0; fakeapi_now(copy) < until && !w->failed; i++) {
        if (i > MAX_IDLE)
            fail_busy(w, fresh);
        sl_fluxqueue_tick(fresh);
        rested = sl_fluxqueue_idle(fresh) ? fakeapi_now(copy) : rested;
        sl_time at = sl_time_min(fakeapi_next(copy), sl_fluxqueue_next(fresh));
        (void)fakeapi_step(copy, sl_time_min(at, until));
    }
    sl_fluxqueue_tick(fresh);
    if (!sl_fluxqueue_idle(fresh) && rested < until - 2 * SL_SEC)
        world_fail(w, "one that starts from the API comes to no rest");
    sl_fluxqueue_dump(leader, &a);
    sl_fluxqueue_dump(fresh, &b);
    /* Where nothing is queued any more it does not read nodes. */
    bool same = !sl_inf_watches(fresh->inf, FQ_NODE) || strcmp(sl_buf_str(&a), sl_buf_str(&b)) == 0,
         replanned = !same && is_another_plan(w, &a, &b);
    if (!same && !replanned) {
        world_fail(w, "the state of the leader is another than the one made of the API");
        if (w->verbose)
            (void)printf("--- leader:\n%s\n--- made of the API:\n%s\n", sl_buf_str(&a),
                         sl_buf_str(&b));
    }
    if (watched.writes && !replanned)
        world_fail(w, "one that starts from the API at rest makes %u changes", watched.writes);
    w->rebuilt++;
    sl_fluxqueue_free(fresh);
    fakeapi_free(copy);
}

/* ---- life ---- */

void world_begin(struct world *w) {
    static const struct fakeapi_kind kind = {.group = "jobs.converged-computing.org",
                                             .version = "v1alpha1",
                                             .plural = "fluxjobs",
                                             .kind = "FluxJob",
                                             .flags = FAKEAPI_NAMESPACED | FAKEAPI_STATUS};
    static const struct {
        const char *name;
        enum sl_queue_policy policy;
    } policies[] = {{"easy", SL_QUEUE_EASY},
                    {"fcfs", SL_QUEUE_FCFS},
                    {"easy", SL_QUEUE_EASY},
                    {"conservative", SL_QUEUE_CONSERVATIVE}};
    uint32_t p = (uint32_t)(w->seed % SL_LEN(policies));
    char config[500];
    struct sl_err err = {0};
    (void)snprintf(config, sizeof config,
                   "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfluxqueue:\n"
                   "  levels:\n  - {type: rack, nodeLabel: example.com/rack}\n"
                   "  queues:\n  - {name: default, policy: %s}\n",
                   policies[p].name);
    if (sl_settings_parse("test", config, strlen(config), NULL, NULL, &w->settings, NULL, &err) <
        0) {
        (void)fprintf(stderr, "%s\n", err.text);
        abort();
    }
    w->policy = policies[p].policy;
    w->wide = w->seed >= WIDE;
    w->ruled = w->seed >= RULED;
    sl_prng_init(&w->prng, w->seed);
    w->leader = FAKEAPI_NOBODY;
    ledger_begin(w);
    w->api = fakeapi_new(w->seed);
    fakeapi_register(w->api, &kind);
    fakeapi_on_change(w->api, watch_change, w);
    (void)world_send(w, SL_POST, "/api/v1/namespaces", "{'metadata':{'name':'default'}}");
    for (uint32_t i = 1; i <= 2; i++)
        (void)world_send(w, SL_POST, "/apis/scheduling.k8s.io/v1/priorityclasses",
                         "{'metadata':{'name':'c%u'},'value':%u}", i, i * 10);
    w->cluster =
        sl_cluster_new(&(struct sl_cluster_spec){.scheduler = &sl_scheduler,
                                                 .client = fakeapi_port(w->api, CLUSTER_CLIENT),
                                                 .seed = sl_prng_next(&w->prng)});
}

void world_end(struct world *w) {
    for (uint32_t i = 0; i < REPLICAS; i++)
        world_kill(w, i);
    ledger_end(w);
    sl_cluster_free(w->cluster);
    fakeapi_free(w->api);
    sl_settings_free(w->settings);
    sl_vec_free(&w->fluxes);
    sl_vec_free(&w->bound);
    for (uint32_t i = 0; i < w->pods.n; i++)
        sl_freep(&w->pods.v[i]);
    sl_vec_free(&w->pods);
}
