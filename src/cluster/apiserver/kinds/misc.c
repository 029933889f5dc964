/* SPDX-License-Identifier: Apache-2.0 */
/* The smaller groups: coordination, scheduling, node, rbac, events, admission, discovery, and the
 * reviews. */
#include <string.h>

#include "cluster/apiserver/crd/crd.h"
#include "cluster/apiserver/kinds/kinds.h"
#include "cluster/apiserver/rest/subresource.h"
#include "core/base/collection/wordset.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"

/* ---- leases ---- */

static void lease_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(object, "spec"),
               *seconds = sl_json_get(spec, "leaseDurationSeconds");

    if (seconds && sl_json_int(seconds, "", 0) <= 0)
        sl_field_invalid(c->errs, SL_PATH(at, "leaseDurationSeconds"),
                         sl_field_value_int(sl_json_int(seconds, "", 0)), "must be greater than 0");
    api_check_not_negative(c->errs, at, spec, "leaseTransitions");
}
static const struct api_strategy lease_strategy = {.validate = lease_validate,
                                                   .any_finalizer = true,
                                                   .no_generation = true,
                                                   .put_creates = true,
                                                   .needs_version = true};

/* ---- priority classes ---- */

#define MAX_USER_PRIORITY 1000000000

static void priority_validate(struct api_change *c, yyjson_val *object) {
    static const struct {
        const char *name;
        int64_t value;
    } system[] = {{"system-node-critical", 2000001000}, {"system-cluster-critical", 2000000000}};
    static const char *const policies[] = {"PreemptLowerPriority", "Never", NULL};
    const char *name = sl_json_str(object, "metadata.name");
    int64_t value = sl_json_int(object, "value", 0);
    bool known = false;

    for (size_t i = 0; i < SL_LEN(system); i++)
        known = known || (strcmp(name, system[i].name) == 0 && value == system[i].value);
    if (strncmp(name, "system-", 7) == 0 && !known)
        sl_field_forbidden(c->errs, SL_PATH(NULL, "metadata.name"),
                           "priority class names with 'system-' prefix are reserved for system use "
                           "only. error: %s is not a "
                           "known system priority class",
                           name);
    if (strncmp(name, "system-", 7) != 0 && value > MAX_USER_PRIORITY)
        sl_field_forbidden(c->errs, SL_PATH(NULL, "value"),
                           "maximum allowed value of a user defined priority is %d",
                           MAX_USER_PRIORITY);
    api_check_one_of(c->errs, NULL, object, "preemptionPolicy", policies, false);
    if (c->old) {
        if (value != sl_json_int(c->old, "value", 0))
            sl_field_forbidden(c->errs, SL_PATH(NULL, "Value"), "may not be changed in an update.");
        sl_field_immutable(c->errs, SL_PATH(NULL, "preemptionPolicy"),
                           sl_json_get(object, "preemptionPolicy"),
                           sl_json_get(c->old, "preemptionPolicy"));
    }
}
static const struct api_strategy priority_strategy = {.validate = priority_validate};

/* ---- runtime classes ---- */

static void runtime_validate(struct api_change *c, yyjson_val *object) {
    yyjson_val *handler = sl_json_get(object, "handler");

    api_word_check_at(c->errs, NULL, object, "handler", sl_syntax_dns_label, true);
    if (c->old)
        sl_field_immutable(c->errs, SL_PATH(NULL, "handler"), handler,
                           sl_json_get(c->old, "handler"));
}
static const struct api_strategy runtime_strategy = {.validate = runtime_validate,
                                                     .no_generation = true,
                                                     .put_creates = true,
                                                     .needs_version = true};

/* ---- rbac: stored, not enforced ---- */

static void role_validate(struct api_change *c, yyjson_val *object) {
    bool cluster = strcmp(c->kind->kind, "ClusterRole") == 0;
    size_t i, n;
    yyjson_val *r;

    yyjson_arr_foreach (sl_json_get(object, "rules"), i, n, r) {
        const struct sl_path *at = SL_PATH_AT(SL_PATH(NULL, "rules"), i);
        bool urls = sl_json_size(sl_json_get(r, "nonResourceURLs")) > 0;
        if (sl_json_size(sl_json_get(r, "verbs")) == 0)
            sl_field_required(c->errs, SL_PATH(at, "verbs"),
                              "verbs must contain at least one value");
        if (urls && !cluster)
            sl_field_invalid(c->errs, SL_PATH(at, "nonResourceURLs"),
                             sl_field_value_json(sl_json_get(r, "nonResourceURLs")),
                             "namespaced rules cannot apply to non-resource URLs");
        if (urls)
            continue;
        if (sl_json_size(sl_json_get(r, "apiGroups")) == 0)
            sl_field_required(c->errs, SL_PATH(at, "apiGroups"),
                              "resource rules must supply at least one api group");
        if (sl_json_size(sl_json_get(r, "resources")) == 0)
            sl_field_required(c->errs, SL_PATH(at, "resources"),
                              "resource rules must supply at least one resource");
    }
}

static void binding_defaults(struct api_change *c) {
    yyjson_mut_val *role = sl_json_mut_obj(c->doc, c->object, "roleRef"), *s;
    size_t i, n;

    sl_json_mut_default_str(c->doc, role, "apiGroup", "rbac.authorization.k8s.io");
    yyjson_mut_arr_foreach (sl_json_mut_get(c->object, "subjects"), i, n, s) {
        const char *kind = sl_json_mut_str(s, "kind");
        if (strcmp(kind, "User") == 0 || strcmp(kind, "Group") == 0)
            sl_json_mut_default_str(c->doc, s, "apiGroup", "rbac.authorization.k8s.io");
    }
}

/* Accounts are in the core of the API, all others in this group. */
static void group_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *of,
                        bool account) {
    static const char *const groups[] = {"rbac.authorization.k8s.io", ""};
    const char *group = sl_json_str(of, "apiGroup");

    if (strcmp(group, groups[account]) != 0)
        sl_field_unsupported(e, SL_PATH(at, "apiGroup"), sl_field_value_str(group),
                             groups + account, 1);
}

static void binding_validate(struct api_change *c, yyjson_val *object) {
    static const char *const roles[] = {"Role", "ClusterRole"}, *const subjects[] = {
                                                                    "ServiceAccount", "User",
                                                                    "Group", NULL};
    const struct sl_path *at = SL_PATH(NULL, "roleRef");
    bool cluster = strcmp(c->kind->kind, "ClusterRoleBinding") == 0;
    const char *kind = sl_json_str(object, "roleRef.kind");
    size_t i, n;
    yyjson_val *s;

    group_check(c->errs, at, sl_json_get(object, "roleRef"), false);
    if (strcmp(kind, "ClusterRole") != 0 && (cluster || strcmp(kind, "Role") != 0))
        sl_field_unsupported(c->errs, SL_PATH(at, "kind"), sl_field_value_str(kind),
                             cluster ? roles + 1 : roles, cluster ? 1 : 2);
    api_word_check_at(c->errs, at, sl_json_get(object, "roleRef"), "name", api_word_segment, true);
    yyjson_arr_foreach (sl_json_get(object, "subjects"), i, n, s) {
        const struct sl_path *s_at = SL_PATH_AT(SL_PATH(NULL, "subjects"), i);
        if (*sl_json_str(s, "name") == '\0')
            sl_field_required(c->errs, SL_PATH(s_at, "name"), "");
        const char *is = sl_json_str(s, "kind");
        bool account = strcmp(is, subjects[0]) == 0;
        if (account)
            api_word_check_at(c->errs, s_at, s, "name", sl_syntax_subdomain, false);
        if (account || strcmp(is, subjects[1]) == 0 || strcmp(is, subjects[2]) == 0)
            group_check(c->errs, s_at, s, account);
        else
            sl_field_unsupported(c->errs, SL_PATH(s_at, "kind"), sl_field_value_str(is), subjects,
                                 3);
        if (strcmp(sl_json_str(s, "kind"), "ServiceAccount") == 0 && cluster &&
            *sl_json_str(s, "namespace") == '\0')
            sl_field_required(c->errs, SL_PATH(s_at, "namespace"), "");
    }
    if (c->old && !sl_json_same(sl_json_get(c->old, "roleRef"), sl_json_get(object, "roleRef")))
        sl_field_invalid(c->errs, at, sl_field_value_json(sl_json_get(object, "roleRef")),
                         "cannot change roleRef");
}
static const struct api_strategy role_strategy = {.validate = role_validate,
                                                  .no_generation = true,
                                                  .name = api_word_segment,
                                                  .meta = SL_META_BOTH,
                                                  .put_creates = true};
static const struct api_strategy binding_strategy = {.defaults = binding_defaults,
                                                     .validate = binding_validate,
                                                     .no_generation = true,
                                                     .name = api_word_segment,
                                                     .meta = SL_META_BOTH,
                                                     .put_creates = true};

/* ---- webhooks ---- */

static void webhook_validate(struct api_change *c, yyjson_val *object) {
    static const char *const policies[] = {"Fail", "Ignore", NULL}, *const effects[] = {
                                                                        "None", "NoneOnDryRun",
                                                                        NULL};
    yyjson_val *list = sl_json_get(object, "webhooks"), *w;
    _cleanup_(sl_wordset_done) struct sl_wordset names = {0};
    size_t i, n;

    yyjson_arr_foreach (list, i, n, w) {
        const struct sl_path *at = SL_PATH_AT(SL_PATH(NULL, "webhooks"), i),
                             *client_at = SL_PATH(at, "clientConfig");
        const char *name = sl_json_str(w, "name");
        yyjson_val *client = sl_json_get(w, "clientConfig");
        int64_t timeout = sl_json_int(w, "timeoutSeconds", 10);
        bool url = sl_json_get(client, "url") != NULL,
             service = sl_json_get(client, "service") != NULL;

        if (*name == '\0')
            sl_field_required(c->errs, SL_PATH(at, "name"), "");
        else if (!strchr(name, '.') || !strchr(strchr(name, '.') + 1, '.'))
            sl_field_invalid(c->errs, SL_PATH(at, "name"), sl_field_value_str(name),
                             "should be a domain with at least three segments separated by dots");
        if (!sl_wordset_add(&names, name))
            sl_field_duplicate(c->errs, SL_PATH(at, "name"), sl_field_value_str(name), "");
        api_check_one_of(c->errs, at, w, "failurePolicy", policies, false);
        api_check_one_of(c->errs, at, w, "sideEffects", effects, true);
        if (timeout < 1 || timeout > 30)
            sl_field_invalid(c->errs, SL_PATH(at, "timeoutSeconds"), sl_field_value_int(timeout),
                             "the timeout value must be between 1 and 30 seconds");
        sl_syntax_check_selector(c->errs, SL_PATH(at, "namespaceSelector"),
                                 sl_json_get(w, "namespaceSelector"));
        sl_syntax_check_selector(c->errs, SL_PATH(at, "objectSelector"),
                                 sl_json_get(w, "objectSelector"));
        if (url == service)
            sl_field_required(c->errs, client_at, "exactly one of url or service is required");
        if (sl_json_size(sl_json_get(w, "admissionReviewVersions")) == 0)
            sl_field_required(c->errs, SL_PATH(at, "admissionReviewVersions"),
                              "must specify one of v1, v1beta1");
    }
}
static const struct api_strategy webhook_strategy = {.validate = webhook_validate,
                                                     .needs_version = true};

/* ---- budgets: stored, not enforced ---- */

static void share_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    bool percent = false;

    if (v && api_count_or_percent(e, at, v, &percent) > 100 && percent)
        sl_field_invalid(e, at, sl_field_value_json(v), "must not be greater than 100%%");
}

/* Of its metadata, only the rules for every object are checked. */
static void budget_validate(struct api_change *c, yyjson_val *object) {
    static const char *const policies[] = {"AlwaysAllow", "IfHealthyBudget", NULL};
    static const char *const counts[] = {"disruptionsAllowed", "currentHealthy", "desiredHealthy",
                                         "expectedPods"};
    const struct sl_path *at = SL_PATH(NULL, "spec"), *status_at = SL_PATH(NULL, "status");
    yyjson_val *spec = sl_json_get(object, "spec"), *least = sl_json_get(spec, "minAvailable"),
               *most = sl_json_get(spec, "maxUnavailable"), *status = sl_json_get(object, "status");

    if (!api_change_is_object(c)) {
        sl_syntax_check_conditions(c->errs, SL_PATH(status_at, "conditions"),
                                   sl_json_get(status, "conditions"));
        for (size_t i = 0; i < SL_LEN(counts); i++)
            api_check_not_negative(c->errs, status_at, status, counts[i]);
        return;
    }
    if (least && most)
        sl_field_invalid(c->errs, at, sl_field_value_json(spec),
                         "minAvailable and maxUnavailable cannot be both set");
    share_check(c->errs, SL_PATH(at, "minAvailable"), least);
    share_check(c->errs, SL_PATH(at, "maxUnavailable"), most);
    sl_syntax_check_selector(c->errs, SL_PATH(at, "selector"), sl_json_get(spec, "selector"));
    api_check_one_of(c->errs, at, spec, "unhealthyPodEvictionPolicy", policies, false);
    if (!c->old && !c->errs->n)
        api_meta_check(c, object, false);
}
static const struct api_strategy budget_strategy = {.validate = budget_validate,
                                                    .meta = SL_META_SELF,
                                                    .name = api_word_segment,
                                                    .any_finalizer = true,
                                                    .needs_version = true};

/* Labels count: watchers of slices select by them. */
static bool slice_is_new(yyjson_val *old, yyjson_val *object) {
    static const char *const apart[] = {"metadata", NULL};

    return !sl_json_same_but(old, object, apart) ||
           !sl_json_same(sl_json_at(old, "metadata.labels"), sl_json_at(object, "metadata.labels"));
}
static void slice_validate(struct api_change *c, yyjson_val *object) {
    static const char *const types[] = {"FQDN", "IPv4", "IPv6", NULL};

    api_check_one_of(c->errs, NULL, object, "addressType", types, true);
    if (c->old &&
        strcmp(sl_json_str(object, "addressType"), sl_json_str(c->old, "addressType")) != 0)
        sl_field_invalid(c->errs, SL_PATH(NULL, "addressType"),
                         sl_field_value_str(sl_json_str(object, "addressType")),
                         SL_FIELD_IMMUTABLE);
}
static const struct api_strategy slice_strategy = {
    .is_new_generation = slice_is_new, .validate = slice_validate, .meta = SL_META_PLAIN};

/* ---- tables ---- */

static void no_review(struct api_change *c) {
    (void)c; /* bindings: the core sends them to the pod */
}

static const struct api_strategy plain_returned = {.no_generation = true, .returns_deleted = true};
/* In the order of those of core/v1, whose values are kept. */
static const char *const event_fields[] = {"regarding.kind",
                                           "regarding.namespace",
                                           "regarding.name",
                                           "regarding.uid",
                                           "regarding.apiVersion",
                                           "regarding.resourceVersion",
                                           "regarding.fieldPath",
                                           "reason",
                                           "reportingController",
                                           "type",
                                           NULL};

#define RBAC .group = "rbac.authorization.k8s.io", .version = "v1"
#define ADMISSION .group = "admissionregistration.k8s.io", .version = "v1"
#define AUTHZ .group = "authorization.k8s.io", .version = "v1", .verbs = SL_V_CREATE
#define AUTHN .group = "authentication.k8s.io", .version = "v1", .verbs = SL_V_CREATE

const struct api_builtin api_builtin_misc[] = {
    {.version = "v1",
     .kind = "Binding",
     .plural = "bindings",
     .namespaced = true,
     .verbs = SL_V_CREATE,
     .review = no_review},
    {.group = "coordination.k8s.io",
     .version = "v1",
     .kind = "Lease",
     .plural = "leases",
     .namespaced = true,
     .strategy = &lease_strategy},
    {.group = "scheduling.k8s.io",
     .version = "v1",
     .kind = "PriorityClass",
     .plural = "priorityclasses",
     .shorts = "pc",
     .strategy = &priority_strategy},
    {.group = "node.k8s.io",
     .version = "v1",
     .kind = "RuntimeClass",
     .plural = "runtimeclasses",
     .strategy = &runtime_strategy},
    {.group = "events.k8s.io",
     .version = "v1",
     .kind = "Event",
     .plural = "events",
     .shorts = "ev",
     .namespaced = true,
     .strategy = &api_new_event_strategy,
     .selectable = event_fields,
     .shares = "events"},
    {.group = "storage.k8s.io",
     .version = "v1",
     .kind = "StorageClass",
     .plural = "storageclasses",
     .shorts = "sc",
     .strategy = &plain_returned},
    {.group = "discovery.k8s.io",
     .version = "v1",
     .kind = "EndpointSlice",
     .plural = "endpointslices",
     .namespaced = true,
     .strategy = &slice_strategy},
    {.group = "policy",
     .version = "v1",
     .kind = "PodDisruptionBudget",
     .plural = "poddisruptionbudgets",
     .shorts = "pdb",
     .namespaced = true,
     .status = true,
     .strategy = &budget_strategy},
    {RBAC, .kind = "Role", .plural = "roles", .namespaced = true, .strategy = &role_strategy},
    {RBAC, .kind = "ClusterRole", .plural = "clusterroles", .strategy = &role_strategy},
    {RBAC, .kind = "RoleBinding", .plural = "rolebindings", .namespaced = true,
     .strategy = &binding_strategy},
    {RBAC, .kind = "ClusterRoleBinding", .plural = "clusterrolebindings",
     .strategy = &binding_strategy},
    {ADMISSION, .kind = "MutatingWebhookConfiguration", .plural = "mutatingwebhookconfigurations",
     .categories = "api-extensions", .strategy = &webhook_strategy},
    {ADMISSION, .kind = "ValidatingWebhookConfiguration",
     .plural = "validatingwebhookconfigurations", .categories = "api-extensions",
     .strategy = &webhook_strategy},
    {AUTHZ, .kind = "SelfSubjectAccessReview", .plural = "selfsubjectaccessreviews",
     .review = api_review_self_access},
    {AUTHZ, .kind = "SubjectAccessReview", .plural = "subjectaccessreviews",
     .review = api_review_access},
    {AUTHZ, .kind = "LocalSubjectAccessReview", .plural = "localsubjectaccessreviews",
     .namespaced = true, .review = api_review_local_access},
    {AUTHZ, .kind = "SelfSubjectRulesReview", .plural = "selfsubjectrulesreviews",
     .review = api_review_rules},
    {AUTHN, .kind = "SelfSubjectReview", .plural = "selfsubjectreviews", .review = api_review_self},
    {AUTHN, .kind = "TokenReview", .plural = "tokenreviews", .review = api_review_token},
    {.group = "apiextensions.k8s.io",
     .version = "v1",
     .kind = "CustomResourceDefinition",
     .plural = "customresourcedefinitions",
     .shorts = "crd,crds",
     .categories = "api-extensions",
     .status = true,
     .strategy = &api_crd_strategy},
    {0},
};
