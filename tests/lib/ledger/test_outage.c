/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A PostgreSQL server that is away for an hour, in the time of the ledger's own pauses: work goes
 * on, memory and disk stay within their ceilings, what happens is said once, and the ledger catches
 * up. Then the same with a spool that is full, and on a disk that is.
 */
#include "postgres_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/log/log.h"
#include "lib/metrics/metrics.h"

#define HASTE 600 /* an hour is six seconds */
#define HOUR (3600 * SL_SEC)
/* More than PostgreSQL takes in that time under the sanitisers is no test of the ledger. */
#define HOUR_JOBS (SL_SANITISED ? UINT64_C(1000) : UINT64_C(4000))
#define WAL_BYTES ((int64_t)4 << 20) /* of SQLite's log: journal_size_limit, and a transaction */

/* ---- what is logged ---- */

/* Standard error in a file, between the two. */
static int log_fd = -1, stderr_fd = -1;

static void lines_begin(void) {
    char path[] = "/tmp/sl-ledger-log-XXXXXX";

    (void)fflush(stderr);
    log_fd = mkstemp(path);
    assert_true(log_fd >= 0 && unlink(path) == 0);
    stderr_fd = dup(STDERR_FILENO);
    assert_true(stderr_fd >= 0 && dup2(log_fd, STDERR_FILENO) >= 0);
}

static const char *lines_text(void) {
    static char text[1 << 20];
    ssize_t n = pread(log_fd, text, sizeof text - 1, 0);

    assert_true(n >= 0);
    text[n] = '\0';
    return text;
}

static int lines_count(const char *message) {
    int found = 0;

    for (const char *p = lines_text(); (p = strstr(p, message)); p++)
        found++;
    return found;
}

/* Also as a teardown: what failed is said there. */
static int lines_end(void **state) {
    (void)state;
    if (log_fd < 0)
        return 0;
    (void)fflush(stderr);
    if (dup2(stderr_fd, STDERR_FILENO) >= 0)
        (void)fputs(lines_text(), stderr);
    (void)close(stderr_fd);
    (void)close(log_fd);
    log_fd = -1;
    return 0;
}

/* ---- a port that nobody serves ---- */

struct closed_port {
    pthread_t thread;
    int fd, stop[2];
    uint32_t attempts;
};

static void *hang_up(void *arg) {
    struct closed_port *c = arg;

    for (;;) {
        struct pollfd p[] = {{.fd = c->fd, .events = POLLIN}, {.fd = c->stop[0], .events = POLLIN}};
        if (poll(p, 2, -1) < 0 || p[1].revents)
            return NULL;
        int fd = accept(c->fd, NULL, NULL);
        if (fd >= 0) {
            c->attempts++;
            (void)close(fd);
        }
    }
}

/* In place of the server. */
static void closed_begin(struct closed_port *c) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                            .sin_port = htons((uint16_t)pg_port())};
    int on = 1;

    *c = (struct closed_port){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_true(c->fd >= 0);
    assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    assert_int_equal(bind(c->fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(c->fd, 8), 0);
    assert_int_equal(pipe2(c->stop, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&c->thread, NULL, hang_up, c), 0);
}

static uint32_t closed_end(struct closed_port *c) {
    assert_int_equal(write(c->stop[1], "", 1), 1);
    assert_int_equal(pthread_join(c->thread, NULL), 0);
    (void)close(c->fd);
    (void)close(c->stop[0]);
    (void)close(c->stop[1]);
    return c->attempts;
}

/* ---- the hour ---- */

static void open_hasty(struct fx *f, const char *database, int64_t max_spool_bytes) {
    struct sl_err err = {0};
    /* one attempt is one connection */
    struct sl_ledger_spec spec = {.url = pg_url(database, "sslmode=disable&gssencmode=disable"),
                                  .spool = f->spool,
                                  .max_spool_bytes = max_spool_bytes,
                                  .haste = HASTE};

    if (sl_ledger_open(&spec, &f->l, &err) < 0)
        fail_msg("%s", err.text);
}

static int64_t size_of(const char *path, const char *ending) {
    char full[200];
    struct stat st;

    sl_fmt(full, sizeof full, "%s%s", path, ending);
    return stat(full, &st) == 0 ? st.st_size : 0;
}

struct hour {
    uint64_t first, jobs; /* of the hour */
    int64_t most_bytes;   /* of the spool with its log */
    long most_kib;        /* of memory that the process grew by */
    sl_span slowest;      /* to append all events of a job */
};

/* The events of a job as they would come, without waiting for room; returns how many found it. */
static uint64_t append_life(struct fx *f, uint64_t job) {
    static const enum sl_ledger_kind kinds[FX_LIFE] = {
        SL_LEDGER_SUBMIT, SL_LEDGER_QUEUE, SL_LEDGER_RESERVE, SL_LEDGER_START, SL_LEDGER_END};
    char uid[40], message[300];
    uint64_t fits = 0;

    sl_fmt(uid, sizeof uid, "hour-%llu", (unsigned long long)job);
    memset(message, 'm', sizeof message);
    for (int i = 0; i < FX_LIFE; i++)
        fits += sl_ledger_append(
            f->l, &(struct sl_ledger_event){.uid = sl_text_of(uid),
                                            .kind = kinds[i],
                                            .number = 1,
                                            .at = FX_EPOCH + ((int64_t)job + i) * SL_SEC,
                                            .name = sl_text_of(uid),
                                            .message = {message, sizeof message}});
    return fits;
}

/* Jobs come evenly over an hour; returns how many events found room. */
static uint64_t work_for_an_hour(struct fx *f, struct hour *h) {
    const sl_time begun = fx_now();
    const long before = fx_rss();
    uint64_t fits = 0;

    for (uint64_t i = 0; i < h->jobs; i++) {
        const sl_time due = begun + HOUR / HASTE / (sl_span)h->jobs * (sl_span)i;
        while (fx_now() < due)
            fx_nap(1);
        const sl_time at = fx_now();
        fits += append_life(f, h->first + i);
        const sl_span took = fx_now() - at;
        h->slowest = took > h->slowest ? took : h->slowest;
        if (i % 100 == 0) {
            int64_t bytes = size_of(f->spool, "") + size_of(f->spool, "-wal");
            long grown = fx_rss() - before;
            h->most_bytes = bytes > h->most_bytes ? bytes : h->most_bytes;
            h->most_kib = grown > h->most_kib ? grown : h->most_kib;
        }
    }
    return fits;
}

static void check_hour(const struct hour *h, const char *what) {
    print_message("# %s: %llu jobs, memory grew by %ld KiB, %lld KiB on disk, slowest append %lld "
                  "us\n",
                  what, (unsigned long long)h->jobs, h->most_kib, (long long)(h->most_bytes >> 10),
                  (long long)(h->slowest / SL_USEC));
    assert_true(SL_SANITISED || h->most_kib < (long)(SL_LEDGER_MEMORY >> 10));
    assert_true(h->slowest < 5 * SL_SEC); /* of a machine with much else to do */
}

static void test_hour(void **state) {
    struct hour h = {.first = 1, .jobs = HOUR_JOBS};
    struct closed_port closed;
    struct fx f;

    (void)state;
    pg_create("hour", "UTF8");
    fx_init(&f);
    open_hasty(&f, "hour", 0);
    assert_int_equal(append_life(&f, 0), FX_LIFE);
    drain(&f);
    lines_begin();
    pg_kill();
    closed_begin(&closed);
    assert_int_equal(work_for_an_hour(&f, &h), h.jobs * FX_LIFE);
    fx_flush(&f);
    struct sl_ledger_stats s = fx_stats(&f);
    const uint32_t attempts = closed_end(&closed);
    assert_int_equal(s.spooled, h.jobs * FX_LIFE);
    assert_int_equal(s.queued + s.dropped, 0);
    assert_false(s.connected);
    pg_start();
    const sl_time begun = fx_now();
    drain(&f);
    const sl_span took = fx_now() - begun;
    assert_true(fx_stats(&f).connected);
    assert_int_equal(lines_count("ledger database unreachable"), 1);
    /* That of the first connection may have come late. */
    const char *down = strstr(lines_text(), "ledger database unreachable"),
               *up = down ? strstr(down, "ledger database connected") : NULL;
    assert_non_null(up);
    assert_null(strstr(up + 1, "ledger database connected"));
    (void)lines_end(NULL);
    check_hour(&h, "an hour without the server");
    print_message("# %u attempts to connect, caught up in %lld ms\n", attempts,
                  (long long)(took / SL_MSEC));
    /* Pauses of 15 s less a quarter at most, and the shorter ones at first. Each attempt takes its
     * time, which counts here 600 times. */
    assert_true(attempts <= HOUR / (SL_LEDGER_MOST_PAUSE / 4 * 3) + 10);
    assert_true(SL_SANITISED || attempts >= 60);
    assert_int_equal(pg_number("hour", "SELECT count(*) FROM events"), (h.jobs + 1) * FX_LIFE);
    assert_int_equal(pg_number("hour", FX_TWICE), 0);
    assert_int_equal(pg_number("hour", FX_WRONG), 0);
    fx_done(&f);
}

static int64_t metric(struct fx *f, const char *line) {
    _cleanup_(sl_buf_done) struct sl_buf out = SL_BUF(1 << 20);
    struct sl_metrics *m = sl_metrics_new();

    sl_ledger_metrics(f->l, m);
    sl_metrics_print(m, &out);
    const char *at = strstr(sl_buf_str(&out), line);
    int64_t n = at ? strtoll(at + strlen(line), NULL, 10) : -1;
    sl_metrics_free(m);
    return n;
}

/* The spool is full before the hour is over: what is in it stays, so many more wait in memory, the
 * others are counted; both are said once. Then the server is back, and the ledger has all but
 * those. */
static void test_spool_full(void **state) {
    const int64_t most = (int64_t)1 << 20;
    struct hour h = {.jobs = SL_LEDGER_MAX_QUEUED / FX_LIFE + (SL_SANITISED ? 2000 : 4000)};
    struct fx f;

    (void)state;
    pg_create("crammed", "UTF8");
    fx_init(&f);
    open_hasty(&f, "crammed", most);
    lines_begin();
    pg_kill();
    uint64_t fits = work_for_an_hour(&f, &h);
    struct sl_ledger_stats s = fx_stats(&f);
    assert_int_equal(s.appended, fits);
    assert_int_equal(s.appended + s.dropped, h.jobs * FX_LIFE);
    assert_true(s.dropped > 0 && s.spooled > 1000);
    assert_int_equal(s.queued, SL_LEDGER_MAX_QUEUED);
    assert_non_null(strstr(s.error, "full"));
    assert_true(h.most_bytes <= most + WAL_BYTES + (2 << 20));
    assert_int_equal(metric(&f, "\nsluice_ledger_up "), 0);
    assert_int_equal(metric(&f, "\nsluice_ledger_waiting_events{place=\"spool\"} "), s.spooled);
    const uint64_t dropped = s.dropped, again = h.jobs + 1;
    pg_start();
    drain(&f);
    for (sl_time end = 0; fx_stats(&f).queued > 0 && patient(&end);) {
    }
    drain(&f);
    assert_int_equal(append_life(&f, again), FX_LIFE); /* there is room again */
    drain(&f);
    s = fx_stats(&f);
    assert_int_equal(s.dropped, dropped);
    assert_int_equal(metric(&f, "\nsluice_ledger_up "), 1);
    assert_string_equal(s.error, "");
    assert_int_equal(lines_count("ledger events dropped"), 1);
    assert_int_equal(lines_count("ledger accepts events again"), 1);
    assert_int_equal(lines_count("ledger write failed"), 1);
    assert_int_equal(lines_count("ledger write recovered"), 1);
    (void)lines_end(NULL);
    check_hour(&h, "a full spool");
    print_message("# %llu events dropped\n", (unsigned long long)dropped);
    assert_int_equal(pg_number("crammed", "SELECT count(*) FROM events"), fits + FX_LIFE);
    assert_int_equal(pg_number("crammed", FX_TWICE), 0);
    fx_done(&f);
}

/* ---- a full disk ---- */

/* A file system of its own under the spool. False: not allowed here. */
static bool small_disk(const struct fx *f, const char *size) {
    char options[32];

    sl_fmt(options, sizeof options, "size=%s", size);
    if (mount("tmpfs", f->dir, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0)
        return true;
    assert_true(errno == EPERM || errno == EACCES);
    return false;
}

/* The spool fills its disk while the server is away. With the server back it is emptied, though a
 * full disk has no room to remove anything, and the ledger goes on. */
static void test_full_disk(void **state) {
    const uint64_t jobs = 2500;
    struct fx f;

    (void)state;
    fx_init(&f);
    if (!small_disk(&f, "1m")) {
        fx_done(&f);
        skip();
    }
    pg_create("disk", "UTF8");
    open_hasty(&f, "disk", 0);
    assert_int_equal(append_life(&f, 0), FX_LIFE);
    drain(&f);
    lines_begin();
    pg_kill();
    uint64_t fits = FX_LIFE;
    for (uint64_t i = 1; i < jobs; i++)
        fits += append_life(&f, i);
    for (sl_time end = 0; !strstr(fx_stats(&f).error, "full") && patient(&end);) {
    }
    fx_nap(200); /* a minute of attempts */
    struct sl_ledger_stats s = fx_stats(&f);
    assert_non_null(strstr(s.error, "full"));
    assert_true(s.spooled > 100 && s.queued > 0);
    assert_int_equal(lines_count("ledger write failed"), 1);
    assert_int_equal(s.appended, fits);
    pg_start();
    for (sl_time end = 0; fx_stats(&f).queued + fx_stats(&f).spooled > 0 && patient(&end);) {
    }
    s = fx_stats(&f);
    (void)lines_end(NULL);
    print_message("# %llu events through a disk of 1 MiB, %llu dropped\n", (unsigned long long)fits,
                  (unsigned long long)s.dropped);
    assert_int_equal(s.queued + s.spooled, 0);
    assert_string_equal(s.error, "");
    assert_true(s.connected);
    assert_int_equal(pg_number("disk", "SELECT count(*) FROM events"), fits);
    assert_int_equal(pg_number("disk", FX_TWICE), 0);
    /* It can be opened again, and is empty. */
    fx_close(&f);
    open_hasty(&f, "disk", 0);
    assert_int_equal(fx_stats(&f).spooled, 0);
    fx_close(&f);
    assert_int_equal(umount2(f.dir, MNT_DETACH), 0);
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
        cmocka_unit_test_teardown(test_hour, lines_end),
        cmocka_unit_test_teardown(test_spool_full, lines_end),
        cmocka_unit_test_teardown(test_full_disk, lines_end),
    };
    if (!pg_found()) {
        (void)fprintf(stderr, "PostgreSQL is not installed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, begin, end);
}
