/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The role of a pod in its group: pods with the same hash are one podset. The hash covers what
 * matters for where a pod may run and what it takes: requests and ports of its containers, node
 * selector, affinity, tolerations, runtime class, priority, spread constraints, overhead, claims,
 * and the requests of the pod as a whole: its shape. It is byte for byte Kueue's, since it is
 * written on pods and in the podset names of Workloads, and these outlive a change of the
 * controller.
 */
#ifndef SL_KUBE_TYPES_ROLE_H
#define SL_KUBE_TYPES_ROLE_H

#include <yyjson.h>

#include "core/base/buf.h"

#define SL_ROLE_ANNOTATION "kueue.x-k8s.io/role-hash"
#define SL_ROLE_HASH_SIZE 9u /* eight digits and the end */

/*
 * The hash of a pod's spec. The annotation is not considered: for a pod whose Workload is built
 * from the pods themselves it must not differ, else a large pod would count as a small one. Any
 * JSON is accepted; what is absent or of an unexpected type counts as absent. Pure; time and memory
 * are linear in the size of the pod.
 */
void sl_role_hash(yyjson_val *pod, char ret[SL_ROLE_HASH_SIZE]);

/* Appends the shape of a pod's spec as JSON, as Go would write it. */
void sl_role_shape(yyjson_val *spec, struct sl_buf *out);

#endif
