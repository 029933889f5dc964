/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ray. What is managed is a cluster of a fixed size, which goes with its job: podsets of a Workload
 * are all that can be admitted. Only elastic jobs may grow by themselves.
 */
#include <string.h>

#include "manager/admission/job/kind.h"

#define MAX_PODSETS 18 /* of a Workload */
#define HEAD "head"

/* Where the description of the cluster is, and where Kueue's messages say that it is. */
static const char *spec_of(const struct sl_review_call *c, bool in_message) {
    if (strcmp(c->row->kind, "RayCluster") == 0)
        return "spec";
    return in_message || strcmp(c->row->kind, "RayJob") == 0 ? "spec.rayClusterSpec"
                                                             : "spec.rayClusterConfig";
}

const char *adm_rayservice_place(struct sl_review_call *c, const struct sl_jobkind_pods *p) {
    size_t n = strlen(spec_of(c, false));
    if (strncmp(p->path, spec_of(c, false), n) != 0)
        return NULL;
    return sl_arena_printf(c->arena, "%s%s.metadata", spec_of(c, true), p->path + n);
}

/* ---- creation ---- */

static int gate_workers(struct sl_review_call *c, yyjson_mut_val *groups,
                        const struct sl_path *at) {
    size_t i, n;
    yyjson_mut_val *group;

    yyjson_mut_arr_foreach (groups, i, n, group) {
        if (!yyjson_mut_is_obj(group))
            return adm_call_refuse_type(c, SL_PATH_AT(at, i), "an object");
        if (adm_kind_gate(c, group, SL_PATH_AT(at, i), "template") != 0)
            return c->refused_code;
    }
    return 0;
}

/* Pods of an elastic cluster wait one by one. */
int adm_ray_mutate(struct sl_review_call *c) {
    const char *groups = sl_arena_printf(c->arena, "%s.workerGroupSpecs", spec_of(c, false)), *key;
    const char *head = sl_arena_printf(c->arena, "%s.headGroupSpec.template", spec_of(c, false));
    yyjson_val *list = sl_json_at(c->object, groups);
    yyjson_mut_val *parent;

    if (!adm_job_elastic(c, c->object))
        return 0;
    if (adm_kind_gate(c, adm_call_edit(c), NULL, head) != 0)
        return c->refused_code;
    if (list && !yyjson_is_arr(list))
        return adm_call_refuse_type(c, SL_PATH(NULL, groups), "a list");
    parent = adm_edit_parent(c, adm_call_edit(c), NULL, groups, &key);
    return parent ? gate_workers(c, yyjson_mut_obj_get(parent, key), SL_PATH(NULL, groups))
                  : c->refused_code;
}

/* ---- rules ---- */

static void check_groups(struct sl_review_call *c, yyjson_val *cluster, const struct sl_path *at) {
    yyjson_val *groups = sl_json_get(cluster, "workerGroupSpecs"), *group;
    const struct sl_path *list = SL_PATH(at, "workerGroupSpecs");
    size_t i, n;

    if (yyjson_arr_size(groups) + 1 > MAX_PODSETS)
        sl_field_too_many(&c->errs, list, yyjson_arr_size(groups) + 1, MAX_PODSETS);
    yyjson_arr_foreach (groups, i, n, group) {
        if (strcmp(sl_json_str(group, "groupName"), HEAD) == 0)
            sl_field_forbidden(&c->errs, SL_PATH(SL_PATH_AT(list, i), "groupName"),
                               "\"" HEAD "\" is reserved for the head group");
    }
}

static void check_autoscaling(struct sl_review_call *c, yyjson_val *cluster,
                              const struct sl_path *at, const char *why) {
    if (sl_json_bool(cluster, "enableInTreeAutoscaling", false) && !adm_job_elastic(c, c->object))
        sl_field_invalid(&c->errs, SL_PATH(at, "enableInTreeAutoscaling"),
                         sl_field_value_bool(true), "%s", why);
}

static void check_gate(struct sl_review_call *c, yyjson_val *group, const struct sl_path *at) {
    yyjson_val *gates = sl_json_at(group, "template.spec.schedulingGates");

    if (!sl_json_find(gates, "name", SL_ELASTIC_KEY))
        sl_field_invalid(&c->errs, SL_PATH(at, "template.spec.schedulingGates"),
                         sl_field_value_json(gates),
                         "an elastic job must have the ElasticJobSchedulingGate");
}

bool adm_raycluster_check(struct sl_review_call *c) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(c->object, "spec"), *group;
    size_t i, n;

    if (adm_job_elastic(c, c->object)) {
        yyjson_arr_foreach (sl_json_get(spec, "workerGroupSpecs"), i, n, group)
            check_gate(c, group, SL_PATH_AT(SL_PATH(at, "workerGroupSpecs"), i));
        check_gate(c, sl_json_get(spec, "headGroupSpec"), SL_PATH(at, "headGroupSpec"));
    }
    check_autoscaling(c, spec, at,
                      "a kueue managed job can use autoscaling only when the "
                      "ElasticJobsViaWorkloadSlices feature gate is on and the job is an elastic "
                      "job");
    check_groups(c, spec, at);
    return true;
}

/* The cluster of a RayJob or a RayService. */
static void check_cluster(struct sl_review_call *c) {
    const struct sl_path *at = SL_PATH(NULL, spec_of(c, true));
    yyjson_val *cluster = sl_json_at(c->object, spec_of(c, false));

    check_autoscaling(c, cluster, at,
                      "a kueue managed job should only use autoscaling when workload slicing is "
                      "enabled");
    check_groups(c, cluster, at);
}

bool adm_rayservice_check(struct sl_review_call *c) {
    check_cluster(c);
    return true;
}

/* One that runs in a cluster which is there already is none of ours. */
bool adm_rayjob_check(struct sl_review_call *c) {
    yyjson_val *selector = sl_json_at(c->object, "spec.clusterSelector");
    bool selects = yyjson_obj_size(selector) > 0;
    bool has_cluster = sl_json_at(c->object, "spec.rayClusterSpec");

    if (selects && has_cluster)
        sl_field_invalid(&c->errs, SL_PATH(NULL, "spec.clusterSelector"),
                         sl_field_value_json(selector),
                         "a kueue managed job should not use an existing cluster");
    else if (!selects && !has_cluster)
        sl_field_required(&c->errs, SL_PATH(NULL, "spec.rayClusterSpec"),
                          "rayClusterSpec is required for Kueue-managed jobs that don't use "
                          "clusterSelector");
    if (selects || !has_cluster)
        return false;
    if (!sl_json_bool(c->object, "spec.shutdownAfterJobFinishes", false))
        sl_field_invalid(&c->errs, SL_PATH(NULL, "spec.shutdownAfterJobFinishes"),
                         sl_field_value_bool(false),
                         "a kueue managed job should delete the cluster after finishing");
    check_cluster(c);
    return true;
}
