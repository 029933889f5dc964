/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission rules that all job kinds share: queue name, prebuilt Workload, maximum execution time,
 * priority class, elastic jobs; and the topology annotations of a pod template. Pods and serving
 * kinds (Deployment, StatefulSet, LeaderWorkerSet) share some of them one by one.
 */
#ifndef SL_MANAGER_ADMISSION_JOB_RULES_H
#define SL_MANAGER_ADMISSION_JOB_RULES_H

#include "manager/admission/call.h"

#define SL_QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define SL_PRIORITY_LABEL "kueue.x-k8s.io/priority-class"
#define SL_MAX_EXEC_LABEL "kueue.x-k8s.io/max-exec-time-seconds"
#define SL_PREBUILT_KEY "kueue.x-k8s.io/prebuilt-workload-name"
#define SL_ELASTIC_KEY "kueue.x-k8s.io/elastic-job"
#define SL_MANAGED_KEY "kueue.x-k8s.io/managed" /* a label "true", and a finalizer */
#define SL_PARENT_KEY "kueue.x-k8s.io/pod-suspending-parent"
#define SL_POD_GROUP_KEY "kueue.x-k8s.io/pod-group-name"
#define SL_INDEX_OFFSET_KEY "kueue.x-k8s.io/pod-index-offset"
#define SL_MULTIKUEUE "kueue.x-k8s.io/multikueue"

/* What the rules have to know of a kind and of the object under review. */
struct adm_job_facts {
    const char *gvk; /* "batch/v1, Kind=Job" */
    bool prebuilt;   /* may use a prebuilt Workload */
    bool elastic;    /* may be elastic */
    bool suspended, was_suspended;
};

/* Of the desired object. On an update, the two alternate with the kind's own rules. */
void adm_rule_job_create(struct sl_review_call *c, const struct adm_job_facts *f);
void adm_rule_job_update(struct sl_review_call *c, const struct adm_job_facts *f);

/* ---- one by one ---- */

void adm_rule_queue_name(struct sl_review_call *c); /* its syntax */
void adm_rule_not_elastic(struct sl_review_call *c, const char *gvk);
void adm_rule_priority_update(struct sl_review_call *c, bool suspended);
/* SL_FIELD_IMMUTABLE, if the two texts differ. NULL is as good as "". */
void adm_rule_frozen(struct sl_review_call *c, const struct sl_path *at, const char *now,
                     const char *old);
/* Names that may be in an annotation or, without that, in a label of the same key: a prebuilt
 * Workload, a pod group. NULL: in neither. */
const char *adm_job_identifier(const struct sl_review_call *c, yyjson_val *object, const char *key);
/* Where the name is: metadata.annotations or metadata.labels. */
const char *adm_job_identifier_map(const struct sl_review_call *c, yyjson_val *object,
                                   const char *key);

/* Is the object marked as elastic, and the gate on? */
bool adm_job_elastic(const struct sl_review_call *c, yyjson_val *object);
/* The controller among the owners; false if there is none. */
bool adm_job_owner(yyjson_val *object, struct sl_review_owner_ref *ret);
/* Is its controller of a kind that brings its own queue? */
bool adm_job_owner_enabled(const struct sl_review_call *c);
/* Is there, above it, a job that is managed? */
bool adm_job_owner_managed(const struct sl_review_call *c);

/* ---- for handlers that mutate ---- */

#define SL_DEFAULT_NAME "default"

/* The labels queue-name and priority-class of objects without an owner that has its own. */
void adm_job_default_labels(struct sl_review_call *c);
void adm_job_default_class(struct sl_review_call *c); /* the second alone */
/* Is there an open LocalQueue of that name, and is it not queued on the resource graph? */
bool adm_job_default_queue(const struct sl_review_call *c);
/* The queue that it names with those labels; NULL: none. */
const char *adm_job_queue(const struct sl_review_call *c);
/* Has it to be suspended until it is admitted, with those labels? */
bool adm_job_waits(const struct sl_review_call *c);

/* ---- numbers and booleans as Go's strconv parses them; otherwise *why has its message ---- */

bool adm_go_int(struct sl_review_call *c, const char *s, int64_t *ret, const char **why);
bool adm_go_bool(struct sl_review_call *c, const char *s, bool *ret, const char **why);

/* ---- topology (topology_rules.c) ---- */

#define SL_REQUIRED_TOPOLOGY "kueue.x-k8s.io/podset-required-topology"
#define SL_PREFERRED_TOPOLOGY "kueue.x-k8s.io/podset-preferred-topology"
#define SL_PODSET_GROUP "kueue.x-k8s.io/podset-group-name"

struct adm_podset {
    const char *at; /* the path of the metadata of its template */
    yyjson_val *annotations;
    int64_t count;
};

/* The annotations of a pod template, whose metadata is at 'meta'. Returns whether they are
 * valid. */
bool adm_rule_topology(struct sl_review_call *c, const struct sl_path *meta,
                       yyjson_val *annotations);
/* Slices may not be larger than the podset. After adm_rule_topology. */
void adm_rule_topology_size(struct sl_review_call *c, const struct sl_path *meta,
                            yyjson_val *annotations, int64_t pods);
/* Podsets of the same group name: there are two, one of them is a single pod, and both request the
 * same level. */
void adm_rule_topology_groups(struct sl_review_call *c, const struct adm_podset *v, size_t n);

#endif
