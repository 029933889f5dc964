/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a spec and its live pools to flavors and quotas. Pure: no API, no clock.
 *
 * Per pool and resource the quota is the smaller of what is published and what the group's
 * nominalQuota says, in the spelling of the winner; a resource that the group does not limit counts
 * as published, one that is not published counts 0. A ClusterQueue has one group of resources: the
 * four of old in their order, then others by name. Its flavors are those of the groups in their
 * order, within a group in the order of 'pools', else by name: the order says what is tried first,
 * so it does not change when a pool comes back. A pool that takes part stays when others come, as
 * far as there is place.
 */
#include "manager/masterqueue/mq_int.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "lib/json/writer.h"

static const char *const well_known[] = {"cpu", "memory", "pods", "nvidia.com/gpu"};

/* ---- resources ---- */

static void add_resource(struct mq_plan *p, const char *name) {
    for (uint32_t i = 0; i < p->n_resources; i++)
        if (strcmp(p->resources[i], name) == 0)
            return;
    if (p->n_resources < MQ_MAX_RESOURCES)
        p->resources[p->n_resources++] = sl_arena_strdup(&p->arena, name);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_further(struct mq_plan *p) {
    const uint32_t first = SL_LEN(well_known);
    qsort(p->resources + first, p->n_resources - first, sizeof *p->resources, by_name);
}

/* ---- flavors ---- */

static const struct sl_pool_payload *payload_of(struct sl_arena *a, const struct mq_pool *pool) {
    struct sl_pool_payload *v = sl_arena_alloc0(a, 1, sizeof *v);
    struct sl_err err;
    if (sl_pool_payload_read(pool->payload, strlen(pool->payload), a, v, &err) < 0)
        *v = (struct sl_pool_payload){0}; /* it was printed from one that was read */
    return v;
}

static const char *quota_of(const struct mq_group *g, const struct sl_pool_payload *v,
                            const char *resource) {
    const struct mq_amount *nominal = mq_amount_of(g->nominal, g->n_nominal, resource);
    const struct sl_pool_quota *published = v ? sl_pool_payload_quota(v, resource) : NULL;
    if (!v)
        return nominal ? nominal->text : "0"; /* a local flavor */
    if (!published)
        return "0";
    return nominal && nominal->amount < published->amount ? nominal->text : published->text;
}

struct candidate {
    const char *name;
    uint32_t group, pool;
    const struct sl_pool_payload *payload;
    bool taken, chosen;
};

struct candidates {
    struct sl_arena arena; /* of their payloads */
    struct candidate v[SL_MQ_MAX_POOLS + SL_MASTERQUEUE_MAX_GROUPS];
    uint32_t n;
};

static bool takes_part(const struct mq_pool *pool) {
    return pool->payload && pool->flavor && pool->at != UINT32_MAX &&
           (pool->state == MQ_LIVE || pool->state == MQ_LATE);
}

static void list_candidates(struct mq *q, struct mq_plan *p, const struct mq_plan_asks *ask,
                            struct candidates *c) {
    uint32_t at = 0;
    for (uint32_t g = 0; g < q->spec->n_groups; g++) {
        const struct mq_group *group = &q->spec->groups[g];
        if (group->local && !ask->exists(ask->ctx, group->name)) {
            if (!p->missing_local)
                p->missing_local = sl_arena_strdup(&p->arena, group->name);
        } else if (group->local) {
            c->v[c->n++] = (struct candidate){group->name, g, UINT32_MAX, NULL, true, false};
        }
        for (; at < q->pools.n && q->pools.v[at]->at == g; at++) {
            const struct mq_pool *pool = q->pools.v[at];
            if (takes_part(pool))
                c->v[c->n++] = (struct candidate){pool->flavor, g, at, NULL, pool->taken, false};
        }
    }
}

/* Names of group and pool may join to one name in two ways: the first has it. */
static bool is_first(const struct candidates *c, uint32_t at) {
    for (uint32_t i = 0; i < c->n; i++)
        if (i != at && strcmp(c->v[i].name, c->v[at].name) == 0 && (c->v[i].chosen || i < at))
            return false;
    return true;
}

/* Those that take part already come first, so that nobody can push them out. */
static void choose(const struct mq *q, struct candidates *c, struct mq_plan *p) {
    uint32_t n = 0;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < c->n; i++)
            if (c->v[i].taken == (pass == 0) && n < SL_MQ_MAX_FLAVORS && is_first(c, i)) {
                c->v[i].chosen = true;
                if (c->v[i].pool != UINT32_MAX)
                    c->v[i].payload = payload_of(&c->arena, q->pools.v[c->v[i].pool]);
                n++;
            }
    for (uint32_t i = 0; i < c->n; i++)
        p->crowded += !c->v[i].chosen && is_first(c, i);
}

/* What the quotas and limits of a group name. */
static void list_named(const struct mq_group *g, struct mq_plan *p) {
    for (uint32_t i = 0; i < g->n_nominal; i++)
        add_resource(p, g->nominal[i].resource);
    for (uint32_t i = 0; i < g->n_lends; i++)
        for (uint32_t k = 0; k < g->lends[i].n; k++)
            add_resource(p, g->lends[i].limits[k].resource);
}

static bool is_published(const struct candidates *c, const char *resource) {
    for (uint32_t i = 0; i < c->n; i++)
        if (c->v[i].chosen && c->v[i].payload && sl_pool_payload_quota(c->v[i].payload, resource))
            return true;
    return false;
}

/* What a pool has that has left the queues while work that it took still runs: its flavor is kept
 * for that work, and so is what the queues cover. */
static void list_kept(const struct mq_pool *pool, struct mq_plan *p) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(2 * SL_POOL_MAX_BYTES);
    if (pool->state != MQ_EXPIRED || !pool->payload)
        return;
    const struct sl_pool_payload *v = payload_of(&a, pool);
    for (uint32_t i = 0; i < v->n_quotas; i++)
        add_resource(p, v->quotas[i].resource);
}

static void list_resources(const struct mq *q, const struct candidates *c,
                           const struct mq_plan_asks *ask, struct mq_plan *p) {
    for (size_t i = 0; i < SL_LEN(well_known); i++)
        add_resource(p, well_known[i]);
    for (uint32_t g = 0; g < q->spec->n_groups; g++)
        list_named(&q->spec->groups[g], p);
    for (uint32_t i = 0; q->plan && i < q->plan->n_resources; i++)
        if (is_published(c, q->plan->resources[i]) ||
            (ask->used && ask->used(ask->ctx, q, q->plan->resources[i])))
            add_resource(p, q->plan->resources[i]); /* what is covered stays so */
    for (uint32_t i = 0; i < q->pools.n; i++)
        list_kept(q->pools.v[i], p);
    for (uint32_t i = 0; i < c->n; i++)
        for (uint32_t k = 0; c->v[i].chosen && c->v[i].payload && k < c->v[i].payload->n_quotas;
             k++)
            add_resource(p, c->v[i].payload->quotas[k].resource);
    sort_further(p);
}

static void add_flavor(struct mq *q, struct mq_plan *p, const struct candidate *c) {
    struct mq_plan_flavor *f = &p->flavors[p->n_flavors++];
    f->name = sl_arena_strdup(&p->arena, c->name);
    f->group = c->group;
    f->pool = c->pool;
    f->quotas = sl_arena_alloc0(&p->arena, p->n_resources, sizeof *f->quotas);
    for (uint32_t k = 0; k < p->n_resources; k++)
        f->quotas[k] = sl_arena_strdup(
            &p->arena, quota_of(&q->spec->groups[c->group], c->payload, p->resources[k]));
    if (c->pool != UINT32_MAX)
        q->pools.v[c->pool]->taken = true;
}

struct mq_plan *mq_plan_new(struct mq *q, const struct mq_plan_asks *ask) {
    struct mq_plan *p = sl_alloc0(1, sizeof *p);
    struct candidates *c = sl_alloc0(1, sizeof *c);

    sl_arena_init(&p->arena, MQ_MAX_PLAN);
    sl_arena_init(&c->arena, MQ_MAX_PLAN);
    list_candidates(q, p, ask, c);
    choose(q, c, p);
    list_resources(q, c, ask, p);
    for (uint32_t i = 0; i < q->pools.n; i++)
        q->pools.v[i]->taken = false;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->v[i].chosen)
            add_flavor(q, p, &c->v[i]);
    p->full = sl_arena_full(&p->arena) || sl_arena_full(&c->arena);
    sl_arena_done(&c->arena);
    sl_freep(&c);
    return p;
}

void mq_plan_free(struct mq_plan *p) {
    if (!p)
        return;
    sl_arena_done(&p->arena);
    sl_freep(&p);
}

const struct mq_plan_flavor *mq_plan_find(const struct mq_plan *p, const char *name) {
    for (uint32_t i = 0; p && i < p->n_flavors; i++)
        if (strcmp(p->flavors[i].name, name) == 0)
            return &p->flavors[i];
    return NULL;
}

/* ---- a ClusterQueue ---- */

static const struct mq_lend *lend_of(const struct mq_group *g, const char *queue) {
    for (uint32_t i = 0; i < g->n_lends; i++)
        if (strcmp(g->lends[i].queue, queue) == 0)
            return &g->lends[i];
    return NULL;
}

/* All that a template can say is written, defaults included: what is not in it any more changes
 * back. */
static void put_template(const struct mq_spec *s, bool hold, struct sl_jw *j) {
    sl_jw_str(j, "cohortName", s->cohort);
    sl_jw_str(j, "stopPolicy", hold ? "Hold" : s->stop_policy);
    sl_jw_str(j, "queueingStrategy", s->strategy);
    sl_jw_raw(j, "namespaceSelector", s->selector);
    sl_jw_object(j, "flavorFungibility");
    sl_jw_str(j, "whenCanBorrow", s->can_borrow);
    sl_jw_str(j, "whenCanPreempt", s->can_preempt);
    sl_jw_end(j);
    sl_jw_object(j, "preemption");
    sl_jw_str(j, "withinClusterQueue", s->within);
    sl_jw_str(j, "reclaimWithinCohort", s->reclaim);
    sl_jw_object(j, "borrowWithinCohort");
    sl_jw_str(j, "policy", s->borrow_policy);
    if (s->has_threshold)
        sl_jw_int(j, "maxPriorityThreshold", s->threshold);
    sl_jw_end(j);
    sl_jw_end(j);
}

static void put_quota(const char *resource, const char *quota, const struct mq_amount *limit,
                      struct sl_jw *j) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "name", resource);
    sl_jw_str(j, "nominalQuota", quota);
    if (limit)
        sl_jw_str(j, "borrowingLimit", limit->text);
    sl_jw_end(j);
}

static void put_flavor(const struct mq_plan *p, const struct mq_plan_flavor *f,
                       const struct mq_lend *lend, struct sl_jw *j) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "name", f->name);
    sl_jw_array(j, "resources");
    for (uint32_t i = 0; i < p->n_resources; i++)
        put_quota(p->resources[i], lend ? "0" : f->quotas[i],
                  lend ? mq_amount_of(lend->limits, lend->n, p->resources[i]) : NULL, j);
    sl_jw_end(j);
    sl_jw_end(j);
}

/* What stands for the flavors of a queue that has none: nobody is admitted on it. */
static void put_no_flavor(struct sl_jw *j) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "name", SL_MQ_NO_FLAVOR);
    sl_jw_array(j, "resources");
    for (size_t i = 0; i < SL_LEN(well_known); i++)
        put_quota(well_known[i], "0", NULL, j);
    sl_jw_end(j);
    sl_jw_end(j);
}

static bool queue_has(const struct mq *q, const char *queue, const struct mq_plan_flavor *f) {
    return f->written && (!queue || lend_of(&q->spec->groups[f->group], queue));
}

uint32_t mq_plan_queue_size(const struct mq *q, const char *queue) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->plan->n_flavors; i++)
        n += queue_has(q, queue, &q->plan->flavors[i]);
    return n;
}

void mq_plan_put_queue(const struct mq *q, const char *queue, struct sl_jw *j) {
    const struct mq_plan *p = q->plan;
    uint32_t n = mq_plan_queue_size(q, queue);

    put_template(q->spec, n == 0, j);
    sl_jw_array(j, "resourceGroups");
    sl_jw_object(j, NULL);
    sl_jw_array(j, "coveredResources");
    for (uint32_t i = 0; i < (n ? p->n_resources : SL_LEN(well_known)); i++)
        sl_jw_str(j, NULL, n ? p->resources[i] : well_known[i]);
    sl_jw_end(j);
    sl_jw_array(j, "flavors");
    for (uint32_t i = 0; i < p->n_flavors; i++) {
        const struct mq_plan_flavor *f = &p->flavors[i];
        if (queue_has(q, queue, f))
            put_flavor(p, f, queue ? lend_of(&q->spec->groups[f->group], queue) : NULL, j);
    }
    if (n == 0)
        put_no_flavor(j);
    sl_jw_end_to(j, j->depth - 3);
}
