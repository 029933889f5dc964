/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager that holds the records (kube/informer/informer.h), and what is shared by all of its
 * kinds. Private to src/manager/controllers.
 *
 * Names of few things (namespaces, queues, flavors, reasons) are symbols of the informer, the rest
 * is owned text.
 */
#ifndef SL_MANAGER_CONTROLLERS_CORE_RECORDS_H
#define SL_MANAGER_CONTROLLERS_CORE_RECORDS_H

#include "core/engine/engine.h"
#include "kube/informer/informer.h"
#include "manager/controllers/core/manager.h"

/* In the order of reconciliation: what others refer to comes first. */
enum mgr_rec_kind {
    REC_NAMESPACE,
    REC_PRIORITY_CLASS,
    REC_WORKLOAD_PRIORITY_CLASS,
    REC_LIMIT_RANGE,
    REC_RUNTIME_CLASS,
    REC_NODE,
    REC_TOPOLOGY,
    REC_FLAVOR,
    REC_CHECK,
    REC_PROV_CONFIG,
    REC_COHORT,
    REC_CLUSTER_QUEUE,
    REC_LOCAL_QUEUE,
    REC_PROV_REQUEST,
    REC_WORKLOAD,
    REC_JOB_KINDS,                /* ConfigMaps with kinds of jobs */
    REC_CLUSTER_TRAINING_RUNTIME, /* of TrainJobs */
    REC_TRAINING_RUNTIME,
    REC_JOB,
    REC_STATEFULSET,
    REC_LWS, /* LeaderWorkerSet */
    REC_POD,
    REC_KINDS, /* from here on: rows of kinds of jobs (job/kind.c) */
};
extern const struct sl_rec_kind mgr_kinds[REC_KINDS];

/* What each feature keeps. Their structs stand beside the code that owns them. */
struct mgr_capacity;  /* provisioning/capacity.c */
struct mgr_groups;    /* pod/pods.h */
struct mgr_jobs;      /* job/jobs.h */
struct mgr_limits;    /* queue/limit_range.c */
struct mgr_metrics;   /* metrics/state.h */
struct mgr_pods;      /* pod/pods.h */
struct mgr_provs;     /* provisioning/provisioning.c */
struct mgr_serving;   /* serving/pod.c */
struct mgr_tas;       /* topology/tas.h */
struct mgr_templates; /* core/templates.c */
struct mgr_workloads; /* workload/workloads.h */

struct sl_manager {
    struct sl_manager_spec spec;
    const struct sl_settings *settings;
    struct sl_engine *engine;
    struct sl_effects effects; /* of its last cycle */
    struct sl_informer *inf;
    struct sl_syms *syms;    /* the informer's */
    struct sl_map by_uid;    /* hash(uid) -> id: jobs and whatever else may own */
    bool reads[SL_FW_COUNT]; /* frameworks that run, or did since the start: their kinds are read */
    struct sl_review_view view;
    struct sl_fluxqueue *nodes; /* that exact nodes come from (fluxqueue/exact.h); NULL: nowhere */
    bool elected;               /* leads as soon as the workloads have been listed since */
    bool leads, facts;          /* facts: applied to the engine since its last cycle */
    /* features */
    struct mgr_capacity *capacity; /* NULL: no requests of the class */
    struct mgr_groups *groups;
    struct mgr_jobs *jobs;
    struct mgr_limits *limits;
    struct mgr_metrics *metrics;
    struct mgr_pods *pods;
    struct mgr_provs *provs;
    struct mgr_serving *serving;
    struct mgr_tas *tas;
    struct mgr_templates *templates;
    struct mgr_workloads *workloads;
};

/* ---- manager.c ---- */

static inline const char *mgr_str(const struct sl_manager *m, sl_sym y) {
    return sl_sym_str(m->syms, y);
}
struct sl_rec *mgr_rec_by_uid(const struct sl_manager *m, const char *uid);
/* What features keep, empty; and its end, with that of the engine, after that of the informer. */
void mgr_features_new(struct sl_manager *m);
void mgr_features_end(struct sl_manager *m);
/* Reads all of a kind again. Nothing is decided before they are in. */
void mgr_rec_relist(struct sl_manager *m, uint32_t k);

/* In w->tag: it is neither the whole status of a Workload nor the object. */
#define WRITE_PART 3u
/* A Workload is read because of a reservation that may have arrived. */
#define WRITE_UNSURE 4u

/* The note of the event that follows when a write is done, in place of the one before. */
void mgr_set_event_note(char **note, const char *fmt, ...) _printf_(2, 3);

#endif
