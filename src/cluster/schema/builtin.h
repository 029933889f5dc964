/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that are built into the program (tools/embed): api/kubernetes. Private to
 * src/cluster/schema.
 */
#ifndef SL_CLUSTER_SCHEMA_BUILTIN_H
#define SL_CLUSTER_SCHEMA_BUILTIN_H

#include "core/base/embedded.h"

extern const struct sl_embedded schema_builtin_types[];
extern const size_t schema_builtin_types_n;
extern const struct sl_embedded schema_builtin_numbers[]; /* one: of fields in protobuf */
extern const size_t schema_builtin_numbers_n;

#endif
