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

static void again(struct world *w, const char *name) {
    stop(w, 0);
    ledger_close(w);
    ledger_open(w, name);
    start(w, 0, false);
    run(w, 5 * SL_SEC);
    ledger_close(w); /* writes all */
    stop(w, 0);
}

/* How many rows a condition is true of. */
static int rows(const char *name, const char *where) {
    char path[128], sql[300];
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    sl_fmt(path, sizeof path, "%s/%s", folder, name);
    sl_fmt(sql, sizeof sql, "SELECT count(*) FROM events WHERE %s", where);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    int n = sqlite3_column_int(s, 0);
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
    return n;
}

/* The submission of one that starts at once, or of which the ledger hears after its end, has
 * neither its nodes nor why it started or ended. */
static void test_submission(void **state) {
    struct world *w = *state;
    stop(w, 0);
    ledger_open(w, "submit");
    start(w, 0, false);
    node(w, "n0", "2");
    pod(w, "a", "2", "", "");
    run(w, SL_SEC);
    pod(w, "b", "2", "", "");
    pod(w, "c", "9", "", "");
    run(w, SL_SEC);
    phase(w, "a", "Succeeded");
    run(w, SL_SEC);
    again(w, "after");
    for (int i = 0; i < 2; i++) {
        const char *file = i ? "after" : "submit";
        assert_int_equal(rows(file, "kind = 'submit'"), 3);
        assert_int_equal(rows(file, "kind = 'submit' AND nodes IS NOT NULL"), 0);
        assert_int_equal(rows(file, "kind = 'submit' AND reason IN "
                                    "('Allocated', 'Completed', 'Unsatisfiable')"),
                         0);
        assert_int_equal(rows(file, "kind = 'start' AND nodes = 'n0'"), 2);
    }
    assert_int_equal(rows("submit", "kind = 'submit' AND reason = 'Submitted'"), 1);
    assert_int_equal(rows("submit", "kind = 'reject' AND reason = 'Unsatisfiable'"), 1);
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
    again(w, "second");
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
    again(w, "fourth");
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

/* What the ledger says of the jobs now: a number, or a text; NULL as "-". */
static const char *ask(struct world *w, const char *name, const char *sql) {
    static char answer[4096];
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
    const char *text = (const char *)sqlite3_column_text(s, 0);
    sl_fmt(answer, sizeof answer, "%s", text ? text : "-");
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
    return answer;
}

static void assert_answer(struct world *w, const char *name, const char *sql, const char *wanted) {
    const char *is = ask(w, name, sql);
    if (strcmp(is, wanted) != 0)
        fail_msg("%s: %s instead of %s", sql, is, wanted);
}

static void assert_jobs(struct world *w, const char *name, const char *sql, int64_t wanted) {
    char text[32];
    sl_fmt(text, sizeof text, "%lld", (long long)wanted);
    assert_answer(w, name, sql, text);
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
    again(w, "sixth");
    assert_jobs(w, "sixth", events, 7);
}

static void reopen(struct world *w, const char *name) {
    stop(w, 0);
    if (w->ledger)
        ledger_close(w);
    if (name)
        ledger_open(w, name);
    start(w, 0, false);
}

#define LARGE_EVENTS                                                                               \
    "SELECT group_concat(kind, ' ') FROM (SELECT kind FROM events WHERE name = 'large' ORDER BY "  \
    "id)"
#define RESERVED                                                                                   \
    "SELECT count(*) || ' ' || (SELECT group_concat(reservation) FROM pending_queue WHERE name = " \
    "'large') FROM reservations WHERE name = 'large'"

/* The same time may be promised again, after another one or none. */
static void test_reserved_again(void **state) {
    struct world *w = *state;
    reopen(w, "seventh");
    node(w, "n0", "4");
    pod(w, "long", "3", "'fluxqueue/duration':'1000'", "");
    run(w, SL_SEC);
    pod(w, "large", "4", "'fluxqueue/duration':'1000'", "");
    run(w, SL_SEC);
    char promised[64];
    sl_fmt(promised, sizeof promised, "%s", at(w, FLUXJOBS "/large-pod", "status.estimatedStart"));
    assert_answer(w, "seventh", RESERVED, "1 1");
    for (int i = 0; i < 2; i++) {
        pod(w, "urgent", "4", "'fluxqueue/duration':'1000'", "'priority':10");
        run(w, 90 * SL_SEC);
        assert_field(w, FLUXJOBS "/large-pod", "status.state", "Waiting");
        assert_answer(w, "seventh", RESERVED, "0 0");
        drop(w, PODS "/urgent");
        run(w, 90 * SL_SEC);
        assert_field(w, FLUXJOBS "/large-pod", "status.estimatedStart", promised);
        assert_answer(w, "seventh", RESERVED, "1 1");
    }
    assert_answer(w, "seventh", LARGE_EVENTS, "submit reserve unreserve reserve unreserve reserve");
    again(w, "seventh");
    assert_answer(w, "seventh", LARGE_EVENTS, "submit reserve unreserve reserve unreserve reserve");
}

/* The clock may be set back: what comes after is later all the same. */
static void test_clock(void **state) {
    struct world *w = *state;
    reopen(w, "twelfth");
    node(w, "n0", "4");
    set(w, "lammps", 1, "1");
    run(w, 5 * SL_SEC);
    assert_answer(w, "twelfth", "SELECT state FROM jobs", "running");
    fakeapi_step_clock(w->api, 0, -SL_HOUR);
    patch(w, SETS "/lammps", SL_JSON_CONST({"spec" : {"replicas" : 0}}));
    run(w, 5 * SL_SEC);
    assert_answer(w, "twelfth", "SELECT state FROM jobs", "pending");
    patch(w, SETS "/lammps", SL_JSON_CONST({"spec" : {"replicas" : 1}}));
    run(w, 5 * SL_SEC);
    assert_answer(w, "twelfth", "SELECT state || ' ' || starts FROM jobs", "running 2");
    drop(w, SETS "/lammps");
    run(w, 5 * SL_SEC);
    assert_answer(w, "twelfth", "SELECT state FROM jobs", "cancelled");
}

/* A job may start several times in a second. */
static void test_started_again(void **state) {
    struct world *w = *state;
    reopen(w, "eighth");
    node(w, "n0", "4");
    set(w, "lammps", 1, "1");
    run(w, 5 * SL_SEC);
    for (int i = 0; i < 3; i++) {
        patch(w, SETS "/lammps", SL_JSON_CONST({"spec" : {"replicas" : 0}}));
        run(w, 100 * SL_MSEC);
        assert_field(w, FLUXJOBS "/lammps-statefulset", "status.reason", "ScaledToZero");
        assert_answer(w, "eighth", "SELECT state FROM jobs", "pending");
        patch(w, SETS "/lammps", SL_JSON_CONST({"spec" : {"replicas" : 1}}));
        run(w, 100 * SL_MSEC);
        assert_field(w, FLUXJOBS "/lammps-statefulset", "status.state", "Running");
        assert_answer(w, "eighth", "SELECT state FROM jobs", "running");
    }
    assert_answer(w, "eighth", "SELECT starts FROM jobs", "4");
    /* As it is, although the last start is ahead of the clock. */
    patch(w, SETS "/lammps", SL_JSON_CONST({"spec" : {"replicas" : 0}}));
    run(w, 100 * SL_MSEC);
    assert_answer(w, "eighth", "SELECT state FROM jobs", "pending");
    drop(w, SETS "/lammps");
    run(w, SL_SEC);
    assert_answer(w, "eighth", "SELECT state || ' ' || (ended >= started) FROM jobs",
                  "cancelled 1");
}

static void member(struct world *w, const char *name, int size, const char *cpu) {
    char body[1024];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes','fluxqueue/group-name':'g'},"
           "'annotations':{'fluxqueue/group-size':'%d'}},'spec':{'containers':[{'name':'main',"
           "'resources':{'requests':{'cpu':'%s','memory':'64Mi'}}}],"
           "'schedulerName':'FluxionScheduler','schedulingGates':[{'name':'fluxqueue'}]}}",
           name, size, cpu);
    create(w, PODS, body);
}

/* A group is there from its first member on, with its name, its queue and what it requests. */
static void test_groups(void **state) {
    static const char provisional[] =
        "SELECT group_name || ' ' || group_size || ' ' || (SELECT count(*) FROM pending_queue) || "
        "(SELECT ' ' || state FROM jobs) FROM pods_provisional";
    struct world *w = *state;
    reopen(w, "ninth");
    node(w, "n0", "5");
    create(w, PODS,
           "{'metadata':{'name':'other'},'spec':{'nodeName':'n0','containers':[{'name':'main',"
           "'resources':{'requests':{'cpu':'1'}}}]}}");
    member(w, "a", 3, "1");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/g-group", "status.reason", "WaitingForMembers");
    assert_answer(w, "ninth", provisional, "g 3 0 gathering");
    reopen(w, "ninth");
    run(w, SL_SEC);
    assert_answer(w, "ninth", provisional, "g 3 0 gathering");
    member(w, "b", 3, "1");
    member(w, "c", 3, "3");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/g-group", "status.state", "Waiting");
    assert_answer(w, "ninth", provisional, "g 3 1 pending");
    assert_answer(w, "ninth", "SELECT group_name || ' ' || queue FROM jobs", "g default");
    assert_answer(w, "ninth", "SELECT resources FROM jobs",
                  "[{\"count\":2,\"slot\":{\"core\":1000,\"memory\":65536,\"pods\":1}},"
                  "{\"count\":1,\"slot\":{\"core\":3000,\"memory\":65536,\"pods\":1}}]");
    drop(w, PODS "/a");
    drop(w, PODS "/b");
    drop(w, PODS "/c");
    run(w, 10 * SL_SEC); /* a ledger that is slow is waited for */
    assert_answer(w, "ninth", "SELECT state FROM jobs", "cancelled");
    /* One that never had all of them. */
    member(w, "a", 3, "1");
    run(w, SL_SEC);
    drop(w, PODS "/a");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/g-group", "status.state", "(absent)");
    assert_answer(w, "ninth",
                  "SELECT group_concat(kind, ' ') FROM (SELECT kind FROM events ORDER BY id)",
                  "gather submit cancel gather cancel");
    assert_jobs(w, "ninth", "SELECT count(*) FROM jobs WHERE state = 'cancelled'", 2);
}

/* What grows and shrinks is counted by the time that each pod had its place. */
static void test_pod_seconds(void **state) {
    struct world *w = *state;
    reopen(w, "tenth");
    node(w, "n0", "9");
    set(w, "lammps", 2, "1");
    run(w, 100 * SL_SEC);
    child(w, "StatefulSet", "lammps", 0);
    child(w, "StatefulSet", "lammps", 1);
    patch(w, SETS "/lammps", SL_JSON_CONST({"spec" : {"replicas" : 4}}));
    child(w, "StatefulSet", "lammps", 2);
    child(w, "StatefulSet", "lammps", 3);
    run(w, 100 * SL_SEC);
    assert_answer(w, "tenth", "SELECT size FROM jobs", "4");
    drop(w, PODS "/lammps-2");
    drop(w, PODS "/lammps-3");
    patch(w, SETS "/lammps", SL_JSON_CONST({"spec" : {"replicas" : 1}}));
    drop(w, PODS "/lammps-1");
    run(w, 100 * SL_SEC);
    drop(w, PODS "/lammps-0");
    patch(w, SETS "/lammps", SL_JSON_CONST({"spec" : {"replicas" : 0}}));
    run(w, 100 * SL_SEC);
    drop(w, SETS "/lammps");
    run(w, 100 * SL_SEC);
    assert_answer(w, "tenth", "SELECT min(size) || ' ' || max(size) FROM runs", "1 4");
    int64_t pod_seconds = strtoll(ask(w, "tenth", "SELECT pod_seconds FROM jobs"), NULL, 10);
    assert_in_range(pod_seconds, 690, 710);
    assert_jobs(w, "tenth", "SELECT count(*) FROM runs WHERE ended IS NULL", 0);
}

/* What objects showed, and a process that was killed had not recorded, the next one records; and
 * once. */
static void test_unrecorded(void **state) {
    struct world *w = *state;
    reopen(w, "eleventh");
    node(w, "n0", "8");
    set(w, "lammps", 1, "1");
    set(w, "grows", 1, "1");
    pod(w, "long", "3", "'fluxqueue/duration':'1000'", "");
    run(w, SL_SEC);
    pod(w, "large", "6", "'fluxqueue/duration':'1000'", "");
    run(w, SL_SEC);
    child(w, "StatefulSet", "grows", 0);
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/lammps-statefulset", "status.state", "Running");
    reopen(w, NULL);
    run(w, SL_SEC);
    patch(w, SETS "/lammps", SL_JSON_CONST({"spec" : {"replicas" : 0}}));
    patch(w, SETS "/grows", SL_JSON_CONST({"spec" : {"replicas" : 2}}));
    child(w, "StatefulSet", "grows", 1);
    create(w, PODS,
           "{'metadata':{'name':'other'},'spec':{'nodeName':'n0','containers':[{'name':'main',"
           "'resources':{'requests':{'cpu':'3'}}}]}}");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/large-pod", "status.reason", "Busy");
    reopen(w, "eleventh");
    run(w, 10 * SL_SEC);
    assert_answer(w, "eleventh", "SELECT state || ' ' || size FROM jobs WHERE name = 'lammps'",
                  "pending 0");
    assert_answer(w, "eleventh", "SELECT state || ' ' || size FROM jobs WHERE name = 'grows'",
                  "running 2");
    assert_answer(w, "eleventh", RESERVED, "0 0");
    int64_t events = strtoll(ask(w, "eleventh", "SELECT count(*) FROM events"), NULL, 10);
    again(w, "eleventh");
    assert_jobs(w, "eleventh", "SELECT count(*) FROM events", events);
}

/* Somebody deletes the FluxJob of what has ended: the one that is made anew was never submitted,
 * and nothing is recorded of it, its pods included. */
static void test_made_anew(void **state) {
    static char is[1 << 14];
    struct world *w = *state;
    stop(w, 0);
    start(w, 0, false);
    node(w, "n0", "4");
    job(w, "ends", 1, "2", "");
    run(w, SL_SEC);
    (void)child(w, "Job", "ends", 0);
    run(w, SL_SEC);
    assert_field(w, PODS "/ends-0", "spec.nodeName", "n0");
    drop(w, FLUXJOBS "/ends-job");
    patch(w, JOBS "/ends/status", SL_JSON_CONST({"status" : {"succeeded" : 1}}));
    phase(w, "ends-0", "Succeeded");
    run(w, 5 * SL_SEC);
    patch(
        w, JOBS "/ends/status",
        SL_JSON_CONST({"status" : {"conditions" : [ {"type" : "Complete", "status" : "True"} ]}}));
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/ends-job", "status.state", "Completed");
    assert_field(w, FLUXJOBS "/ends-job", "status.submittedAt", "");
    again(w, "thirteenth");
    ledger_read("thirteenth", is, sizeof is);
    assert_string_equal(is, "");
}

static int begin(void **state) {
    (void)state;
    sl_fmt(folder, sizeof folder, "%s", "/tmp/sl-history-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state) {
    static const char *const names[] = {"first",    "second",  "third",      "fourth", "fifth",
                                        "sixth",    "seventh", "eighth",     "ninth",  "tenth",
                                        "eleventh", "twelfth", "thirteenth", "submit", "after"};
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
        TEST(test_again),         TEST(test_submission), TEST(test_deleted),
        TEST(test_names),         TEST(test_back),       TEST(test_reserved_again),
        TEST(test_started_again), TEST(test_clock),      TEST(test_groups),
        TEST(test_pod_seconds),   TEST(test_unrecorded), TEST(test_made_anew),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
