/* SPDX-License-Identifier: Apache-2.0 */
/* The files of scripts/, as they are built in. */
#ifndef SL_MANAGER_MINICLUSTER_SCRIPTS_H
#define SL_MANAGER_MINICLUSTER_SCRIPTS_H

#include "core/base/embedded.h"

extern const struct sl_embedded mc_scripts[];
extern const size_t mc_scripts_n;

#endif
