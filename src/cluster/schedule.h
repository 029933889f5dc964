/*
 * Binding pods to nodes, as kube-scheduler's default profile decides whether a pod may stand on a
 * node: unschedulable nodes, taints, node selector and required node affinity, host ports,
 * resources and the number of pods, required pod affinity and anti-affinity (the latter also of
 * those that stand there). Private to src/cluster.
 *
 * Pods that ask for the same get the same answer, so they are of one class and wait in one line,
 * the highest priority first. A class knows the nodes that its pods may stand on at all; a pod
 * takes the least used of the first few with room, counted on from where the last of its class
 * went. A class that found no room sleeps until a pod ends or a node changes: nothing is asked
 * twice in between. Amounts in use are kept by place (node name), with every binding that is on its
 * way.
 */
#ifndef SL_CLUSTER_SCHEDULE_H
#define SL_CLUSTER_SCHEDULE_H

#include "base/arena.h"
#include "cluster/pod.h"
#include "model/labels.h"

#define SCHED_MAX_RESOURCES 256u /* of all nodes and pods; further ones are on no node */
#define SCHED_MAX_PORTS 64u      /* of one pod; further ones are not looked at */

typedef SL_VEC(int64_t) sched_amounts; /* by column; what is missing is 0 */

/* A node, as it says of itself. */
struct node {
    struct rec rec;
    struct sl_arena arena; /* of labels and taints */
    struct sl_labels labels;
    const struct sl_taint *taints;
    uint32_t n_taints;
    bool unschedulable;
    uint64_t fixed; /* hash of all that, and of the amounts */
    sched_amounts has;
    int64_t max_pods;
    uint32_t place;
};
static inline struct node *node_of(struct rec *r) {
    return (struct node *)(void *)r;
}

/* What stands on a node, whether it is known or not. */
struct sched_place {
    sl_sym name;
    struct node *node; /* NULL: unknown, or gone */
    sched_amounts used;
    int64_t n_pods;
    SL_VEC(uint32_t) ports;
};

struct sl_doc;

struct sched_need {
    uint32_t column;
    int64_t amount;
};

struct sched_class {
    uint64_t hash;
    uint32_t id, refs;
    struct sl_arena arena;
    struct sl_labels selector;
    struct sl_affinity affinity;
    const struct sl_toleration *tolerations;
    uint32_t n_tolerations, n_needs, n_ports;
    struct sched_need *needs;
    uint32_t ports[SCHED_MAX_PORTS];
    char *near, *apart; /* required pod (anti-)affinity terms, JSON lists; NULL: none */
    sl_sym ns;          /* of its pods, if terms are about them */
    struct sl_doc *doc; /* whose texts the records use */
    /* where */
    SL_VEC(uint32_t) nodes; /* places that may do */
    uint32_t epoch;         /* of the nodes when that was found */
    uint32_t cursor;
    /* who waits */
    struct sl_heap line; /* numbers of pods */
    uint32_t in_queue;   /* its place among those that are awake */
    bool asleep;
    char *why; /* of the last refusal */
};

struct sched_pod {
    struct sched_class *class; /* a reference */
    sl_time created;
    uint64_t refused; /* hash of what it was told */
    sl_sym target;    /* where it is being bound to; 0: nowhere */
    sl_sym on;        /* where it counts; 0: nowhere */
    int32_t priority;
    uint32_t in_line; /* its place in the line of its class */
    bool ours;        /* nobody else binds it */
    bool gated;       /* when it was last seen */
    bool told;        /* of its binding */
    bool unsure;      /* its binding was refused */
};

struct schedule {
    struct sl_cluster *c;
    struct sl_syms resources; /* a column each */
    SL_VEC(struct sched_place) places;
    struct sl_map place_by_name;
    SL_VEC(struct sched_class *) classes; /* NULL: free */
    SL_VEC(uint32_t) free_classes;
    struct sl_map class_by_hash;
    struct sl_heap awake; /* classes with somebody in line */
    uint32_t epoch;       /* of the nodes: labels, taints, coming and going */
    uint32_t n_nodes;
    uint32_t n_apart; /* pods that stand somewhere and keep others away */
    bool room;        /* there may be some */
    uint64_t bound;
};

extern const struct part cl_schedule_part;

bool cl_node_decode(struct sl_cluster *c, struct rec *r, yyjson_val *o);
void cl_node_changed(struct sl_cluster *c, struct rec *r);
void cl_node_gone(struct sl_cluster *c, struct rec *r);
void cl_node_done(struct rec *r);

/* ---- sched_place.c ---- */
uint32_t cl_sched_column(struct schedule *s, const char *resource); /* UINT32_MAX: too many */
struct sched_place *cl_sched_place(struct schedule *s, sl_sym name);
/* A pod of this class stands there (1) or no longer does (-1). */
void cl_sched_count(struct schedule *s, const struct sched_class *k, sl_sym place, int sign);
static inline int64_t cl_amount(const sched_amounts *v, uint32_t column) {
    return column < v->n ? v->v[column] : 0;
}

/* ---- sched_class.c ---- */
/* A reference to what a pod of this spec asks for. */
struct sched_class *cl_sched_class(struct schedule *s, yyjson_val *pod, sl_sym ns);
void cl_sched_unref(struct schedule *s, struct sched_class *k);
/* Labels as records, copied into the arena. */
void cl_sched_labels(struct sl_arena *a, yyjson_val *map, struct sl_labels *ret);

/* ---- sched_near.c ---- */
/* Where pods keep others away, or are looked for: made once for a pod, asked for every node. */
struct sched_near;
struct sched_near *cl_near_new(struct schedule *s, const struct sched_class *k,
                               const struct pod *p);
#define SCHED_NO_COMPANY "node(s) didn't match pod affinity rules"
/* NULL: it may stand there; else why not. */
const char *cl_near_refuses(const struct sched_near *n, const struct node *on);
void cl_near_free(struct sched_near *n);

#endif
