/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes. Each command runs under a supervisor: a small program of ours that starts it, forwards
 * SIGTERM to its whole group, adopts orphaned descendants (PR_SET_CHILD_SUBREAPER), and ends all of
 * them when the command has ended. So nothing survives its container, however it forks and
 * daemonises, without any privilege; and when this program dies, by whatever signal, the kernel
 * notifies its supervisors, and they end their commands.
 *
 * Where the machine allows, a command with mounts gets a mount namespace of its own (root, or a
 * user namespace).
 */
#ifndef SL_CLUSTER_KUBELET_PROCESS_SPAWN_H
#define SL_CLUSTER_KUBELET_PROCESS_SPAWN_H

#include <sys/types.h>

#include "cluster/kubelet/limits.h"
#include "core/base/arena.h"
#include "core/base/collection/vec.h"
#include "core/base/err.h"

struct uv_loop_s;
struct klet_spawner;
struct klet_proc;

/* How a command gets a mount namespace: not at all, as root, in a user namespace. */
enum klet_own_mounts { MOUNTS_NO, MOUNTS_ROOT, MOUNTS_USER };

struct klet_mount_point {
    const char *from, *to; /* 'to' is absolute */
    const char *sub;       /* below 'from': links in it lead nowhere else; NULL: 'from' itself */
    bool read_only, file;
};

struct klet_launch {
    struct sl_arena arena; /* holds all of this */
    const char **argv, **envp;
    const char **tries; /* paths to try for argv[0], NULL-terminated */
    const char *cwd;
    const char *root; /* an empty directory for building a new root; NULL: no mounts */
    SL_VEC(struct klet_mount_point) mounts;
    int64_t uid, gid;            /* -1: ours */
    gid_t groups[LAUNCH_GROUPS]; /* besides gid, if that is not -1 */
    uint32_t n_groups;
    uint64_t drop;        /* capabilities that it may never have, by bit; as root only */
    bool no_new_privs;    /* programs with set-user-ID do not help it */
    const char *writable; /* all but this directory and its mounts is read-only; NULL: not so */
    int cgroup_fd;        /* of cgroup.procs; -1: none. Closed by klet_launch_done */
    bool no_program;      /* it cannot be created because there is no command */
};

enum klet_proc_event {
    PROC_STARTED, /* the command runs */
    PROC_FAILED,  /* not started: see 'text', 'code' as of a shell. PROC_ENDED follows */
    PROC_ENDED, /* nothing of it is left; 'code' as of a shell. The proc is freed after this call */
};
struct klet_proc_note {
    enum klet_proc_event event;
    int code;
    const char *text;
};
typedef void (*klet_proc_fn)(void *ctx, const struct klet_proc_note *n);
/* What it wrote; len 0: the stream has ended. */
typedef void (*klet_proc_output_fn)(void *ctx, bool is_err, const char *bytes, size_t len);

/* What a command is connected with. */
struct klet_proc_io {
    klet_proc_fn fn;
    klet_proc_output_fn output;  /* NULL: to nowhere */
    void (*writable)(void *ctx); /* input is accepted again; NULL: not needed */
    void *ctx;
    bool in;  /* klet_proc_input feeds it; otherwise there is nothing to read */
    bool tty; /* a terminal; all it writes there is output, nothing is an error. Needs 'output' */
};

/* 'files' and 'dir' as in sl_kubelet_spec. */
int klet_spawner_new(struct uv_loop_s *loop, uint64_t files, const char *dir,
                     struct klet_spawner **ret, struct sl_err *err) _must_check_;
void klet_spawner_free(struct klet_spawner *s); /* kills what is left */
/* Can a command have its own mounts here? */
bool klet_spawner_mounts(const struct klet_spawner *s);
/* As on a machine that allows only this; false: this one does not. For tests. */
bool klet_spawner_mounts_by(struct klet_spawner *s, enum klet_own_mounts how);
/* Are there descriptors for another process, besides those that are left to connections? To be
 * called before anything else is opened for it. */
int klet_spawner_check(struct klet_spawner *s, struct sl_err *err) _must_check_;
/* A failure here is of the machine (no more processes or files). */
int klet_proc_start(struct klet_spawner *s, const struct klet_launch *l,
                    const struct klet_proc_io *io, struct klet_proc **ret,
                    struct sl_err *err) _must_check_;
/* Accepted, or ignored by a process that does not read. False: backpressure, 64 KiB and more are
 * queued; 'writable' is called when they are not. No callback runs inside these. */
bool klet_proc_input(struct klet_proc *p, const char *bytes, size_t len);
void klet_proc_input_end(
    struct klet_proc *p); /* after what waits; a terminal gets what a user would type */
void klet_proc_resize(struct klet_proc *p, uint16_t cols,
                      uint16_t rows); /* of its terminal, if it has one */
void klet_proc_hold(struct klet_proc *p,
                    bool hold);           /* its output is not read meanwhile, until it ends */
void klet_proc_term(struct klet_proc *p); /* SIGTERM to its group */
void klet_proc_kill(struct klet_proc *p); /* SIGKILL to all of it */
/* No callback follows; it is killed. */
void klet_proc_abandon(struct klet_proc *p);
/* Ends all: SIGTERM, and SIGKILL after grace_ms. Returns when they are gone; no callback comes. */
void klet_spawner_end_all(struct klet_spawner *s, uint32_t grace_ms);

void klet_launch_done(struct klet_launch *l);

#endif
