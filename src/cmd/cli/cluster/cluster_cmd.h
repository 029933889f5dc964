/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands share that read a cluster: the options that say which, an event loop with a
 * client of its API, and the wait until everything is read, with progress, a timeout and errors
 * that say what to do.
 */
#ifndef SL_CMD_CLI_CLUSTER_CLUSTER_CMD_H
#define SL_CMD_CLI_CLUSTER_CLUSTER_CMD_H

#include <uv.h>

#include "cmd/cli/cli.h"
#include "kube/client/client.h"
#include "kube/informer/informer.h"

#define SL_CLUSTER_TIMEOUT (30 * SL_SEC)
#define SL_CLUSTER_MAX_SERVER 300u

/* The first options of each of these commands, in this order. */
enum cli_cluster_opt {
    SL_CLUSTER_OPT_KUBECONFIG,
    SL_CLUSTER_OPT_CONTEXT,
    SL_CLUSTER_OPT_TIMEOUT,
    SL_CLUSTER_OPT_END,
};
#define SL_CLUSTER_OPTS                                                                            \
    [SL_CLUSTER_OPT_KUBECONFIG] = {"kubeconfig",                                                   \
                                   SL_OPT_FILE,                                                    \
                                   "FILE",                                                         \
                                   "kubeconfig file (KUBECONFIG, the in-cluster service account, " \
                                   "~/.kube/config)",                                              \
                                   NULL,                                                           \
                                   0},                                                             \
    [SL_CLUSTER_OPT_CONTEXT] = {"context", SL_OPT_TEXT,                                            \
                                "NAME",    "context of the kubeconfig (the current one)",          \
                                NULL,      0},                                                     \
    [SL_CLUSTER_OPT_TIMEOUT] = {                                                                   \
        "timeout", SL_OPT_SPAN, "DUR", "how long to wait for the API server (30s)", NULL, 0}
#define SL_CLUSTER_EXITS 4u
extern const struct cli_example cli_cluster_exits[SL_CLUSTER_EXITS];

struct cli_cluster {
    const struct cli_args *args;
    /* Set by the command. 'turn' does what is due, after callbacks of the client and at the time
     * that it puts into *next (mono); it returns true when everything is done. 'reading' says how
     * far the lists are. */
    bool (*turn)(struct cli_cluster *c, sl_time *next);
    void (*reading)(struct cli_cluster *c, struct sl_inf_reading *ret);

    struct sl_kube_client *kube;
    struct sl_err *err; /* of the run */
    /* Private. */
    uv_loop_t loop;
    uv_prepare_t before; /* runs before each wait for I/O */
    uv_timer_t timer, deadline, drawing;
    uv_signal_t on_int, on_term;
    struct sl_curl_client *client;
    char server[SL_CLUSTER_MAX_SERVER];
    struct cli_progress progress;
    int result;
    bool arrived;
};

/* Loads the kubeconfig. Then 'kube' can be used. */
int cli_cluster_open(struct cli_cluster *c, const struct cli_args *a,
                     struct sl_err *err) _must_check_;
/* Runs until 'turn' is done: 0. Otherwise why not: no answer, no rights, not in time, Ctrl-C. */
int cli_cluster_run(struct cli_cluster *c, struct sl_err *err) _must_check_;
/* For commands that go on: what was waited for is here. No timeout any more, and Ctrl-C is an end
 * like any other. */
void cli_cluster_arrived(struct cli_cluster *c);
void cli_cluster_close(struct cli_cluster *c);

/* A wrong command line; its message is in err. */
int cli_cluster_misuse(const struct cli_args *a, const struct sl_err *err);
/* A line on standard error, without bytes that a terminal obeys. */
void cli_cluster_note(const struct cli_args *a, const char *fmt, ...) _printf_(2, 3);
/* What a FluxJob of this type wraps: "Job"; "" if there is no such type. */
const char *cli_flux_kind(int64_t type);
/* How to get what is missing. */
#define SL_CLUSTER_INSTALL "install it with: kubectl apply --server-side -f deploy/manifests.yaml"

#endif
