/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain pods and pod groups: gated on creation, since a pod cannot be suspended later; validated
 * while they wait and run.
 *
 * A pod that the template of a Deployment, StatefulSet or LeaderWorkerSet has marked is gated in
 * any case, also where other pods are not managed: its parent is queued by its pods, and the
 * parent's controller assigns it to a group.
 */
#include <string.h>

#include "kube/types/role.h"
#include "kube/types/syntax.h"
#include "manager/admission/job_rules.h"

#define TOTAL_COUNT "kueue.x-k8s.io/pod-group-total-count"
#define RETRIABLE "kueue.x-k8s.io/retriable-in-group"
#define POD_INDEX "kueue.x-k8s.io/pod-group-pod-index"
#define POD_INDEX_LABEL POD_INDEX "-label"
#define ADMISSION_GATE "kueue.x-k8s.io/admission"
#define TOPOLOGY_GATE "kueue.x-k8s.io/topology"
#define LABELS SL_PATH(NULL, "metadata.labels")
#define ANNOTATIONS SL_PATH(NULL, "metadata.annotations")

static bool has_parent(yyjson_val *pod) {
    return sl_json_annotation_opt(pod, SL_PARENT_KEY) != NULL;
}

static const char *group_of(const struct sl_review_call *c, yyjson_val *pod) {
    const char *group = adm_job_identifier(c, pod, SL_POD_GROUP_KEY);
    return group ? group : "";
}

/* ---- creation ---- */

/* Labels and finalizer of a pod without such a parent. Is it to wait? */
static bool enter(struct sl_review_call *c) {
    const char *queue = sl_json_label_opt(c->object, SL_QUEUE_LABEL);
    bool queued = queue && *queue;

    if (!c->view->webhook[SL_FW_POD] || !c->view->ns_managed(c->view->ctx, c->ns) ||
        adm_job_owner_managed(c))
        return false;
    if (!queued && adm_job_default_queue(c)) {
        adm_edit_label(c, SL_QUEUE_LABEL, SL_DEFAULT_NAME);
        queued = true;
    }
    adm_job_default_class(c);
    if (!queued && !c->view->settings->manage_without_queue)
        return false;
    adm_edit_label(c, SL_MANAGED_KEY, "true");
    adm_edit_finalizer(c, SL_MANAGED_KEY);
    return true;
}

/* Its rank in the group, where another controller writes the rank into another label. */
static void copy_index(struct sl_review_call *c) {
    const char *from = sl_json_annotation_opt(c->object, POD_INDEX_LABEL);
    if (from)
        adm_edit_label(c, POD_INDEX, sl_json_label(c->object, from));
}

/* May it have a role of its own name? Those of a prebuilt Workload and of a set do: their podsets
 * are not made from the pods. */
static bool may_name_role(const struct sl_review_call *c, yyjson_val *pod) {
    const char *prebuilt = adm_job_identifier(c, pod, SL_PREBUILT_KEY);
    return has_parent(pod) || (prebuilt && *prebuilt);
}

static bool keeps_role(const struct sl_review_call *c, yyjson_val *pod) {
    return sl_json_annotation_opt(pod, SL_ROLE_ANNOTATION) && may_name_role(c, pod);
}

int sl_review_pod_mutate(struct sl_review_call *c) {
    char role[SL_ROLE_HASH_SIZE];

    if (c->op != SL_REVIEW_CREATE || (!has_parent(c->object) && !enter(c)))
        return 0;
    yyjson_mut_val *spec = adm_edit_object(c, adm_call_edit(c), "spec");
    adm_edit_gate(c, spec, ADMISSION_GATE);
    if (adm_call_gate(c, SL_G_TOPOLOGY_AWARE_SCHEDULING)) {
        copy_index(c);
        adm_edit_gate(c, spec, TOPOLOGY_GATE);
    }
    /* A role that a user brings would have a large pod counted as a small one. */
    if (!keeps_role(c, c->object)) {
        sl_role_hash(c->object, role);
        adm_edit_annotation(c, SL_ROLE_ANNOTATION, role);
    }
    return 0;
}

/* ---- rules ---- */

static bool is_suspended(yyjson_val *pod) {
    const char *phase = sl_json_str(pod, "status.phase");
    return sl_json_find(sl_json_at(pod, "spec.schedulingGates"), "name", ADMISSION_GATE) ||
           strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static void check_managed(struct sl_review_call *c) {
    const char *managed = sl_json_label_opt(c->object, SL_MANAGED_KEY);
    if (managed && strcmp(managed, "true") != 0)
        sl_field_forbidden(&c->errs, SL_PATH_KEY(LABELS, SL_MANAGED_KEY),
                           "managed label value can only be 'true'");
}

static void warn_of_owner(struct sl_review_call *c) {
    if (strcmp(sl_json_label(c->object, SL_MANAGED_KEY), "true") == 0 && adm_job_owner_enabled(c))
        adm_call_warn(c, "pod owner is managed by kueue, label '" SL_MANAGED_KEY
                         "=true' might lead to unexpected behaviour");
}

static void check_count(struct sl_review_call *c, const struct sl_path *at, const char *count) {
    const char *why;
    int64_t v;

    if (!adm_go_int(c, count, &v, &why))
        sl_field_invalid(&c->errs, at, sl_field_value_str(count), "%s", why);
    else if (v < 1)
        sl_field_invalid(&c->errs, at, sl_field_value_str(count),
                         "incorrect annotation value '" TOTAL_COUNT
                         "=%s': group total count should be greater than zero",
                         count);
}

/* A name and a count, or neither. */
static void check_group(struct sl_review_call *c, const struct sl_path *at_name, bool annotated) {
    const struct sl_path *at_count = SL_PATH_KEY(ANNOTATIONS, TOTAL_COUNT);
    const char *group = group_of(c, c->object);
    const char *count = sl_json_annotation_opt(c->object, TOTAL_COUNT);
    const char *both = annotated
                           ? "both the '" TOTAL_COUNT "' annotation and the '" SL_POD_GROUP_KEY
                             "' annotation should be set"
                           : "both the '" TOTAL_COUNT "' annotation and the '" SL_POD_GROUP_KEY
                             "' label should be set";

    if (*group)
        sl_syntax_check_subdomain(&c->errs, at_name, group, ",");
    if (!*group && count)
        sl_field_required(&c->errs, at_name, both);
    else if (*group && !count)
        sl_field_required(&c->errs, at_count, both);
    else if (count)
        check_count(c, at_count, count);
}

static void check_prebuilt(struct sl_review_call *c) {
    const char *group = group_of(c, c->object);
    const char *prebuilt = adm_job_identifier(c, c->object, SL_PREBUILT_KEY);
    const char *map = adm_job_identifier_map(c, c->object, SL_PREBUILT_KEY);

    if (*group && prebuilt && *prebuilt && strcmp(prebuilt, group) != 0)
        sl_field_invalid(&c->errs, SL_PATH_KEY(SL_PATH(NULL, map), SL_PREBUILT_KEY),
                         sl_field_value_str(prebuilt),
                         "prebuilt workload and pod group should be equal");
}

static bool unretriable(yyjson_val *pod) {
    const char *s = sl_json_annotation_opt(pod, RETRIABLE);
    return s && strcmp(s, "false") == 0;
}

static void update_group(struct sl_review_call *c, const struct sl_path *at_name) {
    const char *group = group_of(c, c->object), *old = group_of(c, c->old);

    if (*group && unretriable(c->old) && !unretriable(c->object))
        sl_field_forbidden(&c->errs, SL_PATH_KEY(ANNOTATIONS, RETRIABLE),
                           "unretriable pod group can't be converted to retriable");
    if (*old)
        adm_rule_frozen(c, at_name, group, old);
    if (*old && sl_json_annotation_opt(c->old, SL_ROLE_ANNOTATION) && !may_name_role(c, c->old))
        adm_rule_frozen(c, SL_PATH_KEY(ANNOTATIONS, SL_ROLE_ANNOTATION),
                        sl_json_annotation(c->object, SL_ROLE_ANNOTATION),
                        sl_json_annotation(c->old, SL_ROLE_ANNOTATION));
}

int sl_review_pod_validate(struct sl_review_call *c) {
    bool update = c->op == SL_REVIEW_UPDATE;
    const char *map = adm_job_identifier_map(c, c->object, SL_POD_GROUP_KEY);
    const struct sl_path *at_name = SL_PATH_KEY(SL_PATH(NULL, map), SL_POD_GROUP_KEY);
    struct adm_job_facts facts = {.gvk = "/v1, Kind=Pod",
                                  .prebuilt = true,
                                  .suspended = is_suspended(c->object),
                                  .was_suspended = update && is_suspended(c->old)};

    if (!c->view->webhook[SL_FW_POD] && !has_parent(c->object))
        return 0;
    if (update) {
        adm_rule_job_update(c, &facts);
        adm_rule_admission_gated_by(c);
    } else {
        adm_rule_job_create(c, &facts);
    }
    check_managed(c);
    check_group(c, at_name, strcmp(map, "metadata.annotations") == 0);
    (void)adm_rule_topology(c, SL_PATH(NULL, "metadata"),
                            sl_json_at(c->object, "metadata.annotations"));
    check_prebuilt(c);
    if (update)
        update_group(c, at_name);
    if (!update || !has_parent(c->object))
        warn_of_owner(c);
    return 0;
}
