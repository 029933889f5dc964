/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kubelet/pod/logs.h"

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
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "core/base/stamp.h"
#include "lib/log/log.h"

/* Positions count from the first byte ever written, headers of lines included. */
struct klet_logfile {
    uint32_t refs;
    char *path;     /* of the newer file; the older is path.1 */
    int fd;         /* -1: not being written */
    uint64_t cut;   /* up to here it is gone */
    uint64_t begin; /* of the newer file */
    uint64_t end;
    bool open;   /* more may come */
    bool broken; /* a write failed, and that was logged */
    struct {
        char *s;
        size_t n;
    } part[2]; /* a line that has no end yet */
};

static char *file_name(const char *folder, const char *container, uint32_t run) {
    char path[PATH_MAX];

    sl_fmt(path, sizeof path, "%s/%s.%u.log", folder, container, run);
    return sl_strdup(path);
}

/* How much was cut is in a file of its own, for readers after the pod has ended. */
static void cut_name(const struct klet_logfile *l, char out[PATH_MAX]) {
    sl_fmt(out, PATH_MAX, "%s.cut", l->path);
}

static void older_name(const struct klet_logfile *l, char out[PATH_MAX]) {
    sl_fmt(out, PATH_MAX, "%s.1", l->path);
}

/* ---- writing ---- */

static void broken(struct klet_logfile *l, const char *what) {
    if (!l->broken)
        sl_log(SL_LOG_WARN, "container log write failed", SL_S("file", l->path),
               SL_S("operation", what), SL_S("error", strerror(errno)));
    l->broken = true;
}

struct klet_logfile *klet_log_begin(const char *folder, const char *container, uint32_t run) {
    struct klet_logfile *l = sl_alloc0(1, sizeof *l);

    l->refs = 1;
    l->open = true;
    (void)klet_folder_make(folder, 0755);
    l->path = file_name(folder, container, run);
    l->fd = open(l->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0640);
    if (l->fd < 0)
        broken(l, "open");
    if (run >= 2) { /* this run and the one before are kept */
        char *old = file_name(folder, container, run - 2), older[PATH_MAX];
        (void)unlink(old);
        for (const char *const *end = (const char *const[]){".1", ".cut", NULL}; *end; end++) {
            sl_fmt(older, sizeof older, "%s%s", old, *end);
            (void)unlink(older);
        }
        sl_freep(&old);
    }
    return l;
}

/* The newer file becomes the older one, and what was the older is cut. Only between lines. */
static void turn_over(struct klet_logfile *l) {
    char older[PATH_MAX];

    older_name(l, older);
    (void)close(l->fd);
    if (rename(l->path, older) < 0)
        broken(l, "rotate");
    l->fd = open(l->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0640);
    if (l->fd < 0)
        broken(l, "open");
    l->cut = l->begin;
    l->begin = l->end;
    if (l->cut > 0) {
        char text[32];
        int n = snprintf(text, sizeof text, "%llu", (unsigned long long)l->cut);
        cut_name(l, older);
        (void)klet_file_write(older, text, (size_t)n, 0640);
    }
}

static uint64_t read_cut(const struct klet_logfile *l) {
    char path[PATH_MAX], text[32] = "";

    cut_name(l, path);
    FILE *f = fopen(path, "re");
    if (f) {
        (void)!fgets(text, sizeof text, f);
        (void)fclose(f);
    }
    const unsigned long long n = strtoull(text, NULL, 10);
    return n < UINT64_MAX / 2 ? n : 0;
}

static void write_out(struct klet_logfile *l, struct sl_buf *b) {
    size_t at = 0;

    while (l->fd >= 0 && at < b->len) {
        ssize_t n = write(l->fd, b->s + at, b->len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) { /* a full disk: the line is lost, the container goes on */
            broken(l, "write");
            if (at > 0 && ftruncate(l->fd, (off_t)(l->end - l->begin)) < 0)
                broken(l, "truncate");
            sl_buf_clear(b);
            return;
        }
        at += (size_t)n;
    }
    l->end += at;
    sl_buf_clear(b);
    if (l->fd >= 0 && l->end - l->begin >= LOG_FILE)
        turn_over(l);
}

/* "2026-01-31T12:00:00.123456789Z stdout F ": the same for all lines of one piece of output. */
#define HEAD 40
static void make_head(char out[HEAD + 1], bool is_err, sl_time wall) {
    char stamp[SL_STAMP_TEXT];

    sl_fmt(out, HEAD + 1, "%.19s.%09uZ %s F ", sl_stamp(wall, stamp), (unsigned)(wall % SL_SEC),
           is_err ? "stderr" : "stdout");
}

static void put_line(struct sl_buf *b, char head[HEAD + 1], char tag, const char *part,
                     size_t part_len, const char *s, size_t n) {
    head[HEAD - 2] = tag;
    sl_buf_add(b, head, HEAD);
    if (part_len > 0)
        sl_buf_add(b, part, part_len);
    if (n > 0)
        sl_buf_add(b, s, n);
    sl_buf_putc(b, '\n');
}

void klet_log_output(struct klet_logfile *l, bool is_err, const char *bytes, size_t len,
                     sl_time wall) {
    char **part = &l->part[is_err].s, head[HEAD + 1];
    size_t *have = &l->part[is_err].n;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(LOG_TEXT);

    make_head(head, is_err, wall);
    while (len > 0) {
        const size_t space = LOG_LINE - *have, length = space < len ? space : len;
        const char *nl = memchr(bytes, '\n', length);
        size_t n = nl ? (size_t)(nl - bytes) : length;
        if (!nl && n < space) { /* no end yet */
            if (!*part)
                *part = sl_alloc(LOG_LINE);
            memcpy(*part + *have, bytes, n);
            *have += n;
            break;
        }
        put_line(&b, head, nl ? 'F' : 'P', *part, *have, bytes, n);
        *have = 0;
        n += nl != NULL;
        bytes += n;
        len -= n;
    }
    write_out(l, &b);
}

void klet_log_end(struct klet_logfile *l, sl_time wall) {
    struct sl_buf b;

    sl_buf_init(&b, 4 * LOG_LINE);
    for (int i = 0; i < 2; i++) {
        char head[HEAD + 1];
        make_head(head, i == 1, wall);
        if (l->part[i].n > 0)
            put_line(&b, head, 'P', l->part[i].s, l->part[i].n, NULL, 0);
        l->part[i].n = 0;
        sl_freep(&l->part[i].s);
    }
    write_out(l, &b);
    sl_buf_done(&b);
    if (l->fd >= 0)
        (void)close(l->fd);
    l->fd = -1;
    l->open = false;
}

struct klet_logfile *klet_log_ref(struct klet_logfile *l) {
    l->refs++;
    return l;
}

void klet_log_unref(struct klet_logfile *l) {
    if (!l || --l->refs > 0)
        return;
    if (l->fd >= 0)
        (void)close(l->fd);
    sl_freep(&l->part[0].s);
    sl_freep(&l->part[1].s);
    sl_freep(&l->path);
    sl_freep(&l);
}

/* ---- reading ---- */

static uint64_t size_of(const char *path, bool *ret_is) {
    struct stat st;

    *ret_is = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    return *ret_is ? (uint64_t)st.st_size : 0;
}

struct klet_logfile *klet_log_find(const char *folder, const char *container, uint32_t back) {
    uint32_t newest = 0;
    bool any = false, is;
    DIR *d = opendir(folder);
    const size_t n = strlen(container);

    if (!d)
        return NULL;
    for (const struct dirent *e; (e = readdir(d));) {
        char *end;
        if (strncmp(e->d_name, container, n) != 0 || e->d_name[n] != '.')
            continue;
        unsigned long run = strtoul(e->d_name + n + 1, &end, 10);
        if (end == e->d_name + n + 1 || strcmp(end, ".log") != 0 || run > UINT32_MAX)
            continue;
        newest = !any || run > newest ? (uint32_t)run : newest;
        any = true;
    }
    (void)closedir(d);
    if (!any || newest < back)
        return NULL;
    struct klet_logfile *l = sl_alloc0(1, sizeof *l);
    char older[PATH_MAX];
    l->refs = 1;
    l->fd = -1;
    l->path = file_name(folder, container, newest - back);
    older_name(l, older);
    l->cut = read_cut(l);
    l->begin = l->cut + size_of(older, &is);
    l->end = l->begin + size_of(l->path, &is);
    if (!is) {
        klet_log_unref(l);
        return NULL;
    }
    return l;
}

/* Some bytes from 'at' on, of one of the two files. */
static size_t read_at(const struct klet_logfile *l, uint64_t at, struct sl_buf *out, size_t max) {
    char older[PATH_MAX];
    const bool is_old = at < l->begin;
    uint64_t rest = (is_old ? l->begin : l->end) - at;
    size_t want = rest < max ? (size_t)rest : max;
    char *bytes;
    int fd;

    older_name(l, older);
    fd = open(is_old ? older : l->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    bytes = sl_alloc(want + 1);
    ssize_t n = pread(fd, bytes, want, (off_t)(at - (is_old ? l->cut : l->begin)));
    (void)close(fd);
    if (n > 0)
        sl_buf_add(out, bytes, (size_t)n);
    sl_freep(&bytes);
    return n > 0 ? (size_t)n : 0;
}

void klet_log_tail(struct klet_logfile *l, size_t max, struct sl_buf *out) {
    _cleanup_(sl_buf_done) struct sl_buf raw = SL_BUF(2 * LOG_TAIL);
    uint64_t from = l->end - l->cut > LOG_TAIL ? l->end - LOG_TAIL : l->cut;

    while (from < l->end) {
        size_t n = read_at(l, from, &raw, LOG_TAIL);
        if (n == 0)
            break;
        from += n;
    }
    /* Lines without their heads; the first may be half a one. */
    char *p = raw.len >= LOG_TAIL ? strchr(raw.s, '\n') : raw.s;
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(2 * LOG_TAIL);
    for (p = p && raw.len >= LOG_TAIL ? p + 1 : p; p && *p;) {
        char *nl = strchr(p, '\n'), *s = p;
        for (int i = 0; s && i < 3; i++) {
            s = strchr(s, ' ');
            s = s ? s + 1 : NULL;
        }
        if (s && nl && s <= nl)
            sl_buf_add(&text, s, (size_t)(nl - s) + (s[-2] == 'F'));
        p = nl ? nl + 1 : NULL;
    }
    size_t skip = text.len > max ? text.len - max : 0;
    sl_buf_puts(out, sl_buf_str(&text) + skip);
}

/* ---- for the API server ---- */

struct reader {
    struct klet_logfile *log;
    char note[120]; /* reported first, if the beginning is cut */
    size_t note_len;
    uint64_t base; /* the position that follows it */
    uint64_t skip; /* cut while it was read */
};

int sl_kubelet_log_open(void *ctx, const char *ns, const char *pod, const char *uid,
                        const char *container, bool previous, void **ret, struct sl_err *err) {
    struct sl_kubelet *r = ctx;
    struct klet_pod *p = klet_pod_find(r, ns, pod);
    struct klet_container *c;
    struct klet_logfile *l = NULL;
    char folder[PATH_MAX];

    if (p && strcmp(p->uid, uid) != 0)
        p = NULL;
    c = p ? klet_pod_container(p, container) : NULL;
    if (p && !p->local)
        return sl_err_set(err, SL_ENOENT, "pod %s runs on the simulated node %s: there is no log",
                          pod, p->node);
    if (strchr(uid, '/') || strchr(container, '/') || !*uid || uid[0] == '.')
        return sl_err_set(err, SL_EINVAL, "a pod's uid and a container's name have no slashes");
    sl_fmt(folder, sizeof folder, "%s/logs/%s", r->dir, uid);
    if (c && c->log && !previous)
        l = klet_log_ref(c->log);
    else /* of one that waits to be started again, the last run is the previous one */
        l = klet_log_find(folder, container, previous && !(c && c->state == C_WAITING));
    if (!l && previous)
        return sl_err_set(err, SL_ENOENT,
                          "previous terminated container \"%.80s\" in pod \"%.80s\" not found",
                          container, pod);
    if (!l && !p && sl_map_get(&r->finished, sl_hash_str(0, uid)) != SL_MAP_NONE)
        return sl_err_set(err, SL_ENOENT,
                          "pod \"%.80s\" has ended without a log of container \"%.80s\"; on "
                          "simulated nodes there are none",
                          pod, container);
    if (!l)
        return sl_err_set(err, SL_ENOENT,
                          "container \"%.80s\" in pod \"%.80s\" is waiting to start: %s", container,
                          pod, c && c->waiting ? c->waiting : "ContainerCreating");
    struct reader *rd = sl_alloc0(1, sizeof *rd);
    rd->log = l;
    rd->base = l->cut;
    if (l->cut > 0) {
        char stamp[SL_STAMP_TEXT];
        rd->note_len =
            (size_t)snprintf(rd->note, sizeof rd->note,
                             "%s stderr F [sluice: the first %llu bytes of this log were cut]\n",
                             sl_stamp(r->client->wall, stamp), (unsigned long long)l->cut);
    }
    *ret = rd;
    return 0;
}

size_t sl_kubelet_log_read(void *ctx, void *log, uint64_t offset, struct sl_buf *out,
                           bool *ret_end) {
    struct reader *rd = log;
    struct klet_logfile *l = rd->log;

    (void)ctx;
    *ret_end = false;
    if (offset < rd->note_len) {
        sl_buf_add(out, rd->note + offset, rd->note_len - (size_t)offset);
        return rd->note_len - (size_t)offset;
    }
    uint64_t at = rd->base + rd->skip + (offset - rd->note_len);
    if (at < l->cut) { /* it was cut faster than it was read */
        rd->skip += l->cut - at;
        at = l->cut;
    }
    if (at >= l->end) {
        *ret_end = !l->open;
        return 0;
    }
    size_t n = read_at(l, at, out, LOG_READ);
    *ret_end = !l->open && (n == 0 || at + n >= l->end);
    return n;
}

void sl_kubelet_log_close(void *ctx, void *log) {
    struct reader *rd = log;

    (void)ctx;
    klet_log_unref(rd->log);
    sl_freep(&rd);
}
