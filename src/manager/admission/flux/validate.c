/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits in the queue on the resource graph may not be started by hand: a Job may not be
 * unsuspended, a pod may not lose its gate, unless it has the number of its job, which the
 * controller writes in the same request. All other updates pass: labels, finalizers, sizes.
 *
 * Anybody can write a number, so it also counts who does: a service account of our namespace, or,
 * where the controller runs outside of the cluster, whoever may do everything.
 */
#include <string.h>

#include "manager/admission/fluxqueue.h"
#include "manager/admission/job_rules.h"

#define ACCOUNT "system:serviceaccount:"
#define ALMIGHTY "system:masters"
#define WAY_OUT                                                                                    \
    "to run it without the queue, delete it and create it with the label " SL_FLUX_MANAGED         \
    ": \"false\""

static bool is_ours(const struct sl_review_call *c) {
    return c->view->flux && c->op == SL_REVIEW_UPDATE && !*c->subresource &&
           sl_json_label_opt(c->old, SL_FLUX_SEEN);
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

int sl_review_flux_pod_validate(struct sl_review_call *c) {
    if (is_ours(c) && has_gate(c->old) && !has_gate(c->object) && !has_number(c, c->object))
        return adm_call_refuse(c, 403,
                               "spec.schedulingGates: the pod waits in the queue, which removes "
                               "the gate " SL_FLUX_GATE "; " WAY_OUT);
    return 0;
}

int sl_review_flux_job_validate(struct sl_review_call *c) {
    if (is_ours(c) && sl_json_bool(c->old, "spec.suspend", false) &&
        !sl_json_bool(c->object, "spec.suspend", false) &&
        !has_number(c, sl_json_at(c->object, "spec.template")))
        return adm_call_refuse(c, 403,
                               "spec.suspend: the Job waits in the queue, which starts "
                               "it; " WAY_OUT);
    return 0;
}

int sl_review_flux_validate(struct sl_review_call *c) {
    if (strcmp(c->kind, "Pod") == 0 && !*c->group)
        return sl_review_flux_pod_validate(c);
    if (strcmp(c->kind, "Job") == 0 && strcmp(c->group, "batch") == 0)
        return sl_review_flux_job_validate(c);
    return 0;
}
