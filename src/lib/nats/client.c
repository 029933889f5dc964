/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the client, of its links and of the library. */
#include "lib/nats/client_int.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define CLOSE_MS 2000

/* ---- the library, which is one for the process ---- */

/* It is opened once and never closed. The last to close it would, at the end of the process, free
 * tables of OpenSSL that OpenSSL then frees again (libnats 3.4.1, once a connection had TLS). */
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static bool library_is_open;

static natsStatus library_open(void) {
    sigset_t before;

    natsc_guard_mask(&before);   /* its threads leave signals to others */
    natsStatus s = nats_Open(0); /* its locks do not spin */
    if (s == NATS_OK)
        s = nats_SetMessageDeliveryPoolSize(1);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return s;
}

int natsc_library_use(struct sl_err *err) {
    natsStatus s = NATS_OK;

    (void)pthread_mutex_lock(&library_lock);
    bool guarded = natsc_guard_setup();
    if (guarded && !library_is_open)
        s = library_open();
    library_is_open |= guarded && s == NATS_OK;
    (void)pthread_mutex_unlock(&library_lock);
    if (!guarded)
        return sl_err_set(err, SL_EIO, "no real-time signal is free for the NATS library");
    return s == NATS_OK ? SL_OK
                        : sl_err_set(err, SL_EIO, "cannot start the NATS library: %s",
                                     natsStatus_GetText(s));
}

/* ---- client and links ---- */

static void client_destroy(struct sl_nats_client *c) {
    natsc_mailbox_done(&c->box);
    sl_freep(&c->shown);
    (void)pthread_cond_destroy(&c->ended);
    (void)pthread_mutex_destroy(&c->lock);
    sl_freep(&c);
}

/* Releases the lock; the last of those who know the client frees it. */
static void client_unlock(struct sl_nats_client *c) {
    bool last = c->freed && c->n_threads == 0 && LIST_EMPTY(&c->links);

    (void)pthread_mutex_unlock(&c->lock);
    if (last)
        client_destroy(c);
}

void natsc_wake(struct sl_nats_client *c) {
    if (c->wake)
        (void)uv_async_send(c->wake);
}

void natsc_conn_ended(struct natsc_conn *c) {
    struct sl_nats_client *client = c->client;

    (void)pthread_mutex_lock(&client->lock);
    natsc_conn_free(c);
    client->n_threads--;
    (void)pthread_cond_signal(&client->ended);
    client_unlock(client);
}

struct natsc_link *natsc_link_new(struct natsc_conn *c, uint32_t refs) {
    struct natsc_link *l = sl_alloc0(1, sizeof *l);

    l->client = c->client;
    l->conn = c;
    l->refs = refs;
    LIST_INIT(&l->taps);
    LIST_INSERT_HEAD(&c->client->links, l, next);
    return l;
}

static void link_free(struct natsc_link *l) {
    struct natsc_tap *t;

    while ((t = LIST_FIRST(&l->taps))) {
        LIST_REMOVE(t, next);
        sl_freep(&t);
    }
    LIST_REMOVE(l, next);
    sl_freep(&l);
}

void natsc_link_unref(struct natsc_link *l, uint32_t n) {
    struct sl_nats_client *c = l->client;

    sl_assert(l->refs >= n);
    l->refs -= n;
    if (l->refs == 0) {
        link_free(l);
        (void)pthread_cond_signal(&c->ended);
    }
    client_unlock(c);
}

/* ---- the client ---- */

bool natsc_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attr;

    if (pthread_condattr_init(&attr) != 0)
        return false;
    bool ok = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
              pthread_cond_init(cond, &attr) == 0;
    (void)pthread_condattr_destroy(&attr);
    return ok;
}

static void on_wake(uv_async_t *h) {
    (void)h; /* the loop takes events in each of its turns */
}

static void on_wake_closed(uv_handle_t *h) {
    sl_freep(&h);
}

int sl_nats_client_new(struct uv_loop_s *loop, struct sl_nats_client **ret, struct sl_err *err) {
    struct sl_nats_client *c = sl_alloc0(1, sizeof *c);

    c->wake = sl_alloc0(1, sizeof *c->wake);
    int r = uv_async_init(loop, c->wake, on_wake);
    if (r < 0) {
        sl_freep(&c->wake);
        sl_freep(&c);
        return sl_err_set(err, SL_EIO, "cannot wake the event loop: %s", uv_strerror(r));
    }
    uv_unref((uv_handle_t *)c->wake);
    sl_assert(pthread_mutex_init(&c->lock, NULL) == 0 && natsc_cond_init(&c->ended));
    c->port.ops = &natsc_ops;
    c->pace = SL_NATS_PACE;
    natsc_mailbox_init(&c->box);
    TAILQ_INIT(&c->conns);
    LIST_INIT(&c->links);
    *ret = c;
    return SL_OK;
}

struct sl_nats_port *sl_nats_client_port(struct sl_nats_client *c) {
    return &c->port;
}

void sl_nats_client_set_pace(struct sl_nats_client *c, const struct sl_nats_pace *pace) {
    c->pace = *pace;
}

/* With the lock: until all threads and callbacks have come to their end, or the time is over. */
static void wait_for_end(struct sl_nats_client *c, const struct timespec *deadline) {
    while (c->n_threads > 0 || !LIST_EMPTY(&c->links))
        if (pthread_cond_timedwait(&c->ended, &c->lock, deadline) == ETIMEDOUT)
            return;
}

void sl_nats_client_free(struct sl_nats_client *c) {
    struct natsc_conn *conn;
    struct timespec deadline;

    if (!c)
        return;
    (void)clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += CLOSE_MS / 1000;
    (void)pthread_mutex_lock(&c->lock);
    while ((conn = TAILQ_FIRST(&c->conns)))
        natsc_conn_close(conn);
    uv_close((uv_handle_t *)TAKE_PTR(c->wake), on_wake_closed);
    wait_for_end(c, &deadline);
    c->freed = true; /* a thread that is left behind frees it */
    client_unlock(c);
}

void sl_nats_client_freep(struct sl_nats_client **c) {
    sl_nats_client_free(*c);
    *c = NULL;
}
