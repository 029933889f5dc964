/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger in a file, and the spool of a server that is not there. */
#include "ledger_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- opening ---- */

static void test_paths(void **state) {
    struct stat st;
    struct fx f;
    char url[128];

    (void)state;
    fx_init(&f);
    mode_t before = umask(0);
    sl_fmt(url, sizeof url, "sqlite:%s", f.file);
    struct sl_err err = {0};
    assert_int_equal(sl_ledger_open(&(struct sl_ledger_spec){.url = url}, &f.l, &err), 0);
    (void)umask(before);
    assert_true(fx_event(&f, "a", SL_LEDGER_SUBMIT, 0, 0, ""));
    fx_flush(&f);
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < SL_LEN(endings); i++) {
        sl_fmt(url, sizeof url, "%s%s", f.file, endings[i]);
        assert_int_equal(stat(url, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    fx_close(&f);
    fx_open(&f);
    assert_true(fx_stats(&f).connected);
    fx_close(&f);
    fx_done(&f);
}

/* What cannot be opened, and what is said about it. */
static void test_refused(void **state) {
    struct fx f;
    char other[96], folder[96], missing[96], ledger[96], newer[96], text[96];

    (void)state;
    fx_init(&f);
    sl_fmt(other, sizeof other, "%s/other.db", f.dir);
    sl_fmt(folder, sizeof folder, "%s", f.dir);
    sl_fmt(missing, sizeof missing, "%s/none/ledger.db", f.dir);
    sl_fmt(ledger, sizeof ledger, "%s", f.file);
    sl_fmt(newer, sizeof newer, "%s/newer.db", f.dir);
    sl_fmt(text, sizeof text, "%s/text", f.dir);
    (void)close(open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    fx_exec(other, "CREATE TABLE t(x)");
    FILE *t = fopen(text, "we");
    for (int i = 0; i < 1000; i++)
        (void)fputs("this is no database\n", t);
    (void)fclose(t);
    fx_open(&f);
    fx_close(&f);
    sl_fmt(f.file, sizeof f.file, "%s", newer);
    fx_open(&f);
    fx_close(&f);
    fx_exec(newer, "UPDATE sluice_schema SET version = 7");
    const struct {
        const char *url, *spool, *wanted;
        int code;
    } cases[] = {
        {"", NULL, "empty", SL_EINVAL},
        {"sqlite:", NULL, "empty", SL_EINVAL},
        {missing, NULL, "No such file", SL_EIO},
        {folder, NULL, "Is a directory", SL_EIO},
        {other, NULL, "another program", SL_EINVAL},
        {text, NULL, "not a database", SL_EINVAL},
        {newer, NULL, "newer version of Sluice (schema 7, supported: 2)", SL_EINVAL},
        {"mysql://root:geheim@db/x", NULL, "mysql:// is no ledger", SL_EINVAL},
        {"postgres://u:geheim@db/x", NULL, "needs the path of a spool", SL_EINVAL},
        {"postgres://u:geheim@db/x?nonsense=1", f.spool, "malformed", SL_EINVAL},
        {"postgres://u:geheim@[::1/x", f.spool, "malformed", SL_EINVAL},
        {"postgres://u:geheim%zz@db/x", f.spool, "malformed", SL_EINVAL},
        {"postgres://u:geheim@db/x", ledger, "a ledger and no spool", SL_EINVAL},
        {"postgres://u:geheim@db/x", missing, "No such file", SL_EIO},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_err err = {0};
        struct sl_ledger *l = NULL;
        struct sl_ledger_spec spec = {.url = cases[i].url, .spool = cases[i].spool};
        int r = sl_ledger_open(&spec, &l, &err);
        if (r != cases[i].code || !strstr(err.text, cases[i].wanted))
            fail_msg("%s: %d %s", cases[i].url, r, err.text);
        assert_null(l);
        assert_null(strstr(err.text, "geheim"));
    }
    fx_done(&f);
}

/* As somebody who may not write it. */
static void test_read_only(void **state) {
    struct fx f;
    int status = 0;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    fx_close(&f);
    assert_int_equal(chmod(f.file, 0444), 0);
    assert_int_equal(chmod(f.dir, 0755), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct sl_err err = {0};
        struct sl_ledger *l = NULL;
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        int r = sl_ledger_open(&(struct sl_ledger_spec){.url = f.file}, &l, &err);
        _exit(r == SL_EIO && strstr(err.text, "Permission denied") ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 0);
    fx_done(&f);
}

/* ---- what is recorded ---- */

static void test_fields(void **state) {
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    for (int k = 0; k < SL_LEDGER_KINDS; k++)
        assert_true(sl_ledger_append(f.l, &(struct sl_ledger_event){
                                              .uid = SL_TEXT("u-1"),
                                              .kind = (enum sl_ledger_kind)k,
                                              .number = INT64_MIN + k,
                                              .at = 1 + k,
                                              .ns = SL_TEXT("ns"),
                                              .name = SL_TEXT("na'me"),
                                              .type = SL_TEXT("Job"),
                                              .flux_job = SL_TEXT("fj"),
                                              .queue = SL_TEXT("q"),
                                              .user = SL_TEXT("me"),
                                              .group = SL_TEXT("g"),
                                              .given = k == 0 ? 0 : 31,
                                              .jobid = INT64_MAX,
                                              .priority = -5,
                                              .size = 3 + k,
                                              .duration = 60 * SL_SEC,
                                              .estimate = 99,
                                              .nodes = SL_TEXT("n1,n2"),
                                              .resources = SL_TEXT("{}"),
                                              .reason = SL_TEXT("r"),
                                              .message = SL_TEXT("m\nm"),
                                          }));
    assert_null(sl_ledger_kind_name(SL_LEDGER_KINDS));
    assert_false(sl_ledger_append(
        f.l, &(struct sl_ledger_event){.uid = SL_TEXT("u"), .kind = SL_LEDGER_KINDS}));
    fx_flush(&f);
    assert_string_equal(fx_query(f.file, "SELECT kind FROM events ORDER BY id"),
                        "submit\nqueue\nreserve\nunreserve\nstart\npod_bind\nresize\nend\n"
                        "cancel\nreject\ngather");
    assert_string_equal(
        fx_query(f.file, "SELECT * FROM events WHERE kind IN ('submit', 'reject') ORDER BY id"),
        "1|1|u-1|submit|-9223372036854775808|ns|na'me|Job|fj|-|q|me|-|-|g|-|-|n1,n2|{}|r|m\nm\n"
        "10|10|u-1|reject|-9223372036854775799|ns|na'me|Job|fj|9223372036854775807|q|me|-5|12|g|"
        "60000000000|99|n1,n2|{}|r|m\nm");
    assert_int_equal(fx_stats(&f).refused, 1);
    fx_done(&f);
}

static void test_once(void **state) {
    struct fx f;

    (void)state;
    fx_init(&f);
    for (int life = 0; life < 3; life++) {
        fx_open(&f);
        for (int again = 0; again < 2; again++) {
            assert_true(fx_event(&f, "a", SL_LEDGER_START, 1, 10 + life + again, "first"));
            assert_true(fx_event(&f, "a", SL_LEDGER_START, 2, 20, "second"));
            assert_true(fx_event(&f, "b", SL_LEDGER_START, 1, 10, "other"));
        }
        fx_flush(&f);
        assert_int_equal(fx_stats(&f).written, 6);
        fx_close(&f);
    }
    assert_int_equal(fx_number(f.file, "SELECT count(*) FROM events"), 3);
    /* What was recorded first stays, and the job counts it once. */
    assert_string_equal(fx_query(f.file, "SELECT uid, starts, run_ns FROM job_state ORDER BY uid"),
                        "a|2|10000000000\nb|1|0");
    fx_done(&f);
}

/* What follows for the job, by the letters of its events: S submit, Q queue, V reserve, U
 * unreserve, R start, B bind, Z resize, E end, C cancel, X reject, G gather; each with the second
 * it happened in. */
static void test_states(void **state) {
    static const struct {
        const char *events, *wanted; /* state, reservation, wait, run, starts, reason */
    } cases[] = {
        {"S0", "pending|0|-|-|0|S0"},
        {"S0 Q5", "pending|0|-|-|0|Q5"},
        {"S0 V5", "pending|1|-|-|0|V5"},
        {"S0 V5 Q6", "pending|1|-|-|0|Q6"},
        {"S0 V5 U6", "pending|0|-|-|0|U6"},
        {"S0 V5 R7", "running|0|7.0|-|1|R7"},
        {"S0 R7 E17", "ended|0|7.0|10.0|1|E17"},
        {"S0 R7 B8 Z9 E17", "ended|0|7.0|10.0|1|E17"},
        {"S0 R7 Q10 R20 E21", "ended|0|7.0|4.0|2|E21"}, /* preempted in between */
        {"S0 R7 Q10 C21", "cancelled|0|7.0|3.0|1|C21"},
        {"S0 R7 R10 E21", "ended|0|7.0|14.0|2|E21"},
        {"S0 C3", "cancelled|0|3.0|0.0|0|C3"},
        {"S0 X3", "rejected|0|3.0|0.0|0|X3"},
        {"S0 R7 E9 Q10", "pending|0|7.0|-|1|Q10"}, /* it runs again */
        {"R7 E9", "ended|0|-|2.0|1|E9"},           /* its submission was lost */
        {"R7 E9 S1", "ended|0|6.0|2.0|1|E9"},      /* and comes late */
        {"S0 R7 E9 Q3", "ended|0|7.0|2.0|1|E9"},
        {"S0 E9 R7", "ended|0|7.0|0.0|1|E9"},
        {"B3 S0", "pending|0|-|-|0|S0"}, /* as it comes from two sources */
        {"S0 B8 R7", "running|0|7.0|-|1|R7"},
        {"S0 R7 E7", "ended|0|7.0|0.0|1|E7"},
        {"G0", "gathering|0|-|-|0|G0"},
        {"G0 S5 R7 E9", "ended|0|2.0|2.0|1|E9"},
        {"G0 C4", "cancelled|0|-|0.0|0|C4"},
    };
    static const char letters[] = "SQVURBZECXG";
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        char uid[16], sql[512], got[512];
        sl_fmt(uid, sizeof uid, "job-%zu", i);
        for (const char *p = cases[i].events; *p; p += strspn(p, " ")) {
            size_t n = strcspn(p, " ");
            char reason[16];
            sl_fmt(reason, sizeof reason, "%.*s", (int)n, p);
            long second = strtol(p + 1, NULL, 10);
            assert_true(fx_event(&f, uid, (enum sl_ledger_kind)(strchr(letters, *p) - letters),
                                 second, second, reason));
            p += n;
        }
        fx_flush(&f);
        sl_fmt(sql, sizeof sql,
               "SELECT j.state, coalesce(s.reservation, 0), CASE WHEN j.started IS NULL AND"
               " j.ended IS NULL THEN NULL ELSE wait_seconds END,"
               " CASE WHEN j.ended IS NULL THEN NULL ELSE run_seconds END, j.starts,"
               " j.reason FROM jobs j JOIN job_state s ON s.uid = j.uid"
               " WHERE j.uid = '%s'",
               uid);
        sl_fmt(got, sizeof got, "%s", fx_query(f.file, sql));
        if (strcmp(got, cases[i].wanted) != 0)
            fail_msg("%s: %s instead of %s", cases[i].events, got, cases[i].wanted);
    }
    /* Those that wait or run do so until now. */
    assert_int_equal(fx_number(f.file, "SELECT count(*) FROM jobs WHERE state = 'pending' AND uid "
                                       "<> 'job-13' AND wait_seconds < 10000000"),
                     0);
    assert_int_equal(fx_number(f.file, "SELECT count(*) FROM jobs WHERE state = 'running' AND "
                                       "run_seconds < 10000000"),
                     0);
    fx_done(&f);
}

/* Objects show whole seconds: what is reported from them after a crash comes before what was
 * recorded of the same second, and is newer. */
static void test_same_second(void **state) {
    static const struct {
        enum sl_ledger_kind kind;
        int64_t ms;
    } events[] = {{SL_LEDGER_SUBMIT, 5700}, {SL_LEDGER_START, 5000}, {SL_LEDGER_END, 5000}};
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    for (size_t n = 1; n <= SL_LEN(events); n++)
        for (size_t i = 0; i < n; i++)
            assert_true(
                sl_ledger_append(f.l, &(struct sl_ledger_event){.uid = n == 1   ? SL_TEXT("waits")
                                                                       : n == 2 ? SL_TEXT("runs")
                                                                                : SL_TEXT("ran"),
                                                                .kind = events[i].kind,
                                                                .at = events[i].ms * SL_MSEC,
                                                                .given = SL_LEDGER_SIZE,
                                                                .size = 1}));
    fx_flush(&f);
    assert_string_equal(fx_query(f.file, "SELECT uid, state FROM jobs ORDER BY uid"),
                        "ran|ended\nruns|running\nwaits|pending");
    assert_string_equal(fx_query(f.file, "SELECT wait_seconds, run_seconds, pod_seconds FROM jobs "
                                         "WHERE uid = 'ran'"),
                        "0.0|0.0|0.0");
    assert_string_equal(fx_query(f.file, "SELECT uid, ended IS NULL FROM runs ORDER BY uid"),
                        "ran|0\nruns|1");
    fx_done(&f);
}

/* What has no number of its own: recorded if the job is not as it says, as often as that is. */
static void test_as_it_is(void **state) {
    static const struct {
        enum sl_ledger_kind kind;
        int64_t estimate, size;
        const char *reason;
    } events[] = {
        {SL_LEDGER_UNRESERVE, 0, 2, ""},  {SL_LEDGER_SUBMIT, 0, 2, ""},
        {SL_LEDGER_UNRESERVE, 0, 2, ""},  {SL_LEDGER_QUEUE, 0, 2, ""},
        {SL_LEDGER_QUEUE, 0, 2, "Busy"},  {SL_LEDGER_RESERVE, 60, 2, ""},
        {SL_LEDGER_RESERVE, 60, 2, ""},   {SL_LEDGER_RESERVE, 70, 2, ""},
        {SL_LEDGER_RESERVE, 60, 2, ""},   {SL_LEDGER_UNRESERVE, 0, 2, ""},
        {SL_LEDGER_UNRESERVE, 0, 2, ""},  {SL_LEDGER_RESERVE, 60, 2, ""},
        {SL_LEDGER_QUEUE, 0, 3, ""},      {SL_LEDGER_START, 0, 3, ""},
        {SL_LEDGER_RESIZE, 0, 3, ""},     {SL_LEDGER_RESIZE, 0, 4, ""},
        {SL_LEDGER_RESIZE, 0, 4, ""},     {SL_LEDGER_RESIZE, 0, 3, ""},
        {SL_LEDGER_QUEUE, 0, 3, ""},      {SL_LEDGER_QUEUE, 0, 3, ""},
        {SL_LEDGER_REJECT, 0, 3, "No"},   {SL_LEDGER_REJECT, 0, 3, "No"},
        {SL_LEDGER_QUEUE, 0, 3, "Again"}, {SL_LEDGER_REJECT, 0, 3, "No"},
    };
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    for (size_t i = 0; i < SL_LEN(events); i++)
        assert_true(sl_ledger_append(
            f.l, &(struct sl_ledger_event){.uid = SL_TEXT("u"),
                                           .kind = events[i].kind,
                                           .number = (int64_t)i,
                                           .at = FX_EPOCH + (int64_t)i * SL_SEC,
                                           .given = SL_LEDGER_SIZE |
                                                    (events[i].estimate ? SL_LEDGER_ESTIMATE : 0),
                                           .size = events[i].size,
                                           .estimate = events[i].estimate,
                                           .reason = sl_text_of(events[i].reason)}));
    fx_flush(&f);
    assert_string_equal(
        fx_query(f.file,
                 "SELECT group_concat(number, ' ') FROM (SELECT number FROM events ORDER BY id)"),
        "0 1 4 5 7 8 9 11 12 13 15 17 18 20 22 23");
    fx_done(&f);
}

/* What grew, shrank, and ran again: pods by the time that each of them had its place. */
static void test_runs(void **state) {
    static const struct {
        enum sl_ledger_kind kind;
        int64_t second, size;
    } events[] = {
        {SL_LEDGER_SUBMIT, 0, 4},  {SL_LEDGER_QUEUE, 5, 5},  {SL_LEDGER_START, 10, 4},
        {SL_LEDGER_RESIZE, 20, 6}, {SL_LEDGER_QUEUE, 30, 0}, {SL_LEDGER_RESERVE, 35, 2},
        {SL_LEDGER_START, 40, 2},  {SL_LEDGER_END, 50, -1},
    };
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    for (size_t i = 0; i < SL_LEN(events); i++)
        assert_true(sl_ledger_append(
            f.l, &(struct sl_ledger_event){.uid = SL_TEXT("u"),
                                           .kind = events[i].kind,
                                           .number = events[i].second,
                                           .at = FX_EPOCH + events[i].second * SL_SEC,
                                           .queue = SL_TEXT("batch"),
                                           .given = events[i].size < 0 ? 0 : SL_LEDGER_SIZE,
                                           .size = events[i].size,
                                           .reason = SL_TEXT("r")}));
    fx_flush(&f);
    assert_string_equal(
        fx_query(f.file, "SELECT began, ended, size, seconds, pod_seconds, queue FROM runs ORDER "
                         "BY began_ns"),
        "2023-11-14T22:13:30.000Z|2023-11-14T22:13:40.000Z|4|10.0|40.0|batch\n"
        "2023-11-14T22:13:40.000Z|2023-11-14T22:13:50.000Z|6|10.0|60.0|batch\n"
        "2023-11-14T22:14:00.000Z|2023-11-14T22:14:10.000Z|2|10.0|20.0|batch");
    assert_string_equal(fx_query(f.file, "SELECT size, starts, run_seconds, pod_seconds FROM jobs"),
                        "2|2|30.0|120.0");
    assert_string_equal(
        fx_query(f.file,
                 "SELECT queue, count(*), sum(pod_seconds) / 3600 AS pod_hours FROM jobs WHERE uid "
                 "IN (SELECT uid FROM job_state WHERE ended_ns >= strftime('%s', '2023-11-01') * "
                 "1000000000 AND ended_ns < strftime('%s', '2023-12-01') * 1000000000) GROUP BY "
                 "queue ORDER BY pod_hours DESC"),
        "batch|1|0.0333333333333333");
    /* Of one that runs up to now. */
    assert_true(sl_ledger_append(f.l, &(struct sl_ledger_event){.uid = SL_TEXT("v"),
                                                                .kind = SL_LEDGER_START,
                                                                .at = FX_EPOCH,
                                                                .given = SL_LEDGER_SIZE,
                                                                .size = 2}));
    fx_flush(&f);
    assert_string_equal(fx_query(f.file, "SELECT pod_seconds > 1.9 * run_seconds, run_seconds > "
                                         "1000000 FROM jobs WHERE uid = 'v'"),
                        "1|1");
    fx_done(&f);
}

/* A file of before goes on. */
static void test_version_1(void **state) {
    char *sql = fx_version_1(LEDGER_SQLITE);
    struct fx f;

    (void)state;
    fx_init(&f);
    (void)close(open(f.file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    fx_exec(f.file, "PRAGMA application_id = 1397509191"); /* "SLLG" */
    fx_exec(f.file, sql);
    fx_open(&f);
    fx_life(&f, 1);
    fx_flush(&f);
    assert_string_equal(fx_query(f.file, FX_VERSION_2), "2|2|60|3");
    assert_int_equal(fx_number(f.file, "SELECT count(*) FROM events"), 4 + FX_LIFE);
    fx_done(&f);
    sl_freep(&sql);
}

/* Under the names that fluxqueue and fluxnetes have. */
static void test_views(void **state) {
    struct sl_ledger_event e = {
        .uid = SL_TEXT("u1"),
        .kind = SL_LEDGER_SUBMIT,
        .at = FX_EPOCH,
        .ns = SL_TEXT("default"),
        .name = SL_TEXT("lammps"),
        .type = SL_TEXT("Job"),
        .flux_job = SL_TEXT("lammps-job"),
        .given = SL_LEDGER_JOBID | SL_LEDGER_SIZE | SL_LEDGER_DURATION,
        .jobid = 17,
        .size = 4,
        .duration = 3600 * SL_SEC,
        .resources = SL_TEXT("[1]"),
    };
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    assert_true(sl_ledger_append(f.l, &e));
    assert_true(
        sl_ledger_append(f.l, &(struct sl_ledger_event){.uid = SL_TEXT("u1"),
                                                        .kind = SL_LEDGER_RESERVE,
                                                        .at = FX_EPOCH + SL_SEC,
                                                        .given = SL_LEDGER_ESTIMATE,
                                                        .estimate = FX_EPOCH + 3600 * SL_SEC}));
    e.uid = SL_TEXT("u2");
    e.name = SL_TEXT("pod-0");
    e.group = SL_TEXT("gang");
    assert_true(sl_ledger_append(f.l, &e));
    e.uid = SL_TEXT("u3"); /* runs: in none of them */
    assert_true(sl_ledger_append(f.l, &e));
    assert_true(fx_event(&f, "u3", SL_LEDGER_START, 0, 9, ""));
    assert_true(sl_ledger_append(f.l, &(struct sl_ledger_event){.uid = SL_TEXT("u3"),
                                                                .kind = SL_LEDGER_POD_BIND,
                                                                .number = 1,
                                                                .name = SL_TEXT("pod-0"),
                                                                .nodes = SL_TEXT("n7")}));
    assert_true(sl_ledger_append(f.l, &(struct sl_ledger_event){.uid = SL_TEXT("u3"),
                                                                .kind = SL_LEDGER_POD_BIND,
                                                                .number = 2,
                                                                .name = SL_TEXT("pod-0"),
                                                                .nodes = SL_TEXT("n7")}));
    fx_flush(&f);
    assert_string_equal(
        fx_query(f.file, "SELECT jobspec, namespace, flux_job_name, name, type, reservation,"
                         " duration, created_at, size FROM pending_queue ORDER BY uid"),
        "[1]|default|lammps-job|lammps|Job|1|3600|2023-11-14T22:13:20.000Z|4\n"
        "[1]|default|lammps-job|pod-0|Job|0|3600|2023-11-14T22:13:20.000Z|4");
    assert_string_equal(fx_query(f.file, "SELECT name, flux_id FROM reservations"), "lammps|17");
    assert_string_equal(fx_query(f.file, "SELECT estimated_start FROM pending_queue ORDER BY uid"),
                        "2023-11-14T23:13:20.000Z\n-");
    assert_string_equal(fx_query(f.file, "SELECT group_name, group_size FROM pods_provisional "
                                         "ORDER BY group_name"),
                        "gang|4\nlammps|4");
    assert_string_equal(fx_query(f.file, "SELECT name, nodes FROM jobs WHERE uid = 'u3'"), "u3|n7");
    fx_done(&f);
}

/* ---- texts ---- */

static void test_texts(void **state) {
    static char name[600], message[5000], list[SL_LEDGER_MAX_LIST + 1];
    static const struct {
        struct sl_text given;
        const char *wanted; /* as hex */
    } cases[] = {
        {SL_TEXT("plain"), "706C61696E"},
        {SL_TEXT("a\0b"), "61EFBFBD62"},
        {SL_TEXT("a\xff\xfe"), "61EFBFBDEFBFBD"},
        {SL_TEXT("\xc3\xa9"), "C3A9"},
        {SL_TEXT("\xc3"), "EFBFBD"},
        {SL_TEXT("\xc0\x80"), "EFBFBDEFBFBD"},                     /* overlong */
        {SL_TEXT("\xed\xa0\x80"), "EFBFBDEFBFBDEFBFBD"},           /* a surrogate */
        {SL_TEXT("\xf4\x90\x80\x80"), "EFBFBDEFBFBDEFBFBDEFBFBD"}, /* beyond Unicode */
        {SL_TEXT("\xf0\x9f\x98\x80"), "F09F9880"},
        {SL_TEXT("\xe2\x80"), "EFBFBDEFBFBD"},
    };
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    for (size_t i = 0; i < SL_LEN(cases); i++)
        assert_true(sl_ledger_append(f.l, &(struct sl_ledger_event){.uid = SL_TEXT("t"),
                                                                    .number = (int64_t)i,
                                                                    .name = cases[i].given}));
    fx_flush(&f);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        char sql[96];
        sl_fmt(sql, sizeof sql, "SELECT hex(name) FROM events WHERE number = %zu", i);
        assert_string_equal(fx_query(f.file, sql), cases[i].wanted);
    }
    /* Just within, and beyond. A character is never cut. */
    memset(name, 'n', sizeof name);
    for (size_t i = 0; i + 1 < sizeof message; i += 2)
        memcpy(message + i, "\xc3\xa9", 2);
    memset(list, ' ', sizeof list);
    for (int over = 0; over < 2; over++)
        assert_true(sl_ledger_append(
            f.l, &(struct sl_ledger_event){
                     .uid = SL_TEXT("long"),
                     .number = over,
                     .name = {name, SL_LEDGER_MAX_NAME + (size_t)over},
                     .message = {message, SL_LEDGER_MAX_MESSAGE + 2 * (size_t)over},
                     .nodes = {list, SL_LEDGER_MAX_LIST + (size_t)over},
                     .resources = {list, SL_LEDGER_MAX_LIST + (size_t)over},
                 }));
    fx_flush(&f);
    assert_string_equal(
        fx_query(f.file, "SELECT length(CAST(name AS BLOB)), length(CAST(message AS BLOB)),"
                         " length(CAST(nodes AS BLOB)), length(resources), substr(name, -1),"
                         " substr(message, -2), substr(nodes, -1) FROM events WHERE uid = 'long'"
                         " ORDER BY number"),
        "253|4096|65536|65536|n|\xc3\xa9\xc3\xa9| \n"
        "253|4095|65536|14|\xe2\x80\xa6|\xc3\xa9\xe2\x80\xa6|\xe2\x80\xa6");
    assert_string_equal(fx_query(f.file, "SELECT json_extract(resources, '$.cut') FROM events"
                                         " WHERE uid = 'long' AND number = 1"),
                        "1");
    /* Nobody else's uid. */
    memset(name, 'u', sizeof name);
    static const struct sl_text bad[] = {
        {NULL, 0}, SL_TEXT("a\0b"), SL_TEXT("a\xff"), {name, SL_LEDGER_MAX_UID + 1}};
    for (size_t i = 0; i < SL_LEN(bad); i++)
        assert_false(sl_ledger_append(f.l, &(struct sl_ledger_event){.uid = bad[i]}));
    assert_true(sl_ledger_append(f.l, &(struct sl_ledger_event){.uid = {name, SL_LEDGER_MAX_UID}}));
    assert_int_equal(fx_stats(&f).refused, SL_LEN(bad));
    fx_done(&f);
}

/* Any bytes, around the ceiling: never longer, and what is whole is as it was. */
static void test_any_texts(void **state) {
    static const struct sl_text parts[] = {SL_TEXT("a"),
                                           SL_TEXT("\xc3\xa9"),
                                           SL_TEXT("\xe2\x82\xac"),
                                           SL_TEXT("\xf0\x9f\x98\x80"),
                                           SL_TEXT("\0"),
                                           SL_TEXT("\x80"),
                                           SL_TEXT("plain text of some length")};
    struct sl_prng p;
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    sl_prng_init(&p, 3);
    for (int64_t i = 0; i < 500; i++) {
        char text[2 * SL_LEDGER_MAX_NAME];
        size_t n = 0, kinds = 1 + sl_prng_below(&p, SL_LEN(parts));
        size_t want = SL_LEDGER_MAX_NAME - 40 + sl_prng_below(&p, 80);
        while (n < want) {
            struct sl_text part = parts[sl_prng_below(&p, kinds)];
            memcpy(text + n, part.s, part.n);
            n += part.n;
        }
        /* of a size of its own, so that reading beyond it is seen */
        char *exact = sl_alloc(n);
        memcpy(exact, text, n);
        assert_true(sl_ledger_append(
            f.l, &(struct sl_ledger_event){.uid = SL_TEXT("t"), .number = i, .name = {exact, n}}));
        sl_freep(&exact);
    }
    fx_flush(&f);
    assert_string_equal(
        fx_query(f.file, "SELECT count(*), max(length(CAST(name AS BLOB))), sum(instr(name, "
                         "char(0)) > 0), sum(length(CAST(name AS BLOB)) < 213), "
                         "sum(length(CAST(name AS BLOB)) < 247 AND name LIKE '%' || char(8230)) "
                         "FROM events"),
        "500|253|0|0|0");
    fx_done(&f);
}

/* ---- what goes wrong ---- */

/* Another program holds the lock: events wait, up to the ceilings, and are written in the end. */
static void test_full_queue(void **state) {
    static char big[SL_LEDGER_MAX_LIST];
    const uint64_t more = 1000;
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    for (int bytes = 0; bytes < 2; bytes++) {
        struct sl_ledger_stats s = fx_stats(&f), was = s;
        sqlite3 *db = fx_sqlite(f.file);
        assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        memset(big, 'x', sizeof big);
        uint64_t fits = 0, tried = bytes ? more : SL_LEDGER_MAX_QUEUED + more;
        sl_time begun = fx_now();
        for (uint64_t i = 0; i < tried; i++)
            fits += sl_ledger_append(f.l, &(struct sl_ledger_event){
                                              .uid = SL_TEXT("q"),
                                              .kind = bytes ? SL_LEDGER_RESIZE : SL_LEDGER_QUEUE,
                                              .number = (int64_t)i,
                                              .nodes = {big, bytes ? sizeof big : 0},
                                          });
        /* It does not wait, however long the lock is held. */
        assert_true(fx_now() - begun < FX_PATIENCE / 2);
        s = fx_stats(&f);
        assert_int_equal(s.dropped - was.dropped + fits, tried);
        assert_int_equal(s.queued, fits);
        assert_true(s.queued_bytes <= SL_LEDGER_MAX_QUEUED_BYTES);
        assert_true(bytes ? fits < 300 : fits == SL_LEDGER_MAX_QUEUED);
        struct sl_err err = {0};
        for (sl_time end = fx_now() + FX_PATIENCE; fx_now() < end && !*fx_stats(&f).error;)
            fx_nap(1);
        assert_int_equal(sl_ledger_flush(f.l, 10 * SL_MSEC, &err), SL_EIO);
        assert_non_null(strstr(err.text, "in use by another process"));
        assert_false(fx_stats(&f).connected);
        assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
        (void)sqlite3_close(db);
        fx_flush(&f);
        s = fx_stats(&f);
        assert_int_equal(s.written - was.written, fits);
        assert_int_equal(s.queued, 0);
        assert_int_equal(s.queued_bytes, 0);
        assert_true(s.connected);
        assert_string_equal(s.error, "");
    }
    assert_int_equal(fx_number(f.file, "SELECT count(*) FROM events"), fx_stats(&f).written);
    fx_done(&f);
}

static void set_file_size(rlim_t most) {
    struct rlimit l;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = most < l.rlim_max ? most : l.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void test_disk_full(void **state) {
    struct fx f;
    struct sl_err err = {0};

    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    fx_init(&f);
    fx_open(&f);
    fx_life(&f, 0);
    fx_flush(&f);
    set_file_size((rlim_t)300 << 10);
    for (uint64_t i = 1; i < 1000; i++)
        fx_life(&f, i);
    for (sl_time end = fx_now() + FX_PATIENCE; fx_now() < end && !*fx_stats(&f).error;)
        fx_nap(1);
    assert_int_equal(sl_ledger_flush(f.l, 10 * SL_MSEC, &err), SL_EIO);
    assert_non_null(strstr(err.text, "not written yet: writing "));
    assert_false(fx_stats(&f).connected);
    set_file_size(RLIM_INFINITY);
    fx_flush(&f);
    assert_true(fx_stats(&f).connected);
    assert_int_equal(fx_number(f.file, "SELECT count(*) FROM events"), 1000 * FX_LIFE);
    assert_int_equal(fx_number(f.file, FX_WRONG), 0);
    assert_string_equal(fx_query(f.file, "PRAGMA integrity_check"), "ok");
    fx_done(&f);
}

/* The file is moved away, or removed, while it is written: what comes then is in a new one under
 * its name, and the one that was moved is whole. */
static void test_moved(void **state) {
    char old[sizeof((struct fx *)0)->file + 8];
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    fx_life(&f, 0);
    fx_flush(&f);
    sl_fmt(old, sizeof old, "%s.old", f.file);
    assert_int_equal(rename(f.file, old), 0);
    fx_life(&f, 1);
    fx_flush(&f);
    assert_int_equal(fx_number(old, "SELECT count(*) FROM events"), FX_LIFE);
    assert_string_equal(fx_query(old, "PRAGMA integrity_check"), "ok");
    assert_int_equal(fx_number(f.file, "SELECT count(*) FROM events"), FX_LIFE);
    assert_int_equal(unlink(f.file), 0);
    fx_life(&f, 2);
    fx_life(&f, 3);
    fx_flush(&f);
    assert_int_equal(fx_number(f.file, "SELECT count(*) FROM events"), 2 * FX_LIFE);
    assert_int_equal(fx_number(f.file, FX_WRONG), 0);
    assert_true(fx_stats(&f).connected);
    fx_done(&f);
}

/* An event that this file does not take is left out, and those after it are not held up. */
static void test_poison(void **state) {
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    fx_life(&f, 0);
    fx_flush(&f);
    fx_exec(f.file, "CREATE TRIGGER poison BEFORE INSERT ON events WHEN new.name = 'poison' "
                    "BEGIN SELECT raise(ABORT, 'never'); END");
    for (uint64_t i = 1; i < 20; i++) {
        fx_life(&f, i);
        if (i % 5 == 0)
            assert_true(fx_event(&f, "poison", SL_LEDGER_SUBMIT, (int64_t)i, 0, ""));
    }
    fx_flush(&f);
    struct sl_ledger_stats s = fx_stats(&f);
    assert_int_equal(s.refused, 3);
    assert_int_equal(s.queued, 0);
    assert_true(s.connected);
    assert_string_equal(s.error, "");
    assert_int_equal(fx_number(f.file, "SELECT count(*) FROM jobs WHERE state = 'ended'"), 20);
    assert_int_equal(fx_number(f.file, "SELECT count(*) FROM events"), 20 * FX_LIFE);
    fx_done(&f);
}

/* Closed while the disk is full: what is not written is gone, and it does not wait. */
static void test_close_full(void **state) {
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    fx_life(&f, 0);
    fx_flush(&f);
    set_file_size((rlim_t)100 << 10);
    for (uint64_t i = 1; i < 3000; i++)
        fx_life(&f, i);
    sl_time begun = fx_now();
    fx_close(&f);
    assert_true(fx_now() - begun < 10 * SL_SEC);
    set_file_size(RLIM_INFINITY);
    /* As many of a batch as fit are written: the first ones, and none is left out between them. */
    assert_true(fx_number(f.file, "SELECT count(*) FROM events") >= FX_LIFE);
    assert_int_equal(fx_number(f.file, "SELECT max(id) - min(id) + 1 - count(*) FROM events"), 0);
    fx_done(&f);
}

/* ---- kill -9 ---- */

_Noreturn static void child_run(struct fx *f, int fd, uint64_t from) {
    struct sl_err err = {0};

    fx_open(f);
    for (uint64_t job = from;; job++) {
        fx_life(f, job);
        if (job % 7 == 0 && sl_ledger_flush(f->l, FX_PATIENCE, &err) >= 0 &&
            write(fd, &job, sizeof job) != sizeof job)
            _exit(1);
    }
}

static void test_kills(void **state) {
    struct fx f;
    struct sl_prng p;
    uint64_t flushed = 0;
    int lives = 0;

    (void)state;
    fx_init(&f);
    sl_prng_init(&p, 1);
    for (; lives < 25 || (flushed == 0 && lives < 1000); lives++) {
        int fds[2], status;
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) /* some of it again, as after a restart */
            child_run(&f, fds[1], flushed > 20 ? flushed - 20 : 0);
        (void)close(fds[1]);
        (void)usleep((useconds_t)sl_prng_below(&p, 60000));
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        uint64_t job;
        while (read(fds[0], &job, sizeof job) == sizeof job)
            flushed = job > flushed ? job : flushed;
        (void)close(fds[0]);
        fx_open(&f); /* it can always be opened */
        fx_close(&f);
        char sql[128];
        sl_fmt(sql, sizeof sql, "SELECT count(*) FROM events WHERE jobid <= %llu",
               (unsigned long long)flushed);
        if (flushed)
            assert_int_equal(fx_number(f.file, sql), (flushed + 1) * FX_LIFE);
        assert_int_equal(fx_number(f.file, FX_WRONG), 0);
    }
    assert_int_equal(fx_number(f.file, FX_TWICE), 0);
    assert_string_equal(fx_query(f.file, "PRAGMA integrity_check"), "ok");
    fx_done(&f);
}

/* ---- retention ---- */

static void test_retention(void **state) {
    struct fx f;
    struct timespec now;
    const int old = 3 * SL_LEDGER_MAX_EXPIRED + 7;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    for (int i = 0; i < old; i++)
        fx_life(&f, (uint64_t)i);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t today = now.tv_sec - FX_EPOCH / SL_SEC;
    assert_true(fx_event(&f, "runs", SL_LEDGER_START, 0, 0, ""));
    assert_true(fx_event(&f, "waits", SL_LEDGER_SUBMIT, 0, 0, ""));
    assert_true(fx_event(&f, "new", SL_LEDGER_SUBMIT, 0, 0, ""));
    assert_true(fx_event(&f, "new", SL_LEDGER_END, 0, today - 60, ""));
    assert_true(fx_event(&f, "future", SL_LEDGER_END, 0, today + 60, ""));
    fx_close(&f);
    assert_int_equal(fx_number(f.file, "SELECT count(*) FROM job_state"), old + 4);
    struct sl_err err = {0};
    assert_int_equal(
        sl_ledger_open(&(struct sl_ledger_spec){.url = f.file, .retention = 3600 * SL_SEC}, &f.l,
                       &err),
        0);
    for (sl_time end = fx_now() + FX_PATIENCE;
         fx_now() < end && fx_number(f.file, "SELECT count(*) FROM job_state") > 4;)
        fx_nap(10);
    assert_string_equal(fx_query(f.file, "SELECT uid FROM job_state ORDER BY uid"),
                        "future\nnew\nruns\nwaits");
    assert_int_equal(fx_number(f.file, "SELECT count(*) FROM events"), 5);
    fx_done(&f);
}

/* ---- several threads ---- */

static void *append_many(void *arg) {
    struct fx *f = arg;

    for (uint64_t i = 0; i < 500; i++)
        fx_life(f, i);
    return NULL;
}

static void test_threads(void **state) {
    pthread_t threads[4];
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    for (size_t i = 0; i < SL_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, append_many, &f), 0);
    for (size_t i = 0; i < SL_LEN(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    fx_flush(&f);
    assert_int_equal(fx_stats(&f).appended, 4 * 500 * FX_LIFE);
    assert_int_equal(fx_number(f.file, "SELECT count(*) FROM events"), 500 * FX_LIFE);
    assert_int_equal(fx_number(f.file, FX_WRONG), 0);
    fx_done(&f);
}

/* ---- the views stay quick ---- */

static void test_plans(void **state) {
    static const struct {
        const char *sql, *index;
    } cases[] = {
        {"SELECT * FROM pending_queue", "job_pending"},
        {"SELECT * FROM pods_provisional", "job_pending"},
        {"SELECT * FROM pods_provisional", "job_gathering"},
        {"SELECT * FROM runs WHERE uid = 'x'", "SEARCH n USING INDEX sqlite_autoindex_events_1"},
        {"SELECT pod_seconds FROM jobs WHERE uid = 'x'", "SEARCH e USING INDEX"},
        {"SELECT * FROM reservations", "job_reserved"},
        {"SELECT uid FROM job_state WHERE ended_ns < 5 ORDER BY ended_ns, uid LIMIT 9",
         "job_ended"},
        {"SELECT * FROM events WHERE uid = 'x'", "sqlite_autoindex_events_1"},
    };
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_open(&f);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        char sql[256];
        sl_fmt(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", cases[i].sql);
        const char *plan = fx_query(f.file, sql);
        if (!strstr(plan, cases[i].index))
            fail_msg("%s: %s", cases[i].sql, plan);
    }
    fx_done(&f);
}

/* ---- the spool of a server that is not there ---- */

static void spool_open(struct fx *f, int64_t most) {
    struct sl_err err = {0};
    struct sl_ledger_spec spec = {
        .url = "postgres://me:geheim@127.0.0.1:1/db", .spool = f->spool, .max_spool_bytes = most};

    if (sl_ledger_open(&spec, &f->l, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_spool(void **state) {
    struct fx f;
    struct sl_err err = {0};
    struct sl_ledger *second = NULL;
    struct stat st;

    (void)state;
    fx_init(&f);
    spool_open(&f, 0);
    for (uint64_t i = 0; i < 100; i++)
        fx_life(&f, i);
    fx_flush(&f);
    for (sl_time end = fx_now() + FX_PATIENCE; fx_now() < end && !*fx_stats(&f).error;)
        fx_nap(5);
    struct sl_ledger_stats s = fx_stats(&f);
    assert_false(s.connected);
    assert_non_null(strstr(s.error, "refused"));
    assert_null(strstr(s.error, "geheim"));
    assert_int_equal(s.spooled, 100 * FX_LIFE);
    assert_int_equal(stat(f.spool, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    /* It is ours alone. */
    struct sl_ledger_spec spec = {.url = "postgres://127.0.0.1:1/db", .spool = f.spool};
    assert_int_equal(sl_ledger_open(&spec, &second, &err), SL_EEXIST);
    assert_non_null(strstr(err.text, "in use by another process"));
    fx_close(&f);
    /* And is there next time. */
    spool_open(&f, 0);
    assert_int_equal(fx_stats(&f).spooled, 100 * FX_LIFE);
    sl_time begun = fx_now();
    fx_close(&f);
    assert_true(fx_now() - begun < 5 * SL_SEC);
    spec.max_spool_bytes = 1;
    assert_int_equal(sl_ledger_open(&spec, &second, &err), SL_EINVAL);
    fx_done(&f);
}

/* At its ceiling nothing that is there is lost, and what is new is counted. */
static void test_spool_ceiling(void **state) {
    const int64_t most = SL_LEDGER_MIN_SPOOL_BYTES;
    struct fx f;
    struct stat st;
    struct sl_err err = {0};
    uint64_t appended = 0;

    (void)state;
    fx_init(&f);
    spool_open(&f, most);
    struct sl_ledger_stats s = fx_stats(&f);
    for (int64_t i = 0; s.dropped < 100; i++) {
        appended += fx_event(&f, "a", SL_LEDGER_QUEUE, i, i, "because");
        if (i % 100 == 0 && sl_ledger_flush(f.l, 5 * SL_MSEC, &err) < 0)
            assert_non_null(strstr(err.text, "not written yet"));
        s = fx_stats(&f);
    }
    assert_non_null(strstr(s.error, "full"));
    assert_int_equal(s.appended, appended);
    assert_int_equal(s.spooled + s.queued, appended);
    assert_int_equal(s.queued, SL_LEDGER_MAX_QUEUED);
    assert_true(s.spooled > 500);
    assert_int_equal(stat(f.spool, &st), 0);
    assert_true(st.st_size <= most);
    fx_close(&f);
    uint64_t spooled = s.spooled;
    spool_open(&f, most);
    assert_true(fx_stats(&f).spooled >= spooled); /* closing tries once more: some may fit */
    fx_done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),       cmocka_unit_test(test_refused),
        cmocka_unit_test(test_read_only),   cmocka_unit_test(test_fields),
        cmocka_unit_test(test_once),        cmocka_unit_test(test_states),
        cmocka_unit_test(test_same_second), cmocka_unit_test(test_as_it_is),
        cmocka_unit_test(test_runs),        cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_views),       cmocka_unit_test(test_texts),
        cmocka_unit_test(test_any_texts),   cmocka_unit_test(test_full_queue),
        cmocka_unit_test(test_disk_full),   cmocka_unit_test(test_close_full),
        cmocka_unit_test(test_kills),       cmocka_unit_test(test_retention),
        cmocka_unit_test(test_threads),     cmocka_unit_test(test_plans),
        cmocka_unit_test(test_spool),       cmocka_unit_test(test_spool_ceiling),
        cmocka_unit_test(test_moved),       cmocka_unit_test(test_poison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
