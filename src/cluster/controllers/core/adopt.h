/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label selectors of controllers, and the two writes that follow from them: an object without a
 * controller that matches a selector is adopted (after the controller was read and is not being
 * deleted: an object may be without one because that controller released it), and one whose labels
 * no longer match is released.
 */
#ifndef SL_CLUSTER_CONTROLLERS_CORE_ADOPT_H
#define SL_CLUSTER_CONTROLLERS_CORE_ADOPT_H

#include "cluster/controllers/core/cluster_int.h"
#include "core/base/arena.h"
#include "core/model/labels.h"

struct cl_selector {
    struct sl_arena arena;
    struct sl_selector rules;
    bool some; /* an empty selector, or one that cannot be read, chooses nothing */
};

/* Rules of a map of labels and of a list of expressions; either may be NULL. False: one of them
 * cannot be read, or there are too many. */
bool cl_rules_read(struct sl_arena *a, yyjson_val *labels, yyjson_val *expressions,
                   struct sl_selector *ret);
/* Labels as records, copied into the arena. */
void cl_labels_read(struct sl_arena *a, yyjson_val *map, struct sl_labels *ret);
void cl_selector_init(struct cl_selector *s);
void cl_selector_done(struct cl_selector *s);
void cl_selector_read(struct cl_selector *s, yyjson_val *selector);
/* From a map of labels, as ReplicationControllers have it. */
void cl_selector_read_map(struct cl_selector *s, yyjson_val *labels);
/* labels: the JSON text of a map, NULL for none. */
bool cl_selector_matches(const struct cl_selector *s, const char *labels);

/* What is to become of an object's controller. */
struct cl_adoption {
    uint64_t by;  /* uid of the adopting controller; 0: none */
    bool checked; /* which was read, and exists */
    bool release; /* it is to lose the one it has */
    char *others; /* owner references that are no controller, an array of JSON; NULL: none */
};

void cl_adoption_decode(struct cl_adoption *a, yyjson_val *o);
void cl_adoption_done(struct cl_adoption *a);
/* Pending changes; idempotent. */
void cl_adopt(struct sl_rec *r, struct cl_adoption *a, const struct sl_rec *by);
void cl_release(struct sl_rec *r, struct cl_adoption *a);
/* Fills w, or returns false. A patch is left open in the metadata: the caller may add to it. */
bool cl_adoption_build(struct sl_cluster *c, struct sl_rec *r, struct cl_adoption *a,
                       struct sl_write *w);
/* Handles the response to what it filled. */
void cl_adoption_written(struct sl_rec *r, struct cl_adoption *a, const struct sl_write *w,
                         enum sl_written how, const struct sl_kube_reply *reply);

#endif
