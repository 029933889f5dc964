/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The patch queue. Its owner says which objects may have something to write ('want'); the writer
 * asks for the body when the object's turn comes, so what is sent is always made from the newest
 * state, and any number of wishes become one write. At most one request is in flight per object; in
 * all as many as the server answers without letting them wait, 'max_in_flight' at most. There is no
 * rate limit: the server says when it has had enough (slower answers; 429, Retry-After).
 *
 * What the writer does with an answer, after telling the owner:
 *   2xx             asks the object again if it was wanted meanwhile
 *   409             reads the object (GET w->read_path; not if that is empty), gives it to the
 *                   owner and asks again: at once the first time, after a pause if it goes on
 *   404, 410        nothing; the owner knows whether it still cares
 *   429, 5xx, none  asks again after a pause that grows from 20 ms to 10 s, jittered, or as
 *                   Retry-After says; after a 429 all others wait as long, then go on one by one
 *                   until it is seen to work
 *   other 4xx       the server refuses this body for good: asks again after a pause from 1 s to
 *                   1 min; a wish meanwhile is asked, but only a different body is sent
 *
 * Objects are the owner's numbers, dense from 0 (SL_WRITER_MAX_OBJECTS). Lanes: a lower lane is
 * served first; a higher one only uses what the lower ones leave, but is never starved for ever
 * (one in 16 turns is its). While a lower lane is in use, a higher one is modest: one request at a
 * time, beside those of the first lane, and in the second lane then a rest of four times as long. A
 * server that is short of CPU so spends it on what others wait for, and what waits in the second
 * lane merges meanwhile.
 *
 * The owner may call want, want_at, forget and busy in its callbacks, but neither tick nor free.
 * 'next' has to be asked again after every callback of the port.
 */
#ifndef SL_KUBE_WRITER_H
#define SL_KUBE_WRITER_H

#include "base/buf.h"
#include "kube/port.h"

#define SL_WRITER_LANES 3
#define SL_WRITER_MAX_IN_FLIGHT 1024u
#define SL_WRITER_MAX_OBJECTS (UINT32_C(1) << 24)
#define SL_WRITER_MAX_PATH 2048
/* kube-apiserver takes 3 MiB. What is longer than this is not sent: the owner hears
 * SL_WRITER_TOO_LARGE, as it may from the server, and SL_WRITE_REFUSED. */
#define SL_WRITER_MAX_BODY ((size_t)4 << 20)
#define SL_WRITER_TOO_LARGE 413

struct sl_write {
    enum sl_method method;
    const char *content_type;
    const char *accept;      /* see sl_request_line */
    struct sl_buf path;      /* with the query */
    struct sl_buf read_path; /* where to read the object after a conflict; empty: do not */
    struct sl_buf body;      /* empty: none */
    uint32_t tag;            /* the owner's, handed back */
};

enum sl_written {
    SL_WRITTEN,        /* 2xx: the body is the object as it is now */
    SL_WRITE_CONFLICT, /* 409; 'read' follows */
    SL_WRITE_GONE,     /* 404, 410 */
    SL_WRITE_FAILED,   /* no answer, 429, 5xx: it is tried again */
    SL_WRITE_REFUSED,  /* any other 4xx */
};

struct sl_writer_owner {
    void *ctx;
    /* Something to write now? Fills w (cleared before) or returns false. May be asked for an object
     * that no longer exists. */
    bool (*build)(void *ctx, uint32_t obj, struct sl_write *w);
    void (*done)(void *ctx, uint32_t obj, const struct sl_write *w, enum sl_written how,
                 const struct sl_reply *r);
    /* The object as read after a conflict, or its absence (404). */
    void (*read)(void *ctx, uint32_t obj, const struct sl_reply *r);
};

struct sl_writer;

struct sl_writer *sl_writer_new(struct sl_port *port, const struct sl_writer_owner *owner,
                                uint32_t max_in_flight, uint64_t seed);
void sl_writer_free(struct sl_writer *q); /* cancels what is in flight */
/* May have something to write; asked as soon as it may. Repeating is free. */
void sl_writer_want(struct sl_writer *q, uint32_t obj, uint32_t lane);
/* The same, not before 'at' (mono). An earlier wish stands. */
void sl_writer_want_at(struct sl_writer *q, uint32_t obj, uint32_t lane, sl_time at);
/* The number is free for another object: no wish, no pause and no callback of the old one is left.
 * A request in flight may still have its effect. */
void sl_writer_forget(struct sl_writer *q, uint32_t obj);
/* Is a request of this object in flight? */
bool sl_writer_busy(const struct sl_writer *q, uint32_t obj);
void sl_writer_tick(struct sl_writer *q);
sl_time sl_writer_next(const struct sl_writer *q);
/* Nothing wanted, nothing in flight. */
bool sl_writer_idle(const struct sl_writer *q);

struct sl_writer_stats {
    uint64_t sent, written, conflicts, gone, failed, refused;
    uint32_t in_flight, waiting;
};
void sl_writer_stats(const struct sl_writer *q, struct sl_writer_stats *ret);

#endif
