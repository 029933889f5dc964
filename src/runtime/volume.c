/*
 * Volumes are folders under DIR/pods/UID/volumes; hostPath is the path itself. What refers to
 * ConfigMaps, Secrets and the pod is written before the first container starts, and again before
 * one is started again.
 *
 * The volume with the token of the service account is left out: there are no tokens for pods.
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

#include "base/arena.h"
#include "runtime/runtime_int.h"
#include "json/json.h"

#define MAX_BYTES ((size_t)64 << 20)
#define MAX_DEPTH 64

/* ---- files and folders ---- */

int folder_make(const char *path, unsigned mode) {
    char part[PATH_MAX];
    size_t n = strlen(path);

    if (n == 0 || n >= sizeof part)
        return -ENAMETOOLONG;
    memcpy(part, path, n + 1);
    for (char *p = part + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            if (mkdir(part, 0755) < 0 && errno != EEXIST)
                return -errno;
            *p = '/';
        }
    if (mkdir(part, mode) < 0)
        return errno == EEXIST ? 0 : -errno;
    return chmod(part, mode) < 0 ? -errno : 0; /* whatever the umask says */
}

static void remove_in(int dir, const char *name, int depth) {
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT || depth > MAX_DEPTH)
        return;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    for (const struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            remove_in(fd, e->d_name, depth + 1);
    (void)closedir(d);
    (void)unlinkat(dir, name, AT_REMOVEDIR);
}

void folder_remove(const char *path) {
    remove_in(AT_FDCWD, path, 0);
}

int file_write(const char *path, const char *bytes, size_t len, unsigned mode) {
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
    struct pod *pod;
    struct sl_arena *arena;
    const char *folder;
    const char *volume;
    unsigned mode;
    struct sl_err *err;
};

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

static int put(const struct filler *f, const char *path, const char *bytes, size_t len,
               int64_t mode) {
    char full[PATH_MAX], *slash;

    if (!path_ok(path) || snprintf(full, sizeof full, "%s/%s", f->folder, path) >= (int)sizeof full)
        return sl_err_set(f->err, SL_EINVAL, "volume \"%s\": \"%.80s\" is no path inside it",
                          f->volume, path);
    slash = strrchr(full, '/');
    *slash = '\0';
    int r = folder_make(full, 0755);
    *slash = '/';
    if (r == 0)
        r = file_write(full, bytes, len, mode < 0 ? f->mode : (unsigned)mode & 0777);
    return r < 0 ? sl_err_set(f->err, SL_EIO, "volume \"%s\": writing %.80s: %s", f->volume, path,
                              strerror(-r))
                 : 0;
}

/* All keys, or those that are named. */
static int fill_keys(const struct filler *f, yyjson_val *source, bool secret, const char *name) {
    static const char *const maps[] = {"data", "binaryData"};
    yyjson_val *o = refs_find(f->pod, secret, name), *items = jat(source, "items"), *k, *v;
    const bool optional = jbool(source, "optional", false);
    size_t i, n, len;
    int r = 0;

    if (!o)
        return optional ? 0
                        : sl_err_set(f->err, SL_ENOENT, "volume \"%s\": %s \"%s\" not found",
                                     f->volume, secret ? "secret" : "configmap", name);
    yyjson_arr_foreach (items, i, n, v) {
        const char *s = refs_value(o, secret, jstr(v, "key"), f->arena, &len);
        if (!s && !optional)
            return sl_err_set(f->err, SL_ENOENT, "volume \"%s\": %s \"%s\" has no key %.80s",
                              f->volume, secret ? "secret" : "configmap", name, jstr(v, "key"));
        if (s && (r = put(f, jstr(v, "path"), s, len, jint(v, "mode", -1))) < 0)
            return r;
    }
    for (size_t m = 0; n == 0 && !items && m < (secret ? 1 : 2); m++) {
        yyjson_val *map = jat(o, maps[m]);
        size_t j, all;
        sl_obj_foreach (map, j, all, k, v) {
            const char *s = refs_value(o, secret, yyjson_get_str(k), f->arena, &len);
            if (s && (r = put(f, yyjson_get_str(k), s, len, -1)) < 0)
                return r;
        }
    }
    return r;
}

static int fill_downward(const struct filler *f, yyjson_val *source) {
    yyjson_val *items = jat(source, "items"), *item;
    size_t i, n;
    int r = 0;

    yyjson_arr_foreach (items, i, n, item) {
        yyjson_val *res = jat(item, "resourceFieldRef");
        const char *s = NULL;
        for (uint32_t c = 0; res && c < f->pod->n_cs; c++)
            if (strcmp(f->pod->cs[c].name, jstr(res, "containerName")) == 0)
                s = resource_text(f->pod, f->arena, f->pod->cs[c].spec, jstr(res, "resource"),
                                  jstr(res, "divisor"));
        if (!res)
            s = field_text(f->pod, f->arena, jstr(item, "fieldRef.fieldPath"));
        if (!s)
            return sl_err_set(f->err, SL_EINVAL, "volume \"%s\": no such field: %.80s", f->volume,
                              jstr(item, "path"));
        if ((r = put(f, jstr(item, "path"), s, strlen(s), jint(item, "mode", -1))) < 0)
            return r;
    }
    return r;
}

static int fill_projected(const struct filler *f, yyjson_val *sources) {
    yyjson_val *s, *one;
    size_t i, n;
    int r = 0;

    yyjson_arr_foreach (sources, i, n, s) {
        if ((one = jat(s, "configMap")))
            r = fill_keys(f, one, false, jstr(one, "name"));
        else if ((one = jat(s, "secret")))
            r = fill_keys(f, one, true, jstr(one, "name"));
        else if ((one = jat(s, "downwardAPI")))
            r = fill_downward(f, one);
        if (r < 0)
            return r;
    }
    return r;
}

/* ---- volumes ---- */

static bool is_token(yyjson_val *volume) {
    return strncmp(jstr(volume, "name"), "kube-api-access-", 16) == 0 && jat(volume, "projected");
}

const char *volume_folder(struct pod *p, yyjson_val *volume, struct sl_arena *a) {
    if (is_token(volume))
        return NULL;
    if (jat(volume, "hostPath"))
        return jstr(volume, "hostPath.path");
    return sl_arena_printf(a, "%s/volumes/%s", p->real->folder, jstr(volume, "name"));
}

static int host_path(const char *name, yyjson_val *v, struct sl_err *err) {
    const char *path = jstr(v, "path"), *type = jstr(v, "type");
    struct stat st;
    int r = 0;

    if (strcmp(type, "DirectoryOrCreate") == 0)
        r = folder_make(path, 0755);
    else if (strcmp(type, "FileOrCreate") == 0 && stat(path, &st) < 0)
        r = file_write(path, "", 0, 0644);
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

    yyjson_obj_foreach (volume, i, n, k, v) {
        (void)v;
        if (strcmp(yyjson_get_str(k), "name") != 0)
            return yyjson_get_str(k);
    }
    return "emptyDir";
}

static int make(struct pod *p, yyjson_val *volume, struct sl_arena *a, struct sl_err *err) {
    const char *name = jstr(volume, "name"), *kind = kind_of(volume),
               *folder = volume_folder(p, volume, a);
    yyjson_val *v = yyjson_obj_get(volume, kind);
    struct filler f = {p, a, folder, name, (unsigned)jint(v, "defaultMode", 0644) & 0777, err};
    const bool empty = strcmp(kind, "emptyDir") == 0;

    if (!folder)
        return 0;
    if (strcmp(kind, "hostPath") == 0)
        return host_path(name, v, err);
    int r = folder_make(folder, empty ? 0777 : 0755);
    if (r < 0)
        return sl_err_set(err, SL_EIO, "volume \"%s\": %s", name, strerror(-r));
    if (empty)
        return 0;
    if (strcmp(kind, "configMap") == 0)
        return fill_keys(&f, v, false, jstr(v, "name"));
    if (strcmp(kind, "secret") == 0)
        return fill_keys(&f, v, true, jstr(v, "secretName"));
    if (strcmp(kind, "downwardAPI") == 0)
        return fill_downward(&f, v);
    if (strcmp(kind, "projected") == 0)
        return fill_projected(&f, jat(v, "sources"));
    return sl_err_set(err, SL_EINVAL,
                      "volume \"%s\": sluice up has no %s volumes; it has emptyDir, configMap, "
                      "secret, downwardAPI, "
                      "projected and hostPath",
                      name, kind);
}

int volumes_make(struct pod *p, struct sl_err *err) {
    yyjson_val *volumes = jat(yyjson_doc_get_root(p->real->doc), "spec.volumes"), *v;
    struct sl_arena a;
    size_t i, n;
    int r = 0;

    sl_arena_init(&a, MAX_BYTES);
    yyjson_arr_foreach (volumes, i, n, v) {
        if (r < 0)
            break;
        sl_arena_clear(&a);
        r = make(p, v, &a, err);
    }
    sl_arena_done(&a);
    return r;
}
