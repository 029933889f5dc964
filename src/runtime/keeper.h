/*
 * What runs in a forked child before and beside the command. Only system calls: the program that
 * was forked has threads, so neither malloc nor stdio may be used here.
 */
#ifndef SL_RUNTIME_KEEPER_H
#define SL_RUNTIME_KEEPER_H

#include <sys/resource.h>
#include <sys/types.h>

#include "runtime/spawn.h"

enum stage { STAGE_EXEC, STAGE_CWD, STAGE_MOUNT, STAGE_USER, STAGE_FORK, STAGE_RIGHTS };
enum { KEEPER_STARTED = 1, KEEPER_FAILED, KEEPER_ENDED };

/* What the keeper writes: started; failed (stage, errno, which); ended (code). */
struct keeper_word {
    int32_t what, a, b, which;
};

/* As getdents64 writes them. */
struct dirent64_head {
    uint64_t ino;
    int64_t off;
    unsigned short len;
    unsigned char type;
    char name[];
};

struct keeper_fds {
    int null, in, out, err, status, cgroup; /* cgroup: -1 if there is none */
};

struct keeper {
    const struct launch *launch;
    struct keeper_fds fds;
    enum own_mounts mounts;
    bool tty;                      /* its input is a terminal, which becomes that of its session */
    char uid_map[48], gid_map[48]; /* of a user namespace */
    pid_t parent;
    struct rlimit
        files;      /* open files that a command may have: what we had before we asked for more */
    uintptr_t heap; /* where the parent's heap begins: it is given back; 0: unknown */
};

_Noreturn void keeper_run(const struct keeper *k);

/* A private mount namespace for this process. 0 or -errno. */
int mounts_enter(const struct keeper *k);
/* All mount points of the launch; they are sorted, parents first. *ret_which: the one that failed.
 * 0 or -errno. */
int mounts_do(const struct launch *l, int32_t *ret_which);

#endif
