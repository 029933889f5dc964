/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CustomResourceDefinitions: kinds that are objects themselves. Our own kinds are CRDs too, built
 * into the program.
 */
#ifndef SL_CLUSTER_APISERVER_CRD_CRD_H
#define SL_CLUSTER_APISERVER_CRD_CRD_H

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/kinds/kind.h"

#define SL_CRD_FINALIZER "customresourcecleanup.apiextensions.k8s.io"

/* Of the kind CustomResourceDefinition. Its 'after' adds, changes and removes kinds. */
extern const struct api_strategy api_crd_strategy;

/* Our own, for the store: the text of each definition that is built in, as JSON; NULL after the
 * last. The core creates those that are not there when it starts, and updates those that differ in
 * spec. */
const char *api_crd_builtin(uint32_t i, size_t *ret_len);

void api_crd_free(struct api_crd *d);
/* Frees those that are no longer served and that no request refers to; between requests only. */
void api_crds_free_retired(struct sl_apiserver *s);

/* An object of one version in another of its kind, also of built-in kinds ("group/version"): made
 * in doc. For writes too: to the storage version. Copies if it is the same already. */
int api_kind_convert(const struct api_kind *k, yyjson_val *object, const char *api_version,
                     yyjson_mut_doc *doc, yyjson_mut_val **ret, struct sl_err *err) _must_check_;

#endif
