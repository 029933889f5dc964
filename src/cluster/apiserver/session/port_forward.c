/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pods/portforward: connections of the client become connections to a port of the pod, which is one
 * of this machine, since pods have no network of their own.
 *
 * With SPDY each connection is two streams of the same request: one carries data, the other errors.
 * With channels the ports are in the query, and there is one connection for each; both of its
 * channels begin with the port, in two bytes.
 *
 * Backpressure is applied by pausing reads on the other side: if a port does not accept data,
 * nothing more is read from the client; if the client does not, nothing is read from any port.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/session/stream_session.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"

#define MAX_LINKS 512u /* connections at once */
#define MAX_PORTS (SL_STREAMS_CHANNELS_MAX / 2)
#define READ_BYTES ((size_t)64 << 10)
#define WRITE_HIGH ((size_t)256 << 10) /* that wait for ports, with what it takes to keep them */
#define WRITE_LOW ((size_t)64 << 10)
#define EARLY_BYTES ((size_t)64 << 10) /* for a connection before its port is known */
#define NONE UINT32_MAX

struct forward;

struct link {
    TAILQ_ENTRY(link) entry;
    struct forward *f; /* NULL: it is over */
    uint32_t data, error;
    char request[64];
    uint16_t port;
    uv_tcp_t tcp;
    uv_connect_t connecting;
    uv_shutdown_t shutting;
    bool dialled, connected, reading;
    bool client_ended, port_ended;
    size_t queued;       /* of the forward's */
    struct sl_buf early; /* came before the other stream did */
};

struct write {
    uv_write_t req;
    struct link *l;
    size_t size; /* of all this */
    char bytes[];
};

struct forward {
    struct api_session *conv; /* NULL: it is over */
    const char *refused;      /* nothing can be reached, for this reason; NULL */
    uint16_t ports[MAX_PORTS];
    uint32_t n_ports;
    TAILQ_HEAD(, link) links;
    uint32_t n_links;
    size_t queued; /* that ports have not taken yet, however short each piece is */
    size_t early;  /* of all links */
    bool slow;     /* they do not keep up: the client waits */
    char buf[READ_BYTES];
};

/* ---- the end of a connection ---- */

static void link_free(struct link *l) {
    sl_buf_done(&l->early);
    sl_freep(&l);
}

static void on_link_closed(uv_handle_t *h) {
    link_free(h->data);
}

static void hold_if_slow(struct forward *f) {
    bool slow = f->queued > (f->slow ? WRITE_LOW : WRITE_HIGH);

    if (slow != f->slow)
        api_session_hold(f->conv, slow);
    f->slow = slow;
}

/* The streams are done with. */
static void drop_link(struct link *l) {
    struct forward *f = l->f;

    TAILQ_REMOVE(&f->links, l, entry);
    f->n_links--;
    f->queued -= l->queued;
    f->early -= l->early.len;
    l->f = NULL;
    if (l->dialled)
        uv_close((uv_handle_t *)&l->tcp, on_link_closed);
    else
        link_free(l);
}

static void end_link(struct link *l) {
    struct forward *f = l->f;

    sl_streams_end(f->conv->streams, l->data);
    sl_streams_end(f->conv->streams, l->error);
    drop_link(l);
    hold_if_slow(f);
}

static void fail_link(struct link *l, const char *why) {
    struct api_session *c = l->f->conv;
    char text[600];

    int n = snprintf(text, sizeof text, "error forwarding port %u to pod %s, uid : %s", l->port,
                     c->rq->name, why);
    sl_streams_send(c->streams, l->error, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
    end_link(l);
}

/* ---- from the port to the client ---- */

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *buf) {
    struct link *l = h->data;

    (void)size;
    *buf = l->f ? uv_buf_init(l->f->buf, READ_BYTES) : uv_buf_init(NULL, 0);
}

static void set_reading(struct link *l, bool on);

static void pause_all(struct forward *f, bool pause) {
    struct link *l;

    TAILQ_FOREACH(l, &f->links, entry)
    set_reading(l, !pause);
}

static void on_read(uv_stream_t *h, ssize_t n, const uv_buf_t *buf) {
    struct link *l = h->data;

    if (n == 0 || !l->f)
        return;
    struct forward *f = l->f;
    struct api_session *c = f->conv;
    sl_api_turn(c->rq->s);
    if (n > 0) {
        sl_streams_send(c->streams, l->data, buf->base, (size_t)n);
    } else if (n == UV_EOF) {
        l->port_ended = true;
        set_reading(l, false);
        sl_streams_end(c->streams, l->data);
        if (l->client_ended)
            end_link(l);
    } else {
        fail_link(l, uv_strerror((int)n));
    }
    if (api_session_full(c))
        pause_all(f, true);
    api_session_turn(c);
}

static void set_reading(struct link *l, bool on) {
    on = on && l->connected && !l->port_ended;
    if (on == l->reading)
        return;
    l->reading = on;
    if (on)
        (void)uv_read_start((uv_stream_t *)&l->tcp, on_alloc, on_read);
    else
        (void)uv_read_stop((uv_stream_t *)&l->tcp);
}

/* ---- from the client to the port ---- */

static void on_written(uv_write_t *req, int status) {
    struct write *w = req->data;
    struct link *l = w->l; /* freed when its socket is closed, which is later */
    struct forward *f = l->f;

    (void)status; /* reading finds out, too */
    if (f) {
        l->queued -= w->size;
        f->queued -= w->size;
    }
    sl_freep(&w);
    if (f)
        hold_if_slow(f);
}

static void on_shut(uv_shutdown_t *req, int status) {
    (void)req, (void)status;
}

static void shut_if_ended(struct link *l) {
    if (l->client_ended && l->connected && !uv_is_closing((uv_handle_t *)&l->tcp))
        (void)uv_shutdown(&l->shutting, (uv_stream_t *)&l->tcp, on_shut);
}

static void on_connected(uv_connect_t *req, int status) {
    struct link *l = req->data;

    if (!l->f)
        return;
    struct api_session *c = l->f->conv;
    sl_api_turn(c->rq->s);
    if (status < 0) {
        char why[200];
        sl_fmt_short(why, sizeof why, "dial tcp 127.0.0.1:%u: %s", l->port, uv_strerror(status));
        fail_link(l, why);
        api_session_turn(c);
        return;
    }
    l->connected = true;
    set_reading(l, !api_session_full(c));
    shut_if_ended(l);
}

static void send_to_port(struct link *l, const char *bytes, size_t len) {
    struct write *w = sl_alloc(sizeof *w + len);
    uv_buf_t buf = uv_buf_init(w->bytes, (unsigned)len);

    w->l = l;
    w->size = sizeof *w + len;
    w->req.data = w;
    memcpy(w->bytes, bytes, len);
    if (uv_write(&w->req, (uv_stream_t *)&l->tcp, &buf, 1, on_written) < 0) {
        sl_freep(&w);
        return;
    }
    l->queued += w->size;
    l->f->queued += w->size;
}

static void dial(struct link *l) {
    struct api_session *c = l->f->conv;
    const struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons(l->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    if (l->f->refused) {
        fail_link(l, l->f->refused);
        return;
    }
    (void)uv_tcp_init(c->rq->s->loop, &l->tcp);
    l->tcp.data = l->connecting.data = l;
    l->dialled = true;
    int r = uv_tcp_connect(&l->connecting, &l->tcp, (const struct sockaddr *)&to, on_connected);
    if (r < 0) {
        fail_link(l, uv_strerror(r));
        return;
    }
    (void)uv_tcp_nodelay(&l->tcp, 1);
    l->f->early -= l->early.len;
    if (l->early.len)
        send_to_port(l, l->early.s, l->early.len);
    sl_buf_done(&l->early);
}

static void client_data(void *ctx, uint32_t id, const char *bytes, size_t len) {
    struct api_session *c = ctx;
    struct forward *f = c->own;
    struct link *l;

    TAILQ_FOREACH(l, &f->links, entry)
    if (l->data == id)
        break;
    if (!l)
        return;
    if (l->dialled) {
        send_to_port(l, bytes, len);
        hold_if_slow(f);
        return;
    }
    size_t before = l->early.len;
    sl_buf_add(&l->early, bytes, len);
    f->early += l->early.len - before;
    if (sl_buf_full(&l->early) || f->early > WRITE_HIGH) { /* the rest would be missing */
        sl_streams_reset(c->streams, l->data);
        drop_link(l);
    }
}

static void client_ended(void *ctx, uint32_t id, bool reset) {
    struct api_session *c = ctx;
    struct forward *f = c->own;
    struct link *l;

    TAILQ_FOREACH(l, &f->links, entry)
    if (l->data == id || (reset && l->error == id))
        break;
    if (!l)
        return;
    if (reset) {
        sl_streams_reset(c->streams, l->data);
        sl_streams_end(c->streams, l->error);
        drop_link(l);
        hold_if_slow(f);
        return;
    }
    l->client_ended = true;
    if (l->port_ended)
        end_link(l);
    else
        shut_if_ended(l);
}

/* ---- new connections ---- */

static struct link *add_link(struct forward *f) {
    struct link *l = sl_alloc0(1, sizeof *l);

    l->f = f;
    l->data = l->error = NONE;
    sl_buf_init(&l->early, EARLY_BYTES);
    TAILQ_INSERT_TAIL(&f->links, l, entry);
    f->n_links++;
    return l;
}

static bool read_port(const char *text, uint16_t *ret) {
    char *end;
    long v = strtol(text, &end, 10);

    if (end == text || *end || v < 1 || v > UINT16_MAX)
        return false;
    *ret = (uint16_t)v;
    return true;
}

/* The stream before it, of a client that does not number its requests. */
static void name_request(char out[64], const struct sl_streams_head *h, uint32_t id, bool data) {
    if (*h->request)
        sl_fmt_short(out, 64, "%s", h->request);
    else
        sl_fmt_short(out, 64, "stream %u", data ? id - 2 : id);
}

static void client_opened(void *ctx, uint32_t id, const struct sl_streams_head *h) {
    struct api_session *c = ctx;
    struct forward *f = c->own;
    const bool data = strcmp(h->type, "data") == 0;
    char request[64];
    uint16_t port;
    struct link *l;

    if ((!data && strcmp(h->type, "error") != 0) || !read_port(h->port, &port)) {
        sl_streams_reset(c->streams, id);
        return;
    }
    name_request(request, h, id, data);
    TAILQ_FOREACH(l, &f->links, entry)
    if (strcmp(l->request, request) == 0 && (data ? l->data : l->error) == NONE)
        break;
    if (!l && f->n_links >= MAX_LINKS) {
        sl_streams_reset(c->streams, id);
        return;
    }
    if (!l) {
        l = add_link(f);
        memcpy(l->request, request, sizeof request);
        l->port = port;
    }
    *(data ? &l->data : &l->error) = id;
    if (l->data != NONE && l->error != NONE)
        dial(l);
}

static void begin_forward(struct api_session *c) {
    struct forward *f = c->own;

    if (c->kind != SL_STREAMS_CHANNELS)
        return;
    for (uint32_t i = 0; i < f->n_ports; i++) {
        const char port[2] = {(char)f->ports[i], (char)(f->ports[i] >> 8)};
        struct link *l = add_link(f);
        l->data = 2 * i;
        l->error = 2 * i + 1;
        l->port = f->ports[i];
        sl_streams_send(c->streams, l->data, port, sizeof port);
        sl_streams_send(c->streams, l->error, port, sizeof port);
        dial(l);
    }
}

static void forward_writable(struct api_session *c) {
    pause_all(c->own, false);
}

static void release_forward(struct api_session *c) {
    struct forward *f = c->own;

    while (!TAILQ_EMPTY(&f->links))
        drop_link(TAILQ_FIRST(&f->links));
    sl_freep(&f);
}

/* ---- the question ---- */

/* "80", "80,443", or several of them. False: it was answered. */
static bool read_ports(struct api_rq *rq, struct forward *f) {
    const char *at = rq->query, *key, *value;

    while (api_query_next(&at, &rq->arena, &key, &value))
        while (strcmp(key, "ports") == 0 && *value) {
            size_t len = strcspn(value, ",");
            const char *one = sl_arena_strndup(&rq->arena, value, len);
            if (f->n_ports == MAX_PORTS || !read_port(one, &f->ports[f->n_ports])) {
                api_rq_bad(rq, "unable to parse \"%s\" as a port, or there are more than %u", one,
                           MAX_PORTS);
                return false;
            }
            f->n_ports++;
            value += len + (value[len] == ',');
        }
    return true;
}

void api_forward_start(struct api_rq *rq, yyjson_val *pod) {
    static const struct api_session_ops ops = {
        .events = {client_opened, client_data, client_ended},
        .begin = begin_forward,
        .writable = forward_writable,
        .release = release_forward,
    };

    if (!*sl_json_str(pod, "spec.nodeName")) {
        api_rq_bad(rq, "pod %s does not have a host assigned", rq->name);
        return;
    }
    struct forward *f = sl_alloc0(1, sizeof *f);
    TAILQ_INIT(&f->links);
    struct api_session *c = read_ports(rq, f) ? api_session_new(rq, &ops, f) : NULL;
    if (c && c->kind == SL_STREAMS_CHANNELS && f->n_ports == 0) {
        sl_streams_free(c->streams);
        sl_freep(&c);
        api_rq_bad(rq, "query parameter \"ports\" is required");
    }
    if (!c) {
        sl_freep(&f);
        return;
    }
    if (strcmp(sl_json_str(pod, "status.phase"), "Running") != 0)
        f->refused = "the pod is not running";
    else if (!*sl_json_str(pod, "status.hostIP")) /* only pods of the machine have it */
        f->refused =
            sl_arena_printf(&rq->arena, "it runs on the simulated node %s: nothing listens",
                            sl_json_str(pod, "spec.nodeName"));
    f->conv = c;
    api_session_upgrade(c);
}
