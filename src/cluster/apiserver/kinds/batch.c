/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and CronJobs. */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "kube/types/cron.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

#define OLD_UID "controller-uid"
#define OLD_NAME "job-name"
#define JOB_UID "batch.kubernetes.io/controller-uid"
#define JOB_NAME "batch.kubernetes.io/job-name"

#define LABEL_BYTES 63u
#define NAME_ADDED 5u /* to generateName, of which so much is kept: */
#define NAME_KEPT 58u
#define ZONES "/usr/share/zoneinfo/"
#define MAX_ZONE 128u /* the longest name has 32 */

/* ---- jobs on their way in ---- */

static void job_defaults(struct api_change *c) {
    yyjson_mut_val *spec = sl_json_mut_get(c->object, "spec"), *labels;
    yyjson_mut_doc *doc = c->doc;

    labels = sl_json_mut_at(spec, "template.metadata.labels");
    if (yyjson_mut_obj_size(labels) > 0 &&
        yyjson_mut_obj_size(sl_json_mut_at(c->object, "metadata.labels")) == 0)
        sl_json_mut_set(doc, sl_json_mut_obj(doc, c->object, "metadata"), "labels",
                        yyjson_mut_val_mut_copy(doc, labels));
    if (!api_change_is_object(c) || !yyjson_mut_is_obj(spec))
        return;
    if (!sl_json_mut_get(spec, "completions") && !sl_json_mut_get(spec, "parallelism"))
        sl_json_mut_set_int(doc, spec, "completions", 1);
    sl_json_mut_default_int(doc, spec, "parallelism", 1);
    sl_json_mut_default_int(doc, spec, "backoffLimit",
                            sl_json_mut_get(spec, "backoffLimitPerIndex") ? INT32_MAX : 6);
    if (!sl_json_mut_get(spec, "completionMode"))
        sl_json_mut_set_str(doc, spec, "completionMode", "NonIndexed");
    sl_json_mut_default_bool(doc, spec, "suspend", false);
    sl_json_mut_default_str(doc, spec, "podReplacementPolicy",
                            sl_json_mut_get(spec, "podFailurePolicy") ? "Failed"
                                                                      : "TerminatingOrFailed");
    sl_json_mut_default_bool(doc, spec, "manualSelector", false);
    api_template_defaults(doc, sl_json_mut_at(spec, "template.spec"));
}

/* The selector of a job is its uid; its pods carry it in labels, under old names and new ones. */
static void job_selector(struct api_change *c, yyjson_mut_val *spec) {
    yyjson_mut_val *labels = sl_json_mut_obj(c->doc, spec, "template.metadata.labels");
    const char *uid = sl_json_mut_str(c->object, "metadata.uid"),
               *name = sl_json_mut_str(c->object, "metadata.name");
    const char *const pairs[][2] = {
        {JOB_UID, uid}, {JOB_NAME, name}, {OLD_UID, uid}, {OLD_NAME, name}};

    for (size_t i = 0; i < SL_LEN(pairs); i++)
        if (!sl_json_mut_get(labels, pairs[i][0]))
            sl_json_mut_set_str(c->doc, labels, pairs[i][0], pairs[i][1]);
    labels = sl_json_mut_obj(c->doc, spec, "selector.matchLabels");
    if (!sl_json_mut_get(labels, JOB_UID))
        sl_json_mut_set_str(c->doc, labels, JOB_UID, uid);
}

static bool has_made_up_name(const struct api_change *c) {
    const char *base = sl_json_mut_str(c->object, "metadata.generateName");
    size_t len = strlen(base) < NAME_KEPT ? strlen(base) : NAME_KEPT;

    return len && strncmp(c->name, base, len) == 0 && strlen(c->name) == len + NAME_ADDED;
}

/* A job without labels has those of its pods, generated ones included, as kube-apiserver has it:
 * but not those generated if others were there and its name is made up; and if none were there it
 * gets them after validation, so that a name that makes no label is told of the template alone. */
static void job_prepare(struct api_change *c) {
    yyjson_mut_val *spec = sl_json_mut_get(c->object, "spec"),
                   *own = sl_json_mut_at(c->object, "metadata.labels");
    yyjson_mut_val *labels = sl_json_mut_at(spec, "template.metadata.labels");
    bool shared = labels ? (yyjson_mut_obj_size(own) == 0 || sl_json_mut_equal(own, labels)) &&
                               !has_made_up_name(c)
                         : yyjson_mut_obj_size(own) == 0 && strlen(c->name) <= LABEL_BYTES;

    if (!api_change_is_create(c) || !spec || sl_json_mut_bool(spec, "manualSelector", false))
        return;
    job_selector(c, spec);
    labels = sl_json_mut_at(spec, "template.metadata.labels");
    if (shared && labels)
        sl_json_mut_set(c->doc, sl_json_mut_obj(c->doc, c->object, "metadata"), "labels",
                        yyjson_mut_val_mut_copy(c->doc, labels));
}

/* ---- jobs ---- */

static void has_label(struct sl_field_errs *e, yyjson_val *job, const char *key, const char *want) {
    const struct sl_path *at = SL_PATH_KEY(SL_PATH(NULL, "spec.template.metadata.labels"), key);
    yyjson_val *labels = sl_json_at(job, "spec.template.metadata.labels"),
               *have = sl_json_get(labels, key);

    if (!have)
        sl_field_required(e, at, sl_arena_printf(e->arena, "must be '%s'", want));
    else if (strcmp(sl_json_text(have), want) != 0)
        sl_field_invalid(e, at, sl_field_value_json(labels), "must be '%s'", want);
}

/* Does it request anything but what every job's pods have? */
static bool is_generated(yyjson_val *selector, const char *uid, const char *name) {
    const char *const expected[][2] = {
        {OLD_UID, uid}, {OLD_NAME, name}, {JOB_UID, uid}, {JOB_NAME, name}};
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *labels = yyjson_mut_obj(doc);

    for (size_t i = 0; i < SL_LEN(expected); i++)
        yyjson_mut_obj_add_str(doc, labels, expected[i][0], expected[i][1]);
    _cleanup_(sl_json_docp) yyjson_doc *made = yyjson_mut_val_imut_copy(labels, NULL);
    return api_selector_takes(selector, yyjson_doc_get_root(made));
}

static void generated_selector(struct sl_field_errs *e, yyjson_val *job) {
    const char *uid = sl_json_str(job, "metadata.uid"), *name = sl_json_str(job, "metadata.name");
    yyjson_val *selector = sl_json_at(job, "spec.selector");

    if (sl_json_bool(job, "spec.manualSelector", false) || !selector)
        return;
    has_label(e, job, OLD_UID, uid);
    has_label(e, job, OLD_NAME, name);
    has_label(e, job, JOB_UID, uid);
    has_label(e, job, JOB_NAME, name);
    if (!is_generated(selector, uid, name))
        sl_field_invalid(e, SL_PATH(NULL, "spec.selector"), sl_field_value_json(selector),
                         "`selector` not auto-generated");
}

static void job_rules(struct sl_field_errs *e, yyjson_val *job) {
    yyjson_val *selector = sl_json_at(job, "spec.selector"),
               *labels = sl_json_at(job, "spec.template.metadata.labels");

    api_job_spec_check(e, SL_PATH(NULL, "spec"), sl_json_get(job, "spec"));
    if (!selector)
        sl_field_required(e, SL_PATH(NULL, "spec.selector"), "");
    sl_syntax_check_selector(e, SL_PATH(NULL, "spec.selector"), selector);
    if (!selector || !api_selector_takes(selector, labels))
        sl_field_invalid(e, SL_PATH(NULL, "spec.template.metadata.labels"),
                         sl_field_value_json(labels),
                         "`selector` does not match template `labels`");
}

/* What of the template may change while the job is suspended and nothing of it runs. */
static bool same_template(yyjson_val *old, yyjson_val *now, bool loose) {
    static const char *const meta_skip[] = {"labels", "annotations", NULL};
    static const char *const spec_skip[] = {
        "affinity",   "nodeSelector",   "tolerations", "schedulingGates",
        "containers", "initContainers", NULL};
    static const char *const container_skip[] = {"resources", NULL}, *const lists[] = {
                                                                         "containers",
                                                                         "initContainers"};
    yyjson_val *a = sl_json_get(old, "spec"), *b = sl_json_get(now, "spec"), *c;
    size_t i, n;

    if (!loose)
        return sl_json_same(old, now);
    if (!sl_json_same_but(sl_json_get(old, "metadata"), sl_json_get(now, "metadata"), meta_skip) ||
        !sl_json_same_but(a, b, spec_skip) ||
        !sl_json_same(sl_json_at(a, "affinity.podAffinity"),
                      sl_json_at(b, "affinity.podAffinity")) ||
        !sl_json_same(sl_json_at(a, "affinity.podAntiAffinity"),
                      sl_json_at(b, "affinity.podAntiAffinity")))
        return false;
    for (size_t l = 0; l < SL_LEN(lists); l++) {
        yyjson_val *was = sl_json_get(a, lists[l]), *is = sl_json_get(b, lists[l]);
        if (sl_json_size(was) != sl_json_size(is))
            return false;
        yyjson_arr_foreach (was, i, n, c) {
            if (!sl_json_same_but(c, yyjson_arr_get(is, i), container_skip))
                return false;
        }
    }
    return true;
}

static void job_update(struct sl_field_errs *e, yyjson_val *old, yyjson_val *job) {
    static const char *const fixed[] = {"completionMode", "podFailurePolicy",
                                        "backoffLimitPerIndex", "managedBy", "successPolicy"};
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *was = sl_json_get(old, "spec"), *is = sl_json_get(job, "spec"),
               *n = sl_json_get(is, "completions");
    bool loose = sl_json_bool(was, "suspend", false) &&
                 (!sl_json_at(old, "status.startTime") || sl_json_condition(old, "Suspended")) &&
                 sl_json_int(old, "status.active", 0) == 0;

    if (strcmp(sl_json_str(is, "completionMode"), "Indexed") != 0)
        sl_field_immutable(e, SL_PATH(at, "completions"), n, sl_json_get(was, "completions"));
    else if (n && !sl_json_same(n, sl_json_get(was, "completions")) &&
             sl_json_int(n, "", 0) != sl_json_int(is, "parallelism", 0))
        sl_field_invalid(e, SL_PATH(at, "completions"), sl_field_value_int(sl_json_int(n, "", 0)),
                         "can only be modified in tandem with spec.parallelism");
    sl_field_immutable(e, SL_PATH(at, "selector"), sl_json_get(is, "selector"),
                       sl_json_get(was, "selector"));
    if (!same_template(sl_json_get(was, "template"), sl_json_get(is, "template"), loose))
        sl_field_invalid(e, SL_PATH(at, loose ? "template.spec" : "template"),
                         sl_field_value_json(sl_json_at(is, loose ? "template.spec" : "template")),
                         SL_FIELD_IMMUTABLE);
    for (size_t i = 0; i < SL_LEN(fixed); i++)
        sl_field_immutable(e, SL_PATH(at, fixed[i]), sl_json_get(is, fixed[i]),
                           sl_json_get(was, fixed[i]));
}

/* Does the field of the status differ between the two? */
static bool differs(yyjson_val *was, yyjson_val *is, const char *field) {
    return !sl_json_same(sl_json_get(was, field), sl_json_get(is, field));
}

/* What must hold for a finished job: checked only where it has changed, so that jobs that were
 * stored otherwise can be written. */
static void job_finished(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *job,
                         yyjson_val *was, yyjson_val *is, bool news) {
    yyjson_val *pods = sl_json_get(is, "uncountedTerminatedPods");
    bool empty =
        sl_json_bool(job, "spec.suspend", false) && sl_json_int(job, "spec.completions", -1) == 0;
    int64_t active = sl_json_int(is, "active", 0), ending = sl_json_int(is, "terminating", 0);

    if (active > 0 && (news || differs(was, is, "active")))
        sl_field_invalid(e, SL_PATH(at, "active"), sl_field_value_int(active),
                         "active>0 is invalid for finished job");
    if (!sl_json_get(is, "startTime") && !empty && (news || differs(was, is, "startTime")))
        sl_field_required(e, SL_PATH(at, "startTime"), "startTime is required for finished job");
    if (sl_json_size(sl_json_get(pods, "succeeded")) + sl_json_size(sl_json_get(pods, "failed")) >
            0 &&
        (news || differs(was, is, "uncountedTerminatedPods")))
        sl_field_invalid(e, SL_PATH(at, "uncountedTerminatedPods"), sl_field_value_json(pods),
                         "must be empty for finished job");
    if (ending > 0 && (news || differs(was, is, "terminating")))
        sl_field_invalid(e, SL_PATH(at, "terminating"), sl_field_value_int(ending),
                         "terminating>0 is invalid for finished job");
}

/* Which conditions go together. */
static void job_conditions(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *job,
                           bool complete_news, bool failed_news) {
    bool complete = sl_json_condition(job, "Complete"), failed = sl_json_condition(job, "Failed");
    bool met = sl_json_condition(job, "SuccessCriteriaMet"),
         target = sl_json_condition(job, "FailureTarget");
    const struct {
        bool wrong;
        const char *text;
    } rules[] = {
        {complete && failed && (complete_news || failed_news),
         "cannot set Complete=True and Failed=true conditions"},
        {complete && target && complete_news,
         "cannot set Complete=True and FailureTarget=true conditions"},
        {failed && !target && failed_news,
         "cannot set Failed=True condition without the FailureTarget=true condition"},
        {complete && !met && complete_news,
         "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"},
        {met && failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions"},
        {met && target, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"},
    };

    for (size_t i = 0; i < SL_LEN(rules); i++)
        if (rules[i].wrong)
            sl_field_invalid(e, at, sl_field_value_none(), "%s", rules[i].text);
}

static void job_completion_time(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *job,
                                yyjson_val *was, yyjson_val *is, bool complete_news) {
    yyjson_val *at_time = sl_json_get(is, "completionTime");
    bool complete = sl_json_condition(job, "Complete");

    if (!complete_news && !differs(was, is, "completionTime"))
        return;
    if (at_time && !complete)
        sl_field_invalid(e, SL_PATH(at, "completionTime"), sl_field_value_json(at_time),
                         "cannot set completionTime when there is no Complete=True condition");
    if (!at_time && complete)
        sl_field_required(e, SL_PATH(at, "completionTime"),
                          "completionTime is required for Complete jobs");
}

/* Terminal conditions stay, and counters do not go back. */
static void job_status(struct sl_field_errs *e, yyjson_val *old, yyjson_val *job) {
    static const char *const numbers[] = {"active", "succeeded", "failed", "ready", "terminating"};
    static const char *const terminal[] = {"Failed", "Complete", "FailureTarget",
                                           "SuccessCriteriaMet"};
    const struct sl_path *at = SL_PATH(NULL, "status"), *conditions = SL_PATH(at, "conditions");
    yyjson_val *was = sl_json_get(old, "status"), *is = sl_json_get(job, "status");
    bool complete = sl_json_condition(job, "Complete"), failed = sl_json_condition(job, "Failed");
    bool complete_news = complete != sl_json_condition(old, "Complete");
    bool failed_news = failed != sl_json_condition(old, "Failed");

    for (size_t i = 0; i < SL_LEN(numbers); i++)
        api_check_not_negative(e, at, is, numbers[i]);
    job_completion_time(e, at, job, was, is, complete_news);
    job_conditions(e, conditions, job, complete_news, failed_news);
    if (complete || failed)
        job_finished(e, at, job, was, is, complete_news || failed_news);
    for (size_t i = 0; i < SL_LEN(terminal); i++)
        if (sl_json_condition(old, terminal[i]) && !sl_json_condition(job, terminal[i]))
            sl_field_invalid(e, conditions, sl_field_value_none(),
                             "cannot disable the %s%s=True condition", i < 3 ? "terminal " : "",
                             terminal[i]);
    if (sl_json_int(is, "failed", 0) < sl_json_int(was, "failed", 0))
        sl_field_invalid(e, SL_PATH(at, "failed"), sl_field_value_int(sl_json_int(is, "failed", 0)),
                         "cannot decrease the failed counter");
    if (sl_json_int(is, "succeeded", 0) < sl_json_int(was, "succeeded", 0) &&
        (strcmp(sl_json_str(job, "spec.completionMode"), "Indexed") != 0 ||
         sl_json_int(job, "spec.completions", -1) != sl_json_int(job, "spec.parallelism", -1)))
        sl_field_invalid(e, SL_PATH(at, "succeeded"),
                         sl_field_value_int(sl_json_int(is, "succeeded", 0)),
                         "cannot decrease the succeeded counter");
}

static void job_validate(struct api_change *c, yyjson_val *job) {
    struct sl_field_errs *e = c->errs;
    int64_t completions = sl_json_int(job, "spec.completions", 0);

    if (strcmp(c->subresource, "status") == 0) {
        job_status(e, c->old, job);
        return;
    }
    api_meta_check(c, job, false);
    generated_selector(e, job);
    job_rules(e, job);
    if (strcmp(sl_json_str(job, "spec.completionMode"), "Indexed") == 0 && completions > 0) {
        const char *name = sl_json_str(job, "metadata.name");
        const char *host = sl_arena_printf(c->arena, "%s-%lld", name, (long long)completions - 1);
        if (sl_syntax_dns_label(host, strlen(host)).n)
            sl_field_invalid(e, SL_PATH(NULL, "metadata.name"), sl_field_value_str(name),
                             "will not able to create pod with invalid DNS label: %s", host);
    }
    if (c->old) {
        api_meta_check(c, job, true);
        job_rules(e, job);
        job_update(e, c->old, job);
    }
    api_pod_warn(c, job, "spec.template.spec");
}

static const struct api_strategy job_strategy = {
    .prepare = job_prepare,
    .defaults = job_defaults,
    .validate = job_validate,
    .meta = SL_META_SELF,
    .orphans = true,
};

/* ---- cron jobs ---- */

static void cron_defaults(struct api_change *c) {
    if (api_change_is_object(c))
        api_template_defaults(c->doc,
                              sl_json_mut_at(c->object, "spec.jobTemplate.spec.template.spec"));
}

static void time_zone(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *zone) {
    const char *s = sl_json_text(zone);

    if (!zone)
        return;
    if (*s == '\0') {
        sl_field_invalid(e, at, sl_field_value_str(s), "timeZone must be nil or non-empty string");
        return;
    }
    for (const char *p = s; *p; p += strcspn(p, "/"), p += *p == '/') {
        size_t len = strcspn(p, "/");
        bool odd = *p == '-' || *p == '.' || len == 0;
        for (size_t i = 0; i < len; i++)
            odd = odd || !((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') ||
                           (p[i] >= '0' && p[i] <= '9') || strchr("._-+", p[i]));
        if (odd) {
            sl_field_invalid(e, at, sl_field_value_str(s), "unknown time zone %s", s);
            return;
        }
        if (p[len] == '/' && p[len + 1] == '\0')
            break;
    }
    if (strcmp(s, "Local") == 0 || strcmp(s, "local") == 0)
        sl_field_invalid(
            e, at, sl_field_value_str(s),
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
    else if (strcmp(s, "UTC") != 0 &&
             (strlen(s) >= MAX_ZONE ||
              (access(ZONES, F_OK) == 0 &&
               access(sl_arena_printf(e->arena, ZONES "%s", s), F_OK) != 0)))
        sl_field_invalid(e, at, sl_field_value_str(s), "unknown time zone %s", s);
}

static void cron_validate(struct api_change *c, yyjson_val *cron) {
    static const char *const policies[] = {"Allow", "Forbid", "Replace", NULL};
    const struct sl_path *at = SL_PATH(NULL, "spec"),
                         *job_at = SL_PATH(SL_PATH(at, "jobTemplate"), "spec");
    yyjson_val *spec = sl_json_get(cron, "spec"), *job = sl_json_at(spec, "jobTemplate.spec");
    const char *schedule = sl_json_str(spec, "schedule"),
               *name = sl_json_str(cron, "metadata.name");
    struct sl_field_errs *e = c->errs;
    struct sl_err err = {0};
    struct sl_cron means;

    if (!api_change_is_object(c))
        return;
    if (*schedule == '\0')
        sl_field_required(e, SL_PATH(at, "schedule"), "");
    else if (strstr(schedule, "TZ"))
        sl_field_invalid(e, SL_PATH(at, "schedule"), sl_field_value_str(schedule),
                         "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    else if (sl_cron_read(schedule, &means, &err) < 0)
        sl_field_invalid(e, SL_PATH(at, "schedule"), sl_field_value_str(schedule), "%s", err.text);
    api_check_not_negative(e, at, spec, "startingDeadlineSeconds");
    time_zone(e, SL_PATH(at, "timeZone"), sl_json_get(spec, "timeZone"));
    api_check_one_of(e, at, spec, "concurrencyPolicy", policies, true);
    api_job_spec_check(e, job_at, job);
    if (sl_json_get(job, "selector"))
        sl_field_invalid(e, SL_PATH(job_at, "selector"),
                         sl_field_value_json(sl_json_get(job, "selector")),
                         "`selector` will be auto-generated");
    if (sl_json_bool(job, "manualSelector", false)) {
        static const char *const words[] = {"nil", "false"};
        sl_field_unsupported(e, SL_PATH(job_at, "manualSelector"),
                             sl_field_value_json(sl_json_get(job, "manualSelector")), words, 2);
    }
    api_check_not_negative(e, at, spec, "successfulJobsHistoryLimit");
    api_check_not_negative(e, at, spec, "failedJobsHistoryLimit");
    if (!c->old && strlen(name) > 52) /* a job's name gets eleven characters more */
        sl_field_invalid(e, SL_PATH(NULL, "metadata.name"), sl_field_value_str(name),
                         "must be no more than 52 characters");
    api_pod_warn(c, cron, "spec.jobTemplate.spec.template.spec");
}

static const struct api_strategy cron_strategy = {.defaults = cron_defaults,
                                                  .validate = cron_validate};

static const char *const job_fields[] = {"status.successful=status.succeeded#", NULL};

const struct api_builtin api_builtin_batch[] = {
    {.group = "batch",
     .version = "v1",
     .kind = "Job",
     .plural = "jobs",
     .categories = "all",
     .namespaced = true,
     .status = true,
     .selectable = job_fields,
     .strategy = &job_strategy},
    {.group = "batch",
     .version = "v1",
     .kind = "CronJob",
     .plural = "cronjobs",
     .shorts = "cj",
     .categories = "all",
     .namespaced = true,
     .status = true,
     .strategy = &cron_strategy},
    {0},
};
