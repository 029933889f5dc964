/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice serve`: the manager over a real API server, with its webhooks, metrics and probes, on one
 * libuv loop.
 */
#ifndef SL_MANAGER_SERVE_SERVE_H
#define SL_MANAGER_SERVE_SERVE_H

#include "core/base/err.h"

struct sl_serve_options {
    const char *kubeconfig;  /* NULL: KUBECONFIG, the in-cluster account, the user's own file */
    const char *config;      /* NULL: only defaults */
    const char *controllers; /* NULL: as configured; "": none */
    const char
        *webhooks; /* NULL: those of the enabled integrations; "": only the queueing kinds' own */
    const char *gates;
    const char *annotations_to_copy;
    const char *ledger; /* a path or a URL; NULL: as configured */
    bool insecure_metrics;
};

/* Runs until SIGTERM or SIGINT. */
int sl_serve(const struct sl_serve_options *o, struct sl_err *err) _must_check_;

#endif
