/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet of `sluice up`: pods bound to the node of this machine become processes; pods bound
 * to simulated nodes last as long as an annotation specifies. Reports Nodes, Leases and pod
 * statuses through the API client interface as a kubelet does.
 *
 * Events of the loop (the exit of a process, output) only enqueue pods for reconciliation:
 * sl_kubelet_tick has to be called in every iteration of the loop, and at sl_kubelet_next.
 */
#ifndef SL_CLUSTER_KUBELET_KUBELET_H
#define SL_CLUSTER_KUBELET_KUBELET_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "kube/client/port.h"
#include "kube/types/exec_session.h"

struct uv_loop_s;
struct sl_kubelet;

#define SL_RUN_FOR                                                                                 \
    "sluice.dev/run-for" /* of a pod: how long it runs on a simulated node, "90s"                  \
                          */
#define SL_MAX_SIM_NODES 100000u
#define SL_MAX_VIRTUAL_NODES 64u
/* Of a pod: the pool of elsewhere that is to run it. On a virtual node it has one, or it fails. */
#define SL_POOL_TOLERATION "pool.vk.io"

/* With simulated nodes, that of the machine has the taint sluice.dev/real:NoSchedule and accepts
 * only pods that tolerate it. Simulated ones are called sim-0000, sim-0001 ... and have the label
 * sluice.dev/simulated. A Node that another client creates with this label is treated like them.
 * Virtual nodes are simulated ones as interLink's virtual kubelet makes them; that of the machine
 * stays open to all beside them. */

struct sl_kubelet_sim_nodes {
    uint32_t count;
    const char *cpu, *memory, *gpu,
        *pods;                        /* quantities of each; NULL: "32", "128Gi", none, "110" */
    const char *const *labels;        /* "key=value", NULL-terminated; NULL: none */
    const char *const *virtual_nodes; /* names, the same */
};

struct sl_kubelet_spec {
    struct uv_loop_s *loop;
    struct sl_kube_client *client;
    const char *dir;  /* for logs and volumes; made if it is not there */
    const char *node; /* name of this machine; NULL: no pods run here as processes */
    const char *api;  /* where pods find the API server, "127.0.0.1:6443"; NULL: they do not */
    uint64_t files;   /* that a container may open; 0: as many as we */
    /* Sets the time of a simulated node's Lease to now. SL_ENOENT: there is none. NULL: simulated
     * nodes have no Leases. */
    int (*renew_lease)(void *ctx, const char *node, struct sl_err *err);
    void *ctx;
    struct sl_kubelet_sim_nodes sim;
};

/* Can these be names of virtual nodes beside that of this machine? */
int sl_kubelet_virtual_nodes_check(const char *const *names, const char *own,
                                   struct sl_err *err) _must_check_;

int sl_kubelet_new(const struct sl_kubelet_spec *spec, struct sl_kubelet **ret,
                   struct sl_err *err) _must_check_;
/* Terminates all pods: SIGTERM, and SIGKILL after grace_ms. Returns when all have exited; nothing
 * is written afterwards. The next run finds their processes lost, as a kubelet after a reboot. */
void sl_kubelet_stop(struct sl_kubelet *r, uint32_t grace_ms);
/* The loop has to iterate once more, to close the handles. */
void sl_kubelet_free(struct sl_kubelet *r);
void sl_kubelet_tick(struct sl_kubelet *r);
sl_time sl_kubelet_next(const struct sl_kubelet *r);
/* Is this node one of those whose pods run, or are simulated, here? ('ctx' is the runtime.) */
bool sl_kubelet_has_node(void *ctx, const char *node);
/* Nodes are there and ready. */
bool sl_kubelet_ready(const struct sl_kubelet *r);

/*
 * Logs, in the form of struct sl_api_kubelet of the API server ('ctx' is the runtime). The bytes
 * are lines of the container runtime interface, complete ones whenever the present end was reached:
 *
 *     2026-01-31T12:00:00.123456789Z stdout F text
 *
 * With P instead of F the line continues in the next record of the same stream (or ends without a
 * newline, if it is the last). Offsets count these bytes.
 */
int sl_kubelet_log_open(void *ctx, const char *ns, const char *pod, const char *uid,
                        const char *container, bool previous, void **ret,
                        struct sl_err *err) _must_check_;
size_t sl_kubelet_log_read(void *ctx, void *log, uint64_t offset, struct sl_buf *out,
                           bool *ret_end);
void sl_kubelet_log_close(void *ctx, void *log);

/*
 * Exec sessions of containers, in the same form (kube/types/exec_session.h describes the events).
 * An open session belongs to the caller until it closes it, also after 'ended', and even after
 * sl_kubelet_free.
 *
 * When the container ends, so does a command in it, with 137; an attached session ends with the
 * code of the container. Nothing in 'argv' is expanded.
 */
#define SL_MAX_SESSIONS 1024u
#define SL_MAX_POD_SESSIONS 64u
#define SL_EXEC_BURST 512
#define SL_EXEC_PER_SECOND 64
/* SL_ENOENT: there is no such container, or it is not running; SL_ELIMIT: too many sessions. A
 * command that cannot be started is not an error here: 'ended' reports it, with 126 or 127. */
int sl_kubelet_session_open(void *ctx, const struct sl_exec_session_spec *s,
                            const struct sl_exec_session_events *ev, void *events_ctx, void **ret,
                            struct sl_err *err) _must_check_;
/* Always accepted; or ignored, if the process does not read or there was no 'in'. False:
 * backpressure, more than 64 KiB are queued; send no more before ev->writable is called. */
bool sl_kubelet_session_input(void *ctx, void *session, const char *bytes, size_t len);
/* A command gets end of file on its input; a container only with stdinOnce. */
void sl_kubelet_session_input_end(void *ctx, void *session);
/* Of its terminal; nothing without one. */
void sl_kubelet_session_size(void *ctx, void *session, uint16_t cols, uint16_t rows);
/* Backpressure of the listener: no output is delivered meanwhile (the end may be, if all output
 * was). A command is blocked then; of a container, which is not, 256 KiB are buffered, and one line
 * reports how much more was lost. */
void sl_kubelet_session_hold(void *ctx, void *session, bool hold);
/* The client is gone: so is the command, with its children. A container stays. */
void sl_kubelet_session_close(void *ctx, void *session);

#endif
