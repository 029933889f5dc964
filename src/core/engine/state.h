/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The private state of the engine, shared by its files only.
 *
 * Everything is a dense array addressed by index; names are interned. The pieces:
 *
 *   fr        a (flavor, resource) pair, numbered once for the whole engine
 *   node      a ClusterQueue or a Cohort; nodes of one root form a tree
 *   tree      the quota cells of all its nodes: cells[node.row * n_fr + local fr]
 *   lq        a LocalQueue, also while it does not exist but is referred to
 *   shape     the podsets of workloads, interned: same podsets, same shape
 *   class     workloads of one LocalQueue with the same shape and priority: they wait in one
 *             ordered set, are refused together, sleep together and wake together
 *   wl        a workload
 *
 * A workload waits in exactly one ordered set (its class) or is parked (back-off) or is in no queue
 * at all. A class is awake (in its ClusterQueue's heap) or asleep. Usage changes only through
 * eng_tree_add.
 */
#ifndef SL_CORE_ENGINE_STATE_H
#define SL_CORE_ENGINE_STATE_H

#include "core/base/arena.h"
#include "core/base/collection/hash.h"
#include "core/base/collection/heap.h"
#include "core/base/collection/map.h"
#include "core/base/collection/ordset.h"
#include "core/base/collection/sym.h"
#include "core/base/collection/vec.h"
#include "core/engine/engine.h"

#define ENG_NONE UINT32_MAX
#define SL_MAX_COHORT_DEPTH 256 /* deeper trees count as cycles: their queues stay inactive */

/* ---- quota tree ---- */

struct eng_fr {
    sl_sym flavor, resource;
};

struct eng_extra_fr {
    uint32_t cq, fr;
};

struct eng_cell {
    sl_amount nominal, borrow, lend; /* as written; limits may be SL_AMOUNT_NONE */
    sl_amount subtree, local, potential;
    __int128 usage; /* wide, so that adding and removing are exact inverses */
    bool listed;    /* some quota in this subtree names it */
};

struct eng_use { /* usage of one fr */
    uint32_t fr;
    sl_amount amount;
};
/* Of one workload: each podset may have its own flavors, and has pods besides its resources. */
#define MAX_USES (SL_MAX_PODSETS * (SL_MAX_PODSET_RESOURCES + 1))

struct eng_group {
    uint32_t n_resources, n_flavors;
    sl_sym *resources;
    sl_sym *flavors;
    struct sl_quota *quotas; /* [flavor * n_resources + resource] */
    uint32_t *fr;            /* same shape: local fr of the node's tree */
};

struct eng_check_ref {
    sl_sym name;
    SL_VEC(sl_sym) flavors;
};

struct eng_share { /* over / lendable / weight, of the resource for which that is largest */
    uint64_t over, lendable, weight_nano;
    bool borrowing;
};

struct eng_node {
    sl_sym name;
    bool cohort;
    bool exists;          /* there is an object; else an implicit cohort */
    uint64_t spec_digest; /* digest of its content, 0 if there was none */
    bool broken;          /* in or under a cycle of cohorts */
    uint64_t pruned;      /* number of the fair search that found nothing more to take here */
    bool touched;         /* its quotas or edges changed since the last rebuild */
    sl_sym parent_name;
    uint32_t parent;           /* node index or NONE */
    SL_VEC(uint32_t) children; /* sorted: cohorts first, each part by name */
    uint32_t tree, row, height, depth;
    struct eng_group *groups;
    uint32_t n_groups;
    int64_t weight_nano;
    sl_amount *lendable; /* per local resource: potential summed over flavors, cohorts only */
    uint32_t cq;         /* index into cqs, NONE for cohorts */
    /* during a fair round: the best entry below, its rank among the siblings */
    struct sl_heap fair_heap;
    uint32_t fair_place, fair_winner;
    struct eng_share fair_share;
    bool fair_borrows;
};

struct eng_edge {
    uint32_t preemptor, victim; /* wl indices */
};

struct eng_tree {
    uint32_t root; /* node index */
    uint32_t n_fr, n_rows, n_res;
    uint32_t *rows;                /* row -> node, parents before children */
    uint32_t *frs;                 /* local fr -> global fr */
    uint32_t *fr_res;              /* local fr -> local resource */
    sl_sym *res;                   /* local resource -> name, sorted by name */
    uint32_t *res_frs, *res_first; /* local frs by resource: [res_first[r], res_first[r + 1]) */
    struct eng_cell *cells;
    SL_VEC(uint32_t) cqs;          /* cq indices, by name */
    uint64_t version;              /* moves with every change of usage or quota */
    bool dirty;                    /* some head has to be evaluated */
    bool freed;                    /* sleeping classes have to be evaluated */
    bool wake_all;                 /* configuration changed: all sleepers wake */
    bool skipped, left;            /* this round: an entry was skipped; some head left its heap */
    SL_VEC(struct eng_edge) edges; /* preemptions issued since the last outside event */
};

/* ---- queues ---- */

struct eng_range {
    uint32_t from, n;
};

struct eng_prio_count {
    int64_t priority;
    uint32_t n;
};

/* What workloads hold of a ClusterQueue: amounts of one fr, or how many they are. */
struct eng_tally {
    uint32_t cq, fr;             /* fr NONE: workloads */
    __int128 reserved, admitted; /* of all, and of the admitted ones among them */
};
struct eng_tallies { /* unordered; zero entries are removed */
    struct eng_tally *v;
    uint32_t n, cap;
};

/* A reservation for a later time (later.c); its nodes are held by the placer. */
struct eng_later {
    uint32_t wl; /* NONE: there is none */
    sl_time at, until;
    sl_time check;               /* when it is looked at again if it has not started */
    SL_VEC(struct eng_use) uses; /* global fr */
};

struct eng_cq {
    uint32_t node;
    bool exists, active;
    enum sl_inactive inactive_reason;
    char *message; /* of the Active condition */
    enum sl_strategy strategy;
    enum sl_within within;
    enum sl_reclaim reclaim;
    enum sl_borrow_within borrow_within;
    bool has_threshold;
    int32_t threshold;
    enum sl_when when_can_borrow, when_can_preempt;
    enum sl_preference preference;
    enum sl_stop stop;
    bool terminating;
    bool exact_nodes; /* its workloads need a placement, whatever their flavors */
    bool afs_scope;   /* opted in to usage-based order, fixed at the first fact */
    bool unplaced;    /* the placer refused a workload since its last change */
    struct sl_arena arena;
    struct sl_selector namespaces;
    SL_VEC(struct eng_check_ref) checks;
    struct sl_heap heap;                 /* awake classes, by their first workload */
    SL_VEC(uint32_t) asleep;             /* sleeping classes */
    SL_VEC(uint32_t) reserved;           /* workloads that hold quota */
    SL_VEC(uint32_t) lqs;                /* attached LocalQueues */
    SL_VEC(struct eng_prio_count) prios; /* of the reserved ones, lowest priority first */
    uint32_t n_admitted;
    struct eng_tallies held; /* by all of these */
    uint32_t sticky;         /* workload that waits for its victims, NONE */
    uint64_t alloc_gen;    /* moves when a workload leaves or quotas change: drops resume records */
    uint64_t seen_version; /* tree version and head of the last evaluation in vain */
    uint32_t seen_head;
    struct eng_range fair;         /* its candidates in the fair search numbered fair_search */
    uint32_t fair_first, fair_all; /* the whole run */
    uint64_t fair_search;
    uint32_t entry; /* of this round, NONE */
    struct eng_later later;
};

struct eng_afs_item {
    sl_sym resource;
    int64_t consumed_milli, penalty_milli;
};

struct eng_lq {
    sl_sym ns, name, cq_name;
    bool exists;
    uint64_t spec_digest; /* digest of its content, 0 if there was none */
    enum sl_stop stop;
    int64_t weight_nano;
    uint32_t cq;              /* index of the attached ClusterQueue, NONE */
    bool live;                /* classes are in the ClusterQueue's structures */
    SL_VEC(uint32_t) classes; /* with at least one waiting workload */
    SL_VEC(uint32_t) parked;  /* waiting, but not before some time or event */
    uint32_t n_refs;          /* workloads that name it, whatever their phase */
    struct eng_tallies held;  /* by its workloads, in whichever ClusterQueue */
    /* admission fair sharing */
    bool sampled;
    sl_time sampled_at;
    SL_VEC(struct eng_afs_item) afs;
    unsigned __int128 afs_usage; /* fixed point, see afs.c; lower goes first */
};

struct eng_lack { /* what a sleeping class needs before it is worth an evaluation */
    uint32_t fr;
    sl_amount need;
};
#define MAX_LACKS 6

struct eng_step {                     /* one resource group for one podset group */
    uint16_t first_podset, n_podsets; /* in podset order of the plan */
    uint16_t group; /* of the ClusterQueue; UNCOVERED: the first resource is in none */
    uint16_t n_res;
    uint32_t res;   /* index into plan.res */
    uint32_t units; /* index into plan.units: [resource * n_podsets + podset] */
};
#define UNCOVERED UINT16_MAX
#define NOT_ASKED (-1) /* unit of a resource that a podset does not request */

struct eng_plan_res {
    uint16_t in_group; /* resource index in the group */
    sl_sym resource;
};

/* How a shape maps to a ClusterQueue, computed once per configuration. */
struct eng_plan {
    uint64_t version;
    SL_VEC(struct eng_step) steps;
    SL_VEC(sl_amount) units;
    SL_VEC(struct eng_plan_res) res;
    SL_VEC(uint16_t) podsets; /* podset indices, group by group */
    SL_VEC(uint64_t) match;   /* per step: bit per flavor that passes taints and labels */
};

struct eng_class {
    uint32_t lq, shape;
    int64_t priority; /* effective */
    uint32_t only;    /* the one workload it is for, NONE: all that are alike */
    int64_t length;   /* seconds that they run at most, where that decides; else 0 */
    struct sl_ordset line;
    uint32_t place;    /* in its ClusterQueue's heap */
    uint32_t sleep_at; /* place in cq.asleep */
    uint32_t lq_at;    /* place in lq.classes */
    uint32_t
        next_equivalent; /* ring of classes of one ClusterQueue with the same shape and priority */
    bool used, asleep;
    bool wake_always;      /* any release may help */
    uint64_t wake_checked; /* the cycle of its last evaluation for waking */
    sl_wl_id refused_wl;   /* the workload whose refusal put it to sleep */
    uint8_t n_lacks;
    struct eng_lack lacks[MAX_LACKS];
    struct eng_plan plan;
    struct eng_admission *last; /* what the last member got: shared while it is the same */
};

/* ---- workloads ---- */

struct eng_podset_request {
    sl_sym resource;
    sl_amount unit; /* per pod */
};

struct eng_podset {
    char *name;
    int32_t count, min_count;
    sl_sym group;
    SL_VEC(struct eng_podset_request) requests; /* effective, sorted by resource name */
    const struct sl_podset_spec *raw;           /* in the shape's arena */
};

struct eng_shape {
    uint32_t refs;
    uint64_t hash;
    struct sl_arena arena;
    struct eng_podset *podsets;
    uint32_t n;
    bool used, plain; /* plain: no selectors, affinity or tolerations anywhere */
    bool partial;     /* some podset may shrink */
};

struct eng_assigned {
    sl_sym resource, flavor;
    uint32_t fr; /* global */
    sl_amount amount;
};

struct eng_admission {
    uint32_t refs;
    uint32_t cq;
    uint32_t n_podsets, n_assigned, n_uses;
    int32_t *counts; /* per podset */
    uint32_t *first; /* per podset: start in assigned, n_podsets + 1 of them */
    struct eng_assigned *assigned;
    struct eng_use *uses; /* summed per global fr */
    uint32_t borrow;
};

struct eng_wl_check {
    sl_sym name;
    enum sl_check_state state;
    int32_t retries;
    sl_time at; /* last transition */
    int64_t requeue_after_s;
    char *message;
};

/* What a slice held when the next one took over, until it is known to be finished. */
struct eng_slice_handover {
    struct eng_admission *admission; /* NULL: nothing */
    sl_time reserved_at, admitted_at;
    bool ready, was_ready;
};

/* What only few workloads have. */
struct eng_wl_extra {
    uint32_t place; /* in the timer heap */
    sl_time deadline;
    /* resume of the flavor scan: per plan step the last flavor tried, -1 for none left; valid for
     * one generation of the queue */
    SL_VEC(int32_t) resume;
    uint64_t resume_gen;
    uint64_t evaluated_version, evaluated_cycle;
    uint32_t evaluations; /* evaluations at one tree version */
    /* requeueState and the Requeued condition */
    int32_t requeues;
    sl_time requeue_at;
    bool alone;       /* has been refused for itself: shares no class until it changes */
    bool until_event; /* refused for itself: asleep until something in the tree changes */
    bool held_back;   /* Requeued=False: waits for 'why_back' to be over */
    enum sl_evict why_back;
    /* eviction */
    enum sl_evict evict;
    enum sl_cause cause;
    sl_wl_id by;              /* its preemptor */
    SL_VEC(sl_wl_id) victims; /* workloads that it preempts and that have not stopped yet */
    bool preempts;            /* it has evicted somebody since it joined the queue */
    /* Its reservation for a later time: what is reported of it, 0, or NEVER if that is due; what a
     * delay is counted from; and that of before a delay, until it has been reported. */
    sl_time shown, promised, put_off;
    char *evict_text; /* its message, reported again when it has stopped */
    bool released;    /* and that has not been reported yet */
    bool was_admitted;
    enum sl_evict order_evict; /* Evicted=True with this reason, for the queue-order timestamp */
    sl_time order_evict_at;
    int64_t past_exec_s;
    int64_t max_exec_s;
    bool ready, was_ready;
    sl_time unready_at;
    SL_VEC(struct eng_wl_check) checks;
    uint32_t full_shape; /* before pods were reclaimed, or NONE */
    char *gate, *invalid;
    uint64_t reported_hash; /* hash of the last PENDING or BLOCKED reported */
    /* slices (slice.c) */
    char *replaces;                   /* name of the one that it replaces, NULL */
    sl_wl_id took;                    /* the one whose quota was transferred to it */
    struct eng_slice_handover handed; /* what it gave to the next one */
};

enum eng_wl_phase {
    WL_FREE,
    WL_OUTSIDE,
    WL_WAITING,
    WL_PARKED,
    WL_RESERVED,
    WL_ADMITTED,
    WL_FINISHED
};

struct eng_wl {
    /* What a decision reads comes first. */
    uint8_t phase;
    bool inactive, gated, on_hold, evicting;
    bool spares; /* a preemption gate is closed: does not preempt */
    bool victim; /* picked by a preemptor of this round, or replaced in it */
    bool due;    /* in the engine's list of due workloads */
    uint32_t gen;
    uint32_t shape, lq;
    uint32_t class; /* waiting */
    uint32_t at;    /* position in the list of its phase: cq.reserved, lq.parked */
    int32_t priority, boost;
    sl_sym ns;
    uint16_t uid_off, job_uid_off;
    char *text; /* name, NUL, uid, NUL, job uid */
    struct eng_wl_extra *extra;
    struct eng_admission *admission;
    sl_time order_at, reserved_at, admitted_at;
    sl_time created;
    uint64_t tie;
};

struct eng_flavor {
    sl_sym name;
    bool exists;
    uint64_t spec_digest; /* digest of its content, 0 if there was none */
    struct sl_arena arena;
    struct sl_flavor_spec spec;
};

struct eng_check {
    sl_sym name;
    bool exists, active;
    uint64_t spec_digest; /* digest of its content, 0 if there was none */
};

struct eng_ns {
    sl_sym name;
    bool exists;
    uint64_t spec_digest; /* digest of its content, 0 if there was none */
    struct sl_arena arena;
    struct sl_labels labels;
};

/* ---- reservations for a later time ---- */

#define LATER_DEPTH 8u  /* workloads of one queue that are tried in a plan */
#define LATER_TRIES 16u /* times that are tried for one of them */
#define LATER_PLANS 8u  /* in one cycle */
/* Workloads that have reached their end still stop, and pods get so much time by default: for so
 * long a start is not called delayed. */
#define LATER_GRACE (30 * SL_SEC)

/* ---- one round ---- */

enum eng_mode { MODE_NO_FIT, MODE_NO_CANDIDATES, MODE_PREEMPT, MODE_RECLAIM, MODE_FIT };

struct eng_pick { /* one resource of one podset got a flavor */
    uint16_t podset, mode;
    sl_sym resource, flavor;
    uint32_t fr; /* local */
    sl_amount amount;
};

struct eng_target {
    uint32_t wl;
    enum sl_cause cause;
};

/* Ranges are into the engine's round vectors. */
struct eng_entry {
    uint32_t wl, class, cq;
    uint32_t slice;     /* the one that it replaces, NONE; its usage is not requested again */
    enum eng_mode mode; /* NO_FIT, PREEMPT (the middle three) or FIT */
    uint32_t borrow;
    bool from_start; /* ignore where an earlier scan stopped */
    bool later;      /* what preemption would give does not count */
    bool resumed;    /* did not start at the first flavor */
    bool has_resume; /* some flavor is still untried */
    bool processed;
    struct eng_range picks, uses, whys, targets, tried, counts, lacks;
    uint64_t version; /* of the tree at its evaluation */
    uint8_t outcome;  /* enum eng_outcome */
};

/* What processing made of an entry; what is not done goes back to its queue. */
enum eng_outcome {
    OUT_OPEN,
    OUT_DONE,
    OUT_NO_FIT,
    OUT_NO_CANDIDATES,
    OUT_GATED, /* there are candidates, but a preemption gate is closed */
    OUT_PREEMPTING,
    OUT_SKIPPED,
};

struct eng_undo {
    uint32_t cq, fr; /* local fr */
    sl_amount amount;
};

struct eng_candidate {
    uint32_t wl, cq;
    uint8_t list; /* 0 hierarchy, 1 priority, 2 same queue */
    enum sl_cause cause;
    bool without_borrowing, evicted;
    bool taken; /* fair search: is a target */
};

struct eng_round {
    SL_VEC(struct eng_entry) entries;
    SL_VEC(uint32_t) order;
    SL_VEC(struct eng_pick) picks;
    SL_VEC(struct eng_use) uses; /* local fr */
    SL_VEC(struct sl_why) whys;
    SL_VEC(struct eng_target) targets;
    SL_VEC(int32_t) tried;  /* per step */
    SL_VEC(int32_t) counts; /* per podset */
    SL_VEC(struct eng_undo) charges;
    SL_VEC(uint32_t) victims; /* workloads, all preemptors of this round */
    SL_VEC(struct eng_candidate) candidates;
    bool within_nominal; /* the preemptor of the fair search stays within its own quota */
    uint64_t search;     /* numbers fair searches, two per call: one for each strategy */
    SL_VEC(struct eng_lack) lacks;
    SL_VEC(uint32_t) processed; /* entries, in the order they were processed */
    SL_VEC(uint32_t) contested, barred;
    SL_VEC(struct eng_target) memo; /* what the last single-pair search found, for memo_use */
    struct eng_use memo_use;
    bool memo_valid;
    struct sl_arena text;
};

struct eng_lost {
    sl_wl_id wl;
    sl_time at;
};

struct sl_engine {
    struct sl_placer placer;
    bool has_placer;
    struct sl_config config;
    struct sl_arena config_arena;
    struct sl_syms syms;
    sl_sym sym_pods;

    SL_VEC(struct eng_fr) frs;
    SL_VEC(uint32_t) free_frs;
    struct sl_map fr_map;
    SL_VEC(struct eng_extra_fr) extra_frs;      /* pairs in use that no quota names */
    SL_VEC(struct eng_node) nodes;              /* name 0: free */
    SL_VEC(uint32_t) free_cohorts, free_queues; /* nodes; a queue's with its cq */
    struct sl_map node_map;
    SL_VEC(struct eng_tree) trees;
    SL_VEC(struct eng_cq) cqs;
    SL_VEC(struct eng_lq) lqs;
    struct sl_map lq_map;
    SL_VEC(struct eng_flavor) flavors;
    struct sl_map flavor_map;
    SL_VEC(struct eng_check) checks;
    struct sl_map check_map;
    SL_VEC(struct eng_ns) namespaces;
    struct sl_map ns_map;

    SL_VEC(struct eng_shape) shapes;
    SL_VEC(uint32_t) free_shapes;
    struct sl_map shape_map;
    SL_VEC(struct eng_class) classes;
    SL_VEC(uint32_t) free_classes;
    struct sl_map class_map;      /* by lq, shape, priority */
    struct sl_map equivalent_map; /* by cq, shape, priority: one of the ring */
    SL_VEC(struct eng_wl) wls;
    SL_VEC(uint32_t) free_wls, free_lqs;
    struct sl_map wl_map;
    struct sl_heap timers; /* workloads by more->deadline */

    uint64_t config_version; /* plans older than this are stale */
    bool structure_dirty;    /* trees must be rebuilt */
    bool status_dirty;       /* ClusterQueues' active states must be worked out */
    SL_VEC(uint32_t) dirty_trees;
    SL_VEC(uint32_t) evaluated_trees; /* whose sleeping classes were evaluated in this cycle */
    uint32_t n_not_ready; /* reserved workloads without ready pods, for blockAdmission */
    bool blocked_by_ready;
    sl_time afs_next;

    /* reservations for a later time */
    bool plans_later; /* there is, or was, a queue that wants exact nodes */
    bool later_stale; /* something has changed that they depend on */
    bool later_cold;  /* none was planned yet */
    uint32_t n_later;
    SL_VEC(struct eng_lost) lost; /* had one before the plan that is due */

    sl_time now;
    struct sl_effects *out; /* during a cycle */
    SL_VEC(uint32_t) due;   /* workloads to reconcile when the next cycle starts */
    struct eng_round round;
    struct sl_engine_stats stats;
};

/* ---- small shared helpers ---- */

static inline const char *eng_str(const struct sl_engine *e, sl_sym y) {
    return sl_sym_str(&e->syms, y);
}
static inline bool eng_gate_on(const struct sl_engine *e, enum sl_gate g) {
    return e->config.gates >> g & 1;
}
static inline struct eng_node *eng_cq_node(const struct sl_engine *e, const struct eng_cq *q) {
    return &e->nodes.v[q->node];
}
static inline struct eng_tree *eng_cq_tree(const struct sl_engine *e, const struct eng_cq *q) {
    return &e->trees.v[e->nodes.v[q->node].tree];
}
static inline struct eng_cell *eng_cell_at(const struct sl_engine *e, uint32_t node, uint32_t fr) {
    const struct eng_node *n = &e->nodes.v[node];
    const struct eng_tree *t = &e->trees.v[n->tree];
    return &t->cells[(size_t)n->row * t->n_fr + fr];
}
static inline sl_amount eng_cell_used(const struct eng_cell *c) {
    return sl_amount_clamp(c->usage);
}
static inline int64_t eng_wl_priority(const struct sl_engine *e, const struct eng_wl *w) {
    return (int64_t)w->priority + (eng_gate_on(e, SL_GATE_PRIORITY_BOOST) ? w->boost : 0);
}
static inline const char *eng_wl_name(const struct eng_wl *w) {
    return w->text;
}
static inline const char *eng_wl_uid(const struct eng_wl *w) {
    return w->text + w->uid_off;
}
static inline const char *eng_wl_job_uid(const struct eng_wl *w) {
    return w->text + w->job_uid_off;
}
static inline sl_wl_id eng_wl_id(const struct sl_engine *e, uint32_t i) {
    return (sl_wl_id){(uint64_t)e->wls.v[i].gen << 32 | (i + 1)};
}
static inline bool eng_wl_holds_quota(const struct eng_wl *w) {
    return w->phase == WL_RESERVED || w->phase == WL_ADMITTED;
}

/* engine.c */
void eng_cq_init(struct sl_engine *e, struct eng_cq *q, uint32_t node);
/* As it was when it was new. */
void eng_cq_reset(struct sl_engine *e, uint32_t cq);

/* view.c */
const struct eng_cq *eng_cq_named(const struct sl_engine *e, const char *name);     /* or NULL */
uint32_t eng_lq_named(const struct sl_engine *e, const char *ns, const char *name); /* or NONE */

/* tree.c: nodes, quotas, usage */
uint32_t eng_node_find(const struct sl_engine *e, bool cohort, const char *name); /* or NONE */
uint32_t eng_node_get(struct sl_engine *e, bool cohort, const char *name); /* made if missing */
/* Removes it: from now on it does not exist, and is not found. */
void eng_node_release_name(struct sl_engine *e, uint32_t node);
void eng_node_set_groups(struct sl_engine *e, uint32_t node, const struct sl_groups *g);
void eng_node_touch(struct sl_engine *e, uint32_t node);
void eng_node_free(struct eng_node *n);
void eng_trees_rebuild(struct sl_engine *e);
void eng_trees_free(struct sl_engine *e);
void eng_tree_compute(struct sl_engine *e, struct eng_tree *t, uint32_t fr);
void eng_tree_lendable(struct sl_engine *e, struct eng_tree *t);
uint32_t eng_fr_get(struct sl_engine *e, sl_sym flavor, sl_sym resource);
/* Local fr of a global one, NONE if the tree does not know it. */
uint32_t eng_tree_fr(const struct eng_tree *t, uint32_t fr);
/* The only way usage changes. amount may be negative. */
void eng_tree_add(struct sl_engine *e, uint32_t node, uint32_t fr, sl_amount amount);
/* How much of an amount added at the leaf arrives at its ancestor 'eng_node' (or at itself). */
__int128 eng_tree_arriving(const struct sl_engine *e, uint32_t leaf, uint32_t node, uint32_t fr,
                           sl_amount amount);
sl_amount eng_tree_available(const struct sl_engine *e, uint32_t node, uint32_t fr);
/* Would usage stay within the subtree's own quota with this much more? */
bool eng_tree_within(const struct sl_engine *e, uint32_t node, uint32_t fr, sl_amount more);
/* Height of the lowest subtree in which the amount fits, and whether quota may be reclaimed. */
uint32_t eng_tree_borrow_height(const struct sl_engine *e, const struct eng_cq *q, uint32_t fr,
                                sl_amount amount, bool *may_reclaim);
bool eng_tree_is_ancestor(const struct sl_engine *e, uint32_t node, uint32_t of);
void eng_tree_mark_dirty(struct sl_engine *e, struct eng_tree *t);
/* The queue's tree has to be evaluated; a rebuild that is due marks all of them anyway. */
void eng_cq_mark_dirty(struct sl_engine *e, const struct eng_cq *q);
void eng_wl_charge(struct sl_engine *e, uint32_t wl, int sign);

/* share.c: dominant resource share */
struct eng_share eng_share_of(const struct sl_engine *e, uint32_t node);
int eng_share_cmp(const struct eng_share *a, const struct eng_share *b);
int64_t eng_share_status(const struct eng_share *s);

/* shape.c */
int eng_shape_intern(struct sl_engine *e, const struct sl_podset_spec *v, uint32_t n, uint32_t *ret,
                     struct sl_err *err) _must_check_;
void eng_shape_ref(struct sl_engine *e, uint32_t s);
void eng_shape_unref(struct sl_engine *e, uint32_t i);
void eng_shapes_refresh(struct sl_engine *e);
void eng_plan_update(struct sl_engine *e, uint32_t class);
void eng_plan_free(struct eng_plan *p);
bool eng_flavor_has_topology(const struct sl_engine *e, sl_sym flavor);
/* Why the flavor does not match the podset; returns whether it does. */
bool eng_flavor_matches(const struct sl_engine *e, const struct eng_node *q,
                        const struct eng_group *g, sl_sym flavor, const struct eng_podset *p,
                        struct sl_why *why, struct sl_arena *a);

/* waiting.c: classes, lines, heads */
bool eng_class_less(const void *e, uint32_t a, uint32_t b);
uint32_t *eng_class_place(void *ctx, uint32_t c);
void eng_wl_enqueue(struct sl_engine *e, uint32_t wl);
void eng_wl_dequeue(struct sl_engine *e, uint32_t wl);
void eng_wl_requeue(struct sl_engine *e, uint32_t wl); /* out and in again after a change */
/* The same in two steps, for changes in between: a preemptor continues to wait for its victims. */
bool eng_wl_sticky(const struct sl_engine *e, uint32_t wl);
void eng_wl_enqueue_again(struct sl_engine *e, uint32_t wl, bool sticky);
sl_time eng_wl_order_time(const struct sl_engine *e, const struct eng_wl *w);
void eng_class_sleep(struct sl_engine *e, uint32_t class, uint32_t wl);
void eng_class_wake(struct sl_engine *e, uint32_t class);
void eng_lq_attach(struct sl_engine *e, uint32_t lq);
void eng_lq_detach(struct sl_engine *e, uint32_t lq);
void eng_tree_wake(struct sl_engine *e, struct eng_tree *t);
void eng_waiting_at_rest(struct sl_engine *e);
uint32_t eng_cq_head(struct sl_engine *e, uint32_t cq);
uint32_t eng_lq_get(struct sl_engine *e, sl_sym ns, sl_sym name);
void eng_lq_drop_if_unused(struct sl_engine *e, uint32_t lq);
struct sl_ordkey eng_wl_key(const struct sl_engine *e, uint32_t wl);
int eng_wl_tie(const void *ctx, uint32_t a, uint32_t b);
/* In one queue by its order, in different ones by priority and age. */
bool eng_wl_before(const struct sl_engine *e, uint32_t a, uint32_t b);
void eng_waiting_positions(const struct sl_engine *e, uint32_t wl, uint32_t *cq_pos,
                           uint32_t *lq_pos, uint32_t *cq_n, uint32_t *lq_n);

/* assign.c: flavors for one workload */
void eng_assign_counts(struct sl_engine *e, struct eng_entry *x, const int32_t *counts,
                       const struct eng_wl_extra *resume);
void eng_assign_flavors(struct sl_engine *e, struct eng_entry *x);
void eng_entry_init(struct sl_engine *e, struct eng_entry *x, uint32_t wl, uint32_t class,
                    uint32_t cq);
bool eng_uses_fit(const struct sl_engine *e, const struct eng_cq *q, const struct eng_use *u,
                  uint32_t n, bool borrowing);

/* preempt/preempt.c, preempt/fair_sharing.c: which workloads to evict */
struct eng_search {
    uint32_t wl, cq;
    uint32_t slice;             /* the one that it replaces: no candidate; NONE */
    const struct eng_use *uses; /* all its requests, local fr */
    uint32_t n_uses;
    const uint32_t *contested; /* local frs that need preemption */
    uint32_t n_contested;
    const struct sl_podset_assignment *podsets; /* that need a place besides; NULL: none does */
    uint32_t n_podsets;
};
/* places.c */
/* Fills in where; a refusal becomes one more reason. */
bool eng_entry_place(struct sl_engine *e, struct eng_entry *x);
/* Could a place be what is contested here? */
bool eng_pick_needs_placement(const struct sl_engine *e, uint32_t cq, const struct eng_pick *p);
/* Could it be placed as it is, or as soon as those that are leaving have left? */
bool eng_entry_could_be_placed(struct sl_engine *e, const struct eng_entry *x);
/* It has to wait, for this reason; any release may help. */
void eng_entry_refuse(struct sl_engine *e, struct eng_entry *x, uint32_t podset, const char *why);
/* Refused a place: does it only wait for what is leaving, or for a workload with a reservation to
 * start? Then nobody is evicted for it. */
bool eng_entry_is_next(struct sl_engine *e, const struct eng_entry *x);
/* The earliest time from this one on at which it could be placed; that place is reserved. */
bool eng_entry_later(struct sl_engine *e, const struct eng_entry *x, sl_time from, sl_time *ret_at);
/* Makes a search for the entry one for a place as well, if it needs one. */
void eng_search_places(struct sl_engine *e, struct eng_search *s, const struct eng_entry *x);
/* Removes a workload's usage and restores it; does it fit in the present state? */
void eng_search_take(struct sl_engine *e, const struct eng_search *s, uint32_t wl);
void eng_search_put(struct sl_engine *e, const struct eng_search *s, uint32_t wl);
bool eng_search_fits(struct sl_engine *e, const struct eng_search *s, bool borrowing);
/* Workloads that the placer or a reservation has refused are evaluated again. */
void eng_places_wake(struct sl_engine *e);

/* later.c: reservations for a later time */
/* From now on there are some: workloads that differ in how long they run are not alike. */
void eng_later_begin(struct sl_engine *e);
/* For how long it runs at most, as a class counts it. */
int64_t eng_later_length(const struct sl_engine *e, uint32_t wl);
/* Makes all of them anew, in the order of their workloads. */
void eng_later_plan(struct sl_engine *e);
/* A time has come at which one should have started. */
bool eng_later_due(const struct sl_engine *e);
sl_time eng_later_next(const struct sl_engine *e);
/* The workload was refused: it gets one if it is the first of its queue. */
void eng_later_refused(struct sl_engine *e, const struct eng_entry *x);
/* Would quota that is reserved for a later time still be free then, if it had its own from a time
 * on? */
bool eng_later_allows(struct sl_engine *e, const struct eng_entry *x, sl_time from);
/* It was admitted: those that gave way to it are made anew. */
void eng_later_passed(struct sl_engine *e, const struct eng_entry *x);
/* Nodes of those that give way to the workload (NONE: of all) count as free while they are aside.
 */
void eng_later_lift(struct sl_engine *e, uint32_t wl, bool aside);
/* That of the queue is given up. */
void eng_later_drop(struct sl_engine *e, uint32_t cq);

/* assign.c: it has quota and no places, and evicting others does not help: as many of its pods as
 * there are places for, if it may have fewer and there is no flavor left to try. False: none. */
bool eng_assign_fewer(struct sl_engine *e, struct eng_entry *x);
/* Which workloads to evict for the assignment just made. Returns how many. */
uint32_t eng_find_targets(struct sl_engine *e, struct eng_entry *x);
/* Appends targets to round.targets; returns how many. */
uint32_t eng_preempt_search(struct sl_engine *e, const struct eng_search *s);
uint32_t eng_preempt_search_fair(struct sl_engine *e, const struct eng_search *s);
int eng_candidate_cmp(const struct sl_engine *e, uint32_t preemptor_cq, uint32_t a, uint32_t b);
/* Which workloads must not be evicted in this search, so that preemption terminates: fills
 * round.barred. */
void eng_search_bar(struct sl_engine *e, const struct eng_search *s);
bool eng_search_may_take(const struct sl_engine *e, const struct eng_search *s, uint32_t wl);
bool eng_policy_within(const struct sl_engine *e, const struct eng_search *s, uint32_t wl);
bool eng_policy_reclaim(const struct sl_engine *e, const struct eng_search *s, uint32_t wl);
bool eng_search_within_contested(const struct sl_engine *e, uint32_t node,
                                 const struct eng_search *s);
uint32_t eng_search_fill_back(struct sl_engine *e, const struct eng_search *s, uint32_t first,
                              bool borrowing);
void eng_tree_epoch(struct sl_engine *e, struct eng_tree *t);

/* apply/apply.c */
uint32_t eng_wl_resolve(const struct sl_engine *e, sl_wl_id id);
uint32_t eng_wl_lookup(const struct sl_engine *e, sl_sym ns, const char *name);

/* slice.c: workloads that take the place of others, and those that shrink */
/* The one that this workload would replace in the queue, NONE. */
uint32_t eng_slice_before(const struct sl_engine *e, uint32_t wl, uint32_t cq);
/* What that one was given of a resource for its podset of this name; NULL: nothing. */
const struct eng_assigned *eng_slice_holds(const struct sl_engine *e, uint32_t slice,
                                           const char *podset, sl_sym resource);
void eng_slice_take_over(struct sl_engine *e, uint32_t wl, uint32_t slice);
/* The slice that gets its quota back if this workload's reservation comes to nothing now, NONE; and
 * giving it back, after the reservation has gone. */
uint32_t eng_slice_taken(const struct sl_engine *e, uint32_t wl);
void eng_slice_return(struct sl_engine *e, uint32_t slice);
/* It is finished for good. */
void eng_slice_ended(struct sl_engine *e, uint32_t wl);
/* Holds no more pods than its shape requests. */
void eng_wl_shrink(struct sl_engine *e, uint32_t wl);

/* engine.c */
void eng_refresh(struct sl_engine *e);

/* cycle.c, fair.c: rounds */
void eng_round_run(struct sl_engine *e);
void eng_round_clear(struct eng_round *r);
/* What an evaluation has added to a round can be taken back. */
struct eng_marks {
    uint32_t picks, uses, whys, targets, tried, counts, lacks;
};
struct eng_marks eng_round_mark(const struct eng_round *r);
void eng_round_rewind(struct eng_round *r, const struct eng_marks *m);
/* What the refused class needs before another evaluation can help. */
void eng_class_set_lacks(struct sl_engine *e, const struct eng_entry *x);
void eng_round_init(struct eng_round *r);
void eng_round_done(struct eng_round *r);
void eng_entry_process(struct sl_engine *e, uint32_t i);
/* Reasons of its own that keep a workload from being considered; SL_PENDING_COUNT: none. */
enum sl_pending_kind eng_wl_obstacle(const struct sl_engine *e, uint32_t wl,
                                     const struct eng_cq *q);
void eng_fair_order_run(struct sl_engine *e);

/* admit.c: from decision to state: reservation and release of quota */
struct eng_wl_extra *eng_wl_extra(struct sl_engine *e, uint32_t wl);
void eng_wl_reserve(struct sl_engine *e, struct eng_entry *x);
void eng_wl_hold(struct sl_engine *e, uint32_t wl, struct eng_admission *a, sl_time at);
void eng_wl_admitted(struct sl_engine *e, uint32_t wl);
void eng_wl_release_quota(struct sl_engine *e, uint32_t wl);
/* Counts the usage of the workload among the reserved and the admitted of its queues: 1, 0 or -1
 * times each. Every change of an admission or of the phase of an admitted workload calls this. */
void eng_wl_count(struct sl_engine *e, uint32_t wl, int reserved, int admitted);
/* Of this fr, or with NONE of workloads; nothing: zeros. */
struct eng_tally eng_tally_get(const struct eng_tallies *t, uint32_t cq, uint32_t fr);
void eng_wl_destroy(struct sl_engine *e, uint32_t wl);
struct eng_admission *eng_admission_new(uint32_t n_podsets, uint32_t n_assigned);
void eng_admission_sum(struct eng_admission *a);
/* Gives pairs that the queue's tree does not know yet a column; not during a round. */
void eng_admission_columns(struct sl_engine *e, const struct eng_admission *a);
void eng_admission_unref(struct eng_admission *a);
bool eng_wl_eligible(const struct eng_wl *w);
void eng_prio_add(struct eng_cq *q, int64_t priority, int by);

/* lifecycle.c: what time and outside events do to a workload */
void eng_wl_due(struct sl_engine *e, uint32_t wl); /* reconcile it at the start of the next cycle */
void eng_line_due(struct sl_engine *e, const struct sl_ordset *line);
void eng_due_run(struct sl_engine *e);
void eng_wl_evict(struct sl_engine *e, uint32_t wl, enum sl_evict reason, enum sl_cause cause,
                  uint32_t by, const char *text);
void eng_wl_released(struct sl_engine *e, uint32_t wl);
void eng_wl_deactivate(struct sl_engine *e, uint32_t wl, enum sl_cause cause, const char *text);
void eng_wl_backoff(struct sl_engine *e, uint32_t wl, int32_t count, sl_time at);
void eng_wl_timer(struct sl_engine *e, uint32_t wl);
/* When it has run for as long as it may, NEVER. */
sl_time eng_wl_deadline(const struct eng_wl *w);
void eng_timers_run(struct sl_engine *e);
bool eng_timer_less(const void *e, uint32_t a, uint32_t b);
uint32_t *eng_timer_place(void *ctx, uint32_t wl);
void eng_ready_recount(struct sl_engine *e);

/* checks.c: admission checks of one workload */
void eng_checks_sync(struct sl_engine *e, uint32_t wl);
bool eng_checks_act(struct sl_engine *e, uint32_t wl);
void eng_checks_reset(struct sl_engine *e, uint32_t wl);
bool eng_checks_all_ready(const struct sl_engine *e, uint32_t wl);

/* status.c */
void eng_cq_status_update(struct sl_engine *e);

/* afs.c */
void eng_afs_sample(struct sl_engine *e);
/* The entry penalty of an admission: pending (1), dropped (-1), or turned into usage (0). */
void eng_afs_penalty(struct sl_engine *e, uint32_t lq, const struct eng_admission *a, int sign);
bool eng_afs_orders(const struct sl_engine *e, const struct eng_cq *q);
void eng_afs_weigh(struct sl_engine *e, uint32_t lq);

/* effects.c */
struct sl_effect *eng_effect_new(struct sl_engine *e, enum sl_effect_kind kind, uint32_t wl);
void eng_effect_pending(struct sl_engine *e, struct eng_entry *x, enum sl_pending_kind kind,
                        uint32_t victims, bool asleep);
char *eng_cq_path(const struct sl_engine *e, uint32_t cq, struct sl_arena *a);

#endif
