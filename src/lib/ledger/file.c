/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The local file, by SQLite in WAL mode (write-ahead log). The ledger may be read by others while
 * it is written; the spool is for one process alone, which SQLite's exclusive lock sees to: of two,
 * one would remove what the other has not copied.
 */
#include "lib/ledger/ledger_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/ledger/schema.h"

#define APPLICATION_LEDGER 0x534c4c47 /* "SLLG": whose file it is */
#define APPLICATION_SPOOL 0x534c5350  /* "SLSP" */
#define SHRINK_PAGES 1024             /* an empty spool with more gives them back */

enum { RECORD, JOB, EXPIRE_EVENTS, EXPIRE_JOBS, GET, DELETE, STATEMENTS };

struct ledger_file {
    sqlite3 *db;
    sqlite3_stmt *stmt[STATEMENTS]; /* those that this file does not need are NULL */
    char *path;
    int64_t max_bytes; /* of the spool */
    dev_t device;      /* the file, whatever its name is by now */
    ino_t inode;
    bool spool;
};

/* ---- errors ---- */

static int failed(const struct ledger_file *f, const char *what, struct sl_err *err) {
    int code = f->db ? sqlite3_errcode(f->db) : SQLITE_NOMEM;
    int why = f->db ? sqlite3_system_errno(f->db) : 0;
    const char *text = f->db ? sqlite3_errmsg(f->db) : "no memory";

    switch (code & 0xff) {
    case SQLITE_CORRUPT:
        return sl_err_set(err, SL_EINVAL, "%s is corrupt (%s); move it away, or restore a backup",
                          f->path, text);
    case SQLITE_NOTADB:
        return sl_err_set(err, SL_EINVAL, "%s is not a database of SQLite; choose another file",
                          f->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return sl_err_set(err, SL_EEXIST, "%s is in use by another process%s", f->path,
                          f->spool ? "; each needs a spool of its own" : "");
    case SQLITE_CONSTRAINT: /* or a trigger, that somebody added: the file is well */
        return sl_err_set(err, SL_EMISMATCH, "%s refuses it: %s", f->path, text);
    default:
        return sl_err_set(err, SL_EIO, "%s %s: %s%s%s", what, f->path, text, why ? ", " : "",
                          why ? strerror(why) : "");
    }
}

static int run_sql(struct ledger_file *f, const char *text, struct sl_err *err) {
    return sqlite3_exec(f->db, text, NULL, NULL, NULL) == SQLITE_OK ? SL_OK
                                                                    : failed(f, "writing", err);
}

static int run_file(struct ledger_file *f, const char *name, struct sl_err *err) {
    _cleanup_(sl_freep) char *text = ledger_sql(LEDGER_SQLITE, ledger_sql_file(name));

    return run_sql(f, text, err);
}

static int query_number(struct ledger_file *f, const char *text, int64_t *ret, struct sl_err *err) {
    sqlite3_stmt *s = NULL;
    int r = SL_OK;

    if (sqlite3_prepare_v2(f->db, text, -1, &s, NULL) != SQLITE_OK)
        return failed(f, "reading", err);
    int step = sqlite3_step(s);
    *ret = step == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        r = failed(f, "reading", err);
    (void)sqlite3_finalize(s);
    return r;
}

/* The result of a statement is not needed. */
static int run_statement(struct ledger_file *f, int which, struct sl_err *err) {
    sqlite3_stmt *s = f->stmt[which];
    int step;

    while ((step = sqlite3_step(s)) == SQLITE_ROW) {
    }
    int r = step == SQLITE_DONE ? SL_OK : failed(f, "writing", err);
    (void)sqlite3_reset(s);
    return r;
}

static int end_transaction(struct ledger_file *f, int r, struct sl_err *err) {
    if (r >= 0)
        r = run_sql(f, "COMMIT", err);
    if (r < 0 && !sqlite3_get_autocommit(f->db)) {
        int undone = run_sql(f, "ROLLBACK", NULL);
        (void)undone; /* the first failure is reported */
    }
    return r;
}

/* ---- opening ---- */

static int check_owner(struct ledger_file *f, struct sl_err *err) {
    const int64_t ours = f->spool ? APPLICATION_SPOOL : APPLICATION_LEDGER;
    int64_t application = 0, things = 0;
    int r = query_number(f, "PRAGMA application_id", &application, err);

    if (r >= 0)
        r = query_number(f, "SELECT count(*) FROM sqlite_master", &things, err);
    if (r < 0 || application == ours || (!application && !things))
        return r;
    return sl_err_set(err, SL_EINVAL, "%s is %s; choose another file", f->path,
                      application == APPLICATION_LEDGER  ? "a ledger and no spool"
                      : application == APPLICATION_SPOOL ? "a spool and no ledger"
                                                         : "a database of another program");
}

/* In one transaction, so that of two processes the second finds it done. */
static int migrate(struct ledger_file *f, struct sl_err *err) {
    const int64_t ours = f->spool ? LEDGER_SPOOL_STEPS : LEDGER_STEPS;
    int64_t version = 0, there = 0;
    char text[96];
    int r = run_sql(f, "BEGIN IMMEDIATE", err);

    if (r < 0)
        return r;
    r = check_owner(f, err);
    if (r >= 0)
        r = query_number(f, "SELECT count(*) FROM sqlite_master WHERE name = 'sluice_schema'",
                         &there, err);
    if (r >= 0 && there)
        r = query_number(f, "SELECT version FROM sluice_schema", &version, err);
    if (r >= 0 && (version < 0 || version > ours))
        r = sl_err_set(err, SL_EINVAL,
                       "%s was written by a newer version of Sluice (schema %" PRId64
                       ", supported: %" PRId64 ")",
                       f->path, version, ours);
    if (r >= 0 && !there) {
        sl_fmt(text, sizeof text, "PRAGMA application_id=%d",
               f->spool ? APPLICATION_SPOOL : APPLICATION_LEDGER);
        r = run_sql(f, text, err);
    }
    if (r >= 0 && !there)
        r = run_sql(f, LEDGER_SQL_VERSION, err);
    for (int64_t i = version; r >= 0 && i < ours; i++) {
        sl_fmt(text, sizeof text, "%s-%" PRId64 ".sql", f->spool ? "spool" : "ledger", i + 1);
        r = run_file(f, text, err);
    }
    sl_fmt(text, sizeof text, "UPDATE sluice_schema SET version = %" PRId64, ours);
    if (r >= 0 && version < ours)
        r = run_sql(f, text, err);
    return end_transaction(f, r, err);
}

static int prepare(struct ledger_file *f, struct sl_err *err) {
    const char *const sql[STATEMENTS] = {
        [RECORD] = f->spool ? LEDGER_SQL_SPOOL_PUT : ledger_sql_file("record.sql"),
        [JOB] = f->spool ? NULL : ledger_sql_file("job.sql"),
        [EXPIRE_EVENTS] = f->spool ? NULL : LEDGER_SQL_EXPIRE_EVENTS,
        [EXPIRE_JOBS] = f->spool ? NULL : LEDGER_SQL_EXPIRE_JOBS,
        [GET] = f->spool ? LEDGER_SQL_SPOOL_GET : NULL,
        [DELETE] = f->spool ? LEDGER_SQL_SPOOL_DELETE : NULL,
    };

    for (int i = 0; i < STATEMENTS; i++) {
        if (!sql[i])
            continue;
        _cleanup_(sl_freep) char *text = ledger_sql(LEDGER_SQLITE, sql[i]);
        if (sqlite3_prepare_v3(f->db, text, -1, SQLITE_PREPARE_PERSISTENT, &f->stmt[i], NULL) !=
            SQLITE_OK)
            return failed(f, "preparing", err);
    }
    return SL_OK;
}

static int open_database(struct ledger_file *f, struct sl_err *err) {
    struct stat st = {0};
    int64_t page = 4096;
    char text[64];

    /* Before SQLite does, which would ask the umask. */
    int fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return sl_err_set(err, SL_EIO, "cannot open %s: %s", f->path, strerror(errno));
    (void)fstat(fd, &st);
    (void)close(fd);
    f->device = st.st_dev;
    f->inode = st.st_ino;
    if (sqlite3_open_v2(f->path, &f->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                        NULL) != SQLITE_OK)
        return failed(f, "cannot open", err);
    (void)sqlite3_busy_timeout(f->db, SL_LEDGER_BUSY_MS);
    int r = f->spool ? run_sql(f, "PRAGMA locking_mode=EXCLUSIVE", err) : SL_OK;
    if (r >= 0)
        r = check_owner(f, err);
    if (r >= 0)
        r = run_sql(f,
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-2048;"
                    "PRAGMA journal_size_limit=4194304; PRAGMA temp_store=MEMORY",
                    err);
    if (r >= 0)
        r = migrate(f, err);
    if (r >= 0 && f->spool)
        r = query_number(f, "PRAGMA page_size", &page, err);
    if (r >= 0 && f->spool) {
        sl_fmt(text, sizeof text, "PRAGMA max_page_count=%" PRId64, f->max_bytes / page);
        r = run_sql(f, text, err);
    }
    return r < 0 ? r : prepare(f, err);
}

int ledger_file_open(const char *path, bool spool, int64_t max_bytes, struct ledger_file **ret,
                     struct sl_err *err) {
    char full[SL_LEDGER_MAX_URL + 3];

    if (!*path)
        return sl_err_set(err, SL_EINVAL, "the path of the %s is empty",
                          spool ? "spool" : "ledger");
    if (strlen(path) > SL_LEDGER_MAX_URL)
        return sl_err_set(err, SL_ELIMIT, "the path %.40s... is longer than %u bytes", path,
                          SL_LEDGER_MAX_URL);
    /* SQLite gives names like ":memory:" and "file:..." a meaning. */
    sl_fmt(full, sizeof full, "%s%s", *path == '/' ? "" : "./", path);
    struct ledger_file *f = sl_alloc0(1, sizeof *f);
    f->path = sl_strdup(full);
    f->spool = spool;
    f->max_bytes = max_bytes;
    int r = open_database(f, err);
    if (r < 0)
        ledger_file_close(f);
    else
        *ret = f;
    return r;
}

static void close_database(struct ledger_file *f) {
    for (int i = 0; i < STATEMENTS; i++) {
        (void)sqlite3_finalize(f->stmt[i]);
        f->stmt[i] = NULL;
    }
    (void)sqlite3_close(f->db);
    f->db = NULL;
}

void ledger_file_close(struct ledger_file *f) {
    close_database(f);
    sl_freep(&f->path);
    sl_freep(&f);
}

/* Somebody has moved the file away, or removed it: SQLite writes no more into it. */
static bool is_moved(const struct ledger_file *f) {
    struct stat st;
    return f->db && !f->spool &&
           (stat(f->path, &st) < 0 ? errno == ENOENT
                                   : st.st_dev != f->device || st.st_ino != f->inode);
}

/* A spool that is to be made anew is not open until there is room for it. */
static int reopen(struct ledger_file *f, struct sl_err *err) {
    if (is_moved(f)) {
        int whole = run_sql(f, "PRAGMA wal_checkpoint(TRUNCATE)", NULL);
        (void)whole; /* else the new file gets what is in the log, which has its name */
        close_database(f);
    }
    int r = f->db ? SL_OK : open_database(f, err);

    if (r < 0)
        close_database(f);
    return r;
}

/* ---- writing ---- */

static void bind_values(sqlite3_stmt *s, const struct ledger_value *v, int n) {
    for (int i = 0; i < n && i < sqlite3_bind_parameter_count(s); i++)
        switch (v[i].is) {
        case LEDGER_NULL:
            (void)sqlite3_bind_null(s, i + 1);
            break;
        case LEDGER_NUMBER:
            (void)sqlite3_bind_int64(s, i + 1, v[i].number);
            break;
        case LEDGER_TEXT:
            (void)sqlite3_bind_text(s, i + 1, v[i].text.s, (int)v[i].text.n, SQLITE_STATIC);
            break;
        }
}

static int write_one(struct ledger_file *f, const struct sl_ledger_event *e, struct sl_err *err) {
    struct ledger_value v[LEDGER_VALUES];

    ledger_values(e, v);
    bind_values(f->stmt[RECORD], v, LEDGER_COLUMNS);
    int r = run_statement(f, RECORD, err);
    if (r < 0 || f->spool || sqlite3_changes(f->db) == 0)
        return r; /* of the last: it was recorded before */
    bind_values(f->stmt[JOB], v, LEDGER_VALUES);
    return run_statement(f, JOB, err);
}

int ledger_file_write(struct ledger_file *f, const struct ledger_batch *b, struct sl_err *err) {
    const struct ledger_entry *e;
    int r = reopen(f, err);

    if (r >= 0)
        r = run_sql(f, "BEGIN IMMEDIATE", err);

    if (r < 0)
        return r;
    STAILQ_FOREACH(e, b, link) {
        r = write_one(f, &e->e, err);
        if (r < 0)
            break;
    }
    return end_transaction(f, r, err);
}

int ledger_file_expire(struct ledger_file *f, sl_time before, struct sl_err *err) {
    int n = 0, r = reopen(f, err);

    if (r >= 0)
        r = run_sql(f, "BEGIN IMMEDIATE", err);
    if (r < 0)
        return r;
    (void)sqlite3_bind_int64(f->stmt[EXPIRE_EVENTS], 1, before);
    (void)sqlite3_bind_int64(f->stmt[EXPIRE_JOBS], 1, before);
    r = run_statement(f, EXPIRE_EVENTS, err);
    if (r >= 0)
        r = run_statement(f, EXPIRE_JOBS, err);
    if (r >= 0)
        n = sqlite3_changes(f->db);
    r = end_transaction(f, r, err);
    return r < 0 ? r : n;
}

/* ---- the spool ---- */

int ledger_file_count(struct ledger_file *f, uint64_t *ret, struct sl_err *err) {
    int64_t n = 0;
    int r = query_number(f, "SELECT count(*) FROM spool", &n, err);

    if (r >= 0)
        *ret = (uint64_t)n;
    return r;
}

static struct ledger_entry *row_read(sqlite3_stmt *s) {
    struct ledger_value v[LEDGER_COLUMNS] = {0};

    for (int i = 0; i < LEDGER_COLUMNS; i++) {
        switch (sqlite3_column_type(s, i)) {
        case SQLITE_NULL:
            break;
        case SQLITE_INTEGER:
            v[i].is = LEDGER_NUMBER;
            v[i].number = sqlite3_column_int64(s, i);
            break;
        default: /* in this order */
            v[i].is = LEDGER_TEXT;
            v[i].text.s = (const char *)sqlite3_column_text(s, i);
            v[i].text.n = (size_t)sqlite3_column_bytes(s, i);
            break;
        }
    }
    return ledger_entry_of(v);
}

int ledger_file_read(struct ledger_file *f, int64_t after, uint32_t most, struct ledger_rows *ret,
                     struct sl_err *err) {
    sqlite3_stmt *s = f->stmt[GET];
    size_t bytes = 0;
    int step = SQLITE_ROW;

    *ret = (struct ledger_rows){0};
    STAILQ_INIT(&ret->events);
    if (!f->db)
        return SL_OK;
    (void)sqlite3_bind_int64(s, 1, after);
    (void)sqlite3_bind_int64(s, 2, most);
    while (bytes < SL_LEDGER_MAX_COPY_BYTES && (step = sqlite3_step(s)) == SQLITE_ROW) {
        struct ledger_entry *e = row_read(s);
        ret->last = sqlite3_column_int64(s, LEDGER_COLUMNS);
        ret->n++;
        if (!e)
            continue;
        bytes += e->bytes;
        STAILQ_INSERT_TAIL(&ret->events, e, link);
    }
    int r = step == SQLITE_ROW || step == SQLITE_DONE ? SL_OK : failed(f, "reading", err);
    (void)sqlite3_reset(s);
    if (r < 0)
        ledger_batch_free(&ret->events);
    return r;
}

int ledger_file_delete(struct ledger_file *f, int64_t seq, struct sl_err *err) {
    (void)sqlite3_bind_int64(f->stmt[DELETE], 1, seq);
    return run_statement(f, DELETE, err);
}

void ledger_file_shrink(struct ledger_file *f) {
    int64_t pages = 0;

    if (query_number(f, "PRAGMA page_count", &pages, NULL) < 0 || pages <= SHRINK_PAGES)
        return;
    int r = run_sql(f, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", NULL);
    (void)r; /* the pages are used again in any case */
}

bool ledger_file_renew(struct ledger_file *f) {
    char log[SL_LEDGER_MAX_URL + 8];

    close_database(f);
    /* In this order: a log without its database is none, but not the other way round. */
    bool gone = unlink(f->path) == 0 || errno == ENOENT;
    sl_fmt(log, sizeof log, "%s-wal", f->path);
    if (gone)
        (void)unlink(log);
    int r = reopen(f, NULL);
    (void)r; /* with the next write */
    return gone;
}
