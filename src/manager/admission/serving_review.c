/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deployments, StatefulSets and LeaderWorkerSets: they wait by their pods. The template is marked,
 * so that each pod is gated when it is created (pod_review.c); what the pods are part of is entered
 * by the kind's controller. A template that was marked once stays so.
 */
#include <stdlib.h>
#include <string.h>

#include "kube/types/role.h"
#include "lib/json/json.h"
#include "manager/admission/job_rules.h"

#define SERVING_KEY "kueue.x-k8s.io/pod-group-serving"
#define DEPLOYMENT "deployment"
#define STATEFULSET "statefulset"
#define LEADERWORKERSET "leaderworkerset.x-k8s.io/leaderworkerset"
#define LWS_MAX_REPLICAS 1000000
#define SHAPE_MAX_BYTES ((size_t)4 << 20) /* more than any pod that is stored */
#define LEADER "spec.leaderWorkerTemplate.leaderTemplate"
#define WORKER "spec.leaderWorkerTemplate.workerTemplate"

/* ---- marking ---- */

/* metadata[map] of a template. */
static yyjson_mut_val *meta(struct sl_review_call *c, yyjson_mut_val *template, const char *map) {
    return adm_edit_object(c, adm_edit_object(c, template, "metadata"), map);
}

static void mark(struct sl_review_call *c, yyjson_mut_val *template, const char *parent) {
    adm_edit_str(c, meta(c, template, "annotations"), SL_PARENT_KEY, parent);
}

/* Labels of the object, as they are to be, that its pods carry as well. */
static void pass_labels(struct sl_review_call *c, yyjson_mut_val *template) {
    static const char *const keys[] = {SL_QUEUE_LABEL, SL_PRIORITY_LABEL};
    yyjson_mut_val *metadata = yyjson_mut_obj_get(adm_call_edit(c), "metadata");
    yyjson_mut_val *labels = yyjson_mut_obj_get(metadata, "labels");

    for (size_t i = 0; i < SL_LEN(keys); i++) {
        const char *value = sl_json_mut_text(yyjson_mut_obj_get(labels, keys[i]));
        if (*value)
            adm_edit_str(c, meta(c, template, "labels"), keys[i], value);
    }
}

static yyjson_mut_val *edit_spec(struct sl_review_call *c) {
    return adm_edit_object(c, adm_call_edit(c), "spec");
}

/* ---- rules of all three ---- */

static void check_common(struct sl_review_call *c, const char *gvk) {
    adm_rule_queue_name(c);
    adm_rule_not_elastic(c, gvk);
}

/* A set with a ready pod runs. The queue can be changed while it does not run, and never
 * removed. */
static void update_common(struct sl_review_call *c) {
    bool suspended = sl_json_int(c->old, "status.readyReplicas", 0) == 0;
    const char *now = sl_json_label(c->object, SL_QUEUE_LABEL);

    if (!suspended || !*now)
        adm_rule_frozen(c, SL_PATH_KEY(SL_PATH(NULL, "metadata.labels"), SL_QUEUE_LABEL), now,
                        sl_json_label(c->old, SL_QUEUE_LABEL));
    adm_rule_priority_update(c, suspended);
}

/* NULL if it is too large to be compared. */
static yyjson_doc *shape_of(yyjson_val *spec) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(SHAPE_MAX_BYTES);

    sl_role_shape(spec, &text);
    return sl_buf_full(&text) ? NULL : yyjson_read(sl_buf_str(&text), text.len, 0);
}

/* Containers one by one, as long as there are as many. */
static void keep_containers(struct sl_review_call *c, const struct sl_path *at, yyjson_val *now,
                            yyjson_val *old) {
    yyjson_arr_iter in_old = yyjson_arr_iter_with(old);
    size_t i, n;
    yyjson_val *container;

    if (yyjson_arr_size(now) != yyjson_arr_size(old)) {
        sl_field_immutable(&c->errs, at, now, old);
        return;
    }
    yyjson_arr_foreach (now, i, n, container) {
        const struct sl_path *item = SL_PATH_AT(at, i);
        yyjson_val *was = yyjson_arr_iter_next(&in_old);
        sl_field_immutable(&c->errs, SL_PATH(item, "ports"), sl_json_get(container, "ports"),
                           sl_json_get(was, "ports"));
        sl_field_immutable(&c->errs, SL_PATH(item, "resources.requests"),
                           sl_json_at(container, "resources.requests"),
                           sl_json_at(was, "resources.requests"));
    }
}

/* The Workload was made for pods of this shape, and is not made anew. */
static void keep_shape(struct sl_review_call *c, const struct sl_path *at, yyjson_val *now,
                       yyjson_val *old) {
    _cleanup_(sl_json_docp) yyjson_doc *a = shape_of(now), *b = shape_of(old);
    yyjson_val *was = yyjson_doc_get_root(b), *key, *val;
    size_t i, n;

    if (!a || !b) {
        sl_field_too_long(&c->errs, at, SHAPE_MAX_BYTES);
        return;
    }
    sl_obj_foreach (yyjson_doc_get_root(a), i, n, key, val) {
        const char *name = sl_json_text(key);
        if (strcmp(name, "containers") == 0 || strcmp(name, "initContainers") == 0)
            keep_containers(c, SL_PATH(at, name), val, yyjson_obj_get(was, name));
        else
            sl_field_immutable(&c->errs, SL_PATH(at, name), val, yyjson_obj_get(was, name));
    }
    if (!yyjson_obj_get(yyjson_doc_get_root(a), "resources")) /* the one that may be absent */
        sl_field_immutable(&c->errs, SL_PATH(at, "resources"), NULL,
                           yyjson_obj_get(was, "resources"));
}

/* ---- Deployment: each pod is queued by itself ---- */

int sl_review_deployment_mutate(struct sl_review_call *c) {
    adm_job_default_labels(c);
    if (!adm_job_waits(c))
        return 0;
    yyjson_mut_val *template = adm_edit_object(c, edit_spec(c), "template");
    mark(c, template, DEPLOYMENT);
    adm_edit_str(c, meta(c, template, "labels"), SL_MANAGED_KEY, "true");
    pass_labels(c, template);
    return 0;
}

int sl_review_deployment_validate(struct sl_review_call *c) {
    check_common(c, "apps/v1, Kind=Deployment");
    if (c->op == SL_REVIEW_UPDATE)
        update_common(c);
    adm_rule_admission_gated_by(c);
    return 0;
}

/* ---- StatefulSet: one Workload for all replicas, another for those that come later ---- */

/* Those of a LeaderWorkerSet, for one. */
static bool is_others(yyjson_val *set) {
    const char *parent = sl_json_opt(
        sl_json_get(sl_json_at(set, "spec.template.metadata.annotations"), SL_PARENT_KEY));
    return parent && strcmp(parent, STATEFULSET) != 0;
}

int sl_review_statefulset_mutate(struct sl_review_call *c) {
    if (is_others(c->object))
        return 0;
    adm_job_default_labels(c);
    if (adm_job_waits(c))
        mark(c, adm_edit_object(c, edit_spec(c), "template"), STATEFULSET);
    return 0;
}

/* Its size may change at any time: what it holds follows (serving.h). */
int sl_review_statefulset_validate(struct sl_review_call *c) {
    if (is_others(c->object))
        return 0;
    check_common(c, "apps/v1, Kind=StatefulSet");
    if (c->op == SL_REVIEW_UPDATE)
        update_common(c);
    adm_rule_admission_gated_by(c);
    if (c->op == SL_REVIEW_UPDATE && adm_job_waits(c))
        keep_shape(c, SL_PATH(NULL, "spec.template.spec"),
                   sl_json_at(c->object, "spec.template.spec"),
                   sl_json_at(c->old, "spec.template.spec"));
    return 0;
}

/* ---- LeaderWorkerSet: one Workload for each replica, a leader and its workers ---- */

static void mark_member(struct sl_review_call *c, yyjson_mut_val *template) {
    mark(c, template, LEADERWORKERSET);
    adm_edit_str(c, meta(c, template, "annotations"), SERVING_KEY, "true");
    pass_labels(c, template);
}

int sl_review_leaderworkerset_mutate(struct sl_review_call *c) {
    yyjson_val *leader = sl_json_at(c->object, LEADER);
    yyjson_val *notes = sl_json_at(c->object, WORKER ".metadata.annotations");

    adm_job_default_labels(c);
    if (!adm_job_waits(c))
        return 0;
    yyjson_mut_val *both = adm_edit_object(c, edit_spec(c), "leaderWorkerTemplate");
    yyjson_mut_val *worker = adm_edit_object(c, both, "workerTemplate");
    if (leader)
        mark_member(c, adm_edit_object(c, both, "leaderTemplate"));
    mark_member(c, worker);
    /* Workers count from 1, unless they are placed together with their leader. */
    if (leader && adm_call_gate(c, SL_G_TOPOLOGY_AWARE_SCHEDULING) &&
        !sl_json_get(notes, SL_PODSET_GROUP))
        adm_edit_str(c, meta(c, worker, "annotations"), SL_INDEX_OFFSET_KEY, "1");
    return 0;
}

static void check_replicas(struct sl_review_call *c) {
    int64_t n = sl_json_int(c->object, "spec.replicas", 1);
    bool few = n < 0;

    if (few || n > LWS_MAX_REPLICAS)
        sl_field_invalid(&c->errs, SL_PATH(NULL, "spec.replicas"), sl_field_value_int(n),
                         "invalid LeaderWorkerSet replicas: must be %s %d, got %lld",
                         few ? ">=" : "<=", few ? 0 : LWS_MAX_REPLICAS, (long long)n);
}

static void check_topology(struct sl_review_call *c) {
    bool led = sl_json_at(c->object, LEADER);
    /* A size of less than one is refused elsewhere; here it may only not overflow. */
    int64_t size = sl_json_int(c->object, "spec.leaderWorkerTemplate.size", 1);
    const struct adm_podset both[] = {
        {LEADER ".metadata", sl_json_at(c->object, LEADER ".metadata.annotations"), 1},
        {WORKER ".metadata", sl_json_at(c->object, WORKER ".metadata.annotations"),
         led && size > 0 ? size - 1 : size},
    };
    const struct adm_podset *v = led ? both : &both[1];
    size_t n = led ? 2 : 1;
    bool good = true;

    for (size_t i = 0; i < n; i++)
        good = adm_rule_topology(c, SL_PATH(NULL, v[i].at), v[i].annotations) && good;
    for (size_t i = 0; good && i < n; i++)
        adm_rule_topology_size(c, SL_PATH(NULL, v[i].at), v[i].annotations, v[i].count);
    if (good)
        adm_rule_topology_groups(c, v, n);
}

static void keep_template(struct sl_review_call *c, const char *path) {
    yyjson_val *now = sl_json_at(c->object, path), *old = sl_json_at(c->old, path);
    const struct sl_path *at = SL_PATH(NULL, path);

    if (now && old)
        keep_shape(c, SL_PATH(at, "spec"), sl_json_get(now, "spec"), sl_json_get(old, "spec"));
    else
        sl_field_immutable(&c->errs, at, now, old);
}

int sl_review_leaderworkerset_validate(struct sl_review_call *c) {
    check_common(c, "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet");
    check_replicas(c);
    adm_rule_admission_gated_by(c);
    if (adm_call_gate(c, SL_G_TOPOLOGY_AWARE_SCHEDULING))
        check_topology(c);
    if (c->op == SL_REVIEW_UPDATE) {
        update_common(c);
        if (adm_job_waits(c)) {
            keep_template(c, LEADER);
            keep_template(c, WORKER);
        }
    }
    return 0;
}
