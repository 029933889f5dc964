/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events, in the lane that waits for all others. A repetition (same object, reporter, type, reason
 * and note) within six minutes counts in the series of the first. When too many wait, new ones are
 * dropped and counted: they tell people what happened, nothing depends on them.
 */
#include "cluster/ceilings.h"
#include "cluster/cluster_int.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "kube/event.h"

static struct rec_event *event_of(struct rec *r) {
    return (struct rec_event *)(void *)r;
}

/* Returns whether it was one. */
static bool repeats(struct sl_cluster *c, uint64_t key) {
    uint32_t obj = sl_map_get(&c->events, key);
    if (obj == SL_MAP_NONE)
        return false;
    struct rec_event *e = event_of(c->objs.v[obj]);
    e->count++;
    e->last = c->port->wall;
    cl_look_at(c, &e->rec, e->last + SL_EVENT_SERIES_LIFE);
    if (!e->body)
        cl_want_at(c, &e->rec, c->port->mono + SL_EVENT_SERIES_PAUSE);
    return true;
}

/* What its name ends in. */
static uint64_t unique(const struct sl_event *e, uint64_t serial) {
    uint64_t h = e->of.uid && *e->of.uid ? sl_digest_str(7, e->of.uid) | 1 : 0;

    h = sl_digest_str(sl_digest_str(h, e->controller), e->reason);
    h = sl_digest_str(sl_digest_u64(h, e->warning), e->note);
    return sl_digest_u64(sl_digest_u64((uint64_t)e->at, h), serial);
}

void cl_event(struct sl_cluster *c, const struct rec *r, const char *controller, bool warning,
              const char *reason, const char *fmt, ...) {
    char text[4 * SL_EVENT_NOTE], name[SL_EVENT_NAME];
    struct sl_buf b;
    va_list args;

    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    uint64_t key = sl_hash_str(sl_hash_str(cl_uid(r->uid), controller), reason);
    key = sl_hash_str(sl_hash_u64(key, warning), text);
    if (n < 0 || repeats(c, key))
        return;
    if (c->n_events_waiting >= SL_EVENT_MAX_WAITING) {
        c->dropped_events++;
        return;
    }
    const struct kind *k = r->table->kind;
    struct sl_event e = {
        .at = c->port->wall,
        .controller = controller,
        .instance = controller,
        .warning = warning,
        .reason = reason,
        .action = reason,
        .note = text,
        .of = {k->api_version, k->kind, k->namespaced ? ns_of(c, r) : "", r->name, r->uid, r->rv}};
    sl_buf_init(&b, SL_EVENT_BODY);
    (void)sl_event_put(&b, &e, unique(&e, c->serial++), name);
    struct rec_event *v =
        event_of(cl_new(c, &c->tables[K_EVENT], sl_sym_put(&c->syms, sl_event_ns(&e)), name));
    v->body = sl_strdup(sl_buf_str(&b));
    v->key = key;
    v->count = 1;
    c->n_events_waiting++;
    sl_map_add(&c->events, key, v->rec.obj);
    cl_look_at(c, &v->rec, e.at + SL_EVENT_SERIES_LIFE);
    cl_want(c, &v->rec);
    sl_buf_done(&b);
}

bool cl_event_build(struct sl_cluster *c, struct rec *r, struct sl_write *w) {
    struct rec_event *e = event_of(r);
    if (e->body) {
        cl_write_create(c, r->table->kind, r->ns, w);
        sl_buf_puts(&w->body, e->body);
        e->told = 1;
        return true;
    }
    if (e->told == e->count)
        return false;
    w->method = SL_PATCH;
    w->content_type = SL_MERGE_PATCH;
    cl_write_path(c, &w->path, r->table->kind, r->ns, r->name, NULL);
    sl_event_put_series(&w->body, e->count, e->last);
    e->told = e->count;
    return true;
}

static void drop_body(struct sl_cluster *c, struct rec_event *e) {
    if (e->body)
        c->n_events_waiting--;
    sl_freep(&e->body);
}

static void forget(struct sl_cluster *c, struct rec_event *e) {
    drop_body(c, e);
    (void)sl_map_del(&c->events, e->key, e->rec.obj);
    cl_forget(c, &e->rec);
}

void cl_event_written(struct sl_cluster *c, struct rec *r, const struct sl_write *w,
                      enum sl_written how, const struct sl_reply *reply) {
    struct rec_event *e = event_of(r);
    (void)w, (void)reply;
    if (how == SL_WRITE_FAILED) {
        e->told = 0;
        return; /* asked again */
    }
    drop_body(c, e);
    if (how != SL_WRITTEN || c->tables[K_EVENT].n > CL_MAX_EVENTS)
        forget(c, e);
    else if (e->told != e->count)
        cl_want_at(c, r, c->port->mono + SL_EVENT_SERIES_PAUSE);
}

/* Nobody repeated it for long. */
void cl_event_changed(struct sl_cluster *c, struct rec *r) {
    if (!r->look_at)
        forget(c, event_of(r));
}

void cl_event_done(struct rec *r) {
    sl_freep(&event_of(r)->body);
}
