/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that the queue on the resource graph shares with its users: labels, annotations and the
 * scheduling gate of fluxqueue, kept as they are, and what was added to them. Shared by admission
 * and the controller (manager/fluxqueue).
 */
#ifndef SL_MANAGER_ADMISSION_FLUXQUEUE_H
#define SL_MANAGER_ADMISSION_FLUXQUEUE_H

#include "core/base/macros.h"

#define SL_FLUX_API "jobs.converged-computing.org/v1alpha1"
#define SL_FLUX_GATE "fluxqueue"
#define SL_FLUX_SCHEDULER "FluxionScheduler"
#define SL_FLUX_SCHEDULER_SHORT "sluice" /* the same scheduler by another name */

/* Labels of intercepted objects and their pods. */
#define SL_FLUX_SEEN "fluxqueue.seen"         /* "yes": intercepted */
#define SL_FLUX_SELECTOR "fluxqueue.selector" /* of the pods of a set: KIND-NAME-NAMESPACE */
#define SL_FLUX_JOBID "fluxqueue/jobid"
#define SL_FLUX_NODES "fluxqueue/fluxion-nodes" /* names joined by "__"; a label if that fits */
#define SL_FLUX_UNSCHEDULABLE "fluxqueue/unschedulable" /* "yes": it can never run */

/* A label of an object or of its namespace: "true" opts in, "false" on an object opts out. */
#define SL_FLUX_MANAGED "fluxqueue/managed"

/* Annotations (or labels, where both are named) of an object that is queued. */
#define SL_FLUX_QUEUE "fluxqueue/queue"             /* label or annotation: name of the queue */
#define SL_FLUX_DURATION "fluxqueue/duration"       /* "90", "90s", "1h30m" */
#define SL_FLUX_BEGIN "fluxqueue/begin-time"        /* RFC 3339, or seconds since 1970 */
#define SL_FLUX_WHOLE_NODES "fluxqueue/whole-nodes" /* "true": nothing else on its nodes */
#define SL_FLUX_WITHIN "fluxqueue/within"           /* a level: all pods in one rack */
#define SL_FLUX_TASKS_PER_NODE "fluxqueue/tasks-per-node" /* exactly so many pods on each node */
#define SL_FLUX_GROUP "fluxqueue/group-name"              /* label: pods that are one job */
#define SL_FLUX_GROUP_SIZE "fluxqueue/group-size"         /* annotation or label: how many */
#define SL_FLUX_JOBSPEC "fluxqueue/jobspec"               /* a Flux jobspec, taken as it is */

/* The type of a FluxJob: what it wraps. The numbers are those of spec.type. */
enum sl_flux_type {
    SL_FLUX_POD,
    SL_FLUX_JOB,
    SL_FLUX_DEPLOYMENT,
    SL_FLUX_REPLICASET,
    SL_FLUX_STATEFULSET,
    SL_FLUX_POD_GROUP,
    SL_FLUX_TYPES,
};

#endif
