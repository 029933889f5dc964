/* SPDX-License-Identifier: Apache-2.0 */
/* ResourceQuotas: stored and validated, not enforced. */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/collection/wordset.h"
#include "lib/json/json.h"

/* What is counted, and what of it. */
enum {
    WHOLE = 1,   /* in whole numbers */
    PODS = 2,    /* pods themselves */
    COMPUTE = 4, /* requests of pods */
    CLAIMS = 8,  /* claims, and their storage */
    UNLIMITED = 16,
};
static const struct {
    const char *name;
    int is;
} resources[] = {
    {"cpu", COMPUTE},
    {"memory", COMPUTE},
    {"ephemeral-storage", 0},
    {"requests.cpu", COMPUTE},
    {"requests.memory", COMPUTE},
    {"requests.storage", CLAIMS},
    {"requests.ephemeral-storage", 0},
    {"limits.cpu", COMPUTE},
    {"limits.memory", COMPUTE},
    {"limits.ephemeral-storage", 0},
    {"pods", WHOLE | PODS},
    {"resourcequotas", WHOLE},
    {"services", WHOLE},
    {"replicationcontrollers", WHOLE},
    {"secrets", WHOLE},
    {"persistentvolumeclaims", WHOLE | CLAIMS},
    {"configmaps", WHOLE},
    {"services.nodeports", WHOLE},
    {"services.loadbalancers", WHOLE},
    {"storage", UNLIMITED}, /* known, but no quota is kept of it */
};

/* Which of them a scope is about. */
static const struct {
    const char *name, *opposite;
    int about;
    bool flag; /* it is there or not: it has no values */
} scopes[] = {
    {"Terminating", "NotTerminating", PODS | COMPUTE, true},
    {"NotTerminating", NULL, PODS | COMPUTE, true},
    {"BestEffort", "NotBestEffort", PODS, true},
    {"NotBestEffort", NULL, PODS | COMPUTE, true},
    {"PriorityClass", NULL, PODS | COMPUTE, false},
    {"CrossNamespacePodAffinity", NULL, PODS | COMPUTE, true},
    {"VolumeAttributesClass", NULL, CLAIMS, false},
};

/* -1: not a scope of Kubernetes. */
static int resource_is(const char *name) {
    for (size_t i = 0; i < SL_LEN(resources); i++)
        if (strcmp(resources[i].name, name) == 0)
            return resources[i].is;
    return strncmp(name, "hugepages-", 10) == 0 || strncmp(name, "requests.hugepages-", 19) == 0
               ? 0
               : -1;
}

static bool is_whole(const char *name) {
    int is = resource_is(name);
    bool extended =
        strchr(name, '/') && !strstr(name, "kubernetes.io/") && strncmp(name, "requests.", 9) != 0;

    return extended || (is >= 0 && is & WHOLE);
}

static void amounts(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    yyjson_val *key, *v;
    sl_quantity q;
    size_t i, n;

    if (!list)
        return;
    sl_obj_foreach (list, i, n, key, v) {
        const char *name = sl_json_text(key);
        const struct sl_path *here = SL_PATH_KEY(at, name);
        struct sl_syntax_errors f = sl_syntax_label_key(sl_json_view(key).s, sl_json_view(key).n);
        int is = resource_is(name);
        for (uint32_t k = 0; k < f.n; k++)
            sl_field_invalid(e, here, sl_field_value_str(name), "%s", f.v[k]);
        if (!f.n && !strchr(name, '/') && is < 0)
            sl_field_invalid(e, here, sl_field_value_str(name),
                             "must be a standard resource type or fully qualified");
        if (!strchr(name, '/') && (is < 0 || is & UNLIMITED))
            sl_field_invalid(e, here, sl_field_value_str(name),
                             "must be a standard resource for quota");
        if (api_amount_check(e, here, v, &q) && is_whole(name) && q % SL_NANO != 0)
            sl_field_invalid(e, here, sl_field_value_str(sl_json_text(v)), "must be an integer");
    }
}

static size_t scope_index(const char *name) {
    size_t i = 0;

    while (i < SL_LEN(scopes) && strcmp(scopes[i].name, name) != 0)
        i++;
    return i;
}

/* Once for each resource that the scope is not about. */
static void scope_resources(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                            const char *scope, yyjson_val *bad) {
    size_t which = scope_index(scope), i, n;
    yyjson_val *hard = sl_json_get(spec, "hard"), *key, *v;

    if (!hard)
        return;
    sl_obj_foreach (hard, i, n, key, v) {
        int is = resource_is(sl_json_text(key));
        if (which < SL_LEN(scopes) && is >= 0 && !(is & UNLIMITED) && !(is & scopes[which].about))
            sl_field_invalid(e, at, sl_field_value_json(bad),
                             "unsupported scope applied to resource");
    }
}

static void opposites(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list,
                      const char *field, yyjson_val *bad) {
    static const size_t order[] = {2, 0}; /* as kube-apiserver looks for them */
    bool has[SL_LEN(scopes) + 1] = {false};
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, v) {
        has[scope_index(field ? sl_json_str(v, field) : sl_json_text(v))] = true;
    }
    for (i = 0; i < SL_LEN(order); i++)
        if (has[order[i]] && has[scope_index(scopes[order[i]].opposite)])
            sl_field_invalid(e, at, sl_field_value_json(bad), "conflicting scopes");
}

static void plain_scopes(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *spec) {
    const struct sl_path *at = SL_PATH(up, "scopes");
    yyjson_val *list = sl_json_get(spec, "scopes"), *v;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, v) {
        if (scope_index(sl_json_text(v)) == SL_LEN(scopes))
            sl_field_invalid(e, at, sl_field_value_json(list), "unsupported scope");
        scope_resources(e, at, spec, sl_json_text(v), list);
        if (e->dropped)
            break; /* each error has the whole list */
    }
    opposites(e, at, list, NULL, list);
}

static void one_selector(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                         yyjson_val *v) {
    const char *scope = sl_json_str(v, "scopeName"), *op = sl_json_str(v, "operator");
    size_t values = sl_json_size(sl_json_get(v, "values")), which = scope_index(scope);
    bool in = strcmp(op, "In") == 0 || strcmp(op, "NotIn") == 0,
         exists = strcmp(op, "Exists") == 0 || strcmp(op, "DoesNotExist") == 0;

    if (which == SL_LEN(scopes))
        sl_field_invalid(e, SL_PATH(at, "scopeName"), sl_field_value_str(scope),
                         "unsupported scope");
    scope_resources(e, at, spec, scope, sl_json_get(spec, "scopeSelector"));
    if (which < SL_LEN(scopes) && scopes[which].flag && strcmp(op, "Exists") != 0)
        sl_field_invalid(e, SL_PATH(at, "operator"), sl_field_value_str(op),
                         "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                         "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                         "ResourceQuotaScopeNotBestEffort or "
                         "ResourceQuotaScopeCrossNamespacePodAffinity");
    if (in && !values)
        sl_field_required(e, SL_PATH(at, "values"),
                          "must be at least one value when `operator` is 'In' or 'NotIn' for scope "
                          "selector");
    else if (exists && values)
        sl_field_invalid(e, SL_PATH(at, "values"), sl_field_value_json(sl_json_get(v, "values")),
                         "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope "
                         "selector");
    else if (!in && !exists)
        sl_field_invalid(e, SL_PATH(at, "operator"), sl_field_value_str(op),
                         "not a valid selector operator");
}

static bool same_scopes(yyjson_val *a, yyjson_val *b) {
    _cleanup_(sl_wordset_done) struct sl_wordset in_b = {0};
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach (b, i, n, v)
        (void)sl_wordset_add(&in_b, sl_json_text(v));
    yyjson_arr_foreach (a, i, n, v) {
        if (!sl_wordset_has(&in_b, sl_json_text(v)))
            return false;
    }
    return true;
}

static void quota_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec"), *status_at = SL_PATH(NULL, "status");
    yyjson_val *spec = sl_json_get(object, "spec"), *was = sl_json_at(c->old, "spec.scopes"),
               *now = sl_json_get(spec, "scopes"), *v;
    yyjson_val *wanted = sl_json_at(spec, "scopeSelector.matchExpressions");
    const struct sl_path *wanted_at = SL_PATH(SL_PATH(at, "scopeSelector"), "matchExpressions");
    size_t i, n;

    if (!api_change_is_object(c)) {
        amounts(c->errs, SL_PATH(status_at, "hard"), sl_json_at(object, "status.hard"));
        amounts(c->errs, SL_PATH(status_at, "used"), sl_json_at(object, "status.used"));
        return;
    }
    amounts(c->errs, SL_PATH(at, "hard"), sl_json_get(spec, "hard"));
    plain_scopes(c->errs, at, spec);
    yyjson_arr_foreach (wanted, i, n, v) {
        one_selector(c->errs, wanted_at, spec, v);
    }
    opposites(c->errs, wanted_at, wanted, "scopeName", now);
    if (c->old && (!same_scopes(now, was) || !same_scopes(was, now)))
        sl_field_invalid(c->errs, SL_PATH(at, "scopes"), sl_field_value_json(now),
                         SL_FIELD_IMMUTABLE);
    if (c->old || c->errs->n)
        return;
    static const char *const names[] = {"cpu", "memory", "ephemeral-storage"};
    for (i = 0; i < SL_LEN(names); i++) {
        const char *request = sl_arena_printf(c->arena, "requests.%s", names[i]),
                   *limit = sl_arena_printf(c->arena, "limits.%s", names[i]);
        yyjson_val *hard = sl_json_get(spec, "hard"), *low = sl_json_get(hard, request),
                   *high = sl_json_get(hard, limit);
        sl_quantity a, b;
        if (!low && i < 2)
            low = sl_json_get(hard, request = names[i]);
        if (low && high && sl_json_quantity(low, &a) && sl_json_quantity(high, &b) && a > b)
            api_change_warn(c, "ResourceQuota %s (%s) should be less than %s (%s)", request,
                            sl_json_text(low), limit, sl_json_text(high));
    }
}

const struct api_strategy api_quota_strategy = {
    .validate = quota_validate, .no_generation = true, .returns_deleted = true};
