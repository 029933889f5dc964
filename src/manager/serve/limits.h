/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory limits of the pod: the sum of everything that can be in use at once stays below the limit
 * of deploy/parts/30-manager.yaml. A limit that is raised without another being lowered does not
 * compile. docs/limits.md has the same table. One thread does all work, so that one thing is done
 * at a time: a review is answered, or an observed object is reconciled.
 */
#ifndef SL_MANAGER_SERVE_LIMITS_H
#define SL_MANAGER_SERVE_LIMITS_H

#include "kube/client/limits.h"
#include "lib/http/server.h"
#include "lib/ledger/ceilings.h"
#include "manager/admission/convert.h"
#include "manager/admission/review.h"
#include "manager/controllers/core/ceilings.h"
#include "manager/masterqueue/masterqueue.h"

#define SL_POD_MEMORY ((size_t)584 << 20) /* deploy/assemble --check compares */
#define SL_POD_STATE ((size_t)64 << 20)   /* of that, for the program, queues, workloads, nodes */

/* Each front end has its own connections, so that a flood of one does not affect another. Together
 * with other open files (the client's, configuration) they stay below the default limit of 1,024
 * files per process. */
#define SL_WEBHOOK_CONNECTIONS 512u
#define SL_METRICS_CONNECTIONS 64u
#define SL_PROBE_CONNECTIONS 64u
#define SL_VISIBILITY_CONNECTIONS 128u
#define SL_FRONT_CONNECTIONS                                                                       \
    (SL_HTTP_CONNECTIONS(SL_WEBHOOK_CONNECTIONS) + SL_HTTP_CONNECTIONS(SL_METRICS_CONNECTIONS) +   \
     SL_HTTP_CONNECTIONS(SL_PROBE_CONNECTIONS) + SL_HTTP_CONNECTIONS(SL_VISIBILITY_CONNECTIONS))

/* Bodies that are being received; and large responses that are being written or are not read
 * yet. */
#define SL_WEBHOOK_BODIES ((size_t)44 << 20)
#define SL_WEBHOOK_ANSWERS SL_CONVERT_ANSWER_BYTES
#define SL_SMALL_BODIES ((size_t)256 << 10) /* metrics and visibility, each */
#define SL_METRICS_ANSWERS ((size_t)16 << 20)
#define SL_VISIBILITY_ANSWERS ((size_t)8 << 20)
#define SL_PROBE_BODIES ((size_t)64 << 10)
#define SL_PROBE_ANSWERS ((size_t)64 << 10)

#define SL_FRONT_MEMORY                                                                            \
    (SL_WEBHOOK_BODIES + SL_WEBHOOK_ANSWERS + 2 * SL_SMALL_BODIES + SL_METRICS_ANSWERS +           \
     SL_VISIBILITY_ANSWERS + SL_PROBE_BODIES + SL_PROBE_ANSWERS +                                  \
     SL_FRONT_CONNECTIONS * SL_HTTP_CONNECTION_BYTES)

/* What is being done. */
#define SL_WORK_MEMORY SL_CONVERT_MEMORY
_Static_assert(SL_REVIEW_MEMORY <= SL_WORK_MEMORY, "a review takes more than a conversion");
_Static_assert(CEILING_WORK <= SL_WORK_MEMORY, "a decision takes more than a conversion");
_Static_assert(SL_ARENA_MOST(CEILING_PLACES) + SL_ARENA_MOST(CEILING_PODSETS) +
                       2 * SL_CONVERT_MAX_BYTES <=
                   SL_WORK_MEMORY,
               "places take more than a conversion");

_Static_assert(SL_FRONT_MEMORY + SL_CURL_CLIENT_MEMORY + SL_MQ_MEMORY + SL_LEDGER_MEMORY +
                       SL_WORK_MEMORY + SL_POD_STATE <=
                   SL_POD_MEMORY,
               "the ceilings exceed the pod");
_Static_assert(SL_FRONT_CONNECTIONS <= 1024 - 128, "the front ends exceed the files of a process");
_Static_assert(SL_CONVERT_BODY_BYTES <= SL_WEBHOOK_BODIES * 3 / 4 &&
                   SL_REVIEW_MAX_BYTES <= SL_CONVERT_BODY_BYTES,
               "the largest body has no room");

#endif
