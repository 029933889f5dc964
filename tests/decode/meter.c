/* SPDX-License-Identifier: Apache-2.0 */
#include "meter.h"

#include <time.h>

#include "core/base/mem.h"

struct meter_call {
    struct meter *m;
    sl_kube_call call;
    sl_kube_line_fn line;
    sl_kube_reply_fn done;
    void *ctx;
};

int64_t meter_cpu_us(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void meter_enter(struct meter *m) {
    m->client.wall = m->inner->wall;
    m->client.mono = m->inner->mono;
    m->since = meter_cpu_us();
}

void meter_leave(struct meter *m) {
    m->us += meter_cpu_us() - m->since;
    m->since = 0;
}

static void forget_call(struct meter_call *c) {
    struct meter *m = c->m;
    for (uint32_t i = 0; i < m->calls.n; i++)
        if (m->calls.v[i] == c) {
            m->calls.v[i] = m->calls.v[m->calls.n - 1];
            (void)sl_vec_pop(&m->calls);
            break;
        }
    sl_freep(&c);
}

static void on_line(void *ctx, const char *line, size_t len) {
    struct meter_call *c = ctx;
    struct meter *m = c->m;
    m->bytes += len;
    meter_enter(m);
    c->line(c->ctx, line, len);
    meter_leave(m);
}

static void on_done(void *ctx, const struct sl_kube_reply *r) {
    struct meter_call c = *(struct meter_call *)ctx;
    forget_call(ctx);
    c.m->bytes += r->len;
    meter_enter(c.m);
    c.done(c.ctx, r);
    meter_leave(c.m);
}

/* The API's part of a call is not measured. */
static sl_kube_call begin(struct sl_kube_client *p, const struct sl_kube_request *rq,
                          sl_kube_line_fn line, sl_kube_reply_fn done, void *ctx) {
    struct meter *m = SL_CONTAINER_OF(p, struct meter, client);
    struct meter_call *c = sl_alloc0(1, sizeof *c);
    bool counting = m->since;

    if (counting)
        meter_leave(m);
    *c = (struct meter_call){.m = m, .line = line, .done = done, .ctx = ctx};
    m->bytes += rq->len;
    m->writes += rq->len > 0;
    *sl_vec_push(&m->calls) = c;
    c->call = line ? m->inner->ops->watch(m->inner, rq, on_line, on_done, c)
                   : m->inner->ops->request(m->inner, rq, on_done, c);
    if (counting)
        meter_enter(m);
    return c->call;
}

static sl_kube_call request(struct sl_kube_client *p, const struct sl_kube_request *rq,
                            sl_kube_reply_fn done, void *ctx) {
    return begin(p, rq, NULL, done, ctx);
}

static sl_kube_call watch(struct sl_kube_client *p, const struct sl_kube_request *rq,
                          sl_kube_line_fn line, sl_kube_reply_fn done, void *ctx) {
    return begin(p, rq, line, done, ctx);
}

static void cancel(struct sl_kube_client *p, sl_kube_call call) {
    struct meter *m = SL_CONTAINER_OF(p, struct meter, client);

    m->inner->ops->cancel(m->inner, call);
    for (uint32_t i = 0; i < m->calls.n; i++)
        if (m->calls.v[i]->call.v == call.v) {
            forget_call(m->calls.v[i]);
            return;
        }
}

void meter_init(struct meter *m, struct sl_kube_client *inner) {
    static const struct sl_kube_client_ops ops = {request, watch, cancel};
    *m = (struct meter){.inner = inner};
    m->client = (struct sl_kube_client){.ops = &ops, .wall = inner->wall, .mono = inner->mono};
}

void meter_done(struct meter *m) {
    for (uint32_t i = 0; i < m->calls.n; i++)
        sl_freep(&m->calls.v[i]);
    sl_vec_free(&m->calls);
}
