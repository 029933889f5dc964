/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes are directories under DIR/pods/UID/volumes; hostPath is the path itself. Content from
 * ConfigMaps, Secrets and the pod is written before the first container starts, and again before a
 * restart.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/kubelet/kubelet_int.h"
#include "cluster/kubelet/process/path_walk.h"
#include "core/base/arena.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

/* ---- files and folders ---- */

static int make_one(const char *path, unsigned mode) {
    if (mkdir(path, mode) < 0)
        return errno == EEXIST ? 0 : -errno;
    return chmod(path, mode) < 0 ? -errno : 0; /* whatever the umask is */
}

int klet_folder_make(const char *path, unsigned mode) {
    char part[PATH_MAX];
    size_t n = strlen(path);

    if (n == 0 || n >= sizeof part)
        return -ENAMETOOLONG;
    memcpy(part, path, n + 1);
    int r = make_one(part, mode); /* its parents are there, mostly: a pod may have many volumes */
    if (r != -ENOENT)
        return r;
    for (char *p = part + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            if (mkdir(part, 0755) < 0 && errno != EEXIST)
                return -errno;
            *p = '/';
        }
    return make_one(part, mode);
}

/* A tree that is removed. What is too deep in it is moved up to its top, and found there later. */
struct removal {
    int top;
    uint32_t next; /* names taken at the top */
    uint64_t moved;
};

static void move_up(struct removal *r, int dir, const char *name) {
    char fresh[32];

    do
        sl_fmt(fresh, sizeof fresh, ".deep-%u", r->next++);
    while (renameat(dir, name, r->top, fresh) < 0 && r->next != 0 &&
           (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR));
    struct stat st;
    r->moved += fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0;
}

static void remove_in(struct removal *r, int dir, const char *name, int depth) {
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT || unlinkat(dir, name, AT_REMOVEDIR) == 0)
        return;
    if (depth > RT_MAX_DEPTH) {
        move_up(r, dir, name);
        return;
    }
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    for (const struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            remove_in(r, fd, e->d_name, depth + 1);
    (void)closedir(d);
    (void)unlinkat(dir, name, AT_REMOVEDIR);
}

void klet_folder_remove(const char *path) {
    struct removal r = {.top = -1};

    do {
        r.moved = 0;
        r.top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        remove_in(&r, AT_FDCWD, path, 0);
        if (r.top >= 0)
            (void)close(r.top);
    } while (r.moved > 0);
    struct stat st;
    if (lstat(path, &st) == 0)
        sl_log(SL_LOG_WARN, "pod directory not fully removed", SL_S("path", path));
}

int klet_file_write(const char *path, const char *bytes, size_t len, unsigned mode) {
    char fresh[PATH_MAX];
    size_t at = 0;
    int r = 0;

    if (snprintf(fresh, sizeof fresh, "%s.new", path) >= (int)sizeof fresh)
        return -ENAMETOOLONG;
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    while (r == 0 && at < len) {
        ssize_t n = write(fd, bytes + at, len - at);
        if (n < 0 && errno != EINTR)
            r = -errno;
        at += n > 0 ? (size_t)n : 0;
    }
    if (fchmod(fd, mode) < 0 && r == 0)
        r = -errno;
    (void)close(fd);
    if (r == 0 && rename(fresh, path) < 0)
        r = -errno;
    if (r < 0)
        (void)unlink(fresh);
    return r;
}

/* ---- what stands in a volume ---- */

struct filler {
    struct klet_pod *pod;
    struct sl_arena *arena; /* of one file: cleared when it is written */
    size_t *left;           /* that the pod's volumes may still be filled with */
    const char *folder;
    const char *volume;
    unsigned mode;
    struct sl_err *err;
};

/* Checked before anything is written: a small object may name another a thousand times. */
static int charge_bytes(const struct filler *f, size_t len) {
    if (len > *f->left || *f->left - len < FILE_COSTS)
        return sl_err_set(f->err, SL_ELIMIT,
                          "volume \"%s\": the volumes of the pod hold more than %zu MiB, each file "
                          "counted with %u bytes besides its own",
                          f->volume, MAX_WRITTEN >> 20, FILE_COSTS);
    *f->left -= len + FILE_COSTS;
    return 0;
}

/* A path inside the volume: relative, and nowhere up. */
static bool path_ok(const char *path) {
    if (!*path || *path == '/')
        return false;
    for (const char *p = path; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == '\0'))
            return false;
    }
    return true;
}

static int put_file(const struct filler *f, const char *path, const char *bytes, size_t len,
                    int64_t mode) {
    char full[PATH_MAX], *slash;

    if (sl_arena_full(f->arena))
        return sl_err_set(f->err, SL_ELIMIT, "volume \"%s\": \"%.80s\" is too large", f->volume,
                          path);
    if (!path_ok(path) || snprintf(full, sizeof full, "%s/%s", f->folder, path) >= (int)sizeof full)
        return sl_err_set(f->err, SL_EINVAL, "volume \"%s\": \"%.80s\" is no path inside it",
                          f->volume, path);
    slash = strrchr(full, '/');
    *slash = '\0';
    int r = klet_folder_make(full, 0755);
    *slash = '/';
    if (r == 0)
        r = klet_file_write(full, bytes, len, mode < 0 ? f->mode : (unsigned)mode & 0777);
    sl_arena_clear(f->arena);
    return r < 0 ? sl_err_set(f->err, SL_EIO, "volume \"%s\": writing %.80s: %s", f->volume, path,
                              strerror(-r))
                 : 0;
}

static int put_key(const struct filler *f, yyjson_val *value, bool encoded, const char *path,
                   int64_t mode) {
    size_t len = sl_json_view(value).n;
    int r = charge_bytes(f, len);
    const char *s = r < 0 ? NULL : klet_refs_bytes(value, encoded, f->arena, &len);

    return s ? put_file(f, path, s, len, mode) : r;
}

/* All keys, or those that are named. */
static int fill_keys(const struct filler *f, yyjson_val *source, bool secret, const char *name) {
    static const char *const maps[] = {"data", "binaryData"};
    yyjson_val *o = klet_refs_find(f->pod, secret, name), *items = sl_json_at(source, "items"), *k,
               *v;
    const bool optional = sl_json_bool(source, "optional", false);
    bool encoded;
    size_t i, n;
    int r = 0;

    if (!o) {
        r = klet_refs_none(f->pod, secret, name, optional, f->err);
        return r < 0 ? sl_err_wrap(f->err, r, "volume \"%s\"", f->volume) : 0;
    }
    yyjson_arr_foreach (items, i, n, v) {
        yyjson_val *value = klet_refs_key(f->pod, o, secret, sl_json_str(v, "key"), &encoded);
        if (!value && !optional)
            return sl_err_set(f->err, SL_ENOENT, "volume \"%s\": %s \"%s\" has no key %.80s",
                              f->volume, secret ? "secret" : "configmap", name,
                              sl_json_str(v, "key"));
        if (value && (r = put_key(f, value, encoded, sl_json_str(v, "path"),
                                  sl_json_int(v, "mode", -1))) < 0)
            return r;
    }
    for (size_t m = 0; n == 0 && !items && m < (secret ? 1 : 2); m++) {
        yyjson_val *map = sl_json_at(o, maps[m]);
        size_t j, all;
        sl_obj_foreach (map, j, all, k, v) {
            if ((r = put_key(f, v, secret || m == 1, sl_json_text(k), -1)) < 0)
                return r;
        }
    }
    return r;
}

static int fill_downward(const struct filler *f, yyjson_val *source) {
    yyjson_val *items = sl_json_at(source, "items"), *item;
    size_t i, n;
    int r = 0;

    yyjson_arr_foreach (items, i, n, item) {
        yyjson_val *res = sl_json_at(item, "resourceFieldRef");
        const char *s = NULL;
        struct sl_text text = SL_TEXT("");
        for (uint32_t c = 0; res && c < f->pod->n_cs; c++)
            if (strcmp(f->pod->cs[c].name, sl_json_str(res, "containerName")) == 0)
                s = klet_resource_text(f->pod, f->arena, f->pod->cs[c].spec,
                                       sl_json_str(res, "resource"), sl_json_str(res, "divisor"));
        if (s)
            text = sl_text_of(s);
        if (res ? !s
                : !klet_field_text(f->pod, f->arena, sl_json_str(item, "fieldRef.fieldPath"),
                                   &text))
            return sl_err_set(f->err, SL_EINVAL, "volume \"%s\": no such field: %.80s", f->volume,
                              sl_json_str(item, "path"));
        if ((r = charge_bytes(f, text.n)) < 0 ||
            (r = put_file(f, sl_json_str(item, "path"), text.s, text.n,
                          sl_json_int(item, "mode", -1))) < 0)
            return r;
    }
    return r;
}

static int fill_token(const struct filler *f, yyjson_val *source) {
    const char *path = sl_json_str(source, "path"), *why;
    const char *text = klet_token_find(f->pod, f->volume, path, &why);

    if (!text)
        return sl_err_set(f->err, SL_ENOENT, "volume \"%s\": service account token: %.160s",
                          f->volume, why ? why : "there is none");
    int r = charge_bytes(f, strlen(text));
    return r < 0 ? r : put_file(f, path, text, strlen(text), -1);
}

static int fill_projected(const struct filler *f, yyjson_val *sources) {
    yyjson_val *s, *one;
    size_t i, n;
    int r = 0;

    yyjson_arr_foreach (sources, i, n, s) {
        if ((one = sl_json_at(s, "configMap")))
            r = fill_keys(f, one, false, sl_json_str(one, "name"));
        else if ((one = sl_json_at(s, "secret")))
            r = fill_keys(f, one, true, sl_json_str(one, "name"));
        else if ((one = sl_json_at(s, "downwardAPI")))
            r = fill_downward(f, one);
        else if ((one = sl_json_at(s, "serviceAccountToken")))
            r = fill_token(f, one);
        if (r < 0)
            return r;
    }
    return r;
}

/* ---- volumes ---- */

const char *klet_volume_folder(struct klet_pod *p, yyjson_val *volume, struct sl_arena *a) {
    if (sl_json_at(volume, "hostPath"))
        return sl_json_str(volume, "hostPath.path");
    return sl_arena_printf(a, "%s/volumes/%s", p->local->folder, sl_json_str(volume, "name"));
}

/* ---- what is made on the machine ---- */

/* A folder that was just made has the requested mode but for the umask. A process that can write to
 * the parent may have replaced it; the mode of that one is left alone. */
static int made_folder(int at, const char *name) {
    struct stat st;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;

    if (fd < 0)
        return errno == ENOTDIR ? -ELOOP : -errno;
    if (fstat(fd, &st) < 0)
        r = -errno;
    else if (st.st_uid != geteuid() || (st.st_mode & 07777 & ~0755u) != 0)
        r = -ELOOP;
    else if ((st.st_mode & 07777) != 0755 && fchmod(fd, 0755) < 0)
        r = -errno;
    if (r == 0)
        return fd;
    (void)close(fd);
    return r;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): struct klet_walk */
static int make_host_part(void *ctx, int *at, const char *name, bool last) {
    const bool file = *(const bool *)ctx;

    if (file && !last)
        return -ENOENT;
    if (!file && mkdirat(*at, name, 0755) == 0)
        return made_folder(*at, name);
    if (file) {
        int fd = openat(*at, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (fd >= 0) {
            (void)fchmod(fd, 0644); /* whatever the umask is */
            return fd;
        }
    }
    return errno == EEXIST ? klet_walk_part(*at, name) : -errno;
}

/* All links are followed unless we are root: they give no rights beyond ours. */
int klet_host_path_make(const char *host, bool file) {
    const struct klet_walk w = {.any_link = geteuid() != 0, .make = make_host_part, .ctx = &file};
    int fd = klet_walk_to(&w, host);

    if (fd < 0)
        return fd;
    (void)close(fd);
    return 0;
}

static int host_path(const char *name, yyjson_val *v, struct sl_err *err) {
    const char *path = sl_json_str(v, "path"), *type = sl_json_str(v, "type");
    const bool file = strcmp(type, "FileOrCreate") == 0;
    struct stat st;
    int r = 0;

    if (path[0] != '/') /* where it begins would depend on how this process was started */
        return sl_err_set(err, SL_EINVAL, "volume \"%s\": hostPath %s: expected an absolute path",
                          name, path);
    if ((file || strcmp(type, "DirectoryOrCreate") == 0) && stat(path, &st) < 0)
        r = klet_host_path_make(path, file);
    if (r == 0 && stat(path, &st) < 0)
        r = -errno;
    return r < 0 ? sl_err_set(err, SL_ENOENT, "volume \"%s\": hostPath %s: %s", name, path,
                              strerror(-r))
                 : 0;
}

/* What kind it is: the key beside the name. */
static const char *kind_of(yyjson_val *volume) {
    yyjson_val *k, *v;
    size_t i, n;

    sl_obj_foreach (volume, i, n, k, v) {
        (void)v;
        if (strcmp(sl_json_text(k), "name") != 0)
            return sl_json_text(k);
    }
    return "emptyDir";
}

static int make_volume(struct klet_pod *p, yyjson_val *volume, struct sl_arena *a,
                       struct sl_arena *file, size_t *left, struct sl_err *err) {
    const char *name = sl_json_str(volume, "name"), *kind = kind_of(volume),
               *folder = klet_volume_folder(p, volume, a);
    yyjson_val *v = yyjson_obj_get(volume, kind);
    const struct filler f = {.pod = p,
                             .arena = file,
                             .left = left,
                             .folder = folder,
                             .volume = name,
                             .mode = (unsigned)sl_json_int(v, "defaultMode", 0644) & 0777,
                             .err = err};
    const bool empty = strcmp(kind, "emptyDir") == 0;

    if (!folder)
        return 0;
    if (strcmp(kind, "hostPath") == 0)
        return host_path(name, v, err);
    int r = klet_folder_make(folder, empty ? 0777 : 0755);
    if (r < 0)
        return sl_err_set(err, SL_EIO, "volume \"%s\": %s", name, strerror(-r));
    if (empty)
        return 0;
    if (strcmp(kind, "configMap") == 0)
        return fill_keys(&f, v, false, sl_json_str(v, "name"));
    if (strcmp(kind, "secret") == 0)
        return fill_keys(&f, v, true, sl_json_str(v, "secretName"));
    if (strcmp(kind, "downwardAPI") == 0)
        return fill_downward(&f, v);
    if (strcmp(kind, "projected") == 0)
        return fill_projected(&f, sl_json_at(v, "sources"));
    return sl_err_set(err, SL_EINVAL,
                      "volume \"%s\": sluice up has no %s volumes; it has emptyDir, configMap, "
                      "secret, downwardAPI, "
                      "projected and hostPath",
                      name, kind);
}

/* Who can enter the folder of a pod, where Secrets are: we, and the group of the users that its
 * containers run as. If these have no common group, volumes are visible only where they are
 * mounted; where nothing can be mounted, the folder can be traversed by every process that knows
 * the pod's uid. */
static int make_folder(struct klet_pod *p) {
    const char *folder = p->local->folder;
    unsigned mode = 0700;
    int64_t group = -1;

    for (uint32_t i = 0; geteuid() == 0 && i < p->n_cs; i++) {
        struct klet_users u;
        klet_users_of(&p->cs[i], &u);
        if (u.uid <= 0)
            continue;
        const int64_t gid = u.fs_group >= 0 ? u.fs_group : u.gid;
        mode = mode == 0700 || gid == group          ? 0710
               : klet_spawner_mounts(p->rt->spawner) ? 0700
                                                     : 0711;
        if (mode != 0710)
            break;
        group = gid;
    }
    int r = klet_folder_make(folder, 0700);
    if (r == 0 && group >= 0 && chown(folder, (uid_t)-1, (gid_t)group) < 0)
        r = -errno;
    return r == 0 && chmod(folder, mode) < 0 ? -errno : r;
}

/* One part of a path, and no way out of its folder. */
static bool is_plain(const char *name) {
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Folders and files are called by these names. The API server takes no others, but what is stored
 * may be older than its rules. */
static int check_names(const struct klet_pod *p, yyjson_val *volumes, struct sl_err *err) {
    yyjson_val *v;
    size_t i, n;

    if (!is_plain(p->uid))
        return sl_err_set(err, SL_EINVAL, "\"%.80s\" is no uid", p->uid);
    for (uint32_t c = 0; c < p->n_cs; c++)
        if (!is_plain(p->cs[c].name))
            return sl_err_set(err, SL_EINVAL, "\"%.80s\" is no name of a container", p->cs[c].name);
    yyjson_arr_foreach (volumes, i, n, v) {
        if (!is_plain(sl_json_str(v, "name")))
            return sl_err_set(err, SL_EINVAL, "\"%.80s\" is no name of a volume",
                              sl_json_str(v, "name"));
    }
    return 0;
}

int klet_volumes_make(struct klet_pod *p, struct sl_err *err) {
    yyjson_val *volumes = sl_json_at(yyjson_doc_get_root(p->local->doc), "spec.volumes"), *v;
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(MAX_VOLUME_PATHS);
    _cleanup_(sl_arena_done) struct sl_arena file = SL_ARENA(MAX_FILE);
    size_t i, n, left = MAX_WRITTEN;
    int r = check_names(p, volumes, err);

    if (r < 0)
        return r;
    r = make_folder(p);
    if (r < 0)
        return sl_err_set(err, SL_EIO, "creating the directory %s: %s", p->local->folder,
                          strerror(-r));
    klet_lookups_begin(p);
    yyjson_arr_foreach (volumes, i, n, v) {
        if (r < 0)
            break;
        sl_arena_clear(&a);
        sl_arena_clear(&file);
        r = make_volume(p, v, &a, &file, &left, err);
    }
    klet_lookups_end(p);
    return r;
}
