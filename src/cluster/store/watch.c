/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch is a position in the event history of its resource. Nothing is queued per watch: events
 * are delivered when they are committed, to all watches up to the newest, so what is older than the
 * retained history has always been delivered. Watches of one object or one namespace are found by
 * name when something changes there.
 */
#include "cluster/store/store_int.h"

#include <string.h>

#include "core/base/collection/hash.h"

static struct sl_store_event *ring_at(const struct store_ring *r, uint64_t i) {
    return &r->v[i & (r->cap - 1)];
}

void store_ring_init(struct store_resource *res, uint64_t floor) {
    res->ring = (struct store_ring){.floor = floor};
    TAILQ_INIT(&res->watches);
}

static uint64_t row_of(const struct sl_store_object *o) {
    return ((const struct store_object *)o)->row;
}

void store_ring_drop(struct sl_store *st, struct store_resource *res) {
    struct store_ring *r = &res->ring;
    struct sl_store_event ev = *ring_at(r, r->first++);

    r->floor = ev.now->version;
    r->bytes -= ev.now->len;
    if (st->file && ev.was && row_of(ev.was) != row_of(ev.now)) /* or it was only touched */
        store_rows_add(&res->rows, row_of(ev.was));
    if (st->file && ev.what == SL_DELETED) /* the end of an object last: see rows.c */
        store_rows_add(&res->rows, row_of(ev.now));
    sl_store_object_unref(st, ev.now);
    if (ev.was)
        sl_store_object_unref(st, ev.was);
}

void store_ring_done(struct sl_store *st, struct store_resource *res) {
    while (res->ring.first < res->ring.end)
        store_ring_drop(st, res);
    sl_freep(&res->ring.v);
    res->ring.cap = 0;
}

static void grow_ring(struct store_ring *r) {
    uint32_t cap = r->cap ? 2 * r->cap : 16;
    struct sl_store_event *v = sl_alloc0(cap, sizeof *v);

    for (uint64_t i = r->first; i < r->end; i++)
        v[i & (cap - 1)] = *ring_at(r, i);
    sl_freep(&r->v);
    r->v = v;
    r->cap = cap;
}

static void mark_backlog(struct sl_store *st, struct store_resource *res) {
    if (!res->has_backlog)
        TAILQ_INSERT_TAIL(&st->backlog, res, entry);
    res->has_backlog = true;
}

void store_ring_add(struct sl_store *st, struct store_resource *res,
                    const struct sl_store_event *ev) {
    struct store_ring *r = &res->ring;

    if (r->end - r->first == r->cap)
        grow_ring(r);
    *ring_at(r, r->end++) = *ev;
    r->bytes += ev->now->len;
    mark_backlog(st, res);
}

/* ---- places ---- */

static uint64_t place_hash(const char *ns, const char *name) {
    return sl_hash_str(sl_hash_str(1, ns), name);
}

static bool is_about(const struct sl_store_watch *w, const struct sl_store_object *o) {
    return !w->ns || (strcmp(w->ns, o->ns) == 0 && (!*w->name || strcmp(w->name, o->name) == 0));
}

static void places_grow(struct store_watch_index *p) {
    struct store_watch_index old = *p;
    struct sl_store_watch *w;

    if (p->n < p->cap)
        return;
    p->cap = old.cap ? 2 * old.cap : 16;
    p->v = sl_alloc0(p->cap, sizeof *p->v);
    for (uint32_t i = 0; i < p->cap; i++)
        TAILQ_INIT(&p->v[i]);
    for (uint32_t i = 0; i < old.cap; i++)
        while ((w = TAILQ_FIRST(&old.v[i]))) {
            TAILQ_REMOVE(&old.v[i], w, entry);
            TAILQ_INSERT_TAIL(&p->v[w->hash & (p->cap - 1)], w, entry);
        }
    sl_freep(&old.v);
}

/* Indexes a watch that is up to date; not while events are delivered through the index. */
static void index_watch(struct store_resource *res, struct sl_store_watch *w) {
    struct store_watch_index *p = &res->watch_index;

    TAILQ_REMOVE(&res->watches, w, entry);
    places_grow(p);
    TAILQ_INSERT_TAIL(&p->v[w->hash & (p->cap - 1)], w, entry);
    w->indexed = true;
    p->n++;
}

void sl_store_unwatch(struct sl_store *st, struct sl_store_watch *w) {
    struct store_resource *res = w->res;

    if (st->delivering == w)
        st->delivering = NULL;
    if (st->deliver_next == w)
        st->deliver_next = TAILQ_NEXT(w, entry);
    if (w->indexed)
        TAILQ_REMOVE(&res->watch_index.v[w->hash & (res->watch_index.cap - 1)], w, entry);
    else
        TAILQ_REMOVE(&res->watches, w, entry);
    res->watch_index.n -= w->indexed;
    sl_freep(&w->ns);
    sl_freep(&w->name);
    sl_freep(&w);
}

/* ---- delivery ---- */

/* Everything of this watch; the callback may end it, and others. False: it has ended. */
static bool report_one(struct sl_store *st, struct sl_store_watch *w) {
    struct store_ring *r = &w->res->ring;

    st->delivering = w;
    while (st->delivering && w->next < r->end) {
        const struct sl_store_event *ev = ring_at(r, w->next++);
        if (ev->now->version > w->after && is_about(w, ev->now))
            w->fn(w->ctx, ev);
    }
    bool there = st->delivering;
    st->delivering = NULL;
    return there;
}

/* An event to the watches indexed under its object. */
static void report_place(struct sl_store *st, struct store_watch_index *p, uint64_t number,
                         const struct sl_store_event *ev, const char *name) {
    uint64_t hash = place_hash(ev->now->ns, name);
    struct sl_store_watch *w = TAILQ_FIRST(&p->v[hash & (p->cap - 1)]);

    for (; w; w = st->deliver_next) {
        st->deliver_next = TAILQ_NEXT(w, entry);
        if (w->hash != hash || w->next > number || ev->now->version <= w->after ||
            !is_about(w, ev->now))
            continue;
        w->next = number + 1;
        w->fn(w->ctx, ev);
    }
}

static void report_places(struct sl_store *st, struct store_resource *res) {
    struct store_watch_index *p = &res->watch_index;

    for (; p->next < res->ring.end && p->n > 0; p->next++) {
        const struct sl_store_event *ev = ring_at(&res->ring, p->next);
        report_place(st, p, p->next, ev, ev->now->name);
        report_place(st, p, p->next, ev, "");
    }
    p->next = res->ring.end;
}

static void report_resource(struct sl_store *st, struct store_resource *res) {
    struct store_ring *r = &res->ring;
    struct sl_store_watch *w;

    report_places(st, res);
    while ((w = TAILQ_FIRST(&res->watches)) && (w->next < r->end || w->ns)) {
        TAILQ_REMOVE(&res->watches, w, entry);
        TAILQ_INSERT_TAIL(&res->watches, w, entry);
        if (report_one(st, w) && w->ns)
            index_watch(res, w);
    }
    while (r->end - r->first > st->spec.past ||
           (r->bytes > SL_STORE_PAST_BYTES && r->first < r->end))
        store_ring_drop(st, res);
}

/* Events are added only between calls of this, so each resource comes to its end. */
void store_watch_deliver(struct sl_store *st) {
    uint64_t up_to = st->settled;
    struct store_resource *res;

    while ((res = TAILQ_FIRST(&st->backlog))) {
        TAILQ_REMOVE(&st->backlog, res, entry);
        res->has_backlog = false;
        report_resource(st, res);
    }
    st->delivered = up_to;
}

/* The first event after the version. */
static uint64_t event_after(const struct store_ring *r, uint64_t version) {
    uint64_t lo = r->first, hi = r->end;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (ring_at(r, mid)->now->version > version)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

int sl_store_watch_in(struct sl_store *st, uint32_t resource, uint64_t version, const char *ns,
                      const char *name, sl_store_event_fn fn, void *ctx,
                      struct sl_store_watch **ret) {
    struct store_resource *res = st->resources.v[resource];

    if (version < res->ring.floor)
        return SL_ESTALE;
    struct sl_store_watch *w = sl_alloc0(1, sizeof *w);
    *w = (struct sl_store_watch){.res = res,
                                 .next = event_after(&res->ring, version),
                                 .after = version,
                                 .fn = fn,
                                 .ctx = ctx,
                                 .ns = ns ? sl_strdup(ns) : NULL,
                                 .name = ns ? sl_strdup(name) : NULL,
                                 .hash = ns ? place_hash(ns, name) : 0};
    bool behind = w->next < res->ring.end;
    if (behind || ns)
        TAILQ_INSERT_HEAD(&res->watches, w, entry);
    else
        TAILQ_INSERT_TAIL(&res->watches, w, entry);
    if (behind) {
        mark_backlog(st, res);
        (void)uv_async_send(&st->wake);
    }
    *ret = w;
    return SL_OK;
}

int sl_store_watch(struct sl_store *st, uint32_t resource, uint64_t version, sl_store_event_fn fn,
                   void *ctx, struct sl_store_watch **ret) {
    return sl_store_watch_in(st, resource, version, NULL, NULL, fn, ctx, ret);
}

void store_watch_drop_all(struct sl_store *st, struct store_resource *res) {
    struct sl_store_watch *w;

    if (res->has_backlog)
        TAILQ_REMOVE(&st->backlog, res, entry);
    res->has_backlog = false;
    while ((w = TAILQ_FIRST(&res->watches)))
        sl_store_unwatch(st, w);
    for (uint32_t i = 0; i < res->watch_index.cap; i++)
        while ((w = TAILQ_FIRST(&res->watch_index.v[i])))
            sl_store_unwatch(st, w);
    sl_freep(&res->watch_index.v);
}
