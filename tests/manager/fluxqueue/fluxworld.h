/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster for histories of the queue on the resource graph: the in-memory API, two replicas of
 * the controller under one lease, Kubernetes' own controllers and its scheduler (src/cluster) for
 * what users create, a scripted kubelet, nodes that come, change and go, and users.
 *
 * Names say what a thing is: nodes n0 to n7, pods p3, Jobs j3, StatefulSets s3, ReplicaSets r3,
 * Deployments d3, pods that only name the scheduler q3, and pods of others f3.
 *
 * What is checked reads the API's objects alone. What nobody can prevent is left out, and counted:
 * a write that is carried out after the lease of its sender has gone to another (late), and what
 * happened to a node after the controller has last known everything before it decided (unknown).
 */
#ifndef SL_TESTS_MANAGER_FLUXQUEUE_FLUXWORLD_H
#define SL_TESTS_MANAGER_FLUXQUEUE_FLUXWORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "../known.h"
#include "cluster/controllers/core/cluster.h"
#include "core/base/collection/vec.h"
#include "core/base/mem.h"
#include "core/base/prng.h"
#include "fakeapi.h"
#include "kube/client/lease.h"
#include "lib/json/json.h"
#include "lib/ledger/ledger.h"
#include "lib/log/log.h"
#include "manager/config/config.h"
#include "manager/fluxqueue/fluxqueue.h"

#define REPLICAS 2u
#define CLUSTER_CLIENT 2u
#define OBSERVER 7u
#define MAX_NODES 8u
#define CLOCK_STEP 9u /* of the faults */
#define WIDE 1000u    /* histories with smaller numbers stay as they were found */
#define RULED 10000u  /* the same of those without rules between the pods of a job */
#define MAX_RULES 8u

#define NODES "/api/v1/nodes"
#define PODS "/api/v1/namespaces/default/pods"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define APPS "/apis/apps/v1/namespaces/default/"
#define FLUXJOBS "/apis/jobs.converged-computing.org/v1alpha1/namespaces/default/fluxjobs"

enum { CPU, MEMORY, GPU, COUNT, RESOURCES }; /* in thousandths, KiB, and one by one */
struct amounts {
    int64_t n[RESOURCES];
};

struct replica {
    struct sl_fluxqueue *q;
    struct sl_lease *lease;
    struct known known;
};

/* What happened to a node, as far as it excuses a decision. */
struct machine {
    bool exists;
    sl_time changed; /* labels, taints, readiness; also as it came or went */
    sl_time shrunk;
    sl_time came;
};

/* How many pods of one job may be on a node, or in a rack. */
struct rule {
    bool rack;
    uint32_t most; /* 0: all of them are in one */
};

/* A FluxJob as the API showed it last, and every one that ever was. */
struct flux {
    char name[96], uid[64];
    int64_t jobid;
    bool seen, gone, late; /* late: its places were written by one who does not lead */
    uint32_t listed[MAX_NODES];
    sl_time since[MAX_NODES];   /* what was known when that began */
    sl_time estimate, promised; /* estimate: 0: none; when that was shown */
    sl_time delayed, told;      /* its promised start was; when an event said so */
    int64_t priority;
    sl_time submitted;   /* whole seconds; 0: not yet */
    bool placed;         /* it runs, or has a reservation */
    sl_time passed;      /* when one got ahead of it: by its priority, or since it comes before */
    sl_time waits_since; /* it has places, and its pods wait; 0: not so */
};

/* A pod that is, or was, on a node. */
struct bound {
    char uid[64];
    bool late, foreign;
    sl_time at;
};

struct world {
    uint64_t seed;
    struct sl_prng prng;
    struct fakeapi *api;
    struct sl_settings *settings;
    enum sl_queue_policy policy;
    struct replica replicas[REPLICAS];
    struct sl_cluster *cluster;
    struct machine machines[MAX_NODES];
    SL_VEC(struct flux) fluxes;
    SL_VEC(struct bound) bound;
    SL_VEC(char *) pods; /* names by the numbers that events carry */
    uint32_t leader;
    sl_time leads_since;
    uint32_t next_name;
    bool wide;         /* plain pods, and templates that get other requests: from WIDE on */
    bool ruled;        /* pods of jobs with affinity and spread: from RULED on */
    bool frozen;       /* nothing ends and nobody acts */
    bool punctual;     /* pods end when they were expected to, or before */
    sl_time disturbed; /* faults were there until then */
    sl_time broken;    /* no promise of a start holds that is older */
    uint64_t compared; /* the version of the API when usage was compared last */
    sl_time bound_at;  /* when pods that wait were looked at last */
    bool with_ledger, storms, ledger_lost; /* fluxledger.c */
    struct sl_ledger *ledger;
    char ledger_folder[64];
    uint32_t processes, recorded;
    uint64_t turns, writes;
    bool verbose, failed;
    char why[1000];
    /* what happened */
    uint64_t binds, starts, late, unknown, promises, moved, reused, fits, waits, rebuilt;
    uint64_t usages, delays, ruled_places, replanned;
};

void world_fail(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void world_tell(const struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* By hand; patches are merge patches; ' stands for ". Returns the HTTP status. */
int world_send(struct world *w, enum sl_kube_method method, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static inline uint32_t world_below(struct world *w, uint32_t n) {
    return (uint32_t)sl_prng_below(&w->prng, n);
}
static inline bool world_odds(struct world *w, uint64_t n) {
    return sl_prng_one_in(&w->prng, n);
}

void world_begin(struct world *w);
void world_end(struct world *w);
void world_start(struct world *w, uint32_t replica);
void world_kill(struct world *w, uint32_t replica);
struct sl_fluxqueue *world_leader(struct world *w); /* NULL: there is none */
void world_run(struct world *w, sl_span span);
/* Until the leader is idle and has been for a second, at most so long. */
bool world_rest(struct world *w, sl_span longest);
/* Runs another one over a copy of the API: it must come to the same, and write nothing. */
void world_compare(struct world *w);

/* ---- the state in the API (fluxview.c) ---- */
bool view_terminal(yyjson_val *pod);
bool view_ours(yyjson_val *pod);
bool view_plain(yyjson_val *pod); /* without a FluxJob */
struct amounts view_requests(yyjson_val *pod_spec);
struct amounts view_allocatable(yyjson_val *node);
bool view_fits(const struct amounts *need, const struct amounts *free);
/* Would a pod of this spec be let onto the node? */
bool view_admits(yyjson_val *node, yyjson_val *pod_spec);
uint32_t view_node(const char *name); /* MAX_NODES: none of ours */
/* The name of the FluxJob of a pod; "": it has none. */
void view_flux_of(struct world *w, yyjson_val *pod, char out[96]);
/* How many pods a Job or a set has at once now. */
int64_t view_wanted(yyjson_val *object);
/* The object that a FluxJob is of; NULL: there is none. */
yyjson_val *view_object(struct world *w, yyjson_val *flux);
yyjson_val *view_pod_spec(yyjson_val *object);
/* What holds between the pods of a Job or a set. Returns how many rules. */
uint32_t view_rules(yyjson_val *object, struct rule v[MAX_RULES]);
struct flux *view_flux(struct world *w, const char *name);
/* Gates of others than the controller. */
bool view_other_gates(yyjson_val *pod);

/* ---- after every change (fluxwatch.c) ---- */
void watch_change(void *ctx, const struct fakeapi_change *c);

/* ---- whenever the leader knows everything (fluxusage.c) ---- */
void usage_check(struct world *w, const struct sl_fluxqueue *q);
void bound_check(struct world *w);

/* ---- at rest (fluxrest.c) ---- */
void rest_check(struct world *w);
/* Everything was deleted. */
void rest_empty(struct world *w);

/* ---- the ledger (fluxledger.c) ---- */
void ledger_begin(struct world *w);
void ledger_end(struct world *w);
/* Of the next process; NULL: none, or it loses what it records. */
struct sl_ledger *ledger_of_next(struct world *w);
/* After each turn, so that the file keeps up with the virtual clock. */
void ledger_flush(struct world *w);
void ledger_check(struct world *w);

/* ---- actors (fluxactors.c) ---- */
void actors_begin(struct world *w);
void actors_noticed(struct world *w, const struct fakeapi_change *c);
/* One thing, of those that may happen in a storm, or of users alone. */
void actors_operate(void *ctx, uint64_t arg);
void actors_submit(void *ctx, uint64_t arg);
/* Nodes are ready, gates of others are gone. */
void actors_calm(struct world *w);
void actors_delete_all(struct world *w);

#endif
