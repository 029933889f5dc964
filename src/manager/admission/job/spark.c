/* SPDX-License-Identifier: Apache-2.0 */
/* SparkApplications: driver and executors are pods of the cluster, in a number that is known. */
#include <string.h>

#include "manager/admission/job/kind.h"

/* Annotations stand beside the other fields of Spark, not in the metadata of a template. */
const char *adm_spark_place(struct sl_review_call *c, const struct sl_jobkind_pods *p) {
    return sl_arena_printf(c->arena, "spec.%s", p->name);
}

bool adm_spark_check(struct sl_review_call *c) {
    const char *mode = sl_json_str(c->object, "spec.mode");

    if (strcmp(mode, "cluster") != 0)
        sl_field_invalid(&c->errs, SL_PATH(NULL, "spec.mode"), sl_field_value_str(mode),
                         "only Cluster mode is supported for a kueue managed job");
    if (sl_json_bool(c->object, "spec.dynamicAllocation.enabled", false) &&
        !adm_job_elastic(c, c->object))
        sl_field_invalid(&c->errs, SL_PATH(NULL, "spec.dynamicAllocation.enabled"),
                         sl_field_value_bool(true),
                         "a kueue managed job can use dynamicAllocation only when the "
                         "ElasticJobsViaWorkloadSlices feature gate is on and the job is an "
                         "elastic job");
    return true;
}
