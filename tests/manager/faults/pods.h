/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The people and machines of a history of pods: users with single pods and groups, a scheduler with
 * a kubelet, and somebody who answers admission checks. All see the API as it is and act on that,
 * some while after something changed; none of them remembers more than what it wants.
 *
 * A unit is what one user wants to have run: a single pod, or a group of some roles. Its pods are
 * called "u3-p0", the group "g3".
 */
#ifndef SL_TESTS_MANAGER_FAULTS_PODS_H
#define SL_TESTS_MANAGER_FAULTS_PODS_H

#include "world.h"

#define Q "kueue.x-k8s.io/"
#define PODS "/api/v1/namespaces/default/pods"
#define WORKLOADS KUEUE "/namespaces/default/workloads"
#define MAX_UNITS 8u
#define MAX_NAMES 24u /* of a unit's pods, one after the other and again */
#define MAX_ROLES 3u
#define MAX_NODES 8u
#define MAX_FLUX 4u /* pods of the queue on the graph */
#define RACK_NODES 2u
#define MAX_PROMISES 64u

enum unit_flag {
    UNIT_GROUP = 1 << 0,
    UNIT_SKY = 1 << 1,  /* not retriable; after a loss all is torn down and made anew, same names */
    UNIT_FAST = 1 << 2, /* fast admission */
    UNIT_SERVING = 1 << 3, /* never ends by itself */
    UNIT_WRONG = 1 << 4,   /* one pod has another total */
    UNIT_MORE = 1 << 5,    /* more pods than the total */
    UNIT_LAZY = 1 << 6,    /* what is lost is made anew only in the end */
    UNIT_ALIEN = 1 << 7,   /* made while no webhook was there: not ours to touch */
};

enum place {
    PLACE_UNSAID,
    PLACE_RACK,
    PLACE_PREFERRED,
    PLACE_ANYWHERE,
    PLACES_IN_TOPOLOGIES,
    PLACE_WITHIN = PLACES_IN_TOPOLOGIES, /* a rack of the graph */
    PLACES,
};

struct unit {
    uint32_t flags, queue, class, n_roles;
    uint32_t place;                  /* its topology request */
    uint32_t total, need[MAX_ROLES]; /* pods, and of each role */
    uint32_t done[MAX_ROLES];        /* succeeded, and their objects are gone */
    uint32_t next;                   /* name */
    uint32_t extra;                  /* pods beyond the total that are still to be made */
    uint32_t relaunches, tries;
    bool begun, finished, abandoned, relaunching;
    bool due; /* its turn is on its way */
};

/* What a Workload was shown; name "": none. */
struct promise {
    char name[64];
    sl_time start;      /* by the clock of whoever wrote it, */
    sl_span clock;      /* which is so much ahead */
    sl_time made, told; /* told: that it is delayed */
};

struct pods {
    struct unit units[MAX_UNITS];
    uint32_t n_units;
    bool calm;              /* the end: nothing fails any more, users make good what is lost */
    sl_time frozen;         /* no actor touches it before this */
    sl_time node_dead;      /* the kubelet does not act before this */
    SL_VEC(char *) checked; /* workloads that the check's controller has observed */
    uint32_t n_checks;
    /* Set free by a write that came too late: not the present leader's fault. */
    bool excused[MAX_UNITS][MAX_NAMES];
    sl_time half_since[MAX_UNITS];   /* 0: the group is whole, or none of it runs */
    sl_span half_idle[MAX_UNITS];    /* and how long of that the leader knew all and did nothing */
    sl_time settled_at;              /* when it last did so, */
    uint64_t settled_turn;           /* in this turn */
    bool made[MAX_UNITS][MAX_NAMES]; /* there is one of this name */
    /* Succeeded before it had been given up. */
    bool done[MAX_UNITS][MAX_NAMES];
    /* With --places: nodes in a topology, and requests for them. */
    bool places;
    uint32_t n_nodes, prov;        /* prov: 0: not required */
    int cpus[MAX_NODES];           /* of each */
    sl_time dead_until[MAX_NODES]; /* 0: it is there */
    uint64_t placed, provided, full_nodes;
    /* With --exact: nodes of the graph instead of a topology. */
    bool exact;
    sl_time shut_until[MAX_NODES]; /* cordoned or tainted; 0: it is not */
    sl_time changed[MAX_NODES];    /* when it was last let in, kept out, or went silent */
    bool flux_late[MAX_FLUX];      /* its place was written by one that leads no longer */
    uint64_t whole, chosen, unknown, beside, started, refused;
    /* With --timed: most say how long they run. */
    bool timed;
    struct promise promises[MAX_PROMISES];
    uint64_t kept, put_off;
};

static inline struct pods *pods_of(struct world *w) {
    return w->own;
}

/* ---- looking ---- */
bool pod_gated(yyjson_val *pod);
bool pod_unplaced(yyjson_val *pod); /* the topology's gate is on it */
bool pod_terminal(yyjson_val *pod);
bool pod_deleting(yyjson_val *pod);
bool pod_held(yyjson_val *pod); /* our finalizer is on it */
static inline bool pod_live(yyjson_val *pod) {
    return pod && !pod_terminal(pod) && !pod_deleting(pod);
}
/* The numbers of a pod's unit and name; false if it is none of ours. */
bool pod_numbers(const char *name, uint32_t *unit, uint32_t *n);
/* As its user made it. */
uint32_t pod_role(yyjson_val *pod);
static inline uint32_t pod_cpus(uint32_t role) {
    return 1 + role % 2;
}
/* Has it lost the gate, and neither ended nor used up the time that it was given to end? */
bool pod_runs(const struct world *w, yyjson_val *pod);
/* The Workload of a group has its name; that of a single pod is owned by it. */
yyjson_val *pod_workload(struct world *w, yyjson_val *pod);
/* NULL: there is none. */
yyjson_val *pod_get(struct world *w, uint32_t unit, uint32_t n);

/* ---- acting: pod_actors.c, pod_users.c ---- */
void kubelet_noticed(struct world *w, const struct fakeapi_change *c);
void check_noticed(struct world *w, const struct fakeapi_change *c);
void check_all(struct world *w); /* every check is answered, now */
void check_begin(struct world *w);
void check_end(struct world *w);
void user_noticed(struct world *w, const struct fakeapi_change *c);
void user_turn(void *ctx, uint64_t unit);
void user_draw(struct world *w, struct unit *u); /* desired */
void user_delete(struct world *w, uint32_t unit, uint32_t n, int grace);
void user_meddle(void *ctx, uint64_t n);

/* ---- reservations: pod_promises.c; nothing without --timed ---- */
void promises_noticed(struct world *w, const struct fakeapi_change *c);
/* How long the unit's pods run at most, in seconds; 0: that is not said. */
uint32_t promises_limit(struct world *w, uint32_t unit);

/* ---- machines: pod_places.c; they do nothing without --places ---- */
void places_begin(struct world *w); /* after the queues */
void prov_begin(struct world *w);   /* before them */
void places_noticed(struct world *w, const struct fakeapi_change *c);
void places_meddle(struct world *w);
void places_calm(struct world *w); /* all nodes are there */
void places_draw(struct world *w, struct unit *u);
void places_ready(struct world *w, uint32_t node, bool ready);
/* Of a podset's assignment: how many pods go to each node. Returns how many they are. */
int64_t places_read(struct world *w, yyjson_val *podset, int64_t pods[MAX_NODES]);
/* How much of each node is given out, in cpus; staying: to those that are not evicted. */
void places_given(struct world *w, bool staying, int cpus[MAX_NODES]);
/* The node that its selector names; "": none. */
const char *places_host_of(yyjson_val *pod);
void places_put(const struct unit *u, struct sl_buf *marks); /* annotations */
/* Where the scheduler puts it. */
const char *places_node_for(struct world *w, yyjson_val *pod);
sl_time places_dead_until(struct world *w, const char *node); /* 0: it is there */

/* ---- exact nodes: pod_exact.c; it does nothing without --exact ---- */
void exact_nodes(struct world *w); /* how many there are, and how large */
void exact_begin(struct world *w);
void exact_noticed(struct world *w, const struct fakeapi_change *c);
/* Some bindings of the queue on the graph, by a policy. */
int exact_refuses(struct world *w, const struct fakeapi_write *fw, struct sl_buf *why);
/* A node is cordoned or tainted, or a pod of the queue on the graph is deleted. */
void exact_meddle(struct world *w);
void exact_calm(struct world *w);
void exact_end(struct world *w); /* none of its pods is left */
/* Pods that are not bound yet have to wait until then; 0: they need not. */
sl_time exact_shut_until(struct world *w, const char *node);

#endif
