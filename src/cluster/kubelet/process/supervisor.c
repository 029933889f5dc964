/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kubelet/process/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cluster/kubelet/process/cgroup.h"

/* In the command's process until it runs, by the number that the spec had. */
enum { FD_WORD = FD_SPEC };

static void send_message(int32_t what, int32_t a, int32_t b, int32_t which) {
    const struct klet_supervisor_message w = {what, a, b, which};

    (void)!write(FD_STATUS, &w, sizeof w);
}

static _Noreturn void fail_start(enum klet_stage stage, int code, int32_t which) {
    send_message(SUPERVISOR_FAILED, (int32_t)stage, code, which);
    send_message(SUPERVISOR_ENDED, 128, 0, 0);
    _exit(0);
}

static void close_from(int fd) {
    if (syscall(SYS_close_range, fd, ~0u, 0u) < 0) /* before Linux 5.9 */
        for (int i = fd; i < 65536; i++)
            (void)close(i);
}

/* ---- the command ---- */

static _Noreturn void refuse_start(enum klet_stage stage, int code) {
    const int32_t message[2] = {(int32_t)stage, code};

    (void)!write(FD_WORD, message, sizeof message);
    _exit(128);
}

static void become(const struct klet_launch *l) {
    struct rlimit processes;

    if (l->gid >= 0) {
        gid_t all[LAUNCH_GROUPS + 1] = {(gid_t)l->gid};
        for (uint32_t i = 0; i < l->n_groups; i++)
            all[i + 1] = l->groups[i];
        if (setgroups(l->n_groups + 1, all) < 0 || setgid((gid_t)l->gid) < 0)
            refuse_start(STAGE_USER, errno);
    }
    /* The limit counts all processes of a user, so it is set only for users other than ours. */
    if (l->uid > 0 && getrlimit(RLIMIT_NPROC, &processes) == 0 &&
        processes.rlim_cur > CGROUP_PIDS) {
        processes = (struct rlimit){CGROUP_PIDS, CGROUP_PIDS};
        (void)setrlimit(RLIMIT_NPROC, &processes);
    }
    if (l->uid >= 0 && setuid((uid_t)l->uid) < 0)
        refuse_start(STAGE_USER, errno);
}

/* Out of the bounding set first, which takes a right that may be dropped itself. */
static void drop_bounds(const struct klet_launch *l) {
    for (unsigned i = 0; i < 64; i++)
        if ((l->drop >> i & 1) && prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1 &&
            prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
            refuse_start(STAGE_RIGHTS, errno);
}

static void drop_rights(const struct klet_launch *l) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    if (l->drop) {
        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        if (syscall(SYS_capget, &head, data) < 0)
            refuse_start(STAGE_RIGHTS, errno);
        for (int i = 0; i < 2; i++) {
            const uint32_t keep = ~(uint32_t)(l->drop >> (32 * i));
            data[i].effective &= keep;
            data[i].permitted &= keep;
            data[i].inheritable &= keep;
        }
        if (syscall(SYS_capset, &head, data) < 0)
            refuse_start(STAGE_RIGHTS, errno);
    }
    if (l->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        refuse_start(STAGE_RIGHTS, errno);
}

static _Noreturn void command(const struct klet_supervisor_spec *s, const struct klet_launch *l) {
    int code = ENOENT;
    sigset_t none;

    (void)setsid();
    if (s->tty)
        (void)ioctl(0, TIOCSCTTY, 0);
    (void)!write(FD_CGROUP, "0", 1);
    if (l->cwd && chdir(l->cwd) < 0)
        refuse_start(STAGE_CWD, errno);
    (void)setrlimit(RLIMIT_NOFILE, &s->files);
    drop_bounds(l);
    become(l);
    drop_rights(l);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user clears it */
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (const char **t = l->tries; *t; t++) {
        (void)execve(*t, (char *const *)l->argv, (char *const *)l->envp);
        const int e = errno;
        /* What may not be looked into does not have it, as far as we know. */
        if (e == ENOENT || e == ENOTDIR || (e == EACCES && l->tries[1] && access(*t, F_OK) < 0))
            continue;
        code = e;
        if (code != EACCES)
            break;
    }
    refuse_start(STAGE_EXEC, code);
}

/* Starts it and waits until it runs or does not. */
static pid_t start_child(const struct klet_supervisor_spec *s, const struct klet_launch *l) {
    int message[2], got[2] = {0, 0};
    pid_t pid;

    if (pipe2(message, O_CLOEXEC) < 0)
        fail_start(STAGE_FORK, errno, 0);
    pid = fork();
    if (pid < 0)
        fail_start(STAGE_FORK, errno, 0);
    if (pid == 0) {
        if (message[1] != FD_WORD)
            (void)dup3(message[1], FD_WORD, O_CLOEXEC); /* the reading end is closed with it */
        close_from(FD_WORD + 1);
        command(s, l);
    }
    (void)close(message[1]);
    ssize_t n;
    while ((n = read(message[0], got, sizeof got)) < 0 && errno == EINTR)
        ;
    (void)close(message[0]);
    if (n == sizeof got) {
        (void)waitpid(pid, NULL, 0);
        fail_start((enum klet_stage)got[0], got[1], 0);
    }
    return pid;
}

/* ---- what is left behind ---- */

/* In "/proc/12/stat" the parent follows the last ')' and a letter. */
static pid_t parent_of(const char *pid) {
    char path[48] = "/proc/", text[512], *p;
    size_t n = strlen(pid);
    long ppid = 0;

    if (n > 20)
        return 0;
    memcpy(path + 6, pid, n + 1);
    memcpy(path + 6 + n, "/stat", 6);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, text, sizeof text - 1);
    (void)close(fd);
    text[got > 0 ? got : 0] = '\0';
    p = strrchr(text, ')');
    if (!p || p[1] != ' ' || !p[2] || p[3] != ' ')
        return 0;
    for (p += 4; *p >= '0' && *p <= '9'; p++)
        ppid = ppid * 10 + (*p - '0');
    return (pid_t)ppid;
}

/* All whose parent we are: what lost its own parent has become ours. */
static void kill_children(void) {
    _Alignas(struct klet_dirent64_head) char list[8192];
    const pid_t self = getpid();
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n;

    if (proc < 0)
        return;
    while ((n = syscall(SYS_getdents64, proc, list, sizeof list)) > 0)
        for (char *at = list; at < list + n;) {
            const struct klet_dirent64_head *d = (const void *)at;
            at += d->len;
            if (d->name[0] < '1' || d->name[0] > '9' || parent_of(d->name) != self)
                continue;
            long pid = 0;
            for (const char *c = d->name; *c; c++)
                pid = pid * 10 + (*c - '0');
            (void)kill((pid_t)pid, SIGKILL);
        }
    (void)close(proc);
}

static int code_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Until nothing is left. */
static int watch(pid_t command_pid) {
    const struct timespec pause = {.tv_nsec = 5000000};
    bool ended = false, kill_all = false;
    int code = 137, status;
    sigset_t set;
    siginfo_t info;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    for (;;) {
        pid_t pid;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
            if (pid == command_pid) {
                ended = true;
                code = code_of(status);
            }
        if (pid < 0)
            return code;
        if (ended || kill_all) {
            (void)kill(-command_pid, SIGKILL);
            kill_children();
        }
        int sig = ended || kill_all ? sigtimedwait(&set, &info, &pause) : sigwaitinfo(&set, &info);
        if (sig == SIGTERM)
            (void)kill(-command_pid, SIGTERM);
        else if (sig == SIGUSR1)
            kill_all = true;
    }
}

pid_t klet_supervisor_start(const struct klet_supervisor_spec *s, const struct klet_launch *l) {
    int32_t which = -1;

    close_from(FD_SPEC);
    for (int fd = FD_STATUS; fd < FD_SPEC; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)setsid();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if ((l->mounts.n > 0 || l->writable) && s->mounts > MOUNTS_NO) {
        int r = klet_mounts_enter(s);
        if (r == 0)
            r = klet_mounts_do(s, l, &which);
        if (r < 0)
            fail_start(STAGE_MOUNT, -r, which);
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGUSR1); /* after the namespaces, which clear it */
    if (getppid() != s->parent)
        _exit(SUPERVISOR_OK);
    return start_child(s, l);
}

void klet_supervisor_watch(const struct klet_supervisor_spec *s, pid_t pid) {
    (void)close(FD_CGROUP);
    for (int i = 0; i < 3 && !s->tty; i++)
        (void)dup2(FD_NULL, i); /* or the output would not end before the supervisor */
    (void)close(FD_NULL);
    /* A terminal is held, so that a command may let go of it and open it again. */
    send_message(SUPERVISOR_STARTED, 0, 0, 0);
    send_message(SUPERVISOR_ENDED, watch(pid), 0, 0);
    _exit(SUPERVISOR_OK);
}
