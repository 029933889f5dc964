/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An in-memory Kubernetes API behind struct sl_kube_client, with a virtual clock and seeded faults:
 * for tests and for a simulator of the whole program. Everything happens in one queue of events,
 * ordered by time and then by the order in which they were made, so a seed gives the same run
 * everywhere. A request costs some microseconds.
 *
 * What it does as the real one: create (uid, creationTimestamp, generation, resourceVersion,
 * generateName), get, list (label selectors; metadata.name, metadata.namespace, spec.nodeName and
 * spec.schedulerName as field selectors; pages of one snapshot), watch (from a version, bookmarks,
 * 410 after a compaction), PUT, merge patch, JSON patch and simple server-side apply,
 * resourceVersion and uid preconditions, the status subresource, no-op writes that change nothing,
 * finalizers, graceful deletion of pods, propagation policies, garbage collection by
 * ownerReferences, Status bodies; metadata alone (PartialObjectMetadata) and aggregated discovery
 * where they are asked for.
 *
 * A Job's template changes only while the Job is suspended, without start time and active pods; of
 * a pod's spec gates may go, tolerations and (while it is gated) node selectors may come, and it is
 * bound once, by its binding or a patch of its nodeName (422 otherwise). Admission is the test's,
 * if it wants any.
 *
 * What it leaves out: other validation and all defaulting of specs, conversion between versions,
 * strategic patches (415), field management (apply is a forced merge that creates what is
 * missing; lists are replaced whole; an applied status replaces the old one, as if it had one
 * manager, but is merged into a pod's, which has many, its conditions by type), whether a namespace
 * exists and the emptying of a deleted one (but see fakeapi_bare), other discovery, dry runs (400),
 * watches without a version (400).
 */
#ifndef FAKEAPI_H
#define FAKEAPI_H

#include "core/base/buf.h"
#include "kube/client/port.h"

struct yyjson_val;
struct fakeapi;

#define FAKEAPI_CLIENTS 8u
/* The wall clock at mono 0: 2026-01-01T00:00:00Z. */
#define FAKEAPI_EPOCH (INT64_C(1767225600) * SL_SEC)

/* ---- kinds ---- */
enum {
    FAKEAPI_NAMESPACED = 1,
    FAKEAPI_STATUS = 2,   /* has the status subresource */
    FAKEAPI_GRACEFUL = 4, /* stays until its node says so: DELETE with gracePeriodSeconds=0 */
    FAKEAPI_ORPHANS = 8,  /* DELETE without a policy leaves dependents alone (batch/v1 jobs) */
    FAKEAPI_SHARED = 16,  /* its status has several writers: what is applied is merged into it */
};

struct fakeapi_kind {
    const char *group; /* "" for the core */
    const char *version, *plural, *kind;
    unsigned flags;
    const char *status; /* JSON that a new one has as its status; NULL: none */
};

/* A new API knows those of fakeapi_kinds (kinds.c). Strings are borrowed for ever. */
void fakeapi_register(struct fakeapi *a, const struct fakeapi_kind *k);
/* As an API that is not installed (404), or again. Its objects wait meanwhile. */
void fakeapi_install(struct fakeapi *a, const char *group, const char *plural, bool installed);

/* ---- the server and its clients ---- */
struct fakeapi *fakeapi_new(uint64_t seed);
void fakeapi_free(struct fakeapi *a);
/* Another server with the same objects and clocks: without faults, without clients, and without a
 * past. What happens there does not happen here. */
struct fakeapi *fakeapi_copy(const struct fakeapi *a);
/* Clients have their own wall clocks and their own network. */
struct sl_kube_client *fakeapi_port(struct fakeapi *a, uint32_t client);

/*
 * From now on it is an API server alone, for tests of what stands beside one: it collects no
 * garbage; a new namespace has the finalizer that its controller takes away (PUT .../finalize), and
 * stays, Terminating, until then; nothing is created where there is no living namespace (404, 403).
 */
void fakeapi_bare(struct fakeapi *a);

/* ---- time ---- */
sl_time fakeapi_now(const struct fakeapi *a); /* mono of all clients */
/* When the next event is due; SL_TIME_NEVER without one. */
sl_time fakeapi_next(const struct fakeapi *a);
/* Goes to the next event that is due by 'until' and lets it happen. False, with the clock at
 * 'until', if there is none. */
bool fakeapi_step(struct fakeapi *a, sl_time until);
/* All events up to and at 'until'. */
void fakeapi_advance(struct fakeapi *a, sl_time until);
/* Calls fn(ctx, arg) as an event of its own: for a test that plays kubelet or job controller. */
typedef void (*fakeapi_fn)(void *ctx, uint64_t arg);
void fakeapi_at(struct fakeapi *a, sl_time at, fakeapi_fn fn, void *ctx, uint64_t arg);

/* ---- faults: each happens once in N, seeded; 0: never ---- */
struct fakeapi_faults {
    /* per request or watch, as it arrives */
    uint32_t lose_request; /* never arrives; the client hears 'no answer' after a while */
    uint32_t lose_reply;   /* done, but the client hears 'no answer' */
    uint32_t delay;        /* the way there takes up to 5 s */
    uint32_t late_reply;   /* the way back takes up to 5 s: watch events overtake it */
    uint32_t too_many;     /* 429 with Retry-After */
    uint32_t server_error; /* 500, 503 or 504; one half of them after the effect */
    uint32_t conflict;     /* PUT and PATCH: 409 */
    uint32_t compact;      /* the history is forgotten */
    uint32_t partition;    /* one client is cut off for up to 30 s */
    uint32_t clock_step;   /* one client's wall clock jumps by up to an hour */
    /* per line of a watch */
    uint32_t cut_watch;  /* the stream ends */
    uint32_t lag_watch;  /* this line and all after it come up to 5 s later */
    uint32_t hang_watch; /* the stream goes silent and never ends */
    uint32_t garble;     /* half a line, then the end of the stream */
    sl_span longest;     /* 'delay' and 'late_reply' take up to this instead of 5 s; 0: 5 s */
};
/* In the order of the struct. */
#define FAKEAPI_FAULTS 14u
extern const char *const fakeapi_fault_names[FAKEAPI_FAULTS];
/* Each kind of fault with one chance in two, then once in 'least' to 8 * least; the graver ones
 * less often. */
struct sl_prng;
void fakeapi_some_faults(struct sl_prng *p, uint32_t least, struct fakeapi_faults *ret);
/* NULL: none from now on. */
void fakeapi_set_faults(struct fakeapi *a, const struct fakeapi_faults *f);
void fakeapi_compact(struct fakeapi *a);
void fakeapi_partition(struct fakeapi *a, uint32_t client, sl_time until);
void fakeapi_step_clock(struct fakeapi *a, uint32_t client, sl_span by);
/* A page of a list has at most n objects, whatever the client asks for (a server may do so); 0: as
 * asked. */
void fakeapi_set_page(struct fakeapi *a, uint32_t n);
/* Answers and lines beyond so many bytes come as too long (struct sl_kube_reply); 0: none is. */
void fakeapi_set_ceiling(struct fakeapi *a, size_t bytes);
/* A status may list so many Jobs of a CronJob: FAKEAPI_LIST_ITEMS unless told. */
#define FAKEAPI_LIST_ITEMS 1024u
void fakeapi_set_list_items(struct fakeapi *a, uint32_t n);
/* Ends every stream of the client. */
void fakeapi_cut(struct fakeapi *a, uint32_t client);
/* The client's process died: no callback comes any more; what is on its way to the server still
 * arrives. */
void fakeapi_kill(struct fakeapi *a, uint32_t client);

/* ---- by hand: no delay, no faults, the same semantics ---- */
/* Returns the HTTP status; out (may be NULL) gets the body. body may be NULL. */
int fakeapi_do(struct fakeapi *a, enum sl_kube_method method, const char *path,
               const char *content_type, const char *body, struct sl_buf *out);
/* The object now, valid until the next write; NULL if there is none. */
struct yyjson_val *fakeapi_get(struct fakeapi *a, const char *path);
/* The number behind these words at the beginning of a name; *ret_rest, unless NULL, is what follows
 * it. False: it begins in another way. */
bool fakeapi_number(const char *name, const char *words, uint32_t *ret, const char **ret_rest);
/* All objects of a collection in the order of their keys. fn must not write. Returns how many. */
uint32_t fakeapi_each(struct fakeapi *a, const char *path,
                      void (*fn)(void *ctx, struct yyjson_val *o), void *ctx);
uint64_t fakeapi_version(const struct fakeapi *a); /* the newest resourceVersion */

/* Every change, as it happens. 'before' is NULL for a new object, 'now' for one that is gone. fn
 * must not write; it may use fakeapi_at. */
#define FAKEAPI_NOBODY UINT32_MAX
struct fakeapi_change {
    const struct fakeapi_kind *kind;
    const char *key; /* "namespace/name" or "name" */
    struct yyjson_val *before, *now;
    uint32_t client; /* who asked for it; FAKEAPI_NOBODY: by hand, or the server itself */
    sl_time sent;    /* and when, which may be long ago */
};
void fakeapi_on_change(struct fakeapi *a, void (*fn)(void *ctx, const struct fakeapi_change *c),
                       void *ctx);

/* As webhooks: asked before an object is created ('old' is NULL) or written, also through its
 * status. Returns 0, having changed 'now' if it likes, or the status to answer with and why. fn
 * must not write otherwise. */
struct yyjson_mut_doc;
struct fakeapi_write {
    const struct fakeapi_kind *kind;
    bool status;     /* through that subresource */
    uint32_t client; /* as in a change */
    struct yyjson_val *old;
    struct yyjson_mut_doc *now;
};
typedef int (*fakeapi_write_fn)(void *ctx, const struct fakeapi_write *w, struct sl_buf *why);
void fakeapi_on_write(struct fakeapi *a, fakeapi_write_fn fn, void *ctx);

struct fakeapi_stats {
    uint64_t requests, watches, lines, changes, lost, refused;
    uint64_t invalid; /* 422, but for JSON patches of an older version */
    uint64_t struck[FAKEAPI_FAULTS];
};
void fakeapi_stats(const struct fakeapi *a, struct fakeapi_stats *ret);
/* Open streams of the client, if they have told all that happened and nothing of the client's is on
 * its way; else 0. */
uint32_t fakeapi_streams(const struct fakeapi *a, uint32_t client);

#endif
