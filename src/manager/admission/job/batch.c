/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch/v1 Jobs: partial admission, completions that follow the parallelism, and a stop of several
 * writes during which the Job counts as running.
 */
#include <string.h>

#include "manager/admission/job/kind.h"

#define MIN_PARALLELISM "kueue.x-k8s.io/job-min-parallelism"
#define SYNC_COMPLETIONS "kueue.x-k8s.io/job-completions-equal-parallelism"
#define STOPPING "kueue.x-k8s.io/stopping"
#define ANNOTATIONS SL_PATH(NULL, "metadata.annotations")

static bool is_suspended(yyjson_val *job) {
    const char *stopping = sl_json_annotation_opt(job, STOPPING);
    return sl_json_bool(job, "spec.suspend", false) && !(stopping && strcmp(stopping, "true") == 0);
}

static int64_t pods_of(yyjson_val *job) {
    int64_t parallelism = sl_json_int(job, "spec.parallelism", 1);
    int64_t completions = sl_json_int(job, "spec.completions", parallelism);
    return completions < parallelism ? completions : parallelism;
}

/* ---- creation ---- */

/* Pods of an elastic Job wait one by one. */
int adm_batch_mutate(struct sl_review_call *c) {
    return adm_job_elastic(c, c->object) ? adm_kind_gate(c, adm_call_edit(c), NULL, "spec.template")
                                         : 0;
}

/* ---- rules ---- */

static void check_partial(struct sl_review_call *c) {
    const struct sl_path *at = SL_PATH_KEY(ANNOTATIONS, MIN_PARALLELISM);
    const char *s = sl_json_annotation_opt(c->object, MIN_PARALLELISM), *why;
    int64_t v, pods = pods_of(c->object);

    if (!s)
        return;
    if (!adm_go_int(c, s, &v, &why))
        sl_field_invalid(&c->errs, at, sl_field_value_str(s), "%s", why);
    else if (v <= 0 || v >= pods)
        sl_field_invalid(&c->errs, at, sl_field_value_int(v), "should be between 0 and %lld",
                         (long long)(pods > INT64_MIN ? pods - 1 : pods));
    if (adm_job_elastic(c, c->object))
        sl_field_invalid(&c->errs, at, sl_field_value_str(s),
                         "partial admission and elastic job cannot be used together");
}

static bool syncs_completions(struct sl_review_call *c, yyjson_val *job) {
    const char *s = sl_json_annotation_opt(job, SYNC_COMPLETIONS), *why;
    bool on = false;
    return s && adm_go_bool(c, s, &on, &why) && on;
}

static void check_sync(struct sl_review_call *c) {
    const struct sl_path *at = SL_PATH_KEY(ANNOTATIONS, SYNC_COMPLETIONS);
    const char *s = sl_json_annotation_opt(c->object, SYNC_COMPLETIONS), *why;
    bool on = false;

    if (s && !adm_go_bool(c, s, &on, &why))
        sl_field_invalid(&c->errs, at, sl_field_value_str(s), "%s", why);
    if (!on)
        return;
    if (strcmp(sl_json_str(c->object, "spec.completionMode"), "Indexed") != 0)
        sl_field_invalid(&c->errs, at, sl_field_value_str(s),
                         "should not be enabled for NonIndexed jobs");
    if (sl_json_int(c->object, "spec.parallelism", 1) !=
        sl_json_int(c->object, "spec.completions", 1))
        sl_field_invalid(&c->errs, SL_PATH(NULL, "spec.completions"),
                         sl_field_value_json(sl_json_at(c->object, "spec.completions")),
                         "should be equal to parallelism when " SYNC_COMPLETIONS
                         " is annotation is true");
}

static void check_topology(struct sl_review_call *c) {
    const struct sl_path *meta = SL_PATH(NULL, "spec.template.metadata");
    yyjson_val *annotations = sl_json_at(c->object, "spec.template.metadata.annotations");

    if (!adm_call_gate(c, SL_G_TOPOLOGY_AWARE_SCHEDULING) ||
        !adm_rule_topology(c, meta, annotations))
        return;
    if (adm_job_elastic(c, c->object) && sl_json_get(annotations, SL_REQUIRED_TOPOLOGY))
        sl_field_forbidden(&c->errs, SL_PATH(meta, "annotations." SL_REQUIRED_TOPOLOGY),
                           "required topology is not supported with elastic jobs");
    else if (adm_job_elastic(c, c->object) && sl_json_get(annotations, SL_PREFERRED_TOPOLOGY))
        sl_field_forbidden(&c->errs, SL_PATH(meta, "annotations." SL_PREFERRED_TOPOLOGY),
                           "preferred topology is not supported with elastic jobs");
    else
        adm_rule_topology_size(c, meta, annotations, pods_of(c->object));
}

/* The size of a running Job is what was admitted. */
static void update_partial(struct sl_review_call *c) {
    bool suspended = is_suspended(c->object);

    if (sl_json_annotation_opt(c->old, MIN_PARALLELISM) &&
        !sl_json_bool(c->old, "spec.suspend", false) &&
        sl_json_int(c->old, "spec.parallelism", 1) != sl_json_int(c->object, "spec.parallelism", 1))
        sl_field_forbidden(
            &c->errs, SL_PATH(NULL, "spec.parallelism"),
            "cannot change when partial admission is enabled and the job is not suspended");
    if (!suspended && !is_suspended(c->old) &&
        syncs_completions(c, c->old) != syncs_completions(c, c->object))
        sl_field_forbidden(&c->errs, SL_PATH_KEY(ANNOTATIONS, SYNC_COMPLETIONS),
                           SL_FIELD_IMMUTABLE " while the job is not suspended");
}

static bool partial_changed(const struct sl_review_call *c) {
    const char *now = sl_json_annotation_opt(c->object, MIN_PARALLELISM),
               *old = sl_json_annotation_opt(c->old, MIN_PARALLELISM);
    return strcmp(now ? now : "", old ? old : "") != 0;
}

int adm_batch_validate(struct sl_review_call *c) {
    struct adm_job_facts facts = adm_kind_facts(c);
    bool update = c->op == SL_REVIEW_UPDATE;

    facts.suspended = is_suspended(c->object);
    facts.was_suspended = update && is_suspended(c->old);
    adm_rule_job_create(c, &facts);
    if (!update || partial_changed(c))
        check_partial(c);
    check_sync(c);
    if (update) {
        adm_rule_job_update(c, &facts);
        update_partial(c);
    }
    check_topology(c);
    return 0;
}
