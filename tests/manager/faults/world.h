/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small cluster for histories under faults: the in-memory API, two replicas of the whole manager
 * with their leases, queues in one cohort, and the invariants that every history checks after every
 * event. A test adds users and controllers of its own (struct world_test) and defines its end.
 *
 * After every event: no quota of any flavor and resource is exceeded, no queue has more than it may
 * borrow, nobody's admission is replaced, pods stay on their nodes, nobody is evicted without end,
 * a turn's time and the memory are bounded, and whenever the leader knows all that there is and has
 * nothing to do, its usage is what the API says. Once in --every so many changes (1: after each) a
 * replica that knows all that there is, the leader or the one beside it, is compared with a manager
 * that starts from nothing but a copy of the API. Over all histories every kind of fault has
 * struck.
 *
 * One thing nobody can prevent: a write that is carried out after the lease of its sender has gone
 * to another. While a reservation that came so late lasts, it is left out of the sum. How often
 * that mattered is told, and more than a few times is a failure. In slow histories requests and
 * answers are on their way for so long that late writes must be met with.
 */
#ifndef SL_TESTS_MANAGER_FAULTS_WORLD_H
#define SL_TESTS_MANAGER_FAULTS_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "../known.h"
#include "core/base/collection/vec.h"
#include "core/base/mem.h"
#include "core/base/prng.h"
#include "fakeapi.h"
#include "kube/client/lease.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "manager/controllers/core/manager.h"
#include "manager/fluxqueue/fluxqueue.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define MAX_QUEUES 4u
/* What is shared out: so much of each resource in each flavor. */
enum { CPU, MEMORY, RESOURCES };
#define FLAVORS 2u
#define MAX_EVICTIONS                                                                              \
    40u /* of one workload in a history: more is a loop; 21 in 2,000 histories                     \
         */

struct amounts { /* cpu in cores, memory in GiB */
    int64_t n[FLAVORS][RESOURCES];
};

struct holding { /* what a workload holds according to the API */
    char key[128];
    uint32_t queue;
    int64_t cpu; /* in all flavors */
    struct amounts has;
    bool late, excused; /* reserved by a former leader; and quota was exceeded by it */
};

struct evicted {
    char key[128];
    uint32_t n;
};

struct replica {
    struct sl_manager *manager;
    struct sl_fluxqueue *nodes; /* beside it, if the test's parts have it; else NULL */
    struct sl_lease *lease;
    uint32_t client;
    uint32_t streams; /* the most that it had open */
    bool led;         /* since it started: it may remember what it wanted to write */
    uint64_t rebuilt; /* the version of the API at which its state was last compared */
    struct known known;
};

struct world;

struct world_test {
    const char *name; /* of the program */
    const char *config;
    struct sl_manager_parts parts;
    bool webhooks; /* what users and managers write is reviewed */
    bool limits;   /* some queues may not borrow all that there is */
    void (*run)(struct world *w);
    /* The leader has observed everything and has nothing to do; NULL: no further check. */
    void (*settled)(struct world *w);
    /* A change that the world itself does not know what to do with; it may use fakeapi_at. */
    void (*changed)(struct world *w, const struct fakeapi_change *c);
    /* Of what a manager writes, before the webhooks: the status and why; 0: it is let through.
     * NULL: all is. */
    int (*refuses)(struct world *w, const struct fakeapi_write *fw, struct sl_buf *why);
    bool (*ended)(void); /* after all histories: were they about something? NULL: not checked */
};

struct world {
    const struct world_test *test;
    uint64_t seed;
    struct sl_prng prng;
    struct fakeapi *api;
    struct sl_settings *settings;
    struct replica replicas[2];
    uint32_t n_queues;
    struct amounts nominal[MAX_QUEUES], all; /* all: quota of the whole cohort */
    int64_t most;                            /* its cpu in all flavors */
    int64_t limit[MAX_QUEUES];    /* cpu of f that a queue may have, borrowed too; 0: any */
    int64_t largest;              /* cpu that a workload may request: any queue can have it */
    const char *more[MAX_QUEUES]; /* further members of a queue's spec, with a comma in front */
    SL_VEC(struct holding) holdings;
    uint32_t leader; /* the client that has the lease according to the API */
    sl_time leads_since;
    sl_time disturbed;       /* there were faults until then */
    uint64_t turns, settled; /* settled: the leader knew all, and its usage was compared */
    uint64_t every, known;   /* once in so many times that a replica knew all that was new, */
    uint64_t rebuilt[2];     /* its state was compared with one made of the API: leaders, others */
    uint32_t evictions;      /* the most of one workload */
    SL_VEC(struct evicted) evicted;
    uint64_t limited;       /* times that a queue had all that it may have */
    uint64_t late, excused; /* late writes; those among them by which something went wrong */
    bool verbose, failed, slow;
    bool reviewed; /* what is being written by hand goes through the webhooks */
    char why[400];
    void *own; /* the test's */
};

void world_fail(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void world_tell(const struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* By hand; patches are merge patches. Returns the HTTP status. */
int world_send(struct world *w, enum sl_kube_method method, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* True once in n. */
static inline bool world_odds(struct world *w, uint64_t n) {
    return sl_prng_one_in(&w->prng, n);
}
static inline uint32_t world_below(struct world *w, uint32_t n) {
    return (uint32_t)sl_prng_below(&w->prng, n);
}
/* From now, up to so many milliseconds later. */
static inline sl_time world_soon(struct world *w, uint32_t ms) {
    return fakeapi_now(w->api) + (sl_time)sl_prng_below(&w->prng, ms) * SL_MSEC;
}

/* ---- the state in the API ---- */
const char *world_condition(yyjson_val *o, const char *type); /* its status, "" if absent */
static inline bool world_is(yyjson_val *o, const char *type) {
    return o && strcmp(world_condition(o, type), "True") == 0;
}
bool world_holds(yyjson_val *workload); /* a reservation */
/* All that happened before this was known when it was decided. */
sl_time world_knowing(const struct world *w, const struct fakeapi_change *c);
/* Was it sent by another than the present leader, or before that one had the lease? */
bool world_is_late(const struct world *w, const struct fakeapi_change *c);

/* ---- the cluster ---- */
/* One to four ClusterQueues cq-N with LocalQueues lq-N. There are WorkloadPriorityClasses p0 to p2.
 */
void world_queues(struct world *w);
void world_queue(struct world *w, uint32_t i, bool update, const char *stop);
void world_start(struct world *w, uint32_t i);
void world_kill(struct world *w, uint32_t i);
void world_start_all(struct world *w);
struct sl_manager *world_leader(struct world *w); /* NULL: there is no leader */
/* Is there a leader, with nothing left to do? */
bool world_idle(struct world *w);
bool world_due_within(struct world *w, sl_span span); /* will it have? */
void world_run_until(struct world *w, sl_time until);
/* Faults from the seed, or none. */
void world_disturb(struct world *w, bool on);
/* Watches that went silent are resumed, so that every replica observes everything. */
void world_wake(struct world *w);
/* A manager that starts from nothing but the API must have the same state as the leader. */
void world_compare(struct world *w);
/* The leader's usage must be what the workloads of the API hold. */
void world_compare_usage(struct world *w);

/* ---- webhooks.c: the API server's side of admission ---- */
int world_review(void *ctx, const struct fakeapi_write *fw, struct sl_buf *why);

/* [--verbose] [--seed S]... [--seeds N] [--first S] [--slow N] [--every K] */
int world_main(int argc, char **argv, const struct world_test *test);

#endif
