/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of metadata.managedFields. Private to src/cluster/merge.
 */
#ifndef SL_CLUSTER_MERGE_MANAGERS_H
#define SL_CLUSTER_MERGE_MANAGERS_H

#include "cluster/merge/ceilings.h"
#include "cluster/merge/fields.h"
#include "cluster/merge/merge.h"

struct merge_manager {
    const char *name, *version, *subresource, *time; /* time "": none */
    bool applied;
    bool touched; /* 'entry' does not reflect this any more */
    struct merge_fields *fields;
    yyjson_mut_val *entry; /* as it was read; NULL: new */
};

struct merge_managers {
    struct sl_arena *a;
    struct merge_manager *v;
    uint32_t n, cap;
};

/* False: it is not a list of managers, or of more than SL_MANAGERS_READ; 'ret' is empty then. Later
 * ones of the same name win. */
bool merge_managers_read(struct sl_arena *a, yyjson_mut_val *list, struct merge_managers *ret);
/* The manager that updated through a subresource in a version, or applied through it in any. NULL:
 * none. */
struct merge_manager *merge_managers_find(struct merge_managers *m, const struct sl_manage_id *by,
                                          bool applied);
struct merge_manager *merge_managers_add(struct merge_managers *m, const struct sl_manage_id *by,
                                         bool applied);
/* Those that own nothing go. */
void merge_managers_sweep(struct merge_managers *m);
/* No more than SL_MANAGERS_MAX that update. */
void merge_managers_cap(struct merge_managers *m);
/* No more than SL_MANAGERS_READ in all: of those that applied, the oldest are merged into one that
 * updates, so that their fields still have an owner. Not 'me'. */
void merge_managers_limit(struct merge_managers *m, const struct merge_manager *me);
/* In order, as a list; NULL if there are none. */
yyjson_mut_val *merge_managers_write(struct merge_managers *m, yyjson_mut_doc *doc);
/* "kubectl" using apps/v1: in messages. */
void merge_manager_print(const struct merge_manager *m, struct sl_buf *out);
/* The order in which conflicts are reported. */
int merge_manager_cmp(const struct merge_manager *x, const struct merge_manager *y);

#endif
