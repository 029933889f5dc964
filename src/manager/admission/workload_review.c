/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workload: what must hold of the object by itself, also on writes of its status. What may change
 * is in workload_update.c.
 */
#include <string.h>

#include "core/model/specs.h"
#include "kube/types/syntax.h"
#include "manager/admission/handlers.h"
#include "manager/admission/job_rules.h"

#define PRIORITY_BOOST "kueue.x-k8s.io/priority-boost"

int sl_review_workload_mutate(struct sl_review_call *c) {
    yyjson_mut_val *sets, *set;
    size_t i, n;

    if (adm_call_gate(c, SL_G_PARTIAL_ADMISSION))
        return 0;
    sets = yyjson_mut_obj_get(yyjson_mut_obj_get(adm_call_edit(c), "spec"), "podSets");
    yyjson_mut_arr_foreach (sets, i, n, set) {
        adm_edit_remove(set, "minCount");
    }
    return 0;
}

/* ---- podsets ---- */

/* Kueue counts pods itself, under this name. */
static void check_containers(struct sl_field_errs *e, const struct sl_path *at,
                             yyjson_val *containers) {
    size_t i, n;
    yyjson_val *container;

    yyjson_arr_foreach (containers, i, n, container) {
        const struct sl_path *requests_at = SL_PATH(SL_PATH_AT(at, i), "resources.requests");
        if (yyjson_obj_get(sl_json_at(container, "resources.requests"), "pods"))
            sl_field_invalid(e, SL_PATH_KEY(requests_at, "pods"), sl_field_value_str("pods"),
                             "the key is reserved for internal kueue use");
    }
}

static void check_podsets(struct sl_review_call *c, const struct sl_path *at, yyjson_val *sets) {
    static const char *const lists[] = {"initContainers", "containers"};
    int64_t flexible = 0;
    size_t i, n;
    yyjson_val *set;

    yyjson_arr_foreach (sets, i, n, set) {
        const struct sl_path *set_at = SL_PATH_AT(at, i);
        const struct sl_path *spec_at = SL_PATH(set_at, "template.spec");
        yyjson_val *spec = sl_json_at(set, "template.spec");
        int64_t groups = sl_json_int(set, "topologyRequest.subGroupCount", 0);
        for (size_t k = 0; k < SL_LEN(lists); k++)
            check_containers(&c->errs, SL_PATH(spec_at, lists[k]), sl_json_get(spec, lists[k]));
        flexible += sl_json_get(set, "minCount") != NULL;
        if (groups < 0)
            adm_call_warn(c,
                          "spec.podSets[%zu].topologyRequest.subGroupCount: negative value %lld is "
                          "deprecated and will be rejected in a future release",
                          i, (long long)groups);
    }
    if (flexible > 1)
        sl_field_invalid(&c->errs, at, sl_field_value_int(flexible),
                         "at most one podSet can use minCount");
    if (flexible > 0 && adm_job_elastic(c, c->object))
        sl_field_invalid(&c->errs, at, sl_field_value_int(flexible),
                         "partial admission and elastic job cannot be used together");
}

/* ---- admission ---- */

static void check_usage(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *usage,
                        int64_t count) {
    size_t i, n;
    yyjson_val *key, *val;

    sl_obj_foreach (usage, i, n, key, val) {
        const char *resource = sl_json_text(key);
        sl_quantity q;
        if (sl_json_quantity(val, &q) && sl_amount_of_request(resource, q) % count != 0)
            sl_field_invalid(e, SL_PATH_KEY(at, resource), sl_field_value_json(val),
                             "is not a multiple of %lld", (long long)count);
    }
}

static void check_admission(struct sl_field_errs *e, yyjson_val *admission, yyjson_val *sets) {
    const struct sl_path *at = SL_PATH(NULL, "status.admission");
    const struct sl_path *list_at = SL_PATH(at, "podSetAssignments");
    yyjson_val *list = sl_json_get(admission, "podSetAssignments"), *assigned;
    size_t i, n;

    if (!admission) {
        sl_field_required(e, at, "must be set while QuotaReserved is True");
        return;
    }
    if (!sl_syntax_check_size(e, list_at, list, SL_MAX_PODSETS))
        return;
    yyjson_arr_foreach (list, i, n, assigned) {
        const struct sl_path *assigned_at = SL_PATH_AT(list_at, i);
        const char *name = sl_json_str(assigned, "name");
        int64_t count = sl_json_int(assigned, "count", 0);
        if (!sl_json_find(sets, "name", name))
            sl_field_not_found(e, SL_PATH(assigned_at, "name"), sl_field_value_str(name));
        if (count > 0)
            check_usage(e, SL_PATH(assigned_at, "resourceUsage"),
                        sl_json_get(assigned, "resourceUsage"), count);
    }
}

/* ---- what controllers report ---- */

/* The podsets' names; in the order of the alphabet if they are to be. */
static size_t podset_names(yyjson_val *sets, const char *ret[SL_MAX_PODSETS], bool sorted) {
    size_t i, n, len = 0;
    yyjson_val *set;

    yyjson_arr_foreach (sets, i, n, set) {
        const char *name = sl_json_str(set, "name");
        size_t at = len++;
        for (; sorted && at > 0 && strcmp(ret[at - 1], name) > 0; at--)
            ret[at] = ret[at - 1];
        ret[at] = name;
    }
    return len;
}

/* After an elastic job has shrunk, an old count may be too large until it is reported anew. */
static bool is_left_over(const struct sl_review_call *c, yyjson_val *pod) {
    yyjson_val *list = sl_json_at(c->old, "status.reclaimablePods");
    yyjson_val *before = sl_json_size(list) > SL_MAX_PODSETS
                             ? NULL
                             : sl_json_find(list, "name", sl_json_str(pod, "name"));
    return before && adm_job_elastic(c, c->object) &&
           sl_json_int(before, "count", 0) == sl_json_int(pod, "count", 0);
}

static void check_reclaimable(struct sl_review_call *c, yyjson_val *sets) {
    const struct sl_path *at = SL_PATH(NULL, "status.reclaimablePods");
    yyjson_val *list = sl_json_at(c->object, "status.reclaimablePods"), *pod;
    const char *names[SL_MAX_PODSETS];
    size_t n_names = podset_names(sets, names, false), i, n;

    if (!sl_syntax_check_size(&c->errs, at, list, SL_MAX_PODSETS))
        return;
    yyjson_arr_foreach (list, i, n, pod) {
        const char *name = sl_json_str(pod, "name");
        const struct sl_path *pod_at = SL_PATH_KEY(at, name);
        yyjson_val *set = sl_json_find(sets, "name", name);
        int64_t count = sl_json_int(pod, "count", 0), size = sl_json_int(set, "count", 0);
        if (!set)
            sl_field_unsupported(&c->errs, SL_PATH(pod_at, "name"), sl_field_value_str(name), names,
                                 n_names);
        else if (count > size && !is_left_over(c, pod))
            sl_field_invalid(&c->errs, SL_PATH(pod_at, "count"), sl_field_value_int(count),
                             "should be less or equal to %lld", (long long)size);
    }
}

static void check_podset_updates(struct sl_field_errs *e, const struct sl_path *at,
                                 yyjson_val *updates, yyjson_val *sets) {
    const char *names[SL_MAX_PODSETS];
    size_t n_names = podset_names(sets, names, true), i, n;
    yyjson_val *update;

    if (!sl_syntax_check_size(e, at, updates, SL_MAX_PODSETS))
        return;
    yyjson_arr_foreach (updates, i, n, update) {
        const struct sl_path *update_at = SL_PATH_AT(at, i);
        const char *name = sl_json_str(update, "name");
        if (!sl_json_find(sets, "name", name))
            sl_field_unsupported(e, SL_PATH(update_at, "name"), sl_field_value_str(name), names,
                                 n_names);
        adm_rule_tolerations(e, SL_PATH(update_at, "tolerations"),
                             sl_json_get(update, "tolerations"));
        sl_syntax_check_annotations(e, SL_PATH(update_at, "annotations"),
                                    sl_json_get(update, "annotations"));
        sl_syntax_check_labels(e, SL_PATH(update_at, "nodeSelector"),
                               sl_json_get(update, "nodeSelector"));
        sl_syntax_check_labels(e, SL_PATH(update_at, "labels"), sl_json_get(update, "labels"));
    }
}

static void check_checks(struct sl_field_errs *e, yyjson_val *checks, yyjson_val *sets) {
    const struct sl_path *at = SL_PATH(NULL, "status.admissionChecks");
    size_t i, n;
    yyjson_val *check;

    if (!sl_syntax_check_size(e, at, checks, SL_MAX_CHECKS))
        return;
    yyjson_arr_foreach (checks, i, n, check) {
        check_podset_updates(e, SL_PATH(SL_PATH_AT(at, i), "podSetUpdates"),
                             sl_json_get(check, "podSetUpdates"), sets);
    }
}

/* ---- annotations ---- */

static void check_priority_boost(struct sl_review_call *c) {
    const char *boost = sl_json_annotation_opt(c->object, PRIORITY_BOOST), *why;
    int64_t v;

    if (!adm_call_gate(c, SL_G_PRIORITY_BOOST) || !boost ||
        (adm_go_int(c, boost, &v, &why) && v >= INT32_MIN && v <= INT32_MAX))
        return;
    sl_field_invalid(&c->errs, SL_PATH_KEY(SL_PATH(NULL, "metadata.annotations"), PRIORITY_BOOST),
                     sl_field_value_str(boost), "must be a valid signed integer%s",
                     *boost ? "" : "; use \"0\" explicitly, empty string is not allowed");
}

int sl_review_workload_validate(struct sl_review_call *c) {
    const struct sl_path *sets_at = SL_PATH(NULL, "spec.podSets");
    yyjson_val *sets = sl_json_at(c->object, "spec.podSets");

    if (!sl_syntax_check_size(&c->errs, sets_at, sets, SL_MAX_PODSETS))
        return 0;
    check_podsets(c, sets_at, sets);
    if (sl_json_condition(c->object, "QuotaReserved"))
        check_admission(&c->errs, sl_json_at(c->object, "status.admission"), sets);
    sl_syntax_check_conditions(&c->errs, SL_PATH(NULL, "status.conditions"),
                               sl_json_at(c->object, "status.conditions"));
    check_reclaimable(c, sets);
    check_checks(&c->errs, sl_json_at(c->object, "status.admissionChecks"), sets);
    adm_rule_admission_gated_by(c);
    check_priority_boost(c);
    if (c->op == SL_REVIEW_UPDATE)
        adm_rule_workload_update(c);
    return 0;
}
