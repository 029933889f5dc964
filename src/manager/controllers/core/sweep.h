/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collection of names that no record uses. */
#ifndef SL_MANAGER_CONTROLLERS_CORE_SWEEP_H
#define SL_MANAGER_CONTROLLERS_CORE_SWEEP_H

#include "core/base/collection/sym.h"

struct sl_manager;

/* At the end of an iteration, if due. No string of a symbol, of the manager, the engine or the
 * topologies, is valid beyond it unless a record has the symbol. */
void mgr_sweep_symbols(struct sl_manager *m);
/* Marks what the manager holds besides its records. */
void mgr_manager_hold_names(void *ctx, struct sl_syms *t);

#endif
