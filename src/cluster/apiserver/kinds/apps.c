/* SPDX-License-Identifier: Apache-2.0 */
/* Deployments, ReplicaSets, StatefulSets and their ControllerRevisions. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

/* ---- what they share ---- */

/* False: its size is unknown, and the template is not checked. */
static bool selector_rules(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                           const char *kind, const char *unreadable) {
    yyjson_val *selector = sl_json_get(spec, "selector"),
               *labels = sl_json_at(spec, "template.metadata.labels");
    const struct sl_path *selector_at = SL_PATH(at, "selector");
    bool empty = sl_json_size(sl_json_get(selector, "matchLabels")) +
                     sl_json_size(sl_json_get(selector, "matchExpressions")) ==
                 0;

    uint32_t before = e->n;

    if (!selector) {
        sl_field_required(e, selector_at, "");
    } else {
        sl_syntax_check_selector(e, selector_at, selector);
        if (e->n > before) {
            sl_field_invalid(e, selector_at, sl_field_value_json(selector), "%s", unreadable);
            return false;
        }
        if (empty)
            sl_field_invalid(e, selector_at, sl_field_value_json(selector),
                             "empty selector is invalid for %s", kind);
    }
    if (!selector || (!empty && !api_selector_takes(selector, labels)))
        sl_field_invalid(e, SL_PATH(at, "template.metadata.labels"), sl_field_value_json(labels),
                         "`selector` does not match template `labels`");
    return true;
}

void api_lasting_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                       const char *kind) {
    static const char *const always[] = {"Always"};
    const char *policy = sl_json_str(spec, "template.spec.restartPolicy");

    if (strcmp(policy, "Always") != 0)
        sl_field_unsupported(e, SL_PATH(at, "template.spec.restartPolicy"),
                             sl_field_value_str(policy), always, 1);
    if (sl_json_at(spec, "template.spec.activeDeadlineSeconds"))
        sl_field_forbidden(e, SL_PATH(at, "template.spec.activeDeadlineSeconds"),
                           "activeDeadlineSeconds in %s is not Supported", kind);
}

/* What deployments and replica sets have in common. */
static void set_rules(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    if (!selector_rules(e, at, spec, "deployment", "invalid label selector"))
        return;
    api_template_check(e, SL_PATH(at, "template"), sl_json_get(spec, "template"), SL_IN_TEMPLATE,
                       NULL);
    api_lasting_check(e, at, spec, "ReplicaSet");
}

static void template_defaults(struct api_change *c) {
    if (api_change_is_object(c))
        api_template_defaults(c->doc, sl_json_mut_at(c->object, "spec.template.spec"));
}

/* Counters of a status: none below zero, none above 'replicas'. */
static void counters(struct sl_field_errs *e, yyjson_val *object, const char *const *names,
                     const char *ready) {
    const struct sl_path *at = SL_PATH(NULL, "status");
    yyjson_val *status = sl_json_get(object, "status");
    int64_t all = sl_json_int(status, "replicas", 0);

    api_check_not_negative(e, at, status, "replicas");
    for (; *names; names++) {
        int64_t n = sl_json_int(status, *names, 0);
        api_check_not_negative(e, at, status, *names);
        if (n > all)
            sl_field_invalid(e, SL_PATH(at, *names), sl_field_value_int(n),
                             "cannot be greater than status.replicas");
    }
    if (sl_json_int(status, "availableReplicas", 0) > sl_json_int(status, "readyReplicas", 0))
        sl_field_invalid(e, SL_PATH(at, "availableReplicas"),
                         sl_field_value_int(sl_json_int(status, "availableReplicas", 0)),
                         "cannot be greater than %s", ready);
}

/* ---- deployments ---- */

static void deployment_defaults(struct api_change *c) {
    yyjson_mut_val *strategy = sl_json_mut_obj(c->doc, c->object, "spec.strategy"), *rolling;

    if (!api_change_is_object(c) || !strategy)
        return;
    sl_json_mut_default_str(c->doc, strategy, "type", "RollingUpdate");
    if (strcmp(sl_json_mut_str(strategy, "type"), "RollingUpdate") == 0) {
        rolling = sl_json_mut_obj(c->doc, strategy, "rollingUpdate");
        if (!sl_json_mut_get(rolling, "maxUnavailable"))
            sl_json_mut_set_str(c->doc, rolling, "maxUnavailable", "25%");
        if (!sl_json_mut_get(rolling, "maxSurge"))
            sl_json_mut_set_str(c->doc, rolling, "maxSurge", "25%");
    }
    template_defaults(c);
}

int64_t api_count_or_percent(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v,
                             bool *ret_percent) {
    const char *s = sl_json_text(v);
    char *end;
    int64_t n;

    *ret_percent = false;
    if (!yyjson_is_str(v)) {
        n = sl_json_int(v, "", 0);
        if (n < 0)
            sl_field_invalid(e, at, sl_field_value_int(n), SL_NOT_NEGATIVE);
        return n;
    }
    n = strtol(s, &end, 10);
    *ret_percent = true;
    if (end == s || strcmp(end, "%") != 0 || *s < '0' || *s > '9' || end - s > 9) {
        sl_field_invalid(e, at, sl_field_value_str(s),
                         "a valid percent string must be a numeric string followed by an ending "
                         "'%%' (e.g. '1%%',  or '93%%', "
                         "regex used for validation is '[0-9]+%%')");
        return -1;
    }
    return n;
}

static void deployment_strategy(struct sl_field_errs *e, const struct sl_path *at,
                                yyjson_val *strategy) {
    static const char *const types[] = {"Recreate", "RollingUpdate"};
    const char *type = sl_json_str(strategy, "type");
    yyjson_val *rolling = sl_json_get(strategy, "rollingUpdate");
    const struct sl_path *rolling_at = SL_PATH(at, "rollingUpdate");
    bool percent, ignored;

    if (strcmp(type, "Recreate") == 0) {
        if (rolling)
            sl_field_forbidden(e, rolling_at,
                               "may not be specified when strategy `type` is 'Recreate'");
        return;
    }
    if (strcmp(type, "RollingUpdate") != 0) {
        sl_field_unsupported(e, at, sl_field_value_json(strategy), types, SL_LEN(types));
        return;
    }
    yyjson_val *down = sl_json_get(rolling, "maxUnavailable"),
               *up = sl_json_get(rolling, "maxSurge");
    int64_t n_down = api_count_or_percent(e, SL_PATH(rolling_at, "maxUnavailable"), down, &percent);
    int64_t n_up = api_count_or_percent(e, SL_PATH(rolling_at, "maxSurge"), up, &ignored);
    if (n_down == 0 && n_up == 0)
        sl_field_invalid(e, SL_PATH(rolling_at, "maxUnavailable"), sl_field_value_json(down),
                         "may not be 0 when `maxSurge` is 0");
    if (percent && n_down > 100)
        sl_field_invalid(e, SL_PATH(rolling_at, "maxUnavailable"), sl_field_value_json(down),
                         "must not be greater than 100%%");
}

static void deployment_validate(struct api_change *c, yyjson_val *object) {
    static const char *const numbers[] = {"updatedReplicas", "readyReplicas", "availableReplicas",
                                          NULL};
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(object, "spec");
    int64_t deadline = sl_json_int(spec, "progressDeadlineSeconds", INT32_MAX);
    struct sl_field_errs *e = c->errs;

    if (strcmp(c->subresource, "status") == 0) {
        counters(e, object, numbers, "readyReplicas");
        return;
    }
    api_check_not_negative(e, at, spec, "replicas");
    set_rules(e, at, spec);
    deployment_strategy(e, SL_PATH(at, "strategy"), sl_json_get(spec, "strategy"));
    api_check_not_negative(e, at, spec, "minReadySeconds");
    api_check_not_negative(e, at, spec, "revisionHistoryLimit");
    api_check_not_negative(e, at, spec, "progressDeadlineSeconds");
    if (deadline <= sl_json_int(spec, "minReadySeconds", 0))
        sl_field_invalid(e, SL_PATH(at, "progressDeadlineSeconds"), sl_field_value_int(deadline),
                         "must be greater than minReadySeconds");
    if (c->old)
        sl_field_immutable(e, SL_PATH(at, "selector"), sl_json_get(spec, "selector"),
                           sl_json_at(c->old, "spec.selector"));
    api_pod_warn(c, object, "spec.template.spec");
}
/* An update of the status leaves the labels alone. */
static void deployment_prepare(struct api_change *c) {
    if (strcmp(c->subresource, "status") == 0)
        sl_json_mut_keep(c->doc, sl_json_mut_get(c->object, "metadata"), "labels",
                         sl_json_get(c->old, "metadata"));
}
/* Annotations count: a rollout copies them to its replica sets. */
static bool deployment_is_new(yyjson_val *old, yyjson_val *object) {
    static const char *const apart[] = {"metadata", "status", NULL};
    yyjson_val *was = sl_json_at(old, "metadata.annotations"),
               *is = sl_json_at(object, "metadata.annotations");

    return !sl_json_same_but(old, object, apart) ||
           (sl_json_size(was) + sl_json_size(is) > 0 && !sl_json_equal(was, is, NULL));
}
static const struct api_strategy deployment_strategy_of = {.is_new_generation = deployment_is_new,
                                                           .prepare = deployment_prepare,
                                                           .defaults = deployment_defaults,
                                                           .validate = deployment_validate};

/* ---- replica sets ---- */

static void replica_set_validate(struct api_change *c, yyjson_val *object) {
    static const char *const numbers[] = {"fullyLabeledReplicas", "readyReplicas",
                                          "availableReplicas", NULL};
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(object, "spec");

    if (strcmp(c->subresource, "status") == 0) {
        counters(c->errs, object, numbers, "readyReplicas");
        return;
    }
    api_check_not_negative(c->errs, at, spec, "replicas");
    api_check_not_negative(c->errs, at, spec, "minReadySeconds");
    set_rules(c->errs, at, spec);
    if (c->old)
        sl_field_immutable(c->errs, SL_PATH(at, "selector"), sl_json_get(spec, "selector"),
                           sl_json_at(c->old, "spec.selector"));
    api_pod_warn(c, object, "spec.template.spec");
}

static void replica_set_prepare(struct api_change *c) {
    yyjson_mut_val *status;

    if (!api_change_is_create(c))
        return;
    status = sl_json_mut_obj(c->doc, c->object, "status");
    sl_json_mut_set_int(c->doc, status, "replicas", 0);
}
static const struct api_strategy replica_set_strategy = {.prepare = replica_set_prepare,
                                                         .defaults = template_defaults,
                                                         .validate = replica_set_validate};

/* ---- stateful sets ---- */

static void stateful_defaults(struct api_change *c) {
    yyjson_mut_val *update = sl_json_mut_obj(c->doc, c->object, "spec.updateStrategy"), *claims,
                   *claim;
    size_t i, n;

    if (!api_change_is_object(c) || !update)
        return;
    if (*sl_json_mut_str(update, "type") == '\0') {
        sl_json_mut_set_str(c->doc, update, "type", "RollingUpdate");
        (void)sl_json_mut_obj(c->doc, update, "rollingUpdate");
    }
    if (strcmp(sl_json_mut_str(update, "type"), "RollingUpdate") == 0 &&
        sl_json_mut_get(update, "rollingUpdate"))
        sl_json_mut_default_int(c->doc, sl_json_mut_get(update, "rollingUpdate"), "partition", 0);
    claims = sl_json_mut_at(c->object, "spec.volumeClaimTemplates");
    yyjson_mut_arr_foreach (claims, i, n, claim) {
        sl_json_mut_default_str(c->doc, claim, "kind", "PersistentVolumeClaim");
        sl_json_mut_default_str(c->doc, claim, "apiVersion", "v1");
        sl_json_mut_default_str(c->doc, sl_json_mut_obj(c->doc, claim, "status"), "phase",
                                "Pending");
    }
    template_defaults(c);
}

static void stateful_prepare(struct api_change *c) {
    yyjson_mut_val *status;

    /* A feature that is off by default. */
    if (api_change_is_object(c))
        sl_json_mut_set(c->doc, sl_json_mut_at(c->object, "spec.updateStrategy.rollingUpdate"),
                        "maxUnavailable", NULL);
    if (!api_change_is_create(c))
        return;
    status = sl_json_mut_obj(c->doc, c->object, "status");
    sl_json_mut_set_int(c->doc, status, "replicas", 0);
    sl_json_mut_set_int(c->doc, status, "availableReplicas", 0);
}

static void stateful_strategy_rules(struct sl_field_errs *e, const struct sl_path *at,
                                    yyjson_val *update) {
    const char *type = sl_json_str(update, "type");
    yyjson_val *rolling = sl_json_get(update, "rollingUpdate");

    if (strcmp(type, "OnDelete") == 0) {
        if (rolling)
            sl_field_invalid(e, SL_PATH(at, "rollingUpdate"), sl_field_value_json(rolling),
                             "only allowed for updateStrategy 'RollingUpdate'");
    } else if (strcmp(type, "RollingUpdate") == 0) {
        api_check_not_negative(e, SL_PATH(at, "rollingUpdate"), rolling, "partition");
    } else if (*type == '\0') {
        sl_field_required(e, at, "");
    } else {
        sl_field_invalid(e, at, sl_field_value_json(update),
                         "must be 'RollingUpdate' or 'OnDelete'");
    }
}

static void stateful_validate(struct api_change *c, yyjson_val *object) {
    static const char *const numbers[] = {"readyReplicas", "currentReplicas", "updatedReplicas",
                                          "availableReplicas", NULL};
    static const char *const may_change[] = {"replicas",
                                             "ordinals",
                                             "template",
                                             "updateStrategy",
                                             "revisionHistoryLimit",
                                             "persistentVolumeClaimRetentionPolicy",
                                             "minReadySeconds",
                                             NULL};
    static const char *const retain[] = {"Retain", "Delete", NULL};
    const struct sl_path *at = SL_PATH(NULL, "spec"),
                         *retain_at = SL_PATH(at, "persistentVolumeClaimRetentionPolicy");
    yyjson_val *spec = sl_json_get(object, "spec"),
               *keep = sl_json_get(spec, "persistentVolumeClaimRetentionPolicy");
    const char *policy = sl_json_str(spec, "podManagementPolicy");
    yyjson_val *claims = sl_json_get(spec, "volumeClaimTemplates"), *claim;
    struct sl_field_errs *e = c->errs;
    size_t i, n;

    if (strcmp(c->subresource, "status") == 0) {
        counters(e, object, numbers, "status.readyReplicas");
        return;
    }
    if (strcmp(policy, "OrderedReady") != 0 && strcmp(policy, "Parallel") != 0)
        sl_field_invalid(e, SL_PATH(at, "podManagementPolicy"), sl_field_value_str(policy),
                         "must be 'OrderedReady' or 'Parallel'");
    stateful_strategy_rules(e, SL_PATH(at, "updateStrategy"), sl_json_get(spec, "updateStrategy"));
    api_check_one_of(e, retain_at, keep, "whenDeleted", retain, false);
    api_check_one_of(e, retain_at, keep, "whenScaled", retain, false);
    if (!c->old) {
        yyjson_arr_foreach (claims, i, n, claim) {
            api_claim_spec_check(
                e, SL_PATH(SL_PATH_AT(SL_PATH(at, "volumeClaimTemplates"), i), "spec"),
                sl_json_get(claim, "spec"));
        }
    }
    api_check_not_negative(e, at, spec, "replicas");
    api_check_not_negative(e, at, spec, "minReadySeconds");
    api_check_not_negative(e, SL_PATH(at, "ordinals"), sl_json_get(spec, "ordinals"), "start");
    if (!c->old)
        api_word_check_at(e, at, spec, "serviceName", sl_syntax_dns_label, false);
    if (selector_rules(e, at, spec, "statefulset", ""))
        api_template_check(e, SL_PATH(at, "template"), sl_json_get(spec, "template"),
                           SL_IN_STATEFUL, claims);
    api_lasting_check(e, at, spec, "StatefulSet");
    if (c->old && !sl_json_same_but(spec, sl_json_get(c->old, "spec"), may_change))
        sl_field_forbidden(
            e, at,
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
            "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
            "'minReadySeconds' are forbidden");
    api_pod_warn(c, object, "spec.template.spec");
    if (!e->n && sl_json_int(spec, "revisionHistoryLimit", 0) < 0)
        api_change_warn(c, "spec.revisionHistoryLimit: a negative value retains all historical "
                           "revisions; a value >= 0 is recommended");
}
static const struct api_strategy stateful_strategy = {.prepare = stateful_prepare,
                                                      .defaults = stateful_defaults,
                                                      .validate = stateful_validate,
                                                      .name = sl_syntax_dns_label};

/* ---- revisions ---- */

static void revision_validate(struct api_change *c, yyjson_val *object) {
    api_check_not_negative(c->errs, NULL, object, "revision");
    if (!c->old && !yyjson_is_obj(sl_json_get(object, "data")))
        sl_field_required(c->errs, SL_PATH(NULL, "data"), "data is mandatory");
    if (c->old)
        sl_field_immutable(c->errs, SL_PATH(NULL, "data"), sl_json_get(object, "data"),
                           sl_json_get(c->old, "data"));
}
static const struct api_strategy revision_strategy = {.validate = revision_validate,
                                                      .no_generation = true};

const struct api_builtin api_builtin_apps[] = {
    {.group = "apps",
     .version = "v1",
     .kind = "Deployment",
     .plural = "deployments",
     .shorts = "deploy",
     .categories = "all",
     .namespaced = true,
     .status = true,
     .scale = true,
     .strategy = &deployment_strategy_of},
    {.group = "apps",
     .version = "v1",
     .kind = "ReplicaSet",
     .plural = "replicasets",
     .shorts = "rs",
     .categories = "all",
     .namespaced = true,
     .status = true,
     .scale = true,
     .strategy = &replica_set_strategy},
    {.group = "apps",
     .version = "v1",
     .kind = "StatefulSet",
     .plural = "statefulsets",
     .shorts = "sts",
     .categories = "all",
     .namespaced = true,
     .status = true,
     .scale = true,
     .strategy = &stateful_strategy},
    {.group = "apps",
     .version = "v1",
     .kind = "DaemonSet",
     .plural = "daemonsets",
     .shorts = "ds",
     .categories = "all",
     .namespaced = true,
     .status = true,
     .strategy = &api_daemon_strategy},
    {.group = "apps",
     .version = "v1",
     .kind = "ControllerRevision",
     .plural = "controllerrevisions",
     .namespaced = true,
     .strategy = &revision_strategy},
    {0},
};
