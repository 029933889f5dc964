/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question of a probe, or one call of a hook: exec, httpGet, tcpSocket (grpc and https only as
 * far as that something listens).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "cluster/kubelet/kubelet_int.h"
#include "core/base/mem.h"
#include "lib/json/json.h"

#define HTTP_PORT 80 /* of a hook that names none */

/* Freed when the loop has closed its socket. */
struct klet_handler_call {
    struct klet_container *c; /* NULL: the result is not needed any more */
    enum klet_handler_use why;
    klet_handler_fn fn;
    int which;
    struct klet_proc *proc;
    bool socket, http;
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    struct sl_buf request;
    char answer[32];
    size_t have;
};

static void free_call(uv_handle_t *h) {
    struct klet_handler_call *a = h->data;

    sl_buf_done(&a->request);
    sl_freep(&a);
}

void klet_handler_call_end(struct klet_handler_call *a) {
    if (!a)
        return;
    a->c = NULL;
    if (a->proc) {
        klet_proc_abandon(a->proc);
        a->proc = NULL;
    }
    if (!a->socket) {
        sl_buf_done(&a->request);
        sl_freep(&a);
    } else if (!uv_is_closing((uv_handle_t *)&a->tcp)) {
        uv_close((uv_handle_t *)&a->tcp, free_call);
    }
}

static void over(struct klet_handler_call *a, bool ok) {
    struct klet_container *c = a->c;
    const klet_handler_fn fn = a->fn;
    const int which = a->which;

    if (!c)
        return;
    klet_handler_call_end(a);
    fn(c, which, ok);
}

/* ---- exec ---- */

static void on_proc(void *ctx, const struct klet_proc_note *n) {
    struct klet_handler_call *a = ctx;

    if (n->event != PROC_ENDED)
        return;
    a->proc = NULL;
    over(a, n->code == 0);
}

static bool call_exec(struct klet_handler_call *a, yyjson_val *command) {
    struct klet_launch l;
    int r = klet_launch_make(a->c, &(struct klet_launch_of){.command = command}, &l, NULL);

    if (r == 0)
        r = klet_proc_start(a->c->pod->rt->spawner, &l,
                            &(struct klet_proc_io){.fn = on_proc, .ctx = a}, &a->proc, NULL);
    klet_launch_done(&l);
    return r == 0;
}

/* ---- sockets ---- */

static void alloc_buffer(uv_handle_t *h, size_t hint, uv_buf_t *b) {
    struct klet_handler_call *a = h->data;

    (void)hint;
    *b = uv_buf_init(a->answer + a->have, (unsigned)(sizeof a->answer - 1 - a->have));
}

/* "HTTP/1.1 200 OK" */
static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *b) {
    struct klet_handler_call *a = s->data;

    (void)b;
    if (n < 0) {
        over(a, false);
        return;
    }
    a->have += (size_t)n;
    if (a->have >= 12) {
        const long code =
            strncmp(a->answer, "HTTP/1.", 7) == 0 ? strtol(a->answer + 9, NULL, 10) : 0;
        /* A hook has been called, whatever is answered. */
        over(a, code >= 200 && (a->why == HANDLER_HOOK || code < 400));
    }
}

static void on_written(uv_write_t *w, int status) {
    struct klet_handler_call *a = w->data;

    if (a->c && status < 0)
        over(a, false);
}

static void on_connect(uv_connect_t *q, int status) {
    struct klet_handler_call *a = q->data;

    if (!a->c)
        return;
    if (status < 0 || !a->http) {
        over(a, status >= 0);
        return;
    }
    uv_buf_t b = uv_buf_init(a->request.s, (unsigned)a->request.len);
    a->write.data = a;
    if (uv_write(&a->write, (uv_stream_t *)&a->tcp, &b, 1, on_written) < 0 ||
        uv_read_start((uv_stream_t *)&a->tcp, alloc_buffer, on_read) < 0)
        over(a, false);
}

/* A number, or the name of a port of the container. */
static int port_of(const struct klet_container *c, yyjson_val *port) {
    yyjson_val *ports = sl_json_at(c->spec, "ports"), *one;
    size_t i, n;

    if (yyjson_is_int(port))
        return (int)yyjson_get_int(port);
    yyjson_arr_foreach (ports, i, n, one) {
        if (*sl_json_text(port) && strcmp(sl_json_str(one, "name"), sl_json_text(port)) == 0)
            return (int)sl_json_int(one, "containerPort", 0);
    }
    return (int)strtol(sl_json_text(port), NULL, 10);
}

static bool call_socket(struct klet_handler_call *a, yyjson_val *how, bool http) {
    const char *host = sl_json_str(how, "host"), *path = sl_json_str(how, "path");
    const int given = port_of(a->c, sl_json_at(how, "port"));
    const int port = given == 0 && a->why == HANDLER_HOOK ? HTTP_PORT : given;
    yyjson_val *headers = sl_json_at(how, "httpHeaders"), *h;
    struct sockaddr_storage to;
    size_t i, n;

    if (port <= 0 || port > 65535)
        return false;
    if (uv_ip4_addr(*host ? host : "127.0.0.1", port, (struct sockaddr_in *)&to) < 0 &&
        uv_ip6_addr(host, port, (struct sockaddr_in6 *)&to) < 0 &&
        uv_ip4_addr("127.0.0.1", port, (struct sockaddr_in *)&to) < 0)
        return false;
    a->http = http && strcmp(sl_json_str(how, "scheme"), "HTTPS") != 0;
    sl_buf_printf(&a->request, "GET %s%s HTTP/1.1\r\n", *path == '/' ? "" : "/", path);
    yyjson_arr_foreach (headers, i, n, h) {
        sl_buf_printf(&a->request, "%s: %s\r\n", sl_json_str(h, "name"), sl_json_str(h, "value"));
    }
    sl_buf_printf(
        &a->request,
        "Host: %s:%d\r\nUser-Agent: kube-%s/1.36\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        *host ? host : "127.0.0.1", port, a->why == HANDLER_HOOK ? "lifecycle" : "probe");
    if (sl_buf_full(&a->request)) /* half a request is none */
        return false;
    if (uv_tcp_init(a->c->pod->rt->loop, &a->tcp) < 0)
        return false;
    a->socket = true;
    a->tcp.data = a->connect.data = a;
    return uv_tcp_connect(&a->connect, &a->tcp, (const struct sockaddr *)&to, on_connect) == 0;
}

struct klet_handler_call *klet_handler_call_begin(struct klet_container *c, yyjson_val *handler,
                                                  enum klet_handler_use why, klet_handler_fn fn,
                                                  int which) {
    struct klet_handler_call *a = sl_alloc0(1, sizeof *a);
    yyjson_val *how;
    bool on = false;

    *a = (struct klet_handler_call){.c = c, .why = why, .fn = fn, .which = which};
    sl_buf_init(&a->request, RT_MAX_PROBE_REQUEST);
    if ((how = sl_json_at(handler, "exec.command")))
        on = call_exec(a, how);
    else if ((how = sl_json_at(handler, "httpGet")))
        on = call_socket(a, how, true);
    else if ((how = sl_json_at(handler, "tcpSocket")) || (how = sl_json_at(handler, "grpc")))
        on = call_socket(a, how, false);
    if (on)
        return a;
    klet_handler_call_end(a);
    return NULL;
}
