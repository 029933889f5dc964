/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that Workloads are made of: podsets from pod templates, and what is copied of a job's labels
 * and annotations. In draft.c.
 */
#ifndef SL_MANAGER_CONTROLLERS_JOB_DRAFT_H
#define SL_MANAGER_CONTROLLERS_JOB_DRAFT_H

#include <string.h>

#include "manager/controllers/core/records.h"

struct mgr_priority;

/* Does a label, or an annotation, stay out? */
typedef bool (*mgr_draft_drop_fn)(const char *key, bool label);
/* "template", with every variable of a container's environment once. drop NULL: the spec alone,
 * without labels and annotations. */
void mgr_draft_put_template(yyjson_val *template, mgr_draft_drop_fn drop, struct sl_jw *out);
/* Of jobs within a podset; label NULL, count -1: none. */
struct mgr_draft_subgroup {
    const char *label;
    int32_t count;
};
/* "topologyRequest", or nothing if there is none. index_label: the label with the rank of a pod,
 * NULL. */
void mgr_draft_put_topology(const struct sl_manager *m, yyjson_val *annotations,
                            const char *index_label, struct sl_jw *out);
void mgr_draft_put_topology_of(const struct sl_manager *m, yyjson_val *annotations,
                               const char *index_label, struct mgr_draft_subgroup sub,
                               struct sl_jw *out);
/* Those of the map that are in the list. */
void mgr_draft_put_chosen(yyjson_val *map, const struct sl_strs *keys, struct sl_jw *out);
/* Parameters of ProvisioningRequests, likewise. */
void mgr_draft_put_provreq(yyjson_val *map, struct sl_jw *out);
/* The annotations that a Workload takes over, likewise. */
void mgr_draft_put_annotations(const struct sl_manager *m, yyjson_val *map, struct sl_jw *out);
/* Whether an object of JSON, as a draft keeps them, is empty. */
static inline bool mgr_draft_none(const char *object) {
    return !object || strcmp(object, "{}") == 0;
}
/* "priority" and the other fields of a Workload's spec besides its podsets. max_exec_s: none below
 * 1. replace: for a merge patch, which has to remove absent fields. */
void mgr_draft_put_terms(const struct sl_manager *m, const struct mgr_priority *p, sl_sym queue,
                         int32_t max_exec_s, bool replace, struct sl_jw *out);

#endif
