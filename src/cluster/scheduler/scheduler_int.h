/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler: binds pods to nodes, with the filters of kube-scheduler's default profile:
 * unschedulable nodes, taints, node selector and required node affinity, host ports, resources and
 * the number of pods, hard topology spread, required pod affinity and anti-affinity (the latter
 * also of scheduled pods). Private to src/cluster/scheduler.
 *
 * Pods with the same requirements get the same result, so they are of one class and wait in one
 * queue, the highest priority first. A class has the list of nodes that are feasible regardless of
 * free resources; a pod takes the least used of the first few with free resources, counted on from
 * the last binding of its class. If it prefers some nodes to others, all with free resources are
 * compared (score.c). A class that did not fit sleeps until a pod ends, a node changes, or a
 * pod that its terms refer to is bound: nothing is evaluated twice in between. Amounts in use are
 * tracked by place (node name), with every binding in flight.
 */
#ifndef SL_CLUSTER_SCHEDULER_SCHEDULER_INT_H
#define SL_CLUSTER_SCHEDULER_SCHEDULER_INT_H

#include "cluster/controllers/core/pod.h"
#include "cluster/scheduler/ceilings.h"
#include "core/base/arena.h"
#include "core/model/labels.h"

#define SCHED_NO_DOMAIN UINT32_MAX /* the domain of a node without the label */

typedef SL_VEC(int64_t) sched_amounts; /* by column; what is missing is 0 */

/* A node, from its object. */
struct sched_node {
    struct sl_rec rec;
    struct sl_arena arena; /* of labels and taints */
    struct sl_labels labels;
    const struct sl_taint *taints, *soft; /* soft: PreferNoSchedule */
    uint32_t n_taints, n_soft;
    bool unschedulable;
    bool over_limit; /* too large: not feasible for any pod */
    uint64_t fixed;  /* hash of all that, and of the amounts */
    sched_amounts has;
    int64_t max_pods;
    uint32_t place;
};
static inline struct sched_node *sched_node_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct sched_node, rec);
}

/* The pods on a node, whether the node is known or not. */
struct sched_place {
    sl_sym name;
    struct sched_node *node; /* NULL: unknown, or gone */
    sched_amounts used;
    int64_t n_pods;
    SL_VEC(uint32_t) ports;
};

struct sl_doc;

struct sched_need {
    uint32_t column;
    int64_t amount;
};

/* A node label that terms refer to: nodes with the same value are one domain. */
struct sched_key {
    char *name; /* NULL: free */
    uint32_t refs, epoch, n;
    SL_VEC(uint32_t) of; /* by place: its domain, below n */
};

/* Pods of one namespace with the same labels: a selector takes all of them or none. */
struct sched_label_group {
    uint64_t hash;
    uint32_t id, refs;
    sl_sym ns;
    struct sl_label *v; /* with their texts behind */
    struct sl_labels labels;
    uint64_t serial, terms; /* the decision, and which of its terms these pods are meant by */
};

/* Terms about other pods; required ones first. */
enum sched_term_kind {
    TERM_SPREAD,
    TERM_AFFINITY,
    TERM_ANTI_AFFINITY,
    TERM_SOFT_SPREAD,
    TERM_PREFERRED_AFFINITY,
    TERM_PREFERRED_ANTI_AFFINITY,
    TERM_N
};

struct sched_term {
    enum sched_term_kind kind;
    uint32_t key;        /* in schedule.keys, a reference */
    int32_t weight;      /* PREFERRED_AFFINITY, PREFERRED_ANTI_AFFINITY; of SPREAD and SOFT_SPREAD:
                            maxSkew */
    int32_t min_domains; /* SPREAD */
    bool ignore_node_affinity; /* SPREAD, SOFT_SPREAD: count also on nodes that are not feasible ...
                                */
    bool honor_taints;         /* ... but not on those with taints that it does not tolerate */
    bool all_namespaces;       /* an empty namespaceSelector */
    bool by_namespace_label;   /* one that is not empty ... */
    bool own_namespace;        /* no namespaces are given: that of the pod */
    uint32_t n_namespaces;
    const char *const *namespaces;
    struct sl_selector namespace_selector; /* ... and its namespace selector */
    struct sl_selector selector;
};

/* A term of node affinity: labels of nodes, and their names. */
struct sched_node_term {
    struct sl_selector labels, fields;
};

/* A preferred one. */
struct sched_preferred_term {
    int32_t weight;
    struct sched_node_term hosts;
};

/* The required ones; any of them will do. */
struct sched_required {
    struct sched_node_term *terms;
    uint32_t n;         /* 0: nothing is required */
    bool by_name;       /* each lists names of nodes: no other node is considered */
    bool unsatisfiable; /* and none is in all lists of its term */
};

struct sched_pod_terms {
    struct sched_term *terms;
    struct sched_preferred_term *preferred;
    uint32_t n_terms, n_preferred;
    uint64_t by[TERM_N]; /* the terms of each kind, a bit each */
};

/* How much a class is drawn to a node: weights of its tastes; taints that it would rather avoid. */
struct sched_bias {
    int32_t preference, taint_penalty;
};

struct sched_class {
    uint64_t hash;
    uint32_t id, refs;
    struct sl_arena arena;
    struct sl_labels selector;
    struct sched_required required;
    const struct sl_toleration *tolerations;
    uint32_t n_tolerations, n_needs, n_ports;
    struct sched_need *needs;
    uint32_t ports[SCHED_MAX_PORTS];
    struct sched_pod_terms *pod_terms; /* NULL: nothing of the kind, as most */
    sl_sym ns;                         /* of its pods, if it has terms */
    uint64_t serial,
        terms; /* as of a label group: which of its ANTI_AFFINITY terms match the pod in question */
    struct sl_doc *doc; /* whose strings the records use */
    bool unreadable;    /* the requests of its pods are malformed: not schedulable */
    /* where */
    SL_VEC(uint32_t) nodes;         /* places that may do */
    SL_VEC(struct sched_bias) bias; /* for each of them; none: they are all alike */
    SL_VEC(uint64_t) counted; /* by place: for which SPREAD and SOFT_SPREAD terms its pods count */
    uint32_t epoch;           /* of the nodes when that was found */
    uint32_t cursor;
    /* pending pods */
    struct sl_heap line; /* numbers of pods */
    uint32_t in_queue;   /* its place among those that are awake */
    bool asleep;
    char *why; /* of the last refusal */
};

struct sched_pod {
    struct sched_class *class; /* a reference */
    sl_time created;
    uint64_t refused;                      /* hash of the message it was given */
    sl_sym target;                         /* where it is being bound to; 0: nowhere */
    sl_sym on;                             /* where it counts; 0: nowhere */
    uint32_t at;                           /* the number of that place */
    struct sched_label_group *label_group; /* a reference; NULL: not evaluated yet */
    int32_t priority;
    uint32_t in_line;   /* its place in the line of its class */
    bool ours;          /* it uses our scheduler */
    bool gated;         /* as last observed */
    bool bind_reported; /* of its binding */
    bool unsure;        /* its binding was refused */
    bool leaving;       /* observed to be deleted */
};

struct sched {
    struct sl_cluster *c;
    struct sl_syms resources; /* a column each; swept (names.c) */
    uint32_t resources_due;   /* a sweep is, at so many */
    SL_VEC(struct sched_place) places;
    SL_VEC(uint32_t) free_places;
    struct sl_map place_by_name;          /* its symbol */
    SL_VEC(struct sched_class *) classes; /* NULL: free */
    SL_VEC(uint32_t) free_classes;
    struct sl_map class_by_hash;
    struct sl_heap awake; /* classes with pending pods */
    uint32_t epoch;       /* of the nodes: labels, taints, coming and going */
    uint32_t n_nodes;
    uint32_t n_anti_affinity;      /* scheduled pods with anti-affinity terms */
    uint32_t n_by_namespace_label; /* terms about labels of namespaces */
    SL_VEC(struct sched_key) keys;
    SL_VEC(struct sched_label_group *) label_groups; /* NULL: free */
    SL_VEC(uint32_t) free_label_groups;
    struct sl_map label_group_by_hash;
    SL_VEC(uint32_t) affinity_classes; /* classes that may get a place because others got theirs */
    uint64_t serial;                   /* of decisions that considered other pods */
    bool capacity_freed;               /* there may be some */
    uint64_t bound;
};

/* ---- names.c ---- */
void sched_hold(const struct sl_cluster *c, struct sl_syms *t);
void sched_pod_hold(struct sl_syms *t, const struct cl_pod *p);
void sched_sweep(struct sl_cluster *c);

/* ---- nodes.c ---- */
bool sched_node_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void sched_node_changed(void *ctx, struct sl_rec *r);
void sched_node_gone(void *ctx, struct sl_rec *r);
void sched_node_done(struct sl_rec *r);
uint32_t sched_column(struct sched *s, const char *resource); /* UINT32_MAX: too many */
struct sched_place *sched_place(struct sched *s, sl_sym name);
/* A pod of this class was placed there (1) or removed (-1). */
void sched_count(struct sched *s, const struct sched_class *k, sl_sym place, int sign);
static inline int64_t sched_amount(const sched_amounts *v, uint32_t column) {
    return column < v->n ? v->v[column] : 0;
}

/* The node against its selector and required affinity. */
const char *sched_node_label(const struct sl_rec *node, const char *key);
bool sched_node_matches(const struct sched_class *k, const struct sched_node *n);
/* Do its taints, or that nothing is to be put there, keep the class away? NULL: no; else why. */
const char *sched_taint_reason(const struct sched_class *k, const struct sched_node *n);

/* ---- class.c ---- */
/* A reference to the class of pods with this spec. */
struct sched_class *sched_class(struct sched *s, yyjson_val *pod, sl_sym ns);
void sched_unref(struct sched *s, struct sched_class *k);

/* ---- scheduler.c ---- */
bool sched_fits(const struct sched_place *p, const struct sched_class *k);
/* How full it would be, in 1/1024 of its fullest resource. */
int64_t sched_fullness(const struct sched_place *p, const struct sched_class *k);

/* ---- node_terms.c ---- */
/* False: it is malformed, or empty, and matches no node. */
bool sched_node_term_read(struct sl_arena *a, yyjson_val *term, struct sched_node_term *ret);
bool sched_node_term_match(const struct sched_node_term *h, const struct sched_node *n);
/* False: there are too many terms. */
bool sched_required_read(struct sl_arena *a, yyjson_val *terms, struct sched_required *ret);
bool sched_required_match(const struct sched_required *m, const struct sched_node *n);
/* Is this a node that it may be about? */
bool sched_required_names(const struct sched_required *m, const struct sched_node *n);

/* ---- pod_terms.c ---- */
/* The text of all terms about other pods and preferences; empty: none. Returns whether it is about
 * others, so that its own labels matter. */
bool sched_pod_terms_put(struct sl_buf *b, yyjson_val *pod);
void sched_pod_terms_read(struct sched *s, struct sched_class *k, yyjson_val *pod);
void sched_pod_terms_done(struct sched *s, struct sched_class *k);
bool sched_term_matches(const struct sched *s, const struct sched_class *k,
                        const struct sched_term *t, const struct sched_label_group *group);
/* A namespace has other labels than before. */
void sched_namespaces_changed(struct sl_cluster *c);
/* The label group that a pod belongs to now. */
struct sched_label_group *sched_label_group_of(struct sched *s, const struct cl_pod *p);
void sched_label_group_unref(struct sched *s, struct sched_label_group *group);
bool sched_label_group_matches(const struct sched_label_group *group, const struct cl_pod *p);
/* With domains as of the present nodes. */
struct sched_key *sched_key(struct sched *s, uint32_t key);

/* ---- affinity.c ---- */
/* Counts of pods by domain, as far as they matter to a pod: computed once for it, evaluated for
 * every node. */
struct sched_affinity;
struct sched_refusal {
    const char *why;
    bool hopeless; /* also if pods went */
};
struct sched_affinity *sched_affinity_new(struct sched *s, struct sched_class *k,
                                          const struct cl_pod *p);
/* NULL: feasible; else the reason why not. */
const struct sched_refusal *sched_affinity_refuses(const struct sched_affinity *n, uint32_t place);
/* How many pods a term means in the domain of that place; -1: it has none. */
int32_t sched_affinity_count(const struct sched_affinity *n, uint32_t term, uint32_t place);
uint32_t sched_affinity_domain(const struct sched_affinity *n, uint32_t term, uint32_t place);
uint32_t sched_affinity_domains(const struct sched_affinity *n, uint32_t term);
void sched_affinity_free(struct sched_affinity *n);
/* The pods on which nodes count for its spread. */
void sched_affinity_count_nodes(struct sched *s, struct sched_class *k);
/* Might this pod's place be what a pod of the class waits for? */
bool sched_affinity_may_help(struct sched *s, const struct sched_class *k, const struct cl_pod *p);

/* ---- score.c ---- */
/* Of the nodes of the class (find_nodes). */
void sched_score_bias(struct sched *s, struct sched_class *k);
static inline bool sched_score_matters(const struct sched_class *k) {
    return k->bias.n || (k->pod_terms && (k->pod_terms->by[TERM_SOFT_SPREAD] |
                                          k->pod_terms->by[TERM_PREFERRED_AFFINITY] |
                                          k->pod_terms->by[TERM_PREFERRED_ANTI_AFFINITY]));
}
/* The best of those with free resources: its number in k->nodes, UINT32_MAX: there is none. near
 * may be NULL. */
uint32_t sched_score_choose(struct sched *s, struct sched_class *k,
                            const struct sched_affinity *near);

#endif
