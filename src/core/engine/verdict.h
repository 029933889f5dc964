/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to "why is my job pending and what would help": a verdict with every blocking
 * constraint in numbers, which workloads hold what is missing, the position in both queues, and the
 * smallest changes each of which would admit it now. Everything is in the verdict's arena.
 */
#ifndef SL_CORE_ENGINE_VERDICT_H
#define SL_CORE_ENGINE_VERDICT_H

#include "core/model/effect.h"

enum sl_verdict_kind {
    SL_VERDICT_RUNNING,    /* admitted */
    SL_VERDICT_RESERVED,   /* quota is there, checks are not ready */
    SL_VERDICT_EVICTING,   /* evicted, waiting to be released */
    SL_VERDICT_FITS,       /* would be admitted by the next cycle */
    SL_VERDICT_PREEMPTS,   /* would be admitted after preempting */
    SL_VERDICT_BEHIND,     /* would fit, but another one is before it in a strict queue */
    SL_VERDICT_NO_QUOTA,   /* what it needs is in use */
    SL_VERDICT_NEVER_FITS, /* more than its queue could ever have */
    SL_VERDICT_NO_FLAVOR,  /* no flavor matches it */
    SL_VERDICT_BACKOFF,    /* waits until a time */
    SL_VERDICT_BLOCKED,    /* queue missing or stopped, gated, held, inactive, namespace ... */
    SL_VERDICT_FINISHED,
    SL_VERDICT_COUNT,
};

/* A blocking constraint, at one node of the tree for one flavor and resource. */
struct sl_blocker {
    uint32_t podset;
    const char *flavor, *resource;
    enum sl_why_kind kind;
    sl_amount need;      /* its requests here */
    sl_amount available; /* what its queue can have now */
    sl_amount potential; /* what its queue could have at best */
    const char *node;    /* the queue or cohort whose limit binds */
    bool cohort;         /* node is a cohort */
    bool borrow_limit;   /* the binding limit is node's borrowingLimit */
};

struct sl_holder {
    sl_wl_id wl;
    const char *ns, *name, *cq;
    const char *flavor, *resource;
    sl_amount amount;
    int32_t priority;
};

enum sl_help_kind {
    SL_HELP_WAIT_FOR,     /* these workloads finish */
    SL_HELP_RAISE_QUOTA,  /* nominal of (node, flavor, resource) to 'to' */
    SL_HELP_RAISE_BORROW, /* borrowingLimit of node to 'to' */
    SL_HELP_SHRINK,       /* request at most 'to' pods of this podset */
    SL_HELP_PRIORITY,     /* priority of at least 'to' */
    SL_HELP_START_QUEUE,  /* set stopPolicy None on node */
    SL_HELP_ACTIVATE,     /* spec.active = true, or take the gate away */
};

/*
 * One change. It is evaluated for this workload alone, as if no other were pending, because those
 * before it are served first. PRIORITY admits it after preempting; START_QUEUE and ACTIVATE remove
 * an obstacle and put it into the queue; each of the others admits it at once. A number that helps
 * by itself is the smallest: one step less does not.
 */
struct sl_help {
    enum sl_help_kind kind;
    const char *node; /* queue or cohort */
    bool cohort, local_queue;
    const char *flavor, *resource;
    uint32_t podset;
    int64_t to;
    const sl_wl_id *wls;
    uint32_t n_wls;
    bool and_next; /* helps only together with the change that follows in the list */
};

#define SL_VERDICT_MAX_HOLDERS 16

struct sl_verdict {
    struct sl_arena arena;
    enum sl_verdict_kind kind;
    const char *text; /* one sentence */
    const struct sl_blocker *blockers;
    uint32_t n_blockers;
    const struct sl_holder *holders;
    uint32_t n_holders;
    const struct sl_help *help;
    uint32_t n_help;
    uint32_t position_cq, position_lq; /* 1 is first; 0: not waiting */
    uint32_t waiting_cq, waiting_lq;   /* how many wait in all */
    sl_time not_before;                /* BACKOFF; else 0 */
};

void sl_verdict_init(struct sl_verdict *v);
void sl_verdict_done(struct sl_verdict *v);
void sl_verdict_clear(struct sl_verdict *v);

#endif
