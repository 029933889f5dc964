/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `sluice pool publish` and `sluice pool list` share: the options, and a connection to NATS on
 * an event loop of its own that ends with Ctrl-C.
 */
#ifndef SL_CMD_CLI_POOL_CMD_H
#define SL_CMD_CLI_POOL_CMD_H

#include <uv.h>

#include "cmd/cli/cli.h"
#include "core/base/time.h"
#include "lib/nats/client.h"

enum cli_pool_opt {
    SL_POOL_OPT_CONNECTOR,
    SL_POOL_OPT_SUBJECT,
    SL_POOL_OPT_CA,
    SL_POOL_OPT_CREDS,
    SL_POOL_OPT_WAIT,
    SL_POOL_OPT_POOL,
    SL_POOL_OPT_CPU,
    SL_POOL_OPT_MEMORY,
    SL_POOL_OPT_PODS,
    SL_POOL_OPT_GPU,
    SL_POOL_OPT_RESOURCE,
    SL_POOL_OPT_LABEL,
    SL_POOL_OPT_TAINT,
    SL_POOL_OPT_EVERY,
    SL_POOL_OPT_COUNT,
    SL_POOL_OPT_OUTPUT,
    SL_POOL_OPT_END,
};

struct cli_pool {
    const struct cli_args *args;
    uv_loop_t loop;
    uv_prepare_t before; /* runs before each wait for I/O */
    uv_timer_t timer, deadline;
    uv_signal_t on_int, on_term;
    struct sl_nats_client *client;
    struct sl_nats_port *port;
    sl_nats_conn conn;
    bool was_up;
    uint32_t n_errors;                /* that the server reported */
    char why[200];                    /* it is not connected; "": it is */
    void (*turn)(struct cli_pool *p); /* may be NULL */
    void (*message)(struct cli_pool *p, const struct sl_nats_event *event); /* may be NULL */
    void (*stop)(struct cli_pool *p);                                       /* Ctrl-C */
};

/* A wrong command line; its message is in err. */
int cli_pool_misuse(const struct cli_args *a, const struct sl_err *err);
/* The subject without the name of a pool. */
const char *cli_pool_subject(const struct cli_args *a);
/* An option with a time, or the default. */
sl_span cli_pool_span(const struct cli_args *a, enum cli_pool_opt opt, sl_span fallback);

/* Starts to connect. The callbacks are set before. */
int cli_pool_open(struct cli_pool *p, const struct cli_args *a, struct sl_err *err) _must_check_;
/* Runs until uv_stop. */
void cli_pool_run(struct cli_pool *p);
void cli_pool_close(struct cli_pool *p);
/* Not connected in time, or refused: why. */
int cli_pool_failure(const struct cli_pool *p, struct sl_err *err) _must_check_;

/* ---- pool_publish.c, pool_list.c ---- */
int cli_pool_publish(const struct cli_args *a, struct sl_err *err) _must_check_;
int cli_pool_list(const struct cli_args *a, struct sl_err *err) _must_check_;

#endif
