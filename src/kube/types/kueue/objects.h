/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kueue's manifests, turned into facts: ResourceFlavor, ClusterQueue, Cohort, LocalQueue,
 * AdmissionCheck, Namespace, Workload and WorkloadPriorityClass of kueue.x-k8s.io v1alpha1, v1beta1
 * and v1beta2 with the spellings of each version, and the parts of config.kueue.x-k8s.io
 * Configuration that change decisions. Lists ("kind: List") are unfolded.
 *
 * What Kueue's schema and webhooks reject is rejected here, with file, line and their message.
 * Fields that no version has are errors; what only other components of Kueue need (status,
 * metadata, most of a pod) is ignored. Everything allocated is in the caller's arena or in the
 * document, which must both outlive it.
 */
#ifndef SL_KUBE_TYPES_KUEUE_OBJECTS_H
#define SL_KUBE_TYPES_KUEUE_OBJECTS_H

#include "core/base/collection/vec.h"
#include "core/model/fact.h"
#include "lib/doc/read.h"

enum sl_kueue_object_kind {
    SL_KUEUE_OBJECT_FACT,     /* 'fact' is complete */
    SL_KUEUE_OBJECT_WORKLOAD, /* 'fact' but for its shape, which the engine makes of 'podsets' */
    SL_KUEUE_OBJECT_PRIORITY_CLASS, /* of use only to workloads that name it */
    SL_KUEUE_OBJECT_OTHER,          /* a kind of Kueue's that does not concern the engine */
};

struct sl_kueue_object {
    enum sl_kueue_object_kind kind;
    uint32_t line;
    struct sl_fact fact; /* at = 0; set by the caller */
    /* WORKLOAD */
    const struct sl_podset_spec *podsets;
    uint32_t n_podsets;
    const char *priority_class; /* to be looked up: it named one and gave no priority; else NULL */
    /* PRIORITY_CLASS */
    const char *name;
    int32_t value;
};

struct sl_kueue_objects {
    SL_VEC(struct sl_kueue_object) v;
};

void sl_kueue_objects_done(struct sl_kueue_objects *o);

/* One object. Errors go to rd. */
void sl_kueue_object_decode(struct sl_read *rd, const struct sl_doc_node *n,
                            struct sl_kueue_object *ret);
/* All objects of a document, appended in their order, with priority classes looked up among all
 * objects in o. */
int sl_kueue_objects_decode(const struct sl_doc *d, struct sl_arena *a, struct sl_kueue_objects *o,
                            struct sl_err *err) _must_check_;

/* ---- parts, for readers of other formats that use the same shapes ---- */

/* {cpu: 1, memory: 2Gi} as requests, in the order written. */
const struct sl_request *sl_decode_requests(struct sl_read *rd, const struct sl_doc_node *n,
                                            const char *name, uint32_t *ret_n);
/* {key: value} as labels. */
struct sl_labels sl_decode_labels(struct sl_read *rd, const struct sl_doc_node *n,
                                  const char *name);
/* No more than max tolerations of a pod. */
const struct sl_toleration *sl_decode_tolerations(struct sl_read *rd, const struct sl_doc_node *n,
                                                  uint32_t max, uint32_t *ret_n);
/* The spec of a ClusterQueue or Cohort (v1beta2 spellings) without its metadata. */
void sl_decode_cq_spec(struct sl_read *rd, const struct sl_doc_node *spec, const char *name,
                       struct sl_cq_spec *ret);
void sl_decode_cohort_spec(struct sl_read *rd, const struct sl_doc_node *spec, const char *name,
                           struct sl_cohort_spec *ret);
/* A podset: {name, count, minCount, template}. */
void sl_decode_podset(struct sl_read *rd, const struct sl_doc_node *n, struct sl_podset_spec *ret);

#endif
