/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the decoders of Kueue's objects. Private to src/kube/types.
 */
#ifndef SL_KUBE_TYPES_KUEUE_DECODE_H
#define SL_KUBE_TYPES_KUEUE_DECODE_H

#include "kube/types/kueue/objects.h"

enum sl_decode_version { SL_V1ALPHA1, SL_V1BETA1, SL_V1BETA2 };

struct sl_decode_meta {
    const char *ns, *name, *uid;
    sl_time created;
    const struct sl_doc_node *annotations, *labels;
    bool terminating;
};

/* ---- objects.c ---- */
bool sl_decode_is_subdomain(const char *s);
bool sl_decode_is_label_key(const char *s);
/* A string that must be a legal object name. */
void sl_decode_check_name(struct sl_read *rd, uint32_t line, const char *field, const char *name);
/* One of matchExpressions; Gt and Lt only for nodes. */
struct sl_label_rule sl_decode_expression(struct sl_read *rd, const struct sl_doc_node *n,
                                          bool node);
struct sl_selector sl_decode_selector(struct sl_read *rd, const struct sl_doc_node *n,
                                      const char *name);
/* {weight: q} in nano-units; 1 if absent. */
int64_t sl_decode_weight(struct sl_read *rd, const struct sl_doc_node *fair_sharing);

/* ---- queues.c ---- */
void sl_decode_flavor(struct sl_read *rd, const struct sl_doc_node *spec,
                      const struct sl_decode_meta *m, struct sl_flavor_spec *ret);
void sl_decode_cohort(struct sl_read *rd, const struct sl_doc_node *spec,
                      const struct sl_decode_meta *m, enum sl_decode_version v,
                      struct sl_cohort_spec *ret);
void sl_decode_cq(struct sl_read *rd, const struct sl_doc_node *spec,
                  const struct sl_decode_meta *m, enum sl_decode_version v, struct sl_cq_spec *ret);
void sl_decode_lq(struct sl_read *rd, const struct sl_doc_node *spec,
                  const struct sl_decode_meta *m, struct sl_lq_spec *ret);

/* ---- workload.c ---- */
/* As sl_decode_requests, and negative ones too. */
const struct sl_request *sl_decode_factors(struct sl_read *rd, const struct sl_doc_node *n,
                                           const char *name, uint32_t *ret_n);
void sl_decode_workload(struct sl_read *rd, const struct sl_doc_node *spec,
                        const struct sl_decode_meta *m, enum sl_decode_version v,
                        struct sl_kueue_object *ret);

/* ---- config.c ---- */
void sl_decode_config(struct sl_read *rd, const struct sl_doc_node *n, bool v1beta1,
                      struct sl_config *ret);

#endif
