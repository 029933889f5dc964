/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a plan to writes: what is missing is created, what differs is changed, what is unused goes.
 * An object that another owns is neither changed nor deleted. Flavors are written before the queues
 * that name them, and deleted when no queue names them and no admitted work uses them.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "manager/masterqueue/mq_int.h"

#define MAX_ANSWER 300u /* of a refusal, as it is shown */

/* A refusal is over when the queue is as it should be, or need not be. */
static void forget_refusal(struct sl_masterqueues *m, struct mq *q) {
    struct sl_rec *r = q->refused ? sl_inf_find(m->inf, MQ_CLUSTER_QUEUE, "", q->refused) : NULL;
    if (!q->refused || (r && mq_owns(q, r) && !mq_queue_is_right(q, r)))
        return;
    sl_freep(&q->refused);
    sl_freep(&q->refusal);
}

/* Of a MasterQueue that is gone: the garbage collector has not been there yet. */
static bool is_left_over(const struct sl_rec *r, bool of_masterqueue) {
    return of_masterqueue && !sl_inf_by_uid(r->table->informer, r->owner);
}

/* A flavor that is not here, and that a queue names, does not leave it for that. A leader before us
 * has created it, and a watch that hangs has not shown it yet; or somebody took it away, and it is
 * created again. One that the API server refuses does: it would make the queue inactive. */
static bool stays_named(struct sl_masterqueues *m, const struct mq *q,
                        const struct mq_plan_flavor *f) {
    struct sl_rec *r = sl_inf_children(m->inf, sl_rec_uid(q->rec.uid), NULL);
    if (q->pools.v[f->pool]->errors[MQ_ERROR_REFUSED].text)
        return false;
    for (; r; r = r->next)
        if (r->kind == MQ_CLUSTER_QUEUE && mq_names_flavor(mq_queue_of(r), f->name))
            return true;
    return false;
}

/* A flavor of a pool: it is created, compared, or somebody else's. */
static void sync_flavor(struct sl_masterqueues *m, struct mq *q, struct mq_plan_flavor *f) {
    struct sl_rec *r = sl_inf_find(m->inf, MQ_FLAVOR, "", f->name);
    f->written = false;
    if (f->pool == UINT32_MAX) {
        f->written = r && !r->create_planned;
    } else if (!r) {
        f->written = stays_named(m, q, f);
        (void)sl_rec_plan_create(&q->rec, MQ_FLAVOR, f->name);
    } else if (r->create_planned && mq_owns(q, r)) {
        f->written = stays_named(m, q, f);
        sl_rec_write(r);
    } else if (is_left_over(r, mq_flavor_of(r)->of_masterqueue)) {
        q->waits = true;
    } else if (!mq_owns(q, r)) {
        q->pools.v[f->pool]->state = MQ_REFUSED;
        mq_pool_set_error(m, q, q->pools.v[f->pool], MQ_ERROR_REFUSED,
                          "ResourceFlavor %s is not owned by this MasterQueue", f->name);
        if (!q->foreign_flavor)
            mq_set_text(&q->foreign_flavor, f->name);
    } else if (r->deleting) { /* one that is in use stays until it is not */
        f->written = mq_master_names(m, q, f->name, false);
        sl_rec_write(r);
    } else {
        f->written = true;
        if (!sl_rec_busy(r))
            r->delete_planned = false; /* it came back in time */
        sl_rec_write(r);
    }
}

static void sync_queue(struct sl_masterqueues *m, struct mq *q, const char *name, bool needed) {
    struct sl_rec *r = sl_inf_find(m->inf, MQ_CLUSTER_QUEUE, "", name);
    if (!r && needed)
        (void)sl_rec_plan_create(&q->rec, MQ_CLUSTER_QUEUE, name);
    else if (r && mq_owns(q, r))
        sl_rec_write(r);
    else if (r && needed && is_left_over(r, mq_queue_of(r)->of_masterqueue))
        q->waits = true;
    else if (r && needed && !q->foreign)
        mq_set_text(&q->foreign, name);
}

static bool is_named(struct sl_masterqueues *m, const char *flavor) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, MQ_CLUSTER_QUEUE, &at));)
        if (mq_names_flavor(mq_queue_of(r), flavor))
            return true;
    return false;
}

/* Flavors of pools that are no more. One that has just come to be unused stays for a moment: a
 * leader before us may have made it, and the queue that names it not be here yet. Returns when
 * (mono) to look again. */
static sl_time drop_unused(struct sl_masterqueues *m, struct mq *q) {
    sl_time next = SL_TIME_NEVER;
    struct sl_rec *r = sl_inf_children(m->inf, sl_rec_uid(q->rec.uid), NULL), *after;
    if (!m->inf->writes)
        return next; /* a standby plans no deletion for the time when it leads */
    for (; r; r = after) {
        after = r->next;
        if (r->kind != MQ_FLAVOR || r->deleting || mq_plan_find(q->plan, r->name))
            continue;
        struct mq_flavor_rec *f = mq_flavor_of(r);
        if (is_named(m, r->name)) {
            f->unused_since = SL_TIME_NEVER;
            continue; /* the queue is written, and its change brings us back */
        }
        if (m->spec.flavor_used && m->spec.flavor_used(m->spec.ctx, r->name))
            f->unused_since = SL_TIME_NEVER;
        if (f->unused_since == SL_TIME_NEVER || f->unused_since < m->led_since)
            f->unused_since = m->client->mono;
        sl_time due = sl_time_add(f->unused_since, MQ_UNUSED_PAUSE);
        if (m->client->mono >= due)
            sl_rec_plan_delete(r);
        else
            next = sl_time_min(next, due);
    }
    return next;
}

/* Names of group and pool join to one name in two ways: the flavor is that of the first. */
static void refuse_namesakes(struct sl_masterqueues *m, struct mq *q) {
    for (uint32_t i = 0; i < q->pools.n; i++) {
        struct mq_pool *p = q->pools.v[i];
        const struct mq_plan_flavor *f = p->flavor ? mq_plan_find(q->plan, p->flavor) : NULL;
        if (!f || f->pool == i || f->pool == UINT32_MAX ||
            (p->state != MQ_LIVE && p->state != MQ_LATE))
            continue;
        p->state = MQ_REFUSED;
        mq_pool_set_error(m, q, p, MQ_ERROR_REFUSED,
                          "ResourceFlavor %s is that of pool %s of group %s", p->flavor,
                          q->pools.v[f->pool]->name, q->pools.v[f->pool]->group);
    }
}

sl_time mq_objects_sync(struct sl_masterqueues *m, struct mq *q) {
    sl_time next = SL_TIME_NEVER;
    if (q->plan->full)
        return next;
    sl_freep(&q->foreign);
    sl_freep(&q->foreign_flavor);
    q->waits = false;
    for (uint32_t i = 0; i < q->plan->n_flavors; i++)
        sync_flavor(m, q, &q->plan->flavors[i]);
    refuse_namesakes(m, q);
    q->frozen = mq_pools_unsettled(m, q, &next);
    if (q->frozen)
        return next;
    sync_queue(m, q, q->rec.name, true);
    for (uint32_t i = 0; i < q->spec->n_borrowers; i++)
        sync_queue(m, q, q->spec->borrowers[i], mq_plan_queue_size(q, q->spec->borrowers[i]) > 0);
    for (struct sl_rec *r = sl_inf_children(m->inf, sl_rec_uid(q->rec.uid), NULL); r; r = r->next)
        if (r->kind == MQ_CLUSTER_QUEUE && !mq_borrower_of(q, r->name))
            sl_rec_write(r);
    forget_refusal(m, q);
    return sl_time_min(next, drop_unused(m, q));
}

/* ---- answers ---- */

static void excerpt(const struct sl_kube_reply *reply, char out[MAX_ANSWER]) {
    _cleanup_(sl_json_docp) yyjson_doc *d = sl_json_doc(reply->body, reply->len);
    const char *text = sl_json_str(yyjson_doc_get_root(d), "message");
    sl_fmt_short(out, MAX_ANSWER, "%s", *text ? text : "no reason given");
}

void mq_object_written(struct sl_masterqueues *m, struct mq *q, const struct sl_rec *child,
                       enum sl_written how, const struct sl_kube_reply *reply) {
    char why[MAX_ANSWER];
    if (how != SL_WRITE_REFUSED)
        return;
    excerpt(reply, why);
    struct mq_pool *p = child->kind == MQ_FLAVOR ? mq_pool_of_flavor(q, child->name) : NULL;
    if (p) {
        mq_pool_set_error(m, q, p, MQ_ERROR_REFUSED,
                          "the API server rejected its ResourceFlavor: %s", why);
    } else if (!q->refused) {
        mq_set_text(&q->refused, child->name);
        mq_set_text(&q->refusal, why);
        sl_rec_enqueue(&q->rec);
    }
}
