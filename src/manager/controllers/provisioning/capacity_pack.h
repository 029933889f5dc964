/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do these pods fit on the existing nodes? Pure: its input is the capacity of nodes and the pods on
 * them, its result whether so many more pods would fit, all of them or none.
 *
 * A session begins with the free resources ('begin') and takes from them ('charge_pods'). Nodes are
 * tried in the order of their names, each as far as it goes; so what did not fit on a node does not
 * fit for the rest of the session, and equal pods need not try it again ('from'). For pods of one
 * kind that finds a placement whenever there is one; of several kinds the scarcest comes first, so
 * a negative result is no proof. It never puts more on a node than the node has.
 *
 * As the scheduler does: labels (node selector, required affinity), taints, resources and the
 * number of pods, host ports (whatever address they are bound to). A node without the resource
 * "pods" does not limit them.
 */
#ifndef SL_MANAGER_CONTROLLERS_PROVISIONING_CAPACITY_PACK_H
#define SL_MANAGER_CONTROLLERS_PROVISIONING_CAPACITY_PACK_H

#include "core/base/buf.h"
#include "core/topo/topo.h"
#include "kube/types/podset.h"

#define PACK_MAX_RESOURCES 256u /* of all nodes and pods; further ones are on no node */
#define PACK_MAX_KINDS 32u      /* of pods in one evaluation; there are never more */

struct mgr_pack;

struct mgr_pack *mgr_pack_new(void);
void mgr_pack_free(struct mgr_pack *k);

/* To be called whenever it changed. Everything is copied. */
void mgr_pack_node(struct mgr_pack *k, const struct sl_topo_node *reported);
void mgr_pack_node_gone(struct mgr_pack *k, const char *name);
/* A pod was placed there (sign 1) or removed (-1). The node may be unknown yet. */
void mgr_pack_count_pod(struct mgr_pack *k, const char *node, const struct sl_request *v,
                        uint32_t n, const uint32_t *ports, uint32_t n_ports, int sign);

/* Pods of one kind. */
struct mgr_pack_pods {
    const struct sl_podset_spec *spec; /* requests, node_selector, affinity, tolerations */
    const uint32_t *ports;
    uint32_t n_ports;
    int32_t count;
    uint64_t like; /* pods with the same number are equal; 0: like no others */
};

struct mgr_pack_place {
    const char *node; /* as long as it is known */
    uint32_t kind;    /* which of the pods */
    int32_t count;
};
struct mgr_pack_places {
    struct mgr_pack_place *v;
    uint32_t n, cap;
};

void mgr_pack_begin(struct mgr_pack *k);
/*
 * Takes resources for all of them and returns true; or takes nothing. 'some': takes what is
 * available, and returns whether that was enough. places (may be NULL) gets the nodes.
 */
struct mgr_pack_lack {
    uint32_t kind;      /* the first of the pods that did not fit */
    int32_t rest;       /* how many of them were left over */
    struct sl_buf *why; /* gets "of 4 nodes 2 lack cpu, 1 has a taint that is not tolerated": why no
                           node fits another, besides those in use; NULL: not needed */
};
bool mgr_pack_take(struct mgr_pack *k, const struct mgr_pack_pods *v, uint32_t n, bool some,
                   struct mgr_pack_lack *lack, struct mgr_pack_places *places);

#endif
