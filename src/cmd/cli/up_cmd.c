/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice up`. */
#include <stdlib.h>
#include <string.h>

#include "cluster/up/up.h"
#include "cmd/cli/cli.h"
#include "core/base/mem.h"
#include "core/base/quantity.h"
#include "lib/log/log.h"

#define MAX_LABELS 64u
#define DEFAULT_PORT 6443
#define MAX_OF_NODE 1000000u

enum {
    OPT_DIR,
    OPT_PORT,
    OPT_LISTEN,
    OPT_NODES,
    OPT_NODE_CPU,
    OPT_NODE_MEMORY,
    OPT_NODE_GPU,
    OPT_NODE_PODS,
    OPT_NODE_LABEL,
    OPT_VIRTUAL_NODE,
    OPT_CONTROLLERS,
    OPT_CONFIG,
    OPT_GATES,
    OPT_LEDGER,
    OPT_VERBOSE,
};

static const struct cli_opt opts[] = {
    [OPT_DIR] = {"dir", SL_OPT_FILE, "DIR",
                 "data directory ($XDG_DATA_HOME/sluice or ~/.local/share/sluice)", NULL, 0},
    [OPT_PORT] = {"port", SL_OPT_TEXT, "N", "port of the API server (6443); 0: any free port", NULL,
                  0},
    [OPT_LISTEN] = {"listen", SL_OPT_TEXT, "ADDRESS",
                    "address that the API server listens on (127.0.0.1); 0.0.0.0: all addresses",
                    NULL, 0},
    [OPT_NODES] = {"nodes", SL_OPT_TEXT, "N",
                   "number of simulated nodes (0); their pods start no process and complete after "
                   "sluice.dev/run-for or the duration of their `sleep`",
                   NULL, 0},
    [OPT_NODE_CPU] = {"node-cpu", SL_OPT_TEXT, "QTY", "CPU of each simulated node (32)", NULL, 0},
    [OPT_NODE_MEMORY] = {"node-memory", SL_OPT_TEXT, "QTY", "memory of each simulated node (128Gi)",
                         NULL, 0},
    [OPT_NODE_GPU] = {"node-gpu", SL_OPT_TEXT, "N", "nvidia.com/gpu of each simulated node (none)",
                      NULL, 0},
    [OPT_NODE_PODS] = {"node-pods", SL_OPT_TEXT, "N",
                       "maximum number of pods on each simulated node (110)", NULL, 0},
    [OPT_NODE_LABEL] = {"node-label", SL_OPT_TEXT, "K=V,K=V", "labels of each simulated node", NULL,
                        0},
    [OPT_VIRTUAL_NODE] = {"virtual-node", SL_OPT_TEXT, "NAME,NAME",
                          "simulated virtual nodes, as interLink makes them, for pods of remote "
                          "pools (MasterQueue)",
                          NULL, 0},
    [OPT_CONTROLLERS] = {"controllers", SL_OPT_TEXT, "*,-NAME",
                         "controllers to run (*); -NAME leaves one out where another program acts, "
                         "NAME alone runs only those that are named",
                         NULL, 0},
    [OPT_CONFIG] = {"config", SL_OPT_FILE, "FILE",
                    "Kueue Configuration file, as for `serve`; reloaded when it changes", NULL, 0},
    [OPT_GATES] = {"feature-gates", SL_OPT_TEXT, "A=true,B=false", "Kueue feature gates", NULL, 0},
    [OPT_LEDGER] = {"ledger", SL_OPT_TEXT, "URL",
                    "history of jobs: a file for SQLite (DIR/ledger.db), or postgres://…", NULL, 0},
    [OPT_VERBOSE] = {"verbose", SL_OPT_FLAG, NULL, "log at debug level", NULL, 0},
};

/* ---- the command line ---- */

static int read_number(const char *name, const char *text, uint64_t max, uint64_t *ret,
                       struct sl_err *err) {
    char *end;

    if (!text)
        return SL_OK;
    *ret = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || strlen(text) > 10 || *ret > max)
        return sl_err_set(err, SL_EINVAL, "--%s=%s: expected a number from 0 to %llu", name, text,
                          (unsigned long long)max);
    return SL_OK;
}

static int check_quantity(const struct cli_args *a, uint32_t opt, struct sl_err *err) {
    const char *text = a->opts[opt];
    sl_quantity amount;

    if (!text || sl_quantity_parse(text, strlen(text), &amount, err) >= 0)
        return SL_OK;
    return sl_err_wrap(err, SL_EINVAL, "--%s=%s", opts[opt].name, text);
}

/* "a,b" in place; one more than is allowed is kept, for the check to find. */
static int read_virtual_nodes(char *text, const char *ret[SL_MAX_VIRTUAL_NODES + 2],
                              struct sl_err *err) {
    uint32_t n = 0;

    for (char *word = text; word && n <= SL_MAX_VIRTUAL_NODES; n++) {
        ret[n] = word;
        word = strchr(word, ',');
        if (word)
            *word++ = '\0';
    }
    ret[n] = NULL;
    const int r = sl_up_virtual_nodes_check(ret, err);
    return r < 0 ? sl_err_wrap(err, r, "--virtual-node") : SL_OK;
}

/* "a=b,c=d" in place. */
static int read_labels(char *text, const char *ret[MAX_LABELS + 1], struct sl_err *err) {
    uint32_t n = 0;

    for (char *word = text; word && *word;) {
        char *comma = strchr(word, ',');
        if (comma)
            *comma = '\0';
        if (!strchr(word, '=') || *word == '=')
            return sl_err_set(err, SL_EINVAL, "--node-label: expected KEY=VALUE, found '%s'", word);
        if (n == MAX_LABELS)
            return sl_err_set(err, SL_ELIMIT, "--node-label: more than %u", MAX_LABELS);
        ret[n++] = word;
        word = comma ? comma + 1 : NULL;
    }
    ret[n] = NULL;
    return SL_OK;
}

/* ---- what a person sees ---- */

static void show_ready(const struct cli_term *t, const struct sl_up_report *n) {
    const char *bold = cli_term_style(t, SL_STYLE_BOLD), *good = cli_term_style(t, SL_STYLE_GOOD);
    const char *dim = cli_term_style(t, SL_STYLE_DIM), *off = cli_term_style(t, SL_STYLE_NONE);

    fprintf(t->out, "  nodes    %s, which runs pods as processes", n->node);
    if (n->sim_nodes)
        fprintf(t->out, "; %u simulated", n->sim_nodes);
    if (n->virtual_nodes)
        fprintf(t->out, "; %u virtual", n->virtual_nodes);
    fprintf(t->out, "\n  %sready%s    after %.2f s\n\n", good, off, (double)n->took / 1e9);
    fprintf(t->out, "%sexport KUBECONFIG=%s%s\n\n", bold, n->kubeconfig, off);
    fprintf(t->out,
            "  kubectl get nodes                                        %s# list the nodes%s\n",
            dim, off);
    fprintf(t->out, "  kubectl create job hello --image=host -- echo hello      %s# run a Job%s\n",
            dim, off);
    fprintf(t->out,
            "  kubectl logs -f job/hello                                %s# follow its output%s\n",
            dim, off);
    if (t->out_tty)
        fprintf(
            t->out,
            "\n%sCtrl-C stops it; all objects are kept and served again after the next start.%s\n",
            dim, off);
}

static void on_news(void *ctx, const struct sl_up_report *n) {
    const struct cli_term *t = ctx;

    switch (n->step) {
    case SL_UP_BEGIN:
        fprintf(t->out, "sluice %s\n  data     %s (%llu objects)\n  API      %s\n", SL_VERSION,
                n->dir, (unsigned long long)n->objects, n->server);
        break;
    case SL_UP_READY:
        show_ready(t, n);
        break;
    case SL_UP_ENDING:
        fprintf(t->out, "shutting down: pods are terminated, objects are kept\n");
        break;
    }
    (void)fflush(t->out);
}

/* Options that are lists, cut into their items. */
struct lists {
    char *label_text, *virtual_text;
    const char *labels[MAX_LABELS + 1];
    const char *virtual_nodes[SL_MAX_VIRTUAL_NODES + 2];
};

static void lists_done(struct lists *l) {
    sl_freep(&l->label_text);
    sl_freep(&l->virtual_text);
}

static int read_lists(const struct cli_args *a, struct lists *l, struct sl_err *err) {
    const char *labels = a->opts[OPT_NODE_LABEL], *virtual_nodes = a->opts[OPT_VIRTUAL_NODE];

    l->label_text = labels ? sl_strdup(labels) : NULL;
    l->virtual_text = virtual_nodes ? sl_strdup(virtual_nodes) : NULL;
    int r = read_labels(l->label_text, l->labels, err);
    if (r >= 0)
        r = read_virtual_nodes(l->virtual_text, l->virtual_nodes, err);
    return r;
}

static void show_controllers(FILE *out) {
    const char *name;

    fprintf(out, "known controllers:");
    for (uint32_t i = 0; (name = sl_up_controller_name(i)); i++)
        fprintf(out, "%s %s", i ? "," : "", name);
    fputc('\n', out);
}

/* What the tables of options cannot check. */
static int read_options(const struct cli_args *a, struct lists *l, struct sl_up_options *o,
                        struct sl_err *err) {
    uint64_t port = DEFAULT_PORT, nodes = 0, number = 0;
    int r = read_number("port", a->opts[OPT_PORT], UINT16_MAX, &port, err);

    if (r >= 0)
        r = read_number("nodes", a->opts[OPT_NODES], SL_MAX_SIM_NODES, &nodes, err);
    if (r >= 0)
        r = read_number("node-gpu", a->opts[OPT_NODE_GPU], MAX_OF_NODE, &number, err);
    if (r >= 0)
        r = read_number("node-pods", a->opts[OPT_NODE_PODS], MAX_OF_NODE, &number, err);
    if (r >= 0)
        r = check_quantity(a, OPT_NODE_CPU, err);
    if (r >= 0)
        r = check_quantity(a, OPT_NODE_MEMORY, err);
    if (r >= 0)
        r = read_lists(a, l, err);
    uint32_t off = 0;
    const char *controllers = a->opts[OPT_CONTROLLERS];
    if (r >= 0 && controllers && (r = sl_up_controllers_parse(controllers, &off, err)) < 0) {
        show_controllers(a->term->err);
        (void)sl_err_wrap(err, r, "--controllers");
    }
    *o = (struct sl_up_options){
        .off = off,
        .dir = a->opts[OPT_DIR],
        .listen = a->opts[OPT_LISTEN],
        .port = (uint16_t)port,
        .config = a->opts[OPT_CONFIG],
        .gates = a->opts[OPT_GATES],
        .ledger = a->opts[OPT_LEDGER],
        .sim = {.count = (uint32_t)nodes,
                .cpu = a->opts[OPT_NODE_CPU],
                .memory = a->opts[OPT_NODE_MEMORY],
                .gpu = a->opts[OPT_NODE_GPU],
                .pods = a->opts[OPT_NODE_PODS],
                .labels = l->labels,
                .virtual_nodes = l->virtual_nodes},
        .ctx = a->term,
        .report = on_news,
    };
    return r;
}

static int run_up(const struct cli_args *a, struct sl_err *err) {
    _cleanup_(lists_done) struct lists lists = {0};
    struct sl_up_options o;

    if (read_options(a, &lists, &o, err) < 0) {
        fprintf(a->term->err, "%s: %s\ntry '%s up --help'\n", a->program->name, err->text,
                a->program->name);
        return SL_EXIT_USAGE;
    }
    /* On a terminal the lines above are enough, unless something is wrong. */
    sl_log_cuts();
    sl_log_set(cli_args_has(a, OPT_VERBOSE) ? SL_LOG_DEBUG
               : a->term->err_tty           ? SL_LOG_WARN
                                            : SL_LOG_INFO);
    return sl_up(&o, err);
}

static const struct cli_example examples[] = {
    {"sluice up", "start a cluster on this machine; prints how to connect to it"},
    {"sluice up --nodes=1000 --node-cpu=64 --node-gpu=8", "with 1000 simulated nodes"},
    {"sluice up --virtual-node=interlink",
     "with a virtual node for the pods of remote pools; those of local queues run here"},
    {"sluice up --dir=/tmp/trial --port=0",
     "a second, disposable cluster with its own data directory"},
    {"sluice up --controllers='*,-kube-scheduler'", "beside a scheduler of somebody else"},
};

const struct cli_verb cli_verb_up = {
    .name = "up",
    .summary = "run a Kubernetes cluster with queues on this machine",
    .synopsis = "[--nodes=N] [--dir=DIR] [options]",
    .about =
        "Starts a control plane in one process: a Kubernetes API server for kubectl and other "
        "clients, the queue manager, the controllers of Jobs, Deployments and other workloads, a "
        "scheduler, and a kubelet that runs pods as processes of this machine. Nothing has to be "
        "installed. Images are not pulled: commands of containers are those of this machine.\n\n"
        "Objects are stored in one file of the data directory and survive restarts. The "
        "kubeconfig in the data directory gives cluster-admin access: RBAC objects are stored and "
        "not enforced. The API server listens on the loopback address unless --listen is given.",
    .opts = opts,
    .n_opts = SL_LEN(opts),
    .examples = examples,
    .n_examples = SL_LEN(examples),
    .run = run_up,
};
