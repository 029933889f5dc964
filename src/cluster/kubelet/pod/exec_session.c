/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exec sessions of containers: a command besides the container's own (exec), or the container
 * itself (attach).
 *
 * A session exists until its listener has closed it and its command has exited; no event is
 * delivered inside a call of the listener, which may call anything, also close, inside an event: so
 * the end of a session, and buffered output, are delivered from a timer of its own, and its record
 * is freed by the loop.
 */
#include <string.h>

#include <uv.h>

#include "cluster/kubelet/kubelet_int.h"
#include "core/base/mem.h"

#define KILLED 137

struct piece {
    struct piece *next;
    bool is_err;
    size_t len;
    char bytes[];
};

struct klet_exec_session {
    struct klet_exec_session *next,
        **prev;               /* in the runtime's list; prev NULL: not in it any more */
    struct klet_container *c; /* NULL: it is no more */
    bool live;                /* the run of the container that it began with goes on */
    bool attach;
    struct klet_proc *proc; /* of a command */
    char *cgroup;           /* that the command is in */
    struct sl_exec_session_events ev;
    void *ctx;
    bool in, out, err;
    bool held, full;
    bool over, end_reported,
        closed; /* no more output; the end was reported; closed by the client */
    int code;
    char *why;
    struct piece *first, **last; /* not yet reported */
    size_t kept;
    uint64_t lost; /* bytes, after those that are kept */
    uv_timer_t timer;
    bool shut; /* the loop has let go of it */
};

/* ---- its end ---- */

static void unlink_session(struct klet_exec_session *t) {
    if (!t->prev)
        return;
    *t->prev = t->next;
    if (t->next)
        t->next->prev = t->prev;
    t->prev = NULL;
}

static void drop_pieces(struct klet_exec_session *t) {
    for (struct piece *p; (p = t->first);) {
        t->first = p->next;
        sl_freep(&p);
    }
    t->last = &t->first;
    t->kept = 0;
    t->lost = 0;
}

static void free_session(struct klet_exec_session *t) {
    unlink_session(t);
    drop_pieces(t);
    sl_freep(&t->why);
    sl_freep(&t->cgroup);
    sl_freep(&t);
}

static void on_shut(uv_handle_t *h) {
    struct klet_exec_session *t = h->data;

    t->shut = true;
    if (t->closed)
        free_session(t);
}

static void shut(struct klet_exec_session *t) {
    if (!uv_is_closing((uv_handle_t *)&t->timer))
        uv_close((uv_handle_t *)&t->timer, on_shut);
}

static void detach(struct klet_exec_session *t) {
    if (t->c && t->live && t->attach)
        t->c->attached--;
    t->live = false;
}

/* ---- events ---- */

static void report_lost(struct klet_exec_session *t) {
    char line[120];
    const int n = snprintf(line, sizeof line,
                           "[sluice: %llu bytes of output came too fast to be shown; the log has "
                           "them]\n",
                           (unsigned long long)t->lost);

    t->lost = 0;
    t->ev.output(t->ctx, t->err, line, (size_t)n);
}

static void on_timer(uv_timer_t *h) {
    struct klet_exec_session *t = h->data;

    while (!t->closed && !t->held && t->first) {
        struct piece *p = t->first;
        t->first = p->next;
        if (!t->first)
            t->last = &t->first;
        t->kept -= p->len;
        t->ev.output(t->ctx, p->is_err, p->bytes, p->len);
        sl_freep(&p);
    }
    if (!t->closed && !t->held && !t->first && t->lost > 0)
        report_lost(t);
    if (t->closed || t->first || t->lost > 0)
        return;
    if (t->over && !t->end_reported) {
        t->end_reported = true;
        t->ev.ended(t->ctx, t->code, t->why);
    } else if (t->proc && !t->held) {
        klet_proc_hold(t->proc, false);
    }
}

static void soon(struct klet_exec_session *t) {
    if (!uv_is_closing((uv_handle_t *)&t->timer))
        (void)uv_timer_start(&t->timer, on_timer, 0, 0);
}

static void end_session(struct klet_exec_session *t, int code) {
    if (!t->over && !t->why)
        t->code = code;
    t->over = true;
    if (t->closed)
        shut(t);
    else
        soon(t);
}

static void receive(struct klet_exec_session *t, bool is_err, const char *bytes, size_t len) {
    if (t->closed || len == 0 || !(is_err ? t->err : t->out))
        return;
    if (!t->held && !t->first && t->lost == 0) {
        t->ev.output(t->ctx, is_err, bytes, len);
        return;
    }
    if (t->lost > 0 || t->kept + len > (t->attach ? ATTACH_BUFFER : EXEC_BUFFER)) {
        t->lost += len;
        return;
    }
    struct piece *p = sl_alloc(sizeof *p + len);
    *p = (struct piece){.is_err = is_err, .len = len};
    memcpy(p->bytes, bytes, len);
    *t->last = p;
    t->last = &p->next;
    t->kept += len;
}

static void session_writable(struct klet_exec_session *t) {
    if (t->full && !t->closed) {
        t->full = false;
        t->ev.writable(t->ctx);
    }
}

/* ---- a command ---- */

static void on_proc(void *ctx, const struct klet_proc_note *n) {
    struct klet_exec_session *t = ctx;

    if (n->event == PROC_FAILED) {
        t->code = n->code;
        t->why = sl_strdup(n->text);
    } else if (n->event == PROC_ENDED) {
        t->proc = NULL;
        /* The container could not take it away while we were in it; but a new run may have it. */
        if (t->cgroup && !(t->c && t->c->cgroup))
            klet_cgroup_remove(t->cgroup);
        detach(t);
        end_session(t, n->code);
    }
}

static void on_output(void *ctx, bool is_err, const char *bytes, size_t len) {
    receive(ctx, is_err, bytes, len);
}

static void on_writable(void *ctx) {
    session_writable(ctx);
}

static int start_session(struct klet_exec_session *t, const struct sl_exec_session_spec *s,
                         struct sl_err *err) {
    const struct klet_proc_io io = {.fn = on_proc,
                                    .output = on_output,
                                    .writable = on_writable,
                                    .ctx = t,
                                    .in = s->in,
                                    .tty = s->tty};
    struct klet_launch l;
    int r =
        klet_launch_make(t->c, &(struct klet_launch_of){.argv = s->argv, .tty = s->tty}, &l, err);

    if (r == 0 && t->c->cgroup) {
        t->cgroup = sl_strdup(t->c->cgroup);
        l.cgroup_fd = klet_cgroup_open(t->cgroup);
    }
    if (r == 0)
        r = klet_proc_start(t->c->pod->rt->spawner, &l, &io, &t->proc, err);
    klet_launch_done(&l);
    return r;
}

/* ---- from the container ---- */

void klet_sessions_output(struct klet_container *c, bool is_err, const char *bytes, size_t len) {
    for (struct klet_exec_session *t = c->attached > 0 ? c->pod->rt->sessions : NULL; t;
         t = t->next)
        if (t->c == c && t->attach && t->live)
            receive(t, is_err, bytes, len);
}

void klet_sessions_writable(struct klet_container *c) {
    for (struct klet_exec_session *t = c->attached > 0 ? c->pod->rt->sessions : NULL; t;
         t = t->next)
        if (t->c == c && t->attach && t->live)
            session_writable(t);
}

void klet_sessions_end(struct klet_container *c, int code) {
    for (struct klet_exec_session *t = c->pod->rt->sessions; t; t = t->next) {
        if (t->c != c || !t->live)
            continue;
        detach(t);
        if (t->attach)
            end_session(t, code);
        else
            klet_proc_kill(t->proc);
    }
}

void klet_sessions_forget(struct klet_container *c) {
    klet_sessions_end(c, KILLED);
    for (struct klet_exec_session *t = c->pod->rt->sessions; t; t = t->next)
        if (t->c == c)
            t->c = NULL;
}

void klet_sessions_stop(struct sl_kubelet *r) {
    for (struct klet_exec_session *t = r->sessions; t; t = t->next) {
        detach(t);
        t->proc = NULL;
        end_session(t, KILLED);
    }
}

void klet_sessions_free(struct sl_kubelet *r) {
    while (r->sessions) {
        struct klet_exec_session *t = r->sessions;
        unlink_session(t);
        shut(t);
    }
}

/* ---- from the listener ---- */

/* Each costs two processes: a burst, and then so many in a second. */
static bool too_often(struct sl_kubelet *r) {
    const sl_span each = SL_SEC / SL_EXEC_PER_SECOND;
    const sl_time now = r->client->mono;

    if (r->exec_at < now - SL_EXEC_BURST * each)
        r->exec_at = now - SL_EXEC_BURST * each;
    if (r->exec_at > now)
        return true;
    r->exec_at += each;
    return false;
}

static int check_ceilings(struct sl_kubelet *r, const struct klet_pod *p, bool is_exec,
                          struct sl_err *err) {
    uint32_t all = 0, of_pod = 0;

    for (const struct klet_exec_session *t = r->sessions; t; t = t->next) {
        all++;
        of_pod += t->c && t->c->pod == p;
    }
    if (of_pod >= SL_MAX_POD_SESSIONS)
        return sl_err_set(err, SL_ELIMIT,
                          "pod \"%.80s\" has %u sessions of exec and attach, and may have no more",
                          p->name, SL_MAX_POD_SESSIONS);
    if (all >= SL_MAX_SESSIONS)
        return sl_err_set(err, SL_ELIMIT,
                          "there are %u sessions of exec and attach, and may be no more",
                          SL_MAX_SESSIONS);
    if (is_exec && too_often(r))
        return sl_err_set(err, SL_ELIMIT, "more than %d exec sessions in a second; try again",
                          SL_EXEC_PER_SECOND);
    return 0;
}

int sl_kubelet_session_open(void *ctx, const struct sl_exec_session_spec *s,
                            const struct sl_exec_session_events *ev, void *events_ctx, void **ret,
                            struct sl_err *err) {
    struct sl_kubelet *r = ctx;
    struct klet_pod *p = klet_pod_find(r, s->ns, s->pod);

    if (p && strcmp(p->uid, s->uid) != 0)
        p = NULL;
    if (p && !p->local)
        return sl_err_set(err, SL_ENOENT,
                          "pod %.100s is on the simulated node %.80s: nothing runs there", p->name,
                          p->node);
    struct klet_container *c = p ? klet_pod_container(p, s->container) : NULL;
    if (!c || !c->proc || !c->started_wall || r->stopped)
        return sl_err_set(err, SL_ENOENT, "container not found (\"%.100s\")", s->container);
    if (s->argv && !s->argv[0])
        return sl_err_set(err, SL_EINVAL, "there is no command to run in container \"%.100s\"",
                          s->container);
    int e = check_ceilings(r, p, s->argv, err);
    if (e < 0)
        return e;

    struct klet_exec_session *t = sl_alloc0(1, sizeof *t);
    *t = (struct klet_exec_session){.c = c,
                                    .live = true,
                                    .attach = !s->argv,
                                    .ev = *ev,
                                    .ctx = events_ctx,
                                    .in = s->in,
                                    .out = s->out,
                                    .err = s->err};
    t->last = &t->first;
    if (!t->attach && (e = start_session(t, s, err)) < 0) {
        free_session(t);
        return e;
    }
    c->attached += t->attach;
    sl_assert(uv_timer_init(r->loop, &t->timer) == 0);
    t->timer.data = t;
    t->prev = &r->sessions;
    t->next = r->sessions;
    if (t->next)
        t->next->prev = &t->next;
    r->sessions = t;
    *ret = t;
    return 0;
}

/* The process that gets its input; NULL: none. */
static struct klet_proc *input_process(const struct klet_exec_session *t) {
    return !t->in ? NULL : !t->attach ? t->proc : t->live ? t->c->proc : NULL;
}

bool sl_kubelet_session_input(void *ctx, void *session, const char *bytes, size_t len) {
    struct klet_exec_session *t = session;
    struct klet_proc *p = input_process(t);

    (void)ctx;
    if (p && !t->closed)
        t->full = !klet_proc_input(p, bytes, len);
    return !t->full || !p;
}

/* With stdinOnce, the first session with input is the only one. A terminal stays open: others may
 * still be attached. */
static void leave_input(struct klet_exec_session *t) {
    struct klet_proc *p = input_process(t);

    if (p && sl_json_bool(t->c->spec, "stdinOnce", false) &&
        !sl_json_bool(t->c->spec, "tty", false))
        klet_proc_input_end(p);
}

void sl_kubelet_session_input_end(void *ctx, void *session) {
    struct klet_exec_session *t = session;

    (void)ctx;
    if (t->attach)
        leave_input(t);
    else if (input_process(t))
        klet_proc_input_end(input_process(t));
}

void sl_kubelet_session_size(void *ctx, void *session, uint16_t cols, uint16_t rows) {
    struct klet_exec_session *t = session;
    struct klet_proc *p = !t->attach ? t->proc : t->live ? t->c->proc : NULL;

    (void)ctx;
    if (p)
        klet_proc_resize(p, cols, rows);
}

void sl_kubelet_session_hold(void *ctx, void *session, bool hold) {
    struct klet_exec_session *t = session;

    (void)ctx;
    t->held = hold;
    if (!hold)
        soon(t); /* what was kept comes first */
    else if (t->proc)
        klet_proc_hold(t->proc, true);
}

void sl_kubelet_session_close(void *ctx, void *session) {
    struct klet_exec_session *t = session;

    (void)ctx;
    if (t->attach)
        leave_input(t);
    t->closed = true;
    detach(t);
    drop_pieces(t);
    if (t->shut)
        free_session(t);
    else if (t->proc)
        klet_proc_kill(t->proc);
    else
        shut(t);
}
