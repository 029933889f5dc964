/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools that were there before: what flavors have kept of them, after a start and when a standby
 * begins to lead, and how long queues wait for pools of which nothing is kept.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "manager/masterqueue/mq_int.h"

/* Another group has it now that hears the same: it is not there twice. */
static bool has_moved(const struct mq *q, const char *group, const char *name) {
    for (uint32_t i = 0; i < q->spec->n_groups; i++) {
        const struct mq_group *g = &q->spec->groups[i];
        if (!g->local && g->connector && strcmp(g->name, group) == 0)
            return mq_pool_known(q, g, name) != NULL;
    }
    return false;
}

/* It counts as heard now. */
static void set_live(const struct sl_masterqueues *m, struct mq_pool *p) {
    p->seen = m->client->mono;
    p->seen_wall = m->client->wall;
    p->taken = true;
    p->state = MQ_LIVE;
}

/* {"group":…,"pool":…,"payload":{…}}, as desired.c writes it. One that is not 'live' is shown as
 * long as its flavor is there. */
static void restore(struct sl_masterqueues *m, struct mq *q, const char *text, bool live) {
    _cleanup_(sl_json_docp) yyjson_doc *d = sl_json_doc(text, strlen(text));
    yyjson_val *root = yyjson_doc_get_root(d);
    const char *group = sl_json_str(root, "group"), *name = sl_json_str(root, "pool");
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(2 * SL_POOL_MAX_BYTES);

    if (!*group || !*name || mq_pool_find(q, group, name) || has_moved(q, group, name))
        return;
    struct mq_pool *p = mq_pool_add(q, group, NULL, name);
    if (!p)
        return;
    sl_json_put(&b, sl_json_get(root, "payload"));
    if (!sl_buf_full(&b))
        (void)mq_pool_take(m, q, p, sl_buf_str(&b), b.len);
    if (live) {
        set_live(m, p);
    } else {
        p->seen = m->client->mono;
        p->state = MQ_EXPIRED;
        if (p->at != UINT32_MAX)
            p->seen -= q->spec->groups[p->at].timeout + SL_MQ_GRACE;
    }
}

/* Has it published since its connection is up? */
static bool is_heard(const struct sl_masterqueues *m, const struct mq *q, const struct mq_pool *p) {
    const struct mq_group *g = p->at != UINT32_MAX ? &q->spec->groups[p->at] : NULL;
    sl_time since;
    return p->heard && mq_hears(m, g, &since) && p->seen >= since;
}

/* What was restored before and never heard since: the leader before us knew better. */
static void drop_unheard(const struct sl_masterqueues *m, struct mq *q) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < q->pools.n; i++) {
        struct mq_pool *p = q->pools.v[i];
        if (p->payload && !is_heard(m, q, p))
            mq_pool_free(p);
        else
            q->pools.v[left++] = p;
    }
    q->pools.n = left;
}

static void restore_flavor(struct sl_masterqueues *m, struct mq *q, struct sl_rec *r) {
    struct mq_pool *p = mq_pool_of_flavor(q, r->name);
    bool live = mq_master_names(m, q, r->name, true);
    if (!p)
        restore(m, q, mq_flavor_of(r)->pool, live);
    else if (live && !p->heard && p->state == MQ_EXPIRED && p->at != UINT32_MAX)
        set_live(m, p); /* the queue that names it came after it */
}

/* When it begins to lead, and for a moment after: what the leader before it wrote last may not be
 * here yet, first the flavor and then the queue that names it. A flavor that the master has dropped
 * is there for the work that still runs on it. */
void mq_pools_restore(struct sl_masterqueues *m, struct mq *q) {
    if (q->restored && m->client->mono >= sl_time_add(m->led_since, MQ_UNUSED_PAUSE))
        return;
    if (!q->restored)
        drop_unheard(m, q);
    q->restored = true;
    for (struct sl_rec *r = sl_inf_children(m->inf, sl_rec_uid(q->rec.uid), NULL); r; r = r->next)
        if (r->kind == MQ_FLAVOR && !r->create_planned && mq_flavor_of(r)->pool)
            restore_flavor(m, q, r);
}

/* An upgrade from a controller that kept nothing of its pools. */
static bool may_be_of(const struct mq *q, const struct mq_group *g, const char *flavor) {
    char prefix[2 * SL_REC_NAME + 2];
    sl_fmt_short(prefix, sizeof prefix, "%s-%s-", q->rec.name, g->name);
    return !g->local && strncmp(flavor, prefix, strlen(prefix)) == 0;
}

static sl_time settled_at(const struct sl_masterqueues *m, const struct mq *q, const char *flavor) {
    sl_time at = 0;
    for (uint32_t i = 0; i < q->spec->n_groups; i++) {
        const struct mq_group *g = &q->spec->groups[i];
        if (!may_be_of(q, g, flavor))
            continue;
        sl_time since, end = SL_TIME_NEVER;
        if (mq_hears(m, g, &since))
            end = sl_time_add(since, g->timeout + SL_MQ_GRACE);
        at = end > at ? end : at;
    }
    return at;
}

bool mq_pools_unsettled(struct sl_masterqueues *m, const struct mq *q, sl_time *next) {
    bool any = false;
    for (struct sl_rec *r = sl_inf_children(m->inf, sl_rec_uid(q->rec.uid), NULL); r; r = r->next) {
        if (r->kind != MQ_FLAVOR || r->create_planned || mq_flavor_of(r)->pool ||
            mq_pool_of_flavor(q, r->name) || !mq_master_names(m, q, r->name, false))
            continue;
        sl_time at = settled_at(m, q, r->name);
        any |= at > m->client->mono;
        if (at > m->client->mono)
            *next = sl_time_min(*next, at);
    }
    return any;
}
