/* SPDX-License-Identifier: Apache-2.0 */
/* MPIJobs: a launcher that works as well has the first rank. */
#include <string.h>

#include "manager/admission/job/kind.h"

#define SPECS "spec.mpiReplicaSpecs"
#define ANNOTATIONS "template.metadata.annotations"

/* Workers count from 1, unless they are placed together with the launcher: then the group has the
 * order. */
int adm_mpijob_mutate(struct sl_review_call *c) {
    yyjson_val *specs = sl_json_at(c->object, SPECS);
    yyjson_val *launcher = sl_json_at(c->object, SPECS ".Launcher." ANNOTATIONS);
    yyjson_mut_val *annotations;
    const char *key;

    if (!adm_call_gate(c, SL_G_TOPOLOGY_AWARE_SCHEDULING) ||
        !sl_json_bool(c->object, "spec.runLauncherAsWorker", false) ||
        yyjson_obj_size(specs) != 2 || !sl_json_get(specs, "Worker") ||
        sl_json_get(launcher, SL_PODSET_GROUP))
        return 0;
    annotations =
        adm_edit_parent(c, adm_call_edit(c), NULL, SPECS ".Worker." ANNOTATIONS ".x", &key);
    if (annotations)
        adm_edit_str(c, annotations, SL_INDEX_OFFSET_KEY, "1");
    return c->refused_code;
}
