/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice serve`. */
#include <string.h>

#include "cli/cli.h"
#include "log/log.h"
#include "serve/serve.h"

enum {
    OPT_KUBECONFIG,
    OPT_CONFIG,
    OPT_CONTROLLERS,
    OPT_WEBHOOKS,
    OPT_GATES,
    OPT_METRICS_SECURE,
    OPT_REQUEUE_BATCH,
    OPT_ANNOTATIONS,
    OPT_GRACE,
    OPT_MK_FRAMEWORKS,
    OPT_MK_BATCH,
    OPT_VERBOSE,
};

static const char *const yes_no[] = {"true", "false", NULL};

static const struct sl_opt opts[] = {
    [OPT_KUBECONFIG] =
        {"kubeconfig", SL_OPT_FILE, "FILE",
         "how to reach the API server (KUBECONFIG, the in-cluster account, ~/.kube/config)", NULL,
         0},
    [OPT_CONFIG] = {"config", SL_OPT_FILE, "FILE",
                    "Kueue's Configuration; read again when it changes", NULL, 0},
    [OPT_CONTROLLERS] = {"controllers", SL_OPT_TEXT, "LIST",
                         "run only these: core, scheduler, tas, provisioning, batch/job, pod ...",
                         NULL, 0},
    [OPT_WEBHOOKS] = {"webhooks", SL_OPT_TEXT, "LIST", "integrations whose admission webhooks act",
                      NULL, 0},
    [OPT_GATES] = {"feature-gates", SL_OPT_TEXT, "A=true,B=false", "Kueue's feature gates", NULL,
                   0},
    [OPT_METRICS_SECURE] = {"metrics-secure", SL_OPT_CHOICE, "BOOL",
                            "false: /metrics in plain HTTP for everybody (default true)", yes_no,
                            0},
    [OPT_REQUEUE_BATCH] =
        {"requeue-batch-period", SL_OPT_SPAN, "DUR",
         "accepted, and kept to: whoever waits is looked at again at once, never later", NULL, 0},
    [OPT_ANNOTATIONS] = {"annotations-to-copy", SL_OPT_TEXT, "K,K",
                         "annotations that workloads take over from their jobs", NULL, 0},
    [OPT_GRACE] = {"pod-termination-grace-period", SL_OPT_SPAN, "DUR",
                   "accepted; for parts that end stuck pods", NULL, 0},
    [OPT_MK_FRAMEWORKS] = {"multikueue-frameworks", SL_OPT_TEXT, "LIST",
                           "accepted; for many clusters", NULL, 0},
    [OPT_MK_BATCH] = {"multikueue-events-batch-period", SL_OPT_SPAN, "DUR",
                      "accepted; for many clusters", NULL, 0},
    [OPT_VERBOSE] = {"verbose", SL_OPT_FLAG, NULL, "also log what only helps to find faults", NULL,
                     0},
};

static int run(const struct sl_args *a, struct sl_err *err) {
    const char *secure = a->opts[OPT_METRICS_SECURE];
    struct sl_serve_options o = {
        .kubeconfig = a->opts[OPT_KUBECONFIG],
        .config = a->opts[OPT_CONFIG],
        .controllers = a->opts[OPT_CONTROLLERS],
        .webhooks = a->opts[OPT_WEBHOOKS],
        .gates = a->opts[OPT_GATES],
        .annotations_to_copy = a->opts[OPT_ANNOTATIONS],
        .insecure_metrics = secure && strcmp(secure, "false") == 0,
    };
    if (sl_args_has(a, OPT_VERBOSE))
        sl_log_set(SL_LOG_DEBUG);
    sl_log_cuts();
    return sl_serve(&o, err);
}

static const struct sl_example examples[] = {
    {"sluice serve --config=controller_manager_config.yaml",
     "everything that the configuration asks for"},
    {"sluice serve --kubeconfig=admin.conf --controllers=core,scheduler --metrics-secure=false",
     "only the queues and the decisions, with open metrics"},
};

const struct sl_verb sl_verb_serve = {
    .name = "serve",
    .summary = "queue and admit work on a Kubernetes cluster",
    .synopsis = "[--kubeconfig=FILE] [--config=FILE] [options]",
    .about = "Stands beside the API server in the place of Kueue's controller manager: reads "
             "ClusterQueues, LocalQueues, "
             "Workloads and Jobs, decides who may start, and answers the admission webhooks of "
             "these kinds. The objects in the "
             "API are the only state: it may be stopped and started at any time, and a second "
             "replica stands by until the "
             "first one's lease has run out.\n\n"
             "Needs the custom resources of api/ (or Kueue's own) in the cluster; "
             "deploy/manifests.yaml installs everything.",
    .opts = opts,
    .n_opts = SL_LEN(opts),
    .examples = examples,
    .n_examples = SL_LEN(examples),
    .run = run,
};
