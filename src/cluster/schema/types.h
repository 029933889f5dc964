/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of schemas, and the notation in which the kinds of Kubernetes are written down
 * (api/kubernetes/NAME.types, built into the program):
 *
 *     package core/v1 io.k8s.api.core.v1
 *
 *     type PodSpec: What a pod runs, and where.
 *       containers: [Container] required merge=name | The containers; at least one.
 *       nodeSelector: {string} atomic | Labels that a node must have.
 *       restartPolicy: RestartPolicy default=Always
 *       terminationGracePeriodSeconds: int64? default=30
 *
 * The head of src/cluster/schema/types.c has the whole of it.
 */
#ifndef SL_CLUSTER_SCHEMA_TYPES_H
#define SL_CLUSTER_SCHEMA_TYPES_H

#include "cluster/schema/ceilings.h"
#include "cluster/schema/schema.h"

struct sl_schemas; /* types by name */

struct sl_schemas *sl_schemas_new(void);
void sl_schemas_free(struct sl_schemas *set);
/* Reads a text in the notation; 'from' names it in messages, with the line. The set refers to the
 * strings of the text, which must stay valid as long. */
int sl_schemas_read(struct sl_schemas *set, const char *text, size_t len, const char *from,
                    struct sl_err *err) _must_check_;
/* Whether all types that are referred to exist. To be called after the last text. */
int sl_schemas_close(struct sl_schemas *set, struct sl_err *err) _must_check_;
/* "io.k8s.api.core.v1.Pod"; NULL if there is none. */
const struct sl_schema *sl_schemas_find(const struct sl_schemas *set, const char *name);
/* All that are built in, read and closed. */
int sl_schemas_builtin(struct sl_schemas **ret, struct sl_err *err) _must_check_;
/* All with a name, in order: for (uint32_t i = 0; (s = sl_schemas_each(set, &i));) */
const struct sl_schema *sl_schemas_each(const struct sl_schemas *set, uint32_t *at);

#endif
