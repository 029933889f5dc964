/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of batch, apps and the smaller groups. */
#include <string.h>

#include "cluster/apiserver/table/cells.h"
#include "lib/json/json.h"

/* Names, images and selector of what has a pod template. */
#define TEMPLATE_CELLS(prefix_, spec_, selector_, empty_)                                          \
    static void prefix_##_names(yyjson_val *o, sl_time now, struct sl_jw *out) {                   \
        (void)now;                                                                                 \
        api_cell_containers(sl_json_at(o, spec_), "name", out);                                    \
    }                                                                                              \
    static void prefix_##_images(yyjson_val *o, sl_time now, struct sl_jw *out) {                  \
        (void)now;                                                                                 \
        api_cell_containers(sl_json_at(o, spec_), "image", out);                                   \
    }                                                                                              \
    static void prefix_##_selector(yyjson_val *o, sl_time now, struct sl_jw *out) {                \
        (void)now;                                                                                 \
        api_cell_selector(sl_json_at(o, selector_), empty_, out);                                  \
    }
#define TEMPLATE_COLUMNS(prefix_)                                                                  \
    SL_COLUMN_WIDE("Containers", "string", "Names of the containers.", prefix_##_names),           \
        SL_COLUMN_WIDE("Images", "string", "Images of the containers.", prefix_##_images)
#define SELECTOR_COLUMN(prefix_)                                                                   \
    SL_COLUMN_WIDE("Selector", "string", "Selector of the pods.", prefix_##_selector)

TEMPLATE_CELLS(set, "spec.template.spec", "spec.selector", "<none>")

/* ---- jobs ---- */

static void job_status(yyjson_val *o, sl_time now, struct sl_jw *out) {
    /* In this order; what is being deleted comes between. */
    static const char *const ended[] = {"Complete", "Failed"};
    static const char *const others[] = {"Suspended", "FailureTarget", "SuccessCriteriaMet"};
    const char *word = "Running";

    (void)now;
    for (size_t i = SL_LEN(others); i-- > 0;)
        if (sl_json_condition(o, others[i]))
            word = others[i];
    if (sl_json_at(o, "metadata.deletionTimestamp"))
        word = "Terminating";
    for (size_t i = SL_LEN(ended); i-- > 0;)
        if (sl_json_condition(o, ended[i]))
            word = ended[i];
    sl_jw_str(out, NULL, word);
}

static void job_completions(yyjson_val *o, sl_time now, struct sl_jw *out) {
    int64_t want = sl_json_int(o, "spec.completions", -1),
            wide = sl_json_int(o, "spec.parallelism", 0);

    (void)now;
    long long done = sl_json_int(o, "status.succeeded", 0), of = want < 0 ? 1 : want;
    if (want < 0 && wide > 1)
        sl_jw_strf(out, NULL, "%lld/%lld of %lld", done, of, (long long)wide);
    else
        sl_jw_strf(out, NULL, "%lld/%lld", done, of);
}

static void job_duration(yyjson_val *o, sl_time now, struct sl_jw *out) {
    sl_time from, to = now;
    char text[SL_AGE_TEXT] = "";

    if (sl_stamp_parse(sl_json_str(o, "status.startTime"), &from)) {
        (void)sl_stamp_parse(sl_json_str(o, "status.completionTime"), &to);
        (void)api_age(to - from, text);
    }
    sl_jw_str(out, NULL, text);
}

static const struct api_column jobs[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Status", "string", "Status of the Job.", job_status),
    SL_COLUMN("Completions", "string", "Number of completions, of those required.",
              job_completions),
    SL_COLUMN("Duration", "string", "Run time of the Job.", job_duration),
    SL_COLUMN_AGE,
    TEMPLATE_COLUMNS(set),
    SELECTOR_COLUMN(set),
};

/* ---- cron jobs ---- */

TEMPLATE_CELLS(cron, "spec.jobTemplate.spec.template.spec", "spec.jobTemplate.spec.selector",
               "<none>")
SL_STR_CELL(cron_schedule, "spec.schedule", "")
SL_STR_CELL(cron_zone, "spec.timeZone", "<none>")

static void cron_suspend(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *v = sl_json_at(o, "spec.suspend");

    (void)now;
    sl_jw_str(out, NULL, !v ? "<unset>" : yyjson_get_bool(v) ? "True" : "False");
}
static void cron_active(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    sl_jw_uint(out, NULL, sl_json_size(sl_json_at(o, "status.active")));
}
static void cron_last(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *last = sl_json_at(o, "status.lastScheduleTime");

    if (last)
        api_cell_age(last, now, out);
    else
        sl_jw_str(out, NULL, "<none>");
}

static const struct api_column cron_jobs[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Schedule", "string", "Schedule in cron format.", cron_schedule),
    SL_COLUMN("Timezone", "string", "Time zone of the schedule.", cron_zone),
    SL_COLUMN("Suspend", "boolean", "Whether the CronJob is suspended.", cron_suspend),
    SL_COLUMN("Active", "integer", "Number of running Jobs.", cron_active),
    SL_COLUMN("Last Schedule", "string", "Time of the last scheduled Job.", cron_last),
    SL_COLUMN_AGE,
    TEMPLATE_COLUMNS(cron),
    SELECTOR_COLUMN(cron),
};

/* ---- apps ---- */

SL_INT_CELL(set_wanted, "spec.replicas")
SL_INT_CELL(set_current, "status.replicas")
SL_INT_CELL(set_ready, "status.readyReplicas")
SL_INT_CELL(set_updated, "status.updatedReplicas")
SL_INT_CELL(set_available, "status.availableReplicas")

static void set_ready_of(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    sl_jw_strf(out, NULL, "%lld/%lld", (long long)sl_json_int(o, "status.readyReplicas", 0),
               (long long)sl_json_int(o, "spec.replicas", 0));
}

TEMPLATE_CELLS(deployment, "spec.template.spec", "spec.selector", "")

static const struct api_column deployments[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Ready", "string", "Number of ready pods, of those desired.", set_ready_of),
    SL_COLUMN("Up-to-date", "string", "Number of pods of the latest template.", set_updated),
    SL_COLUMN("Available", "string", "Number of available pods.", set_available),
    SL_COLUMN_AGE,
    TEMPLATE_COLUMNS(deployment),
    SELECTOR_COLUMN(deployment),
};

static const struct api_column replica_sets[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Desired", "integer", "Desired number of pods.", set_wanted),
    SL_COLUMN("Current", "integer", "Number of pods.", set_current),
    SL_COLUMN("Ready", "integer", "Number of ready pods.", set_ready),
    SL_COLUMN_AGE,
    TEMPLATE_COLUMNS(set),
    SELECTOR_COLUMN(set),
};

static const struct api_column stateful_sets[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Ready", "string", "Number of ready pods, of those desired.", set_ready_of),
    SL_COLUMN_AGE,
    TEMPLATE_COLUMNS(set),
};

SL_INT_CELL(daemon_wanted, "status.desiredNumberScheduled")
SL_INT_CELL(daemon_current, "status.currentNumberScheduled")
SL_INT_CELL(daemon_ready, "status.numberReady")
SL_INT_CELL(daemon_updated, "status.updatedNumberScheduled")
SL_INT_CELL(daemon_available, "status.numberAvailable")
static void daemon_nodes(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    api_cell_labels(sl_json_at(o, "spec.template.spec.nodeSelector"), out);
}
static const struct api_column daemon_sets[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Desired", "integer", "Number of nodes that should run a pod.", daemon_wanted),
    SL_COLUMN("Current", "integer", "Number of those that run one.", daemon_current),
    SL_COLUMN("Ready", "integer", "Number of those whose pod is ready.", daemon_ready),
    SL_COLUMN("Up-to-date", "integer", "Number of those whose pod is of the latest template.",
              daemon_updated),
    SL_COLUMN("Available", "integer", "Number of those whose pod is available.", daemon_available),
    SL_COLUMN("Node Selector", "string", "Labels of the nodes that it runs on.", daemon_nodes),
    SL_COLUMN_AGE,
    TEMPLATE_COLUMNS(set),
    SELECTOR_COLUMN(set),
};

static void controller_selector(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    api_cell_labels(sl_json_at(o, "spec.selector"), out);
}
static const struct api_column replication_controllers[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Desired", "integer", "Desired number of pods.", set_wanted),
    SL_COLUMN("Current", "integer", "Number of pods.", set_current),
    SL_COLUMN("Ready", "integer", "Number of ready pods.", set_ready),
    SL_COLUMN_AGE,
    TEMPLATE_COLUMNS(set),
    SELECTOR_COLUMN(controller),
};

static void revision_owner(yyjson_val *o, sl_time now, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    size_t i, n;
    yyjson_val *r;

    (void)now;
    yyjson_arr_foreach (sl_json_at(o, "metadata.ownerReferences"), i, n, r) {
        const char *version = sl_json_str(r, "apiVersion"), *slash = strchr(version, '/');
        if (!sl_json_bool(r, "controller", false) || text.len)
            continue;
        for (const char *p = sl_json_str(r, "kind"); *p; p++)
            sl_buf_putc(&text, (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p));
        if (slash) {
            sl_buf_putc(&text, '.');
            sl_buf_add(&text, version, (size_t)(slash - version));
        }
        sl_buf_printf(&text, "/%s", sl_json_str(r, "name"));
    }
    sl_jw_str(out, NULL, text.len ? sl_buf_str(&text) : "<none>");
}
SL_INT_CELL(revision_number, "revision")
static const struct api_column revisions[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Controller", "string", "Owner of the revision.", revision_owner),
    SL_COLUMN("Revision", "string", "Revision number.", revision_number),
    SL_COLUMN_AGE,
};

/* ---- the smaller groups ---- */

SL_STR_CELL(lease_holder, "spec.holderIdentity", "")
static const struct api_column leases[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Holder", "string", "Holder of the lease.", lease_holder),
    SL_COLUMN_AGE,
};

SL_INT_CELL(priority_value, "value")
static void priority_default(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    sl_jw_bool(out, NULL, sl_json_bool(o, "globalDefault", false));
}
SL_STR_CELL(priority_preempts, "preemptionPolicy", "")
static const struct api_column priorities[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Value", "integer", "The priority of pods of the class.", priority_value),
    SL_COLUMN("Global-Default", "boolean", "Whether it is the default of pods without a class.",
              priority_default),
    SL_COLUMN_AGE,
    SL_COLUMN("PreemptionPolicy", "string", "Whether its pods may preempt others.",
              priority_preempts),
};

SL_STR_CELL(runtime_handler, "handler", "")
static const struct api_column runtimes[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Handler", "string", "Handler of the container runtime.", runtime_handler),
    SL_COLUMN_AGE,
};

static void binding_role(yyjson_val *o, sl_time now, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);

    (void)now;
    sl_buf_printf(&text, "%s/%s", sl_json_str(o, "roleRef.kind"), sl_json_str(o, "roleRef.name"));
    sl_jw_str(out, NULL, sl_buf_str(&text));
}
static void subjects(yyjson_val *o, const char *kind, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    size_t i, n;
    yyjson_val *s;

    yyjson_arr_foreach (sl_json_get(o, "subjects"), i, n, s) {
        const char *ns = sl_json_str(s, "namespace");
        bool account = strcmp(kind, "ServiceAccount") == 0;
        if (strcmp(sl_json_str(s, "kind"), kind) == 0)
            sl_buf_printf(&text, "%s%s%s%s", text.len ? ", " : "", account ? ns : "",
                          account ? "/" : "", sl_json_str(s, "name"));
    }
    sl_jw_str(out, NULL, sl_buf_str(&text));
}
static void binding_users(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    subjects(o, "User", out);
}
static void binding_groups(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    subjects(o, "Group", out);
}
static void binding_accounts(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    subjects(o, "ServiceAccount", out);
}
static const struct api_column bindings[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Role", "string", "The granted role.", binding_role),
    SL_COLUMN_AGE,
    SL_COLUMN_WIDE("Users", "string", "Users.", binding_users),
    SL_COLUMN_WIDE("Groups", "string", "Groups.", binding_groups),
    SL_COLUMN_WIDE("ServiceAccounts", "string", "Service accounts.", binding_accounts),
};

static void webhook_count(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    sl_jw_uint(out, NULL, sl_json_size(sl_json_get(o, "webhooks")));
}
static const struct api_column webhooks[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Webhooks", "integer", "Number of webhooks.", webhook_count),
    SL_COLUMN_AGE,
};

const struct api_kind_columns api_columns_work[] = {
    SL_COLUMNS("Job", jobs),
    SL_COLUMNS("CronJob", cron_jobs),
    SL_COLUMNS("Deployment", deployments),
    SL_COLUMNS("ReplicaSet", replica_sets),
    SL_COLUMNS("StatefulSet", stateful_sets),
    SL_COLUMNS("DaemonSet", daemon_sets),
    SL_COLUMNS("ReplicationController", replication_controllers),
    SL_COLUMNS("ControllerRevision", revisions),
    SL_COLUMNS("Lease", leases),
    SL_COLUMNS("PriorityClass", priorities),
    SL_COLUMNS("RuntimeClass", runtimes),
    SL_COLUMNS("RoleBinding", bindings),
    SL_COLUMNS("ClusterRoleBinding", bindings),
    SL_COLUMNS("MutatingWebhookConfiguration", webhooks),
    SL_COLUMNS("ValidatingWebhookConfiguration", webhooks),
    {NULL, {NULL, 0}},
};
