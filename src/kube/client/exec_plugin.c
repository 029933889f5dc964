/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs an exec plugin. A run owns its process, two pipes and a timer, and frees itself when the
 * loop has closed all of them; the caller only holds a pointer to abort it with.
 */
#include "kube/client/exec_plugin.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "core/base/buf.h"
#include "core/base/collection/vec.h"
#include "kube/client/secret.h"
#include "lib/doc/read.h"
#include "lib/json/writer.h"

#define MAX_WORDS ((size_t)4 << 10) /* kept of its standard error */
#define MAX_INFO ((size_t)4 << 20)

struct sl_exec_plugin_run {
    const struct sl_exec_plugin_spec *spec;
    sl_exec_plugin_fn done; /* NULL once it was called or must not be */
    void *ctx;
    uv_process_t process;
    uv_pipe_t out, words;
    uv_timer_t timer;
    unsigned open;      /* handles that the loop still has */
    bool exited, ended; /* the process, its output */
    bool timed_out, own_group;
    int64_t status;
    int signal;
    struct sl_buf output, error_output;
    char chunk[16 << 10];
};

void sl_exec_plugin_cred_done(struct sl_exec_plugin_cred *c) {
    sl_freep(&c->token);
    sl_freep(&c->cert);
    sl_freep(&c->key);
}

/* ---- its answer ---- */

/* Secrets are read without the getters that show what they found. */
static const char *secret(struct sl_doc_fields *f, const char *key) {
    const struct sl_doc_node *n = sl_doc_field(f, key);

    if (!n)
        return "";
    if (n->kind != SL_DOC_NODE_STR) {
        sl_read_fail(f->rd, n->line, "%s: expected a string", key);
        return "";
    }
    return n->text;
}

static const char *pem(struct sl_doc_fields *f, const char *key) {
    const char *s = secret(f, key), *problem = *s ? sl_pem_problem(s, strlen(s)) : NULL;

    if (problem)
        sl_read_fail(f->rd, f->line, "%s: %s", key, problem);
    return s;
}

/* Some plugins encode "never" as a year that int64 nanoseconds cannot count. */
static sl_time expiry(struct sl_doc_fields *f) {
    const struct sl_doc_node *n = sl_doc_field(f, "expirationTimestamp");

    if (!n || (n->kind == SL_DOC_NODE_STR && n->n >= 20 && strcmp(n->text, "2262") > 0 &&
               n->text[0] <= '9' && n->text[4] == '-'))
        return SL_TIME_NEVER;
    return sl_read_time(f->rd, n, "expirationTimestamp");
}

static void read_status(struct sl_doc_fields *f, struct sl_exec_plugin_cred *ret) {
    const char *token = secret(f, "token"), *problem;
    const char *cert = pem(f, "clientCertificateData"), *key = pem(f, "clientKeyData");

    problem = *token ? sl_token_problem(token, strlen(token)) : NULL;
    if (problem)
        sl_read_fail(f->rd, f->line, "token: %s", problem);
    if (!*cert != !*key)
        sl_read_fail(f->rd, f->line, "clientCertificateData and clientKeyData go together");
    if (!*token && !*cert)
        sl_read_fail(f->rd, f->line, "expected a token or a client certificate in the status");
    sl_time at = expiry(f);
    if (f->rd->code < 0)
        return;
    *ret = (struct sl_exec_plugin_cred){sl_strdup(token), sl_strdup(cert), sl_strdup(key), at};
}

int sl_exec_plugin_parse(const struct sl_exec_plugin_spec *e, const char *text, size_t len,
                         struct sl_exec_plugin_cred *ret, struct sl_err *err) {
    _cleanup_(sl_doc_freep) struct sl_doc *d = NULL;
    struct sl_doc_fields f, status;
    int r;

    r = sl_doc_json("its output", 1, text, len, &d, err);
    if (r < 0)
        return r;
    struct sl_read rd = {.file = d->file, .arena = &d->arena, .err = err};
    sl_doc_fields_open(&f, &rd, &d->roots[0], "an ExecCredential");
    const char *kind = sl_doc_field_str(&f, "kind", NULL);
    const char *version = sl_doc_field_str(&f, "apiVersion", NULL);
    if (f.map && strcmp(kind, "ExecCredential") != 0)
        sl_read_fail(&rd, f.line, "kind: expected ExecCredential, got \"%.60s\"", kind);
    if (f.map && strcmp(version, e->api_version) != 0)
        sl_read_fail(&rd, f.line, "apiVersion: expected %s as in the kubeconfig, got \"%.60s\"",
                     e->api_version, version);
    sl_doc_fields_open(&status, &rd, sl_doc_field_need(&f, "status"), "the status");
    if (rd.code == 0)
        read_status(&status, ret);
    return rd.code;
}

/* ---- its surroundings ---- */

/* KUBERNETES_EXEC_INFO: an ExecCredential with what is known before. */
static void put_info(struct sl_buf *b, const struct sl_kubeconfig *k, const char *ca, size_t ca_len,
                     bool interactive) {
    struct sl_jw *w = &SL_JW(b);

    sl_buf_puts(b, "KUBERNETES_EXEC_INFO=");
    sl_jw_object(w, NULL);
    sl_jw_str(w, "apiVersion", k->exec->api_version);
    sl_jw_str(w, "kind", "ExecCredential");
    sl_jw_object(w, "spec");
    sl_jw_bool(w, "interactive", interactive);
    if (k->exec->provide_cluster_info) {
        sl_jw_object(w, "cluster");
        sl_jw_str(w, "server", k->server);
        if (*k->tls_server_name)
            sl_jw_str(w, "tls-server-name", k->tls_server_name);
        if (k->insecure)
            sl_jw_bool(w, "insecure-skip-tls-verify", true);
        if (ca_len > 0)
            sl_jw_base64(w, "certificate-authority-data", ca, ca_len);
        if (*k->proxy_url)
            sl_jw_str(w, "proxy-url", k->proxy_url);
        if (*k->cluster_config)
            sl_jw_raw(w, "config", k->cluster_config);
    }
    sl_jw_end_to(w, 0);
}

typedef SL_VEC(char *) strings;

static void strings_done(strings *v) {
    for (uint32_t i = 0; i < v->n; i++)
        sl_freep(&v->v[i]);
    sl_vec_free(v);
}

static bool same_name(const char *a, const char *b) {
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* Our own environment, with the plugin's variables over it. */
static void environment(strings *out, const struct sl_exec_plugin_spec *e, const char *info) {
    *sl_vec_push(out) = sl_strdup(info);
    for (uint32_t i = 0; i < e->n_env; i++)
        *sl_vec_push(out) = sl_strdup(e->env[i]);
    uint32_t n = out->n;
    for (char **v = environ; *v; v++) {
        bool hidden = false;
        for (uint32_t i = 0; i < n && !hidden; i++)
            hidden = same_name(out->v[i], *v);
        if (!hidden)
            *sl_vec_push(out) = sl_strdup(*v);
    }
    *sl_vec_push(out) = NULL;
}

static void arguments(strings *out, const struct sl_exec_plugin_spec *e) {
    *sl_vec_push(out) = sl_strdup(e->command);
    for (uint32_t i = 0; i < e->n_args; i++)
        *sl_vec_push(out) = sl_strdup(e->args[i]);
    *sl_vec_push(out) = NULL;
}

/* ---- its life ---- */

static void on_closed(uv_handle_t *h) {
    struct sl_exec_plugin_run *r = h->data;

    if (--r->open > 0)
        return;
    sl_buf_done(&r->output);
    sl_buf_done(&r->error_output);
    sl_freep(&r);
}

static void close_one(uv_handle_t *h) {
    if (!uv_is_closing(h))
        uv_close(h, on_closed);
}

static void close_all(struct sl_exec_plugin_run *r) {
    close_one((uv_handle_t *)&r->out);
    close_one((uv_handle_t *)&r->words);
    close_one((uv_handle_t *)&r->timer);
    close_one((uv_handle_t *)&r->process);
}

static void kill_it(struct sl_exec_plugin_run *r) {
    if (r->exited)
        return;
    /* With its children, which may hold the pipe; a run on the terminal stays in our group. */
    if (r->own_group)
        (void)uv_kill(-r->process.pid, SIGKILL);
    else
        (void)uv_process_kill(&r->process, SIGKILL);
}

/* The last line of its standard error. */
static const char *last_error_line(struct sl_exec_plugin_run *r) {
    const char *s = sl_buf_str(&r->error_output);

    while (r->error_output.len > 0 && strchr(" \t\r\n", s[r->error_output.len - 1]))
        r->error_output.s[--r->error_output.len] = '\0';
    const char *line = strrchr(s, '\n');
    return line ? line + 1 : s;
}

static int read_result(struct sl_exec_plugin_run *r, struct sl_exec_plugin_cred *ret,
                       struct sl_err *err) {
    if (sl_buf_full(&r->output))
        return sl_err_set(err, SL_ELIMIT, "it printed more than %zu bytes",
                          SL_EXEC_PLUGIN_MAX_OUTPUT);
    if (r->timed_out)
        return sl_err_set(err, SL_EIO, "it did not end within %u s", SL_EXEC_PLUGIN_SECONDS);
    if (r->signal != 0)
        return sl_err_set(err, SL_EIO, "it was killed by signal %d", r->signal);
    if (r->status != 0)
        return sl_err_set(err, SL_EIO, "it ended with status %lld: %.120s", (long long)r->status,
                          last_error_line(r));
    return sl_exec_plugin_parse(r->spec, sl_buf_str(&r->output), r->output.len, ret, err);
}

static void conclude(struct sl_exec_plugin_run *r) {
    if (!r->exited || (!r->ended && r->done))
        return;
    if (r->done) {
        struct sl_exec_plugin_cred cred;
        struct sl_err err = {0};
        sl_exec_plugin_fn done = r->done;
        int code = read_result(r, &cred, &err);
        if (code < 0)
            (void)sl_err_wrap(&err, code, "exec plugin %.60s", r->spec->command);
        r->done = NULL;
        done(r->ctx, code < 0 ? NULL : &cred, &err);
    }
    close_all(r);
}

static void on_exit_seen(uv_process_t *p, int64_t status, int signal) {
    struct sl_exec_plugin_run *r = p->data;

    r->exited = true;
    r->status = status;
    r->signal = signal;
    conclude(r);
}

static void on_time(uv_timer_t *t) {
    struct sl_exec_plugin_run *r = t->data;

    kill_it(r);
    r->timed_out = true;
    r->ended = true; /* whatever process still holds the pipe: it is not read any more */
    conclude(r);
}

static void on_alloc(uv_handle_t *h, size_t want, uv_buf_t *buf) {
    struct sl_exec_plugin_run *r = h->data;

    (void)want;
    *buf = uv_buf_init(r->chunk, sizeof r->chunk);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf) {
    struct sl_exec_plugin_run *r = s->data;
    bool is_output = s == (uv_stream_t *)&r->out;

    if (n > 0)
        sl_buf_add(is_output ? &r->output : &r->error_output, buf->base, (size_t)n);
    if (n >= 0 && !sl_buf_full(&r->output))
        return;
    (void)uv_read_stop(s);
    if (is_output) {
        r->ended = true;
        if (sl_buf_full(&r->output))
            kill_it(r);
        conclude(r);
    }
}

static int spawn(struct sl_exec_plugin_run *r, uv_loop_t *loop, const struct sl_kubeconfig *k,
                 const char *ca, size_t ca_len, bool interactive) {
    _cleanup_(strings_done) strings env = {0}, args = {0};
    struct sl_buf info;

    sl_buf_init(&info, MAX_INFO);
    put_info(&info, k, ca, ca_len, interactive);
    environment(&env, k->exec, sl_buf_str(&info));
    sl_buf_done(&info);
    arguments(&args, k->exec);

    uv_stdio_container_t stdio[3] = {
        {.flags = interactive ? UV_INHERIT_FD : UV_IGNORE, .data.fd = STDIN_FILENO},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&r->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&r->words},
    };
    if (interactive) /* it interacts with the user */
        stdio[2] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO};
    r->own_group = !interactive;
    return uv_spawn(loop, &r->process,
                    &(uv_process_options_t){
                        .exit_cb = on_exit_seen,
                        .file = k->exec->command,
                        .args = args.v,
                        .env = env.v,
                        .flags = interactive ? 0 : UV_PROCESS_DETACHED,
                        .stdio = stdio,
                        .stdio_count = 3,
                    });
}

int sl_exec_plugin_start(struct uv_loop_s *loop, const struct sl_kubeconfig *k, const char *ca,
                         size_t ca_len, sl_exec_plugin_fn done, void *ctx,
                         struct sl_exec_plugin_run **ret, struct sl_err *err) {
    const struct sl_exec_plugin_spec *e = k->exec;
    bool interactive = e->interactive != SL_INTERACTIVE_NEVER && isatty(STDIN_FILENO);

    if (e->interactive == SL_INTERACTIVE_ALWAYS && !interactive)
        return sl_err_set(err, SL_EIO,
                          "exec plugin %.60s: it needs a terminal (interactiveMode: Always), and "
                          "standard input is none",
                          e->command);
    struct sl_exec_plugin_run *r = sl_alloc0(1, sizeof *r);
    *r = (struct sl_exec_plugin_run){.spec = e, .ctx = ctx, .open = 4};
    r->out.data = r->words.data = r->timer.data = r->process.data = r;
    sl_buf_init(&r->output, SL_EXEC_PLUGIN_MAX_OUTPUT);
    sl_buf_init(&r->error_output, MAX_WORDS);
    sl_buf_short(&r->error_output);
    (void)uv_pipe_init(loop, &r->out, 0);
    (void)uv_pipe_init(loop, &r->words, 0);
    (void)uv_timer_init(loop, &r->timer);
    int code = spawn(r, loop, k, ca, ca_len, interactive);
    if (code < 0) {
        r->exited = true;
        close_all(r);
        return sl_err_set(err, SL_EIO, "exec plugin %.60s: %s%s%.100s", e->command,
                          uv_strerror(code), *e->install_hint ? "; " : "", e->install_hint);
    }
    r->done = done;
    (void)uv_read_start((uv_stream_t *)&r->out, on_alloc, on_read);
    if (!interactive)
        (void)uv_read_start((uv_stream_t *)&r->words, on_alloc, on_read);
    (void)uv_timer_start(&r->timer, on_time, UINT64_C(1000) * SL_EXEC_PLUGIN_SECONDS, 0);
    *ret = r;
    return 0;
}

void sl_exec_plugin_abort(struct sl_exec_plugin_run *r) {
    r->done = NULL;
    kill_it(r);
    close_one((uv_handle_t *)&r->out);
    close_one((uv_handle_t *)&r->words);
    close_one((uv_handle_t *)&r->timer);
    if (r->exited) /* else when its end is seen: a process is reaped, not abandoned */
        close_all(r);
}
