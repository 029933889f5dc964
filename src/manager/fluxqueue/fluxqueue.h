/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue on the resource graph: FluxJobs (fluxjobs.jobs.converged-computing.org) wrap Jobs, pods
 * and sets of pods; each is matched on a graph of the live nodes, waits, is reserved or backfilled,
 * and its pods are bound to exactly the nodes that the graph gave.
 *
 * A controller of its own on the informer kit. It reads nodes, all pods (those of others take
 * resources too), what admission marked (manager/admission/fluxqueue.h), and FluxJobs; it writes
 * FluxJobs, starts what they wrap, and is the scheduler FluxionScheduler. The API is the truth: the
 * graph and the queue are made of what it lists, and a process that starts anew makes the same of
 * it. No I/O and no clock of its own. One thread.
 *
 *     sl_fluxqueue_tick(q) after callbacks of the API client and at sl_fluxqueue_next(q).
 */
#ifndef SL_MANAGER_FLUXQUEUE_FLUXQUEUE_H
#define SL_MANAGER_FLUXQUEUE_FLUXQUEUE_H

#include "core/base/buf.h"
#include "core/graph/queue.h"
#include "kube/client/port.h"
#include "lib/ledger/ledger.h"
#include "manager/config/config.h"

struct sl_fluxqueue_spec {
    struct sl_kube_client *client;
    const struct sl_settings *settings; /* stays valid until replaced by sl_fluxqueue_configure */
    struct sl_ledger *ledger;           /* NULL: none */
    const char *instance;               /* reportingInstance of events */
    const char *ns;                     /* of the ConfigMap with the last job id; NULL: our own */
    uint64_t seed;                      /* for jitter */
    bool standby;                       /* begins without deciding and writing */
    bool eager; /* reads nodes and pods from the beginning, not with the first thing to queue */
};

struct sl_fluxqueue;

struct sl_fluxqueue *sl_fluxqueue_new(const struct sl_fluxqueue_spec *spec);
void sl_fluxqueue_free(struct sl_fluxqueue *q);
void sl_fluxqueue_tick(struct sl_fluxqueue *q);
sl_time sl_fluxqueue_next(const struct sl_fluxqueue *q); /* mono */
/* A standby reads everything and decides nothing. */
void sl_fluxqueue_lead(struct sl_fluxqueue *q, bool lead);
/* New settings from now on; the old ones may be freed after the call. */
void sl_fluxqueue_configure(struct sl_fluxqueue *q, const struct sl_settings *settings);
/* The first lists are in. */
bool sl_fluxqueue_ready(const struct sl_fluxqueue *q);
/* Nothing to read, to decide or to write: at rest until something outside happens. */
bool sl_fluxqueue_idle(const struct sl_fluxqueue *q);

/* How far the first lists are (kube/informer/informer.h). */
struct sl_inf_reading;
void sl_fluxqueue_reading(const struct sl_fluxqueue *q, struct sl_inf_reading *ret);

/* The graph with what jobs and pods of others have of it; NULL while there are no nodes. */
const struct sl_match *sl_fluxqueue_match(const struct sl_fluxqueue *q);
/* The state as canonical JSON: two of them over the same API, both at rest, print the same. */
void sl_fluxqueue_dump(const struct sl_fluxqueue *q, struct sl_buf *out);

#endif
