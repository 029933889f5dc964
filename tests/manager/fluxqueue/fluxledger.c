/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With --ledger: the replicas record what they do, in one SQLite file, and at rest the ledger has
 * every job as its FluxJob shows it: its state, its reservation, its last start, and how many pods
 * have places, or are to get them. What is over in the API is over there, and nothing else is.
 *
 * In a storm every other process records nothing, as if each of its events had been lost when it
 * died: the next one makes up for it, but for what was deleted meanwhile. Histories in which the
 * clocks of replicas differ are left out: then nobody knows which event was first.
 *
 * Planted, and the first history that found it: another size is not made up for, 18; reservations
 * are numbered by their second, 34.
 */
#include <sqlite3.h>
#include <unistd.h>

#include "core/base/fmt.h"
#include "fluxworld.h"

#define PATIENCE (60 * SL_SEC) /* of real time */
#define LOSES_ONE_IN 2u
#define MAX_EVENTS 600u /* bytes of the message, and of the last events in it */

static void path_of(const struct world *w, const char *ending, char path[96]) {
    sl_fmt(path, 96, "%s/db%s", w->ledger_folder, ending);
}

void ledger_begin(struct world *w) {
    struct sl_err err = {0};
    char path[96];
    if (!w->with_ledger)
        return;
    sl_fmt(w->ledger_folder, sizeof w->ledger_folder, "%s", "/tmp/sl-fluxledger-XXXXXX");
    if (!mkdtemp(w->ledger_folder))
        abort();
    path_of(w, "", path);
    if (sl_ledger_open(&(struct sl_ledger_spec){.url = path}, &w->ledger, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

struct sl_ledger *ledger_of_next(struct world *w) {
    bool loses = w->ledger && w->storms && (w->seed + w->processes++) % LOSES_ONE_IN == 0;
    w->ledger_lost |= loses;
    return loses ? NULL : w->ledger;
}

void ledger_flush(struct world *w) {
    struct sl_ledger_stats s = {0};
    struct sl_err err = {0};
    if (w->ledger)
        sl_ledger_stats(w->ledger, &s);
    if (s.written < s.appended && sl_ledger_flush(w->ledger, PATIENCE, &err) < 0)
        world_fail(w, "the ledger does not write: %s", err.text);
}

struct view {
    struct world *w;
    sqlite3 *db;
    uint32_t jobs;
};

static const char *state_of(yyjson_val *flux) {
    static const char *const states[][2] = {
        {"Running", "running"},     {"Completed", "ended"},   {"Failed", "ended"},
        {"Cancelled", "cancelled"}, {"Rejected", "rejected"},
    };
    const char *state = sl_json_str(flux, "status.state");
    for (size_t i = 0; i < SL_LEN(states); i++)
        if (strcmp(states[i][0], state) == 0)
            return states[i][1];
    return "pending";
}

/* Pods that have places, or are to get them; -1: it does not matter. */
static int64_t size_of(yyjson_val *flux, const char *state) {
    yyjson_val *x;
    int64_t sum = 0;
    size_t i, n;
    if (strcmp(state, "pending") == 0)
        return sl_json_int(flux, "status.pods.expected", 0);
    yyjson_arr_foreach (sl_json_at(flux, "status.nodes"), i, n, x)
        sum += sl_json_int(x, "pods", 1);
    return strcmp(state, "running") == 0 ? sum : -1;
}

static void check_job(void *ctx, yyjson_val *o) {
    static const char sql[] =
        "SELECT state || ' ' || CASE WHEN reservation = 1 THEN estimated_start_ns / 1000000000 "
        "ELSE 0 END || ' ' || CASE WHEN state IN ('pending', 'running') THEN size ELSE -1 END || "
        "' ' || coalesce((SELECT max(number) FROM events e WHERE e.uid = j.uid AND kind = 'start' "
        "AND NOT (?2 = 0 AND EXISTS (SELECT 1 FROM events q WHERE q.uid = e.uid AND "
        "q.kind = 'queue' AND q.id > e.id))), 0), (SELECT group_concat(kind || ':' || size, ' ') "
        "FROM (SELECT kind, coalesce(size, '') "
        "AS size FROM events e WHERE e.uid = j.uid ORDER BY id)) FROM job_state j WHERE uid = ?1";
    struct view *v = ctx;
    yyjson_val *status = sl_json_get(o, "status");
    const char *state = state_of(o), *is = "nothing", *events = "";
    int64_t reserved = sl_json_bool(status, "reservation", false)
                           ? sl_json_time(status, "estimatedStart") / SL_SEC
                           : 0;
    sqlite3_stmt *s = NULL;
    char wanted[120];
    if (!*sl_json_str(status, "submittedAt") || sl_json_at(o, "metadata.deletionTimestamp"))
        return;
    int64_t started = sl_json_time(status, "startedAt") / SL_SEC; /* 0 if it was given up */
    sl_fmt(wanted, sizeof wanted, "%s %lld %lld %lld", state, (long long)reserved,
           (long long)size_of(o, state), (long long)started);
    (void)sqlite3_prepare_v2(v->db, sql, -1, &s, NULL);
    (void)sqlite3_bind_text(s, 1, sl_json_str(o, "metadata.uid"), -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(s, 2, started);
    if (sqlite3_step(s) == SQLITE_ROW) {
        is = (const char *)sqlite3_column_text(s, 0);
        events = (const char *)sqlite3_column_text(s, 1);
    }
    size_t len = strlen(events);
    if (strcmp(is, wanted) != 0)
        world_fail(v->w, "the ledger has %s as %s instead of %s: %s",
                   sl_json_str(o, "metadata.name"), is, wanted,
                   len > MAX_EVENTS ? events + len - MAX_EVENTS : events);
    (void)sqlite3_finalize(s);
    v->jobs++;
}

/* Each row is wrong; the first of them is told. */
static void check_none(struct view *v, const char *what, const char *sql) {
    sqlite3_stmt *s = NULL;
    (void)sqlite3_prepare_v2(v->db, sql, -1, &s, NULL);
    while (sqlite3_step(s) == SQLITE_ROW) {
        char path[300];
        sl_fmt(path, sizeof path, FLUXJOBS "/%s", (const char *)sqlite3_column_text(s, 1));
        yyjson_val *o = fakeapi_get(v->w->api, path);
        const char *uid = (const char *)sqlite3_column_text(s, 0);
        if (sqlite3_column_int(s, 2) || !o || strcmp(sl_json_str(o, "metadata.uid"), uid) != 0)
            world_fail(v->w, "%s: %s %s", what, uid, (const char *)sqlite3_column_text(s, 1));
    }
    (void)sqlite3_finalize(s);
}

void ledger_check(struct world *w) {
    struct view v = {.w = w};
    struct fakeapi_stats stats;
    char path[96];
    fakeapi_stats(w->api, &stats);
    if (!w->ledger || w->failed || stats.struck[CLOCK_STEP])
        return;
    ledger_flush(w);
    path_of(w, "", path);
    if (sqlite3_open_v2(path, &v.db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        abort();
    (void)fakeapi_each(w->api, FLUXJOBS, check_job, &v);
    w->recorded += v.jobs;
    if (!w->ledger_lost)
        check_none(&v, "not over in the ledger, and gone",
                   "SELECT uid, flux_job_name, 0 FROM job_state WHERE ended_ns IS NULL");
    check_none(&v, "recorded twice",
               "SELECT uid, coalesce(flux_job_name, ''), 1 FROM (SELECT uid, flux_job_name, kind, "
               "estimated_start_ns AS at, lag(kind) OVER w AS before, lag(estimated_start_ns) OVER "
               "w AS was FROM events WHERE kind IN ('reserve', 'unreserve', 'start', 'reject', "
               "'queue') WINDOW w AS (PARTITION BY uid ORDER BY id)) WHERE kind = before AND (kind "
               "IN ('unreserve', 'reject') OR (kind = 'reserve' AND at = was))");
    (void)sqlite3_close(v.db);
}

void ledger_end(struct world *w) {
    static const char *const endings[] = {"", "-wal", "-shm"};
    char path[96];
    if (!w->ledger)
        return;
    sl_ledger_close(w->ledger);
    for (size_t i = 0; i < SL_LEN(endings); i++) {
        path_of(w, endings[i], path);
        (void)unlink(path);
    }
    (void)rmdir(w->ledger_folder);
}
