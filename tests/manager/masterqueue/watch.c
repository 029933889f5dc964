/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold after every change. A flavor leaves a queue, and a queue is put on hold, only for
 * a reason: an administrator said so, or the pool was silent for its time while its writer was
 * connected, and had been for one poolTimeout. What is foreign stays as it is.
 *
 * A writer may act on a MasterQueue as it was some minutes ago, since watches hang, so any of its
 * versions since then is a reason.
 */
#include "mqworld.h"

/* ---- what replicas were given ---- */

static uint32_t pool_of_subject(const struct world *w, const char *subject) {
    const char *name = strrchr(subject, '.');

    for (uint32_t i = 0; name && i < w->n_pools; i++)
        if (strcmp(name + 1, w->pools[i].name) == 0)
            return i;
    return UINT32_MAX;
}

void watch_event(void *ctx, uint32_t client, const struct sl_nats_event *e) {
    struct world *w = ctx;
    uint32_t cluster = fakenats_cluster(w->nats, client, e->conn);
    sl_time now = fakeapi_now(w->api);

    if (client >= REPLICAS)
        return;
    struct replica *r = &w->replicas[client];
    if (e->kind == SL_NATS_MESSAGE) {
        /* What is no payload may count as a sign of life, and need not. */
        uint32_t p = pool_of_subject(w, e->subject);
        if (p != UINT32_MAX && e->data && strstr(e->data, "nvidia.com/gpu"))
            r->pools[p].at[r->pools[p].n++ % REMEMBERED] = now;
        return;
    }
    world_tell(w, "replica %u: NATS %u is %s: %s", client, cluster,
               e->kind == SL_NATS_UP ? "up" : "down", e->text);
    if (cluster >= CLUSTERS || e->kind == SL_NATS_ERROR)
        return;
    struct link *l = &r->links[cluster];
    bool up = e->kind == SL_NATS_UP;
    if (l->n && l->up[(l->n - 1) % REMEMBERED] == up)
        return;
    l->at[l->n % REMEMBERED] = now;
    l->up[l->n++ % REMEMBERED] = up;
}

/* The last time before 'at'; false: none that is remembered. */
static bool delivered_before(const struct delivered *d, sl_time at, sl_time *ret) {
    for (uint32_t i = d->n; i > 0 && i + REMEMBERED > d->n; i--)
        if (d->at[(i - 1) % REMEMBERED] < at) {
            *ret = d->at[(i - 1) % REMEMBERED];
            return true;
        }
    return false;
}

/* Why the writer could not know by that time that the pool is silent; NULL: it could. Once it
 * knows, it may lose the connection, or be a standby that writes much later. Of a pool that has
 * been 'dropped' before it knows that from the master, and need not wait to find it out again: but
 * one that it has heard since lives. */
static const char *too_early(const struct world *w, const struct replica *r, const struct pool *p,
                             sl_span timeout, sl_time at, bool dropped) {
    const struct link *l = &r->links[p->pair % CLUSTERS];
    sl_time last = -SL_HOUR, end = at;
    const char *why = "there is no connection";

    (void)delivered_before(&r->pools[p - w->pools], at, &last);
    if (dropped && at >= last + timeout + SL_MQ_GRACE)
        return NULL;
    for (uint32_t i = l->n; i > 0 && i + REMEMBERED > l->n; i--) {
        sl_time since = l->at[(i - 1) % REMEMBERED];
        if (since > at)
            continue;
        if (l->up[(i - 1) % REMEMBERED] && end >= last + timeout + SL_MQ_GRACE &&
            end >= since + timeout)
            return NULL;
        if (l->up[(i - 1) % REMEMBERED])
            why = end < since + timeout ? "the connection is new" : "it has just published";
        end = since;
    }
    return l->n > REMEMBERED ? NULL : why;
}

/* ---- reasons ---- */

static yyjson_val *flavors_of(yyjson_val *queue) {
    return sl_json_at(yyjson_arr_get(sl_json_at(queue, "spec.resourceGroups"), 0), "flavors");
}

static bool lends_to(const struct group *g, uint32_t borrower) {
    if (borrower == UINT32_MAX)
        return true;
    for (uint32_t i = 0; i < g->n_lends; i++)
        if (g->lends[i].borrower == borrower)
            return true;
    return false;
}

/* Has any version since then no such flavor in this queue? If each has, the shortest timeout. */
static bool was_edited(const struct world *w, uint32_t m, const char *flavor, uint32_t borrower,
                       sl_time since, sl_span *ret_timeout, const struct pool **ret_pool) {
    const struct mq *q = &w->mqs[m];
    char name[96];

    *ret_pool = NULL;
    *ret_timeout = SL_HOUR;
    for (uint32_t v = q->n_specs; v > 0 && v + SPECS > q->n_specs; v--) {
        const struct mq_spec *s = &q->specs[(v - 1) % SPECS];
        bool has = false;
        for (uint32_t i = 0; i < s->n_groups; i++) {
            const struct group *g = &s->groups[i];
            if (g->local) {
                flavor_name(w, m, g, NULL, name);
                has |= strcmp(name, flavor) == 0 && lends_to(g, borrower);
            }
            for (uint32_t p = 0; p < w->n_pools; p++) {
                flavor_name(w, m, g, &w->pools[p], name);
                if (strcmp(name, flavor) != 0 || !group_reads(w, g, &w->pools[p]) ||
                    !lends_to(g, borrower))
                    continue;
                has = true;
                *ret_pool = &w->pools[p];
                *ret_timeout = g->timeout < *ret_timeout ? g->timeout : *ret_timeout;
            }
        }
        if (!has || strcmp(s->stop, "None") != 0)
            return true;
        if (s->at < since)
            break;
    }
    return false;
}

/* Did somebody delete it? Then it waits for the queues that name it. */
static bool was_deleted(const struct world *w, const char *flavor) {
    for (uint32_t i = 0; i < w->ended.n; i++)
        if (strcmp(w->ended.v[i], flavor) == 0)
            return true;
    return false;
}

/* Has the pool left the master queue already? That was a change by itself, with its own reason. A
 * borrower keeps the flavor for the work that it runs, and loses it when that has ended, or when it
 * has another one: a later leader may be the one to see that, just after its start. */
static bool was_dropped(struct world *w, uint32_t m, const char *flavor, uint32_t borrower) {
    char path[96];

    (void)snprintf(path, sizeof path, KUEUE "/clusterqueues/mq-%u", m);
    yyjson_val *master = borrower != UINT32_MAX ? fakeapi_get(w->api, path) : NULL;
    return master && world_owner(master) == m && !sl_json_find(flavors_of(master), "name", flavor);
}

static void check_removal(struct world *w, const struct fakeapi_change *c, uint32_t m,
                          const char *flavor, uint32_t borrower) {
    const struct pool *p;
    sl_span timeout;
    uint32_t local;

    if (strcmp(flavor, SL_MQ_NO_FLAVOR) == 0 || world_is_foreign(w, "resourceflavors", flavor) ||
        (strcmp(c->kind->plural, "clusterqueues") == 0 && was_deleted(w, flavor)) ||
        was_edited(w, m, flavor, borrower, fakeapi_now(w->api) - LATEST, &timeout, &p))
        return;
    if (fakeapi_number(flavor, "local-", &local, NULL)) {
        if (w->locals[local] && w->local_gone[local] + LATEST < fakeapi_now(w->api))
            world_fail(w, "%s: the local flavor %s left it", c->key, flavor);
        return;
    }
    const char *why = p ? too_early(w, &w->replicas[c->client], p, timeout, c->sent,
                                    was_dropped(w, m, flavor, borrower))
                        : NULL;
    if (why)
        world_fail(w, "%s %s: the flavor %s left it, but %s (sent at %.3f)", c->kind->plural,
                   c->key, flavor, why, (double)c->sent / 1e9);
}

/* ---- changes ---- */

static void check_queue(struct world *w, const struct fakeapi_change *c, uint32_t m) {
    uint32_t borrower = UINT32_MAX;
    const char *rest;
    uint32_t number;
    size_t i, n;
    yyjson_val *f;
    bool held = strcmp(sl_json_str(c->now, "spec.stopPolicy"), "None") != 0 &&
                strcmp(sl_json_str(c->before, "spec.stopPolicy"), "None") == 0;

    if (fakeapi_number(c->key, "borrower-", &number, &rest) && *rest == '-')
        borrower = (uint32_t)strtoul(rest + 1, NULL, 10);
    yyjson_arr_foreach (flavors_of(c->before), i, n, f) {
        const char *name = sl_json_str(f, "name");
        if (held || !sl_json_find(flavors_of(c->now), "name", name))
            check_removal(w, c, m, name, borrower);
    }
}

struct naming {
    const char *flavor;
    bool found;
};

static void look_for(void *ctx, yyjson_val *queue) {
    struct naming *n = ctx;

    n->found |= sl_json_find(flavors_of(queue), "name", n->flavor) != NULL;
}

/* One that a queue names is in use, and the manager protects it as soon as it knows. A leader that
 * is new, and whose watch of the queues hangs, cannot know: that happens, and is made good. */
static void check_flavor(struct world *w, const struct fakeapi_change *c) {
    struct naming n = {.flavor = c->key};

    (void)fakeapi_each(w->api, KUEUE "/clusterqueues", look_for, &n);
    if (n.found)
        world_tell(w, "the flavor %s is deleted, and a queue names it", c->key);
    w->hasty += n.found;
}

/* Its spec and what an administrator wrote around it; the manager adds a finalizer and a status. */
static char *own_text(yyjson_val *o) {
    struct sl_buf b;

    sl_buf_init(&b, (size_t)1 << 20);
    sl_json_put(&b, sl_json_at(o, "spec"));
    sl_json_put(&b, sl_json_at(o, "metadata.labels"));
    sl_json_put(&b, sl_json_at(o, "metadata.annotations"));
    sl_json_put(&b, sl_json_at(o, "metadata.ownerReferences"));
    char *text = sl_strdup(sl_buf_str(&b));
    sl_buf_done(&b);
    return text;
}

/* Its status follows from work, which may also become due when the clock jumps. */
static bool is_written(const struct fakeapi_change *c) {
    char *before = c->before ? own_text(c->before) : NULL, *now = c->now ? own_text(c->now) : NULL;
    bool written = !before || !now || strcmp(before, now) != 0;

    sl_freep(&before);
    sl_freep(&now);
    return written;
}

static void check_generated(struct world *w, const struct fakeapi_change *c) {
    uint32_t m = world_owner(c->before ? c->before : c->now);

    w->generated += is_written(c);
    if (m >= w->n_mqs || mq_now(&w->mqs[m])->gone || c->sent < w->replicas[c->client].started)
        return; /* the last: of an earlier life */
    if (strcmp(c->kind->plural, "clusterqueues") == 0 && c->before && c->now)
        check_queue(w, c, m);
    /* Who deletes it is asked, not who lets it go then. */
    bool ends = !c->now || sl_json_at(c->now, "metadata.deletionTimestamp");
    if (strcmp(c->kind->plural, "resourceflavors") == 0 && c->before && ends &&
        !sl_json_at(c->before, "metadata.deletionTimestamp"))
        check_flavor(w, c);
}

static void check_foreign(struct world *w, const struct fakeapi_change *c) {
    char path[160];

    (void)snprintf(path, sizeof path, KUEUE "/%s/%s", c->kind->plural, c->key);
    for (uint32_t i = 0; i < w->foreign.n; i++) {
        struct foreign *f = &w->foreign.v[i];
        if (strcmp(f->path, path) != 0)
            continue;
        char *text = c->now ? own_text(c->now) : NULL;
        if (!f->text)
            f->text = TAKE_PTR(text);
        else if (c->client != FAKEAPI_NOBODY && (!text || strcmp(text, f->text) != 0))
            world_fail(w, "the foreign %s was changed to %s", path, text ? text : "nothing");
        sl_freep(&text);
    }
}

void watch_change(void *ctx, const struct fakeapi_change *c) {
    struct world *w = ctx;
    bool generated = strcmp(c->kind->plural, "clusterqueues") == 0 ||
                     strcmp(c->kind->plural, "resourceflavors") == 0;

    if (generated) {
        check_foreign(w, c);
        if (c->client < REPLICAS)
            check_generated(w, c);
        if (w->verbose && c->now) {
            char *text = own_text(c->now);
            world_tell(w, "%s %s by %d: %s", c->kind->plural, c->key, (int)c->client, text);
            sl_freep(&text);
        } else {
            world_tell(w, "%s %s by %d is gone", c->kind->plural, c->key, (int)c->client);
        }
    }
    if (strcmp(c->kind->plural, "workloads") == 0 && c->now &&
        sl_json_condition(c->now, "Evicted") &&
        !(c->before && sl_json_condition(c->before, "Evicted"))) {
        world_tell(w, "workload %s is evicted", c->key);
        w->evictions++;
    }
}
