/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of field management that updates and applies share. Private to src/cluster/merge.
 */
#ifndef SL_CLUSTER_MERGE_MANAGE_H
#define SL_CLUSTER_MERGE_MANAGE_H

#include "cluster/merge/managers.h"

/* Takes what the subresource does not write out of a set. */
void sl_manage_masked(const struct sl_manage_id *by, struct merge_fields **set);
/* What differs, apart from that. */
struct merge_fields *sl_manage_diff(struct sl_arena *a, const struct sl_schema *s,
                                    const struct sl_manage_id *by, yyjson_val *old,
                                    yyjson_mut_val *now);
/* Removes fields without an owner: names, versions and others. */
void sl_manage_strip(struct merge_fields **set);
/* What differs now is owned by this manager alone. */
void sl_manage_account(struct merge_managers *m, const struct sl_manage_id *by,
                       struct merge_fields *diff);
const char *sl_manage_now(struct sl_arena *a, sl_time now);
/* metadata of an object; NULL if it has none. */
yyjson_mut_val *sl_manage_meta(yyjson_mut_val *object);
/* Puts the list in place of what is there; NULL: none. */
void sl_manage_put(yyjson_mut_doc *doc, yyjson_mut_val *object, yyjson_mut_val *list);

#endif
