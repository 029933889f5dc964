/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to src/manager/fluxqueue: nodes, what pods take of them (struct fq_usage), and host
 * ports.
 */
#ifndef SL_MANAGER_FLUXQUEUE_FQ_NODE_H
#define SL_MANAGER_FLUXQUEUE_FQ_NODE_H

#include "core/base/collection/vec.h"
#include "core/base/quantity.h"
#include "core/graph/graph.h"
#include "kube/informer/informer.h"

struct fq_pod;
struct sl_fluxqueue;

/* ---- nodes (nodes.c) ---- */

struct fq_label {
    sl_sym key, value;
};

struct fq_pool {
    sl_sym resource;
    int64_t allocatable; /* in the units of the graph */
    int64_t foreign;     /* of it, taken by pods that have no place here */
    int64_t standing;    /* of it, requested by all pods that are there, or on their way */
    sl_vtx v;            /* SL_VTX_NONE: not in the graph */
};

struct fq_node {
    struct sl_rec rec;
    SL_VEC(struct fq_label) labels; /* by key */
    sl_sym hostname;                /* of them, kubernetes.io/hostname; 0: none */
    SL_VEC(sl_sym) taints;          /* "taint:KEY=VALUE:EFFECT" */
    SL_VEC(struct fq_pool) pools;   /* by name */
    uint64_t hash, structure;       /* of the object; of what decides its vertices */
    uint64_t changed;               /* q->node_changes when it did */
    bool up, usable;                /* usable: it could be decoded */
    sl_vtx v;                       /* SL_VTX_NONE: not in the graph */
};

/* What a pod requests, interned: pods come from few manifests. */
struct fq_amount {
    sl_sym resource;
    int64_t amount; /* in the units of the graph */
};
struct fq_usage {
    uint64_t hash; /* of what it was read from */
    char *text;    /* that: requests of a pod spec, then host ports */
    uint64_t size; /* equal where the amounts are, and only there; from their hash */
    uint32_t id, refs, n;
    struct fq_amount v[];
};

static inline struct fq_node *fq_node_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_node, rec);
}

/* ---- nodes.c ---- */
bool fq_node_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_node_deleted(void *ctx, struct sl_rec *r);
void fq_node_free(struct sl_rec *r);
void fq_node_hold(struct sl_syms *t, struct sl_rec *r);
struct fq_node *fq_node_find(const struct sl_fluxqueue *q, sl_sym name);
/* Counts a pod at the node that it is bound to, or no longer (on: 0). */
void fq_pod_charge(struct sl_fluxqueue *q, struct fq_pod *p, sl_sym on);
/* The same of what it requests beyond its place ("over", which becomes its own): never may the
 * graph have more free than the node has. NULL: nothing. */
void fq_pod_charge_over(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_usage *over);
/* Where it is to be bound to; 0: nowhere yet. */
void fq_pod_target(struct sl_fluxqueue *q, struct fq_pod *p, sl_sym node);
/* A binding to that node is sent; 0: what became of it is known. */
void fq_pod_send(struct sl_fluxqueue *q, struct fq_pod *p, sl_sym node);
/* Counts it where it is, or is on its way to. */
void fq_pod_stand(struct sl_fluxqueue *q, struct fq_pod *p);
/* Has a node what the pod requests, beside all that are there? A place may be one on a node that
 * shrank since, that others filled, or that one before has not left yet. */
bool fq_node_has_room(const struct sl_fluxqueue *q, const struct fq_pod *p, sl_sym node);
/* What it requests from now on, and takes of its node; the reference becomes its own. */
void fq_pod_use(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_usage *u);
/* The symbol of a name that others wrote; 0: it is too long to be one. */
sl_sym fq_intern(struct sl_fluxqueue *q, const char *name);
/* The pool of a resource; NULL: the node has none, and what pods take of it is not counted until
 * there is one, which makes a new graph. */
struct fq_pool *fq_pool_find(struct fq_node *n, sl_sym resource);
/* The same, made if there is none, with nothing in it: of what the node is known to have. */
struct fq_pool *fq_pool_need(struct fq_node *n, sl_sym resource);
/* The size of a pool in the graph: what pods of others leave of it. */
int64_t fq_pool_size(const struct fq_pool *p);
/* An amount of a resource of Kubernetes in the units of the graph, rounded up or down; the type of
 * its vertices. */
int64_t fq_units(const char *resource, sl_quantity amount, bool up);
const char *fq_type_of(const char *resource);
/* The same without telling anybody: for a question, to be taken back. */
void fq_pod_shift(struct sl_fluxqueue *q, struct fq_pod *p, int sign);
/* The value of a label; 0: it has none. */
sl_sym fq_node_label(const struct sl_fluxqueue *q, const struct fq_node *n, const char *key);
/* There are other levels: a change of a node is one of these from now on. */
void fq_nodes_relevel(struct sl_fluxqueue *q);
struct fq_usage *fq_usage_get(struct sl_fluxqueue *q, yyjson_val *pod_spec);
void fq_usage_unref(struct sl_fluxqueue *q, struct fq_usage *s);
/* It has no more of anything than the other. */
bool fq_usage_is_within(const struct fq_usage *s, const struct fq_usage *other);
void fq_usages_done(struct sl_fluxqueue *q);
/* Any with these amounts; NULL: nobody has them any more. */
const struct fq_usage *fq_usage_of_size(const struct sl_fluxqueue *q, uint64_t size);

/* A host port, and how many graphs were made since a Workload asked for it. */
struct fq_asked_port {
    sl_sym port;
    uint32_t age;
};

/* ---- ports.c ---- */
/* Something of ours asks for these: if they are not pools yet, the graph is made anew. */
void fq_ports_demand(struct sl_fluxqueue *q, const struct fq_usage *u);
/* The same for a Workload that has no places yet: remembered while it asks. */
void fq_ports_ask(struct sl_fluxqueue *q, const struct fq_usage *u);
/* Nobody knows whether others ask for them: if some wait for a pool, the graph is made anew. */
void fq_ports_released(struct sl_fluxqueue *q, const struct fq_usage *u);
/* Which are pools of the graph that is about to be made. */
void fq_ports_collect(struct sl_fluxqueue *q);
/* They are on a node. */
void fq_ports_put(struct sl_fluxqueue *q, struct fq_node *n);

#endif
