/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor program of one command (supervisor.h). `sluice up` carries it inside and starts
 * it; it links nothing but libc, and that statically where it can, because its start is part of the
 * start of every container and every exec session.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cluster/kubelet/process/supervisor.h"

static void print_error(const char *text) {
    (void)dprintf(STDERR_FILENO, "sluice-supervisor: %s\n", text);
}

/* All of it and one byte more, if there is more than it may be; -1: it cannot be read. */
static ssize_t read_all(char *to, size_t size) {
    size_t all = 0;
    ssize_t n;

    while (all < size &&
           ((n = read(FD_SPEC, to + all, size - all)) > 0 || (n < 0 && errno == EINTR)))
        all += n > 0 ? (size_t)n : 0;
    return n < 0 ? -1 : (ssize_t)all;
}

int main(void) {
    const size_t size = SPEC_MAX_BYTES + 1;
    struct klet_supervisor_spec s;
    struct klet_launch l;
    struct sl_err err = {0};

    (void)prctl(PR_SET_NAME, "sluice-superv"); /* or it would be called as its descriptor */
    if (fcntl(FD_SPEC, F_GETFD) < 0) {
        print_error("started by `sluice up` for each container; by hand it does nothing");
        return SUPERVISOR_BY_HAND;
    }
    /* Only what is written to takes memory; and all of it goes, with the secrets of the container,
     * when its command runs. */
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const ssize_t len = bytes == MAP_FAILED ? -1 : read_all(bytes, size);
    if (len < 0) {
        print_error("its spec cannot be read");
        return SUPERVISOR_BAD_SPEC;
    }
    (void)close(FD_SPEC);
    const int r = klet_spec_decode(bytes, (size_t)len, &s, &l, &err);
    if (r < 0)
        print_error(err.text);
    if (r < 0 || !s.run) {
        klet_launch_done(&l);
        return r < 0                       ? SUPERVISOR_BAD_SPEC
               : klet_mounts_enter(&s) < 0 ? SUPERVISOR_NO_MOUNTS
                                           : SUPERVISOR_OK;
    }
    const pid_t pid = klet_supervisor_start(&s, &l);
    klet_launch_done(&l);
    (void)munmap(bytes, size);
    klet_supervisor_watch(&s, pid);
}
