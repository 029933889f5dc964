/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `sluice queue` knows: FluxJobs that have not ended and Workloads that are not admitted, each
 * in the order of its queue. Kept by an informer that only reads (queue_read.c), printed by
 * queue_text.c.
 */
#ifndef SL_CMD_CLI_CLUSTER_QUEUE_CMD_H
#define SL_CMD_CLI_CLUSTER_QUEUE_CMD_H

#include "cmd/cli/cli.h"
#include "kube/informer/informer.h"

#define SL_QUEUE_MAX_MESSAGE 1024u /* bytes of a message that are kept */
#define SL_QUEUE_MAX_ASKED 1024u   /* queues whose order is asked for */

struct cli_queue;
struct cli_queue_spec {
    struct sl_kube_client *client;
    const char *ns;    /* NULL: all namespaces */
    const char *queue; /* only this one; NULL: all */
    bool no_fluxjobs, no_workloads;
    uint64_t seed;
};

enum cli_queue_kind { SL_QUEUE_FLUXJOBS, SL_QUEUE_WORKLOADS };

/* One that waits or runs. Texts belong to the queue. */
struct cli_queue_row {
    enum cli_queue_kind kind;
    const char *queue, *local_queue; /* local_queue: of Workloads */
    const char *ns, *name;
    const char *state, *reason, *message;
    const char *object_kind, *object; /* what it wraps or belongs to; "" */
    const char *nodes;                /* host list; "" */
    int64_t jobid;                    /* 0: none */
    int32_t priority;
    uint32_t position;     /* from 1; 0: none */
    bool position_guessed; /* by priority and age: the API that knows does not answer */
    uint32_t pods, bound;
    uint32_t n_nodes;
    bool reserved;
    sl_time created, submitted, started, estimate; /* wall; 0: none */
};

struct cli_queue *cli_queue_new(const struct cli_queue_spec *spec);
void cli_queue_free(struct cli_queue *q);
void cli_queue_tick(struct cli_queue *q);
sl_time cli_queue_next(const struct cli_queue *q); /* mono */
void cli_queue_reading(const struct cli_queue *q, struct sl_inf_reading *ret);
/* Lists are in, and so is the order of the queues since 'cli_queue_ask'. */
bool cli_queue_ready(const struct cli_queue *q);
/* Has anything changed since the last cli_queue_rows? */
bool cli_queue_changed(const struct cli_queue *q);
/* Asks for the order again. */
void cli_queue_ask(struct cli_queue *q);
/* Is the kind read at all? And does the API server have it? */
bool cli_queue_reads(const struct cli_queue *q, enum cli_queue_kind k);
bool cli_queue_served(const struct cli_queue *q, enum cli_queue_kind k);
/* Rows of a kind, sorted; freed by the caller, good until the next tick. */
struct cli_queue_row *cli_queue_rows(struct cli_queue *q, enum cli_queue_kind k, uint32_t *ret_n);

/* ---- queue_text.c ---- */
void cli_queue_tables(struct cli_queue *q, sl_time now, const struct cli_term *t);
void cli_queue_json(struct cli_queue *q, struct sl_buf *out);

#endif
