/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a MasterQueue generates, a second time and as plainly as possible: from its spec, from the
 * pools that publish, and from nothing that the controller made. The comparison is by meaning:
 * amounts as quantities, lists of flavors in their order.
 *
 * Rules, in the order of the specification: a group's pools in the order of its list, else by name;
 * of a resource the smaller of what is published and what the administrator allows; flavors by
 * MasterQueue, group and pool, with the virtual node's label, its taint first, and the toleration
 * of the pool; the master queue has all flavors, groups in their order; a borrower has those of
 * groups that list it, nothing of its own, and its limits; without flavors a master is on hold with
 * a flavor that does not exist, and a borrower is not there, or on hold.
 */
#include "mqworld.h"

struct flavor {
    char name[96];
    const struct group *group;
    const struct pool *pool; /* NULL: local */
};

struct flavors {
    struct flavor v[MAX_POOLS + MAX_GROUPS];
    uint32_t n;
    uint32_t resources; /* that the queues of the MasterQueue cover */
};

static int by_name(const void *a, const void *b) {
    return strcmp((*(const struct pool *const *)a)->name, (*(const struct pool *const *)b)->name);
}

static uint32_t ordered(const struct world *w, const struct group *g,
                        const struct pool *out[MAX_POOLS]) {
    uint32_t n = 0;

    if (g->pattern == MQ_LISTED) {
        for (uint32_t i = 0; i < g->n_listed; i++)
            if (w->pools[g->listed[i]].publishes)
                out[n++] = &w->pools[g->listed[i]];
        return n;
    }
    for (uint32_t i = 0; i < w->n_pools; i++)
        if (w->pools[i].publishes && group_reads(w, g, &w->pools[i]))
            out[n++] = &w->pools[i];
    qsort(out, n, sizeof *out, by_name);
    return n;
}

struct kept {
    uint32_t m;
    bool found;
};

static void has_fpga(void *ctx, yyjson_val *o) {
    struct kept *k = ctx;

    k->found |= world_owner(o) == k->m &&
                strstr(sl_json_annotation(o, SL_MQ_POOL_ANNOTATION), mq_resources[FPGA]);
}

/* Those of the whole, or of one borrower. What a flavor has that is left for its work stays
 * covered. */
static void wanted(struct world *w, uint32_t m, uint32_t borrower, struct flavors *out) {
    const struct mq_spec *s = mq_now(&w->mqs[m]);

    struct kept kept = {.m = m};

    (void)fakeapi_each(w->api, KUEUE "/resourceflavors", has_fpga, &kept);
    out->n = 0;
    out->resources = kept.found ? RESOURCES : COMMON;
    for (uint32_t i = 0; i < s->n_groups; i++) {
        const struct group *g = &s->groups[i];
        const struct pool *pools[MAX_POOLS];
        bool lends = borrower == UINT32_MAX;
        for (uint32_t l = 0; l < g->n_lends; l++)
            lends |= g->lends[l].borrower == borrower;
        for (uint32_t p = 0, n = g->local ? 0 : ordered(w, g, pools); p < n; p++)
            if (pools[p]->has[FPGA] >= 0 && !pools[p]->flat)
                out->resources = RESOURCES;
        if (!lends)
            continue;
        if (g->local && w->locals[g->number]) {
            struct flavor *f = &out->v[out->n++];
            *f = (struct flavor){.group = g};
            flavor_name(w, m, g, NULL, f->name);
        }
        for (uint32_t p = 0, n = g->local ? 0 : ordered(w, g, pools); p < n; p++) {
            struct flavor *f = &out->v[out->n];
            *f = (struct flavor){.group = g, .pool = pools[p]};
            flavor_name(w, m, g, pools[p], f->name);
            if (!world_is_foreign(w, "resourceflavors", f->name) && out->n < SL_MQ_MAX_FLAVORS)
                out->n++;
        }
    }
}

/* ---- amounts, in nano-units ---- */

static sl_quantity amount(uint32_t r, int64_t n) {
    static const char *const defaults[COMMON] = {"1M", "1Ei", "100000", "10000"};
    sl_quantity q = 0;

    if (n < 0)
        sl_assert(sl_quantity_parse(defaults[r], strlen(defaults[r]), &q, NULL) == 0);
    else
        q = (sl_quantity)n * SL_NANO * (r == MEMORY ? (sl_quantity)1 << 30 : 1);
    return q;
}

static sl_quantity quota(const struct flavor *f, uint32_t r) {
    bool limited = r < COMMON && f->group->has_nominal;
    sl_quantity nominal = limited ? amount(r, f->group->nominal[r]) : 0;

    if (!f->pool) /* a local one without nominalQuota has the schema's defaults */
        return limited || r >= COMMON ? nominal : amount(r, -1);
    sl_quantity has = f->pool->has[r] < 0 ? 0 : amount(r, f->pool->has[r]);
    return limited && nominal < has ? nominal : has;
}

/* ---- comparing ---- */

static void expect_text(struct world *w, const char *what, const char *is, const char *should) {
    if (strcmp(is, should) != 0)
        world_fail(w, "%s is \"%s\", expected \"%s\"", what, is, should);
}

static void expect_quantity(struct world *w, const char *queue, const char *flavor,
                            const char *what, yyjson_val *is, sl_quantity should) {
    char text[SL_QUANTITY_TEXT], other[SL_QUANTITY_TEXT];
    sl_quantity q = -1;

    if (!sl_json_quantity(is, &q) || q != should)
        world_fail(w, "%s, %s: %s is %s, expected %s", queue, flavor, what,
                   sl_quantity_format(q, other), sl_quantity_format(should, text));
}

static void compare_resources(struct world *w, const char *queue, const struct flavor *f,
                              yyjson_val *is, uint32_t borrower, uint32_t resources) {
    const struct lend *lend = NULL;

    for (uint32_t l = 0; l < f->group->n_lends; l++)
        if (f->group->lends[l].borrower == borrower)
            lend = &f->group->lends[l];
    if (sl_json_size(sl_json_at(is, "resources")) != resources)
        world_fail(w, "%s, %s: %zu resources", queue, f->name,
                   sl_json_size(sl_json_at(is, "resources")));
    for (uint32_t r = 0; r < resources && !w->failed; r++) {
        yyjson_val *q = yyjson_arr_get(sl_json_at(is, "resources"), r);
        yyjson_val *limit = sl_json_get(q, "borrowingLimit");
        expect_text(w, f->name, sl_json_str(q, "name"), mq_resources[r]);
        expect_quantity(w, queue, f->name, mq_resources[r], sl_json_get(q, "nominalQuota"),
                        lend ? 0 : quota(f, r));
        if (lend && r < COMMON && lend->limit[r] >= 0)
            expect_quantity(w, queue, f->name, "borrowingLimit", limit, amount(r, lend->limit[r]));
        else if (limit)
            world_fail(w, "%s, %s: there is a borrowingLimit", queue, f->name);
        if (sl_json_get(q, "lendingLimit"))
            world_fail(w, "%s, %s: there is a lendingLimit", queue, f->name);
    }
}

static void compare_owner(struct world *w, const char *name, yyjson_val *o, uint32_t m) {
    yyjson_val *first = yyjson_arr_get(sl_json_at(o, "metadata.ownerReferences"), 0);
    char mq[32], path[64];

    (void)snprintf(mq, sizeof mq, "mq-%u", m);
    (void)snprintf(path, sizeof path, VK "/masterqueues/%s", mq);
    expect_text(w, name, sl_json_str(first, "apiVersion"), "vk.io/v1");
    expect_text(w, name, sl_json_str(first, "kind"), "MasterQueue");
    expect_text(w, name, sl_json_str(first, "name"), mq);
    if (!sl_json_bool(first, "controller", false) ||
        !sl_json_bool(first, "blockOwnerDeletion", false))
        world_fail(w, "%s: its owner is no controller, or does not block", name);
    char uid[64];
    (void)snprintf(uid, sizeof uid, "%s", sl_json_str(first, "uid"));
    expect_text(w, name, uid, sl_json_str(fakeapi_get(w->api, path), "metadata.uid"));
}

static void compare_queue(struct world *w, uint32_t m, const char *name, uint32_t borrower,
                          const struct flavors *should) {
    uint32_t resources = should->n ? should->resources : COMMON;
    char path[128], cohort[32];
    yyjson_val *f;
    size_t i, n;

    (void)snprintf(path, sizeof path, KUEUE "/clusterqueues/%s", name);
    (void)snprintf(cohort, sizeof cohort, "cohort-%u", m);
    yyjson_val *o = fakeapi_get(w->api, path);
    if (!o) {
        world_fail(w, "ClusterQueue %s is not there, expected %u flavors", name, should->n);
        return;
    }
    yyjson_val *groups = sl_json_at(o, "spec.resourceGroups"), *only = yyjson_arr_get(groups, 0);
    expect_text(w, name, sl_json_str(o, "spec.cohortName"), cohort);
    expect_text(w, name, sl_json_str(o, "spec.queueingStrategy"), "BestEffortFIFO");
    expect_text(w, name, sl_json_str(o, "spec.stopPolicy"),
                should->n ? mq_now(&w->mqs[m])->stop : "Hold");
    if (sl_json_size(groups) != 1 ||
        sl_json_size(sl_json_at(only, "coveredResources")) != resources)
        world_fail(w, "%s: %zu resource groups", name, sl_json_size(groups));
    for (uint32_t r = 0; r < resources; r++)
        expect_text(w, name, sl_json_text(yyjson_arr_get(sl_json_at(only, "coveredResources"), r)),
                    mq_resources[r]);
    if (sl_json_size(sl_json_at(only, "flavors")) != (should->n ? should->n : 1))
        world_fail(w, "%s has %zu flavors, expected %u", name,
                   sl_json_size(sl_json_at(only, "flavors")), should->n);
    yyjson_arr_foreach (sl_json_at(only, "flavors"), i, n, f) {
        if (w->failed)
            return;
        expect_text(w, name, sl_json_str(f, "name"),
                    should->n ? should->v[i].name : SL_MQ_NO_FLAVOR);
        if (!w->failed && should->n)
            compare_resources(w, name, &should->v[i], f, borrower, resources);
    }
    compare_owner(w, name, fakeapi_get(w->api, path), m);
}

static void compare_taints(struct world *w, const struct flavor *f, yyjson_val *o) {
    static const char *const ours[] = {"virtual-node.interlink/no-schedule", "true", "NoSchedule"};
    static const char *const slurm[] = {"slurm", "true", "NoSchedule"};
    yyjson_val *taints = sl_json_at(o, "spec.nodeTaints");
    size_t should = f->pool->version % 3 == 2 ? 2 : 1;

    if (sl_json_size(taints) != should) {
        world_fail(w, "%s has %zu taints", f->name, sl_json_size(taints));
        return;
    }
    for (size_t i = 0; i < should; i++) {
        yyjson_val *t = yyjson_arr_get(taints, i);
        const char *const *is = i ? slurm : ours;
        expect_text(w, f->name, sl_json_str(t, "key"), is[0]);
        expect_text(w, f->name, sl_json_str(t, "value"), is[1]);
        expect_text(w, f->name, sl_json_str(t, "effect"), is[2]);
    }
}

static void compare_flavor(struct world *w, uint32_t m, const struct flavor *f) {
    char path[160];

    if (!f->pool)
        return;
    (void)snprintf(path, sizeof path, KUEUE "/resourceflavors/%s", f->name);
    yyjson_val *o = fakeapi_get(w->api, path);
    if (!o) {
        world_fail(w, "ResourceFlavor %s is not there", f->name);
        return;
    }
    yyjson_val *labels = sl_json_at(o, "spec.nodeLabels"),
               *tolerations = sl_json_at(o, "spec.tolerations"),
               *only = yyjson_arr_get(tolerations, 0);
    if (sl_json_size(labels) != 1 || sl_json_size(tolerations) != 1)
        world_fail(w, "%s: %zu labels, %zu tolerations", f->name, sl_json_size(labels),
                   sl_json_size(tolerations));
    expect_text(w, f->name, sl_json_text(sl_json_get(labels, "kubernetes.io/hostname")),
                "interlink");
    expect_text(w, f->name, sl_json_str(only, "key"), "pool.vk.io");
    expect_text(w, f->name, sl_json_str(only, "value"), f->pool->name);
    expect_text(w, f->name, sl_json_str(only, "effect"), "NoSchedule");
    compare_taints(w, f, o);
    expect_text(w, f->name, sl_json_label(o, "site"),
                f->pool->version % 3 == 1 ? f->pool->name : "");
    if (sl_json_size(sl_json_at(o, "metadata.labels")) != (f->pool->version % 3 == 1))
        world_fail(w, "%s: %zu labels", f->name, sl_json_size(sl_json_at(o, "metadata.labels")));
    compare_owner(w, f->name, o, m);
}

/* ---- what should not be there ---- */

struct left {
    struct world *w;
    const struct flavors *should[MAX_MQS];
    uint32_t owned, only;
    bool ending[MAX_MQS]; /* nothing can be said of it yet */
};

static void count_owned(void *ctx, yyjson_val *o) {
    struct left *l = ctx;

    if (world_owner(o) == l->only)
        l->owned++;
}

uint32_t naive_owned(struct world *w, uint32_t m) {
    struct left l = {.w = w, .only = m};

    (void)fakeapi_each(w->api, KUEUE "/resourceflavors", count_owned, &l);
    (void)fakeapi_each(w->api, KUEUE "/clusterqueues", count_owned, &l);
    return l.owned;
}

struct named {
    const char *flavor;
    bool found;
};

static void look_for(void *ctx, yyjson_val *o) {
    struct named *n = ctx;
    yyjson_val *groups = sl_json_at(o, "spec.resourceGroups");

    n->found |=
        sl_json_find(sl_json_at(yyjson_arr_get(groups, 0), "flavors"), "name", n->flavor) != NULL;
}

/* A flavor that nobody should have any more: a queue on hold may name it, or work use it. */
static void check_flavor(void *ctx, yyjson_val *o) {
    struct left *l = ctx;
    struct named n = {.flavor = sl_json_str(o, "metadata.name")};
    uint32_t m = world_owner(o);

    if (m >= l->w->n_mqs || l->ending[m])
        return;
    for (uint32_t i = 0; l->should[m] && i < l->should[m]->n; i++)
        if (strcmp(l->should[m]->v[i].name, n.flavor) == 0)
            return;
    (void)fakeapi_each(l->w->api, KUEUE "/clusterqueues", look_for, &n);
    if (!n.found && !world_flavor_used(l->w, n.flavor))
        world_fail(l->w, "the flavor %s is left over", n.flavor);
}

/* Work that was admitted to a queue of the MasterQueue, and objects that wait for its end. */
struct ending {
    uint32_t m;
    bool work, waits;
};

static void look_for_work(void *ctx, yyjson_val *o) {
    struct ending *e = ctx;
    const char *queue = sl_json_str(o, "status.admission.clusterQueue");
    uint32_t m;

    if (!sl_json_condition(o, "Finished") &&
        (fakeapi_number(queue, "mq-", &m, NULL) || fakeapi_number(queue, "borrower-", &m, NULL)))
        e->work |= m == e->m;
}

static void look_for_ending(void *ctx, yyjson_val *o) {
    struct ending *e = ctx;

    e->waits |= world_owner(o) == e->m && sl_json_at(o, "metadata.deletionTimestamp");
}

/* Deletion lets running work end in peace: until then nothing can be said. */
static bool is_ending(struct world *w, uint32_t m) {
    struct ending e = {.m = m};

    (void)fakeapi_each(w->api, KUEUE "/workloads", look_for_work, &e);
    (void)fakeapi_each(w->api, KUEUE "/clusterqueues", look_for_ending, &e);
    (void)fakeapi_each(w->api, KUEUE "/resourceflavors", look_for_ending, &e);
    return e.work && e.waits;
}

static void compare_borrower(struct world *w, uint32_t m, uint32_t b) {
    struct flavors *should = sl_alloc(sizeof *should);
    char name[32], path[128];

    borrower_name(m, b, name);
    (void)snprintf(path, sizeof path, KUEUE "/clusterqueues/%s", name);
    wanted(w, m, b, should);
    yyjson_val *o = fakeapi_get(w->api, path);
    if (!world_is_foreign(w, "clusterqueues", name)) {
        if (should->n)
            compare_queue(w, m, name, b, should);
        else if (o && strcmp(sl_json_str(o, "spec.stopPolicy"), "Hold") != 0)
            world_fail(w, "%s has no flavor and is not on hold", name);
    }
    sl_freep(&should);
}

void naive_compare(struct world *w) {
    struct flavors *should = sl_alloc0(MAX_MQS, sizeof *should);
    struct left left = {.w = w};

    for (uint32_t m = 0; m < w->n_mqs && !w->failed; m++) {
        char name[32];
        left.ending[m] = is_ending(w, m);
        if (left.ending[m])
            continue;
        (void)snprintf(name, sizeof name, "mq-%u", m);
        if (mq_now(&w->mqs[m])->gone) {
            if (naive_owned(w, m))
                world_fail(w, "%u objects of %s are left", naive_owned(w, m), name);
            continue;
        }
        wanted(w, m, UINT32_MAX, &should[m]);
        left.should[m] = &should[m];
        for (uint32_t i = 0; i < should[m].n; i++)
            compare_flavor(w, m, &should[m].v[i]);
        if (!world_is_foreign(w, "clusterqueues", name))
            compare_queue(w, m, name, UINT32_MAX, &should[m]);
        for (uint32_t b = 0; b < BORROWERS; b++)
            compare_borrower(w, m, b);
    }
    if (!w->failed)
        (void)fakeapi_each(w->api, KUEUE "/resourceflavors", check_flavor, &left);
    sl_freep(&should);
}
