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
    REC_JOB,
    REC_STATEFULSET,
    REC_LWS, /* LeaderWorkerSet */
    REC_POD,
    REC_KINDS,
};
extern const struct sl_rec_kind mgr_kinds[REC_KINDS];

struct mgr_template;
struct mgr_workload_pods;
struct mgr_pod_group;
struct mgr_pod_shape;
struct sl_topo;
struct mgr_capacity;

struct mgr_known_shape {
    uint64_t hash;
    sl_shape_id id; /* a reference */
    char *invalid;
};

struct sl_manager {
    struct sl_manager_spec spec;
    const struct sl_settings *settings;
    struct sl_engine *engine;
    struct sl_topo *topo; /* NULL: nobody gets a place */
    struct sl_informer *inf;
    struct sl_syms *syms;          /* the informer's */
    struct sl_map by_uid;          /* hash(uid) -> id: jobs and whatever else may own */
    struct sl_map by_owner;        /* hash(uid of the controller) -> id: workloads */
    struct sl_map by_wl_id;        /* engine id -> id */
    struct sl_map by_job;          /* hash(label job-uid) -> workloads */
    struct sl_map set_pods;        /* hash(kind, ns, name of the set) -> pods */
    struct sl_map job_children;    /* hash(uid of the controller) -> jobs */
    struct sl_map job_prebuilt;    /* hash(ns, name of the prebuilt workload) -> jobs */
    struct sl_map chains;          /* hash(ns, name of the chain) -> elastic workloads */
    struct sl_map provs_by_owner;  /* hash(uid of the workload) -> ProvisioningRequests */
    struct mgr_capacity *capacity; /* NULL: no requests of the class */
    struct sl_map workload_pods_by_name;
    SL_VEC(struct mgr_workload_pods *) workload_pods; /* of pods; NULL: free */
    SL_VEC(uint32_t) free_workload_pods;
    struct sl_map groups_by_name;
    SL_VEC(struct mgr_pod_group *) groups; /* NULL: free */
    SL_VEC(uint32_t) free_groups;
    struct sl_map pod_shapes_by_hash;
    SL_VEC(struct mgr_pod_shape *) pod_shapes; /* NULL: free */
    SL_VEC(uint32_t) free_pod_shapes;
    bool pods_on_nodes;      /* all pods on nodes are relevant */
    bool reads[SL_FW_COUNT]; /* frameworks that run, or did since the start: their kinds are read */
    struct sl_map limit_ranges; /* namespace -> id, one for each LimitRange */
    struct sl_map templates_by_hash;
    SL_VEC(struct mgr_template *) templates;
    SL_VEC(uint32_t) free_templates;
    struct sl_map shapes_by_hash;
    SL_VEC(struct mgr_known_shape) shapes; /* cache of mgr_template_shape */
    struct sl_effects effects;
    struct sl_review_view view;
    SL_VEC(uint32_t) fresh; /* workloads that the engine heard of since its last cycle */
    uint32_t n_releasing;   /* workloads whose reservation is being taken back */
    uint32_t n_moving;      /* and those that are given other places */
    SL_VEC(uint32_t) held;  /* workloads whose new reservation waits for that */
    bool elected;           /* leads as soon as the workloads have been listed since */
    bool leads, facts;      /* facts: told the engine something since its last cycle */
    bool places_news;       /* there may be room where there was none */
    bool node_failed,
        replacement_pending; /* a node failed under somebody, or may have; not all got another */
    /* metrics */
    struct {
        sl_time began;
        uint64_t looks;
    } cycle;                /* before the one that runs */
    SL_VEC(sl_sym) cohorts; /* that may have series */
    SL_VEC(sl_sym)
    orphaned;           /* cohorts that lost their object, and nothing happened below them since */
    bool trees_changed; /* since 'cohorts' was looked through */
    uint64_t series;    /* hash of what decides which gauges there are */
};

/* ---- manager.c ---- */

static inline const char *mgr_str(const struct sl_manager *m, sl_sym y) {
    return sl_sym_str(m->syms, y);
}
struct sl_rec *mgr_rec_by_uid(const struct sl_manager *m, const char *uid);
/* Reads all of a kind again. Nothing is decided before they are in. */
void mgr_rec_relist(struct sl_manager *m, enum mgr_rec_kind k);

/* In w->tag: it is neither the whole status of a Workload nor the object. */
#define WRITE_PART 3u
/* A Workload is read because of a reservation that may have arrived. */
#define WRITE_UNSURE 4u

/* The note of the event that follows when a write is done, in place of the one before. */
void mgr_set_event_note(char **note, const char *fmt, ...) _printf_(2, 3);

/* ---- templates.c: pod templates, interned ---- */

/*
 * Cached parts of a pod template. Equal templates share one record; a template is found by the hash
 * of its content.
 */
struct mgr_template {
    uint32_t id, refs;
    uint64_t hash;       /* of all below */
    uint64_t containers; /* of initContainers and containers: what must stay equal between a job and
                            its workload */
    uint64_t tolerations; /* of spec.tolerations */
    char
        *parts; /* JSON map of what is injected and restored: labels, annotations (of metadata),
                 * nodeSelector, tolerations, schedulingGates (of spec); absent ones are left out */
    char *pod;  /* JSON map of what decides: resources of containers, affinity, overhead, ... */
    char *priority_class; /* spec.priorityClassName, "" */
};
/* Returns a reference. */
struct mgr_template *mgr_template_get(struct sl_manager *m, yyjson_val *tmpl);
void mgr_template_unref(struct sl_manager *m, struct mgr_template *t);
/* What 'tolerations' of a template is for this list. */
uint64_t mgr_template_tolerations_hash(yyjson_val *tolerations);

struct mgr_wl_podset;
struct sl_doc;
/* Podsets as they count in a namespace (LimitRange and RuntimeClass taken into account). */
struct mgr_podsets {
    struct sl_arena arena;
    struct sl_doc *doc;
    const struct sl_podset_spec *v; /* as many as requested */
    const char *invalid;            /* why they can never be admitted; NULL if they can */
};
/* False: they make no sense. To be ended in any case. */
bool mgr_podsets_read(struct sl_manager *m, sl_sym ns, const struct mgr_wl_podset *v, uint32_t n,
                      struct mgr_podsets *ret);
void mgr_podsets_done(struct mgr_podsets *p);
/*
 * The shape of these podsets in a namespace.
 * *ret_invalid: why they can never be admitted, NULL if they can; borrowed until the next call.
 * False: the engine cannot take them at all.
 */
bool mgr_template_shape(struct sl_manager *m, sl_sym ns, const struct mgr_wl_podset *v, uint32_t n,
                        sl_shape_id *ret, const char **ret_invalid);
/* Limits changed: shapes have to be computed again. */
void mgr_template_forget_shapes(struct sl_manager *m);

/* ---- lookups for integrations (lookup.c) ---- */

bool mgr_ns_managed(const struct sl_manager *m, sl_sym ns);
bool mgr_ns_managed_by_name(const struct sl_manager *m, const char *ns);
/* The flavor as written, to be freed by the caller: spec.nodeLabels and spec.tolerations are what
 * it adds to pods. NULL: no such flavor. */
yyjson_doc *mgr_flavor_doc(const struct sl_manager *m, sl_sym flavor);

struct mgr_priority {
    int32_t value;
    const char *group, *kind, *name; /* "" without a class; borrowed until the class changes */
};
/* Kueue's order: the label's WorkloadPriorityClass, else the pod's class, else the global default,
 * else 0. False: a named class does not exist (in 'name'). */
bool mgr_priority_of(const struct sl_manager *m, const char *wpc_label, const char *pod_class,
                     struct mgr_priority *ret);

#endif
