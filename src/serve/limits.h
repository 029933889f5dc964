/*
 * What the front ends may take of the pod's memory when all that can come at once does: the sum
 * stays below the limit of deploy/parts/30-manager.yaml, with room for the queues themselves. A
 * ceiling that is raised without another being lowered does not compile. docs/limits.md has the
 * same table in words. One thread answers, so one request is read and one answer written at a time.
 */
#ifndef SL_SERVE_LIMITS_H
#define SL_SERVE_LIMITS_H

#include "api/convert.h"
#include "api/review.h"
#include "httpd/httpd.h"

#define SL_POD_MEMORY ((size_t)512 << 20) /* deploy/assemble --check compares */
#define SL_POD_STATE ((size_t)96 << 20)   /* of that, for queues, workloads and the client */

/* Each front end has connections of its own, so that a flood of one does not reach another. With
 * what is open besides (the client's, files) they stay below the 1,024 files that a process gets
 * where nobody has set a limit. */
#define SL_WEBHOOK_CONNECTIONS 512u
#define SL_METRICS_CONNECTIONS 64u
#define SL_PROBE_CONNECTIONS 64u
#define SL_VISIBILITY_CONNECTIONS 128u
#define SL_FRONT_CONNECTIONS                                                                       \
    (SL_HTTP_CONNECTIONS(SL_WEBHOOK_CONNECTIONS) + SL_HTTP_CONNECTIONS(SL_METRICS_CONNECTIONS) +   \
     SL_HTTP_CONNECTIONS(SL_PROBE_CONNECTIONS) + SL_HTTP_CONNECTIONS(SL_VISIBILITY_CONNECTIONS))

/* Bodies that are coming, and large answers that are not read yet. */
#define SL_WEBHOOK_BODIES ((size_t)64 << 20)
#define SL_WEBHOOK_ANSWERS ((size_t)64 << 20)
#define SL_SMALL_BODIES ((size_t)256 << 10) /* metrics and visibility, each */
#define SL_SMALL_ANSWERS ((size_t)8 << 20)

/* A conversion while it is answered: its text once more, 16 bytes for each value, what an object
 * grows by, and the answer. No other request takes as much. */
#define SL_LARGEST_REQUEST                                                                         \
    (SL_CONVERT_BODY_BYTES + 16 * SL_CONVERT_VALUES + SL_CONVERT_MAX_BYTES +                       \
     SL_CONVERT_ANSWER_BYTES)

#define SL_FRONT_MEMORY                                                                            \
    (SL_WEBHOOK_BODIES + SL_WEBHOOK_ANSWERS + SL_LARGEST_REQUEST +                                 \
     2 * (SL_SMALL_BODIES + SL_SMALL_ANSWERS) + SL_FRONT_CONNECTIONS * SL_HTTP_CONNECTION_BYTES)

_Static_assert(SL_FRONT_MEMORY + SL_POD_STATE <= SL_POD_MEMORY, "the front ends exceed the pod");
_Static_assert(SL_FRONT_CONNECTIONS <= 1024 - 128, "the front ends exceed the files of a process");
_Static_assert(SL_CONVERT_BODY_BYTES <= SL_WEBHOOK_BODIES * 3 / 4 &&
                   SL_REVIEW_MAX_BYTES <= SL_CONVERT_BODY_BYTES,
               "the largest body has no room");
_Static_assert(SL_CONVERT_ANSWER_BYTES <= SL_WEBHOOK_ANSWERS, "the largest answer has no room");

#endif
