/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ClusterQueue and Cohort: validation of quotas and policies beyond the schema.
 */
#include <string.h>

#include "core/base/collection/wordset.h"
#include "core/model/specs.h"
#include "kube/types/syntax.h"
#include "manager/admission/handlers.h"

#define NOT_NEGATIVE "must be greater than or equal to 0"

#define MAX_FLAVORS_IN_ALL 256u
#define MAX_RESOURCES_IN_ALL 256u
#define MAX_PAIRS_OF_GROUP 512u
#define MAX_CONCURRENT_FLAVORS 16u

/* ---- quotas ---- */

/* Where ClusterQueue and Cohort differ. */
struct quota_rules {
    bool has_parent;
    bool lend_within_nominal;
    const char *parent; /* its name in messages */
};

/* A quantity with the text to show for it. */
struct amount {
    sl_quantity q;
    struct sl_field_value shown;
};

static bool amount_of(yyjson_val *v, struct amount *ret) {
    ret->shown = sl_field_value_json(v);
    return sl_json_quantity(v, &ret->q);
}

static void check_not_negative(struct sl_field_errs *e, const struct sl_path *at,
                               const struct amount *a) {
    if (a->q < 0)
        sl_field_invalid(e, at, a->shown, NOT_NEGATIVE);
}

static void check_has_parent(struct sl_field_errs *e, const struct sl_path *at,
                             const struct amount *a, const struct quota_rules *rules) {
    if (!rules->has_parent)
        sl_field_invalid(e, at, a->shown, "must be nil when %s is empty", rules->parent);
}

static void check_quota(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *quota,
                        const char *covered, const struct quota_rules *rules) {
    const struct sl_path *borrow_at = SL_PATH(at, "borrowingLimit");
    const struct sl_path *lend_at = SL_PATH(at, "lendingLimit");
    const char *name = sl_json_str(quota, "name");
    struct amount nominal = {0}, limit;

    if (strcmp(name, covered) != 0)
        sl_field_invalid(e, SL_PATH(at, "name"), sl_field_value_str(name),
                         "must match the name in coveredResources");
    if (amount_of(sl_json_get(quota, "nominalQuota"), &nominal))
        check_not_negative(e, SL_PATH(at, "nominalQuota"), &nominal);
    if (amount_of(sl_json_get(quota, "borrowingLimit"), &limit)) {
        check_has_parent(e, borrow_at, &limit, rules);
        check_not_negative(e, borrow_at, &limit);
    }
    if (amount_of(sl_json_get(quota, "lendingLimit"), &limit)) {
        check_not_negative(e, lend_at, &limit);
        check_has_parent(e, lend_at, &limit, rules);
        if (rules->lend_within_nominal && limit.q > nominal.q)
            sl_field_invalid(e, lend_at, limit.shown,
                             "must be less than or equal to the nominalQuota");
    }
}

static void check_flavor(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *flavor,
                         yyjson_val *covered, const struct quota_rules *rules) {
    const struct sl_path *list_at = SL_PATH(at, "resources");
    yyjson_val *list = sl_json_get(flavor, "resources"), *quota;
    size_t i, n;

    if (!sl_syntax_check_size(e, list_at, list, SL_MAX_GROUP_RESOURCES))
        return;
    /* That there are as many as are covered is a rule of the schema. */
    yyjson_arr_foreach (list, i, n, quota) {
        if (i < sl_json_size(covered))
            check_quota(e, SL_PATH_AT(list_at, i), quota, sl_json_text(yyjson_arr_get(covered, i)),
                        rules);
    }
}

static void check_group(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *group,
                        const struct quota_rules *rules, struct sl_wordset *resources,
                        struct sl_wordset *flavors) {
    const struct sl_path *covered_at = SL_PATH(at, "coveredResources");
    const struct sl_path *flavors_at = SL_PATH(at, "flavors");
    yyjson_val *covered = sl_json_get(group, "coveredResources"), *item;
    yyjson_val *list = sl_json_get(group, "flavors");
    size_t i, n;

    if (!sl_syntax_check_size(e, covered_at, covered, SL_MAX_GROUP_RESOURCES) ||
        !sl_syntax_check_size(e, flavors_at, list, SL_MAX_GROUP_FLAVORS))
        return;
    yyjson_arr_foreach (covered, i, n, item) {
        sl_syntax_check_key_of(e, SL_PATH_AT(covered_at, i), item);
        if (!sl_wordset_add(resources, sl_json_text(item)))
            sl_field_duplicate(e, SL_PATH_AT(covered_at, i), sl_field_value_json(item), "");
    }
    yyjson_arr_foreach (list, i, n, item) {
        const struct sl_path *flavor_at = SL_PATH_AT(flavors_at, i);
        const char *name = sl_json_str(item, "name");
        check_flavor(e, flavor_at, item, covered, rules);
        if (!sl_wordset_add(flavors, name))
            sl_field_duplicate(e, SL_PATH(flavor_at, "name"), sl_field_value_str(name), "");
    }
}

/* False if there is too much of it to look any further. */
static bool check_groups(struct sl_review_call *c, yyjson_val *groups,
                         const struct quota_rules *rules, struct sl_wordset *flavors) {
    const struct sl_path *at = SL_PATH(NULL, "spec.resourceGroups");
    _cleanup_(sl_wordset_done) struct sl_wordset resources = {0};
    size_t i, n;
    yyjson_val *group;

    if (!sl_syntax_check_size(&c->errs, at, groups, SL_MAX_GROUPS))
        return false;
    yyjson_arr_foreach (groups, i, n, group) {
        check_group(&c->errs, SL_PATH_AT(at, i), group, rules, &resources, flavors);
    }
    return true;
}

static void check_fair_sharing(struct sl_field_errs *e, yyjson_val *spec) {
    const struct sl_path *at = SL_PATH(NULL, "spec.fairSharing");
    struct amount weight;

    if (!amount_of(sl_json_at(spec, "fairSharing.weight"), &weight))
        return;
    check_not_negative(e, at, &weight);
    if (weight.q == 1) /* one nano: the finest there is */
        sl_field_invalid(e, at, weight.shown, "When not 0, weight must be > 10e-9");
}

int sl_review_cohort_validate(struct sl_review_call *c) {
    yyjson_val *spec = sl_json_get(c->object, "spec");
    const struct quota_rules rules = {
        .has_parent = *sl_json_str(spec, "parentName") != '\0',
        .parent = "parent",
    };
    _cleanup_(sl_wordset_done) struct sl_wordset flavors = {0};

    check_fair_sharing(&c->errs, spec);
    (void)check_groups(c, sl_json_get(spec, "resourceGroups"), &rules, &flavors);
    return 0;
}

/* ---- ClusterQueue ---- */

int sl_review_cluster_queue_mutate(struct sl_review_call *c) {
    adm_edit_finalizer(c, SL_IN_USE);
    return 0;
}

static void check_preemption(struct sl_field_errs *e, yyjson_val *spec) {
    yyjson_val *preemption = sl_json_get(spec, "preemption");

    if (strcmp(sl_json_str(preemption, "reclaimWithinCohort"), "Never") == 0 &&
        sl_json_get(preemption, "borrowWithinCohort") &&
        strcmp(sl_json_str(preemption, "borrowWithinCohort.policy"), "Never") != 0)
        sl_field_invalid(e, SL_PATH(NULL, "spec.preemption"), sl_field_value_json(preemption),
                         "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never");
}

static void check_fungibility(struct sl_field_errs *e, yyjson_val *spec) {
    yyjson_val *f = sl_json_get(spec, "flavorFungibility");
    const char *preference = sl_json_str(f, "preference");

    if (sl_json_get(f, "preference") &&
        (strcmp(sl_json_str(f, "whenCanBorrow"), "TryNextFlavor") != 0 ||
         strcmp(sl_json_str(f, "whenCanPreempt"), "TryNextFlavor") != 0))
        sl_field_invalid(e, SL_PATH(NULL, "spec.flavorFungibility.preference"),
                         sl_field_value_str(preference),
                         "preference \"%s\" requires both whenCanBorrow and whenCanPreempt to be "
                         "TryNextFlavor",
                         preference);
}

static void check_totals(struct sl_field_errs *e, yyjson_val *groups) {
    const struct sl_path *at = SL_PATH(NULL, "spec.resourceGroups");
    size_t flavors = 0, resources = 0, i, j, n, m;
    yyjson_val *group, *flavor;

    yyjson_arr_foreach (groups, i, n, group) {
        flavors += sl_json_size(sl_json_get(group, "flavors"));
        resources += sl_json_size(sl_json_get(group, "coveredResources"));
    }
    if (flavors > MAX_FLAVORS_IN_ALL)
        sl_field_invalid(e, at, sl_field_value_int((int64_t)flavors),
                         "total number of flavors across all resourceGroups must be ≤ %u, got %zu",
                         MAX_FLAVORS_IN_ALL, flavors);
    if (resources > MAX_RESOURCES_IN_ALL)
        sl_field_invalid(e, at, sl_field_value_int((int64_t)resources),
                         "total number of covered resources across all resourceGroups must be ≤ "
                         "%u, got %zu",
                         MAX_RESOURCES_IN_ALL, resources);
    yyjson_arr_foreach (groups, i, n, group) {
        size_t pairs = 0;
        yyjson_arr_foreach (sl_json_get(group, "flavors"), j, m, flavor) {
            pairs += sl_json_size(sl_json_get(flavor, "resources"));
        }
        if (pairs > MAX_PAIRS_OF_GROUP)
            sl_field_invalid(e, SL_PATH_AT(at, i), sl_field_value_int((int64_t)pairs),
                             "number of flavor-resource combinations in a resourceGroup must be ≤ "
                             "%u, got %zu",
                             MAX_PAIRS_OF_GROUP, pairs);
    }
}

static void check_last_flavor(struct sl_field_errs *e, const struct sl_path *at, const char *last,
                              const struct sl_wordset *flavors) {
    _cleanup_(sl_buf_done) struct sl_buf list = SL_BUF_SHORT(SL_FIELD_VALUE_MAX_BYTES);

    if (sl_wordset_has(flavors, last))
        return;
    for (uint32_t i = 0; i < flavors->words.n; i++)
        sl_buf_printf(&list, "%s%s", i > 0 ? " " : "", flavors->words.v[i]);
    sl_field_invalid(e, SL_PATH(at, "lastAcceptableFlavorName"), sl_field_value_str(last),
                     "must be one of the flavors defined in the ClusterQueue: [%s]",
                     sl_buf_str(&list));
}

static void check_concurrent_admission(struct sl_field_errs *e, yyjson_val *spec,
                                       const struct sl_wordset *flavors) {
    const struct sl_path *groups_at = SL_PATH(NULL, "spec.resourceGroups");
    const struct sl_path *limits_at =
        SL_PATH(NULL, "spec.concurrentAdmissionPolicy.migration.constraints");
    yyjson_val *migration = sl_json_at(spec, "concurrentAdmissionPolicy.migration");
    yyjson_val *limits = sl_json_get(migration, "constraints");
    yyjson_val *groups = sl_json_get(spec, "resourceGroups");
    size_t n_groups = sl_json_size(groups);
    size_t n_flavors = sl_json_size(sl_json_get(yyjson_arr_get_first(groups), "flavors"));
    const char *mode = sl_json_str(migration, "mode");

    if (n_groups != 1)
        sl_field_invalid(
            e, groups_at, sl_field_value_int((int64_t)n_groups),
            "must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined");
    if (n_groups == 1 && n_flavors > MAX_CONCURRENT_FLAVORS)
        sl_field_invalid(e, SL_PATH(SL_PATH_AT(groups_at, 0), "flavors"),
                         sl_field_value_int((int64_t)n_flavors),
                         "cannot have more than %u resource flavors in the ResourceGroup when "
                         "ConcurrentAdmissionPolicy is defined",
                         MAX_CONCURRENT_FLAVORS);
    if (limits && *mode && strcmp(mode, "TryPreferredFlavors") != 0)
        sl_field_forbidden(
            e, limits_at,
            "may only be set when migration.mode is \"TryPreferredFlavors\" (got \"%s\")", mode);
    else if (sl_json_get(limits, "lastAcceptableFlavorName"))
        check_last_flavor(e, limits_at, sl_json_str(limits, "lastAcceptableFlavorName"), flavors);
    if (strcmp(sl_json_str(spec, "queueingStrategy"), "StrictFIFO") == 0)
        sl_field_invalid(e, SL_PATH(NULL, "spec.queueingStrategy"),
                         sl_field_value_str("StrictFIFO"),
                         "StrictFIFO queueing strategy cannot be used when "
                         "ConcurrentAdmissionPolicy is defined");
}

/* ---- onFlavors ---- */

/* The old object was accepted once, but is not validated again: what exceeds the ceilings of the
 * new one is not excused, so that it costs no time either. */

/* False if there are more than there may be. */
static bool names_of_flavors(yyjson_val *spec, struct sl_wordset *ret) {
    yyjson_val *groups = sl_json_get(spec, "resourceGroups"), *group, *flavor;
    size_t i, j, n, m;

    if (sl_json_size(groups) > SL_MAX_GROUPS)
        return false;
    yyjson_arr_foreach (groups, i, n, group) {
        yyjson_val *list = sl_json_get(group, "flavors");
        if (sl_json_size(list) > SL_MAX_GROUP_FLAVORS)
            return false;
        yyjson_arr_foreach (list, j, m, flavor) {
            (void)sl_wordset_add(ret, sl_json_str(flavor, "name"));
        }
    }
    return true;
}

static bool names_of_list(yyjson_val *list, struct sl_wordset *ret) {
    size_t i, n;
    yyjson_val *item;

    if (sl_json_size(list) > SL_MAX_GROUP_FLAVORS)
        return false;
    yyjson_arr_foreach (list, i, n, item) {
        (void)sl_wordset_add(ret, sl_json_text(item));
    }
    return true;
}

static bool same_names(const struct sl_wordset *a, const struct sl_wordset *b) {
    if (a->words.n != b->words.n)
        return false;
    for (uint32_t i = 0; i < a->words.n; i++)
        if (!sl_wordset_has(b, a->words.v[i]))
            return false;
    return true;
}

static bool same_on_flavors(yyjson_val *a, yyjson_val *b) {
    _cleanup_(sl_wordset_done) struct sl_wordset x = {0};
    _cleanup_(sl_wordset_done) struct sl_wordset y = {0};

    return names_of_list(sl_json_get(a, "onFlavors"), &x) &&
           names_of_list(sl_json_get(b, "onFlavors"), &y) && same_names(&x, &y);
}

/* The checks that were there before, if an update has to leave them in peace: a queue that was
 * stored with a wrong onFlavors can still be changed elsewhere. */
static yyjson_val *forgiven_checks(struct sl_review_call *c, const struct sl_wordset *flavors) {
    _cleanup_(sl_wordset_done) struct sl_wordset before = {0};
    yyjson_val *old = sl_json_get(c->old, "spec");
    yyjson_val *checks = sl_json_at(old, "admissionChecksStrategy.admissionChecks");

    if (!old || adm_call_gate(c, SL_G_REJECT_UPDATES_TO_CQ_WITH_INVALID_ON_FLAVORS) ||
        sl_json_size(checks) > SL_MAX_QUEUE_CHECKS || !names_of_flavors(old, &before))
        return NULL;
    return same_names(&before, flavors) ? checks : NULL;
}

static void check_on_flavors(struct sl_review_call *c, yyjson_val *spec,
                             const struct sl_wordset *flavors) {
    const struct sl_path *at = SL_PATH(NULL, "spec.admissionChecksStrategy.admissionChecks");
    yyjson_val *checks = sl_json_at(spec, "admissionChecksStrategy.admissionChecks"), *check, *on;
    yyjson_val *forgiven = forgiven_checks(c, flavors);
    size_t i, j, n, m;

    if (!sl_syntax_check_size(&c->errs, at, checks, SL_MAX_QUEUE_CHECKS))
        return;
    yyjson_arr_foreach (checks, i, n, check) {
        const struct sl_path *on_at = SL_PATH(SL_PATH_AT(at, i), "onFlavors");
        yyjson_val *list = sl_json_get(check, "onFlavors");
        yyjson_val *before = sl_json_find(forgiven, "name", sl_json_str(check, "name"));
        if (!sl_syntax_check_size(&c->errs, on_at, list, SL_MAX_GROUP_FLAVORS) ||
            (before && same_on_flavors(before, check)))
            continue;
        yyjson_arr_foreach (list, j, m, on) {
            if (!sl_wordset_has(flavors, sl_json_text(on)))
                sl_field_unsupported(&c->errs, SL_PATH_AT(on_at, j), sl_field_value_json(on),
                                     flavors->words.v, flavors->words.n);
        }
    }
}

int sl_review_cluster_queue_validate(struct sl_review_call *c) {
    yyjson_val *spec = sl_json_get(c->object, "spec");
    yyjson_val *groups = sl_json_get(spec, "resourceGroups");
    const struct quota_rules rules = {
        .has_parent = *sl_json_str(spec, "cohortName") != '\0',
        .lend_within_nominal = true,
        .parent = "cohort",
    };
    _cleanup_(sl_wordset_done) struct sl_wordset flavors = {0};

    if (!check_groups(c, groups, &rules, &flavors))
        return 0;
    sl_syntax_check_selector(&c->errs, SL_PATH(NULL, "spec.namespaceSelector"),
                             sl_json_get(spec, "namespaceSelector"));
    check_preemption(&c->errs, spec);
    check_fungibility(&c->errs, spec);
    check_fair_sharing(&c->errs, spec);
    check_totals(&c->errs, groups);
    if (adm_call_gate(c, SL_G_CONCURRENT_ADMISSION) &&
        sl_json_get(spec, "concurrentAdmissionPolicy"))
        check_concurrent_admission(&c->errs, spec, &flavors);
    check_on_flavors(c, spec, &flavors);
    if (c->op == SL_REVIEW_UPDATE)
        sl_field_immutable(&c->errs, SL_PATH(NULL, "spec.concurrentAdmissionPolicy"),
                           sl_json_get(spec, "concurrentAdmissionPolicy"),
                           sl_json_at(c->old, "spec.concurrentAdmissionPolicy"));
    return 0;
}
