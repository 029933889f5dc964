/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TrainJobs. What an admission adds to the pods is written into an entry of spec.runtimePatches
 * that is the queue's own. It has to be there from the beginning: later the Trainer lets no entry
 * come.
 */
#include <string.h>

#include "manager/admission/job/kind.h"

#define PATCHES "spec.runtimePatches"

/* The template is nowhere in the object: it comes from the runtime. */
const char *adm_trainjob_place(struct sl_review_call *c, const struct sl_jobkind_pods *p) {
    return sl_arena_printf(c->arena, "job[%s]", p->name);
}

int adm_trainjob_mutate(struct sl_review_call *c) {
    yyjson_val *now = sl_json_at(c->object, PATCHES);
    yyjson_mut_val *spec, *list, *patch, *template;
    const char *key;

    if (now && !yyjson_is_arr(now))
        return adm_call_refuse_type(c, SL_PATH(NULL, PATCHES), "a list");
    if (sl_json_find(now, "manager", SL_JOBKIND_PATCH_MANAGER))
        return 0;
    spec = adm_edit_parent(c, adm_call_edit(c), NULL, PATCHES, &key);
    if (!spec)
        return c->refused_code;
    list = yyjson_mut_obj_get(spec, key);
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(c->edit);
        (void)yyjson_mut_obj_put(spec, yyjson_mut_str(c->edit, key), list);
    }
    patch = yyjson_mut_arr_add_obj(c->edit, list);
    adm_edit_str(c, patch, "manager", SL_JOBKIND_PATCH_MANAGER);
    template = adm_edit_object(c, adm_edit_object(c, patch, "trainingRuntimeSpec"), "template");
    (void)adm_edit_object(c, template, "spec");
    return 0;
}
