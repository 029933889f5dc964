/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects with versions: what etcd and the watch cache are to kube-apiserver. All objects are in
 * memory, as text; a thread of its own writes them to one SQLite file, many changes per commit.
 *
 * A change is applied at once and numbered; it is *kept* when its commit is done. Nothing of it may
 * leave the process before that: whoever answers asks sl_store_after, and watchers hear of kept
 * changes only. If a commit fails (disk full), its changes and all that came after are taken back,
 * those who wait for them are told so, and the store goes on; their versions are not used again.
 *
 * Everything here is called on one thread, that of the loop. Objects are immutable and counted; a
 * pointer is good as long as its holder has a reference. Functions that give one give it borrowed:
 * it is the store's own, good until the object changes or the loop turns.
 *
 * Versions begin above 1 and never go back, not across restarts, and those of changes that were
 * taken back are not used again: the file says up to which one they may have been given out. After
 * a crash they go on from there.
 */
#ifndef SL_STORE_STORE_H
#define SL_STORE_STORE_H

#include "base/err.h"
#include "base/time.h"
#include "store/ceilings.h"

struct uv_loop_s;
struct sl_store;

/* One version of one object. */
struct sl_object {
    uint32_t refs;
    uint32_t resource; /* the owner's number, below SL_STORE_RESOURCES */
    uint64_t version;  /* resourceVersion: of the change that made this text, or deleted it */
    const char *ns;    /* "" if it has none */
    const char *name, *uid;
    const char *text; /* the JSON that is stored; says its version itself */
    size_t len;
    /* What selectors ask for, made by the owner's 'index' once: opaque here. */
    void *index;
};

struct sl_store_spec {
    struct uv_loop_s *loop;
    const char *path; /* of the file; NULL: memory only */
    void *ctx;
    /* Each text once, when it is put or read from the file, the last one of a deletion too. May set
     * o->index, and returns how many bytes that takes. NULL: none. */
    size_t (*index)(void *ctx, struct sl_object *o);
    void (*unindex)(void *ctx, struct sl_object *o); /* frees it */
    /* Is the text of a row in the file one that the owner can go on with? One that is not is set
     * aside as a damaged one is. NULL: each is. */
    bool (*readable)(void *ctx, const struct sl_object *o);
    /* A resource by its name in the file ("apps/deployments"), for what was stored before.
     * UINT32_MAX: leave it aside, in the file. NULL: all of them wait for sl_store_resource. */
    uint32_t (*resource)(void *ctx, const char *name);
    uint32_t past; /* changes of a resource that watches may go back; 0: SL_STORE_PAST */
};

/* -EEXIST: another process has the file open; -EINVAL: it is damaged or somebody else's; -EIO. The
 * words name the file and the way out. */
int sl_store_open(const struct sl_store_spec *spec, struct sl_store **ret,
                  struct sl_err *err) _must_check_;
/* Keeps what is waiting, then closes; nobody is told any more. The memory goes with the next turn
 * of the loop. NULL is allowed. */
void sl_store_close(struct sl_store *st);
/* A resource becomes known under its number, and what the file has of it is read. Again is fine; a
 * name keeps its number. */
int sl_store_resource(struct sl_store *st, uint32_t resource, const char *name,
                      struct sl_err *err) _must_check_;

/* Nobody will ask for the resource again: its past and its name leave memory and file, and its
 * number may be given to another. False: not yet, it has objects or changes that are not kept.
 * Nobody watches it any more; and whoever has references to its objects does not walk on from them.
 */
bool sl_store_drop(struct sl_store *st, uint32_t resource) _must_check_;

static inline struct sl_object *sl_object_ref(struct sl_object *o) {
    o->refs++;
    return o;
}
void sl_object_unref(struct sl_store *st, struct sl_object *o);

/* ---- reading ---- */
struct sl_object *sl_store_get(struct sl_store *st, uint32_t resource, const char *ns,
                               const char *name);
/* The first object of the resource at or after (ns, name), in byte order of namespace, then name;
 * NULL: none. Walk: o = seek(.., "", ""), then o = next(o). Not across changes; pages are the
 * caller's, from a copy of pointers. */
struct sl_object *sl_store_seek(struct sl_store *st, uint32_t resource, const char *ns,
                                const char *name);
struct sl_object *sl_store_next(struct sl_store *st, const struct sl_object *o);
uint32_t sl_store_count(const struct sl_store *st, uint32_t resource);
/* The last change, kept or not. */
uint64_t sl_store_version(const struct sl_store *st);

/* ---- changing ---- */
/* The number of the change that is to come next: for the text. */
uint64_t sl_store_next_version(const struct sl_store *st);
/* Creates or replaces; the text says sl_store_next_version(st) as its version already. It is
 * copied. uid, ns and name are of the object. ret may be NULL. -ELIMIT if it is too large; -EIO if
 * the store is full or the disk does not keep up: come again later. */
int sl_store_put(struct sl_store *st, uint32_t resource, const char *ns, const char *name,
                 const char *uid, const char *text, size_t len, struct sl_object **ret,
                 struct sl_err *err) _must_check_;
/* 'o' is the one that is there now. 'text' is the last state, which says the version of its
 * deletion. Always possible but for -EIO as above. */
int sl_store_delete(struct sl_store *st, struct sl_object *o, const char *text, size_t len,
                    struct sl_err *err) _must_check_;

/* Calls back when everything up to the version is kept (0), or was taken back meanwhile (SL_EIO):
 * at once, if there is nothing to wait for. Calls come in the order of versions, before watchers
 * hear of the changes. */
typedef void (*sl_kept_fn)(void *ctx, int r);
void sl_store_after(struct sl_store *st, uint64_t version, sl_kept_fn fn, void *ctx);
/* No call comes for this ctx any more. */
void sl_store_forget(struct sl_store *st, void *ctx);

/* ---- watching ---- */
enum sl_change { SL_ADDED, SL_MODIFIED, SL_DELETED };
struct sl_store_event {
    enum sl_change what;
    struct sl_object *now; /* of a deletion: the last state, with its version */
    struct sl_object *was; /* before; NULL on ADDED */
};
struct sl_store_watch;
/* Events of a resource after 'version', in their order, each once it is kept, on the loop's thread
 * but never inside this call. The past is kept for at least spec.past changes of a resource,
 * unless these are larger than SL_STORE_PAST_BYTES, across restarts if there is a file; -ESTALE if
 * 'version' lies further back. The callback may watch, unwatch and change. */
typedef void (*sl_store_event_fn)(void *ctx, const struct sl_store_event *ev);
int sl_store_watch(struct sl_store *st, uint32_t resource, uint64_t version, sl_store_event_fn fn,
                   void *ctx, struct sl_store_watch **ret) _must_check_;
/* The same for one object, or for all of a namespace (name ""). What happens to others costs it
 * nothing, however many there are. */
int sl_store_watch_in(struct sl_store *st, uint32_t resource, uint64_t version, const char *ns,
                      const char *name, sl_store_event_fn fn, void *ctx,
                      struct sl_store_watch **ret) _must_check_;
void sl_store_unwatch(struct sl_store *st, struct sl_store_watch *w);
/* All events up to this version have been told to watchers of all resources: for bookmarks. */
uint64_t sl_store_told(const struct sl_store *st);

struct sl_store_stats {
    uint64_t commits, failures;
    uint64_t objects, bytes; /* bytes in memory */
};
void sl_store_stats(const struct sl_store *st, struct sl_store_stats *ret);

#endif
