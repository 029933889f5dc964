/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base that all parts of src/cluster stand on. Private to the folder.
 *
 * A kind of object has a table of small records, filled by one reflector and shared by all parts. A
 * record that changed stands in the dirty queue of its table until its kind has looked at it
 * ('changed'); so does the record of its controller, as ownerReferences name it, so that a Job need
 * not ask which of its pods changed. Nothing is looked at before the first lists of all kinds are
 * in. What a record wants to write is asked for by the patch queue
 * ('build') when it may be sent, and is made from the newest state.
 *
 * What is on its way is known:
 *   - A child to be created has a record from the moment that is decided ('planned'); whoever
 * counts children counts it. Its name follows from the owner's uid and a number (cl_child_name), so
 * that a create which is repeated, also after a crash, meets 409, and the object that exists is
 * read into the record.
 *   - A record that is to be deleted says so ('doomed') until it is seen to go.
 *   - Patches carry the uid and the version of the record; after a conflict the object is read and
 * 'build' is asked again.
 *
 * A record may be kept a while after its object is gone ('gone'): pointers to records are good
 * until the next turn at most; between turns keep the number 'obj' together with the uid, or
 * nothing.
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

/* In the order in which changes are looked at. */
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
    uint32_t place;  /* in the heap of those that want to be looked at */
    bool dirty;      /* stands in the dirty queue */
    bool gone;       /* deleted; kept until nothing knows it any more */
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
    sl_time look_at; /* wall time at which it wants to be looked at again; 0: none */
    /* The controller, as ownerReferences say or will say, and the others of it. */
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
    uint8_t lane;  /* of its writes: 0 decisions, 1 what people only read, 2 events */
    uint32_t size; /* of the record; 0: nobody needs this kind, it is not watched */
    /* Takes the object in; the head is done already. Returns whether anything that matters changed.
     */
    bool (*decode)(struct sl_cluster *c, struct rec *r, yyjson_val *o);
    /* New, changed, one of its children did, or its time has come. Not told of gone or planned
     * ones. */
    void (*changed)(struct sl_cluster *c, struct rec *r);
    void (*gone)(struct sl_cluster *c, struct rec *r);
    void (*done)(struct rec *r); /* frees what the record owns besides the head */
    /* Fills w, or returns false: nothing to write. Not asked of planned or doomed ones. */
    bool (*build)(struct sl_cluster *c, struct rec *r, struct sl_write *w);
    /* After the answer's object was taken in. Also told of planned ones (their create) and doomed
     * ones. */
    void (*written)(struct sl_cluster *c, struct rec *r, const struct sl_write *w,
                    enum sl_written how, const struct sl_reply *reply);
    /* The body of a planned child of r. False: it is not wanted any more, and forgotten. */
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
    uint64_t trouble;   /* hash of what was last said to be wrong with the stream */
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
    void (*turn)(
        struct sl_cluster *c); /* after the records were looked at; marks and wants as it likes */
    sl_time (*next)(const struct sl_cluster *c); /* mono: when it wants a turn without any news */
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
    struct sl_syms syms; /* namespaces and nodes; whoever keeps one marks it (names.c) */
    struct table tables[K_COUNT];
    SL_VEC(struct rec *) objs; /* by object number; NULL: free */
    SL_VEC(uint32_t) free_objs;
    struct sl_map by_uid;   /* cl_uid -> object number */
    struct sl_map by_owner; /* cl_uid -> brood */
    SL_VEC(struct brood) broods;
    SL_VEC(uint32_t) free_broods;
    struct sl_heap looks; /* records by look_at */
    struct sl_map events; /* hash of what an event says of what -> object number */
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
 * r = r->next). Whoever forgets one meanwhile takes 'next' before. */
struct rec *cl_children(const struct sl_cluster *c, uint64_t owner, uint32_t *ret_n);
/* To be looked at in this turn. */
void cl_mark(struct sl_cluster *c, struct rec *r);
/* To be looked at again at this wall time; 0 takes the wish back. One wish per record. */
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
/* Leaves the tables; freed when nothing knows it any more. Not for what the stream shows. */
void cl_forget(struct sl_cluster *c, struct rec *r);
/* Takes an object in as if the watch had shown it. Older versions than the record's are ignored.
 * NULL: there is none. */
struct rec *cl_take(struct sl_cluster *c, enum rec_kind k, yyjson_val *o);

/* ---- children ---- */

/* "<base>-<five letters>" from the owner's uid, a word that tells it from others of the owner, and
 * a number; the base is cut so that it fits. */
#define REC_NAME 254
const char *cl_child_name(const struct rec *owner, const char *base, const char *word,
                          uint64_t number, char out[REC_NAME]);
/* To be created: owner's kind is asked for the body ('child'). The name must be unknown (cl_find).
 */
struct rec *cl_plan(struct sl_cluster *c, enum rec_kind k, struct rec *owner, const char *name);
/* To be deleted. A planned one that was not sent is forgotten at once; one on its way is deleted
 * when it is there. */
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
/* The answer to a request of this record. */
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
/* Merge patch of the object, or of a subresource. The body stands open inside metadata, version and
 * uid said:
 * `{"metadata":{"resourceVersion":"7","uid":"…"` - close with '}' and go on with `,"status":{`. Or
 * begin it with cl_write_guard later. */
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
    uint64_t key;         /* what it says of what */
    uint32_t count, told; /* how often it happened, and what the API knows of that */
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
