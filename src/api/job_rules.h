/*
 * Admission rules that all job kinds share: queue name, prebuilt Workload, maximum execution time,
 * priority class, elastic jobs; and the topology annotations of a pod template.
 */
#ifndef SL_API_JOB_RULES_H
#define SL_API_JOB_RULES_H

#include "api/call.h"

#define SL_QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define SL_PRIORITY_LABEL "kueue.x-k8s.io/priority-class"
#define SL_MAX_EXEC_LABEL "kueue.x-k8s.io/max-exec-time-seconds"
#define SL_PREBUILT_KEY "kueue.x-k8s.io/prebuilt-workload-name"
#define SL_ELASTIC_KEY "kueue.x-k8s.io/elastic-job"

/* What the rules have to know of a kind and of the object under review. */
struct sl_job_facts {
    const char *gvk; /* "batch/v1, Kind=Job" */
    bool prebuilt;   /* may use a prebuilt Workload */
    bool elastic;    /* may be elastic */
    bool suspended, was_suspended;
};

/* Of the object as it is to be. On an update, the two take their turns with the kind's own rules.
 */
void sl_rule_job_create(struct sl_review_call *c, const struct sl_job_facts *f);
void sl_rule_job_update(struct sl_review_call *c, const struct sl_job_facts *f);

/* Is the object marked as elastic, and the gate on? */
bool sl_job_elastic(const struct sl_review_call *c, yyjson_val *object);
/* The controller among the owners; false if there is none. */
bool sl_job_owner(yyjson_val *object, struct sl_owner_ref *ret);

/* ---- for handlers that mutate ---- */

/* The labels queue-name and priority-class of those who have no owner that brings its own. */
void sl_job_default_labels(struct sl_review_call *c);
/* Has it to be suspended until it is admitted, with those labels? */
bool sl_job_waits(const struct sl_review_call *c);

/* ---- numbers and truths as Go's strconv reads them; otherwise *why says so in its words ---- */

bool sl_go_int(struct sl_review_call *c, const char *s, int64_t *ret, const char **why);
bool sl_go_bool(struct sl_review_call *c, const char *s, bool *ret, const char **why);

/* ---- topology (topology_rules.c) ---- */

#define SL_REQUIRED_TOPOLOGY "kueue.x-k8s.io/podset-required-topology"
#define SL_PREFERRED_TOPOLOGY "kueue.x-k8s.io/podset-preferred-topology"

/* The annotations of a pod template, whose metadata stands at 'meta'. Returns whether nothing is
 * wrong. */
bool sl_rule_topology(struct sl_review_call *c, const struct sl_path *meta,
                      yyjson_val *annotations);
/* Slices may not be larger than the podset. After sl_rule_topology. */
void sl_rule_topology_size(struct sl_review_call *c, const struct sl_path *meta,
                           yyjson_val *annotations, int64_t pods);

#endif
