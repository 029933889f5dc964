/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The patch queue over a scripted port, rule by rule.
 */
#include "kube/informer/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/collection/vec.h"

/* ---- a port that is told what to answer, and an owner that writes down what happens ---- */

enum { MAX_OPEN = 64, OBJECTS = 300 };

struct request {
    uint64_t id; /* 0: none */
    uint32_t obj;
    enum sl_kube_method method;
    sl_kube_reply_fn done;
    void *ctx;
};

struct stage {
    struct sl_kube_client client;
    struct request open[MAX_OPEN];
    uint64_t ids;
    SL_VEC(uint32_t) order; /* objects in the order of their requests */
    struct sl_writer *q;
    /* the owner */
    uint32_t builds[OBJECTS], dones[OBJECTS], reads[OBJECTS];
    int body[OBJECTS];   /* 0: nothing to write */
    bool no_read, steps; /* steps: writes are JSON patches */
    int large[OBJECTS];  /* 1: its path, 2: its body is beyond the ceiling */
    enum sl_written how;
    int status;
    void (*in_build)(struct stage *g, uint32_t obj);
    void (*in_done)(struct stage *g, uint32_t obj);
};

static sl_kube_call stage_request(struct sl_kube_client *p, const struct sl_kube_request *rq,
                                  sl_kube_reply_fn done, void *ctx) {
    struct stage *g = SL_CONTAINER_OF(p, struct stage, client);

    for (uint32_t i = 0; i < MAX_OPEN; i++)
        if (!g->open[i].id) {
            g->open[i] = (struct request){++g->ids, (uint32_t)strtoul(rq->path + 1, NULL, 10),
                                          rq->method, done, ctx};
            *sl_vec_push(&g->order) = g->open[i].obj;
            assert_true((rq->body == NULL) == (rq->len == 0));
            return (sl_kube_call){g->ids};
        }
    fail();
    return (sl_kube_call){0};
}

static void stage_cancel(struct sl_kube_client *p, sl_kube_call c) {
    struct stage *g = SL_CONTAINER_OF(p, struct stage, client);

    for (uint32_t i = 0; i < MAX_OPEN; i++)
        if (g->open[i].id == c.v)
            g->open[i].id = 0;
}

static const struct sl_kube_client_ops stage_ops = {stage_request, NULL, stage_cancel};

static bool on_build(void *ctx, uint32_t obj, struct sl_write *w) {
    struct stage *g = ctx;

    g->builds[obj]++;
    if (g->in_build)
        g->in_build(g, obj);
    if (!g->body[obj])
        return false;
    w->method = SL_PATCH;
    w->content_type = g->steps ? SL_JSON_PATCH : SL_MERGE_PATCH;
    w->tag = obj + 7;
    sl_buf_printf(&w->path, "/%u", obj);
    for (int i = 0; g->large[obj] == 1 && i < SL_WRITER_MAX_PATH; i++)
        sl_buf_putc(&w->path, 'x');
    for (size_t i = 0; g->large[obj] == 2 && i <= SL_WRITER_MAX_BODY; i += 1000)
        sl_buf_printf(&w->body, "%1000s", "");
    if (!g->no_read)
        sl_buf_printf(&w->read_path, "/%u", obj);
    sl_buf_printf(&w->body, "%d", g->body[obj]);
    return true;
}

static void on_done(void *ctx, uint32_t obj, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *r) {
    struct stage *g = ctx;

    g->status = r->status;
    assert_int_equal(w->tag, obj + 7);
    assert_true(sl_writer_busy(g->q, obj));
    g->dones[obj]++;
    g->how = how;
    if (how == SL_WRITTEN)
        g->body[obj] = 0;
    if (g->in_done)
        g->in_done(g, obj);
}

static void on_read(void *ctx, uint32_t obj, const struct sl_kube_reply *r) {
    struct stage *g = ctx;

    assert_true(r->status == 200 || r->status == 404);
    g->reads[obj]++;
}

static void stage_open(struct stage *g, uint32_t max_in_flight) {
    struct sl_writer_owner o = {g, on_build, on_done, on_read};

    memset(g, 0, sizeof *g);
    g->client.ops = &stage_ops;
    g->client.mono = 1000 * SL_SEC;
    g->q = sl_writer_new(&g->client, &o, max_in_flight, 1);
}

static uint32_t in_flight(const struct stage *g) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < MAX_OPEN; i++)
        n += g->open[i].id != 0;
    return n;
}

static void stage_close(struct stage *g) {
    sl_writer_free(g->q);
    assert_int_equal(in_flight(g), 0); /* cancelled */
    sl_vec_free(&g->order);
}

static void enqueue_body(struct stage *g, uint32_t obj, uint32_t lane, int body) {
    g->body[obj] = body;
    sl_writer_enqueue(g->q, obj, lane);
}

/* Answers the request of obj, which must be in flight. */
static void send_reply(struct stage *g, uint32_t obj, int status, sl_span retry_after) {
    struct sl_kube_reply r = {.status = status, .body = "", .retry_after = retry_after, .text = ""};

    for (uint32_t i = 0; i < MAX_OPEN; i++)
        if (g->open[i].id && g->open[i].obj == obj) {
            struct request rq = g->open[i];
            g->open[i].id = 0;
            rq.done(rq.ctx, &r);
            return;
        }
    fail_msg("object %u is not in flight", obj);
}

/* Answers the oldest request; returns whose it was. */
static uint32_t answer_first(struct stage *g, int status) {
    const struct request *first = NULL;

    for (uint32_t i = 0; i < MAX_OPEN; i++)
        if (g->open[i].id && (!first || g->open[i].id < first->id))
            first = &g->open[i];
    assert_non_null(first);
    uint32_t obj = first->obj;
    send_reply(g, obj, status, 0);
    return obj;
}

/* Time passes until the writer acts; the pause must be in [min, max]. */
static void after(struct stage *g, sl_span min, sl_span max) {
    sl_time next = sl_writer_next(g->q), was = g->client.mono;
    uint64_t ids = g->ids;

    if (next < was + min || next > was + max)
        fail_msg("pause of %lld ns", (long long)(next - was));
    if (next > was) {
        g->client.mono = next - 1;
        sl_writer_tick(g->q);
        assert_int_equal(g->ids, ids);
    }
    g->client.mono = next;
    sl_writer_tick(g->q);
}

static void test_coalesces(void **state) {
    struct stage g;
    struct sl_writer_stats st;

    (void)state;
    stage_open(&g, 4);
    assert_true(sl_writer_idle(g.q));
    assert_int_equal(sl_writer_next(g.q), SL_TIME_NEVER);
    for (int i = 1; i < 10; i++)
        enqueue_body(&g, 3, 0, i);
    assert_int_equal(g.builds[3], 0);
    assert_int_equal(sl_writer_next(g.q), g.client.mono);
    sl_writer_tick(g.q);
    assert_int_equal(g.builds[3], 1);
    assert_true(sl_writer_busy(g.q, 3));
    assert_false(sl_writer_busy(g.q, 2) || sl_writer_busy(g.q, 999));
    /* Wished for in flight: asked again after the reply, once. */
    for (int i = 1; i < 10; i++)
        enqueue_body(&g, 3, 0, i);
    sl_writer_tick(g.q);
    assert_int_equal(in_flight(&g), 1);
    assert_int_equal(sl_writer_next(g.q), SL_TIME_NEVER);
    send_reply(&g, 3, 200, 0);
    g.body[3] = 5;
    sl_writer_tick(g.q);
    assert_int_equal(g.builds[3], 2);
    send_reply(&g, 3, 201, 0);
    sl_writer_tick(g.q);
    assert_int_equal(g.builds[3], 2);
    assert_true(sl_writer_idle(g.q));
    /* Asked, and there is nothing. */
    sl_writer_enqueue(g.q, 4, 0);
    sl_writer_tick(g.q);
    assert_int_equal(g.builds[4], 1);
    assert_int_equal(g.dones[4], 0);
    assert_true(sl_writer_idle(g.q));
    sl_writer_stats(g.q, &st);
    assert_int_equal(st.sent, 2);
    assert_int_equal(st.written, 2);
    stage_close(&g);
}

static void test_bound_and_lanes(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, 4);
    for (uint32_t i = 0; i < 100; i++) {
        enqueue_body(&g, i, 2, 1);
        enqueue_body(&g, i + 100, 1, 1);
        enqueue_body(&g, i + 200, 0, 1);
    }
    enqueue_body(&g, 99, 0, 1); /* moved to a better lane, behind those who stand there */
    enqueue_body(&g, 98, 1, 1);
    while (!sl_writer_idle(g.q)) {
        sl_writer_tick(g.q);
        assert_true(in_flight(&g) <= 4 + 2); /* one of each modest lane */
        for (uint32_t i = 0; i < MAX_OPEN; i++)
            if (g.open[i].id) {
                send_reply(&g, g.open[i].obj, 200, 0);
                break;
            }
    }
    assert_int_equal(g.order.n, 300);
    uint32_t low = 0, at[OBJECTS];
    for (uint32_t i = 0; i < 300; i++)
        at[g.order.v[i]] = i;
    for (uint32_t i = 0; i < 112; i++)
        low += g.order.v[i] < 200 && g.order.v[i] != 99;
    assert_int_equal(low, 11); /* the other lanes: one at a time, and never without end */
    for (uint32_t i = 0; i + 1 < 300; i++)
        if (i != 97 && i != 98 && i != 99 && i != 199)
            assert_true(at[i] < at[i + 1]); /* each line in its order */
    assert_true(at[299] < at[99] && at[99] < at[199] && at[199] < at[98]);
    stage_close(&g);
}

/* While the first lane is in use, the second sends one at a time and rests in between. */
static void test_modest(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, 4);
    enqueue_body(&g, 0, 0, 1);
    for (uint32_t i = 1; i < 9; i++)
        enqueue_body(&g, i, 1, 1);
    sl_writer_tick(g.q);
    assert_int_equal(in_flight(&g), 2);
    g.client.mono += 10 * SL_MSEC;
    send_reply(&g, g.order.v[1], 200, 0);
    assert_int_equal(sl_writer_next(g.q), g.client.mono + 40 * SL_MSEC);
    g.client.mono += 40 * SL_MSEC;
    sl_writer_tick(g.q);
    assert_int_equal(in_flight(&g), 2);
    /* The first lane has been quiet for long enough, whatever the second has in flight. */
    assert_int_equal(sl_writer_next(g.q), SL_TIME_NEVER);
    send_reply(&g, 0, 200, 0);
    assert_int_equal(sl_writer_next(g.q), g.client.mono + 50 * SL_MSEC);
    g.client.mono += 50 * SL_MSEC;
    sl_writer_tick(g.q);
    assert_int_equal(in_flight(&g), 4);
    stage_close(&g);
}

static void test_later(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, 4);
    g.body[1] = g.body[2] = 1;
    sl_writer_enqueue_at(g.q, 1, 0, g.client.mono + 10 * SL_SEC);
    sl_writer_enqueue_at(g.q, 2, 0, g.client.mono + 5 * SL_SEC);
    sl_writer_enqueue_at(g.q, 1, 0, g.client.mono + 20 * SL_SEC); /* the earlier one stands */
    assert_false(sl_writer_idle(g.q));
    after(&g, 5 * SL_SEC, 5 * SL_SEC);
    send_reply(&g, 2, 200, 0);
    sl_writer_enqueue_at(g.q, 1, 0, g.client.mono + SL_SEC); /* earlier still */
    after(&g, SL_SEC, SL_SEC);
    /* A wish for later during the flight. */
    sl_writer_enqueue_at(g.q, 1, 0, g.client.mono + 3 * SL_SEC);
    sl_writer_enqueue_at(g.q, 1, 0, g.client.mono + 2 * SL_SEC);
    send_reply(&g, 1, 200, 0);
    g.body[1] = 2;
    after(&g, 2 * SL_SEC, 2 * SL_SEC);
    assert_int_equal(g.builds[1], 2);
    sl_writer_enqueue_at(g.q, 2, 0, 5); /* long ago */
    sl_writer_tick(g.q);
    assert_int_equal(g.builds[2], 2);
    stage_close(&g);
}

static void test_failures(void **state) {
    static const int codes[] = {0, 500, 503, 429};
    struct stage g;

    (void)state;
    for (size_t c = 0; c < SL_LEN(codes); c++) {
        stage_open(&g, 4);
        enqueue_body(&g, 1, 0, 1);
        sl_writer_tick(g.q);
        sl_span max = 20 * SL_MSEC;
        for (int i = 0; i < 14; i++) {
            send_reply(&g, 1, codes[c], 0);
            assert_int_equal(g.how, SL_WRITE_FAILED);
            enqueue_body(&g, 1, 0, 1); /* does not shorten the pause */
            after(&g, max / 2, max);
            max = max * 2 > 10 * SL_SEC ? 10 * SL_SEC : max * 2;
        }
        send_reply(&g, 1, codes[c], 60 * SL_SEC);
        after(&g, 60 * SL_SEC, 68 * SL_SEC);
        send_reply(&g, 1, 200, 0);
        enqueue_body(&g, 1, 0, 1); /* all is forgotten */
        sl_writer_tick(g.q);
        send_reply(&g, 1, codes[c], 0);
        after(&g, 10 * SL_MSEC, 20 * SL_MSEC);
        stage_close(&g);
    }
}

/* After a 429 nobody goes before the time, and then one by one until it is seen to work. */
static void test_slow_down(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, 8);
    for (uint32_t i = 0; i < 40; i++)
        enqueue_body(&g, i, 0, 1);
    sl_writer_tick(g.q);
    assert_int_equal(in_flight(&g), 4);
    send_reply(&g, 0, 429, 2 * SL_SEC);
    for (uint32_t i = 1; i < 4; i++)
        send_reply(&g, i, 500, 0); /* a success would widen the window */
    sl_time held = g.client.mono + 2 * SL_SEC;
    while (sl_writer_next(g.q) < held) {
        g.client.mono = sl_writer_next(g.q);
        sl_writer_tick(g.q);
        assert_int_equal(in_flight(&g), 0);
    }
    g.client.mono = sl_writer_next(g.q);
    sl_writer_tick(g.q);
    assert_int_equal(in_flight(&g), 1);
    for (uint32_t n = 0; n < 4; n++) { /* the first makes it two, two more three, ... */
        answer_first(&g, 200);
        sl_writer_tick(g.q);
    }
    assert_in_range(in_flight(&g), 2, 3);
    stage_close(&g);
}

/* As many in flight as the server answers without letting them wait. */
static void test_window(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, 32);
    for (uint32_t i = 0; i < OBJECTS; i++)
        enqueue_body(&g, i, 0, 1);
    for (uint32_t n = 0; n < 300; n++) { /* always 10 ms, however many there are */
        sl_writer_tick(g.q);
        g.client.mono += 10 * SL_MSEC;
        for (uint32_t k = in_flight(&g); k > 0; k--)
            enqueue_body(&g, answer_first(&g, 200), 0, 1);
    }
    sl_writer_tick(g.q);
    assert_int_equal(in_flight(&g), 32);
    for (uint32_t n = 0; n < 3000; n++) { /* 5 ms each, one after the other */
        g.client.mono += 5 * SL_MSEC;
        enqueue_body(&g, answer_first(&g, 200), 0, 1);
        sl_writer_tick(g.q);
    }
    assert_in_range(in_flight(&g), 6, 15); /* some wait there while many wait here */
    for (uint32_t n = 0; n < 3000; n++) {
        uint32_t obj = answer_first(&g, 200);
        g.client.mono += 5 * SL_MSEC;
        if (obj < 20)
            enqueue_body(&g, obj, 0, 1);
        sl_writer_tick(g.q);
    }
    assert_in_range(in_flight(&g), 2, 6); /* few, when there are few */
    stage_close(&g);
}

static void test_conflict(void **state) {
    struct stage g;
    struct sl_writer_stats st;

    (void)state;
    stage_open(&g, 4);
    enqueue_body(&g, 1, 0, 1);
    sl_writer_tick(g.q);
    send_reply(&g, 1, 409, 0);
    assert_int_equal(g.how, SL_WRITE_CONFLICT);
    assert_true(sl_writer_busy(g.q, 1)); /* reads */
    assert_int_equal(in_flight(&g), 1);
    sl_writer_tick(g.q);
    assert_int_equal(g.builds[1], 1);
    send_reply(&g, 1, 200, 0);
    assert_int_equal(g.reads[1], 1);
    after(&g, 0, 0); /* decided again at once */
    assert_int_equal(g.builds[1], 2);
    send_reply(&g, 1, 409, 0);
    send_reply(&g, 1, 404, 0); /* gone meanwhile: also told */
    assert_int_equal(g.reads[1], 2);
    after(&g, 20 * SL_MSEC, 40 * SL_MSEC); /* but not for ever at once */
    send_reply(&g, 1, 409, 0);
    send_reply(&g, 1, 500, 0); /* the read fails: not told */
    assert_int_equal(g.reads[1], 2);
    after(&g, 40 * SL_MSEC, 400 * SL_MSEC);
    send_reply(&g, 1, 200, 0);
    assert_true(sl_writer_idle(g.q));
    /* Without a place to read from. */
    g.no_read = true;
    enqueue_body(&g, 1, 0, 1);
    sl_writer_tick(g.q);
    send_reply(&g, 1, 409, 0);
    after(&g, 0, 0);
    assert_int_equal(g.reads[1], 2);
    send_reply(&g, 1, 200, 0);
    sl_writer_stats(g.q, &st);
    assert_int_equal(st.conflicts, 4);
    assert_int_equal(st.written, 2);
    stage_close(&g);
}

static void test_gone(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, 4);
    enqueue_body(&g, 1, 0, 1);
    sl_writer_tick(g.q);
    send_reply(&g, 1, 404, 0);
    assert_int_equal(g.how, SL_WRITE_GONE);
    assert_true(sl_writer_idle(g.q));
    enqueue_body(&g, 1, 0, 1);
    sl_writer_tick(g.q);
    send_reply(&g, 1, 410, 0);
    enqueue_body(&g, 1, 0, 1); /* a stubborn owner is slowed down */
    after(&g, 20 * SL_MSEC, 40 * SL_MSEC);
    stage_close(&g);
}

/* A JSON patch that does not apply may be of an older version: the object is read. The same body
 * once more is refused. */
static void test_outdated(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, 4);
    g.steps = true;
    enqueue_body(&g, 1, 0, 1);
    sl_writer_tick(g.q);
    send_reply(&g, 1, 422, 0);
    assert_int_equal(g.how, SL_WRITE_CONFLICT);
    send_reply(&g, 1, 200, 0);
    assert_int_equal(g.reads[1], 1);
    enqueue_body(&g, 1, 0, 2);
    after(&g, 0, 0);
    send_reply(&g, 1, 422, 0);
    assert_int_equal(g.how, SL_WRITE_CONFLICT);
    send_reply(&g, 1, 200, 0);
    after(&g, 20 * SL_MSEC, 40 * SL_MSEC);
    send_reply(&g, 1, 422, 0);
    assert_int_equal(g.how, SL_WRITE_REFUSED);
    assert_int_equal(g.reads[1], 2);
    stage_close(&g);
}

static void test_refused(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, 4);
    enqueue_body(&g, 1, 0, 1);
    sl_writer_tick(g.q);
    sl_span max = SL_SEC;
    for (int i = 0; i < 8; i++) {
        send_reply(&g, 1, 422, 0);
        assert_int_equal(g.how, SL_WRITE_REFUSED);
        enqueue_body(&g, 1, 0, 1); /* the same body: asked, not sent */
        sl_writer_tick(g.q);
        assert_int_equal(in_flight(&g), 0);
        after(&g, max / 2, max);
        assert_int_equal(in_flight(&g), 1);
        max = max * 2 > SL_MINUTE ? SL_MINUTE : max * 2;
    }
    send_reply(&g, 1, 400, 0);
    enqueue_body(&g, 1, 0, 2); /* another body goes at once */
    after(&g, 0, 0);
    assert_int_equal(in_flight(&g), 1);
    enqueue_body(&g, 1, 0, 3); /* and so does one that was wished for during the flight */
    send_reply(&g, 1, 422, 0);
    after(&g, 0, 0);
    assert_int_equal(in_flight(&g), 1);
    send_reply(&g, 1, 200, 0);
    assert_true(sl_writer_idle(g.q));
    /* A failure after a refusal is a failure: its pause is for every body. */
    enqueue_body(&g, 1, 0, 1);
    sl_writer_tick(g.q);
    send_reply(&g, 1, 422, 0);
    enqueue_body(&g, 1, 0, 2);
    sl_writer_tick(g.q);
    send_reply(&g, 1, 500, 5 * SL_SEC);
    enqueue_body(&g, 1, 0, 3);
    after(&g, 5 * SL_SEC, 6 * SL_SEC);
    assert_int_equal(in_flight(&g), 1);
    stage_close(&g);
}

/* A wish in a worse lane does not take the retry along; after a success it stands for itself. */
static void test_lane_of_retry(void **state) {
    struct stage g;

    (void)state;
    for (int good = 0; good < 2; good++) {
        stage_open(&g, 1);
        for (uint32_t i = 10; i < 14; i++)
            sl_writer_enqueue(g.q, i,
                              0); /* nothing to write: turns pass until no lane has its own */
        sl_writer_tick(g.q);
        enqueue_body(&g, 1, 0, 1);
        sl_writer_tick(g.q);
        enqueue_body(&g, 1, 2, 1);
        enqueue_body(&g, 2, 1, 1);
        send_reply(&g, 1, good ? 200 : 409, 0);
        g.body[1] = 1;
        if (!good)
            send_reply(&g, 1, 200, 0);
        uint32_t n = g.order.n;
        sl_writer_tick(g.q);
        assert_int_equal(g.order.v[n], good ? 2 : 1);
        stage_close(&g);
    }
}

static void want_in_build(struct stage *g, uint32_t obj) {
    if (obj < 200)
        enqueue_body(g, obj + 1, 0, 1); /* makes the table grow under the writer */
}

static void want_in_done(struct stage *g, uint32_t obj) {
    if (g->dones[obj] < 3)
        enqueue_body(g, obj, 1, 1);
}

static void test_wishes_in_callbacks(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, 4);
    g.in_build = want_in_build;
    g.in_done = want_in_done;
    enqueue_body(&g, 0, 0, 1);
    while (!sl_writer_idle(g.q)) {
        sl_writer_tick(g.q);
        for (uint32_t i = 0; i < MAX_OPEN; i++)
            if (g.open[i].id)
                send_reply(&g, g.open[i].obj, 200, 0);
    }
    for (uint32_t i = 0; i < 200; i++)
        assert_true(g.dones[i] >= 3);
    stage_close(&g);
}

static void forget_in_callback(struct stage *g, uint32_t obj) {
    sl_writer_forget(g->q, obj);
}

static void forget_and_want(struct stage *g, uint32_t obj) {
    sl_writer_forget(g->q, obj);
    enqueue_body(g, obj, 2, 9);
    g->in_done = NULL;
}

static void forget_all(struct stage *g, uint32_t obj) {
    for (uint32_t i = 0; i < OBJECTS; i++)
        if (i != obj)
            sl_writer_forget(g->q, i);
}

static void test_forget(void **state) {
    static const int codes[] = {200, 409, 404, 500, 422};
    struct stage g;

    (void)state;
    stage_open(&g, 2);
    sl_writer_forget(g.q, 50); /* never heard of */
    enqueue_body(&g, 1, 0, 1);
    sl_writer_forget(g.q, 1); /* in the line */
    sl_writer_enqueue_at(g.q, 1, 0, g.client.mono + SL_SEC);
    sl_writer_forget(g.q, 1); /* in the heap */
    assert_true(sl_writer_idle(g.q));
    enqueue_body(&g, 1, 0, 1);
    sl_writer_tick(g.q);
    sl_writer_enqueue(g.q, 1, 0);
    sl_writer_forget(g.q, 1); /* in flight */
    assert_int_equal(in_flight(&g), 0);
    assert_true(sl_writer_idle(g.q));
    assert_int_equal(g.dones[1], 0);
    g.in_build = forget_in_callback;
    enqueue_body(&g, 1, 0, 1);
    sl_writer_tick(g.q);
    assert_int_equal(in_flight(&g), 0);
    assert_true(sl_writer_idle(g.q));
    for (uint32_t i = 0; i < 10; i++)
        enqueue_body(&g, i, i % 3, 1);
    g.in_build = forget_all;
    sl_writer_tick(g.q);
    assert_int_equal(in_flight(&g), 1);
    send_reply(&g, sl_vec_last(&g.order), 200, 0);
    assert_true(sl_writer_idle(g.q));
    g.in_build = NULL;
    for (size_t i = 0; i < SL_LEN(codes); i++) {
        g.in_done = forget_in_callback;
        enqueue_body(&g, 1, 0, 1);
        sl_writer_tick(g.q);
        send_reply(&g, 1, codes[i], 0);
        assert_int_equal(in_flight(&g), 0);
        assert_true(sl_writer_idle(g.q));
        /* Another one takes the number at once: without the old one's pause. */
        g.in_done = forget_and_want;
        enqueue_body(&g, 1, 0, 1);
        sl_writer_tick(g.q);
        send_reply(&g, 1, codes[i], 0);
        after(&g, 0, 0);
        assert_int_equal(in_flight(&g), 1);
        send_reply(&g, 1, 200, 0);
        assert_true(sl_writer_idle(g.q));
    }
    stage_close(&g);
}

/* What is too large is not sent, and the owner hears so: it goes on with all others. */
static void test_too_large(void **state) {
    struct stage g;

    (void)state;
    stage_open(&g, 4);
    for (int i = 1; i <= 2; i++) {
        g.large[i] = i;
        enqueue_body(&g, (uint32_t)i, 0, 1);
        enqueue_body(&g, 10, 0, 1);
        sl_writer_tick(g.q);
        assert_int_equal(g.dones[i], 1);
        assert_int_equal(g.how, SL_WRITE_REFUSED);
        assert_int_equal(g.status, SL_WRITER_TOO_LARGE);
        assert_int_equal(in_flight(&g), 1);
        send_reply(&g, 10, 200, 0);
        g.large[i] = 0; /* smaller now: it is sent as soon as it is wanted */
        enqueue_body(&g, (uint32_t)i, 0, 1);
        sl_writer_tick(g.q);
        assert_int_equal(in_flight(&g), 1);
        send_reply(&g, (uint32_t)i, 200, 0);
    }
    stage_close(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coalesces),     cmocka_unit_test(test_bound_and_lanes),
        cmocka_unit_test(test_modest),        cmocka_unit_test(test_window),
        cmocka_unit_test(test_later),         cmocka_unit_test(test_failures),
        cmocka_unit_test(test_slow_down),     cmocka_unit_test(test_conflict),
        cmocka_unit_test(test_outdated),      cmocka_unit_test(test_gone),
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_lane_of_retry), cmocka_unit_test(test_wishes_in_callbacks),
        cmocka_unit_test(test_forget),
    };
    return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
