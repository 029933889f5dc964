/* SPDX-License-Identifier: Apache-2.0 */
/* A full disk; a file that is damaged, of another program, or in use. */
#include "store_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/log/log.h"

static char big[100000];

/* Writes beyond this many bytes of a file fail, as on a full disk. */
static void limit_files(rlim_t bytes) {
    struct rlimit l;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = bytes < l.rlim_max ? bytes : l.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static int put_object(struct fx *f, const char *name, size_t len) {
    return sl_store_put(f->st, 0, "ns", name, "uid", big, len, NULL, NULL);
}

struct observed {
    uint64_t last, n;
};

static void on_event(void *ctx, const struct sl_store_event *ev) {
    struct observed *h = ctx;

    assert_true(ev->now->version > h->last);
    h->last = ev->now->version;
    h->n++;
}

/* Fills the disk; gives how many objects "f0", "f1" ... were kept. */
static uint32_t fill(struct fx *f) {
    char name[16];

    limit_files(1 << 20);
    for (uint32_t i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "f%u", i);
        assert_int_equal(put_object(f, name, sizeof big), 0);
        if (fx_settle(f) < 0)
            return i;
    }
    fail_msg("the disk is never full");
    return 0;
}

static void test_full_disk(void **state) {
    struct sl_store_watch *w;
    struct sl_store_stats stats;
    struct observed heard = {0};
    struct fx f;
    int first = 1, second = 1, third = 1;

    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    fx_init(&f);
    f.past = 30; /* so full that something of it goes with each change */
    fx_opened(&f);
    assert_int_equal(sl_store_watch(f.st, 0, 1, on_event, &heard, &w), 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(put_object(&f, "old", 10), 0);
        assert_int_equal(fx_settle(&f), 0);
    }
    heard.n = 1;
    assert_int_equal(put_object(&f, "going", 10), 0);
    assert_int_equal(fx_settle(&f), 0);
    uint64_t old = sl_store_get(f.st, 0, "ns", "old")->version;
    uint32_t n = fill(&f);
    assert_int_equal(heard.n, n + 2);

    /* A creation, a change, a deletion and what builds on them: all are rolled back, and the
     * waiters get the error. */
    struct sl_store_object *going = sl_store_get(f.st, 0, "ns", "going");
    assert_int_equal(put_object(&f, "new", sizeof big), 0);
    sl_store_on_commit(f.st, sl_store_version(f.st), fx_flag, &first);
    assert_int_equal(put_object(&f, "old", sizeof big), 0);
    assert_int_equal(sl_store_delete(f.st, going, "x", 1, NULL), 0);
    (void)uv_run(&f.loop, UV_RUN_NOWAIT); /* they are on their way */
    assert_int_equal(put_object(&f, "going", 20), 0);
    assert_int_equal(put_object(&f, "new", 20), 0);
    sl_store_on_commit(f.st, sl_store_version(f.st), fx_flag, &second);
    uint64_t before = sl_store_version(f.st);
    assert_int_equal(fx_settle(&f), SL_EIO);
    assert_int_equal(first, SL_EIO);
    assert_int_equal(second, SL_EIO);
    sl_store_on_commit(f.st, before, fx_flag, &third); /* reads now see only what is committed */
    assert_int_equal(third, 0);
    assert_null(sl_store_get(f.st, 0, "ns", "new"));
    assert_int_equal(sl_store_get(f.st, 0, "ns", "old")->version, old);
    assert_int_equal(sl_store_get(f.st, 0, "ns", "going")->len, 10);
    assert_int_equal(sl_store_count(f.st, 0), n + 2);
    assert_int_equal(heard.n, n + 2);
    assert_int_equal(sl_store_version(f.st), before);
    sl_store_stats(f.st, &stats);
    assert_int_equal(stats.failures, 2);
    assert_int_equal(stats.objects, n + 2);

    /* Small ones may fit; when there is enough space, all do. */
    limit_files(RLIM_INFINITY);
    assert_int_equal(put_object(&f, "new", sizeof big), 0);
    assert_int_equal(fx_settle(&f), 0);
    assert_int_equal(heard.n, n + 3);
    assert_int_equal(heard.last, before + 1);
    fx_close(&f);
    fx_opened(&f);
    assert_int_equal(sl_store_version(f.st), before + 1);
    assert_int_equal(sl_store_count(f.st, 0), n + 3);
    assert_int_equal(sl_store_get(f.st, 0, "ns", "new")->version, before + 1);
    assert_int_equal(sl_store_get(f.st, 0, "ns", "old")->version, old);
    fx_done(&f);
}

/* What was to be written over is still there, and comes first the next time: what was deleted does
 * not come back. */
static void test_full_past(void **state) {
    struct fx f;

    (void)state;
    fx_init(&f);
    f.past = 1;
    fx_opened(&f);
    assert_int_equal(put_object(&f, "going", 10), 0);
    assert_int_equal(fx_settle(&f), 0);
    assert_int_equal(sl_store_delete(f.st, sl_store_get(f.st, 0, "ns", "going"), "x", 1, NULL), 0);
    assert_int_equal(fx_settle(&f), 0);
    assert_int_equal(put_object(&f, "a", 10), 0);
    assert_int_equal(fx_settle(&f), 0);
    limit_files(1);
    assert_int_equal(put_object(&f, "b", 10), 0);
    assert_int_equal(fx_settle(&f), SL_EIO);
    limit_files(RLIM_INFINITY);
    assert_int_equal(put_object(&f, "c", 10), 0);
    assert_int_equal(fx_settle(&f), 0);
    fx_close(&f);
    fx_opened(&f);
    assert_int_equal(sl_store_count(f.st, 0), 2);
    assert_null(sl_store_get(f.st, 0, "ns", "going"));
    fx_done(&f);
}

/* A disk that stays full for as many changes as there are versions in reserve: they are refused,
 * nothing spins, and when there is space again the next one but one is committed. */
static void test_long_full(void **state) {
    struct fx f;
    int r = 0;

    (void)state;
    fx_init(&f);
    fx_opened(&f);
    uint32_t n = fill(&f);
    for (uint32_t i = 0; i < 100000 && r >= 0; i++) {
        r = put_object(&f, "x",
                       i % 1000 ? 1 : sizeof big); /* one that does not fit takes all back */
        if (i % 1000 == 999)
            assert_int_equal(fx_settle(&f), SL_EIO);
    }
    assert_int_equal(r, SL_EIO);
    (void)fx_settle(&f);
    limit_files(RLIM_INFINITY);
    for (uint32_t i = 0; i < 5000 && (r = put_object(&f, "x", 1)) < 0; i++) {
        (void)uv_run(&f.loop, UV_RUN_ONCE);
        (void)usleep(1000);
    }
    assert_int_equal(r, 0);
    assert_int_equal(fx_settle(&f), 0);
    uint64_t last = sl_store_version(f.st);
    fx_close(&f);
    fx_opened(&f);
    assert_int_equal(sl_store_version(f.st), last);
    assert_int_equal(sl_store_count(f.st, 0), n + 1);
    fx_done(&f);
}

/* A resource that is dropped while the disk is full leaves the file later; nothing spins. */
static void test_full_drop(void **state) {
    struct sl_store_stats before, after;
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_opened(&f);
    assert_int_equal(sl_store_resource(f.st, 7, "late", NULL), 0);
    assert_int_equal(sl_store_put(f.st, 7, "", "x", "u", "t", 1, NULL, NULL), 0);
    assert_int_equal(sl_store_delete(f.st, sl_store_get(f.st, 7, "", "x"), "t", 1, NULL), 0);
    assert_int_equal(fx_settle(&f), 0);
    uint32_t n = fill(&f);
    sl_store_stats(f.st, &before);
    assert_true(sl_store_drop(f.st, 7));
    for (uint32_t i = 0; i < 100; i++) {
        (void)uv_run(&f.loop, UV_RUN_NOWAIT);
        (void)usleep(1000);
    }
    sl_store_stats(f.st, &after);
    assert_int_equal(after.failures, before.failures);
    limit_files(RLIM_INFINITY);
    assert_int_equal(put_object(&f, "y", 1), 0);
    assert_int_equal(fx_settle(&f), 0);
    fx_close(&f);
    fx_opened(&f);
    assert_int_equal(sl_store_count(f.st, 0), n + 1);
    /* Its past has gone with it. */
    struct sl_store_watch *w;
    struct observed heard = {0};
    assert_int_equal(sl_store_resource(f.st, 7, "late", NULL), 0);
    assert_int_equal(sl_store_watch(f.st, 7, 2, on_event, &heard, &w), SL_ESTALE);
    fx_done(&f);
}

static void test_in_use(void **state) {
    struct fx f, other;
    struct sl_err err = {0};

    (void)state;
    fx_init(&f);
    fx_opened(&f);
    struct stat st;
    assert_int_equal(stat(f.file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    other = f;
    assert_int_equal(uv_loop_init(&other.loop), 0);
    assert_int_equal(fx_open(&other, &err), SL_EEXIST);
    char who[32];
    (void)snprintf(who, sizeof who, "pid %d;", (int)getpid());
    assert_non_null(strstr(err.text, who));
    (void)uv_run(&other.loop, UV_RUN_NOWAIT);
    assert_int_equal(put_object(&f, "x", 10), 0);
    assert_int_equal(fx_settle(&f), 0); /* the first one is not affected */
    fx_close(&f);
    assert_int_equal(fx_open(&other, &err), 0);
    assert_int_equal(sl_store_count(other.st, 0), 1);
    fx_close(&other);
    assert_int_equal(uv_loop_close(&other.loop), 0);
    fx_done(&f);
}

static void refuse(struct fx *f, const char *words) {
    struct sl_err err = {0};

    assert_int_equal(fx_open(f, &err), SL_EINVAL);
    if (!strstr(err.text, words) || !strstr(err.text, f->file))
        fail_msg("'%s' does not say '%s'", err.text, words);
    (void)uv_run(&f->loop, UV_RUN_NOWAIT);
}

static void put_bytes(const char *path, off_t at, const char *bytes, size_t n) {
    int fd = open(path, O_RDWR | O_CREAT, 0600);

    assert_int_equal(pwrite(fd, bytes, n, at), n);
    (void)close(fd);
}

/* With this in it; closed, so that all stands in the file itself. */
static void make_store(struct fx *f, size_t len) {
    fx_init(f);
    fx_opened(f);
    for (uint32_t i = 0; i < 30; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%u", i);
        assert_int_equal(put_object(f, name, len), 0);
    }
    assert_int_equal(fx_settle(f), 0);
    fx_close(f);
}

static void test_damage(void **state) {
    struct fx f;
    struct stat st;

    (void)state;
    make_store(&f, 3000); /* no file of SQLite's any more */
    put_bytes(f.file, 0, "garbage that is no header", 25);
    refuse(&f, "move it away");
    fx_done(&f);

    make_store(&f, 3000); /* a page that makes no sense */
    assert_int_equal(stat(f.file, &st), 0);
    for (off_t at = 4096; at < st.st_size; at += 4096)
        put_bytes(f.file, at, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    refuse(&f, "is corrupt");
    fx_done(&f);

    make_store(&f, 3000); /* a text with other bytes */
    assert_int_equal(stat(f.file, &st), 0);
    for (off_t at = 8192 + 2000; at < st.st_size; at += 4096)
        put_bytes(f.file, at, "B", 1);
    refuse(&f, "checksum");
    fx_done(&f);

    make_store(&f, 3000); /* the second half is missing */
    assert_int_equal(stat(f.file, &st), 0);
    assert_int_equal(truncate(f.file, st.st_size / 8192 * 4096), 0);
    refuse(&f, "is corrupt");
    fx_done(&f);
}

static void run_sql(const char *path, const char *text) {
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A file of format 1: objects without a past. */
static void test_format_1(void **state) {
    struct sl_store_watch *w;
    struct observed heard = {0};
    struct fx f;

    (void)state;
    fx_init(&f);
    run_sql(f.file,
            "PRAGMA application_id=0x534c5543; PRAGMA user_version=1;"
            "CREATE TABLE marks(what TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;"
            "CREATE TABLE resources(number INTEGER PRIMARY KEY, name TEXT UNIQUE);"
            "CREATE TABLE objects(row INTEGER PRIMARY KEY, version INTEGER, ns TEXT, name TEXT,"
            " uid TEXT, sum INTEGER, text BLOB);"
            "INSERT INTO marks VALUES('version', 9); INSERT INTO resources VALUES(1, 'pods');"
            "INSERT INTO objects VALUES(1099511627777, 7, 'ns', 'a', 'u1', 7923961837499105935,"
            " 'first'), (1099511627778, 3, 'ns', 'b', 'u2', 1044652275917904669, 'second')");
    for (int life = 0; life < 2; life++) {
        fx_opened(&f);
        assert_int_equal(sl_store_count(f.st, 0), 2);
        assert_int_equal(sl_store_watch(f.st, 0, 8, on_event, &heard, &w), SL_ESTALE);
        assert_int_equal(sl_store_watch(f.st, 0, 9, on_event, &heard, &w), 0);
        heard = (struct observed){0};
        assert_int_equal(put_object(&f, "a", 10), 0);
        assert_int_equal(fx_settle(&f), 0);
        assert_int_equal(heard.n, life + 1);
        fx_close(&f);
    }
    fx_done(&f);
}

static int64_t query_sql(const char *path, const char *text) {
    sqlite3_stmt *s;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return n;
}

/* Opens it twice: there are so many objects both times, and so many rows were set aside. */
static void set_aside(struct fx *f, uint32_t objects, int64_t rows) {
    struct sl_store_watch *w;
    struct observed heard = {0};

    for (int life = 0; life < 2; life++) {
        fx_opened(f);
        assert_int_equal(sl_store_count(f->st, 0), objects);
        /* what was before is not whole any more */
        uint64_t version = sl_store_version(f->st);
        assert_int_equal(sl_store_watch(f->st, 0, version - 1, on_event, &heard, &w), SL_ESTALE);
        assert_int_equal(sl_store_watch(f->st, 0, version, on_event, &heard, &w), 0);
        fx_close(f);
    }
    assert_int_equal(query_sql(f->file, "SELECT count(*) FROM damaged"), rows);
}

/* One row that is damaged does not keep the others from being there, and does not vanish. */
static void test_damaged_rows(void **state) {
    struct fx f;

    (void)state;
    make_store(&f, 10); /* the only text of an object */
    run_sql(f.file, "UPDATE objects SET text = 'bad' WHERE name = 'n3'");
    set_aside(&f, 29, 1);
    assert_int_equal(
        query_sql(f.file, "SELECT count(*) FROM damaged WHERE name = 'n3' AND text = 'bad'"), 1);
    fx_opened(&f);
    assert_null(sl_store_get(f.st, 0, "ns", "n3"));
    assert_int_equal(put_object(&f, "n3", 20), 0); /* and its name can be used again */
    assert_int_equal(fx_settle(&f), 0);
    fx_done(&f);

    make_store(&f, 10); /* the newest text of an object that has an older one */
    fx_opened(&f);
    uint64_t older = sl_store_get(f.st, 0, "ns", "n3")->version;
    assert_int_equal(put_object(&f, "n3", 20), 0);
    assert_int_equal(fx_settle(&f), 0);
    fx_close(&f);
    run_sql(f.file, "UPDATE objects SET text = 'bad' WHERE name = 'n3' AND length(text) = 20");
    set_aside(&f, 30, 1);
    fx_opened(&f);
    assert_int_equal(sl_store_get(f.st, 0, "ns", "n3")->version, older);
    fx_done(&f);

    make_store(&f, 10); /* an older text of an object that has a newer one */
    fx_opened(&f);
    assert_int_equal(put_object(&f, "n3", 20), 0);
    assert_int_equal(fx_settle(&f), 0);
    fx_close(&f);
    run_sql(f.file, "UPDATE objects SET text = 'bad' WHERE name = 'n3' AND length(text) = 10");
    set_aside(&f, 30, 1);
    fx_opened(&f);
    assert_int_equal(sl_store_get(f.st, 0, "ns", "n3")->len, 20);
    fx_done(&f);

    make_store(&f, 10); /* the tombstone: the object does not come back */
    fx_opened(&f);
    assert_int_equal(sl_store_delete(f.st, sl_store_get(f.st, 0, "ns", "n3"), "x", 1, NULL), 0);
    assert_int_equal(fx_settle(&f), 0);
    fx_close(&f);
    run_sql(f.file, "UPDATE objects SET text = 'bad' WHERE gone = 1");
    set_aside(&f, 29, 2);
    fx_done(&f);

    make_store(&f, 10); /* the same object twice */
    run_sql(f.file,
            "INSERT INTO objects SELECT row + 1000, version, ns, name, uid, sum, text, gone, "
            "floor FROM objects LIMIT 1");
    set_aside(&f, 30, 1);
    fx_done(&f);

    make_store(&f, 10); /* the end of something that is not there, no names, types that are none */
    run_sql(f.file, "UPDATE objects SET gone = 1 WHERE name = 'n3';"
                    "UPDATE objects SET ns = NULL, name = NULL, uid = NULL WHERE name = 'n4';"
                    "UPDATE objects SET text = NULL, version = 'x' WHERE name = 'n5';"
                    "UPDATE objects SET text = 7, sum = NULL WHERE name = 'n6'");
    set_aside(&f, 26, 4);
    fx_done(&f);

    make_store(&f, 10); /* so many that it is not about rows any more; none is moved */
    run_sql(f.file, "UPDATE objects SET text = 'bad' WHERE name LIKE 'n1%' OR name LIKE 'n2%'");
    refuse(&f, "checksum");
    assert_int_equal(query_sql(f.file, "SELECT count(*) FROM objects"), 30);
    fx_done(&f);
}

static void test_strangers(void **state) {
    struct fx f;
    struct sl_err err = {0};

    (void)state;
    fx_init(&f);
    run_sql(f.file, "CREATE TABLE cats(name TEXT)");
    refuse(&f, "another program");
    fx_done(&f);

    make_store(&f, 10);
    run_sql(f.file, "PRAGMA user_version=3");
    refuse(&f, "newer version of Sluice");
    fx_done(&f);

    make_store(&f, 10); /* versions must not go back */
    run_sql(f.file, "UPDATE marks SET value = 3");
    refuse(&f, "impossible version");
    fx_done(&f);

    fx_init(&f); /* no folder */
    (void)snprintf(f.file, sizeof f.file, "%s/none/x", f.dir);
    assert_int_equal(fx_open(&f, &err), SL_EIO);
    assert_non_null(strstr(err.text, "No such file"));
    fx_done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_disk), cmocka_unit_test(test_full_past),
        cmocka_unit_test(test_long_full), cmocka_unit_test(test_full_drop),
        cmocka_unit_test(test_in_use),    cmocka_unit_test(test_damage),
        cmocka_unit_test(test_format_1),  cmocka_unit_test(test_damaged_rows),
        cmocka_unit_test(test_strangers),
    };
    memset(big, 'b', sizeof big);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
