/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds, the reconciliation of a MasterQueue, and the turn. */
#include "manager/masterqueue/mq_int.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/mem.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

#define MAX_IN_FLIGHT 16u
#define MAX_EVENTS 4096u /* to be written, or may become a series */

void mq_set_text(char **to, const char *text) {
    char *copy = text ? sl_strdup(text) : NULL;
    sl_freep(to);
    *to = copy;
}

void mq_enqueue_all(struct sl_masterqueues *m) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, MQ_MASTER_QUEUE, &at));)
        sl_rec_enqueue(r);
}

/* ---- a MasterQueue ---- */

static void take_labels(struct mq *q, yyjson_val *labels) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MQ_MAX_OBJECT);
    sl_freep(&q->labels);
    if (sl_json_size(labels) == 0 || sl_json_size(labels) > MQ_MAX_LABELS)
        return;
    sl_json_put(&b, labels);
    if (!sl_buf_full(&b))
        q->labels = sl_strdup(sl_buf_str(&b));
}

static bool decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_masterqueues *m = ctx;
    struct mq *q = mq_of(r);
    yyjson_val *spec = sl_json_get(o, "spec"), *labels = sl_json_at(o, "metadata.labels");
    uint64_t hash = sl_json_hash(sl_json_hash(47, labels), spec) | 1;
    bool others = mq_status_take(q, sl_json_get(o, "status"));

    if (hash == q->spec_hash)
        return others;
    q->spec_hash = hash;
    take_labels(q, labels);
    mq_spec_free(q->spec);
    q->spec = mq_spec_new(r->name, spec);
    mq_pools_match(q);
    m->relink = true;
    return true;
}

static void deleted(void *ctx, struct sl_rec *r) {
    struct sl_masterqueues *m = ctx;
    (void)r;
    m->relink = true; /* its connections, and pools that another may take now */
}

static void free_masterqueue(struct sl_rec *r) {
    struct mq *q = mq_of(r);
    mq_pools_free(q);
    mq_spec_free(q->spec);
    mq_plan_free(q->plan);
    mq_status_free(q);
    sl_freep(&q->labels);
    sl_freep(&q->foreign);
    sl_freep(&q->foreign_flavor);
    sl_freep(&q->refused);
    sl_freep(&q->refusal);
}

static bool flavor_exists(void *ctx, const char *name) {
    const struct sl_masterqueues *m = ctx;
    const struct sl_rec *r = sl_inf_find(m->inf, MQ_FLAVOR, "", name);
    return r && !r->create_planned;
}

static bool resource_used(void *ctx, const struct mq *q, const char *resource) {
    for (uint32_t i = 0; i < q->plan->n_flavors; i++)
        if (mq_usage(ctx, q, q->plan->flavors[i].name, resource) > 0)
            return true;
    return false;
}

static bool sees_objects(const struct sl_masterqueues *m) {
    return sl_inf_watches(m->inf, MQ_FLAVOR) && sl_inf_synced(m->inf, MQ_FLAVOR) &&
           sl_inf_synced(m->inf, MQ_CLUSTER_QUEUE);
}

static void reconcile(void *ctx, struct sl_rec *r) {
    struct sl_masterqueues *m = ctx;
    struct mq *q = mq_of(r);
    if (r->deleting && !q->ended)
        q->ended = m->relink = true; /* what it owns goes with it */
    if (r->deleting || !sees_objects(m))
        return;
    mq_pools_restore(m, q);
    sl_time next = mq_pools_age(m, q);
    struct mq_plan *before = q->plan;
    q->plan = mq_plan_new(q, &(struct mq_plan_asks){flavor_exists, resource_used, m});
    mq_plan_free(before);
    next = sl_time_min(next, mq_objects_sync(m, q));
    mq_status_sync(m, q);
    sl_rec_reconcile_at(
        r, next == SL_TIME_NEVER ? 0 : sl_time_add(m->client->wall, next - m->client->mono));
}

static bool build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    return !r->deleting && mq_status_build(ctx, mq_of(r), w);
}

static void written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply) {
    (void)ctx, (void)w, (void)reply;
    mq_status_written(mq_of(r), how);
}

/* A flavor or a queue that is none of ours, or no longer: any MasterQueue may name it. */
static void other_changed(void *ctx, struct sl_rec *r) {
    if (!sl_inf_by_uid(r->table->informer, r->owner))
        mq_enqueue_all(ctx);
}

static void other_gone(void *ctx, struct sl_rec *r) {
    (void)r;
    mq_enqueue_all(ctx);
}

static const struct sl_rec_kind kinds[MQ_KINDS] = {
    [MQ_SECRET] = {SL_REC_CORE_API("secrets", "Secret"), .namespaced = true,
                   .size = sizeof(struct mq_secret), .decode = mq_secret_decode,
                   .reconcile = mq_secret_reconcile, .free = mq_secret_free,
                   .build = mq_secret_build, .written = mq_secret_written},
    [MQ_FLAVOR] = {SL_REC_API(MQ_KUEUE_API, "resourceflavors", "ResourceFlavor"), .owners = true,
                   .size = sizeof(struct mq_flavor_rec), .decode = mq_flavor_decode,
                   .reconcile = other_changed, .deleted = other_gone, .free = mq_flavor_free,
                   .build = mq_flavor_build},
    [MQ_CLUSTER_QUEUE] = {SL_REC_API(MQ_KUEUE_API, "clusterqueues", "ClusterQueue"), .owners = true,
                          .size = sizeof(struct mq_queue_rec), .decode = mq_queue_decode,
                          .reconcile = other_changed, .deleted = other_gone, .free = mq_queue_free,
                          .build = mq_queue_build},
    [MQ_MASTER_QUEUE] = {SL_REC_API("vk.io/v1", "masterqueues", "MasterQueue"), .owners = true,
                         .lane = 1, .size = sizeof(struct mq), .decode = decode,
                         .reconcile = reconcile, .deleted = deleted, .free = free_masterqueue,
                         .build = build, .written = written, .child = mq_child},
};

/* ---- life ---- */

static void on_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                       const struct sl_kube_reply *reply) {
    struct sl_masterqueues *m = ctx;
    if (how == SL_WRITE_REFUSED && r->kind != MQ_SECRET)
        sl_log(SL_LOG_WARN, "write rejected by the API server", SL_S("path", sl_buf_str(&w->path)),
               SL_I("status", reply->status));
    if (r->kind != MQ_FLAVOR && r->kind != MQ_CLUSTER_QUEUE)
        return;
    struct sl_rec *owner = sl_inf_by_uid(m->inf, r->owner);
    if (owner && owner->kind == MQ_MASTER_QUEUE)
        mq_object_written(m, mq_of(owner), r, how, reply);
}

struct sl_masterqueues *sl_masterqueues_new(const struct sl_masterqueues_spec *spec) {
    struct sl_masterqueues *m = sl_alloc0(1, sizeof *m);
    m->spec = *spec;
    m->client = spec->client;
    m->inf = sl_inf_new(&(struct sl_inf_spec){
        .client = spec->client,
        .kinds = kinds,
        .n_kinds = MQ_KINDS,
        .ctx = m,
        .field_manager = "sluice-masterqueue",
        .max_in_flight = MAX_IN_FLIGHT,
        .seed = spec->seed,
        .written = on_written,
        .events = {.instance = spec->instance, .max_known = MAX_EVENTS},
    });
    m->inf->writes = !spec->standby;
    m->led_since = m->client->mono;
    sl_inf_watch(m->inf, MQ_MASTER_QUEUE);
    return m;
}

void sl_masterqueues_free(struct sl_masterqueues *m) {
    if (!m)
        return;
    mq_links_free(m);
    sl_inf_free(m->inf);
    sl_freep(&m);
}

void sl_masterqueues_lead(struct sl_masterqueues *m, bool lead) {
    if (m->inf->writes == lead)
        return;
    m->inf->writes = lead;
    m->led_since = m->client->mono;
    uint32_t at = 0;
    for (struct sl_rec *r; lead && (r = sl_inf_each(m->inf, MQ_MASTER_QUEUE, &at));)
        mq_of(r)->restored = false; /* a standby may have heard nothing of its pools */
    for (uint32_t i = 0; lead && i < m->inf->recs.n; i++)
        if (m->inf->recs.v[i] && !m->inf->recs.v[i]->gone) {
            sl_rec_enqueue(m->inf->recs.v[i]);
            sl_rec_write(m->inf->recs.v[i]);
        }
}

/* ---- the turn ---- */

/* Flavors and queues are read once there is a MasterQueue. */
static void start_watches(struct sl_masterqueues *m) {
    if (sl_inf_watches(m->inf, MQ_FLAVOR) || m->inf->tables[MQ_MASTER_QUEUE].n == 0)
        return;
    sl_inf_watch(m->inf, MQ_FLAVOR);
    sl_inf_watch(m->inf, MQ_CLUSTER_QUEUE);
}

void sl_masterqueues_tick(struct sl_masterqueues *m) {
    start_watches(m);
    m->inf->ready |= sl_inf_poll(m->inf);
    start_watches(m);
    if (!m->inf->ready)
        return;
    if (sees_objects(m) != m->synced) {
        m->synced = !m->synced;
        mq_enqueue_all(m);
    }
    mq_links_sync(m);
    mq_links_poll(m);
    (void)sl_inf_wake(m->inf);
    if (!sl_inf_settle(m->inf))
        sl_log(SL_LOG_ERROR, "reconciliation did not converge", SL_I("passes", SL_INF_MAX_PASSES));
    sl_inf_flush(m->inf);
    if (sl_syms_due(&m->inf->syms))
        sl_inf_sweep(m->inf);
}

sl_time sl_masterqueues_next(const struct sl_masterqueues *m) {
    sl_time at =
        sl_time_min(sl_time_min(sl_inf_next(m->inf), sl_inf_next_timer(m->inf)), mq_links_next(m));
    return m->relink && m->inf->ready ? m->client->mono : at;
}

bool sl_masterqueues_idle(const struct sl_masterqueues *m) {
    return sl_inf_idle(m->inf) && !m->relink;
}
