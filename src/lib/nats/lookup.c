/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/nats/lookup.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"

#define STACK ((size_t)256 << 10)

struct natsc_lookup {
    atomic_uint refs; /* the loop's and the thread's */
    char host[256], port[8];
    struct addrinfo *found; /* the thread's, until it is ready */
    int status;
    int system_error; /* errno, if the status is EAI_SYSTEM */
    atomic_bool ready;
    int fd; /* wakes the loop */
    /* ---- of the loop alone ---- */
    uv_poll_t poll;
    natsc_lookup_fn done;
    void *arg;
};

static atomic_uint n_threads;

static void unref(struct natsc_lookup *l) {
    if (atomic_fetch_sub(&l->refs, 1) > 1)
        return;
    if (l->found)
        freeaddrinfo(l->found);
    (void)close(l->fd);
    sl_freep(&l);
}

static void find(struct natsc_lookup *l, int flags) {
    struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};

    l->status = getaddrinfo(l->host, l->port, &want, &l->found);
    l->system_error = errno;
    if (l->status != 0)
        l->found = NULL;
}

static void publish(struct natsc_lookup *l) {
    atomic_store_explicit(&l->ready, true, memory_order_release);
    (void)eventfd_write(l->fd, 1); /* cannot be full: it is written once */
}

static void *thread_main(void *arg) {
    struct natsc_lookup *l = arg;

    find(l, 0);
    publish(l);
    unref(l);
    atomic_fetch_sub(&n_threads, 1);
    return NULL;
}

static int start_thread(struct natsc_lookup *l) {
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_t thread;
    int r = pthread_attr_init(&attr);

    if (r != 0)
        return r;
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attr, STACK);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the loop */
    r = pthread_create(&thread, &attr, thread_main, l);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    return r;
}

static void on_closed(uv_handle_t *h) {
    unref(h->data);
}

static void on_found(uv_poll_t *h, int status, int events) {
    struct natsc_lookup *l = h->data;

    (void)status;
    (void)events;
    if (!atomic_load_explicit(&l->ready, memory_order_acquire))
        return;
    (void)uv_poll_stop(h);
    l->done(l->arg);
}

static int start(struct natsc_lookup *l, struct sl_err *err) {
    find(l, AI_NUMERICHOST);
    if (l->found) {
        publish(l);
        return SL_OK;
    }
    if (atomic_fetch_add(&n_threads, 1) >= NATSC_MAX_LOOKUPS) {
        atomic_fetch_sub(&n_threads, 1);
        return sl_err_set(err, SL_ELIMIT, "more than %u names are being looked up",
                          NATSC_MAX_LOOKUPS);
    }
    atomic_fetch_add(&l->refs, 1);
    int r = start_thread(l);
    if (r == 0)
        return SL_OK;
    unref(l);
    atomic_fetch_sub(&n_threads, 1);
    return sl_err_set(err, SL_EIO, "cannot start a thread: %s", strerror(r));
}

int natsc_lookup_start(uv_loop_t *loop, const char *host, uint16_t port, natsc_lookup_fn done,
                       void *arg, struct natsc_lookup **ret, struct sl_err *err) {
    struct natsc_lookup *l = sl_alloc0(1, sizeof *l);
    atomic_init(&l->refs, 1);
    l->done = done;
    l->arg = arg;
    l->poll.data = l;
    sl_fmt_short(l->host, sizeof l->host, "%s", host);
    sl_fmt(l->port, sizeof l->port, "%u", port);
    l->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->fd < 0 || uv_poll_init(loop, &l->poll, l->fd) < 0) {
        unref(l);
        return sl_err_set(err, SL_EIO, "no descriptor is left for a lookup");
    }
    (void)uv_poll_start(&l->poll, UV_READABLE, on_found);
    int r = start(l, err);
    if (r < 0)
        natsc_lookup_end(l);
    else
        *ret = l;
    return r;
}

const struct addrinfo *natsc_lookup_found(const struct natsc_lookup *l, const char **ret_why) {
    *ret_why = l->status == EAI_SYSTEM ? strerror(l->system_error) : gai_strerror(l->status);
    return l->found;
}

void natsc_lookup_end(struct natsc_lookup *l) {
    if (l)
        uv_close((uv_handle_t *)&l->poll, on_closed);
}
