/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph of owners. A node is enqueued (work.c) when one of its owners is unknown, deleted,
 * or being deleted with its dependents; and when it is such an owner itself and one of its
 * dependents was deleted or released.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/controllers/core/ceilings.h"
#include "cluster/controllers/gc/gc.h"
#include "core/base/fmt.h"
#include "lib/log/log.h"

struct cl_gc_node *cl_gc_node(struct cl_gc *g, uint64_t uid) {
    uint32_t i = sl_map_get(&g->by_uid, uid);
    return i == SL_MAP_NONE ? NULL : &g->nodes.v[i];
}

static uint32_t node_index(const struct cl_gc *g, const struct cl_gc_node *n) {
    return (uint32_t)(n - g->nodes.v);
}

/* NULL: there are too many. As an owner it is read before anything is done about its dependents,
 * like any unknown one. */
static struct cl_gc_node *node_new(struct cl_gc *g, const struct cl_gc_resource *r, uint64_t uid) {
    uint32_t i = g->free_node;

    if (i != GC_NONE) {
        g->free_node = g->nodes.v[i].work;
    } else {
        if (g->nodes.n >= g->max_nodes) {
            if (!g->full)
                sl_log(SL_LOG_WARN, "garbage collector full, further objects not collected",
                       SL_I("limit", g->max_nodes));
            g->full = true;
            return NULL;
        }
        i = g->nodes.n;
        (void)sl_vec_push(&g->nodes);
    }
    g->nodes.v[i] = (struct cl_gc_node){.uid = uid, .resource = (uint16_t)r->index, .used = true};
    sl_map_add(&g->by_uid, uid, i);
    g->n_nodes++;
    return &g->nodes.v[i];
}

/* ---- owners and dependents ---- */

/* It may be waiting for this dependent. */
static void enqueue_owners(struct cl_gc *g, const struct cl_gc_node *n) {
    for (uint32_t i = 0; i < n->n_owners; i++) {
        struct cl_gc_node *o = cl_gc_node(g, n->owners[i].uid);
        if (o && o->flags & (NODE_FOREGROUND | NODE_ORPHANS))
            cl_gc_enqueue(g, node_index(g, o));
    }
}

static void enqueue_dependents(struct cl_gc *g, uint64_t uid) {
    const uint32_t first = cl_gc_first(g, uid);

    for (uint32_t e = first; e != GC_NONE; e = cl_gc_next(g, first, e))
        cl_gc_enqueue(g, g->edges.v[e].node);
}

/* A new edge at the end of the owner's ring. */
static uint32_t edge_new(struct cl_gc *g, uint64_t uid, uint32_t node) {
    const uint32_t first = cl_gc_first(g, uid);
    uint32_t e = g->free_edge;

    if (e != GC_NONE) {
        g->free_edge = g->edges.v[e].next;
    } else {
        e = g->edges.n;
        (void)sl_vec_push(&g->edges);
    }
    struct cl_gc_edge *v = g->edges.v;
    if (first == GC_NONE) {
        v[e] = (struct cl_gc_edge){node, e, e};
        sl_map_add(&g->dependents, uid, e);
        return e;
    }
    v[e] = (struct cl_gc_edge){node, first, v[first].prev};
    v[v[e].prev].next = e;
    v[first].prev = e;
    return e;
}

static void edge_drop(struct cl_gc *g, uint64_t uid, uint32_t e) {
    struct cl_gc_edge *v = g->edges.v;
    const uint32_t next = v[e].next;

    if (cl_gc_first(g, uid) == e) {
        (void)sl_map_del(&g->dependents, uid, e);
        if (next != e)
            sl_map_add(&g->dependents, uid, next);
    }
    v[next].prev = v[e].prev;
    v[v[e].prev].next = next;
    v[e].next = g->free_edge;
    g->free_edge = e;
}

static void unlink_owners(struct cl_gc *g, struct cl_gc_node *n) {
    for (uint32_t i = 0; i < n->n_owners; i++)
        edge_drop(g, n->owners[i].uid, n->owners[i].edge);
    sl_freep(&n->owners);
    n->n_owners = 0;
}

/* Do its owners require a check? */
static bool owners_need_check(struct cl_gc *g, const struct cl_gc_node *n) {
    for (uint32_t i = 0; i < n->n_owners; i++) {
        struct cl_gc_node *o = cl_gc_node(g, n->owners[i].uid);
        if (!o || o->flags & (NODE_FOREGROUND | NODE_ORPHANS) ||
            g->orphaned[o->uid % GC_ABSENT] == o->uid)
            return true;
    }
    return false;
}

static void node_drop(struct cl_gc *g, struct cl_gc_node *n) {
    uint32_t i = node_index(g, n);

    cl_gc_work_drop(g, i);
    enqueue_owners(g, n);
    unlink_owners(g, n);
    sl_freep(&n->key);
    (void)sl_map_del(&g->by_uid, n->uid, i);
    n->used = false;
    n->work = g->free_node;
    g->free_node = i;
    g->n_nodes--;
}

/* ---- watch events ---- */

static bool same_owners(const struct cl_gc_node *n, const struct cl_gc_owner_ref *now,
                        uint32_t n_now) {
    for (uint32_t i = 0; i < n_now && n_now == n->n_owners; i++)
        if (now[i].uid != n->owners[i].uid || now[i].blocks != n->owners[i].blocks)
            return false;
    return n_now == n->n_owners;
}

/* False: as they were. */
static bool take_owners(struct cl_gc *g, struct cl_gc_node *n, yyjson_val *meta) {
    struct cl_gc_owner_ref now[GC_MAX_OWNERS];
    uint32_t n_now = 0;
    size_t i, k;
    yyjson_val *ref, *refs = yyjson_obj_get(meta, "ownerReferences");
    bool crowded = yyjson_arr_size(refs) > GC_MAX_OWNERS;

    if (crowded && !n->over_limit)
        sl_log(SL_LOG_WARN, "object not garbage collected: too many owner references",
               SL_S("namespace", sl_json_str(meta, "namespace")),
               SL_S("name", sl_json_str(meta, "name")),
               SL_I("owners", (int64_t)yyjson_arr_size(refs)), SL_I("limit", GC_MAX_OWNERS));
    n->over_limit = crowded;
    yyjson_arr_foreach (crowded ? NULL : refs, i, k, ref) {
        const uint64_t uid = sl_rec_uid(sl_json_str(ref, "uid"));
        if (uid)
            now[n_now++] = (struct cl_gc_owner_ref){
                .uid = uid, .blocks = sl_json_bool(ref, "blockOwnerDeletion", false)};
    }
    if (same_owners(n, now, n_now))
        return false;
    enqueue_owners(g, n);
    unlink_owners(g, n);
    if (n_now > 0) {
        for (uint32_t o = 0; o < n_now; o++)
            now[o].edge = edge_new(g, now[o].uid, node_index(g, n));
        n->owners = sl_alloc(n_now * sizeof now[0]);
        memcpy(n->owners, now, n_now * sizeof now[0]);
        n->n_owners = (uint8_t)n_now;
    }
    return true;
}

static uint8_t flags_of(yyjson_val *meta) {
    uint8_t flags = NODE_GOING;
    size_t i, n;
    yyjson_val *f;

    if (!sl_json_at(meta, "deletionTimestamp"))
        return 0;
    yyjson_arr_foreach (yyjson_obj_get(meta, "finalizers"), i, n, f) {
        if (yyjson_equals_str(f, "foregroundDeletion"))
            flags |= NODE_FOREGROUND;
        else if (yyjson_equals_str(f, "orphan"))
            flags |= NODE_ORPHANS;
    }
    return flags;
}

static void name_node(struct cl_gc_node *n, yyjson_val *meta) {
    const char *ns = sl_json_str(meta, "namespace"), *name = sl_json_str(meta, "name");
    size_t bytes = strlen(ns) + strlen(name) + 2;

    if (n->key)
        return;
    n->key = sl_alloc(bytes);
    sl_fmt(n->key, bytes, "%s%s%s", ns, *ns ? "/" : "", name);
}

void cl_gc_object(void *ctx, yyjson_val *o) {
    struct cl_gc_resource *r = ctx;
    struct cl_gc *g = r->gc;
    yyjson_val *meta = yyjson_obj_get(o, "metadata");
    uint64_t uid = sl_rec_uid(sl_json_str(meta, "uid"));
    uint8_t flags = flags_of(meta);

    if (!uid)
        return;
    struct cl_gc_node *n = cl_gc_node(g, uid);
    if (!n)
        n = node_new(g, r, uid);
    if (!n)
        return;
    bool changed = take_owners(g, n, meta) || n->flags != flags;
    bool begins = (flags & (NODE_FOREGROUND | NODE_ORPHANS)) & ~n->flags;
    n->flags = flags;
    n->epoch = r->epoch;
    if (flags & NODE_ORPHANS)
        g->orphaned[uid % GC_ABSENT] = uid;
    if (n->n_owners || flags & (NODE_FOREGROUND | NODE_ORPHANS))
        name_node(n, meta);
    if (!g->ready || !changed)
        return;
    if (begins)
        enqueue_dependents(g, uid);
    if (flags & (NODE_FOREGROUND | NODE_ORPHANS) || (!flags && owners_need_check(g, n)))
        cl_gc_enqueue(g, node_index(g, n));
}

static void node_deleted(struct cl_gc *g, struct cl_gc_node *n) {
    uint64_t uid = n->uid;

    node_drop(g, n);
    if (g->ready)
        enqueue_dependents(g, uid);
}

void cl_gc_gone(void *ctx, yyjson_val *o) {
    struct cl_gc_resource *r = ctx;
    uint64_t uid = sl_rec_uid(sl_json_str(o, "metadata.uid"));
    struct cl_gc_node *n = uid ? cl_gc_node(r->gc, uid) : NULL;

    if (n)
        node_deleted(r->gc, n);
}

void cl_gc_begin(void *ctx) {
    struct cl_gc_resource *r = ctx;
    r->epoch++;
}

void cl_gc_synced(void *ctx, bool exists) {
    struct cl_gc_resource *r = ctx;
    struct cl_gc *g = r->gc;

    for (uint32_t i = 0; i < g->nodes.n; i++) {
        struct cl_gc_node *n = &g->nodes.v[i];
        if (n->used && n->resource == r->index && n->epoch != r->epoch && exists)
            node_deleted(g, n);
    }
    r->synced = true;
}

void cl_gc_forget_resource(struct cl_gc *g, struct cl_gc_resource *r) {
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.v[i].used && g->nodes.v[i].resource == r->index)
            node_drop(g, &g->nodes.v[i]);
}

/* ---- the part ---- */

struct cl_gc *cl_gc_of(struct sl_cluster *c) {
    return c->gc;
}

static void gc_start(struct sl_cluster *c) {
    struct cl_gc *g = c->gc = sl_alloc0(1, sizeof *g);

    g->c = c;
    g->free_node = g->free_edge = GC_NONE;
    g->max_nodes = GC_MAX_NODES;
    cl_gc_work_start(g);
    cl_resources_start(g);
}

/* Before all lists are in, an owner that is unknown is no news. */
static void get_ready(struct cl_gc *g) {
    if (g->ready || !cl_resources_synced(g))
        return;
    g->ready = true;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        struct cl_gc_node *n = &g->nodes.v[i];
        if (n->used &&
            (n->flags & (NODE_FOREGROUND | NODE_ORPHANS) || (!n->flags && owners_need_check(g, n))))
            cl_gc_enqueue(g, i);
    }
}

static void gc_turn(struct sl_cluster *c) {
    cl_resources_turn(c->gc);
    get_ready(c->gc);
    sl_writer_tick(c->gc->writer);
}

static sl_time gc_next(const struct sl_cluster *c) {
    if (!c->inf->ready)
        return SL_TIME_NEVER;
    sl_time a = cl_resources_next(c->gc), b = sl_writer_next(c->gc->writer);
    return a < b ? a : b;
}

static void gc_stop(struct sl_cluster *c) {
    struct cl_gc *g = c->gc;

    cl_resources_stop(g);
    cl_gc_work_stop(g);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        sl_freep(&g->nodes.v[i].key);
        sl_freep(&g->nodes.v[i].owners);
    }
    sl_vec_free(&g->nodes);
    sl_vec_free(&g->edges);
    sl_map_done(&g->by_uid);
    sl_map_done(&g->dependents);
    sl_freep(&c->gc);
}

const struct cl_part cl_gc_part = {gc_start, gc_turn, gc_next, NULL, gc_stop};
