/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor: a small program of our own for each command. It starts it, forwards SIGTERM to
 * its group, adopts orphaned descendants, and ends all of them with it.
 *
 * It is a program, not a fork: a fork of the server would hold a copy of all objects, Secrets among
 * them, of its descriptors and of its locks for as long as the container runs, and creating one
 * takes longer the more objects there are. Its image is part of the library (supervisor_image.h),
 * and its input is a spec on FD_SPEC: versioned, checked to the last byte, and read by no program
 * but the one it was compiled with. Besides that it gets the descriptors below and no others, no
 * arguments and no environment.
 */
#ifndef SL_CLUSTER_KUBELET_PROCESS_SUPERVISOR_H
#define SL_CLUSTER_KUBELET_PROCESS_SUPERVISOR_H

#include <sys/resource.h>
#include <sys/types.h>

#include "cluster/kubelet/process/spawn.h"
#include "core/base/buf.h"

/* Its descriptors, behind the three streams of the command. Of these it keeps FD_STATUS. */
enum { FD_STATUS = 3, FD_CGROUP, FD_NULL, FD_SPEC, FD_PROGRAM, FD_FREE };

enum klet_stage { STAGE_EXEC, STAGE_CWD, STAGE_MOUNT, STAGE_USER, STAGE_FORK, STAGE_RIGHTS };
enum { SUPERVISOR_STARTED = 1, SUPERVISOR_FAILED, SUPERVISOR_ENDED };
/* Its exit status when it could not report. */
enum { SUPERVISOR_OK, SUPERVISOR_NO_MOUNTS, SUPERVISOR_BY_HAND, SUPERVISOR_BAD_SPEC };

/* What it writes to FD_STATUS: started; failed (stage, errno, which); ended (code). */
struct klet_supervisor_message {
    int32_t what, a, b, which;
};

/* As getdents64 writes them. */
struct klet_dirent64_head {
    uint64_t ino;
    int64_t off;
    unsigned short len;
    unsigned char type;
    char name[];
};

/* ---- what it is to do ---- */

#define SPEC_MAGIC UINT32_C(0x70757373)
#define SPEC_VERSION 1u

struct klet_supervisor_spec {
    bool run; /* false: nothing, only a test whether mounts are possible (SUPERVISOR_NO_MOUNTS) */
    bool tty; /* the command's input is a terminal, which becomes that of its session */
    enum klet_own_mounts mounts;
    uid_t uid; /* ours, for the maps of a user namespace */
    gid_t gid;
    pid_t parent;        /* without it there is nothing to do */
    struct rlimit files; /* limit of open files of a command: ours before we raised it */
};

/* 'l' is NULL unless s->run; its cgroup_fd is not part of it. SL_ELIMIT: it is too large. */
int klet_spec_encode(const struct klet_supervisor_spec *s, const struct klet_launch *l,
                     struct sl_buf *out, struct sl_err *err) _must_check_;
/* Of any bytes; what is not a whole spec of this version is SL_EINVAL. Texts of the launch are in
 * 'bytes', which must stay; klet_launch_done frees the rest, also after an error. */
int klet_spec_decode(const char *bytes, size_t len, struct klet_supervisor_spec *ret,
                     struct klet_launch *ret_l, struct sl_err *err) _must_check_;

/* ---- in the program ---- */

/* The process of the command, which is running; if it cannot be started, the error was reported and
 * this does not return. */
pid_t klet_supervisor_start(const struct klet_supervisor_spec *s, const struct klet_launch *l);
/* Until nothing of it is left. */
_Noreturn void klet_supervisor_watch(const struct klet_supervisor_spec *s, pid_t pid);

/* A private mount namespace for this process. 0 or -errno. */
int klet_mounts_enter(const struct klet_supervisor_spec *s);
/* All mount points of the launch; they are sorted, parents first. *ret_which: the one that failed.
 * 0 or -errno. */
int klet_mounts_do(const struct klet_supervisor_spec *s, const struct klet_launch *l,
                   int32_t *ret_which);

#endif
