/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of exec sessions: a client that opens them and checks the order of its events. */
#ifndef SL_TESTS_CLUSTER_KUBELET_EXEC_SESSION_FIXTURE_H
#define SL_TESTS_CLUSTER_KUBELET_EXEC_SESSION_FIXTURE_H

#include "kubelet_fixture.h"

#define MAX_HEARD ((size_t)64 << 20)

/* A listener, which checks that it is called only as the interface allows. */
struct session_events {
    struct world *w;
    void *talk;
    struct sl_buf out, err;
    uint32_t rooms, endings;
    int code;
    char why[300];
    bool in_call, closed, keep;
    size_t hold_after, close_after; /* bytes; 0: never */
};

static inline void on_output(void *ctx, bool is_err, const char *bytes, size_t len) {
    struct session_events *e = ctx;

    assert_false(e->in_call || e->closed || e->endings > 0);
    assert_true(len > 0);
    sl_buf_add(is_err ? &e->err : &e->out, bytes, len);
    if (e->hold_after && e->out.len >= e->hold_after) {
        e->hold_after = 0;
        sl_kubelet_session_hold(e->w->rt, e->talk, true);
    }
    if (e->close_after && e->out.len >= e->close_after) {
        e->closed = true;
        sl_kubelet_session_close(e->w->rt, e->talk);
    }
}

static inline void on_writable(void *ctx) {
    struct session_events *e = ctx;

    assert_false(e->in_call || e->closed || e->endings > 0);
    e->rooms++;
}

static inline void over(void *ctx, int code, const char *why) {
    struct session_events *e = ctx;

    assert_false(e->in_call || e->closed || e->endings > 0);
    e->endings++;
    e->code = code;
    (void)snprintf(e->why, sizeof e->why, "%s", why ? why : "");
    if (!e->keep) {
        e->closed = true;
        sl_kubelet_session_close(e->w->rt, e->talk);
    }
}

static const struct sl_exec_session_events events = {
    .output = on_output, .writable = on_writable, .ended = over};

/* 'how': i, o, e for streams, t for a terminal. */
static inline int try_open(struct world *w, struct session_events *e, const char *pod,
                           const char *container, const char *how, const char *const *argv,
                           struct sl_err *err) {
    yyjson_val *o = pod_now(w, pod);
    const struct sl_exec_session_spec s = {.ns = "default",
                                           .pod = pod,
                                           .uid = o ? sl_json_str(o, "metadata.uid") : "none",
                                           .container = container,
                                           .argv = argv,
                                           .in = strchr(how, 'i'),
                                           .out = strchr(how, 'o'),
                                           .err = strchr(how, 'e'),
                                           .tty = strchr(how, 't')};

    *e = (struct session_events){.w = w, .in_call = true, .code = -1};
    sl_buf_init(&e->out, MAX_HEARD);
    sl_buf_init(&e->err, MAX_HEARD);
    const int r = sl_kubelet_session_open(w->rt, &s, &events, e, &e->talk, err);
    e->in_call = false;
    return r;
}

static inline void open_sh(struct world *w, struct session_events *e, const char *pod,
                           const char *how, const char *script) {
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct sl_err err = {0};

    if (try_open(w, e, pod, "main", how, argv, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void open_attach(struct world *w, struct session_events *e, const char *pod,
                               const char *how) {
    struct sl_err err = {0};

    if (try_open(w, e, pod, "main", how, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static inline bool feed(struct session_events *e, const char *bytes, size_t len) {
    e->in_call = true;
    const bool more = sl_kubelet_session_input(e->w->rt, e->talk, bytes, len);
    e->in_call = false;
    return more;
}

static inline void type(struct session_events *e, const char *text) {
    (void)feed(e, text, strlen(text));
}

static inline void feed_end(struct session_events *e) {
    e->in_call = true;
    sl_kubelet_session_input_end(e->w->rt, e->talk);
    e->in_call = false;
}

static inline void hold(struct session_events *e, bool how) {
    e->in_call = true;
    sl_kubelet_session_hold(e->w->rt, e->talk, how);
    e->in_call = false;
}

static inline void close_ear(struct session_events *e) {
    if (!e->closed) {
        e->in_call = true;
        sl_kubelet_session_close(e->w->rt, e->talk);
        e->in_call = false;
    }
    e->closed = true;
    sl_buf_done(&e->out);
    sl_buf_done(&e->err);
}

static inline void wait_over(struct session_events *e) {
    const sl_time until = real_now() + 40 * SL_SEC;

    while (e->endings == 0) {
        if (real_now() > until)
            fail_msg("it does not end; it said \"%.200s\"", sl_buf_str(&e->out));
        turn(e->w);
    }
}

static inline void wait_text(struct session_events *e, const struct sl_buf *b, const char *text) {
    const sl_time until = real_now() + 40 * SL_SEC;

    while (!strstr(sl_buf_str(b), text)) {
        if (real_now() > until)
            fail_msg("not \"%s\" but \"%.200s\"", text, sl_buf_str(b));
        turn(e->w);
    }
}

static inline void wait_left(struct world *w, uint32_t n) {
    const sl_time until = real_now() + 40 * SL_SEC;

    while (left(w) != n) {
        if (real_now() > until)
            fail_msg("%u processes are there, not %u", left(w), n);
        turn(w);
    }
}

/* Its process, its output, and how it ended. */
static inline void expect(struct world *w, const char *how, const char *script, const char *out,
                          const char *err, int code) {
    struct session_events e;

    open_sh(w, &e, "a", how, script);
    wait_over(&e);
    assert_string_equal(sl_buf_str(&e.out), out);
    assert_string_equal(sl_buf_str(&e.err), err);
    assert_int_equal(e.code, code);
    assert_string_equal(e.why, "");
    close_ear(&e);
}

static inline void begin_sleeping(struct world *w) {
    char script[100];

    begin(w, 0);
    (void)snprintf(script, sizeof script, "exec sleep %s", w->marker); /* one process */
    make_sh(w, "a", "Never", script);
    wait_phase(w, "a", "Running");
}

#define MUCH ((size_t)3 << 20)

static inline char *noise(size_t len) {
    char *s = sl_alloc(len);
    uint32_t x = 1;

    for (size_t i = 0; i < len; i++)
        s[i] = (char)((x = x * 1664525u + 1013904223u) >> 24);
    return s;
}

#endif
