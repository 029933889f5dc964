/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger in a real PostgreSQL server: while it runs, while it does not, and while it dies. */
#include "postgres_fixture.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* ---- the same in both databases ---- */

static void test_same(void **state) {
    static const char columns[] =
        "SELECT uid, last_ns, namespace, name, type, flux_job_name, jobid, queue, username, "
        "priority, size, group_name, duration_ns, estimated_start_ns, nodes, resources, reason, "
        "message, state, state_ns, submitted_ns, first_started_ns, started_ns, ended_ns, "
        "reservation, starts, run_ns FROM job_state ORDER BY uid";
    static const char events[] =
        "SELECT time_ns, uid, kind, number, namespace, name, type, flux_job_name, jobid, queue, "
        "username, priority, size, group_name, duration_ns, estimated_start_ns, nodes, resources, "
        "reason, message FROM events ORDER BY id";
    static const struct sl_text words[] = {
        SL_TEXT(""),          SL_TEXT(""), SL_TEXT("a"), SL_TEXT("b\0c"), SL_TEXT("\xc3\xa9\xff"),
        SL_TEXT("it's; \"\\")};
    struct fx lite, pg;
    struct sl_prng p;

    (void)state;
    pg_create("same", "UTF8");
    fx_init(&lite);
    fx_init(&pg);
    fx_open(&lite);
    open_url(&pg, pg_url("same", ""), 0);
    sl_prng_init(&p, 7);
    for (int i = 0; i < 300; i++) {
        char uid[16];
        sl_fmt(uid, sizeof uid, "job-%d", (int)sl_prng_below(&p, 20));
#define WORD words[sl_prng_below(&p, SL_LEN(words))]
        struct sl_ledger_event e = {
            .uid = sl_text_of(uid),
            .kind = (enum sl_ledger_kind)sl_prng_below(&p, SL_LEDGER_KINDS),
            .number = (int64_t)sl_prng_below(&p, 4),
            .at = (int64_t)sl_prng_below(&p, 50) * SL_SEC,
            .ns = WORD,
            .name = WORD,
            .type = WORD,
            .flux_job = WORD,
            .queue = WORD,
            .user = WORD,
            .group = WORD,
            .given = (uint32_t)sl_prng_below(&p, 32),
            .jobid = INT64_MIN + (int64_t)sl_prng_below(&p, 9),
            .priority = (int64_t)sl_prng_below(&p, 9),
            .size = (int64_t)sl_prng_below(&p, 9),
            .duration = INT64_MAX - (int64_t)sl_prng_below(&p, 9),
            .estimate = (int64_t)sl_prng_below(&p, 9),
            .nodes = WORD,
            .resources = WORD,
            .reason = WORD,
            .message = WORD,
        };
        assert_true(sl_ledger_append(lite.l, &e));
        assert_true(sl_ledger_append(pg.l, &e));
    }
    fx_flush(&lite);
    drain(&pg);
    assert_string_equal(pg_query("same", events), fx_query(lite.file, events));
    assert_string_equal(pg_query("same", columns), fx_query(lite.file, columns));
    static const char *const views[] = {
        "SELECT jobspec, namespace, flux_job_name, name, type, reservation, duration, size, uid, "
        "queue, priority, username, reason, message FROM pending_queue ORDER BY uid",
        "SELECT name, flux_id, namespace, uid, queue FROM reservations ORDER BY uid",
        "SELECT group_name, group_size, namespace, name, podspec, duration FROM pods_provisional "
        "ORDER BY 1, 2, 3, 4, 5, 6",
        "SELECT uid, state, starts, duration, CAST(wait_seconds * 1000 AS BIGINT), "
        "CAST(run_seconds * 1000 AS BIGINT), CAST(pod_seconds * 1000 AS BIGINT) FROM jobs WHERE "
        "ended "
        "IS NOT NULL ORDER BY uid",
        "SELECT uid, size, CAST(pod_seconds AS BIGINT), began_ns, ended_ns FROM runs WHERE ended "
        "IS NOT NULL ORDER BY uid, began_ns, ended_ns, size, 3",
    };
    for (size_t i = 0; i < SL_LEN(views); i++)
        if (i != 2) /* text orders differ for NULL */
            assert_string_equal(pg_query("same", views[i]), fx_query(lite.file, views[i]));
    fx_done(&lite);
    fx_done(&pg);
}

/* As the walk-through does. */
static void test_psql(void **state) {
    struct fx f;

    (void)state;
    pg_create("walk", "UTF8");
    fx_init(&f);
    open_url(&f, pg_url("walk", ""), 0);
    fx_life(&f, 1);
    assert_true(sl_ledger_append(f.l, &(struct sl_ledger_event){.uid = SL_TEXT("u"),
                                                                .kind = SL_LEDGER_SUBMIT,
                                                                .at = FX_EPOCH,
                                                                .name = SL_TEXT("lammps"),
                                                                .given = SL_LEDGER_SIZE,
                                                                .size = 4}));
    drain(&f);
    assert_non_null(strstr(pg_psql("walk", "\\dt"), "|events|table|"));
    assert_non_null(strstr(pg_psql("walk", "\\dv"), "|pending_queue|view|"));
    assert_string_equal(pg_psql("walk", "SELECT group_name, group_size from pods_provisional;"),
                        "group_name|group_size\nlammps|4\n(1 row)\n");
    assert_string_equal(pg_query("walk", "SELECT created_at AT TIME ZONE 'UTC' FROM pending_queue"),
                        "2023-11-14 22:13:20");
    /* As docs/ledger.md has them: what ended in November, and what was used then. */
    assert_string_equal(
        pg_query("walk", "SELECT namespace, queue, count(*), sum(pod_seconds) / 3600 AS pod_hours "
                         "FROM jobs WHERE ended >= '2023-11-01' AND ended < '2023-12-01' GROUP BY "
                         "namespace, queue ORDER BY pod_hours DESC"),
        "team-a|batch|1|0.011111111111111112");
    assert_string_equal(
        pg_query("walk", "SELECT namespace, queue, sum(size * extract(epoch FROM "
                         "least(coalesce(ended, now()), '2023-11-14 22:14:06Z') - greatest(began, "
                         "'2023-11-01'))) FROM runs WHERE began < '2023-11-14 22:14:06Z' AND "
                         "coalesce(ended, now()) > '2023-11-01' GROUP BY namespace, queue"),
        "team-a|batch|20.000000");
    /* The schema is there: a role that may not create anything can go on. */
    (void)pg_query("walk",
                   "CREATE ROLE clerk LOGIN PASSWORD 'x'; REVOKE CREATE ON SCHEMA public FROM "
                   "PUBLIC; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "
                   "clerk; GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO clerk");
    fx_close(&f);
    char url[128];
    sl_fmt(url, sizeof url, "postgresql://clerk:x@127.0.0.1:%d/walk", pg_port());
    open_url(&f, url, 0);
    fx_life(&f, 2);
    drain(&f);
    assert_int_equal(pg_number("walk", "SELECT count(*) FROM jobs"), 3);
    fx_done(&f);
}

/* ---- a server that dies ---- */

#define KILLED_JOBS 2000u

static void *append_slowly(void *arg) {
    struct fx *f = arg;

    for (uint64_t i = 0; i < KILLED_JOBS; i++) {
        fx_life(f, i);
        if (i % 100 == 0)
            fx_nap(5);
    }
    return NULL;
}

static void test_killed(void **state) {
    uint64_t next = 1000;
    int kills = 0;
    struct fx f;
    pthread_t thread;

    (void)state;
    pg_create("killed", "UTF8");
    fx_init(&f);
    open_url(&f, pg_url("killed", ""), 0);
    assert_int_equal(pthread_create(&thread, NULL, append_slowly, &f), 0);
    for (sl_time end = 0; fx_stats(&f).copied < KILLED_JOBS * FX_LIFE && patient(&end);) {
        if (fx_stats(&f).copied < next)
            continue;
        pg_kill();
        fx_nap(20);
        pg_start();
        kills++;
        next = fx_stats(&f).copied + 2500;
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    drain(&f);
    assert_true(kills >= 2);
    check_jobs("killed", KILLED_JOBS);
    /* Appended again, as after a restart with an older spool. */
    for (uint64_t i = 0; i < KILLED_JOBS; i += 10)
        fx_life(&f, i);
    drain(&f);
    check_jobs("killed", KILLED_JOBS);
    fx_done(&f);
}

/* ---- a server that is away ---- */

static void test_away(void **state) {
    const uint64_t jobs = 4000;
    struct fx f;
    struct stat st;

    (void)state;
    pg_create("away", "UTF8");
    fx_init(&f);
    open_url(&f, pg_url("away", ""), 0);
    fx_life(&f, 0);
    drain(&f);
    long before = fx_rss();
    pg_kill();
    for (uint64_t i = 1; i < jobs; i++)
        fx_life(&f, i);
    fx_flush(&f);
    struct sl_ledger_stats s = fx_stats(&f);
    assert_int_equal(s.spooled, (jobs - 1) * FX_LIFE);
    await_error(&f, "connection");
    long grown = fx_rss() - before;
    print_message("# %llu events spooled, memory grew by %ld KiB\n", (unsigned long long)s.spooled,
                  grown);
    assert_true(SL_SANITISED || grown < 32 << 10);
    /* The process ends meanwhile, and another goes on. */
    fx_close(&f);
    open_url(&f, pg_url("away", ""), 0);
    assert_int_equal(fx_stats(&f).spooled, s.spooled);
    pg_start();
    sl_time begun = fx_now();
    drain(&f);
    print_message("# caught up in %lld ms\n", (long long)((fx_now() - begun) / SL_MSEC));
    assert_true(fx_stats(&f).connected);
    assert_string_equal(fx_stats(&f).error, "");
    check_jobs("away", (int64_t)jobs);
    /* What the spool took is free again. */
    for (sl_time end = 0; stat(f.spool, &st) == 0 && st.st_size > 5 << 20 && patient(&end);) {
    }
    assert_true(st.st_size <= 5 << 20);
    fx_done(&f);
}

/* The server stops in the middle: appending, flushing and closing do not. */
static void test_hangs(void **state) {
    struct fx f;

    (void)state;
    pg_create("hangs", "UTF8");
    fx_init(&f);
    open_url(&f, pg_url("hangs", ""), 0);
    fx_life(&f, 0);
    drain(&f);
    pg_signal(SIGSTOP);
    sl_time begun = fx_now();
    for (uint64_t i = 1; i < 1000; i++)
        fx_life(&f, i);
    fx_flush(&f);
    assert_true(fx_stats(&f).spooled > 0);
    fx_close(&f);
    assert_true(fx_now() - begun < 10 * SL_SEC);
    pg_signal(SIGCONT);
    open_url(&f, pg_url("hangs", ""), 0);
    drain(&f);
    check_jobs("hangs", 1000);
    fx_done(&f);
}

/* A statement that waits, for a lock that somebody holds, ends at the server before it is given up
 * here: else each attempt would leave one of the server's connections in use. */
static void test_statements_end(void **state) {
    static const char note[] =
        "CREATE TABLE seen (has text); CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN INSERT INTO seen VALUES (current_setting('statement_timeout')); RETURN NEW; END "
        "$$; CREATE TRIGGER note AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION note()";
    static const struct {
        const char *database, *options, *limit;
    } cases[] = {
        {"locked", "", "25s"},
        {"hurried", "options=-c%20statement_timeout%3D20s", "20s"}, /* a shorter one stays */
        {"patient", "options=-c%20statement_timeout%3D60s", "25s"},
    };
    struct fx f;

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        pg_create(cases[i].database, "UTF8");
        fx_init(&f);
        open_url(&f, pg_url(cases[i].database, cases[i].options), 0);
        fx_life(&f, 0);
        drain(&f);
        (void)pg_query(cases[i].database, note);
        assert_true(fx_event(&f, "a", SL_LEDGER_SUBMIT, 1, 0, ""));
        drain(&f);
        assert_string_equal(pg_query(cases[i].database, "SELECT DISTINCT has FROM seen"),
                            cases[i].limit);
        fx_done(&f);
    }
}

/* ---- servers that are none, or not ours ---- */

static int listen_silently(int *ret_port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 8) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    *ret_port = ntohs(a.sin_port);
    return fd;
}

static void test_silent(void **state) {
    struct fx f;
    char url[256];
    int silent;

    (void)state;
    fx_init(&f);
    int fd = listen_silently(&silent);
    sl_fmt(url, sizeof url, "postgres://me:%s@127.0.0.1:%d/db?connect_timeout=1", PG_PASSWORD_URL,
           silent);
    open_url(&f, url, 0);
    fx_life(&f, 1);
    fx_flush(&f);
    await_error(&f, "has not answered in 1 seconds");
    assert_int_equal(fx_stats(&f).spooled, FX_LIFE);
    fx_close(&f);
    /* In the middle of an attempt that may take long. */
    sl_fmt(url, sizeof url, "postgres://me@127.0.0.1:%d/db?connect_timeout=0", silent);
    open_url(&f, url, 0);
    fx_nap(50);
    sl_time begun = fx_now();
    fx_close(&f);
    assert_true(fx_now() - begun < SL_SEC);
    /* The next of several hosts answers. */
    pg_create("hosts", "UTF8");
    sl_fmt(url, sizeof url,
           "postgres://sluice:%s"
           "@127.0.0.1:1,127.0.0.1:%d,127.0.0.1:%d/hosts?connect_timeout=1",
           PG_PASSWORD_URL, silent, pg_port());
    open_url(&f, url, 0);
    drain(&f);
    check_jobs("hosts", 1);
    (void)close(fd);
    fx_done(&f);
}

/* What a hostile server says to the first query, after it has let us in. */
struct hostile {
    int listener;
    const char *once, *again; /* messages, the second one without end */
    size_t once_n, again_n;
};

#define LET_IN                                                                                     \
    "R\0\0\0\x08\0\0\0\0"                                                                          \
    "S\0\0\0\x19server_encoding\0UTF8\0"                                                           \
    "Z\0\0\0\x05I"
#define COLUMN                                                                                     \
    "T\0\0\0\x1a\0\x01"                                                                            \
    "c\0\0\0\0\0\0\0\0\0\0\x14\0\x08\xff\xff\xff\xff\0\0"
#define ROW                                                                                        \
    "D\0\0\0\x0c\0\x01\0\0\0\x02"                                                                  \
    "42"
#define COPIES "H\0\0\0\x07\0\0\0"

static bool send_all(int fd, const char *s, size_t n) {
    while (n > 0) {
        ssize_t sent = send(fd, s, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        s += sent;
        n -= (size_t)sent;
    }
    return true;
}

static void *be_hostile(void *arg) {
    static char many[1 << 20];
    const struct hostile *h = arg;
    char got[4096];

    for (size_t i = 0; h->again && i < sizeof many; i++)
        many[i] = h->again[i % h->again_n];
    for (int fd; (fd = accept(h->listener, NULL, NULL)) >= 0; (void)close(fd)) {
        bool on = recv(fd, got, sizeof got, 0) > 0 && send_all(fd, LET_IN, sizeof LET_IN - 1) &&
                  recv(fd, got, sizeof got, 0) > 0 && send_all(fd, h->once, h->once_n);
        while (on && h->again && send_all(fd, many, sizeof many / h->again_n * h->again_n)) {
        }
        if (on && !h->again)
            (void)recv(fd, got, sizeof got, 0); /* until it is closed */
    }
    return NULL;
}

/* Its answers have an end, in bytes and in time. */
static void test_hostile(void **state) {
    const struct {
        struct hostile h;
        const char *wanted;
    } cases[] = {
        {{0, COLUMN, ROW, sizeof COLUMN - 1, sizeof ROW - 1}, "has more than 2097152 bytes"},
        {{0, COPIES, NULL, sizeof COPIES - 1, 0}, "the server copies"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct hostile h = cases[i].h;
        pthread_t thread;
        struct fx f;
        char url[256];
        int port;

        fx_init(&f);
        h.listener = listen_silently(&port);
        assert_int_equal(pthread_create(&thread, NULL, be_hostile, &h), 0);
        sl_fmt(url, sizeof url, "postgres://me@127.0.0.1:%d/db?sslmode=disable&gssencmode=disable",
               port);
        open_url(&f, url, 0);
        fx_life(&f, 1);
        fx_flush(&f);
        await_error(&f, cases[i].wanted);
        fx_done(&f);
        (void)shutdown(h.listener, SHUT_RDWR);
        assert_int_equal(pthread_join(thread, NULL), 0);
        (void)close(h.listener);
    }
}

static void test_refusals(void **state) {
    char wrong[256], options[256], good[256];
    struct fx f;

    (void)state;
    pg_create("latin", "LATIN1");
    pg_create("newer", "UTF8");
    (void)pg_query("newer", "CREATE TABLE sluice_schema(version BIGINT NOT NULL); INSERT INTO "
                            "sluice_schema VALUES (9)");
    sl_fmt(wrong, sizeof wrong, "postgres://sluice:falsch@127.0.0.1:%d/postgres", pg_port());
    sl_fmt(options, sizeof options, "sslmode=verify-full&sslrootcert=%s/other.crt", pg_folder());
    const struct {
        const char *url, *wanted;
    } cases[] = {
        {wrong, "password authentication failed"},
        {strdup(pg_url("none", "")), "database \"none\" does not exist"},
        {strdup(pg_url("postgres", options)), "certificate verify failed"},
        {strdup(pg_url("latin", "")), "encoding LATIN1: expected UTF8"},
        {strdup(pg_url("newer", "")), "newer version of Sluice (schema 9, supported: 2)"},
    };
    fx_init(&f);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        open_url(&f, cases[i].url, 0);
        fx_life(&f, i);
        fx_flush(&f);
        await_error(&f, cases[i].wanted);
        assert_null(strstr(fx_stats(&f).error, "falsch"));
        fx_close(&f);
        if (i)
            free((void *)(uintptr_t)cases[i].url);
    }
    /* Nothing was lost by all that. */
    pg_create("good", "UTF8");
    sl_fmt(options, sizeof options, "sslmode=verify-full&sslrootcert=%s/server.crt", pg_folder());
    sl_fmt(good, sizeof good, "%s", pg_url("good", options));
    open_url(&f, good, 0);
    drain(&f);
    check_jobs("good", (int64_t)SL_LEN(cases));
    fx_done(&f);
}

/* An event that this database does not take is left out, and those after it are not held up. */
static void poison(const char *database, const char *sql) {
    struct fx f;

    pg_create(database, "UTF8");
    fx_init(&f);
    open_url(&f, pg_url(database, ""), 0);
    fx_life(&f, 0);
    drain(&f);
    (void)pg_query(database, sql);
    pg_signal(SIGSTOP); /* so that they are in one batch */
    for (uint64_t i = 1; i < 20; i++) {
        fx_life(&f, i);
        if (i % 5 == 0)
            assert_true(fx_event(&f, "poison", SL_LEDGER_SUBMIT, (int64_t)i, 0, ""));
    }
    fx_flush(&f);
    pg_signal(SIGCONT);
    drain(&f);
    assert_int_equal(fx_stats(&f).refused, 3);
    check_jobs(database, 20);
    fx_done(&f);
}

static void test_poison(void **state) {
    (void)state;
    poison("poison", "ALTER TABLE events ADD CHECK (name <> 'poison')");
    poison("raised", "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF "
                     "NEW.name = 'poison' THEN RAISE EXCEPTION 'not this one'; END IF; RETURN "
                     "NEW; END $$; CREATE TRIGGER refuse BEFORE INSERT ON events FOR EACH ROW "
                     "EXECUTE FUNCTION refuse()");
}

/* A database of before goes on, and what others made of its views stays. */
static void test_version_1(void **state) {
    char *sql = fx_version_1(LEDGER_POSTGRES);
    struct fx f;

    (void)state;
    pg_create("before", "UTF8");
    (void)pg_query("before", sql);
    (void)pg_query("before", "CREATE VIEW theirs AS SELECT name FROM jobs");
    fx_init(&f);
    open_url(&f, pg_url("before", ""), 0);
    fx_life(&f, 1);
    drain(&f);
    assert_string_equal(pg_query("before", FX_VERSION_2), "2|2|60|3");
    assert_int_equal(pg_number("before", "SELECT count(*) FROM theirs"), 3);
    assert_int_equal(pg_number("before", "SELECT count(*) FROM events"), 4 + FX_LIFE);
    fx_done(&f);
    sl_freep(&sql);
}

/* ---- several, and for how long ---- */

static void test_replicas(void **state) {
    struct fx f[3];

    (void)state;
    pg_create("replicas", "UTF8");
    for (size_t i = 0; i < SL_LEN(f); i++) {
        fx_init(&f[i]);
        open_url(&f[i], pg_url("replicas", ""), 0); /* they create the schema at once */
    }
    for (uint64_t job = 0; job < 300; job++)
        for (size_t i = 0; i < SL_LEN(f); i++)
            fx_life(&f[i], i == 1 ? 299 - job : job);
    for (size_t i = 0; i < SL_LEN(f); i++)
        drain(&f[i]);
    check_jobs("replicas", 300);
    for (size_t i = 0; i < SL_LEN(f); i++)
        fx_done(&f[i]);
}

static void test_retention(void **state) {
    struct fx f;

    (void)state;
    pg_create("retention", "UTF8");
    fx_init(&f);
    open_url(&f, pg_url("retention", ""), 0);
    for (uint64_t i = 0; i < 2 * SL_LEDGER_MAX_EXPIRED + 5; i++)
        fx_life(&f, i);
    assert_true(fx_event(&f, "runs", SL_LEDGER_START, 0, 0, ""));
    drain(&f);
    fx_close(&f);
    open_url(&f, pg_url("retention", ""), 3600 * SL_SEC);
    for (sl_time end = 0;
         pg_number("retention", "SELECT count(*) FROM job_state") > 1 && patient(&end);) {
    }
    assert_string_equal(pg_query("retention", "SELECT uid, kind FROM events"), "runs|start");
    fx_done(&f);
}

static int begin(void **state) {
    (void)state;
    pg_begin();
    return 0;
}

static int end(void **state) {
    (void)state;
    pg_end();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),           cmocka_unit_test(test_psql),
        cmocka_unit_test(test_killed),         cmocka_unit_test(test_away),
        cmocka_unit_test(test_hangs),          cmocka_unit_test(test_silent),
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_poison),
        cmocka_unit_test(test_hostile),        cmocka_unit_test(test_replicas),
        cmocka_unit_test(test_retention),      cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_statements_end),
    };
    if (!pg_found()) {
        (void)fprintf(stderr, "PostgreSQL is not installed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, begin, end);
}
