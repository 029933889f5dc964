/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop, one thread. Requests and responses are handled as they arrive; before each wait for I/O
 * the components do what is due, and a timer is set for the next deadline.
 */
#include "cluster/up/up.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include "cluster/controllers/core/cluster.h"
#include "cluster/scheduler/scheduler.h"
#include "cluster/up/data_dir.h"
#include "cluster/up/frontend.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/log/log.h"
#include "lib/memory/memory.h"
#include "lib/nats/client.h"
#include "manager/admission/review.h"
#include "manager/config/settings_file.h"
#include "manager/controllers/core/manager.h"
#include "manager/controllers/core/parts.h"
#include "manager/fluxqueue/fluxqueue.h"
#include "manager/masterqueue/masterqueue.h"
#include "manager/minicluster/minicluster.h"
#include "manager/visibility/api.h"

#define KUBERNETES "v1.36.0"
#define OWN_NAMESPACE "kueue-system"
#define QUEUEING "system:serviceaccount:kueue-system:kueue-controller-manager"
#define STOP_GRACE_MS 5000u
#define RENEW_BEFORE (UP_DATA_DIR_CERT_LIFE / 3)

struct up {
    const struct sl_up_options *o;
    uv_loop_t loop;
    uv_prepare_t before; /* runs before each wait for I/O */
    uv_timer_t timer;    /* the next thing to do */
    uv_signal_t on_term, on_int;
    struct up_data_dir data_dir;
    struct up_frontend *frontend;
    struct sl_apiserver *api;
    struct sl_kube_client *client; /* the manager's; all have the same clocks */
    struct sl_settings_file file;
    struct sl_settings *settings;
    struct sl_metrics *metrics;
    struct sl_manager *manager;
    struct sl_nats_client *nats;
    struct sl_masterqueues *masterqueues;
    struct sl_miniclusters *miniclusters;
    struct sl_fluxqueue *fluxqueue;
    struct sl_ledger *ledger;
    struct sl_cluster *cluster;
    struct sl_kubelet *runtime;
    struct sl_api_kubelet logs;
    uint64_t started; /* uv_hrtime */
    sl_time files_at; /* mono: next check of files */
    sl_time trim_at;  /* mono: memory is given back */
    sl_time renew_at; /* wall: the certificate */
    uint64_t files;   /* the limit of open files that we were started with */
    char node[64], server[300], address[280];
    bool ready, ending;
};

/* ---- reports ---- */

static uint32_t count_of(const char *const *names) {
    uint32_t n = 0;

    while (names && names[n])
        n++;
    return n;
}

static void report_step(struct up *u, enum sl_up_step step) {
    struct sl_apiserver_stats stats = {0};

    if (!u->o->report)
        return;
    sl_apiserver_stats(u->api, &stats);
    u->o->report(u->o->ctx,
                 &(struct sl_up_report){.step = step,
                                        .dir = u->data_dir.dir,
                                        .kubeconfig = u->data_dir.kubeconfig,
                                        .server = u->server,
                                        .node = u->node,
                                        .objects = stats.objects,
                                        .sim_nodes = u->o->sim.count,
                                        .virtual_nodes = count_of(u->o->sim.virtual_nodes),
                                        .took = (sl_span)(uv_hrtime() - u->started)});
}

/* A name that a Node may have: that of the machine, as far as it goes. */
static void name_node(char out[64]) {
    char host[64] = "";
    size_t n = 0;

    (void)gethostname(host, sizeof host - 1);
    for (const char *p = host; *p && *p != '.'; p++)
        if (isalnum((unsigned char)*p) || (*p == '-' && n > 0))
            out[n++] = (char)tolower((unsigned char)*p);
    while (n > 0 && out[n - 1] == '-')
        n--;
    out[n] = '\0';
    if (n == 0)
        sl_fmt(out, 64, "localhost");
}

int sl_up_virtual_nodes_check(const char *const *names, struct sl_err *err) {
    char own[64];

    name_node(own);
    return sl_kubelet_virtual_nodes_check(names, own, err);
}

int sl_up_controllers_parse(const char *list, uint32_t *ret_off, struct sl_err *err) {
    return sl_cluster_controllers_parse(list, ret_off, err);
}

const char *sl_up_controller_name(uint32_t i) {
    return sl_cluster_controller_name(i);
}

static bool is_any(const char *host) {
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

static void name_server(struct up *u, const char *host, uint16_t port) {
    const char *to = is_any(host) ? "127.0.0.1" : host;
    bool six = strchr(to, ':');

    sl_fmt(u->address, sizeof u->address, "%s%s%s:%u", six ? "[" : "", to, six ? "]" : "", port);
    sl_fmt(u->server, sizeof u->server, "https://%s", u->address);
}

/* ---- callbacks of the front end ---- */

static int review(void *ctx, const char *path, const char *body, size_t len, struct sl_buf *out) {
    struct up *u = ctx;

    return sl_review(sl_manager_view(u->manager), path, body, len, out);
}

static bool reviews(void *ctx, const char *path) {
    const struct up *u = ctx;

    return sl_review_path(sl_manager_view(u->manager), path);
}

static const char *unready(void *ctx) {
    struct up *u = ctx;

    return !u->api || !sl_manager_ready(u->manager) ? "the queues are being read"
           : !sl_cluster_ready(u->cluster)          ? "the controllers are starting"
           : !sl_kubelet_ready(u->runtime)          ? "the nodes are not ready yet"
                                                    : NULL;
}

/* Metrics, and the visibility API: the manager has them. */
static bool other(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    static const char prefix[] = "/apis/" VISIBILITY_GROUP;
    struct up *u = ctx;
    struct sl_visibility_target t;

    if (strcmp(rq->path, "/metrics") == 0) {
        a->content_type = "text/plain; version=0.0.4; charset=utf-8";
        sl_manager_refresh_metrics(u->manager);
        sl_ledger_metrics(u->ledger, u->metrics);
        sl_metrics_print(u->metrics, &a->body);
        return true;
    }
    if (strcmp(rq->path, "/debug/state") == 0) {
        sl_manager_dump(u->manager, &a->body);
        return true;
    }
    if (strncmp(rq->path, prefix, strlen(prefix)) != 0)
        return false;
    sl_visibility_target(rq->path, &t);
    sl_visibility_answer(u->manager, &t, rq, a);
    return true;
}

/* ---- the turn ---- */

static void use_settings(struct up *u, const struct sl_settings *settings) {
    struct sl_manager_parts parts = sl_manager_parts_parse(NULL, settings);

    sl_manager_configure(u->manager, settings, &parts);
    sl_manager_webhooks_parse(NULL, settings, sl_manager_view(u->manager)->webhook);
    sl_fluxqueue_configure(u->fluxqueue, settings);
    sl_miniclusters_configure(u->miniclusters, settings);
}

static const char *host_of(const struct up *u) {
    return u->o->listen ? u->o->listen : "127.0.0.1";
}

static void renew_certificate(struct up *u) {
    struct sl_cert cert = {0};
    struct sl_err err;

    if (u->client->wall < u->renew_at)
        return;
    u->renew_at = sl_time_add(u->client->wall, 24 * SL_HOUR); /* if it does not work */
    if (up_data_dir_certificate(&u->data_dir, host_of(u), u->client->wall, &cert, &err) < 0 ||
        up_frontend_certificate(u->frontend, &cert, &err) < 0)
        sl_log(SL_LOG_ERROR, "certificate renewal failed", SL_S("error", err.text));
    else
        u->renew_at = sl_time_add(u->client->wall, UP_DATA_DIR_CERT_LIFE - RENEW_BEFORE);
    sl_cert_done(&cert);
}

static void check_files(struct up *u) {
    struct sl_settings *fresh;

    if (u->client->mono < u->files_at)
        return;
    u->files_at = u->client->mono + SL_FILES_EVERY;
    renew_certificate(u);
    if (u->client->mono >= u->trim_at) {
        u->trim_at = u->client->mono + SL_MEMORY_EVERY;
        sl_memory_trim();
    }
    fresh = sl_settings_file_reload(&u->file);
    if (!fresh)
        return;
    use_settings(u, fresh);
    sl_settings_free(u->settings);
    u->settings = fresh;
}

static void on_timer(uv_timer_t *t) {
    (void)t; /* it only makes the loop turn */
}

static void loop_turn(uv_prepare_t *h) {
    struct up *u = h->data;

    sl_apiserver_clock(u->api);
    check_files(u);
    sl_masterqueues_tick(u->masterqueues);
    sl_miniclusters_tick(u->miniclusters);
    sl_fluxqueue_tick(u->fluxqueue);
    sl_manager_tick(u->manager);
    sl_cluster_tick(u->cluster);
    sl_kubelet_tick(u->runtime);
    if (!u->ready && !unready(u)) {
        u->ready = true;
        report_step(u, SL_UP_READY);
    }
    sl_time next =
        sl_time_min(sl_time_min(sl_manager_next(u->manager), sl_cluster_next(u->cluster)),
                    sl_time_min(sl_kubelet_next(u->runtime), u->files_at));
    next = sl_time_min(next, sl_masterqueues_next(u->masterqueues));
    next = sl_time_min(next, sl_miniclusters_next(u->miniclusters));
    next = sl_time_min(next, sl_fluxqueue_next(u->fluxqueue));
    sl_time wait = next > u->client->mono ? next - u->client->mono : 0;
    (void)uv_timer_start(&u->timer, on_timer, (uint64_t)((wait + SL_MSEC - 1) / SL_MSEC), 0);
}

static void on_signal(uv_signal_t *h, int number) {
    struct up *u = h->data;

    sl_log(SL_LOG_INFO, "shutting down", SL_S("signal", number == SIGINT ? "SIGINT" : "SIGTERM"));
    u->ending = true;
    uv_stop(&u->loop);
}

/* ---- life ---- */

static sl_time wall_clock(void) {
    uv_timeval64_t t = {0};

    (void)uv_gettimeofday(&t);
    return t.tv_sec * SL_SEC + t.tv_usec * SL_USEC;
}

/* For the metrics: decisions never see it. */
static sl_time stopwatch(void) {
    return (sl_time)uv_hrtime();
}

static int open_frontend(struct up *u, struct sl_err *err) {
    struct sl_cert cert = {0};
    sl_time now = wall_clock();
    int r = up_data_dir_certificate(&u->data_dir, host_of(u), now, &cert, err);

    if (r < 0)
        return r;
    u->renew_at = sl_time_add(now, UP_DATA_DIR_CERT_LIFE - RENEW_BEFORE);
    const struct up_frontend_spec spec = {
        .loop = &u->loop,
        .host = host_of(u),
        .port = u->o->port,
        .cert = &cert,
        .token = u->data_dir.token,
        .ctx = u,
        .unready = unready,
        .other = other,
    };
    r = up_frontend_open(&spec, &u->frontend, err);
    sl_cert_done(&cert);
    if (r < 0)
        return sl_err_wrap(err, r, "API server (--port=0 chooses a free port)");
    name_server(u, host_of(u), up_frontend_port(u->frontend));
    return r;
}

/* Without a file, all kinds of jobs: those that are defined later, too. */
static int load_settings(struct up *u, struct sl_err *err) {
    u->file = (struct sl_settings_file){
        .path = u->o->config, .own_ns = OWN_NAMESPACE, .gates = u->o->gates, .metrics = u->metrics};
    int r = sl_settings_file_load(&u->file, &u->settings, err);
    for (uint32_t f = 0; r >= 0 && !u->o->config && f < SL_FW_COUNT; f++)
        u->settings->framework[f] = true;
    return r;
}

static bool queues_namespace(void *ctx, const char *ns) {
    const struct up *u = ctx;
    const struct sl_review_view *view = sl_manager_view(u->manager);

    return view->flux && view->ns_flux(view->ctx, ns);
}

static int start_api(struct up *u, struct sl_err *err) {
    const struct sl_apiserver_spec spec = {
        .loop = &u->loop,
        .file = u->data_dir.objects,
        .version = KUBERNETES,
        .address = u->address,
        .token_key = u->data_dir.token_key,
        .service_accounts = true,
        .ca = u->data_dir.ca.cert_pem,
        .review = review,
        .reviews = reviews,
        .ctx = u,
        .review_unlabelled = u->settings->manage_without_queue,
        .queues_namespace = queues_namespace,
    };

    return sl_apiserver_new(&spec, &u->api, err);
}

static bool flavor_used(void *ctx, const char *flavor) {
    const struct up *u = ctx;

    return sl_manager_flavor_used(u->manager, flavor);
}

static int start_masterqueues(struct up *u, struct sl_err *err) {
    int r = sl_nats_client_new(&u->loop, &u->nats, err);

    if (r < 0)
        return r;
    u->masterqueues = sl_masterqueues_new(&(struct sl_masterqueues_spec){
        .client =
            sl_apiserver_client(u->api, QUEUEING, "kueue/v0.19.0 sluice-masterqueue/" SL_VERSION),
        .nats = sl_nats_client_port(u->nats),
        .metrics = u->metrics,
        .own_ns = OWN_NAMESPACE,
        .instance = u->node,
        .seed = uv_hrtime(),
        .flavor_used = flavor_used,
        .ctx = u});
    return SL_OK;
}

static void start_miniclusters(struct up *u) {
    u->miniclusters = sl_miniclusters_new(&(struct sl_miniclusters_spec){
        .client =
            sl_apiserver_client(u->api, QUEUEING, "kueue/v0.19.0 sluice-minicluster/" SL_VERSION),
        .settings = u->settings,
        .instance = u->node,
        .seed = uv_hrtime()});
}

static sl_span retention_of(const struct sl_settings *s) {
    return s->flux.retention == SL_TIME_NEVER ? 0 : s->flux.retention;
}

/* The ledger is a file beside the others unless somebody names another. */
static int start_fluxqueue(struct up *u, struct sl_err *err) {
    const char *named = u->o->ledger ? u->o->ledger : u->settings->flux.ledger;
    char file[PATH_MAX], spool[PATH_MAX];

    sl_fmt(file, sizeof file, "%s/ledger.db", u->data_dir.dir);
    sl_fmt(spool, sizeof spool, "%s/ledger.spool", u->data_dir.dir);
    int r = sl_ledger_open(&(struct sl_ledger_spec){.url = *named ? named : file,
                                                    .spool = spool,
                                                    .retention = retention_of(u->settings)},
                           &u->ledger, err);
    if (r < 0)
        return sl_err_wrap(err, r, "ledger");
    u->fluxqueue = sl_fluxqueue_new(&(struct sl_fluxqueue_spec){
        .client =
            sl_apiserver_client(u->api, QUEUEING, "kueue/v0.19.0 sluice-fluxqueue/" SL_VERSION),
        .settings = u->settings,
        .ledger = u->ledger,
        .instance = u->node,
        .ns = "kube-system", /* which is there from the beginning */
        .seed = uv_hrtime()});
    return SL_OK;
}

static int renew_lease(void *ctx, const char *node, struct sl_err *err) {
    struct up *u = ctx;

    return sl_apiserver_renew_lease(u->api, node, err);
}

static int start_parts(struct up *u, struct sl_err *err) {
    char name[80];

    u->client = sl_apiserver_client(u->api, QUEUEING, "kueue/v0.19.0 sluice/" SL_VERSION);
    sl_apiserver_clock(u->api);
    u->manager =
        sl_manager_new(&(struct sl_manager_spec){.client = u->client,
                                                 .settings = u->settings,
                                                 .parts = sl_manager_parts_parse(NULL, u->settings),
                                                 .metrics = u->metrics,
                                                 .stopwatch = stopwatch,
                                                 .instance = u->node,
                                                 .seed = uv_hrtime()});
    sl_manager_webhooks_parse(NULL, u->settings, sl_manager_view(u->manager)->webhook);
    start_miniclusters(u);
    int r = start_masterqueues(u, err);
    if (r >= 0)
        r = start_fluxqueue(u, err);
    if (r < 0)
        return r;
    sl_manager_nodes(u->manager, u->fluxqueue);
    u->cluster = sl_cluster_new(&(struct sl_cluster_spec){
        .scheduler = &sl_scheduler,
        .client = sl_apiserver_client(u->api, "system:kube-controller-manager",
                                      "kube-controller-manager sluice/" SL_VERSION),
        .seed = uv_hrtime(),
        .ca = u->data_dir.ca.cert_pem,
        .off = u->o->off});
    sl_fmt(name, sizeof name, "system:node:%s", u->node);
    r = sl_kubelet_new(&(struct sl_kubelet_spec){.loop = &u->loop,
                                                 .client = sl_apiserver_client(
                                                     u->api, name, "kubelet sluice/" SL_VERSION),
                                                 .dir = u->data_dir.pods,
                                                 .node = u->node,
                                                 .api = u->address,
                                                 .ctx = u,
                                                 .renew_lease = renew_lease,
                                                 .files = u->files,
                                                 .sim = u->o->sim},
                       &u->runtime, err);
    if (r < 0)
        return r;
    u->logs = (struct sl_api_kubelet){.ctx = u->runtime,
                                      .has_node = sl_kubelet_has_node,
                                      .log_open = sl_kubelet_log_open,
                                      .log_read = sl_kubelet_log_read,
                                      .log_close = sl_kubelet_log_close,
                                      .session_open = sl_kubelet_session_open,
                                      .session_input = sl_kubelet_session_input,
                                      .session_input_end = sl_kubelet_session_input_end,
                                      .session_size = sl_kubelet_session_size,
                                      .session_hold = sl_kubelet_session_hold,
                                      .session_close = sl_kubelet_session_close};
    sl_apiserver_runtime(u->api, &u->logs);
    return SL_OK;
}

static int start_cluster(struct up *u, struct sl_err *err) {
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) /* before the front end raises it */
        u->files = files.rlim_cur;
    int r = up_data_dir_open(u->o->dir, wall_clock(), &u->data_dir, err);

    if (r >= 0)
        r = load_settings(u, err);
    if (r >= 0)
        r = open_frontend(u, err);
    if (r >= 0)
        r = start_api(u, err); /* locks the store: the data directory has one process */
    if (r >= 0)
        r = up_data_dir_write_kubeconfig(&u->data_dir, u->server, err);
    if (r >= 0)
        report_step(u, SL_UP_BEGIN);
    if (r >= 0)
        r = start_parts(u, err);
    if (r < 0)
        return r;
    up_frontend_serve(u->frontend, u->api);
    u->before.data = u->on_term.data = u->on_int.data = u;
    (void)uv_prepare_init(&u->loop, &u->before);
    (void)uv_prepare_start(&u->before, loop_turn);
    (void)uv_timer_init(&u->loop, &u->timer);
    (void)uv_signal_init(&u->loop, &u->on_term);
    (void)uv_signal_start(&u->on_term, on_signal, SIGTERM);
    (void)uv_signal_init(&u->loop, &u->on_int);
    (void)uv_signal_start(&u->on_int, on_signal, SIGINT);
    return SL_OK;
}

static void close_handle(uv_handle_t *h, void *arg) {
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

static void finish_cluster(struct up *u) {
    if (u->ending)
        report_step(u, SL_UP_ENDING);
    if (u->before.data)
        (void)uv_prepare_stop(&u->before); /* what it turns is about to go */
    up_frontend_close(u->frontend);
    if (u->runtime)
        sl_kubelet_stop(u->runtime, STOP_GRACE_MS);
    sl_masterqueues_free(u->masterqueues);
    sl_miniclusters_free(u->miniclusters);
    if (u->manager)
        sl_manager_nodes(u->manager, NULL);
    sl_fluxqueue_free(u->fluxqueue);
    sl_ledger_close(u->ledger);
    sl_nats_client_free(u->nats);
    if (u->manager)
        sl_manager_free(u->manager);
    if (u->cluster)
        sl_cluster_free(u->cluster);
    if (u->runtime)
        sl_kubelet_free(u->runtime);
    sl_apiserver_free(u->api);
    (void)uv_run(&u->loop, UV_RUN_NOWAIT);
    uv_walk(&u->loop, close_handle, NULL);
    (void)uv_run(&u->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&u->loop);
    sl_settings_free(u->settings);
    sl_metrics_free(u->metrics);
    up_data_dir_done(&u->data_dir);
}

int sl_up(const struct sl_up_options *o, struct sl_err *err) {
    struct up *u = sl_alloc0(1, sizeof *u);

    u->o = o;
    u->started = uv_hrtime();
    (void)signal(SIGPIPE, SIG_IGN);
    if (uv_loop_init(&u->loop) < 0) {
        sl_freep(&u);
        return sl_err_set(err, SL_EIO, "cannot create the event loop");
    }
    name_node(u->node);
    u->metrics = sl_metrics_new();
    sl_metrics_build_info(u->metrics);
    int r = start_cluster(u, err);
    if (r >= 0)
        (void)uv_run(&u->loop, UV_RUN_DEFAULT);
    finish_cluster(u);
    sl_freep(&u);
    return r;
}
