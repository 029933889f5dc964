#include "store/store_int.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct writer {
    struct file *file;
    uv_async_t *wake;
    uv_thread_t thread;
    uv_mutex_t lock; /* of all that follows */
    uv_cond_t changed;
    const struct batch *job; /* NULL: none, or it is done */
    bool done, end;
    int r;
    struct sl_err err;
};

static void work(void *arg) {
    struct writer *w = arg;

    uv_mutex_lock(&w->lock);
    for (;;) {
        while (!w->job && !w->end)
            uv_cond_wait(&w->changed, &w->lock);
        if (!w->job)
            break;
        const struct batch *job = w->job;
        uv_mutex_unlock(&w->lock);
        struct sl_err err = {0};
        int r = file_commit(w->file, job, &err);
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

struct writer *writer_start(struct file *f, uv_async_t *wake) {
    struct writer *w = sl_alloc0(1, sizeof *w);
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

void writer_end(struct writer *w) {
    uv_mutex_lock(&w->lock);
    w->end = true;
    uv_cond_broadcast(&w->changed);
    uv_mutex_unlock(&w->lock);
    (void)uv_thread_join(&w->thread);
    uv_cond_destroy(&w->changed);
    uv_mutex_destroy(&w->lock);
    sl_freep(&w);
}

void writer_give(struct writer *w, const struct batch *b) {
    uv_mutex_lock(&w->lock);
    sl_assert(!w->job && !w->done);
    w->job = b;
    uv_cond_broadcast(&w->changed);
    uv_mutex_unlock(&w->lock);
}

bool writer_take(struct writer *w, bool wait, int *ret_r, struct sl_err *err) {
    uv_mutex_lock(&w->lock);
    while (wait && w->job)
        uv_cond_wait(&w->changed, &w->lock);
    bool done = w->done;
    if (done) {
        *ret_r = w->r;
        *err = w->err;
    }
    w->done = false;
    uv_mutex_unlock(&w->lock);
    return done;
}
