/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/store_int.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "lib/log/log.h"

#define RESERVE UINT64_C(65536) /* versions at a time: more than can be waiting */

#define MAX_DAMAGED                                                                                \
    16u /* rows; with more of them it is the disk, and a copy of the file is needed */

_Static_assert(RESERVE / 2 > SL_STORE_MAX_WAITING, "versions run out before they are asked for");

/* ---- objects ---- */

/* What malloc takes for so many bytes: its own 8, in steps of 16. */
static size_t heap_bytes(size_t bytes) {
    return (bytes + 8 + 15) & ~(size_t)15;
}

static size_t entry_bytes(const struct store_entry *e) {
    return heap_bytes(sizeof *e + e->height * sizeof(struct store_entry *));
}

static struct store_object *object_new(struct sl_store *st, uint32_t resource, uint64_t version,
                                       const char *ns, const char *name, const char *uid,
                                       const char *text, size_t len) {
    const char *const texts[] = {text, ns, name, uid};
    const size_t lens[] = {len, strlen(ns), strlen(name), strlen(uid)};
    size_t bytes = sizeof(struct store_object), at[4];

    for (uint32_t i = 0; i < 4; i++) {
        at[i] = bytes;
        bytes += lens[i] + 1;
    }
    char *memory = sl_alloc(bytes);
    struct store_object *o = (struct store_object *)(void *)memory;
    for (uint32_t i = 0; i < 4; i++) {
        memcpy(memory + at[i], texts[i], lens[i]);
        memory[at[i] + lens[i]] = '\0';
    }
    *o = (struct store_object){.o = {.refs = 1,
                                     .resource = resource,
                                     .version = version,
                                     .ns = memory + at[1],
                                     .name = memory + at[2],
                                     .uid = memory + at[3],
                                     .text = memory + at[0],
                                     .len = len},
                               .bytes = heap_bytes(bytes)};
    size_t index = st->spec.index ? st->spec.index(st->spec.ctx, &o->o) : 0;
    o->bytes += index ? heap_bytes(index) : 0;
    st->bytes += o->bytes;
    return o;
}

static struct store_object *full(struct sl_store_object *o) {
    return (struct store_object *)o; /* its first member */
}

void sl_store_object_unref(struct sl_store *st, struct sl_store_object *o) {
    if (!o || --o->refs)
        return;
    if (st->spec.unindex)
        st->spec.unindex(st->spec.ctx, o);
    struct store_object *whole = full(o);
    st->bytes -= whole->bytes;
    sl_freep(&whole);
}

/* What is there now under this key becomes o, which is given; NULL: nothing is there any more.
 * Gives what was there, with its reference. */
static struct store_object *set_now(struct sl_store *st, struct store_resource *res,
                                    struct store_entry *e, struct store_object *o) {
    struct store_object *was = e ? e->now : NULL;

    if (!e) {
        st->bytes += entry_bytes(store_order_add(&res->order, o, &st->prng));
    } else if (!o) {
        st->bytes -= entry_bytes(e);
        store_order_del(&res->order, e);
    } else {
        was->entry = NULL;
        e->now = o;
        o->entry = e;
    }
    return was;
}

/* ---- keeping ---- */

static void batch_clear(struct store_batch *b) {
    sl_vec_clear(&b->changes);
    sl_vec_clear(&b->out);
    sl_vec_clear(&b->resources);
    sl_vec_clear(&b->drops);
    b->reserve = 0;
    b->bytes = 0;
}

static void batch_done(struct store_batch *b) {
    sl_vec_free(&b->changes);
    sl_vec_free(&b->out);
    sl_vec_free(&b->resources);
    sl_vec_free(&b->drops);
}

/* The file does not know it any more: another resource may have its number. */
static void dropped(struct sl_store *st, uint32_t number) {
    for (uint32_t i = 0; i < st->drops.n; i++)
        if (st->drops.v[i] == number) {
            st->drops.v[i] = sl_vec_last(&st->drops);
            st->drops.n--;
            break;
        }
    *sl_vec_push(&st->free_in_file) = number;
}

static void changes_committed(struct sl_store *st) {
    struct store_batch *b = &st->in_flight;

    for (uint32_t i = 0; i < b->changes.n; i++) {
        b->changes.v[i].res->pending--;
        store_ring_add(st, b->changes.v[i].res, &b->changes.v[i].ev);
    }
    if (b->changes.n)
        st->settled = sl_vec_last(&b->changes).ev.now->version;
}

static void batch_committed(struct sl_store *st) {
    struct store_batch *b = &st->in_flight;

    for (uint32_t i = 0; i < b->resources.n; i++)
        b->resources.v[i]->in_file_committed = true;
    for (uint32_t i = 0; i < b->drops.n; i++)
        dropped(st, b->drops.v[i]);
    changes_committed(st);
    if (b->reserve)
        st->reserved = b->reserve;
    batch_clear(b);
    st->commits++;
    if (st->failing)
        sl_log(SL_LOG_INFO, "commit recovered", SL_S("file", st->spec.path));
    st->failing = false;
}

/* Rows that are overwritten, and those that are dropped because there are too many, are beyond
 * the history as the new rows have it: so the file is consistent whichever of its commits is the
 * last. */
static void take_rows(const struct sl_store *st, struct store_batch *b) {
    for (uint32_t i = 0; i < b->changes.n; i++) {
        struct store_change *c = &b->changes.v[i];
        c->floor = c->res->ring.floor;
        full(c->ev.now)->row = c->touched ? full(c->ev.was)->row : store_rows_take(&c->res->rows);
    }
    for (uint32_t i = 0; i < b->changes.n; i++) {
        struct store_resource *res = b->changes.v[i].res;
        while (store_rows_spare(&res->rows) > st->spec.past)
            *sl_vec_push(&b->out) = (struct store_freed_row){res, store_rows_take(&res->rows)};
    }
}

static void return_rows(struct store_batch *b) {
    for (uint32_t i = b->out.n; i-- > 0;)
        store_rows_return(&b->out.v[i].res->rows, b->out.v[i].row);
    for (uint32_t i = b->changes.n; i-- > 0;)
        if (full(b->changes.v[i].ev.now)->row && !b->changes.v[i].touched)
            store_rows_return(&b->changes.v[i].res->rows, full(b->changes.v[i].ev.now)->row);
}

/* The newest first, so that each finds the state it made. */
static void roll_back(struct sl_store *st, struct store_batch *b) {
    return_rows(b);
    while (b->changes.n) {
        struct store_change c = sl_vec_pop(&b->changes);
        c.res->pending--;
        struct store_object *was = c.ev.was ? full(sl_store_object_ref(c.ev.was)) : NULL;
        struct store_entry *e = store_order_find(&c.res->order, c.ev.now->ns, c.ev.now->name);
        struct store_object *now = set_now(st, c.res, e, was);
        if (now)
            sl_store_object_unref(st, &now->o);
        sl_store_object_unref(st, c.ev.now);
        sl_store_object_unref(st, c.ev.was);
    }
    batch_clear(b);
}

static void undo(struct sl_store *st, const struct sl_err *why) {
    struct store_waiter *w;

    sl_log(st->failing ? SL_LOG_DEBUG : SL_LOG_ERROR, "commit failed, changes rolled back",
           SL_I("changes", st->in_flight.changes.n + st->waiting.changes.n),
           SL_S("error", why->text));
    st->failing = true;
    st->failures++;
    TAILQ_FOREACH(w, &st->waiters, entry)
    if (w->version > st->settled)
        w->r = SL_EIO;
    st->settled = st->version;
    roll_back(st, &st->waiting);
    roll_back(st, &st->in_flight);
}

/* Has the file anything to do with it? */
static bool for_file(const struct store_batch *b) {
    bool any = b->out.n || b->resources.n || b->drops.n || b->reserve;

    for (uint32_t i = 0; !any && i < b->changes.n; i++)
        any = !b->changes.v[i].touched;
    return any;
}

static void hand_over(struct sl_store *st) {
    struct store_batch *b = &st->waiting;

    /* While commits fail, drops wait for the next change: no caller waits for them. */
    bool drops = st->drops.n && !st->failing;
    if (st->busy || (!b->changes.n && !st->starved && !drops))
        return;
    st->starved = false;
    /* Half of them are gone: the rest must do until this is done. */
    if (st->version + RESERVE / 2 > st->reserved)
        b->reserve = st->version + RESERVE;
    for (uint32_t i = 0; i < st->resources.n; i++)
        if (st->resources.v[i] && st->resources.v[i]->name &&
            !st->resources.v[i]->in_file_committed)
            *sl_vec_push(&b->resources) = st->resources.v[i];
    for (uint32_t i = 0; i < st->drops.n; i++)
        *sl_vec_push(&b->drops) = st->drops.v[i];
    b->dropped = st->dropped;
    if (st->file)
        take_rows(st, b);
    struct store_batch spare = st->in_flight;
    st->in_flight = *b;
    st->waiting = spare;
    if (st->writer && !for_file(&st->in_flight)) {
        changes_committed(st);
        batch_clear(&st->in_flight);
    } else if (st->writer) {
        st->busy = true;
        store_writer_submit(st->writer, &st->in_flight);
    } else {
        batch_committed(st);
    }
}

static void settle_batch(struct sl_store *st, bool wait) {
    struct sl_err err = {0};
    int r = st->busy ? store_writer_take(st->writer, wait, &err) : 0;

    if (r == 0)
        return;
    st->busy = false;
    if (r < 0)
        undo(st, &err);
    else
        batch_committed(st);
}

static void call_waiters(struct sl_store *st) {
    struct store_waiter *w;

    while ((w = TAILQ_FIRST(&st->waiters)) && w->version <= st->settled) {
        struct store_waiter one = *w;
        TAILQ_REMOVE(&st->waiters, w, entry);
        sl_freep(&w);
        one.fn(one.ctx, one.r);
    }
}

/* The writer is done, something was changed, or a watch is behind. */
static void on_wake(uv_async_t *a) {
    struct sl_store *st = a->data;

    settle_batch(st, false);
    hand_over(st); /* so that the commit overlaps with the delivery of events */
    call_waiters(st);
    store_watch_deliver(st);
}

void sl_store_on_commit(struct sl_store *st, uint64_t version, sl_store_commit_fn fn, void *ctx) {
    if (version <= st->settled) { /* what was rolled back is no longer visible */
        fn(ctx, SL_OK);
        return;
    }
    struct store_waiter *w = sl_alloc0(1, sizeof *w), *at;
    *w = (struct store_waiter){.version = version, .fn = fn, .ctx = ctx};
    TAILQ_FOREACH_REVERSE(at, &st->waiters, store_waiters, entry)
    if (at->version <= version)
        break;
    if (at)
        TAILQ_INSERT_AFTER(&st->waiters, at, w, entry);
    else
        TAILQ_INSERT_HEAD(&st->waiters, w, entry);
}

void sl_store_cancel(struct sl_store *st, void *ctx) {
    struct store_waiter *w, *next;

    for (w = TAILQ_FIRST(&st->waiters); w; w = next) {
        next = TAILQ_NEXT(w, entry);
        if (w->ctx != ctx)
            continue;
        TAILQ_REMOVE(&st->waiters, w, entry);
        sl_freep(&w);
    }
}

/* ---- changing ---- */

static int check_capacity(struct sl_store *st, size_t bytes, bool deletes, struct sl_err *err) {
    if (st->waiting.changes.n >= SL_STORE_MAX_WAITING ||
        st->waiting.bytes + bytes > SL_STORE_MAX_WAITING_BYTES)
        return sl_err_set(err, SL_EIO, "too many uncommitted changes");
    if (st->version >= st->reserved) {
        st->starved = true; /* the disk may have recovered: requests a larger reserve */
        (void)uv_async_send(&st->wake);
        return sl_err_set(err, SL_EIO, "commits are stalled: the disk does not sync");
    }
    if (!deletes && st->bytes + bytes > SL_STORE_MAX_BYTES)
        return sl_err_set(err, SL_EIO, "the store is full");
    return SL_OK;
}

/* Takes over the references. */
static void add_change(struct sl_store *st, struct store_resource *res, enum sl_store_change what,
                       struct store_object *now, struct store_object *was, bool touched) {
    *sl_vec_push(&st->waiting.changes) =
        (struct store_change){.ev = {.what = what, .now = &now->o, .was = was ? &was->o : NULL},
                              .res = res,
                              .touched = touched};
    st->waiting.bytes += now->bytes;
    res->pending++;
    st->version++;
    (void)uv_async_send(&st->wake);
}

static int check_put(struct sl_store *st, uint32_t resource, const char *ns, const char *name,
                     const char *uid, size_t len, struct sl_err *err) {
    if (resource >= st->resources.n || !st->resources.v[resource])
        return sl_err_set(err, SL_ENOENT, "unknown resource %u", resource);
    if (strlen(ns) > SL_STORE_MAX_NAME || strlen(name) > SL_STORE_MAX_NAME ||
        strlen(uid) > SL_STORE_MAX_NAME)
        return sl_err_set(err, SL_ELIMIT, "name longer than %u bytes", SL_STORE_MAX_NAME);
    if (len > SL_STORE_MAX_OBJECT)
        return sl_err_set(err, SL_ELIMIT, "object of %zu bytes exceeds the limit of %zu", len,
                          SL_STORE_MAX_OBJECT);
    return SL_OK;
}

int sl_store_put(struct sl_store *st, uint32_t resource, const char *ns, const char *name,
                 const char *uid, const char *text, size_t len, struct sl_store_object **ret,
                 struct sl_err *err) {
    int r = check_put(st, resource, ns, name, uid, len, err);

    if (r >= 0)
        r = check_capacity(st, len, false, err);
    if (r < 0)
        return r;
    struct store_resource *res = st->resources.v[resource];
    struct store_entry *e = store_order_find(&res->order, ns, name);
    struct store_object *o = object_new(st, resource, st->version + 1, ns, name, uid, text, len);
    struct store_object *was = set_now(st, res, e, o);
    add_change(st, res, was ? SL_MODIFIED : SL_ADDED, full(sl_store_object_ref(&o->o)), was, false);
    if (ret)
        *ret = &o->o;
    return SL_OK;
}

int sl_store_touch(struct sl_store *st, struct sl_store_object *o, const char *text, size_t len,
                   struct sl_err *err) {
    struct store_entry *e = full(o)->entry;
    int r = e ? check_put(st, o->resource, o->ns, o->name, o->uid, len, err)
              : sl_err_set(err, SL_ESTALE, "%s was modified or deleted concurrently", o->name);

    if (r >= 0)
        r = check_capacity(st, len, false, err);
    if (r < 0)
        return r;
    struct store_resource *res = st->resources.v[o->resource];
    struct store_object *now =
        object_new(st, o->resource, st->version + 1, o->ns, o->name, o->uid, text, len);
    struct store_object *was = set_now(st, res, e, now);
    add_change(st, res, SL_MODIFIED, full(sl_store_object_ref(&now->o)), was, true);
    return SL_OK;
}

int sl_store_delete(struct sl_store *st, struct sl_store_object *o, const char *text, size_t len,
                    struct sl_err *err) {
    struct store_entry *e = full(o)->entry;
    int r =
        e ? SL_OK : sl_err_set(err, SL_ESTALE, "%s was modified or deleted concurrently", o->name);

    if (r >= 0)
        r = check_capacity(st, len, true, err);
    if (r < 0)
        return r;
    struct store_resource *res = st->resources.v[o->resource];
    struct store_object *last =
        object_new(st, o->resource, st->version + 1, o->ns, o->name, o->uid, text, len);
    add_change(st, res, SL_DELETED, last, set_now(st, res, e, NULL), false);
    return SL_OK;
}

/* ---- reading ---- */

static const struct store_order *order_of(struct sl_store *st, uint32_t resource) {
    static const struct store_order none;

    return resource < st->resources.n && st->resources.v[resource]
               ? &st->resources.v[resource]->order
               : &none;
}

struct sl_store_object *sl_store_get(struct sl_store *st, uint32_t resource, const char *ns,
                                     const char *name) {
    struct store_entry *e = store_order_find(order_of(st, resource), ns, name);

    return e ? &e->now->o : NULL;
}

struct sl_store_object *sl_store_seek(struct sl_store *st, uint32_t resource, const char *ns,
                                      const char *name) {
    struct store_entry *e = store_order_seek(order_of(st, resource), ns, name);

    return e ? &e->now->o : NULL;
}

struct sl_store_object *sl_store_next(struct sl_store *st, const struct sl_store_object *o) {
    struct store_entry *e = ((const struct store_object *)o)->entry;

    if (e) {
        e = e->next[0];
    } else { /* it was replaced or deleted: the next one after its position */
        e = store_order_seek(order_of(st, o->resource), o->ns, o->name);
        if (e && strcmp(e->now->o.ns, o->ns) == 0 && strcmp(e->now->o.name, o->name) == 0)
            e = e->next[0];
    }
    return e ? &e->now->o : NULL;
}

uint32_t sl_store_count(const struct sl_store *st, uint32_t resource) {
    return resource < st->resources.n && st->resources.v[resource]
               ? st->resources.v[resource]->order.n
               : 0;
}

uint64_t sl_store_version(const struct sl_store *st) {
    return st->version;
}

uint64_t sl_store_next_version(const struct sl_store *st) {
    return st->version + 1;
}

uint64_t sl_store_delivered(const struct sl_store *st) {
    return st->delivered;
}

void sl_store_stats(const struct sl_store *st, struct sl_store_stats *ret) {
    *ret = (struct sl_store_stats){
        .commits = st->commits, .failures = st->failures, .bytes = st->bytes};
    for (uint32_t i = 0; i < st->resources.n; i++)
        ret->objects += sl_store_count(st, i);
}

/* ---- resources, opening, closing ---- */

struct row {
    struct store_object *o; /* NULL: it has a place */
    bool gone;
};

struct damage {
    uint64_t row, version;
    bool gone;
    char *ns, *name;
};

struct reading {
    struct sl_store *st;
    struct store_resource *res;
    SL_VEC(struct row) rows;
    SL_VEC(struct damage) damage;
    SL_VEC(uint64_t) aside; /* rows that leave the objects */
};

static int take_damaged(struct reading *rd, const struct store_file_row *row, struct sl_err *err) {
    if (rd->st->n_damaged++ >= MAX_DAMAGED)
        return sl_err_set(
            err, SL_EINVAL,
            "more than %u objects with a wrong checksum or malformed text, the last is %s %s/%s",
            MAX_DAMAGED, rd->res->name, row->ns, row->name);
    *sl_vec_push(&rd->damage) = (struct damage){.row = row->row,
                                                .version = row->version,
                                                .gone = row->gone,
                                                .ns = sl_strdup(row->ns),
                                                .name = sl_strdup(row->name)};
    *sl_vec_push(&rd->aside) = row->row;
    return SL_OK;
}

static int take_row(void *ctx, const struct store_file_row *row, struct sl_err *err) {
    struct reading *rd = ctx;
    struct sl_store *st = rd->st;

    if (row->damaged)
        return take_damaged(rd, row, err);
    if (row->len > SL_STORE_MAX_OBJECT || row->version > st->opened || row->floor > row->version ||
        row->row - store_row_first(rd->res->in_file) > ROWS_MOST)
        return sl_err_set(err, SL_EINVAL, "object with an impossible version, size or row");
    struct store_object *o = object_new(st, rd->res->number, row->version, row->ns, row->name,
                                        row->uid, row->text, row->len);
    if (st->spec.readable && !st->spec.readable(st->spec.ctx, &o->o)) {
        sl_store_object_unref(st, &o->o);
        return take_damaged(rd, row, err);
    }
    o->row = row->row;
    *sl_vec_push(&rd->rows) = (struct row){o, row->gone};
    if (row->row > rd->res->rows.last)
        rd->res->rows.last = row->row;
    if (row->floor > rd->res->ring.floor) /* it only rises, so the highest is the newest */
        rd->res->ring.floor = row->floor;
    return SL_OK;
}

static int by_version(const void *a, const void *b) {
    const struct row *x = a, *y = b;

    return (x->o->o.version > y->o->o.version) - (x->o->o.version < y->o->o.version);
}

/* One after the other as they came about. Before the floor there are the objects as they were then,
 * and rows that nothing was written over yet. */
static int live_again(struct reading *rd, struct sl_err *err) {
    struct sl_store *st = rd->st;
    struct store_resource *res = rd->res;
    uint64_t last = 0, floor = res->ring.floor;

    if (rd->rows.n)
        qsort(rd->rows.v, rd->rows.n, sizeof rd->rows.v[0], by_version);
    for (uint32_t i = 0; i < rd->rows.n; i++) {
        struct row *row = &rd->rows.v[i];
        struct store_object *o = row->o;
        struct store_entry *e = store_order_find(&res->order, o->o.ns, o->o.name);
        bool past = o->o.version > floor;
        if (o->o.version == last || (past && row->gone && !e))
            return sl_err_set(
                err, SL_EINVAL,
                "%s is corrupt (inconsistent history of %s); to start without its objects, "
                "move it away",
                st->spec.path, res->name);
        last = o->o.version;
        struct store_object *was =
            row->gone && !e ? NULL : set_now(st, res, e, row->gone ? NULL : o);
        row->o = NULL;
        if (!row->gone)
            (void)sl_store_object_ref(&o->o);
        store_ring_add(st, res,
                       &(struct sl_store_event){
                           .what = row->gone ? SL_DELETED
                                   : was     ? SL_MODIFIED
                                             : SL_ADDED,
                           .now = &o->o,
                           .was = was ? &was->o : NULL,
                       });
        if (!past)
            store_ring_drop(st, res);
    }
    res->ring.floor = floor;
    return SL_OK;
}

/* The newest intact row of the object before this version; UINT32_MAX: none. 'later': after it. */
static uint32_t newest(const struct reading *rd, const struct damage *d, bool later) {
    uint32_t found = UINT32_MAX;

    for (uint32_t i = 0; i < rd->rows.n; i++) {
        const struct sl_store_object *o = &rd->rows.v[i].o->o;
        if ((o->version > d->version) == later && strcmp(o->ns, d->ns) == 0 &&
            strcmp(o->name, d->name) == 0 &&
            (found == UINT32_MAX || o->version > rd->rows.v[found].o->o.version))
            found = i;
    }
    return found;
}

/*
 * A damaged row does not prevent all others from being served: it is set aside, in the file, and
 * logged. The object is served from its newest intact row, which is better than that its
 * dependents are collected as garbage; unless the damaged row is a deletion. No watch can be
 * resumed from before.
 */
static int set_aside(struct reading *rd, struct sl_err *err) {
    struct sl_store *st = rd->st;

    for (uint32_t i = 0; i < rd->damage.n; i++) {
        const struct damage *d = &rd->damage.v[i];
        const char *now = "newer version";
        char text[64];
        uint32_t at = newest(rd, d, true);
        if (at == UINT32_MAX) {
            now = "none";
            while ((at = newest(rd, d, false)) != UINT32_MAX && d->gone) {
                *sl_vec_push(&rd->aside) = rd->rows.v[at].o->row;
                sl_store_object_unref(st, &rd->rows.v[at].o->o);
                rd->rows.v[at] = sl_vec_last(&rd->rows);
                (void)sl_vec_pop(&rd->rows);
            }
            if (at != UINT32_MAX && !rd->rows.v[at].gone) {
                sl_fmt(text, sizeof text, "version %llu",
                       (unsigned long long)rd->rows.v[at].o->o.version);
                now = text;
            }
        }
        sl_log(SL_LOG_ERROR, "corrupt object quarantined", SL_S("file", st->spec.path),
               SL_S("resource", rd->res->name), SL_S("namespace", d->ns), SL_S("name", d->name),
               SL_I("version", d->version), SL_I("row", d->row), SL_S("served", now));
    }
    int r = store_file_set_aside(st->file, rd->aside.v, rd->aside.n, st->opened, err);
    st->past = st->opened;
    rd->res->ring.floor = st->opened;
    return r;
}

static struct store_file_resource *find_stored(struct sl_store *st, const char *name) {
    for (uint32_t i = 0; i < st->stored.n; i++)
        if (strcmp(st->stored.v[i].name, name) == 0)
            return &st->stored.v[i];
    return NULL;
}

/* The one of this name, if it is somewhere. */
static struct store_resource *find_named(struct sl_store *st, const char *name) {
    for (uint32_t i = 0; i < st->resources.n; i++)
        if (st->resources.v[i] && st->resources.v[i]->name &&
            strcmp(st->resources.v[i]->name, name) == 0)
            return st->resources.v[i];
    return NULL;
}

static void resource_free(struct sl_store *st, struct store_resource *res) {
    store_watch_drop_all(st, res);
    store_ring_done(st, res);
    store_rows_done(&res->rows);
    while (res->order.n) {
        struct store_entry *e = res->order.head[0];
        struct store_object *o = e->now;
        st->bytes -= entry_bytes(e);
        store_order_del(&res->order, e);
        sl_store_object_unref(st, &o->o);
    }
    sl_freep(&res->name);
    sl_freep(&res);
}

/* There may have been another of this name, and the history of its objects is unknown. */
static void past_of_dropped(const struct sl_store *st, struct store_resource *res) {
    if (st->dropped > res->ring.floor)
        res->ring.floor = st->dropped;
}

static int read_resource(struct sl_store *st, struct store_resource *res, struct sl_err *err) {
    struct store_file_resource *fr = find_stored(st, res->name);
    struct reading rd = {.st = st, .res = res};

    if (fr) {
        res->in_file = fr->number;
        res->in_file_committed = true;
    } else {
        if (!st->free_in_file.n && st->n_in_file == SL_STORE_FILE_RESOURCES)
            return sl_err_set(err, SL_ELIMIT, "more than %u resources", SL_STORE_FILE_RESOURCES);
        res->in_file = st->free_in_file.n ? sl_vec_pop(&st->free_in_file) : ++st->n_in_file;
        *sl_vec_push(&st->stored) =
            (struct store_file_resource){sl_strdup(res->name), res->in_file, true};
    }
    res->rows.last = store_row_first(res->in_file);
    if (!fr || fr->read) {
        past_of_dropped(st, res);
        return SL_OK;
    }
    settle_batch(st, true); /* the file is ours until something is handed over */
    if (st->busy)
        return sl_err_set(err, SL_EIO, "commits are stalled: the disk does not sync");
    fr->read = true;
    int r = store_file_read(st->file, fr->number, take_row, &rd, err);
    if (r >= 0 && rd.damage.n)
        r = set_aside(&rd, err);
    if (r >= 0)
        r = live_again(&rd, err);
    if (res->ring.end == 0)
        past_of_dropped(st, res);
    for (uint32_t i = 0; i < rd.damage.n; i++) {
        sl_freep(&rd.damage.v[i].ns);
        sl_freep(&rd.damage.v[i].name);
    }
    sl_vec_free(&rd.damage);
    sl_vec_free(&rd.aside);
    for (uint32_t i = 0; i < rd.rows.n; i++) /* those that found no place */
        sl_store_object_unref(st, rd.rows.v[i].o ? &rd.rows.v[i].o->o : NULL);
    sl_vec_free(&rd.rows);
    return r;
}

int sl_store_resource(struct sl_store *st, uint32_t resource, const char *name,
                      struct sl_err *err) {
    sl_assert(resource < SL_STORE_RESOURCES);
    while (st->resources.n <= resource)
        *sl_vec_push(&st->resources) = NULL;
    struct store_resource *res = st->resources.v[resource], *named = find_named(st, name);

    if (res && named == res)
        return SL_OK;
    if (res || named)
        return sl_err_set(err, SL_EEXIST, "the resource %s has another number, or %u another name",
                          name, resource);
    res = sl_alloc0(1, sizeof *res);
    store_ring_init(res, st->past);
    res->number = resource;
    res->name = sl_strdup(name);
    int r = read_resource(st, res, err);
    if (r < 0)
        resource_free(st, res);
    else
        st->resources.v[resource] = res;
    return r;
}

bool sl_store_drop(struct sl_store *st, uint32_t resource) {
    struct store_resource *res = resource < st->resources.n ? st->resources.v[resource] : NULL;

    if (!res)
        return true;
    if (res->order.n || res->pending)
        return false;
    for (uint32_t i = 0; i < st->in_flight.resources.n; i++)
        if (st->in_flight.resources.v[i] == res) /* it is being named */
            return false;
    struct store_file_resource *fr = find_stored(st, res->name);
    sl_freep(&fr->name);
    *fr = sl_vec_last(&st->stored);
    st->stored.n--;
    *sl_vec_push(&st->drops) = res->in_file;
    st->dropped = st->version;
    st->resources.v[resource] = NULL;
    resource_free(st, res);
    (void)uv_async_send(&st->wake);
    return true;
}

static int open_file(struct sl_store *st, struct sl_err *err) {
    struct store_file_marks marks = {.version = st->version, .past = st->past};
    int r = store_file_open(st->spec.path, &st->file, &marks, err);

    st->version = marks.version;
    st->past = marks.past;
    st->dropped = marks.dropped;
    st->opened = st->settled = st->delivered = st->version;
    if (r >= 0)
        r = store_file_list(st->file, &st->stored, &st->n_in_file, err);
    if (r >= 0)
        r = store_file_free_numbers(st->file, &st->stored, st->n_in_file, &st->free_in_file, err);
    for (uint32_t i = 0, n = st->stored.n; r >= 0 && st->spec.resource && i < n; i++) {
        const char *name = st->stored.v[i].name;
        uint32_t number = st->spec.resource(st->spec.ctx, name);
        if (number < SL_STORE_RESOURCES)
            r = sl_store_resource(st, number, name, err);
    }
    st->reserved = st->version + RESERVE;
    if (r >= 0)
        r = store_file_begin(st->file, st->reserved, err);
    if (r >= 0)
        st->writer = store_writer_start(st->file, &st->wake);
    return r;
}

static void on_closed(uv_handle_t *h) {
    struct sl_store *st = h->data;

    sl_freep(&st);
}

int sl_store_open(const struct sl_store_spec *spec, struct sl_store **ret, struct sl_err *err) {
    struct sl_store *st = sl_alloc0(1, sizeof *st);
    int r = SL_OK;

    st->spec = *spec;
    st->spec.past = spec->past ? spec->past : SL_STORE_PAST;
    st->version = st->opened = st->settled = st->delivered = st->past = 1;
    st->reserved = UINT64_MAX / 2;
    sl_prng_init(&st->prng, 1); /* for the shape of the lists alone */
    TAILQ_INIT(&st->waiters);
    TAILQ_INIT(&st->backlog);
    if (uv_async_init(spec->loop, &st->wake, on_wake) < 0) {
        sl_freep(&st);
        return sl_err_set(err, SL_EIO, "cannot add a handle to the event loop");
    }
    st->wake.data = st;
    if (spec->path)
        r = open_file(st, err);
    if (r < 0)
        sl_store_close(st);
    else
        *ret = st;
    return r;
}

void sl_store_close(struct sl_store *st) {
    struct store_waiter *w;

    if (!st)
        return;
    while ((w = TAILQ_FIRST(&st->waiters))) {
        TAILQ_REMOVE(&st->waiters, w, entry);
        sl_freep(&w);
    }
    if (st->writer)
        store_writer_hurry(st->writer);
    settle_batch(st, true);
    hand_over(st);
    settle_batch(st, true);
    roll_back(st, &st->waiting); /* nothing, unless the last ones failed */
    if (st->writer)
        store_writer_end(st->writer);
    if (st->file)
        store_file_close(TAKE_PTR(st->file), st->version);
    for (uint32_t i = 0; i < st->resources.n; i++)
        if (st->resources.v[i])
            resource_free(st, st->resources.v[i]);
    sl_vec_free(&st->resources);
    for (uint32_t i = 0; i < st->stored.n; i++)
        sl_freep(&st->stored.v[i].name);
    sl_vec_free(&st->stored);
    sl_vec_free(&st->free_in_file);
    sl_vec_free(&st->drops);
    batch_done(&st->waiting);
    batch_done(&st->in_flight);
    uv_close((uv_handle_t *)&st->wake, on_closed);
}
