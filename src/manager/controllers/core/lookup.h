/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups for integrations: namespaces, flavors, priorities. Private. */
#ifndef SL_MANAGER_CONTROLLERS_CORE_LOOKUP_H
#define SL_MANAGER_CONTROLLERS_CORE_LOOKUP_H

#include "manager/controllers/core/records.h"

bool mgr_ns_managed(const struct sl_manager *m, sl_sym ns);
bool mgr_ns_managed_by_name(const struct sl_manager *m, const char *ns);
/* By fluxqueue.namespaceSelector; an unknown namespace counts as chosen. */
bool mgr_ns_flux(const struct sl_manager *m, const char *ns);
/* The flavor as written, to be freed by the caller: spec.nodeLabels and spec.tolerations are what
 * it adds to pods. NULL: no such flavor. */
yyjson_doc *mgr_flavor_doc(const struct sl_manager *m, sl_sym flavor);

struct mgr_priority {
    int32_t value;
    const char *group, *kind, *name; /* "" without a class; borrowed until the class changes */
};
/* Kueue's order: the label's WorkloadPriorityClass, else the pod's class, else the global default,
 * else 0. False: a named class does not exist (in 'name'). */
bool mgr_priority_of(const struct sl_manager *m, const char *wpc_label, const char *pod_class,
                     struct mgr_priority *ret);

#endif
