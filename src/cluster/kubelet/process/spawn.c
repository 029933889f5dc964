/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent's side: a supervisor is started, and reports the state of its command over a pipe. The
 * end of that pipe is the end of the supervisor, and of all processes of the command.
 *
 * It is started by posix_spawn from a descriptor that this file creates once. So this process is
 * never copied, and the file that the server was started from may change.
 */
#include "cluster/kubelet/process/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <uv.h>

#include "cluster/kubelet/process/supervisor.h"
#include "cluster/kubelet/process/supervisor_image.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/log/log.h"

/* Descriptors that containers leave to connections, at most: a quarter of a lower limit. */
#define FD_RESERVE ((rlim_t)256)

/* Of Linux 6.3: before it, all memfds can be executed. */
#ifndef MFD_EXEC
#define MFD_NOEXEC_SEAL 0x0008U
#define MFD_EXEC 0x0010U
#endif

enum { STREAM_STATUS, STREAM_OUT, STREAM_ERR, STREAM_IN, STREAMS };

struct klet_proc {
    struct klet_spawner *spawner;
    struct klet_proc *next, **prev;
    pid_t pid;
    struct klet_proc_io io; /* fn NULL: no listener any more */
    uv_pipe_t streams[STREAMS];
    uv_timer_t last;         /* until its supervisor is killed itself */
    bool open[STREAMS];      /* not at its end */
    uint64_t turn[STREAMS];  /* in which it was read last, */
    size_t of_turn[STREAMS]; /* and how much then */
    unsigned handles;        /* that the loop still has */
    bool ended;
    bool full, in_end; /* backpressure was signalled; input ends with what is queued */
    char in_last;      /* the last byte of it */
    int code;
    struct klet_supervisor_message message; /* as far as it has come */
    size_t word_len;
    bool start_reported;            /* what became of the start */
    char *program, *cwd, **targets; /* for messages */
    uint32_t n_targets;
};

struct klet_spawner {
    uv_loop_t *loop;
    enum klet_own_mounts mounts;
    struct rlimit files;
    int max_fd;            /* what is above is for connections */
    int null, program;     /* the supervisor's image */
    posix_spawnattr_t how; /* all signals blocked, and none ignored or handled */
    struct klet_proc *procs;
    uv_prepare_t turns;
    uint64_t turn;      /* of the loop */
    uv_timer_t orphans; /* while there may be some */
    unsigned handles;
    char chunk[RT_CHUNK];
};

/* ---- starting supervisors ---- */

static int write_all(int fd, const char *bytes, size_t len) {
    for (ssize_t n; len > 0; bytes += n, len -= (size_t)n)
        if ((n = write(fd, bytes, len)) < 0 && errno == EINTR)
            n = 0;
        else if (n <= 0)
            return n < 0 ? -errno : -ENOSPC;
    return 0;
}

static int memory_file(const char *name, unsigned flag) {
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const int fd = memfd_create(name, flags | flag);

    return fd < 0 && errno == EINVAL ? memfd_create(name, flags) : fd;
}

/* In memory; or, on a machine that lets none of those be executed, one in the folder that has no
 * name. */
static int make_file(const char *dir) {
    char path[PATH_MAX];
    int fd = memory_file(klet_supervisor_image[0].name, MFD_EXEC);

    if (fd >= 0)
        return fd;
    if (snprintf(path, sizeof path, "%s/supervisor-XXXXXX", dir) >= (int)sizeof path)
        return -ENAMETOOLONG;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    (void)unlink(path);
    return fd;
}

/* What is open for writing cannot be executed, so it is opened once more. */
static int make_program(struct klet_spawner *s, const char *dir) {
    char path[32];
    const int fd = make_file(dir);
    int r =
        fd < 0 ? fd : write_all(fd, klet_supervisor_image[0].text, klet_supervisor_image[0].len);

    if (r == 0 && fchmod(fd, 0500) < 0)
        r = -errno;
    /* It cannot be changed any more, even by a process that can open our descriptors. A file of a
     * folder, which has no seals, is at least busy while a container runs. */
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    sl_fmt(path, sizeof path, "/proc/self/fd/%d", fd);
    if (r == 0 && (s->program = open(path, O_PATH | O_CLOEXEC)) < 0)
        r = -errno;
    if (fd >= 0)
        (void)close(fd);
    return r;
}

/* Of our environment it gets the options of sanitisers, if it was built with any. */
static void make_env(char *env[], size_t size) {
    static const char *const names[] = {"ASAN_OPTIONS=", "UBSAN_OPTIONS=", "LSAN_OPTIONS="};
    size_t n = 0;

    for (char **e = environ; *e && n + 1 < size; e++)
        for (size_t i = 0; i < SL_LEN(names) && n + 1 < size; i++)
            if (strncmp(*e, names[i], strlen(names[i])) == 0)
                env[n++] = *e;
    env[n] = NULL;
}

/* The spec as a file in memory, from its beginning. */
static int spec_file(const struct sl_buf *spec) {
    const int fd = memory_file("spec", MFD_NOEXEC_SEAL);
    int r = fd < 0 ? -errno : write_all(fd, spec->s, spec->len);

    if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    if (r < 0 && fd >= 0)
        (void)close(fd);
    return r < 0 ? r : fd;
}

/* With these descriptors as its first, and no others. A source may stand on the number of a target,
 * so it is moved away before. 0 or -errno. */
static int execute(const struct klet_spawner *s, const int fds[FD_FREE], pid_t *ret) {
    char *const argv[] = {(char *)klet_supervisor_image[0].name, NULL};
    char *env[8], path[32];
    posix_spawn_file_actions_t actions;
    int moved[FD_FREE], r = 0;

    make_env(env, SL_LEN(env));
    sl_fmt(path, sizeof path, "/proc/self/fd/%d", FD_PROGRAM);
    (void)posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < FD_FREE; i++) {
        moved[i] = fds[i] < FD_FREE ? fcntl(fds[i], F_DUPFD_CLOEXEC, FD_FREE) : -1;
        if (r == 0 && fds[i] < FD_FREE && moved[i] < 0)
            r = errno;
        if (r == 0)
            r = posix_spawn_file_actions_adddup2(&actions, moved[i] < 0 ? fds[i] : moved[i], i);
    }
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(&actions, FD_FREE);
    if (r == 0)
        r = posix_spawn(ret, path, &actions, &s->how, argv, env);
    (void)posix_spawn_file_actions_destroy(&actions);
    for (int i = 0; i < FD_FREE; i++)
        if (moved[i] >= 0)
            (void)close(moved[i]);
    return -r;
}

/* What the streams, the status and the cgroup are is the caller's; the rest comes here. */
static int start_supervisor(const struct klet_spawner *s, const int ends[FD_NULL],
                            const struct klet_supervisor_spec *spec, const struct klet_launch *l,
                            pid_t *ret, struct sl_err *err) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(SPEC_MAX_BYTES);
    int fds[FD_FREE] = {[FD_NULL] = s->null, [FD_PROGRAM] = s->program};
    int r = klet_spec_encode(spec, l, &b, err);

    if (r < 0)
        return r;
    memcpy(fds, ends, FD_NULL * sizeof fds[0]);
    r = fds[FD_SPEC] = spec_file(&b);
    if (r >= 0) {
        r = execute(s, fds, ret);
        (void)close(fds[FD_SPEC]);
    }
    return r < 0 ? sl_err_set(err, SL_EIO, "starting a process: %s", strerror(-r)) : 0;
}

static struct klet_supervisor_spec spec_of(const struct klet_spawner *s) {
    return (struct klet_supervisor_spec){.mounts = s->mounts,
                                         .uid = geteuid(),
                                         .gid = getegid(),
                                         .parent = getpid(),
                                         .files = s->files};
}

/* 1: mounts can be had in this way; 0: not. */
static int try_mounts(struct klet_spawner *s, enum klet_own_mounts how, struct sl_err *err) {
    struct klet_supervisor_spec spec = spec_of(s);
    const int ends[FD_NULL] = {s->null, s->null, s->null, s->null, s->null};
    int status = -1;
    pid_t pid = -1;

    spec.mounts = how;
    int r = start_supervisor(s, ends, &spec, NULL, &pid, err);
    if (r < 0)
        return sl_err_wrap(err, r, "container supervisor");
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) > SUPERVISOR_NO_MOUNTS)
        return sl_err_set(err, SL_EIO,
                          "the container supervisor does not run on this machine (status %d)",
                          status);
    return WEXITSTATUS(status) == SUPERVISOR_OK;
}

bool klet_spawner_mounts(const struct klet_spawner *s) {
    return s->mounts > MOUNTS_NO;
}

bool klet_spawner_mounts_by(struct klet_spawner *s, enum klet_own_mounts how) {
    const bool can = how == MOUNTS_NO || try_mounts(s, how, NULL) == 1;

    s->mounts = can ? how : MOUNTS_NO;
    return can;
}

static int find_mounts(struct klet_spawner *s, struct sl_err *err) {
    int r = geteuid() == 0 ? try_mounts(s, MOUNTS_ROOT, err) : 0;

    s->mounts = r == 1 ? MOUNTS_ROOT : MOUNTS_NO;
    if (r == 0 && (r = try_mounts(s, MOUNTS_USER, err)) == 1)
        s->mounts = MOUNTS_USER;
    if (r == 0)
        sl_log(SL_LOG_INFO,
               "no mount namespaces, volumes only reachable through SLUICE_VOLUME_NAME");
    return r < 0 ? r : 0;
}

/* A handler of ours, or a signal that we do not want, is nothing that a supervisor should have; and
 * one that comes before it is ready waits. */
static void set_signals(struct klet_spawner *s) {
    sigset_t all;

    sigfillset(&all);
    (void)posix_spawnattr_init(&s->how);
    (void)posix_spawnattr_setsigmask(&s->how, &all);
    (void)posix_spawnattr_setsigdefault(&s->how, &all);
    (void)posix_spawnattr_setflags(&s->how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static void drop_spawner(struct klet_spawner *s) {
    if (s->null >= 0)
        (void)close(s->null);
    if (s->program >= 0)
        (void)close(s->program);
    (void)posix_spawnattr_destroy(&s->how);
    sl_freep(&s);
}

static void next_turn(uv_prepare_t *h) {
    struct klet_spawner *s = h->data;

    s->turn++;
}

static void begin_turns(struct klet_spawner *s) {
    sl_assert(uv_prepare_init(s->loop, &s->turns) == 0 &&
              uv_timer_init(s->loop, &s->orphans) == 0 &&
              uv_prepare_start(&s->turns, next_turn) == 0);
    s->turns.data = s->orphans.data = s;
    s->handles = 2;
    uv_unref((uv_handle_t *)&s->turns);
    uv_unref((uv_handle_t *)&s->orphans);
}

int klet_spawner_new(struct uv_loop_s *loop, uint64_t files, const char *dir,
                     struct klet_spawner **ret, struct sl_err *err) {
    struct klet_spawner *s = sl_alloc0(1, sizeof *s);

    s->loop = loop;
    s->program = -1;
    set_signals(s);
    s->max_fd = INT_MAX;
    if (getrlimit(RLIMIT_NOFILE, &s->files) == 0) { /* four for each container */
        const struct rlimit more = {s->files.rlim_max, s->files.rlim_max};
        const rlim_t quarter = more.rlim_cur / 4;
        const rlim_t most = more.rlim_cur - (quarter < FD_RESERVE ? quarter : FD_RESERVE);
        (void)setrlimit(RLIMIT_NOFILE, &more);
        s->max_fd = most < INT_MAX ? (int)most : INT_MAX;
        if (files && files < s->files.rlim_cur)
            s->files.rlim_cur = files;
    }
    struct sigaction now; /* a command that does not read its input may not end us */
    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        (void)signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* see sweep */
    s->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int r = s->null < 0 ? -errno : make_program(s, dir);
    if (r < 0)
        r = sl_err_set(err, SL_EIO, "creating the container supervisor: %s", strerror(-r));
    else
        r = find_mounts(s, err);
    if (r < 0) {
        drop_spawner(s);
        return r;
    }
    begin_turns(s);
    *ret = s;
    return 0;
}

/* ---- messages of a supervisor ---- */

static const char *failure_text(const struct klet_proc *p, const struct klet_supervisor_message *w,
                                char *out, size_t size) {
    const char *cause = strerror(w->b);

    switch ((enum klet_stage)w->a) {
    case STAGE_EXEC:
        if (w->b == ENOENT && !strchr(p->program, '/'))
            cause = "executable file not found in $PATH";
        sl_fmt_short(
            out, size,
            "exec: \"%.200s\": %s; sluice up runs programs of this machine, images are not pulled",
            p->program, cause);
        break;
    case STAGE_CWD:
        sl_fmt_short(out, size, "workingDir \"%.200s\": %s", p->cwd, cause);
        break;
    case STAGE_MOUNT:
        if (w->b == ELOOP)
            cause = "a symbolic link on its way was not made by root alone";
        sl_fmt_short(
            out, size, "mounting at \"%.200s\": %s",
            w->which >= 0 && (uint32_t)w->which < p->n_targets ? p->targets[w->which] : "/", cause);
        break;
    case STAGE_USER:
        sl_fmt_short(out, size, "changing to the user of the securityContext: %s", cause);
        break;
    case STAGE_RIGHTS:
        sl_fmt_short(out, size, "applying the securityContext: %s", cause);
        break;
    default:
        sl_fmt_short(out, size, "starting a process: %s", cause);
    }
    return out;
}

static void report_note(struct klet_proc *p, const struct klet_proc_note *n) {
    if (p->io.fn)
        p->io.fn(p->io.ctx, n);
}

static void report_output(struct klet_proc *p, int i, const char *bytes, size_t len) {
    if (p->io.fn && p->io.output)
        p->io.output(p->io.ctx, i == STREAM_ERR, bytes, len);
}

static void handle_message(struct klet_proc *p, const struct klet_supervisor_message *w) {
    char text[600];

    p->start_reported = true;
    if (w->what == SUPERVISOR_STARTED)
        report_note(p, &(struct klet_proc_note){.event = PROC_STARTED});
    else if (w->what == SUPERVISOR_FAILED)
        report_note(
            p, &(struct klet_proc_note){.event = PROC_FAILED,
                                        .code = w->a == STAGE_EXEC && w->b == ENOENT ? 127 : 126,
                                        .text = failure_text(p, w, text, sizeof text)});
    else if (w->what == SUPERVISOR_ENDED)
        p->code = w->a;
}

static void read_messages(struct klet_proc *p, const char *bytes, size_t len) {
    while (len > 0) {
        size_t n = sizeof p->message - p->word_len;
        n = n < len ? n : len;
        memcpy((char *)&p->message + p->word_len, bytes, n);
        p->word_len += n;
        bytes += n;
        len -= n;
        if (p->word_len == sizeof p->message) {
            p->word_len = 0;
            handle_message(p, &p->message);
        }
    }
}

/* ---- what a supervisor leaves behind ---- */

/* In "/proc/12/stat" the parent follows the last ')' and a letter. */
static bool is_child(const char *pid) {
    char path[64], text[512];

    sl_fmt(path, sizeof path, "/proc/%.20s/stat", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *p = strrchr(text, ')');
    return p && strlen(p) > 4 && strtol(p + 4, NULL, 10) == (long)getpid();
}

static bool is_supervisor(const struct klet_spawner *s, pid_t pid) {
    for (const struct klet_proc *p = s->procs; p; p = p->next)
        if (p->pid == pid)
            return true;
    return false;
}

/* A container may kill its supervisor. What that stood over has become ours then, for we adopt as
 * it did: children in other sessions than our own, where all that we start ourselves is, but for
 * supervisors. They are killed; so is a credential plugin that happens to run, which is started
 * again. True: some are left, or what they leave behind in turn. */
static bool sweep(const struct klet_spawner *s) {
    DIR *d = opendir("/proc");
    bool left = false;

    for (const struct dirent *e; d && (e = readdir(d));) {
        const pid_t pid =
            e->d_name[0] >= '1' && e->d_name[0] <= '9' ? (pid_t)strtol(e->d_name, NULL, 10) : 0;
        if (pid == 0 || !is_child(e->d_name) || is_supervisor(s, pid) || getsid(pid) == getsid(0))
            continue;
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, WNOHANG);
        left = true;
    }
    if (d)
        (void)closedir(d);
    return left;
}

static void on_orphans(uv_timer_t *t) {
    if (!sweep(t->data))
        (void)uv_timer_stop(t);
}

/* ---- its end ---- */

static void free_proc(struct klet_proc *p) {
    sl_freep(&p->program);
    sl_freep(&p->cwd);
    for (uint32_t i = 0; i < p->n_targets; i++)
        sl_freep(&p->targets[i]);
    sl_freep(&p->targets);
    sl_freep(&p);
}

static void closed(uv_handle_t *h) {
    struct klet_proc *p = h->data;

    if (--p->handles == 0)
        free_proc(p);
}

static void unlink_proc(struct klet_proc *p) {
    *p->prev = p->next;
    if (p->next)
        p->next->prev = p->prev;
    for (int i = 0; i < STREAMS; i++) {
        p->open[i] = false;
        if (!uv_is_closing((uv_handle_t *)&p->streams[i]))
            uv_close((uv_handle_t *)&p->streams[i], closed);
    }
    uv_close((uv_handle_t *)&p->last, closed);
}

/* What a stream still holds after its writers are gone; its other end may be held by another
 * process. */
static void drain(struct klet_proc *p, int i) {
    size_t all = 0;
    int fd;

    if (!p->open[i])
        return;
    (void)uv_read_stop((uv_stream_t *)&p->streams[i]);
    if (uv_fileno((uv_handle_t *)&p->streams[i], &fd) == 0)
        for (ssize_t n; all < PROC_DRAIN && (n = read(fd, p->spawner->chunk, RT_CHUNK)) > 0;
             all += (size_t)n)
            report_output(p, i, p->spawner->chunk, (size_t)n);
    p->open[i] = false;
    report_output(p, i, NULL, 0);
}

/* It ended before it had started anything, and not by a signal, which a container that is killed
 * would give as well. */
static void report_unstarted(struct klet_proc *p, int status) {
    char text[100];

    if (p->start_reported || !WIFEXITED(status) || WEXITSTATUS(status) == SUPERVISOR_OK)
        return;
    sl_fmt_short(text, sizeof text, "the supervisor of the container ended with exit code %d",
                 WEXITSTATUS(status));
    p->code = 128;
    report_note(p, &(struct klet_proc_note){.event = PROC_FAILED, .code = 128, .text = text});
}

static void finish_process(struct klet_proc *p) {
    int status = 0;

    p->ended = true;
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status) && sweep(p->spawner))
        (void)uv_timer_start(&p->spawner->orphans, on_orphans, ORPHANS_EVERY, ORPHANS_EVERY);
    report_unstarted(p, status);
    drain(p, STREAM_OUT);
    drain(p, STREAM_ERR);
    report_note(p, &(struct klet_proc_note){.event = PROC_ENDED, .code = p->code});
    p->io.fn = NULL;
    unlink_proc(p);
}

/* ---- streams ---- */

static void give_chunk(uv_handle_t *h, size_t hint, uv_buf_t *b) {
    struct klet_proc *p = h->data;
    struct klet_spawner *s = p->spawner;
    const int i = (int)((uv_pipe_t *)h - p->streams);

    (void)hint;
    if (p->turn[i] != s->turn)
        p->of_turn[i] = 0;
    p->turn[i] = s->turn;
    /* With its share used up, the loop goes on to others and comes back in its next turn. */
    *b = uv_buf_init(s->chunk, i == STREAM_STATUS ? (unsigned)RT_CHUNK
                                                  : (unsigned)(OUTPUT_SHARE - p->of_turn[i]));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b) {
    struct klet_proc *p = stream->data;
    const int i = (int)((uv_pipe_t *)stream - p->streams);

    if (n == 0 || n == UV_ENOBUFS)
        return;
    p->of_turn[i] += n > 0 && i != STREAM_STATUS ? (size_t)n : 0;
    if (i == STREAM_STATUS) {
        if (n > 0)
            read_messages(p, b->base, (size_t)n);
        else
            finish_process(p);
        return;
    }
    if (n < 0) /* of a terminal, the loop reports an error though there may be more */
        drain(p, i);
    else
        report_output(p, i, b->base, (size_t)n);
}

void klet_proc_hold(struct klet_proc *p, bool hold) {
    for (int i = STREAM_OUT; i <= STREAM_ERR; i++)
        if (p->open[i] && hold)
            (void)uv_read_stop((uv_stream_t *)&p->streams[i]);
        else if (p->open[i])
            (void)uv_read_start((uv_stream_t *)&p->streams[i], give_chunk, on_read);
}

void klet_proc_resize(struct klet_proc *p, uint16_t cols, uint16_t rows) {
    const struct winsize size = {.ws_col = cols, .ws_row = rows};
    int fd;

    if (p->io.tty && uv_fileno((uv_handle_t *)&p->streams[STREAM_OUT], &fd) == 0)
        (void)ioctl(fd, TIOCSWINSZ, &size);
}

/* ---- input ---- */

struct writing {
    uv_write_t req;
    char bytes[];
};

static size_t input_waits(const struct klet_proc *p) {
    return uv_stream_get_write_queue_size((const uv_stream_t *)&p->streams[STREAM_IN]);
}

static void close_input(struct klet_proc *p) {
    p->open[STREAM_IN] = false;
    uv_close((uv_handle_t *)&p->streams[STREAM_IN], closed);
}

static void on_written(uv_write_t *q, int status) {
    struct klet_proc *p = q->handle->data;
    struct writing *w = q->data;

    sl_freep(&w);
    if (!p->open[STREAM_IN])
        return;
    if (status < 0 || (p->in_end && input_waits(p) == 0))
        close_input(p);
    if (p->full && (status < 0 || input_waits(p) < INPUT_HIGH_WATER)) {
        p->full = false;
        if (p->io.fn && p->io.writable)
            p->io.writable(p->io.ctx);
    }
}

bool klet_proc_input(struct klet_proc *p, const char *bytes, size_t len) {
    if (!p->open[STREAM_IN] || p->in_end || len == 0)
        return !p->full;
    if (len > INPUT_MAX - input_waits(p)) {
        sl_log(SL_LOG_WARN, "process input dropped: buffer full", SL_S("program", p->program));
        p->in_end = true;
        return false;
    }
    struct writing *w = sl_alloc(sizeof *w + len);
    uv_buf_t b = uv_buf_init(w->bytes, (unsigned)len);
    memcpy(w->bytes, bytes, len);
    w->req.data = w;
    p->in_last = bytes[len - 1];
    if (uv_write(&w->req, (uv_stream_t *)&p->streams[STREAM_IN], &b, 1, on_written) < 0) {
        sl_freep(&w);
        close_input(p);
        return true;
    }
    p->full |= input_waits(p) > INPUT_HIGH_WATER;
    return !p->full;
}

/* In the middle of a line, the first end of file only ends that. */
static void type_end(struct klet_proc *p) {
    const bool twice = p->in_last && p->in_last != '\n' && p->in_last != '\r';
    struct termios t;
    int fd;

    if (uv_fileno((uv_handle_t *)&p->streams[STREAM_IN], &fd) < 0 || tcgetattr(fd, &t) < 0)
        return;
    const char keys[2] = {(char)t.c_cc[VEOF], (char)t.c_cc[VEOF]};
    (void)klet_proc_input(p, keys, twice && (t.c_lflag & ICANON) ? 2 : 1);
}

void klet_proc_input_end(struct klet_proc *p) {
    if (!p->open[STREAM_IN] || p->in_end)
        return;
    if (p->io.tty)
        type_end(p);
    p->in_end = true;
    if (p->open[STREAM_IN] && input_waits(p) == 0)
        close_input(p);
}

/* ---- a new one ---- */

static struct klet_proc *new_proc(struct klet_spawner *s, const struct klet_launch *l,
                                  const int ends[STREAMS]) {
    struct klet_proc *p = sl_alloc0(1, sizeof *p);

    p->spawner = s;
    sl_assert(uv_timer_init(s->loop, &p->last) == 0);
    p->last.data = p;
    p->handles++;
    p->code = 137; /* killed, unless the supervisor reports another code */
    p->program = sl_strdup(l->argv[0]);
    p->cwd = sl_strdup(l->cwd ? l->cwd : "/");
    p->targets = sl_alloc0(l->mounts.n + 1, sizeof *p->targets);
    p->n_targets = l->mounts.n;
    for (uint32_t i = 0; i < l->mounts.n; i++)
        p->targets[i] = sl_strdup(l->mounts.v[i].to);
    for (int i = 0; i < STREAMS; i++) {
        uv_pipe_t *h = &p->streams[i];
        sl_assert(uv_pipe_init(s->loop, h, 0) == 0);
        h->data = p;
        p->handles++;
        p->open[i] = ends[i] >= 0;
        if (ends[i] >= 0) {
            sl_assert(uv_pipe_open(h, ends[i]) == 0);
            if (i != STREAM_IN)
                sl_assert(uv_read_start((uv_stream_t *)h, give_chunk, on_read) == 0);
        }
    }
    p->prev = &s->procs;
    p->next = s->procs;
    if (p->next)
        p->next->prev = &p->next;
    s->procs = p;
    return p;
}

static void close_all(const int *fds, int n) {
    for (int i = 0; i < n; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

/* Its other end is all three streams of the command, and belongs to its user. */
static int make_terminal(const struct klet_launch *l, bool in, int ours[STREAMS],
                         int theirs[STREAMS]) {
    const int no = 0;
    char name[64];
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    ours[STREAM_OUT] = fd;
    if (fd < 0 || ioctl(fd, TIOCSPTLCK, &no) < 0)
        return -errno;
    theirs[STREAM_OUT] = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (theirs[STREAM_OUT] < 0 && ptsname_r(fd, name, sizeof name) == 0) /* before Linux 4.13 */
        theirs[STREAM_OUT] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (theirs[STREAM_OUT] < 0)
        return -errno;
    if (in && (ours[STREAM_IN] = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0)
        return -errno;
    if (l->uid >= 0)
        (void)!fchown(theirs[STREAM_OUT], (uid_t)l->uid, (gid_t)-1);
    return 0;
}

static int make_streams(const struct klet_launch *l, const struct klet_proc_io *io,
                        int ours[STREAMS], int theirs[STREAMS]) {
    const bool want[STREAMS] = {[STREAM_STATUS] = true,
                                [STREAM_OUT] = io->output && !io->tty,
                                [STREAM_ERR] = io->output && !io->tty,
                                [STREAM_IN] = io->in && !io->tty};

    for (int i = 0; i < STREAMS; i++)
        ours[i] = theirs[i] = -1;
    for (int i = 0, pair[2]; i < STREAMS; i++) {
        if (!want[i])
            continue;
        if (pipe2(pair, O_CLOEXEC) < 0)
            return -errno;
        ours[i] = pair[i == STREAM_IN];
        theirs[i] = pair[i != STREAM_IN];
    }
    return io->tty ? make_terminal(l, io->in, ours, theirs) : 0;
}

/* The kernel gives out the lowest free number, so a high one says how many are in use. */
int klet_spawner_check(struct klet_spawner *s, struct sl_err *err) {
    const int fd = fcntl(s->null, F_DUPFD_CLOEXEC, 0);
    const bool full = fd < 0 || fd > s->max_fd;

    if (fd >= 0)
        (void)close(fd);
    return full ? sl_err_set(err, SL_EIO, "%s; raise the limit with ulimit -Hn", strerror(EMFILE))
                : SL_OK;
}

static int or_else(int fd, int other) {
    return fd >= 0 ? fd : other;
}

int klet_proc_start(struct klet_spawner *s, const struct klet_launch *l,
                    const struct klet_proc_io *io, struct klet_proc **ret, struct sl_err *err) {
    int ours[STREAMS], theirs[STREAMS];
    struct klet_supervisor_spec spec = spec_of(s);
    pid_t pid = -1;
    int r = klet_spawner_check(s, err);

    if (r < 0)
        return r;
    r = make_streams(l, io, ours, theirs);
    if (r < 0) {
        close_all(ours, STREAMS);
        close_all(theirs, STREAMS);
        return sl_err_set(err, SL_EIO, "creating a %s: %s", io->tty ? "terminal" : "pipe",
                          strerror(-r));
    }
    const int other = io->tty ? theirs[STREAM_OUT] : s->null;
    /* Without a cgroup, the write that joins it goes to /dev/null. */
    const int ends[FD_NULL] = {
        or_else(theirs[STREAM_IN], other), or_else(theirs[STREAM_OUT], other),
        or_else(theirs[STREAM_ERR], other), theirs[STREAM_STATUS], or_else(l->cgroup_fd, s->null)};
    spec.run = true;
    spec.tty = io->tty;
    r = start_supervisor(s, ends, &spec, l, &pid, err);
    close_all(theirs, STREAMS);
    if (r < 0) {
        close_all(ours, STREAMS);
        return r;
    }
    struct klet_proc *p = new_proc(s, l, ours);
    p->pid = pid;
    p->io = *io;
    *ret = p;
    return 0;
}

/* A container may have stopped it. */
static void signal_supervisor(const struct klet_proc *p, int sig) {
    if (p->ended)
        return;
    (void)kill(p->pid, sig);
    (void)kill(p->pid, SIGCONT);
}

void klet_proc_term(struct klet_proc *p) {
    signal_supervisor(p, SIGTERM);
}

/* Its command goes with it, and what else it stood over is swept up. */
static void on_last(uv_timer_t *t) {
    struct klet_proc *p = t->data;

    if (!p->ended)
        (void)kill(p->pid, SIGKILL);
}

void klet_proc_kill(struct klet_proc *p) {
    signal_supervisor(p, SIGUSR1);
    if (!p->ended && !uv_is_active((uv_handle_t *)&p->last))
        (void)uv_timer_start(&p->last, on_last, KILL_TIMEOUT_MS, 0);
}

void klet_proc_abandon(struct klet_proc *p) {
    p->io.fn = NULL;
    klet_proc_kill(p);
}

/* ---- all of them ---- */

static bool wait_all(struct klet_spawner *s, uint32_t ms) {
    const struct timespec pause = {.tv_nsec = 2000000};

    for (uint32_t waited = 0;; waited += 2) {
        bool left = false;
        for (struct klet_proc *p = s->procs; p; p = p->next) {
            if (!p->ended && waitpid(p->pid, NULL, WNOHANG) != 0)
                p->ended = true;
            left |= !p->ended;
        }
        if (!left || waited >= ms)
            return !left;
        (void)nanosleep(&pause, NULL);
    }
}

void klet_spawner_end_all(struct klet_spawner *s, uint32_t grace_ms) {
    const struct timespec pause = {.tv_nsec = 2000000};

    for (struct klet_proc *p = s->procs; p; p = p->next) {
        p->io.fn = NULL;
        klet_proc_term(p);
    }
    if (!wait_all(s, grace_ms)) {
        for (struct klet_proc *p = s->procs; p; p = p->next)
            klet_proc_kill(p);
        if (!wait_all(s, 5000)) {
            for (struct klet_proc *p = s->procs; p; p = p->next)
                if (!p->ended)
                    (void)kill(p->pid, SIGKILL);
            (void)wait_all(s, 1000);
        }
    }
    for (int i = 0; i < 500 && sweep(s); i++)
        (void)nanosleep(&pause, NULL);
    while (s->procs)
        unlink_proc(s->procs);
}

static void free_spawner(uv_handle_t *h) {
    struct klet_spawner *s = h->data;

    if (--s->handles == 0)
        drop_spawner(s);
}

/* In a turn of the loop: a callback that is under way may still be in its chunk. */
void klet_spawner_free(struct klet_spawner *s) {
    if (!s)
        return;
    klet_spawner_end_all(s, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0);
    uv_close((uv_handle_t *)&s->turns, free_spawner);
    uv_close((uv_handle_t *)&s->orphans, free_spawner);
}
