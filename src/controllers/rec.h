/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records: what is kept of each object, and the manager that holds them. Private to
 * src/controllers.
 *
 * An object is decoded once into its record; the document is not kept. Names of few things
 * (namespaces, queues, flavors, reasons) are symbols, the rest is owned text. A record that changed
 * stands in the dirty queue of its kind until its controller has looked at it ('changed'); what it
 * wants to write is asked for by the patch queue ('build').
 */
#ifndef SL_CONTROLLERS_REC_H
#define SL_CONTROLLERS_REC_H

#include "base/heap.h"
#include "base/sym.h"
#include "controllers/controllers.h"
#include "engine/engine.h"
#include "kube/json.h"
#include "kube/reflector.h"
#include "kube/writer.h"

/* In the order in which changes are looked at: what others refer to comes first. */
enum rec_kind {
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
    REC_EVENT, /* only written */
    REC_KINDS,
};

struct rec {
    uint32_t obj;   /* its number in the patch queue */
    uint32_t slot;  /* its place in its table */
    uint8_t kind;   /* enum rec_kind */
    bool dirty;     /* stands in the dirty queue */
    bool gone;      /* deleted; kept until no write of it is in flight */
    bool deleting;  /* has a deletionTimestamp */
    bool again;     /* to be decoded once more although its version is known */
    bool finalizer; /* kueue.x-k8s.io/resource-in-use is on it */
    uint32_t epoch; /* of the last list that showed it */
    sl_sym ns;
    char *name, *uid;
    sl_sym finalizers; /* the others, as JSON strings with commas */
    uint64_t rv;
    int64_t generation;
    sl_time created;
    sl_time look_at; /* wall time at which it wants to be looked at again; 0: none */
    uint32_t place;  /* in the heap of those */
};

struct sl_manager;

struct kind {
    const char *path; /* "/apis/kueue.x-k8s.io/v1beta2" */
    const char *plural, *kind, *api_version;
    const char *query; /* of the list and the watch */
    bool namespaced;
    uint32_t size; /* of the record */
    /* Does anybody need it? One that nobody needs has no record. NULL: all are needed. */
    bool (*wanted)(const struct sl_manager *m, yyjson_val *o);
    /* Takes the object in. The head is done already. Returns whether anything that matters changed.
     */
    bool (*decode)(struct sl_manager *m, struct rec *r, yyjson_val *o);
    /* New, changed, or something it depends on did. */
    void (*changed)(struct sl_manager *m, struct rec *r);
    void (*gone)(struct sl_manager *m, struct rec *r);
    void (*done)(struct rec *r); /* frees what the record owns besides the head */
    bool (*build)(struct sl_manager *m, struct rec *r, struct sl_write *w);
    /* After the head and decode have taken the answer's object in. NULL: nothing to do. */
    void (*written)(struct sl_manager *m, struct rec *r, const struct sl_write *w,
                    enum sl_written how, const struct sl_reply *reply);
};
extern const struct kind kinds[REC_KINDS];

struct table {
    struct sl_manager *m;
    struct sl_map by_name; /* hash(ns, name) -> object number */
    SL_VEC(struct rec *) dirty;
    SL_VEC(struct rec *) slots; /* all of the kind; NULL: free */
    SL_VEC(uint32_t) free_slots;
    struct sl_reflector *reflector; /* NULL: this kind is not watched */
    uint32_t n, epoch;
    uint64_t stream_rv,
        ahead_rv; /* the newest version the stream has shown; one that was read past it */
    sl_time ahead_since;
    uint64_t trouble; /* hash of what was last said to be wrong with the stream */
    enum rec_kind kind;
    bool synced, exists;
};

struct template;
struct pod_crew;
struct pod_group;
struct pod_shape;
struct sl_topo;
struct capacity;

struct known_shape {
    uint64_t hash;
    sl_shape_id id; /* a reference */
    char *invalid;
};

struct sl_manager {
    struct sl_manager_spec spec;
    const struct sl_settings *settings;
    struct sl_engine *engine;
    struct sl_topo *topo; /* NULL: nobody gets a place */
    struct sl_writer *writer;
    struct sl_syms syms;
    struct table tables[REC_KINDS];
    SL_VEC(struct rec *) objs; /* by object number; NULL: free */
    SL_VEC(uint32_t) free_objs;
    struct sl_map by_uid;         /* hash(uid) -> object number: jobs and whatever else may own */
    struct sl_map by_owner;       /* hash(uid of the controller) -> object number: workloads */
    struct sl_map by_wl_id;       /* engine id -> object number */
    struct sl_map by_job;         /* hash(label job-uid) -> workloads */
    struct sl_map set_pods;       /* hash(kind, ns, name of the set) -> pods */
    struct sl_map job_children;   /* hash(uid of the controller) -> jobs */
    struct sl_map job_prebuilt;   /* hash(ns, name of the prebuilt workload) -> jobs */
    struct sl_map chains;         /* hash(ns, name of the chain) -> elastic workloads */
    struct sl_map provs_by_owner; /* hash(uid of the workload) -> ProvisioningRequests */
    struct capacity *capacity;    /* NULL: nobody asks for it */
    struct sl_map crews_by_name;
    SL_VEC(struct pod_crew *) crews; /* of pods; NULL: free */
    SL_VEC(uint32_t) free_crews;
    struct sl_map groups_by_name;
    SL_VEC(struct pod_group *) groups; /* NULL: free */
    SL_VEC(uint32_t) free_groups;
    struct sl_map pod_shapes_by_hash;
    SL_VEC(struct pod_shape *) pod_shapes; /* NULL: free */
    SL_VEC(uint32_t) free_pod_shapes;
    bool pods_on_nodes;      /* whoever stands on a node matters */
    bool reads[SL_FW_COUNT]; /* frameworks that run, or did since the start: their kinds are read */
    struct sl_map limit_ranges; /* namespace -> object number, one for each LimitRange */
    struct sl_map templates_by_hash;
    SL_VEC(struct template *) templates;
    SL_VEC(uint32_t) free_templates;
    struct sl_map shapes_by_hash;
    SL_VEC(struct known_shape) shapes; /* recent answers of template_shape */
    struct sl_effects effects;
    struct sl_api_view view;
    struct sl_heap looks;     /* records by look_at */
    sl_span clock;            /* of the wall, beyond mono */
    SL_VEC(uint32_t) fresh;   /* workloads that the engine heard of since its last cycle */
    uint32_t n_releasing;     /* workloads whose reservation is being taken back */
    uint32_t n_moving;        /* and those that are given other places */
    SL_VEC(uint32_t) held;    /* workloads whose new reservation waits for that */
    bool elected;             /* leads as soon as the workloads have been listed since */
    bool ready, leads, facts; /* facts: told the engine something since its last cycle */
    bool places_news;         /* there may be room where there was none */
    bool sick, sick_left;     /* a node failed under somebody, or may have; not all got another */
    struct sl_map events;     /* hash of what an event says of what -> object number */
    uint64_t serial;          /* of events */
    uint32_t n_events_waiting;
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

/* ---- manager.c: finding and marking ---- */

static inline const char *str(const struct sl_manager *m, sl_sym y) {
    return sl_sym_str(&m->syms, y);
}
struct rec *rec_find(const struct sl_manager *m, enum rec_kind k, const char *ns, const char *name);
struct rec *rec_by_uid(const struct sl_manager *m, const char *uid);
/* Every record of a kind, in no special order; NULL past the end. *at starts at 0. Records may go
 * meanwhile. */
struct rec *rec_each(const struct sl_manager *m, enum rec_kind k, uint32_t *at);
/* To be looked at in this turn. */
void rec_mark(struct sl_manager *m, struct rec *r);
/* To be looked at again at this wall time; 0 takes the wish back. */
void rec_look_at(struct sl_manager *m, struct rec *r, sl_time wall);
/* May have something to write: decisions in lane 0, reasons and statuses of queues in lane 1,
 * events in lane 2. */
void rec_want(struct sl_manager *m, struct rec *r);
void rec_want_at(struct sl_manager *m, struct rec *r, sl_time mono);
/* A new record of a kind; it is found by name unless that is NULL (events). */
struct rec *rec_new(struct sl_manager *m, enum rec_kind k, const char *ns, const char *name);
/* Leaves the tables; freed when nothing of it is in flight. */
void rec_forget(struct sl_manager *m, struct rec *r);
/* Reads all of a kind again. Nothing is decided before they are in. */
void rec_relist(struct sl_manager *m, enum rec_kind k);
/* Takes an object in as if the watch had shown it (answers of writes, reads after conflicts). Older
 * versions than the record's are ignored. Returns the record, NULL if there is none. */
struct rec *rec_take(struct sl_manager *m, enum rec_kind k, yyjson_val *o);
/* The same, from the text of an answer, whatever its kind. */
struct rec *rec_take_text(struct sl_manager *m, const char *text, size_t len);

/* ---- write.c: bodies ---- */

/* PATCH (merge) of the object or of a subresource ("status"); opens the body with
 * metadata.resourceVersion (and uid) if 'guard' is set:
 * `{"metadata":{"resourceVersion":"7","uid":"…"` stands in w->body, to be closed by the caller. */
void write_patch(struct sl_manager *m, const struct rec *r, const char *subresource,
                 struct sl_write *w);
/* Forced server-side apply; the body stands open after its metadata:
 * `{"apiVersion":…,"metadata":{…}`. */
void write_apply(struct sl_manager *m, const struct rec *r, const char *subresource,
                 const char *manager, struct sl_write *w);
void write_guard(struct sl_write *w, const struct rec *r);
void write_create(struct sl_manager *m, enum rec_kind k, const char *ns, struct sl_write *w);
/* In w->tag: the answer is about another object than the record's own. */
#define WRITE_FOREIGN 1u
/* It is neither the whole status of a Workload nor the object. */
#define WRITE_PART 3u
/* A Workload is read because of a reservation that may have arrived. */
#define WRITE_UNSURE 4u
/* GET of any object by kind and name. */
void write_read_other(struct sl_manager *m, enum rec_kind k, sl_sym ns, const char *name,
                      struct sl_write *w);
/* GET of the object itself; its answer is taken in like any other. */
void write_read(struct sl_manager *m, const struct rec *r, struct sl_write *w);
void write_delete(struct sl_manager *m, const struct rec *r, bool background, struct sl_write *w);
/* Whole patches that only add or remove our finalizer. */
void write_finalizer(struct sl_manager *m, const struct rec *r, bool on, struct sl_write *w);

/* ---- events.c ---- */

/* An event about r, as reported by 'controller' ("kueue-admission", "batch/job-kueue-controller").
 * Dropped when too many wait. */
void event(struct sl_manager *m, const struct rec *r, const char *controller, bool warning,
           const char *reason, const char *fmt, ...) _printf_(6, 7);

/* The note of the event that follows when a write is done, in place of the one before. */
void note_set(char **note, const char *fmt, ...) _printf_(2, 3);

/* ---- templates.c: pod templates, interned ---- */

/*
 * What is kept of a pod template. Equal templates share one record; a template is found by the hash
 * of its meaning.
 */
struct template {
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
struct template *template_get(struct sl_manager *m, yyjson_val *tmpl);
void template_unref(struct sl_manager *m, struct template *t);
/* What 'tolerations' of a template is for this list. */
uint64_t template_tolerations_hash(yyjson_val *tolerations);

struct wl_podset;
struct sl_doc;
/* Podsets as they count in a namespace (LimitRange and RuntimeClass taken into account). */
struct podsets {
    struct sl_arena arena;
    struct sl_doc *doc;
    const struct sl_podset_spec *v; /* as many as were asked for */
    const char *invalid;            /* why they can never be admitted; NULL if they can */
};
/* False: they make no sense. To be ended in any case. */
bool podsets_read(struct sl_manager *m, sl_sym ns, const struct wl_podset *v, uint32_t n,
                  struct podsets *ret);
void podsets_done(struct podsets *p);
/*
 * The shape of these podsets in a namespace.
 * *ret_invalid: why they can never be admitted, NULL if they can; borrowed until the next call.
 * False: the engine cannot take them at all.
 */
bool template_shape(struct sl_manager *m, sl_sym ns, const struct wl_podset *v, uint32_t n,
                    sl_shape_id *ret, const char **ret_invalid);
/* Limits changed: shapes have to be made anew. */
void template_forget_shapes(struct sl_manager *m);

/* ---- lookups for integrations (lookup.c) ---- */

bool ns_managed(const struct sl_manager *m, sl_sym ns);
bool ns_managed_by_name(const struct sl_manager *m, const char *ns);
/* The flavor as written, to be freed by the caller: spec.nodeLabels and spec.tolerations are what
 * it adds to pods. NULL: no such flavor. */
yyjson_doc *flavor_doc(const struct sl_manager *m, sl_sym flavor);

struct priority {
    int32_t value;
    const char *group, *kind, *name; /* "" without a class; borrowed until the class changes */
};
/* Kueue's order: the label's WorkloadPriorityClass, else the pod's class, else the global default,
 * else 0. False: a named class does not exist ('name' says which). */
bool priority_of(const struct sl_manager *m, const char *wpc_label, const char *pod_class,
                 struct priority *ret);

#endif
