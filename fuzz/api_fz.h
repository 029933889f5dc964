/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An API server in this process, on a loop of its own, and one request at a time: each is answered
 * once, or is a stream that begins once.
 */
#ifndef SL_FUZZ_API_FZ_H
#define SL_FUZZ_API_FZ_H

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "cluster/apiserver/apiserver.h"
#include "core/base/mem.h"
#include "lib/log/log.h"

#define API_FZ_TURNS 100000u /* of the loop, until an answer must be there */

struct api_fz {
    uv_loop_t loop;
    struct sl_apiserver *s; /* NULL: it is not there */
    uint32_t inputs;        /* that it has had */
    uint32_t answers, begun;
    int status;        /* of the last answer; 200 of a stream */
    struct sl_buf *to; /* its body goes there; NULL: nowhere */
};

static inline void api_fz_answer(void *ctx, const struct sl_api_answer *a) {
    struct api_fz *f = ctx;

    sl_assert(a->status >= 200 && a->status < 600);
    sl_assert(a->body || !a->len);
    f->status = a->status;
    f->answers++;
    if (f->to)
        sl_buf_add(f->to, a->body, a->len);
}

static inline void api_fz_begin(void *ctx, const char *type) {
    struct api_fz *f = ctx;

    sl_assert(type);
    f->status = 200;
    f->begun++;
}

static inline bool api_fz_piece(void *ctx, const char *bytes, size_t len) {
    (void)ctx;
    sl_assert(bytes && len > 0);
    return true;
}

static inline void api_fz_end(void *ctx) {
    (void)ctx;
}

/* 'spec' without loop and version. An error is one of what 'spec' names. */
static inline int api_fz_try(struct api_fz *f, struct sl_apiserver_spec spec, struct sl_err *err) {
    sl_log_set(SL_LOG_ERROR);
    sl_assert(uv_loop_init(&f->loop) == 0);
    spec.loop = &f->loop;
    spec.version = "v1.36.0";
    spec.address = "127.0.0.1:6443";
    return sl_apiserver_new(&spec, &f->s, err);
}

static inline void api_fz_start(struct api_fz *f, struct sl_apiserver_spec spec) {
    struct sl_err err;

    sl_assert(api_fz_try(f, spec, &err) >= 0);
}

static inline void api_fz_stop(struct api_fz *f) {
    if (f->s)
        sl_apiserver_free(f->s);
    f->s = NULL;
    while (uv_run(&f->loop, UV_RUN_NOWAIT))
        ;
    sl_assert(uv_loop_close(&f->loop) == 0);
}

/* For one more input: the first makes it, and after so many there is a new one, lest it fills up.
 */
static inline void api_fz_input(struct api_fz *f, struct sl_apiserver_spec spec, uint32_t most,
                                void (*stop)(void)) {
    if (!f->s)
        (void)atexit(stop);
    else if (++f->inputs % most == 0)
        api_fz_stop(f);
    if (!f->s)
        api_fz_start(f, spec);
}

static inline void api_fz_turn(struct api_fz *f, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        (void)uv_run(&f->loop, UV_RUN_NOWAIT);
}

static inline struct sl_api_request api_fz_request(const char *method, const char *path,
                                                   const char *query, const char *type,
                                                   const char *body, size_t len) {
    static const char *const groups[] = {"system:masters", NULL};

    return (struct sl_api_request){.method = method,
                                   .path = path,
                                   .query = query,
                                   .accept = "application/json",
                                   .content_type = type,
                                   .user_agent = "fuzz/1",
                                   .user = "fuzz",
                                   .groups = groups,
                                   .body = body,
                                   .len = len};
}

static inline sl_api_call api_fz_call(struct api_fz *f, const struct sl_api_request *rq) {
    const struct sl_api_sink sink = {.ctx = f,
                                     .answer = api_fz_answer,
                                     .begin = api_fz_begin,
                                     .piece = api_fz_piece,
                                     .end = api_fz_end};

    return sl_apiserver_call(f->s, rq, &sink);
}

/* Until it is answered; the status. A stream is not gone on with. */
static inline int api_fz_ask(struct api_fz *f, const struct sl_api_request *rq) {
    uint32_t before = f->answers + f->begun;
    sl_api_call call = api_fz_call(f, rq);

    for (uint32_t i = 0; f->answers + f->begun == before; i++) {
        sl_assert(i < API_FZ_TURNS);
        (void)uv_run(&f->loop, UV_RUN_ONCE);
    }
    sl_assert(f->answers + f->begun == before + 1);
    sl_apiserver_cancel(f->s, call);
    return f->status;
}

/* The next line, without its end; NULL after the last. */
static inline char *api_fz_line(char **at) {
    char *s = *at, *end;

    if (!s)
        return NULL;
    end = strchr(s, '\n');
    if (end)
        *end = '\0';
    *at = end ? end + 1 : NULL;
    return s;
}

#endif
