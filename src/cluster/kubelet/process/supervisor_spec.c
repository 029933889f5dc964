/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The serialized spec of a supervisor: a header (magic, version, total length), then the fields in
 * one fixed order. Numbers in native byte order; a string is its length, its bytes and a zero; a
 * length of NONE means absent; a list is the number of its items and these.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cluster/kubelet/process/supervisor.h"

#define NONE UINT32_MAX
#define LEAST_TEXT (sizeof(uint32_t) + 1)                   /* bytes of an empty one */
#define LEAST_MOUNT (2 * LEAST_TEXT + 3 * sizeof(uint32_t)) /* of one without a 'sub' */

void klet_launch_done(struct klet_launch *l) {
    if (l->cgroup_fd >= 0)
        (void)close(l->cgroup_fd);
    l->cgroup_fd = -1;
    sl_vec_free(&l->mounts);
    sl_arena_done(&l->arena);
}

/* ---- writing ---- */

static void put_u32(struct sl_buf *b, uint32_t n) {
    sl_buf_add(b, (const char *)&n, sizeof n);
}

static void put_u64(struct sl_buf *b, uint64_t n) {
    sl_buf_add(b, (const char *)&n, sizeof n);
}

static void put_text(struct sl_buf *b, const char *s) {
    const size_t n = s ? strlen(s) : 0;

    if (n >= SPEC_MAX_BYTES) { /* which its length field may not cover */
        sl_buf_fail(b);
        return;
    }
    put_u32(b, s ? (uint32_t)n : NONE);
    if (s)
        sl_buf_add(b, s, n + 1);
}

static void put_list(struct sl_buf *b, const char *const *list) {
    size_t n = 0;

    while (list[n])
        n++;
    put_u32(b, n < NONE ? (uint32_t)n : NONE);
    for (size_t i = 0; i < n && !sl_buf_full(b); i++)
        put_text(b, list[i]);
}

static void put_launch(struct sl_buf *b, const struct klet_launch *l) {
    put_list(b, l->argv);
    put_list(b, l->envp);
    put_list(b, l->tries);
    put_text(b, l->cwd);
    put_text(b, l->root);
    put_text(b, l->writable);
    put_u32(b, l->mounts.n);
    for (uint32_t i = 0; i < l->mounts.n; i++) {
        const struct klet_mount_point *m = &l->mounts.v[i];
        put_text(b, m->from);
        put_text(b, m->to);
        put_text(b, m->sub);
        put_u32(b, m->read_only);
        put_u32(b, m->file);
    }
    put_u64(b, (uint64_t)l->uid);
    put_u64(b, (uint64_t)l->gid);
    put_u32(b, l->n_groups);
    for (uint32_t i = 0; i < l->n_groups; i++)
        put_u32(b, l->groups[i]);
    put_u64(b, l->drop);
    put_u32(b, l->no_new_privs);
}

int klet_spec_encode(const struct klet_supervisor_spec *s, const struct klet_launch *l,
                     struct sl_buf *out, struct sl_err *err) {
    const size_t at = 2 * sizeof(uint32_t);

    put_u32(out, SPEC_MAGIC);
    put_u32(out, SPEC_VERSION);
    put_u64(out, 0);
    put_u32(out, s->run);
    put_u32(out, s->tty);
    put_u32(out, (uint32_t)s->mounts);
    put_u32(out, s->uid);
    put_u32(out, s->gid);
    put_u32(out, (uint32_t)s->parent);
    put_u64(out, s->files.rlim_cur);
    put_u64(out, s->files.rlim_max);
    if (s->run)
        put_launch(out, l);
    const uint64_t all = out->len;
    if (sl_buf_full(out) || all > SPEC_MAX_BYTES)
        return sl_err_set(err, SL_ELIMIT,
                          "the command, its variables and its mounts take more than %zu MiB",
                          SPEC_MAX_BYTES >> 20);
    memcpy(out->s + at, &all, sizeof all);
    return 0;
}

/* ---- reading ---- */

struct reader {
    const char *at;
    size_t left;
    const char *bad; /* what was wrong first; NULL: nothing yet. Afterwards all reads give zero */
    struct sl_arena *arena;
};

static void refuse_spec(struct reader *r, const char *why) {
    if (!r->bad)
        r->bad = why;
}

static bool take_bytes(struct reader *r, void *to, size_t n) {
    memset(to, 0, n);
    if (!r->bad && r->left < n)
        refuse_spec(r, "it is cut");
    if (r->bad)
        return false;
    memcpy(to, r->at, n);
    r->at += n;
    r->left -= n;
    return true;
}

static uint32_t get_u32(struct reader *r) {
    uint32_t n;

    (void)take_bytes(r, &n, sizeof n);
    return n;
}

static uint64_t get_u64(struct reader *r) {
    uint64_t n;

    (void)take_bytes(r, &n, sizeof n);
    return n;
}

static bool get_bool(struct reader *r) {
    const uint32_t n = get_u32(r);

    if (n > 1)
        refuse_spec(r, "a flag is neither 0 nor 1");
    return n == 1;
}

/* NULL: there is none, or it is bad. */
static const char *get_text(struct reader *r, bool needed) {
    const uint32_t n = get_u32(r);
    const char *s = r->at;

    if (!r->bad && n == NONE) {
        if (needed)
            refuse_spec(r, "a text is missing");
        return NULL;
    }
    if (!r->bad && n >= r->left)
        refuse_spec(r, "it is cut");
    if (!r->bad && (memchr(s, '\0', n) || s[n] != '\0'))
        refuse_spec(r, "a text has a zero byte inside, or none behind it");
    if (r->bad)
        return NULL;
    r->at += n + 1;
    r->left -= n + 1;
    return s;
}

/* How many items follow, of so many bytes at least: no more than can be there. */
static uint32_t get_count(struct reader *r, size_t least) {
    const uint32_t n = get_u32(r);

    if (!r->bad && n > r->left / least)
        refuse_spec(r, "a list is longer than what follows");
    return r->bad ? 0 : n;
}

static const char **get_list(struct reader *r) {
    const uint32_t n = get_count(r, LEAST_TEXT);
    const char **list = sl_arena_alloc0(r->arena, (size_t)n + 1, sizeof *list);

    for (uint32_t i = 0; i < n && !r->bad; i++)
        list[i] = get_text(r, true);
    return list;
}

static int64_t get_id(struct reader *r) {
    const int64_t n = (int64_t)get_u64(r);

    if (n < -1 || n >= (int64_t)UINT32_MAX)
        refuse_spec(r, "a user or group cannot be");
    return n;
}

static void get_mount(struct reader *r, struct klet_launch *l) {
    struct klet_mount_point m = {.from = get_text(r, true)};

    m.to = get_text(r, true);
    m.sub = get_text(r, false);
    m.read_only = get_bool(r);
    m.file = get_bool(r);
    if (!r->bad && m.to[0] != '/')
        refuse_spec(r, "a mount point is no absolute path");
    if (!r->bad)
        *sl_vec_push(&l->mounts) = m;
}

static void get_launch(struct reader *r, struct klet_launch *l) {
    l->argv = get_list(r);
    l->envp = get_list(r);
    l->tries = get_list(r);
    l->cwd = get_text(r, false);
    l->root = get_text(r, false);
    l->writable = get_text(r, false);
    for (uint32_t n = get_count(r, LEAST_MOUNT); n > 0 && !r->bad; n--)
        get_mount(r, l);
    l->uid = get_id(r);
    l->gid = get_id(r);
    l->n_groups = get_count(r, sizeof(uint32_t));
    if (l->n_groups > LAUNCH_GROUPS) {
        refuse_spec(r, "there are too many groups");
        l->n_groups = 0;
    }
    for (uint32_t i = 0; i < l->n_groups; i++)
        l->groups[i] = get_u32(r);
    l->drop = get_u64(r);
    l->no_new_privs = get_bool(r);
    if (!r->bad && !l->argv[0])
        refuse_spec(r, "there is no command");
    if (!r->bad && l->mounts.n > 0 && !l->root)
        refuse_spec(r, "mounts without a directory for a root");
}

static void get_spec(struct reader *r, struct klet_supervisor_spec *s) {
    const uint32_t magic = get_u32(r), version = get_u32(r);
    const uint64_t all = get_u64(r);

    if (!r->bad && magic != SPEC_MAGIC)
        refuse_spec(r, "it does not begin like one");
    if (!r->bad && version != SPEC_VERSION)
        refuse_spec(r, "it is of another version");
    if (!r->bad && all != r->left + 2 * sizeof(uint32_t) + sizeof all)
        refuse_spec(r, "its length does not match");
    s->run = get_bool(r);
    s->tty = get_bool(r);
    const uint32_t how = get_u32(r);
    if (how > MOUNTS_USER)
        refuse_spec(r, "there is no such way to mount");
    s->mounts = r->bad ? MOUNTS_NO : (enum klet_own_mounts)how;
    s->uid = get_u32(r);
    s->gid = get_u32(r);
    const uint32_t parent = get_u32(r);
    if (!r->bad && (parent == 0 || parent > INT_MAX))
        refuse_spec(r, "there is no such parent");
    s->parent = r->bad ? 0 : (pid_t)parent;
    s->files.rlim_cur = get_u64(r);
    s->files.rlim_max = get_u64(r);
}

int klet_spec_decode(const char *bytes, size_t len, struct klet_supervisor_spec *ret,
                     struct klet_launch *ret_l, struct sl_err *err) {
    struct reader r = {.at = bytes, .left = len, .arena = &ret_l->arena};

    *ret = (struct klet_supervisor_spec){.run = false};
    *ret_l = (struct klet_launch){.uid = -1, .gid = -1, .cgroup_fd = -1};
    sl_arena_init(&ret_l->arena, SPEC_MAX_ARENA);
    if (len > SPEC_MAX_BYTES)
        refuse_spec(&r, "it is too long");
    get_spec(&r, ret);
    if (!r.bad && ret->run)
        get_launch(&r, ret_l);
    if (!r.bad && r.left > 0)
        refuse_spec(&r, "there is more behind its end");
    if (!r.bad && sl_arena_full(&ret_l->arena))
        refuse_spec(&r, "it is too long");
    return r.bad ? sl_err_set(err, SL_EINVAL, "this is no spec of a supervisor: %s", r.bad) : 0;
}
