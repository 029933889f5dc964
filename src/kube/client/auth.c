/* SPDX-License-Identifier: Apache-2.0 */
/* Credential rotation; see the header. */
#include "kube/client/auth.h"

#include <string.h>
#include <sys/stat.h>

#include <uv.h>

#include "core/base/mem.h"
#include "kube/client/exec_plugin.h"
#include "kube/client/secret.h"
#include "lib/log/log.h"

#define LOOK_EVERY SL_SEC
#define READ_EVERY SL_MINUTE
#define RENEW_AHEAD (30 * SL_SEC)
#define RUN_PAUSE SL_SEC
#define RUN_PAUSE_MAX SL_MINUTE

/* A file with a secret in it, or bytes that never change (path NULL). */
struct kept {
    const char *what, *path;
    bool token;
    const char *data;
    size_t len;
    char *own;        /* what was read; 'data' is it, or stands in the kubeconfig */
    struct stat seen; /* as it was when read */
    sl_time checked_at, read_at;
    bool bad; /* it was logged that it cannot be used */
};

enum { CA, CERT, KEY, TOKEN, N_KEPT };

struct sl_auth {
    uv_loop_t *loop;
    const struct sl_kubeconfig *k;
    sl_time (*wake)(void *ctx);
    void *ctx;
    struct kept kept[N_KEPT];
    struct sl_auth_cred cred;
    sl_time refused_at;

    struct sl_exec_plugin_run *run;
    struct sl_exec_plugin_cred made; /* the last output of the plugin */
    bool have, rejected;             /* 'made' is filled; the server refused it */
    sl_time ran_at;                  /* its last end */
    sl_span pause;                   /* from then on until it may run again */
    struct sl_err failure;           /* of the last run; code 0: it went well */

    sl_span check_every, run_pause;
};

/* ---- files ---- */

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int read_kept(const struct kept *f, char **ret, size_t *ret_len, struct sl_err *err) {
    _cleanup_(sl_freep) char *data = NULL;
    size_t len;
    int r = sl_file_read(f->path, SL_PEM_MAX_BYTES, &data, &len, err);

    if (r < 0)
        return sl_err_wrap(err, r, "%s", f->what);
    while (f->token && len > 0 && strchr(" \t\r\n", data[len - 1]))
        data[--len] = '\0';
    const char *problem = f->token ? sl_token_problem(data, len) : sl_pem_problem(data, len);
    if (problem)
        return sl_err_set(err, SL_EINVAL, "%s: %s: %s", f->what, f->path, problem);
    *ret = TAKE_PTR(data);
    *ret_len = len;
    return 0;
}

/* Reads the file if it is time to. Returns whether there are other bytes now. */
static bool refresh(struct kept *f, sl_time mono, bool now, sl_span check_every) {
    _cleanup_(sl_freep) char *data = NULL;
    struct sl_err err;
    struct stat st;
    size_t len;

    if (!f->path || (!now && mono - f->checked_at < check_every))
        return false;
    f->checked_at = mono;
    /* stat before read: a change in between shows at the next check. */
    bool there = stat(f->path, &st) == 0;
    if (there && !now && same_file(&st, &f->seen) && mono - f->read_at < READ_EVERY)
        return false;
    if (!there || read_kept(f, &data, &len, &err) < 0) {
        if (!f->bad)
            sl_log(SL_LOG_WARN, "credential file unusable, previous credentials in use",
                   SL_S("file", f->path));
        f->bad = true;
        return false;
    }
    f->bad = false;
    f->seen = st;
    f->read_at = mono;
    if (len == f->len && memcmp(data, f->data, len) == 0)
        return false;
    sl_freep(&f->own);
    f->data = f->own = TAKE_PTR(data);
    f->len = len;
    return true;
}

static struct sl_auth_bytes bytes(const struct kept *f) {
    return (struct sl_auth_bytes){f->data, f->len};
}

/* Puts the credential together again; a new number makes every handle take it over. */
static void renew(struct sl_auth *a) {
    a->cred = (struct sl_auth_cred){
        .gen = a->cred.gen + 1,
        .token = a->kept[TOKEN].data ? a->kept[TOKEN].data : a->k->token,
        .ca = bytes(&a->kept[CA]),
        .cert = bytes(&a->kept[CERT]),
        .key = bytes(&a->kept[KEY]),
    };
    if (!a->have)
        return;
    a->cred.token = a->made.token;
    if (*a->made.cert) {
        a->cred.cert = (struct sl_auth_bytes){a->made.cert, strlen(a->made.cert)};
        a->cred.key = (struct sl_auth_bytes){a->made.key, strlen(a->made.key)};
    }
}

static void check_files(struct sl_auth *a, sl_time mono, bool now) {
    bool changed = false;

    for (size_t i = 0; i < N_KEPT; i++)
        changed |= refresh(&a->kept[i], mono, now, a->check_every);
    if (!changed)
        return;
    /* A certificate and its key are replaced one after the other: take the newest of both. */
    (void)refresh(&a->kept[CERT], mono, true, 0);
    (void)refresh(&a->kept[KEY], mono, true, 0);
    sl_log(SL_LOG_DEBUG, "credential files reloaded", SL_S("server", a->k->server));
    renew(a);
}

static int first_read(struct kept *f, sl_time mono, struct sl_err *err) {
    if (!f->path)
        return 0;
    f->checked_at = f->read_at = mono;
    (void)stat(f->path, &f->seen); /* if it fails, so does the read, which has the error */
    int r = read_kept(f, &f->own, &f->len, err);
    f->data = f->own;
    return r;
}

/* ---- plugin ---- */

static void failed(struct sl_auth *a, const struct sl_err *err) {
    a->failure = *err;
    a->pause = 2 * a->pause < RUN_PAUSE_MAX ? 2 * a->pause : RUN_PAUSE_MAX;
}

static bool may_run(const struct sl_auth *a, sl_time mono) {
    return mono - a->ran_at >= a->pause;
}

static void on_ran(void *ctx, struct sl_exec_plugin_cred *cred, const struct sl_err *err) {
    struct sl_auth *a = ctx;

    a->run = NULL;
    if (cred) {
        sl_exec_plugin_cred_done(&a->made);
        a->made = *cred;
        a->have = true;
        a->rejected = false;
        a->failure.code = 0;
        a->pause = a->run_pause;
        renew(a);
    } else {
        failed(a, err);
    }
    a->ran_at = a->wake(a->ctx);
}

static void run_plugin(struct sl_auth *a, sl_time mono) {
    struct sl_err err;

    sl_log(SL_LOG_DEBUG, "running exec credential plugin", SL_S("command", a->k->exec->command));
    a->ran_at = mono;
    if (sl_exec_plugin_start(a->loop, a->k, a->cred.ca.p, a->cred.ca.n, on_ran, a, &a->run, &err) <
        0)
        failed(a, &err);
}

enum sl_auth_state sl_auth_get(struct sl_auth *a, sl_time wall, sl_time mono,
                               const char **ret_why) {
    check_files(a, mono, false);
    if (!a->k->exec)
        return SL_AUTH_READY;
    bool stale = !a->have || a->rejected || wall >= a->made.expiry;
    bool soon = stale || a->made.expiry - RENEW_AHEAD <= wall;
    if (soon && !a->run && may_run(a, mono))
        run_plugin(a, mono);
    if (!stale)
        return SL_AUTH_READY;
    if (a->run)
        return SL_AUTH_WAIT;
    if (a->failure.code == 0) /* just made, and stale already: it would be made in a circle */
        return SL_AUTH_READY;
    *ret_why = a->failure.text;
    return SL_AUTH_FAILED;
}

bool sl_auth_refused(struct sl_auth *a, uint32_t gen, sl_time mono) {
    if (gen != a->cred.gen)
        return true;
    /* A file may have changed since the last check; but many refusals are not as many readings. */
    check_files(a, mono, mono - a->refused_at >= a->check_every);
    a->refused_at = mono;
    if (gen != a->cred.gen)
        return true;
    if (!a->k->exec || (!a->run && !may_run(a, mono)))
        return false;
    a->rejected = true;
    return true;
}

/* ---- life ---- */

const struct sl_auth_cred *sl_auth_cred(const struct sl_auth *a) {
    return &a->cred;
}

void sl_auth_tune(struct sl_auth *a, sl_span check_every, sl_span run_pause) {
    a->check_every = check_every;
    a->pause = a->run_pause = run_pause;
}

int sl_auth_new(struct uv_loop_s *loop, const struct sl_kubeconfig *k, sl_time mono,
                sl_time (*wake)(void *ctx), void *ctx, struct sl_auth **ret, struct sl_err *err) {
    struct sl_auth *a = sl_alloc0(1, sizeof *a);
    const struct sl_kubeconfig_source *sources[] = {
        [CA] = &k->ca, [CERT] = &k->cert, [KEY] = &k->key};
    static const char *const names[] = {"certificate-authority", "client-certificate",
                                        "client-key"};
    int r = 0;

    *a = (struct sl_auth){.loop = loop, .k = k, .wake = wake, .ctx = ctx};
    sl_auth_tune(a, LOOK_EVERY, RUN_PAUSE);
    a->refused_at = mono - LOOK_EVERY;
    a->ran_at = INT64_MIN / 2; /* long ago */
    for (size_t i = 0; i < TOKEN; i++)
        a->kept[i] = (struct kept){.what = names[i],
                                   .path = sources[i]->path,
                                   .data = sources[i]->data,
                                   .len = sources[i]->len};
    a->kept[TOKEN] = (struct kept){
        .what = "tokenFile", .token = true, .path = *k->token_file ? k->token_file : NULL};
    for (size_t i = 0; i < N_KEPT && r >= 0; i++)
        r = first_read(&a->kept[i], mono, err);
    if (r < 0) {
        sl_auth_free(a);
        return r;
    }
    renew(a);
    *ret = a;
    return 0;
}

void sl_auth_free(struct sl_auth *a) {
    if (!a)
        return;
    if (a->run)
        sl_exec_plugin_abort(a->run);
    for (size_t i = 0; i < N_KEPT; i++)
        sl_freep(&a->kept[i].own);
    sl_exec_plugin_cred_done(&a->made);
    sl_freep(&a);
}
