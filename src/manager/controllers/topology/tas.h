/* SPDX-License-Identifier: Apache-2.0 */
/* What topology-aware scheduling keeps. Private to the folder. */
#ifndef SL_MANAGER_CONTROLLERS_TOPOLOGY_TAS_H
#define SL_MANAGER_CONTROLLERS_TOPOLOGY_TAS_H

#include "core/topo/topo.h"
#include "manager/controllers/core/records.h"

struct mgr_tas {
    struct sl_topo *topo;     /* NULL: no places are assigned */
    bool places_news;         /* capacity may have become free */
    bool node_failed;         /* a node of a placed workload, or may have ... */
    bool replacement_pending; /* ... and not all got another place */
    bool exact;               /* a queue wants exact nodes, or a workload has some */
    bool late;                /* a check waits for nodes */
    uint64_t nodes_version;   /* of the graph of nodes, when it was last asked */
};

#endif
