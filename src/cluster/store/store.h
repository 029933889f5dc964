/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versioned object storage: what etcd and the watch cache are to kube-apiserver. All objects are in
 * memory, as text; a writer thread writes them to one SQLite file through its write-ahead log, with
 * group commit: many changes per commit.
 *
 * A change is applied at once and gets a version; it is *committed* when its transaction is
 * durable. Nothing of it may leave the process before that: responses wait for sl_store_on_commit,
 * and watchers see committed changes only. If a commit fails (disk full), its changes and all later
 * ones are rolled back, their waiters get an error, and the store continues; their versions are not
 * reused.
 *
 * Everything here is called on one thread, that of the loop. Objects are immutable and reference
 * counted; a pointer is valid as long as its holder has a reference. Functions that return one
 * return it borrowed: it belongs to the store, valid until the object changes or the loop iterates.
 *
 * Versions begin above 1 and never go back, not across restarts: the file records up to which one
 * they may have been issued. After a crash they continue from there.
 */
#ifndef SL_CLUSTER_STORE_STORE_H
#define SL_CLUSTER_STORE_STORE_H

#include "cluster/store/ceilings.h"
#include "core/base/err.h"
#include "core/base/time.h"

struct uv_loop_s;
struct sl_store;

/* One version of one object. */
struct sl_store_object {
    uint32_t refs;
    uint32_t resource; /* the owner's number, below SL_STORE_RESOURCES */
    uint64_t version;  /* resourceVersion: of the change that made this text, or deleted it */
    const char *ns;    /* "" if it has none */
    const char *name, *uid;
    const char *text; /* the stored JSON, which includes its version */
    size_t len;
    /* Selector index, built once by the owner's 'index': opaque here. */
    void *index;
};

struct sl_store_spec {
    struct uv_loop_s *loop;
    const char *path; /* of the file; NULL: memory only */
    void *ctx;
    /* Each text once, when it is put or read from the file, the last one of a deletion too. May set
     * o->index, and returns how many bytes that takes. NULL: none. */
    size_t (*index)(void *ctx, struct sl_store_object *o);
    void (*unindex)(void *ctx, struct sl_store_object *o); /* frees it */
    /* Is the text of a row in the file one that the owner can go on with? One that is not is set
     * aside as a damaged one is. NULL: each is. */
    bool (*readable)(void *ctx, const struct sl_store_object *o);
    /* A resource by its name in the file ("apps/deployments"), for what was stored before.
     * UINT32_MAX: leave it aside, in the file. NULL: all of them wait for sl_store_resource. */
    uint32_t (*resource)(void *ctx, const char *name);
    uint32_t past; /* changes of a resource that watches may go back; 0: SL_STORE_PAST */
};

/* SL_EEXIST: another process has the file open; SL_EINVAL: it is corrupt or of another program;
 * SL_EIO. The message names the file and the remedy. */
int sl_store_open(const struct sl_store_spec *spec, struct sl_store **ret,
                  struct sl_err *err) _must_check_;
/* Commits what is pending, then closes; no callbacks follow. The memory is freed in the next loop
 * iteration. NULL is allowed. */
void sl_store_close(struct sl_store *st);
/* A resource becomes known under its number, and what the file has of it is read. Again is fine; a
 * name keeps its number. */
int sl_store_resource(struct sl_store *st, uint32_t resource, const char *name,
                      struct sl_err *err) _must_check_;

/* The resource is no longer used: its history and its name leave memory and file, and its number
 * may be reused. False: not yet, it has objects or uncommitted changes. There may be no watchers
 * left, and holders of references to its objects may not iterate from them. */
bool sl_store_drop(struct sl_store *st, uint32_t resource) _must_check_;

static inline struct sl_store_object *sl_store_object_ref(struct sl_store_object *o) {
    o->refs++;
    return o;
}
void sl_store_object_unref(struct sl_store *st, struct sl_store_object *o);

/* ---- reading ---- */
struct sl_store_object *sl_store_get(struct sl_store *st, uint32_t resource, const char *ns,
                                     const char *name);
/* The first object of the resource at or after (ns, name), in byte order of namespace, then name;
 * NULL: none. Walk: o = seek(.., "", ""), then o = next(o). Not across changes; pages are the
 * caller's, from a copy of pointers. */
struct sl_store_object *sl_store_seek(struct sl_store *st, uint32_t resource, const char *ns,
                                      const char *name);
struct sl_store_object *sl_store_next(struct sl_store *st, const struct sl_store_object *o);
uint32_t sl_store_count(const struct sl_store *st, uint32_t resource);
/* The last change, committed or not. */
uint64_t sl_store_version(const struct sl_store *st);

/* ---- changing ---- */
/* The number of the change that is to come next: for the text. */
uint64_t sl_store_next_version(const struct sl_store *st);
/* Creates or replaces; the text includes sl_store_next_version(st) as its version already. It is
 * copied. uid, ns and name are of the object. ret may be NULL. SL_ELIMIT if it is too large; SL_EIO
 * if the store is full or the disk does not keep up: retry later. */
int sl_store_put(struct sl_store *st, uint32_t resource, const char *ns, const char *name,
                 const char *uid, const char *text, size_t len, struct sl_store_object **ret,
                 struct sl_err *err) _must_check_;
/* Replaces the text of the current object as above, but not in the file: after a restart it is as
 * it was before. For what is of the moment, as the time of a heartbeat: versions and watches are as
 * with any other change, and the disk has nothing to do. */
int sl_store_touch(struct sl_store *st, struct sl_store_object *o, const char *text, size_t len,
                   struct sl_err *err) _must_check_;
/* 'o' is the current object. 'text' is the last state, with the version of its deletion. Fails only
 * with SL_EIO as above. */
int sl_store_delete(struct sl_store *st, struct sl_store_object *o, const char *text, size_t len,
                    struct sl_err *err) _must_check_;

/* Calls back when everything up to the version is committed (0), or was rolled back meanwhile
 * (SL_EIO): at once, if there is nothing to wait for. Calls are in the order of versions, before
 * watchers get the changes. */
typedef void (*sl_store_commit_fn)(void *ctx, int r);
void sl_store_on_commit(struct sl_store *st, uint64_t version, sl_store_commit_fn fn, void *ctx);
/* No further call for this ctx. */
void sl_store_cancel(struct sl_store *st, void *ctx);

/* ---- watching ---- */
enum sl_store_change { SL_ADDED, SL_MODIFIED, SL_DELETED };
struct sl_store_event {
    enum sl_store_change what;
    struct sl_store_object *now; /* of a deletion: the last state, with its version */
    struct sl_store_object *was; /* before; NULL on ADDED */
};
struct sl_store_watch;
/* Events of a resource after 'version', in order, each once it is committed, on the thread of the
 * loop but never inside this call. The history covers at least spec.past changes of a resource,
 * unless these are larger than SL_STORE_PAST_BYTES, across restarts if there is a file; SL_ESTALE
 * if 'version' is older. The callback may watch, unwatch and change. */
typedef void (*sl_store_event_fn)(void *ctx, const struct sl_store_event *ev);
int sl_store_watch(struct sl_store *st, uint32_t resource, uint64_t version, sl_store_event_fn fn,
                   void *ctx, struct sl_store_watch **ret) _must_check_;
/* The same for one object, or for all of a namespace (name ""). What happens to others costs it
 * nothing, however many there are. */
int sl_store_watch_in(struct sl_store *st, uint32_t resource, uint64_t version, const char *ns,
                      const char *name, sl_store_event_fn fn, void *ctx,
                      struct sl_store_watch **ret) _must_check_;
void sl_store_unwatch(struct sl_store *st, struct sl_store_watch *w);
/* All events up to this version have been delivered to the watchers of all resources: for
 * bookmarks. */
uint64_t sl_store_delivered(const struct sl_store *st);

struct sl_store_stats {
    uint64_t commits, failures;
    uint64_t objects, bytes; /* bytes in memory */
};
void sl_store_stats(const struct sl_store *st, struct sl_store_stats *ret);

#endif
