/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools: what each has published, and whether it is live.
 *
 * A pool is live until it has been silent for poolTimeout and a grace period, both counted while
 * its connection was up: an outage of the messenger says nothing about the pools. After a start the
 * pools are those of which flavors remain, with the payload that is kept there, and count as heard
 * at that moment. An error of one pool is noted at that pool and shown there; nothing else is
 * affected.
 */
#include "manager/masterqueue/mq_int.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/log/log.h"

#define PERIOD_TOLERANCE 5 /* a period is another if it differs by a fifth */

static const char *group_name(const struct mq *q, const struct mq_pool *p) {
    return p->at == UINT32_MAX ? p->group : q->spec->groups[p->at].name;
}

/* ---- finding ---- */

struct mq_pool *mq_pool_find(const struct mq *q, const char *group, const char *name) {
    for (uint32_t i = 0; i < q->pools.n; i++)
        if (strcmp(q->pools.v[i]->name, name) == 0 && strcmp(q->pools.v[i]->group, group) == 0)
            return q->pools.v[i];
    return NULL;
}

struct mq_pool *mq_pool_of_flavor(const struct mq *q, const char *flavor) {
    for (uint32_t i = 0; i < q->pools.n; i++)
        if (q->pools.v[i]->flavor && strcmp(q->pools.v[i]->flavor, flavor) == 0)
            return q->pools.v[i];
    return NULL;
}

/* Its place among those of the group; false: the group does not take it. */
static bool rank_in(const struct mq_group *g, const char *name, uint32_t *ret) {
    uint64_t budget = MQ_MAX_PATTERN;
    *ret = 0;
    if (g->local)
        return false;
    if (g->pattern)
        return sl_pattern_matches(g->pattern, name, strlen(name), &budget);
    for (; *ret < g->n_pools; (*ret)++)
        if (strcmp(g->pools[*ret], name) == 0)
            return true;
    return false;
}

static uint64_t source_of(const struct mq_group *g) {
    return sl_hash_str(sl_hash_str(g->servers, g->secret), g->subject) | 1;
}

const struct mq_pool *mq_pool_known(const struct mq *q, const struct mq_group *g,
                                    const char *name) {
    for (uint32_t i = 0; i < q->pools.n; i++) {
        const struct mq_pool *p = q->pools.v[i];
        if (strcmp(p->name, name) == 0 &&
            (strcmp(p->group, g->name) == 0 || (p->at != UINT32_MAX && p->source == source_of(g))))
            return p;
    }
    return NULL;
}

/* A pattern is not asked about a name that is known, and new ones share the steps of a turn: those
 * that it was not asked about publish again. */
bool mq_pool_takes(struct sl_masterqueues *m, const struct mq *q, const struct mq_group *g,
                   const char *name) {
    uint32_t rank;
    uint64_t left = m->match_budget < MQ_MAX_PATTERN ? m->match_budget : MQ_MAX_PATTERN;
    if (!g->pattern)
        return rank_in(g, name, &rank);
    const struct mq_pool *p = mq_pool_known(q, g, name);
    if (p)
        return p->at != UINT32_MAX && &q->spec->groups[p->at] == g;
    m->match_budget -= left;
    bool takes = left && sl_pattern_matches(g->pattern, name, strlen(name), &left);
    m->match_budget += left;
    return takes;
}

/* ---- order ---- */

static int by_priority(const void *a, const void *b) {
    const struct mq_pool *x = *(struct mq_pool *const *)a, *y = *(struct mq_pool *const *)b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    int r = strcmp(x->name, y->name);
    return r ? r : strcmp(x->group, y->group);
}

static void sort_pools(struct mq *q) {
    if (q->pools.n > 1)
        qsort(q->pools.v, q->pools.n, sizeof(struct mq_pool *), by_priority);
}

/* ---- coming and going ---- */

void mq_pool_free(struct mq_pool *p) {
    sl_freep(&p->name);
    sl_freep(&p->group);
    sl_freep(&p->payload);
    sl_freep(&p->pending);
    mq_pool_free_errors(p);
    sl_freep(&p->flavor);
    sl_freep(&p);
}

void mq_pools_free(struct mq *q) {
    for (uint32_t i = 0; i < q->pools.n; i++)
        mq_pool_free(q->pools.v[i]);
    sl_vec_free(&q->pools);
    sl_vec_free(&q->ignored);
}

bool mq_pool_is_ignored(const struct mq *q, const char *name) {
    uint64_t h = sl_hash_str(11, name);
    for (uint32_t i = 0; i < q->ignored.n; i++)
        if (q->ignored.v[i] == h)
            return true;
    return false;
}

bool mq_pool_ignore(struct mq *q, const char *name) {
    if (q->ignored.n == MQ_MAX_IGNORED || mq_pool_is_ignored(q, name))
        return false;
    *sl_vec_push(&q->ignored) = sl_hash_str(11, name);
    sl_rec_enqueue(&q->rec);
    return true;
}

/* NULL: the name makes no flavor. */
static char *flavor_name(const struct mq *q, const char *group, const char *pool) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(1024);
    if (sl_masterqueue_pool_fault(sl_text_of(q->rec.name), sl_text_of(group), sl_text_of(pool)))
        return NULL;
    sl_buf_printf(&b, "%s-%s-%s", q->rec.name, group, pool);
    return sl_strdup(sl_buf_str(&b));
}

/* The first group that takes it from where it comes, as for a message; of one that comes from
 * elsewhere now, its own. */
static uint32_t group_of(const struct mq *q, const struct mq_pool *p, uint32_t *ret_rank) {
    uint32_t own = UINT32_MAX, rank;
    for (uint32_t g = 0; g < q->spec->n_groups; g++) {
        const struct mq_group *group = &q->spec->groups[g];
        if (group->local || !group->connector)
            continue;
        bool hears = p->source == source_of(group);
        if ((!hears && strcmp(group->name, p->group) != 0) || !rank_in(group, p->name, &rank))
            continue;
        *ret_rank = rank;
        own = g;
        if (hears)
            return g;
    }
    return own;
}

/* Its group and its place there, by the spec. In another group it has another flavor. */
static void place_pool(const struct mq *q, struct mq_pool *p) {
    p->rank = 0;
    p->at = group_of(q, p, &p->rank);
    if (p->at == UINT32_MAX)
        return;
    const struct mq_group *g = &q->spec->groups[p->at];
    p->source = source_of(g);
    if (strcmp(g->name, p->group) == 0)
        return;
    mq_set_text(&p->group, g->name);
    sl_freep(&p->flavor);
    p->flavor = flavor_name(q, p->group, p->name);
}

/* One that a pattern takes, and that is in no queue, goes for one that is listed. */
static bool make_room(struct mq *q, const struct mq_group *from) {
    for (uint32_t i = 0; from && !from->pattern && i < q->pools.n; i++) {
        struct mq_pool *p = q->pools.v[i];
        if (p->taken || (p->at != UINT32_MAX && !q->spec->groups[p->at].pattern))
            continue;
        mq_pool_free(p);
        memmove(&q->pools.v[i], &q->pools.v[i + 1], (--q->pools.n - i) * sizeof(struct mq_pool *));
        return true;
    }
    return false;
}

struct mq_pool *mq_pool_add(struct mq *q, const char *group, const struct mq_group *from,
                            const char *name) {
    if (q->pools.n == SL_MQ_MAX_POOLS && !make_room(q, from))
        return NULL;
    struct mq_pool *p = sl_alloc0(1, sizeof *p);
    p->name = sl_strdup(name);
    p->group = sl_strdup(group);
    p->source = from ? source_of(from) : 0;
    p->flavor = flavor_name(q, group, name);
    place_pool(q, p);
    *sl_vec_push(&q->pools) = p;
    sort_pools(q);
    return p;
}

/* Two records of one pool that are in one group now: the one that was heard last stays. */
static void drop_doubles(struct mq *q) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < q->pools.n; i++) {
        struct mq_pool *p = q->pools.v[i], *twin = left ? q->pools.v[left - 1] : NULL;
        if (!twin || p->at == UINT32_MAX || p->at != twin->at || strcmp(p->name, twin->name) != 0) {
            q->pools.v[left++] = p;
            continue;
        }
        bool newer = p->seen > twin->seen;
        q->pools.v[left - 1] = newer ? p : twin;
        mq_pool_free(newer ? twin : p);
    }
    q->pools.n = left;
}

void mq_pools_match(struct mq *q) {
    for (uint32_t i = 0; i < q->pools.n; i++)
        place_pool(q, q->pools.v[i]);
    sl_vec_clear(&q->ignored);
    sort_pools(q);
    drop_doubles(q);
}

/* ---- messages ---- */

/* One message that is lost or late is no other period. */
static void note_period(struct sl_masterqueues *m, struct mq *q, struct mq_pool *p) {
    const struct mq_group *g = &q->spec->groups[p->at];
    sl_span last = m->client->mono - p->seen, off = last - p->period;

    if (!p->heard || last <= 0)
        return;
    if (p->period && (off < 0 ? -off : off) <= p->period / PERIOD_TOLERANCE) {
        p->odd = 0;
        return;
    }
    /* Two in a row that agree with each other are another one. */
    sl_span differs = last - p->odd;
    if (p->period && (!p->odd || (differs < 0 ? -differs : differs) > p->odd / PERIOD_TOLERANCE)) {
        p->odd = last;
        return;
    }
    p->odd = 0;
    p->period = last;
    sl_rec_enqueue(&q->rec);
    bool is_long = 2 * p->period > g->timeout + SL_MQ_GRACE;
    if (is_long && !p->long_told)
        sl_rec_event(&q->rec, MQ_CONTROLLER, true, "PoolPeriodTooLong",
                     "Pool %s publishes every %lld s, and poolTimeout is %lld s: one lost message "
                     "would drop it; raise poolTimeout",
                     p->name, (long long)(p->period / SL_SEC), (long long)(g->timeout / SL_SEC));
    p->long_told = is_long;
}

static bool same_payload(const struct mq_pool *p, const struct sl_pool_payload *now) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(SL_POOL_MAX_BYTES);
    struct sl_pool_payload before;
    struct sl_err err;
    return p->payload &&
           sl_pool_payload_read(p->payload, strlen(p->payload), &a, &before, &err) >= 0 &&
           sl_pool_payload_same(&before, now);
}

bool mq_pool_take(struct sl_masterqueues *m, struct mq *q, struct mq_pool *p, const char *data,
                  size_t len) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(2 * SL_POOL_MAX_BYTES);
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(2 * SL_POOL_MAX_BYTES);
    struct sl_pool_payload now;
    struct sl_err err;

    uint64_t raw = data ? sl_hash_bytes(13, data, len) | 1 : 0;
    if (raw && raw == p->raw && (!p->left_out || p->errors[MQ_ERROR_LEFT_OUT].text)) {
        if (p->left_out)
            p->errors[MQ_ERROR_LEFT_OUT].at = m->client->mono; /* it still does */
        return true;
    }
    if (!data) {
        mq_pool_set_error(m, q, p, MQ_ERROR_MESSAGE, "the message exceeds %zu bytes",
                          SL_NATS_MAX_MESSAGE);
        return false;
    }
    if (sl_pool_payload_read(data, len, &a, &now, &err) < 0) {
        mq_pool_set_error(m, q, p, MQ_ERROR_MESSAGE, "the message is malformed: %s", err.text);
        return false;
    }
    p->raw = raw;
    if (now.n_left_out)
        mq_pool_set_error(m, q, p, MQ_ERROR_LEFT_OUT,
                          "%u labels and taints of the message are ignored: %s", now.n_left_out,
                          now.left_out);
    p->left_out = now.n_left_out > 0;
    if (same_payload(p, &now)) {
        sl_freep(&p->pending);
        return true;
    }
    sl_pool_payload_print(&now, &b);
    if (sl_buf_full(&b)) {
        mq_pool_set_error(m, q, p, MQ_ERROR_MESSAGE, "the message is too long");
        return false;
    }
    mq_set_text(&p->pending, sl_buf_str(&b));
    sl_rec_enqueue(&q->rec);
    return true;
}

/* A change takes effect at once, and the next one after a pause: one that publishes ever new values
 * does not keep the API server busy. Returns when (mono) the next is due. */
static sl_time take_pending(const struct sl_masterqueues *m, struct mq_pool *p) {
    sl_time due = sl_time_add(p->changed, MQ_CHANGE_PAUSE);
    if (!p->pending)
        return SL_TIME_NEVER;
    if (p->payload && m->client->mono < due)
        return due;
    sl_freep(&p->payload);
    p->payload = p->pending;
    p->pending = NULL;
    p->changed = m->client->mono;
    return SL_TIME_NEVER;
}

bool mq_pool_message(struct sl_masterqueues *m, struct mq *q, uint32_t group, const char *name,
                     const char *data, size_t len, const char *elsewhere) {
    const struct mq_group *g = &q->spec->groups[group];
    struct mq_pool *p = mq_pool_find(q, g->name, name);
    const char *fault = p ? NULL
                          : sl_masterqueue_pool_fault(sl_text_of(q->rec.name), sl_text_of(g->name),
                                                      sl_text_of(name));
    if (fault) { /* it can never have a flavor, so it takes no place */
        if (mq_pool_ignore(q, name))
            sl_rec_event(&q->rec, MQ_CONTROLLER, true, "PoolRefused",
                         "Pool %.63s: the name is not valid for a ResourceFlavor: %s", name, fault);
        return false;
    }
    if (!p)
        p = mq_pool_add(q, g->name, g, name);
    if (!p) {
        (void)mq_pool_ignore(q, name);
        return false;
    }
    if (elsewhere) {
        mq_pool_set_error(m, q, p, MQ_ERROR_REFUSED, "already used by MasterQueue %s", elsewhere);
        if (p->payload)
            sl_rec_enqueue(&q->rec);
        sl_freep(&p->payload); /* what it has is not counted twice */
        sl_freep(&p->pending);
        p->raw = 0;
        return false;
    }
    if (!mq_pool_take(m, q, p, data, len))
        return p->payload != NULL;
    note_period(m, q, p);
    if (p->state != MQ_LIVE)
        sl_rec_enqueue(&q->rec);
    p->seen = m->client->mono;
    p->seen_wall = m->client->wall;
    p->heard = true;
    return true;
}

/* ---- time ---- */

static sl_time expiry(const struct mq_group *g, sl_time since) {
    return sl_time_add(since, g->timeout + SL_MQ_GRACE);
}

/* When it expires; SL_TIME_NEVER while that cannot be said. */
static sl_time deadline(const struct sl_masterqueues *m, const struct mq *q,
                        const struct mq_pool *p, bool late) {
    const struct mq_group *g = &q->spec->groups[p->at];
    sl_time since;
    if (!mq_hears(m, g, &since))
        return SL_TIME_NEVER;
    since = p->seen > since ? p->seen : since;
    return sl_time_add(since, g->timeout + (late ? SL_MQ_GRACE / 2 : SL_MQ_GRACE));
}

static void set_state(struct mq *q, struct mq_pool *p, enum mq_pool_state state) {
    if (p->state == state)
        return;
    if (state == MQ_EXPIRED && p->state != MQ_REFUSED)
        sl_rec_event(&q->rec, MQ_CONTROLLER, true, "PoolExpired",
                     "Pool %s of group %s has been silent for more than poolTimeout and leaves the "
                     "queues",
                     p->name, group_name(q, p));
    p->state = state;
}

static sl_time age_pool(struct sl_masterqueues *m, struct mq *q, struct mq_pool *p) {
    sl_time now = m->client->mono;
    sl_time next = sl_time_min(take_pending(m, p), mq_pool_age_errors(m, p));

    if (p->at == UINT32_MAX) {
        p->state = MQ_EXPIRED; /* the spec says so, and that needs no event */
        return next;
    }
    if (!p->payload || !p->flavor) {
        p->state = MQ_REFUSED; /* nothing of it was ever understood */
        return next;
    }
    sl_time late = deadline(m, q, p, true), end = deadline(m, q, p, false);
    bool down = end == SL_TIME_NEVER;
    /* It lives again when it is heard, not when the connection is new. */
    if (p->state == MQ_EXPIRED && now >= expiry(&q->spec->groups[p->at], p->seen))
        return next;
    if (now >= end) {
        set_state(q, p, MQ_EXPIRED);
        return next;
    }
    set_state(q, p, now >= late || down ? MQ_LATE : MQ_LIVE);
    return sl_time_min(next, now >= late ? end : late);
}

/* Nothing refers to it: its flavor is gone, and nobody has heard of it for long. A flavor of the
 * name that somebody else owns, or an earlier MasterQueue, is not its own. */
static bool is_forgotten(const struct sl_masterqueues *m, const struct mq *q,
                         const struct mq_pool *p) {
    if ((p->state != MQ_EXPIRED && p->state != MQ_REFUSED) || mq_pool_has_error(p))
        return false;
    const struct sl_rec *r = p->flavor ? sl_inf_find(m->inf, MQ_FLAVOR, "", p->flavor) : NULL;
    return !r || !mq_owns(q, r);
}

sl_time mq_pools_age(struct sl_masterqueues *m, struct mq *q) {
    sl_time next = SL_TIME_NEVER;
    uint32_t left = 0;
    for (uint32_t i = 0; i < q->pools.n; i++) {
        struct mq_pool *p = q->pools.v[i];
        next = sl_time_min(next, age_pool(m, q, p));
        if (is_forgotten(m, q, p))
            mq_pool_free(p);
        else
            q->pools.v[left++] = p;
    }
    q->pools.n = left;
    return next;
}
