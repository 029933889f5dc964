/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobspecs (RFC 14 and RFC 25, counts also as RFC 22 and RFC 45 write them, constraints as RFC 31
 * does) in YAML or JSON. What depends on a graph is checked by sl_match_request_new.
 *
 *     job.yaml:4: count: expected a number from 1 to 4294967295, a range such as "2-8:2:+" ...
 */
#ifndef SL_LIB_GRAPHIO_JOBSPEC_READ_H
#define SL_LIB_GRAPHIO_JOBSPEC_READ_H

#include "core/graph/request.h"
#include "lib/doc/doc.h"

#define SL_GRAPHIO_JOBSPEC_MAX_BYTES ((size_t)4 << 20)
#define SL_GRAPHIO_JOBSPEC_MAX_TERMS 4096u /* of a constraint */
#define SL_GRAPHIO_JOBSPEC_MAX_TERM_DEPTH 16u

/* 'file' is for messages. JSON if it begins with '{' and reads as such, else YAML; one document. */
int sl_graphio_jobspec_read(const char *file, const char *text, size_t len, struct sl_jobspec **ret,
                            struct sl_err *err) _must_check_;
/* The same of a text that was read: for callers that look at more of it, or have ceilings of their
 * own. */
int sl_graphio_jobspec_decode(const struct sl_doc *d, struct sl_jobspec **ret,
                              struct sl_err *err) _must_check_;
int sl_graphio_jobspec_load(const char *path, struct sl_jobspec **ret,
                            struct sl_err *err) _must_check_;

/* As Fluxion's flexible traverser reads it: several slots of equal counts in one list are or_slots.
 */
void sl_graphio_jobspec_mix_slots(struct sl_jobspec *j);

/* A count as a string: "4", "2,4,8-12" (RFC 22), "2-8:2:*", "3+" (RFC 45), each also in brackets.
 * Sets live in the arena. */
int sl_graphio_count_parse(const char *text, struct sl_arena *a, struct sl_req_count *ret,
                           struct sl_err *err) _must_check_;
/* What is wrong with the numbers of a range, "" if nothing is. */
const char *sl_graphio_count_fault(const struct sl_req_count *c);

#endif
