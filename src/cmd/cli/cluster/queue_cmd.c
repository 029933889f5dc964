/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice queue`: who waits for what, and until when. */
#include "cmd/cli/cluster/queue_cmd.h"

#include <string.h>

#include "cmd/cli/cluster/cluster_cmd.h"
#include "kube/types/syntax.h"

#define MAX_TEXT ((size_t)512 << 20)
#define REDRAW (2 * SL_SEC) /* between two pictures of --watch */

enum {
    OPT_NAMESPACE = SL_CLUSTER_OPT_END,
    OPT_ALL,
    OPT_QUEUE,
    OPT_KIND,
    OPT_WATCH,
    OPT_OUTPUT,
    OPT_END,
};

static const char *const outputs[] = {"table", "json", NULL};
static const char *const kinds[] = {"fluxjobs", "workloads", NULL};

static const struct cli_opt opts[OPT_END] = {
    SL_CLUSTER_OPTS,
    [OPT_NAMESPACE] = {"namespace", SL_OPT_TEXT, "NAME", "only this namespace (all)", NULL, 'n'},
    [OPT_ALL] = {"all-namespaces", SL_OPT_FLAG, NULL,
                 "all namespaces, whatever -n says; the default", NULL, 'A'},
    [OPT_QUEUE] = {"queue", SL_OPT_TEXT, "NAME",
                   "only this queue of FluxJobs, ClusterQueue or LocalQueue (all)", NULL, 'q'},
    [OPT_KIND] = {"kind", SL_OPT_CHOICE, "KIND", "only fluxjobs or only workloads (both)", kinds,
                  0},
    [OPT_WATCH] = {"watch", SL_OPT_FLAG, NULL, "show changes until Ctrl-C", NULL, 'w'},
    [OPT_OUTPUT] = {"output", SL_OPT_CHOICE, "FORMAT", "table or json (table)", outputs, 'o'},
};

struct queue_run {
    struct cli_cluster cluster;
    struct cli_queue *q;
    sl_time shown_at; /* mono; 0: not yet */
    bool asked;       /* again, for the next picture */
    int result;
};

/* ---- showing ---- */

static int print_json(const struct queue_run *u, struct sl_err *err) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TEXT);

    cli_queue_json(u->q, &b);
    if (sl_buf_full(&b))
        return sl_err_set(err, SL_ELIMIT, "the queues are too long to be printed");
    (void)fwrite(sl_buf_str(&b), 1, b.len, u->cluster.args->term->out); /* judged at the end */
    return 0;
}

/* What is not installed is no error as long as there is something to show. */
static int check_served(const struct queue_run *u, struct sl_err *err) {
    static const char *const names[] = {
        [SL_QUEUE_FLUXJOBS] = "FluxJobs", [SL_QUEUE_WORKLOADS] = "Workloads"};
    uint32_t served = 0;

    for (enum cli_queue_kind k = SL_QUEUE_FLUXJOBS; k <= SL_QUEUE_WORKLOADS; k++)
        served += cli_queue_reads(u->q, k) && cli_queue_served(u->q, k);
    for (enum cli_queue_kind k = SL_QUEUE_FLUXJOBS; served && k <= SL_QUEUE_WORKLOADS; k++)
        if (cli_queue_reads(u->q, k) && !cli_queue_served(u->q, k))
            cli_cluster_note(u->cluster.args,
                             "no %s: the cluster has no such kind; " SL_CLUSTER_INSTALL, names[k]);
    if (served)
        return 0;
    return sl_err_set(err, SL_EIO, "the cluster has no queues of this kind; " SL_CLUSTER_INSTALL);
}

static int show(struct queue_run *u, struct sl_err *err) {
    const struct cli_args *a = u->cluster.args;
    const char *output = a->opts[OPT_OUTPUT];
    bool watch = cli_args_has(a, OPT_WATCH), again = u->shown_at != 0;
    int r = again ? 0 : check_served(u, err);

    if (r < 0)
        return r;
    if (output && strcmp(output, "json") == 0) {
        r = print_json(u, err);
    } else {
        if (watch && a->term->out_tty)
            fputs("\033[H\033[2J", a->term->out);
        else if (again)
            fputc('\n', a->term->out);
        cli_queue_tables(u->q, u->cluster.kube->wall, a->term);
    }
    u->shown_at = u->cluster.kube->mono;
    if (watch && fflush(a->term->out) != 0)
        return sl_err_set(err, SL_EIO, "nobody reads what is printed");
    return r;
}

/* ---- reading ---- */

/* The next picture: when something has changed, the order is asked for, and when that is there, all
 * of it is shown. */
static bool watch_turn(struct queue_run *u, sl_time *next) {
    sl_time due = sl_time_add(u->shown_at, REDRAW);

    if (!cli_queue_changed(u->q) && !u->asked)
        return false;
    if (u->cluster.kube->mono < due) {
        *next = sl_time_min(*next, due);
        return false;
    }
    if (!u->asked) {
        u->asked = true;
        cli_queue_ask(u->q);
    }
    if (!cli_queue_ready(u->q))
        return false;
    u->asked = false;
    u->result = show(u, u->cluster.err);
    return u->result < 0;
}

static bool on_turn(struct cli_cluster *c, sl_time *next) {
    struct queue_run *u = SL_CONTAINER_OF(c, struct queue_run, cluster);

    cli_queue_tick(u->q);
    *next = cli_queue_next(u->q);
    if (u->shown_at)
        return watch_turn(u, next);
    if (!cli_queue_ready(u->q))
        return false;
    cli_cluster_arrived(c);
    u->result = show(u, c->err);
    return u->result < 0 || !cli_args_has(c->args, OPT_WATCH);
}

static void on_reading(struct cli_cluster *c, struct sl_inf_reading *ret) {
    cli_queue_reading(SL_CONTAINER_OF(c, struct queue_run, cluster)->q, ret);
}

static int run_queue(const struct cli_args *a, struct sl_err *err) {
    struct queue_run u = {.cluster = {.turn = on_turn, .reading = on_reading}};
    bool all = cli_args_has(a, OPT_ALL); /* wins, as with kubectl */
    const char *ns = all ? NULL : a->opts[OPT_NAMESPACE], *kind = a->opts[OPT_KIND];

    if (ns && sl_syntax_dns_label(ns, strlen(ns)).n > 0) {
        (void)sl_err_set(err, SL_EINVAL, "--namespace: expected a name, found '%.80s'", ns);
        return cli_cluster_misuse(a, err);
    }
    int r = cli_cluster_open(&u.cluster, a, err);
    if (r < 0)
        return r;
    u.q = cli_queue_new(&(struct cli_queue_spec){
        .client = u.cluster.kube,
        .ns = ns,
        .queue = a->opts[OPT_QUEUE],
        .no_fluxjobs = kind && strcmp(kind, kinds[0]) != 0,
        .no_workloads = kind && strcmp(kind, kinds[1]) != 0,
        .seed = uv_hrtime(),
    });
    r = cli_cluster_run(&u.cluster, err);
    cli_queue_free(u.q);
    cli_cluster_close(&u.cluster);
    return r < 0 ? r : u.result;
}

static const struct cli_example examples[] = {
    {"sluice queue", "all that waits, in the order of the queues"},
    {"sluice queue -n hpc --kind=fluxjobs --watch", "FluxJobs of one namespace, as they change"},
    {"sluice queue -q batch -o json | jq -r '.fluxJobs.items[] | [.name, .estimatedStart] | @tsv'",
     "estimated starts in one queue, for a script"},
    {"ln -s \"$(command -v sluice)\" /usr/local/bin/kubectl-sluice; kubectl sluice queue",
     "as a plugin of kubectl"},
};

const struct cli_verb cli_verb_queue = {
    .name = "queue",
    .summary = "show who waits in the queues of a cluster, for what and until when",
    .synopsis = "[--namespace=NAME] [--queue=NAME] [--watch] [options]",
    .about =
        "Shows FluxJobs, which wait for nodes, and Workloads, which wait for quota, in the order "
        "of their queues (docs/queue-commands.md): position, state, pods, nodes, estimated "
        "start, and why each of them waits. Nothing is written.",
    .opts = opts,
    .n_opts = OPT_END,
    .examples = examples,
    .n_examples = SL_LEN(examples),
    .exits = cli_cluster_exits,
    .n_exits = SL_CLUSTER_EXITS,
    .run = run_queue,
};
