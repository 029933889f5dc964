/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State machine of one container: waiting, starting, running, terminated; and waiting again,
 * depending on its restart policy.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <unistd.h>

#include "cluster/kubelet/kubelet_int.h"
#include "core/base/fmt.h"
#include "core/base/quantity.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

#define CONFIG_AGAIN (2 * SL_SEC) /* after something that it refers to was not there */
#define MACHINE_AGAIN (5 * SL_SEC)
#define LAST_GRACE (2 * SL_SEC) /* what a hook that took all the time leaves to the container */

enum { HOOK_START, HOOK_STOP };

void klet_ending_clear(struct klet_ending *e) {
    sl_freep(&e->message);
    *e = (struct klet_ending){.is = false};
}

/* What was not there a moment ago, or is still not. */
static bool is_news(const struct klet_container *c, const char *message) {
    return !c->message || strcmp(c->message, message) != 0;
}

static void set_waiting(struct klet_container *c, const char *waiting, const char *message) {
    char *copy = message ? sl_strdup(message) : NULL;

    sl_freep(&c->message);
    c->waiting = waiting;
    c->message = copy;
}

bool klet_container_restarts(const struct klet_container *c, int code) {
    const char *own =
        c->role == ROLE_MAIN && c->pod->local ? sl_json_str(c->spec, "restartPolicy") : "";

    if (c->role == ROLE_SIDECAR || strcmp(own, "Always") == 0)
        return true;
    if (strcmp(own, "Never") == 0)
        return false;
    if (strcmp(own, "OnFailure") == 0 || c->role == ROLE_INIT)
        return code != 0 && (*own || c->pod->policy != NEVER);
    return c->pod->policy == ALWAYS || (c->pod->policy == ON_FAILURE && code != 0);
}

/* ---- the end of a run ---- */

static char *last_message(struct klet_container *c, int code) {
    const size_t share = RT_MESSAGES / c->pod->n_cs, most = share < RT_MESSAGE ? share : RT_MESSAGE;
    char path[PATH_MAX], text[RT_MESSAGE + 1];
    char *out = NULL;

    sl_fmt(path, sizeof path, "%s/term/%s", c->pod->local->folder, c->name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = fd < 0 ? 0 : read(fd, text, most);
    if (fd >= 0)
        (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    if (*text)
        return sl_strdup(text);
    if (code != 0 && c->log &&
        strcmp(sl_json_str(c->spec, "terminationMessagePolicy"), "FallbackToLogsOnError") == 0) {
        _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(RT_MESSAGE);
        klet_log_tail(c->log, most < RT_MESSAGE / 2 ? most : RT_MESSAGE / 2, &b);
        if (b.len > 0)
            out = sl_strdup(sl_buf_str(&b));
    }
    return out;
}

static void drop_hook(struct klet_container *c) {
    klet_handler_call_end(TAKE_PTR(c->hook));
    c->posting = false;
}

static void leave_cgroup(struct klet_container *c) {
    if (c->cgroup)
        klet_cgroup_remove(c->cgroup);
    sl_freep(&c->cgroup);
}

static void ended(struct klet_container *c, int code, const char *reason) {
    const sl_time wall = c->pod->rt->client->wall;
    const bool oom = c->cgroup && code != 0 && klet_cgroup_oom(c->cgroup);

    c->proc = NULL;
    klet_probes_end(c);
    drop_hook(c);
    klet_sessions_end(c, code);
    if (c->log)
        klet_log_end(c->log, wall);
    c->now =
        (struct klet_ending){.is = true,
                             .code = code,
                             .reason = reason      ? reason
                                       : oom       ? "OOMKilled"
                                       : code == 0 ? "Completed"
                                                   : "Error",
                             .message = c->message ? TAKE_PTR(c->message) : last_message(c, code),
                             .started = c->started_wall ? c->started_wall : wall,
                             .finished = wall,
                             .run = c->restarts};
    if (reason && c->now.message)
        klet_container_event(c, true, "Failed", c->now.message);
    leave_cgroup(c);
    sl_freep(&c->env);
    c->env_len = 0;
    c->state = C_ENDED;
    c->waiting = NULL;
    c->ready = c->up = c->ending = c->terminated = false;
    c->kill_at = c->term_at = SL_TIME_NEVER;
    klet_pod_enqueue(c->pod);
}

/* ---- the beginning of a run ---- */

bool klet_container_blocks_others(const struct klet_container *c) {
    return c->state == C_STARTING && sl_json_at(c->spec, "lifecycle.postStart");
}

static void on_hook(struct klet_container *c, int which, bool ok);

static void container_running(struct klet_container *c) {
    c->state = C_RUNNING;
    c->waiting = NULL;
    klet_probes_begin(c);
    klet_pod_enqueue(c->pod);
}

/* The postStart hook has ended. If it failed, the container is stopped. */
static void posted(struct klet_container *c, bool ok) {
    drop_hook(c);
    if (ok) {
        container_running(c);
        return;
    }
    c->waiting = "PostStartHookError";
    klet_container_event(c, true, "FailedPostStartHook", "PostStartHook failed");
    klet_container_stop(c, c->pod->grace);
    klet_pod_enqueue(c->pod);
}

static sl_span sleep_of(yyjson_val *hook) {
    const int64_t seconds = sl_json_int(hook, "sleep.seconds", 0);

    return (seconds < 86400 ? seconds : 86400) * SL_SEC;
}

/* Its command runs; it is started when its hook, if it has one, is through. */
static void started(struct klet_container *c) {
    yyjson_val *hook = sl_json_at(c->spec, "lifecycle.postStart");
    struct sl_kube_client *client = c->pod->rt->client;

    c->started_mono = client->mono;
    c->started_wall = client->wall;
    if (!hook) {
        container_running(c);
        return;
    }
    c->posting = true;
    c->post_at = SL_TIME_NEVER;
    if (sl_json_at(hook, "sleep"))
        c->post_at = client->mono + sleep_of(hook);
    else if (!(c->hook = klet_handler_call_begin(c, hook, HANDLER_HOOK, on_hook, HOOK_START)))
        posted(c, false);
    klet_pod_enqueue(c->pod);
}

static void on_proc(void *ctx, const struct klet_proc_note *n) {
    struct klet_container *c = ctx;

    if (n->event == PROC_STARTED) {
        started(c);
    } else if (n->event == PROC_FAILED) {
        set_waiting(c, c->waiting, n->text);
    } else {
        ended(c, n->code, c->state == C_STARTING && c->message ? "StartError" : NULL);
    }
}

static void on_output(void *ctx, bool is_err, const char *bytes, size_t len) {
    struct klet_container *c = ctx;

    if (c->log && len > 0)
        klet_log_output(c->log, is_err, bytes, len, c->pod->rt->client->wall);
    klet_sessions_output(c, is_err, bytes, len);
}

static void on_writable(void *ctx) {
    klet_sessions_writable(ctx);
}

/* ---- a start ---- */

static int64_t limit(struct klet_container *c, const char *what, int64_t per_unit) {
    const char *s = sl_json_opt(yyjson_obj_get(sl_json_at(c->spec, "resources.limits"), what));
    sl_quantity q;

    if (!s || sl_quantity_parse(s, strlen(s), &q, NULL) < 0 || q <= 0)
        return 0;
    return (int64_t)(q / (SL_NANO / per_unit));
}

static void join_cgroup(struct klet_container *c, struct klet_launch *l) {
    struct klet_cgroups *g = c->pod->rt->cgroups;
    char name[256];

    if (!klet_cgroups_on(g))
        return;
    sl_fmt(name, sizeof name, "%.120s.%.100s", c->pod->uid, c->name);
    sl_freep(&c->cgroup);
    l->cgroup_fd =
        klet_cgroup_make(g, name, limit(c, "cpu", 1000), limit(c, "memory", 1), &c->cgroup);
}

/* It cannot be started now; perhaps later. */
static void later(struct klet_container *c, const char *reason, const char *message,
                  sl_span after) {
    c->state = C_WAITING;
    if (is_news(c, message))
        klet_container_event(c, true, "Failed", message);
    set_waiting(c, reason, message);
    c->start_at = c->pod->rt->client->mono + after;
    klet_refs_again(c->pod);
}

/* Of a run that there is for certain: a container that waits for descriptors holds none, and the
 * logs of its last runs stay. */
static void begin_run(struct klet_container *c) {
    char folder[PATH_MAX];

    c->restarts += c->last.is;
    c->started_wall = 0;
    c->ending = c->terminated = false;
    c->kill_at = c->term_at = SL_TIME_NEVER;
    set_waiting(c, c->waiting, NULL);
    sl_fmt(folder, sizeof folder, "%s/logs/%s", c->pod->rt->dir, c->pod->uid);
    klet_log_unref(c->log);
    c->log = klet_log_begin(folder, c->name, c->restarts);
}

void klet_container_start(struct klet_container *c) {
    struct sl_kubelet *rt = c->pod->rt;
    struct klet_launch l;
    struct sl_err err = {0};
    const struct klet_proc_io io = {.fn = on_proc,
                                    .output = on_output,
                                    .writable = on_writable,
                                    .ctx = c,
                                    .in = sl_json_bool(c->spec, "stdin", false),
                                    .tty = sl_json_bool(c->spec, "tty", false)};
    int r = klet_spawner_check(rt->spawner, &err);

    if (r < 0) {
        later(c, "CreateContainerError", err.text, MACHINE_AGAIN);
        return;
    }
    r = klet_launch_make(c, &(struct klet_launch_of){.tty = io.tty}, &l, &err);
    if (r < 0 && !l.no_program) {
        later(c, "CreateContainerConfigError", err.text, CONFIG_AGAIN);
        klet_launch_done(&l);
        return;
    }
    if (!l.no_program) {
        join_cgroup(c, &l);
        r = klet_proc_start(rt->spawner, &l, &io, &c->proc, &err);
    }
    klet_launch_done(&l);
    if (r < 0 && !l.no_program) {
        leave_cgroup(c);
        later(c, "CreateContainerError", err.text, MACHINE_AGAIN);
        return;
    }
    begin_run(c);
    if (l.no_program) {
        set_waiting(c, NULL, err.text);
        ended(c, 128, "StartError");
    } else {
        c->state = C_STARTING;
    }
}

/* ---- stopping ---- */

static void terminate(struct klet_container *c) {
    const sl_time now = c->pod->rt->client->mono;
    const bool hooked = c->term_at != SL_TIME_NEVER;

    drop_hook(c);
    c->terminated = true;
    c->term_at = SL_TIME_NEVER;
    if (hooked && c->kill_at < now + LAST_GRACE)
        c->kill_at = now + LAST_GRACE;
    if (c->proc)
        klet_proc_term(c->proc);
}

static void pre_stop_failed(struct klet_container *c) {
    klet_container_event(c, true, "FailedPreStopHook", "PreStopHook failed");
}

static void on_hook(struct klet_container *c, int which, bool ok) {
    c->hook = NULL;
    if (which == HOOK_START) {
        posted(c, ok);
        return;
    }
    if (!ok)
        pre_stop_failed(c);
    if (c->ending && !c->terminated)
        terminate(c);
}

/* Does a hook have time to run first? */
static bool begin_hook(struct klet_container *c) {
    yyjson_val *hook = sl_json_at(c->spec, "lifecycle.preStop");

    if (!c->started_wall || !hook)
        return false;
    if (sl_json_at(hook, "sleep")) {
        const sl_time at = c->pod->rt->client->mono + sleep_of(hook);
        c->term_at = at < c->kill_at ? at : c->kill_at;
        return true;
    }
    c->hook = klet_handler_call_begin(c, hook, HANDLER_HOOK, on_hook, HOOK_STOP);
    c->term_at = c->hook ? c->kill_at : SL_TIME_NEVER;
    if (!c->hook)
        pre_stop_failed(c);
    return c->hook;
}

void klet_container_stop(struct klet_container *c, sl_span grace) {
    const sl_time at = sl_time_add(c->pod->rt->client->mono, grace);

    if (!c->proc)
        return;
    if (c->ending) {
        c->kill_at = at < c->kill_at ? at : c->kill_at;
        c->term_at = at < c->term_at && c->term_at != SL_TIME_NEVER ? at : c->term_at;
        return;
    }
    c->ending = true;
    c->kill_at = at;
    drop_hook(c);
    if (grace == 0 || !begin_hook(c))
        terminate(c);
}

void klet_container_tick(struct klet_container *c) {
    const sl_time now = c->pod->rt->client->mono;

    if (!c->proc)
        return;
    if (c->posting && now >= c->post_at)
        posted(c, true);
    else if (c->posting)
        klet_pod_enqueue_at(c->pod, c->post_at);
    if (c->ending && !c->terminated && now >= c->term_at)
        terminate(c);
    if (c->ending && c->terminated && now >= c->kill_at) {
        klet_proc_kill(c->proc);
        c->kill_at = SL_TIME_NEVER;
    }
    if (c->state == C_RUNNING && !c->ending)
        klet_probes_tick(c);
    if (c->ending)
        klet_pod_enqueue_at(c->pod, c->terminated ? c->kill_at : c->term_at);
}

void klet_container_done(struct klet_container *c) {
    klet_probes_end(c);
    drop_hook(c);
    klet_sessions_forget(c);
    if (c->proc)
        klet_proc_abandon(c->proc);
    c->proc = NULL;
    if (c->log && c->state != C_ENDED && c->pod->local)
        klet_log_end(c->log, c->pod->rt->client->wall);
    klet_log_unref(c->log);
    c->log = NULL;
    klet_ending_clear(&c->now);
    klet_ending_clear(&c->last);
    sl_freep(&c->message);
    sl_freep(&c->name);
    sl_freep(&c->image);
    sl_freep(&c->cgroup);
    sl_freep(&c->env);
}
