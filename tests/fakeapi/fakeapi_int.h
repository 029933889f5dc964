/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to tests/fakeapi. Three parts: the store (objects, history, garbage collection: store.c,
 * gc.c), the verbs on it (target.c, verbs.c, write.c), and the network around it (fakeapi.c,
 * watch.c).
 */
#ifndef FAKEAPI_INT_H
#define FAKEAPI_INT_H

#include <yyjson.h>

#include "core/base/arena.h"
#include "core/base/collection/heap.h"
#include "core/base/collection/map.h"
#include "core/base/prng.h"
#include "core/model/labels.h"
#include "fakeapi.h"

#define NONE UINT32_MAX
#define MAX_KINDS 64u
#define MAX_OBJECTS (UINT32_C(1) << 20)
#define MAX_CALLS (UINT32_C(1) << 16)
#define MAX_EVENTS (UINT32_C(1) << 20)
#define MAX_LOG 65536u /* changes of a kind that are remembered; beyond, the kind is compacted */
#define MAX_BODY_BYTES ((size_t)4 << 20)
#define MAX_REPLY_BYTES ((size_t)256 << 20)
#define MAX_DEPTH 64u
#define MAX_PATH_BYTES 4096u
#define MAX_LABELS 64u

extern const struct fakeapi_kind fakeapi_kinds[];
extern const uint32_t fakeapi_n_kinds;

/* ---- store ---- */

/* One state of one object; immutable, shared by the object, the history and nobody else. */
struct version {
    uint32_t refs;
    uint64_t rv;
    char rv_text[24]; /* the document points here */
    yyjson_doc *doc;
    char *text; /* compact JSON */
    size_t len;
    char key[]; /* "namespace/name" or "name" */
};

struct change {
    struct version *before, *now; /* 'before' is NULL for a new object */
    bool deleted;                 /* then 'now' is its last state, under the version of its end */
};

struct resource {
    struct fakeapi_kind k;
    bool installed;
    SL_VEC(uint32_t) sorted;   /* objects by key */
    SL_VEC(struct change) log; /* since the last compaction */
    uint64_t log_base;         /* how many changes were forgotten: the number of log.v[0] */
    uint64_t compacted;        /* versions below this one cannot be asked for */
};

struct object {
    struct version *cur; /* NULL: a free slot */
    uint32_t res, next_free;
    uint64_t uid; /* its hash */
};

/* ---- network ---- */

enum event_kind { EV_ARRIVE, EV_REPLY, EV_PUMP, EV_BEAT, EV_GC, EV_USER };

struct event {
    sl_time at;
    uint64_t seq;
    enum event_kind kind;
    uint32_t place; /* in the heap; in a free slot the next free one */
    uint64_t arg;   /* a call's id, an object's uid, the user's */
    fakeapi_fn fn;
    void *ctx;
};

struct call {
    uint32_t gen; /* changes when the slot is given back, so that old ids find nothing */
    uint32_t client;
    sl_time sent;
    bool live, watch, muted; /* muted: no callback any more */
    sl_kube_reply_fn done;
    sl_kube_line_fn line;
    void *ctx;
    /* what is asked for */
    enum sl_kube_method method;
    char *path, *body;
    const char *content_type, *accept;
    size_t len;
    /* the answer on its way */
    int status;
    bool too_long;
    sl_span retry_after;
    struct sl_buf out;
    /* an open stream */
    bool open, hung, bookmarks, pumping;
    uint32_t res;
    char *ns;              /* NULL: all */
    char *only;            /* the one name, by a field selector */
    char *scheduler;       /* of pods, by a field selector */
    struct sl_arena arena; /* of the selector */
    struct sl_selector selector;
    uint64_t cursor; /* the next change, counted from the beginning of the world */
    sl_time ends;
};

struct client {
    struct sl_kube_client client; /* first: an sl_kube_client is its client */
    struct fakeapi *a;
    sl_span wall_offset;
    sl_time cut_until;
};

struct fakeapi {
    struct sl_prng prng;
    sl_time now;
    uint64_t rv, uids, seq;
    struct resource res[MAX_KINDS];
    uint32_t n_res;
    uint32_t tokens; /* of service accounts, so far */
    SL_VEC(struct object) objects;
    uint32_t free_object;
    struct sl_map by_uid;     /* hash of a uid -> object */
    struct sl_map dependents; /* hash of an owner's uid -> object */
    SL_VEC(struct event) events;
    uint32_t free_event;
    struct sl_heap queue;
    SL_VEC(struct call) calls;
    SL_VEC(uint32_t) free_calls;
    struct client clients[FAKEAPI_CLIENTS];
    uint32_t used_clients;
    uint32_t max_page; /* 0: no limit of our own */
    size_t ceiling;    /* of an answer or a line that clients take; 0: none */
    uint32_t list_items;
    bool bare;
    struct fakeapi_faults faults;
    void (*on_change)(void *, const struct fakeapi_change *);
    void *on_change_ctx;
    fakeapi_write_fn on_write;
    void *on_write_ctx;
    bool in_change;
    const struct call *serving; /* whose effect this is; NULL: nobody's */
    bool outdated;              /* a JSON patch of an older version is being answered */
    struct sl_buf line;         /* scratch */
    struct fakeapi_stats stats;
};

/* ---- target.c: what a path means ---- */
struct target {
    struct resource *res;        /* NULL: no such API */
    const char *ns, *name, *sub; /* "" if not given */
    const char *label_selector, *field_selector, *cont, *version, *policy;
    const char *node;              /* of pods, by a field selector; "": all */
    const char *scheduler;         /* the same */
    int64_t limit, timeout, grace; /* -1: not given */
    bool watch, bookmarks;
    bool metadata;             /* and nothing else is to be answered */
    char text[MAX_PATH_BYTES]; /* where all the strings live */
};
/* 0, or the status to answer with. */
int fa_target_parse(struct fakeapi *a, const char *path, struct target *t);
/* metadata.name=x, metadata.namespace=x or spec.nodeName=x; false for any other field. Strings stay
 * t's. */
bool fa_target_fields(struct target *t, const char **ret_name);
/* "namespace/name" or "name"; too long a name finds nothing. */
#define MAX_KEY_BYTES 600
void fa_target_key(const struct target *t, const char *name, char key[MAX_KEY_BYTES]);
bool fa_labels_match(const struct sl_selector *s, yyjson_val *o);

/* ---- store.c ---- */
uint64_t fa_uid_hash(const char *uid);
yyjson_val *fa_meta_of(yyjson_val *o);
const char *fa_meta_str(yyjson_val *o, const char *key); /* "" if absent */
static inline yyjson_val *fa_root_of(const struct version *v) {
    return yyjson_doc_get_root(v->doc);
}
struct version *fa_version_ref(struct version *v);
void fa_version_unref(struct version *v);
/* The object with this key, or NONE; *ret_at is where it stands or would stand. */
uint32_t fa_store_find(struct fakeapi *a, struct resource *r, const char *key, uint32_t *ret_at);
/* These store a document, which they take over, under the next version, and tell the history, the
 * watchers and the test. */
uint32_t fa_store_add(struct fakeapi *a, struct resource *r, const char *key, yyjson_doc *doc);
void fa_store_change(struct fakeapi *a, uint32_t obj, yyjson_doc *doc);
void fa_store_remove(struct fakeapi *a, uint32_t obj);
/* The objects of a kind, in a store that has none of them and the same kinds; without their past.
 */
void fa_store_copy(struct fakeapi *to, const struct fakeapi *from, uint32_t res);
/* The states at version rv in key order, borrowed. */
struct versions {
    struct held {
        const struct version *it;
    } * v;
    uint32_t n, cap;
};
void fa_store_snapshot(struct fakeapi *a, struct resource *r, uint64_t rv, struct versions *out);
void fa_store_compact(struct fakeapi *a, struct resource *r);

/* ---- gc.c ---- */
/* The object with this uid is looked at soon, if there still is one then. */
void fa_gc_schedule(struct fakeapi *a, uint64_t uid);
void fa_gc_schedule_owners(struct fakeapi *a, yyjson_val *o);
void fa_gc_check(struct fakeapi *a, uint64_t uid);

/* ---- verbs.c, write.c: a request's effect and answer ---- */
int fa_serve(struct fakeapi *a, const struct sl_kube_request *rq, struct sl_buf *out);
/* The object, or only its metadata. */
void fa_put_version(struct sl_buf *out, const struct version *v, bool metadata);
int fa_fail(struct sl_buf *out, int code, const char *reason, const char *fmt, ...) _printf_(4, 5);
/* These return the status and put the object, or what is wrong, into out. */
int fa_write_create(struct fakeapi *a, struct target *t, yyjson_val *in, struct sl_buf *out);
/* m: the object as the client would have it; through the status subresource only its status and the
 * preconditions in its metadata count. */
int fa_write_update(struct fakeapi *a, uint32_t obj, bool status, yyjson_mut_doc *m,
                    struct sl_buf *out);
/* rules.c: what is wrong with this change of an object (not through a subresource), NULL: nothing.
 */
const char *fa_rule_broken(const struct resource *r, yyjson_val *old, yyjson_val *now);
/* With a change through the subresource "status". */
const char *fa_status_broken(const struct fakeapi *a, const struct resource *r, yyjson_val *now);
struct delete_options {
    const char *policy, *uid, *version; /* "" if not given */
    int64_t grace;
};
int fa_write_delete(struct fakeapi *a, uint32_t obj, const struct delete_options *o,
                    struct sl_buf *out);

/* ---- fakeapi.c, watch.c ---- */
void fa_event_add(struct fakeapi *a, sl_time at, enum event_kind kind, uint64_t arg, fakeapi_fn fn,
                  void *ctx);
struct call *fa_call_find(struct fakeapi *a, uint64_t id);
uint64_t fa_call_id(const struct fakeapi *a, const struct call *c);
void fa_call_free(struct fakeapi *a, struct call *c);
/* Once in n; n is a member of a->faults, and it is counted that it has struck. */
bool fa_one_in(struct fakeapi *a, const uint32_t *n);
sl_span fa_some_time(struct fakeapi *a, sl_span min, sl_span max);
bool fa_cut_off(const struct fakeapi *a, const struct call *c);
void fa_watch_open(struct fakeapi *a, struct call *c);
void fa_watch_pump(struct fakeapi *a, struct call *c);
void fa_watch_beat(struct fakeapi *a, struct call *c);
void fa_watch_end(struct fakeapi *a, struct call *c, int status);
/* Something changed: streams of this kind have something to send. */
void fa_watch_wake(struct fakeapi *a, const struct resource *r);

#endif
