/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice up`. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/quantity.h"
#include "cli/cli.h"
#include "log/log.h"
#include "up/up.h"

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
    OPT_CONFIG,
    OPT_GATES,
    OPT_VERBOSE,
};

static const struct sl_opt opts[] = {
    [OPT_DIR] = {"dir", SL_OPT_FILE, "FOLDER",
                 "where everything is kept ($XDG_DATA_HOME/sluice or ~/.local/share/sluice)", NULL,
                 0},
    [OPT_PORT] = {"port", SL_OPT_TEXT, "N", "of the API (6443); 0 takes any free one", NULL, 0},
    [OPT_LISTEN] = {"listen", SL_OPT_TEXT, "ADDRESS",
                    "be there for other machines too (default: this one alone); 0.0.0.0 is every "
                    "address",
                    NULL, 0},
    [OPT_NODES] = {"nodes", SL_OPT_TEXT, "N",
                   "simulated nodes besides the machine: their pods run nothing and last as long "
                   "as sluice.dev/run-for or their `sleep` says",
                   NULL, 0},
    [OPT_NODE_CPU] = {"node-cpu", SL_OPT_TEXT, "QTY", "of each simulated node (32)", NULL, 0},
    [OPT_NODE_MEMORY] = {"node-memory", SL_OPT_TEXT, "QTY", "of each (128Gi)", NULL, 0},
    [OPT_NODE_GPU] = {"node-gpu", SL_OPT_TEXT, "N", "nvidia.com/gpu of each (none)", NULL, 0},
    [OPT_NODE_PODS] = {"node-pods", SL_OPT_TEXT, "N", "how many pods each takes (110)", NULL, 0},
    [OPT_NODE_LABEL] = {"node-label", SL_OPT_TEXT, "K=V,K=V", "labels of each", NULL, 0},
    [OPT_CONFIG] = {"config", SL_OPT_FILE, "FILE",
                    "Kueue's Configuration, as for `serve`; read again when it changes", NULL, 0},
    [OPT_GATES] = {"feature-gates", SL_OPT_TEXT, "A=true,B=false", "Kueue's feature gates", NULL,
                   0},
    [OPT_VERBOSE] = {"verbose", SL_OPT_FLAG, NULL, "also log what only helps to find faults", NULL,
                     0},
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

static int check_quantity(const struct sl_args *a, uint32_t opt, struct sl_err *err) {
    const char *text = a->opts[opt];
    sl_quantity amount;

    if (!text || sl_quantity_parse(text, strlen(text), &amount, err) >= 0)
        return SL_OK;
    return sl_err_wrap(err, SL_EINVAL, "--%s=%s", opts[opt].name, text);
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

static void show_ready(const struct sl_term *t, const struct sl_up_news *n) {
    const char *bold = sl_term_style(t, SL_STYLE_BOLD), *good = sl_term_style(t, SL_STYLE_GOOD);
    const char *dim = sl_term_style(t, SL_STYLE_DIM), *off = sl_term_style(t, SL_STYLE_NONE);

    fprintf(t->out, "  nodes    %s, which runs pods as processes", n->node);
    if (n->sim_nodes)
        fprintf(t->out, "; %u simulated", n->sim_nodes);
    fprintf(t->out, "\n  %sready%s    after %.2f s\n\n", good, off, (double)n->took / 1e9);
    fprintf(t->out, "%sexport KUBECONFIG=%s%s\n\n", bold, n->kubeconfig, off);
    fprintf(t->out,
            "  kubectl get nodes                                        %s# what there is%s\n", dim,
            off);
    fprintf(t->out,
            "  kubectl create job hello --image=host -- echo hello      %s# run something%s\n", dim,
            off);
    fprintf(
        t->out,
        "  kubectl logs -f job/hello                                %s# and see what it says%s\n",
        dim, off);
    if (t->out_tty)
        fprintf(t->out,
                "\n%sCtrl-C ends it; everything is there again when it is started again.%s\n", dim,
                off);
}

static void on_news(void *ctx, const struct sl_up_news *n) {
    const struct sl_term *t = ctx;

    switch (n->step) {
    case SL_UP_BEGIN:
        fprintf(t->out, "sluice %s\n  folder   %s (%llu objects)\n  API      %s\n", SL_VERSION,
                n->dir, (unsigned long long)n->objects, n->server);
        break;
    case SL_UP_READY:
        show_ready(t, n);
        break;
    case SL_UP_ENDING:
        fprintf(t->out, "ending: pods are stopped, everything else is kept\n");
        break;
    }
    (void)fflush(t->out);
}

/* What the tables of options cannot check. */
static int read_options(const struct sl_args *a, char *label_text,
                        const char *labels[MAX_LABELS + 1], struct sl_up_options *o,
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
        r = read_labels(label_text, labels, err);
    *o = (struct sl_up_options){
        .dir = a->opts[OPT_DIR],
        .listen = a->opts[OPT_LISTEN],
        .port = (uint16_t)port,
        .config = a->opts[OPT_CONFIG],
        .gates = a->opts[OPT_GATES],
        .sim = {.count = (uint32_t)nodes,
                .cpu = a->opts[OPT_NODE_CPU],
                .memory = a->opts[OPT_NODE_MEMORY],
                .gpu = a->opts[OPT_NODE_GPU],
                .pods = a->opts[OPT_NODE_PODS],
                .labels = labels},
        .ctx = a->term,
        .news = on_news,
    };
    return r;
}

static int run(const struct sl_args *a, struct sl_err *err) {
    const char *labels[MAX_LABELS + 1] = {NULL};
    _cleanup_(sl_freep) char *label_text =
        sl_strdup(a->opts[OPT_NODE_LABEL] ? a->opts[OPT_NODE_LABEL] : "");
    struct sl_up_options o;

    if (read_options(a, label_text, labels, &o, err) < 0) {
        fprintf(a->term->err, "%s: %s\ntry '%s up --help'\n", a->program->name, err->text,
                a->program->name);
        return SL_EXIT_USAGE;
    }
    /* On a terminal the lines above are enough, unless something is wrong. */
    sl_log_cuts();
    sl_log_set(sl_args_has(a, OPT_VERBOSE) ? SL_LOG_DEBUG
               : a->term->err_tty          ? SL_LOG_WARN
                                           : SL_LOG_INFO);
    return sl_up(&o, err);
}

static const struct sl_example examples[] = {
    {"sluice up", "a cluster on this machine; it says how to use it"},
    {"sluice up --nodes=1000 --node-cpu=64 --node-gpu=8", "with nodes that only pretend"},
    {"sluice up --dir=/tmp/trial --port=0", "another one beside it, to be thrown away"},
};

const struct sl_verb sl_verb_up = {
    .name = "up",
    .summary = "a whole queueing cluster on this machine",
    .synopsis = "[--nodes=N] [--dir=FOLDER] [options]",
    .about =
        "Starts everything in one process: a Kubernetes API that kubectl and other clients can "
        "talk to, queues, the controllers of Jobs, Deployments and the like, and a kubelet that "
        "runs pods as processes of this machine. Nothing has to be installed. Images are not "
        "pulled: a container's command is looked for on this machine.\n\n"
        "All objects are in one file of the folder and are there again after a restart. The "
        "kubeconfig in the same folder lets its holder do everything: roles are stored and not "
        "enforced. Only this machine is served unless --listen says otherwise.",
    .opts = opts,
    .n_opts = SL_LEN(opts),
    .examples = examples,
    .n_examples = SL_LEN(examples),
    .run = run,
};
