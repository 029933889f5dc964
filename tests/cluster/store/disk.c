/* SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/collection/vec.h"
#include "core/base/mem.h"

#define SECTOR 512u
#define MAX_FDS 4096
#define MAX_FILES 4096u
#define MAX_NAME 64u
#define NEVER UINT64_MAX

enum what { WRITE, CUT, CREATE, UNLINK };

struct op {
    enum what what;
    uint32_t file;
    uint64_t at, len; /* CUT: len is the new length */
    char *data;
    uint64_t moment;
    uint64_t durable; /* since when */
    bool lost;        /* the sync that was to make it durable failed */
};

struct file {
    char name[MAX_NAME];
    bool named; /* now */
    bool based; /* it was there at the beginning */
    char *base;
    uint64_t base_len;
};

static struct {
    pthread_mutex_t lock;
    bool on, dead;
    char dir[200];
    struct sl_prng prng;
    uint64_t moment;
    SL_VEC(struct op) ops;
    SL_VEC(struct file) files;
    enum disk_fault fault;
    uint64_t fault_in, more, struck;
    uint64_t die_in;
    struct disk_stats stats;
    uint32_t fds[MAX_FDS]; /* file + 1; FOLDER: the folder; 0: none of ours */
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define FOLDER UINT32_MAX

static void lock(void) {
    sl_assert(pthread_mutex_lock(&disk.lock) == 0);
}

static void unlock(void) {
    sl_assert(pthread_mutex_unlock(&disk.lock) == 0);
}

/* ---- faults ---- */

static bool died(void) {
    if (disk.die_in && --disk.die_in == 0)
        disk.dead = true;
    return disk.dead;
}

static bool fails(enum disk_fault what) {
    if (disk.fault != what)
        return false;
    if (disk.fault_in > 1) {
        disk.fault_in--;
        return false;
    }
    disk.struck++;
    if (disk.more)
        disk.more--;
    else
        disk.fault = DISK_NONE;
    return true;
}

/* ---- the record ---- */

static struct op *record_op(enum what what, uint32_t file) {
    struct op *op = sl_vec_push(&disk.ops);

    *op = (struct op){.what = what, .file = file, .moment = ++disk.moment, .durable = NEVER};
    return op;
}

static bool of_folder(const struct op *op) {
    return op->what == CREATE || op->what == UNLINK;
}

static void note_write(uint32_t file, uint64_t at, const void *data, size_t len) {
    struct op *op = record_op(WRITE, file);

    op->at = at;
    op->len = len;
    op->data = sl_alloc(len + 1);
    memcpy(op->data, data, len);
    disk.stats.writes++;
}

static void note_sync(uint32_t file) {
    disk.moment++;
    for (uint32_t i = 0; i < disk.ops.n; i++) {
        struct op *op = &disk.ops.v[i];
        if (op->durable == NEVER && !op->lost &&
            (file == FOLDER ? of_folder(op) : !of_folder(op) && op->file == file))
            op->durable = disk.moment;
    }
    if (file == FOLDER)
        disk.stats.folder_syncs++;
    else
        disk.stats.syncs++;
}

/* The kernel counts the pages as clean now, whether or not they have arrived. */
static void lose(uint32_t file) {
    disk.moment++;
    for (uint32_t i = 0; i < disk.ops.n; i++) {
        struct op *op = &disk.ops.v[i];
        if (op->durable != NEVER || op->lost || of_folder(op) || op->file != file)
            continue;
        if (sl_prng_one_in(&disk.prng, 2))
            op->lost = true;
        else
            op->durable = disk.moment;
    }
}

/* ---- names ---- */

/* The name in our folder, or NULL. */
static const char *name_of(const char *path) {
    size_t n = strlen(disk.dir);

    if (!disk.on || strncmp(path, disk.dir, n) != 0 || path[n] != '/' || strchr(path + n + 1, '/'))
        return NULL;
    return path + n + 1;
}

static uint32_t find_file(const char *name) {
    for (uint32_t i = 0; i < disk.files.n; i++)
        if (disk.files.v[i].named && strcmp(disk.files.v[i].name, name) == 0)
            return i;
    return UINT32_MAX;
}

static uint32_t add_file(const char *name) {
    struct file *f = sl_vec_push(&disk.files);

    sl_assert(disk.files.n < MAX_FILES && strlen(name) < MAX_NAME);
    *f = (struct file){.named = true};
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    return disk.files.n - 1;
}

static uint32_t of_fd(int fd) {
    return disk.on && fd >= 0 && fd < MAX_FDS ? disk.fds[fd] : 0;
}

/* ---- the calls, under their names for the linker ---- */

int disk_open(const char *path, int flags, ...) __asm__("open64");
int disk_close(int fd) __asm__("close");
ssize_t disk_pwrite(int fd, const void *data, size_t len, off_t at) __asm__("pwrite64");
int disk_ftruncate(int fd, off_t len) __asm__("ftruncate64");
int disk_fsync(int fd) __asm__("fsync");
int disk_fdatasync(int fd) __asm__("fdatasync");
int disk_unlink(const char *path) __asm__("unlink");

static int fail_with(int why) {
    errno = why;
    return -1;
}

int disk_open(const char *path, int flags, ...) {
    int mode = 0;

    if (flags & O_CREAT) {
        va_list ap;
        va_start(ap, flags);
        mode = va_arg(ap, int);
        va_end(ap);
    }
    lock();
    bool folder = disk.on && strcmp(path, disk.dir) == 0;
    const char *name = name_of(path);
    uint32_t file = name ? find_file(name) : UINT32_MAX;
    if (name && file == UINT32_MAX && flags & O_CREAT && died()) {
        unlock();
        return fail_with(EIO);
    }
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (fd >= 0 && fd < MAX_FDS && name) {
        if (file == UINT32_MAX) {
            file = add_file(name);
            (void)record_op(CREATE, file);
        }
        disk.fds[fd] = file + 1;
    } else if (fd >= 0 && fd < MAX_FDS) {
        disk.fds[fd] = folder ? FOLDER : 0;
    }
    unlock();
    return fd;
}

int disk_close(int fd) {
    lock();
    if (fd >= 0 && fd < MAX_FDS)
        disk.fds[fd] = 0;
    unlock();
    return (int)syscall(SYS_close, fd);
}

ssize_t disk_pwrite(int fd, const void *data, size_t len, off_t at) {
    ssize_t n = -1;

    lock();
    uint32_t file = of_fd(fd);
    if (!file || file == FOLDER) {
        n = syscall(SYS_pwrite64, fd, data, len, at);
    } else if (died() || fails(DISK_WRITE_EIO)) {
        errno = EIO;
    } else if (fails(DISK_WRITE_ENOSPC)) {
        errno = ENOSPC;
    } else {
        if (len > 1 && fails(DISK_WRITE_SHORT)) {
            len = 1 + (size_t)sl_prng_below(&disk.prng, len - 1);
            disk.fault = DISK_WRITE_ENOSPC;
            disk.fault_in = 1;
        }
        n = syscall(SYS_pwrite64, fd, data, len, at);
        if (n > 0)
            note_write(file - 1, (uint64_t)at, data, (size_t)n);
    }
    unlock();
    return n;
}

int disk_ftruncate(int fd, off_t len) {
    int r = -1;

    lock();
    uint32_t file = of_fd(fd);
    if (!file || file == FOLDER) {
        r = (int)syscall(SYS_ftruncate, fd, len);
    } else if (died() || fails(DISK_CUT_EIO)) {
        errno = EIO;
    } else {
        r = (int)syscall(SYS_ftruncate, fd, len);
        if (r == 0)
            record_op(CUT, file - 1)->len = (uint64_t)len;
    }
    unlock();
    return r;
}

/* Nothing here need reach the real disk. */
static int sync_fd(int fd) {
    int r = 0;

    lock();
    uint32_t file = of_fd(fd);
    if (!file) {
        r = 0;
    } else if (died() || (file == FOLDER && fails(DISK_FOLDER_EIO))) {
        r = fail_with(EIO);
    } else if (file != FOLDER && (fails(DISK_SYNC_EIO) || (disk.dead = fails(DISK_SYNC_DIE)))) {
        lose(file - 1);
        r = fail_with(EIO);
    } else {
        note_sync(file == FOLDER ? FOLDER : file - 1);
    }
    unlock();
    return r;
}

int disk_fsync(int fd) {
    return sync_fd(fd);
}

int disk_fdatasync(int fd) {
    return sync_fd(fd);
}

int disk_unlink(const char *path) {
    int r = -1;

    lock();
    const char *name = name_of(path);
    if (!name) {
        r = (int)syscall(SYS_unlink, path);
    } else if (died()) {
        errno = EIO;
    } else {
        uint32_t file = find_file(name);
        r = (int)syscall(SYS_unlink, path);
        if (r == 0 && file != UINT32_MAX) {
            disk.files.v[file].named = false;
            (void)record_op(UNLINK, file);
        }
    }
    unlock();
    return r;
}

/* ---- the record's ends ---- */

static void read_whole(const char *path, struct file *f) {
    struct stat st;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);

    sl_assert(fd >= 0 && fstat(fd, &st) == 0);
    f->base_len = (uint64_t)st.st_size;
    f->base = sl_alloc(f->base_len + 1);
    for (uint64_t at = 0; at < f->base_len;) {
        ssize_t n = pread(fd, f->base + at, f->base_len - at, (off_t)at);
        sl_assert(n > 0);
        at += (uint64_t)n;
    }
    (void)syscall(SYS_close, fd);
}

void disk_begin(const char *dir, uint64_t seed) {
    struct dirent *e;
    char path[512];

    (void)snprintf(disk.dir, sizeof disk.dir, "%s", dir);
    sl_prng_init(&disk.prng, seed);
    memset(disk.fds, 0, sizeof disk.fds);
    DIR *d = opendir(dir);
    sl_assert(d);
    while ((e = readdir(d))) {
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        (void)add_file(e->d_name);
        struct file *f = &sl_vec_last(&disk.files);
        f->based = true;
        read_whole(path, f);
    }
    (void)closedir(d);
    disk_again();
    disk.on = true;
}

void disk_end(void) {
    disk.on = false;
    for (uint32_t i = 0; i < disk.ops.n; i++)
        sl_freep(&disk.ops.v[i].data);
    for (uint32_t i = 0; i < disk.files.n; i++)
        sl_freep(&disk.files.v[i].base);
    sl_vec_free(&disk.ops);
    sl_vec_free(&disk.files);
}

uint64_t disk_now(void) {
    lock();
    uint64_t now = ++disk.moment;
    unlock();
    return now;
}

void disk_fail(enum disk_fault what, uint64_t n, uint64_t more) {
    lock();
    disk.fault = what;
    disk.fault_in = n;
    disk.more = more;
    disk.struck = 0;
    unlock();
}

uint64_t disk_struck(void) {
    return disk.struck;
}

void disk_die(uint64_t n) {
    lock();
    disk.die_in = n;
    unlock();
}

bool disk_dead(void) {
    return disk.dead;
}

void disk_again(void) {
    lock();
    disk.dead = false;
    disk.die_in = 0;
    disk.fault = DISK_NONE;
    unlock();
}

void disk_stats(struct disk_stats *ret) {
    *ret = disk.stats;
}

/* ---- after a power loss ---- */

struct image {
    char *v;
    uint64_t len, room;
};

static void grow(struct image *im, uint64_t len) {
    if (len > im->room) {
        uint64_t room = len + len / 2 + 4096;
        im->v = sl_realloc(im->v, room, 1);
        memset(im->v + im->room, 0, room - im->room);
        im->room = room;
    }
    if (len > im->len)
        im->len = len;
}

/* A sector is there whole or not at all. */
static void put_some(struct image *im, const struct op *op, struct sl_prng *p) {
    bool some = false, all = true;

    for (uint64_t at = op->at, end; at < op->at + op->len; at = end) {
        end = at / SECTOR * SECTOR + SECTOR;
        end = end < op->at + op->len ? end : op->at + op->len;
        if (sl_prng_one_in(p, 2)) {
            all = false;
            continue;
        }
        some = true;
        grow(im, end);
        memcpy(im->v + at, op->data + (at - op->at), end - at);
    }
    disk.stats.torn += some && !all;
    disk.stats.lost += !some;
    if (sl_prng_one_in(p, 2)) /* the length may be there without what stands in it */
        grow(im, op->at + op->len);
}

static void put_op(struct image *im, const struct op *op) {
    if (op->what == WRITE) {
        grow(im, op->at + op->len);
        memcpy(im->v + op->at, op->data, op->len);
    } else if (op->len < im->len) {
        memset(im->v + op->len, 0, im->len - op->len);
        im->len = op->len;
    } else {
        grow(im, op->len);
    }
}

/* What becomes of all that was not durable. */
enum rest { NOTHING, EVERYTHING, FIRST, ANY, TORN, RESTS };

static void put_file(uint32_t file, uint64_t moment, struct sl_prng *p, struct image *im) {
    const struct file *f = &disk.files.v[file];
    enum rest rest = (enum rest)sl_prng_below(p, RESTS);
    bool more = true;

    if (f->based && f->base_len > 0) {
        grow(im, f->base_len);
        memcpy(im->v, f->base, f->base_len);
    }
    for (uint32_t i = 0; i < disk.ops.n && disk.ops.v[i].moment <= moment; i++) {
        const struct op *op = &disk.ops.v[i];
        if (op->file != file || of_folder(op))
            continue;
        bool there = op->durable <= moment;
        if (!there && !op->lost) {
            more = more && !sl_prng_one_in(p, 8);
            there = rest == EVERYTHING || (rest == FIRST && more) ||
                    (rest == ANY && sl_prng_one_in(p, 2));
        }
        if (there)
            put_op(im, op);
        else if (op->what == WRITE && !op->lost && rest == TORN)
            put_some(im, op, p);
        else
            disk.stats.lost++;
    }
}

/* Names come about in their order, and each after those before it. */
static bool has_name(uint32_t file, uint64_t moment, uint64_t names) {
    bool named = disk.files.v[file].based;

    for (uint32_t i = 0; i < disk.ops.n && disk.ops.v[i].moment <= moment; i++) {
        const struct op *op = &disk.ops.v[i];
        if (op->file == file && of_folder(op) && (op->durable <= moment || op->moment <= names))
            named = op->what == CREATE;
        else if (op->file == file && op->what == CREATE)
            disk.stats.unnamed++;
    }
    return named;
}

static void empty(const char *dir) {
    struct dirent *e;
    char path[512];
    DIR *d = opendir(dir);

    sl_assert(d);
    while ((e = readdir(d))) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_name[0] != '.')
            (void)syscall(SYS_unlink, path);
    }
    (void)closedir(d);
}

uint64_t disk_moment(uint64_t begin, struct sl_prng *p) {
    uint64_t at = begin + sl_prng_below(p, disk.moment - begin + 1);
    uint32_t from = disk.ops.n ? (uint32_t)sl_prng_below(p, disk.ops.n) : 0;

    if (sl_prng_one_in(p, 4)) /* a name has come or gone, a while ago */
        for (uint32_t i = from; i < disk.ops.n; i++)
            if (of_folder(&disk.ops.v[i]))
                return disk.ops.v[i].moment + sl_prng_below(p, 12);
    if (sl_prng_one_in(p, 4) && disk.ops.n && disk.ops.v[from].durable != NEVER)
        at = disk.ops.v[from].durable - sl_prng_below(p, 2); /* it has just become so, or not yet */
    return at;
}

void disk_after(uint64_t moment, struct sl_prng *p, const char *dir) {
    char path[512];
    uint64_t names = sl_prng_below(p, moment + 1);

    if (sl_prng_one_in(p, 2))
        names = sl_prng_one_in(p, 2) ? 0 : moment;
    empty(dir);
    for (uint32_t i = 0; i < disk.files.n; i++) {
        struct image im = {0};
        if (!has_name(i, moment, names))
            continue;
        put_file(i, moment, p, &im);
        (void)snprintf(path, sizeof path, "%s/%s", dir, disk.files.v[i].name);
        int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        sl_assert(fd >= 0);
        for (uint64_t at = 0; at < im.len;) {
            ssize_t n = syscall(SYS_write, fd, im.v + at, im.len - at);
            sl_assert(n > 0);
            at += (uint64_t)n;
        }
        (void)syscall(SYS_close, fd);
        sl_freep(&im.v);
    }
}
