/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cached state of Deployments, ReplicaSets and StatefulSets. Private to src/cluster/controllers.
 *
 * A Deployment never counts pods, it changes the sizes of its ReplicaSets; the desired size is a
 * pending change in the record of the ReplicaSet, and nothing is decided while a pending change is
 * in flight. A ReplicaSet creates and deletes pods until the number is as desired.
 */
#ifndef SL_CLUSTER_CONTROLLERS_APPS_APPS_H
#define SL_CLUSTER_CONTROLLERS_APPS_APPS_H

#include "cluster/controllers/core/adopt.h"
#include "cluster/controllers/core/ceilings.h"
#include "cluster/controllers/core/pod.h"

/* ---- conditions with their times ---- */

struct cl_condition {
    char *type, *status, *reason, *message;
    sl_time updated, changed; /* lastUpdateTime, which not all kinds have; lastTransitionTime */
};
struct cl_conditions {
    struct cl_condition *v;
    uint32_t n, cap;
};
void cl_conditions_read(struct cl_conditions *c, yyjson_val *list);
void cl_conditions_copy(struct cl_conditions *to, const struct cl_conditions *from);
void cl_conditions_done(struct cl_conditions *c);
const struct cl_condition *cl_condition(const struct cl_conditions *c, const char *type); /* NULL */
/* Sets it at the end of the list, unless status and reason are already so; the time of transition
 * stays with the status. Returns whether it was set. */
bool cl_condition_set(struct cl_conditions *c, const char *type, const char *status,
                      const char *reason, const char *message, sl_time now);
void cl_condition_drop(struct cl_conditions *c, const char *type);
bool cl_conditions_same(const struct cl_conditions *a, const struct cl_conditions *b);
void cl_conditions_put(struct sl_jw *j, const struct cl_conditions *c);

/* ---- counts of a status ---- */

/* A field; 'shown' ones also when 0. */
void cl_count_put(struct sl_jw *j, const char *name, int64_t n, bool shown);

/* "25%" of a whole or a number; -1 if absent. */
int64_t cl_int_or_percent(yyjson_val *v, int64_t of, bool up);

/* The next child that is a pod, NULL past the end; *at starts at sl_inf_children. */
struct cl_pod *cl_next_pod(struct sl_rec **at);
/* Has it been ready for long enough? If not yet, *next is when, if that is earlier; it may be NULL.
 */
bool cl_pod_available(const struct sl_cluster *c, const struct cl_pod *p, int64_t min_ready,
                      sl_time *next);

/* ---- ReplicaSets ---- */

struct cl_rs_status { /* compared as bytes */
    int64_t observed, replicas, labeled, ready, available, going;
};

/* Pending changes by its Deployment. */
struct cl_rs_pending {
    bool any;
    int32_t replicas, min_ready, from;
    char *annotations; /* a JSON map to merge; NULL: none */
};

struct cl_replicaset {
    struct sl_rec rec;
    struct cl_selector matcher;
    struct cl_adoption adoption;
    char *template, *labels, *annotations; /* JSON */
    uint64_t template_hash;                /* without the hash in its labels */
    uint64_t labels_hash;                  /* of the template */
    uint64_t matcher_hash;
    int32_t replicas, min_ready;
    int64_t revision;
    int32_t desired, max; /* from annotations; -1: absent */
    struct cl_rs_status seen, now;
    struct cl_conditions conditions, desired_conditions;
    struct cl_rs_pending pending;
    char *failure;   /* why the last pod could not be made; NULL: it could */
    uint64_t number; /* of the next pod's name */
    sl_time hold;    /* wall: no pods are made before; others are being taken in, or there was no
                      * namespace */
    bool adoption_checked; /* for pods without a controller */
};
static inline struct cl_replicaset *cl_rs_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct cl_replicaset, rec);
}
bool cl_rs_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_rs_changed(void *ctx, struct sl_rec *r);
void cl_rs_done(struct sl_rec *r);
bool cl_rs_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void cl_rs_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                   const struct sl_kube_reply *reply);
bool cl_rs_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body);
void cl_rs_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                         const struct sl_kube_reply *reply);
/* Pods of it that are available and may go on: not more than it is to have. */
int32_t cl_rs_available(const struct sl_cluster *c, const struct cl_replicaset *rs);
/* Pods there are or will be, also those about to go: what counts against the surge. */
int32_t cl_rs_held(const struct sl_cluster *c, const struct cl_replicaset *rs);
/* Pods that have not ended, also those that are being deleted. */
bool cl_rs_has_pods(const struct sl_cluster *c, const struct cl_replicaset *rs);

/* ---- pods of these kinds (app_pods.c) ---- */

extern const struct cl_pod_writer cl_apps_pod_writer;
void cl_apps_pod_changed(struct sl_cluster *c, struct cl_pod *p);
/* Plans the adoption of all pods without a controller that the selector of r matches; name: whose
 * names begin like this. False: there are none. */
bool cl_adopt_pods(struct sl_cluster *c, struct sl_rec *r, const struct cl_selector *s,
                   const char *name);
/* The message of a refusal; to be freed. */
char *cl_message_of(const struct sl_kube_reply *reply);

/* ---- Deployments ---- */

struct cl_dp_status { /* compared as bytes */
    int64_t observed, replicas, updated, ready, available, unavailable, going;
    int64_t collisions; /* -1: absent */
};

struct cl_deployment {
    struct sl_rec rec;
    struct cl_selector matcher;
    char *template, *annotations, *selector; /* JSON */
    uint64_t template_hash, matcher_hash;
    uint64_t template_digest; /* for the names of its sets */
    int32_t replicas, min_ready, history;
    int64_t deadline; /* seconds; -1: none */
    int32_t surge, unavailable;
    bool rolling, paused;
    char *revision; /* the annotation, "" */
    struct cl_dp_status seen, now;
    struct cl_conditions conditions, desired_conditions;
    char *new_revision; /* what the annotation should be; NULL: as it is */
    char *announce;     /* a ReplicaSet that was created for it, until a status has reported it */
    bool announced;     /* the status on its way does */
    bool revision_ignored; /* this server takes no annotation together with a status */
    char *failure;         /* why that could not be made */
    int32_t collisions;
    sl_time hold; /* wall: nothing is decided before; sets are being taken in */
    bool adoption_checked;
};
static inline struct cl_deployment *cl_dp_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct cl_deployment, rec);
}
bool cl_dp_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_dp_changed(void *ctx, struct sl_rec *r);
void cl_dp_done(struct sl_rec *r);
bool cl_dp_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void cl_dp_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                   const struct sl_kube_reply *reply);
bool cl_dp_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body);
void cl_dp_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                         const struct sl_kube_reply *reply);

/* deployment.c, for deployment_roll.c, which decides the next step. */
struct cl_dp_sets;
/* The others, for (i = 0; (rs = cl_dp_old(s, &i));). */
struct cl_replicaset *cl_dp_old(const struct cl_dp_sets *s, uint32_t *at);
/* Which was made first? */
int cl_dp_older(const struct cl_replicaset *a, const struct cl_replicaset *b);
void cl_dp_scale(struct cl_deployment *d, struct cl_replicaset *rs, int32_t n,
                 bool also_annotations, struct cl_dp_sets *s);
void cl_dp_make_fresh(struct sl_cluster *c, struct cl_deployment *d, const struct cl_dp_sets *s);
/* How many pods the set of the present template may have. */
int32_t cl_dp_fresh_size(const struct sl_cluster *c, const struct cl_deployment *d,
                         const struct cl_dp_sets *s);
bool cl_dp_is_scaled(const struct cl_deployment *d, const struct cl_dp_sets *s);
void cl_dp_act(struct sl_cluster *c, struct cl_deployment *d, struct cl_dp_sets *s, bool scaled);

/* The hash in the form that is used in names. */
#define DP_HASH 16
/* Of the content of the template, except for the label that distinguishes templates. The digest, if
 * requested, is for names; the hash is for comparison. */
uint64_t cl_template_hash(yyjson_val *template, uint64_t *ret_digest);

/* deployment_status.c: the desired status, from its ReplicaSets. estimate: a rollout is in
 * progress. */
struct cl_dp_sets {
    SL_VEC(struct cl_replicaset *) all; /* the oldest first; none that is only planned */
    struct cl_replicaset *fresh; /* the one of the present template; NULL: there is none yet */
    bool making;                 /* it is planned */
    bool waiting;                /* for what was decided to be written */
};
void cl_dp_status(struct sl_cluster *c, struct cl_deployment *d, const struct cl_dp_sets *s,
                  bool estimate);
bool cl_dp_complete(const struct cl_deployment *d, const struct cl_dp_status *s);

/* ---- StatefulSets ---- */

struct cl_ss_status { /* compared as bytes */
    int64_t observed, replicas, ready, current, updated, available;
    int64_t collisions; /* -1: absent */
};

struct cl_ss_claims;

struct cl_statefulset {
    struct sl_rec rec;
    struct cl_selector matcher;
    struct cl_ss_claims *claims;                                      /* NULL: none */
    char *template, *selector, *match_labels, *annotations, *service; /* JSON; service: a name */
    uint64_t matcher_hash, template_hash;
    uint64_t template_digest; /* for the names of its revisions */
    int32_t replicas, start, min_ready, history, partition;
    bool parallel, on_delete;
    bool drop_deleted, drop_scaled; /* persistentVolumeClaimRetentionPolicy: claims go with the set,
                                       with the pod */
    struct cl_ss_status seen, now;
    char *current, *update;         /* revisions of the status, "" */
    char *now_current, *now_update; /* and as they are; NULL: not known yet */
    int32_t collisions;
    sl_time hold; /* wall: nothing is made before */
    bool adoption_checked;
    bool over_limit; /* more replicas than are followed: it is left alone */
};
static inline struct cl_statefulset *cl_ss_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct cl_statefulset, rec);
}
bool cl_ss_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_ss_changed(void *ctx, struct sl_rec *r);
void cl_ss_done(struct sl_rec *r);
bool cl_ss_build(void *ctx, struct sl_rec *r, struct sl_write *w);
bool cl_ss_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body);
void cl_ss_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                         const struct sl_kube_reply *reply);
void cl_ss_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                   const struct sl_kube_reply *reply);
/* statefulset_make.c: the revision of the present template, planned if there is none; NULL: not yet
 * there. */
struct cl_revision;
struct cl_revision *cl_ss_revision(struct sl_cluster *c, struct cl_statefulset *s);
/* Of unused ones, only as many as the limit are retained. */
void cl_ss_forget_revisions(struct sl_cluster *c, struct cl_statefulset *s);
/* Its volumeClaimTemplates. */
void cl_ss_take_claims(struct cl_statefulset *s, yyjson_val *templates);
void cl_ss_drop_claims(struct cl_statefulset *s);
/* Are the claims of this pod there? Plans what is missing. */
bool cl_ss_claims(struct sl_cluster *c, struct cl_statefulset *s, int64_t ordinal);
/* Whether they have the labels of their owner. Enqueues the write, if not. */
bool cl_ss_claims_kept(struct sl_cluster *c, struct cl_statefulset *s, int64_t ordinal,
                       const struct cl_pod *p);
static inline bool cl_ss_inside(const struct cl_statefulset *s, int64_t ordinal) {
    return ordinal >= s->start && ordinal < (int64_t)s->start + s->replicas;
}
/* "web-3" of "web" is 3; -1: it is none of its pods. */
int64_t cl_ss_ordinal(const struct sl_rec *set, const char *pod);

/* A ControllerRevision. */
struct cl_revision {
    struct sl_rec rec;
    char *template;                     /* JSON */
    uint64_t hash;                      /* of it */
    int64_t revision, pending_revision; /* pending value; 0: unchanged */
};
static inline struct cl_revision *cl_revision_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct cl_revision, rec);
}
bool cl_revision_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_revision_done(struct sl_rec *r);
bool cl_revision_build(void *ctx, struct sl_rec *r, struct sl_write *w);
/* The next child that is one, NULL past the end; *at starts at sl_inf_children. */
struct cl_revision *cl_next_revision(struct sl_rec **at);

/* A controller whose template has a history. */
struct cl_history {
    struct sl_rec *rec;
    const char *template, *annotations; /* JSON; annotations may be NULL */
    const char *hash_label;             /* of its revisions */
    uint64_t hash, digest;              /* of the template; the digest is for names */
    int32_t *collisions;
    int32_t limit; /* so many that are not in use are retained */
    sl_time hold;  /* wall: none is made before */
};
/* The revision of the present template, planned if there is none; NULL: not yet there. */
struct cl_revision *cl_history_revision(struct sl_cluster *c, const struct cl_history *h);
void cl_history_forget(struct sl_cluster *c, const struct cl_history *h,
                       bool (*in_use)(struct sl_cluster *c, const struct cl_history *h,
                                      const struct cl_revision *v));
/* The body of a planned one. */
bool cl_history_put(struct sl_cluster *c, const struct cl_history *h, const struct sl_rec *child,
                    struct sl_jw *b);
/* The word that the name of its revision ends with. */
void cl_history_hash(const struct cl_history *h, char out[DP_HASH]);

/* ---- DaemonSets ---- */

struct cl_ds_status { /* compared as bytes */
    int64_t observed, desired, current, misscheduled, ready, updated, available, unavailable;
    int64_t collisions; /* -1: absent */
};

struct cl_daemonset {
    struct sl_rec rec;
    struct cl_selector matcher;
    char *template, *annotations;      /* JSON */
    char *max_unavailable, *max_surge; /* JSON of a number or a text */
    void *class;                       /* of its pods (cl_scheduler.class_of); NULL: none yet */
    uint64_t matcher_hash, template_hash, template_digest, class_hash;
    int32_t min_ready, history;
    int64_t generation; /* of the template, an annotation; -1: none */
    bool on_delete;
    struct cl_ds_status seen, now;
    int32_t collisions;
    char *revision;  /* the word of the present one; NULL: it is not there yet */
    uint64_t number; /* of the next pod's name */
    char *failure;   /* why the last pod could not be made; NULL: it could */
    sl_time hold;    /* wall: no pods are made before */
    sl_time kill_at; /* wall: failed pods are not deleted before */
    sl_span kill_pause;
    bool adoption_checked;
};
static inline struct cl_daemonset *cl_ds_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct cl_daemonset, rec);
}
bool cl_ds_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_ds_changed(void *ctx, struct sl_rec *r);
void cl_ds_gone(void *ctx, struct sl_rec *r);
void cl_ds_done(struct sl_rec *r);
bool cl_ds_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void cl_ds_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                   const struct sl_kube_reply *reply);
bool cl_ds_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body);
void cl_ds_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                         const struct sl_kube_reply *reply);
/* Gives back what they have of the scheduler, while that is there. */
void cl_ds_stop(struct sl_cluster *c);
/* A node came, changed or went. */
void cl_ds_nodes_changed(struct sl_cluster *c);

/* A node of a DaemonSet, with its pods there, the oldest first. */
struct cl_ds_node {
    sl_sym name;
    enum cl_daemon_fit fit;
    uint32_t first, n; /* in 'pods' */
};
struct cl_ds_view {
    SL_VEC(struct cl_ds_node) nodes;
    SL_VEC(struct cl_pod *) pods; /* by node, then age */
    sl_time next;                 /* wall; 0: none */
};
/* daemonset_roll.c: one step of a rolling update. */
void cl_ds_roll(struct sl_cluster *c, struct cl_daemonset *s, struct cl_ds_view *v);
/* daemonset.c */
bool cl_ds_is_new(const struct cl_daemonset *s, const struct cl_pod *p);
bool cl_ds_available(struct sl_cluster *c, const struct cl_daemonset *s, const struct cl_pod *p,
                     struct cl_ds_view *v);
void cl_ds_make_pod(struct sl_cluster *c, struct cl_daemonset *s, sl_sym node);
void cl_ds_remove_pod(struct cl_daemonset *s, struct cl_pod *p);
int32_t cl_ds_surge(const struct cl_daemonset *s, int64_t nodes);
int32_t cl_ds_may_miss(const struct cl_daemonset *s, int64_t nodes);

/* A PersistentVolumeClaim. */
struct cl_claim {
    struct sl_rec rec;
    char *owners;         /* JSON; NULL: none */
    char *pending_owners; /* what they should be; NULL: as they are */
    char *finalizers; /* but for the one that protects it while pods use it, an array of JSON; NULL:
                       * none
                       */
    bool protected, unused; /* unused: pods were read, and none does */
};
static inline struct cl_claim *cl_claim_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct cl_claim, rec);
}
bool cl_claim_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_claim_changed(void *ctx, struct sl_rec *r);
void cl_claim_gone(void *ctx, struct sl_rec *r);
void cl_claim_done(struct sl_rec *r);
bool cl_claim_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void cl_claim_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                      const struct sl_kube_reply *reply);

#endif
