/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice graph`: runs the controller of the queue on the resource graph as a standby, which reads
 * everything and writes nothing, until it is ready, and shows what it has.
 */
#include "cmd/cli/cluster/graph_cmd.h"

#include <string.h>

#include "cmd/cli/cluster/cluster_cmd.h"
#include "core/base/fmt.h"
#include "lib/graphio/write/match.h"
#include "lib/json/json.h"
#include "manager/config/config.h"

#define CONFIG_MAP "kueue-manager-config"
#define CONFIG_PATH "/api/v1/namespaces/kueue-system/configmaps/" CONFIG_MAP
#define CONFIG_FILE "controller_manager_config.yaml"
#define MAX_TEXT ((size_t)1 << 30) /* of what is printed */

enum {
    OPT_LEVEL = SL_CLUSTER_OPT_END,
    OPT_RESOURCE,
    OPT_JOBS,
    OPT_OUTPUT,
    OPT_END,
};

static const char *const outputs[] = {"tree", "table", "json", "jgf", "dot", NULL};

static const struct cli_opt opts[OPT_END] = {
    SL_CLUSTER_OPTS,
    [OPT_LEVEL] = {"level", SL_OPT_TEXT, "TYPE=LABEL,...",
                   "levels between the cluster and its nodes, by labels of nodes, from the top "
                   "(those of the manager's ConfigMap, or subnet=topology.kubernetes.io/zone)",
                   NULL, 0},
    [OPT_RESOURCE] = {"resource", SL_OPT_TEXT, "NAME,...", "only these resources (all)", NULL, 0},
    [OPT_JOBS] = {"jobs", SL_OPT_FLAG, NULL, "show which jobs are on each node", NULL, 0},
    [OPT_OUTPUT] = {"output", SL_OPT_CHOICE, "FORMAT",
                    "tree, table, json, jgf or dot (tree on a terminal, else table)", outputs, 'o'},
};

struct graph_run {
    struct cli_cluster cluster;
    struct sl_fluxqueue *q;
    struct sl_settings *settings; /* as the manager has them, as far as that can be read */
    struct sl_settings_flux_level levels[SL_SETTINGS_FLUX_LEVELS]; /* of the command line */
    uint32_t n_levels;
    struct sl_arena arena; /* of their texts */
    bool asked, answered;  /* for the manager's configuration */
};

/* ---- levels ---- */

/* "rack=example.com/rack,...": what the configuration accepts, too. */
static int parse_levels(struct graph_run *g, const char *text, struct sl_err *err) {
    while (*text) {
        size_t n = strcspn(text, ","), type = strcspn(text, "=,");
        int shown = (int)(n < 80 ? n : 80);
        struct sl_settings_flux_level level = {sl_arena_strndup(&g->arena, text, type), ""};
        if (type < n)
            level.label = sl_arena_strndup(&g->arena, text + type + 1, n - type - 1);
        enum sl_settings_level_fault fault =
            sl_settings_level_check(g->levels, g->n_levels, &level);
        if (g->n_levels == SL_SETTINGS_FLUX_LEVELS)
            return sl_err_set(err, SL_EINVAL, "--level: more than %u levels",
                              SL_SETTINGS_FLUX_LEVELS);
        if (fault == SL_SETTINGS_LEVEL_TWICE)
            return sl_err_set(err, SL_EINVAL,
                              "--level: the type or the label of '%.*s' is there twice", shown,
                              text);
        if (fault != SL_SETTINGS_LEVEL_FINE)
            return sl_err_set(err, SL_EINVAL,
                              "--level: expected TYPE=LABEL such as rack=example.com/rack, found "
                              "'%.*s'",
                              shown, text);
        g->levels[g->n_levels++] = level;
        text += n + (text[n] == ',');
    }
    return 0;
}

/* text "": the defaults. */
static int take_settings(struct graph_run *g, const char *text, struct sl_err *err) {
    int r = *text ? sl_settings_parse(CONFIG_MAP, text, strlen(text), NULL, NULL, &g->settings,
                                      NULL, err)
                  : sl_settings_load(NULL, NULL, NULL, &g->settings, NULL, err);

    if (r >= 0 && g->n_levels) {
        g->settings->flux.levels = g->levels;
        g->settings->flux.n_levels = g->n_levels;
    }
    return r;
}

/* Where there is none, or no right to read it, the defaults are as good as any. */
static void on_config(void *ctx, const struct sl_kube_reply *reply) {
    struct graph_run *g = ctx;
    _cleanup_(sl_json_docp) yyjson_doc *doc =
        reply->status == 200 ? sl_json_doc(reply->body, reply->len) : NULL;
    yyjson_val *data = sl_json_get(yyjson_doc_get_root(doc), "data");
    const char *text = sl_json_text(sl_json_get(data, CONFIG_FILE));

    struct sl_err err = {0};

    g->answered = true;
    if (take_settings(g, text, &err) >= 0)
        return;
    cli_cluster_note(g->cluster.args, "levels of the configuration not read: %s", err.text);
    (void)take_settings(g, "", &err); /* the defaults are right */
}

/* ---- reading ---- */

static void start_queue(struct graph_run *g) {
    g->q = sl_fluxqueue_new(&(struct sl_fluxqueue_spec){.client = g->cluster.kube,
                                                        .settings = g->settings,
                                                        .instance = "sluice-graph",
                                                        .seed = uv_hrtime(),
                                                        .standby = true,
                                                        .eager = true});
}

static bool on_turn(struct cli_cluster *c, sl_time *next) {
    struct graph_run *g = SL_CONTAINER_OF(c, struct graph_run, cluster);

    if (!g->asked && !g->answered) {
        g->asked = true;
        (void)sl_kube_request(c->kube,
                              &(struct sl_kube_request){.method = SL_GET, .path = CONFIG_PATH},
                              on_config, g);
    }
    if (!g->answered)
        return false;
    if (!g->q)
        start_queue(g);
    sl_fluxqueue_tick(g->q);
    *next = sl_fluxqueue_next(g->q);
    return sl_fluxqueue_ready(g->q);
}

static void on_reading(struct cli_cluster *c, struct sl_inf_reading *ret) {
    struct graph_run *g = SL_CONTAINER_OF(c, struct graph_run, cluster);

    if (g->q)
        sl_fluxqueue_reading(g->q, ret);
}

/* ---- showing ---- */

static uint32_t filter_sums(const void *ctx, sl_vtx v, struct sl_match_filter_sum *ret,
                            uint32_t max) {
    const struct graph_run *g = ctx;

    return sl_match_sums(sl_fluxqueue_match(g->q), v, g->cluster.kube->wall / SL_SEC, -1, ret, max);
}

/* The graph as the matcher has it: pools without what pods of others take. */
static int put_jgf(const struct graph_run *g, struct sl_buf *out, struct sl_err *err) {
    const struct sl_graph *graph = sl_match_graph(sl_fluxqueue_match(g->q));
    struct sl_graphio_match_writer w = {
        .format = SL_GRAPHIO_MATCH_JGF, .sums = filter_sums, .sums_ctx = g};
    struct sl_grant all = {0};

    for (uint32_t pos = 0; pos < sl_graph_live(graph); pos++) {
        sl_vtx v = sl_graph_at(graph, pos);
        *sl_vec_push(&all.picks) = (struct sl_pick){v, sl_graph_vertex(graph, v)->size, false};
    }
    int r = sl_graphio_match_write(&w, graph, &all, out, err);
    sl_grant_done(&all);
    return r;
}

static int print_text(const struct graph_run *g, const struct cli_graph *m, const char *output,
                      struct sl_err *err) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TEXT);
    int r = 0;

    if (strcmp(output, "json") == 0)
        cli_graph_json(m, &b);
    else if (!m->g)
        return SL_EXIT_OK;
    else if (strcmp(output, "jgf") == 0)
        r = put_jgf(g, &b, err);
    else
        cli_graph_dot(m, &b);
    if (r < 0)
        return r;
    if (sl_buf_full(&b))
        return sl_err_set(err, SL_ELIMIT, "the graph is too large to be printed");
    (void)fwrite(sl_buf_str(&b), 1, b.len, g->cluster.args->term->out); /* judged at the end */
    return SL_EXIT_OK;
}

static int print(const struct graph_run *g, const struct cli_graph *m, struct sl_err *err) {
    const struct cli_args *a = g->cluster.args;
    const char *output = a->opts[OPT_OUTPUT];

    if (!output)
        output = a->term->out_tty ? "tree" : "table";
    if (strcmp(output, "tree") != 0 && strcmp(output, "table") != 0)
        return print_text(g, m, output, err);
    if (m->items.n > 0 && strcmp(output, "tree") == 0)
        cli_graph_tree(m, a->term);
    else if (m->items.n > 0)
        cli_graph_table(m, a->term);
    return SL_EXIT_OK;
}

/* Those that were asked for by name, and that no node has. */
static int check_resources(const struct graph_run *g, const struct cli_graph *m,
                           struct sl_err *err) {
    const char *list = g->cluster.args->opts[OPT_RESOURCE];

    for (size_t n; list && *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if (n == 0 || cli_graph_has(m, list, n))
            continue;
        int shown = (int)(n < 80 ? n : 80);
        if (m->n_resources == 0)
            return sl_err_set(err, SL_EIO, "--resource: no node has '%.*s'", shown, list);
        cli_cluster_note(g->cluster.args, "--resource: no node has '%.*s'", shown, list);
    }
    return 0;
}

static int show(const struct graph_run *g, struct sl_err *err) {
    const struct sl_match *match = sl_fluxqueue_match(g->q);
    const struct cli_args *a = g->cluster.args;
    struct sl_fluxqueue_view view = {0};
    struct cli_graph m;
    int r;

    sl_fluxqueue_view_init(g->q, &view);
    cli_graph_init(&m, match ? sl_match_graph(match) : NULL, &view, a->opts[OPT_RESOURCE],
                   cli_args_has(a, OPT_JOBS));
    if (!match && view.nodes.n > 0) {
        r = sl_err_set(err, SL_ELIMIT, "no graph could be made of the %u nodes", view.nodes.n);
    } else {
        r = match ? check_resources(g, &m, err) : 0;
        if (r >= 0)
            r = print(g, &m, err);
        if (!match)
            cli_cluster_note(a, "the cluster has no nodes");
        if (!view.served)
            cli_cluster_note(a, "no FluxJobs: the cluster has no such kind; " SL_CLUSTER_INSTALL);
        if (m.n_left_out)
            cli_cluster_note(a, "more than %u resources: choose with --resource",
                             SL_GRAPH_SHOWN_RESOURCES);
    }
    cli_graph_done(&m);
    sl_fluxqueue_view_done(&view);
    return r;
}

/* "cpu,memory": each has a name. */
static bool is_list(const char *text) {
    for (; *text; text += *text == ',') {
        size_t n = strcspn(text, ",");
        if (n == 0 || (text[n] == ',' && !text[n + 1]))
            return false;
        text += n;
    }
    return true;
}

static int run_graph(const struct cli_args *a, struct sl_err *err) {
    struct graph_run g = {.cluster = {.args = a, .turn = on_turn, .reading = on_reading}};
    int r = 0;

    if (a->opts[OPT_RESOURCE] && (!*a->opts[OPT_RESOURCE] || !is_list(a->opts[OPT_RESOURCE]))) {
        (void)sl_err_set(err, SL_EINVAL,
                         "--resource: expected names separated by commas, found '%.80s'",
                         a->opts[OPT_RESOURCE]);
        return cli_cluster_misuse(a, err);
    }
    sl_arena_init(&g.arena, (size_t)1 << 20);
    if (a->opts[OPT_LEVEL]) {
        r = parse_levels(&g, a->opts[OPT_LEVEL], err);
        if (r < 0) {
            sl_arena_done(&g.arena);
            return cli_cluster_misuse(a, err);
        }
        g.answered = true;
        r = take_settings(&g, "", err);
        if (r < 0) {
            sl_arena_done(&g.arena);
            return r;
        }
    }
    r = cli_cluster_open(&g.cluster, a, err);
    if (r >= 0) {
        r = cli_cluster_run(&g.cluster, err);
        if (r >= 0)
            r = show(&g, err);
        sl_fluxqueue_free(g.q);
        cli_cluster_close(&g.cluster);
    }
    sl_settings_free(g.settings);
    sl_arena_done(&g.arena);
    return r;
}

static const struct cli_example examples[] = {
    {"sluice graph", "what is free and what is taken, as a tree"},
    {"sluice graph --jobs --resource=cpu,nvidia.com/gpu",
     "two resources, and which jobs are where"},
    {"sluice graph --level=subnet=topology.kubernetes.io/zone,rack=example.com/rack",
     "with two levels above the nodes"},
    {"sluice graph -o json | jq -r .graph.resources.cpu.free", "free cores, for a script"},
    {"sluice graph -o jgf > graph.json; sluice match -f jgf -L graph.json",
     "try jobspecs on what the cluster has now"},
    {"sluice graph -o dot | dot -Tsvg > graph.svg", "a picture, by Graphviz"},
};

const struct cli_verb cli_verb_graph = {
    .name = "graph",
    .summary = "show the resource graph of a cluster: what is free and what is taken",
    .synopsis = "[--jobs] [--output=FORMAT] [options]",
    .about =
        "Reads nodes, pods and FluxJobs of a cluster and makes the same resource graph of them "
        "as the queue has (docs/queue-commands.md). For the cluster, each level and each node "
        "it shows what is free of each resource, and what jobs of the queue and pods of others "
        "have. Nodes that are down or cordoned have nothing free. Nothing is written.",
    .opts = opts,
    .n_opts = OPT_END,
    .examples = examples,
    .n_examples = SL_LEN(examples),
    .exits = cli_cluster_exits,
    .n_exits = SL_CLUSTER_EXITS,
    .run = run_graph,
};
