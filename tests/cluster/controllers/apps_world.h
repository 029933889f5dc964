/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Controllers over an API server without any, under a virtual clock: the test plays users, and a
 * kubelet that is told how long pods take to start and to end.
 */
#ifndef SL_TESTS_CLUSTER_CONTROLLERS_APPS_WORLD_H
#define SL_TESTS_CLUSTER_CONTROLLERS_APPS_WORLD_H

#include <yyjson.h>

#include "cluster/controllers/core/cluster.h"
#include "cluster/scheduler/scheduler.h"
#include "core/base/collection/vec.h"
#include "core/base/prng.h"
#include "fakeapi.h"
#include "lib/json/json.h"

struct kubelet_job {
    char path[700];
    char uid[64];
};

struct apps_world {
    struct fakeapi *api;
    struct sl_cluster *c; /* NULL: the controllers are stopped */
    struct sl_prng prng;
    uint64_t seed, lives;
    sl_span start_min, start_max; /* how long a pod takes to become ready */
    sl_span end_min, end_max;     /* and to end */
    bool never_ready;             /* new pods are not made ready */
    bool addresses;               /* and get none, unless this is set */
    const char *ca;
    uint32_t off; /* CL_OFF of controllers that do not run */
    SL_VEC(struct kubelet_job) jobs;
    /* Every change, after the kubelet; may be NULL. */
    void (*watch)(struct apps_world *w, const struct fakeapi_change *ch);
    void *ctx;
    char text[8192]; /* what was shown last */
};

void world_start(struct apps_world *w, uint64_t seed);
void world_stop(struct apps_world *w);
/* Stops the controllers, or starts them. */
void world_kill(struct apps_world *w);
void world_revive(struct apps_world *w);
void world_run(struct apps_world *w, sl_span d);

/* Quotes may be written as '. Returns the HTTP status. */
int world_do(struct apps_world *w, enum sl_kube_method method, const char *path, const char *type,
             const char *text);
void world_create(struct apps_world *w, const char *path, const char *text); /* must succeed */
void world_patch(struct apps_world *w, const char *path,
                 const char *text); /* merge; must succeed */
void world_delete(struct apps_world *w, const char *path, const char *policy); /* must succeed */
/* The text of a value, "" if there is none; good until the next call. */
const char *world_show(struct apps_world *w, const char *path, const char *field);
int64_t world_int(struct apps_world *w, const char *path, const char *field); /* -1: absent */
bool world_exists(struct apps_world *w, const char *path);
uint32_t world_count(struct apps_world *w, const char *collection);
/* A condition of its status: "True NewReplicaSetAvailable", "" if there is none. */
const char *world_condition(struct apps_world *w, const char *path, const char *type);

#define NS "/api/v1/namespaces/ns"
#define PODS NS "/pods"
#define EVENTS "/apis/events.k8s.io/v1/namespaces/ns/events"
#define APPS "/apis/apps/v1/namespaces/ns"
#define DEPLOYMENTS APPS "/deployments"
#define SETS APPS "/replicasets"
#define STATEFULSETS APPS "/statefulsets"
#define REVISIONS APPS "/controllerrevisions"

#endif
