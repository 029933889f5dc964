/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobspecs of Kubernetes objects. Two steps, both pure:
 *
 *     fq_jobspec_write   an object becomes a Flux jobspec (RFC 14, YAML), which its FluxJob shows
 *     fq_jobspec_compile a jobspec, written here or by a user, becomes a request for the live graph
 *
 * The live graph: cluster > levels that are configured > node > pools, each divisible and one of a
 * type on a node: `core` in thousandths (unit "m"), `memory` and all else that is bytes in KiB
 * (unit "Ki"), `pods`, and every extended resource under its own name. A node has as properties its
 * labels, as "KEY" and as "KEY=VALUE", and for each taint that keeps pods away
 * "taint:KEY=VALUE:EFFECT".
 *
 * A pod is a slot. Its requests are what is in it, and one of `pods`. Where a pod may go is
 * attributes.system.constraints (RFC 31) for its node selector and required node affinity, and
 * attributes.system.tolerations, as in the pod.
 */
#ifndef SL_MANAGER_FLUXQUEUE_JOBSPEC_H
#define SL_MANAGER_FLUXQUEUE_JOBSPEC_H

#include "core/base/time.h"
#include "core/graph/request.h"
#include "lib/json/json.h"
#include "manager/admission/fluxqueue.h"

#define FQ_MAX_JOBSPEC ((size_t)64 << 10) /* of the text */
#define FQ_MAX_PODS 100000u               /* of one job */
#define FQ_MAX_LEVELS 8u

/* A level of the graph between the cluster and its nodes. */
struct fq_level {
    const char *type;  /* "rack" */
    const char *label; /* of nodes */
};

struct fq_jobspec_options {
    const struct fq_level *levels; /* top first */
    uint32_t n_levels;
    int64_t duration; /* seconds, of jobs that say nothing; 0: until they end */
};

/* What of a jobspec is not in its request. */
struct fq_jobspec_info {
    uint32_t pods;     /* slots, if their number is fixed; else the least */
    int64_t duration;  /* seconds; 0: unknown */
    int64_t begin;     /* seconds since 1970, not to be started before; 0: at once */
    const char *queue; /* "": the default one; in the arena */
};

/* The jobspec of an object with so many pods, in out. 'object' is a Pod, or what has
 * spec.template. SL_EINVAL: something in it cannot be honoured (an annotation that is no number, an
 * affinity that has no jobspec); the message is for its owner. */
int fq_jobspec_write(enum sl_flux_type type, yyjson_val *object, uint32_t pods,
                     const struct fq_jobspec_options *o, struct sl_buf *out,
                     struct sl_err *err) _must_check_;

/* The request of a jobspec on this graph. Slots without `pods` get one; `core` without a unit is in
 * cores, `memory` without one in MiB. Depends on the taints and, for the operators Gt and Lt, on
 * the labels that nodes have: compiled again when these change. SL_EINVAL: it is malformed, or
 * names what no node has. */
int fq_jobspec_compile(const struct sl_graph *g, const char *text, size_t len, struct sl_arena *a,
                       struct fq_jobspec_info *ret_info, struct sl_match_request **ret,
                       struct sl_err *err) _must_check_;

#endif
