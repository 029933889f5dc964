/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs behind a socket: the loop, the server and the signals that end it. Requests are worked
 * on one after the other.
 */
#include <signal.h>
#include <uv.h>

#include "cmd/match/session_int.h"
#include "cmd/match/verbs.h"
#include "core/base/fmt.h"
#include "lib/http/server.h"

#define REQUEST_MS 60000u /* until the response was read */
#define BODY_MS 60000u

enum { N_SIGNALS = 3 };
static const int end_signals[N_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};

struct verbs_server {
    struct sl_verbs *v;
    uv_loop_t loop;
    uv_signal_t signals[N_SIGNALS];
    struct sl_httpd *http;
    const char *allow[3]; /* headers of the answer that is being given */
};

static void on_request(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    struct verbs_server *s = ctx;
    const struct sl_verbs_request request = {
        .method = rq->method,
        .path = rq->path,
        .job = rq->query(rq, "jobID"),
        .body = rq->body,
        .len = rq->len,
    };
    const char *allow;

    a->status = sl_verbs_answer(s->v, &request, &a->body, &allow);
    if (!allow)
        return;
    s->allow[0] = "Allow";
    s->allow[1] = allow;
    a->headers = s->allow;
}

static void on_refusal(void *ctx, int status, const char *message, struct sl_http_answer *a) {
    (void)ctx;
    (void)status;
    a->content_type = "application/json";
    sl_verbs_error(&a->body, message);
}

static void on_signal(uv_signal_t *u, int number) {
    (void)number;
    uv_stop(u->loop);
}

static void start_signals(struct verbs_server *s) {
    (void)signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < N_SIGNALS; i++) {
        (void)uv_signal_init(&s->loop, &s->signals[i]);
        (void)uv_signal_start(&s->signals[i], on_signal, end_signals[i]);
    }
}

static int start_server(struct verbs_server *s, const char *path, struct sl_err *err) {
    _cleanup_(sl_buf_done) struct sl_buf host = SL_BUF(65536);

    sl_buf_printf(&host, "unix:%s", path);
    if (sl_buf_full(&host))
        return sl_err_set(err, SL_EINVAL, "the path of the socket is too long");
    const struct sl_httpd_spec spec = {
        .host = sl_buf_str(&host),
        .max_body = SL_VERBS_BODY_BYTES,
        .large_path = "/v1/init",
        .large_body = SL_VERBS_INIT_BYTES,
        .all_bodies = SL_VERBS_BODIES_BYTES,
        .all_answers = SL_VERBS_ANSWER_BYTES,
        .max_answer = SL_VERBS_ANSWER_BYTES,
        .max_connections = SL_VERBS_CONNECTIONS,
        .body_ms = BODY_MS,
        .request_ms = REQUEST_MS,
        .handler = on_request,
        .refusal = on_refusal,
        .ctx = s,
    };
    return sl_httpd_start(&s->loop, &spec, &s->http, err);
}

static void close_handle(uv_handle_t *h, void *arg) {
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

int sl_verbs_serve(struct sl_verbs *v, FILE *out, const char *path, struct sl_err *err) {
    struct verbs_server s = {.v = v};

    if (uv_loop_init(&s.loop) < 0)
        return sl_err_set(err, SL_EIO, "cannot create the event loop");
    start_signals(&s); /* before there is a file that they would leave behind */
    int r = start_server(&s, path, err);
    if (r >= 0) {
        fprintf(out, "listening on %s\n", path);
        (void)fflush(out);
        (void)uv_run(&s.loop, UV_RUN_DEFAULT);
    }
    sl_httpd_stop(s.http);
    uv_walk(&s.loop, close_handle, NULL);
    (void)uv_run(&s.loop, UV_RUN_DEFAULT);
    sl_assert(uv_loop_close(&s.loop) == 0);
    return r;
}
