/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of the scheduler of `sluice up` in one list. A pod or Node that exceeds one is not
 * considered, with a condition and a log line; see docs/limits.md.
 */
#ifndef SL_CLUSTER_SCHEDULER_CEILINGS_H
#define SL_CLUSTER_SCHEDULER_CEILINGS_H

#include <stddef.h>

#define SCHED_MAX_NODE ((size_t)4 << 20)       /* labels, taints and amounts of a Node */
#define SCHED_MAX_CLASS ((size_t)16 << 20)     /* requests of pods of one class */
#define SCHED_MAX_TEXT ((size_t)2 << 20)       /* the same, as text */
#define SCHED_MAX_AFFINITY ((size_t)256 << 20) /* counts of pods near others, for one decision */
#define SCHED_MAX_RESOURCES 256u /* of all nodes and pods; pods with others stay pending */
/* Of one pod: host ports, terms about other pods and about nodes. One with more is not placed. */
#define SCHED_MAX_PORTS 64u
#define SCHED_MAX_TERMS 64u
#define SCHED_MAX_PREFERRED 64u
#define SCHED_MAX_REQUIRED 1024u /* terms of required node affinity */

#endif
