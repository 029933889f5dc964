/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of plain pods that are one job of the queue on the resource graph: by which labels a pod
 * says so. Shared by admission and the controller (manager/fluxqueue).
 *
 *     name  fluxqueue/group-name, scheduling.x-k8s.io/pod-group (scheduler-plugins and Fluence), or
 *           kueue.x-k8s.io/pod-group-name: a label
 *     size  fluxqueue/group-size, fluence.group-size, or kueue.x-k8s.io/pod-group-total-count: a
 *           label or an annotation
 *
 * Of several the first counts. What Kueue queues is no group here: Kueue starts it.
 */
#ifndef SL_MANAGER_ADMISSION_FLUX_GROUP_H
#define SL_MANAGER_ADMISSION_FLUX_GROUP_H

#include "lib/json/json.h"

#define SL_FLUX_MAX_GROUP 100000u /* pods; as many as a job can have */

struct sl_flux_group {
    const char *name;     /* in the pod; valid as the name of an object, unless 'why' is set */
    uint32_t size;        /* 0: 'why' is set */
    const char *key;      /* of the label or annotation that is wrong, or is missing */
    const char *map;      /* where that is: "labels" or "annotations" */
    const char *why;      /* what was expected of it; NULL: all is well */
    bool missing;         /* there is none; else: */
    struct sl_text given; /* what is there instead */
};

/* False: the pod belongs to no group. */
bool sl_flux_group_read(yyjson_val *pod, struct sl_flux_group *ret);

#endif
