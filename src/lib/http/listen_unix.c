/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Unix domain socket is a file, and stays when its process is killed. It is replaced only if it
 * is a socket of the same user on which nobody listens; whatever else is at the path stays. Two
 * processes that start at once could each find the other's socket unused, between bind and listen:
 * so the folder is locked from the look to the listen.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fmt.h"
#include "lib/http/listen.h"

#define BACKLOG 512
#define LOCK_TRIES 100 /* each 20 ms; whoever holds the lock needs less than one */

_Static_assert(HTTP_UNIX_PATH == sizeof(((struct sockaddr_un *)0)->sun_path), "a path that fits");

static struct sockaddr_un address_of(const char *path) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    sl_fmt(a.sun_path, sizeof a.sun_path, "%s", path);
    return a;
}

/* ---- the folder ---- */

static int open_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    int len = !slash || slash == path ? 1 : (int)(slash - path);
    char folder[HTTP_UNIX_PATH];

    sl_fmt(folder, sizeof folder, "%.*s", len, slash ? path : ".");
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int lock_folder(const char *path, int *ret_fd, struct sl_err *err) {
    static const struct timespec pause = {.tv_nsec = 20000000};
    int fd = open_folder(path);

    if (fd < 0)
        return sl_err_set(err, SL_EIO, "cannot listen on %s: its folder: %s", path,
                          strerror(errno));
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            *ret_fd = fd;
            return SL_OK;
        }
        if (errno != EWOULDBLOCK && errno != EINTR)
            break;
        (void)nanosleep(&pause, NULL);
    }
    int r = sl_err_set(err, SL_EIO, "cannot listen on %s: locking its folder: %s", path,
                       strerror(errno));
    (void)close(fd);
    return r;
}

/* ---- what is there ---- */

/* Whether somebody listens there; -1 and errno if that cannot be known. */
static int listens(const char *path) {
    const struct sockaddr_un a = address_of(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    int r = connect(fd, (const struct sockaddr *)&a, sizeof a), why = errno;
    (void)close(fd);
    errno = why;
    if (r == 0 || why == EAGAIN || why == EINPROGRESS)
        return 1;
    return why == ECONNREFUSED || why == ENOENT ? 0 : -1;
}

static int remove_stale(const char *path, struct sl_err *err) {
    static const char expected[] = "expected a free path, or a socket on which nobody listens";
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT
                   ? SL_OK
                   : sl_err_set(err, SL_EIO, "cannot listen on %s: %s", path, strerror(errno));
    if (!S_ISSOCK(st.st_mode))
        return sl_err_set(err, SL_EEXIST, "cannot listen on %s: it is a %s, %s", path,
                          S_ISLNK(st.st_mode)   ? "symbolic link"
                          : S_ISDIR(st.st_mode) ? "directory"
                                                : "file",
                          expected);
    if (st.st_uid != geteuid())
        return sl_err_set(err, SL_EEXIST, "cannot listen on %s: it is another user's, %s", path,
                          expected);
    int r = listens(path);
    if (r > 0)
        return sl_err_set(err, SL_EEXIST, "cannot listen on %s: another process listens there",
                          path);
    if (r < 0 || (unlink(path) < 0 && errno != ENOENT))
        return sl_err_set(err, SL_EIO, "cannot listen on %s: %s", path, strerror(errno));
    return SL_OK;
}

/* ---- listening ---- */

/* The file has its mode from the first moment on. */
static int bind_private(int fd, const char *path) {
    const struct sockaddr_un a = address_of(path);
    mode_t before = umask(0177);
    int r = bind(fd, (const struct sockaddr *)&a, sizeof a), why = errno;

    (void)umask(before);
    errno = why;
    return r;
}

static int listen_locked(const char *path, struct http_unix *ret, int *ret_fd, struct sl_err *err) {
    int r = remove_stale(path, err);
    struct stat st;

    if (r < 0)
        return r;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && bind_private(fd, path) == 0;
    if (!bound || listen(fd, BACKLOG) < 0 || lstat(path, &st) < 0) {
        r = sl_err_set(err, SL_EIO, "cannot listen on %s: %s", path, strerror(errno));
        if (bound)
            (void)unlink(path);
        if (fd >= 0)
            (void)close(fd);
        return r;
    }
    sl_fmt(ret->path, sizeof ret->path, "%s", path);
    ret->dev = st.st_dev;
    ret->ino = st.st_ino;
    *ret_fd = fd;
    return SL_OK;
}

int http_listen_unix(const char *path, struct http_unix *ret, int *ret_fd, struct sl_err *err) {
    int folder = -1;

    if (!*path || strlen(path) >= HTTP_UNIX_PATH)
        return sl_err_set(err, SL_EINVAL,
                          "expected the path of a socket of 1 to %zu bytes, got %zu",
                          HTTP_UNIX_PATH - 1, strlen(path));
    int r = lock_folder(path, &folder, err);
    if (r < 0)
        return r;
    r = listen_locked(path, ret, ret_fd, err);
    (void)close(folder); /* and unlocks it */
    return r;
}

void http_unlink_unix(const struct http_unix *u) {
    struct stat st;

    /* Another process may have its own there by now. */
    if (u->path[0] && lstat(u->path, &st) == 0 && st.st_dev == u->dev && st.st_ino == u->ino)
        (void)unlink(u->path);
}
