/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers ProvisioningRequests of the class check-capacity.autoscaling.x-k8s.io where no cluster
 * autoscaler does: is there capacity for all its pods on the existing nodes? (capacity_pack.c.)
 *
 * Accepted and Provisioned are written together: CapacityIsFound, and the capacity is booked for
 * ten minutes against other requests, less what its pods take as they are bound; or
 * CapacityIsNotFound with what is lacking, evaluated again with every change of nodes, pods and
 * requests. After ten minutes: BookingExpired. With the parameter noRetry "true", or after
 * ValidUntilSeconds, a request without capacity fails.
 *
 * Other controllers take precedence. A request that another one has accepted, or that names another
 * processorInstance, is not ours; while the lease of a cluster autoscaler is being renewed, it has
 * a minute to accept. A request that we answer is marked in its status
 * (provisioningClassDetails.answeredBy), so that a restart finds it.
 *
 * Nodes and pods are cached for this from the first such request on.
 */
#ifndef SL_MANAGER_CONTROLLERS_PROVISIONING_CAPACITY_H
#define SL_MANAGER_CONTROLLERS_PROVISIONING_CAPACITY_H

#include "manager/controllers/provisioning/provisioning.h"

struct mgr_capacity;
struct mgr_rec_pod;
struct sl_topo_node;

/* ---- requests ---- */
void mgr_capacity_decode(const struct sl_manager *m, struct mgr_rec_prov *p, yyjson_val *details);
void mgr_capacity_request(struct sl_manager *m, struct mgr_rec_prov *p);
bool mgr_capacity_build(struct sl_manager *m, struct mgr_rec_prov *p, struct sl_write *w);
void mgr_capacity_written(struct sl_manager *m, struct mgr_rec_prov *p, enum mgr_prov_step step,
                          enum sl_written how, const struct sl_kube_reply *reply);
/* An input of the evaluation changed. */
void mgr_capacity_touch(struct sl_manager *m);
/* Evaluates the requests, once after all events of an iteration. */
void mgr_capacity_turn(struct sl_manager *m);
/* When it has to come again (mono). */
sl_time mgr_capacity_next(const struct sl_manager *m);
/* Whether there is a request of the class. Called before the first reconciliation. */
bool mgr_capacity_is_requested(const struct sl_manager *m);
void mgr_capacity_end(struct sl_manager *m);

/* ---- what there is ---- */
void mgr_capacity_node(struct sl_manager *m, const struct sl_topo_node *n);
void mgr_capacity_node_gone(struct sl_manager *m, const char *name);
void mgr_capacity_pod(struct sl_manager *m, struct mgr_rec_pod *p);
void mgr_capacity_pod_gone(struct sl_manager *m, struct mgr_rec_pod *p);

#endif
