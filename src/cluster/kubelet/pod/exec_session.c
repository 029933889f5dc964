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

struct talk {
    struct talk *next, **prev; /* in the runtime's list; prev NULL: not in it any more */
    struct container *c;       /* NULL: it is no more */
    bool live;                 /* the run of the container that it began with goes on */
    bool attach;
    struct proc *proc; /* of a command */
    char *cgroup;      /* that the command is in */
    struct sl_talk_events ev;
    void *ctx;
    bool in, out, err;
    bool held, full;
    bool over, told, closed; /* nothing more comes; that was said; nobody listens */
    int code;
    char *why;
    struct piece *first, **last; /* not yet said */
    size_t kept;
    uint64_t lost; /* bytes, after those that are kept */
    uv_timer_t timer;
    bool shut; /* the loop has let go of it */
};

/* ---- its end ---- */

static void unlink_talk(struct talk *t) {
    if (!t->prev)
        return;
    *t->prev = t->next;
    if (t->next)
        t->next->prev = t->prev;
    t->prev = NULL;
}

static void drop_pieces(struct talk *t) {
    for (struct piece *p; (p = t->first);) {
        t->first = p->next;
        sl_freep(&p);
    }
    t->last = &t->first;
    t->kept = 0;
    t->lost = 0;
}

static void free_talk(struct talk *t) {
    unlink_talk(t);
    drop_pieces(t);
    sl_freep(&t->why);
    sl_freep(&t->cgroup);
    sl_freep(&t);
}

static void on_shut(uv_handle_t *h) {
    struct talk *t = h->data;

    t->shut = true;
    if (t->closed)
        free_talk(t);
}

static void shut(struct talk *t) {
    if (!uv_is_closing((uv_handle_t *)&t->timer))
        uv_close((uv_handle_t *)&t->timer, on_shut);
}

static void detach(struct talk *t) {
    if (t->c && t->live && t->attach)
        t->c->attached--;
    t->live = false;
}

/* ---- what is told ---- */

static void say_lost(struct talk *t) {
    char line[120];
    const int n = snprintf(line, sizeof line,
                           "[sluice: %llu bytes of output came too fast to be shown; the log has "
                           "them]\n",
                           (unsigned long long)t->lost);

    t->lost = 0;
    t->ev.output(t->ctx, t->err, line, (size_t)n);
}

static void on_timer(uv_timer_t *h) {
    struct talk *t = h->data;

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
        say_lost(t);
    if (t->closed || t->first || t->lost > 0)
        return;
    if (t->over && !t->told) {
        t->told = true;
        t->ev.ended(t->ctx, t->code, t->why);
    } else if (t->proc && !t->held) {
        proc_hold(t->proc, false);
    }
}

static void soon(struct talk *t) {
    if (!uv_is_closing((uv_handle_t *)&t->timer))
        (void)uv_timer_start(&t->timer, on_timer, 0, 0);
}

static void end_talk(struct talk *t, int code) {
    if (!t->over && !t->why)
        t->code = code;
    t->over = true;
    if (t->closed)
        shut(t);
    else
        soon(t);
}

static void hear(struct talk *t, bool is_err, const char *bytes, size_t len) {
    if (t->closed || len == 0 || !(is_err ? t->err : t->out))
        return;
    if (!t->held && !t->first && t->lost == 0) {
        t->ev.output(t->ctx, is_err, bytes, len);
        return;
    }
    if (t->lost > 0 || t->kept + len > (t->attach ? ATTACH_KEEPS : EXEC_KEEPS)) {
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

static void make_room(struct talk *t) {
    if (t->full && !t->closed) {
        t->full = false;
        t->ev.room(t->ctx);
    }
}

/* ---- a command ---- */

static void on_proc(void *ctx, const struct proc_note *n) {
    struct talk *t = ctx;

    if (n->event == PROC_NOT) {
        t->code = n->code;
        t->why = sl_strdup(n->text);
    } else if (n->event == PROC_ENDED) {
        t->proc = NULL;
        /* The container could not take it away while we were in it; but a new run may have it. */
        if (t->cgroup && !(t->c && t->c->cgroup))
            cgroup_remove(t->cgroup);
        detach(t);
        end_talk(t, n->code);
    }
}

static void on_output(void *ctx, bool is_err, const char *bytes, size_t len) {
    hear(ctx, is_err, bytes, len);
}

static void on_room(void *ctx) {
    make_room(ctx);
}

static int start(struct talk *t, const struct sl_talk_spec *s, struct sl_err *err) {
    const struct proc_io io = {
        .fn = on_proc, .output = on_output, .room = on_room, .ctx = t, .in = s->in, .tty = s->tty};
    struct launch l;
    int r = launch_make(t->c, &(struct launch_of){.argv = s->argv, .tty = s->tty}, &l, err);

    if (r == 0 && t->c->cgroup) {
        t->cgroup = sl_strdup(t->c->cgroup);
        l.cgroup_fd = cgroup_open(t->cgroup);
    }
    if (r == 0)
        r = proc_start(t->c->pod->rt->spawner, &l, &io, &t->proc, err);
    launch_done(&l);
    return r;
}

/* ---- from the container ---- */

void talks_output(struct container *c, bool is_err, const char *bytes, size_t len) {
    for (struct talk *t = c->attached > 0 ? c->pod->rt->talks : NULL; t; t = t->next)
        if (t->c == c && t->attach && t->live)
            hear(t, is_err, bytes, len);
}

void talks_room(struct container *c) {
    for (struct talk *t = c->attached > 0 ? c->pod->rt->talks : NULL; t; t = t->next)
        if (t->c == c && t->attach && t->live)
            make_room(t);
}

void talks_end(struct container *c, int code) {
    for (struct talk *t = c->pod->rt->talks; t; t = t->next) {
        if (t->c != c || !t->live)
            continue;
        detach(t);
        if (t->attach)
            end_talk(t, code);
        else
            proc_kill(t->proc);
    }
}

void talks_forget(struct container *c) {
    talks_end(c, KILLED);
    for (struct talk *t = c->pod->rt->talks; t; t = t->next)
        if (t->c == c)
            t->c = NULL;
}

void talks_stop(struct sl_runtime *r) {
    for (struct talk *t = r->talks; t; t = t->next) {
        detach(t);
        t->proc = NULL;
        end_talk(t, KILLED);
    }
}

void talks_free(struct sl_runtime *r) {
    while (r->talks) {
        struct talk *t = r->talks;
        unlink_talk(t);
        shut(t);
    }
}

/* ---- from the listener ---- */

/* Each costs two processes: a burst, and then so many in a second. */
static bool too_often(struct sl_runtime *r) {
    const sl_span each = SL_SEC / SL_EXEC_PER_SECOND;
    const sl_time now = r->port->mono;

    if (r->exec_at < now - SL_EXEC_BURST * each)
        r->exec_at = now - SL_EXEC_BURST * each;
    if (r->exec_at > now)
        return true;
    r->exec_at += each;
    return false;
}

static int check_ceilings(struct sl_runtime *r, const struct pod *p, bool is_exec,
                          struct sl_err *err) {
    uint32_t all = 0, of_pod = 0;

    for (const struct talk *t = r->talks; t; t = t->next) {
        all++;
        of_pod += t->c && t->c->pod == p;
    }
    if (of_pod >= SL_MAX_POD_TALKS)
        return sl_err_set(err, SL_ELIMIT,
                          "pod \"%.80s\" has %u sessions of exec and attach, and may have no more",
                          p->name, SL_MAX_POD_TALKS);
    if (all >= SL_MAX_TALKS)
        return sl_err_set(err, SL_ELIMIT,
                          "there are %u sessions of exec and attach, and may be no more",
                          SL_MAX_TALKS);
    if (is_exec && too_often(r))
        return sl_err_set(err, SL_ELIMIT, "more than %d exec sessions in a second; try again",
                          SL_EXEC_PER_SECOND);
    return 0;
}

int sl_runtime_talk_open(void *ctx, const struct sl_talk_spec *s, const struct sl_talk_events *ev,
                         void *events_ctx, void **ret, struct sl_err *err) {
    struct sl_runtime *r = ctx;
    struct pod *p = pod_find(r, s->ns, s->pod);

    if (p && strcmp(p->uid, s->uid) != 0)
        p = NULL;
    if (p && !p->real)
        return sl_err_set(err, SL_ENOENT,
                          "pod %.100s is on the simulated node %.80s: nothing runs there", p->name,
                          p->node);
    struct container *c = p ? pod_container(p, s->container) : NULL;
    if (!c || !c->proc || !c->started_wall || r->stopped)
        return sl_err_set(err, SL_ENOENT, "container not found (\"%.100s\")", s->container);
    if (s->argv && !s->argv[0])
        return sl_err_set(err, SL_EINVAL, "there is no command to run in container \"%.100s\"",
                          s->container);
    int e = check_ceilings(r, p, s->argv, err);
    if (e < 0)
        return e;

    struct talk *t = sl_alloc0(1, sizeof *t);
    *t = (struct talk){.c = c,
                       .live = true,
                       .attach = !s->argv,
                       .ev = *ev,
                       .ctx = events_ctx,
                       .in = s->in,
                       .out = s->out,
                       .err = s->err};
    t->last = &t->first;
    if (!t->attach && (e = start(t, s, err)) < 0) {
        free_talk(t);
        return e;
    }
    c->attached += t->attach;
    sl_assert(uv_timer_init(r->loop, &t->timer) == 0);
    t->timer.data = t;
    t->prev = &r->talks;
    t->next = r->talks;
    if (t->next)
        t->next->prev = &t->next;
    r->talks = t;
    *ret = t;
    return 0;
}

/* Whom it feeds; NULL: nobody. */
static struct proc *fed(const struct talk *t) {
    return !t->in ? NULL : !t->attach ? t->proc : t->live ? t->c->proc : NULL;
}

bool sl_runtime_talk_input(void *ctx, void *talk, const char *bytes, size_t len) {
    struct talk *t = talk;
    struct proc *p = fed(t);

    (void)ctx;
    if (p && !t->closed)
        t->full = !proc_input(p, bytes, len);
    return !t->full || !p;
}

/* The first who feeds a container may be the only one. A terminal stays: others may still see it.
 */
static void leave_input(struct talk *t) {
    struct proc *p = fed(t);

    if (p && sl_json_bool(t->c->spec, "stdinOnce", false) &&
        !sl_json_bool(t->c->spec, "tty", false))
        proc_input_end(p);
}

void sl_runtime_talk_input_end(void *ctx, void *talk) {
    struct talk *t = talk;

    (void)ctx;
    if (t->attach)
        leave_input(t);
    else if (fed(t))
        proc_input_end(fed(t));
}

void sl_runtime_talk_size(void *ctx, void *talk, uint16_t cols, uint16_t rows) {
    struct talk *t = talk;
    struct proc *p = !t->attach ? t->proc : t->live ? t->c->proc : NULL;

    (void)ctx;
    if (p)
        proc_resize(p, cols, rows);
}

void sl_runtime_talk_hold(void *ctx, void *talk, bool hold) {
    struct talk *t = talk;

    (void)ctx;
    t->held = hold;
    if (!hold)
        soon(t); /* what was kept comes first */
    else if (t->proc)
        proc_hold(t->proc, true);
}

void sl_runtime_talk_close(void *ctx, void *talk) {
    struct talk *t = talk;

    (void)ctx;
    if (t->attach)
        leave_input(t);
    t->closed = true;
    detach(t);
    drop_pieces(t);
    if (t->shut)
        free_talk(t);
    else if (t->proc)
        proc_kill(t->proc);
    else
        shut(t);
}
