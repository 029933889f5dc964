/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MasterQueues (masterqueues.vk.io): resource pools of elsewhere publish over NATS what they have,
 * and each becomes a ResourceFlavor; a ClusterQueue has all of them, and others borrow from it.
 *
 * A controller of its own on the informer kit: it reads MasterQueues, and, once there is one,
 * ResourceFlavors and ClusterQueues, and writes the last two; the manager observes them as
 * anybody's. It is moved by events: messages of pools, changes of objects, and a timer for the next
 * pool that may have gone silent. No I/O and no clock of its own: the API client and the NATS port
 * have both. One thread.
 *
 *     sl_masterqueues_tick(q) after callbacks of the API client, when the NATS port has events, and
 *     at sl_masterqueues_next(q).
 */
#ifndef SL_MANAGER_MASTERQUEUE_MASTERQUEUE_H
#define SL_MANAGER_MASTERQUEUE_MASTERQUEUE_H

#include "kube/client/port.h"
#include "lib/nats/port.h"

/* The flavor of a ClusterQueue without any live pool; no such object exists. */
#define SL_MQ_NO_FLAVOR "non-existing-flavor-proxy-for-inactive-pools"
/* Of a ResourceFlavor: group, pool and the last payload, so that a restart does not lose them. */
#define SL_MQ_POOL_ANNOTATION "masterqueues.vk.io/pool"
/* A pool is dropped when it was silent for poolTimeout and this. */
#define SL_MQ_GRACE (5 * SL_SEC)
/* Kept of one MasterQueue; further ones are counted. */
#define SL_MQ_MAX_POOLS 256u
/* Connections to NATS, of all MasterQueues. */
#define SL_MQ_MAX_LINKS 16u
/* What messages that wait may take, and connections. */
#define SL_MQ_MEMORY (SL_NATS_MAX_WAITING_BYTES + SL_NATS_MAX_CONNECTION_BYTES)
/* Flavors of a ClusterQueue, as its schema has it. */
#define SL_MQ_MAX_FLAVORS 64u

struct sl_metrics;

struct sl_masterqueues_spec {
    struct sl_kube_client *client;
    struct sl_nats_port *nats;
    struct sl_metrics *metrics; /* NULL: none */
    const char *own_ns;         /* where Secrets with credentials are read, and nowhere else */
    const char *instance;       /* reportingInstance of events */
    uint64_t seed;              /* for jitter */
    bool standby;               /* begins without writing */
    /* Does admitted work still use this flavor, in whatever queue? NULL: nothing does. */
    bool (*flavor_used)(void *ctx, const char *flavor);
    void *ctx;
};

struct sl_masterqueues;

struct sl_masterqueues *sl_masterqueues_new(const struct sl_masterqueues_spec *spec);
void sl_masterqueues_free(struct sl_masterqueues *q);
void sl_masterqueues_tick(struct sl_masterqueues *q);
sl_time sl_masterqueues_next(const struct sl_masterqueues *q); /* mono */
/* A standby reads everything, NATS included, and writes nothing; but Secrets, and what they give
 * access to, it reads when it leads. Pools that it has not heard it then takes from the flavors. */
void sl_masterqueues_lead(struct sl_masterqueues *q, bool lead);
/* Nothing to read or to write: at rest until something outside happens. */
bool sl_masterqueues_idle(const struct sl_masterqueues *q);

#endif
