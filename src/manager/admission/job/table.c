/* SPDX-License-Identifier: Apache-2.0 */
/* Which kinds of jobs are reviewed, by the paths that webhooks name. */
#include <string.h>

#include "manager/admission/job/kind.h"

/* batch/v1 Jobs have a controller of their own, and no row among the others. */
static const struct sl_jobkind batch = {.framework = "batch/job",
                                        .group = "batch",
                                        .version = "v1",
                                        .kind = "Job",
                                        .suspend = "spec.suspend",
                                        .managed_by = "spec.managedBy",
                                        .controller = "kubernetes.io/job-controller",
                                        .elastic = true};

/* Kueue lets JAXJobs and SparkApplications have no prebuilt Workload. */
static const struct adm_kind kinds[] = {
    {"batch/job", .prebuilt = true, .mutate = adm_batch_mutate, .validate = adm_batch_validate},
    {"jobset.x-k8s.io/jobset", .prebuilt = true, .groups = true},
    {"kubeflow.org/mpijob", .prebuilt = true, .groups = true, .sorted = true,
     .mutate = adm_mpijob_mutate},
    {"kubeflow.org/pytorchjob", .prebuilt = true, .update_alone = true},
    {"kubeflow.org/tfjob", .prebuilt = true, .update_alone = true},
    {"kubeflow.org/paddlejob", .prebuilt = true, .update_alone = true},
    {"kubeflow.org/xgboostjob", .prebuilt = true, .update_alone = true},
    {"kubeflow.org/jaxjob", .update_alone = true},
    {"trainer.kubeflow.org/trainjob", .prebuilt = true, .mutate = adm_trainjob_mutate,
     .place = adm_trainjob_place,
     .advice = ". Adjust either the \"TrainJob.spec.runtimePatches\" or the "
               "\"TrainingRuntime.Template\" annotations for the corresponding Job"},
    {"ray.io/raycluster", .prebuilt = true, .managed_only = true, .groups = true,
     .mutate = adm_ray_mutate, .check = adm_raycluster_check},
    {"ray.io/rayjob", .prebuilt = true, .managed_only = true, .groups = true,
     .check = adm_rayjob_check},
    {"ray.io/rayservice", .prebuilt = true, .managed_only = true, .groups = true,
     .mutate = adm_ray_mutate, .check = adm_rayservice_check, .place = adm_rayservice_place},
    {"workload.codeflare.dev/appwrapper", .prebuilt = true, .update_alone = true,
     .no_topology = true},
    {"sparkoperator.k8s.io/sparkapplication", .managed_only = true, .strict = true,
     .check = adm_spark_check, .place = adm_spark_place},
};

/* Kinds of somebody else's. */
static const struct adm_kind others = {.prebuilt = true, .groups = true};

/* Does the text begin with the word, with dashes for its dots and in lower case? */
static const char *after(const char *text, const char *word) {
    for (; *word; word++, text++) {
        char c = *word == '.' ? '-' : *word >= 'A' && *word <= 'Z' ? (char)(*word + 32) : *word;
        if (*text != c)
            return NULL;
    }
    return text;
}

/* "GROUP-VERSION-KIND". */
static bool names(const char *object, const struct sl_jobkind *row) {
    const char *s = after(object, row->group);
    s = s && *s == '-' ? after(s + 1, row->version) : NULL;
    s = s && *s == '-' ? after(s + 1, row->kind) : NULL;
    return s && !*s;
}

static const struct sl_jobkind *find_row(const struct sl_jobkind *rows, uint32_t n,
                                         const char *object) {
    for (uint32_t i = 0; i < n; i++)
        if (names(object, &rows[i]))
            return &rows[i];
    return NULL;
}

bool adm_kind_find(const struct sl_review_view *view, const char *object,
                   const struct sl_jobkind **ret_row, const struct adm_kind **ret_kind) {
    const struct sl_jobkinds *in = sl_jobkinds_built_in();
    const struct sl_jobkind *row = names(object, &batch) ? &batch : NULL;

    row = row ? row : find_row(in->v, in->n, object);
    *ret_kind = &others;
    for (size_t i = 0; row && i < SL_LEN(kinds); i++)
        if (strcmp(kinds[i].framework, row->framework) == 0)
            *ret_kind = &kinds[i];
    if (!row && view && view->kinds)
        row = find_row(view->kinds->v, view->kinds->n, object);
    *ret_row = row;
    return row;
}
