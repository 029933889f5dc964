/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An informer: what a controller needs of the API, in one place. For each kind of object a table of
 * small records, kept equal to the API by a list and a watch; one work queue of records to
 * reconcile; timers; one queue of writes; events. Its owner is a table of kinds: what differs
 * between them is a decoder, a function that plans, and one that builds the body of a write.
 * docs/add-a-kind.md walks through one.
 *
 * An object is decoded once into its record, and the document is not kept. A record that changed,
 * or whose time has come, stands in the work queue until its kind has reconciled it. What it has to
 * write is built ('build') when it may be sent, and so is always made from the newest state.
 * Patches carry the version that they were made from; after a conflict the object is read and
 * 'build' is called again.
 *
 * Kinds with 'owners' are found by uid and listed under their controller, as ownerReferences name
 * it, and a change of a record enqueues its controller's. A child that is to be created has a
 * record from the moment that is decided ('create_planned'), and whoever counts children counts it;
 * its name follows from the owner's uid and a number (sl_rec_child_name), so that a create which is
 * repeated, also after a crash, meets 409, and the object that exists is read into the record. One
 * that is to be deleted says so ('delete_planned') until it is seen to go.
 *
 * A record outlives its object ('gone'): pointers to records are good until the end of the turn.
 * Between turns keep the number 'id' together with the uid, or nothing.
 *
 * Owners have one thread, and call sl_inf_tick after callbacks of the port and when sl_inf_next
 * says so; or, where something has to happen between, what sl_inf_tick is made of.
 */
#ifndef SL_KUBE_INFORMER_INFORMER_H
#define SL_KUBE_INFORMER_INFORMER_H

#include "core/base/collection/heap.h"
#include "core/base/collection/sym.h"
#include "kube/informer/reflector.h"
#include "kube/informer/writer.h"
#include "lib/json/json.h"

#define SL_REC_MAX_NAME 253u    /* of a name, a namespace or a uid */
#define SL_INF_MAX_PASSES 1000u /* over the work queue in one turn */

struct sl_informer;
struct sl_rec_table;

/* What all records begin with. */
struct sl_rec {
    struct sl_rec_table *table;
    uint32_t id;         /* its number in the informer and in the queue of writes */
    uint32_t slot;       /* its place in its table */
    uint32_t epoch;      /* of the last list that showed it */
    uint32_t timer;      /* its place in the heap of timers */
    uint8_t kind;        /* the number of its row */
    bool queued;         /* in the work queue */
    bool gone;           /* deleted: a tombstone until nothing refers to it */
    bool deleting;       /* has a deletionTimestamp */
    bool reread;         /* is decoded once more although its version is known */
    bool finalizer;      /* its kind's finalizer is on it */
    bool create_planned; /* to be created, or on its way */
    bool sent;           /* planned: its create was sent once; it may exist */
    bool delete_planned; /* to be deleted */
    bool foreground;     /* of its delete: dependents are deleted first */
    sl_sym ns;
    sl_sym finalizers; /* the others, an array of JSON; none: 0 */
    char *name, *uid;  /* uid: "" while planned */
    uint64_t rv;
    int64_t generation;
    sl_time created;
    sl_time reconcile_at;       /* wall; 0: no timer */
    uint64_t owner;             /* its controller (sl_rec_uid); 0: none */
    struct sl_rec *prev, *next; /* others of the same one */
};

/* A kind of object. 'ctx' is the owner of the informer. Any function but 'decode' may be NULL, and
 * so may 'decode' of a kind that is only written. */
struct sl_rec_kind {
    const char *path; /* "/apis/batch/v1" */
    const char *plural, *kind, *api_version;
    const char *query;     /* of the list and the watch; NULL: none */
    const char *finalizer; /* ours, if it has one */
    uint32_t size;         /* of the record */
    bool namespaced;
    bool metadata_only; /* of the list and the watch */
    bool optional;      /* nothing waits for its list: it may never come in */
    bool owners;        /* found by uid, and listed under its controller */
    uint8_t lane;       /* of its writes (kube/informer/writer.h) */
    /* The same, where it is not always the same. */
    uint32_t (*lane_of)(const struct sl_rec *r);
    /* Is it needed? One that is not has no record. */
    bool (*wanted)(void *ctx, yyjson_val *o);
    /* Takes the object in; the head is done. Returns whether anything that matters changed. */
    bool (*decode)(void *ctx, struct sl_rec *r, yyjson_val *o);
    /* It is new or changed, one of its children is, or its time has come. Not of planned ones. */
    void (*reconcile)(void *ctx, struct sl_rec *r);
    void (*deleted)(void *ctx, struct sl_rec *r);
    void (*free)(struct sl_rec *r); /* what the record owns besides the head */
    /* Marks the symbols that the record has besides the head's (core/base/collection/sym.h). */
    void (*hold)(struct sl_syms *t, struct sl_rec *r);
    /* Fills w, or returns false: nothing to write. Not while a create or delete is planned. */
    bool (*build)(void *ctx, struct sl_rec *r, struct sl_write *w);
    /* After the object of the response was decoded; also for planned creates and deletes.
     */
    void (*written)(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply);
    /* The body of a planned child of r. False: it is not needed any more, and dropped. */
    bool (*child)(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body);
    /* What became of that create; the child may be gone after a refusal. */
    void (*child_written)(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                          const struct sl_kube_reply *reply);
    /* Whether the API serves the kind has changed. */
    void (*served)(void *ctx);
};

/* The names of a kind in its row: SL_REC_API("batch/v1", "jobs", "Job"). */
#define SL_REC_API(version, names, name)                                                           \
    .path = "/apis/" version, .plural = (names), .kind = (name), .api_version = (version)
#define SL_REC_CORE_API(names, name)                                                               \
    .path = "/api/v1", .plural = (names), .kind = (name), .api_version = "v1"

struct sl_rec_table {
    struct sl_informer *informer;
    const struct sl_rec_kind *kind;
    struct sl_map by_name; /* hash(ns, name) -> id */
    SL_VEC(struct sl_rec *) queue;
    SL_VEC(struct sl_rec *) slots; /* NULL: free */
    SL_VEC(uint32_t) free_slots;
    struct sl_reflector *reflector; /* NULL: not watched */
    uint32_t n, epoch;
    uint64_t stream_rv; /* the newest version that the stream has shown */
    uint64_t ahead_rv;  /* one that was read after a conflict and is newer than that; 0: none */
    sl_time ahead_since;
    uint64_t trouble; /* hash of the last error of the stream that was logged */
    bool synced, exists;
};

/* The children of one controller. */
struct sl_rec_owned {
    struct sl_rec *first;
    uint32_t n; /* 0: free */
};

struct sl_inf_spec {
    struct sl_kube_client *client;
    const struct sl_rec_kind *kinds; /* in the order in which they are reconciled */
    uint32_t n_kinds;
    void *ctx;
    const char *field_manager;
    uint32_t max_in_flight; /* writes */
    uint64_t seed;          /* for jitter */
    /* Further symbols that are held between turns. NULL: none. */
    void (*hold)(void *ctx, struct sl_syms *t);
    /* For every reply, after the object was decoded and before the kind's 'written'; the record may
     * be gone. NULL: not needed. */
    void (*written)(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply);
    struct {
        const char *instance; /* reportingInstance; NULL: the controller */
        /* What a repetition is: the same of this version of the object, whatever the note; or the
         * same with this note. */
        bool by_version;
        uint32_t max_known;                        /* to be written, or may become a series */
        const char *(*action)(const char *reason); /* NULL: the reason */
        void (*dropped)(void *ctx);                /* one, since too many wait; NULL */
    } events;
};

struct sl_informer {
    struct sl_inf_spec spec;
    struct sl_kube_client *client;
    struct sl_writer *writer;
    struct sl_syms syms;         /* namespaces, finalizers, and what the owner puts there */
    struct sl_rec_table *tables; /* one for each kind, then the one of events */
    uint32_t n_tables;
    SL_VEC(struct sl_rec *) recs; /* by id; NULL: free */
    SL_VEC(uint32_t) free_ids;
    SL_VEC(struct sl_rec *) tombstones; /* gone, and not yet freed */
    struct sl_map by_uid;               /* sl_rec_uid -> id */
    struct sl_map by_owner;             /* sl_rec_uid and namespace -> place in 'owned' */
    SL_VEC(struct sl_rec_owned) owned;
    SL_VEC(uint32_t) free_owned;
    struct sl_heap timers; /* records by reconcile_at */
    sl_span clock;         /* of the wall, beyond mono */
    struct sl_map events;  /* hash of object, reason and note of an event -> id */
    uint64_t serial;       /* of events */
    uint32_t events_waiting;
    bool ready;  /* the owner's: the first lists are in. Before, nothing is written */
    bool writes; /* the owner's: it writes (it is the leader). True at first */
};

/* ---- life (informer.c) ---- */

struct sl_informer *sl_inf_new(const struct sl_inf_spec *spec);
/* No more callbacks; the records stay. */
void sl_inf_stop(struct sl_informer *f);
void sl_inf_free(struct sl_informer *f);
/* Lists and watches a kind, from the beginning if it did already. */
void sl_inf_watch(struct sl_informer *f, uint32_t kind);
/* Ends the watch of a kind. Its records stay as they are. */
void sl_inf_unwatch(struct sl_informer *f, uint32_t kind);
static inline bool sl_inf_watches(const struct sl_informer *f, uint32_t kind) {
    return f->tables[kind].reflector;
}
/* The list of this kind is in. */
static inline bool sl_inf_synced(const struct sl_informer *f, uint32_t kind) {
    return f->tables[kind].synced;
}
/* Those of all kinds that are watched. */
bool sl_inf_all_synced(const struct sl_informer *f);
/* It is, and the API server serves the kind. */
static inline bool sl_inf_served(const struct sl_informer *f, uint32_t kind) {
    return f->tables[kind].synced && f->tables[kind].exists;
}
/* How far the first lists are, for whoever waits for them. */
struct sl_inf_reading {
    uint32_t kinds, synced; /* that are watched; whose lists are in */
    uint64_t objects;       /* records so far */
    /* The first kind whose list fails, why (sl_reflector_error) and the HTTP status, 0 if there was
     * no response. NULL and "": none does. */
    const struct sl_rec_kind *failed;
    const char *error;
    int status;
};
void sl_inf_reading(const struct sl_informer *f, struct sl_inf_reading *ret);

/* ---- the turn (informer.c) ---- */

/* All of it: what follows, in this order, until there is nothing to reconcile. */
void sl_inf_tick(struct sl_informer *f);
/* Lists and watches; returns whether all lists are in. */
bool sl_inf_poll(struct sl_informer *f);
/* Enqueues whose time has come; all that have a timer if the clock on the wall was set, which it
 * returns. */
bool sl_inf_wake(struct sl_informer *f);
/* Reconciles what is queued, kind by kind: once, whatever is queued meanwhile, so that a record
 * that queues itself ends no turn. Returns whether there was anything. */
bool sl_inf_pass(struct sl_informer *f);
/* The same until nothing is left. False: SL_INF_MAX_PASSES were not enough. */
bool sl_inf_settle(struct sl_informer *f);
/* Sends writes, and frees what is gone. The end of a turn. */
void sl_inf_flush(struct sl_informer *f);
/* Drops the symbols that no record holds. Whether it is due the owner decides
 * (core/base/collection/sym.h). */
void sl_inf_sweep(struct sl_informer *f);
/* When the next turn has to come (mono) for streams, writes and the work queue; and for timers. */
sl_time sl_inf_next(const struct sl_informer *f);
sl_time sl_inf_next_timer(const struct sl_informer *f);
/* Nothing is queued. */
bool sl_inf_settled(const struct sl_informer *f);
/* Nor has anything to be read or written. */
bool sl_inf_idle(const struct sl_informer *f);

/* ---- records (records.c) ---- */

static inline const char *sl_inf_str(const struct sl_informer *f, sl_sym y) {
    return sl_sym_str(&f->syms, y);
}
static inline const char *sl_rec_ns(const struct sl_rec *r) {
    return sl_sym_str(&r->table->informer->syms, r->ns);
}
/* By name; the namespace of what has none does not count. NULL: unknown. */
struct sl_rec *sl_inf_find(const struct sl_informer *f, uint32_t kind, const char *ns,
                           const char *name);
struct sl_rec *sl_inf_find_sym(const struct sl_informer *f, uint32_t kind, sl_sym ns,
                               const char *name);
/* Every record of a kind, planned ones included, in no special order; NULL past the end. *at starts
 * at 0. Records may go meanwhile. */
struct sl_rec *sl_inf_each(const struct sl_informer *f, uint32_t kind, uint32_t *at);
/* Takes an object in as if the watch had shown it. A version older than the record's is ignored.
 * NULL: there is no record. */
struct sl_rec *sl_inf_take(struct sl_informer *f, uint32_t kind, yyjson_val *o);
/* A record that no stream shows, with the name of an object that does not exist yet. */
struct sl_rec *sl_inf_add(struct sl_informer *f, uint32_t kind, const char *ns, const char *name);
/* A resourceVersion as a number. */
uint64_t sl_rec_version(const char *text);
/* To be reconciled in this turn. */
void sl_rec_enqueue(struct sl_rec *r);
/* To be reconciled again at this wall time; 0 takes it back. One timer per record. */
void sl_rec_reconcile_at(struct sl_rec *r, sl_time wall);
/* Has something to write: 'build' is called as soon as it may be sent, or not before 'mono'. */
void sl_rec_write(struct sl_rec *r);
void sl_rec_write_at(struct sl_rec *r, sl_time mono);
/* Is a request of it in flight? */
static inline bool sl_rec_busy(const struct sl_rec *r) {
    return sl_writer_busy(r->table->informer->writer, r->id);
}
/* Leaves the tables without 'deleted', and is freed at the end of a turn when nothing refers to it
 * any more. Not for what the stream shows. */
void sl_rec_forget(struct sl_rec *r);

/* ---- owners and children (children.c) ---- */

/* Of a uid, as owners are known by; 0 for "". */
uint64_t sl_rec_uid(const char *uid);
struct sl_rec *sl_inf_by_uid(const struct sl_informer *f, uint64_t uid); /* NULL: unknown */
/* The controller that r names: of its namespace, or of none. NULL: unknown. */
struct sl_rec *sl_rec_owner(const struct sl_rec *r);
/* The children of a controller, of all kinds, planned ones included: for (r = sl_inf_children(...);
 * r; r = r->next). A loop that drops one takes 'next' before. Those of its namespace alone: anybody
 * may write its uid into an object elsewhere. */
struct sl_rec *sl_inf_children(const struct sl_informer *f, uint64_t owner, uint32_t *ret_n);
/* "<base>-<five letters>" from the owner's uid, a word that distinguishes it from others of the
 * owner, and a number; the base is cut so that it fits. */
#define SL_REC_NAME (SL_REC_MAX_NAME + 1)
const char *sl_rec_child_name(const struct sl_rec *owner, const char *base, const char *word,
                              uint64_t number, char out[SL_REC_NAME]);
/* To be created: the kind of the owner builds the body ('child'). The name must be unknown
 * (sl_inf_find). */
struct sl_rec *sl_rec_plan_create(struct sl_rec *owner, uint32_t kind, const char *name);
/* To be deleted. A planned one that was not sent is dropped at once; one in flight is deleted when
 * it exists. */
void sl_rec_plan_delete(struct sl_rec *r);

/* ---- requests, for 'build' (write.c) ---- */

/* In w->tag: the create of a planned one. */
#define SL_REC_CREATE UINT32_MAX

/* "/apis/batch/v1/namespaces/x/jobs/y/status"; name NULL: the collection, subresource NULL: none.
 */
void sl_rec_kind_path(struct sl_buf *b, const struct sl_rec_kind *k, const char *ns,
                      const char *name, const char *subresource);
void sl_rec_path(struct sl_buf *b, const struct sl_rec *r, const char *subresource);
/* Merge patch of the object or of a subresource; the body is the caller's, and may begin with: */
void sl_rec_build_patch(const struct sl_rec *r, const char *subresource, struct sl_write *w);
/* `{"metadata":{"resourceVersion":"7","uid":"…"`, to be closed by the caller. */
void sl_rec_put_guard(struct sl_jw *j, const struct sl_rec *r);
/* Both. */
void sl_rec_build_guarded(const struct sl_rec *r, const char *subresource, struct sl_write *w);
/* A JSON patch of the object, which carries the version likewise: the body stands open for further
 * operations. */
void sl_rec_build_ops(const struct sl_rec *r, struct sl_write *w);
/* Forced server-side apply; the body stands open after its metadata:
 * `{"apiVersion":…,"metadata":{…}`. */
void sl_rec_build_apply(const struct sl_rec *r, const char *subresource, const char *manager,
                        struct sl_write *w);
/* The list of finalizers, with that of its kind or without. */
void sl_rec_put_finalizers(struct sl_jw *j, const struct sl_rec *r, bool on);
/* The finalizer of its kind, and nothing else, is put on it or taken off: the body is whole. */
void sl_rec_build_finalizer(const struct sl_rec *r, bool on, struct sl_write *w);
/* POST into a subresource; the body is the caller's. */
void sl_rec_build_post(const struct sl_rec *r, const char *subresource, struct sl_write *w);
/* POST of a new object of this kind; the body is the caller's. */
void sl_inf_build_create(const struct sl_informer *f, uint32_t kind, const char *ns,
                         struct sl_write *w);
/* With the uid as precondition. policy: "Background", "Foreground", "Orphan" or NULL; grace in
 * seconds, -1: its own. */
void sl_rec_build_delete(const struct sl_rec *r, const char *policy, int64_t grace,
                         struct sl_write *w);
/* GET of the object itself, which is then decoded also if its version is known. */
void sl_rec_build_read(const struct sl_rec *r, struct sl_write *w);
/* GET of another object than the one whose body is built. */
void sl_inf_build_read(const struct sl_informer *f, uint32_t kind, const char *ns, const char *name,
                       struct sl_write *w);
/* An owner reference with controller and blockOwnerDeletion: `{"apiVersion":…}`. */
void sl_rec_put_owner(struct sl_jw *j, const struct sl_rec *owner);

/* ---- events (event_series.c) ---- */

/* An event about r, as reported by 'controller' ("job-controller"), in the lane that waits for all
 * others. A repetition within SL_EVENT_SERIES_LIFE counts in the series of the first. Dropped when
 * SL_EVENT_MAX_WAITING wait: events are informative, nothing depends on them. */
void sl_rec_event(const struct sl_rec *r, const char *controller, bool warning, const char *reason,
                  const char *fmt, ...) _printf_(5, 6);
/* The row of events. */
extern const struct sl_rec_kind sl_inf_event_kind;

#endif
