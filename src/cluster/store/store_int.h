/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the store. Private to src/cluster/store.
 *
 *     put, delete -> order (current state) and 'waiting'
 *     on_wake:  waiting -> writer thread -> committed: rings of past events -> waiters, watchers
 *                                        -> failed: rolled back, newest first
 */
#ifndef SL_CLUSTER_STORE_STORE_INT_H
#define SL_CLUSTER_STORE_STORE_INT_H

#include <sys/queue.h>
#include <uv.h>

#include "cluster/store/ceilings.h"
#include "cluster/store/store.h"
#include "core/base/collection/vec.h"
#include "core/base/prng.h"

/* ---- order.c: the objects of a resource by namespace and name, a skip list ---- */

#define ORDER_LEVELS 12u

struct store_entry;

struct store_object {
    struct sl_store_object o;
    struct store_entry *entry; /* NULL: it is not the present one */
    uint64_t row;              /* in the file: of this text alone; 0: not yet */
    size_t bytes;
};

struct store_entry {
    struct store_object *now;
    uint32_t height;
    struct store_entry *next[];
};

struct store_order {
    struct store_entry *head[ORDER_LEVELS];
    uint32_t n;
};

/* The first at or after (ns, name), or NULL. */
struct store_entry *store_order_seek(const struct store_order *od, const char *ns,
                                     const char *name);
struct store_entry *store_order_find(const struct store_order *od, const char *ns,
                                     const char *name);
/* It must not be there yet. */
struct store_entry *store_order_add(struct store_order *od, struct store_object *o,
                                    struct sl_prng *prng);
/* Frees the entry, not its object. */
void store_order_del(struct store_order *od, struct store_entry *e);

/* ---- watch.c: event history and watchers ---- */

struct store_ring {
    struct sl_store_event
        *v; /* cap of them, a power of two; numbered first <= i < end, at i & (cap - 1) */
    uint32_t cap;
    uint64_t first, end;
    uint64_t floor; /* the version before the first one that is known */
    size_t bytes;
};

struct sl_store_watch {
    TAILQ_ENTRY(sl_store_watch) entry;
    struct store_resource *res;
    uint64_t next;  /* event, by number: those before it are delivered or not relevant */
    uint64_t after; /* version; older events are not delivered */
    sl_store_event_fn fn;
    void *ctx;
    char *ns, *name; /* of what it is about; NULL: all */
    uint64_t hash;   /* of these */
    bool indexed;    /* it is in 'store_watch_index' */
};
TAILQ_HEAD(store_watch_list, sl_store_watch);

/* Watches of one object or one namespace that are up to date. */
struct store_watch_index {
    struct store_watch_list *v; /* cap of them, a power of two */
    uint32_t cap, n;
    uint64_t next; /* event, by number */
};

/* ---- rows.c: where in the file the next text of a resource goes ---- */

/*
 * A row that is older than the history is overwritten by a later change, the oldest first. Until
 * then it is harmless: a reader of the rows by version finds what replaced it, since a tombstone is
 * overwritten only after all older rows of its object.
 */
struct store_rows {
    uint64_t last; /* the highest so far */
    uint64_t *v;   /* free ones: cap of them, a power of two, first <= i < end at i & (cap - 1) */
    uint32_t cap, first, end;
};

void store_rows_done(struct store_rows *r);
void store_rows_add(struct store_rows *r, uint64_t row);
uint32_t store_rows_spare(const struct store_rows *r);
/* The oldest free one, or a new one. */
uint64_t store_rows_take(struct store_rows *r);
/* The last one that was taken comes back. */
void store_rows_return(struct store_rows *r, uint64_t row);

struct store_resource {
    char *name; /* in the file; NULL: not known yet */
    uint32_t number;
    uint32_t in_file; /* its number there */
    bool in_file_committed;
    struct store_rows rows;
    struct store_order order;
    struct store_ring ring;
    /* Watches that are behind, or not in their place yet, are before those that are up to date. */
    struct store_watch_list watches;
    struct store_watch_index watch_index;
    bool has_backlog; /* a watch is behind */
    uint32_t pending; /* uncommitted changes */
    TAILQ_ENTRY(store_resource) entry;
};

void store_ring_init(struct store_resource *res, uint64_t floor);
void store_ring_done(struct sl_store *st, struct store_resource *res);
/* Takes over the references. */
void store_ring_add(struct sl_store *st, struct store_resource *res,
                    const struct sl_store_event *ev);
/* The first event leaves the history, and the row it replaced or deleted is free, also in the file.
 * There must be one. */
void store_ring_drop(struct sl_store *st, struct store_resource *res);
/* Delivers all events to all watches. */
void store_watch_deliver(struct sl_store *st);
/* Without watchers from now on. */
void store_watch_drop_all(struct sl_store *st, struct store_resource *res);

/* ---- file.c: SQLite; on the loop's thread before the writer begins and after it ended, else on
 * the writer's ---- */

struct store_change {
    struct sl_store_event ev;
    struct store_resource *res; /* the writer may read what never changes of it */
    uint64_t floor;             /* of its ring, once the batch is committed */
    bool touched;               /* the file keeps the row that there is */
};

struct store_freed_row {
    struct store_resource *res;
    uint64_t row;
};

struct store_batch {
    SL_VEC(struct store_change) changes;
    SL_VEC(struct store_freed_row) out; /* rows that are taken and not written, but deleted */
    SL_VEC(struct store_resource *) resources; /* to be named in the file */
    SL_VEC(uint32_t) drops; /* resources that leave the file: their numbers there */
    uint64_t dropped;       /* the version when the last of them was */
    uint64_t reserve;       /* versions that may be given out; 0: as it is */
    size_t bytes;
};

struct store_file;

/* State of a resource in the file when it is opened. */
struct store_file_resource {
    char *name;
    uint32_t number;
    bool read;
};

struct store_file_row {
    uint64_t row, version;
    uint64_t floor; /* of the history when it was written */
    bool gone;      /* it is the last text of an object that was deleted */
    bool damaged;   /* its checksum is wrong: nothing of it need be true */
    const char *ns, *name, *uid, *text;
    size_t len;
};
/* Of all of it but the response. */
uint64_t store_file_checksum(const struct store_file_row *r);
typedef int (*store_file_row_fn)(void *ctx, const struct store_file_row *row, struct sl_err *err);

/* Versions in the file. */
struct store_file_marks {
    uint64_t version; /* the highest that may have been given out */
    uint64_t past;    /* in which order anything before this happened is not known, whatever the
                         resource */
    uint64_t dropped; /* a resource was, the last time; 0: none */
};
int store_file_open(const char *path, struct store_file **ret, struct store_file_marks *ret_marks,
                    struct sl_err *err) _must_check_;
/* 'version' is the last one that was given out. */
void store_file_close(struct store_file *f, uint64_t version);
typedef SL_VEC(struct store_file_resource) store_file_resources;
typedef SL_VEC(uint32_t) store_file_numbers;
/* Numbers up to the highest that neither a name nor a row has. */
int store_file_free_numbers(struct store_file *f, const store_file_resources *known,
                            uint32_t highest, store_file_numbers *ret,
                            struct sl_err *err) _must_check_;
/* *ret_highest: numbers above it are unused. */
int store_file_list(struct store_file *f, store_file_resources *ret, uint32_t *ret_highest,
                    struct sl_err *err) _must_check_;
/* Its rows, in no order. */
int store_file_read(struct store_file *f, uint32_t resource, store_file_row_fn fn, void *ctx,
                    struct sl_err *err) _must_check_;
/* Moves these rows to the quarantine table; the history before 'past' is incomplete from now on.
 * Atomic. */
int store_file_set_aside(struct store_file *f, const uint64_t *rows, uint32_t n, uint64_t past,
                         struct sl_err *err) _must_check_;
/* The first commit, after which versions may be given out; everything that was read is durable
 * then. */
int store_file_begin(struct store_file *f, uint64_t reserve, struct sl_err *err) _must_check_;
/*
 * Atomic. *ret_unknown: the fsync failed. The rows are not visible here, but may be after a crash,
 * until store_file_overwrite has succeeded, which overwrites them. A second fsync would not help:
 * pages whose sync failed are marked clean.
 */
int store_file_commit(struct store_file *f, const struct store_batch *b, bool *ret_unknown,
                      struct sl_err *err) _must_check_;
int store_file_overwrite(struct store_file *f, struct sl_err *err) _must_check_;

/* The number of a row includes its resource: rows of one resource are adjacent in the file. */
#define ROW_BITS 40u
#define ROWS_MOST (UINT64_C(1) << (ROW_BITS - 1)) /* of a resource; the rest is never come to */
static inline uint64_t store_row_first(uint32_t resource) {
    return (uint64_t)resource << ROW_BITS;
}

/* ---- writer.c: the thread ---- */

struct store_writer;

struct store_writer *store_writer_start(struct store_file *f, uv_async_t *wake);
/* Waits for what it has, and ends it. */
void store_writer_end(struct store_writer *w);
/* One at a time; 'wake' is sent when it is done. */
void store_writer_submit(struct store_writer *w, const struct store_batch *b);
/* The outcome of a failed fsync is no longer needed: no callbacks follow. */
void store_writer_hurry(struct store_writer *w);
/* How the batch went: 1: it is committed; 0: it is not done yet; negative: it failed. With 'wait'
 * it waits until it is done, but not for a disk that does not sync. */
int store_writer_take(struct store_writer *w, bool wait, struct sl_err *err) _must_check_;

/* ---- store.c ---- */

struct store_waiter {
    TAILQ_ENTRY(store_waiter) entry;
    uint64_t version;
    int r;
    sl_store_commit_fn fn;
    void *ctx;
};

struct sl_store {
    struct sl_store_spec spec;
    uv_async_t wake;
    struct store_file *file; /* NULL: memory only */
    struct store_writer *writer;
    store_file_resources stored;               /* what the file knew when it was opened */
    uint32_t n_in_file;                        /* the highest number of a resource there */
    store_file_numbers free_in_file;           /* and the unused ones below it */
    SL_VEC(uint32_t) drops;                    /* those that are still to leave the file */
    uint32_t n_damaged;                        /* rows that were set aside */
    SL_VEC(struct store_resource *) resources; /* by number; NULL: unknown */
    struct sl_prng prng;
    uint64_t version;  /* the last that was given out */
    uint64_t settled;  /* up to here all is committed or rolled back */
    uint64_t reserved; /* up to here they may be given out */
    uint64_t opened;   /* the version at the start */
    uint64_t past;     /* nothing before this version is known in its order */
    uint64_t dropped;  /* the version when a resource last was: of one that has no changes yet it is
                          not known whether it was that one; 0: never */
    uint64_t delivered;
    size_t bytes;
    uint64_t commits, failures;
    bool failing; /* the last commit did */
    bool starved; /* a change was rejected for lack of a version */
    bool busy;    /* the writer has 'in_flight' */
    struct store_batch waiting, in_flight;
    TAILQ_HEAD(store_waiters, store_waiter) waiters; /* by version */
    TAILQ_HEAD(, store_resource) backlog;
    struct sl_store_watch *delivering;   /* being delivered to; NULL: it was removed meanwhile */
    struct sl_store_watch *deliver_next; /* the next one in its place */
};

#endif
