/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about configuration: flavors, cohorts, queues, checks, namespaces, settings. Each is
 * copied; trees are rebuilt before they are next used, and sleeping classes in a tree that changed
 * are evaluated again.
 */
#include "core/engine/apply/apply.h"

#include <string.h>

static const char *copy(struct sl_arena *a, const char *s) {
    return sl_arena_strdup(a, s ? s : "");
}

/* What one entry may keep of texts and records; its arena takes twice as much. */
#define ENTRY_BYTES ((size_t)16 << 20)
#define ENTRY_ITEM ((size_t)64) /* of each, besides its texts */

static size_t entry_bytes(const char *a, const char *b) {
    return ENTRY_ITEM + (a ? strlen(a) : 0) + (b ? strlen(b) : 0);
}

static size_t labels_bytes(const struct sl_labels *l) {
    size_t n = 0;
    for (uint32_t i = 0; i < l->n; i++)
        n += entry_bytes(l->v[i].key, l->v[i].value);
    return n;
}

static size_t weigh_selector(const struct sl_selector *s) {
    size_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        n += entry_bytes(s->v[i].key, NULL);
        for (uint32_t k = 0; k < s->v[i].n_values; k++)
            n += entry_bytes(s->v[i].values[k], NULL);
    }
    return n;
}

static size_t weigh_flavor(const struct sl_flavor_spec *s) {
    size_t n = labels_bytes(&s->labels) + entry_bytes(s->topology, NULL);
    for (uint32_t i = 0; i < s->n_taints; i++)
        n += entry_bytes(s->taints[i].key, s->taints[i].value);
    for (uint32_t i = 0; i < s->n_tolerations; i++)
        n += entry_bytes(s->tolerations[i].key, s->tolerations[i].value);
    for (uint32_t i = 0; i < s->n_levels; i++)
        n += entry_bytes(s->levels[i], NULL);
    return n;
}

static int check_weight(const char *kind, const char *name, size_t bytes, struct sl_err *err) {
    return bytes <= ENTRY_BYTES ? SL_OK
                                : sl_err_set(err, SL_ELIMIT,
                                             "%s %s: labels and the like of %zu "
                                             "bytes are more than %zu",
                                             kind, name, bytes, ENTRY_BYTES);
}

static void copy_labels(struct sl_arena *a, struct sl_labels *l) {
    struct sl_label *v = sl_arena_alloc0(a, l->n + 1, sizeof(*v));
    for (uint32_t i = 0; i < l->n; i++)
        v[i] = (struct sl_label){copy(a, l->v[i].key), copy(a, l->v[i].value)};
    l->v = v;
}

static void copy_selector(struct sl_arena *a, struct sl_selector *s) {
    struct sl_label_rule *v = sl_arena_alloc0(a, s->n + 1, sizeof(*v));
    for (uint32_t i = 0; i < s->n; i++) {
        v[i] = s->v[i];
        v[i].key = copy(a, s->v[i].key);
        const char **values = sl_arena_alloc0(a, s->v[i].n_values + 1, sizeof(*values));
        for (uint32_t k = 0; k < s->v[i].n_values; k++)
            values[k] = copy(a, s->v[i].values[k]);
        v[i].values = values;
    }
    s->v = v;
}

static const struct sl_toleration *copy_tolerations(struct sl_arena *a,
                                                    const struct sl_toleration *t, uint32_t n) {
    struct sl_toleration *v = sl_arena_alloc0(a, n + 1, sizeof(*v));
    for (uint32_t i = 0; i < n; i++) {
        v[i] = t[i];
        v[i].key = copy(a, t[i].key);
        v[i].value = copy(a, t[i].value);
    }
    return v;
}

/* ---- settings ---- */

static void copy_config(struct sl_arena *a, struct sl_config *c) {
    struct sl_resource_weight *w = sl_arena_alloc0(a, c->n_afs_weights + 1, sizeof(*w));
    for (uint32_t i = 0; i < c->n_afs_weights; i++)
        w[i] = (struct sl_resource_weight){copy(a, c->afs_weights[i].resource),
                                           c->afs_weights[i].weight_nano};
    c->afs_weights = w;
    const char **x = sl_arena_alloc0(a, c->n_exclude + 1, sizeof(*x));
    for (uint32_t i = 0; i < c->n_exclude; i++)
        x[i] = copy(a, c->exclude_prefixes[i]);
    c->exclude_prefixes = x;
    struct sl_transform *t = sl_arena_alloc0(a, c->n_transforms + 1, sizeof(*t));
    for (uint32_t i = 0; i < c->n_transforms; i++) {
        t[i] = c->transforms[i];
        t[i].input = copy(a, t[i].input);
        t[i].multiply_by = copy(a, t[i].multiply_by);
        struct sl_transform_output *o = sl_arena_alloc0(a, t[i].n_outputs + 1, sizeof(*o));
        for (uint32_t k = 0; k < t[i].n_outputs; k++)
            o[k] = (struct sl_transform_output){copy(a, c->transforms[i].outputs[k].resource),
                                                c->transforms[i].outputs[k].factor};
        t[i].outputs = o;
    }
    c->transforms = t;
}

int eng_apply_config(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    const struct sl_config *c = &f->config;
    if (c->fair_sharing && (c->n_fair < 1 || c->n_fair > 2))
        return sl_err_set(err, SL_EINVAL, "fair sharing needs one or two preemption strategies");
    if (c->backoff_base_s < 0 || c->backoff_max_s < 0)
        return sl_err_set(err, SL_EINVAL, "requeuing back-off must not be negative");
    struct sl_arena old = e->config_arena;
    sl_arena_init(&e->config_arena, ENTRY_BYTES);
    e->config = *c;
    copy_config(&e->config_arena, &e->config);
    sl_arena_done(&old);
    eng_shapes_refresh(e);
    eng_ready_recount(e);
    for (uint32_t i = 0; i < e->nodes.n; i++)
        e->nodes.v[i].touched = true;
    e->structure_dirty = true;
    for (uint32_t i = 0; i < e->wls.n; i++)
        if (e->wls.v[i].phase == WL_ADMITTED)
            eng_wl_timer(e, i);
    /* Priorities may count a boost now, or no longer: every line and count is sorted anew. */
    for (uint32_t i = 0; i < e->cqs.n; i++) {
        struct eng_cq *q = &e->cqs.v[i];
        sl_vec_clear(&q->prios);
        for (uint32_t k = 0; k < q->reserved.n; k++)
            eng_prio_add(q, eng_wl_priority(e, &e->wls.v[q->reserved.v[k]]), 1);
    }
    for (uint32_t i = 0; i < e->wls.n; i++)
        if (e->wls.v[i].phase == WL_WAITING)
            eng_wl_requeue(e, i);
    e->afs_next = SL_TIME_NEVER;
    for (uint32_t i = 0; i < e->lqs.n; i++)
        eng_afs_weigh(e, i);
    return SL_OK;
}

/* ---- flavors ---- */

static bool group_names(const struct eng_group *g, sl_sym flavor) {
    for (uint32_t i = 0; i < g->n_flavors; i++)
        if (g->flavors[i] == flavor)
            return true;
    return false;
}

/* Plans are stale and queues may turn active or not. A changed flavor may suit sleeping classes
 * where it is used; one that is deleted suits none. */
static void flavor_changed(struct sl_engine *e, sl_sym flavor, bool gone) {
    e->structure_dirty = e->status_dirty = true;
    for (uint32_t i = 0; i < e->nodes.n && !gone; i++)
        for (uint32_t g = 0; g < e->nodes.v[i].n_groups; g++)
            if (group_names(&e->nodes.v[i].groups[g], flavor))
                eng_node_touch(e, i);
}

int eng_apply_flavor(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    const struct sl_flavor_spec *s = &f->flavor;
    int r = eng_check_name("ResourceFlavor", s->name, err);
    if (r >= 0)
        r = check_weight("ResourceFlavor", s->name, weigh_flavor(s), err);
    if (r < 0)
        return r;
    sl_sym y = sl_sym_put(&e->syms, s->name);
    uint32_t i = sl_map_get(&e->flavor_map, y);
    if (i == SL_MAP_NONE) {
        i = e->flavors.n;
        *sl_vec_push(&e->flavors) = (struct eng_flavor){.name = y};
        sl_arena_init(&e->flavors.v[i].arena, ENTRY_BYTES);
        sl_map_add(&e->flavor_map, y, i);
    }
    struct eng_flavor *o = &e->flavors.v[i];
    if (o->exists && o->spec_digest == eng_spec_digest_flavor(s))
        return SL_OK;
    o->spec_digest = eng_spec_digest_flavor(s);
    sl_arena_clear(&o->arena);
    o->exists = true;
    o->spec = *s;
    o->spec.name = eng_str(e, y);
    copy_labels(&o->arena, &o->spec.labels);
    struct sl_taint *t = sl_arena_alloc0(&o->arena, s->n_taints + 1, sizeof(*t));
    for (uint32_t k = 0; k < s->n_taints; k++)
        t[k] = (struct sl_taint){copy(&o->arena, s->taints[k].key),
                                 copy(&o->arena, s->taints[k].value), s->taints[k].effect};
    o->spec.taints = t;
    o->spec.tolerations = copy_tolerations(&o->arena, s->tolerations, s->n_tolerations);
    o->spec.topology = copy(&o->arena, s->topology);
    const char **levels = sl_arena_alloc0(&o->arena, s->n_levels + 1, sizeof(*levels));
    for (uint32_t k = 0; k < s->n_levels; k++)
        levels[k] = copy(&o->arena, s->levels[k]);
    o->spec.levels = levels;
    flavor_changed(e, y, false);
    return SL_OK;
}

static int flavor_gone(struct sl_engine *e, const struct sl_fact *f) {
    sl_sym y = sl_sym_find(&e->syms, f->gone.name);
    uint32_t i = y == SL_MAP_NONE ? SL_MAP_NONE : sl_map_get(&e->flavor_map, y);
    if (i != SL_MAP_NONE && e->flavors.v[i].exists) {
        e->flavors.v[i].exists = false;
        flavor_changed(e, y, true);
    }
    return SL_OK;
}

/* ---- cohorts and cluster queues ---- */

static int check_groups(const struct sl_groups *g, const char *name, struct sl_err *err) {
    if (g->n > SL_MAX_GROUPS)
        return sl_err_set(err, SL_ELIMIT, "%s: at most %d resource groups, got %u", name,
                          SL_MAX_GROUPS, g->n);
    for (uint32_t i = 0; i < g->n; i++) {
        const struct sl_group_spec *s = &g->v[i];
        if (!s->n_flavors || s->n_flavors > SL_MAX_GROUP_FLAVORS || !s->n_resources ||
            s->n_resources > SL_MAX_GROUP_RESOURCES)
            return sl_err_set(err, SL_ELIMIT,
                              "%s: a resource group has 1 to %d flavors and 1 to %d resources",
                              name, SL_MAX_GROUP_FLAVORS, SL_MAX_GROUP_RESOURCES);
        for (uint32_t k = 0; k < s->n_flavors; k++)
            if (!s->flavors[k].quotas)
                return sl_err_set(err, SL_EINVAL, "%s: flavor %s has no quotas", name,
                                  s->flavors[k].flavor);
        for (uint32_t k = 0; k < s->n_flavors * s->n_resources; k++) {
            const struct sl_quota *q = &s->flavors[k / s->n_resources].quotas[k % s->n_resources];
            if (q->nominal < 0 || (q->borrow_limit < 0 && q->borrow_limit != SL_AMOUNT_NONE) ||
                (q->lend_limit < 0 && q->lend_limit != SL_AMOUNT_NONE))
                return sl_err_set(err, SL_EINVAL, "%s: quotas must not be negative", name);
        }
        for (uint32_t k = 0; k < i; k++) {
            for (uint32_t a = 0; a < s->n_resources; a++)
                for (uint32_t b = 0; b < g->v[k].n_resources; b++)
                    if (strcmp(s->resources[a], g->v[k].resources[b]) == 0)
                        return sl_err_set(err, SL_EINVAL,
                                          "%s: resource %s is in two resource groups", name,
                                          s->resources[a]);
            for (uint32_t a = 0; a < s->n_flavors; a++)
                for (uint32_t b = 0; b < g->v[k].n_flavors; b++)
                    if (strcmp(s->flavors[a].flavor, g->v[k].flavors[b].flavor) == 0)
                        return sl_err_set(err, SL_EINVAL, "%s: flavor %s is in two resource groups",
                                          name, s->flavors[a].flavor);
        }
    }
    return SL_OK;
}

/* Sets where the node hangs and what quota it has. */
static void set_node(struct sl_engine *e, uint32_t node, const char *parent,
                     const struct sl_groups *groups, int64_t weight_nano) {
    eng_node_touch(e, node);
    uint32_t p = parent && *parent ? eng_node_get(e, true, parent) : ENG_NONE;
    struct eng_node *n = &e->nodes.v[node];
    n->exists = true;
    n->parent_name = p == ENG_NONE ? 0 : e->nodes.v[p].name;
    n->weight_nano = weight_nano;
    eng_node_set_groups(e, node, groups);
    if (p != ENG_NONE)
        eng_node_touch(e, p);
}

int eng_apply_cohort(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    const struct sl_cohort_spec *s = &f->cohort;
    int r = eng_check_name("Cohort", s->name, err);
    if (r < 0)
        return r;
    r = check_groups(&s->groups, s->name, err);
    if (r < 0)
        return r;
    if (s->weight_nano < 0)
        return sl_err_set(err, SL_EINVAL, "Cohort %s: weight must not be negative", s->name);
    uint32_t node = eng_node_get(e, true, s->name);
    if (e->nodes.v[node].exists && e->nodes.v[node].spec_digest == eng_spec_digest_cohort(s))
        return SL_OK;
    e->nodes.v[node].spec_digest = eng_spec_digest_cohort(s);
    set_node(e, node, s->parent, &s->groups, s->weight_nano);
    e->status_dirty = true;
    return SL_OK;
}

static int cohort_gone(struct sl_engine *e, const struct sl_fact *f) {
    uint32_t i = eng_node_find(e, true, f->gone.name);
    if (i == ENG_NONE || !e->nodes.v[i].exists)
        return SL_OK;
    eng_node_touch(e, i);
    e->nodes.v[i].exists = false;
    e->nodes.v[i].parent_name = 0;
    e->nodes.v[i].weight_nano = SL_WEIGHT_ONE;
    eng_node_set_groups(e, i, NULL);
    e->status_dirty = true;
    return SL_OK;
}

/* The whole queue is evaluated again: its rules changed. */
static void queue_due(struct sl_engine *e, uint32_t cq, uint32_t lq) {
    /* What a LocalQueue let in may hold quota of a ClusterQueue it pointed to before. */
    for (uint32_t q = 0; q < e->cqs.n; q++)
        for (uint32_t i = 0; (q == cq || lq != ENG_NONE) && i < e->cqs.v[q].reserved.n; i++)
            if (lq == ENG_NONE || e->wls.v[e->cqs.v[q].reserved.v[i]].lq == lq)
                eng_wl_due(e, e->cqs.v[q].reserved.v[i]);
    for (uint32_t i = 0; i < e->lqs.n; i++) {
        const struct eng_lq *l = &e->lqs.v[i];
        if (lq != ENG_NONE ? i != lq : l->cq != cq)
            continue;
        for (uint32_t k = 0; k < l->parked.n; k++)
            eng_wl_due(e, l->parked.v[k]);
        for (uint32_t k = 0; k < l->classes.n; k++) {
            const struct sl_ordset *line = &e->classes.v[l->classes.v[k]].line;
            eng_line_due(e, line);
        }
    }
}

static void set_checks(struct sl_engine *e, struct eng_cq *q, const struct sl_cq_spec *s) {
    for (uint32_t i = 0; i < q->checks.n; i++)
        sl_vec_free(&q->checks.v[i].flavors);
    sl_vec_clear(&q->checks);
    for (uint32_t i = 0; i < s->n_checks; i++) {
        struct eng_check_ref *c = sl_vec_push(&q->checks);
        *c = (struct eng_check_ref){.name = sl_sym_put(&e->syms, s->checks[i].name)};
        for (uint32_t k = 0; k < s->checks[i].n_flavors; k++)
            *sl_vec_push(&c->flavors) = sl_sym_put(&e->syms, s->checks[i].flavors[k]);
    }
}

int eng_apply_cq(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    const struct sl_cq_spec *s = &f->cq;
    int r = eng_check_name("ClusterQueue", s->name, err);
    if (r < 0)
        return r;
    r = check_groups(&s->groups, s->name, err);
    if (r >= 0)
        r = check_weight("ClusterQueue", s->name, weigh_selector(&s->namespaces), err);
    if (r < 0)
        return r;
    if (s->weight_nano < 0)
        return sl_err_set(err, SL_EINVAL, "ClusterQueue %s: weight must not be negative", s->name);
    if (s->n_checks > SL_MAX_QUEUE_CHECKS)
        return sl_err_set(err, SL_ELIMIT, "ClusterQueue %s: at most %d admission checks", s->name,
                          SL_MAX_QUEUE_CHECKS);
    uint32_t node = eng_node_get(e, false, s->name);
    if (e->nodes.v[node].exists && e->nodes.v[node].spec_digest == eng_spec_digest_cq(s))
        return SL_OK;
    e->nodes.v[node].spec_digest = eng_spec_digest_cq(s);
    if (e->nodes.v[node].cq == ENG_NONE) {
        e->nodes.v[node].cq = e->cqs.n;
        eng_cq_init(e, sl_vec_push(&e->cqs), node);
    }
    uint32_t cq = e->nodes.v[node].cq;
    struct eng_cq *q = &e->cqs.v[cq];
    if (!q->exists)
        q->afs_scope = s->usage_based; /* later edits do not change the order */
    q->exists = true;
    q->strategy = s->strategy;
    q->within = s->within;
    q->reclaim = s->reclaim;
    q->borrow_within = s->borrow_within;
    q->has_threshold = s->has_borrow_threshold;
    q->threshold = s->borrow_threshold;
    q->when_can_borrow = s->when_can_borrow;
    q->when_can_preempt = s->when_can_preempt;
    q->preference = s->preference;
    q->stop = s->stop;
    q->terminating = s->terminating;
    q->exact_nodes = s->exact_nodes;
    if (q->exact_nodes)
        eng_later_begin(e);
    sl_arena_clear(&q->arena);
    q->namespaces = s->namespaces;
    copy_selector(&q->arena, &q->namespaces);
    set_checks(e, q, s);
    set_node(e, node, s->cohort, &s->groups, s->weight_nano);
    e->status_dirty = true;
    for (uint32_t i = 0; i < e->lqs.n; i++)
        if (e->lqs.v[i].exists && e->lqs.v[i].cq_name == e->nodes.v[node].name)
            eng_lq_attach(e, i);
    queue_due(e, cq, ENG_NONE);
    return SL_OK;
}

static int cq_gone(struct sl_engine *e, const struct sl_fact *f) {
    uint32_t node = eng_node_find(e, false, f->gone.name);
    if (node == ENG_NONE || e->nodes.v[node].cq == ENG_NONE || !e->nodes.v[node].exists)
        return SL_OK;
    uint32_t cq = e->nodes.v[node].cq;
    eng_node_touch(e, node);
    queue_due(e, cq, ENG_NONE);
    e->nodes.v[node].exists = false;
    e->nodes.v[node].parent_name = 0;
    e->cqs.v[cq].exists = e->cqs.v[cq].active = false;
    sl_freep(&e->cqs.v[cq].message);
    eng_node_set_groups(e, node, NULL);
    for (uint32_t i = 0; i < e->lqs.n; i++)
        if (e->lqs.v[i].cq == cq)
            eng_lq_attach(e, i);
    e->status_dirty = true;
    return SL_OK;
}

/* ---- local queues ---- */

int eng_apply_lq(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    const struct sl_lq_spec *s = &f->lq;
    int r = eng_check_name("LocalQueue", s->name, err);
    if (r < 0)
        return r;
    if (s->weight_nano < 0)
        return sl_err_set(err, SL_EINVAL, "LocalQueue %s: weight must not be negative", s->name);
    uint32_t i = eng_lq_get(e, sl_sym_put(&e->syms, s->ns), sl_sym_put(&e->syms, s->name));
    sl_sym cq_name = sl_sym_put(&e->syms, s->cq);
    struct eng_lq *l = &e->lqs.v[i];
    if (l->exists && l->spec_digest == eng_spec_digest_lq(s))
        return SL_OK;
    l->spec_digest = eng_spec_digest_lq(s);
    bool moved = l->exists && l->cq_name != cq_name;
    l->exists = true;
    l->cq_name = cq_name;
    l->stop = s->stop;
    l->weight_nano = s->weight_nano;
    if (moved)
        for (uint32_t t = 0; t < e->trees.n; t++)
            eng_tree_epoch(e, &e->trees.v[t]);
    eng_lq_attach(e, i);
    queue_due(e, l->cq, i);
    if (e->config.afs) {
        e->afs_next = e->now; /* a queue is sampled when first seen */
        eng_afs_weigh(e, i);
    }
    return SL_OK;
}

static int lq_gone(struct sl_engine *e, const struct sl_fact *f) {
    sl_sym ns = sl_sym_find(&e->syms, f->gone.ns), name = sl_sym_find(&e->syms, f->gone.name);
    if (ns == SL_MAP_NONE || name == SL_MAP_NONE)
        return SL_OK;
    uint32_t i = sl_map_get(&e->lq_map, (uint64_t)ns << 32 | name);
    if (i == SL_MAP_NONE || !e->lqs.v[i].exists)
        return SL_OK;
    queue_due(e, e->lqs.v[i].cq, i);
    e->lqs.v[i].exists = false;
    sl_vec_clear(&e->lqs.v[i].afs);
    eng_lq_attach(e, i);
    eng_lq_drop_if_unused(e, i);
    return SL_OK;
}

/* ---- namespaces and checks ---- */

/* Does the queue select this namespace? An unknown one has no labels. */
static bool queue_takes(const struct eng_cq *q, const struct eng_ns *n) {
    struct sl_labels none = {0};
    return (!n || n->exists) && sl_selector_matches(&q->namespaces, n ? &n->labels : &none);
}

/* A queue that selects the namespace now and did not before has its sleeping classes evaluated; one
 * that no longer selects it has its head evaluated again. */
static void namespace_changed(struct sl_engine *e, const struct eng_ns *old,
                              const struct eng_ns *now) {
    eng_refresh(e);
    for (uint32_t i = 0; i < e->cqs.n; i++) {
        const struct eng_cq *q = &e->cqs.v[i];
        bool takes = q->exists && queue_takes(q, now);
        if (!q->exists || takes == queue_takes(q, old))
            continue;
        struct eng_tree *t = eng_cq_tree(e, q);
        t->freed |= takes;
        t->version++;
        eng_tree_epoch(e, t);
        eng_tree_mark_dirty(e, t);
    }
}

int eng_apply_ns(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    int r = eng_check_name("Namespace", f->ns.name, err);
    if (r >= 0)
        r = check_weight("Namespace", f->ns.name, labels_bytes(&f->ns.labels), err);
    if (r < 0)
        return r;
    sl_sym y = sl_sym_put(&e->syms, f->ns.name);
    uint32_t i = sl_map_get(&e->ns_map, y);
    bool known = i != SL_MAP_NONE;
    if (!known) {
        i = e->namespaces.n;
        *sl_vec_push(&e->namespaces) = (struct eng_ns){.name = y};
        sl_arena_init(&e->namespaces.v[i].arena, ENTRY_BYTES);
        sl_map_add(&e->ns_map, y, i);
    }
    struct eng_ns *n = &e->namespaces.v[i];
    if (n->exists && n->spec_digest == eng_spec_digest_ns(&f->ns))
        return SL_OK;
    struct eng_ns old = *n; /* keeps the old labels until the change is applied */
    sl_arena_init(&n->arena, ENTRY_BYTES);
    n->exists = true;
    n->spec_digest = eng_spec_digest_ns(&f->ns);
    n->labels = f->ns.labels;
    copy_labels(&n->arena, &n->labels);
    namespace_changed(e, known ? &old : NULL, n);
    sl_arena_done(&old.arena);
    return SL_OK;
}

static int ns_gone(struct sl_engine *e, const struct sl_fact *f) {
    sl_sym y = sl_sym_find(&e->syms, f->gone.name);
    uint32_t i = y == SL_MAP_NONE ? SL_MAP_NONE : sl_map_get(&e->ns_map, y);
    if (i != SL_MAP_NONE) {
        struct eng_ns old = e->namespaces.v[i];
        e->namespaces.v[i].exists = false;
        namespace_changed(e, &old, &e->namespaces.v[i]);
    }
    return SL_OK;
}

int eng_apply_check(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    int r = eng_check_name("AdmissionCheck", f->check.name, err);
    if (r < 0)
        return r;
    sl_sym y = sl_sym_put(&e->syms, f->check.name);
    uint32_t i = sl_map_get(&e->check_map, y);
    if (i == SL_MAP_NONE) {
        i = e->checks.n;
        *sl_vec_push(&e->checks) = (struct eng_check){.name = y};
        sl_map_add(&e->check_map, y, i);
    }
    if (e->checks.v[i].exists && e->checks.v[i].spec_digest == eng_spec_digest_check(&f->check))
        return SL_OK;
    e->checks.v[i].spec_digest = eng_spec_digest_check(&f->check);
    e->checks.v[i].exists = true;
    e->checks.v[i].active = f->check.active;
    e->status_dirty = true;
    return SL_OK;
}

static int check_gone(struct sl_engine *e, const struct sl_fact *f) {
    sl_sym y = sl_sym_find(&e->syms, f->gone.name);
    uint32_t i = y == SL_MAP_NONE ? SL_MAP_NONE : sl_map_get(&e->check_map, y);
    if (i != SL_MAP_NONE)
        e->checks.v[i].exists = false;
    e->status_dirty = true;
    return SL_OK;
}

int eng_apply_gone(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    (void)err;
    switch (f->kind) {
    case SL_FACT_FLAVOR_GONE:
        return flavor_gone(e, f);
    case SL_FACT_COHORT_GONE:
        return cohort_gone(e, f);
    case SL_FACT_CLUSTER_QUEUE_GONE:
        return cq_gone(e, f);
    case SL_FACT_LOCAL_QUEUE_GONE:
        return lq_gone(e, f);
    case SL_FACT_NAMESPACE_GONE:
        return ns_gone(e, f);
    default:
        return check_gone(e, f);
    }
}
