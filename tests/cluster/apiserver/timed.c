/* SPDX-License-Identifier: Apache-2.0 */
#include "timed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#define MS_PER_MIB 100
#define ANY_US 20000 /* for any request, however short: caches are cold, others use the machine */
#define AGAIN 5

struct timed timed;
static uv_loop_t loop;

static void on_answer(void *ctx, const struct sl_api_answer *a) {
    (void)ctx;
    timed.answer.is = true;
    timed.answer.status = a->status;
    sl_buf_clear(&timed.answer.body);
    sl_buf_add(&timed.answer.body, a->body, a->len);
}

int timed_set_up(void **state) {
    struct sl_err err;

    (void)state;
    timed.answer.body = SL_BUF((size_t)64 << 20);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_true(sl_apiserver_new(&(struct sl_apiserver_spec){.loop = &loop,
                                                             .version = "v1.36.0",
                                                             .address = "127.0.0.1:6443"},
                                 &timed.server, &err) >= 0);
    return 0;
}

int timed_tear_down(void **state) {
    (void)state;
    sl_apiserver_free(timed.server);
    timed.server = NULL;
    while (uv_run(&loop, UV_RUN_NOWAIT))
        ;
    assert_int_equal(uv_loop_close(&loop), 0);
    sl_buf_done(&timed.answer.body);
    return 0;
}

int64_t timed_cpu_us(void) {
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t timed_ask(const struct request *q) {
    static const char *const groups[] = {"system:masters", "system:authenticated", NULL};
    struct sl_api_sink sink = {.answer = on_answer};

    timed.answer.is = false;
    int64_t begun = timed_cpu_us();
    (void)sl_apiserver_call(timed.server,
                            &(struct sl_api_request){.method = q->method,
                                                     .path = q->path,
                                                     .query = q->query ? q->query : "",
                                                     .accept = q->accept ? q->accept : "",
                                                     .content_type = q->type ? q->type : "",
                                                     .user_agent = "test/1",
                                                     .user = "admin",
                                                     .groups = groups,
                                                     .body = q->body,
                                                     .len = q->len},
                            &sink);
    while (!timed.answer.is)
        (void)uv_run(&loop, UV_RUN_ONCE);
    return timed_cpu_us() - begun;
}

/* What may be used for the object that was there and the one that is sent, or is made of what is
 * sent, whichever of these is longer. A value of YAML takes libyaml a third of a microsecond,
 * however short it is: the number of values has a ceiling of its own. */
static int64_t allowed(const struct request *q, size_t stored) {
    size_t made = timed.answer.status < 300 && timed.answer.body.len > q->len
                      ? timed.answer.body.len
                      : q->len;
    int64_t limit = MS_PER_MIB * 1000 * (int64_t)((made + stored) >> 10) / 1024 + ANY_US;

    if (q->type && strcmp(q->type, YAML) == 0 && *q->body != '{')
        limit *= 4;
    return limit * SLOWER;
}

/* The least of some tries, and longer where the machine is busy. */
void timed_hold(const struct request *q, size_t stored, const char *what, const char *how) {
    int64_t took = timed_ask(q), limit = allowed(q, stored);

    for (int again = 1; again < AGAIN && took > limit; again++) {
        int64_t t = timed_ask(q);
        took = t < took ? t : took;
    }
    if (took > limit)
        limit = limit * pace_permille() / 1000;
    timed.asked++;
    timed.taken += timed.answer.status < 300;
    if (getenv("SL_TEST_TIMES"))
        print_message("%lld permille, %lld us %d %zu+%zu %s %s %s (%s): %.200s\n",
                      (long long)(took * 1000 / limit), (long long)took, timed.answer.status,
                      q->len, stored, q->method, q->path, what, how,
                      timed.answer.status < 300 ? "" : sl_buf_str(&timed.answer.body));
    if (took * 1000 / limit > timed.worst_permille) {
        timed.worst_permille = took * 1000 / limit;
        (void)snprintf(timed.worst, sizeof timed.worst,
                       "%s %s: %s (%s), %zu bytes to %zu: %lld us, %d", q->method, q->path, what,
                       how, q->len, stored, (long long)took, timed.answer.status);
    }
    if (took > limit) {
        print_error("%s %s: %s (%s), %zu bytes to %zu: %lld us, allowed are %lld; %d %.120s\n",
                    q->method, q->path, what, how, q->len, stored, (long long)took,
                    (long long)limit, timed.answer.status,
                    timed.answer.status < 300 ? "" : sl_buf_str(&timed.answer.body));
        timed.too_slow++;
    }
}

int timed_post(const char *path, const char *body) {
    (void)timed_ask(&(struct request){
        .method = "POST", .path = path, .type = JSON, .body = body, .len = strlen(body)});
    return timed.answer.status;
}
