/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager: everything between the API client interface and the engine. Informers (reflectors
 * with caches of small records) feed work queues, controllers are level-triggered functions from
 * records to pending changes, the engine decides, and one write queue writes. No I/O of its own, no
 * blocking, no clock but that of the API client: it runs as well over an in-memory API under a
 * virtual clock. One thread.
 *
 *     sl_manager_tick(m) after callbacks of the API client and at sl_manager_next(m).
 */
#ifndef SL_MANAGER_CONTROLLERS_CORE_MANAGER_H
#define SL_MANAGER_CONTROLLERS_CORE_MANAGER_H

#include "core/base/buf.h"
#include "kube/client/port.h"
#include "lib/metrics/metrics.h"
#include "manager/admission/view.h"

/* Which parts run (--controllers). */
struct sl_manager_parts {
    bool core, scheduler, tas, provisioning, elasticjobs;
    bool jobkinds;    /* kinds of jobs in ConfigMaps of users */
    bool masterqueue; /* a controller beside the manager (manager/masterqueue) */
    bool minicluster; /* the same (manager/minicluster) */
    bool fluxqueue;   /* the queue on the resource graph; intercepts what opted in */
    bool framework[SL_FW_COUNT];
};

struct sl_manager_spec {
    struct sl_kube_client *client;
    const struct sl_settings *settings; /* stays valid until replaced by sl_manager_configure */
    struct sl_manager_parts parts;
    struct sl_strs annotations_to_copy;
    struct sl_metrics *metrics; /* NULL: none */
    sl_time (*stopwatch)(void); /* for durations in the metrics; NULL: they are not measured */
    const char *instance;       /* reportingInstance of events */
    uint64_t seed;              /* for jitter */
    bool standby;               /* begins without writing */
};

struct sl_manager;

struct sl_manager *sl_manager_new(const struct sl_manager_spec *spec);
void sl_manager_free(struct sl_manager *m);
void sl_manager_tick(struct sl_manager *m);
/* When tick has to come again (mono), SL_TIME_NEVER if only the port can move it. */
sl_time sl_manager_next(const struct sl_manager *m);
/* The first lists are in and have been understood. */
bool sl_manager_ready(const struct sl_manager *m);
/* A standby reads everything and writes nothing. */
void sl_manager_lead(struct sl_manager *m, bool lead);
/* New settings and enabled controllers from now on; the old settings may be freed after the call.
 * What a new controller needs is listed before anything more is decided. The cache of a disabled
 * controller is still maintained, and not reconciled: an object without a controller is not a
 * deleted one. */
void sl_manager_configure(struct sl_manager *m, const struct sl_settings *settings,
                          const struct sl_manager_parts *parts);
/* State that admission reads. 'webhook' is for the caller to fill in. */
struct sl_review_view *sl_manager_view(struct sl_manager *m);
/* Nothing dirty, nothing to write: at rest until something outside happens. */
bool sl_manager_idle(const struct sl_manager *m);
/* Gauges that are cheaper to read out now and then than to keep; called before /metrics is printed.
 */
void sl_manager_refresh_metrics(struct sl_manager *m);
/*
 * The state as canonical JSON: queues with their usage and lines, workloads with phase and
 * assignment. Two managers over the same API, both at rest, print the same.
 */
void sl_manager_dump(const struct sl_manager *m, struct sl_buf *out);

/* Does a Workload hold quota of this flavor, in whatever queue? */
bool sl_manager_flavor_used(const struct sl_manager *m, const char *flavor);

/* Where exact nodes come from; NULL: from nowhere any more. Before the first tick. */
struct sl_fluxqueue;
void sl_manager_nodes(struct sl_manager *m, struct sl_fluxqueue *nodes);

struct sl_engine;
struct sl_engine *sl_manager_engine(struct sl_manager *m);
/* Do the records, the engine and its sums agree? For tests. */
int sl_manager_check(const struct sl_manager *m, struct sl_err *err) _must_check_;

#endif
