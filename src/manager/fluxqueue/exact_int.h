/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to exact*.c.
 *
 *     exact_requests.c  podsets as requests
 *     exact_held.c      what Workloads hold, and the same in the matcher
 *     exact_pods.c      their pods
 *     exact_search.c    the search, and why there is nothing
 *     exact.c           the interface
 */
#ifndef SL_MANAGER_FLUXQUEUE_EXACT_INT_H
#define SL_MANAGER_FLUXQUEUE_EXACT_INT_H

#include "core/base/collection/hash.h"
#include "core/base/collection/vec.h"
#include "manager/fluxqueue/exact.h"
#include "manager/fluxqueue/fq_int.h"

/* So many pods of a podset on a node. */
struct fq_seat {
    sl_sym node;
    uint32_t podset, count;
    uint32_t taken; /* of them, by pods that are there */
};

struct fq_part {
    sl_sym name;
    struct fq_usage *usage; /* of one pod */
    bool whole;             /* its nodes are its own */
};

struct fq_exact {
    uint64_t key;
    sl_sym ns, workload;
    uint32_t id;
    int64_t from, length; /* seconds, of the graph's time */
    bool later;           /* it has nothing yet: reserved from then on */
    bool aside;
    SL_VEC(struct fq_part) parts;
    SL_VEC(struct fq_seat) seats;
};

#define FQ_ASKS (FQ_MAX_ASKS + 1u) /* those that are kept, and one that is not */

/* A podset as a request for this graph, made of the text and of what its claims say of nodes. */
struct fq_ask {
    uint64_t hash;
    sl_sym ns;
    char *text;
    char *claims;         /* names in lines; NULL: none */
    uint64_t state;       /* of them, when it was made */
    struct fq_kept *kept; /* what it has already */
    uint32_t n_kept, count;
    int64_t duration;
    struct sl_match_request *request; /* NULL: see below */
    char *refused;
    bool whole;
    bool flat;     /* nothing holds between its pods: what fits many fits fewer */
    uint32_t step; /* only multiples of it have nodes: tasks per node */
    uint32_t most; /* of its pods that would get nodes, when it was refused last; 0: not known */
};

struct fq_found {
    SL_VEC(struct fq_seat) seats;
};

static inline uint64_t fq_exact_name_key(sl_sym ns, sl_sym workload) {
    return sl_hash_u64(sl_hash_u64(1, ns), workload);
}
static inline int64_t fq_exact_id(const struct fq_exact *x) {
    return FQ_EXACT_ID + x->id;
}

/* ---- exact_requests.c ---- */
/* The request of so many pods of a podset. has: who has places for other pods of it; NULL: nobody.
 * It is valid until the next one is asked for; they are kept while there is room. */
struct fq_ask *fq_exact_ask(struct sl_fluxqueue *q, const struct sl_exact_podset *p,
                            uint32_t podset, const struct fq_exact *has, uint32_t count,
                            int64_t duration);

/* The same, not kept: for questions about fewer pods than anybody asks for. Others stay valid. */
struct fq_ask *fq_exact_ask_once(struct sl_fluxqueue *q, const struct sl_exact_podset *p,
                                 uint32_t podset, const struct fq_exact *has, uint32_t count,
                                 int64_t duration);

/* ---- exact_held.c ---- */
struct fq_exact *fq_exact_by_key(const struct sl_fluxqueue *q, uint64_t key);
struct fq_exact *fq_exact_of_pod(const struct sl_fluxqueue *q, const struct fq_pod *p);
/* One that has no places yet. later: it is only reserved. */
struct fq_exact *fq_exact_add(struct sl_fluxqueue *q, const struct sl_exact_owner *o, bool later);
void fq_exact_add_parts(struct sl_fluxqueue *q, struct fq_exact *x, const struct sl_exact_podset *v,
                        uint32_t n);
/* Frees it; what the matcher has of it stays there. */
void fq_exact_drop(struct sl_fluxqueue *q, struct fq_exact *x);
void fq_exact_into_matcher(struct sl_fluxqueue *q, const struct fq_exact *x);
/* Jobs in the queue are tried again. */
void fq_exact_changed(struct sl_fluxqueue *q);

/* ---- exact_pods.c ---- */
/* Its pods look for their places anew. released: it has given them back. */
void fq_exact_seat_all(struct sl_fluxqueue *q, sl_sym ns, sl_sym workload, bool released);
/* Those that are on their way out do not count (-1), or do again (1). */
void fq_exact_lift_leaving(struct sl_fluxqueue *q, int sign);
/* The node with this label kubernetes.io/hostname. */
sl_sym fq_exact_node_of_host(const struct sl_fluxqueue *q, sl_sym host);

/* ---- exact_search.c ---- */
/* Why nothing can be looked for; NULL: it can. */
const char *fq_exact_unready(const struct sl_fluxqueue *q);
/* Nodes for all of them. has: who has places for others of these podsets; NULL: nobody. */
bool fq_exact_find(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                   const struct sl_exact_podset *v, uint32_t n, const struct fq_exact *has,
                   struct fq_found *f, uint32_t *ret_refused);
/* The same at *at or later. */
bool fq_exact_find_later(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                         const struct sl_exact_podset *v, uint32_t n, struct fq_found *f,
                         int64_t *at);
void fq_exact_explain(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                      const struct sl_exact_podset *v, uint32_t podset, const struct fq_exact *has,
                      char *why, size_t why_len);

#endif
