/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interception for the queue on the resource graph: what opted in is made to wait when it is
 * created. A Job is suspended, all else is gated, and its pods name our scheduler. Nothing else is
 * written: the controller makes the FluxJob, so a dry run and an object that somebody else rejects
 * leave nothing behind.
 *
 * An object is intercepted once. What it makes (pods of a Job, the ReplicaSet of a Deployment and
 * its pods) inherits what its template says, and is left alone, whether the owner was intercepted
 * or not: the template of a ReplicaSet that differs from its Deployment's would be replaced for
 * ever. Only a pod that opts in by its own label is intercepted in spite of its owner.
 *
 * Updates change nothing, but for sets that were intercepted: whatever a user puts in place of the
 * template, the pods that are made of it wait as well. All of it is idempotent.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "kube/types/syntax.h"
#include "manager/admission/flux/group.h"
#include "manager/admission/fluxqueue.h"
#include "manager/admission/job_rules.h"

#define MIRROR_ANNOTATION "kubernetes.io/config.mirror"
#define MAX_LABEL_VALUE 63u

/* A kind that is intercepted. */
struct flux_kind {
    const char *group, *kind;
    const char *word; /* of the selector label */
    sl_review_fn mutate;
    enum sl_framework framework; /* of Kueue; SL_FW_COUNT: none */
    bool owns_pods;              /* and is not a Deployment, which owns them by a ReplicaSet */
};

static const struct flux_kind kinds[] = {
    [SL_FLUX_POD] = {"", "Pod", "pod", sl_review_flux_pod_mutate, SL_FW_POD, false},
    [SL_FLUX_JOB] = {"batch", "Job", "job", sl_review_flux_job_mutate, SL_FW_JOB, true},
    [SL_FLUX_DEPLOYMENT] = {"apps", "Deployment", "deployment", sl_review_flux_deployment_mutate,
                            SL_FW_DEPLOYMENT, false},
    [SL_FLUX_REPLICASET] = {"apps", "ReplicaSet", "replicaset", sl_review_flux_replicaset_mutate,
                            SL_FW_COUNT, true},
    [SL_FLUX_STATEFULSET] = {"apps", "StatefulSet", "statefulset",
                             sl_review_flux_statefulset_mutate, SL_FW_STATEFULSET, true},
};

/* ---- whether ---- */

static bool is_system(const struct sl_review_call *c) {
    static const char *const names[] = {"kube-system", "kube-public", "kube-node-lease"};
    const char *own = c->view->settings->ns;

    for (size_t i = 0; i < SL_LEN(names); i++)
        if (strcmp(c->ns, names[i]) == 0)
            return true;
    return !*c->ns || (own && strcmp(c->ns, own) == 0);
}

/* Is it queued by Kueue: by a queue name, by a job above it, or because all are? */
static bool is_kueues(const struct sl_review_call *c, enum sl_framework f) {
    if (sl_json_label_opt(c->object, SL_QUEUE_LABEL) ||
        sl_json_label_opt(c->object, SL_MANAGED_KEY) ||
        sl_json_annotation_opt(c->object, SL_PARENT_KEY) || adm_job_owner_managed(c))
        return true;
    return c->view->settings->manage_without_queue && f < SL_FW_COUNT &&
           c->view->settings->framework[f] && c->view->ns_managed(c->view->ctx, c->ns);
}

static bool is_group(const char *api_version, const char *group) {
    size_t n = strlen(group);
    return n > 0 && strncmp(api_version, group, n) == 0 && api_version[n] == '/';
}

/* Has it an owner that would have been intercepted itself, if it had to be? */
static bool has_owner(yyjson_val *object, bool deployments) {
    struct sl_review_owner_ref o;

    if (!adm_job_owner(object, &o))
        return false;
    for (size_t i = 0; i < SL_LEN(kinds); i++)
        if (strcmp(o.kind, kinds[i].kind) == 0 && is_group(o.api_version, kinds[i].group))
            return kinds[i].owns_pods || deployments;
    return false;
}

/* Pods that are on a node whatever any scheduler says. */
static bool is_placed(yyjson_val *pod) {
    struct sl_review_owner_ref o;

    return *sl_json_str(pod, "spec.nodeName") || sl_json_annotation_opt(pod, MIRROR_ANNOTATION) ||
           (adm_job_owner(pod, &o) &&
            (strcmp(o.kind, "DaemonSet") == 0 || strcmp(o.kind, "Node") == 0));
}

/* "true", "false", or anything else, which says nothing. */
static bool says(yyjson_val *object, const char *word) {
    return strcmp(sl_json_label(object, SL_FLUX_MANAGED), word) == 0;
}

static bool is_chosen(struct sl_review_call *c, enum sl_flux_type type) {
    const char *word = sl_json_label_opt(c->object, SL_FLUX_MANAGED);
    bool asks = says(c->object, "true");

    if (!c->view->flux || *c->subresource || is_system(c) || says(c->object, "false") ||
        sl_json_at(c->object, "metadata.deletionTimestamp"))
        return false;
    if (type == SL_FLUX_POD && is_placed(c->object))
        return false;
    if (has_owner(c->object, type == SL_FLUX_REPLICASET) && !(asks && type == SL_FLUX_POD))
        return false;
    /* Of a template that is intercepted; the owner may be of any kind. */
    if (type == SL_FLUX_POD && adm_job_owner(c->object, &(struct sl_review_owner_ref){0}) &&
        sl_json_label_opt(c->object, SL_FLUX_SEEN))
        return false;
    if (word && !asks)
        adm_call_warn(c,
                      "metadata.labels[" SL_FLUX_MANAGED
                      "]: expected \"true\" or \"false\", got \"%.63s\"",
                      word);
    if (!asks && !c->view->ns_flux(c->view->ctx, c->ns))
        return false;
    if (is_kueues(c, kinds[type].framework)) {
        if (asks)
            adm_call_warn(c, "metadata.labels[" SL_FLUX_MANAGED "]: ignored, Kueue queues it");
        return false;
    }
    return true;
}

/* A scheduler that the user has chosen stays, and the object does not wait for us. Where
 * kube-scheduler binds, any one does. */
static bool is_our_scheduler(struct sl_review_call *c, yyjson_val *pod_spec) {
    static const char *const ours[] = {"", "default-scheduler", SL_FLUX_SCHEDULER,
                                       SL_FLUX_SCHEDULER_SHORT};
    const char *name = sl_json_str(pod_spec, "schedulerName");

    if (c->view->settings->flux.kube_binds)
        return true;
    for (size_t i = 0; i < SL_LEN(ours); i++)
        if (strcmp(name, ours[i]) == 0)
            return true;
    adm_call_warn(c,
                  "schedulerName is \"%.63s\": not queued on the resource graph. Leave it out, or "
                  "set label " SL_FLUX_MANAGED " to \"false\"",
                  name);
    return false;
}

/* The API server takes no pod with a gate and a node: one of a template that names a node could
 * never be made. */
static bool names_node(struct sl_review_call *c, yyjson_val *pod_spec) {
    if (!*sl_json_str(pod_spec, "nodeName"))
        return false;
    adm_call_warn(c, "spec.template.spec.nodeName: its pods have a node, and are not queued on the "
                     "resource graph");
    return true;
}

/* ---- what ---- */

/* The labels, annotations and nodes that a former object of this name, or the one it is a copy of,
 * was given. */
static void drop_results(yyjson_mut_val *holder) {
    static const char *const maps[] = {"labels", "annotations"};
    static const char *const keys[] = {SL_FLUX_JOBID, SL_FLUX_NODES, SL_FLUX_UNSCHEDULABLE};
    yyjson_mut_val *metadata = yyjson_mut_obj_get(holder, "metadata");

    for (size_t i = 0; i < SL_LEN(maps); i++)
        for (size_t k = 0; k < SL_LEN(keys); k++)
            adm_edit_remove(yyjson_mut_obj_get(metadata, maps[i]), keys[k]);
}

/* Labels of a holder of metadata: the object or its template. */
static void set_label(struct sl_review_call *c, yyjson_mut_val *holder, const char *key,
                      const char *value) {
    yyjson_mut_val *metadata = adm_edit_object(c, holder, "metadata");
    adm_edit_str(c, adm_edit_object(c, metadata, "labels"), key, value);
}

static void set_scheduler(struct sl_review_call *c, yyjson_mut_val *pod_spec) {
    const char *name = sl_json_mut_text(yyjson_mut_obj_get(pod_spec, "schedulerName"));

    if (!c->view->settings->flux.kube_binds && strcmp(name, SL_FLUX_SCHEDULER_SHORT) != 0)
        adm_edit_str(c, pod_spec, "schedulerName", SL_FLUX_SCHEDULER);
}

static yyjson_mut_val *edit_template(struct sl_review_call *c) {
    return adm_edit_object(c, adm_edit_object(c, adm_call_edit(c), "spec"), "template");
}

static void check_jobspec(struct sl_review_call *c) {
    const struct sl_path *at = SL_PATH_KEY(SL_PATH(NULL, "metadata.annotations"), SL_FLUX_JOBSPEC);
    yyjson_val *v = sl_json_get(sl_json_at(c->object, "metadata.annotations"), SL_FLUX_JOBSPEC);

    adm_rule_jobspec(c, at, sl_json_view(v));
}

/* The group that a pod says it belongs to. Whether its members agree is seen when all are there. */
static void check_group(struct sl_review_call *c) {
    struct sl_flux_group g;

    if (!sl_flux_group_read(c->object, &g) || !g.why)
        return;
    const struct sl_path *at = SL_PATH_KEY(SL_PATH(SL_PATH(NULL, "metadata"), g.map), g.key);
    if (g.missing)
        sl_field_required(&c->errs, at, g.why);
    else
        sl_field_invalid(&c->errs, at, sl_field_value_text(g.given), "%s", g.why);
}

/* ---- kinds ---- */

int sl_review_flux_pod_mutate(struct sl_review_call *c) {
    if (c->op != SL_REVIEW_CREATE || !is_chosen(c, SL_FLUX_POD) ||
        !is_our_scheduler(c, sl_json_at(c->object, "spec")))
        return 0;
    check_jobspec(c);
    if (!has_owner(c->object, false))
        check_group(c);
    yyjson_mut_val *spec = adm_edit_object(c, adm_call_edit(c), "spec");
    drop_results(adm_call_edit(c));
    set_label(c, adm_call_edit(c), SL_FLUX_SEEN, "yes");
    adm_edit_gate(c, spec, SL_FLUX_GATE);
    set_scheduler(c, spec);
    return 0;
}

/* Where kube-scheduler binds, its pods are gated too: they get their nodes one by one. */
int sl_review_flux_job_mutate(struct sl_review_call *c) {
    if (c->op != SL_REVIEW_CREATE || !is_chosen(c, SL_FLUX_JOB) ||
        !is_our_scheduler(c, sl_json_at(c->object, "spec.template.spec")))
        return 0;
    if (c->view->settings->flux.kube_binds &&
        names_node(c, sl_json_at(c->object, "spec.template.spec")))
        return 0;
    check_jobspec(c);
    yyjson_mut_val *template = edit_template(c);
    yyjson_mut_val *pod_spec = adm_edit_object(c, template, "spec");
    drop_results(adm_call_edit(c));
    drop_results(template);
    set_label(c, adm_call_edit(c), SL_FLUX_SEEN, "yes");
    set_label(c, template, SL_FLUX_SEEN, "yes");
    set_scheduler(c, pod_spec);
    if (c->view->settings->flux.kube_binds)
        adm_edit_gate(c, pod_spec, SL_FLUX_GATE);
    adm_edit_bool(c, adm_edit_object(c, adm_call_edit(c), "spec"), "suspend", true);
    return 0;
}

/* KIND-NAME-NAMESPACE, or a digest of it if that is no label value. A name that the API server is
 * going to make is not known here: then there is none, and pods are found by their owner. */
static void set_selector(struct sl_review_call *c, yyjson_mut_val *template, const char *kind) {
    const char *name = sl_json_str(c->object, "metadata.name");
    char text[MAX_LABEL_VALUE + 1];

    if (!*name)
        return;
    size_t n = strlen(kind) + strlen(name) + strlen(c->ns) + 2;
    if (n < sizeof text)
        sl_fmt(text, sizeof text, "%s-%s-%s", kind, name, c->ns);
    if (n >= sizeof text || sl_syntax_label_value(text, n).n > 0)
        sl_fmt(text, sizeof text, "%s-%016llx", kind,
               (unsigned long long)sl_digest_str(sl_digest_str(0, name), c->ns));
    set_label(c, template, SL_FLUX_SELECTOR, text);
}

static int set_mutate(struct sl_review_call *c, enum sl_flux_type type) {
    bool update = c->op == SL_REVIEW_UPDATE;

    if (update && !sl_json_label_opt(c->old, SL_FLUX_SEEN)) {
        if (c->view->flux && says(c->object, "true") && !says(c->old, "true"))
            adm_call_warn(c, "metadata.labels[" SL_FLUX_MANAGED
                             "]: works on creation; delete the object and create it again");
        return 0;
    }
    /* The same template stays as it is; labels that were taken off are refused (validate.c). */
    if (update &&
        sl_json_same(sl_json_at(c->old, "spec.template"), sl_json_at(c->object, "spec.template")))
        return 0;
    if (!is_chosen(c, type) || !is_our_scheduler(c, sl_json_at(c->object, "spec.template.spec")))
        return 0;
    if (names_node(c, sl_json_at(c->object, "spec.template.spec")))
        return 0; /* an update is refused (validate.c) */
    if (!update)
        check_jobspec(c);
    yyjson_mut_val *template = edit_template(c);
    yyjson_mut_val *pod_spec = adm_edit_object(c, template, "spec");
    drop_results(template);
    if (!update)
        drop_results(adm_call_edit(c));
    set_label(c, adm_call_edit(c), SL_FLUX_SEEN, "yes");
    set_label(c, template, SL_FLUX_SEEN, "yes");
    set_selector(c, template, kinds[type].word);
    adm_edit_gate(c, pod_spec, SL_FLUX_GATE);
    set_scheduler(c, pod_spec);
    return 0;
}

int sl_review_flux_deployment_mutate(struct sl_review_call *c) {
    return set_mutate(c, SL_FLUX_DEPLOYMENT);
}

int sl_review_flux_replicaset_mutate(struct sl_review_call *c) {
    return set_mutate(c, SL_FLUX_REPLICASET);
}

int sl_review_flux_statefulset_mutate(struct sl_review_call *c) {
    return set_mutate(c, SL_FLUX_STATEFULSET);
}

/* ---- fluxqueue's path, for all of them ---- */

int sl_review_flux_mutate(struct sl_review_call *c) {
    for (size_t i = 0; i < SL_LEN(kinds); i++)
        if (strcmp(c->kind, kinds[i].kind) == 0 && strcmp(c->group, kinds[i].group) == 0)
            return kinds[i].mutate(c);
    return 0;
}
