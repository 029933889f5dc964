/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, writes, timers and the turn. */
#include "kube/informer/informer_int.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/log/log.h"

/* ---- streams ---- */

static void on_begin(void *ctx) {
    struct sl_rec_table *t = ctx;
    t->epoch++;
}

static void on_object(void *ctx, yyjson_val *o) {
    struct sl_rec_table *t = ctx;
    uint64_t rv = sl_rec_version(sl_json_str(o, "metadata.resourceVersion"));
    if (rv > t->stream_rv)
        t->stream_rv = rv;
    (void)sl_inf_take_in(t, o);
}

static void on_gone(void *ctx, yyjson_val *o) {
    struct sl_rec_table *t = ctx;
    struct sl_rec *r =
        sl_inf_find_in(t, sl_json_str(o, "metadata.namespace"), sl_json_str(o, "metadata.name"));
    if (r && strcmp(r->uid, sl_json_str(o, "metadata.uid")) == 0)
        sl_inf_deleted(r);
}

/* A reply may be late: the list is no evidence about anything newer than itself. */
static void on_synced(void *ctx, bool exists) {
    struct sl_rec_table *t = ctx;
    struct sl_informer *f = t->informer;
    uint64_t listed = exists ? sl_rec_version(sl_reflector_version(t->reflector)) : UINT64_MAX;
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(f, (uint32_t)(t - f->tables), &at));)
        if (!r->create_planned && r->epoch != t->epoch && r->rv <= listed)
            sl_inf_deleted(r);
    bool turned = t->exists != exists;
    t->synced = true;
    t->exists = exists;
    if (turned && t->kind->served)
        t->kind->served(f->spec.ctx);
    if (t->ahead_rv <= listed)
        t->ahead_rv = 0;
}

void sl_inf_watch(struct sl_informer *f, uint32_t kind) {
    struct sl_rec_table *t = &f->tables[kind];
    struct sl_reflector_owner owner = {t, on_begin, on_object, on_gone, on_synced};
    struct sl_buf path = SL_BUF(SL_WRITER_MAX_PATH);
    sl_reflector_free(t->reflector);
    sl_buf_printf(&path, "%s/%s", t->kind->path, t->kind->plural);
    t->synced = false;
    t->reflector =
        sl_reflector_new(f->client, sl_buf_str(&path), t->kind->query ? t->kind->query : "", &owner,
                         f->spec.seed + kind);
    if (t->kind->metadata_only)
        sl_reflector_metadata_only(t->reflector);
    sl_buf_done(&path);
}

void sl_inf_unwatch(struct sl_informer *f, uint32_t kind) {
    sl_reflector_free(f->tables[kind].reflector);
    f->tables[kind].reflector = NULL;
}

/* A list that is refused (no rights, a broken conversion) keeps everything waiting. */
static void log_trouble(struct sl_rec_table *t) {
    const char *trouble = sl_reflector_error(t->reflector);
    uint64_t hash = *trouble ? sl_hash_str(1, trouble) : 0;
    if (hash && hash != t->trouble)
        sl_log(SL_LOG_WARN, "list or watch failed", SL_S("kind", t->kind->kind),
               SL_S("error", trouble));
    t->trouble = hash;
}

bool sl_inf_all_synced(const struct sl_informer *f) {
    bool all = true;
    for (uint32_t i = 0; i < f->n_tables; i++)
        all &= !f->tables[i].reflector || f->tables[i].synced || f->tables[i].kind->optional;
    return all;
}

void sl_inf_reading(const struct sl_informer *f, struct sl_inf_reading *ret) {
    *ret = (struct sl_inf_reading){.error = ""};
    for (uint32_t i = 0; i < f->n_tables; i++) {
        const struct sl_rec_table *t = &f->tables[i];
        if (!t->reflector || t->kind->optional)
            continue;
        ret->kinds++;
        ret->synced += t->synced;
        ret->objects += t->n;
        if (!ret->failed && !t->synced && *sl_reflector_error(t->reflector)) {
            ret->failed = t->kind;
            ret->error = sl_reflector_error(t->reflector);
            ret->status = sl_reflector_error_status(t->reflector);
        }
    }
}

bool sl_inf_poll(struct sl_informer *f) {
    bool all = true;
    sl_inf_reap(f);
    for (uint32_t i = 0; i < f->n_tables; i++) {
        struct sl_rec_table *t = &f->tables[i];
        if (!t->reflector)
            continue;
        sl_reflector_tick(t->reflector);
        log_trouble(t);
        all &= t->synced || t->kind->optional;
    }
    return all;
}

/* ---- writes ---- */

static bool on_build(void *ctx, uint32_t id, struct sl_write *w) {
    struct sl_informer *f = ctx;
    struct sl_rec *r = id < f->recs.n ? f->recs.v[id] : NULL;
    if (!r || r->gone || !f->ready || !f->writes)
        return false;
    if (r->create_planned)
        return sl_inf_build_planned(r, w);
    if (r->delete_planned && !r->deleting) {
        sl_rec_build_delete(r, r->foreground ? "Foreground" : "Background", -1, w);
        return true;
    }
    return r->table->kind->build && r->table->kind->build(f->spec.ctx, r, w);
}

static void on_done(void *ctx, uint32_t id, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply) {
    struct sl_informer *f = ctx;
    struct sl_rec *r = f->recs.v[id];
    if (!r)
        return;
    const struct sl_rec_kind *k = r->table->kind;
    /* The stream may have shown it before its create was answered. */
    bool create = w->tag == SL_REC_CREATE, planned = !r->gone && (r->create_planned || create);
    struct sl_rec *owner = planned ? sl_inf_by_uid(f, r->owner) : NULL;
    if (how == SL_WRITTEN && !r->gone && k->decode) {
        r->reread |= w->method == SL_GET && !w->foreign;
        sl_inf_take_answer(r, reply);
    }
    if (f->spec.written)
        f->spec.written(f->spec.ctx, r, w, how, reply);
    if (planned)
        sl_inf_planned_written(r, owner, create, how, reply);
    if (!r->gone && k->written)
        k->written(f->spec.ctx, r, w, how, reply);
    if (r->delete_planned)
        sl_rec_write(r);
}

static void on_read(void *ctx, uint32_t id, const struct sl_kube_reply *reply) {
    struct sl_informer *f = ctx;
    struct sl_rec *r = f->recs.v[id];
    if (r && !r->gone && reply->status == 200)
        sl_inf_take_answer(r, reply);
    if (!r || r->gone)
        return;
    if (r->rv > r->table->ahead_rv) {
        r->table->ahead_rv = r->rv;
        r->table->ahead_since = f->client->mono;
    }
    sl_rec_enqueue(r);
}

/* ---- life ---- */

static bool sooner(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_informer *f = ctx;
    sl_time x = f->recs.v[a]->reconcile_at, y = f->recs.v[b]->reconcile_at;
    return x != y ? x < y : a < b;
}

static uint32_t *timer_of(void *ctx, uint32_t id) {
    const struct sl_informer *f = ctx;
    return &f->recs.v[id]->timer;
}

struct sl_informer *sl_inf_new(const struct sl_inf_spec *spec) {
    struct sl_informer *f = sl_alloc0(1, sizeof *f);
    struct sl_writer_owner owner = {f, on_build, on_done, on_read};
    sl_assert(spec->n_kinds < UINT8_MAX);
    f->spec = *spec;
    f->client = spec->client;
    f->writes = true;
    sl_syms_init(&f->syms);
    sl_heap_init(&f->timers, sooner, timer_of, f);
    f->writer = sl_writer_new(spec->client, &owner, spec->max_in_flight, spec->seed);
    f->n_tables = spec->n_kinds + 1;
    f->tables = sl_alloc0(f->n_tables, sizeof *f->tables);
    for (uint32_t i = 0; i < f->n_tables; i++) {
        f->tables[i].informer = f;
        f->tables[i].kind = i < spec->n_kinds ? &spec->kinds[i] : &sl_inf_event_kind;
    }
    return f;
}

void sl_inf_stop(struct sl_informer *f) {
    for (uint32_t i = 0; i < f->n_tables; i++) {
        sl_reflector_free(f->tables[i].reflector);
        f->tables[i].reflector = NULL;
    }
    sl_writer_free(f->writer);
    f->writer = NULL;
}

void sl_inf_free(struct sl_informer *f) {
    if (!f)
        return;
    sl_inf_stop(f);
    for (uint32_t i = 0; i < f->recs.n; i++)
        if (f->recs.v[i])
            sl_inf_free_rec(f->recs.v[i]);
    for (uint32_t i = 0; i < f->n_tables; i++) {
        struct sl_rec_table *t = &f->tables[i];
        sl_map_done(&t->by_name);
        sl_vec_free(&t->queue);
        sl_vec_free(&t->slots);
        sl_vec_free(&t->free_slots);
    }
    sl_freep(&f->tables);
    sl_map_done(&f->by_uid);
    sl_map_done(&f->by_owner);
    sl_map_done(&f->events);
    sl_vec_free(&f->owned);
    sl_vec_free(&f->free_owned);
    sl_vec_free(&f->tombstones);
    sl_vec_free(&f->recs);
    sl_vec_free(&f->free_ids);
    sl_heap_done(&f->timers);
    sl_syms_done(&f->syms);
    sl_freep(&f);
}

/* ---- the turn ---- */

bool sl_inf_wake(struct sl_informer *f) {
    sl_span clock = f->client->wall - f->client->mono;
    bool set = clock > f->clock + SL_SEC || clock < f->clock - SL_SEC;
    if (set) { /* a waiter computes its timeout again */
        f->clock = clock;
        for (uint32_t i = 0; i < f->recs.n; i++)
            if (f->recs.v[i] && f->recs.v[i]->reconcile_at)
                sl_rec_enqueue(f->recs.v[i]);
    }
    while (!sl_heap_empty(&f->timers)) {
        struct sl_rec *r = f->recs.v[sl_heap_top(&f->timers)];
        if (r->reconcile_at > f->client->wall)
            break;
        sl_rec_reconcile_at(r, 0);
        sl_rec_enqueue(r);
    }
    return set;
}

bool sl_inf_pass(struct sl_informer *f) {
    bool any = false;
    for (uint32_t i = 0; i < f->n_tables; i++) {
        struct sl_rec_table *t = &f->tables[i];
        uint32_t n = t->queue.n; /* what is queued meanwhile waits for the next pass */
        any |= n > 0;
        for (uint32_t at = 0; at < n; at++) {
            struct sl_rec *r = t->queue.v[at];
            r->queued = false;
            if (!r->gone)
                t->kind->reconcile(f->spec.ctx, r);
        }
        t->queue.n -= n;
        if (n)
            memmove(t->queue.v, t->queue.v + n, t->queue.n * sizeof *t->queue.v);
    }
    return any;
}

bool sl_inf_settle(struct sl_informer *f) {
    for (uint32_t pass = 0; pass < SL_INF_MAX_PASSES; pass++)
        if (!sl_inf_pass(f))
            return true;
    return false;
}

void sl_inf_flush(struct sl_informer *f) {
    sl_writer_tick(f->writer);
    sl_inf_reap(f);
}

void sl_inf_sweep(struct sl_informer *f) {
    struct sl_syms *t = &f->syms;
    sl_syms_begin(t);
    for (uint32_t i = 0; i < f->recs.n; i++) { /* those too that are gone and not yet freed */
        struct sl_rec *r = f->recs.v[i];
        if (!r)
            continue;
        sl_sym_hold(t, r->ns);
        sl_sym_hold(t, r->finalizers);
        if (r->table->kind->hold)
            r->table->kind->hold(t, r);
    }
    if (f->spec.hold)
        f->spec.hold(f->spec.ctx, t);
    sl_syms_sweep(t);
}

void sl_inf_tick(struct sl_informer *f) {
    f->ready |= sl_inf_poll(f);
    if (f->ready) {
        (void)sl_inf_wake(f);
        if (!sl_inf_settle(f))
            sl_log(SL_LOG_ERROR, "reconciliation did not converge",
                   SL_I("passes", SL_INF_MAX_PASSES));
        sl_inf_flush(f);
    }
    if (sl_syms_due(&f->syms))
        sl_inf_sweep(f);
}

sl_time sl_inf_next(const struct sl_informer *f) {
    sl_time at = f->ready ? sl_writer_next(f->writer) : SL_TIME_NEVER;
    for (uint32_t i = 0; i < f->n_tables; i++) {
        const struct sl_rec_table *t = &f->tables[i];
        if (t->reflector)
            at = sl_time_min(at, sl_reflector_next(t->reflector));
        if (t->queue.n && f->ready)
            return f->client->mono;
    }
    return at;
}

sl_time sl_inf_next_timer(const struct sl_informer *f) {
    if (!f->ready || sl_heap_empty(&f->timers))
        return SL_TIME_NEVER;
    sl_span d = f->recs.v[sl_heap_top(&f->timers)]->reconcile_at - f->client->wall;
    return sl_time_add(f->client->mono, d > 0 ? d : 0);
}

bool sl_inf_settled(const struct sl_informer *f) {
    for (uint32_t i = 0; i < f->n_tables; i++)
        if (f->tables[i].queue.n)
            return false;
    return true;
}

bool sl_inf_idle(const struct sl_informer *f) {
    return f->ready && sl_inf_settled(f) && sl_inf_all_synced(f) && sl_writer_idle(f->writer);
}
