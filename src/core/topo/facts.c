/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: nodes, topologies, flavors, and unrelated pods. Idempotent; a change makes the trees that
 * depend on it stale.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/topo/state.h"

#define MEM_MAX ((size_t)16 << 20) /* the labels and taints of one object */

static bool same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* ---- records, compared and copied ---- */

static bool labels_same(const struct sl_labels *a, const struct sl_labels *b) {
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!same_text(a->v[i].key, b->v[i].key) || !same_text(a->v[i].value, b->v[i].value))
            return false;
    return true;
}

static struct sl_labels labels_copy(struct sl_arena *mem, const struct sl_labels *l) {
    struct sl_label *v = sl_arena_alloc0(mem, l->n, sizeof *v);
    for (uint32_t i = 0; i < l->n; i++) {
        v[i].key = sl_arena_strdup(mem, l->v[i].key ? l->v[i].key : "");
        v[i].value = sl_arena_strdup(mem, l->v[i].value ? l->v[i].value : "");
    }
    return (struct sl_labels){.v = v, .n = l->n};
}

static bool taints_same(const struct sl_taint *a, uint32_t n, const struct sl_taint *b,
                        uint32_t n_b) {
    if (n != n_b)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!same_text(a[i].key, b[i].key) || !same_text(a[i].value, b[i].value) ||
            a[i].effect != b[i].effect)
            return false;
    return true;
}

static const struct sl_taint *taints_copy(struct sl_arena *mem, const struct sl_taint *a,
                                          uint32_t n) {
    struct sl_taint *v = sl_arena_alloc0(mem, n, sizeof *v);
    for (uint32_t i = 0; i < n; i++) {
        v[i] = a[i];
        v[i].key = sl_arena_strdup(mem, a[i].key ? a[i].key : "");
        v[i].value = sl_arena_strdup(mem, a[i].value ? a[i].value : "");
    }
    return v;
}

static bool tolerations_same(const struct sl_toleration *a, uint32_t n,
                             const struct sl_toleration *b, uint32_t n_b) {
    if (n != n_b)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!same_text(a[i].key, b[i].key) || !same_text(a[i].value, b[i].value) ||
            a[i].exists != b[i].exists || a[i].effect != b[i].effect)
            return false;
    return true;
}

static const struct sl_toleration *tolerations_copy(struct sl_arena *mem,
                                                    const struct sl_toleration *a, uint32_t n) {
    struct sl_toleration *v = sl_arena_alloc0(mem, n, sizeof *v);
    for (uint32_t i = 0; i < n; i++) {
        v[i] = a[i];
        v[i].key = sl_arena_strdup(mem, a[i].key ? a[i].key : "");
        v[i].value = sl_arena_strdup(mem, a[i].value ? a[i].value : "");
    }
    return v;
}

/* ---- nodes ---- */

bool topo_flavor_has(const struct topo_flavor *f, const struct sl_labels *l) {
    for (uint32_t i = 0; i < f->labels.n; i++) {
        const char *v = sl_labels_get(l, f->labels.v[i].key);
        if (!v || !same_text(v, f->labels.v[i].value))
            return false;
    }
    return true;
}

/* The trees that this node is part of are out of date. Returns whether there is one. */
static bool touch(struct sl_topo *t, const struct topo_node *n) {
    bool any = false;
    if (!n->known || !n->usable)
        return false;
    for (uint32_t i = 0; i < t->flavors.n; i++) {
        struct topo_flavor *f = t->flavors.v[i];
        if (f->topology && topo_flavor_has(f, &n->labels))
            any = f->stale = true;
    }
    return any;
}

static struct topo_node *node_of(const struct sl_topo *t, uint64_t h, const char *name) {
    uint32_t c, i = sl_map_first(&t->node_by_name, h, &c);
    while (i != SL_MAP_NONE && strcmp(t->nodes.v[i]->name, name) != 0)
        i = sl_map_next(&t->node_by_name, h, &c);
    return i == SL_MAP_NONE ? NULL : t->nodes.v[i];
}

static struct topo_node *node_get(struct sl_topo *t, const char *name) {
    uint64_t h = sl_hash_str(0, name);
    struct topo_node *n = node_of(t, h, name);
    if (n)
        return n;
    n = sl_alloc0(1, sizeof *n);
    n->name = sl_strdup(name);
    n->at = t->nodes.n;
    sl_arena_init(&n->mem, MEM_MAX);
    sl_map_add(&t->node_by_name, h, n->at);
    *sl_vec_push(&t->nodes) = n;
    return n;
}

void topo_node_free(struct topo_node *n) {
    sl_arena_done(&n->mem);
    sl_vec_free(&n->has);
    sl_vec_free(&n->others);
    sl_freep(&n->name);
    sl_freep(&n);
}

static void node_drop(struct sl_topo *t, struct topo_node *n) {
    struct topo_node *last = sl_vec_pop(&t->nodes);
    (void)sl_map_del(&t->node_by_name, sl_hash_str(0, n->name), n->at);
    if (last != n) {
        (void)sl_map_del(&t->node_by_name, sl_hash_str(0, last->name), last->at);
        last->at = n->at;
        sl_map_add(&t->node_by_name, sl_hash_str(0, last->name), last->at);
        t->nodes.v[last->at] = last;
    }
    topo_node_free(n);
}

/* A node's amounts keep their zeros: 0 is not the same as absent. */
static void node_amounts(struct sl_topo *t, const struct sl_topo_node *s, struct topo_tally *ret) {
    for (uint32_t i = 0; i < s->n_allocatable; i++) {
        const char *name = s->allocatable[i].resource;
        *sl_vec_push(ret) =
            (struct topo_amount){.res = sl_sym_put(&t->syms, name),
                                 .v = sl_amount_of_request(name, s->allocatable[i].q)};
    }
}

/* Is there less of everything, or as much? Where 'pods' is absent, they are not limited. */
static bool no_more(const struct sl_topo *t, const struct topo_tally *now,
                    const struct topo_tally *was) {
    bool counted = false;
    for (uint32_t i = 0; i < now->n; i++) {
        counted |= now->v[i].res == t->pods;
        if (now->v[i].v > topo_tally_get(was, now->v[i].res))
            return false;
    }
    for (uint32_t i = 0; i < was->n && !counted; i++)
        if (was->v[i].res == t->pods)
            return false;
    return true;
}

static bool tally_same(const struct topo_tally *a, const struct topo_tally *b) {
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->v[i].res != b->v[i].res || a->v[i].v != b->v[i].v)
            return false;
    return true;
}

bool sl_topo_node(struct sl_topo *t, const struct sl_topo_node *s) {
    struct topo_node *n = node_get(t, s->name);
    struct topo_tally has = {0};
    node_amounts(t, s, &has);
    bool like = n->known && n->usable == s->usable && labels_same(&n->labels, &s->labels) &&
                taints_same(n->taints, n->n_taints, s->taints, s->n_taints);
    bool less = like && no_more(t, &has, &n->has);
    if (like && tally_same(&has, &n->has)) {
        sl_vec_free(&has);
        return false;
    }
    bool was = touch(t, n);
    sl_arena_clear(&n->mem);
    sl_vec_free(&n->has);
    n->known = true;
    n->usable = s->usable;
    n->labels = labels_copy(&n->mem, &s->labels);
    n->taints = taints_copy(&n->mem, s->taints, s->n_taints);
    n->n_taints = s->n_taints;
    n->has = has;
    return (touch(t, n) || was) && !less;
}

/* The removal of a node may free capacity where it stood for others of its domain. */
bool sl_topo_node_gone(struct sl_topo *t, const char *name) {
    struct topo_node *n = node_of(t, sl_hash_str(0, name), name);
    if (!n || !n->known)
        return false;
    bool news = touch(t, n);
    if (n->others.n == 0) {
        node_drop(t, n);
        return news;
    }
    n->known = n->usable = false;
    sl_vec_free(&n->has);
    return news;
}

bool sl_topo_add_foreign_pods(struct sl_topo *t, const char *node, const struct sl_request *v,
                              uint32_t n, int32_t n_pods) {
    struct topo_node *o = node_get(t, node);
    for (uint32_t i = 0; i < n; i++)
        topo_tally_add(&o->others, sl_sym_put(&t->syms, v[i].resource),
                       (__int128)sl_amount_of_request(v[i].resource, v[i].q) * n_pods);
    topo_tally_add(&o->others, t->pods, n_pods);
    if (!o->known && o->others.n == 0) {
        node_drop(t, o);
        return false;
    }
    if (n_pods >= 0 || !o->known || !o->usable)
        return false;
    for (uint32_t i = 0; i < t->flavors.n; i++)
        if (t->flavors.v[i]->topology && topo_flavor_has(t->flavors.v[i], &o->labels))
            return true;
    return false;
}

/* ---- topologies ---- */

struct topo_levels *topo_levels_of(const struct sl_topo *t, sl_sym topology) {
    for (uint32_t i = 0; i < t->topologies.n; i++)
        if (t->topologies.v[i]->topology == topology)
            return t->topologies.v[i];
    return NULL;
}

/* Every tree of this topology is out of date. Returns whether a flavor has it. */
static bool touch_levels(struct sl_topo *t, sl_sym topology) {
    bool any = false;
    for (uint32_t i = 0; i < t->flavors.n; i++)
        if (t->flavors.v[i]->topology == topology)
            any = t->flavors.v[i]->stale = true;
    return any;
}

bool sl_topo_levels(struct sl_topo *t, const char *topology, const char *const *levels,
                    uint32_t n) {
    if (!*topology || n == 0 || n > SL_TOPO_MAX_LEVELS)
        return sl_topo_levels_gone(t, topology);
    struct topo_levels now = {.topology = sl_sym_put(&t->syms, topology), .n = n};
    for (uint32_t i = 0; i < n; i++)
        now.v[i] = sl_sym_put(&t->syms, levels[i]);
    struct topo_levels *l = topo_levels_of(t, now.topology);
    if (!l) {
        l = sl_alloc0(1, sizeof *l);
        *sl_vec_push(&t->topologies) = l;
    } else if (l->n == n && memcmp(l->v, now.v, n * sizeof l->v[0]) == 0) {
        return false;
    }
    *l = now;
    return touch_levels(t, now.topology);
}

bool sl_topo_levels_gone(struct sl_topo *t, const char *topology) {
    sl_sym y = sl_sym_find(&t->syms, topology);
    for (uint32_t i = 0; i < t->topologies.n; i++)
        if (y && t->topologies.v[i]->topology == y) {
            sl_freep(&t->topologies.v[i]);
            t->topologies.v[i] = sl_vec_last(&t->topologies);
            t->topologies.n--;
            (void)touch_levels(t, y);
            break;
        }
    return false;
}

/* ---- flavors ---- */

struct topo_flavor *topo_flavor_of(const struct sl_topo *t, const char *name) {
    sl_sym y = sl_sym_find(&t->syms, name);
    for (uint32_t i = 0; y && i < t->flavors.n; i++)
        if (t->flavors.v[i]->name == y)
            return t->flavors.v[i];
    return NULL;
}

void topo_flavor_free(struct sl_topo *t, struct topo_flavor *f) {
    topo_tree_done(t, &f->tree);
    sl_arena_done(&f->mem);
    sl_freep(&f);
}

bool sl_topo_flavor(struct sl_topo *t, const struct sl_flavor_spec *s, const char *topology) {
    sl_sym named = sl_sym_put(&t->syms, topology);
    struct topo_flavor *f = topo_flavor_of(t, s->name);
    if (!f) {
        f = sl_alloc0(1, sizeof *f);
        f->name = sl_sym_put(&t->syms, s->name);
        sl_arena_init(&f->mem, MEM_MAX);
        *sl_vec_push(&t->flavors) = f;
    } else if (f->topology == named && labels_same(&f->labels, &s->labels) &&
               tolerations_same(f->tolerations, f->n_tolerations, s->tolerations,
                                s->n_tolerations)) {
        return false;
    }
    bool was = f->topology;
    sl_arena_clear(&f->mem);
    f->topology = named;
    f->labels = labels_copy(&f->mem, &s->labels);
    f->tolerations = tolerations_copy(&f->mem, s->tolerations, s->n_tolerations);
    f->n_tolerations = s->n_tolerations;
    f->stale = true;
    return was || named;
}

bool sl_topo_flavor_gone(struct sl_topo *t, const char *flavor) {
    struct topo_flavor *f = topo_flavor_of(t, flavor);
    for (uint32_t i = 0; f && i < t->flavors.n; i++)
        if (t->flavors.v[i] == f) {
            t->flavors.v[i] = sl_vec_last(&t->flavors);
            t->flavors.n--;
            break;
        }
    if (f)
        topo_flavor_free(t, f);
    return false;
}

bool sl_topo_has(const struct sl_topo *t, const char *flavor) {
    const struct topo_flavor *f = topo_flavor_of(t, flavor);
    return f && f->topology;
}

bool sl_topo_known(const struct sl_topo *t, const char *flavor) {
    const struct topo_flavor *f = topo_flavor_of(t, flavor);
    return f && f->topology && topo_levels_of(t, f->topology);
}
