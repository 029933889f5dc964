/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sharing of limits between clients. A client can hold three things: connections, memory for bodies
 * that are being received, memory for responses that it does not read. Each is bounded for all
 * together; a fixed share per address would be too small for an API server, which is one address
 * with hundreds of connections, and too large for a flood from many addresses. So nothing is
 * refused while there is capacity, and when there is none, it is taken from the address that has
 * most of what is not being worked on:
 *
 *     - connections: those without a request, and those whose request is not complete. Of the
 *       address that has most of them, the oldest.
 *     - bodies: one without progress, else the largest of the address that has most, if that
 *       is more than the new one would have.
 *     - streams: the one that has most unread, of those without progress; where there is
 *       none, or much too much is unread, of the address that has most.
 *
 * A flood thus replaces its own connections, whatever their number. A connection that has just been
 * accepted is not closed for one from the same address: a few connections above the limit separate
 * the two, so that many clients at once on one address do not close each other. Complete requests
 * and streams are never ended for a new connection.
 */
#include <netinet/in.h>
#include <string.h>

#include "core/base/mem.h"
#include "lib/http/server_int.h"

#define GRACE_MS 1000u /* in which an honest client has its request here */
#define STREAM_STILL_MS 5000u
/* Bodies up to this size have a share of their own, of which large ones get nothing. */
#define SMALL_BODY ((size_t)64 << 10)
#define SMALL_ROOM ((size_t)8 << 20)

/* ---- addresses ---- */

/* An IPv6 host has a network of its own, so that the first half counts. */
static void key_of(const struct sockaddr *a, uint8_t key[16]) {
    union {
        const struct sockaddr *any;
        const struct sockaddr_in *in;
        const struct sockaddr_in6 *in6;
    } u = {a};

    memset(key, 0, 16);
    if (a && a->sa_family == AF_INET) {
        key[10] = key[11] = 0xff;
        memcpy(key + 12, &u.in->sin_addr, 4);
    } else if (a && a->sa_family == AF_INET6) {
        memcpy(key, &u.in6->sin6_addr, IN6_IS_ADDR_V4MAPPED(&u.in6->sin6_addr) ? 16 : 8);
    }
}

struct http_peer *http_share_find(struct sl_httpd *h, const struct sockaddr *a) {
    uint8_t key[16];
    struct http_peer *p;

    key_of(a, key);
    TAILQ_FOREACH(p, &h->peers, entry)
    if (memcmp(p->key, key, sizeof key) == 0)
        return p;
    return NULL;
}

void http_share_join(struct http_conn *c, const struct sockaddr *a) {
    struct sl_httpd *h = c->server->h;
    struct http_peer *p = http_share_find(h, a);

    if (!p) {
        p = sl_alloc0(1, sizeof *p);
        key_of(a, p->key);
        TAILQ_INIT(&p->idle);
        TAILQ_INIT(&p->receiving);
        TAILQ_INSERT_HEAD(&h->peers, p, entry);
    }
    p->n_conns++;
    c->peer = p;
    c->state = CONN_BUSY;
    http_share_turn(c, CONN_RECEIVING);
}

void http_share_leave(struct http_conn *c) {
    struct http_peer *p = c->peer;

    http_share_turn(c, CONN_BUSY);
    sl_assert(p->n_conns > 0);
    if (--p->n_conns)
        return;
    TAILQ_REMOVE(&c->server->h->peers, p, entry);
    sl_freep(&p);
}

void http_share_turn(struct http_conn *c, enum http_conn_state to) {
    struct sl_httpd *h = c->server->h;
    struct http_peer *p = c->peer;

    if (c->state == CONN_IDLE)
        TAILQ_REMOVE(&p->idle, c, share);
    else if (c->state == CONN_RECEIVING)
        TAILQ_REMOVE(&p->receiving, c, share);
    p->n_yielding -= c->state != CONN_BUSY;
    h->n_receiving -= c->state == CONN_RECEIVING;
    c->state = to;
    if (to == CONN_IDLE)
        TAILQ_INSERT_TAIL(&p->idle, c, share);
    else if (to == CONN_RECEIVING)
        TAILQ_INSERT_TAIL(&p->receiving, c, share);
    p->n_yielding += to != CONN_BUSY;
    h->n_receiving += to == CONN_RECEIVING;
    c->since_ms = uv_now(h->loop);
}

/* ---- connections ---- */

static struct http_conn *oldest(const struct http_peer *p) {
    return TAILQ_EMPTY(&p->idle) ? TAILQ_FIRST(&p->receiving) : TAILQ_FIRST(&p->idle);
}

/* Does its oldest connection yield to one from that address? Not to an address that has more; and a
 * new one is spared, unless they are so many that others come first. */
static bool yields(const struct sl_httpd *h, const struct http_peer *p,
                   const struct http_peer *newcomer) {
    uint32_t theirs = newcomer ? newcomer->n_yielding : 0;

    if (!p->n_yielding || p->n_yielding < theirs)
        return false;
    return oldest(p)->state == CONN_IDLE || uv_now(h->loop) - oldest(p)->since_ms >= GRACE_MS ||
           (p != newcomer && p->n_yielding > theirs + h->spec.max_connections / 8);
}

/* Of those with equally many, the one that has the oldest. */
struct http_conn *http_share_victim(const struct sl_httpd *h, const struct http_peer *newcomer) {
    struct http_peer *p, *most = NULL;

    TAILQ_FOREACH(p, &h->peers, entry)
    if (yields(h, p, newcomer) &&
        (!most || p->n_yielding > most->n_yielding ||
         (p->n_yielding == most->n_yielding && oldest(p)->since_ms < oldest(most)->since_ms)))
        most = p;
    return most ? oldest(most) : NULL;
}

bool http_share_full(const struct sl_httpd *h, uint32_t n_conns) {
    return n_conns >= h->spec.max_connections ||
           (h->spec.max_unfinished && h->n_receiving >= h->spec.max_unfinished);
}

bool http_share_spare(const struct sl_httpd *h, uint32_t n_conns) {
    return n_conns <= SL_HTTP_CONNECTIONS(h->spec.max_connections) &&
           (!h->spec.max_unfinished ||
            h->n_receiving <= SL_HTTP_CONNECTIONS(h->spec.max_unfinished));
}

bool http_share_has_capacity(const struct sl_httpd *h) {
    return http_share_spare(h, h->n_conns) || http_share_victim(h, NULL);
}

/* ---- bodies ---- */

static size_t ceiling(const struct sl_httpd *h) {
    size_t largest = h->spec.large_path ? h->spec.large_body : h->spec.max_body;

    return h->spec.all_bodies ? h->spec.all_bodies : 4 * largest;
}

static size_t reserve(const struct sl_httpd *h) {
    return ceiling(h) / 4 < SMALL_ROOM ? ceiling(h) / 4 : SMALL_ROOM;
}

static bool fits(const struct sl_httpd *h, const struct http_request *rq, size_t n, bool large) {
    size_t more = rq->large ? n : rq->taken + n; /* of the share for large ones */

    return n <= ceiling(h) && h->bodies <= ceiling(h) - n &&
           (!large ||
            (more <= ceiling(h) - reserve(h) && h->large_bodies <= ceiling(h) - reserve(h) - more));
}

/* The body that gives way for so many bytes more of this one; NULL: none. */
static struct http_conn *yielding_body(const struct sl_httpd *h, const struct http_conn *requester,
                                       size_t n, bool large) {
    struct http_conn *still = NULL, *biggest = NULL, *c;
    struct http_peer *p, *most = NULL;

    TAILQ_FOREACH(p, &h->peers, entry) {
        TAILQ_FOREACH(c, &p->receiving, share)
        if (c != requester && c->rq && c->rq->taken && (!large || c->rq->large) &&
            uv_now(h->loop) - c->moved_ms >= h->spec.still_ms &&
            (!still || c->rq->taken > still->rq->taken))
            still = c;
        if (!most || p->bodies > most->bodies)
            most = p;
    }
    if (still)
        return still;
    if (!most || most == requester->peer || most->bodies <= requester->peer->bodies + n)
        return NULL;
    TAILQ_FOREACH(c, &most->receiving, share)
    if (c->rq && c->rq->taken && (!large || c->rq->large) &&
        (!biggest || c->rq->taken > biggest->rq->taken))
        biggest = c;
    return biggest;
}

bool http_share_take(struct http_conn *c, struct http_request *rq, size_t n) {
    struct sl_httpd *h = c->server->h;
    const bool large = rq->large || rq->announced > SMALL_BODY || rq->taken + n > SMALL_BODY;

    while (!fits(h, rq, n, large)) {
        struct http_conn *v = yielding_body(h, c, n, large);
        if (!v)
            return false;
        http_share_give_back(v, v->rq);
        v->rq->over_limit = true;
        sl_httpd_cut(v);
    }
    if (large)
        h->large_bodies += rq->large ? n : rq->taken + n;
    rq->large = large;
    h->bodies += n;
    c->peer->bodies += n;
    rq->taken += n;
    c->moved_ms = uv_now(h->loop);
    return true;
}

void http_share_give_back(struct http_conn *c, struct http_request *rq) {
    struct sl_httpd *h = c->server->h;

    (void)sl_buf_full(&rq->body); /* what was too long was answered so */
    sl_buf_done(&rq->body);
    h->bodies -= rq->taken;
    h->large_bodies -= rq->large ? rq->taken : 0;
    c->peer->bodies -= rq->taken;
    rq->taken = 0;
    rq->large = false;
}

/* ---- streams ---- */

static size_t waiting(const struct http_conn *c) {
    return c->call && c->call->streams && !c->late ? c->call->out.len - c->call->sent : 0;
}

/* What waits is dropped at once; the connection ends when the library runs. */
static void end_stream(struct http_conn *c) {
    struct sl_http_call *call = c->call;

    http_share_taken(call, call->out.len - call->sent);
    call->sent = 0;
    sl_buf_done(&call->out);
    sl_httpd_cut(c);
}

/* The stream that gives way; NULL: none. 'any': also one that is being read. */
static struct http_conn *yielding_stream(const struct sl_httpd *h, bool any) {
    struct http_conn *c, *most = NULL;
    const struct http_peer *p, *from = NULL;

    TAILQ_FOREACH(p, &h->peers, entry)
    if (!from || p->unread > from->unread)
        from = p;
    TAILQ_FOREACH(c, &h->conns, entry)
    if (waiting(c) > (most ? waiting(most) : 0) &&
        (any ? c->peer == from : uv_now(h->loop) - c->moved_ms >= h->spec.still_ms))
        most = c;
    return most;
}

bool http_share_wait(struct sl_http_call *c, size_t n) {
    struct http_conn *conn = c->conn;
    struct sl_httpd *h = conn->server->h;

    if (conn->late)
        return false;
    if (c->out.len == c->sent)
        conn->moved_ms = uv_now(h->loop);
    h->unread += n;
    conn->peer->unread += n;
    while (h->unread > SL_HTTP_STREAMS) {
        struct http_conn *v = yielding_stream(h, h->unread > SL_HTTP_STREAMS_MOST);
        if (!v || v == conn)
            break;
        end_stream(v);
    }
    /* One that has just begun may get much at once. */
    size_t before = c->out.len - c->sent;
    bool still = uv_now(h->loop) - conn->moved_ms >= h->spec.still_ms;
    if (!before || (h->unread <= SL_HTTP_STREAMS_MOST && !(still && before > SL_HTTP_STREAM_STILL)))
        return true;
    http_share_taken(c, n);
    return false;
}

void http_share_taken(struct sl_http_call *c, size_t n) {
    c->conn->server->h->unread -= n;
    c->conn->peer->unread -= n;
    c->conn->moved_ms = uv_now(c->conn->server->h->loop);
}

/* ---- answers ---- */

size_t http_share_capacity(const struct sl_httpd *h, size_t small) {
    size_t capacity = h->answers < h->spec.all_answers ? h->spec.all_answers - h->answers : 0;

    if (!h->answers || capacity > h->spec.max_answer)
        capacity = h->spec.max_answer;
    return capacity < small ? small - 1 : capacity;
}

bool http_share_answer(struct http_conn *c, size_t n, size_t small) {
    struct sl_httpd *h = c->server->h;

    if (n < small)
        return true;
    if (h->answers && h->answers + n > h->spec.all_answers)
        return false;
    h->answers += n;
    c->answer = n;
    return true;
}

void http_share_answered(struct http_conn *c) {
    c->server->h->answers -= c->answer;
    c->answer = 0;
}

void http_share_sweep(struct sl_httpd *h) {
    struct http_conn *c;

    TAILQ_FOREACH(c, &h->conns, entry)
    if (waiting(c) > SL_HTTP_STREAM_STILL && uv_now(h->loop) - c->moved_ms >= STREAM_STILL_MS)
        end_stream(c);
}
