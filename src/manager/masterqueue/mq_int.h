/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to src/manager/masterqueue.
 *
 *     spec.c     what a MasterQueue says, decoded
 *     pools.c    pools: what each has published, which are live, which take part
 *     errors.c   what is wrong with a pool
 *     restore.c  pools of before a start or a change of leaders
 *     links.c    connections to NATS, shared by all MasterQueues
 *     secrets.c  the credentials they need
 *     plan.c     from a spec and live pools to flavors and quotas: pure
 *     observed.c, desired.c  ResourceFlavors and ClusterQueues as they are and as they should be
 *     objects.c  what becomes of the difference
 *     status.c   conditions, what is shown of pools, events
 *     masterqueue.c  the kinds, the reconciliation, the turn
 */
#ifndef SL_MANAGER_MASTERQUEUE_MQ_INT_H
#define SL_MANAGER_MASTERQUEUE_MQ_INT_H

#include "core/base/collection/vec.h"
#include "kube/informer/informer.h"
#include "lib/pattern/pattern.h"
#include "manager/admission/masterqueue.h"
#include "manager/masterqueue/masterqueue.h"
#include "manager/masterqueue/payload.h"

#define MQ_CONTROLLER "masterqueue-controller"
#define MQ_KUEUE_API "kueue.x-k8s.io/v1beta2" /* of flavors and queues */

/* Ceilings, besides those of masterqueue.h and payload.h. */
#define MQ_MAX_RESOURCES 64u /* covered by a ClusterQueue, as its schema has it */
#define MQ_MAX_LABELS 128u   /* of a MasterQueue, that its objects get, too */
#define MQ_MAX_SPEC ((size_t)4 << 20)
#define MQ_MAX_PLAN ((size_t)8 << 20)
#define MQ_MAX_SPEC_TEXT ((size_t)4 << 20) /* of a ClusterQueue's spec */
#define MQ_MAX_OBJECT ((size_t)256 << 10)  /* of a ResourceFlavor */
#define MQ_MAX_STATUS ((size_t)1 << 20)
#define MQ_MAX_IGNORED 1024u  /* pools of which only the number is known */
#define MQ_MAX_PATTERN 10000u /* steps of one match of poolRegExp */
#define MQ_MAX_TURN 1000000u  /* and of all in one turn */

#define MQ_CHANGE_PAUSE SL_SEC        /* between two changes of what a pool has */
#define MQ_STATUS_PAUSE SL_SEC        /* between two writes of a status */
#define MQ_ERROR_LIFE SL_MINUTE       /* an error of a pool is shown for so long after the last */
#define MQ_UNUSED_PAUSE (5 * SL_SEC)  /* a flavor is unused for so long before it goes */
#define MQ_REOPEN SL_MINUTE           /* after what the server refused */
#define MQ_ANSWER (3 * SL_SEC)        /* that a server needs at most to refuse something again */
#define MQ_DROPPED_PAUSE SL_MINUTE    /* between two log lines about messages that are dropped */
#define MQ_SECRET_EVERY SL_MINUTE     /* a Secret is read again */
#define MQ_SECRET_RETRY (10 * SL_SEC) /* one that was not there */
#define MQ_SECRET_SOON (3 * SL_SEC)   /* at the earliest, when it is needed or did not help */

enum mq_kind { MQ_SECRET, MQ_FLAVOR, MQ_CLUSTER_QUEUE, MQ_MASTER_QUEUE, MQ_KINDS };

/* ---- what a MasterQueue says (spec.c) ---- */

struct mq_amount {
    const char *resource, *text;
    sl_quantity amount;
};

struct mq_lend {
    const char *queue;
    struct mq_amount *limits;
    uint32_t n;
};

struct mq_group {
    const char *name;
    bool local;
    /* of pools over NATS */
    const char *connector, *secret; /* secret "": none */
    uint64_t servers;               /* the same for connectors that mean the same */
    const char *subject, *node;     /* node "": none */
    sl_span timeout;
    const char **pools; /* in the order of their priority; none: the pattern counts */
    uint32_t n_pools;
    struct sl_pattern *pattern; /* NULL: pools counts */
    /* of both */
    struct mq_amount *nominal;
    uint32_t n_nominal;
    struct mq_lend *lends;
    uint32_t n_lends;
    uint32_t link; /* place in sl_masterqueues.links; UINT32_MAX: none */
};

struct mq_spec {
    struct sl_arena arena;
    const char *cohort, *stop_policy, *strategy, *selector; /* selector: JSON */
    const char *can_borrow, *can_preempt;
    const char *borrow_policy, *reclaim, *within;
    bool has_threshold;
    int64_t threshold;
    struct mq_group *groups;
    uint32_t n_groups;
    const char **borrowers; /* each once, in the order in which they are first named */
    uint32_t n_borrowers;
    const char *error;   /* what admission would have refused; NULL: nothing */
    const char *ignored; /* what of it has no effect, and why; NULL: nothing */
};

struct mq_spec *mq_spec_new(const char *name, yyjson_val *spec);
void mq_spec_free(struct mq_spec *s);
const struct mq_amount *mq_amount_of(const struct mq_amount *v, uint32_t n, const char *resource);

/* ---- pools (pools.c) ---- */

enum mq_pool_state { MQ_LIVE, MQ_LATE, MQ_EXPIRED, MQ_REFUSED };

enum mq_error_kind {
    MQ_ERROR_MESSAGE,  /* it could not be understood */
    MQ_ERROR_LEFT_OUT, /* it could, but for some labels and taints */
    MQ_ERROR_REFUSED,  /* the pool is another MasterQueue's, or can have no flavor */
    MQ_ERRORS
};

struct mq_error {
    char *text; /* of the first; NULL: none */
    sl_time at; /* mono: the last one */
};

struct mq_pool {
    char *name;
    char *group;     /* its name: the number may change with the spec */
    uint64_t source; /* hash of the connector, the Secret and the subject that it came by */
    uint32_t at;   /* the number of the group; UINT32_MAX: the spec has no place for it any more */
    uint32_t rank; /* in the group */
    char *payload; /* the last that was understood, as sl_pool_payload_print has it; NULL: none */
    char *pending; /* one that came too soon after it; NULL: none */
    sl_time changed; /* mono: when the payload did */
    uint64_t raw;    /* hash of its bytes as they came, so that the same is not read twice */
    sl_time seen;    /* mono; of a restored one: when that was */
    sl_time seen_wall;
    sl_span period; /* between messages; 0: not known */
    sl_span odd;    /* the last, if that was another one; 0: it was not */
    struct mq_error errors[MQ_ERRORS];
    char *flavor; /* the name of its ResourceFlavor; NULL: none is possible */
    enum mq_pool_state state;
    bool taken;     /* its flavor is in the queues */
    bool heard;     /* since the start */
    bool left_out;  /* labels or taints of its last message were */
    bool long_told; /* that its period is too long has been reported */
};

/* ---- connections (links.c) ---- */

struct mq_subject {
    char *name; /* with the wildcard */
    uint32_t refs;
    char *error;      /* what the server says of it; NULL: nothing */
    sl_time retry_at; /* mono: when the error is looked at again; 0: it is not */
    sl_time since;    /* mono: when the last error was over */
    bool heard;       /* since the error */
    bool asks;        /* the server has been asked again */
};

struct mq_link {
    char *connector, *secret;
    uint64_t servers;     /* as in groups */
    uint64_t secret_hash; /* of the content that the connection was opened with */
    sl_nats_conn conn;    /* 0: not open */
    bool up;
    sl_time up_since; /* mono */
    char *server;     /* that it is connected to */
    char *error;      /* why it is not; NULL: it is, or is not known */
    sl_time retry_at; /* mono: when to open it again; 0: not by time */
    const char *reason;
    char *shown; /* the servers of the connector, without credentials */
    SL_VEC(struct mq_subject) subjects;
    bool used; /* mark of a sweep */
};

/* What a Secret may have; secrets.c has their names. */
enum mq_secret_key {
    MQ_KEY_USER,
    MQ_KEY_PASSWORD,
    MQ_KEY_TOKEN,
    MQ_KEY_CREDS,
    MQ_KEY_CA,
    MQ_KEY_CERTIFICATE,
    MQ_KEY_PRIVATE,
    MQ_SECRET_KEYS,
};

struct mq_secret {
    struct sl_rec rec;
    char *v[MQ_SECRET_KEYS];
    uint64_t hash;
    bool known, missing; /* neither: it has not been read yet */
    sl_time read_at;     /* mono: next */
    sl_time was_read;    /* mono: when it was asked for */
};

/* ---- flavors and queues as they are (objects.c) ---- */

struct mq_flavor_rec {
    struct sl_rec rec;
    uint64_t hash; /* of all that we write */
    char *pool;    /* the annotation */
    bool has_annotations;
    sl_time unused_since; /* mono; SL_TIME_NEVER: it is used, as far as is known */
    bool of_masterqueue;  /* its controller is one, or was */
};

struct mq_cell {
    uint64_t key; /* hash of flavor and resource */
    sl_quantity amount;
};

struct mq_queue_rec {
    struct sl_rec rec;
    uint64_t hash;
    uint64_t status;          /* hash of what is read of it */
    SL_VEC(uint64_t) flavors; /* hashes of the names */
    SL_VEC(struct mq_cell) usage;
    int64_t reserving; /* workloads */
    bool held;         /* stopPolicy is not None */
    bool of_masterqueue;
};

/* ---- what should be (plan.c) ---- */

struct mq_plan_flavor {
    const char *name;
    uint32_t group;
    uint32_t pool;       /* place in mq.pools; UINT32_MAX: a local one */
    const char **quotas; /* one for each resource of the plan */
    bool written;        /* the object exists: queues may name it */
};

struct mq_plan {
    struct sl_arena arena;
    const char *resources[MQ_MAX_RESOURCES];
    uint32_t n_resources;
    struct mq_plan_flavor flavors[SL_MQ_MAX_FLAVORS];
    uint32_t n_flavors;
    const char *missing_local; /* the first local flavor that does not exist; NULL: none */
    uint32_t crowded;          /* live pools that found no place */
    bool full;                 /* the arena's ceiling was reached: not to be used */
};

/* ---- a MasterQueue ---- */

enum mq_truth { MQ_UNKNOWN, MQ_FALSE, MQ_TRUE };

struct mq_condition {
    enum mq_truth status;
    const char *reason;
    char *message;
    char *told;    /* the reason of the last event, or as observed at the start */
    bool observed; /* it is in the object, with 'status', since: */
    enum mq_truth was;
    sl_time since; /* wall */
};

struct mq {
    struct sl_rec rec;
    struct mq_spec *spec;
    uint64_t spec_hash;
    char *labels;                   /* its own, a JSON object; NULL: none */
    SL_VEC(struct mq_pool *) pools; /* in the order of group, rank and name */
    SL_VEC(uint64_t) ignored;       /* hashes of names of pools that are not kept */
    struct mq_plan *plan;           /* of the last reconciliation; NULL: none yet */
    char *foreign, *foreign_flavor; /* names that we need, of objects of somebody else */
    char *refused;                  /* a queue that the API server does not take */
    char *refusal;                  /* and why */
    struct mq_condition connected, ready;
    uint64_t seen_status;  /* hash of the status as observed */
    uint64_t our_status;   /* the same after our last write */
    uint64_t sent, wanted; /* hashes of what was sent, of what should be there */
    sl_time status_at;     /* mono: not before */
    bool restored;         /* pools were read back from flavors, since it leads */
    bool waits;            /* until objects of an earlier MasterQueue of the name are gone */
    bool ended;            /* it is being deleted, and its connections are released */
    bool frozen; /* queues stay as they are until pools have been heard (mq_pools_unsettled) */
};

/* Where the messages of a connection go, in the order in which MasterQueues were created. */
struct mq_user {
    uint32_t id; /* of the record */
    uint32_t group, link;
};

struct sl_masterqueues {
    struct sl_masterqueues_spec spec;
    struct sl_kube_client *client;
    struct sl_informer *inf;
    SL_VEC(struct mq_link) links;
    SL_VEC(struct mq_user) users;
    uint64_t dropped; /* messages that found no place, as counted and as logged */
    uint64_t dropped_told;
    sl_time dropped_at;    /* mono: when that may be logged again */
    uint64_t match_budget; /* steps of patterns that are left in this turn */
    bool relink; /* specs or secrets have changed: connections are compared with what is needed */
    sl_time led_since; /* mono */
    bool synced;       /* flavors and queues were all known in the last turn */
};

static inline struct mq *mq_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mq, rec);
}
static inline struct mq_flavor_rec *mq_flavor_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mq_flavor_rec, rec);
}
static inline struct mq_queue_rec *mq_queue_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mq_queue_rec, rec);
}
static inline struct mq_secret *mq_secret_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mq_secret, rec);
}

static inline bool mq_owns(const struct mq *q, const struct sl_rec *r) {
    return r->owner && r->owner == sl_rec_uid(q->rec.uid);
}
void mq_set_text(char **to, const char *text); /* text may be NULL */
/* Every MasterQueue is reconciled: something that any of them may refer to has changed. */
void mq_enqueue_all(struct sl_masterqueues *m);

/* ---- pools.c ---- */

/* Does the group take a pool of this name? */
bool mq_pool_takes(struct sl_masterqueues *m, const struct mq *q, const struct mq_group *g,
                   const char *name);
/* A message of a pool arrived. 'elsewhere': the MasterQueue that has it already; NULL: none.
 * Returns whether this one has it. */
bool mq_pool_message(struct sl_masterqueues *m, struct mq *q, uint32_t group, const char *name,
                     const char *data, size_t len, const char *elsewhere);
/* One that is not kept. Returns whether it is a new one. */
bool mq_pool_ignore(struct mq *q, const char *name);
bool mq_pool_is_ignored(const struct mq *q, const char *name);
/* The spec is new: finds the groups of all pools again. */
void mq_pools_match(struct mq *q);
/* NULL: there is none. */
struct mq_pool *mq_pool_find(const struct mq *q, const char *group, const char *name);
/* The pool of this name that is known from the same messages; NULL: none. Which group takes it was
 * decided when it was new, and with the spec; it may also be here for its flavor alone. */
const struct mq_pool *mq_pool_known(const struct mq *q, const struct mq_group *g, const char *name);
/* 'from' NULL: a group of this name, if there is one. NULL: there is no place. */
struct mq_pool *mq_pool_add(struct mq *q, const char *group, const struct mq_group *from,
                            const char *name);
/* A payload that is to take effect. Whether it could be understood. */
bool mq_pool_take(struct sl_masterqueues *m, struct mq *q, struct mq_pool *p, const char *data,
                  size_t len);
void mq_pool_free(struct mq_pool *p);

/* Sets the states by the clock; forgets pools of which nothing is left. Returns when (mono) the
 * next one may change. */
sl_time mq_pools_age(struct sl_masterqueues *m, struct mq *q);
struct mq_pool *mq_pool_of_flavor(const struct mq *q, const char *flavor); /* NULL: none */
void mq_pools_free(struct mq *q);

/* ---- errors.c ---- */

void mq_pool_set_error(struct sl_masterqueues *m, struct mq *q, struct mq_pool *p,
                       enum mq_error_kind kind, const char *fmt, ...) _printf_(5, 6);
bool mq_pool_has_error(const struct mq_pool *p);
/* Drops those that are over. Returns when (mono) the next one is. */
sl_time mq_pool_age_errors(const struct sl_masterqueues *m, struct mq_pool *p);
void mq_pool_put_errors(const struct mq_pool *p, struct sl_buf *out); /* as the status shows them */
void mq_pool_free_errors(struct mq_pool *p);

/* ---- restore.c ---- */

/* What flavors have kept of pools that have not been heard: after the start, and when it begins to
 * lead. */
void mq_pools_restore(struct sl_masterqueues *m, struct mq *q);
/* Does the master have flavors of pools that have not been heard since the start, and may still be?
 * Then the queues stay as they are. *next: at the latest until then (mono). */
bool mq_pools_unsettled(struct sl_masterqueues *m, const struct mq *q, sl_time *next);

/* ---- links.c ---- */

/* Opens, closes and subscribes so that every group has its connection. */
void mq_links_sync(struct sl_masterqueues *m);
/* Takes events from the port. */
void mq_links_poll(struct sl_masterqueues *m);
/* Can pools of the group be heard, as far as is known, and since when (mono)? g may be NULL. */
bool mq_hears(const struct sl_masterqueues *m, const struct mq_group *g, sl_time *since);
const struct mq_subject *mq_subject_of(const struct mq_link *l, const struct mq_group *g);
/* When (mono) a connection is to be opened again, or something to be logged. */
sl_time mq_links_next(const struct sl_masterqueues *m);
void mq_links_free(struct sl_masterqueues *m);

/* ---- secrets.c ---- */

/* One that a connection needs; it is read, if it was not. */
const struct mq_secret *mq_secret_get(struct sl_masterqueues *m, const char *name);
/* What it has; 's' NULL: nothing. */
struct sl_nats_credentials mq_secret_credentials(const struct mq_secret *s);
/* It may have been changed: a connection needs it, or was refused with it. */
void mq_secret_read_soon(struct sl_masterqueues *m, const char *name);
bool mq_secret_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void mq_secret_reconcile(void *ctx, struct sl_rec *r);
bool mq_secret_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void mq_secret_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                       const struct sl_kube_reply *reply);
void mq_secret_free(struct sl_rec *r);

/* ---- plan.c ---- */

struct mq_plan_asks {
    /* Is there a ResourceFlavor that may be named? */
    bool (*exists)(void *ctx, const char *flavor);
    /* Does admitted work in its queues use this resource of any flavor? NULL: it does not. */
    bool (*used)(void *ctx, const struct mq *q, const char *resource);
    void *ctx;
};
struct mq_plan *mq_plan_new(struct mq *q, const struct mq_plan_asks *ask);
void mq_plan_free(struct mq_plan *p);
/* The flavor of this name; NULL: none. */
const struct mq_plan_flavor *mq_plan_find(const struct mq_plan *p, const char *name);
/* The ClusterQueue of the master (queue NULL) or of a borrower: how many flavors it has, and its
 * spec, as fields of an open object. Without any it is on hold. */
uint32_t mq_plan_queue_size(const struct mq *q, const char *queue);
void mq_plan_put_queue(const struct mq *q, const char *queue, struct sl_jw *j);

/* ---- observed.c ---- */

/* Of the fields that we write: of a whole ResourceFlavor, of the spec of a ClusterQueue. */
uint64_t mq_hash_flavor(yyjson_val *o);
uint64_t mq_hash_queue(yyjson_val *spec);
bool mq_flavor_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void mq_flavor_free(struct sl_rec *r);
bool mq_queue_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void mq_queue_free(struct sl_rec *r);
bool mq_names_flavor(const struct mq_queue_rec *c, const char *flavor);
/* Does the ClusterQueue of the MasterQueue name this flavor? 'absent' if there is none. */
bool mq_master_names(struct sl_masterqueues *m, const struct mq *q, const char *flavor,
                     bool absent);
/* What the queues of a MasterQueue use of a flavor. */
sl_quantity mq_usage(struct sl_masterqueues *m, const struct mq *q, const char *flavor,
                     const char *resource);

/* ---- desired.c ---- */

/* Which of its queues has this name: "" the master; NULL: none, any more. */
const char *mq_borrower_of(const struct mq *q, const char *name);
bool mq_flavor_build(void *ctx, struct sl_rec *r, struct sl_write *w);
bool mq_queue_is_right(const struct mq *q, struct sl_rec *r);
bool mq_queue_build(void *ctx, struct sl_rec *r, struct sl_write *w);
bool mq_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body);

/* ---- objects.c ---- */

/* Writes what differs, creates what is missing, deletes what is unused. Returns when (mono) to look
 * again. */
sl_time mq_objects_sync(struct sl_masterqueues *m, struct mq *q);
void mq_object_written(struct sl_masterqueues *m, struct mq *q, const struct sl_rec *child,
                       enum sl_written how, const struct sl_kube_reply *reply);

/* ---- status.c ---- */

bool mq_status_take(struct mq *q, yyjson_val *status); /* whether somebody else changed it */
void mq_status_sync(struct sl_masterqueues *m, struct mq *q);
bool mq_status_build(struct sl_masterqueues *m, struct mq *q, struct sl_write *w);
void mq_status_written(struct mq *q, enum sl_written how);
void mq_status_free(struct mq *q);

#endif
