/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the cluster that admission needs, read through a table of functions so that the rules
 * can be tested without one. It is in memory: no handler waits for the API server.
 */
#ifndef SL_MANAGER_ADMISSION_VIEW_H
#define SL_MANAGER_ADMISSION_VIEW_H

#include <yyjson.h>

#include "manager/config/config.h"

struct sl_jobkind_need;
struct sl_jobkinds;

/* A controller ownerReference. */
struct sl_review_owner_ref {
    const char *api_version, *kind, *name, *uid;
};

struct sl_review_view {
    void *ctx;
    const struct sl_settings *settings;
    bool webhook[SL_FW_COUNT];       /* enabled admission webhooks */
    bool flux;                       /* is there a queue on the resource graph? */
    const struct sl_jobkinds *kinds; /* kinds of jobs that are not built in; NULL: none */
    /* A LocalQueue that is known and not stopped? */
    bool (*queue_open)(void *ctx, const char *ns, const char *name);
    bool (*queue_exists)(void *ctx, const char *ns, const char *name);
    /* Does its ClusterQueue send work to other clusters (a check of MultiKueue)? */
    bool (*queue_dispatches)(void *ctx, const char *ns, const char *name);
    /* Does managedJobsNamespaceSelector choose this namespace? An unknown namespace counts by its
     * name label alone. */
    bool (*ns_managed)(void *ctx, const char *ns);
    /* Does fluxqueue.namespaceSelector choose this namespace? An unknown one counts as chosen: it
     * is newer than the cache, and the API server sends only what is in chosen ones. */
    bool (*ns_flux)(void *ctx, const char *ns);
    /* Is there, going up from this owner, a job of an enabled kind that is managed (has a queue
     * name, or jobs without one are managed)? */
    bool (*owner_managed)(void *ctx, const char *ns, const struct sl_review_owner_ref *owner);
    bool (*priority_class_exists)(void *ctx, const char *name); /* WorkloadPriorityClass */
    /* The runtime that a TrainJob needs, to be freed; NULL: there is none. */
    yyjson_doc *(*runtime)(void *ctx, const char *ns, const struct sl_jobkind_need *need);
};

#endif
