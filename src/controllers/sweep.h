/* SPDX-License-Identifier: Apache-2.0 */
/* Forgetting the names that no record has any more. */
#ifndef SL_CONTROLLERS_SWEEP_H
#define SL_CONTROLLERS_SWEEP_H

#include "base/macros.h"

struct sl_manager;

/* At the end of a turn, what is due. No text of a symbol, of the manager, the engine
 * or the topologies, is valid beyond it unless a record has the symbol. */
void names_sweep(struct sl_manager *m);

#endif
