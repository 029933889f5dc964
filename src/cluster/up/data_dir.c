/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/up/data_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "kube/client/secret.h"

#define MAX_DIR 3800u
#define CA_LIFE (INT64_C(3650) * 24 * SL_HOUR)
#define CA_LEFT (2 * UP_DATA_DIR_CERT_LIFE) /* with less it is made anew */
#define MAX_NAMES 64u
#define MAX_LEVELS 2048u /* of folders above ours; a path has no more */
#define MAX_KUBECONFIG ((size_t)64 << 10)

/* ---- files ---- */

static char *in_dir(const char *dir, const char *name) {
    size_t n = strlen(dir) + strlen(name) + 2;
    char *path = sl_alloc(n);

    sl_fmt(path, n, "%s/%s", dir, name);
    return path;
}

/* Others may write it, or what stands in it. A group that is only ours does not count: that is how
 * many machines are set up. */
static bool others_write(const struct stat *st) {
    return (st->st_mode & S_IWOTH) ||
           ((st->st_mode & S_IWGRP) && (st->st_gid != getegid() || st->st_gid != geteuid()));
}

/* Whole or not at all, and there after a loss of power; for its owner alone. */
static int write_file(const struct up_data_dir *h, const char *name, const char *text, size_t len,
                      struct sl_err *err) {
    char tmp[64];
    int fd = -1;

    sl_fmt(tmp, sizeof tmp, "%s.%ld", name, (long)getpid());
    for (int i = 0; i < 2 && fd < 0; i++) { /* one that a killed run left is removed */
        fd = openat(h->fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno == EEXIST)
            (void)unlinkat(h->fd, tmp, 0);
    }
    bool ok = fd >= 0 && fchmod(fd, 0600) == 0;
    for (size_t done = 0; ok && done < len;) {
        ssize_t n = write(fd, text + done, len - done);
        ok = n > 0 || (n < 0 && errno == EINTR);
        done += n > 0 ? (size_t)n : 0;
    }
    ok = ok && fsync(fd) == 0 && renameat(h->fd, tmp, h->fd, name) == 0;
    int why = errno;
    if (fd >= 0)
        (void)close(fd);
    if (ok && fsync(h->fd) == 0)
        return SL_OK;
    if (ok)
        why = errno;
    else
        (void)unlinkat(h->fd, tmp, 0);
    return sl_err_set(err, SL_EIO, "cannot write %s/%s: %s", h->dir, name, strerror(why));
}

/* What must hold for a file of ours before it is trusted. */
static int check_file(const struct up_data_dir *h, const char *name, const struct stat *st,
                      bool is_secret, struct sl_err *err) {
    if (!S_ISREG(st->st_mode))
        return sl_err_set(err, SL_EINVAL,
                          "%s/%s is not a regular file but a %s; remove it, or choose another "
                          "directory with --dir",
                          h->dir, name,
                          S_ISDIR(st->st_mode)    ? "directory"
                          : S_ISLNK(st->st_mode)  ? "symbolic link"
                          : S_ISFIFO(st->st_mode) ? "pipe"
                                                  : "device or socket");
    if (st->st_uid != geteuid())
        return sl_err_set(err, SL_EINVAL,
                          "%s/%s is owned by another user (uid %u); remove it, or choose another "
                          "directory with --dir",
                          h->dir, name, (unsigned)st->st_uid);
    if (others_write(st) || (is_secret && (st->st_mode & 077)))
        return sl_err_set(err, SL_EINVAL,
                          "%s/%s is %s for other users (mode %04o); remove it to have it created "
                          "again, or choose another directory with --dir",
                          h->dir, name, others_write(st) ? "writable" : "readable",
                          (unsigned)st->st_mode & 07777);
    return SL_OK;
}

/* 1: read, *ret ends with a zero; 0: there is none. */
static int read_file(const struct up_data_dir *h, const char *name, bool is_secret, size_t most,
                     char **ret, size_t *ret_len, struct sl_err *err) {
    struct stat st;
    size_t len = 0;
    ssize_t n = 0;

    if (fstatat(h->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT)
            return 0;
        return sl_err_set(err, SL_EIO, "%s/%s: %s", h->dir, name, strerror(errno));
    }
    int r = check_file(h, name, &st, is_secret, err);
    if (r < 0)
        return r;
    /* It may have been replaced since the check; the opened file is checked again. */
    int fd = openat(h->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        r = sl_err_set(err, SL_EIO, "%s/%s: %s", h->dir, name, strerror(errno));
    else
        r = check_file(h, name, &st, is_secret, err);
    char *text = sl_alloc(most + 1);
    while (r >= 0 && len <= most && (n = read(fd, text + len, most + 1 - len)) != 0) {
        if (n < 0 && errno != EINTR)
            r = sl_err_set(err, SL_EIO, "reading %s/%s: %s", h->dir, name, strerror(errno));
        len += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        (void)close(fd);
    if (r >= 0 && len > most)
        r = sl_err_set(err, SL_EINVAL,
                       "%s/%s is larger than %zu bytes; remove it to have it created again", h->dir,
                       name, most);
    if (r < 0) {
        sl_freep(&text);
        return r;
    }
    text[len] = '\0';
    *ret = text;
    *ret_len = len;
    return 1;
}

/* ---- the folder ---- */

static int make_dirs(char *dir, struct sl_err *err) {
    for (char *slash = dir + 1; slash; slash++) {
        slash = strchr(slash, '/');
        if (slash)
            *slash = '\0';
        int r = mkdir(dir, 0700);
        if (r < 0 && errno != EEXIST)
            return sl_err_set(err, SL_EIO,
                              "cannot create the directory %s: %s; choose another with --dir", dir,
                              strerror(errno));
        if (!slash)
            break;
        *slash = '/';
    }
    return SL_OK;
}

static bool is_empty(int fd) {
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    bool empty = d;

    for (const struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            empty = false;
    if (d)
        (void)closedir(d);
    else if (again >= 0)
        (void)close(again);
    return empty;
}

/* A user who can rename a parent of our folder can replace it; in one with the sticky bit, as /tmp,
 * only the owner of an entry can. */
static int check_parents(const struct up_data_dir *h, struct sl_err *err) {
    struct stat at, up;
    int fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0), r = SL_OK;

    for (unsigned i = 0; r >= 0 && i < MAX_LEVELS; i++) {
        int above = fd < 0 ? -1 : openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (above < 0 || fstat(fd, &at) < 0 || fstat(above, &up) < 0)
            r = sl_err_set(err, SL_EIO, "checking the parent directories of %s: %s", h->dir,
                           strerror(errno));
        else if ((up.st_uid != 0 && up.st_uid != geteuid()) ||
                 (others_write(&up) && !(up.st_mode & S_ISVTX)))
            r = sl_err_set(
                err, SL_EINVAL,
                "a parent directory of %s, %u levels up, is writable for other users (uid "
                "%u, mode %04o), who could replace it; choose another with --dir",
                h->dir, i + 1, (unsigned)up.st_uid, (unsigned)up.st_mode & 07777);
        if (fd >= 0)
            (void)close(fd);
        fd = above;
        if (r >= 0 && at.st_dev == up.st_dev && at.st_ino == up.st_ino)
            break; /* the root */
    }
    if (fd >= 0)
        (void)close(fd);
    return r;
}

/* Owned by us, and writable by no one else. What another user could have put there is not
 * trusted. */
static int check_dir(const struct up_data_dir *h, struct sl_err *err) {
    struct stat st;

    if (fstat(h->fd, &st) < 0)
        return sl_err_set(err, SL_EIO, "%s: %s", h->dir, strerror(errno));
    if (st.st_uid != geteuid())
        return sl_err_set(err, SL_EINVAL,
                          "the directory %s is owned by another user (uid %u); choose another with "
                          "--dir",
                          h->dir, (unsigned)st.st_uid);
    /* To go through it is left to others: pods may run as them. */
    bool theirs = others_write(&st), empty = is_empty(h->fd);
    if ((empty || !theirs) && (st.st_mode & 066) && fchmod(h->fd, st.st_mode & 0711) < 0)
        return sl_err_set(err, SL_EIO, "chmod 700 %s: %s", h->dir, strerror(errno));
    if (theirs && empty && !is_empty(h->fd)) { /* created before our chmod */
        empty = false;
        (void)fchmod(h->fd, st.st_mode & 07777); /* or the next start would trust it */
    }
    if (theirs && !empty)
        return sl_err_set(err, SL_EINVAL,
                          "the directory %s is writable for other users (mode %04o), and its "
                          "content may not be yours; check it and chmod 700 it, or choose another "
                          "with --dir",
                          h->dir, (unsigned)st.st_mode & 07777);
    return check_parents(h, err);
}

/* What others of ours open there by name. */
static int check_entries(const struct up_data_dir *h, struct sl_err *err) {
    static const char *const files[] = {"lock",           "objects.db",         "objects.db-wal",
                                        "objects.db-shm", "objects.db-journal", "objects.db-lock",
                                        "kubeconfig"};
    struct stat st;
    int r = SL_OK;

    for (size_t i = 0; r >= 0 && i < SL_LEN(files); i++)
        if (fstatat(h->fd, files[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
            r = check_file(h, files[i], &st, false, err);
    if (r >= 0 && fstatat(h->fd, "pods", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || others_write(&st)))
        r = sl_err_set(err, SL_EINVAL,
                       "%s/pods is not a directory, or writable for other users; remove it, or "
                       "choose another directory with --dir",
                       h->dir);
    return r;
}

/* Before anything is made: two that start at once would mix two authorities. It ends with the
 * process, however that ends. */
static int take_lock(struct up_data_dir *h, struct sl_err *err) {
    char pid[32] = "";

    h->lock = openat(h->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (h->lock < 0)
        return sl_err_set(err, SL_EIO, "cannot open %s/lock: %s", h->dir, strerror(errno));
    if (flock(h->lock, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return sl_err_set(err, SL_EIO, "cannot lock %s/lock: %s", h->dir, strerror(errno));
        ssize_t n = read(h->lock, pid, sizeof pid - 1);
        pid[n > 0 ? strspn(pid, "0123456789") : 0] = '\0';
        return sl_err_set(err, SL_EEXIST,
                          "%s is in use by another process%s%s; stop it first, or choose another "
                          "directory with --dir",
                          h->dir, *pid ? ", pid " : "", pid);
    }
    int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ftruncate(h->lock, 0) < 0 || pwrite(h->lock, pid, (size_t)n, 0) != n) {
        /* It only helps with the message above. */
    }
    return SL_OK;
}

static int open_dir(struct up_data_dir *h, struct sl_err *err) {
    struct stat st;

    /* A link of ours, or of root, is followed; one of another user is not. */
    if (lstat(h->dir, &st) == 0 && S_ISLNK(st.st_mode) && st.st_uid != 0 && st.st_uid != geteuid())
        return sl_err_set(
            err, SL_EINVAL,
            "%s is a symbolic link owned by another user (uid %u); choose another with "
            "--dir",
            h->dir, (unsigned)st.st_uid);
    h->fd = open(h->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (h->fd < 0)
        return sl_err_set(err, SL_EIO, "%s: %s; choose another directory with --dir", h->dir,
                          errno == ENOTDIR ? "not a directory" : strerror(errno));
    int r = check_dir(h, err);
    if (r >= 0)
        r = check_entries(h, err);
    return r < 0 ? r : take_lock(h, err);
}

static int find_dir(const char *dir_option, char out[MAX_DIR], struct sl_err *err) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    struct passwd *pw = home && *home ? NULL : getpwuid(getuid());
    int n;

    if (pw)
        home = pw->pw_dir;
    if (dir_option)
        n = *dir_option == '/' ? snprintf(out, MAX_DIR, "%s", dir_option) : 0;
    else if (data && *data == '/')
        n = snprintf(out, MAX_DIR, "%s/sluice", data);
    else if (home && *home == '/')
        n = snprintf(out, MAX_DIR, "%s/.local/share/sluice", home);
    else
        return sl_err_set(err, SL_EINVAL, "no home directory; choose a data directory with --dir");
    if (dir_option && *dir_option &&
        *dir_option != '/') { /* paths in the kubeconfig hold everywhere */
        char here[MAX_DIR];
        if (!getcwd(here, sizeof here))
            return sl_err_set(err, SL_EIO, "the current directory: %s", strerror(errno));
        n = snprintf(out, MAX_DIR, "%s/%s", here, dir_option);
    }
    while (n > 1 && (size_t)n < MAX_DIR && out[n - 1] == '/')
        out[--n] = '\0';
    if (n < 2 || (size_t)n >= MAX_DIR)
        return sl_err_set(err, SL_EINVAL, "--dir: not a usable data directory");
    return SL_OK;
}

/* ---- secrets ---- */

/* 1: there is one that can go on. Two that do not belong together are what a crash between them
 * leaves. */
static int read_ca(const struct up_data_dir *h, sl_time now, struct sl_cert *ret,
                   struct sl_err *err) {
    size_t n;
    sl_time end;
    int r = read_file(h, "ca.crt", false, SL_CERT_PEM, &ret->cert_pem, &n, err);

    if (r > 0)
        r = read_file(h, "ca.key", true, SL_CERT_PEM, &ret->key_pem, &n, err);
    if (r > 0 &&
        (sl_cert_pair(ret->cert_pem, ret->key_pem, NULL) < 0 ||
         sl_cert_expiry(ret->cert_pem, &end, NULL) < 0 || end <= sl_time_add(now, CA_LEFT)))
        r = 0;
    if (r <= 0)
        sl_cert_done(ret);
    return r;
}

static int have_ca(struct up_data_dir *h, sl_time now, struct sl_err *err) {
    int r = read_ca(h, now, &h->ca, err);

    if (r != 0)
        return r < 0 ? r : SL_OK;
    r = sl_cert_ca("sluice-ca", now, CA_LIFE, &h->ca, err);
    if (r >= 0)
        r = write_file(h, "ca.key", h->ca.key_pem, strlen(h->ca.key_pem), err);
    if (r >= 0)
        r = write_file(h, "ca.crt", h->ca.cert_pem, strlen(h->ca.cert_pem), err);
    return r;
}

static int have_token(struct up_data_dir *h, struct sl_err *err) {
    _cleanup_(sl_freep) char *text = NULL;
    unsigned char random[(SL_TOKEN_TEXT - 1) / 2];
    size_t len = 0;
    int r = read_file(h, "token", true, SL_TOKEN_TEXT - 1, &text, &len, err);

    if (r < 0)
        return r;
    if (r > 0 && (len != SL_TOKEN_TEXT - 1 || strspn(text, "0123456789abcdef") != len))
        return sl_err_set(err, SL_EINVAL,
                          "%s/token is not a token of %u hexadecimal digits; remove it to have it "
                          "created again",
                          h->dir, SL_TOKEN_TEXT - 1);
    if (r > 0) {
        memcpy(h->token, text, SL_TOKEN_TEXT);
        explicit_bzero(text, len);
        return SL_OK;
    }
    if (RAND_bytes(random, sizeof random) != 1)
        return sl_err_set(err, SL_EIO, "cannot read random bytes");
    for (size_t i = 0; i < sizeof random; i++)
        sl_fmt(h->token + 2 * i, 3, "%02x", random[i]);
    return write_file(h, "token", h->token, SL_TOKEN_TEXT - 1, err);
}

/* It signs the tokens of service accounts. */
static int have_token_key(struct up_data_dir *h, struct sl_err *err) {
    size_t n;
    int r = read_file(h, "sa.key", true, SL_CERT_PEM, &h->token_key, &n, err);

    if (r != 0)
        return r < 0 ? r : SL_OK;
    r = sl_cert_key(&h->token_key, err);
    return r < 0 ? r : write_file(h, "sa.key", h->token_key, strlen(h->token_key), err);
}

int up_data_dir_open(const char *dir, sl_time now, struct up_data_dir *ret, struct sl_err *err) {
    char path[MAX_DIR];

    *ret = (struct up_data_dir){.fd = -1, .lock = -1};
    int r = find_dir(dir, path, err);
    if (r >= 0)
        r = make_dirs(path, err);
    if (r < 0)
        return r;
    ret->dir = sl_strdup(path);
    ret->objects = in_dir(path, "objects.db");
    ret->pods = in_dir(path, "pods");
    ret->kubeconfig = in_dir(path, "kubeconfig");
    r = open_dir(ret, err);
    if (r >= 0)
        r = have_ca(ret, now, err);
    if (r >= 0)
        r = have_token(ret, err);
    if (r >= 0)
        r = have_token_key(ret, err);
    if (r < 0)
        up_data_dir_done(ret);
    return r;
}

void up_data_dir_done(struct up_data_dir *h) {
    if (h->dir && h->lock >= 0)
        (void)close(h->lock);
    if (h->dir && h->fd >= 0)
        (void)close(h->fd);
    h->fd = h->lock = -1;
    sl_freep(&h->dir);
    sl_freep(&h->objects);
    sl_freep(&h->pods);
    sl_freep(&h->kubeconfig);
    sl_cert_done(&h->ca);
    explicit_bzero(h->token, sizeof h->token);
    if (h->token_key)
        explicit_bzero(h->token_key, strlen(h->token_key));
    sl_freep(&h->token_key);
}

/* ---- the certificate ---- */

struct names {
    char text[MAX_NAMES][256];
    const char *v[MAX_NAMES];
    uint32_t n;
};

static void add_name(struct names *names, const char *name) {
    for (uint32_t i = 0; i < names->n; i++)
        if (strcmp(names->v[i], name) == 0)
            return;
    if (names->n == MAX_NAMES || !*name || strlen(name) >= sizeof names->text[0])
        return;
    sl_fmt(names->text[names->n], sizeof names->text[0], "%s", name);
    names->v[names->n] = names->text[names->n];
    names->n++;
}

static void add_addresses(struct names *names) {
    uv_interface_address_t *v = NULL;
    char text[64];
    int n = 0;

    if (uv_interface_addresses(&v, &n) < 0)
        return;
    for (int i = 0; i < n; i++) {
        int r = v[i].address.address4.sin_family == AF_INET6
                    ? uv_ip6_name(&v[i].address.address6, text, sizeof text)
                    : uv_ip4_name(&v[i].address.address4, text, sizeof text);
        if (r == 0)
            add_name(names, text);
    }
    uv_free_interface_addresses(v, n);
}

int up_data_dir_certificate(const struct up_data_dir *h, const char *host, sl_time now,
                            struct sl_cert *ret, struct sl_err *err) {
    static const char *const usual[] = {
        "localhost",
        "127.0.0.1",
        "::1",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    };
    struct names *names = sl_alloc0(1, sizeof *names);
    char machine[256] = "";

    for (size_t i = 0; i < SL_LEN(usual); i++)
        add_name(names, usual[i]);
    (void)gethostname(machine, sizeof machine - 1);
    add_name(names, machine);
    if (!*host || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
        add_addresses(names);
    else
        add_name(names, host);
    int r = sl_cert_serving(&h->ca, names->v, names->n, now, UP_DATA_DIR_CERT_LIFE, ret, err);
    sl_freep(&names);
    if (r < 0 || sl_cert_fits(ret, h->ca.cert_pem, usual[0]))
        return r;
    /* It is valid, but may not sign: no client would trust its certificates. */
    sl_cert_done(ret);
    return sl_err_set(err, SL_EINVAL,
                      "%s/ca.crt cannot sign certificates; remove it and ca.key to have them "
                      "created again",
                      h->dir);
}

/* ---- the kubeconfig ---- */

int up_data_dir_write_kubeconfig(const struct up_data_dir *h, const char *server,
                                 struct sl_err *err) {
    struct sl_buf b = SL_BUF(MAX_KUBECONFIG);

    sl_buf_puts(&b, "apiVersion: v1\nkind: Config\nclusters:\n- name: sluice\n  cluster:\n"
                    "    certificate-authority-data: ");
    sl_base64_encode(&b, h->ca.cert_pem, strlen(h->ca.cert_pem));
    sl_buf_printf(&b,
                  "\n    server: %s\nusers:\n- name: sluice\n  user:\n    token: %s\n"
                  "contexts:\n- name: sluice\n  context:\n    cluster: sluice\n    user: sluice\n"
                  "current-context: sluice\n",
                  server, h->token);
    int r = sl_buf_full(&b) ? sl_err_set(err, SL_ELIMIT, "the kubeconfig is too large")
                            : write_file(h, "kubeconfig", sl_buf_str(&b), b.len, err);
    if (b.s)
        explicit_bzero(b.s, b.len);
    sl_buf_done(&b);
    return r;
}
