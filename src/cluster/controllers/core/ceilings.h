/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of the controllers of `sluice up` in one list. An object that
 * exceeds one is ignored with an event or a condition and a log line; see docs/limits.md.
 */
#ifndef SL_CLUSTER_CONTROLLERS_CORE_CEILINGS_H
#define SL_CLUSTER_CONTROLLERS_CORE_CEILINGS_H

#include <stddef.h>
#include <stdint.h>

/* ---- memory while one object is read or written ---- */
#define CL_MAX_COPY ((size_t)8 << 20) /* a part of an object, as text: longer than any object */
#define CL_MAX_POD ((size_t)3 << 20)  /* a pod that is made of a template */
#define CL_MAX_ANNOTATIONS ((size_t)2 << 20) /* of a ReplicaSet, from its Deployment */
#define CL_MAX_SELECTOR ((size_t)64 << 20)   /* of an owner of pods, for as long as it is there */
#define CL_MAX_LABELS ((size_t)4 << 20)      /* of a Namespace, the same */

/* ---- numbers ---- */
#define CRON_MAX_ACTIVE 1024u   /* Jobs of a CronJob: more its status may not list */
#define SS_MAX_PODS 100000      /* of a StatefulSet */
#define JOB_MAX_UNCOUNTED 500u  /* pods that the status of a Job names at a time */
#define JOB_MAX_AT_ONCE 500     /* pods created or ended in one reconcile */
#define NET_MAX_ADDRESSES 1000u /* of an Endpoints, as on a cluster */
#define NET_MAX_ENDPOINTS 100u  /* of an EndpointSlice, the same */
#define DS_MAX_AT_ONCE 250      /* pods of a DaemonSet that are created in one reconcile */
#define GC_MAX_RESOURCES 4096u
#define GC_MAX_OWNERS 64u                /* of an object */
#define GC_MAX_NODES (UINT32_C(1) << 24) /* objects */
#define CL_MAX_EVENTS 8192u              /* to be written, or may become a series */
#define CL_MAX_IN_FLIGHT 64u             /* writes */

#endif
