/* SPDX-License-Identifier: Apache-2.0 */
/* Pod templates, interned, and the shapes of podsets that are made of them. Private. */
#ifndef SL_MANAGER_CONTROLLERS_CORE_TEMPLATES_H
#define SL_MANAGER_CONTROLLERS_CORE_TEMPLATES_H

#include "manager/controllers/core/records.h"

void mgr_templates_new(struct sl_manager *m);
void mgr_templates_end(struct sl_manager *m);

/*
 * Cached parts of a pod template. Equal templates share one record; a template is found by the hash
 * of its content.
 */
struct mgr_template {
    uint32_t id, refs;
    uint64_t hash;       /* of all below */
    uint64_t containers; /* of initContainers and containers: what must stay equal between a job and
                            its workload */
    uint64_t tolerations; /* of spec.tolerations */
    char
        *parts; /* JSON map of what is injected and restored: labels, annotations (of metadata),
                 * nodeSelector, tolerations, schedulingGates (of spec); absent ones are left out */
    char *pod;  /* JSON map of what decides: resources and host ports of containers, claims,
                 * affinity, ... */
    char *priority_class; /* spec.priorityClassName, "" */
};
/* Returns a reference. */
struct mgr_template *mgr_template_get(struct sl_manager *m, yyjson_val *tmpl);
void mgr_template_unref(struct sl_manager *m, struct mgr_template *t);
/* What 'tolerations' of a template is for this list. */
uint64_t mgr_template_tolerations_hash(yyjson_val *tolerations);

struct mgr_wl_podset;
struct sl_doc;
/* Podsets as they count in a namespace (LimitRange and RuntimeClass taken into account). */
struct mgr_podsets {
    struct sl_arena arena;
    struct sl_doc *doc;
    const struct sl_podset_spec *v; /* as many as requested */
    const char *invalid;            /* why they can never be admitted; NULL if they can */
};
/* False: they make no sense. To be ended in any case. */
bool mgr_podsets_read(struct sl_manager *m, sl_sym ns, const struct mgr_wl_podset *v, uint32_t n,
                      struct mgr_podsets *ret);
void mgr_podsets_done(struct mgr_podsets *p);
/*
 * The shape of these podsets in a namespace.
 * *ret_invalid: why they can never be admitted, NULL if they can; borrowed until the next call.
 * False: the engine cannot take them at all.
 */
bool mgr_template_shape(struct sl_manager *m, sl_sym ns, const struct mgr_wl_podset *v, uint32_t n,
                        sl_shape_id *ret, const char **ret_invalid);
/* Limits changed: shapes have to be computed again. */
void mgr_template_forget_shapes(struct sl_manager *m);

#endif
