/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sum of the memory limits of `sluice up`. One thread does all work, so that one request is served,
 * one object reconciled or one container started at a time, and the most expensive of them counts.
 * docs/limits.md has the same table; the test up_limits compares.
 *
 * Not in the sum, since it grows with the content: the caches of stored objects, the schemas of
 * definitions (at most SL_UP_DEFINITION each) and their documents, sessions (SL_UP_SESSION each),
 * and pending calls (SL_API_OPEN_CALLS): one that waits for the disk holds its response, one that
 * waits for a webhook all of its input.
 */
#ifndef SL_CLUSTER_UP_LIMITS_H
#define SL_CLUSTER_UP_LIMITS_H

#include "cluster/apiserver/ceilings.h"
#include "cluster/controllers/core/ceilings.h"
#include "cluster/kubelet/limits.h"
#include "cluster/scheduler/ceilings.h"
#include "lib/http/server.h"
#include "lib/ledger/ceilings.h"
#include "manager/controllers/core/ceilings.h"
#include "manager/masterqueue/masterqueue.h"

#define SL_UP_BODIES ((size_t)64 << 20) /* that are coming */
#define SL_UP_CONNECTIONS 16384u

#define SL_UP_CONNECTION_MEMORY (SL_HTTP_CONNECTIONS(SL_UP_CONNECTIONS) * SL_HTTP_CONNECTION_BYTES)
#define SL_UP_FRONT_MEMORY                                                                         \
    (SL_UP_BODIES + SL_HTTP_ANSWERS + SL_HTTP_STREAMS_MOST + SL_UP_CONNECTION_MEMORY)

#define SL_UP_WORK_MEMORY API_WORK_MEMORY
_Static_assert(CEILING_WORK <= SL_UP_WORK_MEMORY, "a decision takes more than a request");
_Static_assert(SL_ARENA_MOST(SCHED_MAX_AFFINITY) + SL_ARENA_MOST(SCHED_MAX_CLASS) +
                       2 * SCHED_MAX_TEXT + SL_ARENA_MOST(CL_MAX_SELECTOR) + 4 * CL_MAX_COPY <=
                   SL_UP_WORK_MEMORY,
               "placing a pod takes more than a request");
_Static_assert(SL_ARENA_MOST(MAX_LAUNCH) + MAX_WRITTEN + SL_ARENA_MOST(MAX_FILE) +
                       SL_ARENA_MOST(SPEC_MAX_ARENA) + SPEC_MAX_BYTES + LOG_TEXT <=
                   SL_UP_WORK_MEMORY,
               "starting a container takes more than a request");

#define SL_UP_MEMORY                                                                               \
    (SL_UP_FRONT_MEMORY + API_STATE_MEMORY + SL_MQ_MEMORY + SL_LEDGER_MEMORY + SL_UP_WORK_MEMORY)
_Static_assert(SL_UP_MEMORY <= (size_t)17 << 30, "the ceilings add up to more than 17 GiB");

/* Besides; docs/limits.md has these numbers, too. */
#define SL_UP_DEFINITION (SL_ARENA_MOST(API_CRD_ARENA) + SL_ARENA_MOST(SCHEMA_CRD_ARENA))
#define SL_UP_SESSION (EXEC_BUFFER + INPUT_MAX)

#endif
