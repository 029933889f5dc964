/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice up`: a cluster on one machine, in one process on one loop. The API server over its store,
 * the queue manager, Kubernetes' own controllers and a kubelet, all through the same API client
 * interface; and an HTTPS front end for kubectl and other clients.
 */
#ifndef SL_CLUSTER_UP_UP_H
#define SL_CLUSTER_UP_UP_H

#include "cluster/kubelet/kubelet.h"
#include "core/base/time.h"

enum sl_up_step {
    SL_UP_BEGIN, /* the data directory exists and the store is open */
    SL_UP_READY, /* clients can come: the kubeconfig is written, nodes are ready */
    SL_UP_ENDING,
};

/* Progress for the user; borrowed. */
struct sl_up_report {
    enum sl_up_step step;
    const char *dir, *kubeconfig, *server;
    const char *node;
    uint64_t objects;
    uint32_t sim_nodes, virtual_nodes;
    sl_span took; /* since the start */
};

struct sl_up_options {
    const char *dir;    /* NULL: where user data belongs */
    const char *listen; /* an address; NULL: loopback */
    uint16_t port;      /* 0: any free one */
    const char *config; /* Kueue's Configuration; NULL: only defaults, with all kinds of jobs */
    const char *gates;
    const char *ledger; /* a path or a URL; NULL: as configured, or a file of the data directory */
    struct sl_kubelet_sim_nodes sim;
    uint32_t off; /* controllers that do not run: sl_up_controllers_parse */
    void *ctx;
    void (*report)(void *ctx, const struct sl_up_report *n);
};

/* Can these be names of virtual nodes here? They are NULL-terminated. */
int sl_up_virtual_nodes_check(const char *const *names, struct sl_err *err) _must_check_;
/* "*,-job-controller": which controllers do not run. */
int sl_up_controllers_parse(const char *list, uint32_t *ret_off, struct sl_err *err) _must_check_;
/* By number, NULL past the last. */
const char *sl_up_controller_name(uint32_t i);
/* Runs until SIGTERM or SIGINT. */
int sl_up(const struct sl_up_options *o, struct sl_err *err) _must_check_;

#endif
