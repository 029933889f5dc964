/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of the spec of a Job, with kube-apiserver's messages. */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "lib/json/json.h"

#define MAX_PARALLEL_INDEXED 100000
#define MAX_FAILED_INDEXES 100000
#define MANY_COMPLETIONS 100000
#define MAX_PARALLEL_MANY 10000
#define MAX_FAILED_MANY 10000
#define MANAGED_BY_BYTES 63

struct job_view {
    yyjson_val *spec;
    bool indexed;
    int64_t completions, parallelism, max_failed, per_index; /* -1: absent */
};

static void most(struct sl_field_errs *e, const struct sl_path *at, const char *field, int64_t n,
                 int64_t max, const char *when) {
    if (n > max)
        sl_field_invalid(e, SL_PATH(at, field), sl_field_value_int(n),
                         "must be less than or equal to %lld%s", (long long)max, when);
}

static void indexed_rules(struct sl_field_errs *e, const struct sl_path *at,
                          const struct job_view *j) {
    static const char many[] =
        " when completions are above 100000 and used with backoff limit per index";

    if (j->completions < 0)
        sl_field_required(e, SL_PATH(at, "completions"), "when completion mode is Indexed");
    most(e, at, "parallelism", j->parallelism, MAX_PARALLEL_INDEXED,
         " when completion mode is Indexed");
    if (j->completions >= 0 && j->max_failed > j->completions)
        sl_field_invalid(e, SL_PATH(at, "maxFailedIndexes"), sl_field_value_int(j->max_failed),
                         "must be less than or equal to completions");
    most(e, at, "maxFailedIndexes", j->max_failed, MAX_FAILED_INDEXES, "");
    if (j->completions <= MANY_COMPLETIONS || j->per_index < 0)
        return;
    if (j->max_failed < 0)
        sl_field_required(e, SL_PATH(at, "maxFailedIndexes"),
                          "must be specified when completions is above 100000");
    most(e, at, "parallelism", j->parallelism, MAX_PARALLEL_MANY, many);
    most(e, at, "maxFailedIndexes", j->max_failed, MAX_FAILED_MANY, many);
}

static void exit_codes(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *codes,
                       yyjson_val *pod) {
    const char *container = sl_json_str(codes, "containerName"),
               *op = sl_json_str(codes, "operator");
    yyjson_val *values = sl_json_get(codes, "values"), *v;
    const struct sl_path *values_at = SL_PATH(at, "values");
    int64_t before = INT64_MIN;
    bool ordered = true;
    size_t i, n;

    if (*container && !sl_json_find(sl_json_get(pod, "containers"), "name", container) &&
        !sl_json_find(sl_json_get(pod, "initContainers"), "name", container))
        sl_field_invalid(e, SL_PATH(at, "containerName"), sl_field_value_str(container),
                         "must be one of the container or initContainer names in the pod template");
    if (sl_json_size(values) == 0)
        sl_field_invalid(e, values_at, sl_field_value_json(values),
                         "at least one value is required");
    else if (sl_json_size(values) > 255)
        sl_field_too_many(e, values_at, sl_json_size(values), 255);
    yyjson_arr_foreach (values, i, n, v) {
        int64_t code = sl_json_int(v, "", 0);
        if (code == 0 && strcmp(op, "In") == 0)
            sl_field_invalid(e, SL_PATH_AT(values_at, i), sl_field_value_int(code),
                             "must not be 0 for the In operator");
        if (code == before)
            sl_field_duplicate(e, SL_PATH_AT(values_at, i), sl_field_value_int(code), "");
        ordered = ordered && code >= before;
        before = code;
    }
    if (!ordered)
        sl_field_invalid(e, values_at, sl_field_value_json(values), "must be ordered");
}

static void failure_rule(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *rule,
                         const struct job_view *j) {
    static const char *const actions[] = {"Count", "FailIndex", "FailJob", "Ignore", NULL};
    static const char *const operators[] = {"In", "NotIn", NULL};
    static const char *const statuses[] = {"False", "True", "Unknown", NULL};
    yyjson_val *codes = sl_json_get(rule, "onExitCodes"),
               *conditions = sl_json_get(rule, "onPodConditions"), *p;
    const char *action = sl_json_str(rule, "action");
    size_t i, n;

    if (*action == '\0')
        sl_field_required(e, SL_PATH(at, "action"),
                          "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]");
    else if (strcmp(action, "FailIndex") == 0 && j->per_index < 0)
        sl_field_invalid(e, SL_PATH(at, "action"), sl_field_value_str(action),
                         "requires the backoffLimitPerIndex to be set");
    else
        api_check_one_of(e, at, rule, "action", actions, false);
    if (codes) {
        const struct sl_path *codes_at = SL_PATH(at, "onExitCodes");
        if (*sl_json_str(codes, "operator") == '\0')
            sl_field_required(e, SL_PATH(codes_at, "operator"), "valid values: [\"In\" \"NotIn\"]");
        api_check_one_of(e, codes_at, codes, "operator", operators, false);
        exit_codes(e, codes_at, codes, sl_json_at(j->spec, "template.spec"));
    }
    if (sl_json_size(conditions) > 20)
        sl_field_too_many(e, SL_PATH(at, "onPodConditions"), sl_json_size(conditions), 20);
    yyjson_arr_foreach (conditions, i, n, p) {
        const struct sl_path *p_at = SL_PATH_AT(SL_PATH(at, "onPodConditions"), i);
        sl_syntax_check_key_of(e, SL_PATH(p_at, "type"), sl_json_get(p, "type"));
        api_check_one_of(e, p_at, p, "status", statuses, false);
    }
    if (codes && sl_json_size(conditions) > 0)
        sl_field_invalid(e, at, sl_field_value_none(),
                         "specifying both OnExitCodes and OnPodConditions is not supported");
    if (!codes && sl_json_size(conditions) == 0)
        sl_field_invalid(e, at, sl_field_value_none(),
                         "specifying one of OnExitCodes and OnPodConditions is required");
}

static void failure_policy(struct sl_field_errs *e, const struct sl_path *at,
                           const struct job_view *j) {
    yyjson_val *rules = sl_json_at(j->spec, "podFailurePolicy.rules"), *r;
    const struct sl_path *rules_at = SL_PATH(SL_PATH(at, "podFailurePolicy"), "rules");
    size_t i, n;

    if (sl_json_size(rules) > 20)
        sl_field_too_many(e, rules_at, sl_json_size(rules), 20);
    yyjson_arr_foreach (rules, i, n, r) {
        failure_rule(e, SL_PATH_AT(rules_at, i), r, j);
    }
}

/* "1,3-5": how many, each below 'completions' and in order. */
static int count_indexes(const char *s, int64_t completions, int64_t *ret, struct sl_err *err) {
    int64_t count = 0, last = -1;

    while (*s) {
        size_t len = strcspn(s, ",");
        int64_t bounds[2] = {0, 0};
        int n = 0;
        const char *p = s;
        for (; n < 2; n++) {
            if (*p < '0' || *p > '9')
                return sl_err_set(err, SL_EINVAL,
                                  "cannot convert string to integer for index: \"%.*s\"",
                                  (int)strcspn(p, ",-"), p);
            for (; *p >= '0' && *p <= '9' && bounds[n] < INT32_MAX; p++)
                bounds[n] = bounds[n] * 10 + (*p - '0');
            if (*p != '-')
                break;
            p++;
        }
        if (n == 0)
            bounds[1] = bounds[0];
        if (p != s + len)
            return sl_err_set(err, SL_EINVAL,
                              "the fragment \"%.*s\" violates the requirement that an index "
                              "interval can have at most "
                              "two parts separated by '-'",
                              (int)len, s);
        if (bounds[1] >= completions)
            return sl_err_set(err, SL_EINVAL, "too large index: \"%lld\"", (long long)bounds[1]);
        if (bounds[0] <= last)
            return sl_err_set(err, SL_EINVAL, "non-increasing order, previous: %lld, current: %lld",
                              (long long)last, (long long)bounds[0]);
        if (bounds[1] < bounds[0] || (n == 1 && bounds[1] == bounds[0]))
            return sl_err_set(err, SL_EINVAL, "non-increasing order, previous: %lld, current: %lld",
                              (long long)bounds[0], (long long)bounds[1]);
        count += bounds[1] - bounds[0] + 1;
        last = bounds[1];
        s += len + (s[len] == ',');
    }
    *ret = count;
    return SL_OK;
}

static void success_rule(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *rule,
                         int64_t completions) {
    yyjson_val *indexes = sl_json_get(rule, "succeededIndexes");
    int64_t count = sl_json_int(rule, "succeededCount", INT64_MIN), total = -1;
    struct sl_err err = {0};

    if (!indexes && count == INT64_MIN)
        sl_field_required(e, at,
                          "at least one of succeededCount or succeededIndexes must be specified");
    if (indexes && count_indexes(sl_json_text(indexes), completions, &total, &err) < 0)
        sl_field_invalid(e, SL_PATH(at, "succeededIndexes"),
                         sl_field_value_str(sl_json_text(indexes)),
                         "error parsing succeededIndexes: %s", err.text);
    api_check_not_negative(e, at, rule, "succeededCount");
    if (count > completions)
        sl_field_invalid(e, SL_PATH(at, "succeededCount"), sl_field_value_int(count),
                         "must be less than or equal to %lld (the number of specified completions)",
                         (long long)completions);
    if (indexes && total >= 0 && count > total)
        sl_field_invalid(e, SL_PATH(at, "succeededCount"), sl_field_value_int(count),
                         "must be less than or equal to %lld (the number of indexes in the "
                         "specified succeededIndexes field)",
                         (long long)total);
}

static void success_policy(struct sl_field_errs *e, const struct sl_path *at,
                           const struct job_view *j) {
    yyjson_val *policy = sl_json_get(j->spec, "successPolicy"),
               *rules = sl_json_get(policy, "rules"), *r;
    const struct sl_path *policy_at = SL_PATH(at, "successPolicy"),
                         *rules_at = SL_PATH(policy_at, "rules");
    size_t i, n;

    if (!j->indexed) {
        sl_field_invalid(e, policy_at, sl_field_value_json(policy),
                         "requires indexed completion mode");
        return;
    }
    if (sl_json_size(rules) == 0)
        sl_field_required(
            e, rules_at,
            "at least one rules must be specified when the successPolicy is specified");
    if (sl_json_size(rules) > 20)
        sl_field_too_many(e, rules_at, sl_json_size(rules), 20);
    yyjson_arr_foreach (rules, i, n, r) {
        success_rule(e, SL_PATH_AT(rules_at, i), r, j->completions < 0 ? 0 : j->completions);
    }
}

static void job_restart(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    static const char *const policies[] = {"OnFailure", "Never"};
    const char *policy = sl_json_str(spec, "template.spec.restartPolicy");
    const struct sl_path *policy_at = SL_PATH(at, "template.spec.restartPolicy");

    if (*policy == '\0' || strcmp(policy, "Always") == 0)
        sl_field_required(e, policy_at, "valid values: \"OnFailure\", \"Never\"");
    else if (strcmp(policy, "OnFailure") != 0 && strcmp(policy, "Never") != 0)
        sl_field_unsupported(e, policy_at, sl_field_value_str(policy), policies, SL_LEN(policies));
    else if (sl_json_get(spec, "podFailurePolicy") && strcmp(policy, "Never") != 0)
        sl_field_invalid(e, policy_at, sl_field_value_str(policy),
                         "only \"Never\" is supported when podFailurePolicy is specified");
}

void api_job_spec_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    static const char *const numbers[] = {"parallelism",
                                          "completions",
                                          "activeDeadlineSeconds",
                                          "backoffLimit",
                                          "ttlSecondsAfterFinished",
                                          "backoffLimitPerIndex",
                                          "maxFailedIndexes"};
    static const char *const modes[] = {"NonIndexed", "Indexed", NULL};
    static const char *const replacing[] = {"Failed", "TerminatingOrFailed", NULL},
                             *const failed[] = {"Failed", NULL};
    struct job_view j = {
        .spec = spec,
        .indexed = strcmp(sl_json_str(spec, "completionMode"), "Indexed") == 0,
        .completions = sl_json_int(spec, "completions", -1),
        .parallelism = sl_json_int(spec, "parallelism", -1),
        .max_failed = sl_json_int(spec, "maxFailedIndexes", -1),
        .per_index = sl_json_int(spec, "backoffLimitPerIndex", -1),
    };
    yyjson_val *managed = sl_json_get(spec, "managedBy");

    for (size_t i = 0; i < SL_LEN(numbers); i++)
        api_check_not_negative(e, at, spec, numbers[i]);
    if (j.max_failed >= 0 && j.per_index < 0)
        sl_field_required(e, SL_PATH(at, "backoffLimitPerIndex"),
                          "when maxFailedIndexes is specified");
    if (managed) {
        struct sl_text by = sl_json_view(managed);
        sl_syntax_check_domain_path(e, SL_PATH(at, "managedBy"), by.s, by.n);
        if (by.n > MANAGED_BY_BYTES)
            sl_field_too_long(e, SL_PATH(at, "managedBy"), MANAGED_BY_BYTES);
    }
    api_check_one_of(e, at, spec, "completionMode", modes, false);
    if (j.indexed) {
        indexed_rules(e, at, &j);
    } else if (strcmp(sl_json_str(spec, "completionMode"), "NonIndexed") == 0 ||
               !sl_json_get(spec, "completionMode")) {
        if (j.per_index >= 0)
            sl_field_invalid(e, SL_PATH(at, "backoffLimitPerIndex"),
                             sl_field_value_int(j.per_index), "requires indexed completion mode");
        if (j.max_failed >= 0)
            sl_field_invalid(e, SL_PATH(at, "maxFailedIndexes"), sl_field_value_int(j.max_failed),
                             "requires indexed completion mode");
    }
    if (sl_json_get(spec, "podFailurePolicy"))
        failure_policy(e, at, &j);
    if (sl_json_get(spec, "successPolicy"))
        success_policy(e, at, &j);
    api_check_one_of(e, at, spec, "podReplacementPolicy",
                     sl_json_get(spec, "podFailurePolicy") ? failed : replacing, false);
    api_template_check(e, SL_PATH(at, "template"), sl_json_get(spec, "template"), SL_IN_TEMPLATE,
                       NULL);
    job_restart(e, at, spec);
}
