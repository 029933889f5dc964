/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory limits of the reconciliation of one object, in one list. Each arena holds what is decoded
 * of it, while it is reconciled or, for nodes, cached. An object that needs more is ignored with a
 * log line: a part of it would have another meaning.
 */
#ifndef SL_MANAGER_CONTROLLERS_CORE_CEILINGS_H
#define SL_MANAGER_CONTROLLERS_CORE_CEILINGS_H

#include "core/base/arena.h"
#include "kube/client/limits.h"

#define CEILING_NODE ((size_t)4 << 20)     /* labels, taints and amounts of a Node */
#define CEILING_OBJECT ((size_t)16 << 20)  /* a queue, a flavor, a check */
#define CEILING_POD ((size_t)16 << 20)     /* the requests of a pod */
#define CEILING_PODSETS ((size_t)16 << 20) /* all podsets of a workload, and their places */
#define CEILING_PLACES ((size_t)32 << 20)  /* the places that a workload holds */
#define CEILING_RANKS ((size_t)32 << 20)   /* places and ranks of the pods of one podset */
/* Assignments of the engine, which have their own limits (core/model/specs.h). */
#define CEILING_ASSIGNED ((size_t)16 << 20)

/* Requests of the templates of a workload, as text, and its values: nodes of 56 bytes while they
 * are decoded and after, and 16 before. A template is 1.5 MiB at most, and most of it does not
 * count. */
#define CEILING_ASKED_TEXT ((size_t)6 << 20)
#define CEILING_ASKED_VALUES (UINT32_C(256) << 10)

/* Series of one ClusterQueue for what its pending workloads request: these choose the names of
 * resources. More than a queue can cover. */
#define CEILING_PENDING_SERIES 512u

/* A Workload that comes in and is read. What else is decided takes less. */
#define CEILING_WORK                                                                               \
    (SL_OBJECT_MEMORY + 3 * CEILING_ASKED_TEXT + (56 + 56 + 16) * (size_t)CEILING_ASKED_VALUES +   \
     SL_ARENA_MOST(CEILING_PODSETS))

#endif
