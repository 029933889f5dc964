/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission of jobs: one mutating and one validating review for all kinds, by the row of a kind
 * (manager/jobkinds), and a file where a kind has rules of its own. Rules and messages are Kueue's.
 *
 * A value of an unexpected type reads as absent, as everywhere. But nothing is written beside or in
 * place of one, where it would hide what is wrong: such an object is refused with 400, as one that
 * cannot be decoded.
 */
#ifndef SL_MANAGER_ADMISSION_JOB_KIND_H
#define SL_MANAGER_ADMISSION_JOB_KIND_H

#include "manager/admission/job_rules.h"
#include "manager/jobkinds/jobkinds.h"

/* What the row of a kind does not say. */
struct adm_kind {
    const char *framework;
    bool prebuilt;     /* may use a prebuilt Workload */
    bool managed_only; /* updates are reviewed only of what is managed */
    bool update_alone; /* an update is not checked by the rules of a creation as well */
    bool groups;       /* podsets may be placed together */
    bool sorted;       /* errors of a creation are sorted by field */
    bool no_topology;  /* topology annotations are not checked */
    bool strict;       /* its podsets are made of amounts that may be malformed */
    /* What else is entered on creation. Returns 0, or what adm_call_refuse returned. */
    int (*mutate)(struct sl_review_call *c);
    /* Rules of its own for what is managed. False: those of all jobs do not apply to it. */
    bool (*check)(struct sl_review_call *c);
    /* Where the metadata of the templates is, as messages say; NULL: where the row says. */
    const char *(*place)(struct sl_review_call *c, const struct sl_jobkind_pods *p);
    const char *advice;    /* ends messages about it */
    sl_review_fn validate; /* in place of the validating review of all kinds */
};

/* The kind of a path, "jobset-x-k8s-io-v1alpha2-jobset" without its prefix: of those that are built
 * in, then of those in the view, which may be NULL. False: there is none. */
bool adm_kind_find(const struct sl_review_view *view, const char *object,
                   const struct sl_jobkind **ret_row, const struct adm_kind **ret_kind);

/* The reviews of all kinds; c->row and c->rules are set. */
int adm_kind_mutate(struct sl_review_call *c);
int adm_kind_validate(struct sl_review_call *c);

/* ---- for the files of the kinds ---- */

struct adm_job_facts adm_kind_facts(const struct sl_review_call *c);
/* Has it a queue name, or are jobs without one managed? */
bool adm_kind_managed(const struct sl_review_call *c);
/* Adds the gate of elastic jobs to the pod template at a path below root, which is at 'at'. Returns
 * 0, or what adm_call_refuse returned. */
int adm_kind_gate(struct sl_review_call *c, yyjson_mut_val *root, const struct sl_path *at,
                  const char *template);

int adm_batch_mutate(struct sl_review_call *c); /* batch.c */
int adm_batch_validate(struct sl_review_call *c);
int adm_mpijob_mutate(struct sl_review_call *c);   /* mpijob.c */
int adm_trainjob_mutate(struct sl_review_call *c); /* trainjob.c */
const char *adm_trainjob_place(struct sl_review_call *c, const struct sl_jobkind_pods *p);
bool adm_spark_check(struct sl_review_call *c); /* spark.c */
const char *adm_spark_place(struct sl_review_call *c, const struct sl_jobkind_pods *p);
int adm_ray_mutate(struct sl_review_call *c); /* ray.c */
bool adm_raycluster_check(struct sl_review_call *c);
bool adm_rayjob_check(struct sl_review_call *c);
bool adm_rayservice_check(struct sl_review_call *c);
const char *adm_rayservice_place(struct sl_review_call *c, const struct sl_jobkind_pods *p);

#endif
