/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ResourceFlavors and ClusterQueues as they are. Of an object only a hash of the fields that we
 * write is kept, computed in one form for what is and for what should be, with amounts as amounts:
 * "1Ti" and "1024Gi" are no difference, nor is a default.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/mem.h"
#include "manager/masterqueue/mq_int.h"

/* ---- one form for both ---- */

static uint64_t hash_word(uint64_t h, yyjson_val *v, const char *path, const char *absent) {
    const char *s = sl_json_str(v, path);
    return sl_hash_str(h, *s ? s : absent);
}

/* Absent is not the same as 0. */
static uint64_t hash_quantity(uint64_t h, yyjson_val *v) {
    sl_quantity q = 0;
    if (!v)
        return sl_hash_u64(h, 1);
    if (!sl_json_quantity(v, &q))
        return sl_hash_u64(h, 2);
    return sl_hash_u64(sl_hash_u64(h, (uint64_t)q), (uint64_t)(q >> 64));
}

static uint64_t hash_flavor_quotas(uint64_t h, yyjson_val *flavor) {
    size_t i, n;
    yyjson_val *v;
    h = hash_word(h, flavor, "name", "");
    yyjson_arr_foreach (sl_json_get(flavor, "resources"), i, n, v) {
        h = hash_word(h, v, "name", "");
        h = hash_quantity(h, sl_json_get(v, "nominalQuota"));
        h = hash_quantity(h, sl_json_get(v, "borrowingLimit"));
        h = hash_quantity(h, sl_json_get(v, "lendingLimit"));
    }
    return h;
}

static uint64_t hash_groups(uint64_t h, yyjson_val *groups) {
    size_t i, n, k, m;
    yyjson_val *g, *v;
    h = sl_hash_u64(h, sl_json_size(groups));
    yyjson_arr_foreach (groups, i, n, g) {
        h = sl_json_hash(h, sl_json_get(g, "coveredResources"));
        yyjson_arr_foreach (sl_json_get(g, "flavors"), k, m, v)
            h = hash_flavor_quotas(h, v);
    }
    return h;
}

/* The defaults are those of ClusterQueues. */
uint64_t mq_hash_queue(yyjson_val *spec) {
    static const struct {
        const char *path, *absent;
    } words[] = {
        {"cohortName", ""},
        {"stopPolicy", "None"},
        {"queueingStrategy", "BestEffortFIFO"},
        {"flavorFungibility.whenCanBorrow", "MayStopSearch"},
        {"flavorFungibility.whenCanPreempt", "TryNextFlavor"},
        {"flavorFungibility.preference", ""},
        {"preemption.withinClusterQueue", "Never"},
        {"preemption.reclaimWithinCohort", "Never"},
        {"preemption.borrowWithinCohort.policy", "Never"},
    };
    yyjson_val *selector = sl_json_get(spec, "namespaceSelector");
    uint64_t h = 19;
    for (size_t i = 0; i < SL_LEN(words); i++)
        h = hash_word(h, spec, words[i].path, words[i].absent);
    h = sl_json_hash(h, sl_json_at(spec, "preemption.borrowWithinCohort.maxPriorityThreshold"));
    h = sl_json_hash(sl_hash_u64(h, selector != NULL), selector); /* none chooses nothing */
    return hash_groups(h, sl_json_get(spec, "resourceGroups"));
}

static uint64_t hash_toleration(uint64_t h, yyjson_val *v) {
    h = hash_word(h, v, "operator", "Equal");
    h = hash_word(h, v, "key", "");
    return hash_word(hash_word(h, v, "value", ""), v, "effect", "");
}

uint64_t mq_hash_flavor(yyjson_val *o) {
    yyjson_val *spec = sl_json_get(o, "spec"), *v;
    size_t i, n;
    uint64_t h = sl_json_hash(23, sl_json_at(o, "metadata.labels"));
    h = sl_hash_str(h, sl_json_annotation(o, SL_MQ_POOL_ANNOTATION));
    h = sl_hash_u64(sl_json_hash(h, sl_json_get(spec, "nodeLabels")), 1);
    h = hash_word(h, spec, "topologyName", "");
    yyjson_arr_foreach (sl_json_get(spec, "nodeTaints"), i, n, v)
        h = sl_json_hash(h, v);
    h = sl_hash_u64(h, 2);
    yyjson_arr_foreach (sl_json_get(spec, "tolerations"), i, n, v)
        h = hash_toleration(h, v);
    return h;
}

/* ---- what is ---- */

static bool is_of_masterqueue(yyjson_val *o) {
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach (sl_json_at(o, "metadata.ownerReferences"), i, n, ref)
        if (yyjson_is_true(sl_json_get(ref, "controller")))
            return strcmp(sl_json_str(ref, "kind"), "MasterQueue") == 0;
    return false;
}

bool mq_flavor_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct mq_flavor_rec *f = mq_flavor_of(r);
    const char *pool = sl_json_annotation_opt(o, SL_MQ_POOL_ANNOTATION);
    uint64_t before = f->hash;
    (void)ctx;
    f->hash = mq_hash_flavor(o);
    f->has_annotations = yyjson_is_obj(sl_json_at(o, "metadata.annotations"));
    f->of_masterqueue = is_of_masterqueue(o);
    mq_set_text(&f->pool, f->of_masterqueue ? pool : NULL);
    return f->hash != before;
}

void mq_flavor_free(struct sl_rec *r) {
    sl_freep(&mq_flavor_of(r)->pool);
}

static uint64_t cell_key(const char *flavor, const char *resource) {
    return sl_hash_str(sl_hash_str(29, flavor), resource);
}

static void take_flavors(struct mq_queue_rec *c, yyjson_val *groups) {
    size_t i, n, k, m;
    yyjson_val *g, *v;
    sl_vec_clear(&c->flavors);
    yyjson_arr_foreach (groups, i, n, g)
        yyjson_arr_foreach (sl_json_get(g, "flavors"), k, m, v)
            *sl_vec_push(&c->flavors) = sl_hash_str(31, sl_json_str(v, "name"));
}

static void take_usage(struct mq_queue_rec *c, yyjson_val *usage) {
    size_t i, n, k, m;
    yyjson_val *f, *v;
    sl_vec_clear(&c->usage);
    yyjson_arr_foreach (usage, i, n, f)
        yyjson_arr_foreach (sl_json_get(f, "resources"), k, m, v) {
            struct mq_cell cell = {cell_key(sl_json_str(f, "name"), sl_json_str(v, "name")), 0};
            if (sl_json_quantity(sl_json_get(v, "total"), &cell.amount) && cell.amount > 0)
                *sl_vec_push(&c->usage) = cell;
        }
}

bool mq_queue_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct mq_queue_rec *c = mq_queue_of(r);
    yyjson_val *spec = sl_json_get(o, "spec"), *status = sl_json_get(o, "status");
    uint64_t hash = mq_hash_queue(spec), used = 0;
    int64_t reserving = sl_json_int(status, "reservingWorkloads", 0);
    (void)ctx;
    c->of_masterqueue = is_of_masterqueue(o);
    if (c->of_masterqueue) { /* what others use is their business */
        used = sl_hash_u64(sl_json_hash(37, sl_json_get(status, "flavorsUsage")), reserving > 0);
        if (used != c->status)
            take_usage(c, sl_json_get(status, "flavorsUsage"));
    }
    bool changed = hash != c->hash || used != c->status;
    if (hash != c->hash)
        take_flavors(c, sl_json_get(spec, "resourceGroups"));
    c->hash = hash;
    c->status = used;
    c->reserving = reserving;
    c->held = strncmp(sl_json_str(spec, "stopPolicy"), "Hold", strlen("Hold")) == 0;
    return changed;
}

void mq_queue_free(struct sl_rec *r) {
    struct mq_queue_rec *c = mq_queue_of(r);
    sl_vec_free(&c->flavors);
    sl_vec_free(&c->usage);
}

bool mq_names_flavor(const struct mq_queue_rec *c, const char *flavor) {
    uint64_t h = sl_hash_str(31, flavor);
    for (uint32_t i = 0; i < c->flavors.n; i++)
        if (c->flavors.v[i] == h)
            return true;
    return false;
}

/* Somebody else has the master's name, so it does not say what there is: the queues that borrow do.
 */
static bool borrowers_name(struct sl_masterqueues *m, const struct mq *q, const char *flavor,
                           bool absent) {
    bool any = false;
    for (struct sl_rec *r = sl_inf_children(m->inf, sl_rec_uid(q->rec.uid), NULL); r; r = r->next) {
        if (r->kind != MQ_CLUSTER_QUEUE || r->create_planned || r->deleting)
            continue;
        any = true;
        if (mq_names_flavor(mq_queue_of(r), flavor))
            return true;
    }
    return !any && absent;
}

bool mq_master_names(struct sl_masterqueues *m, const struct mq *q, const char *flavor,
                     bool absent) {
    struct sl_rec *r = sl_inf_find(m->inf, MQ_CLUSTER_QUEUE, "", q->rec.name);
    if (!r || r->create_planned)
        return absent;
    return mq_owns(q, r) ? mq_names_flavor(mq_queue_of(r), flavor)
                         : borrowers_name(m, q, flavor, absent);
}

sl_quantity mq_usage(struct sl_masterqueues *m, const struct mq *q, const char *flavor,
                     const char *resource) {
    uint64_t key = cell_key(flavor, resource);
    sl_quantity sum = 0;
    for (struct sl_rec *r = sl_inf_children(m->inf, sl_rec_uid(q->rec.uid), NULL); r; r = r->next)
        for (uint32_t i = 0; r->kind == MQ_CLUSTER_QUEUE && i < mq_queue_of(r)->usage.n; i++)
            if (mq_queue_of(r)->usage.v[i].key == key)
                sum += mq_queue_of(r)->usage.v[i].amount;
    return sum;
}
