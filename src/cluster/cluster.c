/* SPDX-License-Identifier: Apache-2.0 */
/* The reflectors, the patch queue and the turn: see cluster_int.h. */
#include "cluster/ceilings.h"
#include "cluster/cluster_int.h"

#include <string.h>

#include "base/hash.h"
#include "cluster/names.h"
#include "log/log.h"

/* A turn that goes on longer than this is a fault in a part that never comes to rest. */
#define MAX_PASSES 1000u
#define MISSING_PAUSE                                                                              \
    (5 * SL_SEC) /* where something is to be created in a namespace that is gone */

/* ---- reflectors ---- */

static void on_begin(void *ctx) {
    struct table *t = ctx;
    t->epoch++;
}

static void on_object(void *ctx, struct yyjson_val *o) {
    struct table *t = ctx;
    uint64_t rv = cl_version(jstr(o, "metadata.resourceVersion"));
    if (rv > t->stream_rv)
        t->stream_rv = rv;
    (void)cl_take_in(t->c, t, o);
}

static void on_gone(void *ctx, struct yyjson_val *o) {
    struct table *t = ctx;
    struct rec *r = cl_find_text(t->c, t, jstr(o, "metadata.namespace"), jstr(o, "metadata.name"));
    if (r && strcmp(r->uid, jstr(o, "metadata.uid")) == 0)
        cl_deleted(t->c, r);
}

/* An answer may be long on its way: of what is newer than the list the list knows nothing. */
static void on_synced(void *ctx, bool exists) {
    struct table *t = ctx;
    uint64_t listed = exists ? cl_version(sl_reflector_version(t->reflector)) : UINT64_MAX;
    uint32_t at = 0;
    for (struct rec *r; (r = cl_each_in(t, &at));)
        if (!r->planned && r->epoch != t->epoch && r->rv <= listed)
            cl_deleted(t->c, r);
    t->synced = true;
    t->exists = exists;
}

static void start_reflector(struct sl_cluster *c, struct table *t) {
    struct sl_reflector_owner owner = {t, on_begin, on_object, on_gone, on_synced};
    struct sl_buf path;
    sl_buf_init(&path, SL_WRITER_MAX_PATH);
    sl_buf_printf(&path, "%s/%s", t->kind->path, t->kind->plural);
    t->reflector =
        sl_reflector_new(c->port, sl_buf_str(&path), t->kind->query ? t->kind->query : "", &owner,
                         c->spec.seed + (uint64_t)(t - c->tables));
    if (t->kind->metadata_only)
        sl_reflector_metadata_only(t->reflector);
    sl_buf_done(&path);
}

/* A list that is refused keeps everything waiting: somebody should know why. */
static void tell_trouble(struct table *t) {
    const char *trouble = sl_reflector_trouble(t->reflector);
    uint64_t hash = *trouble ? sl_hash_str(1, trouble) : 0;
    if (hash && hash != t->trouble)
        sl_log(SL_LOG_WARN, "cannot read from the API", SL_S("kind", t->kind->kind),
               SL_S("error", trouble));
    t->trouble = hash;
}

/* ---- writing ---- */

/* The body is its controller's business. */
static bool build_planned(struct sl_cluster *c, struct rec *r, struct sl_write *w) {
    struct rec *owner = cl_by_uid(c, r->owner);
    const struct kind *k = r->table->kind;
    if (r->doomed) { /* does it exist at all? */
        cl_write_read(c, r, w);
        return true;
    }
    cl_write_create(c, k, r->ns, w);
    cl_write_path(c, &w->read_path, k, r->ns, r->name, NULL);
    if (!owner || owner->deleting || !owner->table->kind->child ||
        !owner->table->kind->child(c, owner, r, &w->body)) {
        if (r->sent)
            cl_doom(c, r);
        else
            cl_forget(c, r);
        return false;
    }
    r->sent = true;
    w->tag = CL_CREATE;
    return true;
}

static bool on_build(void *ctx, uint32_t obj, struct sl_write *w) {
    struct sl_cluster *c = ctx;
    struct rec *r = obj < c->objs.n ? c->objs.v[obj] : NULL;
    if (!r || r->gone || !c->ready)
        return false;
    if (r->planned)
        return build_planned(c, r, w);
    if (r->doomed && !r->deleting) {
        cl_write_delete(c, r, r->foreground ? "Foreground" : "Background", -1, w);
        return true;
    }
    return r->table->kind->build && r->table->kind->build(c, r, w);
}

/* A create that was refused stays planned and is tried again, with another body at once; one in a
 * namespace that is gone after a while. */
static void planned_done(struct sl_cluster *c, struct rec *r, struct rec *owner, bool create,
                         enum sl_written how, const struct sl_reply *reply) {
    if (r->planned && how == SL_WRITE_GONE && create)
        cl_want_at(c, r, c->port->mono + MISSING_PAUSE);
    else if (r->planned && how == SL_WRITE_GONE)
        cl_forget(c, r);
    if (owner && create && owner->table->kind->child_written)
        owner->table->kind->child_written(c, owner, r, how, reply);
}

static void on_done(void *ctx, uint32_t obj, const struct sl_write *w, enum sl_written how,
                    const struct sl_reply *reply) {
    struct sl_cluster *c = ctx;
    struct rec *r = c->objs.v[obj];
    if (!r)
        return;
    if (how == SL_WRITE_REFUSED)
        sl_log(SL_LOG_DEBUG, "the API server refused a write", SL_S("path", sl_buf_str(&w->path)),
               SL_I("status", reply->status));
    if (r->gone) {
        cl_enqueue(r);
        return;
    }
    /* The stream may have shown it before its create was answered. */
    bool create = w->tag == CL_CREATE, planned = r->planned || create;
    struct rec *owner = planned ? cl_by_uid(c, r->owner) : NULL;
    if (how == SL_WRITTEN && r->table->kind->decode)
        cl_take_text(c, r, reply->body, reply->len);
    if (planned)
        planned_done(c, r, owner, create, how, reply);
    if (!r->gone && r->table->kind->written)
        r->table->kind->written(c, r, w, how, reply);
    if (!r->gone && r->doomed)
        cl_want(c, r);
}

static void on_read(void *ctx, uint32_t obj, const struct sl_reply *reply) {
    struct sl_cluster *c = ctx;
    struct rec *r = c->objs.v[obj];
    if (!r)
        return;
    if (!r->gone && reply->status == 200)
        cl_take_text(c, r, reply->body, reply->len);
    if (r->gone)
        cl_enqueue(r);
    else
        cl_mark(c, r);
}

/* ---- life ---- */

struct sl_cluster *sl_cluster_new(const struct sl_cluster_spec *spec) {
    struct sl_cluster *c = sl_alloc0(1, sizeof *c);
    c->spec = *spec;
    c->port = spec->port;
    sl_syms_init(&c->syms);
    sl_heap_init(&c->looks, cl_look_less, cl_look_place, c);
    struct sl_writer_owner owner = {c, on_build, on_done, on_read};
    c->writer = sl_writer_new(spec->port, &owner, CL_MAX_IN_FLIGHT, spec->seed);
    for (uint32_t k = 0; k < K_COUNT; k++) {
        c->tables[k].c = c;
        c->tables[k].kind = &cl_kinds[k];
        if (cl_kinds[k].size && cl_kinds[k].decode)
            start_reflector(c, &c->tables[k]);
    }
    for (uint32_t i = 0; i < cl_n_parts; i++)
        if (cl_parts[i]->start)
            cl_parts[i]->start(c);
    return c;
}

void sl_cluster_free(struct sl_cluster *c) {
    if (!c)
        return;
    for (uint32_t k = 0; k < K_COUNT; k++)
        sl_reflector_free(c->tables[k].reflector);
    sl_writer_free(c->writer);
    for (uint32_t i = 0; i < cl_n_parts; i++)
        if (cl_parts[i]->stop)
            cl_parts[i]->stop(c);
    for (uint32_t i = 0; i < c->objs.n; i++)
        if (c->objs.v[i])
            cl_free(c->objs.v[i]);
    for (uint32_t k = 0; k < K_COUNT; k++) {
        struct table *t = &c->tables[k];
        sl_map_done(&t->by_name);
        sl_vec_free(&t->dirty);
        sl_vec_free(&t->slots);
        sl_vec_free(&t->free_slots);
    }
    sl_map_done(&c->by_uid);
    sl_map_done(&c->by_owner);
    sl_map_done(&c->events);
    sl_vec_free(&c->broods);
    sl_vec_free(&c->free_broods);
    sl_vec_free(&c->objs);
    sl_vec_free(&c->free_objs);
    sl_vec_free(&c->choosy);
    sl_heap_done(&c->looks);
    sl_syms_done(&c->syms);
    sl_freep(&c);
}

/* ---- the turn ---- */

static bool lists_are_in(struct sl_cluster *c) {
    bool all = true;
    for (uint32_t k = 0; k < K_COUNT; k++) {
        struct table *t = &c->tables[k];
        if (!t->reflector)
            continue;
        sl_reflector_tick(t->reflector);
        tell_trouble(t);
        all &= t->synced;
    }
    for (uint32_t i = 0; i < cl_n_parts; i++)
        all &= !cl_parts[i]->ready || cl_parts[i]->ready(c);
    return all;
}

/* Looks at everything dirty, kind by kind. Returns whether there was anything. */
static bool look(struct sl_cluster *c) {
    bool any = false;
    for (uint32_t k = 0; k < K_COUNT; k++) {
        struct table *t = &c->tables[k];
        for (uint32_t i = 0; i < t->dirty.n; i++) {
            struct rec *r = t->dirty.v[i];
            any = true;
            r->dirty = false;
            if (r->gone)
                cl_free_if_unknown(c, r);
            else if (t->kind->changed)
                t->kind->changed(c, r);
        }
        sl_vec_clear(&t->dirty);
    }
    return any;
}

/* The clock on the wall was set: who waits for it looks again how long. */
static void watch_clock(struct sl_cluster *c) {
    sl_span clock = c->port->wall - c->port->mono;
    if (clock <= c->clock + SL_SEC && clock >= c->clock - SL_SEC)
        return;
    c->clock = clock;
    for (uint32_t i = 0; i < c->objs.n; i++)
        if (c->objs.v[i] && c->objs.v[i]->look_at)
            cl_mark(c, c->objs.v[i]);
}

static void wake_due(struct sl_cluster *c) {
    while (!sl_heap_empty(&c->looks)) {
        struct rec *r = c->objs.v[sl_heap_top(&c->looks)];
        if (r->look_at > c->port->wall)
            return;
        cl_look_at(c, r, 0);
        cl_mark(c, r);
    }
}

void sl_cluster_tick(struct sl_cluster *c) {
    if (!lists_are_in(c) && !c->ready)
        return;
    c->ready = true;
    watch_clock(c);
    wake_due(c);
    for (uint32_t pass = 0; look(c); pass++)
        sl_assert(pass < MAX_PASSES);
    for (uint32_t i = 0; i < cl_n_parts; i++)
        if (cl_parts[i]->turn)
            cl_parts[i]->turn(c);
    sl_writer_tick(c->writer);
    cl_names_sweep(c);
}

static sl_time earlier(sl_time a, sl_time b) {
    return a < b ? a : b;
}

sl_time sl_cluster_next(const struct sl_cluster *c) {
    sl_time at = c->ready ? sl_writer_next(c->writer) : SL_TIME_NEVER;
    for (uint32_t k = 0; k < K_COUNT; k++) {
        const struct table *t = &c->tables[k];
        if (t->reflector)
            at = earlier(at, sl_reflector_next(t->reflector));
        if (t->dirty.n && c->ready)
            return c->port->mono;
    }
    for (uint32_t i = 0; i < cl_n_parts; i++)
        if (cl_parts[i]->next)
            at = earlier(at, cl_parts[i]->next(c));
    if (c->ready && !sl_heap_empty(&c->looks)) {
        sl_span d = c->objs.v[sl_heap_top(&c->looks)]->look_at - c->port->wall;
        at = earlier(at, sl_time_add(c->port->mono, d > 0 ? d : 0));
    }
    return at;
}

bool sl_cluster_ready(const struct sl_cluster *c) {
    return c->ready;
}

bool sl_cluster_idle(const struct sl_cluster *c) {
    for (uint32_t k = 0; k < K_COUNT; k++)
        if (c->tables[k].dirty.n || (c->tables[k].reflector && !c->tables[k].synced))
            return false;
    return c->ready && sl_writer_idle(c->writer);
}
