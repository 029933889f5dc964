/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collection of names that no record uses. Private to src/cluster/controllers. */
#ifndef SL_CLUSTER_CONTROLLERS_CORE_NAMES_H
#define SL_CLUSTER_CONTROLLERS_CORE_NAMES_H

#include "core/base/collection/sym.h"

struct sl_cluster;

/* At the end of an iteration. No string of a symbol is valid beyond it unless a record has the
 * symbol. */
void cl_names_sweep(struct sl_cluster *c);
/* Marks what is held besides the records. */
void cl_names_hold(void *ctx, struct sl_syms *t);

#endif
