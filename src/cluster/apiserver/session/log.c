/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pods/log: what the runtime has of a container's output, and with follow what comes.
 */
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/server.h"
#include "core/base/mem.h"

#define LOOK_EVERY_MS 100u

struct api_log_stream {
    struct api_rq *rq;
    struct api_log *log;
    struct sl_buf out;
    uv_timer_t timer;
};

static void on_closed(uv_handle_t *h) {
    struct api_log_stream *l = h->data;
    sl_freep(&l);
}

void api_log_end(struct api_rq *rq) {
    struct api_log_stream *l = rq->log;

    if (!l)
        return;
    rq->log = NULL;
    api_log_free(l->log);
    sl_buf_done(&l->out);
    uv_close((uv_handle_t *)&l->timer, on_closed);
}

static void send_log(struct api_log_stream *l);

static void on_timer(uv_timer_t *t) {
    struct api_log_stream *l = t->data;

    sl_api_turn(l->rq->s);
    l->rq->busy = true;
    send_log(l);
}

/* Sends what there is; comes back for more while there may be more. */
static void send_log(struct api_log_stream *l) {
    struct api_rq *rq = l->rq;

    sl_buf_clear(&l->out);
    bool more = api_log_step(l->log, &l->out);
    bool ok = !l->out.len || rq->sink.piece(rq->sink.ctx, l->out.s, l->out.len);
    if (api_rq_settle(rq, ok && more))
        (void)uv_timer_start(&l->timer, on_timer, l->out.len ? 0 : LOOK_EVERY_MS, 0);
}

void api_log_begin(struct api_rq *rq) {
    rq->busy = true;
    rq->sink.begin(rq->sink.ctx, "text/plain");
    if (rq->gone)
        (void)api_rq_settle(rq, false);
    else
        send_log(rq->log);
}

void api_log_get(struct api_rq *rq, struct sl_store_object *pod) {
    const char *at = rq->query, *key, *value;
    struct api_log_query q;
    struct api_refusal no = {0};
    struct api_log *log = NULL;

    if (!pod) {
        api_rq_not_found(rq, rq->kind, rq->name);
        return;
    }
    api_log_query_init(&q);
    while (!no.status && api_query_next(&at, &rq->arena, &key, &value))
        (void)api_log_param(&q, key, value, &rq->arena, &no);
    if (!no.status) {
        _cleanup_(sl_json_docp) yyjson_doc *doc = yyjson_read(pod->text, pod->len, 0);
        log = api_log_open(rq->s->runtime, yyjson_doc_get_root(doc), &q, rq->now, &rq->arena, &no);
    }
    if (!log) {
        api_rq_fail(rq, no.status ? no.status : 500, no.status ? no.reason : "InternalError", "%s",
                    no.status ? no.text : "no log");
        return;
    }
    struct api_log_stream *l = sl_alloc0(1, sizeof *l);
    l->rq = rq;
    l->log = log;
    sl_buf_init(&l->out, API_LOG_PIECE);
    (void)uv_timer_init(rq->s->loop, &l->timer);
    l->timer.data = l;
    rq->log = l;
    rq->streams = true;
    api_rq_done(rq, pod->version);
}
