/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl on libuv: one poll handle per socket, one timer, and the loop iteration.
 *
 * A keep-alive connection is used again shortly after libcurl has released it, once per request.
 * Its poll handle therefore stays armed in between, which saves two system calls per request. If
 * the server closes the connection meanwhile, the event is not expected by libcurl, and only then
 * is the handle stopped. This holds for sockets whose close libcurl reports (kube_loop_closed);
 * others, such as the pipe of its resolver, are dropped as soon as libcurl releases them. So are
 * those of cancelled transfers: one that is still connecting libcurl may close without a word, and
 * libuv ends the process when it finds a closed socket among those it watches.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kube/client/client_int.h"

#define MAX_FD (1 << 20)
/* A peer that fell silent is given up after about a minute. */
#define KEEPALIVE_IDLE_S 15
#define KEEPALIVE_PROBES 3
#define UNANSWERED_MS 45000

/* ---- sockets ---- */

static void on_sock_freed(uv_handle_t *h) {
    struct kube_sock *s = h->data;
    struct sl_curl_client *c = s->client;

    sl_freep(&s);
    if (--c->open == 0)
        sl_curl_client_destroy(c);
}

static struct kube_sock *sock_find(const struct sl_curl_client *c, curl_socket_t fd) {
    return fd >= 0 && (uint32_t)fd < c->socks.n ? c->socks.v[fd] : NULL;
}

static struct kube_sock *sock_new(struct sl_curl_client *c, curl_socket_t fd) {
    if (fd < 0 || fd >= MAX_FD)
        return NULL;
    struct kube_sock *s = sl_alloc0(1, sizeof *s);
    s->client = c;
    s->fd = fd;
    if (uv_poll_init(c->loop, &s->poll, fd) < 0) {
        sl_freep(&s);
        return NULL;
    }
    s->poll.data = s;
    c->open++;
    while (c->socks.n <= (uint32_t)fd)
        *sl_vec_push(&c->socks) = NULL; /* pointers are meant: NOLINT(bugprone-sizeof-expression) */
    c->socks.v[fd] = s;
    return s;
}

static void sock_drop(struct kube_sock *s) {
    if (!s)
        return;
    s->client->socks.v[s->fd] = NULL;
    uv_close((uv_handle_t *)&s->poll, on_sock_freed);
}

static void on_socket(uv_poll_t *h, int status, int events) {
    struct kube_sock *s = h->data;
    struct sl_curl_client *c = s->client;
    int mask = 0;

    if (status < 0) { /* libuv has stopped it; reading and writing make libcurl find out why */
        s->events = 0;
        events = UV_READABLE | UV_WRITABLE;
    }
    if (!s->wanted) { /* the server closed an idle connection; libcurl sees that when it needs it */
        (void)uv_poll_stop(h);
        s->events = 0;
        return;
    }
    if (events & UV_READABLE)
        mask |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        mask |= CURL_CSELECT_OUT;
    sl_curl_client_turn(c);
    kube_loop_act(c, s->fd, mask);
}

static void sock_watch(struct kube_sock *s, int events) {
    if (s->events == events)
        return;
    s->events = events;
    (void)uv_poll_start(&s->poll, events, on_socket);
}

/* libcurl sets which events of a socket it needs. */
static int on_socket_request(CURL *easy, curl_socket_t fd, int what, void *ctx, void *unused) {
    struct sl_curl_client *c = ctx;
    struct kube_sock *s = sock_find(c, fd);

    (void)easy;
    (void)unused;
    if (c->closing)
        return 0;
    if (what == CURL_POLL_REMOVE) {
        if (!s || !s->ours || c->reaping) {
            sock_drop(s);
            return 0;
        }
        s->wanted = false;
        uv_unref((uv_handle_t *)&s->poll);
        if (s->events & UV_WRITABLE) /* always true of an idle one */
            sock_watch(s, UV_READABLE);
        return 0;
    }
    if (!s)
        s = sock_new(c, fd);
    if (!s)
        return -1;
    s->wanted = true;
    uv_ref((uv_handle_t *)&s->poll);
    sock_watch(s,
               (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0));
    return 0;
}

static void set_int(int fd, int level, int option, int value) {
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

int kube_loop_opened(void *client, curl_socket_t fd, curlsocktype purpose) {
    struct sl_curl_client *c = client;

    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKOPT_OK;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC); /* not for plugins */
    set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
    set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_IDLE_S);
    set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
    set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MS);
    sock_drop(sock_find(c, fd)); /* of an older socket with this number: none is expected */
    struct kube_sock *s = c->closing ? NULL : sock_new(c, fd);
    if (!s)
        return CURL_SOCKOPT_ERROR;
    s->ours = true;
    return CURL_SOCKOPT_OK;
}

int kube_loop_closed(void *client, curl_socket_t fd) {
    struct sl_curl_client *c = client;

    if (!c->closing) /* else every handle was closed before */
        sock_drop(sock_find(c, fd));
    return close(fd);
}

/* ---- the turn ---- */

static void drain(struct sl_curl_client *c) {
    CURLMsg *m;
    int left;

    sl_curl_client_reap(c);
    while (!c->closing && (m = curl_multi_info_read(c->multi, &left))) {
        struct kube_xcall *call = NULL;
        CURLcode result = m->data.result; /* m is gone once the handle is removed */
        (void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        sl_curl_client_finish(c, call, result);
    }
}

void kube_loop_act(struct sl_curl_client *c, curl_socket_t fd, int events) {
    int running;

    c->in_curl = true;
    (void)curl_multi_socket_action(c->multi, fd, events, &running);
    c->in_curl = false;
    drain(c);
}

static void on_timer(uv_timer_t *t) {
    struct sl_curl_client *c = t->data;

    sl_curl_client_turn(c);
    kube_loop_act(c, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer_request(CURLM *multi, long ms, void *ctx) {
    struct sl_curl_client *c = ctx;

    (void)multi;
    if (c->closing)
        return 0;
    if (ms < 0)
        (void)uv_timer_stop(&c->timer);
    else
        (void)uv_timer_start(&c->timer, on_timer, (uint64_t)ms, 0);
    return 0;
}

static void on_kick(uv_idle_t *h) {
    struct sl_curl_client *c = h->data;

    (void)uv_idle_stop(h);
    sl_curl_client_turn(c);
    sl_curl_client_flush(c);
}

static void on_deadline(uv_timer_t *t) {
    struct sl_curl_client *c = t->data;

    sl_curl_client_turn(c);
    sl_curl_client_flush(c);
}

/* The loop is about to wait: what comes after it is another turn. */
static void on_turn(uv_prepare_t *h) {
    struct sl_curl_client *c = h->data;
    c->clock_read = false;
}

void kube_loop_kick(struct sl_curl_client *c) {
    if (!c->closing)
        (void)uv_idle_start(&c->kick, on_kick);
}

void kube_loop_deadline(struct sl_curl_client *c, sl_time at) {
    if (at == SL_TIME_NEVER) {
        (void)uv_timer_stop(&c->deadline);
        return;
    }
    sl_span left = at - c->client.mono;
    (void)uv_timer_start(&c->deadline, on_deadline, left > 0 ? (uint64_t)(left / SL_MSEC) + 1 : 1,
                         0);
}

/* ---- calls ---- */

void kube_loop_start(struct sl_curl_client *c, struct kube_xcall *call) {
    sl_assert(!c->in_curl && curl_multi_add_handle(c->multi, call->x->easy) == CURLM_OK);
}

void kube_loop_stop(struct sl_curl_client *c, struct kube_xcall *call) {
    sl_assert(!c->in_curl);
    (void)curl_multi_remove_handle(c->multi, call->x->easy);
}

/* ---- life ---- */

void kube_loop_init(struct sl_curl_client *c) {
    (void)uv_timer_init(c->loop, &c->timer);
    (void)uv_timer_init(c->loop, &c->deadline);
    (void)uv_idle_init(c->loop, &c->kick);
    (void)uv_prepare_init(c->loop, &c->turn);
    c->timer.data = c->deadline.data = c->kick.data = c->turn.data = c;
    c->open = 4;
    (void)uv_prepare_start(&c->turn, on_turn);
    uv_unref((uv_handle_t *)&c->turn);     /* being there is no reason for the loop to go on */
    uv_unref((uv_handle_t *)&c->deadline); /* nor is waiting: what is waited for is */

    c->multi = curl_multi_init();
    sl_assert(c->multi);
    (void)curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket_request);
    (void)curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
    (void)curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timer_request);
    (void)curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
    /* Kept alive when idle. libcurl's own rule follows the number of running transfers, and would
     * close the pool whenever it is quiet for a moment. */
    (void)curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS,
                            (long)(SL_CURL_CLIENT_MAX_REQUESTS + SL_CURL_CLIENT_MAX_WATCHES));
}

static void on_closed(uv_handle_t *h) {
    struct sl_curl_client *c = h->data;

    if (--c->open == 0)
        sl_curl_client_destroy(c);
}

void kube_loop_close(struct sl_curl_client *c) {
    uv_close((uv_handle_t *)&c->timer, on_closed);
    uv_close((uv_handle_t *)&c->deadline, on_closed);
    uv_close((uv_handle_t *)&c->kick, on_closed);
    uv_close((uv_handle_t *)&c->turn, on_closed);
    for (uint32_t i = 0; i < c->socks.n; i++)
        sock_drop(c->socks.v[i]);
}
