/* SPDX-License-Identifier: Apache-2.0 */
/* Runs in the supervisor, too: no memory is allocated. */
#include "cluster/kubelet/process/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/kubelet/limits.h"

int klet_walk_root(void) {
    const int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

int klet_walk_part(int at, const char *name) {
    const int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

/* A link of the machine, like /var/run: only root can have made it. */
static bool may_follow(const struct klet_walk *w, int folder, const struct stat *link) {
    struct stat st;

    return w->any_link || (link->st_uid == 0 && fstat(folder, &st) == 0 && st.st_uid == 0 &&
                           (st.st_mode & (S_IWGRP | S_IWOTH)) == 0);
}

/* The target of a link replaces its name: path = text + "/" + rest. 0 or -errno. */
static int follow(int link, char path[PATH_MAX], const char *rest, int *at) {
    char text[PATH_MAX];
    const size_t left = strlen(rest);
    const ssize_t n = readlinkat(link, "", text, sizeof text);

    if (n <= 0)
        return n < 0 ? -errno : -ENOENT;
    if ((size_t)n + left + 2 > PATH_MAX)
        return -ENAMETOOLONG;
    memmove(path + n + 1, rest, left + 1);
    memcpy(path, text, (size_t)n);
    path[n] = '/';
    if (text[0] != '/')
        return 0;
    (void)close(*at);
    *at = klet_walk_root();
    return *at < 0 ? *at : 0;
}

/* The next part of a path; false at its end. */
static bool next_part(const char **path, char part[NAME_MAX + 1], int *r) {
    const char *p = *path + strspn(*path, "/");
    const size_t n = strcspn(p, "/");

    if (n > NAME_MAX)
        *r = -ENAMETOOLONG;
    if (n == 0 || n > NAME_MAX)
        return false;
    memcpy(part, p, n);
    part[n] = '\0';
    *path = p + n + strspn(p + n, "/");
    return true;
}

int klet_walk_to(const struct klet_walk *w, const char *to) {
    char path[PATH_MAX], part[NAME_MAX + 1];
    const char *rest = path;
    unsigned links = 0;
    struct stat st;
    int at = klet_walk_root(), r = at < 0 ? at : 0;

    if (strlen(to) >= sizeof path)
        r = -ENAMETOOLONG;
    else
        memcpy(path, to, strlen(to) + 1);
    while (r == 0 && next_part(&rest, part, &r)) {
        int fd = klet_walk_part(at, part);
        if (fd == -ENOENT)
            fd = w->make(w->ctx, &at, part, !*rest);
        if (fd < 0 || fstat(fd, &st) < 0) {
            r = fd < 0 ? fd : -errno;
        } else if (S_ISLNK(st.st_mode)) {
            r = may_follow(w, at, &st) && ++links <= RT_MAX_LINKS ? follow(fd, path, rest, &at)
                                                                  : -ELOOP;
            rest = path;
        } else {
            (void)close(at);
            at = fd;
            fd = -1;
        }
        if (fd >= 0)
            (void)close(fd);
    }
    if (r == 0)
        return at;
    if (at >= 0)
        (void)close(at);
    return r;
}
