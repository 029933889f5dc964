/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workload: which fields may change. While quota is reserved the podsets are immutable, the
 * admission is immutable as long as it is set, and reclaimable pods may only increase.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"
#include "core/model/specs.h"
#include "kube/types/syntax.h"
#include "manager/admission/handlers.h"
#include "manager/admission/job_rules.h"

#define REPLACEMENT_FOR "kueue.x-k8s.io/workload-slice-replacement-for"

/* ---- podsets ---- */

static bool same_podset(const struct sl_review_call *c, yyjson_val *now, yyjson_val *old) {
    static const char *const count[] = {"count", NULL};

    if (adm_call_gate(c, SL_G_ELASTIC_JOBS_VIA_WORKLOAD_SLICES) &&
        sl_json_int(now, "count", 0) < sl_json_int(old, "count", 0))
        return sl_json_same_but(now, old, count);
    return sl_json_same(now, old);
}

static void check_podsets(struct sl_review_call *c) {
    const struct sl_path *at = SL_PATH(NULL, "spec.podSets");
    yyjson_val *now = sl_json_at(c->object, "spec.podSets"), *set;
    yyjson_val *old = sl_json_at(c->old, "spec.podSets");
    yyjson_arr_iter in_old = yyjson_arr_iter_with(old);
    size_t i, n;

    if (sl_json_size(now) != sl_json_size(old)) {
        sl_field_invalid(&c->errs, at, sl_field_value_json(now), SL_FIELD_IMMUTABLE);
        return;
    }
    yyjson_arr_foreach (now, i, n, set) {
        char place[24]; /* "spec.podSets.0": a name, not an index, for whatever reason */
        sl_fmt(place, sizeof(place), "%zu", i);
        if (!same_podset(c, set, yyjson_arr_iter_next(&in_old)))
            sl_field_invalid(&c->errs, SL_PATH(at, place), sl_field_value_json(set),
                             SL_FIELD_IMMUTABLE);
    }
}

/* ---- admission ---- */

static bool same_assignments(yyjson_val *now, yyjson_val *old) {
    static const char *const topology[] = {"topologyAssignment", "delayedTopologyRequest", NULL};
    yyjson_arr_iter in_old = yyjson_arr_iter_with(old);
    size_t i, n;
    yyjson_val *assigned;

    if (sl_json_size(now) != sl_json_size(old))
        return false;
    yyjson_arr_foreach (now, i, n, assigned) {
        if (!sl_json_same_but(assigned, yyjson_arr_iter_next(&in_old), topology))
            return false;
    }
    return true;
}

/* It comes and goes, but does not change, except for the place of the pods. */
static void check_admission(struct sl_review_call *c) {
    static const char *const assignments[] = {"podSetAssignments", NULL};
    yyjson_val *now = sl_json_at(c->object, "status.admission");
    yyjson_val *old = sl_json_at(c->old, "status.admission");
    bool same;

    if (!now || !old)
        return;
    if (adm_call_gate(c, SL_G_TOPOLOGY_AWARE_SCHEDULING))
        same = sl_json_same_but(now, old, assignments) &&
               same_assignments(sl_json_get(now, assignments[0]), sl_json_get(old, assignments[0]));
    else
        same = sl_json_same(now, old);
    if (!same)
        sl_field_invalid(&c->errs, SL_PATH(NULL, "status.admission"), sl_field_value_json(now),
                         SL_FIELD_IMMUTABLE);
}

/* ---- reclaimable pods ---- */

/* Is a podset of an elastic job smaller now than it was admitted? Its counts are then made anew. */
static bool is_scaled_down(const struct sl_review_call *c, const char *podset) {
    yyjson_val *list = sl_json_at(c->object, "status.admission.podSetAssignments");
    yyjson_val *assigned =
        sl_json_size(list) > SL_MAX_PODSETS ? NULL : sl_json_find(list, "name", podset);
    yyjson_val *set = sl_json_find(sl_json_at(c->object, "spec.podSets"), "name", podset);

    return adm_job_elastic(c, c->object) &&
           sl_json_int(assigned, "count", 0) > sl_json_int(set, "count", 0);
}

static void check_reclaimable(struct sl_review_call *c) {
    const struct sl_path *at = SL_PATH(NULL, "status.reclaimablePods");
    yyjson_val *now = sl_json_at(c->object, "status.reclaimablePods"), *pod;
    yyjson_val *old = sl_json_at(c->old, "status.reclaimablePods");
    size_t i, n;

    if (sl_json_size(now) > SL_MAX_PODSETS || sl_json_size(old) > SL_MAX_PODSETS)
        return; /* refused before; or the old object has more than are accepted now */
    yyjson_arr_foreach (now, i, n, pod) {
        const char *name = sl_json_str(pod, "name");
        int64_t count = sl_json_int(pod, "count", 0);
        int64_t before = sl_json_int(sl_json_find(old, "name", name), "count", INT64_MIN);
        if (count < before && !is_scaled_down(c, name))
            sl_field_invalid(&c->errs, SL_PATH(SL_PATH_KEY(at, name), "count"),
                             sl_field_value_int(count), "cannot be less then %lld",
                             (long long)before);
    }
    yyjson_arr_foreach (old, i, n, pod) {
        const char *name = sl_json_str(pod, "name");
        if (!sl_json_find(now, "name", name) && !is_scaled_down(c, name))
            sl_field_required(&c->errs, SL_PATH_KEY(at, name), "cannot be removed");
    }
}

/* ---- admission checks, MultiKueue ---- */

/* The podset updates of a check that is ready have been applied to the pods. */
static void check_podset_updates(struct sl_review_call *c) {
    const struct sl_path *at = SL_PATH(NULL, "status.admissionChecks");
    yyjson_val *now = sl_json_at(c->object, "status.admissionChecks"), *before;
    size_t i, n;

    yyjson_arr_foreach (sl_json_at(c->old, "status.admissionChecks"), i, n, before) {
        yyjson_val *check = sl_json_find(now, "name", sl_json_str(before, "name"));
        if (i == SL_MAX_CHECKS)
            return;
        if (strcmp(sl_json_str(before, "state"), "Ready") == 0 &&
            strcmp(sl_json_str(check, "state"), "Ready") == 0)
            sl_field_immutable(&c->errs, SL_PATH(SL_PATH_AT(at, i), "podSetUpdates"),
                               sl_json_get(check, "podSetUpdates"),
                               sl_json_get(before, "podSetUpdates"));
    }
}

static void check_cluster_name(struct sl_review_call *c) {
    const char *name = sl_json_str(c->object, "status.clusterName");
    size_t i, n;
    yyjson_val *nominated;

    if (!sl_json_at(c->object, "status.clusterName") || sl_json_at(c->old, "status.clusterName") ||
        (adm_call_gate(c, SL_G_ELASTIC_JOBS_VIA_WORKLOAD_SLICES) &&
         sl_json_annotation_opt(c->object, REPLACEMENT_FOR)))
        return;
    yyjson_arr_foreach (sl_json_at(c->old, "status.nominatedClusterNames"), i, n, nominated) {
        if (yyjson_equals_str(nominated, name))
            return;
    }
    sl_field_invalid(&c->errs, SL_PATH(NULL, "status.clusterName"), sl_field_value_str(name),
                     "when setting clusterName it must be one of the nominatedClusterNames");
}

void adm_rule_workload_update(struct sl_review_call *c) {
    bool was_reserved = sl_json_condition(c->old, "QuotaReserved");

    if (was_reserved)
        check_podsets(c);
    if (was_reserved && sl_json_condition(c->object, "QuotaReserved"))
        check_reclaimable(c);
    check_admission(c);
    check_podset_updates(c);
    check_cluster_name(c);
}
