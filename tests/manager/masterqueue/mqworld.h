/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster with MasterQueues for histories under faults: the in-memory API, in-memory NATS servers
 * with pools that publish, and two replicas, each with the whole manager and the controller of
 * MasterQueues under one lease.
 *
 * A pool belongs to one pair of cluster and subject, and its name begins with a letter. A group
 * reads one pair: some groups have theirs alone and any pattern, others share one and read the
 * pools of one letter. So no pool is in two groups, and what is expected needs no rule about that.
 */
#ifndef SL_TESTS_MANAGER_MASTERQUEUE_MQWORLD_H
#define SL_TESTS_MANAGER_MASTERQUEUE_MQWORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "core/base/collection/vec.h"
#include "core/base/mem.h"
#include "core/base/prng.h"
#include "core/base/quantity.h"
#include "fakeapi.h"
#include "fakenats.h"
#include "kube/client/lease.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "manager/controllers/core/manager.h"
#include "manager/masterqueue/masterqueue.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define VK "/apis/vk.io/v1"
#define MAX_MQS 3u
#define MAX_GROUPS 3u
#define MAX_POOLS 60u
#define MAX_LENDS 2u
#define BORROWERS 3u /* of a MasterQueue */
#define LOCALS 2u    /* flavors that an administrator made */
#define CLUSTERS 3u
#define PAIRS 12u /* of cluster and subject */
#define EXCLUSIVE 9u
#define LETTERS 3u
#define REPLICAS 2u
#define REMEMBERED 32u /* deliveries and changes of a connection */
#define SPECS 64u      /* versions of a MasterQueue that are remembered */
#define LATEST (15 * SL_MINUTE)
/* The four of old, and one that some pools have. */
enum { CPU, MEMORY, PODS, GPU, COMMON, FPGA = COMMON, RESOURCES };
extern const char *const mq_resources[RESOURCES];

struct lend {
    uint32_t borrower;
    int64_t limit[COMMON]; /* -1: none */
};

struct group {
    bool local; /* then number is that of the flavor */
    uint32_t number;
    uint32_t pair, letter; /* letter: LETTERS if it has the pair alone */
    uint32_t pattern;      /* in mq_patterns; MQ_LISTED: a list of names */
    uint32_t listed[MAX_POOLS], n_listed;
    sl_span timeout;
    bool has_nominal;
    int64_t nominal[COMMON]; /* -1: the schema's default */
    struct lend lends[MAX_LENDS];
    uint32_t n_lends;
};
#define MQ_LISTED UINT32_MAX

struct mq_spec {
    sl_time at; /* since when it is so */
    struct group groups[MAX_GROUPS];
    uint32_t n_groups;
    const char *stop;
    bool gone;
};

struct mq {
    uint32_t slots[MAX_GROUPS]; /* the group's number among all of the world */
    struct mq_spec specs[SPECS];
    uint32_t n_specs;
};

struct pool {
    char name[40];
    uint32_t pair, letter;
    sl_span period;
    bool publishes, flat;
    uint32_t version;       /* of what it publishes */
    int64_t has[RESOURCES]; /* -1: it does not say */
    uint32_t poison;        /* 0: none, else one more than its number */
    uint32_t loop;          /* which of its loops is the living one */
};

/* What a replica was given, and when. */
struct delivered {
    sl_time at[REMEMBERED];
    uint32_t n;
};

struct link {
    sl_time at[REMEMBERED];
    bool up[REMEMBERED];
    uint32_t n;
};

struct replica {
    struct sl_manager *manager;
    struct sl_masterqueues *mqs;
    struct sl_lease *lease;
    sl_time started;
    struct delivered pools[MAX_POOLS];
    struct link links[CLUSTERS];
};

struct foreign {
    char path[160];
    char *text; /* what may not change of it */
};

struct world {
    uint64_t seed;
    struct sl_prng prng;
    struct fakeapi *api;
    struct fakenats *nats;
    struct sl_settings *settings;
    struct replica replicas[REPLICAS];
    uint32_t servers[CLUSTERS];
    struct mq mqs[MAX_MQS];
    uint32_t n_mqs;
    struct pool pools[MAX_POOLS];
    uint32_t n_pools;
    bool locals[LOCALS];
    sl_time local_gone[LOCALS]; /* when it last began or ended to be away */
    SL_VEC(struct foreign) foreign;
    SL_VEC(char *) ended; /* flavors that somebody deleted */
    uint32_t hasty;       /* flavors that were deleted while a queue named them */
    uint32_t n_jobs;
    bool jobs_stay;                               /* those that run go on */
    uint64_t turns, writes, generated, evictions; /* by replicas; of flavors and queues alone */
    bool verbose, failed;
    char why[500];
};

/* A pattern, and what it means. */
struct mq_pattern {
    const char *text;
    bool (*matches)(const char *name);
};
extern const struct mq_pattern mq_patterns[];
extern const uint32_t mq_n_patterns;

void world_fail(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void world_tell(const struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int world_send(struct world *w, enum sl_kube_method method, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static inline uint32_t world_below(struct world *w, uint32_t n) {
    return (uint32_t)sl_prng_below(&w->prng, n);
}
static inline bool world_odds(struct world *w, uint32_t n) {
    return sl_prng_one_in(&w->prng, n);
}
static inline const struct mq_spec *mq_now(const struct mq *m) {
    return &m->specs[(m->n_specs - 1) % SPECS];
}

void world_begin(struct world *w);
void world_end(struct world *w);
void world_start(struct world *w, uint32_t i);
void world_kill(struct world *w, uint32_t i);
void world_run_until(struct world *w, sl_time until);
static inline void world_run(struct world *w, sl_span t) {
    world_run_until(w, fakeapi_now(w->api) + t);
}
/* The one that leads; UINT32_MAX: nobody does. */
uint32_t world_leader(struct world *w);
/* Somebody leads, and nobody has anything to do. */
bool world_idle(struct world *w);

/* The MasterQueue that owns an object; UINT32_MAX: none. */
uint32_t world_owner(yyjson_val *o);
/* Did somebody else make what has this name? */
bool world_is_foreign(const struct world *w, const char *plural, const char *name);
/* Is there unfinished work that has been admitted to a flavor? */
bool world_flavor_used(struct world *w, const char *flavor);
/* The status of a MasterQueue without times, for comparison. */
void world_status(struct world *w, uint32_t m, struct sl_buf *out);

/* ---- pools.c: what pools and administrators do ---- */
void pools_begin(struct world *w);
void pool_publish(struct world *w, struct pool *p);
void pool_start(struct world *w, struct pool *p);        /* begins to publish, if it does not */
void mq_write(struct world *w, uint32_t m, bool create); /* its newest spec */
/* A new version to be changed and written; a copy of the newest. */
struct mq_spec *mq_edit(struct world *w, uint32_t m);
void mq_random_group(struct world *w, uint32_t m, uint32_t i, struct group *g);
void mq_delete(struct world *w, uint32_t m);
bool group_reads(const struct world *w, const struct group *g, const struct pool *p);
void borrower_name(uint32_t m, uint32_t b, char out[32]);
void flavor_name(const struct world *w, uint32_t m, const struct group *g, const struct pool *p,
                 char out[96]);
void local_create(struct world *w, uint32_t i);

/* ---- users.c: what happens while a history runs ---- */
void users_begin(struct world *w);          /* LocalQueues */
void users_job_beat(void *ctx, uint64_t n); /* the job controller, for ever */
void users_submit(struct world *w);         /* a Job to some borrower */
void users_operate(void *ctx, uint64_t n);  /* anything, at random */

/* ---- watch.c: what must hold after every change ---- */
void watch_change(void *ctx, const struct fakeapi_change *c);
void watch_event(void *ctx, uint32_t client, const struct sl_nats_event *e);

/* ---- naive.c: what should be there, written from the specification alone ---- */
void naive_compare(struct world *w);
/* How many objects are owned by this MasterQueue. */
uint32_t naive_owned(struct world *w, uint32_t m);

#endif
