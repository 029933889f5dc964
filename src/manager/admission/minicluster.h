/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of MiniClusters (flux-framework.org), shared by admission, which refuses what breaks
 * them, and the controller, which has to do with what nobody reviewed.
 *
 * A cluster is made in one of two versions, and the rules are about the object in that one: a path
 * names a field that whoever made it knows.
 */
#ifndef SL_MANAGER_ADMISSION_MINICLUSTER_H
#define SL_MANAGER_ADMISSION_MINICLUSTER_H

#include "kube/types/field.h"

/* Ceilings of the schema (api/schema/minicluster.py), held here too. */
#define SL_MINICLUSTER_MAX_CONTAINERS 32u
#define SL_MINICLUSTER_MAX_VOLUMES 64u  /* of a container */
#define SL_MINICLUSTER_MAX_MOUNTS 256u  /* of all containers: each has those of the ones before */
#define SL_MINICLUSTER_MAX_ENTRIES 256u /* ports, variables */
/* Pods of a Job, as Kubernetes has it. */
#define SL_MINICLUSTER_MAX_SIZE 100000
/* Of all texts in a spec: its scripts go into a ConfigMap, which has 1 MiB. */
#define SL_MINICLUSTER_MAX_TEXT ((size_t)256 << 10)

/* The object in the version that it was made in, from the stored one; the caller frees it. NULL: it
 * cannot be converted. */
yyjson_doc *sl_minicluster_as_made(yyjson_val *stored);
bool sl_minicluster_is_v1alpha1(yyjson_val *object);

/* All errors, with their paths. 'name' may be that of generateName, and so without an end. */
void sl_minicluster_check(struct sl_field_errs *e, const char *name, yyjson_val *object);
/* The place of the container that runs Flux; -1: there is none, or more than one. */
int sl_minicluster_runner(yyjson_val *spec);

#endif
