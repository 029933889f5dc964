/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed ids. A workload id is an index with a generation, so a stale id is distinguished from a new
 * workload in the same slot. 0 is "none" for all of them.
 */
#ifndef SL_CORE_MODEL_IDS_H
#define SL_CORE_MODEL_IDS_H

#include "core/base/macros.h"

typedef struct {
    uint64_t v; /* generation << 32 | index + 1 */
} sl_wl_id;

typedef struct {
    uint32_t v; /* index + 1 */
} sl_shape_id;

#define SL_WL_NONE ((sl_wl_id){0})
#define SL_SHAPE_NONE ((sl_shape_id){0})

#endif
