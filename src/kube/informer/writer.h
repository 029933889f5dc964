/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The write queue. Its owner enqueues objects that may have pending changes ('want'); the writer
 * requests the body when the object is next, so that a write is always built from the newest state,
 * and changes in between are coalesced into one write. At most one request is in flight per object;
 * in total the writer adapts to the latency of the server, up to 'max_in_flight'. There is no rate
 * limit: backpressure comes from the server (slower responses; 429, Retry-After).
 *
 * What the writer does with a response, after reporting it to the owner:
 *   2xx             builds the object again if it was enqueued meanwhile
 *   409             optimistic concurrency: reads the object (GET w->read_path; not if that is
 *                   empty), passes it to the owner and builds again: at once the first time, with
 *                   back-off if conflicts continue
 *   422             of a JSON patch: the same, once for a body; it may have been made from an older
 *                   version
 *   404, 410        nothing; the owner decides whether it still needs the write
 *   429, 5xx, none  retries with exponential back-off from 20 ms to 10 s and jitter, or as
 *                   Retry-After demands; after a 429 all others wait as long, then continue one by
 *                   one until requests succeed again
 *   other 4xx       the server rejects this body permanently: retries after a pause from 1 s to
 *                   1 min; a change enqueued meanwhile is built, but only a different body is sent
 *
 * Objects are numbers of the owner, dense from 0 (SL_WRITER_MAX_OBJECTS). Lanes: a lower lane is
 * served first; a higher one only uses the capacity that lower ones leave, but is not starved (it
 * gets one in 16 turns). While a lower lane is in use, a higher one is throttled: one request at a
 * time, beside those of the first lane, and then a pause of four times as long. A server that is
 * short of CPU so spends it on the writes that others depend on, and writes in the second lane are
 * coalesced meanwhile.
 *
 * The owner may call want, want_at, forget and busy in its callbacks, but neither tick nor free.
 * 'next' has to be evaluated again after every callback of the API client.
 */
#ifndef SL_KUBE_INFORMER_WRITER_H
#define SL_KUBE_INFORMER_WRITER_H

#include "core/base/buf.h"
#include "kube/client/port.h"
#include "lib/json/writer.h"

#define SL_WRITER_LANES 3
#define SL_WRITER_MAX_IN_FLIGHT 1024u
#define SL_WRITER_MAX_OBJECTS (UINT32_C(1) << 24)
#define SL_WRITER_MAX_PATH 2048
/* kube-apiserver accepts 3 MiB. A longer body is not sent: the owner gets SL_WRITER_TOO_LARGE, as
 * it may from the server, and SL_WRITE_REFUSED. */
#define SL_WRITER_MAX_BODY ((size_t)4 << 20)
#define SL_WRITER_TOO_LARGE 413

struct sl_write {
    enum sl_kube_method method;
    const char *content_type;
    const char *accept;      /* see sl_kube_request */
    struct sl_buf path;      /* with the query */
    struct sl_buf read_path; /* where to read the object after a conflict; empty: do not */
    struct sl_buf body;      /* empty: none */
    struct sl_jw json;       /* writes the body; what 'build' leaves open is ended */
    uint32_t tag;            /* the owner's, handed back */
    bool foreign;            /* the same: the answer is about another object */
};

enum sl_written {
    SL_WRITTEN,        /* 2xx: the body is the object as it is now */
    SL_WRITE_CONFLICT, /* 409; 'read' follows */
    SL_WRITE_GONE,     /* 404, 410 */
    SL_WRITE_FAILED,   /* no response, 429, 5xx: it is retried */
    SL_WRITE_REFUSED,  /* any other 4xx */
};

struct sl_writer_owner {
    void *ctx;
    /* Builds the pending write: fills w (cleared before), or returns false if there is none. May be
     * called for an object that no longer exists. */
    bool (*build)(void *ctx, uint32_t obj, struct sl_write *w);
    void (*done)(void *ctx, uint32_t obj, const struct sl_write *w, enum sl_written how,
                 const struct sl_kube_reply *r);
    /* The object as read after a conflict, or its absence (404). */
    void (*read)(void *ctx, uint32_t obj, const struct sl_kube_reply *r);
};

struct sl_writer;

struct sl_writer *sl_writer_new(struct sl_kube_client *client, const struct sl_writer_owner *owner,
                                uint32_t max_in_flight, uint64_t seed);
void sl_writer_free(struct sl_writer *q); /* cancels what is in flight */
/* Enqueues the object: it may have something to write. Idempotent. */
void sl_writer_enqueue(struct sl_writer *q, uint32_t obj, uint32_t lane);
/* The same, not before 'at' (mono). An earlier time takes precedence. */
void sl_writer_enqueue_at(struct sl_writer *q, uint32_t obj, uint32_t lane, sl_time at);
/* Releases the number for another object: no pending change, no back-off and no callback of the old
 * one is left. A request in flight may still take effect. */
void sl_writer_forget(struct sl_writer *q, uint32_t obj);
/* Is a request of this object in flight? */
bool sl_writer_busy(const struct sl_writer *q, uint32_t obj);
void sl_writer_tick(struct sl_writer *q);
sl_time sl_writer_next(const struct sl_writer *q);
/* Nothing pending, nothing in flight. */
bool sl_writer_idle(const struct sl_writer *q);

struct sl_writer_stats {
    uint64_t sent, written, conflicts, gone, failed, refused;
    uint32_t in_flight, waiting;
};
void sl_writer_stats(const struct sl_writer *q, struct sl_writer_stats *ret);

#endif
