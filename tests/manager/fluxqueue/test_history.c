/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ledger gets to know, and that a process which starts anew reports the same from the API:
 * so nothing is lost by a crash between the API and the ledger's file.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fqtest.h"
#include "lib/log/log.h"

static char folder[64];

static void ledger_open(struct world *w, const char *name) {
    char path[128];
    struct sl_err err = {0};
    sl_fmt(path, sizeof path, "%s/%s", folder, name);
    if (sl_ledger_open(&(struct sl_ledger_spec){.url = path}, &w->ledger, &err) < 0)
        fail_msg("%s", err.text);
}

static void ledger_close(struct world *w) {
    sl_ledger_close(w->ledger);
    w->ledger = NULL;
}

/* The life of each job in one line, by name. To the second: that is what the API has. */
static void ledger_read(const char *name, char *out, size_t size) {
    static const char sql[] =
        "SELECT name, kind, number, time_ns / 1000000000, jobid, "
        "CASE kind WHEN 'start' THEN nodes END, CASE WHEN kind IN ('end', "
        "'cancel') THEN reason END FROM events WHERE kind NOT IN ('reserve', 'unreserve') "
        "ORDER BY uid, CASE kind WHEN 'submit' THEN 0 WHEN 'start' THEN 1 "
        "WHEN 'pod_bind' THEN 2 ELSE 3 END, number";
    char path[128];
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    size_t len = 0;
    sl_fmt(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    out[0] = '\0';
    while (sqlite3_step(s) == SQLITE_ROW)
        for (int i = 0; i < 7 && len < size; i++) {
            const char *v = (const char *)sqlite3_column_text(s, i);
            len += (size_t)snprintf(out + len, size - len, "%s%s", i ? "|" : "\n", v ? v : "-");
        }
    assert_true(len < size);
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
}

static int count(const char *text, const char *part) {
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)); p++)
        n++;
    return n;
}

static void restart(struct world *w, const char *name) {
    stop(w, 0);
    ledger_close(w);
    ledger_open(w, name);
    start(w, 0, false);
    run(w, 5 * SL_SEC);
    ledger_close(w); /* writes all */
    stop(w, 0);
}

/* One ends, one runs, one waits, one is deleted while it waits. */
static void test_again(void **state) {
    static char was[1 << 14], is[1 << 14];
    struct world *w = *state;
    stop(w, 0);
    ledger_open(w, "first");
    start(w, 0, false);
    node(w, "n0", "4");
    pod(w, "ends", "2", "'fluxqueue/duration':'60s'", "");
    pod(w, "runs", "2", "", "");
    run(w, SL_SEC);
    pod(w, "waits", "3", "", "");
    pod(w, "goes", "4", "", "");
    run(w, SL_SEC);
    phase(w, "ends", "Succeeded");
    run(w, SL_SEC);
    drop(w, PODS "/goes");
    run(w, 10 * SL_SEC);
    assert_null(fakeapi_get(w->api, FLUXJOBS "/goes-pod"));
    restart(w, "second");
    ledger_read("first", was, sizeof was);
    ledger_read("second", is, sizeof is);
    /* What is gone was recorded before it went. */
    assert_int_equal(count(was, "goes|submit|"), 1);
    assert_int_equal(count(was, "goes|cancel|"), 1);
    assert_int_equal(count(is, "goes|"), 0);
    assert_int_equal(count(was, "|pod_bind|"), 2);
    char *at = NULL;
    for (char *line = strtok_r(was, "\n", &at); line; line = strtok_r(NULL, "\n", &at))
        if (strncmp(line, "goes|", 5) != 0 && !strstr(is, line) && !strstr(line, "|pod_bind|"))
            fail_msg("not reported again: %s in%s", line, is);
    assert_int_equal(count(is, "|pod_bind|"), 2);
    assert_int_equal(count(is, "ends|end|"), 1);
}

/* The status that is the last one is in the API before a FluxJob goes: a process that is killed
 * then reports it once, and the next one the same. */
static int refuse_finalizers(void *ctx, const struct fakeapi_write *fw, struct sl_buf *why) {
    (void)ctx;
    bool is = strcmp(fw->kind->plural, "fluxjobs") == 0 && !fw->status && fw->old &&
              fw->client != FAKEAPI_NOBODY;
    if (is)
        sl_buf_puts(why, "not yet");
    return is ? 500 : 0;
}

static void test_deleted(void **state) {
    static char was[1 << 14], is[1 << 14];
    struct world *w = *state;
    stop(w, 0);
    ledger_open(w, "third");
    start(w, 0, false);
    node(w, "n0", "4");
    pod(w, "large", "9", "", "");
    pod(w, "full", "4", "", "");
    pod(w, "waits", "4", "", "");
    run(w, SL_SEC);
    fakeapi_on_write(w->api, refuse_finalizers, NULL);
    drop(w, PODS "/waits");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/waits-pod", "status.state", "Cancelled");
    restart(w, "fourth");
    ledger_read("third", was, sizeof was);
    ledger_read("fourth", is, sizeof is);
    assert_int_equal(count(was, "waits|cancel|"), 1);
    char line[200];
    sl_fmt(line, sizeof line, "%.*s", (int)strcspn(strstr(was, "waits|cancel|"), "\n"),
           strstr(was, "waits|cancel|"));
    assert_non_null(strstr(is, line)); /* the same number and time: recorded once */
    assert_int_equal(count(is, "large|reject|"), 1);
}

/* A job keeps its name while it runs: that of its object, not that of the pod that was bound last.
 */
static void test_names(void **state) {
    static char is[1 << 14];
    struct world *w = *state;
    stop(w, 0);
    ledger_open(w, "fifth");
    start(w, 0, false);
    node(w, "n0", "4");
    set(w, "lammps", 2, "1");
    run(w, SL_SEC);
    child(w, "StatefulSet", "lammps", 0);
    child(w, "StatefulSet", "lammps", 1);
    run(w, 5 * SL_SEC);
    ledger_close(w);
    stop(w, 0);
    ledger_read("fifth", is, sizeof is);
    assert_int_equal(count(is, "lammps|pod_bind|"), 2);
    assert_int_equal(count(is, "lammps-0|"), 0);
}

/* What the ledger says of the jobs now. */
static void assert_jobs(struct world *w, const char *name, const char *sql, int64_t wanted) {
    struct sl_err err = {0};
    char path[128];
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    if (w->ledger)
        assert_int_equal(sl_ledger_flush(w->ledger, 60 * SL_SEC, &err), 0);
    sl_fmt(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    int64_t is = sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
    if (is != wanted)
        fail_msg("%s: %lld instead of %lld", sql, (long long)is, (long long)wanted);
}

/* What ran, or was rejected, and waits again is pending, as often as that happens; and what was
 * never submitted is rejected, too. */
static void test_back(void **state) {
    static const char
        rejected[] = "SELECT count(*) FROM jobs WHERE state = 'rejected' AND ended IS NOT NULL",
        waits[] = "SELECT count(*) FROM pending_queue p JOIN jobs j ON p.uid = j.uid WHERE p.name ="
                  " 'large' AND j.ended IS NULL",
        empty[] = "SELECT count(*) FROM pending_queue p JOIN jobs j ON p.uid = j.uid WHERE p.name ="
                  " 'lammps' AND starts = 1 AND p.reason = 'ScaledToZero'",
        events[] = "SELECT count(*) FROM events WHERE kind IN ('queue', 'reject')";
    struct world *w = *state;
    stop(w, 0);
    ledger_open(w, "sixth");
    start(w, 0, false);
    node(w, "n0", "2");
    create(w, PODS,
           "{'metadata':{'name':'other'},'spec':{'nodeName':'n1','containers':[{'name':'main',"
           "'resources':{'requests':{'cpu':'1'}}}]}}");
    set(w, "lammps", 1, "1");
    pod(w, "large", "4", "", "");
    create(w, FLUXJOBS, "{'metadata':{'name':'wrong'},'spec':{'type':9,'name':'x'}}");
    run(w, 2 * SL_SEC);
    assert_field(w, FLUXJOBS "/wrong", "status.state", "Rejected");
    for (int i = 0; i < 2; i++) {
        assert_jobs(w, "sixth", rejected, 2);
        node(w, "n1", "4");
        run(w, 2 * SL_SEC);
        assert_field(w, FLUXJOBS "/large-pod", "status.state", "Waiting");
        assert_jobs(w, "sixth", waits, 1);
        drop(w, NODES "/n1");
        run(w, 2 * SL_SEC);
        assert_field(w, FLUXJOBS "/large-pod", "status.state", "Rejected");
    }
    assert_jobs(w, "sixth", rejected, 2);
    patch(w, SETS "/lammps", SL_JSON_CONST({"spec" : {"replicas" : 0}}));
    run(w, 2 * SL_SEC);
    assert_jobs(w, "sixth", empty, 1);
    /* The next process reports the same, which is recorded once. */
    assert_jobs(w, "sixth", events, 7);
    restart(w, "sixth");
    assert_jobs(w, "sixth", events, 7);
}

static int begin(void **state) {
    (void)state;
    sl_fmt(folder, sizeof folder, "%s", "/tmp/sl-history-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state) {
    static const char *const names[] = {"first", "second", "third", "fourth", "fifth", "sixth"};
    static const char *const endings[] = {"", "-wal", "-shm"};
    (void)state;
    for (size_t i = 0; i < SL_LEN(names); i++)
        for (size_t k = 0; k < SL_LEN(endings); k++) {
            char path[128];
            sl_fmt(path, sizeof path, "%s/%s%s", folder, names[i], endings[k]);
            (void)unlink(path);
        }
    return rmdir(folder);
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_again),
        TEST(test_deleted),
        TEST(test_names),
        TEST(test_back),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
