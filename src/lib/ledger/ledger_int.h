/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the ledger. */
#ifndef SL_LIB_LEDGER_LEDGER_INT_H
#define SL_LIB_LEDGER_LEDGER_INT_H

#include <sys/queue.h>

#include "lib/ledger/ceilings.h"
#include "lib/ledger/ledger.h"

/* ---- events ---- */

/* An event and its texts in one piece of memory: clean, and within their ceilings. */
struct ledger_entry {
    STAILQ_ENTRY(ledger_entry) link;
    size_t bytes; /* of all this, as it counts against a ceiling */
    struct sl_ledger_event e;
    char texts[];
};
STAILQ_HEAD(ledger_batch, ledger_entry);

/* NULL: it is no event that can be recorded. */
struct ledger_entry *ledger_entry_new(const struct sl_ledger_event *e);
void ledger_batch_free(struct ledger_batch *b);
bool ledger_kind_parse(struct sl_text name, enum sl_ledger_kind *ret);

/*
 * An event as the values of columns, in the order of the statements (schema.h). The first
 * LEDGER_COLUMNS are those of an event, the others are what it says about the state of the job.
 */
#define LEDGER_COLUMNS 20
#define LEDGER_VALUES 28
struct ledger_value {
    enum { LEDGER_NULL, LEDGER_NUMBER, LEDGER_TEXT } is;
    int64_t number;
    struct sl_text text;
};
void ledger_values(const struct sl_ledger_event *e, struct ledger_value ret[LEDGER_VALUES]);
/* The event that a row of the spool is; NULL: none. */
struct ledger_entry *ledger_entry_of(const struct ledger_value v[LEDGER_COLUMNS]);

/* ---- the local file ---- */

/* One SQLite database: the ledger itself, or the spool. One thread at a time. */
struct ledger_file;
int ledger_file_open(const char *path, bool spool, int64_t max_bytes, struct ledger_file **ret,
                     struct sl_err *err) _must_check_;
void ledger_file_close(struct ledger_file *f);
/* All or nothing. */
int ledger_file_write(struct ledger_file *f, const struct ledger_batch *b,
                      struct sl_err *err) _must_check_;
/* Removes jobs that ended before then; returns how many, at most SL_LEDGER_MAX_EXPIRED. */
int ledger_file_expire(struct ledger_file *f, sl_time before, struct sl_err *err) _must_check_;
/* The first rows of the spool behind one. One that is no event, because somebody edited the file,
 * counts and is left out. */
struct ledger_rows {
    struct ledger_batch events;
    uint32_t n;
    int64_t last; /* the row */
};
int ledger_file_count(struct ledger_file *f, uint64_t *ret, struct sl_err *err) _must_check_;
int ledger_file_read(struct ledger_file *f, int64_t after, uint32_t most, struct ledger_rows *ret,
                     struct sl_err *err) _must_check_;
/* Those up to a row. */
int ledger_file_delete(struct ledger_file *f, int64_t seq, struct sl_err *err) _must_check_;
/* Of an empty spool: gives its pages back to the disk if there are many. */
void ledger_file_shrink(struct ledger_file *f);
/* Of a spool without a row that is needed, on a disk without room to remove them: a new file. True:
 * the old one is gone. The new one is made at the next write if there is no room for it yet. */
bool ledger_file_renew(struct ledger_file *f);

/* ---- the server ---- */

/* A PostgreSQL server. One thread at a time. */
struct ledger_server;
/* 'stop' is a descriptor that becomes readable when waiting has to end. */
int ledger_server_new(const char *url, int stop, struct ledger_server **ret,
                      struct sl_err *err) _must_check_;
void ledger_server_free(struct ledger_server *s);
bool ledger_server_connected(const struct ledger_server *s);
/* Connects and brings the schema up to date. */
int ledger_server_connect(struct ledger_server *s, struct sl_err *err) _must_check_;
void ledger_server_disconnect(struct ledger_server *s);
/* All or nothing, in one transaction. After a failure there is no connection, unless it was the
 * content that the server refused: then SL_EINVAL. */
int ledger_server_write(struct ledger_server *s, const struct ledger_batch *b,
                        struct sl_err *err) _must_check_;
int ledger_server_expire(struct ledger_server *s, sl_time before, struct sl_err *err) _must_check_;

/* ---- time ---- */

sl_time ledger_monotonic(void);
sl_time ledger_wall(void);

#endif
