/* SPDX-License-Identifier: Apache-2.0 */
/* Forgetting the names that no record has any more. Private to src/cluster. */
#ifndef SL_CLUSTER_NAMES_H
#define SL_CLUSTER_NAMES_H

struct sl_cluster;

/* At the end of a turn. No text of a symbol is valid beyond it unless a record has the symbol. */
void cl_names_sweep(struct sl_cluster *c);

#endif
