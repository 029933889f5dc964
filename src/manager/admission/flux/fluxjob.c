/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FluxJobs: a jobspec that cannot be read is refused at once, with the line. What a job runs by
 * stays as it is. An update that leaves the spec alone is never refused: objects of fluxqueue are
 * stored already.
 */
#include <string.h>

#include "lib/graphio/jobspec_read.h"
#include "manager/admission/call.h"
#include "manager/admission/fluxqueue.h"

#define MAX_JOBSPEC ((size_t)64 << 10) /* as in the schema */
#define SPEC SL_PATH(NULL, "spec")

void adm_rule_jobspec(struct sl_review_call *c, const struct sl_path *at, struct sl_text jobspec) {
    struct sl_jobspec *parsed = NULL;
    struct sl_err err;

    if (jobspec.n == 0)
        return;
    if (jobspec.n > MAX_JOBSPEC) {
        sl_field_too_long(&c->errs, at, MAX_JOBSPEC);
        return;
    }
    if (sl_graphio_jobspec_read("jobspec", jobspec.s, jobspec.n, &parsed, &err) < 0)
        sl_field_invalid(&c->errs, at, sl_field_value_none(), "%s", err.text);
    sl_jobspec_free(parsed);
}

static void check_not_negative(struct sl_review_call *c, const char *key) {
    yyjson_val *v = sl_json_get(sl_json_get(c->object, "spec"), key);
    int64_t n = yyjson_is_int(v) ? yyjson_get_sint(v) : 0;

    if (n < 0)
        sl_field_invalid(&c->errs, SL_PATH(SPEC, key), sl_field_value_int(n),
                         "must be greater than or equal to 0");
}

static void check_type(struct sl_review_call *c) {
    int64_t type = sl_json_int(c->object, "spec.type", 0);

    if (type < 0 || type >= SL_FLUX_TYPES)
        sl_field_invalid(&c->errs, SL_PATH(SPEC, "type"), sl_field_value_int(type),
                         "must be between 0 and %d", SL_FLUX_TYPES - 1);
}

/* Such a job is rejected by the queue (NoSuchQueue), until the configuration has that one. */
static void warn_of_queue(struct sl_review_call *c) {
    const struct sl_settings *s = c->view->settings;
    const char *queue = sl_json_str(c->object, "spec.queue");

    for (uint32_t i = 0; i < s->flux.n_queues; i++)
        if (strcmp(s->flux.queues[i].name, queue) == 0)
            return;
    if (*queue)
        adm_call_warn(c, "spec.queue: there is no queue \"%.63s\" in the configuration", queue);
}

/* Does it run, or has it run? */
static bool has_started(yyjson_val *job) {
    static const char *const states[] = {"Running", "Completed", "Failed"};
    const char *state = sl_json_str(job, "status.state");

    for (size_t i = 0; i < SL_LEN(states); i++)
        if (strcmp(state, states[i]) == 0)
            return true;
    return false;
}

static void keep_spec(struct sl_review_call *c) {
    static const char *const keys[] = {"jobspec", "type", "name"};
    yyjson_val *now = sl_json_get(c->object, "spec"), *old = sl_json_get(c->old, "spec");

    for (size_t i = 0; i < SL_LEN(keys); i++)
        sl_field_immutable(&c->errs, SL_PATH(SPEC, keys[i]), sl_json_get(now, keys[i]),
                           sl_json_get(old, keys[i]));
}

int sl_review_fluxjob_validate(struct sl_review_call *c) {
    yyjson_val *spec = sl_json_get(c->object, "spec");

    if (c->op == SL_REVIEW_UPDATE && sl_json_same(spec, sl_json_get(c->old, "spec")))
        return 0;
    if (c->op == SL_REVIEW_UPDATE && has_started(c->old))
        keep_spec(c);
    check_type(c);
    check_not_negative(c, "duration");
    check_not_negative(c, "nodes");
    adm_rule_jobspec(c, SL_PATH(SPEC, "jobspec"), sl_json_view(sl_json_get(spec, "jobspec")));
    if (c->errs.n == 0)
        warn_of_queue(c);
    return 0;
}
