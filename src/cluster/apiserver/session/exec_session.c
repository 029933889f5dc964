/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pods/exec and pods/attach: the streams of a container between the runtime and a client.
 *
 * With SPDY the client opens the streams that it requested, and the command starts when all of them
 * are open. The result is sent on the error stream: a Status from version 4 on, before that a
 * message if there was an error.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/session/stream_session.h"
#include "core/base/mem.h"
#include "kube/types/exec_session.h"
#include "lib/json/writer.h"

#define MAX_WORDS 4096u                /* of a command */
#define STREAMS_MS 30000u              /* so long may a client take to open them */
#define SIZE_BYTES 256u                /* of one message about the terminal's size */
#define EARLY_BYTES ((size_t)64 << 10) /* of input, before there is a command to take it */
#define NONE UINT32_MAX

enum channel { IN, OUT, ERR, STATUS, SIZE, CHANNELS };
static const char *const channel_names[CHANNELS] = {"stdin", "stdout", "stderr", "error", "resize"};

struct exec_session {
    struct api_session *stream_session; /* NULL: it is over */
    const struct sl_api_kubelet *rt;
    struct sl_exec_session_spec spec; /* texts are in the request's arena */
    uint32_t id[CHANNELS];            /* of their streams; NONE: not there */
    bool wanted[CHANNELS];
    void *session; /* the runtime's; NULL: not begun */
    struct sl_buf size;
    struct sl_buf early; /* input that came before all streams were there */
    bool early_end;      /* and was all */
    bool held;           /* the runtime waits for the client */
    uv_timer_t timer;
};

/* ---- the final status ---- */

static void put_failure(struct sl_buf *b, const char *reason, const char *message,
                        const char *cause_type, const char *cause, int code) {
    struct sl_jw *w = &SL_JW(b);

    sl_jw_object(w, NULL);
    sl_jw_raw(w, "metadata", "{}");
    sl_jw_str(w, "status", "Failure");
    sl_jw_str(w, "message", message);
    sl_jw_str(w, "reason", reason);
    sl_jw_object(w, "details");
    sl_jw_array(w, "causes");
    sl_jw_object(w, NULL);
    if (cause_type)
        sl_jw_str(w, "reason", cause_type);
    sl_jw_str(w, "message", cause);
    sl_jw_end_to(w, 1);
    if (code)
        sl_jw_int(w, "code", code);
    sl_jw_end(w);
}

static void put_success(struct sl_buf *b) {
    struct sl_jw *w = &SL_JW(b);

    sl_jw_object(w, NULL);
    sl_jw_raw(w, "metadata", "{}");
    sl_jw_str(w, "status", "Success");
    sl_jw_end(w);
}

/* 'why': it could not be run, or NULL. */
static void finish_session(struct exec_session *t, int code, const char *why) {
    struct api_session *c = t->stream_session;
    struct sl_arena *a = &c->rq->arena;
    struct sl_buf b;

    sl_buf_init(&b, 64 << 10);
    const char *cause =
        why ? sl_arena_printf(a, "error %s container: %s",
                              t->spec.argv ? "executing command in" : "attaching to", why)
            : sl_arena_printf(a, "%d", code);
    const char *message =
        why ? sl_arena_printf(a, "Internal error occurred: %s", cause)
            : sl_arena_printf(a, "command terminated with non-zero exit code: exit status %d",
                              code);
    if (c->version >= 4) {
        if (why)
            put_failure(&b, "InternalError", message, NULL, cause, 500);
        else if (code)
            put_failure(&b, "NonZeroExitCode", message, "ExitCode", cause, 0);
        else
            put_success(&b);
    } else if (why || code) {
        sl_buf_puts(&b, message);
    }
    if (b.len > 0)
        sl_streams_send(c->streams, t->id[STATUS], b.s, b.len);
    sl_buf_done(&b);
    for (int i = 0; i < CHANNELS; i++)
        sl_streams_end(c->streams, t->id[i]);
    api_session_finish(c);
}

/* ---- events of the runtime ---- */

static void on_output(void *ctx, bool is_err, const char *bytes, size_t len) {
    struct exec_session *t = ctx;

    sl_api_turn(t->stream_session->rq->s);
    sl_streams_send(t->stream_session->streams, t->id[is_err ? ERR : OUT], bytes, len);
    if (!t->held && api_session_full(t->stream_session)) {
        t->held = true;
        t->rt->session_hold(t->rt->ctx, t->session, true);
    }
    api_session_turn(t->stream_session);
}

static void on_writable(void *ctx) {
    struct exec_session *t = ctx;

    api_session_hold(t->stream_session, false);
}

static void on_ended(void *ctx, int code, const char *why) {
    struct exec_session *t = ctx;

    sl_api_turn(t->stream_session->rq->s);
    finish_session(t, code, why);
    api_session_turn(t->stream_session);
}

static void open_session(struct exec_session *t) {
    static const struct sl_exec_session_events events = {on_output, on_writable, on_ended};
    struct sl_err err = {0};

    (void)uv_timer_stop(&t->timer);
    if (t->rt->session_open(t->rt->ctx, &t->spec, &events, t, &t->session, &err) < 0) {
        t->session = NULL;
        finish_session(t, 0, err.text);
        return;
    }
    if (t->early.len && !t->rt->session_input(t->rt->ctx, t->session, t->early.s, t->early.len))
        api_session_hold(t->stream_session, true);
    sl_buf_done(&t->early);
    if (t->early_end)
        t->rt->session_input_end(t->rt->ctx, t->session);
}

/* ---- input of the client ---- */

static void client_opened(void *ctx, uint32_t id, const struct sl_streams_head *h) {
    struct api_session *c = ctx;
    struct exec_session *t = c->own;
    bool all = true;

    for (int i = 0; i < CHANNELS; i++) {
        if (t->wanted[i] && t->id[i] == NONE && strcmp(h->type, channel_names[i]) == 0) {
            t->id[i] = id;
            id = NONE;
        }
        all &= !t->wanted[i] || t->id[i] != NONE;
    }
    if (id != NONE)
        sl_streams_reset(c->streams, id);
    else if (all && !t->session && !c->over)
        open_session(t);
}

/* Some of {"Width":80,"Height":24}, which ends with its brace. */
static void take_size(struct exec_session *t, const char *bytes, size_t len) {
    for (; len > 0; bytes++, len--) {
        sl_buf_putc(&t->size, *bytes);
        if (*bytes != '}')
            continue;
        _cleanup_(sl_json_docp) yyjson_doc *doc =
            sl_buf_full(&t->size) ? NULL : yyjson_read(t->size.s, t->size.len, 0);
        yyjson_val *v = yyjson_doc_get_root(doc);
        int64_t cols = sl_json_int(v, "Width", 0), rows = sl_json_int(v, "Height", 0);
        if (cols > 0 && rows > 0 && cols <= UINT16_MAX && rows <= UINT16_MAX && t->session)
            t->rt->session_size(t->rt->ctx, t->session, (uint16_t)cols, (uint16_t)rows);
        sl_buf_clear(&t->size);
    }
}

static void client_data(void *ctx, uint32_t id, const char *bytes, size_t len) {
    struct api_session *c = ctx;
    struct exec_session *t = c->own;

    if (id == t->id[IN] && t->session) {
        if (!t->rt->session_input(t->rt->ctx, t->session, bytes, len))
            api_session_hold(c, true);
    } else if (id == t->id[IN] && !c->over) {
        sl_buf_add(&t->early, bytes, len);
        if (sl_buf_full(&t->early)) /* the rest would be missing */
            api_session_finish(c);
    } else if (id == t->id[SIZE]) {
        take_size(t, bytes, len);
    }
}

static void client_ended(void *ctx, uint32_t id, bool reset) {
    struct api_session *c = ctx;
    struct exec_session *t = c->own;

    (void)reset; /* a client that closed an output stream: the rest is discarded */
    if (id == t->id[IN] && t->session)
        t->rt->session_input_end(t->rt->ctx, t->session);
    else if (id == t->id[IN])
        t->early_end = true;
}

/* ---- beginning and end ---- */

static void on_timer(uv_timer_t *h) {
    struct exec_session *t = h->data;

    sl_api_turn(t->stream_session->rq->s);
    api_session_finish(t->stream_session);
    api_session_turn(t->stream_session);
}

static void begin_session(struct api_session *c) {
    struct exec_session *t = c->own;

    if (c->kind == SL_STREAMS_SPDY) {
        (void)uv_timer_start(&t->timer, on_timer, STREAMS_MS, 0);
        return;
    }
    for (uint32_t i = 0; i < CHANNELS; i++)
        t->id[i] = t->wanted[i] ? i : NONE;
    /* Clients wait for a first message, possibly empty, before they send. */
    sl_streams_send(c->streams, t->wanted[OUT] ? OUT : t->wanted[ERR] ? ERR : STATUS, "", 0);
    open_session(t);
}

static void session_writable(struct api_session *c) {
    struct exec_session *t = c->own;

    if (!t->held || !t->session)
        return;
    t->held = false;
    t->rt->session_hold(t->rt->ctx, t->session, false);
}

static void on_closed(uv_handle_t *h) {
    struct exec_session *t = h->data;

    sl_freep(&t);
}

static void release_session(struct api_session *c) {
    struct exec_session *t = c->own;

    if (t->session)
        t->rt->session_close(t->rt->ctx, t->session);
    t->session = NULL;
    t->stream_session = NULL;
    sl_buf_done(&t->size);
    sl_buf_done(&t->early);
    uv_close((uv_handle_t *)&t->timer, on_closed);
}

/* ---- the question ---- */

static bool read_query(struct api_rq *rq, struct sl_exec_session_spec *s) {
    const struct {
        const char *key;
        bool *to;
    } flags[] = {{"stdin", &s->in}, {"stdout", &s->out}, {"stderr", &s->err}, {"tty", &s->tty}};
    const char *at = rq->query, *key, *value;
    SL_VEC(const char *) words = {0};

    s->container = "";
    while (api_query_next(&at, &rq->arena, &key, &value)) {
        for (size_t i = 0; i < SL_LEN(flags); i++)
            if (strcmp(key, flags[i].key) == 0)
                *flags[i].to = api_session_flag(value);
        if (strcmp(key, "container") == 0)
            s->container = value;
        if (strcmp(key, "command") == 0 && words.n < MAX_WORDS)
            *sl_vec_push(&words) = value;
    }
    if (rq->sub->upgrade == SL_SUB_EXEC) {
        const char **argv = sl_arena_alloc0(&rq->arena, words.n + 1, sizeof *argv);
        for (uint32_t i = 0; i < words.n; i++)
            argv[i] = words.v[i];
        s->argv = argv;
    }
    bool too_long = words.n == MAX_WORDS, nul = strstr(rq->query, "%00");
    sl_vec_free(&words);
    s->err = s->err && !s->tty;
    if (too_long)
        api_rq_bad(rq, "a command has fewer than %u words", MAX_WORDS);
    else if (nul)
        api_rq_bad(rq, "a command must not contain a NUL character");
    return !too_long && !nul;
}

static bool container_runs(yyjson_val *pod, const char *container) {
    static const char *const lists[] = {"status.containerStatuses", "status.initContainerStatuses",
                                        "status.ephemeralContainerStatuses"};

    for (size_t i = 0; i < SL_LEN(lists); i++)
        if (sl_json_at(sl_json_find(sl_json_at(pod, lists[i]), "name", container), "state.running"))
            return true;
    return false;
}

/* False: it was answered. */
static bool check_target(struct api_rq *rq, yyjson_val *pod, struct sl_exec_session_spec *s) {
    struct api_refusal no = {0};
    const struct sl_api_kubelet *rt = rq->s->runtime;

    s->container = api_pod_container(pod, s->container, &rq->arena, &no);
    if (!s->container) {
        api_rq_fail(rq, no.status, no.reason, "%s", no.text);
        return false;
    }
    s->container = sl_arena_strdup(&rq->arena, s->container);
    if (!*sl_json_str(pod, "spec.nodeName"))
        api_rq_bad(rq, "pod %s does not have a host assigned", rq->name);
    else if (!s->in && !s->out && !s->err)
        api_rq_bad(rq, "you must specify at least 1 of stdin, stdout, stderr");
    else if (s->argv && !s->argv[0])
        api_rq_bad(rq, "you must specify a command");
    else if (!rq->upgrade)
        api_rq_bad(rq, "Upgrade request required");
    else if (rt && rt->has_node && !rt->has_node(rt->ctx, sl_json_str(pod, "spec.nodeName")))
        api_rq_fail(rq, 501, "NotImplemented", "%s",
                    api_foreign_node_text(&rq->arena, pod, "exec and attach"));
    else if (!rt || !rt->session_open || !container_runs(pod, s->container))
        api_rq_fail(rq, 500, "InternalError", "container not found (\"%s\")", s->container);
    else
        return true;
    return false;
}

void api_exec_start(struct api_rq *rq, yyjson_val *pod) {
    static const struct api_session_ops ops = {
        .events = {client_opened, client_data, client_ended},
        .begin = begin_session,
        .writable = session_writable,
        .release = release_session,
    };
    struct sl_exec_session_spec s = {0};

    if (!read_query(rq, &s) || !check_target(rq, pod, &s))
        return;
    s.ns = rq->ns;
    s.pod = rq->name;
    s.uid = sl_arena_strdup(&rq->arena, sl_json_str(pod, "metadata.uid"));
    struct exec_session *t = sl_alloc0(1, sizeof *t);
    struct api_session *c = api_session_new(rq, &ops, t);
    if (!c) {
        sl_freep(&t);
        return;
    }
    t->stream_session = c;
    t->rt = rq->s->runtime;
    t->spec = s;
    sl_buf_init(&t->size, SIZE_BYTES);
    sl_buf_short(&t->size); /* one that is longer is none */
    sl_buf_init(&t->early, EARLY_BYTES);
    (void)uv_timer_init(rq->s->loop, &t->timer);
    t->timer.data = t;
    for (int i = 0; i < CHANNELS; i++)
        t->id[i] = NONE;
    t->wanted[IN] = s.in;
    t->wanted[OUT] = s.out;
    t->wanted[ERR] = s.err;
    t->wanted[STATUS] = true;
    t->wanted[SIZE] = s.tty && c->version >= 3;
    api_session_upgrade(c);
}
