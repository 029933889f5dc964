/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mount points of one command, in a mount namespace of its own, on top of the directories of the
 * machine. A mount point that does not exist is created without changing the machine: the nearest
 * directory above it is covered by a tmpfs in which its entries are bind-mounted again, and in
 * which the missing directories are created. For "/" this makes a new root.
 *
 * A container writes in its volumes and in world-writable directories of the machine, as another
 * user than ours, possibly while the next one is started. So no path is resolved twice: what is
 * mounted is fixed before the first mount, each mount point is walked to component by component on
 * descriptors, and no symbolic link is followed that another user than root could have created.
 * Where all are the same user, as in a user namespace, links give no advantage, and all are
 * followed.
 *
 * Runs in the supervisor.
 */
#include "cluster/kubelet/process/path_walk.h"
#include "cluster/kubelet/process/supervisor.h"
#include "core/base/fmt.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A volume: a tree of mounts that is attached nowhere until its turn comes. */
struct source {
    int fd;
    uint64_t mount; /* its id; 0: not reported by the kernel */
};

struct mounter {
    const struct klet_launch *l;
    struct source *sources; /* one for each mount point */
    uint32_t done;          /* of them are mounted */
    int root;               /* the folder that a new root is put together on */
    bool any_link;          /* may be followed */
    bool file;              /* the mount point that is looked for is one */
    dev_t covers[RT_MAX_COVERS];
    uint32_t n_covers;
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

int klet_mounts_enter(const struct klet_supervisor_spec *s) {
    if (syscall(SYS_open_tree, -1, "", 0) < 0 && errno == ENOSYS) /* before Linux 5.2 */
        return -ENOSYS;
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

/* ---- descriptors ---- */

static void close_fd(int fd) {
    if (fd >= 0)
        (void)close(fd);
}

/* All that is mounted there, as a tree of its own. */
static int clone_tree(int dir, const char *name, unsigned flags) {
    const int fd = (int)syscall(SYS_open_tree, dir, name,
                                OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | flags);

    return fd < 0 ? -errno : fd;
}

static int attach(int tree, int on) {
    return syscall(SYS_move_mount, tree, "", on, "",
                   MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0
               ? -errno
               : 0;
}

static int new_tmpfs(void) {
    int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC), fd = -1;

    if (fs >= 0 && syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "mode", "0755", 0) == 0 &&
        syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    const int r = fd < 0 ? -errno : fd;
    close_fd(fs);
    return r;
}

/* The id of the mount that it is in; 0 where the kernel does not report it (before Linux 5.8). */
static uint64_t mount_of(int fd) {
    struct statx st;

    return statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &st) == 0 &&
                   (st.stx_mask & STATX_MNT_ID)
               ? st.stx_mnt_id
               : 0;
}

/* ---- a folder covered by a copy of its listing ---- */

/* An entry that cannot be shown is left out, or stays empty. */
static void mount_entry(int from, int to, const char *name) {
    int tree = -1, on = -1, fd = openat(from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    char text[PATH_MAX];
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) {
        const ssize_t n = readlinkat(fd, "", text, sizeof text - 1);
        text[n > 0 ? n : 0] = '\0';
        if (n > 0 &&
            symlinkat(text, to, name) == 0) /* its owner decides whether it may be followed */
            (void)!fchownat(to, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW);
    } else if (fd >= 0 && (tree = clone_tree(fd, "", AT_EMPTY_PATH)) >= 0) {
        if (!S_ISDIR(st.st_mode))
            on = openat(to, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
        else if (mkdirat(to, name, 0755) == 0)
            on = openat(to, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (on >= 0)
            (void)attach(tree, on);
    }
    close_fd(on);
    close_fd(tree);
    close_fd(fd);
}

static int copy_listing(int from, int to) {
    _Alignas(struct klet_dirent64_head) char list[16384];
    int entries = 0;
    long n;

    while ((n = syscall(SYS_getdents64, from, list, sizeof list)) > 0)
        for (char *at = list; at < list + n;) {
            const struct klet_dirent64_head *d = (const void *)at;
            at += d->len;
            if (strcmp(d->name, ".") == 0 || strcmp(d->name, "..") == 0)
                continue;
            if (++entries > RT_MAX_ENTRIES)
                return -E2BIG;
            mount_entry(from, to, d->name);
        }
    return n < 0 ? -errno : 0;
}

static int go_root(int root) {
    if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
        chdir("/") < 0)
        return -errno;
    return 0;
}

/* Its owner stays as well: where others than root may write, their links are not followed. */
static int take_mode(const struct mounter *m, int from, int to) {
    struct stat st;
    int fd = openat(to, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;

    if (fd < 0 || fstat(from, &st) < 0 || (fchown(fd, st.st_uid, st.st_gid) < 0 && !m->any_link) ||
        fchmod(fd, st.st_mode & 07777) < 0)
        r = -errno;
    close_fd(fd);
    return r;
}

static bool is_root(int fd) {
    struct stat a, b;
    const int root = klet_walk_root();
    const bool same = root >= 0 && fstat(fd, &a) == 0 && fstat(root, &b) == 0 &&
                      a.st_dev == b.st_dev && a.st_ino == b.st_ino &&
                      mount_of(fd) == mount_of(root);

    close_fd(root);
    return same;
}

/* *folder becomes the cover. */
static int cover(struct mounter *m, int *folder) {
    const bool whole = is_root(*folder);
    int from = openat(*folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), to = -1;
    int r = from < 0 ? -errno : 0;
    struct stat st;

    if (r == 0 && (to = new_tmpfs()) < 0)
        r = to;
    if (r == 0)
        r = attach(to, whole ? m->root : *folder);
    if (r == 0)
        r = copy_listing(from, to);
    if (r == 0)
        r = take_mode(m, from, to);
    if (r == 0 && fstat(to, &st) == 0 && m->n_covers < RT_MAX_COVERS)
        m->covers[m->n_covers++] = st.st_dev;
    if (r == 0 && whole)
        r = go_root(to);
    close_fd(from);
    if (r < 0) {
        close_fd(to);
        return r;
    }
    close_fd(*folder);
    *folder = to;
    return 0;
}

/* ---- mount points ---- */

/* May a folder be made in this one, because it is in a cover or in a volume? Decided by the mount,
 * not by the path. */
static bool is_ours(const struct mounter *m, int folder) {
    const uint64_t id = mount_of(folder);
    struct stat st;

    for (uint32_t i = 0; id != 0 && i < m->done; i++)
        if (m->sources[i].mount == id)
            return true;
    if (fstat(folder, &st) == 0)
        for (uint32_t i = 0; i < m->n_covers; i++)
            if (m->covers[i] == st.st_dev)
                return true;
    return false;
}

/* A mount point and its folders: struct klet_walk. */
static int make_part(void *ctx, int *at, const char *name, bool last) {
    struct mounter *m = ctx;
    int r = is_ours(m, *at) ? 0 : cover(m, at), fd = -1;

    if (r < 0)
        return r;
    if (m->file && last)
        fd = openat(*at, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
    if ((m->file && last ? fd : mkdirat(*at, name, 0755)) < 0 && errno != EEXIST)
        return -errno;
    close_fd(fd);
    return klet_walk_part(*at, name);
}

/* The mount point, made if it is not there. A descriptor or -errno. */
static int find_target(struct mounter *m, const struct klet_mount_point *p) {
    const struct klet_walk w = {.any_link = m->any_link, .make = make_part, .ctx = m};
    struct stat st;

    m->file = p->file;
    int at = klet_walk_to(&w, p->to), r = at < 0 ? at : 0;
    if (r == 0 && fstat(at, &st) < 0)
        r = -errno;
    if (r == 0 && S_ISDIR(st.st_mode) == p->file)
        r = p->file ? -EISDIR : -ENOTDIR;
    if (r == 0)
        return at;
    close_fd(at);
    return r;
}

/* ---- read-only ---- */

static size_t format_number(char *out, unsigned n) {
    char digits[12];
    size_t k = 0;

    do
        digits[k++] = (char)('0' + n % 10);
    while (n /= 10);
    for (size_t i = 0; i < k; i++)
        out[i] = digits[k - 1 - i];
    return k;
}

/* Of a tree that is attached. */
static int read_only(int tree) {
    struct mount_attr set = {.attr_set = MOUNT_ATTR_RDONLY};
    unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY;
    char path[48] = "/proc/self/fd/";
    struct statvfs fs;

    if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &set, sizeof set) == 0)
        return 0;
    if (errno != ENOSYS)
        return -errno;
    path[strlen("/proc/self/fd/") +
         format_number(path + strlen("/proc/self/fd/"), (unsigned)tree)] = '\0';
    if (fstatvfs(tree, &fs) == 0) /* what is set may not be taken off in a user namespace */
        flags |= (fs.f_flag & ST_NOSUID ? MS_NOSUID : 0ul) |
                 (fs.f_flag & ST_NODEV ? MS_NODEV : 0ul) |
                 (fs.f_flag & ST_NOEXEC ? MS_NOEXEC : 0ul);
    return mount(NULL, path, NULL, flags, NULL) < 0 ? -errno : 0;
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

/* ---- all of them ---- */

/* Links may lead about inside the volume and not out of it. */
static int open_source(const struct klet_mount_point *p) {
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int base = -1, fd = -1, r;

    if (!p->sub)
        return clone_tree(AT_FDCWD, p->from, 0);
    base = open(p->from, O_PATH | O_DIRECTORY | O_CLOEXEC);
    fd = base < 0 ? -1 : (int)syscall(SYS_openat2, base, p->sub, &how, sizeof how);
    r = fd < 0 ? -errno : clone_tree(fd, "", AT_EMPTY_PATH);
    close_fd(base);
    close_fd(fd);
    return r;
}

static int mount_one(struct mounter *m, uint32_t i) {
    const struct klet_mount_point *p = &m->l->mounts.v[i];
    const int on = find_target(m, p);
    int r = on < 0 ? on : attach(m->sources[i].fd, on);

    close_fd(on);
    if (r == 0 && p->read_only)
        r = read_only(m->sources[i].fd);
    m->done = i + 1;
    return r;
}

int klet_mounts_do(const struct klet_supervisor_spec *s, const struct klet_launch *l,
                   int32_t *ret_which) {
    struct mounter m = {.l = l, .root = -1, .any_link = s->mounts == MOUNTS_USER};
    uint32_t n = 0;
    int r = l->writable ? all_read_only(l->writable) : 0;

    if (r < 0 || l->mounts.n == 0)
        return r;
    m.sources = calloc(l->mounts.n, sizeof *m.sources);
    m.root = open(l->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!m.sources || m.root < 0)
        r = -errno;
    for (; r == 0 && n < l->mounts.n; n++) { /* before a mount hides where one is */
        *ret_which = (int32_t)n;
        m.sources[n].fd = open_source(&l->mounts.v[n]);
        m.sources[n].mount = mount_of(m.sources[n].fd);
        r = m.sources[n].fd < 0 ? m.sources[n].fd : 0;
    }
    for (uint32_t i = 0; r == 0 && i < l->mounts.n; i++) {
        *ret_which = (int32_t)i;
        r = mount_one(&m, i);
    }
    for (uint32_t i = 0; i < n; i++)
        close_fd(m.sources[i].fd);
    free(m.sources);
    close_fd(m.root);
    return r;
}
