/* SPDX-License-Identifier: Apache-2.0 */
/* Lists on the command line: which controllers and webhooks run. */
#ifndef SL_MANAGER_CONTROLLERS_CORE_PARTS_H
#define SL_MANAGER_CONTROLLERS_CORE_PARTS_H

#include "manager/controllers/core/manager.h"

/* --controllers; NULL: as configured. An unknown name is logged and ignored: it may be of a
 * controller that this version does not have. */
struct sl_manager_parts sl_manager_parts_parse(const char *list, const struct sl_settings *s);
/* --webhooks; NULL: of the enabled integrations. */
void sl_manager_webhooks_parse(const char *list, const struct sl_settings *s,
                               bool ret[SL_FW_COUNT]);
/* "a,b" as a list in the arena. */
struct sl_strs sl_manager_words_parse(const char *list, struct sl_arena *a);

#endif
