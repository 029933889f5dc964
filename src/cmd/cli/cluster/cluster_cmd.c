/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that read a cluster: one loop, one client, and what can go wrong until all is read. */
#include "cmd/cli/cluster/cluster_cmd.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/fmt.h"
#include "lib/log/log.h"
#include "manager/admission/fluxqueue.h"

#define PATIENCE_MS 1000u /* before progress is shown */
#define DRAW_MS 100u
#define MAX_NOTE 1024u

const struct cli_example cli_cluster_exits[SL_CLUSTER_EXITS] = {
    {"0", "success"},
    {"2", "invalid command line"},
    {"3", "no kubeconfig, or an invalid one"},
    {"4", "no answer from the API server in time, no rights, or what is named is not there"},
};

int cli_cluster_misuse(const struct cli_args *a, const struct sl_err *err) {
    fprintf(a->term->err, "%s: %s\ntry '%s %s --help'\n", a->program->name, err->text,
            sl_cli_call(a->program), a->verb->name);
    return SL_EXIT_USAGE;
}

void cli_cluster_note(const struct cli_args *a, const char *fmt, ...) {
    char text[MAX_NOTE];
    va_list ap;

    va_start(ap, fmt);
    sl_vfmt_short(text, sizeof text, fmt, ap);
    va_end(ap);
    cli_text_clean(text);
    fprintf(a->term->err, "%s: %s\n", a->program->name, text);
}

const char *cli_flux_kind(int64_t type) {
    static const char *const names[SL_FLUX_TYPES] = {
        [SL_FLUX_POD] = "Pod",
        [SL_FLUX_JOB] = "Job",
        [SL_FLUX_DEPLOYMENT] = "Deployment",
        [SL_FLUX_REPLICASET] = "ReplicaSet",
        [SL_FLUX_STATEFULSET] = "StatefulSet",
        [SL_FLUX_POD_GROUP] = "PodGroup",
    };
    return type >= 0 && type < SL_FLUX_TYPES ? names[type] : "";
}

/* ---- ends ---- */

static void end(struct cli_cluster *c, int result) {
    c->result = result;
    uv_stop(&c->loop);
}

/* What cannot get better by waiting. The client has asked for a newer credential already. */
static bool is_final(const struct sl_inf_reading *r) {
    if (!r->failed)
        return false;
    return r->status == 401 || r->status == 403 || (r->status == 0 && r->synced == 0);
}

static int failure(struct cli_cluster *c, const struct sl_inf_reading *r) {
    int code = SL_EIO;

    if (r->status == 401)
        (void)sl_err_set(c->err, code, "%s does not accept these credentials: %s", c->server,
                         r->error);
    else if (r->status == 403)
        (void)sl_err_set(c->err, code, "no right to list %s: %s", r->failed->plural, r->error);
    else
        (void)sl_err_set(c->err, code, "%s: %s", c->server, r->error);
    cli_text_clean(c->err->text);
    return code;
}

static void on_deadline(uv_timer_t *h) {
    struct cli_cluster *c = h->data;
    struct sl_inf_reading r = {.error = ""};
    const char *span = c->args->opts[SL_CLUSTER_OPT_TIMEOUT];

    if (c->reading)
        c->reading(c, &r);
    (void)sl_err_set(c->err, SL_EIO,
                     "%s: not read within %s (--timeout), %u of %u lists are in%s%s", c->server,
                     span ? span : "30s", r.synced, r.kinds, *r.error ? "; " : "", r.error);
    cli_text_clean(c->err->text);
    end(c, SL_EIO);
}

static void on_signal(uv_signal_t *h, int number) {
    struct cli_cluster *c = h->data;

    (void)number;
    end(c, c->arrived ? 0 : sl_err_set(c->err, SL_EIO, "interrupted"));
}

/* ---- the turn ---- */

static void on_timer(uv_timer_t *h) {
    (void)h; /* it only makes the loop turn */
}

static void on_draw(uv_timer_t *h) {
    struct cli_cluster *c = h->data;
    struct sl_inf_reading r = {.error = ""};
    char note[64];

    c->reading(c, &r);
    sl_fmt_short(note, sizeof note, "%llu objects", (unsigned long long)r.objects);
    cli_progress_at(&c->progress, r.synced, r.kinds, note);
}

static void on_turn(uv_prepare_t *h) {
    struct cli_cluster *c = h->data;
    struct sl_inf_reading r = {.error = ""};
    sl_time next = SL_TIME_NEVER;

    sl_curl_client_clock(c->client);
    if (c->turn(c, &next)) {
        end(c, 0);
        return;
    }
    if (!c->arrived)
        c->reading(c, &r);
    if (is_final(&r)) {
        end(c, failure(c, &r));
        return;
    }
    if (next == SL_TIME_NEVER)
        return;
    sl_time wait = next > c->kube->mono ? next - c->kube->mono : 0;
    (void)uv_timer_start(&c->timer, on_timer, (uint64_t)((wait + SL_MSEC - 1) / SL_MSEC), 0);
}

/* ---- life ---- */

static void start_handles(struct cli_cluster *c) {
    c->before.data = c->deadline.data = c->drawing.data = c->on_int.data = c->on_term.data = c;
    (void)uv_prepare_init(&c->loop, &c->before);
    (void)uv_timer_init(&c->loop, &c->timer);
    (void)uv_timer_init(&c->loop, &c->deadline);
    (void)uv_timer_init(&c->loop, &c->drawing);
    (void)uv_signal_init(&c->loop, &c->on_int);
    (void)uv_signal_start(&c->on_int, on_signal, SIGINT);
    (void)uv_signal_init(&c->loop, &c->on_term);
    (void)uv_signal_start(&c->on_term, on_signal, SIGTERM);
}

int cli_cluster_open(struct cli_cluster *c, const struct cli_args *a, struct sl_err *err) {
    struct sl_kubeconfig *k = NULL;
    int r = sl_kubeconfig_load(a->opts[SL_CLUSTER_OPT_KUBECONFIG], a->opts[SL_CLUSTER_OPT_CONTEXT],
                               &k, err);

    if (r < 0)
        return r;
    sl_log_set(SL_LOG_ERROR); /* what the lists complain about is in our own messages */
    c->args = a;
    sl_fmt_short(c->server, sizeof c->server, "%s", sl_kubeconfig_server(k));
    if (uv_loop_init(&c->loop) < 0) {
        sl_kubeconfig_free(k);
        return sl_err_set(err, SL_EIO, "cannot create the event loop");
    }
    start_handles(c);
    r = sl_curl_client_new(&c->loop, k, "sluice/" SL_VERSION, &c->client, err);
    if (r < 0) {
        cli_cluster_close(c);
        return r;
    }
    c->kube = sl_curl_client_interface(c->client);
    sl_curl_client_clock(c->client);
    return 0;
}

int cli_cluster_run(struct cli_cluster *c, struct sl_err *err) {
    const char *text = c->args->opts[SL_CLUSTER_OPT_TIMEOUT];
    sl_span timeout = SL_CLUSTER_TIMEOUT;

    if (text && sl_span_parse(text, strlen(text), &timeout, err) < 0)
        return SL_EINVAL; /* cannot be: the command line was checked */
    c->err = err;
    c->result = 0;
    (void)uv_prepare_start(&c->before, on_turn);
    (void)uv_timer_start(&c->timer, on_timer, 0, 0);
    (void)uv_timer_start(&c->deadline, on_deadline, (uint64_t)((timeout + SL_MSEC - 1) / SL_MSEC),
                         0);
    cli_progress_start(&c->progress, c->args->term, "reading", false);
    if (c->progress.on)
        (void)uv_timer_start(&c->drawing, on_draw, PATIENCE_MS, DRAW_MS);
    (void)uv_run(&c->loop, UV_RUN_DEFAULT);
    cli_cluster_arrived(c);
    (void)uv_prepare_stop(&c->before);
    return c->result;
}

void cli_cluster_arrived(struct cli_cluster *c) {
    c->arrived = true;
    (void)uv_timer_stop(&c->deadline);
    (void)uv_timer_stop(&c->drawing);
    cli_progress_end(&c->progress);
}

static void close_handle(uv_handle_t *h, void *arg) {
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

void cli_cluster_close(struct cli_cluster *c) {
    if (c->client)
        sl_curl_client_free(c->client);
    (void)uv_run(&c->loop, UV_RUN_NOWAIT);
    uv_walk(&c->loop, close_handle, NULL);
    (void)uv_run(&c->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&c->loop);
}
