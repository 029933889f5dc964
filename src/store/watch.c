/*
 * A watch is a place in the row of its resource's events. Nothing is queued per watch: events are
 * told when they are kept, to everybody up to the newest, so what lies back further than the past
 * that is kept has always been told.
 */
#include "store/store_int.h"

#include <string.h>

static struct sl_store_event *ring_at(const struct ring *r, uint64_t i) {
    return &r->v[i & (r->cap - 1)];
}

void ring_init(struct resource *res, uint64_t floor) {
    res->ring = (struct ring){.floor = floor};
    TAILQ_INIT(&res->watches);
}

static uint64_t row_of(const struct sl_object *o) {
    return ((const struct object *)o)->row;
}

void ring_drop(struct sl_store *st, struct resource *res) {
    struct ring *r = &res->ring;
    struct sl_store_event ev = *ring_at(r, r->first++);

    r->floor = ev.now->version;
    r->bytes -= ev.now->len;
    if (st->file && ev.was)
        rows_add(&res->rows, row_of(ev.was));
    if (st->file && ev.what == SL_DELETED) /* the end of an object last: see rows.c */
        rows_add(&res->rows, row_of(ev.now));
    sl_object_unref(st, ev.now);
    if (ev.was)
        sl_object_unref(st, ev.was);
}

void ring_done(struct sl_store *st, struct resource *res) {
    while (res->ring.first < res->ring.end)
        ring_drop(st, res);
    sl_freep(&res->ring.v);
    res->ring.cap = 0;
}

static void grow(struct ring *r) {
    uint32_t cap = r->cap ? 2 * r->cap : 16;
    struct sl_store_event *v = sl_alloc0(cap, sizeof *v);

    for (uint64_t i = r->first; i < r->end; i++)
        v[i & (cap - 1)] = *ring_at(r, i);
    sl_freep(&r->v);
    r->v = v;
    r->cap = cap;
}

static void stir(struct sl_store *st, struct resource *res) {
    if (!res->stirred)
        TAILQ_INSERT_TAIL(&st->stirred, res, entry);
    res->stirred = true;
}

void ring_add(struct sl_store *st, struct resource *res, const struct sl_store_event *ev) {
    struct ring *r = &res->ring;

    if (r->end - r->first == r->cap)
        grow(r);
    *ring_at(r, r->end++) = *ev;
    r->bytes += ev->now->len;
    stir(st, res);
}

/* Everything of this watch; the callback may end it, and others. */
static void tell_one(struct sl_store *st, struct sl_store_watch *w) {
    struct ring *r = &w->res->ring;

    st->telling = w;
    while (st->telling && w->next < r->end) {
        const struct sl_store_event *ev = ring_at(r, w->next++);
        if (ev->now->version > w->after)
            w->fn(w->ctx, ev);
    }
    st->telling = NULL;
}

static void tell_resource(struct sl_store *st, struct resource *res) {
    struct ring *r = &res->ring;
    struct sl_store_watch *w;

    while ((w = TAILQ_FIRST(&res->watches)) && w->next < r->end) {
        TAILQ_REMOVE(&res->watches, w, entry);
        TAILQ_INSERT_TAIL(&res->watches, w, entry);
        tell_one(st, w);
    }
    while (r->end - r->first > st->spec.past ||
           (r->bytes > SL_STORE_PAST_BYTES && r->first < r->end))
        ring_drop(st, res);
}

/* Events are added only between calls of this, so each resource comes to its end. */
void watch_tell(struct sl_store *st) {
    uint64_t up_to = st->settled;
    struct resource *res;

    while ((res = TAILQ_FIRST(&st->stirred))) {
        TAILQ_REMOVE(&st->stirred, res, entry);
        res->stirred = false;
        tell_resource(st, res);
    }
    st->told = up_to;
}

/* The first event after the version. */
static uint64_t event_after(const struct ring *r, uint64_t version) {
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

int sl_store_watch(struct sl_store *st, uint32_t resource, uint64_t version, sl_store_event_fn fn,
                   void *ctx, struct sl_store_watch **ret) {
    struct resource *res = st->resources.v[resource];

    if (version < res->ring.floor)
        return SL_ESTALE;
    struct sl_store_watch *w = sl_alloc0(1, sizeof *w);
    *w = (struct sl_store_watch){.res = res,
                                 .next = event_after(&res->ring, version),
                                 .after = version,
                                 .fn = fn,
                                 .ctx = ctx};
    if (w->next < res->ring.end) {
        TAILQ_INSERT_HEAD(&res->watches, w, entry);
        stir(st, res);
        (void)uv_async_send(&st->wake);
    } else {
        TAILQ_INSERT_TAIL(&res->watches, w, entry);
    }
    *ret = w;
    return SL_OK;
}

void sl_store_unwatch(struct sl_store *st, struct sl_store_watch *w) {
    if (st->telling == w)
        st->telling = NULL;
    TAILQ_REMOVE(&w->res->watches, w, entry);
    sl_freep(&w);
}

void watch_drop_all(struct sl_store *st, struct resource *res) {
    struct sl_store_watch *w;

    if (res->stirred)
        TAILQ_REMOVE(&st->stirred, res, entry);
    res->stirred = false;
    while ((w = TAILQ_FIRST(&res->watches))) {
        TAILQ_REMOVE(&res->watches, w, entry);
        sl_freep(&w);
    }
}
