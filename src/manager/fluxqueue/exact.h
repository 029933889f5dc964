/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact nodes for Workloads that wait for quota: the manager's placer (manager/controllers) asks
 * the live graph here, inside the decision about quota. What a Workload gets is held on the graph
 * beside the jobs of the queue until it is released, and is only held: it is written, read and
 * turned into bindings by the manager, as assignments of a topology whose only level is the
 * hostname.
 *
 * Pods that name their Workload (annotation kueue.x-k8s.io/workload) and stand in its places are
 * not counted a second time. Those of a Workload that has released its places count as pods of
 * others until they have ended.
 *
 * The owner of the Workloads first says which of them hold places: nothing is given to jobs of the
 * queue before (sl_exact_observed).
 */
#ifndef SL_MANAGER_FLUXQUEUE_EXACT_H
#define SL_MANAGER_FLUXQUEUE_EXACT_H

#include "core/base/arena.h"
#include "manager/fluxqueue/fluxqueue.h"

#define SL_EXACT_LEVEL "kubernetes.io/hostname"
#define SL_EXACT_MAX_PODSETS 32u

/* A Workload. */
struct sl_exact_owner {
    uint64_t key;    /* that it is known by here; not 0 */
    uint64_t before; /* that of the slice which it replaces; 0: none */
    const char *ns, *name;
    sl_time since;    /* wall: when it got its places */
    int64_t duration; /* seconds, at most; 0: until it ends */
};

/* Pods that need nodes. */
struct sl_exact_podset {
    const char *ns, *name;
    const char *pod; /* one of them, as JSON: metadata.labels, metadata.annotations, spec */
    uint32_t count;  /* 0: none of them needs a node here */
};

/* So many pods on the node with this label. */
struct sl_exact_node {
    const char *hostname;
    uint32_t count;
};
struct sl_exact_place {
    const struct sl_exact_node *v; /* in the order of the graph */
    uint32_t n;
};

/* Somebody asks for nodes: they are read, and all pods, from now on. */
void sl_exact_use(struct sl_fluxqueue *q);
/* Are the places of all Workloads held that have some? From the first call with false on, jobs wait
 * for it. */
void sl_exact_observed(struct sl_fluxqueue *q, bool all);
/* Rises with all that may make room for what was refused. What pods of Workloads leave behind is
 * not given to jobs before this was asked. */
uint64_t sl_exact_version(struct sl_fluxqueue *q);

/* Nodes for all of them, or for none: then *ret_refused is a podset for which there are none, and
 * why says so. They are held in place of what it held. A slice has the places of the one before it,
 * which holds none then, and others for the pods that it has more. */
bool sl_exact_place(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                    const struct sl_exact_podset *v, uint32_t n, uint32_t *ret_refused, char *why,
                    size_t why_len);
/* The same for one that keeps these of its places. False: there are no others, and it has what it
 * had. */
bool sl_exact_move(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                   const struct sl_exact_podset *v, const struct sl_exact_place *keep, uint32_t n);
/* Would there be some if all pods that are being deleted were gone? Nothing is held. */
bool sl_exact_could(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                    const struct sl_exact_podset *v, uint32_t n);
/* The same, if there are any that are being deleted. */
bool sl_exact_soon(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                   const struct sl_exact_podset *v, uint32_t n);
/* The places of this Workload count as free as long as they are set aside. */
void sl_exact_set_aside(struct sl_fluxqueue *q, uint64_t key, bool aside);
/* Holds what it has according to the API, in place of what it held. */
void sl_exact_hold(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                   const struct sl_exact_podset *v, const struct sl_exact_place *places,
                   uint32_t n);
void sl_exact_release(struct sl_fluxqueue *q, uint64_t key);
/* What Workloads give back, or move away from, is free here as soon as that is decided. As long as
 * some of it is not in the API yet, no place of a job is written there and no pod without a job is
 * bound: whoever reads the API, such as the next leader, never finds a node given twice. */
void sl_exact_releasing(struct sl_fluxqueue *q, bool releasing);
/* The earliest second, from this one on and not now, at which there are nodes for all of them, if
 * all that has a known end has ended then; those that are being deleted end at once. The nodes are
 * reserved from then on, in place of what was, for as long as it runs and for SL_EXACT_LEAST at
 * least, since it may start late. False: no such time is known, and nothing is reserved. Others do
 * not get them unless they end before. It is for one that holds nothing; sl_exact_place and
 * sl_exact_set_aside know of it. */
#define SL_EXACT_LEAST 60
bool sl_exact_later(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                    const struct sl_exact_podset *v, uint32_t n, int64_t from, int64_t *ret_at);
void sl_exact_forgo(struct sl_fluxqueue *q, uint64_t key);
/* What it holds, for each of its podsets. Returns how many these are; 0: it holds nothing. */
uint32_t sl_exact_held(const struct sl_fluxqueue *q, uint64_t key, struct sl_arena *a,
                       const struct sl_exact_place **ret);

#endif
