/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program src/cluster/kubelet/process/supervisor_main.c as it was linked, one file.
 */
#ifndef SL_CLUSTER_KUBELET_PROCESS_SUPERVISOR_IMAGE_H
#define SL_CLUSTER_KUBELET_PROCESS_SUPERVISOR_IMAGE_H

#include "core/base/embedded.h"

extern const struct sl_embedded klet_supervisor_image[];
extern const size_t klet_supervisor_image_n;

#endif
