/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One SQLite file in WAL mode (write-ahead log), synced at each commit, and a lock file beside it,
 * because SQLite's own lock does not identify the holder. Rows carry a checksum: SQLite detects a
 * malformed page, but not changed text.
 *
 * Each change writes a row of its own, once. The row it replaced stays until it is older than the
 * history that watches may start from (store.h) and another change overwrites it, so that the
 * history is available after a restart. The newest row of a resource records since when its history
 * is complete; it always stays, as a tombstone if the object was deleted.
 *
 * A row whose checksum is wrong, or whose text its owner cannot decode, is moved to a table of its
 * own (quarantine).
 */
#include "cluster/store/store_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"

#define APPLICATION 0x534c5543 /* "SLUC": whose file it is */
#define FORMAT 2               /* of the tables */
#define MAX_PATH 4096u
#define MAX_VERSION (INT64_MAX / 2) /* no store gets so old; beyond it they would wrap round */
#define TABLE_DAMAGED "damaged"

enum { BEGIN, COMMIT, ROLLBACK, PUT, DEL, NAME, MARK, EMPTY, UNNAME, DROPPED, STATEMENTS };
static const char *const sql[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [PUT] = ("REPLACE INTO objects(row, version, ns, name, uid, sum, text, gone, floor)"
             " VALUES(?,?,?,?,?,?,?,?,?)"),
    [DEL] = "DELETE FROM objects WHERE row = ?",
    [NAME] = "REPLACE INTO resources(number, name) VALUES(?,?)",
    [MARK] = "REPLACE INTO marks(what, value) VALUES('version', ?)",
    [EMPTY] = "DELETE FROM objects WHERE row >= ? AND row < ?",
    [UNNAME] = "DELETE FROM resources WHERE number = ?",
    [DROPPED] = "REPLACE INTO marks(what, value) VALUES('dropped', ?)",
};

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
static const char tables[] =
    "BEGIN; PRAGMA application_id=" TEXT(APPLICATION) "; PRAGMA user_version=" TEXT(
        FORMAT) ";"
                "CREATE TABLE IF NOT EXISTS marks(what TEXT PRIMARY KEY, value INTEGER) WITHOUT "
                "ROWID;"
                "CREATE TABLE IF NOT EXISTS resources(number INTEGER PRIMARY KEY, name TEXT "
                "UNIQUE);"
                "CREATE TABLE IF NOT EXISTS objects(row INTEGER PRIMARY KEY, version INTEGER, ns "
                "TEXT,"
                " name TEXT, uid TEXT, sum INTEGER, text BLOB, gone INTEGER, floor INTEGER);"
                "COMMIT";

/* Format 1 had one row for each object and no past. */
static const char from_1[] =
    "BEGIN; ALTER TABLE objects ADD COLUMN gone INTEGER; ALTER TABLE objects ADD COLUMN floor "
    "INTEGER; REPLACE INTO marks SELECT 'past', value FROM marks WHERE what = 'version';"
    "PRAGMA user_version=" TEXT(FORMAT) "; COMMIT";

/* Rows that are damaged, as they were found, with the time of day. */
static const char table_damaged[] =
    "CREATE TABLE IF NOT EXISTS " TABLE_DAMAGED "(row INTEGER, version INTEGER, ns TEXT, name TEXT,"
    " uid TEXT, sum INTEGER, text BLOB, gone INTEGER, floor INTEGER, found TEXT)";

struct store_file {
    sqlite3 *db;
    sqlite3_stmt *stmt[STATEMENTS];
    char *path;
    int lock;         /* -1: none */
    uint64_t reserve; /* the last that was requested */
};

/* ---- errors ---- */

static int damaged(const struct store_file *f, const char *what, struct sl_err *err) {
    return sl_err_set(err, SL_EINVAL,
                      "%s is corrupt (%s); to start without its objects, move it away", f->path,
                      what);
}

/* The error of the library, as text and code. */
static int failed(const struct store_file *f, const char *what, struct sl_err *err) {
    int code = f->db ? sqlite3_errcode(f->db) : SQLITE_NOMEM;
    int why = f->db ? sqlite3_system_errno(f->db) : 0;

    switch (code & 0xff) {
    case SQLITE_CORRUPT:
        return damaged(f, sqlite3_errmsg(f->db), err);
    case SQLITE_NOTADB:
        return sl_err_set(err, SL_EINVAL,
                          "%s is not a Sluice database, or it is corrupt; move it away, or choose "
                          "another directory",
                          f->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return sl_err_set(err, SL_EEXIST, "%s is in use by another program; stop it first",
                          f->path);
    default:
        return sl_err_set(err, SL_EIO, "%s %s: %s%s%s", what, f->path,
                          f->db ? sqlite3_errmsg(f->db) : "no memory", why ? ", " : "",
                          why ? strerror(why) : "");
    }
}

uint64_t store_file_checksum(const struct store_file_row *r) {
    uint64_t h = sl_digest_u64(r->row, r->version);

    if (r->floor) /* a row of format 1 has none */
        h = sl_digest_u64(h, 2 * r->floor + r->gone);
    h = sl_digest_str(sl_digest_str(sl_digest_str(h, r->ns), r->name), r->uid);
    return sl_digest_bytes(h, r->text, r->len);
}

/* ---- opening ---- */

/* The lock ends with the process, however that ends. */
static int take_lock(struct store_file *f, struct sl_err *err) {
    char path[MAX_PATH], pid[32] = "";

    sl_fmt(path, sizeof path, "%s-lock", f->path);
    f->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (f->lock < 0)
        return sl_err_set(err, SL_EIO, "cannot open %s: %s", path, strerror(errno));
    if (flock(f->lock, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return sl_err_set(err, SL_EIO, "cannot lock %s: %s", path, strerror(errno));
        ssize_t n = read(f->lock, pid, sizeof pid - 1);
        pid[n > 0 ? strspn(pid, "0123456789") : 0] = '\0';
        return sl_err_set(err, SL_EEXIST,
                          "%s is in use by another process%s%s; stop it first, or choose another "
                          "directory",
                          f->path, *pid ? ", pid " : "", pid);
    }
    int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ftruncate(f->lock, 0) < 0 || pwrite(f->lock, pid, (size_t)n, 0) != n) {
        /* Only for the message above. */
    }
    return SL_OK;
}

static int run_sql(struct store_file *f, const char *text, struct sl_err *err) {
    return sqlite3_exec(f->db, text, NULL, NULL, NULL) == SQLITE_OK ? SL_OK
                                                                    : failed(f, "writing", err);
}

static int query_number(struct store_file *f, const char *text, int64_t *ret, struct sl_err *err) {
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

/* Whose is it, and can we read it? */
static int check_format(struct store_file *f, int64_t *ret_format, struct sl_err *err) {
    int64_t application = 0, format = 0, things = 0;
    int r = query_number(f, "PRAGMA application_id", &application, err);

    if (r >= 0)
        r = query_number(f, "PRAGMA user_version", &format, err);
    if (r >= 0)
        r = query_number(f, "SELECT count(*) FROM sqlite_master", &things, err);
    if (r < 0)
        return r;
    if (application != APPLICATION && (application || things))
        return sl_err_set(err, SL_EINVAL,
                          "%s is a database of another program; choose another directory", f->path);
    if (format > FORMAT)
        return sl_err_set(err, SL_EINVAL,
                          "%s was written by a newer version of Sluice (format %" PRId64
                          ", supported: %d)",
                          f->path, format, FORMAT);
    *ret_format = application ? format : 0;
    return SL_OK;
}

static int prepare(struct store_file *f, struct sl_err *err) {
    for (uint32_t i = 0; i < STATEMENTS; i++)
        if (sqlite3_prepare_v3(f->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &f->stmt[i], NULL) !=
            SQLITE_OK)
            return failed(f, "preparing", err);
    return SL_OK;
}

static void close_file(struct store_file *f) {
    for (uint32_t i = 0; i < STATEMENTS; i++)
        (void)sqlite3_finalize(f->stmt[i]);
    (void)sqlite3_close(f->db);
    if (f->lock >= 0)
        (void)close(f->lock);
    sl_freep(&f->path);
    sl_freep(&f);
}

static int open_database(struct store_file *f, struct store_file_marks *ret, struct sl_err *err) {
    int64_t version = 0, past = 0, dropped = 0, format = 0;
    int r = take_lock(f, err);

    if (r < 0)
        return r;
    if (sqlite3_open_v2(f->path, &f->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                            SQLITE_OPEN_EXRESCODE,
                        NULL) != SQLITE_OK)
        return failed(f, "cannot open", err);
    (void)chmod(f->path, 0600); /* before it is written to: Secrets are in it */
    /* Exclusive: no shared memory beside the file, and no other program in it. */
    r = run_sql(f, "PRAGMA locking_mode=EXCLUSIVE", err);
    if (r >= 0)
        r = check_format(f, &format, err);
    if (r >= 0)
        r = run_sql(
            f,
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4000;"
            "PRAGMA journal_size_limit=33554432; PRAGMA cache_size=-4096;"
            "PRAGMA temp_store=MEMORY",
            err);
    /* What the log has may be in the page cache alone: a sync that failed is not done by a later
     * one that succeeds. So it is written again, into the file itself, and that is synced. */
    if (r >= 0)
        r = run_sql(f, "PRAGMA wal_checkpoint(TRUNCATE)", err);
    if (r >= 0 && format < FORMAT)
        r = run_sql(f, format ? from_1 : tables, err);
    if (r >= 0)
        r = prepare(f, err);
    if (r >= 0)
        r = query_number(f, "SELECT value FROM marks WHERE what = 'version'", &version, err);
    if (r >= 0)
        r = query_number(f, "SELECT value FROM marks WHERE what = 'past'", &past, err);
    if (r >= 0)
        r = query_number(f, "SELECT value FROM marks WHERE what = 'dropped'", &dropped, err);
    if (r >= 0 && (version < 0 || past < 0 || dropped < 0 || version > MAX_VERSION ||
                   past > MAX_VERSION || dropped > MAX_VERSION))
        r = damaged(f, "a version is negative or too high", err);
    if (r >= 0)
        *ret = (struct store_file_marks){.version = version > past
                                                        ? (uint64_t)version /* it never goes back */
                                                    : past > 0 ? (uint64_t)past
                                                               : 1,
                                         .past = past > 0 ? (uint64_t)past : 1,
                                         .dropped = (uint64_t)dropped};
    return r;
}

int store_file_open(const char *path, struct store_file **ret, struct store_file_marks *ret_marks,
                    struct sl_err *err) {
    if (strlen(path) > MAX_PATH - 16)
        return sl_err_set(err, SL_ELIMIT, "the path %.40s... is too long", path);
    struct store_file *f = sl_alloc0(1, sizeof *f);
    f->path = sl_strdup(path);
    f->lock = -1;
    int r = open_database(f, ret_marks, err);
    if (r < 0)
        close_file(f);
    else
        *ret = f;
    return r;
}

/* ---- reading ---- */

/* Rows may be left of a resource whose name was lost: its number is not for another one. */
static int highest_number(struct store_file *f, uint32_t *ret, struct sl_err *err) {
    int64_t row = 0;
    int r = query_number(f, "SELECT max(row) FROM objects", &row, err);

    if (r < 0)
        return r;
    uint64_t number = row > 0 ? (uint64_t)row >> ROW_BITS : 0;
    if (number > SL_STORE_FILE_RESOURCES)
        return damaged(f, "an object of no resource", err);
    *ret = (uint32_t)number;
    return SL_OK;
}

int store_file_list(struct store_file *f, store_file_resources *ret, uint32_t *ret_highest,
                    struct sl_err *err) {
    sqlite3_stmt *s = NULL;
    int step, r = highest_number(f, ret_highest, err);

    if (r < 0)
        return r;

    if (sqlite3_prepare_v2(f->db, "SELECT number, name FROM resources ORDER BY number", -1, &s,
                           NULL) != SQLITE_OK)
        return failed(f, "reading", err);
    while (r >= 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
        int64_t number = sqlite3_column_int64(s, 0);
        const char *name = (const char *)sqlite3_column_text(s, 1);
        if (number < 1 || number > SL_STORE_FILE_RESOURCES || !name)
            r = damaged(f, "a resource without a name or number", err);
        else
            *sl_vec_push(ret) =
                (struct store_file_resource){sl_strdup(name), (uint32_t)number, false};
        if (r >= 0 && number > *ret_highest)
            *ret_highest = (uint32_t)number;
    }
    if (r >= 0 && step != SQLITE_DONE)
        r = failed(f, "reading", err);
    (void)sqlite3_finalize(s);
    return r;
}

int store_file_free_numbers(struct store_file *f, const store_file_resources *known,
                            uint32_t highest, store_file_numbers *ret, struct sl_err *err) {
    sqlite3_stmt *s = NULL;
    int r = SL_OK;

    if (sqlite3_prepare_v2(f->db, "SELECT row FROM objects WHERE row >= ? AND row < ? LIMIT 1", -1,
                           &s, NULL) != SQLITE_OK)
        return failed(f, "reading", err);
    for (uint32_t number = 1, i = 0; r >= 0 && number <= highest; number++) {
        if (i < known->n && known->v[i].number == number) {
            i++;
            continue;
        }
        (void)sqlite3_bind_int64(s, 1, (int64_t)store_row_first(number));
        (void)sqlite3_bind_int64(s, 2, (int64_t)store_row_first(number + 1));
        int step = sqlite3_step(s);
        if (step == SQLITE_DONE)
            *sl_vec_push(ret) = number;
        else if (step != SQLITE_ROW)
            r = failed(f, "reading", err);
        (void)sqlite3_reset(s);
    }
    (void)sqlite3_finalize(s);
    return r;
}

static const char *or_empty(const unsigned char *s) {
    return s ? (const char *)s : "";
}

/* A row as it stands there; damaged, if its checksum is wrong. */
static void row_read(sqlite3_stmt *s, struct store_file_row *ret) {
    const char *text;

    *ret = (struct store_file_row){
        .row = (uint64_t)sqlite3_column_int64(s, 0),
        .version = (uint64_t)sqlite3_column_int64(s, 1),
        .ns = or_empty(sqlite3_column_text(s, 2)),
        .name = or_empty(sqlite3_column_text(s, 3)),
        .uid = or_empty(sqlite3_column_text(s, 4)),
        .gone = sqlite3_column_int64(s, 7) != 0,
        .floor = (uint64_t)sqlite3_column_int64(s, 8),
    };
    text = sqlite3_column_blob(s, 6);
    ret->text = text ? text : "";
    ret->len = (size_t)sqlite3_column_bytes(s, 6);
    ret->damaged = (uint64_t)sqlite3_column_int64(s, 5) != store_file_checksum(ret);
}

int store_file_read(struct store_file *f, uint32_t resource, store_file_row_fn fn, void *ctx,
                    struct sl_err *err) {
    struct store_file_row row;
    sqlite3_stmt *s = NULL;
    int step, r = SL_OK;

    if (sqlite3_prepare_v2(f->db,
                           "SELECT row, version, ns, name, uid, sum, text, gone, floor FROM objects"
                           " WHERE row >= ? AND row < ? ORDER BY row",
                           -1, &s, NULL) != SQLITE_OK)
        return failed(f, "reading", err);
    (void)sqlite3_bind_int64(s, 1, (int64_t)store_row_first(resource));
    (void)sqlite3_bind_int64(s, 2, (int64_t)store_row_first(resource + 1));
    while (r >= 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
        row_read(s, &row);
        if ((r = fn(ctx, &row, err)) < 0)
            r = damaged(f, err ? err->text : "an object makes no sense", err);
    }
    if (r >= 0 && step != SQLITE_DONE)
        r = failed(f, "reading", err);
    (void)sqlite3_finalize(s);
    return r;
}

static int move_away(struct store_file *f, uint64_t row, struct sl_err *err) {
    static const char *const texts[] = {
        "INSERT INTO " TABLE_DAMAGED " SELECT row, version, ns, name, uid, sum, text, gone, floor,"
        " datetime('now') FROM objects WHERE row = ?",
        "DELETE FROM objects WHERE row = ?",
    };
    int r = SL_OK;

    for (uint32_t i = 0; r >= 0 && i < SL_LEN(texts); i++) {
        sqlite3_stmt *s = NULL;
        if (sqlite3_prepare_v2(f->db, texts[i], -1, &s, NULL) == SQLITE_OK)
            (void)sqlite3_bind_int64(s, 1, (int64_t)row);
        if (!s || sqlite3_step(s) != SQLITE_DONE)
            r = failed(f, "writing", err);
        (void)sqlite3_finalize(s);
    }
    return r;
}

int store_file_set_aside(struct store_file *f, const uint64_t *rows, uint32_t n, uint64_t past,
                         struct sl_err *err) {
    char mark[96];
    int r = run_sql(f, "BEGIN IMMEDIATE", err);

    if (r >= 0)
        r = run_sql(f, table_damaged, err);
    for (uint32_t i = 0; r >= 0 && i < n; i++)
        r = move_away(f, rows[i], err);
    sl_fmt(mark, sizeof mark, "REPLACE INTO marks(what, value) VALUES('past', %" PRIu64 ")", past);
    if (r >= 0)
        r = run_sql(f, mark, err);
    if (r >= 0)
        r = run_sql(f, "COMMIT", err);
    if (r < 0 && !sqlite3_get_autocommit(f->db))
        (void)run_sql(f, "ROLLBACK", NULL);
    return r;
}

/* ---- writing ---- */

static int run_statement(struct store_file *f, int which, struct sl_err *err) {
    sqlite3_stmt *s = f->stmt[which];

    int r = sqlite3_step(s) == SQLITE_DONE ? SL_OK : failed(f, "writing", err);
    (void)sqlite3_reset(s);
    return r;
}

static int put_row(struct store_file *f, const struct store_change *c, struct sl_err *err) {
    sqlite3_stmt *s = f->stmt[PUT];
    const struct sl_store_object *o = c->ev.now;
    const struct store_file_row row = {
        .row = ((const struct store_object *)o)->row,
        .version = o->version,
        .floor = c->floor,
        .gone = c->ev.what == SL_DELETED,
        .ns = o->ns,
        .name = o->name,
        .uid = o->uid,
        .text = o->text,
        .len = o->len,
    };

    (void)sqlite3_bind_int64(s, 1, (int64_t)row.row);
    (void)sqlite3_bind_int64(s, 2, (int64_t)row.version);
    (void)sqlite3_bind_text(s, 3, row.ns, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(s, 4, row.name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(s, 5, row.uid, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(s, 6, (int64_t)store_file_checksum(&row));
    (void)sqlite3_bind_blob(s, 7, row.text, (int)row.len, SQLITE_STATIC);
    (void)sqlite3_bind_int64(s, 8, row.gone);
    (void)sqlite3_bind_int64(s, 9, (int64_t)row.floor);
    return run_statement(f, PUT, err);
}

static int write_all(struct store_file *f, const struct store_batch *b, struct sl_err *err) {
    int r = SL_OK;

    for (uint32_t i = 0; r >= 0 && i < b->drops.n; i++) {
        uint32_t number = b->drops.v[i];
        (void)sqlite3_bind_int64(f->stmt[EMPTY], 1, (int64_t)store_row_first(number));
        (void)sqlite3_bind_int64(f->stmt[EMPTY], 2, (int64_t)store_row_first(number + 1));
        (void)sqlite3_bind_int64(f->stmt[UNNAME], 1, number);
        r = run_statement(f, EMPTY, err);
        if (r >= 0)
            r = run_statement(f, UNNAME, err);
    }
    if (r >= 0 && b->drops.n) {
        (void)sqlite3_bind_int64(f->stmt[DROPPED], 1, (int64_t)b->dropped);
        r = run_statement(f, DROPPED, err);
    }
    for (uint32_t i = 0; r >= 0 && i < b->resources.n; i++) {
        (void)sqlite3_bind_int64(f->stmt[NAME], 1, b->resources.v[i]->in_file);
        (void)sqlite3_bind_text(f->stmt[NAME], 2, b->resources.v[i]->name, -1, SQLITE_STATIC);
        r = run_statement(f, NAME, err);
    }
    for (uint32_t i = 0; r >= 0 && i < b->changes.n; i++)
        r = b->changes.v[i].touched ? SL_OK : put_row(f, &b->changes.v[i], err);
    for (uint32_t i = 0; r >= 0 && i < b->out.n; i++) {
        (void)sqlite3_bind_int64(f->stmt[DEL], 1, (int64_t)b->out.v[i].row);
        r = run_statement(f, DEL, err);
    }
    if (r >= 0 && b->reserve) {
        (void)sqlite3_bind_int64(f->stmt[MARK], 1, (int64_t)b->reserve);
        r = run_statement(f, MARK, err);
    }
    return r;
}

int store_file_commit(struct store_file *f, const struct store_batch *b, bool *ret_unknown,
                      struct sl_err *err) {
    int r = run_statement(f, BEGIN, err);

    *ret_unknown = false;
    if (b->reserve)
        f->reserve = b->reserve;
    if (r < 0)
        return r;
    r = write_all(f, b, err);
    if (r >= 0) {
        r = run_statement(f, COMMIT, err);
        *ret_unknown = r < 0 && sqlite3_extended_errcode(f->db) == SQLITE_IOERR_FSYNC;
    }
    if (r < 0 && !sqlite3_get_autocommit(f->db))
        (void)run_statement(f, ROLLBACK, NULL);
    return r;
}

int store_file_overwrite(struct store_file *f, struct sl_err *err) {
    const struct store_batch mark = {.reserve = f->reserve};
    bool unknown;

    return store_file_commit(f, &mark, &unknown, err);
}

/* The names of the file and of its log are durable too. SQLite syncs the folder when it begins a
 * log, but ignores a failure. */
static int sync_folder(const struct store_file *f, struct sl_err *err) {
    char path[MAX_PATH];
    int r = SL_OK;

    sl_fmt(path, sizeof path, "%s", f->path);
    char *slash = strrchr(path, '/');
    if (slash)
        slash[slash == path] = '\0';
    int fd = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        r = sl_err_set(err, SL_EIO, "fsync of the directory of %s: %s", f->path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return r;
}

int store_file_begin(struct store_file *f, uint64_t reserve, struct sl_err *err) {
    const struct store_batch first = {.reserve = reserve};
    bool unknown;
    int r = store_file_commit(f, &first, &unknown, err);

    return r < 0 ? r : sync_folder(f, err);
}

void store_file_close(struct store_file *f, uint64_t version) {
    const struct store_batch last = {.reserve = version};
    bool unknown;
    int r = store_file_commit(f, &last, &unknown, NULL);

    (void)r; /* if it failed, versions go on from higher up, and that is all */
    close_file(f);
}
