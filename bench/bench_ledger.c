/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ledger costs, one JSON line per case: events per second until they are in the file, the
 * time of one append, bytes for each job, time of the views, memory.
 *
 *     {"bench":"ledger/sqlite-events","value":123456.7,"unit":"events/s"}
 *
 * With the URL of an empty PostgreSQL database as argument, the same until they are in the server.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/ledger/ledger.h"

#define JOBS 100000u
#define PENDING 1000u /* of these, the last */

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void nap(void) {
    struct timespec t = {0, 200000};
    (void)nanosleep(&t, NULL);
}

static void line(const char *where, const char *name, double value, const char *unit) {
    printf("{\"bench\":\"ledger/%s-%s\",\"value\":%.2f,\"unit\":\"%s\"}\n", where, name, value,
           unit);
}

static double rss_mib(void) {
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (!f || fscanf(f, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (f)
        (void)fclose(f);
    return (double)(resident * sysconf(_SC_PAGESIZE)) / (1 << 20);
}

struct run {
    struct sl_ledger *l;
    double in_append;
    uint64_t events;
};

static void append(struct run *r, const struct sl_ledger_event *e) {
    for (;;) {
        double t0 = seconds();
        bool fits = sl_ledger_append(r->l, e);
        r->in_append += fits ? seconds() - t0 : 0;
        if (fits)
            break;
        nap(); /* only here: the queue is the bench's limit */
    }
    r->events++;
}

static void one_job(struct run *r, uint32_t job) {
    static const enum sl_ledger_kind kinds[] = {SL_LEDGER_SUBMIT, SL_LEDGER_QUEUE,
                                                SL_LEDGER_RESERVE, SL_LEDGER_START, SL_LEDGER_END};
    char uid[40], name[32];

    (void)snprintf(uid, sizeof uid, "%08x-6c54-4b01-90e6-%012x", job * 2654435761u, job);
    (void)snprintf(name, sizeof name, "lammps-%u", job);
    struct sl_ledger_event e = {
        .uid = sl_text_of(uid),
        .at = (INT64_C(1700000000) + job) * SL_SEC,
        .ns = SL_TEXT("team-a"),
        .name = sl_text_of(name),
        .type = SL_TEXT("Job"),
        .flux_job = sl_text_of(name),
        .queue = SL_TEXT("batch"),
        .user = SL_TEXT("ada"),
        .given = SL_LEDGER_JOBID | SL_LEDGER_PRIORITY | SL_LEDGER_SIZE | SL_LEDGER_DURATION,
        .jobid = job,
        .size = 4,
        .duration = 3600 * SL_SEC,
    };
    for (size_t i = 0; i < SL_LEN(kinds) && (i < 2 || job < JOBS - PENDING); i++) {
        e.kind = kinds[i];
        e.at += 10 * SL_SEC;
        e.resources =
            i == 0 ? SL_TEXT("{'nodes':4,'tasks':64,'cores':16,'memory':'64Gi'}") : SL_TEXT("");
        e.nodes = e.kind == SL_LEDGER_START ? SL_TEXT("node-[0017-0020]") : SL_TEXT("");
        e.reason = e.kind == SL_LEDGER_END     ? SL_TEXT("Complete")
                   : e.kind == SL_LEDGER_QUEUE ? SL_TEXT("Insufficient")
                                               : SL_TEXT("");
        append(r, &e);
    }
}

static void query(const char *path, const char *name, const char *sql) {
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    double t0;

    sl_assert(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK);
    t0 = seconds();
    sl_assert(sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW) {
    }
    line("sqlite", name, (seconds() - t0) * 1e3, "ms");
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
}

static void measure(const char *where, const struct sl_ledger_spec *spec) {
    struct run r = {0};
    struct sl_ledger_stats stats;
    struct sl_err err = {0};
    double before = rss_mib();

    if (sl_ledger_open(spec, &r.l, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    line(where, "memory-at-rest", rss_mib() - before, "MiB");
    double t0 = seconds();
    for (uint32_t i = 0; i < JOBS; i++)
        one_job(&r, i);
    sl_assert(sl_ledger_flush(r.l, 600 * SL_SEC, &err) >= 0);
    line(where, spec->spool ? "spooled" : "events", (double)r.events / (seconds() - t0),
         "events/s");
    do {
        nap();
        sl_ledger_stats(r.l, &stats);
    } while (stats.spooled);
    if (spec->spool)
        line(where, "events", (double)r.events / (seconds() - t0), "events/s");
    line(where, "append", r.in_append / (double)r.events * 1e6, "us");
    line(where, "memory-after", rss_mib() - before, "MiB");
    sl_ledger_close(r.l);
}

int main(int argc, char **argv) {
    const char *tmp = getenv("TMPDIR");
    char dir[200], path[256];
    struct stat st;

    (void)snprintf(dir, sizeof dir, "%s/sl-bench-XXXXXX", tmp && *tmp ? tmp : ".");
    if (!mkdtemp(dir)) {
        perror(dir);
        return 1;
    }
    (void)snprintf(path, sizeof path, "%s/ledger.db", dir);
    if (argc > 1) {
        measure("postgres", &(struct sl_ledger_spec){.url = argv[1], .spool = path});
    } else {
        measure("sqlite", &(struct sl_ledger_spec){.url = path});
        sl_assert(stat(path, &st) == 0);
        line("sqlite", "job", (double)st.st_size / JOBS, "bytes");
        query(path, "pending_queue", "SELECT * FROM pending_queue");
        query(path, "pods_provisional", "SELECT group_name, group_size FROM pods_provisional");
        query(path, "reservations", "SELECT * FROM reservations");
        query(path, "one-job",
              "SELECT * FROM jobs WHERE uid = '00000000-6c54-4b01-90e6-000000000000'");
        query(path, "all-jobs", "SELECT * FROM jobs");
    }
    (void)unlink(path);
    /* A reader that may not write leaves these behind. */
    (void)snprintf(path, sizeof path, "%s/ledger.db-wal", dir);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/ledger.db-shm", dir);
    (void)unlink(path);
    return rmdir(dir) == 0 ? 0 : 1;
}
