/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to src/manager/minicluster.
 *
 *     view.c     what a MiniCluster says, with the defaults of its version: pure
 *     curve.c    the certificate that brokers trust each other by
 *     broker.c   hosts, and the configuration of the brokers: pure
 *     scripts.c  entrypoints: assignments of what the spec says, and scripts/ *.sh
 *     pods.c     containers and volumes; volumes.c what v1alpha1 has of its own
 *     job.c      the Job and the pod of services
 *     objects.c  the other objects, and which there are
 *     plan.c     from a cluster and its objects to the next step
 *     status.c   conditions and what the scale subresource reads
 *     minicluster.c  the kinds, the reconciliation, the turn
 */
#ifndef SL_MANAGER_MINICLUSTER_MC_INT_H
#define SL_MANAGER_MINICLUSTER_MC_INT_H

#include "kube/informer/informer.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "manager/admission/minicluster.h"
#include "manager/minicluster/ceilings.h"
#include "manager/minicluster/minicluster.h"

#define MC_CONTROLLER "minicluster-controller"
#define MC_API "flux-framework.org/v1alpha2"
#define MC_APP_NAME "app.kubernetes.io/name"
#define MC_HPA_SELECTOR "hpa-selector"
#define MC_JOB_INDEX "job-index"
/* Annotation of a volume: the uid of the cluster that it goes with; or that it goes with none. */
#define MC_VOLUME_OF "flux-framework.org/minicluster"
#define MC_VOLUME_KEPT "kept"

enum mc_kind {
    MC_POD,
    MC_JOB,
    MC_CONFIG_MAP,
    MC_SERVICE,
    MC_CLAIM,
    MC_VOLUME,
    MC_CLUSTER,
    MC_KINDS
};

/* ---- what a MiniCluster says (view.c) ---- */

struct mc_view {
    const char *name, *ns;
    bool old; /* made in v1alpha1 */
    yyjson_val *spec;
    int32_t size, max_size; /* max_size: at least size */
    int runner;             /* the place of the container that runs Flux */
    const char *view_name, *view_path, *service, *lead_host;
    bool view_disabled;
};

void mc_view_init(struct mc_view *v, const char *name, const char *ns, bool old, yyjson_val *spec);
/* A text at a path of the spec, "" or what it is by default. */
const char *mc_text(const struct mc_view *v, const char *path, const char *fallback);

/* ---- records ---- */

struct mc_job {
    struct sl_rec rec;
    int32_t parallelism, completions, ready;
    bool suspended, finished;
};

struct mc_pod {
    struct sl_rec rec;
    int32_t index; /* -1: not known */
    bool labelled; /* with its index */
    bool ended;
};

struct mc_volume {
    struct sl_rec rec;
    uint64_t of; /* uid of the MiniCluster that it goes with, or is made for; 0: none */
    bool exists; /* by somebody else */
};

enum mc_condition {
    MC_REQUESTED,
    MC_WAITING,
    MC_RUNNING,
    MC_READY,
    MC_FINISHED,
    MC_CONTROLLED,
    MC_CONDITIONS
};

struct mc_cluster {
    struct sl_rec rec;
    char *spec; /* as it was made */
    bool old, cleanup;
    bool complete; /* all of its objects exist */
    int32_t size, min_size, max_size;
    int32_t maximum;  /* status.maximumSize; 0: not set yet */
    char *error;      /* what admission would have refused; NULL: nothing */
    char *elastic;    /* the annotation that lets the Job grow in its queue; NULL: none */
    char *status;     /* as observed, without times */
    char *conditions; /* as observed, those of others: for where the Flux Operator acts */
    sl_time since[MC_CONDITIONS]; /* wall; of the conditions as observed */
    bool is_true[MC_CONDITIONS], has[MC_CONDITIONS];
    /* A name that is taken by an object of somebody else, or what the API server refuses. */
    char *trouble;
    sl_time trouble_until; /* mono */
};

struct sl_miniclusters {
    struct sl_miniclusters_spec spec;
    struct sl_kube_client *client;
    struct sl_informer *inf;
    bool yields; /* the Flux Operator makes the objects */
    bool synced; /* what clusters are compared with was all known in the last turn */
};

static inline struct mc_cluster *mc_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mc_cluster, rec);
}
static inline struct mc_job *mc_job_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mc_job, rec);
}
static inline struct mc_pod *mc_pod_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mc_pod, rec);
}
static inline struct mc_volume *mc_volume_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mc_volume, rec);
}
static inline bool mc_owns(const struct mc_cluster *c, const struct sl_rec *r) {
    return r->owner && r->owner == sl_rec_uid(c->rec.uid);
}

/* ---- curve.c ---- */

#define MC_KEY_TEXT 41u /* with its end */

/* Z85 of 32 bytes. */
void mc_z85(const unsigned char key[32], char ret[MC_KEY_TEXT]);
/* A new pair in the text form of CZMQ. */
void mc_curve_put(struct sl_buf *b, const char *host, sl_time now);
/* A password or key of letters and digits; at most 64 bytes with its end. */
void mc_random_text(char *ret, size_t size);

/* ---- broker.c ---- */

void mc_hosts_put(struct sl_buf *b, const struct mc_view *v);
void mc_broker_put(struct sl_buf *b, const struct mc_view *v);
/* How many brokers the instance waits for; 0: all. */
int32_t mc_quorum(const struct mc_view *v);

/* ---- scripts.c ---- */

void mc_init_script_put(struct sl_buf *b, const struct mc_view *v);
/* Of a container that runs Flux. */
void mc_wait_script_put(struct sl_buf *b, const struct mc_view *v, uint32_t container);
/* Of another. */
void mc_start_script_put(struct sl_buf *b, const struct mc_view *v, uint32_t container);
/* Has this container a script in place of its entrypoint? */
bool mc_is_wrapped(const struct mc_view *v, uint32_t container);

/* ---- pods.c ---- */

/* Fields of a pod's spec. */
void mc_volumes_put(struct sl_jw *j, const struct mc_view *v);
void mc_containers_put(struct sl_jw *j, const struct mc_view *v);
void mc_service_containers_put(struct sl_jw *j, const struct mc_view *v);
/* Volumes that exist already, of a list of containers. */
void mc_existing_put(struct sl_jw *j, const struct mc_view *v, yyjson_val *containers);
void mc_map_put(struct sl_jw *j, const char *key, yyjson_val *object);

/* ---- job.c ---- */

void mc_job_put(struct sl_jw *j, const struct mc_view *v, const char *elastic,
                const struct sl_rec *owner);
void mc_service_pod_put(struct sl_jw *j, const struct mc_view *v, const struct sl_rec *owner);
void mc_head_put(struct sl_jw *j, const char *api_version, const char *kind, const char *name,
                 const struct sl_rec *owner);

/* ---- objects.c ---- */

struct mc_child {
    uint8_t kind;
    bool late;   /* comes after the Job */
    bool shared; /* one of somebody else does as well */
    char name[SL_REC_NAME];
};

/* The n-th object of a cluster; false: it has not so many. */
bool mc_child_at(const struct mc_view *v, uint32_t n, struct mc_child *ret);
/* Its body. False: there is no such object. */
bool mc_child_put(struct sl_jw *j, const struct mc_view *v, const struct mc_cluster *c,
                  const struct sl_rec *child, sl_time now);
/* The cluster as it was made; the document is the caller's to free. */
yyjson_doc *mc_cluster_view(const struct mc_cluster *c, struct mc_view *ret);

/* ---- plan.c ---- */

void mc_plan(struct sl_miniclusters *m, struct mc_cluster *c);
/* What became of the create of one of its objects. */
void mc_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                      const struct sl_kube_reply *reply);
/* The Job of the cluster, if it exists. */
struct mc_job *mc_find_job(const struct mc_cluster *c);
/* The size that the cluster has to have, of the one that it says. */
int32_t mc_right_size(const struct mc_cluster *c, const struct mc_job *job);

/* ---- status.c ---- */

bool mc_status_take(struct mc_cluster *c, yyjson_val *status);
bool mc_status_differs(const struct sl_miniclusters *m, struct mc_cluster *c);
bool mc_status_build(struct sl_miniclusters *m, struct mc_cluster *c, struct sl_write *w);
int32_t mc_maximum(const struct mc_cluster *c);

#endif
