/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files of nodes: their records, and their objects as JSON.
 */
#ifndef SL_CLUSTER_KUBELET_NODE_H
#define SL_CLUSTER_KUBELET_NODE_H

#include "cluster/kubelet/kubelet_int.h"
#include "cluster/kubelet/machine.h"
#include "lib/json/writer.h"

#define RESERVED_BYTES (INT64_C(100) << 20) /* of memory: what a kubelet evicts for, too */
#define VIRTUAL_TAINT "virtual-node.interlink/no-schedule"
#define VIRTUAL_ANNOTATION "sluice.dev/virtual-node"

enum klet_node_step { NODE_CREATE, NODE_UPDATE, NODE_STATUS, NODE_OK, NODE_DELETE, NODE_GONE };

struct klet_node {
    char *name;
    uint32_t slot;
    bool sim;
    bool virtual, lost; /* 'sim' as well; of an earlier run, and no longer configured */
    bool gone;          /* a client has deleted it */
    bool guest, seen;   /* of another kubelet; present in the list that is being read */
    bool sized;         /* its capacity is in the object */
    enum klet_node_step step;
    char *taints; /* of others, an array of JSON; NULL: none */
    char *uid;    /* as far as its Lease needs it; NULL: not known */
    uint32_t lease_slot;
    bool has_lease_slot, lease_is; /* the Lease exists */
    struct sl_kubelet *rt;
    sl_kube_call pods; /* of a guest that has just come: those that stand there already */
};

struct klet_nodes {
    SL_VEC(struct klet_node *) all;
    struct klet_node *real;
    uint32_t ready, wanted;
    uint32_t renewed;              /* in 'all': the next Lease to be renewed */
    sl_time renew_at;              /* mono: when */
    struct sl_reflector *labelled; /* simulated ones */
    struct sl_map named;           /* guests and virtual ones, by name */
    uint32_t n_guests;
    bool crowded;  /* the limit was logged */
    sl_time since; /* ready */
    struct klet_machine machine;
};

/* ---- lease.c ---- */
/* The node is there: so is its Lease, soon. object: the Node as it is, or NULL. */
void klet_lease_begin(struct sl_kubelet *r, struct klet_node *n, yyjson_val *object);
void klet_leases_tick(struct sl_kubelet *r); /* renews those of simulated nodes that are due */
void klet_lease_end(struct sl_kubelet *r, struct klet_node *n); /* the node is dropped */

/* ---- node_json.c ---- */
/* With annotations, if it has some. */
void klet_node_put_labels(struct sl_jw *j, const struct sl_kubelet *r, const struct klet_node *n);
void klet_node_put_spec(struct sl_jw *j, const struct sl_kubelet *r, const struct klet_node *n);
void klet_node_put_status(struct sl_jw *j, const struct sl_kubelet *r, const struct klet_node *n);

#endif
