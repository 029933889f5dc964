/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold after every change of the API.
 *
 *   - A pod that the controller binds goes to a node that its FluxJob lists, with no more pods
 *     there than listed, and the node lets it in. All pods there have room.
 *   - No node and no rack has more places of a FluxJob than its affinity, spread and annotations
 *     allow, and those that have to be together are. A pod by itself with such a rule is not bound.
 *   - A Job is started only while its FluxJob runs, with a place for each of its pods.
 *   - A job id is of one FluxJob. Pods stay on their nodes.
 *   - A start that was promised comes no later, unless something broke the promise, or one that
 *     comes before got its turn; and in no case without an event.
 */
#include "fluxworld.h"

/* ---- what was known ---- */

static bool is_late(const struct world *w, const struct fakeapi_change *c) {
    return c->client < REPLICAS && (c->client != w->leader || c->sent < w->leads_since);
}

static sl_time decided_knowing(const struct world *w, const struct fakeapi_change *c) {
    bool slow = fakeapi_now(w->api) < w->disturbed + KNOWN_SLACK;
    return known_before(&w->replicas[c->client].known, c->sent - (slow ? KNOWN_SLACK : 0));
}

/* ---- nodes ---- */

static void node_changed(struct world *w, const struct fakeapi_change *c) {
    uint32_t i = view_node(c->key);
    sl_time now = fakeapi_now(w->api);
    if (i == MAX_NODES)
        return;
    struct machine *m = &w->machines[i];
    struct amounts was = view_allocatable(c->before), is = view_allocatable(c->now);
    m->exists = c->now != NULL;
    if (c->now && !c->before)
        m->came = now;
    if (!c->before || !c->now ||
        sl_json_hash(1, sl_json_at(c->before, "metadata.labels")) !=
            sl_json_hash(1, sl_json_at(c->now, "metadata.labels")) ||
        sl_json_hash(1, sl_json_at(c->before, "spec")) !=
            sl_json_hash(1, sl_json_at(c->now, "spec")) ||
        sl_json_condition(c->before, "Ready") != sl_json_condition(c->now, "Ready"))
        m->changed = w->broken = now;
    for (uint32_t r = 0; r < RESOURCES; r++)
        if (!c->before || is.n[r] < was.n[r])
            m->shrunk = w->broken = now;
}

/* ---- pods ---- */

struct census {
    struct world *w;
    const char *node;
    char flux[96];      /* whose pods are counted */
    sl_time knowing;    /* those of others that came later are left out */
    struct amounts sum; /* without them */
    uint32_t own, left_out;
    struct {
        char path[200];
    } pods[64];
    uint32_t n;
};

static struct bound *bound_of(struct world *w, yyjson_val *pod) {
    for (uint32_t i = 0; i < w->bound.n; i++)
        if (strcmp(w->bound.v[i].uid, sl_json_str(pod, "metadata.uid")) == 0)
            return &w->bound.v[i];
    return NULL;
}

static void count_pod(void *ctx, yyjson_val *pod) {
    struct census *s = ctx;
    if (strcmp(sl_json_str(pod, "spec.nodeName"), s->node) != 0 || view_terminal(pod))
        return;
    struct bound *b = bound_of(s->w, pod);
    struct amounts a = view_requests(sl_json_at(pod, "spec"));
    char name[96];
    view_flux_of(s->w, pod, name);
    if (b && (b->late || (b->foreign && b->at >= s->knowing))) {
        s->left_out++;
        return;
    }
    s->own += *name && strcmp(name, s->flux) == 0;
    for (uint32_t r = 0; r < RESOURCES; r++)
        s->sum.n[r] += a.n[r];
}

/* The API's objects may not be looked up while one is looked at: names first. */
static void list_pod(void *ctx, yyjson_val *pod) {
    struct census *s = ctx;
    if (strcmp(sl_json_str(pod, "spec.nodeName"), s->node) == 0 && s->n < SL_LEN(s->pods))
        (void)snprintf(s->pods[s->n++].path, sizeof s->pods[0].path, PODS "/%s",
                       sl_json_str(pod, "metadata.name"));
}

static void take_census(struct census *s) {
    (void)fakeapi_each(s->w->api, "/api/v1/pods", list_pod, s);
    for (uint32_t i = 0; i < s->n; i++) {
        yyjson_val *pod = fakeapi_get(s->w->api, s->pods[i].path);
        if (pod)
            count_pod(s, pod);
    }
}

/* Returns how many pods of the FluxJob, "" if it has none, are there. */
static uint32_t check_room(struct world *w, const struct fakeapi_change *c, const char *flux,
                           uint32_t n, sl_time knowing) {
    const char *node = sl_json_str(c->now, "spec.nodeName");
    char path[64];
    (void)snprintf(path, sizeof path, NODES "/%s", node);
    yyjson_val *at = fakeapi_get(w->api, path);
    struct amounts has = view_allocatable(at), need = view_requests(sl_json_at(c->now, "spec"));
    struct census s = {.w = w, .node = node, .knowing = knowing};
    (void)snprintf(s.flux, sizeof s.flux, "%s", flux);
    take_census(&s);
    if (w->machines[n].shrunk >= knowing || !at) {
        w->unknown++;
    } else {
        for (uint32_t r = 0; r < RESOURCES; r++)
            if (need.n[r] > 0 && s.sum.n[r] > has.n[r])
                world_fail(w, "%s bound to %s: %lld of resource %u in use, it has %lld", c->key,
                           node, (long long)s.sum.n[r], r, (long long)has.n[r]);
        w->unknown += s.left_out > 0;
    }
    if (w->machines[n].changed >= knowing)
        w->moved++;
    else if (!view_admits(at, sl_json_at(c->now, "spec")))
        world_fail(w, "%s bound to %s, which does not let it in", c->key, node);
    return s.own;
}

static void pod_bound(struct world *w, const struct fakeapi_change *c) {
    char name[96];
    uint32_t n = view_node(sl_json_str(c->now, "spec.nodeName"));
    bool ours = c->client < REPLICAS;
    struct bound *b = sl_vec_push(&w->bound);
    *b = (struct bound){.late = is_late(w, c), .foreign = !ours, .at = fakeapi_now(w->api)};
    (void)snprintf(b->uid, sizeof b->uid, "%s", sl_json_str(c->now, "metadata.uid"));
    if (!ours) {
        w->broken = b->at;
        return;
    }
    w->binds++;
    w->late += b->late;
    if (b->late)
        return;
    view_flux_of(w, c->now, name);
    struct flux *f = view_flux(w, name);
    if (*sl_json_annotation(c->now, "test/alone"))
        world_fail(w, "%s is bound, and its affinity is not considered", c->key);
    world_tell(w, "pod %s is bound to %s", c->key, sl_json_str(c->now, "spec.nodeName"));
    sl_time knowing = decided_knowing(w, c);
    uint32_t own = 0;
    if (view_plain(c->now) && n < MAX_NODES)
        (void)check_room(w, c, "", n, knowing);
    else if (!*name)
        w->unknown++; /* its controller has just been deleted */
    else if (n == MAX_NODES || !f)
        world_fail(w, "%s bound to %s, FluxJob \"%s\" %s", c->key,
                   sl_json_str(c->now, "spec.nodeName"), name, f ? "exists" : "does not exist");
    else if (f->late)
        w->late++;
    else if (!f->listed[n] && w->machines[n].changed >= c->sent)
        w->unknown++; /* the node went when the binding was on its way */
    else if (!f->listed[n])
        world_fail(w, "%s bound to n%u, which %s does not list", c->key, n, name);
    else
        own = check_room(w, c, f->name, n, knowing);
    if (own && own > f->listed[n])
        world_fail(w, "%s bound to n%u: %u pods of %s are there, %u are listed", c->key, n, own,
                   f->name, f->listed[n]);
}

static void pod_changed(struct world *w, const struct fakeapi_change *c) {
    const char *was = sl_json_str(c->before, "spec.nodeName"),
               *is = sl_json_str(c->now, "spec.nodeName");
    if (c->now && *is && !*was)
        pod_bound(w, c);
    else if (c->now && strcmp(was, is) != 0)
        world_fail(w, "%s went from %s to %s", c->key, was, is);
    if (c->now || !*was)
        return;
    struct bound *b = bound_of(w, c->before);
    if (b)
        *b = sl_vec_pop(&w->bound);
}

/* ---- Jobs ---- */

/* The places of a Job may be lost while its start is on the way. */
static bool went_since(const struct world *w, sl_time sent) {
    bool any = false;
    for (uint32_t n = 0; n < MAX_NODES; n++)
        any |= w->machines[n].changed >= sent;
    return any;
}

static void job_changed(struct world *w, const struct fakeapi_change *c) {
    uint32_t places = 0;
    char name[96];
    if (!c->before || !c->now || !sl_json_bool(c->before, "spec.suspend", false) ||
        sl_json_bool(c->now, "spec.suspend", false))
        return;
    w->starts++;
    (void)snprintf(name, sizeof name, "%s-job", sl_json_str(c->now, "metadata.name"));
    struct flux *f = view_flux(w, name);
    world_tell(w, "%s is started", c->key);
    if (is_late(w, c) || (f && f->late)) {
        w->late++;
        return;
    }
    for (uint32_t i = 0; f && i < MAX_NODES; i++)
        places += f->listed[i];
    if (c->client >= REPLICAS)
        world_fail(w, "%s was started by client %d", c->key, (int)c->client);
    else if (f && places < (uint32_t)view_wanted(c->now) && went_since(w, c->sent))
        w->unknown++;
    else if (!f || places < (uint32_t)view_wanted(c->now))
        world_fail(w, "%s was started: its FluxJob %s, with %u places of %lld", c->key,
                   f ? "is there" : "is not there", places, (long long)view_wanted(c->now));
}

/* ---- FluxJobs ---- */

static void check_jobid(struct world *w, const struct fakeapi_change *c, struct flux *f) {
    int64_t id = sl_json_int(c->now, "status.jobid", 0);
    if (id == f->jobid || !id)
        return;
    if (is_late(w, c)) {
        w->late++;
        return;
    }
    if (f->jobid && c->client < REPLICAS && !f->late)
        world_fail(w, "%s has the job id %lld, and had %lld", f->name, (long long)id,
                   (long long)f->jobid);
    for (uint32_t i = 0; i < w->fluxes.n; i++) {
        const struct flux *o = &w->fluxes.v[i];
        if (o == f || o->jobid != id)
            continue;
        if (!o->late)
            world_fail(w, "%s has the job id %lld of %s", f->name, (long long)id, o->name);
        w->reused++;
    }
    f->jobid = id;
}

/* It was shown a start, and now a later one, or none, or it starts later: an event has to say so
 * (fluxrest.c). */
static void note_delay(struct world *w, const struct fakeapi_change *c, struct flux *f,
                       sl_time is) {
    const char *state = sl_json_str(c->now, "status.state");
    bool waits = strcmp(state, "Waiting") == 0 || strcmp(state, "Reserved") == 0,
         starts = strcmp(state, "Running") == 0;
    if (f->estimate && c->client < REPLICAS && !is_late(w, c) &&
        ((waits && (!is || is > f->estimate)) ||
         (starts && sl_json_time(c->now, "status.startedAt") > f->estimate)))
        f->delayed = fakeapi_now(w->api);
}

struct overrun {
    struct world *w;
    char paths[64][200];
    uint32_t n;
};

static void list_running(void *ctx, yyjson_val *o) {
    struct overrun *x = ctx;
    if (strcmp(sl_json_str(o, "status.state"), "Running") == 0 && x->n < SL_LEN(x->paths))
        (void)snprintf(x->paths[x->n++], sizeof x->paths[0], FLUXJOBS "/%s",
                       sl_json_str(o, "metadata.name"));
}

/* Is there one that runs for longer than it said? When it ends nobody knows, and so no promise that
 * waits for it is one: a Job of the storm whose pods have failed may do so for long. */
static bool overruns(struct world *w, sl_time wall) {
    struct overrun x = {.w = w};
    (void)fakeapi_each(w->api, FLUXJOBS, list_running, &x);
    for (uint32_t i = 0; i < x.n; i++) {
        yyjson_val *f = fakeapi_get(w->api, x.paths[i]), *o = f ? view_object(w, f) : NULL;
        sl_time started = sl_json_time(f, "status.startedAt");
        const char *said = o ? sl_json_annotation(o, "fluxqueue/duration") : "";
        if (*said && started + (sl_span)strtoul(said, NULL, 10) * SL_SEC <= wall)
            return true;
    }
    return false;
}

/* A head that was promised a time, and now gets a later one. */
static void check_promise(struct world *w, const struct fakeapi_change *c, struct flux *f) {
    sl_time is = sl_json_time(c->now, "status.estimatedStart");
    bool first = sl_json_int(c->now, "status.queuePosition", 0) == 1;
    note_delay(w, c, f, is);
    if (w->punctual && c->client < REPLICAS && overruns(w, fakeapi_port(w->api, c->client)->wall))
        w->broken = fakeapi_now(w->api);
    bool holds = w->punctual && f->promised > w->broken && f->promised > f->passed;
    if (f->estimate && is > f->estimate && holds && first)
        world_fail(w, "%s was to start %lld s earlier", f->name,
                   (long long)((is - f->estimate) / SL_SEC));
    if (strcmp(sl_json_str(c->now, "status.state"), "Running") == 0 && f->estimate && holds) {
        if (sl_json_time(c->now, "status.startedAt") > f->estimate)
            world_fail(
                w, "%s started %lld s later than promised", f->name,
                (long long)((sl_json_time(c->now, "status.startedAt") - f->estimate) / SL_SEC));
        w->promises++;
    }
    if (is != f->estimate)
        f->promised = fakeapi_now(w->api);
    f->estimate = is;
}

/* The rack of a node; "": it has none. False: it is not there. */
static bool rack_of(struct world *w, uint32_t n, char out[16]) {
    char path[64];
    (void)snprintf(path, sizeof path, NODES "/n%u", n);
    yyjson_val *node = fakeapi_get(w->api, path);
    (void)snprintf(out, 16, "%s", sl_json_label(node, "example.com/rack"));
    return node != NULL;
}

struct survivors {
    struct world *w;
    const char *flux;
    uint32_t node, n;
};

static void count_survivor(void *ctx, yyjson_val *pod) {
    struct survivors *s = ctx;
    char name[96];
    if (view_node(sl_json_str(pod, "spec.nodeName")) != s->node ||
        sl_json_time(pod, "metadata.creationTimestamp") >=
            FAKEAPI_EPOCH + s->w->machines[s->node].came)
        return;
    view_flux_of(s->w, pod, name);
    s->n += strcmp(name, s->flux) == 0;
}

/* Of its places on a node that came again, are all of pods that were there before? They have them
 * where they run, whatever else was decided meanwhile. */
static bool has_survivors(struct world *w, const struct flux *f, uint32_t n) {
    struct survivors s = {.w = w, .flux = f->name, .node = n};
    if (w->machines[n].came > 0)
        (void)fakeapi_each(w->api, PODS, count_survivor, &s);
    return s.n > 0 && s.n >= f->listed[n];
}

/* Nodes that came again may be in another rack than they were. */
static void check_rule(struct world *w, const struct flux *f, const struct rule *r,
                       sl_time knowing) {
    char racks[MAX_NODES][16] = {{0}};
    uint32_t sum[MAX_NODES] = {0}, n_domains = 0;
    for (uint32_t n = 0; n < MAX_NODES; n++) {
        uint32_t same = n;
        if (!f->listed[n] || has_survivors(w, f, n))
            continue;
        sl_time known = f->since[n] < knowing ? f->since[n] : knowing;
        if (r->rack && (!rack_of(w, n, racks[n]) || w->machines[n].came >= known)) {
            w->unknown++;
            return;
        }
        for (uint32_t k = 0; r->rack && k < n && same == n; k++)
            if (f->listed[k] && strcmp(racks[k], racks[n]) == 0)
                same = k;
        n_domains += same == n;
        sum[same] += f->listed[n];
        if (r->most ? sum[same] > r->most : n_domains > 1)
            world_fail(w, "%s has %u places in the %s of n%u and %u %ss, where %u is right",
                       f->name, sum[same], r->rack ? "rack" : "node", n, n_domains,
                       r->rack ? "rack" : "node", r->most ? r->most : 1);
    }
    w->ruled_places++;
}

static void check_rules(struct world *w, const struct fakeapi_change *c, const struct flux *f,
                        sl_time knowing) {
    struct rule rules[MAX_RULES];
    yyjson_val *o = view_object(w, c->now);
    uint32_t n = o ? view_rules(o, rules) : 0;
    for (uint32_t i = 0; i < n; i++)
        check_rule(w, f, &rules[i], knowing);
}

static void read_places(struct world *w, const struct fakeapi_change *c, struct flux *f) {
    uint32_t now[MAX_NODES] = {0};
    size_t i, n;
    yyjson_val *x;
    bool runs = strcmp(sl_json_str(c->now, "status.state"), "Running") == 0, more = false;
    sl_time knowing = c->client < REPLICAS ? decided_knowing(w, c) : 0;
    yyjson_arr_foreach (sl_json_at(c->now, "status.nodes"), i, n, x) {
        uint32_t at = view_node(sl_json_str(x, "name"));
        if (runs && at < MAX_NODES)
            now[at] += (uint32_t)sl_json_int(x, "pods", 1);
    }
    for (uint32_t k = 0; k < MAX_NODES; k++) {
        more |= now[k] > f->listed[k];
        if (!f->listed[k])
            f->since[k] = knowing;
        f->listed[k] = now[k];
    }
    if (more)
        f->late = is_late(w, c);
    if (more && c->client < REPLICAS && !f->late)
        check_rules(w, c, f, knowing);
}

/* Whoever has less priority waits behind it, whatever was promised; that is told all the same. */
static void read_priority(struct world *w, yyjson_val *o, struct flux *f) {
    int64_t priority = sl_json_int(o, "spec.priority", 0);
    bool raised = !f->seen || priority > f->priority;
    f->seen = true;
    f->priority = priority;
    for (uint32_t i = 0; raised && i < w->fluxes.n; i++)
        if (w->fluxes.v[i].priority < priority)
            w->fluxes.v[i].passed = fakeapi_now(w->api);
}

static bool is_before(const struct flux *a, const struct flux *b) {
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (!a->submitted || a->submitted != b->submitted)
        return a->submitted && (!b->submitted || a->submitted < b->submitted);
    return a->jobid < b->jobid;
}

/* One that waited without a reservation, since none could be made for it, gets its nodes, or a
 * reservation, before all that come after it: what was promised to them was so without it. */
static void read_turn(struct world *w, yyjson_val *o, struct flux *f) {
    const char *state = sl_json_str(o, "status.state");
    bool placed = strcmp(state, "Running") == 0 || strcmp(state, "Reserved") == 0,
         is_new = placed && !f->placed;
    f->submitted = sl_json_time(o, "status.submittedAt") / SL_SEC;
    f->placed = placed;
    for (uint32_t i = 0; is_new && i < w->fluxes.n; i++)
        if (is_before(f, &w->fluxes.v[i]))
            w->fluxes.v[i].passed = fakeapi_now(w->api);
}

static struct flux *new_flux(struct world *w, yyjson_val *o) {
    struct flux *f = sl_vec_push(&w->fluxes);
    *f = (struct flux){0};
    (void)snprintf(f->name, sizeof f->name, "%s", sl_json_str(o, "metadata.name"));
    (void)snprintf(f->uid, sizeof f->uid, "%s", sl_json_str(o, "metadata.uid"));
    if (sl_json_size(sl_json_at(o, "metadata.ownerReferences")) != 1)
        world_fail(w, "%s has no owner", f->name);
    return f;
}

static void flux_changed(struct world *w, const struct fakeapi_change *c) {
    yyjson_val *o = c->now ? c->now : c->before;
    struct flux *f = view_flux(w, sl_json_str(o, "metadata.name"));
    if (!f)
        f = new_flux(w, o);
    if (!c->now) {
        f->gone = true;
        memset(f->listed, 0, sizeof f->listed);
        world_tell(w, "FluxJob %s is gone", f->name);
        return;
    }
    read_priority(w, o, f);
    check_jobid(w, c, f);
    check_promise(w, c, f);
    read_turn(w, c->now, f);
    read_places(w, c, f);
    world_tell(w, "FluxJob %s: %s %s id %lld on %s, estimate %lld, %lld of %lld%s", f->name,
               sl_json_str(o, "status.state"), sl_json_str(o, "status.reason"),
               (long long)sl_json_int(o, "status.jobid", 0), sl_json_str(o, "status.nodeList"),
               (long long)((sl_json_time(o, "status.estimatedStart") - FAKEAPI_EPOCH) / SL_SEC),
               (long long)sl_json_int(o, "status.pods.bound", 0),
               (long long)sl_json_int(o, "status.pods.expected", 0),
               is_late(w, c) ? " (late)" : "");
}

static void event_seen(struct world *w, const struct fakeapi_change *c) {
    struct flux *f = c->now ? view_flux(w, sl_json_str(c->now, "regarding.name")) : NULL;
    if (f && strcmp(sl_json_str(c->now, "reason"), "StartDelayed") == 0) {
        f->told = fakeapi_now(w->api);
        w->delays++;
    }
}

/* ---- all ---- */

static void lease_changed(struct world *w, const struct fakeapi_change *c) {
    const char *was = sl_json_str(c->before, "spec.holderIdentity"),
               *is = sl_json_str(c->now, "spec.holderIdentity");
    if (strcmp(was, is) == 0)
        return;
    world_tell(w, "lease: from %s to %s", was, is);
    if (!fakeapi_number(is, "r", &w->leader, NULL))
        w->leader = FAKEAPI_NOBODY;
    w->leads_since = w->broken = fakeapi_now(w->api);
}

void watch_change(void *ctx, const struct fakeapi_change *c) {
    static const struct {
        const char *plural;
        void (*fn)(struct world *w, const struct fakeapi_change *c);
    } kinds[] = {
        {"leases", lease_changed}, {"nodes", node_changed},    {"pods", pod_changed},
        {"jobs", job_changed},     {"fluxjobs", flux_changed}, {"events", event_seen},
    };
    struct world *w = ctx;
    w->writes += c->client < REPLICAS && strcmp(c->kind->plural, "leases") != 0 &&
                 strcmp(c->kind->plural, "events") != 0;
    for (size_t i = 0; i < SL_LEN(kinds); i++)
        if (strcmp(c->kind->plural, kinds[i].plural) == 0)
            kinds[i].fn(w, c);
    actors_noticed(w, c);
}
