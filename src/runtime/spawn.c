/*
 * The parent's side: a keeper is forked, and says over a pipe what becomes of its command. The end
 * of that pipe is the end of the keeper, and of all that it kept.
 */
#include "runtime/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <uv.h>

#include "base/mem.h"
#include "log/log.h"
#include "runtime/keeper.h"

#define CHUNK ((size_t)64 << 10)
#define INPUT_ENOUGH ((size_t)64 << 10) /* waiting: who feeds it is asked to wait */
#define INPUT_MOST ((size_t)16 << 20)   /* from one who does not */

enum { STREAM_STATUS, STREAM_OUT, STREAM_ERR, STREAM_IN, STREAMS };

struct proc {
    struct spawner *spawner;
    struct proc *next, **prev;
    pid_t pid;
    struct proc_io io; /* fn NULL: nobody listens any more */
    uv_pipe_t streams[STREAMS];
    bool open[STREAMS]; /* has more to say */
    unsigned handles;   /* that the loop still knows */
    bool ended;
    bool full, in_end; /* its feeder was asked to wait; input ends with what waits */
    char in_last;      /* the last byte of it */
    int code;
    struct keeper_word word; /* as far as it has come */
    size_t word_len;
    char *program, *cwd, **targets; /* for messages */
    uint32_t n_targets;
};

struct spawner {
    uv_loop_t *loop;
    enum own_mounts mounts;
    uintptr_t heap;
    struct rlimit files;
    int null;
    struct proc *procs;
    char chunk[CHUNK];
};

void launch_done(struct launch *l) {
    if (l->cgroup_fd >= 0)
        (void)close(l->cgroup_fd);
    l->cgroup_fd = -1;
    sl_vec_free(&l->mounts);
    sl_arena_done(&l->arena);
}

/* ---- forking ---- */

/* Handlers of ours may not run in the child: they would speak on the pipes of our loop. */
static pid_t fork_silent(sigset_t *old) {
    sigset_t all;

    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, old);
    return fork();
}

static void fill_keeper(const struct spawner *s, struct keeper *k) {
    k->mounts = s->mounts;
    k->parent = getpid();
    k->heap = s->heap;
    k->files = s->files;
    (void)snprintf(k->uid_map, sizeof k->uid_map, "%u %u 1", (unsigned)geteuid(),
                   (unsigned)geteuid());
    (void)snprintf(k->gid_map, sizeof k->gid_map, "%u %u 1", (unsigned)getegid(),
                   (unsigned)getegid());
}

static bool mounts_work(struct spawner *s, enum own_mounts how) {
    struct keeper k = {.launch = NULL};
    sigset_t old;
    int status = 1;

    s->mounts = how;
    fill_keeper(s, &k);
    pid_t pid = fork_silent(&old);
    if (pid == 0)
        _exit(mounts_enter(&k) == 0 ? 0 : 1);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && status == 0;
}

bool spawner_mounts(const struct spawner *s) {
    return s->mounts > MOUNTS_NO;
}

bool spawner_mounts_by(struct spawner *s, enum own_mounts how) {
    if (how == MOUNTS_NO || mounts_work(s, how)) {
        s->mounts = how;
        return true;
    }
    s->mounts = MOUNTS_NO;
    return false;
}

static uintptr_t heap_begin(void) {
    FILE *f = fopen("/proc/self/maps", "re");
    unsigned long from = 0;
    char line[512];

    while (f && from == 0 && fgets(line, sizeof line, f))
        if (strstr(line, "[heap]"))
            from = strtoul(line, NULL, 16);
    if (f)
        (void)fclose(f);
    return from;
}

struct spawner *spawner_new(struct uv_loop_s *loop, uint64_t files) {
    struct spawner *s = sl_alloc0(1, sizeof *s);

    s->loop = loop;
    s->heap = heap_begin();
    if (getrlimit(RLIMIT_NOFILE, &s->files) == 0) { /* three for each container */
        const struct rlimit more = {s->files.rlim_max, s->files.rlim_max};
        (void)setrlimit(RLIMIT_NOFILE, &more);
        if (files && files < s->files.rlim_cur)
            s->files.rlim_cur = files;
    }
    struct sigaction now; /* a command that does not read its input may not end us */
    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        (void)signal(SIGPIPE, SIG_IGN);
    s->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if ((geteuid() != 0 || !spawner_mounts_by(s, MOUNTS_ROOT)) &&
        !spawner_mounts_by(s, MOUNTS_USER))
        sl_log(SL_LOG_INFO,
               "no mount namespaces here: volumes are found by SLUICE_VOLUME_NAME only");
    return s;
}

/* ---- what a keeper says ---- */

static const char *why(const struct proc *p, const struct keeper_word *w, char *out, size_t room) {
    const char *cause = strerror(w->b);

    switch ((enum stage)w->a) {
    case STAGE_EXEC:
        if (w->b == ENOENT && !strchr(p->program, '/'))
            cause = "executable file not found in $PATH";
        (void)snprintf(
            out, room,
            "exec: \"%.200s\": %s; sluice up runs programs of this machine, images are not pulled",
            p->program, cause);
        break;
    case STAGE_CWD:
        (void)snprintf(out, room, "workingDir \"%.200s\": %s", p->cwd, cause);
        break;
    case STAGE_MOUNT:
        (void)snprintf(
            out, room, "mounting at \"%.200s\": %s",
            w->which >= 0 && (uint32_t)w->which < p->n_targets ? p->targets[w->which] : "/", cause);
        break;
    case STAGE_USER:
        (void)snprintf(out, room, "changing to the user of the securityContext: %s", cause);
        break;
    case STAGE_RIGHTS:
        (void)snprintf(out, room, "dropping what the securityContext says: %s", cause);
        break;
    default:
        (void)snprintf(out, room, "starting a process: %s", cause);
    }
    return out;
}

static void tell(struct proc *p, const struct proc_note *n) {
    if (p->io.fn)
        p->io.fn(p->io.ctx, n);
}

static void tell_output(struct proc *p, int i, const char *bytes, size_t len) {
    if (p->io.fn && p->io.output)
        p->io.output(p->io.ctx, i == STREAM_ERR, bytes, len);
}

static void take_word(struct proc *p, const struct keeper_word *w) {
    char text[600];

    if (w->what == KEEPER_STARTED)
        tell(p, &(struct proc_note){.event = PROC_STARTED});
    else if (w->what == KEEPER_FAILED)
        tell(p, &(struct proc_note){.event = PROC_NOT,
                                    .code = w->a == STAGE_EXEC && w->b == ENOENT ? 127 : 126,
                                    .text = why(p, w, text, sizeof text)});
    else if (w->what == KEEPER_ENDED)
        p->code = w->a;
}

static void take_words(struct proc *p, const char *bytes, size_t len) {
    while (len > 0) {
        size_t n = sizeof p->word - p->word_len;
        n = n < len ? n : len;
        memcpy((char *)&p->word + p->word_len, bytes, n);
        p->word_len += n;
        bytes += n;
        len -= n;
        if (p->word_len == sizeof p->word) {
            p->word_len = 0;
            take_word(p, &p->word);
        }
    }
}

/* ---- its end ---- */

static void free_proc(struct proc *p) {
    sl_freep(&p->program);
    sl_freep(&p->cwd);
    for (uint32_t i = 0; i < p->n_targets; i++)
        sl_freep(&p->targets[i]);
    sl_freep(&p->targets);
    sl_freep(&p);
}

static void closed(uv_handle_t *h) {
    struct proc *p = h->data;

    if (--p->handles == 0)
        free_proc(p);
}

static void unlink_proc(struct proc *p) {
    *p->prev = p->next;
    if (p->next)
        p->next->prev = p->prev;
    for (int i = 0; i < STREAMS; i++) {
        p->open[i] = false;
        if (!uv_is_closing((uv_handle_t *)&p->streams[i]))
            uv_close((uv_handle_t *)&p->streams[i], closed);
    }
}

/* What a stream still holds, though its writers are gone; or not: somebody else got hold of its
 * other end. */
static void drain(struct proc *p, int i) {
    size_t all = 0;
    int fd;

    if (!p->open[i])
        return;
    (void)uv_read_stop((uv_stream_t *)&p->streams[i]);
    if (uv_fileno((uv_handle_t *)&p->streams[i], &fd) == 0)
        for (ssize_t n; all < PROC_LAST_WORDS && (n = read(fd, p->spawner->chunk, CHUNK)) > 0;
             all += (size_t)n)
            tell_output(p, i, p->spawner->chunk, (size_t)n);
    p->open[i] = false;
    tell_output(p, i, NULL, 0);
}

static void finish(struct proc *p) {
    p->ended = true;
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    drain(p, STREAM_OUT);
    drain(p, STREAM_ERR);
    tell(p, &(struct proc_note){.event = PROC_ENDED, .code = p->code});
    p->io.fn = NULL;
    unlink_proc(p);
}

/* ---- streams ---- */

static void give_chunk(uv_handle_t *h, size_t hint, uv_buf_t *b) {
    struct proc *p = h->data;

    (void)hint;
    *b = uv_buf_init(p->spawner->chunk, CHUNK);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b) {
    struct proc *p = stream->data;
    const int i = (int)((uv_pipe_t *)stream - p->streams);

    if (n == 0)
        return;
    if (i == STREAM_STATUS) {
        if (n > 0)
            take_words(p, b->base, (size_t)n);
        else
            finish(p);
        return;
    }
    if (n < 0) /* of a terminal, the loop says so though there may be more */
        drain(p, i);
    else
        tell_output(p, i, b->base, (size_t)n);
}

void proc_hold(struct proc *p, bool hold) {
    for (int i = STREAM_OUT; i <= STREAM_ERR; i++)
        if (p->open[i] && hold)
            (void)uv_read_stop((uv_stream_t *)&p->streams[i]);
        else if (p->open[i])
            (void)uv_read_start((uv_stream_t *)&p->streams[i], give_chunk, on_read);
}

void proc_resize(struct proc *p, uint16_t cols, uint16_t rows) {
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

static size_t input_waits(const struct proc *p) {
    return uv_stream_get_write_queue_size((const uv_stream_t *)&p->streams[STREAM_IN]);
}

static void close_input(struct proc *p) {
    p->open[STREAM_IN] = false;
    uv_close((uv_handle_t *)&p->streams[STREAM_IN], closed);
}

static void on_written(uv_write_t *q, int status) {
    struct proc *p = q->handle->data;
    struct writing *w = q->data;

    sl_freep(&w);
    if (!p->open[STREAM_IN])
        return;
    if (status < 0 || (p->in_end && input_waits(p) == 0))
        close_input(p);
    if (p->full && (status < 0 || input_waits(p) < INPUT_ENOUGH)) {
        p->full = false;
        if (p->io.fn && p->io.room)
            p->io.room(p->io.ctx);
    }
}

bool proc_input(struct proc *p, const char *bytes, size_t len) {
    if (!p->open[STREAM_IN] || p->in_end || len == 0)
        return !p->full;
    if (len > INPUT_MOST - input_waits(p)) {
        sl_log(SL_LOG_WARN, "more input for a process than it takes: the rest is dropped",
               SL_S("program", p->program));
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
    p->full |= input_waits(p) > INPUT_ENOUGH;
    return !p->full;
}

/* In the middle of a line, the first end of file only ends that. */
static void type_end(struct proc *p) {
    const bool twice = p->in_last && p->in_last != '\n' && p->in_last != '\r';
    struct termios t;
    int fd;

    if (uv_fileno((uv_handle_t *)&p->streams[STREAM_IN], &fd) < 0 || tcgetattr(fd, &t) < 0)
        return;
    const char keys[2] = {(char)t.c_cc[VEOF], (char)t.c_cc[VEOF]};
    (void)proc_input(p, keys, twice && (t.c_lflag & ICANON) ? 2 : 1);
}

void proc_input_end(struct proc *p) {
    if (!p->open[STREAM_IN] || p->in_end)
        return;
    if (p->io.tty)
        type_end(p);
    p->in_end = true;
    if (p->open[STREAM_IN] && input_waits(p) == 0)
        close_input(p);
}

/* ---- a new one ---- */

static struct proc *new_proc(struct spawner *s, const struct launch *l, const int ends[STREAMS]) {
    struct proc *p = sl_alloc0(1, sizeof *p);

    p->spawner = s;
    p->code = 137; /* unless the keeper says otherwise, it was killed */
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
static int make_terminal(const struct launch *l, bool in, int ours[STREAMS], int theirs[STREAMS]) {
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

static int make_streams(const struct launch *l, const struct proc_io *io, int ours[STREAMS],
                        int theirs[STREAMS]) {
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

static int or_else(int fd, int other) {
    return fd >= 0 ? fd : other;
}

int proc_start(struct spawner *s, const struct launch *l, const struct proc_io *io,
               struct proc **ret, struct sl_err *err) {
    int ours[STREAMS], theirs[STREAMS];
    struct keeper k = {.launch = l, .tty = io->tty};
    sigset_t old;
    int r = make_streams(l, io, ours, theirs);

    if (r < 0) {
        close_all(ours, STREAMS);
        close_all(theirs, STREAMS);
        return sl_err_set(err, SL_EIO, "making a %s: %s", io->tty ? "terminal" : "pipe",
                          strerror(-r));
    }
    const int other = io->tty ? theirs[STREAM_OUT] : s->null;
    k.fds = (struct keeper_fds){.null = s->null,
                                .in = or_else(theirs[STREAM_IN], other),
                                .out = or_else(theirs[STREAM_OUT], other),
                                .err = or_else(theirs[STREAM_ERR], other),
                                .status = theirs[STREAM_STATUS],
                                .cgroup = l->cgroup_fd};
    fill_keeper(s, &k);
    pid_t pid = fork_silent(&old);
    if (pid == 0)
        keeper_run(&k);
    int e = errno;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    close_all(theirs, STREAMS);
    if (pid < 0) {
        close_all(ours, STREAMS);
        return sl_err_set(err, SL_EIO, "starting a process: %s", strerror(e));
    }
    struct proc *p = new_proc(s, l, ours);
    p->pid = pid;
    p->io = *io;
    *ret = p;
    return 0;
}

void proc_term(struct proc *p) {
    if (!p->ended)
        (void)kill(p->pid, SIGTERM);
}

void proc_kill(struct proc *p) {
    if (!p->ended)
        (void)kill(p->pid, SIGUSR1);
}

void proc_abandon(struct proc *p) {
    p->io.fn = NULL;
    proc_kill(p);
}

/* ---- all of them ---- */

static bool wait_all(struct spawner *s, uint32_t ms) {
    const struct timespec pause = {.tv_nsec = 2000000};

    for (uint32_t waited = 0;; waited += 2) {
        bool left = false;
        for (struct proc *p = s->procs; p; p = p->next) {
            if (!p->ended && waitpid(p->pid, NULL, WNOHANG) != 0)
                p->ended = true;
            left |= !p->ended;
        }
        if (!left || waited >= ms)
            return !left;
        (void)nanosleep(&pause, NULL);
    }
}

void spawner_end_all(struct spawner *s, uint32_t grace_ms) {
    for (struct proc *p = s->procs; p; p = p->next) {
        p->io.fn = NULL;
        proc_term(p);
    }
    if (!wait_all(s, grace_ms)) {
        for (struct proc *p = s->procs; p; p = p->next)
            proc_kill(p);
        if (!wait_all(s, 5000)) {
            for (struct proc *p = s->procs; p; p = p->next)
                if (!p->ended)
                    (void)kill(p->pid, SIGKILL);
            (void)wait_all(s, 1000);
        }
    }
    while (s->procs)
        unlink_proc(s->procs);
}

static void free_spawner(uv_handle_t *h) {
    struct spawner *s = h->data;

    (void)close(s->null);
    sl_freep(&h);
    sl_freep(&s);
}

/* In a turn of the loop: a callback that is under way may still be in its chunk. */
void spawner_free(struct spawner *s) {
    uv_idle_t *last;

    if (!s)
        return;
    spawner_end_all(s, 0);
    last = sl_alloc0(1, sizeof *last);
    last->data = s;
    (void)uv_idle_init(s->loop, last);
    uv_close((uv_handle_t *)last, free_spawner);
}
