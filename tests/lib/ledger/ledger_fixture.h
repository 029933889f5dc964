/* SPDX-License-Identifier: Apache-2.0 */
/* Ledgers in a folder of their own, events, and what is in the files. */
#ifndef SL_TESTS_LIB_LEDGER_LEDGER_FIXTURE_H
#define SL_TESTS_LIB_LEDGER_LEDGER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* and only then */
#include <cmocka.h>

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "core/base/prng.h"
#include "lib/ledger/ceilings.h"
#include "lib/ledger/ledger.h"
#include "lib/ledger/schema.h"

#define FX_PATIENCE (60 * SL_SEC)
#define FX_EPOCH (INT64_C(1700000000) * SL_SEC)

struct fx {
    char dir[64], file[128], spool[128];
    struct sl_ledger *l;
};

static inline void fx_nap(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    (void)nanosleep(&t, NULL);
}

static inline sl_time fx_now(void) {
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (sl_time)t.tv_sec * SL_SEC + t.tv_nsec;
}

static inline void fx_init(struct fx *f) {
    *f = (struct fx){0};
    sl_fmt(f->dir, sizeof f->dir, "%s", "/tmp/sl-ledger-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    sl_fmt(f->file, sizeof f->file, "%s/ledger.db", f->dir);
    sl_fmt(f->spool, sizeof f->spool, "%s/spool.db", f->dir);
}

static inline void fx_open(struct fx *f) {
    struct sl_err err = {0};

    if (sl_ledger_open(&(struct sl_ledger_spec){.url = f->file}, &f->l, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void fx_close(struct fx *f) {
    sl_ledger_close(f->l);
    f->l = NULL;
}

static inline void fx_done(struct fx *f) {
    struct dirent *e;

    fx_close(f);
    DIR *d = opendir(f->dir);
    while (d && (e = readdir(d))) {
        char path[400];
        sl_fmt(path, sizeof path, "%s/%s", f->dir, e->d_name);
        (void)unlink(path);
    }
    if (d)
        (void)closedir(d);
    assert_int_equal(rmdir(f->dir), 0);
}

static inline void fx_flush(struct fx *f) {
    struct sl_err err = {0};

    if (sl_ledger_flush(f->l, FX_PATIENCE, &err) < 0)
        fail_msg("%s", err.text);
}

static inline struct sl_ledger_stats fx_stats(struct fx *f) {
    struct sl_ledger_stats s;

    sl_ledger_stats(f->l, &s);
    return s;
}

/* An event of a job, seconds after FX_EPOCH, with a reason. */
static inline bool fx_event(struct fx *f, const char *uid, enum sl_ledger_kind kind, int64_t number,
                            int64_t second, const char *reason) {
    return sl_ledger_append(f->l, &(struct sl_ledger_event){.uid = sl_text_of(uid),
                                                            .kind = kind,
                                                            .number = number,
                                                            .at = FX_EPOCH + second * SL_SEC,
                                                            .name = sl_text_of(uid),
                                                            .reason = sl_text_of(reason)});
}

/* The usual life of a job: five events. Waits where the queue is full. */
#define FX_LIFE 5
static inline void fx_life(struct fx *f, uint64_t job) {
    char uid[40], name[32], nodes[32];

    sl_fmt(uid, sizeof uid, "%08x-0000-4000-8000-%012llx", (unsigned)(job * 2654435761u),
           (unsigned long long)job);
    sl_fmt(name, sizeof name, "job-%llu", (unsigned long long)job);
    sl_fmt(nodes, sizeof nodes, "node-[%d-%d]", (int)(job % 100), (int)(job % 100) + 3);
    struct sl_ledger_event e = {
        .uid = sl_text_of(uid),
        .ns = SL_TEXT("team-a"),
        .name = sl_text_of(name),
        .type = SL_TEXT("Job"),
        .flux_job = sl_text_of(name),
        .queue = SL_TEXT("batch"),
        .user = SL_TEXT("ada"),
        .given = SL_LEDGER_JOBID | SL_LEDGER_PRIORITY | SL_LEDGER_SIZE | SL_LEDGER_DURATION,
        .jobid = (int64_t)job,
        .priority = 100,
        .size = 4,
        .duration = 3600 * SL_SEC,
        .resources = SL_TEXT("[{'type':'slot','count':4}]"),
        .at = FX_EPOCH + (int64_t)job * SL_SEC,
    };
    for (int i = 0; i < FX_LIFE; i++) {
        static const enum sl_ledger_kind kinds[FX_LIFE] = {
            SL_LEDGER_SUBMIT, SL_LEDGER_QUEUE, SL_LEDGER_RESERVE, SL_LEDGER_START, SL_LEDGER_END};
        e.kind = kinds[i];
        e.at += 10 * SL_SEC;
        e.resources = i ? SL_TEXT("") : SL_TEXT("[{'type':'slot','count':4}]");
        e.nodes = e.kind == SL_LEDGER_START ? sl_text_of(nodes) : SL_TEXT("");
        e.reason = e.kind == SL_LEDGER_END     ? SL_TEXT("Complete")
                   : e.kind == SL_LEDGER_QUEUE ? SL_TEXT("Busy")
                                               : SL_TEXT("");
        while (!sl_ledger_append(f->l, &e))
            fx_nap(1);
    }
}

/* ---- what is in a file ---- */

static inline sqlite3 *fx_sqlite(const char *path) {
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    (void)sqlite3_busy_timeout(db, 10000);
    return db;
}

static inline void fx_exec(const char *path, const char *sql) {
    sqlite3 *db = fx_sqlite(path);

    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    (void)sqlite3_close(db);
}

/* All rows, columns with '|' between and rows with newlines; NULL as "-". Valid until the next. */
static inline const char *fx_query(const char *path, const char *sql) {
    static char out[1 << 16];
    sqlite3 *db = fx_sqlite(path);
    sqlite3_stmt *s = NULL;
    size_t len = 0;
    int step;

    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    out[0] = '\0';
    while ((step = sqlite3_step(s)) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(s) && len < sizeof out; i++) {
            const char *v = (const char *)sqlite3_column_text(s, i);
            len += (size_t)snprintf(out + len, sizeof out - len, "%s%s",
                                    i     ? "|"
                                    : len ? "\n"
                                          : "",
                                    v ? v : "-");
        }
    assert_int_equal(step, SQLITE_DONE);
    assert_true(len < sizeof out);
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
    return out;
}

static inline int64_t fx_number(const char *path, const char *sql) {
    return strtoll(fx_query(path, sql), NULL, 10);
}

/* A ledger of version 1, with a job that waits and one that ran, as SQL. To be freed. */
static inline char *fx_version_1(enum ledger_dialect d) {
    static const char rows[] =
        "UPDATE sluice_schema SET version = 1;"
        "INSERT INTO events(time_ns, uid, kind, number, name, size) VALUES"
        " (0, 'old', 'submit', 1, 'old', 3), (0, 'ran', 'submit', 1, 'ran', 2),"
        " (10000000000, 'ran', 'start', 10, 'ran', 2), (20000000000, 'ran', 'end', 20, 'ran', 2);"
        "INSERT INTO job_state(uid, last_ns, name, size, state, state_ns, submitted_ns,"
        " first_started_ns, started_ns, ended_ns, reservation, starts, run_ns) VALUES"
        " ('old', 0, 'old', 3, 'pending', 0, 0, NULL, NULL, NULL, 0, 0, 0),"
        " ('ran', 20000000000, 'ran', 2, 'ended', 20000000000, 0, 10000000000, 10000000000,"
        " 20000000000, 0, 1, 10000000000);";
    char *schema = ledger_sql(d, ledger_sql_file("ledger-1.sql")), *text = sl_alloc(1 << 15);

    sl_fmt(text, 1 << 15, "%s; %s; %s", LEDGER_SQL_VERSION, schema, rows);
    sl_freep(&schema);
    return text;
}

#define FX_VERSION_2                                                                               \
    "SELECT (SELECT version FROM sluice_schema), (SELECT count(*) FROM runs), (SELECT "            \
    "CAST(sum(pod_seconds) AS BIGINT) FROM jobs), (SELECT sum(group_size) FROM pods_provisional)"

#define FX_TWICE                                                                                   \
    "SELECT count(*) FROM (SELECT uid FROM events GROUP BY uid, kind, number HAVING count(*) > "   \
    "1) t"

/* Jobs whose row does not follow from their events. */
#define FX_WRONG                                                                                   \
    "SELECT count(*) FROM job_state j WHERE last_ns <> (SELECT max(time_ns) FROM events e WHERE "  \
    "e.uid = j.uid) OR starts <> (SELECT count(*) FROM events e WHERE e.uid = j.uid AND kind = "   \
    "'start') OR (state = 'ended') <> EXISTS (SELECT 1 FROM events e WHERE e.uid = j.uid AND "     \
    "kind = 'end')"

/* Memory that the process has, in KiB. */
static inline long fx_rss(void) {
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &pages, &resident), 2);
    (void)fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

#endif
