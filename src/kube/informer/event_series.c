/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events (events.k8s.io/v1). Each that is to be written, or of which a repetition may become a
 * series, has a record in a table of its own; nothing is read of them.
 */
#include "kube/informer/informer_int.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/collection/hash.h"
#include "kube/informer/event.h"

struct event {
    struct sl_rec rec;
    char *body;               /* until it is written */
    uint64_t key;             /* object, reason and note */
    uint32_t count, reported; /* how often it happened, and what of that the API server has */
    sl_time last;
};

static struct event *event_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct event, rec);
}

/* What makes it the same event as another. */
static uint64_t key_of(const struct sl_informer *f, const struct sl_event *e) {
    uint64_t h = sl_hash_str(sl_hash_str(sl_hash_str(1, e->of.uid), e->controller), e->reason);
    h = sl_hash_u64(h, e->warning);
    return f->spec.events.by_version ? sl_hash_u64(h, e->of.rv) : sl_hash_str(h, e->note);
}

/* What its name ends in. */
static uint64_t unique(const struct sl_informer *f, const struct sl_event *e) {
    uint64_t h =
        sl_digest_str(sl_digest_str(sl_digest_str(1, e->of.uid), e->controller), e->reason);
    h = sl_digest_u64(h, e->warning);
    h = f->spec.events.by_version ? sl_digest_u64(h, e->of.rv) : sl_digest_str(h, e->note);
    return sl_digest_u64(sl_digest_u64((uint64_t)e->at, h), f->serial);
}

/* Returns whether it was one. */
static bool repeats(struct sl_informer *f, uint64_t key) {
    uint32_t id = sl_map_get(&f->events, key);
    if (id == SL_MAP_NONE)
        return false;
    struct event *e = event_of(f->recs.v[id]);
    e->count++;
    e->last = f->client->wall;
    sl_rec_reconcile_at(&e->rec, e->last + SL_EVENT_SERIES_LIFE);
    if (!e->body)
        sl_rec_write_at(&e->rec, f->client->mono + SL_EVENT_SERIES_PAUSE);
    return true;
}

static void add_series(struct sl_informer *f, const struct sl_event *e, uint64_t key) {
    struct sl_buf b = SL_BUF(SL_EVENT_BODY);
    char name[SL_EVENT_NAME];
    (void)sl_event_put(&b, e, unique(f, e), name);
    f->serial++;
    struct event *v = event_of(sl_inf_add(f, f->n_tables - 1, sl_event_ns(e), name));
    v->body = sl_strdup(sl_buf_str(&b));
    v->key = key;
    v->count = 1;
    f->events_waiting++;
    sl_map_add(&f->events, key, v->rec.id);
    sl_rec_reconcile_at(&v->rec, e->at + SL_EVENT_SERIES_LIFE);
    sl_rec_write(&v->rec);
    sl_buf_done(&b);
}

void sl_rec_event(const struct sl_rec *r, const char *controller, bool warning, const char *reason,
                  const char *fmt, ...) {
    struct sl_informer *f = r->table->informer;
    const struct sl_rec_kind *k = r->table->kind;
    char text[4 * SL_EVENT_NOTE];
    va_list args;

    if (!f->writes)
        return;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n < 0)
        return;
    const char *instance = f->spec.events.instance;
    struct sl_event e = {
        .at = f->client->wall,
        .controller = controller,
        .instance = instance ? instance : controller,
        .warning = warning,
        .reason = reason,
        .action = f->spec.events.action ? f->spec.events.action(reason) : reason,
        .note = text,
        .of = {k->api_version, k->kind, k->namespaced ? sl_rec_ns(r) : "", r->name, r->uid, r->rv,
               NULL},
    };
    uint64_t key = key_of(f, &e);
    if (repeats(f, key))
        return;
    if (f->events_waiting < SL_EVENT_MAX_WAITING)
        add_series(f, &e, key);
    else if (f->spec.events.dropped)
        f->spec.events.dropped(f->spec.ctx);
}

static bool build_event(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct event *e = event_of(r);
    (void)ctx;
    if (e->body) {
        sl_inf_build_create(r->table->informer, r->kind, sl_rec_ns(r), w);
        sl_buf_puts(&w->body, e->body);
        e->reported = 1;
        return true;
    }
    if (e->reported == e->count)
        return false;
    sl_rec_build_patch(r, NULL, w);
    sl_buf_clear(&w->read_path);
    sl_event_put_series(&w->body, e->count, e->last);
    e->reported = e->count;
    return true;
}

static void drop_body(struct event *e) {
    if (e->body)
        e->rec.table->informer->events_waiting--;
    sl_freep(&e->body);
}

static void forget_event(struct event *e) {
    drop_body(e);
    (void)sl_map_del(&e->rec.table->informer->events, e->key, e->rec.id);
    sl_rec_forget(&e->rec);
}

static void event_written(void *ctx, struct sl_rec *r, const struct sl_write *w,
                          enum sl_written how, const struct sl_kube_reply *reply) {
    struct sl_informer *f = r->table->informer;
    struct event *e = event_of(r);
    (void)ctx, (void)w, (void)reply;
    if (how == SL_WRITE_FAILED) {
        e->reported = 0;
        return; /* built again */
    }
    drop_body(e);
    if (how != SL_WRITTEN || r->table->n > f->spec.events.max_known)
        forget_event(e);
    else if (e->reported != e->count)
        sl_rec_write_at(r, f->client->mono + SL_EVENT_SERIES_PAUSE);
}

/* It was not repeated for long. One that could not be written meanwhile, since the API server is
 * away or the clock was set, still is to be. */
static void reconcile(void *ctx, struct sl_rec *r) {
    const struct sl_informer *f = r->table->informer;
    (void)ctx;
    if (r->reconcile_at)
        return;
    if (event_of(r)->body && f->writes)
        sl_rec_reconcile_at(r, sl_time_add(f->client->wall, SL_EVENT_SERIES_LIFE));
    else
        forget_event(event_of(r));
}

static void free_event(struct sl_rec *r) {
    sl_freep(&event_of(r)->body);
}

const struct sl_rec_kind sl_inf_event_kind = {
    .path = "/apis/events.k8s.io/v1",
    .plural = "events",
    .kind = "Event",
    .api_version = "events.k8s.io/v1",
    .size = sizeof(struct event),
    .namespaced = true,
    .lane = 2,
    .reconcile = reconcile,
    .free = free_event,
    .build = build_event,
    .written = event_written,
};
