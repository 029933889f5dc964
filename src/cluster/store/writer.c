/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/store_int.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "lib/log/log.h"

struct store_writer {
    struct store_file *file;
    uv_async_t *wake;
    uv_thread_t thread;
    uv_mutex_t lock; /* of all that follows */
    uv_cond_t changed;
    const struct store_batch *job; /* NULL: none, or it is done */
    bool done, end, hurry;
    bool stuck; /* a sync failed, and what it was for is not overwritten yet */
    int r;
    struct sl_err err;
};

#define LEAST_PAUSE (50 * SL_MSEC)
#define MOST_PAUSE (5 * SL_SEC)

/*
 * Waits until it is certain that what could not be synced will not come back. Only then may the
 * failure be reported: it might otherwise be undone by a crash, unnoticed. While the disk does not
 * sync, nothing is answered.
 */
static void overwrite(struct store_writer *w, const struct sl_err *why) {
    struct sl_err err = {0};
    sl_time pause = LEAST_PAUSE;

    if (store_file_overwrite(w->file, &err) >= 0)
        return;
    sl_log(SL_LOG_ERROR, "fsync failed, commits stalled", SL_S("error", why->text));
    uv_mutex_lock(&w->lock);
    w->stuck = true;
    uv_cond_broadcast(&w->changed);
    for (int r = -1; r < 0 && !w->hurry;) {
        (void)uv_cond_timedwait(&w->changed, &w->lock, (uint64_t)pause);
        pause = 2 * pause < MOST_PAUSE ? 2 * pause : MOST_PAUSE;
        uv_mutex_unlock(&w->lock);
        r = store_file_overwrite(w->file, &err);
        uv_mutex_lock(&w->lock);
    }
    w->stuck = false;
    uv_mutex_unlock(&w->lock);
}

static void work(void *arg) {
    struct store_writer *w = arg;

    uv_mutex_lock(&w->lock);
    for (;;) {
        while (!w->job && !w->end)
            uv_cond_wait(&w->changed, &w->lock);
        if (!w->job)
            break;
        const struct store_batch *job = w->job;
        uv_mutex_unlock(&w->lock);
        struct sl_err err = {0};
        bool unknown;
        int r = store_file_commit(w->file, job, &unknown, &err);
        if (unknown)
            overwrite(w, &err);
        uv_mutex_lock(&w->lock);
        w->job = NULL;
        w->done = true;
        w->r = r;
        w->err = err;
        uv_cond_broadcast(&w->changed);
        (void)uv_async_send(w->wake);
    }
    uv_mutex_unlock(&w->lock);
}

struct store_writer *store_writer_start(struct store_file *f, uv_async_t *wake) {
    struct store_writer *w = sl_alloc0(1, sizeof *w);
    sigset_t all, before;

    w->file = f;
    w->wake = wake;
    sl_assert(uv_mutex_init(&w->lock) == 0 && uv_cond_init(&w->changed) == 0);
    /* Signals are for the loop's thread. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    sl_assert(uv_thread_create(&w->thread, work, w) == 0);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return w;
}

void store_writer_end(struct store_writer *w) {
    uv_mutex_lock(&w->lock);
    w->end = true;
    uv_cond_broadcast(&w->changed);
    uv_mutex_unlock(&w->lock);
    (void)uv_thread_join(&w->thread);
    uv_cond_destroy(&w->changed);
    uv_mutex_destroy(&w->lock);
    sl_freep(&w);
}

void store_writer_submit(struct store_writer *w, const struct store_batch *b) {
    uv_mutex_lock(&w->lock);
    sl_assert(!w->job && !w->done);
    w->job = b;
    uv_cond_broadcast(&w->changed);
    uv_mutex_unlock(&w->lock);
}

void store_writer_hurry(struct store_writer *w) {
    uv_mutex_lock(&w->lock);
    w->hurry = true;
    uv_cond_broadcast(&w->changed);
    uv_mutex_unlock(&w->lock);
}

int store_writer_take(struct store_writer *w, bool wait, struct sl_err *err) {
    uv_mutex_lock(&w->lock);
    while (wait && w->job && (!w->stuck || w->hurry))
        uv_cond_wait(&w->changed, &w->lock);
    int r = !w->done ? 0 : w->r < 0 ? w->r : 1;
    if (r < 0)
        *err = w->err;
    w->done = false;
    uv_mutex_unlock(&w->lock);
    return r;
}
