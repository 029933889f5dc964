/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue in memory and the two threads. The writer moves events from the queue to the file; the
 * copier, with PostgreSQL, from the file to the server. They meet at the file, under its own lock,
 * so that whoever appends never waits for a disk or a network.
 *
 * A batch stays in the queue's account until it is committed: memory has one bound, whatever fails.
 */
#include "lib/ledger/ledger_int.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/log/log.h"
#include "lib/metrics/metrics.h"

struct sl_ledger {
    pthread_mutex_t lock; /* of all that has no other */
    pthread_cond_t work;  /* the queue is no longer empty, or the end */
    pthread_cond_t done;  /* a batch is written; the copier has ended */
    pthread_cond_t copy;  /* the spool is no longer empty, or the end */
    struct ledger_batch queue;
    uint64_t appended, dropped, refused, written, copied, queued, queued_bytes, spooled;
    struct sl_ledger_stats shown; /* what the metrics have */
    bool end, dropping, file_down, copier_ended;
    enum { UNKNOWN, UP, DOWN } server_state;
    char file_error[240], server_error[240];
    uint32_t refs; /* the caller, and the copier, which may be left behind in a name lookup */

    pthread_mutex_t file_lock;
    struct ledger_file *file;

    struct ledger_server *server; /* the copier's; NULL: there is none */
    int stop;                     /* an eventfd, readable from the end on; -1 */
    sl_span retention;
    sl_time opened;
    uint32_t haste;
    pthread_t writer, copier;
};

/* ---- waiting ---- */

static void cond_init(pthread_cond_t *c) {
    pthread_condattr_t a;

    sl_assert(pthread_condattr_init(&a) == 0 &&
              pthread_condattr_setclock(&a, CLOCK_MONOTONIC) == 0);
    sl_assert(pthread_cond_init(c, &a) == 0);
    (void)pthread_condattr_destroy(&a);
}

/* False: it is that late. */
static bool cond_wait(pthread_cond_t *c, pthread_mutex_t *lock, sl_time until) {
    struct timespec t = {until / SL_SEC, until % SL_SEC};

    if (until == SL_TIME_NEVER)
        return pthread_cond_wait(c, lock) == 0;
    return pthread_cond_timedwait(c, lock, &t) != ETIMEDOUT;
}

/* The time that pauses are measured in. What others take (a server, a disk, whoever waits for
 * sl_ledger_flush) is always in that of the system. */
static sl_time thread_now(const struct sl_ledger *l) {
    return l->opened + (ledger_monotonic() - l->opened) * l->haste;
}

/* With the lock held. False: it is that late. */
static bool thread_wait(struct sl_ledger *l, pthread_cond_t *c, sl_time until) {
    return cond_wait(c, &l->lock,
                     until == SL_TIME_NEVER ? until : l->opened + (until - l->opened) / l->haste);
}

/* Longer from one time to the next, and never for several processes at the same moment. With the
 * lock held. */
static void rest(struct sl_ledger *l, pthread_cond_t *c, sl_span *pause, sl_span most) {
    sl_time until = thread_now(l) + *pause - *pause / 4 * (ledger_monotonic() / 1000 % 1000) / 1000;

    *pause = 2 * *pause < most ? 2 * *pause : most;
    while (!l->end && thread_wait(l, c, until)) {
    }
}

/* ---- the writer ---- */

static void take_batch(struct sl_ledger *l, uint32_t most, struct ledger_batch *ret,
                       uint64_t *ret_n, uint64_t *ret_bytes) {
    uint64_t n = 0, bytes = 0;

    STAILQ_INIT(ret);
    while (n < most && !STAILQ_EMPTY(&l->queue)) {
        struct ledger_entry *e = STAILQ_FIRST(&l->queue);
        STAILQ_REMOVE_HEAD(&l->queue, link);
        STAILQ_INSERT_TAIL(ret, e, link);
        bytes += e->bytes;
        n++;
    }
    *ret_n = n;
    *ret_bytes = bytes;
}

/* What has changed, to be logged when nobody is kept waiting. */
struct news {
    bool down, up, again;
    uint64_t queued, dropped;
};

/* With the lock held. */
static struct news note_write(struct sl_ledger *l, int r, const struct sl_err *err) {
    /* A file that is full takes some now and then: it is well when nothing waits any more. */
    bool well = r >= 0 && STAILQ_EMPTY(&l->queue);
    struct news news = {
        .down = r < 0 && !l->file_down, .up = well && l->file_down, .dropped = l->dropped};

    l->file_down = r < 0 || (l->file_down && !well);
    sl_fmt_short(l->file_error, sizeof l->file_error, "%s", r < 0 ? err->text : "");
    if (r >= 0 && l->dropping && l->queued < SL_LEDGER_MAX_QUEUED / 2 &&
        l->queued_bytes < SL_LEDGER_MAX_QUEUED_BYTES / 2) {
        l->dropping = false;
        news.again = true;
    }
    news.queued = l->queued;
    return news;
}

static void tell_news(const struct news *n, const struct sl_err *err) {
    if (n->down)
        sl_log(SL_LOG_ERROR, "ledger write failed", SL_S("error", err->text),
               SL_I("queued", n->queued));
    if (n->up)
        sl_log(SL_LOG_INFO, "ledger write recovered", SL_I("queued", n->queued));
    if (n->again)
        sl_log(SL_LOG_INFO, "ledger accepts events again", SL_I("dropped", n->dropped));
}

static void tell_refused(const struct ledger_batch *b, const struct sl_err *err) {
    const struct sl_ledger_event *e = &STAILQ_FIRST(b)->e;
    char uid[SL_LEDGER_MAX_UID + 1];

    sl_fmt(uid, sizeof uid, "%.*s", (int)e->uid.n, e->uid.s);
    sl_log(SL_LOG_ERROR, "ledger event refused by the database", SL_S("uid", uid),
           SL_S("kind", sl_ledger_kind_name(e->kind)), SL_S("error", err->text));
}

/* Writes the first events of the queue: fewer after a failure, as many may not fit where some do.
 * One that is refused for what it is must not hold up the others: it is looked for alone, and left
 * out. With the lock held, which it releases meanwhile. */
static int write_some(struct sl_ledger *l, uint32_t *most) {
    struct ledger_batch batch;
    struct sl_err err = {0};
    uint64_t n, bytes;

    take_batch(l, *most, &batch, &n, &bytes);
    (void)pthread_mutex_unlock(&l->lock);
    (void)pthread_mutex_lock(&l->file_lock);
    int r = ledger_file_write(l->file, &batch, &err);
    (void)pthread_mutex_lock(&l->lock);
    if (r >= 0 && l->server)
        l->spooled += n; /* before the copier can see them */
    (void)pthread_mutex_unlock(&l->lock);
    (void)pthread_mutex_unlock(&l->file_lock);
    bool refused = r == SL_EMISMATCH, settled = r >= 0 || (refused && n == 1);
    if (refused && settled)
        tell_refused(&batch, &err);
    if (settled)
        ledger_batch_free(&batch);
    (void)pthread_mutex_lock(&l->lock);
    if (!settled) {
        STAILQ_CONCAT(&batch, &l->queue);
        STAILQ_CONCAT(&l->queue, &batch);
        *most = n > 1 && !refused ? (uint32_t)n / 2 : 1;
    } else {
        l->refused += refused;
        *most = 2 * *most < SL_LEDGER_MAX_COMMIT ? 2 * *most : SL_LEDGER_MAX_COMMIT;
        l->written += n;
        l->queued -= n;
        l->queued_bytes -= bytes;
        (void)pthread_cond_signal(&l->copy);
        (void)pthread_cond_broadcast(&l->done);
    }
    r = refused ? SL_OK : r;
    struct news news = note_write(l, r, &err);
    (void)pthread_mutex_unlock(&l->lock);
    tell_news(&news, &err);
    (void)pthread_mutex_lock(&l->lock);
    return r;
}

/* Of the ledger in a file. With the lock held, which it releases meanwhile. */
static void expire_from_file(struct sl_ledger *l, sl_time *next) {
    struct sl_err err = {0};

    (void)pthread_mutex_unlock(&l->lock);
    int n = ledger_file_expire(l->file, ledger_wall() - l->retention, &err);
    (void)pthread_mutex_lock(&l->lock);
    struct news news = note_write(l, n, &err);
    (void)pthread_mutex_unlock(&l->lock);
    tell_news(&news, &err);
    (void)pthread_mutex_lock(&l->lock);
    if (n < SL_LEDGER_MAX_EXPIRED)
        *next = thread_now(l) + SL_LEDGER_EXPIRY;
}

static void *write_thread(void *arg) {
    struct sl_ledger *l = arg;
    sl_time expiry = l->retention && !l->server ? 0 : SL_TIME_NEVER;
    sl_span pause = SL_LEDGER_LEAST_PAUSE;
    uint32_t most = SL_LEDGER_MAX_COMMIT;

    (void)pthread_mutex_lock(&l->lock);
    for (;;) {
        while (STAILQ_EMPTY(&l->queue) && !l->end && thread_now(l) < expiry)
            (void)thread_wait(l, &l->work, expiry);
        if (!STAILQ_EMPTY(&l->queue)) {
            bool last = l->end; /* then once is enough */
            if (write_some(l, &most) >= 0) {
                pause = SL_LEDGER_LEAST_PAUSE;
            } else {
                if (last)
                    break;
                rest(l, &l->work, &pause, SL_LEDGER_MOST_FILE_PAUSE);
            }
        } else if (l->end) {
            break;
        }
        if (!l->end && thread_now(l) >= expiry)
            expire_from_file(l, &expiry);
    }
    (void)pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* ---- the copier ---- */

/*
 * Rows that were copied are removed from the spool. On a full disk they cannot be: then the copier
 * goes on behind them, since the server has room, and when all are copied the file is made anew,
 * which frees what it took. So a spool that has filled its disk itself is emptied, too.
 */
struct copier {
    uint32_t most; /* events of the next batch */
    bool proven;   /* this connection has done something */
    sl_time expiry;
    int64_t kept; /* rows up to this one are copied, and could not be removed; 0: none */
};

static void note_server(struct sl_ledger *l, int r, const struct sl_err *err) {
    (void)pthread_mutex_lock(&l->lock);
    bool changed = l->server_state != (r < 0 ? DOWN : UP);
    uint64_t spooled = l->spooled;
    l->server_state = r < 0 ? DOWN : UP;
    sl_fmt_short(l->server_error, sizeof l->server_error, "%s", r < 0 ? err->text : "");
    (void)pthread_mutex_unlock(&l->lock);
    if (changed && r < 0)
        sl_log(SL_LOG_WARN, "ledger database unreachable", SL_S("error", err->text),
               SL_I("spooled", spooled));
    else if (changed)
        sl_log(SL_LOG_INFO, "ledger database connected", SL_I("spooled", spooled));
}

/* With the lock of the file held. */
static void remove_rows(struct sl_ledger *l, struct copier *c, int64_t last) {
    struct sl_err err = {0};
    int r = ledger_file_delete(l->file, last, &err);

    if (r < 0)
        r = sl_err_wrap(&err, r, "removing copied events");
    c->kept = r < 0 ? last : 0;
    (void)pthread_mutex_lock(&l->lock);
    struct news news = {0};
    if (r < 0) /* that it works again shows when something is written */
        news = note_write(l, r, &err);
    (void)pthread_mutex_unlock(&l->lock);
    tell_news(&news, &err);
}

/* Copied, or refused by the server for what they are. */
static void settle_rows(struct sl_ledger *l, struct copier *c, const struct ledger_rows *rows,
                        bool refused) {
    (void)pthread_mutex_lock(&l->file_lock);
    remove_rows(l, c, rows->last);
    (void)pthread_mutex_lock(&l->lock);
    l->spooled -= rows->n;
    *(refused ? &l->refused : &l->copied) += rows->n;
    bool empty = l->spooled == 0;
    (void)pthread_mutex_unlock(&l->lock);
    if (empty && c->kept)
        c->kept = ledger_file_renew(l->file) ? 0 : c->kept;
    else if (empty)
        ledger_file_shrink(l->file);
    (void)pthread_mutex_unlock(&l->file_lock);
}

static int copy_rows(struct sl_ledger *l, struct copier *c, const struct ledger_rows *rows,
                     struct sl_err *err) {
    int r =
        STAILQ_EMPTY(&rows->events) ? SL_OK : ledger_server_write(l->server, &rows->events, err);

    if (r >= 0) {
        c->proven = true;
        c->most = 2 * c->most < SL_LEDGER_MAX_COPY ? 2 * c->most : SL_LEDGER_MAX_COPY;
        settle_rows(l, c, rows, false);
        return SL_OK;
    }
    if (r != SL_EINVAL)
        return r;
    if (rows->n > 1) { /* which one is it? */
        c->most = 1;
        return SL_OK;
    }
    tell_refused(&rows->events, err);
    settle_rows(l, c, rows, true);
    return SL_OK;
}

/* 1: there was something to do; 0: nothing. */
static int copy_some(struct sl_ledger *l, struct copier *c, struct sl_err *err) {
    struct ledger_rows rows;
    bool more = false;
    int r = SL_OK;

    if (!ledger_server_connected(l->server)) {
        c->proven = false;
        r = ledger_server_connect(l->server, err);
    }
    if (r >= 0 && l->retention && thread_now(l) >= c->expiry) {
        r = ledger_server_expire(l->server, ledger_wall() - l->retention, err);
        more = r == SL_LEDGER_MAX_EXPIRED;
        if (r >= 0 && !more)
            c->expiry = thread_now(l) + SL_LEDGER_EXPIRY;
    }
    if (r < 0)
        return r;
    (void)pthread_mutex_lock(&l->file_lock);
    r = ledger_file_read(l->file, c->kept, c->most, &rows, err);
    (void)pthread_mutex_unlock(&l->file_lock);
    if (r >= 0 && rows.n)
        r = copy_rows(l, c, &rows, err);
    ledger_batch_free(&rows.events);
    return r < 0 ? r : more || rows.n;
}

static void ledger_unref(struct sl_ledger *l);

static void *copy_thread(void *arg) {
    struct sl_ledger *l = arg;
    struct copier c = {.most = SL_LEDGER_MAX_COPY};
    sl_span pause = SL_LEDGER_LEAST_PAUSE;

    (void)pthread_mutex_lock(&l->lock);
    while (!l->end) {
        struct sl_err err = {0};
        bool proven = c.proven;
        (void)pthread_mutex_unlock(&l->lock);
        int r = copy_some(l, &c, &err);
        /* A server that was restarted is first noticed now: a new connection is worth one attempt
         * before anybody hears of it. */
        bool stale = r < 0 && proven && c.proven && !ledger_server_connected(l->server);
        if (stale)
            c.proven = false;
        else if (r != SL_ESTALE)
            note_server(l, r, &err);
        (void)pthread_mutex_lock(&l->lock);
        if (r < 0 && !stale) {
            rest(l, &l->copy, &pause, SL_LEDGER_MOST_PAUSE);
            continue;
        }
        if (r >= 0)
            pause = SL_LEDGER_LEAST_PAUSE;
        sl_time until = l->retention ? c.expiry : SL_TIME_NEVER;
        while (r == 0 && !l->end && !l->spooled && thread_wait(l, &l->copy, until)) {
        }
    }
    l->copier_ended = true;
    (void)pthread_cond_broadcast(&l->done);
    (void)pthread_mutex_unlock(&l->lock);
    ledger_unref(l);
    return NULL;
}

/* ---- opening and closing ---- */

static void ledger_unref(struct sl_ledger *l) {
    (void)pthread_mutex_lock(&l->lock);
    bool last = --l->refs == 0;
    (void)pthread_mutex_unlock(&l->lock);
    if (!last)
        return;
    ledger_server_free(l->server);
    if (l->file)
        ledger_file_close(l->file);
    if (l->stop >= 0)
        (void)close(l->stop);
    ledger_batch_free(&l->queue);
    (void)pthread_cond_destroy(&l->work);
    (void)pthread_cond_destroy(&l->done);
    (void)pthread_cond_destroy(&l->copy);
    (void)pthread_mutex_destroy(&l->lock);
    (void)pthread_mutex_destroy(&l->file_lock);
    sl_freep(&l);
}

static bool begins(const char *s, const char *with) {
    return strncmp(s, with, strlen(with)) == 0;
}

static int open_parts(struct sl_ledger *l, const struct sl_ledger_spec *spec, struct sl_err *err) {
    const char *url = spec->url, *scheme = strstr(url, "://");
    int64_t most = spec->max_spool_bytes ? spec->max_spool_bytes : SL_LEDGER_MAX_SPOOL_BYTES;
    int r;

    if (begins(url, "postgres://") || begins(url, "postgresql://")) {
        if (!spec->spool)
            return sl_err_set(err, SL_EINVAL, "a ledger in PostgreSQL needs the path of a spool");
        if (most < SL_LEDGER_MIN_SPOOL_BYTES)
            return sl_err_set(err, SL_EINVAL, "a spool needs at least %d KiB",
                              (int)(SL_LEDGER_MIN_SPOOL_BYTES >> 10));
        l->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (l->stop < 0)
            return sl_err_set(err, SL_EIO, "eventfd: %s", strerror(errno));
        r = ledger_server_new(url, l->stop, &l->server, err);
        if (r >= 0)
            r = ledger_file_open(spec->spool, true, most, &l->file, err);
        if (r >= 0)
            r = ledger_file_count(l->file, &l->spooled, err);
        return r;
    }
    /* No more of it is quoted: what follows may have a password. */
    if (scheme &&
        strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.") ==
            (size_t)(scheme - url))
        return sl_err_set(err, SL_EINVAL,
                          "%.*s:// is no ledger: expected a path, sqlite:PATH or postgres://...",
                          (int)(scheme - url > 20 ? 20 : scheme - url), url);
    return ledger_file_open(begins(url, "sqlite:") ? url + strlen("sqlite:") : url, false, 0,
                            &l->file, err);
}

static void start(struct sl_ledger *l) {
    sigset_t all, before;

    /* Signals are for the program's own threads. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    l->refs += l->server != NULL;
    sl_assert(pthread_create(&l->writer, NULL, write_thread, l) == 0);
    sl_assert(!l->server || pthread_create(&l->copier, NULL, copy_thread, l) == 0);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int sl_ledger_open(const struct sl_ledger_spec *spec, struct sl_ledger **ret, struct sl_err *err) {
    struct sl_ledger *l = sl_alloc0(1, sizeof *l);

    STAILQ_INIT(&l->queue);
    l->stop = -1;
    l->refs = 1;
    l->retention = spec->retention > 0 ? spec->retention : 0;
    l->opened = ledger_monotonic();
    l->haste = spec->haste ? spec->haste : 1;
    sl_assert(pthread_mutex_init(&l->lock, NULL) == 0 &&
              pthread_mutex_init(&l->file_lock, NULL) == 0);
    cond_init(&l->work);
    cond_init(&l->done);
    cond_init(&l->copy);
    int r = open_parts(l, spec, err);
    if (r < 0) {
        ledger_unref(l);
        return sl_err_wrap(err, r, "ledger");
    }
    start(l);
    *ret = l;
    return SL_OK;
}

void sl_ledger_close(struct sl_ledger *l) {
    if (!l)
        return;
    (void)pthread_mutex_lock(&l->lock);
    l->end = true;
    (void)pthread_cond_broadcast(&l->work);
    (void)pthread_cond_broadcast(&l->copy);
    (void)pthread_mutex_unlock(&l->lock);
    if (l->stop >= 0)
        sl_assert(eventfd_write(l->stop, 1) == 0);
    (void)pthread_join(l->writer, NULL);
    (void)pthread_mutex_lock(&l->lock);
    uint64_t lost = l->queued;
    const sl_time until = ledger_monotonic() + SL_LEDGER_CLOSE;
    while (l->server && !l->copier_ended && cond_wait(&l->done, &l->lock, until)) {
    }
    bool ended = l->copier_ended;
    (void)pthread_mutex_unlock(&l->lock);
    if (lost)
        sl_log(SL_LOG_ERROR, "ledger closed with unwritten events", SL_I("queued", lost));
    if (l->server && ended)
        (void)pthread_join(l->copier, NULL);
    else if (l->server)
        (void)pthread_detach(l->copier);
    ledger_unref(l);
}

/* ---- the interface ---- */

bool sl_ledger_append(struct sl_ledger *l, const struct sl_ledger_event *e) {
    /* Outside of the lock, which no text is copied under. */
    struct ledger_entry *copy = ledger_entry_new(e);
    bool fits = false, first = false;

    (void)pthread_mutex_lock(&l->lock);
    uint64_t queued = l->queued;
    if (!copy) {
        l->refused++;
    } else if (l->queued >= SL_LEDGER_MAX_QUEUED ||
               l->queued_bytes + copy->bytes > SL_LEDGER_MAX_QUEUED_BYTES) {
        l->dropped++;
        first = !l->dropping;
        l->dropping = true;
    } else {
        fits = true;
        if (STAILQ_EMPTY(&l->queue))
            (void)pthread_cond_signal(&l->work);
        STAILQ_INSERT_TAIL(&l->queue, copy, link);
        l->appended++;
        l->queued++;
        l->queued_bytes += copy->bytes;
    }
    (void)pthread_mutex_unlock(&l->lock);
    if (!fits)
        sl_freep(&copy);
    if (first)
        sl_log(SL_LOG_ERROR, "ledger events dropped", SL_I("queued", queued),
               SL_I("limit", SL_LEDGER_MAX_QUEUED));
    return fits;
}

int sl_ledger_flush(struct sl_ledger *l, sl_span patience, struct sl_err *err) {
    const sl_time until = sl_time_add(ledger_monotonic(), patience);
    int r = SL_OK;

    (void)pthread_mutex_lock(&l->lock);
    const uint64_t target = l->appended;
    while (l->written < target && cond_wait(&l->done, &l->lock, until)) {
    }
    if (l->written < target)
        r = sl_err_set(err, SL_EIO, "ledger: %llu events are not written yet%s%s",
                       (unsigned long long)(target - l->written), *l->file_error ? ": " : "",
                       l->file_error);
    (void)pthread_mutex_unlock(&l->lock);
    return r;
}

void sl_ledger_stats(struct sl_ledger *l, struct sl_ledger_stats *ret) {
    (void)pthread_mutex_lock(&l->lock);
    *ret = (struct sl_ledger_stats){
        .appended = l->appended,
        .dropped = l->dropped,
        .refused = l->refused,
        .written = l->written,
        .copied = l->copied,
        .queued = l->queued,
        .queued_bytes = l->queued_bytes,
        .spooled = l->spooled,
        .connected = l->server ? l->server_state == UP : !l->file_down,
    };
    sl_fmt(ret->error, sizeof ret->error, "%s", *l->file_error ? l->file_error : l->server_error);
    (void)pthread_mutex_unlock(&l->lock);
}

void sl_ledger_metrics(struct sl_ledger *l, struct sl_metrics *m) {
    struct sl_ledger_stats s;

    if (!l)
        return;
    sl_ledger_stats(l, &s);
    const struct {
        const char *result;
        uint64_t is, was;
    } events[] = {
        {"written", s.written, l->shown.written},
        {"copied", s.copied, l->shown.copied},
        {"dropped", s.dropped, l->shown.dropped},
        {"refused", s.refused, l->shown.refused},
    };
    for (size_t i = 0; i < SL_LEN(events); i++)
        sl_metric_add(m, SL_M_LEDGER_EVENTS_TOTAL, (double)(events[i].is - events[i].was),
                      events[i].result);
    sl_metric_set(m, SL_M_LEDGER_WAITING_EVENTS, (double)s.queued, "memory");
    sl_metric_set(m, SL_M_LEDGER_WAITING_EVENTS, (double)s.spooled, "spool");
    sl_metric_set(m, SL_M_LEDGER_UP, s.connected && !*s.error);
    l->shown = s;
}
