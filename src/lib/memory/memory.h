/* SPDX-License-Identifier: Apache-2.0 */
/* What the heap has taken from the system. */
#ifndef SL_LIB_MEMORY_MEMORY_H
#define SL_LIB_MEMORY_MEMORY_H

#include "core/base/time.h"

#define SL_MEMORY_EVERY (30 * SL_SEC) /* between two calls */

/* Gives memory that is free back to the system, if it is much: after a burst it lies between what
 * is used, and the heap would keep it. Takes some milliseconds then. */
void sl_memory_trim(void);

#endif
