/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of metadata.managedFields. Private to src/cluster/merge.
 */
#ifndef SL_CLUSTER_MERGE_MANAGERS_H
#define SL_CLUSTER_MERGE_MANAGERS_H

#include "cluster/merge/ceilings.h"
#include "cluster/merge/fields.h"
#include "cluster/merge/merge.h"

struct sl_manager {
    const char *name, *version, *subresource, *time; /* time "": none */
    bool applied;
    bool touched; /* 'entry' does not reflect this any more */
    struct sl_fields *fields;
    yyjson_mut_val *entry; /* as it was read; NULL: new */
};

struct sl_managers {
    struct sl_arena *a;
    struct sl_manager *v;
    uint32_t n, cap;
};

/* False: it is not a list of managers, or of more than SL_MANAGERS_READ; 'ret' is empty then. Later
 * ones of the same name win. */
bool sl_managers_read(struct sl_arena *a, yyjson_mut_val *list, struct sl_managers *ret);
/* The manager that updated through a subresource in a version, or applied through it in any. NULL:
 * none. */
struct sl_manager *sl_managers_find(struct sl_managers *m, const struct sl_manager_id *by,
                                    bool applied);
struct sl_manager *sl_managers_add(struct sl_managers *m, const struct sl_manager_id *by,
                                   bool applied);
/* Those that own nothing go. */
void sl_managers_sweep(struct sl_managers *m);
/* No more than SL_MANAGERS_MAX that update. */
void sl_managers_cap(struct sl_managers *m);
/* No more than SL_MANAGERS_READ in all: of those that applied, the oldest are merged into one that
 * updates, so that their fields still have an owner. Not 'me'. */
void sl_managers_limit(struct sl_managers *m, const struct sl_manager *me);
/* In order, as a list; NULL if there are none. */
yyjson_mut_val *sl_managers_write(struct sl_managers *m, yyjson_mut_doc *doc);
/* "kubectl" using apps/v1: in messages. */
void sl_manager_print(const struct sl_manager *m, struct sl_buf *out);
/* The order in which conflicts are reported. */
int sl_manager_cmp(const struct sl_manager *x, const struct sl_manager *y);

#endif
