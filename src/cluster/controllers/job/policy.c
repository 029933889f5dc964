/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of spec.podFailurePolicy and spec.successPolicy. */
#include "cluster/controllers/job/job.h"
#include "lib/json/json.h"

#include <string.h>

static bool lists_code(yyjson_val *values, int64_t code) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (values, i, n, v)
        if (yyjson_get_sint(v) == code)
            return true;
    return false;
}

/* The container that the rule is about; containers come before init containers. */
static yyjson_val *match_codes(yyjson_val *rule, yyjson_val *codes) {
    bool in = strcmp(sl_json_str(rule, "operator"), "In") == 0;
    bool not_in = strcmp(sl_json_str(rule, "operator"), "NotIn") == 0;
    const char *name = sl_json_str(rule, "containerName");
    size_t i, n;
    yyjson_val *v;
    for (int init = 0; init < 2; init++)
        yyjson_arr_foreach (codes, i, n, v) {
            int64_t code = sl_json_int(v, "code", 0);
            if (sl_json_bool(v, "init", false) != init || code == 0 ||
                (*name && strcmp(name, sl_json_str(v, "name")) != 0))
                continue;
            if ((in || not_in) && lists_code(yyjson_obj_get(rule, "values"), code) == in)
                return v;
        }
    return NULL;
}

/* The type of the condition that the rule is about. */
static const char *match_conditions(yyjson_val *patterns, yyjson_val *conditions) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (patterns, i, n, v) {
        const char *type = sl_json_str(v, "type"), *status = sl_json_str(v, "status");
        const char *is = sl_json_opt(yyjson_obj_get(conditions, type));
        if (is && strcmp(is, *status ? status : "True") == 0)
            return type;
    }
    return NULL;
}

static enum cl_job_failure_action verdict_of(const char *action) {
    static const char *const words[] = {[JOB_COUNT] = "Count",
                                        [JOB_IGNORE] = "Ignore",
                                        [JOB_FAIL_INDEX] = "FailIndex",
                                        [JOB_FAIL_JOB] = "FailJob"};
    for (size_t i = 0; i < SL_LEN(words); i++)
        if (strcmp(words[i], action) == 0)
            return (enum cl_job_failure_action)i;
    return JOB_COUNT;
}

enum cl_job_failure_action cl_job_failure_action(const struct cl_job *j, const struct cl_pod *p,
                                                 struct sl_buf *why) {
    if (!j->failure_policy)
        return JOB_COUNT;
    _cleanup_(sl_json_docp) yyjson_doc *policy =
        yyjson_read(j->failure_policy, strlen(j->failure_policy), 0);
    _cleanup_(sl_json_docp) yyjson_doc *seen =
        p->failure ? yyjson_read(p->failure, strlen(p->failure), 0) : NULL;
    yyjson_val *root = yyjson_doc_get_root(seen), *rule;
    enum cl_job_failure_action verdict = JOB_COUNT;
    size_t i, n;
    yyjson_arr_foreach (sl_json_at(yyjson_doc_get_root(policy), "rules"), i, n, rule) {
        const char *action = sl_json_str(rule, "action"), *ns = sl_rec_ns(&p->rec);
        yyjson_val *codes = sl_json_at(rule, "onExitCodes"), *container = NULL;
        const char *condition = NULL;
        if (codes)
            container = match_codes(codes, yyjson_obj_get(root, "codes"));
        else
            condition = match_conditions(sl_json_at(rule, "onPodConditions"),
                                         yyjson_obj_get(root, "conditions"));
        if (!container && !condition)
            continue;
        verdict = verdict_of(action);
        if (verdict == JOB_FAIL_JOB && why && container)
            sl_buf_printf(why,
                          "Container %s for pod %s/%s failed with exit code %lld matching %s rule "
                          "at index %zu",
                          sl_json_str(container, "name"), ns, p->rec.name,
                          (long long)sl_json_int(container, "code", 0), action, i);
        else if (verdict == JOB_FAIL_JOB && why)
            sl_buf_printf(why, "Pod %s/%s has condition %s matching %s rule at index %zu", ns,
                          p->rec.name, condition, action, i);
        break;
    }
    return verdict;
}

static bool rule_is_met(const struct cl_job *j, yyjson_val *rule,
                        const struct cl_indexes *succeeded) {
    const char *text = sl_json_str(rule, "succeededIndexes");
    int64_t count = sl_json_int32(rule, "succeededCount", JOB_NONE);
    struct cl_indexes needed = {0};
    if (!*text)
        return count != JOB_NONE && cl_indexes_count(succeeded) >= count;
    cl_indexes_read(text, (int32_t)j->completions, &needed);
    int64_t have = cl_indexes_common(&needed, succeeded), all = cl_indexes_count(&needed);
    cl_indexes_done(&needed);
    return all > 0 && (have == all || (count != JOB_NONE && have >= count));
}

int32_t cl_job_success_rule(const struct cl_job *j, const struct cl_indexes *succeeded) {
    if (!j->success_policy || !succeeded->n)
        return -1;
    _cleanup_(sl_json_docp) yyjson_doc *policy =
        yyjson_read(j->success_policy, strlen(j->success_policy), 0);
    int32_t met = -1;
    size_t i, n;
    yyjson_val *rule;
    yyjson_arr_foreach (sl_json_at(yyjson_doc_get_root(policy), "rules"), i, n, rule)
        if (met < 0 && rule_is_met(j, rule, succeeded))
            met = (int32_t)i;
    return met;
}
