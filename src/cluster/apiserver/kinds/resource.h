/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of devices that claims and slices share.
 */
#ifndef SL_CLUSTER_APISERVER_KINDS_RESOURCE_H
#define SL_CLUSTER_APISERVER_KINDS_RESOURCE_H

#include "cluster/apiserver/kinds/kind.h"

/* No more items than these, else an error. */
bool api_device_list_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list,
                           size_t max);
/* A field that is a DNS label. */
void api_device_label_check(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *object,
                            const char *field);
/* Of a taint: NoSchedule, NoExecute, None. */
bool api_device_effect_known(const char *effect);
void api_device_effect_check(struct sl_field_errs *e, const struct sl_path *at, const char *effect);
/* ---- resource_slice.c ---- */
/* "name", or "domain/name", which a reference needs to be. */
void api_device_attribute_check(struct sl_field_errs *e, const struct sl_path *at, const char *name,
                                bool whole);
/* "a.b/c.d": DNS subdomains. */
void api_device_pool_check(struct sl_field_errs *e, const struct sl_path *at, const char *name);
/* bindingConditions and bindingFailureConditions. */
void api_device_binding_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *of);
extern const struct api_strategy api_device_slice_strategy;

#endif
