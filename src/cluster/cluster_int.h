/*
 * Informers and work queue of the controllers of src/cluster. Private to the folder.
 *
 * Each kind of object has a cache of small records, filled by one reflector and shared by all
 * controllers. A record that changed is in the work queue of its table until it was reconciled
 * ('changed'); so is the record of its controller, by ownerReferences, so that a Job need not
 * search which of its pods changed. Nothing is reconciled before the first lists of all kinds are
 * complete. The write queue requests the pending write of a record ('build') when it can be sent,
 * so that it is built from the newest state.
 *
 * Expectations (writes in flight) are tracked:
 * - A child to be created has a record from the moment that is decided ('planned') and is counted.
 * Its name is derived from the owner's uid and a number (cl_child_name), so that a create is
 * idempotent: if it is repeated, also after a crash, it gets 409, and the existing object is read
 * into the record.
 * - A record that is to be deleted is marked ('doomed') until the deletion is observed.
 * - Patches carry the uid and the version of the record (optimistic concurrency); after a conflict
 * the object is read and 'build' is called again.
 *
 * A record may be retained for a while after its object is deleted ('gone'): pointers to records
 * are valid until the next iteration at most; between iterations keep the number 'obj' together
 * with the uid, or nothing.
 */
#ifndef SL_CLUSTER_CLUSTER_INT_H
#define SL_CLUSTER_CLUSTER_INT_H

#include "base/heap.h"
#include "base/sym.h"
#include "cluster/ceilings.h"
#include "cluster/cluster.h"
#include "kube/json.h"
#include "kube/reflector.h"
#include "kube/writer.h"

/* In the order of reconciliation. */
enum rec_kind {
    K_NAMESPACE,
    K_SERVICE_ACCOUNT,
    K_CONFIG_MAP,
    K_NODE,
    K_CLAIM,    /* PersistentVolumeClaim */
    K_REVISION, /* ControllerRevision */
    K_POD,
    K_CRONJOB,
    K_JOB,
    K_DEPLOYMENT,
    K_REPLICASET,
    K_STATEFULSET,
    K_EVENT, /* only written */
    K_COUNT,
};

struct table;

struct rec {
    struct table *table;
    uint32_t obj;    /* its number in the patch queue */
    uint32_t slot;   /* its place in its table */
    uint32_t epoch;  /* of the last list that showed it */
    uint32_t place;  /* in the heap of timers */
    bool dirty;      /* in the work queue */
    bool gone;       /* deleted; retained until nothing refers to it */
    bool planned;    /* to be created, or on its way */
    bool sent;       /* planned: its create was sent once; it may exist */
    bool doomed;     /* to be deleted */
    bool deleting;   /* has a deletionTimestamp */
    bool foreground; /* doomed: what depends on it goes first */
    sl_sym ns;
    char *name, *uid; /* uid: "" while planned */
    uint64_t rv;
    int64_t generation;
    sl_time created;
    sl_time look_at; /* wall time of the next reconciliation; 0: none */
    /* The controller, by present or pending ownerReferences, and its other children. */
    uint64_t owner; /* cl_uid; 0: none */
    struct rec *prev, *next;
};

struct sl_cluster;

struct kind {
    const char *path; /* "/apis/batch/v1" */
    const char *plural, *kind, *api_version;
    const char *query; /* of the list and the watch; NULL: none */
    bool namespaced;
    bool metadata_only;
    uint8_t lane;  /* of its writes: 0 decisions, 1 informational, 2 events */
    uint32_t size; /* of the record; 0: the kind is not used and not watched */
    /* Takes the object in; the head is done already. Returns whether anything that matters changed.
     */
    bool (*decode)(struct sl_cluster *c, struct rec *r, yyjson_val *o);
    /* Reconciles: it is new, changed, one of its children did, or its timer expired. Not called for
     * gone or planned ones. */
    void (*changed)(struct sl_cluster *c, struct rec *r);
    void (*gone)(struct sl_cluster *c, struct rec *r);
    void (*done)(struct rec *r); /* frees what the record owns besides the head */
    /* Fills w, or returns false: nothing to write. Not called for planned or doomed ones. */
    bool (*build)(struct sl_cluster *c, struct rec *r, struct sl_write *w);
    /* After the object of the reply was cached. Also called for planned ones (their create) and
     * doomed ones. */
    void (*written)(struct sl_cluster *c, struct rec *r, const struct sl_write *w,
                    enum sl_written how, const struct sl_reply *reply);
    /* The body of a planned child of r. False: it is no longer needed, and dropped. */
    bool (*child)(struct sl_cluster *c, struct rec *r, struct rec *child, struct sl_buf *body);
    /* What became of that create; the child may be gone after a refusal. NULL: nothing to do. */
    void (*child_written)(struct sl_cluster *c, struct rec *r, struct rec *child,
                          enum sl_written how, const struct sl_reply *reply);
};
/* In w->tag: the create of a planned one. */
#define CL_CREATE UINT32_MAX
extern const struct kind cl_kinds[K_COUNT];

struct table {
    struct sl_cluster *c;
    const struct kind *kind;
    struct sl_map by_name; /* hash(ns, name) -> object number */
    SL_VEC(struct rec *) dirty;
    SL_VEC(struct rec *) slots; /* NULL: free */
    SL_VEC(uint32_t) free_slots;
    struct sl_reflector *reflector; /* NULL: not watched */
    uint32_t n, epoch;
    uint64_t stream_rv; /* the newest version that the stream has shown */
    uint64_t trouble;   /* hash of the last error of the stream */
    bool synced, exists;
};

/* Children of one controller. */
struct brood {
    uint64_t owner;
    struct rec *first;
    uint32_t n; /* 0: free */
};

/* What a part does besides looking at records; each may be NULL. */
struct part {
    void (*start)(struct sl_cluster *c);
    void (*turn)(struct sl_cluster *c); /* after the records were reconciled; may enqueue any */
    sl_time (*next)(const struct sl_cluster *c); /* mono: when it needs to run without an event */
    bool (*ready)(const struct sl_cluster *c);   /* its own first lists are in */
    void (*stop)(struct sl_cluster *c);          /* frees what it keeps; records still exist */
};
extern const struct part *const cl_parts[];
extern const uint32_t cl_n_parts;

struct schedule; /* schedule.c */
struct gc;       /* gc.c */
struct errands;  /* errands.c */

struct sl_cluster {
    struct sl_cluster_spec spec;
    struct sl_port *port;
    struct sl_writer *writer;
    struct sl_syms syms; /* namespaces and nodes; holders mark theirs (names.c) */
    struct table tables[K_COUNT];
    SL_VEC(struct rec *) objs; /* by object number; NULL: free */
    SL_VEC(uint32_t) free_objs;
    struct sl_map by_uid;   /* cl_uid -> object number */
    struct sl_map by_owner; /* cl_uid -> brood */
    SL_VEC(struct brood) broods;
    SL_VEC(uint32_t) free_broods;
    struct sl_heap looks; /* records by look_at */
    struct sl_map events; /* hash of object and content of an event -> object number */
    uint64_t serial;      /* of events */
    uint64_t dropped_events;
    uint32_t n_events_waiting;
    sl_span clock;  /* of the wall, beyond mono */
    uint32_t turns; /* names.c */
    bool ready;
    SL_VEC(uint32_t) choosy; /* Jobs with selectors of their own (job_pods.c): object numbers */
    struct schedule *schedule;
    struct gc *gc;
    struct errands *errands;
};

/* ---- rec.c: finding and marking ---- */

static inline const char *str(const struct sl_cluster *c, sl_sym y) {
    return sl_sym_str(&c->syms, y);
}
static inline const char *ns_of(const struct sl_cluster *c, const struct rec *r) {
    return str(c, r->ns);
}
uint64_t cl_uid(const char *uid); /* 0 for "" */
struct rec *cl_find(const struct sl_cluster *c, enum rec_kind k, const char *ns, const char *name);
struct rec *cl_find_sym(const struct sl_cluster *c, enum rec_kind k, sl_sym ns, const char *name);
struct rec *cl_by_uid(const struct sl_cluster *c, uint64_t uid); /* NULL: unknown */
/* Every record of a kind, planned ones included; NULL past the end. *at starts at 0. Records may go
 * meanwhile. */
struct rec *cl_each(const struct sl_cluster *c, enum rec_kind k, uint32_t *at);
/* The children of a controller, of all kinds, planned ones included: for (r = cl_children(...); r;
 * r = r->next). Take 'next' before removing one. */
struct rec *cl_children(const struct sl_cluster *c, uint64_t owner, uint32_t *ret_n);
/* Enqueues it for reconciliation in this iteration. */
void cl_mark(struct sl_cluster *c, struct rec *r);
/* Enqueues it at this wall time; 0 cancels. One timer per record. */
void cl_look_at(struct sl_cluster *c, struct rec *r, sl_time wall);
/* May have something to write. */
void cl_want(struct sl_cluster *c, struct rec *r);
void cl_want_at(struct sl_cluster *c, struct rec *r, sl_time mono);
/* Is a request of it in flight? */
static inline bool cl_busy(const struct sl_cluster *c, const struct rec *r) {
    return sl_writer_busy(c->writer, r->obj);
}
/* For what is only written (events). */
struct rec *cl_new(struct sl_cluster *c, struct table *t, sl_sym ns, const char *name);
/* Removes it from the tables; freed when nothing refers to it. Not for objects of the stream. */
void cl_forget(struct sl_cluster *c, struct rec *r);
/* Takes an object in as if the watch had shown it. Older versions than the record's are ignored.
 * NULL: there is none. */
struct rec *cl_take(struct sl_cluster *c, enum rec_kind k, yyjson_val *o);

/* ---- children ---- */

/* "<base>-<five letters>" from the owner's uid, a word that distinguishes it from others of the
 * owner, and a number; the base is truncated so that it fits. */
#define REC_NAME 254
const char *cl_child_name(const struct rec *owner, const char *base, const char *word,
                          uint64_t number, char out[REC_NAME]);
/* To be created: 'child' of the owner's kind builds the body. The name must be unused (cl_find). */
struct rec *cl_plan(struct sl_cluster *c, enum rec_kind k, struct rec *owner, const char *name);
/* To be deleted. A planned one that was not sent is dropped at once; one in flight is deleted when
 * it exists. */
void cl_doom(struct sl_cluster *c, struct rec *r);

/* ---- rec.c, for cluster.c alone ---- */

uint64_t cl_version(const char *s); /* of a resourceVersion */
struct rec *cl_find_text(const struct sl_cluster *c, const struct table *t, const char *ns,
                         const char *name);
struct rec *cl_each_in(const struct table *t, uint32_t *at);
/* Into the dirty queue, gone or not. */
void cl_enqueue(struct rec *r);
void cl_deleted(struct sl_cluster *c, struct rec *r);
struct rec *cl_take_in(struct sl_cluster *c, struct table *t, yyjson_val *o);
/* The reply to a request of this record. */
void cl_take_text(struct sl_cluster *c, const struct rec *of, const char *text, size_t len);
void cl_free(struct rec *r);
void cl_free_if_unknown(struct sl_cluster *c, struct rec *r);
bool cl_look_less(const void *ctx, uint32_t a, uint32_t b);
uint32_t *cl_look_place(void *ctx, uint32_t obj);

/* ---- write.c: paths and bodies ---- */

/* "/apis/batch/v1/namespaces/x/jobs/y/status"; name NULL: the collection, subresource NULL: none.
 */
void cl_write_path(const struct sl_cluster *c, struct sl_buf *b, const struct kind *k, sl_sym ns,
                   const char *name, const char *subresource);
/* Merge patch of the object, or of a subresource. The body is open inside metadata, with version
 * and uid: `{"metadata":{"resourceVersion":"7","uid":"…"` - close with '}' and continue with
 * `,"status":{`. Or begin it with cl_write_guard later. */
void cl_write_patch(const struct sl_cluster *c, const struct rec *r, const char *subresource,
                    struct sl_write *w);
/* POST into a subresource; the body is the caller's. */
void cl_write_post(const struct sl_cluster *c, const struct rec *r, const char *subresource,
                   struct sl_write *w);
void cl_write_create(const struct sl_cluster *c, const struct kind *k, sl_sym ns,
                     struct sl_write *w);
/* With the uid as precondition. policy: "Background", "Foreground", "Orphan" or NULL; grace in
 * seconds, -1: its own. */
void cl_write_delete(const struct sl_cluster *c, const struct rec *r, const char *policy,
                     int64_t grace, struct sl_write *w);
void cl_write_read(const struct sl_cluster *c, const struct rec *r, struct sl_write *w);
/* One owner reference with controller and blockOwnerDeletion: `{"apiVersion":…}`. */
void cl_write_owner(struct sl_buf *b, const struct rec *owner);
/* `{"type":…,"status":"True",…}` of metav1.Condition's shape; times 0: left out. */
void cl_write_condition(struct sl_buf *b, const char *type, bool status, const char *reason,
                        const char *message, sl_time probed, sl_time changed);
/* A copy of the value as JSON text, NULL if absent. To be freed. */
char *cl_text_of(yyjson_val *v);

/* ---- events.c ---- */

struct rec_event {
    struct rec rec;
    char *body;           /* until it is written */
    uint64_t key;         /* object and content */
    uint32_t count, told; /* number of occurrences, and as written to the API */
    sl_time last;
};

/* An event about r, as reported by 'controller' ("job-controller"). A repetition within some
 * minutes counts in the series of the first. Dropped when too many wait. */
void cl_event(struct sl_cluster *c, const struct rec *r, const char *controller, bool warning,
              const char *reason, const char *fmt, ...) _printf_(6, 7);
void cl_event_changed(struct sl_cluster *c, struct rec *r);
bool cl_event_build(struct sl_cluster *c, struct rec *r, struct sl_write *w);
void cl_event_written(struct sl_cluster *c, struct rec *r, const struct sl_write *w,
                      enum sl_written how, const struct sl_reply *reply);
void cl_event_done(struct rec *r);

#endif
