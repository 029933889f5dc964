/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits in the queue on the resource graph may not be started by hand: a Job may not be
 * unsuspended, a pod may not lose its gate, unless it has the number of its job, which the
 * controller writes in the same request.
 *
 * Anybody can write a number, so it also counts who does: a service account of our namespace, or,
 * where the controller runs outside of the cluster, whoever may do everything.
 *
 * The labels by which the controller knows its objects and their pods are given on creation and
 * stay: without them what an object has would count twice, as its job's and as others', and one
 * that waits would start by itself. Nobody may change them, since nobody has to. The same holds for
 * a template, from which the pods get them with their gate.
 *
 * All other updates pass: other labels, finalizers, sizes.
 */
#include <string.h>

#include "manager/admission/fluxqueue.h"
#include "manager/admission/job_rules.h"

#define ACCOUNT "system:serviceaccount:"
#define ALMIGHTY "system:masters"
#define WAY_OUT                                                                                    \
    "to run it without the queue, delete it and create it with the label " SL_FLUX_MANAGED         \
    ": \"false\""

#define STAYS                                                                                      \
    "it is given on creation, and stays while the queue on the resource graph has the "            \
    "object; " WAY_OUT

static bool is_update(const struct sl_review_call *c) {
    return c->view->flux && c->op == SL_REVIEW_UPDATE && !*c->subresource;
}

static bool is_ours(const struct sl_review_call *c) {
    return is_update(c) && sl_json_label_opt(c->old, SL_FLUX_SEEN);
}

static bool is_trusted(const struct sl_review_call *c) {
    const char *name = sl_json_str(c->user, "username"), *own = c->view->settings->ns;
    size_t i, n, len = own ? strlen(own) : 0;
    yyjson_val *group;

    yyjson_arr_foreach (sl_json_get(c->user, "groups"), i, n, group)
        if (strcmp(sl_json_text(group), ALMIGHTY) == 0)
            return true;
    if (len == 0 || strncmp(name, ACCOUNT, strlen(ACCOUNT)) != 0)
        return false;
    name += strlen(ACCOUNT);
    return strncmp(name, own, len) == 0 && name[len] == ':';
}

/* As a label or as an annotation of what has metadata, by somebody who may write it. */
static bool has_number(const struct sl_review_call *c, yyjson_val *holder) {
    return (*sl_json_label(holder, SL_FLUX_JOBID) || *sl_json_annotation(holder, SL_FLUX_JOBID)) &&
           is_trusted(c);
}

static bool has_gate(yyjson_val *pod) {
    return sl_json_find(sl_json_at(pod, "spec.schedulingGates"), "name", SL_FLUX_GATE) != NULL;
}

static bool is_same(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Of an object that is ours, or is to look like one from now on. */
static int keep_labels(struct sl_review_call *c) {
    static const char *const keys[] = {SL_FLUX_SEEN, SL_FLUX_SELECTOR, SL_FLUX_MANAGED};

    if (!is_update(c) || (!is_ours(c) && !sl_json_label_opt(c->object, SL_FLUX_SEEN)))
        return 0;
    for (size_t i = 0; i < SL_LEN(keys); i++)
        if (!is_same(sl_json_label_opt(c->old, keys[i]), sl_json_label_opt(c->object, keys[i])))
            return adm_call_refuse(c, 403, "metadata.labels[%s]: " STAYS, keys[i]);
    return 0;
}

/* What is missing may be added: an object with generateName has no selector at first. */
static int keep_template(struct sl_review_call *c) {
    static const char *const keys[] = {SL_FLUX_SEEN, SL_FLUX_SELECTOR};
    yyjson_val *old = sl_json_at(c->old, "spec.template"),
               *now = sl_json_at(c->object, "spec.template");

    if (!is_ours(c))
        return 0;
    for (size_t i = 0; i < SL_LEN(keys); i++) {
        const char *had = sl_json_label_opt(old, keys[i]);
        if (had && !is_same(had, sl_json_label_opt(now, keys[i])))
            return adm_call_refuse(c, 403, "spec.template.metadata.labels[%s]: " STAYS, keys[i]);
    }
    if (has_gate(old) && !*sl_json_str(old, "spec.nodeName") && *sl_json_str(now, "spec.nodeName"))
        return adm_call_refuse(c, 403,
                               "spec.template.spec.nodeName: the pods wait in the queue, which "
                               "finds their nodes; " WAY_OUT);
    if (has_gate(old) && !has_gate(now))
        return adm_call_refuse(c, 403,
                               "spec.template.spec.schedulingGates: the pods wait in the queue, "
                               "which removes the gate " SL_FLUX_GATE "; " WAY_OUT);
    return 0;
}

int sl_review_flux_pod_validate(struct sl_review_call *c) {
    if (is_ours(c) && has_gate(c->old) && !has_gate(c->object) && !has_number(c, c->object))
        return adm_call_refuse(c, 403,
                               "spec.schedulingGates: the pod waits in the queue, which removes "
                               "the gate " SL_FLUX_GATE "; " WAY_OUT);
    return keep_labels(c);
}

int sl_review_flux_set_validate(struct sl_review_call *c) {
    int r = keep_labels(c);
    return r ? r : keep_template(c);
}

int sl_review_flux_job_validate(struct sl_review_call *c) {
    if (is_ours(c) && sl_json_bool(c->old, "spec.suspend", false) &&
        !sl_json_bool(c->object, "spec.suspend", false) &&
        !has_number(c, sl_json_at(c->object, "spec.template")))
        return adm_call_refuse(c, 403,
                               "spec.suspend: the Job waits in the queue, which starts "
                               "it; " WAY_OUT);
    return sl_review_flux_set_validate(c);
}

int sl_review_flux_validate(struct sl_review_call *c) {
    static const char *const sets[] = {"Deployment", "ReplicaSet", "StatefulSet"};

    if (strcmp(c->kind, "Pod") == 0 && !*c->group)
        return sl_review_flux_pod_validate(c);
    if (strcmp(c->kind, "Job") == 0 && strcmp(c->group, "batch") == 0)
        return sl_review_flux_job_validate(c);
    for (size_t i = 0; i < SL_LEN(sets); i++)
        if (strcmp(c->kind, sets[i]) == 0 && strcmp(c->group, "apps") == 0)
            return sl_review_flux_set_validate(c);
    return 0;
}
