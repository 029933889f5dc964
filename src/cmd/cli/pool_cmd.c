/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice pool`: the options, and the connection. */
#include "cmd/cli/pool_cmd.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "lib/doc/doc.h"

#define DEFAULT_SUBJECT "interlink.resources"
#define MAX_FILE ((size_t)1 << 20)

static const char *const actions[] = {"publish", "list", NULL};
static const char *const outputs[] = {"table", "json", NULL};

enum { FOR_PUBLISH = 1, FOR_LIST = 2, FOR_BOTH = 3 };

static const uint8_t users[SL_POOL_OPT_END] = {
    [SL_POOL_OPT_CONNECTOR] = FOR_BOTH,   [SL_POOL_OPT_SUBJECT] = FOR_BOTH,
    [SL_POOL_OPT_CA] = FOR_BOTH,          [SL_POOL_OPT_CREDS] = FOR_BOTH,
    [SL_POOL_OPT_WAIT] = FOR_BOTH,        [SL_POOL_OPT_POOL] = FOR_PUBLISH,
    [SL_POOL_OPT_CPU] = FOR_PUBLISH,      [SL_POOL_OPT_MEMORY] = FOR_PUBLISH,
    [SL_POOL_OPT_PODS] = FOR_PUBLISH,     [SL_POOL_OPT_GPU] = FOR_PUBLISH,
    [SL_POOL_OPT_RESOURCE] = FOR_PUBLISH, [SL_POOL_OPT_LABEL] = FOR_PUBLISH,
    [SL_POOL_OPT_TAINT] = FOR_PUBLISH,    [SL_POOL_OPT_EVERY] = FOR_PUBLISH,
    [SL_POOL_OPT_COUNT] = FOR_PUBLISH,    [SL_POOL_OPT_OUTPUT] = FOR_LIST,
};

static const struct cli_opt opts[SL_POOL_OPT_END] = {
    [SL_POOL_OPT_CONNECTOR] = {"connector", SL_OPT_TEXT, "URL",
                               "NATS server or servers, e.g. nats://user:password@host:4222 or "
                               "tls://token@a,b ($NATS_URL, where a password is not visible to "
                               "others)",
                               NULL, 0},
    [SL_POOL_OPT_SUBJECT] = {"subject", SL_OPT_TEXT, "SUBJECT",
                             "subject; the name of a pool follows it (interlink.resources)", NULL,
                             0},
    [SL_POOL_OPT_CA] = {"ca", SL_OPT_FILE, "FILE",
                        "certificates of authorities to trust, PEM; demands TLS", NULL, 0},
    [SL_POOL_OPT_CREDS] = {"creds", SL_OPT_FILE, "FILE",
                           "NATS credentials file, with a user JWT and an nkey seed", NULL, 0},
    [SL_POOL_OPT_WAIT] = {"wait", SL_OPT_SPAN, "DUR",
                          "list: how long to listen (35s); publish with --count: how long to wait "
                          "for the server (10s)",
                          NULL, 0},
    [SL_POOL_OPT_POOL] = {"pool", SL_OPT_TEXT, "NAME", "publish: name of the pool", NULL, 0},
    [SL_POOL_OPT_CPU] = {"cpu", SL_OPT_TEXT, "QTY", "publish: its CPU", NULL, 0},
    [SL_POOL_OPT_MEMORY] = {"memory", SL_OPT_TEXT, "QTY", "publish: its memory", NULL, 0},
    [SL_POOL_OPT_PODS] = {"pods", SL_OPT_TEXT, "N", "publish: how many pods it runs", NULL, 0},
    [SL_POOL_OPT_GPU] = {"gpu", SL_OPT_TEXT, "N", "publish: its nvidia.com/gpu", NULL, 0},
    [SL_POOL_OPT_RESOURCE] = {"resource", SL_OPT_TEXT, "NAME=QTY,...", "publish: further resources",
                              NULL, 0},
    [SL_POOL_OPT_LABEL] = {"label", SL_OPT_TEXT, "K=V,...", "publish: labels of its ResourceFlavor",
                           NULL, 0},
    [SL_POOL_OPT_TAINT] = {"taint", SL_OPT_TEXT, "K=V:EFFECT,...",
                           "publish: taints that work for it has to tolerate", NULL, 0},
    [SL_POOL_OPT_EVERY] = {"every", SL_OPT_SPAN, "DUR", "publish: how often (30s)", NULL, 0},
    [SL_POOL_OPT_COUNT] = {"count", SL_OPT_TEXT, "N", "publish: so many times (until Ctrl-C)", NULL,
                           0},
    [SL_POOL_OPT_OUTPUT] = {"output", SL_OPT_CHOICE, "FORMAT", "list: table or json (table)",
                            outputs, 'o'},
};

int cli_pool_misuse(const struct cli_args *a, const struct sl_err *err) {
    fprintf(a->term->err, "%s: %s\ntry '%s pool --help'\n", a->program->name, err->text,
            a->program->name);
    return SL_EXIT_USAGE;
}

const char *cli_pool_subject(const struct cli_args *a) {
    return a->opts[SL_POOL_OPT_SUBJECT] ? a->opts[SL_POOL_OPT_SUBJECT] : DEFAULT_SUBJECT;
}

sl_span cli_pool_span(const struct cli_args *a, enum cli_pool_opt opt, sl_span fallback) {
    const char *text = a->opts[opt];
    sl_span d = fallback;

    if (text && sl_span_parse(text, strlen(text), &d, NULL) < 0)
        return fallback; /* cannot be: the command line was checked */
    return d;
}

/* ---- events ---- */

static void report(struct cli_pool *p, const struct sl_nats_event *e) {
    FILE *err = p->args->term->err;

    if (p->args->term->err_tty)
        fputs("\r\033[K", err); /* a bar that shows progress is drawn again */
    switch (e->kind) {
    case SL_NATS_UP:
        p->was_up = true;
        p->why[0] = '\0';
        fprintf(err, "connected to %s\n", e->text);
        break;
    case SL_NATS_DOWN:
        sl_fmt_short(p->why, sizeof p->why, "%s", e->text);
        fprintf(err, "not connected: %s\n", e->text);
        break;
    case SL_NATS_ERROR:
        p->n_errors++;
        fprintf(err, "refused by the server: %s\n", e->text);
        break;
    case SL_NATS_MESSAGE:
        break;
    }
}

static void on_turn(uv_prepare_t *h) {
    struct cli_pool *p = h->data;
    struct sl_nats_event e;

    while (p->port->ops->next(p->port, &e)) {
        if (e.kind != SL_NATS_MESSAGE)
            report(p, &e);
        else if (p->message)
            p->message(p, &e);
    }
    if (p->turn)
        p->turn(p);
}

static void on_signal(uv_signal_t *h, int number) {
    struct cli_pool *p = h->data;

    (void)number;
    p->stop(p);
}

/* ---- the connection ---- */

static void wipe(char **text) {
    if (*text)
        explicit_bzero(*text, strlen(*text));
    sl_freep(text);
}

static int open_with(struct cli_pool *p, struct sl_nats_connector *c, struct sl_err *err) {
    const char *ca = p->args->opts[SL_POOL_OPT_CA], *creds = p->args->opts[SL_POOL_OPT_CREDS];
    _cleanup_(wipe) char *ca_text = NULL, *creds_text = NULL;
    size_t len;
    int r = 0;

    if (ca)
        r = sl_file_read(ca, MAX_FILE, &ca_text, &len, err);
    if (r >= 0 && creds)
        r = sl_file_read(creds, MAX_FILE, &creds_text, &len, err);
    struct sl_nats_credentials with = {.ca = ca_text, .creds = creds_text};
    return r < 0 ? r : p->port->ops->open(p->port, c, &with, &p->conn, err);
}

/* The connector of the command line, or of the environment. */
static int read_connector(const struct cli_args *a, struct sl_arena *arena,
                          struct sl_nats_connector *ret, struct sl_err *err) {
    const char *given = a->opts[SL_POOL_OPT_CONNECTOR], *url = given ? given : getenv("NATS_URL");

    if (!url || (!given && !*url))
        return sl_err_set(err, SL_EINVAL,
                          "expected --connector=URL, or NATS_URL in the environment");
    int r = sl_nats_connector_parse(url, strlen(url), arena, ret, err);
    return r < 0 ? sl_err_wrap(err, r, "%s", given ? "--connector" : "NATS_URL") : r;
}

static int connect_to(struct cli_pool *p, struct sl_err *err) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA((size_t)64 << 10);
    struct sl_nats_connector c = {0};
    int r = read_connector(p->args, &arena, &c, err);

    if (r >= 0)
        r = open_with(p, &c, err);
    sl_nats_connector_wipe(&c);
    return r;
}

static void start_handles(struct cli_pool *p) {
    p->before.data = p->timer.data = p->deadline.data = p->on_int.data = p->on_term.data = p;
    (void)uv_prepare_init(&p->loop, &p->before);
    (void)uv_prepare_start(&p->before, on_turn);
    (void)uv_timer_init(&p->loop, &p->timer);
    (void)uv_timer_init(&p->loop, &p->deadline);
    (void)uv_signal_init(&p->loop, &p->on_int);
    (void)uv_signal_start(&p->on_int, on_signal, SIGINT);
    (void)uv_signal_init(&p->loop, &p->on_term);
    (void)uv_signal_start(&p->on_term, on_signal, SIGTERM);
}

int cli_pool_open(struct cli_pool *p, const struct cli_args *a, struct sl_err *err) {
    p->args = a;
    if (uv_loop_init(&p->loop) < 0)
        return sl_err_set(err, SL_EIO, "cannot create the event loop");
    int r = sl_nats_client_new(&p->loop, &p->client, err);
    if (r >= 0) {
        start_handles(p);
        p->port = sl_nats_client_port(p->client);
        r = connect_to(p, err);
    }
    if (r < 0)
        cli_pool_close(p);
    return r;
}

void cli_pool_run(struct cli_pool *p) {
    (void)uv_run(&p->loop, UV_RUN_DEFAULT);
}

static void close_handle(uv_handle_t *h, void *arg) {
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

void cli_pool_close(struct cli_pool *p) {
    sl_nats_client_freep(&p->client);
    uv_walk(&p->loop, close_handle, NULL);
    (void)uv_run(&p->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&p->loop);
}

int cli_pool_failure(const struct cli_pool *p, struct sl_err *err) {
    if (p->n_errors > 0)
        return sl_err_set(err, SL_EIO, "the server refused it");
    if (p->why[0])
        return sl_err_set(err, SL_EIO, "not connected: %s", p->why);
    return sl_err_set(err, SL_EIO, "the server did not answer in time");
}

/* ---- the verb ---- */

static int check_options(const struct cli_args *a, uint8_t action, struct sl_err *err) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA((size_t)64 << 10);
    struct sl_nats_connector c = {0};

    for (uint32_t i = 0; i < SL_POOL_OPT_END; i++)
        if (a->opts[i] && !(users[i] & action))
            return sl_err_set(err, SL_EINVAL, "--%s is only valid with 'sluice pool %s'",
                              opts[i].name, action == FOR_LIST ? "publish" : "list");
    if (sl_nats_subject_fault(sl_text_of(cli_pool_subject(a)), false))
        return sl_err_set(err, SL_EINVAL,
                          "--subject: expected words between dots, such as interlink.resources");
    int r = read_connector(a, &arena, &c, err);
    sl_nats_connector_wipe(&c);
    return r;
}

static int run_pool(const struct cli_args *a, struct sl_err *err) {
    bool publish = strcmp(a->v[0], actions[0]) == 0;

    if (!publish && strcmp(a->v[0], actions[1]) != 0) {
        (void)sl_err_set(err, SL_EINVAL, "expected publish or list, found '%.40s'", a->v[0]);
        return cli_pool_misuse(a, err);
    }
    if (check_options(a, publish ? FOR_PUBLISH : FOR_LIST, err) < 0)
        return cli_pool_misuse(a, err);
    return publish ? cli_pool_publish(a, err) : cli_pool_list(a, err);
}

static const struct cli_example examples[] = {
    {"sluice pool publish --connector=nats://localhost --pool=podman --cpu=85 --memory=1Ti "
     "--pods=100",
     "play a provider: publish a pool at once, and then every 30 seconds"},
    {"sluice pool publish --pool=slurm --cpu=640 --label=site=cineca "
     "--taint=slurm=true:NoSchedule --count=1",
     "publish once, to the server in $NATS_URL"},
    {"sluice pool list --connector=nats://user:password@nats.example",
     "listen for 35 seconds, and show which pools are published"},
    {"sluice pool list --wait=5s -o json | jq -r '.pools[].name'", "names alone, for a script"},
};

static const struct cli_example exits[] = {
    {"0", "success; publish: also when it is stopped with Ctrl-C"},
    {"2", "invalid command line"},
    {"3", "invalid or missing file"},
    {"4", "not connected in time, or refused by the server"},
};

const struct cli_verb cli_verb_pool = {
    .name = "pool",
    .summary = "publish resource pools over NATS, or list those that are published",
    .synopsis = "publish --pool=NAME --cpu=QTY [--memory=QTY] [options]\nlist [options]",
    .about =
        "A MasterQueue makes queues of resource pools that publish over NATS what they have "
        "(docs/masterqueue.md). `publish` plays such a pool, for tests and for sites without a "
        "provider of their own; `list` shows what is published on a subject now. Pools repeat "
        "themselves, and nothing is stored: `list` sees a pool when it publishes next.",
    .opts = opts,
    .n_opts = SL_POOL_OPT_END,
    .examples = examples,
    .n_examples = SL_LEN(examples),
    .exits = exits,
    .n_exits = SL_LEN(exits),
    .min_args = 1,
    .max_args = 1,
    .arg = "publish|list",
    .args = actions,
    .run = run_pool,
};
