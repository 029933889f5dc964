/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice serve`. */
#include <string.h>

#include "cmd/cli/cli.h"
#include "lib/log/log.h"
#include "manager/serve/serve.h"

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
    OPT_LEDGER,
    OPT_MK_FRAMEWORKS,
    OPT_MK_BATCH,
    OPT_VERBOSE,
};

static const char *const yes_no[] = {"true", "false", NULL};

static const struct cli_opt opts[] = {
    [OPT_KUBECONFIG] =
        {"kubeconfig", SL_OPT_FILE, "FILE",
         "kubeconfig file (KUBECONFIG, the in-cluster service account, ~/.kube/config)", NULL, 0},
    [OPT_CONFIG] = {"config", SL_OPT_FILE, "FILE",
                    "Kueue Configuration file; reloaded when it changes", NULL, 0},
    [OPT_CONTROLLERS] = {"controllers", SL_OPT_TEXT, "LIST",
                         "controllers to run: core, scheduler, tas, provisioning, masterqueue, "
                         "minicluster, fluxqueue, batch/job, pod ... (all)",
                         NULL, 0},
    [OPT_WEBHOOKS] = {"webhooks", SL_OPT_TEXT, "LIST",
                      "integrations whose admission webhooks are enabled", NULL, 0},
    [OPT_GATES] = {"feature-gates", SL_OPT_TEXT, "A=true,B=false", "Kueue feature gates", NULL, 0},
    [OPT_METRICS_SECURE] = {"metrics-secure", SL_OPT_CHOICE, "BOOL",
                            "false: serve /metrics over plain HTTP without authorization (true)",
                            yes_no, 0},
    [OPT_REQUEUE_BATCH] =
        {"requeue-batch-period", SL_OPT_SPAN, "DUR",
         "accepted and ignored: inadmissible workloads are requeued without batching", NULL, 0},
    [OPT_ANNOTATIONS] = {"annotations-to-copy", SL_OPT_TEXT, "K,K",
                         "annotations that are copied from jobs to their workloads", NULL, 0},
    [OPT_GRACE] = {"pod-termination-grace-period", SL_OPT_SPAN, "DUR",
                   "accepted and ignored: failure recovery of stuck pods is not implemented", NULL,
                   0},
    [OPT_LEDGER] = {"ledger", SL_OPT_TEXT, "URL",
                    "history of jobs: a file for SQLite, or postgres://… (none)", NULL, 0},
    [OPT_MK_FRAMEWORKS] = {"multikueue-frameworks", SL_OPT_TEXT, "LIST",
                           "accepted and ignored: MultiKueue is not implemented", NULL, 0},
    [OPT_MK_BATCH] = {"multikueue-events-batch-period", SL_OPT_SPAN, "DUR",
                      "accepted and ignored: MultiKueue is not implemented", NULL, 0},
    [OPT_VERBOSE] = {"verbose", SL_OPT_FLAG, NULL, "log at debug level", NULL, 0},
};

static int run_serve(const struct cli_args *a, struct sl_err *err) {
    const char *secure = a->opts[OPT_METRICS_SECURE];
    struct sl_serve_options o = {
        .kubeconfig = a->opts[OPT_KUBECONFIG],
        .config = a->opts[OPT_CONFIG],
        .controllers = a->opts[OPT_CONTROLLERS],
        .webhooks = a->opts[OPT_WEBHOOKS],
        .gates = a->opts[OPT_GATES],
        .annotations_to_copy = a->opts[OPT_ANNOTATIONS],
        .ledger = a->opts[OPT_LEDGER],
        .insecure_metrics = secure && strcmp(secure, "false") == 0,
    };
    if (cli_args_has(a, OPT_VERBOSE))
        sl_log_set(SL_LOG_DEBUG);
    sl_log_cuts();
    return sl_serve(&o, err);
}

static const struct cli_example examples[] = {
    {"sluice serve --config=controller_manager_config.yaml",
     "run all controllers that the configuration enables"},
    {"sluice serve --kubeconfig=admin.conf --controllers=core,scheduler --metrics-secure=false",
     "run queues and scheduling alone, with unauthenticated metrics"},
};

const struct cli_verb cli_verb_serve = {
    .name = "serve",
    .summary = "queue and admit work on a Kubernetes cluster",
    .synopsis = "[--kubeconfig=FILE] [--config=FILE] [options]",
    .about = "Replaces Kueue's controller manager: watches ClusterQueues, LocalQueues, Workloads "
             "and Jobs, admits workloads within quota, and serves the admission webhooks of these "
             "kinds. All state is in the API server: the process can be restarted at any time, and "
             "further replicas are on standby until the leader's Lease expires.\n\n"
             "Requires the custom resource definitions of api/ (or Kueue's own) in the cluster; "
             "deploy/manifests.yaml installs them and the manager.",
    .opts = opts,
    .n_opts = SL_LEN(opts),
    .examples = examples,
    .n_examples = SL_LEN(examples),
    .run = run_serve,
};
