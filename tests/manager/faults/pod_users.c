/* SPDX-License-Identifier: Apache-2.0 */
/* Users: the pods that they request, and what they do to them meanwhile. */
#include "pods.h"

#define MAX_RELAUNCHES 3u /* before the end */
#define MAX_TRIES 500u    /* to make pods of a unit */

static const char *name_path(uint32_t unit, uint32_t n, char out[96]) {
    (void)snprintf(out, 96, PODS "/u%u-p%u", unit, n);
    return out;
}

static yyjson_val *group_workload(struct world *w, uint32_t unit) {
    char path[96];
    (void)snprintf(path, sizeof path, WORKLOADS "/g%u", unit);
    return fakeapi_get(w->api, path);
}

/* ---- desired pods ---- */

void user_draw(struct world *w, struct unit *u) {
    static const uint32_t kinds[] = {UNIT_SKY, UNIT_FAST, UNIT_SERVING, UNIT_WRONG, UNIT_MORE, 0,
                                     0,        0};
    *u = (struct unit){
        .queue = world_below(w, w->n_queues), .class = world_below(w, 3), .n_roles = 1, .total = 1};
    if (world_odds(w, 3)) {
        u->flags = world_odds(w, 8) ? UNIT_ALIEN : 0;
    } else {
        u->flags = UNIT_GROUP | kinds[world_below(w, SL_LEN(kinds))];
        u->total = 1 + world_below(w, 6);
        /* With pods too many of one role, it is open which roles the group is made of. */
        if (!(u->flags & (UNIT_FAST | UNIT_MORE)) && u->total > 1)
            u->n_roles = 1 + world_below(w, u->total < MAX_ROLES ? u->total : MAX_ROLES);
    }
    if (world_odds(w, 4))
        u->flags |= UNIT_LAZY;
    for (uint32_t i = 0, cpus = 0; i < u->total; i++) { /* what can never fit is no history */
        cpus += pod_cpus(i % u->n_roles);
        if (cpus > w->largest)
            u->total = i;
        else
            u->need[i % u->n_roles]++;
    }
    u->extra = u->flags & UNIT_MORE ? 1 + world_below(w, 2) : 0;
    u->relaunching = u->flags & UNIT_SKY;
}

static void put_group(const struct unit *u, uint32_t unit, uint32_t n, struct sl_buf *labels,
                      struct sl_buf *marks) {
    if (!(u->flags & UNIT_GROUP))
        return;
    sl_buf_printf(labels, ",\"" Q "pod-group-name\":\"g%u\"", unit);
    sl_buf_printf(marks, "\"" Q "pod-group-total-count\":\"%u\"",
                  u->total + (u->flags & UNIT_WRONG && n == 0));
    if (u->flags & UNIT_SKY)
        sl_buf_puts(marks, ",\"" Q "retriable-in-group\":\"false\"");
    if (u->flags & UNIT_FAST)
        sl_buf_puts(marks, ",\"" Q "pod-group-fast-admission\":\"true\"");
    if (u->flags & UNIT_SERVING)
        sl_buf_puts(marks, ",\"" Q "pod-group-serving\":\"true\"");
}

static int create(struct world *w, uint32_t unit, uint32_t n, uint32_t role) {
    struct unit *u = &pods_of(w)->units[unit];
    struct sl_buf labels, marks, body;
    if (++u->tries > MAX_TRIES)
        world_fail(w, "u%u: its pods are made and removed again and again", unit);
    sl_buf_init(&labels, 1024);
    sl_buf_init(&marks, 1024);
    sl_buf_init(&body, 4096);
    sl_buf_printf(&labels,
                  "\"role\":\"%u\",\"" Q "queue-name\":\"lq-%u\",\"" Q "priority-class\":\"p%u\"",
                  role, u->queue, u->class);
    if (promises_limit(w, unit))
        sl_buf_printf(&labels, ",\"" Q "max-exec-time-seconds\":\"%u\"", promises_limit(w, unit));
    put_group(u, unit, n, &labels, &marks);
    places_put(u, &marks);
    sl_buf_printf(&body,
                  "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"u%u-p%u\","
                  "\"labels\":{%s},\"annotations\":{%s}},\"spec\":{\"restartPolicy\":\"Never\","
                  "\"terminationGracePeriodSeconds\":%u,\"containers\":[{\"name\":\"c\","
                  "\"image\":\"i\",\"ports\":[{\"containerPort\":%u}],\"resources\":{\"requests\":{"
                  "\"cpu\":\"%u\"}}}]}}",
                  unit, n, sl_buf_str(&labels), sl_buf_str(&marks), world_odds(w, 2) ? 30 : 2,
                  8000 + role, pod_cpus(role));
    w->reviewed = !(u->flags & UNIT_ALIEN);
    int status = fakeapi_do(w->api, SL_POST, PODS, SL_JSON, sl_buf_str(&body), NULL);
    w->reviewed = false;
    world_tell(w, "create u%u-p%u (role %u of g%u, total %u, lq-%u, p%u): %d", unit, n, role, unit,
               u->total, u->queue, u->class, status);
    sl_buf_done(&labels);
    sl_buf_done(&marks);
    sl_buf_done(&body);
    return status;
}

void user_delete(struct world *w, uint32_t unit, uint32_t n, int grace) {
    char path[96];
    if (!pod_get(w, unit, n))
        return;
    world_tell(w, "delete u%u-p%u, grace %d", unit, n, grace);
    (void)name_path(unit, n, path);
    if (grace < 0)
        (void)fakeapi_do(w->api, SL_DELETE, path, NULL, NULL, NULL);
    else
        (void)world_send(w, SL_DELETE, path, "{\"gracePeriodSeconds\":%d}", grace);
}

/* ---- groups whose lost pods are replaced, and single pods ---- */

struct have {
    uint32_t live, by_role[MAX_ROLES];
};

/* What there is of a unit: live pods, and those that have done their work. */
static void count_pods(struct world *w, uint32_t unit, struct have *h) {
    const struct unit *u = &pods_of(w)->units[unit];
    *h = (struct have){0};
    for (uint32_t r = 0; r < MAX_ROLES; r++)
        h->by_role[r] = u->done[r];
    for (uint32_t n = 0; n < MAX_NAMES; n++) {
        yyjson_val *pod = pod_get(w, unit, n);
        if (!pod)
            continue;
        h->live += pod_live(pod);
        h->by_role[pod_role(pod)] += pod_live(pod) || pods_of(w)->done[unit][n];
    }
}

/* Another name, or one that was used before. */
static uint32_t free_name(struct world *w, uint32_t unit) {
    struct unit *u = &pods_of(w)->units[unit];
    if (unit % 2)
        for (uint32_t i = 0; i < MAX_NAMES; i++, u->next++)
            if (!pod_get(w, unit, u->next % MAX_NAMES))
                return u->next++ % MAX_NAMES;
    for (uint32_t n = 0; n < MAX_NAMES; n++)
        if (!pod_get(w, unit, n))
            return n;
    return MAX_NAMES;
}

static bool add(struct world *w, uint32_t unit, uint32_t role) {
    uint32_t n = free_name(w, unit);
    return n < MAX_NAMES && create(w, unit, n, role) == 201;
}

static void fill_up(struct world *w, uint32_t unit) {
    struct unit *u = &pods_of(w)->units[unit];
    struct have h;
    count_pods(w, unit, &h);
    bool first = !u->begun;
    u->begun = true;
    if (u->finished) { /* whatever was made just before that is not needed */
        for (uint32_t n = 0; n < MAX_NAMES; n++)
            if (pod_live(pod_get(w, unit, n)))
                user_delete(w, unit, n, -1);
        return;
    }
    if (!first && u->flags & UNIT_LAZY && !pods_of(w)->calm && h.live)
        return;
    for (uint32_t r = 0; r < u->n_roles; r++)
        for (uint32_t i = h.by_role[r]; i < u->need[r]; i++)
            if (!add(w, unit, r) || world_odds(w, 4)) { /* the rest a little later */
                u->due = true;
                fakeapi_at(w->api, world_soon(w, 2000), user_turn, w, unit);
                return;
            }
    if (u->extra && add(w, unit, 0))
        u->extra--;
}

/* ---- as SkyPilot does ---- */

static bool sky_lost(struct world *w, uint32_t unit) {
    const struct unit *u = &pods_of(w)->units[unit];
    bool failed = false, lost = false;
    for (uint32_t n = 0; n < u->total; n++) {
        yyjson_val *pod = pod_get(w, unit, n);
        failed |=
            pod && !pod_deleting(pod) && strcmp(sl_json_str(pod, "status.phase"), "Failed") == 0;
        lost |= !pod || pod_deleting(pod);
    }
    /* Of a task that failed by itself nothing is made anew, once all of it has ended. */
    return lost || (failed && !pods_of(w)->calm);
}

/* A pod that does not go is relieved of its finalizer (only ours is on it) and deleted by force. */
static void sky_force(struct world *w, uint32_t unit, uint32_t n) {
    char path[96];
    world_tell(w, "force u%u-p%u", unit, n);
    (void)world_send(w, SL_PATCH, name_path(unit, n, path), "{\"metadata\":{\"finalizers\":null}}");
    user_delete(w, unit, n, 0);
}

static void sky_turn(struct world *w, uint32_t unit) {
    struct unit *u = &pods_of(w)->units[unit];
    uint32_t alive = 0;
    struct have h;
    count_pods(w, unit, &h);
    u->begun = true;
    if (!u->relaunching) {
        u->finished |= !h.live && world_is(group_workload(w, unit), "Finished");
        if (u->finished &&
            (pods_of(w)->calm || u->relaunches >= MAX_RELAUNCHES || world_odds(w, 2)))
            return;
        if (!u->finished &&
            (!sky_lost(w, unit) || (!pods_of(w)->calm && u->relaunches >= MAX_RELAUNCHES)))
            return;
        u->relaunching = true;
        u->finished = false;
        u->relaunches++;
        world_tell(w, "u%u is torn down", unit);
        for (uint32_t n = 0; n < u->total; n++)
            if (!pod_deleting(pod_get(w, unit, n)))
                user_delete(w, unit, n, 0);
    }
    for (uint32_t n = 0; n < u->total; n++) {
        yyjson_val *pod = pod_get(w, unit, n);
        bool made = !pod && create(w, unit, n, n % u->n_roles) == 201;
        if (pod && pod_deleting(pod) && world_odds(w, 3))
            sky_force(w, unit, n);
        else
            alive += made || (pod && !pod_deleting(pod));
    }
    u->relaunching = alive < u->total;
    if (u->relaunching) {
        u->due = true;
        fakeapi_at(w->api, world_soon(w, 2000), user_turn, w, unit);
    }
}

/* ---- a turn ---- */

void user_turn(void *ctx, uint64_t unit) {
    struct world *w = ctx;
    struct pods *p = pods_of(w);
    struct unit *u = &p->units[unit];
    if (fakeapi_now(w->api) < p->frozen) {
        fakeapi_at(w->api, p->frozen, user_turn, w, unit);
        return;
    }
    u->due = false;
    if (p->calm && u->flags & (UNIT_SERVING | UNIT_WRONG))
        u->abandoned = true;
    if (u->abandoned)
        for (uint32_t n = 0; n < MAX_NAMES; n++)
            user_delete(w, (uint32_t)unit, n, -1);
    else if (u->flags & UNIT_SKY)
        sky_turn(w, (uint32_t)unit);
    else
        fill_up(w, (uint32_t)unit);
}

/* Without the Workload, what had been done for it counts no longer. */
static void forget_done(struct world *w, uint32_t unit) {
    memset(pods_of(w)->units[unit].done, 0, sizeof pods_of(w)->units[unit].done);
    for (uint32_t n = 0; n < MAX_NAMES; n++) {
        yyjson_val *pod = pod_get(w, unit, n);
        pods_of(w)->done[unit][n] &= !pod || !pod_deleting(pod);
    }
}

void user_noticed(struct world *w, const struct fakeapi_change *c) {
    struct pods *p = pods_of(w);
    bool workload = strcmp(c->kind->plural, "workloads") == 0;
    yyjson_val *o = c->now ? c->now : c->before;
    const char *name = sl_json_str(o, "metadata.name");
    unsigned unit, n;
    if (workload ? !fakeapi_number(name, "g", &unit, NULL) : !pod_numbers(name, &unit, &n))
        return;
    struct unit *u = &p->units[unit];
    if (workload && !c->now)
        forget_done(w, unit);
    if (workload && world_is(c->now, "Finished") && !world_is(c->before, "Finished") &&
        !(u->flags & UNIT_SKY))
        u->finished = true;
    if (!workload && !c->now)
        u->done[pod_role(o)] += p->done[unit][n];
    if (!workload && (!c->now || !c->before))
        p->done[unit][n] = false;
    else if (!workload && !pod_terminal(c->before))
        p->done[unit][n] = u->flags & UNIT_GROUP
                               ? strcmp(sl_json_str(o, "status.phase"), "Succeeded") == 0 &&
                                     (pod_held(c->before) || !pod_deleting(o))
                               : pod_terminal(o);
    if (u->due || !u->begun)
        return;
    u->due = true;
    fakeapi_at(w->api, world_soon(w, 3000), user_turn, w, unit);
}

/* ---- meddling ---- */

static void delete_all(struct world *w, uint32_t unit) {
    pods_of(w)->units[unit].abandoned |= world_odds(w, 3);
    for (uint32_t n = 0; n < MAX_NAMES; n++)
        user_delete(w, unit, n, world_odds(w, 4) ? 0 : -1);
}

/* All of a unit's pods get this label; false if one may not have it. */
static bool label_all(struct world *w, uint32_t unit, const char *key, const char *prefix,
                      uint32_t v) {
    char path[96];
    bool all = true;
    for (uint32_t n = 0; n < MAX_NAMES; n++)
        if (pod_get(w, unit, n))
            all &= world_send(w, SL_PATCH, name_path(unit, n, path),
                              "{\"metadata\":{\"labels\":{\"" Q "%s\":\"%s%u\"}}}", key, prefix,
                              v) == 200;
    world_tell(w, "u%u: %s %s%u: %d", unit, key, prefix, v, all);
    return all;
}

static void move(struct world *w, uint32_t unit) {
    struct unit *u = &pods_of(w)->units[unit];
    uint32_t to = world_below(w, w->n_queues);
    if (u->flags & UNIT_ALIEN)
        return;
    if (label_all(w, unit, "queue-name", "lq-", to))
        u->queue = to;
    else
        (void)label_all(w, unit, "queue-name", "lq-", u->queue);
}

static void reclass(struct world *w, uint32_t unit) {
    struct unit *u = &pods_of(w)->units[unit];
    u->class = world_below(w, 3);
    if (!(u->flags & UNIT_ALIEN))
        (void)label_all(w, unit, "priority-class", "p", u->class);
}

struct pick {
    struct world *w;
    uint32_t left;
    char name[128];
};

static void pick_one(void *ctx, yyjson_val *o) {
    struct pick *p = ctx;
    if (p->left-- == 0)
        (void)snprintf(p->name, sizeof p->name, "%s", sl_json_str(o, "metadata.name"));
}

static void meddle_workload(struct world *w, bool delete) {
    struct pick p = {.w = w, .left = world_below(w, MAX_UNITS)};
    char path[256];
    (void)fakeapi_each(w->api, WORKLOADS, pick_one, &p);
    if (!*p.name)
        return;
    world_tell(w, "workload %s: %s", p.name, delete ? "delete" : "deactivate");
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", p.name);
    if (delete)
        (void)fakeapi_do(w->api, SL_DELETE, path, NULL, NULL, NULL);
    else
        (void)world_send(w, SL_PATCH, path, "{\"spec\":{\"active\":false}}");
}

static void stop(struct world *w, bool local) {
    static const char *const policies[] = {"None", "Hold", "HoldAndDrain"};
    uint32_t q = world_below(w, w->n_queues);
    const char *policy = policies[world_below(w, 3)];
    char path[96];
    world_tell(w, "%s-%u: %s", local ? "lq" : "cq", q, policy);
    (void)snprintf(path, sizeof path, KUEUE "/namespaces/default/localqueues/lq-%u", q);
    if (local)
        (void)world_send(w, SL_PATCH, path, "{\"spec\":{\"stopPolicy\":\"%s\"}}", policy);
    else
        world_queue(w, q, true, policy);
}

static void start_again(void *ctx, uint64_t i) {
    struct world *w = ctx;
    if (!w->replicas[i].manager)
        world_start(w, (uint32_t)i);
}

/* A replica is killed, and restarted some while later. */
static void restart(struct world *w, uint32_t i) {
    if (w->replicas[i].manager)
        world_kill(w, i);
    fakeapi_at(w->api, world_soon(w, 20000), start_again, w, i);
}

void user_meddle(void *ctx, uint64_t n) {
    struct world *w = ctx;
    struct pods *p = pods_of(w);
    uint32_t unit = world_below(w, p->n_units);
    if (p->exact && world_odds(w, 4)) {
        exact_meddle(w);
        return;
    }
    if (p->places && world_odds(w, 3)) {
        places_meddle(w);
        return;
    }
    switch (world_below(w, 14)) {
    case 0:
    case 1:
        stop(w, world_odds(w, 2));
        break;
    case 2:
    case 3:
    case 4:
        user_delete(w, unit, world_below(w, p->units[unit].total), world_odds(w, 3) ? 0 : -1);
        break;
    case 5:
    case 6:
        delete_all(w, unit);
        break;
    case 7:
        meddle_workload(w, world_odds(w, 2));
        break;
    case 8:
        reclass(w, unit);
        break;
    case 9:
        move(w, unit);
        break;
    case 10:
        p->node_dead = world_soon(w, 30000);
        break;
    case 11:
        fakeapi_cut(w->api, world_below(w, SL_LEN(w->replicas)));
        break;
    default:
        restart(w, n % 2);
        break;
    }
}
