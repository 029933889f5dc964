/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: an append-only history of batch jobs. What, when, how long, from which queue, on
 * which nodes, and why it ended. It is a record beside the objects and never the truth about them:
 * losing it loses history and no work, and nothing waits for it.
 *
 *     appenders -> queue in memory -> SQLite file                    (a path)
 *     appenders -> queue in memory -> SQLite spool -> PostgreSQL     (postgres://...)
 *
 * One thread moves events from the queue to the file, as many as there are in one transaction. With
 * PostgreSQL a second thread copies them from the file to the server, in order, and removes them
 * from the file after the server has committed them. So a server that is slow, silent or away costs
 * disk, up to a ceiling, and neither memory nor events.
 *
 * Exactly once: an event is identified by the uid of its job, its kind and its number. What is
 * appended or copied again is not recorded again, so that both may be repeated after a crash. A
 * caller that derives the number from the object (an attempt, a generation) can append everything
 * it sees after a restart. Where the object has no such number, the state of the job decides:
 * RESERVE, UNRESERVE, RESIZE, REJECT, and QUEUE without a reason, are not recorded if the job is as
 * they say. What sl_ledger_flush has seen written survives the end of the process at
 * any moment. The file is not synced at each commit (synchronous=NORMAL): a power loss may take the
 * last seconds and damages nothing, and in exchange the ledger does not compete for the disk with a
 * store that has to sync.
 *
 * Texts: what is no UTF-8 and NUL bytes become U+FFFD, one for each byte. What is longer than its
 * ceiling (ceilings.h) is cut and ends in an ellipsis, so that one long message does not lose the
 * event. Resources are JSON, which cut is none: {"cut" : true} replaces them. An uid identifies, so
 * that one that is empty, too long or no UTF-8 is refused.
 *
 * No password of a URL is in any error, log line or statistic.
 *
 * Any thread may call what takes a struct sl_ledger, but sl_ledger_close, which is the last call.
 */
#ifndef SL_LIB_LEDGER_LEDGER_H
#define SL_LIB_LEDGER_LEDGER_H

#include "core/base/text.h"
#include "core/base/time.h"

struct sl_ledger;
struct sl_metrics;

enum sl_ledger_kind {
    SL_LEDGER_SUBMIT, /* it was seen: pending */
    SL_LEDGER_QUEUE,  /* pending, with a new reason or position; after a start: back in the queue */
    SL_LEDGER_RESERVE,   /* pending, with resources at a later time */
    SL_LEDGER_UNRESERVE, /* pending, and no longer with a reservation */
    SL_LEDGER_START,     /* running */
    SL_LEDGER_POD_BIND,  /* one of its pods has a node; changes nothing else about the job */
    SL_LEDGER_RESIZE,    /* another size, while it runs */
    SL_LEDGER_END,       /* finished, for better or worse: the reason says */
    SL_LEDGER_CANCEL,    /* ended by a user */
    SL_LEDGER_REJECT,    /* will never run */
    SL_LEDGER_GATHER,    /* a group: gathering, since its members are not all there */
    SL_LEDGER_KINDS,
};
/* "submit", as in the table; NULL beyond. */
const char *sl_ledger_kind_name(enum sl_ledger_kind kind);

/* Which numbers are given; others are unknown and leave the job as it was. */
enum sl_ledger_given {
    SL_LEDGER_JOBID = 1 << 0,
    SL_LEDGER_PRIORITY = 1 << 1,
    SL_LEDGER_SIZE = 1 << 2,
    SL_LEDGER_DURATION = 1 << 3,
    SL_LEDGER_ESTIMATE = 1 << 4,
};

/* A text that is empty (also one with a NULL pointer and no length) is not given. */
struct sl_ledger_event {
    struct sl_text uid;
    enum sl_ledger_kind kind;
    int64_t number; /* tells events of one kind of a job apart */
    sl_time at;     /* since 1970 */
    struct sl_text ns, name, type /* "Job", "Pod" ... */, flux_job;
    struct sl_text queue, user, group;
    uint32_t given; /* enum sl_ledger_given */
    int64_t jobid, priority, size /* pods */;
    sl_span duration;         /* asked for */
    sl_time estimate;         /* of the start */
    struct sl_text nodes;     /* of the job; of SL_LEDGER_POD_BIND: the node of this pod */
    struct sl_text resources; /* JSON: what is asked for */
    struct sl_text reason, message;
};

struct sl_ledger_spec {
    const char *url;         /* PATH, sqlite:PATH, postgres://..., postgresql://... */
    const char *spool;       /* path of the spool; used, and required, with PostgreSQL */
    sl_span retention;       /* of jobs since they ended; 0: for ever */
    int64_t max_spool_bytes; /* 0: SL_LEDGER_MAX_SPOOL_BYTES */
    uint32_t haste;          /* of tests: pauses pass so many times as fast; 0: as they are */
};

/* Opens the file, and creates it, readable by its owner alone. A server is connected to later, by
 * the thread. SL_EINVAL: the URL, or a file that is not ours or of a newer version; SL_EEXIST: a
 * spool that another process uses; SL_EIO. */
int sl_ledger_open(const struct sl_ledger_spec *spec, struct sl_ledger **ret,
                   struct sl_err *err) _must_check_;
/* Copies the event into the queue and returns at once. False: it was dropped, because the queue is
 * full, or refused, because it is none; both are counted. */
bool sl_ledger_append(struct sl_ledger *l, const struct sl_ledger_event *e);
/* Waits until what was appended before is in the local file. SL_EIO: not by then. */
int sl_ledger_flush(struct sl_ledger *l, sl_span patience, struct sl_err *err) _must_check_;
/* Writes what is queued, if the file can be written, and ends the threads. What is in the spool
 * stays there for the next time. */
void sl_ledger_close(struct sl_ledger *l);

struct sl_ledger_stats {
    uint64_t appended, dropped, refused; /* refused: by sl_ledger_append or by a database */
    uint64_t written; /* to the local file, those included that are repeated or that it refused */
    uint64_t copied;  /* to the server, the same */
    uint64_t queued, queued_bytes, spooled;
    bool
        connected; /* the last attempt to use the server, or the file if there is none, succeeded */
    char error[240]; /* why not, or why the file cannot be written; "" if all is well */
};
void sl_ledger_stats(struct sl_ledger *l, struct sl_ledger_stats *ret);
/* The same as metrics, which are up to date then. On the thread of the metrics. NULL: no ledger, no
 * metrics. */
void sl_ledger_metrics(struct sl_ledger *l, struct sl_metrics *m);

#endif
