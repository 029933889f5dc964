/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a container's spec to arguments, variables, directories and mount points.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cluster/kubelet/kubelet_int.h"
#include "core/base/arena.h"
#include "core/base/fmt.h"
#include "core/base/quantity.h"
#include "lib/json/json.h"

static int add_arguments(const struct klet_vars *v, yyjson_val *list, struct klet_launch *l,
                         uint32_t *n, struct sl_err *err) {
    size_t i, all;
    yyjson_val *w;

    yyjson_arr_foreach (list, i, all, w) {
        if (sl_text_has_nul(sl_json_view(w)))
            return sl_err_set(err, SL_EINVAL, "the command holds a zero byte");
        const char *s = klet_vars_expand(v, &l->arena, sl_json_text(w));
        if (!s || l->arena.used > MAX_LAUNCH / 4)
            return sl_err_set(err, SL_ELIMIT, "the command is too long");
        l->argv[(*n)++] = s;
    }
    return 0;
}

/* Where a program may be, in the order of PATH. */
static int add_tries(const struct klet_vars *v, struct klet_launch *l, const char *program,
                     struct sl_err *err) {
    const char *path = klet_vars_get(v, "PATH");
    uint32_t n = 0;

    l->tries = sl_arena_alloc0(&l->arena, RT_MAX_TRIES + 1, sizeof *l->tries);
    if (strchr(program, '/')) {
        l->tries[0] = program;
        return 0;
    }
    for (const char *p = path ? path : ""; *program && *p;) {
        const size_t len = strcspn(p, ":");
        if (n == RT_MAX_TRIES)
            return sl_err_set(err, SL_ELIMIT, "PATH has more than %u directories", RT_MAX_TRIES);
        if (len > 0 && len + strlen(program) + 2 <= PATH_MAX) /* no file has a longer path */
            l->tries[n++] = sl_arena_printf(&l->arena, "%.*s/%s", (int)len, p, program);
        p += len + (p[len] == ':');
    }
    return 0;
}

/* An image is not pulled; but one that is called as a program of this machine means that. */
static const char *program_of_image(struct klet_launch *l, const char *image) {
    const char *base = strrchr(image, '/');

    base = base ? base + 1 : image;
    return sl_arena_strndup(&l->arena, base, strcspn(base, ":@"));
}

static int find_program(struct klet_container *c, const struct klet_vars *v, struct klet_launch *l,
                        uint32_t *n, struct sl_err *err) {
    const char *program = program_of_image(l, c->image);

    if (strcmp(program, "pause") == 0) { /* which does nothing for ever */
        l->argv[(*n)++] = "sleep";
        l->argv[(*n)++] = "infinity";
        return 0;
    }
    const int r = add_tries(v, l, program, err);
    if (r < 0)
        return r;
    for (const char **t = l->tries; *program && *t; t++)
        if (access(*t, X_OK) == 0) {
            l->argv[(*n)++] = program;
            return 0;
        }
    l->no_program = true;
    return sl_err_set(err, SL_EINVAL,
                      "the container has no command, and images are not pulled, so the entry point "
                      "of \"%.80s\" is not "
                      "known: give it a command, a program of this machine",
                      c->image);
}

/* As they are: nothing in them is expanded. */
static int copy_arguments(const char *const *argv, struct klet_launch *l, struct sl_err *err) {
    size_t n = 0;

    while (argv[n])
        n++;
    if (n > RT_MAX_ARGS)
        return sl_err_set(err, SL_ELIMIT, "the command is too long");
    l->argv = sl_arena_alloc0(&l->arena, n + 1, sizeof *l->argv);
    for (size_t i = 0; i < n; i++) {
        const size_t len = strlen(argv[i]);
        if (len > RT_MAX_ARGS || l->arena.used > MAX_LAUNCH / 4)
            return sl_err_set(err, SL_ELIMIT, "the command is too long");
        l->argv[i] = sl_arena_strndup(&l->arena, argv[i], len);
    }
    return 0;
}

static int make_arguments(struct klet_container *c, const struct klet_vars *v,
                          const struct klet_launch_of *of, struct klet_launch *l,
                          struct sl_err *err) {
    yyjson_val *spec = c->spec, *command = of->command,
               *args = command ? NULL : sl_json_at(spec, "args");
    uint32_t n = 0;
    int r = 0;

    if (of->argv) {
        r = copy_arguments(of->argv, l, err);
        if (r == 0)
            r = add_tries(v, l, l->argv[0], err);
        return r;
    }
    if (!command)
        command = sl_json_at(spec, "command");
    l->argv = sl_arena_alloc0(&l->arena, yyjson_arr_size(command) + yyjson_arr_size(args) + 4,
                              sizeof *l->argv);
    if (yyjson_arr_size(command) == 0)
        r = find_program(c, v, l, &n, err);
    else
        r = add_arguments(v, command, l, &n, err);
    if (r == 0 && strcmp(l->argv[0], "sleep") == 0 && n == 2 && yyjson_arr_size(command) == 0)
        args = NULL; /* what a pause was given as well */
    if (r == 0)
        r = add_arguments(v, args, l, &n, err);
    if (r == 0)
        r = add_tries(v, l, l->argv[0], err);
    return r;
}

/* ---- mount points ---- */

static int by_path(const void *a, const void *b) {
    const struct klet_mount_point *x = a, *y = b;

    return strcmp(x->to, y->to);
}

static int open_sub(int base, const char *sub) {
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    const int fd = (int)syscall(SYS_openat2, base, sub, &how, sizeof how);

    return fd < 0 ? -errno : fd;
}

/* What a subPath names: made if it is not there, as folders with the mode of the volume. The
 * container may have put links there; none of them leads out of the volume, and none is followed
 * to make something. 0 or -errno. */
static int make_sub(const char *volume, const char *sub, struct stat *ret) {
    char part[PATH_MAX];
    struct stat st;
    int base = open(volume, O_PATH | O_DIRECTORY | O_CLOEXEC), r = 0;

    if (base < 0 || fstat(base, &st) < 0)
        r = -errno;
    int fd = r < 0 ? -1 : open_sub(base, sub);
    int at = r < 0 || fd != -ENOENT ? -1 : fcntl(base, F_DUPFD_CLOEXEC, 0);
    for (const char *p = sub; at >= 0 && r == 0 && *p;) {
        const size_t n = strcspn(p, "/");
        if (n > 0 && n < sizeof part) {
            memcpy(part, p, n);
            part[n] = '\0';
            const bool made = mkdirat(at, part, 0700) == 0;
            int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (next < 0 || (made && fchmod(next, st.st_mode & 0777) < 0))
                r = -errno;
            (void)close(at);
            at = next;
        }
        p += n + (p[n] == '/');
    }
    if (at >= 0)
        (void)close(at);
    if (r == 0 && fd == -ENOENT)
        fd = open_sub(base, sub);
    if (r == 0 && (fd < 0 || fstat(fd, ret) < 0))
        r = fd < 0 ? fd : -errno;
    if (fd >= 0)
        (void)close(fd);
    if (base >= 0)
        (void)close(base);
    return r;
}

static int add_mount(struct klet_container *c, const struct klet_vars *v, yyjson_val *m,
                     struct klet_launch *l, struct sl_err *err) {
    yyjson_val *volumes = sl_json_at(yyjson_doc_get_root(c->pod->local->doc), "spec.volumes"),
               *vol = NULL, *one;
    const char *sub = sl_json_str(m, "subPath"), *expr = sl_json_str(m, "subPathExpr"),
               *from = NULL, *to = sl_json_str(m, "mountPath");
    struct stat st;
    size_t i, n;

    yyjson_arr_foreach (volumes, i, n, one) {
        if (strcmp(sl_json_str(one, "name"), sl_json_str(m, "name")) == 0)
            vol = one;
    }
    from = vol ? klet_volume_folder(c->pod, vol, &l->arena) : NULL;
    if (!from || to[0] != '/')
        return 0;
    if (*expr && !(sub = klet_vars_expand(v, &l->arena, expr)))
        return sl_err_set(err, SL_ELIMIT, "volume \"%s\": its subPathExpr is too long",
                          sl_json_str(m, "name"));
    if (strlen(sub) >= PATH_MAX)
        return sl_err_set(err, SL_ELIMIT, "volume \"%s\": its subPath is too long",
                          sl_json_str(m, "name"));
    if (*sub) {
        if (strstr(sub, "..") || *sub == '/')
            return sl_err_set(err, SL_EINVAL, "volume \"%s\": \"%.80s\" is no path inside it",
                              sl_json_str(m, "name"), sub);
        int r = make_sub(from, sub, &st);
        if (r < 0)
            return sl_err_set(
                err, SL_EIO, "volume \"%s\": subPath \"%.80s\": %s", sl_json_str(m, "name"), sub,
                r == -EXDEV || r == -ELOOP ? "it leads out of the volume" : strerror(-r));
    } else if (stat(from, &st) < 0) {
        return sl_err_set(err, SL_EIO, "volume \"%s\": %s", sl_json_str(m, "name"),
                          strerror(errno));
    }
    *sl_vec_push(&l->mounts) =
        (struct klet_mount_point){.from = from,
                                  .to = to,
                                  .sub = *sub ? sub : NULL,
                                  .read_only = sl_json_bool(m, "readOnly", false),
                                  .file = !S_ISDIR(st.st_mode)};
    return 0;
}

static const char *own_folder(struct klet_container *c, struct klet_launch *l, const char *what,
                              unsigned mode) {
    const char *path = sl_arena_printf(&l->arena, "%s/%s/%s", c->pod->local->folder, what, c->name);

    (void)klet_folder_make(path, mode);
    return path;
}

static int make_mounts(struct klet_container *c, const struct klet_vars *v, struct klet_launch *l,
                       struct sl_err *err) {
    yyjson_val *mounts = sl_json_at(c->spec, "volumeMounts"), *m;
    size_t i, n;

    if (!klet_spawner_mounts(c->pod->rt->spawner))
        return 0;
    yyjson_arr_foreach (mounts, i, n, m) {
        int r = add_mount(c, v, m, l, err);
        if (r < 0)
            return r;
    }
    return 0;
}

#define ACCOUNT_MOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

/* Without mounts a client does not find the token where it looks for it: once, its user is told. */
static void report_no_mounts(struct klet_container *c) {
    yyjson_val *m;
    size_t i, n;

    if (klet_spawner_mounts(c->pod->rt->spawner) || c->reported_mounts)
        return;
    yyjson_arr_foreach (sl_json_at(c->spec, "volumeMounts"), i, n, m)
        if (strcmp(sl_json_str(m, "mountPath"), ACCOUNT_MOUNT) == 0) {
            char note[400];
            sl_fmt_short(note, sizeof note,
                         "this machine allows no private mounts: volume \"%s\" with the token of "
                         "the service account is not at " ACCOUNT_MOUNT
                         "; the variable SLUICE_VOLUME_... has its path",
                         sl_json_str(m, "name"));
            klet_container_event(c, true, "NoMounts", note);
            c->reported_mounts = true;
        }
}

/* A workingDir that the machine does not have is made for this container alone, as a container
 * engine would. */
static void make_cwd(struct klet_container *c, struct klet_launch *l) {
    const char *working_dir = sl_json_str(c->spec, "workingDir");
    struct stat st;

    if (!*working_dir) {
        l->cwd = own_folder(c, l, "work", 0755);
        if (l->uid >= 0)
            (void)!chown(l->cwd, (uid_t)l->uid, l->gid >= 0 ? (gid_t)l->gid : (gid_t)-1);
        return;
    }
    l->cwd = working_dir;
    if (working_dir[0] != '/' || stat(working_dir, &st) == 0 ||
        !klet_spawner_mounts(c->pod->rt->spawner))
        return;
    for (uint32_t i = 0; i < l->mounts.n; i++) {
        const size_t n = strlen(l->mounts.v[i].to);
        if (strncmp(working_dir, l->mounts.v[i].to, n) == 0 &&
            (working_dir[n] == '/' || working_dir[n] == '\0'))
            return;
    }
    *sl_vec_push(&l->mounts) =
        (struct klet_mount_point){.from = own_folder(c, l, "work", 0777), .to = working_dir};
}

int klet_launch_make(struct klet_container *c, const struct klet_launch_of *of,
                     struct klet_launch *l, struct sl_err *err) {
    struct klet_vars v = {.v = {0}};
    char path[PATH_MAX];

    *l = (struct klet_launch){.uid = -1, .gid = -1, .cgroup_fd = -1};
    sl_arena_init(&l->arena, MAX_LAUNCH);
    const bool beside = of->command || of->argv;
    int r = 0;
    if (beside && c->env)
        klet_vars_saved(c, &v, &l->arena);
    else
        r = klet_vars_of(c, &v, &l->arena, err);
    if (r == 0 && of->tty && !klet_vars_get(&v, "TERM"))
        klet_vars_set(&v, &l->arena, "TERM", "xterm");
    if (r == 0)
        r = make_arguments(c, &v, of, l, err);
    if (!beside)
        report_no_mounts(c);
    if (r == 0)
        r = make_mounts(c, &v, l, err);
    if (r == 0)
        r = klet_security_apply(c, l, err);
    if (r == 0) {
        make_cwd(c, l);
        if (l->mounts.n > 0 || l->writable) {
            if (l->mounts.n > 0)
                qsort(l->mounts.v, l->mounts.n, sizeof l->mounts.v[0], by_path);
            l->root = own_folder(c, l, "root", 0755);
        }
        l->envp = sl_arena_alloc0(&l->arena, v.v.n + 1, sizeof *l->envp);
        for (uint32_t i = 0; i < v.v.n; i++)
            l->envp[i] = v.v.v[i];
        sl_fmt(path, sizeof path, "%s/term/%s", c->pod->local->folder, c->name);
        if (!beside)
            klet_vars_save(c, &v);
        if (!beside && klet_folder_make(
                           sl_arena_printf(&l->arena, "%s/term", c->pod->local->folder), 0755) == 0)
            (void)klet_file_write(path, "", 0, 0666);
    }
    if (r == 0 && sl_arena_full(&l->arena))
        r = sl_err_set(err, SL_ELIMIT,
                       "the container's command, variables and mounts are larger "
                       "than %zu MiB",
                       MAX_LAUNCH >> 20);
    klet_vars_done(&v);
    return r;
}
