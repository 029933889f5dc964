/*
 * Mount points of one command, in a mount namespace of its own, on top of the machine's own
 * folders. A mount point that is not there is made without touching the machine: the nearest folder
 * above it is covered by a tmpfs in which all it held is bound again, and which the missing folders
 * are made in. Of "/" this makes a new root.
 *
 * Runs in the supervisor.
 */
#include "base/fmt.h"
#include "runtime/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

struct covers {
    dev_t dev[MAX_COVERS];
    uint32_t n;
};

static int put_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, text, strlen(text));
    int r = n < 0 ? -errno : 0;
    (void)close(fd);
    return r;
}

/* One id of ours is the same inside. */
static int put_map(const char *path, unsigned id) {
    char text[48];

    sl_fmt(text, sizeof text, "%u %u 1", id, id);
    return put_file(path, text);
}

int mounts_enter(const struct supervisor_spec *s) {
    if (s->mounts == MOUNTS_USER) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
            return -errno;
        (void)put_file("/proc/self/setgroups", "deny");
        int r = put_map("/proc/self/uid_map", s->uid);
        if (r == 0)
            r = put_map("/proc/self/gid_map", s->gid);
        if (r < 0)
            return r;
    } else if (unshare(CLONE_NEWNS) < 0) {
        return -errno;
    }
    return mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ? -errno : 0;
}

/* ---- a folder covered by a copy of its listing ---- */

static size_t number(char *out, unsigned n) {
    char digits[12];
    size_t k = 0;

    do
        digits[k++] = (char)('0' + n % 10);
    while (n /= 10);
    for (size_t i = 0; i < k; i++)
        out[i] = digits[k - 1 - i];
    return k;
}

/* "/proc/self/fd/N/name" */
static bool path_in(char out[PATH_MAX], int dir, const char *name) {
    static const char lead[] = "/proc/self/fd/";
    size_t n = sizeof lead - 1, len = strlen(name);

    memcpy(out, lead, n);
    n += number(out + n, (unsigned)dir);
    if (n + len + 2 > PATH_MAX)
        return false;
    if (len > 0) /* without a name, the descriptor itself, which may be a file */
        out[n++] = '/';
    memcpy(out + n, name, len + 1);
    return true;
}

/* An entry that cannot be shown is left out, or stays empty. */
static void show(int from, int to, const char *name) {
    char a[PATH_MAX], b[PATH_MAX];
    struct stat st;

    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlinkat(from, name, a, sizeof a - 1);
        if (n > 0) {
            a[n] = '\0';
            int r = symlinkat(a, to, name);
            (void)r;
        }
        return;
    }
    if (S_ISDIR(st.st_mode)) {
        if (mkdirat(to, name, 0755) < 0)
            return;
    } else {
        int fd = openat(to, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
        if (fd < 0)
            return;
        (void)close(fd);
    }
    if (path_in(a, from, name) && path_in(b, to, name))
        (void)mount(a, b, NULL, MS_BIND | MS_REC, NULL);
}

static int copy_listing(int from, int to) {
    _Alignas(struct dirent64_head) char list[16384];
    int entries = 0;
    long n;

    while ((n = syscall(SYS_getdents64, from, list, sizeof list)) > 0)
        for (char *at = list; at < list + n;) {
            const struct dirent64_head *d = (const void *)at;
            at += d->len;
            if (strcmp(d->name, ".") == 0 || strcmp(d->name, "..") == 0)
                continue;
            if (++entries > MAX_ENTRIES)
                return -E2BIG;
            show(from, to, d->name);
        }
    return n < 0 ? -errno : 0;
}

static int go_root(const char *root) {
    if (chdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
        chdir("/") < 0)
        return -errno;
    return 0;
}

static int cover(const char *folder, const char *root, struct covers *covers) {
    const bool whole = strcmp(folder, "/") == 0;
    struct stat st = {0};
    int from = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), to = -1, r = 0;

    if (from < 0 || fstat(from, &st) < 0 ||
        mount("tmpfs", whole ? root : folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0)
        r = -errno;
    if (r == 0 && (to = open(whole ? root : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        r = -errno;
    if (r == 0)
        r = copy_listing(from, to);
    if (r == 0) {
        (void)fchmod(to, st.st_mode & 07777);
        if (fstat(to, &st) == 0 && covers->n < MAX_COVERS)
            covers->dev[covers->n++] = st.st_dev;
    }
    if (from >= 0)
        (void)close(from);
    if (to >= 0)
        (void)close(to);
    return r < 0 || !whole ? r : go_root(root);
}

/* ---- mount points ---- */

static bool is_under(const char *path, const char *above) {
    size_t n = strlen(above);

    return strncmp(path, above, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* May a folder be made in this one, because it is ours? */
static bool is_ours(const struct launch *l, uint32_t done, const struct covers *covers,
                    const char *folder) {
    struct stat st;

    for (uint32_t i = 0; i < done; i++)
        if (!l->mounts.v[i].file && is_under(folder, l->mounts.v[i].to))
            return true;
    if (stat(folder, &st) == 0)
        for (uint32_t i = 0; i < covers->n; i++)
            if (covers->dev[i] == st.st_dev)
                return true;
    return false;
}

/* Makes what is missing of 'path' below 'have' bytes of it. */
static int make_rest(char *path, size_t have, bool file) {
    for (char *p = path + have + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            int r = mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
            *p = '/';
            if (r < 0)
                return r;
        }
    if (!file)
        return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    (void)close(fd);
    return 0;
}

static int have_target(const struct launch *l, uint32_t i, struct covers *covers) {
    const struct mount_point *m = &l->mounts.v[i];
    char path[PATH_MAX];
    struct stat st;
    size_t n = strlen(m->to);

    if (stat(m->to, &st) == 0)
        return S_ISDIR(st.st_mode) == !m->file ? 0 : m->file ? -EISDIR : -ENOTDIR;
    if (n >= sizeof path || m->to[0] != '/')
        return -ENAMETOOLONG;
    memcpy(path, m->to, n + 1);
    do { /* the nearest folder above that is there; "/" is */
        while (n > 0 && path[n - 1] != '/')
            n--;
        while (n > 1 && path[n - 1] == '/')
            n--;
        path[n] = '\0';
    } while (n > 1 && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)));
    if (!is_ours(l, i, covers, path)) {
        int r = cover(path, l->root, covers);
        if (r < 0)
            return r;
    }
    if (n == 1)
        n = 0;
    memcpy(path, m->to, strlen(m->to) + 1);
    return make_rest(path, n, m->file);
}

static int read_only(const char *to) {
    unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY;
    struct statvfs fs;

    if (statvfs(to, &fs) == 0) /* those that are set may not be taken off in a user namespace */
        flags |= (fs.f_flag & ST_NOSUID ? MS_NOSUID : 0ul) |
                 (fs.f_flag & ST_NODEV ? MS_NODEV : 0ul) |
                 (fs.f_flag & ST_NOEXEC ? MS_NOEXEC : 0ul);
    return mount(NULL, to, NULL, flags, NULL) < 0 ? -errno : 0;
}

/* All that is mounted can only be read from here on, but for one folder and what is no file
 * system of files. 0 or -errno. */
static int all_read_only(const char *writable) {
    static const char *const devices[] = {"/dev", "/dev/pts", "/dev/shm", "/proc"};
    struct mount_attr set = {.attr_set = MOUNT_ATTR_RDONLY},
                      clear = {.attr_clr = MOUNT_ATTR_RDONLY};

    if (mount(writable, writable, NULL, MS_BIND | MS_REC, NULL) < 0 ||
        syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &set, sizeof set) < 0 ||
        syscall(SYS_mount_setattr, AT_FDCWD, writable, 0, &clear, sizeof clear) < 0)
        return -errno;
    for (size_t i = 0; i < SL_LEN(devices); i++) /* which stay as they were where that is allowed */
        (void)syscall(SYS_mount_setattr, AT_FDCWD, devices[i], 0, &clear, sizeof clear);
    return 0;
}

/* By its descriptor: what was resolved is what is mounted, whatever the container puts there
 * meanwhile. Links may lead about inside the volume and not out of it. */
static int bind_sub(const struct mount_point *m) {
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    char path[PATH_MAX];
    int base = open(m->from, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = base < 0 ? -1 : (int)syscall(SYS_openat2, base, m->sub, &how, sizeof how);
    int r = fd < 0 ? -errno : 0;

    if (r == 0 && (!path_in(path, fd, "") || mount(path, m->to, NULL, MS_BIND | MS_REC, NULL) < 0))
        r = -errno;
    if (base >= 0)
        (void)close(base);
    if (fd >= 0)
        (void)close(fd);
    return r;
}

int mounts_do(const struct launch *l, int32_t *ret_which) {
    struct covers covers = {.n = 0};

    if (l->writable) {
        int r = all_read_only(l->writable);
        if (r < 0)
            return r;
    }
    for (uint32_t i = 0; i < l->mounts.n; i++) {
        const struct mount_point *m = &l->mounts.v[i];
        *ret_which = (int32_t)i;
        int r = have_target(l, i, &covers);
        if (r == 0 && m->sub)
            r = bind_sub(m);
        else if (r == 0 && mount(m->from, m->to, NULL, MS_BIND | MS_REC, NULL) < 0)
            r = -errno;
        if (r == 0 && m->read_only)
            r = read_only(m->to);
        if (r < 0)
            return r;
    }
    return 0;
}
