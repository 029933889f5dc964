/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Managed frameworks, namespaces, and retention of workloads.
 */
#include <string.h>

#include "manager/config/load.h"

#define NAME_LABEL "kubernetes.io/metadata.name"

/* ---- frameworks ---- */

static const struct {
    const char *name, *kind;
} frameworks[SL_FW_COUNT] = {
    [SL_FW_JOB] = {"batch/job", "Job.v1.batch"},
    [SL_FW_POD] = {"pod", "Pod.v1."},
    [SL_FW_DEPLOYMENT] = {"deployment", "Deployment.v1.apps"},
    [SL_FW_STATEFULSET] = {"statefulset", "StatefulSet.v1.apps"},
    [SL_FW_LEADERWORKERSET] = {"leaderworkerset.x-k8s.io/leaderworkerset",
                               "LeaderWorkerSet.v1.leaderworkerset.x-k8s.io"},
    [SL_FW_JOBSET] = {"jobset.x-k8s.io/jobset", "JobSet.v1alpha2.jobset.x-k8s.io"},
    [SL_FW_MPIJOB] = {"kubeflow.org/mpijob", "MPIJob.v2beta1.kubeflow.org"},
    [SL_FW_PYTORCHJOB] = {"kubeflow.org/pytorchjob", "PyTorchJob.v1.kubeflow.org"},
    [SL_FW_TFJOB] = {"kubeflow.org/tfjob", "TFJob.v1.kubeflow.org"},
    [SL_FW_PADDLEJOB] = {"kubeflow.org/paddlejob", "PaddleJob.v1.kubeflow.org"},
    [SL_FW_XGBOOSTJOB] = {"kubeflow.org/xgboostjob", "XGBoostJob.v1.kubeflow.org"},
    [SL_FW_JAXJOB] = {"kubeflow.org/jaxjob", "JAXJob.v1.kubeflow.org"},
    [SL_FW_TRAINJOB] = {"trainer.kubeflow.org/trainjob", "TrainJob.v1alpha1.trainer.kubeflow.org"},
    [SL_FW_RAYCLUSTER] = {"ray.io/raycluster", "RayCluster.v1.ray.io"},
    [SL_FW_RAYJOB] = {"ray.io/rayjob", "RayJob.v1.ray.io"},
    [SL_FW_RAYSERVICE] = {"ray.io/rayservice", "RayService.v1.ray.io"},
    [SL_FW_APPWRAPPER] = {"workload.codeflare.dev/appwrapper",
                          "AppWrapper.v1beta2.workload.codeflare.dev"},
    [SL_FW_SPARKAPPLICATION] = {"sparkoperator.k8s.io/sparkapplication",
                                "SparkApplication.v1beta2.sparkoperator.k8s.io"},
};

const char *sl_framework_name(enum sl_framework f) {
    return f < SL_FW_COUNT ? frameworks[f].name : "?";
}

const char *sl_framework_kind(enum sl_framework f) {
    return f < SL_FW_COUNT ? frameworks[f].kind : "?";
}

enum sl_framework sl_framework_find(const char *name) {
    enum sl_framework f = 0;

    while (f < SL_FW_COUNT && strcmp(frameworks[f].name, name) != 0)
        f++;
    return f;
}

static const char *nearest(const char *name) {
    const char *names[SL_FW_COUNT];

    for (enum sl_framework f = 0; f < SL_FW_COUNT; f++)
        names[f] = frameworks[f].name;
    return sl_read_nearest(name, names, SL_FW_COUNT);
}

static void built_in(struct sl_doc_fields *f, struct sl_settings *s) {
    uint32_t n, taken = 0;
    const struct sl_doc_node *items = sl_doc_field_list(f, "frameworks", SL_CONFIG_MAX_ITEMS, &n);

    for (uint32_t i = 0; i < n; i++) {
        struct config_item_name key = config_item_name("frameworks", i, "");
        uint32_t n_wrong = f->rd->n_wrong;
        const char *name = sl_read_str(f->rd, &items[i], key.s);
        enum sl_framework fw = sl_framework_find(name);

        if (f->rd->n_wrong > n_wrong)
            continue;
        if (fw == SL_FW_COUNT) {
            const char *near = nearest(name);
            sl_read_wrong(f->rd, items[i].line, key.s, "Unsupported value: \"%.60s\"%s%s%s", name,
                          near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
        } else if (s->framework[fw]) {
            config_warn_default(f, items[i].line, key.s, "it counts once",
                                "Duplicate value: \"%s\"", name);
        } else {
            s->framework[fw] = true;
            taken++;
        }
    }
    if (taken == 0)
        s->framework[SL_FW_JOB] = true;
}

static bool listed(const struct sl_settings *s, const char *const *v, uint32_t n,
                   const char *kind) {
    for (enum sl_framework f = 0; f < SL_FW_COUNT; f++)
        if (s->framework[f] && strcmp(frameworks[f].kind, kind) == 0)
            return true;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(v[i], kind) == 0)
            return true;
    return false;
}

/* Kinds that are queued elsewhere. */
static struct sl_strs external(struct sl_doc_fields *f, const struct sl_settings *s) {
    uint32_t n, kept = 0;
    const struct sl_doc_node *items =
        sl_doc_field_list(f, "externalFrameworks", SL_CONFIG_MAX_ITEMS, &n);
    const char **v = n > 0 ? sl_arena_alloc(f->rd->arena, n * sizeof *v) : NULL;

    for (uint32_t i = 0; i < n; i++) {
        struct config_item_name key = config_item_name("externalFrameworks", i, "");
        uint32_t n_wrong = f->rd->n_wrong;
        const char *kind = sl_read_str(f->rd, &items[i], key.s);

        if (f->rd->n_wrong > n_wrong)
            continue;
        if (!config_is_kind_arg(kind))
            sl_read_wrong(f->rd, items[i].line, key.s,
                          "must be format, 'Kind.version.group.com', got \"%.60s\"", kind);
        else if (listed(s, v, kept, kind))
            sl_read_wrong(f->rd, items[i].line, key.s, "Duplicate value: \"%.60s\"", kind);
        else
            v[kept++] = kind;
    }
    return (struct sl_strs){v, kept};
}

static void integrations(struct sl_doc_fields *top, struct sl_settings *s) {
    const struct sl_doc_node *pods;
    struct sl_doc_fields f;

    config_section(&f, top, "integrations");
    built_in(&f, s);
    s->external_frameworks = external(&f, s);
    s->label_keys_to_copy.v =
        sl_doc_field_strs(&f, "labelKeysToCopy", SL_CONFIG_MAX_ITEMS, &s->label_keys_to_copy.n);
    pods = sl_doc_field(&f, "podOptions"); /* v1beta1's; Kueue ignores it since v0.14 */
    if (pods)
        sl_read_note(f.rd, pods->line, "podOptions",
                     "has no effect; managedJobsNamespaceSelector decides");
    sl_doc_fields_close(&f);
}

/* ---- namespaces ---- */

static struct sl_label_rule none_of(struct sl_arena *a, const char *const *names, uint32_t n) {
    const char **v = sl_arena_alloc(a, n * sizeof *v);

    memcpy(v, names, n * sizeof *v);
    return (struct sl_label_rule){
        .key = NAME_LABEL, .op = SL_OP_NOT_IN, .values = v, .n_values = n};
}

/* A selector that takes the system's namespace or our own would stop the cluster's own pods or us;
 * Kueue refuses to start with it, we leave them out. */
static void namespaces(struct sl_doc_fields *top, struct sl_settings *s) {
    static const char key[] = "managedJobsNamespaceSelector";
    const char *const protected[] = {"kube-system", s->ns};
    const char *hit[SL_LEN(protected)];
    struct sl_label_rule *rules = sl_arena_alloc(&s->arena, sizeof *rules);
    struct sl_selector sel;
    uint32_t n = 0;

    rules[0] = none_of(&s->arena, protected, SL_LEN(protected));
    sel = config_selector_or(top, key, (struct sl_selector){.v = rules, .n = 1});
    for (size_t i = 0; i < SL_LEN(protected); i++) {
        struct sl_label name = {NAME_LABEL, protected[i]};
        if (!sl_selector_matches(&sel, &(struct sl_labels){&name, 1}))
            continue;
        hit[n++] = protected[i];
        config_warn_default(top, sl_doc_field(top, key)->line, key, "that one is left out",
                            "should not match the \"%.60s\" namespace", protected[i]);
    }
    if (n > 0) {
        rules = sl_arena_alloc(&s->arena, (sel.n + 1) * sizeof *rules);
        if (sel.n > 0)
            memcpy(rules, sel.v, sel.n * sizeof *rules);
        rules[sel.n] = none_of(&s->arena, hit, n);
        sel = (struct sl_selector){.v = rules, .n = sel.n + 1};
    }
    s->managed_namespaces = sel;
}

static void retention(struct sl_doc_fields *top, struct sl_settings *s) {
    struct sl_doc_fields f, w;

    config_section(&f, top, "objectRetentionPolicies");
    config_section(&w, &f, "workloads");
    s->keep_finished = config_span_or(&w, "afterFinished", SL_TIME_NEVER);
    s->drop_deactivated = config_span_or(&w, "afterDeactivatedByKueue", SL_TIME_NEVER);
    sl_doc_fields_close(&w);
    sl_doc_fields_close(&f);
}

void config_jobs(struct sl_doc_fields *top, struct sl_settings *s) {
    s->manage_without_queue = sl_doc_field_bool(top, "manageJobsWithoutQueueName", false);
    integrations(top, s);
    namespaces(top, s);
    retention(top, s);
}
